//! Tests that drive the log by hand: no threads, so that one seed is one run.
//!
//! | file | what it shows |
//! |---|---|
//! | `crash` | power loss, failing disks and restarts at every point, over thousands of seeds |
//! | `alone` | sessions that commit alone |
//! | `company` | groups that wait for more commits |
//! | `faults` | poison, full disk, back-pressure, when a sync is due |
//! | `memory` | holes, laps, room; memory and disk hold the same |
//! | `format` | what stands on the disk, whatever the memory held before |
//! | `damage` | torn tail or damage, byte by byte; reused segments; mutated segments |
//! | `opening` | reading by the block, on the way to the end and afterwards |

#![allow(clippy::unwrap_used)] // A test may; the lint's own exception misses helper functions.

mod alone;
mod company;
mod crash;
mod damage;
mod faults;
mod format;
mod memory;
mod opening;

use crate::config::WalConfig;
use crate::error::Error;
use crate::record::Payload;
use crate::recover::WalReport;
use crate::ring::Ring;
use crate::shared::Shared;
use crate::wal::Wal;
use crate::writer::{Turn, Writer};
use quintet_base::{Durability, Lsn};
use quintet_rt::{SimClock, SimDisk};
use std::path::Path;
use std::sync::Arc;

const DIRECTORY: &str = "/data/log";

fn config() -> WalConfig {
    WalConfig {
        durability: Durability::Sync,
        segment_bytes: 8192,
        async_flush_interval_ms: 10,
        pending_bytes_max: 1 << 20,
        ring_bytes: 2 << 20,
        ..WalConfig::new(DIRECTORY)
    }
}

fn new_disk(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    quintet_rt::Disk::create_dir_all(&disk, Path::new("/data")).unwrap();
    disk
}

/// Gives memory back that the test has copied what it needs out of.
#[allow(unsafe_code, reason = "only the test knows what it reads")]
fn give_back(ring: &Ring, below: u64) {
    // SAFETY: see above.
    unsafe { ring.reclaim(below) };
}

/// As `give_back`, from outside.
#[allow(unsafe_code, reason = "only the test knows what it reads")]
fn give_back_of(log: &Wal, below: Lsn) {
    // SAFETY: see above.
    unsafe { log.reclaim(below) };
}

/// A log whose writer takes a turn when it is told to.
struct Rig {
    shared: Arc<Shared>,
    writer: Writer,
    clock: Arc<SimClock>,
    report: WalReport,
}

impl Rig {
    fn open(disk: &SimDisk, config: WalConfig, redo_start: Option<Lsn>) -> Result<Rig, Error> {
        let clock = Arc::new(SimClock::default());
        let disk = Arc::new(disk.clone());
        let (shared, report) =
            Shared::open(disk, config, redo_start, Arc::clone(&clock) as Arc<_>)?;
        let shared = Arc::new(shared);
        Ok(Rig {
            writer: Writer::new(Arc::clone(&shared)),
            shared,
            clock,
            report,
        })
    }

    fn append(&self, bytes: &[u8]) -> Result<Lsn, Error> {
        self.shared.try_append(&Payload::new(bytes.to_vec().into()))
    }

    fn turn(&mut self) -> Turn {
        self.writer.turn()
    }

    fn durable(&self) -> Lsn {
        Lsn(self.shared.marks.durable())
    }

    /// Appends and makes durable.
    fn put(&mut self, bytes: &[u8]) -> Lsn {
        let lsn = self.append(bytes).unwrap();
        self.turn();
        assert_eq!(self.durable(), lsn);
        lsn
    }

    fn read_from(&self, from: Lsn) -> Result<Vec<(Lsn, Vec<u8>)>, Error> {
        let shared = &self.shared;
        let (stream, written) = (shared.stream(), shared.written());
        crate::LogReader::new(stream, from.0, written, shared.log_id)
            .map(|record| record.map(|(lsn, bytes)| (lsn, bytes.to_vec())))
            .collect()
    }
}
