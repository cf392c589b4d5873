//! The rows that STORE is to be told of: gathered in the order of commits, handed out space by space in the order of
//! keys.
//!
//! Relies on: bytes that stay where they are until this is done; whoever notes a row has seen that it is the one to
//! be told of.  Promises: each key once; a space's memory is gone when its rows have been handed out.
//! Does not: look anything up.
//!
//! A pass gathers millions of keys that lie all over the log's buffers. To compare two of them where they lie is two
//! cache misses, and sorting does that some twenty times for each: half of the compactor's time beside TPC-C. So a
//! key's first bytes are kept beside its address, and what is longer or alike beyond them is looked at where it lies.

use quintet_base::{SpaceId, Timestamp};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Words of a key's beginning that are kept: two integers and a row id, or four integers of a key.
const WORDS: usize = 3;
const BEGINNING: usize = WORDS * size_of::<u64>();

/// A row, ordered as the bytes of its key are.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    /// The key's first bytes as numbers, the first one the most significant; zeros behind a short one.
    beginning: [u64; WORDS],
    key: &'a [u8],
    state: State<'a>,
}

/// What STORE is to be told of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State<'a> {
    /// The row as this commit left it; `None`: removed.
    At(Timestamp, Option<&'a [u8]>),
    /// What memory has when it is told.
    Unknown,
}

/// Rows with a commit that STORE does not have.
#[derive(Default)]
pub(crate) struct Dirty<'a> {
    spaces: BTreeMap<SpaceId, Vec<Row<'a>>>,
}

impl<'a> Dirty<'a> {
    /// One more. Of rows that are noted twice one comes.
    pub fn note(&mut self, space: SpaceId, key: &'a [u8], state: State<'a>) {
        let row = Row::of(key, state);
        self.spaces.entry(space).or_default().push(row);
    }

    /// The next space and its rows in order.
    pub fn next_space(&mut self) -> Option<(SpaceId, Vec<Row<'a>>)> {
        let (space, mut rows) = self.spaces.pop_first()?;
        rows.sort_unstable();
        rows.dedup();
        Some((space, rows))
    }
}

impl<'a> Row<'a> {
    fn of(key: &'a [u8], state: State<'a>) -> Row<'a> {
        let mut padded = [0; BEGINNING];
        let len = key.len().min(BEGINNING);
        padded[..len].copy_from_slice(&key[..len]);
        let (words, _) = padded.as_chunks();
        let mut beginning = [0; WORDS];
        for (word, bytes) in beginning.iter_mut().zip(words) {
            *word = u64::from_be_bytes(*bytes);
        }
        Row {
            beginning,
            key,
            state,
        }
    }

    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    pub fn state(&self) -> State<'a> {
        self.state
    }

    /// Whether the beginning is all of it.
    fn is_short(&self) -> bool {
        self.key.len() <= BEGINNING
    }
}

impl Ord for Row<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.beginning.cmp(&other.beginning).then_with(|| {
            if self.is_short() && other.is_short() {
                // What the longer one has more are the zeros that the other was filled up with.
                self.key.len().cmp(&other.key.len())
            } else {
                self.key.cmp(other.key)
            }
        })
    }
}

impl PartialOrd for Row<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Row<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Row<'_> {}

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
        let keys: Vec<(SpaceId, Vec<u8>)> = (0..12_000)
            .map(|_| (SpaceId(rand.below(3) as u32), key(&mut rand)))
            .collect();
        let mut dirty = Dirty::default();
        for (space, key) in &keys {
            // One state for a key.
            let state = match key.len() {
                0 => State::Unknown,
                bytes => State::At(Timestamp(bytes as u64), Some(key)),
            };
            dirty.note(*space, key, state);
        }
        let mut found = Vec::new();
        while let Some((space, rows)) = dirty.next_space() {
            for row in &rows {
                let alone = matches!(row.state(), State::At(_, Some(value)) if value == row.key());
                assert!(alone || row.key().is_empty());
            }
            found.extend(rows.iter().map(|row| (space, row.key().to_vec())));
        }
        let expected: BTreeSet<_> = keys.into_iter().collect();
        assert!(found.iter().eq(&expected));
    }
}
