//! What inverted indexes promise: whatever happens to a table, a statement gives the rows that it gives without them; they are there
//! after a crash; and a row that comes to what was looked for is noticed. What they look like is in
//! `tests/slt/cases/inverted_indexes.slt`.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::{Client, Database};
use quintet_rt::Rand;
use support::twins::{Statements, Twins, live_alike, seed};
use support::{open_with, reopen, rows, serializable, state};

const INDEXES: &[&str] = &[
    "create index i_tags on i using gin (tags)",
    "create index i_nums on i using gin (nums) where n > 3",
    "create index i_both on i using gin (nums, names)",
    "create index i_doc on i using gin (doc)",
    "create index i_path on i using gin (doc jsonb_path_ops)",
    "create index i_part on i using gin ((doc -> 'a'))",
];

/// The two tables are the same but for the indexes of `i`.
const TABLES: &str = "create table i (id int primary key, n int, tags text[], nums int[], names varchar(9)[], doc jsonb);
    create table p (id int primary key, n int, tags text[], nums int[], names varchar(9)[], doc jsonb)";

/// Everything random that a test says.
struct Words(Rand);

impl Words {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn element(&mut self, of: &str) -> String {
        if self.0.one_in(12) {
            return "NULL".into();
        }
        match of {
            "int[]" => self.below(7).to_string(),
            _ => self
                .pick(&["a", "b", "c d", "\"\"", "é"])
                .replace("c d", "\"c d\""),
        }
    }

    fn array(&mut self, of: &str) -> String {
        if self.0.one_in(10) {
            return format!("null::{of}");
        }
        let elements: Vec<String> = (0..self.below(4)).map(|_| self.element(of)).collect();
        format!("'{{{}}}'::{of}", elements.join(","))
    }

    fn json(&mut self, depth: u64) -> String {
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => "null".into(),
            1 => "true".into(),
            2 => self.pick(&["1", "1.0", "2", "-3.5"]).into(),
            3 | 4 => format!("\"{}\"", self.pick(&["a", "b", "c", ""])),
            5 | 6 => {
                let parts: Vec<String> = (0..self.below(4)).map(|_| self.json(depth - 1)).collect();
                format!("[{}]", parts.join(","))
            }
            _ => {
                let part = |words: &mut Words| {
                    let key = words.pick(&["a", "b", "c", ""]);
                    format!("\"{key}\": {}", words.json(depth - 1))
                };
                let parts: Vec<String> = (0..self.below(4)).map(|_| part(self)).collect();
                format!("{{{}}}", parts.join(","))
            }
        }
    }

    fn document(&mut self, depth: u64) -> String {
        match self.0.one_in(12) {
            true => "null::jsonb".into(),
            false => format!("'{}'::jsonb", self.json(depth)),
        }
    }

    fn value(&mut self, column: &str) -> String {
        match column {
            "n" => self.below(9).to_string(),
            "tags" => self.array("text[]"),
            "nums" => self.array("int[]"),
            "names" => self.array("varchar[]"),
            _ => self.document(3),
        }
    }

    fn condition(&mut self) -> String {
        let column = self.pick(&["tags", "nums", "names", "doc", "doc", "(doc -> 'a')"]);
        if column.contains("doc") {
            let text = self.pick(&["a", "b", ""]);
            return match self.below(6) {
                0 => format!("{column} ? '{text}'"),
                1 => format!("{column} ?| {}", self.array("text[]")),
                2 => format!("{column} ?& {}", self.array("text[]")),
                3 => format!("{} <@ {column}", self.document(2)),
                _ => format!("{column} @> {}", self.document(2)),
            };
        }
        let value = self.value(column);
        let operator = self.pick(&["@>", "<@", "&&", "=", "@>"]);
        match self.0.one_in(3) {
            true => format!("{value} {operator} {column}"),
            false => format!("{column} {operator} {value}"),
        }
    }

    fn conditions(&mut self) -> String {
        let mut all = vec![self.condition()];
        while self.0.one_in(2) {
            all.push(match self.0.one_in(3) {
                true => "n > 4".into(),
                false => self.condition(),
            });
        }
        all.join(self.pick(&[" and ", " and ", " and ", " or "]))
    }
}

impl Statements for Words {
    fn rand(&mut self) -> &mut Rand {
        &mut self.0
    }

    fn change(&mut self, ids: u64) -> String {
        let id = self.below(ids);
        let column = self.pick(&["n", "tags", "nums", "names", "doc", "doc"]);
        let value = self.value(column);
        match self.below(9) {
            0..=3 => {
                let values = ["n", "tags", "nums", "names", "doc"].map(|column| self.value(column));
                let values = values.join(", ");
                let again = self.pick(&[
                    "do nothing",
                    "do update set doc = excluded.doc, tags = excluded.tags",
                ]);
                format!("insert into $ values ({id}, {values}) on conflict (id) {again}")
            }
            4 | 5 => format!(
                "update $ set {column} = {value} where {}",
                self.conditions()
            ),
            6 => format!(
                "update $ set id = id + {ids} where id = {id} and not exists (select from $ as o where o.id = {id} + {ids})"
            ),
            7 => format!("delete from $ where {}", self.conditions()),
            _ => format!("update $ set {column} = {value} where id in ({id}, {id} + 1)"),
        }
    }

    fn compare(&mut self, c: &mut Client) {
        let conditions = self.conditions();
        let ask = |c: &mut Client, table: &str| {
            rows(
                c,
                &format!(
                    "select id, n, tags, nums, names, doc from {table} where {conditions} order by id"
                ),
            )
        };
        let (with, without) = (ask(c, "i"), ask(c, "p"));
        assert_eq!(with, without, "where {conditions}");
        // Joined, the other way round, and some of the rows.
        let joined = |c: &mut Client, table: &str| {
            rows(
                c,
                &format!(
                    "select count(*), sum(x.id) from (select doc, tags from p where id % 7 = 0) as y
                join {table} as x on x.doc @> y.doc and x.tags && y.tags"
                ),
            )
        };
        assert_eq!(joined(c, "i"), joined(c, "p"));
    }
}

#[test]
fn a_statement_gives_the_rows_that_it_gives_without_them() {
    let twins = Twins {
        tables: TABLES,
        indexes: INDEXES,
        rounds: 40,
        altered: (
            25,
            [
                "alter table $ add column more text default 'x'",
                "alter table $ alter column n type bigint",
            ],
        ),
        none_left: [
            "tags && '{a,b,é,\"\"}'",
            "doc ?| '{a,b,c,\"\"}'",
            "nums <@ '{1,2,3,4,5,6,0}'",
        ],
    };
    live_alike(&twins, &mut Words(Rand::seeded(seed(20_801))));
}

#[test]
fn indexes_are_used_where_they_answer() {
    let (_dir, db) = open_with(TABLES);
    let mut c = db.client().unwrap();
    INDEXES.iter().for_each(|sql| drop(c.query(sql).unwrap()));
    for (condition, used) in [
        ("tags @> '{a}'", "using i_tags"),
        ("'{a}' <@ tags", "using i_tags"),
        ("tags && array['a', 'b']", "using i_tags"),
        ("tags <@ '{a,b}'", "using i_tags"),
        ("tags = '{a,b}'", "using i_tags"),
        ("'a' = any (tags)", "Seq Scan"),
        ("names @> '{a}'", "using i_both"),
        ("names @> array['a']::varchar[]", "using i_both"),
        ("names @> array['a']::text[]", "using i_both"),
        ("nums @> '{1}'", "using i_both"),
        ("nums @> '{1}' and n > 3", "using i_nums"),
        ("doc @> '{\"a\": 1}'", "using i_doc"),
        ("doc ? 'a'", "using i_doc"),
        ("doc ?| '{a,b}'", "using i_doc"),
        ("doc ?& '{a,b}'", "using i_doc"),
        ("doc <@ '{\"a\": 1}'", "Seq Scan"),
        ("doc -> 'a' ? 'b'", "using i_part"),
        ("doc -> 'b' ? 'b'", "Seq Scan"),
        ("id = 1 and tags @> '{a}'", "using i_pkey"),
        ("not tags @> '{a}'", "Seq Scan"),
        ("tags @> '{a}' or n = 1", "Seq Scan"),
    ] {
        let plan = rows(
            &mut c,
            &format!("explain select * from i where {condition}"),
        )
        .join("\n");
        assert!(plan.contains(used), "{condition}: {plan}");
    }
}

/// Two transactions, each of which counts what the other adds: one of them must lose. An anti-dependency both ways, by rows that were
/// not there.
#[test]
fn a_row_that_comes_to_what_was_looked_for_is_noticed() {
    let look = [
        "select count(*) from t where a @> '{1,2}'",
        "select count(*) from t where a && '{1,7}'",
        "select count(*) from t where a @> '{}'",
        "select count(*) from t where j @> '{\"x\": 1}'",
        "select count(*) from t where j ? 'x'",
    ];
    let changes = [
        "insert into t values ($, '{1,2}', '{\"x\": 1}')",
        "update t set a = a || 1, j = '{\"x\": 1}' where id = $ - 90",
    ];
    for (sql, change) in look
        .iter()
        .flat_map(|l| changes.iter().map(move |c| (l, c)))
    {
        let (_dir, db) = open_with(
            "create table t (id int primary key, a int[], j jsonb);
             create index on t using gin (a); create index on t using gin (j);
             insert into t select n, array[2, n + 10], '{\"y\": 2}' from generate_series(1, 50) n",
        );
        let (mut one, mut other) = (serializable(&db), serializable(&db));
        let ends = [(&mut one, "101"), (&mut other, "102")].map(|(client, id)| {
            client.query("begin").unwrap();
            rows(client, sql);
            (client, change.replace('$', id))
        });
        let mut failed = 0;
        for (client, change) in ends {
            let done = client.query(&change).and_then(|_| client.query("commit"));
            if let Err(error) = done {
                assert_eq!(error.state, SqlState::SERIALIZATION_FAILURE);
                failed += 1;
            }
        }
        assert_eq!(failed, 1, "{sql} and {change}");
    }
}

/// What is looked for has nothing to do with what others change: nobody loses.
#[test]
fn others_are_left_alone() {
    let (_dir, db) = open_with(
        "create table t (id int primary key, a int[]); create index on t using gin (a);
         insert into t select n, array[n, n + 1] from generate_series(1, 2000) n",
    );
    let (mut one, mut other) = (serializable(&db), serializable(&db));
    for (client, at) in [(&mut one, 100), (&mut other, 1500)] {
        client.query("begin").unwrap();
        let sql = format!("select id from t where a @> '{{{at}}}' order by id");
        assert_eq!(rows(client, &sql), [(at - 1).to_string(), at.to_string()]);
    }
    one.query("insert into t values (3001, '{100,101}')")
        .unwrap();
    other
        .query("insert into t values (3002, '{1500,1501}')")
        .unwrap();
    one.query("commit").unwrap();
    other.query("commit").unwrap();
}

#[test]
fn a_snapshot_sees_entries_as_they_were() {
    let (_dir, db) = open_with(
        "create table t (id int primary key, a text[]); create index on t using gin (a);
         insert into t values (1, '{x,y}'), (2, '{y}')",
    );
    let (mut reader, mut writer) = (db.client().unwrap(), db.client().unwrap());
    reader
        .query("begin isolation level repeatable read")
        .unwrap();
    let sql = "select id from t where a @> '{y}' order by id";
    assert_eq!(rows(&mut reader, sql), ["1", "2"]);
    writer.query("update t set a = '{x}' where id = 1; delete from t where id = 2; insert into t values (3, '{y}')").unwrap();
    assert_eq!(rows(&mut reader, sql), ["1", "2"]);
    assert_eq!(rows(&mut writer, sql), ["3"]);
    reader.query("commit").unwrap();
    assert_eq!(rows(&mut reader, sql), ["3"]);
}

/// Nothing is closed in order: what has been logged is all there is.
#[test]
fn entries_are_there_after_reopening() {
    let (dir, db) = open_with(
        "create table t (id int primary key, a int[], j jsonb);
         insert into t select n, array[n % 10, n], jsonb_build_object('k', n % 7) from generate_series(1, 3000) n;
         create index on t using gin (a); create index on t using gin (j jsonb_path_ops);
         update t set a = a || -1 where id % 100 = 0; delete from t where id % 3 = 0;
         create table p as select * from t",
    );
    let look = |db: &Database| {
        let mut c = db.client().unwrap();
        for condition in [
            "a @> '{-1}'",
            "a @> '{3}'",
            "a && '{1,2,-1}'",
            "j @> '{\"k\": 3}'",
        ] {
            let mut count = |table: &str| {
                let sql = format!("select count(*), sum(id) from {table} where {condition}");
                rows(&mut c, &sql)
            };
            assert_eq!(count("t"), count("p"), "{condition}");
        }
    };
    look(&db);
    drop(db);
    look(&reopen(&dir));
}

#[test]
fn what_they_cannot_do_is_refused() {
    let (_dir, db) = open_with("create table t (id int primary key, a int[], j jsonb, t text)");
    let mut c = db.client().unwrap();
    for (sql, expected) in [
        (
            "create index on t using gin (id)",
            SqlState::UNDEFINED_OBJECT,
        ),
        (
            "create index on t using gin (t)",
            SqlState::UNDEFINED_OBJECT,
        ),
        (
            "create index on t using gin (t gin_trgm_ops)",
            SqlState::UNDEFINED_OBJECT,
        ),
        (
            "create index on t using gist (id)",
            SqlState::UNDEFINED_OBJECT,
        ),
        (
            "create unique index on t using gin (a)",
            SqlState::FEATURE_NOT_SUPPORTED,
        ),
        (
            "create index on t using gin (a jsonb_ops)",
            SqlState::DATATYPE_MISMATCH,
        ),
    ] {
        assert_eq!(state(&mut c, sql), expected, "{sql}");
    }
    c.query("create index on t using gin (a)").unwrap();
    let sql = "alter table t alter column a type text using a::text";
    assert_eq!(state(&mut c, sql), SqlState::UNDEFINED_OBJECT);
    c.query("alter table t alter column a type text[] using a::text[]")
        .unwrap();
}

/// What is said of one partition must be what its table has.
#[test]
fn an_index_of_one_partition_is_the_whole_tables() {
    let (_dir, db) = open_with(
        "create table w (k int, a int[], j jsonb) partition by range (k);
         create table w1 partition of w for values from (0) to (10);
         create index on w using gin (a); create index on w (j); create index on w using gin (j jsonb_path_ops)",
    );
    let mut c = db.client().unwrap();
    c.query("create index on w1 using gin (a); create index on w1 (j); create index on w1 using gin (j jsonb_path_ops)")
        .unwrap();
    for other in [
        "create index on w1 using gin (j)",
        "create index on w1 using gin (a, j)",
    ] {
        assert_eq!(
            state(&mut c, other),
            SqlState::FEATURE_NOT_SUPPORTED,
            "{other}"
        );
    }
    let attach = "alter table w attach partition one for values from (10) to (20)";
    let columns = "(k int, a int[], j jsonb)";
    c.query(&format!(
        "create table one {columns}; create index on one using gin (j)"
    ))
    .unwrap();
    assert_eq!(state(&mut c, attach), SqlState::FEATURE_NOT_SUPPORTED);
    c.query(&format!("drop table one; create table one {columns}; create index on one using gin (j jsonb_path_ops); insert into one values (11, '{{1}}', '{{\"x\": 1}}'); {attach}"))
        .unwrap();
    assert_eq!(
        rows(
            &mut c,
            "select k from w where j @> '{\"x\": 1}' and a && '{1}'"
        ),
        ["11"]
    );
}
