//! What the log shares memory with: the real thing, or what `quintet-interleave` puts in its place.
//!
//! Relies on: nothing.  Promises: without `--cfg shuttle` these are the names of `std` and `parking_lot` and
//! nothing else.  Does not: serve `durable`, whose wakers need an executor, and `stream`, which nobody
//! holds for longer than a copy takes.

#[cfg(not(shuttle))]
mod chosen {
    pub use parking_lot::{Condvar, Mutex, MutexGuard};
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
    pub use quintet_interleave::{Condvar, Mutex, MutexGuard, atomic, spin_loop, yield_now};
}

pub(crate) use chosen::{Condvar, Mutex, MutexGuard, atomic, planted, spin_loop, yield_now};
