//! A run of a workload's calls: load, check, install, run, check again, report.
//!
//! Relies on: `loading`, `crew`.  Promises: with checks asked for, no figure comes from a database that
//! fails one.  Does not: start or stop a database.

use crate::Error;
use crate::call_report::{CallReport, CallSetting};
use crate::crew::{run_calls, runtime};
use crate::driver::RunConfig;
use crate::history::judge;
use crate::loading::{self, Moment};
use crate::stage::{Second, Stage};
use crate::system::{Connection, System};
use quintet_base::Level;
use quintet_engine::history::Recorder;
use quintet_rt::Clock;
use quintet_workloads::Workload;
use std::sync::Arc;
use tokio::task::LocalSet;

/// Everything asked of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRun {
    /// Threads, times and rate.
    pub run: RunConfig,
    /// Connections.
    pub clients: u32,
    /// Isolation level that the system was made with; goes into the report.
    pub level: Level,
    /// When the system answers a commit; without it the system is asked. Goes into the report.
    pub durability: Option<&'static str>,
    /// `embedded` or `wire`; goes into the report.
    pub target: &'static str,
    /// Seed of the calls.
    pub seed: u64,
    /// Make the tables and fill them first.
    pub load: bool,
    /// Run the workload's checks before and after.
    pub check: bool,
    /// Call the procedures that are there, even if they are others.
    pub as_is: bool,
}

impl CallRun {
    /// Carries it out; without a report if nothing was to be measured (zero seconds).
    ///
    /// # Errors
    /// See [`Error`].
    pub fn execute<S: System>(
        &self,
        system: &S,
        workload: &dyn Workload,
        clock: Arc<dyn Clock>,
        progress: &mut dyn FnMut(Stage),
    ) -> Result<Option<CallReport>, Error> {
        let measured = self.run.seconds > 0.0;
        // A history begins on new tables.
        let load = self.load || workload.recorder().is_some();
        workload.recorder().map(Recorder::take);
        let before = blocking(async {
            let mut connection = system.connect().await?;
            if load {
                let of = u64::from(workload.pieces());
                loading::load(&mut connection, workload, &mut |pieces| {
                    let done = u64::from(pieces);
                    progress(Stage::Loading { done, of })
                })
                .await?;
            }
            let before = match self.check {
                true => {
                    progress(Stage::Checking);
                    let moment = match load {
                        true => Moment::Loaded,
                        false => Moment::Used,
                    };
                    Some(loading::check(&mut connection, workload, moment).await?)
                }
                false => None,
            };
            if load || (measured && !self.as_is) {
                loading::install(&mut connection, workload).await?;
            }
            Ok(before)
        })?;
        if !measured {
            return Ok(None);
        }
        progress(Stage::Running);
        let mut tell = |second| progress(Stage::Second(second));
        let tell: Option<&mut dyn FnMut(Second)> = Some(&mut tell);
        let (clients, seed) = (self.clients, self.seed);
        let figures = run_calls(system, workload, self.run, clients, seed, clock, tell)?;
        let (name, durability, verdict) = blocking(async {
            let mut connection = system.connect().await?;
            if let Some(before) = &before {
                progress(Stage::Checking);
                let counted = figures.calls.counted;
                let moment = Moment::Ran { before, counted };
                loading::check(&mut connection, workload, moment).await?;
            }
            let mut verdict = None;
            if let Some(recorder) = workload.recorder() {
                progress(Stage::Checking);
                let (process, level) = (self.clients, self.level);
                let judged = judge(&mut connection, workload, recorder, process, level);
                verdict = Some(judged.await?);
            }
            let version = word(&mut connection, "SELECT version()").await?;
            let durability = match self.durability {
                Some(known) => Some(known),
                None => durability(&mut connection).await?,
            };
            let version = version.unwrap_or_else(|| "unknown".into());
            Ok((version, durability, verdict))
        })?;
        // The rest says for which machine and by which compiler.
        let system = name.split(" on ").next().unwrap_or_default();
        let setting = CallSetting {
            system: system.trim_end_matches(',').to_owned(),
            target: self.target,
            clients: self.clients,
            level: self.level,
            durability,
            seed: self.seed,
            checked: self.check.then_some(true),
            history: verdict,
        };
        Ok(Some(CallReport::new(
            workload, &self.run, setting, &figures,
        )))
    }
}

/// The first field of a query's answer; none if the system refuses it.
async fn word<C: Connection>(connection: &mut C, sql: &str) -> Result<Option<String>, Error> {
    let rows = connection.query(sql).await?.unwrap_or_default();
    Ok(rows.into_iter().flatten().next().flatten())
}

/// When a server says that it answers a commit: when it is durable, before, or with nothing synced at all.
async fn durability<C: Connection>(connection: &mut C) -> Result<Option<&'static str>, Error> {
    if word(connection, "SHOW fsync").await?.as_deref() == Some("off") {
        return Ok(Some("none"));
    }
    let waits = word(connection, "SHOW synchronous_commit").await?;
    Ok(waits.map(|waits| if waits == "off" { "async" } else { "sync" }))
}

/// Runs what belongs to no client.
fn blocking<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    runtime()?.block_on(LocalSet::new().run_until(work))
}
