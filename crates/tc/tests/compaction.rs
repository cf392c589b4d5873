//! Freeze, merge, truncate and crash: what is seen never depends on them.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level, Lsn, SpaceId};
use quintet_dc::{
    DataComponent, DcStats, Error as StoreError, Generation, MemoryStore, MergeReport, Operation,
};
use quintet_rt::Rand;
use quintet_tc::{Error, TcConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::*;

/// Goal: at any moment a transaction sees the model as it was when it began, and commits do to the
/// model what they did to the database. Method: random transactions, several open at once, with
/// compactions, crashes and reopenings in between.
#[test]
fn random_transactions_agree_with_a_model_through_compactions_and_crashes() {
    for seed in 0..60 {
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let mut media = Media::new(seed);
        let mut running = media.open_tiny(Durability::Sync);
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
                    running = media.open_tiny(Durability::Sync);
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
    let running = Media::new(3).open_tiny(Durability::Async);
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
            stats.buffer_bytes + stats.record_bytes < 256 << 10,
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

/// The story: a record that had been removed was evicted, and its space went on saying that memory has
/// all of it; but a snapshot older than the removal had its row in a generation. Found by `sim`.
#[test]
fn an_old_snapshot_keeps_a_row_whose_removal_was_evicted() {
    let nothing_stays = TcConfig {
        cache_bytes_max: 0,
        ..tiny()
    };
    let running = Media::new(11).open_with(Durability::Sync, nothing_stays);
    let remove = |key| {
        let mut txn = running.tc.begin(Level::Snapshot);
        txn.delete(SPACE, bytes(key)).unwrap();
        commit(&running.tc, txn, Durability::Sync).unwrap();
    };
    set(&running.tc, &[("x", "1")]);
    // Older than the pass, it needs the row in memory, so that the space stays whole.
    let holds = running.tc.begin(Level::Snapshot);
    remove("y");
    running.tc.compact().unwrap();
    let old = running.tc.begin(Level::Snapshot);
    drop(holds);
    remove("x");
    running.tc.compact().unwrap();
    assert_eq!(running.tc.stats().records, 0, "the removal was evicted");
    assert_eq!(get(&old, "x").as_deref(), Some("1"));
    assert_eq!(rows(&old).len(), 1);
    assert!(rows(&running.tc.begin(Level::Snapshot)).is_empty());
}

/// The story: a record that had changed was evicted, and a writer that was refused left an entry
/// without a version in its place; a reader's validation found the entry and nothing new in it. Found
/// by `sim`.
#[test]
fn an_entry_without_a_version_does_not_hide_that_a_change_was_evicted() {
    let nothing_stays = TcConfig {
        cache_bytes_max: 0,
        ..tiny()
    };
    let running = Media::new(12).open_with(Durability::Sync, nothing_stays);
    set(&running.tc, &[("x", "1"), ("y", "")]);
    let mut reader = running.tc.begin(Level::Serializable);
    assert_eq!(get(&reader, "x").as_deref(), Some("1"));
    put(&mut reader, "y", "it was 1");
    let mut writer = running.tc.begin(Level::Snapshot);
    put(&mut writer, "x", "3");
    // A pass between the snapshots and the change, so that the change may be evicted.
    running.tc.compact().unwrap();
    set(&running.tc, &[("x", "2")]);
    running.tc.compact().unwrap();
    assert_eq!(running.tc.stats().records, 0, "the change was evicted");
    // What the reader writes is in memory, so that nothing but its read is in question.
    assert!(get(&running.tc.begin(Level::Snapshot), "y").is_some());
    let refused = commit(&running.tc, writer, Durability::Sync);
    assert!(matches!(refused, Err(Error::SnapshotTooOld)), "{refused:?}");
    let refused = commit(&running.tc, reader, Durability::Sync);
    assert!(matches!(refused, Err(Error::SnapshotTooOld)), "{refused:?}");
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

/// A store whose disk is full until somebody makes room.
struct Full {
    store: MemoryStore,
    full: AtomicBool,
}

impl DataComponent for Full {
    fn generation(&self) -> Arc<dyn Generation> {
        self.store.generation()
    }

    fn merge(
        &self,
        space: SpaceId,
        run: &mut dyn Iterator<Item = Operation>,
    ) -> Result<MergeReport, StoreError> {
        if self.full.load(Ordering::Acquire) {
            let source = Arc::new(std::io::ErrorKind::StorageFull.into());
            return Err(StoreError::DiskFull { source });
        }
        self.store.merge(space, run)
    }

    fn checkpoint(&self, redo_start: Lsn) -> Result<(), StoreError> {
        self.store.checkpoint(redo_start)
    }

    fn redo_start(&self) -> Lsn {
        self.store.redo_start()
    }

    fn drop_space(&self, space: SpaceId) -> Result<(), StoreError> {
        self.store.drop_space(space)
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.store.spaces()
    }

    fn stats(&self) -> DcStats {
        self.store.stats()
    }
}

/// The story: with memory at its bound and a disk that was full, a commit asked for the compactor's
/// turn while it held the turn's lock, and from then on every commit hung.
#[test]
fn a_full_store_refuses_commits_politely_and_takes_them_again_when_there_is_room() {
    let media = Media::new(9);
    let store = Arc::new(Full {
        store: MemoryStore::open(&media.medium),
        full: AtomicBool::new(true),
    });
    let running = media.open_on(
        Arc::clone(&store) as Arc<dyn DataComponent>,
        Durability::Async,
        tiny(),
        TINY_RING,
    );
    let write = |i: u32| {
        let mut txn = running.tc.begin(Level::Snapshot);
        put(&mut txn, &format!("k{i}"), &"v".repeat(4000));
        commit(&running.tc, txn, Durability::Async)
    };
    let refused = (0..1000).find(|i| match write(*i) {
        Ok(_) => false,
        Err(Error::NoRoom { .. }) => true,
        Err(error) => panic!("{error}"),
    });
    let refused = refused.expect("memory has a bound");
    for i in 0..10 {
        assert!(
            matches!(write(refused + i), Err(Error::NoRoom { .. })),
            "and stays so"
        );
    }
    assert_eq!(
        rows(&running.tc.begin(Level::Snapshot)).len() as u32,
        refused,
        "reads go on"
    );
    store.full.store(false, Ordering::Release);
    running.tc.compact().unwrap();
    for i in 0..100 {
        write(refused + i).unwrap();
    }
    assert_eq!(
        rows(&running.tc.begin(Level::Snapshot)).len() as u32,
        refused + 100
    );
}
