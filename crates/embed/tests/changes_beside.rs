//! Schema changes beside transaction blocks that write: who waits for whom, and what whoever has waited goes by.
//!
//! Relies on: nothing but the session.  Promises: a block at READ COMMITTED is not refused because a schema was changed.
//! Does not: look at statements and calls by themselves, for which see `alone`.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::Progress;
use support::{ends, finish, number, open_with, state, waits};

/// Goal: who has written to a table before its schema is changed ends his transaction as if nothing were; others change other things
/// meanwhile.
#[test]
fn a_schema_change_lets_those_end_who_have_written_before() {
    let changes = [
        ("create index t_n on t (n)", "select count(*) from t", 5),
        (
            "alter table t add column more text",
            "select count(*) from t where more is null",
            5,
        ),
        (
            "alter table t alter column n type bigint",
            "select sum(n)::bigint from t",
            15,
        ),
        ("truncate t", "select count(*) from t", 0),
    ];
    for (change, found, expected) in changes {
        let (_dir, db) = open_with(
            "create table t (id int primary key, n int not null); insert into t values (1, 1)",
        );
        let [mut one, mut other, mut third] = [(); 3].map(|()| db.client().unwrap());
        let mut client = db.client().unwrap();
        one.query("begin; insert into t values (2, 2)").unwrap();
        other
            .query("begin isolation level serializable; select * from t where id = 3; insert into t values (3, 3)")
            .unwrap();
        let _pause = waits(&mut client, change);
        // Nobody waits for who waits.
        third
            .query("create table beside (n int); insert into t values (4, 4)")
            .unwrap();
        one.query("insert into t values (5, 5); commit").unwrap();
        let Progress::Waiting(pause) = client.resume().unwrap() else {
            panic!("{change} did not wait for both");
        };
        other.query("commit").unwrap();
        ends(&mut client, pause);
        assert_eq!(number(&mut third, found), expected, "{change}");
    }
}

#[test]
fn a_schema_change_that_waits_for_writers_is_given_up_and_closes_no_ring_unseen() {
    let (_dir, db) = open_with("create table t (id int primary key, n int not null)");
    let [mut one, mut other] = [(); 2].map(|()| db.client().unwrap());
    one.query("begin; insert into t values (1, 1)").unwrap();
    let pause = waits(&mut other, "alter table t add column more text");
    other.session().cancel_handle().cancel();
    drop(pause);
    assert_eq!(
        other.resume().map(|_| ()).map_err(|error| error.state),
        Err(SqlState::QUERY_CANCELED)
    );
    one.query("insert into t values (2, 2)").unwrap();
    // Each waits for what the other has written.
    other.query("begin; create table u (n int)").unwrap();
    let _pause = waits(&mut other, "alter table t add column more text");
    assert_eq!(
        state(&mut one, "create table v (n int)"),
        SqlState::DEADLOCK_DETECTED
    );
    one.query("rollback").unwrap();
    finish(&mut other);
    other.query("commit").unwrap();
    assert_eq!(
        number(&mut one, "select count(*) from t where more is null"),
        0
    );
}

/// Goal: who has put rows into a table without a key, and holds no row, is waited for like any other. Method: four changes beside a
/// block that has written.
#[test]
fn a_schema_change_lets_those_end_who_hold_no_row() {
    let changes = [
        ("create index t_n on t (n)", "select count(*) from t", 3),
        (
            "alter table t add column more text",
            "select count(*) from t where more is null",
            3,
        ),
        (
            "alter table t add primary key (n)",
            "select sum(n) from t",
            6,
        ),
        ("truncate t", "select count(*) from t", 0),
    ];
    for (change, found, expected) in changes {
        let (_dir, db) = open_with("create table t (n int not null); insert into t values (1)");
        let [mut one, mut client] = [(); 2].map(|()| db.client().unwrap());
        one.query("begin; insert into t values (2)").unwrap();
        let pause = waits(&mut client, change);
        one.query("insert into t values (3); commit").unwrap();
        ends(&mut client, pause);
        assert_eq!(number(&mut one, found), expected, "{change}");
    }
}

/// Goal: who begins to write to a table while its schema is being changed waits, and goes by the new one. Method: each kind of
/// statement in a block, beside changes that have not ended; then it is committed.
#[test]
fn a_block_that_begins_to_write_waits_for_the_change_of_the_schema() {
    let changes = [
        "create index t_n on t (n)",
        "alter table t add column more text default 'x'",
        "alter table t alter column n type bigint",
        "truncate t",
        "alter table t rename column m to o",
        "lock table t",
    ];
    let statements = [
        ("insert into t (id, n) values (2, 2)", 1),
        ("update t set n = 7 where id = 1", 0),
        ("delete from t where id = 1", -1),
        (
            "with x as (insert into t (id, n) values (2, 2) returning n) select sum(n) from x",
            1,
        ),
        ("call p()", 1),
        ("select f()", 1),
    ];
    for change in changes {
        for (statement, more) in statements {
            let (_dir, db) = open_with(
                "create table t (id int primary key, n int not null, m int); insert into t values (1, 1);
                 create procedure p() language plpgsql as $$ begin insert into t (id, n) values (2, 2); end $$;
                 create function f() returns int language plpgsql as $$ begin insert into t (id, n) values (2, 2); return 1; end $$",
            );
            let [mut one, mut client] = [(); 2].map(|()| db.client().unwrap());
            one.query(&format!("begin; {change}")).unwrap();
            client.query("begin; select count(*) from t").unwrap();
            let pause = waits(&mut client, statement);
            one.query("commit").unwrap();
            ends(&mut client, pause);
            client.query("commit").unwrap();
            let there = i64::from(change != "truncate t");
            let more = if there == 0 { more.max(0) } else { more };
            let told = format!("{change}, {statement}");
            assert_eq!(
                number(&mut one, "select count(*) from t"),
                there + more,
                "{told}"
            );
        }
    }
}

/// Goal: what waits for a change goes by what that leaves, also if that is nothing. Method: dropped, and a column gone whose value is
/// given; a cancel; a change that is undone.
#[test]
fn a_block_that_has_waited_for_a_change_is_told_what_has_become_of_its_table() {
    let (_dir, db) = open_with("create table t (n int, m int); create table u (n int)");
    let [mut one, mut client] = [(); 2].map(|()| db.client().unwrap());
    client.query("begin; insert into u values (1)").unwrap();
    one.query("begin; alter table t drop column m").unwrap();
    let pause = waits(&mut client, "insert into t values (1, 2)");
    one.query("rollback").unwrap();
    ends(&mut client, pause);
    client
        .query("commit; begin; insert into u values (2)")
        .unwrap();
    one.query("begin; alter table t drop column m").unwrap();
    let pause = waits(&mut client, "insert into t values (1, 2)");
    one.query("commit").unwrap();
    pause.wait();
    assert_eq!(
        client.resume().map(|_| ()).map_err(|error| error.state),
        Err(SqlState::SYNTAX_ERROR)
    );
    client
        .query("rollback; begin; insert into u values (3)")
        .unwrap();
    one.query("begin; drop table t").unwrap();
    let pause = waits(&mut client, "insert into t values (1)");
    client.session().cancel_handle().cancel();
    drop(pause);
    assert_eq!(
        client.resume().map(|_| ()).map_err(|error| error.state),
        Err(SqlState::QUERY_CANCELED)
    );
    client
        .query("rollback; begin; insert into u values (4)")
        .unwrap();
    let pause = waits(&mut client, "insert into t values (1)");
    one.query("commit").unwrap();
    pause.wait();
    assert_eq!(
        client.resume().map(|_| ()).map_err(|error| error.state),
        Err(SqlState::UNDEFINED_TABLE)
    );
    client.query("rollback").unwrap();
    assert_eq!(number(&mut one, "select sum(n) from u"), 1);
}

/// Goal: no change of the schema has a block told that it has lost at READ COMMITTED, and all rows are there. Method: threads with blocks
/// of two tables, one without a key, and one thread with changes of both.
#[test]
fn blocks_at_read_committed_never_lose_to_changes_of_the_schema() {
    let (_dir, db) = open_with(
        "create table t (id int primary key, n int); create table u (n int);
         insert into t select i, 0 from generate_series(1, 100) i;
         create function f(k int) returns bigint language plpgsql as $$ begin
             update t set n = n + 1 where id = k;
             return (select count(*) from u where n = k) + (select max(n) from t);
         end $$",
    );
    let done = std::sync::atomic::AtomicBool::new(false);
    let blocks = std::thread::scope(|scope| {
        let blocks: Vec<_> = (1..=3)
            .map(|number| {
                let (db, done) = (&db, &done);
                scope.spawn(move || {
                    let mut client = db.client().unwrap();
                    let mut blocks = 0;
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        for statement in [
                            "begin isolation level read committed".to_string(),
                            format!("insert into u (n) values ({number})"),
                            format!("select id from t where id = {number} and n >= 0"),
                            format!("update t set n = n + 1 where id = {number}"),
                            format!("select f({number})"),
                            "commit".to_string(),
                        ] {
                            let done = client.query(&statement);
                            done.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
                        }
                        blocks += 1;
                    }
                    blocks
                })
            })
            .collect();
        let mut client = db.client().unwrap();
        for round in 0..20 {
            for change in [
                format!("alter table u add column c{round} int"),
                "create index u_n on u (n)".to_string(),
                format!(
                    "alter table t alter column n type {}",
                    ["bigint", "int"][round % 2]
                ),
                "drop index u_n".to_string(),
                format!("alter table u drop column c{round}"),
            ] {
                let done = client.query(&change);
                done.unwrap_or_else(|error| panic!("{change}: {error:?}"));
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        blocks
            .into_iter()
            .map(|block| block.join().unwrap())
            .sum::<i64>()
    });
    let mut client = db.client().unwrap();
    assert!(blocks > 20, "{blocks}");
    assert_eq!(number(&mut client, "select count(*) from u"), blocks);
    assert_eq!(
        number(&mut client, "select sum(n)::bigint from t"),
        2 * blocks
    );
}
