//! Schema changes that write more than a transaction can buffer: what goes to new spaces is committed ahead of them.
//!
//! Relies on: little memory, of which one transaction may buffer a tenth.  Promises: such a change is whole or not at all, for
//! everybody, whatever ends it.  Does not: kill a process (`tests/operations/large.py` does).

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Database, DatabaseConfig};
use support::{rows, state};
use tempfile::TempDir;

const ROWS: i32 = 30_000;

fn open_at(dir: &TempDir) -> Database {
    let config = DatabaseConfig {
        memory_bytes: 8 << 20,
        ..DatabaseConfig::new(dir.path())
    };
    Database::open(config).unwrap().0
}

/// A table of a few megabytes, without a key; `n` is each number once, `twice` most of them once.
fn filled() -> (TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let db = open_at(&dir);
    let mut client = db.client().unwrap();
    let table = "create table t (n int not null, twice int not null, note text not null)";
    client.query(table).unwrap();
    for from in (1..ROWS).step_by(1_000) {
        let to = from + 999;
        let insert = format!(
            "insert into t select n, least(n, {ROWS} - 1), 'a note of some length about ' || n from generate_series({from}, {to}) n"
        );
        client.query(&insert).unwrap();
    }
    (dir, db)
}

fn one(client: &mut Client, sql: &str) -> String {
    rows(client, sql).join("; ")
}

/// All ways to the rows lead to the same ones.
fn check(client: &mut Client) {
    assert_eq!(
        one(client, "select count(*), sum(n) from t"),
        "30000|450015000"
    );
    let found = "select n, twice from t where note = 'a note of some length about 17000'";
    assert_eq!(one(client, found), "17000|17000");
    assert_eq!(one(client, "select note from t where n = 29999").len(), 33);
    let below = "select count(*) from t where note >= 'a note of some length about 2'";
    assert_eq!(one(client, below), "18889");
}

const CHANGES: [&str; 4] = [
    "create index t_note on t (note)",
    "create unique index t_n on t (n, note)",
    "alter table t add primary key (n)",
    "alter table t alter column twice type bigint, alter column note type varchar",
];

#[test]
fn indexes_keys_and_new_types_may_take_more_than_a_transaction() {
    for level in ["read committed", "serializable"] {
        let (dir, db) = filled();
        let mut client = db.client().unwrap();
        let set = format!("set default_transaction_isolation = '{level}'");
        client.query(&set).unwrap();
        for change in CHANGES {
            client
                .query(change)
                .unwrap_or_else(|error| panic!("{change}: {error:?}"));
            check(&mut client);
        }
        assert_eq!(
            state(&mut client, "insert into t values (5, 5, 'x')"),
            SqlState::UNIQUE_VIOLATION
        );
        drop((client, db));
        let db = open_at(&dir);
        check(&mut db.client().unwrap());
    }
}

#[test]
fn a_block_sees_what_it_has_built_and_others_when_it_commits() {
    let (_dir, db) = filled();
    let (mut client, mut other) = (db.client().unwrap(), db.client().unwrap());
    for level in ["read committed", "serializable"] {
        client
            .query(&format!("begin isolation level {level}"))
            .unwrap();
        client.query("create index t_note on t (note)").unwrap();
        check(&mut client);
        let explained = one(&mut client, "explain select n from t where note = 'x'");
        assert!(explained.contains("t_note"), "{explained}");
        let explained = one(&mut other, "explain select n from t where note = 'x'");
        assert!(!explained.contains("t_note"), "{explained}");
        check(&mut other);
        client.query("commit; drop index t_note").unwrap();
    }
    // Here a later snapshot would show more than was promised.
    client
        .query("begin isolation level repeatable read; select 1 from t limit 1")
        .unwrap();
    assert_eq!(
        state(&mut client, "create index t_note on t (note)"),
        SqlState::OUT_OF_MEMORY
    );
    client.query("rollback").unwrap();
    check(&mut client);
}

/// An index that would get the numbers of one that came to nothing, if they were given again, on a table of a few rows; it has its entries
/// when what was dropped has been forgotten.
fn check_next(mut client: Client, db: Database, dir: &TempDir) -> (Client, Database) {
    client
        .query("drop index if exists small_b; create index small_b on small (b)")
        .unwrap();
    let found = "select sum(a), count(*) from small where b = 7";
    let explained = one(&mut client, &format!("explain {found}"));
    assert!(explained.contains("small_b"), "{explained}");
    assert_eq!(one(&mut client, found), "21175|22");
    client.query("checkpoint").unwrap();
    assert_eq!(one(&mut client, found), "21175|22");
    drop((client, db));
    let db = open_at(dir);
    let mut client = db.client().unwrap();
    assert_eq!(one(&mut client, found), "21175|22");
    check(&mut client);
    (client, db)
}

#[test]
fn a_change_that_comes_to_nothing_leaves_nothing() {
    let (dir, mut db) = filled();
    let mut client = db.client().unwrap();
    let small = "create table small (a int primary key, b int); insert into small select n, n % 91 from generate_series(1, 2000) n";
    client.query(small).unwrap();
    for end in 0..4 {
        match end {
            0 => {
                let refused = state(&mut client, "create unique index t_twice on t (twice)");
                assert_eq!(refused, SqlState::UNIQUE_VIOLATION);
            }
            1 => drop(
                client
                    .query("begin; create index t_note on t (note); rollback")
                    .unwrap(),
            ),
            2 => {
                let began = "begin; savepoint a; create index t_note on t (note); rollback to a; create index t_note on t (note)";
                client.query(began).unwrap();
                check(&mut client);
                client = db.client().unwrap();
            }
            // The process ends in the midst of it.
            _ => {
                client
                    .query("begin; create index t_note on t (note)")
                    .unwrap();
                drop(client);
                drop(db);
                db = open_at(&dir);
                client = db.client().unwrap();
            }
        }
        check(&mut client);
        (client, db) = check_next(client, db, &dir);
    }
}
