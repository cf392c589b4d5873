//! What can end a benchmark.
//!
//! Relies on: the errors of the rooms below.  Promises: a conflict is never one of these.
//! Does not: say what to do; the message of the source does.

/// A benchmark could not be run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workload's configuration is impossible.
    #[error(transparent)]
    Config(#[from] quintet_workloads::ycsb::ConfigError),
    /// The database refused or failed.
    #[error("the database failed")]
    Database(#[from] quintet_embed::Error),
    /// A record that was loaded is not there, or is not what was written.
    #[error("record {record} is missing or damaged")]
    BadRecord {
        /// Which record.
        record: u64,
    },
    /// A client's thread panicked; what it said is on standard error.
    #[error("a client panicked")]
    ClientPanicked,
}
