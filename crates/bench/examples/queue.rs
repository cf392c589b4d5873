//! What the head of a queue costs: rows come at the tail of a key range and leave at its head, and each
//! transaction looks for the head first, as TPC-C's Delivery does for each district.
//!
//! `cargo run --release -p quintet-bench --no-default-features --example queue -- [rounds] [queues] [depth]`
//!
//! Relies on: `tc`, `dc-lsm`.  Promises: the same commits in each run; for each part the median of a
//! look-up and of a commit.  Does not: ask many clients at once.
//!
//! The queues are filled and a checkpoint is made, so that STORE has what is first taken out; then come three
//! parts, with a checkpoint after the first, and a new start, with nothing brought into memory, after the second.

use quintet_base::{Bytes, Durability, Level, SpaceId};
use quintet_dc::{Direction, KeyRange};
use quintet_dc_lsm::{LsmConfig, LsmStore};
use quintet_rt::{Clock, RealClock, RealDisk};
use quintet_tc::{Tc, TcConfig};
use quintet_wal::{Wal, WalConfig};
use std::path::Path;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SPACE: SpaceId = SpaceId(100);
const MEMORY: usize = 1 << 30;

fn key(queue: u64, number: u64) -> Bytes {
    let mut key = queue.to_be_bytes().to_vec();
    key.extend(number.to_be_bytes());
    key.into()
}

fn open(directory: &Path) -> (Tc, Arc<Wal>) {
    let store = LsmStore::open(&LsmConfig {
        cache_bytes: 256 << 20,
        ..LsmConfig::new(directory.join("store"))
    });
    let store = Arc::new(store.expect("STORE opens"));
    let wal = WalConfig {
        durability: Durability::None,
        ring_bytes: TcConfig::ring_bytes(MEMORY),
        keep_in_memory: true,
        ..WalConfig::new(directory.join("log"))
    };
    let redo_start = Some(quintet_dc::DataComponent::redo_start(&*store));
    let (log, _) = Wal::open(Arc::new(RealDisk), wal, redo_start).expect("the log opens");
    let config = TcConfig::for_memory(MEMORY);
    let (tc, _) = Tc::open(Arc::clone(&log), store, config).expect("the component opens");
    (tc, log)
}

fn median(figures: &mut [u64]) -> f64 {
    figures.sort_unstable();
    figures[figures.len() / 2] as f64 / 1000.0
}

/// So many times: a row at the tail of each queue, and the head of each queue taken out.
fn turn(tc: &Tc, what: &str, rounds: u64, queues: u64, tail: &mut u64) {
    let parts = 4;
    for part in 1..=parts {
        let (mut finding, mut committing) = (Vec::new(), Vec::new());
        for _ in 0..rounds / parts {
            for queue in 0..queues {
                let mut txn = tc.begin(Level::Serializable);
                let row = Bytes::from_static(b"an order");
                txn.put(SPACE, key(queue, *tail), row).expect("fits");
                txn.commit(Durability::None).expect("nobody else commits");

                let mut txn = tc.begin(Level::Serializable);
                let begun = RealClock.monotonic_nanos();
                let range = KeyRange::prefix(queue.to_be_bytes().to_vec());
                let scan = txn.scan(SPACE, &range, Direction::Forward);
                let head = scan.expect("scans").next(&txn).expect("reads");
                finding.push(RealClock.monotonic_nanos() - begun);
                let (head, _) = head.expect("the queue is deep");
                txn.delete(SPACE, head).expect("fits");
                let begun = RealClock.monotonic_nanos();
                txn.commit(Durability::None).expect("nobody else commits");
                committing.push(RealClock.monotonic_nanos() - begun);
            }
            *tail += 1;
        }
        println!(
            "{what:<28} {part}/{parts}   head {:>8.1} µs   commit {:>8.1} µs   {:>7} records in memory",
            median(&mut finding),
            median(&mut committing),
            tc.stats().records,
        );
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default| {
        let argument = arguments.next();
        argument.map_or(default, |a| a.parse::<u64>().expect("a number"))
    };
    let (rounds, queues, depth) = (next(2400), next(10), next(900));
    let directory = tempfile::tempdir_in(".").expect("a directory");
    let (tc, log) = open(directory.path());
    for number in 0..depth {
        let mut txn = tc.begin(Level::ReadCommitted);
        for queue in 0..queues {
            let row = Bytes::from_static(b"an order");
            txn.put(SPACE, key(queue, number), row).expect("fits");
        }
        txn.commit(Durability::None).expect("nobody else commits");
    }
    tc.compact().expect("merges");
    let mut tail = depth;
    turn(&tc, "filled, checkpoint", rounds, queues, &mut tail);
    tc.compact().expect("merges");
    turn(&tc, "another checkpoint", rounds, queues, &mut tail);
    drop(tc);
    log.shutdown();
    drop(log);
    let (tc, _log) = open(directory.path());
    turn(&tc, "opened again", rounds, queues, &mut tail);
    tc.compact().expect("merges");
    turn(&tc, "opened again, checkpoint", rounds, queues, &mut tail);
}
