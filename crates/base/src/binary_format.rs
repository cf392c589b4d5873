//! Values as PostgreSQL's binary protocol sends and receives them.
//!
//! Relies on: `Numeric`, the ranges of `datetime`.  Promises: what [`write()`] wrote, [`read`] gives
//! back; bytes of any other kind are refused, never trusted with a length or a panic.  Does not:
//! write a length before the value or know NULL; the message around it does.
//!
//! ```text
//! bool        1 byte, 0 is false            int2 int4 int8 oid   big-endian
//! float4/8    IEEE 754, big-endian          date                 i32 days, timestamps i64 micros, money i64 cents
//! text etc.   UTF-8                         bytea, uuid          as is
//! numeric     u16 digits n, i16 weight, u16 sign, u16 scale, then n × u16 base-10000 digits:
//!             value = Σ digit[i] × 10000^(weight - i); sign 0000 +, 4000 -, C000 NaN,
//!             D000 Infinity, F000 -Infinity
//! interval    i64 micros, i32 days, i32 months
//! time        i64 micros                    timetz               and i32 seconds west
//! json        UTF-8                         jsonb                01, then UTF-8
//! inet, cidr  family (2, 3), bits of the network, 1 of a cidr, 4 or 16, and as many bytes
//! macaddr     6 bytes
//! bit, varbit i32 bits, and as many bytes as it takes for them, the first bit highest
//! tsvector    and tsquery as `textsearch` says
//! figures     as `geometry` says
//! ranges      as `range` says; multiranges as `multirange` does
//! enum        u32 place in rows; clients see the label's UTF-8
//! record      i32 fields; per field: u32 type OID, i32 length (-1 is NULL) and that many bytes
//! array       i32 dimensions (0 to 6), i32 1 if a NULL is inside, u32 element OID,
//!             per dimension: i32 length, i32 lower bound (of vectors 0);
//!             per element: i32 length (-1 is NULL) and that many bytes
//! ```

use crate::array::{DIMENSIONS_MAX, too_many_dimensions};
use crate::bits::Bits;
use crate::datetime;
use crate::error::{SqlError, SqlResult, SqlState};
use crate::geometry::Figure;
use crate::interval::Interval;
use crate::json::Json;
use crate::jsonpath::JsonPath;
use crate::lexemes;
use crate::multirange;
use crate::network::{Family, Inet};
use crate::numeric::Numeric;
use crate::pairs::{self, Pairs};
use crate::place;
use crate::range;
use crate::record::Record;
use crate::text_format::FormatContext;
use crate::types::{SqlType, TypeFamily};
use crate::value::{Array, Dimension, Dimensions, EnumValue, Str, Value};
use std::sync::Arc;

const NUMERIC_POSITIVE: u16 = 0x0000;
const NUMERIC_NEGATIVE: u16 = 0x4000;
const NUMERIC_NAN: u16 = 0xC000;
const NUMERIC_INFINITY: u16 = 0xD000;
const NUMERIC_NEGATIVE_INFINITY: u16 = 0xF000;

/// The byte before the text of a jsonb.
const JSONB_VERSION: u8 = 1;
/// The same of a jsonpath.
const JSONPATH_VERSION: u8 = 1;

/// Decimal digits in one digit of the wire's numeric.
const WIRE_DIGITS: i32 = 4;

/// Appends a value in its natural type's form; nothing for NULL.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Bool(v) => out.push(u8::from(*v)),
        Value::Int2(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Int4(v) | Value::Date(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Int8(v) | Value::Timestamp(v) | Value::TimestampTz(v) | Value::Money(v) => {
            out.extend_from_slice(&v.to_be_bytes());
        }
        Value::Oid(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Enum(v) => out.extend_from_slice(&v.place.to_be_bytes()),
        Value::Float4(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Float8(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Numeric(v) => write_numeric(v, out),
        Value::Text(v) => out.extend_from_slice(v.as_bytes()),
        Value::Citext(v) => out.extend_from_slice(v.as_bytes()),
        Value::Bytea(v) => out.extend_from_slice(v),
        Value::Uuid(v) => out.extend_from_slice(v),
        Value::MacAddr(v) => out.extend_from_slice(v),
        Value::Inet(v) => {
            let length = v.family().bytes() as u8;
            out.extend_from_slice(&[v.family().code(), v.bits(), u8::from(v.is_cidr()), length]);
            out.extend_from_slice(v.address());
        }
        Value::Bits(v) => {
            out.extend_from_slice(&(v.len() as i32).to_be_bytes());
            out.extend_from_slice(v.bytes());
        }
        Value::Figure(v) => v.send(out),
        Value::Range(v) => range::write_binary(v, out),
        Value::Multirange(v) => multirange::write_binary(v, out),
        Value::Record(v) => write_record(v, out, &|value, _, out| write(value, out)),
        Value::Array(v) if holds_fields(v) => {}
        Value::Array(v) if v.element == SqlType::JsonPath => {
            write_elements(v, out, &|value, out| match value {
                Value::Text(text) => write_path(text, out),
                value => write(value, out),
            });
        }
        Value::Array(v) if v.element.is_bytes_within() => {
            write_elements(v, out, &|value, out| match value {
                Value::Bytea(bytes) if v.element == SqlType::Hstore => pairs::send(bytes, out),
                Value::Bytea(bytes) => lexemes::send(v.element, bytes, out),
                value => write(value, out),
            });
        }
        Value::Array(v) => write_array(v, out),
        Value::Interval(v) => {
            out.extend_from_slice(&v.micros.to_be_bytes());
            out.extend_from_slice(&v.days.to_be_bytes());
            out.extend_from_slice(&v.months.to_be_bytes());
        }
        Value::Time(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::TimeTz(v) => {
            out.extend_from_slice(&v.micros.to_be_bytes());
            // Seconds to the west, unlike everywhere else.
            out.extend_from_slice(&(-v.offset).to_be_bytes());
        }
        Value::Jsonb(v) => {
            out.push(JSONB_VERSION);
            out.extend_from_slice(v.to_string().as_bytes());
        }
    }
}

/// Appends a value as clients see it: of an enum its label, not the place that rows keep.
pub fn write_told(value: &Value, context: &FormatContext, out: &mut Vec<u8>) {
    match value {
        Value::Enum(v) => out.extend_from_slice(context.objects.label(*v).as_bytes()),
        Value::Array(array) if holds_fields(array) => {}
        Value::Array(array) if array.element == SqlType::Tid => {
            write_elements(array, out, &|value, out| {
                write_typed(value, SqlType::Tid, context, out);
            });
        }
        Value::Array(array) if array.element.is_enum() || array.element.is_record() => {
            write_elements(array, out, &|value, out| write_told(value, context, out));
        }
        Value::Record(record) => write_record(record, out, &|value, ty, out| {
            write_typed(value, ty, context, out);
        }),
        value => write(value, out),
    }
}

fn write_path(text: &str, out: &mut Vec<u8>) {
    out.push(JSONPATH_VERSION);
    out.extend_from_slice(text.as_bytes());
}

/// The same for a value whose type says more than it does itself ([`SqlType::is_told_by_type`]).
pub fn write_typed(value: &Value, ty: SqlType, context: &FormatContext, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) if ty == SqlType::InternalChar && text.is_empty() => out.push(0),
        Value::Array(array) if ty.is_vector() => write_vector(array, out),
        Value::Array(array) if ty == SqlType::InternalCharArray => {
            write_elements(array, out, &|value, out| {
                write_typed(value, SqlType::InternalChar, context, out);
            });
        }
        Value::Text(text) if ty == SqlType::JsonPath => write_path(text, out),
        Value::Bytea(bytes) if ty == SqlType::Hstore => pairs::send(bytes, out),
        Value::Bytea(bytes) if ty.is_bytes_within() => lexemes::send(ty, bytes, out),
        Value::Int8(place) if ty == SqlType::Tid => place::send(*place, out),
        value => write_told(value, context, out),
    }
}

/// Reads what a client sent; see [`write_told`].
///
/// # Errors
/// As [`read`]; `22P02` for what is no label.
pub fn read_told(ty: SqlType, bytes: &[u8], context: &FormatContext) -> SqlResult<Value> {
    match ty {
        SqlType::Enum(number) => {
            let place = context.objects.place(number, utf8(bytes)?)?;
            Ok(Value::Enum(EnumValue { ty: number, place }))
        }
        SqlType::EnumArray(number) => {
            let element = SqlType::Enum(number);
            read_elements(ty, element, bytes, &|bytes| {
                read_told(element, bytes, context)
            })
        }
        SqlType::Composite(number) => read_record(number, bytes, context),
        SqlType::CompositeArray(number) => {
            let element = SqlType::Composite(number);
            read_elements(ty, element, bytes, &|bytes| {
                read_told(element, bytes, context)
            })
        }
        ty if ty.family() == TypeFamily::Geometry => {
            let figure = Figure::receive(ty, bytes)?;
            figure.check().map(|()| Value::figure(figure))
        }
        ty => match ty.element() {
            Some(element) if element.family() == TypeFamily::Geometry => {
                read_elements(ty, element, bytes, &|bytes| {
                    read_told(element, bytes, context)
                })
            }
            _ => read(ty, bytes),
        },
    }
}

/// Whether it is a row on its way through a query, which no client sees.
fn holds_fields(array: &Array) -> bool {
    let mut values = array.values.iter();
    array.element == SqlType::Record
        && !values.all(|value| matches!(value, Value::Record(_) | Value::Null))
}

fn write_record(record: &Record, out: &mut Vec<u8>, write: &dyn Fn(&Value, SqlType, &mut Vec<u8>)) {
    out.extend_from_slice(&(record.values.len() as i32).to_be_bytes());
    for (value, field) in record.values.iter().zip(&record.shape.fields) {
        out.extend_from_slice(&field.ty.oid().to_be_bytes());
        if value.is_null() {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            continue;
        }
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        write(value, field.ty, out);
        let length = (out.len() - at - 4) as i32;
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

fn read_record(number: u32, bytes: &[u8], context: &FormatContext) -> SqlResult<Value> {
    let ty = SqlType::Composite(number);
    let shape = context.objects.fields(number);
    let shape = shape.ok_or_else(|| SqlError::unsupported(format!("input of type {ty} here")))?;
    let mut cursor = Cursor { ty, rest: bytes };
    let count = cursor.i32()?;
    if usize::try_from(count) != Ok(shape.fields.len()) {
        let message = format!(
            "wrong number of columns: {count}, expected {}",
            shape.fields.len()
        );
        return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
    }
    let mut values = Vec::with_capacity(shape.fields.len());
    for (field, number) in shape.fields.iter().zip(1..) {
        let sent = cursor.i32()? as u32;
        if sent != field.ty.oid() {
            let message = format!(
                "binary data has type {sent} instead of expected {} ({}) in record column {number}",
                field.ty.oid(),
                field.ty
            );
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let length = cursor.i32()?;
        values.push(match usize::try_from(length) {
            Ok(length) => {
                let value = read_told(field.ty, cursor.take(length)?, context)?;
                crate::text_format::coerce_length(value, field.ty, field.modifier, false)?
            }
            Err(_) if length == -1 => Value::Null,
            Err(_) => return Err(invalid(ty)),
        });
    }
    cursor.end()?;
    Ok(Value::Record(Arc::new(Record { shape, values })))
}

fn write_array(array: &Array, out: &mut Vec<u8>) {
    write_elements(array, out, &write);
}

/// One of the catalogue's vectors: it counts from 0, and has a dimension even if it is empty.
fn write_vector(vector: &Array, out: &mut Vec<u8>) {
    let mut put = |v: i32| out.extend_from_slice(&v.to_be_bytes());
    put(1);
    put(0);
    put(vector.element.oid() as i32);
    put(vector.values.len() as i32);
    put(0);
    write_each(vector, out, &write);
}

fn write_elements(array: &Array, out: &mut Vec<u8>, write: &dyn Fn(&Value, &mut Vec<u8>)) {
    let mut put = |v: i32| out.extend_from_slice(&v.to_be_bytes());
    let has_null = array.values.iter().any(Value::is_null);
    let shape = array.shape.as_deref();
    let dimensions = shape.map_or(usize::from(!array.values.is_empty()), <[_]>::len);
    put(dimensions as i32);
    put(i32::from(has_null));
    put(array.element.oid() as i32);
    match shape {
        None if array.values.is_empty() => return,
        None => {
            put(array.values.len() as i32);
            put(1);
        }
        Some(shape) => {
            for one in shape {
                put(one.length);
                put(one.lower);
            }
        }
    }
    write_each(array, out, write);
}

fn write_each(array: &Array, out: &mut Vec<u8>, write: &dyn Fn(&Value, &mut Vec<u8>)) {
    for value in &array.values {
        if value.is_null() {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            continue;
        }
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        write(value, out);
        let length = (out.len() - at - 4) as i32;
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

fn write_numeric(value: &Numeric, out: &mut Vec<u8>) {
    let mut put = |v: u16| out.extend_from_slice(&v.to_be_bytes());
    let Some((negative, mut digits)) = value.digits() else {
        // PostgreSQL puts 32 where the scale of an infinity would be; so do we.
        let (sign, scale) = match (value.is_nan(), value.is_negative()) {
            (true, _) => (NUMERIC_NAN, 0),
            (_, true) => (NUMERIC_NEGATIVE_INFINITY, 0x20),
            _ => (NUMERIC_INFINITY, 0x20),
        };
        return [0, 0, sign, scale].into_iter().for_each(put);
    };
    let scale = i32::from(value.scale());
    // Fill the fraction to whole base-10000 digits, then cut from the right.
    let fill = (WIRE_DIGITS - scale % WIRE_DIGITS) % WIRE_DIGITS;
    digits.extend(std::iter::repeat_n('0', fill as usize));
    let mut wire: Vec<u16> = digits
        .as_bytes()
        .rchunks(WIRE_DIGITS as usize)
        .map(|group| group.iter().fold(0, |v, d| 10 * v + u16::from(d - b'0')))
        .collect();
    // `wire` has the least digit first; it stands for 10000^-(fraction digits).
    let fraction = (scale + fill) / WIRE_DIGITS;
    let weight = wire.len() as i32 - 1 - fraction;
    wire.reverse();
    while wire.last() == Some(&0) {
        wire.pop();
    }
    let zero = wire.is_empty();
    put(wire.len() as u16);
    put(if zero { 0 } else { weight as i16 as u16 });
    put(if negative {
        NUMERIC_NEGATIVE
    } else {
        NUMERIC_POSITIVE
    });
    put(value.scale());
    wire.into_iter().for_each(put);
}

pub(crate) fn invalid(ty: SqlType) -> SqlError {
    SqlError::new(
        SqlState::INVALID_BINARY_REPRESENTATION,
        format!("incorrect binary data format for type {ty}"),
    )
}

/// Reads a value of type `ty` that fills `bytes`.
///
/// # Errors
/// `22P03` for bytes that are no such value, `22021` for text that is not UTF-8 or has a zero byte,
/// `22008` for a date or timestamp out of range, `22003` for a numeric out of range, `54000` for
/// arrays of more than six dimensions.
pub fn read(ty: SqlType, bytes: &[u8]) -> SqlResult<Value> {
    fn exact<const N: usize>(ty: SqlType, bytes: &[u8]) -> SqlResult<[u8; N]> {
        bytes.try_into().map_err(|_| invalid(ty))
    }
    let moment = || datetime::check_timestamp(i64::from_be_bytes(exact(ty, bytes)?));
    Ok(match ty {
        SqlType::Bool => Value::Bool(exact::<1>(ty, bytes)? != [0]),
        SqlType::Int2 => Value::Int2(i16::from_be_bytes(exact(ty, bytes)?)),
        SqlType::Int4 => Value::Int4(i32::from_be_bytes(exact(ty, bytes)?)),
        SqlType::Int8 => Value::Int8(i64::from_be_bytes(exact(ty, bytes)?)),
        SqlType::Money => Value::Money(i64::from_be_bytes(exact(ty, bytes)?)),
        _ if ty.family() == TypeFamily::Geometry => Value::figure(Figure::receive(ty, bytes)?),
        SqlType::Tid => Value::Int8(place::receive(bytes).ok_or_else(|| invalid(ty))?),
        SqlType::Oid | SqlType::Xid => Value::Oid(u32::from_be_bytes(exact(ty, bytes)?)),
        _ if ty.is_named_oid() => Value::Oid(u32::from_be_bytes(exact(ty, bytes)?)),
        SqlType::Enum(number) => Value::Enum(EnumValue {
            ty: number,
            place: u32::from_be_bytes(exact(ty, bytes)?),
        }),
        SqlType::Float4 => Value::Float4(f32::from_be_bytes(exact(ty, bytes)?)),
        SqlType::Float8 => Value::Float8(f64::from_be_bytes(exact(ty, bytes)?)),
        SqlType::Date => {
            let days = i32::from_be_bytes(exact(ty, bytes)?);
            Value::Date(datetime::check_date(i64::from(days))?)
        }
        SqlType::Timestamp => Value::Timestamp(moment()?),
        SqlType::TimestampTz => Value::TimestampTz(moment()?),
        SqlType::Numeric => Value::numeric(read_numeric(bytes)?),
        SqlType::Bytea => Value::Bytea(bytes.into()),
        SqlType::Uuid => Value::Uuid(exact(ty, bytes)?),
        SqlType::MacAddr => Value::MacAddr(exact(ty, bytes)?),
        SqlType::Inet | SqlType::Cidr => Value::Inet(read_inet(ty, bytes)?),
        SqlType::Bit | SqlType::VarBit => Value::Bits(read_bits(ty, bytes)?),
        SqlType::Range(kind) => Value::range(range::read_binary(kind, bytes)?),
        SqlType::Multirange(kind) => Value::multirange(multirange::read_binary(kind, bytes)?),
        SqlType::Interval => {
            let bytes = exact::<16>(ty, bytes)?;
            let (micros, rest) = bytes.split_first_chunk::<8>().ok_or_else(|| invalid(ty))?;
            let (days, months) = rest.split_first_chunk::<4>().ok_or_else(|| invalid(ty))?;
            Value::Interval(Interval {
                micros: i64::from_be_bytes(*micros),
                days: i32::from_be_bytes(*days),
                months: i32::from_be_bytes(exact(ty, months)?),
            })
        }
        SqlType::Time => {
            let micros = i64::from_be_bytes(exact(ty, bytes)?);
            Value::Time(datetime::check_time(micros)?)
        }
        SqlType::TimeTz => {
            let bytes = exact::<12>(ty, bytes)?;
            let (micros, west) = bytes.split_first_chunk::<8>().ok_or_else(|| invalid(ty))?;
            let west = i32::from_be_bytes(exact(ty, west)?);
            if west.unsigned_abs() >= 16 * 3600 {
                return Err(SqlError::new(
                    SqlState::INVALID_TIME_ZONE_DISPLACEMENT,
                    "time zone displacement out of range",
                ));
            }
            Value::TimeTz(datetime::TimeTz {
                micros: datetime::check_time(i64::from_be_bytes(*micros))?,
                offset: -west,
            })
        }
        SqlType::Json => {
            let text = utf8(bytes)?;
            crate::json::parse(text)?;
            Value::Text(Str::from(text))
        }
        SqlType::Jsonb => match bytes.split_first() {
            Some((&JSONB_VERSION, text)) => Value::json(Json::parse(utf8(text)?)?),
            Some((version, _)) => {
                return Err(SqlError::new(
                    SqlState::INTERNAL_ERROR,
                    format!("unsupported jsonb version number {version}"),
                ));
            }
            None => return Err(invalid(ty)),
        },
        SqlType::Record | SqlType::Composite(_) => {
            return Err(SqlError::unsupported(format!("binary input of type {ty}")));
        }
        SqlType::JsonPath => match bytes.split_first() {
            Some((&JSONPATH_VERSION, text)) => {
                let path = JsonPath::parse(utf8(text)?)?;
                Value::Text(Str::from(path.to_string()))
            }
            Some((version, _)) => {
                return Err(SqlError::new(
                    SqlState::INTERNAL_ERROR,
                    format!("unsupported jsonpath version number: {version}"),
                ));
            }
            None => return Err(invalid(ty)),
        },
        SqlType::TsVector | SqlType::TsQuery => lexemes::receive(ty, bytes)?,
        SqlType::Citext => Value::Citext(utf8(bytes)?.into()),
        SqlType::Hstore => Pairs::receive(bytes)?.to_value(),
        SqlType::Void => return Err(SqlError::unsupported("binary input of type void")),
        // A single zero byte is how the catalogue's "char" says "empty".
        SqlType::InternalChar if bytes == [0] => Value::Text(Str::default()),
        SqlType::InternalChar if bytes.len() > 1 => return Err(invalid(ty)),
        _ => match ty.element() {
            Some(element) => read_array(ty, element, bytes)?,
            None => {
                debug_assert!(matches!(
                    ty.family(),
                    TypeFamily::Text | TypeFamily::Unknown | TypeFamily::Json
                ));
                Value::Text(Str::from(utf8(bytes)?))
            }
        },
    })
}

fn read_inet(ty: SqlType, bytes: &[u8]) -> SqlResult<Inet> {
    let refuse = |what: String| SqlError::new(SqlState::INVALID_BINARY_REPRESENTATION, what);
    // Whether it is a cidr is the type's to say.
    let Some((&[family, bits, _, length], address)) = bytes.split_first_chunk() else {
        return Err(invalid(ty));
    };
    let family = Family::from_code(family)
        .ok_or_else(|| refuse(format!("invalid address family in external \"{ty}\" value")))?;
    if bits > family.bits() {
        return Err(refuse(format!("invalid bits in external \"{ty}\" value")));
    }
    if usize::from(length) != family.bytes() {
        return Err(refuse(format!("invalid length in external \"{ty}\" value")));
    }
    let inet = Inet::new(family, address, bits).ok_or_else(|| invalid(ty))?;
    match ty {
        SqlType::Cidr => inet.exact_cidr().ok_or_else(|| {
            refuse("invalid external \"cidr\" value".to_string())
                .detail("Value has bits set to right of mask.")
        }),
        _ => Ok(inet),
    }
}

fn read_bits(ty: SqlType, bytes: &[u8]) -> SqlResult<Bits> {
    let (count, bytes) = bytes.split_first_chunk().ok_or_else(|| invalid(ty))?;
    let count = usize::try_from(i32::from_be_bytes(*count)).map_err(|_| {
        let message = "invalid length in external bit string";
        SqlError::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
    })?;
    if bytes.len() != count.div_ceil(8) {
        return Err(invalid(ty));
    }
    Bits::new(count, bytes)
}

/// Bytes of a client as text: UTF-8 without zero bytes.
///
/// # Errors
/// `22021`, naming the first bad bytes.
pub fn utf8(bytes: &[u8]) -> SqlResult<&str> {
    let refuse = |bad: &[u8]| {
        let bad: Vec<String> = bad.iter().map(|b| format!("0x{b:02x}")).collect();
        SqlError::new(
            SqlState::CHARACTER_NOT_IN_REPERTOIRE,
            format!(
                "invalid byte sequence for encoding \"UTF8\": {}",
                bad.join(" ")
            ),
        )
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let length = error.error_len().unwrap_or(bytes.len() - at);
        refuse(&bytes[at..at + length])
    })?;
    if text.contains('\0') {
        return Err(refuse(&[0]));
    }
    Ok(text)
}

/// What is still to be read of a value with parts.
struct Cursor<'a> {
    ty: SqlType,
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> SqlResult<&'a [u8]> {
        let (head, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| invalid(self.ty))?;
        self.rest = rest;
        Ok(head)
    }

    fn u16(&mut self) -> SqlResult<u16> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn i32(&mut self) -> SqlResult<i32> {
        let bytes = self.take(4)?;
        Ok(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn end(&self) -> SqlResult<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(invalid(self.ty))
    }
}

fn read_array(ty: SqlType, element: SqlType, bytes: &[u8]) -> SqlResult<Value> {
    read_elements(ty, element, bytes, &|bytes| read(element, bytes))
}

fn read_elements(
    ty: SqlType,
    element: SqlType,
    bytes: &[u8],
    read: &dyn Fn(&[u8]) -> SqlResult<Value>,
) -> SqlResult<Value> {
    let mut cursor = Cursor { ty, rest: bytes };
    let dimensions = cursor.i32()?;
    let flags = cursor.i32()?;
    let sent = cursor.i32()? as u32;
    if !(0..=1).contains(&flags) || dimensions < 0 {
        return Err(invalid(ty));
    }
    if sent != element.oid() {
        return Err(SqlError::new(
            SqlState::DATATYPE_MISMATCH,
            format!(
                "binary data has array element type {sent} instead of expected {} ({element})",
                element.oid()
            ),
        ));
    }
    if dimensions as usize > DIMENSIONS_MAX {
        return Err(too_many_dimensions(dimensions as usize));
    }
    let mut shape = Dimensions::default();
    for _ in 0..dimensions {
        let (length, lower) = (cursor.i32()?, cursor.i32()?);
        // The catalogue's vectors count from 0 by their type.
        let lower = if ty.is_vector() { 1 } else { lower };
        shape.push(Dimension { lower, length })?;
    }
    let mut values = Vec::new();
    // The count is not trusted with memory: each element must bring its length first.
    for _ in 0..shape.elements()? {
        let length = cursor.i32()?;
        values.push(match usize::try_from(length) {
            Ok(length) => read(cursor.take(length)?)?,
            Err(_) if length == -1 => Value::Null,
            Err(_) => return Err(invalid(ty)),
        });
    }
    cursor.end()?;
    Ok(Value::Array(Box::new(match &shape[..] {
        [one] if one.lower == 1 => Array::new(element, values),
        shape => Array::shaped(element, values, shape),
    })))
}

fn read_numeric(bytes: &[u8]) -> SqlResult<Numeric> {
    let ty = SqlType::Numeric;
    let mut cursor = Cursor { ty, rest: bytes };
    let count = cursor.u16()?;
    let weight = i32::from(cursor.u16()? as i16);
    let sign = cursor.u16()?;
    let scale = cursor.u16()?;
    let mut digits = Vec::with_capacity(bytes.len() * 2);
    for _ in 0..count {
        let digit = cursor.u16()?;
        if digit > 9999 {
            return Err(SqlError::new(
                SqlState::INVALID_BINARY_REPRESENTATION,
                "invalid digit in external \"numeric\" value",
            ));
        }
        let shift = [1000, 100, 10, 1];
        digits.extend(shift.map(|s| b'0' + (digit / s % 10) as u8));
    }
    cursor.end()?;
    let negative = match sign {
        NUMERIC_POSITIVE => false,
        NUMERIC_NEGATIVE => true,
        NUMERIC_NAN => return Ok(Numeric::NAN),
        NUMERIC_INFINITY => return Ok(Numeric::INFINITY),
        NUMERIC_NEGATIVE_INFINITY => return Ok(Numeric::NEGATIVE_INFINITY),
        _ => {
            return Err(SqlError::new(
                SqlState::INVALID_BINARY_REPRESENTATION,
                "invalid sign in external \"numeric\" value",
            ));
        }
    };
    if scale > crate::numeric::SCALE_MAX {
        return Err(SqlError::new(
            SqlState::INVALID_BINARY_REPRESENTATION,
            "invalid scale in external \"numeric\" value",
        ));
    }
    // Decimal digits wanted: those before the point and `scale` after it. What was sent beyond the
    // scale is dropped, what is missing is zero.
    let before_point = (weight + 1) * WIRE_DIGITS;
    let wanted = before_point + i32::from(scale);
    if wanted <= 0 {
        return Numeric::from_digits(false, b"", u32::from(scale));
    }
    digits.resize(wanted as usize, b'0');
    let significant = digits.iter().position(|d| *d != b'0');
    let digits = &digits[significant.unwrap_or(digits.len())..];
    Numeric::from_digits(negative, digits, u32::from(scale))
}
