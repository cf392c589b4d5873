//! Planning ends when it is told to, and what it was told for is not lost.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{SqlState, Value};
use quintet_embed::Client;
use quintet_rt::{Clock, RealClock};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{error, open, rows, state};

/// Takes seconds to be planned, in a build without optimisation.
fn join(tables: usize) -> String {
    let from: Vec<String> = (0..tables).map(|n| format!("t t{n}")).collect();
    let on: Vec<String> = (1..tables)
        .map(|n| format!("t{n}.a = t{}.b", n - 1))
        .collect();
    format!(
        "select 1 from {} where {}",
        from.join(", "),
        on.join(" and ")
    )
}

/// Interrupts what is done until it has noticed.
fn interrupted(client: &mut Client, work: impl Fn(&mut Client) -> SqlState) {
    let handle = client.session().cancel_handle();
    let done = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                RealClock.sleep(Duration::from_millis(20));
                handle.cancel();
            }
        });
        let found = work(client);
        done.store(true, Ordering::Release);
        found
    });
    assert_eq!(found, SqlState::QUERY_CANCELED);
}

#[test]
fn planning_is_interrupted_and_goes_on_the_next_time() {
    let (_dir, db) = open();
    let mut a = db.client().unwrap();
    a.query("create table t (a int primary key, b int)")
        .unwrap();
    a.query("create table r (a int primary key)").unwrap();
    let large = join(150);
    interrupted(&mut a, |a| state(a, &large));
    interrupted(&mut a, |a| state(a, &format!("create view v as {large}")));
    interrupted(&mut a, |a| a.prepare("p", &large).unwrap_err().state);
    interrupted(&mut a, |a| state(a, &format!("explain {large}")));
    // A statement whose literals are taken out, whose plan is made twice.
    let values: Vec<String> = (0..3000).map(|n| format!("b = {n}")).collect();
    let many = format!("select 1 from t where {}", values.join(" or "));
    interrupted(&mut a, |a| state(a, &many));
    assert_eq!(rows(&mut a, &many), Vec::<String>::new());
    // Nothing is left of it, in a transaction, too.
    a.query("begin; insert into r values (1); savepoint s")
        .unwrap();
    interrupted(&mut a, |a| state(a, &large));
    a.query("rollback to s; commit").unwrap();
    assert_eq!(rows(&mut a, "select a from r"), ["1"]);
    a.prepare("p", "select a from r").unwrap();
    assert_eq!(a.execute("p", Vec::<Value>::new()).unwrap().rows.len(), 1);
}

#[test]
fn a_time_limit_ends_planning() {
    let (_dir, db) = open();
    let mut a = db.client().unwrap();
    a.query("create table t (a int primary key, b int)")
        .unwrap();
    let large = join(150);
    a.session().limit_time(Some(Duration::from_millis(30)));
    let over = error(&mut a, &large);
    assert_eq!(over.state, SqlState::QUERY_CANCELED);
    assert_eq!(over.message, "canceling statement due to statement timeout");
    // In a routine, whose handlers do not keep it.
    a.session().limit_time(None);
    a.query(&format!(
        "create function f() returns int language plpgsql as $$ begin begin execute '{large}'; exception when others then return 1; end; return 2; end $$"
    ))
    .unwrap();
    a.session().limit_time(Some(Duration::from_millis(30)));
    assert_eq!(state(&mut a, "select f()"), SqlState::QUERY_CANCELED);
    a.session().limit_time(None);
    assert_eq!(rows(&mut a, "select 1"), ["1"]);
}

/// A message that is planned where others wait is given up after a moment, and planned anew.
#[test]
fn what_takes_longer_than_a_moment_is_told_from_what_fails() {
    let (_dir, db) = open();
    let mut a = db.client().unwrap();
    a.query("create table t (a int primary key, b int)")
        .unwrap();
    let large = join(150);
    let session = a.session();
    assert!(
        session
            .plan_briefly(|session| session.parse("p", &large, &[]))
            .is_none()
    );
    assert_eq!(
        session.statement("p").err().unwrap().state,
        SqlState::INVALID_SQL_STATEMENT_NAME
    );
    let failed = session.plan_briefly(|session| session.parse("p", "select nothing", &[]));
    assert_eq!(
        failed.unwrap().unwrap_err().state,
        SqlState::UNDEFINED_COLUMN
    );
    session.parse("p", &join(3), &[]).unwrap();
}

/// What a routine becomes is kept for everybody. Cause of a failure once: the end of a time limit was kept, too.
#[test]
fn a_routine_that_took_too_long_to_be_planned_is_planned_again() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("create table t (a int primary key, b int)")
        .unwrap();
    let large = join(100);
    a.query(&format!(
        "create function f() returns int language plpgsql as $$ declare n int; begin select count(*) into n from ({large}) x; return n; end $$;
         create function g(anyelement) returns bigint language sql as $$ select count(*) from ({large}) x $$"
    ))
    .unwrap();
    for call in ["select f()", "select g(1)", "select g('a'::text)"] {
        a.session().limit_time(Some(Duration::from_millis(20)));
        assert_eq!(state(&mut a, call), SqlState::QUERY_CANCELED, "{call}");
        a.session().limit_time(None);
        a.query("set search_path = public, pg_catalog").unwrap();
        interrupted(&mut a, |a| state(a, call));
        a.query("reset search_path").unwrap();
        for client in [&mut a, &mut b] {
            assert_eq!(rows(client, call), ["0"], "{call}");
        }
    }
}

/// Windows stand on windows: what the lowest gives was written down once for each way that leads to it.
#[test]
fn many_windows_are_explained() {
    let (_dir, db) = open();
    let mut a = db.client().unwrap();
    a.query("create table t (a int primary key, b int)")
        .unwrap();
    let windows: Vec<String> = (0..40)
        .map(|n| format!("sum(b) over (order by a + {n})"))
        .collect();
    let sql = format!("explain (costs off) select {} from t", windows.join(", "));
    assert!(rows(&mut a, &sql).len() > 80);
}
