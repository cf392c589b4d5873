//! What a call through the contract between the transaction component and STORE costs: the same reads of
//! the same store, once through `dyn Generation`, once on the type itself.
//!
//! `cargo run --release -p quintet-bench --example boundary -- [records] [calls]`
//!
//! Relies on: `dc-lsm`.  Promises: both forms in turn in one process, medians and spreads of the rounds.
//! Does not: say how often a transaction calls STORE; one whose records are all in memory never does.

use quintet_base::{Lsn, SpaceId};
use quintet_dc::{DataComponent, Generation, Operation};
use quintet_dc_lsm::{LsmConfig, LsmGeneration, LsmStore};
use quintet_rt::{Clock, Rand, RealClock};
use quintet_workloads::ycsb;
use std::hint::black_box;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SPACE: SpaceId = SpaceId(1);
/// Nothing has ever been merged here: a call is a call and a look into an empty map.
const NO_SPACE: SpaceId = SpaceId(2);
const ROUNDS: usize = 21;
const VALUE_BYTES: usize = 100;

/// Nanoseconds per call.
fn timed(calls: u64, mut call: impl FnMut() -> bool) -> f64 {
    let begun = RealClock.monotonic_nanos();
    for _ in 0..calls {
        black_box(call());
    }
    (RealClock.monotonic_nanos() - begun) as f64 / calls as f64
}

fn median(mut figures: Vec<f64>) -> (f64, f64) {
    figures.sort_by(f64::total_cmp);
    let spread = figures[figures.len() * 9 / 10] - figures[figures.len() / 10];
    (figures[figures.len() / 2], spread)
}

/// Prints both forms of one read.
fn compare(
    what: &str,
    calls: u64,
    known: &Arc<LsmGeneration>,
    mut key: impl FnMut() -> (SpaceId, [u8; 8]),
) {
    let hidden: Arc<dyn Generation> = black_box(Arc::clone(known) as Arc<dyn Generation>);
    let (mut through, mut on) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        through.push(timed(calls, || {
            let (space, key) = key();
            hidden.get(space, &key).expect("reads").is_some()
        }));
        on.push(timed(calls, || {
            let (space, key) = key();
            known.get(space, &key).expect("reads").is_some()
        }));
    }
    let ((through, through_spread), (on, on_spread)) = (median(through), median(on));
    println!(
        "{what:<34} dyn {through:>8.1} ns ({through_spread:.1})   static {on:>8.1} ns ({on_spread:.1})   difference {:>6.1} ns, {:+.1} %",
        through - on,
        (through / on - 1.0) * 100.0
    );
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|a| a.parse::<u64>().expect("a number"));
    let records = arguments.next().unwrap_or(200_000);
    let calls = arguments.next().unwrap_or(20_000);
    let directory = tempfile::tempdir_in(".").expect("a directory");
    // All blocks fit: what is measured is the processor, not the disk.
    let store = LsmStore::open(&LsmConfig {
        cache_bytes: 1 << 30,
        ..LsmConfig::new(directory.path())
    })
    .expect("opens");
    let mut run = (0..records).map(|record| {
        let value = ycsb::value(record, 0, VALUE_BYTES);
        Operation::put(ycsb::key(record).to_vec(), Lsn(record + 1), value)
    });
    store.merge(SPACE, &mut run).expect("merges");
    let known = store.newest_generation();
    for record in 0..records {
        let found = known.get(SPACE, &ycsb::key(record)).expect("reads");
        assert!(found.is_some(), "record {record}");
    }
    println!(
        "{records} records of {VALUE_BYTES} bytes, {ROUNDS} rounds of {calls} calls each, median (10th to 90th of 100)"
    );
    let mut rand = Rand::seeded(1);
    compare("no such space", calls * 10, &known, || {
        (NO_SPACE, ycsb::key(0))
    });
    compare("a record, always the same", calls, &known, || {
        (SPACE, ycsb::key(7))
    });
    compare("any record, blocks in the cache", calls, &known, || {
        (SPACE, ycsb::key(rand.below(records)))
    });
}
