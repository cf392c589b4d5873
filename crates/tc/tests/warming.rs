//! Bringing back what STORE has: afterwards STORE is not asked, and nobody ever saw a difference.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level};
use quintet_dc::MemoryStore;
use quintet_rt::{Rand, threads};
use quintet_tc::{Error, Tc, TcConfig, WarmStep, Warmed};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use support::*;

/// Until there is nothing to do.
fn warm(tc: &Tc) -> Warmed {
    loop {
        match tc.warm_some() {
            WarmStep::More => {}
            WarmStep::Waiting => threads::yield_now(),
            WarmStep::Done(warmed) => return warmed,
        }
    }
}

/// A medium with rows `k0000` to `kNNNN` in STORE and nothing in the log.
fn stored(seed: u64, rows: u32) -> Media {
    let media = Media::new(seed);
    let running = media.open(Durability::Async);
    let all: Vec<(String, String)> = (0..rows)
        .map(|i| (format!("k{i:04}"), i.to_string()))
        .collect();
    for some in all.chunks(500) {
        let some: Vec<_> = some.iter().map(|(k, v)| (&k[..], &v[..])).collect();
        set(&running.tc, &some);
    }
    running.tc.compact().unwrap();
    media
}

#[test]
fn a_warm_space_asks_store_for_nothing() {
    let media = stored(1, 3000);
    let store = Watched::open(&media.medium);
    let running = media.open_on(
        Arc::clone(&store) as Arc<_>,
        Durability::Sync,
        TcConfig::for_memory(64 << 20),
        32 << 20,
    );
    assert_eq!(running.tc.stats().spaces_whole, 0);
    let (sender, receiver) = channel();
    running.tc.warm_in_background(move |warmed| {
        sender.send(warmed).unwrap();
    });
    let warmed = receiver.recv().unwrap();
    assert_eq!((warmed.records, warmed.spaces), (3000, 1), "{warmed:?}");
    assert!(!warmed.is_full && warmed.failed.is_none(), "{warmed:?}");
    let stats = running.tc.stats();
    assert_eq!((stats.warmed, stats.spaces_whole), (3000, 1));
    let before = store.reads.load(Ordering::Relaxed);
    let txn = running.tc.begin(Level::Serializable);
    assert_eq!(rows(&txn).len(), 3000);
    assert_eq!(get(&txn, "k0017").as_deref(), Some("17"));
    assert_eq!(get(&txn, "nowhere"), None);
    assert_eq!(
        store.reads.load(Ordering::Relaxed),
        before,
        "STORE was asked"
    );
}

/// Goal: what does not fit is left, and the bound holds. Method: a bound of a part of the rows; then
/// reads of everything.
#[test]
fn warming_stops_when_memory_is_full() {
    let media = stored(2, 3000);
    let config = TcConfig {
        cache_bytes_max: 100 << 10,
        ..TcConfig::for_memory(64 << 20)
    };
    let store = Arc::new(MemoryStore::open(&media.medium));
    let running = media.open_on(store, Durability::Sync, config, 32 << 20);
    let warmed = warm(&running.tc);
    assert!(warmed.is_full && warmed.spaces == 0, "{warmed:?}");
    assert!((500..3000).contains(&warmed.records), "{warmed:?}");
    let stats = running.tc.stats();
    // A range more than its bound, at most.
    assert!(stats.record_bytes < (100 << 10) + 1024 * 150, "{stats:?}");
    assert_eq!(rows(&running.tc.begin(Level::Snapshot)).len(), 3000);
}

/// The hazards one by one: rows changed, removed, blindly written and left without a version before
/// their range is read; a snapshot that is older than all of it.
#[test]
fn what_is_newer_in_memory_stays_and_old_snapshots_keep_what_they_saw() {
    let media = stored(3, 40);
    let running = media.open(Durability::Sync);
    let tc = &running.tc;
    let old = tc.begin(Level::Snapshot);
    set(tc, &[("k0001", "changed")]);
    let mut txn = tc.begin(Level::Snapshot);
    txn.delete(SPACE, bytes("k0002")).unwrap();
    commit(tc, txn, Durability::Sync).unwrap();
    // Two writers of one row, one of which is refused: no version stays of a second row of its own.
    let mut refused = tc.begin(Level::Snapshot);
    put(&mut refused, "k0003", "never");
    put(&mut refused, "k0009", "never");
    put(&mut refused, "nowhere", "never");
    set(tc, &[("k0009", "other")]);
    let outcome = commit(tc, refused, Durability::Sync);
    assert!(
        matches!(outcome, Err(Error::Conflict { .. })),
        "{outcome:?}"
    );

    let mut steps = 0;
    while tc.warm_some() == WarmStep::More {
        steps += 1;
        assert!(steps < 100);
    }
    assert_eq!(tc.warm_some(), WarmStep::Waiting, "for the old snapshot");
    assert_eq!(tc.stats().spaces_whole, 0);
    assert_eq!(get(&old, "k0001").as_deref(), Some("1"));
    assert_eq!(get(&old, "k0002").as_deref(), Some("2"));
    assert_eq!(rows(&old).len(), 40);
    drop(old);
    let warmed = warm(tc);
    assert_eq!(warmed.spaces, 1, "{warmed:?}");
    assert_eq!(tc.stats().spaces_whole, 1);
    let new = tc.begin(Level::Snapshot);
    assert_eq!(get(&new, "k0001").as_deref(), Some("changed"));
    assert_eq!(get(&new, "k0002"), None);
    assert_eq!(
        get(&new, "k0003").as_deref(),
        Some("3"),
        "made without a version"
    );
    assert_eq!(get(&new, "k0009").as_deref(), Some("other"));
    assert_eq!(get(&new, "nowhere"), None);
    assert_eq!(rows(&new).len(), 39);
}

/// Goal: a space from which something leaves while it is brought in is not called whole. Method: a pass
/// that evicts everything, between two steps.
#[test]
fn an_eviction_on_the_way_keeps_the_space_from_being_whole() {
    let media = stored(4, 3000);
    let config = TcConfig {
        cache_bytes_max: 400 << 10,
        ..TcConfig::for_memory(64 << 20)
    };
    let store = Arc::new(MemoryStore::open(&media.medium));
    let running = media.open_on(store, Durability::Sync, config, 32 << 20);
    let tc = &running.tc;
    assert_eq!(tc.warm_some(), WarmStep::More);
    let other = quintet_base::SpaceId(7);
    for i in 0..400 {
        let mut txn = tc.begin(Level::Snapshot);
        txn.put(other, bytes(&format!("{i}")), vec![1; 1000])
            .unwrap();
        commit(tc, txn, Durability::Async).unwrap();
    }
    let before = tc.stats().records;
    tc.compact().unwrap();
    assert!(tc.stats().records < before, "something was evicted");
    while let WarmStep::More | WarmStep::Waiting = tc.warm_some() {}
    let txn = tc.begin(Level::Snapshot);
    assert_eq!(rows(&txn).len(), 3000);
    assert!((0..3000).all(|i| get(&txn, &format!("k{i:04}")) == Some(i.to_string())));
}

/// Goal: beside writers, readers, merges and evictions, warming again and again changes nothing: money
/// is neither made nor lost, in any snapshot. Method: transfers at all levels between more accounts
/// than memory holds, blind writes among them; scans and point reads compared; in the end all agree.
#[test]
fn warming_beside_writers_and_evictions_is_not_seen() {
    const ACCOUNTS: u64 = 600;
    let media = stored(5, ACCOUNTS as u32);
    for (round, cache_kib) in [(0, 40), (1, 4096)] {
        let config = TcConfig {
            cache_bytes_max: cache_kib << 10,
            ..tiny()
        };
        let store = Arc::new(MemoryStore::open(&media.medium));
        let running = Arc::new(media.open_on(store, Durability::Async, config, TINY_RING));
        let name = |n: u64| format!("k{n:04}");
        let total: u64 = (0..ACCOUNTS).sum();
        let stop = Arc::new(AtomicBool::new(false));
        let wholes = Arc::new(AtomicU64::new(0));
        let warmer = {
            let (running, stop) = (Arc::clone(&running), Arc::clone(&stop));
            let wholes = Arc::clone(&wholes);
            threads::spawn("warmer", move || {
                while !stop.load(Ordering::Acquire) {
                    let warmed = warm(&running.tc);
                    wholes.fetch_add(warmed.spaces as u64, Ordering::Relaxed);
                }
            })
        };
        let reader = {
            let (running, stop) = (Arc::clone(&running), Arc::clone(&stop));
            threads::spawn("reader", move || {
                let mut rand = Rand::seeded(99);
                while !stop.load(Ordering::Acquire) {
                    let txn = running.tc.begin(Level::Snapshot);
                    let all = rows(&txn);
                    let sum: u64 = all.iter().map(|(_, v)| v.parse::<u64>().unwrap()).sum();
                    assert_eq!((all.len() as u64, sum), (ACCOUNTS, total));
                    let (key, value) = &all[rand.below(ACCOUNTS) as usize];
                    assert_eq!(get(&txn, key).as_ref(), Some(value));
                    assert_eq!(get(&txn, "k9999"), None);
                }
            })
        };
        let writers: Vec<_> = (0..2)
            .map(|seed| {
                let running = Arc::clone(&running);
                threads::spawn("writer", move || {
                    let mut rand = Rand::seeded(seed);
                    for i in 0..1500 {
                        let level = [Level::Snapshot, Level::Serializable][i % 2];
                        let mut txn = running.tc.begin(level);
                        let from = name(rand.below(ACCOUNTS));
                        let to = name(rand.below(ACCOUNTS));
                        let read = |txn: &_, key: &str| -> u64 {
                            let row = get(txn, key).expect("no account is ever missing");
                            row.parse().unwrap()
                        };
                        let (a, b) = (read(&txn, &from), read(&txn, &to));
                        if from != to && a > 0 {
                            put(&mut txn, &from, &(a - 1).to_string());
                            put(&mut txn, &to, &(b + 1).to_string());
                        }
                        match commit(&running.tc, txn, Durability::Async) {
                            Ok(_) | Err(Error::Conflict { .. } | Error::SnapshotTooOld) => {}
                            Err(error) => panic!("{error}"),
                        }
                        if i % 100 == 0 {
                            running.tc.compact().unwrap();
                        }
                    }
                })
            })
            .collect();
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        stop.store(true, Ordering::Release);
        reader.join().unwrap();
        warmer.join().unwrap();
        let wholes = wholes.load(Ordering::Relaxed);
        println!(
            "round {round}: whole {wholes} times, {:?}",
            running.tc.stats()
        );
        if cache_kib == 4096 {
            assert!(wholes > 0, "it was whole at least once");
        }
        running.tc.compact().unwrap();
    }
}

#[test]
fn the_last_handle_ends_a_warming_that_waits() {
    let media = stored(6, 10);
    let running = media.open(Durability::Sync);
    let tc = running.tc.clone();
    let old = tc.begin(Level::Snapshot);
    let called = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&called);
    set(&tc, &[("k0001", "newer")]);
    tc.warm_in_background(move |_| told.store(true, Ordering::Release));
    while tc.stats().warmed < 9 {
        threads::yield_now();
    }
    drop(running);
    drop(tc);
    assert!(
        !called.load(Ordering::Acquire),
        "an old snapshot was in the way"
    );
    drop(old);
}
