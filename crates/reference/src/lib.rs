//! What the procedure IR means, as a program that is easy to read.
//!
//! Other rooms run the IR fast; this one runs it plainly, so that a reader can look up what a step, a
//! statement or a plan must do, and so that a test can ask whether the fast ones agree
//! (`tests/agreement`).
//!
//! Relies on: `ir::eval` for expressions and `ir::aggregate` for sums, which every executor shares: what
//! they mean is tested where they are.  Promises: one caller at a time; a statement reads the tables as
//! they were when it began, and takes place whole or not at all; errors carry the SQLSTATE and the
//! message of the fast executor.  Does not: know transactions, locks, logs, waits, limits of memory or
//! depth, or what is fast; add DETAIL and CONTEXT to errors.
//!
//! | file | what it holds |
//! |---|---|
//! | `database` | tables as maps from key to row |
//! | `interpreter` | who runs a procedure; functions that expressions call |
//! | `routine` | the steps of a routine, over its tree |
//! | `cursor` | what a routine does to cursors of its session |
//! | `raise` | messages and errors that a routine makes |
//! | `statement` | queries, and the three statements that write |
//! | `plan` | sources of rows |
//! | `subquery` | queries inside expressions |
//! | `scan` | rows of one table by an access path |
//! | `constraint` | what a row must fulfil |
//! | `trace` | which rows a call has touched |

mod constraint;
mod cursor;
mod database;
mod interpreter;
mod plan;
mod raise;
mod routine;
mod scan;
mod statement;
mod subquery;
mod trace;
mod window;

pub use database::Database;
pub use interpreter::{Answer, run, run_traced};
pub use trace::{Deed, Touched, Trace};
