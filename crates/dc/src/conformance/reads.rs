//! Checks of point reads and scans.
//!
//! Relies on: `conformance`.  Promises: order, bounds, removal and lengths.  Does not: reopen.

use super::{Opener, SPACE, key, listing, merge, put, puts, read, remove};
use crate::contract::{Direction, KeyRange, Operation, STORED_KEY_BYTES_MAX};
use bytes::Bytes;
use quintet_base::limits::{KEY_BYTES_MAX, ROW_BYTES_MAX};
use quintet_base::{Lsn, SpaceId};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A fresh store answers every question with nothing.
pub fn an_empty_store_holds_nothing(open: &Opener) {
    let store = open();
    assert_eq!(store.redo_start(), Lsn::ZERO);
    assert!(store.spaces().is_empty());
    let generation = store.generation();
    assert_eq!(generation.get(SPACE, b"any").unwrap(), None);
    for direction in [Direction::Forward, Direction::Backward] {
        assert!(read(&generation, SPACE, &KeyRange::all(), direction).is_empty());
    }
}

/// Announcing a key changes no answer, whether it is there, removed, absent, empty or in no space.
pub fn announced_keys_read_as_others(open: &Opener) {
    let store = open();
    merge(&store, SPACE, &puts(0..2000, 1, "one"));
    store.checkpoint(Lsn(1)).unwrap();
    merge(&store, SPACE, &[put(3, 2, "two"), remove(4, 2)]);
    let generation = store.generation();
    let before = listing(&generation, SPACE);
    for number in (0..2100).step_by(3).chain([3, 4]) {
        generation.announce(SPACE, &key(number));
        let record = generation.get(SPACE, &key(number)).unwrap();
        assert_eq!(record.is_some(), number < 2000 && number != 4, "{number}");
    }
    generation.announce(SPACE, b"");
    generation.announce(SpaceId(999), b"any");
    assert_eq!(listing(&generation, SPACE), before);
}

/// Every pair of bounds out of a few, present and absent keys, both ways, against a sorted map.
pub fn ranges_are_read_in_both_directions_with_every_kind_of_bound(open: &Opener) {
    let store = open();
    // Two runs, so that an implementation has more than one file to merge.
    let even: Vec<_> = (0..40).step_by(2).map(|n| put(n, 10, "even")).collect();
    let third: Vec<_> = (0..40).step_by(3).map(|n| put(n, 20, "third")).collect();
    merge(&store, SPACE, &even);
    merge(&store, SPACE, &third);
    let model: BTreeMap<Bytes, u64> = (0..40)
        .filter(|n| n % 2 == 0 || n % 3 == 0)
        .map(|n| (key(n), if n % 3 == 0 { 20 } else { 10 }))
        .collect();
    let generation = store.generation();
    for (key, position) in &model {
        let record = generation.get(SPACE, key).unwrap().unwrap();
        assert_eq!(record.position, Lsn(*position), "{key:?}");
    }
    assert_eq!(generation.get(SPACE, &key(1)).unwrap(), None);
    assert_eq!(generation.get(SPACE, b"").unwrap(), None);

    let mut bounds = vec![Bound::Unbounded];
    for number in [0, 1, 6, 7, 8, 39, 50] {
        bounds.push(Bound::Included(key(number)));
        bounds.push(Bound::Excluded(key(number)));
    }
    // An empty bound is fine, though no key is empty.
    bounds.push(Bound::Included(Bytes::new()));
    bounds.push(Bound::Excluded(Bytes::new()));
    bounds.push(Bound::Excluded(Bytes::from_static(b"key-00000")));
    bounds.push(Bound::Included(Bytes::from_static(b"zzz")));
    for lower in &bounds {
        for upper in &bounds {
            let range = KeyRange {
                lower: lower.clone(),
                upper: upper.clone(),
            };
            let mut expected: Vec<_> = model
                .keys()
                .filter(|key| range.contains(key))
                .cloned()
                .collect();
            for direction in [Direction::Forward, Direction::Backward] {
                let found = read(&generation, SPACE, &range, direction);
                let keys: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
                assert_eq!(keys, expected, "{range:?} {direction:?}");
                expected.reverse();
            }
        }
    }
    let prefix = KeyRange::prefix(&b"key-00001"[..]);
    assert_eq!(
        read(&generation, SPACE, &prefix, Direction::Forward).len(),
        6
    );
}

/// Removed keys are missing from gets and scans, those never there are no trouble, and a removed
/// key can come back.
pub fn removed_records_are_seen_by_no_read(open: &Opener) {
    let store = open();
    merge(&store, SPACE, &puts(0..10, 1, "first"));
    let holes: Vec<_> = [0, 4, 5, 9, 99].map(|n| remove(n, 2)).to_vec();
    merge(&store, SPACE, &holes);
    merge(&store, SPACE, &[put(5, 3, "again")]);
    let generation = store.generation();
    assert_eq!(generation.get(SPACE, &key(4)).unwrap(), None);
    let expected: Vec<Bytes> = [1, 2, 3, 5, 6, 7, 8].map(key).to_vec();
    let keys = |direction| -> Vec<Bytes> {
        let found = read(&generation, SPACE, &KeyRange::all(), direction);
        found.into_iter().map(|(key, _)| key).collect()
    };
    assert_eq!(keys(Direction::Forward), expected);
    assert_eq!(
        keys(Direction::Backward),
        expected.iter().rev().cloned().collect::<Vec<_>>()
    );
    assert_eq!(super::value_of(&generation, 5).as_deref(), Some("again"));
}

/// A scan keeps what it reads alive: the generation, the space and newer merges may come and go.
pub fn a_scan_goes_on_when_all_else_is_dropped(open: &Opener) {
    let store = open();
    merge(&store, SPACE, &puts(0..3000, 1, "old"));
    let generation = store.generation();
    let mut scan = generation
        .scan(SPACE, &KeyRange::all(), Direction::Forward)
        .unwrap();
    for number in 0..10 {
        assert_eq!(scan.next().unwrap().unwrap().0, key(number));
    }
    drop(generation);
    merge(&store, SPACE, &puts(0..3000, 2, "new"));
    store.drop_space(SPACE).unwrap();
    store.checkpoint(Lsn(2)).unwrap();
    for number in 10..3000 {
        let (found, record) = scan.next().unwrap().unwrap();
        assert_eq!((found, &record.value[..]), (key(number), &b"old"[..]));
    }
    assert_eq!(scan.next().unwrap(), None);
    assert!(listing(&store.generation(), SPACE).is_empty());
}

/// The extremes of length, among ordinary records, also after a reopening.
pub fn values_may_be_empty_and_both_keys_and_values_long(open: &Opener) {
    let long = |bytes: usize| Bytes::from(vec![0xFE; bytes]);
    let entries = [
        (Bytes::from_static(b"\0"), Bytes::new()),
        (Bytes::from_static(b"\0\0"), Bytes::from_static(b"\0\xff")),
        (Bytes::from_static(b"a"), long(ROW_BYTES_MAX)),
        (Bytes::from_static(b"b"), long(100_000)),
        (long(1), long(3)),
        (long(KEY_BYTES_MAX), long(1)),
        (long(STORED_KEY_BYTES_MAX), long(KEY_BYTES_MAX)),
        (Bytes::from_static(b"\xff"), Bytes::new()),
    ];
    let run: Vec<_> = entries
        .iter()
        .map(|(key, value)| Operation::put(key.clone(), Lsn(5), value.clone()))
        .collect();
    let space = SpaceId(u32::MAX);
    let mut store = open();
    merge(&store, space, &run);
    for reopened in [false, true] {
        if reopened {
            store.checkpoint(Lsn(5)).unwrap();
            drop(store);
            store = open();
        }
        let generation = store.generation();
        for (key, value) in &entries {
            let record = generation.get(space, key).unwrap().unwrap();
            assert!(
                record.value == value,
                "value of a key of {} bytes",
                key.len()
            );
        }
        let found = read(&generation, space, &KeyRange::all(), Direction::Backward);
        let expected = entries.iter().rev().map(|(key, _)| key);
        assert!(
            found.iter().map(|(key, _)| key).eq(expected),
            "order of long keys"
        );
    }
}
