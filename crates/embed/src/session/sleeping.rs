//! `pg_sleep` of a session.
//!
//! Relies on: `alarms`.  Promises: no thread waits; a cancel request and a time limit end it.  Does not: count as a wait for
//! a lock.

use super::Session;
use super::execute::canceled;
use super::portal::{Portal, PortalState};
use crate::step::{Pause, Reason};
use quintet_base::{SqlResult, Value};
use quintet_sql::command::Command;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Session {
    /// Goes to sleep, or looks whether it is over. `Some`: wait, and call again.
    pub(super) fn sleep(&mut self, portal: &mut Portal) -> SqlResult<Option<Pause>> {
        let prepared = Arc::clone(&portal.prepared);
        let (Command::Sleep(seconds), PortalState::Sleeping(until)) =
            (&prepared.planned.command, &mut portal.state)
        else {
            return Ok(None);
        };
        let now = self.host.clock.monotonic_nanos();
        let moment = match *until {
            Some(moment) => Some(moment),
            None => match quintet_ir::eval(seconds, &[], &portal.params, &self.host)? {
                // Less than nothing and what is no number are nothing.
                Value::Float8(seconds) => Some(now.saturating_add((seconds * 1e9) as u64)),
                _ => None,
            },
        };
        if let Some(moment) = moment.filter(|moment| now < *moment) {
            if self.cancel.swap(false, Ordering::AcqRel) {
                return Err(canceled());
            }
            *until = Some(moment);
            return Ok(Some(Pause(Reason::Sleep(self.db.alarms.at(moment)))));
        }
        let value = moment.map_or(Value::Null, |_| Value::text(""));
        portal.state = PortalState::Rows(VecDeque::from([vec![value]]));
        Ok(None)
    }
}
