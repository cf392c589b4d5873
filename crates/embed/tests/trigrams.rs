//! What indexes over trigrams promise: whatever happens to a table, a statement gives the rows that it gives without them; they are there
//! after a restart; and a row that comes to what was looked for is noticed. What they look like is in
//! `tests/slt/cases/trigrams.slt`.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::Client;
use quintet_rt::Rand;
use support::twins::{Statements, Twins, live_alike, seed};
use support::{open_with, rows, serializable};

const INDEXES: &[&str] = &[
    "create index i_name on i using gin (name gin_trgm_ops)",
    "create index i_code on i using gist (code gist_trgm_ops) where n > 3",
    "create index i_both on i using gin (code gin_trgm_ops, lower(name) gin_trgm_ops)",
    "create index i_made on i using gin ((name || ' ' || code) gin_trgm_ops)",
];

/// The two tables are the same but for the indexes of `i`.
const TABLES: &str = "create extension pg_trgm;
    create table i (id int primary key, n int, name text, code varchar(90));
    create table p (id int primary key, n int, name text, code varchar(90))";

const COLUMNS: [&str; 5] = [
    "name",
    "name",
    "code",
    "lower(name)",
    "(name || ' ' || code)",
];

/// Everything random that a test says.
struct Words(Rand);

impl Words {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn text(&mut self) -> String {
        let words = [
            "word",
            "words",
            "Abc",
            "abcd",
            "ab",
            "a",
            "foo_bar",
            "Straße",
            "été",
            "50%",
            "日本語",
            "x1",
        ];
        let count = self.below(5);
        let all: Vec<&str> = (0..count).map(|_| self.pick(&words)).collect();
        all.join(self.pick(&[" ", ", ", "-", ""]))
    }

    fn value(&mut self) -> String {
        match self.0.one_in(12) {
            true => "null".into(),
            false => format!("'{}'", self.text()),
        }
    }

    fn condition(&mut self) -> String {
        let column = self.pick(&COLUMNS);
        let text = self.text();
        let part = self.pick(&[
            "wor", "abc", "BC", "oo_b", "tra", "éT", "本語", "0\\%", "a b", "ord ab",
        ]);
        let end = self.pick(&["", "%", "_"]);
        let pattern = self.pick(&[
            "wor(d|ds)",
            "^abc",
            "foo.*word",
            "[ab]bc",
            "ab+c",
            "a|.",
            "\\mab",
            "(wo)\\1",
            "50%",
            "d (a|w)o?",
        ]);
        match self.below(9) {
            0 | 1 => format!("{column} like '%{part}{end}'"),
            2 => format!("{column} ilike '{end}{part}%'"),
            3 => format!("{column} like '{text}%'"),
            4 => format!("{column} ~ '{pattern}'"),
            5 => format!("{column} ~* '{pattern}'"),
            6 => format!("{column} % '{text}'"),
            7 => format!("'{text}' <% {column}"),
            _ => format!("{column} = '{text}'"),
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
        let (name, code, n) = (self.value(), self.value(), self.below(9));
        match self.below(8) {
            0..=3 => format!(
                "insert into $ values ({id}, {n}, {name}, {code}) on conflict (id) do update set name = excluded.name, n = $.n + 1"
            ),
            4 => format!("update $ set name = {name} where {}", self.conditions()),
            5 => format!("update $ set code = {code}, n = {n} where id in ({id}, {id} + 1)"),
            6 => format!(
                "update $ set id = id + {ids} where id = {id} and not exists (select from $ as o where o.id = {id} + {ids})"
            ),
            _ => format!(
                "delete from $ where {} and id % 3 = {}",
                self.conditions(),
                id % 3
            ),
        }
    }

    fn settings(&mut self) -> Option<String> {
        let threshold = self.pick(&["0.3", "0.6", "0.1"]);
        Some(format!("set pg_trgm.similarity_threshold = {threshold}"))
    }

    fn compare(&mut self, c: &mut Client) {
        let conditions = self.conditions();
        let ask = |c: &mut Client, table: &str| {
            let sql =
                format!("select id, n, name, code from {table} where {conditions} order by id");
            rows(c, &sql)
        };
        assert_eq!(ask(c, "i"), ask(c, "p"), "where {conditions}");
        let joined = |c: &mut Client, table: &str| {
            let sql = format!(
                "select count(*), sum(x.id) from (select code from p where id % 7 = 0) as y
                 join {table} as x on x.name like '%' || y.code || '%'"
            );
            rows(c, &sql)
        };
        assert_eq!(joined(c, "i"), joined(c, "p"));
    }
}

#[test]
fn a_statement_gives_the_rows_that_it_gives_without_them() {
    let twins = Twins {
        tables: TABLES,
        indexes: INDEXES,
        rounds: 30,
        altered: (
            20,
            [
                "alter table $ add column more text default 'x'",
                "alter table $ alter column code type text",
            ],
        ),
        none_left: [
            "name like '%word%'",
            "code ilike '%ABC%'",
            "name % 'words abc'",
        ],
    };
    live_alike(&twins, &mut Words(Rand::seeded(seed(20_961))));
}

#[test]
fn indexes_are_used_where_they_answer() {
    let (_dir, db) = open_with(TABLES);
    let mut c = db.client().unwrap();
    INDEXES.iter().for_each(|sql| drop(c.query(sql).unwrap()));
    for (condition, used) in [
        ("name like '%abc%'", "using i_name"),
        ("name ilike 'ab%'", "using i_name"),
        ("name like '%ab%'", "Seq Scan"),
        ("name like '%a_b_c%'", "Seq Scan"),
        ("name not like '%abc%'", "Seq Scan"),
        ("name ~ 'abc|def'", "using i_name"),
        ("name ~ 'abc|d'", "Seq Scan"),
        ("name ~* 'ABC'", "using i_name"),
        ("name ~ '(a)\\1bcd'", "Seq Scan"),
        ("name = 'abc'", "using i_name"),
        ("name % 'abc'", "using i_name"),
        ("'abc' % name", "using i_name"),
        ("'abc' <% name", "using i_name"),
        ("name <% 'abc'", "Seq Scan"),
        ("name %> 'abc'", "using i_name"),
        ("'abc' <<% name", "using i_name"),
        ("lower(name) like '%abc%'", "using i_both"),
        ("upper(name) like '%ABC%'", "Seq Scan"),
        ("code like '%abc%'", "using i_both"),
        ("name || ' ' || code like '%abc%'", "using i_made"),
        (
            "code like '%abc%' and lower(name) like '%abc%'",
            "using i_both",
        ),
        ("id = 1 and name like '%abc%'", "using i_pkey"),
        ("name like '%abc%' or name like '%bcd%'", "Seq Scan"),
    ] {
        let plan = rows(
            &mut c,
            &format!("explain select * from i where {condition}"),
        )
        .join("\n");
        assert!(plan.contains(used), "{condition}: {plan}");
    }
    c.query("drop index i_both").unwrap();
    for (condition, used) in [
        ("code like '%abc%' and n > 3", "using i_code"),
        ("code like '%abc%'", "Seq Scan"),
    ] {
        let plan = rows(
            &mut c,
            &format!("explain select * from i where {condition}"),
        )
        .join("\n");
        assert!(plan.contains(used), "{condition}: {plan}");
    }
}

/// Two transactions, each of which counts what the other adds: one of them must lose.
#[test]
fn a_row_that_comes_to_what_was_looked_for_is_noticed() {
    for look in [
        "select count(*) from t where a like '%quince%'",
        "select count(*) from t where a % 'quince'",
        "select count(*) from t where a ~ 'quin(ce|z)'",
        "select count(*) from t where 'quinces' <% a",
    ] {
        let (_dir, db) = open_with(
            "create extension pg_trgm; create table t (id int primary key, a text);
             create index on t using gin (a gin_trgm_ops);
             insert into t select n, 'row quiet since ' || n from generate_series(1, 50) n",
        );
        let (mut one, mut other) = (serializable(&db), serializable(&db));
        let ends = [(&mut one, "101"), (&mut other, "102")].map(|(client, id)| {
            client.query("begin").unwrap();
            rows(client, look);
            (client, format!("insert into t values ({id}, 'a quince')"))
        });
        let mut failed = 0;
        for (client, change) in ends {
            let done = client.query(&change).and_then(|_| client.query("commit"));
            if let Err(error) = done {
                assert_eq!(error.state, SqlState::SERIALIZATION_FAILURE);
                failed += 1;
            }
        }
        assert!(failed > 0, "{look}");
    }
}
