//! Commits, readers, passes and who holds a row over one table: everybody reads the state at his snapshot, and a
//! commit that goes through has lost nothing to another.
//!
//! What is checked at the end, with all that was done in hand: each read found the newest commit at or
//! below its snapshot; nobody wrote between a commit's snapshot and its timestamp what that commit
//! has read or written.

use super::log::Log;
use crate::entry::{Found, Locked, RecordEntry, pause};
use crate::error::Error;
use crate::locks::{LockTable, Strength, WaitPolicy};
use crate::place::Place;
use crate::seats::{Gate, Seat, Seats, begin_anew};
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::yield_now;
use crate::table::{Extent, Sweep, Table, hash, hash_predictably};
// Not of `sync`: what the test notes is no step of it.
use parking_lot::Mutex;
use quintet_base::{SpaceId, Timestamp, TxnId};
use quintet_interleave::explore::{explore, finds, planted};
use quintet_interleave::scope;
use std::collections::{BTreeMap, HashMap};
use std::mem::ManuallyDrop;
use std::ops::Bound;

pub const SPACE: SpaceId = SpaceId(7);

pub type Key = &'static [u8];
pub const A: Key = b"a";
const B: Key = b"b";

/// A commit that went through, or is about to.
struct Done {
    snapshot: Timestamp,
    reads: Vec<Key>,
    writes: Vec<Key>,
}

/// What was found at a snapshot.
struct Seen {
    snapshot: Timestamp,
    key: Key,
    commit: Option<Timestamp>,
}

/// STORE as of a position: the newest commit to each key.
type Generation = (Timestamp, HashMap<Key, Timestamp>);

/// What became of an attempt to commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Committed,
    /// Somebody else was first.
    Refused,
    /// Somebody has locked a row.
    Wanted,
}

pub struct World {
    pub log: Log,
    pub seats: Seats,
    gate: Gate,
    locks: LockTable,
    pub table: ManuallyDrop<Table>,
    generations: Mutex<Vec<Generation>>,
    /// As `Shared::frozen`.
    frozen: AtomicU64,
    /// By commit, which of its changes are marked in the log; `None`: it has its place, and has not filled it.
    marked: Mutex<BTreeMap<Timestamp, Option<Vec<Key>>>>,
    done: Mutex<BTreeMap<Timestamp, Done>>,
    seen: Mutex<Vec<Seen>>,
}

impl World {
    pub fn new() -> World {
        begin_anew();
        hash_predictably();
        World {
            log: Log::new(),
            seats: Seats::new(),
            gate: Gate::default(),
            locks: LockTable::new(),
            table: ManuallyDrop::new(Table::new()),
            generations: Mutex::new(vec![(Timestamp::ZERO, HashMap::new())]),
            frozen: AtomicU64::new(0),
            marked: Mutex::default(),
            done: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// As `Shared::read`.
    fn read(&self, snapshot: Timestamp, key: Key) {
        let commit = self.find(snapshot, key);
        let seen = Seen {
            snapshot,
            key,
            commit,
        };
        self.seen.lock().push(seen);
    }

    fn find(&self, snapshot: Timestamp, key: Key) -> Option<Timestamp> {
        {
            let guard = quintet_index::pin();
            if let Some(entry) = self.table.find(hash(SPACE, key), SPACE, key, &guard) {
                match entry.read_at(snapshot, &self.seats, &guard) {
                    Found::Row(row, at) => {
                        assert_eq!(row, Log::expected(at), "another row");
                        return Some(at);
                    }
                    Found::Removed(at) => panic!("nobody has removed it, at {at}"),
                    Found::Below => {}
                }
            }
            if self.table.space_or_new(SPACE, || false).is_whole() {
                return None;
            }
        }
        let (position, commit, newest) = {
            let generations = self.generations.lock();
            let newer = generations.partition_point(|(position, _)| *position <= snapshot);
            let (position, state) = &generations[newer - 1];
            (
                *position,
                state.get(key).copied(),
                newer == generations.len(),
            )
        };
        let commit = commit?;
        if newest {
            let guard = quintet_index::pin();
            let row = Log::expected(commit);
            self.table.fill(SPACE, key, commit, &row, position, &guard);
        }
        Some(commit)
    }

    /// Reads at one snapshot, twice.
    fn look(&self, keys: &[Key]) {
        let seat = self.seats.take();
        let snapshot = self.seats.register(&seat, || self.log.end());
        for _ in 0..2 {
            keys.iter().for_each(|key| self.read(snapshot, key));
        }
        seat.leave();
    }

    /// As `commit::commit`, serializable. Writes in the order of keys.
    pub fn commit(&self, reads: &[Key], writes: &[Key]) {
        let seat = self.seats.take();
        let snapshot = self.seats.register(&seat, || self.log.end());
        reads.iter().for_each(|key| self.read(snapshot, key));
        let txn = seat.next_txn();
        if self.attempt(&seat, txn, snapshot, reads, writes) == Outcome::Wanted {
            self.lock_rows(txn, writes);
            let outcome = self.attempt(&seat, txn, snapshot, reads, writes);
            assert_ne!(outcome, Outcome::Wanted, "the rows are this transaction's");
            self.release_rows(txn, writes);
        }
        seat.leave();
    }

    /// One attempt to commit from a seat.
    pub fn attempt(
        &self,
        seat: &Seat,
        txn: TxnId,
        snapshot: Timestamp,
        reads: &[Key],
        writes: &[Key],
    ) -> Outcome {
        self.gate.enter(seat);
        let outcome = self.commit_from(seat, txn, snapshot, reads, writes);
        seat.set_none();
        outcome
    }

    fn commit_from(
        &self,
        seat: &Seat,
        txn: TxnId,
        snapshot: Timestamp,
        reads: &[Key],
        writes: &[Key],
    ) -> Outcome {
        let guard = quintet_index::pin();
        let late = planted("commit: locks after its place");
        let early = planted("commit: validates before its place");
        let hasty = planted("commit: asks whose row it is before it locks");
        let wanted_before = hasty && self.is_wanted(txn, writes);
        let mut entries: Vec<&RecordEntry> = Vec::new();
        if !late && !self.lock(seat, snapshot, writes, &guard, &mut entries) {
            entries.iter().for_each(|entry| entry.unlock());
            return Outcome::Refused;
        }
        if wanted_before || !hasty && self.is_wanted(txn, writes) {
            entries.iter().for_each(|entry| entry.unlock());
            return Outcome::Wanted;
        }
        let frozen_before = self.frozen.load(Ordering::SeqCst);
        let valid_before =
            !early || self.validate(seat, snapshot, Timestamp(u64::MAX), reads, &guard);
        seat.set_reserving();
        let timestamp = self.log.reserve(|timestamp| {
            let done = Done {
                snapshot,
                reads: reads.to_vec(),
                writes: writes.to_vec(),
            };
            self.done.lock().insert(timestamp, done);
            self.marked.lock().insert(timestamp, None);
        });
        seat.set_timestamp(timestamp);
        let locked_late = !late || self.lock(seat, snapshot, writes, &guard, &mut entries);
        let valid = match early {
            true => valid_before,
            false => self.validate(seat, snapshot, timestamp, reads, &guard),
        };
        if !valid || !locked_late {
            self.done.lock().remove(&timestamp);
            self.marked.lock().insert(timestamp, Some(Vec::new()));
            entries.iter().for_each(|entry| entry.unlock());
            return Outcome::Refused;
        }
        let frozen = match planted("commit: asks for the freeze before its place") {
            true => frozen_before,
            false => self.frozen.load(Ordering::SeqCst),
        };
        let marked = writes.iter().zip(&entries);
        let marked = marked.filter(|(_, entry)| entry.newest().0 <= frozen);
        let marked = marked.map(|(key, _)| *key).collect();
        let row = self.log.fill(timestamp);
        self.marked.lock().insert(timestamp, Some(marked));
        if planted("commit: let go before the install") {
            entries.iter().for_each(|entry| entry.unlock());
        }
        let readers = self.seats.counted(|| self.log.end());
        for entry in &entries {
            entry.install_logged(timestamp, Some(row), &readers, &guard);
        }
        entries.iter().for_each(|entry| entry.unlock());
        Outcome::Committed
    }

    /// As `Section::is_in_the_way`.
    fn is_wanted(&self, txn: TxnId, writes: &[Key]) -> bool {
        fence(Ordering::SeqCst);
        let wanted = |key: &Key| self.locks.is_wanted(hash(SPACE, key), txn);
        !planted("commit: does not ask whose row it is") && writes.iter().any(wanted)
    }

    /// In the order of keys, so that no ring can close; without a queue, since nothing here can be woken.
    pub fn lock_rows(&self, txn: TxnId, rows: &[Key]) {
        for key in rows {
            let place = Place::new(SPACE, key);
            loop {
                let asked = self
                    .locks
                    .acquire(txn, place, Strength::Exclusive, WaitPolicy::Refuse);
                match asked {
                    Ok(_) => break,
                    Err(Error::Locked) => yield_now(),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    pub fn release_rows(&self, txn: TxnId, rows: &[Key]) {
        for key in rows {
            self.locks.release(txn, hash(SPACE, key));
        }
    }

    /// Locks the entries; false if another committer was first.
    fn lock<'g>(
        &'g self,
        seat: &Seat,
        snapshot: Timestamp,
        writes: &[Key],
        guard: &'g quintet_index::Guard,
        entries: &mut Vec<&'g RecordEntry>,
    ) -> bool {
        for key in writes {
            let mut spins = 0;
            let entry = loop {
                let in_store = || false;
                let entry = self
                    .table
                    .find_or_make(hash(SPACE, key), SPACE, key, in_store, guard);
                match entry.lock_for_commit(seat.number()) {
                    Locked::Yes => break entry,
                    Locked::Busy | Locked::Dead => pause(&mut spins),
                }
            };
            entries.push(entry);
            let newest = entry.newest();
            let unknown = newest == Timestamp::ZERO && snapshot < self.table.floor();
            if newest > snapshot || unknown {
                return false;
            }
        }
        true
    }

    /// As `commit::validate_reads`.
    fn validate(
        &self,
        seat: &Seat,
        snapshot: Timestamp,
        mine: Timestamp,
        reads: &[Key],
        guard: &quintet_index::Guard,
    ) -> bool {
        reads.iter().all(|key| {
            let entry = self.table.find(hash(SPACE, key), SPACE, key, guard);
            let number = seat.number();
            let changed =
                |entry: &RecordEntry| entry.changed_since(snapshot, mine, number, &self.seats);
            if entry.and_then(changed).is_some() {
                return false;
            }
            let silent = entry.is_none_or(|entry| entry.newest() == Timestamp::ZERO);
            !(silent && snapshot < self.table.floor())
        })
    }

    /// As `compact::freeze`.
    fn freeze(&self) -> Timestamp {
        if !planted("pass: does not say that it freezes") {
            self.frozen.store(u64::MAX, Ordering::SeqCst);
        }
        let frozen = self.log.end();
        self.frozen.store(frozen.0, Ordering::SeqCst);
        frozen
    }

    /// Records whose changes are marked in the log behind a position, once it is filled up to another one.
    fn marked(&self, from: Timestamp, upto: Timestamp) -> Vec<Key> {
        loop {
            let marked = self.marked.lock();
            let behind = marked.range((Bound::Excluded(from), Bound::Included(upto)));
            let keys: Option<Vec<&Vec<Key>>> = behind.map(|(_, keys)| keys.as_ref()).collect();
            match keys {
                Some(keys) => return keys.into_iter().flatten().copied().collect(),
                None => drop(marked),
            }
            yield_now();
        }
    }

    /// As `compact`: merges, publishes, evicts what it may.
    fn pass(&self) {
        let frozen = self.freeze();
        let (posted, mut state) = self.generations.lock().last().expect("one").clone();
        let readers = self.seats.readers(|| self.log.end()).and(frozen);
        for key in self.marked(posted, frozen) {
            let guard = quintet_index::pin();
            let Some(entry) = self.table.find(hash(SPACE, key), SPACE, key, &guard) else {
                continue;
            };
            if entry.lock_for_upkeep() == Locked::Yes {
                entry.thin(&readers, &guard);
                entry.unlock();
            }
            if let Found::Row(_, at) = entry.read_at(frozen, &self.seats, &guard) {
                state.insert(key, at);
            }
        }
        self.generations.lock().push((frozen, state));
        let (mut snapshots, _) = self.seats.in_use(|| self.log.end());
        if planted("pass: nobody reads") {
            snapshots.clear();
        }
        let snapshots: Vec<(Timestamp, Timestamp)> = {
            let generations = self.generations.lock();
            let assign = |snapshot: Timestamp| {
                let newer = generations.partition_point(|(position, _)| *position <= snapshot);
                generations[newer.saturating_sub(1)].0
            };
            snapshots.into_iter().map(|it| (it, assign(it))).collect()
        };
        self.table.evict(&Sweep {
            posted: frozen,
            snapshots: &snapshots,
            hard: true,
            bytes: i64::MAX,
            extent: Extent::Twice,
        });
    }

    /// Everything is as it should be, looked at from the end.
    pub fn check(&self) {
        self.look(&[A, B]);
        let done = self.done.lock();
        for seen in self.seen.lock().iter() {
            let upto = done.range(..=seen.snapshot);
            let newest = upto.rev().find(|(_, done)| done.writes.contains(&seen.key));
            let newest = newest.map(|(at, _)| *at);
            let Seen { snapshot, key, .. } = seen;
            assert_eq!(seen.commit, newest, "{key:?} read at {snapshot}");
        }
        for (timestamp, commit) in done.iter() {
            let between = done
                .iter()
                .filter(|(at, _)| **at > commit.snapshot && *at < timestamp);
            for (winner, other) in between {
                let lost = |key: &&Key| commit.reads.contains(key) || commit.writes.contains(key);
                let lost = other.writes.iter().find(lost);
                assert_eq!(lost, None, "{winner} wrote what {timestamp} relied on");
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A test that fails leaves the table: what else is under way may be in it.
        if !std::thread::panicking() {
            // SAFETY: nobody uses it after this.
            unsafe { ManuallyDrop::drop(&mut self.table) };
        }
    }
}

fn transactions_are_whole() {
    let world = World::new();
    scope(|scope| {
        scope.spawn(|| (0..2).for_each(|_| world.commit(&[], &[A, B])));
        scope.spawn(|| world.commit(&[A], &[A, B]));
        world.look(&[B, A]);
        world.look(&[A, B]);
    });
    world.check();
}

#[test]
fn commit_transactions_are_whole() {
    explore(
        "commit: transactions are whole",
        5000,
        transactions_are_whole,
    );
    for (mistake, within) in [
        ("commit: let go before the install", 100),
        ("commit: locks after its place", 100),
        ("entry: who reserves comes later", 5000),
        ("entry: who has a timestamp is done", 500),
    ] {
        finds(mistake, within, transactions_are_whole);
    }
}

fn the_order_is_serial() {
    let world = World::new();
    scope(|scope| {
        scope.spawn(|| world.commit(&[A], &[B]));
        scope.spawn(|| world.commit(&[B], &[A]));
        scope.spawn(|| world.commit(&[], &[A]));
        world.look(&[A, B]);
    });
    world.check();
}

#[test]
fn commit_the_order_is_serial() {
    explore("commit: the order is serial", 6000, the_order_is_serial);
    for (mistake, within) in [
        ("commit: validates before its place", 2000),
        ("entry: who is about to install is not seen", 500),
    ] {
        finds(mistake, within, the_order_is_serial);
    }
}

fn eviction_is_not_noticed() {
    let world = World::new();
    world.commit(&[], &[A]);
    scope(|scope| {
        scope.spawn(|| (0..2).for_each(|_| world.commit(&[], &[A])));
        scope.spawn(|| world.commit(&[A], &[B]));
        scope.spawn(|| world.pass());
        world.look(&[A]);
        world.look(&[A]);
    });
    world.pass();
    world.check();
}

#[test]
fn commit_eviction_is_not_noticed() {
    explore(
        "commit: eviction is not noticed",
        5000,
        eviction_is_not_noticed,
    );
    for (mistake, within) in [
        ("entry: the dead look free", 5000),
        ("pass: nobody reads", 1000),
        ("pass: does not say that it freezes", 20_000),
        ("commit: asks for the freeze before its place", 5000),
    ] {
        finds(mistake, within, eviction_is_not_noticed);
    }
}
