//! Removed records leave the order and the table while others commit to them and read.
//!
//! What is checked: at one snapshot a scan of the order and a look by key find the same, and what they
//! find was committed; at the end the order lacks what it says it lacks.

use super::commit::{A, Key, SPACE};
use crate::entry::{Found, Locked, pause};
use crate::seats::{Seats, begin_anew};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::table::{Removed, Table, Water, hash, hash_predictably};
use quintet_base::Timestamp;
use quintet_index::Entry;
use quintet_interleave::explore::{explore, finds};
use quintet_interleave::scope;
use std::mem::ManuallyDrop;
use std::ops::Bound;

struct World {
    seats: Seats,
    table: ManuallyDrop<Table>,
    end: AtomicU64,
    /// What the sweeper assumes of STORE.
    is_told: bool,
}

impl World {
    /// A record that was removed, of which STORE knows or not.
    fn new(in_store: bool, is_told: bool) -> World {
        begin_anew();
        hash_predictably();
        let world = World {
            seats: Seats::new(),
            table: ManuallyDrop::new(Table::new()),
            end: AtomicU64::new(8),
            is_told,
        };
        world.commit(A, true);
        if in_store {
            let guard = quintet_index::pin();
            let entry = world.table.find(hash(SPACE, A), SPACE, A, &guard);
            entry.expect("it was committed").note_in_store();
        }
        world.commit(A, false);
        world
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.end.load(Ordering::SeqCst))
    }

    /// As `commit::commit` at READ COMMITTED, of one row or its removal.
    fn commit(&self, key: Key, row: bool) {
        let seat = self.seats.take();
        self.seats.register(&seat, || self.now());
        seat.set_locking();
        let guard = quintet_index::pin();
        let mut spins = 0;
        let entry = loop {
            let in_store = || false;
            let entry = self
                .table
                .find_or_make(hash(SPACE, key), SPACE, key, in_store, &guard);
            match entry.lock_for_commit(seat.number()) {
                Locked::Yes => break entry,
                Locked::Busy | Locked::Dead => pause(&mut spins),
            }
        };
        self.table.list_again(entry, &guard);
        seat.set_reserving();
        let timestamp = Timestamp(self.end.fetch_add(8, Ordering::SeqCst) + 8);
        seat.set_timestamp(timestamp);
        let readers = self.seats.readers(|| self.now());
        let bytes = timestamp.0.to_be_bytes();
        entry.install_copy(timestamp, row.then_some(&bytes), &readers, &guard);
        entry.unlock();
        seat.set_none();
        seat.leave();
    }

    /// At one snapshot by key, by the order, and by key again.
    fn look(&self, key: Key) {
        let seat = self.seats.take();
        let snapshot = self.seats.register(&seat, || self.now());
        let first = self.find(key, snapshot);
        let scanned = {
            let guard = quintet_index::pin();
            let space = self.table.space_or_new(SPACE, || false);
            let mut entries = Vec::new();
            let (from, to) = (Bound::Unbounded, Bound::Unbounded);
            space
                .ordered
                .chunk(from, to, false, 9, &guard, &mut entries);
            assert!(entries.len() <= 1, "one record is there twice");
            let entry = entries.into_iter().find(|entry| entry.key() == key);
            entry.and_then(|entry| row(entry.read_at(snapshot, &self.seats, &guard)))
        };
        assert_eq!(scanned, first, "by the order and by key at {snapshot}");
        assert_eq!(self.find(key, snapshot), first, "again at {snapshot}");
        seat.leave();
    }

    /// As a pass of the compactor: twice at one snapshot, by key alone.
    fn hold(&self, key: Key) {
        let seat = self.seats.take();
        let snapshot = self.seats.register_by_key(&seat, || self.now());
        let first = self.find(key, snapshot);
        assert_eq!(self.find(key, snapshot), first, "again at {snapshot}");
        seat.leave();
    }

    fn find(&self, key: Key, snapshot: Timestamp) -> Option<Timestamp> {
        let guard = quintet_index::pin();
        let entry = self.table.find(hash(SPACE, key), SPACE, key, &guard)?;
        row(entry.read_at(snapshot, &self.seats, &guard))
    }

    /// As `removals` does.
    fn sweep(&self, key: Key) {
        let low = self.seats.readers(|| self.now()).low_water();
        let guard = quintet_index::pin();
        let hash = hash(SPACE, key);
        let Some(entry) = self.table.find(hash, SPACE, key, &guard) else {
            return;
        };
        let removed = Removed {
            timestamp: entry.newest(),
            hash,
            space: SPACE,
            key: key.into(),
        };
        let water = Water {
            low,
            covered: if self.is_told {
                low.all
            } else {
                Timestamp::ZERO
            },
            durable: Timestamp(u64::MAX),
        };
        self.table.take_away(&removed, &water, &guard);
    }

    fn check(&self) {
        self.look(A);
        let guard = quintet_index::pin();
        let entry = self.table.find(hash(SPACE, A), SPACE, A, &guard);
        let unlisted = entry.is_some_and(|entry| entry.is_unlisted());
        assert_eq!(self.table.unlisted(), u64::from(unlisted));
        let space = self.table.space_or_new(SPACE, || false);
        let listed = entry.is_some() && !unlisted;
        assert_eq!(space.ordered.len(), usize::from(listed));
    }
}

fn row(found: Found<'_>) -> Option<Timestamp> {
    match found {
        Found::Row(row, at) => {
            assert_eq!(row, at.0.to_be_bytes(), "another row");
            Some(at)
        }
        Found::Removed(_) | Found::Below => None,
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // As in `commit`.
        if !std::thread::panicking() {
            // SAFETY: nobody uses it after this.
            unsafe { ManuallyDrop::drop(&mut self.table) };
        }
    }
}

fn they_come_and_go(in_store: bool, is_told: bool) {
    let world = World::new(in_store, is_told);
    scope(|scope| {
        scope.spawn(|| (0..3).for_each(|_| world.sweep(A)));
        scope.spawn(|| {
            [true, false]
                .into_iter()
                .for_each(|row| world.commit(A, row))
        });
        scope.spawn(|| world.commit(A, true));
        world.look(A);
        world.look(A);
    });
    world.check();
}

/// STORE has the record and has not been told: it leaves the order and comes back.
fn they_leave_the_order() {
    they_come_and_go(true, false);
}

/// The same beside a pass, which goes on finding what it is to tell STORE of.
fn they_leave_the_order_beside_a_pass() {
    let world = World::new(true, false);
    world.commit(A, true);
    scope(|scope| {
        scope.spawn(|| {
            world.commit(A, false);
            world.sweep(A);
        });
        scope.spawn(|| world.sweep(A));
        scope.spawn(|| world.look(A));
        world.hold(A);
    });
    world.check();
}

/// STORE has been told, or never had it: it leaves the table and is made again.
fn they_leave_the_table() {
    they_come_and_go(true, true);
    they_come_and_go(false, false);
}

#[test]
fn removed_records_leave_the_order() {
    explore("removed: they leave the order", 5000, they_leave_the_order);
    for (mistake, within) in [
        ("removed: what is committed to stays out of the order", 1000),
        ("removed: nobody reads", 5000),
    ] {
        finds(mistake, within, they_leave_the_order);
    }
}

#[test]
fn removed_records_leave_the_order_beside_a_pass() {
    explore(
        "removed: they leave the order beside a pass",
        5000,
        they_leave_the_order_beside_a_pass,
    );
    finds(
        "removed: a pass reads nothing",
        5000,
        they_leave_the_order_beside_a_pass,
    );
}

#[test]
fn removed_records_leave_the_table() {
    explore("removed: they leave the table", 5000, they_leave_the_table);
    for (mistake, within) in [("removed: nobody reads", 5000)] {
        finds(mistake, within, they_leave_the_table);
    }
}
