//! Queues: rows come at one end of a range and leave at the other.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::{Committed, ConflictKind, Error, Posting, Tc, TcConfig, Txn};
use quintet_base::{Bytes, Durability, Level};
use quintet_dc::{DataComponent, Direction, KeyRange, MemoryMedium, MemoryStore};
use quintet_rt::{Disk, SimDisk};
use quintet_wal::{Wal, WalConfig};
use std::collections::BTreeSet;
use std::ops::{Bound, Range};
use std::sync::Arc;

const SPACE: SpaceId = SpaceId(100);

/// No more removed records than this are at the head of a queue, or anywhere in the order, while no old
/// snapshot is open: those since the low water was last asked for, with what waits its turn.
const FEW_REMOVED: usize = 256;

struct Running {
    tc: Tc,
    log: Arc<Wal>,
    store: Arc<MemoryStore>,
    disk: SimDisk,
    medium: MemoryMedium,
}

fn open_on(disk: SimDisk, medium: MemoryMedium, ring_bytes: usize) -> Running {
    let wal = WalConfig {
        durability: Durability::Async,
        async_flush_interval_ms: 1,
        segment_bytes: 16 << 20,
        pending_bytes_max: 16 << 20,
        ring_bytes,
        record_bytes_max: ring_bytes / 2,
        keep_in_memory: true,
        ..WalConfig::new("/log")
    };
    let config = TcConfig {
        freeze_bytes: ring_bytes,
        posting: Posting::Frozen,
        ..TcConfig::for_memory(256 << 20)
    };
    let store = Arc::new(MemoryStore::open(&medium));
    let on: Arc<dyn Disk> = Arc::new(disk.clone());
    let (log, _) = Wal::open(on, wal, Some(store.redo_start())).unwrap();
    let (tc, _) = Tc::open_driven(Arc::clone(&log), Arc::clone(&store) as _, config).unwrap();
    Running {
        tc,
        log,
        store,
        disk,
        medium,
    }
}

fn open() -> Running {
    open_on(SimDisk::new(1), MemoryMedium::default(), 64 << 20)
}

impl Running {
    /// The same after an orderly end. STORE has the space, and memory nothing of it but what is replayed.
    fn open_again(self) -> Running {
        self.log.shutdown();
        let Running { disk, medium, .. } = self;
        open_on(disk, medium, 64 << 20)
    }

    fn commit(&self, mut txn: Txn) -> Committed {
        loop {
            match txn.commit(Durability::Async) {
                Ok(committed) => return committed,
                Err(Error::Blocked(_)) => assert!(self.tc.compact_if_wanted()),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn insert(&self, number: u64) {
        let mut txn = self.tc.begin(Level::Serializable);
        txn.put(SPACE, key(number), Bytes::from_static(b"row"))
            .unwrap();
        self.commit(txn);
    }

    /// Takes the head out.
    fn take(&self) -> u64 {
        let mut txn = self.tc.begin(Level::Serializable);
        let head = head(&txn).unwrap();
        txn.delete(SPACE, key(head)).unwrap();
        self.commit(txn);
        head
    }

    /// Entries in the order.
    fn listed(&self) -> usize {
        self.tc.shared().space(SPACE).ordered.len()
    }

    /// Entries that a look for the head passes over.
    fn passed(&self) -> usize {
        let guard = quintet_index::pin();
        let shared = self.tc.shared();
        let mut entries = Vec::new();
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        let space = shared.space(SPACE);
        space
            .ordered
            .chunk(lower, upper, false, usize::MAX, &guard, &mut entries);
        entries.iter().take_while(|entry| entry.is_absent()).count()
    }

    /// Everything durable, and a pass that posts nothing.
    fn settle(&self) {
        self.log.flush().unwrap();
        crate::compact::give_back(self.tc.shared());
    }
}

fn key(number: u64) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

fn number(key: &[u8]) -> u64 {
    u64::from_be_bytes(key.try_into().unwrap())
}

fn head(txn: &Txn) -> Option<u64> {
    let scan = txn.scan(SPACE, &KeyRange::all(), Direction::Forward);
    let row = scan.unwrap().next(txn).unwrap();
    row.map(|(key, _)| number(&key))
}

fn rows(txn: &Txn, direction: Direction) -> Vec<u64> {
    let mut scan = txn.scan(SPACE, &KeyRange::all(), direction).unwrap();
    let mut rows = Vec::new();
    while let Some((key, _)) = scan.next(txn).unwrap() {
        rows.push(number(&key));
    }
    rows
}

/// Goal: a pass of the compactor, however long, does not make a queue's head slower, and tells STORE of what was there when it
/// began. Method: the pass's snapshot is taken, nine rows of ten leave the queue, and only then the pass goes on.
#[test]
fn what_leaves_during_a_pass_is_passed_over_by_nobody() {
    // More leave than are remembered meanwhile.
    const LEAVE: u64 = 18_000;
    const STAY: u64 = 2000;
    const _: () = assert!(LEAVE as usize > 2 * PILE_MAX);

    let running = open();
    (0..LEAVE + STAY).for_each(|number| running.insert(number));
    let snapshot = crate::compact::freeze(running.tc.shared());
    for number in 0..LEAVE {
        assert_eq!(running.take(), number);
        if number % 250 == 0 {
            assert!(running.passed() <= FEW_REMOVED, "{}", running.passed());
        }
    }
    crate::compact::post(running.tc.shared(), snapshot.timestamp, true).unwrap();
    let stored = |numbers: Range<u64>| {
        let store = running.store.generation();
        let found = |number: &u64| store.get(SPACE, &key(*number)).unwrap().is_some();
        numbers.filter(found).count() as u64
    };
    assert_eq!(stored(0..LEAVE + STAY), LEAVE + STAY);
    drop(snapshot);
    running.settle();
    let txn = running.tc.begin(Level::Serializable);
    let left = rows(&txn, Direction::Backward).into_iter().rev();
    assert!(left.eq(LEAVE..LEAVE + STAY));
    drop(txn);
    running.tc.compact().unwrap();
    assert_eq!(running.listed() as u64, STAY);
    assert_eq!(running.tc.shared().table.len() as u64, STAY);
    assert_eq!(stored(0..LEAVE), 0);
}

/// Goal: what a queue has passed through leaves nothing in the order, nothing in memory, and STORE never
/// hears of it. Method: 100,000 rows through a queue ten deep, no merge before the end.
#[test]
fn a_queue_that_store_never_saw_leaves_nothing() {
    let running = open();
    (0..10).for_each(|number| running.insert(number));
    let mut beyond = Vec::new();
    for turn in 0..100_000 {
        running.insert(turn + 10);
        assert_eq!(running.take(), turn);
        if turn % 1000 == 0 {
            let (listed, passed) = (running.listed(), running.passed());
            if listed >= 10 + FEW_REMOVED || passed >= FEW_REMOVED {
                beyond.push((turn, listed, passed));
            }
        }
    }
    // A pass of the compactor has a snapshot: as long as it goes on, nothing leaves the order.
    assert!(beyond.len() <= 10, "of 100 looks: {beyond:?}");
    running.settle();
    let stats = running.tc.stats();
    assert_eq!((stats.records, stats.unlisted), (10, 0));
    assert_eq!((running.listed(), running.passed()), (10, 0));
    running.tc.compact().unwrap();
    assert_eq!(running.store.stats().operations, 10, "ten rows, no removal");
}

/// Goal: a queue of rows that STORE has is as cheap at its head, and what was removed is in memory
/// only until STORE has been told. Method: as above, with a merge every 5,000 rows and 3,000 rows in the
/// queue, so that STORE has more than half of what is taken out.
#[test]
fn a_queue_that_store_has_leaves_the_order_at_once_and_memory_after_a_merge() {
    let running = open();
    (0..3000).for_each(|number| running.insert(number));
    let mut beyond = Vec::new();
    for turn in 0..50_000 {
        running.insert(turn + 3000);
        assert_eq!(running.take(), turn);
        if turn % 5000 == 2500 {
            // At first there is nothing that STORE has.
            let unlisted = running.tc.stats().unlisted;
            assert!(turn == 2500 || unlisted > 2000, "{unlisted} after {turn}");
            running.tc.compact().unwrap();
            let stats = running.tc.stats();
            assert_eq!((stats.records, stats.unlisted), (3000, 0));
        }
        if turn % 1000 == 0 {
            let (listed, passed) = (running.listed(), running.passed());
            if listed >= 3000 + FEW_REMOVED || passed >= FEW_REMOVED {
                beyond.push((turn, listed, passed));
            }
        }
    }
    assert!(beyond.len() <= 5, "of 50 looks: {beyond:?}");
    let expected: Vec<u64> = (50_000..53_000).collect();
    let running = running.open_again();
    assert_eq!(
        rows(&running.tc.begin(Level::Snapshot), Direction::Forward),
        expected
    );
}

/// Goal: where STORE has to be asked, what has left the order hides what STORE still has, in scans both ways
/// and in reads by key; a snapshot from before sees it all. Method: a queue opened again, of which memory
/// has nothing; rows go, some come back, with and without a merge in between.
#[test]
fn what_left_the_order_hides_what_store_has() {
    let running = open();
    (0..2000).for_each(|number| running.insert(number));
    running.tc.compact().unwrap();
    let running = running.open_again();
    let tc = &running.tc;
    let mut model: BTreeSet<u64> = (0..2000).collect();
    for turn in 0..4 {
        let before = tc.begin(Level::Snapshot);
        let expected_before: Vec<u64> = model.iter().copied().collect();
        for _ in 0..300 {
            let head = running.take();
            assert_eq!(Some(head), model.pop_first());
        }
        assert_eq!(rows(&before, Direction::Forward), expected_before);
        drop(before);
        running.settle();
        let stats = tc.stats();
        assert_eq!(stats.spaces_whole, 0, "STORE is asked");
        assert_eq!(running.passed(), 0);
        assert!(stats.unlisted >= 300, "{} left the order", stats.unlisted);
        // A row comes back into the midst of those that have gone.
        running.insert(turn * 300 + 7);
        model.insert(turn * 300 + 7);
        let now = tc.begin(Level::Snapshot);
        let mut expected: Vec<u64> = model.iter().copied().collect();
        assert_eq!(rows(&now, Direction::Forward), expected);
        expected.reverse();
        assert_eq!(rows(&now, Direction::Backward), expected);
        assert_eq!(now.get(SPACE, &key(turn * 300 + 6)).unwrap(), None);
        assert!(now.get(SPACE, &key(turn * 300 + 7)).unwrap().is_some());
        drop(now);
        if turn % 2 == 1 {
            tc.compact().unwrap();
            assert_eq!(tc.stats().unlisted, 0, "STORE has been told");
        }
    }
}

/// Goal: an open scan that has passed a chunk of the table does not bring back what left memory since.
/// Method: a scan of what only STORE has stops after a row; the row behind is removed, leaves the order, and,
/// posted, memory, while the scan's snapshot is from after the removal, or from before.
#[test]
fn an_open_scan_is_not_shown_what_has_left_memory_since() {
    for from_before in [false, true] {
        let running = open();
        (0..600).for_each(|number| running.insert(number));
        running.tc.compact().unwrap();
        let running = running.open_again();
        let tc = &running.tc;
        let removes = || {
            let mut txn = tc.begin(Level::Snapshot);
            (100..300).for_each(|number| txn.delete(SPACE, key(number)).unwrap());
            running.commit(txn);
        };
        if !from_before {
            removes();
        }
        let reader = tc.begin(Level::Snapshot);
        let mut scan = reader
            .scan(SPACE, &KeyRange::all(), Direction::Forward)
            .unwrap();
        let mut seen = vec![number(&scan.next(&reader).unwrap().unwrap().0)];
        if from_before {
            removes();
        }
        running.settle();
        tc.compact().unwrap();
        running.settle();
        while let Some((key, _)) = scan.next(&reader).unwrap() {
            seen.push(number(&key));
        }
        let expected: Vec<u64> = match from_before {
            true => (0..600).collect(),
            false => (0..100).chain(300..600).collect(),
        };
        assert_eq!(seen, expected, "from before: {from_before}");
    }
}

/// Goal: a snapshot that stays open keeps what it reads, and when it has gone everything leaves, also what
/// there was no room to remember. Method: more removals than are remembered.
#[test]
fn what_an_old_snapshot_held_up_leaves_after_it_also_when_it_was_forgotten() {
    let running = open();
    let count = REMOVALS_WAITING_MAX / PILES + 2000;
    (0..50).for_each(|number| running.insert(number));
    let old = running.tc.begin(Level::Snapshot);
    for turn in 0..count as u64 {
        running.insert(turn + 50);
        running.commit({
            let mut txn = running.tc.begin(Level::Snapshot);
            txn.delete(SPACE, key(turn)).unwrap();
            txn
        });
    }
    running.settle();
    assert_eq!(rows(&old, Direction::Forward), Vec::from_iter(0..50));
    assert!(running.listed() >= count, "the snapshot might read them");
    drop(old);
    running.settle();
    assert_eq!((running.listed(), running.tc.stats().records), (50, 50));
}

/// Goal: what was removed before a crash is neither back after it, nor in the way. Method: STORE has half of
/// what is removed; nothing is posted after that; then a new start from the log.
#[test]
fn removals_that_are_replayed_leave_the_order_as_well() {
    let running = open();
    (0..500).for_each(|number| running.insert(number));
    running.tc.compact().unwrap();
    (500..1000).for_each(|number| running.insert(number));
    (0..990).for_each(|number| assert_eq!(running.take(), number));
    let running = running.open_again();
    assert_eq!(
        rows(&running.tc.begin(Level::Snapshot), Direction::Forward),
        Vec::from_iter(990..1000)
    );
    assert!(running.tc.compact_if_wanted(), "a pass is wanted");
    assert_eq!(running.passed(), 0);
    running.tc.compact().unwrap();
    let running = running.open_again();
    assert_eq!(
        rows(&running.tc.begin(Level::Snapshot), Direction::Forward),
        Vec::from_iter(990..1000)
    );
}

/// Goal: a row that comes back where one has left the order is a phantom to whoever has scanned there.
/// Method: STORE has the row that is removed, so its entry stays and is put back.
#[test]
fn a_row_that_comes_back_into_the_order_is_a_phantom() {
    let running = open();
    (0..10).for_each(|number| running.insert(number));
    running.tc.compact().unwrap();
    (0..5).for_each(|number| assert_eq!(running.take(), number));
    running.settle();
    assert_eq!((running.passed(), running.tc.stats().unlisted), (0, 5));
    let mut reader = running.tc.begin(Level::Serializable);
    assert_eq!(head(&reader), Some(5));
    running.insert(3);
    assert_eq!(running.tc.stats().unlisted, 4);
    reader.delete(SPACE, key(5)).unwrap();
    match reader.commit(Durability::Async) {
        Err(Error::Conflict { kind, .. }) => assert_eq!(kind, ConflictKind::Phantom),
        other => panic!("{other:?}"),
    }
    assert_eq!(head(&running.tc.begin(Level::Serializable)), Some(3));
}

/// Goal: commits that are refused leave no entries behind. Method: each inserts a row and loses by another.
#[test]
fn refused_inserts_leave_nothing() {
    let running = open();
    running.insert(0);
    for turn in 1..1000 {
        let mut loser = running.tc.begin(Level::Snapshot);
        loser.get(SPACE, &key(0)).unwrap();
        loser
            .put(SPACE, key(0), Bytes::from_static(b"mine"))
            .unwrap();
        loser
            .put(SPACE, key(turn), Bytes::from_static(b"mine"))
            .unwrap();
        // Refused at the second entry, after the first was made.
        loser
            .put(SpaceId(1), key(turn), Bytes::from_static(b"mine"))
            .unwrap();
        running.insert(0);
        let lost = loser.commit(Durability::Async);
        assert!(matches!(lost, Err(Error::Conflict { .. })), "{lost:?}");
    }
    running.settle();
    assert_eq!(running.tc.stats().records, 1);
}
