//! `quintet bench ycsb`: key-value transactions on a directory, with a report; `quintet bench scheduler`: the
//! cost of ordering calls; `quintet bench machine`: what the machine adds.
//!
//! Relies on: `quintet_bench`, `scratch`.  Promises: a directory given by name keeps its records.
//! Does not: compare with other systems; `bench/` has scripts for that.

use crate::arguments::{MachineArguments, SchedulerArguments, YcsbArguments};
use crate::compare::draw;
use crate::database::{close, open};
use crate::exit::{Code, Exit};
use crate::heap;
use crate::progress::{self, RunProgress};
use crate::scratch::Scratch;
use quintet_analysis::Rule;
use quintet_bench::plot::Line;
use quintet_bench::{Error, RunConfig, SchedulingRun, YcsbRun, machine};
use quintet_embed::{DatabaseConfig, Posting};
use quintet_rt::RealClock;
use quintet_workloads::YcsbConfig;
use std::io::Write;
use std::sync::Arc;

/// `quintet bench ycsb`.
///
/// # Errors
/// With code 2 for an impossible workload, 1 if the run failed.
pub fn ycsb(arguments: &YcsbArguments) -> Result<(), Exit> {
    let run = run_of(arguments)?;
    let scratch = Scratch::new(arguments.data.as_deref())?;
    let data = scratch.path().to_path_buf();
    if arguments.populate_memory {
        progress::say(&format!(
            "asking the system for {} of memory",
            arguments.memory
        ));
        heap::populate(arguments.memory)?;
    }
    let config = DatabaseConfig {
        memory_bytes: arguments.memory.0 as usize,
        durability: arguments.durability,
        posting: match arguments.post_piece {
            Some(piece) => Posting::Continuous {
                piece_bytes: piece.0 as usize,
            },
            None => Posting::Frozen,
        },
        ..DatabaseConfig::new(data)
    };
    let (database, _) = open(config)?;
    let mut progress = RunProgress::new(String::new());
    let mut tell = |stage| progress.tell(stage);
    let report = run.execute(&database, Arc::new(RealClock), &mut tell);
    drop(progress);
    let mut report =
        report.map_err(|error| Exit::from_error(Code::Failed, "the benchmark failed", &error))?;
    close(&database)?;
    if let Some(path) = &arguments.plot {
        let line = Line {
            name: format!("{} threads, {}", report.threads, report.durability),
            runs: vec![report.curves()],
        };
        let title = format!("ycsb, {} records, {}", report.records, report.level);
        draw(path, &title, &[line])?;
        if !arguments.timeline {
            report.timeline = None;
        }
    }
    print(match arguments.json {
        true => report.to_json(),
        false => report.to_string(),
    })
}

/// `quintet bench machine`.
///
/// # Errors
/// With code 1 if the report cannot be written.
pub fn machine(arguments: &MachineArguments) -> Result<(), Exit> {
    let report = machine::watch(arguments.seconds, arguments.load, &RealClock);
    print(match arguments.json {
        true => report.to_json(),
        false => report.to_string(),
    })
}

fn print(text: String) -> Result<(), Exit> {
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| Exit::from_error(Code::Failed, "writing the report", &error))
}

/// `quintet bench scheduler`.
///
/// # Errors
/// With code 1 if the report cannot be written.
pub fn scheduler(arguments: &SchedulerArguments) -> Result<(), Exit> {
    assert_eq!(arguments.workload, "tpcc", "no other is let through");
    let run = SchedulingRun {
        pending: arguments.pending as usize,
        calls: arguments.calls as usize,
        warehouses: arguments.warehouses,
        workers: arguments.workers,
        seed: arguments.seed,
        rule: Rule {
            level: arguments.level,
            granularity: arguments.granularity,
        },
    };
    let wrong = |error| Exit::from_error(Code::Failed, "reading the procedures", &error);
    let report = run.execute(&RealClock).map_err(wrong)?;
    let text = if arguments.json {
        report.to_json()
    } else {
        report.to_string()
    };
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| Exit::from_error(Code::Failed, "writing the report", &error))
}

fn run_of(arguments: &YcsbArguments) -> Result<YcsbRun, Exit> {
    let usage = |error| Exit::from_error(Code::Usage, "impossible workload", &Error::Config(error));
    let mut workload = YcsbConfig {
        records: arguments.records,
        value_bytes: arguments.value_bytes,
        ops: arguments.ops,
        read_share: arguments.read_share,
        modify_share: arguments.modify_share,
        theta: arguments.theta,
    };
    if let Some(mix) = &arguments.mix {
        workload = workload.with_mix(mix).map_err(usage)?;
    }
    workload.check().map_err(usage)?;
    Ok(YcsbRun {
        workload,
        run: RunConfig {
            threads: arguments.threads,
            outstanding: arguments.outstanding,
            rate: arguments.rate,
            timeline_seconds: (arguments.timeline || arguments.plot.is_some())
                .then(|| f64::from(arguments.interval_ms) / 1000.0),
            warmup_seconds: arguments.warmup,
            seconds: arguments.seconds,
        },
        level: arguments.level,
        durability: arguments.durability,
        together: arguments.together,
        seed: arguments.seed,
    })
}
