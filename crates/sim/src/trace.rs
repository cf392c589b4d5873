//! What happened, as a hash that two runs can compare, and as lines that somebody can read.
//!
//! Relies on: events being told in a form that names no address and no chance of the process.
//! Promises: the hash covers every event.  Does not: keep lines unless asked to.

use std::collections::VecDeque;
use std::fmt::{self, Write};

/// FNV-1a, 64 bits: a few lines, and the same on every machine.
const OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01B3;

/// The events of one run.
#[derive(Debug)]
pub(crate) struct Trace {
    hash: u64,
    events: u64,
    /// The last ones, at most `keep`.
    lines: VecDeque<String>,
    keep: usize,
}

struct Hashing<'a>(&'a mut u64);

impl Write for Hashing<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            *self.0 = (*self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
        }
        Ok(())
    }
}

impl Trace {
    pub fn new(keep: usize) -> Trace {
        Trace {
            hash: OFFSET,
            events: 0,
            lines: VecDeque::new(),
            keep,
        }
    }

    pub fn note(&mut self, event: fmt::Arguments<'_>) {
        self.events += 1;
        writeln!(Hashing(&mut self.hash), "{event}").expect("hashing does not fail");
        if self.keep > 0 {
            if self.lines.len() == self.keep {
                self.lines.pop_front();
            }
            self.lines.push_back(format!("{:>6} {event}", self.events));
        }
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    pub fn events(&self) -> u64 {
        self.events
    }

    pub fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines).into()
    }
}
