//! Everything a transaction can be told.
//!
//! Relies on: nothing.  Promises: each variant says whether the transaction may go on, must be
//! run again, or must end.  Does not: speak SQL; the engine turns these into SQLSTATEs.

use crate::locks::Wait;
use quintet_base::error::with_causes;
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
    /// Memory for versions is used up and cannot be emptied into STORE, whose disk is full.
    /// Refused before any effect; tried again in the background.
    #[error("no room for more versions: {reason}")]
    NoRoom {
        /// What the last attempt to make room said.
        reason: String,
    },
    /// Memory for versions is used up and cannot be emptied into STORE, which fails for another
    /// reason than a full disk. Refused before any effect; tried again in the background.
    #[error("what was committed cannot be moved into the store: {reason}")]
    PostFailed {
        /// What the last attempt said.
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

/// Why what was committed could not be moved into STORE. Nothing is lost by it: the log has it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct PostFailure {
    /// The error with its causes, in one line.
    pub reason: String,
    /// What is missing is space on a disk.
    pub is_disk_full: bool,
}

impl PostFailure {
    pub(crate) fn new(error: &Error) -> PostFailure {
        PostFailure {
            reason: with_causes(error),
            is_disk_full: match error {
                Error::Store(source) => source.is_disk_full(),
                Error::Log(source) => matches!(source, quintet_wal::Error::DiskFull { .. }),
                _ => false,
            },
        }
    }

    /// What a commit is told that needs the room.
    pub(crate) fn refusal(self) -> Error {
        let PostFailure {
            reason,
            is_disk_full,
        } = self;
        match is_disk_full {
            true => Error::NoRoom { reason },
            false => Error::PostFailed { reason },
        }
    }
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

impl Error {
    /// What the transaction goes by in a space was changed by a commit that came first.
    pub(crate) fn schema(space: SpaceId, winner: Timestamp) -> Error {
        Error::Conflict {
            kind: ConflictKind::Schema,
            space,
            key: None,
            winner,
        }
    }
}

impl From<quintet_dc::Error> for Error {
    fn from(source: quintet_dc::Error) -> Error {
        Error::Store(source)
    }
}
