//! A row as text.
//!
//! Relies on: `text_format` for its fields.  Promises: what PostgreSQL prints for a record: `(1,"two words",)`.
//! Does not: make a row a value; the names here are none that SQL can write.

use super::{Function, builtin as new};
use crate::eval::Host;
use quintet_base::SqlType::{Text, Unknown};
use quintet_base::{SqlResult, Value, text_format};

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
    new("()", &[Unknown], Text, print)
        .variadic()
        .lenient()
        .stable(),
    new("()?", &[Unknown], Text, print_if_any)
        .variadic()
        .lenient()
        .stable(),
];
