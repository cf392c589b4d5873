//! Floats as text.
//!
//! Relies on: the standard library's shortest and rounded decimal digits.  Promises: PostgreSQL's
//! spelling (`1e+20`, `0.0001`, `1e-05`, `-Infinity`) at every setting of `extra_float_digits`, and
//! its refusal of literals that overflow or underflow.  Does not: read hexadecimal floats; print the
//! one or two digits more that PostgreSQL prints for the about one in a thousand large doubles whose
//! shortest spelling lies exactly half-way to a neighbour (both read back to the same double).

use crate::error::{SqlError, SqlResult, SqlState};
use crate::types::SqlType;
use std::io::Write;

/// Significant decimal digits that every double keeps, and the same for a real. They are also
/// where the spelling turns to an exponent.
const DOUBLE_DIGITS: i32 = 15;
const REAL_DIGITS: i32 = 6;

/// Below this exponent the spelling turns to an exponent.
const FIXED_EXPONENT_MIN: i32 = -4;

pub(crate) fn write_f64(value: f64, extra_digits: i32, out: &mut Vec<u8>) {
    if special(value, out) {
        return;
    }
    if extra_digits > 0 {
        let shortest = format!("{value:e}");
        let even = format!("{value:.*e}", decimals(&shortest));
        let closest = if even.parse() == Ok(value) {
            even
        } else {
            shortest
        };
        spell(&closest, DOUBLE_DIGITS, out);
    } else {
        let digits = (DOUBLE_DIGITS + extra_digits).max(1);
        let rounded = format!("{value:.*e}", digits as usize - 1);
        spell(&rounded, digits, out);
    }
}

pub(super) fn write_f32(value: f32, extra_digits: i32, out: &mut Vec<u8>) {
    if special(f64::from(value), out) {
        return;
    }
    if extra_digits > 0 {
        let shortest = format!("{value:e}");
        let even = format!("{value:.*e}", decimals(&shortest));
        let closest = if even.parse() == Ok(value) {
            even
        } else {
            shortest
        };
        spell(&closest, REAL_DIGITS, out);
    } else {
        let digits = (REAL_DIGITS + extra_digits).max(1);
        let rounded = format!("{value:.*e}", digits as usize - 1);
        spell(&rounded, digits, out);
    }
}

/// Digits after the point of `-d.ddde-x`. Where two shortest spellings are equally close, the
/// standard library takes the upper one and PostgreSQL the even one, which is what rounding to that
/// many digits gives.
fn decimals(scientific: &str) -> usize {
    let number = scientific.split('e').next().unwrap_or(scientific);
    number.split_once('.').map_or(0, |(_, digits)| digits.len())
}

/// Writes what is no finite number; true if it was one of those.
fn special(value: f64, out: &mut Vec<u8>) -> bool {
    let text: &[u8] = if value.is_nan() {
        b"NaN"
    } else if value == f64::INFINITY {
        b"Infinity"
    } else if value == f64::NEG_INFINITY {
        b"-Infinity"
    } else {
        return false;
    };
    out.extend_from_slice(text);
    true
}

/// Spells `-d.ddde-x` with the exponent only from `exponent_end` up or below 1e-4, and without
/// trailing zeros.
fn spell(scientific: &str, exponent_end: i32, out: &mut Vec<u8>) {
    let (number, exponent) = scientific
        .split_once('e')
        .expect("the standard library writes an exponent");
    let exponent: i32 = exponent.parse().expect("a small integer");
    let (negative, number) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number),
    };
    if negative {
        out.push(b'-');
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0').as_bytes();
    if !(FIXED_EXPONENT_MIN..exponent_end).contains(&exponent) {
        out.extend_from_slice(whole.as_bytes());
        if !fraction.is_empty() {
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        let magnitude = exponent.unsigned_abs();
        write!(out, "e{sign}{magnitude:02}").expect("a Vec takes everything");
        return;
    }
    if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(
            b'0',
            exponent.unsigned_abs() as usize - 1,
        ));
        out.extend_from_slice(whole.as_bytes());
        out.extend_from_slice(fraction);
        return;
    }
    let before_point = exponent as usize;
    out.extend_from_slice(whole.as_bytes());
    if fraction.len() <= before_point {
        out.extend_from_slice(fraction);
        out.extend(std::iter::repeat_n(b'0', before_point - fraction.len()));
    } else {
        out.extend_from_slice(&fraction[..before_point]);
        out.push(b'.');
        out.extend_from_slice(&fraction[before_point..]);
    }
}

/// The literal without blanks around it and without the sign of a NaN, which has none here.
fn body(text: &str) -> &str {
    let body = super::trim(text);
    let unsigned = body.trim_start_matches(['+', '-']);
    if body.len() - unsigned.len() == 1 && unsigned.eq_ignore_ascii_case("nan") {
        return unsigned;
    }
    body
}

/// True if the standard library's result says that the literal is too large or too small.
fn out_of_range(body: &str, is_infinite: bool, is_zero: bool) -> bool {
    let names_infinity = body.bytes().any(|b| matches!(b, b'n' | b'N'));
    let mantissa = body.split(['e', 'E']).next().unwrap_or(body);
    (is_infinite && !names_infinity) || (is_zero && mantissa.bytes().any(|b| b > b'0' && b <= b'9'))
}

fn range_error(body: &str, ty: SqlType) -> SqlError {
    SqlError::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("\"{body}\" is out of range for type {ty}"),
    )
}

pub(crate) fn read_f64(text: &str) -> SqlResult<f64> {
    let body = body(text);
    let value: f64 = body
        .parse()
        .map_err(|_| super::invalid(SqlType::Float8, text))?;
    if out_of_range(body, value.is_infinite(), value == 0.0) {
        return Err(range_error(body, SqlType::Float8));
    }
    Ok(value)
}

pub(super) fn read_f32(text: &str) -> SqlResult<f32> {
    let body = body(text);
    let value: f32 = body
        .parse()
        .map_err(|_| super::invalid(SqlType::Float4, text))?;
    if out_of_range(body, value.is_infinite(), value == 0.0) {
        return Err(range_error(body, SqlType::Float4));
    }
    Ok(value)
}
