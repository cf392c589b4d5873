//! What `entry`, `seats` and `table` share memory with: the real thing, or what `quintet-interleave` puts in
//! its place.
//!
//! Relies on: nothing.  Promises: without `--cfg shuttle` these are the names of `std`, `parking_lot`,
//! `crossbeam-epoch` and `rt` and nothing else.  Does not: serve the other files of this crate, whose
//! threads are not explored.

#[cfg(not(shuttle))]
mod chosen {
    pub use crossbeam_epoch::Atomic;
    pub use parking_lot::{Mutex, MutexGuard};
    pub use quintet_rt::threads::yield_now;
    pub use std::hint::spin_loop;
    pub use std::sync::atomic;

    /// Mistakes are made only to be found.
    #[inline(always)]
    pub const fn planted(_mistake: &str) -> bool {
        false
    }
}

#[cfg(shuttle)]
mod chosen {
    pub use quintet_interleave::epoch::Atomic;
    pub use quintet_interleave::explore::planted;
    pub use quintet_interleave::{Mutex, MutexGuard, atomic, spin_loop, yield_now};
}

pub(crate) use chosen::{Atomic, Mutex, MutexGuard, atomic, planted, spin_loop, yield_now};
