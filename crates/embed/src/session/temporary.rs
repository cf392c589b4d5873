//! A session's temporary tables: what becomes of them when it commits, and when it ends.
//!
//! Relies on: `sql` for the changes, `change` for carrying them out.  Promises: a session leaves nothing behind, however it ends;
//! what cannot be dropped then, because somebody is changing the schema, is dropped a little later by a thread that is there
//! for as long as something is left, and by the next start of the database at the latest.  Does not: let others see the tables (`sql`).

use super::change::Turn;
use super::{Session, SessionOptions};
use crate::database::Inner;
use crate::step::Pause;
use quintet_base::SqlResult;
use quintet_rt::threads;
use std::sync::Arc;
use std::time::Duration;

impl Session {
    /// ON COMMIT DELETE ROWS, and DROP. `Some`: wait, and call again.
    pub(super) fn empty_temporary(&mut self) -> SqlResult<Option<Pause>> {
        let schema = self.changed_schema.as_ref().unwrap_or(&self.host.schema);
        let number = self.host.temporary;
        if !schema.catalog.has_on_commit() || !schema.catalog.has_temporary(number) {
            return Ok(None);
        }
        let schema = Arc::clone(self.schema());
        match quintet_sql::plan_commit(&self.host.plan_context(&schema.catalog))? {
            None => Ok(None),
            Some(plan) if plan.changes.is_empty() => self.do_work(&plan.work),
            // A table that goes at the commit has come with the same transaction, and so the turn is its own.
            Some(plan) => self.do_change(&plan, &schema),
        }
    }

    /// DISCARD TEMP. `Some`: wait, and call again.
    pub(super) fn discard_temporary(&mut self) -> SqlResult<Option<Pause>> {
        let number = self.host.temporary;
        if !self.schema().catalog.has_temporary(number) {
            return Ok(None);
        }
        if let Turn::Wait(pause) = self.take_turn()? {
            return Ok(Some(pause));
        }
        let schema = Arc::clone(self.schema());
        match quintet_sql::plan_discard(&self.host.plan_context(&schema.catalog))? {
            Some(plan) => self.do_change(&plan, &schema),
            None => Ok(None),
        }
    }

    /// The session ends: what it has made goes, and what others could not drop.
    pub(super) fn leave_temporary(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // Each once: what cannot be dropped now is put back.
        let left: Vec<u32> = std::iter::from_fn(|| self.db.temporary.take_left()).collect();
        self.drop_temporary(self.host.temporary);
        left.into_iter()
            .for_each(|number| self.drop_temporary(number));
    }

    /// Drops the schema with this number if that needs no waiting.
    fn drop_temporary(&mut self, number: u32) {
        if self.db.schema().catalog.has_temporary(number) {
            self.rollback();
            self.host.temporary = number;
            self.enter_statement();
            let dropped = matches!(self.discard_temporary(), Ok(None));
            // When it is on disk is nobody's concern.
            let committed = dropped && self.commit().is_ok() && self.txn.is_none();
            if !committed {
                self.rollback();
                if self.db.temporary.leave(number) {
                    sweep(&self.db);
                }
                return;
            }
        }
        self.db.temporary.give_back(number);
    }
}

/// Rests between attempts.
const RESTS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// Has sessions come and go until nothing is left: each drops what it can when it ends.
fn sweep(db: &Arc<Inner>) {
    let (database, clock) = (Arc::downgrade(db), Arc::clone(&db.clock));
    threads::spawn("temporary", move || {
        let mut rest = RESTS.0;
        loop {
            clock.sleep(rest);
            rest = (rest * 2).min(RESTS.1);
            let Some(db) = database.upgrade() else {
                return;
            };
            drop(Session::open(Arc::clone(&db), SessionOptions::default()));
            if db.temporary.none_left() {
                return;
            }
        }
    });
}
