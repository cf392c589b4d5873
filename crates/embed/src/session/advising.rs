//! Advisory locks of a session.
//!
//! Relies on: `advisory`.  Promises: a lock that has to wait comes out as a wait, and the same call goes on after it;
//! a cancel request leaves the line.  Does not: give locks of a transaction back at ROLLBACK TO: they last until its end.

use super::Session;
use super::execute::canceled;
use super::portal::{Portal, PortalState};
use crate::advisory::{Attempt, Key, Way};
use crate::step::{Pause, Reason};
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_sql::command::{Advisory, AdvisoryCall, Command};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Session {
    /// Makes the calls of a statement from where it stands. `Some`: wait, and call again.
    pub(super) fn advise(&mut self, portal: &mut Portal) -> SqlResult<Option<Pause>> {
        let prepared = Arc::clone(&portal.prepared);
        let (Command::Advisory { calls, row }, PortalState::Advising(given)) =
            (&prepared.planned.command, &mut portal.state)
        else {
            return Ok(None);
        };
        while let Some(call) = calls.get(given.len()) {
            let arguments = call.arguments.iter();
            let arguments = arguments
                .map(|argument| quintet_ir::eval(argument, &[], &portal.params, &self.host));
            let arguments = arguments.collect::<SqlResult<Vec<Value>>>()?;
            let key = match arguments.as_slice() {
                [] => Some(Key::One(0)),
                [one] => one.as_i64().map(Key::One),
                [first, second, ..] => match (first, second) {
                    (Value::Int4(first), Value::Int4(second)) => Some(Key::Two(*first, *second)),
                    _ => None,
                },
            };
            // Of NULL nothing is locked.
            let value = match key {
                None => Value::Null,
                Some(key) => match self.advise_one(call, key)? {
                    Ok(value) => value,
                    Err(pause) => return Ok(Some(pause)),
                },
            };
            given.push(value);
        }
        let shown = row.iter();
        let shown = shown.map(|expr| quintet_ir::eval(expr, given, &portal.params, &self.host));
        let shown = shown.collect::<SqlResult<Vec<Value>>>()?;
        portal.state = PortalState::Rows(VecDeque::from([shown]));
        Ok(None)
    }

    fn advise_one(&mut self, call: &AdvisoryCall, key: Key) -> SqlResult<Result<Value, Pause>> {
        let AdvisoryCall {
            shared,
            transaction,
            ..
        } = *call;
        let way = Way {
            shared,
            transaction,
        };
        Ok(Ok(match call.what {
            Advisory::Lock => match self.owner.lock(key, way) {
                Attempt::Locked => Value::text(""),
                Attempt::Wait(_) if self.cancel.swap(false, Ordering::AcqRel) => {
                    self.owner.give_up(way);
                    return Err(canceled());
                }
                Attempt::Wait(turn) => return Ok(Err(Pause(Reason::Advisory(turn)))),
                Attempt::Deadlock => {
                    let message = "deadlock detected";
                    return Err(SqlError::new(SqlState::DEADLOCK_DETECTED, message));
                }
            },
            Advisory::Try => Value::Bool(self.owner.try_lock(key, way)),
            Advisory::Unlock => {
                let had = self.owner.unlock(key, shared);
                if !had {
                    let mode = if shared { "ShareLock" } else { "ExclusiveLock" };
                    let message = format!("you don't own a lock of type {mode}");
                    self.warn(SqlState::WARNING, &message);
                }
                Value::Bool(had)
            }
            Advisory::UnlockAll => {
                self.owner.unlock_all(false);
                Value::text("")
            }
        }))
    }
}
