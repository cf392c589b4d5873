//! The front end over PostgreSQL: clients speak to it as to one server, and behind it replicas share the work.
//!
//! Relies on: `front` for every decision, `replica` for each server, `analysis` for which calls conflict, `server` for the
//! door.  Promises: what `docs/front.md` says: an acknowledged transaction is at every replica once, in an order in which
//! conflicting ones follow one another.  Does not: keep data of its own, or change what replicas run.
//!
//! ```text
//!   client ─► door ─► guest ──► switchboard ─► conductor ── front      decides
//!                       │                        │  ▲
//!                    knowledge                   ▼  │ news
//!                    which keys has this call?  tasks, keepers ─► replicas
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `config` | [`ProxyConfig`] |
//! | `proxy` | [`Proxy`]: starting and stopping; the house behind the door |
//! | `knowledge` | [`Knowledge`]: procedures, classes, keys |
//! | `guest` | one client |
//! | `settings`, `text`, `told` | what it has set; statements as they came; errors as they are told |
//! | `switchboard`, `conductor` | requests; who decides |
//! | `keeper`, `pool`, `lease` | a replica's life; its sessions; one lent to a client |

mod conductor;
pub mod config;
mod guest;
mod keeper;
pub mod knowledge;
mod lease;
mod pool;
mod proxy;
mod settings;
mod switchboard;
mod text;
mod told;

pub use config::{ProxyConfig, Service};
pub use knowledge::Knowledge;
pub use proxy::{Error, Proxy};
pub use quintet_front::{Guarantee, Policy};
