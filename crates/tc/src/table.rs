//! All records in memory: by hash, in order, and how much they weigh.
//!
//! Relies on: `entry` for versions, `index` for finding them.  Promises: an entry is found by hash
//! and, before anybody can commit to it, in its space's order; what was evicted is in every
//! generation that its readers may look into.  Does not: read STORE, or decide what to evict when.
//!
//! **One table is memtable and record cache.** A record whose newest commit lies above *posted* is
//! dirty: STORE does not have it yet. Below, it is a cache of what STORE has, and may go.
//!
//! **Whole spaces.** As long as nothing that STORE has was left out of memory, a space is *whole*:
//! a key that is not in the table is nowhere, and neither a miss nor a scan asks STORE. It is whole
//! again when what was left out has been brought back (`warm`).
#![allow(
    unsafe_code,
    reason = "the owner of entries puts them into indexes and frees them"
)]

mod removed;
mod spaces;
mod warm;

pub(crate) use removed::{Listing, Next, Removed, Water};
pub(crate) use warm::{TakenIn, Wholeness};

use crate::entry::{Locked, RecordEntry};
use crate::sim::{self, Planted};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Atomic, Mutex, yield_now};
use crossbeam_epoch::Owned;
use quintet_base::{SpaceId, Timestamp};
use quintet_index::{Entry, Guard, Near, OrderedIndex, PointIndex, Tally, Verdict};
use quintet_rt::Rand;
use spaces::Spaces;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock, OnceLock};

/// Records that are looked for at once: as many misses as the memory serves side by side, twice.
pub(crate) const TOGETHER: usize = 16;

/// One seed for the process, so that entries know their hash. Unpredictable from outside, so that
/// nobody can choose keys that collide.
static HASHER: LazyLock<foldhash::quality::FixedState> = LazyLock::new(|| {
    let seed = SEED.get().copied();
    let seed = seed.unwrap_or_else(|| Rand::from_os().next_u64());
    foldhash::quality::FixedState::with_seed(seed)
});

/// Set before the first use in a process that is to do the same each time it runs.
static SEED: OnceLock<u64> = OnceLock::new();

/// Makes hashes predictable in this process, unless one has been taken already.
pub(crate) fn hash_predictably() {
    SEED.get_or_init(|| 0);
    LazyLock::force(&HASHER);
}

/// The hash of a record.
pub(crate) fn hash(space: SpaceId, key: &[u8]) -> u64 {
    let mut hasher = HASHER.build_hasher();
    hasher.write_u32(space.0);
    hasher.write(key);
    hasher.finish()
}

/// The records of one space in order.
pub(crate) struct Space {
    pub ordered: OrderedIndex<RecordEntry>,
    /// Lost before the first record that STORE has leaves memory (or because STORE had some to begin
    /// with).
    pub wholeness: Wholeness,
    /// Whether `ordered` lacks records that were removed.
    pub listing: Listing,
}

/// All records in memory.
pub(crate) struct Table {
    points: PointIndex<RecordEntry>,
    /// Never null. Replaced in `replace_spaces`, under `changing`; that Release pairs with the Acquire in `spaces_now`.
    spaces: Atomic<Spaces>,
    /// Held while a space is added or dropped.
    changing: Mutex<()>,
    bytes: Tally,
    /// Records whose newest commit is at or below may have been evicted. Raised before the first
    /// of them goes.
    evicted: AtomicU64,
    /// Of those evicted although a snapshot was older, the newest commit.
    floor: AtomicU64,
    /// The table is so far over its bound that nothing is filled in until something has gone.
    full: AtomicBool,
    /// The shard where the next sweep goes on.
    hand: Mutex<usize>,
}

/// What a sweep may assume.
pub(crate) struct Sweep<'a> {
    /// STORE has everything at or below, in the newest generation.
    pub posted: Timestamp,
    /// Snapshots in use, ascending, each with the position of the generation it reads.
    pub snapshots: &'a [(Timestamp, Timestamp)],
    /// Evict also what writers with an old snapshot would have to be validated against.
    pub hard: bool,
    /// Bytes to be gained.
    pub bytes: i64,
    pub extent: Extent,
}

/// How much of the table is swept at most.
#[derive(Clone, Copy)]
pub(crate) enum Extent {
    /// All of it, twice: the first visit takes the mark of use away.
    Twice,
    /// About so many records, and none while somebody else sweeps.
    Records(usize),
}

impl Space {
    /// To be asked under the pin under which a record was looked for.
    pub fn is_whole(&self) -> bool {
        self.wholeness.is_whole()
    }
}

impl Table {
    pub fn new() -> Table {
        Table {
            points: PointIndex::new(),
            spaces: Atomic::new(Spaces::default()),
            changing: Mutex::new(()),
            bytes: Tally::new(),
            evicted: AtomicU64::new(0),
            floor: AtomicU64::new(0),
            full: AtomicBool::new(false),
            hand: Mutex::new(0),
        }
    }

    /// The entry of a record, if it is in memory.
    pub fn find<'g>(
        &self,
        hash: u64,
        space: SpaceId,
        key: &[u8],
        guard: &'g Guard,
    ) -> Option<&'g RecordEntry> {
        self.points.get(hash, |entry| entry.is(space, key), guard)
    }

    /// Most likely the record of this hash, if there is one: for hints, which may be wrong.
    pub fn find_likely<'g>(&self, hash: u64, guard: &'g Guard) -> Option<&'g RecordEntry> {
        self.points.get(hash, |_| true, guard)
    }

    /// Has the cache bring what finding these records will read, side by side instead of one after the other,
    /// and tells their hashes. At most `N` of them.
    pub fn bring<'k, const N: usize>(
        &self,
        mut keys: impl Iterator<Item = (SpaceId, &'k [u8])>,
        guard: &Guard,
    ) -> [u64; N] {
        self.bring_next(&mut keys, guard).0
    }

    /// [`Table::bring`] for any number, and their newest versions as well.
    pub fn bring_all<'k>(
        &self,
        mut keys: impl Iterator<Item = (SpaceId, &'k [u8])>,
        guard: &Guard,
    ) {
        loop {
            let (hashes, count) = self.bring_next::<TOGETHER>(&mut keys, guard);
            for hash in &hashes[..count] {
                if let Some(entry) = self.find_likely(*hash, guard) {
                    entry.prefetch_value();
                }
            }
            if count < TOGETHER {
                return;
            }
        }
    }

    /// Of the next ones, and how many there were.
    fn bring_next<'k, const N: usize>(
        &self,
        keys: &mut impl Iterator<Item = (SpaceId, &'k [u8])>,
        guard: &Guard,
    ) -> ([u64; N], usize) {
        let mut hashes = [0; N];
        let mut count = 0;
        for (slot, (space, key)) in hashes.iter_mut().zip(keys) {
            *slot = hash(space, key);
            self.prefetch(*slot, guard);
            count += 1;
        }
        for hash in &hashes[..count] {
            self.prefetch_entry(*hash, guard);
        }
        (hashes, count)
    }

    /// First step of finding many at once; see [`PointIndex::prefetch`].
    pub fn prefetch(&self, hash: u64, guard: &Guard) {
        self.points.prefetch(hash, guard);
    }

    /// Second step.
    pub fn prefetch_entry(&self, hash: u64, guard: &Guard) {
        self.points.prefetch_entry(hash, guard);
    }

    /// A space that has or had records in memory.
    pub fn space(&self, space: SpaceId) -> Option<Arc<Space>> {
        let guard = quintet_index::pin();
        self.spaces_now(&guard).get(space).cloned()
    }

    /// The same for who looks for its records under this guard anyway: nothing is counted, so threads that use one
    /// space do not meet.
    pub fn space_under<'g>(&self, space: SpaceId, guard: &'g Guard) -> Option<&'g Space> {
        self.spaces_now(guard).get(space).map(|space| &**space)
    }

    /// Those that have been read or written.
    pub fn spaces(&self) -> Vec<SpaceId> {
        let guard = quintet_index::pin();
        self.spaces_now(&guard).iter().map(|(id, _)| id).collect()
    }

    fn spaces_now<'g>(&self, guard: &'g Guard) -> &'g Spaces {
        let spaces = self.spaces.load(Ordering::Acquire, guard);
        // SAFETY: never null; what is replaced is freed through the epoch.
        unsafe { spaces.deref() }
    }

    /// Has everybody who looks from now on find these. The caller holds `changing`.
    fn replace_spaces(&self, spaces: Spaces, guard: &Guard) {
        let before = self.spaces.load(Ordering::Relaxed, guard);
        self.spaces.store(Owned::new(spaces), Ordering::Release);
        // SAFETY: unreachable for whoever pins from now on, and replaced by one at a time.
        unsafe { guard.defer_destroy(before) };
    }

    /// The space, which is whole from its beginning unless `in_store` says that STORE has it.
    pub fn space_or_new(&self, space: SpaceId, in_store: impl FnOnce() -> bool) -> Arc<Space> {
        if let Some(known) = self.space(space) {
            return known;
        }
        let _changing = self.changing.lock();
        if let Some(known) = self.space(space) {
            return known;
        }
        let made = Arc::new(Space {
            ordered: OrderedIndex::new(),
            wholeness: Wholeness::new(!in_store()),
            listing: Listing::default(),
        });
        let guard = quintet_index::pin();
        let mut spaces = self.spaces_now(&guard).clone();
        spaces.put(space, Arc::clone(&made));
        self.replace_spaces(spaces, &guard);
        made
    }

    /// The entry of a record, made without a version if it is not in memory.
    pub fn find_or_make<'g>(
        &self,
        hash: u64,
        id: SpaceId,
        key: &[u8],
        in_store: impl FnOnce() -> bool,
        guard: &'g Guard,
    ) -> &'g RecordEntry {
        self.find_or_make_near(hash, id, key, in_store, &mut Near::under(guard))
    }

    /// The same for many: records that are made one after another, and are neighbours, go into the order by
    /// one way.
    pub fn find_or_make_near<'g>(
        &self,
        hash: u64,
        id: SpaceId,
        key: &[u8],
        in_store: impl FnOnce() -> bool,
        near: &mut Near<'g, RecordEntry>,
    ) -> &'g RecordEntry {
        if let Some(entry) = self.find(hash, id, key, near.guard()) {
            return entry;
        }
        let known = self.space_under(id, near.guard());
        let mut put = |space: &Space| {
            let make = || {
                let entry = RecordEntry::new(id, key);
                // Asked while nobody can put the key in: memory lacks it, so if that is whole, STORE does, too.
                if !space.is_whole() {
                    // SAFETY: nobody else has it yet.
                    unsafe { entry.as_ref() }.note_in_store();
                }
                Some(entry)
            };
            self.put(hash, id, key, space, make, near)
        };
        let made = match known {
            Some(space) => put(space),
            None => put(&self.space_or_new(id, in_store)),
        };
        made.expect("make does not decline")
    }

    /// Remembers what STORE has at a key, as of the newest generation at `generation`, unless the
    /// record is in memory already or the table has moved on.
    pub fn fill(
        &self,
        id: SpaceId,
        key: &[u8],
        position: Timestamp,
        value: &[u8],
        generation: Timestamp,
        guard: &Guard,
    ) {
        if self.full.load(Ordering::Relaxed) {
            return;
        }
        let hash = hash(id, key);
        let space = self.space_or_new(id, || true);
        let make = || {
            // Later than the generation, it may have been written, posted and evicted again.
            if self.evicted() > generation && !sim::plants(Planted::FillLate) {
                return None;
            }
            Some(RecordEntry::with_copy(id, key, position, value))
        };
        self.put(hash, id, key, &space, make, &mut Near::under(guard));
    }

    /// Puts an entry, which comes held for upkeep, into both indexes and lets it go.
    fn put<'g>(
        &self,
        hash: u64,
        id: SpaceId,
        key: &[u8],
        space: &Space,
        make: impl FnOnce() -> Option<NonNull<RecordEntry>>,
        near: &mut Near<'g, RecordEntry>,
    ) -> Option<&'g RecordEntry> {
        // SAFETY: entries leave through `bury`, which frees them through the epoch.
        let (entry, made) = unsafe {
            self.points
                .get_or_insert(hash, |entry| entry.is(id, key), make, near.guard())?
        };
        if made {
            self.weigh(entry.memory_bytes() as i64);
            // One that is being evicted leaves the order a moment after it left the points.
            // SAFETY: as above.
            while unsafe { space.ordered.insert_near(entry, near) }.is_some() {
                yield_now();
            }
            entry.unlock();
        }
        Some(entry)
    }

    /// Estimate of the memory that records take, without what is in the log's buffers.
    pub fn bytes(&self) -> i64 {
        self.bytes.sum() as i64
    }

    /// Whether the table is over its bound; remembers if it is so by an eighth.
    pub fn is_over(&self, bound: usize) -> bool {
        let (bytes, bound) = (self.bytes(), bound as i64);
        self.full
            .store(bytes > bound + bound / 8, Ordering::Relaxed);
        bytes > bound
    }

    /// Counts bytes of copies and entries that have come or gone.
    pub fn weigh(&self, bytes: i64) {
        if bytes != 0 {
            self.bytes.add(bytes as isize);
        }
    }

    /// Records in memory.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    pub fn evicted(&self) -> Timestamp {
        Timestamp(self.evicted.load(Ordering::Acquire))
    }

    /// Writers with an older snapshot can no longer be validated.
    pub fn floor(&self) -> Timestamp {
        Timestamp(self.floor.load(Ordering::Acquire))
    }

    /// Takes records that STORE has, and that nobody has read lately, out of memory. Returns the
    /// bytes gained. One at a time.
    pub fn evict(&self, sweep: &Sweep<'_>) -> i64 {
        let all = self.points.shards();
        let (hand, shards) = match sweep.extent {
            Extent::Twice => (Some(self.hand.lock()), all * 2),
            Extent::Records(records) => {
                let shards = records * all / self.len().max(1);
                (self.hand.try_lock(), shards.clamp(1, all))
            }
        };
        let Some(mut hand) = hand else {
            return 0;
        };
        // Before anything goes: whoever misses a record from now on asks a generation that has it.
        self.evicted.fetch_max(sweep.posted.0, Ordering::SeqCst);
        let mut gained = 0;
        for _ in 0..shards {
            if gained >= sweep.bytes {
                break;
            }
            *hand = (*hand + 1) % self.points.shards();
            let guard = quintet_index::pin();
            let mut removed = Vec::new();
            self.points.sweep(
                *hand,
                |entry| self.judge(entry, sweep, &guard),
                &mut removed,
                &guard,
            );
            gained += self.bury(&removed, &guard);
        }
        gained
    }

    /// Takes every record of some spaces out of memory, in one sweep. Nobody reads them or writes to them any more. Returns
    /// what is left of them, which whoever has looked for a space before may hold until his guard is gone.
    pub fn drop_spaces(&self, gone: &[SpaceId]) -> Vec<Arc<Space>> {
        let mut left = Vec::new();
        let gone: HashSet<SpaceId, foldhash::fast::FixedState> = {
            let _changing = self.changing.lock();
            let guard = quintet_index::pin();
            let mut spaces = self.spaces_now(&guard).clone();
            left.extend(gone.iter().filter_map(|id| spaces.remove(*id)));
            self.replace_spaces(spaces, &guard);
            gone.iter().copied().collect()
        };
        if left.is_empty() {
            return left;
        }
        for shard in 0..self.points.shards() {
            let guard = quintet_index::pin();
            let mut removed = Vec::new();
            let judge = |entry: &RecordEntry| {
                let ours = gone.contains(&entry.space()) && entry.lock_for_upkeep() == Locked::Yes;
                if ours {
                    entry.unlock_dead();
                    Verdict::Remove
                } else {
                    Verdict::Keep
                }
            };
            self.points.sweep(shard, judge, &mut removed, &guard);
            self.bury(&removed, &guard);
        }
        left
    }

    fn judge(&self, entry: &RecordEntry, sweep: &Sweep<'_>, guard: &Guard) -> Verdict {
        if entry.newest() > sweep.posted || entry.take_touched() {
            return Verdict::Keep;
        }
        if entry.lock_for_upkeep() != Locked::Yes {
            return Verdict::Keep;
        }
        if self.may_go(entry, sweep, guard) {
            entry.unlock_dead();
            Verdict::Remove
        } else {
            entry.unlock();
            Verdict::Keep
        }
    }

    fn may_go(&self, entry: &RecordEntry, sweep: &Sweep<'_>, guard: &Guard) -> bool {
        let newest = entry.newest();
        if newest > sweep.posted {
            return false;
        }
        for (snapshot, generation) in sweep.snapshots {
            // Also for a snapshot above the newest version: its generation may be below.
            if *generation >= newest {
                break;
            }
            let needed = entry.needed_by(*snapshot, guard);
            if needed.is_some_and(|needed| needed > *generation)
                && !sim::plants(Planted::EvictEarly)
            {
                return false;
            }
            if *snapshot < newest {
                if !sweep.hard {
                    return false;
                }
                self.floor.fetch_max(newest.0, Ordering::SeqCst);
            }
        }
        // A record that is nowhere leaves no gap; one that a snapshot still finds in its generation
        // does, also when it has been removed since.
        let oldest = sweep.snapshots.first().map(|(snapshot, _)| *snapshot);
        let seen = !entry.is_absent() || oldest.is_some_and(|oldest| oldest < newest);
        if seen && let Some(space) = self.space_under(entry.space(), guard) {
            space.wholeness.lose();
        }
        true
    }

    /// Takes entries that have left the points out of the order, and frees them.
    fn bury(&self, removed: &[NonNull<RecordEntry>], guard: &Guard) -> i64 {
        let mut gained = 0;
        for address in removed {
            // SAFETY: freed only below.
            let entry = unsafe { address.as_ref() };
            let bytes = entry.memory_bytes() as i64;
            self.weigh(-bytes);
            if let Some(space) = self.space_under(entry.space(), guard) {
                // One that is not listed has left room for another of its key.
                match entry.is_unlisted() {
                    true => space.listing.one_less(),
                    false => drop(space.ordered.remove(entry.key(), guard)),
                }
            }
            gained += bytes;
            // SAFETY: it is dead: nobody puts it back, and it has left both indexes.
            unsafe { RecordEntry::retire(*address, guard) };
        }
        gained
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // Nobody else has the table: entries can go at once.
        let guard = quintet_index::pin();
        for shard in 0..self.points.shards() {
            let mut removed = Vec::new();
            self.points
                .sweep(shard, |_| Verdict::Remove, &mut removed, &guard);
            for entry in removed {
                // SAFETY: `&mut self`, and no guard outlives a use of the table.
                unsafe { RecordEntry::free(entry.as_ptr()) };
            }
        }
        let spaces = std::mem::replace(&mut self.spaces, Atomic::null());
        // SAFETY: as above.
        drop(unsafe { spaces.into_owned() });
    }
}
