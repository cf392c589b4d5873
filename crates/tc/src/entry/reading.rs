//! What a snapshot finds in an entry, and what has changed since.
//!
//! Relies on: commits lock the entry before they take their timestamp; a snapshot is the log's end at some
//! moment.  Promises: the newest version at or below the snapshot, whole; two looks at the timestamp,
//! no write.  Does not: wait for a commit that has no timestamp yet and will get one above.

use super::{CHANGING, DEAD, OWNED, RecordEntry, TENDED, pause, prefetch_row};
use crate::seats::{CommitState, Seats};
use crate::sync::atomic::{Ordering, fence};
use crate::sync::{planted, spin_loop};
use crossbeam_epoch::Guard;
use quintet_base::Timestamp;

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

/// How many versions are in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Depth {
    /// The entry, and so what describes the newest one.
    First,
    /// The one below as well.
    Second,
}

impl RecordEntry {
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

    /// Asks the cache for the row that `snapshot` reads, if it is described in what is there already, and for the next version below.
    pub fn bring_shown(&self, snapshot: Timestamp, depth: Depth, guard: &Guard) {
        let older = self.older.load(Ordering::Acquire, guard);
        let newest = self.timestamp.load(Ordering::Acquire);
        if depth == Depth::First {
            if newest & CHANGING == 0 && newest <= snapshot.0 {
                self.prefetch_value();
            }
            quintet_index::prefetch(older.as_raw());
            return;
        }
        // SAFETY: versions are freed through the epoch.
        let Some(version) = (unsafe { older.as_ref() }) else {
            return;
        };
        if newest > snapshot.0 && version.timestamp <= snapshot.0 {
            let value = version.value.load(Ordering::Relaxed);
            prefetch_row(value, version.value_len.load(Ordering::Relaxed));
        }
        quintet_index::prefetch(version.older.load(Ordering::Relaxed, guard).as_raw());
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

    /// Commit of the newest version, once whoever is committing to the record now has let go of it.
    pub fn newest_settled(&self) -> Timestamp {
        let mut spins = 0;
        // Acquire pairs with Release in `unlock`.
        while !matches!(self.lock.load(Ordering::Acquire), 0 | TENDED | DEAD)
            && !planted("entry: the newest is not waited for")
        {
            pause(&mut spins);
        }
        self.newest()
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
