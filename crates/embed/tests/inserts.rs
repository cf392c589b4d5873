//! What an INSERT in a routine leaves behind is what the statement outside leaves.
//!
//! Goal: the short way, which writes a row from where its values lie and reads its keys off the row, differs in
//! nothing. Method: the same rows by a procedure and by a statement, into two tables of one form.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::Client;
use support::{error, open_with, rows};

/// Rows as VALUES has them: an uuid, a numeric, texts and integers, which may be NULL.
const ROWS: [&str; 5] = [
    "('00000000-0000-0000-0000-000000000001', 1.50, 'a ', 'text', 7, true)",
    "('00000000-0000-0000-0000-000000000001', 1.5, 'a', 'text', 7, true)",
    "('00000000-0000-0000-0000-000000000002', 123456789012345678901234567890.1, 'b', NULL, NULL, NULL)",
    "('00000000-0000-0000-0000-000000000003', 'NaN', '', '', -2147483648, false)",
    "('00000000-0000-0000-0000-000000000002', -0.01, 'ä', 'a text that is longer than what lies inline', 0, true)",
];

fn setup() -> String {
    // More columns than fit one byte of NULLs several times over.
    let wide: Vec<String> = (0..40).map(|n| format!("w{n} int")).collect();
    let values: Vec<String> = (0..40)
        .map(|n| {
            if n % 7 == 3 {
                "null".into()
            } else {
                format!("x + {n}")
            }
        })
        .collect();
    let (wide, values) = (wide.join(", "), values.join(", "));
    let table = |name: &str| {
        format!(
            "create table {name} (u uuid, n numeric, c char(3) not null, t text, i int, b boolean,
               primary key (u, n));
             create index {name}_t on {name} (t, i);
             create index {name}_c on {name} (c) where c is not null;
             create table wide_{name} (x int primary key, {wide});"
        )
    };
    format!(
        "{} {}
         create procedure put(u uuid, n numeric, c text, t text, i int, b boolean) language plpgsql as $$
         begin
           insert into short values (u, n, c, t, i, b);
         end $$;
         create procedure put_wide(x int) language plpgsql as $$
         begin
           insert into wide_short values (x, {values});
         end $$",
        table("short"),
        table("long")
    )
}

fn same(c: &mut Client, table: &str, order: &str) -> Vec<String> {
    let mut of = |kind: &str| {
        let name = table.replace('*', kind);
        rows(c, &format!("select * from {name} {order}"))
    };
    let (short, long) = (of("short"), of("long"));
    assert_eq!(short, long, "{table} {order}");
    short
}

#[test]
fn a_routine_inserts_what_the_statement_does() {
    let (_dir, db) = open_with(&setup());
    let mut c = db.client().unwrap();
    for row in ROWS {
        let called = c.query(&format!("call put{row}")).map(|_| ());
        let stated = c
            .query(&format!("insert into long values {row}"))
            .map(|_| ());
        let state = |done: Result<(), quintet_base::SqlError>| done.map_err(|error| error.state);
        assert_eq!(state(called), state(stated), "{row}");
    }
    assert_eq!(same(&mut c, "*", "order by u, n").len(), 4);
    for found in [
        "where u = '00000000-0000-0000-0000-000000000001' and n = 1.500",
        "where t = 'text' and i = 7",
        "where c = 'ä'",
    ] {
        assert_eq!(same(&mut c, "*", found).len(), 1, "{found}");
    }
    c.query("call put_wide(5)").unwrap();
    let values = rows(
        &mut c,
        "select w0, w3, w38, w39 from wide_short where x = 5",
    );
    assert_eq!(values, ["5|-|-|44"]);
}

#[test]
fn a_routine_is_refused_what_the_statement_is() {
    let (_dir, db) = open_with(&setup());
    let mut c = db.client().unwrap();
    let id = "'00000000-0000-0000-0000-000000000009'";
    let not_null = format!("call put({id}, 1, null, 't', 1, true)");
    assert_eq!(error(&mut c, &not_null).state, SqlState::NOT_NULL_VIOLATION);
    let null_key = "call put(null, 1, 'c', 't', 1, true)";
    assert_eq!(error(&mut c, null_key).state, SqlState::NOT_NULL_VIOLATION);
    let long = format!("call put({id}, 1, 'c', repeat('x', 100000), 1, true)");
    assert_eq!(error(&mut c, &long).state, SqlState::PROGRAM_LIMIT_EXCEEDED);
    let overflow = error(&mut c, "call put_wide(2147483647)");
    assert_eq!(overflow.state, SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    assert!(same(&mut c, "*", "").is_empty());
    assert!(same(&mut c, "wide_*", "").is_empty());
}
