//! Records as values of a row; and what functions that give rows of several columns make, on its way through a query.
//!
//! Relies on: `RowLayout`.  Promises: fields come back as they were, whatever their types.  Does not: decide which records there are.
//!
//! ```text
//! u16 LE              fields, n
//! n × (u8, u32 LE)    type of each: its OID, or an enum or an array of one, by its number
//! then                the fields, as a row of a table with such columns
//! ```
//! A record that is a value begins with its shape, as `base::record` says, instead; an array of such is u32 LE elements, and of each
//! u32 LE length and as many bytes. A byte before it says which it is.

use super::{RowLayout, corrupt};
use crate::datum::Datum;
use crate::error::SqlResult;
use crate::record::{self, Record, TYPE_BYTES, read_type, write_type};
use crate::types::SqlType;
use crate::value::{Array, Dimension, Value};
use std::sync::Arc;

/// Before fields without names, and before an array of values; below them what begins a value.
const FIELDS: u8 = 2;
const ARRAY: u8 = 3;
/// Before an array that has a shape: u8 dimensions, of each i32 LE lower bound and length, then as above without its byte.
const SHAPED: u8 = 4;
/// In place of an element's length.
const NULL: u32 = u32::MAX;

/// Appends an array of records.
pub(super) fn write_array(array: &Array, out: &mut Vec<u8>) {
    let mut values = array.values.iter();
    if !values.all(|value| matches!(value, Value::Record(_) | Value::Null)) {
        return write(&array.values, out);
    }
    match &array.shape {
        None => out.push(ARRAY),
        Some(shape) => {
            out.extend_from_slice(&[SHAPED, shape.len() as u8]);
            for one in shape {
                out.extend_from_slice(&one.lower.to_le_bytes());
                out.extend_from_slice(&one.length.to_le_bytes());
            }
        }
    }
    out.extend_from_slice(&(array.values.len() as u32).to_le_bytes());
    for value in &array.values {
        let Value::Record(record) = value else {
            out.extend_from_slice(&NULL.to_le_bytes());
            continue;
        };
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        write_value(record, out);
        let length = (out.len() - at - 4) as u32;
        out[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }
}

/// Reads what one of these wrote.
///
/// # Errors
/// `XX001` if the bytes are none of it.
pub(super) fn read(element: SqlType, bytes: &[u8]) -> SqlResult<Value> {
    let array = |values| Value::Array(Box::new(Array::new(element, values)));
    match bytes.split_first() {
        Some((&FIELDS, fields)) => read_fields(fields).map(array),
        Some((&ARRAY, elements)) => read_elements(elements).map(array),
        Some((&SHAPED, rest)) => {
            let array = read_shaped(element, rest).ok_or_else(|| corrupt("array of records"));
            array.map(|array| Value::Array(Box::new(array)))
        }
        _ => read_value(bytes),
    }
}

fn read_shaped(element: SqlType, bytes: &[u8]) -> Option<Array> {
    let (count, rest) = bytes.split_first()?;
    let (shape, elements) = rest.split_at_checked(usize::from(*count) * 8)?;
    let number = |bytes: &[u8]| Some(i32::from_le_bytes(*bytes.first_chunk()?));
    let shape = shape.chunks_exact(8).map(|one| {
        Some(Dimension {
            lower: number(&one[..4])?,
            length: number(&one[4..])?,
        })
    });
    let shape: Vec<Dimension> = shape.collect::<Option<_>>()?;
    Array::checked(element, read_elements(elements).ok()?, &shape)
}

fn read_elements(bytes: &[u8]) -> SqlResult<Vec<Value>> {
    let wrong = || corrupt("array of records");
    let (count, mut rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
    let mut values = Vec::new();
    for _ in 0..u32::from_le_bytes(*count) {
        let (length, behind) = rest.split_first_chunk().ok_or_else(wrong)?;
        rest = behind;
        values.push(match u32::from_le_bytes(*length) {
            NULL => Value::Null,
            length => {
                let (value, behind) = rest.split_at_checked(length as usize).ok_or_else(wrong)?;
                rest = behind;
                read_value(value)?
            }
        });
    }
    Ok(values)
}

/// Appends a row of fields that have no names.
fn write(fields: &[Value], out: &mut Vec<u8>) {
    out.push(FIELDS);
    let types: Vec<SqlType> = fields.iter().map(Value::natural_type).collect();
    out.extend_from_slice(&(types.len() as u16).to_le_bytes());
    for ty in &types {
        write_type(*ty, out);
    }
    let layout = RowLayout::new(types);
    let mut row = Vec::new();
    let mut writer = layout.begin(&mut row);
    for (number, field) in fields.iter().enumerate() {
        writer.put(number, Datum::of(field));
    }
    out.extend_from_slice(&row);
}

fn read_fields(bytes: &[u8]) -> SqlResult<Vec<Value>> {
    let (types, row) = read_types(bytes).ok_or_else(|| corrupt("record"))?;
    let mut values = Vec::new();
    RowLayout::new(types).decode_into(row, &mut values)?;
    Ok(values)
}

fn read_types(bytes: &[u8]) -> Option<(Vec<SqlType>, &[u8])> {
    let (count, rest) = bytes.split_first_chunk()?;
    let count = u16::from_le_bytes(*count) as usize;
    let (types, row) = rest.split_at_checked(count * TYPE_BYTES)?;
    let types = types.chunks_exact(TYPE_BYTES).map(read_type);
    Some((types.collect::<Option<Vec<_>>>()?, row))
}

/// Appends a record that is a value.
pub(super) fn write_value(record: &Record, out: &mut Vec<u8>) {
    record::write_shape(&record.shape, out);
    let types = record.shape.fields.iter().map(|field| field.ty);
    let layout = RowLayout::new(types.collect());
    let mut row = Vec::new();
    let mut writer = layout.begin(&mut row);
    for (number, field) in record.values.iter().enumerate() {
        writer.put(number, Datum::of(field));
    }
    out.extend_from_slice(&row);
}

fn read_value(mut bytes: &[u8]) -> SqlResult<Value> {
    let shape = record::read_shape(&mut bytes).ok_or_else(|| corrupt("record"))?;
    let types = shape.fields.iter().map(|field| field.ty);
    let mut values = Vec::new();
    RowLayout::new(types.collect()).decode_into(bytes, &mut values)?;
    Ok(Value::Record(Arc::new(Record {
        shape: Arc::new(shape),
        values,
    })))
}
