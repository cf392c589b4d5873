//! Batches as an engine: calls that are pending together are one transaction.
//!
//! Relies on: `queue` for which calls go together; conflict keys, whose soundness is a matter of speed here:
//! every batch is validated when it commits, like any other transaction.  Promises: a batch does what its calls
//! one by one in the order of their arrival would do; a call that raises an error is undone and nothing else is;
//! where a call would wait for rows that others have, its session waits for them, calls that conflict with it
//! stay in the line, and they are run together when the rows are theirs, so that a batch stands in a row's queue like one transaction;
//! if that is in vain the call is put out: its session runs it by itself. Whatever happens to who runs
//! a batch, each of its calls gets an answer.  Does not: have threads of its own, a timer, or a size to
//! wait for.
//!
//! ```text
//!   session: submit ─► wait ─► is there a lane for me to run? ─yes─► run it: answers for all its calls
//!                       ▲  ▲            │ no                            │
//!                       │  └────────────┘                               │
//!                       ├─── answered, or called to run the next lane ◄─┤
//!                       └─── told to lock rows, and to run a lane then ◄┘
//! ```
//!
//! **Who waits leads.** A session whose call is pending and that has nothing else to do runs the next lane,
//! which need not have its own call. So a batch is what has come while lanes were busy; alone, a call is a
//! batch of one on its own thread. As many lanes run side by side as the database is opened with.
//!
//! Lock order: a line's mutex, then a ticket's; neither is held while a lane runs.

mod lane;
mod ticket;

pub(crate) use lane::{LEVEL_OF_BATCH, Leader};
pub(crate) use ticket::{Answer, Asked, Job, Landed, Row, Ticket, TicketWait};

use crate::activity::Stand;
use crate::chains::line_of;
use parking_lot::Mutex;
use quintet_base::Level;
use quintet_base::conflict::Modes;
use quintet_base::limits::{BATCH_CALLS_MAX, PENDING_CALLS_MAX};
use quintet_engine::Refusal;
use quintet_queue::{Intake, Lane, LaneId, Priority, Route};
use quintet_tc::Txn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use ticket::Shared;

/// Lanes of one level that run side by side at most.
const LANES_MAX: usize = 64;

/// Counters of the batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchStats {
    /// Calls that were committed, or have failed by themselves, in batches.
    pub calls: u64,
    /// Batches that were committed.
    pub batches: u64,
    /// Batches that were run again because a transaction outside had changed what they read or wrote.
    pub lost: u64,
    /// Times that a batch has waited for rows that others had.
    pub waits: u64,
    /// Calls that were put out of their batches, and run by their sessions.
    pub put_out: u64,
    /// Calls that have failed and were undone inside their batches.
    pub failed: u64,
    /// Calls that are pending now.
    pub pending: u64,
}

impl BatchStats {
    /// Adds another line's.
    pub(crate) fn add(&mut self, other: &BatchStats) {
        self.calls += other.calls;
        self.batches += other.batches;
        self.lost += other.lost;
        self.waits += other.waits;
        self.put_out += other.put_out;
        self.failed += other.failed;
        self.pending += other.pending;
    }
}

/// The batches of a database, in one line for each level.
pub(crate) struct Batches {
    lines: [Mutex<Line>; 2],
    /// Of sessions that leave the choice between batches and direct calls to us; one for each line.
    routes: [Route; 2],
    lanes_max: usize,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    calls: AtomicU64,
    batches: AtomicU64,
    lost: AtomicU64,
    waits: AtomicU64,
    put_out: AtomicU64,
    failed: AtomicU64,
}

/// Calls of one level.
#[derive(Default)]
struct Line {
    /// Of the catalogue that keys and modes are of.
    revision: u64,
    intake: Option<Intake<Shared>>,
}

/// Why a call is not in a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// Calls that were planned with another catalogue are still there.
    Mixed,
    /// Too many are pending.
    Refused(Refusal),
}

/// A call's seat in the line; given up when dropped.
pub(crate) struct Seat {
    batches: Arc<Batches>,
    line: usize,
    priority: Priority,
    pub ticket: Arc<Ticket>,
}

impl Batches {
    /// Nobody is there. `lanes`: how many may run side by side.
    pub fn new(lanes: usize) -> Batches {
        Batches {
            lines: Default::default(),
            routes: Default::default(),
            lanes_max: lanes.clamp(1, LANES_MAX),
            counters: Counters::default(),
        }
    }

    /// How many may run side by side.
    pub fn lanes(&self) -> usize {
        self.lanes_max
    }

    /// Puts a call into the line. `modes`: of the catalogue that it was planned with, at its level.
    ///
    /// # Errors
    /// See [`NotTaken`].
    pub fn submit(self: &Arc<Batches>, modes: &Modes, ticket: Ticket) -> Result<Seat, NotTaken> {
        let revision = ticket.asked().facts.schema.revision;
        let number = line_of(ticket.asked().level);
        let ticket = Arc::new(ticket);
        let mut line = self.lines[number].lock();
        let idle = line.intake.as_ref().is_none_or(Intake::is_idle);
        if line.revision != revision || line.intake.is_none() {
            if !idle {
                return Err(NotTaken::Mixed);
            }
            line.revision = revision;
            line.intake = Some(Intake::new(modes.clone()));
        }
        let intake = line.intake.as_mut().expect("just made");
        if intake.pending() >= PENDING_CALLS_MAX {
            let limit = PENDING_CALLS_MAX;
            return Err(NotTaken::Refused(Refusal::TooManyCalls { limit }));
        }
        let priority = intake.submit(Shared(Arc::clone(&ticket)));
        let wants_keys = self.lanes_max > 1 && intake.wants_keys() && intake.running() > 0;
        drop(line);
        if wants_keys {
            // Sooner or later somebody asks for them with the line locked.
            ticket.keys();
        }
        Ok(Seat {
            batches: Arc::clone(self),
            line: number,
            priority,
            ticket,
        })
    }

    /// A call has waited for rows in vain, and its session runs it by itself.
    pub fn count_put_out(&self) {
        self.counters.put_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether calls of a level had better be in batches.
    pub fn route(&self, level: Level) -> &Route {
        &self.routes[line_of(level)]
    }

    /// Counters.
    pub fn stats(&self) -> BatchStats {
        let counters = &self.counters;
        let pending = self.lines.iter().map(|line| {
            let line = line.lock();
            line.intake
                .as_ref()
                .map_or(0, |intake| intake.pending() as u64)
        });
        BatchStats {
            calls: counters.calls.load(Ordering::Relaxed),
            batches: counters.batches.load(Ordering::Relaxed),
            lost: counters.lost.load(Ordering::Relaxed),
            waits: counters.waits.load(Ordering::Relaxed),
            put_out: counters.put_out.load(Ordering::Relaxed),
            failed: counters.failed.load(Ordering::Relaxed),
            pending: pending.sum(),
        }
    }

    /// Takes a lane to run, if one may run and there are calls for it.
    fn take(&self, line: usize) -> Option<Lane<Shared>> {
        let (lane, next) = {
            let mut line = self.lines[line].lock();
            let intake = line.intake.as_mut()?;
            if intake.running() >= self.lanes_max {
                return None;
            }
            let lane = intake.take(BATCH_CALLS_MAX)?;
            let free = intake.running() < self.lanes_max;
            let next = intake.first_unlooked().filter(|_| free).cloned();
            (lane, next)
        };
        // More has come than one lane takes.
        if let Some(next) = next {
            next.0.call();
        }
        Some(lane)
    }

    /// A lane has ended: whoever has waited longest may run the next.
    fn end(&self, line: usize, lane: LaneId) {
        self.change(line, |intake| intake.end(lane));
    }

    /// Changes what holds pending calls; whoever has waited longest looks again.
    fn change(&self, line: usize, change: impl FnOnce(&mut Intake<Shared>)) {
        let next = {
            let mut line = self.lines[line].lock();
            let intake = line.intake.as_mut().expect("a lane of it runs");
            change(intake);
            intake.first().cloned()
        };
        if let Some(next) = next {
            next.0.call();
        }
    }
}

/// Keeps those that a call conflicts with out of lanes while its session runs it, or waits for what it needs.
pub(crate) struct Hold {
    batches: Arc<Batches>,
    line: usize,
    /// `None`: it has gone.
    lane: Option<LaneId>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(lane) = self.lane {
            self.batches.end(self.line, lane);
        }
    }
}

impl Seat {
    /// Where its session stands, for others to see.
    pub fn stand(&self) -> Stand {
        Stand::Batch { line: self.line }
    }

    /// The same while it runs what others wait for.
    pub fn leads(&self) -> Stand {
        Stand::Leads { line: self.line }
    }

    /// Runs a lane, if there is one to run; gives how many calls it had.
    pub fn lead(&self, leader: &Leader<'_>) -> Option<usize> {
        let lane = self.batches.take(self.line)?;
        let calls = lane.calls.len();
        self.run(leader, lane, None);
        Some(calls)
    }

    /// Runs the lane of its own call and of those that it has held, in a transaction that has what was waited for.
    pub fn lead_with(&self, leader: &Leader<'_>, mut hold: Hold, txn: Txn) {
        let lane = {
            let mut line = self.batches.lines[self.line].lock();
            let intake = line.intake.as_mut().expect("a lane of it runs");
            let lane = hold.lane.take().expect("it has not gone");
            let own = (self.priority, Shared(Arc::clone(&self.ticket)));
            intake.rejoin(lane, own, BATCH_CALLS_MAX)
        };
        // There is one, unless others that came before hold its call now.
        if let Some(lane) = lane {
            self.run(leader, lane, Some(txn));
        }
    }

    fn run(&self, leader: &Leader<'_>, lane: Lane<Shared>, txn: Option<Txn>) {
        leader.slot.stands(self.leads());
        lane::lead(leader, (&self.batches, self.line), lane, txn);
        leader.slot.stands(self.stand());
        leader.slot.runs(None);
    }

    /// Gives up the wait. `false`: too late, the call is in a lane; its answer is to be waited for.
    pub fn withdraw(&self) -> bool {
        let mut line = self.batches.lines[self.line].lock();
        let Some(intake) = line.intake.as_mut() else {
            return false;
        };
        intake.withdraw(self.priority).is_some()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.ticket.is_answered() {
            return;
        }
        let mut line = self.batches.lines[self.line].lock();
        let Some(intake) = line.intake.as_mut() else {
            return;
        };
        intake.withdraw(self.priority);
        // It may have been called to run the next lane, and will not.
        let next = match intake.running() < self.batches.lanes_max {
            true => intake.first().cloned(),
            false => None,
        };
        drop(line);
        if let Some(next) = next {
            next.0.call();
        }
    }
}
