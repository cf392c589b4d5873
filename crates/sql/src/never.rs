//! Conditions that no row fulfils, and the plans of nothing that come of them.
//!
//! Relies on: `ir::fold`.  Promises: what is known before any row is read is decided here: parts of a condition that are
//! always true are gone, and where one is never true nothing is read (`WHERE 1 = 0`, as tools ask for the columns of a query). A query that
//! changes rows is no part of it. Does not: know what rows a table has, or what parameters will be.

use crate::from::{Leaf, LeafKind, Source, split};
use quintet_base::{SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::fold::fold;
use quintet_ir::plan::{JoinKind, Plan};

/// The conditions without what is always true; the constant alone if one of them is never true.
pub(crate) fn decided(conditions: Vec<Expr>) -> Vec<Expr> {
    let mut left = Vec::with_capacity(conditions.len());
    for condition in conditions {
        match fold(condition) {
            Expr::Const(value, _) if value.as_bool() == Some(true) => {}
            condition => split(condition, &mut left),
        }
    }
    match left.iter().any(is_never) {
        true => vec![never()],
        false => left,
    }
}

/// FALSE.
pub(crate) fn never() -> Expr {
    Expr::Const(Value::Bool(false), SqlType::Bool)
}

/// FALSE or NULL.
pub(crate) fn is_never(condition: &Expr) -> bool {
    matches!(condition, Expr::Const(value, _) if value.as_bool() != Some(true))
}

/// No rows of these types.
pub(crate) fn nothing(types: Vec<SqlType>) -> Plan {
    Plan::Values {
        rows: Vec::new(),
        types,
    }
}

/// Decides the conditions of leaves, and once more those that all rows fulfil; false: their join has no rows.
pub(crate) fn decide(leaves: &mut [Leaf], conditions: &mut Vec<Expr>) -> bool {
    *conditions = decided(std::mem::take(conditions));
    !conditions.iter().any(is_never) && leaves.iter_mut().all(may_have_rows)
}

/// Decides a leaf's own conditions; false if its join to anything has no rows. One that is optional and has none is nothing.
fn may_have_rows(leaf: &mut Leaf) -> bool {
    leaf.security = decided(std::mem::take(&mut leaf.security));
    let mut empty = leaf.security.iter().any(is_never) || has_nothing(&mut leaf.source);
    if let LeafKind::Left(on) = &mut leaf.kind {
        *on = decided(std::mem::take(on));
        empty |= on.iter().any(is_never);
        if empty {
            *on = Vec::new();
            leaf.source = Source::Plan(nothing(leaf.types.clone()));
            leaf.security = Vec::new();
        }
        return true;
    }
    !empty
}

fn has_nothing(source: &mut Source) -> bool {
    match source {
        Source::Table(_) => false,
        Source::Plan(plan) | Source::OneRow(plan) | Source::Keys(plan) | Source::Function(plan) => {
            is_nothing(plan)
        }
        Source::Group(inside, conditions) => !decide(inside, conditions),
    }
}

/// True if a plan gives no rows, whatever there is.
pub(crate) fn is_nothing(plan: &Plan) -> bool {
    match plan {
        Plan::Values { rows, .. } => rows.is_empty(),
        Plan::Filter { input, predicate } => is_never(predicate) || is_nothing(input),
        Plan::Lateral { input, .. }
        | Plan::Lookup { input, .. }
        | Plan::Project { input, .. }
        | Plan::Window { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Unique { input }
        | Plan::Limit { input, .. }
        | Plan::Lock { input, .. } => is_nothing(input),
        // Without keys there is a row of no rows.
        Plan::Aggregate {
            input, keys, sets, ..
        } => !keys.is_empty() && sets.is_empty() && is_nothing(input),
        Plan::Join {
            outer, inner, kind, ..
        } => match kind {
            JoinKind::Inner => is_nothing(outer) || is_nothing(inner),
            JoinKind::Left => is_nothing(outer),
            JoinKind::Full => is_nothing(outer) && is_nothing(inner),
        },
        Plan::Append { inputs } => inputs.iter().all(is_nothing),
        // What is run first may leave a trace.
        Plan::With { .. } | Plan::Hold { .. } => false,
        Plan::Scan(_)
        | Plan::Series { .. }
        | Plan::Unnest { .. }
        | Plan::Call { .. }
        | Plan::Given { .. } => false,
    }
}
