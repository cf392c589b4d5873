//! [`Tc`]: the component as others hold it. Open, recover, begin, compact, report.
//!
//! Relies on: a log and a STORE that belong together (`dc::redo_start` lies inside the log).
//! Promises: after `open` every commit that the log holds is visible; memory for versions stays
//! within the configured bound by refusing nobody and letting commits wait for the merge.
//! Does not: choose between engines, or know what the spaces mean.

use crate::commit;
use crate::compact;
use crate::error::Error;
use crate::locks::{LockTable, Wait};
use crate::memtable::MemTable;
use crate::record::CommitRecord;
use crate::snapshots::Snapshots;
use crate::transaction::Txn;
use crate::view::View;
use parking_lot::{Condvar, Mutex, RwLock};
use quintet_base::{Durability, Level, Lsn, SpaceId, Timestamp, TxnId};
use quintet_dc::DataComponent;
use quintet_rt::threads;
use quintet_wal::Wal;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bounds of the component.
#[derive(Clone, Debug)]
pub struct TcConfig {
    /// The active memtable is frozen when it holds so many bytes.
    pub freeze_bytes: usize,
    /// Commits wait for the merge while active and unmerged memtables hold more than this.
    pub memtable_bytes_max: usize,
    /// Merged memtables are kept for old snapshots up to so many bytes.
    pub retained_bytes_max: usize,
    /// One transaction may buffer so many bytes of rows.
    pub transaction_bytes_max: usize,
}

impl TcConfig {
    /// Shares out a memory budget: half for memtables (a freeze at a quarter of that, so that one
    /// can fill while another merges), a quarter for one transaction's writes.
    pub fn for_memory(bytes: usize) -> TcConfig {
        TcConfig {
            freeze_bytes: bytes / 8,
            memtable_bytes_max: bytes / 8 * 3,
            retained_bytes_max: bytes / 8,
            transaction_bytes_max: bytes / 4,
        }
    }
}

/// What recovery did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recovery {
    /// Where replay began.
    pub redo_start: Lsn,
    /// Where the log ended.
    pub end: Lsn,
    /// Commits replayed.
    pub commits: u64,
    /// Changes replayed.
    pub changes: u64,
}

/// Counters since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcStats {
    /// Commits that wrote.
    pub commits: u64,
    /// Commits that only read.
    pub read_only: u64,
    /// Compactions finished.
    pub compactions: u64,
    /// Times a commit had to wait for a merge.
    pub stalls: u64,
    /// Bytes in the active memtable.
    pub active_bytes: usize,
    /// Bytes in frozen memtables.
    pub frozen_bytes: usize,
    /// Snapshots in use.
    pub snapshots: usize,
    /// Transactions waiting for a row.
    pub waiting: usize,
    /// Newest visible commit.
    pub visible: Timestamp,
}

#[derive(Default)]
pub(crate) struct Counters {
    pub commits: AtomicU64,
    pub read_only: AtomicU64,
    pub compactions: AtomicU64,
    pub stalls: AtomicU64,
}

/// What the compactor thread is told.
#[derive(Default)]
struct Turn {
    wanted: bool,
    stop: bool,
    /// Passes finished, and what the last one said if it failed.
    finished: u64,
    failed: Option<String>,
}

type RoomWaiter = Box<dyn FnOnce() + Send + Sync>;

/// What all handles share.
pub(crate) struct Shared {
    pub config: TcConfig,
    pub log: Arc<Wal>,
    pub store: Arc<dyn DataComponent>,
    pub snapshots: Arc<Snapshots>,
    pub locks: LockTable,
    /// Held while a commit validates, logs, installs and publishes, and while views are replaced.
    pub sequencer: Mutex<()>,
    /// Spaces dropped by commits that STORE has not forgotten yet, with the commit.
    pub dropped: Mutex<Vec<(SpaceId, Timestamp)>>,
    pub stats: Counters,
    fences: RwLock<HashMap<SpaceId, Timestamp>>,
    /// Spaces closed by a schema change, and by whom. Written and read under the sequencer.
    closed: Mutex<HashMap<SpaceId, TxnId>>,
    /// The newest fence. Written under the sequencer; Release pairs with Acquire in `fence_above`.
    last_fence: AtomicU64,
    next_txn: AtomicU64,
    turn: Mutex<Turn>,
    turn_changed: Condvar,
    /// Set while the turn is wanted, so that commits need not take the lock to know.
    wanted: AtomicBool,
    room: Mutex<Vec<RoomWaiter>>,
}

/// The transaction component. Clones share it; the last one to go stops its thread.
#[derive(Clone)]
pub struct Tc {
    shared: Arc<Shared>,
    _compactor: Arc<Compactor>,
}

struct Compactor {
    shared: Arc<Shared>,
    thread: Mutex<Option<threads::JoinHandle<()>>>,
}

impl Tc {
    /// Opens the component: replays the log from where STORE's checkpoint left off.
    ///
    /// # Errors
    /// [`Error::Log`], [`Error::Store`], [`Error::Record`].
    pub fn open(
        log: Arc<Wal>,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
    ) -> Result<(Tc, Recovery), Error> {
        let redo_start = store.redo_start();
        let view = View {
            active: Arc::new(MemTable::default()),
            frozen: Vec::new(),
            generation: store.generation(),
            validation_floor: Timestamp(redo_start.0),
        };
        let shared = Arc::new(Shared {
            config,
            snapshots: Arc::new(Snapshots::new(Timestamp(redo_start.0), view)),
            locks: LockTable::new(),
            sequencer: Mutex::new(()),
            dropped: Mutex::new(Vec::new()),
            stats: Counters::default(),
            fences: RwLock::new(HashMap::new()),
            closed: Mutex::new(HashMap::new()),
            last_fence: AtomicU64::new(0),
            next_txn: AtomicU64::new(1),
            turn: Mutex::new(Turn::default()),
            turn_changed: Condvar::new(),
            wanted: AtomicBool::new(false),
            room: Mutex::new(Vec::new()),
            log,
            store,
        });
        let recovery = recover(&shared, redo_start)?;
        let worker = Arc::clone(&shared);
        let thread = threads::spawn("tc-compact", move || worker.compact_when_told());
        let compactor = Compactor {
            shared: Arc::clone(&shared),
            thread: Mutex::new(Some(thread)),
        };
        Ok((
            Tc {
                shared,
                _compactor: Arc::new(compactor),
            },
            recovery,
        ))
    }

    /// Begins a transaction with a snapshot of now.
    pub fn begin(&self, level: Level) -> Txn {
        let id = TxnId(self.shared.next_txn.fetch_add(1, Ordering::Relaxed));
        Txn::new(Arc::clone(&self.shared), id, level)
    }

    /// Newest visible commit.
    pub fn visible(&self) -> Timestamp {
        self.shared.snapshots.visible()
    }

    /// The newest commit that fenced a space; a schema older than this is out of date.
    pub fn last_fence(&self) -> Timestamp {
        Timestamp(self.shared.last_fence.load(Ordering::Acquire))
    }

    /// Moves everything committed so far into STORE and waits for it.
    ///
    /// # Errors
    /// The text of what went wrong; it will be tried again.
    pub fn compact(&self) -> Result<(), String> {
        let mut turn = self.shared.turn.lock();
        // A pass that is running may have frozen before our commit; wait for one that starts now.
        let target = turn.finished + if turn.wanted { 2 } else { 1 };
        while turn.finished < target && !turn.stop {
            turn.wanted = true;
            self.shared.turn_changed.notify_all();
            self.shared.turn_changed.wait(&mut turn);
        }
        turn.failed.clone().map_or(Ok(()), Err)
    }

    /// Forgets every space of STORE that is not named: left over from a crash between a bulk load
    /// and its commit. Call it once after `open`, before transactions begin.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn retain_spaces(&self, used: &[SpaceId]) -> Result<Vec<SpaceId>, Error> {
        let orphans: Vec<SpaceId> = self
            .shared
            .store
            .spaces()
            .into_iter()
            .filter(|space| !used.contains(space))
            .collect();
        for space in &orphans {
            self.shared.store.drop_space(*space)?;
        }
        Ok(orphans)
    }

    /// Counters.
    pub fn stats(&self) -> TcStats {
        let shared = &self.shared;
        let view = shared.snapshots.view();
        TcStats {
            commits: shared.stats.commits.load(Ordering::Relaxed),
            read_only: shared.stats.read_only.load(Ordering::Relaxed),
            compactions: shared.stats.compactions.load(Ordering::Relaxed),
            stalls: shared.stats.stalls.load(Ordering::Relaxed),
            active_bytes: view.active.bytes(),
            frozen_bytes: view.frozen.iter().map(|frozen| frozen.table.bytes()).sum(),
            snapshots: shared.snapshots.count(),
            waiting: shared.locks.waiting(),
            visible: shared.snapshots.visible(),
        }
    }

    /// Resolves when the log is durable up to a commit; see [`crate::Committed::durable_at`].
    pub fn when_durable(&self, lsn: Lsn) -> quintet_wal::Durable {
        self.shared.log.when_durable(lsn)
    }

    /// The durability the log was opened with.
    pub fn durability(&self) -> Durability {
        self.shared.log.durability()
    }
}

/// Replays the log. Nothing else runs yet; full memtables are merged on the way, so that memory
/// keeps its bound however long the log is.
fn recover(shared: &Shared, redo_start: Lsn) -> Result<Recovery, Error> {
    let mut recovery = Recovery {
        redo_start,
        end: redo_start,
        ..Recovery::default()
    };
    for record in shared.log.read_from(redo_start).map_err(Error::Log)? {
        let (lsn, bytes) = record.map_err(Error::Log)?;
        let record = CommitRecord::decode(lsn, bytes)?;
        recovery.commits += 1;
        recovery.changes += record.changes.len() as u64;
        recovery.end = lsn;
        let timestamp = Timestamp(lsn.0);
        commit::apply(shared, &shared.snapshots.view(), record, timestamp);
        shared.snapshots.publish(timestamp);
        if shared.snapshots.view().active.bytes() >= shared.config.freeze_bytes {
            compact::compact(shared)?;
        }
    }
    Ok(recovery)
}

impl Shared {
    /// The fence on a space, if it is newer than `timestamp`.
    pub fn fence_above(&self, space: SpaceId, timestamp: Timestamp) -> Option<Timestamp> {
        if self.last_fence.load(Ordering::Acquire) <= timestamp.0 {
            return None;
        }
        self.fences
            .read()
            .get(&space)
            .copied()
            .filter(|fence| *fence > timestamp)
    }

    /// Under the sequencer, before the commit is visible.
    pub fn raise_fences(&self, spaces: &[SpaceId], timestamp: Timestamp) {
        let mut fences = self.fences.write();
        for space in spaces {
            fences.insert(*space, timestamp);
        }
        self.last_fence.store(timestamp.0, Ordering::Release);
    }

    /// Lets nobody but `owner` commit to the space; commits under way are over when this returns.
    pub fn close_space(&self, space: SpaceId, owner: TxnId) {
        let _sequencer = self.sequencer.lock();
        self.closed.lock().insert(space, owner);
    }

    pub fn open_space(&self, space: SpaceId) {
        self.closed.lock().remove(&space);
    }

    /// The first of these spaces that somebody else has closed.
    pub fn closed_to(
        &self,
        txn: TxnId,
        mut spaces: impl Iterator<Item = SpaceId>,
    ) -> Option<SpaceId> {
        let closed = self.closed.lock();
        if closed.is_empty() {
            return None;
        }
        spaces.find(|space| closed.get(space).is_some_and(|owner| *owner != txn))
    }

    fn unmerged_bytes(&self, view: &View) -> usize {
        let frozen: usize = view
            .frozen
            .iter()
            .filter(|f| !f.merged)
            .map(|f| f.table.bytes())
            .sum();
        view.active.bytes() + frozen
    }

    /// Refuses to add more versions while the memtables are at their bound: [`Error::Blocked`], or
    /// [`Error::NoRoom`] if they cannot be merged.
    pub fn wait_for_room(&self) -> Result<(), Error> {
        if self.unmerged_bytes(&self.snapshots.view()) < self.config.memtable_bytes_max {
            return Ok(());
        }
        // Taken out first: in an `if let` the lock would be held while the turn is asked for.
        let failed = self.turn.lock().failed.clone();
        if let Some(reason) = failed {
            self.want_compaction();
            return Err(Error::NoRoom { reason });
        }
        let (wait, set) = Wait::manual();
        self.room.lock().push(Box::new(set));
        self.stats.stalls.fetch_add(1, Ordering::Relaxed);
        // The merge may have ended before we were in the list.
        if self.unmerged_bytes(&self.snapshots.view()) < self.config.memtable_bytes_max {
            self.signal_room();
        }
        self.want_compaction();
        Err(Error::Blocked(wait))
    }

    /// Wakes commits that wait for room.
    pub fn signal_room(&self) {
        let waiters = std::mem::take(&mut *self.room.lock());
        waiters.into_iter().for_each(|set| set());
    }

    pub fn freeze_if_full(&self) {
        if !self.wanted.load(Ordering::Relaxed)
            && self.snapshots.view().active.bytes() >= self.config.freeze_bytes
        {
            self.want_compaction();
        }
    }

    fn want_compaction(&self) {
        self.wanted.store(true, Ordering::Relaxed);
        self.turn.lock().wanted = true;
        self.turn_changed.notify_all();
    }

    /// The compactor thread. A failed pass (a full disk) is tried again when it is next wanted.
    fn compact_when_told(&self) {
        loop {
            {
                let mut turn = self.turn.lock();
                while !turn.wanted && !turn.stop {
                    self.turn_changed.wait(&mut turn);
                }
                if turn.stop {
                    return;
                }
            }
            let result = compact::compact(self);
            self.wanted.store(false, Ordering::Relaxed);
            let mut turn = self.turn.lock();
            turn.wanted = false;
            turn.finished += 1;
            turn.failed = result.err().map(|error| error_chain(&error));
            drop(turn);
            self.turn_changed.notify_all();
            // Whoever waits for room looks again, and asks again if there is still none.
            self.signal_room();
        }
    }
}

fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.shared.turn.lock().stop = true;
        self.shared.turn_changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}
