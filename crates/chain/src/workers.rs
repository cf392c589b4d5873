//! The workers: what each has, how much waits for it, what it may run next.
//!
//! Relies on: nothing.  Promises: the least loaded worker is found in the logarithm of their number; a
//! worker runs no more calls than it has slots, oldest first.  Does not: know which calls depend on which.

use crate::call::WorkerId;
use crate::event::{Freshness, Holds};
use quintet_base::conflict::ConflictKey;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Who is run first: by arrival, then by place in the order.
pub(crate) type Age = (u64, u64);

/// A worker.
#[derive(Debug)]
pub(crate) struct Worker {
    pub id: WorkerId,
    pub live: bool,
    freshness: Freshness,
    slots: u32,
    running: u32,
    holds: Holds,
    /// The cost of what is queued here and has not ended.
    load: u64,
    /// Calls that may run, by age.
    ready: BTreeSet<(Age, u32)>,
    /// Calls whose effects are on their way here, in order.
    pub applying: VecDeque<u32>,
}

/// All of them. One that is gone keeps its number.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    workers: Vec<Worker>,
    by_id: BTreeMap<WorkerId, u32>,
    /// Those that may be given calls, by load.
    by_load: BTreeSet<(u64, u32)>,
}

impl Workers {
    /// Where a worker is, if it is there.
    pub fn find(&self, id: WorkerId) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// Takes one in.
    pub fn add(&mut self, id: WorkerId, slots: u32, holds: Holds, freshness: Freshness) -> u32 {
        assert!(slots > 0, "a worker without slots runs nothing");
        let worker = Worker {
            id,
            live: true,
            freshness,
            slots,
            running: 0,
            holds,
            load: 0,
            ready: BTreeSet::new(),
            applying: VecDeque::new(),
        };
        let gone = self.workers.iter().position(|worker| !worker.live);
        let at = match gone {
            Some(at) => {
                self.workers[at] = worker;
                at as u32
            }
            None => {
                self.workers.push(worker);
                (self.workers.len() - 1) as u32
            }
        };
        let before = self.by_id.insert(id, at);
        assert!(before.is_none(), "worker {} is there already", id.0);
        if freshness == Freshness::Current {
            self.by_load.insert((0, at));
        }
        at
    }

    /// From now on it may be given calls.
    pub fn caught_up(&mut self, at: u32) {
        self.workers[at as usize].freshness = Freshness::Current;
        self.by_load.insert((self.key(at), at));
    }

    /// Forgets one.
    pub fn lose(&mut self, at: u32) {
        self.by_load.remove(&(self.key(at), at));
        let worker = &mut self.workers[at as usize];
        worker.live = false;
        worker.ready.clear();
        worker.applying.clear();
        let id = worker.id;
        self.by_id.remove(&id);
    }

    /// True if none is there.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Every worker that is there.
    pub fn live(&self) -> impl Iterator<Item = u32> + use<> {
        let live: Vec<u32> = self.by_id.values().copied().collect();
        live.into_iter()
    }

    /// Calls that all who may be given some run side by side.
    pub fn slots(&self) -> u64 {
        let able = self.by_load.iter();
        able.map(|(_, at)| u64::from(self.workers[*at as usize].slots))
            .sum()
    }

    /// True if calls with these keys may be run there.
    pub fn may_run(&self, at: u32, keys: &[ConflictKey]) -> bool {
        let worker = &self.workers[at as usize];
        worker.live
            && worker.freshness == Freshness::Current
            && match &worker.holds {
                Holds::Everything => true,
                Holds::Spaces(spaces) => keys.iter().all(|key| spaces.contains(&key.space)),
            }
    }

    /// True if a write set of a call with these keys has a part for it.
    pub fn is_told(&self, at: u32, keys: &[ConflictKey]) -> bool {
        match &self.workers[at as usize].holds {
            Holds::Everything => true,
            Holds::Spaces(spaces) => keys.iter().any(|key| spaces.contains(&key.space)),
        }
    }

    /// The worker with the least to do that may run it.
    pub fn least_loaded(&self, keys: &[ConflictKey]) -> Option<u32> {
        self.by_load(keys).next()
    }

    /// All that may run it, the one with the least to do first.
    pub fn by_load(&self, keys: &[ConflictKey]) -> impl Iterator<Item = u32> {
        let by_load = self.by_load.iter().map(|(_, at)| *at);
        by_load.filter(|at| self.may_run(*at, keys))
    }

    /// True if some worker that may be given calls would run one at once.
    pub fn have_slot(&self) -> bool {
        self.by_load.iter().any(|(_, at)| self.has_slot(*at))
    }

    /// True if a call that comes now would be run at once.
    pub fn has_slot(&self, at: u32) -> bool {
        let worker = &self.workers[at as usize];
        worker.running < worker.slots && worker.ready.is_empty()
    }

    /// Compares workers by what they have to do.
    pub fn key(&self, at: u32) -> u64 {
        let worker = &self.workers[at as usize];
        // Fractions of a call per slot matter where workers have many.
        worker.load.saturating_mul(1024) / u64::from(worker.slots)
    }

    fn change_load(&mut self, at: u32, change: impl FnOnce(u64) -> u64) {
        let before = (self.key(at), at);
        let worker = &mut self.workers[at as usize];
        worker.load = change(worker.load);
        let after = (self.key(at), at);
        if before != after && self.by_load.remove(&before) {
            self.by_load.insert(after);
        }
    }

    /// More to do.
    pub fn load(&mut self, at: u32, cost: u32) {
        self.change_load(at, |load| load + u64::from(cost));
    }

    /// Less to do.
    pub fn unload(&mut self, at: u32, cost: u32) {
        self.change_load(at, |load| load - u64::from(cost));
    }

    /// Takes a slot, if one is free and nobody older waits for it; otherwise the call is ready.
    pub fn start_or_line_up(&mut self, at: u32, age: Age, slot: u32) -> bool {
        let worker = &mut self.workers[at as usize];
        if worker.running < worker.slots && worker.ready.is_empty() {
            worker.running += 1;
            return true;
        }
        worker.ready.insert((age, slot));
        false
    }

    /// Nobody waits for the call any more.
    pub fn leave_line(&mut self, at: u32, age: Age, slot: u32) {
        self.workers[at as usize].ready.remove(&(age, slot));
    }

    /// A call comes that runs already, whether or not a slot is free.
    pub fn take_slot(&mut self, at: u32) {
        self.workers[at as usize].running += 1;
    }

    /// A call has ended.
    pub fn free_slot(&mut self, at: u32) {
        self.workers[at as usize].running -= 1;
    }

    /// Takes a slot for the oldest call that is ready.
    pub fn start_next(&mut self, at: u32) -> Option<u32> {
        let worker = &mut self.workers[at as usize];
        if worker.running >= worker.slots {
            return None;
        }
        let (_, slot) = worker.ready.pop_first()?;
        worker.running += 1;
        Some(slot)
    }
}

impl std::ops::Index<u32> for Workers {
    type Output = Worker;

    fn index(&self, at: u32) -> &Worker {
        &self.workers[at as usize]
    }
}

impl std::ops::IndexMut<u32> for Workers {
    fn index_mut(&mut self, at: u32) -> &mut Worker {
        &mut self.workers[at as usize]
    }
}
