//! Several processes of this program on loopback, each a node, and clients for all of them.
//!
//! Relies on: `host` behind `quintet node`.  Promises: all processes are ended, whatever happens; counts are of the
//! measured interval, exact but for what is under way at its ends.  Does not: pin processes to processors.

use super::frame::HostStats;
use super::load::{Seen, Window, ask, drive, run_all};
use super::{NodesError, NodesWorkload};
use hdrhistogram::Histogram;
use quintet_nodes::workload::{BALANCE, Transfers};
use quintet_nodes::{Datum, EngineKind, NodeId, Outcome};
use quintet_rt::{Clock, Rand, RealClock, threads};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A node loads its records and opens its log before it listens.
const START_SECONDS: u64 = 120;

/// Accounts read by one call of the audit.
const AUDIT_ACCOUNTS: u64 = 50;

/// What to run.
#[derive(Clone, Debug)]
pub struct ClusterRun {
    /// Who runs the calls.
    pub engine: EngineKind,
    /// How many processes.
    pub nodes: u16,
    /// What is asked.
    pub workload: NodesWorkload,
    /// Calls under way at each node.
    pub outstanding: usize,
    /// Before anything is counted.
    pub warmup: Duration,
    /// Counted.
    pub duration: Duration,
    /// How often a process is killed and started again while calls run.
    pub kills: u32,
    /// For everything drawn.
    pub seed: u64,
    /// This program, and what a node is told but for its number, its peers and its directory.
    pub program: PathBuf,
    /// See `program`.
    pub arguments: Vec<String>,
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterReport {
    /// Who ran the calls.
    pub engine: &'static str,
    /// What was asked.
    pub workload: &'static str,
    /// Processes.
    pub nodes: u16,
    /// Calls under way at each node.
    pub outstanding: usize,
    /// Measured, in seconds.
    pub seconds: f64,
    /// Calls committed.
    pub committed: u64,
    /// Calls raised.
    pub raised: u64,
    /// Calls whose end is not known.
    pub unknown: u64,
    /// Ended per second.
    pub throughput: f64,
    /// In milliseconds: median, 99 of 100, and longest.
    pub latency_ms: [f64; 3],
    /// Runs again for a conflict, per call.
    pub retries: f64,
    /// Messages between nodes, per call.
    pub messages: f64,
    /// The same by name.
    pub messages_by_name: BTreeMap<String, f64>,
    /// Frames between nodes, per call.
    pub frames: f64,
    /// Bytes between nodes, per call.
    pub bytes: f64,
    /// Records of all logs, per call.
    pub log_records: f64,
    /// Bytes of all logs, per call.
    pub log_bytes: f64,
    /// Processor time of all nodes, in microseconds per call.
    pub cpu_micros: f64,
    /// Of a run with kills.
    pub audit: Option<AuditReport>,
}

/// What was found after kills.
#[derive(Clone, Debug, Serialize)]
pub struct AuditReport {
    /// Processes killed.
    pub kills: u32,
    /// Calls given in.
    pub calls: u64,
    /// Answered as committed.
    pub acknowledged: u64,
    /// With all their marks.
    pub present: u64,
    /// Answered as committed, and not there.
    pub lost: u64,
    /// There in part.
    pub torn: u64,
    /// Answered as raised, and there.
    pub risen: u64,
    /// What all accounts have more than at first.
    pub surplus: i64,
}

impl AuditReport {
    /// Whether everything is as it must be.
    pub fn holds(&self) -> bool {
        self.lost == 0 && self.torn == 0 && self.risen == 0 && self.surplus == 0
    }
}

/// The processes. Dropping ends them.
struct Processes {
    children: Vec<Child>,
    addresses: Vec<String>,
    directory: tempfile::TempDir,
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Processes {
    fn start(run: &ClusterRun) -> Result<Processes, NodesError> {
        let directory =
            tempfile::tempdir().map_err(NodesError::system("no directory for nodes"))?;
        // All at once, so that they are different ones.
        let listeners: Result<Vec<TcpListener>, _> = (0..run.nodes)
            .map(|_| TcpListener::bind("127.0.0.1:0"))
            .collect();
        let addresses = listeners.and_then(|listeners| {
            let address = |listener: &TcpListener| Ok(listener.local_addr()?.to_string());
            listeners.iter().map(address).collect()
        });
        let mut processes = Processes {
            children: Vec::new(),
            addresses: addresses.map_err(NodesError::system("no port for a node"))?,
            directory,
        };
        for me in 0..usize::from(run.nodes) {
            let child = processes.spawn(run, me)?;
            processes.children.push(child);
        }
        for me in 0..usize::from(run.nodes) {
            processes.wait(me)?;
        }
        Ok(processes)
    }

    fn spawn(&self, run: &ClusterRun, me: usize) -> Result<Child, NodesError> {
        Command::new(&run.program)
            .arg("node")
            .args(["--me", &me.to_string()])
            .args(["--peers", &self.addresses.join(",")])
            .arg("--data")
            .arg(self.directory.path().join(format!("node-{me}")))
            .args(&run.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(NodesError::system("a node's process cannot be started"))
    }

    fn wait(&mut self, me: usize) -> Result<(), NodesError> {
        for _ in 0..START_SECONDS * 50 {
            if TcpStream::connect(&self.addresses[me]).is_ok() {
                return Ok(());
            }
            self.check()?;
            RealClock.sleep(Duration::from_millis(20));
        }
        Err(NodesError::Ended {
            node: me,
            status: "it does not listen".into(),
        })
    }

    /// Whether all are there.
    fn check(&mut self) -> Result<(), NodesError> {
        for (node, child) in self.children.iter_mut().enumerate() {
            let status = child.try_wait();
            if let Some(status) = status.map_err(NodesError::system("a process is lost"))? {
                let status = status.to_string();
                return Err(NodesError::Ended { node, status });
            }
        }
        Ok(())
    }

    fn kill(&mut self, run: &ClusterRun, me: usize) -> Result<(), NodesError> {
        let child = &mut self.children[me];
        child
            .kill()
            .and_then(|()| child.wait())
            .map_err(NodesError::system("a process cannot be killed"))?;
        self.children[me] = self.spawn(run, me)?;
        self.wait(me)
    }

    fn stats(&self) -> Result<Vec<HostStats>, NodesError> {
        self.addresses.iter().map(|address| ask(address)).collect()
    }
}

impl ClusterRun {
    /// Starts, measures, ends.
    ///
    /// # Errors
    /// A process could not be started, or ended by itself.
    pub fn execute(&self) -> Result<ClusterReport, NodesError> {
        let mut processes = Processes::start(self)?;
        let window = Arc::new(Window::default());
        let clients: Vec<_> = (0..self.nodes)
            .map(|node| {
                let address = processes.addresses[usize::from(node)].clone();
                let (workload, outstanding) = (self.workload, self.outstanding);
                let seed = self.seed.wrapping_add(u64::from(node) + 1);
                let window = Arc::clone(&window);
                threads::spawn("node-clients", move || {
                    drive(
                        &address,
                        NodeId(node),
                        &workload,
                        outstanding,
                        seed,
                        &window,
                    )
                })
            })
            .collect();
        RealClock.sleep(self.warmup);
        let measured = self.measure(&mut processes, &window);
        window.over.store(true, Ordering::Relaxed);
        if measured.is_err() {
            // Clients of nodes that are gone would wait for answers.
            drop(processes);
            return Err(measured.expect_err("it is one"));
        }
        let (seconds, before, after) = measured?;
        let mut seen = Vec::new();
        for client in clients {
            if let Ok(one) = client.join() {
                seen.push(one);
            }
        }
        let audit = match &self.workload {
            NodesWorkload::Transfers(_, accounts) => {
                Some(self.audit(&processes, *accounts, &seen)?)
            }
            _ => None,
        };
        Ok(self.report(seconds, &before, &after, &seen, audit))
    }

    #[allow(clippy::type_complexity)]
    fn measure(
        &self,
        processes: &mut Processes,
        window: &Window,
    ) -> Result<(f64, Vec<HostStats>, Vec<HostStats>), NodesError> {
        let mut rand = Rand::seeded(self.seed);
        let before = processes.stats()?;
        let began = RealClock.monotonic_nanos();
        window.measuring.store(true, Ordering::Relaxed);
        let pieces = self.kills + 1;
        for piece in 0..pieces {
            let pause = self.duration / pieces;
            RealClock.sleep(match self.kills {
                0 => pause,
                _ => pause.mul_f64(0.5 + rand.below(1000) as f64 / 1000.0),
            });
            processes.check()?;
            if piece < self.kills {
                let node = rand.below(self.nodes.into()) as usize;
                processes.kill(self, node)?;
                // Until calls are answered again, so that the next kill is one in mid-batch, too.
                let answered = window.answered.load(Ordering::Relaxed);
                for _ in 0..1500 {
                    if window.answered.load(Ordering::Relaxed) > answered + 100 {
                        break;
                    }
                    RealClock.sleep(Duration::from_millis(20));
                }
            }
        }
        window.measuring.store(false, Ordering::Relaxed);
        let seconds = (RealClock.monotonic_nanos() - began) as f64 / 1e9;
        let after = processes.stats()?;
        Ok((seconds, before, after))
    }

    /// Looks for every call's marks, and at every account.
    fn audit(
        &self,
        processes: &Processes,
        accounts: u64,
        seen: &[Seen],
    ) -> Result<AuditReport, NodesError> {
        let address = &processes.addresses[0];
        let fates: Vec<_> = seen.iter().flat_map(|seen| &seen.fates).collect();
        let looks = fates.iter().map(|(marks, _)| Transfers::look(marks));
        let found = run_all(address, looks.collect())?;
        let mut report = AuditReport {
            kills: self.kills,
            calls: fates.len() as u64,
            acknowledged: 0,
            present: 0,
            lost: 0,
            torn: 0,
            risen: 0,
            surplus: 0,
        };
        for ((_, outcome), found) in fates.iter().zip(found) {
            let Outcome::Committed(marks) = found else {
                return Err(NodesError::Ended {
                    node: 0,
                    status: format!("the audit was answered {found:?}"),
                });
            };
            let there = marks.iter().filter(|mark| **mark != Datum::Null).count();
            let acknowledged = matches!(outcome, Some(Outcome::Committed(_)));
            report.acknowledged += u64::from(acknowledged);
            if there == marks.len() {
                report.present += 1;
                report.risen += u64::from(*outcome == Some(Outcome::Raised));
            } else if there > 0 {
                report.torn += 1;
            } else {
                report.lost += u64::from(acknowledged);
            }
        }
        let mut sum = 0;
        for node in (0..self.nodes).map(NodeId) {
            let starts = (0..accounts).step_by(AUDIT_ACCOUNTS as usize);
            let calls =
                starts.map(|at| Transfers::balances(node, at..accounts.min(at + AUDIT_ACCOUNTS)));
            for outcome in run_all(address, calls.collect())? {
                if let Outcome::Committed(balances) = outcome {
                    sum += balances
                        .iter()
                        .map(|b| if let Datum::Int(b) = b { *b } else { 0 })
                        .sum::<i64>();
                }
            }
        }
        report.surplus = sum - BALANCE * i64::from(self.nodes) * accounts as i64;
        Ok(report)
    }

    fn report(
        &self,
        seconds: f64,
        before: &[HostStats],
        after: &[HostStats],
        seen: &[Seen],
        audit: Option<AuditReport>,
    ) -> ClusterReport {
        let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
        let (committed, raised) = (sum(|s| s.committed), sum(|s| s.raised));
        let calls = (committed + raised).max(1) as f64;
        let mut micros: Option<Histogram<u64>> = None;
        for seen in seen {
            match &mut micros {
                // All have the same bounds.
                Some(all) => all.add(&seen.micros).unwrap_or(()),
                None => micros = Some(seen.micros.clone()),
            }
        }
        let at = |quantile: f64| {
            let value = micros.as_ref().map_or(0, |m| m.value_at_quantile(quantile));
            value as f64 / 1_000.0
        };
        let grown = |of: fn(&HostStats) -> u64| {
            let sum = |stats: &[HostStats]| stats.iter().map(of).sum::<u64>();
            sum(after).saturating_sub(sum(before)) as f64 / calls
        };
        let mut by_name: BTreeMap<String, f64> = BTreeMap::new();
        for (stats, sign) in [(after, 1.0), (before, -1.0)] {
            for (name, count) in stats.iter().flat_map(|stats| &stats.messages) {
                *by_name.entry(name.clone()).or_default() += sign * *count as f64 / calls;
            }
        }
        ClusterReport {
            engine: self.engine.name(),
            workload: self.workload.name(),
            nodes: self.nodes,
            outstanding: self.outstanding,
            seconds,
            committed,
            raised,
            unknown: sum(|s| s.unknown),
            throughput: (committed + raised) as f64 / seconds,
            latency_ms: [at(0.5), at(0.99), at(1.0)],
            retries: grown(|s| s.retries),
            messages: by_name.values().sum(),
            messages_by_name: by_name,
            frames: grown(|s| s.frames),
            bytes: grown(|s| s.bytes),
            log_records: grown(|s| s.log_records),
            log_bytes: grown(|s| s.log_bytes),
            cpu_micros: grown(|s| s.cpu_micros),
            audit,
        }
    }
}

impl ClusterReport {
    /// One line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data can always be written")
    }
}

impl fmt::Display for ClusterReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, high, longest] = self.latency_ms;
        writeln!(
            f,
            "{} of {} nodes, {}, {} calls under way at each",
            self.engine, self.nodes, self.workload, self.outstanding
        )?;
        writeln!(
            f,
            "calls      {:.0}/s ({} committed, {} raised, {} unknown in {:.1} s), {:.3} run again for each",
            self.throughput, self.committed, self.raised, self.unknown, self.seconds, self.retries
        )?;
        writeln!(
            f,
            "latency    {median:.2} ms median, {high:.2} ms 99 of 100, {longest:.2} ms longest"
        )?;
        writeln!(
            f,
            "each call  {:.3} messages in {:.3} frames, {:.0} bytes; {:.3} records of the log, {:.0} bytes; {:.1} µs of processor",
            self.messages,
            self.frames,
            self.bytes,
            self.log_records,
            self.log_bytes,
            self.cpu_micros
        )?;
        let names = self.messages_by_name.iter();
        let names: Vec<String> = names.map(|(n, count)| format!("{n} {count:.3}")).collect();
        write!(f, "messages   {}", names.join(", "))?;
        if let Some(audit) = &self.audit {
            write!(
                f,
                "\naudit      {} kills, {} calls: {} acknowledged, {} present, {} lost, {} torn, {} raised and present, surplus {}",
                audit.kills,
                audit.calls,
                audit.acknowledged,
                audit.present,
                audit.lost,
                audit.torn,
                audit.risen,
                audit.surplus
            )?;
        }
        Ok(())
    }
}
