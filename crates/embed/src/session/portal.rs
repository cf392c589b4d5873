//! A statement bound to values, and how far it has come.
//!
//! Relies on: nothing but the states of what it may be doing.  Promises: it can be put aside at any step and gone on
//! with later.  Does not: take a step by itself (`execute`), or know its name (`extended`).

use super::advising::Advising;
use super::again::Alone;
use super::batched::Batched;
use super::call::Calling;
use super::cursors::Scroll;
use super::feed::FeedRows;
use super::late::Truncating;
use super::line::Queued;
use super::planning::Prepared;
use quintet_base::{SqlError, SqlState, Value};
use quintet_direct::Run;
use quintet_sql::command::CopyTo;
use std::collections::VecDeque;
use std::sync::Arc;

/// A statement bound to values, and how far it has come.
pub(super) struct Portal {
    pub(super) prepared: Arc<Prepared>,
    /// As it was sent, if it was planned without its literals.
    pub(super) text: Option<Arc<str>>,
    pub(super) params: Vec<Value>,
    pub(super) state: PortalState,
    /// It has been run, and perhaps waits: a cancel request since then is for it.
    pub(super) begun: bool,
    /// Tell the sink the columns first.
    pub(super) announce: bool,
    /// Last statement of a simple query: commits an implicit transaction before it is answered.
    pub(super) commits: bool,
    /// It is a transaction of its own that gives no rows.
    pub(super) alone: Option<Alone>,
    /// Triggers that a TRUNCATE fires.
    pub(super) truncating: Option<Box<Truncating>>,
    /// How often it was begun anew at READ COMMITTED, since the schema had changed.
    pub(super) begun_anew: usize,
    /// Given so far.
    pub(super) rows: u64,
    /// Of these, as many as had been given when it was last suspended.
    pub(super) told: u64,
    /// Each row has the key of a table's row behind its columns.
    pub(super) keyed: Option<Box<Keyed>>,
    /// A cursor WITH HOLD, which the end of a transaction leaves alone.
    pub(super) held: bool,
}

/// A cursor's rows with keys behind them.
pub(super) struct Keyed {
    /// So many columns are its own.
    pub columns: usize,
    /// The key of the row that was given last.
    pub last: Option<Vec<Value>>,
}

impl Keyed {
    /// Takes the key from a row.
    pub fn split(&mut self, row: &mut Vec<Value>) {
        if row.len() > self.columns {
            self.last = Some(row.split_off(self.columns));
        }
    }
}

pub(super) enum PortalState {
    Ready,
    Running(Box<Run>),
    /// An INSERT was too large for an empty table, and begins again with new spaces for it, or is refused like this.
    Renewing(Box<SqlError>),
    /// What a change has given, which is being committed; see `again`.
    Giving(VecDeque<Vec<Value>>),
    /// A call that waits for those before it.
    Queued(Box<Queued>),
    /// A call that is in line for a batch, or in one.
    Batched(Box<Batched>),
    Calling(Box<Calling>),
    /// Calls of functions of advisory locks, and of `pg_sleep`.
    Advising(Box<Advising>),
    /// A result that was made whole: SHOW, EXPLAIN, held cursors.
    Rows(VecDeque<Vec<Value>>),
    /// A cursor with SCROLL.
    Scroll(Scroll),
    CopyOut(Box<Run>, Arc<CopyTo>),
    Feeding(FeedRows),
    /// The command is done; its transaction is being committed.
    Committing(Option<String>),
    Done(Option<String>),
}

impl Portal {
    /// It is a statement whose routine may say COMMIT and ROLLBACK, if it is a transaction of its own.
    pub(super) fn ends_transactions(&self) -> bool {
        matches!(self.prepared.planned.tag, "CALL" | "DO")
    }

    pub(super) fn new(prepared: Arc<Prepared>, params: Vec<Value>) -> Portal {
        Portal {
            prepared,
            text: None,
            params,
            state: PortalState::Ready,
            begun: false,
            announce: false,
            commits: false,
            alone: None,
            truncating: None,
            begun_anew: 0,
            rows: 0,
            told: 0,
            keyed: None,
            held: false,
        }
    }
}

pub(super) fn portal_is_there(name: &str) -> SqlError {
    let message = format!("cursor \"{name}\" already exists");
    SqlError::new(SqlState::DUPLICATE_CURSOR, message)
}

pub(super) fn no_portal(name: &str) -> SqlError {
    let kind = if name.is_empty() { "portal" } else { "cursor" };
    SqlError::new(
        SqlState::INVALID_CURSOR_NAME,
        format!("{kind} \"{name}\" does not exist"),
    )
}
