//! What the log can refuse and what can go wrong below it.
//!
//! Relies on: `rt::Error`.  Promises: [`Error::DiskFull`], [`Error::TooLong`], [`Error::NoRoom`],
//! [`Error::Closed`] and [`Error::Io`] from `reserve` and `append` mean that nothing was appended; [`Error::Poisoned`] means that the
//! outcome of everything not yet durable is unknown until recovery.  Does not: retry.

use quintet_base::Lsn;
use std::path::PathBuf;
use std::sync::Arc;

/// An error of the log.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Refused: no space for the record. Nothing was appended; later appends may succeed.
    #[error("no space left for the log")]
    DiskFull {
        /// What the disk said.
        source: Arc<quintet_rt::Error>,
    },
    /// A write or sync of the log has failed. What was not durable then may or may not be in the
    /// log; nothing more is acknowledged by this process. Restart and recover.
    #[error("the log has failed and takes no more commits")]
    Poisoned {
        /// The first failure.
        source: Arc<quintet_rt::Error>,
    },
    /// The log has lost or changed bytes that it had acknowledged. Nothing was repaired.
    #[error("the log is damaged at {lsn} ({}, offset {offset}): {reason}", path.display())]
    Damaged {
        /// Where in the stream.
        lsn: Lsn,
        /// In which file (or directory, if a file is missing).
        path: PathBuf,
        /// At which byte of the file.
        offset: u64,
        /// What is wrong there.
        reason: &'static str,
    },
    /// The disk refused something that no acknowledged record depends on.
    #[error("the log could not use its files")]
    Io {
        /// What the disk said.
        source: Arc<quintet_rt::Error>,
    },
    /// Refused: longer than the configured [`crate::WalConfig::record_bytes_max`].
    #[error("log record of {bytes} bytes exceeds the maximum of {bytes_max}")]
    TooLong {
        /// Length of the payload.
        bytes: usize,
        /// Longest that is taken.
        bytes_max: usize,
    },
    /// Refused: the log's memory holds records that have not been reclaimed. Nothing was appended;
    /// reclaim, then try again.
    #[error("the memory of the log is full")]
    NoRoom,
    /// Refused: the log has been shut down.
    #[error("the log is shut down")]
    Closed,
}

impl From<quintet_rt::Error> for Error {
    fn from(error: quintet_rt::Error) -> Error {
        let full = error.is_disk_full();
        let source = Arc::new(error);
        match full {
            true => Error::DiskFull { source },
            false => Error::Io { source },
        }
    }
}
