//! What a run came to, while it goes on.
//!
//! Relies on: `level`, `time`.  Promises: every call is counted once when it comes and once when it is
//! answered, and a second answer, or one of nobody's call, is a bug that stops the run; time on workers is
//! kept apart into useful and lost.  Does not: interpret; `report` does.

use crate::level::Level;
use crate::time::Nanos;
use hashbrown::HashMap;

/// A call between its arrival and its answer.
#[derive(Clone, Copy, Debug)]
struct Pending {
    kind: usize,
    came: Nanos,
    /// How long its run takes, without anything that delays it.
    work: Nanos,
}

/// Counts and curves of a run.
#[derive(Clone, Debug)]
pub struct Tally {
    pending: HashMap<u64, Pending, foldhash::fast::FixedState>,
    interval: Nanos,
    /// Answers by interval.
    pub(crate) answers: Vec<u64>,
    /// By kind.
    pub(crate) answered_of: Vec<u64>,
    /// Response over duration, of every answered call, with its kind.
    pub(crate) penalties: Vec<(u16, f32)>,
    /// Workers that run a call, or hold one back.
    pub(crate) busy: Level,
    /// Calls that could run, but for a worker.
    pub(crate) for_worker: Level,
    /// Calls that wait for others that they conflict with.
    pub(crate) for_others: Level,
    /// Runs that ended without effect, and the time they took.
    pub(crate) lost_runs: u64,
    pub(crate) lost: Nanos,
    /// Sum of all calls' own durations: what one worker would take.
    pub(crate) sequential: Nanos,
    pub(crate) waited_for_worker: Nanos,
    pub(crate) calls_that_waited_for_worker: u64,
    pub(crate) waited_for_others: Nanos,
    pub(crate) arrivals_end: Nanos,
    pub(crate) end: Nanos,
    pub(crate) came: u64,
    pub(crate) answered: u64,
}

impl Tally {
    /// Nothing yet, of so many kinds.
    pub fn new(kinds: usize, interval: Nanos) -> Tally {
        Tally {
            pending: HashMap::default(),
            interval,
            answers: Vec::new(),
            answered_of: vec![0; kinds],
            penalties: Vec::new(),
            busy: Level::new(interval),
            for_worker: Level::new(interval),
            for_others: Level::new(interval),
            lost_runs: 0,
            lost: Nanos::ZERO,
            sequential: Nanos::ZERO,
            waited_for_worker: Nanos::ZERO,
            calls_that_waited_for_worker: 0,
            waited_for_others: Nanos::ZERO,
            arrivals_end: Nanos::ZERO,
            end: Nanos::ZERO,
            came: 0,
            answered: 0,
        }
    }

    /// A call came, whose run takes so long.
    pub fn arrived(&mut self, call: u64, kind: usize, work: Nanos, now: Nanos) {
        let came = now;
        let earlier = self.pending.insert(call, Pending { kind, came, work });
        assert!(earlier.is_none(), "call {call} came twice");
        self.sequential += work;
        self.arrivals_end = now;
        self.came += 1;
    }

    /// Its client was told that it is done.
    pub fn answered(&mut self, call: u64, now: Nanos) {
        let pending = self.pending.remove(&call);
        let pending = pending.expect("a call is answered once, after it came");
        let response = now - pending.came;
        let penalty = response.0 as f64 / pending.work.0.max(1) as f64;
        self.penalties.push((pending.kind as u16, penalty as f32));
        let at = (now.0 / self.interval.0) as usize;
        if self.answers.len() <= at {
            self.answers.resize(at + 1, 0);
        }
        self.answers[at] += 1;
        self.answered_of[pending.kind] += 1;
        self.answered += 1;
        self.end = now;
    }

    /// A run of so long was for nothing.
    pub fn lost(&mut self, time: Nanos) {
        self.lost_runs += 1;
        self.lost += time;
    }

    /// A call that could run got its worker after so long.
    pub fn got_worker(&mut self, waited: Nanos) {
        self.waited_for_worker += waited;
        self.calls_that_waited_for_worker += u64::from(waited > Nanos::ZERO);
    }

    /// Calls that were not answered yet.
    pub fn unanswered(&self) -> usize {
        self.pending.len()
    }

    /// Brings the curves to the end.
    pub fn close(&mut self) {
        let end = self.end.max(self.arrivals_end);
        for level in [&mut self.busy, &mut self.for_worker, &mut self.for_others] {
            level.pass(end);
        }
    }

    /// The middle of every interval in seconds, and answers per second then. The last interval counts as a
    /// whole one, so that a few answers at the end make no peak.
    pub fn throughput(&self) -> Vec<(f64, f64)> {
        let length = self.interval.seconds();
        let point = |(at, count): (usize, &u64)| {
            let middle = (at as f64 + 0.5) * length;
            (middle, *count as f64 / length)
        };
        self.answers.iter().enumerate().map(point).collect()
    }
}
