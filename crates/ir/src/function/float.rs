//! float4 and float8.
//!
//! Relies on: IEEE arithmetic.  Promises: 22003 where finite inputs give an infinite result or a
//! zero that is none, 22012 for a zero divisor, and PostgreSQL's states for the domains of roots
//! and logarithms.  Does not: have a remainder; PostgreSQL has none for floats.

use super::arithmetic::{division_by_zero, same};
use super::{Function, builtin as new, fail, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{Float4, Float8};
use quintet_base::{SqlError, SqlResult, SqlState, Value};

/// Any float argument, widened.
pub(super) fn float(value: &Value) -> f64 {
    match value {
        Value::Float8(v) => *v,
        Value::Float4(v) => f64::from(*v),
        other => wrong_type(other),
    }
}

#[cold]
pub(crate) fn overflow() -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "value out of range: overflow",
    )
}

#[cold]
fn underflow() -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "value out of range: underflow",
    )
}

/// The result, refused if it overflowed from finite inputs.
pub(crate) fn checked(result: f64, inputs: &[f64]) -> SqlResult<f64> {
    if result.is_infinite() && inputs.iter().all(|v| !v.is_infinite()) {
        return Err(overflow());
    }
    Ok(result)
}

/// How a result becomes a value: float4 results are rounded once more.
trait Width {
    fn value(wide: f64) -> Value;
    fn round(wide: f64) -> f64;
}

struct Single;
struct Double;

impl Width for Single {
    fn value(wide: f64) -> Value {
        Value::Float4(wide as f32)
    }
    fn round(wide: f64) -> f64 {
        f64::from(wide as f32)
    }
}

impl Width for Double {
    fn value(wide: f64) -> Value {
        Value::Float8(wide)
    }
    fn round(wide: f64) -> f64 {
        wide
    }
}

// Sums, products and quotients of two float4 computed in float8 and rounded once are the same as
// computed in float4: 53 bits are more than twice 24 plus two.

fn add<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (a, b) = (float(args[0]), float(args[1]));
    checked(W::round(a + b), &[a, b]).map(W::value)
}

fn subtract<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (a, b) = (float(args[0]), float(args[1]));
    checked(W::round(a - b), &[a, b]).map(W::value)
}

fn multiply<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (a, b) = (float(args[0]), float(args[1]));
    let result = checked(W::round(a * b), &[a, b])?;
    if result == 0.0 && a != 0.0 && b != 0.0 {
        return Err(underflow());
    }
    Ok(W::value(result))
}

fn divide<W: Width>(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (a, b) = (float(args[0]), float(args[1]));
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    let result = checked(W::round(a / b), &[a])?;
    if result == 0.0 && a != 0.0 && !b.is_infinite() {
        return Err(underflow());
    }
    Ok(W::value(result))
}

fn negate(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(match args[0] {
        Value::Float4(v) => Value::Float4(-v),
        other => Value::Float8(-float(other)),
    })
}

fn absolute(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(match args[0] {
        Value::Float4(v) => Value::Float4(v.abs()),
        other => Value::Float8(float(other).abs()),
    })
}

fn ceil(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Float8(float(args[0]).ceil()))
}

fn floor(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Float8(float(args[0]).floor()))
}

fn round(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Float8(float(args[0]).round_ties_even()))
}

fn trunc(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Float8(float(args[0]).trunc()))
}

fn sign(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let value = float(args[0]);
    Ok(Value::Float8(if value > 0.0 {
        1.0
    } else if value < 0.0 {
        -1.0
    } else {
        0.0
    }))
}

fn sqrt(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let value = float(args[0]);
    if value < 0.0 {
        return fail(
            SqlState::INVALID_ARGUMENT_FOR_POWER,
            "cannot take square root of a negative number",
        );
    }
    Ok(Value::Float8(value.sqrt()))
}

fn cbrt(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Float8(float(args[0]).cbrt()))
}

fn exp(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let value = float(args[0]);
    let result = checked(value.exp(), &[value])?;
    if result == 0.0 && value.is_finite() {
        return Err(underflow());
    }
    Ok(Value::Float8(result))
}

/// Refuses what no logarithm takes.
fn log_argument(value: f64) -> SqlResult<f64> {
    if value == 0.0 {
        return fail(SqlState::INVALID_ARGUMENT, "cannot take logarithm of zero");
    }
    if value < 0.0 {
        return fail(
            SqlState::INVALID_ARGUMENT,
            "cannot take logarithm of a negative number",
        );
    }
    Ok(value)
}

fn ln(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    log_argument(float(args[0])).map(|v| Value::Float8(v.ln()))
}

fn log(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    log_argument(float(args[0])).map(|v| Value::Float8(v.log10()))
}

fn power(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (base, exponent) = (float(args[0]), float(args[1]));
    if base == 0.0 && exponent < 0.0 {
        return fail(
            SqlState::INVALID_ARGUMENT_FOR_POWER,
            "zero raised to a negative power is undefined",
        );
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return fail(
            SqlState::INVALID_ARGUMENT_FOR_POWER,
            "a negative number raised to a non-integer power yields a complex result",
        );
    }
    let result = checked(base.powf(exponent), &[base, exponent])?;
    if result == 0.0 && base.is_finite() && base != 0.0 && exponent.is_finite() {
        return Err(underflow());
    }
    Ok(Value::Float8(result))
}

/// sin, cos and the like: defined everywhere but at the infinities.
macro_rules! of_finite {
    ($name:ident) => {
        fn $name(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
            let value = float(args[0]);
            if value.is_infinite() {
                return fail(
                    SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                    "input is out of range",
                );
            }
            Ok(Value::Float8(value.$name()))
        }
    };
}

of_finite!(sin);
of_finite!(cos);
of_finite!(tan);

fn atan(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Float8(float(args[0]).atan()))
}

fn atan2(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Float8(float(args[0]).atan2(float(args[1]))))
}

fn radians(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Float8(float(args[0]).to_radians()))
}

fn degrees(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let value = float(args[0]);
    checked(value.to_degrees(), &[value]).map(Value::Float8)
}

fn pi(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Float8(std::f64::consts::PI))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("+", &[Float4, Float4], Float4, add::<Single>),
    new("+", &[Float4, Float8], Float8, add::<Double>),
    new("+", &[Float8, Float4], Float8, add::<Double>),
    new("+", &[Float8, Float8], Float8, add::<Double>),
    new("-", &[Float4, Float4], Float4, subtract::<Single>),
    new("-", &[Float4, Float8], Float8, subtract::<Double>),
    new("-", &[Float8, Float4], Float8, subtract::<Double>),
    new("-", &[Float8, Float8], Float8, subtract::<Double>),
    new("*", &[Float4, Float4], Float4, multiply::<Single>),
    new("*", &[Float4, Float8], Float8, multiply::<Double>),
    new("*", &[Float8, Float4], Float8, multiply::<Double>),
    new("*", &[Float8, Float8], Float8, multiply::<Double>),
    new("/", &[Float4, Float4], Float4, divide::<Single>),
    new("/", &[Float4, Float8], Float8, divide::<Double>),
    new("/", &[Float8, Float4], Float8, divide::<Double>),
    new("/", &[Float8, Float8], Float8, divide::<Double>),
    new("-", &[Float4], Float4, negate),
    new("-", &[Float8], Float8, negate),
    new("+", &[Float4], Float4, same),
    new("+", &[Float8], Float8, same),
    new("@", &[Float4], Float4, absolute),
    new("@", &[Float8], Float8, absolute),
    new("abs", &[Float4], Float4, absolute),
    new("abs", &[Float8], Float8, absolute),
    new("^", &[Float8, Float8], Float8, power),
    new("power", &[Float8, Float8], Float8, power),
    new("pow", &[Float8, Float8], Float8, power),
    new("|/", &[Float8], Float8, sqrt),
    new("||/", &[Float8], Float8, cbrt),
    new("sqrt", &[Float8], Float8, sqrt),
    new("cbrt", &[Float8], Float8, cbrt),
    new("ceil", &[Float8], Float8, ceil),
    new("ceiling", &[Float8], Float8, ceil),
    new("floor", &[Float8], Float8, floor),
    new("round", &[Float8], Float8, round),
    new("trunc", &[Float8], Float8, trunc),
    new("sign", &[Float8], Float8, sign),
    new("exp", &[Float8], Float8, exp),
    new("ln", &[Float8], Float8, ln),
    new("log", &[Float8], Float8, log),
    new("log10", &[Float8], Float8, log),
    new("sin", &[Float8], Float8, sin),
    new("cos", &[Float8], Float8, cos),
    new("tan", &[Float8], Float8, tan),
    new("atan", &[Float8], Float8, atan),
    new("atan2", &[Float8, Float8], Float8, atan2),
    new("radians", &[Float8], Float8, radians),
    new("degrees", &[Float8], Float8, degrees),
    new("pi", &[], Float8, pi),
];
