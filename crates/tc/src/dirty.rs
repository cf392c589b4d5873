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
//!
//! And most keys need not be compared at all: of the 16 bytes of an order line, four integers, a pass sees 25 bits that are not the
//! same in all. Put beside each other and the row's place behind them they are one word, and words are put in order digit by digit:
//!
//! ```text
//!   beginning   00000001 0000000a 00000bd1 00000007     the bits in which some two keys differ
//!                      ^        ^      ^^^        ^
//!   word        | those bits, 32 at most | place of the row |   ──► by their bytes, the last one first
//! ```

use quintet_base::{SpaceId, Timestamp};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// So many rows before it comes a row's bytes are asked for, and the row itself as long before that.
const AHEAD: usize = 16;

/// Words of a key's beginning that are kept: two integers and a row id, or four integers of a key.
const WORDS: usize = 3;
/// Comparisons between two pauses of a sort: some 100 µs.
const COMPARED_AT_ONCE: usize = 4096;
/// Words that are moved between two pauses: as long.
const MOVED_AT_ONCE: usize = 1 << 15;

/// Bits of a word that are the row's place, below those of its key.
const PLACE_BITS: u32 = 32;
/// By so many bits at a time words are put in order: for each of their values there is a place to write at, and all of them are to
/// stay in the cache next to the processor.
const DIGIT_BITS: u32 = 8;

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

    /// Whether rows of a space were noted and not handed out.
    pub fn has(&self, space: SpaceId) -> bool {
        self.spaces.get(&space).is_some_and(|rows| !rows.is_empty())
    }

    /// Rows that were noted and not handed out, those that were noted twice counted twice.
    pub fn len(&self) -> usize {
        self.spaces.values().map(Vec::len).sum()
    }

    /// The next space of which rows were noted, and they in order. `pause` is called now and then
    /// while they are sorted.
    pub fn next_space(&mut self, pause: impl Fn()) -> Option<(SpaceId, Sorted<'a>)> {
        loop {
            let (space, rows) = self.spaces.pop_first()?;
            if !rows.is_empty() {
                return Some((space, Sorted::of(rows, pause)));
            }
        }
    }
}

/// Rows of a space, each key once.
pub(crate) struct Sorted<'a> {
    rows: Vec<Row<'a>>,
    /// Where they are in `rows`, in the order of their keys.
    places: Vec<u64>,
}

impl<'a> Sorted<'a> {
    fn of(mut rows: Vec<Row<'a>>, pause: impl Fn()) -> Sorted<'a> {
        let places = match Bits::of(&rows) {
            Some(bits) => {
                let mut words = bits.words(&rows);
                by_digits(&mut words, bits.count, pause);
                words.dedup_by_key(|word| *word >> PLACE_BITS);
                for word in &mut words {
                    *word &= (1 << PLACE_BITS) - 1;
                }
                words
            }
            None => {
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
                (0..rows.len() as u64).collect()
            }
        };
        Sorted { rows, places }
    }

    /// In the order of their keys. They lie all over memory, and so do their bytes: each is asked for well before it comes.
    pub fn rows(&self) -> impl Iterator<Item = &Row<'a>> {
        let row = |at: usize| self.places.get(at).map(|place| &self.rows[*place as usize]);
        (0..self.places.len()).filter_map(move |at| {
            if let Some(later) = row(at + 2 * AHEAD) {
                let address = std::ptr::from_ref(later);
                // It lies in two lines of the cache.
                quintet_index::prefetch(address);
                quintet_index::prefetch(address.wrapping_add(1));
            }
            if let Some(next) = row(at + AHEAD) {
                next.bring_bytes();
            }
            row(at)
        })
    }

    /// Their memory.
    pub fn into_rows(self) -> Vec<Row<'a>> {
        self.rows
    }
}

/// The bits in which keys differ that are as long as each other and not longer than what is kept of them.
struct Bits {
    /// From the most significant one on: in which word of the beginning, how far from its end, and how many.
    runs: Vec<(usize, u32, u32)>,
    count: u32,
}

impl Bits {
    /// `None` if there are keys of other kinds among these, or more bits than a word has room for.
    fn of(rows: &[Row<'_>]) -> Option<Bits> {
        let first = rows.first()?;
        if rows.len() > 1 << PLACE_BITS {
            return None;
        }
        let mut differ = [0; WORDS];
        for row in rows {
            if row.key.len() != first.key.len() || !row.is_short() {
                return None;
            }
            for (differ, (a, b)) in differ
                .iter_mut()
                .zip(row.beginning.iter().zip(first.beginning))
            {
                *differ |= a ^ b;
            }
        }
        let count = differ.iter().map(|word: &u64| word.count_ones()).sum();
        (count <= u64::BITS - PLACE_BITS).then(|| Bits {
            runs: runs(&differ),
            count,
        })
    }

    /// Of each row: these bits of its key, and its place.
    fn words(&self, rows: &[Row<'_>]) -> Vec<u64> {
        let word = |(place, row): (usize, &Row<'_>)| {
            let bits = self.runs.iter().fold(0, |bits, (word, from, len)| {
                (bits << len) | ((row.beginning[*word] >> from) & ((1 << len) - 1))
            });
            (bits << PLACE_BITS) | place as u64
        };
        rows.iter().enumerate().map(word).collect()
    }
}

/// Bits that are set side by side, as in [`Bits::runs`]; 32 of them at most.
fn runs(words: &[u64; WORDS]) -> Vec<(usize, u32, u32)> {
    let mut runs = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let mut left = *word;
        while left != 0 {
            let above = left.leading_zeros();
            let len = (left << above).leading_ones();
            let from = u64::BITS - above - len;
            runs.push((at, from, len));
            left &= (1 << from) - 1;
        }
    }
    runs
}

/// Puts words in order by so many bits above the place: those with the same last digit together, then by the one before, and so on.
fn by_digits(words: &mut Vec<u64>, bits: u32, pause: impl Fn()) {
    let mut moved = vec![0; words.len()];
    for lowest in (PLACE_BITS..PLACE_BITS + bits).step_by(DIGIT_BITS as usize) {
        let digit = |word: u64| (word >> lowest) as usize % (1 << DIGIT_BITS);
        let mut next = [0; 1 << DIGIT_BITS];
        for some in words.chunks(MOVED_AT_ONCE) {
            some.iter().for_each(|word| next[digit(*word)] += 1);
            pause();
        }
        let mut before = 0;
        for next in &mut next {
            before += std::mem::replace(next, before);
        }
        for some in words.chunks(MOVED_AT_ONCE) {
            for word in some {
                let next = &mut next[digit(*word)];
                moved[*next] = *word;
                *next += 1;
            }
            pause();
        }
        std::mem::swap(words, &mut moved);
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

    /// Asks the cache for its bytes, or the first of many.
    fn bring_bytes(&self) {
        quintet_index::prefetch(self.key.as_ptr());
        if let State::At(_, Some(value)) = self.state {
            quintet_index::prefetch(value.as_ptr());
            quintet_index::prefetch(value.as_ptr().wrapping_add(64));
        }
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

    /// A few integers, each of so many bits; the last digits of the first one are always the same.
    fn integers(rand: &mut Rand, bits: &[u32]) -> Vec<u8> {
        let mut key = vec![7];
        for bits in bits {
            let integer = (rand.below(1 << bits) as u32) << (bits % 3);
            key.extend_from_slice(&integer.to_be_bytes());
        }
        key
    }

    #[test]
    fn keys_come_once_and_in_order_whatever_their_length() {
        let seed = Rand::from_os().next_u64();
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let in_order = |keys: Vec<(SpaceId, Vec<u8>)>| come_once_and_in_order(&keys);
        let space = |rand: &mut Rand| SpaceId(rand.below(3) as u32);
        in_order(
            (0..12_000)
                .map(|_| (space(&mut rand), key(&mut rand)))
                .collect(),
        );
        // Of 0 to 45 bits, in which two of one space may not differ at all; more than 32 are compared.
        for count in [0, 1, 3, 5] {
            for bits in [0, 1, 5, 9] {
                let bits = vec![bits; count];
                let keys = (0..3_000).map(|_| (space(&mut rand), integers(&mut rand, &bits)));
                in_order(keys.collect());
            }
        }
    }

    /// Goal: what a workload's keys are is put in order without comparing them.
    #[test]
    fn keys_of_a_few_integers_are_a_word_each() {
        let mut rand = Rand::seeded(1);
        let mut bits = |bits: &[u32]| {
            let keys: Vec<_> = (0..500).map(|_| integers(&mut rand, bits)).collect();
            let rows: Vec<_> = keys
                .iter()
                .map(|key| Row::of(key, State::Unknown))
                .collect();
            Bits::of(&rows).map(|bits| bits.count)
        };
        assert_eq!(bits(&[1, 4, 8, 4]), Some(17));
        assert_eq!(bits(&[8, 8, 8, 8]), Some(32));
        assert_eq!(bits(&[8, 8, 8, 9]), None, "more than a word has room for");
        assert_eq!(bits(&[2; 6]), None, "longer than what is kept");
        assert_eq!(bits(&[0]), Some(0));
        let short = [&b"ab"[..], b"abc"].map(|key| Row::of(key, State::Unknown));
        assert!(Bits::of(&short).is_none());
    }

    fn come_once_and_in_order(keys: &[(SpaceId, Vec<u8>)]) {
        let mut dirty = Dirty::within(Spare::default());
        for (space, key) in keys {
            // One state for a key.
            let state = match key.len() {
                0 => State::Unknown,
                bytes => State::At(Timestamp(bytes as u64), Some(key)),
            };
            dirty.note(*space, key, state);
        }
        let mut found = Vec::new();
        while let Some((space, rows)) = dirty.next_space(|| {}) {
            for row in rows.rows() {
                let alone = matches!(row.state(), State::At(_, Some(value)) if value == row.key());
                assert!(alone || row.key().is_empty());
                found.push((space, row.key().to_vec()));
            }
        }
        let expected: BTreeSet<_> = keys.iter().cloned().collect();
        assert!(found.iter().eq(&expected));
    }

    #[test]
    fn a_pass_has_the_memory_of_the_one_before() {
        // The memory of one space, handed from pass to pass.
        let pass = |spare, rows| {
            let mut dirty = Dirty::within(spare);
            for _ in 0..rows {
                dirty.note(SpaceId(7), b"key", State::Unknown);
            }
            let at = dirty.spaces[&SpaceId(7)].as_ptr();
            let (space, sorted) = dirty.next_space(|| {}).unwrap();
            assert_eq!((space, sorted.rows().count()), (SpaceId(7), 1));
            let mut spare = Spare::default();
            spare.take_back(space, sorted.into_rows());
            assert!(dirty.next_space(|| {}).is_none());
            (at.addr(), spare)
        };
        let (first, spare) = pass(Spare::default(), 1000);
        let (second, spare) = pass(spare, 1000);
        assert_eq!(second, first);
        // Once used for little, it is let go.
        let (third, spare) = pass(spare, 1);
        assert_eq!(third, first);
        assert!(spare.spaces.is_empty());
    }
}
