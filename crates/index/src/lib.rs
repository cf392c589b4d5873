//! Concurrent indexes over entries that somebody else owns.
//!
//! Relies on: `crossbeam-epoch`: what a reader has found stays until its guard is gone.
//! Promises: readers take no latch and write no shared memory; writers wait only for writers to
//! the same place.  Does not: own entries, know versions, or know transactions.
//!
//! | file | what it holds |
//! |---|---|
//! | `entry` | [`Entry`], what is indexed |
//! | `point` | [`PointIndex`]: by hash, one cache miss away |
//! | `ordered` | [`OrderedIndex`]: by key order, for ranges |
//! | `tally` | [`Tally`]: a count that many change and few read |
//! | `sync` | atomics and locks: the real ones, or those of tests that try out orders |
//!
//! **Unsafe code** is in `point`, `ordered` and `prefetch` only. Both run under Miri and under threads that
//! collide on purpose (`tests/`).

// The tests of `tests/` are run inside as well (`ordered::tests`).
#[cfg(all(test, not(shuttle)))]
extern crate self as quintet_index;

mod entry;
#[cfg(all(test, shuttle))]
mod interleavings;
mod ordered;
mod point;
mod prefetch;
mod sync;
mod tally;

pub use crossbeam_epoch::Guard;
pub use entry::{Entry, Hashed};
pub use ordered::{Near, OrderedIndex, Shape};
pub use point::{PointIndex, Verdict};
pub use prefetch::prefetch;
pub use sync::pin;
pub use tally::Tally;
