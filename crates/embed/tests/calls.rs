//! Calls of routines by many clients at once: what they lose to one another is run again, whole, and no
//! client hears of it; and what a routine says itself is said once.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Array, SqlState, SqlType, Value};
use quintet_embed::{Client, Database, Level, Progress};
use quintet_rt::threads;
use support::{number, open_with, rows};

const CLIENTS: usize = 6;
const CALLS: usize = 120;
const LEVELS: [Level; 3] = [Level::ReadCommitted, Level::Snapshot, Level::Serializable];

fn client(db: &Database, level: Level) -> Client {
    let mut client = db.client().unwrap();
    let set = format!("set session characteristics as transaction isolation level {level}");
    client.query(&set).unwrap();
    client
}

/// Every client prepares its statement and calls it again and again. Any error fails the test.
fn all_call(db: &Database, level: Level, statement: fn(usize) -> String) {
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let db = db.clone();
            threads::spawn("caller", move || {
                let mut client = client(&db, level);
                client.prepare("call", &statement(number)).unwrap();
                for call in 0..CALLS {
                    let params = vec![Value::Int4(call as i32)];
                    if let Err(error) = client.execute("call", params) {
                        panic!("{level}, client {number}, call {call}: {error}");
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
}

/// Goal: a row that everybody changes is changed by every call once.
#[test]
fn a_hot_row_counts_every_call_and_nobody_hears_of_a_conflict() {
    for level in LEVELS {
        let (_dir, db) = open_with(
            "create table hot (id int primary key, n bigint);
             insert into hot values (1, 0);
             create procedure bump(call int) language plpgsql as $$
             declare was bigint;
             begin
               select n into strict was from hot where id = 1;
               update hot set n = was + 1 where id = 1 and n = was;
               if not found then raise exception 'lost an update'; end if;
             end $$;
             create procedure add(call int) language plpgsql as $$
             begin update hot set n = n + 1 where id = 1; end $$",
        );
        // Reading first and writing then is only safe where the level says so.
        let statement = match level {
            Level::ReadCommitted => |_: usize| "call add($1)".to_string(),
            _ => |client: usize| match client % 2 {
                0 => "call bump($1)".to_string(),
                _ => "call add($1)".to_string(),
            },
        };
        all_call(&db, level, statement);
        let mut client = client(&db, level);
        let n = number(&mut client, "select n from hot where id = 1");
        assert_eq!(n as usize, CLIENTS * CALLS, "{level}");
    }
}

/// Goal: locks taken in opposite orders end in no error either, and nothing is lost or made.
#[test]
fn calls_that_lock_in_opposite_order_all_take_place() {
    for level in LEVELS {
        let (_dir, db) = open_with(
            "create table account (id int primary key, balance bigint);
             insert into account select i, 1000 from generate_series(1, 4) i;
             create procedure move(call int, src int, dst int) language plpgsql as $$
             begin
               update account set balance = balance - 1 where id = src;
               update account set balance = balance + 1 where id = dst;
             end $$",
        );
        all_call(&db, level, |client| {
            let (from, to) = (client % 4 + 1, (client + 1) % 4 + 1);
            match client % 2 {
                0 => format!("call move($1, {from}, {to})"),
                _ => format!("call move($1, {to}, {from})"),
            }
        });
        let mut client = client(&db, level);
        let sum = number(&mut client, "select sum(balance)::bigint from account");
        assert_eq!(sum, 4000, "{level}");
    }
}

/// Goal: a call that is refused at its commit, because what it has read changed, is run again, too: at
/// least one of two doctors stays on call.
#[test]
fn calls_that_would_skew_writes_are_run_again() {
    let (_dir, db) = open_with(
        "create table doctor (id int primary key, on_call boolean);
         insert into doctor values (1, true), (2, true);
         create table broken (id int);
         create procedure shift(call int, me int) language plpgsql as $$
         declare others bigint; everybody bigint;
         begin
           select count(*) into everybody from doctor where on_call;
           if everybody = 0 then insert into broken values (me); end if;
           select count(*) into others from doctor where on_call and id <> me;
           update doctor set on_call = (others = 0) where id = me;
         end $$",
    );
    all_call(&db, Level::Serializable, |client| {
        format!("call shift($1, {})", client % 2 + 1)
    });
    let mut client = client(&db, Level::Serializable);
    assert_eq!(number(&mut client, "select count(*) from broken"), 0);
    let on_call = number(&mut client, "select count(*) from doctor where on_call");
    assert!(on_call > 0, "nobody is on call");
}

/// Goal: a call that is run again begins with the arguments that its client gave, whatever its routine has done with them.
/// Method: the row that it changes is held by another until it wants to commit.
#[test]
fn a_lost_call_is_run_again_with_what_it_was_given() {
    let (_dir, db) = open_with(
        "create table hot (id int primary key, n int);
         insert into hot values (1, 0);
         create table log (id int primary key, tags text[], what text);
         create procedure plain(a int, tags text[], what text) language plpgsql as $$
         begin
           update hot set n = n + a where id = 1;
           insert into log values (a, tags, what);
         end $$;
         create procedure changing(a int, tags text[], what text) language plpgsql as $$
         begin
           update hot set n = n + a where id = 1;
           a := a + 1;
           tags[2] := tags[2] || '!';
           what := what || '!';
           insert into log values (a, tags, what);
         end $$;
         create procedure through(a int, tags text[], inout what text) language plpgsql as $$
         begin
           update hot set n = n + a where id = 1;
           select what || n into what from hot where id = 1;
           insert into log values (a, tags, what);
         end $$",
    );
    let long = "a text that is too long to lie in a value itself";
    let mut holder = client(&db, Level::Serializable);
    let mut caller = client(&db, Level::Serializable);
    for (number, name) in [(10, "plain"), (20, "changing"), (30, "through")] {
        let sql = format!("call {name}($1, $2, $3)");
        caller.prepare(name, &sql).unwrap();
        holder
            .query("begin; update hot set n = 0 where id = 1")
            .unwrap();
        let before = db.stats().retries;
        let tags = Array {
            shape: None,
            element: SqlType::Text,
            values: vec![Value::text("one"), Value::text("two")],
        };
        let params = vec![
            Value::Int4(number),
            Value::Array(Box::new(tags)),
            Value::text(long),
        ];
        let mut progress = caller.start_prepared(name, params).unwrap();
        assert!(matches!(progress, Progress::Waiting(_)), "{name}");
        holder.query("commit").unwrap();
        while let Progress::Waiting(pause) = progress {
            pause.wait();
            progress = caller.resume().unwrap();
        }
        assert!(db.stats().retries > before, "{name} was not run again");
    }
    let answers = caller.query("select * from log order by id").unwrap();
    assert_eq!(
        support::lines(&answers[0]),
        [
            format!("10|{{one,two}}|{long}"),
            format!("21|{{one,two!}}|{long}!"),
            format!("30|{{one,two}}|{long}30"),
        ]
    );
}

/// Goal: RAISE with the state of a lost conflict is the routine's own word: said once, not tried again.
#[test]
fn an_error_of_the_routines_own_is_not_run_again() {
    let (_dir, db) = open_with(
        "create sequence attempts;
         create procedure p(a int) language plpgsql as $$
         begin
           perform nextval('attempts');
           raise exception 'mine' using errcode = '40001';
         end $$",
    );
    let mut client = client(&db, Level::Serializable);
    client.prepare("p", "call p($1)").unwrap();
    let error = client.execute("p", vec![Value::Int4(1)]).unwrap_err();
    assert_eq!(
        (error.state, error.message.as_str()),
        (SqlState::SERIALIZATION_FAILURE, "mine")
    );
    assert_eq!(number(&mut client, "select nextval('attempts')"), 2);
}

/// Goal: inside BEGIN a conflict is the client's, who alone knows what else the transaction did.
#[test]
fn inside_a_block_a_lost_call_is_told() {
    let (_dir, db) = open_with(
        "create table t (id int primary key, n int);
         insert into t values (1, 0);
         create procedure add(a int) language plpgsql as $$
         begin update t set n = n + a where id = 1; end $$",
    );
    let mut one = client(&db, Level::Snapshot);
    let mut other = client(&db, Level::Snapshot);
    one.query("begin; select n from t").unwrap();
    other.query("call add(1)").unwrap();
    let error = one.query("call add(10)").unwrap_err();
    assert_eq!(error.state, SqlState::SERIALIZATION_FAILURE);
    one.query("rollback").unwrap();
    one.query("call add(10)").unwrap();
    assert_eq!(number(&mut one, "select n from t"), 11);
}

/// Goal: a client sees the notices of the attempt that counts, and its rows once.
#[test]
fn notices_and_rows_of_lost_attempts_are_forgotten() {
    let (_dir, db) = open_with(
        "create table hot (id int primary key, n int);
         insert into hot values (1, 0);
         create function next_one(a int) returns int language plpgsql as $$
         declare now_is int;
         begin
           raise notice 'before';
           update hot set n = n + 1 where id = 1 returning n into now_is;
           return now_is;
         end $$",
    );
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let db = db.clone();
            threads::spawn("caller", move || {
                let mut client = client(&db, Level::Serializable);
                client.prepare("next", "select next_one($1)").unwrap();
                let mut seen = Vec::new();
                for _ in 0..CALLS {
                    let answer = client.execute("next", vec![Value::Int4(0)]).unwrap();
                    assert_eq!(answer.rows.len(), 1);
                    seen.push(answer.rows[0][0].as_i64().unwrap());
                    assert_eq!(client.session().take_notices().len(), 1);
                }
                seen
            })
        })
        .collect();
    let mut all: Vec<i64> = clients
        .into_iter()
        .flat_map(|client| client.join().unwrap())
        .collect();
    all.sort_unstable();
    let expected: Vec<i64> = (1..=(CLIENTS * CALLS) as i64).collect();
    assert_eq!(all, expected);
}

/// Goal: elements that a turn of a loop looks at again are what they are then (`ir::code::elements`). Method: loops that only look, past the
/// end too, in expressions and in statements about one row; that write to the array; that write to the variable; one in another.
#[test]
fn elements_of_arrays_in_loops_are_those_of_now() {
    let (_dir, db) = open_with(
        "create table kept (k int primary key, n int, m int);
         create function look(a int[], b int[]) returns int language plpgsql as $$
         declare s int := 0; nulls int := 0;
         begin
             for i in 1..4 loop
                 if a[i] is null or a[i] < 0 then nulls := nulls + 1; end if;
                 s := s + coalesce(a[i], 100);
             end loop;
             for i in 1..3 loop
                 s := s + coalesce(a[i], 0);
                 a[i] := 10;
                 s := s + a[i];
             end loop;
             for i in 1..3 loop
                 s := s + a[i];
                 i := 1;
                 s := s + b[i] + b[i];
             end loop;
             for i in 1..2 loop
                 for j in 1..2 loop s := s + b[i] * b[j] + b[i] - b[j]; end loop;
             end loop;
             return s * 10 + nulls;
         end $$;
         create procedure put(a int[], b int[]) language plpgsql as $$
         begin
             for i in 1..3 loop
                 insert into kept values (a[i], b[i], b[i] + b[i]);
                 update kept set n = n + b[i], m = m - b[i] where k = a[i];
             end loop;
         end $$",
    );
    let mut client = db.client().unwrap();
    // 1 + 2 + 3 + 100, 1 + 2 + 3 + 30, 3 * (10 + 14), (7 + 8) * (7 + 8); one NULL.
    let looks = rows(&mut client, "select look('{1,2,3}', '{7,8,9}')");
    assert_eq!(looks, ["4391"]);
    // 400, 30, 72, 225; four NULLs.
    let looks = rows(&mut client, "select look(null, '{7,8,9}')");
    assert_eq!(looks, ["7274"]);
    client.query("call put('{1,2,3}', '{4,5,null}')").unwrap();
    let put = rows(&mut client, "select k, n, m from kept order by k");
    assert_eq!(put, ["1|8|4", "2|10|5", "3|-|-"]);
}
