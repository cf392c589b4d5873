//! Elements of arrays that a loop's turns look at again and again.
//!
//! Relies on: operations say which slots they write to (`writes`); reading an element has no effect and cannot fail.  Promises: a formula
//! sees what it saw.  Does not: change expressions, which are there where a formula gives nothing; keep what is not short.
//!
//! ```text
//!   FOR i IN 1..n LOOP                     0  begin integers
//!     UPDATE stock … quantities[i] …       1  next integer: i, and $9 := quantities[i]
//!     INSERT … quantities[i] …             2  … formulas look at $9
//! ```
//! `$9` lies behind the routine's own slots. Of an array that the loop's body writes to, or with a variable that it writes to, nothing is kept.

use super::writes::written;
use super::{KeptElement, Operation};
use crate::formula::Formula;
use crate::routine::Routine;
use quintet_base::SqlType;
use std::collections::{BTreeMap, BTreeSet};

/// Fewer looks in a turn are not worth it.
const LOOKS_MIN: usize = 2;

/// Gives each loop over integers the elements that its formulas look at more than once in a turn. Returns how many
/// places there are, with those of the routine's slots.
pub(super) fn keep_elements(routine: &Routine, operations: &mut [Operation]) -> usize {
    let mut places = routine.slots.len();
    for at in 0..operations.len() {
        let Operation::NextInteger { slot, end, .. } = &operations[at] else {
            continue;
        };
        let (index, end) = (*slot, *end);
        let body = &mut operations[at + 1..end];
        let changed: BTreeSet<usize> = body.iter().flat_map(written).chain(routine.found).collect();
        if changed.contains(&index) {
            continue;
        }
        let mut looks: BTreeMap<usize, usize> = BTreeMap::new();
        let mut count = |array: usize, at: usize| {
            let is_short = routine.slots[array].ty.element().is_some_and(is_short);
            if at == index && is_short && !changed.contains(&array) {
                *looks.entry(array).or_default() += 1;
            }
            None
        };
        let mut each = |formula: &mut Formula| formula.keep_elements(&mut count);
        body.iter_mut().for_each(|o| each_formula(o, &mut each));
        let arrays = looks.into_iter().filter(|(_, looks)| *looks >= LOOKS_MIN);
        let kept: BTreeMap<usize, usize> = arrays.map(|(array, _)| array).zip(places..).collect();
        let mut keep = |array: usize, at: usize| match at == index {
            true => kept.get(&array).copied(),
            false => None,
        };
        let mut each = |formula: &mut Formula| formula.keep_elements(&mut keep);
        body.iter_mut().for_each(|o| each_formula(o, &mut each));
        places += kept.len();
        if let Operation::NextInteger { elements, .. } = &mut operations[at] {
            let kept = kept.into_iter();
            *elements = kept
                .map(|(array, place)| KeptElement { array, place })
                .collect();
        }
    }
    places
}

/// Values that are copied in a few instructions.
fn is_short(ty: SqlType) -> bool {
    use SqlType::{Bool, Date, Int2, Int4, Int8, Timestamp, TimestampTz};
    matches!(
        ty,
        Bool | Int2 | Int4 | Int8 | Date | Timestamp | TimestampTz
    )
}

/// Shows the formulas of an operation that are computed over slots as they are when it runs.
fn each_formula(operation: &mut Operation, see: &mut dyn FnMut(&mut Formula)) {
    match operation {
        Operation::Assign { value, .. } | Operation::Unless(value, _) => {
            value.formula.iter_mut().for_each(see);
        }
        Operation::Return(row) => {
            let formulas = row.iter_mut().filter_map(|value| value.formula.as_mut());
            formulas.for_each(see);
        }
        Operation::Run {
            flat: Some(flat), ..
        } => flat.point.each_formula_mut(see),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Code, KeptElement, Operation};
    use crate::expr::Expr;
    use crate::function;
    use crate::routine::{Action, Output, Routine, Slot, Step};
    use quintet_base::{SqlType, Value};

    fn call(name: &str, args: Vec<Expr>) -> Expr {
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let resolved = function::resolve(name, &types).expect("it is there");
        Expr::Call {
            function: resolved.function,
            args,
            ty: resolved.result,
        }
    }

    fn int(slot: usize) -> Expr {
        Expr::Param(slot, SqlType::Int4)
    }

    fn element(array: usize, index: usize) -> Expr {
        let array = Expr::Param(array, SqlType::Int4Array);
        call("[]", vec![array, int(index)])
    }

    fn set(slot: usize, value: Expr) -> Action {
        Action::Assign { slot, value }
    }

    fn steps(body: Vec<Action>) -> Vec<Step> {
        let step = |action| Step {
            line: 0,
            needs: None,
            action,
        };
        body.into_iter().map(step).collect()
    }

    fn turns(slot: usize, body: Vec<Action>) -> Action {
        let one = || Expr::Const(Value::Int4(1), SqlType::Int4);
        Action::ForInteger {
            slot,
            lower: one(),
            upper: one(),
            step: one(),
            reverse: false,
            body: steps(body),
        }
    }

    /// What the loops of a routine keep: slots 0 and 1 are arrays, 2 and 3 integers that loops count, 4 another.
    fn kept(body: Vec<Action>) -> (Vec<Vec<KeptElement>>, usize) {
        let types = [
            SqlType::Int4Array,
            SqlType::Int4Array,
            SqlType::Int4,
            SqlType::Int4,
            SqlType::Int4,
        ];
        let slot = |ty| Slot {
            name: "v".into(),
            ty,
            not_null: false,
        };
        let code = Code::new(&Routine {
            name: "r".into(),
            slots: types.map(slot).into(),
            arguments: 2,
            strict: false,
            guise: None,
            found: None,
            body: steps(body),
            output: Output::Nothing,
        });
        let elements = code.operations.iter().filter_map(|o| match o {
            Operation::NextInteger { elements, .. } => Some(elements.clone()),
            _ => None,
        });
        (elements.collect(), code.places)
    }

    #[test]
    fn elements_that_a_turn_looks_at_twice_are_kept_unless_it_changes_them() {
        let twice = |array, index| {
            set(
                4,
                call("+", vec![element(array, index), element(array, index)]),
            )
        };
        let at = |array, place| KeptElement { array, place };
        assert_eq!(
            kept(vec![turns(2, vec![twice(0, 2)])]),
            (vec![vec![at(0, 5)]], 6)
        );
        // Once; at another variable; in no loop.
        let body = vec![set(4, element(0, 2)), twice(1, 4)];
        assert_eq!(kept(vec![turns(2, body), twice(0, 2)]), (vec![vec![]], 5));
        // The body writes to the array, or to the variable.
        let write = Action::AssignElement {
            slot: 0,
            index: int(4),
            value: int(4),
        };
        assert_eq!(
            kept(vec![turns(2, vec![twice(0, 2), write.clone()])]),
            (vec![vec![]], 5)
        );
        assert_eq!(
            kept(vec![turns(2, vec![twice(0, 2), set(2, int(4))])]),
            (vec![vec![]], 5)
        );
        // Outside of the loop it may.
        assert_eq!(
            kept(vec![write, turns(2, vec![twice(0, 2)])]),
            (vec![vec![at(0, 5)]], 6)
        );
        // A loop in a loop keeps its own, and counts as a look of the other.
        let inner = turns(3, vec![twice(1, 3), set(4, element(0, 2))]);
        let outer = turns(2, vec![set(4, element(0, 2)), inner]);
        assert_eq!(kept(vec![outer]), (vec![vec![at(0, 5)], vec![at(1, 6)]], 7));
        let counts = turns(2, vec![twice(0, 2), turns(2, vec![])]);
        assert_eq!(kept(vec![counts]), (vec![vec![], vec![]], 5));
    }
}
