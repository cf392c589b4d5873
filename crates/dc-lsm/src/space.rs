//! One space: a tree in a folder of its own, its pins, its merges and its compaction.
//!
//! Relies on: one merge at a time (`merging`); one compaction at a time (`compacting`), by the
//! background thread alone.  Promises: a merge is in the tree whole or not at all, and durable when
//! it returns; what a pin needs stays; files left by a failed merge or compaction are removed.
//! Does not: know which generation is the newest; `store` does.
//!
//! ```text
//!   Live ──leave()──► Leaving (no new pins) ──last pin, scan and holder gone──► folder removed
//! ```
//!
//! The tree keeps a history of versions (sets of tablets). A pin at sequence number s needs the
//! newest version below s; everything older than what the lowest pin needs is let go by
//! [`Space::tidy`], and the files of tablets that no version names go with it.

use crate::again::Again;
use crate::compactor::Queue;
use crate::config::{Compression, LsmConfig};
use crate::fault;
use crate::files::OpenFiles;
use crate::generation::Pinned;
use crate::manifest::{Listed, Manifest};
use crate::pages::{Pages, Share};
use crate::patience::{self, Case, Questions, When, Worn, is_worn};
use crate::tablet::Tablet;
use crate::tablets::{Run, Tablets};
use crate::versions::{Bystander, Versions};
use crate::writing::{Among, Writing, Written};
use lsm_tree::compaction::Leveled;
use lsm_tree::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry,
    PinningPolicy,
};
use lsm_tree::{
    AbstractTree, AnyTree, Cache, DescriptorTable, SeqNo, SequenceNumberCounter, Table, TableId,
};
use parking_lot::Mutex;
use quintet_base::{Lsn, SpaceId};
use quintet_dc::{Change, Error, MergeReport, Operation};
use quintet_rt::{Disk, DiskFile, RealDisk, disk};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What all spaces of a store share.
pub(crate) struct Shared {
    pub(crate) cache: Arc<Cache>,
    pub(crate) again: Again,
    pub(crate) open_files: OpenFiles,
    pub(crate) pages: Pages,
    descriptors: Arc<DescriptorTable>,
    strategy: Arc<Leveled>,
    tablet_bytes: u64,
    compression: Compression,
    /// The folder of folders.
    pub(crate) directory: PathBuf,
    pub(crate) queue: Arc<Queue>,
    /// Spaces that were dropped and are still read. Up in `leave`, down when the last holder goes.
    pub(crate) leaving: AtomicU64,
    /// Keeps others out of the directory while any space is alive.
    _lock: Arc<dyn DiskFile>,
}

impl Shared {
    pub(crate) fn new(config: &LsmConfig, directory: PathBuf, lock: Arc<dyn DiskFile>) -> Shared {
        Shared {
            cache: Arc::new(Cache::with_capacity_bytes(config.cache_bytes)),
            again: Again::new(config.cache_bytes),
            pages: Pages::beside(config.cache_bytes),
            // Half for point reads, half for the tree's own: scans and what it asks itself.
            open_files: OpenFiles::new(config.open_files_max / 2),
            descriptors: Arc::new(DescriptorTable::new(config.open_files_max / 2)),
            strategy: Arc::new(Leveled::default().with_table_target_size(config.tablet_bytes)),
            tablet_bytes: config.tablet_bytes,
            compression: config.compression,
            directory,
            queue: Arc::new(Queue::quiet_after(config.quiet)),
            leaving: AtomicU64::new(0),
            _lock: lock,
        }
    }

    pub(crate) fn folder(&self, number: u64) -> PathBuf {
        self.directory.join(number.to_string())
    }
}

/// See the header.
pub(crate) struct Space {
    pub(crate) id: SpaceId,
    pub(crate) number: u64,
    folder: PathBuf,
    tree: AnyTree,
    /// What the next version will have as its sequence number.
    next: SequenceNumberCounter,
    /// One above the newest version's sequence number; the tree moves it when a version is in.
    visible: SequenceNumberCounter,
    /// The turn to merge, and what only its holder may change.
    merging: Mutex<Merging>,
    /// The turn to compact. Also taken, after `merging`, to look for leftovers.
    compacting: Mutex<()>,
    /// Tablets that compactions registered since the running merge began: the merge clears it, the
    /// background thread adds to it at the end of a turn.
    registered: Mutex<HashSet<TableId>>,
    /// Removals that the last compaction of the whole space has left. Written by compactions only.
    removals_left: AtomicU64,
    /// Since the last compaction.
    questions: Arc<Questions>,
    /// How many pins there are for each sequence number.
    pins: Mutex<BTreeMap<SeqNo, usize>>,
    /// Whose turn it is to write the tree's next version, and whether that may be done.
    versions: Arc<Versions>,
    leaving: AtomicBool,
    /// The tablets that were pinned last, with what is known of them.
    known: Mutex<HashMap<TableId, Arc<Tablet>>>,
    /// Of all bytes stored.
    share: Share,
    shared: Arc<Shared>,
}

struct Merging {
    /// No stored position is above.
    high: Lsn,
    /// What is stored above this is in tablets of merges from `since` on.
    settled: Lsn,
    since: SeqNo,
}

impl Space {
    /// An empty space in a folder that is not there yet. Its name is durable when this returns.
    pub(crate) fn create(
        shared: &Arc<Shared>,
        id: SpaceId,
        number: u64,
    ) -> Result<Arc<Space>, Error> {
        let space = Space::open_tree(shared, id, number, Lsn::ZERO)?;
        RealDisk.sync_dir(&shared.directory).map_err(fault::disk)?;
        Ok(Arc::new(space))
    }

    /// A space that the manifest lists.
    ///
    /// The process before this one may have been killed between naming a new version of the tree and
    /// making the name durable. What is opened here is taken for durable: merges skip what it has,
    /// the next checkpoint lets the log go that has it, and the tree removes the files of the version
    /// before. So it is made durable first, under its name anew: that of a sync that has failed is perhaps
    /// not made durable by one that does not.
    pub(crate) fn reopen(
        shared: &Arc<Shared>,
        id: SpaceId,
        listed: Listed,
        manifest: &Manifest,
    ) -> Result<Arc<Space>, Error> {
        let folder = shared.folder(listed.folder);
        let current = folder.join(CURRENT_FILE);
        // The tree would make a new, empty one without a word.
        if !RealDisk.exists(&current).map_err(fault::disk)? {
            return Err(Error::Damaged {
                path: current,
                what: format!("space {id} has no tree"),
            });
        }
        let named = disk::read_file(&RealDisk, &current).map_err(fault::disk)?;
        name_anew(&current, &named)?;
        remove_temporary_files(&folder)?;
        let mut space = Space::open_tree(shared, id, listed.folder, manifest.high)?;
        shared.pages.note_stored(&space.share, space.disk_bytes());
        // Something was merged after the checkpoint.
        if space.visible.get() > listed.next_merge {
            let merging = space.merging.get_mut();
            merging.high = manifest.ceiling;
            if listed.next_merge > 0 {
                (merging.settled, merging.since) = (manifest.high, listed.next_merge);
            }
        }
        Ok(Arc::new(space))
    }

    fn open_tree(
        shared: &Arc<Shared>,
        id: SpaceId,
        number: u64,
        high: Lsn,
    ) -> Result<Space, Error> {
        let folder = shared.folder(number);
        // From 1 on: number 0 means "whatever is oldest" to the tree.
        let (next, visible) = (SequenceNumberCounter::new(1), SequenceNumberCounter::new(1));
        let versions = Arc::<Versions>::default();
        let compression = shared.compression.of_blocks();
        // Of what compactions write; of runs see `writing`.
        let tree = lsm_tree::Config::new(&folder, next.clone(), visible.clone())
            .with_compaction_filter_factory(Some(Bystander::new(&versions, &shared.queue)))
            .use_cache(Arc::clone(&shared.cache))
            .use_descriptor_table(Some(Arc::clone(&shared.descriptors)))
            .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
            .data_block_compression_policy(CompressionPolicy::all(compression))
            // Index and filter blocks count against the cache like all others, so that one bound
            // holds for everything but their tops.
            .index_block_pinning_policy(PinningPolicy::all(false))
            .filter_block_pinning_policy(PinningPolicy::all(false))
            // In parts of a block each: whole ones are hundreds of kilobytes for a tablet, and a read
            // that misses the cache fetches one of each.
            .index_block_partitioning_policy(PinningPolicy::all(true))
            .filter_block_partitioning_policy(PinningPolicy::all(true))
            .filter_policy(filters())
            .open()
            .map_err(|e| fault::tree("open", &folder, e))?;
        let used = tree.get_highest_persisted_seqno().unwrap_or(0);
        next.fetch_max(used + 1);
        visible.fetch_max(used + 1);
        Ok(Space {
            id,
            number,
            folder,
            tree,
            next,
            visible,
            merging: Mutex::new(Merging {
                high,
                settled: Lsn::ZERO,
                since: 0,
            }),
            compacting: Mutex::default(),
            registered: Mutex::default(),
            removals_left: AtomicU64::new(0),
            questions: Arc::default(),
            pins: Mutex::default(),
            versions,
            leaving: AtomicBool::new(false),
            known: Mutex::default(),
            share: Share::default(),
            shared: Arc::clone(shared),
        })
    }

    /// No stored position is above.
    pub(crate) fn high(&self) -> Lsn {
        self.merging.lock().high
    }

    pub(crate) fn tree(&self) -> &AnyTree {
        &self.tree
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn pages(&self) -> &Pages {
        &self.shared.pages
    }

    pub(crate) fn questions(&self) -> &Questions {
        &self.questions
    }

    /// An empty space without a store, which nobody compacts by himself.
    #[cfg(test)]
    pub(crate) fn alone(config: &LsmConfig) -> Arc<Space> {
        let lock = RealDisk.open(&config.directory.join("lock"), quintet_rt::OpenMode::Create);
        let spaces = config.directory.join("spaces");
        RealDisk.create_dir_all(&spaces).unwrap();
        let shared = Arc::new(Shared::new(config, spaces, lock.unwrap()));
        Space::create(&shared, SpaceId(1), 0).unwrap()
    }

    #[cfg(test)]
    pub(crate) fn versions(&self) -> &Versions {
        &self.versions
    }

    /// The space as it is now.
    pub(crate) fn pin(self: &Arc<Space>) -> Arc<Pinned> {
        // Under the lock, so that `watermark` can not pass by between the look and the count.
        let mut pins = self.pins.lock();
        let at = self.visible.get();
        *pins.entry(at).or_insert(0) += 1;
        drop(pins);
        // After the pin was counted: no compaction drops what it needs. What is newer in these tablets has
        // a number at or above the pin's.
        Arc::new(Pinned {
            space: Arc::clone(self),
            at,
            tablets: self.tablets_now(),
        })
    }

    /// Those of the newest version.
    fn tablets_now(&self) -> Tablets {
        // In this order, so that what was known last is what is newest.
        let mut known = self.known.lock();
        let version = self.tree.current_version();
        let tablet = |table: &Table| match known.get(&table.id()) {
            Some(tablet) => Arc::clone(tablet),
            None => Arc::new(Tablet::new(self.tree.id(), table.clone(), &self.shared)),
        };
        let mut runs = Vec::new();
        for (level, in_level) in version.iter_levels().enumerate() {
            runs.extend(in_level.iter().map(|run| Run {
                is_deepest: level == DEEPEST,
                tablets: run.iter().map(tablet).collect(),
            }));
        }
        let tablets = Tablets::new(runs, &self.questions);
        *known = tablets
            .iter()
            .map(|tablet| (tablet.table().id(), Arc::clone(tablet)))
            .collect();
        tablets
    }

    pub(crate) fn unpin(&self, at: SeqNo) {
        let mut pins = self.pins.lock();
        let count = pins
            .get_mut(&at)
            .expect("every pin was counted when it was made");
        *count -= 1;
        if *count == 0 {
            pins.remove(&at);
            drop(pins);
            self.shared.queue.visit(self.id); // to tidy up
        }
    }

    /// Nobody reads below this number, now or later.
    fn watermark(&self) -> SeqNo {
        let pins = self.pins.lock();
        match pins.first_key_value() {
            Some((at, _)) => *at,
            None => self.visible.get(),
        }
    }

    /// Takes a run. `reserve` is told the highest position in it before the run becomes visible.
    pub(crate) fn merge(
        &self,
        run: &mut dyn Iterator<Item = Operation<'_>>,
        reserve: &dyn Fn(Lsn) -> Result<(), Error>,
    ) -> Result<MergeReport, Error> {
        let mut merging = self.merging.lock();
        if let Some(doubt) = self.versions.doubt() {
            return Err(self.in_doubt(&doubt));
        }
        self.registered.lock().clear();
        let before = self.table_files()?;
        match self.ingest(&merging, run, reserve) {
            Ok((report, high)) => {
                merging.high = high;
                self.note_written(&before);
                Ok(report)
            }
            Err(error) => {
                let _turn = self.compacting.lock();
                // Whatever came since the start is ours, unless a compaction put it there.
                let registered = self.registered.lock().clone();
                self.remove_leftovers(|table| {
                    !before.contains(table) && !registered.contains(table)
                });
                Err(error)
            }
        }
    }

    fn ingest(
        &self,
        merging: &Merging,
        run: &mut dyn Iterator<Item = Operation<'_>>,
        reserve: &dyn Fn(Lsn) -> Result<(), Error>,
    ) -> Result<(MergeReport, Lsn), Error> {
        let high = merging.high;
        let mut stored: Option<Tablets> = None;
        let failed = |e| fault::tree("merge into", &self.folder, e);
        let mut report = MergeReport::default();
        let mut new_high = high;
        let mut previous = Vec::new();
        // Made with the first operation that writes.
        let mut writing = None;
        for operation in run {
            operation.check(&previous)?;
            let Operation {
                key,
                position,
                change,
            } = operation;
            previous.clear();
            previous.extend_from_slice(&key);
            report.bytes += key.len() as u64;
            if let Change::Put(value) = &change {
                report.bytes += value.len() as u64;
            }
            if position <= high {
                // Also when compactions come meanwhile: they keep what these have.
                let tablets = stored.get_or_insert_with(|| self.tablets_now());
                let since = match position > merging.settled {
                    true => merging.since,
                    false => 0,
                };
                let found = tablets.get_since(since, &key, NEWEST)?;
                match found.map(|found| self.decode(found)).transpose()? {
                    Some(stored) if position <= stored.position => {
                        report.skipped += 1;
                        continue;
                    }
                    // Nowhere, that is, and not only in what was looked at.
                    None if change == Change::Remove && since == 0 => {
                        report.applied += 1;
                        continue;
                    }
                    _ => {}
                }
            }
            new_high = new_high.max(position);
            let writing = match &mut writing {
                Some(writing) => writing,
                None => writing.insert(self.writing(Among::of(&self.tree, &key))),
            };
            match change {
                Change::Put(value) => writing.put(&key, position, &value),
                Change::Remove => writing.remove(&key),
            }
            .map_err(failed)?;
            report.applied += 1;
        }
        if let Some(writing) = writing {
            let written = writing.finish().map_err(failed)?;
            reserve(new_high)?;
            let turn = self.versions.turn_to_merge();
            let turn = turn.map_err(|doubt| self.in_doubt(&doubt))?;
            if let Err(error) = self.register(written) {
                self.look_at_version(&error);
                return Err(failed(error));
            }
            drop(turn);
        }
        Ok((report, new_high))
    }

    fn writing(&self, among: Among) -> Writing<'_> {
        let folder = self.folder.join(TABLES_FOLDER);
        let Shared {
            tablet_bytes,
            compression,
            ..
        } = &*self.shared;
        Writing::new(&self.tree, &folder, *tablet_bytes, *compression, among)
    }

    /// Puts a run into the tree. The caller has the turn to write a version, so that nobody else takes the number that this one gets.
    fn register(&self, written: Vec<Written>) -> lsm_tree::Result<()> {
        // Tablets bear the number of the version that they come with: `since` and a reopened tree's counters go by it.
        let number = self.next.get();
        let tablet = |written: Written| {
            let descriptors = Some(Arc::clone(&self.shared.descriptors));
            let cache = Arc::clone(&self.shared.cache);
            let Written { path, checksum } = written;
            let tree = self.tree.id();
            Table::recover(
                path,
                checksum,
                number,
                tree,
                cache,
                descriptors,
                false,
                false,
            )
        };
        let tablets: Vec<Table> = written.into_iter().map(tablet).collect::<Result<_, _>>()?;
        self.tree.register_tables(&tablets, None, None, &[], 0)?;
        debug_assert_eq!(
            self.visible.get(),
            number + 1,
            "somebody else has written a version"
        );
        Ok(())
    }

    /// Tablets came that were not there `before`.
    fn note_written(&self, before: &HashSet<TableId>) {
        let version = self.tree.current_version();
        let new = version.iter_tables();
        let new = new.filter(|table| !before.contains(&table.id()));
        let pages = &self.shared.pages;
        pages.note_stored(&self.share, self.disk_bytes());
        pages.note_written(new);
    }

    fn in_doubt(&self, doubt: &str) -> Error {
        Error::io("merge into", &self.folder, io::Error::other(doubt))
    }

    /// After an error, by whoever has the turn to write a version: when the version on disk is another
    /// than the one in memory, the writing has failed at its very end, or it cannot be told.
    fn look_at_version(&self, error: &lsm_tree::Error) {
        #[cfg(test)]
        self.versions.moments.at_failure();
        if self.version_on_disk() != Some(self.tree.current_version().id()) {
            self.versions.set_doubt(&format!(
                "an earlier write has failed at its end ({error}); a restart settles what is there"
            ));
        }
    }

    /// Makes one step of compaction; false if there is nothing to do now.
    pub(crate) fn compact(&self) -> Result<bool, Error> {
        if self.leaving.load(Ordering::SeqCst) {
            return Ok(false);
        }
        let (before, outcome) = {
            let _turn = self.compacting.lock();
            let version = self.tree.current_version();
            let all_bytes = self.tree.disk_space();
            let removals = self.tree.tombstone_count();
            let left = self.removals_left.fetch_min(removals, Ordering::Relaxed);
            let is_worn = is_worn(&Worn {
                removals: removals.saturating_sub(left),
                records: self.records(),
                bytes: all_bytes,
            });
            if !is_worn && !self.is_time(all_bytes) {
                return Ok(false);
            }
            let before = self.table_files()?;
            let strategy = Arc::clone(&self.shared.strategy);
            let Some(writing) = self.versions.turn_to_compact() else {
                return Ok(false);
            };
            let outcome = if is_worn {
                let tablet_bytes = self.shared.tablet_bytes;
                self.tree.major_compact(tablet_bytes, self.watermark())
            } else {
                self.tree.compact(strategy, self.watermark())
            };
            if is_worn && outcome.is_ok() {
                // A pin may need some of them. Without this the next visit would begin anew.
                let left = self.tree.tombstone_count();
                self.removals_left.store(left, Ordering::Relaxed);
            }
            if let Err(error) = &outcome {
                self.look_at_version(error);
            }
            drop(writing);
            self.questions.forget();
            self.note_written(&before);
            let after = self.tree.current_version();
            let tables = after.iter_tables().map(Table::id);
            self.registered.lock().extend(tables);
            // A merge in between looks like a step, too; the next visit finds nothing to do.
            (before, outcome.map(|()| after.id() != version.id()))
        };
        outcome.map_err(|error| {
            // Nothing was compacted since, so every tablet in use was there before or is named by
            // the newest version.
            let _merging = self.merging.lock();
            let _turn = self.compacting.lock();
            self.remove_leftovers(|table| !before.contains(table));
            fault::tree("compact", &self.folder, error)
        })
    }

    /// Whether the tree may compact now, with so many bytes in all. If it is to come when there is quiet, the queue is
    /// told.
    fn is_time(&self, all_bytes: u64) -> bool {
        let version = self.tree.current_version();
        let new = version.l0();
        let new_bytes = new.size();
        let keys = new.aggregate_key_range();
        let mut older = version.iter_levels().skip(1).flat_map(|level| level.iter());
        let case = Case {
            runs: new.run_count(),
            tablets: new.table_count(),
            lies_apart: older.all(|run| run.get_overlapping(&keys).is_empty()),
            new_bytes,
            old_bytes: all_bytes - new_bytes,
            records: self.records(),
            questions: self.questions.count(),
        };
        match patience::when(&case) {
            When::Now => true,
            When::InQuiet => self.shared.queue.is_quiet_or_put_off(self.id),
            When::Later => false,
        }
    }

    /// Lets go what no pin needs.
    pub(crate) fn tidy(&self) -> Result<(), Error> {
        if self.tree.version_free_list_len() == 0 {
            return Ok(());
        }
        let watermark = self.watermark();
        let mut history = self.tree.get_version_history_lock();
        history
            .maintenance(&self.folder, watermark)
            .map_err(|e| fault::tree("tidy", &self.folder, e))
    }

    /// Merges that reads have to look through.
    pub(crate) fn overlapping_runs(&self) -> usize {
        self.tree.l0_run_count()
    }

    pub(crate) fn tablets(&self) -> u64 {
        self.tree.table_count() as u64
    }

    /// Records in all tablets, what newer ones hide among them.
    pub(crate) fn records(&self) -> u64 {
        self.tree.approximate_len() as u64
    }

    pub(crate) fn disk_bytes(&self) -> u64 {
        self.tree.disk_space()
    }

    /// The folder goes with the last holder of the space.
    pub(crate) fn leave(&self) {
        if !self.leaving.swap(true, Ordering::SeqCst) {
            self.shared.leaving.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Removes tablet files that fulfil a condition and that the newest version does not name. Best
    /// effort: what stays is removed at the next opening. The caller holds both turns.
    fn remove_leftovers(&self, is_candidate: impl Fn(&TableId) -> bool) {
        if self.versions.doubt().is_some() {
            return; // the version on disk may name tablets that memory does not
        }
        let version = self.tree.current_version();
        self.remove_unnamed_version(version.id() + 1);
        let named: HashSet<TableId> = version.iter_tables().map(Table::id).collect();
        let Ok(files) = self.table_files() else {
            return;
        };
        for table in files
            .iter()
            .filter(|table| is_candidate(table) && !named.contains(table))
        {
            // Not worth an error on top of the one being reported.
            let _ = RealDisk.remove(&self.folder.join(TABLES_FOLDER).join(table.to_string()));
        }
    }

    /// Removes the file of a version that was not finished. The next one would be written into it, and a
    /// name whose sync has failed is perhaps not made durable by another sync; a new name is.
    fn remove_unnamed_version(&self, number: u64) {
        match RealDisk.remove(&self.folder.join(format!("v{number}"))) {
            // A directory is nothing that a version would be written into.
            Err(error)
                if !matches!(
                    error.source.kind(),
                    ErrorKind::NotFound | ErrorKind::IsADirectory
                ) =>
            {
                let why = format!("the file of an unfinished version cannot be removed ({error})");
                self.versions.set_doubt(&why);
            }
            _ => {}
        }
    }

    fn table_files(&self) -> Result<HashSet<TableId>, Error> {
        let names = RealDisk
            .list(&self.folder.join(TABLES_FOLDER))
            .map_err(fault::disk)?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    fn version_on_disk(&self) -> Option<u64> {
        let bytes = disk::read_file(&RealDisk, &self.folder.join(CURRENT_FILE)).ok()?;
        Some(u64::from_le_bytes(*bytes.first_chunk()?))
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        self.shared.pages.note_stored(&self.share, 0);
        if self.leaving.load(Ordering::SeqCst) {
            self.shared.queue.remove(self.folder.clone());
        }
    }
}

/// From so many bytes on a data block is closed: with the record that does it, if it is a short one, and
/// the block's own index it still fits into a page, and so into the allocator's class of 4 KiB. In the
/// next class a cached block takes twice its bytes (24 MiB of blocks of 4,150 bytes: 55 MiB
/// resident, of 3,900 bytes: 33).
pub(crate) const BLOCK_BYTES: u32 = 3900;

/// The deepest level; see `tablets` for why it has no filters.
const DEEPEST: usize = 6;

/// Of each level that has filters.
pub(crate) const FILTER: BloomConstructionPolicy = BloomConstructionPolicy::BitsPerKey(10.0);

fn filters() -> FilterPolicy {
    let mut levels = vec![FilterPolicyEntry::Bloom(FILTER); DEEPEST];
    levels.push(FilterPolicyEntry::None);
    FilterPolicy::new(levels)
}

/// Reads whatever version is the newest when the tree looks. A number taken from `visible` without
/// a pin would not do: the version it belongs to may be let go before the tree looks.
const NEWEST: SeqNo = SeqNo::MAX;

/// Names inside a tree's folder, as the tree writes them.
const CURRENT_FILE: &str = "current";
const TABLES_FOLDER: &str = "tables";
const TEMPORARY_PREFIX: &str = ".tmp";

/// Makes a file durable under its name, whatever became of it before. A disk that is too full for that
/// does not keep anybody from opening what is there.
pub(crate) fn name_anew(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    match disk::replace_file(&RealDisk, path, bytes) {
        Err(error) if error.is_disk_full() => {
            let folder = path.parent().expect("a path with a name has a folder");
            RealDisk.sync_dir(folder)
        }
        replaced => replaced,
    }
    .map_err(fault::disk)
}

/// What a kill left of a file that was about to replace another.
fn remove_temporary_files(folder: &Path) -> Result<(), Error> {
    for name in RealDisk.list(folder).map_err(fault::disk)? {
        if name.starts_with(TEMPORARY_PREFIX) {
            RealDisk.remove(&folder.join(name)).map_err(fault::disk)?;
        }
    }
    Ok(())
}
