//! Workloads with their calls in line: none of them loses a conflict, and the checks hold.

#![allow(clippy::unwrap_used)] // a test: helpers fail it as its own lines do

use quintet_bench::{CallRun, Embedded, RunConfig};
use quintet_embed::{Database, DatabaseConfig, Durability, Engine, Level};
use quintet_rt::RealClock;
use quintet_workloads::hot_row::{self, HotRow};
use quintet_workloads::tpcc::{Mix, Scale};
use quintet_workloads::{SmallBank, Tpcc, Workload};
use std::sync::Arc;

/// What came of a run.
#[derive(Debug)]
struct Came {
    retries: u64,
    calls: u64,
    waited: u64,
    unclassed: u64,
    committed: f64,
    lost: f64,
}

fn run(workload: &dyn Workload, engine: Engine, level: Level, clients: u32) -> Came {
    let directory = tempfile::tempdir().unwrap();
    let config = DatabaseConfig {
        durability: Durability::Async,
        engine,
        ..DatabaseConfig::new(directory.path())
    };
    let (database, _) = Database::open(config).unwrap();
    let run = CallRun {
        run: RunConfig {
            threads: 2,
            warmup_seconds: 0.1,
            seconds: 1.0,
            ..RunConfig::default()
        },
        clients,
        level,
        durability: Some("async"),
        target: "embedded",
        seed: 7,
        load: true,
        check: true,
        as_is: false,
    };
    let system = Embedded::new(database.clone(), level);
    let report = run.execute(&system, workload, Arc::new(RealClock), &mut |_| {});
    let report = report.unwrap_or_else(|error| panic!("{level}, {clients} clients: {error}"));
    let report = report.expect("a second was to be measured");
    let stats = database.stats();
    Came {
        retries: stats.retries,
        calls: stats.chains.calls,
        waited: stats.chains.waited,
        unclassed: stats.chains.unclassed,
        committed: report.committed_per_second,
        lost: report.aborted_per_second,
    }
}

fn loses_nothing(workload: &dyn Workload, level: Level, clients: u32) -> Came {
    let came = run(workload, Engine::Chain, level, clients);
    println!("{} {level} {clients}: {came:?}", workload.name());
    assert_eq!((came.retries, came.lost), (0, 0.0), "{came:?}");
    assert!(came.committed > 0.0 && came.calls > 0, "{came:?}");
    assert!(came.waited > 0, "they hardly met: {came:?}");
    came
}

#[test]
fn tpcc_loses_nothing() {
    for level in [Level::Serializable, Level::Snapshot] {
        for clients in [8, 32] {
            let workload = Tpcc::new(Scale::small(1), Mix::Full, 42);
            loses_nothing(&workload, level, clients);
        }
    }
}

#[test]
fn smallbank_and_a_hot_row_lose_nothing() {
    for level in [Level::Serializable, Level::Snapshot] {
        for clients in [8, 32] {
            loses_nothing(&SmallBank::new(50, 0.5), level, clients);
            let came = loses_nothing(&HotRow::new(hot_row::Mix::First), level, clients);
            assert_eq!(came.unclassed, 0, "every call has a class");
        }
    }
}

/// The control: the same runs do lose where nobody is in line.
#[test]
fn the_same_runs_lose_without_a_line() {
    let came = run(
        &Tpcc::new(Scale::small(1), Mix::Full, 42),
        Engine::Direct,
        Level::Serializable,
        8,
    );
    assert!(came.retries > 0 && came.calls == 0, "{came:?}");
}
