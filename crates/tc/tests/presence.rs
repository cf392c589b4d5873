//! Presences: who removes a row waits for those who rely on it, and the other way round; nobody else does.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level};
use quintet_tc::{Error, Presence, Strength, Txn};
use std::sync::Arc;
use support::*;

fn hold(txn: &mut Txn, key: &str, strength: Strength) -> &'static str {
    match txn.hold_presence(SPACE, key.as_bytes(), strength) {
        Ok(()) => "held",
        Err(Error::Blocked(_)) => "waits",
        Err(Error::Deadlock) => "deadlock",
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_presence_is_shared_or_alone_and_the_row_stays_free() {
    for level in Level::ALL {
        let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
        set(tc, &[("p", "0")]);
        let (mut one, mut two, mut three) = (tc.begin(level), tc.begin(level), tc.begin(level));
        assert_eq!(hold(&mut one, "p", Strength::Shared), "held");
        assert_eq!(hold(&mut two, "p", Strength::Shared), "held");
        // A write of the row neither waits for those who rely on it nor is in their way.
        let mut writer = tc.begin(level);
        put(&mut writer, "p", "1");
        commit(tc, writer, Durability::Sync).unwrap();
        commit(tc, one, Durability::Sync).unwrap();
        assert_eq!(hold(&mut three, "p", Strength::Exclusive), "waits");
        commit(tc, two, Durability::Sync).unwrap();
        assert_eq!(hold(&mut three, "p", Strength::Exclusive), "held");
    }
}

#[test]
fn what_is_there_now_is_told_from_what_the_snapshot_has() {
    let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
    set(tc, &[("p", "0")]);
    let mut txn = tc.begin(Level::Serializable);
    let presence = |txn: &Txn, key: &str| {
        let Presence { now, seen } = txn.presence(SPACE, key.as_bytes()).unwrap();
        (now, seen)
    };
    assert_eq!(presence(&txn, "p"), (true, true));
    let mut other = tc.begin(Level::Serializable);
    other.delete(SPACE, "p").unwrap();
    put(&mut other, "q", "0");
    commit(tc, other, Durability::Sync).unwrap();
    assert_eq!(presence(&txn, "p"), (false, true));
    assert_eq!(presence(&txn, "q"), (true, false));
    put(&mut txn, "p2", "0");
    assert_eq!(presence(&txn, "p2"), (true, true), "own writes are there");
    // None of it was read: nothing to lose by.
    commit(tc, txn, Durability::Sync).unwrap();
}

#[test]
fn looking_aside_reads_at_now_and_is_not_validated() {
    let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
    set(tc, &[("p", "0")]);
    let mut txn = tc.begin(Level::Serializable);
    assert_eq!(get(&txn, "x"), None);
    set(tc, &[("p", "1")]);
    let kept = txn.look_aside();
    assert_eq!(get(&txn, "p").as_deref(), Some("1"));
    txn.look_back(kept);
    set(tc, &[("p", "2")]);
    put(&mut txn, "y", "0");
    commit(tc, txn, Durability::Sync).unwrap();
}

#[test]
fn what_is_attached_goes_with_what_was_written() {
    let Running { tc, .. } = &Media::new(1).open(Durability::Sync);
    let mut txn = tc.begin(Level::ReadCommitted);
    txn.attach(Arc::new(1));
    let mark = txn.mark();
    txn.attach(Arc::new(2));
    assert_eq!(txn.attached().len(), 2);
    txn.rollback_to(mark);
    assert_eq!(txn.attached().len(), 1);
    assert_eq!(txn.attached()[0].downcast_ref::<i32>(), Some(&1));
    txn.restart();
    assert!(txn.attached().is_empty());
}
