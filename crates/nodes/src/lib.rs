//! Calls over several nodes: the queue engine, and four peers to compare it with, as pure state machines.
//!
//! Relies on: `rt::Rand`, `workloads::Keys`.  Promises: events in, effects out; no clock, no socket, no file, so the
//! same code runs in processes (`quintet bench nodes`), in the simulation here, and in tests that lose messages and
//! crash nodes.  Does not: keep records (a [`Store`] does) or send bytes (a driver does).
//!
//! | file | what it holds |
//! |---|---|
//! | `call`, `execute` | what a call does, key by key, and what that means |
//! | `serial` | the same one after the other: the reference |
//! | `node` | [`Node`]: events, effects, the store's contract |
//! | `message` | what nodes say to one another |
//! | `batches` | batches: formation, order, one record of the log, recovery |
//! | `lanes`, `overlay` | the queue engine |
//! | `calvin` | locks in the order of the sequence |
//! | `two_phase`, `control` | two-phase commit under locks, validation, or one call at a time |
//! | `run` | one part of a call, run by itself |
//! | `workload` | YCSB, TPC-C and transfers as such calls |
//! | `sim` | nodes, network and processors in simulated time |
//!
//! `docs/nodes.md` has the protocol in words, and what was measured.

pub mod batches;
pub mod call;
pub mod calvin;
mod control;
pub mod execute;
pub mod lanes;
pub mod message;
pub mod node;
pub mod overlay;
pub mod run;
pub mod serial;
pub mod sim;
pub mod two_phase;
pub mod workload;

pub use call::{
    Action, Call, CallError, CallId, Change, Check, Datum, Field, How, Key, NodeId, Operand,
    Operation, Outcome, Record, Slot,
};
pub use message::{Message, decode, encode};
pub use node::{
    BatchSize, Effects, EngineKind, Event, Node, NodeConfig, Store, Ticket, Work, Writes,
};
pub use serial::run_serially;
