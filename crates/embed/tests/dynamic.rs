//! Routines some of whose statements are planned when they are reached.

// A statement that cannot go on is a failed test.
#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{SqlState, Value};
use quintet_embed::Client;
use support::{error, finish, open, open_with, reopen, rows, state, until_it_waits};

/// Goal: a statement inside that must wait does, and the rest goes on behind it with the schema as it is then. Method: the
/// block changes a table that another transaction has written to, between what it does to others.
#[test]
fn a_schema_change_in_a_block_waits_for_writers() {
    let (_dir, db) = open_with("create table t (a int primary key); create table log (n int)");
    let (mut one, mut other) = (db.client().unwrap(), db.client().unwrap());
    one.query("begin; insert into t values (1)").unwrap();
    let block = "do $$ begin
        insert into log values (1);
        alter table t add column b int default 7;
        insert into log select b from t;
        create table made as select a, b from t;
    end $$";
    assert!(until_it_waits(&mut other, block).is_some());
    assert_eq!(rows(&mut one, "select count(*) from log"), ["0"]);
    one.query("commit").unwrap();
    finish(&mut other);
    assert_eq!(rows(&mut one, "select n from log order by n"), ["1", "7"]);
    assert_eq!(rows(&mut one, "select * from made"), ["1|7"]);
}

#[test]
fn what_a_block_did_is_gone_when_it_fails_and_there_when_it_does_not() {
    let (dir, db) = open_with("create table t (a int)");
    let mut c = db.client().unwrap();
    let failing = "do $$ begin
        set local work_mem = '1MB';
        create table u (a int); insert into u values (1); insert into t values (1);
        alter table t rename a to b;
        raise exception 'no';
    end $$";
    assert_eq!(state(&mut c, failing), SqlState::RAISE_EXCEPTION);
    assert_eq!(rows(&mut c, "select a from t"), Vec::<String>::new());
    assert_eq!(state(&mut c, "select * from u"), SqlState::UNDEFINED_TABLE);
    c.query("do $$ begin create table u (a int); insert into u values (2); commit; drop table t; end $$")
        .unwrap();
    drop(c);
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    assert_eq!(rows(&mut c, "select * from u"), ["2"]);
    assert_eq!(state(&mut c, "select * from t"), SqlState::UNDEFINED_TABLE);
}

/// Goal: a handler has schema, settings and rows as they were when its block began, also where blocks stand in one another
/// and in loops.
#[test]
fn a_handler_has_what_was_there_before_its_block() {
    let (_dir, db) = open_with("create table t (a int, round int)");
    let mut c = db.client().unwrap();
    c.query(
        "do $$ declare was text := current_setting('work_mem'); begin
            for i in 1..4 loop
                begin
                    execute format('alter table t add column c%s int default %s', i, i);
                    execute 'insert into t (a, round) values ($1, $1)' using i;
                    begin
                        set work_mem = '77MB';
                        create table inner_one (x int);
                        drop table t;
                        raise division_by_zero;
                    exception when division_by_zero then
                        insert into t (a, round) values (100 + i, i);
                        assert current_setting('work_mem') = was;
                    end;
                    if i % 2 = 0 then raise exception 'even'; end if;
                exception when raise_exception then
                    insert into t (a, round) values (-i, i);
                end;
            end loop;
        end $$",
    )
    .unwrap();
    assert_eq!(
        rows(&mut c, "select a, c1, c3 from t order by round, a"),
        ["1|1|3", "101|1|3", "-2|1|3", "3|1|3", "103|1|3", "-4|1|3"]
    );
    assert_eq!(
        rows(
            &mut c,
            "select count(*) from information_schema.columns where table_name = 't'"
        ),
        ["4"]
    );
    assert_eq!(
        state(&mut c, "select * from inner_one"),
        SqlState::UNDEFINED_TABLE
    );
}

/// Goal: a call with parameters, by a prepared statement, finds its routine whatever it has changed since it was prepared.
#[test]
fn a_prepared_call_is_planned_with_what_it_finds() {
    let (_dir, db) = open_with(
        "create procedure keep(name text, v int) language plpgsql as $$
         declare seen record; begin
            if to_regclass(name) is null then
                execute format('create table %I (v int, n serial)', name);
            end if;
            execute format('insert into %I (v) values ($1)', name) using v;
            for seen in execute format('select * from %I order by n', name) loop
                raise notice '% %', seen.v, seen.n;
            end loop;
         end $$",
    );
    let mut c = db.client().unwrap();
    c.prepare("p", "call keep($1, $2)").unwrap();
    let call = |c: &mut Client, name: &str, v: i32| {
        c.execute("p", vec![Value::text(name), Value::Int4(v)])
            .unwrap();
    };
    for (name, v) in [("one", 1), ("one", 2), ("two", 3), ("one", 4)] {
        call(&mut c, name, v);
    }
    assert_eq!(
        rows(&mut c, "select v, n from one order by n"),
        ["1|1", "2|2", "4|3"]
    );
    assert_eq!(rows(&mut c, "select v, n from two"), ["3|1"]);
    // Of a transaction that is undone nothing is there for the next call.
    c.query("begin").unwrap();
    call(&mut c, "three", 1);
    call(&mut c, "three", 2);
    assert_eq!(rows(&mut c, "select v from three order by n"), ["1", "2"]);
    c.query("rollback").unwrap();
    call(&mut c, "three", 3);
    assert_eq!(rows(&mut c, "select v, n from three"), ["3|1"]);
}

/// Goal: what cannot go on says so, and leaves nothing behind.
#[test]
fn what_a_change_takes_away_from_under_a_routine_is_an_error() {
    let (_dir, db) = open_with("create table t (a int); insert into t values (1), (2)");
    let mut c = db.client().unwrap();
    let under_a_loop = "do $$ declare r record; begin
        for r in select * from t loop drop table t; end loop; end $$";
    assert_eq!(state(&mut c, under_a_loop), SqlState::FEATURE_NOT_SUPPORTED);
    let of_a_row = "do $$ declare r record; begin
        for r in select * from t loop alter table t add column b int; end loop; end $$";
    assert_eq!(state(&mut c, of_a_row), SqlState::FEATURE_NOT_SUPPORTED);
    let of_a_type = "do $$ declare v t.a%type := 1; begin
        alter table t alter column a type text; raise notice '%', v; end $$";
    assert_eq!(state(&mut c, of_a_type), SqlState::FEATURE_NOT_SUPPORTED);
    assert_eq!(rows(&mut c, "select * from t order by a"), ["1", "2"]);
}

/// Goal: two blocks that change the same row lose nothing. Method: at READ COMMITTED the second goes on behind the first; at
/// SERIALIZABLE it is run again, unless it has changed more than rows: then it is told 40001.
#[test]
fn a_block_that_loses_is_run_again_if_it_has_changed_no_more_than_rows() {
    let (_dir, db) =
        open_with("create table t (a int primary key, n int); insert into t values (1, 0)");
    let (mut one, mut other) = (db.client().unwrap(), db.client().unwrap());
    let block = "do $$ begin execute 'update t set n = n + 10'; end $$";
    one.query("begin; update t set n = n + 1").unwrap();
    assert!(until_it_waits(&mut other, block).is_some());
    one.query("commit").unwrap();
    finish(&mut other);
    assert_eq!(rows(&mut one, "select n from t"), ["11"]);

    other
        .query("set default_transaction_isolation = 'serializable'")
        .unwrap();
    let reading = "declare v int; begin
        execute 'select n from t' into v; execute 'update t set n = $1' using v + 10;";
    one.query("begin; update t set n = n + 1").unwrap();
    assert!(until_it_waits(&mut other, &format!("do $$ {reading} end $$")).is_some());
    one.query("commit").unwrap();
    finish(&mut other);
    assert_eq!(rows(&mut one, "select n from t"), ["22"]);

    one.query("begin; update t set n = n + 1").unwrap();
    let reading = reading.replacen("begin", "begin create table u (a int);", 1);
    let more = format!("do $$ {reading} end $$");
    assert!(until_it_waits(&mut other, &more).is_some());
    one.query("commit").unwrap();
    let refused = other.resume().map(|_| ());
    assert_eq!(
        refused.map_err(|error| error.state),
        Err(SqlState::SERIALIZATION_FAILURE)
    );
    assert_eq!(rows(&mut one, "select n from t"), ["23"]);
}

#[test]
fn rows_of_a_text_come_as_the_variables_want_them() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create procedure p(sql text, inout v numeric) language plpgsql as $$
         declare w numeric(6,2); begin execute sql into w using v; v := w; end $$",
    )
    .unwrap();
    for (sql, wanted) in [
        ("select 1.005", "1.01"),
        ("select 2", "2.00"),
        ("select ''3.5''", "3.50"),
        ("select $1 * 2, 5", "14.00"),
        ("select 1 where false", "-"),
    ] {
        assert_eq!(
            rows(&mut c, &format!("call p('{sql}', 7)")),
            [wanted],
            "{sql}"
        );
    }
    let refused = error(&mut c, "call p('select ''x''', 7)");
    assert_eq!(refused.state, SqlState::INVALID_TEXT_REPRESENTATION);
    let refused = error(&mut c, "call p('create table x ()', 7)");
    assert_eq!(refused.state, SqlState::SYNTAX_ERROR);
    assert_eq!(state(&mut c, "select * from x"), SqlState::UNDEFINED_TABLE);
    let answers = c.query("call p('select 1', 7)").unwrap();
    assert!(matches!(answers[0].rows[0][0], Value::Numeric(_)));
}
