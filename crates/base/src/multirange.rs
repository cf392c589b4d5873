//! Sets of values as ranges that neither overlap nor touch.
//!
//! Relies on: `range`.  Promises: PostgreSQL's six multirange types: one form for the same values, their order, and what
//! their operators give.  Does not: know operators beside ranges that are operators of one range; those make a set of it.

mod stored;
#[cfg(test)]
mod tests;
mod text;

use crate::range::{Range, RangeKind};
use crate::value::Value;
use std::cmp::Ordering;
pub(crate) use stored::{decode_key, encode_key, read_binary, write_binary};
pub(crate) use text::{read, write};

/// A set.
#[derive(Clone, Debug, PartialEq)]
pub struct Multirange {
    kind: RangeKind,
    /// In order; none is empty, overlaps another, or touches it.
    ranges: Vec<Range>,
}

impl Multirange {
    /// All values of ranges of one kind.
    pub fn new(kind: RangeKind, mut ranges: Vec<Range>) -> Multirange {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by(Range::order);
        let mut apart: Vec<Range> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match apart.last_mut() {
                Some(last) if last.overlaps(&range) || last.is_adjacent(&range) => {
                    *last = last.merge(&range);
                }
                _ => apart.push(range),
            }
        }
        Multirange {
            kind,
            ranges: apart,
        }
    }

    /// Of which values it is.
    pub fn kind(&self) -> RangeKind {
        self.kind
    }

    /// The ranges, in order.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// True if it has no values.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The smallest range with all its values.
    pub fn hull(&self) -> Range {
        match (self.ranges.first(), self.ranges.last()) {
            (Some(first), Some(last)) => first.merge(last),
            _ => Range::empty(self.kind),
        }
    }

    /// The order of PostgreSQL: by ranges, and what begins another is below it.
    pub fn order(&self, other: &Multirange) -> Ordering {
        let both = self.ranges.iter().zip(&other.ranges);
        let mut orders = both.map(|(a, b)| a.order(b));
        orders
            .find(|order| order.is_ne())
            .unwrap_or_else(|| self.ranges.len().cmp(&other.ranges.len()))
    }

    /// `@>` of a value.
    pub fn has(&self, value: &Value) -> bool {
        self.ranges.iter().any(|range| range.has(value))
    }

    /// `@>` of a range.
    pub fn contains_range(&self, other: &Range) -> bool {
        other.is_empty() || self.ranges.iter().any(|range| range.contains(other))
    }

    /// `@>`.
    pub fn contains(&self, other: &Multirange) -> bool {
        other.ranges.iter().all(|range| self.contains_range(range))
    }

    /// `&&`.
    pub fn overlaps(&self, other: &Multirange) -> bool {
        let meets = |range: &Range| other.ranges.iter().any(|other| range.overlaps(other));
        self.ranges.iter().any(meets)
    }

    /// `-|-`.
    pub fn is_adjacent(&self, other: &Multirange) -> bool {
        let (a, b) = (self.hull(), other.hull());
        a.is_adjacent(&b)
    }

    /// `+`.
    pub fn union(&self, other: &Multirange) -> Multirange {
        Multirange::new(self.kind, [&self.ranges[..], &other.ranges].concat())
    }

    /// `*`.
    pub fn intersection(&self, other: &Multirange) -> Multirange {
        let mut shared = Vec::new();
        let mut others = other.ranges.as_slice();
        for range in &self.ranges {
            while let Some((first, rest)) = others.split_first()
                && first.is_before(range)
            {
                others = rest;
            }
            let meets = others.iter().take_while(|other| !range.is_before(other));
            shared.extend(meets.map(|other| range.intersection(other)));
        }
        Multirange::new(self.kind, shared)
    }

    /// `-`.
    pub fn difference(&self, other: &Multirange) -> Multirange {
        let mut left = Vec::new();
        let mut others = other.ranges.as_slice();
        for range in &self.ranges {
            while let Some((first, rest)) = others.split_first()
                && first.is_before(range)
            {
                others = rest;
            }
            let mut rest = range.clone();
            for taken in others.iter().take_while(|other| !range.is_before(other)) {
                let (before, behind) = rest.around(taken);
                left.push(before);
                rest = behind;
            }
            left.push(rest);
        }
        Multirange::new(self.kind, left)
    }

    /// Bytes that it takes beyond its own, roughly.
    pub fn bytes(&self) -> usize {
        size_of::<Multirange>() + self.ranges.iter().map(Range::bytes).sum::<usize>()
    }
}

impl From<&Range> for Multirange {
    fn from(range: &Range) -> Multirange {
        Multirange::new(range.kind(), vec![range.clone()])
    }
}
