//! The lock word of an entry: a commit, upkeep, or dead for ever.
//!
//! Relies on: seats' numbers are below the two words that are no seats.  Promises: what the last holder
//! did is seen by the next.  Does not: wait; readers never lock.
//!
//! ```text
//!   0 ──► seat + 1 ──► 0        a commit: it has locked, and will install or give up
//!   0 ──► TENDED ────► 0        versions are copied or dropped; readers see no difference
//!           └────────► DEAD     about to leave the index
//! ```

use super::{DEAD, RecordEntry, TENDED};
use crate::sync::atomic::Ordering;
use crate::sync::{planted, spin_loop, yield_now};

/// What became of trying to lock an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Locked {
    Yes,
    /// Somebody else has it for a moment.
    Busy,
    /// It has been taken out of the index; look again.
    Dead,
}

impl RecordEntry {
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
