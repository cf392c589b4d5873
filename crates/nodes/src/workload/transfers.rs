//! Money between accounts of several nodes, each call leaving a mark at each of its nodes: what a crash test can check.
//!
//! Relies on: nothing.  Promises: no two calls have the same mark, as far as 64 random bits go; sums stay; a call whose first account
//! has too little is raised.  Does not: measure anything of interest.

use super::Workload;
use crate::call::{
    Action, Call, Change, Check, Field, How, Key, NodeId, Operand, Operation, Record,
};
use quintet_rt::Rand;

const ACCOUNTS: u8 = 1;
const MARKS: u8 = 2;

/// What an account has at first.
pub const BALANCE: i64 = 1_000;

/// See the header.
#[derive(Clone, Copy, Debug)]
pub struct Transfers {
    /// How many nodes.
    pub nodes: u16,
    /// Accounts of each.
    pub accounts: u64,
}

fn account(node: NodeId, number: u64) -> Key {
    Key {
        table: ACCOUNTS,
        group: u64::from(node.0) << 32 | number,
        item: 0,
    }
}

fn mark(node: NodeId, id: u64) -> Key {
    Key {
        table: MARKS,
        group: id,
        item: u64::from(node.0),
    }
}

impl Transfers {
    /// Where a call leaves marks.
    pub fn marks(call: &Call) -> Vec<(NodeId, Key)> {
        let operations = call.operations().iter();
        operations
            .filter(|(_, operation)| operation.key.table == MARKS)
            .map(|(node, operation)| (*node, operation.key))
            .collect()
    }

    /// Reads a call's marks: one answer for each.
    pub fn look(marks: &[(NodeId, Key)]) -> Call {
        let operations = marks.iter().enumerate();
        let operations = operations.map(|(slot, (node, key))| {
            let action = Action::Read {
                take: vec![(Field::Int(0), slot as u16)],
                check: None,
            };
            (*node, Operation { key: *key, action })
        });
        let answers = (0..marks.len() as u16).collect();
        Call::new(operations.collect(), answers).expect("reads")
    }

    /// Reads some accounts of a node.
    pub fn balances(node: NodeId, numbers: std::ops::Range<u64>) -> Call {
        let keys: Vec<(NodeId, Key)> = numbers
            .map(|number| (node, account(node, number)))
            .collect();
        Transfers::look(&keys)
    }
}

impl Workload for Transfers {
    fn load(&self, node: NodeId, see: &mut dyn FnMut(Key, Record)) {
        for number in 0..self.accounts {
            see(account(node, number), BALANCE.to_le_bytes().to_vec());
        }
    }

    fn next(&mut self, home: NodeId, rand: &mut Rand) -> Call {
        let other = NodeId(rand.below(self.nodes.into()) as u16);
        let from = (home, account(home, rand.below(self.accounts)));
        let to = loop {
            let to = account(other, rand.below(self.accounts));
            if to != from.1 {
                break (other, to);
            }
        };
        let amount = 1 + rand.below(300) as i64;
        let check = Action::Read {
            take: Vec::new(),
            check: Some(Check {
                verdict: 0,
                at_least: Some((0, Operand::Int(amount))),
            }),
        };
        let key = from.1;
        let mut operations = vec![(home, Operation { key, action: check })];
        let id = rand.next_u64();
        for ((node, key), by) in [(from, -amount), (to, amount)] {
            let change = Change {
                at: 0,
                how: How::Add,
                by: Operand::Int(by),
            };
            let action = Action::Update {
                take: Vec::new(),
                changes: vec![change],
            };
            operations.push((node, Operation { key, action }));
            let action = Action::Insert {
                item: None,
                record: vec![Operand::Int(amount)],
            };
            let key = mark(node, id);
            operations.push((node, Operation { key, action }));
        }
        Call::new(operations, Vec::new()).expect("one check, then writes")
    }
}
