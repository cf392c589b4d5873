//! The direct engine: runs the IR at a snapshot and commits by validation.
//!
//! Relies on: `ir` (resolved plans), `tc` (snapshots, row locks, buffered writes).  Promises: the
//! engine contract (`quintet_engine`); a statement takes place whole or not at all; nothing blocks a
//! thread: what must be waited for comes out as [`Stop::Blocked`], and the same call goes on later.
//! Does not: plan, keep the catalogue, begin or commit on its own (sequences excepted).
//!
//! ```text
//!            Run::next
//!               │ reads                       │ writes, FOR UPDATE
//!               ▼                             ▼
//!   cursor ◄─ pulls ─ cursor        the whole statement, then its rows
//!     │ scan, join, sort …            find ─► lock ─► check ─► buffer
//!     ▼                                 │ blocked: undo, wait, run again
//!   tc::Txn (get, scan)                 │ stale:   undo, new snapshot, run again
//!                                       ▼
//!                                     tc::Txn (lock, get, put, delete)
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `run` | [`Run`]: one execution of a statement; restarts |
//! | `call`, `guard`, `turns`, `raise`, `into` | calls of routines, step by step |
//! | `moment` | what a statement of a routine reads, if not the newest state |
//! | `dynamic` | steps of a call that others plan and run for it |
//! | `portals` | steps of a call about cursors of its session |
//! | `ahead` | what a call will read is announced before it begins |
//! | `nested`, `called` | functions that expressions and FROM items call |
//! | `subquery`, `asked_often`, `lookup` | queries in expressions, and what they keep; those that many rows ask; rows by their keys; LATERAL |
//! | `context` | what a statement runs in: transaction, parameters, memory, cancellation |
//! | `cursor` | pulling frames through a plan; the small operators |
//! | `outer_ahead` | outer rows of a join ahead of their turn, for the inner rows they name |
//! | `scan`, `join`, `full_join`, `sort`, `aggregate`, `unique`, `window`, `with`, `series`, `lock` | the larger operators |
//! | `kept`, `runs`, `partitions`, `row_file` | rows beyond a statement's memory: found by keys, in order, by groups; one after the other |
//! | `packed` | rows that are sorted, each in one piece |
//! | `rank` | sort values in one number, and sorting by it |
//! | `gather`, `groups` | rows to their groups, where they lie; what is on its way in each |
//! | `sieve` | filters and other expressions of queries, over rows where they lie |
//! | `keys` | where rows and entries live, and which keys a range means |
//! | `rows` | stored rows to frames and back; what rows must fulfil |
//! | `write` | one row with its index entries: add, change, remove |
//! | `inverted` | entries of inverted indexes |
//! | `insert`, `update` | the writing statements |
//! | `exclusion` | rows that may not be beside each other |
//! | `late_key` | unique keys that are looked at when all is done |
//! | `row_inserter` | rows that are inserted one at a time, as COPY gives them |
//! | `references` | foreign keys: what follows from a statement, and what must hold after it |
//! | `point`, `lean` | statements of a routine about one row by its key; the same where it lies |
//! | `sweep` | statements of a routine about a range of rows, where they lie |
//! | `rowid`, `sequence` | numbers that are given out once |
//! | `work` | the physical part of schema changes |
//! | `translate` | `tc`'s errors in SQL's words |
//!
//! **Lock order**: a sequence's mutex comes before everything of `tc`; the maps of counters are
//! leaves: nothing else is taken while one of them is held.

mod aggregate;
mod ahead;
mod asked_often;
mod call;
mod called;
mod context;
mod cursor;
mod direct;
mod dynamic;
mod exclusion;
mod full_join;
mod gather;
mod groups;
mod guard;
mod insert;
mod into;
mod inverted;
mod join;
mod kept;
mod keys;
mod late_key;
mod lean;
mod lock;
mod lookup;
mod moment;
mod nested;
mod outer_ahead;
mod packed;
mod partitions;
mod point;
mod portals;
mod raise;
mod rank;
mod references;
mod row_file;
mod row_inserter;
mod rowid;
mod rows;
mod run;
mod runs;
mod scan;
mod sequence;
mod series;
mod sieve;
mod sort;
mod subquery;
mod sweep;
mod translate;
mod turns;
mod unique;
mod update;
mod window;
mod with;
mod work;
mod write;

pub use context::{Context, STATEMENT_MEMORY_MAX, Stop, row_bytes};
pub use direct::Direct;
pub use dynamic::{Answer, Asked, AskedStatement};
pub use references::{DeferredTables, deferred_tables, set_constraints};
pub use row_inserter::RowInserter;
pub use run::Run;
pub use sequence::{SEQUENCE_SPACE, reserved};
pub use translate::translate;
pub use work::{AHEAD_SPACE, spaces_changed};
