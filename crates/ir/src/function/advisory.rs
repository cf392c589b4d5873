//! Advisory locks and `pg_sleep` within an expression.
//!
//! Relies on: nothing.  Promises: they are strict: of NULL nothing is locked and nobody sleeps, and NULL is what they give.
//! Does not: lock or sleep; an expression cannot wait (`0A000`), and who calls them by themselves asks the session.

use super::{Function, builtin as new};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Float8, Int4, Int8, Void};
use quintet_base::{SqlError, SqlResult, Value};

fn by_itself(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let message = "an advisory lock or pg_sleep within an expression";
    let hint =
        "Call the function by itself: in a select list, or by PERFORM or SELECT INTO in PL/pgSQL.";
    Err(SqlError::unsupported(message).hint(hint))
}

pub(super) const FUNCTIONS: &[Function] = &[
    new("pg_advisory_lock", &[Int8], Void, by_itself).volatile(),
    new("pg_advisory_lock", &[Int4, Int4], Void, by_itself).volatile(),
    new("pg_advisory_lock_shared", &[Int8], Void, by_itself).volatile(),
    new("pg_advisory_lock_shared", &[Int4, Int4], Void, by_itself).volatile(),
    new("pg_advisory_xact_lock", &[Int8], Void, by_itself).volatile(),
    new("pg_advisory_xact_lock", &[Int4, Int4], Void, by_itself).volatile(),
    new("pg_advisory_xact_lock_shared", &[Int8], Void, by_itself).volatile(),
    new(
        "pg_advisory_xact_lock_shared",
        &[Int4, Int4],
        Void,
        by_itself,
    )
    .volatile(),
    new("pg_try_advisory_lock", &[Int8], Bool, by_itself).volatile(),
    new("pg_try_advisory_lock", &[Int4, Int4], Bool, by_itself).volatile(),
    new("pg_try_advisory_lock_shared", &[Int8], Bool, by_itself).volatile(),
    new(
        "pg_try_advisory_lock_shared",
        &[Int4, Int4],
        Bool,
        by_itself,
    )
    .volatile(),
    new("pg_try_advisory_xact_lock", &[Int8], Bool, by_itself).volatile(),
    new("pg_try_advisory_xact_lock", &[Int4, Int4], Bool, by_itself).volatile(),
    new("pg_try_advisory_xact_lock_shared", &[Int8], Bool, by_itself).volatile(),
    new(
        "pg_try_advisory_xact_lock_shared",
        &[Int4, Int4],
        Bool,
        by_itself,
    )
    .volatile(),
    new("pg_advisory_unlock", &[Int8], Bool, by_itself).volatile(),
    new("pg_advisory_unlock", &[Int4, Int4], Bool, by_itself).volatile(),
    new("pg_advisory_unlock_shared", &[Int8], Bool, by_itself).volatile(),
    new("pg_advisory_unlock_shared", &[Int4, Int4], Bool, by_itself).volatile(),
    new("pg_advisory_unlock_all", &[], Void, by_itself).volatile(),
    new("pg_sleep", &[Float8], Void, by_itself).volatile(),
];
