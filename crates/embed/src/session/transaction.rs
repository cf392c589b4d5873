//! Begin, commit, roll back, savepoints, failure.
//!
//! Relies on: `tc::Txn`.  Promises: after an error inside BEGIN only its end is accepted; a commit is
//! answered only when its durability says so; an unknown outcome is never called a failure.
//! Does not: begin a `Txn` before a statement needs one, so that BEGIN costs nothing and the snapshot is
//! as fresh as can be.

#[cfg(test)]
mod tests;

use super::execute::{canceled, only_calls_commit};
use super::planning::Source;
use super::portal::{Portal, PortalState};
use super::{Mode, Savepoint, Session};
use crate::database::Inner;
use crate::host::SessionHost;
use crate::step::{Pause, Reason, Step};
use quintet_base::{ConstraintId, Durability, Level, SqlError, SqlResult, SqlState, Timestamp};
use quintet_direct::{Context, Stop, translate};
use quintet_sql::command::{Notice, TransactionModes};
use quintet_tc::{Error as TcError, Txn};
use std::sync::atomic::Ordering;

impl Session {
    /// Anything but the end of the transaction is refused after an error.
    pub(super) fn refuse_if_failed(&self, source: &Source) -> SqlResult<()> {
        if self.mode == Mode::Failed && !source.parsed.ends_transaction() {
            return Err(SqlError::new(
                SqlState::IN_FAILED_SQL_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            ));
        }
        Ok(())
    }

    /// A statement begins: time moves on, and outside BEGIN an implicit transaction opens.
    pub(super) fn enter_statement(&mut self) {
        let now = match std::mem::take(&mut self.begun_at) {
            0 => self.host.clock.now_micros(),
            begun => begun,
        };
        self.host.statement_time = now;
        self.host.alone = false;
        self.show_opened();
        if self.mode == Mode::Idle {
            self.mode = Mode::Implicit;
            self.host.transaction_time = now;
            let often = self.host.settings.often();
            (self.level, self.uncommitted) = (often.level, often.uncommitted);
            self.host.read_only = often.read_only;
            self.host.level_name = self.level.shown_name(self.uncommitted);
        }
    }

    /// `pg_cursors` shows what routines have opened until now.
    fn show_opened(&mut self) {
        let cursors = self.host.cursors.get_mut();
        let any = cursors.all().next().is_some();
        if any || self.shows_opened {
            self.portals.cursors.show_opened(cursors);
            self.shows_opened = any;
        }
    }

    /// The transaction to run in, planned with the schema of this age.
    pub(super) fn ensure_txn(&mut self, schema: Timestamp) {
        self.ensure_txn_at(self.level, schema);
    }

    /// The same at another level than the session's.
    pub(super) fn ensure_txn_at(&mut self, level: Level, schema: Timestamp) -> &mut Txn {
        let (direct, slot) = (&self.db.direct, &self.present.slot);
        let begin = || {
            let txn = direct.begin(level);
            slot.runs(Some(txn.id()));
            txn
        };
        let txn = self.txn.get_or_insert_with(begin);
        txn.use_schema(schema);
        txn
    }

    /// Where the session wants to read the past, the transaction that is about to begin does, and only reads.
    ///
    /// # Errors
    /// As [`crate::history::History::at`].
    pub(super) fn enter_past(&mut self) -> SqlResult<()> {
        let Some(as_of) = self.host.settings.as_of else {
            return Ok(());
        };
        if self.txn.is_some() {
            return Ok(());
        }
        self.enter_statement();
        let moment = self.db.history.at(as_of, self.host.transaction_time)?;
        let txn = self.db.direct.begin_at(&moment.snapshot);
        self.past = Some(moment.schema);
        self.present.slot.runs(Some(txn.id()));
        (self.level, self.host.read_only) = (txn.level(), true);
        self.host.level_name = self.level.shown_name(self.uncommitted);
        self.txn = Some(txn);
        Ok(())
    }

    pub(super) fn begin(&mut self, modes: TransactionModes) -> SqlResult<()> {
        match self.mode {
            Mode::Explicit | Mode::Failed => {
                self.warn(
                    SqlState::ACTIVE_SQL_TRANSACTION,
                    "there is already a transaction in progress",
                );
                return Ok(());
            }
            Mode::Idle | Mode::Implicit => {}
        }
        if self.txn.is_none() {
            self.enter_statement();
            self.host.transaction_time = self.host.statement_time;
        }
        self.mode = Mode::Explicit;
        self.set_modes(modes)
    }

    /// Applies SET TRANSACTION or the modes of BEGIN.
    pub(super) fn set_modes(&mut self, modes: TransactionModes) -> SqlResult<()> {
        if let Some(level) = modes.level
            && level != self.level
        {
            if self.txn.is_some() {
                return Err(SqlError::new(
                    SqlState::ACTIVE_SQL_TRANSACTION,
                    "SET TRANSACTION ISOLATION LEVEL must be called before any query",
                ));
            }
            self.level = level;
        }
        if modes.level.is_some() {
            self.uncommitted = modes.uncommitted;
            self.host.level_name = self.level.shown_name(self.uncommitted);
        }
        if modes.deferrable.is_some() {
            if self.txn.is_some() {
                return Err(SqlError::new(
                    SqlState::ACTIVE_SQL_TRANSACTION,
                    "SET TRANSACTION [NOT] DEFERRABLE must be called before any query",
                ));
            }
            self.host.deferrable = modes.deferrable;
        }
        if let Some(read_only) = modes.read_only {
            if self.host.read_only && !read_only && !self.savepoints.is_empty() {
                return Err(SqlError::new(
                    SqlState::ACTIVE_SQL_TRANSACTION,
                    "cannot set transaction read-write mode inside a read-only transaction",
                ));
            }
            if self.host.read_only && !read_only && self.txn.is_some() {
                return Err(SqlError::new(
                    SqlState::ACTIVE_SQL_TRANSACTION,
                    "transaction read-write mode must be set before any query",
                ));
            }
            self.host.read_only = read_only;
        }
        Ok(())
    }

    /// As [`Session::commit`], of a statement that is run again if it loses: then its transaction is there still.
    pub(super) fn commit_or_keep(&mut self) -> SqlResult<Option<Pause>> {
        self.keeps_lost = true;
        let committed = self.commit();
        self.keeps_lost = false;
        committed
    }

    /// Commits what is open. `Some`: wait, and call again.
    pub(super) fn commit(&mut self) -> SqlResult<Option<Pause>> {
        if self.pending.is_some() {
            return self.await_disk();
        }
        if self.txn.is_none() {
            self.end_transaction(true);
            self.say();
            return Ok(None);
        }
        let ready = match self.check_deferred() {
            Ok(None) => self.empty_temporary(),
            other => other,
        };
        match ready {
            Ok(None) => {}
            Ok(pause) => return Ok(pause),
            Err(error) => {
                self.txn = None;
                self.end_transaction(false);
                return Err(error);
            }
        }
        let Some(txn) = self.txn.as_mut() else {
            return Ok(None);
        };
        let durability = durability(&self.db, &self.host);
        let changed = self.changed.schema.as_ref();
        let unpublished = changed.map(|_| self.db.about_to_publish(self.changed.shared));
        let keeps = std::mem::take(&mut self.keeps_lost);
        txn.commit_quietly(durability == Durability::Sync && self.db.log.is_alone(&self.committer));
        let committed = match keeps {
            true => txn.commit_or_keep(durability),
            false => txn.commit(durability),
        };
        // Of what has failed nobody waits to be told.
        let unpublished = unpublished.filter(|_| committed.is_ok());
        match committed {
            Ok(committed) => {
                self.publish_schema(committed.timestamp);
                self.keep_own();
                drop(unpublished);
                self.note_committed(committed.timestamp);
                self.txn = None;
                self.end_transaction(true);
                self.pending = committed.durable_at;
                self.await_disk()
            }
            Err(TcError::Blocked(_)) if self.cancel.swap(false, Ordering::AcqRel) => {
                self.txn = None;
                self.end_transaction(false);
                Err(canceled())
            }
            Err(TcError::Blocked(wait)) => Ok(Some(Pause(Reason::Row(wait)))),
            Err(error) => {
                let error = translate(error, self.level, &self.host.schema.catalog_names());
                if keeps && error.state.is_retryable() {
                    return Err(error);
                }
                self.note_error(&error);
                self.txn = None;
                self.end_transaction(false);
                Err(error)
            }
        }
    }

    /// COMMIT.
    pub(super) fn end_block(&mut self, portal: &mut Portal, chain: bool) -> SqlResult<Step> {
        if chain {
            self.only_in_block("COMMIT AND CHAIN")?;
        }
        let begun = self.modes();
        let tag = match self.mode {
            Mode::Failed => {
                self.rollback();
                "ROLLBACK"
            }
            Mode::Idle => {
                self.warn(
                    SqlState::NO_ACTIVE_SQL_TRANSACTION,
                    "there is no transaction in progress",
                );
                "COMMIT"
            }
            Mode::Implicit | Mode::Explicit => {
                if let Some(pause) = self.commit()? {
                    if self.pending.is_some() {
                        if chain {
                            self.chain(begun);
                        }
                        portal.state = PortalState::Committing(Some("COMMIT".into()));
                    }
                    return Ok(Step::Wait(pause));
                }
                "COMMIT"
            }
        };
        if chain {
            self.chain(begun);
        }
        self.finish(portal, Some(tag.into()))
    }

    /// ROLLBACK.
    pub(super) fn undo_block(&mut self, chain: bool) -> SqlResult<()> {
        if chain {
            self.only_in_block("ROLLBACK AND CHAIN")?;
        }
        if matches!(self.mode, Mode::Idle | Mode::Implicit) {
            self.warn(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "there is no transaction in progress",
            );
        }
        let begun = self.modes();
        self.rollback();
        if chain {
            self.chain(begun);
        }
        Ok(())
    }

    /// Begins the next block like the last one.
    fn chain(&mut self, modes: (Level, bool, bool)) {
        self.enter_statement();
        self.mode = Mode::Explicit;
        (self.level, self.uncommitted, self.host.read_only) = modes;
    }

    /// What the next block is to have of this one.
    fn modes(&self) -> (Level, bool, bool) {
        (self.level, self.uncommitted, self.host.read_only)
    }

    /// Others may ask whose commit it was that they have lost to.
    pub(super) fn note_committed(&self, timestamp: Timestamp) {
        self.present.slot.has_committed(timestamp, self.label);
    }

    /// Calls the triggers that were put off until the commit, and checks what was. `Some`: wait, and call again.
    pub(super) fn check_deferred(&mut self) -> SqlResult<Option<Pause>> {
        match self.fire_late(true)? {
            None => self.check_late_keys(),
            pause => Ok(pause),
        }
    }

    /// The same of keys alone.
    pub(super) fn check_late_keys(&mut self) -> SqlResult<Option<Pause>> {
        // The statement is done, and does not begin anew for what takes longer from here on.
        self.host.moment = None;
        let Some(txn) = self.txn.as_mut() else {
            return Ok(None);
        };
        let mut context = Context {
            txn,
            host: &self.host,
            params: &[],
            cancel: &self.cancel,
        };
        match self.db.direct.check_deferred(&mut context) {
            Ok(()) => Ok(None),
            Err(Stop::Blocked(wait)) => Ok(Some(Pause(Reason::Row(wait)))),
            Err(Stop::Error(error)) => Err(error),
            Err(Stop::Commit | Stop::Ask) => Err(only_calls_commit()),
        }
    }

    /// SET CONSTRAINTS. `Some`: wait, and call again.
    pub(super) fn set_constraints(
        &mut self,
        keys: Option<&[ConstraintId]>,
        deferred: bool,
    ) -> SqlResult<Option<Pause>> {
        if matches!(self.mode, Mode::Idle | Mode::Implicit) {
            self.warn(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "SET CONSTRAINTS can only be used in transaction blocks",
            );
            return Ok(None);
        }
        let schema = self.schema().timestamp;
        self.ensure_txn(schema);
        if let Some(txn) = self.txn.as_mut() {
            quintet_direct::set_constraints(txn, keys.map(<[_]>::to_vec), deferred);
        }
        if self.late.is_none() {
            let keys = keys.map(<[_]>::to_vec);
            self.host.put_off.get_mut().say(keys, deferred);
        }
        if deferred {
            return Ok(None);
        }
        match self.fire_late(false)? {
            None => self.check_late_keys(),
            pause => Ok(pause),
        }
    }

    pub(super) fn await_disk(&mut self) -> SqlResult<Option<Pause>> {
        let Some(lsn) = self.pending else {
            self.say();
            return Ok(None);
        };
        let log = &self.db.log;
        let mut waits = None;
        if log.durable() < lsn && !log.is_poisoned() {
            // May write and sync on this thread.
            waits = Some(log.when_durable_for(&mut self.committer, lsn));
        }
        if log.durable() >= lsn {
            self.pending = None;
            self.say();
            return Ok(None);
        }
        let Some(durable) = waits.filter(|_| !log.is_poisoned()) else {
            self.pending = None;
            return Err(SqlError::new(
                SqlState::STATEMENT_COMPLETION_UNKNOWN,
                "the outcome of the commit is unknown: the log could not be written",
            )
            .detail("The transaction is visible to others, but it may be lost when the server restarts.")
            .hint("Restart the server and look whether the changes are there."));
        };
        Ok(Some(Pause(Reason::Disk(Box::pin(async move {
            // The outcome is read from the log when the session goes on.
            let _ = durable.await;
        })))))
    }

    /// Undoes what is open.
    pub(super) fn rollback(&mut self) {
        if self.txn.is_some() {
            self.db.rollbacks.fetch_add(1, Ordering::Relaxed);
        }
        self.txn = None;
        self.end_transaction(false);
    }

    /// Back to idle. With `kept` the transaction's changes stay, settings included.
    pub(super) fn end_transaction(&mut self, kept: bool) {
        self.ends += 1;
        self.mode = Mode::Idle;
        self.host.number.set(0);
        self.host.deferrable = None;
        self.end_listening(kept);
        self.host.put_off.get_mut().clear();
        self.late = None;
        self.owner.unlock_all(true);
        self.savepoints.clear();
        let own_changed = std::mem::take(&mut self.changed).changes_own();
        if own_changed {
            self.show_own();
        }
        self.forget_own();
        self.closed = None;
        self.closing_until = None;
        self.past = None;
        if let Some(before) = self.settings_before.take()
            && !kept
        {
            self.host.settings.restore(before);
            self.local_settings.clear();
        }
        for (name, value) in std::mem::take(&mut self.local_settings).into_iter().rev() {
            // The value was accepted before.
            let _ = self.host.settings.set(&name, Some(&value));
        }
        self.host.cursors.get_mut().end_transaction(!kept);
        if !kept {
            self.portals.undeclare(0);
        }
        self.portals
            .retain(|portal| portal.held || matches!(portal.state, PortalState::Rows(_)));
    }

    pub(super) fn fail_transaction(&mut self) {
        match self.mode {
            Mode::Explicit => {
                self.mode = Mode::Failed;
                // Nothing can bring back what was done since then: its locks go at once.
                match self.savepoints.last() {
                    None => {
                        self.txn = None;
                        self.owner.unlock_all(true);
                    }
                    Some(savepoint) => {
                        self.owner.unlock_to(savepoint.advisory);
                        match (savepoint.mark, self.txn.as_mut()) {
                            (Some(mark), Some(txn)) => txn.rollback_to(mark),
                            _ => self.txn = None,
                        }
                    }
                }
            }
            Mode::Implicit => self.rollback(),
            Mode::Idle | Mode::Failed => {}
        }
    }

    pub(super) fn savepoint(&mut self, name: String) -> SqlResult<()> {
        self.only_in_block("SAVEPOINT")?;
        let mark = self.txn.as_ref().map(|txn| txn.mark());
        let noted = self.noted();
        self.savepoints.push(Savepoint {
            name,
            noted,
            mark,
            advisory: self.owner.taken(),
            changed: self.changed.clone(),
            read_only: self.host.read_only,
            settings: None,
        });
        Ok(())
    }

    pub(super) fn rollback_to(&mut self, name: &str) -> SqlResult<()> {
        self.only_in_block("ROLLBACK TO SAVEPOINT")?;
        let place = self.find_savepoint(name)?;
        self.savepoints.truncate(place + 1);
        if let Some(before) = self.savepoints[place].settings.take() {
            let (settings, local) = *before;
            self.host.settings.restore(settings);
            self.local_settings = local;
        }
        let savepoint = &self.savepoints[place];
        match (savepoint.mark, self.txn.as_mut()) {
            (Some(mark), Some(txn)) => txn.rollback_to(mark),
            // The savepoint is older than the first statement: there is nothing to keep.
            (None, Some(_)) => self.txn = None,
            (_, None) => {}
        }
        self.owner.unlock_to(savepoint.advisory);
        self.changed = savepoint.changed.clone();
        self.show_own();
        self.host.read_only = savepoint.read_only;
        let noted = savepoint.noted;
        self.back_to(noted);
        self.mode = Mode::Explicit;
        Ok(())
    }

    pub(super) fn release(&mut self, name: &str) -> SqlResult<()> {
        self.only_in_block("RELEASE SAVEPOINT")?;
        let place = self.find_savepoint(name)?;
        // What was said within it ends with it, also when its changes stay.
        self.host.read_only = self.savepoints[place].read_only;
        self.savepoints.truncate(place);
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> SqlResult<usize> {
        self.savepoints
            .iter()
            .rposition(|savepoint| savepoint.name == name)
            .ok_or_else(|| {
                SqlError::new(
                    SqlState::INVALID_SAVEPOINT,
                    format!("savepoint \"{name}\" does not exist"),
                )
            })
    }

    pub(super) fn only_in_block(&self, what: &str) -> SqlResult<()> {
        match self.mode {
            Mode::Explicit | Mode::Failed => Ok(()),
            Mode::Idle | Mode::Implicit => Err(SqlError::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                format!("{what} can only be used in transaction blocks"),
            )),
        }
    }

    pub(super) fn warn(&mut self, state: SqlState, message: &str) {
        self.host.tell(Notice {
            severity: "WARNING",
            message: SqlError::new(state, message),
        });
    }
}

/// When a commit of this session is answered.
pub(super) fn durability(db: &Inner, host: &SessionHost) -> Durability {
    match (db.durability, host.settings.often().answers_early) {
        (Durability::Sync, true) => Durability::Async,
        (durability, _) => durability,
    }
}
