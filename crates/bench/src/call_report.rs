//! The figures of a run of calls, as text for eyes and as JSON for scripts.
//!
//! Relies on: `driver` figures.  Promises: the names of the JSON fields stay; new ones may come; what is
//! common with the key-value report has the same name there.  Does not: round in JSON.

use crate::driver::{Figures, RunConfig};
use crate::history::Verdict;
use crate::plot::Curves;
use crate::report::{KEPT_UP, host_line, latency_curve, log_line};
use crate::timeline::Timeline;
use hdrhistogram::Histogram;
use quintet_base::Level;
use quintet_workloads::Workload;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Everything needed to read a figure later.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallReport {
    /// What the database calls itself.
    pub system: String,
    /// `embedded`, or `wire`.
    pub target: &'static str,
    /// Name of the workload.
    pub workload: &'static str,
    /// Name of the mix.
    pub mix: &'static str,
    /// Size of the workload in words.
    pub size: String,
    /// Transactions committed, per second.
    pub committed_per_second: f64,
    /// Transactions refused by the rules of their procedure, as intended, per second.
    pub refused_per_second: f64,
    /// Runs that lost (40001, 40P01), per second; they were run again.
    pub aborted_per_second: f64,
    /// Mean latency of a committed transaction in microseconds, runs that lost included.
    pub mean_us: f64,
    /// Half of the committed transactions were faster, in microseconds.
    pub p50_us: f64,
    /// Nine of ten were faster.
    pub p90_us: f64,
    /// Nineteen of twenty were faster.
    pub p95_us: f64,
    /// All but one in a hundred were faster.
    pub p99_us: f64,
    /// All but one in a thousand were faster.
    pub p999_us: f64,
    /// The slowest.
    pub max_us: f64,
    /// Procedure by procedure.
    pub kinds: Vec<KindReport>,
    /// Runs that lost in the measured interval, by SQLSTATE.
    pub lost_by_state: BTreeMap<String, u64>,
    /// Transactions that were run more than once.
    pub retried: u64,
    /// Transactions that were given up because they lost too often.
    pub given_up: u64,
    /// Connections.
    pub clients: u32,
    /// Threads that the clients ran on.
    pub threads: u32,
    /// Transactions that were to begin per second; none in a closed loop.
    pub offered_per_second: Option<f64>,
    /// Length of the measured interval.
    pub seconds: f64,
    /// Seconds before it.
    pub warmup_seconds: f64,
    /// When a commit was answered, if this is known here: `sync`, `async` or `none`.
    pub durability: Option<&'static str>,
    /// Isolation level.
    pub level: &'static str,
    /// Seed of rows and calls.
    pub seed: u64,
    /// Bytes appended to the log, per second; none if that is not counted.
    pub log_bytes_per_second: Option<f64>,
    /// Syncs of the log, per second.
    pub syncs_per_second: Option<f64>,
    /// Mean time of a sync; none if there was none.
    pub sync_mean_us: Option<f64>,
    /// Syncs that took longer than [`SLOW_SYNC_MS`](quintet_base::limits::SLOW_SYNC_MS).
    pub slow_syncs: Option<u64>,
    /// Checks held before and after the run; none if nobody asked.
    pub checked: Option<bool>,
    /// What the history of the run says; none if its workload takes none down.
    pub history: Option<Verdict>,
    /// Share of the machine's processors that its host gave to others meanwhile; none if the system does not tell.
    pub stolen_share: Option<f64>,
    /// Interval by interval, if asked for.
    pub timeline: Option<Timeline>,
    /// Shares of the committed transactions, and the latency in microseconds that so many did not exceed.
    pub latency_curve: Vec<(f64, f64)>,
}

/// One procedure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindReport {
    /// Its name.
    pub name: &'static str,
    /// Committed, per second.
    pub committed_per_second: f64,
    /// Refused as intended, per second.
    pub refused_per_second: f64,
    /// Transactions that were run more than once.
    pub retried: u64,
    /// Runs that lost.
    pub lost: u64,
    /// Given up.
    pub given_up: u64,
    /// Mean latency of a committed one in microseconds.
    pub mean_us: f64,
    /// Half were faster.
    pub p50_us: f64,
    /// Nine of ten were faster.
    pub p90_us: f64,
    /// Nineteen of twenty were faster.
    pub p95_us: f64,
    /// All but one in a hundred were faster.
    pub p99_us: f64,
    /// The slowest.
    pub max_us: f64,
}

/// What a report says that the figures do not.
#[derive(Clone, Debug)]
pub(crate) struct CallSetting {
    pub system: String,
    pub target: &'static str,
    pub clients: u32,
    pub level: Level,
    pub durability: Option<&'static str>,
    pub seed: u64,
    pub checked: Option<bool>,
    pub history: Option<Verdict>,
}

fn microseconds(latency: &Histogram<u64>, quantile: f64) -> f64 {
    latency.value_at_quantile(quantile) as f64 / 1000.0
}

impl CallReport {
    /// Joins what was asked with what was measured.
    pub(crate) fn new(
        workload: &dyn Workload,
        run: &RunConfig,
        setting: CallSetting,
        figures: &Figures,
    ) -> CallReport {
        let rate = |count: u64| count as f64 / figures.seconds;
        let quantile = |q: f64| microseconds(&figures.latency, q);
        let totals = &figures.calls;
        let kinds = totals.kinds.iter().zip(workload.procedures());
        let kinds = kinds.map(|(kind, procedure)| KindReport {
            name: procedure.name,
            committed_per_second: rate(kind.committed),
            refused_per_second: rate(kind.refused),
            retried: kind.retried,
            lost: kind.lost,
            given_up: kind.given_up,
            mean_us: kind.latency.mean() / 1000.0,
            p50_us: microseconds(&kind.latency, 0.5),
            p90_us: microseconds(&kind.latency, 0.9),
            p95_us: microseconds(&kind.latency, 0.95),
            p99_us: microseconds(&kind.latency, 0.99),
            max_us: microseconds(&kind.latency, 1.0),
        });
        let kinds: Vec<KindReport> = kinds.collect();
        let lost = totals.lost.iter().map(|(state, count)| {
            let state = String::from_utf8_lossy(state).into_owned();
            (state, *count)
        });
        let log = figures.log.as_ref();
        CallReport {
            system: setting.system,
            target: setting.target,
            workload: workload.name(),
            mix: workload.mix(),
            size: workload.size(),
            committed_per_second: rate(figures.committed),
            refused_per_second: kinds.iter().map(|kind| kind.refused_per_second).sum(),
            aborted_per_second: rate(figures.aborted),
            mean_us: figures.latency.mean() / 1000.0,
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p95_us: quantile(0.95),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: quantile(1.0),
            lost_by_state: lost.collect(),
            retried: kinds.iter().map(|kind| kind.retried).sum(),
            given_up: kinds.iter().map(|kind| kind.given_up).sum(),
            kinds,
            clients: setting.clients,
            threads: run.threads.min(setting.clients),
            offered_per_second: run.rate,
            seconds: figures.seconds,
            warmup_seconds: run.warmup_seconds,
            durability: setting.durability,
            level: setting.level.sql_name(),
            seed: setting.seed,
            log_bytes_per_second: log.map(|log| rate(log.log_bytes)),
            syncs_per_second: log.map(|log| rate(log.syncs)),
            sync_mean_us: log.and_then(|log| log.sync_mean_us()),
            slow_syncs: log.map(|log| log.slow_syncs),
            checked: setting.checked,
            history: setting.history,
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

impl fmt::Display for CallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallReport {
            system,
            target,
            workload,
            mix,
            size,
            clients,
            threads,
            seconds,
            level,
            seed,
            ..
        } = self;
        writeln!(f, "{workload} {mix} on {system} ({target})")?;
        write!(
            f,
            "  {size}; {clients} clients on {threads} threads, {seconds:.1} s, {level}, seed {seed}"
        )?;
        match self.durability {
            Some(durability) => writeln!(f, ", durability {durability}")?,
            None => writeln!(f)?,
        }
        writeln!(f, "  committed  {:>12.0} /s", self.committed_per_second)?;
        writeln!(f, "  refused    {:>12.1} /s", self.refused_per_second)?;
        write!(f, "  lost       {:>12.1} /s", self.aborted_per_second)?;
        for (state, count) in &self.lost_by_state {
            write!(f, "  {state}: {count}")?;
        }
        writeln!(
            f,
            "\n  {} transactions were run more than once, {} given up",
            self.retried, self.given_up
        )?;
        if let Some(offered) = self.offered_per_second {
            let ended = self.committed_per_second + self.refused_per_second;
            let kept_up = match ended < offered * KEPT_UP {
                true => "; the system did not keep up, latency says how long the queue became",
                false => "",
            };
            writeln!(f, "  offered    {offered:>12.0} /s{kept_up}")?;
        }
        if let (Some(bytes), Some(syncs)) = (self.log_bytes_per_second, self.syncs_per_second) {
            let line = log_line(bytes, syncs, self.sync_mean_us, self.slow_syncs);
            writeln!(f, "{line}")?;
        }
        writeln!(
            f,
            "  {:<16} {:>12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "latency us", "committed/s", "retried", "mean", "p50", "p90", "p99", "max"
        )?;
        for kind in self.kinds.iter().filter(|kind| kind.mean_us > 0.0) {
            writeln!(
                f,
                "  {:<16} {:>12.1} {:>9} {:>9.0} {:>9.0} {:>9.0} {:>9.0} {:>9.0}",
                kind.name,
                kind.committed_per_second,
                kind.retried,
                kind.mean_us,
                kind.p50_us,
                kind.p90_us,
                kind.p99_us,
                kind.max_us
            )?;
        }
        write!(
            f,
            "  {:<16} {:>12.1} {:>9} {:>9.0} {:>9.0} {:>9.0} {:>9.0} {:>9.0}",
            "all",
            self.committed_per_second,
            self.retried,
            self.mean_us,
            self.p50_us,
            self.p90_us,
            self.p99_us,
            self.max_us
        )?;
        if self.checked == Some(true) {
            write!(f, "\n  checks held before and after")?;
        }
        if let Some(history) = &self.history {
            write!(f, "\n  {history}")?;
        }
        write!(f, "{}", host_line(self.stolen_share))?;
        match &self.timeline {
            Some(timeline) => write!(f, "\n{timeline}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::calls::CallTotals;
    use crate::worker::latencies;
    use quintet_workloads::tpcc::{Mix, Scale, Tpcc};

    pub(crate) fn report(rate: Option<f64>) -> CallReport {
        let mut calls = CallTotals::new(5);
        calls.kinds[0].committed = 990;
        calls.kinds[0].refused = 10;
        calls.kinds[0].retried = 7;
        calls.kinds[0].lost = 9;
        calls.lost.insert(*b"40001", 8);
        calls.lost.insert(*b"40P01", 1);
        let mut latency = latencies();
        for microseconds in 1..=990u64 {
            latency.record(microseconds * 1000).unwrap();
        }
        calls.kinds[0].latency = latency.clone();
        let figures = Figures {
            seconds: 2.0,
            committed: 990,
            aborted: 9,
            latency,
            log: None,
            stolen_share: Some(0.25),
            timeline: None,
            calls,
        };
        let setting = CallSetting {
            system: "PostgreSQL 15.18".into(),
            target: "wire",
            clients: 8,
            level: Level::Serializable,
            durability: None,
            seed: 42,
            checked: Some(true),
            history: None,
        };
        let run = RunConfig {
            rate,
            ..RunConfig::default()
        };
        let workload = Tpcc::new(Scale::full(2), Mix::Full, 42);
        CallReport::new(&workload, &run, setting, &figures)
    }

    #[test]
    fn figures_are_per_second_and_by_procedure() {
        let report = report(None);
        let rates = (
            report.committed_per_second,
            report.refused_per_second,
            report.aborted_per_second,
        );
        assert_eq!(rates, (495.0, 5.0, 4.5));
        let kind = &report.kinds[0];
        assert_eq!((kind.name, kind.lost), ("new-order", 9));
        assert!((kind.p99_us - 980.0).abs() < 10.0, "{}", kind.p99_us);
        let text = report.to_string();
        for part in ["40001: 8", "40P01: 1", "7 transactions", "new-order"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(!text.contains("stock-level"), "there was none: {text}");
    }

    #[test]
    fn json_has_the_promised_fields() {
        let json: serde_json::Value = serde_json::from_str(&report(Some(1.0)).to_json()).unwrap();
        for field in [
            "system",
            "target",
            "workload",
            "mix",
            "size",
            "committed_per_second",
            "refused_per_second",
            "aborted_per_second",
            "p50_us",
            "p99_us",
            "kinds",
            "lost_by_state",
            "retried",
            "given_up",
            "clients",
            "threads",
            "offered_per_second",
            "seconds",
            "level",
            "checked",
        ] {
            assert!(!json[field].is_null(), "{field} is missing");
        }
        assert_eq!(json["lost_by_state"]["40001"], 8);
        assert_eq!(json["kinds"][4]["name"], "stock-level");
    }

    #[test]
    fn text_says_when_an_open_loop_did_not_keep_up() {
        assert!(!report(Some(500.0)).to_string().contains("keep up"));
        assert!(report(Some(520.0)).to_string().contains("keep up"));
    }
}
