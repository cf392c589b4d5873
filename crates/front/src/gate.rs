//! The gate: calls that the scheduler lets run, until they get a session.
//!
//! Relies on: nothing.  Promises: oldest first at each replica; a call that has lost too often runs alone.
//! Does not: know slots; `running` asks.
//!
//! **Alone.** A call that goes on losing conflicts waits until the attempts of others are decided and have arrived, and
//! runs while nobody else begins. Transactions that clients drive may take as long as they like, so nobody waits for
//! those that have begun; and so that a call that waits for such a one stops nobody for ever, the others
//! are let in again after a while.

use quintet_chain::CallId;
use std::collections::{BTreeMap, BTreeSet};

/// Ticks that others wait for a call that runs alone.
const ALONE_TICKS: u32 = 5;

/// All that wait.
#[derive(Debug)]
pub(crate) struct Gate {
    /// By replica, by arrival.
    pub waiting: Vec<BTreeMap<u64, CallId>>,
    /// Calls that are to run alone, by arrival.
    alone: BTreeSet<(u64, CallId)>,
    ticks: u32,
}

impl Gate {
    pub fn new(replicas: usize) -> Gate {
        Gate {
            waiting: vec![BTreeMap::new(); replicas],
            alone: BTreeSet::new(),
            ticks: 0,
        }
    }

    /// The call that is alone, or next to be.
    pub fn alone(&self) -> Option<CallId> {
        self.alone.first().map(|(_, call)| *call)
    }

    /// From now on a call runs alone. False if it does already.
    pub fn set_alone(&mut self, arrival: u64, call: CallId) -> bool {
        self.alone.insert((arrival, call))
    }

    /// It is decided, or over.
    pub fn unset_alone(&mut self, arrival: u64, call: CallId) {
        if self.alone() == Some(call) {
            self.ticks = 0;
        }
        self.alone.remove(&(arrival, call));
    }

    /// Time passes.
    pub fn tick(&mut self) {
        if self.alone.is_empty() {
            return;
        }
        self.ticks += 1;
        if self.ticks > ALONE_TICKS {
            self.alone.pop_first();
            self.ticks = 0;
        }
    }
}
