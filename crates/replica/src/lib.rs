//! One PostgreSQL server as a replica: run calls, apply write sets, tell its log.
//!
//! Relies on: an unmodified PostgreSQL 15 or later with `wal_level = logical`, `max_prepared_transactions` above 0 and a superuser to
//! connect as.  Promises: an attempt ends prepared or leaves nothing; its write set comes with the stream; a write set is applied once
//! however often it is asked for.  Does not: know other replicas, order anything, decide what is committed, or encrypt connections.
//!
//! ```text
//!                 ┌──────────────── one server ────────────────┐
//!   Runner ─────► │ call, PREPARE TRANSACTION                    │
//!   Stream ◄───── │      └─► its log: Prepared, with write set   │
//!   Runner ─────► │ COMMIT PREPARED or ROLLBACK PREPARED         │
//!   Applier ────► │ write sets of other servers                  │
//!                 └──────────────────────────────────────────────┘
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `server` | [`Server`]: an address; [`Settings`] of a session |
//! | `connection` | [`Connection`]: a session, raw or by statements; below it `socket`, `frame`, `authentication` |
//! | `front` | [`Front`], [`Gid`], [`Tag`]: names |
//! | `call`, `runner` | [`Attempt`] and what became of it; [`Runner`], which runs it |
//! | `open` | a transaction that a client drives, statement by statement |
//! | `horizon` | how far the logs of replicas are dealt with |
//! | `pipeline`, `statements` | several statements in a round trip; those that stay prepared |
//! | `item`, `stream` | [`Item`]; [`Stream`], the log; below it `decode` and `assemble` |
//! | `write_set`, `uniques` | [`WriteSet`] and its [`RowKey`]s; by what else rows must differ |
//! | `applier` | [`Applier`]; below it `batches` and `apply_sql`: which statements make the changes |
//! | `set_up` | [`set_up`], [`remove`] |
//! | `inspect` | [`checksums`], [`catalogue`] |
//!
//! Decision: `docs/decisions/0021-write-sets-by-logical-decoding.md`.

mod applier;
mod apply_sql;
mod assemble;
mod authentication;
mod batches;
mod call;
mod connection;
mod decode;
mod error;
mod frame;
mod front;
mod horizon;
mod inspect;
mod item;
mod open;
mod pipeline;
mod position;
mod runner;
mod server;
mod session;
mod set_up;
mod socket;
mod statements;
mod stream;
mod uniques;
mod write_set;

pub use applier::{Applied, Applier};
pub use call::{Attempt, CallText, Decided, Ran, Read, Step};
pub use connection::{CancelKey, Connection, Row, Status, joined};
pub use error::{Error, Problem, ServerError};
pub use frame::Frame;
pub use front::{ClientCall, Front, Gid, Tag};
pub use inspect::{Checksum, catalogue, checksums, differences};
pub use item::{Captured, Item, TooLarge};
pub use pipeline::Answer;
pub use position::WalPosition;
pub use runner::Runner;
pub use server::{Server, Settings};
pub use set_up::{Report, Slot, remove, set_up};
pub use stream::{Confirmer, Stream};
pub use write_set::{Change, Column, Field, Identity, Relation, RowKey, Tuple, Unique, WriteSet};
