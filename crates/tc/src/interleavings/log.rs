//! A log of which only the memory and the end matter.
//!
//! Relies on: places that are multiples of 16.  Promises: what stands at a place can be told by the place alone,
//! its length too; a reader of memory that was given back finds something else.

use crate::sync::atomic::{AtomicU64, Ordering};
use quintet_base::Timestamp;
use std::ptr::NonNull;

/// Bytes of a place.
const PLACE: u64 = 16;
/// More than any test takes.
const BYTES: usize = 1024;
/// What stands in memory that was given back.
const GONE: u8 = 0xEE;

pub struct Log {
    end: AtomicU64,
    memory: NonNull<u8>,
}

// SAFETY: each place is written by who took it, before anybody is told of it; the test itself looks
// for those who read what was given back.
unsafe impl Send for Log {}
// SAFETY: as above.
unsafe impl Sync for Log {}

impl Log {
    pub fn new() -> Log {
        let memory = Box::leak(vec![0u8; BYTES].into_boxed_slice());
        Log {
            end: AtomicU64::new(0),
            memory: NonNull::from(memory).cast(),
        }
    }

    /// Where a snapshot that is taken now reads.
    pub fn end(&self) -> Timestamp {
        Timestamp(self.end.load(Ordering::SeqCst))
    }

    /// Takes a place; `taken` learns of it before anybody else can.
    pub fn reserve(&self, taken: impl FnOnce(Timestamp)) -> Timestamp {
        let end = self.end.fetch_add(PLACE, Ordering::SeqCst) + PLACE;
        assert!(end as usize <= BYTES, "a longer log is needed");
        taken(Timestamp(end));
        Timestamp(end)
    }

    /// What a commit with this timestamp writes.
    pub fn expected(timestamp: Timestamp) -> Vec<u8> {
        let place = timestamp.0 / PLACE;
        vec![place as u8; (1 + place * 5 % 7) as usize]
    }

    /// Fills a place and shows the bytes where they are.
    pub fn fill(&self, timestamp: Timestamp) -> &[u8] {
        let row = Log::expected(timestamp);
        let at = (timestamp.0 - PLACE) as usize;
        // SAFETY: inside of the memory; the place is the caller's.
        unsafe {
            let at = self.memory.add(at);
            at.copy_from_nonoverlapping(NonNull::from(&row[..]).cast(), row.len());
            std::slice::from_raw_parts(at.as_ptr(), row.len())
        }
    }

    /// Gives the memory below a place back.
    pub fn give_back(&self, upto: Timestamp) {
        // SAFETY: inside of the memory, which nobody reads: that is what is tested.
        unsafe { self.memory.write_bytes(GONE, upto.0 as usize) };
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let memory = NonNull::slice_from_raw_parts(self.memory, BYTES);
        // SAFETY: leaked in `new`, and everybody has let go of the log.
        drop(unsafe { Box::from_raw(memory.as_ptr()) });
    }
}
