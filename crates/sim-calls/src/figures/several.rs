//! Several sites: what distance and number of sites do, and how many workers are enough (5.11 to 5.22).
//!
//! Relies on: `figures`.  Promises: 512 calls, workers without bound unless they vary; points are means of
//! five seeds.  Does not: give a single run's luck as a result.

use super::{CALLS, Lab, Load, mean};
use crate::arrivals::Pattern;
use crate::collisions::Collisions;
use crate::figure::{Axis, Figure, Graph};
use crate::report::{Points, Report};
use crate::settings::{Delays, Error, Settings, Workers};
use crate::tpce::TradeKeys;

/// Milliseconds between sites: the thesis names 1, 60, 100, and five times a transatlantic message.
const LATENCIES: [f64; 6] = [1.0, 10.0, 60.0, 100.0, 200.0, 300.0];

const LATENCY: Axis = Axis::linear("ms between sites");
const SITES: Axis = Axis::linear("sites");
const WORKERS: Axis = Axis::linear("workers at each site");

/// Short runs of several sites.
pub(crate) fn settings(sites: u32, latency_ms: f64) -> Settings {
    Settings {
        calls: CALLS,
        sites,
        workers: Workers::Unbounded,
        delays: Delays::TABLE.with_latency_ms(latency_ms),
        interval_ms: 250.0,
        ..Settings::default()
    }
}

fn collisions(report: &Report) -> Collisions {
    report.collisions.unwrap_or_default()
}

pub(super) fn one_or_two(lab: &mut Lab<'_>, number: &'static str) -> Result<Figure, Error> {
    let one = Settings::default();
    let two = Settings {
        sites: 2,
        workers: Workers::Bounded(50),
        ..Settings::default()
    };
    let throughput = number == "5.11";
    let mut lines = Vec::new();
    for (name, settings) in [
        ("1 site, 100 workers", one),
        ("2 sites, 50 workers each", two),
    ] {
        let curves = lab.run(Load::Tpcc, settings)?.curves;
        let points = match throughput {
            true => curves.throughput,
            false => curves.busy,
        };
        lines.push((name.to_owned(), points));
    }
    let (title, y) = match throughput {
        true => ("Throughput", "answers per second"),
        false => ("Busy workers", "workers"),
    };
    Ok(Figure {
        number,
        title: format!("{title} of one site and of two, 60 ms apart (TPC-C, 150 calls/s)"),
        graphs: vec![Graph {
            title: title.to_owned(),
            x: Axis::linear("seconds"),
            y: Axis::linear(y),
            lines,
        }],
    })
}

/// A figure against latency, a line for each number of sites.
fn by_latency(
    lab: &mut Lab<'_>,
    load: Load,
    pattern: Pattern,
    of: fn(&Report) -> f64,
) -> Result<Vec<(String, Points)>, Error> {
    let mut lines = Vec::new();
    for sites in [1, 2, 4, 8, 16] {
        let mut points = Vec::new();
        for latency in LATENCIES {
            let settings = Settings {
                pattern,
                ..settings(sites, latency)
            };
            let reports = lab.runs(load, &settings)?;
            points.push((latency, mean(&reports, of)));
        }
        let plural = if sites == 1 { "" } else { "s" };
        lines.push((format!("{sites} site{plural}"), points));
    }
    Ok(lines)
}

fn speed_up(report: &Report) -> f64 {
    report.speed_up
}

pub(super) fn speed_up_tpcc(lab: &mut Lab<'_>) -> Result<Figure, Error> {
    Ok(Figure {
        number: "5.13",
        title: "Impact of collisions on the speed-up (TPC-C, 512 calls at 150/s)".into(),
        graphs: vec![Graph {
            title: "Speed-up".into(),
            x: LATENCY,
            y: Axis::linear("speed-up"),
            lines: by_latency(lab, Load::Tpcc, Pattern::Poisson, speed_up)?,
        }],
    })
}

pub(super) fn speed_up_tpce(lab: &mut Lab<'_>) -> Result<Figure, Error> {
    let found = Load::Tpce {
        keys: TradeKeys::RunTime,
        results: None,
    };
    let mut graphs = Vec::new();
    for (title, load, pattern) in [
        (
            "150 calls/s, keys from parameters",
            Load::TPCE,
            Pattern::Poisson,
        ),
        ("150 calls/s, keys at run time", found, Pattern::Poisson),
        (
            "All at once, keys from parameters",
            Load::TPCE,
            Pattern::AtOnce,
        ),
        ("All at once, keys at run time", found, Pattern::AtOnce),
    ] {
        graphs.push(Graph {
            title: title.to_owned(),
            x: LATENCY,
            y: Axis::linear("speed-up"),
            lines: by_latency(lab, load, pattern, speed_up)?,
        });
    }
    Ok(Figure {
        number: "5.16",
        title: "Impact of collisions on the speed-up (TPC-E, 512 calls)".into(),
        graphs,
    })
}

pub(super) fn wasted_time(lab: &mut Lab<'_>) -> Result<Figure, Error> {
    let wasted = |report: &Report| {
        let collisions = collisions(report);
        collisions.killed_seconds + collisions.stalled_seconds
    };
    Ok(Figure {
        number: "5.15",
        title: "Time of killed runs and of stalls (TPC-C, 512 calls at 150/s)".into(),
        graphs: vec![Graph {
            title: "Killed and stalled".into(),
            x: LATENCY,
            y: Axis::linear("seconds"),
            lines: by_latency(lab, Load::Tpcc, Pattern::Poisson, wasted)?,
        }],
    })
}

/// One of the counts.
type Count = fn(&Collisions) -> u64;

/// Figures of collisions against the number of sites, 100 ms apart.
fn by_sites(
    lab: &mut Lab<'_>,
    load: Load,
    measures: &[(&str, Count)],
) -> Result<Vec<(String, Points)>, Error> {
    let named = |(name, _): &(&str, Count)| ((*name).to_owned(), Points::new());
    let mut lines: Vec<(String, Points)> = measures.iter().map(named).collect();
    for sites in [2, 4, 6, 8, 12, 16] {
        let reports = lab.runs(load, &settings(sites, 100.0))?;
        for ((_, points), (_, of)) in lines.iter_mut().zip(measures) {
            let count = mean(&reports, |report| of(&collisions(report)) as f64);
            points.push((f64::from(sites), count));
        }
    }
    Ok(lines)
}

pub(super) fn outcomes(lab: &mut Lab<'_>) -> Result<Figure, Error> {
    let lines = by_sites(
        lab,
        Load::Tpcc,
        &[
            ("cancelled before they ran", |seen| seen.cancelled),
            ("killed while they ran", |seen| seen.killed_running),
            ("killed while they waited to commit", |seen| {
                seen.killed_stalled
            }),
        ],
    )?;
    Ok(Figure {
        number: "5.14",
        title: "Cancelled before, during and after execution (TPC-C, 100 ms)".into(),
        graphs: vec![Graph {
            title: "Calls that lost their place, of 512".into(),
            x: SITES,
            y: Axis::linear("calls"),
            lines,
        }],
    })
}

pub(super) fn lost_places(
    lab: &mut Lab<'_>,
    number: &'static str,
    name: &str,
    load: Load,
) -> Result<Figure, Error> {
    let lines = by_sites(
        lab,
        load,
        &[
            ("cancelled", |seen| seen.cancelled),
            ("killed", |seen| seen.killed_running + seen.killed_stalled),
        ],
    )?;
    Ok(Figure {
        number,
        title: format!("Cancelled and killed ({name}, 100 ms)"),
        graphs: vec![Graph {
            title: "Calls that lost their place, of 512".into(),
            x: SITES,
            y: Axis::linear("calls"),
            lines,
        }],
    })
}

/// Speed-up, or waiting for workers, of TPC-E against the number of workers, 1 ms apart.
pub(super) fn by_workers(lab: &mut Lab<'_>, number: &'static str) -> Result<Figure, Error> {
    let (title, y, of): (_, _, fn(&Report) -> f64) = match number {
        "5.20" => ("Speed-up", "speed-up", speed_up),
        "5.21" => ("Calls that wait for a worker, of 512", "calls", |report| {
            report.waited_for_worker as f64
        }),
        _ => ("Time that calls wait for a worker", "seconds", |report| {
            report.waited_for_worker_seconds
        }),
    };
    let mut lines = Vec::new();
    for sites in 1..=4 {
        let mut points = Vec::new();
        for workers in (1..=16).chain([20, 24, 32]) {
            let settings = Settings {
                workers: Workers::Bounded(workers),
                ..settings(sites, 1.0)
            };
            let reports = lab.runs(Load::TPCE, &settings)?;
            points.push((f64::from(workers), mean(&reports, of)));
        }
        let plural = if sites == 1 { "" } else { "s" };
        lines.push((format!("{sites} site{plural}"), points));
    }
    Ok(Figure {
        number,
        title: format!("{title} by sites and workers (TPC-E, 512 calls at 150/s, 1 ms)"),
        graphs: vec![Graph {
            title: title.to_owned(),
            x: WORKERS,
            y: Axis::linear(y),
            lines,
        }],
    })
}
