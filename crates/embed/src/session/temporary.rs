//! A session's temporary tables: what becomes of them when it commits, and when it ends.
//!
//! Relies on: `sql` for the changes, `change` for carrying them out, `own` for what there is.  Promises: a session leaves nothing behind
//! however it ends, and waits for nobody then; what a crash leaves is dropped by the next start.
//! Does not: let others see the tables (`own`).

use super::Session;
use super::turn::Turn;
use crate::step::Pause;
use quintet_base::ids::TEMPORARY;
use quintet_base::{SpaceId, SqlResult};
use std::sync::Arc;

impl Session {
    /// ON COMMIT DELETE ROWS, and DROP. `Some`: wait, and call again.
    pub(super) fn empty_temporary(&mut self) -> SqlResult<Option<Pause>> {
        if !self.has_own() {
            return Ok(None);
        }
        let schema = Arc::clone(self.schema());
        if !schema.catalog.has_on_commit() {
            return Ok(None);
        }
        match quintet_sql::plan_commit(&self.host.plan_context(&schema.catalog))? {
            None => Ok(None),
            Some(plan) if plan.changes.is_empty() => self.do_work(&plan.work),
            Some(plan) => self.do_change(&plan, &schema),
        }
    }

    /// DISCARD TEMP. `Some`: wait, and call again.
    pub(super) fn discard_temporary(&mut self) -> SqlResult<Option<Pause>> {
        if !self.has_own() {
            return Ok(None);
        }
        let schema = Arc::clone(self.schema());
        self.ensure_txn(schema.timestamp);
        match quintet_sql::plan_discard(&self.host.plan_context(&schema.catalog))? {
            Some(plan) => self.do_change(&plan, &schema),
            None => Ok(None),
        }
    }

    /// Drops the temporary schema with this number that the catalogue itself has. Nobody else is there.
    pub(crate) fn drop_left_over(&mut self, number: u32) -> SqlResult<()> {
        let own = std::mem::replace(&mut self.host.temporary, number);
        self.enter_statement();
        if let Turn::Taken = self.take_turn()? {
            let schema = Arc::clone(self.schema());
            let plan = quintet_sql::plan_discard(&self.host.plan_context(&schema.catalog))?;
            if let Some(plan) = plan {
                self.do_change(&plan, &schema)?;
            }
        }
        self.commit()?;
        self.host.temporary = own;
        Ok(())
    }

    /// The session ends: what it has made goes, and what others' transactions have begun to fill and left.
    pub(super) fn leave_temporary(&mut self) {
        if std::thread::panicking() {
            return; // the next start drops it
        }
        self.txn = None;
        self.forget_own();
        let mut work = self.take_own();
        let temporary = SpaceId(TEMPORARY.start)..SpaceId(TEMPORARY.end);
        work.spaces.extend(self.db.tc.take_abandoned(temporary));
        if !work.is_empty() {
            // Where the log is closed already, the next start drops it.
            let _ = self.drop_unnamed(&work);
            self.db.direct.forget(&work.spaces, &work.counters);
        }
        self.db.temporary.give_back(self.host.temporary);
    }
}
