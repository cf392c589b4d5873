//! Which blocks are read again soon.
//!
//! Relies on: nothing.  Promises: bounded memory, no lock.  Does not: count, or forget by time.
//!
//! Of each block that was read there is a mark, in the slot that its place hashes to, until another block
//! takes the slot: what a ghost queue is to a cache (S3-FIFO, SOSP 2023, §4), without an order.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the header.
pub(crate) struct Again {
    marks: Box<[AtomicU64]>,
    hasher: foldhash::fast::FixedState,
}

/// Slots for each block that the cache has room for.
const SLOTS_PER_BLOCK: u64 = 4;

/// A block is taken for about so long.
const BLOCK_BYTES: u64 = 4096;

impl Again {
    /// Beside a cache of so many bytes.
    pub fn new(cache_bytes: u64) -> Again {
        let slots = cache_bytes / BLOCK_BYTES * SLOTS_PER_BLOCK;
        let slots = slots.clamp(64, 1 << 22).next_power_of_two();
        Again {
            marks: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            hasher: foldhash::fast::FixedState::default(),
        }
    }

    /// Whether the block at this place (tree, tablet, offset) was read lately. Now it was.
    pub fn note(&self, place: (u64, u64, u64)) -> bool {
        let mark = self.hasher.hash_one(place) | 1; // 0: nobody's
        let slot = &self.marks[(mark >> 32) as usize & (self.marks.len() - 1)];
        // Of two that race, one is told late, or early: a cache is all that hangs on it.
        let before = slot.load(Ordering::Relaxed);
        if before != mark {
            slot.store(mark, Ordering::Relaxed);
        }
        before == mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_read_twice_is_told_unless_very_many_came_between() {
        let again = Again::new(1 << 20);
        assert!(!again.note((1, 2, 3)));
        assert!(again.note((1, 2, 3)));
        for other in [(2, 2, 3), (1, 3, 3), (1, 2, 4)] {
            assert!(!again.note(other), "{other:?}");
        }
        assert!(again.note((1, 2, 3)));
        for offset in 0..100_000 {
            again.note((7, 7, offset));
        }
        assert!(!again.note((1, 2, 3)));
    }
}
