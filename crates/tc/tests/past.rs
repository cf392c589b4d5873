//! Rows that are committed ahead of their transaction and go past memory: the log has them, then STORE.
//!
//! Relies on: so little memory that a part of it is soon used.  Promises: they are there for their transaction once it
//! has caught up, for everybody once it has committed, and after a crash at any moment; a space with such rows is never taken for
//! whole.  Does not: know who can name a space.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level, SpaceId};
use quintet_dc::{DataComponent, Direction, KeyRange, MemoryStore};
use quintet_rt::{Clock, Rand, RealClock};
use quintet_tc::{Error, Strength, Tc, TcConfig, Txn, WaitPolicy, WarmStep};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::*;

const FRESH: SpaceId = SpaceId(200);
const OTHER: SpaceId = SpaceId(201);
const ALL: Range<SpaceId> = SpaceId(0)..SpaceId(1000);
const TOLD_IN: SpaceId = SpaceId(6);

/// Of a load a few hundred bytes are kept in memory.
fn small() -> TcConfig {
    TcConfig {
        cache_bytes_max: 8 << 10,
        ..TcConfig::for_memory(64 << 20)
    }
}

/// A component with some rows.
fn filled(media: &Media) -> Running {
    let running = media.open_with(Durability::Sync, small());
    fill(&running.tc);
    running
}

fn fill(tc: &Tc) {
    let pairs: Vec<(String, String)> = (0..60)
        .map(|i| {
            (
                format!("k{i:02}"),
                "a row of the space that everybody sees".into(),
            )
        })
        .collect();
    let pairs: Vec<_> = pairs.iter().map(|(k, v)| (&k[..], &v[..])).collect();
    set(tc, &pairs);
}

fn key(i: u32) -> [u8; 4] {
    i.to_be_bytes()
}

fn value(i: u32) -> String {
    format!("row {i}")
}

fn put_rows(txn: &mut Txn, space: SpaceId, rows: impl Iterator<Item = u32>) {
    for i in rows {
        txn.put(space, key(i), value(i)).unwrap();
    }
}

/// Commits ahead what it puts into `FRESH`, in pieces.
fn load(txn: &mut Txn, pieces: u32) {
    txn.begin_to_fill(&[FRESH]);
    let since = txn.mark();
    for piece in 0..pieces {
        put_rows(txn, FRESH, piece * 100..(piece + 1) * 100);
        assert!(txn.commit_ahead(&[FRESH], since, TOLD_IN).unwrap());
    }
}

fn begin(tc: &Tc) -> Txn {
    let mut txn = tc.begin(Level::ReadCommitted);
    txn.begin_statement();
    txn
}

/// What is in a space.
fn found(txn: &Txn, space: SpaceId) -> Vec<(u32, String)> {
    let mut scan = txn
        .scan(space, &KeyRange::all(), Direction::Forward)
        .unwrap();
    let mut rows = Vec::new();
    while let Some((key, value)) = scan.next(txn).unwrap() {
        let number = u32::from_be_bytes(*key.first_chunk().unwrap());
        rows.push((number, String::from_utf8(value.to_vec()).unwrap()));
    }
    for (i, value) in &rows {
        let one = txn.get(space, &key(*i)).unwrap().unwrap();
        assert_eq!(one, value.as_bytes());
    }
    rows
}

fn expected(rows: impl Iterator<Item = u32>) -> Vec<(u32, String)> {
    rows.map(|i| (i, value(i))).collect()
}

#[test]
fn they_are_found_when_the_transaction_has_caught_up_and_change_like_others() {
    let media = Media::new(1);
    let running = filled(&media);
    let tc = &running.tc;
    let before = tc.stats().records;
    let mut txn = begin(tc);
    load(&mut txn, 5);
    // The first piece is in memory, and a row that says where something went ahead.
    assert_eq!(tc.stats().past_memory, 400);
    assert!(tc.stats().records <= before + 101, "{:?}", tc.stats());
    txn.catch_up().unwrap();
    assert_eq!(found(&txn, FRESH), expected(0..500));
    txn.begin_statement();
    txn.put(FRESH, key(17), "another").unwrap();
    txn.delete(FRESH, key(18)).unwrap();
    put_rows(&mut txn, FRESH, 1000..1001);
    commit(tc, txn, Durability::Sync).unwrap();

    let mut changed = expected(0..500);
    changed[17].1 = "another".into();
    changed.remove(18);
    changed.extend(expected(1000..1001));
    let read = tc.begin(Level::Serializable);
    assert_eq!(found(&read, FRESH), changed);
    drop(read);
    tc.compact().unwrap();
    assert_eq!(found(&tc.begin(Level::Snapshot), FRESH), changed);
    drop(running);
    let running = media.open_with(Durability::Sync, small());
    assert_eq!(found(&running.tc.begin(Level::Snapshot), FRESH), changed);
    assert!(running.tc.take_abandoned(ALL).is_empty());
}

#[test]
fn keys_in_order_are_new_and_others_are_looked_up_and_stay_in_memory() {
    let media = Media::new(2);
    let running = filled(&media);
    let mut txn = begin(&running.tc);
    // Nothing is known of a space that somebody may have filled.
    assert!(!txn.is_new(FRESH, &key(1)));
    txn.begin_to_fill(&[SPACE]);
    assert!(!txn.is_new(SPACE, b"z"));
    txn.begin_to_fill(&[FRESH]);
    assert!(txn.is_new(FRESH, &key(10)));
    put_rows(&mut txn, FRESH, 10..300);
    assert!(txn.is_new(FRESH, &key(300)));
    let since = txn.mark();
    put_rows(&mut txn, FRESH, 300..301);
    assert!(txn.is_new(FRESH, &key(301)));
    // Written before the mark, they cannot go ahead by themselves.
    assert!(!txn.commit_ahead(&[FRESH], since, TOLD_IN).unwrap());
    txn.rollback_to(since);
    drop(txn);

    let mut txn = begin(&running.tc);
    txn.begin_to_fill(&[FRESH]);
    let since = txn.mark();
    let commit_ahead = |txn: &mut Txn| {
        assert!(txn.commit_ahead(&[FRESH], since, TOLD_IN).unwrap());
        running.tc.stats().past_memory
    };
    put_rows(&mut txn, FRESH, 10..300);
    assert_eq!(commit_ahead(&mut txn), 0);
    put_rows(&mut txn, FRESH, 300..400);
    let past = commit_ahead(&mut txn);
    assert_eq!(past, 100, "a little is kept");
    // It may be there.
    assert!(!txn.is_new(FRESH, &key(17)));
    txn.catch_up_in(OTHER).unwrap();
    txn.catch_up_in(FRESH).unwrap();
    assert_eq!(txn.get(FRESH, &key(317)).unwrap().unwrap(), "row 317");
    assert!(!txn.is_new(FRESH, &key(500)), "not asked for in order");
    put_rows(&mut txn, FRESH, 400..600);
    put_rows(&mut txn, FRESH, 0..10);
    assert_eq!(commit_ahead(&mut txn), past);
    assert_eq!(found(&txn, FRESH), expected(0..600));
}

#[test]
fn reading_before_that_is_a_mistake_of_the_caller() {
    let media = Media::new(3);
    let running = filled(&media);
    let mut txn = begin(&running.tc);
    load(&mut txn, 2);
    let read = catch_unwind(AssertUnwindSafe(|| txn.get(FRESH, &key(1))));
    assert!(read.is_err());
    let scanned = catch_unwind(AssertUnwindSafe(|| found(&txn, FRESH)));
    assert!(scanned.is_err());
    assert_eq!(txn.get(OTHER, b"x").unwrap(), None);
}

/// Goal: whatever way a statement goes, its rows are whole. Method: two spaces, one of which is read between pieces, through
/// `go_ahead`, as INSERT does it.
#[test]
fn a_statement_that_goes_ahead_reads_others_as_they_were() {
    let media = Media::new(4);
    let running = filled(&media);
    let tc = &running.tc;
    let mut txn = begin(tc);
    txn.go_ahead(vec![FRESH], TOLD_IN);
    for i in 0..40_000 {
        put_rows(&mut txn, FRESH, i..i + 1);
        txn.relieve().unwrap();
        if i == 20_000 {
            set(tc, &[("k00", "changed")]);
        }
        if i % 10_000 == 0 {
            let seen = get(&txn, "k00").unwrap();
            assert!(seen.starts_with("a row"), "{seen}");
        }
    }
    txn.stay();
    txn.catch_up().unwrap();
    assert!(tc.stats().past_memory > 0);
    assert_eq!(found(&txn, FRESH), expected(0..40_000));
    txn.begin_statement();
    assert_eq!(get(&txn, "k00").as_deref(), Some("changed"));
    commit(tc, txn, Durability::Sync).unwrap();
    assert_eq!(found(&tc.begin(Level::Snapshot), FRESH).len(), 40_000);
}

/// Goal: a crash leaves a load whole or not at all. Method: the disk crashes before the pass, after it, after the commit.
#[test]
fn a_crash_leaves_all_of_a_committed_load_and_nothing_of_another() {
    for (seed, end) in (0..24).zip([0, 1, 2].into_iter().cycle()) {
        let media = Media::new(seed);
        let running = filled(&media);
        let mut txn = begin(&running.tc);
        load(&mut txn, 3);
        if end > 0 {
            txn.catch_up().unwrap();
        }
        if end > 1 {
            // It catches up by itself.
            put_rows(&mut txn, OTHER, 0..1);
            commit(&running.tc, txn, Durability::Sync).unwrap();
        } else {
            running.log.flush().unwrap();
            // The process ends before the transaction does.
            std::mem::forget(txn);
        }
        let disk = media.disk.crash(&mut Rand::seeded(seed));
        let after = Media {
            disk,
            medium: media.medium.clone(),
        };
        std::mem::forget(running);
        let store = Arc::new(MemoryStore::open(&after.medium));
        let recovered = after.recover(store, small(), 32 << 20, 2).unwrap();
        let tc = &recovered.tc;
        assert!(tc.highest_space(ALL).unwrap() >= FRESH);
        if end < 2 {
            let orphans = tc.retain_spaces(&[SPACE, TOLD_IN]).unwrap();
            assert!(orphans.contains(&FRESH), "seed {seed}: {orphans:?}");
            set(tc, &[("k00", "changed")]);
            tc.compact().unwrap();
        }
        let read = tc.begin(Level::Snapshot);
        let rows = if end < 2 { 0 } else { 300 };
        assert_eq!(found(&read, FRESH), expected(0..rows), "seed {seed}");
        assert_eq!(found(&read, OTHER).len(), usize::from(end > 1));
    }
}

#[test]
fn what_came_to_nothing_is_told_and_leaves_nothing_when_it_is_dropped() {
    let media = Media::new(5);
    let running = filled(&media);
    let tc = &running.tc;
    let mut txn = begin(tc);
    load(&mut txn, 3);
    txn.abort();
    assert_eq!(tc.take_abandoned(ALL), [FRESH]);
    // Before a pass has told STORE of it.
    let mut drops = tc.begin(Level::Snapshot);
    drops.drop_space(FRESH);
    commit(tc, drops, Durability::Sync).unwrap();
    tc.compact().unwrap();
    tc.compact().unwrap();
    let store = MemoryStore::open(&media.medium);
    assert!(!store.spaces().contains(&FRESH), "{:?}", store.spaces());
}

#[test]
fn a_store_that_cannot_take_them_refuses_the_load() {
    let media = Media::new(6);
    let store = Watched::open(&media.medium);
    let running = media.open_on(
        Arc::clone(&store) as Arc<_>,
        Durability::Sync,
        small(),
        32 << 20,
    );
    let tc = &running.tc;
    fill(tc);
    let mut txn = begin(tc);
    load(&mut txn, 2);
    store.broken.store(true, Ordering::Relaxed);
    let refused = txn.catch_up();
    assert!(matches!(refused, Err(Error::NoRoom { .. })), "{refused:?}");
    // Nor does it commit without.
    put_rows(&mut txn, OTHER, 0..1);
    let refused = commit(tc, txn, Durability::Sync);
    assert!(matches!(refused, Err(Error::NoRoom { .. })), "{refused:?}");
    assert_eq!(tc.take_abandoned(ALL), [FRESH]);
    store.broken.store(false, Ordering::Relaxed);
    tc.compact().unwrap();
    assert!(found(&tc.begin(Level::Snapshot), OTHER).is_empty());
}

/// Goal: what goes ahead leaves no locks behind, and all others stay. Method: rows of three spaces are locked, in turn; those of one go
/// ahead.
#[test]
fn rows_that_go_ahead_are_not_locked_any_more_and_others_are() {
    let media = Media::new(9);
    let running = filled(&media);
    let tc = &running.tc;
    let mut txn = begin(tc);
    let lock = |txn: &mut Txn, space, i| {
        txn.catch_up_in(space).unwrap();
        txn.lock(space, &key(i), Strength::Exclusive, WaitPolicy::Queue)
            .unwrap();
    };
    let locks = || tc.locks().len();
    lock(&mut txn, OTHER, 1);
    txn.begin_to_fill(&[FRESH]);
    let since = txn.mark();
    for piece in 0..3 {
        for i in piece * 10..(piece + 1) * 10 {
            lock(&mut txn, FRESH, i);
            put_rows(&mut txn, FRESH, i..i + 1);
        }
        lock(&mut txn, OTHER, 100 + piece);
        assert_eq!(locks(), 12 + piece as usize);
        assert!(txn.commit_ahead(&[FRESH], since, TOLD_IN).unwrap());
        assert_eq!(locks(), 2 + piece as usize);
    }
    commit(tc, txn, Durability::Sync).unwrap();
    assert_eq!(locks(), 0);
}

/// Goal: whoever brings STORE's records into memory meanwhile never makes a space whole that lacks what went past. Method: steps of
/// warming between the pieces of a load and its passes, at random places.
#[test]
fn a_space_is_not_whole_while_something_goes_past_it() {
    let mut went_past = 0;
    for seed in 0..40 {
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let media = Media::new(seed);
        let config = TcConfig {
            // Room for what is warmed.
            cache_bytes_max: 100 << 10,
            ..TcConfig::for_memory(64 << 20)
        };
        let running = media.open_with(Durability::Sync, config);
        let tc = &running.tc;
        let mut filler = tc.begin(Level::Snapshot);
        put_rows(&mut filler, OTHER, 0..200);
        commit(tc, filler, Durability::Sync).unwrap();
        let mut txn = begin(tc);
        txn.begin_to_fill(&[FRESH]);
        let since = txn.mark();
        let mut rows = 0;
        for _ in 0..40 {
            match rand.below(4) {
                0 => {
                    put_rows(&mut txn, FRESH, rows..rows + 30);
                    rows += 30;
                    txn.commit_ahead(&[FRESH], since, TOLD_IN).unwrap();
                }
                1 => {
                    txn.catch_up().unwrap();
                    assert_eq!(found(&txn, FRESH), expected(0..rows));
                }
                2 => tc.compact().unwrap(),
                _ => {
                    while rand.below(4) > 0 {
                        if matches!(tc.warm_some(), WarmStep::Done(_)) {
                            break;
                        }
                    }
                }
            }
        }
        txn.catch_up().unwrap();
        assert_eq!(found(&txn, FRESH), expected(0..rows));
        commit(tc, txn, Durability::Sync).unwrap();
        assert_eq!(found(&tc.begin(Level::Snapshot), FRESH), expected(0..rows));
        went_past += tc.stats().past_memory;
    }
    assert!(went_past > 1000, "{went_past}");
}

/// Goal: what fits is in memory again some time after the load, without anybody's asking for it.
#[test]
fn after_a_load_memory_is_filled_again() {
    let media = Media::new(8);
    let config = TcConfig {
        cache_bytes_max: 1 << 20,
        ..TcConfig::for_memory(64 << 20)
    };
    let running = media.open_with(Durability::Sync, config);
    let tc = &running.tc;
    let mut filler = tc.begin(Level::Snapshot);
    put_rows(&mut filler, OTHER, 0..3000);
    commit(tc, filler, Durability::Sync).unwrap();
    tc.warm_in_background(drop);
    let mut txn = begin(tc);
    load(&mut txn, 12);
    let past = tc.stats().past_memory;
    assert!((100..1200).contains(&past), "{past}");
    commit(tc, txn, Durability::Sync).unwrap();
    let whole = || tc.stats().spaces_whole;
    let before = whole();
    let clock = RealClock;
    let until = clock.monotonic_nanos() + 20_000_000_000;
    while whole() == before && clock.monotonic_nanos() < until {
        clock.sleep(Duration::from_millis(10));
    }
    assert_eq!((whole(), tc.stats().warmed), (before + 1, past));
    assert_eq!(found(&tc.begin(Level::Snapshot), FRESH), expected(0..1200));
}
