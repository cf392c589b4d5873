//! Pending calls, and the lanes that run some of them.
//!
//! Relies on: `board`.  Promises: see the crate; a pending call is compared with running lanes once, and again
//! only when a lane has ended; taking a lane while none runs compares nothing, and asks no call for its keys.
//! Where hardly anything ever runs beside a lane, looking for it becomes rare ([`Patience`]).
//! Does not: choose who takes a lane, or bound how many calls are pending: whoever submits does.
//!
//! ```text
//!   pending   3   5   6 │ 7   8          running   lane 1: calls 1, 2     lane 2: call 4
//!             └───┬───┘ └ not looked at
//!        held: meets a lane, or one of those before it that is held
//!
//!   take:   looks at 7, 8: free ones go into the new lane, others are held
//!   end:    nothing is held any more; the next take looks at all of them again
//!   detach: of a lane's calls one is still under way, by itself, and holds those that meet it; the others
//!           are pending again, where they were
//!   rejoin: that one may be run now, and takes a lane for it and for those that it held
//! ```

use crate::board::Board;
use quintet_base::Patience;
use quintet_base::conflict::{ConflictKey, Modes};
use std::collections::VecDeque;

/// A call's place in the serial order: of two calls, the one that came first has the lesser.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Priority(pub u64);

/// A lane while it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneId(u64);

/// A call, as far as it matters here.
pub trait Keyed: Clone {
    /// What it may touch. The same each time; asked for only if something else runs at the same time.
    fn keys(&self) -> &[ConflictKey];
}

/// Calls to be run one after the other, in this order.
#[derive(Debug)]
pub struct Lane<T> {
    /// To say that it has ended.
    pub id: LaneId,
    /// At least one, each with its place.
    pub calls: Vec<(Priority, T)>,
}

/// See the module. `T` stands for a call.
pub struct Intake<T> {
    modes: Modes,
    pending: VecDeque<Pending<T>>,
    /// How many of them, from the first on, are known to be held.
    looked_at: usize,
    /// Keys of those.
    held: Board,
    running: Vec<Running<T>>,
    /// Numbers calls.
    last_call: u64,
    /// Numbers lanes.
    last_lane: u64,
    /// Whether to look beside running lanes.
    looks: Patience,
}

struct Pending<T> {
    priority: Priority,
    call: T,
}

struct Running<T> {
    id: LaneId,
    /// Those whose keys are not on the board yet; none once somebody has compared with them.
    calls: Vec<T>,
    board: Board,
    /// Somebody runs it; else one call of it is under way by itself.
    led: bool,
}

impl<T: Keyed> Intake<T> {
    /// Nothing is pending. `modes`: which modes of the keys to come conflict.
    pub fn new(modes: Modes) -> Intake<T> {
        Intake {
            modes,
            pending: VecDeque::new(),
            looked_at: 0,
            held: Board::default(),
            running: Vec::new(),
            last_call: 0,
            last_lane: 0,
            looks: Patience::default(),
        }
    }

    /// A call has come: it goes behind all others.
    pub fn submit(&mut self, call: T) -> Priority {
        self.last_call += 1;
        let priority = Priority(self.last_call);
        self.pending.push_back(Pending { priority, call });
        priority
    }

    /// Whether the next call to come may soon be asked for its keys.
    pub fn wants_keys(&self) -> bool {
        self.looks.will_have()
    }

    /// Somebody has time for at most so many calls. `None`: there is nothing for him.
    pub fn take(&mut self, calls_max: usize) -> Option<Lane<T>> {
        let calls: Vec<(Priority, T)> = if self.running.is_empty() {
            debug_assert!(self.looked_at == 0, "nothing holds a call");
            let count = self.pending.len().min(calls_max);
            let taken = self.pending.drain(..count);
            taken
                .map(|pending| (pending.priority, pending.call))
                .collect()
        } else {
            self.take_beside(calls_max)
        };
        if calls.is_empty() {
            return None;
        }
        self.last_lane += 1;
        let id = LaneId(self.last_lane);
        self.running.push(Running {
            id,
            calls: calls.iter().map(|(_, call)| call.clone()).collect(),
            board: Board::default(),
            led: true,
        });
        Some(Lane { id, calls })
    }

    /// Takes what meets no running lane and nobody that is held.
    fn take_beside(&mut self, calls_max: usize) -> Vec<(Priority, T)> {
        let mut calls = Vec::new();
        if self.looked_at >= self.pending.len() {
            return calls;
        }
        // A lane that is led ends soon, and then somebody looks; a lone call may wait for long.
        if self.running() > 0 && !self.looks.has() {
            return calls;
        }
        for lane in &mut self.running {
            for call in lane.calls.drain(..) {
                call.keys().iter().for_each(|key| lane.board.add(key));
            }
        }
        while self.looked_at < self.pending.len() && calls.len() < calls_max {
            let (modes, held) = (&self.modes, &self.held);
            let keys = self.pending[self.looked_at].call.keys();
            let meets = |key: &ConflictKey| {
                held.meets(key, modes)
                    || self.running.iter().any(|lane| lane.board.meets(key, modes))
            };
            if keys.iter().any(meets) {
                keys.iter().for_each(|key| self.held.add(key));
                self.looked_at += 1;
            } else if let Some(taken) = self.pending.remove(self.looked_at) {
                calls.push((taken.priority, taken.call));
            }
        }
        self.looks.learn(!calls.is_empty());
        calls
    }

    /// A lane has ended: what its calls did is there for those that come, or nothing of it is.
    ///
    /// # Panics
    /// If no such lane runs.
    pub fn end(&mut self, lane: LaneId) {
        let running = &mut self.running;
        let place = running.iter().position(|running| running.id == lane);
        running.swap_remove(place.expect("a lane ends once"));
        self.looked_at = 0;
        self.held.clear();
    }

    /// Of a lane's calls, `lone` goes on by itself until the lane is said to have ended, and those of `again` are
    /// pending as if they had never been taken; the others are done.
    ///
    /// # Panics
    /// If no such lane runs.
    pub fn detach(&mut self, lane: LaneId, lone: &T, again: Vec<(Priority, T)>) {
        let mut running = self.running.iter_mut();
        let running = running.find(|running| running.id == lane);
        let running = running.expect("a lane that has not ended");
        running.calls.clear();
        running.board.clear();
        lone.keys().iter().for_each(|key| running.board.add(key));
        running.led = false;
        for (priority, call) in again {
            self.put_back(priority, call);
        }
        self.looked_at = 0;
        self.held.clear();
    }

    /// The call that was detached with a lane is pending again, and whoever has it has time for at most so many.
    ///
    /// # Panics
    /// If no such lane runs.
    pub fn rejoin(
        &mut self,
        lane: LaneId,
        (priority, lone): (Priority, T),
        calls_max: usize,
    ) -> Option<Lane<T>> {
        self.end(lane);
        self.put_back(priority, lone);
        // It has waited for something, and looks whatever came of the looks before.
        self.looks.learn(true);
        self.take(calls_max)
    }

    /// Among the pending calls, where it was.
    fn put_back(&mut self, priority: Priority, call: T) {
        let before = |pending: &Pending<T>| pending.priority < priority;
        let place = self.pending.partition_point(before);
        self.pending.insert(place, Pending { priority, call });
    }

    /// A pending call is not wanted any more. `None`: it is not pending.
    pub fn withdraw(&mut self, call: Priority) -> Option<T> {
        let place = self
            .pending
            .binary_search_by_key(&call, |pending| pending.priority)
            .ok()?;
        // Its keys may stay among those that are held: that costs parallelism until a lane ends.
        if place < self.looked_at {
            self.looked_at -= 1;
        }
        self.pending.remove(place).map(|pending| pending.call)
    }

    /// The first pending call.
    pub fn first(&self) -> Option<&T> {
        self.pending.front().map(|pending| &pending.call)
    }

    /// The first pending call that may be free to run.
    pub fn first_unlooked(&self) -> Option<&T> {
        self.pending
            .get(self.looked_at)
            .map(|pending| &pending.call)
    }

    /// How many calls are pending.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// How many lanes are led.
    pub fn running(&self) -> usize {
        self.running.iter().filter(|running| running.led).count()
    }

    /// True if neither a call is pending nor a lane runs.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.running.is_empty()
    }
}

#[cfg(test)]
mod tests;
