//! The thesis's headline results beside ours: one table.
//!
//! Relies on: `figures` for the runs.  Promises: the thesis's column is quoted from its text, and empty where it
//! gives a curve only; ours is measured when the table is made.  Does not: explain; the page
//! `docs/schedule-simulation.md` does.

use crate::arrivals::Pattern;
use crate::figure::short;
use crate::figures::several::settings as several;
use crate::figures::single::{Variant, settings as bounded, unbounded_settings as unbounded};
use crate::figures::{Lab, Load, mean};
use crate::report::Report;
use crate::settings::{Begin, Error, Placement, Policy, Settings, Workers};
use crate::tpce::TradeKeys;
use serde::Serialize;
use std::fmt;

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headline {
    /// What was measured.
    pub what: String,
    /// What the thesis says.
    pub thesis: &'static str,
    /// What came out here.
    pub ours: String,
}

/// The table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Headlines {
    /// From top to bottom.
    pub rows: Vec<Headline>,
}

/// What the thesis compares, with chains on any worker beside its own; in the order in which the table names
/// them.
const COMPARED: [Variant; 4] = [
    (Policy::Chains, Placement::Chain),
    (Policy::Chains, Placement::Any),
    (Policy::Tashkent, Placement::Chain),
    (Policy::RoundRobin, Placement::Chain),
];

/// Measures everything again; `progress` is told how many runs are made.
///
/// # Errors
/// Never, as the settings are ours; the signature is that of a run.
pub fn headlines(seed: u64, progress: &mut dyn FnMut(u64)) -> Result<Headlines, Error> {
    let lab = &mut Lab::new(seed, progress);
    let mut table = Headlines::default();
    one_site(lab, &mut table)?;
    cost(lab, &mut table)?;
    certification(lab, &mut table)?;
    several_sites(lab, &mut table)?;
    trade_results(lab, &mut table)?;
    Ok(table)
}

impl Headlines {
    fn add(&mut self, what: impl Into<String>, thesis: &'static str, ours: impl Into<String>) {
        self.rows.push(Headline {
            what: what.into(),
            thesis,
            ours: ours.into(),
        });
    }

    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a table is plain data")
    }
}

/// `a / b / c`.
fn joined(reports: &[Report], of: impl Fn(&Report) -> f64) -> String {
    let figures: Vec<String> = reports.iter().map(|report| short(of(report))).collect();
    figures.join(" / ")
}

fn per_cent(share: f64) -> f64 {
    (1000.0 * share).round() / 10.0
}

fn one_site(lab: &mut Lab<'_>, table: &mut Headlines) -> Result<(), Error> {
    for rate in [10.0, 150.0, 200.0, 300.0] {
        let mut reports = Vec::new();
        for policy in COMPARED {
            reports.push(lab.run(Load::Tpcc, bounded(policy, rate))?);
        }
        let at = |what: &str| format!("{what} at {rate}/s");
        let alike = match rate {
            10.0 => "alike",
            _ => "chains well above the others",
        };
        let throughput = joined(&reports, |report| report.throughput_while_arriving);
        table.add(at("answers per second while calls come"), alike, throughput);
        let speed_up = joined(&reports, |report| report.speed_up);
        table.add(at("speed-up"), "much the same for all three", speed_up);
        let means = joined(&reports, |report| report.penalty.mean);
        table.add(
            at("penalty ratio, mean"),
            "chains about 20 % below the others",
            means,
        );
        let quantiles = joined(&reports, |report| report.penalty.median);
        table.add(at("penalty ratio, median"), "", quantiles);
        let quantiles = joined(&reports, |report| report.penalty.p95);
        table.add(at("penalty ratio, 95 %"), "", quantiles);
        let within = joined(&reports, |report| per_cent(report.penalty.within_four));
        table.add(
            at("% of calls with a penalty of 4 or less"),
            "51; the others about 10 (rate not said)",
            within,
        );
        let busy = joined(&reports, |report| report.busy_while_arriving);
        let told = match rate {
            150.0 => "chains below 100; the others 100",
            300.0 => "100",
            _ => "",
        };
        table.add(at("busy of 100 workers while calls come"), told, busy);
        let mut alike = Vec::new();
        for policy in COMPARED {
            let settings = Settings {
                spread: 0.0,
                ..bounded(policy, rate)
            };
            alike.push(lab.run(Load::Tpcc, settings)?);
        }
        let means = joined(&alike, |report| report.penalty.mean);
        table.add(
            at("penalty ratio, mean, durations that do not vary"),
            "",
            means,
        );
        let queue = joined(&reports, |report| report.queue_max as f64);
        let told = match rate {
            150.0 => "chains close to 0; the others grow",
            300.0 => "chains very small; the others grow",
            _ => "",
        };
        table.add(at("calls waiting for a worker, most"), told, queue);
    }
    Ok(())
}

fn cost(lab: &mut Lab<'_>, table: &mut Headlines) -> Result<(), Error> {
    let mut most = Vec::new();
    for policy in COMPARED {
        most.push(lab.run(Load::Tpcc, unbounded(policy, 175.0))?);
    }
    table.add(
        "workers wanted at 175/s without a bound, most",
        "below 100; Tashkent+ 1,500",
        joined(&most, |report| report.busy_max as f64),
    );
    let mut hundred = Vec::new();
    let mut alike = Vec::new();
    for policy in COMPARED {
        let settings = unbounded(policy, 100.0);
        hundred.push(lab.run(Load::Tpcc, settings.clone())?);
        let spread = 0.0;
        alike.push(lab.run(Load::Tpcc, Settings { spread, ..settings })?);
    }
    let ratio_of = |reports: &[Report], of: fn(&Report) -> f64| {
        let ratios = reports
            .iter()
            .map(|report| short(of(report) / of(&reports[0])));
        ratios.collect::<Vec<_>>().join(" / ")
    };
    let ratio = |of| ratio_of(&hundred, of);
    table.add(
        "cost at 100/s without a bound over that of chains: worker-seconds busy",
        "Tashkent+ 25",
        ratio(|report| report.busy_seconds),
    );
    table.add(
        "the same, durations that do not vary",
        "",
        ratio_of(&alike, |report| report.busy_seconds),
    );
    table.add(
        "the same, most workers at once",
        "",
        ratio(|report| report.busy_max as f64),
    );
    table.add(
        "the same, most workers at once, held until the end",
        "",
        ratio(|report| report.busy_max as f64 * report.seconds),
    );
    Ok(())
}

/// The same comparison under what the thesis may have assumed: that certificates wait for a consensus (Table 5.1), and that
/// calls are compared by one table under all policies.
fn certification(lab: &mut Lab<'_>, table: &mut Headlines) -> Result<(), Error> {
    const COMPARED: [Variant; 3] = [
        (Policy::Chains, Placement::Chain),
        (Policy::Tashkent, Placement::Chain),
        (Policy::RoundRobin, Placement::Chain),
    ];
    for (load, ms, how) in [
        (Load::TpccCoarse, 0.0, "by keys"),
        (Load::Tpcc, 180.0, "in 180 ms"),
        (Load::TpccCoarse, 180.0, "in 180 ms, by keys"),
    ] {
        let certified = |settings: Settings| Settings {
            delays: settings.delays.with_certify_ms(ms),
            ..settings
        };
        for rate in [150.0, 200.0, 300.0] {
            let mut reports = Vec::new();
            for policy in COMPARED {
                reports.push(lab.run(load, certified(bounded(policy, rate)))?);
            }
            let what = format!("certified {how}: speed-up; penalty ratio, mean at {rate}/s");
            let speed_ups = joined(&reports, |report| report.speed_up);
            let means = joined(&reports, |report| report.penalty.mean);
            let told = "much the same for all three; chains about 20 % below the others";
            table.add(what, told, format!("{speed_ups}; {means}"));
        }
        let mut reports = Vec::new();
        for policy in COMPARED {
            reports.push(lab.run(load, certified(unbounded(policy, 100.0)))?);
        }
        let chains = reports[0].busy_seconds;
        let what = format!("certified {how}: cost at 100/s without a bound over that of chains");
        let costs = joined(&reports, |report| report.busy_seconds / chains);
        table.add(what, "Tashkent+ 25", costs);
    }
    Ok(())
}

fn several_sites(lab: &mut Lab<'_>, table: &mut Headlines) -> Result<(), Error> {
    let one = lab.run(Load::Tpcc, Settings::default())?;
    let two = Settings {
        sites: 2,
        workers: Workers::Bounded(50),
        ..Settings::default()
    };
    let two = lab.run(Load::Tpcc, two)?;
    table.add(
        "TPC-C at 150/s, one site of 100 workers and two of 50, 60 ms apart: answers per second",
        "barely distinguishable",
        joined(&[one, two], |report| report.throughput_while_arriving),
    );
    let single = lab.runs(Load::Tpcc, &several(1, 1.0))?;
    table.add(
        "speed-up of 512 TPC-C calls, one site",
        "close to 16",
        short(mean(&single, |report| report.speed_up)),
    );
    for (latency, told) in [(100.0, "still high"), (300.0, "degrades seriously")] {
        let mut speed_ups = Vec::new();
        let mut shares = Vec::new();
        for sites in [2, 4, 8, 16] {
            let reports = lab.runs(Load::Tpcc, &several(sites, latency))?;
            speed_ups.push(short(mean(&reports, |report| report.speed_up)));
            shares.push(short(per_cent(cancelled_share(&reports))));
        }
        table.add(
            format!("the same, 2 / 4 / 8 / 16 sites {latency} ms apart"),
            told,
            speed_ups.join(" / "),
        );
        let told = match latency {
            100.0 => "more than 70",
            _ => "",
        };
        table.add(
            format!("% cancelled, of calls that lost their place, {latency} ms"),
            told,
            shares.join(" / "),
        );
    }
    Ok(())
}

/// Of all calls of some runs that lost their place.
fn cancelled_share(reports: &[Report]) -> f64 {
    let sum = |of: fn(&crate::Collisions) -> u64| {
        let collisions = reports.iter().filter_map(|report| report.collisions);
        collisions.map(|seen| of(&seen)).sum::<u64>() as f64
    };
    let all = sum(|seen| seen.cancelled + seen.killed_running + seen.killed_stalled);
    sum(|seen| seen.cancelled) / all.max(1.0)
}

fn trade_results(lab: &mut Lab<'_>, table: &mut Headlines) -> Result<(), Error> {
    let found = Load::Tpce {
        keys: TradeKeys::RunTime,
        results: None,
    };
    for (pattern, how) in [
        (Pattern::Poisson, "at 150/s"),
        (Pattern::AtOnce, "all at once"),
    ] {
        for (load, keys, told) in [
            (Load::TPCE, "keys from parameters", "at most 5.9"),
            (found, "keys at run time", ""),
        ] {
            let mut speed_ups = Vec::new();
            for (sites, latency) in [(1, 1.0), (2, 1.0), (4, 1.0), (2, 100.0), (4, 100.0)] {
                let settings = Settings {
                    pattern,
                    ..several(sites, latency)
                };
                let reports = lab.runs(load, &settings)?;
                speed_ups.push(short(mean(&reports, |report| report.speed_up)));
            }
            table.add(
                format!(
                    "speed-up of 512 TPC-E calls {how}, {keys}: 1 site; 2 / 4 sites at 1 ms; 2 / 4 at 100 ms"
                ),
                told,
                format!(
                    "{}; {}; {}",
                    speed_ups[0],
                    speed_ups[1..3].join(" / "),
                    speed_ups[3..].join(" / ")
                ),
            );
        }
    }
    let half = Load::Tpce {
        keys: TradeKeys::Parameters,
        results: Some(0.5),
    };
    for (load, name, told) in [
        (Load::Tpcc, "TPC-C", "more than 70"),
        (Load::TPCE, "TPC-E", "mostly killed"),
        (half, "TPC-E, half Trade Results", "comparable to TPC-C"),
    ] {
        let mut shares = Vec::new();
        for begin in [Begin::Committed, Begin::Executed] {
            let settings = Settings {
                begin,
                ..several(4, 100.0)
            };
            let reports = lab.runs(load, &settings)?;
            shares.push(short(per_cent(cancelled_share(&reports))));
        }
        table.add(
            format!(
                "% cancelled, {name}, 4 sites, 100 ms: calls begin when those before are committed / executed"
            ),
            told,
            shares.join(" / "),
        );
    }
    Ok(())
}

impl fmt::Display for Headlines {
    /// As a table of Markdown: four figures are chains / chains on any worker / Tashkent+ / round-robin.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | thesis | ours |")?;
        writeln!(f, "|---|---|---|")?;
        for row in &self.rows {
            writeln!(f, "| {} | {} | {} |", row.what, row.thesis, row.ours)?;
        }
        Ok(())
    }
}
