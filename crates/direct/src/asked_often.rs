//! Subqueries that many rows ask, by a key that these hand over.
//!
//! Relies on: `Access::kept_after`, which says from when on a table is worth keeping; `Plan::Lookup`, which keeps it.  Promises: the same rows, in another
//! order within one answer; a plan whose rows come in the order of a key that somebody wants has no such number.  Does not: count
//! who asks, or keep anything.
//!
//! ```text
//!   … Index Scan (key = @0)   ──►   … Hash Lookup (key = @0) over all rows
//! ```

use quintet_ir::expressions::uses_outer;
use quintet_ir::plan::Whole;
use quintet_ir::{Expr, Plan};

/// The plan with its first table kept by what is handed over; `None` where that cannot be.
pub(crate) fn turned(plan: &Plan) -> Option<Plan> {
    let mut turned = plan.clone();
    let place = first_of(&mut turned)?;
    let Plan::Scan(access) = &*place else {
        return None;
    };
    let Whole {
        mut access,
        outside,
        own,
    } = access.whole().filter(|whole| whole.access.offset == 0)?;
    if outside.iter().any(Expr::uses_columns) {
        return None;
    }
    let mut asked = Vec::new();
    if let Some(filter) = access.filter.take() {
        let parts = match filter {
            Expr::And(parts) => parts,
            filter => vec![filter],
        };
        let (later, kept): (Vec<Expr>, Vec<Expr>) = parts.into_iter().partition(Expr::uses_outer);
        access.filter = all_of(kept);
        asked = later;
    }
    let input = Plan::Scan(access);
    if uses_outer(&input) {
        return None;
    }
    let lookup = Plan::Lookup {
        input: Box::new(input),
        keys: own,
        values: outside,
    };
    *place = match all_of(asked) {
        Some(predicate) => Plan::Filter {
            input: Box::new(lookup),
            predicate,
        },
        None => lookup,
    };
    Some(turned)
}

/// The input of the lookup that a turned plan begins with.
pub(crate) fn kept_input(plan: &Plan) -> Option<&Plan> {
    match plan {
        Plan::Lookup { input, .. } => Some(input),
        plan => kept_input(plan.driving()?),
    }
}

fn all_of(mut parts: Vec<Expr>) -> Option<Expr> {
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(Expr::And(parts)),
    }
}

/// What is read first, as [`Plan::driving`] leads there.
fn first_of(plan: &mut Plan) -> Option<&mut Plan> {
    match plan {
        Plan::Scan(_) => Some(plan),
        Plan::Join { outer: input, .. }
        | Plan::Filter { input, .. }
        | Plan::Project { input, .. }
        | Plan::Aggregate { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Unique { input }
        | Plan::Limit { input, .. } => first_of(input),
        _ => None,
    }
}
