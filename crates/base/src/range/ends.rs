//! The two ends of a range on one line with those of others.
//!
//! Relies on: nothing but the values.  Promises: an order in which a range lies from its lower end to its upper one, both
//! included: an end that leaves its value out is beside it.  Does not: know ranges without values.

use super::Bound;
use crate::value::Value;
use std::cmp::Ordering;

/// An end of a range.
#[derive(Clone, Copy)]
pub(crate) enum End<'a> {
    Lower(&'a Bound),
    Upper(&'a Bound),
}

impl<'a> End<'a> {
    pub(super) fn bound(self) -> &'a Bound {
        match self {
            End::Lower(bound) | End::Upper(bound) => bound,
        }
    }

    fn value(self) -> Option<&'a Value> {
        self.bound().value()
    }

    /// Where the line is left or entered without a value.
    fn outside(self) -> Ordering {
        match self {
            End::Lower(_) => Ordering::Less,
            End::Upper(_) => Ordering::Greater,
        }
    }

    /// On which side of its value it is.
    fn beside(self) -> Ordering {
        match (self, self.bound()) {
            (End::Lower(_), Bound::Excluded(_)) => Ordering::Greater,
            (End::Upper(_), Bound::Excluded(_)) => Ordering::Less,
            _ => Ordering::Equal,
        }
    }

    pub(crate) fn order(self, other: End) -> Ordering {
        match (self.value(), other.value()) {
            (None, None) => self.outside().cmp(&other.outside()),
            (None, Some(_)) => self.outside(),
            (Some(_), None) => other.outside().reverse(),
            (Some(a), Some(b)) => a.order(b).then_with(|| self.beside().cmp(&other.beside())),
        }
    }

    /// True if nothing is between an upper end and a lower one, nor in both. Of whole numbers and days the one is
    /// excluded and the other included, so that neighbours have the same value.
    pub(crate) fn meets(self, lower: End) -> bool {
        match (self.bound(), lower.bound()) {
            (Bound::Included(a), Bound::Excluded(b)) | (Bound::Excluded(a), Bound::Included(b)) => {
                a.order(b).is_eq()
            }
            _ => false,
        }
    }
}
