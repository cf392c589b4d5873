//! Freeze, merge, truncate and crash: what is seen never depends on them.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level};
use quintet_rt::Rand;
use quintet_tc::{Error, TcConfig};
use std::collections::BTreeMap;
use support::*;

fn tiny() -> TcConfig {
    TcConfig {
        freeze_bytes: 16 << 10,
        memtable_bytes_max: 64 << 10,
        retained_bytes_max: 32 << 10,
        transaction_bytes_max: 1 << 20,
    }
}

/// Goal: at any moment a transaction sees the model as it was when it began, and commits do to the
/// model what they did to the database. Method: random transactions, several open at once, with
/// compactions, crashes and reopenings in between.
#[test]
fn random_transactions_agree_with_a_model_through_compactions_and_crashes() {
    for seed in 0..60 {
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let mut media = Media::new(seed);
        let mut running = media.open_with(Durability::Sync, tiny());
        let mut model: BTreeMap<String, String> = BTreeMap::new();
        for step in 0..120 {
            match rand.below(20) {
                0 => running.tc.compact().expect("memory does not fail"),
                1 => {
                    let crashed = media.disk.crash(&mut rand);
                    drop(running);
                    media = Media {
                        disk: crashed,
                        medium: media.medium,
                    };
                    running = media.open_with(Durability::Sync, tiny());
                }
                _ => {
                    let level = Level::ALL[rand.below(3) as usize];
                    let old = running.tc.begin(level);
                    let expected: Vec<_> = model.clone().into_iter().collect();
                    let mut txn = running.tc.begin(level);
                    for _ in 0..1 + rand.below(8) {
                        let key = format!("k{:02}", rand.below(40));
                        if rand.one_in(4) {
                            txn.delete(SPACE, bytes(&key)).unwrap();
                            model.remove(&key);
                        } else {
                            let value = format!("{step}-{}", "x".repeat(rand.below(300) as usize));
                            put(&mut txn, &key, &value);
                            model.insert(key, value);
                        }
                    }
                    let now: Vec<_> = model.clone().into_iter().collect();
                    assert_eq!(rows(&txn), now, "own writes");
                    commit(&running.tc, txn, Durability::Sync).expect("nobody else writes");
                    if rand.one_in(3) {
                        running.tc.compact().expect("memory does not fail");
                    }
                    assert_eq!(rows(&old), expected, "an old snapshot keeps its state");
                    assert_eq!(
                        rows(&running.tc.begin(level)),
                        now,
                        "a new one sees the commit"
                    );
                }
            }
        }
    }
}

#[test]
fn after_a_compaction_recovery_starts_behind_it_and_the_log_is_short() {
    let media = Media::new(7);
    let running = media.open(Durability::Sync);
    for i in 0..100 {
        set(&running.tc, &[(&format!("k{i}"), "v")]);
    }
    running.tc.compact().unwrap();
    set(&running.tc, &[("last", "v")]);
    drop(running);
    let again = media.open(Durability::Sync);
    assert_eq!(again.recovery.commits, 1);
    assert_eq!(rows(&again.tc.begin(Level::Snapshot)).len(), 101);
}

/// Goal: memory keeps its bound while a snapshot is held open, and the old writer is refused rather
/// than wrongly validated.
#[test]
fn a_long_snapshot_holds_back_little_and_may_not_write_when_it_is_too_old() {
    let running = Media::new(3).open_with(Durability::Async, tiny());
    set(&running.tc, &[("x", "0")]);
    let mut old = running.tc.begin(Level::Snapshot);
    for i in 0..200 {
        set(
            &running.tc,
            &[
                (&format!("k{}", i % 10), &"v".repeat(4000)),
                ("x", &i.to_string()),
            ],
        );
        let stats = running.tc.stats();
        assert!(
            stats.active_bytes + stats.frozen_bytes < 256 << 10,
            "{stats:?}"
        );
    }
    running.tc.compact().unwrap();
    running.tc.compact().unwrap();
    assert_eq!(get(&old, "x").as_deref(), Some("0"), "it goes on reading");
    put(&mut old, "x", "mine");
    let refused = commit(&running.tc, old, Durability::Async);
    assert!(
        matches!(refused, Err(Error::SnapshotTooOld | Error::Conflict { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_dropped_space_is_forgotten_and_stays_so_after_a_crash() {
    let media = Media::new(5);
    let running = media.open(Durability::Sync);
    set(&running.tc, &[("a", "1")]);
    running.tc.compact().unwrap();
    let mut change = running.tc.begin(Level::ReadCommitted);
    change.drop_space(SPACE);
    commit(&running.tc, change, Durability::Sync).unwrap();
    drop(running);
    let running = media.open(Durability::Sync);
    running.tc.compact().unwrap();
    drop(running);
    let running = media.open(Durability::Sync);
    assert!(rows(&running.tc.begin(Level::Snapshot)).is_empty());
}
