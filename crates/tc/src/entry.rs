//! One record in memory: its newest version in the entry, older ones behind it.
//!
//! Relies on: whoever changes an entry holds its lock word; addresses of version bytes stay
//! readable until the epoch has passed (the log's buffers are reclaimed, copies are freed, that way).
//! Promises: a reader at a snapshot finds the newest version at or below it, whole, without a latch
//! and without writing; it waits only for a commit that has its timestamp, or is about to take it,
//! and is not installed yet, a matter of microseconds and never of user code.
//! Does not: know keys' order, spaces, STORE or locks of sessions.
//!
//! ```text
//!  0  timestamp   commit of the newest version; bit 0: it is being replaced (positions are
//!                 multiples of 8); 0: there is no version yet
//!  8  value       its bytes: in a log buffer, or a copy
//! 16  older       ─► Version ─► Version …      newest first
//! 24  value_len   bytes + 1, 0: removed; bit 31: a copy of our own
//! 28  lock        0, seat + 1 of the committing transaction, TENDED or DEAD
//! 32  space   36  key_len   38  flags
//! 40  the key of up to 24 bytes, four integers; of a longer one:
//! 40  its address   48  its bytes …
//! ```
//!
//! After Deuteronomy (CIDR 2015, §4.1): versions point into the redo log's buffers. The newest
//! version is described in the entry, as in Cicada (SIGMOD 2017, §3.3), so that it is found without
//! chasing.
//!
//! | file | what it holds |
//! |---|---|
//! | this one | the entry: made, named, weighed, freed |
//! | `entry::lock` | its lock word |
//! | `entry::reading` | [`Found`]: what a snapshot finds, what has changed since |
//! | `entry::spare` | memory of freed versions for new ones |
//! | `entry::versions` | versions put on top, dropped, copied |
#![allow(
    unsafe_code,
    reason = "versions are addresses into the log's buffers, entries carry their keys inline"
)]

mod lock;
mod reading;
mod spare;
#[cfg(test)]
mod tests;
mod versions;

pub(crate) use lock::{Locked, pause};
pub(crate) use reading::{Depth, Found};
pub(crate) use versions::logged;

use crate::sync::Atomic;
use crate::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering};
use crossbeam_epoch::Guard;
use quintet_base::{SpaceId, Timestamp};
use quintet_index::{Entry, Hashed};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{self, NonNull};
use versions::{Version, free_copy, value_bytes};

/// Bit 0 of `timestamp`: the description of the newest version is being replaced.
const CHANGING: u64 = 1;
/// Bit 31 of a length: the bytes are a copy that belongs to the version.
const OWNED: u32 = 1 << 31;
/// Lock word: held for upkeep (copying, pruning); readers do not care.
const TENDED: u32 = u32::MAX;
/// Lock word: out of the index, for ever.
const DEAD: u32 = u32::MAX - 1;
/// Of a key that needs no more memory than the rest: the whole entry is one line.
const SHORT_KEY_BYTES: usize = 24;
/// Where a longer one begins.
const LONG_KEY_AT: usize = 48;

/// What an entry takes in the indexes: a slot of the hash table, at most two thirds full, and head and
/// address in a leaf of the order (26 bytes as measured), with what the allocator rounds up.
const INDEX_BYTES: usize = 48;

/// Lines that a processor fetches side by side are few.
const PREFETCHED_BYTES: usize = 512;

/// `flags`: somebody has read it since the last sweep.
const TOUCHED: u16 = 1;
/// `flags`: STORE may have the record, in its newest state or in what a failed merge has left. Set before
/// STORE is told of a row, and never taken back; whoever looks has seen that every merge is over that could
/// have told STORE of a row which he takes for removed (`removals`).
const IN_STORE: u16 = 2;
/// `flags`: found by hash, but not in the order of its space. Changed with the lock held.
const UNLISTED: u16 = 4;

/// A record in memory. See the module's picture.
#[repr(C, align(64))]
pub(crate) struct RecordEntry {
    timestamp: AtomicU64,
    value: AtomicPtr<u8>,
    older: Atomic<Version>,
    value_len: AtomicU32,
    lock: AtomicU32,
    space: SpaceId,
    key_len: u16,
    flags: AtomicU16,
    key: Key,
}

/// Whether two keys are the same, a word at a time and never a byte beyond them. The library's comparison of memory loads 32 bytes
/// at once, masked, which of a short key are the next line, too: nobody needs it, so it is in no cache, and the
/// comparison waited for it, a twentieth of a client's time.
#[inline]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    fn ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
        a.first_chunk::<N>() == b.first_chunk::<N>() && a.last_chunk::<N>() == b.last_chunk::<N>()
    }
    match a.len() {
        17..=SHORT_KEY_BYTES => ends::<8>(a, b) && a[8..16] == b[8..16],
        8..=16 => ends::<8>(a, b),
        4..=7 => ends::<4>(a, b),
        0..=3 => a.iter().eq(b),
        _ => a == b,
    }
}

/// `key_len` says which.
#[repr(C)]
#[derive(Clone, Copy)]
union Key {
    short: [u8; SHORT_KEY_BYTES],
    /// Behind it. An address of its own, because a reference to the entry leads no further than its end.
    long: NonNull<u8>,
}

const _: () = assert!(size_of::<RecordEntry>() == 64);
const _: () =
    assert!(std::mem::offset_of!(RecordEntry, key) + size_of::<NonNull<u8>>() == LONG_KEY_AT);
const _: () = assert!(quintet_base::limits::KEY_BYTES_MAX <= u16::MAX as usize);
const _: () = assert!(quintet_base::limits::ROW_BYTES_MAX < OWNED as usize - 1);

// SAFETY: the key is written once, before the entry is shared; the table (the owner) frees entries
// through the epoch after it has taken them out of its indexes.
unsafe impl Entry for RecordEntry {
    fn key(&self) -> &[u8] {
        let len = self.key_len as usize;
        // SAFETY: written by `new`, which goes by the length, too; in the same allocation, never changed.
        unsafe {
            match len <= SHORT_KEY_BYTES {
                true => self.key.short.get_unchecked(..len),
                false => std::slice::from_raw_parts(self.key.long.as_ptr(), len),
            }
        }
    }
}

// SAFETY: space and key never change.
unsafe impl Hashed for RecordEntry {
    fn hash(&self) -> u64 {
        crate::table::hash(self.space, self.key())
    }
}

// SAFETY: all shared fields are atomics; `key` leads to bytes that never change.
unsafe impl Send for RecordEntry {}
// SAFETY: as above.
unsafe impl Sync for RecordEntry {}

impl RecordEntry {
    fn layout(key_len: usize) -> Layout {
        let bytes = match key_len <= SHORT_KEY_BYTES {
            true => size_of::<RecordEntry>(),
            false => LONG_KEY_AT + key_len,
        };
        // Whole lines: what the allocator gives for them is aligned as it comes.
        let size = bytes.next_multiple_of(align_of::<RecordEntry>());
        Layout::from_size_align(size, align_of::<RecordEntry>()).expect("a key is short")
    }

    /// An entry without a version, held for upkeep. Freed by [`RecordEntry::retire`].
    pub fn new(space: SpaceId, key: &[u8]) -> NonNull<RecordEntry> {
        let layout = RecordEntry::layout(key.len());
        // SAFETY: the layout is not empty.
        let Some(memory) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        let entry = memory.cast::<RecordEntry>();
        let short = key.len() <= SHORT_KEY_BYTES;
        let place = if short {
            let mut bytes = [0; SHORT_KEY_BYTES];
            bytes[..key.len()].copy_from_slice(key);
            Key { short: bytes }
        } else {
            // SAFETY: inside the allocation, which has room for the key.
            let long = unsafe { memory.add(LONG_KEY_AT) };
            Key { long }
        };
        // SAFETY: fresh memory of the right size and alignment. A long key is written after the
        // rest, whose last bytes it shares.
        unsafe {
            entry.write(RecordEntry {
                timestamp: AtomicU64::new(0),
                value: AtomicPtr::new(ptr::null_mut()),
                older: Atomic::null(),
                value_len: AtomicU32::new(0),
                lock: AtomicU32::new(TENDED),
                space,
                key_len: key.len() as u16,
                flags: AtomicU16::new(0),
                key: place,
            });
            if !short {
                ptr::copy_nonoverlapping(key.as_ptr(), place.long.as_ptr(), key.len());
            }
        }
        entry
    }

    /// An entry with one version, a copy of `value`, held for upkeep.
    pub fn with_copy(
        space: SpaceId,
        key: &[u8],
        timestamp: Timestamp,
        value: &[u8],
    ) -> NonNull<RecordEntry> {
        let entry = RecordEntry::new(space, key);
        let copy: Box<[u8]> = value.into();
        // SAFETY: nobody else has the entry yet.
        let this = unsafe { entry.as_ref() };
        this.value_len
            .store((value.len() as u32 + 1) | OWNED, Ordering::Relaxed);
        this.value
            .store(Box::into_raw(copy).cast(), Ordering::Relaxed);
        this.timestamp.store(timestamp.0, Ordering::Relaxed);
        // Copies of rows that nobody has committed come out of STORE.
        this.note_in_store();
        entry
    }

    /// Frees an entry, its versions and their copies when the epoch has passed.
    ///
    /// # Safety
    /// It is in no index any more, and this is called once.
    pub unsafe fn retire(entry: NonNull<RecordEntry>, guard: &Guard) {
        let address = entry.as_ptr();
        // SAFETY: nobody finds it from now on; those who have are waited for.
        unsafe { guard.defer_unchecked(move || RecordEntry::free(address)) };
    }

    /// # Safety
    /// Nobody else has the entry.
    pub unsafe fn free(entry: *mut RecordEntry) {
        // SAFETY: exclusive by the caller's promise; the chain is this entry's alone.
        unsafe {
            let this = &mut *entry;
            free_copy(*this.value.get_mut(), *this.value_len.get_mut());
            let mut older = std::mem::replace(&mut this.older, Atomic::null()).try_into_owned();
            while let Some(version) = older {
                let mut version = *version.into_box();
                free_copy(*version.value.get_mut(), *version.value_len.get_mut());
                older = version.older.try_into_owned();
            }
            let layout = RecordEntry::layout(this.key_len as usize);
            dealloc(entry.cast(), layout);
        }
    }

    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// Whether it is the entry of this record.
    #[inline]
    pub fn is(&self, space: SpaceId, key: &[u8]) -> bool {
        self.space == space && is_same(self.key(), key)
    }

    /// Whether its newest version, if any, is a removal. The caller holds the lock.
    pub fn is_absent(&self) -> bool {
        self.value_len.load(Ordering::Relaxed) == 0
    }

    /// What the entry weighs: itself, its places in the indexes, and its newest version, which is
    /// counted as if it were a copy already: sooner or later it is one.
    pub fn memory_bytes(&self) -> usize {
        let value = value_bytes(self.value_len.load(Ordering::Relaxed));
        RecordEntry::layout(self.key_len as usize).size() + INDEX_BYTES + value
    }

    /// Leaves word that the record is in use. Writes only if nobody has.
    pub fn touch(&self) {
        if self.flags.load(Ordering::Relaxed) & TOUCHED == 0 {
            self.flags.fetch_or(TOUCHED, Ordering::Relaxed);
        }
    }

    /// Whether it was in use since this was last asked.
    pub fn take_touched(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & TOUCHED != 0
            && self.flags.fetch_and(!TOUCHED, Ordering::Relaxed) & TOUCHED != 0
    }

    /// STORE has the record, or is about to be told of it, or nobody knows.
    pub fn note_in_store(&self) {
        if !self.may_be_in_store() {
            self.flags.fetch_or(IN_STORE, Ordering::Release);
        }
    }

    /// Whether STORE has to be told when the record is removed.
    pub fn may_be_in_store(&self) -> bool {
        self.flags.load(Ordering::Acquire) & IN_STORE != 0
    }

    /// Whether it has been taken out of the order. For the holder of the lock, and for whoever frees it.
    pub fn is_unlisted(&self) -> bool {
        self.flags.load(Ordering::Acquire) & UNLISTED != 0
    }

    /// The caller holds the lock, and has taken it out of the order or is about to put it back.
    pub fn set_unlisted(&self, unlisted: bool) {
        if unlisted {
            self.flags.fetch_or(UNLISTED, Ordering::Release);
        } else {
            self.flags.fetch_and(!UNLISTED, Ordering::Release);
        }
    }

    /// Asks the cache for the newest version's bytes, or the first of many. A row that is changed is copied whole.
    pub fn prefetch_value(&self) {
        let value = self.value.load(Ordering::Relaxed);
        prefetch_row(value, self.value_len.load(Ordering::Relaxed));
    }

    /// Asks the cache for the version below the newest one.
    pub fn prefetch_older(&self, guard: &Guard) {
        quintet_index::prefetch(self.older.load(Ordering::Relaxed, guard).as_raw());
    }

    /// Asks the cache for the one below that. The caller holds the lock.
    pub fn prefetch_chain(&self, guard: &Guard) {
        let older = self.older.load(Ordering::Relaxed, guard);
        // SAFETY: the chain belongs to the entry whose lock is held.
        if let Some(version) = unsafe { older.as_ref() } {
            quintet_index::prefetch(version.older.load(Ordering::Relaxed, guard).as_raw());
        }
    }
}

/// Asks the cache for a row of which this is the address and the length word, or for the beginning of a long one.
fn prefetch_row(value: *mut u8, len: u32) {
    let len = value_bytes(len).min(PREFETCHED_BYTES);
    quintet_index::prefetch(value);
    for at in (64..len + 63).step_by(64) {
        quintet_index::prefetch(value.wrapping_add(at));
    }
}
