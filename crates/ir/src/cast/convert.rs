//! One value into another type.
//!
//! Relies on: `base::text_format` for what goes through text, `base::datetime` for zones.
//! Promises: rounding and range errors as PostgreSQL's: floats round half to even, numerics half
//! away from zero, a number outside its type is 22003.  Does not: apply length modifiers.

use crate::eval::Host;
use crate::function::text_edit;
use crate::function::timespan::moment_to_timetz;
use quintet_base::datetime::MICROS_PER_DAY;
use quintet_base::text_format::{self, FormatContext};
use quintet_base::types::TypeFamily;
use quintet_base::value::Array;
use quintet_base::{
    Bits, Json, Multirange as Set, Numeric, SqlError, SqlResult, SqlState, SqlType, Str, TypeMod,
    Value, datetime, money, network,
};

fn out_of_range(ty: SqlType) -> SqlError {
    let name = if ty == SqlType::Oid { "OID" } else { ty.name() };
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("{name} out of range"),
    )
}

/// Converts a value that is not NULL between different types.
pub(super) fn convert(
    value: Value,
    from: SqlType,
    to: SqlType,
    host: &dyn Host,
) -> SqlResult<Value> {
    use SqlType::*;
    let format = host.format();
    if let Value::Citext(text) = &value
        && to != Citext
    {
        let text = Value::text(text);
        return match to {
            Text | Varchar | Bpchar => Ok(text),
            _ => convert(text, Text, to, host),
        };
    }
    if let (Value::Jsonb(json), false) = (&value, is_text(to)) {
        return from_json(json, to, host);
    }
    if let Value::Array(array) = &value
        && let Some(element) = to.element()
    {
        return convert_array(array, element, host);
    }
    match to {
        _ if to.is_named_oid() => match value {
            Value::Text(text) => text_format::read(to, &text, format),
            value => to_integer(&value, from, Oid),
        },
        Int4 | Int8 if from == Bit => from_bits(&value, to),
        Int2 | Int4 | Int8 | Oid => match value {
            Value::Text(text) if from == InternalChar && to == Int4 => Ok(Value::Int4(
                text.bytes().next().map_or(0, |b| i32::from(b as i8)),
            )),
            Value::Text(text) => text_format::read(to, &text, format),
            value => to_integer(&value, from, to),
        },
        Float4 | Float8 | Numeric => match value {
            Value::Text(text) => text_format::read(to, &text, format),
            value => to_fraction(&value, from, to),
        },
        Bool => match value {
            Value::Int4(v) => Ok(Value::Bool(v != 0)),
            value => through_text(&value, from, to, format),
        },
        Text | Varchar | Bpchar | Name | InternalChar => to_text(value, from, to, format),
        Citext => match to_text(value, from, to, format)? {
            Value::Text(text) => Ok(Value::Citext(text.as_str().into())),
            value => Ok(value),
        },
        Json | Jsonb if from == Hstore => crate::function::pairs::to_json(&value, to, false),
        Hstore if from == TextArray => crate::function::pairs::of_array(&value),
        Point | Lseg | Line | Box | Path | Polygon | Circle => match &value {
            Value::Figure(figure) => {
                let made = crate::function::geometry::convert(figure, to);
                let made = made.unwrap_or_else(|| Err(cannot(from, to)));
                made.map(Value::figure)
            }
            value => through_text(value, from, to, format),
        },
        Money => match value {
            Value::Numeric(dollars) => money::from_numeric(&dollars).map(Value::Money),
            value => match value.as_i64() {
                Some(dollars) => money::from_integer(dollars).map(Value::Money),
                None => through_text(&value, from, to, format),
            },
        },
        Inet | Cidr => match value {
            Value::Inet(inet) if to == Cidr => Ok(Value::Inet(inet.network())),
            Value::Inet(inet) => Ok(Value::Inet(inet.as_inet())),
            value => through_text(&value, from, to, format),
        },
        Bit | VarBit => match value {
            Value::Bits(_) => Ok(value),
            value => through_text(&value, from, to, format),
        },
        Multirange(_) => match &value {
            Value::Range(range) => Ok(Value::multirange(Set::from(&**range))),
            value => through_text(value, from, to, format),
        },
        Time | TimeTz | Interval => to_clock(value, from, to, host),
        Json => match value {
            Value::Jsonb(json) => Ok(Value::text(json.to_string())),
            value => through_text(&value, from, to, format),
        },
        Jsonb => match value {
            Value::Text(text) => text_format::read(to, &text, format),
            _ => Err(cannot(from, to)),
        },
        Date | Timestamp | TimestampTz => to_datetime(value, from, to, host),
        Record => Ok(value),
        JsonPath => match &value {
            // What reads a path cannot compile its patterns.
            Value::Text(text) => {
                let path = quintet_base::jsonpath::JsonPath::parse(text)?;
                crate::function::check_patterns(&path)?;
                Ok(Value::text(path.to_string()))
            }
            value => through_text(value, from, to, format),
        },
        _ => through_text(&value, from, to, format),
    }
}

fn is_text(ty: SqlType) -> bool {
    matches!(ty.family(), TypeFamily::Text | TypeFamily::Json)
}

/// A truth value or a number in a document.
fn from_json(json: &Json, to: SqlType, host: &dyn Host) -> SqlResult<Value> {
    match (json, to) {
        (Json::Bool(truth), SqlType::Bool) => Ok(Value::Bool(*truth)),
        (Json::Number(number), to) if to.is_numeric() => match to {
            SqlType::Numeric => Ok(Value::numeric(number.clone())),
            to => convert(Value::numeric(number.clone()), SqlType::Numeric, to, host),
        },
        _ => {
            let what = match json {
                Json::Number(_) => "numeric",
                other => other.kind(),
            };
            Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("cannot cast jsonb {what} to type {to}"),
            ))
        }
    }
}

/// Times of day and lengths of time.
fn to_clock(value: Value, from: SqlType, to: SqlType, host: &dyn Host) -> SqlResult<Value> {
    let zone = &host.format().zone;
    let of_day = |micros: i64| micros.rem_euclid(MICROS_PER_DAY);
    Ok(match (value, to) {
        // Without a date its offset is that of the transaction's day.
        (Value::Text(text), SqlType::TimeTz) => by_clock(&text, to, host)?,
        (Value::Text(text), SqlType::Time) if datetime::asks_for_clock(&text) => {
            by_clock(&text, to, host)?
        }
        (Value::Text(text), _) => text_format::read(to, &text, host.format())?,
        (Value::Time(micros), SqlType::TimeTz) => {
            let offset = zone.offset_at(host.transaction_time());
            Value::TimeTz(datetime::TimeTz {
                micros,
                offset: i32::try_from(offset).map_err(|_| cannot(from, to))?,
            })
        }
        (Value::Time(micros), SqlType::Interval) => {
            Value::Interval(quintet_base::Interval::from_micros(micros))
        }
        (Value::TimeTz(time), SqlType::Time) => Value::Time(time.micros),
        (Value::Interval(interval), SqlType::Time) => Value::Time(of_day(interval.micros)),
        // PostgreSQL gives NULL for infinities here.
        (Value::Timestamp(micros) | Value::TimestampTz(micros), _)
            if datetime::is_infinite(micros) =>
        {
            Value::Null
        }
        (Value::Timestamp(micros), SqlType::Time) => Value::Time(of_day(micros)),
        (Value::TimestampTz(micros), SqlType::Time) => {
            Value::Time(of_day(datetime::timestamptz_to_timestamp(micros, zone)?))
        }
        (Value::TimestampTz(micros), SqlType::TimeTz) => {
            Value::TimeTz(moment_to_timetz(micros, host)?)
        }
        _ => return Err(cannot(from, to)),
    })
}

fn cannot(from: SqlType, to: SqlType) -> SqlError {
    SqlError::new(
        SqlState::CANNOT_COERCE,
        format!("cannot cast type {from} to {to}"),
    )
}

/// An integer as a `bit` of this length, of one bit if there is none; of an array each.
pub(super) fn to_bits(value: Value, modifier: TypeMod) -> SqlResult<Value> {
    let array = match value {
        Value::Null => return Ok(value),
        Value::Array(array) => array,
        other => {
            let number = other
                .as_i64()
                .ok_or_else(|| cannot(other.natural_type(), SqlType::Bit))?;
            return Bits::of_integer(number, modifier.as_bits().unwrap_or(1)).map(Value::Bits);
        }
    };
    let values = array.values.into_iter();
    let values = values.map(|value| to_bits(value, modifier));
    Ok(Value::Array(Box::new(Array {
        shape: array.shape,
        element: SqlType::Bit,
        values: values.collect::<SqlResult<_>>()?,
    })))
}

fn from_bits(value: &Value, to: SqlType) -> SqlResult<Value> {
    let Value::Bits(bits) = value else {
        return Err(cannot(SqlType::Bit, to));
    };
    let number = bits.to_integer().ok_or_else(|| out_of_range(to))?;
    match to {
        SqlType::Int4 => match u32::try_from(number) {
            Ok(number) if bits.len() <= 32 => Ok(Value::Int4(number as i32)),
            _ => Err(out_of_range(to)),
        },
        _ => Ok(Value::Int8(number as i64)),
    }
}

fn through_text(
    value: &Value,
    from: SqlType,
    to: SqlType,
    format: &FormatContext,
) -> SqlResult<Value> {
    match value {
        Value::Text(text) => text_format::read(to, text, format),
        _ => Err(cannot(from, to)),
    }
}

fn convert_array(array: &Array, to: SqlType, host: &dyn Host) -> SqlResult<Value> {
    let values = array.values.iter().map(|value| {
        if value.is_null() || array.element == to {
            Ok(value.clone())
        } else {
            convert(value.clone(), array.element, to, host)
        }
    });
    Ok(Value::Array(Box::new(Array {
        shape: array.shape.clone(),
        element: to,
        values: values.collect::<SqlResult<_>>()?,
    })))
}

/// Puts a wide integer into an integer type.
fn narrow(wide: i64, to: SqlType) -> SqlResult<Value> {
    let value = match to {
        SqlType::Int2 => i16::try_from(wide).ok().map(Value::Int2),
        SqlType::Int4 => i32::try_from(wide).ok().map(Value::Int4),
        SqlType::Oid => u32::try_from(wide).ok().map(Value::Oid),
        _ => Some(Value::Int8(wide)),
    };
    value.ok_or_else(|| out_of_range(to))
}

fn to_integer(value: &Value, from: SqlType, to: SqlType) -> SqlResult<Value> {
    match value {
        // integer and oid are the same four bytes; PostgreSQL reinterprets them.
        Value::Oid(v) if to == SqlType::Int4 => Ok(Value::Int4(*v as i32)),
        Value::Int4(v) if to == SqlType::Oid => Ok(Value::Oid(*v as u32)),
        Value::Int2(v) if to == SqlType::Oid => Ok(Value::Oid(i32::from(*v) as u32)),
        Value::Bool(v) if to == SqlType::Int4 => Ok(Value::Int4(i32::from(*v))),
        Value::Float4(v) => float_to_integer(f64::from(*v), to),
        Value::Float8(v) => float_to_integer(*v, to),
        Value::Numeric(v) if !v.is_finite() => {
            let what = if v.is_nan() { "NaN" } else { "infinity" };
            Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot convert {what} to {to}"),
            ))
        }
        Value::Numeric(v) => v
            .to_i64()
            .ok_or_else(|| out_of_range(to))
            .and_then(|wide| narrow(wide, to)),
        value => match value.as_i64() {
            Some(wide) => narrow(wide, to),
            None => Err(cannot(from, to)),
        },
    }
}

fn float_to_integer(value: f64, to: SqlType) -> SqlResult<Value> {
    // 2^63 is exact in a double, and the first one too large.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    let rounded = value.round_ties_even();
    if (-BOUND..BOUND).contains(&rounded) {
        narrow(rounded as i64, to)
    } else {
        Err(out_of_range(to))
    }
}

fn to_fraction(value: &Value, from: SqlType, to: SqlType) -> SqlResult<Value> {
    match to {
        SqlType::Numeric => Ok(Value::numeric(match value {
            Value::Money(cents) => money::to_numeric(*cents),
            Value::Float4(v) => Numeric::from_f32(*v),
            Value::Float8(v) => Numeric::from_f64(*v),
            value => Numeric::from_i64(value.as_i64().ok_or_else(|| cannot(from, to))?),
        })),
        SqlType::Float8 => Ok(Value::Float8(match value {
            Value::Float4(v) => f64::from(*v),
            Value::Numeric(v) => numeric_to_f64(v, to)?,
            value => value.as_i64().ok_or_else(|| cannot(from, to))? as f64,
        })),
        _ => Ok(Value::Float4(match value {
            Value::Float8(v) => narrow_float(*v)?,
            Value::Numeric(v) => {
                let wide = numeric_to_f64(v, to)?;
                narrow_float(wide).map_err(|_| numeric_out_of_range(v, to))?
            }
            value => value.as_i64().ok_or_else(|| cannot(from, to))? as f32,
        })),
    }
}

fn numeric_out_of_range(value: &Numeric, to: SqlType) -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("\"{value}\" is out of range for type {to}"),
    )
}

fn numeric_to_f64(value: &Numeric, to: SqlType) -> SqlResult<f64> {
    let float = value.to_f64();
    let lost = value.is_finite() && (float.is_infinite() || float == 0.0 && !value.is_zero());
    if lost {
        return Err(numeric_out_of_range(value, to));
    }
    Ok(float)
}

fn narrow_float(wide: f64) -> SqlResult<f32> {
    let value = wide as f32;
    let refuse = |what: &str| {
        SqlError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value out of range: {what}"),
        )
    };
    if value.is_infinite() && wide.is_finite() {
        return Err(refuse("overflow"));
    }
    if value == 0.0 && wide != 0.0 {
        return Err(refuse("underflow"));
    }
    Ok(value)
}

fn to_text(value: Value, from: SqlType, to: SqlType, format: &FormatContext) -> SqlResult<Value> {
    use SqlType::*;
    let text = match value {
        // char(n) loses its padding where it becomes another kind of text.
        Value::Text(text) if from == Bpchar && to != InternalChar => {
            Str::from(text.trim_end_matches(' '))
        }
        Value::Text(text) => text,
        // The cast spells a boolean out, unlike its output function.
        Value::Bool(v) if matches!(to, Text | Varchar | Bpchar | Citext) => {
            Str::from(if v { "true" } else { "false" })
        }
        // The same with an address's length.
        Value::Inet(v) if matches!(to, Text | Varchar | Bpchar | Citext) => {
            Str::from(network::with_length(v))
        }
        Value::Int4(code) if to == InternalChar => match u8::try_from(code) {
            Ok(0) => Str::default(),
            Ok(byte) if byte.is_ascii() => Str::from(char::from(byte).to_string()),
            _ => return Err(out_of_range(to)),
        },
        value => {
            let text = text_format::to_string(&value, from, format);
            // What is quoted within what is quoted takes twice the bytes each time.
            text_edit::bounded(text.len())?;
            Str::from(text)
        }
    };
    match to {
        // Both are cut to what they hold, at a character boundary.
        Name | InternalChar => text_format::read(to, &text, format),
        _ => Ok(Value::Text(text)),
    }
}

fn to_datetime(value: Value, from: SqlType, to: SqlType, host: &dyn Host) -> SqlResult<Value> {
    let zone = &host.format().zone;
    Ok(match (value, to) {
        (Value::Text(text), _) if datetime::asks_for_clock(&text) => by_clock(&text, to, host)?,
        (Value::Text(text), _) => text_format::read(to, &text, host.format())?,
        (Value::Date(v), SqlType::Timestamp) => Value::Timestamp(datetime::date_to_timestamp(v)?),
        (Value::Date(v), SqlType::TimestampTz) => {
            Value::TimestampTz(datetime::date_to_timestamptz(v, zone)?)
        }
        (Value::Timestamp(v), SqlType::Date) => Value::Date(datetime::timestamp_to_date(v)),
        (Value::Timestamp(v), SqlType::TimestampTz) => {
            Value::TimestampTz(datetime::timestamp_to_timestamptz(v, zone)?)
        }
        (Value::TimestampTz(v), SqlType::Date) => {
            Value::Date(datetime::timestamptz_to_date(v, zone)?)
        }
        (Value::TimestampTz(v), SqlType::Timestamp) => {
            Value::Timestamp(datetime::timestamptz_to_timestamp(v, zone)?)
        }
        _ => return Err(cannot(from, to)),
    })
}

/// `'now'`, `'tomorrow 12:00'` and the like: by the transaction's clock, in the session's zone.
fn by_clock(text: &str, to: SqlType, host: &dyn Host) -> SqlResult<Value> {
    let format = host.format();
    let now = host.transaction_time();
    datetime::parse_by_clock(to, text, format.date_order, &format.zone, now)
}
