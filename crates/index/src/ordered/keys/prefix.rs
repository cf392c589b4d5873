//! The prefix of a node's keys: shortened for a key that does not fit, looked for when nodes change.
//!
//! Relies on: the caller holds the node's latch, or has the node to himself.  Promises: every head is its
//! key's behind the prefix, before and after.  Does not: move slots.

use super::{INLINE_BYTES, Keys};
use crate::ordered::head::{head_of, top};
use crate::ordered::separator::{Keyed, shared};
use crate::sync::atomic::Ordering::Relaxed;

impl<T: Keyed, const N: usize> Keys<T, N> {
    /// Shortens the prefix to what it shares with `key`.
    pub(super) fn fit_prefix(&self, key: &[u8]) {
        if self.len() == 0 {
            // The head of the one key is to be its last bytes: there the next one will differ.
            return self.set_prefix(key, key.len().saturating_sub(8));
        }
        let cut = self.prefix_length();
        let shared = self.shared_with_prefix(key, cut);
        if shared < cut {
            // SAFETY: the caller is the only writer; not empty.
            let first = unsafe { self.key(0) };
            let less = cut - shared;
            let carried = head_of(&first[..cut], shared);
            for head in &self.heads[..self.len()] {
                let rest = match less {
                    1..8 => head.load(Relaxed) >> (8 * less),
                    _ => 0,
                };
                head.store(carried | rest, Relaxed);
            }
            self.set_prefix(first, shared);
        }
    }

    pub(super) fn shared_with_prefix(&self, key: &[u8], cut: usize) -> usize {
        let inline = cut.min(INLINE_BYTES);
        for (word, prefix) in self.prefix.iter().enumerate() {
            let at = word * 8;
            if at >= inline {
                break;
            }
            let other = (head_of(key, at) & top(inline - at)) ^ prefix.load(Relaxed);
            if other != 0 {
                return (at + other.leading_zeros() as usize / 8).min(key.len());
            }
        }
        if cut <= INLINE_BYTES || key.len() <= INLINE_BYTES {
            return key.len().min(cut);
        }
        // SAFETY: the caller is the only writer; a node with a prefix is not empty.
        let first = unsafe { self.key(0) };
        INLINE_BYTES + shared(&first[INLINE_BYTES..cut], &key[INLINE_BYTES..])
    }

    fn set_prefix(&self, key: &[u8], cut: usize) {
        let cut = cut.min(usize::from(u16::MAX));
        self.prefix_length.store(cut as u16, Relaxed);
        for (word, prefix) in self.prefix.iter().enumerate() {
            prefix.store(head_of(&key[..cut.min(INLINE_BYTES)], word * 8), Relaxed);
        }
    }

    /// Looks for a longer prefix if more than one head in eight ties with its neighbour and there
    /// is something to cut: otherwise the keys need not be read.
    pub(super) fn lengthen_prefix(&self) {
        let count = self.len();
        if count < 2 {
            return;
        }
        let ties = (1..count)
            .filter(|&at| self.head(at - 1) == self.head(at))
            .count();
        let differ = self.head(0) ^ self.head(count - 1);
        if ties * 8 > count && differ.leading_zeros() >= 8 {
            self.rebuild();
        }
    }

    /// Cuts off all that the keys share, and reads every key for its head.
    pub(super) fn rebuild(&self) {
        let count = self.len();
        if count == 0 {
            return;
        }
        // SAFETY: the caller is the only writer; all are below the count.
        let key = |at| unsafe { self.key(at) };
        let (first, last) = (key(0), key(count - 1));
        let most = if count == 1 {
            first.len().saturating_sub(8)
        } else {
            usize::MAX
        };
        self.set_prefix(first, shared(first, last).min(most));
        let cut = self.prefix_length();
        for at in 0..count {
            self.heads[at].store(head_of(key(at), cut), Relaxed);
        }
    }
}
