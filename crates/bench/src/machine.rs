//! What the machine itself adds to latency: how long its processors stand still, and what that makes of a load.
//!
//! Relies on: a clock that costs little, and nothing else running.  Promises: gaps of [`GAP_MIN`] and more are all seen; the
//! least latency follows from them alone, so a program that is measured beside shows at least that much.  Does not: say
//! who took the time (host, system or another program), or see a processor that is slow because of its neighbours'
//! use of memory.
//!
//! ```text
//!   reads of the clock   | | | | | |            | | | | | | |     one thread on each processor
//!                                    `-- gap --'
//!   calls that wait      ___________/████████████▇▆▅▄▃▂▁____     at a load r, what a gap of d leaves behind takes
//!                                                                 d r / (1 - r) to be worked off
//! ```

use quintet_rt::{Clock, threads};
use serde::Serialize;
use std::fmt;
use std::thread;
use std::time::Duration;

/// Shorter times between two reads of the clock are not looked at.
pub const GAP_MIN: Duration = Duration::from_micros(300);

/// Gaps that are kept of one processor at most; more would be a machine that does not run at all.
const GAPS_MAX: usize = 1 << 20;

/// Times in which the speed is taken.
const WINDOW: Duration = Duration::from_millis(50);

/// Distance of the calls of the load whose latency is computed.
const STEP: Duration = Duration::from_micros(100);

/// A time for which a processor stood still, in nanoseconds from the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    at: u64,
    length: u64,
}

/// What was seen, and what follows for a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineReport {
    /// Length of the measurement.
    pub seconds: f64,
    /// Share of its processors' time that a program wants.
    pub load: f64,
    /// One by one.
    pub processors: Vec<Processor>,
}

/// One processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Processor {
    /// Times that it stood still for [`GAP_MIN`] or more.
    pub gaps: u64,
    /// Share of the time that they took.
    pub gap_share: f64,
    /// The longest, in microseconds.
    pub longest_us: f64,
    /// Of times of 50 ms, how much the slowest tenth did at most, as a share of the median.
    pub slow_tenth: f64,
    /// At the load, and if nothing else made calls wait, all but one in a hundred would wait less.
    pub least_p99_us: f64,
    /// All but one in a thousand.
    pub least_p999_us: f64,
}

/// Watches all processors for so many seconds, which it takes whole.
pub fn watch(seconds: f64, load: f64, clock: &dyn Clock) -> MachineReport {
    let length = (Duration::from_secs_f64(seconds).as_nanos() as u64).max(1);
    let processors = thread::scope(|scope| {
        let spin = || {
            let (gaps, counts) = spin(length, clock);
            processor(&gaps, &counts, length, load)
        };
        let all: Vec<_> = (0..threads::processors())
            .map(|_| scope.spawn(spin))
            .collect();
        let joined = all.into_iter().map(|thread| thread.join());
        joined
            .collect::<thread::Result<_>>()
            .expect("it only reads the clock")
    });
    MachineReport {
        seconds,
        load,
        processors,
    }
}

/// Reads the clock until the time is over: the gaps, and how often it was read in each window.
fn spin(length: u64, clock: &dyn Clock) -> (Vec<Gap>, Vec<u64>) {
    let windows = length.div_ceil(WINDOW.as_nanos() as u64);
    let (mut gaps, mut counts) = (Vec::with_capacity(4096), vec![0; windows as usize]);
    let began = clock.monotonic_nanos();
    let mut last = 0;
    while last < length {
        let at = clock.monotonic_nanos() - began;
        if at - last >= GAP_MIN.as_nanos() as u64 && gaps.len() < GAPS_MAX {
            gaps.push(Gap {
                at: last,
                length: at - last,
            });
        }
        if let Some(count) = counts.get_mut((at / WINDOW.as_nanos() as u64) as usize) {
            *count += 1;
        }
        last = at;
    }
    (gaps, counts)
}

fn processor(gaps: &[Gap], counts: &[u64], length: u64, load: f64) -> Processor {
    let mut counts = counts.to_vec();
    counts.sort_unstable();
    let of = |share: f64| counts.get((counts.len() as f64 * share) as usize);
    let slow_tenth = match (of(0.1), of(0.5)) {
        (Some(slow), Some(median)) if *median > 0 => *slow as f64 / *median as f64,
        _ => 1.0,
    };
    let mut waits = waits(gaps, length, load);
    waits.sort_unstable();
    let quantile = |share: f64| {
        let at = (waits.len() as f64 * share) as usize;
        waits.get(at).map_or(0.0, |wait| *wait as f64 / 1e3)
    };
    let taken: u64 = gaps.iter().map(|gap| gap.length).sum();
    Processor {
        gaps: gaps.len() as u64,
        gap_share: taken as f64 / length as f64,
        longest_us: gaps.iter().map(|gap| gap.length).max().unwrap_or(0) as f64 / 1e3,
        slow_tenth,
        least_p99_us: quantile(0.99),
        least_p999_us: quantile(0.999),
    }
}

/// How long calls wait, one due every [`STEP`], that together want so much of a processor and are served in their order.
fn waits(gaps: &[Gap], length: u64, load: f64) -> Vec<u64> {
    let step = STEP.as_nanos() as u64;
    let mut gaps = gaps.iter().peekable();
    let mut backlog = 0.0;
    let mut waits = Vec::with_capacity((length / step) as usize);
    let mut at = 0;
    while at < length {
        while gaps.next_if(|gap| gap.at + gap.length <= at).is_some() {}
        // What is left of a gap comes on top of those who are before it.
        let stands = match gaps.peek() {
            Some(gap) if gap.at <= at => gap.at + gap.length - at,
            _ => 0,
        };
        waits.push(stands + backlog as u64);
        let served = step - stands.min(step);
        backlog = f64::max(0.0, backlog + load * step as f64 - served as f64);
        at += step;
    }
    waits
}

impl MachineReport {
    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers always serialise")
    }
}

impl fmt::Display for MachineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, percent) = (self.seconds, self.load * 100.0);
        writeln!(
            f,
            "{seconds:.1} s, nothing but reading the clock; least latency of calls that want {percent:.0} % of a processor"
        )?;
        write!(
            f,
            "  processor   gaps   of the time   longest us   slowest tenth   least p99 us   p99.9 us"
        )?;
        for (number, processor) in self.processors.iter().enumerate() {
            let Processor {
                gaps,
                gap_share,
                longest_us,
                slow_tenth,
                least_p99_us,
                least_p999_us,
            } = processor;
            let share = gap_share * 100.0;
            write!(
                f,
                "\n  {number:>9} {gaps:>6} {share:>11.2} % {longest_us:>12.0} {slow_tenth:>15.2} {least_p99_us:>14.0} {least_p999_us:>10.0}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_rt::RealClock;

    const MS: u64 = 1_000_000;

    /// At half a load a gap of 10 ms lets its calls wait 10 to 5 ms, and is worked off in another 10.
    #[test]
    fn what_a_gap_leaves_behind_is_worked_off_by_what_the_load_leaves() {
        let gap = Gap {
            at: 100 * MS,
            length: 10 * MS,
        };
        let waits = waits(&[gap], 1000 * MS, 0.5);
        assert_eq!(waits.len(), 10_000);
        let at = |milliseconds: usize| waits[milliseconds * 10];
        assert_eq!((at(99), at(100), at(125)), (0, 10 * MS, 0));
        let near = |wait: u64, ms: f64| (wait as f64 - ms * 1e6).abs() < 0.2e6;
        assert!(near(at(109), 5.5), "{}", at(109));
        assert!(near(at(115), 2.5), "{}", at(115));
        let processor = processor(&[gap], &[5; 20], 1000 * MS, 0.5);
        assert!((processor.least_p99_us - 5000.0).abs() < 200.0);
        assert!((processor.gap_share - 0.01).abs() < 1e-9);
        assert_eq!((processor.gaps, processor.slow_tenth), (1, 1.0));
    }

    #[test]
    fn at_four_fifths_a_gap_is_felt_five_times_as_long() {
        let gap = Gap {
            at: 0,
            length: 4 * MS,
        };
        let late = |load| {
            let waits = waits(&[gap], 100 * MS, load);
            waits.iter().filter(|wait| **wait > 0).count() as u64 * STEP.as_nanos() as u64
        };
        assert!(late(0.8).abs_diff(20 * MS) <= MS / 2, "{}", late(0.8));
        assert!(late(0.0).abs_diff(4 * MS) <= MS / 2, "{}", late(0.0));
    }

    #[test]
    fn every_processor_is_watched_for_as_long_as_asked() {
        let before = RealClock.monotonic_nanos();
        let report = watch(0.2, 0.8, &RealClock);
        assert!(RealClock.monotonic_nanos() - before >= 200 * MS);
        assert_eq!(report.processors.len(), threads::processors());
        assert!(report.processors.iter().all(|p| p.gap_share < 1.0));
        assert!(
            report.to_string().contains("80 % of a processor"),
            "{report}"
        );
    }
}
