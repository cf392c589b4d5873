//! Numbers beyond the four operations: buckets, roots of angles, digests of bytes.
//!
//! Relies on: `float` and `decimal` for the usual.  Promises: PostgreSQL's domains and errors.
//! Does not: seed the generator of random numbers.

use super::{Function, builtin as new, fail, int, str, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{Bytea, Float8, Int4, Int8, Numeric as Decimal, Text, Unknown};
use quintet_base::{Numeric, SqlResult, SqlState, Value};
use sha2::Digest;

fn float(value: &Value) -> f64 {
    match value {
        Value::Float8(v) => *v,
        other => wrong_type(other),
    }
}

fn number(value: &Value) -> &Numeric {
    match value {
        Value::Numeric(v) => v,
        other => wrong_type(other),
    }
}

fn bucket_error<T>(message: &str) -> SqlResult<T> {
    fail(SqlState(*b"2201G"), message)
}

fn float_bucket(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (value, low, high, count) = (float(args[0]), float(args[1]), float(args[2]), int(args[3]));
    if count <= 0 {
        return bucket_error("count must be greater than zero");
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return bucket_error("operand, lower bound, and upper bound cannot be NaN");
    }
    if !low.is_finite() || !high.is_finite() {
        return bucket_error("lower and upper bounds must be finite");
    }
    let place = |value: f64, low: f64, high: f64| {
        if value < low {
            0
        } else if value >= high {
            count + 1
        } else {
            (count as f64 * ((value - low) / (high - low))) as i64 + 1
        }
    };
    let found = match low.partial_cmp(&high) {
        Some(std::cmp::Ordering::Less) => place(value, low, high),
        Some(std::cmp::Ordering::Greater) => place(-value, -low, -high),
        _ => return bucket_error("lower bound cannot equal upper bound"),
    };
    narrow(found)
}

fn narrow(found: i64) -> SqlResult<Value> {
    match i32::try_from(found) {
        Ok(found) => Ok(Value::Int4(found)),
        Err(_) => fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"),
    }
}

fn decimal_bucket(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (value, low, high, count) = (
        number(args[0]),
        number(args[1]),
        number(args[2]),
        int(args[3]),
    );
    if count <= 0 {
        return bucket_error("count must be greater than zero");
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return bucket_error("operand, lower bound, and upper bound cannot be NaN");
    }
    if !low.is_finite() || !high.is_finite() {
        return bucket_error("lower and upper bounds must be finite");
    }
    if low == high {
        return bucket_error("lower bound cannot equal upper bound");
    }
    let (value, low, high) = match low < high {
        true => (value.clone(), low.clone(), high.clone()),
        false => (value.neg(), low.neg(), high.neg()),
    };
    let found = if value < low {
        0
    } else if value >= high {
        count + 1
    } else {
        let part = value.sub(&low)?.mul(&Numeric::from_i64(count))?;
        part.div_trunc(&high.sub(&low)?)?.to_i64().unwrap_or(0) + 1
    };
    narrow(found)
}

fn decimal_gcd(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (mut a, mut b) = (number(args[0]).abs(), number(args[1]).abs());
    if !a.is_finite() || !b.is_finite() {
        return Ok(Value::numeric(Numeric::NAN));
    }
    let scale = i32::from(a.scale().max(b.scale()));
    while !b.is_zero() {
        (a, b) = (b.clone(), a.rem(&b)?);
    }
    a.round(scale).map(Value::numeric)
}

fn decimal_lcm(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (a, b) = (number(args[0]), number(args[1]));
    if !a.is_finite() || !b.is_finite() {
        return Ok(Value::numeric(Numeric::NAN));
    }
    let scale = i32::from(a.scale().max(b.scale()));
    if a.is_zero() || b.is_zero() {
        return Numeric::ZERO.round(scale).map(Value::numeric);
    }
    let common = decimal_gcd(args, host)?;
    let whole = a.div_trunc(number(&common))?;
    whole.mul(b)?.abs().round(scale).map(Value::numeric)
}

fn min_scale(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let value = number(args[0]);
    Ok(match value.is_finite() {
        true => Value::Int4(i32::from(value.trim_scale().scale())),
        false => Value::Null,
    })
}

fn factorial(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let number = int(args[0]);
    if number < 0 {
        return fail(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "factorial of a negative number is undefined",
        );
    }
    if number > 32_177 {
        return fail(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "value overflows numeric format",
        );
    }
    let mut product = Numeric::ONE;
    for factor in 2..=number {
        product = product.mul(&Numeric::from_i64(factor))?;
    }
    Ok(Value::numeric(product))
}

/// A function of a float that may have no result.
fn checked(value: f64, result: f64) -> SqlResult<Value> {
    match result.is_nan() && !value.is_nan() {
        true => fail(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "input is out of range",
        ),
        false => Ok(Value::Float8(result)),
    }
}

macro_rules! of_float {
    ($($name:ident $body:expr;)*) => {
        $(fn $name(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
            let value = float(args[0]);
            let body: fn(f64) -> f64 = $body;
            checked(value, body(value))
        })*
    };
}

of_float! {
    asin |x| x.asin();
    acos |x| x.acos();
    cot |x| 1.0 / x.tan();
    sinh |x| x.sinh();
    cosh |x| x.cosh();
    tanh |x| x.tanh();
    asinh |x| x.asinh();
    acosh |x| x.acosh();
    atanh |x| x.atanh();
}

fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Bytea(bytes) => bytes,
        other => wrong_type(other),
    }
}

fn sha224(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bytea(
        sha2::Sha224::digest(bytes(args[0])).as_slice().into(),
    ))
}

fn sha256(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bytea(
        sha2::Sha256::digest(bytes(args[0])).as_slice().into(),
    ))
}

fn sha384(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bytea(
        sha2::Sha384::digest(bytes(args[0])).as_slice().into(),
    ))
}

fn sha512(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bytea(
        sha2::Sha512::digest(bytes(args[0])).as_slice().into(),
    ))
}

fn only_utf8(name: &str) -> SqlResult<()> {
    let plain = name.to_ascii_lowercase().replace('-', "");
    match matches!(plain.as_str(), "utf8" | "unicode") {
        true => Ok(()),
        false => fail(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("encoding \"{name}\" is not supported"),
        ),
    }
}

fn convert_to(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    only_utf8(str(args[1]))?;
    Ok(Value::Bytea(str(args[0]).as_bytes().into()))
}

fn convert_from(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    only_utf8(str(args[1]))?;
    quintet_base::binary_format::utf8(bytes(args[0])).map(Value::text)
}

pub(super) fn count_nulls(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(super::text::count(
        args.iter().filter(|v| v.is_null()).count(),
    ))
}

pub(super) fn count_values(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(super::text::count(
        args.iter().filter(|v| !v.is_null()).count(),
    ))
}

fn set_byte(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut all = bytes(args[0]).to_vec();
    let (at, new) = (int(args[1]), int(args[2]));
    match usize::try_from(at).ok().filter(|at| *at < all.len()) {
        Some(at) => all[at] = new as u8,
        None => {
            return fail(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                format!("index {at} out of valid range, 0..{}", all.len() as i64 - 1),
            );
        }
    }
    Ok(Value::Bytea(all.into()))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new(
        "width_bucket",
        &[Float8, Float8, Float8, Int4],
        Int4,
        float_bucket,
    ),
    new(
        "width_bucket",
        &[Decimal, Decimal, Decimal, Int4],
        Int4,
        decimal_bucket,
    ),
    new("gcd", &[Decimal, Decimal], Decimal, decimal_gcd),
    new("lcm", &[Decimal, Decimal], Decimal, decimal_lcm),
    new("min_scale", &[Decimal], Int4, min_scale),
    new("factorial", &[Int8], Decimal, factorial),
    new("asin", &[Float8], Float8, asin),
    new("acos", &[Float8], Float8, acos),
    new("cot", &[Float8], Float8, cot),
    new("sinh", &[Float8], Float8, sinh),
    new("cosh", &[Float8], Float8, cosh),
    new("tanh", &[Float8], Float8, tanh),
    new("asinh", &[Float8], Float8, asinh),
    new("acosh", &[Float8], Float8, acosh),
    new("atanh", &[Float8], Float8, atanh),
    new("sha224", &[Bytea], Bytea, sha224),
    new("sha256", &[Bytea], Bytea, sha256),
    new("sha384", &[Bytea], Bytea, sha384),
    new("sha512", &[Bytea], Bytea, sha512),
    new("convert_to", &[Text, Text], Bytea, convert_to),
    new("convert_from", &[Bytea, Text], Text, convert_from),
    new("set_byte", &[Bytea, Int4, Int4], Bytea, set_byte),
    new("num_nulls", &[Unknown], Int4, count_nulls)
        .variadic()
        .lenient(),
    new("num_nonnulls", &[Unknown], Int4, count_values)
        .variadic()
        .lenient(),
];
