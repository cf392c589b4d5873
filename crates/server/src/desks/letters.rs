//! What other threads wake at a desk, without a call to the system each.
//!
//! Relies on: the desk saying when it is about to sleep, and that it is awake again, and looking when it turns to a connection.
//! Promises: who is woken runs, however that falls together with the desk's going to sleep; only the first to be woken at a desk that
//! sleeps costs a call to the system.  Does not: run anything.
//!
//! ```text
//!   another thread ──woken──► asleep?  yes: through the runtime, which wakes the thread
//!                                      no:  a letter ──────────────┐
//!   the desk:  connection, connection, … about to sleep, awake     │
//!                   ▲           ▲              ▲           ▲       │
//!                   └───────────┴── letters ───┴───────────┘◄──────┘
//! ```
//! A runtime tells its thread of every task that another thread wakes, by a call to the system, whether it sleeps or not. The
//! log's writer wakes all whose commits a sync has made durable, one after the other, before it writes the next group.

use parking_lot::Mutex;
use std::cell::OnceCell;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

thread_local! {
    /// Of the desk whose thread this is.
    static HERE: OnceCell<Arc<Letters>> = const { OnceCell::new() };
}

/// Who is to be woken at one desk.
#[derive(Debug, Default)]
pub(super) struct Letters {
    /// Whether there are some; looked at by the desk without the lock, which comes again before it sleeps.
    any: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    desk: Desk,
    letters: Vec<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Desk {
    /// It looks before it sleeps.
    #[default]
    Awake,
    /// Or about to sleep, having looked.
    Asleep,
    /// Its connections are gone.
    Ended,
}

/// Has the thread of a desk be known as such until it ends; what is dropped last of it.
#[derive(Debug)]
pub(super) struct AtDesk(Arc<Letters>);

impl AtDesk {
    /// This thread is the desk's from now on.
    pub fn begin(letters: Arc<Letters>) -> AtDesk {
        HERE.with(|here| {
            here.set(Arc::clone(&letters))
                .expect("one desk for a thread")
        });
        AtDesk(letters)
    }
}

impl Drop for AtDesk {
    fn drop(&mut self) {
        let mut inner = self.0.inner.lock();
        inner.desk = Desk::Ended;
        let letters = mem::take(&mut inner.letters);
        drop(inner);
        drop(letters);
    }
}

/// The desk whose thread this is does something with its letters.
pub(super) fn here(act: impl FnOnce(&Letters)) {
    HERE.with(|here| {
        if let Some(letters) = here.get() {
            act(letters);
        }
    });
}

impl Letters {
    /// Wakes all there are letters for.
    pub fn open(&self) {
        if self.any.load(Ordering::Relaxed) {
            self.turn(Desk::Awake);
        }
    }

    /// The desk is about to sleep; it does not if somebody was woken now.
    pub fn before_sleep(&self) {
        self.turn(Desk::Asleep);
    }

    /// It has slept, or tried to.
    pub fn after_sleep(&self) {
        self.turn(Desk::Awake);
    }

    /// With letters it is awake in any case.
    fn turn(&self, next: Desk) {
        let mut inner = self.inner.lock();
        let letters = mem::take(&mut inner.letters);
        inner.desk = match letters.is_empty() {
            true => next,
            false => Desk::Awake,
        };
        self.any.store(false, Ordering::Relaxed);
        drop(inner);
        letters.into_iter().for_each(Waker::wake);
    }

    /// From another thread.
    fn wake(&self, task: &Waker) {
        let mut inner = self.inner.lock();
        match inner.desk {
            Desk::Awake => {
                inner.letters.push(task.clone());
                self.any.store(true, Ordering::Relaxed);
            }
            Desk::Asleep => {
                inner.desk = Desk::Awake;
                drop(inner);
                task.wake_by_ref();
            }
            Desk::Ended => {}
        }
    }
}

/// Wakes a task of a desk: at once on the desk's own thread, by a letter from others.
struct Addressed {
    letters: Arc<Letters>,
    task: Waker,
}

impl Addressed {
    fn is_here(&self) -> bool {
        let here = HERE.try_with(|here| {
            here.get()
                .is_some_and(|letters| Arc::ptr_eq(letters, &self.letters))
        });
        here.unwrap_or(false)
    }
}

impl Wake for Addressed {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        match self.is_here() {
            true => self.task.wake_by_ref(),
            false => self.letters.wake(&self.task),
        }
    }
}

/// What a task of the desk is woken by, made once for each that the runtime has for it.
#[derive(Debug, Default)]
pub(super) struct Address(Option<(Waker, Waker)>);

impl Address {
    /// In place of `task`, which is of the desk whose thread this is; that itself if this is none.
    pub fn of<'a>(&'a mut self, task: &'a Waker) -> &'a Waker {
        let known = self.0.as_ref().is_some_and(|(of, _)| of.will_wake(task));
        if !known {
            self.0 = HERE.with(|here| {
                let addressed = Addressed {
                    letters: Arc::clone(here.get()?),
                    task: task.clone(),
                };
                Some((task.clone(), Waker::from(Arc::new(addressed))))
            });
        }
        self.0.as_ref().map_or(task, |(_, by)| by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// A task that counts how often it was woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Woken {
        fn times(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    fn elsewhere(act: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            scope.spawn(act);
        });
    }

    #[test]
    fn a_desk_that_is_awake_gets_letters_and_one_that_sleeps_is_woken_once() {
        let letters = Arc::new(Letters::default());
        let desk = AtDesk::begin(Arc::clone(&letters));
        let task = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&task));
        let mut address = Address::default();
        let by = address.of(&waker).clone();
        assert!(address.of(&waker).will_wake(&by), "made once");

        by.wake_by_ref();
        assert_eq!(task.times(), 1, "at once on its own thread");
        elsewhere(|| by.wake_by_ref());
        elsewhere(|| by.wake_by_ref());
        assert_eq!(task.times(), 1, "two letters");
        here(Letters::open);
        assert_eq!(task.times(), 3);
        here(Letters::open);
        assert_eq!(task.times(), 3, "opened once");

        elsewhere(|| by.wake_by_ref());
        here(Letters::before_sleep);
        assert_eq!(task.times(), 4, "it looks before it sleeps");
        elsewhere(|| by.wake_by_ref());
        assert_eq!(task.times(), 4, "and did not sleep then");
        here(Letters::after_sleep);
        assert_eq!(task.times(), 5);

        here(Letters::before_sleep);
        elsewhere(|| by.wake_by_ref());
        assert_eq!(task.times(), 6, "woken from its sleep");
        elsewhere(|| by.wake_by_ref());
        assert_eq!(task.times(), 6, "and not again");
        here(Letters::after_sleep);
        assert_eq!(task.times(), 7);

        elsewhere(|| by.wake_by_ref());
        drop(desk);
        elsewhere(|| by.wake_by_ref());
        assert_eq!(task.times(), 7, "there is nobody");
        assert_eq!(Arc::strong_count(&task), 4, "here, and three that name it");
    }
}
