//! What `session_replication_role` promises: it is one session's, who may set it, and what others are kept from all the same.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Engine, SessionOptions};
use support::{ends, open_by, open_with, rows, state, waits};

const SCHEMA: &str = "create table parent (id int primary key);
    create table child (id int primary key, parent int references parent deferrable);
    create table seen (id int);
    create function see() returns trigger language plpgsql as
        $$ begin insert into seen values (new.id); return new; end $$;
    create trigger t after insert on child for each row execute function see();
    create procedure add(id int, parent int) language plpgsql as
        $$ begin insert into child values (id, parent); end $$;
    create role clerk;
    insert into parent values (1), (2)";

/// Goal: of sessions that do the same, only the replica's passes triggers and foreign keys by, under every engine and
/// although plans are shared. Method: they take turns.
#[test]
fn only_the_session_that_asked_is_a_replica() {
    for engine in [Engine::Direct, Engine::Chain, Engine::Queue] {
        let (_dir, db) = open_by(engine, SCHEMA);
        let [mut replica, mut other] = [(); 2].map(|()| db.client().unwrap());
        replica
            .query("set session_replication_role = replica")
            .unwrap();
        let broken = SqlState::FOREIGN_KEY_VIOLATION;
        for turn in 0..3 {
            let id = 10 * turn;
            replica
                .query(&format!("insert into child values ({}, 99)", id + 1))
                .unwrap();
            let refused = format!("insert into child values ({}, 99)", id + 2);
            assert_eq!(state(&mut other, &refused), broken);
            replica.query(&format!("call add({}, 99)", id + 3)).unwrap();
            let refused = format!("call add({}, 99)", id + 4);
            assert_eq!(state(&mut other, &refused), broken);
            other.query(&format!("call add({}, 1)", id + 5)).unwrap();
        }
        let all = ["1", "3", "5", "11", "13", "15", "21", "23", "25"];
        assert_eq!(rows(&mut other, "select id from child order by id"), all);
        let seen = ["5", "15", "25"];
        assert_eq!(rows(&mut other, "select id from seen order by id"), seen);
    }
}

// What was put off before the session became a replica is looked at when it commits.
#[test]
fn what_is_put_off_is_not_forgotten() {
    let (_dir, db) = open_with(SCHEMA);
    let mut c = db.client().unwrap();
    c.query("begin; set constraints all deferred; insert into child values (1, 99)")
        .unwrap();
    c.query("set local session_replication_role = replica; insert into child values (2, 99)")
        .unwrap();
    assert_eq!(state(&mut c, "commit"), SqlState::FOREIGN_KEY_VIOLATION);
}

// Another session's row that refers to a row that a replica removes waits for it, and is refused.
#[test]
fn others_do_not_refer_to_what_a_replica_removes() {
    let (_dir, db) = open_with(SCHEMA);
    let [mut replica, mut other] = [(); 2].map(|()| db.client().unwrap());
    replica
        .query("set session_replication_role = replica; begin; delete from parent where id = 1")
        .unwrap();
    let pause = waits(
        &mut other,
        "do $$ begin insert into child values (1, 1);
         exception when foreign_key_violation then insert into child values (2, 2); end $$",
    );
    replica.query("commit").unwrap();
    ends(&mut other, pause);
    assert_eq!(rows(&mut other, "select id from child"), ["2"]);
}

// Who may not set it does not bring it along either, and does not keep what a superuser set for a transaction.
#[test]
fn only_superusers_become_replicas() {
    let (_dir, db) = open_with(SCHEMA);
    let options = |user: &str| SessionOptions {
        user: user.into(),
        settings: vec![("Session_Replication_Role".into(), "replica".into())],
        ..SessionOptions::default()
    };
    let refused = db.session(options("clerk")).err().unwrap();
    assert_eq!(refused.state, SqlState::INSUFFICIENT_PRIVILEGE);
    db.session(options("quintet")).unwrap();
    let mut c = db.client().unwrap();
    let show = "show session_replication_role";
    c.query("begin; set local session_replication_role = replica; set role clerk; commit")
        .unwrap();
    assert_eq!(rows(&mut c, show), ["origin"]);
    for refused in [
        "set session_replication_role = replica",
        "select set_config('session_replication_role', 'replica', false)",
        "reset session_replication_role",
    ] {
        assert_eq!(state(&mut c, refused), SqlState::INSUFFICIENT_PRIVILEGE);
    }
    c.query("reset role; set session_replication_role = replica; set role clerk; reset all")
        .unwrap();
    assert_eq!(rows(&mut c, show), ["origin"]);
    // Rights that are taken away are gone at once.
    c.query("reset role; create role chief superuser; set session authorization chief")
        .unwrap();
    let mut other = db.client().unwrap();
    other.query("alter role chief nosuperuser").unwrap();
    let set = "set session_replication_role = replica";
    assert_eq!(state(&mut c, set), SqlState::INSUFFICIENT_PRIVILEGE);
}

// In a routine that runs with its owner's rights these are asked, also where a superuser calls it.
#[test]
fn owners_of_routines_set_no_more_than_they_may() {
    let (_dir, db) = open_with(SCHEMA);
    let mut c = db.client().unwrap();
    c.query(
        "create function f() returns text security definer language plpgsql as
         $$ begin return set_config('session_replication_role', 'replica', false); end $$;
         create procedure p() security definer language plpgsql as
         $$ begin set session_replication_role = replica; end $$;
         alter function f() owner to clerk; alter procedure p() owner to clerk",
    )
    .unwrap();
    for call in ["select f()", "call p()"] {
        let refused = state(&mut c, call);
        assert_eq!(refused, SqlState::INSUFFICIENT_PRIVILEGE, "{call}");
    }
    assert_eq!(rows(&mut c, "show session_replication_role"), ["origin"]);
    let own = "create function g() returns int language sql set session_replication_role = replica
               as $$ select 1 $$";
    assert_eq!(state(&mut c, own), SqlState::FEATURE_NOT_SUPPORTED);
}
