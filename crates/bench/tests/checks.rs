//! Loading and checking every workload on a database of our own: schema, rows and check queries are
//! taken, hold as loaded, and find what is planted.

#![allow(clippy::unwrap_used)] // a test: helpers fail it as its own lines do

use quintet_bench::loading::{Moment, check, load};
use quintet_bench::plot::{Line, svg};
use quintet_bench::{
    CallReport, CallRun, Comparison, Connection, Embedded, Error, Failure, Reply, RunConfig, Stage,
    System, TextRows, order,
};
use quintet_embed::{Database, DatabaseConfig, Durability, Level};
use quintet_rt::RealClock;
use quintet_workloads::hot_row::{self, HotRow};
use quintet_workloads::tpcc::{Mix, Scale};
use quintet_workloads::ycsb_sql::{self, YcsbSql};
use quintet_workloads::{
    Answers, AppendConfig, AppendSql, Argument, Call, Calls, Check, Ecommerce, Ending, Expected,
    ParameterType, Piece, Procedure, SmallBank, Table, Tpcc, Workload,
};
use std::collections::BTreeSet;
use std::sync::Arc;

fn small_workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(Tpcc::new(Scale::small(2), Mix::Full, 42)),
        Box::new(SmallBank::new(200, 0.5)),
        Box::new(HotRow::new(hot_row::Mix::First)),
        Box::new(Ecommerce::new(100, 150, 0.5)),
        Box::new(YcsbSql::new(ycsb_sql::Mix::QStore, 500, 100, 0.9)),
    ]
}

fn on_a_new_database(test: impl AsyncFnOnce(&mut quintet_bench::EmbeddedConnection)) {
    let directory = tempfile::tempdir().unwrap();
    let config = DatabaseConfig {
        durability: Durability::None,
        ..DatabaseConfig::new(directory.path())
    };
    let (database, _) = Database::open(config).unwrap();
    let system = Embedded::new(database, Level::Serializable);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(async {
        let mut connection = system.connect().await.unwrap();
        test(&mut connection).await;
    });
}

#[test]
fn checks_hold_on_what_was_loaded() {
    on_a_new_database(async |connection| {
        for workload in small_workloads() {
            let mut loaded = Vec::new();
            load(connection, &*workload, &mut |pieces| loaded.push(pieces))
                .await
                .unwrap_or_else(|error| panic!("{}: {error}", workload.name()));
            assert_eq!(loaded.len(), workload.pieces() as usize);
            check(connection, &*workload, Moment::Loaded)
                .await
                .unwrap_or_else(|error| panic!("{}: {error}", workload.name()));
        }
    });
}

// Each of TPC-C's conditions is broken by hand, inside a transaction that is then undone; exactly those
// checks that the change touches must see it.
#[test]
fn tpcc_checks_find_what_is_planted() {
    let workload = Tpcc::new(Scale::small(1), Mix::Full, 42);
    let plants: &[(&str, &[&str])] = &[
        ("UPDATE warehouse SET w_ytd = w_ytd + 1", &["1", "8"]),
        (
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
            &["2", "2"],
        ),
        (
            "DELETE FROM new_order WHERE no_d_id = 4 AND no_o_id = 25",
            &["3", "5", "11", "11"],
        ),
        (
            "DELETE FROM order_line WHERE ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
            &["4", "6"],
        ),
        (
            "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 1",
            &["5", "7", "11"],
        ),
        (
            "UPDATE order_line SET ol_delivery_d = localtimestamp WHERE ol_d_id = 1 AND ol_o_id = 30",
            &["7", "10", "12"],
        ),
        (
            "UPDATE history SET h_amount = h_amount + 1 WHERE h_c_id = 5",
            &["8", "9", "10"],
        ),
        (
            "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 1",
            &["1", "9"],
        ),
        (
            "UPDATE customer SET c_balance = c_balance + 1 WHERE c_id = 7",
            &["10", "12"],
        ),
        (
            "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 7",
            &["12"],
        ),
        (
            "INSERT INTO new_order VALUES (1, 1, 31)",
            &["2", "5", "11", "11"],
        ),
        ("DELETE FROM item WHERE i_id = 1", &["rows as loaded"]),
    ];
    on_a_new_database(async |connection| {
        load(connection, &workload, &mut |_| {}).await.unwrap();
        let mut found_ever = BTreeSet::new();
        for (plant, expected) in plants {
            connection.run("BEGIN").await.unwrap().unwrap();
            connection.run(plant).await.unwrap().unwrap();
            let mut found = Vec::new();
            for check in workload.checks() {
                assert_ne!(check.expected, Expected::GrowsByCounted);
                let rows = connection.query(&check.sql).await.unwrap().unwrap();
                if !rows.is_empty() {
                    found.push(check.name.split(':').next().unwrap());
                    found_ever.insert(check.name);
                }
            }
            connection.run("ROLLBACK").await.unwrap().unwrap();
            assert_eq!(found, *expected, "{plant}");
        }
        let all: BTreeSet<&str> = workload.checks().iter().map(|check| check.name).collect();
        assert_eq!(found_ever, all, "a check that nothing was planted for");
    });
}

#[test]
fn a_count_that_does_not_grow_as_it_must_is_found() {
    let workload = HotRow::new(hot_row::Mix::Last);
    on_a_new_database(async |connection| {
        load(connection, &workload, &mut |_| {}).await.unwrap();
        let before = check(connection, &workload, Moment::Loaded).await.unwrap();
        let add = "UPDATE cold SET c_total = c_total + 1 WHERE c_id < 5";
        connection.run(add).await.unwrap().unwrap();
        for (counted, holds) in [(5, true), (4, false), (6, false)] {
            let moment = Moment::Ran {
                before: &before,
                counted,
            };
            let result = check(connection, &workload, moment).await;
            assert_eq!(result.is_ok(), holds, "{counted}: {result:?}");
        }
    });
}

/// A workload whose procedure is one plain statement: adds one to the one row, and answers the addition.
struct OneCounter;

const ADD: [Procedure; 1] = [Procedure {
    name: "add",
    statement: "UPDATE counter SET n = n + $1 WHERE id = 1 RETURNING $1",
    parameters: &[ParameterType::BigInt],
    refusals: &[],
    answers: Answers::Count,
}];

const COUNTER: [Table; 1] = [Table {
    name: "counter",
    columns: "id, n",
}];

impl Workload for OneCounter {
    fn name(&self) -> &'static str {
        "one-counter"
    }

    fn mix(&self) -> &'static str {
        "one"
    }

    fn size(&self) -> String {
        "one row".to_string()
    }

    fn schema(&self) -> &'static str {
        "CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL)"
    }

    fn procedure_text(&self) -> &'static str {
        ""
    }

    fn procedures(&self) -> &'static [Procedure] {
        &ADD
    }

    fn tables(&self) -> &'static [Table] {
        &COUNTER
    }

    fn pieces(&self) -> u32 {
        1
    }

    fn piece(&self, _: u32) -> Piece {
        Piece {
            table: COUNTER[0],
            rows: 1,
            text: "1\t0\n".to_string(),
        }
    }

    fn checks(&self) -> Vec<Check> {
        vec![Check {
            name: "every addition is there once",
            sql: "SELECT n FROM counter".to_string(),
            expected: Expected::GrowsByCounted,
        }]
    }

    fn calls(&self, client: u32, _: u64) -> Box<dyn Calls> {
        Box::new(Adding(i64::from(client) + 1))
    }
}

struct Adding(i64);

impl Calls for Adding {
    fn next_call(&mut self) -> Call {
        Call {
            procedure: 0,
            arguments: vec![Argument::BigInt(self.0)],
            ending: Ending::Commit,
        }
    }
}

fn run_at(level: Level) -> CallRun {
    CallRun {
        run: RunConfig {
            threads: 2,
            warmup_seconds: 0.1,
            seconds: 0.5,
            ..RunConfig::default()
        },
        clients: 4,
        level,
        durability: Some("async"),
        target: "embedded",
        seed: 1,
        load: true,
        check: true,
        as_is: false,
    }
}

// Four clients on two threads add to one row of a database in this process. What lost is run again, no
// addition is lost or doubled, and each client gets its turns although a call may not wait for anything.
#[test]
fn calls_of_an_embedded_database_are_run_again_and_counted() {
    for level in Level::ALL {
        let directory = tempfile::tempdir().unwrap();
        let config = DatabaseConfig {
            durability: Durability::Async,
            ..DatabaseConfig::new(directory.path())
        };
        let (database, _) = Database::open(config).unwrap();
        let run = run_at(level);
        let system = Embedded::new(database, level);
        let report = run.execute(&system, &OneCounter, Arc::new(RealClock), &mut |_| {});
        let report = report.unwrap().expect("half a second was to be measured");
        println!("{report}");
        assert!(report.committed_per_second > 0.0 && report.checked == Some(true));
        assert!(report.log_bytes_per_second.is_some_and(|bytes| bytes > 0.0));
        assert_eq!(report.given_up, 0);
    }
}

// Few lists and eight clients, so that they meet. The history must be whole, and fit the level.
#[test]
fn list_append_histories_fit_their_level() {
    let workload = AppendSql::new(AppendConfig {
        lists_in_use: 3,
        transactions_per_list: 8,
        operations_max: 6,
    });
    for level in Level::ALL {
        let directory = tempfile::tempdir().unwrap();
        let config = DatabaseConfig {
            durability: Durability::Async,
            ..DatabaseConfig::new(directory.path())
        };
        let (database, _) = Database::open(config).unwrap();
        let run = CallRun {
            clients: 8,
            load: false,
            ..run_at(level)
        };
        let system = Embedded::new(database, level);
        // Twice: a second run must not find the first one's values.
        for _ in 0..2 {
            let report = run.execute(&system, &workload, Arc::new(RealClock), &mut |_| {});
            let report = report.unwrap_or_else(|error| panic!("{level}: {error}"));
            let report = report.expect("half a second was to be measured");
            println!("{report}");
            let history = report.history.expect("the workload takes a history down");
            let measured = report.committed_per_second * report.seconds;
            assert!(
                history.committed as f64 > measured,
                "the warm-up counts, too"
            );
            assert!(
                history.dependencies > history.committed / 2,
                "they hardly met"
            );
            if level == Level::Serializable {
                assert!(history.anomalies.is_empty(), "{history}");
            }
        }
    }
}

/// A database that once tells a reader an old state: every hundredth text that is answered lacks its last
/// value.
struct Forgetful(Embedded);

struct ForgetfulConnection(quintet_bench::EmbeddedConnection, u32);

impl System for Forgetful {
    type Connection = ForgetfulConnection;

    const BLOCKS: bool = true;

    async fn connect(&self) -> Result<ForgetfulConnection, Error> {
        Ok(ForgetfulConnection(self.0.connect().await?, 0))
    }
}

impl Connection for ForgetfulConnection {
    async fn prepare(&mut self, procedures: &'static [Procedure]) -> Result<(), Error> {
        self.0.prepare(procedures).await
    }

    async fn call(&mut self, call: &Call) -> Result<Reply, Error> {
        let reply = self.0.call(call).await?;
        let Reply::Said(text) = reply else {
            return Ok(reply);
        };
        self.1 += 1;
        Ok(Reply::Said(match text.rsplit_once(',') {
            Some((rest, _)) if self.1.is_multiple_of(100) => format!("{rest};"),
            _ => text,
        }))
    }

    async fn run(&mut self, sql: &str) -> Result<Result<(), Failure>, Error> {
        self.0.run(sql).await
    }

    async fn query(&mut self, sql: &str) -> Result<Result<TextRows, Failure>, Error> {
        self.0.query(sql).await
    }

    async fn copy(&mut self, piece: &Piece) -> Result<Result<(), Failure>, Error> {
        self.0.copy(piece).await
    }
}

#[test]
fn a_history_that_does_not_fit_ends_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let config = DatabaseConfig {
        durability: Durability::None,
        ..DatabaseConfig::new(directory.path())
    };
    let (database, _) = Database::open(config).unwrap();
    let level = Level::Serializable;
    let system = Forgetful(Embedded::new(database, level));
    let workload = AppendSql::new(AppendConfig::default());
    let result = run_at(level).execute(&system, &workload, Arc::new(RealClock), &mut |_| {});
    let error = result.unwrap_err();
    assert!(
        matches!(
            &error,
            Error::Inconsistent {
                check: "history",
                ..
            }
        ),
        "{error}"
    );
}

// Two databases take turns with a tiny hot row; the second holds the same and so is about as fast. Then the
// picture of it.
#[test]
fn two_databases_are_compared_in_turn() {
    let workload = HotRow {
        cold_rows: 1000,
        ..HotRow::new(hot_row::Mix::First)
    };
    let level = Level::Snapshot;
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let systems = directories.each_ref().map(|directory| {
        let config = DatabaseConfig {
            durability: Durability::None,
            ..DatabaseConfig::new(directory.path())
        };
        Embedded::new(Database::open(config).unwrap().0, level)
    });
    let mut reports: [Vec<CallReport>; 2] = Default::default();
    let mut told = 0;
    for round in 0..3 {
        for at in order(round, systems.len()) {
            let mut run = run_at(level);
            run.run.timeline_seconds = Some(0.1);
            run.run.seconds = 1.2;
            run.load = round == 0;
            let mut tell = |stage| told += u32::from(matches!(stage, Stage::Second(_)));
            let report = run.execute(&systems[at], &workload, Arc::new(RealClock), &mut tell);
            reports[at].extend(report.unwrap());
        }
    }
    assert_eq!(told, 6, "a second of each run is told");
    let lines = ["a", "b"]
        .into_iter()
        .zip(&reports)
        .map(|(name, reports)| Line {
            name: name.to_owned(),
            runs: reports.iter().map(CallReport::curves).collect(),
        });
    let picture = svg("hot row", &lines.collect::<Vec<_>>());
    let [a, b] = reports;
    let comparison = Comparison::new(vec![("a".into(), a), ("b".into(), b)]);
    println!("{comparison}");
    let [a, b] = &comparison.targets[..] else {
        panic!("two targets")
    };
    assert_eq!((a.throughput_ratio.min, a.throughput_ratio.max), (1.0, 1.0));
    assert_eq!((a.rounds.len(), b.rounds.len()), (3, 3));
    // The same database: on a busy machine one may be slow, but not by an order of magnitude in the middle.
    let ratio = b.throughput_ratio;
    assert!((0.1..10.0).contains(&ratio.median), "{ratio:?}");
    assert!(ratio.min <= ratio.median && ratio.median <= ratio.max);
    // Six lines of throughput with ten intervals or more, and six of latency.
    let curves: Vec<&str> = picture
        .lines()
        .filter(|line| line.contains("stroke-linejoin"))
        .collect();
    assert_eq!(curves.len(), 12);
    assert!(
        curves.iter().all(|curve| curve.matches('L').count() >= 9),
        "{picture}"
    );
}
