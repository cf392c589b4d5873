//! What a recovery did, and how far one is.
//!
//! Relies on: positions of the log being bytes.  Promises: figures that agree with each other.
//! Does not: look at a clock.

use quintet_base::Lsn;
use std::time::Duration;

/// What recovery did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recovery {
    /// Where replay began.
    pub redo_start: Lsn,
    /// Where the log ended.
    pub end: Lsn,
    /// Commits replayed.
    pub commits: u64,
    /// Changes replayed.
    pub changes: u64,
    /// Merges into STORE on the way, because memory was full.
    pub merges: u64,
    /// Threads that installed.
    pub lanes: usize,
    /// Reading and checking the log, its end and its repair included.
    pub reading: Duration,
    /// Sharing records out and waiting for the lanes: what reading does not hide.
    pub replaying: Duration,
    /// Those merges.
    pub merging: Duration,
    /// All of it.
    pub took: Duration,
}

impl Recovery {
    /// Bytes of log replayed.
    pub fn bytes(&self) -> u64 {
        self.end.0 - self.redo_start.0
    }

    /// Bytes of log in a second; nothing if it took no time.
    pub fn bytes_per_second(&self) -> f64 {
        rate(self.bytes(), self.took)
    }
}

/// How far a recovery is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryProgress {
    /// Where replay began.
    pub redo_start: Lsn,
    /// How far it has come.
    pub position: Lsn,
    /// Where the log will end, about.
    pub end: Lsn,
    /// Changes replayed.
    pub changes: u64,
    /// Since the beginning.
    pub took: Duration,
}

impl RecoveryProgress {
    /// From 0 to 100.
    pub fn per_cent(&self) -> u64 {
        let all = self.end.0.max(self.position.0) - self.redo_start.0;
        let done = self.position.0 - self.redo_start.0;
        (u128::from(done) * 100)
            .checked_div(u128::from(all))
            .map_or(100, |share| share as u64)
    }

    /// Bytes of log in a second, so far.
    pub fn bytes_per_second(&self) -> f64 {
        rate(self.position.0 - self.redo_start.0, self.took)
    }

    /// How long the rest will take, if it goes on like this.
    pub fn rest(&self) -> Duration {
        let rest = self.end.0.saturating_sub(self.position.0) as f64;
        let seconds = rest / self.bytes_per_second().max(1.0);
        // A guess of centuries is no guess.
        Duration::from_secs_f64(seconds.min(1e9))
    }
}

fn rate(bytes: u64, took: Duration) -> f64 {
    if took.is_zero() {
        return 0.0;
    }
    bytes as f64 / took.as_secs_f64()
}
