//! What `ctid` promises: batches that sessions delete beside one another take every row once and wait for nobody; a place finds its
//! row again after a restart, and is not given out twice meanwhile. Single answers are in `tests/slt/cases/ctid.slt`.

#![allow(clippy::unwrap_used)]

mod support;

use support::{number, open_with, reopen, rows, tag};

const BATCH: &str = "delete from t where ctid in (select ctid from t where a % 2 = 0 limit 30 for update skip locked)";

#[test]
fn batches_take_each_row_once() {
    for key in [
        "a int",
        "a int primary key",
        "a bigint primary key",
        "a smallint primary key",
    ] {
        let table = format!("create table t ({key}); insert into t select generate_series(1, 100)");
        let (_dir, db) = open_with(&table);
        let mut clients = [db.client().unwrap(), db.client().unwrap()];
        for client in &mut clients {
            client.query("begin").unwrap();
        }
        let [one, other] = &mut clients;
        assert_eq!(tag(one, BATCH), "DELETE 30", "{key}");
        assert_eq!(tag(other, BATCH), "DELETE 20", "{key}");
        one.query("commit").unwrap();
        other.query("rollback").unwrap();
        assert_eq!(number(one, "select count(*) from t"), 70, "{key}");
        assert_eq!(tag(other, BATCH), "DELETE 20", "{key}");
        assert_eq!(
            number(one, "select count(*) from t where a % 2 = 0"),
            0,
            "{key}"
        );
    }
}

#[test]
fn places_are_there_after_a_restart() {
    let (dir, db) = open_with(
        "create table t (a int, b text); insert into t select i, 'x' from generate_series(1, 5) i;
         create table kept as select ctid as place, a from t where a > 3; delete from t where a = 2",
    );
    let mut client = db.client().unwrap();
    client
        .query("update t set b = 'y' where ctid = '(0,3)'")
        .unwrap();
    drop(client);
    drop(db);
    let db = reopen(&dir);
    let mut client = db.client().unwrap();
    let found = "select t.a from t join kept on t.ctid = kept.place and t.a = kept.a order by 1";
    assert_eq!(rows(&mut client, found), ["4", "5"]);
    assert_eq!(
        rows(&mut client, "select a, b from t where ctid = '(0,3)'"),
        ["3|y"]
    );
    let added = "insert into t values (6, 'z') returning ctid > (select max(place) from kept)";
    assert_eq!(rows(&mut client, added), ["t"]);
}
