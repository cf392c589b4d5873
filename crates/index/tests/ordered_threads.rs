//! The ordered index under threads that collide on purpose.
//!
//! Checked: scans are strictly ordered and miss nothing that stays; what is found has not been
//! freed; of those who insert or remove one key at once, one succeeds; everything is freed; the
//! tree is sound afterwards. The threads' keys lie close together, so that nodes split, empty and
//! unite while others read them.
//!
//! Also meant for Miri, with the flags that `ordered.rs` names; there the interleavings count, so
//! with several seeds: `-Zmiri-many-seeds=0..8` and `--test ordered_threads` (20 seconds each).
#![allow(unsafe_code, reason = "the tests own the entries")]

use std::{
    ops::Bound,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
};

use quintet_index::{Guard, OrderedIndex, pin};

mod ordered_item;
use ordered_item::{Item, Live, Random};

/// The seed of every random number here; the same seed gives the same operations, if not the same
/// interleaving.
const SEED: u64 = 20_260_713;

/// Keys of three kinds in one index, so that some nodes have long prefixes and others none.
fn key(at: u64) -> Vec<u8> {
    match at % 3 {
        0 => at.to_be_bytes().to_vec(),
        1 => [b"stock/0000001/".as_slice(), &at.to_be_bytes()].concat(),
        _ => [[b'z'; 50].as_slice(), &at.to_be_bytes()].concat(),
    }
}

fn insert(index: &OrderedIndex<Item>, at: u64, live: &Live, guard: &Guard) -> bool {
    let item = Item::allocate(&key(at), live);
    // SAFETY: freed through the guard after it was removed, or never put in.
    let there = unsafe { index.insert(&*item, guard) };
    if let Some(there) = there {
        assert_eq!(there.bytes(), key(at));
        // SAFETY: never put in.
        unsafe { Item::free_now(item) };
    }
    there.is_none()
}

fn remove(index: &OrderedIndex<Item>, at: u64, guard: &Guard) -> bool {
    let removed = index.remove(&key(at), guard);
    if let Some(item) = removed {
        assert_eq!(item.bytes(), key(at));
        Item::free(item, guard);
    }
    removed.is_some()
}

/// Scans all, chunk by chunk under one guard; asserts the order and returns what was found.
fn scan<'g>(
    index: &OrderedIndex<Item>,
    backward: bool,
    limit: usize,
    guard: &'g Guard,
) -> Vec<&'g Item> {
    let mut all: Vec<&Item> = Vec::new();
    let mut on = Bound::Unbounded;
    loop {
        let done = if backward {
            index.chunk(Bound::Unbounded, on, true, limit, guard, &mut all)
        } else {
            index.chunk(on, Bound::Unbounded, false, limit, guard, &mut all)
        };
        if done {
            break;
        }
        on = Bound::Excluded(all[all.len() - 1].bytes());
    }
    let sorted = all.is_sorted_by(|left, right| match backward {
        false => left.bytes() < right.bytes(),
        true => left.bytes() > right.bytes(),
    });
    assert!(sorted, "out of order or twice");
    all
}

fn empty(mut index: OrderedIndex<Item>, live: &Live) {
    let shape = index.check();
    let guard = pin();
    let all = scan(&index, false, 100, &guard);
    assert_eq!(all.len(), shape.entries);
    for item in all {
        assert!(index.remove(item.bytes(), &guard).is_some());
        Item::free(item, &guard);
    }
    assert_eq!((index.check().leaves, index.len()), (1, 0));
    drop(guard);
    drop(index);
    live.wait_until_none_left();
}

/// Goal: what stays is always found, by look-up and by scan, whatever comes and goes around it.
/// Method: every eighth key stays; writers put the others in and take them out, in bursts of
/// neighbours, so that leaves between those that stay split, empty and unite; readers look.
#[test]
fn ordered_threads_find_what_stays() {
    let (keys, bursts, scans, threads) = if cfg!(miri) {
        (96, 6, 3, 2)
    } else {
        (3_000, 3_000, 100, 3)
    };
    let live = Live::new();
    let index = OrderedIndex::new();
    let stays = |at: u64| at.is_multiple_of(8);
    {
        let guard = pin();
        for at in (0..keys).filter(|&at| stays(at)) {
            assert!(insert(&index, at, &live, &guard));
        }
    }
    let mut expected: Vec<Vec<u8>> = (0..keys).filter(|&at| stays(at)).map(key).collect();
    expected.sort();
    let writers = AtomicUsize::new(threads);
    std::thread::scope(|scope| {
        for thread in 0..threads as u64 {
            let (index, live, writers) = (&index, &live, &writers);
            scope.spawn(move || {
                let mut random = Random::new(SEED + thread);
                for _ in 0..bursts {
                    let begin = random.below(keys);
                    let end = (begin + random.below(if cfg!(miri) { 12 } else { 300 })).min(keys);
                    let put = random.below(2) == 0;
                    for at in (begin..end).filter(|&at| !stays(at)) {
                        let guard = pin();
                        if put {
                            insert(index, at, live, &guard);
                        } else {
                            remove(index, at, &guard);
                        }
                    }
                }
                writers.fetch_sub(1, SeqCst);
            });
        }
        for reader in 0..2 {
            let (index, expected, writers) = (&index, &expected, &writers);
            scope.spawn(move || {
                let mut random = Random::new(SEED - 1 - reader);
                let mut done = 0;
                while done < scans || (!cfg!(miri) && writers.load(SeqCst) > 0) {
                    done += 1;
                    let guard = pin();
                    let backward = random.below(2) == 0;
                    let limit = random.below(200) as usize + 1;
                    let mut found = scan(index, backward, limit, &guard);
                    if backward {
                        found.reverse();
                    }
                    let mut found = found.into_iter();
                    for key in expected {
                        assert!(
                            found.any(|item| item.bytes() == key),
                            "the scan missed {key:?}"
                        );
                    }
                    for _ in 0..if cfg!(miri) { 5 } else { 200 } {
                        let key = &expected[random.below(expected.len() as u64) as usize];
                        let item = index.get(key, &guard).expect("it stays");
                        assert_eq!(item.bytes(), key);
                    }
                }
            });
        }
    });
    empty(index, &live);
}

/// Goal: of all who insert or remove one key at once, one succeeds; a scan beside them returns
/// nothing twice.
/// Method: threads fight over few keys, in bursts of neighbours, so that leaves go and others take
/// over their range at once; per key the inserts that succeeded less the removals that did is what
/// is in the index at the end.
#[test]
fn ordered_threads_agree_on_who_was_first() {
    let (keys, bursts, threads) = if cfg!(miri) {
        (40, 12, 3)
    } else {
        (120, 15_000, 3)
    };
    let live = Live::new();
    let index = OrderedIndex::new();
    let balance: Vec<AtomicUsize> = (0..keys).map(|_| AtomicUsize::new(0)).collect();
    let running = AtomicUsize::new(threads);
    std::thread::scope(|scope| {
        for thread in 0..threads as u64 {
            let (index, live, balance, running) = (&index, &live, &balance, &running);
            scope.spawn(move || {
                let mut random = Random::new(SEED + thread);
                for _ in 0..bursts {
                    let begin = random.below(keys);
                    let end = (begin + random.below(40)).min(keys);
                    let put = random.below(2) == 0;
                    let guard = pin();
                    // Every third: keys of one kind, which are neighbours in the index.
                    for at in (begin..end).filter(|at| at % 3 == begin % 3) {
                        if put {
                            if insert(index, at, live, &guard) {
                                balance[at as usize].fetch_add(1, SeqCst);
                            }
                        } else if remove(index, at, &guard) {
                            balance[at as usize].fetch_sub(1, SeqCst);
                        }
                    }
                }
                running.fetch_sub(1, SeqCst);
            });
        }
        let (index, running) = (&index, &running);
        scope.spawn(move || {
            let mut backward = false;
            while running.load(SeqCst) > 0 {
                backward = !backward;
                scan(index, backward, 1000, &pin());
            }
        });
    });
    let guard = pin();
    for (at, balance) in balance.iter().enumerate() {
        let there = index.get(&key(at as u64), &guard).is_some();
        assert_eq!(balance.load(SeqCst), usize::from(there), "key {at}");
    }
    drop(guard);
    empty(index, &live);
}

/// Goal: rising inserts at one place, what a sequence or a log does, lose nothing.
/// Method: each thread takes the next number and inserts it; a reader follows the end and must see
/// each thread's numbers without a gap once they are behind what all have finished.
#[test]
fn ordered_threads_append_to_one_end() {
    let (count, threads) = if cfg!(miri) { (60, 2) } else { (50_000, 4) };
    let live = Live::new();
    let mut index = OrderedIndex::new();
    let next = AtomicUsize::new(0);
    let finished: Vec<AtomicUsize> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    let started = Barrier::new(threads + 1);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = {
            let (index, finished, started, done) = (&index, &finished, &started, &done);
            scope.spawn(move || {
                started.wait();
                while !done.load(SeqCst) {
                    // All numbers below the smallest that a thread is busy with are in.
                    let busy = finished.iter().map(|at| at.load(SeqCst)).min().unwrap_or(0);
                    let guard = pin();
                    let from = busy.saturating_sub(500) as u64;
                    let (lower, upper) = (from.to_be_bytes(), (busy as u64).to_be_bytes());
                    let mut into = Vec::new();
                    let (lower, upper) = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
                    assert!(index.chunk(lower, upper, false, usize::MAX, &guard, &mut into));
                    let found: Vec<_> = into
                        .iter()
                        .map(|item: &&Item| item.bytes().to_vec())
                        .collect();
                    let expected: Vec<_> = (from..busy as u64)
                        .map(|at| at.to_be_bytes().to_vec())
                        .collect();
                    assert_eq!(found, expected);
                }
            })
        };
        let writers: Vec<_> = (0..threads)
            .map(|thread| {
                let (index, live, next) = (&index, &live, &next);
                let (finished, started) = (&finished, &started);
                scope.spawn(move || {
                    started.wait();
                    loop {
                        // Says what it is at least busy with before it takes a number.
                        finished[thread].store(next.load(SeqCst), SeqCst);
                        let at = next.fetch_add(1, SeqCst);
                        if at >= count {
                            break;
                        }
                        let guard = pin();
                        let item = Item::allocate(&(at as u64).to_be_bytes(), live);
                        // SAFETY: freed through the guard after it was removed.
                        assert!(unsafe { index.insert(&*item, &guard) }.is_none());
                    }
                    finished[thread].store(count, SeqCst);
                })
            })
            .collect();
        for writer in writers {
            writer.join().expect("a writer failed");
        }
        done.store(true, SeqCst);
        reader.join().expect("the reader failed");
    });
    let shape = index.check();
    assert_eq!(shape.entries, count);
    empty(index, &live);
}

/// Goal: leaves, inner nodes and whole levels that come and go at once are safe to meet.
/// Method: threads fill and empty one small index all together, again and again, while a reader
/// scans; it is empty at the end and nothing of it is left.
#[test]
fn ordered_threads_empty_the_tree_again_and_again() {
    let (keys, rounds, threads) = if cfg!(miri) {
        (30, 3, 2)
    } else {
        (2_000, 60, 3)
    };
    let live = Live::new();
    let index = OrderedIndex::new();
    let running = AtomicUsize::new(threads);
    std::thread::scope(|scope| {
        for thread in 0..threads as u64 {
            let (index, live, running) = (&index, &live, &running);
            scope.spawn(move || {
                // Each has its own keys between those of the others.
                let mine = (0..keys).filter(|at| at / 3 % threads as u64 == thread);
                let mut order: Vec<u64> = mine.collect();
                for round in 0..rounds {
                    Random::new(SEED + round).shuffle(&mut order);
                    for &at in &order {
                        assert!(insert(index, at, live, &pin()));
                    }
                    order.sort_unstable();
                    for &at in &order {
                        assert!(remove(index, at, &pin()));
                    }
                }
                running.fetch_sub(1, SeqCst);
            });
        }
        let (index, running) = (&index, &running);
        scope.spawn(move || {
            let mut backward = false;
            while running.load(SeqCst) > 0 {
                backward = !backward;
                scan(index, backward, 50, &pin());
            }
        });
    });
    assert!(index.is_empty());
    empty(index, &live);
}
