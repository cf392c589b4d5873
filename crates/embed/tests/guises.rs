//! Routines that run as their owner, or with settings of their own.

// A statement that cannot go on is a failed test.
#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_engine::Engine;
use support::{error, finish, open_by, open_with, reopen, rows, state, until_it_waits};

const BANK: &str = "
    create role owner; create role teller;
    create schema bank;
    create table bank.account (id int primary key, sum int);
    insert into bank.account values (1, 10), (2, 20);
    grant usage on schema bank to owner;
    alter table bank.account owner to owner;
    create function pay(who int, amount int) returns text security definer set search_path = bank language plpgsql as $$
        declare left_over int;
    begin
        update account set sum = sum - amount where id = who returning sum into left_over;
        return current_user || ' ' || left_over;
    end $$;
    create function pay_any(from_table text, who int) returns text security definer set search_path = bank language plpgsql as $$
        declare left_over int;
    begin
        execute format('update %I set sum = sum - 1 where id = $1 returning sum', from_table) into left_over using who;
        return current_user || ' ' || left_over;
    end $$;
    alter function pay owner to owner; alter function pay_any owner to owner";

/// Goal: a call that waits for a row in its owner's name has the caller's name again when it is over, is refused, or is given up
/// while it waits; in the queries of a routine and in those that it executes.
#[test]
fn whoever_waits_as_an_owner_is_himself_afterwards() {
    let (_dir, db) = open_with(BANK);
    let (mut one, mut other) = (db.client().unwrap(), db.client().unwrap());
    let number = support::number(&mut other, "select pg_backend_pid()");
    other.query("set role teller").unwrap();
    for call in ["select pay(1, 1)", "select pay_any('account', 1)"] {
        one.query("begin; update bank.account set sum = sum + 1 where id = 1")
            .unwrap();
        assert!(until_it_waits(&mut other, call).is_some());
        one.query("commit").unwrap();
        let answers = finish(&mut other);
        assert_eq!(support::lines(&answers[0]), ["owner 10"], "{call}");
        assert_eq!(rows(&mut other, "select current_user"), ["teller"]);

        one.query("begin; update bank.account set sum = sum where id = 1")
            .unwrap();
        assert!(until_it_waits(&mut other, call).is_some());
        let cancel = format!("select pg_cancel_backend({number})");
        assert_eq!(rows(&mut one, &cancel), ["t"]);
        let given_up = other.resume().map(|_| ()).unwrap_err();
        assert_eq!(given_up.state, SqlState::QUERY_CANCELED);
        one.query("rollback").unwrap();
        assert_eq!(rows(&mut other, "select current_user"), ["teller"]);
        assert_eq!(
            state(&mut other, "select * from bank.account"),
            SqlState::INSUFFICIENT_PRIVILEGE
        );
    }
    assert_eq!(
        state(&mut other, "select pay_any('nothing', 1)"),
        SqlState::UNDEFINED_TABLE
    );
    assert_eq!(rows(&mut other, "select current_user"), ["teller"]);
    assert_eq!(rows(&mut other, "show search_path"), ["\"$user\", public"]);
}

/// Goal: under every engine; those that plan ahead leave such calls to the session.
#[test]
fn every_engine_runs_them_as_their_owner() {
    for engine in [Engine::Direct, Engine::Chain, Engine::Queue, Engine::Auto] {
        let (_dir, db) = open_by(engine, BANK);
        let mut c = db.client().unwrap();
        c.query("set role teller").unwrap();
        assert_eq!(rows(&mut c, "select pay(1, 2)"), ["owner 8"], "{engine:?}");
        c.query("begin").unwrap();
        assert_eq!(rows(&mut c, "select pay(2, 2)"), ["owner 18"], "{engine:?}");
        c.query("commit").unwrap();
    }
}

#[test]
fn what_alter_has_said_is_there_after_a_restart() {
    let (dir, db) = open_with(
        "create function f(a int) returns text language sql as 'select current_setting(''work_mem'')'",
    );
    let mut c = db.client().unwrap();
    c.query("alter function f strict set work_mem = '1MB'")
        .unwrap();
    c.query("alter function f(int) set work_mem = '2MB'")
        .unwrap();
    drop(c);
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    assert_eq!(rows(&mut c, "select f(1), f(null) is null"), ["2MB|t"]);
    c.query("alter function f reset work_mem called on null input")
        .unwrap();
    assert_eq!(
        rows(&mut c, "select f(null) = current_setting('work_mem')"),
        ["t"]
    );
}

#[test]
fn what_no_function_can_have_of_its_own_is_refused() {
    let (_dir, db) = open_with("create procedure p() language plpgsql as $$ begin commit; end $$");
    let mut c = db.client().unwrap();
    let made =
        |set: &str| format!("create function f() returns int set {set} language sql as 'select 1'");
    for (set, said) in [
        ("nonsense = 1", SqlState::UNDEFINED_OBJECT),
        ("work_mem = 'much'", SqlState::INVALID_PARAMETER_VALUE),
        ("role = quintet", SqlState::FEATURE_NOT_SUPPORTED),
        ("quintet.engine = 'queue'", SqlState::FEATURE_NOT_SUPPORTED),
    ] {
        assert_eq!(state(&mut c, &made(set)), said, "{set}");
    }
    c.query("call p()").unwrap();
    c.query("alter procedure p() security definer").unwrap();
    let refused = error(&mut c, "call p()");
    assert_eq!(refused.state, SqlState::INVALID_TRANSACTION_TERMINATION);
    assert_eq!(
        state(&mut c, "alter procedure p() strict"),
        SqlState::INVALID_FUNCTION_DEFINITION
    );
}
