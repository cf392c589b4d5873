//! Coordinates: arithmetic that does not leave their range, and what is the same within the tolerance.
//!
//! Relies on: IEEE arithmetic.  Promises: 22003 where finite numbers give an infinite one, or a product or quotient is zero that
//! should not be; NaN is above everything in [`less`] and [`greater`], and in no relation at all within the tolerance.

use crate::error::{SqlError, SqlResult, SqlState};
use crate::value::float_order;

/// What two coordinates may differ by and still be the same.
const TOLERANCE: f64 = 1.0E-6;

fn out_of_range(what: &str) -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("value out of range: {what}"),
    )
}

fn bounded(result: f64, inputs: &[f64]) -> SqlResult<f64> {
    match result.is_infinite() && !inputs.iter().any(|input| input.is_infinite()) {
        true => Err(out_of_range("overflow")),
        false => Ok(result),
    }
}

pub(super) fn add(a: f64, b: f64) -> SqlResult<f64> {
    bounded(a + b, &[a, b])
}

pub(super) fn sub(a: f64, b: f64) -> SqlResult<f64> {
    bounded(a - b, &[a, b])
}

pub(super) fn mul(a: f64, b: f64) -> SqlResult<f64> {
    let result = bounded(a * b, &[a, b])?;
    match result == 0.0 && a != 0.0 && b != 0.0 {
        true => Err(out_of_range("underflow")),
        false => Ok(result),
    }
}

pub(super) fn div(a: f64, b: f64) -> SqlResult<f64> {
    if b == 0.0 && !a.is_nan() {
        return Err(SqlError::new(
            SqlState::DIVISION_BY_ZERO,
            "division by zero",
        ));
    }
    let result = bounded(a / b, &[a])?;
    match result == 0.0 && a != 0.0 && !b.is_infinite() {
        true => Err(out_of_range("underflow")),
        false => Ok(result),
    }
}

/// The length of the longest side of a triangle with a right angle.
pub(super) fn hypot(x: f64, y: f64) -> SqlResult<f64> {
    if x.is_infinite() || y.is_infinite() {
        return Ok(f64::INFINITY);
    }
    if x.is_nan() || y.is_nan() {
        return Ok(f64::NAN);
    }
    let [x, y] = [x.abs(), y.abs()];
    let [long, short] = if x < y { [y, x] } else { [x, y] };
    if short == 0.0 {
        return Ok(long);
    }
    // So that no square leaves the range.
    let ratio = short / long;
    let result = long * (1.0 + ratio * ratio).sqrt();
    if result.is_infinite() {
        return Err(out_of_range("overflow"));
    }
    if result == 0.0 {
        return Err(out_of_range("underflow"));
    }
    Ok(result)
}

/// Whether it comes before, NaN being above everything.
pub(super) fn less(a: f64, b: f64) -> bool {
    float_order(a, b).is_lt()
}

/// Whether it comes behind.
pub(super) fn greater(a: f64, b: f64) -> bool {
    float_order(a, b).is_gt()
}

pub(super) fn min(a: f64, b: f64) -> f64 {
    if less(a, b) { a } else { b }
}

pub(super) fn max(a: f64, b: f64) -> f64 {
    if greater(a, b) { a } else { b }
}

/// Zero, within the tolerance.
pub(super) fn is_zero(a: f64) -> bool {
    a.abs() <= TOLERANCE
}

/// The same, within the tolerance.
pub fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= TOLERANCE
}

/// Below by more than the tolerance.
pub fn below(a: f64, b: f64) -> bool {
    a + TOLERANCE < b
}

/// Above by more than the tolerance.
pub fn above(a: f64, b: f64) -> bool {
    a > b + TOLERANCE
}

/// Not above, within the tolerance.
pub fn at_most(a: f64, b: f64) -> bool {
    a <= b + TOLERANCE
}

/// Not below, within the tolerance.
pub fn at_least(a: f64, b: f64) -> bool {
    a + TOLERANCE >= b
}

/// -0 as 0.
pub(super) fn unsigned_zero(a: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a }
}
