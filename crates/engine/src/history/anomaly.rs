//! The anomalies, and which levels forbid each.
//!
//! Relies on: nothing.  Promises: names as in Adya (*Weak Consistency*, MIT 1999) where he has one.
//! Does not: find them.
//!
//! | anomaly | what happened | forbidden from |
//! |---|---|---|
//! | duplicate, garbage, incompatible | a list holds what nobody wrote, twice, or in two orders | READ COMMITTED |
//! | internal | a transaction does not see its own writes | READ COMMITTED |
//! | G0 dirty write | cycle of ww | READ COMMITTED |
//! | G1a aborted read | read of a value whose writer was undone | READ COMMITTED |
//! | G1b intermediate read | read of a value its writer then wrote over | READ COMMITTED |
//! | G1c circular information | cycle of ww, wr | READ COMMITTED |
//! | stale read | a write answered before the reader began is not seen | READ COMMITTED |
//! | lost update | two wrote one list, and one had not seen the other's write | SNAPSHOT |
//! | G-single read skew | cycle with one rw | SNAPSHOT |
//! | G-nonadjacent | cycle with several rw, no two in a row | SNAPSHOT |
//! | G2 write skew | cycle with rw in a row | SERIALIZABLE |
//!
//! `ww`: wrote over; `wr`: read from; `rw`: did not see what the other wrote; `rt`: was answered
//! before the other began. Quintet promises real-time order at every level, so a cycle that closes
//! only through `rt` counts as the same anomaly, marked as one of real time.

use quintet_base::Level;
use std::fmt;

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)] // the table above says what each is
pub enum AnomalyKind {
    Garbage,
    Duplicate,
    Incompatible,
    Internal,
    DirtyWrite,
    AbortedRead,
    IntermediateRead,
    CircularInformation,
    StaleRead,
    LostUpdate,
    ReadSkew,
    Nonadjacent,
    WriteSkew,
}

impl AnomalyKind {
    /// The weakest level that forbids it.
    pub fn forbidden_from(self) -> Level {
        use AnomalyKind::*;
        match self {
            Garbage | Duplicate | Incompatible | Internal => Level::ReadCommitted,
            DirtyWrite | AbortedRead | IntermediateRead | CircularInformation => {
                Level::ReadCommitted
            }
            StaleRead => Level::ReadCommitted,
            LostUpdate | ReadSkew | Nonadjacent => Level::Snapshot,
            WriteSkew => Level::Serializable,
        }
    }

    /// Short name.
    pub fn name(self) -> &'static str {
        use AnomalyKind::*;
        match self {
            Garbage => "garbage read",
            Duplicate => "duplicate",
            Incompatible => "incompatible orders",
            Internal => "internal inconsistency",
            DirtyWrite => "G0 (dirty write)",
            AbortedRead => "G1a (aborted read)",
            IntermediateRead => "G1b (intermediate read)",
            CircularInformation => "G1c (circular information flow)",
            StaleRead => "stale read",
            LostUpdate => "lost update",
            ReadSkew => "G-single (read skew)",
            Nonadjacent => "G-nonadjacent",
            WriteSkew => "G2 (write skew)",
        }
    }
}

/// One thing that went wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anomaly {
    /// What.
    pub kind: AnomalyKind,
    /// It closes only through the order of real time.
    pub real_time: bool,
    /// The transactions involved, as numbers in the history; for a cycle in its order.
    pub transactions: Vec<usize>,
    /// How one comes from each to the next, in words.
    pub explanation: String,
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// What was found, of each kind a few.
    pub anomalies: Vec<Anomaly>,
    /// Transactions that were part of the check.
    pub committed: usize,
    /// Dependencies between them.
    pub dependencies: usize,
}

impl Report {
    /// What was found that a level forbids.
    pub fn violations(&self, level: Level) -> impl Iterator<Item = &Anomaly> {
        self.anomalies
            .iter()
            .filter(move |anomaly| anomaly.kind.forbidden_from() <= level)
    }

    /// True if the history could have happened at this level.
    pub fn fits(&self, level: Level) -> bool {
        self.violations(level).next().is_none()
    }

    /// The kinds found, each once.
    pub fn kinds(&self) -> Vec<AnomalyKind> {
        let mut kinds: Vec<_> = self.anomalies.iter().map(|anomaly| anomaly.kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let real_time = if self.real_time {
            ", through real time"
        } else {
            ""
        };
        let level = self.kind.forbidden_from();
        writeln!(
            f,
            "{}{real_time}, forbidden from {level} on:",
            self.kind.name()
        )?;
        f.write_str(&self.explanation)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report {
            committed,
            dependencies,
            ..
        } = self;
        writeln!(f, "{committed} transactions, {dependencies} dependencies")?;
        if self.anomalies.is_empty() {
            return writeln!(f, "no anomalies");
        }
        self.anomalies
            .iter()
            .try_for_each(|anomaly| write!(f, "{anomaly}"))
    }
}
