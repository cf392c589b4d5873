//! Measures the store: rows merged per second, random gets per second, space used.
//!
//! ```text
//!   cargo run --release -p quintet-dc-lsm --example load -- [directory] [rows] [cache MiB]
//! ```
//! Loads `rows` (default 1,000,000) rows with a 16-byte key and a 112-byte value, half of which
//! compresses, in key order and one run; then overwrites a tenth of them at random ten times, with
//! a checkpoint after each; waits until compaction rests; reads back at random from one thread, and
//! scans everything; ends with small merges, where syncs are what is measured. The directory (default: one that is removed afterwards) must be empty.

use quintet_base::{Bytes, Lsn, SpaceId};
use quintet_dc::{DataComponent, Direction, Error, KeyRange, Operation};
use quintet_dc_lsm::{LsmConfig, LsmStore};
use quintet_rt::{Clock, Rand, RealClock};
use std::collections::BTreeSet;
use std::time::Duration;

const SPACE: SpaceId = SpaceId(1);
const VALUE_BYTES: usize = 112;
const OVERWRITES: u64 = 10;
const SMALL_MERGES: u64 = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let scratch = tempfile::tempdir()?;
    let directory = arguments
        .next()
        .map_or(scratch.path().to_path_buf(), Into::into);
    let rows: u64 = arguments
        .next()
        .map_or(Ok(1_000_000), |text| text.parse())?;
    let cache_mib: u64 = arguments.next().map_or(Ok(256), |text| text.parse())?;
    let mut config = LsmConfig::new(directory);
    config.cache_bytes = cache_mib * 1024 * 1024;
    println!(
        "{rows} rows, cache {cache_mib} MiB, {:?}",
        config.compression
    );

    let store = LsmStore::open(&config)?;
    let mut random = Rand::seeded(1);
    let mut position = rows;
    timed("load in key order", rows, || {
        store.merge(SPACE, &mut (0..rows).map(|n| put(n, n + 1, &mut random)))?;
        store.checkpoint(Lsn(rows))
    })?;
    timed("overwrite at random", OVERWRITES * (rows / 10), || {
        for _ in 0..OVERWRITES {
            let mut keys = BTreeSet::new();
            while (keys.len() as u64) < rows / 10 {
                keys.insert(random.below(rows));
            }
            position += rows;
            store.merge(
                SPACE,
                &mut keys.iter().map(|n| put(*n, position, &mut random)),
            )?;
            store.checkpoint(Lsn(position))?;
        }
        Ok(())
    })?;
    report(&store, rows);
    timed("wait for compaction", rows, || {
        wait_for_rest(&store);
        Ok(())
    })?;
    report(&store, rows);
    let generation = store.generation();
    for round in ["first", "second"] {
        timed(&format!("random gets, {round} round"), rows / 2, || {
            for _ in 0..rows / 2 {
                let record = generation.get(SPACE, &key(random.below(rows)))?;
                assert!(record.is_some(), "a row is missing");
            }
            Ok(())
        })?;
    }
    timed("gets of absent keys", rows / 2, || {
        for n in 0..rows / 2 {
            let record = generation.get(SPACE, &[&key(n)[..], b"+"].concat())?;
            assert!(record.is_none(), "a row too many");
        }
        Ok(())
    })?;
    for direction in [Direction::Forward, Direction::Backward] {
        timed(&format!("scan {direction:?}"), rows, || {
            let mut scan = generation.scan(SPACE, &KeyRange::all(), direction)?;
            let mut count = 0;
            while scan.next()?.is_some() {
                count += 1;
            }
            assert_eq!(count, rows);
            Ok(())
        })?;
    }
    report(&store, rows);
    drop(generation);
    timed("merges of 100, checkpoint", SMALL_MERGES, || {
        for merge in 0..SMALL_MERGES {
            position += 1;
            let keys = (0..100).map(|n| merge + n * (rows / 100));
            store.merge(SPACE, &mut keys.map(|n| put(n, position, &mut random)))?;
            store.checkpoint(Lsn(position))?;
        }
        Ok(())
    })?;
    report(&store, rows);
    Ok(())
}

fn key(number: u64) -> Bytes {
    format!("{number:016}").into()
}

fn put(number: u64, position: u64, random: &mut Rand) -> Operation<'static> {
    let mut value = vec![b'x'; VALUE_BYTES];
    for chunk in value[..VALUE_BYTES / 2].chunks_mut(8) {
        chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]);
    }
    Operation::put(key(number), Lsn(position), value)
}

fn timed(what: &str, count: u64, work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    let start = RealClock.monotonic_nanos();
    work()?;
    let seconds = (RealClock.monotonic_nanos() - start) as f64 / 1e9;
    println!(
        "{what:26} {seconds:8.2} s {:12.0} /s",
        count as f64 / seconds
    );
    Ok(())
}

/// Until nothing has been compacted for three seconds.
fn wait_for_rest(store: &LsmStore) {
    let mut before = u64::MAX;
    while before != store.stats().compactions {
        before = store.stats().compactions;
        RealClock.sleep(Duration::from_secs(3));
    }
}

fn report(store: &LsmStore, rows: u64) {
    let stats = store.stats();
    println!(
        "  {} tablets, {:.1} MB on disk, {:.1} bytes per row, {:.1} MB cached, {} compactions",
        stats.tablets,
        stats.disk_bytes as f64 / 1e6,
        stats.disk_bytes as f64 / rows as f64,
        stats.memory_bytes as f64 / 1e6,
        stats.compactions
    );
}
