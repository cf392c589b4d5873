//! Threads for long-lived workers, and waiting for a future on one.
//!
//! Relies on: the operating system's threads.  Promises: a worker has a name that shows in system
//! tools; [`block_on`] costs no allocation after a thread's first call.  Does not: run an
//! asynchronous runtime or a pool; short tasks belong to the callers' own threads.

mod idle;
mod stolen;

pub use idle::only_when_idle;
pub use stolen::stolen;

use crate::Clock;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

/// Longest name of a thread: Linux keeps 15 bytes and cuts the rest without a word.
pub const THREAD_NAME_BYTES_MAX: usize = 15;

/// Another thread ran meanwhile if one that yielded was away for so long.
const AWAY: Duration = Duration::from_micros(5);

/// Steps of niceness; each takes about a fifth off the share.
const STAND_BACK: i32 = 10;

/// A running worker; dropping the handle lets it run on.
#[derive(Debug)]
pub struct JoinHandle<T>(std::thread::JoinHandle<T>);

impl<T> JoinHandle<T> {
    /// Waits for the worker to end.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join()
    }

    /// Whether the calling thread is this worker; joining itself would wait for ever.
    pub fn is_current(&self) -> bool {
        self.0.thread().id() == std::thread::current().id()
    }

    /// Whether the worker has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

/// How large a thread's stack may become: what nests as deep as it may, room that is taken for it included
/// (`base::stack`), needs no other one where code is optimised. What is not touched takes no memory.
pub const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Starts a long-lived worker.
///
/// # Panics
/// If the name is longer than [`THREAD_NAME_BYTES_MAX`], or the system has no thread to give:
/// workers are started when a component opens, and without one it cannot do its work.
pub fn spawn<T, F>(name: &str, work: F) -> JoinHandle<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    assert!(
        name.len() <= THREAD_NAME_BYTES_MAX,
        "thread name {name:?} is cut by the system"
    );
    let handle = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES)
        .spawn(work)
        .expect("the operating system starts a thread");
    JoinHandle(handle)
}

/// Wakes one thread. `woken` is set by whoever wakes and taken by the thread that waits; the
/// Release of the set pairs with the Acquire of the take. It tells a true wake-up from the
/// spurious ones that parking allows.
struct Parker {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::Release) {
            self.thread.unpark();
        }
    }
}

thread_local! {
    static PARKER: (Arc<Parker>, Waker) = {
        let parker = Arc::new(Parker {
            thread: std::thread::current(),
            woken: AtomicBool::new(false),
        });
        let waker = Waker::from(Arc::clone(&parker));
        (parker, waker)
    };
}

/// Lets the calling thread have a processor, from now on and for ever, only as far as others leave time: among threads that
/// want one, its share is about a tenth of another's. A system without such a thing is not told.
pub fn stand_back() {
    // Whoever is not the superuser cannot take it back, so it is for threads that do nothing else.
    let _ = rustix::process::nice(STAND_BACK);
}

/// How many threads of this process can run at the same time, at least one.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Lets other threads run.
pub fn yield_now() {
    std::thread::yield_now();
}

/// Lets other threads run, and if none has waited for this thread's processor, leaves it empty for `moment`, so that the
/// system can move one there that waits for another. For work that takes long and need not be quick.
pub fn rest(clock: &dyn Clock, moment: Duration) {
    let before = clock.monotonic_nanos();
    yield_now();
    let away = clock.monotonic_nanos().saturating_sub(before);
    if Duration::from_nanos(away) < AWAY {
        clock.sleep(moment);
    }
}

/// Runs a future to its end on the calling thread, which sleeps while the future waits.
///
/// A wake-up left over from an earlier future costs one more poll and nothing else, and so does a
/// nested call: the outer future is polled again when the inner one is done with the thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    PARKER.with(|(parker, waker)| {
        let mut future = pin!(future);
        let mut context = Context::from_waker(waker);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                // A nested call may have used up a wake-up meant for the future around it.
                parker.woken.store(true, Ordering::Release);
                return output;
            }
            while !parker.woken.swap(false, Ordering::Acquire) {
                std::thread::park();
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimClock;
    use parking_lot::Mutex;
    use std::pin::Pin;

    #[test]
    fn a_worker_has_its_name_and_gives_its_result() {
        let handle = spawn("wal-writer", || {
            std::thread::current().name().map(str::to_owned)
        });
        assert!(!handle.is_current());
        assert_eq!(handle.join().unwrap().as_deref(), Some("wal-writer"));
    }

    #[test]
    fn a_panic_reaches_whoever_joins() {
        let handle = spawn("fails", || {
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(handle.join().is_err());
    }

    #[derive(Default)]
    struct Flag {
        state: Mutex<(bool, Option<Waker>)>,
    }

    impl Flag {
        fn set(&self) {
            let waker = {
                let mut state = self.state.lock();
                state.0 = true;
                state.1.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    struct Raised(Arc<Flag>);

    impl Future for Raised {
        type Output = ();
        fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            let mut state = self.0.state.lock();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        }
    }

    #[test]
    fn block_on_returns_at_once_when_ready_and_sleeps_until_woken() {
        assert_eq!(block_on(async { 7 }), 7);
        for _ in 0..200 {
            let flag = Arc::new(Flag::default());
            let setter = Arc::clone(&flag);
            let thread = spawn("sets", move || setter.set());
            block_on(Raised(flag));
            thread.join().unwrap();
        }
    }

    /// A future that waits on the thread inside its own poll takes the thread's wake-ups; the
    /// outer one must still be polled again.
    #[test]
    fn a_nested_block_on_loses_no_wake_up_of_the_outer_one() {
        for _ in 0..100 {
            let outer = Arc::new(Flag::default());
            let inner = Arc::new(Flag::default());
            let (set_outer, set_inner) = (Arc::clone(&outer), Arc::clone(&inner));
            let thread = spawn("sets", move || {
                set_outer.set();
                set_inner.set();
            });
            let mut first = true;
            let mut raised = Raised(outer);
            block_on(std::future::poll_fn(|context| {
                let answer = Pin::new(&mut raised).poll(context);
                if std::mem::take(&mut first) {
                    block_on(Raised(Arc::clone(&inner)));
                }
                answer
            }));
            thread.join().unwrap();
        }
    }

    /// A clock that moves on by itself at each look, as it does while other threads run.
    #[derive(Debug)]
    struct Moving {
        clock: SimClock,
        by: Duration,
        slept: Mutex<Duration>,
    }

    impl Clock for Moving {
        fn now_micros(&self) -> i64 {
            self.clock.now_micros()
        }
        fn monotonic_nanos(&self) -> u64 {
            self.clock.advance(self.by);
            self.clock.monotonic_nanos()
        }
        fn sleep(&self, duration: Duration) {
            *self.slept.lock() += duration;
        }
    }

    #[test]
    fn only_who_has_a_processor_to_himself_sleeps() {
        let moment = Duration::from_micros(100);
        for (by, slept) in [
            (Duration::ZERO, moment),
            (Duration::from_micros(4), moment),
            (Duration::from_micros(5), Duration::ZERO),
            (Duration::from_millis(3), Duration::ZERO),
        ] {
            let clock = Moving {
                clock: SimClock::at(0),
                by,
                slept: Mutex::default(),
            };
            rest(&clock, moment);
            assert_eq!(*clock.slept.lock(), slept, "away for {by:?}");
        }
    }
}
