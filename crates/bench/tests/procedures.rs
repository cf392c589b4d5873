//! Every workload on a server: its procedures run, its checks hold before and after.
//!
//! Needs a server that is named by an environment variable, and a database on it in which these tests may
//! drop the workloads' tables:
//!
//!     QUINTET_TEST_SERVER=postgres://me@127.0.0.1:5432/scratch cargo test -p quintet-bench --test procedures
//!
//! Without it the tests say so and end.

#![allow(clippy::unwrap_used)] // a test: helpers fail it as its own lines do

use quintet_bench::{CallReport, CallRun, Postgres, RunConfig, Stage};
use quintet_embed::Level;
use quintet_rt::RealClock;
use quintet_workloads::hot_row::{self, HotRow};
use quintet_workloads::tpcc::{self, Scale};
use quintet_workloads::ycsb_sql::{self, YcsbSql};
use quintet_workloads::{Ecommerce, SmallBank, Tpcc, Workload};
use std::sync::{Arc, Mutex};

const VARIABLE: &str = "QUINTET_TEST_SERVER";

/// The workloads share tables of some names, and one server.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn ran(workload: &dyn Workload, level: Level, rate: Option<f64>) -> Option<CallReport> {
    let Ok(url) = std::env::var(VARIABLE) else {
        println!("not run: {VARIABLE} names no server");
        return None;
    };
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let run = CallRun {
        run: RunConfig {
            threads: 2,
            rate,
            warmup_seconds: 0.2,
            seconds: 1.0,
            ..RunConfig::default()
        },
        clients: 6,
        level,
        durability: None,
        target: "wire",
        seed: 7,
        load: true,
        check: true,
        as_is: false,
    };
    let system = Postgres::new(&url, level).unwrap();
    let mut stages = Vec::new();
    let report = run.execute(&system, workload, Arc::new(RealClock), &mut |stage| {
        stages.push(stage)
    });
    let report = report.unwrap_or_else(|error| panic!("{}: {error}", workload.name()));
    let report = report.expect("a second was to be measured");
    println!("{report}");
    assert!(report.committed_per_second > 0.0 && report.checked == Some(true));
    let checked = stages.iter().filter(|stage| **stage == Stage::Checking);
    assert_eq!(checked.count(), 2);
    Some(report)
}

fn small_tpcc(mix: tpcc::Mix) -> Tpcc {
    Tpcc::new(Scale::small(2), mix, 42)
}

#[test]
fn tpcc_holds_its_conditions_at_every_level() {
    for level in Level::ALL {
        let Some(report) = ran(&small_tpcc(tpcc::Mix::Full), level, None) else {
            return;
        };
        for kind in &report.kinds {
            assert!(kind.committed_per_second > 0.0, "no {}", kind.name);
        }
    }
    // Mostly deliveries: districts run out of orders, which must be no error.
    ran(&small_tpcc(tpcc::Mix::Quelea), Level::Serializable, None);
}

#[test]
fn tpcc_at_a_rate() {
    let rate = Some(50.0);
    let Some(report) = ran(
        &small_tpcc(tpcc::Mix::NewOrderPayment),
        Level::Snapshot,
        rate,
    ) else {
        return;
    };
    assert!(report.committed_per_second <= 52.0, "{report}");
    assert_eq!(report.offered_per_second, rate);
}

#[test]
fn smallbank_keeps_its_money() {
    for level in [Level::Snapshot, Level::Serializable] {
        ran(&SmallBank::new(1000, 0.5), level, None);
    }
}

#[test]
fn hot_rows_are_counted_at_every_level() {
    for level in Level::ALL {
        for mix in hot_row::Mix::ALL {
            ran(&HotRow::new(mix), level, None);
        }
    }
}

#[test]
fn a_shop_sells_what_it_has() {
    for level in Level::ALL {
        ran(&Ecommerce::new(300, 200, 0.5), level, None);
    }
}

#[test]
fn ycsb_counts_its_modifications() {
    for mix in ycsb_sql::Mix::ALL {
        let workload = YcsbSql::new(mix, 2000, 100, 0.9);
        ran(&workload, Level::Serializable, None);
        ran(&workload.raising(0.3), Level::Serializable, None);
    }
}
