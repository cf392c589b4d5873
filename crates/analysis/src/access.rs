//! Access constraints: two operations that may touch the same row, one of them writing.
//!
//! Relies on: keys as templates.  Promises: two operations on one table are constrained unless a column of
//! their keys differs for certain, or no call runs both.  Does not: look at columns that are read or
//! written, which could tell more apart.
//!
//! They do not keep a read from being issued early: what a transaction writes is its own until it
//! commits, and no read at its snapshot meets it, in memory or in STORE. The row that was brought is only laid under the
//! transaction's own writes when the statement takes place.

use crate::graph::{Constraint, Graph, Why};
use crate::operation::{Bound, Key, Operation, Part, Template, Touch};
use quintet_ir::Expr;
use std::collections::HashSet;

/// Adds them.
pub(crate) fn constrain(graph: &mut Graph<'_>) {
    let mut found = Vec::new();
    // There may be thousands, most of which touch nothing.
    let touching: Vec<usize> = (0..graph.operations.len())
        .filter(|&number| !graph.operations[number].touches.is_empty())
        .collect();
    let of_rows = graph.constraints.iter();
    let of_rows = of_rows.filter(|constraint| constraint.why == Why::Rows && !constraint.carried);
    let of_rows: HashSet<(usize, usize)> = of_rows
        .map(|constraint| (constraint.from, constraint.to))
        .collect();
    for (place, &second) in touching.iter().enumerate() {
        for &first in &touching[..=place] {
            let [one, other] = [first, second].map(|number| &graph.operations[number]);
            let pairs = || {
                let touches = one.touches.iter();
                touches.flat_map(|one| other.touches.iter().map(move |other| (one, other)))
            };
            let conflicts = |distinct: &dyn Fn(&Key<'_>, &Key<'_>) -> bool| {
                pairs().any(|(one, other)| may_meet(one, other, distinct))
            };
            let constraint = |from, to, carried| Constraint {
                from,
                to,
                why: Why::Table,
                carried,
            };
            if first != second
                && !of_rows.contains(&(first, second))
                && !exclude(one, other)
                && conflicts(&constants_differ)
            {
                found.push(constraint(first, second, false));
            }
            let common = one.loops.iter().zip(&other.loops);
            let common = common.take_while(|(one, other)| one == other);
            let between_turns = common.map(|(number, _)| *number).any(|number| {
                let symbol = graph.symbol(number);
                let distinct = graph.loops[number].distinct;
                conflicts(&|one, other| {
                    constants_differ(one, other) || (distinct && turns_differ(symbol, one, other))
                })
            });
            if between_turns {
                found.push(constraint(second, first, true));
                if exclude(one, other) {
                    found.push(constraint(first, second, true));
                }
            }
        }
    }
    graph.constraints.extend(found);
}

/// True if no turn runs both.
fn exclude(one: &Operation<'_>, other: &Operation<'_>) -> bool {
    let mut branches = one.branches.iter();
    branches.any(|(condition, held)| other.branches.contains(&(*condition, !held)))
}

fn may_meet(
    one: &Touch<'_>,
    other: &Touch<'_>,
    differ: &dyn Fn(&Key<'_>, &Key<'_>) -> bool,
) -> bool {
    let any = [one, other].map(|touch| touch.keys.is_empty());
    one.table.id == other.table.id
        && (one.writes || other.writes)
        && (any.contains(&true)
            || (one.keys.iter()).any(|one| other.keys.iter().any(|other| !differ(one, other))))
}

/// The parts of both keys that are equal to something, by column.
fn columns<'a>(
    one: &'a Key<'_>,
    other: &'a Key<'_>,
) -> impl Iterator<Item = (&'a Template, &'a Template)> {
    let is_equal = |part: &&Part<'_>| part.bound == Bound::Equal;
    one.parts.iter().filter(is_equal).filter_map(move |part| {
        let mut others = other.parts.iter().filter(is_equal);
        let same = others.find(|other| other.column == part.column)?;
        Some((&part.template, &same.template))
    })
}

fn constants_differ(one: &Key<'_>, other: &Key<'_>) -> bool {
    columns(one, other).any(|(one, other)| match (one, other) {
        (Template::Exact(Expr::Const(one, _)), Template::Exact(Expr::Const(other, _))) => {
            one.as_i64()
                .zip(other.as_i64())
                .is_some_and(|(one, other)| one != other)
                || one
                    .as_str()
                    .zip(other.as_str())
                    .is_some_and(|(one, other)| {
                        // character(n) ignores trailing blanks.
                        one.trim_end_matches(' ') != other.trim_end_matches(' ')
                    })
        }
        _ => false,
    })
}

/// True if two turns of the loop with this variable touch different rows.
fn turns_differ(symbol: usize, one: &Key<'_>, other: &Key<'_>) -> bool {
    let is_symbol = |template: &Template| matches!(template, Template::Iterated(Expr::Param(place, _)) if *place == symbol);
    columns(one, other).any(|(one, other)| is_symbol(one) && is_symbol(other))
}
