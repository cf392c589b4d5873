//! Finds the pending calls that a new one meets, by comparing it with each.
//!
//! Relies on: nothing.  Promises: none is missed.  Does not: scale; an index takes its place.

use crate::call::Access;
use crate::calls::State;
use crate::scheduler::Scheduler;

impl Scheduler {
    pub(crate) fn search(&mut self, slot: u32) {
        let modes = &self.config.modes;
        let keys = &self.calls[slot].keys;
        for (other, call) in self.calls.iter() {
            let meets = call.access == Access::Update
                && call.state != State::Free
                && call.mark != self.searches
                && keys
                    .iter()
                    .any(|key| call.keys.iter().any(|of| key.meets(of, modes)));
            if meets {
                self.found.push(other);
            }
        }
    }

    pub(crate) fn forget(&mut self, _: u32) {}
}
