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

/// A thread's next transactions most likely run the same statements. What they look at would be counted, and counted back, at one
/// word for all threads.
const KEPT_GLANCES_MAX: usize = GLANCES_COMPARED;

/// What a serializable transaction has read.
#[derive(Default)]
pub(crate) struct ReadSet {
    keys: Vec<ReadKey>,
    key_bytes: Vec<u8>,
    /// What rows were looked at for; each once, as far as that is cheap to know.
    glances: Vec<Arc<Glance>>,
    /// The number of the one that was found last: a loop looks for it again, or for the one that follows.
    last_glance: usize,
    pub ranges: Vec<ReadRange>,
}

impl ReadSet {
    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.key_bytes.clear();
        if self.glances.len() > KEPT_GLANCES_MAX {
            self.glances.clear();
        }
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
        let glance = glance.map(|glance| self.number_of(glance) as u32);
        self.keys.push(ReadKey {
            hash,
            space,
            key_end: self.key_bytes.len(),
            glance,
        });
    }

    fn number_of(&mut self, glance: &Arc<Glance>) -> usize {
        let compared = self.glances.len().min(GLANCES_COMPARED);
        let from_last = (self.last_glance..compared).chain(0..self.last_glance.min(compared));
        let known = from_last
            .into_iter()
            .find(|number| Arc::ptr_eq(&self.glances[*number], glance));
        self.last_glance = known.unwrap_or_else(|| {
            self.glances.push(Arc::clone(glance));
            self.glances.len() - 1
        });
        self.last_glance
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

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use quintet_base::SqlType;
    use quintet_base::row::RowLayout;

    const SPACE: SpaceId = SpaceId(7);

    fn glance() -> Arc<Glance> {
        let layout = RowLayout::new(vec![SqlType::Int4]);
        Arc::new(Glance::new(layout, vec![0]))
    }

    fn noted(reads: &ReadSet) -> Vec<*const Glance> {
        let glances = reads.keys().map(|(.., glance)| glance);
        glances
            .map(|glance| glance.map_or(std::ptr::null(), std::ptr::from_ref))
            .collect()
    }

    #[test]
    fn each_read_has_its_own_glance_in_whatever_order_they_come() {
        let glances: Vec<_> = (0..GLANCES_COMPARED + 3).map(|_| glance()).collect();
        let mut reads = ReadSet::default();
        let mut expected = Vec::new();
        for round in 0..4 {
            for number in 0..glances.len() {
                let glance = &glances[(number * (round + 1)) % glances.len()];
                reads.note(0, SPACE, b"key", Some(glance));
                expected.push(Arc::as_ptr(glance));
            }
            reads.note(0, SPACE, b"key", None);
            expected.push(std::ptr::null());
        }
        assert_eq!(noted(&reads), expected);
    }

    #[test]
    fn the_next_transaction_counts_no_glance_that_the_last_one_had() {
        let (first, second) = (glance(), glance());
        let mut reads = ReadSet::default();
        for _ in 0..3 {
            for glance in [&first, &second, &first] {
                reads.note(0, SPACE, b"key", Some(glance));
            }
            assert_eq!([&first, &second].map(Arc::strong_count), [2, 2]);
            reads.clear();
            assert_eq!([&first, &second].map(Arc::strong_count), [2, 2]);
        }
    }

    #[test]
    fn more_glances_than_are_kept_are_forgotten() {
        let glances: Vec<_> = (0..=KEPT_GLANCES_MAX).map(|_| glance()).collect();
        let mut reads = ReadSet::default();
        for glance in &glances {
            reads.note(0, SPACE, b"key", Some(glance));
        }
        reads.clear();
        assert!(glances.iter().all(|glance| Arc::strong_count(glance) == 1));
        reads.note(0, SPACE, b"key", Some(&glances[1]));
        assert_eq!(noted(&reads), [Arc::as_ptr(&glances[1])]);
    }
}
