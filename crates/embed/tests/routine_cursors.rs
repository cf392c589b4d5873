//! Cursors that routines open: waits, what is undone, what clients see.

// A statement that cannot go on is a failed test.
#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use support::{finish, open_with, rows, state, until_it_waits};

const TABLE: &str = "create table t (id int primary key, v int);
     insert into t select g, 0 from generate_series(1, 3) g";

/// Goal: OPEN of a query that locks rows waits, and has the rows once it goes on; what the call did before is not done twice.
#[test]
fn an_open_that_waits_goes_on() {
    let (_dir, db) = open_with(TABLE);
    let (mut one, mut other) = (db.client().unwrap(), db.client().unwrap());
    one.query(
        "create function sum_of(r refcursor) returns int language plpgsql as $$
         declare a refcursor := 'first'; x int; n int := 0; begin
            open a for select 1;
            open r for select id from t order by id for update;
            loop fetch r into x; exit when not found; n := n + x; end loop;
            close a;
            return n;
         end $$",
    )
    .unwrap();
    one.query("begin; update t set v = 1 where id = 2").unwrap();
    other.query("begin").unwrap();
    // In an expression of a query the statement around it is undone, waits, and is run again.
    let asked = "select sum_of('mine') + 0 as n from (values (1)) x";
    assert!(until_it_waits(&mut other, asked).is_some());
    one.query("commit").unwrap();
    finish(&mut other);
    assert_eq!(rows(&mut other, "select name from pg_cursors"), ["mine"]);
    assert_eq!(rows(&mut other, "fetch 2 from mine"), Vec::<String>::new());
    assert_eq!(
        state(&mut other, "fetch prior from mine"),
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE
    );
}

/// Goal: a handler's block, and a savepoint, take along the cursors that were opened in them, and no others.
#[test]
fn what_is_undone_takes_its_cursors_along() {
    let (_dir, db) = open_with(TABLE);
    let mut c = db.client().unwrap();
    c.query(
        "create function opens(name refcursor) returns refcursor language plpgsql as $$
         begin open name for select id from t order by id; return name; end $$;
         create procedure tries() language plpgsql as $$
         begin
            perform opens('before');
            begin
                perform opens('inside');
                raise division_by_zero;
            exception when division_by_zero then null;
            end;
            perform opens('behind');
         end $$",
    )
    .unwrap();
    c.query("begin; call tries()").unwrap();
    let names = "select name from pg_cursors order by name";
    assert_eq!(rows(&mut c, names), ["before", "behind"]);
    c.query("savepoint s").unwrap();
    assert_eq!(rows(&mut c, "select opens('later')"), ["later"]);
    assert_eq!(rows(&mut c, "fetch from before"), ["1"]);
    c.query("rollback to s").unwrap();
    assert_eq!(rows(&mut c, names), ["before", "behind"]);
    assert_eq!(rows(&mut c, "fetch from before"), ["2"]);
    c.query("commit").unwrap();
    assert_eq!(rows(&mut c, names), Vec::<String>::new());
    assert_eq!(
        state(&mut c, "fetch from before"),
        SqlState::INVALID_CURSOR_NAME
    );
}

/// Goal: a record takes the fields of what is fetched, also where the routine cannot know them, and other ones the next time.
#[test]
fn a_record_takes_the_fields_of_a_cursor_of_others() {
    let (_dir, db) = open_with(TABLE);
    let mut c = db.client().unwrap();
    c.query(
        "create function first_of(name refcursor) returns text language plpgsql as $$
         declare r record; begin fetch name into r; return r::text; end $$;
         create function opens(name refcursor, q text) returns void language plpgsql as $$
         begin open name for execute q; end $$",
    )
    .unwrap();
    c.query("begin; declare own cursor for select id, v from t order by id desc")
        .unwrap();
    assert_eq!(rows(&mut c, "select first_of('own')"), ["(3,0)"]);
    c.query("select opens('made', 'select 1 as a, true as b')")
        .unwrap();
    assert_eq!(rows(&mut c, "select first_of('made')"), ["(1,t)"]);
    assert_eq!(rows(&mut c, "select first_of('own')"), ["(2,0)"]);
    assert_eq!(
        state(&mut c, "select first_of('own') || ''  from t"),
        SqlState::FEATURE_NOT_SUPPORTED
    );
    c.query("rollback").unwrap();
}

/// Goal: a cursor is the session's: another one may have its name, and the end of the transaction ends it.
#[test]
fn a_cursor_is_its_session_s() {
    let (_dir, db) = open_with(TABLE);
    let (mut one, mut other) = (db.client().unwrap(), db.client().unwrap());
    one.query(
        "create function opens(name refcursor) returns refcursor language plpgsql as $$
         begin open name for select id from t order by id; return name; end $$",
    )
    .unwrap();
    one.query("begin; select opens('c')").unwrap();
    other.query("begin; select opens('c')").unwrap();
    assert_eq!(rows(&mut one, "fetch 2 from c"), ["1", "2"]);
    assert_eq!(rows(&mut other, "fetch 1 from c"), ["1"]);
    assert_eq!(
        state(&mut other, "declare c cursor for select 1"),
        SqlState::DUPLICATE_CURSOR
    );
    other
        .query("rollback; begin; select opens('c'); commit")
        .unwrap();
    assert_eq!(state(&mut other, "close c"), SqlState::INVALID_CURSOR_NAME);
    one.query("close c; commit").unwrap();
}
