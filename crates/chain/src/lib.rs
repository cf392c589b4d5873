//! Chains: which call runs where, and after which others, decided before it runs.
//!
//! Relies on: conflict keys that are sound ([`quintet_base::conflict`]); a driver that tells the scheduler
//! what happened and does what it answers.  Promises: of two calls whose keys meet, the later one runs when
//! the effects of the earlier are there, on whichever worker; a call waits for no others; nothing is run
//! twice, but what a lost worker had not finished; the same events give the same effects.
//! Does not: run anything, read a clock, draw lots, or know what a worker is: a session's thread, a
//! PostgreSQL server, a model of one.
//!
//! ## The shape (Gargamel, chapters 3 and 4)
//!
//! ```text
//!   events                            effects
//!   Submitted ──►  order   who goes first of those that wait to be ordered
//!                    │
//!                  index   which pending calls it meets, by conflict key      ──► Queue
//!                    │
//!                  worker  behind the last call of its chain, or least loaded
//!                    │
//!   Executed ──►   ready   nothing that it waits for is missing at its worker ──► Run
//!   Applied  ──►   done    its effects are at every worker                    ──► Apply, Answer
//! ```
//!
//! The thesis walks the graph of pending calls for each new one. Here an index leads from a conflict key to
//! the few pending calls that a new one must wait for directly; the rest follow from those. A call's cost
//! is that of its keys, whatever waits.
//!
//! | file | what it holds |
//! |---|---|
//! | `call` | [`Submission`]: what a scheduler is told of a call |
//! | `event` | [`Event`] in, [`Effect`] out |
//! | `config` | [`Config`] |
//! | `scheduler` | [`Scheduler`]: what becomes of an event; states of a call |
//! | `placing`, `ending` | its two halves: where a call goes, and what follows when it is over |
//! | `moving` | a call that may run is taken to a worker with nothing to do |
//! | `held`, `soonest` | who gets a place next, if that is not who came first |
//! | `index` | from a key to the calls that a new one comes directly after |
//! | `frontiers`, `groups` | the lists that the index keeps, and how they are kept |
//! | `calls`, `workers`, `set` | what is known of each |
//! | `site` | [`Site`]: several sites order calls at once and agree later |
//! | `offer`, `branches` | what sites tell each other; what each knows of the others' calls |

mod branches;
mod call;
mod calls;
mod config;
mod ending;
mod event;
mod frontiers;
mod groups;
mod held;
mod index;
mod moving;
mod offer;
mod placing;
mod scheduler;
mod set;
mod site;
mod soonest;
mod workers;

pub use call::{Access, CallId, Guarantee, Position, Submission, WorkerId};
pub use config::{Config, Copies, Order};
pub use event::{Effect, Event, Freshness, Holds, Wrote};
pub use offer::{Choice, Message, Offer, PlaceId, SiteEffect, SiteEvent, SiteId};
pub use scheduler::Scheduler;
pub use site::{Begin, RunAt, Site, SiteConfig, SiteCounts};
