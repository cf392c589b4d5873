//! The ordered index: entries by key order, for ranges as well as for one key.
//!
//! Relies on: [`Entry`] for what lives how long, `crossbeam-epoch` for when a node may be freed.
//! Promises: readers write no shared memory and wait only while a writer is at work on the very
//! node they stand at; writers lock the node they change, and its parent if it splits or goes. An
//! entry that is in during all of a [`OrderedIndex::chunk`] is returned exactly once and in order.
//! Does not: own entries, copy keys (but for the short separators between leaves), offer a
//! snapshot, or keep readers from beginning again when writers overtake them.
//!
//! A B+tree with optimistic latches (Leis, Haubenschild, Neumann: Optimistic Lock Coupling, 2019;
//! heads and cut prefixes as in Graefe and Larson: B-tree indexes and CPU caches, 2001).
//!
//! | file | what it holds |
//! |---|---|
//! | `latch` | the version word: look, look again, lock |
//! | `separator` | the bytes that divide neighbours |
//! | `head` | eight bytes of a key as an integer |
//! | `keys` | the sorted keys of one node: prefix, heads, pointers; the search |
//! | `node` | leaves and inner nodes |
//! | `near` | the last insertion's leaf, for neighbours |
//! | `grow` | what happens when a node is full |
//! | `prune` | what happens when a leaf is empty or nearly so |
//! | `scan` | ranges |
//! | `shape` | the tree at rest, looked at as a whole |
//!
//! **Invariants.**
//! 1. Every pointer in a slot below a node's count is live: an entry by its owner's promise, a
//!    separator or child because it is retired through the epoch only after it was taken out.
//! 2. A pointer is followed only after the view it was read under was found to hold. So it was in
//!    the tree after the guard was pinned, and the epoch keeps it for as long as the guard.
//! 3. A node that is not obsolete is in the tree. Its range shrinks only by a change of itself and
//!    its parent; it may grow by the change of an ancestor, when a neighbour goes.
//! 4. A latch is only ever tried while another is held, parents before children.
//!
//! Hot path: `get` and `insert` (here), `Keys::search`, `chunk`. No allocation but for splits, no
//! shared counter, no key read but on a tie.
#![allow(
    unsafe_code,
    reason = "follows pointers that the epoch and the views keep live"
)]

use std::{fmt, marker::PhantomData};

use crossbeam_epoch::Guard;

use crate::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Relaxed},
};
use crate::{Entry, Tally};
use latch::{Pause, Restart, View};
use node::{Header, Inner, Kind, Leaf, Node};
use separator::Separator;

mod grow;
mod head;
mod keys;
mod latch;
mod near;
mod node;
#[cfg(test)]
mod number;
mod prune;
mod scan;
mod separator;
mod shape;
#[cfg(all(test, not(miri), not(shuttle)))]
mod tests;

pub use near::Near;
pub use shape::Shape;

/// Entries in key order; see the head of this file.
pub struct OrderedIndex<E> {
    /// Never null. Written under the latch of the node it points to.
    root: AtomicPtr<Header>,
    /// No other index of the process has or had it.
    number: u64,
    tally: Tally,
    /// Holds entries by pointers that any thread may follow.
    entries: PhantomData<AtomicPtr<E>>,
}

/// Numbers for indexes. Of `std` in every build: it orders nothing.
static NUMBERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// A step down the tree: which child of which node, as seen then.
#[derive(Clone, Copy)]
struct Step<'g> {
    inner: &'g Inner,
    view: View<'g>,
    index: usize,
}

/// A leaf and the last step to it; the root has none.
struct Way<'g, E> {
    parent: Option<Step<'g>>,
    /// The last step to a child that is not its node's last one: the separator behind that ends the leaf's range, too.
    edge: Option<Step<'g>>,
    node: Node<'g, E>,
    leaf: &'g Leaf<E>,
    view: View<'g>,
}

impl<E: Entry> OrderedIndex<E> {
    /// An empty index: one empty leaf.
    pub fn new() -> Self {
        Self {
            root: AtomicPtr::new(Leaf::<E>::allocate()),
            number: NUMBERS.fetch_add(1, Relaxed),
            tally: Tally::new(),
            entries: PhantomData,
        }
    }

    /// Puts an entry in unless its key is there: then returns the entry that is.
    ///
    /// # Safety
    /// The entry keeps [`Entry`]'s promise: it lives until it has been taken out again (or the
    /// index is gone) and every guard pinned before then is gone.
    pub unsafe fn insert<'g>(&self, entry: &'g E, guard: &'g Guard) -> Option<&'g E> {
        // SAFETY: the caller's promise.
        unsafe { self.insert_near(entry, &mut Near::under(guard)) }
    }

    /// As [`Self::insert`], and cheaper for a key that follows the last one: keys that were put in by the
    /// same `near` and lie side by side share the way down to their leaf.
    ///
    /// # Safety
    /// As for [`Self::insert`].
    pub unsafe fn insert_near<'g>(&self, entry: &'g E, near: &mut Near<'g, E>) -> Option<&'g E> {
        let key = entry.key();
        let there = if near.insert(self, key, entry) {
            None
        } else {
            retry(|| self.try_insert(key, entry, near))
        };
        if there.is_none() {
            self.tally.add(1);
        }
        there
    }

    fn try_insert<'g>(
        &self,
        key: &[u8],
        entry: &'g E,
        near: &mut Near<'g, E>,
    ) -> Result<Option<&'g E>, Restart> {
        let way = self.descend(key, Full::Split, near.guard())?;
        let place = way.leaf.keys.search(key, &way.view)?;
        if let Some(there) = place.found {
            // SAFETY: found under a view that held (invariant 2).
            return Ok(Some(unsafe { there.as_ref() }));
        }
        if way.leaf.keys.is_full() {
            self.split_leaf(&way, place.at, entry)?;
        } else {
            let held = way.view.lock()?;
            let slot = std::ptr::from_ref(entry).cast_mut();
            way.leaf.keys.insert(&held, place.at, key, slot);
            near.remember(self, way.edge, way.node, held.release());
        }
        Ok(None)
    }

    /// The entry of this key.
    pub fn get<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g E> {
        retry(|| {
            let way = self.descend(key, Full::Leave, guard)?;
            let place = way.leaf.keys.search(key, &way.view)?;
            if place.found.is_none() {
                way.view.still()?;
            }
            // SAFETY: found under a view that held (invariant 2).
            Ok(place.found.map(|there| unsafe { there.as_ref() }))
        })
    }

    /// Takes the entry of this key out. The caller frees it through the guard, by the pointer that
    /// it was allocated with: a shared reference does not give the right to.
    pub fn remove<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g E> {
        let (removed, left) = retry(|| {
            let way = self.descend(key, Full::Leave, guard)?;
            let place = way.leaf.keys.search(key, &way.view)?;
            let Some(there) = place.found else {
                way.view.still()?;
                return Ok(None);
            };
            let held = way.view.lock()?;
            way.leaf.keys.remove(&held, place.at);
            Ok(Some((there, way.leaf.keys.len())))
        })?;
        self.tally.add(-1);
        self.prune_after_removal(key, left, guard);
        // SAFETY: found under a view that held, and not freed before the guard is gone.
        Some(unsafe { removed.as_ref() })
    }

    /// How many entries there are. Changes under way may or may not be counted.
    pub fn len(&self) -> usize {
        self.tally.sum()
    }

    /// Whether there is none, with the same reservation as [`Self::len`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Goes to the leaf where `key` is or would be.
    #[inline]
    fn descend<'g>(&self, key: &[u8], full: Full, guard: &'g Guard) -> Result<Way<'g, E>, Restart> {
        let mut parent = None;
        let mut edge = None;
        let (mut node, mut view) = self.root(guard)?;
        loop {
            let inner = match node.kind() {
                Kind::Inner(inner) => inner,
                Kind::Leaf(leaf) => {
                    return Ok(Way {
                        parent,
                        edge,
                        node,
                        leaf,
                        view,
                    });
                }
            };
            let index = inner.keys.search(key, &view)?.after();
            let step = Step { inner, view, index };
            if full == Full::Split && inner.keys.is_full() {
                self.split_inner(parent, node, step)?;
                return Err(Restart);
            }
            if index < inner.keys.len() {
                edge = Some(step);
            }
            (node, view) = inner.child(index, &view)?;
            parent = Some(step);
        }
    }

    /// The root and its view, which was taken while it was the root.
    #[inline]
    fn root<'g>(&self, _guard: &'g Guard) -> Result<(Node<'g, E>, View<'g>), Restart> {
        // Acquire pairs with the Release of whoever makes a root.
        let at = self.root.load(Acquire);
        // SAFETY: it was the root while the guard was pinned, and is freed through the epoch.
        let node = unsafe { Node::new(at) };
        let view = node.view()?;
        // A root that splits is replaced before it is unlocked: a view of its left half comes
        // after the replacement, which is then seen here.
        if self.root.load(Acquire) == at {
            Ok((node, view))
        } else {
            Err(Restart)
        }
    }

    fn is_root(&self, node: Node<'_, E>) -> bool {
        // Asked under the node's latch, and a node stops being the root only by a change of itself:
        // so one that was the root under a view is while it is locked by that view.
        self.root.load(Relaxed) == node.pointer()
    }
}

/// What to do with full inner nodes on the way: whoever may split the leaf needs room above it.
#[derive(Clone, Copy, PartialEq)]
enum Full {
    Split,
    Leave,
}

/// Tries until it is not overtaken.
#[inline]
fn retry<T>(mut attempt: impl FnMut() -> Result<T, Restart>) -> T {
    let mut pause = Pause::new();
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(Restart) => pause.wait(),
        }
    }
}

/// Frees a separator that was taken out of its node, once nobody can be reading it.
fn retire_separator(separator: *mut Separator, guard: &Guard) {
    // SAFETY: taken out under the node's latch, by one; readers found it before.
    unsafe { guard.defer_unchecked(move || Separator::free(separator)) };
}

impl<E: Entry> Default for OrderedIndex<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> fmt::Debug for OrderedIndex<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderedIndex")
            .field("len", &self.tally.sum())
            .finish_non_exhaustive()
    }
}

impl<E> Drop for OrderedIndex<E> {
    /// Frees the nodes and separators. The entries are their owner's.
    fn drop(&mut self) {
        // SAFETY: nobody else has the index any more; what had left the tree is the epoch's.
        unsafe { drop_tree::<E>(*self.root.get_mut()) };
    }
}

/// # Safety
/// `at` is the root of a tree of an index of `E` that nobody uses any more.
unsafe fn drop_tree<E>(at: *mut Header) {
    // SAFETY: the whole tree lives until it is freed here, children before their parent.
    unsafe {
        let node = Node::<E>::new(at);
        let level = node.level();
        if let Kind::Inner(inner) = node.kind() {
            let count = inner.keys.len();
            (0..=count).for_each(|index| drop_tree::<E>(inner.child_pointer(index)));
            (0..count).for_each(|index| Separator::free(inner.keys.slot(index)));
        }
        node::free::<E>(at, level);
    }
}
