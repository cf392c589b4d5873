//! Integers of any size that stay in a machine word pair while they fit.
//!
//! Relies on: `num-bigint` for what does not fit 128 bits.  Promises: one form per number (an
//! integer that fits `i128` is never held as a big one), so equality is structural; no overflow.
//! Does not: bound its size; `Numeric` does.
//!
//! Hot path: sums and products of money-like decimals stay in `Small`; no allocation there.

use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::{Signed, ToPrimitive, Zero};
use std::borrow::Cow;
use std::cmp::Ordering;

/// The largest power of ten that fits `i128`.
const SMALL_POWER_MAX: u32 = 38;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Integer {
    Small(i128),
    Big(Box<BigInt>),
}

/// What becomes of the digits that a division cuts off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    /// Dropped.
    Truncate,
    /// To the nearest; a half goes away from zero.
    HalfAway,
}

/// Bytes of the shortest two's complement; none for zero.
fn small_len(value: i128) -> usize {
    // One bit says the sign.
    let bits = 129 - (value ^ (value >> 127)).leading_zeros() as usize;
    match value {
        0 => 0,
        _ => bits.div_ceil(8),
    }
}

impl Integer {
    pub(super) const ZERO: Integer = Integer::Small(0);

    pub(super) fn from_big(big: BigInt) -> Integer {
        match big.to_i128() {
            Some(small) => Integer::Small(small),
            None => Integer::Big(Box::new(big)),
        }
    }

    pub(super) fn to_big(&self) -> Cow<'_, BigInt> {
        match self {
            Integer::Small(v) => Cow::Owned(BigInt::from(*v)),
            Integer::Big(v) => Cow::Borrowed(v),
        }
    }

    pub(super) fn power_of_ten(exponent: u32) -> Integer {
        if exponent <= SMALL_POWER_MAX {
            Integer::Small(10i128.pow(exponent))
        } else {
            Integer::from_big(BigInt::from(10).pow(exponent))
        }
    }

    /// -1, 0 or 1.
    pub(super) fn signum(&self) -> i32 {
        match self {
            Integer::Small(v) => v.signum() as i32,
            Integer::Big(v) => match v.sign() {
                bigdecimal::num_bigint::Sign::Minus => -1,
                _ => 1,
            },
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Integer::Small(0))
    }

    pub(super) fn negate(&self) -> Integer {
        match self {
            Integer::Small(v) => match v.checked_neg() {
                Some(v) => Integer::Small(v),
                None => Integer::from_big(-BigInt::from(*v)),
            },
            Integer::Big(v) => Integer::from_big(-v.as_ref()),
        }
    }

    pub(super) fn abs(&self) -> Integer {
        if self.signum() < 0 {
            self.negate()
        } else {
            self.clone()
        }
    }

    pub(super) fn add(&self, other: &Integer) -> Integer {
        if let (Integer::Small(a), Integer::Small(b)) = (self, other)
            && let Some(sum) = a.checked_add(*b)
        {
            return Integer::Small(sum);
        }
        Integer::from_big(self.to_big().as_ref() + other.to_big().as_ref())
    }

    pub(super) fn mul(&self, other: &Integer) -> Integer {
        if let (Integer::Small(a), Integer::Small(b)) = (self, other)
            && let Some(product) = a.checked_mul(*b)
        {
            return Integer::Small(product);
        }
        Integer::from_big(self.to_big().as_ref() * other.to_big().as_ref())
    }

    pub(super) fn scale_up(&self, exponent: u32) -> Integer {
        if exponent == 0 || self.is_zero() {
            return self.clone();
        }
        self.mul(&Integer::power_of_ten(exponent))
    }

    pub(super) fn scale_down(&self, exponent: u32, rounding: Rounding) -> Integer {
        if exponent == 0 {
            return self.clone();
        }
        // Anything with fewer digits is below a tenth of the divisor: it rounds to zero without
        // the power having to be computed.
        if self.digits() < exponent {
            return Integer::ZERO;
        }
        self.div(&Integer::power_of_ten(exponent), rounding)
    }

    /// Quotient. The divisor must not be zero.
    pub(super) fn div(&self, divisor: &Integer, rounding: Rounding) -> Integer {
        assert!(!divisor.is_zero(), "the caller has refused a zero divisor");
        if let (Integer::Small(a), Integer::Small(b)) = (self, divisor)
            && let Some(quotient) = a.checked_div(*b)
        {
            let rest = (a % b).unsigned_abs();
            let up = rounding == Rounding::HalfAway && rest >= b.unsigned_abs() - rest;
            // |quotient| < i128::MAX here: rounding up needs a rest, so |b| ≥ 2.
            let step = if up { a.signum() * b.signum() } else { 0 };
            return Integer::Small(quotient + step);
        }
        let (a, b) = (self.to_big(), divisor.to_big());
        let quotient = a.as_ref() / b.as_ref();
        let rest = (a.as_ref() - &quotient * b.as_ref()).abs();
        if rounding == Rounding::HalfAway && (&rest + &rest) >= b.abs() {
            return Integer::from_big(quotient + self.signum() * divisor.signum());
        }
        Integer::from_big(quotient)
    }

    /// Remainder with the sign of `self`. The divisor must not be zero.
    pub(super) fn rem(&self, divisor: &Integer) -> Integer {
        assert!(!divisor.is_zero(), "the caller has refused a zero divisor");
        if let (Integer::Small(a), Integer::Small(b)) = (self, divisor) {
            // i128::MIN % -1 overflows in the machine and is 0 in arithmetic.
            return Integer::Small(a.checked_rem(*b).unwrap_or(0));
        }
        Integer::from_big(self.to_big().as_ref() % divisor.to_big().as_ref())
    }

    /// The root of a non-negative integer, rounded to the nearest.
    pub(super) fn sqrt_rounded(&self) -> Integer {
        assert!(self.signum() >= 0, "the caller has refused negative input");
        let value = self.to_big();
        let root = value.sqrt();
        let rest = value.as_ref() - &root * &root;
        // (root + 1/2)² = root² + root + 1/4, so the exact root is above the middle iff rest > root.
        if rest > root {
            return Integer::from_big(root + 1);
        }
        Integer::from_big(root)
    }

    /// How many decimal digits the absolute value has; 0 for zero.
    pub(super) fn digits(&self) -> u32 {
        match self {
            Integer::Small(0) => 0,
            Integer::Small(v) => v.unsigned_abs().ilog10() + 1,
            Integer::Big(v) => {
                // The bit length gives the count within one: floor(log10 2^(bits-1)) + 1 or one
                // more. The float is exact enough for the sizes that Numeric allows.
                let at_least = ((v.bits() - 1) as f64 * std::f64::consts::LOG10_2) as u32;
                let mut digits = at_least.max(SMALL_POWER_MAX);
                let mut bound = BigInt::from(10).pow(digits);
                let magnitude = v.abs();
                while magnitude >= bound {
                    digits += 1;
                    bound *= 10;
                }
                digits
            }
        }
    }

    /// Removes up to `limit` factors of ten; says how many.
    pub(super) fn strip_zeros(&self, limit: u32) -> (Integer, u32) {
        match self {
            Integer::Small(0) => (Integer::ZERO, limit),
            Integer::Small(v) => {
                let (mut v, mut stripped) = (*v, 0);
                while stripped < limit && v % 10 == 0 {
                    v /= 10;
                    stripped += 1;
                }
                (Integer::Small(v), stripped)
            }
            Integer::Big(v) => {
                // Halving steps, so that thousands of zeros cost few divisions.
                let (mut v, mut stripped) = (v.as_ref().clone(), 0);
                let mut step = limit.next_power_of_two().min(limit.max(1));
                while step > 0 {
                    let power = BigInt::from(10).pow(step);
                    if stripped + step <= limit && (&v % &power).is_zero() {
                        v /= &power;
                        stripped += step;
                    } else {
                        step /= 2;
                    }
                }
                (Integer::from_big(v), stripped)
            }
        }
    }

    pub(super) fn cmp(&self, other: &Integer) -> Ordering {
        match (self, other) {
            (Integer::Small(a), Integer::Small(b)) => a.cmp(b),
            _ => self.to_big().as_ref().cmp(other.to_big().as_ref()),
        }
    }

    /// The digits of the absolute value; empty for zero.
    pub(super) fn digit_string(&self) -> String {
        match self {
            Integer::Small(0) => String::new(),
            Integer::Small(v) => v.unsigned_abs().to_string(),
            Integer::Big(v) => v.magnitude().to_string(),
        }
    }

    /// Reads ASCII digits, nothing else; empty is zero.
    pub(super) fn from_digits(digits: &[u8]) -> Integer {
        debug_assert!(digits.iter().all(u8::is_ascii_digit));
        if digits.len() <= SMALL_POWER_MAX as usize {
            let value = digits
                .iter()
                .fold(0i128, |value, d| value * 10 + i128::from(d - b'0'));
            return Integer::Small(value);
        }
        let big = BigInt::parse_bytes(digits, 10).expect("the caller passes digits only");
        Integer::from_big(big)
    }

    /// Two's complement, little-endian, as short as possible; empty for zero.
    pub(super) fn write_le_bytes(&self, out: &mut Vec<u8>) {
        match self {
            Integer::Small(v) => out.extend_from_slice(&v.to_le_bytes()[..small_len(*v)]),
            Integer::Big(v) => out.extend_from_slice(&v.to_signed_bytes_le()),
        }
    }

    /// The inverse of [`Integer::write_le_bytes`]; `None` for bytes that it would not have written.
    pub(super) fn from_le_bytes(bytes: &[u8]) -> Option<Integer> {
        if bytes.is_empty() {
            Some(Integer::ZERO)
        } else if bytes.len() <= 16 {
            let fill = if bytes[bytes.len() - 1] >= 0x80 {
                0xFF
            } else {
                0x00
            };
            let mut wide = [fill; 16];
            wide[..bytes.len()].copy_from_slice(bytes);
            let value = i128::from_le_bytes(wide);
            (small_len(value) == bytes.len()).then_some(Integer::Small(value))
        } else {
            let value = Integer::from_big(BigInt::from_signed_bytes_le(bytes));
            let mut shortest = Vec::with_capacity(bytes.len());
            value.write_le_bytes(&mut shortest);
            (shortest == bytes).then_some(value)
        }
    }

    pub(super) fn to_i64(&self) -> Option<i64> {
        match self {
            Integer::Small(v) => i64::try_from(*v).ok(),
            Integer::Big(_) => None,
        }
    }
}
