//! One client that calls procedures: when due, again if the call lost, until the run ends.
//!
//! Relies on: `pace` for when, `system` for the call.  Promises: a call that lost (40001, 40P01) is run
//! again with the same arguments, at once the first times and then after a rest, [`TRIES_MAX`] times at
//! most; its latency is from when it was due to its last answer; a call that ends otherwise than its
//! workload allows ends the run.  Does not: run anything else again.
//!
//! ```text
//!   due ─► call ─► committed, or refused as the workload allows ─► counted under its procedure
//!           ▲│
//!           └┴ lost: counted by SQLSTATE
//! ```

use crate::Error;
use crate::driver::{Phase, Progress};
use crate::gate::Gate;
use crate::live::Seen;
use crate::pace::Pace;
use crate::system::{Connection, Reply};
use crate::worker::Tally;
use quintet_rt::Clock;
use quintet_workloads::{Call, CallEnd, Calls, Ending, Procedure};
use std::cell::RefCell;
use std::time::Duration;

/// So often is one transaction tried before it is given up. A fair database needs a few; a client that
/// waits for ever would hide that one is not fair.
pub(crate) const TRIES_MAX: u32 = 100;

/// So often it is tried without a rest; what is in the way then will not go away by haste.
const HASTY_TRIES: u32 = 20;

/// The rest.
const REST: Duration = Duration::from_millis(1);

/// Serialization failure and deadlock: nothing happened, and the same call may succeed.
fn may_be_run_again(state: &[u8; 5]) -> bool {
    state == b"40001" || state == b"40P01"
}

/// How a transaction came to its end.
enum End {
    Committed(i64),
    Refused,
    GivenUp,
    /// The run ended before it did.
    Left,
}

pub(crate) struct Caller<'t, C> {
    pub connection: C,
    pub calls: Box<dyn Calls>,
    pub procedures: &'static [Procedure],
    pub progress: &'t Progress,
    pub clock: &'t dyn Clock,
    pub pace: Pace,
    /// Where it waits until its next transaction is due.
    pub gate: &'t Gate<'t>,
    /// Other clients of the thread get no turn unless this one lets them.
    pub yields: bool,
    /// Of all clients of the thread; borrowed only between two calls.
    pub tally: &'t RefCell<Tally>,
}

impl<C: Connection> Caller<'_, C> {
    pub async fn run(mut self) -> Result<(), Error> {
        let mut now = self.clock.monotonic_nanos();
        while self.progress.phase() != Phase::Stopped {
            let due = self.pace.due(now);
            if now < due {
                self.gate.until(due).await;
                now = self.clock.monotonic_nanos();
                continue;
            }
            self.pace.advance();
            let call = self.calls.next_call();
            let mut lost = 0;
            let end = self.transaction(&call, &mut lost).await?;
            now = self.clock.monotonic_nanos();
            self.count(&call, end, lost, (now - due).max(1), now);
            if self.yields {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn transaction(&mut self, call: &Call, lost: &mut u32) -> Result<End, Error> {
        let procedure = &self.procedures[call.procedure];
        loop {
            let failure = match self.connection.call(call).await? {
                Reply::Done(_) | Reply::Said(_) if call.ending == Ending::Refusal => {
                    return Err(wrong(procedure, call, "it committed".into()));
                }
                Reply::Done(counted) => {
                    self.calls.ended(CallEnd::Committed { answer: None });
                    return Ok(End::Committed(counted));
                }
                Reply::Said(text) => {
                    let answer = Some(text.as_str());
                    self.calls.ended(CallEnd::Committed { answer });
                    return Ok(End::Committed(0));
                }
                Reply::Failed(failure) => failure,
            };
            if may_be_run_again(&failure.state) {
                *lost += 1;
                self.count_lost(failure.state);
                let end = match self.progress.phase() {
                    Phase::Stopped => Some(End::Left),
                    _ => (*lost == TRIES_MAX).then_some(End::GivenUp),
                };
                if let Some(end) = end {
                    self.calls.ended(CallEnd::Undone);
                    return Ok(end);
                }
                if *lost >= HASTY_TRIES {
                    tokio::time::sleep(REST).await;
                } else if self.yields {
                    tokio::task::yield_now().await;
                }
                continue;
            }
            let by_its_rules = procedure
                .refusals
                .iter()
                .any(|state| state.as_bytes() == failure.state);
            if by_its_rules && call.ending != Ending::Commit {
                self.calls.ended(CallEnd::Undone);
                return Ok(End::Refused);
            }
            let ending = format!("{} ({})", failure.message, failure.state_text());
            return Err(wrong(procedure, call, ending));
        }
    }

    fn count_lost(&self, state: [u8; 5]) {
        let mut tally = self.tally.borrow_mut();
        tally.live.see(&self.progress.board, Seen::Lost);
        if self.progress.phase() != Phase::Measuring {
            return;
        }
        tally.aborted += 1;
        *tally.calls.lost.entry(state).or_default() += 1;
        if let Some(slice) = tally.slice(self.progress, self.clock.monotonic_nanos()) {
            slice.aborted += 1;
        }
    }

    fn count(&self, call: &Call, end: End, lost: u32, latency: u64, now: u64) {
        let tally = &mut *self.tally.borrow_mut();
        let board = &self.progress.board;
        match end {
            End::Committed(counted) => {
                tally.calls.counted += counted;
                tally.live.see(board, Seen::Committed(latency));
            }
            End::Refused | End::GivenUp => tally.live.see(board, Seen::Refused),
            End::Left => {}
        }
        if self.progress.phase() != Phase::Measuring {
            return;
        }
        let kind = &mut tally.calls.kinds[call.procedure];
        kind.lost += u64::from(lost);
        kind.retried += u64::from(lost > 0);
        match end {
            End::Committed(_) => {
                kind.committed += 1;
                kind.latency.saturating_record(latency);
                tally.committed += 1;
                tally.latency.saturating_record(latency);
                if let Some(slice) = tally.slice(self.progress, now) {
                    slice.latency.saturating_record(latency);
                }
            }
            End::Refused => kind.refused += 1,
            End::GivenUp => kind.given_up += 1,
            End::Left => {}
        }
    }
}

fn wrong(procedure: &Procedure, call: &Call, ending: String) -> Error {
    Error::WrongEnding {
        procedure: procedure.name,
        ending,
        call: call.to_sql(procedure),
    }
}
