//! Records as text: `(1,"a b",)`.
//!
//! Relies on: the text form of the fields; the catalogue's names of fields for reading.  Promises: what is written reads back;
//! PostgreSQL's quoting and its messages.  Does not: read a record that has no type.

use super::{FormatContext, is_blank};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::record::Record;
use crate::types::SqlType;
use crate::value::Value;
use std::sync::Arc;

pub(super) fn write(record: &Record, context: &FormatContext, out: &mut Vec<u8>) {
    out.push(b'(');
    let mut shown = Vec::new();
    for (number, (value, field)) in record.values.iter().zip(&record.shape.fields).enumerate() {
        if number > 0 {
            out.push(b',');
        }
        if value.is_null() {
            continue;
        }
        shown.clear();
        super::write(value, field.ty, context, &mut shown);
        push_quoted(&shown, b"", out);
    }
    out.push(b')');
}

/// Appends a field of a record or a bound of a range, in quotes if it is empty or has something in it that would mean something
/// there; `more`: besides what does in both.
pub(crate) fn push_quoted(field: &[u8], more: &[u8], out: &mut Vec<u8>) {
    let special =
        |b: &u8| matches!(b, b'"' | b'\\' | b'(' | b')' | b',') || is_blank(*b) || more.contains(b);
    if !field.is_empty() && !field.iter().any(special) {
        out.extend_from_slice(field);
        return;
    }
    out.push(b'"');
    for &byte in field {
        if matches!(byte, b'"' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Reads a record of a composite type.
///
/// # Errors
/// `22P02` for text that is none, and what the fields' types say.
pub(super) fn read(number: u32, text: &str, context: &FormatContext) -> SqlResult<Value> {
    let ty = SqlType::Composite(number);
    let shape = context.objects.fields(number);
    let shape = shape.ok_or_else(|| SqlError::unsupported(format!("input of type {ty} here")))?;
    let mut values = Vec::with_capacity(shape.fields.len());
    let mut fields = shape.fields.iter();
    read_each(text, shape.fields.len(), &mut |field| {
        let known = fields.next();
        let known = known.ok_or_else(|| malformed(text, "Too many columns."))?;
        values.push(match field {
            None => Value::Null,
            Some(field) => {
                let value = super::read(known.ty, &field, context)?;
                super::coerce_length(value, known.ty, known.modifier, false)?
            }
        });
        Ok(())
    })?;
    Ok(Value::Record(Arc::new(Record { shape, values })))
}

fn malformed(text: &str, detail: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("malformed record literal: \"{text}\""),
    )
    .detail(detail)
}

/// Calls `field` with the text of each of so many fields, `None` for NULL.
fn read_each(
    text: &str,
    count: usize,
    field: &mut dyn FnMut(Option<String>) -> SqlResult<()>,
) -> SqlResult<()> {
    let bytes = text.as_bytes();
    let skip = |mut at: usize| {
        while bytes.get(at).is_some_and(|b| is_blank(*b)) {
            at += 1;
        }
        at
    };
    let mut at = skip(0);
    if bytes.get(at) != Some(&b'(') {
        return Err(malformed(text, "Missing left parenthesis."));
    }
    at += 1;
    for number in 0..count {
        if number > 0 {
            match bytes.get(at) {
                Some(b',') => at += 1,
                _ => return Err(malformed(text, "Too few columns.")),
            }
        }
        if matches!(bytes.get(at), Some(b',' | b')')) {
            field(None)?;
            continue;
        }
        let (read, after) = one_field(text, at)?;
        at = after;
        field(Some(read))?;
    }
    match bytes.get(at) {
        Some(b')') => {}
        _ => return Err(malformed(text, "Too many columns.")),
    }
    if skip(at + 1) < bytes.len() {
        return Err(malformed(text, "Junk after right parenthesis."));
    }
    Ok(())
}

/// The text of a field that begins at a place, and where it ends.
fn one_field(text: &str, mut at: usize) -> SqlResult<(String, usize)> {
    let bytes = text.as_bytes();
    let unexpected_end = || malformed(text, "Unexpected end of input.");
    let (mut out, mut quoted) = (Vec::new(), false);
    loop {
        match bytes.get(at) {
            Some(b',' | b')') if !quoted => break,
            None => return Err(unexpected_end()),
            Some(b'\\') => {
                at += 1;
                out.push(*bytes.get(at).ok_or_else(unexpected_end)?);
            }
            Some(b'"') if !quoted => quoted = true,
            Some(b'"') if bytes.get(at + 1) == Some(&b'"') => {
                at += 1;
                out.push(b'"');
            }
            Some(b'"') => quoted = false,
            Some(byte) => out.push(*byte),
        }
        at += 1;
    }
    // Only whole characters were taken out: every delimiter is ASCII.
    let out = String::from_utf8(out).map_err(|_| malformed(text, "It is no UTF-8."))?;
    Ok((out, at))
}
