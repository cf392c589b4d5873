//! A call as the simulation knows it: what it may touch, what it does write, how long it takes.
//!
//! Relies on: `base::conflict`.  Promises: plain data, and the seam through which workloads bring calls.
//! Does not: schedule or run anything.

use crate::draw::Spread;
use quintet_base::conflict::{ConflictKey, Modes};

/// One sort of call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Its name in reports.
    pub name: &'static str,
    /// How long a run of it takes.
    pub duration: Spread,
    /// False for those that only read.
    pub writes: bool,
    /// What it works on, for who places calls by memory.
    pub tables: &'static [Table],
}

/// A table with its indexes, as far as memory is concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Megabytes of it that calls use again and again.
    pub megabytes: f64,
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Which of the source's kinds, by position.
    pub kind: usize,
    /// What it may touch, from its arguments: what a scheduler of chains is told.
    pub keys: Vec<ConflictKey>,
    /// The rows that it does write, each with its whole key: what a certifier compares.
    pub writes: Vec<ConflictKey>,
    /// Its keys were looked up in the database first, which takes its time.
    pub looked_up: bool,
}

/// Where calls come from. The same seed must give the same calls.
pub trait Source {
    /// The workload's name.
    fn name(&self) -> &'static str;

    /// The sorts of calls.
    fn kinds(&self) -> &[Kind];

    /// Which modes of [`Plan::keys`] conflict.
    fn modes(&self) -> Modes;

    /// Which modes of [`Plan::writes`] conflict. Keys and rows are never compared with each other.
    fn row_modes(&self) -> Modes {
        self.modes()
    }

    /// The next call.
    fn next_plan(&mut self) -> Plan;
}
