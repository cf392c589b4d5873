//! What partitions promise: each row is in the one that takes it or nowhere, and what leaves with a partition leaves and comes
//! back with its transaction, also over reopening. PostgreSQL's answers are in `tests/slt/cases/partitions.slt`.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_embed::{Client, Progress};
use std::collections::BTreeMap;
use support::{answer, open, reopen, until_it_waits};

/// The last statement's rows as `a|b, c|d`, its tag, or `ERROR state message`.
fn ask(client: &mut Client, sql: &str) -> String {
    answer(client, sql).unwrap_or_else(|error| format!("ERROR {} {}", error.state, error.message))
}

fn run(client: &mut Client, script: &str) {
    for sql in script.split(';').map(str::trim).filter(|s| !s.is_empty()) {
        let found = ask(client, sql);
        assert!(!found.starts_with("ERROR"), "{sql}\n  {found}");
    }
}

const MADE: &str = "create table t (a int primary key, b text) partition by range (a);
    create table low partition of t for values from (minvalue) to (10);
    create table high partition of t for values from (10) to (100);
    create table h (k text, n float8) partition by hash (k, n);
    create table h0 partition of h for values with (modulus 2, remainder 0);
    create table h1 partition of h for values with (modulus 2, remainder 1);
    create table l (k text) partition by list (k);
    create table l1 partition of l for values in ('a', 'it''s', null);
    create table other partition of l default;
    insert into t select n, 'n' || n from generate_series(1, 20) n;
    insert into h select 'k' || n, n / 4.0 from generate_series(1, 100) n;
    insert into l values ('a'), (null), ('it''s'), ('z')";

#[test]
fn partitions_are_there_after_reopening() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    run(&mut c, MADE);
    let look = |c: &mut Client| {
        let counts = "select (select count(*) from low), (select count(*) from high), (select count(*) from l1), \
                      (select count(*) from other), (select count(*) from h0) + (select count(*) from h1)";
        let hashed = "select sum(n), min(k) from h0";
        let bounds = "select string_agg(pg_get_expr(relpartbound, oid), '; ' order by relname) from pg_class where relispartition";
        let error = "ERROR 23514 no partition of relation \"t\" found for row";
        assert_eq!(ask(c, counts), "9|11|3|1|100");
        assert_eq!(ask(c, "insert into t values (100, 'x')"), error);
        (ask(c, hashed), ask(c, bounds))
    };
    let before = look(&mut c);
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    assert_eq!(look(&mut c), before);
}

#[test]
fn what_a_partition_takes_along_comes_back_with_its_transaction() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    run(&mut c, MADE);
    for change in [
        "drop table high",
        "truncate high",
        "drop table t",
        "alter table t detach partition high",
    ] {
        run(&mut c, "begin");
        run(&mut c, change);
        run(&mut c, "rollback");
        assert_eq!(ask(&mut c, "select count(*), sum(a) from t"), "20|210");
        assert_eq!(ask(&mut c, "select count(*), sum(a) from high"), "11|165");
        assert_eq!(
            ask(&mut c, "select b from t where a = 15"),
            "n15",
            "{change}"
        );
    }
    run(&mut c, "begin; drop table high; rollback; drop table high");
    assert_eq!(ask(&mut c, "select count(*), max(a) from t"), "9|9");
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    assert_eq!(ask(&mut c, "select count(*), max(a) from t"), "9|9");
    assert_eq!(
        ask(&mut c, "select * from high"),
        "ERROR 42P01 relation \"high\" does not exist"
    );
}

#[test]
fn a_row_that_is_written_while_its_partition_goes_does_not_stay() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    run(&mut c, MADE);
    run(&mut c, "begin; insert into t values (50, 'late')");
    let mut other = db.client().unwrap();
    let mut waiting = until_it_waits(&mut other, "drop table high");
    let committed = ask(&mut c, "commit");
    while let Some(pause) = waiting.take() {
        pause.wait();
        if let Progress::Waiting(next) = other.resume().unwrap() {
            waiting = Some(next);
        }
    }
    // Whoever came first, nothing is left that nobody takes.
    assert_eq!(
        ask(&mut c, "select count(*) from t where a >= 10"),
        "0",
        "{committed}"
    );
    run(
        &mut c,
        "prepare add as insert into t values ($1, 'prepared')",
    );
    run(&mut c, "execute add (0)");
    run(&mut c, "drop table low");
    assert_eq!(
        ask(&mut c, "execute add (1)"),
        "ERROR 23514 no partition of relation \"t\" found for row"
    );
}

#[test]
fn owners_privileges_views_and_comments_know_partitions() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    run(&mut c, MADE);
    run(
        &mut c,
        "create role reader login; grant select on low to reader; comment on table low is 'few';
         create view seen as select b from high where a = 11; alter table high owner to reader",
    );
    assert_eq!(
        ask(
            &mut c,
            "select has_table_privilege('reader', 'low', 'select'), has_table_privilege('reader', 't', 'select'), \
             obj_description('low'::regclass), 'low'::regclass"
        ),
        "t|f|few|low"
    );
    run(&mut c, "set role reader");
    assert_eq!(ask(&mut c, "select count(*) from low"), "9");
    assert_eq!(
        ask(&mut c, "select count(*) from t"),
        "ERROR 42501 permission denied for table t"
    );
    assert_eq!(
        ask(&mut c, "insert into low values (-1)"),
        "ERROR 42501 permission denied for table low"
    );
    run(&mut c, "reset role");
    assert_eq!(
        ask(&mut c, "drop table high"),
        "ERROR 2BP01 cannot drop table high because other objects depend on it"
    );
    run(&mut c, "drop table high cascade");
    assert_eq!(
        ask(&mut c, "select * from seen"),
        "ERROR 42P01 relation \"seen\" does not exist"
    );
}

#[test]
fn what_one_partition_cannot_have_is_refused_by_name() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    run(&mut c, MADE);
    for (sql, what) in [
        (
            "create table x partition of t (b default 'x') for values from (100) to (200)",
            "columns or constraints of one partition",
        ),
        (
            "create index on low (b)",
            "an index or key of one partition that its table has not",
        ),
        (
            "create table c (a int references low)",
            "this statement on a partition",
        ),
    ] {
        let expected = format!("ERROR 0A000 {what} is not supported");
        assert_eq!(ask(&mut c, sql), expected, "{sql}");
    }
}

const TREE: &str = "create table t (a int not null, b int, c text) partition by range (a);
    create table low partition of t for values from (0) to (10) partition by list ((b % 3));
    create table low0 partition of low for values in (0);
    create table low1 partition of low for values in (1, null) partition by hash (c);
    create table low1a partition of low1 for values with (modulus 2, remainder 0);
    create table low1b partition of low1 for values with (modulus 2, remainder 1);
    create table high partition of t for values from (10) to (20);
    create index on t (b);
    insert into t select n % 20, n, 'c' || n from generate_series(1, 200) n where n % 3 <> 2 or n % 20 >= 10";

// A tree is there after reopening, whatever of it was taken off and put back in between; changes that are rolled back leave it.
#[test]
fn trees_of_partitions_are_there_after_reopening() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    run(&mut c, TREE);
    let look = |c: &mut Client| {
        let rows = "select string_agg(x, ' ' order by x) from (select tableoid::regclass || ':' || count(*) || ':' || sum(b) as x from t group by tableoid) y";
        let tree = "select string_agg(relid::text || level, ' ' order by relid::text) from pg_partition_tree('t')";
        let by_index = "select count(*) from low1 where b between 50 and 100";
        (ask(c, rows), ask(c, tree), ask(c, by_index))
    };
    let before = look(&mut c);
    assert_eq!(before.1, "high1 low1 low02 low12 low1a3 low1b3 t0");
    for change in [
        "drop table low",
        "drop table low1",
        "truncate low1",
        "alter table t detach partition low",
        "alter table low detach partition low1; insert into low1 values (5, 1, 'own')",
        "alter table low1 detach partition low1a",
    ] {
        run(&mut c, "begin");
        run(&mut c, change);
        assert_ne!(look(&mut c), before, "{change}");
        run(&mut c, "rollback");
        assert_eq!(look(&mut c), before, "{change}");
    }
    run(&mut c, "alter table low detach partition low1");
    let apart = (
        look(&mut c),
        ask(&mut c, "select count(*), sum(b) from low1"),
    );
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    let now = (
        look(&mut c),
        ask(&mut c, "select count(*), sum(b) from low1"),
    );
    assert_eq!(now, apart);
    assert_eq!(
        ask(&mut c, "insert into t values (5, 4, 'x')"),
        "ERROR 23514 no partition of relation \"low\" found for row"
    );
    run(
        &mut c,
        "alter table low attach partition low1 for values in (1, null)",
    );
    assert_eq!(look(&mut c), before);
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    let mut c = db.client().unwrap();
    assert_eq!(look(&mut c), before);
}

// A statement that was planned before a change of the tree is planned again.
#[test]
fn plans_heed_changes_below_their_table() {
    let (_dir, db) = open();
    let mut c = db.client().unwrap();
    run(&mut c, TREE);
    run(
        &mut c,
        "prepare put as insert into t values ($1, $2, 'p') returning tableoid::regclass",
    );
    run(
        &mut c,
        "prepare look as select count(*) from low where b = $1",
    );
    assert_eq!(ask(&mut c, "execute put(5, 3000)"), "low0");
    assert_eq!(ask(&mut c, "execute look(3000)"), "1");
    run(&mut c, "alter table low detach partition low0");
    assert_eq!(
        ask(&mut c, "execute put(5, 3000)"),
        "ERROR 23514 no partition of relation \"low\" found for row"
    );
    assert_eq!(ask(&mut c, "execute look(3000)"), "0");
    run(
        &mut c,
        "create table rest partition of low default partition by range (b); create table rest1 partition of rest for values from (0) to (5000)",
    );
    assert_eq!(ask(&mut c, "execute put(5, 3000)"), "rest1");
    assert_eq!(ask(&mut c, "execute look(3000)"), "1");
    run(&mut c, "drop table rest");
    assert_eq!(ask(&mut c, "execute look(3000)"), "0");
}

/// Numbers by xorshift.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A table with ranges of one column, in words that are easy to read.
#[derive(Default)]
struct Model {
    /// By their names: from, to.
    parts: BTreeMap<String, (i64, i64)>,
    has_default: bool,
    rows: BTreeMap<i64, i64>,
}

impl Model {
    fn home(&self, a: i64) -> Option<&str> {
        let mut parts = self.parts.iter();
        let found = parts.find(|(_, (from, to))| (*from..*to).contains(&a));
        let default = self.has_default.then_some("d");
        found.map(|(name, _)| name.as_str()).or(default)
    }

    fn rows_of(&self, name: &str) -> Vec<(i64, i64)> {
        let rows = self.rows.iter().map(|(a, b)| (*a, *b));
        rows.filter(|(a, _)| self.home(*a) == Some(name)).collect()
    }
}

// Property: after any changes of partitions and rows, through the table or a partition, each name shows the rows that a
// list of ranges gives it, and what the list refuses is refused.
#[test]
fn routing_is_that_of_a_list_of_ranges() {
    for seed in 1..=6 {
        println!("seed {seed}");
        let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let (_dir, db) = open();
        let mut c = db.client().unwrap();
        let key = ["primary key", "not null"][numbers.below(2) as usize];
        run(
            &mut c,
            &format!(
                "create table t (a int {key}, b int) partition by range (a); create index on t (b)"
            ),
        );
        let mut model = Model::default();
        for step in 0..120 {
            one_step(&mut c, &mut model, &mut numbers, step);
            for name in model.parts.keys() {
                let sql = format!("select count(*), sum(a), sum(b) from {name}");
                assert_eq!(ask(&mut c, &sql), summed(&model.rows_of(name)), "{name}");
            }
            let all: Vec<_> = model.rows.iter().map(|(a, b)| (*a, *b)).collect();
            assert_eq!(
                ask(&mut c, "select count(*), sum(a), sum(b) from t"),
                summed(&all)
            );
        }
    }
}

fn summed(rows: &[(i64, i64)]) -> String {
    let (a, b) = rows
        .iter()
        .fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    match rows.len() {
        0 => "0|-|-".to_string(),
        count => format!("{count}|{a}|{b}"),
    }
}

fn one_step(c: &mut Client, model: &mut Model, numbers: &mut Numbers, step: i64) {
    let a = numbers.below(60) as i64;
    let names: Vec<String> = model.parts.keys().cloned().collect();
    let some = match names.len() {
        0 => None,
        count => Some(names[numbers.below(count as u64) as usize].clone()),
    };
    match (numbers.below(10), some) {
        (0 | 1, _) => {
            let to = a + 1 + numbers.below(20) as i64;
            let name = format!("p{step}");
            let sql = format!("create table {name} partition of t for values from ({a}) to ({to})");
            let found = ask(c, &sql);
            let overlaps = model.parts.values().any(|(f, t)| a < *t && *f < to);
            let taken =
                model.has_default && model.rows_of("d").iter().any(|(k, _)| (a..to).contains(k));
            match (overlaps, taken) {
                (true, _) => assert!(found.starts_with("ERROR 42P17"), "{sql}: {found}"),
                (false, true) => assert!(found.starts_with("ERROR 23514"), "{sql}: {found}"),
                (false, false) => {
                    assert_eq!(found, "CREATE TABLE", "{sql}");
                    model.parts.insert(name, (a, to));
                }
            }
        }
        (2, Some(name)) => {
            assert_eq!(ask(c, &format!("drop table {name}")), "DROP TABLE");
            for (a, _) in model.rows_of(&name) {
                model.rows.remove(&a);
            }
            model.parts.remove(&name);
        }
        (3, Some(name)) => {
            // Out and in again: all rows go both ways.
            let (from, to) = model.parts[&name];
            run(
                c,
                &format!(
                    "alter table t detach partition {name};
                     update {name} set b = b + 1;
                     alter table t attach partition {name} for values from ({from}) to ({to})"
                ),
            );
            for (a, b) in model.rows_of(&name) {
                model.rows.insert(a, b + 1);
            }
        }
        (4, Some(name)) => {
            let gone = format!("delete from {name} where a % 3 = 0");
            run(c, &gone);
            for (a, _) in model.rows_of(&name).iter().filter(|(a, _)| a % 3 == 0) {
                model.rows.remove(a);
            }
        }
        (5, _) if !model.has_default => {
            run(c, "create table d partition of t default");
            model.has_default = true;
        }
        (6, Some(name)) if !model.rows.contains_key(&a) => {
            let found = ask(c, &format!("insert into {name} values ({a}, {step})"));
            if model.home(a) == Some(&name) {
                assert_eq!(found, "INSERT 0 1");
                model.rows.insert(a, step);
            } else {
                assert!(found.starts_with("ERROR 23514 new row"), "{found}");
            }
        }
        (7, _) => {
            // Keys move, also between partitions.
            let Some((&old, &b)) = model.rows.range(a..).next() else {
                return;
            };
            let new = numbers.below(60) as i64;
            if new != old && model.rows.contains_key(&new) {
                return;
            }
            let found = ask(c, &format!("update t set a = {new} where a = {old}"));
            if model.home(new).is_none() {
                assert!(found.starts_with("ERROR 23514 no partition"), "{found}");
            } else {
                assert_eq!(found, "UPDATE 1");
                model.rows.remove(&old);
                model.rows.insert(new, b);
            }
        }
        _ if !model.rows.contains_key(&a) => {
            let found = ask(c, &format!("insert into t values ({a}, {step})"));
            if model.home(a).is_some() {
                assert_eq!(found, "INSERT 0 1");
                model.rows.insert(a, step);
            } else {
                assert!(found.starts_with("ERROR 23514 no partition"), "{found}");
            }
        }
        _ => {}
    }
}
