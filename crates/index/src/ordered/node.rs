//! Nodes: leaves hold entries, inner nodes hold separators and what is between them.
//!
//! Relies on: `keys` for order, `latch` for who may look, the epoch for how long a node stays.
//! Promises: a [`Node`] is live for its guard.  Does not: decide when to split or to leave.
//!
//! ```text
//!   inner, level 2            |  s0  |  s1  |          separators: smaller left, others right
//!                            c0     c1     c2          one child more than separators
//!   inner, level 1     | ... |
//!   leaf,  level 0   | e0 e1 e2 ... |                  entries, somebody else's
//! ```
//!
//! Nodes know no siblings: a scan goes on from the parent, or from the root by the separator that
//! ended the last leaf. So a leaf leaves the tree by a change of its parent alone.
//!
//! **Layout.** A leaf is 1024 bytes, one of them a cache line of latch, counts and prefix, then 60
//! heads, then 60 pointers.

use std::{marker::PhantomData, ptr};

use crossbeam_epoch::Guard;

use super::{
    keys::Keys,
    latch::{Held, Latch, Restart, Seen, View},
    separator::Separator,
};
use crate::{
    prefetch::prefetch,
    sync::{
        atomic::{AtomicPtr, Ordering::Relaxed},
        planted,
    },
};

/// Entries of a leaf and separators of an inner node. 60 was measured against 28 and 124: see the
/// header of `examples/ordered_speed.rs`. Small ones make deep trees of few entries for the unit
/// tests and Miri.
pub(super) const LEAF: usize = if cfg!(any(test, miri)) { 6 } else { 60 };
pub(super) const INNER: usize = if cfg!(any(test, miri)) { 4 } else { 60 };

const _: () = assert!(cfg!(any(test, miri)) || size_of::<Leaf<u8>>() == 1024);

/// What every node begins with.
#[repr(C)]
pub(super) struct Header {
    latch: Latch,
    /// 0 for a leaf. Never changes.
    level: u32,
}

#[repr(C, align(64))]
pub(super) struct Leaf<E> {
    header: Header,
    pub(super) keys: Keys<E, LEAF>,
}

#[repr(C, align(64))]
pub(super) struct Inner {
    header: Header,
    pub(super) keys: Keys<Separator, INNER>,
    children: [AtomicPtr<Header>; INNER + 1],
}

/// A node that was in the tree while the guard was pinned.
pub(super) struct Node<'g, E> {
    /// With the provenance of its allocation, so that it can be looked at as what it is.
    at: *mut Header,
    kind: PhantomData<&'g Leaf<E>>,
}

impl<E> Clone for Node<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Node<'_, E> {}

/// A node as what it is.
pub(super) enum Kind<'g, E> {
    Leaf(&'g Leaf<E>),
    Inner(&'g Inner),
}

impl<'g, E> Node<'g, E> {
    /// # Safety
    /// `at` is from [`Leaf::allocate`] or [`Inner::allocate`] of an index of `E`, and the node is
    /// not freed for all of `'g`.
    #[inline]
    pub(super) unsafe fn new(at: *mut Header) -> Self {
        Self {
            at,
            kind: PhantomData,
        }
    }

    pub(super) fn pointer(self) -> *mut Header {
        self.at
    }

    #[inline]
    fn header(self) -> &'g Header {
        // SAFETY: live for 'g (`new`), and every node begins with its header.
        unsafe { &*self.at }
    }

    pub(super) fn level(self) -> u32 {
        self.header().level
    }

    #[inline]
    pub(super) fn view(self) -> Result<View<'g>, Restart> {
        self.header().latch.view()
    }

    /// A view of the state that somebody has left it in.
    #[inline]
    pub(super) fn view_as(self, seen: Seen) -> View<'g> {
        self.header().latch.view_as(seen)
    }

    /// The lock of a node that nobody else can have locked: it is new, or the whole tree is ours.
    pub(super) fn lock_alone(self) -> Held<'g> {
        let held = self.view().and_then(View::lock);
        held.expect("a node that nobody else writes is neither locked nor obsolete")
    }

    #[inline]
    pub(super) fn kind(self) -> Kind<'g, E> {
        // SAFETY: live for 'g, and the level says as what it was allocated.
        unsafe {
            match self.level() {
                0 => Kind::Leaf(&*self.at.cast::<Leaf<E>>()),
                _ => Kind::Inner(&*self.at.cast::<Inner>()),
            }
        }
    }

    /// Frees the node once nobody can hold it any more. What its slots point to stays.
    pub(super) fn retire(self, held: Held<'_>, guard: &Guard) {
        held.retire();
        let (at, level) = (self.at, self.level());
        // SAFETY: it has left the tree and is obsolete (both by the holder of its latch, once),
        // so that only guards pinned before now can still hold it.
        unsafe { guard.defer_unchecked(move || free::<E>(at, level)) };
    }
}

/// # Safety
/// `at` is a node of that level of an index of `E`; nobody uses it any more.
pub(super) unsafe fn free<E>(at: *mut Header, level: u32) {
    // SAFETY: both are allocated as boxes.
    unsafe {
        if level == 0 {
            drop(Box::from_raw(at.cast::<Leaf<E>>()));
        } else {
            drop(Box::from_raw(at.cast::<Inner>()));
        }
    }
}

impl<E> Leaf<E> {
    pub(super) fn allocate() -> *mut Header {
        Box::into_raw(Box::new(Self {
            header: Header {
                latch: Latch::new(),
                level: 0,
            },
            keys: Keys::new(),
        }))
        .cast()
    }

    pub(super) fn is_held(&self, held: &Held<'_>) -> bool {
        held.is_of(&self.header.latch)
    }
}

impl Inner {
    /// What a search reads of an inner node before it reads a child: all before the separators.
    const SEARCHED: usize = std::mem::offset_of!(Self, keys) + Keys::<Separator, INNER>::SLOTS_AT;

    /// A node with one child and no separator.
    pub(super) fn allocate(level: u32, child: *mut Header) -> *mut Header {
        let inner = Self {
            header: Header {
                latch: Latch::new(),
                level,
            },
            keys: Keys::new(),
            children: [const { AtomicPtr::new(ptr::null_mut()) }; INNER + 1],
        };
        inner.children[0].store(child, Relaxed);
        Box::into_raw(Box::new(inner)).cast()
    }

    pub(super) fn is_held(&self, held: &Held<'_>) -> bool {
        held.is_of(&self.header.latch)
    }

    #[inline]
    pub(super) fn child_pointer(&self, index: usize) -> *mut Header {
        self.children[index].load(Relaxed)
    }

    /// The child and its view, which was taken while it was this node's child.
    #[inline]
    pub(super) fn child<'g, E>(
        &self,
        index: usize,
        view: &View<'g>,
    ) -> Result<(Node<'g, E>, View<'g>), Restart> {
        let at = self.child_pointer(index);
        // All lines at once, and before the first of them is waited for.
        if self.header.level == 1 {
            prefetch_range(at, size_of::<Leaf<E>>());
        } else {
            let children = at.wrapping_byte_add(std::mem::offset_of!(Self, children));
            prefetch_range(at, Self::SEARCHED);
            prefetch_range(children, size_of::<*mut Header>() * (INNER + 1));
        }
        view.still()?;
        // SAFETY: the view holds, so the child was in the tree after the guard was pinned, and
        // stays until the guard is gone.
        let child = unsafe { Node::<E>::new(at) };
        let seen = child.view()?;
        if !planted("ordered: the parent is not asked again") {
            view.still()?;
        }
        Ok((child, seen))
    }

    /// Hangs `right` in behind child `index`, divided from it by the separator.
    pub(super) fn insert(
        &self,
        held: &Held<'_>,
        index: usize,
        separator: *mut Separator,
        right: *mut Header,
    ) {
        debug_assert!(self.is_held(held));
        // SAFETY: the caller's, and not published before the lock is let go.
        let bytes = unsafe { <Separator as super::separator::Keyed>::key_at(separator) };
        let count = self.keys.len();
        self.keys.insert(held, index, bytes, separator);
        for from in (index + 1..=count).rev() {
            self.children[from + 1].store(self.child_pointer(from), Relaxed);
        }
        self.children[index + 1].store(right, Relaxed);
    }

    /// Takes out child `index`; a neighbour gets its range. The separator between them is the
    /// caller's now. Not for the only child.
    pub(super) fn remove(&self, held: &Held<'_>, index: usize) -> *mut Separator {
        debug_assert!(self.is_held(held));
        let count = self.keys.len();
        let separator = self.keys.remove(held, index.saturating_sub(1));
        for to in index..count {
            self.children[to].store(self.child_pointer(to + 1), Relaxed);
        }
        separator
    }

    /// Moves what is right of separator `at` to a new node and returns the separator with it:
    /// it divides the two.
    pub(super) fn split(&self, held: &Held<'_>, at: usize) -> (*mut Separator, *mut Header) {
        debug_assert!(self.is_held(held));
        let count = self.keys.len();
        let pointer = Self::allocate(self.header.level, self.child_pointer(at + 1));
        // SAFETY: allocated just now, and nobody else knows it.
        let right = unsafe { &*pointer.cast::<Self>() };
        // The entries' type does not matter to an inner node.
        // SAFETY: as above.
        let right_held = unsafe { Node::<()>::new(pointer) }.lock_alone();
        self.keys.split(held, at + 1, &right.keys, &right_held);
        for from in at + 2..=count {
            right.children[from - at - 1].store(self.child_pointer(from), Relaxed);
        }
        (self.keys.remove(held, at), pointer)
    }
}

/// Begins to fetch `bytes` from `start` on, line by line.
#[inline(always)]
pub(super) fn prefetch_range<T>(start: *const T, bytes: usize) {
    const LINE: usize = 64;
    for at in (0..bytes).step_by(LINE) {
        prefetch(start.wrapping_byte_add(at));
    }
}
