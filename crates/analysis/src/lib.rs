//! What a routine will do, read from its IR without running it (Solar, §"transaction compilation").
//!
//! Relies on: `ir::routine`, whose steps have names, types and plans decided.  Promises: what must
//! follow what, and which rows are touched, is never left out; where it is not known, more is said than is
//! true.  Does not: run, do I/O, read a clock, know an engine or the catalogue.
//!
//! ```text
//!   Routine ──flow──► Graph: operations, constraints ──groups──► reads that may go out together
//!                       │  read  item   i_id = in_item_ids[i]        └──► look-ups for the executor
//!                       │  write stock  …
//!                       ├─ each key: exact, iterated or unknown, over the arguments
//!                       └──deeds──► Footprint ──► Classes: conditions, and the keys of a call
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `graph` | [`Graph`]: operations and constraints |
//! | `operation` | what an operation does, which rows it may touch |
//! | `flow` | the walk over a routine's steps that makes both; `loops` and `guards` its harder turns |
//! | `state` | what is known of the slots at a place of the walk |
//! | `known` | values as expressions over the arguments and the loops' variables |
//! | `statement` | the reads and writes of one statement |
//! | `expressions` | every expression of a statement, and the slots in it |
//! | `access` | which operations may touch the same row |
//! | `groups` | rounds of reads |
//! | `look_ups` | keys that can be looked up before a call begins |
//! | `text` | the printed form |
//! | `references` | what follows by foreign keys |
//! | `deeds`, `columns` | what a statement does to rows, and what it looks at |
//! | `footprint`, `inlined` | [`Footprint`]: which rows a call may touch; those of called routines |
//! | `rule` | when two effects on a row conflict |
//! | `paths` | the parts of a key, computed from arguments |
//! | `classes`, `prune` | [`Classes`]: spaces, modes, and the keys of calls; which marks need none |
//! | `condition` | when calls of two routines conflict, in words |
//! | `report` | `quintet classify` |

mod access;
pub mod classes;
mod columns;
pub mod condition;
mod deeds;
mod expressions;
mod flow;
pub mod footprint;
pub mod graph;
mod groups;
mod guards;
mod inlined;
mod known;
mod look_ups;
mod loops;
pub mod operation;
mod paths;
mod prune;
mod references;
pub mod report;
mod rule;
mod state;
mod statement;
mod text;

pub use classes::Classes;
pub use columns::Columns;
pub use condition::{Case, Condition};
pub use deeds::Effect;
pub use footprint::{Footprint, KeyPart, Mark};
pub use graph::{Constraint, Graph, Why};
pub use groups::Groups;
pub use known::is_fixed;
pub use look_ups::look_ups;
pub use operation::{Key, Operation, Part, Template, Touch, What};
pub use paths::{PATHS_MAX, Paths, hashed};
pub use report::{MarkText, report};
pub use rule::{Cause, Granularity, Rule};
pub use text::explain;
