//! `xmin`: a row is changed only if it is the one that was read.
//!
//! Relies on: nothing but the session.  Promises: of several who have read a row one changes it, at every level; who has waited for the row
//! looks at it as it is then; a row has the same number after a restart.  Does not: compare with PostgreSQL
//! (`tests/slt/cases/xmin.sql`).

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use std::sync::atomic::{AtomicI64, Ordering};
use support::{number, open_with, reopen, rows, tag};

const TABLE: &str =
    "create table t (id int primary key, n int not null, note text); insert into t values (1, 0)";
const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

/// Goal: no change is lost. Method: many read a number and write the next one if the row is still that one; the number is as many as were told
/// that they had written it.
#[test]
fn what_was_read_is_changed_once() {
    let (_dir, db) = open_with(TABLE);
    const EACH: usize = 60;
    let written = AtomicI64::new(0);
    for level in LEVELS {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let mut client = db.client().unwrap();
                let written = &written;
                scope.spawn(move || {
                    let set = format!("set default_transaction_isolation = '{level}'");
                    client.query(&set).unwrap();
                    for _ in 0..EACH {
                        let read = rows(&mut client, "select n + 1, xmin from t where id = 1");
                        let (n, was) = read[0].split_once('|').unwrap();
                        let update =
                            format!("update t set n = {n} where id = 1 and xmin = '{was}'");
                        match client.query(&update) {
                            Ok(answers) if answers[0].tag == "UPDATE 1" => {
                                written.fetch_add(1, Ordering::Relaxed);
                            }
                            Ok(answers) => assert_eq!(answers[0].tag, "UPDATE 0"),
                            Err(error) => assert_eq!(error.state, SqlState::SERIALIZATION_FAILURE),
                        }
                    }
                });
            }
        });
        let n = number(&mut db.client().unwrap(), "select n from t");
        assert_eq!(n, written.load(Ordering::Relaxed), "{level}");
    }
    assert!(written.into_inner() > 0, "somebody wrote");
}

#[test]
fn who_has_waited_looks_at_the_row_as_it_is_then() {
    let (_dir, db) = open_with(TABLE);
    let (mut one, mut other) = (db.client().unwrap(), db.client().unwrap());
    let read = rows(&mut one, "select xmin from t");
    one.query("begin; update t set note = 'seen' where id = 1")
        .unwrap();
    let update = format!("update t set n = 9 where id = 1 and xmin = '{}'", read[0]);
    let pause = support::waits(&mut other, &update);
    one.query("commit").unwrap();
    assert_eq!(support::ends(&mut other, pause)[0].tag, "UPDATE 0");
    // Nothing has changed it after that.
    let read = rows(&mut one, "select xmin from t");
    let update = format!("update t set n = 9 where id = 1 and xmin = '{}'", read[0]);
    assert_eq!(tag(&mut other, &update), "UPDATE 1");
}

#[test]
fn a_row_has_its_number_after_a_restart() {
    let (dir, db) = open_with(TABLE);
    let sql = "create table kept (was xid, many xid[]);
        insert into t values (2, 5, 'é');
        insert into kept select xmin, array[xmin, '7'] from t where id = 2";
    db.client().unwrap().query(sql).unwrap();
    let found = "select n, many[1] = was, many[2] from t join kept on t.xmin = was";
    assert_eq!(rows(&mut db.client().unwrap(), found), ["5|t|7"]);
    drop(db);
    let db = reopen(&dir);
    assert_eq!(rows(&mut db.client().unwrap(), found), ["5|t|7"]);
    let mut client = db.client().unwrap();
    assert_eq!(
        tag(&mut client, "update t set note = 'e' where id = 2"),
        "UPDATE 1"
    );
    assert_eq!(rows(&mut client, found), [""; 0]);
}
