//! What it costs to put records into the log, without and with waiting for the disk.
//!
//! Each thread makes records as fast as it may. Under `sync` 32 commits are outstanding in all, shared
//! by the threads, each of which waits for its oldest; otherwise only room in memory is waited for. The limit
//! under `none` and `async` is what one core can hand to the system (or the disk can take); under
//! `sync` it is 32 records a sync.
//!
//! Before that, the price of a record to its committer alone: bursts that fit into memory, each timed, with
//! a wait until it is written after it. The lower quartile of them says what a record costs on a
//! core that nobody else wants.
//!
//! `append` makes a [`Payload`] for each record and appends it; `reserve` copies into the log's memory.
//!
//! ```text
//! cargo run --release -p quintet-wal --example append_speed -- <directory> [milliseconds] [rounds] [ring MiB]
//! ```

use quintet_base::Durability;
use quintet_rt::{Clock, RealClock, RealDisk, threads};
use quintet_wal::{Error, Payload, Wal, WalConfig};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Commits that wait at once under `sync`.
const OUTSTANDING: usize = 32;

/// Records of one burst, and how many bursts.
const BURST: usize = 8_192;
const BURSTS: usize = 400;

/// The log is truncated when so much has been written, as checkpoints would.
const TRUNCATE_BYTES: u64 = 256 << 20;

#[derive(Clone, Copy)]
struct Load {
    ring_bytes: usize,
    durability: Durability,
    threads: usize,
    bytes: usize,
    put: (&'static str, Put),
}

type Put = fn(&Wal, &[u8]) -> Result<quintet_base::Lsn, Error>;

fn append(log: &Wal, bytes: &[u8]) -> Result<quintet_base::Lsn, Error> {
    log.append(Payload::new(bytes.to_vec().into()))
}

fn reserve(log: &Wal, bytes: &[u8]) -> Result<quintet_base::Lsn, Error> {
    loop {
        match log.reserve(bytes.len()) {
            Ok(mut reservation) => {
                let lsn = reservation.lsn();
                reservation.payload().copy_from_slice(bytes);
                reservation.finish();
                return Ok(lsn);
            }
            Err(Error::NoRoom) => log.wait_for_room()?,
            Err(error) => return Err(error),
        }
    }
}

const PUTS: [(&str, Put); 2] = [("append", append), ("reserve", reserve)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("name a directory for the log")?);
    let millis: u64 = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let ring_bytes: usize = arguments.next().map_or(Ok(64), |text| text.parse())? << 20;
    println!("threads bytes  how      ns each, of {BURSTS} bursts: lower quartile, median");
    for bytes in [120, 600] {
        for threads in [1, 2] {
            for put in PUTS {
                let load = Load {
                    ring_bytes,
                    durability: Durability::None,
                    threads,
                    bytes,
                    put,
                };
                let [quartile, median] = burst(&directory, load)?;
                let how = put.0;
                println!("{threads:>7} {bytes:>5}  {how:<7} {quartile:>6.0} {median:>6.0}");
            }
        }
    }
    println!("{millis} ms each, median of {rounds}");
    println!(
        "durability threads bytes  how      records/s   ns each   MB/s   syncs/s  records/sync"
    );
    for durability in [Durability::None, Durability::Async, Durability::Sync] {
        for bytes in [120, 600] {
            for threads in [1, 2] {
                for put in PUTS {
                    let load = Load {
                        ring_bytes,
                        durability,
                        threads,
                        bytes,
                        put,
                    };
                    measure(&directory, load, millis, rounds)?;
                }
            }
        }
    }
    Ok(())
}

fn burst(directory: &Path, load: Load) -> Result<[f64; 2], Box<dyn std::error::Error>> {
    let log = open(directory, load)?;
    let workers: Vec<_> = (0..load.threads)
        .map(|_| {
            let log = Arc::clone(&log);
            threads::spawn("bursts", move || -> Result<Vec<u64>, Error> {
                let bytes = vec![7; load.bytes];
                let mut nanos = Vec::new();
                for _ in 0..BURSTS {
                    let before = RealClock.monotonic_nanos();
                    for _ in 0..BURST {
                        (load.put.1)(&log, &bytes)?;
                    }
                    nanos.push(RealClock.monotonic_nanos() - before);
                    let end = log.end();
                    log.when_durable(end).wait()?;
                    log.truncate(end)?;
                }
                Ok(nanos)
            })
        })
        .collect();
    let mut nanos = Vec::new();
    for worker in workers {
        nanos.extend(worker.join().map_err(|_| "a committer panicked")??);
    }
    nanos.sort_unstable();
    let rank = |quarters: usize| nanos[nanos.len() * quarters / 4] as f64 / BURST as f64;
    Ok([rank(1), rank(2)])
}

/// Opens the log with nothing in it that anybody reads.
fn open(directory: &Path, load: Load) -> Result<Arc<Wal>, Error> {
    let config = WalConfig {
        durability: load.durability,
        ring_bytes: load.ring_bytes,
        ..WalConfig::new(directory.join("append-speed"))
    };
    let (log, report) = Wal::open(Arc::new(RealDisk), config, None)?;
    log.truncate(report.end)?;
    Ok(log)
}

struct Measured {
    records: f64,
    syncs: f64,
}

fn measure(
    directory: &Path,
    load: Load,
    millis: u64,
    rounds: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut measured = Vec::new();
    for _ in 0..rounds {
        measured.push(run(directory, load, millis)?);
    }
    measured.sort_by(|a, b| a.records.total_cmp(&b.records));
    let median = &measured[rounds / 2];
    println!(
        "{:<10} {:>7} {:>5}  {:<7} {:>10.0} {:>9.0} {:>6.0} {:>9.1} {:>13.1}",
        load.durability.name(),
        load.threads,
        load.bytes,
        load.put.0,
        median.records,
        1e9 * load.threads as f64 / median.records,
        median.records * load.bytes as f64 / 1e6,
        median.syncs,
        median.records / median.syncs.max(1.0),
    );
    Ok(())
}

fn run(directory: &Path, load: Load, millis: u64) -> Result<Measured, Box<dyn std::error::Error>> {
    let log = open(directory, load)?;
    let before = log.stats();
    let begin = RealClock.monotonic_nanos();
    let end = begin + millis * 1_000_000;
    let workers: Vec<_> = (0..load.threads)
        .map(|worker| {
            let log = Arc::clone(&log);
            threads::spawn("commits", move || commit_until(&log, load, worker, end))
        })
        .collect();
    for worker in workers {
        worker.join().map_err(|_| "a committer panicked")??;
    }
    let seconds = (RealClock.monotonic_nanos() - begin) as f64 / 1e9;
    let after = log.stats();
    log.truncate(log.end())?;
    Ok(Measured {
        records: (after.records - before.records) as f64 / seconds,
        syncs: (after.syncs - before.syncs) as f64 / seconds,
    })
}

fn commit_until(log: &Arc<Wal>, load: Load, worker: usize, end: u64) -> Result<(), Error> {
    let bytes = vec![7; load.bytes];
    let mut waits = VecDeque::new();
    let mut truncated_to = log.end();
    while RealClock.monotonic_nanos() < end {
        // The clock is not what is measured.
        for _ in 0..64 {
            log.wait_for_room()?;
            let lsn = (load.put.1)(log, &bytes)?;
            if load.durability == Durability::Sync {
                waits.push_back(log.when_durable(lsn));
                if waits.len() >= OUTSTANDING / load.threads
                    && let Some(oldest) = waits.pop_front()
                {
                    oldest.wait()?;
                }
            }
        }
        let durable = log.durable();
        if worker == 0 && durable.0 - truncated_to.0 > TRUNCATE_BYTES {
            truncated_to = durable;
            log.truncate(durable)?;
        }
    }
    waits.into_iter().try_for_each(quintet_wal::Durable::wait)
}
