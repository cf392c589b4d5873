//! A count that many threads change and few read.
//!
//! Relies on: nothing.  Promises: a change is two plain instructions on a line that no other thread writes to, for the first fifteen
//! threads that count; the sum is exact when nobody is at work.  Does not: give a sum of one instant.
//!
//! An addition that others may overtake waits until everything that was written before has reached the cache; one to a stripe of one's own
//! need not be of that kind. A thread keeps its stripe until it ends, in all tallies of the process; those that find none share one.

use std::sync::atomic::{
    AtomicIsize, AtomicU16,
    Ordering::{Acquire, Relaxed, Release},
};

/// One more than the threads that count at once, on the machines this was made for.
const STRIPES: usize = 16;
/// The stripe of those that have none.
const SHARED: usize = 0;

/// Two lines, since processors fetch them in pairs.
#[repr(align(128))]
struct Stripe(AtomicIsize);

/// See the head of this file.
pub struct Tally {
    stripes: [Stripe; STRIPES],
}

/// A bit for each stripe that is somebody's.
static TAKEN: AtomicU16 = AtomicU16::new(1 << SHARED);
const _: () = assert!(STRIPES == u16::BITS as usize);

/// A thread's stripe.
struct Mine(usize);

thread_local! {
    static MINE: Mine = Mine::take();
}

impl Mine {
    fn take() -> Mine {
        let mut taken = TAKEN.load(Relaxed);
        loop {
            let free = taken.trailing_ones() as usize;
            if free == STRIPES {
                return Mine(SHARED);
            }
            // Acquire pairs with Release in `drop`: what the owner before has counted is seen.
            match TAKEN.compare_exchange_weak(taken, taken | 1 << free, Acquire, Relaxed) {
                Ok(_) => return Mine(free),
                Err(now) => taken = now,
            }
        }
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        if self.0 != SHARED {
            TAKEN.fetch_and(!(1 << self.0), Release);
        }
    }
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
    #[inline]
    pub fn add(&self, change: isize) {
        // A thread that is ending has given its stripe back.
        let mine = MINE.try_with(|mine| mine.0).unwrap_or(SHARED);
        let stripe = &self.stripes[mine].0;
        // Relaxed: the count orders nothing.
        match mine {
            SHARED => {
                stripe.fetch_add(change, Relaxed);
            }
            _ => stripe.store(stripe.load(Relaxed).wrapping_add(change), Relaxed),
        }
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
    use std::sync::Barrier;

    #[test]
    fn the_sum_is_exact_when_all_are_done() {
        // More at once than there are stripes, and more after them than are left.
        let tally = Tally::new();
        for _ in 0..3 {
            let all_count = Barrier::new(STRIPES + 4);
            std::thread::scope(|scope| {
                for _ in 0..STRIPES + 4 {
                    scope.spawn(|| {
                        tally.add(1);
                        all_count.wait();
                        (0..100).for_each(|_| tally.add(1));
                    });
                }
            });
        }
        tally.add(-1);
        assert_eq!(tally.sum(), 3 * (STRIPES + 4) * 101 - 1);
    }

    #[test]
    fn threads_that_count_at_once_have_stripes_of_their_own() {
        let all_have_one = Barrier::new(8);
        let stripe = || {
            let mine = MINE.with(|mine| mine.0);
            all_have_one.wait();
            mine
        };
        let mut stripes: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(stripe)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        // Other tests count meanwhile.
        stripes.retain(|stripe| *stripe != SHARED);
        let count = stripes.len();
        stripes.sort_unstable();
        stripes.dedup();
        assert_eq!(stripes.len(), count, "two threads have one stripe");
    }
}
