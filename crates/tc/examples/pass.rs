//! Measures what a pass costs for each record that it moves into STORE, with records as TPC-C has them.
//!
//! ```text
//!   cargo run --release -p quintet-tc --features inlined --example pass -- <directory> [orders] [passes]
//! ```
//! Each order (default 100,000 a pass, 3 passes) is one transaction: ten new order lines (a key of four integers, a row of
//! 80 bytes), and ten updates of a stock of twice as many rows as there are orders (300 bytes each), which STORE has before.
//! The directory must be empty. Passes run on the main thread, while nothing else does: for
//! `valgrind --tool=callgrind --collect-atstart=no --toggle-collect='quintet_tc::compact::compact*'` as well as for a clock.

use quintet_base::{Durability, Level, SpaceId, key};
use quintet_dc::DataComponent;
use quintet_dc_lsm::{LsmConfig, LsmStore};
use quintet_rt::{Disk, OpenMode, Rand, RealDisk};
use quintet_tc::{Error, Tc, TcConfig};
use quintet_wal::{Wal, WalConfig};
use std::path::Path;
use std::sync::Arc;

const LINES: SpaceId = SpaceId(1);
const STOCK: SpaceId = SpaceId(2);

const WAREHOUSES: u64 = 2;
const DISTRICTS: u64 = 10;
const LINES_OF_ORDER: i32 = 10;
const LINE_BYTES: usize = 80;
const STOCK_BYTES: usize = 300;

/// An order takes some 4 KiB of the log.
const LOG_BYTES_OF_ORDER: usize = 5 << 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("which directory?")?;
    let orders: usize = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let passes: u32 = arguments.next().map_or(Ok(3), |text| text.parse())?;

    let directory = Path::new(&directory);
    let store = Arc::new(LsmStore::open(&LsmConfig::new(directory.join("store")))?);
    let ring_bytes = orders * LOG_BYTES_OF_ORDER * 2;
    let log = WalConfig {
        durability: Durability::Async,
        ring_bytes,
        keep_in_memory: true,
        ..WalConfig::new(directory.join("log"))
    };
    let redo_start = Some(store.redo_start());
    let (log, _) = Wal::open(Arc::new(RealDisk), log, redo_start)?;
    let config = TcConfig {
        freeze_bytes: ring_bytes, // none but those that are asked for
        ..TcConfig::for_memory(ring_bytes * 8)
    };
    let (tc, _) = Tc::open_driven(log, Arc::clone(&store) as Arc<dyn DataComponent>, config)?;

    let mut random = Rand::seeded(1);
    let stock = 2 * orders as u64;
    for from in (0..stock).step_by(100) {
        commit(
            &tc,
            (from..from + 100).map(|row| stock_row(row, stock, &mut random)),
        )?;
    }
    tc.compact()?;
    let mut merged = store.stats().operations;
    for pass in 0..passes {
        for order in 0..orders {
            let number = pass as usize * orders + order;
            let mut rows: Vec<Row> = (0..LINES_OF_ORDER)
                .map(|line| line_row(number as u64, line, &mut random))
                .collect();
            rows.extend((0..LINES_OF_ORDER).map(|_| {
                let row = random.below(stock);
                stock_row(row, stock, &mut random)
            }));
            commit(&tc, rows.into_iter())?;
        }
        let began = processor_nanos()?;
        tc.compact()?;
        let nanos = processor_nanos()? - began;
        let records = store.stats().operations - merged;
        merged += records;
        println!(
            "{records} records, {} ns of the processor each",
            nanos / records
        );
    }
    Ok(())
}

/// Of this thread. A pass that is waited for yields, so how long it lasts says how many others there are.
fn processor_nanos() -> Result<u64, Box<dyn std::error::Error>> {
    let file = RealDisk.open(Path::new("/proc/thread-self/schedstat"), OpenMode::Read)?;
    let mut text = [0; 100];
    let bytes = file.read_at(&mut text, 0)?;
    let first = std::str::from_utf8(&text[..bytes])?.split(' ').next();
    Ok(first.ok_or("no figures")?.parse()?)
}

type Row = (SpaceId, Vec<u8>, Vec<u8>);

fn commit(tc: &Tc, rows: impl Iterator<Item = Row>) -> Result<(), Error> {
    let mut txn = tc.begin(Level::Snapshot);
    for (space, key, value) in rows {
        txn.put(space, key, value)?;
    }
    txn.commit(Durability::Async)?;
    Ok(())
}

/// Orders come in all districts in turn.
fn line_row(order: u64, line: i32, random: &mut Rand) -> Row {
    let warehouse = order % WAREHOUSES;
    let district = order / WAREHOUSES % DISTRICTS;
    let order = order / (WAREHOUSES * DISTRICTS);
    let key = integers(&[warehouse as i32, district as i32, order as i32, line]);
    (LINES, key, value(LINE_BYTES, random))
}

fn stock_row(row: u64, stock: u64, random: &mut Rand) -> Row {
    let of_warehouse = stock / WAREHOUSES;
    let key = integers(&[(row / of_warehouse) as i32, (row % of_warehouse) as i32]);
    (STOCK, key, value(STOCK_BYTES, random))
}

fn integers(integers: &[i32]) -> Vec<u8> {
    let mut out = Vec::new();
    for integer in integers {
        key::encode_int4(*integer, &mut out);
    }
    out
}

/// Half of it compresses.
fn value(bytes: usize, random: &mut Rand) -> Vec<u8> {
    let mut value = vec![b'x'; bytes];
    for chunk in value[..bytes / 2].chunks_mut(8) {
        chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]);
    }
    value
}
