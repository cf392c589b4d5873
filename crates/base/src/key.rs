//! Order-preserving keys: comparing bytes is comparing values.
//!
//! Relies on: nothing but the values.  Promises: the byte order of concatenated encodings is
//! [`Value::order`] column by column, values that compare equal have equal bytes, and no encoding is
//! a prefix of another of its type, so keys can be concatenated and cut.  Does not: keep the scale of
//! a numeric, the sign of a zero, the parts of an interval or the case of a citext (rows keep the value), bound the length (`limits::KEY_BYTES_MAX`
//! is checked where keys enter the stores), or know of `DESC`.
//!
//! ```text
//! NULL              02
//! anything else     01, then
//!   bool            00 or 01
//!   int2 int4 int8  big-endian, sign bit flipped; so date, the timestamps and money
//!   oid             big-endian
//!   float4 float8   big-endian bits; positive: sign bit set; negative: all bits flipped;
//!                   -0 is written as 0, every NaN as the one above infinity
//!   text bytea      the bytes with 00 written as 00 FF, then 00 00; so a citext in lower case, and an hstore
//!   uuid            16 bytes                    macaddr  6 bytes
//!   numeric         class byte: 10 -Infinity, 20 below zero, 30 zero, 40 above zero,
//!                   50 Infinity, 60 NaN. After 40: exponent e as 3 bytes big-endian with
//!                   800000 added (value = 0.d1d2d3… × 10^e, d1 not 0); pairs of digits d1d2, d3d4, …
//!                   each as 1 + pair, the last filled with 0, trailing 00 pairs left out; 00.
//!                   After 20: the same for the absolute value with all bits flipped.
//!   array           each element as above, then 00 and its shape: 80 of one dimension that begins at 1, or none, 7F and the
//!                   lower bound as int4 of one that begins before, 81 behind, 90 and n, lengths and lower bounds of n
//!   record          what `record` says of its shape, names left out, then each field as above
//!   interval        its span in microseconds, 16 bytes big-endian, sign bit flipped
//!   time            as int8
//!   timetz          the moment in UTC as int8, then seconds west as int4
//!   inet cidr       02 or 03 for the family, the address with what is behind the network zero, the length
//!                   of the network, the address
//!   figures         01 if it is a path and closed, else 00; each number that is sent of it: 01, and as float8; 00
//!   ranges          as `range` says; multiranges as `multirange` does
//!   bit, varbit     the bytes as of bytea, then how many bits of the last one count, 00 if there is none
//!   jsonb           an empty array as the whole document: 01. Else 02 and the document: null 10,
//!                   string 20 and as text, number 30 and as numeric, false 40, true 41,
//!                   array 50, u32 big-endian count and the elements, object 60, count and
//!                   key (as text) and value of each pair
//! ```
//! `char(n)` compares without its trailing blanks. Values of one column are all padded to the same
//! length, so comparing the padded text gives the same answer within a column (except below the
//! blank: control characters). A key that must meet values of other columns, or of `char` without
//! length, is encoded from text whose trailing blanks the caller has cut; in one key space always do
//! the one or always the other.

use crate::array::DIMENSIONS_MAX;
use crate::bits::Bits;
use crate::caseless;
use crate::datetime::{MICROS_PER_SECOND, TimeTz};
use crate::datum::Datum;
use crate::error::{SqlError, SqlResult, SqlState};
use crate::geometry::Figure;
use crate::interval::Interval;
use crate::json::{DEPTH_MAX, Json};
use crate::multirange;
use crate::network::{Family, Inet};
use crate::numeric::Numeric;
use crate::range;
use crate::record::{self, FieldShape, Record, Shape};
use crate::types::{SqlType, TypeFamily};
use crate::value::{Array, Dimension, EnumValue, Str, Value};
use std::sync::Arc;

const NOT_NULL: u8 = 0x01;
const NULL: u8 = 0x02;
/// Ends the elements of an array; below both tags above, so that a shorter array sorts first.
const ARRAY_END: u8 = 0x00;
/// Of one dimension that begins before 1, at 1 (or without elements), behind 1; of several, with their number added.
const SHAPE_BEFORE: u8 = 0x7F;
const SHAPE_PLAIN: u8 = 0x80;
const SHAPE_BEHIND: u8 = 0x81;
const SHAPE_NESTED: u8 = 0x90;

/// In text: a zero byte, then [`ESCAPED_ZERO`] or [`TEXT_END`].
const ESCAPE: u8 = 0x00;
const ESCAPED_ZERO: u8 = 0xFF;
const TEXT_END: u8 = 0x00;
/// How many bytes end a text.
pub const TEXT_END_BYTES: usize = 2;

const NUMERIC_NEGATIVE_INFINITY: u8 = 0x10;
const NUMERIC_NEGATIVE: u8 = 0x20;
const NUMERIC_ZERO: u8 = 0x30;
const NUMERIC_POSITIVE: u8 = 0x40;
const NUMERIC_INFINITY: u8 = 0x50;
const NUMERIC_NAN: u8 = 0x60;
/// Added to exponents (-16383 to 131072) so that they are positive in 3 bytes.
const EXPONENT_BIAS: i32 = 0x80_0000;
/// Ends the digit pairs; below each of them.
const DIGITS_END: u8 = 0x00;

/// A document that is an empty array sorts below all others.
const JSON_EMPTY: u8 = 0x01;
const JSON_OTHER: u8 = 0x02;
const JSON_NULL: u8 = 0x10;
const JSON_TEXT: u8 = 0x20;
const JSON_NUMBER: u8 = 0x30;
const JSON_FALSE: u8 = 0x40;
const JSON_TRUE: u8 = 0x41;
const JSON_ARRAY: u8 = 0x50;
const JSON_OBJECT: u8 = 0x60;

/// Appends the encoding of one value.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    if value.is_null() {
        out.push(NULL);
        return;
    }
    out.push(NOT_NULL);
    match value {
        Value::Null => unreachable!("written above"),
        Value::Bool(v) => out.push(u8::from(*v)),
        Value::Int2(v) => out.extend_from_slice(&(*v ^ i16::MIN).to_be_bytes()),
        Value::Int4(v) | Value::Date(v) => out.extend_from_slice(&(*v ^ i32::MIN).to_be_bytes()),
        Value::Int8(v) | Value::Timestamp(v) | Value::TimestampTz(v) | Value::Money(v) => {
            out.extend_from_slice(&(*v ^ i64::MIN).to_be_bytes());
        }
        Value::Oid(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Enum(v) => out.extend_from_slice(&v.place.to_be_bytes()),
        Value::Float4(v) => out.extend_from_slice(&float4_bits(*v).to_be_bytes()),
        Value::Float8(v) => out.extend_from_slice(&float8_bits(*v).to_be_bytes()),
        Value::Numeric(v) => encode_numeric(v, out),
        Value::Text(v) => encode_bytes(v.as_bytes(), out),
        Value::Bytea(v) => encode_bytes(v, out),
        Value::Uuid(v) => out.extend_from_slice(v),
        Value::MacAddr(v) => out.extend_from_slice(v),
        Value::Inet(v) => {
            out.push(v.family().code());
            out.extend_from_slice(v.network().address());
            out.push(v.bits());
            out.extend_from_slice(v.address());
        }
        Value::Bits(v) => {
            encode_bytes(v.bytes(), out);
            out.push(v.bits_of_last());
        }
        Value::Figure(v) => encode_figure(v, out),
        Value::Range(v) => range::encode_key(v, out),
        Value::Multirange(v) => multirange::encode_key(v, out),
        Value::Record(v) => encode_record(v, out),
        Value::Citext(v) => encode_bytes(caseless::fold(v).as_bytes(), out),
        Value::Interval(v) => {
            out.extend_from_slice(&(v.span() ^ i128::MIN).to_be_bytes());
        }
        Value::Time(v) => out.extend_from_slice(&(*v ^ i64::MIN).to_be_bytes()),
        Value::TimeTz(v) => {
            out.extend_from_slice(&(v.utc() ^ i64::MIN).to_be_bytes());
            out.extend_from_slice(&(-v.offset ^ i32::MIN).to_be_bytes());
        }
        Value::Jsonb(v) => match &**v {
            Json::Array(elements) if elements.is_empty() => out.push(JSON_EMPTY),
            json => {
                out.push(JSON_OTHER);
                encode_json(json, out);
            }
        },
        Value::Array(v) => {
            for element in &v.values {
                encode(element, out);
            }
            out.push(ARRAY_END);
            encode_shape(v.shape.as_deref(), out);
        }
    }
}

/// Arrays that are equal but for it are of as many elements.
fn encode_shape(shape: Option<&[Dimension]>, out: &mut Vec<u8>) {
    let number = |number: i32| (number ^ i32::MIN).to_be_bytes();
    match shape {
        None => out.push(SHAPE_PLAIN),
        Some([only]) => {
            out.push(match only.lower < 1 {
                true => SHAPE_BEFORE,
                false => SHAPE_BEHIND,
            });
            out.extend_from_slice(&number(only.lower));
        }
        Some(all) => {
            out.push(SHAPE_NESTED + all.len() as u8);
            let numbers = all.iter().map(|one| one.length);
            for one in numbers.chain(all.iter().map(|one| one.lower)) {
                out.extend_from_slice(&number(one));
            }
        }
    }
}

fn decode_array(element: SqlType, bytes: &mut &[u8]) -> SqlResult<Array> {
    let mut values = Vec::new();
    while bytes.first() != Some(&ARRAY_END) {
        values.push(decode(element, bytes)?);
    }
    take::<1>(bytes)?;
    let [kind] = take::<1>(bytes)?;
    let mut number = || Ok(i32::from_be_bytes(take::<4>(bytes)?) ^ i32::MIN);
    let mut dimensions = [Dimension::default(); DIMENSIONS_MAX];
    let dimensions = match kind {
        SHAPE_PLAIN => return Ok(Array::new(element, values)),
        SHAPE_BEFORE | SHAPE_BEHIND => {
            dimensions[0].length = values.len() as i32;
            dimensions[0].lower = number()?;
            &dimensions[..1]
        }
        _ => {
            let count = usize::from(kind.checked_sub(SHAPE_NESTED).ok_or_else(corrupt)?);
            let dimensions = dimensions.get_mut(..count).ok_or_else(corrupt)?;
            for one in dimensions.iter_mut() {
                one.length = number()?;
            }
            for one in dimensions.iter_mut() {
                one.lower = number()?;
            }
            dimensions
        }
    };
    let is_kind = match (kind, dimensions) {
        (SHAPE_BEFORE, [one]) => one.lower < 1,
        (SHAPE_BEHIND, [one]) => one.lower > 1,
        (_, all) => kind > SHAPE_NESTED && all.len() > 1,
    };
    let array = Array::checked(element, values, dimensions);
    let array = array.filter(|array| is_kind && array.shape.is_some());
    array.ok_or_else(corrupt)
}

/// Appends the encoding of an int4: what most keys are made of.
#[inline]
pub fn encode_int4(value: i32, out: &mut Vec<u8>) {
    let [a, b, c, d] = (value ^ i32::MIN).to_be_bytes();
    out.extend_from_slice(&[NOT_NULL, a, b, c, d]);
}

/// Appends the encoding of one value, of which only a datum is at hand.
#[inline]
pub fn encode_datum(value: Datum<'_>, out: &mut Vec<u8>) {
    fn tagged<const N: usize>(bytes: [u8; N], out: &mut Vec<u8>) {
        out.push(NOT_NULL);
        out.extend_from_slice(&bytes);
    }
    match value {
        Datum::Null => out.push(NULL),
        Datum::Bool(v) => tagged([u8::from(v)], out),
        Datum::Int2(v) => tagged((v ^ i16::MIN).to_be_bytes(), out),
        Datum::Int4(v) | Datum::Date(v) => encode_int4(v, out),
        Datum::Int8(v) | Datum::Timestamp(v) | Datum::TimestampTz(v) => {
            tagged((v ^ i64::MIN).to_be_bytes(), out);
        }
        Datum::Decimal(mantissa, scale) => {
            out.push(NOT_NULL);
            encode_numeric(&Numeric::from_short(mantissa, scale), out);
        }
        Datum::Text(v) => {
            out.push(NOT_NULL);
            encode_bytes(v.as_bytes(), out);
        }
        Datum::Lying(value) => encode(value, out),
    }
}

/// The encodings of several values, one after the other.
pub fn encode_all<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    for value in values {
        encode(value, &mut out);
    }
    out
}

/// The types of the fields come first, so that it reads back; of one column they are the same.
fn encode_record(record: &Record, out: &mut Vec<u8>) {
    let unnamed = record.shape.fields.iter().map(|field| FieldShape {
        name: Str::default(),
        ..field.clone()
    });
    let shape = Shape {
        ty: record.shape.ty,
        fields: unnamed.collect(),
    };
    record::write_shape(&shape, out);
    for (value, field) in record.values.iter().zip(&shape.fields) {
        match value {
            Value::Text(text) if field.ty == SqlType::Bpchar => {
                out.push(NOT_NULL);
                encode_bytes(text.trim_end_matches(' ').as_bytes(), out);
            }
            value => encode(value, out),
        }
    }
}

fn decode_record(bytes: &mut &[u8]) -> SqlResult<Value> {
    let shape = record::read_shape(bytes).ok_or_else(corrupt)?;
    let fields = shape.fields.iter();
    let values = fields.map(|field| decode(field.ty, bytes));
    Ok(Value::Record(Arc::new(Record {
        values: values.collect::<SqlResult<_>>()?,
        shape: Arc::new(shape),
    })))
}

fn encode_figure(figure: &Figure, out: &mut Vec<u8>) {
    figure.encode_key(out, |number, out| {
        out.extend_from_slice(&float8_bits(number).to_be_bytes());
    });
}

fn float4_bits(value: f32) -> u32 {
    if value.is_nan() {
        return u32::MAX;
    }
    // Adding 0 turns -0 into 0 and leaves everything else.
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 0 {
        bits | 1 << 31
    } else {
        !bits
    }
}

fn float8_bits(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.contains(&ESCAPE) {
        out.extend_from_slice(bytes);
        out.extend_from_slice(&[ESCAPE, TEXT_END]);
        return;
    }
    for (i, run) in bytes.split(|b| *b == ESCAPE).enumerate() {
        if i > 0 {
            out.extend_from_slice(&[ESCAPE, ESCAPED_ZERO]);
        }
        out.extend_from_slice(run);
    }
    out.extend_from_slice(&[ESCAPE, TEXT_END]);
}

fn encode_json(json: &Json, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.push(JSON_NULL),
        Json::Bool(truth) => out.push(if *truth { JSON_TRUE } else { JSON_FALSE }),
        Json::Text(text) => {
            out.push(JSON_TEXT);
            encode_bytes(text.as_bytes(), out);
        }
        Json::Number(number) => {
            out.push(JSON_NUMBER);
            encode_numeric(number, out);
        }
        Json::Array(elements) => {
            out.push(JSON_ARRAY);
            out.extend_from_slice(&(elements.len() as u32).to_be_bytes());
            elements
                .iter()
                .for_each(|element| encode_json(element, out));
        }
        Json::Object(pairs) => {
            out.push(JSON_OBJECT);
            out.extend_from_slice(&(pairs.len() as u32).to_be_bytes());
            for (key, value) in pairs {
                encode_bytes(key.as_bytes(), out);
                encode_json(value, out);
            }
        }
    }
}

fn decode_json(bytes: &mut &[u8], depth: usize) -> SqlResult<Json> {
    if depth > DEPTH_MAX {
        return Err(corrupt());
    }
    let text = |bytes: &mut &[u8]| {
        let text = String::from_utf8(decode_bytes(bytes)?).map_err(|_| corrupt())?;
        Ok(Str::from(text))
    };
    Ok(match take::<1>(bytes)?[0] {
        JSON_NULL => Json::Null,
        JSON_FALSE => Json::Bool(false),
        JSON_TRUE => Json::Bool(true),
        JSON_TEXT => Json::Text(text(bytes)?),
        JSON_NUMBER => Json::Number(decode_numeric(bytes)?),
        JSON_ARRAY => {
            let count = u32::from_be_bytes(take(bytes)?);
            let elements = (0..count).map(|_| decode_json(bytes, depth + 1));
            Json::Array(elements.collect::<SqlResult<_>>()?)
        }
        JSON_OBJECT => {
            let count = u32::from_be_bytes(take(bytes)?);
            let pairs = (0..count).map(|_| Ok((text(bytes)?, decode_json(bytes, depth + 1)?)));
            Json::Object(pairs.collect::<SqlResult<_>>()?)
        }
        _ => return Err(corrupt()),
    })
}

fn encode_numeric(value: &Numeric, out: &mut Vec<u8>) {
    let Some((negative, digits)) = value.digits() else {
        out.push(match (value.is_nan(), value.is_negative()) {
            (true, _) => NUMERIC_NAN,
            (_, true) => NUMERIC_NEGATIVE_INFINITY,
            _ => NUMERIC_INFINITY,
        });
        return;
    };
    if digits.is_empty() {
        out.push(NUMERIC_ZERO);
        return;
    }
    let flip = if negative { 0xFF } else { 0x00 };
    out.push(if negative {
        NUMERIC_NEGATIVE
    } else {
        NUMERIC_POSITIVE
    });
    let exponent = digits.len() as i32 - i32::from(value.scale());
    let biased = (exponent + EXPONENT_BIAS).to_be_bytes();
    out.extend(biased[1..].iter().map(|b| b ^ flip));
    let digits = digits.trim_end_matches('0').as_bytes();
    for pair in digits.chunks(2) {
        let low = pair.get(1).map_or(0, |d| d - b'0');
        let pair = 10 * (pair[0] - b'0') + low;
        out.push((1 + pair) ^ flip);
    }
    out.push(DIGITS_END ^ flip);
}

pub(crate) fn corrupt() -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, "stored key is damaged")
}

pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> SqlResult<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk::<N>().ok_or_else(corrupt)?;
    *bytes = rest;
    Ok(*head)
}

/// Reads one value of type `ty` and advances `bytes` past it. A numeric comes back with the
/// smallest scale that shows its value.
///
/// # Errors
/// `XX001` if the bytes are no encoding of such a value.
pub fn decode(ty: SqlType, bytes: &mut &[u8]) -> SqlResult<Value> {
    match take::<1>(bytes)? {
        [NULL] => Ok(Value::Null),
        [NOT_NULL] => decode_some(ty, bytes),
        _ => Err(corrupt()),
    }
}

fn decode_some(ty: SqlType, bytes: &mut &[u8]) -> SqlResult<Value> {
    let signed_8 = |bytes: &mut &[u8]| Ok(i64::from_be_bytes(take(bytes)?) ^ i64::MIN);
    let signed_4 = |bytes: &mut &[u8]| Ok(i32::from_be_bytes(take(bytes)?) ^ i32::MIN);
    Ok(match ty {
        SqlType::Bool => match take::<1>(bytes)? {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            _ => return Err(corrupt()),
        },
        SqlType::Int2 => Value::Int2(i16::from_be_bytes(take(bytes)?) ^ i16::MIN),
        SqlType::Int4 => Value::Int4(signed_4(bytes)?),
        SqlType::Int8 | SqlType::Tid => Value::Int8(signed_8(bytes)?),
        SqlType::Money => Value::Money(signed_8(bytes)?),
        _ if ty.family() == TypeFamily::Geometry => Value::figure(decode_figure(ty, bytes)?),
        SqlType::Date => Value::Date(signed_4(bytes)?),
        SqlType::Timestamp => Value::Timestamp(signed_8(bytes)?),
        SqlType::TimestampTz => Value::TimestampTz(signed_8(bytes)?),
        SqlType::Oid | SqlType::Xid => Value::Oid(u32::from_be_bytes(take(bytes)?)),
        _ if ty.is_named_oid() => Value::Oid(u32::from_be_bytes(take(bytes)?)),
        SqlType::Enum(ty) => Value::Enum(EnumValue {
            ty,
            place: u32::from_be_bytes(take(bytes)?),
        }),
        SqlType::Float4 => {
            let key = u32::from_be_bytes(take(bytes)?);
            let bits = if key >> 31 == 1 { key ^ 1 << 31 } else { !key };
            Value::Float4(f32::from_bits(bits))
        }
        SqlType::Float8 => Value::Float8(decode_float8(bytes)?),
        SqlType::Numeric => Value::numeric(decode_numeric(bytes)?),
        SqlType::Bytea | SqlType::TsVector | SqlType::TsQuery | SqlType::Hstore => {
            Value::Bytea(decode_bytes(bytes)?.into())
        }
        SqlType::Citext => {
            let text = String::from_utf8(decode_bytes(bytes)?).map_err(|_| corrupt())?;
            Value::Citext(text.into())
        }
        SqlType::Uuid => Value::Uuid(take(bytes)?),
        SqlType::MacAddr => Value::MacAddr(take(bytes)?),
        SqlType::Inet | SqlType::Cidr => Value::Inet(decode_inet(ty, bytes)?),
        SqlType::Bit | SqlType::VarBit => Value::Bits(decode_bits(bytes)?),
        SqlType::Range(kind) => Value::range(range::decode_key(kind, bytes)?),
        SqlType::Multirange(kind) => Value::multirange(multirange::decode_key(kind, bytes)?),
        SqlType::Interval => {
            let span = i128::from_be_bytes(take(bytes)?) ^ i128::MIN;
            Value::Interval(Interval::from_span(span).ok_or_else(corrupt)?)
        }
        SqlType::Time => Value::Time(signed_8(bytes)?),
        SqlType::TimeTz => {
            let (utc, west) = (signed_8(bytes)?, signed_4(bytes)?);
            let offset = west.checked_neg().ok_or_else(corrupt)?;
            let shift = i64::from(offset) * MICROS_PER_SECOND;
            let micros = utc.checked_add(shift).ok_or_else(corrupt)?;
            Value::TimeTz(TimeTz { micros, offset })
        }
        SqlType::Jsonb => match take::<1>(bytes)? {
            [JSON_EMPTY] => Value::json(Json::Array(vec![])),
            [JSON_OTHER] => match decode_json(bytes, 0)? {
                Json::Array(elements) if elements.is_empty() => return Err(corrupt()),
                json => Value::json(json),
            },
            _ => return Err(corrupt()),
        },
        SqlType::Record | SqlType::Composite(_) => decode_record(bytes)?,
        SqlType::Void => return Err(corrupt()),
        _ if matches!(ty.family(), TypeFamily::Text | TypeFamily::Unknown)
            || ty == SqlType::Json =>
        {
            let text = String::from_utf8(decode_bytes(bytes)?).map_err(|_| corrupt())?;
            Value::Text(Str::from(text))
        }
        _ => {
            let element = ty.element().ok_or_else(corrupt)?;
            Value::Array(Box::new(decode_array(element, bytes)?))
        }
    })
}

fn decode_float8(bytes: &mut &[u8]) -> SqlResult<f64> {
    let key = u64::from_be_bytes(take(bytes)?);
    let bits = if key >> 63 == 1 { key ^ 1 << 63 } else { !key };
    Ok(f64::from_bits(bits))
}

fn decode_figure(ty: SqlType, bytes: &mut &[u8]) -> SqlResult<Figure> {
    let whole = *bytes;
    let closed = match take::<1>(bytes)? {
        [closed @ (0 | 1)] => closed == 1,
        _ => return Err(corrupt()),
    };
    let mut numbers = Vec::new();
    loop {
        match take::<1>(bytes)? {
            [0] => break,
            [1] => numbers.push(decode_float8(bytes)?),
            _ => return Err(corrupt()),
        }
    }
    let figure = Figure::from_numbers(ty, closed, &numbers).ok_or_else(corrupt)?;
    // Only what `encode` writes: a box by its corners, one kind of NaN, what is closed a path.
    let mut again = Vec::new();
    encode_figure(&figure, &mut again);
    match whole.strip_prefix(again.as_slice()) {
        Some(rest) if rest.len() == bytes.len() => Ok(figure),
        _ => Err(corrupt()),
    }
}

fn decode_inet(ty: SqlType, bytes: &mut &[u8]) -> SqlResult<Inet> {
    let family = Family::from_code(take::<1>(bytes)?[0]).ok_or_else(corrupt)?;
    let mut part = |count: usize| {
        let (part, rest) = bytes.split_at_checked(count).ok_or_else(corrupt)?;
        *bytes = rest;
        Ok(part)
    };
    let network = part(family.bytes())?;
    let bits = part(1)?[0];
    let inet = Inet::new(family, part(family.bytes())?, bits).ok_or_else(corrupt)?;
    if inet.network().address() != network {
        return Err(corrupt());
    }
    match ty {
        SqlType::Cidr => inet.exact_cidr().ok_or_else(corrupt),
        _ => Ok(inet),
    }
}

fn decode_bits(bytes: &mut &[u8]) -> SqlResult<Bits> {
    let all = decode_bytes(bytes)?;
    let of_last = usize::from(take::<1>(bytes)?[0]);
    let count = (8 * all.len() + of_last).checked_sub(8.min(8 * all.len()));
    let count = count.filter(|count| count.div_ceil(8) == all.len());
    let bits = Bits::new(count.ok_or_else(corrupt)?, &all)?;
    match bits.bytes() == all {
        true => Ok(bits),
        false => Err(corrupt()),
    }
}

fn decode_bytes(bytes: &mut &[u8]) -> SqlResult<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        let zero = bytes
            .iter()
            .position(|b| *b == ESCAPE)
            .ok_or_else(corrupt)?;
        out.extend_from_slice(&bytes[..zero]);
        let after = bytes.get(zero + 1).copied();
        *bytes = bytes.get(zero + 2..).ok_or_else(corrupt)?;
        match after {
            Some(TEXT_END) => return Ok(out),
            Some(ESCAPED_ZERO) => out.push(ESCAPE),
            _ => return Err(corrupt()),
        }
    }
}

fn decode_numeric(bytes: &mut &[u8]) -> SqlResult<Numeric> {
    let negative = match take::<1>(bytes)?[0] {
        NUMERIC_NEGATIVE_INFINITY => return Ok(Numeric::NEGATIVE_INFINITY),
        NUMERIC_INFINITY => return Ok(Numeric::INFINITY),
        NUMERIC_NAN => return Ok(Numeric::NAN),
        NUMERIC_ZERO => return Ok(Numeric::ZERO),
        NUMERIC_NEGATIVE => true,
        NUMERIC_POSITIVE => false,
        _ => return Err(corrupt()),
    };
    let flip = if negative { 0xFF } else { 0x00 };
    let [a, b, c] = take::<3>(bytes)?.map(|b| b ^ flip);
    let exponent = i32::from_be_bytes([0, a, b, c]) - EXPONENT_BIAS;
    let end = bytes.iter().position(|b| b ^ flip == DIGITS_END);
    let end = end.ok_or_else(corrupt)?;
    let mut digits = Vec::with_capacity(2 * end);
    for byte in &bytes[..end] {
        let pair = (byte ^ flip) - 1;
        if pair > 99 {
            return Err(corrupt());
        }
        digits.extend_from_slice(&[b'0' + pair / 10, b'0' + pair % 10]);
    }
    *bytes = &bytes[end + 1..];
    if digits.last() == Some(&b'0') {
        digits.pop();
    }
    // Only what `encode` writes: a first digit, no empty pair at the end, an exponent in range.
    let canonical = digits.first().is_some_and(|d| *d != b'0')
        && digits.last().is_some_and(|d| *d != b'0')
        && (-(i32::from(crate::numeric::SCALE_MAX))..=crate::numeric::INTEGER_DIGITS_MAX as i32)
            .contains(&exponent);
    if !canonical {
        return Err(corrupt());
    }
    let scale = digits.len() as i32 - exponent;
    if scale < 0 {
        digits.resize(exponent as usize, b'0');
    }
    Numeric::from_digits(negative, &digits, scale.max(0) as u32).map_err(|_| corrupt())
}

/// The smallest byte string above every string that begins with `prefix`; `None` if there is no
/// such string (`prefix` is empty or all FF).
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != 0xFF)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}
