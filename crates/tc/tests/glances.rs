//! Reads of some columns of a row: at SERIALIZABLE they are spoilt by a change of those, and by no other.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::row::{Glance, RowLayout};
use quintet_base::{Durability, Level, SqlType, Value};
use quintet_tc::{Error, Tc, Txn};
use std::sync::Arc;
use support::*;

/// Two columns: a number and a text.
fn layout() -> RowLayout {
    RowLayout::new(vec![SqlType::Int4, SqlType::Text])
}

fn row(number: i32, text: &str) -> Vec<u8> {
    layout()
        .encode(&[Value::Int4(number), Value::text(text)])
        .unwrap()
}

fn glance(column: usize) -> Arc<Glance> {
    Arc::new(Glance::new(layout(), vec![column]))
}

/// Looks at one column; says whether there is a row.
fn look(txn: &Txn, key: &str, column: usize) -> bool {
    let place = (SPACE, key.as_bytes());
    txn.read_columns(place, &glance(column), |row| row.is_some())
        .unwrap()
}

fn write(tc: &Tc, key: &str, row: &[u8]) {
    let mut txn = tc.begin(Level::Serializable);
    txn.put(SPACE, key, row).unwrap();
    commit(tc, txn, Durability::Sync).unwrap();
}

fn ends(tc: &Tc, mut txn: Txn) -> &'static str {
    txn.put(SPACE, "own", "written").unwrap();
    match commit(tc, txn, Durability::Sync) {
        Ok(_) => "committed",
        Err(Error::Conflict { .. }) => "conflict",
        Err(error) => panic!("neither committed nor a conflict: {error}"),
    }
}

#[test]
fn a_change_spoils_reads_of_the_columns_that_it_changes() {
    for (column, changed, expected) in [
        (0, row(1, "new"), "committed"),
        (1, row(1, "new"), "conflict"),
        (0, row(2, "old"), "conflict"),
        (1, row(2, "old"), "committed"),
        (1, row(2, "longer than before"), "conflict"),
    ] {
        let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
        write(tc, "r", &row(1, "old"));
        let txn = tc.begin(Level::Serializable);
        assert!(look(&txn, "r", column));
        write(tc, "r", &row(7, "in between"));
        write(tc, "r", &changed);
        assert_eq!(ends(tc, txn), expected, "column {column}");
    }
}

#[test]
fn rows_that_come_or_go_spoil_every_read() {
    let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
    let txn = tc.begin(Level::Serializable);
    assert!(!look(&txn, "r", 0));
    write(tc, "r", &row(1, "new"));
    assert_eq!(ends(tc, txn), "conflict");

    let txn = tc.begin(Level::Serializable);
    assert!(look(&txn, "r", 0));
    let mut other = tc.begin(Level::Serializable);
    other.delete(SPACE, "r").unwrap();
    commit(tc, other, Durability::Sync).unwrap();
    assert_eq!(ends(tc, txn), "conflict");
}

#[test]
fn looked_at_by_columns_and_whole_counts_as_whole() {
    let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
    write(tc, "r", &row(1, "old"));
    let txn = tc.begin(Level::Serializable);
    assert!(look(&txn, "r", 0));
    txn.get(SPACE, b"r").unwrap();
    write(tc, "r", &row(1, "new"));
    assert_eq!(ends(tc, txn), "conflict");
}

#[test]
fn write_skew_by_columns_is_refused() {
    let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
    write(tc, "a", &row(1, "a"));
    write(tc, "b", &row(1, "b"));
    let (mut first, mut second) = (tc.begin(Level::Serializable), tc.begin(Level::Serializable));
    assert!(look(&first, "a", 0) && look(&second, "b", 0));
    first.put(SPACE, "b", row(0, "b")).unwrap();
    second.put(SPACE, "a", row(0, "a")).unwrap();
    commit(tc, first, Durability::Sync).unwrap();
    let lost = commit(tc, second, Durability::Sync);
    assert!(matches!(lost, Err(Error::Conflict { .. })));
}
