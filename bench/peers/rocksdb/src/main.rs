//! `peer-rocksdb`: YCSB on RocksDB's optimistic transactions, in the loop that measures Quintet.
//!
//! Relies on: `quintet-bench` for the driver and the report, `quintet-workloads` for the operations: both
//! systems are asked the same and timed by the same code.  Promises: the options of `quintet bench ycsb`
//! that make sense here, under the same names, and its JSON.  Does not: find good settings; the script
//! `bench/larger-than-memory` tries them.

mod native;
mod store;
mod ycsb;

use clap::Parser;
use quintet_base::{Durability, Level};
use quintet_bench::{Report, RunConfig, Setting};
use quintet_rt::RealClock;
use quintet_workloads::YcsbConfig;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use store::{Setup, Store};
use ycsb::YcsbTarget;

// As in ours, for the loop's own allocations; RocksDB keeps the allocator it was linked with.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// YCSB on RocksDB's optimistic transactions.
#[derive(Parser)]
struct Arguments {
    /// Directory that keeps the records
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Block cache, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 128)]
    cache_mib: usize,
    /// Size of a memtable, in MiB; there are at most three
    #[arg(long, value_name = "MIB", default_value_t = 16)]
    write_buffer_mib: usize,
    /// Pass the page cache
    #[arg(long)]
    direct: bool,
    /// Compress with LZ4
    #[arg(long)]
    lz4: bool,
    /// Threads for flushes and compactions
    #[arg(long, value_name = "N", default_value_t = 2)]
    background_jobs: i32,
    /// When a commit is answered: sync, async, or none (no log)
    #[arg(long, value_name = "WHEN", default_value = "sync", value_parser = Durability::parse)]
    durability: Durability,
    /// Isolation level: snapshot or serializable
    #[arg(long, value_name = "LEVEL", default_value = "snapshot", value_parser = level)]
    level: Level,
    /// Records in the table
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    records: u64,
    /// Bytes of a value
    #[arg(long, value_name = "N", default_value_t = 100)]
    value_bytes: usize,
    /// Operations of a transaction
    #[arg(long, value_name = "N", default_value_t = 4)]
    ops: usize,
    /// Share of operations that only read, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    read_share: f64,
    /// Share of the other operations that read before they write, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    modify_share: f64,
    /// Skew: Zipf exponent, 0 (none) to below 1
    #[arg(long, value_name = "THETA", default_value_t = 0.9)]
    theta: f64,
    /// Clients, each a thread
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    threads: u32,
    /// Transactions that all clients together begin per second, due or not [default: as many as they can]
    #[arg(long, value_name = "R")]
    rate: Option<f64>,
    /// Show throughput and latency per interval of 250 ms
    #[arg(long)]
    timeline: bool,
    /// Seconds to measure
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    seconds: f64,
    /// Seconds before that
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    warmup: f64,
    /// Look up all records that a transaction reads as a batch instead of one by one; only at snapshot
    #[arg(long)]
    together: bool,
    /// Seed of the operations
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// One line of JSON instead of text
    #[arg(long)]
    json: bool,
}

fn level(text: &str) -> Result<Level, String> {
    match Level::parse(text) {
        Ok(Level::ReadCommitted) => Err("not offered here".into()),
        Ok(level) => Ok(level),
        Err(error) => Err(error.to_string()),
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut cause = error.source();
            // With standard error gone there is nobody left to tell.
            let mut errors = std::io::stderr().lock();
            let _ = writeln!(errors, "peer-rocksdb: {error}");
            while let Some(source) = cause {
                let _ = writeln!(errors, "  because: {source}");
                cause = source.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    if arguments.together && arguments.level != Level::Snapshot {
        return Err(
            "--together is offered at --level snapshot only: a batch of reads is not validated"
                .into(),
        );
    }
    let setup = Setup {
        cache_bytes: arguments.cache_mib << 20,
        write_buffer_bytes: arguments.write_buffer_mib << 20,
        direct: arguments.direct,
        lz4: arguments.lz4,
        sync: arguments.durability == Durability::Sync,
        log: arguments.durability != Durability::None,
        background_jobs: arguments.background_jobs,
    };
    let workload = YcsbConfig {
        records: arguments.records,
        value_bytes: arguments.value_bytes,
        ops: arguments.ops,
        read_share: arguments.read_share,
        modify_share: arguments.modify_share,
        theta: arguments.theta,
    };
    let config = RunConfig {
        threads: arguments.threads,
        outstanding: 1,
        rate: arguments.rate,
        timeline_seconds: arguments.timeline.then_some(0.25),
        warmup_seconds: arguments.warmup,
        seconds: arguments.seconds,
    };
    let store = Store::open(&arguments.data, &setup)?;
    let target = YcsbTarget::load(
        store,
        workload.clone(),
        arguments.level,
        arguments.together,
        arguments.seed,
    )?;
    let figures = quintet_bench::run(&target, config, Arc::new(RealClock))?;
    let setting = Setting {
        system: "rocksdb",
        durability: arguments.durability,
        level: arguments.level,
        seed: arguments.seed,
    };
    let report = Report::ycsb(&workload, &config, setting, &figures);
    let text = match arguments.json {
        true => report.to_json(),
        false => report.to_string(),
    };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}
