//! Depth 2 of 3: transactions on keys, without SQL and without a catalogue: log, store and transaction
//! component, wired by hand.
//!
//! For engines and services that bring their own data model. Depend on `quintet-wal`, `quintet-dc-lsm` and
//! `quintet-tc`. Whoever wants named buckets and a directory with a lock takes `quintet-embed` and leaves the
//! SQL alone.
//!
//! `cargo run -p quintet-embed --example depth_2_transactions`

use quintet_base::{Bytes, Durability, Level, SpaceId};
use quintet_dc::DataComponent;
use quintet_dc_lsm::{LsmConfig, LsmStore};
use quintet_rt::RealDisk;
use quintet_tc::{Error, Tc, TcConfig, Txn};
use quintet_wal::{Wal, WalConfig};
use std::path::Path;
use std::sync::Arc;

const ACCOUNTS: SpaceId = SpaceId(1);
const MEMORY_BYTES: usize = 64 << 20;

/// The store says where the log's replay begins; the log keeps the newest versions in its buffers.
fn open(directory: &Path) -> Result<(Arc<Wal>, Tc), Box<dyn std::error::Error>> {
    let store: Arc<dyn DataComponent> =
        Arc::new(LsmStore::open(&LsmConfig::new(directory.join("store")))?);
    let config = WalConfig {
        durability: Durability::Sync,
        ring_bytes: TcConfig::ring_bytes(MEMORY_BYTES),
        keep_in_memory: true,
        ..WalConfig::new(directory.join("log"))
    };
    let (log, _) = Wal::open(Arc::new(RealDisk), config, Some(store.redo_start()))?;
    let (tc, recovery) = Tc::open(Arc::clone(&log), store, TcConfig::for_memory(MEMORY_BYTES))?;
    println!("{} commits replayed", recovery.commits);
    Ok((log, tc))
}

/// Commits and waits for the disk. A commit that would have to wait for rows or for memory hands that
/// out instead, so that a program with its own scheduler can do something else meanwhile.
fn commit(tc: &Tc, mut txn: Txn) -> Result<(), Error> {
    loop {
        match txn.commit(Durability::Sync) {
            Ok(committed) => {
                let durable = committed.durable_at.map(|lsn| tc.when_durable(lsn));
                return durable.map_or(Ok(()), |durable| durable.wait().map_err(Error::Log));
            }
            Err(Error::Blocked(wait)) => wait.wait(),
            Err(error) => return Err(error),
        }
    }
}

fn balance(txn: &Txn, owner: &str) -> Result<u64, Error> {
    let number = |value: Option<&[u8]>| {
        let bytes = value.and_then(|value| value.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    };
    txn.read(ACCOUNTS, owner.as_bytes(), number)
}

fn set(txn: &mut Txn, owner: &'static str, balance: u64) -> Result<(), Error> {
    let value = Bytes::copy_from_slice(&balance.to_le_bytes());
    txn.put(ACCOUNTS, Bytes::from_static(owner.as_bytes()), value)
}

/// Runs the example in a temporary directory.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let (log, tc) = open(directory.path())?;
    let mut txn = tc.begin(Level::Serializable);
    set(&mut txn, "ann", 100)?;
    set(&mut txn, "bob", 50)?;
    commit(&tc, txn)?;

    let before = tc.begin(Level::Snapshot);
    let mut transfer = tc.begin(Level::Serializable);
    let mut rival = tc.begin(Level::Serializable);
    let (ann, bob) = (balance(&transfer, "ann")?, balance(&transfer, "bob")?);
    set(&mut transfer, "ann", ann - 30)?;
    set(&mut transfer, "bob", bob + 30)?;
    let seen = balance(&rival, "ann")?;
    set(&mut rival, "ann", seen + 1)?;
    commit(&tc, transfer)?;
    // The rival built on what is no longer so: it is refused and has no effects.
    assert!(matches!(commit(&tc, rival), Err(Error::Conflict { .. })));
    // An older snapshot still sees what it saw.
    assert_eq!(balance(&before, "ann")?, 100);

    // Everything again after reopening, out of the log.
    drop((before, tc));
    log.flush()?;
    log.shutdown();
    drop(log);
    let (_log, tc) = open(directory.path())?;
    let txn = tc.begin(Level::Snapshot);
    println!(
        "ann {}, bob {}",
        balance(&txn, "ann")?,
        balance(&txn, "bob")?
    );
    assert_eq!((balance(&txn, "ann")?, balance(&txn, "bob")?), (70, 80));
    Ok(())
}
