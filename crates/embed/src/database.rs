//! A database in a directory: opened once, shared by all sessions.
//!
//! Relies on: every room below; this is where they are wired.  Promises: one process at a time holds
//! the directory; opening recovers; closing loses nothing.  Does not: listen on a network.
//!
//! ```text
//! DIR/FORMAT    one line: the format's version
//! DIR/LOCK      held while a process has the directory open
//! DIR/log/      the redo log's segments
//! DIR/store/    STORE
//! DIR/temp/     rows of statements that memory has no room for
//! ```
//!
//! System spaces: 1 catalogue records of the first database, and what all share, 2 sequence counters, 3 the turn of schema changes, 4 names of
//! key-value buckets, 5 tables as they were (`past`), 6 what was committed ahead of a schema change. Buckets live from [`FIRST_BUCKET`] up, tables and indexes below.

use crate::activity::Activity;
use crate::advisory::AdvisoryLocks;
use crate::alarms::Alarms;
use crate::batches::{BatchStats, Batches};
use crate::chains::{ChainStats, Chains};
use crate::channels::Channels;
use crate::classified::Levels;
use crate::contention::Contention;
use crate::databases::{House, Place, Shared, spaces_of_others};
use crate::history::{self, History};
use crate::past::PAST_SPACE;
use crate::session::{Session, SessionOptions};
use crate::spill::SpillRoom;
use crate::temporary::{Kept, Numbers};
use crate::transaction_numbers::TransactionNumbers;
use arc_swap::{ArcSwap, Guard};
use quintet_base::ids::TEMPORARY;
use quintet_base::{Durability, Level, Lsn, SpaceId, SqlError, SqlResult, Timestamp, limits};
use quintet_dc::{DataComponent, Direction, KeyRange};
use quintet_dc_lsm::{LsmConfig, LsmStore};
use quintet_direct::{AHEAD_SPACE, Direct};
use quintet_engine::Engine;
use quintet_rt::disk::{read_file, replace_file};
use quintet_rt::{Clock, Disk, DiskFile, OpenMode, RealClock, RealDisk};
use quintet_sql::Catalog;
use quintet_sql::role::Login;
use quintet_tc::{
    PostFailure, Posting, Recovered, Recovery, RecoveryOptions, RecoveryProgress, Tc, TcConfig,
    TcStats, Warmed, replay_lanes,
};
use quintet_wal::{ArchiveConfig, Wal, WalConfig, WalReport, WalStats};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Version of the directory's format; another one is refused.
pub(crate) const FORMAT: &str = "quintet 1\n";
/// Holds the records that schema changes write, so that they take turns: see `session::turn`.
pub(crate) const TURN_SPACE: SpaceId = SpaceId(3);
/// Names of key-value buckets to their spaces.
pub(crate) const BUCKET_SPACE: SpaceId = SpaceId(4);
/// Key-value buckets have spaces from here up, far from the catalogue's numbers.
pub(crate) const FIRST_BUCKET: u32 = 0x8000_0000;

/// What the program takes whatever the bound, as measured at 256 MiB with more data than memory: code,
/// threads, STORE's merges, and what the allocator holds back.
const FIXED_BYTES: usize = 96 << 20;

/// Where a database lives and what it may use.
#[derive(Clone, Debug)]
pub struct DatabaseConfig {
    /// The directory; made if it is not there.
    pub data: PathBuf,
    /// Bound on the memory for rows, caches and write buffers, in bytes.
    pub memory_bytes: usize,
    /// When a commit is answered.
    pub durability: Durability,
    /// Size of a log segment file, in bytes.
    pub log_segment_bytes: usize,
    /// Longest wait for a sync under `async`, in milliseconds.
    pub async_flush_interval_ms: u64,
    /// Where the log is kept when it is needed no more; `None`: nowhere.
    pub archive: Option<ArchiveConfig>,
    /// How commits get into STORE.
    pub posting: Posting,
    /// Which engine runs calls in sessions that do not say (`quintet.engine`).
    pub engine: Engine,
    /// Batches that run side by side at most, for each level.
    pub lanes: usize,
    /// How far back the past can be read (`quintet.as_of`), 24 hours at most; zero: not at all.
    pub history: Duration,
}

impl DatabaseConfig {
    /// The defaults for a directory.
    pub fn new(data: impl Into<PathBuf>) -> DatabaseConfig {
        DatabaseConfig {
            data: data.into(),
            memory_bytes: limits::MEMORY_BYTES_DEFAULT,
            durability: Durability::Sync,
            log_segment_bytes: limits::LOG_SEGMENT_BYTES,
            async_flush_interval_ms: limits::ASYNC_FLUSH_INTERVAL_MS,
            archive: None,
            posting: Posting::default(),
            engine: Engine::default(),
            lanes: quintet_tc::replay_lanes(),
            history: Duration::ZERO,
        }
    }
}

/// What opening did.
#[derive(Clone, Debug)]
pub struct OpenReport {
    /// The directory was empty.
    pub created: bool,
    /// The log as it was found.
    pub log: WalReport,
    /// What was replayed.
    pub recovery: Recovery,
    /// Spaces left over from a crash and removed.
    pub orphans: usize,
    /// How long it took.
    pub seconds: f64,
    /// A crash from now on leaves at most so many bytes of log to be replayed: commits wait for
    /// STORE rather than let it grow longer.
    pub replay_bytes_max: u64,
}

/// Why a database could not be opened or used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has the directory open.
    #[error("the data directory {0} is in use by another process")]
    InUse(PathBuf),
    /// Not a directory of ours, or of another version.
    #[error("the data directory {path} has format {found:?}, this program reads {FORMAT:?}")]
    Format {
        /// Which.
        path: PathBuf,
        /// What its FORMAT file says.
        found: String,
    },
    /// The operating system.
    #[error("the data directory cannot be used")]
    Disk(#[from] quintet_rt::Error),
    /// The log.
    #[error("the log cannot be opened")]
    Log(#[from] quintet_wal::Error),
    /// STORE.
    #[error("the store cannot be opened")]
    Store(#[from] quintet_dc::Error),
    /// Replay, or a key-value operation.
    #[error(transparent)]
    Transaction(#[from] quintet_tc::Error),
    /// The catalogue.
    #[error("the catalogue cannot be read")]
    Catalog(#[source] SqlError),
}

/// A schema, and since when it is the newest.
pub(crate) struct Schema {
    pub catalog: Catalog,
    /// Commit that made it; `MAX` while its transaction runs.
    pub timestamp: Timestamp,
    /// Never the same for two schemas; of two that were committed the later one has the greater.
    pub revision: u64,
    /// Of the catalogue's routines.
    pub classes: Levels,
}

/// What all handles and sessions share.
pub(crate) struct Inner {
    pub temporary: Numbers,
    /// What is in the temporary schemas.
    pub kept: Kept,
    pub durability: Durability,
    /// Of sessions that do not say.
    pub engine: Engine,
    pub clock: Arc<dyn Clock>,
    pub log: Arc<Wal>,
    pub store: Arc<dyn DataComponent>,
    pub tc: Tc,
    pub direct: Direct,
    /// For rows of statements.
    pub spill: Arc<SpillRoom>,
    /// See [`Inner::schema`].
    pub schema: ArcSwap<Schema>,
    pub revisions: AtomicU64,
    /// Calls that were run again after a lost conflict.
    pub retries: AtomicU64,
    /// Transactions that were undone.
    pub rollbacks: AtomicU64,
    /// Calls in line, of sessions whose engine is the chain.
    pub chains: Arc<Chains>,
    /// Calls in batches, of sessions whose engine is the queue.
    pub batches: Arc<Batches>,
    /// Who is connected.
    pub activity: Arc<Activity>,
    pub channels: Arc<Channels>,
    pub advisory: Arc<AdvisoryLocks>,
    pub alarms: Arc<Alarms>,
    pub numbers: Arc<TransactionNumbers>,
    /// What it has in common with the other databases of the directory.
    pub house: Arc<House>,
    /// Which of them it is.
    pub place: Place,
    /// What was in the way of whom.
    pub contention: Contention,
    /// Moments that can be read.
    pub history: History,
    /// Held while the directory is open.
    pub _lock: Arc<dyn DiskFile>,
}

/// An open database. Clones share it.
#[derive(Clone)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
    /// It keeps the others.
    pub(crate) _first: Option<Arc<Inner>>,
}

/// Counters of all rooms.
#[derive(Clone, Debug)]
pub struct DatabaseStats {
    /// The transaction component.
    pub tc: TcStats,
    /// The log.
    pub log: WalStats,
    /// STORE.
    pub store: quintet_dc::DcStats,
    /// Calls that were run again because they had lost a conflict.
    pub retries: u64,
    /// Calls that were put in line before they were run.
    pub chains: ChainStats,
    /// Calls that were run in batches.
    pub batches: BatchStats,
}

impl Database {
    /// Opens a directory, making it if need be, and recovers. What STORE has is brought into memory in
    /// the background, as far as it fits.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn open(config: DatabaseConfig) -> Result<(Database, OpenReport), Error> {
        Database::open_telling(config, &mut |_| {}, |_| {})
    }

    /// As [`Database::open`]; calls `progress` about once a second while it recovers, and `warmed`, on
    /// a thread in the background, when memory has what it takes.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn open_telling(
        config: DatabaseConfig,
        progress: &mut dyn FnMut(&RecoveryProgress),
        warmed: impl FnOnce(Warmed) + Send + 'static,
    ) -> Result<(Database, OpenReport), Error> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let (database, report) = Database::recover_on(disk, Arc::new(RealClock), config, progress)?;
        database.inner.tc.warm_in_background(warmed);
        history::keep(&database.inner);
        Ok((database, report))
    }

    #[cfg(test)]
    pub(crate) fn open_on(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        config: DatabaseConfig,
    ) -> Result<(Database, OpenReport), Error> {
        Database::recover_on(disk, clock, config, &mut |_| {})
    }

    fn recover_on(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        config: DatabaseConfig,
        progress: &mut dyn FnMut(&RecoveryProgress),
    ) -> Result<(Database, OpenReport), Error> {
        let started = clock.monotonic_nanos();
        let data = &config.data;
        make_directory(&*disk, data)?;
        refuse_foreign(&*disk, data)?;
        let lock = disk.open(&data.join("LOCK"), OpenMode::Create)?;
        if !lock.try_lock()? {
            return Err(Error::InUse(data.clone()));
        }
        let created = check_format(&*disk, data)?;
        let spill = SpillRoom::open(&disk, data)?;
        let memory = config.memory_bytes;
        let memory = memory.saturating_sub(FIXED_BYTES).max(memory / 4);
        let store_bytes = memory / 8 * 3;
        let store: Arc<dyn DataComponent> = Arc::new(LsmStore::open(&LsmConfig {
            cache_bytes: store_bytes as u64,
            ..LsmConfig::new(data.join("store"))
        })?);
        let wal = WalConfig {
            durability: config.durability,
            segment_bytes: config.log_segment_bytes,
            async_flush_interval_ms: config.async_flush_interval_ms,
            pending_bytes_max: memory / 8,
            ring_bytes: TcConfig::ring_bytes(memory),
            keep_in_memory: true,
            archive: config.archive,
            ..log_config(data)
        };
        let opening = quintet_wal::Opening::begin(disk, wal, Some(store.redo_start()))?;
        let options = RecoveryOptions {
            lanes: replay_lanes(),
            clock: &*clock,
            progress,
        };
        let tc_config = TcConfig {
            posting: config.posting,
            lent_bytes_max: store_bytes,
            clock: Arc::clone(&clock),
            ..TcConfig::for_memory(memory)
        };
        let recovered = Tc::recover(opening, Arc::clone(&store), tc_config, options)?;
        let Recovered {
            tc,
            log,
            log_report,
            recovery,
        } = recovered;
        let (mut catalog, buckets) = load_catalog(&tc)?;
        let mut used = catalog.spaces();
        used.extend([TURN_SPACE, BUCKET_SPACE, PAST_SPACE, AHEAD_SPACE]);
        used.extend(buckets);
        used.extend(spaces_of_others(&tc, &catalog)?);
        // Before anything is forgotten.
        let stored = SpaceId(0)..SpaceId(TEMPORARY.start);
        if let Some(highest) = tc.highest_space(stored) {
            catalog.pass_over(highest);
        }
        let house = Arc::<House>::default();
        let temporary = SpaceId(TEMPORARY.start)..SpaceId(TEMPORARY.end);
        if let Some(highest) = tc.highest_space(temporary) {
            house.blocks.begin_behind(highest);
        }
        let orphans = tc.retain_spaces(&used)?.len();
        let schema = Schema {
            catalog,
            timestamp: tc.visible(),
            revision: 1,
            classes: Levels::default(),
        };
        let inner = Inner {
            temporary: Numbers::default(),
            kept: Kept::default(),
            durability: config.durability,
            engine: config.engine,
            direct: Direct::new(tc.clone()),
            spill,
            schema: ArcSwap::from_pointee(schema),
            retries: AtomicU64::new(0),
            rollbacks: AtomicU64::new(0),
            channels: Arc::default(),
            advisory: Arc::default(),
            numbers: Arc::default(),
            alarms: Arc::new(Alarms::new(Arc::clone(&clock))),
            chains: Arc::new(Chains::new(Arc::clone(&clock))),
            batches: Arc::new(Batches::new(config.lanes)),
            activity: Arc::default(),
            contention: Contention::default(),
            history: History::new(config.history),
            revisions: AtomicU64::new(2),
            house,
            place: Place::first(),
            _lock: lock,
            clock: Arc::clone(&clock),
            log,
            store,
            tc,
        };
        let seconds = (clock.monotonic_nanos() - started) as f64 / 1e9;
        let replay_bytes_max = inner.log.ring_bytes();
        let report = OpenReport {
            created,
            log: log_report,
            recovery,
            orphans,
            seconds,
            replay_bytes_max,
        };
        let inner = Arc::new(inner);
        inner.house.found(&inner);
        inner.open_others()?;
        for database in inner.house.all() {
            database.drop_left_over()?;
        }
        let database = Database {
            inner,
            _first: None,
        };
        Ok((database, report))
    }

    /// Opens a SQL session.
    ///
    /// # Errors
    /// What a startup setting says that cannot be honoured.
    pub fn session(&self, options: SessionOptions) -> SqlResult<Session> {
        Session::open(Arc::clone(&self.inner), options)
    }

    /// What a log-in has to know of a role; `None`: there is no such role.
    pub fn login(&self, name: &str) -> Option<Login> {
        self.inner.schema().catalog.roles().login(name)
    }

    /// Whether any role has a password.
    pub fn any_password(&self) -> bool {
        self.inner.schema().catalog.roles().any_password()
    }

    /// Moves everything committed so far into STORE.
    ///
    /// # Errors
    /// The text of what went wrong; it is tried again by itself.
    pub fn compact(&self) -> Result<(), String> {
        self.inner.tc.compact().map_err(|failure| failure.reason)
    }

    /// Has `watcher` told of every attempt to move what was committed into STORE that fails, and, with
    /// `None`, of the first one after that succeeds; see [`Tc::watch_posts`].
    pub fn watch_posts(&self, watcher: impl Fn(Option<&PostFailure>) + Send + Sync + 'static) {
        self.inner.tc.watch_posts(watcher);
    }

    /// Counters, of all databases of the directory together.
    pub fn stats(&self) -> DatabaseStats {
        let mut stats = DatabaseStats {
            tc: self.inner.tc.stats(),
            log: self.inner.log.stats(),
            store: self.inner.store.stats(),
            retries: 0,
            chains: ChainStats::default(),
            batches: BatchStats::default(),
        };
        for database in self.inner.house.all() {
            stats.retries += database.retries.load(Ordering::Relaxed);
            stats.chains.add(&database.chains.stats());
            stats.batches.add(&database.batches.stats());
        }
        stats
    }

    /// The log up to here survives a crash, whatever the durability. A commit does when this has reached the
    /// timestamp of a later one: timestamps are places in the log.
    pub fn durable(&self) -> Lsn {
        self.inner.log.durable()
    }

    /// Makes everything committed so far durable, whatever the durability, and stops the log. Sessions
    /// still open can read, but no longer commit.
    ///
    /// # Errors
    /// The log could not be synced.
    pub fn close(&self) -> Result<(), Error> {
        self.inner.log.flush()?;
        self.inner.log.shutdown();
        Ok(())
    }

    /// Names of the tables, for `inspect`; those of databases beside the first with theirs.
    pub fn tables(&self) -> Vec<String> {
        let mut names = Vec::new();
        for database in self.inner.house.all() {
            let prefix = match database.place.is_first() {
                true => String::new(),
                false => format!("{}.", database.name()),
            };
            let schema = database.schema();
            let tables = schema.catalog.tables();
            names.extend(tables.map(|table| format!("{prefix}{}.{}", table.schema, table.name)));
        }
        names
    }
}

impl Inner {
    /// The newest committed schema.
    pub fn schema(&self) -> Arc<Schema> {
        self.schema.load_full()
    }

    /// Puts the newest committed schema in the place of an older one. If it is there already, no thread
    /// notices that another asks.
    pub fn refresh(&self, schema: &mut Arc<Schema>) {
        let newest = self.schema.load();
        if !Arc::ptr_eq(&newest, schema) {
            *schema = Guard::into_inner(newest);
        }
    }

    /// Whether it is the newest committed schema. No thread notices that another asks.
    pub fn is_newest(&self, schema: &Arc<Schema>) -> bool {
        Arc::ptr_eq(&self.schema.load(), schema)
    }

    pub fn next_revision(&self) -> u64 {
        self.revisions.fetch_add(1, Ordering::Relaxed)
    }

    /// Drops temporary tables that are in the catalogue, as versions before 28 November 2026 had them there.
    fn drop_left_over(self: &Arc<Inner>) -> Result<(), Error> {
        for number in self.schema().catalog.temporary_sessions() {
            let session = Session::open(Arc::clone(self), SessionOptions::default());
            let dropped = session.and_then(|mut session| session.drop_left_over(number));
            dropped.map_err(Error::Catalog)?;
        }
        Ok(())
    }

    /// To be called by whoever has the turn to change the schema, before the commit that gives the turn away.
    pub fn about_to_publish(self: &Arc<Inner>, shared: Shared) -> Unpublished {
        let databases = match shared {
            Shared::Changed | Shared::ChangedAlone => self.house.all(),
            Shared::AsItIs => vec![Arc::clone(self)],
        };
        for database in &databases {
            database.place.unpublished.fetch_add(1, Ordering::AcqRel);
        }
        Unpublished(databases)
    }

    /// A schema change is visible a moment before its schema is published; nobody may plan with the
    /// old one after that. The moment is a few instructions of the committing thread.
    pub fn wait_for_schema(&self) {
        let house = &self.house;
        // Fences are of all databases, and so may be told of by another one's change before this one's is.
        let is_known = || {
            house.published() >= self.tc.last_fence()
                && self.place.unpublished.load(Ordering::Acquire) == 0
        };
        if is_known() {
            return;
        }
        let mut guard = house.told.0.lock();
        while !is_known() {
            house.told.1.wait(&mut guard);
        }
    }

    /// To be called with the turn to change the schema: the turn comes with the commit of the change before,
    /// a moment before that one is published, and not every change raises a fence to wait for.
    pub fn wait_for_published(&self) {
        let is_published = || self.place.unpublished.load(Ordering::Acquire) == 0;
        let mut guard = self.house.told.0.lock();
        while !is_published() {
            self.house.told.1.wait(&mut guard);
        }
    }
}

/// From before a commit of a schema change until its schema is published, or the commit has failed.
pub(crate) struct Unpublished(Vec<Arc<Inner>>);

impl Drop for Unpublished {
    fn drop(&mut self) {
        for database in &self.0 {
            database.place.unpublished.fetch_sub(1, Ordering::AcqRel);
        }
        if let Some(one) = self.0.first() {
            let _guard = one.house.told.0.lock();
            one.house.told.1.notify_all();
        }
    }
}

impl Schema {
    /// For messages about spaces.
    pub fn catalog_names(&self) -> impl Fn(SpaceId) -> Option<String> + '_ {
        |space| {
            self.catalog
                .tables()
                .find(|table| table.space == space)
                .map(|table| table.name.clone())
        }
    }
}

/// Where the log of a data directory is.
pub(crate) fn log_config(data: &Path) -> WalConfig {
    WalConfig::new(data.join("log"))
}

/// Makes the directory so that power loss cannot take its name, and with it everything inside. A
/// level is durable before the next one is made, so what a crash leaves is at most a last level that
/// is not; that one is made durable here even if it is there.
pub(crate) fn make_directory(disk: &dyn Disk, data: &Path) -> Result<(), Error> {
    if disk.exists(&data.join("FORMAT"))? {
        return Ok(()); // whoever wrote it had come past here
    }
    let mut levels = Vec::new();
    for level in data.ancestors().filter(|level| level.parent().is_some()) {
        let is_there = disk.exists(level)?;
        levels.push((level, is_there));
        if is_there {
            break;
        }
    }
    for (level, is_there) in levels.into_iter().rev() {
        disk.create_dir_all(level)?;
        let above = level.parent().expect("only those with one were taken");
        // The directory of a bare name is the current one.
        let is_bare = above.as_os_str().is_empty();
        let above = if is_bare { Path::new(".") } else { above };
        match disk.sync_dir(above) {
            // Somebody made it for us in a directory that we may not even read.
            Err(e) if is_there && e.source.kind() == ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
    }
    Ok(())
}

/// Leaves a directory of somebody else's as it is.
fn refuse_foreign(disk: &dyn Disk, data: &Path) -> Result<(), Error> {
    // A crash while the directory was being made leaves at most these.
    let ours = ["LOCK", "FORMAT.new", "lost+found"];
    let named = disk.exists(&data.join("FORMAT"))?;
    if !named
        && disk
            .list(data)?
            .iter()
            .any(|name| !ours.contains(&name.as_str()))
    {
        let found = "none, but other files".to_string();
        return Err(Error::Format {
            path: data.to_path_buf(),
            found,
        });
    }
    Ok(())
}

/// Writes the format into an empty directory, checks it in any other. True if it was empty.
fn check_format(disk: &dyn Disk, data: &Path) -> Result<bool, Error> {
    let path = data.join("FORMAT");
    if disk.exists(&path)? {
        let found = read_file(disk, &path)?;
        if found != FORMAT.as_bytes() {
            let found = String::from_utf8_lossy(&found).into_owned();
            return Err(Error::Format {
                path: data.to_path_buf(),
                found,
            });
        }
        return Ok(false);
    }
    replace_file(disk, &path, FORMAT.as_bytes())?;
    Ok(true)
}

/// The catalogue, and the spaces of key-value buckets.
fn load_catalog(tc: &Tc) -> Result<(Catalog, Vec<SpaceId>), Error> {
    let records = records_of(tc, Catalog::SPACE)?;
    let txn = tc.begin(Level::Snapshot);
    let mut buckets = Vec::new();
    let mut scan = txn.scan(BUCKET_SPACE, &KeyRange::all(), Direction::Forward)?;
    while let Some((_, value)) = scan.next(&txn)? {
        buckets.extend(crate::kv::bucket_space(&value));
    }
    Ok((Catalog::load(records).map_err(Error::Catalog)?, buckets))
}

/// Keys and values.
type Records = Vec<(Vec<u8>, Vec<u8>)>;

/// The records of a catalogue.
pub(crate) fn records_of(tc: &Tc, space: SpaceId) -> Result<Records, Error> {
    let txn = tc.begin(Level::Snapshot);
    let mut records = Vec::new();
    let mut scan = txn.scan(space, &KeyRange::all(), Direction::Forward)?;
    while let Some((key, value)) = scan.next(&txn)? {
        records.push((key.to_vec(), value.to_vec()));
    }
    Ok(records)
}
