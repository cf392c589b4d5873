//! Mutex and condition variable, shaped like `parking_lot`'s.
//!
//! Relies on: `shuttle`'s.  Promises: a thread of the test that finds the mutex held lets others go on;
//! when nobody can, the test fails.  Does not: poison; wait for a time.

use shuttle::sync;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// Stands in for `parking_lot::Mutex`.
#[derive(Debug, Default)]
pub struct Mutex<T>(sync::Mutex<T>);

/// Stands in for `parking_lot::MutexGuard`.
#[derive(Debug)]
pub struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>, &'a Mutex<T>);

/// Stands in for `parking_lot::WaitTimeoutResult`.
#[derive(Debug)]
pub struct TimedOut;

impl TimedOut {
    /// It has.
    pub fn timed_out(&self) -> bool {
        true
    }
}

impl<T> Mutex<T> {
    /// An open one.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    /// Waits until it is open and closes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.0.lock();
        MutexGuard(
            Some(guard.unwrap_or_else(sync::PoisonError::into_inner)),
            self,
        )
    }

    /// Closes it if it is open.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let guard = match self.0.try_lock() {
            Ok(guard) => guard,
            Err(sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(sync::TryLockError::WouldBlock) => return None,
        };
        Some(MutexGuard(Some(guard), self))
    }
}

const HELD: &str = "given back only inside of `Condvar::wait`";

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect(HELD)
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect(HELD)
    }
}

/// Stands in for `parking_lot::Condvar`.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// Nobody waits for it.
    pub const fn new() -> Condvar {
        Condvar(sync::Condvar::new())
    }

    /// Opens the mutex, waits to be told, closes it again.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let inner = guard.0.take().expect(HELD);
        let inner = self.0.wait(inner);
        guard.0 = Some(inner.unwrap_or_else(sync::PoisonError::into_inner));
    }

    /// The time is over at once.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _at_most: Duration) -> TimedOut {
        let mutex = guard.1;
        guard.0 = None;
        *guard = mutex.lock();
        TimedOut
    }

    /// Tells one.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Tells all.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
