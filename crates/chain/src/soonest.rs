//! Soonest first: a call gets its place when it can begin, and the worker where it can.
//!
//! Relies on: `held` for the calls without a place, the index for what they would meet.  Promises: a call waits for what
//! runs, for effects on their way and for slots, and never for a call that waits for the same; whoever was passed
//! over often enough is waited for by all that meet it, so it begins.  Does not: look beyond the oldest so many.
//!
//! In the order of arrival a call stands behind all that came before it and that it meets. If one of these waits for a
//! crowded row, so does everybody behind it, though nothing is in their way but a place in a line; and the crowded row
//! stands idle while the next in its line waits for one of them. Here nobody has a place who does not run, and
//! the worker is chosen when it is known where all effects are and who has a slot.
//!
//! ```text
//!   held, oldest first     a call with a place that it meets    is it over?   a worker has its effects and a slot
//!        candidate  ─────►  none, or ───────────────────────►  yes  ──────►  yes: a place, at the least loaded
//!            ▲               each of them                       no            no
//!            └────────────────── the next candidate ◄───────────┴─────────────┘
//! ```
//!
//! What was in a candidate's way is remembered, so that looking again costs a comparison while it still is.

use crate::calls::{Call, Ref, State};
use crate::event::Effect;
use crate::held::Waiting;
use crate::scheduler::Scheduler;

impl Scheduler {
    /// Gives the oldest call a place that can begin at once.
    pub(crate) fn admit_soonest(
        &mut self,
        sample: usize,
        passed_over_max: usize,
        effects: &mut Vec<Effect>,
    ) -> bool {
        if self.held.waiting.is_empty() || !self.workers.have_slot() {
            return false;
        }
        let oldest_is_due = self.held.passed_over >= passed_over_max;
        for at in 0..self.held.waiting.len().min(sample.max(1)) {
            if oldest_is_due && at > 0 && self.would_delay_oldest(at) {
                continue;
            }
            match self.begins_at(at) {
                Ok(worker) => {
                    let Waiting { slot, after, .. } = self.held.take(at);
                    self.calls[slot].worker = worker;
                    self.order(slot, &after, effects);
                    return true;
                }
                Err(blocker) => self.held.waiting[at].blocker = blocker,
            }
        }
        false
    }

    fn would_delay_oldest(&self, at: usize) -> bool {
        let keys = |at: usize| &self.calls[self.held.waiting[at].slot].keys;
        let (oldest, other) = (keys(0), keys(at));
        let modes = &self.config.modes;
        let meets = |key| oldest.iter().any(|of| of.meets(key, modes));
        other.iter().any(meets)
    }

    /// The worker where a call without a place can begin; otherwise what is in its way, if that is a call.
    fn begins_at(&self, at: usize) -> Result<u32, Option<Ref>> {
        let Waiting {
            slot,
            after,
            blocker,
        } = &self.held.waiting[at];
        if let Some(blocker) = blocker
            && self
                .calls
                .get(*blocker)
                .is_some_and(|of| self.is_nowhere(of))
        {
            return Err(Some(*blocker));
        }
        let call = &self.calls[*slot];
        let mut before: Vec<u32> = after.iter().filter_map(|id| self.calls.find(*id)).collect();
        self.index
            .probe(&call.keys, &self.config.modes, |other| before.push(other));
        let in_the_way = before.iter().find(|of| self.is_nowhere(&self.calls[**of]));
        if let Some(blocker) = in_the_way {
            return Err(Some(self.calls.refer(*blocker)));
        }
        let all_there = |at: u32| before.iter().all(|of| self.is_at(&self.calls[*of], at));
        let fits = |at: u32| self.workers.has_slot(at) && all_there(at);
        let able = self.workers.by_load(&call.keys);
        let mut able = able.filter(|at| match call.pinned {
            Some(pinned) => self.workers[*at].id == pinned,
            None => true,
        });
        able.find(|at| fits(*at)).ok_or(None)
    }

    /// True if what a call leaves is at no worker yet.
    fn is_nowhere(&self, call: &Call) -> bool {
        call.state != State::Spreading || self.workers.live().all(|at| call.missing.contains(at))
    }
}
