//! A call's part at one node, run as one thing, its writes kept aside: how every engine but the queues runs calls.
//!
//! Relies on: `execute`.  Promises: operations run in their order, each when its values are there; nothing is
//! written before somebody takes [`Run::into_writes`].  Does not: lock, or send.

use crate::call::{Call, Datum, Key, LockKey, NodeId, Operation, Record, Slot};
use crate::execute::{execute, key_of};
use crate::message::Part;
use std::collections::BTreeMap;

/// See the header.
#[derive(Debug)]
pub struct Run {
    operations: Vec<Operation>,
    at: usize,
    slots: Vec<Option<Datum>>,
    writes: BTreeMap<Key, Record>,
    /// Made here and not yet told.
    made: Vec<(Slot, Datum)>,
    raised: bool,
}

impl Run {
    /// Before the first operation.
    pub fn new(part: &mut Part) -> Run {
        Run {
            operations: std::mem::take(&mut part.operations),
            at: 0,
            slots: vec![None; usize::from(part.slots)],
            writes: BTreeMap::new(),
            made: Vec::new(),
            raised: false,
        }
    }

    /// Goes on as far as values are there; returns how many operations that were.
    pub fn advance(&mut self, mut read: impl FnMut(&Key) -> Option<Record>) -> u64 {
        let mut ran = 0;
        while let Some(operation) = self.operations.get(self.at) {
            let mut missing = self.raised;
            operation
                .action
                .needs(|slot| missing |= self.slots[usize::from(slot)].is_none());
            if missing {
                break;
            }
            let key = key_of(operation, &self.slots);
            let done = match self.writes.get(&key) {
                Some(record) => execute(operation, Some(record), &self.slots),
                None => execute(operation, read(&key).as_deref(), &self.slots),
            };
            self.raised |= done.raised;
            for (slot, value) in done.made {
                self.slots[usize::from(slot)] = Some(value.clone());
                self.made.push((slot, value));
            }
            if let Some(record) = done.write {
                self.writes.insert(key, record);
            }
            self.at += 1;
            ran += 1;
        }
        ran
    }

    /// A value of another node.
    pub fn put(&mut self, slot: Slot, value: Datum) {
        if let Some(place) = self.slots.get_mut(usize::from(slot)) {
            *place = Some(value);
        }
    }

    /// All operations are done, or one has raised.
    pub fn is_over(&self) -> bool {
        self.raised || self.at == self.operations.len()
    }

    /// A check failed here.
    pub fn raised(&self) -> bool {
        self.raised
    }

    /// Values made since this was asked last that these want.
    pub fn take_made(&mut self) -> Vec<(Slot, Datum)> {
        std::mem::take(&mut self.made)
    }

    /// Values of slots, for the client.
    pub fn answers(&self, wanted: &[(u16, Slot)]) -> Vec<(u16, Datum)> {
        let value = |slot: Slot| self.slots[usize::from(slot)].clone();
        wanted
            .iter()
            .map(|(place, slot)| (*place, value(*slot).unwrap_or(Datum::Null)))
            .collect()
    }

    /// What it writes.
    pub fn writes(&self) -> &BTreeMap<Key, Record> {
        &self.writes
    }

    /// Takes what it writes.
    pub fn into_writes(self) -> BTreeMap<Key, Record> {
        self.writes
    }
}

/// What conflicts are counted by, and whether it is written; each once, in order.
pub fn locks_of(operations: &[Operation]) -> Vec<(LockKey, bool)> {
    let mut locks: Vec<(LockKey, bool)> = operations
        .iter()
        .map(|operation| (operation.key.lock(), operation.action.writes()))
        .collect();
    // Writers first, so that they are those that are kept.
    locks.sort_unstable_by_key(|(key, writes)| (*key, !writes));
    locks.dedup_by_key(|(key, _)| *key);
    locks
}

/// A call's parts, by node.
pub fn parts_of(number: u32, call: &Call) -> Vec<(NodeId, Part)> {
    let nodes = call.nodes();
    let mut parts: Vec<(NodeId, Part)> = nodes
        .iter()
        .map(|node| {
            let part = Part {
                number,
                slots: call.slots(),
                operations: Vec::new(),
                nodes: Vec::new(),
                deliver: Vec::new(),
                answers: Vec::new(),
            };
            (*node, part)
        })
        .collect();
    let place = |node: NodeId| nodes.partition_point(|other| *other < node);
    let mut maker = vec![0; usize::from(call.slots())];
    let mut needs: Vec<(Slot, NodeId)> = Vec::new();
    let mut writers: Vec<(NodeId, bool)> = nodes.iter().map(|node| (*node, false)).collect();
    for (node, operation) in call.operations() {
        let at = place(*node);
        for slot in operation.action.makes() {
            maker[usize::from(slot)] = at;
        }
        if nodes.len() > 1 {
            operation.action.needs(|slot| needs.push((slot, *node)));
            writers[at].1 |= operation.action.writes();
        }
        parts[at].1.operations.push(operation.clone());
    }
    needs.sort_unstable();
    needs.dedup();
    for (slot, node) in needs {
        let from = &mut parts[maker[usize::from(slot)]];
        if from.0 != node {
            from.1.deliver.push((slot, node));
        }
    }
    for (answer, slot) in call.answers().iter().enumerate() {
        let from = &mut parts[maker[usize::from(*slot)]];
        from.1.answers.push((answer as u16, *slot));
    }
    if nodes.len() > 1 {
        for (_, part) in &mut parts {
            part.nodes.clone_from(&writers);
        }
    }
    parts
}
