//! Subselects, views and WITH queries that are a part of the query around them.
//!
//! Relies on: `from` for leaves, `join` for what becomes of them.  Promises: the rows are those of the subselect's own plan; its tables and conditions
//! stand among those of the query around, so that a row of one is found by a key out of the other (`orders JOIN view ON view.id = orders.item`), and
//! LATERAL is no more than a condition. Does not: take apart what groups, sorts, limits, locks, or computes with what is not to be computed twice;
//! nor, on the optional side of an outer join, what gives something that does not become NULL when the columns do, if no column tells whether there is a row.

use crate::from::{From, Leaf, LeafKind, Source};
use crate::join::is_null;
use crate::planner::{Inlines, Planner};
use crate::rewrite::{change_function, is_volatile, transform};
use quintet_ir::Expr;
use quintet_ir::expressions::uses_outer;
use quintet_ir::plan::Plan;

/// What has more leaves is joined by itself: what the order of a join costs to find grows with their number.
const LEAVES_MAX: usize = 8;

/// What is made of more parts is computed once, below: where views stand in views, what is written twice in each would become too much to hold.
const EXPRESSION_PARTS_MAX: usize = 64;

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
        let plain = |expr: &Expr| {
            is_small(expr, &mut { EXPRESSION_PARTS_MAX })
                && !is_volatile(expr)
                && !expr.has_subquery()
        };
        let fits = (1..=LEAVES_MAX).contains(&leaves.len())
            && exprs.iter().all(plain)
            && !conditions.iter().any(is_volatile);
        fits.then(|| Parts {
            leaves: leaves.to_vec(),
            conditions: conditions.to_vec(),
            exprs: exprs.to_vec(),
        })
    }

    /// The leaves and what is asked of their rows.
    pub fn joined(&self) -> (&[Leaf], &[Expr]) {
        (&self.leaves, &self.conditions)
    }

    /// Makes them ready to stand in the query at hand, as `lateral` with what they are handed in the places where they look at it;
    /// `None` if they may not.
    pub fn fit(mut self, planner: &Planner, lateral: bool) -> Option<Parts> {
        if !planner.locking.borrow().is_empty()
            || lateral && !self.leaves.iter().all(is_handed_openly)
        {
            return None;
        }
        match planner.inlines.get() {
            Inlines::Nothing => return None,
            Inlines::Nullable => self.become_null()?,
            Inlines::Expressions => {}
        }
        Some(self)
    }

    /// Changes each column that is not NULL by itself where there is no row; `None` if that cannot be told.
    fn become_null(&mut self) -> Option<()> {
        let ends = self.leaves.iter().map(|leaf| leaf.offset + leaf.width);
        let places = 0..ends.max().unwrap_or_default();
        for expr in &mut self.exprs {
            if !is_null(expr, &places) {
                let there = Expr::IsNull {
                    input: Box::new(self.leaves.iter().find_map(never_null)?),
                    negated: true,
                };
                let ty = expr.ty();
                let value = std::mem::replace(expr, Expr::null(ty));
                *expr = Expr::Case {
                    branches: vec![(there, value)],
                    otherwise: None,
                    ty,
                };
            }
        }
        Some(())
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

/// A column of a table that has a value wherever there is a row.
fn never_null(leaf: &Leaf) -> Option<Expr> {
    let (Source::Table(table), LeafKind::Inner) = (&leaf.source, &leaf.kind) else {
        return None;
    };
    let key = table.primary_key.as_ref().map(|key| key.columns[0]);
    let place = key.or_else(|| table.rowid_column())?;
    Some(Expr::Column(leaf.offset + place, table.frame_type(place)))
}

/// True if an expression is made of no more parts than are left, which are counted down.
fn is_small(expr: &Expr, left: &mut usize) -> bool {
    let Some(less) = left.checked_sub(1) else {
        return false;
    };
    *left = less;
    let mut small = true;
    expr.for_each_part(&mut |part| small = small && is_small(part, left));
    small
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
