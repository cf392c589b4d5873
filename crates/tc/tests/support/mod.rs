//! A component on simulated media that survive its crash.

#![allow(dead_code)] // each test binary uses a part

use quintet_base::{Bytes, Durability, SpaceId};
use quintet_dc::{DataComponent, MemoryMedium, MemoryStore};
use quintet_rt::{Disk, SimDisk};
use quintet_tc::{Error, Recovery, Tc, TcConfig, Txn};
use quintet_wal::{Wal, WalConfig};
use std::sync::Arc;

pub const SPACE: SpaceId = SpaceId(100);

pub const TINY_RING: usize = 128 << 10;

pub fn tiny() -> TcConfig {
    TcConfig {
        freeze_bytes: 16 << 10,
        cache_bytes_max: 16 << 10,
        transaction_bytes_max: 48 << 10,
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
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let wal = WalConfig {
            directory: "/log".into(),
            durability,
            segment_bytes: 1 << 20,
            async_flush_interval_ms: 5,
            pending_bytes_max: 16 << 20,
            ring_bytes,
            record_bytes_max: ring_bytes / 2,
            keep_in_memory: true,
        };
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
