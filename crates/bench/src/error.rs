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
    #[cfg(feature = "embedded")]
    #[error("the database failed")]
    Database(#[from] quintet_embed::Error),
    /// Another system failed that was measured with this driver.
    #[error("the system that is measured failed")]
    System(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A statement of the workload's own failed; not a call.
    #[error("{doing}: {message} ({state})")]
    Statement {
        /// What it was for.
        doing: String,
        /// Its SQLSTATE.
        state: String,
        /// What the database said.
        message: String,
    },
    /// A call ended as it must not.
    #[error("{procedure} ended wrongly: {ending}; it was: {call}")]
    WrongEnding {
        /// Which procedure.
        procedure: &'static str,
        /// How it ended.
        ending: String,
        /// The call as SQL.
        call: String,
    },
    /// The database is not what it must be.
    #[error("check \"{check}\" failed: {found}")]
    Inconsistent {
        /// Which check.
        check: &'static str,
        /// What was found instead.
        found: String,
    },
    /// No thread for a client.
    #[error("a client cannot be started")]
    Thread(#[source] std::io::Error),
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
