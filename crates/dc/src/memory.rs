//! A store in memory: for tests, for databases without files, and as the reference of the contract.
//!
//! Relies on: `sorted`.  Promises: the contract, with a [`MemoryMedium`] in the place of a disk: it
//! holds what the last checkpoint saw, and what came after is lost when the store is opened anew,
//! which is the worst that the contract allows.  Does not: bound its memory.
//!
//! A merge is taken whole or not at all. Memory of a dropped space goes with the last generation.

use crate::contract::{
    DataComponent, DcStats, Direction, Generation, KeyRange, MergeReport, Operation, Record,
    RecordScan,
};
use crate::error::Error;
use crate::sorted::{Sorted, Walk};
use bytes::Bytes;
use parking_lot::Mutex;
use quintet_base::{Lsn, SpaceId};
use std::collections::BTreeMap;
use std::sync::Arc;

type Spaces = BTreeMap<SpaceId, Arc<Sorted>>;

/// Stands for the disk: what survives when the store over it goes. Clones are the same medium.
#[derive(Clone, Default)]
pub struct MemoryMedium {
    durable: Arc<Mutex<Durable>>,
}

#[derive(Clone, Default)]
struct Durable {
    spaces: Arc<Spaces>,
    redo_start: Lsn,
}

/// The store; see the file's header.
pub struct MemoryStore {
    medium: MemoryMedium,
    state: Mutex<State>,
}

/// Written by merges, checkpoints and drops, read by everybody, under the store's one lock.
struct State {
    spaces: Arc<Spaces>,
    redo_start: Lsn,
    stats: DcStats,
}

impl MemoryStore {
    /// A store on a medium of its own.
    pub fn new() -> MemoryStore {
        MemoryStore::open(&MemoryMedium::default())
    }

    /// The store that the medium holds, as the last checkpoint left it.
    pub fn open(medium: &MemoryMedium) -> MemoryStore {
        let durable = medium.durable.lock().clone();
        MemoryStore {
            medium: medium.clone(),
            state: Mutex::new(State {
                spaces: durable.spaces,
                redo_start: durable.redo_start,
                stats: DcStats::default(),
            }),
        }
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new()
    }
}

impl DataComponent for MemoryStore {
    fn generation(&self) -> Arc<dyn Generation> {
        Arc::new(MemoryGeneration {
            spaces: Arc::clone(&self.state.lock().spaces),
        })
    }

    fn merge(
        &self,
        space: SpaceId,
        run: &mut dyn Iterator<Item = Operation<'_>>,
    ) -> Result<MergeReport, Error> {
        // The run is the caller's code and may be slow, so it is read without the lock; nobody
        // else changes this space meanwhile (one merge per space at a time).
        let before = self
            .state
            .lock()
            .spaces
            .get(&space)
            .cloned()
            .unwrap_or_default();
        let (after, report) = before.merged(run)?;
        let mut state = self.state.lock();
        state.stats.merges += 1;
        state.stats.operations += report.applied;
        if report.applied + report.skipped > 0 {
            Arc::make_mut(&mut state.spaces).insert(space, Arc::new(after));
        }
        Ok(report)
    }

    fn checkpoint(&self, redo_start: Lsn) -> Result<(), Error> {
        let mut state = self.state.lock();
        assert!(
            redo_start >= state.redo_start,
            "redo start would go down from {} to {redo_start}",
            state.redo_start
        );
        state.redo_start = redo_start;
        state.stats.checkpoints += 1;
        *self.medium.durable.lock() = Durable {
            spaces: Arc::clone(&state.spaces),
            redo_start,
        };
        Ok(())
    }

    fn redo_start(&self) -> Lsn {
        self.state.lock().redo_start
    }

    fn drop_space(&self, space: SpaceId) -> Result<(), Error> {
        let mut state = self.state.lock();
        if state.spaces.contains_key(&space) {
            Arc::make_mut(&mut state.spaces).remove(&space);
        }
        Ok(())
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.state.lock().spaces.keys().copied().collect()
    }

    fn stats(&self) -> DcStats {
        let (spaces, mut stats) = {
            let state = self.state.lock();
            (Arc::clone(&state.spaces), state.stats)
        };
        stats.spaces = spaces.len() as u64;
        stats.tablets = spaces.values().map(|space| space.leaf_count() as u64).sum();
        stats.memory_bytes = spaces.values().map(|space| space.bytes()).sum();
        stats
    }
}

struct MemoryGeneration {
    spaces: Arc<Spaces>,
}

impl Generation for MemoryGeneration {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Record>, Error> {
        Ok(self
            .spaces
            .get(&space)
            .and_then(|records| records.get(key))
            .cloned())
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.spaces.keys().copied().collect()
    }

    fn scan(
        &self,
        space: SpaceId,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Box<dyn RecordScan>, Error> {
        let records = self.spaces.get(&space).cloned().unwrap_or_default();
        Ok(Box::new(MemoryScan {
            walk: Walk::new(records, range, direction),
        }))
    }
}

struct MemoryScan {
    walk: Walk,
}

impl RecordScan for MemoryScan {
    fn next(&mut self) -> Result<Option<(Bytes, Record)>, Error> {
        Ok(self.walk.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::conformance_suite!(|| {
        let medium = MemoryMedium::default();
        Box::new(move || Arc::new(MemoryStore::open(&medium)) as Arc<dyn DataComponent>)
    });
}
