//! [`OrderedIndex`]: what stays is found by look-ups and scans, scans return nothing twice, one key is put
//! in once, and the tree is sound afterwards.

use super::{Item, free};
use crate::{Entry, Guard, Near, OrderedIndex, pin};
use quintet_interleave::explore::{explore, finds};
use quintet_interleave::scope;
use std::ops::Bound;
use std::ptr::NonNull;

fn put(index: &OrderedIndex<Item>, key: u64) -> bool {
    let guard = pin();
    // SAFETY: an item's memory stays.
    unsafe { index.insert(Item::new(key, 0), &guard) }.is_none()
}

fn remove(index: &OrderedIndex<Item>, key: u64) -> bool {
    let guard = pin();
    let removed = index.remove(&key.to_be_bytes(), &guard);
    removed
        .inspect(|item| free(NonNull::from(*item), &guard))
        .is_some()
}

fn find(index: &OrderedIndex<Item>, key: u64) -> bool {
    let guard = pin();
    let found = index.get(&key.to_be_bytes(), &guard);
    found.is_some_and(|item| item.number() == key)
}

/// Everything from `from` on, in chunks of `limit`, ascending.
fn scan(index: &OrderedIndex<Item>, from: u64, backward: bool, limit: usize) -> Vec<u64> {
    let guard: Guard = pin();
    let mut all: Vec<&Item> = Vec::new();
    let from = from.to_be_bytes();
    let mut on = Bound::Unbounded;
    if !backward {
        on = Bound::Included(&from[..]);
    }
    loop {
        let done = match backward {
            false => index.chunk(on, Bound::Unbounded, false, limit, &guard, &mut all),
            true => index.chunk(Bound::Included(&from), on, true, limit, &guard, &mut all),
        };
        if done {
            break;
        }
        on = Bound::Excluded(all.last().expect("the limit was reached").key());
    }
    let mut all: Vec<u64> = all.into_iter().map(Item::number).collect();
    if backward {
        all.reverse();
    }
    let sorted = all.is_sorted_by(|left, right| left < right);
    assert!(sorted, "out of order or twice: {all:?}");
    all
}

/// A tree of these keys, put in as they come.
fn tree(keys: impl Iterator<Item = u64>) -> OrderedIndex<Item> {
    let index = OrderedIndex::new();
    keys.for_each(|key| assert!(put(&index, key)));
    index
}

/// Goal: what stays is found, by look-up and by scans in both directions, while leaves split, empty and
/// unite beside it; what is found has not been freed; the tree is sound.
/// Method: three leaves, the middle one of which goes, while the first is filled until it splits.
fn what_stays_is_found() {
    let mut index = tree((0..16).map(|key| key * 10));
    let stays = [0, 50, 120, 150];
    scope(|scope| {
        scope.spawn(|| (41..44).for_each(|key| assert!(put(&index, key))));
        scope.spawn(|| (6..12).for_each(|key| assert!(remove(&index, key * 10))));
        scope.spawn(|| {
            for key in [50, 120] {
                assert!(find(&index, key), "{key} stays");
            }
        });
        for backward in [false, true] {
            let found = scan(&index, 0, backward, 5);
            let all = stays.iter().all(|key| found.contains(key));
            assert!(all, "{found:?}");
        }
    });
    assert_eq!(index.check().entries, 13);
    assert_eq!(scan(&index, 0, false, 100).len(), 13);
}

#[test]
fn ordered_what_stays_is_found() {
    explore("ordered: what stays is found", 3000, what_stays_is_found);
    finds("latch: no second look", 200, what_stays_is_found);
    finds("latch: no change is counted", 1000, what_stays_is_found);
    finds(
        "what is taken out is freed at once",
        1000,
        what_stays_is_found,
    );
}

/// Goal: a split is not passed by: who goes down beside it still finds what moved to the right.
/// Method: a full leaf below a root is split while what is at its end is looked up.
fn a_split_loses_nobody() {
    let mut index = tree((0..8).map(|key| key * 10));
    assert_eq!(index.check().leaves, 2);
    scope(|scope| {
        scope.spawn(|| (1..3).for_each(|key| assert!(put(&index, key))));
        for _ in 0..3 {
            assert!(find(&index, 50), "50 stays");
            assert!(find(&index, 30), "30 stays");
        }
    });
    assert_eq!((index.check().entries, index.check().leaves), (10, 3));
}

#[test]
fn ordered_a_split_loses_nobody() {
    explore("ordered: a split loses nobody", 3000, a_split_loses_nobody);
    finds(
        "ordered: the parent is not asked again",
        1000,
        a_split_loses_nobody,
    );
}

/// Goal: a scan returns nothing twice when the range behind a leaf's edge becomes the leaf's.
/// Method: of a tree of three levels the right half is one entry; it goes, the last leaf of the left half
/// gets its range, and a key in it, while a scan is on its way to that leaf.
fn nothing_is_scanned_twice() {
    let mut index = tree((0..36).map(|key| key * 10));
    assert_eq!(index.check().levels, 3);
    // The fourth leaf ends the left half at 240 and gets room; of the right half one entry stays.
    assert!(remove(&index, 190) && remove(&index, 200));
    (24..35).for_each(|key| assert!(remove(&index, key * 10)));
    scope(|scope| {
        scope.spawn(|| {
            assert!(remove(&index, 350));
            assert!(put(&index, 340));
        });
        scan(&index, 210, false, 100);
    });
    let shape = index.check();
    assert_eq!((shape.levels, shape.entries), (2, 23));
}

#[test]
fn ordered_nothing_is_scanned_twice() {
    explore(
        "ordered: nothing is scanned twice",
        2000,
        nothing_is_scanned_twice,
    );
    finds(
        "scan: the edge is not asked again",
        1000,
        nothing_is_scanned_twice,
    );
}

/// Goal: of those who put in or take out one key at once one succeeds.
/// Method: what was put in less what was taken out is what is there at the end.
fn one_key_is_put_in_once() {
    let mut index = tree((0..7).map(|key| key * 10));
    let come_and_go = || {
        let mut balance = 0;
        for key in [33, 34] {
            balance += isize::from(put(&index, key));
            balance -= isize::from(remove(&index, 33));
        }
        balance
    };
    let balance: isize = scope(|scope| {
        let others = [scope.spawn(come_and_go), scope.spawn(come_and_go)];
        let others = others.map(|thread| thread.join().expect("no panic"));
        others.iter().sum()
    });
    let there = [33, 34].iter().filter(|key| find(&index, **key)).count();
    assert_eq!(balance, there as isize);
    assert_eq!(index.check().entries, 7 + there);
}

#[test]
fn ordered_one_key_is_put_in_once() {
    explore(
        "ordered: one key is put in once",
        2000,
        one_key_is_put_in_once,
    );
    finds("latch: no change is counted", 1000, one_key_is_put_in_once);
}

/// Goal: who puts in neighbours of what he has just put in puts them where they are found, although their leaf
/// is divided or gets a neighbour's range meanwhile.
/// Method: a leaf with two free places; one thread puts keys in at its end, one in its middle, so that it splits
/// and its end moves to another leaf; what stands behind it goes.
fn neighbours_go_where_they_belong() {
    let mut index = tree((0..8).map(|key| key * 10));
    assert!(remove(&index, 40) && remove(&index, 50));
    scope(|scope| {
        scope.spawn(|| {
            let guard = pin();
            let mut near = Near::under(&guard);
            for key in 41..44 {
                // SAFETY: an item's memory stays.
                let there = unsafe { index.insert_near(Item::new(key, 0), &mut near) };
                assert!(there.is_none(), "{key} was not there");
            }
        });
        scope.spawn(|| assert!(put(&index, 11) && put(&index, 12)));
        assert!(remove(&index, 60) && remove(&index, 70));
    });
    assert_eq!(index.check().entries, 9);
    let put = [11, 12, 41, 42, 43];
    assert!(put.iter().all(|key| find(&index, *key)));
}

#[test]
fn ordered_neighbours_go_where_they_belong() {
    explore(
        "ordered: neighbours go where they belong",
        2000,
        neighbours_go_where_they_belong,
    );
    finds(
        "near: any state of the leaf will do",
        5000,
        neighbours_go_where_they_belong,
    );
}
