//! Roots, powers, logarithms, exponentials.
//!
//! Relies on: `Integer` and, for logarithms and exponentials, fixed-point arithmetic on big
//! integers.  Promises: the scale that PostgreSQL would choose and a result that is correct in
//! every printed digit but perhaps the last; the work is bounded, because what would need more than
//! a few thousand digits is refused as PostgreSQL refuses it.  Does not: compute through floats,
//! save to estimate how many digits are needed.

use super::arithmetic::{DISPLAY_SCALE_MAX, SIGNIFICANT_DIGITS_MIN, leading_digit};
use super::{Form, INTEGER_DIGITS_MAX, Integer, Numeric, RESULT_SCALE_MAX, Rounding, overflow};
use crate::error::{SqlError, SqlResult, SqlState};
use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::{Signed, ToPrimitive, Zero};

/// Digits carried beyond those that are printed. The longest chain of roundings here (21 squarings,
/// each doubling the error) costs 7 of them.
const GUARD_DIGITS: u32 = 20;

fn refuse(state: SqlState, message: &str) -> SqlError {
    SqlError::new(state, message)
}

/// log10 of the absolute value, good to some 14 digits. Not for zero.
fn log10_estimate(mantissa: &Integer, scale: u16) -> f64 {
    let length = mantissa.digits();
    let cut = length.saturating_sub(17);
    let leading = mantissa
        .abs()
        .scale_down(cut, Rounding::Truncate)
        .to_i64()
        .expect("17 digits fit");
    (leading as f64).log10() + f64::from(cut) - f64::from(scale)
}

/// PostgreSQL's estimate of the decimal weight of ln(value), from which it picks the scale.
fn ln_weight(mantissa: &Integer, scale: u16) -> i32 {
    let one = Integer::power_of_ten(u32::from(scale));
    let distance = mantissa.add(&one.negate()).abs();
    if distance.scale_up(1).cmp(&one).is_le() {
        // Within 0.9 to 1.1 the logarithm is about the distance from 1.
        if distance.is_zero() {
            return 0;
        }
        let (weight, digit) = leading_digit(&distance, scale);
        return weight * 4 + digit.ilog10() as i32;
    }
    let ln = log10_estimate(mantissa, scale) * std::f64::consts::LN_10;
    ln.abs().log10() as i32
}

fn power_of_ten(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// `mantissa / 10^scale` as a fixed-point number with `places` decimals.
fn to_fixed(mantissa: &Integer, scale: u16, places: u32) -> BigInt {
    let own = u32::from(scale);
    let fixed = if places >= own {
        mantissa.scale_up(places - own)
    } else {
        mantissa.scale_down(own - places, Rounding::HalfAway)
    };
    fixed.to_big().into_owned()
}

/// atanh by its series. `z` and the result have `unit` for 1; |z| is well below 1.
fn atanh_fixed(z: &BigInt, unit: &BigInt) -> BigInt {
    let square = z * z / unit;
    let (mut power, mut sum, mut n) = (z.clone(), z.clone(), 1u32);
    loop {
        power = power * &square / unit;
        n += 2;
        let term = &power / n;
        if term.is_zero() {
            return sum;
        }
        sum += term;
    }
}

/// ln of a positive number, as a fixed-point number with `places` decimals.
fn ln_fixed(mantissa: &Integer, scale: u16, places: u32) -> BigInt {
    /// So many square roots bring 1/3..3 within 2% of 1, where the series is short.
    const ROOTS: u32 = 6;
    let places_kept = places;
    let places = places + GUARD_DIGITS;
    let unit = power_of_ten(places);
    // value = fraction × 10^shift with the fraction around 1, and shift 0 where value is near 1.
    let shift = log10_estimate(mantissa, scale).round() as i64;
    let up = i64::from(places) - i64::from(scale) - shift;
    let mut fraction = if up >= 0 {
        mantissa.scale_up(up as u32)
    } else {
        mantissa.scale_down(up.unsigned_abs() as u32, Rounding::HalfAway)
    }
    .to_big()
    .into_owned();
    for _ in 0..ROOTS {
        fraction = (fraction * &unit).sqrt();
    }
    let z = (&fraction - &unit) * &unit / (&fraction + &unit);
    let mut ln = atanh_fixed(&z, &unit) << (ROOTS + 1);
    if shift != 0 {
        // ln 10 = 3 ln 2 + ln 1.25 = 6 atanh(1/3) + 2 atanh(1/9)
        let ln_ten = atanh_fixed(&(&unit / 3), &unit) * 6 + atanh_fixed(&(&unit / 9), &unit) * 2;
        ln += ln_ten * shift;
    }
    ln / power_of_ten(places - places_kept)
}

/// exp of a fixed-point number that is not negative. `unit` is 1.
fn exp_fixed(x: &BigInt, unit: &BigInt) -> BigInt {
    debug_assert!(!x.is_negative());
    // Halve until below 1/128, sum the series, square back.
    let halvings = (x.bits() + 8).saturating_sub(unit.bits());
    let x = x >> halvings;
    let (mut sum, mut term, mut n) = (unit.clone(), unit.clone(), 0u32);
    while !term.is_zero() {
        n += 1;
        term = term * &x / unit / n;
        sum += &term;
    }
    for _ in 0..halvings {
        sum = &sum * &sum / unit;
    }
    sum
}

/// e^x rounded to `scale` decimals, for `x` with `places` decimals. PostgreSQL's bounds.
fn exp_rounded(x: &BigInt, places: u32, scale: i32) -> SqlResult<Numeric> {
    let unit = power_of_ten(places);
    let bound = BigInt::from(3 * RESULT_SCALE_MAX) * &unit;
    if x.abs() >= bound {
        return if x.is_positive() {
            Err(overflow())
        } else {
            Numeric::finite(Integer::ZERO, scale as u32)
        };
    }
    let whole = (x.abs() / &unit).to_u32().expect("below the bound");
    // e^x has whole × 0.4343 digits before the point; each must be right, and scale after it.
    let places_needed = scale as u32 + whole * 87 / 200 + 1 + GUARD_DIGITS;
    let x_abs = if places_needed >= places {
        x.abs() * power_of_ten(places_needed - places)
    } else {
        x.abs() / power_of_ten(places - places_needed)
    };
    let unit = power_of_ten(places_needed);
    let mut power = exp_fixed(&x_abs, &unit);
    if x.is_negative() {
        power = &unit * &unit / power;
    }
    let rounded =
        Integer::from_big(power).scale_down(places_needed - scale as u32, Rounding::HalfAway);
    Numeric::finite(rounded, scale as u32)
}

impl Numeric {
    /// Square root.
    ///
    /// # Errors
    /// `2201F` below zero.
    pub fn sqrt(&self) -> SqlResult<Numeric> {
        if self.is_negative() {
            return Err(refuse(
                SqlState::INVALID_ARGUMENT_FOR_POWER,
                "cannot take square root of a negative number",
            ));
        }
        let form = self.form();
        let Form::Finite { mantissa, scale } = &form else {
            return Ok(self.clone());
        };
        let (weight, _) = leading_digit(mantissa, *scale);
        let root_weight = if weight >= 0 {
            weight * 4 / 2 + 1
        } else {
            1 - (1 - weight * 4) / 2
        };
        let result_scale = (SIGNIFICANT_DIGITS_MIN - root_weight)
            .max(i32::from(*scale))
            .clamp(0, DISPLAY_SCALE_MAX);
        // sqrt(m / 10^s) × 10^r = sqrt(m × 10^(2r - s))
        let shift = 2 * result_scale - i32::from(*scale);
        let radicand = if shift >= 0 {
            mantissa.scale_up(shift as u32)
        } else {
            mantissa.scale_down(shift.unsigned_abs(), Rounding::Truncate)
        };
        Numeric::finite(radicand.sqrt_rounded(), result_scale as u32)
    }

    /// Natural logarithm.
    ///
    /// # Errors
    /// `2201E` unless above zero.
    pub fn ln(&self) -> SqlResult<Numeric> {
        if self.is_negative() {
            return Err(refuse(
                SqlState::INVALID_ARGUMENT,
                "cannot take logarithm of a negative number",
            ));
        }
        if self.is_zero() {
            return Err(refuse(
                SqlState::INVALID_ARGUMENT,
                "cannot take logarithm of zero",
            ));
        }
        let form = self.form();
        let Form::Finite { mantissa, scale } = &form else {
            return Ok(self.clone());
        };
        let result_scale = (SIGNIFICANT_DIGITS_MIN - ln_weight(mantissa, *scale))
            .max(i32::from(*scale))
            .clamp(0, DISPLAY_SCALE_MAX) as u32;
        let ln = Integer::from_big(ln_fixed(mantissa, *scale, result_scale + 2));
        Numeric::finite(ln.scale_down(2, Rounding::HalfAway), result_scale)
    }

    /// e to this power.
    ///
    /// # Errors
    /// `22003` if the result is too large.
    pub fn exp(&self) -> SqlResult<Numeric> {
        let form = self.form();
        let (mantissa, scale) = match &form {
            Form::Finite { mantissa, scale } => (mantissa, *scale),
            Form::NegativeInfinity => return Ok(Numeric::ZERO),
            Form::Infinity | Form::NaN => return Ok(self.clone()),
        };
        let limit = f64::from(RESULT_SCALE_MAX);
        let weight = (self.to_f64() * std::f64::consts::LOG10_E).clamp(-limit, limit) as i32;
        let result_scale = (SIGNIFICANT_DIGITS_MIN - weight)
            .max(i32::from(scale))
            .clamp(0, DISPLAY_SCALE_MAX);
        let places = u32::from(scale);
        exp_rounded(&to_fixed(mantissa, scale, places), places, result_scale)
    }

    /// This to the power of `exponent`.
    ///
    /// # Errors
    /// `2201F` for zero to a negative power and for a negative base with a fractional exponent,
    /// `22003` if the result is too large.
    pub fn power(&self, exponent: &Numeric) -> SqlResult<Numeric> {
        let fractional = exponent.is_finite() && !exponent.is_integral();
        // IEEE's two exceptions to "NaN gives NaN".
        if self.is_nan() || exponent.is_nan() {
            return Ok(if exponent.is_zero() || *self == Numeric::ONE {
                Numeric::ONE
            } else {
                Numeric::NAN
            });
        }
        if self.is_zero() && exponent.is_negative() {
            return Err(refuse(
                SqlState::INVALID_ARGUMENT_FOR_POWER,
                "zero raised to a negative power is undefined",
            ));
        }
        if self.is_negative() && fractional {
            return Err(refuse(
                SqlState::INVALID_ARGUMENT_FOR_POWER,
                "a negative number raised to a non-integer power yields a complex result",
            ));
        }
        let forms = (self.form(), exponent.form());
        let (
            Form::Finite {
                mantissa: base,
                scale: base_scale,
            },
            Form::Finite {
                mantissa: power,
                scale: power_scale,
            },
        ) = &forms
        else {
            return Ok(self.power_of_infinities(exponent));
        };
        let integral = (!fractional).then(|| exponent.to_i64()).flatten();
        if let Some(Ok(integral)) = integral.map(i32::try_from) {
            return power_integral(base, *base_scale, integral);
        }
        if base.is_zero() {
            return Numeric::finite(Integer::ZERO, SIGNIFICANT_DIGITS_MIN as u32);
        }
        let odd = !fractional
            && power
                .scale_down(u32::from(*power_scale), Rounding::Truncate)
                .rem(&Integer::Small(2))
                != Integer::ZERO;
        let magnitude = power_fractional(&base.abs(), *base_scale, power, *power_scale)?;
        Ok(if self.is_negative() && odd {
            magnitude.neg()
        } else {
            magnitude
        })
    }

    /// Powers where base or exponent is infinite and neither is NaN.
    fn power_of_infinities(&self, exponent: &Numeric) -> Numeric {
        if exponent.is_zero() || *self == Numeric::ONE {
            return Numeric::ONE;
        }
        if self.is_zero() {
            return Numeric::ZERO;
        }
        if !exponent.is_finite() {
            let magnitude = self.abs();
            return match (magnitude.cmp(&Numeric::ONE).is_gt(), exponent.is_negative()) {
                _ if magnitude == Numeric::ONE => Numeric::ONE,
                (true, false) | (false, true) => Numeric::INFINITY,
                _ => Numeric::ZERO,
            };
        }
        if exponent.is_negative() {
            return Numeric::ZERO;
        }
        let two = Numeric::from_i64(2);
        let odd = exponent.rem(&two).is_ok_and(|rest| !rest.is_zero());
        if self.is_negative() && odd {
            return Numeric::NEGATIVE_INFINITY;
        }
        Numeric::INFINITY
    }
}

/// base^exponent by squaring, carrying only the digits that can reach the result.
fn power_integral(base: &Integer, base_scale: u16, exponent: i32) -> SqlResult<Numeric> {
    let scale = SIGNIFICANT_DIGITS_MIN
        .max(i32::from(base_scale))
        .min(DISPLAY_SCALE_MAX);
    if exponent == 0 {
        return Numeric::finite(Integer::power_of_ten(scale as u32), scale as u32);
    }
    if base.is_zero() {
        return Numeric::finite(Integer::ZERO, scale as u32);
    }
    let weight = f64::from(exponent) * log10_estimate(base, base_scale);
    if weight > f64::from(INTEGER_DIGITS_MAX) + 1.0 {
        return Err(overflow());
    }
    if weight + 1.0 < f64::from(-scale) {
        return Numeric::finite(Integer::ZERO, scale as u32);
    }
    let digits_kept = (weight as i32 + scale + 1).max(1) as u32 + GUARD_DIGITS;
    let shorten = |(mantissa, scale): (Integer, i64)| {
        let excess = mantissa.digits().saturating_sub(digits_kept);
        (
            mantissa.scale_down(excess, Rounding::HalfAway),
            scale - i64::from(excess),
        )
    };
    let multiply = |a: &(Integer, i64), b: &(Integer, i64)| shorten((a.0.mul(&b.0), a.1 + b.1));
    let mut square = (base.clone(), i64::from(base_scale));
    let mut result = (Integer::Small(1), 0);
    let mut left = exponent.unsigned_abs();
    loop {
        if left & 1 == 1 {
            result = multiply(&result, &square);
        }
        left >>= 1;
        if left == 0 {
            break;
        }
        square = multiply(&square, &square);
    }
    let (mantissa, own_scale) = result;
    let rounded = if exponent > 0 {
        let cut = own_scale - i64::from(scale);
        if cut >= 0 {
            mantissa.scale_down(Numeric::checked_scale(cut)?, Rounding::HalfAway)
        } else {
            mantissa.scale_up(Numeric::checked_scale(-cut)?)
        }
    } else {
        // 1 / (m / 10^s) × 10^scale = 10^(s + scale) / m
        let shift = own_scale + i64::from(scale);
        if shift >= 0 {
            Integer::power_of_ten(Numeric::checked_scale(shift)?).div(&mantissa, Rounding::HalfAway)
        } else {
            let divisor = mantissa.scale_up(Numeric::checked_scale(-shift)?);
            Integer::Small(1).div(&divisor, Rounding::HalfAway)
        }
    };
    Numeric::finite(rounded, scale as u32)
}

/// base^exponent = e^(exponent × ln base) for a positive base.
fn power_fractional(
    base: &Integer,
    base_scale: u16,
    exponent: &Integer,
    exponent_scale: u16,
) -> SqlResult<Numeric> {
    let exponent_digits = exponent.digits().saturating_sub(u32::from(exponent_scale));
    let product = |places: u32| -> BigInt {
        let ln = ln_fixed(base, base_scale, places);
        let product = Integer::from_big(ln * exponent.to_big().as_ref());
        let product = product.scale_down(u32::from(exponent_scale), Rounding::HalfAway);
        product.to_big().into_owned()
    };
    let out_of_bounds = |grows: bool| {
        if grows {
            Err(overflow())
        } else {
            Numeric::finite(Integer::ZERO, DISPLAY_SCALE_MAX as u32)
        }
    };
    // |ln base| is at least about 10^-base_scale unless the base is 1, so an exponent of that many
    // digits more needs no arithmetic to be out of bounds.
    let one = Integer::power_of_ten(u32::from(base_scale));
    if exponent_digits > u32::from(base_scale) + 6 && base != &one {
        return out_of_bounds(base.cmp(&one).is_gt() == (exponent.signum() > 0));
    }
    // A first look, with enough digits to see a base as near to 1 as its scale allows.
    let places = GUARD_DIGITS + u32::from(base_scale) + exponent_digits;
    let rough = product(places);
    let unit = power_of_ten(places);
    let limit = BigInt::from(3 * RESULT_SCALE_MAX + 20) * &unit;
    if rough.abs() > limit {
        return out_of_bounds(rough.is_positive());
    }
    // The scale of the result follows from a logarithm of some eight digits, as in PostgreSQL.
    let low = (8 - ln_weight(base, base_scale)).max(0) as u32;
    let ln =
        Integer::from_big(ln_fixed(base, base_scale, low + 2)).scale_down(2, Rounding::HalfAway);
    let ln_result = Integer::from_big(ln.to_big().as_ref() * exponent.to_big().as_ref())
        .scale_down(u32::from(exponent_scale), Rounding::HalfAway)
        .to_big()
        .to_f64();
    let ln_result = ln_result.unwrap_or_default() / 10f64.powi(low as i32);
    let weight = (ln_result * std::f64::consts::LOG10_E) as i32;
    let scale = (SIGNIFICANT_DIGITS_MIN - weight)
        .max(i32::from(base_scale))
        .max(i32::from(exponent_scale))
        .clamp(0, DISPLAY_SCALE_MAX);
    let places = (scale + weight.max(0)) as u32 + exponent_digits + GUARD_DIGITS;
    exp_rounded(&product(places), places, scale)
}
