//! Keys of a routine that can be looked up before a call of it begins.
//!
//! Relies on: `expr`.  Promises: nothing in here has an effect; who leaves all of it out gets the same
//! rows.  Does not: say who looks up, or when.
//!
//! Expressions are over the arguments, `$n`, and beyond the routine's slots over the variables of `turns`.

use crate::expr::Expr;
use crate::formula::Formula;
use crate::schema::TableRef;
use quintet_base::SqlType;

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
    /// Key, with the types of its columns, and conditions once more, if all of them can be computed so.
    pub lean: Option<LeanLookUp>,
}

/// What a look-up computes in each turn.
#[derive(Clone, Debug)]
pub struct LeanLookUp {
    /// See [`LookUp::key`].
    pub key: Vec<(Formula, SqlType)>,
    /// See [`LookUp::only_if`].
    pub only_if: Vec<(Formula, bool)>,
}

impl LookUp {
    /// With its formulas.
    pub fn new(
        table: TableRef,
        index: Option<usize>,
        key: Vec<Expr>,
        turns: Vec<Turns>,
        only_if: Vec<(Expr, bool)>,
    ) -> LookUp {
        let mut look_up = LookUp {
            table,
            index,
            key,
            turns,
            only_if,
            lean: None,
        };
        look_up.lean = look_up.lean();
        look_up
    }

    fn lean(&self) -> Option<LeanLookUp> {
        let types = self.columns()?.iter();
        let types = types.map(|column| self.table.frame_type(*column));
        let key = self.key.iter().zip(types);
        let key = key.map(|(expr, ty)| Some((Formula::new(expr, None)?, ty)));
        let only_if = self.only_if.iter();
        let only_if = only_if.map(|(expr, held)| Some((Formula::new(expr, None)?, *held)));
        Some(LeanLookUp {
            key: key.collect::<Option<_>>()?,
            only_if: only_if.collect::<Option<_>>()?,
        })
    }

    /// The columns of the key.
    pub fn columns(&self) -> Option<&[usize]> {
        match (self.index, &self.table.primary_key) {
            (Some(index), _) => Some(&self.table.indexes[index].columns),
            (None, Some(primary)) => Some(&primary.columns),
            (None, None) => None,
        }
    }
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
