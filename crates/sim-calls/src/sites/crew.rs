//! Workers of a site, and what waits for them.
//!
//! Relies on: nothing.  Promises: no call waits while a worker is free; those that wait are served in turn.
//! Does not: tell workers apart.

use super::{Happening, Step, World};
use quintet_chain::{CallId, PlaceId};
use std::collections::VecDeque;

/// What a worker has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Task {
    Place(CallId, PlaceId),
    /// A call that only reads.
    Read(CallId),
}

impl Task {
    pub(super) fn call(self) -> CallId {
        match self {
            Task::Place(call, _) | Task::Read(call) => call,
        }
    }
}

/// Workers of a site, all alike.
pub(super) struct Crew {
    free: u32,
    /// None: as many as are wanted.
    bound: Option<u32>,
    pub(super) waiting: VecDeque<Task>,
}

impl Crew {
    pub(super) fn new(bound: Option<u32>) -> Crew {
        Crew {
            free: bound.unwrap_or(0),
            bound,
            waiting: VecDeque::new(),
        }
    }
}

impl World<'_> {
    /// Gives workers to those that wait.
    pub(super) fn start(&mut self, site: u32) {
        let now = self.agenda.now();
        loop {
            let crew = &mut self.crews[site as usize];
            if crew.bound.is_some() && crew.free == 0 {
                return;
            }
            let Some(task) = crew.waiting.pop_front() else {
                return;
            };
            let Some(run) = self.runs.get_mut(&task) else {
                // It lost its place while it waited.
                continue;
            };
            run.step = Step::Running;
            run.began = now;
            let waited = now - run.ready;
            let crew = &mut self.crews[site as usize];
            crew.free = crew.free.saturating_sub(1);
            self.tally.for_worker.down(now);
            self.tally.got_worker(waited);
            self.tally.busy.up(now);
            let work = self.live[&task.call().0].work;
            let time = self.settings.delays.site_worker.draw(&mut self.messages) + work;
            self.agenda.after(time, Happening::End { site, task });
        }
    }

    /// A worker is free again.
    pub(super) fn free(&mut self, site: u32) {
        self.tally.busy.down(self.agenda.now());
        let crew = &mut self.crews[site as usize];
        crew.free += u32::from(crew.bound.is_some());
        self.start(site);
    }
}
