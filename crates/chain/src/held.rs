//! Calls that have no place yet, and which of them gets one next.
//!
//! Relies on: costs that are about right.  Promises: without a clock or lots, the same choice for the same
//! events; the oldest is passed over no more often than calls are compared.  Does not: hold calls that only
//! read, or any at all in the order of arrival.
//!
//! **Soonest first** is in `soonest`. **Shortest makespan first.** For each candidate it is asked when it could begin: when all that it would come
//! after are done, by their costs. The one that makes the end of everything latest the least is taken. That is
//! greedy, and what is compared is a sample; the paper's finding is that this comes close to the best. Its
//! authors predict which keys are hot; here the keys are known.
//!
//! Time is counted in cost: what has ended, divided by the slots that there are.

use crate::call::{Access, CallId};
use crate::calls::{Ref, State};
use crate::config::Order;
use crate::event::Effect;
use crate::scheduler::Scheduler;
use std::collections::{BTreeSet, VecDeque};

/// Calls that have a place but have not ended, for each slot of the workers: one to run and one to be next.
const PLACED_PER_SLOT: u64 = 2;

/// A call without a place.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub slot: u32,
    /// Those that it comes after whatever its keys say.
    pub after: Vec<CallId>,
    /// What it was seen to wait for last, by `soonest`.
    pub blocker: Option<Ref>,
}

/// Calls without a place, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub waiting: VecDeque<Waiting>,
    /// Calls that may write, with a place, that have not ended.
    placed: u64,
    /// How often the oldest was passed over.
    pub passed_over: usize,
    /// The cost of all that have ended.
    spent: u64,
    /// When the last of those with a place will be done.
    makespan: u64,
}

impl Held {
    /// A call has got its place. One that only reads may come after calls that have none yet, so it must not
    /// be in the way of theirs: it does not count.
    pub fn placed(&mut self, access: Access) {
        self.placed += u64::from(access == Access::Update);
    }

    /// A call that had a place has ended.
    pub fn ended(&mut self, access: Access, cost: u32) {
        self.spent += u64::from(cost);
        self.left(access);
    }

    /// A call that had a place will not be run.
    pub fn left(&mut self, access: Access) {
        self.placed -= u64::from(access == Access::Update);
    }

    pub fn contains(&self, slot: u32) -> bool {
        self.waiting.iter().any(|held| held.slot == slot)
    }

    /// Forgets one.
    pub fn remove(&mut self, slot: u32) {
        if self
            .waiting
            .front()
            .is_some_and(|oldest| oldest.slot == slot)
        {
            self.passed_over = 0;
        }
        self.waiting.retain(|held| held.slot != slot);
    }

    /// Takes one out that gets its place.
    pub fn take(&mut self, at: usize) -> Waiting {
        self.passed_over = match at {
            0 => 0,
            _ => self.passed_over + 1,
        };
        self.waiting.remove(at).expect("it was looked at")
    }
}

impl Scheduler {
    /// Keeps a call until it is given a place.
    pub(crate) fn hold(&mut self, slot: u32, after: Vec<CallId>) {
        self.calls[slot].state = State::Held;
        self.held.waiting.push_back(Waiting {
            slot,
            after,
            blocker: None,
        });
    }

    /// Gives one call a place, if it is time.
    pub(crate) fn admit(&mut self, effects: &mut Vec<Effect>) -> bool {
        match self.config.order {
            Order::Arrival => false,
            Order::ShortestMakespan { sample } => self.admit_shortest(sample, effects),
            Order::Soonest {
                sample,
                passed_over_max,
            } => self.admit_soonest(sample, passed_over_max, effects),
        }
    }

    fn admit_shortest(&mut self, sample: usize, effects: &mut Vec<Effect>) -> bool {
        let slots = self.workers.slots();
        if self.held.waiting.is_empty() || self.held.placed >= slots * PLACED_PER_SLOT {
            return false;
        }
        let now = self.held.spent / slots;
        let (at, done_at) = match self.held.passed_over >= sample {
            true => (0, self.done_at(0, now)),
            false => self.best(sample, now),
        };
        self.held.makespan = self.held.makespan.max(done_at);
        let Waiting { slot, after, .. } = self.held.take(at);
        self.calls[slot].done_at = done_at;
        self.order(slot, &after, effects);
        true
    }

    /// The candidate that delays the end of everything least, and when it would be done.
    fn best(&self, sample: usize, now: u64) -> (usize, u64) {
        let candidates = 0..self.held.waiting.len().min(sample.max(1));
        // The oldest comes after nobody who came later, so it is free.
        let free =
            candidates.filter(|at| *at == 0 || !self.awaits_held(&self.held.waiting[*at].after));
        let done = free.map(|at| (at, self.done_at(at, now)));
        // Of those that delay nothing the oldest.
        done.min_by_key(|(at, done_at)| (done_at.saturating_sub(self.held.makespan), *at))
            .expect("the oldest is always a candidate")
    }

    /// True if one of these calls has no place, or waits for one that has none: whoever comes after them cannot get a
    /// place before that one does, or each would wait for the other if they meet. Only calls that read may
    /// have a place and wait for a call without one.
    fn awaits_held(&self, after: &[CallId]) -> bool {
        let named = after.iter().filter_map(|id| self.calls.find(*id));
        let mut looked_at: Vec<u32> = named.collect();
        let mut seen = BTreeSet::new();
        while let Some(slot) = looked_at.pop() {
            let call = &self.calls[slot];
            if call.state == State::Held {
                return true;
            }
            if call.access == Access::ReadOnly && seen.insert(slot) {
                let before = call.before.iter();
                looked_at.extend(
                    before
                        .filter(|of| self.calls.get(**of).is_some())
                        .map(|of| of.slot),
                );
            }
        }
        false
    }

    fn done_at(&self, at: usize, now: u64) -> u64 {
        let slot = self.held.waiting[at].slot;
        let mut begins = now;
        let keys = &self.calls[slot].keys;
        self.index.probe(keys, &self.config.modes, |before| {
            begins = begins.max(self.calls[before].done_at);
        });
        begins + u64::from(self.calls[slot].cost)
    }
}
