//! The point index against a map, and under threads that collide on purpose.
//!
//! Also meant for Miri, where the sizes shrink:
//! `MIRIFLAGS=-Zmiri-ignore-leaks cargo +nightly miri test -p quintet-index --test point`
//! (the flag because `crossbeam-epoch` keeps its global collector).
#![allow(unsafe_code, reason = "the tests are the owner of the entries")]

use quintet_index::{Entry, Hashed, PointIndex, Verdict, pin};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Item {
    key: [u8; 8],
    hash: u64,
    freed: &'static AtomicUsize,
}

// SAFETY: the key never changes; the tests free items through the guard after the removal.
unsafe impl Entry for Item {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

// SAFETY: as above.
unsafe impl Hashed for Item {
    fn hash(&self) -> u64 {
        self.hash
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.freed.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone, Copy)]
enum Hashes {
    Spread,
    /// Many keys per bucket and tag, so that searches run over full buckets.
    Narrow,
    /// All in one shard, so that it grows often: by what tags say, and by new tags.
    OneShard,
}

fn hash_of(key: u64, hashes: Hashes) -> u64 {
    let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match hashes {
        Hashes::Spread => mixed ^ mixed >> 29,
        Hashes::Narrow => mixed & 0x0001_0100_0000_0013,
        Hashes::OneShard => (mixed ^ mixed >> 29) >> 8,
    }
}

fn item(key: u64, hashes: Hashes, freed: &'static AtomicUsize) -> NonNull<Item> {
    NonNull::from(Box::leak(Box::new(Item {
        key: key.to_be_bytes(),
        hash: hash_of(key, hashes),
        freed,
    })))
}

fn free(item: NonNull<Item>, guard: &quintet_index::Guard) {
    let address = item.as_ptr();
    // SAFETY: made by `Box::leak`, taken out of the index by this thread alone.
    unsafe { guard.defer_unchecked(move || drop(Box::from_raw(address))) };
}

#[test]
fn it_agrees_with_a_map_through_growth_removal_and_full_buckets() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    let (steps, keys) = if cfg!(miri) {
        (600, 40)
    } else {
        (200_000, 3_000)
    };
    for hashes in [Hashes::Spread, Hashes::Narrow, Hashes::OneShard] {
        let keys = match hashes {
            Hashes::Spread => keys,
            Hashes::Narrow => keys / 10,
            Hashes::OneShard => keys * 10,
        };
        let index = PointIndex::new();
        let mut model: HashMap<u64, NonNull<Item>> = HashMap::new();
        let mut state = 42u64;
        for step in 0..steps {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let key = (state >> 33) % keys;
            let matches = |item: &Item| item.key() == key.to_be_bytes();
            let guard = pin();
            let hash = hash_of(key, hashes);
            match (state >> 20) % 3 {
                0 => {
                    let new = item(key, hashes, &FREED);
                    // SAFETY: see `Item`.
                    let (there, made) =
                        unsafe { index.get_or_insert(hash, matches, || Some(new), &guard) }
                            .expect("made");
                    assert_eq!(made, !model.contains_key(&key), "step {step}");
                    if made {
                        model.insert(key, new);
                        assert!(std::ptr::eq(there, new.as_ptr()));
                    } else {
                        assert!(std::ptr::eq(there, model[&key].as_ptr()));
                        free(new, &guard);
                    }
                }
                1 => {
                    let removed = index.remove(hash, matches, &guard);
                    let expected = model.remove(&key);
                    assert_eq!(removed, expected, "step {step}");
                    removed.into_iter().for_each(|item| free(item, &guard));
                }
                _ => {
                    index.prefetch(hash, &guard);
                    index.prefetch_entry(hash, &guard);
                    let found = index.get(hash, matches, &guard).map(NonNull::from);
                    assert_eq!(found, model.get(&key).copied(), "step {step}");
                }
            }
            // Asks every shard.
            if step % 16 == 0 {
                assert_eq!(index.len(), model.len());
            }
        }
        assert_eq!(index.len(), model.len());
        let guard = pin();
        for (key, item) in &model {
            let matches = |item: &Item| item.key() == key.to_be_bytes();
            let found = index.get(hash_of(*key, hashes), matches, &guard);
            assert_eq!(found.map(NonNull::from), Some(*item), "{key}");
        }
        let mut left = Vec::new();
        for shard in 0..index.shards() {
            index.sweep(shard, |_| Verdict::Remove, &mut left, &guard);
        }
        assert_eq!(left.len(), model.len());
        assert!(index.is_empty());
        left.into_iter().for_each(|item| free(item, &guard));
    }
    // A few times round, unless the epoch is held by somebody else's pin.
    for _ in 0..10_000 {
        if FREED.load(Ordering::Relaxed) > 0 {
            return;
        }
        pin().flush();
    }
    panic!("the epoch frees what was taken out");
}

#[test]
fn what_is_never_taken_out_is_always_found_while_others_come_go_and_grow() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    let (stable, rounds) = if cfg!(miri) {
        (8u64, 30)
    } else {
        (500, 20_000)
    };
    let index = PointIndex::new();
    let put = |key: u64| {
        let guard = pin();
        let matches = |item: &Item| item.key() == key.to_be_bytes();
        let new = item(key, Hashes::Spread, &FREED);
        // SAFETY: see `Item`.
        let put = unsafe {
            index.get_or_insert(hash_of(key, Hashes::Spread), matches, || Some(new), &guard)
        };
        if !put.expect("made").1 {
            free(new, &guard);
        }
    };
    (0..stable).for_each(put);
    std::thread::scope(|scope| {
        for writer in 0..2u64 {
            let (index, put) = (&index, &put);
            scope.spawn(move || {
                for round in 0..rounds {
                    // The writers' keys overlap, so they race for the same ones.
                    let key = stable + (round * 7 + writer) % (stable * 4);
                    put(key);
                    if round % 3 == 0 {
                        let guard = pin();
                        let matches = |item: &Item| item.key() == key.to_be_bytes();
                        if let Some(item) =
                            index.remove(hash_of(key, Hashes::Spread), matches, &guard)
                        {
                            free(item, &guard);
                        }
                    }
                }
            });
        }
        let index = &index;
        scope.spawn(move || {
            for round in 0..rounds {
                let key = round % stable;
                let guard = pin();
                let matches = |item: &Item| item.key() == key.to_be_bytes();
                let found = index.get(hash_of(key, Hashes::Spread), matches, &guard);
                assert_eq!(found.map(|item| item.key), Some(key.to_be_bytes()));
            }
        });
    });
}

#[test]
fn a_maker_may_decline() {
    let index = PointIndex::<Item>::new();
    let guard = pin();
    // SAFETY: nothing is put in.
    assert!(unsafe { index.get_or_insert(1, |_| true, || None, &guard) }.is_none());
    assert!(index.is_empty());
}
