//! Subselects, views and WITH queries that are a part of the query around them.
//!
//! Relies on: `from` for leaves, `join` for what becomes of them.  Promises: the rows are those of the subselect's own plan; its tables and conditions
//! stand among those of the query around, so that a row of one is found by a key out of the other (`orders JOIN view ON view.id = orders.item`), and
//! LATERAL is no more than a condition. Does not: take apart what groups, sorts, limits, locks, or computes with what is not to be computed twice;
//! nor, on the optional side of an outer join, what gives more than columns: these become NULL, and an expression might not.

use crate::from::{From, Leaf, LeafKind, Source};
use crate::planner::Planner;
use crate::rewrite::{change_function, is_volatile, transform};
use quintet_ir::Expr;
use quintet_ir::expressions::uses_outer;
use quintet_ir::plan::Plan;

/// What has more leaves is joined by itself: what the order of a join costs to find grows with their number.
const LEAVES_MAX: usize = 8;

/// A query before its leaves are joined, over a logical frame that begins at 0.
#[derive(Debug)]
pub(crate) struct Parts {
    leaves: Vec<Leaf>,
    conditions: Vec<Expr>,
    exprs: Vec<Expr>,
}

impl Parts {
    /// Those of a query that does nothing but join, choose and compute; `None` if something stands against it.
    pub fn of(leaves: &[Leaf], conditions: &[Expr], exprs: &[Expr]) -> Option<Parts> {
        let plain = |expr: &Expr| !is_volatile(expr) && !expr.has_subquery();
        let fits = (1..=LEAVES_MAX).contains(&leaves.len())
            && exprs.iter().all(plain)
            && !conditions.iter().any(is_volatile);
        fits.then(|| Parts {
            leaves: leaves.to_vec(),
            conditions: conditions.to_vec(),
            exprs: exprs.to_vec(),
        })
    }

    /// Whether they may stand in the query at hand, `lateral` with what they are handed in the places where they look at it.
    pub fn fit(&self, planner: &Planner, lateral: bool) -> bool {
        let columns = || self.exprs.iter().all(|e| matches!(e, Expr::Column(..)));
        planner.locking.borrow().is_empty()
            && (planner.inlines.get() || columns())
            && (!lateral || self.leaves.iter().all(is_handed_openly))
    }

    /// Puts the leaves and conditions behind those that are there; what the columns are. `handed` to a LATERAL query.
    pub fn join_in(self, from: &mut From, handed: Option<&[Expr]>) -> Vec<Expr> {
        let by = from.width;
        let placed = |expr: &Expr| {
            transform(expr, &mut |part| match part {
                Expr::Column(place, ty) => Some(Expr::Column(place + by, *ty)),
                Expr::Outer(number, _) => handed.map(|handed| handed[*number].clone()),
                _ => None,
            })
        };
        let leaves = self.leaves.into_iter().map(|leaf| moved(leaf, by, &placed));
        from.leaves.extend(leaves);
        let ends = from.leaves.iter().map(|leaf| leaf.offset + leaf.width);
        from.width = ends.max().unwrap_or(by).max(by);
        from.conditions.extend(self.conditions.iter().map(placed));
        self.exprs.iter().map(placed).collect()
    }
}

/// True if a leaf looks at what is handed to the query in expressions alone that can be changed.
fn is_handed_openly(leaf: &Leaf) -> bool {
    match &leaf.source {
        Source::Table(_) => true,
        Source::Plan(plan) | Source::OneRow(plan) | Source::Keys(plan) => !uses_outer(plan),
        Source::Function(plan) => matches!(
            plan,
            Plan::Series { .. } | Plan::Unnest { .. } | Plan::Call { .. } | Plan::Lateral { .. }
        ),
        Source::Group(leaves, _) => leaves.iter().all(is_handed_openly),
    }
}

/// A leaf further behind, and without its name: nobody around the query knows it.
fn moved(leaf: Leaf, by: usize, placed: &dyn Fn(&Expr) -> Expr) -> Leaf {
    let all = |exprs: &[Expr]| exprs.iter().map(placed).collect::<Vec<Expr>>();
    Leaf {
        name: String::new(),
        source: match leaf.source {
            Source::Function(plan) => Source::Function(change_function(&plan, placed)),
            Source::Group(leaves, conditions) => {
                let leaves = leaves.into_iter().map(|leaf| moved(leaf, by, placed));
                Source::Group(leaves.collect(), all(&conditions))
            }
            source => source,
        },
        offset: leaf.offset + by,
        kind: match leaf.kind {
            LeafKind::Inner => LeafKind::Inner,
            LeafKind::Left(on) => LeafKind::Left(all(&on)),
        },
        security: all(&leaf.security),
        ..leaf
    }
}
