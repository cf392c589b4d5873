//! The queue of the background thread, and what the thread does with it.
//!
//! Relies on: `space`.  Promises: at most one entry per space, so the queue is bounded by their
//! number; spaces take turns; dropping the store ends the thread after the step it is in.
//! Does not: repeat what failed by itself; the next merge into the space asks again.
//!
//! ```text
//!   Waiting ──merge ended, last pin gone──► Listed ──thread──► visit: tidy, one step, publish
//!      ▲                                       ▲                  │ │
//!      │                                       └──a step was made─┘ │
//!      └───────────────────────────────────────────────nothing to do┘
//! ```

use parking_lot::{Condvar, Mutex};
use quintet_base::SpaceId;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::PathBuf;
use std::time::Duration;

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
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Something was put in.
    filled: Condvar,
    /// A visit has ended.
    visited: Condvar,
}

#[derive(Default)]
struct State {
    visits: BTreeSet<SpaceId>,
    /// Visited last; the next one up is next.
    last: SpaceId,
    removals: Vec<PathBuf>,
    stop: bool,
}

impl Queue {
    pub(crate) fn visit(&self, space: SpaceId) {
        self.state.lock().visits.insert(space);
        self.filled.notify_one();
    }

    pub(crate) fn remove(&self, folder: PathBuf) {
        self.state.lock().removals.push(folder);
        self.filled.notify_one();
    }

    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
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
            let next = state.visits.range(above).next().or(state.visits.first());
            if let Some(space) = next.copied() {
                state.visits.remove(&space);
                state.last = space;
                return Job::Visit(space);
            }
            self.filled.wait(&mut state);
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
        !self.visited.wait_for(&mut state, at_most).timed_out()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_come_once_each_removals_first_and_stop_last() {
        let queue = Queue::default();
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
}
