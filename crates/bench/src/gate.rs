//! Where a thread's clients wait until their next transaction is due, in an open loop.
//!
//! Relies on: the thread looks at its gate whenever it is awake, so that who is due costs no message from
//! elsewhere; the pacer wakes a thread that sleeps past a due moment.  Promises: nobody passes before his moment; a busy
//! thread lets a client pass as soon as it comes by, a sleeping one within [`PACER_SLEEP`] and what the
//! system's timer adds; a thread sleeps only if nobody is due within [`LINGER`], and gives its processor to whoever wants it
//! until then; while no thread sleeps, the pacer takes no time from them.  Does not: keep an
//! order among those who are due.
//!
//! ```text
//!   client  until(due) ─► gate ──look()──► polled again                       the thread is awake
//!                          ├─ sleep, due soon ─► yields, looks again
//!                          └─ sleep, due later ─► Alarm ◄── pacer, every PACER_SLEEP   it sleeps: woken, looks
//! ```
//! A timer that goes off 9,000 times a second takes a sixth of a processor on a virtual machine, and the sleep that it ends ends with
//! a call of another processor. A system that is behind has no thread that sleeps, and would not catch up as fast as it could.

use futures_util::task::AtomicWaker;
use quintet_rt::Clock;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::future::poll_fn;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering as Atomic};
use std::task::{Context, Poll, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// How long the pacer sleeps between two looks at the threads, when one of them sleeps. Short beside any latency
/// that is measured over many clients.
const PACER_SLEEP: Duration = Duration::from_micros(50);

/// A thread whose next client is due within this time stays awake: what the sleep would cost is more than it would give to others.
const LINGER: Duration = Duration::from_micros(150);

/// So many looks in a row find no alarm before the pacer rests until there is one.
const LOOKS_MAX: u32 = 4;

/// How long it rests at most: the end of the run rings no bell.
const REST_MAX: Duration = Duration::from_millis(10);

/// An alarm that is not set.
const NEVER: u64 = u64::MAX;

/// When a sleeping thread is to be woken. One for each thread; shared with the pacer.
#[derive(Debug)]
struct Alarm {
    /// Set by the thread before it sleeps, taken back by the pacer when it wakes it or by the thread when something else
    /// has. Who sees a moment sees the waker that was registered before it.
    due: AtomicU64,
    waker: AtomicWaker,
}

/// Those of all threads, and the pacer's bell.
#[derive(Debug)]
pub(crate) struct Alarms {
    each: Vec<Alarm>,
    /// Whether the pacer rests, or is about to. Total order with the alarms: either it sees one that was just set, or who has set
    /// it sees that it rests.
    rests: AtomicBool,
    pacer: OnceLock<Thread>,
}

impl Alarms {
    /// Of so many threads, none of them set.
    pub fn new(threads: u32) -> Alarms {
        let alarm = || Alarm {
            due: AtomicU64::new(NEVER),
            waker: AtomicWaker::new(),
        };
        Alarms {
            each: (0..threads).map(|_| alarm()).collect(),
            rests: AtomicBool::new(false),
            pacer: OnceLock::new(),
        }
    }

    /// The pacer's life: wakes threads whose alarm is due until the run has stopped, then all of them.
    pub fn pace(&self, clock: &dyn Clock, stopped: &dyn Fn() -> bool) {
        self.pacer.get_or_init(thread::current);
        let mut looks = 0;
        while !stopped() {
            if self.look(clock.monotonic_nanos()) {
                looks = 0;
            } else {
                looks += 1;
            }
            if looks <= LOOKS_MAX {
                clock.sleep(PACER_SLEEP);
                continue;
            }
            self.rests.store(true, Atomic::SeqCst);
            if !self.look(clock.monotonic_nanos()) {
                thread::park_timeout(REST_MAX);
            }
            self.rests.store(false, Atomic::Relaxed);
        }
        self.each.iter().for_each(|alarm| alarm.waker.wake());
    }

    /// Wakes who is due; true if any alarm was set.
    fn look(&self, now: u64) -> bool {
        let mut any = false;
        for alarm in &self.each {
            let due = alarm.due.load(Atomic::SeqCst);
            any |= due != NEVER;
            if due <= now {
                alarm.due.store(NEVER, Atomic::Relaxed);
                alarm.waker.wake();
            }
        }
        any
    }

    fn set(&self, thread: u32, due: u64, waker: &Waker) {
        let alarm = &self.each[thread as usize];
        alarm.waker.register(waker);
        alarm.due.store(due, Atomic::SeqCst);
        if self.rests.load(Atomic::SeqCst)
            && let Some(pacer) = self.pacer.get()
        {
            pacer.unpark();
        }
    }

    fn take_back(&self, thread: u32) {
        let due = &self.each[thread as usize].due;
        if due.load(Atomic::Relaxed) != NEVER {
            due.store(NEVER, Atomic::Relaxed);
        }
    }
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
    alarms: &'t Alarms,
    thread: u32,
    waiting: RefCell<BinaryHeap<Waiting>>,
    open: Cell<bool>,
}

impl<'t> Gate<'t> {
    /// Of the thread of a number; nobody waits yet.
    pub fn new(clock: &'t dyn Clock, alarms: &'t Alarms, thread: u32) -> Gate<'t> {
        Gate {
            clock,
            alarms,
            thread,
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

    /// Has the thread woken when the next moment comes, at once if that is soon; others that want its processor have
    /// it first. What may have come about since it last looked must be looked at again afterwards.
    pub fn sleep(&self, context: &Context<'_>) {
        let Some(due) = self.waiting.borrow().peek().map(|first| first.due) else {
            return;
        };
        if due.saturating_sub(self.clock.monotonic_nanos()) > LINGER.as_nanos() as u64 {
            self.alarms.set(self.thread, due, context.waker());
        } else {
            thread::yield_now();
            context.waker().wake_by_ref();
        }
    }

    /// The thread does not sleep any more.
    pub fn awake(&self) {
        self.alarms.take_back(self.thread);
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
        let (clock, alarms) = (RealClock, Alarms::new(1));
        let gate = Gate::new(&clock, &alarms, 0);
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
        let (clock, alarms) = (RealClock, Alarms::new(1));
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| alarms.pace(&clock, &|| over.load(Atomic::Acquire)));
            let gate = Gate::new(&clock, &alarms, 0);
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

    /// Its next client is due soon: no alarm is set, and it is polled again until then.
    #[test]
    fn a_thread_stays_awake_for_who_is_due_soon() {
        // A thread that the system puts aside in that moment misses it: once of many times is enough.
        let turns = (0..200).map(|_| turns_until_due());
        let (mut slept, mut stayed) = (false, false);
        for (asleep, awake) in turns {
            slept |= asleep > 0;
            stayed |= awake > 0;
            if slept && stayed {
                return;
            }
        }
        panic!("asleep: {slept}, awake: {stayed}");
    }

    /// How often a thread that waits for a moment was asleep, and awake, when it was looked at.
    fn turns_until_due() -> (u64, u64) {
        let (clock, alarms) = (RealClock, Alarms::new(1));
        let gate = Gate::new(&clock, &alarms, 0);
        let due = clock.monotonic_nanos() + 20 * LINGER.as_nanos() as u64;
        let mut waits = Box::pin(gate.until(due));
        let (mut asleep, mut awake) = (0, 0);
        quintet_rt::block_on(poll_fn(|context| {
            gate.awake();
            gate.look();
            let polled = waits.as_mut().poll(context);
            if polled.is_pending() {
                gate.sleep(context);
                match alarms.each[0].due.load(Atomic::SeqCst) {
                    NEVER => awake += 1,
                    _ => asleep += 1,
                }
                // As the pacer would, too early.
                context.waker().wake_by_ref();
            }
            polled
        }));
        (asleep, awake)
    }

    #[test]
    fn the_pacer_rests_while_no_thread_sleeps() {
        let (clock, alarms) = (RealClock, Alarms::new(2));
        let until = clock.monotonic_nanos() + 50_000_000;
        let looks = Cell::new(0);
        alarms.pace(&clock, &|| {
            looks.set(looks.get() + 1);
            clock.monotonic_nanos() >= until
        });
        assert!(looks.get() < 50, "{} looks", looks.get());
    }
}
