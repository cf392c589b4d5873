//! Simulated time.
//!
//! Relies on: nothing.  Promises: whole nanoseconds, so that sums do not depend on their order.
//! Does not: pass.

use std::ops::{Add, AddAssign, Sub};

/// Nanoseconds: a moment since the run began, or how long something takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nanos(pub u64);

/// Nanoseconds of a millisecond.
const PER_MS: f64 = 1e6;

impl Nanos {
    /// The beginning, or no time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// The nearest whole number of nanoseconds; nothing for what is negative.
    pub fn from_ms(ms: f64) -> Nanos {
        // `as` stops at the bounds of u64, which are 585 years apart.
        Nanos((ms * PER_MS).round() as u64)
    }

    /// From seconds.
    pub fn from_seconds(seconds: f64) -> Nanos {
        Nanos::from_ms(seconds * 1e3)
    }

    /// In milliseconds.
    pub fn ms(self) -> f64 {
        self.0 as f64 / PER_MS
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.ms() / 1e3
    }
}

impl Add for Nanos {
    type Output = Nanos;

    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Nanos;

    /// # Panics
    /// If `other` is later.
    fn sub(self, other: Nanos) -> Nanos {
        assert!(other <= self, "{other:?} is after {self:?}");
        Nanos(self.0 - other.0)
    }
}
