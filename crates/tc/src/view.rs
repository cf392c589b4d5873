//! Which memtables and which generation a snapshot reads.
//!
//! Relies on: whoever takes a view has registered its snapshot first (`snapshots`).
//! Promises: a view never changes; reading it from newest to oldest source finds each key's version
//! at the snapshot it was taken with, whatever is frozen or merged meanwhile.
//! Does not: decide when to freeze, merge or retire (`compact`).
//!
//! Why that holds: a memtable enters a view's generation only by a merge that ends before the view
//! is made, and only memtables frozen at or below the visible timestamp are merged; so every
//! snapshot that reads the view is at or above everything its generation holds.

use crate::memtable::MemTable;
use quintet_base::{Bytes, SpaceId, Timestamp};
use quintet_dc::Generation;
use std::ops::Bound;
use std::sync::Arc;

/// A memtable that takes no more writes.
#[derive(Clone)]
pub(crate) struct Frozen {
    /// Its versions.
    pub table: Arc<MemTable>,
    /// Everything in it was committed at or below this, everything newer is in newer memtables.
    pub frozen_at: Timestamp,
    /// Its newest versions are in the view's generation; it stays for validation only.
    pub merged: bool,
}

/// An immutable set of sources.
pub(crate) struct View {
    /// Takes the installs (m1).
    pub active: Arc<MemTable>,
    /// Newest first (m0 and those kept for validation).
    pub frozen: Vec<Frozen>,
    /// STORE as of the last finished merge.
    pub generation: Arc<dyn Generation>,
    /// Writers with an older snapshot can no longer be validated against this view.
    pub validation_floor: Timestamp,
}

impl View {
    /// Memtables from newest to oldest.
    pub fn memtables(&self) -> impl Iterator<Item = &Arc<MemTable>> {
        std::iter::once(&self.active).chain(self.frozen.iter().map(|frozen| &frozen.table))
    }

    /// The row at a key as of `snapshot`, with the commit that wrote it (zero for what came out of
    /// the generation: it is durable).
    pub fn get(
        &self,
        space: SpaceId,
        key: &[u8],
        snapshot: Timestamp,
    ) -> Result<(Option<Bytes>, Timestamp), quintet_dc::Error> {
        for table in self.memtables() {
            if let Some(version) = table
                .space(space)
                .and_then(|records| records.get(key, snapshot))
            {
                return Ok((version.value, version.timestamp));
            }
        }
        let record = self.generation.get(space, key)?;
        Ok((record.map(|record| record.value), Timestamp::ZERO))
    }

    /// The newest commit to a key above `snapshot`, if there is one. `snapshot` must not be below
    /// the validation floor.
    pub fn newer_than(&self, space: SpaceId, key: &[u8], snapshot: Timestamp) -> Option<Timestamp> {
        assert!(snapshot >= self.validation_floor, "checked by the caller");
        for table in self.memtables() {
            if let Some(records) = table.space(space)
                && records.newest() > snapshot
                && let Some(newest) = records.newest_of(key)
            {
                return (newest > snapshot).then_some(newest);
            }
        }
        None
    }

    /// Some commit above `snapshot` into a range, if there is one.
    pub fn newer_in_range(
        &self,
        space: SpaceId,
        lower: &Bound<Bytes>,
        upper: &Bound<Bytes>,
        snapshot: Timestamp,
    ) -> Option<(Bytes, Timestamp)> {
        assert!(snapshot >= self.validation_floor, "checked by the caller");
        self.memtables()
            .find_map(|table| table.space(space)?.newest_in_range(lower, upper, snapshot))
    }
}
