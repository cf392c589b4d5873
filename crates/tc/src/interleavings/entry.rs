//! One record under committers, readers and upkeep: a reader at a snapshot finds exactly the newest commit
//! at or below it, whole, however long it looks.

use super::log::Log;
use crate::entry::{Found, Locked, RecordEntry, pause};
use crate::seats::Seats;
use quintet_base::{SpaceId, Timestamp};
use quintet_interleave::explore::{explore, finds, planted};
use quintet_interleave::{point, scope};
use std::ptr::NonNull;
use std::sync::Arc;

/// Every commit writes the one record: so a snapshot, which is the log's end, names the commit that
/// it must find.
struct World {
    log: Arc<Log>,
    seats: Seats,
    entry: NonNull<RecordEntry>,
}

// SAFETY: the entry is shared as the table shares entries.
unsafe impl Send for World {}
// SAFETY: as above.
unsafe impl Sync for World {}

impl World {
    fn new() -> World {
        crate::seats::begin_anew();
        let world = World {
            log: Arc::new(Log::new()),
            seats: Seats::new(),
            entry: RecordEntry::new(SpaceId(7), b"one record"),
        };
        world.entry().unlock();
        world
    }

    fn entry(&self) -> &RecordEntry {
        // SAFETY: freed by `drop` only.
        unsafe { self.entry.as_ref() }
    }

    /// As `commit::commit` does it; every second row is a copy.
    fn commit(&self) {
        let seat = self.seats.take();
        self.seats.register(&seat, || self.log.end());
        let guard = quintet_index::pin();
        let entry = self.entry();
        seat.set_locking();
        let mut spins = 0;
        while entry.lock_for_commit(seat.number()) != Locked::Yes {
            pause(&mut spins);
        }
        seat.set_reserving();
        let timestamp = self.log.reserve(|_| ());
        seat.set_timestamp(timestamp);
        let row = Some(self.log.fill(timestamp));
        if planted("commit: let go before the install") {
            entry.unlock();
        }
        let readers = self.seats.readers(|| self.log.end());
        if timestamp.0.is_multiple_of(32) {
            entry.install_copy(timestamp, row, &readers, &guard);
        } else {
            entry.install_logged(timestamp, row, &readers, &guard);
        }
        entry.unlock();
        seat.set_none();
        seat.leave();
    }

    /// Looks twice at one snapshot, each time under a guard that protects what was found.
    fn look(&self) {
        let seat = self.seats.take();
        let snapshot = self.seats.register(&seat, || self.log.end());
        for _ in 0..2 {
            let guard = quintet_index::pin();
            let found = self.entry().read_at(snapshot, &self.seats, &guard);
            point();
            match found {
                Found::Row(row, at) => {
                    assert_eq!(at, snapshot, "another commit");
                    assert_eq!(row, Log::expected(at), "another row");
                }
                Found::Below => assert_eq!(snapshot, Timestamp::ZERO, "no commit"),
                Found::Removed(at) => panic!("nobody has removed it, at {at}"),
            }
        }
        seat.leave();
    }

    /// As the compactor does it: drops versions that nobody reads, copies the others out of the log's memory
    /// and gives that back.
    fn tend(&self) {
        let guard = quintet_index::pin();
        let entry = self.entry();
        let readers = self.seats.readers(|| self.log.end());
        let mut spins = 0;
        while entry.lock_for_upkeep() != Locked::Yes {
            pause(&mut spins);
        }
        let upto = entry.newest();
        entry.thin(&readers, &guard);
        if !planted("upkeep: versions stay in memory that is given back") {
            entry.keep_upto(upto, &guard);
        }
        entry.unlock();
        if planted("upkeep: memory is given back at once") {
            self.log.give_back(upto);
        } else {
            let log = Arc::clone(&self.log);
            guard.defer(move || log.give_back(upto));
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // SAFETY: exclusive, and in no index.
        unsafe { RecordEntry::free(self.entry.as_ptr()) };
    }
}

fn readers_find_their_commit() {
    let world = World::new();
    scope(|scope| {
        scope.spawn(|| (0..2).for_each(|_| world.commit()));
        scope.spawn(|| (0..2).for_each(|_| world.commit()));
        scope.spawn(|| (0..2).for_each(|_| world.look()));
        world.look();
    });
    assert_eq!(world.log.end(), Timestamp(64));
    world.look();
}

#[test]
fn entry_readers_find_their_commit() {
    explore(
        "entry: readers find their commit",
        6000,
        readers_find_their_commit,
    );
    for (mistake, within) in [
        ("entry: no second look", 200),
        ("entry: who reserves comes later", 5000),
        ("entry: who has a timestamp is done", 500),
        ("entry: the newest version is enough", 500),
        ("commit: let go before the install", 100),
    ] {
        finds(mistake, within, readers_find_their_commit);
    }
}

fn upkeep_is_not_noticed() {
    let world = World::new();
    scope(|scope| {
        scope.spawn(|| (0..3).for_each(|_| world.commit()));
        scope.spawn(|| (0..2).for_each(|_| world.tend()));
        scope.spawn(|| (0..2).for_each(|_| world.look()));
        world.look();
    });
    world.tend();
    world.look();
}

#[test]
fn entry_upkeep_is_not_noticed() {
    explore("entry: upkeep is not noticed", 6000, upkeep_is_not_noticed);
    for (mistake, within) in [
        ("upkeep: versions stay in memory that is given back", 100),
        ("upkeep: memory is given back at once", 500),
        ("entry: the newest version is enough", 500),
    ] {
        finds(mistake, within, upkeep_is_not_noticed);
    }
}
