//! The versions of an entry: put on top, dropped from below, copied out of the log's memory.
//!
//! Relies on: the caller holds the entry's lock word.  Promises: a reader that looks meanwhile finds
//! the description of one version, or that it is being replaced; what a reader may still hold is freed
//! through the epoch.  Does not: say which versions anybody needs; callers name the readers.

use super::{CHANGING, OWNED, RecordEntry, spare};
use crate::seats::Readers;
use crate::sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};
use crate::sync::{Atomic, planted};
use crossbeam_epoch::{Guard, Owned, Shared};
use quintet_base::Timestamp;
use std::ptr::{self, NonNull};

/// A version that is not the newest any more.
pub(super) struct Version {
    pub(super) timestamp: u64,
    pub(super) value: AtomicPtr<u8>,
    pub(super) value_len: AtomicU32,
    /// Who was asked last about those below it: [`Readers::stamp`]. For the holder of the lock.
    thinned: AtomicU32,
    pub(super) older: Atomic<Version>,
}

#[cfg(test)]
impl Version {
    /// One of nothing.
    pub(super) fn empty() -> Version {
        Version {
            timestamp: 0,
            value: AtomicPtr::new(ptr::null_mut()),
            value_len: AtomicU32::new(0),
            thinned: AtomicU32::new(0),
            older: Atomic::null(),
        }
    }
}

impl RecordEntry {
    /// Puts a copy of a row, or its removal, on top; see [`RecordEntry::install`]. The caller holds
    /// the lock. Returns how many bytes more the newest version has than the one before.
    pub fn install_copy(
        &self,
        timestamp: Timestamp,
        value: Option<&[u8]>,
        readers: &Readers,
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
        unsafe { self.install(timestamp, address, len, readers, guard) }
    }

    /// Puts a version on top whose bytes are in the log's buffers; see [`RecordEntry::install`]. The
    /// caller holds the lock.
    pub fn install_logged(
        &self,
        timestamp: Timestamp,
        value: Option<&[u8]>,
        readers: &Readers,
        guard: &Guard,
    ) -> i64 {
        let (address, len) = match value {
            Some(value) => (value.as_ptr().cast_mut(), value.len() as u32 + 1),
            None => (ptr::null_mut(), 0),
        };
        // SAFETY: the buffers are reclaimed only after `keep_upto` for every record that is changed in them, and
        // after the epoch. Nobody writes through the address.
        unsafe { self.install(timestamp, address, len, readers, guard) }
    }

    /// Puts a version on top. What was newest goes into the chain if one of `readers` reads it; the first
    /// time that these readers are named, versions that none of them reads go out of it. So each is walked
    /// past about once for each count of the readers, however far an old snapshot holds the end of the chain.
    /// Returns how many bytes more the newest one has.
    ///
    /// # Safety
    /// The caller holds the lock; `address` and `len` describe a version whose bytes stay readable
    /// until the epoch has passed after the entry stopped describing it.
    unsafe fn install(
        &self,
        timestamp: Timestamp,
        address: *mut u8,
        len: u32,
        readers: &Readers,
        guard: &Guard,
    ) -> i64 {
        let before = self.timestamp.load(Ordering::Relaxed);
        assert!(
            before < timestamp.0,
            "version {timestamp} is put over {before}"
        );
        let (value_before, len_before) = (
            self.value.load(Ordering::Relaxed),
            self.value_len.load(Ordering::Relaxed),
        );
        let old = self.older.load(Ordering::Relaxed, guard);
        // SAFETY: the chain belongs to the entry whose lock is held.
        let thinned =
            unsafe { old.as_ref() }.map(|version| version.thinned.load(Ordering::Relaxed));
        let is_read = before != 0 && readers.read(before, timestamp.0);
        let chain = if is_read {
            let version = Version {
                timestamp: before,
                value: AtomicPtr::new(value_before),
                value_len: AtomicU32::new(len_before),
                thinned: AtomicU32::new(readers.stamp()),
                older: Atomic::null(),
            };
            version.older.store(old, Ordering::Relaxed);
            Owned::<Version>::from(spare::keep(version)).into_shared(guard)
        } else {
            old
        };
        self.timestamp.store(before | CHANGING, Ordering::Relaxed);
        // Pairs with the fence in `try_read`.
        fence(Ordering::Release);
        self.value.store(address, Ordering::Relaxed);
        self.value_len.store(len, Ordering::Relaxed);
        self.older.store(chain, Ordering::Release);
        self.timestamp.store(timestamp.0, Ordering::Release);
        if !is_read {
            retire_copy(value_before, len_before, guard);
        }
        if thinned.is_some_and(|stamp| stamp != readers.stamp()) {
            self.thin(readers, guard);
        }
        value_bytes(len) as i64 - value_bytes(len_before) as i64
    }

    /// Drops every version below the newest, which every reader is known to read. The caller holds the lock.
    pub fn keep_newest(&self, guard: &Guard) {
        let older = self.older.load(Ordering::Relaxed, guard);
        self.older.store(Shared::null(), Ordering::Release);
        retire_chain(older, guard);
    }

    /// Drops every version that none of `readers` reads. Returns how many are left below the newest.
    ///
    /// A reader may be at a version that goes: what it leads to stays until the epoch has passed, and what
    /// the reader looks for is further down and stays for its sake. So it finds it either way.
    pub fn thin(&self, readers: &Readers, guard: &Guard) -> usize {
        let mut newer = self.timestamp.load(Ordering::Relaxed);
        let mut link = &self.older;
        let mut left = 0;
        loop {
            let next = link.load(Ordering::Relaxed, guard);
            // SAFETY: the chain belongs to the entry whose lock is held.
            let Some(version) = (unsafe { next.as_ref() }) else {
                return left;
            };
            let is_read = readers.read(version.timestamp, newer)
                && !planted("entry: the newest version is enough");
            if is_read {
                left += 1;
                link = &version.older;
            } else {
                // Acquire is not needed: only the holder of the lock writes links. Release: whoever comes to
                // the version behind sees it whole.
                let after = version.older.load(Ordering::Relaxed, guard);
                link.store(after, Ordering::Release);
                retire_version(next, guard);
            }
            newer = version.timestamp;
        }
    }

    /// Versions below the newest. The caller holds the lock.
    #[cfg(test)]
    pub fn versions_below(&self, guard: &Guard) -> usize {
        let mut next = self.older.load(Ordering::Acquire, guard);
        let mut count = 0;
        // SAFETY: the chain belongs to the entry whose lock is held.
        while let Some(version) = unsafe { next.as_ref() } {
            count += 1;
            next = version.older.load(Ordering::Acquire, guard);
        }
        count
    }

    /// Copies every version up to this commit that lies in the log's buffers, so that they can be given back
    /// up to there. The caller holds the lock. Returns the bytes copied.
    pub fn keep_upto(&self, upto: Timestamp, guard: &Guard) -> usize {
        let mut copied = 0;
        if self.timestamp.load(Ordering::Relaxed) <= upto.0 {
            // SAFETY: described by the entry, so readable; only the holder of the lock changes it.
            copied += unsafe { copy_out(&self.value, &self.value_len) };
        }
        let mut next = self.older.load(Ordering::Relaxed, guard);
        // SAFETY: the chain belongs to the entry whose lock is held.
        while let Some(version) = unsafe { next.as_ref() } {
            if version.timestamp <= upto.0 {
                // SAFETY: as above.
                copied += unsafe { copy_out(&version.value, &version.value_len) };
            }
            next = version.older.load(Ordering::Relaxed, guard);
        }
        copied
    }
}

/// Bytes of the row that a length word describes.
pub(super) fn value_bytes(len: u32) -> usize {
    (len & !OWNED).saturating_sub(1) as usize
}

/// # Safety
/// The pair describes a version, and nobody else changes it.
unsafe fn copy_out(value: &AtomicPtr<u8>, value_len: &AtomicU32) -> usize {
    let len = value_len.load(Ordering::Relaxed);
    let address = value.load(Ordering::Relaxed);
    if len & OWNED != 0 || len == 0 {
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
pub(super) unsafe fn free_copy(value: *mut u8, len: u32) {
    if len & OWNED != 0 {
        let bytes = (len & !OWNED) as usize - 1;
        // SAFETY: made by `Box::into_raw` with this length.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(value, bytes)) });
    }
}

/// Frees a chain that has been cut off when the epoch has passed.
fn retire_chain<'g>(mut next: Shared<'g, Version>, guard: &'g Guard) {
    // SAFETY: cut off by the holder of the lock; readers that are in it are waited for.
    while let Some(version) = unsafe { next.as_ref() } {
        let after = version.older.load(Ordering::Relaxed, guard);
        retire_version(next, guard);
        next = after;
    }
}

/// Frees a version that no link leads to any more when the epoch has passed.
fn retire_version<'g>(cut_off: Shared<'g, Version>, guard: &'g Guard) {
    // SAFETY: cut off by the holder of the lock; readers that are at it are waited for.
    let version = unsafe { cut_off.deref() };
    let value = version.value.load(Ordering::Relaxed);
    retire_copy(value, version.value_len.load(Ordering::Relaxed), guard);
    // SAFETY: as above; nobody else frees it.
    unsafe { guard.defer_unchecked(move || spare::hand_back(cut_off.into_owned().into_box())) };
}

/// Frees the bytes of a version that nothing describes any more when the epoch has passed, if they are a
/// copy.
fn retire_copy(value: *mut u8, len: u32, guard: &Guard) {
    if len & OWNED != 0 {
        // SAFETY: described until now, so readers who have found it are waited for.
        unsafe { guard.defer_unchecked(move || free_copy(value, len)) };
    }
}

/// A record's payload in the log's buffers, as its reservation named it.
pub(crate) fn logged(payload: NonNull<u8>, bytes: usize, _guard: &Guard) -> &[u8] {
    // SAFETY: `Reservation::finish` says that so many bytes stay there until they are reclaimed,
    // which only this crate does, and only after the epoch in which the guard is pinned.
    unsafe { std::slice::from_raw_parts(payload.as_ptr(), bytes) }
}
