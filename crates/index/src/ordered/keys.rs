//! The sorted keys of one node: what they share is cut off, what comes next is an integer.
//!
//! Relies on: the latch of the node (writers hold it, readers prove their view of it).
//! Promises: a search compares integers and follows a slot's pointer only where integers tie.
//! Does not: know what the slots point to beyond that it has a key, or free any of it.
//!
//! ```text
//!   prefix   | what all keys here begin with; its first 40 bytes stand in the node, the rest is
//!            | read from the first slot's key
//!   heads    | per slot the next 8 bytes, big-endian, short keys filled up with zeros
//!   slots    | per slot the pointer
//! ```
//!
//! A head that is smaller means a key that is smaller; equal heads say nothing ("a" and "a\0").
//! The prefix is what the keys *here* share, not what the node's place in the tree implies: so the
//! nodes at the edges of the tree have one too, and neighbours may take over a range without being
//! rewritten. A key that does not fit shortens the prefix: the heads move by arithmetic alone. A
//! longer one is looked for when a node splits, and only if heads tie, since that reads every key.
//!
//! **Who reads and writes.** All fields are written under the node's latch and read by anybody;
//! nothing read counts before the view was found to hold, and no pointer is followed before.

use std::{
    cmp::Ordering,
    ptr::{self, NonNull},
};

use super::{
    head::{head_of, top},
    latch::{Held, Restart, View},
    separator::Keyed,
};
use crate::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, Ordering::Relaxed};

mod prefix;

/// How much of the prefix stands in the node: what is left of a node's first cache line.
const INLINE_WORDS: usize = 5;
const INLINE_BYTES: usize = INLINE_WORDS * 8;

/// Up to `N` keys in order.
#[repr(C)]
pub(super) struct Keys<T, const N: usize> {
    count: AtomicU16,
    prefix_length: AtomicU16,
    /// Where the last insert was, and how many before it were each right behind the other.
    last: AtomicU16,
    run: AtomicU16,
    prefix: [AtomicU64; INLINE_WORDS],
    heads: [AtomicU64; N],
    slots: [AtomicPtr<T>; N],
}

/// Where a key is or would be.
pub(super) struct Place<T> {
    /// The first slot whose key is not smaller.
    pub(super) at: usize,
    /// What stands there if its key is the same.
    pub(super) found: Option<NonNull<T>>,
}

impl<T> Place<T> {
    const fn absent(at: usize) -> Self {
        Self { at, found: None }
    }

    /// The first slot whose key is greater.
    pub(super) fn after(&self) -> usize {
        self.at + usize::from(self.found.is_some())
    }
}

impl<T, const N: usize> Keys<T, N> {
    /// So many inserts, each right behind the last, make a rising run: chance seldom does it.
    const RUN: usize = if N < 16 { 2 } else { N / 8 };
    /// Where the pointers begin: what a scan fetches ahead.
    pub(super) const SLOTS_AT: usize = std::mem::offset_of!(Self, slots);

    pub(super) const fn new() -> Self {
        assert!(N >= 4 && N < u16::MAX as usize);
        Self {
            count: AtomicU16::new(0),
            prefix_length: AtomicU16::new(0),
            last: AtomicU16::new(0),
            run: AtomicU16::new(0),
            prefix: [const { AtomicU64::new(0) }; INLINE_WORDS],
            heads: [const { AtomicU64::new(0) }; N],
            slots: [const { AtomicPtr::new(ptr::null_mut()) }; N],
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.count.load(Relaxed)).min(N)
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == N
    }

    #[inline]
    pub(super) fn slot(&self, at: usize) -> *mut T {
        self.slots[at].load(Relaxed)
    }

    #[inline]
    fn head(&self, at: usize) -> u64 {
        self.heads[at].load(Relaxed)
    }

    #[inline]
    fn prefix_length(&self) -> usize {
        usize::from(self.prefix_length.load(Relaxed))
    }

    fn set_len(&self, count: usize) {
        // Fits: `N` does (asserted in `new`).
        self.count.store(count as u16, Relaxed);
        if count == 0 {
            self.prefix_length.store(0, Relaxed);
        }
    }

    fn put(&self, at: usize, head: u64, slot: *mut T) {
        self.heads[at].store(head, Relaxed);
        self.slots[at].store(slot, Relaxed);
    }

    /// The first of `count` heads that is not smaller than `head`. Without branches on the
    /// heads: half of them would be mispredicted.
    #[inline]
    fn lower(&self, head: u64, count: usize) -> usize {
        if count == 0 {
            return 0;
        }
        let heads = &self.heads[..count];
        let (mut base, mut size) = (0, count);
        while size > 1 {
            let half = size / 2;
            // SAFETY: `base + size` is at most the count from the first turn to the last, and
            // `half` is from 1 to `size - 1`.
            let middle = unsafe { heads.get_unchecked(base + half - 1) };
            let right = middle.load(Relaxed) < head;
            base = std::hint::select_unpredictable(right, base + half, base);
            size -= half;
        }
        base + usize::from(heads[base].load(Relaxed) < head)
    }
}

impl<T: Keyed, const N: usize> Keys<T, N> {
    /// Finds a key's place. What is found has been proved by `view`; a place where nothing was
    /// found counts only if the view still holds.
    #[inline]
    pub(super) fn search(&self, key: &[u8], view: &View<'_>) -> Result<Place<T>, Restart> {
        let count = self.len();
        let cut = self.prefix_length();
        if cut > 0 {
            match self.compare_prefix(key, cut, view)? {
                Ordering::Less => return Ok(Place::absent(0)),
                Ordering::Equal => {}
                Ordering::Greater => return Ok(Place::absent(count)),
            }
        }
        let head = head_of(key, cut);
        let low = self.lower(head, count);
        if low == count || self.head(low) != head {
            return Ok(Place::absent(low));
        }
        self.search_ties(key, cut, low, count, view)
    }

    /// Goes on by whole keys, where heads tie from `low` on.
    fn search_ties(
        &self,
        key: &[u8],
        cut: usize,
        mut low: usize,
        count: usize,
        view: &View<'_>,
    ) -> Result<Place<T>, Restart> {
        let head = self.head(low);
        let mut high = low + 1;
        if high < count && self.head(high) == head {
            high = match head.checked_add(1) {
                Some(next) => self.lower(next, count),
                None => count,
            };
        }
        while low < high {
            let middle = low.midpoint(high);
            let slot = self.slot(middle);
            view.still()?;
            // SAFETY: the view holds, so this stood in the node after the caller's guard was
            // pinned, and stays until the guard is gone.
            let other = unsafe { T::key_at(slot) };
            match other[cut..].cmp(&key[cut..]) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => {
                    return Ok(Place {
                        at: middle,
                        found: NonNull::new(slot),
                    });
                }
                Ordering::Greater => high = middle,
            }
        }
        Ok(Place::absent(low))
    }

    /// How the beginning of `key` stands to the prefix of length `cut`. Equal means that the key
    /// begins with it.
    #[inline]
    fn compare_prefix(&self, key: &[u8], cut: usize, view: &View<'_>) -> Result<Ordering, Restart> {
        let inline = cut.min(INLINE_BYTES);
        for (word, prefix) in self.prefix.iter().enumerate() {
            let at = word * 8;
            if at >= inline {
                break;
            }
            let ours = head_of(key, at) & top(inline - at);
            match ours.cmp(&prefix.load(Relaxed)) {
                Ordering::Equal => {}
                other => return Ok(other),
            }
        }
        // A key that ends here and ties, since the prefix goes on with zeros.
        if key.len() < inline {
            return Ok(Ordering::Less);
        }
        if cut > INLINE_BYTES {
            return self.compare_long_prefix(key, cut, view);
        }
        Ok(Ordering::Equal)
    }

    /// How a key that begins with the part of the prefix in the node stands to the rest of it. Apart, since few
    /// nodes have so long a one, and every search would save registers for it.
    #[inline(never)]
    fn compare_long_prefix(
        &self,
        key: &[u8],
        cut: usize,
        view: &View<'_>,
    ) -> Result<Ordering, Restart> {
        let slot = self.slot(0);
        view.still()?;
        // SAFETY: as in `search_ties`; a node with a prefix has a first slot.
        let first = unsafe { T::key_at(slot) };
        let length = cut.min(key.len());
        Ok(key[INLINE_BYTES..length].cmp(&first[INLINE_BYTES..cut]))
    }

    /// The key in a slot of a node that the caller has locked, or has to himself.
    ///
    /// # Safety
    /// The caller is the only writer for all of `'a`, and `at` is below [`Self::len`].
    unsafe fn key<'a>(&self, at: usize) -> &'a [u8]
    where
        T: 'a,
    {
        // SAFETY: what stands in the node lives (the index's invariant), and nobody takes it out
        // while the caller is the only writer.
        unsafe { T::key_at(self.slot(at)) }
    }

    /// The smallest and the greatest key, under a lock.
    pub(super) fn ends<'h>(&self, _held: &'h Held<'_>) -> Option<(&'h [u8], &'h [u8])>
    where
        T: 'h,
    {
        let count = self.len();
        // SAFETY: locked for 'h; both are below the count.
        (count > 0).then(|| unsafe { (self.key(0), self.key(count - 1)) })
    }

    /// Puts a key in at its place, which a search in this very state has found.
    pub(super) fn insert(&self, _held: &Held<'_>, at: usize, key: &[u8], slot: *mut T) {
        let count = self.len();
        assert!(at <= count && count < N, "no room: {at} of {count}");
        // A key between two others begins with all that those have in common.
        if at == 0 || at == count {
            self.fit_prefix(key);
        }
        for from in (at..count).rev() {
            self.put(from + 1, self.head(from), self.slot(from));
        }
        self.put(at, head_of(key, self.prefix_length()), slot);
        self.set_len(count + 1);
        self.note_run(at);
    }

    fn note_run(&self, at: usize) {
        let behind = usize::from(self.last.load(Relaxed)) + 1 == at;
        let run = self.run.load(Relaxed);
        self.run
            .store(if behind { run.saturating_add(1) } else { 0 }, Relaxed);
        self.last.store(at as u16, Relaxed);
    }

    /// Takes the slot out and returns what stood there.
    pub(super) fn remove(&self, _held: &Held<'_>, at: usize) -> *mut T {
        let count = self.len();
        assert!(at < count, "nothing at {at} of {count}");
        let slot = self.slot(at);
        for to in at..count - 1 {
            self.put(to, self.head(to + 1), self.slot(to + 1));
        }
        self.set_len(count - 1);
        self.run.store(0, Relaxed);
        slot
    }

    /// Where to divide a full node so that a key can go in at `at`: rising and falling inserts
    /// leave full nodes behind them, others two halves.
    pub(super) fn division(&self, at: usize) -> usize {
        let count = self.len();
        if at == 0 || at == count || usize::from(self.run.load(Relaxed)) >= Self::RUN {
            at
        } else {
            count / 2
        }
    }

    /// Moves all from `at` on to an empty node.
    pub(super) fn split(&self, _held: &Held<'_>, at: usize, right: &Self, _right_held: &Held<'_>) {
        let count = self.len();
        for from in at..count {
            right.put(from - at, self.head(from), self.slot(from));
        }
        for (to, from) in right.prefix.iter().zip(&self.prefix) {
            to.store(from.load(Relaxed), Relaxed);
        }
        right
            .prefix_length
            .store(self.prefix_length.load(Relaxed), Relaxed);
        right.set_len(count - at);
        self.set_len(at);
        self.run.store(0, Relaxed);
        self.lengthen_prefix();
        right.lengthen_prefix();
    }

    /// Takes over all of a node whose keys are greater than any here.
    pub(super) fn absorb(&self, _held: &Held<'_>, right: &Self, _right_held: &Held<'_>) {
        let (count, more) = (self.len(), right.len());
        assert!(count + more <= N, "no room: {count} and {more}");
        for from in 0..more {
            self.put(count + from, 0, right.slot(from));
        }
        self.set_len(count + more);
        self.run.store(0, Relaxed);
        self.rebuild();
    }

    /// Asserts the order and the heads, and that all keys are in `lower..upper`.
    pub(super) fn check(&self, _held: &Held<'_>, lower: Option<&[u8]>, upper: Option<&[u8]>) {
        let (count, cut) = (self.len(), self.prefix_length());
        // SAFETY: the caller holds the latch; all are below the count.
        let keys = || (0..count).map(|at| unsafe { self.key(at) });
        for (at, key) in keys().enumerate() {
            assert!(
                lower.is_none_or(|lower| lower <= key),
                "{key:?} under {lower:?}"
            );
            assert!(
                upper.is_none_or(|upper| key < upper),
                "{key:?} over {upper:?}"
            );
            assert_eq!(self.head(at), head_of(key, cut), "head of {key:?}");
            assert_eq!(self.shared_with_prefix(key, cut), cut, "prefix of {key:?}");
        }
        assert!(keys().is_sorted_by(|left, right| left < right), "order");
        assert!(count > 0 || cut == 0, "a prefix of nothing");
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
