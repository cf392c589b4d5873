//! Opening after a crash: what is there does not depend on how it was replayed, and how much there is to
//! replay has a bound.

#![allow(clippy::unwrap_used)]

mod support;

use quintet_base::{Bytes, Durability, Level, Lsn, SpaceId};
use quintet_dc::{DataComponent, Direction, KeyRange, MemoryStore};
use quintet_rt::{Clock, Rand, RealClock, threads};
use quintet_tc::{Error, Recovered, Tc, TcConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::*;

type Model = BTreeMap<(u32, Vec<u8>), Vec<u8>>;

const SPACES: u32 = 6;

/// A log that is longer than two windows, so that more than one lane has something to do.
const COMMITS: u64 = 700;

fn large() -> TcConfig {
    TcConfig::for_memory(256 << 20)
}

const LARGE_RING: usize = 64 << 20;

/// Random commits: few keys that are written often and many that are not, removals, fences, spaces
/// dropped; with and without the first part in STORE.
fn fill(media: &Media, seed: u64, merge_at: Option<u64>) -> (Model, u64) {
    let mut rand = Rand::seeded(seed);
    let store: Arc<dyn DataComponent> = Arc::new(MemoryStore::open(&media.medium));
    let running = media.open_on(store, Durability::Sync, large(), LARGE_RING);
    let mut model = Model::new();
    let mut fences = 0;
    let mut live: Vec<u32> = (0..SPACES).collect();
    let mut next = SPACES;
    for i in 0..COMMITS {
        if merge_at == Some(i) {
            running.tc.compact().unwrap();
        }
        let mut txn = running.tc.begin(Level::ReadCommitted);
        for _ in 0..1 + rand.below(5) {
            let space = live[rand.below(live.len() as u64) as usize];
            let key = match rand.one_in(3) {
                true => format!("hot{}", rand.below(3)),
                false => format!("k{}", rand.below(1000)),
            };
            let id = SpaceId(200 + space);
            if rand.one_in(5) {
                txn.delete(id, bytes(&key)).unwrap();
                model.remove(&(id.0, key.into_bytes()));
            } else {
                let len = if rand.one_in(8) {
                    6000
                } else {
                    rand.below(300)
                };
                let value = vec![rand.below(256) as u8; len as usize];
                txn.put(id, bytes(&key), value.clone()).unwrap();
                model.insert((id.0, key.into_bytes()), value);
            }
        }
        if rand.one_in(50) {
            txn.fence(SpaceId(200 + live[0]));
            fences += 1;
        }
        if rand.one_in(100) {
            let at = rand.below(live.len() as u64) as usize;
            let gone = 200 + std::mem::replace(&mut live[at], next);
            next += 1;
            txn.drop_space(SpaceId(gone));
            model.retain(|(space, _), _| *space != gone);
        }
        commit(&running.tc, txn, Durability::Async).unwrap();
    }
    running.log.flush().unwrap();
    assert!(fences > 0);
    (model, COMMITS)
}

fn all(tc: &Tc, spaces: impl Iterator<Item = u32>) -> Model {
    let txn = tc.begin(Level::Snapshot);
    let mut model = Model::new();
    for space in spaces {
        let mut scan = txn
            .scan(SpaceId(space), &KeyRange::all(), Direction::Forward)
            .unwrap();
        while let Some((key, value)) = scan.next(&txn).unwrap() {
            let got = txn.get(SpaceId(space), &key).unwrap();
            assert_eq!(got.as_ref(), Some(&value), "by key as by scan");
            model.insert((space, key.to_vec()), value.to_vec());
        }
    }
    model
}

fn spaces_of(model: &Model) -> impl Iterator<Item = u32> {
    let mut spaces: Vec<u32> = model.keys().map(|(space, _)| *space).collect();
    spaces.dedup();
    spaces.into_iter()
}

/// Goal: however many lanes, the outcome of a replay is that of one. Method: random logs with many
/// versions of a key, removals, fences and drops, replayed by one to five lanes; then merged, so that
/// what the lanes carry is seen, too.
#[test]
fn any_number_of_lanes_replays_what_one_does() {
    for seed in 0..6 {
        println!("seed {seed}");
        let merge_at = (seed % 2 == 1).then_some(COMMITS / 3);
        let mut seen = Vec::new();
        for lanes in [1, 2, 3, 5] {
            // The same seed makes the same log.
            let media = Media::new(seed);
            let (model, commits) = fill(&media, seed, merge_at);
            let open = |lanes| {
                let store = Arc::new(MemoryStore::open(&media.medium));
                media.recover(store, large(), LARGE_RING, lanes).unwrap()
            };
            let Recovered {
                tc, log, recovery, ..
            } = open(lanes);
            assert!(recovery.bytes() > 600 << 10, "{recovery:?}");
            assert_eq!((recovery.lanes, recovery.merges), (lanes, 0));
            if merge_at.is_none() {
                assert_eq!(recovery.commits, commits);
            }
            assert_eq!(all(&tc, spaces_of(&model)), model, "{lanes} lanes");
            let stats = tc.stats();
            seen.push((
                recovery.changes,
                tc.last_fence(),
                stats.records,
                stats.record_bytes,
            ));
            tc.compact().unwrap();
            drop((tc, log));
            // Everything is in STORE now, each key in its newest version.
            let again = open(lanes);
            assert_eq!(again.recovery.commits, 0);
            assert_eq!(
                all(&again.tc, spaces_of(&model)),
                model,
                "{lanes} lanes, merged"
            );
        }
        assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
    }
}

/// A log that is open already is replayed as one that is being opened.
#[test]
fn a_log_that_is_open_replays_the_same() {
    let media = Media::new(77);
    let (model, commits) = fill(&media, 77, None);
    let running = media.open_on(
        Arc::new(MemoryStore::open(&media.medium)),
        Durability::Sync,
        large(),
        LARGE_RING,
    );
    assert_eq!(running.recovery.commits, commits);
    assert_eq!(all(&running.tc, spaces_of(&model)), model);
}

/// Goal: memory keeps its bound while a long log is replayed, and a crash between any two steps of the
/// merges on the way loses nothing. Method: bounds far below the log; STORE fails at its first, second, …
/// step until an opening gets through, with one lane and with three.
#[test]
fn a_replay_that_merges_may_be_cut_short_anywhere() {
    for (seed, lanes) in [(1, 1), (2, 3)] {
        let media = Media::new(seed);
        let (model, _) = fill(&media, seed, None);
        let mut failed = 0;
        let recovered = loop {
            let store = Watched::open(&media.medium);
            store.fail_after.store(failed % 23, Ordering::Release);
            match media.recover(Arc::clone(&store) as Arc<_>, tiny(), TINY_RING, lanes) {
                Ok(recovered) => break recovered,
                Err(Error::Store(_)) => failed += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(failed < 500, "each opening comes farther");
        };
        println!("failed {failed} times, {:?}", recovered.recovery);
        assert!(failed > 5, "{failed}");
        assert!(recovered.recovery.merges > 0, "{:?}", recovered.recovery);
        assert_eq!(all(&recovered.tc, spaces_of(&model)), model);
        let stats = recovered.tc.stats();
        let bound = tiny().cache_bytes_max + TINY_RING / 2 + (512 << 10);
        assert!(stats.record_bytes < bound as u64, "{stats:?}");
    }
}

/// Goal: what was recovered and is much goes to STORE by itself, before anybody commits.
#[test]
fn a_merge_that_is_due_after_recovery_waits_for_no_commit() {
    let media = Media::new(30);
    let value = "v".repeat(1000);
    let running = media.open(Durability::Sync);
    for i in 0..200 {
        set(&running.tc, &[(&format!("k{i}"), &value)]);
    }
    drop(running);
    let config = TcConfig {
        freeze_bytes: 64 << 10,
        ..TcConfig::for_memory(64 << 20)
    };
    let running = media.open_with(Durability::Sync, config);
    assert_eq!(running.recovery.merges, 0, "there was room for all of it");
    let patience = 2000;
    let merged = (0..patience).any(|_| {
        RealClock.sleep(Duration::from_millis(5));
        running.tc.stats().compactions > 0
    });
    assert!(merged, "{:?}", running.tc.stats());
}

/// Goal: the log that a crash leaves to be replayed is never longer than the log's buffers, also when
/// commits come faster than merges, and in life after life that ends before a merge could. Method: a
/// store that is slow, then one that never succeeds; four writers as fast as they can.
#[test]
fn what_a_crash_leaves_to_replay_is_bounded_by_the_logs_buffers() {
    let media = Media::new(31);
    for life in 0..6 {
        let store = Watched::open(&media.medium);
        store.merge_ms.store(30, Ordering::Relaxed);
        let merges = life % 3 == 0;
        store.broken.store(!merges, Ordering::Release);
        let config = TcConfig {
            // Nothing is merged for want of memory.
            cache_bytes_max: 4 << 20,
            ..tiny()
        };
        let opened = media.recover(Arc::clone(&store) as Arc<_>, config, TINY_RING, 2);
        let Recovered {
            tc, log, recovery, ..
        } = opened.unwrap();
        assert!(recovery.bytes() <= TINY_RING as u64, "{recovery:?}");
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let tc = tc.clone();
                threads::spawn("writer", move || {
                    let mut longest = tc.stats().dirty_bytes;
                    for i in 0..300 {
                        let mut txn = tc.begin(Level::ReadCommitted);
                        put(&mut txn, &format!("{writer}-{}", i % 50), &"v".repeat(2000));
                        match commit(&tc, txn, Durability::Async) {
                            Ok(_) => {}
                            Err(Error::NoRoom { .. }) => break,
                            Err(error) => panic!("{error}"),
                        }
                        longest = tc.stats().dirty_bytes.max(longest);
                    }
                    longest
                })
            })
            .collect();
        let longest = writers.into_iter().map(|writer| writer.join().unwrap());
        let longest = longest.max().unwrap();
        assert!(longest <= TINY_RING as u64, "life {life}: {longest}");
        assert!(
            longest > TINY_RING as u64 / 2,
            "the bound was met: {longest}"
        );
        if merges {
            assert!(tc.stats().stalls > 0, "commits waited for the merge");
        }
        // As a crash would: nothing is merged at the end.
        log.flush().unwrap();
        drop((tc, log));
    }
}

#[test]
fn recovery_says_how_far_it_is() {
    let media = Media::new(5);
    let (_, commits) = fill(&media, 5, None);
    // A clock in which every look takes a second.
    #[derive(Debug, Default)]
    struct Hurried(std::sync::atomic::AtomicU64);
    impl quintet_rt::Clock for Hurried {
        fn now_micros(&self) -> i64 {
            0
        }
        fn monotonic_nanos(&self) -> u64 {
            self.0.fetch_add(1_000_000_000, Ordering::Relaxed)
        }
        fn sleep(&self, _: std::time::Duration) {}
    }
    let mut told = Vec::new();
    let (clock, mut progress) = (Hurried::default(), |at: &quintet_tc::RecoveryProgress| {
        told.push(*at);
    });
    let options = quintet_tc::RecoveryOptions {
        lanes: 2,
        clock: &clock,
        progress: &mut progress,
    };
    let recovered = media.recover_with(
        Arc::new(MemoryStore::open(&media.medium)),
        large(),
        LARGE_RING,
        options,
    );
    let recovery = recovered.unwrap().recovery;
    assert_eq!(recovery.commits, commits);
    assert!(told.len() > 2, "{told:?}");
    assert!(
        told.windows(2)
            .all(|pair| pair[0].position < pair[1].position)
    );
    assert!(
        told.iter()
            .all(|at| at.end >= recovery.end && at.per_cent() <= 100)
    );
    let last = told.last().unwrap();
    assert_eq!(
        (last.position, last.changes),
        (recovery.end, recovery.changes)
    );
    assert!(recovery.took >= recovery.reading + recovery.replaying);
    assert_eq!(recovery.redo_start, Lsn::ZERO);
}

/// The bytes of a value are those of the log, wherever in a block it lies.
#[test]
fn values_longer_than_a_window_come_back() {
    let media = Media::new(8);
    let running = media.open(Durability::Sync);
    let value = |n: usize| Bytes::from((0..n).map(|i| i as u8).collect::<Vec<_>>());
    let lengths = [0, 1, 300_000, 262_144, 7, 1_000_000, 0, 12];
    for (i, n) in lengths.iter().enumerate() {
        let mut txn = running.tc.begin(Level::Snapshot);
        txn.put(SPACE, bytes(&format!("k{i}")), value(*n)).unwrap();
        txn.put(SPACE, bytes("all"), value(n + 1)).unwrap();
        commit(&running.tc, txn, Durability::Sync).unwrap();
    }
    drop(running);
    let store = Arc::new(MemoryStore::open(&media.medium));
    let recovered = media.recover(store, large(), LARGE_RING, 2).unwrap();
    let txn = recovered.tc.begin(Level::Snapshot);
    for (i, n) in lengths.iter().enumerate() {
        let got = txn.get(SPACE, format!("k{i}").as_bytes()).unwrap();
        assert!(got == Some(value(*n)), "{i}");
    }
    assert_eq!(txn.get(SPACE, b"all").unwrap(), Some(value(13)));
}
