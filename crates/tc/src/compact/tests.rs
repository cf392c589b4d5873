//! One row that is written all the time while old snapshots stay open.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::table::hash;
use crate::{Committed, Tc, TcConfig, Txn};
use quintet_base::{Durability, Level};
use quintet_dc::{MemoryMedium, MemoryStore};
use quintet_rt::{Clock, Disk, Rand, RealClock, SimClock, SimDisk};
use quintet_wal::{Wal, WalConfig};

const SPACE: SpaceId = SpaceId(100);
const KEY: &[u8] = b"hot";
const RING: usize = 1 << 20;

fn open() -> Tc {
    open_at(Arc::new(RealClock))
}

fn open_at(clock: Arc<dyn Clock>) -> Tc {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let wal = WalConfig {
        directory: "/log".into(),
        durability: Durability::Async,
        segment_bytes: 1 << 20,
        pending_bytes_max: 16 << 20,
        ring_bytes: RING,
        record_bytes_max: RING / 2,
        keep_in_memory: true,
        ..WalConfig::new("/log")
    };
    let config = TcConfig {
        freeze_bytes: RING / 8,
        posting: Posting::Frozen,
        clock,
        ..TcConfig::for_memory(8 << 20)
    };
    let (log, _) = Wal::open(disk, wal, None).unwrap();
    let store = Arc::new(MemoryStore::open(&MemoryMedium::default()));
    Tc::open_driven(log, store, config).unwrap().0
}

fn commit(tc: &Tc, mut txn: Txn) -> Committed {
    loop {
        match txn.commit(Durability::Async) {
            Ok(committed) => return committed,
            // Room is what the pass makes.
            Err(Error::Blocked(_)) => assert!(tc.compact_if_wanted()),
            Err(error) => panic!("{error}"),
        }
    }
}

fn write(tc: &Tc, number: u64) {
    let mut txn = tc.begin(Level::ReadCommitted);
    let value = number.to_be_bytes().repeat(4);
    txn.put(SPACE, Bytes::from_static(KEY), value).unwrap();
    commit(tc, txn);
}

fn read(txn: &Txn) -> u64 {
    let value = txn.get(SPACE, KEY).unwrap().unwrap();
    u64::from_be_bytes(value[..8].try_into().unwrap())
}

fn versions(tc: &Tc) -> usize {
    let guard = quintet_index::pin();
    let shared = tc.shared();
    let entry = shared.table.find(hash(SPACE, KEY), SPACE, KEY, &guard);
    let entry = entry.unwrap();
    assert_eq!(entry.lock_for_upkeep(), Locked::Yes);
    let count = entry.versions_below(&guard);
    entry.unlock();
    count
}

/// The story: while one snapshot stayed open, each reclaim of the log's buffers copied all versions of such a
/// row that had come since, and walked past them for each of its records: the longer, the slower.
/// Versions between snapshots go, those that one of them reads stay, and a pass takes as long as before.
#[test]
fn a_row_written_all_the_time_keeps_the_versions_that_old_snapshots_read() {
    const WRITES: u64 = 60_000;
    const PHASES: u64 = 6;
    let tc = open();
    let mut readers = Vec::new();
    let mut took = Vec::new();
    for number in 0..WRITES {
        if number % (WRITES / PHASES) == 0 {
            took.push(0);
        }
        write(&tc, number);
        if number == 10 || number == WRITES / 3 || number == WRITES / 3 + 1 {
            readers.push((tc.begin(Level::Snapshot), number));
        }
        if number % 256 == 0 {
            let begun = RealClock.monotonic_nanos();
            tc.compact_if_wanted();
            *took.last_mut().unwrap() += RealClock.monotonic_nanos() - begun;
        }
    }
    tc.compact().unwrap();
    let left = versions(&tc);
    let micros: Vec<u64> = took.iter().map(|nanos| nanos / 1000).collect();
    println!(
        "{left} versions below the newest; passes took {micros:?} µs per {} writes",
        WRITES / PHASES
    );
    assert_eq!(left, readers.len());
    for (txn, number) in &readers {
        assert_eq!(read(txn), *number);
    }
    assert_eq!(read(&tc.begin(Level::Snapshot)), WRITES - 1);
    drop(readers);
    write(&tc, WRITES);
    tc.compact().unwrap();
    assert_eq!(versions(&tc), 0, "nobody reads an old one");
}

/// Of each row STORE is told what the frozen state shows, however often it was changed before and after; rows changed all the time
/// and others, more of both than are kept in mind. Method: a pass as of a moment after which more was committed, beside a model.
#[test]
fn of_rows_changed_before_and_after_the_freeze_the_frozen_version_is_told() {
    const ROWS: u64 = 3000;
    let seed = RealClock.monotonic_nanos();
    println!("seed {seed}");
    let mut random = Rand::seeded(seed);
    let tc = open();
    let shared = tc.shared();
    let mut model = vec![None; ROWS as usize];
    let mut change = |tc: &Tc, model: &mut Vec<Option<u64>>, value: u64| {
        // Every second change is of one of a few rows.
        let row = random.below(if value.is_multiple_of(2) { 5 } else { ROWS });
        let removed = random.below(8) == 0;
        let mut txn = tc.begin(Level::ReadCommitted);
        let key = Bytes::copy_from_slice(&row.to_be_bytes());
        match removed {
            true => txn.delete(SPACE, key).unwrap(),
            false => txn.put(SPACE, key, value.to_be_bytes()).unwrap(),
        }
        txn.commit(Durability::Async).unwrap();
        model[row as usize] = (!removed).then_some(value);
    };
    let mut value = 0;
    for _ in 0..8 {
        for _ in 0..2000 {
            value += 1;
            change(&tc, &mut model, value);
        }
        let snapshot = freeze(shared);
        let frozen = model.clone();
        for _ in 0..1500 {
            value += 1;
            change(&tc, &mut model, value);
        }
        post(shared, snapshot.timestamp, true).unwrap();
        drop(snapshot);
        give_back(shared);
        let generation = shared.store.generation();
        for (row, expected) in frozen.iter().enumerate() {
            let stored = generation.get(SPACE, &(row as u64).to_be_bytes());
            let stored = stored.unwrap().map(|record| record.value.to_vec());
            let expected = expected.map(|value| value.to_be_bytes().to_vec());
            assert_eq!(stored, expected, "row {row}");
        }
    }
}

/// Buffers are given back although a snapshot still reads what a dropped space has in them. Method: the log's
/// memory is gone round several times after the drop.
#[test]
fn rows_of_a_dropped_space_are_kept_for_old_snapshots() {
    const DROPPED: SpaceId = SpaceId(101);
    let tc = open();
    let mut txn = tc.begin(Level::Snapshot);
    let row = b"a row that nobody else writes";
    txn.put(DROPPED, Bytes::from_static(KEY), row).unwrap();
    commit(&tc, txn);
    let reader = tc.begin(Level::Snapshot);
    let mut txn = tc.begin(Level::Snapshot);
    txn.drop_space(DROPPED);
    commit(&tc, txn);
    let shared = tc.shared();
    let before = shared.end();
    for number in 0.. {
        write(&tc, number);
        if number % 256 == 0 {
            tc.compact_if_wanted();
        }
        if shared.log.reclaimed().0 > before.0 + 3 * RING as u64 {
            break;
        }
    }
    assert_eq!(&reader.get(DROPPED, KEY).unwrap().unwrap()[..], row);
}

/// A pass that nobody waits for leaves the processor to others in between; on a clock that nobody else moves, each rest
/// shows. With `tc.compact()` somebody waits, and a checkpoint or a shutdown should not take three times as long.
#[test]
fn a_pass_rests_unless_somebody_waits_for_it() {
    const ROWS: u32 = 4_000;
    let clock = Arc::new(SimClock::default());
    let tc = open_at(Arc::clone(&clock) as _);
    let write_all = || {
        for row in 0..ROWS {
            let mut txn = tc.begin(Level::ReadCommitted);
            txn.put(SPACE, row.to_be_bytes(), vec![1; 8]).unwrap();
            commit(&tc, txn);
        }
    };
    let rested_during = |pass: &dyn Fn()| {
        let before = clock.monotonic_nanos();
        pass();
        clock.monotonic_nanos() - before
    };
    write_all();
    while tc.compact_if_wanted() {}
    write_all();
    tc.shared().want_compaction();
    let rested = rested_during(&|| assert!(tc.compact_if_wanted()));
    println!("rested for {} µs", rested / 1000);
    assert!(rested > 0);
    write_all();
    assert_eq!(rested_during(&|| tc.compact().unwrap()), 0);
    write_all();
    tc.shared().want_compaction();
    tc.shared().hurry_pass();
    assert_eq!(rested_during(&|| assert!(tc.compact_if_wanted())), 0);
}
