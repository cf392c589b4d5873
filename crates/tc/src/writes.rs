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
//!   order:   of a space, numbers by key      made when somebody first asks for a range of it
//! ```
//! Hot path: a write appends its bytes and three words; nothing is allocated once the vectors have grown.

use quintet_base::{SpaceId, Timestamp};
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The next transaction of a thread takes over the memory of one that has written no more.
const KEPT_BYTES_MAX: usize = 1 << 18;
/// See there.
const KEPT_ROWS_MAX: usize = 4096;

/// Numbers in one block of an order: few lines to move when one is put in.
const BLOCK_MAX: usize = 512;

/// Buffered writes. See the module.
#[derive(Default)]
pub(crate) struct WriteSet {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    numbers: Numbers,
    /// Each space that was written to. Few.
    spaces: Vec<Written>,
    /// What was there before each write since the first mark.
    undo: Vec<(u32, State)>,
    /// Somebody holds a mark.
    marked: Cell<bool>,
    /// Rows that are not [`State::Absent`].
    live: usize,
    /// Rows that are [`State::Removed`].
    removed: usize,
    /// Bytes of their values.
    value_bytes: usize,
    /// The past is shown: what is there in truth of each row that was written since.
    present: BTreeMap<u32, State>,
}

/// Numbers of rows by their hashes: open addressing, never more than half full.
#[derive(Default)]
struct Numbers {
    /// 0: free; else a number and one. A power of two of them, or none.
    places: Vec<u32>,
}

/// Places at first: for what most transactions write.
const PLACES_MIN: usize = 64;
/// To make more of them free again costs more than to get new ones, unless many were taken.
const PLACES_KEPT_MAX: usize = 1024;

impl Numbers {
    #[inline]
    fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.places.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let number = self.places[at & mask].checked_sub(1)?;
            if is(number) {
                return Some(number);
            }
            at += 1;
        }
    }

    /// Puts in the number that follows those that are there.
    fn push(&mut self, number: u32, hash_of: impl Fn(u32) -> u64) {
        if (number as usize + 1) * 2 > self.places.len() {
            let places = (self.places.len() * 2).max(PLACES_MIN);
            self.places.clear();
            self.places.resize(places, 0);
            (0..number).for_each(|number| self.put(number, hash_of(number)));
        }
        self.put(number, hash_of(number));
    }

    fn put(&mut self, number: u32, hash: u64) {
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        while self.places[at] != 0 {
            at = (at + 1) & mask;
        }
        self.places[at] = number + 1;
    }

    /// Frees the places of so many numbers.
    fn clear(&mut self, numbers: usize) {
        match self.places.len() > PLACES_KEPT_MAX.max(numbers * 16) {
            true => self.places = Vec::new(),
            false => self.places.fill(0),
        }
    }
}

/// A space that was written to.
struct Written {
    space: SpaceId,
    /// Timestamp of the oldest schema that such a write was planned with.
    schema: Timestamp,
    order: OnceCell<Order>,
}

/// Numbers of rows by their keys, in blocks none of which is empty.
#[derive(Default)]
struct Order {
    blocks: Vec<Vec<u32>>,
}

impl Order {
    /// The first place whose row is not below.
    fn place(&self, below: impl Fn(u32) -> bool) -> (usize, usize) {
        let last = |block: &Vec<u32>| *block.last().expect("no block is empty");
        let block = self.blocks.partition_point(|block| below(last(block)));
        let inside = self.blocks.get(block);
        let inside = inside.map(|block| block.partition_point(|number| below(*number)));
        (block, inside.unwrap_or(0))
    }

    fn insert(&mut self, number: u32, below: impl Fn(u32) -> bool) {
        let (mut block, mut at) = self.place(below);
        if block == self.blocks.len() {
            match self.blocks.last() {
                Some(last) => (block, at) = (block - 1, last.len()),
                None => self.blocks.push(Vec::new()),
            }
        }
        let numbers = &mut self.blocks[block];
        numbers.insert(at, number);
        if numbers.len() > BLOCK_MAX {
            let rest = numbers.split_off(BLOCK_MAX / 2);
            self.blocks.insert(block + 1, rest);
        }
    }

    /// The numbers from one place up to another.
    fn between(
        &self,
        from: (usize, usize),
        to: (usize, usize),
    ) -> impl DoubleEndedIterator<Item = u32> {
        let last = to.0.min(self.blocks.len().wrapping_sub(1));
        let blocks = match self.blocks.is_empty() {
            true => 0..0,
            false => from.0..last + 1,
        };
        blocks.flat_map(move |block| {
            let numbers = &self.blocks[block][..];
            let low = if block == from.0 { from.1 } else { 0 };
            let high = if block == to.0 { to.1 } else { numbers.len() };
            numbers[low..high.max(low)].iter().copied()
        })
    }
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

    /// Whether one of them is a removal.
    pub fn has_removals(&self) -> bool {
        self.removed > 0
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
        self.show_present();
        while self.undo.len() > mark {
            let (number, before) = self.undo.pop().expect("longer than the mark");
            self.set(number, before);
        }
    }

    /// Shows everything as it was at a mark, until [`WriteSet::show_present`]. Nothing is to be written meanwhile.
    pub fn show_past(&mut self, mark: usize) {
        self.show_present();
        for at in (mark..self.undo.len()).rev() {
            let (number, before) = self.undo[at];
            let now = self.rows[number as usize].state;
            self.present.entry(number).or_insert(now);
            self.set(number, before);
        }
    }

    /// Shows everything as it is.
    pub fn show_present(&mut self) {
        for (number, state) in std::mem::take(&mut self.present) {
            self.set(number, state);
        }
    }

    /// Whether a key was written after what is shown.
    pub fn is_ahead(&self, hash: u64, space: SpaceId, key: &[u8]) -> bool {
        let number = || self.number(hash, space, key);
        !self.present.is_empty() && number().is_some_and(|n| self.present.contains_key(&n))
    }

    /// Whether its memory is little enough to be kept for another transaction.
    pub fn is_small(&self) -> bool {
        self.bytes.capacity() <= KEPT_BYTES_MAX && self.rows.capacity() <= KEPT_ROWS_MAX
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.numbers.clear(self.rows.len());
        self.rows.clear();
        self.spaces.clear();
        self.undo.clear();
        self.present.clear();
        self.marked.set(false);
        self.live = 0;
        self.removed = 0;
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
        debug_assert!(self.present.is_empty(), "nothing is written in the past");
        match self.spaces.iter_mut().find(|known| known.space == space) {
            Some(known) => known.schema = schema.min(known.schema),
            None => self.spaces.push(Written {
                space,
                schema,
                order: OnceCell::new(),
            }),
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
        self.numbers.find(hash, |number| {
            let row = &self.rows[number as usize];
            row.hash == hash && row.space == space && self.key(row) == key
        })
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
            .push(number, |number| rows[number as usize].hash);
        let WriteSet {
            bytes,
            rows,
            spaces,
            ..
        } = self;
        let known = spaces.iter_mut().find(|known| known.space == space);
        if let Some(order) = known.and_then(|known| known.order.get_mut()) {
            order.insert(number, |other| key_of(bytes, &rows[other as usize]) < key);
        }
        number
    }

    fn set(&mut self, number: u32, state: State) {
        let before = std::mem::replace(&mut self.rows[number as usize].state, state);
        self.value_bytes = self.value_bytes - before.len() + state.len();
        self.live += usize::from(state != State::Absent);
        self.live -= usize::from(before != State::Absent);
        self.removed += usize::from(state == State::Removed);
        self.removed -= usize::from(before == State::Removed);
    }

    fn key(&self, row: &Row) -> &[u8] {
        key_of(&self.bytes, row)
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

    /// Takes out what was written since a mark, if all of that is in these spaces and nothing was written to them before. What
    /// was written to `told_in` is not counted, and stays: in the memory of another that has been cleared, if there is one.
    pub fn take_since(
        &mut self,
        mark: usize,
        is_chosen: impl Fn(SpaceId) -> bool,
        told_in: SpaceId,
        memory: Option<WriteSet>,
    ) -> Option<WriteSet> {
        let first = self.rows.iter().position(|row| is_chosen(row.space))?;
        let (before, since) = self.rows.split_at(first);
        let is_before = |(number, _): &(u32, State)| (*number as usize) < first;
        let told = |(number, _): &&(u32, State)| before[*number as usize].space == told_in;
        let undo = &self.undo[..mark];
        let others = self.undo[mark..].iter().filter(|undo| is_before(undo));
        let is_apart = since.iter().all(|row| is_chosen(row.space))
            && undo.iter().all(is_before)
            && others.clone().all(|undo| told(&undo));
        if !is_apart {
            return None;
        }
        let mut left = memory.unwrap_or_default();
        // What was written before lies before.
        left.bytes.extend_from_slice(&self.bytes[..since[0].key.0]);
        left.undo.extend(undo.iter().chain(others));
        left.marked.set(self.marked.get());
        let spaces = self.spaces.iter().filter(|known| !is_chosen(known.space));
        left.spaces.extend(spaces.map(|known| Written {
            order: OnceCell::new(),
            ..*known
        }));
        for (number, row) in (0..).zip(before) {
            left.rows.push(Row {
                state: State::Absent,
                ..*row
            });
            left.numbers.push(number, |n| before[n as usize].hash);
            left.set(number, row.state);
        }
        let mut taken = std::mem::replace(self, left);
        (0..first as u32).for_each(|number| taken.set(number, State::Absent));
        taken.spaces.retain(|known| is_chosen(known.space));
        taken.forget_marks();
        Some(taken)
    }

    /// What it takes in memory, about: keys, and all values that were ever there.
    pub fn buffered_bytes(&self) -> usize {
        self.bytes.len() + self.rows.len() * size_of::<Row>()
    }

    /// The spaces written to, each with the age of the schema; also those whose writes were all taken
    /// back.
    pub fn spaces(&self) -> impl Iterator<Item = (SpaceId, Timestamp)> {
        self.spaces.iter().map(|known| (known.space, known.schema))
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
        let found = self.in_range(space, range);
        match backward {
            false => found.take_while(see).for_each(drop),
            true => found.rev().take_while(see).for_each(drop),
        }
    }

    /// The writes of a range of a space in the order of keys.
    pub fn in_range(
        &self,
        space: SpaceId,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
    ) -> impl DoubleEndedIterator<Item = Write<'_>> {
        let known = self.spaces.iter().find(|known| known.space == space);
        let order = known.map(|known| known.order.get_or_init(|| self.order_of(space)));
        let key = |number: u32| self.key(&self.rows[number as usize]);
        let numbers = order.map(|order| {
            let from = match lower {
                Bound::Included(bound) => order.place(|number| key(number) < bound),
                Bound::Excluded(bound) => order.place(|number| key(number) <= bound),
                Bound::Unbounded => (0, 0),
            };
            let to = match upper {
                Bound::Included(bound) => order.place(|number| key(number) <= bound),
                Bound::Excluded(bound) => order.place(|number| key(number) < bound),
                Bound::Unbounded => (order.blocks.len(), 0),
            };
            order.between(from, to)
        });
        let numbers = numbers.into_iter().flatten();
        numbers.filter_map(|number| self.shown(&self.rows[number as usize]))
    }

    fn order_of(&self, space: SpaceId) -> Order {
        let rows = self.rows.iter().zip(0..);
        let numbers = rows.filter(|(row, _)| row.space == space);
        let mut numbers: Vec<u32> = numbers.map(|(_, number)| number).collect();
        numbers.sort_unstable_by_key(|number| self.key(&self.rows[*number as usize]));
        let blocks = numbers.chunks(BLOCK_MAX / 2).map(<[u32]>::to_vec);
        Order {
            blocks: blocks.collect(),
        }
    }
}

fn key_of<'b>(bytes: &'b [u8], row: &Row) -> &'b [u8] {
    &bytes[row.key.0..row.key.1]
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
            // Some write more than the table of numbers has room for at first.
            let steps = if rand.one_in(8) { 400 } else { 60 };
            for _ in 0..rand.below(steps) {
                let space = rand.below(3) as u32;
                let key = vec![b'k' + rand.below(4) as u8; 1 + rand.below(12) as usize];
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
                if let Some((mark, before)) = marks.get(rand.below(4) as usize) {
                    writes.show_past(*mark);
                    assert_eq!(shown(&writes), *before);
                    assert_eq!(writes.len(), before.len());
                    let changed =
                        before.get(&(space, key.clone())) != model.get(&(space, key.clone()));
                    let ahead = writes.is_ahead(place.0, place.1, place.2);
                    assert!(ahead || !changed, "what is another was written");
                    match rand.below(2) {
                        0 => writes.show_present(),
                        _ => writes.rollback_to(writes.undo.len()),
                    }
                }
                let got = writes.get(place.0, place.1, place.2);
                let known = model.get(&(space, key.clone()));
                assert_eq!(got, known.map(Option::as_deref));
                assert_eq!(shown(&writes), model);
                assert_eq!(writes.len(), model.len());
                assert_eq!(writes.has_removals(), model.values().any(Option::is_none));
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
        let spaces: Vec<_> = writes.spaces().collect();
        assert_eq!(spaces, [(SpaceId(1), Timestamp(3))]);
    }

    /// Writes something to a space, also over what was written, and takes it down.
    fn write_some(writes: &mut WriteSet, model: &mut Model, space: u32, rand: &mut Rand) {
        for _ in 0..rand.below(30) {
            let key = vec![b'k' + rand.below(3) as u8; 1 + rand.below(9) as usize];
            let place = (hash(SpaceId(space), &key), SpaceId(space), &key[..]);
            let value = (!rand.one_in(5)).then(|| vec![b'v'; rand.below(9) as usize]);
            writes.write(place, Timestamp(7), value.as_deref());
            model.insert((space, key), value);
        }
    }

    fn of(model: &Model, is_chosen: impl Fn(u32) -> bool) -> Model {
        let rows = model.iter().filter(|((space, _), _)| is_chosen(*space));
        rows.map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    #[test]
    fn what_was_written_since_a_mark_can_be_taken_out_and_the_rest_taken_back() {
        const TOLD: u32 = 9;
        for seed in 0..300 {
            let mut rand = Rand::seeded(seed);
            let (mut writes, mut model) = (WriteSet::default(), Model::new());
            let mut marks: Vec<(usize, Model)> = Vec::new();
            let mut memory = None;
            for _ in 0..rand.below(4) {
                write_some(&mut writes, &mut model, 1, &mut rand);
                write_some(&mut writes, &mut model, 2, &mut rand);
                marks.push((writes.mark(), model.clone()));
            }
            // As statements that load one after the other do.
            for fresh in [3, 4] {
                let since = writes.mark();
                marks.push((since, model.clone()));
                for round in 0..rand.below(4) {
                    let before = model.clone();
                    write_some(&mut writes, &mut model, fresh, &mut rand);
                    let is_fresh = |space: SpaceId| space.0 == fresh;
                    let Some(mut taken) =
                        writes.take_since(since, is_fresh, SpaceId(TOLD), memory.take())
                    else {
                        assert_eq!(model, before, "seed {seed}: only nothing is refused");
                        continue;
                    };
                    assert_eq!(
                        shown(&taken),
                        of(&model, |s| s == fresh),
                        "seed {seed}, {round}"
                    );
                    assert_eq!(taken.len(), shown(&taken).len());
                    taken.clear();
                    memory = rand.one_in(2).then_some(taken);
                    model = of(&model, |s| s != fresh);
                    assert_eq!(shown(&writes), model, "seed {seed}, {round}");
                    assert_eq!(writes.len(), model.len());
                    let told = (
                        hash(SpaceId(TOLD), &[fresh as u8]),
                        SpaceId(TOLD),
                        &[fresh as u8][..],
                    );
                    writes.write(told, Timestamp(7), Some(b"from"));
                    model.insert((TOLD, vec![fresh as u8]), Some(b"from".to_vec()));
                }
                write_some(&mut writes, &mut model, fresh, &mut rand);
                marks.push((writes.mark(), model.clone()));
            }
            write_some(&mut writes, &mut model, 1, &mut rand);
            assert_eq!(shown(&writes), model, "seed {seed}");
            let bytes: usize = model.values().flatten().map(Vec::len).sum();
            assert_eq!(writes.value_bytes(), bytes, "seed {seed}");
            for (mark, then) in marks.iter().rev() {
                writes.rollback_to(*mark);
                let rows = shown(&writes);
                assert_eq!(rows, *then, "seed {seed}");
                assert_eq!(writes.is_empty(), rows.is_empty());
            }
        }
    }

    #[test]
    fn what_is_not_apart_is_not_taken() {
        let write = |writes: &mut WriteSet, space: u32, key: &[u8]| {
            let place = (hash(SpaceId(space), key), SpaceId(space), key);
            writes.write(place, Timestamp(7), Some(b"x"));
        };
        let taken = |writes: &mut WriteSet, mark: usize| {
            let before = shown(writes);
            let taken = writes.take_since(mark, |s| s.0 == 3, SpaceId(9), None);
            assert!(taken.is_some() || shown(writes) == before);
            taken.is_some()
        };
        // Written to before the mark.
        let mut writes = WriteSet::default();
        write(&mut writes, 3, b"a");
        let mark = writes.mark();
        write(&mut writes, 3, b"b");
        assert!(taken(&mut writes, 0) || !taken(&mut writes, mark));
        let mut writes = WriteSet::default();
        writes.mark();
        write(&mut writes, 3, b"a");
        let mark = writes.mark();
        write(&mut writes, 3, b"b");
        assert!(!taken(&mut writes, mark));
        // Something else was written since, anew or again.
        for other in [b"a", b"b"] {
            let mut writes = WriteSet::default();
            writes.mark();
            write(&mut writes, 1, b"a");
            let mark = writes.mark();
            write(&mut writes, 3, b"a");
            write(&mut writes, 1, other);
            assert!(!taken(&mut writes, mark));
        }
    }
}
