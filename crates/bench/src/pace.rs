//! When the next transaction begins: at once, or when its turn has come.
//!
//! Relies on: nothing.  Promises: at a constant rate the moments at which transactions are *meant* to
//! begin depend on the rate alone, never on how long those before took; latency counted from there
//! is what a user would see who does not know that the system is busy.  Does not: wait; `worker` does.
//!
//! ```text
//!   closed  |txn 1 |txn 2 |txn 3 ------ stall ------ |txn 4    a stall is one slow transaction
//!   open    |1    |2    |3    |4    |5    |6    |7             a stall is late for all of these
//! ```

/// One client's schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// Each transaction begins when the client is free: a closed loop.
    Closed,
    /// Each transaction has its moment: an open loop at a constant rate.
    Open {
        /// Nanoseconds of the clock at which the schedule begins.
        origin: u64,
        /// Nanoseconds between two of this client's transactions.
        step: f64,
        /// Transactions begun; the moment of the next is `origin + step · begun`, computed anew each
        /// time so that rounding does not add up.
        begun: u64,
    },
}

impl Pace {
    /// The schedule of one client out of `clients` that together begin `rate` transactions a second.
    /// Clients take turns: the second one begins a share of a step after the first.
    pub fn open(rate: f64, clients: u32, number: u32, now: u64) -> Pace {
        assert!(rate > 0.0, "a rate of {rate}");
        Pace::Open {
            origin: now + (f64::from(number) * 1e9 / rate) as u64,
            step: f64::from(clients) * 1e9 / rate,
            begun: 0,
        }
    }

    /// When the next transaction is meant to begin; `now` unless that is fixed.
    pub fn due(&self, now: u64) -> u64 {
        match self {
            Pace::Closed => now,
            Pace::Open {
                origin,
                step,
                begun,
            } => origin + (step * *begun as f64) as u64,
        }
    }

    /// It has begun.
    pub fn advance(&mut self) {
        if let Pace::Open { begun, .. } = self {
            *begun += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_an_open_loop_take_turns_at_the_rate() {
        let mut moments = Vec::new();
        for number in 0..4 {
            let mut pace = Pace::open(1e6, 4, number, 500);
            for _ in 0..25 {
                moments.push(pace.due(u64::MAX));
                pace.advance();
            }
        }
        moments.sort_unstable();
        let expected: Vec<u64> = (0..100).map(|n| 500 + n * 1000).collect();
        assert_eq!(moments, expected);
    }

    #[test]
    fn an_odd_rate_does_not_drift() {
        let mut pace = Pace::open(300_000.0, 1, 0, 0);
        (0..300_000).for_each(|_| pace.advance());
        assert_eq!(pace.due(0), 1_000_000_000);
    }

    #[test]
    fn a_closed_loop_begins_when_it_can() {
        let mut pace = Pace::Closed;
        pace.advance();
        assert_eq!(pace.due(77), 77);
    }
}
