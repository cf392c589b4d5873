//! Groups on their way: found by the images of their keys, each with its running aggregates.
//!
//! Relies on: equal keys have equal images (`keys::push`).  Promises: groups in the order in which they came up.
//! Does not: count its memory; says what there is to charge ([`Groups::take_uncharged`]).
//!
//! ```text
//!   image ─ hash ─► slots ─► number ─┬─► images, end to end: is it the same?
//!                                    ├─► keys, so many values each
//!                                    └─► running aggregates, one for each call
//! ```
//! Hot path: once for each row. Everything of one kind lies in one piece: what a group needs is few lines of memory.

use crate::aggregate::Running;
use crate::context::{Env, Halt, row_bytes};
use foldhash::fast::FixedState;
use quintet_base::Value;
use quintet_ir::Expr;
use quintet_ir::aggregate::AggregateCall;
use std::hash::BuildHasher;

/// What a group takes beside its keys: slot, accumulators.
pub(crate) const GROUP_BYTES: usize = 128;

/// Slots of the first table.
const SLOTS_MIN: usize = 16;

/// See the module.
pub(crate) struct Groups {
    width: usize,
    calls: usize,
    keys: Vec<Value>,
    running: Vec<Running>,
    count: usize,
    /// Upper half of the hash, and the group's number and 1; 0: none. At most half of them are taken.
    slots: Vec<u64>,
    images: Vec<u8>,
    ends: Vec<usize>,
    /// Of the row at hand.
    image: Vec<u8>,
    /// The group of the row before.
    last: Option<usize>,
    uncharged: usize,
}

fn hash(image: &[u8]) -> u64 {
    FixedState::default().hash_one(image)
}

impl Groups {
    /// None yet; if there are no keys, the only one.
    pub fn new(width: usize, calls: &[AggregateCall]) -> Groups {
        let mut groups = Groups {
            width,
            calls: calls.len(),
            keys: Vec::new(),
            running: Vec::new(),
            count: 0,
            slots: vec![0; SLOTS_MIN],
            images: Vec::new(),
            ends: Vec::new(),
            image: Vec::new(),
            last: None,
            uncharged: 0,
        };
        if width == 0 {
            groups.add([].into_iter(), calls);
            groups.uncharged = 0;
        }
        groups
    }

    /// The image of the keys of the row at hand is put here.
    pub fn image(&mut self) -> &mut Vec<u8> {
        &mut self.image
    }

    /// The group of this image, which may be new, with these keys.
    #[inline]
    pub fn place(&mut self, keys: impl Iterator<Item = Value>, calls: &[AggregateCall]) -> usize {
        if self.width == 0 {
            return 0;
        }
        if let Some(last) = self.last
            && self.image_of(last) == self.image
        {
            return last;
        }
        let hash = hash(&self.image);
        let mut at = self.slot_of(hash);
        let place = loop {
            match self.slots[at] {
                0 => {
                    self.slots[at] = slot(hash, self.count);
                    break self.add(keys, calls);
                }
                _ => {
                    if let Some(number) = self.is_at(at, hash) {
                        break number;
                    }
                }
            }
            at = (at + 1) & (self.slots.len() - 1);
        };
        self.last = Some(place);
        place
    }

    /// Makes the image of the keys of a frame; returns their values.
    pub fn look(
        &mut self,
        keys: &[Expr],
        env: &mut Env<'_>,
        frame: &[Value],
    ) -> Result<Vec<Value>, Halt> {
        let values = keys.iter().map(|key| env.eval(key, frame));
        let values = values.collect::<Result<Vec<Value>, _>>()?;
        self.look_at(keys, &values);
        Ok(values)
    }

    /// Makes the image of keys of which the values are at hand.
    pub fn look_at(&mut self, keys: &[Expr], values: &[Value]) {
        self.image.clear();
        for (key, value) in keys.iter().zip(values) {
            crate::keys::push(value, key.ty(), &mut self.image);
        }
    }

    /// The group of this image, if there is one.
    pub fn find(&self) -> Option<usize> {
        let hash = hash(&self.image);
        let mut at = self.slot_of(hash);
        while self.slots[at] != 0 {
            if let Some(number) = self.is_at(at, hash) {
                return Some(number);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        None
    }

    /// The group of a slot that is taken, if it is that of the image.
    #[inline]
    fn is_at(&self, at: usize, hash: u64) -> Option<usize> {
        let taken = self.slots[at];
        let number = (taken as u32 - 1) as usize;
        let is_it = taken >> 32 == hash >> 32 && self.image_of(number) == self.image;
        is_it.then_some(number)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The running aggregates of a group.
    #[inline]
    pub fn running(&mut self, place: usize) -> &mut [Running] {
        &mut self.running[place * self.calls..(place + 1) * self.calls]
    }

    /// Bytes that have been taken since this was last asked.
    pub fn take_uncharged(&mut self) -> usize {
        std::mem::take(&mut self.uncharged)
    }

    /// Keys and running aggregates of each.
    pub fn into_groups(self) -> impl Iterator<Item = (Vec<Value>, Vec<Running>)> {
        let (width, calls) = (self.width, self.calls);
        let (mut keys, mut running) = (self.keys.into_iter(), self.running.into_iter());
        (0..self.count).map(move |_| {
            let keys = keys.by_ref().take(width).collect();
            (keys, running.by_ref().take(calls).collect())
        })
    }

    fn image_of(&self, number: usize) -> &[u8] {
        let from = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.images[from..self.ends[number]]
    }

    fn slot_of(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn add(&mut self, keys: impl Iterator<Item = Value>, calls: &[AggregateCall]) -> usize {
        let from = self.keys.len();
        self.keys.extend(keys);
        assert_eq!(self.keys.len(), from + self.width, "a value for each key");
        self.running.extend(calls.iter().map(Running::new));
        self.images.extend_from_slice(&self.image);
        self.ends.push(self.images.len());
        self.uncharged +=
            self.image.len() + row_bytes(&self.keys[from..]) + GROUP_BYTES * (1 + calls.len());
        self.count += 1;
        if self.count * 2 >= self.slots.len() {
            self.grow();
        }
        self.count - 1
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for number in 0..self.count {
            let hash = hash(self.image_of(number));
            let mut at = self.slot_of(hash);
            while self.slots[at] != 0 {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = slot(hash, number);
        }
    }
}

/// A number and 1 fits: each group takes more bytes than there are numbers below 2^32 in memory.
fn slot(hash: u64, number: usize) -> u64 {
    (hash >> 32 << 32) | u64::from(number as u32 + 1)
}
