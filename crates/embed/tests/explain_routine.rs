//! EXPLAIN PROCEDURE and EXPLAIN FUNCTION: statements of our own, through the doors that all others take.

#![allow(clippy::unwrap_used)]

mod support;

use support::{error, open_with, rows};

const SETUP: &str = "
    create table t (id int primary key, v int);
    create procedure move(a int, b int, amount int) language plpgsql as $$
    begin
      update t set v = v - amount where id = a;
      update t set v = v + amount where id = b;
    end $$;
    create function v_of(a int) returns int language sql as $$ select v from t where id = a $$;
    create function v_of(a text) returns int language sql as $$ select 1 $$";

#[test]
fn the_words_are_read_in_any_case_between_other_statements_and_prepared() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    let expected = [
        "Operations",
        "  1  line 3  read t: id = a",
        "  2  line 3  update t        after 1 (rows)",
        "  3  line 4  read t: id = b  after 2 (same table)",
        "  4  line 4  update t        after 3 (rows)",
        "Groups of reads",
        "  1  t (1), t (3)",
        "Looked up together when the call begins, in STORE without a snapshot: 1, 3",
        "  3: 2 may have changed the row: what is brought early is laid under that",
    ];
    for sql in [
        "EXPLAIN PROCEDURE move",
        "select 1; /* first */ explain  procedure public.move(int, int, int) ;",
        "eXplain PROCEDURE \"move\"(integer,integer,integer)",
    ] {
        let found = rows(&mut c, sql);
        assert_eq!(found, expected, "{sql}: {found:#?}");
    }
    c.prepare("p", "EXPLAIN FUNCTION v_of(int)").unwrap();
    for _ in 0..2 {
        let rows = c.execute("p", vec![]).unwrap().text_rows();
        assert_eq!(rows[1][0].as_deref(), Some("  1  line 1  read t: id = a"));
    }
    // Nothing was dropped by it, and DROP is what it was.
    assert_eq!(rows(&mut c, "select v_of('x')"), ["1"]);
    c.query("DROP PROCEDURE move").unwrap();
    assert_eq!(
        error(&mut c, "EXPLAIN PROCEDURE move").state.as_str(),
        "42883"
    );
}

#[test]
fn what_cannot_be_explained_says_why() {
    let (_dir, db) = open_with(SETUP);
    let mut c = db.client().unwrap();
    for (sql, state, message) in [
        (
            "EXPLAIN PROCEDURE nobody",
            "42883",
            "could not find a procedure named \"nobody\"",
        ),
        (
            "EXPLAIN PROCEDURE move(text)",
            "42883",
            "procedure move(text) does not exist",
        ),
        (
            "EXPLAIN FUNCTION v_of",
            "42725",
            "function name \"v_of\" is not unique",
        ),
        (
            "EXPLAIN FUNCTION move(int, int, int)",
            "42809",
            "move(integer, integer, integer) is not a function",
        ),
        (
            "EXPLAIN PROCEDURE move, move",
            "42601",
            "EXPLAIN PROCEDURE and EXPLAIN FUNCTION name one routine and nothing else",
        ),
        (
            "EXPLAIN PROCEDURE IF EXISTS move",
            "42601",
            "EXPLAIN PROCEDURE and EXPLAIN FUNCTION name one routine and nothing else",
        ),
        (
            "EXPLAIN PROCEDURE move CASCADE",
            "42601",
            "EXPLAIN PROCEDURE and EXPLAIN FUNCTION name one routine and nothing else",
        ),
        ("EXPLAIN PROCEDURE", "42601", "syntax error at end of input"),
    ] {
        let error = error(&mut c, sql);
        assert_eq!(error.state.as_str(), state, "{sql}: {error}");
        assert_eq!(error.message, message, "{sql}");
    }
    let wrong = error(&mut c, "EXPLAIN PROCEDURE move(int, int) more");
    assert_eq!(wrong.position, Some(34), "{wrong}");
    // A text that only has the words in it is another's.
    assert_eq!(
        rows(&mut c, "select 'EXPLAIN PROCEDURE move'")[0],
        "EXPLAIN PROCEDURE move"
    );
}
