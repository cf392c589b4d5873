//! Where a call goes: after which others, and to which worker.
//!
//! Relies on: `index`, `workers`.  Promises: a call that extends a chain goes where the chain is, so that what
//! it comes after is there as soon as it has run; of two that split a chain one stays and one goes to the
//! least loaded worker; where chains merge, the least loaded of theirs is taken (Gargamel, Algorithm 1,
//! *getExecutingWorker*).  Does not: weigh a long queue there against effects on their way elsewhere.

use crate::call::{Access, CallId, WorkerId};
use crate::calls::{Call, NONE, State};
use crate::event::Effect;
use crate::index::Search;
use crate::scheduler::Scheduler;

impl Scheduler {
    /// Gives a call the next place in the order, and a worker.
    pub(crate) fn order(&mut self, slot: u32, after: &[CallId], effects: &mut Vec<Effect>) {
        self.searches += 1;
        // Found from the start, so that it is not found.
        self.calls.mark(slot, self.searches);
        for id in after {
            let Some(before) = self.calls.find(*id) else {
                continue;
            };
            if self.calls.mark(before, self.searches) {
                self.found.push(before);
            }
        }
        if self.calls[slot].access == Access::Update {
            let mut joints = Vec::new();
            let mut search = Search {
                calls: &mut self.calls,
                modes: &self.config.modes,
                number: self.searches,
                found: &mut self.found,
                joints: &mut joints,
            };
            self.index.enter(slot, &mut search);
            for joint in joints {
                self.sequence += 1;
                self.calls[joint].sequence = self.sequence;
                self.place(joint, effects);
            }
        }
        self.sequence += 1;
        self.calls[slot].sequence = self.sequence;
        let found = std::mem::take(&mut self.found);
        for before in &found {
            self.calls.link(*before, slot);
        }
        self.found = found;
        self.found.clear();
        self.held.placed(self.calls[slot].access);
        self.place(slot, effects);
    }

    /// Gives a call a worker, if there is one for it.
    pub(crate) fn place(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        let Some(at) = self.choose(slot) else {
            let sequence = self.calls[slot].sequence;
            self.calls[slot].state = State::Homeless;
            self.homeless.insert((sequence, slot));
            return;
        };
        let call = &self.calls[slot];
        let before = call.before.iter().filter_map(|of| self.calls.get(*of));
        let waits = before.filter(|other| !self.is_at(other, at)).count() as u32;
        let call = &mut self.calls[slot];
        call.worker = at;
        call.waits = waits;
        call.state = State::Waiting;
        if !call.void {
            effects.push(Effect::Queue {
                call: call.id,
                worker: self.workers[at].id,
            });
            self.workers.load(at, call.cost);
        }
        if waits == 0 {
            self.due.push_back(slot);
        }
    }

    /// Places those that no worker was there for.
    pub(crate) fn house(&mut self, effects: &mut Vec<Effect>) {
        for (_, slot) in std::mem::take(&mut self.homeless) {
            self.place(slot, effects);
        }
    }

    /// True if what a call left is in the worker's copy.
    pub(crate) fn is_at(&self, call: &Call, at: u32) -> bool {
        call.state == State::Spreading && !call.missing.contains(at)
    }

    fn choose(&mut self, slot: u32) -> Option<u32> {
        let call = &self.calls[slot];
        if call.void {
            return match call.worker {
                NONE => self.workers.least_loaded(&[]),
                at => Some(at),
            };
        }
        // It was seen that it can begin there.
        if call.worker != NONE {
            return Some(self.extend(slot, call.worker));
        }
        if let Some(pinned) = call.pinned {
            let at = self.workers.find(pinned)?;
            let able = self.workers.may_run(at, &call.keys);
            return able.then(|| self.extend(slot, at));
        }
        let ends_of_chains = call.before.iter().filter_map(|of| {
            let before = self.calls.get(*of)?;
            let open = !before.extended && before.worker != NONE;
            (open && self.workers.may_run(before.worker, &call.keys)).then_some(before.worker)
        });
        let chosen = ends_of_chains
            .min_by_key(|at| (self.workers.key(*at), *at))
            .or_else(|| self.workers.least_loaded(&call.keys))?;
        Some(self.extend(slot, chosen))
    }

    /// The call goes to this worker, and with it every chain that ends there.
    fn extend(&mut self, slot: u32, chosen: u32) -> u32 {
        for i in 0..self.calls[slot].before.len() {
            let before = self.calls[slot].before[i];
            if self
                .calls
                .get(before)
                .is_some_and(|call| call.worker == chosen)
            {
                self.calls[before.slot].extended = true;
            }
        }
        chosen
    }

    /// A call without a worker may run elsewhere from now on.
    pub(crate) fn moved(
        &mut self,
        call: CallId,
        pinned: Option<WorkerId>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(slot) = self.calls.find(call) else {
            return;
        };
        match self.calls[slot].state {
            State::Held => self.calls[slot].pinned = pinned,
            State::Homeless => {
                self.calls[slot].pinned = pinned;
                let sequence = self.calls[slot].sequence;
                self.homeless.remove(&(sequence, slot));
                self.place(slot, effects);
            }
            _ => {}
        }
    }
}
