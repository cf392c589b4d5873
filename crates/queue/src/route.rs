//! Whether the calls of a line are worth planning.
//!
//! Relies on: being told what became of its calls, and the time.  Promises: while nearly none of them loses a
//! conflict, they are run directly; where more than one run in [`LOST_ONE_IN`] is lost, both ways are tried in turn,
//! and lanes are kept if calls end faster there by a tenth at least, by the medians of up to [`ROUNDS`] windows of each; what
//! was found holds for [`HELD_CALLS`] calls, twice as many each time it is found again, and no longer once calls take more than
//! [`SLOWER`] times as long as they did.  Does not: know why a call was lost; count calls exactly, since a call more or less
//! makes no difference.
//!
//! ```text
//!               too many lost               medians, or one way far ahead in each of the first
//!   Looking ───────────────────► Trial ─────┬─────────────► Lanes,  for n calls ─► Trial
//!   direct, a window ◄┐          direct, lanes, direct, lanes …
//!     ▲ few lost: n = │least                └─────────────► Direct, for n calls ─┐
//!     │               └──────────────────────────────────────────────────────────┘
//! ```
//! One window says little: a thread that has to wait for a processor for a tick of the system's clock, or a pass of the compactor, is
//! as long as what is to be found out.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Calls that are judged together.
const WINDOW: u32 = 512;

/// Windows of each way in a trial, at most.
const ROUNDS: usize = 5;

/// After so many rounds a trial is over if one way was [`FAR_AHEAD`] in all of them.
const ROUNDS_LEAST: usize = 2;

/// So many times as fast.
const FAR_AHEAD: u64 = 2;

/// Calls after a change that are not judged: those that went the other way have to end first.
const SETTLING: u32 = 128;

/// Lost runs after which a direct window is over before its time, since calls that lose so much are slow.
const LOST_ENOUGH: u32 = 128;

/// One lost run in so many is too many: what a lost run costs is about what planning thirty calls does.
const LOST_ONE_IN: u32 = 32;

/// Calls for which what was found holds at first: five times as many as those of a trial, half of which go the slower way.
const HELD_CALLS: u32 = 32_768;

/// And at most.
const HELD_MAX: u32 = HELD_CALLS << 5;

/// Of the calls for which something holds, so many are judged together.
const HELD_WINDOW: u32 = 4096;

/// What was found does not hold any more once calls take so many times as long.
const SLOWER: u64 = 2;

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
    TrialDirect,
    TrialLanes,
    Lanes,
    Direct,
}

/// Of the calls of one level. Written by all sessions; what races may do is count a call twice or not.
#[derive(Debug, Default)]
pub struct Route {
    stage: AtomicU8,
    /// Calls of the window that are to come; below zero while somebody is about to begin the next one.
    left: AtomicI64,
    /// When the window began; 0: it is settling, or has not begun.
    began: AtomicU64,
    /// Runs that were lost in the window.
    lost: AtomicU32,
    /// Calls that the window has.
    window: AtomicU32,
    /// Of whoever begins the next window.
    findings: Mutex<Findings>,
}

/// What windows have shown.
#[derive(Debug, Default)]
struct Findings {
    /// Nanoseconds a call, all sessions together, in each window of the trial.
    direct: [u64; ROUNDS],
    lanes: [u64; ROUNDS],
    /// Rounds of the trial that are over.
    rounds: usize,
    /// What was found last, and what a call took then.
    found: Option<Stage>,
    pace: u64,
    /// For how many calls that holds, and how many of them are still to come after this window.
    held: u32,
    held_left: u32,
}

impl Route {
    /// Which way the next call goes. `now`: nanoseconds of a clock that does not go back, asked for once in a
    /// while.
    pub fn choose(&self, now: impl Fn() -> u64) -> Chosen {
        // Whoever finds the findings taken leaves it to him who has them.
        if self.left.fetch_sub(1, Ordering::Relaxed) <= 0
            && let Ok(mut findings) = self.findings.try_lock()
            && self.left.load(Ordering::Relaxed) < 0
        {
            self.turn(&mut findings, now());
        }
        self.shown()
    }

    /// The way that the next call will most likely go; nothing is counted.
    pub fn shown(&self) -> Chosen {
        match self.stage() {
            Stage::Looking | Stage::TrialDirect | Stage::Direct => Chosen::Direct,
            Stage::TrialLanes | Stage::Lanes => Chosen::Lane,
        }
    }

    /// A direct call has ended, after so many runs that were lost.
    pub fn note(&self, lost: u32) {
        if lost == 0 {
            return;
        }
        let lost = self.lost.fetch_add(lost, Ordering::Relaxed) + lost;
        let judged = matches!(self.stage(), Stage::Looking | Stage::TrialDirect);
        if judged && lost > LOST_ENOUGH && self.began.load(Ordering::Relaxed) > 0 {
            // What the calls so far took says enough.
            let left = self.left.load(Ordering::Relaxed);
            if (1..i64::from(WINDOW / 2)).contains(&left)
                && self
                    .left
                    .compare_exchange(left, 0, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
            {
                self.window.fetch_sub(left as u32, Ordering::Relaxed);
            }
        }
    }

    /// Runs that were lost since the routine was last looked at, and after how many calls it is looked at again.
    pub fn window(&self) -> (u32, u32) {
        let lost = self.lost.load(Ordering::Relaxed);
        let left = self.left.load(Ordering::Relaxed).max(0);
        let later = match self.stage() {
            Stage::Lanes | Stage::Direct => self
                .findings
                .lock()
                .map_or(0, |findings| findings.held_left),
            _ => 0,
        };
        (lost, left as u32 + later)
    }

    /// The window is over, or the stage has settled.
    fn turn(&self, findings: &mut Findings, now: u64) {
        let began = self.began.swap(now, Ordering::Relaxed);
        let stage = self.stage();
        if began == 0 {
            return self.begin(findings.window_of(stage));
        }
        let calls = u64::from(self.window.load(Ordering::Relaxed).max(1));
        let took = now.saturating_sub(began) / calls;
        let lost = u64::from(self.lost.load(Ordering::Relaxed));
        let next = match stage {
            Stage::Looking if lost * u64::from(LOST_ONE_IN) > calls => findings.begin_trial(),
            Stage::Looking => {
                findings.held = 0;
                Stage::Looking
            }
            Stage::TrialDirect => {
                findings.direct[findings.rounds] = took;
                Stage::TrialLanes
            }
            Stage::TrialLanes => {
                findings.lanes[findings.rounds] = took;
                findings.rounds += 1;
                findings.judge().unwrap_or(Stage::TrialDirect)
            }
            _ if findings.held_left > 0 && took <= SLOWER * findings.pace => stage,
            Stage::Lanes => findings.begin_trial(),
            Stage::Direct => Stage::Looking,
        };
        if next == stage {
            return self.begin(findings.window_of(stage));
        }
        self.stage.store(next as u8, Ordering::Relaxed);
        // What has gone directly so far is judged at once; otherwise those that went the other way end first.
        if (stage, next) != (Stage::Direct, Stage::Looking) {
            self.began.store(0, Ordering::Relaxed);
            return self.begin(SETTLING);
        }
        self.begin(WINDOW);
    }

    /// So many calls are next, the one that asks among them.
    fn begin(&self, calls: u32) {
        self.lost.store(0, Ordering::Relaxed);
        self.window.store(calls, Ordering::Relaxed);
        self.left.store(i64::from(calls) - 1, Ordering::Relaxed);
    }

    fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Relaxed) {
            0 => Stage::Looking,
            1 => Stage::TrialDirect,
            2 => Stage::TrialLanes,
            3 => Stage::Lanes,
            _ => Stage::Direct,
        }
    }
}

impl Findings {
    fn begin_trial(&mut self) -> Stage {
        self.rounds = 0;
        Stage::TrialDirect
    }

    /// What the trial has found; `None`: nothing yet.
    fn judge(&mut self) -> Option<Stage> {
        let rounds = self.rounds;
        let (direct, lanes) = (&mut self.direct[..rounds], &mut self.lanes[..rounds]);
        let all = |ahead: fn(u64, u64) -> bool| {
            let mut pairs = direct.iter().zip(lanes.iter());
            pairs.all(|(direct, lanes)| ahead(*direct, *lanes))
        };
        let is_clear = all(|direct, lanes| direct > FAR_AHEAD * lanes)
            || all(|direct, lanes| lanes > FAR_AHEAD * direct);
        if rounds < ROUNDS && !(rounds >= ROUNDS_LEAST && is_clear) {
            return None;
        }
        direct.sort_unstable();
        lanes.sort_unstable();
        let (direct, lanes) = (direct[rounds / 2], lanes[rounds / 2]);
        let (found, pace) = match lanes * 11 < direct * 10 {
            true => (Stage::Lanes, lanes),
            false => (Stage::Direct, direct),
        };
        let held = match self.found.replace(found) == Some(found) {
            true => 2 * self.held,
            false => 0,
        };
        self.held = held.clamp(HELD_CALLS, HELD_MAX);
        self.held_left = self.held;
        self.pace = pace;
        Some(found)
    }

    /// Calls of the stage's next window.
    fn window_of(&mut self, stage: Stage) -> u32 {
        if !matches!(stage, Stage::Lanes | Stage::Direct) {
            return WINDOW;
        }
        let next = self.held_left.min(HELD_WINDOW);
        self.held_left -= next;
        next
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
        let lanes = call(&route, &clock, 4_000_000, (120, 100), 1);
        assert!(lanes > 3_960_000, "{lanes}");
        // The conflicts go away: so do the calls, within what holds at most, and a trial.
        call(&route, &clock, HELD_MAX + 20 * WINDOW, (90, 100), 0);
        assert_eq!(call(&route, &clock, 1_000_000, (90, 100), 0), 0);
    }

    #[test]
    fn calls_that_lose_and_are_faster_directly_stay_there_nearly_all() {
        let (route, clock) = (Route::default(), Cell::new(1));
        let lanes = call(&route, &clock, 4_000_000, (100, 95), 1);
        assert!((WINDOW..40_000).contains(&lanes), "{lanes}");
    }

    /// Twice as fast or more is seen at once.
    #[test]
    fn what_is_far_ahead_is_not_tried_for_long() {
        let (route, clock) = (Route::default(), Cell::new(1));
        let mut direct = 0;
        while route.stage() != Stage::Lanes {
            direct += 1 - call(&route, &clock, 1, (250, 100), 1);
        }
        assert!(direct <= WINDOW + 2 * (WINDOW + SETTLING) + 10, "{direct}");
    }

    /// Direct calls that become slow are looked at before their time, and so are lanes.
    #[test]
    fn what_was_found_ends_when_calls_become_slow() {
        let (route, clock) = (Route::default(), Cell::new(1));
        call(&route, &clock, 1_000_000, (100, 95), 1);
        assert!(route.findings.lock().unwrap().held >= 8 * HELD_CALLS);
        let lanes = call(&route, &clock, 40_000, (1_000, 95), 1);
        assert!(lanes > 25_000, "{lanes}");
        call(&route, &clock, 1_000_000, (1_000, 95), 1);
        let lanes = call(&route, &clock, 40_000, (1_000, 3_000), 1);
        assert!(lanes < 15_000, "{lanes}");
    }

    /// Goal: what the other threads of the machine take away does not decide. One of four windows is twice as long.
    #[test]
    fn a_window_that_was_disturbed_does_not_decide() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut found = [0, 0];
        for _ in 0..200 {
            let (route, clock) = (Route::default(), Cell::new(1));
            while matches!(
                route.stage(),
                Stage::Looking | Stage::TrialDirect | Stage::TrialLanes
            ) {
                if random() % u64::from(4 * WINDOW) == 0 {
                    clock.set(clock.get() + 100 * u64::from(WINDOW));
                }
                call(&route, &clock, 1, (100, 115), 1);
            }
            found[usize::from(route.stage() == Stage::Lanes)] += 1;
        }
        // A single window of each would be wrong in one of five.
        assert!(found[1] <= 12, "{found:?}");
    }

    /// Goal: what the other way has still to do does not spoil the look: the first lanes are slow.
    #[test]
    fn a_change_is_given_time() {
        let (route, clock) = (Route::default(), Cell::new(1));
        let mut in_a_row = 0;
        for _ in 0..20_000 {
            let slow = in_a_row < SETTLING / 2;
            let times = (20, if slow { 100_000 } else { 10 });
            in_a_row = match call(&route, &clock, 1, times, 1) {
                0 => 0,
                _ => in_a_row + 1,
            };
        }
        assert!(in_a_row > 9_000, "{in_a_row}");
    }

    /// Who comes while another begins a window does not begin one.
    #[test]
    fn only_one_turns() {
        let route = Route::default();
        let taken = route.findings.lock().unwrap();
        assert_eq!(
            route.choose(|| unreachable!("he does not ask")),
            Chosen::Direct
        );
        drop(taken);
        route.choose(|| 7);
        assert_eq!(route.began.load(Ordering::Relaxed), 7);
        assert_eq!(route.left.load(Ordering::Relaxed), i64::from(WINDOW) - 1);
    }
}
