//! Dynamic SQL: statements of a routine that are planned when they are reached.
//!
//! Relies on: `expr`.  Promises: what such a step gives to others is in slots of known types, whatever its text says; the
//! places where a call can go on in a routine that was made anew are marked, and what its variables are there.  Does not:
//! plan or run anything.
//!
//! A statement that changes the schema, and the text of an EXECUTE, cannot be planned with the rest of a routine. The step is
//! given to who can plan it, and the routine may be made anew then, as the schema and what it has found say: its slots and
//! its places are others, its variables and its source are the same. [`Landmark`]s tell how to get from one to the other.

use crate::expr::Expr;
use crate::privilege::Needs;
use crate::routine::Step;
use crate::statement::{OutputColumn, Procedure, Statement};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod};
use std::sync::Arc;

/// A statement that is planned when it is reached.
#[derive(Clone, Debug)]
pub struct Dynamic {
    /// Where it stands.
    pub at: Landmark,
    /// What it says: a text.
    pub text: Expr,
    /// The values of `$1`, `$2` … in it.
    pub arguments: Vec<Expr>,
    /// It stands in the routine as it is; otherwise it is the value of an expression: EXECUTE.
    pub fixed: bool,
    /// What becomes of its rows.
    pub rows: DynamicRows,
    /// They go to a record, whose fields are those of the statement: other ones than before have the routine made anew.
    pub is_record: bool,
    /// The routine has promised to change nothing.
    pub reads_only: bool,
    /// What is done for each of them: a loop.
    pub turns: Option<Vec<Step>>,
}

/// A statement that was planned when it was reached, by a host.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is run.
    pub procedure: Arc<Procedure>,
    /// The columns of its rows.
    pub columns: Vec<OutputColumn>,
    /// What the user must be allowed to do.
    pub needs: Needs,
}

impl Planned {
    /// Refuses what changes rows in a routine that has promised not to.
    ///
    /// # Errors
    /// `0A000`.
    pub fn refuse_write(&self) -> SqlResult<()> {
        let tag = match self.procedure.statement() {
            Some(Statement::Insert(_)) => "INSERT",
            Some(Statement::Update(_)) => "UPDATE",
            Some(Statement::Delete(_)) => "DELETE",
            _ => return Ok(()),
        };
        Err(not_volatile(tag))
    }
}

/// `0A000`: a routine that has promised not to change anything comes to a command that does.
pub fn not_volatile(tag: &str) -> SqlError {
    let message = format!("{tag} is not allowed in a non-volatile function");
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// What becomes of the rows of a dynamic statement.
#[derive(Clone, PartialEq, Debug)]
pub enum DynamicRows {
    /// They are counted.
    Forgotten,
    /// Column by column into these, converted as in an assignment; missing ones are NULL, further ones are left out. In a loop
    /// each row, otherwise the first.
    Into {
        /// Slots, with their modifiers.
        slots: Vec<(usize, TypeMod)>,
        /// Not exactly one row is an error.
        strict: bool,
    },
    /// To a record whose fields are not known yet.
    Record,
    /// They are rows of the routine's result, which has these types.
    Returned(Vec<SqlType>),
}

/// A place that a call can go on at in a routine that was made anew.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Landmark {
    /// The same wherever the same source is made into a routine.
    pub number: usize,
    /// The variables there are.
    pub live: Vec<Live>,
    /// The types of the rows that the loops around it go through, from the outermost on.
    pub loops: Vec<Vec<SqlType>>,
}

/// A variable, or a field of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Live {
    /// The same wherever the same source is made into a routine.
    pub variable: usize,
    /// Of a record or a row.
    pub field: Option<String>,
    /// Where it is.
    pub slot: usize,
}
