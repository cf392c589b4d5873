//! Everything a transaction can be told.
//!
//! Relies on: nothing.  Promises: each variant says whether the transaction may go on, must be
//! run again, or must end.  Does not: speak SQL; the engine turns these into SQLSTATEs.

use crate::locks::Wait;
use quintet_base::{Bytes, SpaceId, Timestamp};

/// Why an operation or a commit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another transaction holds the row. No effect; wait, then do the same again.
    #[error("waiting for another transaction")]
    Blocked(Wait),
    /// READ COMMITTED only: the row changed after the statement's snapshot. No effect; the lock on
    /// the row is held; run the statement again on a new snapshot.
    #[error("the row changed since the statement began")]
    Stale,
    /// Lost to a transaction that committed first. No effects; safe to run again.
    #[error("a concurrent transaction committed first")]
    Conflict {
        /// What clashed.
        kind: ConflictKind,
        /// In which space.
        space: SpaceId,
        /// On which key, if one key is to blame.
        key: Option<Bytes>,
        /// When the winner committed.
        winner: Timestamp,
    },
    /// Waiting would close a ring of waiting transactions. Safe to run again.
    #[error("deadlock")]
    Deadlock,
    /// NOWAIT met a lock.
    #[error("the row is locked by another transaction")]
    Locked,
    /// Too many wait for one row already.
    #[error("too many transactions wait for one row")]
    TooManyWaiters,
    /// The snapshot is older than what is kept for validation. Safe to run again.
    #[error("the snapshot is too old to write")]
    SnapshotTooOld,
    /// The transaction's writes exceed what one transaction may hold in memory.
    #[error("the transaction's writes exceed {limit} bytes")]
    TooLarge {
        /// The configured bound.
        limit: usize,
    },
    /// Memory for versions is used up and cannot be emptied into STORE (its disk is full, say).
    /// Refused before any effect; tried again in the background.
    #[error("no room for more versions: {reason}")]
    NoRoom {
        /// What the last attempt to make room said.
        reason: String,
    },
    /// A key that no store can hold: empty, or longer than
    /// [`quintet_base::limits::KEY_BYTES_MAX`].
    #[error("a key of {bytes} bytes cannot be stored")]
    Key {
        /// Its length.
        bytes: usize,
    },
    /// The log refused before any effect (disk full, closed), or is poisoned.
    #[error("the log refused the commit")]
    Log(#[source] quintet_wal::Error),
    /// STORE could not be read.
    #[error("the store could not be read")]
    Store(#[source] quintet_dc::Error),
    /// A log record that the checksum passed but that is no commit record.
    #[error("log record ending at {lsn} cannot be read: {reason}")]
    Record {
        /// Where.
        lsn: quintet_base::Lsn,
        /// Why.
        reason: &'static str,
    },
    /// The component is shutting down.
    #[error("shutting down")]
    Closed,
}

/// What kind of conflict.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConflictKind {
    /// Both wrote the key.
    WriteWrite,
    /// The winner wrote a key this transaction had read.
    ReadWrite,
    /// The winner wrote into a range this transaction had scanned.
    Phantom,
    /// The winner changed the schema under this transaction.
    Schema,
}

impl From<quintet_dc::Error> for Error {
    fn from(source: quintet_dc::Error) -> Error {
        Error::Store(source)
    }
}
