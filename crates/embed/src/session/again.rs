//! A statement that is a transaction of its own and has lost to others is run again, before its client hears of it.
//!
//! Relies on: a transaction that is restarted keeps its locks, so what it has lost by cannot change again.  Promises: of what did not
//! commit nothing remains; nothing was told to the client.  Does not: run calls again (`call` does), or statements that give rows.

use super::execute::canceled;
use super::listening::Noted;
use super::portal::{Portal, PortalState};
use super::{Mode, Session};
use crate::contention::Kind;
use crate::step::Step;
use quintet_base::limits::CALL_RETRIES_MAX;
use quintet_base::{SqlError, SqlResult};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Of a statement that is a transaction of its own: what there was before it, and how often it has lost.
#[derive(Clone, Copy)]
pub(super) struct Alone {
    noted: Noted,
    notices: usize,
    since: i64,
    attempts: usize,
}

impl Session {
    /// A statement is about to begin: whether it may be run again.
    pub(super) fn note_if_alone(&mut self, portal: &mut Portal) {
        let begins = portal.commits && self.mode == Mode::Idle && portal.alone.is_none();
        if begins && portal.prepared.columns.is_empty() {
            portal.alone = Some(Alone {
                noted: self.noted(),
                notices: self.host.notices.get_mut().len(),
                since: self.host.clock.now_micros(),
                attempts: 0,
            });
        }
    }

    /// Has a statement that has failed begin again, if that may help; else it has failed.
    pub(super) fn run_again(&mut self, portal: &mut Portal, error: SqlError) -> SqlResult<Step> {
        let Some(alone) = portal.alone.as_mut() else {
            return Err(error);
        };
        if !error.state.is_retryable() || self.mode != Mode::Implicit {
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
        alone.since = self.note_lost(Kind::Retry, alone.since);
        self.db.retries.fetch_add(1, Ordering::Relaxed);
        self.host.notices.get_mut().truncate(alone.notices);
        self.back_to(alone.noted);
        // An empty table may have been given new spaces (`ahead`).
        self.changed_schema = None;
        match self.txn.as_mut() {
            // Others wait for what it holds, or held.
            Some(txn) if txn.is_deadlocked() => self.txn = None,
            Some(txn) => txn.restart(),
            None => {}
        }
        portal.prepared = self.current(Arc::clone(&portal.prepared), None)?;
        portal.state = PortalState::Ready;
        Ok(Step::Yielded)
    }
}
