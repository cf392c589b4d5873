//! What tables, types and policies call: after RENAME it works on, after DROP … CASCADE it is gone, and both stay so over reopening.
//! PostgreSQL's answers are in `tests/slt/cases/function_dependents.slt`.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::Client;
use support::{answer, open, open_with, reopen, rows, state};

/// `twice` is called from all that can call a function.
const SETUP: &str = "
    create function twice(n int) returns int language sql immutable as 'select n * 2';
    create function fire() returns trigger language plpgsql as $$ begin new.fired := 'yes'; return new; end $$;
    create domain counted as int default twice(21);
    create table t (id int primary key, d int default twice(1), g int generated always as (twice(id)) stored, n int, fired text,
        own counted, constraint small check (twice(n) < 100));
    create index t_twice on t (twice(n));
    create index t_some on t (id) where twice(id) > 4;
    create trigger fires before insert on t for each row execute function fire();
    create role reader;
    grant select on t to reader;
    create policy few on t for select to reader using (twice(id) < 5);
    alter table t enable row level security;
    create view v as select id, twice(n) as n from t;
    insert into t (id, n) values (1, 10), (2, 20), (3, 30);";

/// What `reader` sees.
fn read(c: &mut Client) -> String {
    answer(c, "set role reader").unwrap();
    let seen = rows(c, "select id from t order by id").join(" ");
    answer(c, "reset role").unwrap();
    seen
}

#[test]
fn what_calls_a_function_calls_it_by_its_new_name() {
    let (dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    let renames =
        "alter function twice(int) rename to doubled; alter function fire() rename to fires_now";
    answer(&mut c, renames).unwrap();
    let look = |c: &mut Client, id: i32| {
        let insert = format!("insert into t (id, n) values ({id}, 40) returning d, g, fired, own");
        assert_eq!(rows(c, &insert), [format!("2|{}|yes|42", id * 2)]);
        let large = format!("insert into t (id, n) values ({}, 50)", id + 1);
        assert_eq!(state(c, &large), SqlState::CHECK_VIOLATION);
        let by_index = "select id from t where doubled(n) = 40";
        assert_eq!(rows(c, by_index), ["2"]);
        assert_eq!(rows(c, "select n from v where id = 3"), ["60"]);
        assert_eq!(read(c), "1 2");
        assert_eq!(state(c, "select twice(1)"), SqlState::UNDEFINED_FUNCTION);
        let check = "select pg_get_constraintdef(oid) from pg_constraint where conname = 'small'";
        assert_eq!(rows(c, check), ["CHECK ((doubled(n) < 100))"]);
    };
    look(&mut c, 10);
    drop(c);
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    look(&mut c, 20);
    // It is needed by its new name, too.
    let kept = state(&mut c, "drop function doubled(int)");
    assert_eq!(kept, SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    // Another of the old name takes nothing over.
    let other = "create function twice(n int) returns int language sql immutable as 'select -1'";
    answer(&mut c, other).unwrap();
    drop(c);
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    let insert = "insert into t (id, n) values (30, 49) returning d, g, own";
    assert_eq!(rows(&mut c, insert), ["2|60|42"]);
}

#[test]
fn what_calls_a_function_goes_with_it() {
    let (dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    for drop in ["drop function twice(int)", "drop function fire()"] {
        assert_eq!(state(&mut c, drop), SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    }
    // What is taken back has not happened.
    let undone = "begin; drop function twice(int) cascade; drop function fire() cascade; rollback";
    answer(&mut c, undone).unwrap();
    let insert = "insert into t (id, n) values (4, 40) returning d, g, fired, own";
    assert_eq!(rows(&mut c, insert), ["2|8|yes|42"]);
    let all = "drop function twice(int) cascade; drop function fire() cascade";
    answer(&mut c, all).unwrap();
    let look = |c: &mut Client, id: i32| {
        let insert = format!("insert into t (id, n) values ({id}, 1000) returning *");
        assert_eq!(rows(c, &insert), [format!("{id}|-|1000|-")]);
        let columns = "select string_agg(attname, ' ' order by attnum) from pg_attribute
            where attrelid = 't'::regclass and attnum > 0 and not attisdropped";
        assert_eq!(rows(c, columns), ["id d n fired"]);
        let indexes = "select indexname from pg_indexes where tablename = 't'";
        assert_eq!(rows(c, indexes), ["t_pkey"]);
        for none in [
            "select count(*) from pg_constraint where conname = 'small'",
            "select count(*) from pg_trigger where tgrelid = 't'::regclass",
            "select count(*) from pg_policy",
            "select count(*) from pg_type where typname = 'counted'",
            "select count(*) from pg_proc where proname in ('twice', 'fire')",
            "select count(*) from pg_attrdef where adrelid = 't'::regclass",
        ] {
            assert_eq!(rows(c, none), ["0"], "{none}");
        }
        assert_eq!(state(c, "select * from v"), SqlState::UNDEFINED_TABLE);
        // Nobody says any more who sees a row.
        assert_eq!(read(c), "");
    };
    look(&mut c, 10);
    drop(c);
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    look(&mut c, 20);
    assert_eq!(rows(&mut c, "select d from t where id = 2"), ["2"]);
    // Their names are free.
    let functions = SETUP.split("create table").next().unwrap();
    answer(&mut c, functions).unwrap();
    answer(
        &mut c,
        "alter table t add g int generated always as (twice(id)) stored",
    )
    .unwrap();
    drop(c);
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    assert_eq!(rows(&mut c, "select g from t where id = 20"), ["40"]);
}

#[test]
fn names_of_a_search_path_mean_the_same_later() {
    let setup = "create schema a; create schema b;
        create function a.f(n int) returns int language sql immutable as 'select n * 10';
        create function b.o(n int) returns int language sql immutable as 'select 2';
        create function a.o(n numeric) returns int language sql immutable as 'select 1';
        set search_path = a, b, public;
        create table public.t (n int check (f(n) < 100), g int generated always as (f(n) + o(n)) stored);
        create index t_f on public.t (f(n)) where o(n) = 2";
    let (dir, db) = open_with(setup);
    let mut c = db.client().unwrap();
    answer(&mut c, "reset search_path").unwrap();
    // These would be found first now.
    let others = "create function f(n int) returns int language sql immutable as 'select -1';
        create function o(n int) returns int language sql immutable as 'select -1'";
    answer(&mut c, others).unwrap();
    drop(c);
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    assert_eq!(rows(&mut c, "insert into t values (3) returning g"), ["32"]);
    assert_eq!(
        state(&mut c, "insert into t values (10)"),
        SqlState::CHECK_VIOLATION
    );
    let kept = state(&mut c, "drop function a.f(int)");
    assert_eq!(kept, SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    answer(&mut c, "drop function f(int)").unwrap();
    answer(&mut c, "alter schema a rename to renamed").unwrap();
    assert_eq!(rows(&mut c, "insert into t values (4) returning g"), ["42"]);
}

/// Goal: what a table's text needs is there when the database is opened, whichever was made first. Method: a default, a check, a generated
/// column and a domain's default call functions over rows of tables that come before theirs and behind them.
#[test]
fn functions_over_rows_of_other_tables_are_there_after_a_restart() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    for sql in [
        "create table early (n int)",
        "create function of_early(r early) returns int language sql immutable as 'select r.n'",
        "create domain positive as int default of_early(row(3)::early)",
        "create table texts (a int, v int default of_early(row(1)::early), d positive, \
         g int generated always as (of_early(row(a)::early) + 1) stored, check (of_early(row(a)::early) < 9))",
        "create table late (n int, m int default 5)",
        "create function of_late(r late) returns int language sql immutable as 'select r.m'",
        "alter table texts add column w int default of_late(row(1, 4)::late)",
    ] {
        c.query(sql).unwrap();
    }
    let insert = "insert into texts (a) values (2) returning a, v, d, g, w";
    assert_eq!(rows(&mut c, insert), ["2|1|3|3|4"]);
    drop(c);
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    assert_eq!(rows(&mut c, insert), ["2|1|3|3|4"]);
    assert_eq!(
        state(&mut c, "insert into texts (a) values (9)"),
        SqlState::CHECK_VIOLATION
    );
    assert_eq!(
        rows(&mut c, "insert into late (n) values (1) returning m"),
        ["5"]
    );
}
