//! The execution graph of a routine: operations, and what must follow what.
//!
//! Relies on: `flow`, which makes the operations and the procedure constraints; `access`, which adds those
//! between operations that may touch the same row.  Promises: operations stand in the order of the
//! source; a constraint that is not `carried` goes from an earlier to a later one.  Does not: draw that
//! a step may end the call: an error, RAISE or RETURN.

use crate::access;
use crate::deeds::{Deed, Site};
use crate::flow::Walk;
use crate::operation::Operation;
use quintet_ir::ahead::Over;
use quintet_ir::{Program, Routine};

/// See the module.
#[derive(Clone, Debug)]
pub struct Graph<'p> {
    /// Whose.
    pub routine: &'p Routine,
    /// In the order of the source.
    pub operations: Vec<Operation<'p>>,
    /// Between them; no two the same.
    pub constraints: Vec<Constraint>,
    /// The loops, in the order of the source.
    pub loops: Vec<Loop>,
    /// Conditions known before the call begins, by operation.
    pub conditions: Vec<Option<quintet_ir::Expr>>,
    /// What statements do to rows; see `footprint`.
    pub(crate) deeds: Vec<Deed>,
    /// Calls of other routines.
    pub(crate) sites: Vec<Site<'p>>,
}

/// One operation waits for another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Constraint {
    /// Which is waited for.
    pub from: usize,
    /// Which waits.
    pub to: usize,
    /// What for.
    pub why: Why,
    /// It waits for an earlier turn of a loop.
    pub carried: bool,
}

/// What an operation waits for. All but `Table` are procedure constraints, in the paper's word; `Table` is
/// an access constraint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// The value of a slot.
    Value(usize),
    /// Rows, of the same statement.
    Rows,
    /// Whether it is run. A read need not wait for that: it has no effect.
    Branch,
    /// A turn of the loop around it.
    Turn,
    /// What has left the loop or block before, or has not.
    Leaving,
    /// A block with handlers, or ROLLBACK, which may have undone what was before, or COMMIT.
    Handler,
    /// Another that may touch the same row, one of the two writing.
    Table,
}

/// A loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Its head.
    pub head: usize,
    /// Its variable, if it has one of its own.
    pub slot: Option<usize>,
    /// What it goes through, if that is known before the call begins.
    pub over: Option<Over>,
    /// EXIT or RETURN may end it early.
    pub left: bool,
    /// No two turns have the same value of its variable.
    pub distinct: bool,
}

impl<'p> Graph<'p> {
    /// The graph of one of a program's routines.
    ///
    /// # Panics
    /// If the program has no such routine.
    pub fn new(program: &'p Program, routine: usize) -> Graph<'p> {
        let mut graph = Walk::over(program, &program.routines[routine]);
        access::constrain(&mut graph);
        graph.constraints.sort();
        graph.constraints.dedup();
        graph
    }

    /// The number that a loop's variable has in templates.
    pub fn symbol(&self, number: usize) -> usize {
        self.routine.slots.len() + number
    }
}
