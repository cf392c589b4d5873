//! Aggregates. (being built)

use crate::expr::Expr;
use crate::plan::SortKey;
use quintet_base::{SqlError, SqlResult, SqlType, Value};

/// Which aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum AggregateFunction {
    /// count(*): rows.
    CountRows,
    /// count(x): rows where x is not NULL.
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BoolAnd,
    BoolOr,
    StringAgg,
    ArrayAgg,
}

/// One aggregate in a plan.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// Which.
    pub function: AggregateFunction,
    /// Arguments over the input frame (none for count(*), two for string_agg).
    pub args: Vec<Expr>,
    /// DISTINCT.
    pub distinct: bool,
    /// FILTER (WHERE …).
    pub filter: Option<Expr>,
    /// ORDER BY inside the call.
    pub order: Vec<SortKey>,
    /// Type of the result.
    pub ty: SqlType,
}

/// The aggregate with this name for these argument types, the types to convert the arguments to,
/// and the type of the result; `None` if the name is no aggregate.
///
/// # Errors
/// `42883` if the name is an aggregate but not for these types.
pub fn resolve_aggregate(
    name: &str,
    args: &[SqlType],
) -> Option<SqlResult<(AggregateFunction, Vec<SqlType>, SqlType)>> {
    let _ = (name, args);
    None
}

/// The running state of one call over one group. The caller evaluates arguments, applies FILTER,
/// DISTINCT and ORDER BY.
pub struct Accumulator;

impl Accumulator {
    /// An empty group.
    pub fn new(call: &AggregateCall) -> Accumulator {
        let _ = call;
        Accumulator
    }

    /// Adds one row's arguments.
    ///
    /// # Errors
    /// `22003` when a sum leaves its type.
    pub fn add(&mut self, args: &[Value]) -> SqlResult<()> {
        let _ = args;
        Ok(())
    }

    /// The result.
    ///
    /// # Errors
    /// `22003` when the result leaves its type.
    pub fn finish(self) -> SqlResult<Value> {
        Err(SqlError::internal("being built"))
    }
}
