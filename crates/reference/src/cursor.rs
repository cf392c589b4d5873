//! What a routine does to cursors of its session.
//!
//! Relies on: `ir::cursors` for where a cursor stands and which rows it meets.  Promises: see [`CursorAction`]; values go to their
//! variables by the conversion of an assignment.  Does not: look up what clients have declared, or fetch into a record that the
//! routine was not made for.

use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Host;
use quintet_ir::cast::cast;
use quintet_ir::cursors::{Opening, no_cursor};
use quintet_ir::dynamic::{CursorAction, CursorStep, Dynamic, DynamicRows, Field};

/// What has come of a step.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Of FETCH and MOVE: how many rows there were.
    pub count: Option<u64>,
    /// Slots with their values.
    pub assigned: Vec<(usize, Value)>,
}

/// Does a step. `arguments`: those of the step, evaluated; `types`: of the routine's slots.
pub(crate) fn step(
    what: &CursorStep,
    dynamic: &Dynamic,
    (name, mut arguments): (Value, Vec<Value>),
    types: &dyn Fn(usize) -> SqlType,
    host: &dyn Host,
) -> SqlResult<Outcome> {
    let cursors = host
        .cursors()
        .ok_or_else(|| SqlError::unsupported("cursors here"))?;
    let mut cursors = cursors.borrow_mut();
    let name = name.as_str().map(str::to_string);
    let assigned = |row: Option<Vec<Value>>, of: &[SqlType]| {
        let DynamicRows::Into { slots, .. } = &dynamic.rows else {
            return Ok(Vec::new());
        };
        let mut row = row.unwrap_or_default().into_iter();
        let mut all = Vec::new();
        for (number, (slot, modifier)) in slots.iter().enumerate() {
            let value = row.next().unwrap_or_default();
            let from = of.get(number).copied().unwrap_or(SqlType::Text);
            let value = as_variable(value, from, (types(*slot), *modifier), host)?;
            all.push((*slot, value));
        }
        Ok::<_, SqlError>(all)
    };
    if let CursorAction::Open {
        fields,
        of,
        back,
        pinned,
        source,
    } = &what.what
    {
        let name = name.unwrap_or_else(|| cursors.new_name(|_| false));
        let opening = Opening {
            text: source.clone(),
            columns: fields.iter().map(Field::column).collect(),
            of: *of,
            back: *back,
            pinned: *pinned,
            at: host.transaction_time(),
        };
        cursors.open(&name, opening)?;
        return Ok(Outcome {
            count: None,
            assigned: assigned(Some(vec![Value::text(&name)]), &[SqlType::Text])?,
        });
    }
    let name = name.ok_or_else(|| {
        let message = format!("cursor variable \"{}\" is null", what.variable);
        SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
    })?;
    match &what.what {
        CursorAction::Open { .. } => Ok(Outcome::default()),
        CursorAction::Keep => {
            cursors.keep(&name, arguments, 0)?;
            Ok(Outcome::default())
        }
        CursorAction::Close => match cursors.close(&name) {
            true => Ok(Outcome::default()),
            false => Err(no_cursor(&name)),
        },
        CursorAction::Current { table, called } => {
            let cursor = cursors.get(&name).ok_or_else(|| no_cursor(&name))?;
            let key = cursor.key(&name, *table, called)?;
            let of: Vec<SqlType> = key.iter().map(Value::natural_type).collect();
            Ok(Outcome {
                count: None,
                assigned: assigned(Some(key), &of)?,
            })
        }
        CursorAction::Fetch { direction, .. } => {
            let count = match arguments.pop() {
                None => None,
                Some(count) => Some(count.as_i64().ok_or_else(|| {
                    let message = "relative or absolute cursor position is null";
                    SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
                })?),
            };
            let cursor = cursors.get_mut(&name).ok_or_else(|| no_cursor(&name))?;
            let of: Vec<SqlType> = cursor.opening.columns.iter().map(|it| it.ty).collect();
            let rows = cursor.go(direction.way(count))?;
            Ok(Outcome {
                count: Some(rows.len() as u64),
                assigned: assigned(rows.into_iter().next(), &of)?,
            })
        }
    }
}

/// A value as a variable takes it: by a conversion if there is one, else by its text.
fn as_variable(
    value: Value,
    from: SqlType,
    (to, modifier): (SqlType, TypeMod),
    host: &dyn Host,
) -> SqlResult<Value> {
    use quintet_ir::cast::{CastContext, cast_context};
    if value.is_null() {
        return Ok(value);
    }
    match cast_context(from, to) {
        Some(CastContext::Implicit | CastContext::Assignment) => {
            cast(value, from, to, modifier, false, host)
        }
        _ => {
            let text = cast(value, from, SqlType::Text, TypeMod::NONE, false, host)?;
            cast(text, SqlType::Text, to, modifier, true, host)
        }
    }
}
