//! Outer joins that are inner joins: where a condition above lets no row through that has NULLs for one side.
//!
//! Relies on: conditions split at AND.  Promises: the same rows (`a LEFT JOIN b ON p WHERE b.x = 5` is `a JOIN b ON p WHERE b.x = 5`), and with
//! the join inner, what is asked of either side may lead to the other. One that is found so may show it of others: its own conditions are
//! asked of all rows from then on. Does not: look into full joins, or at what a routine or a subquery makes of NULL.

use crate::from::{Leaf, LeafKind, Source};
use quintet_ir::Expr;
use quintet_ir::expr::Truth;
use std::ops::Range;

/// Makes inner joins of the outer ones that are. Their conditions are among those of all from then on, and the leaves of a side
/// of several among all leaves.
pub(super) fn reduce(leaves: &mut Vec<Leaf>, conditions: &mut Vec<Expr>) {
    while let Some(at) = leaves.iter().position(|leaf| is_inner(leaf, conditions)) {
        let leaf = &mut leaves[at];
        if let LeafKind::Left(on) = std::mem::replace(&mut leaf.kind, LeafKind::Inner) {
            conditions.extend(on);
        }
        if let Source::Group(inside, asked) = &mut leaf.source {
            conditions.append(asked);
            let inside = std::mem::take(inside);
            leaves.splice(at..=at, inside);
        }
    }
}

/// True of an outer join whose rows with NULLs some condition refuses.
fn is_inner(leaf: &Leaf, conditions: &[Expr]) -> bool {
    let own = leaf.offset..leaf.offset + leaf.width;
    matches!(leaf.kind, LeafKind::Left(_)) && conditions.iter().any(|one| refuses(one, &own))
}

/// True if a condition is not true of any row that has NULL in all of these places.
fn refuses(condition: &Expr, places: &Range<usize>) -> bool {
    match condition {
        Expr::And(parts) => parts.iter().any(|part| refuses(part, places)),
        Expr::Or(parts) => parts.iter().all(|part| refuses(part, places)),
        Expr::IsNull {
            input,
            negated: true,
        } => is_null(input, places),
        Expr::IsTruth {
            input,
            truth: Truth::True | Truth::False,
            negated: false,
        } => is_null(input, places),
        condition => is_null(condition, places),
    }
}

/// True if an expression is NULL whenever all of these places are.
pub(crate) fn is_null(expr: &Expr, places: &Range<usize>) -> bool {
    match expr {
        Expr::Column(place, _) => places.contains(place),
        Expr::Cast { input, .. } | Expr::Not(input) | Expr::InList { input, .. } => {
            is_null(input, places)
        }
        Expr::Compare { left, right, .. } => is_null(left, places) || is_null(right, places),
        Expr::Call { function, args, .. } => {
            function.strict && args.iter().any(|arg| is_null(arg, places))
        }
        _ => false,
    }
}
