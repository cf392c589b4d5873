//! Which types can be sorted by, and which have values that can be told to be equal.
//!
//! Relies on: nothing.  Promises: what PostgreSQL refuses in ORDER BY, GROUP BY, DISTINCT, PARTITION BY, set operations and keys is refused,
//! with its words.  Does not: say which operators there are (`ir::function::compare_type`), or look into rows, of which
//! PostgreSQL does so when it compares them.

use crate::planner::Planner;
use quintet_base::types::TypeFamily;
use quintet_base::{SqlResult, SqlState, SqlType};

/// Whether values can be told to be equal: some are kept as texts which nobody compares.
pub(crate) fn has_equality(ty: SqlType) -> bool {
    let of_one = ty.element().unwrap_or(ty);
    if of_one.family() == TypeFamily::Geometry {
        return false;
    }
    !matches!(
        of_one,
        SqlType::Json | SqlType::JsonPath | SqlType::RefCursor | SqlType::Cstring
    )
}

/// Whether values have an order.
pub(crate) fn has_order(ty: SqlType) -> bool {
    has_equality(ty) && ty.element().unwrap_or(ty) != SqlType::Xid
}

/// Whether rows can be sorted by values of the type.
///
/// # Errors
/// `42883` if not.
pub(crate) fn ordered(planner: &Planner, ty: SqlType, location: i32) -> SqlResult<()> {
    if has_order(ty) {
        return Ok(());
    }
    let message = format!("could not identify an ordering operator for type {ty}");
    let error = planner.error(SqlState::UNDEFINED_FUNCTION, message, location);
    Err(error.hint("Use an explicit ordering operator or modify the query."))
}

/// Whether values of the type can be told to be equal.
///
/// # Errors
/// `42883` if not.
pub(crate) fn equated(planner: &Planner, ty: SqlType, location: i32) -> SqlResult<()> {
    if has_equality(ty) {
        return Ok(());
    }
    let message = format!("could not identify an equality operator for type {ty}");
    Err(planner.error(SqlState::UNDEFINED_FUNCTION, message, location))
}
