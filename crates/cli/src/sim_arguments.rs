//! What `quintet sim` takes.
//!
//! Relies on: clap.  Promises: defaults are the thesis's Table 5.1.  Does not: run anything; `simulate` does.

use clap::Args;
use quintet_sim_calls::{
    Again, Begin, Delays, Pattern, Placement, Policy, RunAt, Settings, Spread, Workers,
};
use std::path::PathBuf;

/// Examples that stand below the help.
pub const SIM_EXAMPLES: &str = "\
Examples:
  quintet sim --workload tpcc --policy chains --rate 150 --workers 100
  quintet sim --policy round-robin --rate 150 --plot rr.svg
  quintet sim --policy tashkent --rate 175 --workers unbounded --json
  quintet sim --policy tashkent --certify-ms 180 --coarse-rows
  quintet sim --sites 4 --latency-ms 100 --workers unbounded --calls 512
  quintet sim --workload tpce --run-time-keys --arrivals at-once --workers unbounded --calls 512
  quintet sim --figure 5.7 --plot utilisation.svg
  quintet sim --figures ./figures
  quintet sim --headlines

Calls come, are scheduled, run and answered in simulated time. Who conflicts is said by the classifier of
`quintet classify`; under chains the scheduler is the server's own, at one site and at several.
Durations and messages are those of Table 5.1 of the Gargamel thesis. docs/schedule-simulation.md says what
each policy does, and has the thesis's results beside these.";

/// Which calls come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SimWorkload {
    /// TPC-C's five transactions
    Tpcc,
    /// TPC-E's ten transactions
    Tpce,
}

/// `quintet sim`.
#[derive(Args, Debug)]
pub struct SimArguments {
    /// Which calls come
    #[arg(long, value_name = "NAME", value_enum, default_value = "tpcc")]
    pub workload: SimWorkload,
    /// Who schedules: chains, centralised, round-robin or tashkent
    #[arg(long, value_name = "NAME", default_value = "chains", value_parser = policy)]
    pub policy: Policy,
    /// Calls that come per second, to all sites together
    #[arg(long, value_name = "R", default_value_t = 150.0)]
    pub rate: f64,
    /// How they come: poisson, even or at-once
    #[arg(long, value_name = "HOW", default_value = "poisson", value_parser = pattern)]
    pub arrivals: Pattern,
    /// How many come [default: 28 seconds' worth]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub calls: Option<u64>,
    /// Workers of each site, or unbounded
    #[arg(long, value_name = "N", default_value = "100", value_parser = workers)]
    pub workers: Workers,
    /// Chains: a call runs where its chain is, or on any worker of the site: chain or any
    #[arg(long, value_name = "WHERE", default_value = "chain", value_parser = placement)]
    pub placement: Placement,
    /// Durations vary so many times as much as Table 5.1 says; 0: not at all
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub spread: f64,
    /// Sites, each with a scheduler; more than one with chains only
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub sites: u32,
    /// One way from site to site; agreement takes three times that
    #[arg(long, value_name = "MS", default_value_t = 60.0)]
    pub latency_ms: f64,
    /// How long a worker takes to apply another's write set; with chains above 0 each worker has a copy
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    pub apply_ms: f64,
    /// Certification: how long replicas agree on the order of certificates, while the worker waits
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    pub certify_ms: f64,
    /// TPC-C: warehouses
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..100_000))]
    pub warehouses: u32,
    /// Tell the scheduler the rows that a call will write, as no classifier can: what false positives cost
    #[arg(long)]
    pub exact_keys: bool,
    /// Certify by what a scheduler is told instead of by rows: what false positives cost certification
    #[arg(long, conflicts_with = "exact_keys")]
    pub coarse_rows: bool,
    /// TPC-E: look up broker and account of a Trade Result before it is scheduled
    #[arg(long)]
    pub run_time_keys: bool,
    /// TPC-E: share of Trade Results among the calls [default: that of the mix, 0.1]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub trade_result_share: Option<f64>,
    /// When a call that lost its certification is run again: at-once or at-the-back
    #[arg(long, value_name = "WHEN", default_value = "at-once", value_parser = again)]
    pub again: Again,
    /// Several sites: what a call waits for that comes after another: committed, or executed at its site
    #[arg(long, value_name = "STEP", default_value = "committed", value_parser = begin)]
    pub begin: Begin,
    /// Several sites: a call runs where its chain is, as in the thesis, or at its home: chain or home
    #[arg(long, value_name = "SITE", default_value = "chain", value_parser = run_at)]
    pub run_at: RunAt,
    /// Length of the intervals of curves over time
    #[arg(long, value_name = "MS", default_value_t = 1000.0)]
    pub interval_ms: f64,
    /// Decides everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// One line of JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Draw curves over time and penalty ratios, or the figure, into this SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Make one of the thesis's figures, 5.1 to 5.22; of the other options only --seed, --json and --plot count
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["figures", "headlines"])]
    pub figure: Option<String>,
    /// Make all of them, as SVGs in this directory and as tables on standard output
    #[arg(long, value_name = "DIR", conflicts_with_all = ["headlines", "plot"])]
    pub figures: Option<PathBuf>,
    /// Make the table of the thesis's headline results and ours
    #[arg(long, conflicts_with = "plot")]
    pub headlines: bool,
}

/// Seconds for which calls come unless their number is given.
const SECONDS: f64 = 28.0;

impl SimArguments {
    /// What to simulate.
    pub fn settings(&self) -> Settings {
        let calls = (self.rate * SECONDS).round().max(1.0) as u64;
        let delays = Delays::TABLE
            .with_latency_ms(self.latency_ms)
            .with_certify_ms(self.certify_ms);
        Settings {
            policy: self.policy,
            rate: self.rate,
            pattern: self.arrivals,
            calls: self.calls.unwrap_or(calls),
            workers: self.workers,
            placement: self.placement,
            spread: self.spread,
            sites: self.sites,
            delays: Delays {
                apply: Spread::fixed(self.apply_ms),
                ..delays
            },
            again: self.again,
            begin: self.begin,
            run_at: self.run_at,
            interval_ms: self.interval_ms,
            seed: self.seed,
            ..Settings::default()
        }
    }
}

fn policy(text: &str) -> Result<Policy, String> {
    Policy::parse(text).ok_or_else(|| "chains, centralised, round-robin or tashkent".into())
}

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::parse(text).ok_or_else(|| "poisson, even or at-once".into())
}

fn workers(text: &str) -> Result<Workers, String> {
    match (text, text.parse()) {
        ("unbounded", _) => Ok(Workers::Unbounded),
        (_, Ok(workers)) if workers > 0 => Ok(Workers::Bounded(workers)),
        _ => Err("a number above 0, or unbounded".into()),
    }
}

fn placement(text: &str) -> Result<Placement, String> {
    match text {
        "chain" => Ok(Placement::Chain),
        "any" => Ok(Placement::Any),
        _ => Err("chain or any".into()),
    }
}

fn again(text: &str) -> Result<Again, String> {
    match text {
        "at-once" => Ok(Again::AtOnce),
        "at-the-back" => Ok(Again::AtTheBack),
        _ => Err("at-once or at-the-back".into()),
    }
}

fn begin(text: &str) -> Result<Begin, String> {
    match text {
        "committed" => Ok(Begin::Committed),
        "executed" => Ok(Begin::Executed),
        _ => Err("committed or executed".into()),
    }
}

fn run_at(text: &str) -> Result<RunAt, String> {
    match text {
        "chain" => Ok(RunAt::Chain),
        "home" => Ok(RunAt::Home),
        _ => Err("chain or home".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err("a share, 0 or more and below 1".into()),
    }
}
