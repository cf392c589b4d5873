//! [`Tc`]: the component as others hold it. Open, recover, begin, compact, report.
//!
//! Relies on: a log and a STORE that belong together (`dc::redo_start` lies inside the log).
//! Promises: after `open` every commit that the log holds is visible; memory for versions stays
//! within the configured bound by refusing nobody and letting commits wait for the merge.
//! Does not: choose between engines, or know what the spaces mean.

use crate::compact;
use crate::error::Error;
use crate::generations::Generations;
use crate::locks::{LockTable, Wait};
use crate::record::CommitRecord;
use crate::seats::{Gate, Seats};
use crate::table::{Table, hash};
use crate::transaction::Txn;
use parking_lot::{Condvar, Mutex, RwLock, RwLockWriteGuard};
use quintet_base::{Bytes, Durability, Level, Lsn, SpaceId, Timestamp, TxnId};
use quintet_dc::DataComponent;
use quintet_rt::threads;
use quintet_wal::Wal;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Handles to choose from, so that threads do not count references on one word.
const HANDLES: usize = 16;

/// How many records are filled in from STORE between two looks at the table's weight.
const FILLS_BETWEEN_LOOKS: u64 = 64;

/// Bounds of the component. The log's buffers, in which versions live first, have their own bound
/// (`quintet_wal::WalConfig::ring_bytes`).
#[derive(Clone, Debug)]
pub struct TcConfig {
    /// A compaction begins when so many bytes of log are not in STORE.
    pub freeze_bytes: usize,
    /// Records in memory, and the versions that were copied out of the log's buffers, take at most
    /// about so many bytes; beyond, records that STORE has are evicted.
    pub cache_bytes_max: usize,
    /// One transaction may buffer so many bytes of rows. The log must take a record of this length.
    pub transaction_bytes_max: usize,
}

impl TcConfig {
    /// Shares out a memory budget. A quarter of it is meant for the log's buffers
    /// ([`TcConfig::ring_bytes`]), five sixteenths for records; a merge begins when an eighth is dirty.
    /// The rest is for STORE and for what transactions have not committed yet.
    pub fn for_memory(bytes: usize) -> TcConfig {
        TcConfig {
            freeze_bytes: bytes / 8,
            cache_bytes_max: bytes / 16 * 5,
            transaction_bytes_max: bytes / 10,
        }
    }

    /// What the log's buffers should have of a memory budget.
    pub fn ring_bytes(bytes: usize) -> usize {
        (bytes / 4).next_multiple_of(4096)
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
    /// One is under way.
    pub compacting: bool,
    /// Times a commit had to wait for a merge.
    pub stalls: u64,
    /// Bytes of log that STORE does not have yet.
    pub dirty_bytes: u64,
    /// Bytes of the log's buffers in use.
    pub buffer_bytes: u64,
    /// Bytes of records in memory, each with its newest version.
    pub record_bytes: u64,
    /// Records in memory.
    pub records: usize,
    /// Generations of STORE that snapshots read.
    pub generations: usize,
    /// Snapshots in use.
    pub snapshots: usize,
    /// Transactions waiting for a row.
    pub waiting: usize,
    /// Newest visible commit.
    pub visible: Timestamp,
}

#[derive(Default)]
pub(crate) struct Counters {
    pub fills: AtomicU64,
    pub compactions: AtomicU64,
    pub compacting: AtomicBool,
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
    pub table: Table,
    pub seats: Seats,
    pub generations: Generations,
    pub locks: LockTable,
    /// Through which every commit goes; schema changes alone.
    pub gate: Gate,
    /// Spaces dropped by commits that STORE has not forgotten yet, with the commit.
    pub dropped: Mutex<Vec<(SpaceId, Timestamp)>>,
    /// Spaces that STORE has forgotten and old snapshots may still find in memory.
    pub leaving: Mutex<Vec<(SpaceId, Timestamp)>>,
    /// Records that recovery has brought back and STORE does not have: they are in no buffer.
    pub carried: Mutex<Vec<(SpaceId, Bytes)>>,
    pub stats: Counters,
    fences: RwLock<HashMap<SpaceId, Timestamp>>,
    /// Spaces closed by a schema change, and by whom. Written while its owner is alone.
    closed: Mutex<HashMap<SpaceId, TxnId>>,
    /// How many are closed, so that commits need not take the lock to know.
    closed_count: AtomicUsize,
    /// The newest fence, or `PENDING`. Release pairs with Acquire in `fence_above`.
    last_fence: AtomicU64,
    turn: Mutex<Turn>,
    turn_changed: Condvar,
    /// Set while the turn is wanted, so that commits need not take the lock to know.
    wanted: AtomicBool,
    /// The next pass posts to STORE; otherwise it only gives memory back.
    post_wanted: AtomicBool,
    room: Mutex<Vec<RoomWaiter>>,
}

/// Tells everybody who waits for the compactor that it is gone.
struct StopOnUnwind<'a>(&'a Shared);

impl Drop for StopOnUnwind<'_> {
    fn drop(&mut self) {
        let mut turn = self.0.turn.lock();
        if !turn.stop {
            turn.stop = true;
            turn.failed = Some("the compactor has panicked".into());
        }
        drop(turn);
        self.0.turn_changed.notify_all();
        self.0.signal_room();
    }
}

/// Fences about to be raised. Dropped, what was settled holds again.
pub(crate) struct PendingFences<'a> {
    shared: &'a Shared,
    /// What `last_fence` will say.
    settled: u64,
    fences: RwLockWriteGuard<'a, HashMap<SpaceId, Timestamp>>,
}

impl Drop for PendingFences<'_> {
    fn drop(&mut self) {
        self.shared
            .last_fence
            .store(self.settled, Ordering::Release);
    }
}

/// A schema change is taking its timestamp: who asks for fences waits until it is known.
const PENDING: u64 = u64::MAX;

/// A way to [`Shared`] with its own count of references.
pub(crate) struct Handle(Arc<Shared>);

impl Deref for Handle {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

thread_local! {
    static HANDLE: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) % HANDLES
    };
}

/// The transaction component. Clones share it; the last one to go stops its thread.
#[derive(Clone)]
pub struct Tc {
    shared: Arc<Shared>,
    handles: Arc<[Arc<Handle>]>,
    /// There is no compactor thread.
    driven: bool,
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
    ///
    /// # Panics
    /// If the log does not keep its records in memory.
    pub fn open(
        log: Arc<Wal>,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
    ) -> Result<(Tc, Recovery), Error> {
        let (shared, recovery) = Tc::recovered(log, store, config)?;
        let worker = Arc::clone(&shared);
        let thread = threads::spawn("tc-compact", move || worker.compact_when_told());
        Ok((Tc::with(shared, Some(thread)), recovery))
    }

    /// As [`Tc::open`], for simulation: without a thread. A pass runs when [`Tc::compact`] or
    /// [`Tc::compact_if_wanted`] is called, on the thread that calls it. The same calls do the same.
    ///
    /// # Errors
    /// As [`Tc::open`].
    pub fn open_driven(
        log: Arc<Wal>,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
    ) -> Result<(Tc, Recovery), Error> {
        crate::table::hash_predictably();
        crate::seats::begin_anew();
        let (shared, recovery) = Tc::recovered(log, store, config)?;
        Ok((Tc::with(shared, None), recovery))
    }

    fn recovered(
        log: Arc<Wal>,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
    ) -> Result<(Arc<Shared>, Recovery), Error> {
        assert!(
            log.keeps_in_memory(),
            "versions live in the log's buffers: WalConfig::keep_in_memory"
        );
        let redo_start = store.redo_start();
        let shared = Arc::new(Shared {
            config,
            table: Table::new(),
            seats: Seats::new(),
            generations: Generations::new(Timestamp(redo_start.0), store.generation()),
            locks: LockTable::new(),
            gate: Gate::default(),
            dropped: Mutex::new(Vec::new()),
            leaving: Mutex::new(Vec::new()),
            carried: Mutex::new(Vec::new()),
            stats: Counters::default(),
            fences: RwLock::new(HashMap::new()),
            closed: Mutex::new(HashMap::new()),
            closed_count: AtomicUsize::new(0),
            last_fence: AtomicU64::new(0),
            turn: Mutex::new(Turn::default()),
            turn_changed: Condvar::new(),
            wanted: AtomicBool::new(false),
            post_wanted: AtomicBool::new(false),
            room: Mutex::new(Vec::new()),
            log,
            store,
        });
        let recovery = recover(&shared, redo_start)?;
        Ok((shared, recovery))
    }

    fn with(shared: Arc<Shared>, thread: Option<threads::JoinHandle<()>>) -> Tc {
        let driven = thread.is_none();
        let compactor = Compactor {
            shared: Arc::clone(&shared),
            thread: Mutex::new(thread),
        };
        Tc {
            handles: (0..HANDLES)
                .map(|_| Arc::new(Handle(Arc::clone(&shared))))
                .collect(),
            shared,
            driven,
            _compactor: Arc::new(compactor),
        }
    }

    /// Begins a transaction with a snapshot of now.
    pub fn begin(&self, level: Level) -> Txn {
        let handle = &self.handles[HANDLE.with(|handle| *handle)];
        Txn::new(Arc::clone(handle), level)
    }

    /// What a snapshot taken now reads at: every commit that has been answered is at or below.
    pub fn visible(&self) -> Timestamp {
        self.shared.end()
    }

    /// The newest commit that fenced a space; a schema older than this is out of date.
    pub fn last_fence(&self) -> Timestamp {
        match self.shared.last_fence.load(Ordering::Acquire) {
            PENDING => {
                // Known when the schema change lets go of the fences.
                drop(self.shared.fences.read());
                self.last_fence()
            }
            fence => Timestamp(fence),
        }
    }

    /// Moves everything committed so far into STORE and waits for it.
    ///
    /// # Errors
    /// The text of what went wrong; it will be tried again.
    pub fn compact(&self) -> Result<(), String> {
        if self.driven {
            self.shared.post_wanted.store(true, Ordering::Release);
            self.shared.run_pass();
            return self.shared.turn.lock().failed.clone().map_or(Ok(()), Err);
        }
        let mut turn = self.shared.turn.lock();
        // A pass that is running may have frozen before our commit; wait for one that starts now.
        let target = turn.finished + if turn.wanted { 2 } else { 1 };
        while turn.finished < target && !turn.stop {
            self.shared.post_wanted.store(true, Ordering::Release);
            turn.wanted = true;
            self.shared.turn_changed.notify_all();
            self.shared.turn_changed.wait(&mut turn);
        }
        turn.failed.clone().map_or(Ok(()), Err)
    }

    /// Runs a pass if a commit has asked for one, and says whether it did. For a component that was
    /// opened with [`Tc::open_driven`], whose passes nobody else runs.
    ///
    /// # Panics
    /// If there is a thread for that.
    pub fn compact_if_wanted(&self) -> bool {
        assert!(self.driven, "the compactor has a thread");
        let wanted = self.shared.turn.lock().wanted;
        if wanted {
            self.shared.run_pass();
        }
        wanted
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
        let end = shared.end();
        let (commits, read_only) = shared
            .seats
            .iter()
            .map(|seat| seat.counts())
            .fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
        TcStats {
            commits,
            read_only,
            compactions: shared.stats.compactions.load(Ordering::Relaxed),
            compacting: shared.stats.compacting.load(Ordering::Relaxed),
            stalls: shared.stats.stalls.load(Ordering::Relaxed),
            dirty_bytes: end.0.saturating_sub(shared.generations.newest().0),
            buffer_bytes: end.0 - shared.log.reclaimed().0,
            record_bytes: shared.table.bytes().max(0) as u64,
            records: shared.table.len(),
            generations: shared.generations.len(),
            snapshots: shared.seats.in_use(|| shared.end()).0.len(),
            waiting: shared.locks.waiting(),
            visible: end,
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

/// Replays the log. Nothing else runs yet; what is full is merged on the way, so that memory keeps
/// its bound however long the log is.
fn recover(shared: &Shared, redo_start: Lsn) -> Result<Recovery, Error> {
    let mut recovery = Recovery {
        redo_start,
        end: redo_start,
        ..Recovery::default()
    };
    let mut since_merge = 0;
    for record in shared.log.read_from(redo_start).map_err(Error::Log)? {
        let (lsn, bytes) = record.map_err(Error::Log)?;
        recovery.end = lsn;
        let Some(record) = CommitRecord::decode(lsn, &bytes)? else {
            continue;
        };
        recovery.commits += 1;
        recovery.changes += record.len() as u64;
        replay(shared, &record, Timestamp(lsn.0));
        since_merge += bytes.len();
        if since_merge >= shared.config.freeze_bytes {
            compact::post(shared, Timestamp(lsn.0))?;
            compact::give_back(shared);
            since_merge = 0;
        }
    }
    Ok(recovery)
}

/// Installs a record's changes as copies.
fn replay(shared: &Shared, record: &CommitRecord<'_>, timestamp: Timestamp) {
    let mut carried = shared.carried.lock();
    for change in record.changes() {
        let guard = quintet_index::pin();
        let hash = hash(change.space, change.key);
        let in_store = || shared.in_store(change.space);
        let entry = shared
            .table
            .find_or_make(hash, change.space, change.key, in_store, &guard);
        // Alone, and no snapshot needs what was before.
        let bytes = entry.install_copy(timestamp, change.value, timestamp, &guard);
        shared.table.weigh(hash, bytes);
        carried.push((change.space, Bytes::copy_from_slice(change.key)));
    }
    let (fenced, dropped) = (record.fenced(), record.dropped());
    if !fenced.is_empty() {
        shared.raise_fences(shared.prepare_fences(), &fenced, timestamp);
    }
    shared.note_dropped(&dropped, timestamp);
}

impl Shared {
    /// End of the log: what a snapshot taken now reads at.
    pub fn end(&self) -> Timestamp {
        Timestamp(self.log.end().0)
    }

    /// At or below every snapshot, a little behind the truth.
    pub fn low_water(&self) -> Timestamp {
        self.seats.low_water(|| self.end())
    }

    /// The fence on a space, if it is newer than `timestamp`.
    pub fn fence_above(&self, space: SpaceId, timestamp: Timestamp) -> Option<Timestamp> {
        // Greater than everything while one is pending.
        if self.last_fence.load(Ordering::Acquire) <= timestamp.0 {
            return None;
        }
        self.fences
            .read()
            .get(&space)
            .copied()
            .filter(|fence| *fence > timestamp)
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
        spaces: &[SpaceId],
        timestamp: Timestamp,
    ) {
        for space in spaces {
            pending.fences.insert(*space, timestamp);
        }
        if !spaces.is_empty() {
            pending.settled = timestamp.0;
        }
    }

    pub fn note_dropped(&self, spaces: &[SpaceId], timestamp: Timestamp) {
        let dropped = spaces.iter().map(|space| (*space, timestamp));
        self.dropped.lock().extend(dropped);
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

    /// Whether the log's buffers take a record of so many bytes, and leave some room for those that
    /// ask at the same time.
    fn has_room(&self, bytes: usize) -> bool {
        let ring = self.log.ring_bytes();
        let used = self.end().0 - self.log.reclaimed().0;
        used + bytes as u64 + ring / 16 <= ring
    }

    /// Refuses to add more versions while the buffers are full: [`Error::Blocked`], or
    /// [`Error::NoRoom`] if they cannot be emptied.
    pub fn wait_for_room(&self, bytes: usize) -> Result<(), Error> {
        if self.has_room(bytes) {
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
        if self.has_room(bytes) {
            self.signal_room();
        }
        self.want_compaction();
        Err(Error::Blocked(wait))
    }

    /// The log has refused for want of buffers, although there seemed to be room.
    pub fn room_is_used_up(&self) -> Error {
        let (wait, set) = Wait::manual();
        self.room.lock().push(Box::new(set));
        self.want_compaction();
        Error::Blocked(wait)
    }

    /// Wakes commits that wait for room.
    pub fn signal_room(&self) {
        let waiters = std::mem::take(&mut *self.room.lock());
        waiters.into_iter().for_each(|set| set());
    }

    pub fn compact_if_full(&self, end: Timestamp) {
        if self.wanted.load(Ordering::Relaxed) {
            return;
        }
        let dirty = end.0.saturating_sub(self.generations.newest().0);
        let used = end.0.saturating_sub(self.log.reclaimed().0);
        if dirty >= self.config.freeze_bytes as u64 || used >= self.log.ring_bytes() / 4 * 3 {
            self.want_compaction();
        }
    }

    /// A record was read from STORE, and filled in if there was room.
    pub fn filled(&self) {
        let count = self.stats.fills.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(FILLS_BETWEEN_LOOKS)
            && self.table.is_over(self.config.cache_bytes_max)
            && !self.wanted.load(Ordering::Relaxed)
        {
            self.want_pass();
        }
    }

    fn want_compaction(&self) {
        self.post_wanted.store(true, Ordering::Release);
        self.want_pass();
    }

    fn want_pass(&self) {
        self.wanted.store(true, Ordering::Relaxed);
        self.turn.lock().wanted = true;
        self.turn_changed.notify_all();
    }

    /// The compactor thread. A failed pass (a full disk) is tried again when it is next wanted.
    fn compact_when_told(&self) {
        // A panic here is a bug; whoever waits must hear of it all the same.
        let _guard = StopOnUnwind(self);
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
            self.run_pass();
        }
    }

    fn run_pass(&self) {
        let post = self.post_wanted.swap(false, Ordering::AcqRel);
        self.stats.compacting.store(post, Ordering::Relaxed);
        let result = if post {
            Some(compact::compact(self))
        } else {
            compact::give_back(self);
            None
        };
        self.stats.compacting.store(false, Ordering::Relaxed);
        self.wanted.store(false, Ordering::Relaxed);
        let mut turn = self.turn.lock();
        // Asked for while this pass was under way, it may have come too late for it.
        turn.wanted = self.post_wanted.load(Ordering::Acquire);
        turn.finished += 1;
        if let Some(result) = result {
            turn.failed = result.err().map(|error| error_chain(&error));
        }
        drop(turn);
        self.turn_changed.notify_all();
        // Whoever waits for room looks again, and asks again if there is still none.
        self.signal_room();
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
