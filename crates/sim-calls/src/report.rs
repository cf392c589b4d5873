//! What a simulation came to, in figures.
//!
//! Relies on: `tally`.  Promises: everything that the figures of the thesis are drawn from; the definitions
//! stand at the fields.  Does not: round: that is for who prints.

use crate::collisions::Collisions;
use crate::settings::{Settings, Workers};
use crate::tally::Tally;
use serde::Serialize;
use std::fmt;

/// Euros for a worker and hour, as the thesis has it (5.2.3).
const EUROS_PER_HOUR: f64 = 0.1;

/// Of all penalty ratios, so many are given as a distribution.
const QUANTILES: usize = 200;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Of the calls.
    pub workload: &'static str,
    /// What was simulated.
    pub settings: Settings,
    /// Calls that came and were answered: all of them.
    pub calls: u64,
    /// When the last one came.
    pub arrivals_seconds: f64,
    /// When the last one was answered.
    pub seconds: f64,
    /// Answers per second until the last call came.
    pub throughput_while_arriving: f64,
    /// Answers per second, in the best interval.
    pub throughput_max: f64,
    /// All calls' own durations one after another, over the time that the run took.
    pub speed_up: f64,
    /// Response time over the call's own duration.
    pub penalty: Penalty,
    /// Runs that ended without effect.
    pub lost_runs: u64,
    /// And the time they took on workers.
    pub lost_seconds: f64,
    /// Time on workers, of all runs.
    pub busy_seconds: f64,
    /// What that costs at 0.1 euro an hour, paid while a worker is busy.
    pub euros: f64,
    /// Most workers that were busy at once.
    pub busy_max: u64,
    /// Workers busy on average until the last call came.
    pub busy_while_arriving: f64,
    /// Most calls that waited for a worker and for nothing else.
    pub queue_max: u64,
    /// Most calls that waited for calls they may conflict with.
    pub chained_max: u64,
    /// Calls that waited for a worker, and how long they did together.
    pub waited_for_worker: u64,
    /// How long these did, together.
    pub waited_for_worker_seconds: f64,
    /// How long calls waited for others.
    pub waited_for_others_seconds: f64,
    /// Several sites only.
    pub collisions: Option<Collisions>,
    /// By kind of call.
    pub kinds: Vec<KindReport>,
    /// Over time.
    pub curves: Curves,
}

/// Penalty ratios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Penalty {
    /// On average.
    pub mean: f64,
    /// Half of the calls had no more.
    pub median: f64,
    /// All but one in twenty.
    pub p95: f64,
    /// The greatest.
    pub max: f64,
    /// Share of the calls with 4 or less, which the thesis quotes.
    pub within_four: f64,
    /// Shares of the calls, and the ratio that so many did not exceed.
    pub distribution: Vec<(f64, f64)>,
}

/// Calls of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindReport {
    /// Its name.
    pub name: &'static str,
    /// How many.
    pub calls: u64,
    /// Their penalty ratio on average.
    pub penalty_mean: f64,
}

/// Points of seconds and a figure then.
pub type Points = Vec<(f64, f64)>;

/// What changes over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curves {
    /// Answers per second.
    pub throughput: Points,
    /// Busy workers.
    pub busy: Points,
    /// Calls that wait for a worker.
    pub queue: Points,
    /// Calls that wait for others.
    pub chained: Points,
}

impl Report {
    pub(crate) fn new(
        settings: &Settings,
        workload: &'static str,
        kinds: &[&'static str],
        tally: &Tally,
        collisions: Option<Collisions>,
    ) -> Report {
        let seconds = tally.end.seconds();
        let arrivals_seconds = tally.arrivals_end.seconds();
        let curves = Curves {
            throughput: tally.throughput(),
            busy: tally.busy.means(),
            queue: tally.for_worker.means(),
            chained: tally.for_others.means(),
        };
        let busy_seconds = tally.busy.total_seconds();
        let highest = |points: &Points| points.iter().map(|point| point.1).fold(0.0, f64::max);
        Report {
            workload,
            settings: settings.clone(),
            calls: tally.answered,
            arrivals_seconds,
            seconds,
            throughput_while_arriving: while_arriving(&curves.throughput, arrivals_seconds),
            throughput_max: highest(&curves.throughput),
            speed_up: tally.sequential.seconds() / seconds,
            penalty: Penalty::new(&tally.penalties),
            lost_runs: tally.lost_runs,
            lost_seconds: tally.lost.seconds(),
            busy_seconds,
            euros: busy_seconds / 3600.0 * EUROS_PER_HOUR,
            busy_max: tally.busy.greatest(),
            busy_while_arriving: while_arriving(&curves.busy, arrivals_seconds),
            queue_max: tally.for_worker.greatest(),
            chained_max: tally.for_others.greatest(),
            waited_for_worker: tally.calls_that_waited_for_worker,
            waited_for_worker_seconds: tally.waited_for_worker.seconds(),
            waited_for_others_seconds: tally.waited_for_others.seconds(),
            collisions,
            kinds: kind_reports(kinds, tally),
            curves,
        }
    }

    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a report is plain data")
    }
}

/// Mean of the intervals that had ended when the last call came, or of the first.
fn while_arriving(points: &Points, until: f64) -> f64 {
    let complete = points.iter().filter(|point| point.0 <= until).count();
    let complete = complete.max(1).min(points.len());
    let sum: f64 = points[..complete].iter().map(|point| point.1).sum();
    sum / complete.max(1) as f64
}

fn kind_reports(names: &[&'static str], tally: &Tally) -> Vec<KindReport> {
    let mut sums = vec![0.0; names.len()];
    for (kind, penalty) in &tally.penalties {
        sums[usize::from(*kind)] += f64::from(*penalty);
    }
    let kinds = names.iter().zip(&tally.answered_of).zip(sums);
    kinds
        .map(|((name, calls), sum)| KindReport {
            name,
            calls: *calls,
            penalty_mean: sum / (*calls).max(1) as f64,
        })
        .collect()
}

impl Penalty {
    fn new(penalties: &[(u16, f32)]) -> Penalty {
        let mut all: Vec<f32> = penalties.iter().map(|(_, penalty)| *penalty).collect();
        all.sort_by(f32::total_cmp);
        let within = |limit: f32| all.partition_point(|penalty| *penalty <= limit);
        let count = all.len().max(1) as f64;
        let at = |share: f64| -> f64 {
            // The least that so many do not exceed.
            let place = (share * count).ceil().max(1.0) as usize - 1;
            all.get(place.min(all.len().saturating_sub(1)))
                .map_or(0.0, |penalty| f64::from(*penalty))
        };
        let shares = (1..=QUANTILES).map(|part| part as f64 / QUANTILES as f64);
        Penalty {
            mean: all.iter().map(|penalty| f64::from(*penalty)).sum::<f64>() / count,
            median: at(0.5),
            p95: at(0.95),
            max: at(1.0),
            within_four: within(4.0) as f64 / count,
            distribution: shares.map(|share| (share, at(share))).collect(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.settings;
        let workers = match settings.workers {
            Workers::Bounded(workers) => format!("{workers} workers"),
            Workers::Unbounded => "any number of workers".into(),
        };
        let sites = match settings.sites {
            1 => String::new(),
            sites => format!(
                " at each of {sites} sites, {} ms apart",
                settings.delays.inter_site.ms
            ),
        };
        writeln!(
            f,
            "{} under {}, {} calls at {}/s, {workers}{sites}, seed {}",
            self.workload,
            settings.policy.name(),
            self.calls,
            settings.rate,
            settings.seed
        )?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, text: String| {
            writeln!(f, "  {name:<22}{text}")
        };
        row(
            f,
            "time",
            format!(
                "{:.2} s, the last call came at {:.2} s",
                self.seconds, self.arrivals_seconds
            ),
        )?;
        row(
            f,
            "throughput",
            format!(
                "{:.1}/s while calls came, {:.1}/s at most",
                self.throughput_while_arriving, self.throughput_max
            ),
        )?;
        row(f, "speed-up", format!("{:.2}", self.speed_up))?;
        let penalty = &self.penalty;
        row(
            f,
            "penalty ratio",
            format!(
                "mean {:.2}, median {:.2}, p95 {:.2}, max {:.2}; {:.1} % within 4",
                penalty.mean,
                penalty.median,
                penalty.p95,
                penalty.max,
                100.0 * penalty.within_four
            ),
        )?;
        row(
            f,
            "workers",
            format!(
                "{:.1} busy while calls came, {} at most; {:.0} s in all, {:.3} euros",
                self.busy_while_arriving, self.busy_max, self.busy_seconds, self.euros
            ),
        )?;
        row(
            f,
            "lost runs",
            format!("{}, {:.1} s", self.lost_runs, self.lost_seconds),
        )?;
        row(
            f,
            "waiting",
            format!(
                "{} for a worker at most, {} for other calls",
                self.queue_max, self.chained_max
            ),
        )?;
        if let Some(collisions) = &self.collisions {
            let share = collisions.cancelled_share();
            let share = share.map_or(String::new(), |share| {
                format!(" ({:.1} % cancelled)", 100.0 * share)
            });
            row(
                f,
                "collisions",
                format!(
                    "{}: {} cancelled, {} killed running, {} killed stalled{share}",
                    collisions.collisions,
                    collisions.cancelled,
                    collisions.killed_running,
                    collisions.killed_stalled
                ),
            )?;
            row(
                f,
                "",
                format!(
                    "{:.2} s killed, {:.2} s stalled, {} bets, {} ran elsewhere",
                    collisions.killed_seconds,
                    collisions.stalled_seconds,
                    collisions.bets,
                    collisions.ran_elsewhere
                ),
            )?;
        }
        for kind in &self.kinds {
            let text = format!("{}, penalty {:.2}", kind.calls, kind.penalty_mean);
            row(f, kind.name, text)?;
        }
        Ok(())
    }
}
