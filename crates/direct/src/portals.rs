//! What a call does to cursors of its session.
//!
//! Relies on: the host, which has them.  Promises: a cursor's rows are those of its query at OPEN; what a client's own cursor
//! holds is asked for, where somebody can be asked.  Does not: run a cursor's query; the steps around do.

use crate::context::{Context, row_bytes};
use crate::dynamic::Answer;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::cursors::{Cursors, Opening, Way, in_use, no_cursor};
use quintet_ir::dynamic::{CursorAction, CursorStep, Dynamic, Field};
use quintet_ir::{Host, OutputColumn};
use std::cell::RefCell;

/// What has become of a step.
pub(crate) enum Done {
    Here(Answer),
    /// This statement does it, by who runs the call.
    Elsewhere(String),
}

/// Does a step about a cursor.
pub(crate) fn take(
    step: &CursorStep,
    statement: &Dynamic,
    slots: &[Value],
    context: &Context<'_>,
) -> SqlResult<Done> {
    let host = context.host;
    let eval = |expr| quintet_ir::eval(expr, &[], slots, host);
    let cursors = cursors_of(host)?;
    let name = match eval(&statement.text)? {
        Value::Text(name) => Some(name.to_string()),
        _ => None,
    };
    if let CursorAction::Open { .. } = &step.what {
        return open(step, name, cursors, host).map(Done::Here);
    }
    let name = name.ok_or_else(|| {
        let message = format!("cursor variable \"{}\" is null", step.variable);
        SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
    })?;
    match &step.what {
        CursorAction::Open { .. } => Err(SqlError::internal("a cursor is opened twice")),
        CursorAction::Keep => {
            let row = statement.arguments.iter().map(eval);
            let row = row.collect::<SqlResult<Vec<Value>>>()?;
            let bytes = row_bytes(&row);
            cursors.borrow_mut().keep(&name, row, bytes)?;
            Ok(Done::Here(Answer::default()))
        }
        CursorAction::Fetch {
            direction,
            moves,
            fields,
        } => {
            let count = match statement.arguments.first() {
                Some(count) => Some(eval(count)?.as_i64().ok_or_else(|| {
                    let message = "relative or absolute cursor position is null";
                    SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
                })?),
                None => None,
            };
            let way = direction.way(count);
            let verb = if *moves { "MOVE" } else { "FETCH" };
            let elsewhere = || {
                let text = format!("{verb} {} FROM {}", in_words(way), quoted(&name));
                Ok(Done::Elsewhere(text))
            };
            let mut cursors = cursors.borrow_mut();
            let Some(cursor) = cursors.get_mut(&name) else {
                return match host.is_portal(&name) {
                    true => elsewhere(),
                    false => Err(no_cursor(&name)),
                };
            };
            if statement.is_record
                && fields.as_deref() != Some(&Field::of(&cursor.opening.columns)[..])
            {
                return elsewhere();
            }
            let rows = cursor.go(way)?;
            let types = cursor.opening.columns.iter().map(|column| column.ty);
            Ok(Done::Here(Answer {
                types: types.collect(),
                count: rows.len() as u64,
                rows,
                ..Answer::default()
            }))
        }
        CursorAction::Close => match cursors.borrow_mut().close(&name) {
            true => Ok(Done::Here(Answer::default())),
            false if host.is_portal(&name) => {
                Ok(Done::Elsewhere(format!("CLOSE {}", quoted(&name))))
            }
            false => Err(no_cursor(&name)),
        },
        CursorAction::Current { table, called } => {
            let key = host.current_of(&name, *table, called)?;
            Ok(Done::Here(Answer {
                types: key.iter().map(Value::natural_type).collect(),
                rows: vec![key],
                ..Answer::default()
            }))
        }
    }
}

/// OPEN: the answer is the name.
fn open(
    step: &CursorStep,
    name: Option<String>,
    cursors: &RefCell<Cursors>,
    host: &dyn Host,
) -> SqlResult<Answer> {
    let CursorAction::Open {
        fields,
        of,
        back,
        pinned,
        source,
    } = &step.what
    else {
        return Err(SqlError::internal("this opens no cursor"));
    };
    let mut cursors = cursors.borrow_mut();
    let name = match name {
        Some(name) if host.is_portal(&name) => return Err(in_use(&name)),
        Some(name) => name,
        None => cursors.new_name(|name| host.is_portal(name)),
    };
    let opening = Opening {
        text: source.clone(),
        columns: fields.iter().map(Field::column).collect(),
        of: *of,
        back: *back,
        pinned: *pinned,
        at: host.transaction_time(),
    };
    cursors.open(&name, opening)?;
    Ok(Answer {
        rows: vec![vec![Value::text(&name)]],
        types: vec![SqlType::Text],
        ..Answer::default()
    })
}

/// The rows of a cursor whose query was planned when it was opened.
pub(crate) fn fill(name: &Value, answer: Answer, host: &dyn Host) -> SqlResult<()> {
    let name = name.as_str().unwrap_or_default();
    let bytes = answer.rows.iter().map(|row| row_bytes(row)).sum();
    let columns = answer.names.into_iter().zip(answer.types);
    let column = |(name, ty)| OutputColumn {
        name,
        ty,
        modifier: TypeMod::NONE,
        origin: None,
    };
    let columns = columns.map(column).collect();
    cursors_of(host)?
        .borrow_mut()
        .fill(name, columns, answer.rows, bytes)
}

fn cursors_of(host: &dyn Host) -> SqlResult<&RefCell<Cursors>> {
    host.cursors()
        .ok_or_else(|| SqlError::unsupported("cursors here"))
}

fn in_words(way: Way) -> String {
    match way {
        Way::Forward(None) => "FORWARD ALL".to_string(),
        Way::Forward(Some(count)) => format!("FORWARD {count}"),
        Way::Backward(None) => "BACKWARD ALL".to_string(),
        Way::Backward(Some(count)) => format!("BACKWARD {count}"),
        Way::Absolute(place) => format!("ABSOLUTE {place}"),
        Way::Relative(by) => format!("RELATIVE {by}"),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
