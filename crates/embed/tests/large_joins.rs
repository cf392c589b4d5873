//! Joins, sorts and groups of tables that are large for the statement's memory: planned by how many rows there are, answered from files.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_embed::Client;
use support::{open_with, rows};

/// `small` has 100 rows, `middle` 3,000 and `large` 12,000, each with a long text; `small.n` and `middle.n` are named by those
/// of the next table.
const SETUP: &str = "
    create table small (n int primary key, kind text);
    create table middle (n int primary key, small int, note text);
    create table large (n int primary key, middle int, note text);
    insert into small select n, 'kind ' || n % 10 from generate_series(1, 100) n;
    insert into middle select n, 1 + n % 100, repeat('m', 100) || n from generate_series(1, 3000) n;
    insert into large select n, 1 + n % 3000, repeat('l', 100) || n from generate_series(1, 12000) n;
    create view large_notes as select large.n as number, middle.note as note, middle.small as small
      from large join middle on middle.n = large.middle;";

/// Goal: the same rows from memory and from files. Method: joins of each kind, with conditions beside the equality, and queries in
/// expressions, first with plenty of memory and then with less than the rows of one side take.
#[test]
fn little_memory_gives_the_same_rows() {
    let (dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    let queries = [
        "select count(*), sum(length(a.note) + length(b.note)) from large a join large b on a.n = b.middle and a.note < b.note",
        "select count(*), count(b.n), sum(length(b.note)) from large a left join large b on a.n = b.middle and b.n % 3 = 0",
        "select count(*), count(a.n), count(b.n), sum(length(b.note)) from middle a full join large b on a.n = b.n - 1000",
        "select count(*) from large a where not exists (select 1 from large b where b.middle = a.n and b.note > a.note)",
        "select sum((select count(*) + max(length(note)) from large b where b.middle = a.n)) from middle a",
        "select a.n, b.n, length(b.note) from large a join large b on a.middle = b.middle where a.n < 200 order by a.n, b.n",
        "select length(note), middle, n from large order by middle desc, note",
        "select n from large order by note limit 3000 offset 2000",
        "select note, count(*), sum(n), min(middle) from large group by note",
        "select distinct note, middle % 7 from large",
        "select count(*), count(distinct middle) from (select note, middle from large union select note, small from middle) x",
    ];
    for sql in queries {
        client.query("reset work_mem").unwrap();
        let expected = rows(&mut client, sql);
        client.query("set work_mem = '640kB'").unwrap();
        assert_eq!(rows(&mut client, sql), expected, "{sql}");
    }
    let left: Vec<_> = std::fs::read_dir(dir.path().join("temp"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn beyond_what_files_help_a_statement_is_refused_with_a_hint() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    client.query("set work_mem = '128kB'").unwrap();
    for sql in [
        "select count(*) from large a join large b on a.n = b.middle",
        "select string_agg(note, ',' order by n) from large",
    ] {
        let error = client.query(sql).map(|_| ()).unwrap_err();
        assert_eq!(error.state.as_str(), "53200", "{sql}");
        assert!(
            error
                .hint
                .as_deref()
                .unwrap_or_default()
                .contains("work_mem"),
            "{sql}"
        );
    }
    client.query("set work_mem = '64MB'").unwrap();
    assert_eq!(rows(&mut client, "show work_mem"), ["64MB"]);
    let sql = "select count(*) from large a join large b on a.n = b.middle";
    assert_eq!(rows(&mut client, sql), ["12000"]);
}

/// Goal: the smaller side is kept, whichever way it is written; a plan that was made when tables were small is made again.
#[test]
fn the_smaller_side_is_kept() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    for from in [
        "large join middle on middle.note = large.note",
        "middle join large on large.note = middle.note",
    ] {
        let plan = rows(&mut client, &format!("explain select count(*) from {from}"));
        let expected = [
            "Aggregate",
            "  ->  Hash Join",
            "        Hash Cond: (large.note = middle.note)",
            "        ->  Seq Scan on large",
            "        ->  Hash",
            "              ->  Seq Scan on middle",
        ];
        assert_eq!(plan, expected, "{from}");
    }
    client
        .query("create table grows (n int primary key, note text)")
        .unwrap();
    client
        .prepare(
            "p",
            "explain select count(*) from grows join middle on middle.note = grows.note",
        )
        .unwrap();
    let kept = |client: &mut Client| {
        let answer = client.execute("p", vec![]).unwrap();
        let lines = answer.text_rows().into_iter().flatten().flatten();
        lines.last().unwrap().trim().to_string()
    };
    let sql = "insert into grows select n, 'x' || n from generate_series(1, 20000) n";
    let _before = kept(&mut client);
    client.query(sql).unwrap();
    assert_eq!(kept(&mut client), "->  Seq Scan on middle");
}

/// Goal: a condition on a view reaches the tables in it, as a key where it can be one.
#[test]
fn a_condition_on_a_view_is_asked_inside() {
    let (_dir, db) = open_with(SETUP);
    let mut client = db.client().unwrap();
    let plan = rows(
        &mut client,
        "explain select * from large_notes where number = 7",
    );
    assert!(
        plan.iter()
            .any(|line| line.contains("Index Cond: (large.n = 7)")),
        "{plan:?}"
    );
    let row = rows(
        &mut client,
        "select number, length(note), small from large_notes where number = 7",
    );
    assert_eq!(row, ["7|101|9"]);
    // Of groups, what is asked of their keys is asked of the rows.
    let grouped = "select * from (select middle, count(*) from large where n > 10 group by middle) g where middle = 7";
    assert_eq!(rows(&mut client, grouped), ["7|3"]);
    let plan = rows(&mut client, &format!("explain {grouped}"));
    assert!(
        plan.iter()
            .any(|line| line.contains("Filter: (middle = 7)")),
        "{plan:?}"
    );
    // Not so where it would change what is there.
    let limited = "select * from (select n from large order by n limit 5) x where n > 3";
    assert_eq!(rows(&mut client, limited), ["4", "5"]);
    let optional = "select count(*) from (select a.n, b.n as other from middle a left join small b on b.n = a.n) x where other is null";
    assert_eq!(rows(&mut client, optional), ["2900"]);
    // What fails below fails for no row that would not have come out.
    let guarded =
        "select count(*) from (select n, note from large where n > 5) x where 100 / (n - 5) > 0";
    assert_eq!(rows(&mut client, guarded), ["100"]);
}
