//! Running: a call that may run gets a session and becomes an attempt.
//!
//! Relies on: the gate.  Promises: no more attempts at a replica than it has sessions; an attempt is known to the
//! certifier before it is run.  Does not: choose the replica (the scheduler does, for calls that write).

use crate::calls::{Attempt, Stage};
use crate::event::Effect;
use crate::front::Front;
use crate::ids::{AttemptId, Place};
use crate::replicas::State;
use quintet_chain::{Access, CallId};

/// Calls that wait at a replica and are looked at by another one that has nothing to do.
const FETCH_LOOKS: usize = 16;

impl Front {
    pub(crate) fn enter_gate(&mut self, call: CallId, replica: usize) {
        let pending = self.calls.get_mut(call);
        pending.stage = Stage::Gated(replica);
        let arrival = pending.arrival;
        self.gate.waiting[replica].insert(arrival, call);
    }

    /// Gives the free sessions of a replica to calls that wait for one.
    pub(crate) fn start_next(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        if !self.has_session(replica) {
            return;
        }
        let waiting: Vec<CallId> = self.gate.waiting[replica].values().copied().collect();
        for call in waiting {
            if !self.has_session(replica) {
                return;
            }
            if self.may_start(call, replica) {
                self.start(call, replica, effects);
            }
        }
    }

    fn has_session(&self, replica: usize) -> bool {
        let of = &self.replicas[replica];
        let (calls, own) = (of.config.slots, of.config.interactive_slots);
        of.running < calls || of.interactive < own
    }

    /// Takes calls that wait for sessions of other replicas to one that has free ones: where their chain was is not
    /// where they must run, once all that they come after is here.
    pub(crate) fn fetch(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        if !self.config.policy.uses_keys() {
            return;
        }
        for other in 0..self.replicas.len() {
            let is_free = |of: &crate::replicas::Replica| of.running < of.config.slots;
            if other == replica
                || !(self.replicas[replica].state == State::Live)
                || is_free(&self.replicas[other])
            {
                continue;
            }
            let waiting: Vec<(u64, CallId)> = (self.gate.waiting[other].iter().take(FETCH_LOOKS))
                .map(|(arrival, call)| (*arrival, *call))
                .collect();
            for (arrival, call) in waiting {
                if !is_free(&self.replicas[replica]) {
                    return;
                }
                let to = self.replicas[replica].worker();
                let interactive = self.calls.get(call).call.interactive;
                if interactive
                    || !self.may_start(call, replica)
                    || !self.scheduler.may_move(call, to)
                {
                    continue;
                }
                self.gate.waiting[other].remove(&arrival);
                self.enter_gate(call, replica);
                self.start(call, replica, effects);
                self.counts.moved += 1;
                self.moved(call, to, effects);
            }
        }
    }

    fn may_start(&self, call: CallId, replica: usize) -> bool {
        let pending = self.calls.get(call);
        let of = &self.replicas[replica];
        let free = match pending.call.interactive {
            true => of.interactive < of.config.interactive_slots,
            false => of.running < of.config.slots,
        };
        let blocked = pending
            .blocker
            .is_some_and(|position| !self.ledger.is_at(position, replica));
        let let_in = match self.gate.alone() {
            None => true,
            Some(alone) if alone == call => {
                let mut attempts = self.calls.attempts.values();
                let others = attempts.any(|attempt| !attempt.interactive && !attempt.reads);
                !others && of.is_idle()
            }
            Some(_) => false,
        };
        free && !blocked && let_in
    }

    /// Runs a call.
    pub(crate) fn start(&mut self, call: CallId, replica: usize, effects: &mut Vec<Effect>) {
        self.attempts += 1;
        self.counts.attempts += 1;
        let (epoch, number) = (self.config.epoch, self.attempts);
        let attempt = AttemptId { epoch, number };
        let pending = self.calls.get_mut(call);
        pending.stage = Stage::Running(attempt);
        pending.blocker = None;
        let (arrival, interactive) = (pending.arrival, pending.call.interactive);
        let reads = pending.call.access == Access::ReadOnly;
        self.gate.waiting[replica].remove(&arrival);
        let of = &mut self.replicas[replica];
        match (reads, interactive) {
            (true, _) => of.reading += 1,
            (false, true) => of.interactive += 1,
            (false, false) => of.running += 1,
        }
        if !reads {
            self.certifier.begin(attempt, replica);
        }
        let known = Attempt {
            call,
            replica,
            interactive,
            reads,
            prepared: false,
            wrote: None,
            killed: false,
        };
        self.calls.attempts.insert(attempt, known);
        effects.push(Effect::Run {
            call,
            attempt,
            replica: self.id(replica),
            place: Place::new(epoch, number),
        });
    }

    /// An attempt does not need its session any more.
    fn free_session(&mut self, attempt: &Attempt) {
        let of = &mut self.replicas[attempt.replica];
        match (attempt.reads, attempt.interactive, attempt.prepared) {
            (_, _, true) => {}
            (true, _, _) => of.reading -= 1,
            (false, true, _) => of.interactive -= 1,
            (false, false, _) => of.running -= 1,
        }
    }

    /// Takes an attempt out: it is decided, or over.
    pub(crate) fn take_attempt(&mut self, attempt: AttemptId) -> Option<Attempt> {
        let known = self.calls.attempts.remove(&attempt)?;
        self.free_session(&known);
        self.certifier.end(attempt);
        if let Some((at, _)) = &known.wrote {
            self.ledger.close(known.replica, *at);
        }
        Some(known)
    }
}
