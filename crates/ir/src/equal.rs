//! Joins that are found by equal values: which they are, and by which expressions.
//!
//! Relies on: `plan` for frames. Promises: EXPLAIN and engines mean the same by a hash join; both sides of a pair
//! have one type. Does not: choose between this and looking rows up by a key: a plan that does so has an
//! inner side that looks at the outer frame.

use crate::expr::{CompareOp, Expr};
use crate::expressions::ranges;
use crate::plan::{Path, Plan};

/// An equality between the sides of a join: over the outer frame, and over the inner one.
pub type Pair<'p> = (&'p Expr, &'p Expr);

/// The equalities by which inner frames may be found, if they may: the inner side does not look at the outer
/// frame, which is `width` wide with all that stands before it. `on` is the join's condition.
pub fn hash_pairs<'p>(
    inner: &'p Plan,
    on: Option<&'p Expr>,
    width: usize,
) -> Option<Vec<Pair<'p>>> {
    let pairs = pairs_of(inner, on, width);
    (!pairs.is_empty() && !reads_by_outer(inner, width)).then_some(pairs)
}

/// `outer = inner` comparisons among what every joined frame must fulfil.
pub fn pairs_of<'p>(inner: &'p Plan, on: Option<&'p Expr>, width: usize) -> Vec<Pair<'p>> {
    let mut found = equalities(on, width);
    if let Plan::Scan(access) = inner {
        found.extend(equalities(access.filter.as_ref(), width));
    }
    found
}

/// The same among the parts of one condition.
pub fn equalities(condition: Option<&Expr>, width: usize) -> Vec<Pair<'_>> {
    let mut found = Vec::new();
    if let Some(condition) = condition {
        collect_equalities(condition, width, &mut found);
    }
    found
}

fn collect_equalities<'p>(condition: &'p Expr, width: usize, found: &mut Vec<Pair<'p>>) {
    match condition {
        Expr::And(parts) => parts
            .iter()
            .for_each(|part| collect_equalities(part, width, found)),
        Expr::Compare {
            op: CompareOp::Eq,
            left,
            right,
        } => {
            for (outer, inner) in [(left, right), (right, left)] {
                let mut columns = Vec::new();
                inner.collect_columns(&mut columns);
                let inside = !columns.is_empty() && columns.iter().all(|column| *column >= width);
                columns.clear();
                outer.collect_columns(&mut columns);
                let plain = !outer.has_subquery() && !inner.has_subquery();
                let outside = !columns.is_empty() && columns.iter().all(|column| *column < width);
                if inside && outside && plain {
                    found.push((outer, inner));
                    return;
                }
            }
        }
        _ => {}
    }
}

/// True if other inner rows are read for another outer row. The filter of a lone scan does not count.
pub fn reads_by_outer(inner: &Plan, width: usize) -> bool {
    match inner {
        Plan::Scan(access) => match &access.path {
            Path::Full => false,
            Path::Elements(_, sought) => (sought.iter()).any(|one| uses_below(&one.value, width)),
            Path::Primary(_) | Path::Index(..) => ranges(&access.path).iter().any(|range| {
                let bounds = range.lower.iter().chain(&range.upper);
                range
                    .equal
                    .iter()
                    .chain(bounds.map(|bound| &bound.value))
                    .any(|expr| uses_below(expr, width))
            }),
        },
        inner => plan_uses_below(inner, width),
    }
}

/// True if the expression looks at a frame column below `width`.
pub fn uses_below(expr: &Expr, width: usize) -> bool {
    let mut columns = Vec::new();
    expr.collect_columns(&mut columns);
    columns.iter().any(|column| *column < width)
}

/// True if some expression of the plan looks at a frame column below `width`.
fn plan_uses_below(plan: &Plan, width: usize) -> bool {
    let uses = |expr: &Expr| uses_below(expr, width);
    match plan {
        Plan::Values { rows, .. } => rows.iter().flatten().any(uses),
        Plan::Scan(access) => {
            access.filter.as_ref().is_some_and(uses) || reads_by_outer(plan, width)
        }
        Plan::Series {
            start, stop, step, ..
        } => [start, stop, step].into_iter().any(uses),
        Plan::Unnest { array } => uses(array),
        Plan::Call { arguments, .. } => arguments.iter().any(uses),
        // What stands in them begins at 0 again.
        Plan::Lateral { outer, .. } => outer.iter().any(uses),
        Plan::Lookup { values, .. } => values.iter().any(uses),
        Plan::Join {
            outer, inner, on, ..
        } => {
            on.as_ref().is_some_and(uses)
                || plan_uses_below(outer, width)
                || plan_uses_below(inner, width)
        }
        Plan::Filter { input, predicate } => uses(predicate) || plan_uses_below(input, width),
        Plan::Project { input, exprs } => exprs.iter().any(uses) || plan_uses_below(input, width),
        Plan::Aggregate {
            input, keys, calls, ..
        } => {
            keys.iter().any(uses)
                || calls.iter().any(|call| {
                    call.args.iter().chain(&call.filter).any(uses)
                        || call.order.iter().any(|key| uses(&key.expr))
                })
                || plan_uses_below(input, width)
        }
        Plan::Window {
            input,
            partition,
            order,
            calls,
        } => {
            partition.iter().any(uses)
                || order.iter().any(|key| uses(&key.expr))
                || calls
                    .iter()
                    .any(|call| call.exprs().chain(call.frame.offsets()).any(uses))
                || plan_uses_below(input, width)
        }
        Plan::Sort { input, keys, .. } => {
            keys.iter().any(|key| uses(&key.expr)) || plan_uses_below(input, width)
        }
        Plan::Limit { input, ties, .. } => {
            ties.iter().any(|key| uses(&key.expr)) || plan_uses_below(input, width)
        }
        Plan::Unique { input } | Plan::Hold { input } => plan_uses_below(input, width),
        // Locks are taken as rows come by; they must be asked for each time.
        Plan::Lock { .. } => true,
        Plan::With { first, then, .. } => {
            plan_uses_below(first, width) || plan_uses_below(then, width)
        }
        // What a turn gives must be read again in the next one.
        Plan::Given { turning, .. } => *turning,
        Plan::Append { inputs } => inputs.iter().any(|input| plan_uses_below(input, width)),
    }
}
