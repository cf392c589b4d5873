//! The queue engine's planner: which pending calls are run together, by whom, in which order.
//!
//! Relies on: conflict keys that are sound ([`quintet_base::conflict`]).  Promises: calls get their priority
//! when they come; a lane is given calls in the order of their priorities, and none whose keys meet those of a
//! call before it that is in another lane or still pending; so whatever lanes do side by side, the outcome
//! is that of all calls one by one in the order of their priorities.
//! Does not: run anything, read a clock, wait, or know what a call is.
//!
//! ## The shape (Q-Store, EDBT 2019; `seeds/000`)
//!
//! ```text
//!   submit ──► pending, by priority ──take──► lane: a batch of calls, one after the other ──end──► gone
//!                    │                          ▲
//!                    └ meets a running lane, or a pending call before it: stays where it is
//! ```
//! Q-Store fills a batch, plans it, runs its queues, and ends it with a barrier. Here a batch is what a lane
//! finds pending when somebody has time for it: one call if nothing else is there, and, when the rows are
//! hot, all that has come while the batch before was run. No lane waits for another but for rows that both
//! touch, so there is no barrier, and no timer either.
//!
//! A lane runs its calls whole ([decision 24](../../../docs/decisions/0024-a-batch-is-one-transaction.md)): what
//! conflicts shares a lane, so values pass from call to call through the lane's own writes.
//!
//! | file | what it holds |
//! |---|---|
//! | `intake` | [`Intake`]: pending calls and running lanes |
//! | `board` | a set of keys that tells whether a key meets one of them |
//! | `route` | [`Route`]: whether a routine's calls are worth planning |

mod board;
mod intake;
mod route;

pub use board::Board;
pub use intake::{Intake, Keyed, Lane, LaneId, Priority};
pub use route::{Chosen, Route};
