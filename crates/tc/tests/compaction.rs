//! Freeze, merge, truncate and crash: what is seen never depends on them.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Durability, Level, Lsn, SpaceId};
use quintet_dc::{
    DataComponent, DcStats, Error as StoreError, Generation, MemoryStore, MergeReport, Operation,
};
use quintet_rt::{Clock, Rand, RealClock};
use quintet_tc::{Error, Posting, Tc, TcConfig, TcStats, Txn};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use support::*;

/// What a run of random transactions has done, told if it comes to something else than the model.
struct Story {
    seed: u64,
    steps: Vec<String>,
}

impl Story {
    fn tell(&mut self, step: String) {
        self.steps.push(step);
    }

    /// The rows that the transaction sees are these.
    fn check(&self, running: &Running, txn: &Txn, expected: &[(String, String)], what: &str) {
        let found = rows(txn);
        if found == expected {
            return;
        }
        // Of values of hundreds of bytes the first ones say where they come from.
        let short =
            |value: Option<&String>| value.map(|value| value[..value.len().min(6)].to_string());
        let by_key = |rows: &[(String, String)]| rows.iter().cloned().collect::<BTreeMap<_, _>>();
        let (found, expected) = (by_key(&found), by_key(expected));
        let again = by_key(&rows(txn));
        let keys: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
        let differ = keys
            .into_iter()
            .filter(|key| found.get(*key) != expected.get(*key));
        let differ: Vec<String> = differ
            .map(|key| {
                let [found, again, expected] =
                    [&found, &again, &expected].map(|rows| short(rows.get(key)));
                let alone = short(get(txn, key).as_ref());
                format!("{key}: {found:?}, again {again:?}, alone {alone:?}; expected {expected:?}")
            })
            .collect();
        panic!(
            "{what}, seed {}\n{}\n{}\n{:?}\n{:?}",
            self.seed,
            self.steps.join("\n"),
            differ.join("\n"),
            running.recovery,
            running.tc.stats(),
        );
    }
}

/// Random changes to the transaction and to the model; what they are, in words.
fn change_at_random(
    txn: &mut Txn,
    model: &mut BTreeMap<String, String>,
    rand: &mut Rand,
    step: u64,
) -> String {
    let mut words = format!("{step}");
    for _ in 0..1 + rand.below(8) {
        let key = format!("k{:02}", rand.below(40));
        if rand.one_in(4) {
            txn.delete(SPACE, bytes(&key)).unwrap();
            model.remove(&key);
            words.push_str(&format!(" -{key}"));
        } else {
            let value = format!("{step}-{}", "x".repeat(rand.below(300) as usize));
            put(txn, &key, &value);
            words.push_str(&format!(" +{key}"));
            model.insert(key, value);
        }
    }
    words
}

/// Goal: at any moment a transaction sees the model as it was when it began, and commits do to the
/// model what they did to the database. Method: random transactions, several open at once, with
/// compactions, crashes and reopenings in between.
#[test]
fn random_transactions_agree_with_a_model_through_compactions_and_crashes() {
    for seed in 0..60 {
        println!("seed {seed}");
        let mut story = Story {
            seed,
            steps: Vec::new(),
        };
        let mut rand = Rand::seeded(seed);
        let mut media = Media::new(seed);
        let mut running = media.open_tiny(Durability::Sync);
        let mut model: BTreeMap<String, String> = BTreeMap::new();
        for step in 0..120 {
            match rand.below(20) {
                0 => {
                    story.tell(format!("{step} pass"));
                    running.tc.compact().expect("memory does not fail");
                }
                1 => {
                    story.tell(format!("{step} crash"));
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
                    story.tell(change_at_random(&mut txn, &mut model, &mut rand, step));
                    let now: Vec<_> = model.clone().into_iter().collect();
                    story.check(&running, &txn, &now, "own writes");
                    commit(&running.tc, txn, Durability::Sync).expect("nobody else writes");
                    if rand.one_in(3) {
                        story.tell("a pass behind it".to_string());
                        running.tc.compact().expect("memory does not fail");
                    }
                    story.check(&running, &old, &expected, "an old snapshot keeps its state");
                    let new = running.tc.begin(level);
                    story.check(&running, &new, &now, "a new one sees the commit");
                }
            }
        }
    }
}

/// Goal: the same while passes run one after the other beside the transactions, and when the crash comes in the midst of one.
/// Method: a thread that wants pass after pass; the disk is left as it is at some moment meanwhile.
#[test]
fn random_transactions_agree_with_a_model_beside_passes_that_crashes_interrupt() {
    let seed = Rand::from_os().next_u64();
    println!("seed {seed}");
    let mut story = Story {
        seed,
        steps: Vec::new(),
    };
    let mut rand = Rand::seeded(seed);
    let mut media = Media::new(seed);
    let mut model: BTreeMap<String, String> = BTreeMap::new();
    let mut step = 0;
    for _ in 0..300 {
        let running = media.open_tiny(Durability::Sync);
        let stop = AtomicBool::new(false);
        let crashed = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    running.tc.compact().expect("memory does not fail");
                }
            });
            // Also if a check fails.
            let _stop = Stop(&stop);
            for _ in 0..rand.below(8) {
                step += 1;
                let mut txn = running.tc.begin(Level::Snapshot);
                story.tell(change_at_random(&mut txn, &mut model, &mut rand, step));
                let now: Vec<_> = model.clone().into_iter().collect();
                story.check(&running, &txn, &now, "own writes");
                commit(&running.tc, txn, Durability::Sync).expect("nobody else writes");
                let new = running.tc.begin(Level::Snapshot);
                story.check(&running, &new, &now, "a new one sees the commit");
            }
            story.tell("crash".to_string());
            media.disk.crash(&mut rand)
        });
        drop(running);
        media.disk = crashed;
        if story.steps.len() > 100 {
            story.steps.drain(..50);
        }
    }
}

/// Sets a flag when it goes.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
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

/// Goal: what is read from STORE is kept, and memory keeps its bound, also while a merge takes its time.
#[test]
fn who_reads_from_store_makes_room_while_a_merge_is_under_way() {
    const KEYS: usize = 6000;
    let media = Media::new(11);
    let watched = Watched::open(&media.medium);
    let bound = 256 << 10;
    let config = TcConfig {
        cache_bytes_max: bound,
        ..TcConfig::for_memory(64 << 20)
    };
    let running = media.open_on(watched.clone(), Durability::Async, config, 32 << 20);
    let keys: Vec<String> = (0..KEYS).map(|number| format!("k{number:05}")).collect();
    let value = "v".repeat(100);
    for keys in keys.chunks(500) {
        let pairs: Vec<_> = keys.iter().map(|key| (&key[..], &value[..])).collect();
        set(&running.tc, &pairs);
    }
    running.tc.compact().unwrap();
    set(&running.tc, &[("dirty", "1")]);
    let merges = watched.merges.load(Ordering::Relaxed);
    watched.merge_ms.store(3000, Ordering::Relaxed);
    let read = |keys: &[String]| {
        let before = watched.reads.load(Ordering::Relaxed);
        for key in keys {
            let txn = running.tc.begin(Level::Snapshot);
            assert_eq!(get(&txn, key).as_deref(), Some(&value[..]));
        }
        watched.reads.load(Ordering::Relaxed) - before
    };
    std::thread::scope(|scope| {
        scope.spawn(|| running.tc.compact().unwrap());
        while watched.merges.load(Ordering::Relaxed) == merges {
            std::thread::yield_now();
        }
        read(&keys);
        let last = &keys[KEYS - 300..];
        let again = read(last);
        assert!(again < 150, "{again} of 300 read from STORE again");
        let bytes = running.tc.stats().record_bytes;
        assert!(
            bytes <= (bound + bound / 4) as u64,
            "{bytes} bytes of {bound}"
        );
    });
}

/// Goal: of many keys read together those that memory lacks are all on their way out of STORE before the first is waited for.
/// Method: a store that counts what it is told; each row looks at the counts when it is shown.
#[test]
fn keys_read_together_are_announced_to_store_unless_memory_has_them() {
    let media = Media::new(13);
    let value = "v".repeat(100);
    let keys: Vec<String> = (0..20).map(|number| format!("k{number:02}")).collect();
    let pairs: Vec<_> = keys.iter().map(|key| (&key[..], &value[..])).collect();
    let running = media.open(Durability::Async);
    set(&running.tc, &pairs);
    running.tc.compact().unwrap();
    drop(running);

    let watched = Watched::open(&media.medium);
    let config = TcConfig::for_memory(64 << 20);
    let running = media.open_on(watched.clone(), Durability::Async, config, 4 << 20);
    let counts = || {
        let announced = watched.announced.load(Ordering::Relaxed);
        (announced, watched.reads.load(Ordering::Relaxed))
    };
    let txn = running.tc.begin(Level::Snapshot);
    for key in &keys[..3] {
        assert!(get(&txn, key).is_some());
    }
    assert_eq!(counts(), (0, 3), "one by one nothing is announced");
    let wanted: Vec<_> = keys.iter().map(|key| (SPACE, key.as_bytes())).collect();
    let mut seen = Vec::new();
    txn.read_many(&wanted[..8], |at, row| {
        assert_eq!(row, Some(value.as_bytes()));
        seen.push((at, counts()));
    })
    .unwrap();
    let expected: Vec<_> = (0..8)
        .map(|at: usize| (at, (5, 3 + (at as u64 + 1).saturating_sub(3))))
        .collect();
    assert_eq!(seen, expected, "five of eight are not in memory");
    txn.read_many(&wanted[..9], |_, _| {}).unwrap();
    assert_eq!(counts(), (5, 9), "a lone one is as fast unannounced");
}

/// Goal: reads are announced as long as STORE takes its time, and not when it has blocks at hand, those of keys read together and those of
/// which a call says that it will read them. Method: a clock that goes on by so much each time that it is read; every key is read once.
#[test]
fn reads_of_a_quick_store_are_not_announced() {
    #[derive(Debug)]
    struct Stepping(AtomicUsize, usize);
    impl quintet_rt::Clock for Stepping {
        fn now_micros(&self) -> i64 {
            0
        }
        fn monotonic_nanos(&self) -> u64 {
            self.0.fetch_add(self.1, Ordering::Relaxed) as u64
        }
        fn sleep(&self, _: Duration) {}
    }
    let quick = (4_000, 0, 900);
    let slow = (4_000_000, 1_400, 1_600);
    for ((step, least, most), together) in
        [(quick, true), (slow, true), (quick, false), (slow, false)]
    {
        let media = Media::new(14);
        let keys: Vec<String> = (0..1600).map(|number| format!("k{number:04}")).collect();
        let pairs: Vec<_> = keys.iter().map(|key| (&key[..], "v")).collect();
        let running = media.open(Durability::Async);
        pairs.chunks(100).for_each(|some| set(&running.tc, some));
        running.tc.compact().unwrap();
        drop(running);
        let watched = Watched::open(&media.medium);
        let config = TcConfig {
            clock: Arc::new(Stepping(AtomicUsize::new(0), step)),
            ..TcConfig::for_memory(64 << 20)
        };
        let running = media.open_on(watched.clone(), Durability::Async, config, 4 << 20);
        let txn = running.tc.begin(Level::Snapshot);
        for some in keys.chunks(8) {
            let wanted: Vec<_> = some.iter().map(|key| (SPACE, key.as_bytes())).collect();
            if together {
                txn.read_many(&wanted, |_, row| assert!(row.is_some()))
                    .unwrap();
            } else {
                txn.announce(&wanted);
                some.iter()
                    .for_each(|key| assert!(get(&txn, key).is_some()));
            }
        }
        let announced = watched.announced.load(Ordering::Relaxed);
        assert!(
            (least..=most).contains(&announced),
            "{announced} with steps of {step} ns, together: {together}"
        );
    }
}

/// Goal: where STORE is not asked, its share of memory does not lie idle; when it is, it gets it back.
#[test]
fn records_may_use_what_store_does_not() {
    let media = Media::new(12);
    let watched = Watched::open(&media.medium);
    let config = TcConfig {
        cache_bytes_max: 256 << 10,
        lent_bytes_max: 768 << 10,
        ..TcConfig::for_memory(64 << 20)
    };
    let running = media.open_on(watched.clone(), Durability::Async, config, 4 << 20);
    let value = "v".repeat(100);
    let fill = |first: usize| {
        let keys: Vec<String> = (first..first + 4000).map(|n| format!("k{n:05}")).collect();
        for keys in keys.chunks(500) {
            let pairs: Vec<_> = keys.iter().map(|key| (&key[..], &value[..])).collect();
            set(&running.tc, &pairs);
        }
        running.tc.compact().unwrap();
        running.tc.stats().record_bytes
    };
    let bytes = fill(0);
    assert!(bytes > 512 << 10, "{bytes} bytes with what is lent");
    assert!(bytes < 1280 << 10, "{bytes} bytes are beyond what is lent");
    watched.cached.store(2 << 20, Ordering::Relaxed);
    let bytes = fill(4000);
    assert!(bytes < 384 << 10, "{bytes} bytes after it was taken back");
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

/// The story: while a pass was under way a record was written twice more, and the second commit took the
/// version that STORE was to be told of out of memory, because no snapshot read it. STORE then had
/// nothing for it as of the checkpoint, and a crash lost the later commits. Found by `sim`.
#[test]
fn what_is_written_while_a_pass_is_under_way_does_not_take_the_frozen_version_away() {
    for seed in 0..16 {
        println!("seed {seed}");
        let media = Media::new(seed);
        let running: Arc<OnceLock<Tc>> = Arc::default();
        let writer = Arc::clone(&running);
        let store = Hooked {
            store: MemoryStore::open(&media.medium),
            before_merge: move || {
                // More often than commits look for the oldest snapshot.
                for _ in 0..200 {
                    let tc = writer.get().expect("it is open");
                    let mut txn = tc.begin(Level::Snapshot);
                    put(&mut txn, "x", "later");
                    commit(tc, txn, Durability::None).unwrap();
                }
                Ok(())
            },
        };
        let config = TcConfig::for_memory(64 << 20);
        let opened = media.open_on(Arc::new(store), Durability::None, config, 32 << 20);
        assert!(running.set(opened.tc.clone()).is_ok());
        let mut txn = opened.tc.begin(Level::Snapshot);
        put(&mut txn, "x", "frozen");
        commit(&opened.tc, txn, Durability::None).unwrap();
        opened.tc.compact().unwrap();
        let disk = media.disk.crash(&mut Rand::seeded(seed));
        let after = Media {
            disk,
            medium: media.medium,
        };
        let after = after.open(Durability::Sync);
        let x = get(&after.tc.begin(Level::Snapshot), "x");
        assert!(x.is_some(), "what STORE was given is gone");
    }
}

#[test]
fn pieces_are_posted_without_a_checkpoint_and_a_crash_replays_them() {
    let media = Media::new(13);
    let continuous = TcConfig {
        posting: Posting::Continuous {
            piece_bytes: 2 << 10,
        },
        ..tiny()
    };
    let running = media.open_with(Durability::Sync, continuous.clone());
    let began = running.tc.stats();
    let mut i = 0;
    // Until pieces have been posted, and before so much has come that a checkpoint is due.
    while running.tc.stats().posts < 3 {
        set(&running.tc, &[(&format!("k{}", i % 50), &i.to_string())]);
        i += 1;
        assert!(i < 100_000, "{:?}", running.tc.stats());
    }
    let stats = running.tc.stats();
    assert!(stats.posts > stats.compactions, "{stats:?}");
    assert!(stats.posted > stats.checkpointed, "{stats:?}");
    assert!(stats.posted > began.posted);
    let seen = rows(&running.tc.begin(Level::Snapshot));
    drop(running);
    let running = media.open_with(Durability::Sync, continuous);
    assert_eq!(rows(&running.tc.begin(Level::Snapshot)), seen);
    running.tc.compact().unwrap();
    let stats = running.tc.stats();
    assert_eq!(stats.posted, stats.checkpointed, "asked for, it is whole");
    assert_eq!(rows(&running.tc.begin(Level::Snapshot)), seen);
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

/// A store that does something before each merge.
struct Hooked<F> {
    store: MemoryStore,
    before_merge: F,
}

impl<F> DataComponent for Hooked<F>
where
    F: Fn() -> Result<(), StoreError> + Send + Sync,
{
    fn generation(&self) -> Arc<dyn Generation> {
        self.store.generation()
    }

    fn merge(
        &self,
        space: SpaceId,
        run: &mut dyn Iterator<Item = Operation<'_>>,
    ) -> Result<MergeReport, StoreError> {
        (self.before_merge)()?;
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

/// The story: clients were told that the disk was full when it could not be synced, and nobody was told
/// why. Whoever watches hears of each failure, and once that it is over.
#[test]
fn a_store_that_fails_is_told_apart_from_a_full_one_and_whoever_watches_hears_of_it() {
    let media = Media::new(10);
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let running = media.open_on(
        Arc::new(Hooked {
            store: MemoryStore::open(&media.medium),
            before_merge: move || match is_broken.load(Ordering::Acquire) {
                true => {
                    let source = std::io::Error::from_raw_os_error(5);
                    Err(StoreError::io("sync", "tables/7", source))
                }
                false => Ok(()),
            },
        }),
        Durability::Async,
        tiny(),
        TINY_RING,
    );
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    running
        .tc
        .watch_posts(move |failure| ear.lock().unwrap().push(failure.cloned()));
    let write = |i: u32| {
        let mut txn = running.tc.begin(Level::Snapshot);
        put(&mut txn, &format!("k{i}"), &"v".repeat(4000));
        commit(&running.tc, txn, Durability::Async)
    };
    let refusal = (0..1000).find_map(|i| write(i).err());
    let Some(Error::PostFailed { reason }) = refusal else {
        panic!("{refusal:?}");
    };
    assert!(
        reason.contains("tables/7") && reason.contains("os error 5"),
        "{reason}"
    );
    let failure = running.tc.compact().unwrap_err();
    assert!(!failure.is_disk_full, "{failure:?}");
    let before: Vec<_> = std::mem::take(&mut *heard.lock().unwrap());
    assert!(!before.is_empty());
    for told in before {
        assert_eq!(told.as_ref(), Some(&failure));
    }
    broken.store(false, Ordering::Release);
    running.tc.compact().unwrap();
    running.tc.compact().unwrap();
    write(0).unwrap();
    let heard = heard.lock().unwrap();
    // Refused commits may have asked for one more try before it was mended.
    let (last, failed) = heard.split_last().unwrap();
    assert_eq!(*last, None, "it is told once that it works again");
    assert!(failed.iter().all(|told| told.as_ref() == Some(&failure)));
}

/// The story: with memory at its bound and a disk that was full, a commit asked for the compactor's
/// turn while it held the turn's lock, and from then on every commit hung.
#[test]
fn a_full_store_refuses_commits_politely_and_takes_them_again_when_there_is_room() {
    let media = Media::new(9);
    let full = Arc::new(AtomicBool::new(true));
    let is_full = Arc::clone(&full);
    let running = media.open_on(
        Arc::new(Hooked {
            store: MemoryStore::open(&media.medium),
            before_merge: move || match is_full.load(Ordering::Acquire) {
                true => {
                    let source = Arc::new(std::io::ErrorKind::StorageFull.into());
                    Err(StoreError::DiskFull { source })
                }
                false => Ok(()),
            },
        }),
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
    full.store(false, Ordering::Release);
    running.tc.compact().unwrap();
    for i in 0..100 {
        write(refused + i).unwrap();
    }
    assert_eq!(
        rows(&running.tc.begin(Level::Snapshot)).len() as u32,
        refused + 100
    );
}

/// Goal: commits that come faster than a pass goes on are slowed down before they are stopped. Method: a merge that
/// takes longer than it takes to fill the buffers, and a clock that notes who sleeps.
#[test]
fn commits_are_held_back_before_they_have_to_wait() {
    #[derive(Debug, Default)]
    struct Noting(Mutex<Vec<Duration>>);
    impl quintet_rt::Clock for Noting {
        fn now_micros(&self) -> i64 {
            0
        }
        fn monotonic_nanos(&self) -> u64 {
            0
        }
        fn sleep(&self, duration: Duration) {
            self.0.lock().unwrap().push(duration);
        }
    }
    let media = Media::new(1);
    let store = Watched::open(&media.medium);
    store.merge_ms.store(500, Ordering::Relaxed);
    let clock = Arc::new(Noting::default());
    let config = TcConfig {
        // Nothing is merged for want of memory.
        cache_bytes_max: 4 << 20,
        clock: Arc::clone(&clock) as Arc<_>,
        ..tiny()
    };
    let running = media.open_on(store, Durability::Async, config, TINY_RING);
    let tc = &running.tc;
    let slept = || clock.0.lock().unwrap().clone();
    let is_nearly_full = |stats: &TcStats| stats.buffer_bytes >= TINY_RING as u64 / 4 * 3;
    let mut wait = None;
    for i in 0..1000 {
        let mut txn = tc.begin(Level::Snapshot);
        put(&mut txn, &format!("k{i}"), &"v".repeat(500));
        let used = tc.stats().buffer_bytes;
        match txn.commit(Durability::Async) {
            Ok(_) if used < TINY_RING as u64 / 4 * 3 => assert_eq!(slept(), [], "at {used}"),
            // Nobody is held back for a pass that has not begun; the compactor's thread may be late.
            Ok(_) => {
                while is_nearly_full(&tc.stats()) && !tc.stats().compacting {
                    std::thread::yield_now();
                }
            }
            Err(Error::Blocked(blocked)) => {
                wait = Some(blocked);
                break;
            }
            Err(error) => panic!("{error}"),
        }
    }
    let slept = slept();
    assert!(slept.len() > 5, "{slept:?}");
    assert!(slept.iter().all(|pause| *pause <= Duration::from_millis(1)));
    assert!(
        slept.last() > Some(&Duration::from_micros(800)),
        "{slept:?}"
    );
    assert_eq!(tc.stats().held_back, slept.len() as u64);
    wait.expect("the merge takes longer").wait();
}

/// The story: with a store that could not be written, the compactor went through everything that was to be moved, over and over, on
/// a processor of its own, since each refused commit asked for another attempt. Now it rests in between, unless somebody waits
/// for its answer.
#[test]
fn a_store_that_fails_is_not_asked_all_the_time() {
    let media = Media::new(11);
    let attempts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&attempts);
    let running = media.open_on(
        Arc::new(Hooked {
            store: MemoryStore::open(&media.medium),
            before_merge: move || {
                counter.fetch_add(1, Ordering::AcqRel);
                let source = std::io::Error::from_raw_os_error(28);
                Err(StoreError::io("write", "tables/7", source))
            },
        }),
        Durability::Async,
        tiny(),
        TINY_RING,
    );
    let write = |i: u32| {
        let mut txn = running.tc.begin(Level::Snapshot);
        put(&mut txn, &format!("k{i}"), &"v".repeat(4000));
        commit(&running.tc, txn, Durability::Async)
    };
    assert!((0..1000).any(|i| write(i).is_err()));
    let before = attempts.load(Ordering::Acquire);
    let begun = RealClock.monotonic_nanos();
    let mut refused = 0;
    while RealClock.monotonic_nanos() - begun < 900_000_000 {
        refused += usize::from(write(0).is_err());
    }
    let asked = attempts.load(Ordering::Acquire) - before;
    assert!(asked <= 3, "{asked} attempts, {refused} commits refused");
    assert!(refused > 100, "{refused} commits refused");
    // Somebody who waits for it is answered at once.
    assert!(running.tc.compact().is_err());
    assert!(attempts.load(Ordering::Acquire) > before + asked);
}
