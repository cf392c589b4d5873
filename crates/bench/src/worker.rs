//! One client's thread: begin a transaction when it is due, collect the answers as they come.
//!
//! Relies on: `pace` for when, answers of a client come in the order of its commits.  Promises: at most
//! so many commits are unanswered; latency is from when the transaction was due (closed loop: from
//! when the client was free) to when its answer was seen.  Does not: wait for an answer before it
//! must, so a sync is waited for once for all commits in it.
//!
//! ```text
//!   due ─► transaction ─► unanswered ──answer here──► counted
//!            │ conflict      └─ too many: wait for the oldest
//!            ▼ counted as aborted
//! ```
//! While an open loop has nothing to begin, it sleeps, as a client's thread would that waits for its network,
//! and leaves the processor to the database's own threads; spinning it would compete with them. A timer's
//! slack (50 us on Linux, and the waking) is so part of the latencies; what became due meanwhile is
//! begun at once after it.
//!
//! Hot path: no lock and no shared write in the loop.

use crate::Error;
use crate::calls::CallTotals;
use crate::driver::{Phase, Progress};
use crate::live::{Own, Seen};
use crate::pace::Pace;
use crate::target::{Answer, Client, Outcome};
use crate::timeline::{LATENCY_MAX_NS, Slice};
use hdrhistogram::Histogram;
use quintet_rt::Clock;
use std::collections::VecDeque;
use std::time::Duration;

/// Significant decimal digits of a recorded latency.
const LATENCY_DIGITS: u8 = 3;

/// How long an open loop sleeps at once while answers are under way.
const ANSWER_LOOK: Duration = Duration::from_micros(50);

/// How long an open loop sleeps at once, so that it sees the end of the run.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// What one thread counted; added up, what all did.
pub(crate) struct Tally {
    pub committed: u64,
    pub aborted: u64,
    pub latency: Histogram<u64>,
    /// Empty if nobody asked for intervals.
    pub slices: Vec<Slice>,
    /// Empty if the transactions are not calls.
    pub calls: CallTotals,
    /// What is told while the run goes on.
    pub live: Own,
}

impl Tally {
    pub fn new(slices: Vec<Slice>) -> Tally {
        Tally {
            committed: 0,
            aborted: 0,
            latency: latencies(),
            slices,
            calls: CallTotals::default(),
            live: Own::new(),
        }
    }

    pub fn add(&mut self, other: &Tally) {
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.latency
            .add(&other.latency)
            .expect("all tallies have the same bounds");
        for (sum, slice) in self.slices.iter_mut().zip(&other.slices) {
            sum.add(slice);
        }
        self.calls.add(&other.calls);
    }

    /// Of the interval of this moment, if there are intervals. Only while measuring.
    pub fn slice(&mut self, progress: &Progress, now: u64) -> Option<&mut Slice> {
        if self.slices.is_empty() {
            return None;
        }
        self.slices.get_mut(progress.interval(now))
    }
}

/// Room for latencies up to a minute.
pub(crate) fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MAX_NS, LATENCY_DIGITS)
        .expect("the bounds are constants that fit")
}

pub(crate) struct Worker<'t, C: Client> {
    pub client: C,
    pub progress: &'t Progress,
    pub clock: &'t dyn Clock,
    pub pace: Pace,
    /// At least one.
    pub outstanding_max: usize,
    /// When each was due, and its answer; oldest first.
    pub unanswered: VecDeque<(u64, C::Answer)>,
    pub tally: Tally,
}

impl<C: Client> Worker<'_, C> {
    pub fn run(mut self) -> Result<Tally, Error> {
        let mut now = self.clock.monotonic_nanos();
        while self.progress.phase() != Phase::Stopped {
            let due = self.pace.due(now);
            if now < due {
                self.idle(due - now);
                now = self.clock.monotonic_nanos();
                self.collect(now);
                continue;
            }
            self.pace.advance();
            let outcome = self.client.transaction()?;
            now = self.clock.monotonic_nanos();
            match outcome {
                // One that need not wait, as a reader of what is durable, is not under way any more.
                Outcome::Committed(answer) if answer.is_here() => self.count_committed(due, now),
                Outcome::Committed(answer) => self.unanswered.push_back((due, answer)),
                Outcome::Aborted => self.count_aborted(now),
            }
            self.collect(now);
            if self.unanswered.len() >= self.outstanding_max {
                let (due, answer) = self.unanswered.pop_front().expect("at least one");
                answer.wait()?;
                now = self.clock.monotonic_nanos();
                self.count_committed(due, now);
                self.collect(now);
            }
        }
        // Not counted any more, but if the last of them fails, so has the run.
        match self.unanswered.pop_back() {
            Some((_, last)) => last.wait().map(|()| self.tally),
            None => Ok(self.tally),
        }
    }

    /// Counts the answers that are here.
    fn collect(&mut self, now: u64) {
        while let Some((due, _)) = self.unanswered.front().filter(|(_, a)| a.is_here()) {
            self.count_committed(*due, now);
            self.unanswered.pop_front();
        }
    }

    /// Lets some of the time pass until the next transaction is due.
    fn idle(&self, left: u64) {
        let most = match self.unanswered.is_empty() {
            true => SLEEP_MAX,
            false => ANSWER_LOOK,
        };
        self.clock.sleep(Duration::from_nanos(left).min(most));
    }

    fn count_committed(&mut self, due: u64, now: u64) {
        let latency = (now - due).max(1);
        let live = &mut self.tally.live;
        live.see(&self.progress.board, Seen::Committed(latency));
        if self.progress.phase() != Phase::Measuring {
            return;
        }
        self.tally.committed += 1;
        self.tally.latency.saturating_record(latency);
        if let Some(slice) = self.tally.slice(self.progress, now) {
            slice.latency.saturating_record(latency);
        }
    }

    fn count_aborted(&mut self, now: u64) {
        self.tally.live.see(&self.progress.board, Seen::Lost);
        if self.progress.phase() != Phase::Measuring {
            return;
        }
        self.tally.aborted += 1;
        if let Some(slice) = self.tally.slice(self.progress, now) {
            slice.aborted += 1;
        }
    }
}
