//! The queue of the background thread, and what the thread does with it.
//!
//! Relies on: `space`.  Promises: at most one entry per space, so the queue is bounded by their
//! number; spaces take turns; dropping the store ends the thread after the step it is in; a compaction
//! rests while it has time.  Does not: repeat what failed by itself; the next merge into the space asks again.
//!
//! ```text
//!   Waiting ──merge ended, last pin gone──► Listed ──thread──► visit: tidy, one step, publish
//!      ▲                                     ▲  ▲                 │ │ │
//!      │                                     │  └─a step was made─┘ │ │
//!      │     PutOff ──no merge for long──────┘                      │ │
//!      │       ▲                              step waits for quiet──┘ │
//!      │       └──────────────────────────────┘                       │
//!      └─────────────────────────────────────────────────nothing to do┘
//! ```
//!
//! **Time.** Nothing needs a compaction to be quick, as long as merges do not pile up, and on few processors one that
//! is takes one of them from whoever works above. So it sleeps twice as long as it works, in stretches of
//! some 100 µs, while each space is visited between two merges into it. Once a second merge asks for a visit that
//! the first one has asked for, the thread is behind, and does not rest until its queue is empty.

use parking_lot::{Condvar, Mutex};
use quintet_base::SpaceId;
use quintet_rt::{Clock, RealClock};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a compaction works between two rests, at least.
const STRETCH: Duration = Duration::from_micros(100);

/// How long it rests.
const REST: Duration = Duration::from_micros(200);

/// Records between two looks at the clock: a fraction of a stretch.
const RECORDS_PER_LOOK: u32 = 16;

/// What the thread is to do next.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Job {
    /// Look after a space.
    Visit(SpaceId),
    /// Remove the folder of a space that nobody reads any more.
    Remove(PathBuf),
    /// End.
    Stop,
}

/// See the header. Filled by merges, unpinning readers and drops; emptied by the thread.
pub(crate) struct Queue {
    /// How long no merge may have come for there to be quiet.
    quiet_after: Duration,
    state: Mutex<State>,
    /// Something was put in.
    filled: Condvar,
    /// A visit has ended.
    visited: Condvar,
    /// The thread is behind, somebody waits for it, or it is to end. Written under `state`.
    hurries: AtomicBool,
}

struct State {
    /// Nanoseconds of the clock at which the last merge came, or the queue was made.
    merged: u64,
    /// To be visited when there is quiet.
    put_off: BTreeSet<SpaceId>,
    /// Spaces to visit; whether a merge has asked, and not only who tidies up.
    visits: BTreeMap<SpaceId, bool>,
    /// Visited last; the next one up is next.
    last: SpaceId,
    removals: Vec<PathBuf>,
    /// More was merged than it could keep up with.
    behind: bool,
    /// Who waits for a visit to end.
    waiting: u32,
    stop: bool,
}

impl Queue {
    pub(crate) fn quiet_after(quiet_after: Duration) -> Queue {
        let state = State {
            merged: RealClock.monotonic_nanos(),
            put_off: BTreeSet::new(),
            visits: BTreeMap::new(),
            last: SpaceId::default(),
            removals: Vec::new(),
            behind: false,
            waiting: 0,
            stop: false,
        };
        Queue {
            quiet_after,
            state: Mutex::new(state),
            filled: Condvar::new(),
            visited: Condvar::new(),
            hurries: AtomicBool::new(false),
        }
    }

    /// Whether no merge has come for long. If one has, the space is visited again when none does.
    pub(crate) fn is_quiet_or_put_off(&self, space: SpaceId) -> bool {
        let mut state = self.state.lock();
        let is_quiet = self.until_quiet(&state).is_none();
        if !is_quiet {
            state.put_off.insert(space);
        }
        is_quiet
    }

    /// How long it is until there is quiet, if no merge comes; `None`: there is.
    fn until_quiet(&self, state: &State) -> Option<Duration> {
        let since = RealClock.monotonic_nanos().saturating_sub(state.merged);
        let left = self.quiet_after.checked_sub(Duration::from_nanos(since))?;
        (!left.is_zero()).then_some(left)
    }

    pub(crate) fn visit(&self, space: SpaceId) {
        self.state.lock().visits.entry(space).or_default();
        self.filled.notify_one();
    }

    /// To be visited, since something was merged into it.
    pub(crate) fn visit_after_merge(&self, space: SpaceId) {
        let mut state = self.state.lock();
        state.merged = RealClock.monotonic_nanos();
        state.put_off.remove(&space);
        state.behind |= state.visits.insert(space, true) == Some(true);
        self.look_at_time(&state);
        drop(state);
        self.filled.notify_one();
    }

    fn look_at_time(&self, state: &State) {
        let hurries = state.behind || state.waiting > 0 || state.stop;
        self.hurries.store(hurries, Ordering::Relaxed);
    }

    /// Whether a compaction may rest now.
    pub(crate) fn has_time(&self) -> bool {
        !self.hurries.load(Ordering::Relaxed)
    }

    pub(crate) fn remove(&self, folder: PathBuf) {
        self.state.lock().removals.push(folder);
        self.filled.notify_one();
    }

    pub(crate) fn stop(&self) {
        let mut state = self.state.lock();
        state.stop = true;
        self.look_at_time(&state);
        drop(state);
        self.filled.notify_one();
    }

    /// Removals come first: they give space back. Those listed before a stop are still done.
    pub(crate) fn next(&self) -> Job {
        let mut state = self.state.lock();
        loop {
            if let Some(folder) = state.removals.pop() {
                return Job::Remove(folder);
            }
            if state.stop {
                return Job::Stop;
            }
            let above = (Bound::Excluded(state.last), Bound::Unbounded);
            let next = state.visits.range(above).next();
            let next = next.or(state.visits.first_key_value());
            if let Some((&space, _)) = next {
                state.visits.remove(&space);
                state.last = space;
                return Job::Visit(space);
            }
            state.behind = false;
            self.look_at_time(&state);
            match self.until_quiet(&state) {
                _ if state.put_off.is_empty() => self.filled.wait(&mut state),
                Some(left) => {
                    self.filled.wait_for(&mut state, left);
                }
                None => {
                    let put_off = std::mem::take(&mut state.put_off);
                    let visits = put_off.into_iter().map(|space| (space, false));
                    state.visits.extend(visits);
                }
            }
        }
    }

    pub(crate) fn end_visit(&self) {
        // Under the lock, so that it can not fall between the look and the sleep of a waiter.
        let _state = self.state.lock();
        self.visited.notify_all();
    }

    /// Waits until a visit ends; false if none did in time.
    pub(crate) fn wait_for_visit(&self, at_most: Duration) -> bool {
        let mut state = self.state.lock();
        state.waiting += 1;
        self.look_at_time(&state);
        let in_time = !self.visited.wait_for(&mut state, at_most).timed_out();
        state.waiting -= 1;
        self.look_at_time(&state);
        in_time
    }
}

/// When one compaction rests.
pub(crate) struct Rests {
    queue: Arc<Queue>,
    /// Nanoseconds of the clock at which it last did, or began.
    since: u64,
    records: u32,
}

impl Rests {
    /// Of one that begins now.
    pub(crate) fn new(queue: &Arc<Queue>) -> Rests {
        Rests {
            queue: Arc::clone(queue),
            since: RealClock.monotonic_nanos(),
            records: 0,
        }
    }

    /// It is between two records.
    pub(crate) fn pass(&mut self) {
        self.records += 1;
        if self.records < RECORDS_PER_LOOK {
            return;
        }
        self.records = 0;
        if !self.queue.has_time() {
            return;
        }
        let worked = RealClock.monotonic_nanos().saturating_sub(self.since);
        if u128::from(worked) >= STRETCH.as_nanos() {
            RealClock.sleep(REST);
            self.since = RealClock.monotonic_nanos();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_come_once_each_removals_first_and_stop_last() {
        let queue = Queue::quiet_after(Duration::from_secs(60));
        for space in [2, 1, 2, 1] {
            queue.visit(SpaceId(space));
        }
        queue.remove("folder".into());
        let jobs: Vec<_> = (0..3).map(|_| queue.next()).collect();
        let expected = [
            Job::Remove("folder".into()),
            Job::Visit(SpaceId(1)),
            Job::Visit(SpaceId(2)),
        ];
        assert_eq!(jobs, expected);
        // A space that asks again at once waits for those that have asked meanwhile.
        queue.visit(SpaceId(2));
        queue.visit(SpaceId(7));
        assert_eq!(queue.next(), Job::Visit(SpaceId(7)));
        assert_eq!(queue.next(), Job::Visit(SpaceId(2)));
        queue.visit(SpaceId(3));
        queue.remove("other".into());
        queue.stop();
        assert_eq!(queue.next(), Job::Remove("other".into()));
        assert_eq!(queue.next(), Job::Stop, "visits do not hold up the end");
    }

    #[test]
    fn a_compaction_has_time_until_two_merges_wait_for_one_visit() {
        let queue = Queue::quiet_after(Duration::from_secs(60));
        let space = SpaceId(1);
        queue.visit(space); // the merge has published, and the last pin of what was before has gone
        queue.visit_after_merge(space);
        assert!(queue.has_time(), "no merge has asked before");
        assert_eq!(queue.next(), Job::Visit(space));
        queue.visit_after_merge(space);
        queue.visit(space); // a reader has gone
        assert!(
            queue.has_time(),
            "one merge waits, beside the one that is visited for"
        );
        queue.visit_after_merge(space);
        assert!(!queue.has_time());
        assert_eq!(queue.next(), Job::Visit(space));
        assert!(!queue.has_time(), "a second step may be needed");
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| queue.next());
            while !queue.has_time() {
                std::thread::yield_now(); // until it waits: nothing is left to do
            }
            queue.stop();
            assert_eq!(worker.join().unwrap(), Job::Stop);
        });
        assert!(!queue.has_time(), "the store is being closed");
    }

    #[test]
    fn what_is_put_off_is_visited_when_no_merge_has_come_for_long() {
        const QUIET: Duration = Duration::from_millis(20);
        let queue = Queue::quiet_after(QUIET);
        let began = RealClock.monotonic_nanos();
        queue.visit_after_merge(SpaceId(1));
        queue.visit_after_merge(SpaceId(2));
        for space in [1, 2].map(SpaceId) {
            assert_eq!(queue.next(), Job::Visit(space));
            // Late, if this thread was not run for so long.
            let is_quiet = queue.is_quiet_or_put_off(space);
            assert!(!is_quiet || RealClock.monotonic_nanos() - began >= QUIET.as_nanos() as u64);
        }
        // It has a visit of its own coming.
        queue.visit_after_merge(SpaceId(2));
        assert_eq!(queue.next(), Job::Visit(SpaceId(2)));
        assert_eq!(queue.next(), Job::Visit(SpaceId(1)));
        assert!(queue.is_quiet_or_put_off(SpaceId(1)), "nothing came since");
    }

    #[test]
    fn a_compaction_that_somebody_waits_for_has_no_time() {
        let queue = Queue::quiet_after(Duration::from_secs(60));
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| while !queue.wait_for_visit(Duration::from_secs(1)) {});
            while queue.has_time() {
                std::thread::yield_now();
            }
            queue.end_visit();
            waiter.join().unwrap();
        });
        assert!(queue.has_time());
    }

    #[test]
    fn a_compaction_rests_twice_as_long_as_it_works() {
        const STRETCHES: u32 = 20;
        let queue = Arc::new(Queue::quiet_after(Duration::from_secs(60)));
        let mut rests = Rests::new(&queue);
        let since = |then| Duration::from_nanos(RealClock.monotonic_nanos() - then);
        let began = RealClock.monotonic_nanos();
        for stretch in 1..=STRETCHES {
            let worked = RealClock.monotonic_nanos();
            while since(worked) < STRETCH {}
            (0..RECORDS_PER_LOOK).for_each(|_| rests.pass());
            assert!(since(began) >= stretch * (STRETCH + REST));
        }
    }
}
