//! What happens when a node is full: it is split, and so is every full node on the way to it.
//!
//! Relies on: `OrderedIndex::descend`, which splits full inner nodes before it passes them, so that
//! a parent always has room for one more.
//! Promises: who fails changes nothing; who succeeds leaves a tree in which every key is found.
//! Does not: balance. Rising inserts leave full nodes behind, random ones about 70 %.

use super::{
    Node, OrderedIndex, Step, Way,
    latch::{Held, Restart},
    node::{Header, Inner, Kind, Leaf},
    separator::Separator,
};
use crate::{Entry, sync::atomic::Ordering::Release};

impl<E: Entry> OrderedIndex<E> {
    /// Splits a full leaf and puts the entry in at `at`, where a search under the way's view has
    /// not found it.
    #[cold]
    #[inline(never)]
    pub(super) fn split_leaf(&self, way: &Way<'_, E>, at: usize, entry: &E) -> Result<(), Restart> {
        let above = way.parent.map(|step| step.view.lock()).transpose()?;
        let held = way.view.lock()?;
        assert!(above.is_some() || self.is_root(way.node), "a root no more");
        debug_assert!(way.leaf.is_held(&held));
        let pointer = Leaf::<E>::allocate();
        // SAFETY: allocated just now, and freed only after it has left the tree.
        let right_node = unsafe { Node::<E>::new(pointer) };
        let Kind::Leaf(right) = right_node.kind() else {
            unreachable!("allocated as a leaf")
        };
        let right_held = right_node.lock_alone();

        let keys = &way.leaf.keys;
        let count = keys.len();
        let middle = keys.division(at);
        keys.split(&held, middle, &right.keys, &right_held);
        let slot = std::ptr::from_ref(entry).cast_mut();
        if at < middle || (at == middle && middle < count) {
            keys.insert(&held, at, entry.key(), slot);
        } else {
            right
                .keys
                .insert(&right_held, at - middle, entry.key(), slot);
        }
        let (_, greatest) = keys.ends(&held).expect("one half or the new entry");
        let (smallest, _) = right
            .keys
            .ends(&right_held)
            .expect("one half or the new entry");
        let separator = Separator::between(greatest, smallest);
        drop(right_held);
        self.hang(above.zip(way.parent), way.node, separator, pointer);
        Ok(())
    }

    /// Splits a full inner node that `step` would pass.
    #[cold]
    #[inline(never)]
    pub(super) fn split_inner(
        &self,
        parent: Option<Step<'_>>,
        node: Node<'_, E>,
        step: Step<'_>,
    ) -> Result<(), Restart> {
        let above = parent.map(|step| step.view.lock()).transpose()?;
        let held = step.view.lock()?;
        assert!(above.is_some() || self.is_root(node), "a root no more");
        // As in leaves: where inserts rise, the left node stays full.
        let count = step.inner.keys.len();
        let middle = if step.index == count {
            count - 1
        } else {
            count / 2
        };
        let (separator, right) = step.inner.split(&held, middle);
        self.hang(above.zip(parent), node, separator, right);
        Ok(())
    }

    /// Makes a new node known: to the parent, or to a new root above it and the node that was the
    /// root. The caller holds the latch of both.
    fn hang(
        &self,
        above: Option<(Held<'_>, Step<'_>)>,
        left: Node<'_, E>,
        separator: *mut Separator,
        right: *mut Header,
    ) {
        if let Some((held, step)) = above {
            step.inner.insert(&held, step.index, separator, right);
            return;
        }
        let pointer = Inner::allocate(left.level() + 1, left.pointer());
        // SAFETY: allocated just now, and nobody else knows it.
        let root = unsafe { Node::<E>::new(pointer) };
        let Kind::Inner(inner) = root.kind() else {
            unreachable!("allocated as an inner node")
        };
        inner.insert(&root.lock_alone(), 0, separator, right);
        // Release pairs with the Acquire in `root`: who finds it finds what is in it.
        self.root.store(pointer, Release);
    }
}
