//! The optional side of an outer join that consists of several leaves.
//!
//! Relies on: `State`, which places the leaves of the side as those of a query.  Promises: the side is joined by keys
//! from what it is joined to if one of its tables has one there, row by row; else it is joined by itself, so that
//! its rows can be kept and found by their values.  Does not: move the side's leaves among others.

use super::{NOWHERE, State};
use crate::expr::and;
use crate::from::{Leaf, LeafKind, Source};
use quintet_base::SqlResult;
use quintet_ir::Expr;
use quintet_ir::plan::Plan;
use std::collections::BTreeSet;

impl State<'_> {
    /// The plan of a side's leaves under its conditions. `on` are those of the outer join; those that stay have
    /// to be asked at the join.
    pub(super) fn place_group(
        &mut self,
        leaf: &Leaf,
        (leaves, inside): (&[Leaf], &[Expr]),
        on: &mut Vec<Expr>,
    ) -> SqlResult<Plan> {
        let by_key = !leaf.looks_at().is_empty() || self.has_key(leaves, inside, on);
        let mut map = match by_key {
            true => self.map.clone(),
            false => vec![NOWHERE; self.map.len()],
        };
        let places = leaf.offset..leaf.offset + leaf.width;
        map[places.clone()].fill(NOWHERE);
        let mut pool: Vec<Option<Expr>> = inside.iter().cloned().map(Some).collect();
        if by_key {
            pool.extend(std::mem::take(on).into_iter().map(Some));
        }
        let mut state = State {
            leaves,
            correlated: self.correlated,
            pool,
            map,
            base: self.width,
            width: self.width,
            plan: None,
            used: BTreeSet::new(),
            sorted: true,
            single: true,
            sizes: None,
            defers: false,
        };
        state.place_all(None)?;
        let rest: Vec<Expr> = state.pool.iter_mut().filter_map(Option::take).collect();
        let mut plan = state.plan.take().unwrap_or_else(crate::rewrite::one_row);
        if !rest.is_empty() {
            let predicate = state.moved(&and(rest));
            plan = super::filter(plan, predicate);
        }
        self.map[places.clone()].copy_from_slice(&state.map[places]);
        self.used.extend(state.used);
        Ok(plan)
    }

    /// True if a table of the side is found by a key from what it is joined to.
    fn has_key(&self, leaves: &[Leaf], inside: &[Expr], on: &[Expr]) -> bool {
        let conditions: Vec<&Expr> = inside.iter().chain(on).collect();
        leaves.iter().any(|leaf| {
            let (Source::Table(table), LeafKind::Inner) = (&leaf.source, &leaf.kind) else {
                return false;
            };
            let rank = |usable: &dyn Fn(usize) -> bool| {
                crate::access::choose(table, leaf.offset, &conditions, usable, None).rank
            };
            let placed = |place: usize| self.is_placed(place);
            rank(&placed) > rank(&|_| false) && rank(&placed).has_equality()
        })
    }
}
