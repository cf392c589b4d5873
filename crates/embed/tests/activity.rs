//! What sessions of an embedded database see of each other.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Interrupt, Progress};
use support::{open_with, rows};

const SCHEMA: &str =
    "create table t (id int primary key, n int); insert into t values (1, 0), (2, 0)";

/// Goal: each session has a number of its own, pg_backend_pid() says it, and a session that is dropped has gone.
#[test]
fn sessions_have_numbers_of_their_own() {
    let (_dir, db) = open_with(SCHEMA);
    let mut clients = [(); 3].map(|()| db.client().unwrap());
    let mut numbers: Vec<String> = Vec::new();
    for client in &mut clients {
        let own = rows(client, "select pg_backend_pid()");
        assert_eq!(own, [client.session().process_id().to_string()]);
        numbers.extend(own);
    }
    let [mut first, second, third] = clients;
    drop((second, third));
    let seen = rows(&mut first, "select pid from pg_stat_activity order by pid");
    numbers.truncate(1);
    assert_eq!(seen, numbers, "the others have been dropped");
}

/// Goal: the states, the wait, and the statement's text of a session, as another sees them; joined, and more than
/// once in a statement.
#[test]
fn a_session_is_seen_at_work() {
    let (_dir, db) = open_with(SCHEMA);
    let (mut holder, mut waiter, mut looker) = (
        db.client().unwrap(),
        db.client().unwrap(),
        db.client().unwrap(),
    );
    let waiting = waiter.session().process_id();
    let seen = format!(
        "select a.state, a.wait_event_type, a.wait_event, b.query, b.xact_start is null
         from pg_stat_activity a left join pg_stat_activity b using (pid) where a.pid = {waiting}"
    );
    assert_eq!(
        rows(&mut looker, &seen),
        ["idle|Client|ClientRead||t"],
        "it has not done anything"
    );
    holder
        .query("begin; update t set n = 1 where id = 1")
        .unwrap();
    let Progress::Waiting(pause) = waiter.start("update t set n = 2 where id = 1").unwrap() else {
        panic!("it did not wait");
    };
    assert_eq!(
        rows(&mut looker, &seen),
        ["active|Lock|tuple|update t set n = 2 where id = 1|f"]
    );
    holder.query("rollback").unwrap();
    pause.wait();
    let mut progress = waiter.resume().unwrap();
    while let Progress::Waiting(pause) = progress {
        pause.wait();
        progress = waiter.resume().unwrap();
    }
    assert_eq!(
        rows(&mut looker, &seen),
        ["idle|Client|ClientRead|update t set n = 2 where id = 1|t"]
    );
    waiter.query("begin").unwrap();
    waiter.query("select 1 / 0").unwrap_err();
    assert_eq!(
        rows(&mut looker, &seen),
        ["idle in transaction (aborted)|Client|ClientRead|select 1 / 0|t"]
    );
}

/// Goal: a routine that looks again and again sees the moment each time; a cancel reaches a session that nobody
/// serves, an end does not; with a door, the door is told.
#[test]
fn routines_look_again_and_doors_are_told() {
    let (_dir, db) = open_with(SCHEMA);
    let mut looker = db.client().unwrap();
    looker
        .query(
            "create function others() returns bigint language plpgsql as $$
             begin return (select count(*) from pg_stat_activity where pid <> pg_backend_pid()); end $$",
        )
        .unwrap();
    assert_eq!(rows(&mut looker, "select others()"), ["0"]);
    let mut other = db.client().unwrap();
    assert_eq!(rows(&mut looker, "select others()"), ["1"]);
    let number = other.session().process_id();
    let cancel = format!("select pg_cancel_backend({number})");
    let end = format!("select pg_terminate_backend({number})");
    assert_eq!(rows(&mut looker, &end), ["f"], "nobody can tell it");
    assert_eq!(rows(&mut looker, &cancel), ["t"]);
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let tell = std::sync::Arc::clone(&told);
    other.session().on_interrupt(move |interrupt| {
        tell.lock().unwrap().push(interrupt);
        true
    });
    assert_eq!(rows(&mut looker, &end), ["t"]);
    assert_eq!(rows(&mut looker, &cancel), ["t"]);
    assert_eq!(
        *told.lock().unwrap(),
        [Interrupt::Terminate, Interrupt::Cancel]
    );
    let error = looker.query("select pg_stat_activity.nothing from pg_stat_activity");
    assert_eq!(error.unwrap_err().state, SqlState::UNDEFINED_COLUMN);
}
