//! The figures of a run, as text for eyes and as JSON for scripts.
//!
//! Relies on: `driver` figures.  Promises: the names of the JSON fields stay; new ones may come.
//! Does not: round in JSON.

use crate::driver::{Figures, RunConfig};
use crate::plot::Curves;
use crate::timeline::Timeline;
use hdrhistogram::Histogram;
use quintet_base::limits::SLOW_SYNC_MS;
use quintet_base::{Durability, Level};
use quintet_workloads::YcsbConfig;
use serde::Serialize;
use std::fmt;

/// An open loop that begins less than this share of what it was to begin has not kept up.
pub(crate) const KEPT_UP: f64 = 0.98;

/// Everything needed to read a figure later: what was run, how, and what came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What was measured: `quintet`, or the name of another system.
    pub system: &'static str,
    /// Name of the workload.
    pub workload: &'static str,
    /// Transactions committed, per second.
    pub committed_per_second: f64,
    /// Transactions that lost a conflict, per second; they are not run again.
    pub aborted_per_second: f64,
    /// Mean latency of a committed transaction in microseconds.
    pub mean_us: f64,
    /// Half of the committed transactions were faster, in microseconds.
    pub p50_us: f64,
    /// Nine of ten were faster.
    pub p90_us: f64,
    /// All but one in a hundred were faster.
    pub p99_us: f64,
    /// All but one in a thousand were faster.
    pub p999_us: f64,
    /// The slowest.
    pub max_us: f64,
    /// Clients, each a thread.
    pub threads: u32,
    /// Commits that a client left unanswered at most.
    pub outstanding: u32,
    /// Transactions that were to begin per second; none in a closed loop.
    pub offered_per_second: Option<f64>,
    /// Length of the measured interval.
    pub seconds: f64,
    /// Seconds before it.
    pub warmup_seconds: f64,
    /// When a commit was answered: `sync`, `async` or `none`.
    pub durability: &'static str,
    /// Isolation level.
    pub level: &'static str,
    /// Records in the table.
    pub records: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Operations of a transaction.
    pub ops: usize,
    /// Share of operations that only read.
    pub read_share: f64,
    /// Share of the others that read before they write.
    pub modify_share: f64,
    /// Zipf exponent.
    pub theta: f64,
    /// Seed of the first client.
    pub seed: u64,
    /// Bytes appended to the log, per second; none if that is not counted.
    pub log_bytes_per_second: Option<f64>,
    /// Syncs of the log, per second.
    pub syncs_per_second: Option<f64>,
    /// Mean time of a sync; none if there was none.
    pub sync_mean_us: Option<f64>,
    /// Syncs that took longer than [`SLOW_SYNC_MS`].
    pub slow_syncs: Option<u64>,
    /// Transactions that were logged, per second; those that only read are not.
    pub logged_per_second: Option<f64>,
    /// Logged transactions per sync; none if there was no sync.
    pub transactions_per_sync: Option<f64>,
    /// Bytes of log per logged transaction; none if nothing was logged.
    pub log_bytes_per_transaction: Option<f64>,
    /// Share of the machine's processors that its host gave to others meanwhile; none if the system does not tell.
    pub stolen_share: Option<f64>,
    /// Interval by interval, if asked for.
    pub timeline: Option<Timeline>,
    /// Shares of the committed transactions, and the latency in microseconds that so many did not exceed.
    pub latency_curve: Vec<(f64, f64)>,
}

/// The shares that a curve of latencies is drawn through: each nine is cut into ten.
pub(crate) fn latency_curve(latency: &Histogram<u64>) -> Vec<(f64, f64)> {
    let count = latency.len() as f64;
    let nines = (0..=60).map(|tenth| 1.0 - 0.1f64.powf(f64::from(tenth) / 10.0));
    // Beyond one of the count there is only the slowest.
    let told = nines.filter(|share| (1.0 - share) * count >= 1.0);
    told.map(|share| (share, latency.value_at_quantile(share) as f64 / 1000.0))
        .collect()
}

/// How the database was asked to run the transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Which system.
    pub system: &'static str,
    /// When a commit was answered.
    pub durability: Durability,
    /// Isolation level.
    pub level: Level,
    /// Seed of the first client.
    pub seed: u64,
}

impl Report {
    /// Joins what was asked with what was measured.
    pub fn ycsb(
        workload: &YcsbConfig,
        run: &RunConfig,
        setting: Setting,
        figures: &Figures,
    ) -> Report {
        let rate = |count: u64| count as f64 / figures.seconds;
        let quantile = |q: f64| figures.latency.value_at_quantile(q) as f64 / 1000.0;
        let log = figures.log.as_ref();
        let per = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
        Report {
            system: setting.system,
            workload: "ycsb",
            committed_per_second: rate(figures.committed),
            aborted_per_second: rate(figures.aborted),
            mean_us: figures.latency.mean() / 1000.0,
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: quantile(1.0),
            threads: run.threads,
            outstanding: run.outstanding,
            offered_per_second: run.rate,
            seconds: figures.seconds,
            warmup_seconds: run.warmup_seconds,
            durability: setting.durability.name(),
            level: setting.level.sql_name(),
            records: workload.records,
            value_bytes: workload.value_bytes,
            ops: workload.ops,
            read_share: workload.read_share,
            modify_share: workload.modify_share,
            theta: workload.theta,
            seed: setting.seed,
            log_bytes_per_second: log.map(|log| rate(log.log_bytes)),
            syncs_per_second: log.map(|log| rate(log.syncs)),
            sync_mean_us: log.and_then(|log| log.sync_mean_us()),
            slow_syncs: log.map(|log| log.slow_syncs),
            logged_per_second: log.map(|log| rate(log.logged)),
            transactions_per_sync: log.and_then(|log| per(log.logged, log.syncs)),
            log_bytes_per_transaction: log.and_then(|log| per(log.log_bytes, log.logged)),
            stolen_share: figures.stolen_share,
            timeline: figures.timeline.clone(),
            latency_curve: latency_curve(&figures.latency),
        }
    }

    /// What is drawn of it.
    pub fn curves(&self) -> Curves {
        Curves::new(self.timeline.as_ref(), &self.latency_curve)
    }

    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and fixed names always serialise")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report {
            system,
            workload,
            threads,
            outstanding,
            seconds,
            durability,
            level,
            ..
        } = self;
        writeln!(
            f,
            "{workload} on {system}: {threads} threads, {outstanding} outstanding, {seconds:.1} s, durability {durability}, {level}"
        )?;
        writeln!(
            f,
            "  {} records of {} bytes; {} operations, {:.0} % reads, {:.0} % of the writes read first, theta {}, seed {}",
            self.records,
            self.value_bytes,
            self.ops,
            self.read_share * 100.0,
            self.modify_share * 100.0,
            self.theta,
            self.seed
        )?;
        let attempts = self.committed_per_second + self.aborted_per_second;
        let lost = if attempts > 0.0 {
            self.aborted_per_second / attempts * 100.0
        } else {
            0.0
        };
        writeln!(f, "  committed  {:>12.0} /s", self.committed_per_second)?;
        writeln!(
            f,
            "  aborted    {:>12.0} /s  ({lost:.2} % of the attempts)",
            self.aborted_per_second
        )?;
        if let Some(offered) = self.offered_per_second {
            let kept_up = match attempts < offered * KEPT_UP {
                true => "; the system did not keep up, latency says how long the queue became",
                false => "",
            };
            writeln!(f, "  offered    {offered:>12.0} /s{kept_up}")?;
        }
        write!(
            f,
            "  latency us  mean {:.1}  p50 {:.1}  p90 {:.1}  p99 {:.1}  p99.9 {:.1}  max {:.1}",
            self.mean_us, self.p50_us, self.p90_us, self.p99_us, self.p999_us, self.max_us
        )?;
        if let (Some(bytes), Some(syncs)) = (self.log_bytes_per_second, self.syncs_per_second) {
            let line = log_line(bytes, syncs, self.sync_mean_us, self.slow_syncs);
            write!(f, "\n{line}")?;
        }
        if let Some(bytes) = self.log_bytes_per_transaction {
            write!(f, ", {bytes:.0} bytes per logged transaction")?;
        }
        if let Some(transactions) = self.transactions_per_sync {
            write!(f, ", {transactions:.1} transactions per sync")?;
        }
        write!(f, "{}", host_line(self.stolen_share))?;
        match &self.timeline {
            Some(timeline) => write!(f, "\n{timeline}"),
            None => Ok(()),
        }
    }
}

/// What a report says of the log: how much came in, and how the disk took it. How long a call may take where it waits for
/// the disk depends on that.
pub(crate) fn log_line(
    bytes_per_second: f64,
    syncs_per_second: f64,
    sync_mean_us: Option<f64>,
    slow_syncs: Option<u64>,
) -> String {
    let megabytes = bytes_per_second / 1e6;
    let mut line = format!("  log        {megabytes:>12.1} MB/s, {syncs_per_second:.0} syncs/s");
    if let Some(mean) = sync_mean_us {
        line += &format!(" of {mean:.0} us");
    }
    if let Some(slow) = slow_syncs.filter(|slow| *slow > 0) {
        line += &format!(", {slow} of them over {} ms", SLOW_SYNC_MS);
    }
    line
}

/// What a report says of the machine's host, if it took any of the processors: a line of its own, or nothing.
pub(crate) fn host_line(stolen_share: Option<f64>) -> String {
    match stolen_share {
        Some(share) if share > 0.0 => {
            format!(
                "\n  host       {:>12.1} % of the processors' time taken",
                share * 100.0
            )
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Counters;
    use hdrhistogram::Histogram;

    fn report() -> Report {
        let mut latency = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        for microseconds in 1..=1000u64 {
            latency.record(microseconds * 1000).unwrap();
        }
        let figures = Figures {
            seconds: 2.0,
            committed: 1000,
            aborted: 250,
            latency,
            log: Some(Counters {
                logged: 2000,
                log_bytes: 4_000_000,
                syncs: 500,
                sync_nanos: 50_000_000,
                slow_syncs: 3,
            }),
            stolen_share: Some(0.25),
            timeline: None,
            calls: Default::default(),
        };
        let setting = Setting {
            system: "quintet",
            durability: Durability::Sync,
            level: Level::Serializable,
            seed: 42,
        };
        Report::ycsb(
            &YcsbConfig::default(),
            &RunConfig::default(),
            setting,
            &figures,
        )
    }

    #[test]
    fn rates_and_quantiles_are_of_the_interval() {
        let report = report();
        assert_eq!(
            (report.committed_per_second, report.aborted_per_second),
            (500.0, 125.0)
        );
        assert_eq!(
            (report.log_bytes_per_second, report.syncs_per_second),
            (Some(2e6), Some(250.0))
        );
        assert_eq!(
            (
                report.transactions_per_sync,
                report.log_bytes_per_transaction
            ),
            (Some(4.0), Some(2000.0))
        );
        for (got, expected) in [
            (report.p50_us, 500.0),
            (report.p90_us, 900.0),
            (report.p99_us, 990.0),
            (report.max_us, 1000.0),
        ] {
            assert!(
                (got - expected).abs() / expected < 0.01,
                "{got} instead of {expected}"
            );
        }
    }

    #[test]
    fn json_has_the_promised_fields() {
        let json: serde_json::Value = serde_json::from_str(&report().to_json()).unwrap();
        for field in [
            "workload",
            "committed_per_second",
            "aborted_per_second",
            "p50_us",
            "p90_us",
            "p99_us",
            "threads",
            "seconds",
            "durability",
            "level",
            "records",
            "value_bytes",
            "ops",
            "read_share",
            "theta",
            "log_bytes_per_second",
            "syncs_per_second",
            "sync_mean_us",
            "slow_syncs",
            "logged_per_second",
            "transactions_per_sync",
            "log_bytes_per_transaction",
            "outstanding",
            "system",
        ] {
            assert!(!json[field].is_null(), "{field} is missing");
        }
        assert_eq!(json["durability"], "sync");
        assert_eq!(json["level"], "serializable");
    }

    #[test]
    fn text_shows_the_share_of_aborts() {
        let text = report().to_string();
        assert!(text.contains("20.00 % of the attempts"), "{text}");
        assert!(
            text.contains("250 syncs/s of 100 us, 3 of them over 5 ms"),
            "{text}"
        );
        assert!(
            text.contains("25.0 % of the processors' time taken"),
            "{text}"
        );
    }

    #[test]
    fn text_says_when_an_open_loop_did_not_keep_up() {
        let mut report = report();
        report.offered_per_second = Some(625.0);
        assert!(!report.to_string().contains("keep up"), "{report}");
        report.offered_per_second = Some(700.0);
        assert!(report.to_string().contains("keep up"), "{report}");
    }
}
