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
//!    key ─► entry ─► newest version ─► older ─► …        one table: by hash, and in order
//!             │            │
//!             │            └ bytes in the log's buffers (or a copy, once they were reclaimed)
//!             └ dirty until STORE has its newest commit, a cache entry after that
//!
//!    log    ──┬─────────────┬──────────────────┬───────────────────────────► positions
//!          reclaimed      posted              end
//!             │  clean      │  dirty           └ what the next snapshot reads at
//!             │             └ the newest generation of STORE has all up to here
//!             └ the buffers' memory goes back up to here
//! ```
//!
//! **Timestamp = log position.** A commit's timestamp is the position just after its log record.
//! One number orders the log, the versions and STORE's records; a snapshot is a log position, the
//! log's end (`docs/decisions/0002-commit-timestamp-is-log-position.md`).
//!
//! **Nothing is sequenced but the log's end.** Commits lock the entries they write, take a place in
//! the log, validate, fill the place and install; what they share is the word that is the log's end
//! (`docs/decisions/0006-no-sequencer.md`).
//!
//! **Locks and validation.** Writers may lock a row when they first touch it (fair, first come
//! first served), or leave it to the commit, which locks the entries of the write set: as they come, and in
//! the order of their hashes if it has to wait for one. Either way a snapshot transaction that meets a newer version is refused (first committer
//! wins), and a serializable one has everything it read validated: rows whole, or those of their columns
//! that it looked at (`docs/decisions/0003-row-locks-before-validation.md`, `0018-…`, `0019-…`).
//!
//! | file | what it holds |
//! |---|---|
//! | `component` | [`Tc`]: begin, compact, warm, statistics |
//! | `config` | bounds and counters |
//! | `shared` | what all handles share; fences, closed spaces |
//! | `recover` | opening: [`Tc::recover`], [`Recovery`] |
//! | `lanes` | replay, each key's changes on one thread |
//! | `transaction` | [`Txn`]: reads, buffered writes, savepoints; `transaction::ahead`: rows committed before the rest |
//! | `reads`, `writes` | what a transaction has read, and written and not committed |
//! | `batch` | what carries a batch of calls: never waits, and says what was in its way |
//! | `read` | reading at a snapshot: memory, then STORE |
//! | `scan` | ordered reads merged from both |
//! | `range` | short ranges out of memory alone |
//! | `commit` | lock, take a place, validate, write, install |
//! | `place` | where a row is, with its hash |
//! | `locks` | row locks, queues, deadlocks |
//! | `presence` | whether a row is there, apart from what is in it |
//! | `table` | all records in memory, and which may leave it |
//! | `entry` | one record: its versions |
//! | `removals` | removed records on their way out of memory; `table::removed`: how far each may go |
//! | `seats` | who reads at which timestamp, which commits are under way |
//! | `snapshot` | a timestamp on a seat |
//! | `generations` | STORE's generations that snapshots still read |
//! | `record` | the bytes of a commit record |
//! | `sync` | atomics and locks: the real ones, or those of tests that try out orders |
//! | `sim` | where a simulation looks in; nothing without the feature of that name |
//! | `compact` | freeze, merge, truncate, reclaim, evict, at a pace that leaves clients the processors |
//! | `dirty` | the keys that STORE is to be told of, gathered and sorted |
//! | `compactor` | when that is done, and who waits for it |
//! | `warm` | bringing back what STORE has; `table::warm`: when a space is whole again |
//!
//! **Unsafe code** is in `entry` (addresses into buffers, keys behind the header) and `table` (which
//! owns the entries); `compact` promises the log that nobody reads what it gives back.
//!
//! **Lock order**: row locks → gate → entries → fences. Entries are held for the length of a commit
//! section or of an upkeep, which wait for nobody; row-lock shards are leaves, except that the
//! deadlock search holds the wait graph while it looks into shards.

mod batch;
mod commit;
mod compact;
mod compactor;
mod component;
mod config;
mod dirty;
mod entry;
mod error;
mod generations;
#[cfg(all(test, shuttle))]
mod interleavings;
mod lanes;
mod locks;
mod place;
mod presence;
mod range;
mod read;
mod reads;
mod record;
mod recover;
mod removals;
mod scan;
mod seats;
mod shared;
pub mod sim;
mod snapshot;
mod sync;
mod table;
mod transaction;
mod warm;
mod writes;

pub use batch::BatchRefused;
pub use component::Tc;
pub use config::{Posting, TcConfig, TcStats};
pub use error::{ConflictKind, Error, PostFailure};
pub use generations::Settled;
pub use locks::{LockView, Strength, Wait, WaitPolicy};
pub use place::Place;
pub use presence::Presence;
pub use range::{Between, Wants};
pub use read::ANNOUNCED_TOGETHER;
pub use record::{Change, CommitRecord};
pub use recover::{Recovered, Recovery, RecoveryOptions, RecoveryProgress, replay_lanes};
pub use scan::{Scan, SeeRow};
pub use transaction::{Attached, Buffered, Committed, KeptSnapshot, Lost, Mark, Txn, ahead_from};
pub use warm::{WarmStep, Warmed};
