//! Stored rows to frames and back, and what a row must fulfil.
//!
//! Relies on: `base::row`.  Promises: a row written before a column existed reads with the column's
//! `missing` value, a hidden one computed; constraint errors carry PostgreSQL's state, text and object fields.
//! Does not: look at other rows (keys are checked in `write`).

use crate::context::{Env, Halt};
use quintet_base::error::ErrorObject;
use quintet_base::row::RowReader;
use quintet_base::{Bytes, SqlError, SqlResult, SqlState, SqlType, Value, key, text_format};
use quintet_ir::partition::{Misfit, Part, Partitions};
use quintet_ir::schema::CheckKind;
use quintet_ir::{
    DetachedHost, Host, Need, Object, ObjectKind, Part as Needed, Privileges, TableDef, eval,
};
use std::borrow::Cow;

/// Longest value shown of a failing row, in bytes, as in PostgreSQL.
const SHOWN_BYTES_MAX: usize = 64;

/// What a column is in a row that was written before there was the column: the same for all, but for a hidden one, which is computed
/// from the row. So an index over an expression needs no rewriting, unless that calls functions, which takes a session.
pub(crate) fn unstored(table: &TableDef, number: usize, row: &RowReader<'_>) -> SqlResult<Value> {
    let column = &table.columns[number];
    let Some(source) = column.generated.as_ref().filter(|_| column.hidden) else {
        return Ok(column.missing.clone().unwrap_or_default());
    };
    let mut used = Vec::new();
    source.collect_columns(&mut used);
    let mut frame = vec![Value::Null; table.columns.len()];
    for other in used {
        frame[other] = match other < row.stored_columns() {
            true => row.get(other)?,
            false => unstored(table, other, row)?,
        };
    }
    // It is immutable: no session says anything else.
    eval(source, &frame, &[], &DetachedHost::default())
}

/// Appends the table's frame of a stored row. Columns that nobody needs, and dropped ones, come out
/// as NULL.
pub(crate) fn push_row(
    table: &TableDef,
    needed: Option<&[bool]>,
    row_key: &[u8],
    stored: &[u8],
    frame: &mut Vec<Value>,
) -> SqlResult<()> {
    let row = table.layout.open(stored)?;
    let base = frame.len();
    frame.resize_with(base + table.columns.len(), Value::default);
    for (i, column) in table.columns.iter().enumerate() {
        let wanted = needed.is_none_or(|needed| needed.get(i).copied().unwrap_or(true));
        if wanted && !column.dropped {
            frame[base + i] = if i < row.stored_columns() {
                row.get(i)?
            } else {
                unstored(table, i, &row)?
            };
        }
    }
    if table.primary_key.is_none() {
        frame.push(key::decode(SqlType::Int8, &mut &row_key[..])?);
    }
    Ok(())
}

/// Appends some columns of a stored row, and its number if it has no primary key.
pub(crate) fn push_columns(
    table: &TableDef,
    columns: &[usize],
    row_key: &[u8],
    row: &RowReader<'_>,
    out: &mut Vec<Value>,
) -> SqlResult<()> {
    for &column in columns {
        out.push(match column < row.stored_columns() {
            true => row.get(column)?,
            false => unstored(table, column, row)?,
        });
    }
    if table.primary_key.is_none() {
        out.push(key::decode(SqlType::Int8, &mut &row_key[..])?);
    }
    Ok(())
}

/// The whole frame of a stored row.
pub(crate) fn read_row(table: &TableDef, row_key: &[u8], stored: &[u8]) -> SqlResult<Vec<Value>> {
    let mut frame = Vec::new();
    push_row(table, None, row_key, stored, &mut frame)?;
    Ok(frame)
}

/// The bytes to store for a frame.
pub(crate) fn encode_row(table: &TableDef, frame: &[Value]) -> SqlResult<Bytes> {
    Ok(Bytes::from(
        table.layout.encode(&frame[..table.columns.len()])?,
    ))
}

/// The partition, NOT NULL and CHECK for a row about to be written.
pub(crate) fn check_row(table: &TableDef, row: &[Value], env: &mut Env<'_>) -> Result<(), Halt> {
    check(table, row, false, env)
}

/// The same for a row that was there before and is only written anew: a CHECK that is NOT VALID says nothing of it.
pub(crate) fn check_old_row(
    table: &TableDef,
    row: &[Value],
    env: &mut Env<'_>,
) -> Result<(), Halt> {
    check(table, row, true, env)
}

fn check(table: &TableDef, row: &[Value], old: bool, env: &mut Env<'_>) -> Result<(), Halt> {
    let misfit = table.partitions.as_ref().and_then(|all| all.misfit(row));
    let divided = |all: &Partitions| all.division().is_some();
    match misfit {
        Some(Misfit::Homeless) => return Err(homeless(table, row, env.host).into()),
        // What goes further down is looked at before it goes.
        Some(Misfit::Elsewhere) if table.partitions.as_ref().is_some_and(divided) => {
            return Err(elsewhere(table, row, env.host).into());
        }
        _ => {}
    }
    for (value, column) in row.iter().zip(&table.columns) {
        if column.not_null && value.is_null() && !column.dropped {
            let table = &*home(table, row);
            let message = format!(
                "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                column.name, table.name
            );
            let error = SqlError::new(SqlState::NOT_NULL_VIOLATION, message)
                .detailed(failing_row(table, row, env.host))
                .about(about(table, Some(&column.name), None));
            return Err(error.into());
        }
    }
    let checks = table.checks.iter();
    for check in checks.filter(|check| check.validated || !old) {
        // A row passes unless the condition is false; NULL passes.
        if env.eval(&check.condition, row)?.as_bool() == Some(false) {
            let table = &*home(table, row);
            if check.kind == CheckKind::OfView {
                let message = format!("new row violates check option for view \"{}\"", check.name);
                return Err(
                    SqlError::new(SqlState::WITH_CHECK_OPTION_VIOLATION, message)
                        .detailed(failing_row(table, row, env.host))
                        .into(),
                );
            }
            let message = format!(
                "new row for relation \"{}\" violates check constraint \"{}\"",
                table.name, check.name
            );
            let error = SqlError::new(SqlState::CHECK_VIOLATION, message)
                .detailed(failing_row(table, row, env.host))
                .about(about(table, None, Some(&check.name)));
            return Err(error.into());
        }
    }
    if misfit.is_some() {
        return Err(elsewhere(table, row, env.host).into());
    }
    Ok(())
}

/// `23514` for a row that belongs elsewhere than to the partition that is named.
fn elsewhere(table: &TableDef, row: &[Value], host: &dyn Host) -> SqlError {
    let message = format!(
        "new row for relation \"{}\" violates partition constraint",
        table.name
    );
    SqlError::new(SqlState::CHECK_VIOLATION, message)
        .detailed(failing_row(table, row, host))
        .about(about(table, None, None))
}

/// The table under the name of the partition that a row belongs to.
fn home<'t>(table: &'t TableDef, row: &[Value]) -> Cow<'t, TableDef> {
    let partitions = table.partitions.as_ref();
    let part = partitions.and_then(|all| match all.misfit(row) {
        None => all.home(row).ok(),
        Some(_) => all.part(),
    });
    match part {
        None => Cow::Borrowed(table),
        Some(part) => Cow::Owned(named(table, part)),
    }
}

/// `23514` for a row that no partition takes.
fn homeless(table: &TableDef, row: &[Value], host: &dyn Host) -> SqlError {
    let found = table.partitions.as_ref().map(|all| all.home(row));
    let Some(Err(found)) = found else {
        return SqlError::internal("a row that has a partition has none");
    };
    let columns = found.division.columns.iter();
    let columns: Vec<usize> = columns.map(|(column, _)| *column).collect();
    let of_part;
    let of = match found.part {
        None => table,
        Some(part) => {
            of_part = named(table, part);
            &of_part
        }
    };
    let message = format!("no partition of relation \"{}\" found for row", of.name);
    let key = key_text(table, &columns, row, host);
    let key = key.map(|key| key.replacen(")=(", ") = (", 1));
    SqlError::new(SqlState::CHECK_VIOLATION, message)
        .detailed(key.map(|key| format!("Partition key of the failing row contains {key}.")))
        .about(about(of, None, None))
}

/// The table under a partition's name.
fn named(table: &TableDef, part: &Part) -> TableDef {
    TableDef {
        schema: part.schema.clone(),
        name: part.name.clone(),
        ..table.clone()
    }
}

/// `23505` for a key that is taken.
pub(crate) fn duplicate_key(
    table: &TableDef,
    constraint: &str,
    columns: &[usize],
    row: &[Value],
    host: &dyn Host,
) -> SqlError {
    SqlError::new(
        SqlState::UNIQUE_VIOLATION,
        format!("duplicate key value violates unique constraint \"{constraint}\""),
    )
    .detailed(key_text(table, columns, row, host).map(|key| format!("Key {key} already exists.")))
    .about(about(table, None, Some(constraint)))
}

/// `23P01`: two rows may not be beside each other. `existing`: the other one's key as text.
pub(crate) fn excluded(table: &TableDef, constraint: &str, keys: Option<(&str, &str)>) -> SqlError {
    let detail =
        keys.map(|(row, existing)| format!("Key {row} conflicts with existing key {existing}."));
    SqlError::new(
        SqlState::EXCLUSION_VIOLATION,
        format!("conflicting key value violates exclusion constraint \"{constraint}\""),
    )
    .detailed(detail)
    .about(about(table, None, Some(constraint)))
}

/// `23505` for rows that a new unique index finds equal.
pub(crate) fn duplicate_rows(
    table: &TableDef,
    index: &str,
    columns: &[usize],
    row: &[Value],
    host: &dyn Host,
) -> SqlError {
    SqlError::new(
        SqlState::UNIQUE_VIOLATION,
        format!("could not create unique index \"{index}\""),
    )
    .detailed(key_text(table, columns, row, host).map(|key| format!("Key {key} is duplicated.")))
    .about(about(table, None, Some(index)))
}

/// The object fields of an integrity error.
pub(crate) fn about(
    table: &TableDef,
    column: Option<&str>,
    constraint: Option<&str>,
) -> ErrorObject {
    ErrorObject {
        schema: Some(table.schema.clone()),
        table: Some(table.name.clone()),
        column: column.map(str::to_string),
        constraint: constraint.map(str::to_string),
        data_type: None,
    }
}

/// True if the user is not to see what is in a table's rows: policies concern him.
fn is_hidden(table: &TableDef, host: &dyn Host) -> bool {
    !matches!(host.hides_rows(table.relation(), None), Ok(false))
}

/// True if the user may read a part of a table.
fn may_read(table: &TableDef, part: Needed, host: &dyn Host) -> bool {
    let need = Need {
        object: Object {
            kind: ObjectKind::Table,
            number: table.relation().0,
        },
        privileges: Privileges::SELECT,
        role: None,
        part,
    };
    host.allow(&[need]).is_ok()
}

fn may_read_column(table: &TableDef, column: usize, host: &dyn Host) -> bool {
    let number = u16::try_from(column + 1).unwrap_or(u16::MAX);
    may_read(table, Needed::Column(number), host)
}

/// `(a, b)=(1, x)`; `None` for who is not to see it.
pub(crate) fn key_text(
    table: &TableDef,
    columns: &[usize],
    row: &[Value],
    host: &dyn Host,
) -> Option<String> {
    let reads = |column: &usize| may_read_column(table, *column, host);
    if is_hidden(table, host) || !columns.iter().all(reads) {
        return None;
    }
    let names: Vec<&str> = columns
        .iter()
        .map(|c| table.columns[*c].name.as_str())
        .collect();
    let values: Vec<String> = columns
        .iter()
        .map(|c| show(&row[*c], table.columns[*c].ty, host))
        .collect();
    Some(format!("({})=({})", names.join(", "), values.join(", ")))
}

/// What is said of a row that is refused; nothing to who is not to see it.
fn failing_row(table: &TableDef, row: &[Value], host: &dyn Host) -> Option<String> {
    if is_hidden(table, host) {
        return None;
    }
    // Who may read some columns only sees these, by name.
    let is_whole = may_read(table, Needed::Whole, host);
    let shown: Vec<_> = table
        .visible_columns()
        .filter(|(i, _)| is_whole || may_read_column(table, *i, host))
        .collect();
    if shown.is_empty() {
        return None;
    }
    let values: Vec<String> = shown
        .iter()
        .map(|&(i, column)| {
            let mut text = show(&row[i], column.ty, host);
            if text.len() > SHOWN_BYTES_MAX {
                text.truncate(text.floor_char_boundary(SHOWN_BYTES_MAX));
                text.push_str("...");
            }
            text
        })
        .collect();
    let values = values.join(", ");
    if is_whole {
        return Some(format!("Failing row contains ({values})."));
    }
    let names: Vec<&str> = shown.iter().map(|(_, column)| &*column.name).collect();
    let names = names.join(", ");
    Some(format!("Failing row contains ({names}) = ({values})."))
}

pub(crate) fn show(value: &Value, ty: SqlType, host: &dyn Host) -> String {
    if value.is_null() {
        return "null".to_string();
    }
    let mut out = Vec::new();
    text_format::write(value, ty, host.format(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
