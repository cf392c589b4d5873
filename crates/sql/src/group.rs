//! GROUP BY and aggregates.
//!
//! Relies on: expressions bound over the frame below, with aggregates standing at places above
//! [`AGGREGATE_BASE`].  Promises: above the aggregation only keys and results are named; a column
//! that is neither is 42803, unless the key of its table is grouped by.  Does not: choose how
//! groups are formed.
//!
//! ```text
//! frame below:  a… b… c…      frame above:  key 0 … key n-1 | call 0 … call m-1 [| number of the set]
//! ```

use crate::expr::AGGREGATE_BASE;
use crate::grouping_sets::{GROUPING_BASE, Keys, Marks, is_grouping, key_at};
use crate::join::{Joined, mark_needed};
use crate::planner::Planner;
use crate::rewrite::{same, transform};
use crate::scope::Scope;
use crate::window::is_window;
use quintet_base::{SqlResult, SqlState, SqlType, Value};
use quintet_ir::aggregate::AggregateCall;
use quintet_ir::plan::Plan;
use quintet_ir::{CompareOp, Expr};
use std::cell::RefCell;

/// An aggregation being planned.
pub(crate) struct Grouping<'g, 'a> {
    planner: &'g Planner<'a>,
    scope: &'g Scope,
    /// GROUP BY, and what it determines as far as somebody asked for it.
    keys: RefCell<Vec<Expr>>,
    /// Those that an expression may mean, in the order in which it is looked for.
    named: RefCell<Vec<usize>>,
    /// GROUPING SETS.
    sets: RefCell<Vec<Vec<usize>>>,
    calls: Vec<AggregateCall>,
    /// Calls of GROUPING.
    groupings: Vec<Marks>,
}

impl<'g, 'a> Grouping<'g, 'a> {
    pub fn new(
        planner: &'g Planner<'a>,
        scope: &'g Scope,
        keys: Keys,
        calls: Vec<AggregateCall>,
        groupings: Vec<Marks>,
        above: &[&Expr],
    ) -> Grouping<'g, 'a> {
        // Places of the select list go first. A constant is what it is in every group, but for the key itself.
        let mut named: Vec<usize> = (0..keys.keys.len()).collect();
        named.sort_by_key(|&key| keys.keys[key].target.unwrap_or(usize::MAX));
        let with_sets = !keys.sets.is_empty();
        named.retain(|&key| !with_sets || !matches!(keys.keys[key].expr, Expr::Const(..)));
        let grouping = Grouping {
            planner,
            scope,
            keys: RefCell::new(keys.keys.into_iter().map(|key| key.expr).collect()),
            named: RefCell::new(named),
            sets: RefCell::new(keys.sets),
            calls,
            groupings,
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
            let Some(definition) = catalog.rows_of(id) else {
                continue;
            };
            let Some(primary) = &definition.primary_key else {
                continue;
            };
            let mut keys = self.keys.borrow_mut();
            let mut sets = self.sets.borrow_mut();
            let is_key = |number: &usize| {
                let column = table
                    .columns
                    .iter()
                    .find(|c| c.origin == Some((id, *number as u16 + 1)));
                let is_it = |&place: &usize| column.is_some_and(|c| same(&keys[place], &c.expr));
                let in_all = |place| sets.iter().all(|set| set.contains(&place));
                (0..keys.len()).filter(is_it).any(in_all)
            };
            if !primary.columns.iter().all(is_key) {
                continue;
            }
            for column in &table.columns {
                let is_named =
                    matches!(column.expr, Expr::Column(place, _) if named.contains(&place));
                if is_named && !keys.iter().any(|key| same(key, &column.expr)) {
                    sets.iter_mut().for_each(|set| set.push(keys.len()));
                    self.named.borrow_mut().push(keys.len());
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
        let mut unknown = None;
        let named = self.named.borrow();
        let moved = transform(expr, &mut |part| {
            if let Some(&place) = named.iter().find(|&&key| same(&keys[key], part)) {
                return Some(Expr::Column(place, part.ty()));
            }
            match part {
                Expr::Column(place, ty) if key_at(*place).is_some() => {
                    key_at(*place).map(|key| Expr::Column(key, *ty))
                }
                Expr::Column(place, ty) if *place >= AGGREGATE_BASE => {
                    Some(Expr::Column(keys.len() + place - AGGREGATE_BASE, *ty))
                }
                Expr::Column(place, _) if is_window(*place) => Some(part.clone()),
                Expr::Column(place, _) if is_grouping(*place) => {
                    let marked = self.marks(&self.groupings[place - GROUPING_BASE], &keys);
                    marked.map_err(|error| unknown = Some(error)).ok()
                }
                Expr::Column(place, _) => {
                    ungrouped.get_or_insert(*place);
                    None
                }
                _ => None,
            }
        });
        if let Some(error) = unknown {
            return Err(error);
        }
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

    /// GROUPING: a bit for each argument, the last one's the lowest, set where the group does not group by it.
    fn marks(&self, call: &Marks, keys: &[Expr]) -> SqlResult<Expr> {
        let place = |arg: &Expr| {
            keys.iter().position(|key| same(key, arg)).ok_or_else(|| {
                self.planner.error(
                    SqlState::GROUPING_ERROR,
                    "arguments to GROUPING must be grouping expressions of the associated query level",
                    call.location,
                )
            })
        };
        let places = call
            .args
            .iter()
            .map(place)
            .collect::<SqlResult<Vec<usize>>>()?;
        let number = |value: i32| Expr::Const(Value::Int4(value), SqlType::Int4);
        let bits = |set: &Vec<usize>| {
            let absent = places.iter().map(|place| i32::from(!set.contains(place)));
            number(absent.fold(0, |bits, absent| bits << 1 | absent))
        };
        let sets = self.sets.borrow();
        if sets.is_empty() {
            return Ok(number(0));
        }
        let which = Expr::Column(keys.len() + self.calls.len(), SqlType::Int4);
        let branch = |(at, set): (usize, &Vec<usize>)| {
            let is_it = Expr::Compare {
                op: CompareOp::Eq,
                left: Box::new(which.clone()),
                right: Box::new(number(at as i32)),
            };
            (is_it, bits(set))
        };
        Ok(Expr::Case {
            branches: sets.iter().enumerate().map(branch).collect(),
            otherwise: None,
            ty: SqlType::Int4,
        })
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
            sets: self.sets.into_inner(),
        }
    }
}
