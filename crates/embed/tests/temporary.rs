//! What temporary tables promise: their session sees them first and nobody else does, ON COMMIT is done, and nothing is left of
//! them when the session ends, however it ends, and whoever was in the way.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::Database;
use quintet_rt::{Clock, RealClock};
use std::time::Duration;
use support::{error, open, reopen, rows, state};

/// Names of schemas of temporary tables.
fn schemas(db: &Database) -> Vec<String> {
    let sql = "select nspname from pg_namespace where nspname like 'pg\\_temp%' order by 1";
    rows(&mut db.client().unwrap(), sql)
}

#[test]
fn a_session_sees_its_own_and_before_others_of_that_name() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query(
        "create table t (id int primary key, v text); insert into t values (1, 'lasting');
         create temp table t (id serial primary key, v text unique); insert into t (v) values ('a')",
    )
    .unwrap();
    b.query("create temporary table t (v text); insert into t values ('b'); create temp table only_b (x int)")
        .unwrap();
    assert_eq!(rows(&mut a, "select * from t"), ["1|a"]);
    assert_eq!(rows(&mut b, "select * from t"), ["b"]);
    assert_eq!(rows(&mut a, "select v from public.t"), ["lasting"]);
    assert_eq!(rows(&mut a, "select v from pg_temp.t"), ["a"]);
    assert_eq!(
        state(&mut a, "select * from only_b"),
        SqlState::UNDEFINED_TABLE
    );
    let of_b = rows(
        &mut b,
        "select nspname from pg_namespace where oid = pg_my_temp_schema()",
    );
    for sql in [
        "select * from {}.t",
        "insert into {}.t values ('x')",
        "drop table {}.t",
        "alter table {}.t add column y int",
    ] {
        let sql = sql.replace("{}", &of_b[0]);
        assert_eq!(state(&mut a, &sql), SqlState::UNDEFINED_TABLE, "{sql}");
    }
    let within = format!("create table {}.u (x int)", of_b[0]);
    assert_eq!(state(&mut a, &within), SqlState::INVALID_TABLE_DEFINITION);
    let taken = error(&mut a, "insert into t (v) values ('a')");
    assert_eq!(taken.state, SqlState::UNIQUE_VIOLATION);
    assert_eq!(
        rows(
            &mut a,
            "select relname, relpersistence from pg_class where relname in ('t', 't_pkey1', 't_pkey') and pg_table_is_visible(oid) order by 1"
        ),
        ["t|t", "t_pkey|t"]
    );
    assert_eq!(
        rows(
            &mut a,
            "select table_type from information_schema.tables where table_name = 't' order by 1"
        ),
        ["BASE TABLE", "LOCAL TEMPORARY"]
    );
    assert_eq!(
        rows(&mut a, "select current_schema, current_schemas(false)"),
        ["public|{public}"]
    );
    assert_eq!(
        rows(&mut a, "select 't'::regclass, 'public.t'::regclass"),
        ["t|public.t"]
    );
    a.query("drop table t").unwrap();
    assert_eq!(rows(&mut a, "select v from t"), ["lasting"]);
    a.query("drop table t").unwrap();
    assert_eq!(rows(&mut b, "select * from t"), ["b"]);
}

#[test]
fn a_path_that_names_it_has_it_there() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create table t (v int); insert into t values (1); create temp table t (v int); insert into t values (2);
         set search_path = public, pg_temp",
    )
    .unwrap();
    assert_eq!(rows(&mut c, "select v from t"), ["1"]);
    c.query("set search_path = pg_temp; create table u (v int)")
        .unwrap();
    assert_eq!(rows(&mut c, "select v from t"), ["2"]);
    c.query("reset search_path").unwrap();
    assert_eq!(
        rows(
            &mut c,
            "select relpersistence from pg_class where relname = 'u'"
        ),
        ["t"]
    );
    let wrong = error(&mut c, "create temp table public.w (v int)");
    assert_eq!(wrong.state, SqlState::INVALID_TABLE_DEFINITION);
    assert_eq!(
        wrong.message,
        "cannot create temporary relation in non-temporary schema"
    );
}

#[test]
fn a_commit_empties_or_drops() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query("create temp table kept (v int) on commit preserve rows; create temp table emptied (v int unique) on commit delete rows")
        .unwrap();
    c.query("begin; create temp table gone (v int) on commit drop; insert into gone values (1); insert into emptied values (1), (2)")
        .unwrap();
    assert_eq!(rows(&mut c, "select count(*) from gone, emptied"), ["2"]);
    c.query("insert into kept values (1); commit").unwrap();
    assert_eq!(
        state(&mut c, "select * from gone"),
        SqlState::UNDEFINED_TABLE
    );
    assert_eq!(rows(&mut c, "select count(*) from emptied"), ["0"]);
    assert_eq!(rows(&mut c, "select count(*) from kept"), ["1"]);
    // Each statement outside a block commits.
    c.query("insert into emptied values (1)").unwrap();
    c.query("insert into emptied values (1)").unwrap();
    assert_eq!(rows(&mut c, "select count(*) from emptied"), ["0"]);
    c.query("create temp table gone on commit drop as select 1 as v")
        .unwrap();
    assert_eq!(
        state(&mut c, "select * from gone"),
        SqlState::UNDEFINED_TABLE
    );
    c.query("begin; create temp table gone on commit drop as select 1 as v; savepoint s; drop table gone; rollback to s")
        .unwrap();
    assert_eq!(
        rows(&mut c, "select v from gone; commit"),
        Vec::<String>::new()
    );
    assert_eq!(
        state(&mut c, "select * from gone"),
        SqlState::UNDEFINED_TABLE
    );
    c.query("begin; create temp table gone (v int) on commit drop; rollback")
        .unwrap();
    assert_eq!(
        state(&mut c, "create table x (v int) on commit drop"),
        SqlState::INVALID_TABLE_DEFINITION
    );
    c.query("select 5 as v into temp made").unwrap();
    assert_eq!(rows(&mut c, "select v from made"), ["5"]);
}

#[test]
fn nothing_is_left_when_a_session_ends() {
    let (dir, db) = open();
    let mut a = db.client().unwrap();
    a.query(
        "create temp table t (id serial primary key, v text); create temp sequence s; create temp view w as select v from t;
         create index on t (lower(v)) where v is not null; create table lasting (id int); comment on table t is 'mine'",
    )
    .unwrap();
    assert_eq!(schemas(&db).len(), 1);
    drop(a);
    assert!(schemas(&db).is_empty());
    // One whose transaction is open, and has made another.
    let mut b = db.client().unwrap();
    b.query("create temp table t (v int); begin; create temp table u (v int)")
        .unwrap();
    drop(b);
    assert!(schemas(&db).is_empty());
    // One that ends while somebody changes the schema.
    let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
    c.query("create temp table t (v int)").unwrap();
    d.query("begin; create table other (v int)").unwrap();
    drop(c);
    assert_eq!(schemas(&db).len(), 1);
    let mut e = db.client().unwrap();
    assert_eq!(state(&mut e, "select * from t"), SqlState::UNDEFINED_TABLE);
    d.query("commit").unwrap();
    // No other session has to end for that.
    let left = "select count(*) from pg_namespace where nspname like 'pg\\_temp%'";
    let gone = (0..1_000).any(|_| {
        RealClock.sleep(Duration::from_millis(10));
        rows(&mut d, left) == ["0"]
    });
    assert!(gone);
    drop(e);
    // And what a crash leaves.
    d.query("create temp table t (v int)").unwrap();
    db.close().unwrap();
    drop(d);
    drop(db);
    let db = reopen(&dir);
    assert!(schemas(&db).is_empty());
    let mut f = db.client().unwrap();
    assert_eq!(
        rows(
            &mut f,
            "select relname from pg_class where oid >= 16384 order by 1"
        ),
        ["lasting", "other"]
    );
}

#[test]
fn discard_drops_them() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    for how in ["temp", "temporary", "all"] {
        c.query("create temp table t (v int); create temp table u (v int)")
            .unwrap();
        let answer = c.query(&format!("discard {how}")).unwrap();
        assert!(answer[0].tag.starts_with("DISCARD"));
        assert_eq!(state(&mut c, "select * from t"), SqlState::UNDEFINED_TABLE);
        assert!(schemas(&db).is_empty());
    }
}

#[test]
fn what_lasts_does_not_need_what_does_not() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("create table p (id int primary key); create temp table t (id int primary key)")
        .unwrap();
    let lasting = error(&mut a, "create table c (id int references t)");
    assert_eq!(lasting.state, SqlState::INVALID_TABLE_DEFINITION);
    assert_eq!(
        lasting.message,
        "constraints on permanent tables may reference only permanent tables"
    );
    let temporary = error(&mut a, "create temp table c (id int references p)");
    assert_eq!(
        temporary.message,
        "constraints on temporary tables may reference only temporary tables"
    );
    a.query("create temp table c (id int references t); insert into t values (1); insert into c values (1)")
        .unwrap();
    assert_eq!(
        state(&mut a, "insert into c values (2)"),
        SqlState::FOREIGN_KEY_VIOLATION
    );
    // A view over one is one itself.
    a.query("create view v as select id from t").unwrap();
    assert_eq!(rows(&mut a, "select id from v"), ["1"]);
    assert_eq!(state(&mut b, "select id from v"), SqlState::UNDEFINED_TABLE);
    // One that lasts means what it meant, whatever else is there by that name.
    b.query("create view over as select count(*) from p")
        .unwrap();
    a.query("create temp table p (id int); insert into p values (1), (2)")
        .unwrap();
    assert_eq!(rows(&mut a, "select * from over"), ["0"]);
    assert_eq!(rows(&mut a, "select count(*) from p"), ["2"]);
    // A routine means what its caller's path says.
    a.query("create function f() returns bigint language sql as 'select count(*) from p'")
        .unwrap();
    assert_eq!(rows(&mut a, "select f()"), ["2"]);
    assert_eq!(rows(&mut b, "select f()"), ["0"]);
    a.query("drop table pg_temp.p").unwrap();
    assert_eq!(rows(&mut a, "select f()"), ["0"]);
}
