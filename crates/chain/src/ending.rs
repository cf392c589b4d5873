//! What follows when a call has ended: its effects reach the workers, and those behind it go on.
//!
//! Relies on: workers that report write sets in the order they were given them.  Promises: a call behind
//! others goes on when the effects of all of them are at its worker, also of those that it does not come
//! *directly* after: they are applied earlier.  Does not: keep write sets; the driver has them.
//!
//! A call that left nothing has no write set to wait for, but those behind it rely on it to come after what
//! was before it, and some of that may be on its way. So it stands in the queue of each worker that lacks some of
//! that, behind what is there. Those behind it may so wait for a write set that they have nothing to do with; to
//! know better would take a count for each worker and call, for a case that is rare.

use crate::call::{CallId, Guarantee, Position, WorkerId};
use crate::calls::{Call, NONE, State};
use crate::config::Copies;
use crate::event::{Effect, Wrote};
use crate::scheduler::Scheduler;

impl Scheduler {
    pub(crate) fn executed(&mut self, call: CallId, wrote: Wrote, effects: &mut Vec<Effect>) {
        let Some(slot) = self.calls.find(call) else {
            return;
        };
        let (at, age) = (self.calls[slot].worker, self.age(slot));
        match self.calls[slot].state {
            State::Running => self.workers.free_slot(at),
            // The driver did not wait for our word.
            State::Ready => self.workers.leave_line(at, age, slot),
            State::Waiting => {}
            State::Held | State::Homeless | State::Spreading | State::Free => return,
        }
        self.workers.unload(at, self.calls[slot].cost);
        let Call { access, cost, .. } = self.calls[slot];
        self.held.ended(access, cost);
        self.ended(slot, wrote, effects);
        self.fill(at, effects);
    }

    /// A call is over where it was queued.
    pub(crate) fn ended(&mut self, slot: u32, wrote: Wrote, effects: &mut Vec<Effect>) {
        let Scheduler { calls, workers, .. } = self;
        let call = &mut calls[slot];
        call.state = State::Spreading;
        let answer = !call.void && (call.guarantee == Guarantee::Causal || wrote == Wrote::Nothing);
        if answer {
            effects.push(Effect::Answer { call: call.id });
        }
        match (self.config.copies, wrote) {
            (Copies::One, Wrote::Something) => self.position.0 += 1,
            (Copies::One, Wrote::Nothing) => {}
            (Copies::PerWorker, Wrote::Something) => {
                self.position.0 += 1;
                for at in workers.live() {
                    let own = at == call.worker && call.guarantee == Guarantee::Causal;
                    if own || !workers.is_told(at, &call.keys) {
                        continue;
                    }
                    call.missing.insert(at);
                    workers[at].applying.push_back(slot);
                    effects.push(Effect::Apply {
                        call: call.id,
                        worker: workers[at].id,
                        position: Position(self.position.0),
                    });
                }
            }
            (Copies::PerWorker, Wrote::Nothing) => {
                for at in workers.live() {
                    let before = calls[slot].before.iter().filter_map(|of| calls.get(*of));
                    let lacks = before.into_iter().any(|before| before.missing.contains(at));
                    if lacks {
                        calls[slot].missing.insert(at);
                        workers[at].applying.push_back(slot);
                    }
                }
            }
        }
        if wrote == Wrote::Nothing {
            self.calls[slot].void = true;
        }
        for i in 0..self.calls[slot].behind.len() {
            let behind = self.calls[slot].behind[i];
            let Some(other) = self.calls.get(behind) else {
                continue;
            };
            let there = !self.calls[slot].missing.contains(other.worker);
            if other.state == State::Waiting && there {
                self.release(behind.slot);
            }
        }
        self.finish_if_everywhere(slot, effects);
    }

    pub(crate) fn applied(&mut self, call: CallId, worker: WorkerId, effects: &mut Vec<Effect>) {
        let slot = self.calls.find(call);
        let (Some(slot), Some(at)) = (slot, self.workers.find(worker)) else {
            return;
        };
        let here = &self.calls[slot];
        if here.state != State::Spreading || !here.missing.contains(at) {
            return;
        }
        // What it ran itself it may commit out of turn: all that the call came after was there before it ran.
        let mut reached = here.worker == at && self.calls[slot].guarantee == Guarantee::Total;
        if reached {
            let queue = &mut self.workers[at].applying;
            if let Some(own) = queue.iter().position(|other| *other == slot) {
                queue.remove(own);
            }
            self.arrived(slot, at, effects);
        }
        // A worker that applies several at once may name the last.
        while let Some(first) = self.workers[at].applying.front().copied() {
            if reached && !self.calls[first].void {
                break;
            }
            self.workers[at].applying.pop_front();
            self.arrived(first, at, effects);
            reached |= first == slot;
        }
    }

    /// The effects of a call are at one more worker.
    fn arrived(&mut self, slot: u32, at: u32, effects: &mut Vec<Effect>) {
        self.calls[slot].missing.remove(at);
        for i in 0..self.calls[slot].behind.len() {
            let behind = self.calls[slot].behind[i];
            let waits = |other: &Call| other.state == State::Waiting && other.worker == at;
            if self.calls.get(behind).is_some_and(waits) {
                self.release(behind.slot);
            }
        }
        self.finish_if_everywhere(slot, effects);
    }

    /// One less is missing for it.
    fn release(&mut self, slot: u32) {
        let call = &mut self.calls[slot];
        call.waits -= 1;
        if call.waits == 0 {
            self.due.push_back(slot);
        }
    }

    /// Forgets a call once its effects are everywhere.
    pub(crate) fn finish_if_everywhere(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        let call = &self.calls[slot];
        if !call.missing.is_empty() {
            return;
        }
        if !call.void && call.guarantee == Guarantee::Total {
            effects.push(Effect::Answer { call: call.id });
        }
        self.index.forget(slot, &mut self.calls);
        self.calls.remove(slot);
    }

    pub(crate) fn cancelled(&mut self, call: CallId, effects: &mut Vec<Effect>) {
        let Some(slot) = self.calls.find(call) else {
            return;
        };
        let (at, age) = (self.calls[slot].worker, self.age(slot));
        match self.calls[slot].state {
            State::Running => {
                self.calls[slot].killed = true;
                let worker = self.workers[at].id;
                effects.push(Effect::Kill { call, worker });
                return;
            }
            State::Ready => {
                self.workers.leave_line(at, age, slot);
                self.calls[slot].state = State::Waiting;
                self.due.push_back(slot);
            }
            State::Held => {
                self.held.remove(slot);
                self.calls.make_void(slot);
                effects.push(Effect::Cancel { call });
                self.ended(slot, Wrote::Nothing, effects);
                return;
            }
            State::Waiting | State::Homeless => {}
            State::Spreading | State::Free => return,
        }
        if at != NONE {
            self.workers.unload(at, self.calls[slot].cost);
        }
        self.held.left(self.calls[slot].access);
        self.calls.make_void(slot);
        effects.push(Effect::Cancel { call });
    }

    pub(crate) fn lost(&mut self, worker: WorkerId, effects: &mut Vec<Effect>) {
        let Some(at) = self.workers.find(worker) else {
            return;
        };
        self.workers.lose(at);
        let mut all: Vec<(u64, u32)> = self
            .calls
            .iter()
            .map(|(slot, call)| (call.sequence, slot))
            .collect();
        all.sort_unstable();
        let mut moved = Vec::new();
        for (_, slot) in all {
            let call = &mut self.calls[slot];
            match call.state {
                State::Spreading => {
                    let was_missing = call.missing.remove(at);
                    if was_missing {
                        self.finish_if_everywhere(slot, effects);
                    }
                }
                State::Waiting | State::Ready | State::Running if call.worker == at => {
                    call.worker = NONE;
                    call.extended = false;
                    call.state = State::Homeless;
                    if call.killed {
                        effects.push(Effect::Cancel { call: call.id });
                        self.held.left(call.access);
                        self.calls.make_void(slot);
                    }
                    moved.push(slot);
                }
                _ => {}
            }
        }
        for slot in moved {
            self.place(slot, effects);
        }
    }
}
