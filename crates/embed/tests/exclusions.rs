//! EXCLUDE constraints: what is promised to others, and to the next who opens the database.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Database, Engine, Progress};
use support::{answer, ends, error, open_by, open_with, reopen, rows, state, waits};

const ROOMS: &str = "create extension btree_gist;
    create table t (id int primary key, room int, during int4range,
        constraint booked exclude using gist (room with =, during with &&));
    insert into t values (1, 1, '[10,20)'), (2, 2, '[10,20)')";

/// Whoever books a room that another has changed and not committed waits, and is told afterwards.
#[test]
fn a_room_is_waited_for() {
    let (_dir, db) = open_with(ROOMS);
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    // Given up again.
    a.query("begin; update t set during = '[0,5)' where id = 1")
        .unwrap();
    let pause = waits(&mut b, "insert into t values (3, 1, '[15,18)')");
    a.query("commit").unwrap();
    ends(&mut b, pause);
    // Kept.
    a.query("begin; insert into t values (4, 1, '[30,40)')")
        .unwrap();
    let pause = waits(&mut b, "insert into t values (5, 1, '[39,50)')");
    a.query("commit").unwrap();
    pause.wait();
    let refused = loop {
        match b.resume() {
            Ok(Progress::Waiting(pause)) => pause.wait(),
            Ok(_) => panic!("two bookings overlap"),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.state, SqlState::EXCLUSION_VIOLATION);
    assert_eq!(
        refused.detail.as_deref(),
        Some(
            "Key (room, during)=(1, [39,50)) conflicts with existing key (room, during)=(1, [30,40))."
        )
    );
    // Rolled back.
    a.query("begin; insert into t values (6, 1, '[60,70)')")
        .unwrap();
    let pause = waits(&mut b, "insert into t values (7, 1, '[65,66)')");
    a.query("rollback").unwrap();
    ends(&mut b, pause);
    // Another room is another matter.
    a.query("begin; insert into t values (8, 3, '[1,2)')")
        .unwrap();
    b.query("insert into t values (9, 4, '[1,2)')").unwrap();
    a.query("commit").unwrap();
    assert_eq!(
        rows(&mut b, "select id from t order by id"),
        ["1", "2", "3", "4", "7", "8", "9"]
    );
}

/// What was committed after a transaction's snapshot is in the way all the same.
#[test]
fn what_a_snapshot_does_not_see_is_in_the_way() {
    for level in ["read committed", "repeatable read", "serializable"] {
        let (_dir, db) = open_with(ROOMS);
        let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
        a.query(&format!(
            "begin isolation level {level}; select count(*) from t"
        ))
        .unwrap();
        b.query("insert into t values (3, 1, '[30,40)')").unwrap();
        let refused = state(&mut a, "insert into t values (4, 1, '[35,36)')").to_string();
        assert!(
            ["23P01", "40001"].contains(&&*refused),
            "{level}: {refused}"
        );
    }
}

#[test]
fn constraints_are_there_after_a_restart() {
    let (dir, db) = open_with(ROOMS);
    let mut a = db.client().unwrap();
    a.query(
        "create table s (a int, b int, off bool not null default false,
            exclude using gist (int4range(a, b) with &&) where (not off) deferrable initially deferred);
        insert into s values (1, 5, false), (5, 9, false), (2, 3, true)",
    )
    .unwrap();
    drop(a);
    drop(db);
    let db = reopen(&dir);
    let mut a = db.client().unwrap();
    let taken = error(&mut a, "insert into t values (3, 2, '[19,21)')");
    assert_eq!(taken.state, SqlState::EXCLUSION_VIOLATION);
    assert_eq!(
        taken.object.as_ref().unwrap().constraint.as_deref(),
        Some("booked")
    );
    a.query("begin; insert into s values (4, 6); delete from s where b in (5, 9); commit")
        .unwrap();
    a.query("begin; update s set off = false").unwrap();
    let late = error(&mut a, "insert into s values (3, 5); commit");
    assert_eq!(late.state, SqlState::EXCLUSION_VIOLATION);
    assert_eq!(
        rows(&mut a, "select a, b, off from s order by a"),
        ["2|3|t", "4|6|f"]
    );
}

fn count(client: &mut Client, sql: &str) -> String {
    answer(client, sql).unwrap()
}

/// Sessions that move bookings about, by statements and by calls, which at first lock nothing.
fn bookings_stay_apart(engine: Engine, level: &str, late: &str) {
    let sql = format!(
        "create extension btree_gist;
        create table t (id int primary key, room int, during int4range,
            constraint booked exclude using gist (room with =, during with &&) {late});
        insert into t select n, n % 3, int4range(n * 10, n * 10 + 9) from generate_series(1, 12) n;
        create procedure move(a int, r int, f int) language plpgsql as $$ begin
            update t set room = r, during = int4range(f, f + 15) where id = a;
            insert into t values (a + 100, r, int4range(f + 15, f + 17));
            delete from t where id = a + 99; end $$"
    );
    let (_dir, db) = open_by(engine, &sql);
    let one = |number: u64, db: &Database| {
        let mut client = db.client().unwrap();
        let set = format!("set default_transaction_isolation to '{level}'");
        client.query(&set).unwrap();
        let mut seed = number * 7919 + 17;
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut done = 0;
        for _ in 0..60 {
            let (id, room, from) = (next(12) + 1, next(3), next(140));
            let sql = match next(5) {
                0 => format!("call move({id}, {room}, {from})"),
                1 => format!(
                    "update t set room = {room}, during = int4range({from}, {from} + 12) where id = {id}"
                ),
                2 => format!(
                    "begin; update t set during = int4range({from}, {from} + 3) where id = {id}; update t set room = {room} where id = {id} + 1; commit"
                ),
                3 => format!("delete from t where id = {id}"),
                _ => format!(
                    "insert into t values ({id}, {room}, int4range({from}, {from} + 8)) on conflict (id) do update set during = excluded.during"
                ),
            };
            match client.query(&sql) {
                Ok(_) => done += 1,
                Err(error) => {
                    let state = error.state.to_string();
                    assert!(
                        ["23505", "23P01", "40001", "40P01"].contains(&state.as_str()),
                        "{sql}: {error:?}"
                    );
                    let _ = client.query("rollback");
                }
            }
        }
        done
    };
    let done: Vec<u64> = std::thread::scope(|scope| {
        let db = &db;
        let all = (0..4).map(|number| scope.spawn(move || one(number, db)));
        let all: Vec<_> = all.collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(done.iter().sum::<u64>() > 20, "little was done: {done:?}");
    let mut client = db.client().unwrap();
    let overlapping = "select count(*) from t a join t b on a.id < b.id and a.room = b.room and a.during && b.during";
    assert_eq!(count(&mut client, overlapping), "0");
    // The index has what the table has.
    let through = "select count(*) from t where room in (0, 1, 2)";
    assert_eq!(
        count(&mut client, through),
        count(&mut client, "select count(*) from t")
    );
}

#[test]
fn bookings_stay_apart_at_read_committed() {
    bookings_stay_apart(Engine::Direct, "read committed", "");
}

#[test]
fn bookings_stay_apart_at_repeatable_read() {
    bookings_stay_apart(Engine::Direct, "repeatable read", "");
}

#[test]
fn bookings_stay_apart_when_serializable() {
    bookings_stay_apart(Engine::Direct, "serializable", "");
}

#[test]
fn bookings_stay_apart_that_are_looked_at_late() {
    for level in ["read committed", "serializable"] {
        bookings_stay_apart(Engine::Direct, level, "deferrable initially deferred");
    }
}

#[test]
fn bookings_stay_apart_in_lines_and_batches() {
    for engine in [Engine::Chain, Engine::Queue, Engine::Auto] {
        bookings_stay_apart(engine, "serializable", "");
    }
}
