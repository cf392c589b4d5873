//! Schema changes that write more than a transaction can buffer: what goes to new spaces is committed ahead of them.
//!
//! Relies on: little memory, of which one transaction may buffer a tenth.  Promises: such a change is whole or not at all, for
//! everybody, whatever ends it.  Does not: kill a process (`tests/operations/large.py` does).

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Database, DatabaseConfig, Progress};
use std::sync::atomic::{AtomicBool, Ordering};
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

/// What is checked of a table that is being made is of the one who makes it: he does not wait for himself.
#[test]
fn columns_that_may_not_be_null_any_more_are_looked_at_in_what_went_ahead() {
    let (_dir, db) = filled();
    let mut client = db.client().unwrap();
    let all = "alter table t alter n drop not null, alter twice drop not null";
    client.query(all).unwrap();
    for change in [
        "alter table t add primary key (n)",
        "alter table t alter twice set not null, alter note type varchar, add check (twice > 0)",
    ] {
        client.query(change).unwrap();
        check(&mut client);
        let null = "insert into t values (0, null, 'x')";
        let before = change.contains("primary");
        assert_eq!(before, client.query(null).is_ok(), "{change}");
        client.query("delete from t where n = 0").unwrap();
    }
    client
        .query("alter table t alter twice drop not null")
        .unwrap();
    client
        .query("update t set twice = null where n = 12345")
        .unwrap();
    let again = "alter table t alter twice set not null, alter note type text";
    assert_eq!(state(&mut client, again), SqlState::NOT_NULL_VIOLATION);
    assert_eq!(
        one(&mut client, "select count(*) from t where twice is null"),
        "1"
    );
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

#[test]
fn a_table_may_be_filled_from_others_with_more_than_a_transaction() {
    let (dir, db) = filled();
    let (mut client, mut other) = (db.client().unwrap(), db.client().unwrap());
    let whole = "30000|450015000";
    let sum = |client: &mut Client, table: &str| {
        one(client, &format!("select count(*), sum(n) from {table}"))
    };
    client
        .query("create table made as select * from t")
        .unwrap();
    assert_eq!(sum(&mut other, "made"), whole);
    client.query("select * into into_made from t").unwrap();
    assert_eq!(sum(&mut other, "into_made"), whole);

    // What went ahead is there for the rest of the block, and changes like anything else.
    client
        .query("begin; create table d (n int primary key, note text); insert into d select n, note from t where n > 10")
        .unwrap();
    assert_eq!(sum(&mut client, "d"), "29990|450014945");
    assert_eq!(
        one(&mut client, "select note from d where n = 17"),
        "a note of some length about 17"
    );
    client
        .query("insert into d select n, note from t where n <= 10; update d set n = -n where n < 3; delete from d where n = 5")
        .unwrap();
    assert_eq!(sum(&mut client, "d"), "29999|450014989");
    assert_eq!(
        state(&mut other, "select 1 from d"),
        SqlState::UNDEFINED_TABLE
    );
    client.query("commit").unwrap();
    assert_eq!(sum(&mut other, "d"), "29999|450014989");

    // An emptied table, refused and accepted.
    let began = "begin; truncate made; insert into made select n + 1, twice, note from t";
    client.query(began).unwrap();
    assert_eq!(sum(&mut client, "made"), "30000|450045000");
    client.query("rollback").unwrap();
    assert_eq!(sum(&mut client, "made"), whole);
    client.query(began).unwrap();
    client.query("commit").unwrap();
    assert_eq!(sum(&mut other, "made"), "30000|450045000");

    // A row that meets one that went ahead.
    client
        .query("begin; create table e (twice int primary key)")
        .unwrap();
    assert_eq!(
        state(&mut client, "insert into e select twice from t"),
        SqlState::UNIQUE_VIOLATION
    );
    client.query("rollback").unwrap();

    // What may have to be asked back, or validated.
    client
        .query("begin; create table f (n int, note text); savepoint a")
        .unwrap();
    let insert = "insert into f select n, note from t";
    assert_eq!(state(&mut client, insert), SqlState::OUT_OF_MEMORY);
    client.query("rollback to a; release a").unwrap();
    client.query(insert).unwrap();
    assert_eq!(sum(&mut client, "f"), whole);
    client.query("rollback").unwrap();
    client
        .query("begin isolation level serializable; create table f (n int, note text)")
        .unwrap();
    assert_eq!(state(&mut client, insert), SqlState::OUT_OF_MEMORY);
    client.query("rollback").unwrap();

    drop((client, other, db));
    let db = open_at(&dir);
    let mut client = db.client().unwrap();
    check(&mut client);
    assert_eq!(sum(&mut client, "made"), "30000|450045000");
    assert_eq!(sum(&mut client, "d"), "29999|450014989");
}

/// A table that others see and that is empty is given new spaces when a statement turns out to be too large for a transaction.
#[test]
fn an_empty_table_that_is_there_may_be_filled_with_more_than_a_transaction() {
    let (dir, db) = filled();
    let (mut client, mut other) = (db.client().unwrap(), db.client().unwrap());
    let sum = |client: &mut Client, table: &str| {
        one(client, &format!("select count(*), sum(n) from {table}"))
    };
    let whole = "30000|450015000";
    let tables = "create table keyed (n int primary key, note text); create index keyed_note on keyed (note); create table plain (n int, note text)";
    client.query(tables).unwrap();
    for table in ["keyed", "plain"] {
        let insert = format!("insert into {table} select n, note from t");
        client.query(&insert).unwrap();
        assert_eq!(sum(&mut other, table), whole);
        let one_more = format!("insert into {table} values (-1, 'x')");
        other.query(&one_more).unwrap();
        assert_eq!(sum(&mut client, table), "30001|450014999");
        // Rows are there now.
        let again = format!("insert into {table} select n + 100000, note from t");
        assert_eq!(state(&mut client, &again), SqlState::OUT_OF_MEMORY);
        assert_eq!(sum(&mut client, table), "30001|450014999");
        client.query(&format!("truncate {table}")).unwrap();

        client.query(&format!("begin; {insert}")).unwrap();
        assert_eq!(sum(&mut client, table), whole);
        assert_eq!(sum(&mut other, table), "0|-");
        client
            .query(&format!(
                "{one_more}; delete from {table} where n = 7; rollback"
            ))
            .unwrap();
        assert_eq!(sum(&mut client, table), "0|-");
        client.query(&format!("begin; {one_more}")).unwrap();
        // Its own row of before would have to move, too.
        assert_eq!(state(&mut client, &insert), SqlState::OUT_OF_MEMORY);
        client.query("rollback").unwrap();
        client.query(&insert).unwrap();
        assert_eq!(sum(&mut other, table), whole);
    }
    let found = "select n from keyed where note = 'a note of some length about 17000'";
    assert_eq!(one(&mut other, found), "17000");
    drop((client, other, db));
    let db = open_at(&dir);
    let mut client = db.client().unwrap();
    check(&mut client);
    for table in ["keyed", "plain"] {
        assert_eq!(sum(&mut client, table), whole);
    }
}

/// Goal: an INSERT from a query into an empty table is not written twice where it need not be. Method: one that would fit in the transaction,
/// but is much; others find the table taken from then on, unless one of them writes to it in a block, which is not waited for.
#[test]
fn an_empty_table_is_given_new_spaces_before_a_statement_has_filled_the_transaction() {
    let (_dir, db) = filled();
    let (mut client, mut other) = (db.client().unwrap(), db.client().unwrap());
    let tables =
        "create table keyed (n int primary key, note text); create table plain (n int, note text)";
    client.query(tables).unwrap();
    let counted = |client: &mut Client, table: &str| {
        one(client, &format!("select count(*), sum(n) from {table}"))
    };
    for table in ["keyed", "plain"] {
        let much = format!("insert into {table} select n, note from t where n <= 3000");
        let one_more = format!("insert into {table} values (-1, 'x')");
        client.query(&format!("begin; {much}")).unwrap();
        let Ok(Progress::Waiting(pause)) = other.start(&one_more) else {
            panic!("{table} is not taken");
        };
        client.query("rollback").unwrap();
        pause.wait();
        while let Progress::Waiting(pause) = other.resume().unwrap() {
            pause.wait();
        }
        client.query(&format!("truncate {table}")).unwrap();

        other.query(&format!("begin; {one_more}")).unwrap();
        client.query(&much).unwrap();
        assert_eq!(counted(&mut client, table), "3000|4501500");
        other.query("commit").unwrap();
        assert_eq!(counted(&mut client, table), "3001|4501499");
        // It is not empty.
        let more = much.replace("select n", "select n + 10000");
        client.query(&format!("begin; {more}")).unwrap();
        other.query(&one_more.replace("-1", "-2")).unwrap();
        client.query("commit").unwrap();
        assert_eq!(counted(&mut other, table), "6002|39002997");
    }
}

/// Goal: a statement whose rows go ahead reads everything else as it was when it began. Method: amounts are moved between accounts all
/// the time; a copy, made row by row by way of a key, has the sum of all of them.
#[test]
fn what_goes_ahead_is_read_from_one_snapshot() {
    let (_dir, db) = filled();
    let mut client = db.client().unwrap();
    let accounts = "create table account (n int primary key, amount int not null); insert into account select n, 100 from generate_series(1, 500) n";
    client.query(accounts).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = db.client().unwrap();
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                let (from, to) = (round % 500 + 1, (round * 7 + 3) % 500 + 1);
                let moved = format!(
                    "begin; update account set amount = amount - 1 where n = {from}; update account set amount = amount + 1 where n = {to}; commit"
                );
                client.query(&moved).unwrap();
            }
        });
        let copied = [0, 1, 2].map(|round| {
            let copied = format!(
                "create table copied{round} as select t.n, t.note, a.amount from t join account a on a.n = (t.n - 1) % 500 + 1"
            );
            client.query(&copied).map(|_| {
                let sum = format!("select count(*), sum(amount) from copied{round}");
                one(&mut client, &sum)
            })
        });
        stop.store(true, Ordering::Relaxed);
        for sum in copied {
            assert_eq!(sum.unwrap(), "30000|3000000");
        }
    });
}
