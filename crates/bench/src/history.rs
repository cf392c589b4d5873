//! What a run's history says of the database, for workloads that take one down.
//!
//! Relies on: `engine::history` for the judgement.  Promises: after the clients, all lists are read once more, so
//! that what was answered and is gone is found even if no client looked; an anomaly that the level forbids is an
//! error, one that it allows is counted.  Does not: judge a run whose connection was lost.

use crate::Error;
use crate::system::Connection;
use quintet_base::Level;
use quintet_engine::history::{Operation, Recorder, check};
use quintet_workloads::Workload;
use quintet_workloads::append_sql::values;
use serde::Serialize;
use std::collections::BTreeMap;

/// What was found in a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Committed transactions.
    pub committed: usize,
    /// Dependencies between them that the lists tell.
    pub dependencies: usize,
    /// Kinds of anomalies that the level allows and that were found: of each kind a few are counted.
    pub anomalies: BTreeMap<&'static str, usize>,
}

/// Reads all lists, and judges the history; `process` is a number that no client has.
///
/// # Errors
/// [`Error::Inconsistent`] with the first anomaly that the level forbids.
pub(crate) async fn judge<C: Connection>(
    connection: &mut C,
    workload: &dyn Workload,
    recorder: &Recorder,
    process: u32,
    level: Level,
) -> Result<Verdict, Error> {
    recorder.invoke(process, Vec::new());
    let rows = connection.query(workload.last_read()).await?;
    let rows = rows.map_err(|failure| failure.into_error("reading all lists"))?;
    let lists = rows.iter().map(|row| {
        let field = |at: usize| row.get(at).and_then(|field| field.as_deref());
        Operation::Read {
            list: field(0)
                .and_then(|list| list.parse().ok())
                .unwrap_or(u64::MAX),
            values: Some(values(field(1).unwrap_or_default())),
        }
    });
    recorder.ok(process, lists.collect());
    let report = check(&recorder.take());
    if let Some(anomaly) = report.violations(level).next() {
        return Err(Error::Inconsistent {
            check: "history",
            found: format!("{} forbids {anomaly}", level.sql_name()),
        });
    }
    let mut anomalies = BTreeMap::new();
    for anomaly in &report.anomalies {
        *anomalies.entry(anomaly.kind.name()).or_default() += 1;
    }
    Ok(Verdict {
        committed: report.committed,
        dependencies: report.dependencies,
        anomalies,
    })
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Verdict {
            committed,
            dependencies,
            anomalies,
        } = self;
        write!(
            f,
            "history fits the level: {committed} transactions, {dependencies} dependencies"
        )?;
        for (kind, count) in anomalies {
            write!(f, "; {kind} (allowed): {count}")?;
        }
        Ok(())
    }
}
