//! What the indexes share memory with: the real thing, or what `quintet-interleave` puts in its place.
//!
//! Relies on: nothing.  Promises: without `--cfg shuttle` these are the names of `std`, `parking_lot`
//! and `crossbeam-epoch` and nothing else.  Does not: stand in for `tally`, whose counts order
//! nothing.

#[cfg(not(shuttle))]
mod chosen {
    pub use crossbeam_epoch::pin;
    pub use parking_lot::Mutex;
    pub use std::hint::spin_loop;
    pub use std::sync::atomic;
    pub use std::thread::yield_now;

    /// Mistakes are made only to be found.
    #[inline(always)]
    pub const fn planted(_mistake: &str) -> bool {
        false
    }
}

#[cfg(shuttle)]
mod chosen {
    pub use quintet_interleave::epoch::pin;
    pub use quintet_interleave::explore::planted;
    pub use quintet_interleave::{Mutex, atomic, spin_loop, yield_now};
}

pub use chosen::pin;
pub(crate) use chosen::{Mutex, atomic, planted, spin_loop, yield_now};
