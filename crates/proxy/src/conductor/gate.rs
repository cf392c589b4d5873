//! What waits for what at a replica: write sets that share rows are applied one after another.
//!
//! Relies on: `front`, which names for each operation those before it.  Promises: an operation is let through when all
//! that it waits for and that were under way here have passed; each once.  Does not: order by itself.

use quintet_front::{AttemptId, WriteId};
use std::collections::{HashMap, HashSet};
use tokio::sync::oneshot;

/// Something to be done with a write set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// COMMIT PREPARED.
    Commit(AttemptId),
    /// Apply it.
    Apply {
        /// Which.
        write: WriteId,
        /// Synced.
        durable: bool,
        /// It commits after this one, if that is under way here.
        commit_after: Option<WriteId>,
    },
}

impl Operation {
    pub fn write(&self) -> WriteId {
        match self {
            Operation::Commit(attempt) => WriteId::Attempt(*attempt),
            Operation::Apply { write, .. } => *write,
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Asked for and not passed.
    under_way: HashSet<WriteId>,
    /// By what they wait for.
    behind: HashMap<WriteId, Vec<WriteId>>,
    /// By what is to commit before them: those that are at their end.
    turns: HashMap<WriteId, Vec<oneshot::Sender<()>>>,
    /// How much each still waits for.
    waiting: HashMap<WriteId, (usize, Operation)>,
}

impl Gate {
    /// The operation, if it may begin now.
    pub fn enter(&mut self, operation: Operation, after: &[WriteId]) -> Option<Operation> {
        let write = operation.write();
        let mut missing = 0;
        for before in after {
            if *before != write && self.under_way.contains(before) {
                self.behind.entry(*before).or_default().push(write);
                missing += 1;
            }
        }
        self.under_way.insert(write);
        if missing == 0 {
            return Some(operation);
        }
        self.waiting.insert(write, (missing, operation));
        None
    }

    /// Comes when one who commits after `before` may commit; none: at once.
    pub fn turn(&mut self, before: Option<WriteId>) -> Option<oneshot::Receiver<()>> {
        let before = before.filter(|before| self.under_way.contains(before))?;
        let (send, turn) = oneshot::channel();
        self.turns.entry(before).or_default().push(send);
        Some(turn)
    }

    /// This one is done: those that waited for nothing else may begin.
    pub fn pass(&mut self, write: WriteId) -> Vec<Operation> {
        self.under_way.remove(&write);
        for turn in self.turns.remove(&write).unwrap_or_default() {
            // Who has gone needs no turn.
            let _ = turn.send(());
        }
        let mut released = Vec::new();
        for behind in self.behind.remove(&write).unwrap_or_default() {
            if let Some((missing, operation)) = self.waiting.get_mut(&behind) {
                *missing -= 1;
                if *missing == 0 {
                    released.push(*operation);
                    self.waiting.remove(&behind);
                }
            }
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(number: u64) -> WriteId {
        WriteId::Attempt(AttemptId { epoch: 1, number })
    }

    fn apply(number: u64) -> Operation {
        Operation::Apply {
            write: write(number),
            durable: false,
            commit_after: None,
        }
    }

    #[test]
    fn a_turn_comes_when_the_one_before_is_done() {
        let mut gate = Gate::default();
        gate.enter(apply(1), &[]);
        gate.enter(apply(2), &[]);
        let mut turn = gate.turn(Some(write(1))).unwrap();
        assert!(turn.try_recv().is_err());
        gate.pass(write(1));
        assert!(turn.try_recv().is_ok());
    }

    #[test]
    fn an_operation_begins_when_all_before_it_have_passed() {
        let mut gate = Gate::default();
        assert_eq!(gate.enter(apply(1), &[]), Some(apply(1)));
        assert_eq!(
            gate.enter(apply(2), &[write(7)]),
            Some(apply(2)),
            "7 is there"
        );
        assert_eq!(gate.enter(apply(3), &[write(1), write(2)]), None);
        assert_eq!(gate.enter(apply(4), &[write(3)]), None);
        assert_eq!(gate.pass(write(2)), []);
        assert_eq!(gate.pass(write(1)), [apply(3)]);
        assert_eq!(gate.pass(write(1)), [], "once");
        assert_eq!(gate.pass(write(3)), [apply(4)]);
        assert_eq!(gate.pass(write(4)), []);
        assert!(gate.turn(Some(write(4))).is_none(), "it is done");
        assert!(gate.under_way.is_empty() && gate.waiting.is_empty() && gate.behind.is_empty());
    }
}
