//! What the ring shares memory with: the real thing, or what `quintet-interleave` puts in its place.
//!
//! Relies on: nothing.  Promises: without `--cfg shuttle` these are the names of `std` and `parking_lot` and
//! nothing else.  Does not: serve the files beside `ring`, `groups` and `tail`, whose threads are not
//! explored.

#[cfg(not(shuttle))]
mod chosen {
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
    pub use quintet_interleave::explore::planted;
    pub use quintet_interleave::{Mutex, atomic, spin_loop, yield_now};
}

pub(crate) use chosen::{Mutex, atomic, planted, spin_loop, yield_now};
