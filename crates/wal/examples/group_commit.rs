//! How many commits a second the log makes durable on this machine's disk, and how they share
//! syncs. The limit is one sync per group: with `s` seconds a sync and `n` committers that wait,
//! at best `n / s` commits a second.
//!
//! ```text
//! cargo run --release -p quintet-wal --example group_commit -- <directory> [seconds] [bytes]
//! ```

use quintet_base::Durability;
use quintet_rt::{Clock, RealClock, RealDisk, threads};
use quintet_wal::{Payload, Wal, WalConfig};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("name a directory for the log")?);
    let seconds: u64 = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let bytes: usize = arguments.next().map_or(Ok(200), |text| text.parse())?;
    println!("{seconds} s each, {bytes} bytes a record");
    println!(
        "durability committers   commits/s     syncs/s  records/group  sync us mean/max   p50/p99 us"
    );
    for durability in [Durability::Sync, Durability::Async] {
        for committers in [1, 8, 32] {
            let at = directory.join(format!("log-{durability}-{committers}"));
            measure(at, durability, committers, seconds, bytes)?;
        }
    }
    Ok(())
}

fn measure(
    directory: PathBuf,
    durability: Durability,
    committers: usize,
    seconds: u64,
    bytes: usize,
) -> Result<(), Box<dyn Error>> {
    let config = WalConfig {
        durability,
        ..WalConfig::new(directory)
    };
    let opening = RealClock.monotonic_nanos();
    let (log, _) = Wal::open(Arc::new(RealDisk), config.clone(), None)?;
    let opened = RealClock.monotonic_nanos() - opening;
    let payload = Payload::new(vec![7; bytes].into());
    let begin = RealClock.monotonic_nanos();
    let end = begin + seconds * 1_000_000_000;
    let workers: Vec<_> = (0..committers)
        .map(|_| {
            let (log, payload) = (Arc::clone(&log), payload.clone());
            threads::spawn("commits", move || commit_until(&log, &payload, end))
        })
        .collect();
    let mut latencies = Vec::new();
    for worker in workers {
        let measured = worker.join().map_err(|_| "a committer panicked")?;
        latencies.extend(measured?);
    }
    let elapsed = (RealClock.monotonic_nanos() - begin) as f64 / 1e9;
    let stats = log.stats();
    latencies.sort_unstable();
    let micros = |nanos: u64| nanos as f64 / 1e3;
    let rank = |part: usize| micros(latencies[latencies.len() * part / 100]);
    println!(
        "{:<10} {committers:>10} {:>11.0} {:>11.0} {:>14.1} {:>10.0}/{:<8.0} {:>6.0}/{:<6.0}",
        durability.name(),
        stats.records as f64 / elapsed,
        stats.syncs as f64 / elapsed,
        stats.records as f64 / stats.groups.max(1) as f64,
        micros(stats.sync_nanos_total) / stats.syncs.max(1) as f64,
        micros(stats.sync_nanos_max),
        rank(50),
        rank(99),
    );
    let redo_start = log.end();
    drop(log);
    let opening = RealClock.monotonic_nanos();
    Wal::open(Arc::new(RealDisk), config, Some(redo_start))?;
    let again = RealClock.monotonic_nanos() - opening;
    println!(
        "{:>16} ms to make the log, {} ms to open it again",
        opened / 1_000_000,
        again / 1_000_000
    );
    Ok(())
}

/// Commits one after the other; under `Sync` each waits until it is durable.
fn commit_until(
    log: &Arc<Wal>,
    payload: &Payload,
    end: u64,
) -> Result<Vec<u64>, quintet_wal::Error> {
    let mut latencies = Vec::new();
    let mut before = RealClock.monotonic_nanos();
    let mut redo_start = log.end();
    while before < end {
        log.wait_for_room()?;
        let lsn = log.append(payload.clone())?;
        if log.durability() == Durability::Sync {
            log.when_durable(lsn).wait()?;
        }
        // Keeps the disk from filling, as checkpoints would.
        if lsn.0 - redo_start.0 > 512 << 20 {
            redo_start = log.durable();
            log.truncate(redo_start)?;
        }
        let after = RealClock.monotonic_nanos();
        latencies.push(after - before);
        before = after;
    }
    Ok(latencies)
}
