//! [`Near`]: the leaf of the last insertion, where the next one need not go down the tree if it is a neighbour.
//!
//! Relies on: invariants 1 and 3 of the index: a leaf's range shrinks only by a change of the leaf, and what
//! was in the tree under a guard stays readable for as long as that guard.
//! Promises: an entry goes where going down would have put it, or nowhere.  Does not: split, find what is
//! there already, or outlive the guard: for all else the caller goes down the tree.
//!
//! ```text
//!   above    |        s1        |              its parent, or further up if it is the last child
//!   parent   |   s0   |
//!            …   leaf | e0 e1 e2 |             left as version v by the last insertion
//!
//!   still v, and e0 < key < s1:  the key is this leaf's
//! ```
//! The leaf's range began at or below `e0` and ended at `s1`, or behind it, when its version was `v`: on the way down each node was
//! asked again when the view of its child had been taken, so each child's range was all that it seemed to be. As long as the version is
//! `v`, nobody has changed the leaf, so the range is at least as large. The latch is taken by that very version.
//!
//! Keys that rise make leaves which are last children: without a look further up, what is put in at their end would go down
//! the tree each time.

use std::ptr::NonNull;

use crossbeam_epoch::Guard;

use super::{
    OrderedIndex, Step,
    latch::Seen,
    node::{Kind, Node},
    separator::{Keyed, Separator},
};
use crate::{Entry, sync::planted};

/// Remembers where an insertion went, for insertions of neighbours under the same guard.
pub struct Near<'g, E> {
    guard: &'g Guard,
    last: Option<Last<'g, E>>,
}

/// By addresses and no references: an index that is gone has freed its nodes, and what is left here is
/// looked at only after the index was found to be the one that is asked.
struct Last<'g, E> {
    /// The index's number.
    index: u64,
    leaf: Node<'g, E>,
    /// As the insertion left it.
    seen: Seen,
    /// Divides it from its right neighbour; `None`: not known.
    upper: Option<NonNull<Separator>>,
}

impl<'g, E> Near<'g, E> {
    /// Remembers nothing yet.
    pub fn under(guard: &'g Guard) -> Self {
        Self { guard, last: None }
    }

    /// What it was made under.
    pub fn guard(&self) -> &'g Guard {
        self.guard
    }
}

impl<'g, E: Entry> Near<'g, E> {
    /// Puts the entry in if it belongs to the last leaf, which has room and lacks the key; whether it did.
    #[inline]
    pub(super) fn insert(&mut self, index: &OrderedIndex<E>, key: &[u8], entry: &'g E) -> bool {
        self.try_insert(index, key, entry).is_some()
    }

    fn try_insert(&mut self, index: &OrderedIndex<E>, key: &[u8], entry: &'g E) -> Option<()> {
        // Taken, so that a leaf that was of no use is not tried again.
        let last = self.last.take().filter(|last| last.index == index.number)?;
        // The index is there, so its nodes are, and this one was in the tree while the guard was pinned.
        let Kind::Leaf(leaf) = last.leaf.kind() else {
            unreachable!("only leaves are remembered")
        };
        let view = if planted("near: any state of the leaf will do") {
            last.leaf.view().ok()?
        } else {
            last.leaf.view_as(last.seen)
        };
        let count = leaf.keys.len();
        let place = leaf.keys.search(key, &view).ok()?;
        if leaf.keys.is_full() || place.found.is_some() || place.at == 0 {
            return None;
        }
        if place.at == count {
            // SAFETY: it was in the tree while the guard was pinned, and is freed through the epoch.
            let upper = unsafe { Separator::key_at(last.upper?.as_ptr()) };
            if key >= upper {
                return None;
            }
        }
        let held = view.lock().ok()?;
        let slot = std::ptr::from_ref(entry).cast_mut();
        leaf.keys.insert(&held, place.at, key, slot);
        let seen = held.release();
        self.last = Some(Last { seen, ..last });
        Some(())
    }

    /// Remembers a leaf of the index that was found under the guard, and left as `seen`. `edge`: the last step to it that was not to a last
    /// child.
    #[inline]
    pub(super) fn remember(
        &mut self,
        index: &OrderedIndex<E>,
        edge: Option<Step<'g>>,
        leaf: Node<'g, E>,
        seen: Seen,
    ) {
        self.last = Some(Last {
            index: index.number,
            leaf,
            seen,
            upper: edge.and_then(upper),
        });
    }
}

/// What ends the range of a step's child, if the node has not changed since; not for its last child.
fn upper(step: Step<'_>) -> Option<NonNull<Separator>> {
    let keys = &step.inner.keys;
    let separator = (step.index < keys.len()).then(|| keys.slot(step.index))?;
    step.view.still().ok()?;
    NonNull::new(separator)
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use crossbeam_epoch::pin;

    use super::*;
    use crate::ordered::number::Number;
    use crate::ordered::{node::LEAF, retry};

    /// Goal: what rises in front of others goes down the tree where a leaf has become full, and nowhere else, although its leaves are
    /// the last ones of their parents. Method: those that went down are counted; a split leaf is not remembered, so there are two for each.
    #[test]
    fn what_rises_in_front_of_others_goes_down_for_full_leaves_only() {
        const RISING: std::ops::Range<u64> = 200..500;
        let all = (0..RISING.end).chain(1_000..1_200);
        let numbers: Vec<Number> = all.map(|at| Number(at.to_be_bytes())).collect();
        let (low, rest) = numbers.split_at(RISING.start as usize);
        let (rising, high) = rest.split_at((RISING.end - RISING.start) as usize);
        let mut index = OrderedIndex::new();
        let guard = pin();
        for number in low.iter().chain(high) {
            // SAFETY: the numbers outlive the index.
            assert!(unsafe { index.insert(number, &guard) }.is_none());
        }
        let mut near = Near::under(&guard);
        let mut down = 0;
        for number in rising {
            if !near.insert(&index, number.key(), number) {
                down += 1;
                let there = retry(|| index.try_insert(number.key(), number, &mut near));
                assert!(there.is_none());
            }
            index.tally.add(1);
        }
        // The first of them share a leaf with others.
        let full = rising.len() / LEAF + 2;
        assert!(down <= 2 * full, "{down} of {}", rising.len());
        drop(guard);
        assert_eq!(index.check().entries, numbers.len());
    }
}
