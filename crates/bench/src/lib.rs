//! Load generators and latency reports.
//!
//! Relies on: `workloads` for what to ask, `embed` for the database, `rt` for threads and the
//! clock.  Promises: closed loop, so a stall of the database is seen as missing throughput and as
//! latency of the transaction that met it; figures cover the measured interval only.
//! Does not: hide aborts, or draw conclusions.
//!
//! | file | what it holds |
//! |---|---|
//! | `target` | what the driver drives: clients that run one transaction at a time |
//! | `driver` | threads, warm-up, measurement |
//! | `report` | the figures, as text and as JSON |
//! | `ycsb` | YCSB on the embedded key-value transactions |

mod driver;
mod error;
mod report;
mod target;
mod ycsb;

pub use driver::{Figures, RunConfig, run};
pub use error::Error;
pub use report::Report;
pub use target::{Client, Counters, Outcome, Target};
pub use ycsb::{YcsbRun, YcsbTarget};
