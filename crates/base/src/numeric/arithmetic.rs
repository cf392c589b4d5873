//! The four operations, remainder and rounding.
//!
//! Relies on: `Integer`.  Promises: result scales as PostgreSQL chooses them (larger of the two for
//! sums and remainders, their sum for products, at least 16 significant digits for quotients);
//! halves round away from zero.  Does not: anything through floating point.

use super::{Form, INTEGER_DIGITS_MAX, Integer, Kept, Numeric, Rounding, SCALE_MAX, overflow};
use crate::error::{SqlError, SqlResult, SqlState};

/// A quotient has at least this many significant digits, as in PostgreSQL.
pub(super) const SIGNIFICANT_DIGITS_MIN: i32 = 16;

/// No operation picks a larger scale than this by itself, as in PostgreSQL.
pub(super) const DISPLAY_SCALE_MAX: i32 = 1_000;

/// PostgreSQL counts in digits of base 10000; its rules for scales show it.
const BASE_DIGITS: i32 = 4;

pub(super) fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// Position and value of the leading base-10000 digit of `mantissa / 10^scale`: the number is
/// `digit × 10000^weight` and something. Zero is (0, 0).
pub(super) fn leading_digit(mantissa: &Integer, scale: u16) -> (i32, i32) {
    if mantissa.is_zero() {
        return (0, 0);
    }
    let length = mantissa.digits() as i32;
    let exponent = length - 1 - i32::from(scale);
    let weight = exponent.div_euclid(BASE_DIGITS);
    let digits_wanted = exponent.rem_euclid(BASE_DIGITS) + 1;
    let magnitude = mantissa.abs();
    let digit = if length >= digits_wanted {
        magnitude.scale_down((length - digits_wanted) as u32, Rounding::Truncate)
    } else {
        magnitude.scale_up((digits_wanted - length) as u32)
    };
    let digit = digit.to_i64().expect("at most four decimal digits");
    (weight, digit as i32)
}

impl Numeric {
    /// Sum.
    ///
    /// # Errors
    /// `22003` if it has too many digits.
    pub fn add(&self, other: &Numeric) -> SqlResult<Numeric> {
        if let (Some((a, scale)), Some((b, scale_b))) = (self.short(), other.short())
            && scale == scale_b
            && let Some(mantissa) = a.checked_add(b)
        {
            return Ok(Numeric(Kept::Short { mantissa, scale }));
        }
        match (&self.form(), &other.form()) {
            (
                Form::Finite {
                    mantissa: a,
                    scale: scale_a,
                },
                Form::Finite {
                    mantissa: b,
                    scale: scale_b,
                },
            ) => {
                let scale = *scale_a.max(scale_b);
                let sum = if scale_a == scale_b {
                    a.add(b)
                } else {
                    a.scale_up(u32::from(scale - scale_a))
                        .add(&b.scale_up(u32::from(scale - scale_b)))
                };
                Numeric::finite(sum, u32::from(scale))
            }
            (Form::NaN, _) | (_, Form::NaN) => Ok(Numeric::NAN),
            (Form::Infinity, Form::NegativeInfinity) | (Form::NegativeInfinity, Form::Infinity) => {
                Ok(Numeric::NAN)
            }
            (Form::Infinity | Form::NegativeInfinity, _) => Ok(self.clone()),
            (_, Form::Infinity | Form::NegativeInfinity) => Ok(other.clone()),
        }
    }

    /// Difference.
    ///
    /// # Errors
    /// `22003` if it has too many digits.
    pub fn sub(&self, other: &Numeric) -> SqlResult<Numeric> {
        self.add(&other.neg())
    }

    /// Product.
    ///
    /// # Errors
    /// `22003` if it has too many digits.
    pub fn mul(&self, other: &Numeric) -> SqlResult<Numeric> {
        if let (Some((a, scale_a)), Some((b, scale_b))) = (self.short(), other.short())
            && let Some(mantissa) = a.checked_mul(b)
            && scale_a + scale_b <= SCALE_MAX
        {
            let scale = scale_a + scale_b;
            return Ok(Numeric(Kept::Short { mantissa, scale }));
        }
        match (&self.form(), &other.form()) {
            (
                Form::Finite {
                    mantissa: a,
                    scale: scale_a,
                },
                Form::Finite {
                    mantissa: b,
                    scale: scale_b,
                },
            ) => {
                let (product, scale) = (a.mul(b), u32::from(*scale_a) + u32::from(*scale_b));
                let excess = scale.saturating_sub(u32::from(SCALE_MAX));
                Numeric::finite(
                    product.scale_down(excess, Rounding::HalfAway),
                    scale - excess,
                )
            }
            (Form::NaN, _) | (_, Form::NaN) => Ok(Numeric::NAN),
            _ => Ok(match self.signum() * other.signum() {
                0 => Numeric::NAN,
                1 => Numeric::INFINITY,
                _ => Numeric::NEGATIVE_INFINITY,
            }),
        }
    }

    /// Quotient, rounded at the scale that PostgreSQL picks.
    ///
    /// # Errors
    /// `22012` for a zero divisor, `22003` if the result has too many digits.
    pub fn div(&self, divisor: &Numeric) -> SqlResult<Numeric> {
        match (&self.form(), &divisor.form()) {
            (
                Form::Finite {
                    mantissa: a,
                    scale: scale_a,
                },
                Form::Finite {
                    mantissa: b,
                    scale: scale_b,
                },
            ) => {
                if b.is_zero() {
                    return Err(division_by_zero());
                }
                let ((weight_a, digit_a), (weight_b, digit_b)) =
                    (leading_digit(a, *scale_a), leading_digit(b, *scale_b));
                let weight = weight_a - weight_b - i32::from(digit_a <= digit_b);
                let scale = (SIGNIFICANT_DIGITS_MIN - weight * BASE_DIGITS)
                    .max(i32::from(*scale_a))
                    .max(i32::from(*scale_b))
                    .clamp(0, DISPLAY_SCALE_MAX);
                Numeric::quotient(a, *scale_a, b, *scale_b, scale)
            }
            (Form::NaN, _) | (_, Form::NaN) => Ok(Numeric::NAN),
            (Form::Finite { .. }, _) => Ok(Numeric::ZERO),
            (_, Form::Finite { mantissa, .. }) => match self.signum() * mantissa.signum() {
                0 => Err(division_by_zero()),
                1 => Ok(Numeric::INFINITY),
                _ => Ok(Numeric::NEGATIVE_INFINITY),
            },
            _ => Ok(Numeric::NAN),
        }
    }

    /// `a / b` rounded to `scale` digits after the point. `b` is not zero.
    pub(super) fn quotient(
        a: &Integer,
        scale_a: u16,
        b: &Integer,
        scale_b: u16,
        scale: i32,
    ) -> SqlResult<Numeric> {
        let shift = scale + i32::from(scale_b) - i32::from(scale_a);
        let quotient = if shift >= 0 {
            a.scale_up(shift as u32).div(b, Rounding::HalfAway)
        } else {
            a.div(&b.scale_up(shift.unsigned_abs()), Rounding::HalfAway)
        };
        Numeric::finite(quotient, scale as u32)
    }

    /// Remainder of the division that truncates: it has the sign of `self`.
    ///
    /// # Errors
    /// `22012` for a zero divisor.
    pub fn rem(&self, divisor: &Numeric) -> SqlResult<Numeric> {
        match (&self.form(), &divisor.form()) {
            (
                Form::Finite {
                    mantissa: a,
                    scale: scale_a,
                },
                Form::Finite {
                    mantissa: b,
                    scale: scale_b,
                },
            ) => {
                if b.is_zero() {
                    return Err(division_by_zero());
                }
                let scale = *scale_a.max(scale_b);
                let a = a.scale_up(u32::from(scale - scale_a));
                let b = b.scale_up(u32::from(scale - scale_b));
                Numeric::finite(a.rem(&b), u32::from(scale))
            }
            (Form::NaN, _) | (_, Form::NaN) => Ok(Numeric::NAN),
            (Form::Finite { .. }, _) => Ok(self.clone()),
            (_, Form::Finite { mantissa, .. }) if mantissa.is_zero() => Err(division_by_zero()),
            _ => Ok(Numeric::NAN),
        }
    }

    /// The quotient without its fraction, scale 0, as PostgreSQL's `div(a, b)`.
    ///
    /// # Errors
    /// `22012` for a zero divisor, `22003` if the result has too many digits.
    pub fn div_trunc(&self, divisor: &Numeric) -> SqlResult<Numeric> {
        match (&self.form(), &divisor.form()) {
            (
                Form::Finite {
                    mantissa: a,
                    scale: scale_a,
                },
                Form::Finite {
                    mantissa: b,
                    scale: scale_b,
                },
            ) if !b.is_zero() => {
                let scale = *scale_a.max(scale_b);
                let a = a.scale_up(u32::from(scale - scale_a));
                let b = b.scale_up(u32::from(scale - scale_b));
                Numeric::finite(a.div(&b, Rounding::Truncate), 0)
            }
            _ => self.div(divisor),
        }
    }

    /// Rounds a half away from zero to `scale` digits after the point; a negative scale rounds
    /// before it. The result is printed with exactly `max(scale, 0)` digits.
    ///
    /// # Errors
    /// `22003` if the result has too many digits.
    pub fn round(&self, scale: i32) -> SqlResult<Numeric> {
        self.rescale(scale, Rounding::HalfAway)
    }

    /// As [`Numeric::round`], towards zero.
    ///
    /// # Errors
    /// `22003` if the result has too many digits.
    pub fn trunc(&self, scale: i32) -> SqlResult<Numeric> {
        self.rescale(scale, Rounding::Truncate)
    }

    fn rescale(&self, scale: i32, rounding: Rounding) -> SqlResult<Numeric> {
        let form = self.form();
        let Form::Finite {
            mantissa,
            scale: own,
        } = &form
        else {
            return Ok(self.clone());
        };
        // One place more than there are: what is rounded up there does not fit.
        let scale = scale.clamp(-(INTEGER_DIGITS_MAX as i32) - 1, i32::from(SCALE_MAX));
        let cut = i32::from(*own) - scale;
        let mantissa = if cut >= 0 {
            mantissa.scale_down(cut as u32, rounding)
        } else {
            mantissa.scale_up(cut.unsigned_abs())
        };
        if scale >= 0 {
            return Numeric::finite(mantissa, scale as u32);
        }
        Numeric::finite(mantissa.scale_up(scale.unsigned_abs()), 0)
    }

    /// The smallest integer not below, scale 0.
    ///
    /// # Errors
    /// `22003` if the result has too many digits.
    pub fn ceil(&self) -> SqlResult<Numeric> {
        self.toward(1)
    }

    /// The largest integer not above, scale 0.
    ///
    /// # Errors
    /// `22003` if the result has too many digits.
    pub fn floor(&self) -> SqlResult<Numeric> {
        self.toward(-1)
    }

    /// The next integer in the given direction, unless it is one already.
    fn toward(&self, direction: i32) -> SqlResult<Numeric> {
        let whole = self.trunc(0)?;
        if whole != *self && self.signum() == direction {
            return whole.add(&Numeric::from_i64(i64::from(direction)));
        }
        Ok(whole)
    }

    /// Absolute value.
    #[must_use]
    pub fn abs(&self) -> Numeric {
        if self.is_negative() {
            self.neg()
        } else {
            self.clone()
        }
    }

    /// Negated.
    #[must_use]
    pub fn neg(&self) -> Numeric {
        match &self.form() {
            Form::Finite { mantissa, scale } => Numeric::of(mantissa.negate(), *scale),
            Form::NegativeInfinity => Numeric::INFINITY,
            Form::Infinity => Numeric::NEGATIVE_INFINITY,
            Form::NaN => Numeric::NAN,
        }
    }

    /// -1, 0 or 1 with scale 0; NaN for NaN.
    #[must_use]
    pub fn sign(&self) -> Numeric {
        if self.is_nan() {
            return Numeric::NAN;
        }
        Numeric::from_i64(i64::from(self.signum()))
    }

    /// True for a finite number without a fraction.
    pub fn is_integral(&self) -> bool {
        match &self.form() {
            Form::Finite { mantissa, scale } => {
                mantissa.is_zero() || mantissa.strip_zeros(u32::from(*scale)).1 == u32::from(*scale)
            }
            _ => false,
        }
    }

    /// Refuses what an arithmetic helper found to be beyond the format.
    pub(super) fn checked_scale(scale: i64) -> SqlResult<u32> {
        u32::try_from(scale).map_err(|_| overflow())
    }
}
