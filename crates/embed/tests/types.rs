//! What a session promises of types that users made: enums keep their order through changes and reopening, domains are
//! asked wherever a value is written, and nothing goes while something is of it.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::Client;
use support::{open, reopen, rows, state};

const MOODS: &str = "create type mood as enum ('sad', 'ok', 'happy');
    create table t (id int primary key, m mood default 'ok', ms mood[]);
    create index t_m on t (m);
    insert into t values (1, 'happy', '{sad,happy}'), (2, 'sad', null), (3, default, '{}')";

// Labels that come later stand where they were put, in an index, too, and all of it is so after reopening.
#[test]
fn labels_keep_their_order_through_changes_and_reopening() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(MOODS).unwrap();
    c.query("alter type mood add value 'angry' before 'sad'")
        .unwrap();
    c.query("alter type mood add value 'calm' after 'ok'")
        .unwrap();
    c.query("alter type mood add value 'best'").unwrap();
    c.query("alter type mood rename value 'calm' to 'quiet'")
        .unwrap();
    c.query("insert into t values (4, 'angry'), (5, 'quiet'), (6, 'best')")
        .unwrap();
    c.query("alter table t add column more mood default 'quiet'")
        .unwrap();
    let look = |c: &mut Client| {
        let order = ["angry", "sad", "ok", "quiet", "happy", "best"];
        assert_eq!(rows(c, "select m from t order by m"), order);
        assert_eq!(
            rows(c, "select m from t where m > 'ok' order by m"),
            order[3..]
        );
        assert_eq!(rows(c, "select id from t where m = 'quiet'"), ["5"]);
        assert_eq!(
            rows(c, "select ms from t order by id limit 3"),
            ["{sad,happy}", "-", "{}"]
        );
        assert_eq!(rows(c, "select distinct more from t"), ["quiet"]);
        assert_eq!(
            rows(c, "select enum_range(null::mood)"),
            ["{angry,sad,ok,quiet,happy,best}"]
        );
        let bad = SqlState::INVALID_TEXT_REPRESENTATION;
        assert_eq!(state(c, "insert into t values (9, 'calm')"), bad);
    };
    look(&mut c);
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    look(&mut c);
    c.query("alter type mood add value 'calm' before 'happy'")
        .unwrap();
    c.query("insert into t values (7, 'calm')").unwrap();
    assert_eq!(
        rows(
            &mut c,
            "select m from t where m between 'quiet' and 'happy' order by m"
        ),
        ["quiet", "calm", "happy"]
    );
}

// A gap between two labels has places for 16 more, one beside the other; then it is refused, and what is there stays.
#[test]
fn a_gap_without_places_takes_no_label() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create type e as enum ('a', 'b'); create table t (e e)")
        .unwrap();
    for number in 0..16 {
        c.query(&format!("alter type e add value 'x{number}' before 'b'"))
            .unwrap();
    }
    let full = state(&mut c, "alter type e add value 'y' before 'b'");
    assert_eq!(full, SqlState::PROGRAM_LIMIT_EXCEEDED);
    c.query("alter type e add value 'y' before 'a'").unwrap();
    c.query("insert into t select unnest(enum_range(null::e))")
        .unwrap();
    let order = rows(&mut c, "select e from t order by e");
    assert_eq!((order.len(), &*order[0], &*order[18]), (19, "y", "b"));
    assert_eq!(
        order[2..18],
        (0..16).map(|n| format!("x{n}")).collect::<Vec<_>>()
    );
}

// Renaming a label keeps what is kept as text readable, or is refused.
#[test]
fn a_label_that_text_names_is_not_renamed() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(MOODS).unwrap();
    let refused = SqlState::FEATURE_NOT_SUPPORTED;
    assert_eq!(
        state(&mut c, "alter type mood rename value 'ok' to 'fine'"),
        refused
    );
    c.query("create view v as select id from t where m = 'sad'")
        .unwrap();
    assert_eq!(
        state(&mut c, "alter type mood rename value 'sad' to 'low'"),
        refused
    );
    c.query("drop view v; alter type mood rename value 'sad' to 'low'")
        .unwrap();
    assert_eq!(rows(&mut c, "select m from t order by m limit 1"), ["low"]);
    c.query("alter type mood rename to feeling").unwrap();
    c.query("alter table t alter column m set default 'happy'::feeling")
        .unwrap();
    assert_eq!(state(&mut c, "alter type feeling rename to mood"), refused);
    assert_eq!(
        rows(&mut c, "insert into t values (4) returning m"),
        ["happy"]
    );
}

// What is of a type keeps it from going; with CASCADE it goes along.
#[test]
fn a_type_goes_after_what_is_of_it() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(MOODS).unwrap();
    c.query(
        "create domain good as mood check (value > 'sad');
         create table u (id int, g good);
         create view v as select m from t;
         create function f(mood) returns text language sql as 'select $1::text'",
    )
    .unwrap();
    let kept = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
    assert_eq!(state(&mut c, "drop type mood"), kept);
    assert_eq!(state(&mut c, "drop domain good"), kept);
    c.query("drop table t cascade").unwrap();
    assert_eq!(state(&mut c, "drop type mood"), kept);
    c.query("drop type mood cascade").unwrap();
    assert_eq!(
        rows(
            &mut c,
            "select column_name from information_schema.columns where table_name = 'u'"
        ),
        ["id"]
    );
    assert_eq!(
        rows(
            &mut c,
            "select count(*) from pg_type where typname in ('mood', 'good')"
        ),
        ["0"]
    );
    assert_eq!(
        rows(&mut c, "select count(*) from pg_proc where proname = 'f'"),
        ["0"]
    );
    c.query("insert into u values (1)").unwrap();
}

// Every way to write a value into a column of a domain asks the domain; what is refused leaves nothing behind.
#[test]
fn a_domain_is_asked_wherever_a_value_is_written() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create domain positive as int check (value > 0);
         create domain word as text not null;
         create table t (id int primary key, n positive default 7, w word default 'w');
         create table source (n int);
         insert into source values (5), (-5);
         insert into t values (1, 1, 'one')",
    )
    .unwrap();
    let check = SqlState::CHECK_VIOLATION;
    let null = SqlState::NOT_NULL_VIOLATION;
    let ask = |c: &mut Client| {
        for sql in [
            "insert into t values (2, 0)",
            "insert into t values (2, 5), (3, -5)",
            "insert into t select n, n from source",
            "insert into t values (1, 1) on conflict (id) do update set n = excluded.n - 5",
            "update t set n = -n",
            "update t set n = source.n from source where source.n < 0",
            "with w as (update t set n = -1 returning n) select * from w",
            "prepare p as insert into t values ($1, $2); execute p(2, -2)",
            "select (-1)::positive",
            "select n::positive from source",
            "do $$ declare p positive; begin p := -1; end $$",
            "alter table source alter column n type positive",
            "alter table t add column m positive default -1",
        ] {
            assert_eq!(state(c, sql), check, "{sql}");
        }
        for sql in [
            "insert into t values (2, 2, null)",
            "update t set w = null",
            "select null::word",
            "alter table t add column other word",
        ] {
            assert_eq!(state(c, sql), null, "{sql}");
        }
        assert_eq!(rows(c, "select * from t"), ["1|1|one"]);
    };
    ask(&mut c);
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    let _ = c.query("deallocate all");
    ask(&mut c);
    c.query("insert into t (id) values (2)").unwrap();
    assert_eq!(rows(&mut c, "select * from t where id = 2"), ["2|7|w"]);
}

// A domain's default and checks are those of its columns at once.
#[test]
fn a_changed_domain_is_changed_for_its_columns() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create domain d as int default 1 not null constraint low check (value < 10);
         create table t (id int, d d);
         insert into t (id) values (1);
         alter domain d set default 2",
    )
    .unwrap();
    c.query("insert into t (id) values (2)").unwrap();
    let check = SqlState::CHECK_VIOLATION;
    assert_eq!(state(&mut c, "alter domain d add check (value > 1)"), check);
    c.query("alter domain d add constraint positive check (value > 0)")
        .unwrap();
    assert_eq!(state(&mut c, "insert into t values (3, 0)"), check);
    c.query("alter domain d drop constraint positive").unwrap();
    assert_eq!(
        state(&mut c, "insert into t values (3, 10)"),
        SqlState::CHECK_VIOLATION
    );
    c.query("alter domain d drop constraint low; alter domain d drop not null")
        .unwrap();
    c.query("alter domain d drop default").unwrap();
    c.query("insert into t values (3, 10); insert into t (id) values (4)")
        .unwrap();
    assert_eq!(
        rows(&mut c, "select d from t order by id"),
        ["1", "2", "10", "-"]
    );
    let null = SqlState::NOT_NULL_VIOLATION;
    assert_eq!(state(&mut c, "alter domain d set not null"), null);
    c.query("delete from t where d is null; alter domain d set not null")
        .unwrap();
    assert_eq!(state(&mut c, "insert into t values (5, null)"), null);
}

// A type is its maker's; others may use it, but not change or drop it.
#[test]
fn a_type_belongs_to_who_made_it() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create role a; create role b; grant create on schema public to a, b;
         set role a; create type mood as enum ('x'); set role b; create table t (m mood)",
    )
    .unwrap();
    let denied = SqlState::INSUFFICIENT_PRIVILEGE;
    assert_eq!(state(&mut c, "alter type mood add value 'y'"), denied);
    assert_eq!(state(&mut c, "drop type mood cascade"), denied);
    c.query("reset role; alter type mood owner to b; set role b; alter type mood add value 'y'")
        .unwrap();
}

// Names in other schemas, types in defaults, and composite types in functions, all after reopening.
#[test]
fn types_of_other_schemas_are_found_again() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create schema s; create type s.color as enum ('red', 'green');
         create type pair as (a int, c s.color);
         create table s.t (c s.color default 'green'::s.color check (c <> 'red'::s.color));
         create function f(x int) returns setof pair language plpgsql as
           $$ declare p pair; begin p.a := x; p.c := 'red'; return next p; end $$",
    )
    .unwrap();
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    c.query("insert into s.t default values").unwrap();
    assert_eq!(
        state(&mut c, "insert into s.t values ('red')"),
        SqlState::CHECK_VIOLATION
    );
    assert_eq!(rows(&mut c, "select * from s.t"), ["green"]);
    assert_eq!(rows(&mut c, "select * from f(3)"), ["3|red"]);
    let unknown = SqlState::UNDEFINED_OBJECT;
    assert_eq!(state(&mut c, "select 'red'::color"), unknown);
    c.query("create table u (p pair); insert into u values (row(1, 'red'))")
        .unwrap();
    assert_eq!(rows(&mut c, "select p, (p).c from u"), ["(1,red)|red"]);
    c.query("drop table u").unwrap();
    assert_eq!(
        state(&mut c, "drop schema s"),
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST
    );
    c.query("drop schema s cascade").unwrap();
    assert_eq!(
        rows(
            &mut c,
            "select typname from pg_type where typname in ('color', 'pair')"
        ),
        ["pair"]
    );
}

// What is told of changes has labels, also those of types that came after the position.
#[test]
fn changes_tell_labels() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    let from = rows(&mut c, "select * from quintet_changes()");
    let from = from[0].split('|').next().unwrap().to_string();
    c.query(MOODS).unwrap();
    c.query("create table k (m mood primary key); insert into k values ('ok')")
        .unwrap();
    c.query("alter type mood rename value 'happy' to 'glad'; insert into t values (4, 'glad')")
        .unwrap();
    let told = rows(&mut c, &format!("select * from quintet_changes({from})")).join("\n");
    for part in [
        r#""m":"happy","ms":["sad","happy"]"#,
        r#"{"m":"ok"}"#,
        r#""m":"glad""#,
    ] {
        assert!(told.contains(part), "{part} is in {told}");
    }
}

// A session that has planned before the change prints and reads what is new.
#[test]
fn other_sessions_learn_labels() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query(MOODS).unwrap();
    let look = "select m from t where id > 2 order by m";
    b.query(&format!(
        "prepare p as {look}; prepare q as insert into t values ($1, $2)"
    ))
    .unwrap();
    assert_eq!(rows(&mut b, "execute p"), ["ok"]);
    b.query("begin isolation level repeatable read; select * from t")
        .unwrap();
    a.query("alter type mood add value 'new' before 'sad'")
        .unwrap();
    a.query("insert into t values (5, 'new')").unwrap();
    b.query("rollback").unwrap();
    assert_eq!(rows(&mut b, "execute p"), ["new", "ok"]);
    b.query("execute q(6, 'new')").unwrap();
    assert_eq!(rows(&mut b, look), ["new", "new", "ok"]);
    a.query("alter type mood rename value 'new' to 'newer'")
        .unwrap();
    assert_eq!(rows(&mut b, "execute p"), ["newer", "newer", "ok"]);
}

// Attributes of a composite type are changed for a session that has called functions with it, and for a database that is
// opened again.
#[test]
fn other_sessions_learn_attributes() {
    let (dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query(
        "create type pair as (a int, b text);
         create function pairs() returns setof pair language plpgsql as $$
         declare p pair; begin p.a := 1; return next p; end $$",
    )
    .unwrap();
    b.query("prepare p as select p from pairs() p").unwrap();
    assert_eq!(rows(&mut b, "execute p"), ["(1,)"]);
    a.query("alter type pair add attribute c numeric(4,-1), drop attribute b")
        .unwrap();
    assert_eq!(rows(&mut b, "select * from pairs()"), ["1|-"]);
    assert_eq!(rows(&mut b, "execute p"), ["(1,)"]);
    a.query("alter type pair rename attribute a to z").unwrap();
    assert_eq!(
        state(&mut b, "select * from pairs()"),
        SqlState(*b"42703"),
        "the function's text names it"
    );
    drop((a, b));
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    assert_eq!(
        rows(
            &mut c,
            "select attname, format_type(atttypid, atttypmod) from pg_attribute
             where attrelid = 'pair'::regclass order by attnum"
        ),
        ["z|integer", "c|numeric(4,-1)"]
    );
}
