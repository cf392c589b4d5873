//! Operations: what a step of a routine does, and which rows it may touch.
//!
//! Relies on: the IR, which it points into.  Promises: a statement that reads and writes is several
//! operations; a key says of each of its columns how much is known before the call begins.
//! Does not: say what must follow what.

use quintet_ir::plan::Path;
use quintet_ir::routine::{Action, Handler};
use quintet_ir::schema::TableRef;
use quintet_ir::{Expr, Statement};

/// One operation of a routine.
#[derive(Clone, Debug)]
pub struct Operation<'p> {
    /// Of the source; 0 = none.
    pub line: u32,
    /// How many compound operations it stands in.
    pub depth: usize,
    /// Loops around it, outermost first: numbers in [`crate::Graph::loops`].
    pub loops: Vec<usize>,
    /// Conditions around it, with the branch that it stands in.
    pub branches: Vec<(usize, bool)>,
    /// It stands in an exception handler.
    pub in_handler: bool,
    /// What it does.
    pub what: What<'p>,
    /// Rows that it may read or write.
    pub touches: Vec<Touch<'p>>,
}

/// What an operation does.
#[derive(Clone, Copy, Debug)]
pub enum What<'p> {
    /// Finds rows by a key; one per table of a statement.
    Read,
    /// Adds, changes or removes rows.
    Write(&'p Statement),
    /// What a query does with the rows it has read.
    Query(&'p Statement),
    /// A step that touches no row by itself.
    Step(&'p Action),
    /// A condition of IF.
    Condition(&'p Expr),
    /// The head of a loop.
    Loop(&'p Action),
    /// BEGIN of a block with handlers.
    Guard,
    /// WHEN … THEN.
    Handler(&'p Handler),
    /// The end of a block with handlers.
    EndGuard,
    /// A routine that an expression or a source of rows calls.
    Call(&'p str),
}

/// Rows of one table that an operation may touch.
#[derive(Clone, Debug)]
pub struct Touch<'p> {
    /// The table.
    pub table: TableRef,
    /// Adds, changes or removes, else reads.
    pub writes: bool,
    /// FOR UPDATE, FOR SHARE.
    pub locks: bool,
    /// By which rows; several: any of these. None: any row of the table.
    pub keys: Vec<Key<'p>>,
    /// What the columns of the rows are called that the keys may look at: those found before them, in the same
    /// statement.
    pub outer: Vec<String>,
    /// How rows are found; none for added ones and those of called routines.
    pub path: Option<&'p Path>,
}

/// Rows whose columns are these.
#[derive(Clone, Debug)]
pub struct Key<'p> {
    /// In the order of the key.
    pub parts: Vec<Part<'p>>,
    /// At most one row has them.
    pub single: bool,
}

/// One column of a key.
#[derive(Clone, Debug)]
pub struct Part<'p> {
    /// The table's.
    pub column: usize,
    /// How it compares.
    pub bound: Bound,
    /// With what, as the step says it.
    pub value: &'p Expr,
    /// And before the call begins.
    pub template: Template,
}

/// How a column of a key compares with its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// =
    Equal,
    /// ≥, or > if not inclusive.
    Lower {
        /// Or equal.
        inclusive: bool,
    },
    /// ≤, or < if not inclusive.
    Upper {
        /// Or equal.
        inclusive: bool,
    },
}

/// A part of a key as a template over the arguments. `$n` is argument n; beyond the routine's slots stand
/// the loops' variables, in the order of [`crate::Graph::loops`].
#[derive(Clone, Debug)]
pub enum Template {
    /// From the arguments alone.
    Exact(Expr),
    /// From the arguments and the turns of loops.
    Iterated(Expr),
    /// On some ways through the routine as said, on others not known: NULL there.
    Partial(Expr),
    /// Known when the routine runs.
    Unknown,
}

impl Template {
    /// The expression, as far as there is one.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            Template::Exact(expr) | Template::Iterated(expr) | Template::Partial(expr) => {
                Some(expr)
            }
            Template::Unknown => None,
        }
    }

    /// True if the expression is the value, whatever way the routine takes.
    pub fn is_whole(&self) -> bool {
        matches!(self, Template::Exact(_) | Template::Iterated(_))
    }
}

impl Operation<'_> {
    /// True if others wait for what it brings: it finds rows, or calls what may.
    pub fn reads(&self) -> bool {
        self.touches.iter().any(|touch| !touch.writes)
    }

    /// True if it adds, changes or removes rows.
    pub fn writes(&self) -> bool {
        self.touches.iter().any(|touch| touch.writes)
    }

    /// True if it ends something before its end: EXIT, CONTINUE, RETURN.
    pub fn leaves(&self) -> bool {
        matches!(
            self.what,
            What::Step(Action::Exit { .. } | Action::Continue { .. } | Action::Return(_))
        )
    }
}

impl Key<'_> {
    /// True if each part is known before the call begins.
    pub fn is_whole(&self) -> bool {
        self.parts.iter().all(|part| part.template.is_whole())
    }
}
