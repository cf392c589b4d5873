//! The version word of a node: readers look twice, writers lock by changing what was seen.
//!
//! Relies on: data under a latch is read and written by atomic operations only, so that a reader
//! that loses a race reads a wrong value and not undefined behaviour.
//! Promises: what was read between [`Latch::view`] and a [`View::still`] that succeeds was there
//! all at once; [`View::lock`] succeeds only if nothing has changed since the view was taken.
//! Does not: queue waiters, or block while another latch is held (`lock` tries once), so there is
//! no lock order to keep and no deadlock.
//!
//! ```text
//!   63                              2        1          0
//!   | number of changes            | locked | obsolete |
//!
//!   free --lock--> locked --drop--> free, one change more
//!                     \-----retire--> obsolete for ever: the node has left the tree
//! ```

use crate::sync::{
    self,
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
    planted,
};

const OBSOLETE: u64 = 1;
const LOCKED: u64 = 2;
const CHANGE: u64 = 4;

/// What was read is not to be trusted; begin again at the root.
#[derive(Debug)]
pub(super) struct Restart;

/// One per node. Written by whoever holds it, read by everybody.
pub(super) struct Latch {
    word: AtomicU64,
}

/// A node's state as it was when a reader came.
#[derive(Clone, Copy)]
pub(super) struct View<'g> {
    latch: &'g Latch,
    seen: u64,
}

/// A node locked for writing. Dropping it lets the next one in and makes every earlier view stale.
pub(super) struct Held<'g> {
    latch: &'g Latch,
    /// The word while locked.
    word: u64,
}

impl Latch {
    pub(super) const fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
        }
    }

    /// A view of a state that was left earlier, and may be gone: nothing is asked.
    #[inline]
    pub(super) fn view_as(&self, seen: Seen) -> View<'_> {
        View {
            latch: self,
            seen: seen.0,
        }
    }

    /// Waits until no writer is at work. Fails if the node has left the tree.
    #[inline]
    pub(super) fn view(&self) -> Result<View<'_>, Restart> {
        let mut pause = Pause::new();
        disturb();
        loop {
            // Acquire pairs with the Release in `Held::drop`: a view sees what the last writer did.
            let seen = self.word.load(Acquire);
            if seen & (LOCKED | OBSOLETE) == 0 {
                disturb();
                return Ok(View { latch: self, seen });
            }
            if seen & OBSOLETE != 0 {
                return Err(Restart);
            }
            pause.wait();
        }
    }
}

/// A state of some node's latch, without the node.
#[derive(Clone, Copy)]
pub(super) struct Seen(u64);

impl<'g> View<'g> {
    /// Whether all that was read since the view was taken is one state.
    #[inline]
    pub(super) fn still(&self) -> Result<(), Restart> {
        disturb();
        // Pairs with the Release fence in `lock`: whoever has read a value written under a lock
        // reads here the word of that lock or a later one.
        fence(Acquire);
        if self.latch.word.load(Relaxed) == self.seen || planted("latch: no second look") {
            disturb();
            Ok(())
        } else {
            Err(Restart)
        }
    }

    /// Locks the node if it is still as it was seen.
    #[inline]
    pub(super) fn lock(self) -> Result<Held<'g>, Restart> {
        disturb();
        let word = self.seen | LOCKED;
        match self
            .latch
            .word
            .compare_exchange(self.seen, word, Acquire, Relaxed)
        {
            Ok(_) => {
                // Keeps the writes that follow behind the lock; pairs with the fence in `still`.
                fence(Release);
                Ok(Held {
                    latch: self.latch,
                    word,
                })
            }
            Err(_) => Err(Restart),
        }
    }
}

impl Held<'_> {
    /// Unlocks a node that has just left the tree: whoever still comes upon it begins again.
    pub(super) fn retire(mut self) {
        self.word |= OBSOLETE;
    }

    /// Whether this is a lock of that latch: writers of a node ask it of the proof they are shown.
    pub(super) fn is_of(&self, latch: &Latch) -> bool {
        std::ptr::eq(self.latch, latch)
    }

    /// Unlocks, and tells what the latch says now until the next writer comes.
    #[inline]
    pub(super) fn release(self) -> Seen {
        Seen(self.unlocked())
    }

    /// What the word is when the lock is gone. Adding on top of the lock bit carries nothing: the counter
    /// starts above it.
    #[inline]
    fn unlocked(&self) -> u64 {
        let change = if planted("latch: no change is counted") {
            0
        } else {
            CHANGE
        };
        (self.word & !LOCKED) + change
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release pairs with the Acquire in `view` and `lock`.
        self.latch.word.store(self.unlocked(), Release);
    }
}

/// Waiting that begins short and ends by giving the processor away, because the one waited for may
/// have been put off it.
pub(super) struct Pause {
    turns: u32,
}

impl Pause {
    /// Spins of 1, 2, 4 .. 32 turns, some 100 ns together, which is what a writer needs; after
    /// that it has probably lost its processor.
    const SPINS: u32 = if cfg!(miri) { 0 } else { 6 };

    pub(super) const fn new() -> Self {
        Self { turns: 0 }
    }

    #[cold]
    pub(super) fn wait(&mut self) {
        if self.turns < Self::SPINS {
            for _ in 0..1_u32 << self.turns {
                sync::spin_loop();
            }
            self.turns += 1;
        } else {
            sync::yield_now();
        }
    }
}

/// In unit tests gives the processor away now and then, at every place where a race can be lost:
/// the moments between two looks at a version are too short to be hit by chance. Otherwise nothing.
#[inline(always)]
fn disturb() {
    #[cfg(all(test, not(shuttle)))]
    tests::disturb();
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static TURN: Cell<u32> = const { Cell::new(1) };
    }

    /// One time in 16, by a random sequence that is the same for every thread.
    pub(super) fn disturb() {
        let turn = TURN
            .get()
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        TURN.set(turn);
        if turn >> 28 == 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_view_ends_with_the_next_change() {
        let latch = Latch::new();
        let view = latch.view().unwrap();
        assert!(view.still().is_ok());
        drop(view.lock().unwrap());
        assert!(view.still().is_err(), "changed and not noticed");
        assert!(view.lock().is_err(), "locked on an old view");
        assert!(latch.view().unwrap().still().is_ok());
    }

    #[test]
    fn what_a_lock_leaves_is_what_is_seen_until_the_next_change() {
        let latch = Latch::new();
        let left = latch.view().unwrap().lock().unwrap().release();
        assert!(latch.view_as(left).still().is_ok());
        let again = latch.view_as(left).lock().unwrap().release();
        assert!(
            latch.view_as(left).still().is_err(),
            "changed and not noticed"
        );
        latch.view_as(again).lock().unwrap().retire();
        assert!(
            latch.view_as(again).lock().is_err(),
            "locked when it was gone"
        );
    }

    #[test]
    fn a_lock_is_exclusive_and_an_obsolete_node_has_no_view() {
        let latch = Latch::new();
        let view = latch.view().unwrap();
        let held = view.lock().unwrap();
        assert!(view.still().is_err(), "trusted while a writer is at work");
        assert!(view.lock().is_err(), "locked twice");
        held.retire();
        assert!(latch.view().is_err(), "viewed after it left the tree");
    }
}
