//! Whether a row is there, whatever is in it; and what is there now, whatever the snapshot.
//!
//! Relies on: whoever removes a row that others may rely on, or adds one that relies on others, asks
//! [`Txn::hold_presence`] first, at every level.  Promises: while one transaction shares the presence of a key,
//! nobody has it alone; writers of the row's other columns are not in the way, and find nobody in theirs:
//! the row itself is neither locked nor written.  What is looked at from aside is not validated: the
//! caller holds what keeps it true until its commit.  Does not: keep rows from being written.
//!
//! ```text
//!   adds a child      share P ─► is P there now? ─► … commit ─► let go
//!   removes parent P  have P alone ─► is there a child now? ─► … commit ─► let go
//! ```
//! A presence is a lock on the key with one byte behind it that no key continues with; versions are
//! installed before a commit lets go of its locks, so who gets the lock sees them in a new snapshot.

use crate::error::{ConflictKind, Error};
use crate::locks::{Strength, WaitPolicy};
use crate::place::Place;
use crate::snapshot::Snapshot;
use crate::table::hash;
use crate::transaction::{Attached, KeptSnapshot, Txn};
use quintet_base::{Bytes, SpaceId};
use std::sync::Arc;

/// No encoded column begins with it, so no key of a row goes on with it behind another's.
const PRESENCE: u8 = 0xFF;

/// Whether a row is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Presence {
    /// In the newest state there is, own writes included.
    pub now: bool,
    /// In the transaction's snapshot, own writes included.
    pub seen: bool,
}

impl Txn {
    /// Takes the presence of a key, shared or alone, until the transaction ends.
    ///
    /// # Errors
    /// [`Error::Blocked`], [`Error::Deadlock`], [`Error::TooManyWaiters`].
    pub fn hold_presence(
        &mut self,
        space: SpaceId,
        key: &[u8],
        strength: Strength,
    ) -> Result<(), Error> {
        let mut name = Vec::with_capacity(key.len() + 1);
        name.extend_from_slice(key);
        name.push(PRESENCE);
        self.take_lock(Place::new(space, &name), strength, WaitPolicy::Queue)
    }

    /// Whether a row is there. Not remembered as read: what is not kept true by a presence that the
    /// transaction holds is to be noted ([`Txn::note_read`]).
    ///
    /// # Errors
    /// As [`Txn::get`].
    pub fn presence(&self, space: SpaceId, key: &[u8]) -> Result<Presence, Error> {
        let hash = hash(space, key);
        if let Some(own) = self.writes.get(hash, space, key) {
            let there = own.is_some();
            return Ok(Presence {
                now: there,
                seen: there,
            });
        }
        self.check_fence(space)?;
        let seen = self.read_stored((hash, space, key), |row| row.is_some())?;
        let now = Snapshot::take(&self.shared);
        if now.timestamp == self.snapshot.timestamp {
            return Ok(Presence { now: seen, seen });
        }
        let found = self
            .shared
            .read(now.timestamp, (hash, space, key), false, |row, at| {
                self.note_version(at);
                row.is_some()
            })?;
        Ok(Presence { now: found, seen })
    }

    /// Reads at now from here on, without remembering it, until [`Txn::look_back`].
    pub fn look_aside(&mut self) -> KeptSnapshot {
        let now = Arc::new(Snapshot::take(&self.shared));
        self.aside = true;
        KeptSnapshot(std::mem::replace(&mut self.snapshot, now))
    }

    /// Reads at its own snapshot again.
    pub fn look_back(&mut self, kept: KeptSnapshot) {
        self.aside = false;
        self.snapshot = kept.0;
    }

    /// Keeps something of the user's until the transaction ends, unless what was written since is undone.
    pub fn attach(&mut self, what: Attached) {
        self.attached.push(what);
    }

    /// What was attached, in that order.
    pub fn attached(&self) -> &[Attached] {
        &self.attached
    }

    /// What another has done to a key since the snapshot is in the way.
    pub fn lost_to_newer(&self, space: SpaceId, key: &[u8]) -> Error {
        Error::Conflict {
            kind: ConflictKind::WriteWrite,
            space,
            key: Some(Bytes::copy_from_slice(key)),
            winner: self.shared.end(),
        }
    }
}
