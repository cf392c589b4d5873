//! Ranges: all values from one bound to another.
//!
//! Relies on: [`Value::order`] for the order of what bounds them.  Promises: PostgreSQL's six range types: their one
//! form for the same values, their order, and what their operators give or refuse.  Does not: have ranges of types that
//! users name; know sets of several ranges (`multirange` does).
//!
//! A range whose values are whole numbers or days is kept with its lower bound included and its upper one excluded. A
//! range without values has no bounds.

mod ends;
mod stored;
#[cfg(test)]
pub(crate) mod tests;
mod text;

use crate::datetime;
use crate::error::{SqlError, SqlResult, SqlState};
use crate::types::SqlType;
use crate::value::Value;
use ends::End;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
pub(crate) use stored::{decode_key, encode_key, read_binary, write_binary};
pub(crate) use text::{read, without_empty, write};

/// Of which values a range is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum RangeKind {
    // The catalogue keeps their places.
    /// int4range
    Int4,
    /// int8range
    Int8,
    /// numrange
    Num,
    /// tsrange
    Ts,
    /// tstzrange
    TsTz,
    /// daterange
    Date,
}

impl RangeKind {
    /// Every kind.
    pub const ALL: [RangeKind; 6] = [
        RangeKind::Int4,
        RangeKind::Int8,
        RangeKind::Num,
        RangeKind::Ts,
        RangeKind::TsTz,
        RangeKind::Date,
    ];

    /// The type of its values.
    pub fn subtype(self) -> SqlType {
        match self {
            RangeKind::Int4 => SqlType::Int4,
            RangeKind::Int8 => SqlType::Int8,
            RangeKind::Num => SqlType::Numeric,
            RangeKind::Ts => SqlType::Timestamp,
            RangeKind::TsTz => SqlType::TimestampTz,
            RangeKind::Date => SqlType::Date,
        }
    }

    /// The value behind another; `None` if there is always one between, or the value has no place in their row.
    fn next(self, value: &Value) -> SqlResult<Option<Value>> {
        let out_of_range = || {
            let message = format!("{} out of range", self.subtype());
            SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
        };
        Ok(Some(match value {
            Value::Int4(v) => Value::Int4(v.checked_add(1).ok_or_else(out_of_range)?),
            Value::Int8(v) => Value::Int8(v.checked_add(1).ok_or_else(out_of_range)?),
            Value::Date(i32::MIN | i32::MAX) => return Ok(None),
            Value::Date(v) => Value::Date(datetime::check_date(i64::from(*v) + 1)?),
            _ => return Ok(None),
        }))
    }
}

/// Where a range begins or ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// Nowhere.
    Infinite,
    /// With this value.
    Included(Value),
    /// Next to this value.
    Excluded(Value),
}

impl Bound {
    /// The value, if there is one.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Bound::Infinite => None,
            Bound::Included(value) | Bound::Excluded(value) => Some(value),
        }
    }

    /// What lies beyond an end begins here, and what is before a beginning ends here.
    fn flipped(&self) -> Bound {
        match self {
            Bound::Infinite => Bound::Infinite,
            Bound::Included(value) => Bound::Excluded(value.clone()),
            Bound::Excluded(value) => Bound::Included(value.clone()),
        }
    }
}

/// A range.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    kind: RangeKind,
    /// Lower and upper; `None`: it has no values.
    bounds: Option<(Bound, Bound)>,
}

impl Range {
    /// The range without values.
    pub fn empty(kind: RangeKind) -> Range {
        Range { kind, bounds: None }
    }

    /// From a bound to another.
    ///
    /// # Errors
    /// `22000` if they are the wrong way round, `22003`, `22008` if a bound has no neighbour.
    pub fn new(kind: RangeKind, lower: Bound, upper: Bound) -> SqlResult<Range> {
        let bounds = in_order(lower, upper)?;
        let Some((lower, upper)) = bounds else {
            return Ok(Range::empty(kind));
        };
        let lower = match &lower {
            Bound::Excluded(value) => kind.next(value)?.map(Bound::Included),
            _ => None,
        }
        .unwrap_or(lower);
        let upper = match &upper {
            Bound::Included(value) => kind.next(value)?.map(Bound::Excluded),
            _ => None,
        }
        .unwrap_or(upper);
        let bounds = in_order(lower, upper)?;
        Ok(Range { kind, bounds })
    }

    /// Between bounds of ranges of this kind, which are as they should be, and in order if they hold something.
    fn between(&self, lower: &Bound, upper: &Bound) -> Range {
        Range {
            kind: self.kind,
            bounds: in_order(lower.clone(), upper.clone()).ok().flatten(),
        }
    }

    /// Of which values it is.
    pub fn kind(&self) -> RangeKind {
        self.kind
    }

    /// True if it has no values.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_none()
    }

    /// Where it begins and ends, if it has values.
    pub fn bounds(&self) -> Option<(&Bound, &Bound)> {
        self.bounds.as_ref().map(|(lower, upper)| (lower, upper))
    }

    fn ends(&self) -> Option<(End<'_>, End<'_>)> {
        self.bounds()
            .map(|(lower, upper)| (End::Lower(lower), End::Upper(upper)))
    }

    /// The order of PostgreSQL: the empty one first, then by lower bounds, then by upper ones.
    pub fn order(&self, other: &Range) -> Ordering {
        match (self.ends(), other.ends()) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some((a, b)), Some((c, d))) => a.order(c).then_with(|| b.order(d)),
        }
    }

    /// `@>` of a value.
    pub fn has(&self, value: &Value) -> bool {
        let only = Bound::Included(value.clone());
        self.ends().is_some_and(|(lower, upper)| {
            lower.order(End::Lower(&only)).is_le() && upper.order(End::Upper(&only)).is_ge()
        })
    }

    /// `@>`.
    pub fn contains(&self, other: &Range) -> bool {
        match (self.ends(), other.ends()) {
            (_, None) => true,
            (None, _) => false,
            (Some((a, b)), Some((c, d))) => a.order(c).is_le() && b.order(d).is_ge(),
        }
    }

    /// Whether something is so of the ends of two that have values.
    fn of_ends(&self, other: &Range, is: impl FnOnce([End; 2], [End; 2]) -> bool) -> bool {
        match (self.ends(), other.ends()) {
            (Some((a, b)), Some((c, d))) => is([a, b], [c, d]),
            _ => false,
        }
    }

    /// `&&`.
    pub fn overlaps(&self, other: &Range) -> bool {
        self.of_ends(other, |[a, b], [c, d]| {
            a.order(d).is_le() && c.order(b).is_le()
        })
    }

    /// `<<`.
    pub fn is_before(&self, other: &Range) -> bool {
        self.of_ends(other, |[_, b], [c, _]| b.order(c).is_lt())
    }

    /// `&<`.
    pub fn ends_no_later(&self, other: &Range) -> bool {
        self.of_ends(other, |[_, b], [_, d]| b.order(d).is_le())
    }

    /// `&>`.
    pub fn begins_no_earlier(&self, other: &Range) -> bool {
        self.of_ends(other, |[a, _], [c, _]| a.order(c).is_ge())
    }

    /// `-|-`.
    pub fn is_adjacent(&self, other: &Range) -> bool {
        self.of_ends(other, |[a, b], [c, d]| b.meets(c) || d.meets(a))
    }

    /// The smallest range with all values of both.
    pub fn merge(&self, other: &Range) -> Range {
        let (Some((a, b)), Some((c, d))) = (self.ends(), other.ends()) else {
            return match self.is_empty() {
                true => other.clone(),
                false => self.clone(),
            };
        };
        // Which of equal bounds it is shows in the digits of a number.
        let lower = if a.order(c).is_lt() { a } else { c };
        let upper = if b.order(d).is_gt() { b } else { d };
        self.between(lower.bound(), upper.bound())
    }

    /// `+`.
    ///
    /// # Errors
    /// `22000` if there is something between them.
    pub fn union(&self, other: &Range) -> SqlResult<Range> {
        let is_one =
            self.is_empty() || other.is_empty() || self.overlaps(other) || self.is_adjacent(other);
        match is_one {
            true => Ok(self.merge(other)),
            false => Err(not_contiguous("union")),
        }
    }

    /// `*`.
    pub fn intersection(&self, other: &Range) -> Range {
        let (Some((a, b)), Some((c, d))) = (self.ends(), other.ends()) else {
            return Range::empty(self.kind);
        };
        let lower = if a.order(c).is_ge() { a } else { c };
        let upper = if b.order(d).is_le() { b } else { d };
        self.between(lower.bound(), upper.bound())
    }

    /// What is before another, and what is behind it; either may have no values.
    pub(crate) fn around(&self, other: &Range) -> (Range, Range) {
        let (Some((a, b)), Some((c, d))) = (self.ends(), other.ends()) else {
            return (self.clone(), Range::empty(self.kind));
        };
        if !self.overlaps(other) {
            return match a.order(c).is_lt() {
                true => (self.clone(), Range::empty(self.kind)),
                false => (Range::empty(self.kind), self.clone()),
            };
        }
        let before = match a.order(c).is_lt() {
            true => self.between(a.bound(), &c.bound().flipped()),
            false => Range::empty(self.kind),
        };
        let behind = match b.order(d).is_gt() {
            true => self.between(&d.bound().flipped(), b.bound()),
            false => Range::empty(self.kind),
        };
        (before, behind)
    }

    /// `-`.
    ///
    /// # Errors
    /// `22000` if two ranges would be left.
    pub fn difference(&self, other: &Range) -> SqlResult<Range> {
        match self.around(other) {
            (before, behind) if behind.is_empty() => Ok(before),
            (before, behind) if before.is_empty() => Ok(behind),
            _ => Err(not_contiguous("difference")),
        }
    }

    /// Bytes that it takes beyond its own, roughly.
    pub fn bytes(&self) -> usize {
        size_of::<Range>() + 16
    }
}

fn not_contiguous(what: &str) -> SqlError {
    let message = format!("result of range {what} would not be contiguous");
    SqlError::new(SqlState::DATA_EXCEPTION, message)
}

/// The bounds, if there is anything between them.
fn in_order(lower: Bound, upper: Bound) -> SqlResult<Option<(Bound, Bound)>> {
    let order = match (lower.value(), upper.value()) {
        (Some(lower), Some(upper)) => lower.order(upper),
        _ => Ordering::Less,
    };
    match order {
        Ordering::Less => Ok(Some((lower, upper))),
        Ordering::Equal => Ok(match (&lower, &upper) {
            (Bound::Included(_), Bound::Included(_)) => Some((lower, upper)),
            _ => None,
        }),
        Ordering::Greater => Err(SqlError::new(
            SqlState::DATA_EXCEPTION,
            "range lower bound must be less than or equal to range upper bound",
        )),
    }
}
