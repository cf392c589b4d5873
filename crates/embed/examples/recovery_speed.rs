//! How long a database takes to serve after a crash with much log that STORE does not have.
//!
//! `cargo run --release -p quintet-embed --example recovery_speed -- [megabytes of log] [openings]`
//!
//! A process of its own fills a directory, four changes a commit, and ends without a word; each
//! opening is one, too, so that none finds what another has left in memory. Nothing is merged before,
//! and nothing a merge does is kept: every opening replays the same log. The first is a whole one; the
//! others leave the catalogue out and replay in one lane and in two.

use quintet_dc::DataComponent;
use quintet_dc_lsm::{LsmConfig, LsmStore};
use quintet_embed::{Database, DatabaseConfig, Durability, Level};
use quintet_rt::{Rand, RealClock, RealDisk, threads};
use quintet_tc::{RecoveryOptions, Tc, TcConfig};
use quintet_wal::{Opening, WalConfig};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// So large that no merge begins by itself.
const MEMORY: usize = 12 << 30;
const VALUE_BYTES: usize = 100;
const CHANGES: u64 = 4;
/// Log that one commit of [`CHANGES`] changes takes, as measured.
const COMMIT_BYTES: u64 = 528;
/// A change in so many is the first of its key.
const WRITES_PER_KEY: u64 = 2;
const THREADS: u64 = 2;

fn config(data: &Path) -> DatabaseConfig {
    DatabaseConfig {
        durability: Durability::Async,
        memory_bytes: MEMORY,
        ..DatabaseConfig::new(data)
    }
}

fn fill(data: &Path, megabytes: u64) {
    let (db, _) = Database::open(config(data)).expect("opens");
    let bucket = db.bucket("rows").expect("makes");
    let commits = megabytes * 1_000_000 / COMMIT_BYTES;
    let keys = commits * CHANGES / WRITES_PER_KEY;
    let writers: Vec<_> = (0..THREADS)
        .map(|seed| {
            let db = db.clone();
            threads::spawn("writer", move || {
                let mut rand = Rand::seeded(seed);
                for _ in 0..commits / THREADS {
                    loop {
                        let mut txn = db.begin(Level::ReadCommitted);
                        for _ in 0..CHANGES {
                            let key = rand.below(keys).to_be_bytes();
                            txn.put(&bucket, &key, &[7; VALUE_BYTES]).expect("small");
                        }
                        if txn.commit().is_ok() {
                            break;
                        }
                    }
                }
            })
        })
        .collect();
    writers
        .into_iter()
        .for_each(|writer| writer.join().expect("no panic"));
    assert_eq!(db.stats().tc.compactions, 0, "nothing was merged");
    db.close().expect("the log is synced");
    std::process::abort();
}

/// As an embedding program opens it.
fn open(data: &Path) {
    let (_db, report) = Database::open(config(data)).expect("opens");
    let recovery = report.recovery;
    let bytes = recovery.end.0 - recovery.redo_start.0;
    println!(
        "opened: {:.3} s for {:.1} MB, {} commits, {} changes: {:.0} MB/s, {:.2} M changes/s",
        report.seconds,
        bytes as f64 / 1e6,
        recovery.commits,
        recovery.changes,
        bytes as f64 / 1e6 / report.seconds,
        recovery.changes as f64 / 1e6 / report.seconds,
    );
    std::process::abort();
}

/// Without the catalogue, in so many lanes.
fn replay(data: &Path, lanes: usize) {
    let store = LsmStore::open(&LsmConfig::new(data.join("store"))).expect("opens");
    let store: Arc<dyn DataComponent> = Arc::new(store);
    let wal = WalConfig {
        durability: Durability::Async,
        ring_bytes: TcConfig::ring_bytes(MEMORY),
        keep_in_memory: true,
        ..WalConfig::new(data.join("log"))
    };
    let opening = Opening::begin(Arc::new(RealDisk), wal, Some(store.redo_start()));
    let options = RecoveryOptions {
        lanes,
        clock: &RealClock,
        progress: &mut |_| {},
    };
    let config = TcConfig::for_memory(MEMORY);
    let recovered = Tc::recover(opening.expect("opens"), store, config, options).expect("replays");
    let recovery = recovered.recovery;
    println!(
        "{lanes} lanes: {:.3} s, of which reading {:.3} s, sharing out and waiting {:.3} s: {:.0} MB/s, \
         {:.2} M changes/s",
        recovery.took.as_secs_f64(),
        recovery.reading.as_secs_f64(),
        recovery.replaying.as_secs_f64(),
        recovery.bytes_per_second() / 1e6,
        recovery.changes as f64 / 1e6 / recovery.took.as_secs_f64(),
    );
    std::process::abort();
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .first()
        .filter(|_| arguments.len() == 3)
        .map(String::as_str)
    {
        Some("fill") => fill(
            Path::new(&arguments[1]),
            arguments[2].parse().expect("megabytes"),
        ),
        Some("open") => open(Path::new(&arguments[1])),
        Some("1") => replay(Path::new(&arguments[1]), 1),
        Some("2") => replay(Path::new(&arguments[1]), 2),
        _ => {}
    }
    let number = |at: usize, or: u64| match arguments.get(at) {
        Some(text) => text.parse().expect("a number"),
        None => or,
    };
    let (megabytes, openings) = (number(0, 500), number(1, 3));
    let directory = tempfile::tempdir_in(".").expect("a directory");
    let program = std::env::current_exe().expect("a path");
    let run = |what: &str| {
        let mut child = Command::new(&program);
        child
            .arg(what)
            .arg(directory.path())
            .arg(megabytes.to_string());
        // They end by aborting; what they say is on the output.
        let _ = child.status().expect("it starts");
    };
    run("fill");
    for _ in 0..openings {
        run("open");
        run("1");
        run("2");
    }
}
