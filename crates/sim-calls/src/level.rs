//! A number that goes up and down, and what it was over time.
//!
//! Relies on: `time`.  Promises: the mean of every interval, weighted by time, and the greatest value.
//! Does not: keep single changes.

use crate::time::Nanos;

/// How many of something there are, over time.
#[derive(Clone, Debug)]
pub struct Level {
    interval: Nanos,
    value: u64,
    greatest: u64,
    since: Nanos,
    /// Value × nanoseconds, by interval.
    sums: Vec<u128>,
}

impl Level {
    /// None, from the beginning; means are taken of such intervals.
    ///
    /// # Panics
    /// If the interval is nothing.
    pub fn new(interval: Nanos) -> Level {
        assert!(interval > Nanos::ZERO, "an interval has a length");
        Level {
            interval,
            value: 0,
            greatest: 0,
            since: Nanos::ZERO,
            sums: Vec::new(),
        }
    }

    /// One more, from now on.
    pub fn up(&mut self, now: Nanos) {
        self.pass(now);
        self.value += 1;
        self.greatest = self.greatest.max(self.value);
    }

    /// One less, from now on.
    ///
    /// # Panics
    /// If there is none.
    pub fn down(&mut self, now: Nanos) {
        self.pass(now);
        self.value = self.value.checked_sub(1).expect("what ends has begun");
    }

    /// Most there have been.
    pub fn greatest(&self) -> u64 {
        self.greatest
    }

    /// Adds up to `now`; to be called once more at the end.
    pub fn pass(&mut self, now: Nanos) {
        let mut from = self.since.0;
        while from < now.0 {
            let at = from / self.interval.0;
            let to = now.0.min((at + 1) * self.interval.0);
            let at = at as usize;
            if self.sums.len() <= at {
                self.sums.resize(at + 1, 0);
            }
            self.sums[at] += u128::from(self.value) * u128::from(to - from);
            from = to;
        }
        self.since = now;
    }

    /// Value × seconds, of all time so far.
    pub fn total_seconds(&self) -> f64 {
        self.sums.iter().sum::<u128>() as f64 / 1e9
    }

    /// The middle of every interval in seconds, and the mean then. The last is as long as it lasted.
    pub fn means(&self) -> Vec<(f64, f64)> {
        let length = self.interval.0;
        let point = |(at, sum): (usize, &u128)| {
            let from = at as u64 * length;
            let lasted = (self.since.0 - from).min(length);
            let middle = Nanos(from + lasted / 2).seconds();
            (middle, *sum as f64 / lasted as f64)
        };
        self.sums.iter().enumerate().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted_by_time() {
        let at = Nanos::from_seconds;
        let mut level = Level::new(at(1.0));
        level.up(at(0.5));
        level.up(at(1.0));
        level.down(at(2.5));
        level.pass(at(3.0));
        let means = level.means();
        let expected = [(0.5, 0.5), (1.5, 2.0), (2.5, 1.5)];
        assert_eq!(means, expected);
        assert_eq!(level.total_seconds(), 4.0);
        assert_eq!(level.greatest(), 2);
    }

    #[test]
    fn a_last_interval_that_was_cut_short_is_a_mean_of_what_there_was() {
        let at = Nanos::from_seconds;
        let mut level = Level::new(at(1.0));
        level.up(at(0.0));
        level.pass(at(1.5));
        assert_eq!(level.means(), [(0.5, 1.0), (1.25, 1.0)]);
    }
}
