//! What a value must be to be of a domain.
//!
//! Relies on: nothing.  Promises: PostgreSQL's messages and SQLSTATEs for values that are not.  Does not: know any
//! domain; the name here is none that SQL can write, and the binder says what was broken.

use super::{Function, builtin as new, quoted_identifier};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Text};
use quintet_base::error::ErrorObject;
use quintet_base::{SqlError, SqlResult, SqlState, Value};

/// Whether a condition of a domain holds, its schema, its name, and that of the constraint: `""` for NOT NULL.
pub const HOLDS: &str = "domain()";

/// True, unless the condition is false: then the error.
fn holds(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let [condition, schema, domain, constraint] = args else {
        return Err(SqlError::internal("a condition of a domain without a name"));
    };
    if condition.as_bool() != Some(false) {
        return Ok(Value::Bool(true));
    }
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let (domain, constraint) = (word(domain), word(constraint));
    let shown = shown(&word(schema), &domain, host);
    let error = match constraint.as_str() {
        "" => SqlError::new(
            SqlState::NOT_NULL_VIOLATION,
            format!("domain {shown} does not allow null values"),
        ),
        constraint => SqlError::new(
            SqlState::CHECK_VIOLATION,
            format!("value for domain {shown} violates check constraint \"{constraint}\""),
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

/// What messages call a domain: with its schema, unless that is on the search path.
fn shown(schema: &str, domain: &str, host: &dyn Host) -> String {
    let path = host.setting("search_path").unwrap_or_default();
    let is_on = |name: &str| match name.trim().trim_matches('"') {
        "$user" => host.user() == schema,
        name => name == schema,
    };
    match path.split(',').any(is_on) {
        true => quoted_identifier(domain),
        false => format!(
            "{}.{}",
            quoted_identifier(schema),
            quoted_identifier(domain)
        ),
    }
}

pub(super) static FUNCTIONS: &[Function] =
    &[new(HOLDS, &[Bool, Text, Text, Text], Bool, holds).lenient()];
