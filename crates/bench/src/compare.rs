//! Several targets measured in turn, and what one is against the other.
//!
//! Relies on: `call_report`.  Promises: ratios are taken round by round, between runs that followed each other,
//! so that what slows the machine for an hour slows both sides of a ratio; the median comes with the least and
//! the greatest.  Does not: run anything, or call a difference significant.
//!
//! ```text
//!   round 1   A B C          in turn, and backwards every second round, so that nobody always comes
//!   round 2   C B A          after the same neighbour
//! ```

use crate::call_report::CallReport;
use serde::Serialize;
use std::fmt;

/// The middle of some figures, and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Half are below.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// Of at least one figure.
    ///
    /// # Panics
    /// Of none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
            panic!("the spread of nothing")
        };
        let half = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            1 => sorted[half],
            _ => (sorted[half - 1] + sorted[half]) / 2.0,
        };
        Spread {
            median,
            min: *min,
            max: *max,
        }
    }
}

/// One target's runs, and what they are against the first target's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// As it was named, without a password.
    pub name: String,
    /// Transactions committed, per second.
    pub committed_per_second: Spread,
    /// All but one in a hundred were faster, in microseconds.
    pub p99_us: Spread,
    /// Throughput over the first target's in the same round.
    pub throughput_ratio: Spread,
    /// p99 over the first target's in the same round.
    pub p99_ratio: Spread,
    /// Round by round.
    pub rounds: Vec<CallReport>,
}

/// Targets that took turns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// In the order in which they were named.
    pub targets: Vec<Compared>,
}

/// The order of so many targets in a round, counted from 0.
pub fn order(round: u32, targets: usize) -> Vec<usize> {
    match round % 2 {
        0 => (0..targets).collect(),
        _ => (0..targets).rev().collect(),
    }
}

impl Comparison {
    /// Of targets with their reports, round by round.
    ///
    /// # Panics
    /// If there is no target, no round, or a round less of one than of another.
    pub fn new(targets: Vec<(String, Vec<CallReport>)>) -> Comparison {
        let first = targets.first().expect("a comparison of nothing").1.clone();
        let compared = targets.into_iter().map(|(name, rounds)| {
            assert_eq!(rounds.len(), first.len(), "rounds of {name}");
            let against = |figure: fn(&CallReport) -> f64| {
                let pairs = rounds.iter().zip(&first);
                Spread::of(pairs.map(|(own, first)| figure(own) / figure(first)))
            };
            Compared {
                committed_per_second: Spread::of(rounds.iter().map(|r| r.committed_per_second)),
                p99_us: Spread::of(rounds.iter().map(|r| r.p99_us)),
                throughput_ratio: against(|report| report.committed_per_second),
                p99_ratio: against(|report| report.p99_us),
                name,
                rounds,
            }
        });
        Comparison {
            targets: compared.collect(),
        }
    }

    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and fixed names always serialise")
    }
}

/// What a target is called in the table's second part.
fn letter(at: usize) -> char {
    (b'A' + (at % 26) as u8) as char
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = &self.targets[0].rounds[0];
        let CallReport {
            workload,
            mix,
            size,
            clients,
            threads,
            seconds,
            level,
            ..
        } = first;
        let rounds = self.targets[0].rounds.len();
        writeln!(f, "{workload} {mix}, {rounds} rounds in turn")?;
        writeln!(
            f,
            "  {size}; {clients} clients on {threads} threads, {seconds:.1} s each, {level}"
        )?;
        for (at, target) in self.targets.iter().enumerate() {
            let run = &target.rounds[0];
            let durability = run.durability.unwrap_or("durability unknown");
            let (letter, name, system) = (letter(at), &target.name, &run.system);
            writeln!(f, "  {letter}: {name} ({system}, {durability})")?;
        }
        writeln!(
            f,
            "  {:<8} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}",
            "", "committed/s", "least", "greatest", "p99 us", "least", "greatest"
        )?;
        for (at, target) in self.targets.iter().enumerate() {
            let (rate, p99) = (&target.committed_per_second, &target.p99_us);
            writeln!(
                f,
                "  {:<8} {:>12.0} {:>12.0} {:>12.0} {:>12.0} {:>12.0} {:>12.0}",
                letter(at),
                rate.median,
                rate.min,
                rate.max,
                p99.median,
                p99.min,
                p99.max
            )?;
        }
        for (at, target) in self.targets.iter().enumerate().skip(1) {
            let (rate, p99) = (&target.throughput_ratio, &target.p99_ratio);
            let name = format!("{} / A", letter(at));
            write!(
                f,
                "  {name:<8} {:>12.2} {:>12.2} {:>12.2} {:>12.2} {:>12.2} {:>12.2}",
                rate.median, rate.min, rate.max, p99.median, p99.min, p99.max
            )?;
            if at + 1 < self.targets.len() {
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_report::tests::report;

    fn with(committed_per_second: f64, p99_us: f64) -> CallReport {
        CallReport {
            committed_per_second,
            p99_us,
            ..report(None)
        }
    }

    #[test]
    fn spreads_are_of_all_figures() {
        let spread = Spread::of([3.0, 1.0, 9.0]);
        assert_eq!((spread.median, spread.min, spread.max), (3.0, 1.0, 9.0));
        assert_eq!(Spread::of([4.0, 2.0]).median, 3.0);
    }

    // The second target is twice as fast in each round, while both slow down by ten: the ratio must not show it.
    #[test]
    fn ratios_are_taken_round_by_round() {
        let comparison = Comparison::new(vec![
            ("a".into(), vec![with(1000.0, 10.0), with(100.0, 80.0)]),
            ("b".into(), vec![with(2000.0, 5.0), with(200.0, 20.0)]),
        ]);
        let b = &comparison.targets[1];
        let ratio = b.throughput_ratio;
        assert_eq!((ratio.median, ratio.min, ratio.max), (2.0, 2.0, 2.0));
        assert_eq!((b.p99_ratio.min, b.p99_ratio.max), (0.25, 0.5));
        assert_eq!(b.committed_per_second.median, 1100.0);
        let text = comparison.to_string();
        for part in [
            "A: a (",
            "B: b (",
            "B / A",
            "2.00",
            "0.25",
            "2 rounds in turn",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        let json: serde_json::Value = serde_json::from_str(&comparison.to_json()).unwrap();
        assert_eq!(json["targets"][1]["throughput_ratio"]["median"], 2.0);
        assert_eq!(json["targets"][0]["rounds"][1]["p99_us"], 80.0);
    }

    #[test]
    fn every_second_round_goes_backwards() {
        assert_eq!(order(0, 3), [0, 1, 2]);
        assert_eq!(order(1, 3), [2, 1, 0]);
    }
}
