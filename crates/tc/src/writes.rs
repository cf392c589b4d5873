//! What a transaction has written and not committed.
//!
//! Relies on: the caller's hashes are those of the table.  Promises: a key is there once, with what was
//! written last; writes since a mark can be taken back; the order of the log is the order of first
//! writes, so rows that were written one after the other lie one after the other.
//! Does not: lock anything, or bound its size.
//!
//! ```text
//!   table: hash ─► number of the row
//!   rows:    0: space, key ─┐ value ─┐      in the order of first writes
//!            1: …           │        │
//!   bytes:   key value key ▼value … ▼       appended; what is written over stays until the end
//!   order:   space, key ─► number           made when somebody first asks for a range
//! ```
//! Hot path: a write appends its bytes and three words; nothing is allocated once the vectors have grown.

use hashbrown::HashTable;
use quintet_base::{Bytes, SpaceId, Timestamp};
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Buffered writes. See the module.
#[derive(Default)]
pub(crate) struct WriteSet {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    numbers: HashTable<u32>,
    /// Each space that was written to, with the timestamp of the oldest schema that such a write was
    /// planned with. Few.
    spaces: Vec<(SpaceId, Timestamp)>,
    order: OnceCell<BTreeMap<(SpaceId, Bytes), u32>>,
    /// What was there before each write since the first mark.
    undo: Vec<(u32, State)>,
    /// Somebody holds a mark.
    marked: Cell<bool>,
    /// Rows that are not [`State::Absent`].
    live: usize,
    /// Bytes of their values.
    value_bytes: usize,
}

struct Row {
    hash: u64,
    space: SpaceId,
    key: (usize, usize),
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Not written: it was, and that was taken back.
    Absent,
    Removed,
    /// Where its value begins and ends.
    Value(usize, usize),
}

impl State {
    fn len(self) -> usize {
        match self {
            State::Value(from, to) => to - from,
            State::Absent | State::Removed => 0,
        }
    }
}

/// One written row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'w> {
    pub hash: u64,
    pub space: SpaceId,
    pub key: &'w [u8],
    /// `None`: removed.
    pub value: Option<&'w [u8]>,
}

impl WriteSet {
    /// No row is written.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// How many rows are.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Bytes of the values, without what was written over.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// A point to roll back to.
    pub fn mark(&self) -> usize {
        self.marked.set(true);
        self.undo.len()
    }

    /// Whether somebody may roll back to a mark.
    pub fn is_marked(&self) -> bool {
        self.marked.get()
    }

    /// Nobody will roll back to any mark there is.
    pub fn forget_marks(&mut self) {
        self.undo.clear();
        self.marked.set(false);
    }

    /// Takes back what was written since the mark.
    pub fn rollback_to(&mut self, mark: usize) {
        while self.undo.len() > mark {
            let (number, before) = self.undo.pop().expect("longer than the mark");
            self.set(number, before);
        }
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
        self.numbers.clear();
        self.spaces.clear();
        self.order.take();
        self.undo.clear();
        self.marked.set(false);
        self.live = 0;
        self.value_bytes = 0;
    }

    /// What was written at a key (`Some(None)`: removed).
    pub fn get(&self, hash: u64, space: SpaceId, key: &[u8]) -> Option<Option<&[u8]>> {
        if self.live == 0 {
            return None;
        }
        let number = self.number(hash, space, key)?;
        match self.rows[number as usize].state {
            State::Absent => None,
            State::Removed => Some(None),
            State::Value(from, to) => Some(Some(&self.bytes[from..to])),
        }
    }

    /// Writes a row; `None` removes it. Planned with a schema of this age.
    pub fn write(
        &mut self,
        (hash, space, key): (u64, SpaceId, &[u8]),
        schema: Timestamp,
        value: Option<&[u8]>,
    ) {
        match self.spaces.iter_mut().find(|(known, _)| *known == space) {
            Some((_, oldest)) => *oldest = schema.min(*oldest),
            None => self.spaces.push((space, schema)),
        }
        let number = match self.number(hash, space, key) {
            Some(number) => number,
            None => self.add(hash, space, key),
        };
        let before = self.rows[number as usize].state;
        if self.marked.get() {
            self.undo.push((number, before));
        }
        let state = match (value, before) {
            (None, _) => State::Removed,
            // In its place, if nobody may want the old one back.
            (Some(value), State::Value(from, to))
                if !self.marked.get() && value.len() == to - from =>
            {
                self.bytes[from..to].copy_from_slice(value);
                before
            }
            (Some(value), _) => {
                let from = self.bytes.len();
                self.bytes.extend_from_slice(value);
                State::Value(from, self.bytes.len())
            }
        };
        self.set(number, state);
    }

    fn number(&self, hash: u64, space: SpaceId, key: &[u8]) -> Option<u32> {
        let is = |number: &u32| {
            let row = &self.rows[*number as usize];
            row.hash == hash && row.space == space && self.key(row) == key
        };
        self.numbers.find(hash, is).copied()
    }

    fn add(&mut self, hash: u64, space: SpaceId, key: &[u8]) -> u32 {
        let number = u32::try_from(self.rows.len()).expect("bounded by the bytes of a transaction");
        let from = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.rows.push(Row {
            hash,
            space,
            key: (from, self.bytes.len()),
            state: State::Absent,
        });
        let rows = &self.rows;
        self.numbers
            .insert_unique(hash, number, |number| rows[*number as usize].hash);
        if let Some(order) = self.order.get_mut() {
            order.insert((space, Bytes::copy_from_slice(key)), number);
        }
        number
    }

    fn set(&mut self, number: u32, state: State) {
        let before = std::mem::replace(&mut self.rows[number as usize].state, state);
        self.value_bytes = self.value_bytes - before.len() + state.len();
        self.live += usize::from(state != State::Absent);
        self.live -= usize::from(before != State::Absent);
    }

    fn key(&self, row: &Row) -> &[u8] {
        &self.bytes[row.key.0..row.key.1]
    }

    fn shown(&self, row: &Row) -> Option<Write<'_>> {
        let value = match row.state {
            State::Absent => return None,
            State::Removed => None,
            State::Value(from, to) => Some(&self.bytes[from..to]),
        };
        Some(Write {
            hash: row.hash,
            space: row.space,
            key: self.key(row),
            value,
        })
    }

    /// All writes, in the order of first writes.
    pub fn iter(&self) -> impl Iterator<Item = Write<'_>> {
        self.rows.iter().filter_map(|row| self.shown(row))
    }

    /// The spaces written to, each with the age of the schema; also those whose writes were all taken
    /// back.
    pub fn spaces(&self) -> &[(SpaceId, Timestamp)] {
        &self.spaces
    }

    /// Shows the writes of a range of a space in the order of keys, forwards or backwards, as long as `see`
    /// wants more.
    pub fn range(
        &self,
        space: SpaceId,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        backward: bool,
        see: impl FnMut(&Write<'_>) -> bool,
    ) {
        if !self.spaces.iter().any(|(known, _)| *known == space) {
            return;
        }
        let order = self.order.get_or_init(|| {
            let key = |row: &Row| (row.space, Bytes::copy_from_slice(self.key(row)));
            let numbered = self.rows.iter().zip(0..);
            numbered.map(|(row, number)| (key(row), number)).collect()
        });
        let own = |bound: Bound<&[u8]>, beyond: Bound<(SpaceId, Bytes)>| match bound {
            Bound::Included(key) => Bound::Included((space, Bytes::copy_from_slice(key))),
            Bound::Excluded(key) => Bound::Excluded((space, Bytes::copy_from_slice(key))),
            Bound::Unbounded => beyond,
        };
        let first = Bound::Included((space, Bytes::new()));
        let behind = match space.0.checked_add(1) {
            Some(next) => Bound::Excluded((SpaceId(next), Bytes::new())),
            None => Bound::Unbounded,
        };
        let found = order.range((own(range.0, first), own(range.1, behind)));
        let shown =
            |(_, number): (&(SpaceId, Bytes), &u32)| self.shown(&self.rows[*number as usize]);
        match backward {
            false => found.filter_map(shown).take_while(see).for_each(drop),
            true => found.rev().filter_map(shown).take_while(see).for_each(drop),
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::table::hash;
    use quintet_rt::Rand;

    type Model = BTreeMap<(u32, Vec<u8>), Option<Vec<u8>>>;

    fn shown(writes: &WriteSet) -> Model {
        let row = |write: Write<'_>| {
            let key = (write.space.0, write.key.to_vec());
            (key, write.value.map(<[u8]>::to_vec))
        };
        writes.iter().map(row).collect()
    }

    fn ranged(writes: &WriteSet, space: u32, from: &[u8], backward: bool) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        let range = (Bound::Included(from), Bound::Unbounded);
        writes.range(SpaceId(space), range, backward, |write| {
            keys.push(write.key.to_vec());
            keys.len() < 7
        });
        keys
    }

    #[test]
    fn it_holds_what_a_map_holds_through_writes_marks_and_returns() {
        let seed = Rand::from_os().next_u64();
        println!("seed {seed}");
        let mut rand = Rand::seeded(seed);
        let mut writes = WriteSet::default();
        for _ in 0..200 {
            let mut model = Model::new();
            let mut marks: Vec<(usize, Model)> = Vec::new();
            writes.clear();
            for _ in 0..rand.below(60) {
                let space = rand.below(3) as u32;
                let key = vec![b'k'; 1 + rand.below(12) as usize];
                let place = (hash(SpaceId(space), &key), SpaceId(space), &key[..]);
                match rand.below(10) {
                    0 => marks.push((writes.mark(), model.clone())),
                    1 => {
                        if let Some((mark, before)) = marks.pop() {
                            writes.rollback_to(mark);
                            model = before;
                        }
                    }
                    2 | 3 => {
                        writes.write(place, Timestamp(1), None);
                        model.insert((space, key.clone()), None);
                    }
                    _ => {
                        let value = vec![rand.below(256) as u8; rand.below(5) as usize];
                        writes.write(place, Timestamp(1), Some(&value));
                        model.insert((space, key.clone()), Some(value));
                    }
                }
                let got = writes.get(place.0, place.1, place.2);
                let known = model.get(&(space, key.clone()));
                assert_eq!(got, known.map(Option::as_deref));
                assert_eq!(shown(&writes), model);
                assert_eq!(writes.len(), model.len());
                let bytes: usize = model.values().flatten().map(Vec::len).sum();
                assert_eq!(writes.value_bytes(), bytes);
                let from = &key[..key.len() / 2];
                let range = model.range((space, from.to_vec())..(space + 1, Vec::new()));
                let mut keys: Vec<Vec<u8>> = range.map(|((_, key), _)| key.clone()).collect();
                let forward = ranged(&writes, space, from, false);
                assert_eq!(forward, keys[..keys.len().min(7)]);
                keys.reverse();
                keys.truncate(7);
                assert_eq!(ranged(&writes, space, from, true), keys);
            }
        }
    }

    #[test]
    fn the_oldest_schema_of_a_space_counts() {
        let mut writes = WriteSet::default();
        for (schema, key) in [(5, b"a"), (3, b"b"), (4, b"a")] {
            writes.write(
                (hash(SpaceId(1), key), SpaceId(1), key),
                Timestamp(schema),
                None,
            );
        }
        assert_eq!(writes.spaces(), [(SpaceId(1), Timestamp(3))]);
    }
}
