//! STORE's contract: where settled records live, one record at a time.
//!
//! Relies on: the caller keeps its own redo log and sends lost merges again.  Promises: what
//! [`contract`] says, proven for each implementation by [`conformance`].  Does not: know who wrote
//! a record, keep more than one version of it that a caller could ask for, or order records among
//! each other. (Deuteronomy's data component; Levandoski et al., CIDR 2011 and 2015.)
//!
//! ```text
//!            merge(space, run)                 checkpoint(redo start)
//!  caller ───────────────────────►  newest  ───────────────────────►  medium
//!                                     │ generation()
//!                                     ▼
//!                          generation: get, scan (never changes)
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `contract` | records, operations, the traits and every promise |
//! | `error` | the one error of all implementations |
//! | `memory`, `sorted` | an implementation without files, and the persistent table under it |
//! | `conformance` | the suite that every implementation runs |
//!
//! Lock order: `MemoryStore`'s state, then its medium; neither is held while the caller's code runs.

pub mod conformance;
pub mod contract;
mod error;
pub mod memory;
mod sorted;

pub use contract::{
    Brought, Change, DataComponent, DcStats, Direction, Generation, KeyRange, MergeReport,
    Operation, Record, RecordScan,
};
pub use error::Error;
pub use memory::{MemoryMedium, MemoryStore};
