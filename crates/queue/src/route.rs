//! Whether a routine's calls are worth planning.
//!
//! Relies on: being told what became of its calls.  Promises: while nearly none of them loses a conflict, they
//! are run directly; once more than one run in [`LOST_ONE_IN`] is lost, the next [`PLANNED_CALLS`] go through
//! lanes, and after that they are tried directly again; twice as many go through lanes each time that shows the
//! same.  Does not: know why a call was lost; count with anything but relaxed atomics, since a call more
//! or less makes no difference.
//!
//! ```text
//!            1 in 32 of a window lost                    calls used up
//!   Direct ───────────────────────────► Lanes, n calls ───────────────► Direct: a window, to see
//!     ▲  window without: n = least                                         │
//!     └────────────────────────────────────────────────────────────────────┘  n doubles while it is lost again
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

/// Runs that are judged together.
const WINDOW: u32 = 128;

/// One lost run in so many is too many: what a lost run costs is about what planning thirty calls does.
const LOST_ONE_IN: u32 = 32;

/// Calls that are planned before running them directly is tried again.
const PLANNED_CALLS: u32 = 4096;

/// And at most so many.
const PLANNED_CALLS_MAX: u32 = PLANNED_CALLS << 6;

/// Which way a call goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    /// At once.
    Direct,
    /// Through a lane.
    Lane,
}

/// Of one routine. Written by all sessions that call it; see the module for what races may do.
#[derive(Debug, Default)]
pub struct Route {
    /// Calls that are still to be planned.
    planned: AtomicU32,
    /// How many that were at first, the last time; zero: never.
    least: AtomicU32,
    runs: AtomicU32,
    lost: AtomicU32,
}

/// What became of a direct call.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// How often it was run and lost before it ended.
    pub lost: u32,
}

impl Route {
    /// Which way the next call goes.
    pub fn choose(&self) -> Chosen {
        let left = self.planned.load(Ordering::Relaxed);
        if left == 0 {
            return Chosen::Direct;
        }
        // Two that take one at the same time count it once.
        self.planned.store(left - 1, Ordering::Relaxed);
        Chosen::Lane
    }

    /// The way that the next call would go; nothing is counted.
    pub fn shown(&self) -> Chosen {
        match self.planned.load(Ordering::Relaxed) {
            0 => Chosen::Direct,
            _ => Chosen::Lane,
        }
    }

    /// A direct call has ended.
    pub fn note(&self, told: Told) {
        let lost = self.lost.fetch_add(told.lost, Ordering::Relaxed) + told.lost;
        let runs = self.runs.fetch_add(1 + told.lost, Ordering::Relaxed) + 1 + told.lost;
        let too_many = lost > WINDOW / LOST_ONE_IN;
        if runs < WINDOW && !too_many {
            return;
        }
        self.runs.store(0, Ordering::Relaxed);
        self.lost.store(0, Ordering::Relaxed);
        let before = self.least.load(Ordering::Relaxed);
        let next = match (too_many, before) {
            (false, _) => 0,
            (true, 0) => PLANNED_CALLS,
            (true, before) => (before * 2).min(PLANNED_CALLS_MAX),
        };
        self.least.store(next, Ordering::Relaxed);
        self.planned.store(next, Ordering::Relaxed);
    }

    /// Lost runs and runs of the present window, as an explanation.
    pub fn window(&self) -> (u32, u32) {
        let lost = self.lost.load(Ordering::Relaxed);
        (lost, self.runs.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directly(route: &Route, calls: u32, lost: u32) {
        for _ in 0..calls {
            if route.choose() == Chosen::Direct {
                route.note(Told { lost });
            }
        }
    }

    #[test]
    fn calls_that_hardly_ever_lose_stay_direct() {
        let route = Route::default();
        for _ in 0..1000 {
            directly(&route, 60, 0);
            directly(&route, 1, 1);
        }
        assert_eq!(route.shown(), Chosen::Direct);
    }

    #[test]
    fn calls_that_lose_are_planned_for_a_while_and_longer_each_time() {
        let route = Route::default();
        let mut lengths = Vec::new();
        for _ in 0..3 {
            while route.shown() == Chosen::Direct {
                directly(&route, 1, 1);
            }
            let mut length = 0;
            while route.choose() == Chosen::Lane {
                length += 1;
            }
            lengths.push(length);
        }
        assert_eq!(
            lengths,
            [PLANNED_CALLS, 2 * PLANNED_CALLS, 4 * PLANNED_CALLS]
        );
        // The conflicts have gone.
        directly(&route, WINDOW, 0);
        while route.shown() == Chosen::Direct {
            directly(&route, 1, 1);
        }
        assert_eq!(route.planned.load(Ordering::Relaxed), PLANNED_CALLS);
    }
}
