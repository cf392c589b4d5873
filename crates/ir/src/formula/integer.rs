//! Formulas of type int4, computed in a register.
//!
//! Relies on: `formula`.  Promises: what a formula gives as a datum, if that is an int4 or NULL, and nothing else.
//! Does not: know other types; theirs go through memory.
//!
//! Hot path: keys, counters and comparisons of most routines are made of these.

use super::{Math, Node, Scope, among};
use crate::function::element_at;
use quintet_base::Value;
use quintet_base::datum::Datum;

/// A value that lies somewhere, if it is an int4 or NULL.
#[inline(always)]
fn lying(value: &Value) -> Option<Option<i32>> {
    match value {
        Value::Int4(value) => Some(Some(*value)),
        Value::Null => Some(None),
        _ => None,
    }
}

/// The element of the array in a slot, where it lies; NULL if the array or the index is.
#[inline(always)]
pub(super) fn element<'a>(array: usize, index: &Node, scope: &Scope<'a>) -> Option<&'a Value> {
    let array = scope.slots.get(array)?;
    Some(match index.int4(scope)? {
        Some(index) => element_at(array, i64::from(index)),
        None => &Value::Null,
    })
}

impl Math {
    #[inline(always)]
    fn of(self, a: i32, b: i32) -> Option<i32> {
        match self {
            Math::Add => a.checked_add(b),
            Math::Subtract => a.checked_sub(b),
            Math::Multiply => a.checked_mul(b),
            Math::Divide => a.checked_div(b),
        }
    }
}

impl Node {
    /// See [`super::Formula::int4`].
    #[inline(always)]
    pub(super) fn int4(&self, scope: &Scope<'_>) -> Option<Option<i32>> {
        match self {
            Node::Slot(slot) => lying(scope.slots.get(*slot)?),
            Node::Column(number) => scope.row.as_ref()?.int4(*number),
            Node::Const(value) => lying(value),
            _ => self.compute_int4(scope),
        }
    }

    pub(super) fn compute_int4(&self, scope: &Scope<'_>) -> Option<Option<i32>> {
        match self {
            Node::Element(array, index) => lying(element(*array, index, scope)?),
            Node::Int4(math, both) => match (both[0].int4(scope)?, both[1].int4(scope)?) {
                (Some(a), Some(b)) => math.of(a, b).map(Some),
                _ => Some(None),
            },
            _ => self.chosen_int4(scope),
        }
    }

    /// Apart, so that what comes before needs few registers.
    fn chosen_int4(&self, scope: &Scope<'_>) -> Option<Option<i32>> {
        match self {
            Node::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    if condition.truth(scope)? == Some(true) {
                        return result.int4(scope);
                    }
                }
                otherwise.int4(scope)
            }
            Node::Switch(subject, results, otherwise) => match subject.eval(scope)? {
                Datum::Null => otherwise.int4(scope),
                subject => among(results, subject.as_i64()?, otherwise).int4(scope),
            },
            Node::Slot(_) | Node::Column(_) | Node::Const(_) => self.int4(scope),
            Node::Int4(..) | Node::Element(..) => self.compute_int4(scope),
            _ => match self.compute(scope)? {
                Datum::Int4(value) => Some(Some(value)),
                Datum::Null => Some(None),
                _ => None,
            },
        }
    }
}
