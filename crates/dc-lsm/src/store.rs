//! The store: the contract's operations, the manifest, and the thread behind.
//!
//! Relies on: `space`, `manifest`.  Promises: the contract; dropping it ends the thread.
//! Does not: read records; generations do.

use crate::compactor::{Job, Queue};
use crate::config::LsmConfig;
use crate::fault;
use crate::generation::LsmGeneration;
use crate::manifest::{CEILING_AHEAD, Manifest};
use crate::patience::RUNS_MAX;
use crate::space::{Shared, Space, name_anew};
use parking_lot::Mutex;
use quintet_base::{Lsn, SpaceId};
use quintet_dc::{DataComponent, DcStats, Error, Generation, MergeReport, Operation};
use quintet_rt::{Disk, OpenMode, RealDisk, disk, threads};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Overlapping runs in a space above which a merge waits for the compactor: every read has to ask
/// each of them. More than those from which compaction is put off no more, by what comes while that compaction goes on.
const OVERLAPPING_RUNS_MAX: usize = RUNS_MAX + 8;

/// How often, and how long each time, a merge waits for the compactor; then it goes on, since a
/// full log above is worse than slow reads.
const COMPACTION_WAITS_MAX: u32 = 20;
const COMPACTION_WAIT: Duration = Duration::from_millis(100);

/// STORE in files; see the crate's header.
pub struct LsmStore {
    inner: Arc<Inner>,
    thread: Option<threads::JoinHandle<()>>,
}

struct Inner {
    manifest_path: PathBuf,
    shared: Arc<Shared>,
    /// What is on disk, and the turn to change it or the set of spaces.
    manifest: Mutex<OnDisk>,
    live: Mutex<Live>,
    counters: Counters,
}

struct OnDisk {
    manifest: Manifest,
    /// No folder has this number or a higher one.
    next_folder: u64,
    /// No stored position is above.
    high: Lsn,
}

struct Live {
    /// The newest generation; its spaces are the live ones.
    generation: Arc<LsmGeneration>,
    redo_start: Lsn,
}

/// Counted since opening, read by `stats`; nothing hangs on them.
#[derive(Default)]
struct Counters {
    merges: AtomicU64,
    operations: AtomicU64,
    checkpoints: AtomicU64,
    compactions: AtomicU64,
    compacting: AtomicBool,
    compactions_failed: AtomicU64,
}

impl LsmStore {
    /// Opens the store in the directory, or makes one.
    ///
    /// # Errors
    /// [`Error::InUse`] while another handle or one of its generations is alive; what is damaged or
    /// of another format is refused as such.
    pub fn open(config: &LsmConfig) -> Result<LsmStore, Error> {
        let disk: &dyn Disk = &RealDisk;
        let spaces_directory = config.directory.join("spaces");
        disk.create_dir_all(&spaces_directory)
            .map_err(fault::disk)?;
        disk.sync_dir(&config.directory).map_err(fault::disk)?;
        let lock_path = config.directory.join("lock");
        let lock = disk
            .open(&lock_path, OpenMode::Create)
            .map_err(fault::disk)?;
        if !lock.try_lock().map_err(fault::disk)? {
            return Err(Error::InUse {
                path: config.directory.clone(),
            });
        }
        let manifest_path = config.directory.join("manifest");
        let folders = disk.list(&spaces_directory).map_err(fault::disk)?;
        let manifest = if disk.exists(&manifest_path).map_err(fault::disk)? {
            let bytes = disk::read_file(disk, &manifest_path).map_err(fault::disk)?;
            let manifest = Manifest::decode(&bytes, &manifest_path)?;
            // What is read here is taken for durable: the log may go that it covers. If the sync of its
            // name has failed, another one may not make up for it, but that of a new name does.
            name_anew(&manifest_path, &bytes)?;
            manifest
        } else if folders.is_empty() {
            // Written before the first space, so that spaces without a manifest are a loss.
            let manifest = Manifest::default();
            write(&manifest_path, &manifest)?;
            manifest
        } else {
            let what = "there are spaces, and no manifest".to_owned();
            return Err(Error::Damaged {
                path: manifest_path,
                what,
            });
        };

        let shared = Arc::new(Shared::new(config, spaces_directory, lock));
        let next_folder = remove_unlisted(&shared, &manifest, &folders)?;
        let mut generation = LsmGeneration::default();
        let mut high = manifest.high;
        for (id, listed) in &manifest.spaces {
            let space = Space::reopen(&shared, *id, *listed, &manifest)?;
            high = high.max(space.high());
            generation.spaces.insert(*id, space.pin());
            shared.queue.visit(*id); // a kill may have come before its compaction
        }
        let live = Live {
            generation: Arc::new(generation),
            redo_start: manifest.redo_start,
        };
        let inner = Arc::new(Inner {
            manifest_path,
            shared,
            manifest: Mutex::new(OnDisk {
                manifest,
                next_folder,
                high,
            }),
            live: Mutex::new(live),
            counters: Counters::default(),
        });
        let worker = Arc::clone(&inner);
        let thread = threads::spawn("dc-compactor", move || worker.work());
        Ok(LsmStore {
            inner,
            thread: Some(thread),
        })
    }

    /// The newest generation, as what it is: for measuring what the contract's indirection costs.
    pub fn newest_generation(&self) -> Arc<LsmGeneration> {
        Arc::clone(&self.inner.live.lock().generation)
    }
}

impl Drop for LsmStore {
    fn drop(&mut self) {
        self.inner.queue().stop();
        if let Some(thread) = self.thread.take() {
            // Its panic was printed when it happened, and nothing is lost with it.
            let _ = thread.join();
        }
    }
}

impl DataComponent for LsmStore {
    fn generation(&self) -> Arc<dyn Generation> {
        self.newest_generation()
    }

    fn merge(
        &self,
        id: SpaceId,
        run: &mut dyn Iterator<Item = Operation<'_>>,
    ) -> Result<MergeReport, Error> {
        let inner = &*self.inner;
        let mut run = run.peekable();
        if run.peek().is_none() {
            inner.counters.merges.fetch_add(1, Ordering::Relaxed);
            return Ok(MergeReport::default());
        }
        let space = inner.space(id)?;
        for _ in 0..COMPACTION_WAITS_MAX {
            if space.overlapping_runs() <= OVERLAPPING_RUNS_MAX {
                break;
            }
            inner.queue().visit(id);
            inner.queue().wait_for_visit(COMPACTION_WAIT);
        }
        let report = space.merge(&mut run, &|position| inner.reserve(position))?;
        inner.publish(&space);
        inner.queue().visit_after_merge(id);
        inner.counters.merges.fetch_add(1, Ordering::Relaxed);
        inner
            .counters
            .operations
            .fetch_add(report.applied, Ordering::Relaxed);
        Ok(report)
    }

    fn checkpoint(&self, redo_start: Lsn) -> Result<(), Error> {
        let inner = &*self.inner;
        let mut on_disk = inner.manifest.lock();
        let before = on_disk.manifest.redo_start;
        assert!(
            redo_start >= before,
            "redo start would go down from {before} to {redo_start}"
        );
        // Merges are durable when they return, so the list of spaces is all there is to write.
        let generation = Arc::clone(&inner.live.lock().generation);
        // What is merged meanwhile has a number that is not below the one listed.
        let spaces = generation.spaces.iter();
        let ahead = Lsn(on_disk.high.0.saturating_add(CEILING_AHEAD));
        let manifest = Manifest {
            redo_start,
            ceiling: on_disk.manifest.ceiling.max(ahead),
            high: on_disk.high,
            spaces: spaces.map(|(id, pinned)| (*id, pinned.listed())).collect(),
        };
        inner.replace_manifest(&mut on_disk, manifest)?;
        inner.live.lock().redo_start = redo_start;
        inner.counters.checkpoints.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn redo_start(&self) -> Lsn {
        self.inner.live.lock().redo_start
    }

    fn drop_space(&self, id: SpaceId) -> Result<(), Error> {
        let inner = &*self.inner;
        let mut on_disk = inner.manifest.lock();
        if on_disk.manifest.spaces.contains_key(&id) {
            // Before any file goes: a space that is listed must be whole.
            let mut manifest = on_disk.manifest.clone();
            manifest.spaces.remove(&id);
            inner.replace_manifest(&mut on_disk, manifest)?;
        }
        let removed = {
            let mut live = inner.live.lock();
            // Many that are dropped were never stored.
            if !live.generation.spaces.contains_key(&id) {
                return Ok(());
            }
            let mut generation = LsmGeneration::clone(&live.generation);
            let removed = generation.spaces.remove(&id);
            live.generation = Arc::new(generation);
            removed
        };
        if let Some(pinned) = removed {
            pinned.space.leave();
        }
        Ok(())
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.inner
            .live
            .lock()
            .generation
            .spaces
            .keys()
            .copied()
            .collect()
    }

    fn records(&self, space: SpaceId) -> u64 {
        let live = self.inner.live.lock();
        let pinned = live.generation.spaces.get(&space);
        let space = pinned.map(|pinned| Arc::clone(&pinned.space));
        drop(live);
        space.map_or(0, |space| space.records())
    }

    fn cached_bytes(&self) -> u64 {
        self.inner.shared.cache.size()
    }

    fn stats(&self) -> DcStats {
        let inner = &*self.inner;
        let generation = Arc::clone(&inner.live.lock().generation);
        let counters = &inner.counters;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let spaces = || generation.spaces.values().map(|pinned| &pinned.space);
        DcStats {
            spaces: generation.spaces.len() as u64,
            tablets: spaces().map(|space| space.tablets()).sum(),
            disk_bytes: spaces().map(|space| space.disk_bytes()).sum(),
            memory_bytes: inner.shared.cache.size(),
            spaces_leaving: inner.shared.leaving.load(Ordering::SeqCst),
            merges: count(&counters.merges),
            operations: count(&counters.operations),
            checkpoints: count(&counters.checkpoints),
            compactions: count(&counters.compactions),
            compacting: counters.compacting.load(Ordering::Relaxed),
            compactions_failed: count(&counters.compactions_failed),
        }
    }
}

impl Inner {
    fn queue(&self) -> &Queue {
        &self.shared.queue
    }

    /// The live space of this number, made if there is none.
    fn space(&self, id: SpaceId) -> Result<Arc<Space>, Error> {
        let find = || {
            let live = self.live.lock();
            live.generation
                .spaces
                .get(&id)
                .map(|pinned| Arc::clone(&pinned.space))
        };
        if let Some(space) = find() {
            return Ok(space);
        }
        let mut on_disk = self.manifest.lock();
        if let Some(space) = find() {
            return Ok(space); // somebody was faster
        }
        let number = on_disk.next_folder;
        on_disk.next_folder += 1;
        let space = match Space::create(&self.shared, id, number) {
            Ok(space) => space,
            Err(error) => {
                // What is there of it would be removed at the next opening anyway.
                let _ = remove_folder(&self.shared.folder(number));
                return Err(error);
            }
        };
        let mut live = self.live.lock();
        let mut generation = LsmGeneration::clone(&live.generation);
        generation.spaces.insert(id, space.pin());
        live.generation = Arc::new(generation);
        Ok(space)
    }

    /// Generations taken from now on see the space as it is now.
    fn publish(&self, space: &Arc<Space>) {
        let before = {
            let mut live = self.live.lock();
            let is_live = live
                .generation
                .spaces
                .get(&space.id)
                .is_some_and(|pinned| Arc::ptr_eq(&pinned.space, space));
            if !is_live {
                return; // dropped meanwhile
            }
            let mut generation = LsmGeneration::clone(&live.generation);
            generation.spaces.insert(space.id, space.pin());
            std::mem::replace(&mut live.generation, Arc::new(generation))
        };
        drop(before); // after the lock: it may unpin, or end a space
    }

    /// Makes the ceiling on disk reach above a position that is about to be stored.
    fn reserve(&self, position: Lsn) -> Result<(), Error> {
        let mut on_disk = self.manifest.lock();
        on_disk.high = on_disk.high.max(position);
        if position <= on_disk.manifest.ceiling {
            return Ok(());
        }
        let mut manifest = on_disk.manifest.clone();
        manifest.ceiling = Lsn(position.0.saturating_add(CEILING_AHEAD));
        self.replace_manifest(&mut on_disk, manifest)
    }

    fn replace_manifest(&self, on_disk: &mut OnDisk, manifest: Manifest) -> Result<(), Error> {
        write(&self.manifest_path, &manifest)?;
        on_disk.manifest = manifest;
        Ok(())
    }

    /// The thread's life.
    fn work(&self) {
        loop {
            match self.queue().next() {
                Job::Stop => return,
                Job::Visit(id) => {
                    if self.visit(id).is_err() {
                        self.counters
                            .compactions_failed
                            .fetch_add(1, Ordering::Relaxed);
                    }
                    self.queue().end_visit();
                }
                Job::Remove(folder) => {
                    // A failure leaves garbage until the next opening, nothing worse.
                    let _ = remove_folder(&folder);
                    self.shared.leaving.fetch_sub(1, Ordering::SeqCst);
                }
            }
        }
    }

    fn visit(&self, id: SpaceId) -> Result<(), Error> {
        let space = {
            let live = self.live.lock();
            match live.generation.spaces.get(&id) {
                Some(pinned) => Arc::clone(&pinned.space),
                None => return Ok(()),
            }
        };
        space.tidy()?;
        self.counters.compacting.store(true, Ordering::Relaxed);
        let compacted = space.compact();
        self.counters.compacting.store(false, Ordering::Relaxed);
        if compacted? {
            self.counters.compactions.fetch_add(1, Ordering::Relaxed);
            // Unpins what was compacted away, so that the next visit tidies it up.
            self.publish(&space);
            self.queue().visit(id);
        }
        Ok(())
    }
}

fn write(path: &Path, manifest: &Manifest) -> Result<(), Error> {
    disk::replace_file(&RealDisk, path, &manifest.encode()).map_err(fault::disk)
}

/// Removes folders that the manifest does not list: of spaces that no checkpoint saw, or that were
/// dropped while they were read. Returns a number above all those left.
fn remove_unlisted(shared: &Shared, manifest: &Manifest, folders: &[String]) -> Result<u64, Error> {
    let numbers = || manifest.spaces.values().map(|listed| listed.folder);
    let listed: HashSet<String> = numbers().map(|number| number.to_string()).collect();
    for name in folders.iter().filter(|name| !listed.contains(*name)) {
        remove_folder(&shared.directory.join(name))?;
    }
    Ok(numbers().max().map_or(0, |highest| highest + 1))
}

fn remove_folder(path: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_base::Bytes;

    const SPACE: SpaceId = SpaceId(1);

    fn open(directory: &Path) -> LsmStore {
        LsmStore::open(&LsmConfig::new(directory)).unwrap()
    }

    fn merge(store: &LsmStore, puts: &[(u32, u64)]) -> MergeReport {
        let mut run = puts.iter().map(|(key, position)| {
            let value = Bytes::from(position.to_string());
            Operation::put(key.to_be_bytes().to_vec(), Lsn(*position), value)
        });
        store.merge(SPACE, &mut run).unwrap()
    }

    fn high(store: &LsmStore) -> Lsn {
        store.inner.space(SPACE).unwrap().high()
    }

    #[test]
    fn after_a_checkpoint_nothing_is_compared_that_came_later() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        merge(&store, &[(1, 10), (2, 20)]);
        store.checkpoint(Lsn(20)).unwrap();
        drop(store);
        let store = open(directory.path());
        assert_eq!(high(&store), Lsn(20));
        // Compaction gives the tree new versions, but brings nothing.
        for position in 30..50 {
            merge(&store, &[(1, position)]);
        }
        let merged = high(&store);
        store.checkpoint(Lsn(49)).unwrap();
        drop(store);
        let store = open(directory.path());
        assert_eq!(high(&store), merged);
    }

    #[test]
    fn what_was_merged_after_the_checkpoint_is_not_overwritten_by_what_is_older() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        merge(&store, &[(1, 10), (2, 20), (3, 30)]);
        store.checkpoint(Lsn(30)).unwrap();
        merge(&store, &[(1, 100), (2, 90)]);
        drop(store);
        for _ in 0..2 {
            // Once more after a merge that brought nothing new.
            let store = open(directory.path());
            assert!(high(&store) >= Lsn(100));
            let report = merge(&store, &[(1, 50), (2, 90), (3, 25), (4, 60)]);
            assert!(report.skipped >= 3, "{report:?}");
            let generation = store.newest_generation();
            for (key, position) in [(1u32, 100), (2, 90), (3, 30), (4, 60)] {
                let record = generation.get(SPACE, &key.to_be_bytes()).unwrap();
                assert_eq!(record.unwrap().position, Lsn(position), "key {key}");
            }
        }
    }

    /// Goal: what was removed at the head of a space is soon neither stored nor passed over. Method: fewer
    /// runs than the tree compacts by itself, so that only the removals are a reason.
    #[test]
    fn removals_and_what_they_hide_leave_a_worn_space() {
        use lsm_tree::AbstractTree;
        use quintet_dc::{Direction, KeyRange};
        use quintet_rt::{Clock, RealClock};
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let all: Vec<(u32, u64)> = (0..2000).map(|key| (key, 10)).collect();
        merge(&store, &all);
        let mut run = (0..300u32)
            .map(|key| Operation::remove(Bytes::copy_from_slice(&key.to_be_bytes()), Lsn(20)));
        store.merge(SPACE, &mut run).unwrap();
        let space = store.inner.space(SPACE).unwrap();
        let counts = || {
            (
                space.tree().approximate_len(),
                space.tree().tombstone_count(),
            )
        };
        for _ in 0..2000 {
            if counts() == (1700, 0) {
                break;
            }
            RealClock.sleep(Duration::from_millis(5));
        }
        assert_eq!(counts(), (1700, 0));
        let generation = store.newest_generation();
        let scan = generation.scan(SPACE, &KeyRange::all(), Direction::Forward);
        let (first, _) = scan.unwrap().next().unwrap().unwrap();
        assert_eq!(first[..], 300u32.to_be_bytes());
    }
}
