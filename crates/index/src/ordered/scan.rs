//! Ranges, leaf by leaf: each leaf's part is copied under one view.
//!
//! Relies on: separators for where a leaf ends; they outlive the guard's readers like nodes do.
//! Promises: what [`OrderedIndex::chunk`] says.  Does not: give a snapshot of the range.
//!
//! **Why nothing is returned twice or missed.** Every step covers the keys from where the last one
//! ended to an *edge*, the separator at the leaf's far side, and the next goes on from that edge.
//! So each key is looked at in one step only. For that, the edge must be where the leaf ended when its
//! view was taken. The parent's view, asked after the leaf's was taken, proves an edge that is in
//! the parent. An edge from further up is proved by asking its own node once more then: without
//! that the leaf might have got the range behind it meanwhile (its neighbour went) and a key in
//! it, and that key would be returned again as the first of the next leaf.
//!
//! ```text
//!   descend --> leaf, view, edge --copy, view holds?--> next child of the same parent, if its
//!      ^                                  |              view holds, or
//!      \---- by the edge, or again -------/<------------ by the edge from the root
//! ```

use std::{ops::Bound, ptr::NonNull};

use crossbeam_epoch::Guard;

use super::{
    Kind, OrderedIndex, Step,
    keys::{Keys, Place},
    latch::{Pause, Restart, View},
    node::{LEAF, Leaf, prefetch_range},
    separator::{Keyed, Separator},
};
use crate::{Entry, prefetch::prefetch, sync::planted};

/// Which way a scan goes.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Forward,
    Backward,
}

/// Where a scan enters the tree.
#[derive(Clone, Copy)]
enum Seek<'k> {
    First,
    Last,
    /// The leaf that this key is or would be in.
    At(&'k [u8]),
    /// The leaf that the greatest smaller key is or would be in.
    Before(&'k [u8]),
}

/// A separator at the far side of a node, and the view it was read under.
#[derive(Clone, Copy)]
struct Edge<'g> {
    bytes: &'g [u8],
    view: View<'g>,
}

/// A leaf on the way of a scan.
struct Stop<'g, E> {
    leaf: &'g Leaf<E>,
    view: View<'g>,
    /// Where the leaf ends; none if the tree ends with it.
    edge: Option<&'g [u8]>,
    /// The last step to it and where the node of that step ends.
    parent: Option<(Step<'g>, Option<Edge<'g>>)>,
    /// Whether it begins where the last stop ended. It need not if it was entered from the root.
    whole: bool,
}

/// What is wanted of the leaves.
struct Range<'k> {
    lower: Bound<&'k [u8]>,
    upper: Bound<&'k [u8]>,
    direction: Direction,
}

impl<E: Entry> OrderedIndex<E> {
    /// Appends up to `limit` entries of the range in order (descending when `backward`) to
    /// `into`. True: the range is exhausted. After false go on with `Excluded(last key)`.
    ///
    /// An entry that is in during the whole call and lies in what is returned is returned exactly
    /// once and in its order; one that comes or goes meanwhile may or may not be. False says only
    /// that the limit was reached: there need not be more.
    #[allow(
        clippy::too_many_arguments,
        reason = "a range has two ends and a direction"
    )]
    pub fn chunk<'g>(
        &self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        backward: bool,
        limit: usize,
        guard: &'g Guard,
        into: &mut Vec<&'g E>,
    ) -> bool {
        let (direction, start) = if backward {
            (Direction::Backward, upper)
        } else {
            (Direction::Forward, lower)
        };
        let mut seek = match (start, direction) {
            (Bound::Unbounded, Direction::Forward) => Seek::First,
            (Bound::Unbounded, Direction::Backward) => Seek::Last,
            (Bound::Excluded(key), Direction::Backward) => Seek::Before(key),
            (Bound::Included(key) | Bound::Excluded(key), _) => Seek::At(key),
        };
        let mut range = Range {
            lower,
            upper,
            direction,
        };
        let mut left = limit;
        let mut pause = Pause::new();
        let mut next: Option<Stop<'g, E>> = None;
        loop {
            let stop = match next.take() {
                Some(stop) => Ok(stop),
                None => self.enter(seek, direction, guard),
            };
            let taken = stop.and_then(|stop| Ok((stop.take(&range, left, into)?, stop)));
            let Ok(((taken, ended), stop)) = taken else {
                pause.wait();
                continue;
            };
            left -= taken;
            if ended {
                return true;
            }
            let Some(edge) = stop.edge else {
                // Not ended at the end of the tree: the limit was reached in its last leaf.
                return false;
            };
            if left == 0 {
                return false;
            }
            pause = Pause::new();
            match direction {
                Direction::Forward => {
                    seek = Seek::At(edge);
                    range.lower = Bound::Included(edge);
                }
                Direction::Backward => {
                    seek = Seek::Before(edge);
                    range.upper = Bound::Excluded(edge);
                }
            }
            next = stop.beside(direction);
        }
    }

    /// Goes down to a leaf and notes where it ends.
    fn enter<'g>(
        &self,
        seek: Seek<'_>,
        direction: Direction,
        guard: &'g Guard,
    ) -> Result<Stop<'g, E>, Restart> {
        let (mut node, mut view) = self.root(guard)?;
        let mut edge = None;
        let mut parent = None;
        loop {
            let inner = match node.kind() {
                Kind::Inner(inner) => inner,
                Kind::Leaf(leaf) => return Stop::new(leaf, view, edge, parent, false),
            };
            let index = match seek {
                Seek::First => 0,
                Seek::Last => inner.keys.len(),
                Seek::At(key) => inner.keys.search(key, &view)?.after(),
                Seek::Before(key) => inner.keys.search(key, &view)?.at,
            };
            let step = Step { inner, view, index };
            parent = Some((step, edge));
            edge = step.edge(direction)?.or(edge);
            (node, view) = inner.child(index, &view)?;
        }
    }
}

impl<'g> Step<'g> {
    /// The separator at the far side of the child, if it is not the last one.
    fn edge(&self, direction: Direction) -> Result<Option<Edge<'g>>, Restart> {
        let at = match direction {
            Direction::Forward => Some(self.index).filter(|&at| at < self.inner.keys.len()),
            Direction::Backward => self.index.checked_sub(1),
        };
        let Some(at) = at else { return Ok(None) };
        let separator = self.inner.keys.slot(at);
        self.view.still()?;
        Ok(Some(Edge {
            // SAFETY: the view holds, so it was in the tree after the guard was pinned.
            bytes: unsafe { Separator::key_at(separator) },
            view: self.view,
        }))
    }

    /// The step to the next child of the same node.
    fn beside(&self, direction: Direction) -> Option<Self> {
        let index = match direction {
            Direction::Forward => Some(self.index + 1).filter(|&at| at <= self.inner.keys.len()),
            Direction::Backward => self.index.checked_sub(1),
        };
        index.map(|index| Self { index, ..*self })
    }
}

impl<'g, E: Entry> Stop<'g, E> {
    /// `view` was taken while the parent's held.
    fn new(
        leaf: &'g Leaf<E>,
        view: View<'g>,
        edge: Option<Edge<'g>>,
        parent: Option<(Step<'g>, Option<Edge<'g>>)>,
        whole: bool,
    ) -> Result<Self, Restart> {
        if let Some(edge) = edge
            && !planted("scan: the edge is not asked again")
        {
            // See the head of this file.
            edge.view.still()?;
        }
        Ok(Self {
            leaf,
            view,
            edge: edge.map(|edge| edge.bytes),
            parent,
            whole,
        })
    }

    /// The next leaf, if it is under the same parent and that has not changed.
    fn beside(&self, direction: Direction) -> Option<Self> {
        let (step, beyond) = self.parent?;
        let step = step.beside(direction)?;
        let edge = step.edge(direction).ok()?.or(beyond);
        let (node, view) = step.inner.child(step.index, &step.view).ok()?;
        let Kind::Leaf(leaf) = node.kind() else {
            unreachable!("a leaf's neighbours are leaves")
        };
        Self::new(leaf, view, edge, Some((step, beyond)), true).ok()
    }

    /// Copies the leaf's part of the range, no more than `limit`. Returns how many, and whether
    /// the range ends there.
    fn take(
        &self,
        range: &Range<'_>,
        limit: usize,
        into: &mut Vec<&'g E>,
    ) -> Result<(usize, bool), Restart> {
        if let Some(next) = self
            .parent
            .and_then(|(step, _)| step.beside(range.direction))
        {
            prefetch_leaf::<E>(next.inner.child_pointer(next.index).cast());
        }
        let (from, to, last) = match range.direction {
            Direction::Forward => {
                let from = if self.whole {
                    0
                } else {
                    self.lower_place(range.lower)?
                };
                // All keys here are below the edge.
                let last = !reaches(range.upper, self.edge, |upper, edge| upper >= edge);
                let to = if last {
                    self.upper_place(range.upper)?
                } else {
                    self.leaf.keys.len()
                };
                (from, to, last)
            }
            Direction::Backward => {
                let to = if self.whole {
                    self.leaf.keys.len()
                } else {
                    self.upper_place(range.upper)?
                };
                // None here is below the edge; on it there may be one.
                let last = !reaches(range.lower, self.edge, |lower, edge| lower < edge);
                let from = if last {
                    self.lower_place(range.lower)?
                } else {
                    0
                };
                (from, to, last)
            }
        };
        let there = to.saturating_sub(from);
        let taken = there.min(limit);
        match range.direction {
            Direction::Forward => self.copy(from..from + taken, into)?,
            Direction::Backward => self.copy((to - taken..to).rev(), into)?,
        }
        Ok((taken, last && taken == there))
    }

    /// Appends what stands in these slots, if the view still holds.
    #[inline]
    fn copy(
        &self,
        slots: impl ExactSizeIterator<Item = usize>,
        into: &mut Vec<&'g E>,
    ) -> Result<(), Restart> {
        let mut copied = [std::ptr::null_mut::<E>(); LEAF];
        let count = slots.len();
        for (to, slot) in copied.iter_mut().zip(slots) {
            *to = self.leaf.keys.slot(slot);
            prefetch(*to);
        }
        self.view.still()?;
        into.extend(copied[..count].iter().map(|&entry| {
            // SAFETY: the view held, so it was in the tree after the guard was pinned.
            unsafe { NonNull::new_unchecked(entry).as_ref() }
        }));
        Ok(())
    }

    fn place(&self, key: &[u8]) -> Result<Place<E>, Restart> {
        self.leaf.keys.search(key, &self.view)
    }

    /// The first slot of the range in this leaf.
    fn lower_place(&self, lower: Bound<&[u8]>) -> Result<usize, Restart> {
        Ok(match lower {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.place(key)?.at,
            Bound::Excluded(key) => self.place(key)?.after(),
        })
    }

    /// The slot behind the last one of the range in this leaf.
    fn upper_place(&self, upper: Bound<&[u8]>) -> Result<usize, Restart> {
        Ok(match upper {
            Bound::Unbounded => self.leaf.keys.len(),
            Bound::Included(key) => self.place(key)?.after(),
            Bound::Excluded(key) => self.place(key)?.at,
        })
    }
}

/// Whether the range goes on behind the leaf's edge.
fn reaches(end: Bound<&[u8]>, edge: Option<&[u8]>, beyond: impl Fn(&[u8], &[u8]) -> bool) -> bool {
    let Some(edge) = edge else { return false };
    match end {
        Bound::Unbounded => true,
        Bound::Included(key) | Bound::Excluded(key) => beyond(key, edge),
    }
}

/// Begins to fetch what a scan reads of a leaf.
#[inline]
fn prefetch_leaf<E>(leaf: *const Leaf<E>) {
    prefetch(leaf);
    let slots = leaf
        .wrapping_byte_add(std::mem::offset_of!(Leaf<E>, keys))
        .cast::<u8>();
    let slots = slots.wrapping_add(Keys::<E, LEAF>::SLOTS_AT);
    prefetch_range(slots, size_of::<*mut E>() * LEAF);
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
