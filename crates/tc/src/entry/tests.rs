//! One entry by hand, and one entry under committers, readers and upkeep at once.
//!
//! Also for Miri (`tests/miri`), where the rounds shrink.

use super::*;
use crate::seats::{Readers, Seats};
use quintet_rt::threads::yield_now;
use std::sync::atomic::AtomicBool;

const SPACE: SpaceId = SpaceId(7);

/// An entry that is freed at the end of the test, when nobody has it any more.
struct Owner(NonNull<RecordEntry>);

impl Owner {
    fn new(key: &[u8]) -> Owner {
        Owner(RecordEntry::new(SPACE, key))
    }

    fn entry(&self) -> &RecordEntry {
        // SAFETY: freed by `drop` only.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: exclusive, and in no index.
        unsafe { RecordEntry::free(self.0.as_ptr()) };
    }
}

fn read(entry: &RecordEntry, snapshot: u64, seats: &Seats) -> Option<(Option<Vec<u8>>, u64)> {
    let guard = quintet_index::pin();
    match entry.read_at(Timestamp(snapshot), seats, &guard) {
        Found::Row(row, at) => Some((Some(row.to_vec()), at.0)),
        Found::Removed(at) => Some((None, at.0)),
        Found::Below => None,
    }
}

#[test]
fn a_key_of_any_length_is_there_and_a_short_one_takes_one_line() {
    let bytes: Vec<u8> = (1..=200).collect();
    for len in 0..bytes.len() {
        let owner = Owner::new(&bytes[..len]);
        let entry = owner.entry();
        assert_eq!(entry.key(), &bytes[..len]);
        assert!(entry.is(SPACE, &bytes[..len]));
        assert!(!entry.is(SPACE, &bytes[..len + 1]));
        let line = entry.memory_bytes() == 64 + INDEX_BYTES;
        // Four integers of a key take 20 bytes.
        assert_eq!(line, len <= 24, "{len}");
        entry.unlock();
    }
}

#[test]
fn snapshots_find_their_versions_until_they_are_pruned() {
    let (owner, seats) = (
        Owner::new(b"a key of more than sixteen bytes"),
        Seats::new(),
    );
    let entry = owner.entry();
    assert!(entry.is(SPACE, b"a key of more than sixteen bytes"));
    let guard = quintet_index::pin();
    let all = Readers::default();
    assert_eq!(read(entry, 100, &seats), None);
    entry.install_copy(Timestamp(8), Some(b"one"), &all, &guard);
    entry.install_logged(Timestamp(16), Some(b"two"), &all, &guard);
    entry.install_copy(Timestamp(24), None, &all, &guard);
    entry.install_copy(Timestamp(32), Some(b""), &all, &guard);
    entry.unlock();
    let row = |bytes: &[u8]| Some(bytes.to_vec());
    assert_eq!(read(entry, 7, &seats), None);
    assert_eq!(read(entry, 8, &seats), Some((row(b"one"), 8)));
    assert_eq!(read(entry, 23, &seats), Some((row(b"two"), 16)));
    assert_eq!(read(entry, 24, &seats), Some((None, 24)));
    assert_eq!(read(entry, 99, &seats), Some((row(b""), 32)));
    assert_eq!(entry.needed_by(Timestamp(20), &guard), Some(Timestamp(16)));
    for snapshot in [7, 8, 23, 31, 32, 99] {
        // Nothing to be seen but that it reads only what is there.
        entry.bring_shown(Timestamp(snapshot), Depth::First, &guard);
        entry.bring_shown(Timestamp(snapshot), Depth::Second, &guard);
    }
    assert_eq!(entry.needed_by(Timestamp(7), &guard), None);
    assert_eq!(entry.lock_for_upkeep(), Locked::Yes);
    assert_eq!(entry.lock_for_commit(3), Locked::Busy);
    let seat = seats.take();
    seats.register(&seat, || Timestamp(20));
    let readers = seats.readers(|| Timestamp(32));
    assert_eq!(entry.thin(&readers, &guard), 1, "of three below the newest");
    assert_eq!(read(entry, 8, &seats), None);
    assert_eq!(read(entry, 16, &seats), Some((row(b"two"), 16)));
    assert_eq!(read(entry, 20, &seats), Some((row(b"two"), 16)));
    assert_eq!(read(entry, 32, &seats), Some((row(b""), 32)));
    seat.leave();
    entry.unlock_dead();
    assert_eq!(entry.lock_for_commit(3), Locked::Dead);
}

/// Goal: while an old snapshot is held, as the compactor holds one, a row that everybody writes keeps the version
/// it reads and those since the last count of the readers, not all. Method: commits, counted as a thread counts.
#[test]
fn an_old_snapshot_keeps_no_long_chain() {
    crate::seats::begin_anew();
    let seats = Seats::new();
    let owner = Owner::new(b"hot");
    let entry = owner.entry();
    let old = seats.take();
    let mut longest = 0;
    for number in 1..=1000u64 {
        let end = || Timestamp(number * 8);
        let guard = quintet_index::pin();
        if number == 2 {
            seats.register(&old, || Timestamp(8));
        }
        let value = number.to_be_bytes();
        entry.install_copy(end(), Some(&value), &seats.counted(end), &guard);
        longest = longest.max(entry.versions_below(&guard));
    }
    assert_eq!(
        read(entry, 8, &seats),
        Some((Some(1u64.to_be_bytes().to_vec()), 8))
    );
    let counts = crate::seats::COUNT_EVERY as usize;
    assert!(
        longest >= counts / 4 * 3,
        "{longest} versions: nobody read them"
    );
    assert!(longest <= 2 * counts + 2, "{longest} versions");
    old.leave();
}

/// Goal: what a snapshot finds does not depend on what was dropped for want of readers. Method: every set of
/// snapshots over a chain of eight versions, written before and after the readers were counted.
#[test]
fn dropping_versions_that_nobody_reads_is_not_noticed() {
    let seats = Seats::new();
    let guard = quintet_index::pin();
    // Under Miri every thirteenth, for the time they take.
    for set in (0u32..1 << 8).step_by(if cfg!(miri) { 13 } else { 1 }) {
        let owner = Owner::new(b"k");
        let entry = owner.entry();
        let install = |at: u64| {
            let value = at.to_be_bytes();
            entry.install_copy(Timestamp(at), Some(&value), &Readers::default(), &guard);
        };
        (1..=6).for_each(|number| install(number * 8));
        let snapshots: Vec<u64> = (0..8)
            .filter(|bit| set & 1 << bit != 0)
            .map(|bit| bit * 8 - bit % 2)
            .collect();
        let taken: Vec<_> = snapshots
            .iter()
            .map(|at| {
                let seat = seats.take();
                // As of before: the log's end was there.
                seats.register(&seat, || Timestamp(*at));
                seat
            })
            .collect();
        let readers = snapshots
            .iter()
            .fold(Seats::new().readers(|| Timestamp(56)), |readers, at| {
                readers.and(Timestamp(*at))
            });
        install(56);
        install(64);
        let left = entry.thin(&readers, &guard);
        assert!(left <= snapshots.len() + 2, "{snapshots:?}: {left}");
        for snapshot in snapshots.iter().copied().chain([56, 60, 64, 90]) {
            let expected = (snapshot >= 8).then(|| {
                let at = (snapshot / 8 * 8).min(64);
                // There is none between 48 and 56 but what was installed at 56.
                (Some(at.to_be_bytes().to_vec()), at)
            });
            assert_eq!(
                read(entry, snapshot, &seats),
                expected,
                "{snapshots:?} at {snapshot}"
            );
        }
        taken.iter().for_each(|seat| seat.leave());
    }
}

#[test]
fn what_lies_in_memory_that_is_given_back_is_copied_and_nothing_else() {
    let (owner, seats) = (Owner::new(b"k"), Seats::new());
    let entry = owner.entry();
    let mut buffer = b"....one.....two....".to_vec();
    // SAFETY: an address of our own that outlives its use; the slices are gone before it changes.
    let logged = |from: usize, to: usize| unsafe {
        std::slice::from_raw_parts(buffer.as_ptr().add(from), to - from)
    };
    let guard = quintet_index::pin();
    entry.install_logged(
        Timestamp(8),
        Some(logged(4, 7)),
        &Readers::default(),
        &guard,
    );
    entry.install_logged(
        Timestamp(16),
        Some(logged(12, 15)),
        &Readers::default(),
        &guard,
    );
    assert_eq!(entry.keep_upto(Timestamp(8), &guard), 3);
    assert_eq!(entry.keep_upto(Timestamp(16), &guard), 3);
    assert_eq!(entry.keep_upto(Timestamp(24), &guard), 0, "once is enough");
    entry.unlock();
    buffer.fill(b'!');
    assert_eq!(read(entry, 8, &seats), Some((Some(b"one".to_vec()), 8)));
    assert_eq!(read(entry, 16, &seats), Some((Some(b"two".to_vec()), 16)));
}

/// A log of which only the end matters, and one record that every commit writes.
struct World {
    end: AtomicU64,
    seats: Seats,
    owner: Owner,
    done: AtomicBool,
}

// SAFETY: the entry is shared as the table shares entries.
unsafe impl Sync for World {}

impl World {
    fn end(&self) -> Timestamp {
        Timestamp(self.end.load(Ordering::Acquire))
    }

    /// Commits as `commit::commit` does. The value says the timestamp.
    fn commit(&self) {
        let seat = self.seats.take();
        self.seats.register(&seat, || self.end());
        let guard = quintet_index::pin();
        let entry = self.owner.entry();
        seat.set_locking();
        while entry.lock_for_commit(seat.number()) != Locked::Yes {
            yield_now();
        }
        seat.set_reserving();
        let timestamp = Timestamp(self.end.fetch_add(8, Ordering::AcqRel) + 8);
        seat.set_timestamp(timestamp);
        let value = timestamp.0.to_be_bytes().repeat(3);
        let readers = self.seats.readers(|| self.end());
        entry.install_copy(timestamp, Some(&value), &readers, &guard);
        entry.unlock();
        seat.set_none();
        seat.leave();
    }

    /// The newest commit is at the log's end: a snapshot there sees exactly it, now and later.
    fn look(&self) {
        let seat = self.seats.take();
        let snapshot = self.seats.register(&seat, || self.end());
        for _ in 0..3 {
            let expected = (snapshot.0 > 0).then(|| {
                let value = snapshot.0.to_be_bytes().repeat(3);
                (Some(value), snapshot.0)
            });
            assert_eq!(read(self.owner.entry(), snapshot.0, &self.seats), expected);
            yield_now();
        }
        seat.leave();
    }

    fn tend(&self) {
        let guard = quintet_index::pin();
        let entry = self.owner.entry();
        if entry.lock_for_upkeep() == Locked::Yes {
            entry.thin(&self.seats.readers(|| self.end()), &guard);
            entry.unlock();
        }
    }
}

/// Goal: a reader at the log's end never misses a commit at or below it, never sees half of one, and
/// keeps what it saw. Method: every commit writes the one record, so the end says what is newest.
#[test]
fn readers_see_exactly_the_commit_at_their_snapshot() {
    let rounds = if cfg!(miri) { 60 } else { 20_000 };
    let world = World {
        end: AtomicU64::new(0),
        seats: Seats::new(),
        owner: Owner::new(b"one record"),
        done: AtomicBool::new(false),
    };
    world.owner.entry().unlock();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        world.commit();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !world.done.load(Ordering::Acquire) {
                world.look();
            }
        });
        scope.spawn(|| {
            while !world.done.load(Ordering::Acquire) {
                world.tend();
                yield_now();
            }
        });
        for _ in 0..rounds {
            world.look();
        }
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        world.done.store(true, Ordering::Release);
    });
    assert_eq!(world.end().0, 2 * 8 * rounds);
    let newest = read(world.owner.entry(), u64::MAX, &world.seats);
    assert_eq!(newest.map(|(_, at)| at), Some(2 * 8 * rounds));
}

#[test]
fn keys_are_the_same_if_their_bytes_are() {
    for len in 0..40 {
        let key: Vec<u8> = (0..len).collect();
        assert!(is_same(&key, &key.clone()));
        for at in 0..key.len() {
            let mut other = key.clone();
            other[at] ^= 0x40;
            assert!(!is_same(&key, &other), "{len} bytes, another one at {at}");
        }
        assert!(!is_same(&key, &[&key[..], &[0]].concat()));
    }
}
