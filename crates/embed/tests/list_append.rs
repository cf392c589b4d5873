//! Random list-append transactions through SQL, eight clients, compaction running; the history must
//! hold no anomaly that the level forbids. A weaker level must show what it allows, or the run shows
//! nothing. `QUINTET_LIST_APPEND` sets the number of transactions per level (default 6,000; the
//! acceptance run takes 100,000), `QUINTET_SEED` the seed.

#![allow(clippy::unwrap_used)]

use quintet_base::SqlState;
use quintet_embed::{Client, Database, DatabaseConfig, Durability, Level};
use quintet_engine::history::{AnomalyKind, Operation, Recorder, check};
use quintet_rt::threads;
use quintet_workloads::append::{AppendConfig, AppendOperation, ListAppend};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const CLIENTS: u32 = 8;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn values(text: &str) -> Vec<u64> {
    text.split(',')
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap())
        .collect()
}

/// Runs one transaction; the operations with what was read, or why it was undone.
fn run(
    client: &mut Client,
    plan: &[AppendOperation],
) -> Result<Vec<Operation>, quintet_base::SqlError> {
    let mut done = Vec::new();
    client.query("begin")?;
    for step in plan {
        done.push(match *step {
            AppendOperation::Append { list, value } => {
                client.query(&format!(
                    "insert into lists values ({list}, '{value}') on conflict (id) do update \
                     set elements = lists.elements || ',' || excluded.elements"
                ))?;
                Operation::Append { list, value }
            }
            AppendOperation::Read { list } => {
                let answers =
                    client.query(&format!("select elements from lists where id = {list}"))?;
                let rows = answers[0].text_rows();
                let found = rows
                    .first()
                    .and_then(|row| row[0].as_deref())
                    .map_or(vec![], values);
                Operation::Read {
                    list,
                    values: Some(found),
                }
            }
        });
    }
    client.query("commit")?;
    Ok(done)
}

fn planned(plan: &[AppendOperation]) -> Vec<Operation> {
    plan.iter()
        .map(|step| match *step {
            AppendOperation::Append { list, value } => Operation::Append { list, value },
            AppendOperation::Read { list } => Operation::Read { list, values: None },
        })
        .collect()
}

fn play(level: Level) -> Vec<AnomalyKind> {
    let (transactions, seed) = (
        setting("QUINTET_LIST_APPEND", 6_000),
        setting("QUINTET_SEED", 42),
    );
    println!("{level}: {transactions} transactions, seed {seed}");
    let dir = tempfile::tempdir().unwrap();
    // Little memory, so that freezes and merges go on all the time.
    let config = DatabaseConfig {
        memory_bytes: 8 << 20,
        durability: Durability::Async,
        ..DatabaseConfig::new(dir.path())
    };
    let (db, _) = Database::open(config).unwrap();
    db.client()
        .unwrap()
        .query("create table lists (id bigint primary key, elements text)")
        .unwrap();
    let recorder = Arc::new(Recorder::new());
    let undone = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let compactor = {
        let (db, stop) = (db.clone(), Arc::clone(&stop));
        threads::spawn("compactor", move || {
            while !stop.load(Ordering::Acquire) {
                db.compact().unwrap();
            }
        })
    };
    let clients: Vec<_> = (0..CLIENTS)
        .map(|process| {
            let (db, recorder, undone) = (db.clone(), Arc::clone(&recorder), Arc::clone(&undone));
            threads::spawn("client", move || {
                let mut client = db.client().unwrap();
                let set =
                    format!("set session characteristics as transaction isolation level {level}");
                client.query(&set).unwrap();
                let mut stream = ListAppend::new(AppendConfig::default(), process, seed);
                for _ in 0..transactions / u64::from(CLIENTS) {
                    let plan = stream.next_transaction();
                    recorder.invoke(process, planned(&plan));
                    match run(&mut client, &plan) {
                        Ok(done) => recorder.ok(process, done),
                        Err(error) if error.state.is_retryable() => {
                            recorder.fail(process);
                            undone.fetch_add(1, Ordering::Relaxed);
                            client.query("rollback").unwrap();
                        }
                        Err(error) if error.state == SqlState::STATEMENT_COMPLETION_UNKNOWN => {
                            recorder.unknown(process);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    stop.store(true, Ordering::Release);
    compactor.join().unwrap();
    let report = check(&recorder.history());
    let compactions = db.stats().tc.compactions;
    println!(
        "{level}: {} committed, {} undone, {} dependencies, {compactions} compactions, found {:?}",
        report.committed,
        undone.load(Ordering::Relaxed),
        report.dependencies,
        report.kinds()
    );
    assert!(compactions > 0, "compaction must have run");
    if let Some(anomaly) = report.violations(level).next() {
        panic!(
            "{level} forbids {:?}: {}",
            anomaly.kind, anomaly.explanation
        );
    }
    report.kinds()
}

#[test]
fn read_committed_shows_only_what_it_allows() {
    let kinds = play(Level::ReadCommitted);
    assert!(
        !kinds.is_empty(),
        "so much conflict at READ COMMITTED must show something"
    );
}

#[test]
fn snapshot_shows_write_skew_at_most() {
    play(Level::Snapshot);
}

#[test]
fn serializable_shows_nothing() {
    assert_eq!(play(Level::Serializable), []);
}
