//! Rows as values: of a composite type, of a table's rows, or of no type but `record`.
//!
//! Relies on: the values of the fields.  Promises: a record knows the types of its fields, so that it is compared, printed and kept
//! without a catalogue; two records have an order field by field, NULL last.  Does not: know the names of a composite type's
//! fields once it has been kept in a row or a key: the catalogue says those ([`crate::objects::Objects::fields`]).
//!
//! ```text
//! kept, in rows and before keys:
//!   u8                  0 a record, 1 of the composite type whose number (u32 LE) follows
//!   u16 LE              fields, n
//!   n × (u8, u32 LE)    type of each: its OID, or that of a user's type, by its number
//!   of a record alone   n × (u16 LE, bytes): the names
//! ```

use crate::text_format::FormatContext;
use crate::types::{SqlType, TypeMod};
use crate::value::{Str, Value};
use std::cmp::Ordering;
use std::sync::Arc;

/// What a field is.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldShape {
    /// Empty if only the catalogue knows it.
    pub name: Str,
    /// Type of its values.
    pub ty: SqlType,
    /// And their modifier, where it is known.
    pub modifier: TypeMod,
}

/// What records of one kind have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// `Record` or a composite type.
    pub ty: SqlType,
    /// In order.
    pub fields: Vec<FieldShape>,
}

/// A row as a value.
#[derive(Clone, Debug)]
pub struct Record {
    /// What its fields are.
    pub shape: Arc<Shape>,
    /// As many as the shape has.
    pub values: Vec<Value>,
}

/// Two are the same if their fields are.
impl PartialEq for Record {
    fn eq(&self, other: &Record) -> bool {
        self.values == other.values
    }
}

impl Shape {
    /// A record of NULLs, which stands for the shape.
    pub fn prototype(self: &Arc<Shape>) -> Value {
        Value::Record(Arc::new(Record {
            shape: Arc::clone(self),
            values: vec![Value::Null; self.fields.len()],
        }))
    }

    /// The shape with the names that the catalogue has, if it has none of its own.
    pub fn named(self: &Arc<Shape>, format: &FormatContext) -> Arc<Shape> {
        let is_named = self.fields.iter().all(|field| !field.name.is_empty());
        let SqlType::Composite(number) = self.ty else {
            return Arc::clone(self);
        };
        match format.objects.fields(number) {
            Some(shape) if !is_named && shape.fields.len() == self.fields.len() => shape,
            _ => Arc::clone(self),
        }
    }
}

impl Record {
    /// The order of two records, as ORDER BY and `<` see it.
    pub fn order(&self, other: &Record) -> Ordering {
        let types = self.shape.fields.iter().map(|field| field.ty);
        let pairs = self.values.iter().zip(&other.values).zip(types);
        let mut orders = pairs.map(|((a, b), ty)| match (a, b) {
            (Value::Text(a), Value::Text(b)) if ty == SqlType::Bpchar => {
                a.trim_end_matches(' ').cmp(b.trim_end_matches(' '))
            }
            _ => a.order(b),
        });
        let differs = orders.find(|order| order.is_ne());
        differs.unwrap_or_else(|| self.values.len().cmp(&other.values.len()))
    }

    /// The names of the fields, those of the catalogue where it has none.
    pub fn names(&self, format: &FormatContext) -> Vec<Str> {
        let shape = self.shape.named(format);
        shape
            .fields
            .iter()
            .map(|field| field.name.clone())
            .collect()
    }
}

/// Type of a field, as it is kept.
const BY_OID: u8 = 0;
const ENUM: u8 = 1;
const ENUM_ARRAY: u8 = 2;
const COMPOSITE: u8 = 3;
const COMPOSITE_ARRAY: u8 = 4;
pub(crate) const TYPE_BYTES: usize = 5;

/// Appends what says a type.
pub(crate) fn write_type(ty: SqlType, out: &mut Vec<u8>) {
    let (kind, number) = match ty {
        SqlType::Enum(number) => (ENUM, number),
        SqlType::EnumArray(number) => (ENUM_ARRAY, number),
        SqlType::Composite(number) => (COMPOSITE, number),
        SqlType::CompositeArray(number) => (COMPOSITE_ARRAY, number),
        ty => (BY_OID, ty.oid()),
    };
    out.push(kind);
    out.extend_from_slice(&number.to_le_bytes());
}

/// Reads one; `None` if it is none.
pub(crate) fn read_type(bytes: &[u8]) -> Option<SqlType> {
    let (kind, number) = bytes.split_first()?;
    let number = u32::from_le_bytes(number.try_into().ok()?);
    match *kind {
        BY_OID => SqlType::from_oid(number),
        ENUM => Some(SqlType::Enum(number)),
        ENUM_ARRAY => Some(SqlType::EnumArray(number)),
        COMPOSITE => Some(SqlType::Composite(number)),
        COMPOSITE_ARRAY => Some(SqlType::CompositeArray(number)),
        _ => None,
    }
}

/// Appends what says a shape.
pub(crate) fn write_shape(shape: &Shape, out: &mut Vec<u8>) {
    match shape.ty {
        SqlType::Composite(number) => {
            out.push(1);
            out.extend_from_slice(&number.to_le_bytes());
        }
        _ => out.push(0),
    }
    out.extend_from_slice(&(shape.fields.len() as u16).to_le_bytes());
    for field in &shape.fields {
        write_type(field.ty, out);
    }
    if matches!(shape.ty, SqlType::Composite(_)) {
        return;
    }
    for field in &shape.fields {
        out.extend_from_slice(&(field.name.len() as u16).to_le_bytes());
        out.extend_from_slice(field.name.as_bytes());
    }
}

/// Reads one and advances `bytes` past it; `None` if they are none.
pub(crate) fn read_shape(bytes: &mut &[u8]) -> Option<Shape> {
    fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
        let (head, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some(head)
    }
    fn short(bytes: &mut &[u8]) -> Option<usize> {
        let length = take(bytes, 2)?.try_into().ok()?;
        Some(usize::from(u16::from_le_bytes(length)))
    }
    let ty = match take(bytes, 1)? {
        [0] => SqlType::Record,
        [1] => SqlType::Composite(u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?)),
        _ => return None,
    };
    let count = short(bytes)?;
    let types = take(bytes, count * TYPE_BYTES)?;
    let types = types.chunks_exact(TYPE_BYTES).map(read_type);
    let mut fields = Vec::with_capacity(count);
    for field in types {
        fields.push(FieldShape {
            name: Str::default(),
            ty: field?,
            modifier: TypeMod::NONE,
        });
    }
    if ty == SqlType::Record {
        for field in &mut fields {
            let length = short(bytes)?;
            field.name = Str::from(std::str::from_utf8(take(bytes, length)?).ok()?);
        }
    }
    Some(Shape { ty, fields })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key;
    use crate::row::RowLayout;
    use crate::value::Array;

    fn record(ty: SqlType, values: Vec<Value>) -> Value {
        let field = |(number, ty): (usize, SqlType)| FieldShape {
            name: Str::from(format!("f{}", number + 1)),
            ty,
            modifier: TypeMod::NONE,
        };
        let types = [SqlType::Int4, SqlType::Text].into_iter().enumerate();
        let shape = Arc::new(Shape {
            ty,
            fields: types.map(field).collect(),
        });
        Value::Record(Arc::new(Record { shape, values }))
    }

    #[test]
    fn records_come_back_from_rows_and_keys_in_their_order() {
        let ty = SqlType::Composite(70_000);
        let of = |a: Option<i32>, b: Option<&str>| {
            let values = vec![
                a.map_or(Value::Null, Value::Int4),
                b.map_or(Value::Null, Value::text),
            ];
            record(ty, values)
        };
        let ordered = [
            of(Some(-1), Some("z")),
            of(Some(1), Some("")),
            of(Some(1), Some("a b")),
            of(Some(1), None),
            of(None, Some("a")),
            of(None, None),
        ];
        let mut before: Option<Vec<u8>> = None;
        for value in &ordered {
            let layout = RowLayout::new(vec![ty, SqlType::CompositeArray(70_000)]);
            let array = Value::Array(Box::new(Array {
                shape: None,
                element: ty,
                values: vec![value.clone(), Value::Null],
            }));
            let row = [value.clone(), array];
            let mut back = Vec::new();
            let bytes = layout.encode(&row).unwrap();
            layout.decode_into(&bytes, &mut back).unwrap();
            assert_eq!(back, row);
            assert_eq!(back[0].natural_type(), ty);
            let key = key::encode_all([value]);
            assert_eq!(key::decode(ty, &mut key.as_slice()).unwrap(), *value);
            assert!(before.is_none_or(|before| before < key));
            before = Some(key);
        }
        assert!(ordered.is_sorted_by(|a, b| a.order(b).is_lt()));
    }

    #[test]
    fn damaged_records_are_refused() {
        let value = record(SqlType::Record, vec![Value::Int4(1), Value::text("x")]);
        let layout = RowLayout::new(vec![SqlType::Record]);
        let bytes = layout.encode(std::slice::from_ref(&value)).unwrap();
        let key = key::encode_all([&value]);
        for length in 0..key.len() {
            assert!(key::decode(SqlType::Record, &mut &key[..length]).is_err());
        }
        let mut back = Vec::new();
        layout.decode_into(&bytes, &mut back).unwrap();
        assert_eq!(back, [value]);
    }
}
