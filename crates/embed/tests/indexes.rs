//! What indexes over expressions, and partial ones, promise: entries for every row whichever way it was written, uniqueness among the
//! rows that a predicate lets in, plans that use them, and nothing left of them when they are dropped.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{SqlState, Value};
use quintet_embed::Client;
use support::{error, open, reopen, rows};

fn plan(client: &mut Client, sql: &str) -> String {
    rows(client, &format!("explain {sql}")).join("\n")
}

const PEOPLE: &str =
    "create table people (id int primary key, name text, done boolean not null default false);
     insert into people values (1, 'Ada'), (2, 'Bob'), (3, null)";

#[test]
fn an_expression_is_unique_and_found_whichever_way_rows_are_written() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(PEOPLE).unwrap();
    c.query("create unique index lowered on people (lower(name))")
        .unwrap();
    let taken = error(&mut c, "insert into people values (4, 'ADA')");
    assert_eq!(taken.state, SqlState::UNIQUE_VIOLATION);
    assert_eq!(
        taken.detail.as_deref(),
        Some("Key (lower(name))=(ada) already exists.")
    );
    c.query(
        "insert into people select 4, 'Eve'; insert into people (name, id) values ('Fay', 5), ('Gus', 6);
         update people set name = name || 'x' where id = 2; update people set done = true where id = 1;
         insert into people values (6, 'no') on conflict (id) do update set name = 'Hal';
         alter table people add column more int default 9",
    )
    .unwrap();
    c.prepare("add", "insert into people values ($1, $2)")
        .unwrap();
    c.execute("add", vec![Value::Int4(7), Value::text("Ida")])
        .unwrap();
    let look = |c: &mut Client| {
        assert!(
            plan(c, "select id from people where lower(name) = 'eve'").contains("using lowered")
        );
        for (name, id) in [
            ("ada", 1),
            ("bobx", 2),
            ("eve", 4),
            ("fay", 5),
            ("hal", 6),
            ("ida", 7),
        ] {
            let sql = format!("select id, more from people where lower(name) = '{name}'");
            assert_eq!(rows(c, &sql), [format!("{id}|9")]);
        }
        assert!(
            rows(
                c,
                "select id from people where lower(name) in ('bob', 'gus')"
            )
            .is_empty()
        );
        assert_eq!(
            rows(
                c,
                "select id from people order by lower(name) desc nulls first limit 2"
            ),
            ["3", "7"]
        );
        assert_eq!(rows(c, "select * from people where id = 1"), ["1|Ada|t|9"]);
        let taken = error(c, "update people set name = 'EVE' where id = 1");
        assert_eq!(taken.state, SqlState::UNIQUE_VIOLATION);
    };
    look(&mut c);
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    look(&mut db.client().unwrap());
}

#[test]
fn a_partial_index_compares_only_rows_that_its_predicate_lets_in() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(PEOPLE).unwrap();
    c.query("create unique index open_ones on people (name) where not done")
        .unwrap();
    let taken = error(&mut c, "insert into people values (4, 'Ada')");
    assert_eq!(
        taken.detail.as_deref(),
        Some("Key (name)=(Ada) already exists.")
    );
    c.query("insert into people values (4, 'Ada', true), (5, 'Ada', true), (6, null, false), (7, null, false)")
        .unwrap();
    let back = error(&mut c, "update people set done = false where id = 4");
    assert_eq!(back.state, SqlState::UNIQUE_VIOLATION);
    // It goes out, another comes in.
    c.query(
        "update people set done = true where id = 1; update people set done = false where id = 4",
    )
    .unwrap();
    let taken = error(&mut c, "insert into people values (8, 'Ada')");
    assert_eq!(taken.state, SqlState::UNIQUE_VIOLATION);
    c.query("delete from people where id = 4; insert into people values (8, 'Ada')")
        .unwrap();
    let upsert = "insert into people values (9, 'Ada') on conflict (name) where not done do update set id = 9 returning id";
    assert_eq!(rows(&mut c, upsert), ["9"]);
    let none = error(
        &mut c,
        "insert into people values (9, 'Ada') on conflict (name) do nothing",
    );
    assert_eq!(none.state, SqlState::INVALID_COLUMN_REFERENCE);
}

#[test]
fn a_partial_index_is_used_where_its_predicate_is_implied() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create table jobs (id int primary key, state text, at int, owner int);
         insert into jobs select i, case when i % 10 = 0 then 'new' else 'old' end, i, nullif(i % 5, 0)
             from generate_series(1, 100) as i;
         create index fresh on jobs (at) where state = 'new';
         create index owned on jobs (owner) where owner is not null;
         create index late on jobs (state) where at > 50",
    )
    .unwrap();
    for (sql, used) in [
        (
            "select id from jobs where state = 'new' order by at limit 2",
            "using fresh",
        ),
        (
            "select id from jobs where state = 'new' and at = 20",
            "using fresh",
        ),
        (
            "select id from jobs where state = 'old' and at = 20",
            "Seq Scan",
        ),
        (
            "select id from jobs where state <> 'new' and at = 20",
            "Seq Scan",
        ),
        ("select id from jobs where owner = 3", "using owned"),
        ("select id from jobs where owner is null", "Seq Scan"),
        (
            "select id from jobs where state = 'old' and at > 70",
            "using late",
        ),
        (
            "select id from jobs where state = 'old' and at > 40",
            "Seq Scan",
        ),
        ("select id from jobs where at > 51", "using late"),
        (
            "delete from jobs where state = 'new' and at = 20",
            "using fresh",
        ),
    ] {
        assert!(
            plan(&mut c, sql).contains(used),
            "{sql}: {}",
            plan(&mut c, sql)
        );
    }
    // A text is kept without its literals, and so is its plan: not where they decide.
    for (state, count) in [("new", 5), ("old", 45), ("none", 0), ("new", 5)] {
        let sql = format!("select count(*) from jobs where state = '{state}' and at > 50");
        assert_eq!(rows(&mut c, &sql), [count.to_string()]);
    }
    assert_eq!(
        rows(
            &mut c,
            "select id from jobs where state = 'new' order by at limit 2"
        ),
        ["10", "20"]
    );
    // A value that is not known when the statement is planned implies nothing.
    c.prepare("by_state", "select count(*) from jobs where state = $1")
        .unwrap();
    for (state, count) in [("new", "10"), ("old", "90")] {
        let answer = c.execute("by_state", vec![Value::text(state)]).unwrap();
        assert_eq!(answer.text_rows(), [[Some(count.to_string())]]);
    }
}

#[test]
fn columns_and_tables_are_renamed_under_an_index() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(PEOPLE).unwrap();
    c.query(
        "create unique index on people (lower(name)) where name <> 'name' and not done; create index on people ((name || 'name'));
         alter table people rename column name to \"Called\"; alter table people rename column done to over; alter table people rename to folk",
    )
    .unwrap();
    let taken = error(&mut c, "insert into folk values (4, 'ADA')");
    assert_eq!(
        taken.detail.as_deref(),
        Some("Key (lower(\"Called\"))=(ada) already exists.")
    );
    assert_eq!(
        rows(
            &mut c,
            "select indexdef from pg_indexes where indexname like 'people\\_%\\_idx' order by 1"
        ),
        [
            "CREATE INDEX people_expr_idx ON public.folk USING btree (((\"Called\" || 'name'::text)))",
            "CREATE UNIQUE INDEX people_lower_idx ON public.folk USING btree (lower(\"Called\")) WHERE ((\"Called\" <> 'name'::text) AND (NOT over))"
        ]
    );
    let sql =
        "select id from folk where lower(\"Called\") = 'bob' and \"Called\" <> 'name' and not over";
    assert!(plan(&mut c, sql).contains("using people_lower_idx"));
    assert_eq!(rows(&mut c, sql), ["2"]);
}

#[test]
fn a_dropped_index_leaves_nothing() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(PEOPLE).unwrap();
    for round in 0..3 {
        c.query(
            "create unique index a on people (lower(name)); create index b on people (upper(name), id) where not done;
             create index d on people (lower(name), id)",
        )
        .unwrap();
        c.query("drop index a; insert into people values (10, 'ADA'); drop index b")
            .unwrap();
        assert!(
            plan(&mut c, "select id from people where lower(name) = 'ada'").contains("using d")
        );
        assert_eq!(
            rows(&mut c, "select id from people where lower(name) = 'ada'"),
            ["1", "10"],
            "round {round}"
        );
        c.query("drop index d; delete from people where id = 10")
            .unwrap();
    }
    assert_eq!(
        rows(
            &mut c,
            "select attname from pg_attribute where attrelid = 'people'::regclass and attnum > 0"
        ),
        ["id", "name", "done"]
    );
    c.query("create index e on people (lower(name)) where not done; alter table people drop column name")
        .unwrap();
    assert!(
        rows(
            &mut c,
            "select indexname from pg_indexes where indexname = 'e'"
        )
        .is_empty()
    );
    assert_eq!(rows(&mut c, "select * from people where id = 1"), ["1|f"]);
}

#[test]
fn rows_that_were_there_are_entered_and_equal_ones_refused() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(PEOPLE).unwrap();
    c.query("insert into people values (4, 'ADA', true)")
        .unwrap();
    let equal = error(&mut c, "create unique index on people (lower(name))");
    assert_eq!(equal.state, SqlState::UNIQUE_VIOLATION);
    assert_eq!(
        equal.detail.as_deref(),
        Some("Key (lower(name))=(ada) is duplicated.")
    );
    c.query("create unique index on people (lower(name)) where not done")
        .unwrap();
    assert_eq!(
        rows(
            &mut c,
            "select id from people where lower(name) = 'ada' and not done"
        ),
        ["1"]
    );
    assert_eq!(rows(&mut c, "select count(*) from people"), ["4"]);
}

#[test]
fn routines_and_other_sessions_write_entries() {
    let (_dir, db) = open();
    let (mut a, mut b) = (db.client().unwrap(), db.client().unwrap());
    a.query(PEOPLE).unwrap();
    a.query(
        "create procedure add(n int, t text) language plpgsql as $$ begin
             insert into people values (n, t); update people set name = t || t where id = n and lower(name) = lower(t); end $$;
         create function find(t text) returns int language sql as $$ select id from people where lower(name) = lower(t) $$",
    )
    .unwrap();
    b.query("call add(10, 'X')").unwrap();
    a.query("create unique index on people (lower(name))")
        .unwrap();
    b.query("call add(11, 'Y')").unwrap();
    assert_eq!(
        rows(&mut b, "select find('yY'), find('Xx'), find('ADA')"),
        ["11|10|1"]
    );
    let taken = error(&mut b, "call add(12, 'ada')");
    assert_eq!(taken.state, SqlState::UNIQUE_VIOLATION);
}

/// Rows that are older than an index have no value for its expression: they are read, changed and removed as if they had.
#[test]
fn rows_older_than_the_index_are_read_changed_and_removed() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    c.query(
        "create table t (id int primary key, v text, n int default 1); insert into t values (1, 'A'), (2, 'B'), (3, 'C'), (4, 'D'), (5, 'E');
         alter table t add column late text default 'Late';
         create unique index by_both on t (lower(v || late)); create index odd on t (n) where id % 2 = 1;
         alter table t add column later int default 7",
    )
    .unwrap();
    let found = |c: &mut Client, text: &str| {
        rows(
            c,
            &format!("select id, later from t where lower(v || late) = '{text}'"),
        )
    };
    assert_eq!(found(&mut c, "alate"), ["1|7"]);
    // By key, by the index itself, of what it is made of and of others; twice.
    c.query(
        "update t set n = n + 1 where id = 1; update t set n = n + 1 where id = 1; update t set v = 'X' where lower(v || late) = 'blate';
         update t set n = 5 where n = 1 and id % 2 = 1; delete from t where lower(v || late) = 'dlate'",
    )
    .unwrap();
    assert_eq!(found(&mut c, "alate"), ["1|7"]);
    assert_eq!(found(&mut c, "xlate"), ["2|7"]);
    assert!(found(&mut c, "blate").is_empty() && found(&mut c, "dlate").is_empty());
    let taken = error(&mut c, "insert into t values (9, 'c')");
    assert_eq!(
        taken.detail.as_deref(),
        Some("Key (lower(v || late))=(clate) already exists.")
    );
    c.query("insert into t values (4, 'd'), (6, 'B')").unwrap();
    assert_eq!(
        rows(
            &mut c,
            "select id, n from t where id % 2 = 1 and n >= 0 order by n, id"
        ),
        ["1|3", "3|5", "5|5"]
    );
    c.query("update t set v = v || v, id = id + 10 where id in (3, 5)")
        .unwrap();
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    assert_eq!(found(&mut c, "cclate"), ["13|7"]);
    assert!(found(&mut c, "clate").is_empty());
    assert_eq!(
        rows(
            &mut c,
            "select id from t where id % 2 = 1 and n >= 0 order by n, id"
        ),
        ["1", "13", "15"]
    );
    // A rewriting keeps them.
    c.query("alter table t alter column id type bigint")
        .unwrap();
    assert_eq!(
        rows(
            &mut c,
            "select id from t where id % 2 = 1 and n >= 0 order by n, id"
        ),
        ["1", "13", "15"]
    );
    c.query("drop index odd; alter table t alter column n type bigint using n * 2; alter table t drop column later")
        .unwrap();
    assert_eq!(
        rows(
            &mut c,
            "select id, n from t where lower(v || late) = 'alate'"
        ),
        ["1|6"]
    );
}
