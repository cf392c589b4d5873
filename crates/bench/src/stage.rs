//! What a run is doing, for whoever wants to be told.
//!
//! Relies on: nothing.  Promises: [`Stage::Second`] comes about once a second while clients run.
//! Does not: write anything; the command line does.

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// So much of the workload is loaded, in its own pieces.
    Loading {
        /// Loaded so far.
        done: u64,
        /// All.
        of: u64,
    },
    /// The checks are under way.
    Checking,
    /// The clients run: first to warm up, then measured.
    Running,
    /// What they did in the last second or so.
    Second(Second),
}

/// What the clients did lately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Second {
    /// Seconds since the clients began, or since the measurement did.
    pub at: f64,
    /// How long that lasts.
    pub of: f64,
    /// Nothing counts yet.
    pub warming: bool,
    /// Transactions that were answered, per second.
    pub committed_per_second: f64,
    /// Runs that lost, per second.
    pub aborted_per_second: f64,
    /// Transactions that ended otherwise (refused, or given up), per second.
    pub refused_per_second: f64,
    /// All but one in a hundred of those that were answered were faster.
    pub p99_us: f64,
}

impl std::fmt::Display for Second {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let warming = if self.warming { " warming up" } else { "" };
        write!(
            f,
            "{:.0}/{:.0} s{warming}: {:.0} committed/s, p99 {:.2} ms, {:.0} lost/s",
            self.at,
            self.of,
            self.committed_per_second,
            self.p99_us / 1000.0,
            self.aborted_per_second
        )?;
        match self.refused_per_second > 0.0 {
            true => write!(f, ", {:.0} refused/s", self.refused_per_second),
            false => Ok(()),
        }
    }
}
