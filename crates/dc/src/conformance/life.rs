//! Checks of checkpoints, reopenings and the life of spaces.
//!
//! Relies on: `conformance`.  Promises: what survives.  Does not: kill a process.

use super::{Opener, SPACE, key, listing, merge, put, puts, remove, value_of};
use quintet_base::{Lsn, SpaceId};

/// After a reopening the redo start is that of the last checkpoint, and what was merged before it
/// is there.
pub fn a_checkpoint_keeps_its_redo_start_and_all_merges_before(open: &Opener) {
    let store = open();
    merge(&store, SPACE, &puts(0..100, 1, "one"));
    store.checkpoint(Lsn(5)).unwrap();
    merge(&store, SPACE, &[put(3, 7, "two"), remove(4, 8)]);
    merge(&store, SpaceId(9), &puts(0..3, 9, "nine"));
    store.checkpoint(Lsn(10)).unwrap();
    assert_eq!(store.redo_start(), Lsn(10));
    let expected = listing(&store.generation(), SPACE);
    drop(store);
    for _ in 0..2 {
        let store = open();
        assert_eq!(store.redo_start(), Lsn(10));
        assert_eq!(store.spaces(), [SPACE, SpaceId(9)]);
        let generation = store.generation();
        assert_eq!(listing(&generation, SPACE), expected);
        assert_eq!(listing(&generation, SpaceId(9)).len(), 3);
        // The same redo start again is fine.
        store.checkpoint(Lsn(10)).unwrap();
    }
}

/// What came after the last checkpoint may be lost; sending it again makes it good, whether it was
/// lost or not.
pub fn lost_merges_can_be_sent_again(open: &Opener) {
    let store = open();
    merge(&store, SPACE, &puts(0..50, 1, "kept"));
    store.checkpoint(Lsn(1)).unwrap();
    let runs = [
        puts(10..30, 2, "second"),
        vec![remove(3, 3), put(12, 3, "third"), remove(13, 3)],
        vec![put(3, 4, "fourth"), put(90, 4, "fourth")],
    ];
    for run in &runs {
        merge(&store, SPACE, run);
    }
    let expected = listing(&store.generation(), SPACE);
    drop(store);
    let store = open();
    assert_eq!(store.redo_start(), Lsn(1));
    for run in &runs {
        merge(&store, SPACE, run);
    }
    assert_eq!(listing(&store.generation(), SPACE), expected);
    assert_eq!(value_of(&store.generation(), 13), None);
}

/// Opening is no end: rounds of work, each ended by a checkpoint and a reopening.
pub fn a_reopened_store_takes_further_work(open: &Opener) {
    for round in 1..=6u64 {
        let store = open();
        assert_eq!(store.redo_start(), Lsn(round - 1));
        let first = round as u32 * 10;
        merge(
            &store,
            SPACE,
            &puts(first..first + 20, round, &format!("round {round}")),
        );
        store.checkpoint(Lsn(round)).unwrap();
    }
    let generation = open().generation();
    assert_eq!(listing(&generation, SPACE).len(), 70);
    assert_eq!(value_of(&generation, 29).as_deref(), Some("round 2"));
    assert_eq!(value_of(&generation, 30).as_deref(), Some("round 3"));
}

/// The same key lives in many spaces without meeting itself.
pub fn spaces_are_apart(open: &Opener) {
    let store = open();
    let all: Vec<_> = (0..40).map(|n| SpaceId(n * 1000 + 1)).collect();
    for space in &all {
        merge(&store, *space, &[put(1, 1, &space.to_string())]);
    }
    merge(&store, all[5], &[remove(1, 2)]);
    store.checkpoint(Lsn(2)).unwrap();
    drop(store);
    let store = open();
    assert_eq!(store.spaces(), all);
    let generation = store.generation();
    for (index, space) in all.iter().enumerate() {
        let found = generation.get(*space, &key(1)).unwrap();
        let expected = (index != 5).then(|| space.to_string());
        let found = found.map(|record| String::from_utf8(record.value.to_vec()).unwrap());
        assert_eq!(found, expected);
    }
}

/// Dropping hides the space at once from later generations, never from earlier ones, and survives
/// a checkpoint. Dropping nothing is fine.
pub fn a_dropped_space_is_gone_but_for_older_generations(open: &Opener) {
    let store = open();
    store.drop_space(SPACE).unwrap();
    merge(&store, SPACE, &puts(0..500, 1, "here"));
    merge(&store, SpaceId(8), &puts(0..5, 1, "stays"));
    store.checkpoint(Lsn(1)).unwrap();
    let before = store.generation();
    store.drop_space(SPACE).unwrap();
    store.drop_space(SPACE).unwrap();
    assert_eq!(store.spaces(), [SpaceId(8)]);
    let after = store.generation();
    assert_eq!(after.get(SPACE, &key(1)).unwrap(), None);
    assert!(listing(&after, SPACE).is_empty());
    store.checkpoint(Lsn(2)).unwrap();
    assert_eq!(listing(&before, SPACE).len(), 500);
    assert_eq!(value_of(&before, 499).as_deref(), Some("here"));
    drop((before, after, store));
    let store = open();
    assert_eq!(store.spaces(), [SpaceId(8)]);
    assert!(listing(&store.generation(), SPACE).is_empty());
    assert_eq!(listing(&store.generation(), SpaceId(8)).len(), 5);
}

/// A merge after the drop starts from nothing, also while the old content is still being read, and
/// at positions below those of the old content.
pub fn a_dropped_space_can_be_made_anew(open: &Opener) {
    let store = open();
    merge(&store, SPACE, &puts(0..10, 9, "old"));
    store.checkpoint(Lsn(9)).unwrap();
    let before = store.generation();
    store.drop_space(SPACE).unwrap();
    merge(&store, SPACE, &[put(3, 5, "new")]);
    assert_eq!(listing(&store.generation(), SPACE), ["key-000003 @5 new"]);
    assert_eq!(listing(&before, SPACE).len(), 10);
    store.checkpoint(Lsn(10)).unwrap();
    drop((before, store));
    assert_eq!(listing(&open().generation(), SPACE), ["key-000003 @5 new"]);
}
