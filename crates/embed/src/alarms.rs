//! Sessions that sleep.
//!
//! Relies on: a clock; a thread of its own, which is there while somebody sleeps.  Promises: a sleep ends at its moment or
//! soon after, never before; one that is dropped leaves nothing behind.  Does not: keep anybody's thread.

use parking_lot::{Condvar, Mutex};
use quintet_rt::{Clock, threads};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// See the module.
pub(crate) struct Alarms {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// What is due first has changed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By the moment, and a number for those of one moment; a waker once it has been polled.
    due: BTreeMap<(u64, u64), Option<Waker>>,
    numbers: u64,
    /// There is a thread.
    watched: bool,
}

/// Until a moment of the monotonic clock.
pub(crate) struct Sleep {
    alarms: Arc<Alarms>,
    due: (u64, u64),
}

impl Alarms {
    pub fn new(clock: Arc<dyn Clock>) -> Alarms {
        Alarms {
            clock,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Ends when the monotonic clock has come to `moment`.
    pub fn at(self: &Arc<Self>, moment: u64) -> Sleep {
        let mut state = self.state.lock();
        state.numbers += 1;
        let due = (moment, state.numbers);
        state.due.insert(due, None);
        Sleep {
            alarms: Arc::clone(self),
            due,
        }
    }

    /// Wakes who is due until nobody sleeps any more.
    fn watch(&self) {
        let mut state = self.state.lock();
        while let Some(first) = state.due.first_entry() {
            let left = first.key().0.saturating_sub(self.clock.monotonic_nanos());
            if left > 0 {
                let left = Duration::from_nanos(left);
                self.changed.wait_for(&mut state, left);
            } else if let Some(waker) = first.remove() {
                parking_lot::MutexGuard::unlocked(&mut state, || waker.wake());
            }
        }
        state.watched = false;
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let alarms = &self.alarms;
        let mut state = alarms.state.lock();
        if alarms.clock.monotonic_nanos() >= self.due.0 {
            return Poll::Ready(());
        }
        state.due.insert(self.due, Some(context.waker().clone()));
        match std::mem::replace(&mut state.watched, true) {
            true => _ = alarms.changed.notify_one(),
            false => {
                let alarms = Arc::clone(alarms);
                threads::spawn("alarms", move || alarms.watch());
            }
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.alarms.state.lock().due.remove(&self.due);
        self.alarms.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_rt::{RealClock, block_on};

    #[test]
    fn sleeps_end_in_their_order_and_not_before_their_time() {
        let clock = RealClock;
        let alarms = Arc::new(Alarms::new(Arc::new(clock)));
        let begun = clock.monotonic_nanos();
        let millis = |number: u64| begun + number * 1_000_000;
        let (late, early) = (alarms.at(millis(60)), alarms.at(millis(20)));
        let dropped = alarms.at(millis(3_600_000));
        let waiting = threads::spawn("late", move || {
            block_on(late);
            RealClock.monotonic_nanos()
        });
        block_on(early);
        let early = clock.monotonic_nanos();
        drop(dropped);
        let late = waiting.join().unwrap();
        assert!(early >= millis(20) && late >= millis(60), "{early} {late}");
        assert!(early < late);
        assert!(alarms.state.lock().due.is_empty());
        // What is over already does not wait for anybody.
        block_on(alarms.at(begun));
    }
}
