//! `tsvector` and `tsquery` as values.
//!
//! Relies on: `quintet_textsearch`, which knows what they are.  Promises: a value of either type is the bytes that its `to_bytes` wrote,
//! so that values compare, and are keys, as bytes are.  Does not: tell the two apart; their type does.

use crate::error::{SqlError, SqlResult, SqlState};
use crate::types::SqlType;
use crate::value::Value;
pub use quintet_textsearch as textsearch;
use quintet_textsearch::{Config, Error, Query, Vector, make};

/// What a client is told of an error.
pub fn told(error: Error) -> SqlError {
    let state = match error {
        Error::Syntax(_) => SqlState::SYNTAX_ERROR,
        Error::TooLong(_) => SqlState::PROGRAM_LIMIT_EXCEEDED,
        Error::Invalid(_) => SqlState::INVALID_PARAMETER_VALUE,
        Error::Malformed(_) => SqlState::INTERNAL_ERROR,
        Error::Number(_) => SqlState::INVALID_TEXT_REPRESENTATION,
    };
    SqlError::new(state, error.to_string())
}

/// The configuration with this name, with its schema or without.
///
/// # Errors
/// `42704` if there is none.
pub fn config_named(name: &str) -> SqlResult<Config> {
    let bare = name.strip_prefix("pg_catalog.").unwrap_or(name);
    Config::by_name(bare.trim_matches('"')).ok_or_else(|| {
        SqlError::new(
            SqlState::UNDEFINED_OBJECT,
            format!("text search configuration \"{name}\" does not exist"),
        )
    })
}

/// A vector as a value.
pub fn vector_value(vector: &Vector) -> Value {
    Value::Bytea(vector.to_bytes().into())
}

/// A query as a value.
pub fn query_value(query: &Query) -> Value {
    Value::Bytea(query.to_bytes().into())
}

/// The vector that a value is; nothing if it is none.
pub fn vector_of(bytes: &[u8]) -> Vector {
    Vector::from_bytes(bytes).unwrap_or_default()
}

/// The query that a value is; nothing if it is none.
pub fn query_of(bytes: &[u8]) -> Query {
    Query::from_bytes(bytes).unwrap_or_default()
}

/// Reads the text of a value.
pub(crate) fn read(ty: SqlType, text: &str) -> SqlResult<Value> {
    Ok(match ty {
        SqlType::TsVector => vector_value(&Vector::parse(text).map_err(told)?),
        _ => query_value(&make::plain_query(text).map_err(told)?.query),
    })
}

/// Appends the text of a value.
pub(crate) fn write(ty: SqlType, bytes: &[u8], out: &mut Vec<u8>) {
    let text = match ty {
        SqlType::TsVector => vector_of(bytes).to_string(),
        _ => query_of(bytes).to_string(),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Appends a value for the binary protocol.
pub(crate) fn send(ty: SqlType, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&match ty {
        SqlType::TsVector => vector_of(bytes).send(),
        _ => query_of(bytes).send(),
    });
}

/// Reads what a client sent.
pub(crate) fn receive(ty: SqlType, bytes: &[u8]) -> SqlResult<Value> {
    Ok(match ty {
        SqlType::TsVector => vector_value(&Vector::receive(bytes).map_err(told)?),
        _ => query_value(&Query::receive(bytes).map_err(told)?),
    })
}
