//! The replicas: how far each is, what it has been given to commit and to apply.
//!
//! Relies on: nothing.  Promises: plain bookkeeping.  Does not: decide anything.
//!
//! States of a replica, and which function makes each step.
//!
//! ```text
//!            reported             caught up             (SNAPSHOT: has all that was answered)
//!   Lost ──────────────► Behind ────────────► Closing ──────────────────────────────────► Live
//!    ▲    it gets what   runs nothing         answers wait for it, too                     runs, reads
//!    └── lost ── from any of them;   expelled ──► Expelled: it was away for too long
//! ```

use crate::config::ReplicaConfig;
use crate::ids::AttemptId;
use quintet_chain::{CallId, WorkerId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How far a replica is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Lost,
    Behind,
    Closing,
    Live,
    Expelled,
}

/// Something to be committed at a replica.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub position: u64,
    /// The call that the scheduler waits for.
    pub call: Option<CallId>,
    /// The replica ran it itself and commits it without waiting for its turn.
    pub out_of_turn: bool,
    /// The driver was told.
    pub issued: bool,
    pub arrived: bool,
}

/// A replica.
#[derive(Debug)]
pub(crate) struct Replica {
    pub config: ReplicaConfig,
    pub state: State,
    /// What it lacks, or has out of turn, by position.
    pub queue: VecDeque<Item>,
    /// It has caught up when it has this position and all before.
    pub behind_until: u64,
    /// Applied there and not durable.
    pub soft: BTreeSet<u64>,
    /// A question whether these are durable.
    pub hardening: Option<(u64, Vec<u64>)>,
    /// Sessions that are in use.
    pub running: u32,
    pub interactive: u32,
    pub reading: u32,
    /// Attempts whose sessions broke, and the calls that wait until they are not there.
    pub unwinding: BTreeMap<AttemptId, CallId>,
}

impl Replica {
    pub fn new(config: ReplicaConfig) -> Replica {
        Replica {
            config,
            state: State::Lost,
            queue: VecDeque::new(),
            behind_until: 0,
            soft: BTreeSet::new(),
            hardening: None,
            running: 0,
            interactive: 0,
            reading: 0,
            unwinding: BTreeMap::new(),
        }
    }

    pub fn worker(&self) -> WorkerId {
        WorkerId(self.config.id.0)
    }

    /// True if it is connected.
    pub fn is_there(&self) -> bool {
        matches!(self.state, State::Behind | State::Closing | State::Live)
    }

    /// True if answers wait for it.
    pub fn counts(&self) -> bool {
        matches!(self.state, State::Closing | State::Live)
    }

    /// Its item at a position.
    pub fn item(&mut self, position: u64) -> Option<&mut Item> {
        let at = self
            .queue
            .binary_search_by_key(&position, |item| item.position);
        at.ok().map(|at| &mut self.queue[at])
    }

    /// True if nothing is to be committed there.
    pub fn is_idle(&self) -> bool {
        self.queue.iter().all(|item| item.arrived)
    }

    /// Forgets all that was under way.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.hardening = None;
        self.unwinding.clear();
        (self.running, self.interactive, self.reading) = (0, 0, 0);
    }

    /// Slots that the scheduler is told of. A call keeps its slot there until it is decided, its session only
    /// until it is prepared: with twice as many, sessions need not be idle.
    pub fn slots(&self) -> u32 {
        self.config.slots * 2 + self.config.interactive_slots
    }
}
