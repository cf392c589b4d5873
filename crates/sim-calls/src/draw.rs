//! Drawing times: how long something takes, and when the next call comes.
//!
//! Relies on: `rt::Rand`.  Promises: the same numbers from the same seed and build; a time is never
//! negative.  Does not: give the same on every machine to the last digit: a logarithm may differ there.

use crate::time::Nanos;
use quintet_rt::Rand;
use serde::Serialize;

/// A number from 0, included, to 1, not included.
pub fn unit(rand: &mut Rand) -> f64 {
    // As many bits as a double has.
    (rand.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A number of the exponential distribution with mean 1.
pub fn exponential(rand: &mut Rand) -> f64 {
    -(1.0 - unit(rand)).ln()
}

/// A number of the normal distribution with mean 0 and variance 1: Marsaglia's polar method, of whose two
/// numbers the second is not kept, so that a draw depends on nothing but the generator.
pub fn normal(rand: &mut Rand) -> f64 {
    loop {
        let (x, y) = (2.0 * unit(rand) - 1.0, 2.0 * unit(rand) - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

/// How long something takes: a time in milliseconds, multiplied by a Gaussian factor of mean 1. The thesis's
/// Table 5.1 gives times in this form.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// On average.
    pub ms: f64,
    /// Of the factor.
    pub variance: f64,
}

/// The least factor: with the variances of the thesis one draw in a thousand million is below it.
const LEAST_FACTOR: f64 = 0.05;

impl Spread {
    /// Always the same time.
    pub const fn fixed(ms: f64) -> Spread {
        Spread { ms, variance: 0.0 }
    }

    /// The same spread about another time.
    pub fn about(self, ms: f64) -> Spread {
        Spread { ms, ..self }
    }

    /// One time. What does not vary takes no random number.
    pub fn draw(&self, rand: &mut Rand) -> Nanos {
        if self.ms <= 0.0 {
            return Nanos::ZERO;
        }
        let factor = match self.variance > 0.0 {
            true => (1.0 + self.variance.sqrt() * normal(rand)).max(LEAST_FACTOR),
            false => 1.0,
        };
        Nanos::from_ms(self.ms * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn moments(mut draw: impl FnMut(&mut Rand) -> f64) -> (f64, f64) {
        let mut rand = Rand::seeded(5);
        let all: Vec<f64> = (0..DRAWS).map(|_| draw(&mut rand)).collect();
        let mean = all.iter().sum::<f64>() / DRAWS as f64;
        let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        (mean, variance)
    }

    #[test]
    fn draws_have_the_mean_and_variance_of_their_distribution() {
        for (name, (mean, variance), expected) in [
            ("unit", moments(unit), (0.5, 1.0 / 12.0)),
            ("exponential", moments(exponential), (1.0, 1.0)),
            ("normal", moments(normal), (0.0, 1.0)),
        ] {
            // About five standard deviations of the mean and, for the normal one, of the variance.
            assert!((mean - expected.0).abs() < 0.012, "{name}: mean {mean}");
            assert!(
                (variance - expected.1).abs() < 0.03,
                "{name}: variance {variance}"
            );
        }
    }

    #[test]
    fn a_spread_multiplies_its_time() {
        let payment = Spread {
            ms: 660.0,
            variance: 0.028,
        };
        let (mean, variance) = moments(|rand| payment.draw(rand).ms() / 660.0);
        assert!((mean - 1.0).abs() < 0.003, "{mean}");
        assert!((variance - 0.028).abs() < 0.001, "{variance}");
        let mut rand = Rand::seeded(1);
        let before = rand.clone().next_u64();
        assert_eq!(Spread::fixed(0.06).draw(&mut rand), Nanos(60_000));
        assert_eq!(Spread::fixed(0.0).draw(&mut rand), Nanos::ZERO);
        assert_eq!(rand.next_u64(), before, "fixed times draw nothing");
    }
}
