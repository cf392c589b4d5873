//! Subqueries inside expressions.
//!
//! Relies on: `plan`.  Promises: what a subquery needs of the row around it is handed to it as values, so
//! that it depends on nothing but these, the parameters and the snapshot; its plan is complete by itself
//! and its frames begin at 0.  Does not: say when it is run, or whether an answer is kept: whoever
//! evaluates the expression asks its host ([`crate::Host::subquery`]).
//!
//! ```text
//!   SELECT … FROM t WHERE EXISTS (SELECT … FROM u WHERE u.a = t.b AND u.c > 5)
//!
//!   Subquery { form: Exists, outer: [t.b], plan: Scan u by a = Outer(0), filter c > 5 }
//! ```
//! A name from further out is handed on from level to level: every level in between has it among its `outer`.

use crate::expr::{CompareOp, Expr};
use crate::plan::Plan;
use quintet_base::SqlType;
use std::sync::Arc;

/// A query inside an expression.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// What it makes of the rows.
    pub form: SubqueryForm,
    /// Over the frame of the expression: what [`Expr::Outer`] stands for inside, in order.
    pub outer: Vec<Expr>,
    /// What is compared with the rows, over the frame of the expression; else nothing.
    pub tested: Vec<Expr>,
    /// The rows. Several expressions that are columns of one row have the same plan: it is run once.
    pub plan: Arc<Plan>,
    /// Type of the value.
    pub ty: SqlType,
}

/// What becomes of a subquery's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubqueryForm {
    /// This column of the only row; NULL if there is none, `21000` if there are several.
    Value(usize),
    /// Whether there is a row.
    Exists,
    /// The first column of all rows.
    Array,
    /// `tested op ANY (rows)`, or ALL. For more than one column `=` with ANY, or `<>` with ALL.
    Compare {
        /// The comparison.
        op: CompareOp,
        /// ALL, else ANY.
        all: bool,
    },
}
