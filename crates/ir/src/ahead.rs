//! Keys of a routine that can be looked up before a call of it begins.
//!
//! Relies on: `expr`.  Promises: nothing in here has an effect; who leaves all of it out gets the same
//! rows.  Does not: say who looks up, or when.
//!
//! Expressions are over the arguments, `$n`, and beyond the routine's slots over the variables of `turns`.

use crate::expr::Expr;
use crate::schema::TableRef;

/// What a call may look up before it begins.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    /// In the order of the source.
    pub look_ups: Vec<LookUp>,
    /// How many places the expressions see.
    pub places: usize,
}

/// Rows named by their whole key.
#[derive(Clone, Debug)]
pub struct LookUp {
    /// Of this table.
    pub table: TableRef,
    /// By this index, else by the row key.
    pub index: Option<usize>,
    /// One per column of the key; a NULL: no row.
    pub key: Vec<Expr>,
    /// For each of these, outermost first.
    pub turns: Vec<Turns>,
    /// Only if each of these is TRUE, or is not.
    pub only_if: Vec<(Expr, bool)>,
}

/// Turns of a loop.
#[derive(Clone, Debug)]
pub struct Turns {
    /// The place of its variable.
    pub place: usize,
    /// Its values.
    pub over: Over,
}

/// What a loop goes through.
#[derive(Clone, Debug)]
pub enum Over {
    /// FOR over integers; see [`crate::routine::Action::ForInteger`].
    Integers {
        /// The first.
        lower: Expr,
        /// The last.
        upper: Expr,
        /// Above 0.
        step: Expr,
        /// Downwards.
        reverse: bool,
    },
    /// FOREACH.
    Elements(Expr),
}
