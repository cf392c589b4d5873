//! Trigonometry in degrees.
//!
//! Relies on: the machine's sine and its kin.  Promises: exact answers where an angle of 30, 45 or
//! 60 degrees has one: each function is scaled so that it meets them there.  Does not: take
//! radians (`float` does).

use super::float::float;
use super::{Function, builtin as new, fail};
use crate::eval::Host;
use quintet_base::SqlType::Float8;
use quintet_base::{SqlResult, SqlState, Value};

fn out_of_range<T>() -> SqlResult<T> {
    fail(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "input is out of range",
    )
}

fn sine(degrees: f64) -> f64 {
    degrees.to_radians().sin()
}

fn cosine(degrees: f64) -> f64 {
    degrees.to_radians().cos()
}

/// The sine up to 30 degrees, where it is a half.
fn sine_of_small(degrees: f64) -> f64 {
    sine(degrees) / sine(30.0) / 2.0
}

/// The cosine up to 60 degrees, where it is a half.
fn cosine_of_small(degrees: f64) -> f64 {
    1.0 - (1.0 - cosine(degrees)) / (1.0 - cosine(60.0)) / 2.0
}

/// The sine from 0 to 90 degrees.
fn sine_of_acute(degrees: f64) -> f64 {
    match degrees <= 30.0 {
        true => sine_of_small(degrees),
        false => cosine_of_small(90.0 - degrees),
    }
}

/// The cosine from 0 to 90 degrees.
fn cosine_of_acute(degrees: f64) -> f64 {
    match degrees <= 60.0 {
        true => cosine_of_small(degrees),
        false => sine_of_small(90.0 - degrees),
    }
}

/// An angle brought to 0 to 90 degrees.
struct Acute {
    degrees: f64,
    /// It was below 0.
    is_negative: bool,
    /// It was in the lower half of the circle.
    is_below: bool,
    /// It was in the left half of the circle.
    is_left: bool,
}

fn acute(value: f64) -> SqlResult<Acute> {
    if value.is_infinite() {
        return out_of_range();
    }
    let turned = value % 360.0;
    let mut degrees = turned.abs();
    let is_below = degrees > 180.0;
    if is_below {
        degrees = 360.0 - degrees;
    }
    let is_left = degrees > 90.0;
    if is_left {
        degrees = 180.0 - degrees;
    }
    Ok(Acute {
        degrees,
        is_negative: turned < 0.0,
        is_below,
        is_left,
    })
}

fn signed(value: f64, minus: bool) -> Value {
    Value::Float8(if minus { -value } else { value })
}

fn sind(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let angle = acute(float(args[0]))?;
    let minus = angle.is_negative != angle.is_below;
    Ok(signed(sine_of_acute(angle.degrees), minus))
}

fn cosd(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let angle = acute(float(args[0]))?;
    Ok(signed(cosine_of_acute(angle.degrees), angle.is_left))
}

fn tand(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let angle = acute(float(args[0]))?;
    let tangent = sine_of_acute(angle.degrees) / cosine_of_acute(angle.degrees);
    let at_45 = sine_of_acute(45.0) / cosine_of_acute(45.0);
    Ok(without_minus_zero(tangent / at_45, &angle))
}

fn cotd(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let angle = acute(float(args[0]))?;
    let cotangent = cosine_of_acute(angle.degrees) / sine_of_acute(angle.degrees);
    let at_45 = cosine_of_acute(45.0) / sine_of_acute(45.0);
    Ok(without_minus_zero(cotangent / at_45, &angle))
}

fn without_minus_zero(value: f64, angle: &Acute) -> Value {
    let minus = angle.is_negative ^ angle.is_below ^ angle.is_left;
    signed(value, minus && value != 0.0)
}

/// The angle from 0 to 90 degrees of a sine from 0 to 1.
fn angle_of_sine(sine: f64) -> f64 {
    match sine <= 0.5 {
        true => sine.asin() / 0.5f64.asin() * 30.0,
        false => 90.0 - sine.acos() / 0.5f64.acos() * 60.0,
    }
}

/// The angle from 0 to 90 degrees of a cosine from 0 to 1.
fn angle_of_cosine(cosine: f64) -> f64 {
    match cosine <= 0.5 {
        true => 90.0 - cosine.asin() / 0.5f64.asin() * 30.0,
        false => cosine.acos() / 0.5f64.acos() * 60.0,
    }
}

fn of_circle(value: f64) -> SqlResult<f64> {
    match value.is_nan() || (-1.0..=1.0).contains(&value) {
        true => Ok(value),
        false => out_of_range(),
    }
}

fn asind(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let sine = of_circle(float(args[0]))?;
    Ok(signed(angle_of_sine(sine.abs()), sine < 0.0))
}

fn acosd(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let cosine = of_circle(float(args[0]))?;
    Ok(Value::Float8(match cosine < 0.0 {
        true => 90.0 + angle_of_sine(-cosine),
        false => angle_of_cosine(cosine),
    }))
}

/// Radians in degrees, so that the tangent of 45 is 1.
fn scaled(radians: f64) -> Value {
    Value::Float8(radians / 1.0f64.atan() * 45.0)
}

fn atand(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(scaled(float(args[0]).atan()))
}

fn atan2d(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(scaled(float(args[0]).atan2(float(args[1]))))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("sind", &[Float8], Float8, sind),
    new("cosd", &[Float8], Float8, cosd),
    new("tand", &[Float8], Float8, tand),
    new("cotd", &[Float8], Float8, cotd),
    new("asind", &[Float8], Float8, asind),
    new("acosd", &[Float8], Float8, acosd),
    new("atand", &[Float8], Float8, atand),
    new("atan2d", &[Float8, Float8], Float8, atan2d),
];
