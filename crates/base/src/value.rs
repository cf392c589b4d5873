//! A SQL value at run time.
//!
//! Relies on: `Numeric`.  Promises: 24 bytes, cheap to clone (short text inline, long text and
//! bytea by reference count or one copy).  Does not: know its declared type: text, varchar, char(n)
//! and name are all `Text` here, and the plan carries the type beside the value.

use crate::bits::Bits;
use crate::caseless;
use crate::datetime::TimeTz;
use crate::geometry::Figure;
use crate::interval::Interval;
use crate::json::Json;
use crate::multirange::Multirange;
use crate::network::{Inet, MacAddr};
use crate::numeric::Numeric;
use crate::range::Range;
use crate::record::Record;
use crate::types::SqlType;
use std::cmp::Ordering;

/// Text as values carry it: up to 24 bytes inline.
pub type Str = compact_str::CompactString;

pub use crate::array::{Array, Dimension, Dimensions};

/// A value or NULL.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// SQL NULL, of any type.
    #[default]
    Null,
    /// boolean
    Bool(bool),
    /// smallint
    Int2(i16),
    /// integer
    Int4(i32),
    /// bigint
    Int8(i64),
    /// real
    Float4(f32),
    /// double precision
    Float8(f64),
    /// numeric
    Numeric(Numeric),
    /// text, varchar, char(n), name, "char", json
    Text(Str),
    /// bytea
    Bytea(std::sync::Arc<[u8]>),
    /// Days since 2000-01-01; `i32::MAX`/`i32::MIN` are ±infinity.
    Date(i32),
    /// Microseconds since 2000-01-01 00:00, no zone; `i64::MAX`/`i64::MIN` are ±infinity.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 00:00 UTC; infinities as above.
    TimestampTz(i64),
    /// uuid
    Uuid([u8; 16]),
    /// oid
    Oid(u32),
    /// Array.
    Array(Box<Array>),
    /// interval
    Interval(Interval),
    /// Microseconds since midnight.
    Time(i64),
    /// A time of day with an offset.
    TimeTz(TimeTz),
    /// jsonb; a json is its `Text`.
    Jsonb(std::sync::Arc<Json>),
    /// A label of an enum.
    Enum(EnumValue),
    /// inet or cidr
    Inet(Inet),
    /// macaddr
    MacAddr(MacAddr),
    /// bit or bit varying
    Bits(Bits),
    /// int4range and its kin
    Range(std::sync::Arc<Range>),
    /// int4multirange and its kin
    Multirange(std::sync::Arc<Multirange>),
    /// A row, of a composite type or of none.
    Record(std::sync::Arc<Record>),
    /// money, in cents
    Money(i64),
    /// point and its kin
    Figure(std::sync::Arc<Figure>),
    /// citext, as it was written; what compares is its folded form.
    Citext(std::sync::Arc<str>),
}

/// A label of an enum, by its place: what it is called is the catalogue's to say, and may change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EnumValue {
    /// Number of the type.
    pub ty: u32,
    /// Places of one type are in the order of its labels.
    pub place: u32,
}

const _: () = assert!(std::mem::size_of::<Value>() <= 24);

impl Value {
    /// True for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// A text value.
    pub fn text(text: impl AsRef<str>) -> Value {
        Value::Text(Str::from(text.as_ref()))
    }

    /// A jsonb value.
    pub fn json(json: Json) -> Value {
        Value::Jsonb(std::sync::Arc::new(json))
    }

    /// A numeric value.
    pub fn numeric(numeric: Numeric) -> Value {
        Value::Numeric(numeric)
    }

    /// A range.
    pub fn range(range: Range) -> Value {
        Value::Range(std::sync::Arc::new(range))
    }

    /// A figure.
    pub fn figure(figure: Figure) -> Value {
        Value::Figure(std::sync::Arc::new(figure))
    }

    /// A multirange.
    pub fn multirange(set: Multirange) -> Value {
        Value::Multirange(std::sync::Arc::new(set))
    }

    /// The natural type of the value, `Unknown` for NULL, `Text` for all text, `VarBit` for all bits.
    pub fn natural_type(&self) -> SqlType {
        match self {
            Value::Null => SqlType::Unknown,
            Value::Bool(_) => SqlType::Bool,
            Value::Int2(_) => SqlType::Int2,
            Value::Int4(_) => SqlType::Int4,
            Value::Int8(_) => SqlType::Int8,
            Value::Float4(_) => SqlType::Float4,
            Value::Float8(_) => SqlType::Float8,
            Value::Numeric(_) => SqlType::Numeric,
            Value::Text(_) => SqlType::Text,
            Value::Bytea(_) => SqlType::Bytea,
            Value::Date(_) => SqlType::Date,
            Value::Timestamp(_) => SqlType::Timestamp,
            Value::TimestampTz(_) => SqlType::TimestampTz,
            Value::Uuid(_) => SqlType::Uuid,
            Value::Oid(_) => SqlType::Oid,
            Value::Interval(_) => SqlType::Interval,
            Value::Time(_) => SqlType::Time,
            Value::TimeTz(_) => SqlType::TimeTz,
            Value::Jsonb(_) => SqlType::Jsonb,
            Value::Enum(v) => SqlType::Enum(v.ty),
            Value::Inet(v) if v.is_cidr() => SqlType::Cidr,
            Value::Inet(_) => SqlType::Inet,
            Value::MacAddr(_) => SqlType::MacAddr,
            Value::Bits(_) => SqlType::VarBit,
            Value::Range(v) => SqlType::Range(v.kind()),
            Value::Multirange(v) => SqlType::Multirange(v.kind()),
            Value::Record(v) => v.shape.ty,
            Value::Money(_) => SqlType::Money,
            Value::Figure(v) => v.ty(),
            Value::Citext(_) => SqlType::Citext,
            Value::Array(a) => a.element.array_of().unwrap_or(SqlType::Unknown),
        }
    }

    /// The boolean, or `None` for NULL (and for anything that is no boolean).
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// Any integer type, widened.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int2(v) => Some(i64::from(*v)),
            Value::Int4(v) => Some(i64::from(*v)),
            Value::Int8(v) => Some(*v),
            Value::Oid(v) => Some(i64::from(*v)),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(s) => Some(s),
            Value::Citext(s) => Some(s),
            _ => None,
        }
    }

    /// Order of two values of the same type, as ORDER BY and indexes see it: NULL last, NaN above
    /// all numbers, text by bytes (collation "C"), arrays element by element, then by their dimensions. It is exactly the
    /// order of `key::encode`.
    ///
    /// Values of different types compare by a fixed but meaningless order; the binder never lets
    /// that happen.
    pub fn order(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Greater,
            (_, Value::Null) => Ordering::Less,
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int2(a), Value::Int2(b)) => a.cmp(b),
            (Value::Int4(a), Value::Int4(b)) => a.cmp(b),
            (Value::Int8(a), Value::Int8(b)) => a.cmp(b),
            (Value::Float4(a), Value::Float4(b)) => float_order(f64::from(*a), f64::from(*b)),
            (Value::Float8(a), Value::Float8(b)) => float_order(*a, *b),
            (Value::Numeric(a), Value::Numeric(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Value::Bytea(a), Value::Bytea(b)) => a.cmp(b),
            (Value::Date(a), Value::Date(b)) => a.cmp(b),
            (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
            (Value::TimestampTz(a), Value::TimestampTz(b)) => a.cmp(b),
            (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
            (Value::Oid(a), Value::Oid(b)) => a.cmp(b),
            (Value::Array(a), Value::Array(b)) => a.order(b),
            (Value::Interval(a), Value::Interval(b)) => a.order(*b),
            (Value::Time(a), Value::Time(b)) => a.cmp(b),
            (Value::TimeTz(a), Value::TimeTz(b)) => a.order(*b),
            (Value::Jsonb(a), Value::Jsonb(b)) => a.order(b),
            (Value::Enum(a), Value::Enum(b)) => a.place.cmp(&b.place),
            (Value::Inet(a), Value::Inet(b)) => a.order(*b),
            (Value::MacAddr(a), Value::MacAddr(b)) => a.cmp(b),
            (Value::Bits(a), Value::Bits(b)) => a.order(b),
            (Value::Range(a), Value::Range(b)) => a.order(b),
            (Value::Multirange(a), Value::Multirange(b)) => a.order(b),
            (Value::Record(a), Value::Record(b)) => a.order(b),
            (Value::Money(a), Value::Money(b)) => a.cmp(b),
            (Value::Figure(a), Value::Figure(b)) => a.order(b),
            (Value::Citext(a), Value::Citext(b)) => caseless::order(a, b),
            _ => (self.natural_type().oid()).cmp(&other.natural_type().oid()),
        }
    }
}

/// PostgreSQL's order of floats: NaN equals NaN and is above everything, -0 equals 0.
pub fn float_order(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.partial_cmp(&b).expect("neither is NaN"),
    }
}
