//! Whether the calls of a line are worth planning.
//!
//! Relies on: being told what became of its calls, and the time.  Promises: while nearly none of them loses a
//! conflict, they are run directly; where more than one run in [`LOST_ONE_IN`] is lost, lanes are tried, and kept
//! if calls end faster there than they did directly, by a tenth at least; what was found holds for [`HELD_CALLS`]
//! calls, twice as many each time it is found again.  Does not: know why a call was lost; count with anything but relaxed
//! atomics, since a call more or less makes no difference.
//!
//! ```text
//!               too many lost                  faster
//!   Looking ───────────────────► Trying ──────────────────► Lanes, for n calls ─┐
//!   direct, a window ◄┐          lanes, a window                                │
//!     ▲ few lost: n = │least        │ not faster                                │
//!     │               └─────────── Direct, for n calls ◄┘                       │
//!     └─────────────────────────────────────────────────────────────────────────┘
//! ```

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Calls that are judged together.
const WINDOW: u32 = 1024;

/// Calls after a change that are not judged: those that went the other way have to end first.
const SETTLING: u32 = 256;

/// Lost runs after which a window is over before its time, since calls that lose so much are slow.
const LOST_ENOUGH: u32 = 128;

/// One lost run in so many is too many: what a lost run costs is about what planning thirty calls does.
const LOST_ONE_IN: u32 = 32;

/// Calls for which what was found holds at first.
const HELD_CALLS: u32 = 2048;

/// And at most, if lanes were found to be faster.
const LANES_HELD_MAX: u32 = HELD_CALLS << 9;

/// And at most, if they were not: rows that many lock are slow to show it, and a look costs little.
const DIRECT_HELD_MAX: u32 = HELD_CALLS << 3;

/// Which way a call goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    /// At once.
    Direct,
    /// Through a lane.
    Lane,
}

/// See the module's picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Looking = 0,
    Trying,
    Lanes,
    Direct,
}

/// Of the calls of one level. Written by all sessions; what races may do is count a call twice or not.
#[derive(Debug, Default)]
pub struct Route {
    stage: AtomicU8,
    /// Calls of the stage that are to come.
    left: AtomicU32,
    /// When the stage's window began; 0: it is settling, or has not begun.
    began: AtomicU64,
    /// Runs that were lost while looking.
    lost: AtomicU32,
    /// Calls of the window that were not waited for.
    left_out: AtomicU32,
    /// Nanoseconds that [`WINDOW`] direct calls took, all sessions together.
    direct: AtomicU64,
    /// For how many calls what was found last holds; zero: nothing was found.
    held: AtomicU32,
}

impl Route {
    /// Which way the next call goes. `now`: nanoseconds of a clock that does not go back, asked for once in a
    /// while.
    pub fn choose(&self, now: impl Fn() -> u64) -> Chosen {
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
            return self.shown();
        }
        self.turn(now());
        self.shown()
    }

    /// The way that the next call will most likely go; nothing is counted.
    pub fn shown(&self) -> Chosen {
        match self.stage() {
            Stage::Looking | Stage::Direct => Chosen::Direct,
            Stage::Trying | Stage::Lanes => Chosen::Lane,
        }
    }

    /// A direct call has ended, after so many runs that were lost.
    pub fn note(&self, lost: u32) {
        if lost > 0 {
            let lost = self.lost.fetch_add(lost, Ordering::Relaxed) + lost;
            let judged = self.stage() == Stage::Looking && self.began.load(Ordering::Relaxed) > 0;
            let left = self.left.load(Ordering::Relaxed);
            // What the calls so far took says enough; `turn` takes it for the whole window.
            if judged && lost > LOST_ENOUGH && left > 0 && left < WINDOW / 2 {
                self.left.store(0, Ordering::Relaxed);
                self.left_out.store(left, Ordering::Relaxed);
            }
        }
    }

    /// Runs that were lost since the routine was last looked at, and after how many calls it is looked at again.
    pub fn window(&self) -> (u32, u32) {
        let lost = self.lost.load(Ordering::Relaxed);
        (lost, self.left.load(Ordering::Relaxed))
    }

    /// The stage is over, or has settled.
    fn turn(&self, now: u64) {
        let began = self.began.swap(now, Ordering::Relaxed);
        if began == 0 {
            return self.begin(WINDOW);
        }
        let took = now.saturating_sub(began);
        let stage = self.stage();
        let next = match stage {
            Stage::Looking => {
                let judged = WINDOW - self.left_out.swap(0, Ordering::Relaxed);
                let whole = took / u64::from(judged) * u64::from(WINDOW);
                self.direct.store(whole, Ordering::Relaxed);
                match self.lost.load(Ordering::Relaxed) > WINDOW / LOST_ONE_IN {
                    true => Stage::Trying,
                    false => {
                        self.held.store(0, Ordering::Relaxed);
                        Stage::Looking
                    }
                }
            }
            Stage::Trying => match took / 10 * 11 < self.direct.load(Ordering::Relaxed) {
                true => Stage::Lanes,
                false => Stage::Direct,
            },
            Stage::Lanes | Stage::Direct => Stage::Looking,
        };
        self.stage.store(next as u8, Ordering::Relaxed);
        match next {
            Stage::Lanes | Stage::Direct => {
                let held = self.held.load(Ordering::Relaxed);
                let most = match next {
                    Stage::Lanes => LANES_HELD_MAX,
                    _ => DIRECT_HELD_MAX,
                };
                // Lanes for longer from the start: looking for what is slower costs more.
                let least = HELD_CALLS << (3 * u32::from(next == Stage::Lanes));
                let held = (2 * held).clamp(least, most);
                self.held.store(held, Ordering::Relaxed);
                self.begin(held);
            }
            _ if next == stage => self.begin(WINDOW),
            _ => {
                self.began.store(0, Ordering::Relaxed);
                self.begin(SETTLING);
            }
        }
    }

    /// So many calls are next, the one that asks among them.
    fn begin(&self, calls: u32) {
        self.lost.store(0, Ordering::Relaxed);
        self.left.store(calls - 1, Ordering::Relaxed);
    }

    fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Relaxed) {
            0 => Stage::Looking,
            1 => Stage::Trying,
            2 => Stage::Lanes,
            _ => Stage::Direct,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Calls a routine that takes so long directly and in lanes, and loses so many runs directly; gives how many
    /// went through lanes.
    fn call(route: &Route, clock: &Cell<u64>, calls: u32, times: (u64, u64), lost: u32) -> u32 {
        let mut lanes = 0;
        for _ in 0..calls {
            match route.choose(|| clock.get()) {
                Chosen::Direct => {
                    clock.set(clock.get() + times.0);
                    route.note(lost);
                }
                Chosen::Lane => {
                    lanes += 1;
                    clock.set(clock.get() + times.1);
                }
            }
        }
        lanes
    }

    #[test]
    fn calls_that_hardly_ever_lose_stay_direct() {
        let (route, clock) = (Route::default(), Cell::new(1));
        for _ in 0..1000 {
            assert_eq!(call(&route, &clock, 60, (10, 1), 0), 0);
            assert_eq!(call(&route, &clock, 1, (10, 1), 1), 0);
        }
    }

    #[test]
    fn calls_that_lose_and_are_faster_in_lanes_go_there_nearly_all() {
        let (route, clock) = (Route::default(), Cell::new(1));
        let lanes = call(&route, &clock, 2_000_000, (20, 10), 1);
        assert!(lanes > 1_980_000, "{lanes}");
        // The conflicts go away: so do the calls, within what holds at most.
        call(&route, &clock, LANES_HELD_MAX + 2 * WINDOW, (20, 10), 0);
        assert_eq!(call(&route, &clock, 100_000, (20, 10), 0), 0);
    }

    #[test]
    fn calls_that_lose_and_are_faster_directly_stay_there_nearly_all() {
        let (route, clock) = (Route::default(), Cell::new(1));
        let lanes = call(&route, &clock, 2_000_000, (100, 95), 1);
        assert!((WINDOW..200_000).contains(&lanes), "{lanes}");
    }

    /// Goal: what went the other way and has not ended yet does not spoil the look: the first lanes are slow.
    #[test]
    fn a_change_is_given_time() {
        let (route, clock) = (Route::default(), Cell::new(1));
        while route.shown() == Chosen::Direct {
            call(&route, &clock, 1, (20, 10), 1);
        }
        call(&route, &clock, SETTLING / 2, (20, 100_000), 1);
        let lanes = call(&route, &clock, 10_000, (20, 10), 1);
        assert!(lanes > 9_000, "{lanes}");
    }
}
