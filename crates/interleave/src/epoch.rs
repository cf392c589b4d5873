//! `crossbeam-epoch` with a participant of its own for each thread of the test.
//!
//! Relies on: `shuttle`'s thread-local and static values, which end with the thread and with the
//! run.  Promises: what is retired is freed as soon as the guards allow it, so that freeing too early shows;
//! what one run retires is freed with it.  Does not: look into `crossbeam-epoch`: its own steps are
//! one piece here.
//!
//! With the collector that programs use, all threads of a test would be one participant, since they are one
//! thread of the system: any guard would protect everybody, and nothing would be freed while a
//! test lasts.

use crate::point;
use crossbeam_epoch::{Collector, LocalHandle, Pointable, Pointer};
use std::sync::atomic::Ordering;

pub use crossbeam_epoch::{Guard, Owned, Shared};

shuttle::lazy_static! {
    static ref COLLECTOR: Collector = Collector::new();
}

shuttle::thread_local! {
    static PARTICIPANT: LocalHandle = COLLECTOR.register();
}

/// Pins the thread of the test, and frees what can be freed.
pub fn pin() -> Guard {
    let guard = PARTICIPANT.with(LocalHandle::pin);
    guard.flush();
    guard
}

/// Stands in for `crossbeam_epoch::Atomic`.
#[derive(Debug)]
pub struct Atomic<T: Pointable>(crossbeam_epoch::Atomic<T>);

#[allow(missing_docs, reason = "as in `crossbeam-epoch`")]
impl<T> Atomic<T> {
    pub fn new(value: T) -> Atomic<T> {
        Atomic(crossbeam_epoch::Atomic::new(value))
    }

    pub fn null() -> Atomic<T> {
        Atomic(crossbeam_epoch::Atomic::null())
    }

    pub fn load<'g>(&self, order: Ordering, guard: &'g Guard) -> Shared<'g, T> {
        point();
        self.0.load(order, guard)
    }

    pub fn store<P: Pointer<T>>(&self, value: P, order: Ordering) {
        point();
        self.0.store(value, order);
    }

    /// # Safety
    /// As in `crossbeam-epoch`.
    #[allow(unsafe_code, reason = "hands the obligation on")]
    pub unsafe fn into_owned(self) -> Owned<T> {
        // SAFETY: the caller's promise.
        unsafe { self.0.into_owned() }
    }

    /// # Safety
    /// As in `crossbeam-epoch`.
    #[allow(unsafe_code, reason = "hands the obligation on")]
    pub unsafe fn try_into_owned(self) -> Option<Owned<T>> {
        // SAFETY: the caller's promise.
        unsafe { self.0.try_into_owned() }
    }
}
