//! What calls came to, procedure by procedure.
//!
//! Relies on: nothing.  Promises: a transaction that lost and was run again counts once, under how it
//! ended; the runs that lost are counted beside it.  Does not: know what a procedure does.

use crate::worker::latencies;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// A five-character SQLSTATE.
pub type State = [u8; 5];

/// Totals of one procedure in the measured interval.
#[derive(Clone, Debug)]
pub struct KindTotals {
    /// Committed.
    pub committed: u64,
    /// Refused by the procedure's own rules; that is an end as intended, too.
    pub refused: u64,
    /// Transactions that lost at least once and were run again.
    pub retried: u64,
    /// Runs that lost.
    pub lost: u64,
    /// Transactions that lost so often that they were given up.
    pub given_up: u64,
    /// Latency of the committed ones in nanoseconds, runs that lost included.
    pub latency: Histogram<u64>,
}

impl Default for KindTotals {
    fn default() -> KindTotals {
        KindTotals {
            committed: 0,
            refused: 0,
            retried: 0,
            lost: 0,
            given_up: 0,
            latency: latencies(),
        }
    }
}

impl KindTotals {
    fn add(&mut self, other: &KindTotals) {
        self.committed += other.committed;
        self.refused += other.refused;
        self.retried += other.retried;
        self.lost += other.lost;
        self.given_up += other.given_up;
        self.latency
            .add(&other.latency)
            .expect("all have the same bounds");
    }
}

/// Totals of all procedures.
#[derive(Clone, Debug, Default)]
pub struct CallTotals {
    /// In the order of the workload's procedures.
    pub kinds: Vec<KindTotals>,
    /// Runs that lost in the measured interval, by SQLSTATE.
    pub lost: BTreeMap<State, u64>,
    /// Sum of what committed calls counted, those of the warm-up included.
    pub counted: i64,
}

impl CallTotals {
    /// None of so many procedures.
    pub fn new(procedures: usize) -> CallTotals {
        CallTotals {
            kinds: vec![KindTotals::default(); procedures],
            ..CallTotals::default()
        }
    }

    /// Adds what others did.
    pub fn add(&mut self, other: &CallTotals) {
        if self.kinds.is_empty() {
            self.kinds = vec![KindTotals::default(); other.kinds.len()];
        }
        for (sum, kind) in self.kinds.iter_mut().zip(&other.kinds) {
            sum.add(kind);
        }
        for (state, count) in &other.lost {
            *self.lost.entry(*state).or_default() += count;
        }
        self.counted += other.counted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up() {
        let mut one = CallTotals::new(2);
        one.kinds[1].committed = 3;
        one.kinds[1].latency.record(1000).unwrap();
        one.lost.insert(*b"40001", 2);
        one.counted = 5;
        let mut sum = CallTotals::default();
        sum.add(&one);
        sum.add(&one);
        assert_eq!((sum.kinds[1].committed, sum.kinds[0].committed), (6, 0));
        assert_eq!(sum.kinds[1].latency.len(), 2);
        assert_eq!((sum.lost[b"40001"], sum.counted), (4, 10));
    }
}
