//! A transaction that carries a batch of calls.
//!
//! Relies on: `commit`, which refuses where it would wait if [`Txn::never_waits`] is set.  Promises: a batch
//! waits for nobody: rows that others have locked, or queue for, are named instead, so that the calls which
//! write them can be put out and the others go on; after a refusal the transaction is as one that has
//! just begun, but for the locks it took.  Does not: know calls; whoever runs them marks where each began
//! ([`Txn::mark`]).
//!
//! ```text
//!   call, call, call ──► contested? ──no──► commit_batch ──► Committed
//!     ▲                     │yes                │lost, contested
//!     └── without those ◄───┴───────────────────┘
//! ```

use crate::error::Error;
use crate::locks::{Strength, WaitPolicy};
use crate::place::Place;
use crate::table::hash;
use crate::transaction::{Committed, Txn};
use quintet_base::{Bytes, Durability, SpaceId};

/// Why a batch was not committed. It has no effects.
#[derive(Debug)]
pub enum BatchRefused {
    /// Others have locked these rows, or wait for them; none: a schema change is under way. What wrote them
    /// has to leave the batch.
    Contested(Vec<(SpaceId, Bytes)>),
    /// It lost to a transaction that committed first; it may be run again.
    Lost(Error),
    /// It would not do the next time either; the transaction is over.
    Failed(Error),
}

impl Txn {
    /// What has been written so far will not be taken back by itself any more: marks are worth nothing from
    /// here on. Saves what they would have kept.
    pub fn forget_marks(&mut self) {
        self.writes.forget_marks();
    }

    /// Whether the row is among those that would be written.
    pub fn has_written(&self, space: SpaceId, key: &[u8]) -> bool {
        self.writes.get(hash(space, key), space, key).is_some()
    }

    /// Bytes of the rows that would be written.
    pub fn written_bytes(&self) -> usize {
        self.writes.value_bytes()
    }

    /// Rows that it has written and that others have locked, or queue for.
    pub fn contested(&self) -> Vec<(SpaceId, Bytes)> {
        let locks = &self.shared.locks;
        let writes = self.writes.iter();
        writes
            .filter(|write| locks.is_wanted(write.hash, self.id))
            .map(|write| (write.space, Bytes::copy_from_slice(write.key)))
            .collect()
    }

    /// Locks a row, if that can be had at once: from here on others wait for it.
    pub fn lock_at_once(&mut self, space: SpaceId, key: &[u8]) -> bool {
        let place = Place::new(space, key);
        self.take_lock(place, Strength::Exclusive, WaitPolicy::Refuse)
            .is_ok()
    }

    /// Commits without waiting for anybody but the log's room.
    ///
    /// # Errors
    /// See [`BatchRefused`]; after the first two of it, [`Txn::restart`] and begin again.
    pub fn commit_batch(&mut self, durability: Durability) -> Result<Committed, BatchRefused> {
        assert!(!self.finished, "a finished transaction cannot commit");
        self.never_waits = true;
        let result = crate::commit::commit(self, durability);
        let result = result.inspect_err(|error| self.note_lost(error));
        self.never_waits = false;
        match result {
            Ok(committed) => {
                self.finish();
                Ok(committed)
            }
            Err(Error::Locked) => Err(BatchRefused::Contested(self.contested())),
            Err(error @ (Error::Conflict { .. } | Error::SnapshotTooOld)) => {
                Err(BatchRefused::Lost(error))
            }
            Err(error) => {
                self.finish();
                Err(BatchRefused::Failed(error))
            }
        }
    }
}
