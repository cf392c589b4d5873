//! What the system keeps of tablets' files in its memory.
//!
//! Relies on: tablets never change, and are durable before they are told of here.  Promises: while the store is small and hardly anything is
//! read, what is written does not stay in the system's memory; else it does, as the system decides.  Does not: change what a read finds, or report
//! that the system takes no advice.
//!
//! As long as the caller has all records in memory, nobody reads a tablet before a compaction does, and its pages are memory for
//! nothing: the system finds new ones for each file, and these come cold, on a virtual machine from the host, which took
//! longer than all of the compression (decision 70). Pages that are let go are the next to be written to.

use lsm_tree::Table;
use quintet_rt::{Disk, OpenMode, RealDisk};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read for a block, whatever its real size, and written for one.
const BLOCK_BYTES: u64 = 4096;

/// Records that a scan finds in a block, about.
const RECORDS_OF_BLOCK: u64 = 32;

/// So many blocks are written for one that is read before what is written is worth no memory.
const WRITTEN_FOR_READ: u64 = 8;

/// After so many blocks what went before counts half.
const REMEMBERED: u64 = 1 << 14;

/// Blocks read and written lately, and what is stored, by a whole store.
pub(crate) struct Pages {
    /// A store of fewer bytes is small: whoever has so much memory for blocks has all records in memory.
    small_bytes: u64,
    /// The sum of all shares.
    stored: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
}

/// What a space has of the bytes stored.
#[derive(Default)]
pub(crate) struct Share(AtomicU64);

impl Pages {
    /// Of a store with so much memory for blocks.
    pub fn beside(cache_bytes: u64) -> Pages {
        Pages {
            small_bytes: cache_bytes / 2,
            stored: AtomicU64::new(0),
            read: AtomicU64::new(0),
            written: AtomicU64::new(0),
        }
    }

    /// A space has so many bytes now.
    pub fn note_stored(&self, share: &Share, bytes: u64) {
        let before = share.0.swap(bytes, Ordering::Relaxed);
        // Wraps where it has become less, and comes out right.
        self.stored
            .fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
    }

    /// A block was read from a file.
    pub fn note_read(&self) {
        self.read.fetch_add(1, Ordering::Relaxed);
    }

    /// A scan has passed over so many records.
    pub fn note_scanned(&self, records: u64) {
        self.read
            .fetch_add(records.div_ceil(RECORDS_OF_BLOCK), Ordering::Relaxed);
    }

    /// These tablets were written.
    pub fn note_written<'t>(&self, tablets: impl Iterator<Item = &'t Table>) {
        for tablet in tablets {
            if self.keeps(tablet.metadata.file_size) {
                continue;
            }
            // What the system does not do for us is no reason to fail a merge.
            if let Ok(file) = RealDisk.open(&tablet.path, OpenMode::Read) {
                let _ = file.drop_cached();
            }
        }
    }

    /// Whether what was written now, so many bytes, is worth memory. What others count while it is halved may be lost.
    fn keeps(&self, bytes: u64) -> bool {
        let read = self.read.load(Ordering::Relaxed);
        let blocks = bytes.div_ceil(BLOCK_BYTES);
        let written = self.written.fetch_add(blocks, Ordering::Relaxed) + blocks;
        if written >= REMEMBERED {
            self.written.store(written / 2, Ordering::Relaxed);
            self.read.store(read / 2, Ordering::Relaxed);
        }
        read * WRITTEN_FOR_READ > written || self.stored.load(Ordering::Relaxed) >= self.small_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_kept_while_a_lot_is_read() {
        let pages = Pages::beside(1000);
        assert!(!pages.keeps(80 * BLOCK_BYTES), "nobody reads");
        (0..10).for_each(|_| pages.note_read());
        assert!(!pages.keeps(1), "ten for eighty-one");
        pages.note_scanned(10);
        assert!(pages.keeps(1), "eleven for eighty-two");
    }

    #[test]
    fn what_is_written_is_kept_once_the_store_is_no_small_one() {
        let pages = Pages::beside(1000);
        let (one, other) = (Share::default(), Share::default());
        pages.note_stored(&one, 300);
        pages.note_stored(&other, 199);
        assert!(!pages.keeps(1));
        pages.note_stored(&other, 200);
        assert!(pages.keeps(1));
        pages.note_stored(&one, 0);
        assert!(!pages.keeps(1), "a space is gone");
    }

    #[test]
    fn what_was_read_long_ago_counts_for_less_and_less() {
        let pages = Pages::beside(1000);
        pages.note_scanned(RECORDS_OF_BLOCK * REMEMBERED);
        let mut merges = 0;
        while pages.keeps(1000 * BLOCK_BYTES) {
            merges += 1;
        }
        assert!((17..200).contains(&merges), "{merges}");
    }
}
