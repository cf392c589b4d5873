//! What the driver drives: clients that run one transaction after the other and are answered later.
//!
//! Relies on: nothing.  Promises: nothing by itself; it is the contract between `driver` and the
//! workloads.  Does not: know a database.

use crate::Error;

/// How a transaction ended, as far as its client knows yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<A> {
    /// Committed; the answer comes when it is durable as far as the setting asks.
    Committed(A),
    /// Refused or aborted because of a conflict; it left nothing behind.
    Aborted,
}

/// The answer to a commit, perhaps still under way.
pub trait Answer: Send {
    /// Whether waiting would return at once. Asked often: it must cost next to nothing.
    fn is_here(&self) -> bool;

    /// Blocks until it is here.
    ///
    /// # Errors
    /// What ends the run.
    fn wait(self) -> Result<(), Error>;
}

/// The answer of systems whose commit returns when it is durable.
impl Answer for () {
    fn is_here(&self) -> bool {
        true
    }

    fn wait(self) -> Result<(), Error> {
        Ok(())
    }
}

/// One client.
pub trait Client: Send {
    /// What its commits are answered with. Answers of one client come in the order of its commits.
    type Answer: Answer;

    /// Runs the next transaction of the stream up to its commit. A conflict is an outcome; the
    /// client does not repeat the transaction.
    ///
    /// # Errors
    /// Anything but a conflict; it ends the run.
    fn transaction(&mut self) -> Result<Outcome<Self::Answer>, Error>;
}

/// A workload on a database, loaded and ready.
pub trait Target {
    /// Its clients.
    type Client<'t>: Client
    where
        Self: 't;

    /// A client with its own stream; `number` counts from 0.
    fn client(&self, number: u32) -> Self::Client<'_>;

    /// What the log has done since the database was opened; none if nobody counts.
    fn counters(&self) -> Option<Counters>;

    /// What is going on behind right now, and how often it has ended.
    fn compaction(&self) -> Compaction;
}

/// Totals that only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transactions that were logged, those of the warm-up included; read-only ones are not.
    pub logged: u64,
    /// Bytes appended to the log.
    pub log_bytes: u64,
    /// Syncs of the log.
    pub syncs: u64,
    /// Time in them, in nanoseconds.
    pub sync_nanos: u64,
    /// Those that took longer than [`SLOW_SYNC_MS`](quintet_base::limits::SLOW_SYNC_MS).
    pub slow_syncs: u64,
}

impl Counters {
    /// Mean time of a sync, in microseconds; none if there was none.
    pub fn sync_mean_us(&self) -> Option<f64> {
        (self.syncs > 0).then(|| self.sync_nanos as f64 / 1e3 / self.syncs as f64)
    }

    /// What was done since `before`.
    pub fn since(&self, before: &Counters) -> Counters {
        Counters {
            logged: self.logged - before.logged,
            log_bytes: self.log_bytes - before.log_bytes,
            syncs: self.syncs - before.syncs,
            sync_nanos: self.sync_nanos - before.sync_nanos,
            slow_syncs: self.slow_syncs - before.slow_syncs,
        }
    }
}

/// What the database says of its compactions at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// What was written is being moved from memory into the store.
    pub running: bool,
    /// The store is rewriting files of its own.
    pub rewriting: bool,
    /// So often has memory been moved into the store since the database was opened.
    pub finished: u64,
}
