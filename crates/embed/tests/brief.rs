//! Statements that are tried on a thread that others wait for, and begin anew elsewhere when they take longer than a moment.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{SqlResult, SqlState, Value};
use quintet_embed::{Client, Flow, RowSink, Step};
use quintet_ir::statement::OutputColumn;
use quintet_sql::command::CopyFormat;
use std::time::Duration;
use support::{number, open_with};

/// Far more rows than a moment is enough for.
const SETUP: &str = "
    create table t (n int primary key, v int not null);
    insert into t select n, 0 from generate_series(1, 30000) n;
    create sequence s;
    create table serial (n serial primary key, v int);";

#[derive(Default)]
struct Kept {
    announced: usize,
    rows: Vec<Vec<Value>>,
}

impl RowSink for Kept {
    fn columns(&mut self, _: &[OutputColumn]) {
        self.announced += 1;
    }

    fn row(&mut self, values: &[Value]) -> SqlResult<Flow> {
        self.rows.push(values.to_vec());
        Ok(Flow::Continue)
    }

    fn copy_begin(&mut self, _: usize, _: &CopyFormat) {
        panic!("nothing is copied here");
    }

    fn copy_data(&mut self, _: &[u8]) -> Flow {
        panic!("nothing is copied here");
    }
}

/// What a step that is the last says; nobody else is there to wait for but the disk.
fn done(client: &mut Client, mut step: Step, kept: &mut Kept) -> String {
    loop {
        match step {
            Step::Done(tag) => return tag.unwrap(),
            Step::Wait(pause) => pause.wait(),
            _ => panic!("neither done nor waiting"),
        }
        step = client.session().execute("", 0, kept).unwrap();
    }
}

/// Begins a statement of the simple protocol.
fn begin(client: &mut Client, sql: &str) {
    let statement = client.session().split(sql).unwrap().remove(0);
    client.session().begin_simple(&statement).unwrap();
}

/// Runs a statement that takes longer than a moment, and gives what was given in vain, and what then was given.
fn begun_anew(client: &mut Client, sql: &str) -> (Kept, Kept, String) {
    begin(client, sql);
    assert!(client.session().may_be_brief(""), "{sql}");
    let mut void = Kept::default();
    let step = client.session().execute_briefly("", 0, &mut void).unwrap();
    assert!(step.is_none(), "{sql} took less than a moment");
    let mut kept = Kept::default();
    let step = client.session().execute("", 0, &mut kept).unwrap();
    let tag = done(client, step, &mut kept);
    (void, kept, tag)
}

#[test]
fn rows_that_were_given_before_the_moment_was_over_are_given_once_more() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    let sql = "select n from t where n % 29999 = 1 or n % 29999 = 2 and v = 0";
    let (void, kept, tag) = begun_anew(&mut client, sql);
    assert_eq!(void.announced, 1);
    assert_eq!(kept.announced, 1, "whoever heard of the columns forgot it");
    let given: Vec<_> = kept.rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(given, [1, 2, 30000].map(Value::Int4));
    assert_eq!(tag, "SELECT 3");
    client.session().sync().unwrap();
}

#[test]
fn a_change_that_is_given_up_leaves_nothing() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client.query("begin").unwrap();
    let change = "update t set v = v + n where n > 0 returning v";
    let (void, kept, tag) = begun_anew(&mut client, change);
    assert!(void.rows.is_empty());
    assert_eq!(kept.rows.len(), 30_000);
    assert_eq!(tag, "UPDATE 30000");
    let sum = "select sum(v) from t";
    assert_eq!(number(&mut client, sum), 450_015_000);
    client.query("savepoint a").unwrap();
    begin(&mut client, "delete from t where n > 10");
    let mut sink = Kept::default();
    let step = client.session().execute_briefly("", 0, &mut sink).unwrap();
    assert!(step.is_none());
    client.session().sync().unwrap();
    // It was not run again.
    assert_eq!(number(&mut client, "select count(*) from t"), 30_000);
    client.query("rollback").unwrap();
    assert_eq!(number(&mut client, sum), 0);
}

#[test]
fn rows_that_were_put_in_before_the_moment_was_over_are_put_in_once() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    let insert = "insert into t select n + 30000, 1 from t returning n";
    let (void, kept, tag) = begun_anew(&mut client, insert);
    assert!(void.rows.is_empty());
    assert_eq!((kept.rows.len(), tag.as_str()), (30_000, "INSERT 0 30000"));
    client.session().sync().unwrap();
    assert_eq!(number(&mut client, "select count(*) from t"), 60_000);
}

#[test]
fn few_rows_are_there_in_a_moment() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    let mut at_once = 0;
    for from in 1..=50 {
        let sql = format!("select sum(n), count(*) from t where n between {from} and {from} + 9");
        begin(&mut client, &sql);
        let mut kept = Kept::default();
        let step = match client.session().may_be_brief("") {
            true => client.session().execute_briefly("", 0, &mut kept).unwrap(),
            false => None,
        };
        at_once += usize::from(step.is_some());
        let step = match step {
            Some(step) => step,
            // The machine was busy with something else.
            None => {
                kept = Kept::default();
                client.session().execute("", 0, &mut kept).unwrap()
            }
        };
        assert_eq!(done(&mut client, step, &mut kept), "SELECT 1");
        let expected = [Value::Int8(10 * from + 45), Value::Int8(10)];
        assert_eq!(kept.rows, [expected]);
        client.session().sync().unwrap();
    }
    assert!(at_once > 10, "{at_once} of 50");
}

#[test]
fn execute_runs_what_was_prepared() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client
        .query("prepare few as select n from t where n between $1 and $1 + 2")
        .unwrap();
    client
        .query("prepare one as select n from t where n = $1")
        .unwrap();
    client
        .query("prepare draw as select nextval('s') from t where n < $1")
        .unwrap();
    client
        .query("prepare many as select n + $1 from t where n % 29999 = 1 and v = 0")
        .unwrap();
    for (sql, short, brief) in [
        ("execute few (5)", false, true),
        ("execute one (5)", true, false),
        ("execute draw (5)", false, false),
        ("execute missing (5)", false, false),
    ] {
        begin(&mut client, sql);
        assert_eq!(client.session().is_short(""), short, "{sql}");
        assert_eq!(client.session().may_be_brief(""), brief, "{sql}");
        client.session().sync().unwrap();
    }
    let (void, kept, tag) = begun_anew(&mut client, "execute many (1)");
    assert_eq!((void.announced, kept.announced), (1, 1));
    assert_eq!(kept.rows, [[Value::Int4(2)], [Value::Int4(30_001)]]);
    assert_eq!(tag, "SELECT 2");
}

#[test]
fn a_cursor_whose_rows_are_kept_is_not_short() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    for (sql, short) in [
        ("declare a cursor for select v from t", true),
        ("declare a scroll cursor for select v from t", false),
        ("declare a cursor with hold for select v from t", false),
        ("fetch 10 from a", false),
    ] {
        begin(&mut client, sql);
        assert_eq!(client.session().is_short(""), short, "{sql}");
        client.session().sync().unwrap();
    }
}

#[test]
fn what_takes_long_each_time_is_tried_ever_less() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client
        .session()
        .parse("q", "select sum(v) from t where v >= $1", &[])
        .unwrap();
    let mut tried = 0;
    for _ in 0..64 {
        client
            .session()
            .bind("", "q", vec![Value::Int4(0)])
            .unwrap();
        if client.session().may_be_brief("") {
            tried += 1;
            let step = client
                .session()
                .execute_briefly("", 0, &mut Kept::default())
                .unwrap();
            assert!(step.is_none());
        }
        client.session().sync().unwrap();
    }
    assert!((2..8).contains(&tried), "{tried}");
}

#[test]
fn what_leaves_traces_is_not_tried() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client.query("create function f(int) returns int language plpgsql as $$ begin raise notice 'f'; return $1; end $$").unwrap();
    for sql in [
        "select nextval('s') from t where n < 100",
        "select (select nextval('s')) from t where n < 100",
        "select f(n) from t where n < 100",
        "select x from f(3) x, t where n < 100",
        "update t set v = f(n) where n < 100",
        "select (select max(f(a.n)) from t a where a.n < b.n) from t b where n < 100",
        "insert into t select nextval('s') + 100000, 0 from t where n < 100",
        "insert into serial (v) select n from t where n < 100",
        "select set_config('work_mem', '1MB', false) from t where n < 100",
    ] {
        begin(&mut client, sql);
        assert!(!client.session().may_be_brief(""), "{sql}");
        client.session().sync().unwrap();
    }
}

#[test]
fn a_statement_out_of_its_time_fails_and_is_not_begun_anew() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    begin(&mut client, "select sum(v) from t");
    client.session().limit_time(Some(Duration::from_nanos(1)));
    let failed = client
        .session()
        .execute_briefly("", 0, &mut Kept::default());
    let Err(error) = failed else {
        panic!("it had no time");
    };
    assert_eq!(error.state, SqlState::QUERY_CANCELED);
    client.session().limit_time(None);
    client.session().fail();
    client.session().sync().unwrap();
    assert_eq!(number(&mut client, "select sum(v) from t"), 0);
}

/// Goal: the moment is of the statement, which can begin anew. Method: one that is done within it, and whose commit has much to look at.
#[test]
fn a_commit_that_takes_longer_than_a_moment_is_no_timeout() {
    let (_dir, db) = open_with(
        "create table parent (n int primary key); insert into parent values (1), (2), (3);
         create table child (n int primary key, up int references parent deferrable initially deferred);
         insert into child select n, 1 from generate_series(1, 30000) n",
    );
    let mut client = db.client().unwrap();
    let sql = "delete from parent where n + 0 = 3";
    let mut tag = None;
    // If the machine is busy with something else it takes longer than a moment.
    for _ in 0..20 {
        begin(&mut client, sql);
        assert!(client.session().may_be_brief(""), "{sql}");
        let mut kept = Kept::default();
        let step = client.session().execute_briefly("", 0, &mut kept).unwrap();
        if let Some(step) = step {
            tag = Some(done(&mut client, step, &mut kept));
            client.session().sync().unwrap();
            break;
        }
        client.session().sync().unwrap();
    }
    assert_eq!(tag.as_deref(), Some("DELETE 1"));
    assert_eq!(number(&mut client, "select count(*) from parent"), 2);
}

/// Goal: steps, which cannot begin anew, are not run within a moment. Method: a statement that was prepared before it had a trigger.
#[test]
fn a_statement_that_has_become_steps_is_no_timeout() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    let before = "prepare p as update t set v = v + 1 where v < 1 and n % 100 = 0";
    client.query(before).unwrap();
    client
        .query(
            "create function same() returns trigger language plpgsql as 'begin return new; end';
             create trigger g before update on t for each row execute function same()",
        )
        .unwrap();
    let (_, _, tag) = begun_anew(&mut client, "execute p");
    assert_eq!(tag, "UPDATE 300");
    client.session().sync().unwrap();
    assert_eq!(number(&mut client, "select sum(v) from t"), 300);
}
