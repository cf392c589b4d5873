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
//! 24  key         ─► behind the header, in the same line for up to 16 bytes
//! 32  value_len   bytes + 1, 0: removed; bit 31: a copy of our own
//! 36  lock        0, seat + 1 of the committing transaction, TENDED or DEAD
//! 40  space   44  key_len   46  flags
//! 48  key bytes …
//! ```
//!
//! After Deuteronomy (CIDR 2015, §4.1): versions point into the redo log's buffers. The newest
//! version is described in the entry, as in Cicada (SIGMOD 2017, §3.3), so that it is found without
//! chasing.
#![allow(
    unsafe_code,
    reason = "versions are addresses into the log's buffers, entries carry their keys inline"
)]

use crate::seats::{CommitState, Seats};
use crate::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
use crate::sync::{Atomic, planted, spin_loop, yield_now};
use crossbeam_epoch::{Guard, Owned, Shared};
use quintet_base::{SpaceId, Timestamp};
use quintet_index::{Entry, Hashed};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{self, NonNull};

/// Bit 0 of `timestamp`: the description of the newest version is being replaced.
const CHANGING: u64 = 1;
/// Bit 31 of a length: the bytes are a copy that belongs to the version.
const OWNED: u32 = 1 << 31;
/// Lock word: held for upkeep (copying, pruning); readers do not care.
const TENDED: u32 = u32::MAX;
/// Lock word: out of the index, for ever.
const DEAD: u32 = u32::MAX - 1;
/// Where the key begins.
const KEY_AT: usize = 48;

/// What an entry takes in the indexes: a slot of the hash table, at most two thirds full, and head and
/// address in a leaf of the order (26 bytes as measured), with what the allocator rounds up.
const INDEX_BYTES: usize = 48;

/// `flags`: somebody has read it since the last sweep.
const TOUCHED: u16 = 1;

/// A record in memory. See the module's picture.
#[repr(C, align(64))]
pub(crate) struct RecordEntry {
    timestamp: AtomicU64,
    value: AtomicPtr<u8>,
    older: Atomic<Version>,
    key: NonNull<u8>,
    value_len: AtomicU32,
    lock: AtomicU32,
    space: SpaceId,
    key_len: u16,
    flags: AtomicU16,
}

const _: () = assert!(size_of::<RecordEntry>() == 64);
const _: () = assert!(std::mem::offset_of!(RecordEntry, flags) + 2 == KEY_AT);
const _: () = assert!(quintet_base::limits::KEY_BYTES_MAX <= u16::MAX as usize);
const _: () = assert!(quintet_base::limits::ROW_BYTES_MAX < OWNED as usize - 1);

/// A version that is not the newest any more.
struct Version {
    timestamp: u64,
    value: AtomicPtr<u8>,
    value_len: AtomicU32,
    older: Atomic<Version>,
}

/// What a snapshot finds in an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found<'g> {
    /// The row and the commit that wrote it.
    Row(&'g [u8], Timestamp),
    /// It was removed by this commit.
    Removed(Timestamp),
    /// No version at or below the snapshot is in memory; what there was then is in STORE's
    /// generation for that snapshot.
    Below,
}

/// What became of trying to lock an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Locked {
    Yes,
    /// Somebody else has it for a moment.
    Busy,
    /// It has been taken out of the index; look again.
    Dead,
}

// SAFETY: the key is written once, before the entry is shared; the table (the owner) frees entries
// through the epoch after it has taken them out of its indexes.
unsafe impl Entry for RecordEntry {
    fn key(&self) -> &[u8] {
        // SAFETY: written by `new`, in the same allocation, never changed.
        unsafe { std::slice::from_raw_parts(self.key.as_ptr(), self.key_len as usize) }
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
        let size = (KEY_AT + key_len).max(size_of::<RecordEntry>());
        Layout::from_size_align(size, align_of::<RecordEntry>()).expect("a key is short")
    }

    /// An entry without a version, held for upkeep. Freed by [`RecordEntry::retire`].
    pub fn new(space: SpaceId, key: &[u8]) -> NonNull<RecordEntry> {
        let layout = RecordEntry::layout(key.len());
        // SAFETY: the layout is not empty.
        let Some(memory) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        // SAFETY: inside the allocation, which has room for the key.
        let key_at = unsafe { memory.add(KEY_AT) };
        let entry = memory.cast::<RecordEntry>();
        // SAFETY: fresh memory of the right size and alignment. The key is written after the
        // header, whose tail padding it shares.
        unsafe {
            entry.write(RecordEntry {
                timestamp: AtomicU64::new(0),
                value: AtomicPtr::new(ptr::null_mut()),
                older: Atomic::null(),
                key: key_at,
                value_len: AtomicU32::new(0),
                lock: AtomicU32::new(TENDED),
                space,
                key_len: key.len() as u16,
                flags: AtomicU16::new(0),
            });
            ptr::copy_nonoverlapping(key.as_ptr(), key_at.as_ptr(), key.len());
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
    pub fn is(&self, space: SpaceId, key: &[u8]) -> bool {
        self.space == space && self.key() == key
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

    /// Asks the cache for the newest version's bytes.
    pub fn prefetch_value(&self) {
        let value = self.value.load(Ordering::Relaxed);
        quintet_index::prefetch(value);
        quintet_index::prefetch(value.wrapping_add(64));
    }

    // ---- locking -------------------------------------------------------------------------------

    /// Takes the lock word for a commit, by the transaction on this seat.
    pub fn lock_for_commit(&self, seat: u32) -> Locked {
        assert!(seat < DEAD - 1, "seat {seat}");
        self.try_lock(seat + 1)
    }

    /// Takes the lock word for upkeep.
    pub fn lock_for_upkeep(&self) -> Locked {
        self.try_lock(TENDED)
    }

    fn try_lock(&self, word: u32) -> Locked {
        // Acquire pairs with Release in `unlock`: what the last holder did is seen. Readers rely on
        // the lock being visible before the log gives out a timestamp: that is a later
        // read-modify-write with release semantics in the same thread.
        match self
            .lock
            .compare_exchange(0, word, Ordering::AcqRel, Ordering::Relaxed)
        {
            Ok(_) => Locked::Yes,
            Err(DEAD) => Locked::Dead,
            Err(_) => Locked::Busy,
        }
    }

    pub fn unlock(&self) {
        self.lock.store(0, Ordering::Release);
    }

    /// Marks an entry that the holder of its lock is about to take out of the index.
    pub fn unlock_dead(&self) {
        if planted("entry: the dead look free") {
            return self.unlock();
        }
        self.lock.store(DEAD, Ordering::Release);
    }

    // ---- reading -------------------------------------------------------------------------------

    /// The newest version at or below `snapshot`.
    pub fn read_at<'g>(&self, snapshot: Timestamp, seats: &Seats, guard: &'g Guard) -> Found<'g> {
        let mut spins = 0;
        loop {
            if self.settled_below(snapshot, seats)
                && let Some(found) = self.try_read(snapshot, guard)
            {
                return found;
            }
            pause(&mut spins);
        }
    }

    /// Whether every commit at or below `snapshot` to this record has been installed. A commit takes
    /// the lock before its timestamp, and a snapshot is the log's end at some moment: so whoever
    /// commits at or below it held the lock before the snapshot was taken.
    fn settled_below(&self, snapshot: Timestamp, seats: &Seats) -> bool {
        // Acquire pairs with Release in `unlock`.
        match self.lock.load(Ordering::Acquire) {
            0 | TENDED | DEAD => true,
            word => match seats.commit_state(word - 1) {
                // It has let go in the meantime; look at the word again.
                CommitState::None => false,
                // Its timestamp will be above every snapshot that was taken before now.
                CommitState::Locking => true,
                CommitState::Reserving => planted("entry: who reserves comes later"),
                CommitState::At(timestamp) => {
                    timestamp > snapshot || planted("entry: who has a timestamp is done")
                }
            },
        }
    }

    /// One attempt; `None` if the newest version was being replaced.
    fn try_read<'g>(&self, snapshot: Timestamp, guard: &'g Guard) -> Option<Found<'g>> {
        // Acquire pairs with the Release that ends `install`.
        let timestamp = self.timestamp.load(Ordering::Acquire);
        if timestamp & CHANGING != 0 {
            return None;
        }
        // Acquire pairs with Release in `copy_out`: a copy's bytes are seen.
        let value = self.value.load(Ordering::Acquire);
        let len = self.value_len.load(Ordering::Relaxed);
        let older = self.older.load(Ordering::Acquire, guard);
        // Pairs with the fence in `install`: if anything above came from a later install, the
        // timestamp has changed.
        fence(Ordering::Acquire);
        let again = self.timestamp.load(Ordering::Relaxed);
        if again != timestamp && !planted("entry: no second look") {
            return None;
        }
        if timestamp == 0 {
            return Some(Found::Below);
        }
        if timestamp <= snapshot.0 {
            // SAFETY: a description that was whole, read by a pinned reader.
            return Some(unsafe { found(timestamp, value, len) });
        }
        let mut next = older;
        // SAFETY: versions are freed through the epoch.
        while let Some(version) = unsafe { next.as_ref() } {
            if version.timestamp <= snapshot.0 {
                // Acquire pairs with Release in `copy_out`.
                let value = version.value.load(Ordering::Acquire);
                let len = version.value_len.load(Ordering::Relaxed);
                // SAFETY: as above; the length never changes but for the mark.
                return Some(unsafe { found(version.timestamp, value, len) });
            }
            next = version.older.load(Ordering::Acquire, guard);
        }
        Some(Found::Below)
    }

    /// Commit of the newest installed version; zero if there is none. For the holder of the row's
    /// lock, to whom nobody commits, or as a hint.
    pub fn newest(&self) -> Timestamp {
        loop {
            let timestamp = self.timestamp.load(Ordering::Acquire);
            if timestamp & CHANGING == 0 {
                return Timestamp(timestamp);
            }
            spin_loop();
        }
    }

    /// Whether anything was committed to the record above `snapshot` and below `mine`, the commit
    /// timestamp of the transaction on `seat`, which asks after it has taken its timestamp.
    /// May name a later commit, too.
    pub fn changed_since(
        &self,
        snapshot: Timestamp,
        mine: Timestamp,
        seat: u32,
        seats: &Seats,
    ) -> Option<Timestamp> {
        let mut spins = 0;
        loop {
            let word = self.lock.load(Ordering::Acquire);
            if !matches!(word, 0 | TENDED | DEAD) && word != seat + 1 {
                match seats.commit_state(word - 1) {
                    CommitState::None | CommitState::Reserving => {
                        pause(&mut spins);
                        continue;
                    }
                    CommitState::Locking => {}
                    CommitState::At(other) if other > mine => {}
                    _ if planted("entry: who is about to install is not seen") => {}
                    CommitState::At(other) => return Some(other),
                }
            }
            let newest = self.newest();
            return (newest > snapshot).then_some(newest);
        }
    }

    // ---- changing (the caller holds the lock word) ----------------------------------------------

    /// Puts a copy of a row, or its removal, on top; see [`RecordEntry::install`]. The caller holds
    /// the lock. Returns how many bytes more the newest version has than the one before.
    pub fn install_copy(
        &self,
        timestamp: Timestamp,
        value: Option<&[u8]>,
        low_water: Timestamp,
        guard: &Guard,
    ) -> i64 {
        let bytes = value.map_or(0, <[u8]>::len);
        let (address, len) = match value {
            // The address comes from the box itself, which has the right to free it.
            Some(value) => {
                let copy = Box::into_raw(Box::<[u8]>::from(value));
                (copy.cast(), (bytes as u32 + 1) | OWNED)
            }
            None => (ptr::null_mut(), 0),
        };
        // SAFETY: the copy is freed with the version, through the epoch.
        unsafe { self.install(timestamp, address, len, low_water, guard) }
    }

    /// Puts a version on top whose bytes are in the log's buffers; see [`RecordEntry::install`]. The
    /// caller holds the lock.
    pub fn install_logged(
        &self,
        timestamp: Timestamp,
        value: Option<&[u8]>,
        low_water: Timestamp,
        guard: &Guard,
    ) -> i64 {
        let (address, len) = match value {
            Some(value) => (value.as_ptr().cast_mut(), value.len() as u32 + 1),
            None => (ptr::null_mut(), 0),
        };
        // SAFETY: the buffers are reclaimed only after `keep_out_of` for every change in them, and
        // after the epoch. Nobody writes through the address.
        unsafe { self.install(timestamp, address, len, low_water, guard) }
    }

    /// Puts a version on top. What was newest goes into the chain; versions that no snapshot at or
    /// above `low_water` can reach go out of it. Returns how many bytes more the newest one has.
    ///
    /// # Safety
    /// The caller holds the lock; `address` and `len` describe a version whose bytes stay readable
    /// until the epoch has passed after the entry stopped describing it.
    unsafe fn install(
        &self,
        timestamp: Timestamp,
        address: *mut u8,
        len: u32,
        low_water: Timestamp,
        guard: &Guard,
    ) -> i64 {
        let before = self.timestamp.load(Ordering::Relaxed);
        assert!(
            before < timestamp.0,
            "version {timestamp} is put over {before}"
        );
        let old = self.older.load(Ordering::Relaxed, guard);
        let chain = if before == 0 {
            old
        } else {
            let version = Version {
                timestamp: before,
                value: AtomicPtr::new(self.value.load(Ordering::Relaxed)),
                value_len: AtomicU32::new(self.value_len.load(Ordering::Relaxed)),
                older: Atomic::null(),
            };
            version.older.store(old, Ordering::Relaxed);
            Owned::new(version).into_shared(guard)
        };
        let bytes_before = value_bytes(self.value_len.load(Ordering::Relaxed));
        self.timestamp.store(before | CHANGING, Ordering::Relaxed);
        // Pairs with the fence in `try_read`.
        fence(Ordering::Release);
        self.value.store(address, Ordering::Relaxed);
        self.value_len.store(len, Ordering::Relaxed);
        self.older.store(chain, Ordering::Release);
        self.timestamp.store(timestamp.0, Ordering::Release);
        self.prune(low_water, guard);
        value_bytes(len) as i64 - bytes_before as i64
    }

    /// Drops versions below the newest one at or below `low_water`. Returns the bytes of their copies.
    pub fn prune(&self, low_water: Timestamp, guard: &Guard) -> usize {
        let mut reached = self.timestamp.load(Ordering::Relaxed) <= low_water.0
            || planted("entry: the newest version is enough");
        let mut link = &self.older;
        let mut freed = 0;
        loop {
            let next = link.load(Ordering::Relaxed, guard);
            // SAFETY: the chain belongs to the entry whose lock is held.
            let Some(version) = (unsafe { next.as_ref() }) else {
                return freed;
            };
            if reached {
                link.store(Shared::null(), Ordering::Release);
                freed += retire_chain(next, guard);
                return freed;
            }
            reached = version.timestamp <= low_water.0;
            link = &version.older;
        }
    }

    /// Copies every version whose bytes lie in this memory, so that it can be given back. The caller
    /// holds the lock. Returns the bytes copied.
    pub fn keep_out_of(&self, memory: &[u8], guard: &Guard) -> usize {
        let memory = memory.as_ptr_range();
        // SAFETY: described by the entry, so readable; only the holder of the lock changes it.
        let mut copied = unsafe { copy_out(&self.value, &self.value_len, &memory) };
        let mut next = self.older.load(Ordering::Relaxed, guard);
        // SAFETY: the chain belongs to the entry whose lock is held.
        while let Some(version) = unsafe { next.as_ref() } {
            // SAFETY: as above.
            copied += unsafe { copy_out(&version.value, &version.value_len, &memory) };
            next = version.older.load(Ordering::Relaxed, guard);
        }
        copied
    }

    /// Commit of the version that `snapshot` reads, if it is in memory. The caller holds the lock.
    pub fn needed_by(&self, snapshot: Timestamp, guard: &Guard) -> Option<Timestamp> {
        let newest = self.timestamp.load(Ordering::Relaxed);
        if newest <= snapshot.0 {
            return (newest != 0).then_some(Timestamp(newest));
        }
        let mut next = self.older.load(Ordering::Relaxed, guard);
        // SAFETY: as above.
        while let Some(version) = unsafe { next.as_ref() } {
            if version.timestamp <= snapshot.0 {
                return Some(Timestamp(version.timestamp));
            }
            next = version.older.load(Ordering::Relaxed, guard);
        }
        None
    }
}

/// Bytes of the row that a length word describes.
fn value_bytes(len: u32) -> usize {
    (len & !OWNED).saturating_sub(1) as usize
}

/// # Safety
/// `value` and `len` describe one version whose bytes stay readable for `'g`.
unsafe fn found<'g>(timestamp: u64, value: *mut u8, len: u32) -> Found<'g> {
    match len & !OWNED {
        0 => Found::Removed(Timestamp(timestamp)),
        len => {
            // SAFETY: by the caller's promise.
            let bytes = unsafe { std::slice::from_raw_parts(value, len as usize - 1) };
            Found::Row(bytes, Timestamp(timestamp))
        }
    }
}

/// # Safety
/// The pair describes a version, and nobody else changes it.
unsafe fn copy_out(
    value: &AtomicPtr<u8>,
    value_len: &AtomicU32,
    memory: &std::ops::Range<*const u8>,
) -> usize {
    let len = value_len.load(Ordering::Relaxed);
    let address = value.load(Ordering::Relaxed);
    // A row without bytes may lie just behind its record.
    let inside = (memory.start..=memory.end).contains(&address.cast_const());
    if len & OWNED != 0 || len == 0 || !inside {
        return 0;
    }
    let bytes = len as usize - 1;
    // SAFETY: by the caller's promise.
    let copy: Box<[u8]> = unsafe { std::slice::from_raw_parts(address, bytes) }.into();
    // Readers take either address with either mark: both lead to the same bytes, of one length.
    value.store(Box::into_raw(copy).cast(), Ordering::Release);
    value_len.store(len | OWNED, Ordering::Release);
    bytes
}

/// # Safety
/// The pair described a version that nobody reads any more.
unsafe fn free_copy(value: *mut u8, len: u32) {
    if len & OWNED != 0 {
        let bytes = (len & !OWNED) as usize - 1;
        // SAFETY: made by `Box::into_raw` with this length.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(value, bytes)) });
    }
}

/// Frees a chain that has been cut off when the epoch has passed. Returns the bytes of its copies.
fn retire_chain<'g>(mut next: Shared<'g, Version>, guard: &'g Guard) -> usize {
    let mut freed = 0;
    // SAFETY: cut off by the holder of the lock; readers that are in it are waited for.
    while let Some(version) = unsafe { next.as_ref() } {
        let after = version.older.load(Ordering::Relaxed, guard);
        let value = version.value.load(Ordering::Relaxed);
        let len = version.value_len.load(Ordering::Relaxed);
        if len & OWNED != 0 {
            freed += (len & !OWNED) as usize - 1;
            // SAFETY: as above.
            unsafe { guard.defer_unchecked(move || free_copy(value, len)) };
        }
        // SAFETY: as above.
        unsafe { guard.defer_destroy(next) };
        next = after;
    }
    freed
}

/// A record's payload in the log's buffers, as its reservation named it.
pub(crate) fn logged(payload: NonNull<u8>, bytes: usize, _guard: &Guard) -> &[u8] {
    // SAFETY: `Reservation::finish` says that so many bytes stay there until they are reclaimed,
    // which only this crate does, and only after the epoch in which the guard is pinned.
    unsafe { std::slice::from_raw_parts(payload.as_ptr(), bytes) }
}

/// Spins for about as long as a commit is in flight, then lets others run: its thread may be waiting
/// for this very processor.
pub(crate) fn pause(spins: &mut u32) {
    *spins += 1;
    if *spins < 100 {
        spin_loop();
    } else {
        yield_now();
    }
}

#[cfg(test)]
mod tests;
