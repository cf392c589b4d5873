//! What a replica's log tells.
//!
//! Relies on: nothing.  Promises: plain data.  Does not: say what follows from it.

use crate::front::{Gid, Tag};
use crate::position::WalPosition;
use crate::write_set::WriteSet;
use std::sync::Arc;

/// A transaction wrote more than is kept in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a write set of {bytes} bytes is over the limit of {limit} (limits::WRITE_SET_BYTES_MAX)")]
pub struct TooLarge {
    /// What it takes, nearly.
    pub bytes: usize,
    /// The bound.
    pub limit: usize,
}

/// A write set, or that it is too large to be had.
pub type Captured = Result<Arc<WriteSet>, TooLarge>;

/// Something that happened at a replica, in the order of its log. The position is the end of the record: who has
/// confirmed it is not told again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A transaction was prepared, and is now known.
    Prepared {
        /// Its identity, ours or not.
        gid: Gid,
        /// What an attempt says of itself; nothing for others.
        tag: Option<Tag>,
        /// Where.
        position: WalPosition,
        /// What it would change. Complete as long as it is not rolled back: the server stops reading a transaction that it
        /// finds to be aborted, and tells as much as it has read.
        write_set: Captured,
    },
    /// It was committed. Comes alone if its preparation was confirmed before.
    CommitPrepared {
        /// Which.
        gid: Gid,
        /// Where.
        position: WalPosition,
    },
    /// It was rolled back. Comes alone if its preparation was confirmed before.
    RollbackPrepared {
        /// Which.
        gid: Gid,
        /// Where.
        position: WalPosition,
    },
    /// An ordinary transaction was committed that is no apply: somebody wrote here past the front end.
    Committed {
        /// What it says of itself.
        tag: Option<Tag>,
        /// Where.
        position: WalPosition,
        /// What it changed.
        write_set: Captured,
    },
    /// A write set of elsewhere was applied here, durably.
    Applied {
        /// Whose.
        gid: Gid,
        /// Where.
        position: WalPosition,
    },
    /// Nothing of interest before this position that was not told.
    KeepAlive {
        /// Where.
        position: WalPosition,
    },
}

impl Item {
    /// The end of what this tells.
    pub fn position(&self) -> WalPosition {
        match self {
            Item::Prepared { position, .. }
            | Item::CommitPrepared { position, .. }
            | Item::RollbackPrepared { position, .. }
            | Item::Committed { position, .. }
            | Item::Applied { position, .. }
            | Item::KeepAlive { position } => *position,
        }
    }
}
