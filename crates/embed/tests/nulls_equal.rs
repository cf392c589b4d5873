//! UNIQUE NULLS NOT DISTINCT while several write: one row has the NULL, at every level and after a crash.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Engine, Progress};
use support::{error, open_by, open_with, reopen, rows, state};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

const TABLE: &str = "create table t (id int primary key, a int, b text, n int default 0,
         constraint t_ab unique nulls not distinct (a, b));
     create unique index t_n on t (n) nulls not distinct where id > 100";

#[test]
fn the_second_null_is_refused_by_name() {
    let (dir, db) = open_with(TABLE);
    let mut c = db.client().unwrap();
    c.query("insert into t values (1, null, 'x', 1), (2, 3, null, 1), (101, 1, null, null)")
        .unwrap();
    let look = |c: &mut quintet_embed::Client| {
        let taken = error(c, "insert into t values (9, null, 'x')");
        assert_eq!(taken.state, SqlState::UNIQUE_VIOLATION);
        assert_eq!(
            taken.message,
            "duplicate key value violates unique constraint \"t_ab\""
        );
        assert_eq!(
            taken.detail.as_deref(),
            Some("Key (a, b)=(null, x) already exists.")
        );
        let taken = error(c, "insert into t values (102, 8, 'y', null)");
        assert_eq!(
            taken.detail.as_deref(),
            Some("Key (n)=(null) already exists.")
        );
        c.query("begin; insert into t values (9, 8, 'y', null); rollback")
            .unwrap();
        let copied = state(c, "update t set a = null, b = 'x' where id = 2");
        assert_eq!(copied, SqlState::UNIQUE_VIOLATION);
    };
    look(&mut c);
    // Nothing is closed in order.
    drop(c);
    drop(db);
    look(&mut reopen(&dir).client().unwrap());
}

/// Goal: whoever comes second waits, and then hears of the first, or has the NULL if the first has gone.
#[test]
fn the_second_waits_for_the_first() {
    for level in LEVELS {
        for (end, clause) in ["commit", "rollback"].iter().flat_map(|end| {
            [
                "",
                " on conflict do nothing",
                " on conflict (a, b) do update set n = 7",
            ]
            .map(|c| (*end, c))
        }) {
            let (_dir, db) = open_with(TABLE);
            let (mut first, mut second) = (db.client().unwrap(), db.client().unwrap());
            first
                .query("begin; insert into t values (1, null, null)")
                .unwrap();
            second
                .query(&format!("begin isolation level {level}"))
                .unwrap();
            let sql = format!("insert into t values (2, null, null){clause}");
            let mut progress = second.start(&sql);
            assert!(
                matches!(progress, Ok(Progress::Waiting(_))),
                "{level}{clause}"
            );
            first.query(end).unwrap();
            while let Ok(Progress::Waiting(pause)) = progress {
                pause.wait();
                progress = second.resume();
            }
            let told = progress.map_or_else(|error| error.state.to_string(), |_| "done".into());
            second.query("commit").unwrap();
            let left = rows(&mut first, "select id, n from t").join(",");
            let expected = match (end, clause, level) {
                ("rollback", ..) => ("done", "2|0"),
                (_, "", "read committed") => ("23505", "1|0"),
                (_, clause, "read committed") if clause.contains("nothing") => ("done", "1|0"),
                (_, _, "read committed") => ("done", "1|7"),
                // The one that has it came behind the snapshot.
                (_, "", _) => (&*told, "1|0"),
                _ => ("40001", "1|0"),
            };
            assert_eq!((&*told, &*left), expected, "{level}: {sql}; {end}");
            assert!(["done", "23505", "40001"].contains(&&*told), "{told}");
        }
    }
}

/// Goal: of many who count by ON CONFLICT all are counted, in one row.
#[test]
fn everybody_counts_in_the_row_with_the_null() {
    const EACH: i64 = 60;
    for level in LEVELS {
        let (_dir, db) = open_with(TABLE);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let mut client = db.client().unwrap();
                scope.spawn(move || {
                    let set = format!("set default_transaction_isolation = '{level}'");
                    client.query(&set).unwrap();
                    for turn in 0..EACH {
                        let id = thread * EACH + turn;
                        let sql = format!(
                            "insert into t values ({id}, null, 'x', 1) on conflict (a, b) do update set n = t.n + 1"
                        );
                        client.query(&sql).unwrap();
                    }
                });
            }
        });
        let mut c = db.client().unwrap();
        assert_eq!(
            rows(&mut c, "select n from t where a is null"),
            [(4 * EACH).to_string()],
            "{level}"
        );
    }
}

#[test]
fn what_it_cannot_do_is_refused() {
    let (_dir, db) = open_with(
        "create table w (k int, a int, unique (k, a)) partition by range (k);
         create table w1 partition of w for values from (0) to (10);
         create table one (k int, a int, unique nulls not distinct (k, a))",
    );
    let mut c = db.client().unwrap();
    for sql in [
        // Of one partition: the whole table's has NULLs that differ.
        "create unique index on w1 (k, a) nulls not distinct",
        "alter table w1 add unique nulls not distinct (k, a)",
        "alter table w attach partition one for values from (10) to (20)",
    ] {
        assert_eq!(state(&mut c, sql), SqlState::FEATURE_NOT_SUPPORTED, "{sql}");
    }
    c.query("create unique index on w1 (k, a)").unwrap();
    c.query(
        "create function f() returns trigger language plpgsql as $$ begin return new; end $$;
         create trigger f before insert on one for each row execute function f()",
    )
    .unwrap();
    c.query(
        "insert into one values (1, null); insert into one values (1, null) on conflict do nothing",
    )
    .unwrap();
    let upsert = "insert into one values (1, null) on conflict (k, a) do update set a = 2";
    assert_eq!(state(&mut c, upsert), SqlState::FEATURE_NOT_SUPPORTED);
    assert_eq!(rows(&mut c, "select * from one"), ["1|-"]);
}

/// Goal: the same in calls, by every engine; one call after another has the NULL, and gives it up again.
#[test]
fn calls_meet_in_the_null_by_every_engine() {
    const CALLS: i64 = 60;
    for engine in [Engine::Direct, Engine::Chain, Engine::Queue, Engine::Auto] {
        let (_dir, db) = open_by(
            engine,
            "create table counted (k int unique nulls not distinct, n int);
             create table held (id int primary key, k int unique nulls not distinct);
             insert into held values (1, 1), (2, 2), (3, null);
             create procedure count_one() language plpgsql as $$
             begin
               insert into counted values (null, 1) on conflict (k) do update set n = counted.n + 1;
             end $$;
             create procedure hold(i int) language plpgsql as $$
             begin
               update held set k = id where k is null;
               update held set k = null where id = i;
             end $$",
        );
        std::thread::scope(|scope| {
            for thread in 1..=3 {
                let mut client = support::serializable(&db);
                scope.spawn(move || {
                    for _ in 0..CALLS {
                        for call in [
                            "call count_one()".to_string(),
                            format!("call hold({thread})"),
                        ] {
                            while let Err(error) = client.query(&call) {
                                assert_eq!(
                                    error.state,
                                    SqlState::SERIALIZATION_FAILURE,
                                    "{error:?}"
                                );
                            }
                        }
                    }
                });
            }
        });
        let mut c = db.client().unwrap();
        let counted = rows(&mut c, "select k, n from counted");
        assert_eq!(counted, [format!("-|{}", 3 * CALLS)], "{engine:?}");
        let held = rows(&mut c, "select count(*) from held where k is null");
        assert_eq!(held, ["1"], "{engine:?}");
    }
}
