//! The command line: what each command takes, and help that teaches.
//!
//! Relies on: clap.  Promises: every flag of a server is also an environment variable and a key of
//! the configuration file.  Does not: decide defaults of a server (`options` does, after reading the
//! file).

use crate::backup_arguments::{BACKUP_EXAMPLES, CHANGES_EXAMPLES, DUMP_EXAMPLES, RESTORE_EXAMPLES};
pub use crate::backup_arguments::{
    BackupArguments, ChangeFormat, ChangesArguments, DumpArguments, RestoreArguments,
};
use crate::nodes_arguments::{
    BENCH_NODES_EXAMPLES, BenchNodesArguments, NodeArguments, SIM_NODES_EXAMPLES, SimNodesArguments,
};
use crate::options::Options;
use crate::proxy_arguments::{PROXY_EXAMPLES, ProxyArguments};
use crate::quantity::Size;
use crate::sim_arguments::{SIM_EXAMPLES, SimArguments};
use clap::{ArgGroup, Args, Parser, Subcommand};
use quintet_analysis::Granularity;
use quintet_base::{Durability, Level};
use quintet_embed::Engine;
use quintet_workloads::{hot_row, tpcc, ycsb_sql};
use std::path::PathBuf;

const AFTER: &str = "\
Exit codes:
  0 done                               3 the data directory is in use
  1 a statement or benchmark failed    4 the data directory cannot be read or recovered
  2 wrong flags or configuration       5 the address cannot be listened on
  130 stopped at once by a second interrupt";

/// Quintet: a transactional SQL database that speaks PostgreSQL.
#[derive(Debug, Parser)]
#[command(name = "quintet", version, after_help = AFTER)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // there is one of it in the whole life of the program
pub enum Command {
    /// Serve PostgreSQL clients
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArguments),
    /// Run SQL on a data directory, without a server
    #[command(after_help = SQL_EXAMPLES)]
    Sql(SqlArguments),
    /// Copy a database as it is at one moment, while it is used
    #[command(after_help = BACKUP_EXAMPLES)]
    Backup(BackupArguments),
    /// Make a data directory of a backup
    #[command(after_help = RESTORE_EXAMPLES)]
    Restore(RestoreArguments),
    /// Write what a server commits, in order, as it commits it
    #[command(after_help = CHANGES_EXAMPLES)]
    Changes(ChangesArguments),
    /// Write a database as SQL, for Quintet and PostgreSQL
    #[command(after_help = DUMP_EXAMPLES)]
    Dump(DumpArguments),
    /// Measure
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Say which calls of procedures conflict, and why, without running them
    #[command(after_help = CLASSIFY_EXAMPLES)]
    Classify(ClassifyArguments),
    /// Serve clients in front of PostgreSQL servers that share the work, without running conflicting calls at once
    #[command(after_help = PROXY_EXAMPLES)]
    Proxy(ProxyArguments),
    /// Simulate how calls are scheduled, on modelled workers and sites
    #[command(after_help = SIM_EXAMPLES)]
    Sim(SimArguments),
    /// Simulate nodes with a partition each: queues, and what they are compared with
    #[command(after_help = SIM_NODES_EXAMPLES)]
    SimNodes(SimNodesArguments),
    /// Run one node of several with a partition each; `quintet bench nodes` starts them
    Node(NodeArguments),
    /// Show what a data directory holds, without changing it
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArguments),
}

const SERVE_EXAMPLES: &str = "\
Examples:
  quintet serve --data ./data
  quintet serve --config quintet.toml --memory 8GiB
  quintet serve --listen 0.0.0.0:5433 --user-file users --tls-cert c.pem --tls-key k.pem
  QUINTET_DURABILITY=async quintet serve

Every option is a flag, an environment variable (QUINTET_ and the name in capitals) and a key of the
TOML file; the flag wins over the environment, the environment over the file.
SIGTERM or Ctrl-C stops gracefully, a second one at once.";

/// `quintet serve`.
#[derive(Args, Debug)]
pub struct ServeArguments {
    /// TOML file with any of the options below, e.g. memory = "4GiB"
    #[arg(long, env = "QUINTET_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The options.
    #[command(flatten)]
    pub options: Options,
}

const SQL_EXAMPLES: &str = "\
Examples:
  quintet sql                              a prompt on ./data
  quintet sql -c 'select 1'
  quintet sql --data ./data schema.sql     statement by statement, stops at the first error
  quintet sql < dump.sql

The directory must not be served at the same time; use psql to talk to a server.";

/// `quintet sql`.
#[derive(Args, Debug)]
pub struct SqlArguments {
    /// Directory that holds the database; made if it is not there
    #[arg(long, env = "QUINTET_DATA", value_name = "DIR", default_value = "data")]
    pub data: PathBuf,
    /// Database to be in: one that CREATE DATABASE has made, or else the first
    #[arg(long, value_name = "NAME", default_value = "quintet")]
    pub database: String,
    /// Memory for rows, caches and buffers
    #[arg(
        long,
        env = "QUINTET_MEMORY",
        value_name = "SIZE",
        default_value = "2GiB"
    )]
    pub memory: Size,
    /// When a commit is answered: sync, async or none
    #[arg(long, env = "QUINTET_DURABILITY", value_name = "WHEN", default_value = "sync", value_parser = Durability::parse)]
    pub durability: Durability,
    /// Run this and end; several statements share one transaction
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file")]
    pub command: Option<String>,
    /// Show how long each statement takes
    #[arg(long)]
    pub timing: bool,
    /// Script to run; without it standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// YCSB on embedded key-value transactions
    #[command(after_help = YCSB_EXAMPLES)]
    Ycsb(YcsbArguments),
    /// TPC-C as procedures
    #[command(after_help = CALL_EXAMPLES)]
    Tpcc(TpccArguments),
    /// SmallBank as procedures
    #[command(after_help = CALL_EXAMPLES)]
    Smallbank(SmallBankArguments),
    /// One row that everybody writes, as procedures
    #[command(after_help = CALL_EXAMPLES)]
    Hotrow(HotRowArguments),
    /// Clicks, carts, favourites and purchases of a shop as procedures
    #[command(after_help = CALL_EXAMPLES)]
    Ecommerce(EcommerceArguments),
    /// YCSB as a procedure
    #[command(after_help = CALL_EXAMPLES)]
    YcsbSql(YcsbSqlArguments),
    /// Lists that are read and appended to, as a procedure; the history is checked for anomalies
    #[command(after_help = APPEND_EXAMPLES)]
    ListAppend(AppendArguments),
    /// One workload on several targets in turn, with the ratios
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArguments),
    /// Processes with a partition each: batches in queues, or locks, versions, turns and two-phase commit
    #[command(after_help = BENCH_NODES_EXAMPLES)]
    Nodes(BenchNodesArguments),
    /// What ordering a call costs while others wait; nothing is run
    #[command(after_help = SCHEDULER_EXAMPLES)]
    Scheduler(SchedulerArguments),
    /// What the machine itself adds to latency; no database is run
    #[command(after_help = MACHINE_EXAMPLES)]
    Machine(MachineArguments),
}

const MACHINE_EXAMPLES: &str = "\
Examples:
  quintet bench machine
  quintet bench machine --seconds 30 --load 0.5 --json

One thread on each processor reads the clock and nothing else, and takes down when it did not get to it for 0.3 ms or more: on a
virtual machine the host has taken the processor, or the system had something else to do. From these times
follows how long calls wait at least that want such a share of a processor: at 0.8 whatever a gap has left behind takes
four times as long as the gap to be worked off. Run it before and after a run with --rate, on the
machine at rest: less than what it says of p99 no program can show.";

/// `quintet bench machine`.
#[derive(Args, Debug)]
pub struct MachineArguments {
    /// Seconds to watch
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds)]
    pub seconds: f64,
    /// Share of a processor that the calls want
    #[arg(long, value_name = "SHARE", default_value_t = 0.8, value_parser = load)]
    pub load: f64,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

fn load(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..0.99).contains(&share) => Ok(share),
        _ => Err("a share from 0 to below 0.99".to_owned()),
    }
}

const SCHEDULER_EXAMPLES: &str = "\
Examples:
  quintet bench scheduler --workload tpcc --pending 100000
  quintet bench scheduler --workload tpcc --pending 10 --json

The scheduler of chains is given TPC-C's calls with random arguments, in the full mix, and their conflict keys, derived
from the procedures' text; what making those costs is told apart. So many calls wait all the time: for each that
comes, the one that has run longest ends. Figures are per procedure: what it takes to order a call, and
what follows when one has ended.";

/// `quintet bench scheduler`.
#[derive(Args, Debug)]
pub struct SchedulerArguments {
    /// Whose calls: tpcc
    #[arg(long, value_name = "NAME", default_value = "tpcc", value_parser = ["tpcc"])]
    pub workload: String,
    /// Calls that wait or run meanwhile
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub pending: u32,
    /// Calls to measure
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub calls: u32,
    /// Warehouses; their terminals take turns
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub warehouses: u64,
    /// Workers, each of which runs one call at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub workers: u32,
    /// Isolation level that the keys are for: snapshot or serializable
    #[arg(long, value_name = "LEVEL", default_value = "snapshot", value_parser = Level::parse)]
    pub level: Level,
    /// What counts as the same thing: column, row or commit; see `quintet classify`
    #[arg(long, value_name = "WHAT", default_value = "column", value_parser = granularity)]
    pub granularity: Granularity,
    /// Seed of the arguments
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// One line of JSON instead of text
    #[arg(long)]
    pub json: bool,
}

const CALL_EXAMPLES: &str = "\
Examples:
  quintet bench tpcc --warehouses 10 --target postgres://me@127.0.0.1:5432/bench --load --check
  quintet bench tpcc --warehouses 10 --target postgres://me@127.0.0.1:5433/quintet --clients 32
  quintet bench tpcc --mix neworder-payment --target embedded --threads 2 --clients 2 --durability async
  quintet bench tpcc --warehouses 1 --target embedded --data ./data --load --check --seconds 0
  quintet bench tpcc --target postgres://me@127.0.0.1:5432/bench --clients 8 --plot tpcc.svg

The same SQL text runs on PostgreSQL and on Quintet: tables, procedures, calls and checks are in
crates/workloads. --load drops the workload's tables and makes them anew. Procedures are made anew for each
run; with --seconds 0 there is no run, and they are left alone.
A call that loses (40001, 40P01) is run again with the same arguments; its latency is to the last answer. With
--rate calls are due at fixed moments, and latency is from then.
--check runs the workload's consistency checks before and after; the run fails if one fails.
While a run goes on, standard error says what the last second did. Several targets are measured in turn, as
`quintet bench compare` does.
Embedded without --data, everything is loaded into a temporary directory inside the current one.";

const APPEND_EXAMPLES: &str = "\
Examples:
  quintet bench list-append --clients 8 --level snapshot
  quintet bench list-append --target postgres://me@127.0.0.1:5433/quintet --clients 16 --seconds 30
  quintet bench list-append --lists 2 --operations-max 8 --transactions-per-list 4

Each transaction reads whole lists and appends values that are unique in the run, so that every list that
somebody reads tells the order of its writers. What clients did and saw is kept, with all lists read once more at
the end, and is checked for anomalies (lost, torn and aborted reads, cycles of dependencies, also against the order
of real time): one that the level forbids fails the run, those that it allows are counted. The tables are made anew
for each run. The history is kept in memory, some hundred bytes for a read: mind long runs.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  quintet bench compare --workload tpcc --warehouses 2 --load --clients 8 --rounds 5 \\
      --target postgres://me@127.0.0.1:5432/bench --target postgres://me@127.0.0.1:5433/quintet
  quintet bench compare --workload hotrow --target embedded --target embedded --plot hotrow.svg

Everything that `quintet bench WORKLOAD` takes may follow; --target comes two to four times. All targets are loaded
first (with --load; embedded ones always), then they take turns, backwards every second round. The table has
the median, least and greatest of the rounds; ratios are against the first target, round by round. With --json it is one line,
every round's report in it. Two embedded targets are alike: what they differ by is the noise of the machine.";

/// `quintet bench compare`.
#[derive(Args, Debug)]
pub struct CompareArguments {
    /// tpcc, smallbank, hotrow, ecommerce, ycsb-sql or list-append
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Options of the workload, with --target two to four times, and --rounds
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTIONS"
    )]
    pub options: Vec<String>,
}

/// `quintet bench list-append`.
#[derive(Args, Debug)]
pub struct AppendArguments {
    /// Lists that are touched at one time; few make much conflict
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub lists: u64,
    /// Transactions of a client after which it leaves the oldest list for a new one
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub transactions_per_list: u64,
    /// Most operations of a transaction
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub operations_max: u64,
    /// What every workload takes.
    #[command(flatten)]
    pub calls: CallArguments,
}

/// What every workload of calls takes.
#[derive(Args, Debug)]
#[command(group = intervals())]
pub struct CallArguments {
    /// What to call: embedded, or the postgres:// URL of a server; several are compared
    #[arg(long, value_name = "TARGET", default_value = "embedded", value_parser = target)]
    pub target: Vec<Target>,
    /// Several targets: how often each has its turn [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// Connections
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub clients: u32,
    /// Threads that the clients share
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub threads: u32,
    /// Isolation level: read-committed, snapshot or serializable
    #[arg(long, value_name = "LEVEL", default_value = "serializable", value_parser = Level::parse)]
    pub level: Level,
    /// Make the tables anew and fill them first
    #[arg(long)]
    pub load: bool,
    /// Run the consistency checks before and after
    #[arg(long)]
    pub check: bool,
    /// Call the procedures that are there, without making them: before a front end they cannot be made
    #[arg(long, conflicts_with = "load")]
    pub as_is: bool,
    /// Seconds to measure; 0 for none
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds)]
    pub seconds: f64,
    /// Seconds before that
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
    pub warmup: f64,
    /// Calls that all clients together begin per second, due or not [default: as many as they can]
    #[arg(long, value_name = "R", value_parser = rate)]
    pub rate: Option<f64>,
    /// Show throughput and latency per interval
    #[arg(long)]
    pub timeline: bool,
    /// Length of such an interval
    #[arg(long, value_name = "MS", default_value_t = 250, requires = "intervals", value_parser = clap::value_parser!(u32).range(10..=60_000))]
    pub interval_ms: u32,
    /// Draw throughput over time and latency by percentile into this SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Seed of rows and calls
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// One line of JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Embedded: directory that keeps the tables [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Embedded: memory for rows, caches and buffers
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    pub memory: Size,
    /// Embedded: ask the system for all of that memory before the run, not when it is first used
    #[arg(long)]
    pub populate_memory: bool,
    /// Embedded: when a commit is answered: sync, async or none
    #[arg(long, value_name = "WHEN", default_value = "sync", value_parser = Durability::parse)]
    pub durability: Durability,
    /// Quintet's engine for the calls: direct, chain, queue, auto or locking [default: what the server says; direct]
    #[arg(long, value_name = "ENGINE", value_parser = Engine::parse)]
    pub engine: Option<Engine>,
    /// Embedded: batches that run side by side at most [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub lanes: Option<u16>,
    /// What each session sets first, e.g. statement_timeout=500; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Embedded: whether a call announces its reads before it begins: on or off
    #[arg(long, value_name = "SWITCH", default_value = "on", value_parser = switch, action = clap::ArgAction::Set)]
    pub group_reads: bool,
}

impl CallArguments {
    /// What each session sets first.
    pub fn session_settings(&self) -> Vec<(String, String)> {
        let engine = self
            .engine
            .map(|engine| ("quintet.engine".into(), engine.name().into()));
        engine.into_iter().chain(self.set.iter().cloned()).collect()
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if is_name(name) => Ok((name.into(), value.into())),
        _ => Err("NAME=VALUE, where the name has letters, digits, _ and . only".into()),
    }
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    !text.is_empty() && text.chars().all(fits)
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off".into()),
    }
}

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A database in this process.
    Embedded,
    /// A server, by its URL.
    Url(String),
}

fn target(text: &str) -> Result<Target, String> {
    if text == "embedded" {
        return Ok(Target::Embedded);
    }
    match text.starts_with("postgres://") || text.starts_with("postgresql://") {
        true => Ok(Target::Url(text.to_owned())),
        false => Err("embedded, or a URL that begins with postgres://".into()),
    }
}

/// `quintet bench tpcc`.
#[derive(Args, Debug)]
pub struct TpccArguments {
    /// Warehouses; each takes about 100 MB
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub warehouses: u64,
    /// Which transactions how often: full (45/43/4/4/4), seeds (the same), neworder-payment (50/50) or
    /// quelea (5/45/5/40/5)
    #[arg(long, value_name = "NAME", default_value = "full", value_parser = tpcc_mix)]
    pub mix: tpcc::Mix,
    /// A hundredth of the specification's items and customers, for trying
    #[arg(long)]
    pub small: bool,
    /// What every workload takes.
    #[command(flatten)]
    pub calls: CallArguments,
}

fn tpcc_mix(name: &str) -> Result<tpcc::Mix, String> {
    let names = tpcc::Mix::ALL.map(tpcc::Mix::name).join(", ");
    tpcc::Mix::parse(name).ok_or_else(|| format!("one of {names}"))
}

/// `quintet bench smallbank`.
#[derive(Args, Debug)]
pub struct SmallBankArguments {
    /// Customers
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(2..=1_000_000_000))]
    pub customers: u64,
    /// Skew of the customers: Zipf exponent, 0 (none) to below 1
    #[arg(long, value_name = "THETA", default_value_t = 0.0, value_parser = theta)]
    pub theta: f64,
    /// What every workload takes.
    #[command(flatten)]
    pub calls: CallArguments,
}

/// `quintet bench hotrow`.
#[derive(Args, Debug)]
pub struct HotRowArguments {
    /// When a transaction touches the hot row: first, last or none
    #[arg(long, value_name = "NAME", default_value = "first", value_parser = hot_row_mix)]
    pub mix: hot_row::Mix,
    /// Hot rows; a transaction touches one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub hot_rows: u64,
    /// Cold rows
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    pub cold_rows: u64,
    /// Cold rows that a transaction touches
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(0..=100))]
    pub cold_touched: u64,
    /// What every workload takes.
    #[command(flatten)]
    pub calls: CallArguments,
}

fn hot_row_mix(name: &str) -> Result<hot_row::Mix, String> {
    let names = hot_row::Mix::ALL.map(hot_row::Mix::name).join(", ");
    hot_row::Mix::parse(name).ok_or_else(|| format!("one of {names}"))
}

/// `quintet bench ecommerce`.
#[derive(Args, Debug)]
pub struct EcommerceArguments {
    /// Users
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub users: u64,
    /// Items
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub items: u64,
    /// Skew of the items: Zipf exponent, 0 (none) to below 1
    #[arg(long, value_name = "THETA", default_value_t = 0.8, value_parser = theta)]
    pub theta: f64,
    /// What every workload takes.
    #[command(flatten)]
    pub calls: CallArguments,
}

/// `quintet bench ycsb-sql`.
#[derive(Args, Debug)]
pub struct YcsbSqlArguments {
    /// A transaction's operations: deuteronomy (4, 84 % reads) or qstore (8 reads, 8 read-modify-writes)
    #[arg(long, value_name = "NAME", default_value = "deuteronomy", value_parser = ycsb_mix)]
    pub mix: ycsb_sql::Mix,
    /// Records in the table
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(16..=1_000_000_000))]
    pub records: u64,
    /// Bytes of a value
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub value_bytes: usize,
    /// Skew: Zipf exponent, 0 (uniform) to below 1
    #[arg(long, value_name = "THETA", default_value_t = 0.0, value_parser = theta)]
    pub theta: f64,
    /// Share of the transactions that raise an error when all is done, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub raise: f64,
    /// What every workload takes.
    #[command(flatten)]
    pub calls: CallArguments,
}

fn ycsb_mix(name: &str) -> Result<ycsb_sql::Mix, String> {
    let names = ycsb_sql::Mix::ALL.map(ycsb_sql::Mix::name).join(", ");
    ycsb_sql::Mix::parse(name).ok_or_else(|| format!("one of {names}"))
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a number from 0 to 1".into()),
    }
}

fn theta(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(theta) if (0.0..1.0).contains(&theta) => Ok(theta),
        _ => Err("a number from 0 to below 1".into()),
    }
}

const YCSB_EXAMPLES: &str = "\
Examples:
  quintet bench ycsb --records 1000000 --theta 0.9
  quintet bench ycsb --mix b --ops 1 --threads 32 --durability sync
  quintet bench ycsb --threads 2 --outstanding 32 --durability sync
  quintet bench ycsb --rate 50000 --timeline --durability async
  quintet bench ycsb --ops 16 --read-share 0.5 --durability none --json

Each thread runs one transaction after the other. With --outstanding it goes on before its commits are
answered; latency is from a transaction's begin to its answer. With --rate transactions are due at
fixed moments, and latency is from then, so that a stall counts for all that were due in it.
A transaction that loses a conflict counts as aborted and is not run again.
Without --data the records live in a temporary directory inside the current one and are gone afterwards;
with --data they stay and are found again by the next run.
For the disk's part compare --durability sync with none; with sync more threads than cores pay.";

/// `quintet bench ycsb`.
#[derive(Args, Debug)]
#[command(group = intervals())]
pub struct YcsbArguments {
    /// Directory that keeps the records [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Memory for rows, caches and buffers
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    pub memory: Size,
    /// Ask the system for all of that memory before the run, not when it is first used
    #[arg(long)]
    pub populate_memory: bool,
    /// When a commit is answered: sync, async or none
    #[arg(long, value_name = "WHEN", default_value = "sync", value_parser = Durability::parse)]
    pub durability: Durability,
    /// Isolation level: read-committed, snapshot or serializable
    #[arg(long, value_name = "LEVEL", default_value = "serializable", value_parser = Level::parse)]
    pub level: Level,
    /// Operations as in YCSB a, b, c or f; sets both shares below
    #[arg(long, value_name = "NAME", conflicts_with_all = ["read_share", "modify_share"])]
    pub mix: Option<String>,
    /// Records in the table
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub records: u64,
    /// Bytes of a value
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub value_bytes: usize,
    /// Operations of a transaction
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub ops: usize,
    /// Share of operations that only read, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub read_share: f64,
    /// Share of the other operations that read before they write, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    pub modify_share: f64,
    /// Skew: Zipf exponent, 0 (none) to below 1
    #[arg(long, value_name = "THETA", default_value_t = 0.9)]
    pub theta: f64,
    /// Clients, each a thread
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub threads: u32,
    /// Commits that a client leaves unanswered at most; 1: it waits for each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub outstanding: u32,
    /// Transactions that all clients together begin per second, due or not [default: as many as they can]
    #[arg(long, value_name = "R", value_parser = rate)]
    pub rate: Option<f64>,
    /// Show throughput and latency per interval, and which had a compaction in them
    #[arg(long)]
    pub timeline: bool,
    /// Length of such an interval
    #[arg(long, value_name = "MS", default_value_t = 250, requires = "intervals", value_parser = clap::value_parser!(u32).range(10..=60_000))]
    pub interval_ms: u32,
    /// Draw throughput over time and latency by percentile into this SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Post to the store in pieces of so much log, rather than all at once when much has come
    #[arg(long, value_name = "SIZE")]
    pub post_piece: Option<Size>,
    /// Seconds to measure
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds)]
    pub seconds: f64,
    /// Seconds before that
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
    pub warmup: f64,
    /// Ask for all records that a transaction reads at once instead of one by one
    #[arg(long)]
    pub together: bool,
    /// Seed of the operations; the same seed gives each client the same stream
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// One line of JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// What an interval has a length for.
fn intervals() -> ArgGroup {
    let group = ArgGroup::new("intervals").args(["timeline", "plot"]);
    group.multiple(true)
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (1.0..=1e9).contains(&rate) => Ok(rate),
        _ => Err("a number of transactions per second, at least 1".into()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds, at most a day".into()),
    }
}

const CLASSIFY_EXAMPLES: &str = "\
Examples:
  quintet classify schema.sql procedures.sql
  quintet classify --workload tpcc
  quintet classify --workload smallbank --level serializable --granularity row
  quintet classify --json schema.sql procedures.sql

The files hold CREATE TABLE, CREATE PROCEDURE and whatever else makes the schema; nothing is run or kept. At snapshot
writes conflict with writes, at serializable with reads, too. By row is how PostgreSQL sees it, by
column is what the procedures mean, by commit (rows written, columns read) is how Quintet validates.";

/// `quintet classify`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("source").args(["files", "workload"]).required(true)))]
pub struct ClassifyArguments {
    /// Scripts with tables and procedures, in the order in which they are to be read
    #[arg(value_name = "FILES")]
    pub files: Vec<PathBuf>,
    /// A workload of `quintet bench` instead: tpcc, smallbank, hotrow, ecommerce, ycsb-sql or list-append
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Isolation level: snapshot or serializable
    #[arg(long, value_name = "LEVEL", default_value = "snapshot", value_parser = Level::parse)]
    pub level: Level,
    /// What counts as the same thing: column, row, or commit, which is what chains go by
    #[arg(long, value_name = "WHAT", default_value = "column", value_parser = granularity)]
    pub granularity: Granularity,
    /// One line of JSON instead of text
    #[arg(long)]
    pub json: bool,
}

fn granularity(text: &str) -> Result<Granularity, String> {
    match text {
        "column" => Ok(Granularity::Column),
        "row" => Ok(Granularity::Row),
        "commit" => Ok(Granularity::Commit),
        _ => Err("column, row or commit".into()),
    }
}

const INSPECT_EXAMPLES: &str = "\
Examples:
  quintet inspect --data ./data
  quintet inspect --data ./data --tables

Without --tables nothing is changed. With it the database is opened, which recovers it.";

/// `quintet inspect`.
#[derive(Args, Debug)]
pub struct InspectArguments {
    /// Directory that holds the database
    #[arg(long, env = "QUINTET_DATA", value_name = "DIR", default_value = "data")]
    pub data: PathBuf,
    /// List the tables too; opens the database
    #[arg(long)]
    pub tables: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn defaults_and_values_are_read() {
        let parse = |words: &[&str]| Arguments::try_parse_from(words);
        let arguments = parse(&[
            "quintet",
            "bench",
            "ycsb",
            "--level",
            "snapshot",
            "--durability",
            "none",
        ])
        .unwrap();
        let Command::Bench(BenchCommand::Ycsb(ycsb)) = arguments.command else {
            panic!("not ycsb")
        };
        assert_eq!(
            (ycsb.level, ycsb.durability, ycsb.ops),
            (Level::Snapshot, Durability::None, 4)
        );
        let arguments = parse(&["quintet", "bench", "hotrow", "--mix", "last"]).unwrap();
        let Command::Bench(BenchCommand::Hotrow(hot)) = arguments.command else {
            panic!("not hotrow")
        };
        assert_eq!((hot.mix, hot.calls.clients), (hot_row::Mix::Last, 2));
        assert_eq!(hot.calls.target, [Target::Embedded]);
        assert!(hot.calls.group_reads);
        let arguments = parse(&["quintet", "bench", "hotrow", "--group-reads", "off"]).unwrap();
        let Command::Bench(BenchCommand::Hotrow(hot)) = arguments.command else {
            panic!("not hotrow")
        };
        assert!(!hot.calls.group_reads);
        let arguments = parse(&[
            "quintet", "serve", "--user", "ann:x", "--user", "bob:y", "--memory", "1GiB",
        ])
        .unwrap();
        let Command::Serve(serve) = arguments.command else {
            panic!("not serve")
        };
        assert_eq!(serve.options.user.unwrap(), ["ann:x", "bob:y"]);
        assert_eq!(serve.options.memory, Some(Size(1 << 30)));
        for wrong in [
            vec!["quintet"],
            vec!["quintet", "serve", "--memory", "much"],
            vec!["quintet", "serve", "--durability", "maybe"],
            vec!["quintet", "sql", "-c", "select 1", "file.sql"],
            vec!["quintet", "bench", "ycsb", "--seconds", "-1"],
            vec![
                "quintet",
                "bench",
                "ycsb",
                "--mix",
                "a",
                "--read-share",
                "0.5",
            ],
            vec!["quintet", "bench", "ycsb", "--threads", "0"],
            vec!["quintet", "bench", "ycsb", "--outstanding", "0"],
            vec!["quintet", "bench", "ycsb", "--rate", "0"],
            vec!["quintet", "bench", "ycsb", "--interval-ms", "100"],
            vec!["quintet", "bench", "tpcc", "--mix", "spec"],
            vec!["quintet", "bench", "tpcc", "--group-reads", "perhaps"],
            vec!["quintet", "bench", "tpcc", "--target", "mysql://here"],
            vec!["quintet", "classify"],
            vec!["quintet", "classify", "--workload", "tpcc", "a.sql"],
            vec!["quintet", "classify", "--granularity", "cell", "a.sql"],
            vec!["quintet", "bench", "smallbank", "--theta", "1"],
            vec!["quintet", "bench", "smallbank", "--customers", "1"],
        ] {
            assert!(parse(&wrong).is_err(), "{wrong:?}");
        }
    }
}
