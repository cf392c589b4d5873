//! The scheduler: events in, effects out.
//!
//! Relies on: a driver that reports every end of a run once, and write sets in the order it was given them.
//! Promises: what the crate's header says.  Does not: hold on to a call whose effects are at every worker.
//!
//! States of a call, what is true in each, and which function makes each step. (Before these it is *held*, if
//! the order of places is not that of arrival.)
//!
//! ```text
//!                 place                go               executed           finish
//!   Homeless ───► Waiting ─────────► Running ─────────► Spreading ───────► gone
//!   no worker     something that it  its worker has     some workers
//!                 comes after is     been told          lack its effects
//!                 not there          ▲
//!                    └──► Ready ─────┘ fill
//!                         all slots are taken
//! ```
//!
//! A call that is cancelled before it runs keeps its place in the order as a *void* one: those behind it rely on
//! it to come after what is before it. It passes through the same states, is never run and leaves nothing.

use crate::call::{Access, CallId, Position, Submission, WorkerId};
use crate::calls::{Calls, NONE, Ref, State};
use crate::config::{Config, Order};
use crate::event::{Effect, Event};
use crate::held::Held;
use crate::index::Index;
use crate::workers::{Age, Workers};
use quintet_base::conflict::{ConflictKey, Modes};
use std::collections::{BTreeSet, VecDeque};

/// Orders calls, and says when and where each is run.
#[derive(Debug)]
pub struct Scheduler {
    pub(crate) config: Config,
    pub(crate) calls: Calls,
    pub(crate) index: Index,
    pub(crate) workers: Workers,
    pub(crate) held: Held,
    /// Calls without a worker, by their place in the order.
    pub(crate) homeless: BTreeSet<(u64, u32)>,
    /// Calls at whose worker nothing is missing any more; empty between events.
    pub(crate) due: VecDeque<u32>,
    /// The last place in the order that was given.
    pub(crate) sequence: u64,
    pub(crate) position: Position,
    /// Numbers searches.
    pub(crate) searches: u64,
    /// What a search found; empty between events.
    pub(crate) found: Vec<u32>,
}

impl Scheduler {
    /// Without calls and workers.
    pub fn new(config: Config) -> Scheduler {
        Scheduler {
            config,
            calls: Calls::default(),
            index: Index::new(),
            workers: Workers::default(),
            held: Held::default(),
            homeless: BTreeSet::new(),
            due: VecDeque::new(),
            sequence: 0,
            position: Position(0),
            searches: 0,
            found: Vec::new(),
        }
    }

    /// Takes in what happened; what is to be done is appended to `effects`, in order. What speaks of calls or
    /// workers that are not there changes nothing: they may have gone meanwhile.
    ///
    /// # Panics
    /// If a call or worker is announced that is there already.
    pub fn handle(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Submitted(submission) => self.submitted(submission, effects),
            Event::Executed { call, wrote } => self.executed(call, wrote, effects),
            Event::Applied { call, worker } => self.applied(call, worker, effects),
            Event::WorkerJoined {
                worker,
                slots,
                holds,
                freshness,
            } => {
                self.workers.add(worker, slots, holds, freshness);
                self.house(effects);
            }
            Event::CaughtUp { worker } => {
                if let Some(at) = self.workers.find(worker) {
                    self.workers.caught_up(at);
                    self.house(effects);
                }
            }
            Event::WorkerLost { worker } => self.lost(worker, effects),
            Event::Cancelled { call } => self.cancelled(call, effects),
            Event::Moved { call, pinned } => self.moved(call, pinned, effects),
        }
        self.settle(effects);
        while self.admit(effects) {
            self.settle(effects);
        }
    }

    /// From now on other modes conflict, as when a routine was added. False, and nothing has changed, while
    /// calls are known: what they may meet was entered by the old modes.
    #[must_use]
    pub fn set_modes(&mut self, modes: Modes) -> bool {
        let idle = self.calls.iter().next().is_none();
        if idle {
            self.config.modes = modes;
        }
        idle
    }

    /// Calls that are known: waiting, running, or with effects on their way.
    pub fn pending(&self) -> usize {
        self.calls.len()
    }

    /// True if there is a worker. Without one, calls are ordered and wait.
    pub fn has_workers(&self) -> bool {
        !self.workers.is_empty()
    }

    /// Where a call is queued.
    pub fn worker(&self, call: CallId) -> Option<WorkerId> {
        let at = self.calls[self.calls.find(call)?].worker;
        (at != NONE).then(|| self.workers[at].id)
    }

    /// The calls that a call comes directly after and whose effects are not at every worker yet, in their
    /// order. Empty if it comes after none, or is not pending.
    pub fn after(&self, call: CallId) -> Vec<CallId> {
        let mut after = Vec::new();
        let Some(slot) = self.calls.find(call) else {
            return after;
        };
        // Those that hold a place only stand for what they come after.
        let mut seen = BTreeSet::new();
        let mut looked_at: Vec<Ref> = self.calls[slot].before.clone();
        while let Some(before) = looked_at.pop() {
            match self.calls.get(before) {
                Some(call) if call.void => looked_at.extend(&call.before),
                Some(call) => {
                    seen.insert((call.sequence, call.id));
                }
                None => {}
            }
        }
        after.extend(seen.into_iter().map(|(_, id)| id));
        after
    }

    /// Of a call that waits, a key that meets one of those it comes directly after: what it waits for. None if it
    /// waits for none, or for what only holds a place.
    pub fn met(&self, call: CallId) -> Option<ConflictKey> {
        let call = &self.calls[self.calls.find(call)?];
        let mut before = call.before.iter().filter_map(|of| self.calls.get(*of));
        before.find_map(|before| {
            let meets = |key: &&ConflictKey| {
                let mut others = before.keys.iter();
                others.any(|other| key.meets(other, &self.config.modes))
            };
            call.keys.iter().find(meets).copied()
        })
    }

    /// The last place that was given to a write set.
    pub fn position(&self) -> Position {
        self.position
    }

    fn submitted(&mut self, submission: Submission, effects: &mut Vec<Effect>) {
        let call = submission.call;
        if self.calls.len() >= self.config.pending_max {
            let limit = self.config.pending_max;
            let reason = quintet_engine::Refusal::TooManyCalls { limit };
            effects.push(Effect::Refuse { call, reason });
            return;
        }
        assert_eq!(self.calls.find(call), None, "call {} is pending", call.0);
        let slot = self.calls.add(call);
        let entry = &mut self.calls[slot];
        entry.access = submission.access;
        entry.guarantee = submission.guarantee;
        entry.cost = submission.cost.max(1);
        entry.arrival = submission.arrival;
        entry.keys = submission.keys;
        entry.pinned = submission.pinned;
        let holds = self.config.order != Order::Arrival && submission.access == Access::Update;
        if holds {
            self.hold(slot, submission.after);
        } else {
            self.order(slot, &submission.after, effects);
        }
    }

    /// Runs what may be run, until nothing more follows from it.
    pub(crate) fn settle(&mut self, effects: &mut Vec<Effect>) {
        while let Some(slot) = self.due.pop_front() {
            self.go(slot, effects);
        }
        debug_assert!(self.found.is_empty());
    }

    /// Nothing is missing for the call at its worker.
    fn go(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        let call = &self.calls[slot];
        if call.void {
            self.ended(slot, crate::Wrote::Nothing, effects);
            return;
        }
        let (at, age) = (call.worker, self.age(slot));
        let started = self.workers.start_or_line_up(at, age, slot);
        if started {
            self.run(slot, effects);
        } else {
            self.calls[slot].state = State::Ready;
        }
    }

    /// Gives the slots of a worker to those that are ready.
    pub(crate) fn fill(&mut self, at: u32, effects: &mut Vec<Effect>) {
        while let Some(slot) = self.workers.start_next(at) {
            self.run(slot, effects);
        }
    }

    fn run(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        let call = &mut self.calls[slot];
        call.state = State::Running;
        effects.push(Effect::Run {
            call: call.id,
            worker: self.workers[call.worker].id,
        });
    }

    pub(crate) fn age(&self, slot: u32) -> Age {
        let call = &self.calls[slot];
        match self.config.order {
            Order::Arrival | Order::Soonest { .. } => (call.arrival, call.sequence),
            Order::ShortestMakespan { .. } => (call.sequence, 0),
        }
    }

    /// Compares what is kept with what it is kept for.
    ///
    /// # Panics
    /// If they differ.
    pub fn check(&self) {
        self.index.check(&self.calls);
        for (slot, call) in self.calls.iter() {
            let may_be_killed = matches!(call.state, State::Running | State::Spreading);
            assert!(may_be_killed || !call.killed, "{call:?}");
            let before = call.before.iter().filter_map(|of| self.calls.get(*of));
            match call.state {
                State::Waiting | State::Ready | State::Running => {
                    let missing = before.filter(|other| !self.is_at(other, call.worker));
                    assert_eq!(missing.count() as u32, call.waits, "{call:?}");
                    assert_eq!(call.waits > 0, call.state == State::Waiting, "{call:?}");
                }
                State::Homeless => {
                    assert!(self.homeless.contains(&(call.sequence, slot)), "{call:?}");
                }
                State::Held => assert!(self.held.contains(slot), "{call:?}"),
                State::Spreading => assert!(!call.missing.is_empty(), "{call:?}"),
                State::Free => unreachable!("not among the calls"),
            }
        }
    }
}
