//! [`Datum`]: a value where it lies, or in a few bytes of its own.
//!
//! Relies on: nothing but the values.  Promises: a datum and the value it stands for have the same order and the
//! same encodings; nothing is allocated, counted or dropped.  Does not: stand for every value: what has no form of
//! its own is shown where it lies, or the caller is told that there is none and goes the long way.
//!
//! Hot path: made for each column that is looked at. It is `Copy`, so that it costs nothing to forget.

use crate::numeric::Numeric;
use crate::types::SqlType;
use crate::value::{Str, Value};
use std::cmp::Ordering;

/// Powers of ten that fit.
const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// A value as expressions over stored rows see it.
#[derive(Clone, Copy, Debug)]
pub enum Datum<'a> {
    /// NULL of any type.
    Null,
    /// boolean
    Bool(bool),
    /// smallint
    Int2(i16),
    /// integer
    Int4(i32),
    /// bigint
    Int8(i64),
    /// numeric, if it is kept short: `0 / 10^1`.
    Decimal(i64, u16),
    /// text, varchar, char(n), name
    Text(&'a str),
    /// date
    Date(i32),
    /// timestamp
    Timestamp(i64),
    /// timestamptz
    TimestampTz(i64),
    /// Anything else.
    Lying(&'a Value),
}

const _: () = assert!(size_of::<Option<Datum<'_>>>() == 24);

impl<'a> Datum<'a> {
    /// A value, where it lies.
    #[inline]
    pub fn of(value: &'a Value) -> Datum<'a> {
        match value {
            Value::Null => Datum::Null,
            Value::Bool(v) => Datum::Bool(*v),
            Value::Int2(v) => Datum::Int2(*v),
            Value::Int4(v) => Datum::Int4(*v),
            Value::Int8(v) => Datum::Int8(*v),
            Value::Text(v) => Datum::Text(v),
            Value::Date(v) => Datum::Date(*v),
            Value::Timestamp(v) => Datum::Timestamp(*v),
            Value::TimestampTz(v) => Datum::TimestampTz(*v),
            Value::Numeric(v) => match v.as_short() {
                Some((mantissa, scale)) => Datum::Decimal(mantissa, scale),
                None => Datum::Lying(value),
            },
            _ => Datum::Lying(value),
        }
    }

    /// The value if it needs nothing to lie in; `None` for text and what is only lying somewhere.
    #[inline]
    pub fn scalar(value: &Value) -> Option<Datum<'static>> {
        Some(match value {
            Value::Null => Datum::Null,
            Value::Bool(v) => Datum::Bool(*v),
            Value::Int2(v) => Datum::Int2(*v),
            Value::Int4(v) => Datum::Int4(*v),
            Value::Int8(v) => Datum::Int8(*v),
            Value::Date(v) => Datum::Date(*v),
            Value::Timestamp(v) => Datum::Timestamp(*v),
            Value::TimestampTz(v) => Datum::TimestampTz(*v),
            Value::Numeric(v) => {
                let (mantissa, scale) = v.as_short()?;
                Datum::Decimal(mantissa, scale)
            }
            _ => return None,
        })
    }

    /// True for NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// A value of its own.
    #[inline]
    pub fn to_value(self) -> Value {
        match self {
            Datum::Null => Value::Null,
            Datum::Bool(v) => Value::Bool(v),
            Datum::Int2(v) => Value::Int2(v),
            Datum::Int4(v) => Value::Int4(v),
            Datum::Int8(v) => Value::Int8(v),
            Datum::Decimal(mantissa, scale) => Value::Numeric(Numeric::from_short(mantissa, scale)),
            Datum::Text(v) => Value::Text(Str::from(v)),
            Datum::Date(v) => Value::Date(v),
            Datum::Timestamp(v) => Value::Timestamp(v),
            Datum::TimestampTz(v) => Value::TimestampTz(v),
            Datum::Lying(v) => v.clone(),
        }
    }

    /// Puts the value in the place of another, in the memory that one has, if it has some.
    #[inline]
    pub fn put_into(self, place: &mut Value) {
        match (self, place) {
            (Datum::Text(new), Value::Text(old)) => {
                match old.is_heap_allocated() && old.capacity() >= new.len() {
                    true => {
                        old.clear();
                        old.push_str(new);
                    }
                    // What is short lies in the value itself, and is quicker made than changed.
                    false => *old = Str::from(new),
                }
            }
            // Neither has anything to drop.
            (Datum::Int4(new), Value::Int4(old)) => *old = new,
            (Datum::Int8(new), Value::Int8(old)) => *old = new,
            (Datum::Decimal(mantissa, scale), Value::Numeric(old)) => {
                *old = Numeric::from_short(mantissa, scale);
            }
            (datum, place) => *place = datum.to_value(),
        }
    }

    /// Any integer, widened.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Datum::Int2(v) => Some(i64::from(*v)),
            Datum::Int4(v) => Some(i64::from(*v)),
            Datum::Int8(v) => Some(*v),
            _ => None,
        }
    }

    /// The order of two values of a type that are not NULL, as its comparison operators see it; `None` where it
    /// takes the values themselves to know.
    #[inline]
    pub fn order(&self, other: &Datum<'_>, ty: SqlType) -> Option<Ordering> {
        Some(match (self, other) {
            (Datum::Int4(a), Datum::Int4(b)) | (Datum::Date(a), Datum::Date(b)) => a.cmp(b),
            (Datum::Int8(a), Datum::Int8(b))
            | (Datum::Timestamp(a), Datum::Timestamp(b))
            | (Datum::TimestampTz(a), Datum::TimestampTz(b)) => a.cmp(b),
            (Datum::Int2(a), Datum::Int2(b)) => a.cmp(b),
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
            (Datum::Text(a), Datum::Text(b)) if ty == SqlType::Bpchar => {
                let cut = |text: &'_ str| text.trim_end_matches(' ').len();
                a.as_bytes()[..cut(a)].cmp(&b.as_bytes()[..cut(b)])
            }
            (Datum::Text(a), Datum::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Datum::Decimal(a, scale_a), Datum::Decimal(b, scale_b)) => {
                match scale_a.cmp(scale_b) {
                    Ordering::Equal => a.cmp(b),
                    Ordering::Less => scaled(*a, scale_b - scale_a)?.cmp(b),
                    Ordering::Greater => a.cmp(&scaled(*b, scale_a - scale_b)?),
                }
            }
            _ => return None,
        })
    }
}

/// What can be looked at as a [`Datum`].
pub trait AsDatum {
    /// See there.
    fn as_datum(&self) -> Datum<'_>;
}

impl AsDatum for Value {
    #[inline]
    fn as_datum(&self) -> Datum<'_> {
        Datum::of(self)
    }
}

impl AsDatum for &Value {
    #[inline]
    fn as_datum(&self) -> Datum<'_> {
        Datum::of(self)
    }
}

impl AsDatum for Datum<'_> {
    #[inline]
    fn as_datum(&self) -> Datum<'_> {
        *self
    }
}

/// A mantissa for a scale that is greater by so much.
#[inline]
fn scaled(mantissa: i64, by: u16) -> Option<i64> {
    mantissa.checked_mul(*POWERS.get(usize::from(by))?)
}

/// Sum of two short numerics; `None`: it is not short.
#[inline]
pub fn add(a: (i64, u16), b: (i64, u16)) -> Option<(i64, u16)> {
    Some(match a.1.cmp(&b.1) {
        Ordering::Equal => (a.0.checked_add(b.0)?, a.1),
        Ordering::Less => (scaled(a.0, b.1 - a.1)?.checked_add(b.0)?, b.1),
        Ordering::Greater => (a.0.checked_add(scaled(b.0, a.1 - b.1)?)?, a.1),
    })
}

/// Difference of two short numerics; `None`: it is not short.
#[inline]
pub fn subtract(a: (i64, u16), b: (i64, u16)) -> Option<(i64, u16)> {
    add(a, (b.0.checked_neg()?, b.1))
}

/// Product of two short numerics; `None`: it is not short.
#[inline]
pub fn multiply(a: (i64, u16), b: (i64, u16)) -> Option<(i64, u16)> {
    let scale = a.1 + b.1;
    let mantissa = a.0.checked_mul(b.0)?;
    (scale <= crate::numeric::SCALE_MAX).then_some((mantissa, scale))
}

/// A short numeric rounded to a scale, a half away from zero; `None`: it is not short, or takes longer.
#[inline]
pub fn round((mantissa, own): (i64, u16), scale: u16) -> Option<(i64, u16)> {
    if own <= scale {
        return Some((scaled(mantissa, scale - own)?, scale));
    }
    let power = *POWERS.get(usize::from(own - scale))?;
    let (quotient, rest) = (mantissa / power, mantissa % power);
    // The power is even, so a half is exact.
    let up = rest.unsigned_abs() >= power.unsigned_abs() / 2;
    Some((quotient + i64::from(up) * mantissa.signum(), scale))
}

/// A short numeric as a column of this precision and scale takes it; `None`: it does not fit, or takes longer.
#[inline]
pub fn fit(number: (i64, u16), precision: u16, scale: u16) -> Option<(i64, u16)> {
    let (mantissa, scale) = match number.1 == scale {
        true => number,
        false => round(number, scale)?,
    };
    // Beyond 18 digits every short mantissa fits.
    let bound = POWERS.get(usize::from(precision));
    bound
        .is_none_or(|bound| mantissa.unsigned_abs() < bound.unsigned_abs())
        .then_some((mantissa, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numerics_compute_as_numerics_do() {
        let seed = u64::from(std::process::id());
        println!("seed {seed}");
        let mut state = seed | 1;
        let mut below = |n: u64| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 24) % n
        };
        let long = |n: (i64, u16)| Numeric::from_short(n.0, n.1);
        let mut computed = 0;
        for _ in 0..20_000 {
            let mut number = || {
                let bits = below(63);
                let mantissa =
                    below(1 << bits.min(39)) as i64 * if bits > 39 { 1 << 20 } else { 1 };
                let sign = if below(2) == 0 { 1 } else { -1 };
                (sign * mantissa, below(12) as u16)
            };
            let (a, b) = (number(), number());
            let (scale, precision) = (below(12) as u16, 1 + below(24) as u16);
            let pairs = [
                (add(a, b), long(a).add(&long(b)).ok()),
                (subtract(a, b), long(a).sub(&long(b)).ok()),
                (multiply(a, b), long(a).mul(&long(b)).ok()),
                (round(a, scale), long(a).round(i32::from(scale)).ok()),
                (
                    fit(a, precision, scale),
                    long(a).apply_typmod(precision, scale as i16).ok(),
                ),
            ];
            for (place, (short, long)) in pairs.into_iter().enumerate() {
                let Some(short) = short else { continue };
                computed += 1;
                let long = long.expect("what is short is no error");
                assert_eq!(long.as_short(), Some(short), "{place} of {a:?} and {b:?}");
            }
            let left = Datum::Decimal(a.0, a.1);
            if let Some(order) = left.order(&Datum::Decimal(b.0, b.1), SqlType::Numeric) {
                assert_eq!(order, long(a).cmp(&long(b)), "{a:?} and {b:?}");
            }
        }
        assert!(computed > 50_000, "most of them are short: {computed}");
    }

    #[test]
    fn a_datum_is_the_value() {
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int2(-1),
            Value::Int4(7),
            Value::Int8(i64::MIN),
            Value::numeric(Numeric::from_short(-110, 2)),
            Value::numeric(Numeric::NAN),
            Value::text("a text that is longer than what lies inline"),
            Value::text(""),
            Value::Date(3),
            Value::Timestamp(4),
            Value::TimestampTz(5),
            Value::Float8(0.5),
        ];
        for value in &values {
            assert_eq!(Datum::of(value).to_value(), *value);
            for before in &values {
                let mut place = before.clone();
                Datum::of(value).put_into(&mut place);
                assert_eq!(place, *value, "in the place of {before:?}");
            }
        }
    }
}
