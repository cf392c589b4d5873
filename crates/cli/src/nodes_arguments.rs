//! What `quintet node`, `quintet bench nodes` and `quintet sim-nodes` take.
//!
//! Relies on: clap.  Promises: a node that a benchmark starts is told what the benchmark was told.
//! Does not: run anything; `nodes` does.

use crate::quantity::Size;
use clap::Args;
use quintet_base::Durability;
use quintet_bench::nodes::NodesWorkload;
use quintet_nodes::workload::{TpccConfig, YcsbConfig};
use quintet_nodes::{BatchSize, EngineKind};
use std::path::PathBuf;

/// Examples that stand below the help.
pub const BENCH_NODES_EXAMPLES: &str = "\
Examples:
  quintet bench nodes --nodes 2 --engine queue --multi-partition 50
  quintet bench nodes --nodes 4 --engine no-wait --theta 0.9 --outstanding 64
  quintet bench nodes --workload tpcc --multi-partition 15 --durability sync
  quintet bench nodes --workload transfers --kills 3

Each node is a process of this program on loopback, with its own partition, database and log; the clients are in
this one. Messages and bytes are counted, and are the same on any machine. docs/nodes.md says how it works.";

/// Examples that stand below the help.
pub const SIM_NODES_EXAMPLES: &str = "\
Examples:
  quintet sim-nodes --nodes 16 --engine queue --multi-partition 50 --span 8
  quintet sim-nodes --nodes 32 --workload tpcc --multi-partition 15
  quintet sim-nodes --engine calvin --batch 2500 --full-batches --outstanding 10000

The same state machines as in `quintet bench nodes`, each on a processor of its own, in simulated time. What
things cost is listed in docs/nodes.md.";

/// What is asked, and of whom.
#[derive(Args, Clone, Debug)]
pub struct NodesArguments {
    /// Who runs the calls: queue, calvin, no-wait, occ or serial
    #[arg(long, value_name = "NAME", default_value = "queue", value_parser = engine)]
    pub engine: EngineKind,
    /// ycsb, tpcc (NewOrder and Payment) or transfers
    #[arg(long, value_name = "NAME", default_value = "ycsb", value_parser = ["ycsb", "tpcc", "transfers"])]
    pub workload: String,
    /// Calls of several partitions, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 50.0, value_parser = percent)]
    pub multi_partition: f64,
    /// YCSB: partitions of such a call
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..))]
    pub span: u16,
    /// YCSB: skew of the keys of each node, below 1
    #[arg(long, value_name = "T", default_value_t = 0.0, value_parser = theta)]
    pub theta: f64,
    /// YCSB: operations of a call, half of them reads, half read-modify-writes
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..1000))]
    pub operations: u32,
    /// YCSB, transfers: records of each node
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(2_100..))]
    pub records: u64,
    /// TPC-C: warehouses of each node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..1_000))]
    pub warehouses: u64,
    /// Most calls of a node in a batch
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,
    /// Wait until batches are full, as published systems do, instead of taking what has come
    #[arg(long)]
    pub full_batches: bool,
    /// Queues of a node
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    pub lanes: u16,
}

/// `quintet node`.
#[derive(Args, Clone, Debug)]
pub struct NodeArguments {
    /// Which of the peers this is, from 0
    #[arg(long, value_name = "N")]
    pub me: u16,
    /// Addresses of all nodes, in their order
    #[arg(long, value_name = "ADDRESS,…", value_delimiter = ',', required = true)]
    pub peers: Vec<String>,
    /// Directory of the node's partition
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// When a batch is answered: sync, async or none
    #[arg(long, value_name = "WHEN", default_value = "sync", value_parser = Durability::parse)]
    pub durability: Durability,
    /// Memory for rows, caches and buffers
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    pub memory: Size,
    /// What is asked.
    #[command(flatten)]
    pub nodes: NodesArguments,
}

/// `quintet bench nodes`.
#[derive(Args, Clone, Debug)]
pub struct BenchNodesArguments {
    /// Processes
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=32))]
    pub nodes: u16,
    /// Calls under way at each node
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..1_000_000))]
    pub outstanding: u32,
    /// Measured, in seconds
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub seconds: f64,
    /// Before that, in seconds
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub warmup: f64,
    /// Kill a process so often, start it again, and check at the end that every call is whole; for transfers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub kills: u32,
    /// When a batch is answered: sync, async or none
    #[arg(long, value_name = "WHEN", default_value = "sync", value_parser = Durability::parse)]
    pub durability: Durability,
    /// Memory of each node
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    pub memory: Size,
    /// Decides everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// One line of JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// What is asked.
    #[command(flatten)]
    pub workload: NodesArguments,
}

/// `quintet sim-nodes`.
#[derive(Args, Clone, Debug)]
pub struct SimNodesArguments {
    /// Nodes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub nodes: u16,
    /// Calls under way at each node
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..1_000_000))]
    pub outstanding: u32,
    /// Simulated, in milliseconds, after a tenth as much that is not counted
    #[arg(long, value_name = "MS", default_value_t = 200.0)]
    pub milliseconds: f64,
    /// From node to node, one way, in microseconds
    #[arg(long, value_name = "US", default_value_t = 50.0)]
    pub latency_us: f64,
    /// A sync of the log, in microseconds; 0: nobody waits for it
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    pub sync_us: f64,
    /// Decides everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// One line of JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// What is asked.
    #[command(flatten)]
    pub workload: NodesArguments,
}

impl NodesArguments {
    /// What is asked of so many nodes.
    pub fn workload(&self, nodes: u16) -> NodesWorkload {
        let share = self.multi_partition / 100.0;
        match self.workload.as_str() {
            "tpcc" => NodesWorkload::Tpcc(TpccConfig {
                remote: share,
                ..TpccConfig::new(nodes, self.warehouses)
            }),
            "transfers" => NodesWorkload::Transfers(nodes, self.records),
            _ => NodesWorkload::Ycsb(YcsbConfig {
                records: self.records,
                operations: self.operations as usize,
                theta: self.theta,
                multi_partition: share,
                span: self.span,
                ..YcsbConfig::new(nodes)
            }),
        }
    }

    /// How batches are formed.
    pub fn batch(&self) -> BatchSize {
        let size = self.batch as usize;
        match self.full_batches {
            true => BatchSize::Full(size),
            false => BatchSize::Arrived(size),
        }
    }

    /// The same for a process.
    pub fn to_flags(&self) -> Vec<String> {
        let mut flags: Vec<String> = Vec::new();
        let mut flag = |name: &str, value: String| flags.extend([format!("--{name}"), value]);
        flag("engine", self.engine.name().to_owned());
        flag("workload", self.workload.clone());
        flag("multi-partition", self.multi_partition.to_string());
        flag("span", self.span.to_string());
        flag("theta", self.theta.to_string());
        flag("operations", self.operations.to_string());
        flag("records", self.records.to_string());
        flag("warehouses", self.warehouses.to_string());
        flag("batch", self.batch.to_string());
        flag("lanes", self.lanes.to_string());
        if self.full_batches {
            flags.push("--full-batches".to_owned());
        }
        flags
    }
}

fn engine(text: &str) -> Result<EngineKind, String> {
    EngineKind::parse(text).ok_or_else(|| "queue, calvin, no-wait, occ or serial".into())
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=100.0).contains(&share) => Ok(share),
        _ => Err("a number from 0 to 100".into()),
    }
}

fn theta(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(theta) if (0.0..1.0).contains(&theta) => Ok(theta),
        _ => Err("0 or more and below 1".into()),
    }
}
