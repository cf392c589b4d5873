//! LIMIT and OFFSET.
//!
//! Relies on: `expr`.  Promises: both are bigint, name no column, and NULL is no bound.
//! Does not: refuse negative numbers; what they are is known when the statement runs.

use crate::coerce;
use crate::expr::Binder;
use crate::names;
use crate::planner::Planner;
use crate::scope::Scope;
use pg_query::protobuf::{LimitOption, Node, SelectStmt};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::plan::{Plan, SortKey};

/// LIMIT and OFFSET.
#[derive(Default)]
pub(crate) struct Limits {
    limit: Option<Expr>,
    offset: Option<Expr>,
    ties: bool,
}

impl Limits {
    /// The bounds above a plan in this order: with WITH TIES rows that are equal in it to the last one follow it.
    pub fn apply(self, plan: Plan, order: Vec<SortKey>) -> Plan {
        if self.is_none() {
            return plan;
        }
        Plan::Limit {
            input: Box::new(plan),
            limit: self.limit,
            offset: self.offset,
            ties: if self.ties { order } else { Vec::new() },
        }
    }

    /// WITH TIES.
    pub fn has_ties(&self) -> bool {
        self.ties
    }

    pub fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    pub fn is_none(&self) -> bool {
        self.limit.is_none() && self.offset.is_none()
    }

    pub fn is_one(&self) -> bool {
        !self.ties && matches!(self.limit, Some(Expr::Const(Value::Int8(0 | 1), _)))
    }
}

/// Binds LIMIT and OFFSET.
pub(crate) fn bind_limits(planner: &Planner, select: &SelectStmt) -> SqlResult<Limits> {
    let ties = select.limit_option() == LimitOption::WithTies;
    let bind = |node: Option<&Node>, clause: &'static str| -> SqlResult<Option<Expr>> {
        let Some(node) = node else { return Ok(None) };
        let here = planner.at(names::location(node));
        let nothing = Scope::empty();
        let bound =
            Binder::new(planner, &nothing, clause)
                .bind(node)
                .map_err(|error| match error.state {
                    SqlState::UNDEFINED_COLUMN => error
                        .state(SqlState::INVALID_COLUMN_REFERENCE)
                        .message(format!("argument of {clause} must not contain variables")),
                    _ => error,
                })?;
        if bound.calls_routine() {
            return Err(here(SqlError::unsupported(format!(
                "a function in {clause}"
            ))));
        }
        let from = bound.ty();
        let context = quintet_ir::cast::CastContext::Assignment;
        let bound = coerce::convert(planner, bound, SqlType::Int8, context).map_err(|error| {
            let message = format!("argument of {clause} must be type bigint, not type {from}");
            here(match error.state {
                SqlState::CANNOT_COERCE => SqlError::new(SqlState::DATATYPE_MISMATCH, message),
                _ => error,
            })
        })?;
        Ok(match bound {
            Expr::Const(Value::Null, _) if ties && clause == "LIMIT" => {
                return Err(here(SqlError::new(
                    SqlState::INVALID_ROW_COUNT_IN_LIMIT,
                    "row count cannot be null in FETCH FIRST ... WITH TIES clause",
                )));
            }
            Expr::Const(Value::Null, _) => None,
            bound => Some(bound),
        })
    };
    Ok(Limits {
        limit: bind(select.limit_count.as_deref(), "LIMIT")?,
        offset: bind(select.limit_offset.as_deref(), "OFFSET")?,
        ties,
    })
}

/// How many rows of a sort are needed, if that is known before it runs. Locked rows may be left
/// out later, so that more could be needed.
pub(crate) fn top_of(limits: &Limits, unlocked: bool) -> Option<Box<Expr>> {
    if limits.ties {
        return None;
    }
    match (&limits.limit, &limits.offset) {
        (Some(limit), None) if unlocked => Some(Box::new(limit.clone())),
        (Some(Expr::Const(Value::Int8(limit), ty)), Some(Expr::Const(Value::Int8(offset), _)))
            if unlocked =>
        {
            let sum = limit.checked_add(*offset)?;
            Some(Box::new(Expr::Const(Value::Int8(sum), *ty)))
        }
        _ => None,
    }
}
