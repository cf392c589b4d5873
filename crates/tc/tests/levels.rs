//! What each level forbids, one anomaly a test, on the component itself.
//! The same anomalies run through SQL in the anomaly scripts; here the first culprit is found sooner.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level, SpaceId};
use quintet_tc::{Error, Strength, Tc, Txn, WaitPolicy};
use support::*;

fn open() -> Running {
    Media::new(1).open(Durability::Sync)
}

fn try_commit(tc: &Tc, txn: Txn) -> &'static str {
    match commit(tc, txn, Durability::Sync) {
        Ok(_) => "committed",
        Err(Error::Conflict { .. }) => "conflict",
        Err(error) => panic!("neither committed nor a conflict: {error}"),
    }
}

#[test]
fn nobody_sees_a_write_before_its_commit_or_after_its_abort() {
    let Running { tc, .. } = &open();
    set(tc, &[("x", "0")]);
    let mut writer = tc.begin(Level::ReadCommitted);
    put(&mut writer, "x", "1");
    assert_eq!(
        get(&writer, "x").as_deref(),
        Some("1"),
        "own writes are seen"
    );
    assert_eq!(
        get(&tc.begin(Level::ReadCommitted), "x").as_deref(),
        Some("0")
    );
    writer.abort();
    assert_eq!(
        get(&tc.begin(Level::ReadCommitted), "x").as_deref(),
        Some("0")
    );
}

#[test]
fn lost_update_is_refused_from_snapshot_up() {
    for (level, expected) in [
        (Level::ReadCommitted, "committed"),
        (Level::Snapshot, "conflict"),
        (Level::Serializable, "conflict"),
    ] {
        let Running { tc, .. } = &open();
        set(tc, &[("x", "0")]);
        let (mut a, mut b) = (tc.begin(level), tc.begin(level));
        assert_eq!(get(&a, "x"), get(&b, "x"));
        put(&mut a, "x", "a");
        put(&mut b, "x", "b");
        assert_eq!(try_commit(tc, a), "committed");
        assert_eq!(try_commit(tc, b), expected, "{level:?}");
    }
}

#[test]
fn read_skew_is_impossible_from_snapshot_up() {
    for (level, second) in [
        (Level::ReadCommitted, "1"),
        (Level::Snapshot, "0"),
        (Level::Serializable, "0"),
    ] {
        let Running { tc, .. } = &open();
        set(tc, &[("x", "0"), ("y", "0")]);
        let mut reader = tc.begin(level);
        reader.begin_statement();
        assert_eq!(get(&reader, "x").as_deref(), Some("0"));
        set(tc, &[("x", "1"), ("y", "1")]);
        reader.begin_statement();
        assert_eq!(get(&reader, "y").as_deref(), Some(second), "{level:?}");
        assert_eq!(try_commit(tc, reader), "committed", "readers never abort");
    }
}

/// A statement in whose midst others began goes on at what it began with, and so notices what was
/// committed since to a row that it locks.
#[test]
fn a_kept_snapshot_is_returned_to() {
    let Running { tc, .. } = &open();
    set(tc, &[("x", "0")]);
    let mut outer = tc.begin(Level::ReadCommitted);
    outer.begin_statement();
    let kept = outer.keep_snapshot();
    set(tc, &[("x", "1")]);
    outer.begin_statement();
    assert_eq!(get(&outer, "x").as_deref(), Some("1"));
    outer.return_to_snapshot(kept);
    assert_eq!(get(&outer, "x").as_deref(), Some("0"));
    let locked = outer.lock(SPACE, &bytes("x"), Strength::Exclusive, WaitPolicy::Queue);
    assert!(matches!(locked, Err(Error::Stale)), "{locked:?}");
    outer.begin_statement();
    assert_eq!(get(&outer, "x").as_deref(), Some("1"));
}

#[test]
fn write_skew_is_refused_at_serializable_only() {
    for (level, expected) in [
        (Level::ReadCommitted, "committed"),
        (Level::Snapshot, "committed"),
        (Level::Serializable, "conflict"),
    ] {
        let Running { tc, .. } = &open();
        set(tc, &[("x", "1"), ("y", "1")]);
        let (mut a, mut b) = (tc.begin(level), tc.begin(level));
        get(&a, "y");
        get(&b, "x");
        put(&mut a, "x", "0");
        put(&mut b, "y", "0");
        assert_eq!(try_commit(tc, a), "committed");
        assert_eq!(try_commit(tc, b), expected, "{level:?}");
    }
}

#[test]
fn phantoms_are_refused_at_serializable_and_only_where_the_scan_came() {
    let Running { tc, .. } = &open();
    set(tc, &[("b", "1"), ("d", "1"), ("f", "1")]);
    let read_until = |key: &str| {
        let txn = tc.begin(Level::Serializable);
        let mut scan = txn
            .scan(
                SPACE,
                &quintet_dc::KeyRange::all(),
                quintet_dc::Direction::Forward,
            )
            .unwrap();
        while let Some((found, _)) = scan.next(&txn).unwrap() {
            if found == key.as_bytes() {
                break;
            }
        }
        drop(scan);
        txn
    };
    let mut reader = read_until("d");
    put(&mut reader, "z", "sum");
    set(tc, &[("e", "1")]);
    assert_eq!(
        try_commit(tc, reader),
        "committed",
        "the scan had not come to e"
    );

    let mut reader = read_until("d");
    put(&mut reader, "z", "sum");
    set(tc, &[("c", "1")]);
    assert_eq!(
        try_commit(tc, reader),
        "conflict",
        "c lies between what was scanned"
    );

    // Backwards: what was read lies at the end.
    let mut reader = tc.begin(Level::Serializable);
    let mut scan = reader
        .scan(
            SPACE,
            &quintet_dc::KeyRange::all(),
            quintet_dc::Direction::Backward,
        )
        .unwrap();
    assert_eq!(scan.next(&reader).unwrap().unwrap().0, "z");
    drop(scan);
    put(&mut reader, "q", "1");
    set(tc, &[("a", "1")]);
    assert_eq!(try_commit(tc, reader), "committed");
}

#[test]
fn long_fork_is_impossible_from_snapshot_up() {
    for level in [Level::Snapshot, Level::Serializable] {
        let Running { tc, .. } = &open();
        set(tc, &[("x", "0"), ("y", "0")]);
        let before = tc.begin(level);
        set(tc, &[("x", "1")]);
        let between = tc.begin(level);
        set(tc, &[("y", "1")]);
        let see = |txn: &Txn| (get(txn, "x").unwrap(), get(txn, "y").unwrap());
        assert_eq!(see(&before), ("0".into(), "0".into()));
        assert_eq!(see(&between), ("1".into(), "0".into()));
        assert_eq!(see(&tc.begin(level)), ("1".into(), "1".into()));
    }
}

#[test]
fn at_read_committed_a_writer_waits_its_turn_and_starts_its_statement_again() {
    let Running { tc, .. } = &open();
    set(tc, &[("hot", "0")]);
    let mut first = tc.begin(Level::ReadCommitted);
    let mut second = tc.begin(Level::ReadCommitted);
    let key = bytes("hot");
    let lock = |txn: &mut Txn| txn.lock(SPACE, &key, Strength::Exclusive, WaitPolicy::Queue);
    first.begin_statement();
    second.begin_statement();
    lock(&mut first).unwrap();
    put(&mut first, "hot", "1");
    let Err(Error::Blocked(wait)) = lock(&mut second) else {
        panic!("must queue")
    };
    assert_eq!(try_commit(tc, first), "committed");
    wait.wait();
    assert!(
        matches!(lock(&mut second), Err(Error::Stale)),
        "the row changed since the statement began"
    );
    second.begin_statement();
    lock(&mut second).unwrap();
    assert_eq!(get(&second, "hot").as_deref(), Some("1"));
    put(&mut second, "hot", "2");
    assert_eq!(try_commit(tc, second), "committed");
    assert_eq!(get(&tc.begin(Level::Snapshot), "hot").as_deref(), Some("2"));
}

#[test]
fn rolling_back_to_a_mark_restores_what_was_buffered_then() {
    let Running { tc, .. } = &open();
    set(tc, &[("a", "0")]);
    let mut txn = tc.begin(Level::Snapshot);
    put(&mut txn, "a", "1");
    let mark = txn.mark();
    put(&mut txn, "a", "2");
    put(&mut txn, "b", "2");
    txn.delete(SPACE, bytes("a")).unwrap();
    assert_eq!(rows(&txn), [("b".into(), "2".into())]);
    txn.rollback_to(mark);
    assert_eq!(rows(&txn), [("a".into(), "1".into())]);
    commit(tc, txn, Durability::Sync).unwrap();
    assert_eq!(rows(&tc.begin(Level::Snapshot)), [("a".into(), "1".into())]);
}

#[test]
fn a_fence_refuses_writers_and_old_readers_of_its_space() {
    let Running { tc, .. } = &open();
    set(tc, &[("a", "0")]);
    let schema = tc.visible();
    let mut writer = tc.begin(Level::ReadCommitted);
    writer.use_schema(schema);
    put(&mut writer, "a", "1");
    let old_reader = tc.begin(Level::Snapshot);
    let mut change = tc.begin(Level::ReadCommitted);
    change.fence(SPACE);
    commit(tc, change, Durability::Sync).unwrap();
    assert_eq!(try_commit(tc, writer), "conflict");
    assert!(matches!(
        old_reader.get(SPACE, b"a"),
        Err(Error::Conflict { .. })
    ));
    let mut writer = tc.begin(Level::ReadCommitted);
    writer.use_schema(tc.visible());
    put(&mut writer, "a", "2");
    assert_eq!(try_commit(tc, writer), "committed");
}

/// A change of the schema that had read waited for the fences that it held itself, and everybody else for them: its reads,
/// of rows and of ranges, are validated like anybody's.
#[test]
fn a_fence_of_ones_own_is_not_in_the_way_of_ones_reads() {
    for (written, expected) in [("y", "committed"), ("x", "conflict")] {
        for ranges in [false, true] {
            let Running { tc, .. } = &open();
            set(tc, &[("x", "0")]);
            let mut change = tc.begin(Level::Serializable);
            match ranges {
                true => assert_eq!(rows(&change).len(), 1),
                false => assert_eq!(get(&change, "x").as_deref(), Some("0")),
            }
            change.fence(SpaceId(77));
            let other = if ranges && written == "y" {
                SpaceId(78)
            } else {
                SPACE
            };
            let mut writer = tc.begin(Level::ReadCommitted);
            writer.put(other, bytes(written), bytes("1")).unwrap();
            assert_eq!(try_commit(tc, writer), "committed");
            assert_eq!(
                try_commit(tc, change),
                expected,
                "{written}, ranges: {ranges}"
            );
        }
    }
}

#[test]
fn a_closed_space_makes_other_writers_wait_and_a_fence_then_refuses_them() {
    for (fenced, expected) in [(false, "committed"), (true, "conflict")] {
        let Running { tc, .. } = &open();
        set(tc, &[("a", "0")]);
        let mut writer = tc.begin(Level::ReadCommitted);
        writer.use_schema(tc.visible());
        put(&mut writer, "b", "1");
        let mut change = tc.begin(Level::ReadCommitted);
        change.close_space(SPACE).unwrap();
        let Err(Error::Blocked(wait)) = writer.commit(Durability::Sync) else {
            panic!("must wait")
        };
        assert_eq!(
            rows(&change).len(),
            1,
            "the change sees a space that stands still"
        );
        if fenced {
            change.fence(SPACE);
            commit(tc, change, Durability::Sync).unwrap();
        } else {
            change.abort();
        }
        wait.wait();
        assert_eq!(try_commit(tc, writer), expected);
    }
}
