//! `pg_sleep` of a session.
//!
//! Relies on: `alarms`.  Promises: no thread waits; a cancel request and a time limit end it.  Does not: count as a wait for
//! a lock.

use super::Session;
use super::execute::canceled;
use crate::step::{Pause, Reason};
use quintet_base::SqlResult;
use std::sync::atomic::Ordering;

impl Session {
    /// Goes to sleep for so long, or looks whether it is over. `Some`: wait, and call again.
    pub(super) fn sleep(
        &mut self,
        until: &mut Option<u64>,
        seconds: f64,
    ) -> SqlResult<Option<Pause>> {
        let now = self.host.clock.monotonic_nanos();
        // Less than nothing and what is no number are nothing.
        let moment = until.unwrap_or_else(|| now.saturating_add((seconds * 1e9) as u64));
        if now >= moment {
            *until = None;
            return Ok(None);
        }
        if self.cancel.swap(false, Ordering::AcqRel) {
            *until = None;
            return Err(canceled());
        }
        *until = Some(moment);
        Ok(Some(Pause(Reason::Sleep(self.db.alarms.at(moment)))))
    }
}
