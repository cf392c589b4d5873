//! Statements, and what a client asks for.
//!
//! Relies on: `plan`.  Promises: a statement carries everything an engine needs to run it.
//! Does not: contain session commands (BEGIN, SET, COPY …); those never become IR.

use crate::expr::Expr;
use crate::expressions::each_beside_source;
use crate::plan::Plan;
use crate::routine::Program;
use crate::schema::TableRef;
use quintet_base::{SpaceId, SqlType, TableId, TypeMod};
use std::sync::Arc;

/// What a client asks for in one go: a lone statement, or a call of a routine.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// Types of `$1 …`.
    pub params: Vec<SqlType>,
    /// What it does.
    pub body: Body,
    /// What it returns.
    pub result: Vec<OutputColumn>,
}

/// What a procedure does.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "each lives once, behind the pointer that plans are shared by"
)]
pub enum Body {
    /// One statement, whose rows are the result.
    Statement(Statement),
    /// Calls the first routine of a program; what it gives is the result.
    Call {
        /// The routine and those it calls.
        program: Arc<Program>,
        /// Its arguments, over the parameters.
        arguments: Vec<Expr>,
    },
}

impl Procedure {
    /// True if it may write, or lock rows.
    pub fn is_write(&self) -> bool {
        match &self.body {
            Body::Statement(statement) => statement.is_write(),
            Body::Call { program, .. } => program.is_write(),
        }
    }

    /// The spaces of the tables that its statements name to be written to, each perhaps several times. Not those that a foreign key
    /// reaches, or a function that an expression calls.
    pub fn spaces_written(&self) -> impl Iterator<Item = SpaceId> {
        let (statement, program) = match &self.body {
            Body::Statement(statement) => (statement.target(), None),
            Body::Call { program, .. } => (None, Some(program)),
        };
        let code = program.into_iter().flat_map(|program| program.code());
        let called = code.flat_map(|code| code.spaces_written.iter().copied());
        statement.map(|table| table.space).into_iter().chain(called)
    }

    /// True if it touches a handful of rows by key; see [`Plan::is_short`].
    pub fn is_short(&self) -> bool {
        match &self.body {
            Body::Statement(statement) => statement.is_short(),
            Body::Call { program, .. } => program.is_short(),
        }
    }

    /// True if it calls a routine.
    pub fn is_call(&self) -> bool {
        matches!(self.body, Body::Call { .. })
    }

    /// The lone statement, if it is one.
    pub fn statement(&self) -> Option<&Statement> {
        match &self.body {
            Body::Statement(statement) => Some(statement),
            Body::Call { .. } => None,
        }
    }
}

/// A column of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// Modifier.
    pub modifier: TypeMod,
    /// The table column it comes from, if it is one: table and column number from 1.
    pub origin: Option<(TableId, u16)>,
}

/// One statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Returns the rows of a plan.
    Query(Plan),
    /// Adds rows.
    Insert(Insert),
    /// Changes rows.
    Update(Update),
    /// Removes rows.
    Delete(Delete),
}

/// INSERT.
#[derive(Clone, Debug)]
pub struct Insert {
    /// Into which table.
    pub table: TableRef,
    /// Rows to insert, in a frame of their own.
    pub source: Plan,
    /// One per table column (dropped ones: NULL), over the source's frame: defaults filled in,
    /// converted and length-checked.
    pub values: Vec<Expr>,
    /// ON CONFLICT.
    pub conflict: Option<OnConflict>,
    /// RETURNING, over the new row's frame; with ON CONFLICT DO UPDATE a boolean stands behind it: whether the row was there before.
    pub returning: Option<Vec<Expr>>,
}

impl Insert {
    /// Whether rows may be there before.
    pub fn updates(&self) -> bool {
        let conflict = self.conflict.as_ref().map(|conflict| &conflict.action);
        matches!(conflict, Some(ConflictAction::Update { .. }))
    }
}

/// ON CONFLICT.
#[derive(Clone, Debug)]
pub struct OnConflict {
    /// Which key must clash for the clause to apply; `None` = any (DO NOTHING only).
    pub arbiter: Option<Arbiter>,
    /// What to do.
    pub action: ConflictAction,
}

/// A unique key of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arbiter {
    /// The primary key.
    Primary,
    /// The index with this number in `TableDef::indexes`.
    Index(usize),
}

/// What ON CONFLICT does.
#[derive(Clone, Debug)]
pub enum ConflictAction {
    /// Leaves the old row.
    Nothing,
    /// Updates the old row. Frame: the old row's frame, then the row proposed (`excluded`, all
    /// table columns).
    Update {
        /// Column numbers with their new values.
        assignments: Vec<(usize, Expr)>,
        /// WHERE: leaves the row alone unless true.
        filter: Option<Expr>,
    },
}

/// UPDATE.
#[derive(Clone, Debug)]
pub struct Update {
    /// Which table.
    pub table: TableRef,
    /// Rows to change: the table's frame first, joined tables behind it. A row that comes twice is
    /// changed once.
    pub source: Plan,
    /// Column numbers with their new values, over the source's frame.
    pub assignments: Vec<(usize, Expr)>,
    /// RETURNING, over the source's frame with the table's part replaced by the new row.
    pub returning: Option<Vec<Expr>>,
}

/// DELETE.
#[derive(Clone, Debug)]
pub struct Delete {
    /// Which table.
    pub table: TableRef,
    /// Rows to remove: the table's frame first, joined tables behind it.
    pub source: Plan,
    /// RETURNING, over the source's frame.
    pub returning: Option<Vec<Expr>>,
}

impl Statement {
    /// True if the statement may write, or lock rows.
    pub fn is_write(&self) -> bool {
        !matches!(self, Statement::Query(_))
    }

    /// The table whose rows it makes, changes or removes.
    pub fn target(&self) -> Option<&TableRef> {
        match self {
            Statement::Query(_) => None,
            Statement::Insert(insert) => Some(&insert.table),
            Statement::Update(update) => Some(&update.table),
            Statement::Delete(delete) => Some(&delete.table),
        }
    }

    /// What it is called in messages.
    pub fn tag(&self) -> &'static str {
        match self {
            Statement::Query(_) => "SELECT",
            Statement::Insert(_) => "INSERT",
            Statement::Update(_) => "UPDATE",
            Statement::Delete(_) => "DELETE",
        }
    }

    /// True if it touches a handful of rows by key; see [`Plan::is_short`].
    pub fn is_short(&self) -> bool {
        match self {
            Statement::Query(plan) => plan.is_short(),
            Statement::Insert(insert) => insert.source.is_short() && self.asks_nothing(),
            Statement::Update(update) => update.source.is_short() && self.asks_nothing(),
            Statement::Delete(delete) => delete.source.is_short() && self.asks_nothing(),
        }
    }

    /// True if no query stands in what is computed over its rows.
    fn asks_nothing(&self) -> bool {
        let mut found = false;
        each_beside_source(self, &mut |expr| found = found || expr.has_subquery());
        !found
    }
}
