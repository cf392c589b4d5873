//! json_agg and its kin: documents that grow by one value per row.
//!
//! Relies on: arguments that are documents already; the binder makes them so.  Promises: a NULL is
//! `null`, the spelling of PostgreSQL's json.  Does not: see types.

use crate::expr::Expr;
use crate::function::JSON_ROW;
use quintet_base::json::write_string;
use quintet_base::{Json, SqlError, SqlResult, SqlState, SqlType, Str, Value};

/// A document in the making; `None` before the first row.
#[derive(Clone, Debug)]
pub(super) enum Document {
    /// json_agg; each value on a line if it is an array or a row.
    List { out: Option<String>, lines: bool },
    /// jsonb_agg
    Values(Option<Vec<Json>>),
    /// json_object_agg
    Pairs(Option<String>),
    /// jsonb_object_agg
    Object(Option<Vec<(Str, Json)>>),
}

/// True if the argument of json_agg is made of an array or a row.
pub(super) fn is_structured(arg: Option<&Expr>) -> bool {
    let Some(Expr::Call { function, args, .. }) = arg else {
        return false;
    };
    function.name == JSON_ROW
        || args.iter().any(|arg| match arg {
            Expr::Call { .. } => is_structured(Some(arg)) || is_made_of_parts(arg.ty()),
            arg => is_made_of_parts(arg.ty()),
        })
}

/// Arrays and rows.
fn is_made_of_parts(ty: SqlType) -> bool {
    ty.element().is_some() || ty.is_record()
}

fn null_key() -> SqlError {
    SqlError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        "field name must not be null",
    )
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or("null")
}

fn json(value: &Value) -> Json {
    match value {
        Value::Jsonb(json) => (**json).clone(),
        _ => Json::Null,
    }
}

impl Document {
    /// Adds a row's arguments.
    ///
    /// # Errors
    /// `22023` for a key that is NULL.
    pub(super) fn add(&mut self, args: &[Value]) -> SqlResult<()> {
        match (self, args) {
            (Document::List { out, lines }, [value]) => match out {
                None => *out = Some(format!("[{}", plain(value))),
                Some(out) => {
                    out.push_str(if *lines { ", \n " } else { ", " });
                    out.push_str(plain(value));
                }
            },
            (Document::Values(values), [value]) => values.get_or_insert_default().push(json(value)),
            (Document::Pairs(out), [key, value]) => {
                let key = key.as_str().ok_or_else(null_key)?;
                let out = match out {
                    None => out.insert(String::from("{ ")),
                    Some(out) => {
                        out.push_str(", ");
                        out
                    }
                };
                write_string(key, out).expect("a String takes everything");
                out.push_str(" : ");
                out.push_str(plain(value));
            }
            (Document::Object(pairs), [key, value]) => {
                let key = key.as_str().ok_or_else(null_key)?;
                let pairs = pairs.get_or_insert_default();
                pairs.push((Str::from(key), json(value)));
            }
            _ => return Err(SqlError::internal("a document of other arguments")),
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Value {
        match self {
            Document::List { out, .. } => out.map_or(Value::Null, |out| Value::text(out + "]")),
            Document::Values(values) => {
                values.map_or(Value::Null, |values| Value::json(Json::Array(values)))
            }
            Document::Pairs(out) => out.map_or(Value::Null, |out| Value::text(out + " }")),
            Document::Object(pairs) => {
                pairs.map_or(Value::Null, |pairs| Value::json(Json::object(pairs)))
            }
        }
    }
}
