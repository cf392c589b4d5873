//! GROUP BY and aggregates.
//!
//! Relies on: expressions bound over the frame below, with aggregates standing at places above
//! [`AGGREGATE_BASE`].  Promises: above the aggregation only keys and results are named; a column
//! that is neither is 42803, unless the key of its table is grouped by.  Does not: choose how
//! groups are formed.
//!
//! ```text
//! frame below:  a… b… c…      frame above:  key 0 … key n-1 | call 0 … call m-1
//! ```

use crate::expr::{AGGREGATE_BASE, Binder};
use crate::join::{Joined, mark_needed};
use crate::names::{self, inner};
use crate::output::Target;
use crate::planner::Planner;
use crate::rewrite::{same, transform};
use crate::scope::Scope;
use crate::select::find_target;
use pg_query::NodeEnum;
use pg_query::protobuf::Node;
use quintet_base::{SqlResult, SqlState};
use quintet_ir::Expr;
use quintet_ir::aggregate::AggregateCall;
use quintet_ir::plan::Plan;
use std::cell::RefCell;

/// Binds GROUP BY: a number, an input column's name, a name of the select list, or an expression.
pub(crate) fn bind_keys(
    binder: &Binder,
    nodes: &[Node],
    targets: &[Target],
) -> SqlResult<Vec<Expr>> {
    let mut keys: Vec<Expr> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let location = names::location(node);
        if let Some(NodeEnum::GroupingSet(set)) = inner(node) {
            return Err(binder
                .planner
                .unsupported("GROUPING SETS, CUBE or ROLLUP", set.location));
        }
        let is_input = match inner(node) {
            Some(NodeEnum::ColumnRef(column)) => match names::strings(&column.fields)[..] {
                [name] => binder.scope.find(binder.planner, name, location)?.is_some(),
                _ => true,
            },
            _ => false,
        };
        let target = match is_input {
            true => None,
            false => find_target(binder.planner, node, targets, "GROUP BY")?,
        };
        let key = match target {
            Some(place) => targets[place].expr.clone(),
            None => binder.bind(node)?,
        };
        if has_aggregate(&key) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(binder
                .planner
                .error(SqlState::GROUPING_ERROR, message, location));
        }
        let key = crate::coerce::settle(binder.planner, key)?;
        if !keys.iter().any(|other| same(other, &key)) {
            keys.push(key);
        }
    }
    Ok(keys)
}

fn has_aggregate(expr: &Expr) -> bool {
    let mut columns = Vec::new();
    expr.collect_columns(&mut columns);
    columns.iter().any(|&c| c >= AGGREGATE_BASE)
}

/// An aggregation being planned.
pub(crate) struct Grouping<'g, 'a> {
    planner: &'g Planner<'a>,
    scope: &'g Scope,
    /// GROUP BY, and what it determines as far as somebody asked for it.
    keys: RefCell<Vec<Expr>>,
    calls: Vec<AggregateCall>,
}

impl<'g, 'a> Grouping<'g, 'a> {
    pub fn new(
        planner: &'g Planner<'a>,
        scope: &'g Scope,
        keys: Vec<Expr>,
        calls: Vec<AggregateCall>,
        above: &[&Expr],
    ) -> Grouping<'g, 'a> {
        let grouping = Grouping {
            planner,
            scope,
            keys: RefCell::new(keys),
            calls,
        };
        grouping.add_determined(above);
        grouping
    }

    /// Columns of a table whose primary key is grouped by have one value per group: those that are
    /// named above join the keys, which changes no group.
    fn add_determined(&self, above: &[&Expr]) {
        let mut named = Vec::new();
        above
            .iter()
            .for_each(|expr| expr.collect_columns(&mut named));
        let catalog = self.planner.catalog();
        for table in &self.scope.tables {
            let Some(id) = table
                .columns
                .iter()
                .find_map(|c| c.origin)
                .map(|(id, _)| id)
            else {
                continue;
            };
            let Some(primary) = catalog.table_by_id(id).and_then(|t| t.primary_key.as_ref()) else {
                continue;
            };
            let mut keys = self.keys.borrow_mut();
            let is_key = |number: &usize| {
                let column = table
                    .columns
                    .iter()
                    .find(|c| c.origin == Some((id, *number as u16 + 1)));
                column.is_some_and(|c| keys.iter().any(|key| same(key, &c.expr)))
            };
            if !primary.columns.iter().all(is_key) {
                continue;
            }
            for column in &table.columns {
                let is_named =
                    matches!(column.expr, Expr::Column(place, _) if named.contains(&place));
                if is_named && !keys.iter().any(|key| same(key, &column.expr)) {
                    keys.push(column.expr.clone());
                }
            }
        }
    }

    /// An expression over the frame below as one over the frame above.
    ///
    /// # Errors
    /// `42803` for a column that is not grouped by.
    pub fn above(&self, expr: &Expr) -> SqlResult<Expr> {
        let keys = self.keys.borrow();
        let mut ungrouped = None;
        let moved = transform(expr, &mut |part| {
            if let Some(place) = keys.iter().position(|key| same(key, part)) {
                return Some(Expr::Column(place, part.ty()));
            }
            match part {
                Expr::Column(place, ty) if *place >= AGGREGATE_BASE => {
                    Some(Expr::Column(keys.len() + place - AGGREGATE_BASE, *ty))
                }
                Expr::Column(place, _) => {
                    ungrouped.get_or_insert(*place);
                    None
                }
                _ => None,
            }
        });
        match ungrouped {
            None => Ok(moved),
            Some(place) => Err(self.planner.error(
                SqlState::GROUPING_ERROR,
                format!(
                    "column \"{}\" must appear in the GROUP BY clause or be used in an aggregate function",
                    self.scope.describe(place)
                ),
                self.planner.where_named(place),
            )),
        }
    }

    /// The aggregation over a join.
    pub fn finish(self, joined: &mut Joined) -> Plan {
        let keys = self
            .keys
            .into_inner()
            .iter()
            .map(|key| joined.expr(key))
            .collect();
        let calls: Vec<AggregateCall> = self
            .calls
            .iter()
            .map(|call| AggregateCall {
                args: call.args.iter().map(|arg| joined.expr(arg)).collect(),
                filter: call.filter.as_ref().map(|filter| joined.expr(filter)),
                order: call
                    .order
                    .iter()
                    .map(|key| quintet_ir::plan::SortKey {
                        expr: joined.expr(&key.expr),
                        ..key.clone()
                    })
                    .collect(),
                ..call.clone()
            })
            .collect();
        let mut input = std::mem::replace(&mut joined.plan, crate::rewrite::one_row());
        mark_needed(&mut input, &joined.used);
        Plan::Aggregate {
            input: Box::new(input),
            keys,
            calls,
        }
    }
}
