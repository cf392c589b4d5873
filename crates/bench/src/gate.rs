//! Where a thread's clients wait until their next transaction is due, in an open loop.
//!
//! Relies on: the thread looks at its gate whenever it is awake, so that who is due costs no message from
//! elsewhere; the pacer wakes a thread that sleeps past a due moment.  Promises: nobody passes before his moment; a busy
//! thread lets a client pass as soon as it comes by, a sleeping one within [`PACER_SLEEP`] and what the
//! system's timer adds.  Does not: keep an order among those who are due.
//!
//! ```text
//!   client  until(due) ─► gate ──look()──► polled again                   the thread is awake
//!                          └─ sleep ─► Alarm ◄── pacer, every PACER_SLEEP   it sleeps: woken, looks
//! ```

use futures_util::task::AtomicWaker;
use quintet_rt::Clock;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// How long the pacer sleeps between two looks at the threads. Long enough to cost nothing, short beside any
/// latency that is measured over many clients.
const PACER_SLEEP: Duration = Duration::from_micros(50);

/// An alarm that is not set.
const NEVER: u64 = u64::MAX;

/// When a sleeping thread is to be woken. One for each thread; shared with the pacer.
#[derive(Debug)]
pub(crate) struct Alarm {
    /// Set by the thread before it sleeps, taken back by the pacer when it wakes it. Release pairs with
    /// Acquire: who sees a moment sees the waker that was registered before it.
    due: AtomicU64,
    waker: AtomicWaker,
}

impl Default for Alarm {
    fn default() -> Alarm {
        Alarm {
            due: AtomicU64::new(NEVER),
            waker: AtomicWaker::new(),
        }
    }
}

/// Wakes threads whose alarm is due until the run has stopped, then all of them.
pub(crate) fn pace(alarms: &[Alarm], clock: &dyn Clock, stopped: &dyn Fn() -> bool) {
    while !stopped() {
        let now = clock.monotonic_nanos();
        for alarm in alarms {
            if alarm.due.load(Atomic::Acquire) <= now {
                alarm.due.store(NEVER, Atomic::Relaxed);
                alarm.waker.wake();
            }
        }
        clock.sleep(PACER_SLEEP);
    }
    alarms.iter().for_each(|alarm| alarm.waker.wake());
}

/// One who waits. The earliest is the greatest: a heap gives that one first.
struct Waiting {
    due: u64,
    waker: Waker,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.due == other.due
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        other.due.cmp(&self.due)
    }
}

/// Those of one thread who wait.
pub(crate) struct Gate<'t> {
    clock: &'t dyn Clock,
    alarm: &'t Alarm,
    waiting: RefCell<BinaryHeap<Waiting>>,
    open: Cell<bool>,
}

impl<'t> Gate<'t> {
    /// Nobody waits yet.
    pub fn new(clock: &'t dyn Clock, alarm: &'t Alarm) -> Gate<'t> {
        Gate {
            clock,
            alarm,
            waiting: RefCell::default(),
            open: Cell::new(false),
        }
    }

    /// Waits for a moment, or for the end of the run.
    pub async fn until(&self, due: u64) {
        let mut waits = false;
        poll_fn(|context| {
            if self.open.get() || self.clock.monotonic_nanos() >= due {
                return Poll::Ready(());
            }
            if !std::mem::replace(&mut waits, true) {
                let waker = context.waker().clone();
                self.waiting.borrow_mut().push(Waiting { due, waker });
            }
            Poll::Pending
        })
        .await;
    }

    /// Lets those pass whose moment has come; true if there were any.
    pub fn look(&self) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() {
            return false;
        }
        let now = match self.open.get() {
            true => NEVER,
            false => self.clock.monotonic_nanos(),
        };
        let before = waiting.len();
        while let Some(first) = waiting.peek_mut().filter(|first| first.due <= now) {
            PeekMut::pop(first).waker.wake();
        }
        waiting.len() < before
    }

    /// The run is over: everybody passes, now and from now on.
    pub fn open(&self) {
        self.open.set(true);
    }

    /// Has the thread woken when the next moment comes. What may have come about since it last looked must be
    /// looked at again afterwards.
    pub fn sleep(&self, context: &Context<'_>) {
        if let Some(first) = self.waiting.borrow().peek() {
            self.alarm.waker.register(context.waker());
            self.alarm.due.store(first.due, Atomic::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::task::noop_waker_ref;
    use quintet_rt::RealClock;
    use std::future::Future;
    use std::pin::pin;

    fn polled(future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
        let mut context = Context::from_waker(noop_waker_ref());
        future.poll(&mut context).is_ready()
    }

    #[test]
    fn nobody_passes_before_his_moment_and_all_at_the_end() {
        let (clock, alarm) = (RealClock, Alarm::default());
        let gate = Gate::new(&clock, &alarm);
        let now = clock.monotonic_nanos();
        let mut soon = pin!(gate.until(now + 2_000_000));
        let mut never = pin!(gate.until(NEVER - 1));
        assert!(!polled(soon.as_mut()) && !polled(never.as_mut()));
        assert!(!gate.look(), "too early");
        clock.sleep(Duration::from_millis(3));
        assert!(gate.look());
        assert!(polled(soon.as_mut()) && !polled(never.as_mut()));
        gate.open();
        assert!(gate.look() && polled(never.as_mut()));
        assert!(!gate.look(), "nobody is left");
    }

    #[test]
    fn a_thread_that_sleeps_is_woken_when_somebody_is_due() {
        let (clock, alarm) = (RealClock, [Alarm::default()]);
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| pace(&alarm, &clock, &|| over.load(Atomic::Acquire)));
            let gate = Gate::new(&clock, &alarm[0]);
            let due = clock.monotonic_nanos() + 5_000_000;
            let mut waits = Box::pin(gate.until(due));
            quintet_rt::block_on(poll_fn(|context| {
                gate.look();
                let polled = waits.as_mut().poll(context);
                gate.sleep(context);
                polled
            }));
            let late = clock.monotonic_nanos().saturating_sub(due);
            over.store(true, Atomic::Release);
            assert!(late < 1_000_000_000, "{late}");
        });
    }
}
