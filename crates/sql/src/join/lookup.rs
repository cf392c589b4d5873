//! Leaves of a correlated subquery that are kept by the values of their columns.
//!
//! Relies on: `Plan::Lookup`, whose input is read once in a statement.  Promises: a leaf that no key leads to, and
//! that an equality connects with what is there or is handed over, is not read again for each row around
//! the subquery; nor is a plan that needs nothing from there.  Does not: keep a leaf that a key leads to.

use super::{State, columns_of, security};
use crate::access;
use crate::from::{Leaf, LeafKind, Source};
use crate::rewrite::{is_volatile, move_columns};
use quintet_ir::expressions::uses_outer;
use quintet_ir::plan::{Access, Plan};
use quintet_ir::schema::TableRef;
use quintet_ir::{CompareOp, Expr};

/// True if something is handed to the query that these are of.
pub(crate) fn is_correlated(leaves: &[Leaf], conditions: &[Expr]) -> bool {
    let handed = |exprs: &[Expr]| exprs.iter().any(Expr::uses_outer);
    let leaf = |leaf: &Leaf| {
        let source = match &leaf.source {
            Source::Table(_) => false,
            Source::Plan(plan)
            | Source::OneRow(plan)
            | Source::Keys(plan)
            | Source::Function(plan) => uses_outer(plan),
            Source::Group(leaves, conditions) => is_correlated(leaves, conditions),
        };
        source || matches!(&leaf.kind, LeafKind::Left(on) if handed(on))
    };
    handed(conditions) || leaves.iter().any(leaf)
}

/// An equality of a leaf's own columns with something else.
struct Pair {
    own: Expr,
    other: Expr,
}

impl State<'_> {
    /// The pair that a condition is: its other side is known where the leaf is placed now.
    fn pair(&self, leaf: &Leaf, condition: &Expr) -> Option<Pair> {
        let Expr::Compare {
            op: CompareOp::Eq,
            left,
            right,
        } = condition
        else {
            return None;
        };
        let inside = leaf.offset..leaf.offset + leaf.width;
        let plain = |expr: &Expr| !is_volatile(expr) && !expr.has_subquery();
        let sides = [(left, right), (right, left)].into_iter();
        let mut found = sides.filter(|(own, other)| {
            let (mine, others) = (columns_of(own), columns_of(other));
            let is_own = !mine.is_empty() && mine.iter().all(|column| inside.contains(column));
            let is_known = others.iter().all(|&column| self.is_placed(column));
            let says_something = !others.is_empty() || other.uses_outer();
            is_own && is_known && says_something && !own.uses_outer() && plain(own) && plain(other)
        });
        found.next().map(|(own, other)| Pair {
            own: (**own).clone(),
            other: (**other).clone(),
        })
    }

    /// True if an equality connects the leaf with what is there, or with what is handed over.
    pub(super) fn is_connected(&self, leaf: &Leaf) -> bool {
        let mut conditions = self.pool.iter().flatten();
        conditions.any(|condition| self.pair(leaf, condition).is_some())
    }

    /// The leaf as a lookup, if it is worth one; the conditions that it makes true are taken away.
    pub(super) fn lookup(&mut self, leaf: &Leaf, conditions: &mut Vec<Expr>) -> Option<Plan> {
        let is_pair = |condition: &Expr| self.pair(leaf, condition).is_some();
        match &leaf.source {
            Source::Table(table) => {
                let borrowed: Vec<&Expr> = conditions.iter().chain(&leaf.security).collect();
                let usable = |place: usize| self.is_placed(place);
                let choice = access::choose(table, leaf.offset, &borrowed, &usable, None);
                if choice.rank.has_equality() || !conditions.iter().any(is_pair) {
                    return None;
                }
            }
            Source::Plan(plan) if !uses_outer(plan) => {}
            _ => return None,
        }
        let (mut keys, mut values, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let mut own = Vec::new();
        let inside = leaf.offset..leaf.offset + leaf.width;
        for condition in std::mem::take(conditions) {
            let columns = columns_of(&condition);
            let is_own = !columns.is_empty() && columns.iter().all(|c| inside.contains(c));
            let plain =
                !is_volatile(&condition) && !condition.has_subquery() && !condition.uses_outer();
            match self.pair(leaf, &condition) {
                Some(pair) => {
                    keys.push(move_columns(&pair.own, &|place| place - leaf.offset));
                    values.push(self.moved(&pair.other));
                }
                None if is_own && plain => own.push(condition),
                None => rest.push(condition),
            }
        }
        *conditions = rest;
        let input = match &leaf.source {
            Source::Table(table) => table_alone(table, leaf, own),
            Source::Plan(plan) => {
                conditions.extend(own);
                plan.clone()
            }
            _ => return None,
        };
        Some(Plan::Lookup {
            input: Box::new(input),
            keys,
            values,
        })
    }
}

/// A table's rows by conditions on nothing but its own columns, its frame at 0.
fn table_alone(table: &TableRef, leaf: &Leaf, conditions: Vec<Expr>) -> Plan {
    let moved = |condition: &Expr| move_columns(condition, &|place| place - leaf.offset);
    let conditions: Vec<Expr> = conditions.iter().map(moved).collect();
    let security: Vec<Expr> = leaf.security.iter().map(moved).collect();
    let known = conditions.len();
    let borrowed: Vec<&Expr> = conditions.iter().chain(&security).collect();
    let choice = access::choose(table, 0, &borrowed, &|_| false, None);
    let conditions = conditions.into_iter().enumerate();
    let left: Vec<Expr> = conditions
        .filter(|(number, _)| !choice.taken.contains(number))
        .map(|(_, condition)| condition)
        .collect();
    let security = security::left(leaf, known, &choice.taken);
    let scan = Access {
        table: TableRef::clone(table),
        path: choice.path,
        filter: None,
        reverse: choice.reverse,
        offset: 0,
        needed: None,
        kept_after: None,
    };
    security::asked(scan, security.iter().map(moved).collect(), left)
}
