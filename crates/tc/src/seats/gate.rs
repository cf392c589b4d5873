//! The gate: schema changes commit alone.
//!
//! Relies on: whoever commits says so on his seat before he looks whether the gate is closed.  Promises:
//! while [`Alone`] lives no other commit is under way.  Does not: make anybody wait who only reads.

use super::{Seat, Seats};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard, planted, yield_now};

/// Lets schema changes commit alone. Everybody else passes by two words of memory.
///
/// ```text
///   commit:  set_locking ─► closed? ── no ──► go on
///                              └ yes ─► set_none, wait for the turn, try again
///   close:   turn ─► closed := true ─► wait until no other seat is committing
/// ```
#[derive(Default)]
pub(crate) struct Gate {
    closed: AtomicBool,
    turn: Mutex<()>,
}

/// While it lives, nobody else commits.
pub(crate) struct Alone<'a> {
    gate: &'a Gate,
    _turn: MutexGuard<'a, ()>,
}

impl Gate {
    /// Begins a commit from a seat, when nobody demands to be alone.
    pub fn enter(&self, seat: &Seat) {
        loop {
            seat.set_locking();
            // SeqCst on both sides: either we see the gate closed, or the closer sees our seat.
            if !self.closed.load(Ordering::SeqCst) || planted("gate: it is never closed") {
                return;
            }
            seat.set_none();
            drop(self.turn.lock());
        }
    }

    /// Waits until no commit is under way and keeps others from beginning one.
    pub fn close<'a>(&'a self, seats: &Seats) -> Alone<'a> {
        let turn = self.turn.lock();
        self.closed.store(true, Ordering::SeqCst);
        for seat in seats.iter() {
            while seat.is_committing() {
                yield_now();
            }
        }
        Alone {
            gate: self,
            _turn: turn,
        }
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.gate.closed.store(false, Ordering::SeqCst);
    }
}
