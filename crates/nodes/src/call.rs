//! What a call does, split into operations on one key each, and the values that pass between them.
//!
//! Relies on: nothing.  Promises: a [`Call`] that [`Call::new`] let pass can be run by every engine here: a
//! value is made before it is used, and whatever may refuse the call comes before whatever writes.
//! Does not: know where a key's record is stored, or in which order calls run.
//!
//! ```text
//!   slots      0   1   2          one value each, written once
//!   n1: read (a) ──► 0            a check writes 1 or 0: with a 0 the call is raised and
//!   n1: check(b) ──► 1 ─┐         none of its writes takes place
//!   n2: update(c) by 0 ◄┴─► 2     an update's values are those from before it
//!   n1: insert(d, item from 2)
//! ```

use serde::{Deserialize, Serialize};

/// A node of the cluster; it keeps one part of the data.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct NodeId(pub u16);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A call, as the node that took it from a client names it. Never used twice by one process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CallId(pub u64);

/// Where a record is. Records of one group are in one lane, and under one lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Key {
    /// Which table.
    pub table: u8,
    /// What is known before the call runs: conflicts are counted by table and group.
    pub group: u64,
    /// Within the group; an insert may learn it from a slot.
    pub item: u64,
}

/// Length of an encoded key.
pub const KEY_BYTES: usize = 17;

impl Key {
    /// The only record of its group.
    pub fn alone(table: u8, group: u64) -> Key {
        Key {
            table,
            group,
            item: 0,
        }
    }

    /// In order: table, group, item, big-endian.
    pub fn encode(&self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[0] = self.table;
        bytes[1..9].copy_from_slice(&self.group.to_be_bytes());
        bytes[9..].copy_from_slice(&self.item.to_be_bytes());
        bytes
    }

    /// What conflicts are counted by.
    pub fn lock(&self) -> LockKey {
        LockKey(self.table, self.group)
    }
}

/// Table and group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LockKey(pub u8, pub u64);

/// A record's bytes; fields are at fixed places in it.
pub type Record = Vec<u8>;

/// Number of a value of the call.
pub type Slot = u16;

/// A value that passes between operations.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Datum {
    /// There was no record, or the operation did not take place.
    Null,
    /// A number.
    Int(i64),
    /// Bytes.
    Text(Vec<u8>),
}

/// A part of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Field {
    /// Eight bytes, little-endian, from here.
    Int(u16),
    /// So many bytes from there.
    Text(u16, u16),
}

/// Where an operation takes a value from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Operand {
    /// Given with the call.
    Int(i64),
    /// Given with the call.
    Text(Vec<u8>),
    /// Made by another operation.
    Slot(Slot),
    /// A slot's number times this; an absent one counts as 0.
    Times(Slot, i64),
}

/// How an integer field changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum How {
    /// Becomes the operand.
    Set,
    /// Grows by it.
    Add,
    /// Shrinks by it; if fewer than ten would be left, 91 come in (TPC-C 2.4.2.2).
    Restock,
}

/// One field's change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Where the field is.
    pub at: u16,
    /// What happens to it.
    pub how: How,
    /// By how much.
    pub by: Operand,
}

/// What must hold, or the call is raised.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Check {
    /// Gets 1 or 0.
    pub verdict: Slot,
    /// The field at this place is at least so much; `None`: there is such a record.
    pub at_least: Option<(u16, Operand)>,
}

/// What is done at the key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Action {
    /// Values are taken from the record, and may be checked.
    Read {
        /// Fields into slots.
        take: Vec<(Field, Slot)>,
        /// What must hold.
        check: Option<Check>,
    },
    /// Values are taken, then the record changes. Without a record nothing happens.
    Update {
        /// Fields, as they were before, into slots.
        take: Vec<(Field, Slot)>,
        /// What happens to others.
        changes: Vec<Change>,
    },
    /// A record is put there, in the place of any other.
    Insert {
        /// The key's item is this slot's number times that, plus the item given.
        item: Option<(Slot, u64)>,
        /// Its fields, one after the other.
        record: Vec<Operand>,
    },
}

impl Action {
    /// Whether it writes.
    pub fn writes(&self) -> bool {
        !matches!(self, Action::Read { .. })
    }

    /// Slots that it makes.
    pub fn makes(&self) -> impl Iterator<Item = Slot> + '_ {
        let (take, check): (&[(Field, Slot)], _) = match self {
            Action::Read { take, check } => (take, check.as_ref()),
            Action::Update { take, .. } => (take, None),
            Action::Insert { .. } => (&[], None),
        };
        let verdict = check.map(|check| check.verdict);
        take.iter().map(|(_, slot)| *slot).chain(verdict)
    }

    /// Shows each slot that it needs.
    pub fn needs(&self, mut see: impl FnMut(Slot)) {
        let mut operand = |operand: &Operand| match operand {
            Operand::Slot(slot) | Operand::Times(slot, _) => see(*slot),
            Operand::Int(_) | Operand::Text(_) => {}
        };
        match self {
            Action::Read { check, .. } => {
                if let Some((_, least)) = check.as_ref().and_then(|c| c.at_least.as_ref()) {
                    operand(least);
                }
            }
            Action::Update { changes, .. } => changes.iter().for_each(|c| operand(&c.by)),
            Action::Insert { item, record } => {
                record.iter().for_each(&mut operand);
                if let Some((slot, _)) = item {
                    see(*slot);
                }
            }
        }
    }
}

/// One operation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// On which key.
    pub key: Key,
    /// What.
    pub action: Action,
}

impl Operation {
    /// Whether the key is known before the call runs.
    pub fn key_is_known(&self) -> bool {
        !matches!(self.action, Action::Insert { item: Some(_), .. })
    }
}

/// A transaction, given whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Call {
    operations: Vec<(NodeId, Operation)>,
    slots: u16,
    answers: Vec<Slot>,
    checks: Vec<Slot>,
}

/// Why a call cannot be run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CallError {
    /// A slot is used that nothing before makes.
    #[error("operation {operation} uses slot {slot}, which nothing before it makes")]
    Unmade {
        /// Which operation.
        operation: usize,
        /// Which slot.
        slot: Slot,
    },
    /// Two operations make the same slot, or it is out of range.
    #[error("operation {operation} cannot make slot {slot}")]
    Slot {
        /// Which operation.
        operation: usize,
        /// Which slot.
        slot: Slot,
    },
    /// A check behind a write.
    #[error("operation {operation} checks after an operation that writes")]
    LateCheck {
        /// Which operation.
        operation: usize,
    },
    /// Nothing to do, or more than a call may.
    #[error("a call has 1 to {OPERATIONS_MAX} operations")]
    Length,
    /// A node that is not there.
    #[error("operation {operation} is for node {node}, which is not there")]
    Node {
        /// Which operation.
        operation: usize,
        /// Which node.
        node: u16,
    },
}

/// Most operations of a call: slots are numbered by 16 bits, and TPC-C's longest has 49.
pub const OPERATIONS_MAX: usize = 4096;

impl Call {
    /// Checks a call. `answers` are the slots whose values its client gets.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn new(
        operations: Vec<(NodeId, Operation)>,
        answers: Vec<Slot>,
    ) -> Result<Call, CallError> {
        if operations.is_empty() || operations.len() > OPERATIONS_MAX {
            return Err(CallError::Length);
        }
        let mut made: Vec<bool> = Vec::new();
        let mut checks = Vec::new();
        let mut wrote = false;
        for (index, (_, operation)) in operations.iter().enumerate() {
            let mut missing = None;
            operation.action.needs(|slot| {
                if !made.get(usize::from(slot)).is_some_and(|made| *made) {
                    missing.get_or_insert(slot);
                }
            });
            if let Some(slot) = missing {
                return Err(CallError::Unmade {
                    operation: index,
                    slot,
                });
            }
            for slot in operation.action.makes() {
                let at = usize::from(slot);
                if at >= OPERATIONS_MAX || made.get(at).is_some_and(|made| *made) {
                    return Err(CallError::Slot {
                        operation: index,
                        slot,
                    });
                }
                made.resize(made.len().max(at + 1), false);
                made[at] = true;
            }
            if let Action::Read {
                check: Some(check), ..
            } = &operation.action
            {
                if wrote {
                    return Err(CallError::LateCheck { operation: index });
                }
                checks.push(check.verdict);
            }
            wrote |= operation.action.writes();
        }
        for slot in &answers {
            if !made.get(usize::from(*slot)).is_some_and(|made| *made) {
                return Err(CallError::Unmade {
                    operation: operations.len(),
                    slot: *slot,
                });
            }
        }
        Ok(Call {
            operations,
            slots: made.len() as u16,
            answers,
            checks,
        })
    }

    /// Checks a call that came from outside, for a cluster of so many nodes.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn checked(self, nodes: u16) -> Result<Call, CallError> {
        for (index, (node, _)) in self.operations.iter().enumerate() {
            if node.0 >= nodes {
                return Err(CallError::Node {
                    operation: index,
                    node: node.0,
                });
            }
        }
        Call::new(self.operations, self.answers)
    }

    /// What it does, where, in its order.
    pub fn operations(&self) -> &[(NodeId, Operation)] {
        &self.operations
    }

    /// How many slots it has.
    pub fn slots(&self) -> u16 {
        self.slots
    }

    /// Slots whose values the client gets.
    pub fn answers(&self) -> &[Slot] {
        &self.answers
    }

    /// Slots of its checks.
    pub fn checks(&self) -> &[Slot] {
        &self.checks
    }

    /// Nodes that have a part in it, in order.
    pub fn nodes(&self) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.operations.iter().map(|(node, _)| *node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }
}

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// It took place, and is durable on all its nodes. The values of its answers, in their order.
    Committed(Vec<Datum>),
    /// A check failed; nothing of it took place.
    Raised,
    /// Whether it took place was lost with a node; it did wholly, or not at all.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(check: bool, slot: Slot) -> (NodeId, Operation) {
        let check = check.then_some(Check {
            verdict: slot,
            at_least: None,
        });
        let take = if check.is_some() {
            vec![]
        } else {
            vec![(Field::Int(0), slot)]
        };
        let action = Action::Read { take, check };
        let key = Key::alone(1, 1);
        (NodeId(0), Operation { key, action })
    }

    fn add(by: Operand) -> (NodeId, Operation) {
        let changes = vec![Change {
            at: 0,
            how: How::Add,
            by,
        }];
        let action = Action::Update {
            take: vec![],
            changes,
        };
        let key = Key::alone(1, 1);
        (NodeId(0), Operation { key, action })
    }

    #[test]
    fn values_are_made_before_they_are_used() {
        let made = Call::new(vec![read(false, 0), add(Operand::Slot(0))], vec![0]);
        assert_eq!(made.map(|call| call.slots()), Ok(1));
        let unmade = Call::new(vec![add(Operand::Slot(0)), read(false, 0)], vec![]);
        let error = CallError::Unmade {
            operation: 0,
            slot: 0,
        };
        assert_eq!(unmade, Err(error));
        let twice = Call::new(vec![read(false, 0), read(false, 0)], vec![]);
        assert!(matches!(twice, Err(CallError::Slot { operation: 1, .. })));
    }

    #[test]
    fn checks_come_before_writes() {
        let late = Call::new(vec![add(Operand::Int(1)), read(true, 0)], vec![]);
        assert_eq!(late, Err(CallError::LateCheck { operation: 1 }));
        let early = Call::new(vec![read(true, 0), add(Operand::Int(1))], vec![]);
        assert_eq!(early.map(|call| call.checks().to_vec()), Ok(vec![0]));
    }

    #[test]
    fn keys_are_ordered_as_their_bytes() {
        let keys = [(1, 2, 3), (1, 2, 300), (1, 300, 0), (2, 0, 0)];
        let bytes: Vec<_> = keys
            .map(|(table, group, item)| Key { table, group, item }.encode())
            .into();
        assert!(bytes.is_sorted());
    }
}
