//! Unique constraints that are looked at when a statement, or its transaction, is over: what is promised to others, and to
//! the next who opens the database.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Database, Engine};
use support::{answer, ends, error, open, open_by, open_with, reopen, rows, state, waits};

/// Whoever wants the key of another who has not committed waits, and is told afterwards.
#[test]
fn a_key_is_waited_for() {
    let sql = "create table t (id int primary key, k int unique deferrable);
        insert into t values (1, 1), (2, 2)";
    let (_dir, db) = open_with(sql);
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    // Given up again.
    a.query("begin; update t set k = 10 where id = 1").unwrap();
    let pause = waits(&mut b, "insert into t values (3, 1)");
    a.query("commit").unwrap();
    ends(&mut b, pause);
    assert_eq!(
        rows(&mut b, "select id, k from t order by id"),
        ["1|10", "2|2", "3|1"]
    );
    // Kept.
    a.query("begin; insert into t values (4, 40)").unwrap();
    let pause = waits(&mut b, "insert into t values (5, 40)");
    a.query("commit").unwrap();
    pause.wait();
    let refused = loop {
        match b.resume() {
            Ok(quintet_embed::Progress::Waiting(pause)) => pause.wait(),
            Ok(_) => panic!("two rows have one key"),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.state, SqlState::UNIQUE_VIOLATION);
    // Rolled back.
    a.query("begin; insert into t values (6, 60)").unwrap();
    let pause = waits(&mut b, "insert into t values (7, 60)");
    a.query("rollback").unwrap();
    ends(&mut b, pause);
    assert_eq!(rows(&mut b, "select id from t where k = 60"), ["7"]);
}

/// What was put off is remembered by the catalogue, and by whoever opens the database again.
#[test]
fn constraints_are_as_late_after_a_restart() {
    let (dir, db) = open();
    let mut a = db.client().unwrap();
    a.query(
        "create table t (id int primary key deferrable, k int unique deferrable initially deferred);
        insert into t values (1, 1), (2, 2);
        create view v as select id, k from t where k > 0 with local check option",
    )
    .unwrap();
    drop(a);
    drop(db);
    let db = reopen(&dir);
    let mut a = db.client().unwrap();
    a.query("begin; insert into t values (3, 1); update t set k = 3 where id = 1; commit")
        .unwrap();
    a.query("update t set id = id + 1, k = k + 1").unwrap();
    assert_eq!(
        rows(&mut a, "select id, k from t order by id"),
        ["2|4", "3|3", "4|2"]
    );
    let twice = "begin; insert into t values (9, 2)";
    a.query(twice).unwrap();
    assert_eq!(state(&mut a, "commit"), SqlState::UNIQUE_VIOLATION);
    let refused = error(&mut a, "insert into v values (9, 0)");
    assert_eq!(refused.state.to_string(), "44000");
    let shown =
        "select pg_get_constraintdef(oid) from pg_constraint where conname like 't_%' order by 1";
    assert_eq!(
        rows(&mut a, shown),
        [
            "PRIMARY KEY (id) DEFERRABLE",
            "UNIQUE (k) DEFERRABLE INITIALLY DEFERRED"
        ]
    );
}

fn count(client: &mut Client, sql: &str) -> String {
    answer(client, sql).unwrap()
}

/// Sessions that move few keys about, by statements and by calls, which at first lock nothing.
fn keys_stay_apart(engine: Engine, level: &str) {
    let sql = "create table t (id int primary key, k int, constraint k unique (k) deferrable initially deferred);
        insert into t select n, n from generate_series(1, 8) n;
        create procedure move(a int, b int) language plpgsql as $$ begin
            update t set k = b where id = a; insert into t values (a + 100, b + 1);
            delete from t where id = b + 100; end $$";
    let (_dir, db) = open_by(engine, sql);
    let one = |number: u64, db: &Database| {
        let mut client = db.client().unwrap();
        let set = format!("set default_transaction_isolation to '{level}'");
        client.query(&set).unwrap();
        let mut seed = number * 7919 + 17;
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut done = 0;
        for _ in 0..60 {
            let (a, b) = (next(8) + 1, next(10) + 1);
            let sql = match next(4) {
                0 => format!("call move({a}, {b})"),
                1 => format!("update t set k = {b} where id = {a}"),
                2 => format!(
                    "begin; update t set k = {b} where id = {a}; update t set k = {a} where id = {b}; commit"
                ),
                _ => format!("update t set k = k + 1 where k >= {b}"),
            };
            match client.query(&sql) {
                Ok(_) => done += 1,
                Err(error) => {
                    let state = error.state.to_string();
                    assert!(
                        ["23505", "40001", "40P01"].contains(&state.as_str()),
                        "{sql}: {error:?}"
                    );
                    let _ = client.query("rollback");
                }
            }
        }
        done
    };
    let done: Vec<u64> = std::thread::scope(|scope| {
        let db = &db;
        let all = (0..4).map(|number| scope.spawn(move || one(number, db)));
        let all: Vec<_> = all.collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(done.iter().sum::<u64>() > 0, "nothing was done");
    let mut client = db.client().unwrap();
    let twice = "select count(*) from (select k from t where k is not null group by k having count(*) > 1) s";
    assert_eq!(count(&mut client, twice), "0");
    // The index has what the table has.
    let through = "select count(*) from t where k in (select k from t)";
    let all = "select count(*) from t where k is not null";
    assert_eq!(count(&mut client, through), count(&mut client, all));
}

#[test]
fn keys_stay_apart_at_read_committed() {
    keys_stay_apart(Engine::Direct, "read committed");
}

#[test]
fn keys_stay_apart_when_serializable() {
    keys_stay_apart(Engine::Direct, "serializable");
}

#[test]
fn keys_stay_apart_at_repeatable_read() {
    keys_stay_apart(Engine::Direct, "repeatable read");
}

#[test]
fn keys_stay_apart_in_lines_and_batches() {
    for engine in [Engine::Chain, Engine::Queue, Engine::Auto] {
        keys_stay_apart(engine, "serializable");
    }
}
