//! What temporary tables promise: their session sees them first and nobody else does, ON COMMIT is done, and nothing is left of
//! them when the session ends, however it ends, and whoever was in the way.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Database, DatabaseConfig};
use support::{error, open, rows, state, until_it_waits};

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
    const MAKES: &str =
        "create temp table t (id serial primary key, v text); insert into t (v) values ('a');
         create temp sequence s; select nextval('s'); create temp view w as select v from t;
         create index on t (lower(v)) where v is not null; comment on table t is 'mine'";
    let (dir, db) = open();
    let mut a = db.client().unwrap();
    a.query(MAKES).unwrap();
    a.query("create table lasting (id int)").unwrap();
    drop(a);
    // One whose transaction is open, and has made another.
    let mut b = db.client().unwrap();
    b.query(MAKES).unwrap();
    b.query("begin; drop table t cascade; create temp table u (v int); insert into u values (1)")
        .unwrap();
    drop(b);
    // One that ends while somebody changes the schema.
    let (mut c, mut d) = (db.client().unwrap(), db.client().unwrap());
    c.query(MAKES).unwrap();
    d.query("begin; create table other (v int)").unwrap();
    drop(c);
    d.query("commit").unwrap();
    drop(d);
    // One that has let everything go itself, and one that a statement has thrown away.
    let mut e = db.client().unwrap();
    e.query(MAKES).unwrap();
    e.query("drop table t cascade; drop sequence s").unwrap();
    e.query(MAKES).unwrap();
    e.query("discard temp").unwrap();
    db.compact().unwrap();
    db.close().unwrap();
    drop((e, db));
    let (db, report) = Database::open(DatabaseConfig::new(dir.path())).unwrap();
    assert_eq!(report.orphans, 0);
    // And what a crash leaves.
    let mut f = db.client().unwrap();
    f.query(MAKES).unwrap();
    db.compact().unwrap();
    db.close().unwrap();
    drop((f, db));
    let (db, report) = Database::open(DatabaseConfig::new(dir.path())).unwrap();
    assert_eq!(report.orphans, 2, "a table and an index");
    assert!(schemas(&db).is_empty());
    // Nothing of it is met by who has such tables after it.
    let mut g = db.client().unwrap();
    g.query(MAKES).unwrap();
    assert_eq!(rows(&mut g, "select * from t"), ["1|a"]);
    db.compact().unwrap();
    assert_eq!(rows(&mut g, "select * from t"), ["1|a"]);
    assert_eq!(rows(&mut g, "select * from w"), ["a"]);
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

/// Runs a statement that must not wait for anybody.
fn at_once(client: &mut Client, sql: &str) {
    assert!(until_it_waits(client, sql).is_none(), "{sql} waits");
}

#[test]
fn nobody_waits_for_what_a_session_makes_for_itself() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("create table lasting (id int primary key, v int); insert into lasting values (1, 1)")
        .unwrap();
    // Whoever changes the schema lets others have tables of their own …
    a.query("begin; alter table lasting add column w int; create table other (v int)")
        .unwrap();
    for sql in [
        "create temp table t (id serial primary key, v text unique, w int check (w > 0))",
        "insert into t (v, w) values ('a', 1), ('b', 2)",
        "begin",
        "create temp table u on commit drop as select * from t",
        "alter table t add column x int default 5, alter column w type bigint",
        "create index on t (x)",
        "truncate u",
        "savepoint s",
        "drop table t cascade",
        "rollback to s",
        "create temp view v as select v, x from t",
        "comment on column t.x is 'five'",
        "grant select on t to public",
        "commit",
        "do $$ begin create temp table in_a_block (x int); drop table in_a_block; end $$",
        "select v, x into temp w from v",
    ] {
        at_once(&mut b, sql);
    }
    assert_eq!(rows(&mut b, "select * from w order by 1"), ["a|5", "b|5"]);
    assert_eq!(state(&mut b, "select * from u"), SqlState::UNDEFINED_TABLE);
    at_once(&mut b, "discard temp");
    a.query("commit").unwrap();
    // … and the other way round.
    b.query("begin; create temp table t (v int); insert into t values (1)")
        .unwrap();
    at_once(&mut a, "create index on lasting (w)");
    at_once(&mut a, "alter table other add column w int");
    assert_eq!(rows(&mut b, "select w from other"), Vec::<String>::new());
    b.query("alter table t add column w int; commit").unwrap();
    assert_eq!(rows(&mut b, "select * from t"), ["1|-"]);
}

#[test]
fn plans_follow_what_the_session_makes() {
    let (_dir, db) = open();
    let mut a = db.client().unwrap();
    a.query(
        "create table t (v text); insert into t values ('lasting'); prepare p as select * from t",
    )
    .unwrap();
    assert_eq!(rows(&mut a, "execute p"), ["lasting"]);
    a.query("create temp table t (v text); insert into t values ('own')")
        .unwrap();
    assert_eq!(rows(&mut a, "execute p"), ["own"]);
    a.query("begin; drop table t").unwrap();
    assert_eq!(rows(&mut a, "execute p"), ["lasting"]);
    a.query("rollback").unwrap();
    assert_eq!(rows(&mut a, "execute p"), ["own"]);
    // Made, undone and made again: what was written the first time is nowhere.
    a.query("prepare q as select count(*) from u").unwrap_err();
    a.query("begin; savepoint s; create temp table u (v int); insert into u values (1); rollback to s; create temp table u (v int)")
        .unwrap();
    assert_eq!(rows(&mut a, "select count(*) from u"), ["0"]);
    a.query("rollback; create temp table u (v int)").unwrap();
    assert_eq!(rows(&mut a, "select count(*) from u"), ["0"]);
    // Others' changes are seen beside one's own.
    let mut b = db.client().unwrap();
    b.query("create table made_by_b (v int); insert into made_by_b values (3)")
        .unwrap();
    assert_eq!(rows(&mut a, "select * from made_by_b, t"), ["3|own"]);
    a.query("discard all").unwrap();
    assert_eq!(rows(&mut a, "select * from t"), ["lasting"]);
}

#[test]
fn what_a_session_needs_is_not_dropped_by_others() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    b.query(
        "create type mood as enum ('sad', 'glad'); create domain positive as int check (value > 0); create sequence s;
         create function f() returns int language sql as 'select 7'; create table base (x int); create role r;
         create function tf() returns trigger language plpgsql as 'begin return new; end'",
    )
    .unwrap();
    a.query(
        "create temp table t (m mood, p positive, v int default f(), w int default nextval('s')); create temp view v as select x from base;
         create trigger g before insert on t for each row execute function tf(); alter table t owner to r",
    )
    .unwrap();
    for sql in [
        "drop type mood",
        "drop domain positive",
        "drop sequence s",
        "drop function f()",
        "drop function tf()",
        "drop table base",
        "drop role r",
    ] {
        let refused = error(&mut b, sql);
        assert_eq!(
            refused.state,
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            "{sql}"
        );
    }
    for sql in ["drop type mood cascade", "drop table base cascade"] {
        assert_eq!(state(&mut b, sql), SqlState::OBJECT_IN_USE, "{sql}");
    }
    // Also before it is committed.
    a.query("discard temp").unwrap();
    a.query("begin; create temp table t (m mood)").unwrap();
    assert_eq!(
        state(&mut b, "drop type mood"),
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST
    );
    a.query("rollback").unwrap();
    b.query("drop type mood; drop table base; drop role r")
        .unwrap();
}

#[test]
fn what_others_are_dropping_already_takes_the_tables_with_it() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    b.query("create type mood as enum ('sad', 'glad')").unwrap();
    b.query("begin; drop type mood").unwrap();
    a.query(
        "create temp table t (m mood); insert into t values ('sad'); create temp table u (v int)",
    )
    .unwrap();
    assert_eq!(rows(&mut a, "select * from t"), ["sad"]);
    b.query("commit").unwrap();
    a.query("select 1").unwrap();
    let told = a.session().take_notices().remove(0).message.to_string();
    assert!(
        told.contains("temporary tables of this session are gone"),
        "{told}"
    );
    assert_eq!(state(&mut a, "select * from t"), SqlState::UNDEFINED_TABLE);
    a.query("create temp table t (v int); insert into t values (1)")
        .unwrap();
    assert_eq!(rows(&mut a, "select * from t"), ["1"]);
}

#[test]
fn tables_come_and_go_in_many_sessions_at_once() {
    const SESSIONS: i32 = 4;
    const ROUNDS: i32 = 40;
    let (dir, db) = open();
    std::thread::scope(|scope| {
        for number in 0..SESSIONS {
            let db = db.clone();
            scope.spawn(move || {
                let mut a = db.client().unwrap();
                for round in 0..ROUNDS {
                    let v = number * ROUNDS + round;
                    let sql = format!(
                        "begin; create temp table t (id serial primary key, v int) on commit drop;
                         insert into t (v) select {v} from generate_series(1, 20)"
                    );
                    a.query(&sql).unwrap();
                    let all = rows(&mut a, "select v, count(*), max(id) from t group by v");
                    assert_eq!(all, [format!("{v}|20|20")]);
                    a.query("commit").unwrap();
                    if round % 10 == 0 {
                        let sql = format!("create table lasting_{v} (v int)");
                        a.query(&sql).unwrap();
                    }
                    if round % 7 == 0 {
                        a = db.client().unwrap();
                    }
                }
            });
        }
    });
    db.compact().unwrap();
    db.close().unwrap();
    drop(db);
    let (db, report) = Database::open(DatabaseConfig::new(dir.path())).unwrap();
    assert_eq!(report.orphans, 0);
    let tables = "select count(*) from pg_tables where tablename like 'lasting%'";
    assert_eq!(rows(&mut db.client().unwrap(), tables), ["16"]);
}

#[test]
fn rows_without_a_key_are_told_apart_whatever_becomes_of_their_table() {
    let (_dir, db) = open();
    let mut a = db.client().unwrap();
    a.query("create temp table t (v int); insert into t values (1), (2)")
        .unwrap();
    let count = "select count(*), count(distinct v) from t";
    // Dropped and brought back: who counts goes on where he was, also past rows that are not committed.
    a.query("begin; insert into t values (3); savepoint s; drop table t; rollback to s; insert into t values (4)")
        .unwrap();
    assert_eq!(rows(&mut a, count), ["4|4"]);
    a.query("rollback; insert into t values (3)").unwrap();
    a.query("begin; drop table t").unwrap();
    a.query("rollback; insert into t values (4)").unwrap();
    assert_eq!(rows(&mut a, count), ["4|4"]);
    a.query("truncate t; insert into t values (5), (6)")
        .unwrap();
    assert_eq!(rows(&mut a, count), ["2|2"]);
    a.query("do $$ begin drop table t; raise exception 'no'; exception when others then insert into t values (7); end $$")
        .unwrap();
    a.query("insert into t values (8)").unwrap();
    assert_eq!(rows(&mut a, count), ["4|4"]);
}
