//! `document['key'][index] := value`.
//!
//! Promises: PostgreSQL's assignment: what the steps lead through is created where it is missing, arrays are
//! filled up with nulls, a scalar in the way is an error.  Does not: know the types of the subscripts; a number
//! comes as its text.

use super::{json, place, texts};
use crate::eval::Host;
use crate::function::fail;
use quintet_base::json::{DEPTH_MAX, key_order};
use quintet_base::{Json, SqlError, SqlResult, SqlState, Str, Value};

/// What arrays may be filled up to.
const ELEMENTS_MAX: i64 = 4_000_000;

/// Document, steps, the new value, and whether the first step is a number: of what a document that is NULL is
/// taken for.
pub(super) fn assign(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let [document, steps, new, of_array] = args else {
        return Err(SqlError::internal(
            "a part of a document is assigned with four arguments",
        ));
    };
    let steps: Option<Vec<&str>> = match steps {
        Value::Null => None,
        steps => texts(steps).into_iter().collect(),
    };
    let Some(steps) = steps else {
        return fail(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "jsonb subscript in assignment must not be null",
        );
    };
    if steps.len() > DEPTH_MAX {
        return fail(
            SqlState::STATEMENT_TOO_COMPLEX,
            "stack depth limit exceeded",
        );
    }
    let new = match new {
        Value::Null => Json::Null,
        new => json(new).clone(),
    };
    let mut whole = match document {
        Value::Null if of_array.as_bool() == Some(true) => Json::Array(Vec::new()),
        Value::Null => Json::Object(Vec::new()),
        document => json(document).clone(),
    };
    set(&mut whole, &steps, 0, new)?;
    Ok(Value::json(whole))
}

/// Puts the new value where the steps from this level on lead.
fn set(json: &mut Json, steps: &[&str], level: usize, new: Json) -> SqlResult<()> {
    let Some(step) = steps.get(level) else {
        *json = new;
        return Ok(());
    };
    let rest = &steps[level + 1..];
    match json {
        Json::Object(pairs) => {
            match pairs.binary_search_by(|(own, _)| key_order(own, step)) {
                Ok(place) => set(&mut pairs[place].1, steps, level + 1, new)?,
                Err(place) => pairs.insert(place, (Str::from(*step), created(rest, new)?)),
            }
            Ok(())
        }
        Json::Array(elements) => {
            let Some(wanted) = place(step) else {
                return fail(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    format!(
                        "path element at position {} is not an integer: \"{step}\"",
                        level + 1
                    ),
                );
            };
            let length = elements.len() as i64;
            let at = if wanted < 0 { wanted + length } else { wanted };
            if at < 0 {
                return fail(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!(
                        "path element at position {} is out of range: {wanted}",
                        level + 1
                    ),
                );
            }
            match elements.get_mut(at as usize) {
                Some(element) => set(element, steps, level + 1, new),
                None => {
                    let new = created(rest, new)?;
                    fill(elements, at)?;
                    elements.push(new);
                    Ok(())
                }
            }
        }
        _ => Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "cannot replace existing key",
        )
        .detail("The path assumes key is a composite object, but it is a scalar value.")),
    }
}

/// Nulls up to a length.
fn fill(elements: &mut Vec<Json>, length: i64) -> SqlResult<()> {
    if length >= ELEMENTS_MAX {
        return fail(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})"),
        );
    }
    if elements.len() < length as usize {
        elements.resize(length as usize, Json::Null);
    }
    Ok(())
}

/// Containers for these steps, with the new value in the innermost; a step that is a number asks for an array.
fn created(steps: &[&str], new: Json) -> SqlResult<Json> {
    steps.iter().rev().try_fold(new, |inner, step| {
        Ok(match place(step) {
            None => Json::Object(vec![(Str::from(*step), inner)]),
            Some(place) => {
                let mut elements = Vec::new();
                fill(&mut elements, place.max(0))?;
                elements.push(inner);
                Json::Array(elements)
            }
        })
    })
}
