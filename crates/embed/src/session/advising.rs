//! Advisory locks of a session, and `pg_sleep`.
//!
//! Relies on: `advisory`.  Promises: a lock that has to wait comes out as a wait, and the same call goes on after it;
//! a cancel request leaves the line, and so does who finds, after a while, that those he waits for wait for him.

use super::Session;
use super::activity::Asker;
use super::execute::{Pulled, canceled, only_calls_commit};
use super::portal::{Portal, PortalState};
use crate::advisory::{Attempt, Key, Way};
use crate::alarms::Sleep;
use crate::step::{Flow, Pause, Reason};
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_direct::{Run, row_bytes};
use quintet_ir::{Host, Procedure, out_of_memory};
use quintet_sql::command::{Advisory, AdvisoryCall, Command};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So long who waits for an advisory lock waits before he looks for a ring: PostgreSQL's `deadlock_timeout` as it is delivered.
const RING_LOOK_NANOS: u64 = 1_000_000_000;

const NANOS_IN_MILLISECOND: u64 = 1_000_000;

/// How far the calls of a statement have come.
pub(super) struct Advising {
    /// The query that gives the rows, until it is over.
    run: Option<Box<Run>>,
    /// Those for which calls are left to make: behind the first what those gave that were made.
    rows: VecDeque<Vec<Value>>,
    /// What they take.
    bytes: usize,
    /// How many calls were made for the first.
    given: usize,
    /// When a call of `pg_sleep` that has begun is over, on the monotonic clock.
    until: Option<u64>,
    /// Of the others the rows of the result.
    shown: VecDeque<Vec<Value>>,
}

impl Session {
    /// Begins the query that says for which rows the calls are made, if there is one.
    pub(super) fn begin_advising(&mut self, portal: &mut Portal, source: Option<&Arc<Procedure>>) {
        let run = source.map(|source| Run::new(&self.host.direct, Arc::clone(source)));
        let once = match run {
            None => VecDeque::from([Vec::new()]),
            Some(_) => VecDeque::new(),
        };
        portal.state = PortalState::Advising(Box::new(Advising {
            run: run.map(Box::new),
            rows: once,
            bytes: 0,
            given: 0,
            until: None,
            shown: VecDeque::new(),
        }));
    }

    /// Makes the calls of a statement from where it stands. `Some`: wait, and call again.
    pub(super) fn advise(&mut self, portal: &mut Portal) -> SqlResult<Option<Pause>> {
        let prepared = Arc::clone(&portal.prepared);
        let (Command::Advisory { calls, row, .. }, PortalState::Advising(advising)) =
            (&prepared.planned.command, &mut portal.state)
        else {
            return Ok(None);
        };
        if let Some(run) = &mut advising.run {
            let rows = &mut advising.rows;
            let (kept, bound) = (&mut advising.bytes, self.host.statement_memory());
            let mut keep = |row: &[Value]| {
                // As it is, and then as it is shown.
                *kept += 2 * row_bytes(row);
                if *kept > bound {
                    return Err(out_of_memory(bound));
                }
                rows.push_back(row.to_vec());
                Ok(Flow::Continue)
            };
            match self.pull(run, &portal.params, 0, &mut 0, &mut keep)? {
                Pulled::Wait(pause) => return Ok(Some(pause)),
                Pulled::Commit | Pulled::Ask => return Err(only_calls_commit()),
                Pulled::End | Pulled::Enough | Pulled::Break => {}
            }
            advising.run = None;
            // How long a lock is waited for may have been asked for here.
            self.set_what_was_wanted()?;
        }
        while let Some(frame) = advising.rows.front_mut() {
            let so_far = (&mut advising.given, &mut advising.until);
            if let Some(pause) = self.advise_row(frame, so_far, calls, &portal.params)? {
                return Ok(Some(pause));
            }
            let shown = row.iter();
            let shown = shown.map(|expr| quintet_ir::eval(expr, frame, &portal.params, &self.host));
            advising.shown.push_back(shown.collect::<SqlResult<_>>()?);
            advising.rows.pop_front();
            advising.given = 0;
        }
        let shown = std::mem::take(&mut advising.shown);
        portal.state = PortalState::Rows(shown);
        Ok(None)
    }

    /// Makes the calls for one row, behind which what they give is put.
    fn advise_row(
        &mut self,
        frame: &mut Vec<Value>,
        (given, until): (&mut usize, &mut Option<u64>),
        calls: &[AdvisoryCall],
        params: &[Value],
    ) -> SqlResult<Option<Pause>> {
        while let Some(call) = calls.get(*given) {
            let arguments = call.arguments.iter();
            let arguments =
                arguments.map(|argument| quintet_ir::eval(argument, frame, params, &self.host));
            let arguments = arguments.collect::<SqlResult<Vec<Value>>>()?;
            if call.what == Advisory::Sleep {
                let seconds = match arguments.as_slice() {
                    [Value::Float8(seconds)] => Some(*seconds),
                    _ => None,
                };
                if let Some(seconds) = seconds
                    && let Some(pause) = self.sleep(until, seconds)?
                {
                    return Ok(Some(pause));
                }
                frame.push(seconds.map_or(Value::Null, |_| Value::text("")));
                *given += 1;
                continue;
            }
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
            frame.push(value);
            *given += 1;
        }
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
                Attempt::Wait(turn) => match self.looks_for_ring() {
                    Ok(look) => return Ok(Err(Pause(Reason::Advisory(turn, look)))),
                    Err(error) => {
                        self.owner.give_up(way);
                        return Err(error);
                    }
                },
                Attempt::Deadlock => return Err(deadlock()),
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
            // What lets time pass has no key.
            Advisory::Sleep => Value::Null,
            Advisory::UnlockAll => {
                self.owner.unlock_all(false);
                Value::text("")
            }
        }))
    }

    /// When to look next whether a ring of waits goes through the line that it stands in, and through rows or tables, and whether it has
    /// stood there for long enough.
    ///
    /// # Errors
    /// `40P01` if there is a ring, `55P03` if `lock_timeout` has passed.
    fn looks_for_ring(&mut self) -> SqlResult<Sleep> {
        let now = self.host.clock.monotonic_nanos();
        let (since, next) = self.owner.looks.unwrap_or((now, now + RING_LOOK_NANOS));
        let limit = self.time_limit("lock_timeout");
        let end =
            limit.map(|limit| since.saturating_add(limit.saturating_mul(NANOS_IN_MILLISECOND)));
        if end.is_some_and(|end| now >= end) || self.host.given_up.take() {
            return Err(SqlError::lock_timeout());
        }
        let next = match now < next {
            true => next,
            false if self.is_in_a_ring() => return Err(deadlock()),
            // Each look takes all locks that there are: twice as late each time.
            false => now + (now - since),
        };
        self.owner.looks = Some((since, next));
        let next = end.map_or(next, |end| end.min(next));
        Ok(self.db.alarms.at(next))
    }

    fn is_in_a_ring(&self) -> bool {
        let asker = Asker {
            db: &self.db,
            schema: &self.host.schema,
            role: self.host.role(),
        };
        asker.is_in_a_ring(&self.present.slot)
    }
}

fn deadlock() -> SqlError {
    SqlError::new(SqlState::DEADLOCK_DETECTED, "deadlock detected")
}
