//! Waiting until a position of the log is durable.
//!
//! Relies on: the writer calls [`Marks::publish`] after each sync, [`Marks::set_poison`] after the first
//! failure and [`Marks::stop`] when it ends.  Promises: every waiter is woken by exactly those, in
//! the order of positions; a position that was durable before a failure stays acknowledged.
//! Does not: hold the log open.
//!
//! ```text
//!   Waiting ──publish(≥ lsn)──► Ok        Waiting ──poison──► Poisoned
//!                                         Waiting ──stop────► Closed
//! ```

use crate::error::Error;
use parking_lot::Mutex;
use quintet_base::Lsn;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

/// How far the log is durable, and who waits for more.
#[derive(Debug)]
pub(crate) struct Marks {
    /// Written by the writer only; the Release there pairs with the Acquire in `durable`.
    durable: AtomicU64,
    /// Set once, by whoever sees the first failure.
    poison: OnceLock<Arc<quintet_rt::Error>>,
    stopped: AtomicBool,
    waiters: Mutex<Waiters>,
}

#[derive(Debug, Default)]
struct Waiters {
    /// By position, then by arrival.
    wakers: BTreeMap<(u64, u64), Waker>,
    next_ticket: u64,
}

impl Marks {
    pub fn new(durable: u64) -> Marks {
        Marks {
            durable: AtomicU64::new(durable),
            poison: OnceLock::new(),
            stopped: AtomicBool::new(false),
            waiters: Mutex::default(),
        }
    }

    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    pub fn poisoned(&self) -> Option<Error> {
        let source = Arc::clone(self.poison.get()?);
        Some(Error::Poisoned { source })
    }

    /// Everything below `position` is durable.
    pub fn publish(&self, position: u64) {
        assert!(
            position >= self.durable(),
            "durable goes back to {position}"
        );
        assert!(
            self.poison.get().is_none(),
            "a poisoned log acknowledges nothing"
        );
        self.durable.store(position, Ordering::Release);
        let ready = {
            let mut waiters = self.waiters.lock();
            let later = waiters.wakers.split_off(&(position + 1, 0));
            std::mem::replace(&mut waiters.wakers, later)
        };
        ready.into_values().for_each(Waker::wake);
    }

    /// Nothing more is acknowledged. Whoever waits is told by [`Marks::wake_all`].
    pub fn set_poison(&self, source: Arc<quintet_rt::Error>) {
        let _ = self.poison.set(source);
    }

    /// The writer has ended; what is not durable now never will be.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake_all();
    }

    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Everybody who waits looks again.
    pub fn wake_all(&self) {
        let all = std::mem::take(&mut self.waiters.lock().wakers);
        all.into_values().for_each(Waker::wake);
    }

    fn outcome(&self, position: u64) -> Option<Result<(), Error>> {
        // Whether it has stopped is read first: what the writer published before it stopped counts.
        let stopped = self.stopped.load(Ordering::Acquire);
        let poisoned = self.poisoned();
        if self.durable() >= position {
            return Some(Ok(()));
        }
        match poisoned {
            Some(error) => Some(Err(error)),
            None if stopped => Some(Err(Error::Closed)),
            None => None,
        }
    }
}

/// Resolves when a position is durable, or with why it will not be. See
/// [`crate::Wal::when_durable`].
#[derive(Debug)]
#[must_use = "a commit is acknowledged only after this has resolved"]
pub struct Durable {
    marks: Arc<Marks>,
    position: u64,
    ticket: Option<u64>,
}

impl Durable {
    pub(crate) fn new(marks: Arc<Marks>, lsn: Lsn) -> Durable {
        Durable {
            marks,
            position: lsn.0,
            ticket: None,
        }
    }

    /// The position that is waited for.
    pub fn lsn(&self) -> Lsn {
        Lsn(self.position)
    }

    /// Whether waiting would return at once.
    pub fn is_ready(&self) -> bool {
        self.marks.outcome(self.position).is_some()
    }

    /// Blocks the thread until it resolves.
    ///
    /// # Errors
    /// [`Error::Poisoned`]: the outcome is unknown until recovery. [`Error::Closed`]: the log was
    /// shut down without having been given this position.
    pub fn wait(self) -> Result<(), Error> {
        match self.marks.outcome(self.position) {
            Some(outcome) => outcome,
            None => quintet_rt::block_on(self),
        }
    }
}

impl Future for Durable {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(outcome) = self.marks.outcome(self.position) {
            return Poll::Ready(outcome);
        }
        let this = &mut *self;
        let mut waiters = this.marks.waiters.lock();
        // Once more inside the lock: whoever publishes takes the lock afterwards, so either this
        // sees what was published or the publisher sees this waiter.
        if let Some(outcome) = this.marks.outcome(this.position) {
            return Poll::Ready(outcome);
        }
        let ticket = *this.ticket.get_or_insert_with(|| {
            waiters.next_ticket += 1;
            waiters.next_ticket
        });
        let key = (this.position, ticket);
        let known = waiters.wakers.get(&key);
        if known.is_none_or(|waker| !waker.will_wake(context.waker())) {
            let before = waiters.wakers.insert(key, context.waker().clone());
            // A waker may own things that come back here when it is dropped; not inside the lock.
            drop(waiters);
            drop(before);
        }
        Poll::Pending
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let key = (self.position, ticket);
            // As above: dropped after the lock.
            let waker = self.marks.waiters.lock().wakers.remove(&key);
            drop(waker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Wake;

    #[derive(Default)]
    struct Order(Mutex<Vec<u64>>);

    struct Named(u64, Arc<Order>);

    impl Wake for Named {
        fn wake(self: Arc<Self>) {
            self.1.0.lock().push(self.0);
        }
    }

    fn poll(durable: &mut Durable, order: &Arc<Order>) -> Poll<Result<(), Error>> {
        let waker = Waker::from(Arc::new(Named(durable.position, Arc::clone(order))));
        Pin::new(durable).poll(&mut Context::from_waker(&waker))
    }

    fn failure() -> Arc<quintet_rt::Error> {
        let source = std::io::Error::other("broken");
        Arc::new(quintet_rt::Error::new(
            "sync",
            std::path::Path::new("log"),
            source,
        ))
    }

    #[test]
    fn waiters_are_woken_in_order_and_only_when_covered() {
        let marks = Arc::new(Marks::new(8));
        let order = Arc::new(Order::default());
        let mut waits: Vec<Durable> = [40, 16, 32, 24, 8]
            .map(|p| Durable::new(Arc::clone(&marks), Lsn(p)))
            .into();
        let ready: Vec<bool> = waits
            .iter_mut()
            .map(|w| poll(w, &order).is_ready())
            .collect();
        assert_eq!(ready, [false, false, false, false, true]);
        // Polled again, a waiter still is woken once.
        assert!(poll(&mut waits[1], &order).is_pending());
        marks.publish(31);
        assert_eq!(*order.0.lock(), [16, 24]);
        drop(waits.remove(2));
        marks.publish(40);
        assert_eq!(*order.0.lock(), [16, 24, 40]);
        assert!(waits.iter().all(Durable::is_ready));
        assert!(marks.waiters.lock().wakers.is_empty());
    }

    #[test]
    fn poison_reaches_all_who_wait_and_none_who_were_served() {
        let marks = Arc::new(Marks::new(0));
        let order = Arc::new(Order::default());
        let mut early = Durable::new(Arc::clone(&marks), Lsn(8));
        let mut late = Durable::new(Arc::clone(&marks), Lsn(16));
        assert!(poll(&mut late, &order).is_pending());
        marks.publish(8);
        marks.set_poison(failure());
        marks.wake_all();
        assert_eq!(*order.0.lock(), [16]);
        assert!(matches!(poll(&mut early, &order), Poll::Ready(Ok(()))));
        assert!(matches!(
            poll(&mut late, &order),
            Poll::Ready(Err(Error::Poisoned { .. }))
        ));
        assert!(matches!(late.wait(), Err(Error::Poisoned { .. })));
    }

    #[test]
    fn a_position_that_was_never_appended_is_closed_with_the_log() {
        let marks = Arc::new(Marks::new(0));
        let wait = Durable::new(Arc::clone(&marks), Lsn(8));
        marks.stop();
        assert!(matches!(wait.wait(), Err(Error::Closed)));
    }
}
