//! Conditions on a subselect or a view, asked where its rows come from.
//!
//! Relies on: a plan's frames (`ir::plan`). Promises: the same rows; a condition goes below something only if evaluating
//! it can fail for no row, for it meets rows there that would not have come out; a table that is read from one end
//! to the other is found by a key instead if a condition gives one. Does not: pass a LIMIT, a window, a lock, a
//! recursion or the optional side of an outer join.

use super::columns_of;
use crate::access;
use crate::expr::and;
use crate::from::{Leaf, LeafKind, Source, split};
use crate::rewrite::{is_volatile, move_columns, transform};
use quintet_ir::expressions::uses_outer;
use quintet_ir::plan::{Access, JoinKind, Path, Plan, Turns};
use quintet_ir::{CompareOp, Expr};
use std::ops::Range;

/// Moves conditions that look at one leaf only into its plan.
pub(super) fn push_all(leaves: &mut [Leaf], conditions: &mut Vec<Expr>) {
    for leaf in leaves {
        let places = leaf.offset..leaf.offset + leaf.width;
        let Source::Plan(plan) = &mut leaf.source else {
            continue;
        };
        if uses_outer(plan) {
            continue;
        }
        let into = (plan, leaf.barrier);
        match &mut leaf.kind {
            LeafKind::Inner => push_some(into, &places, conditions),
            LeafKind::Left(on) => push_some(into, &places, on),
        }
    }
}

fn push_some(
    (plan, barrier): (&mut Plan, bool),
    places: &Range<usize>,
    conditions: &mut Vec<Expr>,
) {
    conditions.retain(|condition| {
        let columns = columns_of(condition);
        let inside = !columns.is_empty() && columns.iter().all(|place| places.contains(place));
        let plain = !is_volatile(condition) && !condition.has_subquery() && !condition.uses_outer();
        if !inside || !plain || barrier && !never_fails(condition) {
            return true;
        }
        let moved = move_columns(condition, &|place| place - places.start);
        !push(plan, moved, 0)
    });
}

/// Asks a condition inside a plan whose frame begins at `base`; false, and nothing changed, if it cannot be.
fn push(plan: &mut Plan, condition: Expr, base: usize) -> bool {
    let columns = columns_of(&condition);
    match plan {
        Plan::Scan(access) => {
            ask(access, condition);
            true
        }
        Plan::Project { input, exprs } => {
            let Some(below) = through(&condition, exprs, base) else {
                return false;
            };
            if !(never_fails(&below) && push(input, below.clone(), base)) {
                let inside = std::mem::replace(input, Box::new(crate::rewrite::one_row()));
                **input = super::filter(*inside, below);
            }
            true
        }
        Plan::Filter { input, predicate } => {
            if !(never_fails(&condition) && push(input, condition.clone(), base)) {
                // Behind what was asked before: it may depend on that.
                let before = std::mem::replace(predicate, Expr::And(vec![]));
                *predicate = and(vec![before, condition]);
            }
            true
        }
        Plan::Join {
            outer,
            inner,
            outer_width,
            kind,
            on,
            ..
        } => {
            let middle = base + *outer_width;
            let (left, right) = (
                columns.iter().all(|&place| place < middle),
                columns.iter().all(|&place| place >= middle),
            );
            match kind {
                _ if !never_fails(&condition) => false,
                JoinKind::Inner if left => push_or_filter(outer, condition, base),
                JoinKind::Inner if right => push_or_filter(inner, condition, middle),
                JoinKind::Inner => {
                    let before = on.take();
                    *on = Some(and(before.into_iter().chain([condition]).collect()));
                    true
                }
                JoinKind::Left if left => push_or_filter(outer, condition, base),
                JoinKind::Left | JoinKind::Full => false,
            }
        }
        Plan::Aggregate {
            input, keys, sets, ..
        } => {
            let of_keys = columns
                .iter()
                .all(|place| (base..base + keys.len()).contains(place));
            // Without keys there is a row of no rows, too, which a condition below could not take away, not even a constant one.
            let below = match of_keys && !keys.is_empty() && sets.is_empty() {
                true => through(&condition, keys, base).filter(never_fails),
                false => None,
            };
            below.is_some_and(|below| push_or_filter(input, below, base))
        }
        Plan::Append { inputs } => {
            // All or none.
            let mut changed = inputs.clone();
            let each = |input: &mut Plan| push_or_filter(input, condition.clone(), base);
            let taken = never_fails(&condition) && changed.iter_mut().all(each);
            if taken {
                *inputs = changed;
            }
            taken
        }
        Plan::Unique { input }
        | Plan::Sort {
            input, top: None, ..
        } => never_fails(&condition) && push(input, condition, base),
        Plan::With {
            then,
            turns: Turns::Once,
            ..
        } => push(then, condition, base),
        _ => false,
    }
}

/// The same, with a filter on top of what takes no condition in.
fn push_or_filter(plan: &mut Plan, condition: Expr, base: usize) -> bool {
    if !push(plan, condition.clone(), base) {
        let inside = std::mem::replace(plan, crate::rewrite::one_row());
        *plan = super::filter(inside, condition);
    }
    true
}

/// A condition over what expressions make of a frame, over that frame; `None` if one of them must not be evaluated twice.
fn through(condition: &Expr, exprs: &[Expr], base: usize) -> Option<Expr> {
    let places = columns_of(condition);
    let plain = |place: &usize| {
        place
            .checked_sub(base)
            .and_then(|place| exprs.get(place))
            .is_some_and(|expr| !is_volatile(expr) && !expr.has_subquery())
    };
    places.iter().all(plain).then(|| {
        transform(condition, &mut |part| match part {
            Expr::Column(place, _) => Some(exprs[place - base].clone()),
            _ => None,
        })
    })
}

/// One more condition of a scan; a key if it gives one.
fn ask(access: &mut Access, condition: Expr) {
    let mut conditions = Vec::new();
    for one in access.filter.take().into_iter().chain([condition]) {
        split(one, &mut conditions);
    }
    if matches!(access.path, Path::Full) && !access.reverse {
        let borrowed: Vec<&Expr> = conditions.iter().collect();
        let choice = access::choose(&access.table, access.offset, &borrowed, &|_| false, None);
        access.path = choice.path;
        let mut number = 0;
        conditions.retain(|_| {
            number += 1;
            !choice.taken.contains(&(number - 1))
        });
    }
    access.filter = (!conditions.is_empty()).then(|| and(conditions));
}

/// True if evaluating the condition gives a value for every row.
pub(super) fn never_fails(condition: &Expr) -> bool {
    let is_leaf =
        |expr: &Expr| matches!(expr, Expr::Column(..) | Expr::Const(..) | Expr::Param(..));
    match condition {
        Expr::And(parts) | Expr::Or(parts) => parts.iter().all(never_fails),
        Expr::Not(input) => never_fails(input),
        Expr::Compare { left, right, .. } | Expr::Distinct { left, right, .. } => {
            is_leaf(left) && is_leaf(right)
        }
        Expr::IsNull { input, .. } => is_leaf(input),
        Expr::IsTruth { input, .. } => is_leaf(input) || never_fails(input),
        Expr::InList { input, list, .. } => is_leaf(input) && list.iter().all(is_leaf),
        Expr::Quantified {
            input,
            op: CompareOp::Eq | CompareOp::Ne,
            array,
            ..
        } => is_leaf(input) && is_leaf(array),
        Expr::Call { function, args, .. } => {
            let is_pattern = matches!(function.name, "~~" | "!~~" | "^@" | "starts_with");
            // With an escape it may be malformed.
            let well_formed = |pattern: &Expr| match pattern {
                Expr::Const(value, _) => value.as_str().is_some_and(|text| !text.contains('\\')),
                _ => false,
            };
            is_pattern && args.get(1).is_some_and(well_formed) && args.iter().all(is_leaf)
        }
        other => is_leaf(other),
    }
}
