//! Dynamic SQL: statements of a routine that are planned when they are reached; and what a routine does to cursors of the session.
//!
//! Relies on: `expr`.  Promises: what such a step gives to others is in slots of known types, whatever its text says; the
//! places where a call can go on in a routine that was made anew are marked, and what its variables are there.  Does not:
//! plan or run anything.
//!
//! A statement that changes the schema, and the text of an EXECUTE, cannot be planned with the rest of a routine. The step is
//! given to who can plan it, and the routine may be made anew then, as the schema and what it has found say: its slots and
//! its places are others, its variables and its source are the same. [`Landmark`]s tell how to get from one to the other.

use crate::cursors::Way;
use crate::expr::Expr;
use crate::privilege::Needs;
use crate::routine::Step;
use crate::statement::{OutputColumn, Procedure, Statement};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TableId, TypeMod};
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
    /// No statement, but something about the cursor whose name the text is.
    pub cursor: Option<CursorStep>,
}

/// What a routine does to a cursor of the session.
#[derive(Clone, PartialEq, Debug)]
pub struct CursorStep {
    /// The variable that has its name.
    pub variable: String,
    /// What.
    pub what: CursorAction,
}

impl CursorStep {
    /// What is done, in a word.
    pub fn word(&self) -> &'static str {
        match &self.what {
            CursorAction::Open { .. } => "open",
            CursorAction::Keep => "fill",
            CursorAction::Fetch { moves: false, .. } => "fetch",
            CursorAction::Fetch { moves: true, .. } => "move",
            CursorAction::Close => "close",
            CursorAction::Current { .. } => "current",
        }
    }
}

/// See [`CursorStep`].
#[derive(Clone, PartialEq, Debug)]
pub enum CursorAction {
    /// OPEN, without rows yet. The row of the step is the cursor's name, which is made if there is none.
    Open {
        /// The columns of its rows.
        fields: Vec<Field>,
        /// Behind them stands the key of a row of this table.
        of: Option<TableId>,
        /// It may go back.
        back: bool,
        /// A loop goes through it.
        pinned: bool,
        /// Its query.
        source: String,
    },
    /// One more row for it: the arguments.
    Keep,
    /// FETCH and MOVE. The argument says how far; without one it is to the end.
    Fetch {
        /// Which way.
        direction: Direction,
        /// MOVE: no row is wanted.
        moves: bool,
        /// What the routine was made for, if the rows go to a record.
        fields: Option<Vec<Field>>,
    },
    /// CLOSE.
    Close,
    /// WHERE CURRENT OF: the row of the step is the key of the row of this table that the cursor stands on.
    Current {
        /// Which.
        table: TableId,
        /// Its name.
        called: String,
    },
}

/// A column of a cursor's rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// Its modifier.
    pub modifier: TypeMod,
}

impl Field {
    /// What there is to know of these columns.
    pub fn of(columns: &[OutputColumn]) -> Vec<Field> {
        let field = |column: &OutputColumn| Field {
            name: column.name.clone(),
            ty: column.ty,
            modifier: column.modifier,
        };
        columns.iter().map(field).collect()
    }

    /// As a column of a result.
    pub fn column(&self) -> OutputColumn {
        OutputColumn {
            name: self.name.clone(),
            ty: self.ty,
            modifier: self.modifier,
            origin: None,
        }
    }
}

/// How FETCH counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Direction {
    Forward,
    Backward,
    Absolute,
    Relative,
}

impl Direction {
    /// The way that it is with a count, or to the end; a count below 0 turns it round.
    pub fn way(self, count: Option<i64>) -> Way {
        let ahead = |forward: bool| match (forward, count) {
            (true, None) => Way::Forward(None),
            (false, None) => Way::Backward(None),
            (forward, Some(count)) if forward == (count >= 0) => {
                Way::Forward(Some(count.unsigned_abs()))
            }
            (_, Some(count)) => Way::Backward(Some(count.unsigned_abs())),
        };
        match self {
            Direction::Forward => ahead(true),
            Direction::Backward => ahead(false),
            Direction::Absolute => Way::Absolute(count.unwrap_or(i64::MAX)),
            Direction::Relative => Way::Relative(count.unwrap_or(i64::MAX)),
        }
    }
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
        match self.write_tag() {
            Some(tag) => Err(not_volatile(tag)),
            None => Ok(()),
        }
    }

    /// What a change of rows is called.
    pub fn write_tag(&self) -> Option<&'static str> {
        match self.procedure.statement()? {
            Statement::Insert(_) => Some("INSERT"),
            Statement::Update(_) => Some("UPDATE"),
            Statement::Delete(_) => Some("DELETE"),
            Statement::Query(_) => None,
        }
    }
}

/// `42P11`: a cursor over what gives no rows.
pub fn no_cursor_over(tag: &str) -> SqlError {
    let message = format!("cannot open {tag} query as cursor");
    SqlError::new(SqlState(*b"42P11"), message)
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
    /// They are those of the open cursor whose name is in this slot.
    Opened(usize),
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
