//! What happens when a leaf is empty or nearly so: it leaves the tree.
//!
//! Relies on: the parent's view for what is beside a leaf.
//! Promises: no leaf stays empty but the only one, so keys that come and go in ever new ranges
//! leave nothing behind; a leaf that falls to an eighth is united with a neighbour under the same
//! parent if both together fill no more than half a leaf.
//! Does not: unite inner nodes (one has at least one leaf below it, and that an entry), or keep
//! leaves half full.
//!
//! An inner node all of whose leaves but one are gone stays. When that one goes, it goes too, and so
//! does every node above that has no other child:
//!
//! ```text
//!     keeper  | c0 | c1 | c2 |            the lowest with another child; loses c1
//!                    |
//!                  inner, one child  \
//!                    |                |   the chain: all leave the tree together
//!                  leaf, empty       /
//! ```

use crossbeam_epoch::Guard;

use super::{
    Kind, Node, OrderedIndex, Step,
    latch::{Held, Restart, View},
    node::{LEAF, Leaf},
    retire_separator, retry,
};
use crate::{Entry, sync::atomic::Ordering::Release};

/// A leaf that falls to this looks for a neighbour to unite with.
const SPARSE: usize = if LEAF < 8 { 1 } else { LEAF / 8 };
/// And does so if they have no more than this together, so that it does not split again soon.
const UNITED: usize = LEAF / 2;

/// The way down to a leaf that may go.
struct Chain<'g, E> {
    /// The lowest inner node on the way that has another child.
    keeper: Option<(Node<'g, E>, Step<'g>)>,
    /// What is below it, from its child to the leaf.
    nodes: Vec<(Node<'g, E>, View<'g>)>,
    leaf: &'g Leaf<E>,
}

impl<E: Entry> OrderedIndex<E> {
    /// Called when the leaf of `key` has come down to `left` entries.
    #[inline]
    pub(super) fn prune_after_removal(&self, key: &[u8], left: usize, guard: &Guard) {
        if left == 0 {
            retry(|| self.try_prune(key, guard));
        } else if left == SPARSE {
            // One try: a leaf that is merely sparse may stay.
            let _ = self.try_unite(key, guard);
        }
    }

    #[cold]
    #[inline(never)]
    fn try_prune(&self, key: &[u8], guard: &Guard) -> Result<(), Restart> {
        let chain = self.chain(key, guard)?;
        if chain.leaf.keys.len() > 0 {
            // Somebody has put something in; if it goes again, its remover comes here.
            return Ok(());
        }
        let keeper = match chain.keeper {
            Some((node, step)) => Some((node, step, step.view.lock()?)),
            None => None,
        };
        let mut held: Vec<Held<'_>> = Vec::with_capacity(chain.nodes.len());
        for (_, view) in &chain.nodes {
            held.push(view.lock()?);
        }
        // All is locked as it was seen: the leaf is empty, and the chain hangs where it did.
        let Some((node, step, above)) = keeper else {
            return self.keep_last_leaf(&chain, held, guard);
        };
        retire_separator(step.inner.remove(&above, step.index), guard);
        for ((node, _), held) in chain.nodes.iter().zip(held) {
            node.retire(held, guard);
        }
        let single = step.inner.keys.len() == 0 && self.is_root(node);
        drop(above);
        if single {
            self.lower_root(guard);
        }
        Ok(())
    }

    /// The whole tree is a chain down to one empty leaf: that becomes the root.
    fn keep_last_leaf(
        &self,
        chain: &Chain<'_, E>,
        mut held: Vec<Held<'_>>,
        guard: &Guard,
    ) -> Result<(), Restart> {
        let (Some((top, _)), Some((leaf, _))) = (chain.nodes.first(), chain.nodes.last()) else {
            unreachable!("a way ends at a leaf")
        };
        assert!(self.is_root(*top), "a root no more");
        let leaf_held = held.pop();
        // Release pairs with the Acquire in `root`.
        self.root.store(leaf.pointer(), Release);
        for ((node, _), held) in chain.nodes.iter().zip(held) {
            node.retire(held, guard);
        }
        drop(leaf_held);
        Ok(())
    }

    /// Takes away roots that have one child. Gives up when overtaken: an extra level costs a step.
    fn lower_root(&self, guard: &Guard) {
        while let Ok((node, view)) = self.root(guard) {
            let Kind::Inner(inner) = node.kind() else {
                return;
            };
            if inner.keys.len() > 0 {
                return;
            }
            let Ok(held) = view.lock() else { return };
            assert!(self.is_root(node), "a root no more");
            // Release pairs with the Acquire in `root`.
            self.root.store(inner.child_pointer(0), Release);
            node.retire(held, guard);
        }
    }

    /// Unites the leaf of `key` with a neighbour if both are sparse.
    #[cold]
    #[inline(never)]
    fn try_unite(&self, key: &[u8], guard: &Guard) -> Result<(), Restart> {
        let way = self.descend(key, super::Full::Leave, guard)?;
        let Some(step) = way.parent else {
            return Ok(());
        };
        let count = way.leaf.keys.len();
        let beside = [step.index.checked_sub(1), step.index.checked_add(1)];
        for other in beside.into_iter().flatten() {
            if other > step.inner.keys.len() {
                continue;
            }
            let (node, view) = step.inner.child::<E>(other, &step.view)?;
            let Kind::Leaf(leaf) = node.kind() else {
                unreachable!("a leaf's neighbours are leaves")
            };
            if leaf.keys.len() + count > UNITED {
                continue;
            }
            let above = step.view.lock()?;
            let (held, other_held) = (way.view.lock()?, view.lock()?);
            // Locked as they were seen, but the counts were read without proof.
            if leaf.keys.len() + way.leaf.keys.len() > UNITED {
                return Ok(());
            }
            let (gone, gone_held) = if other < step.index {
                leaf.keys.absorb(&other_held, &way.leaf.keys, &held);
                (way.node, held)
            } else {
                way.leaf.keys.absorb(&held, &leaf.keys, &other_held);
                (node, other_held)
            };
            let right = step.index.max(other);
            retire_separator(step.inner.remove(&above, right), guard);
            gone.retire(gone_held, guard);
            return Ok(());
        }
        Ok(())
    }

    fn chain<'g>(&self, key: &[u8], guard: &'g Guard) -> Result<Chain<'g, E>, Restart> {
        let mut keeper = None;
        let (mut node, mut view) = self.root(guard)?;
        let mut nodes = vec![(node, view)];
        loop {
            let inner = match node.kind() {
                Kind::Inner(inner) => inner,
                Kind::Leaf(leaf) => {
                    return Ok(Chain {
                        keeper,
                        nodes,
                        leaf,
                    });
                }
            };
            let index = inner.keys.search(key, &view)?.after();
            if inner.keys.len() > 0 {
                keeper = Some((node, Step { inner, view, index }));
                nodes.clear();
            }
            (node, view) = inner.child(index, &view)?;
            nodes.push((node, view));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ordered::number::Number;

    /// Goal: nothing that has left the tree is used by those who took it out, and the tree's own
    /// pointers are sound by themselves, without what `crossbeam-epoch` does to Miri's checks.
    /// Method: the guard that frees at once; numbers come and go in different orders.
    #[test]
    fn nothing_that_left_the_tree_is_used_by_its_remover() {
        let count = if cfg!(miri) { 60 } else { 1_000 };
        let numbers: Vec<Number> = (0..count).map(|at: u64| Number(at.to_be_bytes())).collect();
        // SAFETY: no other thread has the index.
        let guard = unsafe { crossbeam_epoch::unprotected() };
        let mut index = OrderedIndex::new();
        // Steps that share no factor with the count visit all.
        for (coming, going) in [(1, 7), (7, 1), (count - 1, 11), (13, count - 1)] {
            let order = |step: u64| (0..count).map(move |at| (at * step % count) as usize);
            for at in order(coming) {
                // SAFETY: the numbers outlive the index.
                assert!(unsafe { index.insert(&numbers[at], guard) }.is_none());
            }
            assert_eq!(index.check().entries, numbers.len());
            for at in order(going) {
                let removed = index.remove(&numbers[at].0, guard).expect("it is in");
                assert!(std::ptr::eq(removed, &numbers[at]));
                if at % 16 == 0 {
                    index.check();
                }
            }
            let shape = index.check();
            assert_eq!((shape.leaves, shape.inners), (1, 0), "left behind");
        }
    }
}
