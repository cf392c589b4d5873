//! Physical work that a schema change asks an engine to do, inside the transaction that changes
//! the catalogue.
//!
//! Relies on: `schema`.  Promises: each item is complete in itself and ordered by the planner.
//! Does not: change the catalogue; the session writes those records in the same transaction.

use crate::expr::Expr;
use crate::plan::Plan;
use crate::schema::{SequenceDef, TableRef};
use crate::statement::Statement;
use quintet_base::{SequenceId, SpaceId, SqlError};

/// One piece of work.
#[derive(Clone, Debug)]
pub enum Work {
    /// Takes all rows of a table away that nobody else sees.
    Empty(TableRef),
    /// Fills the entries of one index from the rows of the table.
    /// Fails with 23505 if it is unique and the rows are not.
    BuildIndex {
        /// The table as it will be (with the index in it).
        table: TableRef,
        /// Number of the index in `TableDef::indexes`.
        index: usize,
    },
    /// Copies rows to the space of another definition: a table's own to a new one (new key, new column types), a
    /// partition's to a table of their own, or the other way round.
    Rewrite {
        /// As it is.
        from: TableRef,
        /// As it will be, with fresh spaces for rows and indexes, or those of a table that takes the rows in.
        to: TableRef,
        /// One per column of `to`, over the frame of `from`.
        columns: Vec<Expr>,
        /// The rows, whole, if not all of them; their frame is that of `from`.
        rows: Option<Plan>,
        /// The spaces of `to` are new: nobody else can look there before the change is committed.
        fresh: bool,
    },
    /// Removes rows with their index entries. Nobody may refer to them: foreign keys are not looked at.
    Remove {
        /// The table.
        table: TableRef,
        /// Which: whole, found by a lone scan.
        rows: Plan,
    },
    /// Refuses the change if there is such a row.
    Refuse {
        /// The table.
        table: TableRef,
        /// Rows that may not be there.
        rows: Plan,
        /// What to say then.
        error: SqlError,
    },
    /// Runs a statement over rows of the system's own tables, which goes with the change or fails and refuses it.
    Run(Box<Statement>),
    /// Refuses the change unless every row passes: SET NOT NULL (23502), ADD CHECK (23514).
    Verify {
        /// The table as it will be.
        table: TableRef,
        /// Columns that must not be NULL.
        not_null: Vec<usize>,
        /// Numbers of the checks in `TableDef::checks`.
        checks: Vec<usize>,
    },
    /// Refuses the change unless what the rows refer to by a foreign key is there (23503).
    VerifyReferences {
        /// The table as it will be.
        table: TableRef,
        /// The key's number in the table's references.
        key: usize,
    },
    /// From this commit on, writes planned against an older definition of these spaces are refused.
    Fence(Vec<SpaceId>),
    /// The spaces are no longer used after this commit.
    DropSpaces(Vec<SpaceId>),
    /// Gives a new or restarted sequence its state.
    StartSequence {
        /// Which.
        sequence: SequenceDef,
        /// Next value.
        next: i64,
    },
    /// Forgets the counter of a sequence that is dropped.
    DropSequence(SequenceId),
}
