//! `quintet node`, `quintet bench nodes`, `quintet sim-nodes`.
//!
//! Relies on: `quintet_bench::nodes` for processes, `quintet_nodes::sim` for simulated ones.  Promises: a run whose
//! audit does not hold ends with code 1.  Does not: compare; one engine a run.

use crate::exit::{Code, Exit};
use crate::nodes_arguments::{BenchNodesArguments, NodeArguments, SimNodesArguments};
use quintet_bench::nodes::{ClusterRun, HostConfig, host};
use quintet_nodes::NodeId;
use quintet_nodes::sim::{SimConfig, simulate as run_simulation};
use std::fmt::Display;
use std::io::Write;
use std::time::Duration;

/// `quintet node`: until it is ended.
///
/// # Errors
/// With code 2 if it is not one of its peers, 4 or 5 if its directory or its address cannot be used.
pub fn node(arguments: &NodeArguments) -> Result<(), Exit> {
    let nodes = arguments.peers.len();
    if usize::from(arguments.me) >= nodes {
        let message = format!("node {} is not one of {nodes} peers", arguments.me);
        return Err(Exit::new(Code::Usage, message));
    }
    let config = HostConfig {
        me: NodeId(arguments.me),
        peers: arguments.peers.clone(),
        data: arguments.data.clone(),
        durability: arguments.durability,
        memory_bytes: arguments.memory.0 as usize,
        engine: arguments.nodes.engine,
        batch: arguments.nodes.batch(),
        lanes: arguments.nodes.lanes.into(),
        workload: arguments.nodes.workload(nodes as u16),
    };
    host(&config, || {}).map_err(|error| Exit::from_error(Code::Network, "the node ended", &error))
}

/// `quintet bench nodes`.
///
/// # Errors
/// With code 1 if a node ended, or the audit found something.
pub fn bench(arguments: &BenchNodesArguments) -> Result<(), Exit> {
    let failed = |error: &dyn std::error::Error| {
        Exit::from_error(Code::Failed, "the benchmark failed", error)
    };
    if arguments.kills > 0 && arguments.workload.workload != "transfers" {
        let message = "--kills needs --workload transfers, whose calls can be checked";
        return Err(Exit::new(Code::Usage, message));
    }
    let mut flags = arguments.workload.to_flags();
    flags.extend(["--durability".into(), arguments.durability.to_string()]);
    flags.extend(["--memory".into(), arguments.memory.0.to_string()]);
    let run = ClusterRun {
        engine: arguments.workload.engine,
        nodes: arguments.nodes,
        workload: arguments.workload.workload(arguments.nodes),
        outstanding: arguments.outstanding as usize,
        warmup: Duration::from_secs_f64(arguments.warmup.max(0.0)),
        duration: Duration::from_secs_f64(arguments.seconds.max(0.1)),
        kills: arguments.kills,
        seed: arguments.seed,
        program: std::env::current_exe().map_err(|error| failed(&error))?,
        arguments: flags,
    };
    let report = run.execute().map_err(|error| failed(&error))?;
    match arguments.json {
        true => print(&report.to_json())?,
        false => print(&report)?,
    }
    match &report.audit {
        Some(audit) if !audit.holds() => Err(Exit::new(Code::Failed, "the audit does not hold")),
        _ => Ok(()),
    }
}

/// `quintet sim-nodes`.
///
/// # Errors
/// With code 1 if the report cannot be written.
pub fn simulate(arguments: &SimNodesArguments) -> Result<(), Exit> {
    let nanos = |micros: f64| (micros.max(0.0) * 1_000.0) as u64;
    let config = SimConfig {
        engine: arguments.workload.engine,
        nodes: arguments.nodes,
        batch: arguments.workload.batch(),
        lanes: arguments.workload.lanes.into(),
        outstanding: arguments.outstanding as usize,
        duration: nanos(arguments.milliseconds * 1_000.0).max(1),
        latency: nanos(arguments.latency_us),
        sync: nanos(arguments.sync_us),
        seed: arguments.seed,
        ..SimConfig::default()
    };
    let mut workload = arguments.workload.workload(arguments.nodes).build();
    let report = run_simulation(&config, &mut *workload);
    match arguments.json {
        true => print(&report.to_json()),
        false => print(&report),
    }
}

fn print(text: &dyn Display) -> Result<(), Exit> {
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| Exit::from_error(Code::Failed, "writing the report", &error))
}
