//! Calls in line: who waits for whom, and that a place is given up however its call ends.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{SqlState, Value};
use quintet_embed::{ChainStats, Client, Database, DatabaseStats, Engine, Pause, Progress};
use quintet_rt::threads;
use std::panic::{AssertUnwindSafe, catch_unwind};
use support::{ends, number, open_by, serializable, waits};

const SCHEMA: &str = "
    create table account (id int primary key, n bigint);
    insert into account select i, 0 from generate_series(1, 5) i;
    create procedure add(account int) language plpgsql as $$
    begin update account set n = n + 1 where id = add.account; end $$;
    create function seen(account int) returns bigint language plpgsql as $$
    begin return (select n from account a where a.id = seen.account); end $$;
    create procedure quarrel(account int) language plpgsql as $$
    begin
      update account set n = n + 100 where id = quarrel.account;
      raise exception 'no';
    end $$";

/// A client that has locked account 1 in a transaction of its own, and one whose call waits for that row, and
/// so keeps its place.
fn held_up(db: &Database) -> (Client, (Client, Pause)) {
    let mut holder = serializable(db);
    holder.query("begin").unwrap();
    holder
        .query("update account set n = n + 10 where id = 1")
        .unwrap();
    let mut first = serializable(db);
    let pause = waits(&mut first, "call add(1)");
    assert_eq!(line(db), (1, 0), "the first has its turn");
    (holder, (first, pause))
}

/// Calls in line so far, and those that wait.
fn line(db: &Database) -> (u64, u64) {
    let ChainStats { calls, waiting, .. } = db.stats().chains;
    (calls, waiting)
}

/// Goal: a call waits for the one before it on the same row, before it has done anything, and for no other.
#[test]
fn a_call_waits_for_the_one_before_it_and_one_elsewhere_does_not() {
    let (_dir, db) = open_by(Engine::Chain, SCHEMA);
    let (mut holder, (mut first, pause)) = held_up(&db);
    let mut second = serializable(&db);
    let behind = waits(&mut second, "call add(1)");
    assert_eq!(line(&db), (2, 1));
    assert_eq!(db.stats().tc.waiting, 1, "it has not begun");
    serializable(&db).query("call add(2)").unwrap();
    assert_eq!(
        number(&mut serializable(&db), "select seen(1)"),
        0,
        "reads do not wait"
    );
    holder.query("commit").unwrap();
    ends(&mut first, pause);
    ends(&mut second, behind);
    assert_eq!(
        number(&mut holder, "select n from account where id = 1"),
        12
    );
    // The first lost to a transaction that is no call; the second to nobody.
    let DatabaseStats {
        retries, chains, ..
    } = db.stats();
    assert!(retries <= 1, "{retries}");
    assert_eq!((chains.waited, chains.waiting), (1, 0));
    assert!(chains.wait_nanos > 0);
}

/// Goal: who is cancelled, who goes away and who panics while he waits keeps nobody back, and lets nobody pass
/// those before him.
#[test]
fn a_place_is_given_up_however_the_wait_ends() {
    let (_dir, db) = open_by(Engine::Chain, SCHEMA);
    let (mut holder, (mut first, pause)) = held_up(&db);
    let mut cancelled = serializable(&db);
    drop(waits(&mut cancelled, "call add(1)"));
    let mut gone = serializable(&db);
    drop(waits(&mut gone, "call add(1)"));
    let panicking = catch_unwind(AssertUnwindSafe(|| {
        let mut client = serializable(&db);
        let _pause = waits(&mut client, "call add(1)");
        panic!("planted");
    }));
    assert!(panicking.is_err());
    let mut last = serializable(&db);
    let behind = waits(&mut last, "call add(1)");
    cancelled.session().cancel_handle().cancel();
    let error = cancelled.resume().err().expect("it was cancelled");
    assert_eq!(error.state, SqlState::QUERY_CANCELED);
    drop(gone);
    assert_eq!(line(&db).1, 1, "only the last one waits");
    holder.query("rollback").unwrap();
    ends(&mut first, pause);
    ends(&mut last, behind);
    assert_eq!(number(&mut holder, "select n from account where id = 1"), 2);
    // Whoever was cancelled can go on.
    cancelled.query("call add(1)").unwrap();
}

/// Goal: the same for a call that has begun: its transaction ends, and the next one goes on.
#[test]
fn a_place_is_given_up_however_the_call_ends() {
    for how in ["cancelled", "gone", "panicking"] {
        let (_dir, db) = open_by(Engine::Chain, SCHEMA);
        let (mut holder, (mut first, pause)) = held_up(&db);
        let mut second = serializable(&db);
        let behind = waits(&mut second, "call add(1)");
        match how {
            "cancelled" => {
                first.session().cancel_handle().cancel();
                let error = first.resume().err().expect("it was cancelled");
                assert_eq!(error.state, SqlState::QUERY_CANCELED);
            }
            "gone" => drop((first, pause)),
            _ => {
                let panicking = catch_unwind(AssertUnwindSafe(move || {
                    let _held = (first, pause);
                    panic!("planted");
                }));
                assert!(panicking.is_err());
            }
        }
        behind.wait();
        assert_eq!(line(&db), (2, 0), "{how}");
        holder.query("rollback").unwrap();
        let mut progress = second.resume().unwrap();
        while let Progress::Waiting(pause) = progress {
            pause.wait();
            progress = second.resume().unwrap();
        }
        assert_eq!(number(&mut holder, "select n from account where id = 1"), 1);
    }
}

/// Goal: an error that the routine raises gives the place up, and leaves nothing.
#[test]
fn a_call_that_fails_lets_the_next_one_go() {
    let (_dir, db) = open_by(Engine::Chain, SCHEMA);
    let mut client = serializable(&db);
    for _ in 0..3 {
        let error = client.query("call quarrel(1)").unwrap_err();
        assert_eq!(error.message, "no");
        client.query("call add(1)").unwrap();
    }
    assert_eq!(number(&mut client, "select n from account where id = 1"), 3);
    assert_eq!(line(&db), (6, 0));
}

/// Goal: inside BEGIN, where it may hold what others wait for, a call takes no place; nor one that is followed by
/// something in its transaction, one whose routine only reads, or one that reads only by its transaction.
#[test]
fn only_calls_that_are_transactions_of_their_own_are_in_line() {
    let (_dir, db) = open_by(Engine::Chain, SCHEMA);
    let mut client = serializable(&db);
    client.query("begin; call add(1); commit").unwrap();
    client.query("call add(1); select 1").unwrap();
    client.query("select seen(1)").unwrap();
    client.query("select * from seen(1)").unwrap();
    client
        .query("set default_transaction_read_only to on")
        .unwrap();
    let error = client.query("call add(1)").unwrap_err();
    assert_eq!(error.state, SqlState::READ_ONLY_SQL_TRANSACTION);
    client
        .query("set default_transaction_read_only to off")
        .unwrap();
    assert_eq!(line(&db), (0, 0));
    client.query("call add(1)").unwrap();
    assert_eq!(line(&db), (1, 0));
    assert_eq!(number(&mut client, "select n from account where id = 1"), 3);
}

/// Goal: a call whose arguments may be others the next time, and code without a name, have no class: they are
/// run, and counted.
#[test]
fn calls_without_a_class_are_run_past_the_line() {
    let (_dir, db) = open_by(Engine::Chain, SCHEMA);
    let mut client = serializable(&db);
    client.query("create sequence s").unwrap();
    client.query("call add(nextval('s')::int)").unwrap();
    client
        .query("do $$ begin update account set n = n + 1 where id = 1; end $$")
        .unwrap();
    assert_eq!(number(&mut client, "select n from account where id = 1"), 2);
    let stats = db.stats().chains;
    assert_eq!((stats.calls, stats.unclassed), (0, 2));
    // Of what a session says, the value does not change while the call waits.
    client.query("set my.account = 3").unwrap();
    client
        .query("call add(current_setting('my.account')::int)")
        .unwrap();
    assert_eq!(number(&mut client, "select n from account where id = 3"), 1);
    assert_eq!(line(&db), (1, 0));
}

/// Goal: the engine is chosen by session, by default as the database was opened.
#[test]
fn a_session_chooses_its_engine() {
    let (_dir, db) = open_by(Engine::Chain, SCHEMA);
    let mut client = serializable(&db);
    let shown = |client: &mut Client| {
        let answers = client.query("show quintet.engine").unwrap();
        answers[0].text_rows()[0][0].clone().unwrap()
    };
    assert_eq!(shown(&mut client), "chain");
    client.query("set quintet.engine = direct").unwrap();
    client.query("call add(1)").unwrap();
    assert_eq!(line(&db), (0, 0));
    let error = client.query("set quintet.engine = steam").unwrap_err();
    assert_eq!(error.state, SqlState::INVALID_PARAMETER_VALUE);
    client
        .query("begin; set quintet.engine = chain; rollback")
        .unwrap();
    assert_eq!(shown(&mut client), "direct");
    client.query("reset quintet.engine").unwrap();
    assert_eq!(shown(&mut client), "chain");
    client.query("call add(1)").unwrap();
    assert_eq!(line(&db), (1, 0));
}

/// Goal: when the catalogue moves, calls of the new one wait for those of the old, whatever their keys, and
/// calls that were in line are planned again and take place.
#[test]
fn a_change_of_the_catalogue_lets_the_calls_before_it_end_first() {
    let (_dir, db) = open_by(Engine::Chain, SCHEMA);
    let (mut holder, (mut first, pause)) = held_up(&db);
    let mut second = serializable(&db);
    let behind = waits(&mut second, "call add(1)");
    serializable(&db)
        .query("create table beside (n int)")
        .unwrap();
    let mut third = serializable(&db);
    let elsewhere = waits(&mut third, "call add(2)");
    // Those that are not in line do not wait.
    assert_eq!(number(&mut serializable(&db), "select seen(2)"), 0);
    holder.query("rollback").unwrap();
    // It was begun with the old catalogue, and says so, or has been run.
    pause.wait();
    let ended = loop {
        match first.resume() {
            Ok(Progress::Waiting(pause)) => pause.wait(),
            ended => break ended.err().map(|error| error.state),
        }
    };
    assert!(ended.is_none_or(|state| state == SqlState::SERIALIZATION_FAILURE));
    let done = i64::from(ended.is_none());
    let second = threads::spawn("second", move || ends(&mut second, behind));
    let third = threads::spawn("third", move || ends(&mut third, elsewhere));
    second.join().unwrap();
    third.join().unwrap();
    let sum = "select sum(n)::bigint from account";
    assert_eq!(number(&mut holder, sum), 2 + done);
    assert_eq!(line(&db).1, 0);
}

/// Goal: a prepared call follows the catalogue, too, and so do the classes.
#[test]
fn classes_follow_the_catalogue() {
    let (_dir, db) = open_by(Engine::Chain, SCHEMA);
    let mut client = serializable(&db);
    client.prepare("add", "call add($1)").unwrap();
    client.execute("add", vec![Value::Int4(1)]).unwrap();
    client
        .query(
            "create or replace procedure add(account int) language plpgsql as $$
             begin perform 1 from account where id = add.account; end $$",
        )
        .unwrap();
    client.execute("add", vec![Value::Int4(1)]).unwrap();
    assert_eq!(line(&db), (1, 0), "it only reads now");
    client
        .query(
            "create or replace procedure add(account int) language plpgsql as $$
             begin update account set n = n + 5; end $$",
        )
        .unwrap();
    client.execute("add", vec![Value::Int4(1)]).unwrap();
    assert_eq!(line(&db), (2, 0));
    assert_eq!(number(&mut client, "select n from account where id = 1"), 6);
}

/// Goal: EXPLAIN says by what a call would wait for others.
#[test]
fn explain_names_the_keys_of_a_call() {
    let (_dir, db) = open_by(Engine::Chain, SCHEMA);
    let mut client = serializable(&db);
    client
        .query(
            "create function added(account int) returns bigint language plpgsql as $$
             declare result bigint;
             begin
               update account a set n = n + 1 where id = added.account returning a.n into result;
               return result;
             end $$",
        )
        .unwrap();
    let explained = |client: &mut Client, sql: &str| -> Vec<String> {
        let rows = client.query(sql).unwrap()[0].text_rows();
        let lines = rows.into_iter().map(|row| row[0].clone().unwrap());
        lines.map(|line| line.trim().to_string()).collect()
    };
    let sql = "explain select * from added(1)";
    assert_eq!(
        explained(&mut client, sql),
        [
            "Function Scan on added",
            "Engine: chain",
            "Conflict Keys: account 1"
        ]
    );
    let read = explained(&mut client, "explain select * from seen(1)");
    assert_eq!(
        read,
        ["Function Scan on seen", "Engine: direct (it only reads)"]
    );
    client.query("set quintet.engine = direct").unwrap();
    assert_eq!(explained(&mut client, sql).len(), 1);
    assert_eq!(line(&db), (0, 0), "nothing was run");
    client
        .query(
            "create table log (id serial primary key, what int);
             create function logged(what int) returns int language plpgsql as $$
             begin insert into log (what) values (logged.what); return what; end $$;
             set quintet.engine = chain",
        )
        .unwrap();
    let logged = explained(&mut client, "explain select * from logged(1)");
    assert_eq!(logged[2], "Conflict Keys: none");
    client.query("select * from added(1)").unwrap();
    client.query("select added(1)").unwrap();
    assert_eq!(line(&db), (2, 0), "a function called alone is a call, too");
}
