//! Says on standard error what a benchmark is doing, and nowhere else.
//!
//! Relies on: `quintet_bench` for what it is.  Promises: at a terminal the last second stands in one line that
//! is written over and is gone at the end; elsewhere there is a line now and then.  Does not: fail: with
//! standard error gone there is nobody left to tell.

use quintet_bench::Stage;
use std::io::{IsTerminal, Write, stderr};

/// Lines that say how far loading is, at most.
const LOADING_LINES: u64 = 20;

/// Where nobody watches, one second of so many is told.
const PLAIN_SECONDS: u64 = 10;

/// A run of which is told.
pub struct RunProgress {
    /// In front of every line.
    prefix: String,
    terminal: bool,
    /// A line stands there that is to be written over.
    shown: bool,
    seconds: u64,
}

impl RunProgress {
    /// Every line begins with `prefix`.
    pub fn new(prefix: String) -> RunProgress {
        RunProgress {
            prefix,
            terminal: stderr().is_terminal(),
            shown: false,
            seconds: 0,
        }
    }

    /// What the run is doing.
    pub fn tell(&mut self, stage: Stage) {
        match stage {
            Stage::Loading { done, of } => {
                if done * LOADING_LINES / of != done.saturating_sub(1) * LOADING_LINES / of {
                    self.line(&format!("loaded {} %", done * 100 / of));
                }
            }
            Stage::Checking => self.line("checking"),
            Stage::Running => self.line("running"),
            Stage::Second(second) if self.terminal => {
                self.shown = true;
                let _ = write!(stderr(), "\r\x1b[K{}{second}", self.prefix);
            }
            Stage::Second(second) => {
                self.seconds += 1;
                if self.seconds.is_multiple_of(PLAIN_SECONDS) {
                    self.line(&second.to_string());
                }
            }
        }
    }

    fn line(&mut self, text: &str) {
        self.clear();
        let _ = writeln!(stderr(), "{}{text}", self.prefix);
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for RunProgress {
    fn drop(&mut self) {
        self.clear();
    }
}
