//! Values of the rarer types come back from rows, keys, and arrays as they were, with their columns' lengths, also after a
//! database has been opened again, from its log and from STORE.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::SqlState;
use quintet_embed::Client;
use support::{open, reopen, rows, state};

/// Types, and values of each in their order.
const TYPES: &[(&str, &[&str])] = &[
    ("bit(9)", &["000000000", "000000001", "100000000"]),
    ("bit varying(12)", &["", "0", "00000000", "000000000", "1"]),
    ("inet", &["10.0.0.0/8", "10.0.0.1", "::1/64", "::1"]),
    ("cidr", &["10.0.0.0/8", "10.0.0.0/24", "fe80::/10"]),
    ("macaddr", &["00:00:00:00:00:01", "01:00:00:00:00:00"]),
    ("money", &["-$5.00", "$0.00", "$1,234.50"]),
    ("int4range", &["empty", "(,5)", "[1,5)", "[1,)", "[2,3)"]),
    ("numrange", &["empty", "[1.5,2)", "[1.5,2.50]", "(1.5,2)"]),
    (
        "daterange",
        &[
            "(,2020-01-01)",
            "[2020-01-01,2020-02-01)",
            "[2020-01-01,infinity]",
            "[2020-01-01,)",
        ],
    ),
    (
        "tsrange",
        &[
            "[\"2020-01-01 00:00:00\",\"2020-01-02 00:00:00\")",
            "[\"2020-01-01 00:00:00\",\"2020-01-02 00:00:00\"]",
        ],
    ),
    (
        "int8multirange",
        &["{}", "{[1,3)}", "{[1,3),[5,6)}", "{[1,4)}"],
    ),
    ("numeric(5,-2)", &["-12300", "0", "100", "9999900"]),
    ("numeric(2,4)", &["-0.0099", "0.0000", "0.0010"]),
];

fn look(client: &mut Client) {
    for (number, (ty, values)) in TYPES.iter().enumerate() {
        let table = format!("t{number}");
        let all = |column: &str| format!("select {column} from {table} order by {column}");
        assert_eq!(rows(client, &all("k")), *values, "{ty}");
        assert_eq!(rows(client, &all("v")), *values, "{ty}");
        for value in *values {
            for column in ["k", "v"] {
                let sql =
                    format!("select a[1], a[2] is null from {table} where {column} = '{value}'");
                assert_eq!(rows(client, &sql), [format!("{value}|t")], "{sql}");
            }
        }
        let declared = format!(
            "select format_type(atttypid, atttypmod) from pg_attribute
             where attrelid = '{table}'::regclass and attname in ('k', 'v')"
        );
        assert_eq!(rows(client, &declared), [*ty, ty], "{ty}");
        let taken = format!("insert into {table} (k) values ('{}')", values[0]);
        assert_eq!(state(client, &taken), SqlState::UNIQUE_VIOLATION, "{ty}");
    }
}

#[test]
fn values_come_back_as_they_were() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    for (number, (ty, values)) in TYPES.iter().enumerate() {
        let row = |v: &&str| format!("('{v}', '{v}', array['{v}'::{ty}, null])");
        let all: Vec<String> = values.iter().map(row).collect();
        let all = all.join(", ");
        c.query(&format!(
            "create table t{number} (k {ty} primary key, v {ty}, a {ty}[]);
             insert into t{number} values {all};
             create index on t{number} (v)"
        ))
        .unwrap();
    }
    look(&mut c);
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    look(&mut db.client().unwrap());
    db.compact().unwrap();
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    look(&mut db.client().unwrap());
}

/// Types that have no order, and values of each.
const FIGURES: &[(&str, &[&str])] = &[
    ("point", &["(1,2)", "(-0,1e+300)"]),
    ("lseg", &["[(1,2),(3,4)]"]),
    ("line", &["{1,2,3}"]),
    ("box", &["(3,4),(1,2)"]),
    ("path", &["[(1,2)]", "((1,2),(3,4))"]),
    ("polygon", &["((1,2),(3,4),(5,5))"]),
    ("circle", &["<(1,2),3>", "<(1,2),NaN>"]),
];

fn look_at_figures(client: &mut Client) {
    for (ty, values) in FIGURES {
        let mut expected = values.to_vec();
        expected.push("-");
        let found = rows(client, &format!("select v from f_{ty} order by id"));
        assert_eq!(found, expected, "{ty}");
        let found = rows(client, &format!("select a[1] from f_{ty} order by id"));
        assert_eq!(found, expected, "{ty}");
    }
    // What arithmetic comes to and nobody may write is kept, too, alone and in an array.
    let found = rows(client, "select v, a[1] from negative");
    assert_eq!(found, ["<(1,2),-1>|<(1,2),-1>"]);
}

#[test]
fn figures_come_back_as_they_were() {
    let (dir, db) = open();
    let mut c = db.client().unwrap();
    for (ty, values) in FIGURES {
        c.query(&format!(
            "create table f_{ty} (id int primary key, v {ty}, a {ty}[])"
        ))
        .unwrap();
        for (id, value) in values.iter().enumerate() {
            c.query(&format!(
                "insert into f_{ty} values ({id}, '{value}', array['{value}'::{ty}])"
            ))
            .unwrap();
        }
        c.query(&format!("insert into f_{ty} (id) values (100)"))
            .unwrap();
    }
    c.query("create table negative (v circle, a circle[])")
        .unwrap();
    c.query("insert into negative select c, array[c] from (select circle(point(1,2), -1)) n(c)")
        .unwrap();
    look_at_figures(&mut c);
    drop(c);
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    look_at_figures(&mut db.client().unwrap());
    db.compact().unwrap();
    db.close().unwrap();
    drop(db);
    let db = reopen(&dir);
    look_at_figures(&mut db.client().unwrap());
}
