//! EXISTS and NOT EXISTS of many rows, as joins.
//!
//! Relies on: `subquery` for what is asked row by row, `pulled` for what a query is made of, `sizes` for how many rows there are.  Promises: the same
//! rows; where it costs less, the subquery's keys are found once and joined to all rows, in the place of a question for each:
//!
//! | written | leaf, of the distinct values of `key` | condition |
//! |---|---|---|
//! | `EXISTS (SELECT … WHERE key = outside AND …)` | joined | `key = outside` |
//! | `NOT EXISTS (…)` | left-joined on `key = outside` | `key IS NULL` |
//!
//! Does not: touch what is no condition of WHERE by itself, what looks outside by more than equalities, rows that a key leads to or of which few are
//! wanted, or routines, whose plans know no sizes. As nothing is known of how values are spread, a join is chosen
//! only if it cannot cost much more than reading the rows that ask, however few of them are left in the end.

use crate::access::Order;
use crate::from::{Leaf, LeafKind, Source};
use crate::join::{is_correlated, join, mark_needed};
use crate::planner::Planner;
use crate::pulled::Parts;
use crate::rewrite::{is_volatile, transform};
use crate::sizes::{KEEP, LOOK, READ, READS_RISKED, is_whole};
use quintet_base::SqlResult;
use quintet_base::types::TypeFamily;
use quintet_ir::expressions::each_node;
use quintet_ir::plan::Plan;
use quintet_ir::{CompareOp, Expr, Subquery, SubqueryForm};
use std::sync::Arc;

/// Fewer rows may ask one by one.
const ROWS_MIN: f64 = 1_000.0;

/// A subquery that is asked row by row, and what it is made of.
pub(crate) struct Asked {
    plan: Arc<Plan>,
    parts: Parts,
}

/// A condition that may be a join.
struct Candidate {
    /// Among the conditions.
    place: usize,
    negated: bool,
    /// The distinct keys.
    keys: Plan,
    /// What they equal, over the frame outside.
    outside: Vec<Expr>,
    /// Columns of `keys` that these are, in the same order.
    own: Vec<Expr>,
    /// Rows that are read for the keys, and how many of them there are.
    read: f64,
    rows: f64,
    /// What it costs to be asked once.
    ask: f64,
    /// No key leads to what is asked for.
    is_kept: bool,
}

/// Remembers what a subquery is made of, for when it is known how many rows ask.
pub(crate) fn note(planner: &Planner, asked: &Expr, parts: Option<Parts>) {
    if let (Expr::Subquery(subquery), Some(parts)) = (asked, parts)
        && planner.sizes.is_some()
    {
        let plan = Arc::clone(&subquery.plan);
        planner.asked.borrow_mut().push(Asked { plan, parts });
    }
}

/// Makes joins of the conditions for which that costs less. `limited`: not all rows are wanted.
pub(crate) fn settle(
    planner: &Planner,
    leaves: &mut Vec<Leaf>,
    conditions: &mut Vec<Expr>,
    order: Option<Order>,
    limited: bool,
) -> SqlResult<()> {
    let Some(sizes) = planner.sizes else {
        return Ok(());
    };
    let asked = planner.asked.borrow();
    let known = |condition: &Expr| {
        let (subquery, _) = exists(condition)?;
        asked
            .iter()
            .find(|one| Arc::ptr_eq(&one.plan, &subquery.plan))
    };
    if leaves.is_empty() || !conditions.iter().any(|one| known(one).is_some()) {
        return Ok(());
    }
    let rest = conditions.iter().filter(|one| known(one).is_none());
    let alone = join(leaves, rest.cloned().collect(), order, Some(sizes))?;
    let Some(read) = sizes.read(&alone.plan) else {
        return Ok(());
    };
    let mut rows = sizes.plan(&alone.plan);
    if alone.single || limited && alone.sorted || rows < ROWS_MIN {
        return Ok(());
    }
    let is_sure = is_whole(&alone.plan);
    let mut chosen = Vec::new();
    for (place, condition) in conditions.iter().enumerate() {
        let Some(found) = known(condition) else {
            continue;
        };
        let Some(candidate) = candidate(planner, place, condition, &found.parts)? else {
            continue;
        };
        // What is kept for the questions is read once in either way.
        let once = match candidate.is_kept {
            true => 0.0,
            false => candidate.read * READ + candidate.rows * KEEP,
        };
        let pays = once + rows * LOOK < rows * candidate.ask;
        if pays && (is_sure || once < READS_RISKED * read * READ) {
            rows = (rows / 2.0).max(1.0);
            chosen.push(candidate);
        }
    }
    for candidate in chosen.into_iter().rev() {
        conditions.remove(candidate.place);
        candidate.join_in(leaves, conditions);
    }
    Ok(())
}

/// The subquery of an EXISTS, and whether it is negated.
fn exists(condition: &Expr) -> Option<(&Subquery, bool)> {
    match condition {
        Expr::Subquery(subquery) if subquery.form == SubqueryForm::Exists => {
            Some((subquery, false))
        }
        Expr::Not(input) => exists(input).map(|(subquery, negated)| (subquery, !negated)),
        _ => None,
    }
}

/// What would be joined; `None` if more than equalities leads outside.
fn candidate(
    planner: &Planner,
    place: usize,
    condition: &Expr,
    parts: &Parts,
) -> SqlResult<Option<Candidate>> {
    let (Some(sizes), Some((subquery, negated))) = (planner.sizes, exists(condition)) else {
        return Ok(None);
    };
    let (leaves, conditions) = parts.joined();
    if is_correlated(leaves, &[]) {
        return Ok(None);
    }
    let (mut own, mut outside, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for condition in conditions {
        if !condition.uses_outer() {
            rest.push(condition.clone());
            continue;
        }
        let Some((inner, outer)) = pair(condition) else {
            return Ok(None);
        };
        own.push(inner.clone());
        outside.push(transform(outer, &mut |part| match part {
            Expr::Outer(number, _) => Some(subquery.outer[*number].clone()),
            _ => None,
        }));
    }
    if own.is_empty() {
        return Ok(None);
    }
    // Its own subqueries are asked by all of its rows, too.
    let mut leaves = leaves.to_vec();
    settle(planner, &mut leaves, &mut rest, None, false)?;
    let mut joined = join(&leaves, rest, None, Some(sizes))?;
    let exprs: Vec<Expr> = own.iter().map(|expr| joined.expr(expr)).collect();
    mark_needed(&mut joined.plan, &joined.used);
    let mut is_kept = false;
    each_node(&subquery.plan, &mut |node| {
        is_kept |= matches!(node, Plan::Lookup { .. });
    });
    let rows = sizes.plan(&joined.plan);
    let read = sizes.read(&joined.plan).unwrap_or(rows);
    let keys = Plan::Unique {
        input: Box::new(Plan::Project {
            input: Box::new(joined.plan),
            exprs,
        }),
    };
    Ok(Some(Candidate {
        place,
        negated,
        keys,
        outside,
        own,
        read,
        rows,
        ask: sizes.ask(&subquery.plan).0,
        is_kept,
    }))
}

/// The two sides of an equality of something inside with something outside.
fn pair(condition: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::Compare {
        op: CompareOp::Eq,
        left,
        right,
    } = condition
    else {
        return None;
    };
    let plain = |expr: &Expr| {
        !is_volatile(expr) && !expr.has_subquery() && expr.ty().family() != TypeFamily::Geometry
    };
    let sides = [(left, right), (right, left)].into_iter();
    let mut found = sides.filter(|(inside, outside)| {
        plain(inside)
            && plain(outside)
            && inside.uses_columns()
            && !inside.uses_outer()
            && outside.uses_outer()
            && !outside.uses_columns()
            && inside.ty() == outside.ty()
    });
    found
        .next()
        .map(|(inside, outside)| (&**inside, &**outside))
}

impl Candidate {
    fn join_in(self, leaves: &mut Vec<Leaf>, conditions: &mut Vec<Expr>) {
        let ends = leaves.iter().map(|leaf| leaf.offset + leaf.width);
        let offset = ends.max().unwrap_or_default();
        let types: Vec<_> = self.own.iter().map(Expr::ty).collect();
        let columns = types.iter().enumerate();
        let columns = columns.map(|(number, ty)| Expr::Column(offset + number, *ty));
        let pairs = columns.clone().zip(self.outside);
        let equal = pairs.map(|(column, outside)| Expr::Compare {
            op: CompareOp::Eq,
            left: Box::new(column),
            right: Box::new(outside),
        });
        let kind = match self.negated {
            true => {
                let kind = LeafKind::Left(equal.collect());
                conditions.extend(columns.take(1).map(|column| Expr::IsNull {
                    input: Box::new(column),
                    negated: false,
                }));
                kind
            }
            false => {
                conditions.extend(equal);
                LeafKind::Inner
            }
        };
        leaves.push(Leaf {
            name: String::new(),
            source: Source::Plan(self.keys),
            offset,
            width: types.len(),
            types,
            kind,
            security: Vec::new(),
            barrier: false,
        });
    }
}
