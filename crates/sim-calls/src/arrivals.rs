//! When calls come.
//!
//! Relies on: `draw`.  Promises: a stream that does not wait for answers: the load is what it is, however
//! slow the system.  Does not: model clients that think.

use crate::draw::exponential;
use crate::time::Nanos;
use quintet_rt::Rand;
use serde::Serialize;

/// The pattern of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Independent clients: a Poisson process.
    Poisson,
    /// One call every so often.
    Even,
    /// All at the beginning.
    AtOnce,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Pattern; 3] = [Pattern::Poisson, Pattern::Even, Pattern::AtOnce];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Poisson => "poisson",
            Pattern::Even => "even",
            Pattern::AtOnce => "at-once",
        }
    }

    /// The pattern of a name.
    pub fn parse(name: &str) -> Option<Pattern> {
        Pattern::ALL
            .into_iter()
            .find(|pattern| pattern.name() == name)
    }
}

/// A stream of arrivals.
#[derive(Clone, Debug)]
pub struct Arrivals {
    pattern: Pattern,
    per_second: f64,
    left: u64,
    rand: Rand,
}

impl Arrivals {
    /// So many calls at this rate.
    ///
    /// # Panics
    /// If the rate is not above 0.
    pub fn new(pattern: Pattern, per_second: f64, calls: u64, seed: u64) -> Arrivals {
        assert!(per_second > 0.0, "calls come at some rate");
        Arrivals {
            pattern,
            per_second,
            left: calls,
            rand: Rand::seeded(seed),
        }
    }

    /// How long after the one before the next call comes; none is left after the last.
    pub fn gap(&mut self) -> Option<Nanos> {
        self.left = self.left.checked_sub(1)?;
        let mean = 1.0 / self.per_second;
        Some(match self.pattern {
            Pattern::Poisson => Nanos::from_seconds(mean * exponential(&mut self.rand)),
            Pattern::Even => Nanos::from_seconds(mean),
            Pattern::AtOnce => Nanos::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(pattern: Pattern) -> (u64, f64) {
        let mut arrivals = Arrivals::new(pattern, 150.0, 30_000, 3);
        let mut sum = Nanos::ZERO;
        let mut calls = 0;
        while let Some(gap) = arrivals.gap() {
            sum += gap;
            calls += 1;
        }
        (calls, sum.seconds())
    }

    #[test]
    fn as_many_calls_come_as_were_ordered_at_about_the_rate() {
        let (calls, seconds) = span(Pattern::Poisson);
        assert_eq!(calls, 30_000);
        // Five standard deviations of the sum of so many gaps.
        assert!((seconds - 200.0).abs() < 5.8, "{seconds}");
        let (calls, seconds) = span(Pattern::Even);
        assert_eq!(calls, 30_000);
        assert!((seconds - 200.0).abs() < 0.001, "{seconds}");
        assert_eq!(span(Pattern::AtOnce), (30_000, 0.0));
    }
}
