//! Load generators and latency reports.
//!
//! Relies on: `workloads` for what to ask, `embed` or `tokio-postgres` for the database, `rt` for threads
//! and the clock.  Promises: in a closed loop a stall of the database is seen as missing throughput and as
//! latency of the transactions that met it, at a constant rate as latency of all that were due
//! meanwhile; figures cover the measured interval only.
//! Does not: hide aborts, or draw conclusions.
//!
//! | file | what it holds |
//! |---|---|
//! | `target` | what the driver drives: clients, and the answers to their commits |
//! | `driver` | threads, warm-up, measurement |
//! | `worker` | one client's loop |
//! | `stage`, `live` | what a run is doing, and what its clients did in the last second |
//! | `pace` | when a transaction is due |
//! | `timeline` | short intervals, inside and outside of compactions |
//! | `report` | the figures, as text and as JSON |
//! | `ycsb` | YCSB on the embedded key-value transactions |
//! | `system` | what calls are made to: a database that takes SQL |
//! | `postgres`, `embedded` | the two of them |
//! | `caller`, `crew` | one client that calls procedures; many of them on few threads |
//! | `loading` | tables, rows, procedures and checks of a workload |
//! | `history` | what a run's history says of the database |
//! | `call_run`, `calls`, `call_report` | a whole run of calls; what it counts; its report |
//! | `compare` | several targets in turn, and their ratios |
//! | `scheduling` | what ordering a call costs, without running it |
//! | `machine` | what the machine itself adds to latency |
//! | `nodes` | processes with a partition each, on TCP, measured (`quintet-nodes` runs the calls) |
//! | `chart` | any figures against any others, as SVG |
//! | `plot` | throughput over time and latency by percentile, as SVG |
//!
//! Without the feature `embedded` the database is left out, without `calls` everything that speaks SQL: the
//! driver and the report alone, with which `bench/peers` measures other systems in the same loop.

#[cfg(feature = "calls")]
mod call_report;
#[cfg(feature = "calls")]
mod call_run;
#[cfg(feature = "calls")]
mod caller;
mod calls;
pub mod chart;
#[cfg(feature = "calls")]
mod compare;
#[cfg(feature = "calls")]
mod crew;
mod driver;
#[cfg(all(feature = "calls", feature = "embedded"))]
mod embedded;
mod error;
#[cfg(feature = "calls")]
mod gate;
#[cfg(feature = "calls")]
mod history;
mod live;
#[cfg(feature = "calls")]
pub mod loading;
pub mod machine;
#[cfg(feature = "nodes")]
pub mod nodes;
mod pace;
pub mod plot;
#[cfg(feature = "calls")]
mod postgres;
mod report;
#[cfg(feature = "scheduling")]
mod scheduling;
mod stage;
#[cfg(feature = "calls")]
mod system;
mod target;
mod timeline;
#[cfg(any(feature = "scheduling", all(feature = "calls", feature = "embedded")))]
mod values;
mod worker;
#[cfg(feature = "embedded")]
mod ycsb;

#[cfg(feature = "calls")]
pub use call_report::{CallReport, KindReport};
#[cfg(feature = "calls")]
pub use call_run::CallRun;
pub use calls::{CallTotals, KindTotals};
#[cfg(feature = "calls")]
pub use compare::{Compared, Comparison, Spread, order};
pub use driver::{Figures, RunConfig, run, run_telling};
#[cfg(all(feature = "calls", feature = "embedded"))]
pub use embedded::{Embedded, EmbeddedConnection};
pub use error::Error;
#[cfg(feature = "calls")]
pub use history::Verdict;
#[cfg(feature = "calls")]
pub use postgres::{Postgres, PostgresConnection};
pub use report::{Report, Setting};
#[cfg(feature = "scheduling")]
pub use scheduling::{ProcedureCost, SchedulingReport, SchedulingRun};
pub use stage::{Second, Stage};
#[cfg(feature = "calls")]
pub use system::{Connection, Failure, Reply, System, TextRows};
pub use target::{Answer, Client, Compaction, Counters, Outcome, Target};
pub use timeline::{Interval, Share, Timeline};
#[cfg(feature = "embedded")]
pub use ycsb::{YcsbRun, YcsbTarget};
