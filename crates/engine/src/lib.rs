//! The engine contract: what every way of running a procedure promises.
//!
//! Relies on: `base`.  Promises: nothing itself; an engine does, and this crate says what, gives all
//! engines the same words for it, and checks what they did.
//! Does not: run anything, or know how an engine orders transactions.
//!
//! ## The contract
//!
//! An engine is given a procedure, its arguments and an isolation level, and answers once:
//!
//! ```text
//!   call ──► refused      before any effect: not now, not like this
//!     └────► begun ──► committed   at one place in the order; survives as the durability says
//!               ├────► aborted     no effect remains
//!               └────► unknown     the answer was lost between the two; ask the data
//! ```
//!
//! **Promises.** The results of committed transactions fit an execution at the level asked for, or
//! at a stronger one ([`quintet_base::Level`]; [`history`] says which anomaly each level forbids). A
//! transaction that begins after another was answered comes after it in that execution. An
//! answered commit survives what its durability names. Unknown is never reported as aborted.
//!
//! **Declines to promise.** An order between calls that run side by side; success under overload;
//! that a refused call would be refused again.
//!
//! | file | what it holds |
//! |---|---|
//! | `outcome` | [`Outcome`] of a transaction, [`Stop`] of a statement |
//! | `choice` | [`Engine`]: which of them runs a call |
//! | `refusal` | the reasons engines share, and the SQLSTATE and words of each |
//! | `history` | what clients did and saw, and which levels it fits |

pub mod choice;
pub mod history;
pub mod outcome;
pub mod refusal;

pub use choice::Engine;
pub use outcome::{Outcome, Stop};
pub use refusal::{Clash, Refusal};
