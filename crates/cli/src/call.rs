//! `quintet bench` of workloads whose transactions are procedures: on a server, or in this process.
//!
//! Relies on: `quintet_bench`, `quintet_workloads`.  Promises: progress on standard error, the report
//! alone on standard output.  Does not: start a server.

use crate::arguments::{
    CallArguments, EcommerceArguments, HotRowArguments, SmallBankArguments, Target, TpccArguments,
    YcsbSqlArguments,
};
use crate::database::{close, open};
use crate::exit::{Code, Exit};
use crate::measure::directory;
use quintet_bench::{CallReport, CallRun, Embedded, Error, Postgres, RunConfig, Stage};
use quintet_embed::DatabaseConfig;
use quintet_rt::RealClock;
use quintet_workloads::tpcc::Scale;
use quintet_workloads::{Ecommerce, HotRow, SmallBank, Tpcc, Workload, YcsbSql};
use std::io::Write;
use std::sync::Arc;

/// `quintet bench tpcc`.
///
/// # Errors
/// With code 1 if the run or a check failed.
pub fn tpcc(arguments: &TpccArguments) -> Result<(), Exit> {
    let scale = match arguments.small {
        true => Scale::small(arguments.warehouses),
        false => Scale::full(arguments.warehouses),
    };
    let workload = Tpcc::new(scale, arguments.mix, arguments.calls.seed);
    measure(&workload, &arguments.calls)
}

/// `quintet bench smallbank`.
///
/// # Errors
/// As [`tpcc`].
pub fn smallbank(arguments: &SmallBankArguments) -> Result<(), Exit> {
    let workload = SmallBank::new(arguments.customers, arguments.theta);
    measure(&workload, &arguments.calls)
}

/// `quintet bench hotrow`.
///
/// # Errors
/// As [`tpcc`].
pub fn hotrow(arguments: &HotRowArguments) -> Result<(), Exit> {
    let workload = HotRow {
        mix: arguments.mix,
        hot_rows: arguments.hot_rows,
        cold_rows: arguments.cold_rows,
        cold_touched: arguments.cold_touched,
    };
    measure(&workload, &arguments.calls)
}

/// `quintet bench ecommerce`.
///
/// # Errors
/// As [`tpcc`].
pub fn ecommerce(arguments: &EcommerceArguments) -> Result<(), Exit> {
    let workload = Ecommerce::new(arguments.users, arguments.items, arguments.theta);
    measure(&workload, &arguments.calls)
}

/// `quintet bench ycsb-sql`.
///
/// # Errors
/// As [`tpcc`].
pub fn ycsb_sql(arguments: &YcsbSqlArguments) -> Result<(), Exit> {
    let workload = YcsbSql::new(
        arguments.mix,
        arguments.records,
        arguments.value_bytes,
        arguments.theta,
    );
    measure(&workload, &arguments.calls)
}

fn measure(workload: &dyn Workload, arguments: &CallArguments) -> Result<(), Exit> {
    let clock = Arc::new(RealClock);
    let mut run = CallRun {
        run: RunConfig {
            threads: arguments.threads,
            outstanding: 1,
            rate: arguments.rate,
            timeline_seconds: arguments
                .timeline
                .then(|| f64::from(arguments.interval_ms) / 1000.0),
            warmup_seconds: arguments.warmup,
            seconds: arguments.seconds,
        },
        clients: arguments.clients,
        level: arguments.level,
        durability: None,
        target: "wire",
        seed: arguments.seed,
        load: arguments.load,
        check: arguments.check,
    };
    let report = match &arguments.target {
        Target::Url(url) => {
            let system = Postgres::new(url, arguments.level).map_err(failed)?;
            run.execute(&system, workload, clock, &mut tell)
        }
        Target::Embedded => {
            let (_temporary, data) = directory(arguments.data.as_deref())?;
            let config = DatabaseConfig {
                memory_bytes: arguments.memory.0 as usize,
                durability: arguments.durability,
                ..DatabaseConfig::new(data)
            };
            let (database, _) = open(config)?;
            run.target = "embedded";
            run.durability = Some(arguments.durability.name());
            run.load |= arguments.data.is_none();
            let system =
                Embedded::new(database.clone(), arguments.level).group_reads(arguments.group_reads);
            let report = run.execute(&system, workload, clock, &mut tell);
            close(&database)?;
            report
        }
    };
    match report.map_err(failed)? {
        Some(report) => print(&report, arguments),
        None => Ok(()),
    }
}

fn print(report: &CallReport, arguments: &CallArguments) -> Result<(), Exit> {
    let text = match arguments.json {
        true => report.to_json(),
        false => report.to_string(),
    };
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| Exit::from_error(Code::Failed, "writing the report", &error))
}

fn failed(error: Error) -> Exit {
    Exit::from_error(Code::Failed, "the benchmark failed", &error)
}

/// With standard error gone there is nobody left to tell.
fn tell(stage: Stage) {
    let mut errors = std::io::stderr().lock();
    let _ = match stage {
        // Twenty lines at most.
        Stage::Loading { pieces, of } if pieces * 20 / of == (pieces - 1) * 20 / of => Ok(()),
        Stage::Loading { pieces, of } => writeln!(errors, "loaded {} %", pieces * 100 / of),
        Stage::Checking => writeln!(errors, "checking"),
        Stage::Running => writeln!(errors, "running"),
    };
}
