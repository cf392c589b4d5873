//! List-append through the key-value door, judged by the history checker.
//!
//! Goal: what clients observe fits the level they asked for, in real-time order. Method: threads run
//! seeded list-append transactions on few lists, every invocation and answer is recorded, and the
//! checker looks for anomalies that the level forbids.

#![allow(clippy::unwrap_used)] // a test: helpers fail it as its own lines do

use quintet_embed::{Bucket, CommitError, Database, DatabaseConfig, Durability, Level};
use quintet_engine::history::{Ending, Operation, Recorder, Report, check};
use quintet_rt::threads::spawn;
use quintet_workloads::append::{appended, values};
use quintet_workloads::{AppendConfig, AppendOperation, ListAppend};
use std::sync::Arc;

const CLIENTS: u32 = 4;
const TRANSACTIONS: usize = 400;

/// Few lists and long transactions, so that clients meet.
const SHAPE: AppendConfig = AppendConfig {
    lists_in_use: 4,
    transactions_per_list: 8,
    operations_max: 8,
};

/// Runs one transaction; `None` if it lost a conflict, else the operations with what was read.
fn attempt(
    database: &Database,
    bucket: &Bucket,
    level: Level,
    planned: &[AppendOperation],
) -> Option<Vec<Operation>> {
    let mut txn = database.begin(level);
    let mut done = Vec::new();
    for operation in planned {
        // Gives the other clients a chance in the middle, on few cores too.
        std::thread::yield_now();
        match *operation {
            AppendOperation::Read { list } => {
                let stored = txn.get(bucket, &list.to_be_bytes()).unwrap();
                let values = stored.map_or(Some(Vec::new()), |stored| values(&stored));
                done.push(Operation::Read {
                    list,
                    values: Some(values.expect("whole values")),
                });
            }
            AppendOperation::Append { list, value } => {
                let key = list.to_be_bytes();
                let stored = txn.get(bucket, &key).unwrap();
                txn.put(bucket, &key, &appended(stored.as_deref(), value))
                    .unwrap();
                done.push(Operation::Append { list, value });
            }
        }
    }
    match txn.commit() {
        Ok(_) => Some(done),
        Err(CommitError::Conflict { .. } | CommitError::Deadlock) => None,
        Err(error) => panic!("{error}"),
    }
}

fn planned(operations: &[AppendOperation]) -> Vec<Operation> {
    let one = |operation: &AppendOperation| match *operation {
        AppendOperation::Read { list } => Operation::Read { list, values: None },
        AppendOperation::Append { list, value } => Operation::Append { list, value },
    };
    operations.iter().map(one).collect()
}

/// Runs all clients; returns the report and how many transactions were refused.
fn run(level: Level, seed: u64) -> (Report, usize) {
    println!("{level}, seed {seed}");
    let directory = tempfile::tempdir().unwrap();
    let config = DatabaseConfig {
        durability: Durability::Async,
        ..DatabaseConfig::new(directory.path())
    };
    let (database, _) = Database::open(config).unwrap();
    let bucket = database.bucket("lists").unwrap();
    let recorder = Arc::new(Recorder::new());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|process| {
            let (database, recorder) = (database.clone(), Arc::clone(&recorder));
            spawn(&format!("append-{process}"), move || {
                let mut stream = ListAppend::new(SHAPE, process, seed);
                for _ in 0..TRANSACTIONS {
                    let operations = stream.next_transaction();
                    recorder.invoke(process, planned(&operations));
                    match attempt(&database, &bucket, level, &operations) {
                        Some(done) => recorder.ok(process, done),
                        None => recorder.fail(process),
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    let history = recorder.history();
    assert_eq!(history.transactions.len(), CLIENTS as usize * TRANSACTIONS);
    let refused = history
        .transactions
        .iter()
        .filter(|txn| txn.ending == Ending::Fail)
        .count();
    (check(&history), refused)
}

#[test]
fn what_clients_see_fits_their_level() {
    let mut skews = 0;
    for level in [Level::Snapshot, Level::Serializable] {
        for seed in 1..=3 {
            let (report, refused) = run(level, seed);
            let violations: Vec<String> =
                report.violations(level).map(ToString::to_string).collect();
            assert!(violations.is_empty(), "{}", violations.join("\n"));
            assert!(refused > 0, "the clients never met: nothing is shown");
            skews += usize::from(!report.fits(Level::Serializable));
        }
    }
    // The same check must bite where the level lets something through.
    assert!(
        skews > 0,
        "snapshots without write skew: the clients hardly met"
    );
}
