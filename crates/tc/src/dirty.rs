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
/// Comparisons between two pauses of a sort: some 100 µs.
const COMPARED_AT_ONCE: usize = 4096;

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
pub(crate) struct Dirty<'a> {
    spaces: BTreeMap<SpaceId, Vec<Row<'a>>>,
}

/// Memory of a pass for the next one, which will gather about as much: asking the system for it anew, page by page,
/// cost as much as all of the sorting.
#[derive(Default)]
pub(crate) struct Spare {
    /// Empty, each with the room that its space took.
    spaces: BTreeMap<SpaceId, Vec<Row<'static>>>,
}

impl Spare {
    /// Takes the memory back that some rows were in. What was hardly used is let go.
    pub fn take_back(&mut self, space: SpaceId, rows: Vec<Row<'_>>) {
        if rows.len() >= rows.capacity() / 4 {
            self.spaces.insert(space, without_rows(rows));
        }
    }
}

/// The memory of a list, for rows that live shorter or longer.
fn without_rows<'b>(mut rows: Vec<Row<'_>>) -> Vec<Row<'b>> {
    rows.clear();
    // Of nothing, collected in place.
    rows.into_iter().map(|_| unreachable!()).collect()
}

impl<'a> Dirty<'a> {
    /// Nothing yet, with room for what there was in the pass before.
    pub fn within(spare: Spare) -> Dirty<'a> {
        let spaces = spare.spaces.into_iter();
        Dirty {
            spaces: spaces
                .map(|(space, rows)| (space, without_rows(rows)))
                .collect(),
        }
    }

    /// One more. Of rows that are noted twice one comes.
    pub fn note(&mut self, space: SpaceId, key: &'a [u8], state: State<'a>) {
        let row = Row::of(key, state);
        self.spaces.entry(space).or_default().push(row);
    }

    /// Rows that were noted and not handed out, those that were noted twice counted twice.
    pub fn len(&self) -> usize {
        self.spaces.values().map(Vec::len).sum()
    }

    /// The next space of which rows were noted, and they in order. `pause` is called now and then
    /// while they are sorted.
    pub fn next_space(&mut self, pause: impl Fn()) -> Option<(SpaceId, Vec<Row<'a>>)> {
        let (space, mut rows) = loop {
            let (space, rows) = self.spaces.pop_first()?;
            if !rows.is_empty() {
                break (space, rows);
            }
        };
        let mut compared = 0;
        rows.sort_unstable_by(|a, b| {
            compared += 1;
            if compared == COMPARED_AT_ONCE {
                compared = 0;
                pause();
            }
            a.cmp(b)
        });
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
        let mut dirty = Dirty::within(Spare::default());
        for (space, key) in &keys {
            // One state for a key.
            let state = match key.len() {
                0 => State::Unknown,
                bytes => State::At(Timestamp(bytes as u64), Some(key)),
            };
            dirty.note(*space, key, state);
        }
        let mut found = Vec::new();
        while let Some((space, rows)) = dirty.next_space(|| {}) {
            for row in &rows {
                let alone = matches!(row.state(), State::At(_, Some(value)) if value == row.key());
                assert!(alone || row.key().is_empty());
            }
            found.extend(rows.iter().map(|row| (space, row.key().to_vec())));
        }
        let expected: BTreeSet<_> = keys.into_iter().collect();
        assert!(found.iter().eq(&expected));
    }

    #[test]
    fn a_pass_has_the_memory_of_the_one_before() {
        let gather = |spare, space: u32| {
            let mut dirty = Dirty::within(spare);
            for _ in 0..1000 {
                dirty.note(SpaceId(space), b"key", State::Unknown);
            }
            dirty
        };
        let mut dirty = gather(Spare::default(), 7);
        let at = dirty.spaces[&SpaceId(7)].as_ptr();
        let mut spare = Spare::default();
        let rows = dirty.spaces.pop_first().unwrap().1;
        spare.take_back(SpaceId(7), rows);
        let mut dirty = gather(spare, 7);
        assert_eq!(dirty.spaces[&SpaceId(7)].as_ptr(), at);
        // Once used for little, it is let go.
        let (space, rows) = dirty.next_space(|| {}).unwrap();
        assert_eq!((space, rows.len()), (SpaceId(7), 1));
        let mut spare = Spare::default();
        spare.take_back(space, rows);
        assert!(spare.spaces.is_empty());
        assert!(dirty.next_space(|| {}).is_none());
    }
}
