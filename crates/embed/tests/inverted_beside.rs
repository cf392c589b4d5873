//! Inverted indexes while several write: at every level a statement gives the rows that it gives without them, whoever waits for
//! whom, and a crash leaves the entries of the rows that there are.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Database, Engine, Progress};
use quintet_rt::Rand;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{answer, lines, open_by, open_with, reopen, rows};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

/// What an index finds beside what the table has, in one snapshot. `coalesce` is nothing that an index answers.
fn looks() -> Vec<String> {
    let conditions = [
        "a @> '{1}'",
        "a @> '{2,3}'",
        "a && '{4,5}'",
        "a <@ '{1,2,3}'",
        "a = '{}'",
        "j @> '{\"k\": 1}'",
        "j ? 'x'",
        "j ?| '{x,y}'",
        "p @> '{\"l\": [2]}'",
    ];
    let look = |condition: &str| {
        let of = |condition: &str| {
            format!("(select array_agg(id order by id) from t where {condition})")
        };
        let (found, there) = (of(condition), of(&format!("coalesce({condition}, false)")));
        format!(
            "select '{}', {found} is not distinct from {there}, {found}, {there}",
            condition.replace('\'', "")
        )
    };
    conditions.into_iter().map(look).collect()
}

fn look(client: &mut Client) {
    for sql in looks() {
        let found = match client.query(&sql) {
            Ok(found) => lines(&found[0]),
            // A reader at SERIALIZABLE may lose, too.
            Err(error) => {
                assert_eq!(error.state, SqlState::SERIALIZATION_FAILURE, "{sql}");
                continue;
            }
        };
        assert!(found[0].contains("|t|"), "{found:?}");
    }
}

fn array(rand: &mut Rand) -> String {
    if rand.one_in(9) {
        return "null".into();
    }
    let elements: Vec<String> = (0..rand.below(4))
        .map(|_| rand.below(6).to_string())
        .collect();
    format!("'{{{}}}'::int[]", elements.join(","))
}

fn document(rand: &mut Rand) -> String {
    let key = ["x", "y", "z"][rand.below(3) as usize];
    let (k, l) = (rand.below(3), rand.below(4));
    format!("'{{\"{key}\": true, \"k\": {k}, \"l\": [{l}, 2]}}'::jsonb")
}

fn change(rand: &mut Rand) -> String {
    let id = rand.below(40);
    let (a, j, p) = (array(rand), document(rand), document(rand));
    match rand.below(8) {
        0 | 1 => format!(
            "insert into t values ({id}, {a}, {j}, {p}) on conflict (id) do update set a = excluded.a, j = excluded.j"
        ),
        2 => format!("update t set a = {a} where a @> '{{{}}}'", rand.below(6)),
        3 => format!("update t set j = {j}, p = {p} where id between {id} and {id} + 2"),
        4 => format!(
            "update t set a = a || {} where j ? 'x' and id % 4 = {id} % 4",
            rand.below(6)
        ),
        5 => format!(
            "update t set id = id + 40 where id = {id} and not exists (select from t o where o.id = {id} + 40)"
        ),
        6 => format!(
            "delete from t where p @> '{{\"k\": {}}}' and id % 5 = {id} % 5",
            rand.below(3)
        ),
        _ => format!("delete from t where id = {id}"),
    }
}

/// Some changes, and their end. Whoever loses rolls back.
fn transaction(client: &mut Client, rand: &mut Rand) {
    client.query("begin").unwrap();
    for _ in 0..1 + rand.below(3) {
        if let Err(error) = client.query(&change(rand)) {
            let lost = [
                SqlState::SERIALIZATION_FAILURE,
                SqlState::DEADLOCK_DETECTED,
                SqlState::UNIQUE_VIOLATION,
            ];
            assert!(lost.contains(&error.state), "{error:?}");
            client.query("rollback").unwrap();
            return;
        }
    }
    let end = ["commit", "rollback"][usize::from(rand.one_in(6))];
    if let Err(error) = client.query(end) {
        assert_eq!(error.state, SqlState::SERIALIZATION_FAILURE);
    }
}

/// Goal: entries are those of the rows while many write, and after a crash. Method: random transactions on a few rows by three
/// threads; a fourth makes an index, and asks the same by the indexes and without them.
#[test]
fn entries_are_those_of_the_rows_while_many_write() {
    let seed = std::env::var("QUINTET_SEED").ok();
    let seed: u64 = seed.and_then(|seed| seed.parse().ok()).unwrap_or(20_802);
    println!("seed {seed}");
    for (number, level) in LEVELS.into_iter().enumerate() {
        let (dir, db) = open_with(
            "create table t (id int primary key, a int[], j jsonb, p jsonb);
             create index on t using gin (a); create index on t using gin (p jsonb_path_ops)",
        );
        let client = |db: &Database| {
            let mut client = db.client().unwrap();
            let set = format!("set default_transaction_isolation = '{level}'");
            client.query(&set).unwrap();
            client
        };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|thread| {
                    let mut client = client(&db);
                    let mut rand = Rand::seeded(seed + number as u64 * 10 + thread);
                    scope.spawn(move || (0..150).for_each(|_| transaction(&mut client, &mut rand)))
                })
                .collect();
            let (mut reader, mut maker) = (client(&db), db.client().unwrap());
            let done = &done;
            scope.spawn(move || {
                look(&mut reader);
                maker.query("create index on t using gin (j, a)").unwrap();
                while !done.load(Ordering::Relaxed) {
                    look(&mut reader);
                }
            });
            let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
            done.store(true, Ordering::Relaxed);
            ended.into_iter().for_each(|ended| ended.unwrap());
        });
        look(&mut client(&db));
        // Nothing is closed in order.
        drop(db);
        let db = reopen(&dir);
        let mut c = client(&db);
        look(&mut c);
        // An entry that was left behind would name a row that is not there.
        c.query("delete from t").unwrap();
        for all in ["a && '{0,1,2,3,4,5}'", "a <@ '{}'", "j ?| '{x,y,z,k,l}'"] {
            assert_eq!(
                rows(&mut c, &format!("select id from t where {all}")),
                [""; 0]
            );
        }
    }
}

/// Goal: rows that come to what was looked for are noticed at SERIALIZABLE. Method: threads look for a pair of elements, and when all
/// have looked, who has found none adds a row with it, or has a row become one. No pair is there twice.
#[test]
fn nobody_adds_what_another_did_not_find() {
    const THREADS: usize = 3;
    let (_dir, db) = open_with(
        "create table t (id int primary key, a int[], j jsonb);
         create index on t using gin (a, j); create index on t using gin (j jsonb_path_ops);
         insert into t select n, array[100 + n % 7], '{\"x\": -1}' from generate_series(1, 600) n",
    );
    let looked = std::sync::Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS as u64 {
            let mut client = support::serializable(&db);
            let mut rand = Rand::seeded(77 + thread);
            let looked = &looked;
            scope.spawn(move || {
                for turn in 0..100 {
                    let (found, values) = pair(&mut rand, turn);
                    client.query("begin").unwrap();
                    let count = format!("select count(*) from t where {found}");
                    let there = answer(&mut client, &count).unwrap();
                    looked.wait();
                    let id = 1000 * (thread + 1) + turn;
                    let add = match rand.one_in(2) {
                        true => format!("insert into t values ({id}, {values})"),
                        false => format!(
                            "update t set (a, j) = ({values}) where id = {}",
                            turn * 3 + thread + 1
                        ),
                    };
                    let done = match &*there {
                        "0" => client.query(&add).and_then(|_| client.query("commit")),
                        _ => client.query("commit"),
                    };
                    if let Err(error) = done {
                        assert_eq!(error.state, SqlState::SERIALIZATION_FAILURE, "{error:?}");
                        client.query("rollback").unwrap();
                    }
                }
            });
        }
    });
    let mut c = db.client().unwrap();
    for twice in [
        "select a from t where a[1] >= 1000 group by a having count(*) > 1",
        "select j from t where j ? 'y' group by j having count(*) > 1",
    ] {
        assert_eq!(rows(&mut c, twice), [""; 0], "{twice}");
    }
    let added = rows(
        &mut c,
        "select count(*) >= 100 from t where a[1] >= 1000 or j ? 'y'",
    );
    assert_eq!(added, ["t"]);
}

/// What there must be one of at most, and a row that is one.
fn pair(rand: &mut Rand, turn: u64) -> (String, String) {
    let (one, other) = (1000 + turn, 500 + rand.below(2));
    match rand.one_in(2) {
        true => (
            format!("a @> '{{{other},{one}}}'"),
            format!("'{{{one},{other}}}', '{{\"x\": -1}}'"),
        ),
        false => {
            let json = format!("'{{\"x\": {one}, \"y\": [{other}]}}'");
            (format!("j @> {json}"), format!("'{{100}}', {json}"))
        }
    }
}

/// Goal: who waits for a row does with it what it does without an index. Method: one of two tables that are otherwise the same has
/// indexes; the same happens to both, and the answers and what is left are compared.
#[test]
fn who_waits_for_a_row_does_what_it_does_without_them() {
    let firsts = [
        "update t set a = '{9}', j = '{\"z\": 9}' where id = 1",
        "update t set a = '{1,9}', j = '{\"x\": 9}' where id = 3",
        "update t set n = 7 where id = 1",
        "update t set id = 11 where id = 1",
        "delete from t where id = 1",
    ];
    let seconds = [
        "update t set n = n + 1 where a @> '{1}'",
        "update t set a = a || 5 where a && '{1,5}'",
        "update t set j = j || '{\"y\": 1}' where j ? 'x'",
        "delete from t where j @> '{\"x\": 1}'",
        "select id from t where a @> '{1}' order by id for update",
    ];
    let cases = LEVELS.iter().flat_map(|level| {
        let pairs = firsts
            .iter()
            .flat_map(|one| seconds.iter().map(move |other| (one, other)));
        pairs.flat_map(move |(one, other)| {
            ["commit", "rollback"].map(|end| (level, one, other, end))
        })
    });
    let indexes = "create index on t using gin (a); create index on t using gin (j)";
    let (_with_dir, with) = open_with(&format!(
        "create table t (id int primary key, n int, a int[], j jsonb); {indexes}"
    ));
    let (_without_dir, without) =
        open_with("create table t (id int primary key, n int, a int[], j jsonb)");
    for (level, one, other, end) in cases {
        let run = |db: &Database| {
            let (mut first, mut second) = (db.client().unwrap(), db.client().unwrap());
            first
                .query("delete from t; insert into t values (1, 0, '{1,2}', '{\"x\": 1}'), (2, 0, '{1}', '{\"x\": 1}'), (3, 0, '{3}', null)")
                .unwrap();
            first.query("begin").unwrap();
            second
                .query(&format!("begin isolation level {level}"))
                .unwrap();
            first.query(one).unwrap();
            let mut progress = second.start(other);
            let waited = matches!(progress, Ok(Progress::Waiting(_)));
            first.query(end).unwrap();
            while let Ok(Progress::Waiting(pause)) = progress {
                pause.wait();
                progress = second.resume();
            }
            let mut told = vec![waited.to_string()];
            told.push(match progress {
                Ok(Progress::Done(answers)) => {
                    format!("{} {:?}", answers[0].tag, lines(&answers[0]))
                }
                Ok(Progress::Waiting(_)) => unreachable!("it has been waited for"),
                Err(error) => error.state.to_string(),
            });
            told.push(match answer(&mut second, "commit") {
                Ok(answer) => answer,
                Err(error) => error.state.to_string(),
            });
            told.extend(rows(&mut first, "select * from t order by id"));
            told
        };
        let (by_index, by_table) = (run(&with), run(&without));
        // Who has not read the whole table has less to lose.
        if *level == "serializable" && by_table.iter().any(|told| told == "40001") {
            continue;
        }
        assert_eq!(by_index, by_table, "{level}: {one}; {other}; {end}");
    }
}

/// Goal: calls are what they are for tables without such indexes, by every engine. Method: each call looks for an element, and adds a row with it
/// if there is none.
#[test]
fn calls_look_for_elements_by_every_engine() {
    const CALLS: i64 = 60;
    for engine in [Engine::Direct, Engine::Chain, Engine::Queue, Engine::Auto] {
        let (_dir, db) = open_by(
            engine,
            "create table t (id bigserial primary key, a int[], j jsonb);
             create index on t using gin (a); create index on t using gin (j);
             create procedure add(v int, out added bool) language plpgsql as $$
             declare there int;
             begin
               select count(*) into there from t where a @> array[v] and j ? 'x';
               added := there = 0;
               if added then insert into t (a, j) values (array[v, -1], '{\"x\": 1}'); end if;
               update t set j = j || '{\"seen\": true}' where a && array[v];
             end $$",
        );
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let mut client = support::serializable(&db);
                scope.spawn(move || {
                    for call in 0..CALLS {
                        let call = format!("call add({}, null)", call % 20);
                        while let Err(error) = client.query(&call) {
                            assert_eq!(error.state, SqlState::SERIALIZATION_FAILURE, "{error:?}");
                        }
                    }
                });
            }
        });
        let mut c = db.client().unwrap();
        let of_each = "select count(*), count(distinct a[1]) from t where a @> '{-1}'";
        assert_eq!(rows(&mut c, of_each), ["20|20"], "{engine:?}");
        let seen = "select count(*) from t where j @> '{\"seen\": true}'";
        assert_eq!(rows(&mut c, seen), ["20"], "{engine:?}");
    }
}
