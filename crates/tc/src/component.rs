//! [`Tc`]: the component as others hold it. Begin, compact, report.
//!
//! Relies on: `recover` for a component in which everything that the log holds is visible.
//! Promises: memory for versions stays within the configured bound by refusing nobody and letting
//! commits wait for the merge.  Does not: choose between engines, or know what the spaces mean.

use crate::compactor::Compactor;
use crate::config::TcStats;
use crate::error::{Error, PostFailure};
use crate::generations::Settled;
use crate::locks::LockView;
use crate::place::Place;
use crate::shared::PENDING;
pub(crate) use crate::shared::{Handle, Shared};
use crate::snapshot::Snapshot;
use crate::transaction::{KeptSnapshot, Txn};
use crate::warm::{WarmStep, WarmThread, Warmed};
use quintet_base::{Durability, Level, Lsn, SpaceId, Timestamp};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Handles to choose from, so that threads do not count references on one word.
const HANDLES: usize = 16;

thread_local! {
    static HANDLE: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) % HANDLES
    };
}

/// The transaction component. Clones share it; the last one to go stops its threads.
#[derive(Clone)]
pub struct Tc {
    shared: Arc<Shared>,
    handles: Arc<[Arc<Handle>]>,
    // Before the compactor, so that it is gone first.
    warming: Arc<WarmThread>,
    compactor: Arc<Compactor>,
}

impl Tc {
    pub(crate) fn with(shared: Arc<Shared>, compactor: Compactor) -> Tc {
        Tc {
            handles: (0..HANDLES)
                .map(|_| Arc::new(Handle::new(Arc::clone(&shared))))
                .collect(),
            shared,
            warming: Arc::default(),
            compactor: Arc::new(compactor),
        }
    }

    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Begins a transaction with a snapshot of now.
    pub fn begin(&self, level: Level) -> Txn {
        let handle = &self.handles[HANDLE.with(|handle| *handle)];
        Txn::new(Arc::clone(handle), level)
    }

    /// The present, to be read later ([`Tc::begin_at`]). What it sees is kept as for a transaction that goes on.
    pub fn keep(&self) -> KeptSnapshot {
        KeptSnapshot(Arc::new(Snapshot::of_the_end(&self.shared)))
    }

    /// Begins a transaction of [`Level::Snapshot`] that reads at what was kept. It is not to write: whatever was
    /// committed since is a conflict.
    pub fn begin_at(&self, kept: &KeptSnapshot) -> Txn {
        let handle = &self.handles[HANDLE.with(|handle| *handle)];
        Txn::at(Arc::clone(handle), kept)
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
    /// What went wrong; it will be tried again.
    pub fn compact(&self) -> Result<(), PostFailure> {
        self.shared.compact_now()
    }

    /// Everything committed so far as STORE has it, moved there first. Commits go on meanwhile.
    ///
    /// # Errors
    /// As [`Tc::compact`].
    pub fn settled(&self) -> Result<Settled, PostFailure> {
        self.compact()?;
        Ok(self.shared.generations.settled())
    }

    /// Has `watcher` told of every attempt to move what was committed into STORE that fails, and, with
    /// `None`, of the first one after that succeeds. Called on the thread that has tried; while commits
    /// are refused for it, each asks for another try, so this may be often. The last watcher counts.
    pub fn watch_posts(&self, watcher: impl Fn(Option<&PostFailure>) + Send + Sync + 'static) {
        self.shared.watch_posts(Arc::new(watcher));
    }

    /// Runs a pass if a commit has asked for one, and says whether it did. For a component that was
    /// opened with [`Tc::open_driven`], whose passes nobody else runs.
    ///
    /// # Panics
    /// If there is a thread for that.
    pub fn compact_if_wanted(&self) -> bool {
        assert!(self.compactor.is_driven(), "the compactor has a thread");
        self.shared.compact_here_if_wanted()
    }

    /// Brings what STORE has into memory in the background, as far as it fits, and calls `done` with
    /// what came of it. Nothing happens if it has been called before.
    pub fn warm_in_background(&self, done: impl FnOnce(Warmed) + Send + 'static) {
        self.warming.start(Arc::clone(&self.shared), done);
    }

    /// One step of what [`Tc::warm_in_background`] does, on this thread: a range of one space.
    pub fn warm_some(&self) -> WarmStep {
        self.shared.warm_some()
    }

    /// Forgets every space that is not named: left over from a crash between what was committed ahead of a transaction
    /// and its commit. Call it once after opening, before transactions begin.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn retain_spaces(&self, used: &[SpaceId]) -> Result<Vec<SpaceId>, Error> {
        let shared = &self.shared;
        let used: HashSet<SpaceId> = used.iter().copied().collect();
        let mut orphans = shared.store.spaces();
        orphans.retain(|space| !used.contains(space));
        for space in &orphans {
            shared.store.drop_space(*space)?;
        }
        let mut replayed = shared.table.spaces();
        replayed.retain(|space| !used.contains(space));
        shared.note_dropped(&replayed, shared.end());
        let stored: HashSet<SpaceId> = orphans.iter().copied().collect();
        replayed.retain(|space| !stored.contains(space));
        orphans.extend(replayed);
        Ok(orphans)
    }

    /// The highest of these numbers that is one of a space of which there is any trace, to be asked once after opening: numbers up to
    /// it must not be given again, since what was dropped there may not be forgotten yet.
    pub fn highest_space(&self, among: Range<SpaceId>) -> Option<SpaceId> {
        let shared = &self.shared;
        let dropped: Vec<SpaceId> = (shared.dropped.lock().iter()).map(|(s, _)| *s).collect();
        let all = [shared.store.spaces(), shared.table.spaces(), dropped];
        let spaces = all.into_iter().flatten();
        spaces.filter(|space| among.contains(space)).max()
    }

    /// Those of these spaces with rows that were committed ahead ([`Txn::commit_ahead`]) of transactions that did not commit. Who takes
    /// them drops them, and gives their numbers to nothing else.
    pub fn take_abandoned(&self, among: Range<SpaceId>) -> Vec<SpaceId> {
        let mut abandoned = self.shared.abandoned.lock();
        abandoned
            .extract_if(.., |space| among.contains(space))
            .collect()
    }

    /// About how many records a space has: as many as memory has in order if it has them all, else those of STORE if they
    /// are more. Cheap enough to be asked for each plan.
    pub fn records(&self, space: SpaceId) -> u64 {
        let guard = quintet_index::pin();
        let in_memory = self.shared.table.space_under(space, &guard);
        let in_memory = in_memory.map(|space| (space.ordered.len() as u64, space.is_whole()));
        drop(guard);
        match in_memory {
            Some((records, true)) => records,
            Some((records, false)) => records.max(self.shared.store.records(space)),
            None => self.shared.store.records(space),
        }
    }

    /// The locks that are held at the moment.
    pub fn locks(&self) -> Vec<LockView> {
        self.shared.locks.views()
    }

    /// The lock of a row, if it is held.
    pub fn lock_of(&self, space: SpaceId, key: &[u8]) -> Option<LockView> {
        self.shared.locks.view(Place::new(space, key))
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
            held_back: shared.stats.held_back.load(Ordering::Relaxed),
            past_memory: shared.stats.past_memory.load(Ordering::Relaxed),
            dirty_bytes: end.0.saturating_sub(shared.generations.newest().0),
            posts: shared.stats.posts.load(Ordering::Relaxed),
            posted: shared.generations.newest(),
            checkpointed: Timestamp(shared.checkpointed.load(Ordering::Relaxed)),
            buffer_bytes: end.0 - shared.log.reclaimed().0,
            record_bytes: shared.table.bytes().max(0) as u64,
            records: shared.table.len(),
            generations: shared.generations.len(),
            snapshots: shared.seats.in_use(|| shared.end()).0.len(),
            waiting: shared.locks.waiting(),
            visible: end,
            warmed: shared.warming.records(),
            spaces_whole: shared.table.spaces_whole(),
            unlisted: shared.table.unlisted(),
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

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::TcConfig;
    use quintet_dc::{MemoryMedium, MemoryStore};
    use quintet_rt::{Disk, SimDisk};
    use quintet_wal::{Wal, WalConfig};

    /// What a processor may fetch at once: two lines.
    const LINES: usize = 128;

    #[test]
    fn threads_that_begin_transactions_write_no_line_of_one_another() {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        let wal = WalConfig {
            keep_in_memory: true,
            ..WalConfig::new("/log")
        };
        let (log, _) = Wal::open(disk, wal, None).expect("a log");
        let store = Arc::new(MemoryStore::open(&MemoryMedium::default()));
        let tc = Tc::open_driven(log, store, TcConfig::for_memory(8 << 20));
        let (tc, _) = tc.expect("a component");
        // A count of references stands before what it counts, by as much as that is aligned or by two words.
        let lines_of_count = |handle: &Arc<Handle>| {
            let behind = align_of::<Handle>().max(2 * size_of::<usize>());
            (Arc::as_ptr(handle).addr() - behind) / LINES
        };
        let mut lines: Vec<usize> = tc.handles.iter().map(lines_of_count).collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), HANDLES, "{lines:?}");
    }
}
