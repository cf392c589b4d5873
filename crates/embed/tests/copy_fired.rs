//! COPY into tables with triggers, beside others: it waits for rows, all of it is undone, and what it keeps is bounded.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{SqlResult, SqlState, Value};
use quintet_embed::{Client, Flow, Pause, RowSink, Step};
use quintet_ir::statement::OutputColumn;
use quintet_sql::command::CopyFormat;
use support::{ends, open_with, rows, waits};

const SETUP: &str = "
    create table t (id int primary key, a text);
    create table seen (id int);
    create function note() returns trigger language plpgsql as $$ begin
        insert into seen values (new.id); return new; end $$;
    create trigger b before insert on t for each row execute function note()";

struct Nothing;

impl RowSink for Nothing {
    fn columns(&mut self, _: &[OutputColumn]) {}

    fn row(&mut self, _: &[Value]) -> SqlResult<Flow> {
        panic!("COPY gives no rows");
    }

    fn copy_begin(&mut self, _: usize, _: &CopyFormat) {}

    fn copy_data(&mut self, _: &[u8]) -> Flow {
        panic!("nothing is copied out");
    }
}

/// How far a COPY has come.
enum End {
    Tag(String),
    Waits(Pause),
}

impl End {
    fn tag(self) -> String {
        match self {
            End::Tag(tag) => tag,
            End::Waits(_) => panic!("it waits"),
        }
    }

    fn pause(self) -> Pause {
        match self {
            End::Tag(tag) => panic!("it did not wait: {tag}"),
            End::Waits(pause) => pause,
        }
    }
}

/// Begins a COPY and gives it all of its data, up to its end.
fn copy(client: &mut Client, data: &str) -> SqlResult<End> {
    copy_by(client, "copy t from stdin", data)
}

fn copy_by(client: &mut Client, statement: &str, data: &str) -> SqlResult<End> {
    let session = client.session();
    let statement = session.split(statement).unwrap().remove(0);
    session.begin_simple(&statement)?;
    let step = session.execute("", 0, &mut Nothing)?;
    assert!(matches!(step, Step::CopyIn { .. }));
    session.copy_data(data.as_bytes())?;
    end(client)
}

/// Goes on to its tag, or until it waits for others.
fn end(client: &mut Client) -> SqlResult<End> {
    loop {
        match client.session().copy_done()? {
            Step::Done(tag) => {
                client.session().sync().unwrap();
                return Ok(End::Tag(tag.unwrap()));
            }
            Step::Wait(pause) if pause.is_interruptible() => return Ok(End::Waits(pause)),
            Step::Wait(pause) => pause.wait(),
            _ => panic!("neither done nor waiting"),
        }
    }
}

/// What the protocol does about an error.
fn failed(client: &mut Client, result: SqlResult<End>) -> SqlState {
    let state = result.map(|_| ()).unwrap_err().state;
    client.session().fail();
    client.session().sync().unwrap();
    state
}

/// A row of another's, who has not committed, is waited for in the middle of the rows; those before it go in once.
#[test]
fn a_row_of_anothers_is_waited_for() {
    let (_dir, db) = open_with(SETUP);
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("begin; insert into t values (2, 'a')").unwrap();
    let pause = copy(&mut b, "1\tx\n2\tx\n3\tx\n").unwrap().pause();
    a.query("rollback").unwrap();
    pause.wait();
    assert_eq!(end(&mut b).unwrap().tag(), "COPY 3");
    let all = rows(&mut a, "select id, a from t order by id");
    assert_eq!(all, ["1|x", "2|x", "3|x"]);
    let seen = "select id from seen order by id";
    assert_eq!(rows(&mut a, seen), ["1", "2", "3"]);
}

/// The same, but it is there then: nothing is left of the COPY, or of what its triggers have done.
#[test]
fn all_of_it_is_undone() {
    let (_dir, db) = open_with(SETUP);
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("begin; insert into t values (2, 'a')").unwrap();
    let pause = copy(&mut b, "1\tx\n2\tx\n").unwrap().pause();
    a.query("commit").unwrap();
    pause.wait();
    let result = end(&mut b);
    assert_eq!(failed(&mut b, result), SqlState::UNIQUE_VIOLATION);
    assert_eq!(rows(&mut b, "select id, a from t"), ["2|a"]);
    assert_eq!(rows(&mut b, "select id from seen"), ["2"]);
    // And what it held is free.
    a.query("begin; insert into t values (1, 'a')").unwrap();
    a.query("commit").unwrap();
}

/// Whoever wants a row of a COPY waits until its transaction ends.
#[test]
fn its_rows_are_waited_for() {
    let (_dir, db) = open_with(SETUP);
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("begin").unwrap();
    assert_eq!(copy(&mut a, "1\tx\n").unwrap().tag(), "COPY 1");
    let pause = waits(
        &mut b,
        "insert into t values (1, 'b') on conflict do nothing",
    );
    a.query("commit").unwrap();
    ends(&mut b, pause);
    assert_eq!(rows(&mut b, "select a from t"), ["x"]);
}

#[test]
fn what_it_keeps_is_bounded() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client.query("set work_mem = '64kB'").unwrap();
    let data: String = (0..2000).map(|n| format!("{n}\tsome text\n")).collect();
    let result = copy(&mut client, &data);
    assert_eq!(failed(&mut client, result), SqlState::OUT_OF_MEMORY);
    assert_eq!(rows(&mut client, "select count(*) from t"), ["0"]);
    client.query("reset work_mem").unwrap();
    let tag = copy(&mut client, &data).unwrap().tag();
    assert_eq!(tag, "COPY 2000");
    assert_eq!(rows(&mut client, "select count(*) from seen"), ["2000"]);
}

/// Goal: a default that takes a number of a counter waits for who has it, and is called once for each row in the end, by INSERT and by COPY.
#[test]
fn functions_of_a_table_are_begun_again() {
    let (_dir, db) = open_with(
        "create table counter (n int);
        insert into counter values (0);
        create function next_number() returns int language plpgsql as $$
            declare r int; begin update counter set n = n + 1 returning n into r; return r; end $$;
        create table t (id int primary key, a text, n int default next_number())",
    );
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query("begin; insert into t values (1, 'a')").unwrap();
    let pause = waits(&mut b, "insert into t values (2, 'b'), (3, 'b')");
    a.query("commit").unwrap();
    ends(&mut b, pause);
    a.query("begin; insert into t values (4, 'a')").unwrap();
    let copied = copy_by(&mut b, "copy t (id, a) from stdin", "5\tx\n6\tx\n");
    let pause = copied.unwrap().pause();
    a.query("rollback").unwrap();
    pause.wait();
    assert_eq!(end(&mut b).unwrap().tag(), "COPY 2");
    let all = rows(&mut a, "select id, n from t order by id");
    assert_eq!(all, ["1|1", "2|2", "3|3", "5|4", "6|5"]);
    assert_eq!(rows(&mut a, "select n from counter"), ["5"]);
}
