//! A store that fails now and then, and keeps in a crash more than it has to.
//!
//! Relies on: `dc`'s store in memory, which keeps in a crash as little as it may.  Promises: the
//! contract, at its limits: a merge that fails has done a part; a checkpoint that fails may have been
//! made; merges after the last checkpoint may survive, in part.  Does not: choose; the caller does.

use quintet_base::{Lsn, SpaceId};
use quintet_dc::{
    DataComponent, DcStats, Error, Generation, MemoryMedium, MemoryStore, MergeReport, Operation,
};
use quintet_rt::Rand;
use std::sync::{Arc, Mutex};

/// How the next operation fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// After so many operations of the run.
    Merge(u64),
    CheckpointBefore,
    CheckpointAfter,
}

#[derive(Default)]
struct State {
    /// Until then nothing fails.
    planned: Option<Fault>,
    /// Runs since the last checkpoint.
    since: Vec<(SpaceId, Vec<Operation<'static>>)>,
}

/// The store; see the file's header.
pub(crate) struct Rocky {
    store: MemoryStore,
    state: Mutex<State>,
}

fn full() -> Error {
    let source = Arc::new(std::io::ErrorKind::StorageFull.into());
    Error::DiskFull { source }
}

impl Rocky {
    /// The store as a crash has left it: what the medium holds, and some of the runs after that.
    pub fn open(medium: &MemoryMedium, survived: Vec<(SpaceId, Vec<Operation<'static>>)>) -> Rocky {
        let store = MemoryStore::open(medium);
        for (space, run) in survived {
            // The positions only rise, run by run, as they were merged before.
            let merged = store.merge(space, &mut run.into_iter());
            merged.expect("memory does not fail");
        }
        Rocky {
            store,
            state: Mutex::default(),
        }
    }

    pub fn plan(&self, fault: Fault) {
        self.state().planned = Some(fault);
    }

    pub fn forget_plan(&self) {
        self.state().planned = None;
    }

    /// What of the runs since the last checkpoint a crash leaves.
    pub fn survivors(&self, rand: &mut Rand) -> Vec<(SpaceId, Vec<Operation<'static>>)> {
        let mut runs = std::mem::take(&mut self.state().since);
        match rand.below(3) {
            0 => runs.clear(),
            1 => {}
            _ => {
                runs.truncate(rand.below(runs.len() as u64 + 1) as usize);
                if let Some((_, last)) = runs.last_mut() {
                    last.truncate(rand.below(last.len() as u64 + 1) as usize);
                }
            }
        }
        runs
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics inside")
    }

    fn fails(&self, which: impl FnOnce(Fault) -> bool) -> Option<Fault> {
        let mut state = self.state();
        let planned = state.planned.filter(|fault| which(*fault))?;
        state.planned = None;
        Some(planned)
    }
}

impl DataComponent for Rocky {
    fn generation(&self) -> Arc<dyn Generation> {
        self.store.generation()
    }

    fn merge(
        &self,
        space: SpaceId,
        run: &mut dyn Iterator<Item = Operation<'_>>,
    ) -> Result<MergeReport, Error> {
        let mut run: Vec<Operation<'static>> = run.map(Operation::into_owned).collect();
        let fault = self.fails(|fault| matches!(fault, Fault::Merge(_)));
        if let Some(Fault::Merge(part)) = fault {
            run.truncate(part as usize);
        }
        self.state().since.push((space, run.clone()));
        let report = self.store.merge(space, &mut run.into_iter())?;
        match fault {
            Some(_) => Err(full()),
            None => Ok(report),
        }
    }

    fn checkpoint(&self, redo_start: Lsn) -> Result<(), Error> {
        if self.fails(|f| f == Fault::CheckpointBefore).is_some() {
            return Err(full());
        }
        self.store.checkpoint(redo_start)?;
        self.state().since.clear();
        match self.fails(|fault| fault == Fault::CheckpointAfter) {
            Some(_) => Err(full()),
            None => Ok(()),
        }
    }

    fn redo_start(&self) -> Lsn {
        self.store.redo_start()
    }

    fn drop_space(&self, space: SpaceId) -> Result<(), Error> {
        self.store.drop_space(space)
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.store.spaces()
    }

    fn stats(&self) -> DcStats {
        self.store.stats()
    }
}
