//! Rows: as values, as text, and what is asked of them.
//!
//! Relies on: `base::record` for the value, `text_format` for the text of fields.  Promises: what PostgreSQL prints for a
//! record: `(1,"two words",)`; a record is made by the shape of the one before its fields.  Does not: know the catalogue: the names
//! here are none that SQL can write, and the binder says which shape and which field is meant.

use super::{Function, builtin as new};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Int4, Record as AnyRecord, Text, Unknown};
use quintet_base::types::TypeFamily;
use quintet_base::{Record, SqlError, SqlResult, SqlState, SqlType, Value, text_format};
use std::sync::Arc;

/// Makes a record of a prototype and its fields.
pub const MAKE: &str = "row()";
/// The same, NULL if all its fields are: a variable that nothing was assigned to.
pub const MAKE_IF_ANY: &str = "row()?";
/// A field of a record, by its place from 0.
pub const FIELD: &str = "row.field()";
/// IS NULL of a record: it is NULL, or all its fields are.
pub const IS_NULL: &str = "row is null";
/// IS NOT NULL of a record: all its fields are something.
pub const IS_NOT_NULL: &str = "row is not null";
/// The first of two records, if it compares with the second.
pub const COMPARED: &str = "row.compared()";

fn make(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let Some((Value::Record(prototype), fields)) = args.split_first() else {
        return Err(SqlError::internal("a record without a shape"));
    };
    Ok(Value::Record(Arc::new(Record {
        shape: Arc::clone(&prototype.shape),
        values: fields.iter().map(|field| (*field).clone()).collect(),
    })))
}

fn make_if_any(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    match args.iter().skip(1).all(|field| field.is_null()) {
        true => Ok(Value::Null),
        false => make(args, host),
    }
}

fn field(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (Value::Record(record), Some(place)) = (args[0], args[1].as_i64()) else {
        return Err(SqlError::internal("a field of what is no record"));
    };
    let place = usize::try_from(place).unwrap_or(usize::MAX);
    Ok(record.values.get(place).cloned().unwrap_or_default())
}

fn fields_of(value: &Value) -> &[Value] {
    match value {
        Value::Record(record) => &record.values,
        _ => &[],
    }
}

fn is_null(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let all = fields_of(args[0]).iter().all(Value::is_null);
    let known = matches!(args[0], Value::Record(_) | Value::Null);
    Ok(Value::Bool(known && all))
}

fn is_not_null(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let none = !fields_of(args[0]).iter().any(Value::is_null);
    Ok(Value::Bool(!args[0].is_null() && none))
}

fn compared(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    if let (Value::Record(left), Value::Record(right)) = (args[0], args[1]) {
        let types = |record: &Record| -> Vec<SqlType> {
            record.shape.fields.iter().map(|field| field.ty).collect()
        };
        comparable(&types(left), &types(right))?;
    }
    Ok(args[0].clone())
}

/// Whether records with fields of these types compare.
///
/// # Errors
/// `42804` if they do not.
pub fn comparable(left: &[SqlType], right: &[SqlType]) -> SqlResult<()> {
    let refuse = |message: String| Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
    for ((left, right), number) in left.iter().zip(right).zip(1..) {
        if left != right {
            return refuse(format!(
                "cannot compare dissimilar column types {left} and {right} at record column {number}"
            ));
        }
        let is_figure = left.element().unwrap_or(*left).family() == TypeFamily::Geometry;
        let is_text = matches!(
            left,
            SqlType::Json | SqlType::JsonArray | SqlType::RefCursor | SqlType::Cstring
        );
        if is_figure || is_text {
            let message = format!("could not identify a comparison function for type {left}");
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
        }
    }
    if left.len() != right.len() {
        let message = "cannot compare record types with different numbers of columns";
        return refuse(message.to_string());
    }
    Ok(())
}

fn print(fields: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut text = String::from("(");
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            text.push(',');
        }
        if !field.is_null() {
            let shown = text_format::to_string(field, field.natural_type(), host.format());
            push_quoted(&mut text, &shown);
        }
    }
    text.push(')');
    Ok(Value::text(&text))
}

/// NULL for a row that nothing was assigned to.
fn print_if_any(fields: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    match fields.iter().all(|field| field.is_null()) {
        true => Ok(Value::Null),
        false => print(fields, host),
    }
}

fn push_quoted(text: &mut String, field: &str) {
    let special = |c: char| matches!(c, '"' | '\\' | '(' | ')' | ',') || c.is_ascii_whitespace();
    if !field.is_empty() && !field.contains(special) {
        text.push_str(field);
        return;
    }
    text.push('"');
    for character in field.chars() {
        if matches!(character, '"' | '\\') {
            text.push(character);
        }
        text.push(character);
    }
    text.push('"');
}

pub(super) static FUNCTIONS: &[Function] = &[
    new(MAKE, &[Unknown], AnyRecord, make).variadic().lenient(),
    new(MAKE_IF_ANY, &[Unknown], AnyRecord, make_if_any)
        .variadic()
        .lenient(),
    new(FIELD, &[Unknown, Int4], Unknown, field),
    new(IS_NULL, &[Unknown], Bool, is_null).lenient(),
    new(IS_NOT_NULL, &[Unknown], Bool, is_not_null).lenient(),
    new(COMPARED, &[Unknown, Unknown], AnyRecord, compared).lenient(),
    new("()", &[Unknown], Text, print)
        .variadic()
        .lenient()
        .stable(),
    new("()?", &[Unknown], Text, print_if_any)
        .variadic()
        .lenient()
        .stable(),
];
