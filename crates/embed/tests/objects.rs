//! What a session promises of views, schemas, comments and names of objects: they are there for the transaction that
//! makes them at once, for others when it commits, and after reopening.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::Client;
use support::{open, reopen, rows, state};

#[test]
fn views_schemas_and_comments_are_there_after_reopening() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create schema s; create table s.t (id int primary key, name text); insert into s.t values (1, 'a'), (2, 'b');
         set search_path = s; create view v as select * from t; set search_path = public;
         create view w as select name from s.v where id > 1;
         comment on table s.t is 'a table'; comment on column s.t.name is 'a name'; comment on view w is 'gone again';
         comment on view w is null; alter table s.t add column more int",
    )
    .unwrap();
    let look = |c: &mut Client| {
        assert_eq!(rows(c, "select * from s.v order by id"), ["1|a", "2|b"]);
        assert_eq!(rows(c, "select * from w"), ["b"]);
        assert_eq!(
            rows(
                c,
                "select obj_description('s.t'::regclass), col_description('s.t'::regclass, 2), obj_description('w'::regclass)"
            ),
            ["a table|a name|-"]
        );
        assert_eq!(rows(c, "select 's.t'::regclass, 'w'::regclass"), ["s.t|w"]);
    };
    look(&mut c);
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    look(&mut c);
    let refused = state(&mut c, "drop table s.t");
    assert_eq!(refused, SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    c.query("drop schema s cascade").unwrap();
    assert_eq!(state(&mut c, "select * from w"), SqlState::UNDEFINED_TABLE);
    // The number of what is gone keeps no comment.
    let left = rows(&mut c, "select description from pg_description");
    assert_eq!(
        left,
        ["PL/pgSQL procedural language", "standard public schema"]
    );
}

#[test]
fn a_view_is_seen_by_others_when_its_transaction_commits() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("create table t (id int); insert into t values (7)")
        .unwrap();
    a.query("begin; create view v as select id + 1 as next from t")
        .unwrap();
    assert_eq!(rows(&mut a, "select * from v"), ["8"]);
    assert_eq!(state(&mut b, "select * from v"), SqlState::UNDEFINED_TABLE);
    a.query("commit").unwrap();
    assert_eq!(rows(&mut b, "select * from v"), ["8"]);
    b.query("begin; drop view v; rollback").unwrap();
    assert_eq!(rows(&mut b, "select * from v"), ["8"]);
    b.query("drop view v").unwrap();
    assert_eq!(state(&mut a, "select * from v"), SqlState::UNDEFINED_TABLE);
}

#[test]
fn a_table_made_from_a_query_and_its_rows_are_one_change() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("begin; create table n as select i, i * i as square from generate_series(1, 100) as i")
        .unwrap();
    assert_eq!(
        rows(&mut a, "select count(*), sum(square) from n"),
        ["100|338350"]
    );
    assert_eq!(state(&mut b, "select * from n"), SqlState::UNDEFINED_TABLE);
    a.query("rollback").unwrap();
    assert_eq!(state(&mut a, "select * from n"), SqlState::UNDEFINED_TABLE);
    assert_eq!(
        a.query("create table n as select 1 as one").unwrap()[0].tag,
        "SELECT 1"
    );
    // A query that fails on the way leaves no table.
    let failing = "create table m as select 1 / (3 - i) as x from generate_series(1, 5) as i";
    assert_eq!(state(&mut a, failing), SqlState::DIVISION_BY_ZERO);
    assert_eq!(state(&mut a, "select * from m"), SqlState::UNDEFINED_TABLE);
}

#[test]
fn a_kept_plan_follows_the_search_path() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create schema a; create schema b; create table a.t (v text); create table b.t (v text);
         insert into a.t values ('in a'); insert into b.t values ('in b'); set search_path = a;
         prepare p as select v from t",
    )
    .unwrap();
    assert_eq!(rows(&mut c, "execute p"), ["in a"]);
    c.query("set search_path = b").unwrap();
    assert_eq!(rows(&mut c, "execute p"), ["in b"]);
    assert_eq!(rows(&mut c, "select v from t"), ["in b"]);
    c.query("begin; set local search_path = a").unwrap();
    assert_eq!(
        rows(&mut c, "select v, 'b.t'::regclass from t"),
        ["in a|b.t"]
    );
    c.query("commit").unwrap();
    assert_eq!(rows(&mut c, "select v, 'b.t'::regclass from t"), ["in b|t"]);
    assert_eq!(
        rows(&mut c, "select set_config('search_path', 'a, b', false)"),
        ["a, b"]
    );
    assert_eq!(rows(&mut c, "select current_schemas(false)"), ["{a,b}"]);
}

#[test]
fn routines_read_views_and_know_names() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create table t (id int primary key, v int); insert into t values (1, 10), (2, 20);
         create view big as select id from t where v > 15;
         create function biggest() returns int language plpgsql as
             'declare id int; begin select max(b.id) into id from big b; return id; end';
         create function known() returns text language sql as 'select ''t''::regclass::text'",
    )
    .unwrap();
    assert_eq!(rows(&mut c, "select biggest(), known()"), ["2|t"]);
    c.query("create or replace view big as select id from t where v < 15")
        .unwrap();
    assert_eq!(rows(&mut c, "select biggest()"), ["1"]);
}

#[test]
fn generated_columns_follow_every_way_of_writing_and_reopening() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create table t (id int primary key, v int, double int generated always as (v * 2) stored);
         insert into t (id, v) values (1, 10), (2, 20);
         create function raise_by(n int) returns int language plpgsql as
             'declare r int; begin update t set v = v + n where id = 1 returning double into r; return r; end';
         create procedure add_row(i int, w int) language sql as 'insert into t (id, v) values (i, w)'",
    )
    .unwrap();
    assert_eq!(rows(&mut c, "select raise_by(5)"), ["30"]);
    c.query("call add_row(3, 7)").unwrap();
    assert_eq!(
        rows(&mut c, "select double from t order by id"),
        ["30", "40", "14"]
    );
    c.query("alter table t add column n serial").unwrap();
    assert_eq!(rows(&mut c, "select n from t order by id"), ["1", "2", "3"]);
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    c.query("update t set v = v + 1").unwrap();
    assert_eq!(
        rows(&mut c, "select double from t order by id"),
        ["32", "42", "16"]
    );
    let next = rows(
        &mut c,
        "insert into t (id, v) values (9, 9) returning n > 3, double",
    );
    assert_eq!(next, ["t|18"]);
}

#[test]
fn only_constraints_have_a_constraints_definition() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create table t (id int primary key, u int constraint once unique, v int);
         create index plain on t (v); create unique index unlike on t (v, u)",
    )
    .unwrap();
    let found = rows(
        &mut c,
        "select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 't'::regclass order by 1",
    );
    assert_eq!(found, ["once|UNIQUE (u)", "t_pkey|PRIMARY KEY (id)"]);
    let found = rows(
        &mut c,
        "select pg_get_constraintdef('plain'::regclass::oid), pg_get_constraintdef('unlike'::regclass::oid)",
    );
    assert_eq!(found, ["-|-"]);
}

#[test]
fn discard_sequences_forgets_what_they_gave() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create sequence s; select nextval('s')").unwrap();
    assert_eq!(rows(&mut c, "select currval('s')"), ["1"]);
    assert_eq!(c.query("discard plans").unwrap()[0].tag, "DISCARD PLANS");
    assert_eq!(rows(&mut c, "select currval('s')"), ["1"]);
    let answer = c.query("discard sequences").unwrap();
    assert_eq!(answer[0].tag, "DISCARD SEQUENCES");
    let expected = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
    assert_eq!(state(&mut c, "select currval('s')"), expected);
    assert_eq!(rows(&mut c, "select nextval('s')"), ["2"]);
}

/// Names may begin with the database's own, as dbt writes them; another's is refused.
#[test]
fn names_begin_with_the_databases_own() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    let own = rows(&mut c, "select current_database()").remove(0);
    c.query(&format!(
        "create schema s; create table \"{own}\".s.t (a int); create index i on \"{own}\".s.t (a);
         create view \"{own}\".s.v as select \"{own}\".s.t.a from \"{own}\".s.t;
         create type \"{own}\".s.e as enum ('x'); create domain \"{own}\".s.d as int;
         create function \"{own}\".s.f(a int) returns int language sql as 'select a + 1';
         comment on table \"{own}\".s.t is 'one'; comment on column \"{own}\".s.t.a is 'two';
         insert into \"{own}\".s.t values (1)"
    ))
    .unwrap();
    let query = format!(
        "select \"{own}\".s.t.*, \"{own}\".s.f(\"{own}\".s.t.a), \"{own}\".pg_catalog.upper('a'), 'x'::\"{own}\".s.e,
             3::\"{own}\".pg_catalog.int4, g
         from \"{own}\".s.t, \"{own}\".pg_catalog.generate_series(5, 5) g"
    );
    assert_eq!(rows(&mut c, &query), ["1|2|A|x|3|5"]);
    assert_eq!(
        rows(
            &mut c,
            "select obj_description('s.t'::regclass), col_description('s.t'::regclass, 1)"
        ),
        ["one|two"]
    );
    for other in [
        "select other.s.t.a from s.t",
        "select other.s.t.* from s.t",
        "select other.s.f(1)",
        "select 1::other.s.d",
        "drop table if exists other.s.t",
        "comment on table other.s.t is 'x'",
        "select * from other.s.t",
    ] {
        let refused = state(&mut c, other);
        assert_eq!(refused, SqlState::FEATURE_NOT_SUPPORTED, "{other}");
    }
    c.query(&format!(
        "drop view if exists \"{own}\".s.v cascade; drop index \"{own}\".s.i; drop function \"{own}\".s.f(int);
         drop type \"{own}\".s.e; drop domain \"{own}\".s.d; drop table if exists \"{own}\".s.t cascade;
         drop schema s"
    ))
    .unwrap();
}

/// What test suites do between tests: everything in `public` goes with the schema, which can be made anew. Goal: until then
/// bare names mean nothing, also after reopening.
#[test]
fn the_schema_public_can_be_dropped_and_made_anew() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create table one (id serial primary key); create view v as select * from one; create sequence q;
         create type e as enum ('x'); create function f() returns int language sql as 'select 1';
         create schema s; create table s.t (a e, b int references one, c int default nextval('q'), d int)",
    )
    .unwrap();
    let refused = state(&mut c, "drop schema public");
    assert_eq!(refused, SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    c.query(
        "begin; drop schema public cascade; create schema public; create table u (a int); rollback",
    )
    .unwrap();
    assert_eq!(rows(&mut c, "select count(*) from v"), ["0"]);
    c.query("drop schema if exists public cascade").unwrap();
    c.query("drop schema if exists public cascade").unwrap();
    let look = |c: &mut Client| {
        assert_eq!(rows(c, "select current_schema() is null"), ["t"]);
        let state_of = |c: &mut Client, text| state(c, text);
        assert_eq!(
            state_of(c, "create table t (a int)"),
            SqlState::INVALID_SCHEMA_NAME
        );
        assert_eq!(
            state_of(c, "create table public.t (a int)"),
            SqlState::INVALID_SCHEMA_NAME
        );
        assert_eq!(state_of(c, "select * from one"), SqlState::UNDEFINED_TABLE);
        assert_eq!(
            state_of(c, "drop schema public"),
            SqlState::INVALID_SCHEMA_NAME
        );
        let columns = "select string_agg(attname, ',') from pg_attribute
            where attrelid = 's.t'::regclass and attnum > 0 and not attisdropped";
        assert_eq!(rows(c, columns), ["b,c,d"]);
        assert_eq!(
            rows(
                c,
                "select count(*) from pg_namespace where nspname = 'public'"
            ),
            ["0"]
        );
    };
    look(&mut c);
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    look(&mut c);
    c.query("create schema public; create table t (a int); insert into public.t values (7)")
        .unwrap();
    assert_eq!(
        rows(&mut c, "select current_schema(), a from t"),
        ["public|7"]
    );
    let refused = state(&mut c, "create schema public");
    assert_eq!(refused, SqlState::DUPLICATE_SCHEMA);
    // It belongs to who made it, and to nobody else.
    c.query("create role r; set role r").unwrap();
    let refused = state(&mut c, "create table u (a int)");
    assert_ne!(refused, SqlState::SUCCESSFUL_COMPLETION);
    c.query("reset role; grant all on schema public to public; set role r; create table u (a int)")
        .unwrap();
}

/// FORCE_QUOTE quotes values, but neither NULL nor the names in the first line.
#[test]
fn copy_quotes_the_columns_that_it_is_told_to() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    let mut copied = |options: &str| {
        let query = "select 1 as a, 'x\"y' as b, null as c";
        let text = format!("copy ({query}) to stdout with (format csv, {options})");
        let answers = c.query(&text).unwrap();
        String::from_utf8(answers[0].copied.clone()).unwrap()
    };
    assert_eq!(copied("force_quote *"), "\"1\",\"x\"\"y\",\n");
    assert_eq!(
        copied("header, force_quote (c, a)"),
        "a,b,c\n\"1\",\"x\"\"y\",\n"
    );
    let refused = state(
        &mut c,
        "copy (select 1 as a) to stdout with (format csv, force_quote (b))",
    );
    assert_eq!(refused, SqlState::UNDEFINED_COLUMN);
    let refused = state(&mut c, "copy (select 1 as a) to stdout (force_quote *)");
    assert_eq!(refused, SqlState::FEATURE_NOT_SUPPORTED);
}

/// Advisory locks beside constants, cast, and in FROM.
#[test]
fn advisory_locks_are_called_in_the_forms_that_clients_write() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    assert_eq!(
        rows(
            &mut a,
            "select pg_advisory_lock(3853314791062309107), 1, 'x' as name"
        ),
        ["|1|x"]
    );
    assert_eq!(
        rows(&mut a, "select pg_try_advisory_lock(4)::int as locked"),
        ["1"]
    );
    assert_eq!(rows(&mut a, "select 1 from pg_advisory_lock(5)"), ["1"]);
    assert_eq!(
        rows(&mut a, "select * from pg_try_advisory_lock(6) as locked"),
        ["t"]
    );
    assert_eq!(rows(&mut a, "select pg_advisory_lock(7)::text"), [""]);
    for held in ["3853314791062309107", "4", "5", "6", "7"] {
        let try_it = format!("select pg_try_advisory_lock({held})");
        assert_eq!(rows(&mut b, &try_it), ["f"], "{held}");
    }
    assert_eq!(
        rows(&mut b, "select locked from pg_try_advisory_lock(8) locked"),
        ["t"]
    );
    let elsewhere = state(&mut b, "select 1 where pg_try_advisory_lock(9)");
    assert_eq!(elsewhere, SqlState::FEATURE_NOT_SUPPORTED);
}
