//! One site: throughput, penalty ratios, workers and what they cost, by policy and rate (5.1 to 5.10).
//!
//! Relies on: `figures`.  Promises: 28 seconds of calls, 100 workers where they are bounded.
//! Does not: average: one run is long enough for its curve to be seen.

use super::{Lab, Load, SECONDS};
use crate::figure::{Axis, Figure, Graph};
use crate::report::{Points, Report};
use crate::settings::{Error, Placement, Policy, Settings, Workers};

/// Calls per second of the figures that vary it.
const RATES: [f64; 8] = [10.0, 25.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0];

/// Of which rates the show wants the distribution of penalty ratios.
const SHOWN: [f64; 4] = [10.0, 150.0, 200.0, 300.0];

const TIME: Axis = Axis::linear("seconds");
const RATE: Axis = Axis::linear("calls per second");

/// A policy, and where it runs calls.
pub(crate) type Variant = (Policy, Placement);

/// In the thesis's order, and under its names for two of them.
const COMPARED: [(Variant, &str); 5] = [
    ((Policy::Chains, Placement::Chain), "chains (Gargamel)"),
    ((Policy::Chains, Placement::Any), "chains, any worker"),
    ((Policy::Tashkent, Placement::Chain), "Tashkent+"),
    ((Policy::RoundRobin, Placement::Chain), "round-robin"),
    (
        (Policy::Centralised, Placement::Chain),
        "centralised writes",
    ),
];

/// A figure of a report, drawn against the rate.
pub(super) struct Measure {
    title: &'static str,
    y: Axis,
    of: fn(&Report) -> f64,
}

pub(super) const MAX_THROUGHPUT: Measure = Measure {
    title: "Maximal throughput (TPC-C)",
    y: Axis::linear("answers in the best second"),
    of: |report| report.throughput_max,
};

pub(super) const PENALTY: Measure = Measure {
    title: "Penalty ratio (TPC-C)",
    y: Axis::logarithmic("mean of response time over duration"),
    of: |report| report.penalty.mean,
};

pub(super) const SPEED_UP: Measure = Measure {
    title: "Speed-up (TPC-C)",
    y: Axis::linear("durations one after another over time of the run"),
    of: |report| report.speed_up,
};

/// Calls of the thesis's phase in which they come.
pub(crate) fn settings((policy, placement): Variant, rate: f64) -> Settings {
    Settings {
        policy,
        placement,
        rate,
        calls: (rate * SECONDS).round() as u64,
        ..Settings::default()
    }
}

fn lines(
    lab: &mut Lab<'_>,
    policies: &[(Variant, &str)],
    settings: impl Fn(Variant) -> Settings,
    points: impl Fn(&Report) -> Points,
) -> Result<Vec<(String, Points)>, Error> {
    let line = |(policy, name): &(Variant, &str)| {
        let report = lab.run(Load::Tpcc, settings(*policy))?;
        Ok(((*name).to_owned(), points(&report)))
    };
    policies.iter().map(line).collect()
}

pub(super) fn throughput_over_time(
    lab: &mut Lab<'_>,
    number: &'static str,
    rate: f64,
) -> Result<Figure, Error> {
    let throughput = |report: &Report| report.curves.throughput.clone();
    let lines = lines(lab, &COMPARED, |policy| settings(policy, rate), throughput)?;
    Ok(Figure {
        number,
        title: format!("Throughput (TPC-C, {rate} calls/s for {SECONDS} s)"),
        graphs: vec![Graph {
            title: "Throughput".into(),
            x: TIME,
            y: Axis::linear("answers per second"),
            lines,
        }],
    })
}

pub(super) fn by_rate(
    lab: &mut Lab<'_>,
    number: &'static str,
    measure: Measure,
) -> Result<Figure, Error> {
    let mut lines = Vec::new();
    for (policy, name) in COMPARED {
        let mut points = Vec::new();
        for rate in RATES {
            let report = lab.run(Load::Tpcc, settings(policy, rate))?;
            points.push((rate, (measure.of)(&report)));
        }
        lines.push((name.to_owned(), points));
    }
    let title = measure.title.to_owned();
    Ok(Figure {
        number,
        title: title.clone(),
        graphs: vec![Graph {
            title,
            x: RATE,
            y: measure.y,
            lines,
        }],
    })
}

pub(super) fn penalty_distribution(lab: &mut Lab<'_>) -> Result<Figure, Error> {
    let mut graphs = Vec::new();
    for rate in SHOWN {
        let distribution = |report: &Report| {
            let points = report.penalty.distribution.iter();
            points.map(|(share, ratio)| (*ratio, *share)).collect()
        };
        let settings = |policy| settings(policy, rate);
        graphs.push(Graph {
            title: format!("{rate} calls/s"),
            x: Axis::logarithmic("response time over duration"),
            y: Axis::linear("share of calls with no more"),
            lines: lines(lab, &COMPARED, settings, distribution)?,
        });
    }
    Ok(Figure {
        number: "5.5",
        title: "Cumulative distribution of the penalty ratio (TPC-C)".into(),
        graphs,
    })
}

pub(super) fn utilisation(
    lab: &mut Lab<'_>,
    number: &'static str,
    rate: f64,
) -> Result<Figure, Error> {
    let mut queue = Vec::new();
    let mut busy = Vec::new();
    let mut chained = Vec::new();
    for (policy, name) in COMPARED {
        let curves = lab.run(Load::Tpcc, settings(policy, rate))?.curves;
        queue.push((name.to_owned(), curves.queue));
        busy.push((name.to_owned(), curves.busy));
        chained.push((name.to_owned(), curves.chained));
    }
    let graph = |title: &str, y, lines| Graph {
        title: title.to_owned(),
        x: TIME,
        y: Axis::linear(y),
        lines,
    };
    Ok(Figure {
        number,
        title: format!("Resource utilisation (TPC-C, {rate} calls/s, 100 workers)"),
        graphs: vec![
            graph("Calls that wait for a worker", "calls", queue),
            graph("Busy workers", "workers", busy),
            graph(
                "Calls that wait for calls they conflict with",
                "calls",
                chained,
            ),
        ],
    })
}

/// The same with as many workers as are wanted.
pub(crate) fn unbounded_settings(policy: Variant, rate: f64) -> Settings {
    Settings {
        workers: Workers::Unbounded,
        ..settings(policy, rate)
    }
}

pub(super) fn unbounded(lab: &mut Lab<'_>) -> Result<Figure, Error> {
    const AT: f64 = 175.0;
    let busy = |report: &Report| report.curves.busy.clone();
    let settings = |policy| unbounded_settings(policy, AT);
    Ok(Figure {
        number: "5.9",
        title: format!("Resource utilisation, workers without bound (TPC-C, {AT} calls/s)"),
        graphs: vec![Graph {
            title: "Busy workers".into(),
            x: TIME,
            y: Axis::linear("workers"),
            lines: lines(lab, &COMPARED, settings, busy)?,
        }],
    })
}

pub(super) fn cost(lab: &mut Lab<'_>) -> Result<Figure, Error> {
    let mut graphs = Vec::new();
    for (title, settings) in [
        ("100 workers", settings as fn(Variant, f64) -> Settings),
        ("Workers without bound", unbounded_settings),
    ] {
        let mut lines = Vec::new();
        for (policy, name) in &COMPARED[..4] {
            let mut points = Vec::new();
            for rate in RATES {
                let report = lab.run(Load::Tpcc, settings(*policy, rate))?;
                points.push((rate, report.euros));
            }
            lines.push(((*name).to_owned(), points));
        }
        graphs.push(Graph {
            title: title.to_owned(),
            x: RATE,
            y: Axis::logarithmic("euros for the run"),
            lines,
        });
    }
    Ok(Figure {
        number: "5.10",
        title: "Cost (TPC-C): workers paid while they are busy, 0.1 euro an hour".into(),
        graphs,
    })
}
