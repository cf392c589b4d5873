//! Who reads at which timestamp, and which commits are under way.
//!
//! Relies on: the log's end only grows, and is what a snapshot reads at.  Promises: whoever reads, or will
//! ever read, below the end of a count of the readers is in it; taking and leaving a seat
//! touches memory that other threads rarely touch.  Does not: limit how long a snapshot lives.
//!
//! Every snapshot sits on a seat. A transaction commits from the seat of its snapshot:
//!
//! ```text
//!   None ──► Locking ──► Reserving ──► At(timestamp) ──► None
//!            entries are  the log is    reads are validated,
//!            locked       asked for     versions installed,
//!                         space         entries let go
//! ```

mod gate;

pub(crate) use gate::Gate;

use crate::sim::{self, Planted};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, planted};
use arc_swap::ArcSwap;
use quintet_base::{Timestamp, TxnId};
use std::cell::Cell;
use std::sync::{Arc, OnceLock};

/// Seats of the first block; each further block has twice as many.
const FIRST_BLOCK: usize = 64;
/// Blocks: enough for 2^26 snapshots at once.
const BLOCKS: usize = 20;
/// No snapshot on the seat.
const EMPTY: u64 = u64::MAX;
/// Bit 0 of what a seat says, positions being multiples of 8: who sits there finds records by their keys and scans nothing.
const BY_KEY: u64 = 1;
/// A thread that commits counts the readers itself only once in so many times; in simulations of a few dozen
/// commits more often.
pub(crate) const COUNT_EVERY: u32 = if cfg!(feature = "sim") { 4 } else { 64 };

/// A transaction's number is its seat's above so many bits of a count.
const TXN_BITS: u32 = 38;

const NONE: u64 = 0;
const LOCKING: u64 = 1;
const RESERVING: u64 = 2;

/// One seat, alone on its cache lines.
#[repr(align(128))]
pub(crate) struct Seat {
    number: u32,
    taken: AtomicBool,
    /// At or below what the snapshot on it reads at, and [`BY_KEY`]. Written by who has taken the seat.
    snapshot: AtomicU64,
    /// The commit that is under way from here; see [`CommitState`].
    commit: AtomicU64,
    /// Counters of what was done from here; only who has taken the seat writes them.
    txns: AtomicU64,
    commits: AtomicU64,
    read_only: AtomicU64,
}

/// How far the commit from a seat has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CommitState {
    /// Nothing is committed from the seat now.
    None,
    /// It has no timestamp yet: it will get one above the log's present end.
    Locking,
    /// It is being given its timestamp.
    Reserving,
    /// It has its timestamp; its versions may be installed or not.
    At(Timestamp),
}

/// The snapshots in use when somebody counted them, and where the others will be. From [`Seats::readers`].
///
/// However long ago that was, it says who may read: since then snapshots have gone, and none has come below
/// `end`.
#[derive(Default)]
pub(crate) struct Readers {
    /// Ascending.
    snapshots: Vec<Timestamp>,
    /// At or below each of them that somebody scans at.
    scans: Timestamp,
    /// Those to come are here or above.
    end: Timestamp,
}

/// Below what nobody reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LowWater {
    /// At or below every snapshot in use or still to be taken.
    pub all: Timestamp,
    /// At or below each of them that somebody scans at: not below `all`.
    pub scans: Timestamp,
}

impl Readers {
    /// Of what nobody can read yet, and nobody will read but the newest state.
    pub fn nobody() -> Readers {
        Readers {
            snapshots: Vec::new(),
            scans: Timestamp(u64::MAX),
            end: Timestamp(u64::MAX),
        }
    }

    pub fn low_water(&self) -> LowWater {
        let first = self.snapshots.first();
        LowWater {
            all: first.map_or(self.end, |first| self.end.min(*first)),
            scans: self.end.min(self.scans),
        }
    }

    /// Another one, most likely, for a count that was made later.
    pub fn stamp(&self) -> u32 {
        // Positions are multiples of 8.
        (self.end.0 >> 3) as u32
    }

    /// The same, and one more, who scans nothing.
    pub fn and(mut self, snapshot: Timestamp) -> Readers {
        let at = self.snapshots.partition_point(|s| *s < snapshot);
        self.snapshots.insert(at, snapshot);
        self
    }

    /// Whether anybody reads, or will read, a version of this timestamp that was followed by one of the other.
    pub fn read(&self, timestamp: u64, next: u64) -> bool {
        if next > self.end.0 {
            return true;
        }
        if sim::plants(Planted::ForgetReaders) {
            return self
                .snapshots
                .first()
                .is_some_and(|s| (timestamp..next).contains(&s.0));
        }
        let first = self.snapshots.partition_point(|s| s.0 < timestamp);
        self.snapshots.get(first).is_some_and(|s| s.0 < next)
    }

    /// Those that were in use, ascending.
    pub fn snapshots(&self) -> &[Timestamp] {
        &self.snapshots
    }

    pub fn len(&self) -> usize {
        self.snapshots.len()
    }
}

type Block = Box<[Arc<Seat>]>;

/// All seats.
pub(crate) struct Seats {
    blocks: [OnceLock<Block>; BLOCKS],
    /// Seats that have ever been taken; those above need not be looked at.
    high: AtomicUsize,
    /// Held while a block is added.
    growing: Mutex<()>,
    /// As they were when a commit counted them.
    counted: ArcSwap<Readers>,
    /// Nobody may register a snapshot below; see `in_use`.
    assumed: AtomicU64,
}

thread_local! {
    /// The seat this thread took last: free again, most likely, and in its cache.
    static LAST: Cell<usize> = const { Cell::new(usize::MAX) };
    static ASKED: Cell<u32> = const { Cell::new(0) };
}

/// Spreads threads over the seats before each has its own.
static THREADS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Forgets what this thread has done so far, so that the same calls take the same seats.
pub(crate) fn begin_anew() {
    LAST.set(0);
    ASKED.set(0);
}

impl Seat {
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Begins a commit: its entries are about to be locked.
    pub fn set_locking(&self) {
        // SeqCst: against `Gate::close`, which sets its word and then looks at ours.
        self.commit.store(LOCKING, Ordering::SeqCst);
    }

    /// The log is about to be asked for a timestamp.
    pub fn set_reserving(&self) {
        // Seen by whoever reads the log's end as we are about to move it (Release in the log).
        self.commit.store(RESERVING, Ordering::Release);
    }

    pub fn set_timestamp(&self, timestamp: Timestamp) {
        assert!(timestamp.0 > RESERVING, "a commit at {timestamp}");
        self.commit.store(timestamp.0, Ordering::Release);
    }

    /// The commit is over; its entries have been let go before.
    pub fn set_none(&self) {
        self.commit.store(NONE, Ordering::Release);
    }

    pub fn is_committing(&self) -> bool {
        self.commit.load(Ordering::SeqCst) != NONE
    }

    /// A number that no other transaction of this process has.
    pub fn next_txn(&self) -> TxnId {
        let count = count_up(&self.txns);
        TxnId(u64::from(self.number) << TXN_BITS | count & ((1 << TXN_BITS) - 1))
    }

    pub fn count_commit(&self) {
        count_up(&self.commits);
    }

    pub fn count_read_only(&self) {
        count_up(&self.read_only);
    }

    /// Commits that wrote, and that only read.
    pub fn counts(&self) -> (u64, u64) {
        let commits = self.commits.load(Ordering::Relaxed);
        (commits, self.read_only.load(Ordering::Relaxed))
    }

    pub fn leave(&self) {
        self.snapshot.store(EMPTY, Ordering::Release);
        self.taken.store(false, Ordering::Release);
    }
}

impl Seats {
    pub fn new() -> Seats {
        Seats {
            blocks: std::array::from_fn(|_| OnceLock::new()),
            high: AtomicUsize::new(0),
            growing: Mutex::new(()),
            counted: ArcSwap::default(),
            assumed: AtomicU64::new(0),
        }
    }

    /// Takes a free seat.
    pub fn take(&self) -> Arc<Seat> {
        let mut from = LAST.get();
        if from == usize::MAX {
            from = THREADS.fetch_add(1, Ordering::Relaxed) % FIRST_BLOCK;
        }
        // First the places near the last one, then all that there are.
        let high = self.high.load(Ordering::Relaxed);
        for number in (from..from + 4).chain(0..high) {
            if let Some(seat) = self.try_take(number) {
                return seat;
            }
        }
        let mut number = high;
        loop {
            self.make(number);
            if let Some(seat) = self.try_take(number) {
                return seat;
            }
            number += 1;
        }
    }

    fn try_take(&self, number: usize) -> Option<Arc<Seat>> {
        let seat = self.seat(number)?;
        let free = !seat.taken.load(Ordering::Relaxed) && !seat.taken.swap(true, Ordering::Acquire);
        if !free {
            return None;
        }
        if number >= self.high.load(Ordering::Relaxed) {
            self.high.fetch_max(number + 1, Ordering::SeqCst);
        }
        LAST.set(number);
        Some(Arc::clone(seat))
    }

    fn seat(&self, number: usize) -> Option<&Arc<Seat>> {
        let (block, at) = place(number);
        self.blocks.get(block)?.get()?.get(at)
    }

    /// Makes sure that a seat of this number exists.
    fn make(&self, number: usize) {
        let (block, _) = place(number);
        let cell = self.blocks.get(block).expect("2^26 snapshots at once");
        if cell.get().is_some() {
            return;
        }
        let _growing = self.growing.lock();
        let first = FIRST_BLOCK * ((1 << block) - 1);
        cell.get_or_init(|| {
            (first..first + (FIRST_BLOCK << block))
                .map(|number| {
                    Arc::new(Seat {
                        number: number as u32,
                        taken: AtomicBool::new(false),
                        snapshot: AtomicU64::new(EMPTY),
                        commit: AtomicU64::new(NONE),
                        txns: AtomicU64::new(0),
                        commits: AtomicU64::new(0),
                        read_only: AtomicU64::new(0),
                    })
                })
                .collect()
        });
    }

    /// All seats that were ever taken.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Seat>> {
        let high = self.high.load(Ordering::SeqCst);
        (0..high).filter_map(|number| self.seat(number))
    }

    /// How far the commit from a seat has come.
    pub fn commit_state(&self, number: u32) -> CommitState {
        let seat = self.seat(number as usize).expect("a seat that was taken");
        match seat.commit.load(Ordering::Acquire) {
            NONE => CommitState::None,
            LOCKING => CommitState::Locking,
            RESERVING => CommitState::Reserving,
            timestamp => CommitState::At(Timestamp(timestamp)),
        }
    }

    /// Puts a snapshot of the log's present end on a seat.
    pub fn register(&self, seat: &Seat, end: impl Fn() -> Timestamp) -> Timestamp {
        self.register_as(seat, 0, end)
    }

    /// The same for somebody who finds records by their keys and scans nothing.
    pub fn register_by_key(&self, seat: &Seat, end: impl Fn() -> Timestamp) -> Timestamp {
        self.register_as(seat, BY_KEY, end)
    }

    fn register_as(&self, seat: &Seat, how: u64, end: impl Fn() -> Timestamp) -> Timestamp {
        loop {
            let snapshot = end();
            seat.snapshot.store(snapshot.0 | how, Ordering::Relaxed);
            // Pairs with the fence in `in_use`: either it sees this seat, or we see what it was
            // about to assume of seats it did not see.
            fence(Ordering::SeqCst);
            let assumed = self.assumed.load(Ordering::Relaxed);
            if assumed <= snapshot.0 || planted("seats: what was assumed is not asked") {
                return snapshot;
            }
        }
    }

    /// The snapshots in use, ascending; every one taken from now on is at or above the second
    /// answer. `end` is the log's.
    pub fn in_use(&self, end: impl Fn() -> Timestamp) -> (Vec<Timestamp>, Timestamp) {
        let Readers { snapshots, end, .. } = self.readers(end);
        (snapshots, end)
    }

    /// Who reads now, and who may read later.
    pub fn readers(&self, end: impl Fn() -> Timestamp) -> Readers {
        let end = end();
        self.assumed.fetch_max(end.0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut scans = end;
        let said = self
            .iter()
            .map(|seat| seat.snapshot.load(Ordering::Acquire))
            .filter(|said| *said != EMPTY);
        let mut snapshots: Vec<Timestamp> = said
            .map(|said| {
                let snapshot = Timestamp(said & !BY_KEY);
                if said & BY_KEY == 0 {
                    scans = scans.min(snapshot);
                }
                snapshot
            })
            .collect();
        snapshots.sort();
        Readers {
            snapshots,
            scans,
            end,
        }
    }

    /// At or below every snapshot in use or still to be taken.
    pub fn oldest(&self, end: impl Fn() -> Timestamp) -> Timestamp {
        self.readers(end).low_water().all
    }

    /// Like `readers`, a little behind and cheaper.
    pub fn counted(&self, end: impl Fn() -> Timestamp) -> arc_swap::Guard<Arc<Readers>> {
        let asked = ASKED.get();
        ASKED.set(asked.wrapping_add(1));
        if asked.is_multiple_of(COUNT_EVERY) {
            self.counted.store(Arc::new(self.readers(end)));
        }
        self.counted.load()
    }
}

/// Adds one to a counter that only this thread writes now.
fn count_up(counter: &AtomicU64) -> u64 {
    let count = counter.load(Ordering::Relaxed) + 1;
    counter.store(count, Ordering::Relaxed);
    count
}

/// Block and index of a seat.
fn place(number: usize) -> (usize, usize) {
    let block = (number / FIRST_BLOCK + 1).ilog2() as usize;
    (block, number - FIRST_BLOCK * ((1 << block) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_numbered_through_the_blocks() {
        let mut expected = 0;
        for block in 0..4 {
            for at in 0..FIRST_BLOCK << block {
                assert_eq!(place(expected), (block, at));
                expected += 1;
            }
        }
    }

    #[test]
    fn every_snapshot_has_its_own_seat_and_the_oldest_counts() {
        let seats = Seats::new();
        let end = Cell::new(100u64);
        let now = || Timestamp(end.get());
        let mut taken = Vec::new();
        for i in 0..1000 {
            end.set(100 + i);
            let seat = seats.take();
            assert_eq!(seats.register(&seat, now), Timestamp(100 + i));
            taken.push(seat);
        }
        let mut numbers: Vec<u32> = taken.iter().map(|seat| seat.number()).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), 1000);
        assert_eq!(seats.oldest(now), Timestamp(100));
        assert_eq!(seats.in_use(now).0.len(), 1000);
        taken.drain(..500).for_each(|seat| seat.leave());
        assert_eq!(seats.oldest(now), Timestamp(600));
        taken.drain(..).for_each(|seat| seat.leave());
        assert_eq!(seats.oldest(now), Timestamp(1099));
        assert!(seats.take().number() < 1000, "seats are used again");
    }

    #[test]
    fn who_scans_nothing_holds_back_no_scan() {
        let seats = Seats::new();
        let end = Cell::new(80u64);
        let now = || Timestamp(end.get());
        let pass = seats.take();
        assert_eq!(seats.register_by_key(&pass, now), Timestamp(80));
        end.set(96);
        let reader = seats.take();
        seats.register(&reader, now);
        end.set(160);
        let low = |all, scans| LowWater {
            all: Timestamp(all),
            scans: Timestamp(scans),
        };
        assert_eq!(seats.readers(now).low_water(), low(80, 96));
        reader.leave();
        assert_eq!(seats.readers(now).low_water(), low(80, 160));
        pass.leave();
        assert_eq!(seats.readers(now).low_water(), low(160, 160));
    }
}
