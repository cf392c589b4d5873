//! Workers of a site, and what waits for them.
//!
//! Relies on: nothing.  Promises: no call waits while a worker is free; those that wait are served in turn.
//! Does not: tell workers apart.

use super::graph::PlaceId;
use super::{Happening, Step, World};
use std::collections::VecDeque;

/// What a worker has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Run {
    Place(PlaceId),
    /// A call that only reads.
    Read(u64),
}

/// Workers of a site, all alike.
#[derive(Default)]
pub(super) struct Crew {
    pub(super) free: u32,
    /// None: as many as are wanted.
    pub(super) bound: Option<u32>,
    pub(super) waiting: VecDeque<Run>,
    /// Places that are to run here.
    pub(super) load: u32,
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
            let Some(run) = crew.waiting.pop_front() else {
                return;
            };
            let (waits_since, call) = match run {
                Run::Read(call) => (self.live[&call].came, call),
                Run::Place(place) => {
                    // It may have lost its place while it waited.
                    let Some(progress) = self.progress.get_mut(&place) else {
                        continue;
                    };
                    progress.step = Step::Running;
                    progress.began = now;
                    let call = self.graph.get(place).expect("it is there").call;
                    (progress.ready, call)
                }
            };
            let crew = &mut self.crews[site as usize];
            crew.free = crew.free.saturating_sub(1);
            self.tally.for_worker.down(now);
            self.tally.got_worker(now - waits_since);
            self.tally.busy.up(now);
            let time = self.way() + self.live[&call].work;
            self.agenda.after(time, Happening::End { run });
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
