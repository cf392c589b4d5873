//! Numbers of transactions, as `txid_current` gives them.
//!
//! Relies on: a clock whose microseconds do not go back behind a restart.  Promises: no two transactions have one number, in
//! whichever database; who asks later has the greater one, also after a restart.  Does not: say what a transaction sees, or
//! number those that do not ask.

use std::sync::atomic::{AtomicI64, Ordering};

/// The greatest number that was given.
#[derive(Default)]
pub(crate) struct TransactionNumbers(AtomicI64);

/// Microseconds from 2000-01-01 back to 1970-01-01: a clock that stands before has numbers above 0 all the same.
const EARLIER: i64 = 946_684_800_000_000;

impl TransactionNumbers {
    /// The next one, at a moment in microseconds since 2000-01-01.
    pub fn next(&self, now: i64) -> i64 {
        let least = now.saturating_add(EARLIER).max(1);
        let next = |last: i64| least.max(last + 1);
        // Nothing else is told by the number.
        let last = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                Some(next(last))
            });
        next(last.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: numbers grow at one moment, with time, and when the clock is set back.
    #[test]
    fn numbers_grow() {
        let numbers = TransactionNumbers::default();
        let given: Vec<i64> = [5, 5, 9, 2].map(|now| numbers.next(now)).to_vec();
        assert!(given.is_sorted_by(|a, b| a < b), "{given:?}");
    }
}
