//! Threads that take turns at every access to shared memory, so that tests can try out orders.
//!
//! Relies on: `shuttle`, which runs the threads of a test on one thread of the system and decides at
//! each *point* who goes on.  Promises: the types here stand in for those of `std`, `parking_lot` and
//! `crossbeam-epoch` (same names, same layout of atomics) with a point before each access; the same
//! seed gives the same order.  Does not: show what a processor or a compiler may reorder: between
//! points the program runs as written, whatever ordering an access asks for. Miri looks for that.
//!
//! **Empty without `--cfg shuttle`.** No program is built with it. A crate that wants to be tested
//! like this imports what it shares memory with from its own `sync` module, which names this crate or
//! the real one.
//!
//! | file | what it holds |
//! |---|---|
//! | `atomic` | atomics with a point before each access |
//! | `epoch` | `crossbeam-epoch`, one participant per thread of the test |
//! | `lock` | mutex and condition variable |
//! | `explore` | [`explore`], [`finds`](explore::finds): many orders of one test; planted mistakes |
#![cfg_attr(not(shuttle), allow(rustdoc::broken_intra_doc_links, reason = "empty"))]

#[cfg(shuttle)]
pub mod atomic;
#[cfg(shuttle)]
pub mod epoch;
#[cfg(shuttle)]
pub mod explore;
#[cfg(shuttle)]
mod lock;

#[cfg(shuttle)]
pub use lock::{Condvar, Mutex, MutexGuard};
#[cfg(shuttle)]
pub use shuttle::thread::{scope, yield_now};

/// The next one to go on may be somebody else. Outside of a test that is explored, nothing.
#[cfg(shuttle)]
pub fn point() {
    use std::sync::atomic::Ordering;
    thread_local! {
        // Any access to anything of shuttle's is a point; this one is nobody's.
        static POINT: shuttle::sync::atomic::AtomicBool =
            const { shuttle::sync::atomic::AtomicBool::new(false) };
    }
    if !std::thread::panicking() && shuttle::current::try_get_current_task().is_some() {
        POINT.with(|point| point.load(Ordering::SeqCst));
    }
}

/// Somebody else should go on: the caller waits for what another thread does.
#[cfg(shuttle)]
pub fn spin_loop() {
    yield_now();
}
