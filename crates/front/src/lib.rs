//! The front end over replicas: which call runs where, what becomes of it, and what each replica applies.
//!
//! Relies on: a driver that does what the effects say and tells what happened; replicas that keep the promises
//! of `docs/contracts/replica.md`; with policy `Chains`, conflict keys that leave out nothing.
//! Promises: an acknowledged call is durable, took effect once, and reaches every replica; a call that was
//! refused left nothing; calls that conflict have one order at all replicas; the same events give the same
//! effects.  Does not: connect, parse, read a clock, or keep the bytes of a write set.
//!
//! How a call passes through, and what happens at each failure: `docs/front.md`.
//!
//! | file | what it holds |
//! |---|---|
//! | `ids`, `config` | names and numbers; what an operator decides |
//! | `event` | [`Event`] in, [`Effect`] out |
//! | `front` | [`Front`]: what becomes of an event |

mod config;
mod event;
mod front;
mod ids;

pub use config::{FrontConfig, Policy, ReplicaConfig};
pub use event::{Call, Effect, Event, Outcome, Report, Why};
pub use front::{Counts, Front};
pub use ids::{AttemptId, Lsn, Place, ReplicaId, Rows, SessionId, Token, WriteId};
pub use quintet_chain::{Access, CallId, Guarantee};
