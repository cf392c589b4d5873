//! Statements that are transactions of their own: whoever they lose to, their clients do not hear of it.
//!
//! Relies on: nothing but the session.  Promises: such a statement is run again until it has committed, once.  Does not: run again what
//! stands in a block, or what has given rows.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_rt::Rand;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::{open_with, rows, state, tag};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

/// Goal: many who change one row one by one all succeed, at every level, and what each reads is what it changes.
#[test]
fn changes_of_one_row_side_by_side_all_count() {
    let (_dir, db) = open_with(
        "create table t (id int primary key, n int not null); insert into t values (1, 0), (2, 0)",
    );
    const EACH: usize = 100;
    for level in LEVELS {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let mut client = db.client().unwrap();
                scope.spawn(move || {
                    let set = format!("set default_transaction_isolation = '{level}'");
                    client.query(&set).unwrap();
                    for _ in 0..EACH {
                        // The second has no key to lock first; the third reads what others change.
                        let update = match thread {
                            0 | 1 => "update t set n = n + 1 where id = 1",
                            2 => "update t set n = n + 1 where id + 0 = 1",
                            _ => "update t set n = (select n from t where id = 1) where id = 2",
                        };
                        assert_eq!(tag(&mut client, update), "UPDATE 1");
                    }
                });
            }
        });
        let mut client = db.client().unwrap();
        let counted = "update t set n = 0 where id = 1 and n = 300";
        assert_eq!(tag(&mut client, counted), "UPDATE 1", "{level}");
    }
}

/// Goal: what RETURNING gives is what was committed, and given once. Method: many count one row up; no number is there twice, none
/// is missing.
#[test]
fn what_a_change_gives_is_what_was_committed() {
    let (_dir, db) = open_with(
        "create table t (id int primary key, n int not null); insert into t values (1, 0)",
    );
    const EACH: usize = 100;
    for level in LEVELS {
        let set = format!("set default_transaction_isolation = '{level}'");
        let counted = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let mut client = db.client().unwrap();
                    let set = &set;
                    scope.spawn(move || {
                        client.query(set).unwrap();
                        let count = "update t set n = n + 1 where id + 0 = 1 returning n";
                        (0..EACH)
                            .map(|_| support::number(&mut client, count))
                            .collect::<Vec<i64>>()
                    })
                })
                .collect();
            let mut all: Vec<i64> = (threads.into_iter())
                .flat_map(|thread| thread.join().unwrap())
                .collect();
            all.sort_unstable();
            all
        });
        let expected: Vec<i64> = (1..=4 * EACH as i64).collect();
        assert_eq!(counted, expected, "{level}");
        let mut client = db.client().unwrap();
        client.query("update t set n = 0").unwrap();
    }
}

/// Goal: who writes to a table that is emptied, altered and indexed meanwhile hears nothing of it, and no row is there twice or
/// missing. Method: rows are counted by who puts them in and by who takes them out.
#[test]
fn schema_changes_are_nothing_to_a_statement_by_itself() {
    let seed = Rand::from_os().next_u64();
    println!("seed {seed}");
    let (_dir, db) = open_with("create table t (id serial primary key, n int not null)");
    for level in LEVELS {
        let set = format!("set default_transaction_isolation = '{level}'");
        let stop = AtomicBool::new(false);
        let (put, taken) = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|_| {
                    let mut client = db.client().unwrap();
                    let (set, stop) = (&set, &stop);
                    scope.spawn(move || {
                        client.query(set).unwrap();
                        let mut put = 0;
                        while !stop.load(Ordering::Relaxed) {
                            client.query("insert into t (n) values (1), (1)")?;
                            put += 2;
                        }
                        Ok::<_, quintet_base::SqlError>(put)
                    })
                })
                .collect();
            let mut client = db.client().unwrap();
            let mut rand = Rand::seeded(seed);
            let mut taken = 0;
            let changed = (0..40).try_for_each(|_| {
                let change = match rand.below(5) {
                    0 => "create index t_n on t (n); drop index t_n",
                    1 => "alter table t add column more text default 'x'; alter table t drop column more",
                    2 => "alter table t alter column n type bigint; alter table t alter column n type int",
                    _ => {
                        // What is there when it is emptied, counted in the same transaction.
                        client.query("begin; lock table t")?;
                        taken += support::number(&mut client, "select count(*) from t");
                        "truncate t; commit"
                    }
                };
                client.query(change).map(|_| ())
            });
            stop.store(true, Ordering::Relaxed);
            let put: Result<Vec<i64>, _> = writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .collect();
            changed.unwrap();
            (put.unwrap().iter().sum::<i64>(), taken)
        });
        let mut client = db.client().unwrap();
        let left = support::number(&mut client, "select count(*) from t");
        assert_eq!(put, taken + left, "{level}");
        client.query("truncate t").unwrap();
    }
}

#[test]
fn what_stands_in_a_block_or_gives_rows_is_told() {
    let (_dir, db) = open_with(
        "create table t (id int primary key, n int not null); insert into t values (1, 0)",
    );
    let (mut one, mut other) = (db.client().unwrap(), db.client().unwrap());
    one.query("begin isolation level serializable; select n from t; update t set n = n + 1")
        .unwrap();
    // It waits for nobody, and is first.
    assert!(support::until_it_waits(&mut other, "update t set n = n + 10").is_some());
    one.query("commit").unwrap();
    support::finish(&mut other);
    assert_eq!(rows(&mut one, "select n from t"), ["11"]);

    one.query("begin isolation level repeatable read; select n from t")
        .unwrap();
    other.query("update t set n = 0").unwrap();
    assert_eq!(
        state(&mut one, "update t set n = n + 1"),
        SqlState::SERIALIZATION_FAILURE
    );
    one.query("rollback").unwrap();
    // A string of several is one transaction, of which the last alone cannot be run again.
    one.query("set default_transaction_isolation = 'repeatable read'")
        .unwrap();
    other.query("begin; update t set n = 5").unwrap();
    let several = "select n from t; update t set n = n + 1";
    assert!(support::until_it_waits(&mut one, several).is_some());
    other.query("commit").unwrap();
    let refused = one.resume().map(|_| ());
    assert_eq!(
        refused.map_err(|error| error.state),
        Err(SqlState::SERIALIZATION_FAILURE)
    );
    assert_eq!(rows(&mut other, "select n from t"), ["5"]);
}

const FUNCTION: &str = "create function f(at int) returns bigint language plpgsql as $$ begin
     insert into u (id, by) values (at, 1);
     update t set n = n + 1 where id = at;
     return (select n from t where id = at);
 end $$";

/// Goal: a call that is a transaction of its own does not hear of changes of the schema either, under every engine and at every level,
/// and takes place once. Method: threads call a procedure and a function that write two tables, with parameters and without,
/// while a thread changes both tables and the function; then what is there is counted.
#[test]
fn calls_do_not_hear_of_changes_of_the_schema() {
    for engine in ["direct", "queue", "chain", "auto"] {
        let (_dir, db) = open_with(&format!(
            "create table t (id int primary key, n bigint not null); create table u (id int, by int);
             insert into t select i, 0 from generate_series(1, 4) i;
             create procedure p(at int, inout so_far bigint) language plpgsql as $$ begin
                 update t set n = n + 1 where id = at;
                 insert into u (id, by) values (at, 1);
                 select count(*) into so_far from u where id = at;
             end $$;
             {FUNCTION}",
        ));
        let (done, ended) = (AtomicBool::new(false), AtomicU64::new(0));
        let calls: i64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|thread| {
                    let (db, done, ended) = (&db, &done, &ended);
                    scope.spawn(move || {
                        let mut client = db.client().unwrap();
                        let level = LEVELS[thread];
                        let set = format!(
                            "set default_transaction_isolation = '{level}'; set quintet.engine = '{engine}'"
                        );
                        client.query(&set).unwrap();
                        let mut calls = 0;
                        while !done.load(Ordering::Relaxed) {
                            let call = match calls % 3 {
                                0 => format!("call p({}, 0)", 1 + calls % 4),
                                1 => format!("select f({})", 1 + thread),
                                _ => "select f(4)".to_string(),
                            };
                            let called = client.query(&call);
                            called.unwrap_or_else(|error| panic!("{engine}, {level}, {call}: {error:?}"));
                            calls += 1;
                            ended.fetch_add(1, Ordering::Relaxed);
                        }
                        calls as i64
                    })
                })
                .collect();
            let mut client = db.client().unwrap();
            let mut changed = Ok(());
            for round in 0..15 {
                // Nobody gets anywhere beside one change after the other.
                let before = ended.load(Ordering::Relaxed);
                while changed.is_ok() && ended.load(Ordering::Relaxed) < before + 5 {
                    std::thread::yield_now();
                }
                for change in [
                    "create index u_id on u (id)".to_string(),
                    format!("alter table t add column c{round} int default 3"),
                    "drop index u_id".to_string(),
                    format!("alter table t drop column c{round}"),
                    "alter table u alter column by type bigint; alter table u alter column by type int".to_string(),
                    format!("drop function f(int); {}", FUNCTION.replace("into u (id, by)", "into u")),
                ] {
                    // In one transaction each, so that the function is always there.
                    let done = client.query(&format!("begin isolation level read committed; {change}; commit"));
                    changed = changed.and(done.map(|_| ()).map_err(|error| format!("{change}: {error:?}")));
                }
            }
            done.store(true, Ordering::Relaxed);
            assert_eq!(changed, Ok(()), "{engine}");
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        let mut client = db.client().unwrap();
        let counted = format!("select sum(n) = {calls}, (select count(*) from u) = {calls} from t");
        assert_eq!(rows(&mut client, &counted), ["t|t"], "{engine}");
        assert!(calls > 20, "{calls}");
    }
}
