//! Who is connected: seats, cancel requests, the call to leave.
//!
//! Relies on: nothing.  Promises: a seat is given back when its holder is dropped; a secret is
//! compared in constant time.  Does not: end a connection; it wakes it, and the connection looks.
//!
//! Lock order: the one lock here is a leaf.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use tokio::sync::Notify;

/// How far the server is from its end. It only goes up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// Everybody is served.
    Running = 0,
    /// Whoever is idle must leave; what runs may finish.
    Draining = 1,
    /// Everybody must leave.
    Closing = 2,
}

/// One connection as others see it.
pub struct Seat {
    /// As BackendKeyData names it.
    pub process_id: i32,
    pub(crate) secret: [u8; 4],
    /// Wakes the connection from whatever it waits for, so that it looks at the phase and at its
    /// session's cancel flag.
    pub wake: Notify,
    /// Whose it is; set once they are let in.
    user: OnceLock<String>,
    /// Set once the session is open.
    cancel: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// It must leave, whoever else may stay. Release by `dismiss` pairs with Acquire in `phase`.
    dismissed: AtomicBool,
    registry: Arc<Registry>,
}

struct Seats {
    taken: HashMap<i32, Weak<Seat>>,
    last: i32,
}

/// All connections.
pub(crate) struct Registry {
    seats: Mutex<Seats>,
    seats_max: usize,
    /// A [`Phase`]. Release by `enter` pairs with Acquire in `phase`.
    phase: AtomicU8,
}

impl Registry {
    pub fn new(seats_max: usize) -> Registry {
        let seats = Mutex::new(Seats {
            taken: HashMap::new(),
            last: 0,
        });
        Registry {
            seats,
            seats_max,
            phase: AtomicU8::new(Phase::Running as u8),
        }
    }

    /// A seat, if one is free.
    pub fn sit_down(self: &Arc<Self>, secret: [u8; 4]) -> Option<Arc<Seat>> {
        let mut seats = self.seats.lock();
        if seats.taken.len() >= self.seats_max {
            return None;
        }
        let process_id = loop {
            seats.last = seats.last.checked_add(1).unwrap_or(1);
            if !seats.taken.contains_key(&seats.last) {
                break seats.last;
            }
        };
        let seat = Arc::new(Seat {
            process_id,
            secret,
            wake: Notify::new(),
            user: OnceLock::new(),
            cancel: OnceLock::new(),
            dismissed: AtomicBool::new(false),
            registry: Arc::clone(self),
        });
        seats.taken.insert(process_id, Arc::downgrade(&seat));
        Some(seat)
    }

    /// Interrupts what the connection is doing, if the secret is right.
    pub fn cancel(&self, process_id: i32, secret: [u8; 4]) {
        let seat = self
            .seats
            .lock()
            .taken
            .get(&process_id)
            .and_then(Weak::upgrade);
        if let Some(seat) = seat
            && same(seat.secret, secret)
        {
            seat.interrupt();
        }
    }

    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Running,
            1 => Phase::Draining,
            _ => Phase::Closing,
        }
    }

    /// Goes on to a phase and tells everybody.
    pub fn enter(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::Release);
        let seats: Vec<Arc<Seat>> = {
            let seats = self.seats.lock();
            seats.taken.values().filter_map(Weak::upgrade).collect()
        };
        for seat in seats {
            if phase == Phase::Closing {
                seat.interrupt();
            } else {
                seat.wake.notify_one();
            }
        }
    }
}

/// Equal? In a time that does not tell how much of it is.
fn same(a: [u8; 4], b: [u8; 4]) -> bool {
    std::hint::black_box(u32::from_ne_bytes(a) ^ u32::from_ne_bytes(b)) == 0
}

impl Seat {
    /// The seat is taken for a user who may have so many at most; `false`: they have them already.
    pub(crate) fn belongs_to(&self, user: &str, limit: Option<usize>) -> bool {
        let seats = self.registry.seats.lock();
        let all = seats.taken.values().filter_map(Weak::upgrade);
        let all: Vec<Arc<Seat>> = all.collect();
        let mine = |seat: &&Arc<Seat>| seat.user.get().is_some_and(|name| name == user);
        let fits = limit.is_none_or(|limit| all.iter().filter(mine).count() < limit);
        if fits {
            // Only the door calls this, once.
            let _ = self.user.set(user.to_string());
        }
        // A seat that ends with these takes the lock.
        drop(seats);
        drop(all);
        fits
    }

    /// How what it does is interrupted from now on.
    pub fn serves(&self, cancel: impl Fn() + Send + Sync + 'static) {
        // Only the connection itself calls this, once.
        let _ = self.cancel.set(Box::new(cancel));
    }

    /// Cancels the running statement.
    pub fn interrupt(&self) {
        if let Some(cancel) = self.cancel.get() {
            cancel();
        }
        self.wake.notify_one();
    }

    /// Ends the connection, as when the server closes.
    pub fn dismiss(&self) {
        self.dismissed.store(true, Ordering::Release);
        self.interrupt();
    }

    /// How far the server is from its end, as far as this connection is concerned.
    pub fn phase(&self) -> Phase {
        match self.dismissed.load(Ordering::Acquire) {
            true => Phase::Closing,
            false => self.registry.phase(),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.registry.seats.lock().taken.remove(&self.process_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_bounded_numbered_and_given_back() {
        let registry = Arc::new(Registry::new(2));
        let first = registry.sit_down(*b"aaaa").unwrap();
        let second = registry.sit_down(*b"bbbb").unwrap();
        assert_eq!((first.process_id, second.process_id), (1, 2));
        assert!(registry.sit_down(*b"cccc").is_none());
        drop(first);
        registry.seats.lock().last = i32::MAX;
        let third = registry.sit_down(*b"cccc").unwrap();
        assert_eq!(
            third.process_id, 1,
            "numbers start again and skip those in use"
        );
    }

    #[test]
    fn only_the_right_secret_wakes() {
        let registry = Arc::new(Registry::new(2));
        let seat = registry.sit_down(*b"abcd").unwrap();
        registry.cancel(1, *b"abce");
        registry.cancel(9, *b"abcd");
        let woken = |seat: &Arc<Seat>| {
            let mut notified = std::pin::pin!(seat.wake.notified());
            notified.as_mut().enable()
        };
        assert!(!woken(&seat));
        registry.cancel(1, *b"abcd");
        assert!(woken(&seat));
        registry.enter(Phase::Closing);
        registry.enter(Phase::Draining);
        assert_eq!(seat.phase(), Phase::Closing, "there is no way back");
    }
}
