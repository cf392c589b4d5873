//! What an expression means. (being built)

use crate::expr::Expr;
use quintet_base::text_format::FormatContext;
use quintet_base::{SequenceId, SqlError, SqlResult, Value};

/// What expressions may ask of the session that runs them.
pub trait Host {
    /// now(): when the transaction began, microseconds since 2000-01-01 UTC.
    fn transaction_time(&self) -> i64;
    /// statement_timestamp().
    fn statement_time(&self) -> i64;
    /// clock_timestamp().
    fn clock_time(&self) -> i64;
    /// Zone and float digits for text conversions.
    fn format(&self) -> &FormatContext;
    /// current_setting(name).
    fn setting(&self, name: &str) -> Option<String>;
    /// current_user.
    fn user(&self) -> &str;
    /// current_database().
    fn database(&self) -> &str;
    /// current_schema().
    fn schema(&self) -> &str;
    /// 64 random bits.
    fn random(&self) -> u64;
    /// nextval.
    fn nextval(&self, sequence: SequenceId) -> SqlResult<i64>;
    /// currval: what nextval gave this session last; `55000` if it never did.
    fn currval(&self, sequence: SequenceId) -> SqlResult<i64>;
    /// setval.
    fn setval(&self, sequence: SequenceId, value: i64, is_called: bool) -> SqlResult<i64>;
    /// pg_backend_pid().
    fn process_id(&self) -> i32;
}

/// Evaluates an expression over a frame and the parameters.
///
/// # Errors
/// Whatever the functions in it say: `22012`, `22003`, `22P02` …
pub fn eval(expr: &Expr, frame: &[Value], params: &[Value], host: &dyn Host) -> SqlResult<Value> {
    let _ = (expr, frame, params, host);
    Err(SqlError::internal("being built"))
}

/// Evaluates a predicate: true only if it is TRUE (not NULL).
///
/// # Errors
/// As [`eval`].
pub fn eval_predicate(expr: &Expr, frame: &[Value], params: &[Value], host: &dyn Host) -> SqlResult<bool> {
    Ok(eval(expr, frame, params, host)?.as_bool() == Some(true))
}
