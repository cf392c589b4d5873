//! [`PointIndex`]: what stays is found, one key is put in once, nothing is read after it was freed.

use super::{Item, free};
use crate::{PointIndex, Verdict, pin};
use quintet_interleave::explore::{explore, finds};
use quintet_interleave::scope;
use std::ptr::NonNull;

/// All keys in one shard and one bucket: searches run over full buckets. Tags fit by chance.
fn hash(key: u64) -> u64 {
    3 << 56 | (key % 3) << 5
}

fn find(index: &PointIndex<Item>, key: u64) -> bool {
    let guard = pin();
    let found = index.get(hash(key), |item| item.number() == key, &guard);
    found.is_some_and(|item| item.number() == key)
}

/// Puts a key in unless it is there; whether it was put in.
fn put(index: &PointIndex<Item>, key: u64) -> bool {
    let guard = pin();
    let make = || Some(NonNull::from(Item::new(key, hash(key))));
    // SAFETY: an item's memory stays.
    let put = unsafe { index.get_or_insert(hash(key), |item| item.number() == key, make, &guard) };
    put.expect("made").1
}

fn remove(index: &PointIndex<Item>, key: u64) -> bool {
    let guard = pin();
    let removed = index.remove(hash(key), |item| item.number() == key, &guard);
    removed.into_iter().for_each(|item| free(item, &guard));
    removed.is_some()
}

fn sweep(index: &PointIndex<Item>, verdict: impl Fn(u64) -> Verdict) -> usize {
    let guard = pin();
    let mut removed = Vec::new();
    index.sweep(3, |item| verdict(item.number()), &mut removed, &guard);
    removed.iter().for_each(|item| free(*item, &guard));
    removed.len()
}

/// Goal: an entry that stays is found by every look-up, and what a look-up finds has not been freed.
/// Method: twelve of the sixteen slots of a shard are taken, so that the next insertion makes a new
/// table; one thread puts in, one takes out and puts in again, one sweeps, one looks.
fn what_stays_is_found() {
    let index = PointIndex::new();
    (0..11).for_each(|key| assert!(put(&index, key)));
    scope(|scope| {
        scope.spawn(|| (20..23).for_each(|key| assert!(put(&index, key))));
        scope.spawn(|| {
            assert!(remove(&index, 0));
            assert!(remove(&index, 3));
            assert!(put(&index, 3));
        });
        scope.spawn(|| {
            let condemned = |key| match key {
                6 | 7 => Verdict::Remove,
                _ => Verdict::Keep,
            };
            assert_eq!(sweep(&index, condemned), 2);
        });
        for key in [10, 9, 10, 1] {
            assert!(find(&index, key), "{key} stays");
            find(&index, 3);
            find(&index, 6);
        }
    });
    assert_eq!(index.len(), 11);
    assert!((20..23).all(|key| find(&index, key)));
    assert!([0, 6, 7].iter().all(|key| !find(&index, *key)));
}

#[test]
fn point_what_stays_is_found() {
    explore("point: what stays is found", 3000, what_stays_is_found);
    finds("point: a freed slot ends", 100, what_stays_is_found);
    finds("point: nobody is displaced", 100, what_stays_is_found);
    finds(
        "point: an empty table is published",
        100,
        what_stays_is_found,
    );
    finds(
        "what is taken out is freed at once",
        1000,
        what_stays_is_found,
    );
}

/// Goal: of those who put in one key at once one succeeds, of those who take it out one does.
/// Method: what was put in less what was taken out is what is there at the end.
fn one_key_is_put_in_once() {
    let index = PointIndex::new();
    let come_and_go = || {
        let mut balance = 0;
        for _ in 0..2 {
            for key in [5, 8] {
                if !find(&index, key) {
                    balance += isize::from(put(&index, key));
                }
            }
            balance -= isize::from(remove(&index, 5));
        }
        balance
    };
    let balance: isize = scope(|scope| {
        let others = [scope.spawn(come_and_go), scope.spawn(come_and_go)];
        let others = others.map(|thread| thread.join().expect("no panic"));
        others.iter().sum()
    });
    let there = [5, 8].map(|key| {
        sweep(&index, |other| match other == key {
            true => Verdict::Remove,
            false => Verdict::Keep,
        })
    });
    assert!(
        there.iter().all(|count| *count <= 1),
        "{there:?} of 5 and 8"
    );
    assert_eq!(balance, there.iter().sum::<usize>() as isize);
    assert!(index.is_empty());
}

#[test]
fn point_one_key_is_put_in_once() {
    explore(
        "point: one key is put in once",
        3000,
        one_key_is_put_in_once,
    );
    finds(
        "point: nobody looks under the lock",
        100,
        one_key_is_put_in_once,
    );
}
