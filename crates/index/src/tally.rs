//! A count that many threads change and few read.
//!
//! Promises: a change touches a cache line that only every sixteenth thread shares; the sum is
//! exact when nobody is at work.  Does not: give a sum of one instant.

use std::{
    cell::Cell,
    sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed},
};

/// More than the threads that insert at once, on the machines this was made for.
const STRIPES: usize = 16;

/// Two lines, since processors fetch them in pairs.
#[repr(align(128))]
struct Stripe(AtomicIsize);

/// See the head of this file.
pub struct Tally {
    stripes: [Stripe; STRIPES],
}

/// Deals stripes to threads in turn.
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn mine() -> usize {
    MINE.with(|mine| {
        if mine.get() == usize::MAX {
            mine.set(NEXT.fetch_add(1, Relaxed) % STRIPES);
        }
        mine.get()
    })
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tally").field(&self.sum()).finish()
    }
}

impl Tally {
    /// Nothing counted yet.
    pub const fn new() -> Self {
        Self {
            stripes: [const { Stripe(AtomicIsize::new(0)) }; STRIPES],
        }
    }

    /// Counts more, or less.
    pub fn add(&self, change: isize) {
        // Relaxed: the count orders nothing.
        self.stripes[mine()].0.fetch_add(change, Relaxed);
    }

    /// All that was counted; 0 where that is less.
    pub fn sum(&self) -> usize {
        let sum: isize = self.stripes.iter().map(|part| part.0.load(Relaxed)).sum();
        // A removal may be seen before the insert of another thread that it undoes.
        usize::try_from(sum).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_exact_when_all_are_done() {
        let tally = Tally::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| tally.add(1)));
            }
        });
        tally.add(-1);
        assert_eq!(tally.sum(), 399);
    }
}
