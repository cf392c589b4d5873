//! Running: a call that may run gets a session and becomes an attempt.
//!
//! Relies on: the gate.  Promises: no more attempts at a replica than it has sessions; an attempt is known to the
//! certifier before it is run.  Does not: choose the replica (the scheduler does, for calls that write).

use crate::calls::{Attempt, Stage};
use crate::event::Effect;
use crate::front::Front;
use crate::ids::{AttemptId, Place};
use quintet_chain::{Access, CallId};

impl Front {
    pub(crate) fn enter_gate(&mut self, call: CallId, replica: usize) {
        let pending = self.calls.get_mut(call);
        pending.stage = Stage::Gated(replica);
        let arrival = pending.arrival;
        self.gate.waiting[replica].insert(arrival, call);
    }

    /// Gives the free sessions of a replica to calls that wait for one.
    pub(crate) fn start_next(&mut self, replica: usize, effects: &mut Vec<Effect>) {
        let waiting: Vec<CallId> = self.gate.waiting[replica].values().copied().collect();
        for call in waiting {
            let of = &self.replicas[replica];
            let (calls, own) = (&of.config.slots, &of.config.interactive_slots);
            if of.running >= *calls && of.interactive >= *own {
                return;
            }
            if self.may_start(call, replica) {
                self.start(call, replica, effects);
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
