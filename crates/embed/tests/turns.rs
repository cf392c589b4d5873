//! Whose schema changes wait for whose: those of one database for each other, those of several only where they concern what all
//! share; and what comes of them whichever ends first, and however.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Database};
use std::collections::BTreeSet;
use support::{ends, error, open, reopen, rows, state, tag, until_it_waits, waits};
use tempfile::TempDir;

fn client(db: &Database, name: &str) -> Client {
    db.named(name).unwrap().client().unwrap()
}

fn run(client: &mut Client, sql: &str) {
    client.query(sql).unwrap();
}

/// Two databases beside the first one.
fn house() -> (TempDir, Database) {
    let (dir, db) = open();
    run(
        &mut db.client().unwrap(),
        "create database a; create database b; create role keeper; create role goer",
    );
    (dir, db)
}

const NAMES: [&str; 3] = ["quintet", "a", "b"];

/// No number is in two databases, and each table has what was put into it.
fn check(db: &Database) {
    let mut seen = BTreeSet::new();
    for name in NAMES {
        let mut client = client(db, name);
        // What has rows or entries of its own, and so a space.
        let numbers = "select oid from pg_class where oid > 16383 and relkind in ('r', 'i', 'S')";
        for number in rows(&mut client, numbers) {
            assert!(seen.insert(number.clone()), "{number} twice, in {name}");
        }
        for table in rows(
            &mut client,
            "select relname from pg_class where relkind = 'r' and relname like 't%'",
        ) {
            let found = rows(&mut client, &format!("select distinct v from {table}"));
            assert_eq!(found, [name], "{table}");
        }
    }
}

fn make(name: &str, table: &str) -> String {
    format!(
        "create table {table} (id serial primary key, v text); insert into {table} (v) values ('{name}'), ('{name}')"
    )
}

#[test]
fn a_change_waits_for_none_of_another_database() {
    let (dir, db) = house();
    let mut all: Vec<Client> = NAMES.iter().map(|name| client(&db, name)).collect();
    run(&mut all[0], "begin");
    run(&mut all[0], &make("quintet", "t1"));
    for sql in [
        &make("a", "t1")[..],
        "create index on t1 (v)",
        "alter table t1 add column w int",
        "create role made",
        "alter role made set work_mem = '1MB'",
        "create database c",
        "alter database c owner to made",
        "create view w as select 1; drop view w",
        "drop database c",
    ] {
        let of_b = sql.replace("'a'", "'b'");
        assert!(until_it_waits(&mut all[1], sql).is_none(), "{sql}");
        if sql.contains("t1") {
            assert!(until_it_waits(&mut all[2], &of_b).is_none(), "{sql}");
        }
    }
    // One of the same database does.
    let mut beside = client(&db, "quintet");
    let pause = waits(&mut beside, "create table u (v int)");
    run(&mut all[0], &make("quintet", "t2"));
    run(&mut all[0], "commit");
    ends(&mut beside, pause);
    for mut client in all {
        assert_eq!(
            rows(
                &mut client,
                "select count(*) from pg_roles where rolname = 'made'"
            ),
            ["1"]
        );
    }
    drop(beside);
    check(&db);
    db.close().unwrap();
    drop(db);
    check(&reopen(&dir));
}

#[test]
fn what_is_shared_is_kept_whichever_commits_first() {
    for b_is_first in [true, false] {
        for ends_with in ["commit", "rollback", "rollback to s; commit"] {
            let (dir, db) = house();
            let (mut a, mut b) = (client(&db, "a"), client(&db, "b"));
            run(&mut b, "begin");
            run(&mut b, &make("b", "t1"));
            run(&mut a, "begin");
            run(&mut a, &make("a", "t1"));
            run(
                &mut a,
                "savepoint s; create role made login; grant keeper to made",
            );
            run(&mut b, &make("b", "t2"));
            let mut end = |b_too: bool| match b_too {
                true => run(&mut b, "commit"),
                false => run(&mut a, ends_with),
            };
            end(b_is_first);
            end(!b_is_first);
            let there = match ends_with {
                "commit" => "1",
                _ => "0",
            };
            let look = |db: &Database| {
                for name in NAMES {
                    let mut client = client(db, name);
                    let roles = "select count(*) from pg_roles where rolname = 'made'";
                    assert_eq!(rows(&mut client, roles), [there], "{name} {ends_with}");
                    let tables = "select count(*) from pg_tables where tablename like 't_'";
                    let count = match (name, ends_with) {
                        ("quintet", _) | ("a", "rollback") => "0",
                        ("a", _) => "1",
                        _ => "2",
                    };
                    assert_eq!(rows(&mut client, tables), [count], "{name} {ends_with}");
                }
                check(db);
            };
            look(&db);
            if there == "1" {
                run(&mut b, "grant select on t1 to made");
            }
            drop((a, b));
            db.close().unwrap();
            drop(db);
            look(&reopen(&dir));
        }
    }
}

#[test]
fn changes_of_what_is_shared_take_turns() {
    let (_dir, db) = house();
    let (mut a, mut b) = (client(&db, "a"), client(&db, "b"));
    for sql in [
        "create role second",
        "alter role keeper nologin",
        "grant keeper to goer",
        "alter role keeper set work_mem = '2MB'",
        "create database c",
    ] {
        run(&mut a, "begin; create role first");
        let pause = waits(&mut b, sql);
        run(&mut a, "rollback");
        ends(&mut b, pause);
    }
    // In one database, too, whoever has its turn already does not wait for one who waits for that.
    let mut beside = client(&db, "a");
    run(&mut a, "begin; create table t1 (v text)");
    let pause = waits(&mut beside, "create role second_of_a");
    assert!(until_it_waits(&mut a, "create role first_of_a; commit").is_none());
    ends(&mut beside, pause);
    run(&mut a, "drop table t1");
    // A transaction that has changed its own before sees what others have committed meanwhile.
    run(&mut b, "begin");
    run(&mut b, &make("b", "t1"));
    run(&mut a, "create role first");
    run(&mut b, "create role third; grant first to third; commit");
    let both = "select count(*) from pg_roles where rolname in ('first', 'third')";
    for name in NAMES {
        assert_eq!(rows(&mut client(&db, name), both), ["2"], "{name}");
    }
    // Who is told to give up, or goes, leaves nothing behind.
    run(&mut a, "begin; create role fourth");
    let pause = waits(&mut b, "create role fourth");
    b.session().cancel_handle().cancel();
    let refused = b.resume().err().unwrap();
    assert_eq!(refused.state, SqlState::QUERY_CANCELED);
    drop(pause);
    let pause = waits(&mut b, "create role fourth");
    drop(a);
    ends(&mut b, pause);
    assert_eq!(
        state(&mut b, "create role fourth"),
        SqlState::DUPLICATE_OBJECT
    );
}

#[test]
fn a_role_is_not_dropped_that_an_open_change_elsewhere_needs() {
    let (_dir, db) = house();
    let (mut a, mut b) = (client(&db, "a"), client(&db, "b"));
    run(
        &mut b,
        "begin; create table t1 (v text); alter table t1 owner to goer",
    );
    let pause = waits(&mut a, "drop role goer");
    run(&mut b, "commit");
    pause.wait();
    let refused = loop {
        match a.resume() {
            Err(error) => break error,
            Ok(quintet_embed::Progress::Waiting(pause)) => pause.wait(),
            Ok(_) => panic!("it was dropped"),
        }
    };
    assert_eq!(refused.state, SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    // And the other way round.
    run(&mut a, "begin; drop role keeper");
    let pause = waits(&mut b, "grant select on t1 to keeper");
    run(&mut a, "commit");
    pause.wait();
    let refused = loop {
        match b.resume() {
            Err(error) => break error,
            Ok(quintet_embed::Progress::Waiting(pause)) => pause.wait(),
            Ok(_) => panic!("it was granted"),
        }
    };
    assert_eq!(refused.state, SqlState::UNDEFINED_OBJECT);
    // Two who drop roles do not wait for each other in a ring.
    run(&mut b, "drop table t1");
    for i in 0..10 {
        run(&mut a, &format!("create role x{i}; create role y{i}"));
    }
    std::thread::scope(|scope| {
        for (client, letter) in [(&mut a, 'x'), (&mut b, 'y')] {
            scope.spawn(move || {
                for i in 0..10 {
                    run(client, &format!("drop role {letter}{i}"));
                }
            });
        }
    });
    assert!(
        error(&mut a, "drop role x0")
            .message
            .contains("does not exist")
    );
}

#[test]
fn a_database_is_copied_with_its_numbers_and_those_of_others() {
    let (dir, db) = house();
    let mut b = client(&db, "b");
    run(&mut b, &make("b", "t1"));
    run(&mut b, "begin");
    run(&mut b, &make("b", "t2"));
    let mut first = client(&db, "quintet");
    run(&mut client(&db, "a"), &make("a", "t1"));
    let pause = waits(&mut first, "create database d template a");
    run(&mut b, &make("b", "t3"));
    run(&mut b, "commit");
    ends(&mut first, pause);
    let mut d = client(&db, "d");
    run(&mut d, &make("d", "t2"));
    run(&mut b, &make("b", "t4"));
    assert_eq!(rows(&mut d, "select distinct v from t1"), ["a"]);
    assert_eq!(rows(&mut d, "select distinct v from t2"), ["d"]);
    drop((b, d, first));
    check(&db);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    check(&db);
    assert_eq!(
        rows(&mut client(&db, "d"), "select distinct v from t1"),
        ["a"]
    );
}

/// Many of each, in transactions of several statements that end this way and that.
#[test]
fn many_side_by_side_do_not_meet() {
    let (dir, db) = house();
    std::thread::scope(|scope| {
        for (number, name) in NAMES.iter().enumerate() {
            let mut client = client(&db, name);
            scope.spawn(move || {
                for i in 0..25 {
                    run(&mut client, "begin");
                    run(&mut client, &make(name, &format!("t{i}")));
                    run(&mut client, "savepoint s");
                    run(&mut client, &make(name, &format!("t{i}_x")));
                    if (i + number) % 3 == 0 {
                        run(&mut client, "rollback to s");
                    }
                    run(&mut client, &make(name, &format!("t{i}_y")));
                    run(
                        &mut client,
                        if (i + number) % 5 == 0 {
                            "rollback"
                        } else {
                            "commit"
                        },
                    );
                    if i % 4 == 0 {
                        run(&mut client, &format!("create role r{name}{i}"));
                    }
                    if i % 8 == 4 {
                        run(&mut client, &format!("drop role r{name}{i}"));
                    }
                }
            });
        }
    });
    let look = |db: &Database| {
        check(db);
        for name in NAMES {
            let mut client = client(db, name);
            let roles = "select count(*) from pg_roles where rolname ~ '^r(quintet|a|b)'";
            assert_eq!(rows(&mut client, roles), ["12"], "{name}");
            assert_eq!(tag(&mut client, "create table u (v int)"), "CREATE TABLE");
            assert_eq!(tag(&mut client, "drop table u"), "DROP TABLE");
        }
    };
    look(&db);
    db.close().unwrap();
    drop(db);
    look(&reopen(&dir));
}
