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

const CALL: &str = "
    create procedure append_lists(in_lists bigint[], in_values bigint[], out out_read text) language plpgsql as $$
    declare found_text text;
    begin
      out_read := '';
      for i in 1..cardinality(in_lists) loop
        if in_values[i] = 0 then
          found_text := '';
          select elements into found_text from lists where id = in_lists[i];
          out_read := out_read || coalesce(found_text, '') || ';';
        else
          insert into lists values (in_lists[i], in_values[i]::text) on conflict (id) do update
            set elements = lists.elements || ',' || excluded.elements;
        end if;
      end loop;
    end $$";

/// As `run`, by one call.
fn call(
    client: &mut Client,
    plan: &[AppendOperation],
) -> Result<Vec<Operation>, quintet_base::SqlError> {
    let array = |number: &dyn Fn(&AppendOperation) -> u64| {
        let numbers = plan.iter().map(|step| number(step).to_string());
        numbers.collect::<Vec<_>>().join(",")
    };
    let lists = array(&|step| match *step {
        AppendOperation::Append { list, .. } | AppendOperation::Read { list } => list,
    });
    // No value is zero.
    let written = array(&|step| match *step {
        AppendOperation::Append { value, .. } => value,
        AppendOperation::Read { .. } => 0,
    });
    let sql = format!("call append_lists('{{{lists}}}', '{{{written}}}', null)");
    let answers = client.query(&sql)?;
    let rows = answers[0].text_rows();
    let mut read = rows[0][0].as_deref().unwrap_or_default().split(';');
    Ok(plan
        .iter()
        .map(|step| match *step {
            AppendOperation::Append { list, value } => Operation::Append { list, value },
            AppendOperation::Read { list } => Operation::Read {
                list,
                values: Some(values(read.next().unwrap())),
            },
        })
        .collect())
}

fn planned(plan: &[AppendOperation]) -> Vec<Operation> {
    plan.iter()
        .map(|step| match *step {
            AppendOperation::Append { list, value } => Operation::Append { list, value },
            AppendOperation::Read { list } => Operation::Read { list, values: None },
        })
        .collect()
}

/// What each client does, in turn: transactions of several statements, or calls by this engine.
const STATEMENTS: &[&str] = &["statements"];
const ENGINES: &[&str] = &[
    "queue",
    "statements",
    "queue",
    "direct",
    "queue",
    "chain",
    "queue",
    "auto",
];

fn play(level: Level, ways: &'static [&'static str]) -> Vec<AnomalyKind> {
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
    db.client().unwrap().query(CALL).unwrap();
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
                let way = ways[process as usize % ways.len()];
                if way != "statements" {
                    let set = format!("set quintet.engine = {way}");
                    client.query(&set).unwrap();
                }
                let mut stream = ListAppend::new(AppendConfig::default(), process, seed);
                for _ in 0..transactions / u64::from(CLIENTS) {
                    let plan = stream.next_transaction();
                    recorder.invoke(process, planned(&plan));
                    let done = match way {
                        "statements" => run(&mut client, &plan),
                        _ => call(&mut client, &plan),
                    };
                    match done {
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
    let batches = db.stats().batches;
    println!("{level}: {batches:?}");
    assert_eq!(batches.batches > 0, ways.contains(&"queue"));
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
    let kinds = play(Level::ReadCommitted, STATEMENTS);
    assert!(
        !kinds.is_empty(),
        "so much conflict at READ COMMITTED must show something"
    );
}

#[test]
fn snapshot_shows_write_skew_at_most() {
    play(Level::Snapshot, STATEMENTS);
}

#[test]
fn serializable_shows_nothing() {
    assert_eq!(play(Level::Serializable, STATEMENTS), []);
}

/// All engines and transactions of several statements on the same lists.
#[test]
fn engines_side_by_side_show_nothing_that_a_level_forbids() {
    assert_eq!(play(Level::Serializable, ENGINES), []);
    play(Level::Snapshot, ENGINES);
    play(Level::ReadCommitted, ENGINES);
}
