//! What all handles of a component share.
//!
//! Relies on: nothing of its own.  Promises: whoever asks for a fence that is being raised waits until
//! it is known.  Does not: work; `commit`, `compact` and the others do, on what is kept here.

use crate::compactor::Turns;
use crate::config::TcConfig;
use crate::dirty::Spare;
use crate::generations::Generations;
use crate::locks::LockTable;
use crate::read::ReadsOfStore;
use crate::removals::Removals;
use crate::seats::{Gate, Readers, Seats};
use crate::table::Table;
use crate::warm::Warming;
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use quintet_base::{Bytes, SpaceId, Timestamp, TxnId};
use quintet_dc::DataComponent;
use quintet_wal::Wal;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

#[derive(Default)]
pub(crate) struct Counters {
    pub fills: AtomicU64,
    pub compactions: AtomicU64,
    pub posts: AtomicU64,
    pub compacting: AtomicBool,
    pub stalls: AtomicU64,
    pub held_back: AtomicU64,
    pub past_memory: AtomicU64,
}

/// What all handles share.
pub(crate) struct Shared {
    pub config: TcConfig,
    pub log: Arc<Wal>,
    pub store: Arc<dyn DataComponent>,
    pub table: Table,
    pub seats: Seats,
    pub generations: Generations,
    /// Where redo would start; at or below the newest generation. Only the compactor writes it.
    pub checkpointed: AtomicU64,
    /// The last freeze, or greater than every position while one is under way. Changes over versions at or below are marked in the log
    /// (`compact::freeze`).
    pub frozen: AtomicU64,
    pub locks: LockTable,
    /// Through which every commit goes; schema changes alone.
    pub gate: Gate,
    /// Spaces dropped by commits that STORE has not forgotten yet, with the commit.
    pub dropped: Mutex<Vec<(SpaceId, Timestamp)>>,
    /// Spaces that STORE has forgotten and old snapshots may still find in memory.
    pub leaving: Mutex<Vec<(SpaceId, Timestamp)>>,
    /// Spaces with rows that were committed ahead of a transaction that did not commit.
    pub abandoned: Mutex<Vec<SpaceId>>,
    /// Records that recovery has brought back and STORE does not have: they are in no buffer.
    pub carried: Mutex<Vec<(SpaceId, Bytes)>>,
    /// Memory of the last pass.
    pub spare: Mutex<Spare>,
    pub stats: Counters,
    pub fences: RwLock<HashMap<SpaceId, Fence>>,
    /// Spaces closed by a schema change, and by whom. Written while its owner is alone.
    closed: Mutex<HashMap<SpaceId, TxnId>>,
    /// How many are closed, so that commits need not take the lock to know.
    closed_count: AtomicUsize,
    /// The newest fence, or `PENDING`. Release pairs with Acquire in `fence_above`.
    pub last_fence: AtomicU64,
    pub turns: Turns,
    pub warming: Warming,
    pub reads_of_store: ReadsOfStore,
    /// Removed records that have not left memory.
    pub removals: Removals,
}

/// A way to [`Shared`] with its own count of references. Aligned, since two in one line were one word to two threads that count: each
/// transaction of one had the other look for the line again when it next went this way.
#[repr(align(128))]
pub(crate) struct Handle(Arc<Shared>);

impl Handle {
    pub fn new(shared: Arc<Shared>) -> Handle {
        Handle(shared)
    }
}

impl Deref for Handle {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// From here on, whoever goes by an older schema may not use a space.
#[derive(Clone, Copy)]
pub(crate) struct Fence {
    at: Timestamp,
    /// What was in it is nowhere since.
    is_gone: bool,
}

/// Fences about to be raised. Dropped, what was settled holds again.
pub(crate) struct PendingFences<'a> {
    shared: &'a Shared,
    /// What `last_fence` will say.
    settled: u64,
    fences: RwLockWriteGuard<'a, HashMap<SpaceId, Fence>>,
}

impl Drop for PendingFences<'_> {
    fn drop(&mut self) {
        self.shared
            .last_fence
            .store(self.settled, Ordering::Release);
    }
}

/// A schema change is taking its timestamp: who asks for fences waits until it is known.
pub(crate) const PENDING: u64 = u64::MAX;

impl Shared {
    /// Puts a component together around what is in memory already.
    pub fn new(
        log: Arc<Wal>,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
        table: Table,
    ) -> Shared {
        let redo_start = store.redo_start();
        Shared {
            config,
            table,
            seats: Seats::new(),
            generations: Generations::new(Timestamp(redo_start.0), store.generation()),
            checkpointed: AtomicU64::new(redo_start.0),
            frozen: AtomicU64::new(log.end().0),
            locks: LockTable::new(),
            gate: Gate::default(),
            dropped: Mutex::new(Vec::new()),
            leaving: Mutex::new(Vec::new()),
            abandoned: Mutex::new(Vec::new()),
            carried: Mutex::new(Vec::new()),
            spare: Mutex::new(Spare::default()),
            stats: Counters::default(),
            fences: RwLock::new(HashMap::new()),
            closed: Mutex::new(HashMap::new()),
            closed_count: AtomicUsize::new(0),
            last_fence: AtomicU64::new(0),
            turns: Turns::default(),
            warming: Warming::default(),
            reads_of_store: ReadsOfStore::default(),
            removals: Removals::default(),
            log,
            store,
        }
    }

    /// End of the log: what a snapshot taken now reads at.
    pub fn end(&self) -> Timestamp {
        Timestamp(self.log.end().0)
    }

    /// What records in memory may take now: their own share, and what STORE does not use of its.
    pub fn records_bytes_max(&self) -> usize {
        let config = &self.config;
        let used = usize::try_from(self.store.cached_bytes()).unwrap_or(usize::MAX);
        config.cache_bytes_max + config.lent_bytes_max.saturating_sub(used)
    }

    /// Who may read what is replaced now, a little behind the truth.
    pub fn readers_counted(&self) -> arc_swap::Guard<Arc<Readers>> {
        self.seats.counted(|| self.end())
    }

    /// The fence on a space, if it is newer than `timestamp`.
    pub fn fence_above(&self, space: SpaceId, timestamp: Timestamp) -> Option<Timestamp> {
        // Greater than everything while one is pending.
        if self.last_fence.load(Ordering::Acquire) <= timestamp.0 {
            return None;
        }
        let fence = self.fences.read().get(&space).map(|fence| fence.at);
        fence.filter(|fence| *fence > timestamp)
    }

    /// The commit that has dropped the space, if that was after `timestamp`. `mine`: the fences that who asks is about to
    /// raise, who would wait for himself otherwise.
    pub fn gone_since(
        &self,
        space: SpaceId,
        timestamp: Timestamp,
        mine: Option<&PendingFences<'_>>,
    ) -> Option<Timestamp> {
        let fence = match mine {
            Some(pending) => pending.fences.get(&space).copied(),
            None if self.last_fence.load(Ordering::Acquire) <= timestamp.0 => return None,
            None => self.fences.read().get(&space).copied(),
        };
        let gone = fence.filter(|fence| fence.is_gone && fence.at > timestamp);
        gone.map(|fence| fence.at)
    }

    /// Lets everybody who asks for fences wait until [`Shared::raise_fences`], or until the answer
    /// is dropped, which takes it back. To be called before the timestamp of the fence is taken.
    pub fn prepare_fences(&self) -> PendingFences<'_> {
        let fences = self.fences.write();
        let before = self.last_fence.swap(PENDING, Ordering::AcqRel);
        PendingFences {
            shared: self,
            settled: before,
            fences,
        }
    }

    pub fn raise_fences(
        &self,
        mut pending: PendingFences<'_>,
        (spaces, dropped): (&[SpaceId], &[SpaceId]),
        timestamp: Timestamp,
    ) {
        for space in spaces {
            let fence = Fence {
                at: timestamp,
                is_gone: dropped.contains(space),
            };
            pending.fences.insert(*space, fence);
        }
        if !spaces.is_empty() {
            pending.settled = timestamp.0;
        }
    }

    pub fn note_dropped(&self, spaces: &[SpaceId], timestamp: Timestamp) {
        let dropped = spaces.iter().map(|space| (*space, timestamp));
        self.dropped.lock().extend(dropped);
    }

    /// Nobody will ever name these spaces.
    pub fn abandon(&self, spaces: impl ExactSizeIterator<Item = (SpaceId, Timestamp)>) {
        if spaces.len() > 0 {
            self.abandoned.lock().extend(spaces.map(|(space, _)| space));
        }
    }

    /// Lets nobody but `owner` commit to the space; commits under way are over when this returns.
    pub fn close_space(&self, space: SpaceId, owner: TxnId) {
        let _alone = self.gate.close(&self.seats);
        let mut closed = self.closed.lock();
        closed.insert(space, owner);
        self.closed_count.store(closed.len(), Ordering::Release);
    }

    pub fn open_space(&self, space: SpaceId) {
        let mut closed = self.closed.lock();
        closed.remove(&space);
        self.closed_count.store(closed.len(), Ordering::Release);
    }

    /// The first of these spaces that somebody else has closed.
    pub fn closed_to(
        &self,
        txn: TxnId,
        mut spaces: impl Iterator<Item = SpaceId>,
    ) -> Option<SpaceId> {
        if self.closed_count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let closed = self.closed.lock();
        spaces.find(|space| closed.get(space).is_some_and(|owner| *owner != txn))
    }
}
