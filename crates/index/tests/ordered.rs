//! The ordered index against `BTreeMap`, one thread: any operations on any keys, ranges, and what
//! is left when all is removed. Threads are in `ordered_threads.rs`.
//!
//! Also meant for Miri, where sizes shrink and nodes hold 6 keys instead of 60:
//! `MIRIFLAGS="-Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-ignore-leaks"
//! cargo +nightly miri test -p quintet-index ordered` (4 minutes). The flags are for
//! `crossbeam-epoch`, which makes pointers of integers, breaks stacked borrows and keeps its global
//! collector. What needs no epoch is sound by the stricter rules as well:
//! `MIRIFLAGS=-Zmiri-strict-provenance cargo +nightly miri test -p quintet-index --lib ordered --
//! --skip edge_from_further_up` (40 seconds).
#![allow(unsafe_code, reason = "the tests own the entries")]

use std::{collections::BTreeMap, ops::Bound};

use proptest::{collection::vec, prelude::*};
use quintet_index::{Near, OrderedIndex, pin};

mod ordered_item;
use ordered_item::{Item, Live, Random, keys_of};

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<u8>),
    Remove(Vec<u8>),
    /// Removes all between two keys, so that neighbouring leaves become empty.
    Clear(Vec<u8>, Vec<u8>),
    Get(Vec<u8>),
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>, bool, usize),
}

/// Few distinct keys, so that operations meet; beginnings shared up to and past what a node keeps
/// of them; keys that are beginnings of others; the extreme bytes.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let begin = prop_oneof![
        4 => Just(0_usize),
        1 => Just(3),
        2 => 6_usize..10,
        2 => 38_usize..43,
        1 => Just(300),
    ];
    let byte = prop_oneof![Just(0_u8), Just(1), Just(b'k'), Just(0xff), any::<u8>()];
    (begin, vec(byte, 0..4)).prop_map(|(begin, end)| [vec![b'k'; begin], end].concat())
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        Just(Bound::Unbounded),
        key().prop_map(Bound::Included),
        key().prop_map(Bound::Excluded),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => key().prop_map(Step::Insert),
        4 => key().prop_map(Step::Remove),
        1 => (key(), key()).prop_map(|(left, right)| Step::Clear(left, right)),
        3 => key().prop_map(Step::Get),
        3 => (bound(), bound(), any::<bool>(), 1_usize..40)
            .prop_map(|(lower, upper, backward, limit)| Step::Range(lower, upper, backward, limit)),
    ]
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// All of a range, chunk by chunk.
fn range(
    index: &OrderedIndex<Item>,
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
    backward: bool,
    limit: usize,
) -> Vec<Vec<u8>> {
    let guard = pin();
    let (mut lower, mut upper) = (lower, upper);
    let mut all: Vec<&Item> = Vec::new();
    loop {
        let before = all.len();
        let done = index.chunk(lower, upper, backward, limit, &guard, &mut all);
        assert!(all.len() - before <= limit, "more than the limit");
        if done {
            return all.into_iter().map(keys_of).collect();
        }
        assert_eq!(
            all.len() - before,
            limit,
            "stopped before the limit and the end"
        );
        let last = Bound::Excluded(all[all.len() - 1].bytes());
        if backward {
            upper = last;
        } else {
            lower = last;
        }
    }
}

fn expected_range(
    model: &BTreeMap<Vec<u8>, *mut Item>,
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
    backward: bool,
) -> Vec<Vec<u8>> {
    // `BTreeMap::range` panics on bounds that cross; a filter does not.
    let above = |key: &[u8]| match lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    };
    let below = |key: &[u8]| match upper {
        Bound::Included(upper) => key <= upper,
        Bound::Excluded(upper) => key < upper,
        Bound::Unbounded => true,
    };
    let mut keys: Vec<_> = model
        .keys()
        .filter(|key| above(key) && below(key))
        .cloned()
        .collect();
    if backward {
        keys.reverse();
    }
    keys
}

fn run(steps: &[Step]) {
    let live = Live::new();
    let mut index = OrderedIndex::new();
    let mut model: BTreeMap<Vec<u8>, *mut Item> = BTreeMap::new();
    let guard = pin();
    let remove = |model: &mut BTreeMap<Vec<u8>, *mut Item>, key: &[u8]| {
        let removed = index.remove(key, &guard);
        assert_eq!(
            removed.map(Item::pointer),
            model.remove(key),
            "remove {key:?}"
        );
        if let Some(item) = removed {
            Item::free(item, &guard);
        }
    };
    for step in steps {
        match step {
            Step::Insert(key) => {
                let item = Item::allocate(key, &live);
                // SAFETY: freed through the guard after it was removed, or never put in.
                let there = unsafe { index.insert(&*item, &guard) };
                assert_eq!(
                    there.map(Item::pointer),
                    model.get(key).copied(),
                    "insert {key:?}"
                );
                if there.is_some() {
                    // SAFETY: never put in.
                    unsafe { Item::free_now(item) };
                } else {
                    model.insert(key.clone(), item);
                }
            }
            Step::Remove(key) => remove(&mut model, key),
            Step::Clear(left, right) => {
                let (lower, upper) = (Bound::Included(&**left), Bound::Excluded(&**right));
                for key in expected_range(&model, lower, upper, false) {
                    remove(&mut model, &key);
                }
            }
            Step::Get(key) => {
                let found = index.get(key, &guard).map(Item::pointer);
                assert_eq!(found, model.get(key).copied(), "get {key:?}");
            }
            Step::Range(lower, upper, backward, limit) => {
                let (lower, upper) = (as_slice(lower), as_slice(upper));
                let found = range(&index, lower, upper, *backward, *limit);
                assert_eq!(found, expected_range(&model, lower, upper, *backward));
            }
        }
        assert_eq!(index.len(), model.len());
    }
    let shape = index.check();
    assert_eq!(shape.entries, model.len());
    for backward in [false, true] {
        let found = range(&index, Bound::Unbounded, Bound::Unbounded, backward, 7);
        assert_eq!(
            found,
            expected_range(&model, Bound::Unbounded, Bound::Unbounded, backward)
        );
    }
    for &item in model.values() {
        // SAFETY: the index is gone before anybody could look again.
        unsafe { Item::free_now(item) };
    }
    drop(index);
    drop(guard);
    live.wait_until_none_left();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 200 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Property: after any operations the index answers as a `BTreeMap` does.
    #[test]
    fn ordered_agrees_with_a_map(steps in vec(step(), if cfg!(miri) { 60..61 } else { 1..1500 })) {
        run(&steps);
    }
}

/// Goal: trees of several levels are built and taken down right, in every order.
/// Method: many keys of several kinds in and out; the whole tree is checked at every stage.
#[test]
fn ordered_grows_and_shrinks_in_every_order() {
    let count = if cfg!(miri) { 80 } else { 5_000 };
    let kinds: [fn(u64) -> Vec<u8>; 4] = [
        |at| at.to_be_bytes().to_vec(),
        |at| format!("warehouse/0000000000000001/{at}").into_bytes(),
        |at| {
            [
                b"prefix that is longer than a node keeps of it".as_slice(),
                &at.to_be_bytes(),
            ]
            .concat()
        },
        |at| {
            vec![b'x'; (at % 2048) as usize + 1]
                .into_iter()
                .chain(at.to_be_bytes())
                .collect()
        },
    ];
    let orders: [fn(&mut Vec<u64>); 3] = [
        |_| {},
        |order| order.reverse(),
        |order| Random::new(7).shuffle(order),
    ];
    for kind in kinds {
        for (insertion, insertion_order) in orders.iter().enumerate() {
            // With three insertion orders every removal order has its turn.
            let removal_order = orders[(insertion + 1) % orders.len()];
            let live = Live::new();
            let mut index = OrderedIndex::new();
            let guard = pin();
            let mut order: Vec<u64> = (0..count).collect();
            insertion_order(&mut order);
            for &at in &order {
                let item = Item::allocate(&kind(at), &live);
                // SAFETY: freed through the guard after it was removed.
                assert!(unsafe { index.insert(&*item, &guard) }.is_none());
            }
            let full = index.check();
            assert_eq!(full.entries, count as usize);
            assert!(full.levels > 1);

            removal_order(&mut order);
            let (first, rest) = order.split_at(order.len() / 2);
            for half in [first, rest] {
                for &at in half {
                    let item = index.remove(&kind(at), &guard).expect("it is in");
                    Item::free(item, &guard);
                }
                index.check();
            }
            let empty = index.check();
            assert_eq!(
                (empty.entries, empty.leaves, empty.inners),
                (0, 1, 0),
                "left behind"
            );
            drop(guard);
            live.wait_until_none_left();
        }
    }
}

/// Goal: what comes in at one end and goes at the other leaves nothing behind.
#[test]
fn ordered_stays_small_under_a_queue() {
    let (length, rounds) = if cfg!(miri) {
        (20, 200)
    } else {
        (1_000, 100_000)
    };
    let live = Live::new();
    let mut index = OrderedIndex::new();
    for at in 0..rounds + length {
        let guard = pin();
        if at < rounds {
            let item = Item::allocate(&u64::to_be_bytes(at), &live);
            // SAFETY: freed through the guard after it was removed.
            assert!(unsafe { index.insert(&*item, &guard) }.is_none());
        }
        if let Some(old) = at.checked_sub(length) {
            Item::free(
                index.remove(&old.to_be_bytes(), &guard).expect("it is in"),
                &guard,
            );
        }
        if at % 10_000 == length {
            let shape = index.check();
            assert!(shape.leaves <= length as usize / 3 + 2, "{shape:?}");
            assert!(shape.inners <= shape.leaves, "{shape:?}");
        }
    }
    assert_eq!(index.check().leaves, 1);
    drop(index);
    live.wait_until_none_left();
}

/// Goal: rising inserts fill leaves, random ones about 70 % of them; removing all but a few unites
/// the leaves of those that stay.
#[test]
#[cfg_attr(
    miri,
    ignore = "about speed and memory at full size, not about soundness"
)]
fn ordered_leaves_are_well_filled() {
    let count = 100_000_u64;
    let fill = |order: &[u64], kept: u64| {
        let live = Live::new();
        let mut index = OrderedIndex::new();
        let guard = pin();
        for at in order {
            let item = Item::allocate(&at.to_be_bytes(), &live);
            // SAFETY: freed below, after it was removed or the index is gone.
            assert!(unsafe { index.insert(&*item, &guard) }.is_none());
        }
        for at in (0..count).filter(|at| at % kept != 0) {
            Item::free(
                index.remove(&at.to_be_bytes(), &guard).expect("it is in"),
                &guard,
            );
        }
        let shape = index.check();
        let mut left = Vec::new();
        assert!(index.chunk(
            Bound::Unbounded,
            Bound::Unbounded,
            false,
            usize::MAX,
            &guard,
            &mut left
        ));
        assert_eq!(left.len(), shape.entries);
        drop(index);
        left.into_iter().for_each(|item| Item::free(item, &guard));
        shape.fill()
    };
    let rising: Vec<u64> = (0..count).collect();
    let falling: Vec<u64> = (0..count).rev().collect();
    let mut random = rising.clone();
    Random::new(1).shuffle(&mut random);
    assert!(fill(&rising, 1) > 0.99);
    assert!(fill(&falling, 1) > 0.99);
    assert!((0.65..0.75).contains(&fill(&random, 1)));
    assert!(fill(&random, 50) > 0.1, "sparse leaves were not united");
    // Ten streams that rise at once, as the orders of ten districts do.
    let streams: Vec<u64> = (0..count)
        .map(|at| (at % 10) * (count / 10) + at / 10)
        .collect();
    assert!(fill(&streams, 1) > 0.95);
}

/// Goal: the edges of the contract: no entries, limit 0, ranges that are empty or crossed.
#[test]
fn ordered_ranges_at_their_edges() {
    let live = Live::new();
    let index = OrderedIndex::new();
    let none: Vec<Vec<u8>> = Vec::new();
    for backward in [false, true] {
        assert_eq!(
            range(&index, Bound::Unbounded, Bound::Unbounded, backward, 1),
            none
        );
    }
    assert!(index.is_empty());
    let guard = pin();
    assert!(index.get(b"", &guard).is_none());
    assert!(index.remove(b"", &guard).is_none());
    for key in [b"".as_slice(), b"\0", b"\0\0", b"\xff", b"\xff\xff"] {
        let item = Item::allocate(key, &live);
        // SAFETY: freed below, after the index.
        assert!(unsafe { index.insert(&*item, &guard) }.is_none());
    }
    let mut into = Vec::new();
    assert!(!index.chunk(
        Bound::Unbounded,
        Bound::Unbounded,
        false,
        0,
        &guard,
        &mut into
    ));
    assert!(into.is_empty());
    let one = Bound::Excluded(b"\0".as_slice());
    for backward in [false, true] {
        assert_eq!(range(&index, one, one, backward, 9), none);
        let crossed = Bound::Included(b"".as_slice());
        assert_eq!(range(&index, one, crossed, backward, 9), none);
        let between = Bound::Excluded(b"\xff".as_slice());
        assert_eq!(range(&index, one, between, backward, 9), [b"\0\0"]);
    }
    assert!(index.chunk(
        Bound::Unbounded,
        Bound::Unbounded,
        false,
        9,
        &guard,
        &mut into
    ));
    drop(index);
    into.into_iter().for_each(|item| Item::free(item, &guard));
    drop(guard);
    live.wait_until_none_left();
}

/// Goal: entries that are put in beside the last one are where others would have put them, and the way to the
/// last leaf is not taken by a key that belongs elsewhere, nor into another index.
/// Method: runs of neighbours from places drawn at random, now rising, now falling, with keys far away and
/// keys that are there in between, by one `Near` for two indexes, one of which is made anew; leaves lose
/// entries, and leave the tree, while the way to them is known.
#[test]
fn ordered_neighbours_go_where_they_belong() {
    let live = Live::new();
    let mut random = Random::new(5);
    let rounds = if cfg!(miri) { 12 } else { 400 };
    let mut indexes = [OrderedIndex::new(), OrderedIndex::new()];
    let mut models: [BTreeMap<Vec<u8>, *mut Item>; 2] = Default::default();
    for round in 0..rounds {
        let guard = pin();
        let mut near = Near::under(&guard);
        for _ in 0..4 {
            let (first, rising) = (random.below(4000), random.below(2) == 0);
            for step in 0..random.below(12) {
                let key = match random.below(8) {
                    0 => random.below(5000),
                    _ if rising => first + step,
                    _ => first.saturating_sub(step),
                };
                let key = key.to_be_bytes();
                let which = usize::from(random.below(10) == 0);
                let item = Item::allocate(&key, &live);
                // SAFETY: freed through the guard, or at the end.
                let there = unsafe { indexes[which].insert_near(&*item, &mut near) };
                let before = models[which].get(&key[..]).copied();
                assert_eq!(there.map(Item::pointer), before, "{key:?}");
                if before.is_some() {
                    // SAFETY: it has not gone in.
                    unsafe { Item::free_now(item) };
                } else {
                    models[which].insert(key.to_vec(), item);
                }
            }
            // Around the run, so that its leaf may empty.
            for at in 0..random.below(20) {
                let key = (first.saturating_sub(10) + at).to_be_bytes();
                let removed = indexes[0].remove(&key, &guard);
                assert_eq!(removed.map(Item::pointer), models[0].remove(&key[..]));
                removed.into_iter().for_each(|item| item.free(&guard));
            }
            if random.below(8) == 0 {
                indexes[1] = OrderedIndex::new();
                let gone = std::mem::take(&mut models[1]).into_values();
                // SAFETY: their index is gone.
                gone.for_each(|item| unsafe { Item::free_now(item) });
            }
        }
        if round % 8 == 0 {
            for (index, model) in indexes.iter_mut().zip(&models) {
                assert_eq!(index.check().entries, model.len());
                let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
                let all = range(index, lower, upper, false, 50);
                assert!(all.iter().eq(model.keys()));
            }
        }
    }
    drop(indexes);
    let left = models.into_iter().flat_map(BTreeMap::into_values);
    // SAFETY: their index is gone.
    left.for_each(|item| unsafe { Item::free_now(item) });
    live.wait_until_none_left();
}
