//! Values as text: what clients see and what they write into literals, parameters and COPY.
//!
//! Relies on: `Numeric`, `datetime`.  Promises: PostgreSQL's output for every type, and its input
//! rules, refusals and messages; what [`write()`] writes, [`read`] reads back to an equal value.
//! Does not: print NULL (there is no text for it: the message, the literal or COPY decides) or apply
//! a type modifier on reading; [`coerce_length`] does that.
//!
//! Hot path: integers and text go straight into the caller's buffer; keep allocations out of those
//! arms of [`write()`].

mod array;
pub(crate) mod float;
pub(crate) mod record;

use crate::bits::Bits;
use crate::datetime::{self, DateOrder, DateStyle, TimeZone};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::geometry;
use crate::interval::{self, IntervalStyle};
use crate::json::{self, Json};
use crate::jsonpath::JsonPath;
use crate::lexemes;
use crate::limits::IDENTIFIER_BYTES_MAX;
use crate::money;
use crate::multirange;
use crate::network;
use crate::numeric::Numeric;
use crate::objects::ObjectNames;
use crate::pairs::{self, Pairs};
use crate::place;
use crate::range;
use crate::types::{SqlType, TypeFamily, TypeMod};
use crate::value::{Array, EnumValue, Str, Value};
use crate::xid;
use std::io::Write;

/// The session settings that change how values look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatContext {
    /// Zone in which `timestamptz` is read and shown.
    pub zone: TimeZone,
    /// In which order the parts of dates are read that do not begin with the year.
    pub date_order: DateOrder,
    /// How dates and timestamps print.
    pub date_style: DateStyle,
    /// How values of `bytea` print.
    pub bytea_output: ByteaOutput,
    /// How intervals print.
    pub interval_style: IntervalStyle,
    /// Above 0: floats print the shortest digits that read back; else 15 (or 6) and this many.
    pub extra_float_digits: i32,
    /// What objects of the catalogue are called.
    pub objects: ObjectNames,
}

impl Default for FormatContext {
    fn default() -> FormatContext {
        FormatContext {
            zone: TimeZone::utc(),
            date_order: DateOrder::default(),
            date_style: DateStyle::default(),
            bytea_output: ByteaOutput::default(),
            interval_style: IntervalStyle::default(),
            extra_float_digits: 1,
            objects: ObjectNames::default(),
        }
    }
}

/// What `isspace` of C takes for a blank.
pub(crate) fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// How values of `bytea` print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ByteaOutput {
    /// `\\x` and two digits a byte.
    #[default]
    Hex,
    /// As text, with three octal digits for what ASCII cannot print.
    Escape,
}

/// Appends a value of type `ty`; nothing for NULL.
pub fn write(value: &Value, ty: SqlType, context: &FormatContext, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let hex = |byte: u8| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
    debug_assert!(
        ty != SqlType::Void || value.is_null() || *value == Value::text(""),
        "void has no values but the empty one of a function that ends"
    );
    match value {
        Value::Null => {}
        Value::Bool(v) => out.push(if *v { b't' } else { b'f' }),
        Value::Int2(v) => write_integer(i64::from(*v), out),
        Value::Int4(v) => write_integer(i64::from(*v), out),
        Value::Int8(v) if ty == SqlType::Tid => place::write(*v, out),
        Value::Int8(v) => write_integer(*v, out),
        Value::Oid(v) if ty.is_named_oid() => {
            out.extend_from_slice(context.objects.name(ty, *v).as_bytes());
        }
        Value::Oid(v) => write_integer(i64::from(*v), out),
        Value::Enum(v) => out.extend_from_slice(context.objects.label(*v).as_bytes()),
        Value::Float4(v) => float::write_f32(*v, context.extra_float_digits, out),
        Value::Float8(v) => float::write_f64(*v, context.extra_float_digits, out),
        Value::Numeric(v) => write!(out, "{v}").expect("a Vec takes everything"),
        Value::Text(v) => out.extend_from_slice(v.as_bytes()),
        Value::Citext(v) => out.extend_from_slice(v.as_bytes()),
        Value::Bytea(v) if ty == SqlType::Hstore => pairs::write(v, out),
        Value::Bytea(v) if ty.is_bytes_within() => lexemes::write(ty, v, out),
        Value::Bytea(v) if context.bytea_output == ByteaOutput::Escape => {
            for &byte in v.iter() {
                match byte {
                    b'\\' => out.extend_from_slice(b"\\\\"),
                    b' '..=b'~' => out.push(byte),
                    _ => write!(out, "\\{byte:03o}").expect("a Vec takes everything"),
                }
            }
        }
        Value::Bytea(v) => {
            out.reserve(2 + 2 * v.len());
            out.extend_from_slice(b"\\x");
            for byte in v.iter() {
                out.extend_from_slice(&hex(*byte));
            }
        }
        Value::Date(v) => {
            datetime::write_date_in_style(*v, context.date_style, context.date_order, out);
        }
        Value::Timestamp(v) => {
            datetime::write_timestamp_in_style(*v, context.date_style, context.date_order, out);
        }
        Value::TimestampTz(v) => {
            let (zone, style) = (&context.zone, context.date_style);
            datetime::write_timestamptz_in_style(*v, zone, style, context.date_order, out);
        }
        Value::Uuid(v) => {
            for (i, byte) in v.iter().enumerate() {
                if matches!(i, 4 | 6 | 8 | 10) {
                    out.push(b'-');
                }
                out.extend_from_slice(&hex(*byte));
            }
        }
        Value::Money(v) => money::write(*v, out),
        Value::Figure(v) => geometry::write(v, context, out),
        Value::Inet(v) => network::write(*v, out),
        Value::MacAddr(v) => network::write_mac(*v, out),
        Value::Bits(v) => v.write(out),
        Value::Range(v) => range::write(v, context, out),
        Value::Multirange(v) => multirange::write(v, context, out),
        Value::Record(v) => record::write(v, context, out),
        Value::Array(v) if ty.is_vector() => array::write_vector(v, context, out),
        Value::Array(v) => array::write(v, context, out),
        Value::Interval(v) => interval::write_in_style(*v, context.interval_style, out),
        Value::Time(v) => datetime::write_time(*v, out),
        Value::TimeTz(v) => datetime::write_timetz(*v, out),
        Value::Jsonb(v) => write!(out, "{v}").expect("a Vec takes everything"),
    }
}

/// The text of a value; empty for NULL.
pub fn to_string(value: &Value, ty: SqlType, context: &FormatContext) -> String {
    let mut out = Vec::new();
    write(value, ty, context, &mut out);
    String::from_utf8(out).expect("every type prints UTF-8")
}

/// Digits from the right into a small buffer, then one copy.
fn write_integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// What PostgreSQL skips around numbers and words: C's blanks.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b')
}

fn invalid(ty: SqlType, text: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {ty}: \"{text}\""),
    )
}

/// Reads a value of type `ty`, as PostgreSQL's input functions do.
///
/// # Errors
/// `22P02` for text that is no such value, `22003` for a number out of range, `22007`, `22008`,
/// `22009` or `22023` for dates, `22021` for a zero byte, `54000` for arrays of more than six dimensions.
pub fn read(ty: SqlType, text: &str, context: &FormatContext) -> SqlResult<Value> {
    Ok(match ty {
        SqlType::Bool => Value::Bool(read_bool(text)?),
        SqlType::Int2 => Value::Int2(read_integer(ty, text, |v| i16::try_from(v).ok())?),
        SqlType::Int4 => Value::Int4(read_integer(ty, text, |v| i32::try_from(v).ok())?),
        SqlType::Int8 => Value::Int8(read_integer(ty, text, |v| i64::try_from(v).ok())?),
        // Negative numbers wrap: clients have always been allowed to write -1 for the last one.
        SqlType::Oid => Value::Oid(read_integer(ty, text, |v| {
            u32::try_from(v)
                .ok()
                .or(i32::try_from(v).ok().map(|v| v as u32))
        })?),
        _ if ty.is_named_oid() => Value::Oid(context.objects.number(ty, trim(text))?),
        SqlType::Enum(number) => Value::Enum(EnumValue {
            ty: number,
            place: context.objects.place(number, text)?,
        }),
        _ if ty.is_vector() => Value::Array(Box::new(array::read_vector(ty, text, context)?)),
        SqlType::Float4 => Value::Float4(float::read_f32(text)?),
        SqlType::Float8 => Value::Float8(float::read_f64(text)?),
        SqlType::Numeric => Value::numeric(Numeric::parse(text)?),
        SqlType::Bytea => Value::Bytea(read_bytea(text)?.into()),
        SqlType::Date => Value::Date(datetime::parse_date(text, context.date_order)?),
        SqlType::Timestamp => {
            Value::Timestamp(datetime::parse_timestamp(text, context.date_order)?)
        }
        SqlType::TimestampTz => Value::TimestampTz(datetime::parse_timestamptz(
            text,
            context.date_order,
            &context.zone,
        )?),
        SqlType::Money => Value::Money(money::parse(text)?),
        _ if ty.family() == TypeFamily::Geometry => Value::figure(geometry::read(ty, text)?),
        SqlType::Tid => Value::Int8(place::read(text)?),
        SqlType::Xid => Value::Oid(xid::read(text)),
        SqlType::Uuid => Value::Uuid(read_uuid(text)?),
        SqlType::Inet => Value::Inet(network::parse_inet(text)?),
        SqlType::Cidr => Value::Inet(network::parse_cidr(text)?),
        SqlType::MacAddr => Value::MacAddr(network::parse_mac(text)?),
        SqlType::Bit | SqlType::VarBit => Value::Bits(Bits::parse(text)?),
        SqlType::Range(kind) => Value::range(range::read(kind, text, context)?),
        SqlType::Multirange(kind) => Value::multirange(multirange::read(kind, text, context)?),
        SqlType::Name => Value::Text(Str::from(cut_bytes(
            checked_text(text)?,
            IDENTIFIER_BYTES_MAX,
        ))),
        SqlType::InternalChar => {
            let text = checked_text(text)?;
            let first = text.chars().next().map_or(0, char::len_utf8);
            Value::Text(Str::from(&text[..first]))
        }
        SqlType::Text
        | SqlType::Varchar
        | SqlType::Bpchar
        | SqlType::RefCursor
        | SqlType::Cstring
        | SqlType::Unknown => Value::Text(Str::from(checked_text(text)?)),
        SqlType::Interval => Value::Interval(interval::parse_interval(text)?),
        SqlType::Time => Value::Time(datetime::parse_time(text, context.date_order)?),
        SqlType::TimeTz => Value::TimeTz(datetime::parse_timetz(
            text,
            context.date_order,
            &context.zone,
        )?),
        SqlType::Json => {
            json::parse(checked_text(text)?)?;
            Value::Text(Str::from(text))
        }
        SqlType::Jsonb => Value::json(Json::parse(checked_text(text)?)?),
        SqlType::Citext => Value::Citext(checked_text(text)?.into()),
        SqlType::Hstore => Pairs::parse(checked_text(text)?)?.to_value(),
        SqlType::TsVector | SqlType::TsQuery => lexemes::read(ty, checked_text(text)?)?,
        SqlType::JsonPath => {
            let path = JsonPath::parse(checked_text(text)?)?;
            Value::Text(Str::from(path.to_string()))
        }
        SqlType::Record => {
            return Err(SqlError::unsupported("input of anonymous composite types"));
        }
        SqlType::Composite(number) => record::read(number, text, context)?,
        SqlType::Void => Value::text(""),
        _ => match ty.element() {
            Some(element) => Value::Array(Box::new(array::read(element, text, context)?)),
            None => return Err(SqlError::internal(format!("no input function for {ty}"))),
        },
    })
}

/// Text of a client holds every character but the zero byte, which PostgreSQL cannot store.
fn checked_text(text: &str) -> SqlResult<&str> {
    if !text.contains('\0') {
        return Ok(text);
    }
    crate::binary_format::utf8(text.as_bytes())
}

/// At most `limit` bytes, without cutting a character.
fn cut_bytes(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Reads digits with a sign; `narrow` says whether the type holds the number.
fn read_integer<T>(ty: SqlType, text: &str, narrow: impl Fn(i128) -> Option<T>) -> SqlResult<T> {
    let body = trim(text);
    let digits = body.strip_prefix(['+', '-']).unwrap_or(body);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(invalid(ty, text));
    }
    body.parse::<i128>().ok().and_then(narrow).ok_or_else(|| {
        SqlError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{text}\" is out of range for type {ty}"),
        )
    })
}

/// Any beginning of a word that tells it apart: `t`, `tr`, … but not `o`, which may be on or off.
fn read_bool(text: &str) -> SqlResult<bool> {
    let word = trim(text).to_ascii_lowercase();
    let begins = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || word == "1" {
        return Ok(true);
    }
    if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        return Ok(false);
    }
    Err(invalid(SqlType::Bool, text))
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|d| d as u8)
}

/// `\x` and hexadecimal digits, or text with `\\` and `\ooo`.
fn read_bytea(text: &str) -> SqlResult<Vec<u8>> {
    let Some(digits) = text.strip_prefix("\\x") else {
        return read_escaped_bytea(text.as_bytes());
    };
    let refuse = |what: String| SqlError::new(SqlState::INVALID_PARAMETER_VALUE, what);
    let mut out = Vec::with_capacity(digits.len() / 2);
    let mut chars = digits.chars();
    while let Some(first) = chars.next() {
        if first.is_ascii_whitespace() {
            continue;
        }
        let digit = |c: char| {
            c.to_digit(16)
                .ok_or_else(|| refuse(format!("invalid hexadecimal digit: \"{c}\"")))
        };
        let high = digit(first)?;
        let second = chars
            .next()
            .ok_or_else(|| refuse("invalid hexadecimal data: odd number of digits".to_string()))?;
        out.push((high * 16 + digit(second)?) as u8);
    }
    Ok(out)
}

fn read_escaped_bytea(mut rest: &[u8]) -> SqlResult<Vec<u8>> {
    let octal = |b: u8, max: u8| (b'0'..=max).contains(&b);
    let mut out = Vec::with_capacity(rest.len());
    loop {
        rest = match *rest {
            [] => return Ok(out),
            [b'\\', b'\\', ref after @ ..] => {
                out.push(b'\\');
                after
            }
            [b'\\', a, b, c, ref after @ ..]
                if octal(a, b'3') && octal(b, b'7') && octal(c, b'7') =>
            {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            [b'\\', ..] => {
                return Err(SqlError::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    "invalid input syntax for type bytea",
                ));
            }
            [byte, ref after @ ..] => {
                out.push(byte);
                after
            }
        };
    }
}

/// 32 hexadecimal digits, a hyphen allowed after each four, braces allowed around.
fn read_uuid(text: &str) -> SqlResult<[u8; 16]> {
    let refuse = || invalid(SqlType::Uuid, text);
    let body = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').ok_or_else(refuse)?,
        None => text,
    };
    let mut out = [0; 16];
    let mut rest = body.as_bytes();
    for (i, byte) in out.iter_mut().enumerate() {
        if i > 0 && i % 2 == 0 && rest.first() == Some(&b'-') {
            rest = &rest[1..];
        }
        let ([high, low], after) = rest.split_first_chunk::<2>().ok_or_else(refuse)?;
        let digit = |b: u8| hex_digit(b).ok_or_else(refuse);
        *byte = digit(*high)? << 4 | digit(*low)?;
        rest = after;
    }
    if !rest.is_empty() {
        return Err(refuse());
    }
    Ok(out)
}

/// Makes a value fit its column's modifier: `varchar(n)`, `char(n)` (padded with blanks; values of
/// `char(n)` are always held padded), `numeric(p,s)`, `timestamp(p)`; elements of arrays likewise.
///
/// `explicit` is a cast written in the statement, which cuts text silently; otherwise only blanks
/// may be lost.
///
/// # Errors
/// `22001` for text that is too long, `22003` for a number that does not fit.
pub fn coerce_length(
    value: Value,
    ty: SqlType,
    modifier: TypeMod,
    explicit: bool,
) -> SqlResult<Value> {
    if modifier == TypeMod::NONE {
        return Ok(value);
    }
    Ok(match value {
        Value::Text(text) => Value::Text(fit_text(text, ty, modifier, explicit)?),
        Value::Numeric(number) => match modifier.as_precision_scale() {
            Some((precision, scale)) => Value::numeric(number.apply_typmod(precision, scale)?),
            None => Value::Numeric(number),
        },
        Value::Timestamp(v) => Value::Timestamp(round_timestamp(v, modifier)?),
        Value::TimestampTz(v) => Value::TimestampTz(round_timestamp(v, modifier)?),
        Value::Bits(bits) => Value::Bits(match modifier.as_bits() {
            Some(length) if ty == SqlType::Bit => bits.fit(length, explicit)?,
            Some(most) => bits.fit_varying(most, explicit)?,
            None => bits,
        }),
        Value::Interval(v) => Value::Interval(v.apply_modifier(modifier)),
        Value::Time(v) => Value::Time(datetime::round_time(v, digits_of(modifier))),
        Value::TimeTz(v) => Value::TimeTz(datetime::TimeTz {
            micros: datetime::round_time(v.micros, digits_of(modifier)),
            ..v
        }),
        Value::Array(array) => {
            let ty = ty.element().unwrap_or(array.element);
            let values = array.values.into_iter();
            Value::Array(Box::new(Array {
                element: array.element,
                values: values
                    .map(|v| coerce_length(v, ty, modifier, explicit))
                    .collect::<SqlResult<_>>()?,
                shape: array.shape,
            }))
        }
        other => other,
    })
}

/// True if [`coerce_length`] would give the value as it is. What takes longer to find out than to do is false.
pub fn fits_length(value: &Value, ty: SqlType, modifier: TypeMod) -> bool {
    if modifier == TypeMod::NONE {
        return true;
    }
    match value {
        Value::Null => true,
        Value::Text(text) => match (ty, modifier.as_length()) {
            // Every character is at least a byte.
            (SqlType::Varchar, Some(length)) => text.len() <= length,
            (SqlType::Bpchar, Some(length)) => text.len() == length && text.is_ascii(),
            _ => false,
        },
        Value::Numeric(number) => modifier
            .as_precision_scale()
            .is_some_and(|(precision, scale)| number.fits(precision, scale)),
        Value::Bits(bits) => modifier.as_bits().is_some_and(|length| match ty {
            SqlType::Bit => bits.len() == length,
            _ => bits.len() <= length,
        }),
        _ => false,
    }
}

/// Digits of a second that a modifier keeps.
fn digits_of(modifier: TypeMod) -> u32 {
    u32::try_from(modifier.0).unwrap_or(6)
}

fn round_timestamp(micros: i64, modifier: TypeMod) -> SqlResult<i64> {
    match u32::try_from(modifier.0) {
        Ok(digits) => datetime::round_timestamp(micros, digits),
        Err(_) => Ok(micros),
    }
}

/// What `character` columns are filled up with, many at a time.
const SPACES: &str = "                                                                ";

fn fit_text(mut text: Str, ty: SqlType, modifier: TypeMod, explicit: bool) -> SqlResult<Str> {
    let padded = ty == SqlType::Bpchar;
    let Some(length) = modifier
        .as_length()
        .filter(|_| padded || ty == SqlType::Varchar)
    else {
        return Ok(text);
    };
    // Every character is at least a byte: most texts are seen to fit without counting.
    if text.len() > length
        && let Some((end, _)) = text.char_indices().nth(length)
    {
        if !explicit && text[end..].bytes().any(|b| b != b' ') {
            return Err(SqlError::new(
                SqlState::STRING_DATA_RIGHT_TRUNCATION,
                format!("value too long for type {ty}({length})"),
            ));
        }
        text.truncate(end);
    }
    if padded {
        let mut missing = length.saturating_sub(text.chars().count());
        text.reserve(missing);
        while missing > 0 {
            let some = missing.min(SPACES.len());
            text.push_str(&SPACES[..some]);
            missing -= some;
        }
    }
    Ok(text)
}
