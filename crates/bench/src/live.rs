//! What clients do while they do it: about once a second each thread hands over what it counted.
//!
//! Relies on: `quintet_rt` for the clock's nanoseconds.  Promises: one relaxed load of a shared word per
//! transaction and a lock per thread and window, so that being watched costs the run next to nothing; a
//! window that nobody asks for is not counted at all.  Does not: lose a transaction: what a slow thread
//! hands over late stands in the next window.
//!
//! ```text
//!   teller    window 1 │ window 2 │ …      raises the number, waits a little, takes what was handed over
//!   thread    ─────────┴▲─────────┴▲       sees the number at its next transaction, hands over, begins anew
//! ```

use crate::stage::Second;
use crate::timeline::LATENCY_MAX_NS;
use hdrhistogram::Histogram;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Length of a window.
const WINDOW_NS: u64 = 1_000_000_000;

/// How long after a window's end its figures are told: most threads have handed over by then.
const GRACE_NS: u64 = 50_000_000;

/// How a transaction, or a run of it, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// With an answer so many nanoseconds after it was due.
    Committed(u64),
    /// It lost.
    Lost,
    /// Refused, or given up.
    #[cfg_attr(
        not(feature = "calls"),
        expect(dead_code, reason = "only calls are refused")
    )]
    Refused,
}

/// What was counted in a window, by one thread or by all.
struct Window {
    committed: u64,
    lost: u64,
    refused: u64,
    latency: Histogram<u32>,
}

impl Window {
    fn new() -> Window {
        // One digit: a line for eyes.
        let latency = Histogram::new_with_bounds(1, LATENCY_MAX_NS, 1)
            .expect("the bounds are constants that fit");
        Window {
            committed: 0,
            lost: 0,
            refused: 0,
            latency,
        }
    }

    fn add(&mut self, other: &Window) {
        self.committed += other.committed;
        self.lost += other.lost;
        self.refused += other.refused;
        self.latency
            .add(&other.latency)
            .expect("all windows have the same bounds");
    }

    fn clear(&mut self) {
        self.committed = 0;
        self.lost = 0;
        self.refused = 0;
        self.latency.reset();
    }
}

/// Where threads hand over; shared by all of a run.
pub(crate) struct Board {
    /// Number of the window under way; 0: nobody asks. Written by the telling thread alone. Relaxed: a thread
    /// that sees it late hands over late; what is handed over goes through the lock.
    number: AtomicU64,
    handed: Mutex<Window>,
}

impl Board {
    pub fn new(watched: bool) -> Board {
        Board {
            number: AtomicU64::new(u64::from(watched)),
            handed: Mutex::new(Window::new()),
        }
    }

    /// A thread that panicked with the lock has ended the run; its figures do not matter any more.
    fn handed(&self) -> std::sync::MutexGuard<'_, Window> {
        self.handed.lock().unwrap_or_else(|held| held.into_inner())
    }
}

/// One thread's part of a window.
pub(crate) struct Own {
    number: u64,
    window: Window,
}

impl Own {
    pub fn new() -> Own {
        Own {
            number: 1,
            window: Window::new(),
        }
    }

    /// Counts an end.
    pub fn see(&mut self, board: &Board, seen: Seen) {
        let number = board.number.load(Ordering::Relaxed);
        if number == 0 {
            return;
        }
        if number != self.number {
            board.handed().add(&self.window);
            self.window.clear();
            self.number = number;
        }
        match seen {
            Seen::Committed(latency) => {
                self.window.committed += 1;
                self.window.latency.saturating_record(latency);
            }
            Seen::Lost => self.window.lost += 1,
            Seen::Refused => self.window.refused += 1,
        }
    }
}

/// Who tells; belongs to the thread that conducts the run.
pub(crate) struct Teller<'t> {
    board: &'t Board,
    tell: &'t mut dyn FnMut(Second),
    /// When the last window that was told was closed.
    told: u64,
    /// The end of a window whose figures are still coming in.
    closed: Option<u64>,
    /// The phase: when it began, how many seconds it lasts, whether nothing counts yet.
    phase: (u64, f64, bool),
}

impl<'t> Teller<'t> {
    pub fn new(board: &'t Board, now: u64, tell: &'t mut dyn FnMut(Second)) -> Teller<'t> {
        Teller {
            board,
            tell,
            told: now,
            closed: None,
            phase: (now, 0.0, true),
        }
    }

    /// A phase begins.
    pub fn begin(&mut self, now: u64, seconds: f64, warming: bool) {
        self.phase = (now, seconds, warming);
    }

    /// Called now and then.
    pub fn look(&mut self, now: u64) {
        if self.board.number.load(Ordering::Relaxed) == 0 {
            return;
        }
        match self.closed {
            None if now - self.told >= WINDOW_NS => {
                self.board.number.fetch_add(1, Ordering::Relaxed);
                self.closed = Some(now);
            }
            Some(closed) if now - closed >= GRACE_NS => {
                self.closed = None;
                self.say(now, closed);
            }
            _ => {}
        }
    }

    fn say(&mut self, now: u64, closed: u64) {
        let seconds = (closed - self.told) as f64 / 1e9;
        self.told = closed;
        let (began, of, warming) = self.phase;
        let second = {
            let mut handed = self.board.handed();
            let second = Second {
                at: now.saturating_sub(began) as f64 / 1e9,
                of,
                warming,
                committed_per_second: handed.committed as f64 / seconds,
                aborted_per_second: handed.lost as f64 / seconds,
                refused_per_second: handed.refused as f64 / seconds,
                p99_us: handed.latency.value_at_quantile(0.99) as f64 / 1000.0,
            };
            handed.clear();
            second
        };
        (self.tell)(second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    // Two threads, of which one looks at the board late: its count stands in the next window, and none is lost.
    #[test]
    fn windows_hold_what_was_handed_over_and_nothing_is_lost() {
        let board = Board::new(true);
        let mut told = Vec::new();
        let mut tell = |second| told.push(second);
        let mut teller = Teller::new(&board, 0, &mut tell);
        teller.begin(0, 2.0, true);
        let (mut quick, mut slow) = (Own::new(), Own::new());
        for _ in 0..10 {
            quick.see(&board, Seen::Committed(2 * MS));
            slow.see(&board, Seen::Lost);
        }
        teller.look(999 * MS);
        teller.look(1000 * MS);
        quick.see(&board, Seen::Refused);
        teller.look(1040 * MS);
        teller.look(1050 * MS);
        slow.see(&board, Seen::Lost);
        teller.begin(1500 * MS, 5.0, false);
        teller.look(2000 * MS);
        quick.see(&board, Seen::Lost);
        teller.look(2050 * MS);
        let figures: Vec<_> = told
            .iter()
            .map(|s| {
                (
                    s.committed_per_second,
                    s.aborted_per_second,
                    s.refused_per_second,
                    s.of,
                    s.warming,
                )
            })
            .collect();
        assert_eq!(
            figures,
            [(10.0, 0.0, 0.0, 2.0, true), (0.0, 10.0, 1.0, 5.0, false)]
        );
        assert!((told[0].p99_us - 2000.0).abs() < 200.0, "{told:?}");
        assert!((told[1].at - 0.55).abs() < 1e-9, "{told:?}");
    }

    #[test]
    fn nothing_is_counted_for_nobody() {
        let board = Board::new(false);
        let mut own = Own::new();
        own.see(&board, Seen::Lost);
        assert_eq!(own.window.lost, 0);
        let mut tell = |second| panic!("{second:?}");
        let mut teller = Teller::new(&board, 0, &mut tell);
        teller.look(5000 * MS);
        teller.look(9000 * MS);
    }

    #[test]
    fn the_line_says_what_counts() {
        let mut second = Second {
            at: 3.04,
            of: 10.0,
            warming: false,
            committed_per_second: 1234.4,
            aborted_per_second: 5.0,
            refused_per_second: 0.0,
            p99_us: 2500.0,
        };
        let line = "3/10 s: 1234 committed/s, p99 2.50 ms, 5 lost/s";
        assert_eq!(second.to_string(), line);
        second.refused_per_second = 12.0;
        assert_eq!(second.to_string(), format!("{line}, 12 refused/s"));
    }
}
