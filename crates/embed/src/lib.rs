//! The library door: open a directory, run transactions on keys or in SQL.
//!
//! Relies on: `wal`, `dc-lsm`, `tc`, `direct`, `chain`, `queue`, `sql`, which it wires together.
//! Promises: the same engine and the same guarantees as behind the network.
//! Does not: listen anywhere (`server` does) or block an async runtime: sessions hand out what must be
//! waited for as futures.
//!
//! | file | what it holds |
//! |---|---|
//! | `database` | [`Database`]: open, recover, close, counters |
//! | `databases` | several of them in one directory |
//! | `backup` | everything as of one log position: out, and in again |
//! | `changes` | what was committed, in order, out of the log |
//! | `kv` | buckets and transactions on bytes |
//! | `session` | [`Session`]: SQL with PostgreSQL's rules for transactions, statements and portals |
//! | `client` | [`Client`]: send text, get rows |
//! | `chains` | the line that calls wait in, if they are run as chains |
//! | `activity` | who is connected, and what they do |
//! | `contention`, `advice`, `whereabouts` | what is in the way, what to do about it, and where that is |
//! | `batches` | calls that are run together, as one transaction |
//! | `classified` | conflict classes of the catalogue's routines |
//! | `channels` | LISTEN and NOTIFY |
//! | `advisory` | advisory locks |
//! | `alarms` | sessions that sleep |
//! | `transaction_numbers` | what `txid_current` gives |
//! | `put_off` | calls of deferrable triggers, until the transaction ends |
//! | `past` | tables as they were, for who reads the log |
//! | `history` | moments that can still be read: `quintet.as_of` |
//! | `temporary` | numbers of sessions and of what they have in their temporary schemas, and what is there |
//! | `step` | how a session answers |
//! | `settings` | SET and SHOW |
//! | `copy_in` | COPY's input formats |
//! | `spill` | files for rows that a statement's memory has no room for |
//! | `host`, `guised`, `lent` | what expressions ask of a session; in a SECURITY DEFINER routine; what a call in a batch may ask |

mod activity;
mod advice;
mod advisory;
mod alarms;
pub mod backup;
mod batches;
mod chains;
pub mod changes;
mod channels;
mod classified;
mod client;
mod contention;
mod copy_in;
mod database;
mod databases;
mod guised;
mod history;
mod host;
mod kv;
mod lent;
mod past;
mod put_off;
mod session;
mod settings;
mod spill;
mod step;
mod temporary;
mod transaction_numbers;
mod whereabouts;

pub use activity::Interrupt;
pub use batches::BatchStats;
pub use chains::ChainStats;
pub use channels::Notification;
pub use client::{Answer, Client, Progress};
pub use database::{Database, DatabaseConfig, DatabaseStats, Error, OpenReport};
pub use kv::{Bucket, CommitError, Pending, Rows, Transaction};
pub use quintet_base::{Durability, Level};
pub use quintet_engine::Engine;
pub use quintet_tc::{PostFailure, Posting, Recovery, RecoveryProgress, Warmed};
pub use quintet_wal::ArchiveConfig;
pub use session::{CancelHandle, Prepared, Session, SessionOptions, SimpleStatement};
pub use step::{Flow, Pause, RowSink, Step, TransactionStatus};
