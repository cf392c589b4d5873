//! Records, and arrays of them, as values of a row: what functions that give rows of several columns make, on its way
//! through a query.
//!
//! Relies on: `RowLayout`.  Promises: fields come back as they were, whatever their types.  Does not: live in a table: no
//! column has such a type.
//!
//! ```text
//! u16 LE              fields, n
//! n × (u8, u32 LE)    type of each: its OID, or an enum or an array of one, by its number
//! then                the fields, as a row of a table with such columns
//! ```

use super::{RowLayout, corrupt};
use crate::datum::Datum;
use crate::error::SqlResult;
use crate::types::SqlType;
use crate::value::{Array, Value};

/// Type of a field.
const BY_OID: u8 = 0;
const ENUM: u8 = 1;
const ENUM_ARRAY: u8 = 2;
const TYPE_BYTES: usize = 5;

/// Appends a record, or an array of records, which is kept the same way.
pub(super) fn write(fields: &[Value], out: &mut Vec<u8>) {
    let types: Vec<SqlType> = fields.iter().map(Value::natural_type).collect();
    out.extend_from_slice(&(types.len() as u16).to_le_bytes());
    for ty in &types {
        let (kind, number) = match ty {
            SqlType::Enum(number) => (ENUM, *number),
            SqlType::EnumArray(number) => (ENUM_ARRAY, *number),
            ty => (BY_OID, ty.oid()),
        };
        out.push(kind);
        out.extend_from_slice(&number.to_le_bytes());
    }
    let layout = RowLayout::new(types);
    let mut row = Vec::new();
    let mut writer = layout.begin(&mut row);
    for (number, field) in fields.iter().enumerate() {
        writer.put(number, Datum::of(field));
    }
    out.extend_from_slice(&row);
}

/// Reads one.
///
/// # Errors
/// `XX001` if the bytes are none.
pub(super) fn read(bytes: &[u8]) -> SqlResult<Value> {
    let (types, row) = read_types(bytes).ok_or_else(|| corrupt("record"))?;
    let mut values = Vec::new();
    RowLayout::new(types).decode_into(row, &mut values)?;
    Ok(Value::Array(Box::new(Array {
        element: SqlType::Record,
        values,
    })))
}

fn read_types(bytes: &[u8]) -> Option<(Vec<SqlType>, &[u8])> {
    let (count, rest) = bytes.split_first_chunk()?;
    let count = u16::from_le_bytes(*count) as usize;
    let (types, row) = rest.split_at_checked(count * TYPE_BYTES)?;
    let read = |bytes: &[u8]| {
        let (kind, number) = bytes.split_first()?;
        let number = u32::from_le_bytes(number.try_into().ok()?);
        match *kind {
            BY_OID => SqlType::from_oid(number),
            ENUM => Some(SqlType::Enum(number)),
            ENUM_ARRAY => Some(SqlType::EnumArray(number)),
            _ => None,
        }
    };
    let types = types.chunks_exact(TYPE_BYTES).map(read);
    Some((types.collect::<Option<Vec<_>>>()?, row))
}
