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
//! | `submitting` | a call is taken in and ordered |
//! | `running` | it gets a session and becomes an attempt |
//! | `deciding` | what becomes of an attempt, and of its call |
//! | `spreading` | what is decided is committed, applied, answered |
//! | `forgetting` | and then durable, and forgotten |
//! | `reads` | calls that do not write |
//! | `leaving` | replicas go and return; the primary |
//! | `recovery` | what earlier lives left |
//! | `certifier` | which write sets an attempt did not see |
//! | `ledger` | write sets that are decided and not yet safe everywhere |
//! | `calls`, `clients`, `gate`, `replicas` | what is known of each |

mod calls;
mod certifier;
mod clients;
mod config;
mod deciding;
mod event;
mod forgetting;
mod front;
mod gate;
mod ids;
mod leaving;
mod ledger;
mod reads;
mod recovery;
mod replicas;
mod running;
mod spreading;
mod submitting;

pub use config::{FrontConfig, Policy, ReplicaConfig};
pub use event::{Call, Effect, Event, Outcome, Report, Why};
pub use front::{Counts, Front};
pub use ids::{AttemptId, Lsn, Place, ReplicaId, Rows, SessionId, Token, WriteId};
pub use quintet_chain::{Access, CallId, Guarantee};
