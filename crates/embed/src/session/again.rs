//! A statement that has lost to others is run again, before its client hears of it: if it is a transaction of its own, or has met a
//! change of the schema at READ COMMITTED, where each statement reads at now.
//!
//! Relies on: a transaction that is restarted keeps its locks, so what it has lost by cannot change again.  Promises: of what did not
//! commit nothing remains; nothing of it was told to the client, to whom a change gives its rows when it has committed.
//! Does not: run calls again (`call` does), or a query that has given rows.
//!
//! ```text
//!   Ready ─► Running ──rows of a change──► Giving ──commit──► Rows ─► Done
//!     ▲         │                            │
//!     └─────────┴─────────── lost ───────────┘
//! ```

use super::execute::{Pulled, canceled};
use super::listening::Noted;
use super::own::Changed;
use super::planning::are_alike;
use super::portal::{Portal, PortalState};
use super::{Mode, Session};
use crate::contention::Kind;
use crate::step::{Flow, Step};
use quintet_base::limits::CALL_RETRIES_MAX;
use quintet_base::{Level, SqlError, SqlResult, SqlState, Value};
use quintet_ir::expressions::each_of_statement;
use quintet_sql::command::Command;
use quintet_tc::Txn;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Of a statement that is a transaction of its own: what there was before it, and how often it has lost.
#[derive(Clone, Copy)]
pub(super) struct Alone {
    noted: Noted,
    notices: usize,
    /// When the present attempt began, but for the first.
    since: Option<i64>,
    attempts: usize,
}

impl Session {
    /// A statement is about to begin: whether it may be run again.
    pub(super) fn note_if_alone(&mut self, portal: &mut Portal) {
        if portal.commits && self.mode == Mode::Idle && portal.alone.is_none() {
            portal.alone = Some(Alone {
                noted: self.noted(),
                notices: self.host.notices.get_mut().len(),
                since: None,
                attempts: 0,
            });
        }
    }

    /// A change that is a transaction of its own and gives rows is run to its end and committed, and its rows are to be given then.
    /// A step that comes out is to be told.
    pub(super) fn commit_before_rows(&mut self, portal: &mut Portal) -> SqlResult<Option<Step>> {
        let gives = portal.alone.is_some() && gives_rows_of_a_change(portal);
        match &mut portal.state {
            PortalState::Giving(_) => {}
            PortalState::Running(run) if gives => {
                let mut rows = VecDeque::new();
                let mut keep = |row: &[Value]| {
                    rows.push_back(row.to_vec());
                    Ok(Flow::Continue)
                };
                let pulled = self.pull(run, &portal.params, 0, &mut 0, &mut keep);
                match pulled {
                    Err(_) if self.host.moment_is_over.get() => {
                        run.begin_again();
                        return Ok(Some(Step::Yielded));
                    }
                    Err(error) => return self.run_again(portal, error).map(Some),
                    Ok(Pulled::Wait(pause)) => return Ok(Some(Step::Wait(pause))),
                    Ok(_) => {}
                }
                self.host.moment_is_over.set(false);
                self.set_what_was_wanted()?;
                portal.state = PortalState::Giving(rows);
            }
            _ => return Ok(None),
        }
        match self.commit_or_keep() {
            Ok(None) => {}
            Ok(Some(pause)) => return Ok(Some(Step::Wait(pause))),
            Err(error) => return self.run_again(portal, error).map(Some),
        }
        if let PortalState::Giving(rows) = &mut portal.state {
            portal.state = PortalState::Rows(std::mem::take(rows));
        }
        Ok(None)
    }

    /// Has a statement that has failed begin again, if that may help; else it has failed.
    pub(super) fn run_again(&mut self, portal: &mut Portal, error: SqlError) -> SqlResult<Step> {
        let Some(alone) = portal.alone.as_mut() else {
            return self.begin_anew(portal, error);
        };
        let may = error.state.is_retryable() && self.mode == Mode::Implicit && portal.rows == 0;
        if !may {
            return Err(error);
        }
        if self.cancel.swap(false, Ordering::AcqRel) {
            return Err(canceled());
        }
        if alone.attempts >= CALL_RETRIES_MAX {
            return Err(error.detail(format!(
                "The statement was run {} times and lost each time.",
                alone.attempts + 1
            )));
        }
        alone.attempts += 1;
        let since = alone.since.unwrap_or(self.host.statement_time);
        alone.since = Some(self.note_lost(Kind::Retry, since));
        self.db.retries.fetch_add(1, Ordering::Relaxed);
        self.host.notices.get_mut().truncate(alone.notices);
        self.back_to(alone.noted);
        // An empty table may have been given new spaces (`ahead`).
        self.changed = Changed::default();
        self.show_own();
        match self.txn.as_mut() {
            // Others wait for what it holds, or held.
            Some(txn) if txn.is_deadlocked() => self.txn = None,
            Some(txn) => txn.restart(),
            None => {}
        }
        self.plan_anew(portal, error)
    }

    /// The same for one statement of several: the others stand, and nothing of this one remains.
    fn begin_anew(&mut self, portal: &mut Portal, error: SqlError) -> SqlResult<Step> {
        let may = error.state == SqlState::SERIALIZATION_FAILURE
            && self.level == Level::ReadCommitted
            && portal.rows == 0
            && portal.begun_anew < CALL_RETRIES_MAX
            && !self.txn.as_ref().is_some_and(Txn::is_spoilt)
            && loses_by_schema_alone(portal);
        if !may {
            return Err(error);
        }
        if self.cancel.swap(false, Ordering::AcqRel) {
            return Err(canceled());
        }
        portal.begun_anew += 1;
        self.db.wait_for_schema();
        self.plan_anew(portal, error)
    }

    pub(super) fn plan_anew(&mut self, portal: &mut Portal, error: SqlError) -> SqlResult<Step> {
        let again = self.current(Arc::clone(&portal.prepared), None)?;
        // The client may have been told of them.
        if !are_alike(&again.columns, &portal.prepared.columns) {
            return Err(error);
        }
        portal.prepared = again;
        portal.state = PortalState::Ready;
        Ok(Step::Yielded)
    }
}

/// Whether nothing else can have it lost at READ COMMITTED: a routine could have said so by itself.
fn loses_by_schema_alone(portal: &Portal) -> bool {
    let Command::Run(procedure) = &portal.prepared.planned.command else {
        return false;
    };
    let mut calls = false;
    let statement = procedure.statement();
    if let Some(statement) = statement {
        each_of_statement(statement, &mut |expr, _| calls |= expr.calls_routine());
    }
    statement.is_some() && !calls
}

fn gives_rows_of_a_change(portal: &Portal) -> bool {
    let prepared = &portal.prepared;
    !prepared.columns.is_empty()
        && matches!(&prepared.planned.command, Command::Run(procedure) if !procedure.is_call() && procedure.is_write())
}
