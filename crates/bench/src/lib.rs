//! Load generators and latency reports.
//!
//! Relies on: `workloads` for what to ask, `embed` for the database, `rt` for threads and the
//! clock.  Promises: in a closed loop a stall of the database is seen as missing throughput and as
//! latency of the transactions that met it, at a constant rate as latency of all that were due
//! meanwhile; figures cover the measured interval only.
//! Does not: hide aborts, or draw conclusions.
//!
//! | file | what it holds |
//! |---|---|
//! | `target` | what the driver drives: clients, and the answers to their commits |
//! | `driver` | threads, warm-up, measurement |
//! | `worker` | one client's loop |
//! | `pace` | when a transaction is due |
//! | `timeline` | short intervals, inside and outside of compactions |
//! | `report` | the figures, as text and as JSON |
//! | `ycsb` | YCSB on the embedded key-value transactions |
//! | `system` | what calls are made to: a database that takes SQL |
//! | `postgres`, `embedded` | the two of them |
//! | `caller`, `crew` | one client that calls procedures; many of them on few threads |
//! | `loading` | tables, rows, procedures and checks of a workload |
//! | `call_run`, `calls`, `call_report` | a whole run of calls; what it counts; its report |
//!
//! Without the feature `embedded` the database is left out: the driver and the report alone, with which
//! `bench/peers` measures other systems in the same loop.

mod call_report;
mod call_run;
mod caller;
mod calls;
mod crew;
mod driver;
#[cfg(feature = "embedded")]
mod embedded;
mod error;
pub mod loading;
mod pace;
mod postgres;
mod report;
mod system;
mod target;
mod timeline;
mod worker;
#[cfg(feature = "embedded")]
mod ycsb;

pub use call_report::{CallReport, KindReport};
pub use call_run::{CallRun, Stage};
pub use calls::{CallTotals, KindTotals};
pub use driver::{Figures, RunConfig, run};
#[cfg(feature = "embedded")]
pub use embedded::Embedded;
pub use error::Error;
pub use postgres::Postgres;
pub use report::{Report, Setting};
pub use system::{Connection, Failure, Reply, System, TextRows};
pub use target::{Answer, Client, Compaction, Counters, Outcome, Target};
pub use timeline::{Interval, Share, Timeline};
#[cfg(feature = "embedded")]
pub use ycsb::{YcsbRun, YcsbTarget};
