//! A component on simulated media that survive its crash.

#![allow(dead_code)] // each test binary uses a part

use quintet_base::{Bytes, Durability, Lsn, SpaceId};
use quintet_dc::{
    DataComponent, DcStats, Direction, Generation, KeyRange, MemoryMedium, MemoryStore,
    MergeReport, Operation, Record, RecordScan,
};
use quintet_rt::{Clock, Disk, RealClock, SimDisk};
use quintet_tc::{Error, Posting, Recovered, Recovery, RecoveryOptions, Tc, TcConfig, Txn};
use quintet_wal::{Opening, Wal, WalConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub const SPACE: SpaceId = SpaceId(100);

pub const TINY_RING: usize = 128 << 10;

pub fn tiny() -> TcConfig {
    TcConfig {
        freeze_bytes: 16 << 10,
        posting: Posting::Frozen,
        cache_bytes_max: 16 << 10,
        lent_bytes_max: 0,
        transaction_bytes_max: 48 << 10,
        ..TcConfig::for_memory(0)
    }
}

/// What outlives the process: the log's disk and STORE's medium.
pub struct Media {
    pub disk: SimDisk,
    pub medium: MemoryMedium,
}

/// A running component and its log.
pub struct Running {
    pub tc: Tc,
    pub log: Arc<Wal>,
    pub recovery: Recovery,
}

impl Media {
    pub fn new(seed: u64) -> Media {
        Media {
            disk: SimDisk::new(seed),
            medium: MemoryMedium::default(),
        }
    }

    pub fn open(&self, durability: Durability) -> Running {
        self.open_with(durability, TcConfig::for_memory(64 << 20))
    }

    pub fn open_with(&self, durability: Durability, config: TcConfig) -> Running {
        self.open_on(
            Arc::new(MemoryStore::open(&self.medium)),
            durability,
            config,
            32 << 20,
        )
    }

    fn log(&self, durability: Durability, ring_bytes: usize) -> (Arc<dyn Disk>, WalConfig) {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let wal = WalConfig {
            durability,
            segment_bytes: 1 << 20,
            async_flush_interval_ms: 5,
            pending_bytes_max: 16 << 20,
            ring_bytes,
            record_bytes_max: ring_bytes / 2,
            keep_in_memory: true,
            ..WalConfig::new("/log")
        };
        (disk, wal)
    }

    /// Reads the log once, into so many lanes.
    pub fn recover(
        &self,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
        ring_bytes: usize,
        lanes: usize,
    ) -> Result<Recovered, Error> {
        let options = RecoveryOptions {
            lanes,
            clock: &RealClock,
            progress: &mut |_| {},
        };
        self.recover_with(store, config, ring_bytes, options)
    }

    pub fn recover_with(
        &self,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
        ring_bytes: usize,
        options: RecoveryOptions<'_>,
    ) -> Result<Recovered, Error> {
        let (disk, wal) = self.log(Durability::Sync, ring_bytes);
        let opening = Opening::begin(disk, wal, Some(store.redo_start())).map_err(Error::Log)?;
        Tc::recover(opening, store, config, options)
    }

    /// With bounds so small that everything is posted, reclaimed and evicted all the time.
    pub fn open_tiny(&self, durability: Durability) -> Running {
        let store = Arc::new(MemoryStore::open(&self.medium));
        self.open_on(store, durability, tiny(), TINY_RING)
    }

    pub fn open_on(
        &self,
        store: Arc<dyn DataComponent>,
        durability: Durability,
        config: TcConfig,
        ring_bytes: usize,
    ) -> Running {
        let (disk, wal) = self.log(durability, ring_bytes);
        let (log, _) = Wal::open(disk, wal, Some(store.redo_start())).expect("the log opens");
        let (tc, recovery) =
            Tc::open(Arc::clone(&log), store, config).expect("the component opens");
        Running { tc, log, recovery }
    }
}

pub fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

pub fn get(txn: &Txn, key: &str) -> Option<String> {
    let value = txn.get(SPACE, key.as_bytes()).expect("reads succeed");
    value.map(|value| String::from_utf8(value.to_vec()).unwrap())
}

pub fn put(txn: &mut Txn, key: &str, value: &str) {
    txn.put(SPACE, bytes(key), bytes(value))
        .expect("small writes fit");
}

/// All rows, in order.
pub fn rows(txn: &Txn) -> Vec<(String, String)> {
    let mut scan = txn
        .scan(
            SPACE,
            &quintet_dc::KeyRange::all(),
            quintet_dc::Direction::Forward,
        )
        .expect("scans succeed");
    let mut rows = vec![];
    while let Some((key, value)) = scan.next(txn).expect("scans succeed") {
        let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        rows.push((text(key), text(value)));
    }
    rows
}

/// Commits; waits for whatever blocks.
pub fn commit(
    tc: &Tc,
    mut txn: Txn,
    durability: Durability,
) -> Result<quintet_tc::Committed, Error> {
    loop {
        match txn.commit(durability) {
            Ok(committed) => {
                if let Some(lsn) = committed.durable_at {
                    tc.when_durable(lsn).wait().map_err(Error::Log)?;
                }
                return Ok(committed);
            }
            Err(Error::Blocked(wait)) => wait.wait(),
            Err(error) => return Err(error),
        }
    }
}

/// Sets keys in one transaction.
pub fn set(tc: &Tc, pairs: &[(&str, &str)]) {
    let mut txn = tc.begin(quintet_base::Level::Snapshot);
    for (key, value) in pairs {
        put(&mut txn, key, value);
    }
    commit(tc, txn, Durability::Sync).expect("nothing conflicts");
}

/// A store in memory that a test can slow down, break and count.
pub struct Watched {
    store: MemoryStore,
    /// Merges and checkpoints fail from here on.
    pub broken: AtomicBool,
    /// So many merges and checkpoints more succeed, then one fails.
    pub fail_after: AtomicU64,
    /// A merge takes at least so long.
    pub merge_ms: AtomicU64,
    /// What it says that its cache holds.
    pub cached: AtomicU64,
    pub merges: AtomicU64,
    /// Point reads and scans of its generations.
    pub reads: Arc<AtomicU64>,
    /// Point reads that they were told of before.
    pub announced: Arc<AtomicU64>,
}

struct Counted {
    generation: Arc<dyn Generation>,
    reads: Arc<AtomicU64>,
    announced: Arc<AtomicU64>,
}

impl Watched {
    pub fn open(medium: &MemoryMedium) -> Arc<Watched> {
        Arc::new(Watched {
            store: MemoryStore::open(medium),
            broken: AtomicBool::new(false),
            fail_after: AtomicU64::new(u64::MAX),
            merge_ms: AtomicU64::new(0),
            merges: AtomicU64::new(0),
            cached: AtomicU64::new(0),
            reads: Arc::default(),
            announced: Arc::default(),
        })
    }

    fn fails(&self) -> Result<(), quintet_dc::Error> {
        let left = self.fail_after.load(Ordering::Acquire);
        if left != u64::MAX {
            let left = left.checked_sub(1).unwrap_or(u64::MAX);
            self.fail_after.store(left, Ordering::Release);
        }
        if left == 0 || self.broken.load(Ordering::Acquire) {
            let source = Arc::new(std::io::ErrorKind::StorageFull.into());
            return Err(quintet_dc::Error::DiskFull { source });
        }
        Ok(())
    }
}

impl DataComponent for Watched {
    fn generation(&self) -> Arc<dyn Generation> {
        Arc::new(Counted {
            generation: self.store.generation(),
            reads: Arc::clone(&self.reads),
            announced: Arc::clone(&self.announced),
        })
    }

    fn merge(
        &self,
        space: SpaceId,
        run: &mut dyn Iterator<Item = Operation<'_>>,
    ) -> Result<MergeReport, quintet_dc::Error> {
        self.fails()?;
        self.merges.fetch_add(1, Ordering::Relaxed);
        let ms = self.merge_ms.load(Ordering::Relaxed);
        RealClock.sleep(std::time::Duration::from_millis(ms));
        self.store.merge(space, run)
    }

    fn checkpoint(&self, redo_start: Lsn) -> Result<(), quintet_dc::Error> {
        self.fails()?;
        self.store.checkpoint(redo_start)
    }

    fn redo_start(&self) -> Lsn {
        self.store.redo_start()
    }

    fn drop_space(&self, space: SpaceId) -> Result<(), quintet_dc::Error> {
        self.store.drop_space(space)
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.store.spaces()
    }

    fn cached_bytes(&self) -> u64 {
        self.cached.load(Ordering::Relaxed)
    }

    fn stats(&self) -> DcStats {
        self.store.stats()
    }
}

impl Generation for Counted {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Record>, quintet_dc::Error> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.generation.get(space, key)
    }

    fn announce(&self, space: SpaceId, key: &[u8]) {
        self.announced.fetch_add(1, Ordering::Relaxed);
        self.generation.announce(space, key);
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.generation.spaces()
    }

    fn scan(
        &self,
        space: SpaceId,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Box<dyn RecordScan>, quintet_dc::Error> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.generation.scan(space, range, direction)
    }
}
