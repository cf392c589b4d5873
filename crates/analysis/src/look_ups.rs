//! Keys that can be looked up before a call begins.
//!
//! Relies on: the first group, and templates.  Promises: what is looked up is in the first group, named by a
//! whole key over the arguments, and not in a handler or in a loop that may be left early.  Does not: look
//! up ranges, whose rows nobody has counted.

use crate::graph::{Graph, Loop};
use crate::groups::Groups;
use crate::operation::{Key, Operation, Template};
use quintet_ir::Expr;
use quintet_ir::Program;
use quintet_ir::ahead::{Ahead, LookUp, Over, Turns};
use quintet_ir::plan::Path;
use std::collections::BTreeSet;

/// What a call of a program's first routine may look up before it begins.
pub fn look_ups(program: &Program) -> Ahead {
    if program.routines.is_empty() {
        return Ahead::default();
    }
    let graph = Graph::new(program, 0);
    let groups = Groups::new(&graph);
    let operations = graph.operations.iter().enumerate();
    let found = operations.filter_map(|(number, _)| of_operation(&graph, &groups, number).ok());
    let mut look_ups: Vec<LookUp> = Vec::new();
    for look_up in found.flatten() {
        if !look_ups.iter().any(|other| is_same(other, &look_up)) {
            look_ups.push(look_up);
        }
    }
    Ahead {
        look_ups,
        places: graph.symbol(graph.loops.len()),
    }
}

/// True if both bring the same rows.
fn is_same(one: &LookUp, other: &LookUp) -> bool {
    let said = |look_up: &LookUp| {
        let LookUp {
            key,
            turns,
            only_if,
            ..
        } = look_up;
        format!("{key:?} {turns:?} {only_if:?}")
    };
    (one.table.id, one.index) == (other.table.id, other.index) && said(one) == said(other)
}

/// Why a read is not looked up ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unfit {
    /// It is no read of rows by a path.
    NoRead,
    /// Its key depends on what other reads bring.
    Later,
    /// It runs after an error.
    Handler,
    /// Its key is not whole: it may find many rows.
    Range,
    /// Its key is computed on the way.
    Computed,
    /// Its loop may be left early.
    Left,
}

/// The look-ups of one operation.
pub(crate) fn of_operation(
    graph: &Graph<'_>,
    groups: &Groups,
    number: usize,
) -> Result<Vec<LookUp>, Unfit> {
    let operation = &graph.operations[number];
    let touch = match operation.touches.as_slice() {
        [touch] if touch.path.is_some() => touch,
        _ => return Err(Unfit::NoRead),
    };
    let index = match touch.path {
        Some(Path::Index(index, _)) => Some(*index),
        _ => None,
    };
    if operation.in_handler {
        return Err(Unfit::Handler);
    }
    if touch.keys.is_empty() || touch.keys.iter().any(|key| !key.single) {
        return Err(match groups.rounds[number] {
            Some(1) => Unfit::Range,
            _ => Unfit::Later,
        });
    }
    let partial = touch.keys.iter().any(|key| !key.is_whole());
    let keys = touch.keys.iter().map(values).collect::<Option<Vec<_>>>();
    let Some(keys) = keys else {
        return Err(match groups.rounds[number] {
            Some(1) => Unfit::Computed,
            _ => Unfit::Later,
        });
    };
    // What is known in part only is in a later group, and early where it is known.
    if !partial && groups.rounds[number] != Some(1) {
        return Err(Unfit::Later);
    }
    let mut found = Vec::new();
    for key in keys {
        let (turns, symbols) = turns(graph, operation, &key)?;
        let only_if = conditions(graph, operation, &symbols);
        found.push(LookUp::new(touch.table.clone(), index, key, turns, only_if));
    }
    Ok(found)
}

/// The values of a key, if all are known as far as they can be.
fn values(key: &Key<'_>) -> Option<Vec<Expr>> {
    let templates = key.parts.iter().map(|part| &part.template);
    templates
        .map(Template::expr)
        .map(Option::<&Expr>::cloned)
        .collect()
}

/// The loops that a key goes through, outermost first, and their symbols.
fn turns(
    graph: &Graph<'_>,
    operation: &Operation<'_>,
    key: &[Expr],
) -> Result<(Vec<Turns>, BTreeSet<usize>), Unfit> {
    let mut used = BTreeSet::new();
    key.iter()
        .for_each(|expr| crate::expressions::slots(expr, &mut used));
    let mut turns = Vec::new();
    for &number in operation.loops.iter().rev() {
        let place = graph.symbol(number);
        if !used.contains(&place) {
            continue;
        }
        let Loop { over, left, .. } = &graph.loops[number];
        if *left {
            return Err(Unfit::Left);
        }
        let over = over.clone().ok_or(Unfit::Computed)?;
        let exprs = match &over {
            Over::Integers {
                lower, upper, step, ..
            } => vec![lower, upper, step],
            Over::Elements(array) => vec![array],
        };
        for expr in exprs {
            crate::expressions::slots(expr, &mut used);
        }
        turns.push(Turns { place, over });
    }
    turns.reverse();
    let symbols: BTreeSet<usize> = turns.iter().map(|turns| turns.place).collect();
    // A loop that is over has no turns to go through any more.
    let own = graph.routine.slots.len();
    match used
        .iter()
        .all(|slot| *slot < own || symbols.contains(slot))
    {
        true => Ok((turns, symbols)),
        false => Err(Unfit::Computed),
    }
}

/// The conditions around an operation, as far as they are known.
fn conditions(
    graph: &Graph<'_>,
    operation: &Operation<'_>,
    symbols: &BTreeSet<usize>,
) -> Vec<(Expr, bool)> {
    let own = graph.routine.slots.len();
    let known = operation.branches.iter().filter_map(|(condition, held)| {
        let expr = graph.conditions[*condition].clone()?;
        let mut used = BTreeSet::new();
        crate::expressions::slots(&expr, &mut used);
        let seen = used
            .iter()
            .all(|slot| *slot < own || symbols.contains(slot));
        seen.then_some((expr, *held))
    });
    known.collect()
}
