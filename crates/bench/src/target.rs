//! What the driver drives: clients that run one transaction at a time.
//!
//! Relies on: nothing.  Promises: nothing by itself; it is the contract between `driver` and the
//! workloads.  Does not: know a database.

use crate::Error;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Committed, and durable as far as the setting asks.
    Committed,
    /// Refused or aborted because of a conflict; it left nothing behind.
    Aborted,
}

/// One client of a closed loop.
pub trait Client: Send {
    /// Runs the next transaction of the stream to its end. A conflict is an outcome; the client
    /// does not repeat the transaction.
    ///
    /// # Errors
    /// Anything but a conflict; it ends the run.
    fn transaction(&mut self) -> Result<Outcome, Error>;
}

/// A workload on a database, loaded and ready.
pub trait Target {
    /// Its clients.
    type Client: Client + 'static;

    /// A client with its own stream; `number` counts from 0.
    fn client(&self, number: u32) -> Self::Client;

    /// What the log has done since the database was opened.
    fn counters(&self) -> Counters;
}

/// Totals that only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes appended to the log.
    pub log_bytes: u64,
    /// Syncs of the log.
    pub syncs: u64,
}
