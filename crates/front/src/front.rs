//! The front end's state, and what becomes of an event.

use crate::config::FrontConfig;
use crate::event::{Effect, Event};

/// How often things happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Attempts that were run.
    pub attempts: u64,
    /// Attempts that lost a conflict in their server.
    pub conflicts: u64,
    /// Attempts that certification refused.
    pub refused: u64,
    /// Attempts that were run again because their replica was lost.
    pub rerun: u64,
    /// Calls that ran alone because they had lost too often.
    pub alone: u64,
    /// Attempts stopped because they were in the way of what was decided.
    pub killed: u64,
    /// Transactions that did not come through the front end.
    pub foreign: u64,
    /// Write sets that were decided.
    pub decided: u64,
}

/// A front end.
#[derive(Debug)]
pub struct Front {
    config: FrontConfig,
    counts: Counts,
}

impl Front {
    /// Not ready: it waits for its replicas.
    pub fn new(config: FrontConfig) -> Front {
        Front {
            config,
            counts: Counts::default(),
        }
    }

    /// Takes in what happened; what is to be done is appended to `effects`, in order.
    pub fn handle(&mut self, event: Event, effects: &mut Vec<Effect>) {
        let _ = (event, effects, &self.config);
    }

    /// How often things happened since the start.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}
