//! The tail of the log in one word: where it ends, which group is open, whether it is sealed.
//!
//! Relies on: nothing of ours.  Promises: each byte of the log is given to exactly one caller; every
//! reservation belongs to exactly one group, and a group's reservations are neighbours.  Does not:
//! know where the bytes are kept.
//!
//! ```text
//!   63      60   59    58                                             0
//!  ┌──────────┬──────┬─────────────────────────────────────────────────┐
//!  │ group    │sealed│ position of the end of the log, in units of 8   │
//!  └──────────┴──────┴─────────────────────────────────────────────────┘
//! ```
//!
//! * One compare-exchange moves the end on and says which group the taker has joined.
//! * One addition to the upper bits closes the open group, and returns exactly where it ends. The number
//!   runs over without touching anything below it.
//! * No value comes twice: a closed group is never empty, so the position has moved between any two
//!   closings, and it never goes back. That is why a compare-exchange that succeeds has seen the
//!   word unchanged.
//!
//! Hot path: [`Tail::take`] runs on every commit. One load, one compare-exchange, no division.

use crate::record::ALIGNMENT;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::planted;

/// How many groups may have a number at one time: the open one, and those that are closed and not
/// yet filled. Two would do; with more, nobody waits for a slow reservation in order to close the next.
pub(crate) const GROUPS: usize = 16;

const GROUP_SHIFT: u32 = 60;
const SEALED: u64 = 1 << 59;
const UNITS: u64 = SEALED - 1;

/// Positions are below this. `segment` makes no file beyond it.
pub(crate) const POSITION_MAX: u64 = UNITS * ALIGNMENT;

const _: () = assert!(GROUPS == 1 << (64 - GROUP_SHIFT));

/// A value on a cache line (and its neighbour, which processors fetch along) of its own: what one
/// core writes all the time must not slow down the readers of something else.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Line<T>(pub T);

/// The end of the log.
#[derive(Debug)]
pub(crate) struct Tail {
    /// Moved on by `take` (position), `close_group` (group) and `seal`. All of them, and the load in
    /// `end`, are `SeqCst`: Release and Acquire so that whoever reads an end happens after
    /// the reservations below it began; one total order because a finished reservation looks
    /// whether the writer sleeps, and the writer, before it sleeps, looks here (`Shared`).
    word: Line<AtomicU64>,
}

/// Space that was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    pub start: u64,
    pub end: u64,
    pub group: usize,
}

/// Why nothing was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// It would end behind the limit.
    Limit,
    /// The tail is sealed; it will never move again.
    Sealed,
}

fn position(word: u64) -> u64 {
    (word & UNITS) * ALIGNMENT
}

fn group(word: u64) -> usize {
    (word >> GROUP_SHIFT) as usize
}

impl Tail {
    /// A tail that ends at `end`, with group 0 open.
    pub fn new(end: u64) -> Tail {
        assert!(end.is_multiple_of(ALIGNMENT), "a log cannot end at {end}");
        assert!(end < POSITION_MAX, "a log that ends at {end} is full");
        Tail {
            word: Line(AtomicU64::new(end / ALIGNMENT)),
        }
    }

    /// Where the log ends.
    pub fn end(&self) -> u64 {
        position(self.word.0.load(Ordering::SeqCst))
    }

    /// Takes the next `bytes`, if they end at or below `limit`. The limit only grows; it is read
    /// after the end, with Acquire, which pairs with the Release of whoever has raised it: what had
    /// been done with the memory before it was given back has happened before it is taken again.
    #[inline]
    pub fn take(&self, bytes: u64, limit: &AtomicU64) -> Result<Taken, Refused> {
        debug_assert!(
            bytes.is_multiple_of(ALIGNMENT) && bytes > 0,
            "takes {bytes}"
        );
        let mut word = self.word.0.load(Ordering::Acquire);
        loop {
            if word & SEALED != 0 && !planted("tail: the seal is not looked at") {
                return Err(Refused::Sealed);
            }
            let start = position(word);
            let end = start + bytes;
            if end > limit.load(Ordering::Acquire) {
                return Err(Refused::Limit);
            }
            let moved = word + bytes / ALIGNMENT;
            if planted("tail: the end is moved without a look") {
                self.word.0.store(moved, Ordering::SeqCst);
                let group = group(word);
                return Ok(Taken { start, end, group });
            }
            match self.word.0.compare_exchange_weak(
                word,
                moved,
                Ordering::SeqCst,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    let group = group(word);
                    return Ok(Taken { start, end, group });
                }
                Err(now) => word = now,
            }
        }
    }

    /// Closes the open group and opens the next; the number of the closed one and where it ends. The
    /// caller knows that it is not empty, and that the next number is free.
    pub fn close_group(&self) -> (usize, u64) {
        let next = if planted("tail: the group stays open") {
            0
        } else {
            1 << GROUP_SHIFT
        };
        let word = self.word.0.fetch_add(next, Ordering::SeqCst);
        (group(word), position(word))
    }

    /// Nothing is taken from now on.
    pub fn seal(&self) {
        self.word.0.fetch_or(SEALED, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_numbers_run_over_without_moving_the_end() {
        let tail = Tail::new(4096);
        let limit = AtomicU64::new(1 << 20);
        let mut end = 4096;
        for n in 0..3 * GROUPS {
            let taken = tail.take(8 * (n as u64 + 1), &limit).unwrap();
            assert_eq!((taken.start, taken.group), (end, n % GROUPS));
            end = taken.end;
            assert_eq!(tail.close_group(), (n % GROUPS, end));
            assert_eq!(tail.end(), end);
        }
    }

    #[test]
    fn the_limit_is_exact_and_a_refusal_changes_nothing() {
        let tail = Tail::new(0);
        let limit = AtomicU64::new(64);
        assert_eq!(tail.take(72, &limit), Err(Refused::Limit));
        assert_eq!(tail.take(40, &limit).unwrap().end, 40);
        assert_eq!(tail.take(32, &limit), Err(Refused::Limit));
        assert_eq!(tail.end(), 40);
        assert_eq!(tail.take(24, &limit).unwrap().end, 64);
    }

    #[test]
    fn a_sealed_tail_keeps_its_end_and_closes_its_last_group() {
        let tail = Tail::new(0);
        let limit = AtomicU64::new(1 << 20);
        tail.take(40, &limit).unwrap();
        tail.seal();
        assert_eq!(tail.take(8, &limit), Err(Refused::Sealed));
        assert_eq!(tail.end(), 40);
        assert_eq!(tail.close_group(), (0, 40));
        assert_eq!(tail.take(8, &limit), Err(Refused::Sealed));
        assert_eq!(tail.end(), 40);
    }

    #[test]
    fn the_highest_position_leaves_seal_and_group_alone() {
        let tail = Tail::new(POSITION_MAX - 48);
        let limit = AtomicU64::new(POSITION_MAX);
        let taken = tail.take(48, &limit).unwrap();
        assert_eq!((taken.end, taken.group), (POSITION_MAX, 0));
        assert_eq!(tail.end(), POSITION_MAX);
        assert_eq!(tail.take(8, &limit), Err(Refused::Limit));
    }
}
