//! What a schema change does not wait for, and does not look at without need.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::Client;
use support::{ends, error, open, rows, tag, until_it_waits};

#[test]
fn storage_parameters_wait_for_no_writer() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("create table t (a int primary key, b int); insert into t values (1, 1)")
        .unwrap();
    a.query("begin; update t set b = 2").unwrap();
    for sql in [
        "alter table t set (fillfactor = 70, autovacuum_enabled = off)",
        "alter table t reset (autovacuum_enabled), alter column b set statistics 10",
        "comment on table t is 'x'",
        "comment on column t.b is 'y'",
        "grant select on t to public",
        "create view v as select a from t",
        "create function f() returns int language sql as 'select 1'",
        "drop view v",
        "drop function f()",
    ] {
        assert!(until_it_waits(&mut b, sql).is_none(), "{sql}");
    }
    a.query("update t set b = 3; commit").unwrap();
    assert_eq!(
        rows(
            &mut b,
            "select b, reloptions from t, pg_class where relname = 't'"
        ),
        ["3|{fillfactor=70}"]
    );
    // What plans know of waits as before.
    a.query("begin; update t set b = 4").unwrap();
    let both = "alter table t set (fillfactor = 80), alter column b set default 7";
    let pause = until_it_waits(&mut b, both).unwrap();
    a.query("commit").unwrap();
    ends(&mut b, pause);
}

/// What sessions have in their temporary schemas is looked at by who may take something from them, and is found then.
#[test]
fn changes_find_what_temporary_tables_of_many_need() {
    let (_dir, db) = open();
    let mut a = db.client().unwrap();
    a.query(
        "create type mood as enum ('x'); create domain positive as int check (value > 0);
         create table lasting (id int primary key, v text);
         create function g() returns int language sql as 'select 1'; create role r",
    )
    .unwrap();
    let mut others: Vec<Client> = (0..5).map(|_| db.client().unwrap()).collect();
    for (number, other) in others.iter_mut().enumerate() {
        other
            .query("create temp table t (id serial primary key, v text)")
            .unwrap();
        match number {
            1 => other.query("create temp table m (v mood)").map(drop),
            2 => other.query("create temp table p (v positive)").map(drop),
            3 => other
                .query("create temp view w as select id from lasting")
                .map(drop),
            _ => Ok(()),
        }
        .unwrap();
    }
    for sql in [
        "drop type mood",
        "drop domain positive",
        "drop table lasting",
    ] {
        let found = error(&mut a, sql);
        assert_eq!(
            found.state,
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            "{sql}: {found:?}"
        );
    }
    for sql in [
        "create table made (id int primary key references lasting)",
        "create index on made (id)",
        "comment on type mood is 'x'",
        "grant select on lasting to r",
        "create type other as enum ('x')",
        "alter table lasting add column w int",
        "drop function g()",
        "drop table made",
        "drop type other",
    ] {
        assert!(!tag(&mut a, sql).is_empty(), "{sql}");
        // Planned before another change has come between.
        others[4]
            .query("create table if not exists beside (a int)")
            .unwrap();
    }
    assert_eq!(rows(&mut others[1], "select count(*) from m"), ["0"]);
    assert_eq!(
        rows(&mut others[3], "select * from w"),
        Vec::<String>::new()
    );
    drop(others);
    for sql in [
        "drop type mood",
        "drop domain positive",
        "drop table lasting",
    ] {
        a.query(sql).unwrap();
    }
}
