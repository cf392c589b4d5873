//! What a serializable transaction has read, for the validation of its commit.
//!
//! Relies on: the caller's hashes are those of the table.  Promises: nothing that was read is left out; what is
//! remembered key by key is bounded.  Does not: validate.

use quintet_base::row::Glance;
use quintet_base::{Bytes, SpaceId};
use std::ops::Bound;
use std::sync::Arc;

/// Point reads remembered one by one; beyond this many they are widened to whole spaces, so that a
/// huge serializable transaction has a bounded read set (and may be refused needlessly).
const READ_KEYS_MAX: usize = 1 << 20;

/// The next transaction of a thread takes over the memory of one that has read no more.
const KEPT_KEYS_MAX: usize = 4096;

/// A call has few statements: beyond so many, one may be kept twice.
const GLANCES_COMPARED: usize = 32;

/// What a serializable transaction has read.
#[derive(Default)]
pub(crate) struct ReadSet {
    keys: Vec<ReadKey>,
    key_bytes: Vec<u8>,
    /// What rows were looked at for; each once, as far as that is cheap to know.
    glances: Vec<Arc<Glance>>,
    pub ranges: Vec<ReadRange>,
}

impl ReadSet {
    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.key_bytes.clear();
        self.glances.clear();
        self.ranges.clear();
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.keys().next().is_none()
    }

    /// Whether its memory is little enough to be kept for another transaction.
    pub fn is_small(&self) -> bool {
        self.keys.capacity() <= KEPT_KEYS_MAX
            && self.key_bytes.capacity() <= 16 * KEPT_KEYS_MAX
            && self.ranges.capacity() <= KEPT_KEYS_MAX
    }

    /// The keys that were read.
    pub fn keys(&self) -> impl Iterator<Item = (u64, SpaceId, &[u8], Option<&Glance>)> {
        let mut from = 0;
        self.keys.iter().map(move |read| {
            let key = &self.key_bytes[from..read.key_end];
            from = read.key_end;
            let glance = read.glance.map(|glance| &*self.glances[glance as usize]);
            (read.hash, read.space, key, glance)
        })
    }

    /// Keys read whole have no glance.
    pub fn note(&mut self, hash: u64, space: SpaceId, key: &[u8], glance: Option<&Arc<Glance>>) {
        if self.keys.len() >= READ_KEYS_MAX {
            let mut spaces: Vec<SpaceId> = self.keys.drain(..).map(|read| read.space).collect();
            self.key_bytes.clear();
            spaces.sort();
            spaces.dedup();
            self.ranges
                .extend(spaces.into_iter().map(|space| ReadRange {
                    space,
                    lower: Bound::Unbounded,
                    upper: Bound::Unbounded,
                }));
        }
        self.key_bytes.extend_from_slice(key);
        let glance = glance.map(|glance| {
            let mut known = self.glances.iter().take(GLANCES_COMPARED);
            let known = known.position(|known| Arc::ptr_eq(known, glance));
            known.unwrap_or_else(|| {
                self.glances.push(Arc::clone(glance));
                self.glances.len() - 1
            }) as u32
        });
        self.keys.push(ReadKey {
            hash,
            space,
            key_end: self.key_bytes.len(),
            glance,
        });
    }
}

/// A read of one row.
struct ReadKey {
    hash: u64,
    space: SpaceId,
    /// Its key, in [`ReadSet::key_bytes`], begins where that of the one before ends.
    key_end: usize,
    /// Number of what was looked at; `None`: all of the row counts.
    glance: Option<u32>,
}

/// A range that was scanned, as far as it was scanned.
pub(crate) struct ReadRange {
    pub space: SpaceId,
    pub lower: Bound<Bytes>,
    pub upper: Bound<Bytes>,
}
