//! A transaction that carries a batch: it waits for nobody, says what was in its way, and keeps what it locks.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Bytes, Durability, Level};
use quintet_tc::{BatchRefused, Error, Strength, WaitPolicy};
use support::*;

fn key(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// Goal: a row that somebody else has locked is named, whether it is asked for before the commit or met by it;
/// without the call that wrote it the batch commits, and does not wait.
#[test]
fn a_locked_row_is_named_and_the_rest_of_the_batch_commits() {
    let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
    set(tc, &[("x", "0"), ("y", "0")]);
    let mut holder = tc.begin(Level::ReadCommitted);
    holder
        .lock(SPACE, &key("x"), Strength::Exclusive, WaitPolicy::Queue)
        .unwrap();

    let mut batch = tc.begin(Level::Serializable);
    batch.write_optimistically();
    put(&mut batch, "y", "1");
    assert!(batch.contested().is_empty());
    let second = batch.mark();
    put(&mut batch, "x", "1");
    assert_eq!(batch.contested(), [(SPACE, key("x"))]);
    let refused = batch.commit_batch(Durability::Sync).unwrap_err();
    let BatchRefused::Contested(rows) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(rows, [(SPACE, key("x"))]);
    // Nothing of it has happened, and it has not queued up: the call that wrote x is put out.
    assert!(batch.has_written(SPACE, b"x"));
    batch.rollback_to(second);
    assert!(!batch.has_written(SPACE, b"x") && batch.has_written(SPACE, b"y"));
    batch.commit_batch(Durability::Sync).unwrap();
    drop(holder);
    let after = tc.begin(Level::Snapshot);
    assert_eq!(get(&after, "x").as_deref(), Some("0"));
    assert_eq!(get(&after, "y").as_deref(), Some("1"));
}

/// Goal: a batch that has lost begins again with the row it was lost by locked, and now the other waits.
#[test]
fn a_batch_that_lost_takes_the_row_and_is_not_overtaken_again() {
    let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
    set(tc, &[("x", "0")]);
    let mut batch = tc.begin(Level::Serializable);
    batch.write_optimistically();
    assert_eq!(get(&batch, "x").as_deref(), Some("0"));
    put(&mut batch, "x", "1");
    set(tc, &[("x", "other")]);
    let refused = batch.commit_batch(Durability::Sync).unwrap_err();
    let BatchRefused::Lost(Error::Conflict {
        space,
        key: Some(lost_by),
        ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    batch.restart();
    batch.write_optimistically();
    assert!(batch.lock_at_once(space, &lost_by));
    batch.restart();
    batch.write_optimistically();
    let mut other = tc.begin(Level::Serializable);
    other.write_optimistically();
    put(&mut other, "x", "late");
    assert!(matches!(
        other.commit(Durability::Sync),
        Err(Error::Blocked(_))
    ));
    assert_eq!(get(&batch, "x").as_deref(), Some("other"));
    put(&mut batch, "x", "2");
    batch.commit_batch(Durability::Sync).unwrap();
    assert_eq!(get(&tc.begin(Level::Snapshot), "x").as_deref(), Some("2"));
    let mut third = tc.begin(Level::Snapshot);
    assert!(!third.lock_at_once(SPACE, &key("x")), "others queue for it");
}

/// Goal: what is forgotten cannot be taken back, what is marked afterwards can.
#[test]
fn marks_that_are_forgotten_keep_nothing() {
    let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
    let mut batch = tc.begin(Level::Snapshot);
    batch.mark();
    put(&mut batch, "x", "1");
    batch.forget_marks();
    let second = batch.mark();
    put(&mut batch, "x", "2");
    put(&mut batch, "y", "2");
    batch.rollback_to(second);
    assert_eq!(get(&batch, "x").as_deref(), Some("1"));
    assert_eq!(get(&batch, "y"), None);
    batch.commit_batch(Durability::Sync).unwrap();
    assert_eq!(get(&tc.begin(Level::Snapshot), "x").as_deref(), Some("1"));
}
