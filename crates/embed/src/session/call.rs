//! Calls of routines, run again where they lose a conflict.
//!
//! Relies on: `direct::Run`, which tells a lost conflict from an error that a routine raises itself.
//! Promises: a call that is a transaction of its own commits before its client sees any of it, and a
//! conflict that it loses is not the client's: it is run again, in its place if it was in line, at most
//! [`quintet_base::limits::CALL_RETRIES_MAX`] times. The first
//! [`quintet_base::limits::CALL_OPTIMISTIC_RUNS`] attempts lock nothing; a later one queues for
//! the row that the last was lost by, and has the locks of those before, so that nobody overtakes it again
//! on those rows; the locks' queues are in the order of arrival.
//! If the schema has changed under it, it is planned anew first.
//! COMMIT in a call commits like its end does, and the call goes on in another transaction: from then on it is not
//! run again.  Inside BEGIN it begins anew at READ COMMITTED alone, and only where the schema has changed.
//! Does not: run anything again after a deadlock with what it held.
//!
//! ```text
//!   run, optimistic ──► commit ──► answer
//!     ▲     │ lost        │ lost
//!     └─────┴─────────────┴──► new snapshot, no effects; too often: lock what it was lost by, run ──► commit …
//! ```

use super::dynamic::Dynamic;
use super::execute::{Pulled, canceled, only_calls_commit};
use super::listening::Noted;
use super::portal::{Portal, PortalState};
use super::transaction::durability;
use super::{Mode, Session};
use crate::batches::Hold;
use crate::chains::Place;
use crate::contention::Kind;
use crate::step::{Pause, Reason, Step};
use quintet_base::limits::{CALL_OPTIMISTIC_RUNS, CALL_RETRIES_MAX};
use quintet_base::{Bytes, Durability, Level, SpaceId, SqlError, SqlResult, Timestamp, Value};
use quintet_direct::{Run, translate};
use quintet_engine::Engine;
use quintet_tc::{ConflictKind, Error as TcError, Mark, Txn};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// A call and how far it has come.
pub(super) struct Calling {
    run: Run,
    /// Its result, held back until nothing can go wrong any more.
    pub rows: VecDeque<Vec<Value>>,
    /// It is a transaction of its own.
    alone: bool,
    /// Its body has come to its end.
    ended: bool,
    /// Its body has come to a COMMIT.
    parting: bool,
    /// Some of it is committed: it cannot be run again.
    parted: bool,
    attempts: usize,
    /// When the attempt at hand began.
    since: i64,
    /// How many notices there were before it.
    notices: usize,
    /// What the transaction had said before it.
    noted: Noted,
    /// To be locked before it is run again.
    contested: Option<(SpaceId, Bytes)>,
    /// Others wait until it has committed, if it was in line itself.
    place: Option<Place>,
    /// Calls that would be in a batch with it wait until it has committed, if it was put out of one.
    hold: Option<Hold>,
    /// What becomes of it decides how others are run.
    routed: bool,
    /// What it was planned with, once a part of it is committed.
    schema: Timestamp,
    /// Which schema that was.
    revision: u64,
    /// It has lost to a change of the schema: it is to be planned anew.
    pub outdated: bool,
    /// Of one some of whose statements are planned when it comes to them: such a call is run once.
    dynamic: Option<Box<Dynamic>>,
    /// Where one of several statements at READ COMMITTED began: nothing of it remains behind that, and it may begin anew.
    began: Option<Mark>,
}

impl Calling {
    /// It begins with its turn in line.
    pub fn hold(&mut self, place: Place) {
        self.place = Some(place);
    }

    /// Those behind it need not wait any more: it is visible, or will never be.
    pub fn let_go(&mut self) {
        self.place = None;
        self.hold = None;
    }

    /// Nothing of it remains, or need remain.
    fn may_begin_anew(&self) -> bool {
        self.may_be_run_again() || self.began.is_some()
    }

    /// It is a transaction of its own, and nothing of it remains.
    fn may_be_run_again(&self) -> bool {
        let dynamic = self.dynamic.as_ref();
        self.alone && !self.parted && dynamic.is_none_or(|dynamic| dynamic.may_begin_anew())
    }

    /// What it has done so far is committed.
    fn part(&mut self, schema: Timestamp) {
        self.parted = true;
        self.schema = schema;
    }

    /// It was put out of a batch.
    pub fn keep_hold(&mut self, hold: Option<Hold>) {
        self.hold = hold;
    }
}

impl Session {
    /// A call of a portal that begins with `run`. If the portal commits, nothing else is to follow in its transaction.
    pub(super) fn begin_call(&mut self, portal: &Portal, run: Run) -> Calling {
        let dynamic = Dynamic::of(portal);
        let alone = portal.commits && self.mode == Mode::Implicit;
        let fresh = self.txn.as_mut().filter(|txn| alone && txn.is_fresh());
        let alone = fresh.is_some();
        if let Some(txn) = fresh
            && dynamic.is_none()
        {
            txn.write_optimistically();
        }
        if alone {
            self.lock_reads_if_asked();
        }
        self.host.alone = alone && portal.ends_transactions();
        let txn = self.txn.as_ref();
        let txn = txn.filter(|_| !alone && dynamic.is_none() && self.level == Level::ReadCommitted);
        let began = txn.map(Txn::mark);
        Calling {
            run,
            rows: VecDeque::new(),
            alone,
            ended: false,
            parting: false,
            parted: false,
            attempts: 0,
            since: self.host.statement_time,
            notices: self.host.notices.get_mut().len(),
            noted: self.noted(),
            contested: None,
            place: None,
            hold: None,
            routed: std::mem::take(&mut self.routed),
            schema: Timestamp::default(),
            revision: portal.prepared.revision,
            outdated: false,
            dynamic,
            began,
        }
    }

    /// Goes on with a call. `None`: its rows are there, and it is committed if it is alone.
    pub(super) fn advance_call(
        &mut self,
        calling: &mut Calling,
        params: &[Value],
    ) -> SqlResult<Option<Pause>> {
        loop {
            if let Some(pause) = self.lock_contested(calling)? {
                return Ok(Some(pause));
            }
            if calling.parting && self.txn.is_none() {
                if let Some(pause) = self.await_disk()? {
                    return Ok(Some(pause));
                }
                self.begin_part(calling);
            }
            if let Some(dynamic) = calling.dynamic.as_mut().filter(|dynamic| dynamic.is_busy())
                && let Some(pause) = self.answer_call(&mut calling.run, dynamic)?
            {
                return Ok(Some(pause));
            }
            if !calling.ended && !calling.parting {
                let Calling { run, rows, .. } = calling;
                match self.pull_call(run, params, rows) {
                    Ok(Pulled::Wait(pause)) => return Ok(Some(pause)),
                    Ok(Pulled::Commit) => calling.parting = true,
                    Ok(Pulled::Ask) => {
                        let Some(dynamic) = &mut calling.dynamic else {
                            return Err(only_calls_commit());
                        };
                        match self.answer_call(&mut calling.run, dynamic)? {
                            Some(pause) => return Ok(Some(pause)),
                            None => continue,
                        }
                    }
                    Ok(_) => calling.ended = true,
                    Err(error) if calling.may_begin_anew() && calling.run.is_lost() => {
                        self.db.wait_for_schema();
                        calling.outdated = self.schema().revision != calling.revision;
                        if calling.outdated || !calling.may_be_run_again() {
                            return Err(error);
                        }
                        self.again(calling, error)?;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            if let Some(pause) = self.commit_part(calling)? {
                return Ok(Some(pause));
            }
            if calling.parting && self.txn.is_none() {
                continue;
            }
            // One that may change the schema commits like any other statement.
            let may_change = calling.dynamic.as_deref();
            let may_change = may_change.is_some_and(|dynamic| !dynamic.may_begin_anew());
            if !calling.alone || may_change {
                return Ok(None);
            }
            if self.pending.is_some() {
                return self.await_disk();
            }
            let ready = match self.check_deferred() {
                Ok(None) => self.empty_temporary(),
                other => other,
            };
            match ready {
                Ok(None) => {}
                Ok(pause) => return Ok(pause),
                Err(error) if error.state.is_retryable() && calling.may_be_run_again() => {
                    self.again(calling, error)?;
                    continue;
                }
                Err(error) => return Err(error),
            }
            let Some(txn) = self.txn.as_mut() else {
                return Ok(None);
            };
            let schema = txn.schema();
            let changed = self.changed.schema.as_ref();
            let unpublished = changed.map(|_| self.db.about_to_publish(self.changed.shared));
            let durability = durability(&self.db, &self.host);
            // A part of a call is not waited for.
            let waits = durability == Durability::Sync && !calling.parting;
            txn.commit_quietly(waits && self.db.log.is_alone(&self.committer));
            let committed = txn.commit_or_keep(durability);
            // Of what has failed nobody waits to be told.
            let unpublished = unpublished.filter(|_| committed.is_ok());
            match committed {
                Ok(committed) => {
                    self.publish_schema(committed.timestamp);
                    drop(unpublished);
                    self.note_committed(committed.timestamp);
                    self.txn = None;
                    if calling.parting {
                        calling.part(schema);
                        self.end_transaction(true);
                        self.pending = committed.durable_at;
                        continue;
                    }
                    if calling.routed {
                        let lost = u32::try_from(calling.attempts).unwrap_or(u32::MAX);
                        self.db.batches.route(self.level).note(lost);
                    }
                    self.end_transaction(true);
                    calling.let_go();
                    self.pending = committed.durable_at;
                    return self.await_disk();
                }
                Err(TcError::Blocked(wait)) => {
                    // Nothing is in the log yet: it can still be left.
                    if self.cancel.swap(false, Ordering::AcqRel) {
                        return Err(canceled());
                    }
                    return Ok(Some(Pause(Reason::Row(wait))));
                }
                Err(error) => {
                    calling.outdated = calling.may_be_run_again() && is_by_schema(&error);
                    let (may_do, contested) = match &error {
                        _ if is_by_schema(&error) => (false, None),
                        TcError::Conflict { space, key, .. } => {
                            (true, key.clone().map(|key| (*space, key)))
                        }
                        TcError::SnapshotTooOld | TcError::Deadlock => (true, None),
                        _ => (false, None),
                    };
                    let told = {
                        let names = self.host.schema.catalog_names();
                        translate(error, self.level, &names)
                    };
                    if calling.outdated {
                        return Err(told);
                    }
                    if !may_do || !calling.may_be_run_again() {
                        self.txn = None;
                        self.end_transaction(false);
                        return Err(told);
                    }
                    if calling.attempts + 1 >= CALL_OPTIMISTIC_RUNS {
                        calling.contested = contested;
                    }
                    self.again(calling, told)?;
                }
            }
        }
    }

    /// Commits what a call that may change the schema has done so far, if it wants that.
    fn commit_part(&mut self, calling: &mut Calling) -> SqlResult<Option<Pause>> {
        if !calling.parting || calling.dynamic.is_none() || self.txn.is_none() {
            return Ok(None);
        }
        let pause = self.commit()?;
        // What it waits for is the disk, if it is committed, and the call sees to that itself.
        Ok(pause.filter(|_| self.txn.is_some()))
    }

    /// The call goes on in another transaction.
    fn begin_part(&mut self, calling: &mut Calling) {
        self.enter_statement();
        // What it has changed itself is everybody's now.
        let schema = match &calling.dynamic {
            Some(_) => self.schema().timestamp,
            None => calling.schema,
        };
        self.ensure_txn(schema);
        self.lock_reads_if_asked();
        self.host.alone = true;
        calling.parting = false;
    }

    /// Gets a lost call ready to be run again, or gives up.
    fn again(&mut self, calling: &mut Calling, error: SqlError) -> SqlResult<()> {
        if self.cancel.swap(false, Ordering::AcqRel) {
            return Err(canceled());
        }
        if calling.attempts >= CALL_RETRIES_MAX {
            return Err(error.detail(format!(
                "The call was run {} times and lost each time.",
                calling.attempts + 1
            )));
        }
        calling.attempts += 1;
        calling.since = self.note_lost(Kind::Retry, calling.since);
        self.db.retries.fetch_add(1, Ordering::Relaxed);
        self.host.notices.get_mut().truncate(calling.notices);
        self.back_to(calling.noted);
        calling.rows.clear();
        calling.ended = false;
        calling.parting = false;
        calling.run.begin_again();
        if let Some(dynamic) = &mut calling.dynamic {
            dynamic.begin_again();
        }
        match self.txn.as_mut() {
            // Others wait for what it holds, or held.
            Some(txn) if txn.is_deadlocked() => {
                let schema = txn.schema();
                self.txn = None;
                self.ensure_txn(schema);
                self.lock_reads_if_asked();
            }
            Some(txn) => {
                txn.restart();
                if calling.attempts < CALL_OPTIMISTIC_RUNS {
                    txn.write_optimistically();
                }
            }
            None => return Err(error),
        }
        Ok(())
    }

    /// Has a call that has lost to a change of the schema planned anew and begun again, or gives up.
    pub(super) fn call_anew(&mut self, portal: &mut Portal, error: SqlError) -> SqlResult<Step> {
        let PortalState::Calling(calling) = &mut portal.state else {
            return Err(error);
        };
        if self.cancel.swap(false, Ordering::AcqRel) {
            return Err(canceled());
        }
        if portal.begun_anew >= CALL_RETRIES_MAX {
            return Err(error.detail("The schema has changed during each attempt."));
        }
        portal.begun_anew += 1;
        self.note_lost(Kind::Retry, calling.since);
        self.db.retries.fetch_add(1, Ordering::Relaxed);
        self.host.notices.get_mut().truncate(calling.notices);
        self.back_to(calling.noted);
        calling.run.give_back(&mut portal.params);
        match (self.txn.as_mut(), calling.began) {
            (Some(txn), Some(began)) => txn.rollback_to(began),
            _ => self.txn = None,
        }
        self.db.wait_for_schema();
        self.plan_anew(portal, error)
    }

    /// The engine to compare with. READ COMMITTED writes what it finds, so who locks what he reads and writes loses
    /// nothing; a stronger level would be refused for its snapshot.
    fn lock_reads_if_asked(&mut self) {
        if self.host.settings.engine == Engine::Locking
            && self.level == Level::ReadCommitted
            && let Some(txn) = self.txn.as_mut()
        {
            txn.lock_reads();
        }
    }

    /// Queues for the row that the last attempt was lost by.
    fn lock_contested(&mut self, calling: &mut Calling) -> SqlResult<Option<Pause>> {
        let Some(contested) = calling.contested.take() else {
            return Ok(None);
        };
        let Some(txn) = self.txn.as_mut() else {
            return Ok(None);
        };
        match txn.lock_only(contested.0, &contested.1) {
            Ok(()) => {
                // What it reads from here on is what it holds.
                txn.restart();
                Ok(None)
            }
            Err(TcError::Blocked(wait)) => {
                if self.cancel.swap(false, Ordering::AcqRel) {
                    return Err(canceled());
                }
                calling.contested = Some(contested);
                Ok(Some(Pause(Reason::Row(wait))))
            }
            Err(TcError::Deadlock) => {
                let schema = txn.schema();
                self.txn = None;
                self.ensure_txn(schema);
                self.lock_reads_if_asked();
                Ok(None)
            }
            Err(_) => Ok(None),
        }
    }
}

fn is_by_schema(error: &TcError) -> bool {
    matches!(error, TcError::Conflict { kind, .. } if *kind == ConflictKind::Schema)
}
