//! The transaction component: versions in memory, one order of commits, one log.
//!
//! Relies on: `wal` (appends in order, says what is durable), `dc` (STORE: records without
//! transactions).  Promises: the outcome of committed transactions fits the level each asked for;
//! an answered commit survives as its durability says; readers never wait and never abort for
//! reading.  Does not: know a file, a tablet, a socket or SQL.
//!
//! ## The shape (design §4; Deuteronomy's TC, Solar's memtable)
//!
//! ```text
//!            View (one pointer, replaced whole)
//!   ┌──────────────┬──────────────────┬───────────────────┐
//!   │ active (m1)  │ frozen (m0, …)   │ generation (dc)   │   newest → oldest
//!   └──────────────┴──────────────────┴───────────────────┘
//!      ▲ commit installs      │ merge ───────────► dc
//!      │                      └ kept until no writer's snapshot is older
//!   log record = the versions' bytes: a version points into the record it was logged in
//! ```
//!
//! **Timestamp = log position.** A commit's timestamp is the position just after its log record.
//! One number orders the log, the versions and STORE's records; a snapshot is a log position
//! (`docs/decisions/0002-commit-timestamp-is-log-position.md`).
//!
//! **Locks and validation.** Writers may lock a row when they first touch it (fair, first come
//! first served), or leave it to the commit, which locks the write set in key order. Either way a
//! snapshot transaction that meets a newer version is refused at once (first committer wins), and
//! a serializable one has everything it read validated under the sequencer
//! (`docs/decisions/0003-row-locks-before-validation.md`).
//!
//! | file | what it holds |
//! |---|---|
//! | `component` | [`Tc`]: open, recover, begin, statistics |
//! | `transaction` | [`Txn`]: reads, buffered writes, savepoints |
//! | `scan` | ordered reads merged from all sources |
//! | `commit` | the sequencer: validate, log, install, publish |
//! | `locks` | row locks, queues, deadlocks |
//! | `memtable` | version chains by key |
//! | `view` | which memtables and which generation a snapshot reads |
//! | `snapshots` | who reads at which timestamp |
//! | `record` | the bytes of a commit record |
//! | `compact` | freeze, merge, truncate |
//!
//! **Lock order**: sequencer → view pointer → memtable map → version chain; row-lock shards and the
//! snapshot registry are leaves: nothing else is taken while one of them is held, except that the
//! deadlock search holds the wait graph while it looks into shards.

mod commit;
mod compact;
mod component;
mod error;
mod locks;
mod memtable;
mod record;
mod scan;
mod snapshots;
mod transaction;
mod view;

pub use component::{Recovery, Tc, TcConfig, TcStats};
pub use error::{ConflictKind, Error};
pub use locks::{Strength, Wait, WaitPolicy};
pub use scan::Scan;
pub use transaction::{Committed, Mark, Txn};
