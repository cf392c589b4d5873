//! The tree looked at as a whole: its size, and whether it is sound.
//!
//! Relies on: being alone with the index (`&mut`).  Promises: asserts every invariant that can be
//! seen in a tree at rest.  Does not: run by itself; it reads every key.

use super::{
    Header, Kind, Leaf, Node, OrderedIndex,
    node::{Inner, LEAF},
    separator::{Keyed, Separator},
};
use crate::Entry;

/// What an index is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Entries, counted one by one.
    pub entries: usize,
    /// Nodes that hold entries.
    pub leaves: usize,
    /// Nodes that hold separators.
    pub inners: usize,
    /// Steps from the root to an entry.
    pub levels: usize,
    /// What the nodes take up, without the entries and the bytes of separators.
    pub node_bytes: usize,
}

impl Shape {
    /// How full the leaves are, from 0 to 1.
    pub fn fill(&self) -> f64 {
        self.entries as f64 / (self.leaves * LEAF) as f64
    }
}

impl<E: Entry> OrderedIndex<E> {
    /// Asserts that the tree is sound and says what it is made of. For tests and measurements.
    ///
    /// # Panics
    /// If it is not sound: keys out of order, a head or prefix that is not its key's, a leaf that
    /// stayed empty, a count that is wrong.
    pub fn check(&mut self) -> Shape {
        let root = *self.root.get_mut();
        let mut shape = Shape::default();
        // SAFETY: nobody else has the index, so its whole tree stays.
        unsafe { self.check_node(root, None, None, &mut shape) };
        assert_eq!(shape.entries, self.len(), "the count is not what is there");
        shape
    }

    /// # Safety
    /// The node is in the tree and nobody changes it.
    unsafe fn check_node(
        &self,
        at: *mut Header,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
        shape: &mut Shape,
    ) {
        // SAFETY: in the tree, which nobody changes.
        let node = unsafe { Node::<E>::new(at) };
        let held = node.lock_alone();
        let level = node.level() as usize;
        match node.kind() {
            Kind::Leaf(leaf) => {
                let count = leaf.keys.len();
                assert!(count > 0 || self.is_root(node), "a leaf stayed empty");
                leaf.keys.check(&held, lower, upper);
                shape.entries += count;
                shape.leaves += 1;
                shape.node_bytes += size_of::<Leaf<E>>();
                shape.levels = shape.levels.max(1);
            }
            Kind::Inner(inner) => {
                let count = inner.keys.len();
                inner.keys.check(&held, lower, upper);
                shape.inners += 1;
                shape.node_bytes += size_of::<Inner>();
                shape.levels = shape.levels.max(level + 1);
                // SAFETY: below the count, and nobody changes the tree.
                let separator = |at| unsafe { Separator::key_at(inner.keys.slot(at)) };
                for index in 0..=count {
                    let child = inner.child_pointer(index);
                    // SAFETY: in the tree, as its parent is.
                    let child_level = unsafe { Node::<E>::new(child) }.level() as usize;
                    assert_eq!(child_level + 1, level, "the tree is not level");
                    let lower = if index > 0 {
                        Some(separator(index - 1))
                    } else {
                        lower
                    };
                    let upper = if index < count {
                        Some(separator(index))
                    } else {
                        upper
                    };
                    // SAFETY: as above.
                    unsafe { self.check_node(child, lower, upper, shape) };
                }
            }
        }
    }
}
