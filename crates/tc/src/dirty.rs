//! The keys that STORE is to be told of: gathered in the order of commits, handed out space by space in order.
//!
//! Relies on: keys that stay where they are until this is done.  Promises: each key once, in the order of keys;
//! a space's memory is gone when its keys have been handed out.  Does not: look anything up.
//!
//! A pass gathers millions of keys that lie all over the log's buffers. To compare two of them where they lie is two
//! cache misses, and sorting does that some twenty times for each: half of the compactor's time beside TPC-C. So a
//! key's first bytes are kept beside its address, and what is longer or alike beyond them is looked at where it lies.

use quintet_base::SpaceId;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Words of a key's beginning that are kept: two integers and a row id, or four integers of a key.
const WORDS: usize = 3;
const BEGINNING: usize = WORDS * size_of::<u64>();

/// Keys that are not looked through for those that come twice.
const FEW: usize = 4096;

/// So many times what is left of them, they are looked through again.
const CROWDED: usize = 4;

/// A key, ordered as its bytes are.
#[derive(Clone, Copy)]
pub(crate) struct Key<'a> {
    /// Its first bytes as numbers, the first one the most significant; zeros behind a short one.
    beginning: [u64; WORDS],
    bytes: &'a [u8],
}

/// The keys of one space.
#[derive(Default)]
struct Keys<'a> {
    keys: Vec<Key<'a>>,
    /// How many there may be before those that come twice are looked for: rows that everybody changes would be
    /// there as often as they were changed.
    crowded: usize,
}

/// Keys with a commit that STORE does not have.
#[derive(Default)]
pub(crate) struct Dirty<'a> {
    spaces: BTreeMap<SpaceId, Keys<'a>>,
}

impl<'a> Dirty<'a> {
    /// One more, perhaps again.
    pub fn note(&mut self, space: SpaceId, key: &'a [u8]) {
        let of_space = self.spaces.entry(space).or_default();
        if of_space.keys.len() >= of_space.crowded.max(FEW) {
            of_space.tidy();
            of_space.crowded = CROWDED * of_space.keys.len();
        }
        of_space.keys.push(Key::of(key));
    }

    /// Nothing of this space is wanted.
    pub fn forget(&mut self, space: SpaceId) {
        self.spaces.remove(&space);
    }

    /// The next space and its keys in order, each once.
    pub fn next_space(&mut self) -> Option<(SpaceId, Vec<Key<'a>>)> {
        let (space, mut keys) = self.spaces.pop_first()?;
        keys.tidy();
        Some((space, keys.keys))
    }
}

impl Keys<'_> {
    fn tidy(&mut self) {
        self.keys.sort_unstable();
        self.keys.dedup();
    }
}

impl<'a> Key<'a> {
    fn of(bytes: &'a [u8]) -> Key<'a> {
        let mut padded = [0; BEGINNING];
        let len = bytes.len().min(BEGINNING);
        padded[..len].copy_from_slice(&bytes[..len]);
        let (words, _) = padded.as_chunks();
        let mut beginning = [0; WORDS];
        for (word, bytes) in beginning.iter_mut().zip(words) {
            *word = u64::from_be_bytes(*bytes);
        }
        Key { beginning, bytes }
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the beginning is all of it.
    fn is_short(&self) -> bool {
        self.bytes.len() <= BEGINNING
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.beginning.cmp(&other.beginning).then_with(|| {
            if self.is_short() && other.is_short() {
                // What the longer one has more are the zeros that the other was filled up with.
                self.bytes.len().cmp(&other.bytes.len())
            } else {
                self.bytes.cmp(other.bytes)
            }
        })
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_rt::Rand;
    use std::collections::BTreeSet;

    /// Few different bytes, zeros among them, and lengths around the one that is kept.
    fn key(rand: &mut Rand) -> Vec<u8> {
        let alike = rand.below(BEGINNING as u64 + 4) as usize;
        let mut key = vec![0; alike];
        key.extend((0..rand.below(6)).map(|_| rand.below(3) as u8));
        key
    }

    #[test]
    fn keys_come_once_and_in_order_whatever_their_length() {
        let seed = Rand::from_os().next_u64();
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let keys: Vec<(SpaceId, Vec<u8>)> = (0..3 * FEW)
            .map(|_| (SpaceId(rand.below(3) as u32), key(&mut rand)))
            .collect();
        let mut dirty = Dirty::default();
        for (space, key) in &keys {
            dirty.note(*space, key);
        }
        dirty.forget(SpaceId(1));
        let mut found = Vec::new();
        while let Some((space, keys)) = dirty.next_space() {
            found.extend(keys.iter().map(|key| (space, key.bytes().to_vec())));
        }
        let expected: BTreeSet<_> = keys.into_iter().filter(|(space, _)| space.0 != 1).collect();
        assert!(found.iter().eq(&expected));
    }

    #[test]
    fn a_row_that_is_always_changed_is_kept_a_few_times_only() {
        let mut dirty = Dirty::default();
        for _ in 0..10 * FEW {
            dirty.note(SpaceId(1), b"hot");
        }
        assert!(dirty.spaces[&SpaceId(1)].keys.len() <= FEW);
    }
}
