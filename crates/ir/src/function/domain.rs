//! What a value must be to be of a domain.
//!
//! Relies on: nothing.  Promises: PostgreSQL's messages and SQLSTATEs for values that are not.  Does not: know any
//! domain; the name here is none that SQL can write, and the binder says what was broken.

use super::{Function, builtin as new};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Text};
use quintet_base::error::ErrorObject;
use quintet_base::{SqlError, SqlResult, SqlState, Value};

/// Whether a condition of a domain holds, its schema, its name, and that of the constraint: `""` for NOT NULL.
pub const HOLDS: &str = "domain()";

/// True, unless the condition is false: then the error.
fn holds(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let [condition, schema, domain, constraint] = args else {
        return Err(SqlError::internal("a condition of a domain without a name"));
    };
    if condition.as_bool() != Some(false) {
        return Ok(Value::Bool(true));
    }
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let (domain, constraint) = (word(domain), word(constraint));
    let error = match constraint.as_str() {
        "" => SqlError::new(
            SqlState::NOT_NULL_VIOLATION,
            format!("domain {domain} does not allow null values"),
        ),
        constraint => SqlError::new(
            SqlState::CHECK_VIOLATION,
            format!("value for domain {domain} violates check constraint \"{constraint}\""),
        ),
    };
    Err(error.about(ErrorObject {
        schema: Some(word(schema)),
        table: None,
        column: None,
        constraint: Some(constraint).filter(|name| !name.is_empty()),
        data_type: Some(domain),
    }))
}

pub(super) static FUNCTIONS: &[Function] =
    &[new(HOLDS, &[Bool, Text, Text, Text], Bool, holds).lenient()];
