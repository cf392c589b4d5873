//! Nodes in simulated time: the same state machines, one processor each, a network and a log with modelled costs.
//!
//! Relies on: `costs` for what things take.  Promises: the same seed gives the same run.  Does not: model caches, the
//! clients' processors, or a network that is full.
//!
//! ```text
//!   inbox ─► processor: takes all that came, then a turn ─► frames ─latency, bytes─► inboxes
//!                │ free again: next                     └─► log: one sync after the other ─► durable
//! ```

mod costs;
mod run;
mod store;

pub use costs::Costs;
pub use run::{SimConfig, SimReport, simulate};
pub use store::MemoryStore;
