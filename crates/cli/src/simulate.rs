//! `quintet sim`: scheduled calls on modelled workers and sites.
//!
//! Relies on: `quintet_sim_calls` for everything that is simulated, `quintet_bench::chart` for pictures.
//! Promises: the same options give the same text, and the same pictures.  Does not: measure this machine.

use crate::exit::{Code, Exit};
use crate::progress::RunProgress;
use crate::sim_arguments::{SimArguments, SimWorkload};
use quintet_bench::chart::{self, Chart, Division};
use quintet_rt::disk::replace_file;
use quintet_rt::{Disk, RealDisk};
use quintet_sim_calls::{
    Axis, Coarse, Division as Divided, Error, Exact, Figure, Graph, NUMBERS, Report, Settings,
    Source, TpccCalls, TpceCalls, TradeKeys, figure, headlines, run,
};
use std::io::Write;
use std::path::Path;

/// `quintet sim`.
///
/// # Errors
/// With code 2 for settings that cannot be simulated, 1 if a picture or the report cannot be written.
pub fn simulate(arguments: &SimArguments) -> Result<(), Exit> {
    if let Some(directory) = &arguments.figures {
        return all_figures(arguments, directory);
    }
    if let Some(number) = &arguments.figure {
        let figure = one_figure(arguments, number)?;
        if let Some(path) = &arguments.plot {
            draw(path, &figure.title, &figure.graphs)?;
        }
        return match arguments.json {
            true => print(&figure.to_json()),
            false => print(&figure),
        };
    }
    if arguments.headlines {
        let mut progress = RunProgress::new(String::new());
        let table = headlines(arguments.seed, &mut |runs| progress.count("run", runs));
        drop(progress);
        let table = table.map_err(usage)?;
        return match arguments.json {
            true => print(&table.to_json()),
            false => print(&table),
        };
    }
    one_run(arguments)
}

fn one_run(arguments: &SimArguments) -> Result<(), Exit> {
    let settings = arguments.settings();
    let mut progress = RunProgress::new(String::new());
    let calls = settings.calls;
    let report = run(&settings, source(arguments, &settings), &mut |answered| {
        progress.part("answered", answered, calls);
    });
    drop(progress);
    let report = report.map_err(usage)?;
    if let Some(path) = &arguments.plot {
        let title = format!(
            "{} under {}, {} calls/s",
            report.workload,
            settings.policy.name(),
            settings.rate
        );
        draw(path, &title, &graphs(&report))?;
    }
    match arguments.json {
        true => print(&report.to_json()),
        false => print(&report),
    }
}

fn source(arguments: &SimArguments, settings: &Settings) -> Box<dyn Source> {
    let source: Box<dyn Source> = match arguments.workload {
        SimWorkload::Tpcc => Box::new(TpccCalls::new(arguments.warehouses, settings.seed)),
        SimWorkload::Tpce => {
            let keys = match arguments.run_time_keys {
                true => TradeKeys::RunTime,
                false => TradeKeys::Parameters,
            };
            let share = arguments.trade_result_share;
            Box::new(TpceCalls::new(keys, share, settings.seed))
        }
    };
    match (arguments.exact_keys, arguments.coarse_rows) {
        (true, _) => Box::new(Exact(source)),
        (_, true) => Box::new(Coarse(source)),
        _ => source,
    }
}

/// What a run's picture shows.
fn graphs(report: &Report) -> Vec<Graph> {
    let curves = &report.curves;
    let over_time = |title: &str, y, lines: &[(&str, &Vec<(f64, f64)>)]| {
        let owned =
            |(name, points): &(&str, &Vec<(f64, f64)>)| ((*name).to_owned(), (*points).clone());
        Graph {
            title: title.to_owned(),
            x: Axis::linear("seconds"),
            y: Axis::linear(y),
            lines: lines.iter().map(owned).collect(),
        }
    };
    let ratios = report.penalty.distribution.iter();
    vec![
        over_time(
            "Throughput",
            "answers per second",
            &[("answers", &curves.throughput)],
        ),
        over_time("Busy workers", "workers", &[("busy", &curves.busy)]),
        over_time(
            "Waiting calls",
            "calls",
            &[
                ("for a worker", &curves.queue),
                ("for other calls", &curves.chained),
            ],
        ),
        Graph {
            title: "Penalty ratio".to_owned(),
            x: Axis::logarithmic("response time over duration"),
            y: Axis::linear("share of calls with no more"),
            lines: vec![(
                "penalty".to_owned(),
                ratios.map(|(share, ratio)| (*ratio, *share)).collect(),
            )],
        },
    ]
}

fn one_figure(arguments: &SimArguments, number: &str) -> Result<Figure, Exit> {
    let mut progress = RunProgress::new(format!("figure {number}: "));
    let figure = figure(number, arguments.seed, &mut |runs| {
        progress.count("run", runs);
    });
    drop(progress);
    figure.map_err(usage)?.ok_or_else(|| {
        Exit::new(
            Code::Usage,
            format!("the thesis has no figure {number} here"),
        )
        .hint("5.1 to 5.22")
    })
}

fn all_figures(arguments: &SimArguments, directory: &Path) -> Result<(), Exit> {
    let failed = |error| Exit::from_error(Code::Failed, "cannot make the directory", &error);
    RealDisk.create_dir_all(directory).map_err(failed)?;
    for number in NUMBERS {
        let figure = one_figure(arguments, number)?;
        let path = directory.join(format!("figure-{}.svg", number.replace('.', "-")));
        draw(&path, &figure.title, &figure.graphs)?;
        print(&figure)?;
    }
    Ok(())
}

/// Writes a picture.
fn draw(path: &Path, title: &str, graphs: &[Graph]) -> Result<(), Exit> {
    let division = |axis: Axis| match axis.division {
        Divided::Linear => Division::Linear,
        Divided::Logarithmic => Division::Logarithmic,
    };
    let named = |axis: Axis| (axis.label.to_owned(), division(axis));
    let chart = |graph: &Graph| Chart {
        title: graph.title.clone(),
        x: named(graph.x),
        y: named(graph.y),
        lines: graph.lines.clone(),
    };
    let charts: Vec<Chart> = graphs.iter().map(chart).collect();
    // A bare name is one of the current directory, which has a name of its own to be synced by.
    let path = Path::new(".").join(path);
    let picture = chart::svg(title, &charts);
    replace_file(&RealDisk, &path, picture.as_bytes()).map_err(|error| {
        let doing = format!("cannot write {}", path.display());
        Exit::from_error(Code::Failed, &doing, &error)
    })
}

fn usage(error: Error) -> Exit {
    Exit::from_error(Code::Usage, "impossible simulation", &error)
}

fn print(text: &dyn std::fmt::Display) -> Result<(), Exit> {
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| Exit::from_error(Code::Failed, "writing the report", &error))
}
