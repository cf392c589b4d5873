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

/// The element of an array where it lies; NULL if the array or the index is.
#[inline(always)]
fn element<'a>(both: &'a [Node; 2], scope: &Scope<'a>) -> Option<&'a Value> {
    let [array, index] = both;
    let array = match array {
        Node::Slot(slot) => scope.slots.get(*slot)?,
        array => match array.eval(scope)? {
            Datum::Lying(array) => array,
            _ => &Value::Null,
        },
    };
    let index = match index.int4(scope) {
        Some(index) => index.map(i64::from),
        None => index.eval(scope)?.as_i64(),
    };
    Some(index.map_or(&Value::Null, |index| element_at(array, index)))
}

/// The same of any type.
pub(super) fn element_datum<'a>(both: &'a [Node; 2], scope: &Scope<'a>) -> Option<Datum<'a>> {
    element(both, scope).map(Datum::of)
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
            Node::Element(both) => lying(element(both, scope)?),
            Node::Int4(math, both) => match (both[0].int4(scope)?, both[1].int4(scope)?) {
                (Some(a), Some(b)) => math.of(a, b).map(Some),
                _ => Some(None),
            },
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
            _ => match self.compute(scope)? {
                Datum::Int4(value) => Some(Some(value)),
                Datum::Null => Some(None),
                _ => None,
            },
        }
    }
}
