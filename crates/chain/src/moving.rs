//! A call that may run is taken to another worker, which has nothing to do.
//!
//! Relies on: the driver, which knows that nothing of the call has begun.  Promises: a call is moved only to where
//! everything that it comes after is.  Does not: look for work; whoever has none asks.
//!
//! A call goes where its chain is, before anybody knows how long the line there will be when its turn comes. Moving it at
//! that moment costs nothing, since what it comes after has travelled meanwhile.

use crate::call::{CallId, WorkerId};
use crate::calls::State;
use crate::event::Effect;
use crate::scheduler::Scheduler;

impl Scheduler {
    /// True if a call for which there was [`Effect::Run`], and of which nothing has begun, may run at this worker.
    pub fn may_move(&self, call: CallId, to: WorkerId) -> bool {
        let (Some(slot), Some(to)) = (self.calls.find(call), self.workers.find(to)) else {
            return false;
        };
        let call = &self.calls[slot];
        let mut before = call.before.iter().filter_map(|of| self.calls.get(*of));
        call.state == State::Running
            && call.pinned.is_none()
            && !call.killed
            && call.worker != to
            && self.workers.may_run(to, &call.keys)
            && before.all(|before| self.is_at(before, to))
    }

    /// A call of which nothing has begun runs at this worker instead; [`Scheduler::may_move`] has said that it may.
    ///
    /// # Panics
    /// If it may not.
    pub fn move_to(&mut self, call: CallId, to: WorkerId, effects: &mut Vec<Effect>) {
        assert!(self.may_move(call, to), "call {} may not be moved", call.0);
        let (slot, to) = match (self.calls.find(call), self.workers.find(to)) {
            (Some(slot), Some(to)) => (slot, to),
            _ => unreachable!("both were just found"),
        };
        let (from, cost) = (self.calls[slot].worker, self.calls[slot].cost);
        self.workers.unload(from, cost);
        self.workers.free_slot(from);
        self.workers.load(to, cost);
        self.workers.take_slot(to);
        self.calls[slot].worker = to;
        self.fill(from, effects);
        self.settle(effects);
    }
}
