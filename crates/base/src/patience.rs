//! Whether something that was tried in vain before is worth trying again.
//!
//! Relies on: being told what came of each try.  Promises: after a success the next try is allowed at once; after failures in a row
//! the next 1, 3, 7 … 63 are left out, so that what never succeeds costs little and what begins to succeed is noticed.
//! Does not: read a clock.

/// After so many failures in a row, the pauses grow no more.
const DOUBLINGS_MAX: u32 = 6;

/// So many tries in a row are left out at most.
pub const LEFT_OUT_MAX: u32 = (1 << DOUBLINGS_MAX) - 1;

/// What was learned from earlier tries. At first: try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// So many more tries are left out.
    left_out: u32,
    /// Failures in a row.
    in_vain: u32,
}

impl Patience {
    /// Whether to try this time.
    pub fn has(&mut self) -> bool {
        if self.left_out > 0 {
            self.left_out -= 1;
            return false;
        }
        true
    }

    /// Whether the next time would be one to try.
    pub fn will_have(&self) -> bool {
        self.left_out == 0
    }

    /// What has come of it.
    pub fn learn(&mut self, succeeded: bool) {
        if succeeded {
            *self = Patience::default();
            return;
        }
        self.in_vain = (self.in_vain + 1).min(DOUBLINGS_MAX);
        self.left_out = (1 << self.in_vain) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_ever_less_and_what_succeeds_always() {
        let mut patience = Patience::default();
        let mut tried = Vec::new();
        for time in 0..400 {
            let will = patience.will_have();
            if patience.has() {
                assert!(will);
                tried.push(time);
                patience.learn(false);
            }
        }
        assert_eq!(tried, [0, 2, 6, 14, 30, 62, 126, 190, 254, 318, 382]);
        let left_out = (0..1000).take_while(|_| !patience.has()).count();
        assert!(left_out <= LEFT_OUT_MAX as usize);
        patience.learn(true);
        assert_eq!(patience, Patience::default());
        assert!((0..100).all(|_| {
            let tries = patience.has();
            patience.learn(true);
            tries
        }));
    }
}
