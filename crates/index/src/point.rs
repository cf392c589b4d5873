//! [`PointIndex`]: entries by the hash of their key, one cache miss away.
//!
//! Relies on: hashes that spread (the caller's hash function is seeded).  Promises: a reader takes
//! no latch, writes nothing shared and meets an entry that stays in the index throughout the
//! look-up; writers wait only for writers to the same shard (one of 256).
//! Does not: keep any order, own entries, or compute hashes.
//!
//! ```text
//!   hash:  63 ── shard ── 56 │ … ──── tag ──── … │ … bucket (as many low bits as it takes)
//!
//!   shard ─► head, a word: where its tags begin │ bits of its buckets │ their address
//!        └─► bucket (one cache line): 8 slots, each  tag (15 bits and a one) │ address (48 bits, the lowest two mean something else)
//!                                     0: free for ever so far   1: free again
//! ```
//! A look-up compares tags and follows an address only when the tag fits, so a miss costs one line
//! and a hit two. Full buckets overflow into the next one; a bucket with a slot that was never used
//! ends the search.
//!
//! The heads lie together, 2 KiB that every processor keeps, and are written when a shard grows and at no other time. What whoever puts in
//! or takes out writes to lies elsewhere: beside the heads, each insertion would take a line from all other processors.
//!
//! A shard that grows makes a new table and leaves the old one to the epoch. No entry is looked at for that: the bits that say which of two buckets
//! an entry comes to are in its tag, which begins where those of the bucket ended when tags were last made, six doublings ago at
//! most. The entries that had to go into the next bucket, which their address says, are asked for their hash, and so are all
//! when new tags are due: the more of a tag the bucket says as well, the less it tells entries apart.
#![allow(
    unsafe_code,
    reason = "entries are found by tagged addresses and freed by their owner through the epoch"
)]

use crate::entry::Hashed;
use crate::prefetch::prefetch;
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sync::{Mutex, planted};
use crossbeam_epoch::Guard;
use std::ptr::{self, NonNull};

/// Writers to different shards do not meet. 256 shards × one line per shard are 16 KiB. Few where each
/// access is a step of a test: sweeps go through all.
const SHARDS: usize = if cfg!(shuttle) { 4 } else { 256 };
/// Slots of one bucket: a cache line of addresses.
const SLOTS: usize = 8;
/// Buckets of a fresh shard.
const BUCKETS_MIN: usize = 2;
/// Addresses of user space fit in 48 bits on the machines we know, and entries begin at multiples of four; checked at each insertion.
const ADDRESS_BITS: u32 = 48;
const ADDRESS_MASK: usize = (1 << ADDRESS_BITS) - 4;
/// Of an address whose entry is not in the bucket where its search begins.
const DISPLACED: usize = 2;
const TAG_BITS: u32 = 15;
/// So many bits of a tag its bucket may say as well; of the nine that are left, one in five hundred fits by chance.
const SAID_TWICE_MAX: u32 = 6;
/// A slot that was used and is free again. No entry has this address, or this tag.
const FREED: usize = 1;
/// So many buckets ahead a growing shard asks for entries: some twelve of them are on their way
/// at once, which is about what a processor's core waits for side by side.
const BUCKETS_AHEAD: usize = 2;

#[repr(align(64))]
struct Bucket<E>([AtomicPtr<E>; SLOTS]);

/// The buckets of a shard, as its head describes them.
struct Table<'g, E> {
    buckets: &'g [Bucket<E>],
    /// Where in the hash its tags begin: at or below the end of the bits of its buckets, unless it has shrunk.
    tag_at: u32,
}

/// What writers need of a shard.
#[repr(align(64))]
struct Shard {
    /// Held by whoever puts in or takes out.
    writer: Mutex<Used>,
    /// Copy of `Used::live` for `len`.
    live: AtomicUsize,
}

/// Slots in use, and slots that were.
#[derive(Default)]
struct Used {
    live: usize,
    freed: usize,
}

/// What a sweep does with an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It stays.
    Keep,
    /// It is taken out; the caller frees it through the guard.
    Remove,
}

/// Entries by hash. See the module's picture.
pub struct PointIndex<E> {
    /// Arrays, so that whoever finds one by its number need not ask how many there are. Of each shard, its buckets and what to know of them,
    /// see [`Table::head`]; replaced under `writer`, and Release there pairs with Acquire in look-ups.
    heads: Box<[AtomicPtr<Bucket<E>>; SHARDS]>,
    shards: Box<[Shard; SHARDS]>,
}

impl<E: Hashed> Default for PointIndex<E> {
    fn default() -> PointIndex<E> {
        PointIndex::new()
    }
}

impl<E: Hashed> PointIndex<E> {
    /// An empty index.
    pub fn new() -> PointIndex<E> {
        let shard = || Shard {
            writer: Mutex::new(Used::default()),
            live: AtomicUsize::new(0),
        };
        let head = || {
            let buckets = empty_buckets(BUCKETS_MIN);
            AtomicPtr::new(Table::head(buckets, BUCKETS_MIN.ilog2()))
        };
        let heads: Box<[_]> = (0..SHARDS).map(|_| head()).collect();
        let shards: Box<[_]> = (0..SHARDS).map(|_| shard()).collect();
        let both = heads.try_into().ok().zip(shards.try_into().ok());
        let (heads, shards) = both.expect("so many were made");
        PointIndex { heads, shards }
    }

    /// How many shards [`PointIndex::sweep`] can be asked for.
    pub fn shards(&self) -> usize {
        SHARDS
    }

    /// Entries in the index; exact when nobody writes.
    pub fn len(&self) -> usize {
        let live = |shard: &Shard| shard.live.load(Ordering::Relaxed);
        self.shards.iter().map(live).sum()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks the cache for the line that a look-up of this hash reads first.
    pub fn prefetch(&self, hash: u64, guard: &Guard) {
        prefetch(std::ptr::from_ref(
            self.table(shard(hash), guard).bucket(hash as usize),
        ));
    }

    /// Asks the cache for the entry that a look-up of this hash will most likely compare; call it
    /// some time after [`PointIndex::prefetch`].
    pub fn prefetch_entry(&self, hash: u64, guard: &Guard) {
        let table = self.table(shard(hash), guard);
        let tag = table.tag_of(hash);
        for slot in &table.bucket(hash as usize).0 {
            let word = slot.load(Ordering::Relaxed);
            if self::tag(word) == tag {
                prefetch(address(word));
                return;
            }
        }
    }

    /// The entry of this hash that `matches`.
    pub fn get<'g>(
        &self,
        hash: u64,
        matches: impl Fn(&E) -> bool,
        guard: &'g Guard,
    ) -> Option<&'g E>
    where
        E: 'g,
    {
        let table = self.table(shard(hash), guard);
        table.find(hash, &matches).map(|(_, entry)| {
            // SAFETY: it was in the index while the guard was pinned (`Entry`'s promise).
            unsafe { &*entry }
        })
    }

    /// The entry of this hash that `matches`, or else the one that `make` gives, put in. `make` runs
    /// at most once, while nobody else puts in or takes out at this hash; it may decline. The
    /// second answer is true if the entry is the one made.
    ///
    /// # Safety
    /// What `make` gives keeps [`crate::Entry`]'s promise, has this hash and is in no index of this
    /// kind.
    pub unsafe fn get_or_insert<'g>(
        &self,
        hash: u64,
        matches: impl Fn(&E) -> bool,
        make: impl FnOnce() -> Option<NonNull<E>>,
        guard: &'g Guard,
    ) -> Option<(&'g E, bool)>
    where
        E: 'g,
    {
        let number = shard(hash);
        let shard = &self.shards[number];
        let mut used = shard.writer.lock();
        let mut table = self.table(number, guard);
        let there = table.find(hash, &matches);
        if let Some((_, entry)) = there
            && !planted("point: nobody looks under the lock")
        {
            // SAFETY: as in `get`.
            return Some((unsafe { &*entry }, false));
        }
        let made = make()?;
        // At 3/4 of the slots, most searches still end in their first bucket.
        if (used.live + used.freed + 1) * 4 > table.slots() * 3 {
            table = self.rebuild(number, &mut used, guard);
        }
        if table.put(hash as usize, table.tag_of(hash), made.as_ptr()) {
            used.freed -= 1;
        }
        used.live += 1;
        shard.live.store(used.live, Ordering::Relaxed);
        // SAFETY: in the index from now on; the caller's promise.
        Some((unsafe { &*made.as_ptr() }, true))
    }

    /// Takes out the entry of this hash that `matches`; the caller frees it through the guard.
    pub fn remove(
        &self,
        hash: u64,
        matches: impl Fn(&E) -> bool,
        guard: &Guard,
    ) -> Option<NonNull<E>> {
        let number = shard(hash);
        let shard = &self.shards[number];
        let mut used = shard.writer.lock();
        let table = self.table(number, guard);
        let (slot, entry) = table.find(hash, &matches)?;
        slot.store(ptr::without_provenance_mut(FREED), Ordering::Release);
        used.live -= 1;
        used.freed += 1;
        shard.live.store(used.live, Ordering::Relaxed);
        NonNull::new(entry)
    }

    /// Shows every entry of one shard to `judge` and takes out those it condemns, appending them to
    /// `removed`. Writers to the shard wait meanwhile, readers do not.
    pub fn sweep<'g>(
        &self,
        shard: usize,
        mut judge: impl FnMut(&'g E) -> Verdict,
        removed: &mut Vec<NonNull<E>>,
        guard: &'g Guard,
    ) where
        E: 'g,
    {
        let number = shard;
        let shard = &self.shards[number];
        let mut used = shard.writer.lock();
        for slot in self.table(number, guard).buckets.iter().flat_map(|b| &b.0) {
            let word = slot.load(Ordering::Relaxed);
            if word.is_null() || word.addr() == FREED {
                continue;
            }
            // SAFETY: as in `get`; it is in the index, whose writer lock we hold.
            let entry = unsafe { NonNull::new_unchecked(address(word)) };
            // SAFETY: as above.
            if judge(unsafe { entry.as_ref() }) == Verdict::Remove {
                slot.store(ptr::without_provenance_mut(FREED), Ordering::Release);
                used.live -= 1;
                used.freed += 1;
                removed.push(entry);
            }
        }
        shard.live.store(used.live, Ordering::Relaxed);
    }

    /// The buckets of a shard as they are now. For who holds its lock, those that he puts into.
    #[inline]
    fn table<'g>(&self, shard: usize, _guard: &'g Guard) -> Table<'g, E>
    where
        E: 'g,
    {
        let head = self.heads[shard].load(Ordering::Acquire);
        // SAFETY: a head describes buckets that are there; those that are replaced are freed through the epoch.
        unsafe { Table::at(head) }
    }
}

const _: () = assert!(SHARDS <= 1 << 8, "a shard is named by eight bits");

/// The number of a hash's shard.
fn shard(hash: u64) -> usize {
    (hash >> 56) as usize % SHARDS
}

fn address<E>(word: *mut E) -> *mut E {
    word.map_addr(|addr| addr & ADDRESS_MASK)
}

fn tag<E>(word: *mut E) -> usize {
    word.addr() >> ADDRESS_BITS
}

fn is_displaced<E>(word: *mut E) -> bool {
    word.addr() & DISPLACED != 0 && !planted("point: nobody is displaced")
}

impl<E: Hashed> PointIndex<E> {
    /// A table with room for one more, without freed slots. Under `writer`.
    fn rebuild<'g>(&self, shard: usize, used: &mut Used, guard: &'g Guard) -> Table<'g, E>
    where
        E: 'g,
    {
        let head = &self.heads[shard];
        let old = head.load(Ordering::Relaxed);
        let from = self.table(shard, guard);
        let mut buckets = BUCKETS_MIN;
        // At most half full afterwards, so that the work is paid for by as many insertions.
        while buckets * SLOTS < (used.live + 1) * 2 {
            buckets *= 2;
        }
        let bits = buckets.ilog2();
        let tag_at = match from.tells(bits) {
            true => from.tag_at,
            false => bits,
        };
        if planted("point: an empty table is published") {
            let empty = Table::head(empty_buckets::<E>(buckets), tag_at);
            head.store(empty, Ordering::Release);
        }
        let made = Table::head(empty_buckets(buckets), tag_at);
        // SAFETY: made just now.
        let new = unsafe { Table::at(made) };
        let is_asked = |word: &*mut E| !from.tells(bits) || is_displaced(*word);
        for (at, bucket) in from.buckets.iter().enumerate() {
            if let Some(ahead) = from.buckets.get(at + BUCKETS_AHEAD) {
                ahead.entries().filter(is_asked).for_each(prefetch_entry);
            }
            for word in bucket.entries() {
                let entry = address(word);
                let (hash, tag) = match is_asked(&word) {
                    true => {
                        // SAFETY: it is in the index, whose writer lock is held.
                        let hash = unsafe { (*entry).hash() };
                        (hash as usize, new.tag_of(hash))
                    }
                    false => (from.hash_of(at, word), tag(word)),
                };
                new.put(hash, tag, entry);
            }
        }
        used.freed = 0;
        head.store(made, Ordering::Release);
        // SAFETY: unreachable for whoever pins from now on.
        unsafe { guard.defer_unchecked(move || Table::free(old)) };
        new
    }
}

/// Asks the cache for what the hash of an entry is made of: the entry, and the line behind it, where
/// the rest of a key lies that follows its entry.
fn prefetch_entry<E>(word: *mut E) {
    let entry = address(word);
    prefetch(entry);
    prefetch(entry.wrapping_byte_add(64));
}

impl<E> Bucket<E> {
    /// What stands here, for whoever holds the shard's lock.
    fn entries(&self) -> impl Iterator<Item = *mut E> {
        let words = self.0.iter().map(|slot| slot.load(Ordering::Relaxed));
        words.filter(|word| !word.is_null() && word.addr() != FREED)
    }
}

/// Buckets with nothing in them; freed by [`Table::free`].
fn empty_buckets<E>(count: usize) -> Box<[Bucket<E>]> {
    let empty = || Bucket(std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())));
    (0..count).map(|_| empty()).collect()
}

/// Where a head says how many bits the number of a bucket has, in the bits that addresses leave free.
const BITS_AT: u32 = ADDRESS_BITS;
/// Where it says where tags begin.
const TAG_AT_AT: u32 = BITS_AT + 6;

fn six_bits<E>(head: *mut Bucket<E>, at: u32) -> u32 {
    (head.addr() >> at) as u32 & ((1 << 6) - 1)
}

impl<'g, E> Table<'g, E> {
    /// One word that says all about these buckets. It owns them.
    fn head(buckets: Box<[Bucket<E>]>, tag_at: u32) -> *mut Bucket<E> {
        let count = buckets.len();
        assert!(count.is_power_of_two(), "{count} buckets");
        assert!(tag_at < 1 << 6, "tags begin in the hash, not at {tag_at}");
        let address = Box::into_raw(buckets).cast::<Bucket<E>>();
        assert!(
            address.addr() >> ADDRESS_BITS == 0,
            "an address of more than 48 bits"
        );
        let more = (count.ilog2() as usize) << BITS_AT | (tag_at as usize) << TAG_AT_AT;
        address.map_addr(|addr| addr | more)
    }

    /// Where they are, and how many.
    #[inline]
    fn place(head: *mut Bucket<E>) -> *mut [Bucket<E>] {
        let count = 1 << six_bits(head, BITS_AT);
        let address = head.map_addr(|addr| addr & ((1 << ADDRESS_BITS) - 1));
        ptr::slice_from_raw_parts_mut(address, count)
    }

    /// What a head describes.
    ///
    /// # Safety
    /// It is from [`Table::head`], and not freed in all of `'g`.
    #[inline]
    unsafe fn at(head: *mut Bucket<E>) -> Table<'g, E> {
        Table {
            // SAFETY: the caller's promise.
            buckets: unsafe { &*Self::place(head) },
            tag_at: six_bits(head, TAG_AT_AT),
        }
    }

    /// # Safety
    /// It is from [`Table::head`], and nobody uses it any more.
    unsafe fn free(head: *mut Bucket<E>) {
        // SAFETY: it was a box, and the caller's promise.
        drop(unsafe { Box::from_raw(Self::place(head)) });
    }

    /// The one where the search for a hash begins, or, of the next number, goes on.
    #[inline]
    fn bucket(&self, number: usize) -> &'g Bucket<E> {
        // SAFETY: a power of two of them, one at least.
        unsafe {
            self.buckets
                .get_unchecked(number & (self.buckets.len() - 1))
        }
    }

    /// Bits of a hash that say which bucket.
    fn bits(&self) -> u32 {
        self.buckets.len().ilog2()
    }

    /// Never zero: a slot that is free, or free again, is no entry's, and searches need not ask.
    fn tag_of(&self, hash: u64) -> usize {
        ((hash >> self.tag_at) as usize & ((1 << TAG_BITS) - 1)) << 1 | 1
    }

    /// Whether buckets and tags of entries that are not displaced tell enough for a table with so many bits.
    fn tells(&self, bits: u32) -> bool {
        let said_twice = bits.saturating_sub(self.tag_at);
        bits <= self.bits() || self.tag_at <= self.bits() && said_twice <= SAID_TWICE_MAX
    }

    /// The low bits of the hash of an entry that is not displaced, as many as are known: those of its bucket and, if they follow, of its tag.
    fn hash_of(&self, bucket: usize, word: *mut E) -> usize {
        let Some(said_twice) = self.bits().checked_sub(self.tag_at) else {
            return bucket;
        };
        bucket | (tag(word) >> 1 >> said_twice) << self.bits()
    }

    fn slots(&self) -> usize {
        self.buckets.len() * SLOTS
    }

    /// Slot and address of the matching entry.
    fn find(&self, hash: u64, matches: &impl Fn(&E) -> bool) -> Option<(&'g AtomicPtr<E>, *mut E)> {
        let tag = self.tag_of(hash);
        let mut at = hash as usize;
        // A table always has a slot that was never used (see `get_or_insert`), so this ends.
        loop {
            for slot in &self.bucket(at).0 {
                // Acquire pairs with Release in `put`: the entry is seen as it was put in.
                let word = slot.load(Ordering::Acquire);
                if word.is_null() || word.addr() == FREED && planted("point: a freed slot ends") {
                    return None;
                }
                if self::tag(word) == tag {
                    let entry = address(word);
                    // SAFETY: found in the index by a pinned reader, or under the writer's lock.
                    if matches(unsafe { &*entry }) {
                        return Some((slot, entry));
                    }
                }
            }
            at += 1;
        }
    }

    /// Puts an entry into the first free slot of the search for a hash, of which the bits of the buckets count; true if that was a freed one.
    fn put(&self, hash: usize, tag: usize, entry: *mut E) -> bool {
        assert!(
            entry.addr() & !ADDRESS_MASK == 0 && !entry.is_null(),
            "an address of more than 48 bits, or of no multiple of four"
        );
        let mut word = entry.map_addr(|addr| addr | tag << ADDRESS_BITS);
        let mut at = hash;
        loop {
            for slot in &self.bucket(at).0 {
                let old = slot.load(Ordering::Relaxed);
                if old.is_null() || old.addr() == FREED {
                    slot.store(word, Ordering::Release);
                    return !old.is_null();
                }
            }
            word = word.map_addr(|addr| addr | DISPLACED);
            at += 1;
        }
    }
}

impl<E> Drop for PointIndex<E> {
    fn drop(&mut self) {
        for head in self.heads.iter_mut() {
            // SAFETY: `&mut self`: nobody else has it.
            unsafe { Table::free(*head.get_mut()) };
        }
    }
}

// The tables hold addresses of entries, which `Entry` demands to be shareable.
// SAFETY: all access to what the addresses lead to is through `&E` with `E: Send + Sync`.
unsafe impl<E: Hashed> Send for PointIndex<E> {}
// SAFETY: as above.
unsafe impl<E: Hashed> Sync for PointIndex<E> {}
