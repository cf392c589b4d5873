//! Conversions between types. (being built)

use crate::eval::Host;
use quintet_base::{SqlError, SqlResult, SqlType, TypeMod, Value};

/// When a conversion happens by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CastContext {
    /// Anywhere.
    Implicit,
    /// When storing into a column.
    Assignment,
    /// Only when written.
    Explicit,
}

/// The weakest context in which `from` converts to `to`; `None`: never.
pub fn cast_context(from: SqlType, to: SqlType) -> Option<CastContext> {
    (from == to).then_some(CastContext::Implicit)
}

/// The type that all of these convert to implicitly, by PostgreSQL's rules for UNION, CASE, IN,
/// COALESCE; `what` names the construct for the message. All unknown gives `Text`.
///
/// # Errors
/// `42804`.
pub fn common_type(types: &[SqlType], what: &str) -> SqlResult<SqlType> {
    let _ = what;
    types.first().copied().ok_or_else(|| SqlError::internal("no types"))
}

/// Converts a value, then applies the modifier.
///
/// # Errors
/// What the target type says about bad input: `22P02`, `22003`, `22001`, `22007` …; `42846`.
pub fn cast(
    value: Value,
    from: SqlType,
    to: SqlType,
    modifier: TypeMod,
    explicit: bool,
    host: &dyn Host,
) -> SqlResult<Value> {
    let _ = (from, to, modifier, explicit, host);
    Ok(value)
}
