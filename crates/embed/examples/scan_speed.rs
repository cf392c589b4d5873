//! How many records per second a serializable scan reads, alone and beside writers.
//!
//! `cargo run --release -p quintet-embed --example scan_speed -- [records] [value bytes] [writers]`

use quintet_embed::{Bucket, Database, DatabaseConfig, Durability, Level};
use quintet_rt::{Clock, Rand, RealClock, threads};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

fn load(db: &Database, bucket: &Bucket, records: u64, value: &[u8]) {
    for from in (0..records).step_by(1000) {
        let mut txn = db.begin(Level::Snapshot);
        for n in from..records.min(from + 1000) {
            txn.put(bucket, &key(n), value).expect("small");
        }
        txn.commit().expect("nobody else writes");
    }
}

/// Seconds of one scan of everything, and whether its transaction, which also writes, committed.
fn scan(db: &Database, bucket: &Bucket, expected: u64, commit: bool) -> (f64, bool) {
    let clock = RealClock;
    let begun = clock.monotonic_nanos();
    let mut txn = db.begin(Level::Serializable);
    let mut rows = 0;
    for row in txn.scan(bucket, ..).expect("scans") {
        let (_, value) = row.expect("reads");
        rows += u64::from(!value.is_empty());
    }
    assert_eq!(rows, expected);
    let mut committed = false;
    if commit {
        txn.put(bucket, b"count", &rows.to_be_bytes())
            .expect("small");
        committed = txn.commit().is_ok();
    }
    let seconds = (clock.monotonic_nanos() - begun) as f64 / 1e9;
    (seconds, committed)
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|a| a.parse().expect("a number"));
    let records = arguments.next().unwrap_or(1_000_000);
    let value = vec![7; arguments.next().unwrap_or(100) as usize];
    let writers = arguments.next().unwrap_or(8);
    let directory = tempfile::tempdir_in(".").expect("a directory");
    let config = DatabaseConfig {
        durability: Durability::Async,
        memory_bytes: 8 << 30,
        ..DatabaseConfig::new(directory.path())
    };
    let (db, _) = Database::open(config).expect("opens");
    let bucket = db.bucket("rows").expect("makes");
    load(&db, &bucket, records, &value);
    let rate = |seconds: f64| records as f64 / seconds / 1e6;
    for round in 0..3 {
        let (read, _) = scan(&db, &bucket, records, false);
        println!(
            "round {round}: alone, read only {:.2} M records/s",
            rate(read)
        );
    }
    let (validated, committed) = scan(&db, &bucket, records, true);
    assert!(committed);
    let records = records + 1;
    println!(
        "alone, read and validated {:.2} M records/s",
        rate(validated)
    );

    let stop = Arc::new(AtomicBool::new(false));
    let writes = Arc::new(AtomicU64::new(0));
    let workers: Vec<_> = (0..writers)
        .map(|seed| {
            let (db, stop, writes) = (db.clone(), Arc::clone(&stop), Arc::clone(&writes));
            let value = value.clone();
            threads::spawn("writer", move || {
                let mut rand = Rand::seeded(seed);
                while !stop.load(Ordering::Relaxed) {
                    let mut txn = db.begin(Level::Snapshot);
                    txn.put(&bucket, &key(rand.below(records - 1)), &value)
                        .expect("small");
                    if txn.commit().is_ok() {
                        writes.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    for round in 0..3 {
        let before = writes.load(Ordering::Relaxed);
        let (read, _) = scan(&db, &bucket, records, false);
        let written = writes.load(Ordering::Relaxed) - before;
        println!(
            "round {round}: beside {writers} writers {:.2} M records/s, they {:.0} k commits/s",
            rate(read),
            written as f64 / read / 1e3
        );
    }
    stop.store(true, Ordering::Relaxed);
    workers
        .into_iter()
        .for_each(|worker| worker.join().expect("no panic"));
}
