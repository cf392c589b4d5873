//! Says on standard error what a benchmark or a simulation is doing, and nowhere else.
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

/// One line, before there is a run.
pub fn say(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

/// A run of which is told.
pub struct RunProgress {
    /// In front of every line.
    prefix: String,
    terminal: bool,
    /// A line stands there that is to be written over.
    shown: bool,
    seconds: u64,
    /// How much of a whole was told last, in the steps in which it is told.
    step: Option<u64>,
}

/// Characters of a bar.
const BAR: u64 = 30;

impl RunProgress {
    /// Every line begins with `prefix`.
    pub fn new(prefix: String) -> RunProgress {
        RunProgress {
            prefix,
            terminal: stderr().is_terminal(),
            shown: false,
            seconds: 0,
            step: None,
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

    /// So much of a whole is done. Cheap: to be called for every single thing.
    pub fn part(&mut self, doing: &str, done: u64, of: u64) {
        let steps = if self.terminal { 1000 } else { 10 };
        let step = done * steps / of.max(1);
        if self.step == Some(step) {
            return;
        }
        self.step = Some(step);
        if !self.terminal {
            self.line(&format!("{doing} {} %", step * 10));
            return;
        }
        let full = (done * BAR / of.max(1)).min(BAR) as usize;
        let rest = BAR as usize - full;
        let (bar, gap) = ("#".repeat(full), ".".repeat(rest));
        self.shown = true;
        let _ = write!(
            stderr(),
            "\r\x1b[K{}[{bar}{gap}] {doing} {done} of {of}",
            self.prefix
        );
    }

    /// So many of nobody knows how many are done. Told at a terminal only.
    pub fn count(&mut self, what: &str, number: u64) {
        if self.terminal {
            self.shown = true;
            let _ = write!(stderr(), "\r\x1b[K{}{what} {number}", self.prefix);
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
