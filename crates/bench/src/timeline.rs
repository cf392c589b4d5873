//! A run cut into short intervals: what each did, whether a compaction ran in it, and what the machine's host took of it.
//!
//! Relies on: workers file each answer under the interval in which it came.  Promises: only whole
//! intervals; one counts as *inside* a compaction if one ran in any part of it, be it from memory into the
//! store or of the store's own files.
//! Does not: tell one compaction from another, or say why an interval is slow.
//!
//! ```text
//!   looks        . . . r r r r r r . . .        r: a compaction was running
//!   intervals    |outside|inside |inside |outside|
//! ```
//! A compaction shorter than the time between two looks is seen by its count.

use crate::target::Compaction;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Latencies above a minute are recorded as a minute.
pub(crate) const LATENCY_MAX_NS: u64 = 60_000_000_000;

/// Significant decimal digits of a latency in an interval: one per cent, for a tenth of the memory
/// of the histogram of the whole run.
const DIGITS: u8 = 2;

/// What one interval did. A worker has its own list of them.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub aborted: u64,
    /// Of what committed, in nanoseconds.
    pub latency: Histogram<u32>,
}

impl Slice {
    fn new() -> Slice {
        let latency = Histogram::new_with_bounds(1, LATENCY_MAX_NS, DIGITS)
            .expect("the bounds are constants that fit");
        Slice {
            aborted: 0,
            latency,
        }
    }

    pub fn add(&mut self, other: &Slice) {
        self.aborted += other.aborted;
        self.latency
            .add(&other.latency)
            .expect("all slices have the same bounds");
    }

    /// So many that a run of this length does not meet its end; made beforehand, so that nothing is
    /// allocated while measuring.
    pub fn list(seconds: f64, interval_ns: u64) -> Vec<Slice> {
        let count = (seconds * 1e9) as u64 / interval_ns + 2;
        (0..count).map(|_| Slice::new()).collect()
    }
}

/// What ran in some part of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mark {
    compacting: bool,
    rewriting: bool,
    stolen_ms: u64,
}

impl Mark {
    fn inside(self) -> bool {
        self.compacting || self.rewriting
    }
}

/// Which intervals had a compaction in them; kept by the thread that looks.
#[derive(Debug)]
pub(crate) struct Watch {
    interval_ns: u64,
    seen: Vec<Mark>,
    last: (u64, Seen),
    first: Seen,
}

/// What a look sees.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub compaction: Compaction,
    /// Milliseconds of all processors that the host has given to others so far.
    pub stolen_ms: u64,
}

impl Watch {
    /// Begins at the first interval.
    pub fn new(interval_ns: u64, now: Seen) -> Watch {
        Watch {
            interval_ns,
            seen: Vec::new(),
            last: (0, now),
            first: now,
        }
    }

    /// What was seen so many nanoseconds after the beginning.
    pub fn look(&mut self, at: u64, now: Seen) {
        let (before, last) = self.last;
        let (old, seen) = (last.compaction, now.compaction);
        let (from, to) = (before / self.interval_ns, at / self.interval_ns);
        if self.seen.len() as u64 <= to {
            self.seen.resize(to as usize + 1, Mark::default());
        }
        let ended = seen.finished != old.finished;
        for interval in from..=to {
            // In between it ran all the time, or some time that is not known.
            let (first, last) = (interval == from, interval == to);
            let ran = |old: bool, seen: bool| match (first, last) {
                (true, true) => old || seen,
                (true, false) => old,
                (false, true) => seen,
                (false, false) => old && seen,
            };
            let mark = &mut self.seen[interval as usize];
            mark.compacting |= ended || ran(old.running, seen.running);
            mark.rewriting |= ran(old.rewriting, seen.rewriting);
        }
        // Looks are much closer than intervals are long: it is known to one look in which it was.
        self.seen[to as usize].stolen_ms += now.stolen_ms.saturating_sub(last.stolen_ms);
        self.last = (at, now);
    }

    fn finished(&self) -> u64 {
        self.last.1.compaction.finished - self.first.compaction.finished
    }

    fn mark(&self, at: usize) -> Mark {
        self.seen.get(at).copied().unwrap_or_default()
    }

    /// Neither in this interval nor in the one before, what has gathered in which is worked off here.
    fn is_undisturbed(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map_or(0, |at| self.mark(at).stolen_ms);
        before + self.mark(at).stolen_ms == 0
    }
}

/// One interval of the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Seconds from the beginning of the measurement to the interval's.
    pub at: f64,
    /// Transactions committed, per second.
    pub committed_per_second: f64,
    /// Transactions that lost a conflict, per second.
    pub aborted_per_second: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// All but one in a hundred were faster.
    pub p99_us: f64,
    /// The slowest.
    pub max_us: f64,
    /// In some part of it, memory was moved into the store.
    pub compacting: bool,
    /// In some part of it, the store rewrote files of its own.
    pub rewriting: bool,
    /// Milliseconds of all processors that the machine's host gave to others.
    pub stolen_ms: u64,
}

/// All intervals of one kind together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// How many.
    pub intervals: usize,
    /// Transactions committed, per second.
    pub committed_per_second: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// All but one in a hundred were faster.
    pub p99_us: f64,
    /// The slowest.
    pub max_us: f64,
}

/// The run over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// Length of an interval.
    pub interval_seconds: f64,
    /// So often did memory end to be moved into the store during the measurement.
    pub compactions: u64,
    /// Intervals in which a compaction ran, of either kind; none if there were none.
    pub inside: Option<Share>,
    /// The others.
    pub outside: Option<Share>,
    /// Those in which, and before which, the machine's host took nothing of its processors, whether inside or outside; none if there
    /// were none.
    pub undisturbed: Option<Share>,
    /// By how much throughput inside is below that outside, as a share of it; below zero if it is not.
    pub loss: Option<f64>,
    /// p99 inside over p99 outside.
    pub p99_ratio: Option<f64>,
    /// One by one.
    pub intervals: Vec<Interval>,
}

fn microseconds(latency: &Histogram<u32>, quantile: f64) -> f64 {
    latency.value_at_quantile(quantile) as f64 / 1000.0
}

impl Timeline {
    /// `slices` of all workers, `whole` of which have passed.
    pub(crate) fn new(slices: &[Slice], watch: &Watch, whole: usize) -> Timeline {
        let seconds = watch.interval_ns as f64 / 1e9;
        let slices = &slices[..whole.min(slices.len())];
        let intervals = slices.iter().enumerate().map(|(at, slice)| Interval {
            at: at as f64 * seconds,
            committed_per_second: slice.latency.len() as f64 / seconds,
            aborted_per_second: slice.aborted as f64 / seconds,
            p50_us: microseconds(&slice.latency, 0.5),
            p99_us: microseconds(&slice.latency, 0.99),
            max_us: microseconds(&slice.latency, 1.0),
            compacting: watch.mark(at).compacting,
            rewriting: watch.mark(at).rewriting,
            stolen_ms: watch.mark(at).stolen_ms,
        });
        let intervals = intervals.collect();
        let share = |wanted: &dyn Fn(usize) -> bool| {
            let mut sum = Slice::new();
            let mut count = 0;
            for (_, slice) in slices.iter().enumerate().filter(|(at, _)| wanted(*at)) {
                sum.add(slice);
                count += 1;
            }
            (count > 0).then(|| Share {
                intervals: count,
                committed_per_second: sum.latency.len() as f64 / (count as f64 * seconds),
                p50_us: microseconds(&sum.latency, 0.5),
                p99_us: microseconds(&sum.latency, 0.99),
                max_us: microseconds(&sum.latency, 1.0),
            })
        };
        let inside = share(&|at| watch.mark(at).inside());
        let outside = share(&|at| !watch.mark(at).inside());
        let both = inside.as_ref().zip(outside.as_ref());
        Timeline {
            interval_seconds: seconds,
            compactions: watch.finished(),
            loss: both.map(|(i, o)| 1.0 - i.committed_per_second / o.committed_per_second),
            p99_ratio: both.map(|(i, o)| i.p99_us / o.p99_us),
            inside,
            outside,
            undisturbed: share(&|at| watch.is_undisturbed(at)),
            intervals,
        }
    }
}

impl std::fmt::Display for Timeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "  seconds   committed/s  aborted/s    p50 us    p99 us    max us  stolen ms  compaction"
        )?;
        for interval in &self.intervals {
            writeln!(
                f,
                "  {:>7.2} {:>13.0} {:>10.0} {:>9.1} {:>9.1} {:>9.1} {:>10}  {}",
                interval.at,
                interval.committed_per_second,
                interval.aborted_per_second,
                interval.p50_us,
                interval.p99_us,
                interval.max_us,
                interval.stolen_ms,
                match (interval.compacting, interval.rewriting) {
                    (true, true) => "memory, files",
                    (true, false) => "memory",
                    (false, true) => "files",
                    (false, false) => "",
                }
            )?;
        }
        write!(f, "  compactions {:>8}", self.compactions)?;
        let disturbed = self.intervals.iter().any(|interval| interval.stolen_ms > 0);
        let shares = [
            ("inside", self.inside.as_ref()),
            ("outside", self.outside.as_ref()),
            (
                "undisturbed",
                self.undisturbed.as_ref().filter(|_| disturbed),
            ),
        ];
        for (name, share) in shares {
            if let Some(share) = share {
                write!(
                    f,
                    "\n  {name:<11} {:>9.0} /s  p50 {:.1}  p99 {:.1}  max {:.1}  ({} intervals)",
                    share.committed_per_second,
                    share.p50_us,
                    share.p99_us,
                    share.max_us,
                    share.intervals
                )?;
            }
        }
        if let (Some(loss), Some(ratio)) = (self.loss, self.p99_ratio) {
            write!(
                f,
                "\n  inside against outside: throughput {:+.1} %, p99 {ratio:.2} times",
                -loss * 100.0
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: u64 = 100;

    fn watched(looks: &[(u64, bool, u64)]) -> Watch {
        let mut watch = Watch::new(INTERVAL, Seen::default());
        for (at, running, finished) in looks {
            let compaction = Compaction {
                running: *running,
                rewriting: false,
                finished: *finished,
            };
            watch.look(
                *at,
                Seen {
                    compaction,
                    stolen_ms: 0,
                },
            );
        }
        watch
    }

    #[test]
    fn an_interval_is_inside_if_any_part_of_it_is() {
        let watch = watched(&[
            (50, false, 0),
            (150, true, 0),
            (350, true, 0),
            (420, false, 1),
            (550, false, 1),
            // One that no look has met.
            (650, false, 2),
            (750, false, 2),
        ]);
        let expected = [false, true, true, true, true, true, true, false];
        let inside: Vec<bool> = watch.seen.iter().map(|mark| mark.inside()).collect();
        assert_eq!(inside, expected);
        assert_eq!(watch.finished(), 2);
    }

    #[test]
    fn the_stores_own_files_are_told_from_memory() {
        let mut watch = Watch::new(INTERVAL, Seen::default());
        for (at, rewriting) in [(50, false), (150, true), (250, false), (350, false)] {
            let compaction = Compaction {
                rewriting,
                ..Compaction::default()
            };
            watch.look(
                at,
                Seen {
                    compaction,
                    stolen_ms: 0,
                },
            );
        }
        assert!(watch.seen.iter().all(|mark| !mark.compacting));
        let rewriting: Vec<bool> = watch.seen.iter().map(|mark| mark.rewriting).collect();
        assert_eq!(rewriting, [false, true, false, false]);
    }

    // Outside 20 transactions of 10 us in two intervals, inside 8 of 40 us in one.
    #[test]
    fn the_summary_compares_inside_with_outside() {
        let watch = watched(&[
            (50, false, 0),
            (150, true, 0),
            (199, false, 1),
            (390, false, 1),
        ]);
        let mut slices = Slice::list(400e-9, INTERVAL);
        for (interval, count, latency) in [(0, 10, 10_000), (1, 8, 40_000), (2, 10, 10_000)] {
            for _ in 0..count {
                slices[interval].latency.record(latency).unwrap();
            }
        }
        // The fourth interval is not over: it must not count.
        slices[3].latency.record(1).unwrap();
        let timeline = Timeline::new(&slices, &watch, 3);
        assert_eq!(timeline.intervals.len(), 3);
        assert_eq!(timeline.compactions, 1);
        assert_eq!(timeline.inside.as_ref().unwrap().intervals, 1);
        assert_eq!(timeline.outside.as_ref().unwrap().intervals, 2);
        assert!((timeline.loss.unwrap() - 0.2).abs() < 1e-9, "{timeline:?}");
        assert!((timeline.p99_ratio.unwrap() - 4.0).abs() < 0.1);
        let text = timeline.to_string();
        assert!(text.contains("throughput -20.0 %"), "{text}");
    }

    /// Of five intervals the host takes something in the second, which the third has to work off.
    #[test]
    fn what_the_host_has_disturbed_is_told_apart() {
        let mut watch = Watch::new(INTERVAL, Seen::default());
        for (at, stolen_ms) in [
            (50, 0),
            (150, 20),
            (199, 30),
            (250, 30),
            (350, 30),
            (450, 30),
        ] {
            watch.look(
                at,
                Seen {
                    stolen_ms,
                    ..Seen::default()
                },
            );
        }
        let mut slices = Slice::list(500e-9, INTERVAL);
        for (interval, latency) in [10_000, 90_000, 90_000, 20_000, 20_000]
            .into_iter()
            .enumerate()
        {
            slices[interval].latency.record(latency).unwrap();
        }
        let timeline = Timeline::new(&slices, &watch, 5);
        let stolen: Vec<u64> = timeline.intervals.iter().map(|i| i.stolen_ms).collect();
        assert_eq!(stolen, [0, 30, 0, 0, 0]);
        let undisturbed = timeline.undisturbed.as_ref().unwrap();
        assert_eq!(undisturbed.intervals, 3);
        assert!(undisturbed.max_us < 21.0, "{undisturbed:?}");
        assert!(timeline.to_string().contains("undisturbed"), "{timeline}");
    }

    #[test]
    fn without_a_compaction_there_is_nothing_to_compare() {
        let timeline = Timeline::new(&Slice::list(1e-6, INTERVAL), &watched(&[]), 2);
        assert_eq!((timeline.inside, timeline.loss), (None, None));
        assert_eq!(timeline.outside.unwrap().intervals, 2);
    }
}
