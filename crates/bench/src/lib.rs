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
//!
//! Without the feature `embedded` the database is left out: the driver and the report alone, with which
//! `bench/peers` measures other systems in the same loop.

mod driver;
mod error;
mod pace;
mod report;
mod target;
mod timeline;
mod worker;
#[cfg(feature = "embedded")]
mod ycsb;

pub use driver::{Figures, RunConfig, run};
pub use error::Error;
pub use report::{Report, Setting};
pub use target::{Answer, Client, Compaction, Counters, Outcome, Target};
pub use timeline::{Interval, Share, Timeline};
#[cfg(feature = "embedded")]
pub use ycsb::{YcsbRun, YcsbTarget};
