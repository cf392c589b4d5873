//! What is known of a routine's slots at one place of the walk.
//!
//! Relies on: nothing but the slots' count.  Promises: `made_by` names every operation whose result the slot
//! may hold there, and every condition that decided which.  Does not: know values that rows bring.
//!
//! Behind the routine's own slots stand three that no source names: how many rows the last statement had,
//! the block with handlers that came last, and what has left a loop or block early.

use crate::known::Known;
use quintet_ir::{Expr, Routine};
use std::collections::BTreeSet;

/// Where a slot's value comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Source {
    /// This operation, earlier in the same turn of every loop around.
    Operation(usize),
    /// Whatever the slot held at the end of an earlier turn of a loop.
    Carried(usize, usize),
}

/// A slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub made_by: BTreeSet<Source>,
    pub known: Option<Known>,
}

/// All slots.
#[derive(Clone, Debug)]
pub(crate) struct State {
    cells: Vec<Cell>,
    /// The walk gets here.
    pub reachable: bool,
}

/// Slots that no source names, counted from the end of the routine's.
const COUNT: usize = 0;
const BEHIND: usize = 1;
const LEFT: usize = 2;

impl State {
    /// Where a routine begins.
    pub fn new(routine: &Routine) -> State {
        let mut cells = vec![Cell::default(); routine.slots.len() + 3];
        for (slot, cell) in cells.iter_mut().enumerate().take(routine.slots.len()) {
            let ty = routine.slots[slot].ty;
            // Variables begin as NULL.
            cell.known = Some(Known::new(match slot < routine.arguments {
                true => Expr::Param(slot, ty),
                false => Expr::null(ty),
            }));
        }
        State {
            cells,
            reachable: true,
        }
    }

    fn own(&self) -> usize {
        self.cells.len() - 3
    }

    /// How many rows the last statement had.
    pub fn count(&self) -> usize {
        self.own() + COUNT
    }

    /// The block with handlers that came last.
    pub fn behind(&self) -> usize {
        self.own() + BEHIND
    }

    /// What has left a loop or block early.
    pub fn left(&self) -> usize {
        self.own() + LEFT
    }

    pub fn known(&self, slot: usize) -> Option<&Known> {
        self.cells[slot].known.as_ref()
    }

    pub fn made_by(&self, slot: usize) -> &BTreeSet<Source> {
        &self.cells[slot].made_by
    }

    /// The slot holds what these have made.
    pub fn set(&mut self, slot: usize, made_by: &[usize], known: Option<Known>) {
        self.cells[slot] = Cell {
            made_by: made_by.iter().copied().map(Source::Operation).collect(),
            known,
        };
    }

    /// The slot may hold what this has made, too.
    pub fn add(&mut self, slot: usize, source: Source) {
        let cell = &mut self.cells[slot];
        cell.made_by.insert(source);
        cell.known = None;
    }

    /// This state or another. Where they differ, `why` decided.
    pub fn join(
        &mut self,
        other: &State,
        why: &[usize],
        known: impl Fn(Option<&Known>, Option<&Known>) -> Option<Known>,
    ) {
        if !other.reachable && !self.reachable {
            return;
        }
        for (cell, theirs) in self.cells.iter_mut().zip(&other.cells) {
            let of = |cell: &Cell, reachable: bool| reachable.then(|| cell.known.clone()).flatten();
            let (mine, other_one) = (of(cell, self.reachable), of(theirs, other.reachable));
            let same_known = match (&mine, &other_one) {
                (Some(mine), Some(theirs)) => mine.is_same(theirs),
                (None, None) => true,
                _ => false,
            };
            if self.reachable && other.reachable && cell.made_by == theirs.made_by && same_known {
                continue;
            }
            let mut made_by = BTreeSet::new();
            if self.reachable {
                made_by.extend(cell.made_by.iter().copied());
            }
            if other.reachable {
                made_by.extend(theirs.made_by.iter().copied());
            }
            if self.reachable && other.reachable {
                made_by.extend(why.iter().copied().map(Source::Operation));
            }
            *cell = Cell {
                made_by,
                known: match (self.reachable, other.reachable) {
                    (true, false) => mine,
                    (false, true) => other_one,
                    _ => known(mine.as_ref(), other_one.as_ref()),
                },
            };
        }
        self.reachable = true;
    }
}
