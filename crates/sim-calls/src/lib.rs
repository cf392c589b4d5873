//! Simulation of scheduled calls: discrete events drive the real scheduler on modelled workers and sites.
//!
//! Relies on: `chain` for every decision under [`Policy::Chains`]; `analysis` for who conflicts; `workloads` for
//! TPC-C's calls and the text of all procedures; `rt::Rand`.
//! Promises: one seed, one run, in every process; calls, moments and durations do not depend on the policy.
//! Does not: read a clock, do I/O, run SQL, or predict a machine's speed: times are those of the Gargamel
//! thesis's Table 5.1, and what is compared is policies.
//!
//! ```text
//!   arrivals ─► plan (keys, rows) ─► chains     scheduler of `chain`, one site
//!       │                        ├─► sites      several sites, each a `Site` of `chain`: agreement behind
//!       │                        └─► certified  round-robin and Tashkent+: certifier, groups
//!     agenda: what happens next         └─► tally ─► report ─► figures
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `settings` | [`Settings`]: policy, rate, workers, sites, delays |
//! | `run` | [`run()`], and [`traced`] with a [`Mistake`] |
//! | `time`, `agenda` | simulated time, and the heap of events |
//! | `draw`, `arrivals`, `feed` | durations, moments of arrival, and both with calls |
//! | `plan` | [`Plan`], [`Kind`], [`Source`]: the seam to workloads |
//! | `tpcc`, `tpce` | the two workloads |
//! | `classified` | their keys, from the text of their procedures |
//! | `exact` | either of them with keys that no classifier could know |
//! | `chains` | one site under the scheduler of chains |
//! | `certified`, `certifier`, `groups` | the two policies that certify |
//! | `sites`, `collisions` | several sites |
//! | `tally`, `level`, `report` | what a run came to |
//! | `figure`, `figures` | the thesis's figures 5.1 to 5.22 |
//! | `headlines` | its headline results beside ours |
//! | `trace` | what ran when, and checks of it |
//!
//! Source: Cincilla, "Gargamel: boosting DBMS performance by parallelising write transactions", thesis, 2014,
//! chapters 4 and 5.

mod agenda;
mod arrivals;
mod certified;
mod certifier;
mod chains;
mod classified;
mod collisions;
mod draw;
mod exact;
mod feed;
mod figure;
mod figures;
mod groups;
mod headlines;
mod level;
mod plan;
mod report;
mod run;
mod settings;
mod sites;
mod tally;
mod time;
mod tpcc;
mod tpce;
mod trace;

pub use arrivals::Pattern;
pub use classified::Classified;
pub use collisions::Collisions;
pub use draw::Spread;
pub use exact::{Coarse, Exact};
pub use figure::{Axis, Division, Figure, Graph};
pub use figures::{NUMBERS, figure};
pub use headlines::{Headline, Headlines, headlines};
pub use plan::{Kind, Plan, Source, Table};
pub use report::{Curves, KindReport, Penalty, Points, Report};
pub use run::{Mistake, run, traced};
pub use settings::{Again, Begin, Delays, Error, Placement, Policy, RunAt, Settings, Workers};
pub use time::Nanos;
pub use tpcc::{KeyRule, TpccCalls};
pub use tpce::{TpceCalls, TradeKeys};
pub use trace::{Ran, Violation, check_certified, check_chains, check_once, check_serial};
