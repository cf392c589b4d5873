//! Time: what the calendar says, how much has passed, and waiting for it.
//!
//! Relies on: nothing.  Promises: `monotonic_nanos` never goes back; a [`SimClock`] moves only when
//! told to.  Does not: promise that the wall clock is right or that it never jumps.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Seconds from 1970-01-01 to 2000-01-01 UTC, the day from which PostgreSQL counts.
const EPOCH_2000_SECONDS: i64 = 946_684_800;

/// A source of time, passed to constructors as `Arc<dyn Clock>`.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Wall clock: microseconds since 2000-01-01 00:00 UTC.
    fn now_micros(&self) -> i64;
    /// Nanoseconds since some fixed moment; only differences mean anything.
    fn monotonic_nanos(&self) -> u64;
    /// Lets this much time pass for the calling thread.
    fn sleep(&self, duration: Duration);
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

// The real form of the seam: the one place that may ask the operating system for the time.
#[allow(clippy::disallowed_methods)]
impl Clock for RealClock {
    fn now_micros(&self) -> i64 {
        let unix = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |m| -m),
        };
        unix.saturating_sub(EPOCH_2000_SECONDS * 1_000_000)
    }

    fn monotonic_nanos(&self) -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        let start = *START.get_or_init(Instant::now);
        // 584 years fit in 64 bits.
        start.elapsed().as_nanos() as u64
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// A clock that stands still until it is advanced.
#[derive(Debug, Default)]
pub struct SimClock {
    /// Written by `set_now_micros` and `advance`, read by anyone; no other data hangs on it.
    micros: AtomicI64,
    nanos: AtomicU64,
}

impl SimClock {
    /// A clock that says `now_micros`, with nothing elapsed.
    pub fn at(now_micros: i64) -> SimClock {
        SimClock {
            micros: AtomicI64::new(now_micros),
            nanos: AtomicU64::new(0),
        }
    }

    /// Lets time pass, on the wall and in the monotonic count alike.
    pub fn advance(&self, duration: Duration) {
        let before = self
            .nanos
            .fetch_add(duration.as_nanos() as u64, Ordering::SeqCst);
        // Counting whole microseconds of the sum keeps the two readings in step for any step size.
        let after = before + duration.as_nanos() as u64;
        let micros = after / 1_000 - before / 1_000;
        self.micros.fetch_add(micros as i64, Ordering::SeqCst);
    }

    /// Sets the wall clock as an operator would; the monotonic count stays.
    pub fn set_now_micros(&self, now_micros: i64) {
        self.micros.store(now_micros, Ordering::SeqCst);
    }
}

impl Clock for SimClock {
    fn now_micros(&self) -> i64 {
        self.micros.load(Ordering::SeqCst)
    }

    fn monotonic_nanos(&self) -> u64 {
        self.nanos.load(Ordering::SeqCst)
    }

    /// Nobody waits in simulated time: the clock moves on by as much.
    fn sleep(&self, duration: Duration) {
        self.advance(duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_clock_is_past_2026_and_never_goes_back() {
        let days_2026 = 26 * 365 + 7;
        assert!(RealClock.now_micros() > days_2026 * 86_400 * 1_000_000);
        let mut last = 0;
        for _ in 0..1_000 {
            let now = RealClock.monotonic_nanos();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn a_simulated_clock_moves_only_when_told() {
        let clock = SimClock::at(-5);
        assert_eq!((clock.now_micros(), clock.monotonic_nanos()), (-5, 0));
        for _ in 0..10 {
            clock.advance(Duration::from_nanos(300));
        }
        assert_eq!((clock.now_micros(), clock.monotonic_nanos()), (-2, 3_000));
        clock.sleep(Duration::from_micros(2));
        assert_eq!((clock.now_micros(), clock.monotonic_nanos()), (0, 5_000));
        clock.set_now_micros(100);
        assert_eq!((clock.now_micros(), clock.monotonic_nanos()), (100, 5_000));
    }
}
