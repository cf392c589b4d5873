//! What is called: a database that takes SQL, behind a network or in this process.
//!
//! Relies on: nothing.  Promises: nothing by itself; it is the contract between `caller`, `loading` and
//! the databases.  Does not: run a transaction again, or say which SQLSTATE means that it may be.
//!
//! All of it is asynchronous, so that many clients wait on few threads. A connection stays on the
//! thread that made it.

use crate::Error;
use crate::calls::State;
use crate::target::{Compaction, Counters};
use quintet_base::Level;
use quintet_workloads::{Call, Piece, Procedure};
use std::future::Future;

/// How a call was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Committed and, as far as the setting asks, durable; with what it counted, if its procedure counts.
    Done(i64),
    /// Committed likewise, with the text that its procedure answers.
    Said(String),
    /// Undone.
    Failed(Failure),
}

/// An error of the database's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its SQLSTATE.
    pub state: State,
    /// What it said.
    pub message: String,
}

impl Failure {
    /// The SQLSTATE as text.
    pub fn state_text(&self) -> String {
        String::from_utf8_lossy(&self.state).into_owned()
    }

    /// As the end of a run.
    pub(crate) fn into_error(self, doing: impl Into<String>) -> Error {
        Error::Statement {
            doing: doing.into(),
            state: self.state_text(),
            message: self.message,
        }
    }
}

/// A database.
pub trait System: Sync {
    /// A connection to it.
    type Connection: Connection;

    /// A call may run to its end without giving other clients of its thread a turn.
    const BLOCKS: bool;

    /// A new connection at the level asked for.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, Error>>;

    /// What its log has done; none if nobody counts.
    fn counters(&self) -> Option<Counters> {
        None
    }

    /// What goes on behind; nothing if nobody says.
    fn compaction(&self) -> Compaction {
        Compaction::default()
    }
}

/// A connection.
pub trait Connection {
    /// Makes ready for calls of these procedures, which exist.
    fn prepare(
        &mut self,
        procedures: &'static [Procedure],
    ) -> impl Future<Output = Result<(), Error>>;

    /// Runs one call.
    fn call(&mut self, call: &Call) -> impl Future<Output = Result<Reply, Error>>;

    /// Runs statements that answer nothing of interest.
    fn run(&mut self, sql: &str) -> impl Future<Output = Result<Result<(), Failure>, Error>>;

    /// Runs one query; its rows as text.
    fn query(
        &mut self,
        sql: &str,
    ) -> impl Future<Output = Result<Result<TextRows, Failure>, Error>>;

    /// Takes rows into a table.
    fn copy(&mut self, piece: &Piece) -> impl Future<Output = Result<Result<(), Failure>, Error>>;
}

/// Rows as text, `None` for NULL.
pub type TextRows = Vec<Vec<Option<String>>>;

/// What a session of a level sets first, and then these besides.
pub(crate) fn session_settings(level: Level, settings: &[(String, String)]) -> String {
    let level = ("default_transaction_isolation", level.sql_name());
    let besides = settings
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let set =
        |(name, value): (&str, &str)| format!("SET {name} TO '{}';", value.replace('\'', "''"));
    std::iter::once(level).chain(besides).map(set).collect()
}
