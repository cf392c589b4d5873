//! YCSB: operations on single records, half of them reads, half of them additions.
//!
//! Relies on: `workloads::Keys`.  Promises: the keys of a call are different ones; a call of several partitions uses
//! exactly `span` of them, its own first.  Does not: insert.

use super::{Workload, filler};
use crate::call::{Action, Call, Change, Field, How, Key, NodeId, Operand, Operation, Record};
use quintet_rt::Rand;
use quintet_workloads::Keys;

const TABLE: u8 = 1;

/// What to ask.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct YcsbConfig {
    /// How many nodes.
    pub nodes: u16,
    /// Records of each.
    pub records: u64,
    /// Bytes of a record.
    pub record_bytes: usize,
    /// Operations of a call, half of them updates.
    pub operations: usize,
    /// Skew of the keys of each node.
    pub theta: f64,
    /// Share of calls with keys on several nodes, 0 to 1.
    pub multi_partition: f64,
    /// On how many, those.
    pub span: u16,
}

impl YcsbConfig {
    /// As the papers have it: sixteen operations, two partitions; records of 100 bytes.
    pub fn new(nodes: u16) -> YcsbConfig {
        YcsbConfig {
            nodes,
            records: 100_000,
            record_bytes: 100,
            operations: 16,
            theta: 0.0,
            multi_partition: 0.5,
            span: 2,
        }
    }
}

/// See the header.
#[derive(Debug)]
pub struct Ycsb {
    config: YcsbConfig,
    keys: Keys,
}

impl Ycsb {
    /// Ready to ask.
    ///
    /// # Panics
    /// If there are fewer records than a call needs, or theta is not in 0..1.
    pub fn new(config: YcsbConfig) -> Ycsb {
        assert!(config.records > 2 * config.operations as u64);
        Ycsb {
            keys: Keys::zipf(config.records, config.theta),
            config,
        }
    }

    fn key(&self, node: NodeId, record: u64) -> Key {
        Key::alone(
            TABLE,
            record * u64::from(self.config.nodes) + u64::from(node.0),
        )
    }
}

impl Workload for Ycsb {
    fn load(&self, node: NodeId, see: &mut dyn FnMut(Key, Record)) {
        for record in 0..self.config.records {
            let key = self.key(node, record);
            let mut bytes = 0i64.to_le_bytes().to_vec();
            let more = self.config.record_bytes.saturating_sub(8);
            bytes.extend(filler(key.group, more));
            see(key, bytes);
        }
    }

    fn next(&mut self, home: NodeId, rand: &mut Rand) -> Call {
        let share = (self.config.multi_partition * 1_000_000.0) as u64;
        let span = self.config.span.min(self.config.nodes);
        let mut nodes = vec![home];
        if span > 1 && rand.below(1_000_000) < share {
            while nodes.len() < usize::from(span) {
                let node = NodeId(rand.below(self.config.nodes.into()) as u16);
                if !nodes.contains(&node) {
                    nodes.push(node);
                }
            }
        }
        let mut used: Vec<Key> = Vec::with_capacity(self.config.operations);
        let mut operations = Vec::with_capacity(self.config.operations);
        let mut answers = Vec::new();
        for number in 0..self.config.operations {
            // Pairs of a read and an update, so that every node of the call has both.
            let node = nodes[number / 2 % nodes.len()];
            let key = loop {
                let key = self.key(node, self.keys.next(rand));
                if !used.contains(&key) {
                    break key;
                }
            };
            used.push(key);
            let action = if number % 2 == 0 {
                let slot = answers.len() as u16;
                answers.push(slot);
                Action::Read {
                    take: vec![(Field::Int(0), slot)],
                    check: None,
                }
            } else {
                Action::Update {
                    take: Vec::new(),
                    changes: vec![Change {
                        at: 0,
                        how: How::Add,
                        by: Operand::Int(1),
                    }],
                }
            };
            operations.push((node, Operation { key, action }));
        }
        Call::new(operations, answers).expect("reads, and additions of constants")
    }
}
