//! Documents out of documents: joining, cutting, setting.

use super::{json, place, str, texts};
use crate::eval::Host;
use crate::function::{fail, int};
use quintet_base::json::{Kind, Node, key_order, parse, write_string};
use quintet_base::{Json, SqlError, SqlResult, SqlState, Str, Value};

fn invalid<T>(message: impl Into<String>) -> SqlResult<T> {
    fail(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// What lists may become when they are put together.
const ELEMENTS_MAX: usize = 4_000_000;

/// Objects by their keys, everything else as lists.
pub(super) fn concatenate(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let list = |json: &Json| match json {
        Json::Array(elements) => elements.clone(),
        other => vec![other.clone()],
    };
    Ok(Value::json(match (json(args[0]), json(args[1])) {
        (Json::Object(left), Json::Object(right)) => {
            Json::object(left.iter().chain(right).cloned().collect())
        }
        (left, right) => {
            let all = [list(left), list(right)].concat();
            if all.len() > ELEMENTS_MAX {
                let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
                return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
            }
            Json::Array(all)
        }
    }))
}

fn without(json: &Json, keys: &[&str]) -> SqlResult<Json> {
    let is_key = |text: &str| keys.contains(&text);
    Ok(match json {
        Json::Object(pairs) => {
            let kept = pairs.iter().filter(|(key, _)| !is_key(key));
            Json::Object(kept.cloned().collect())
        }
        Json::Array(elements) => {
            let kept = elements
                .iter()
                .filter(|element| !matches!(element, Json::Text(text) if is_key(text)));
            Json::Array(kept.cloned().collect())
        }
        _ => return invalid("cannot delete from scalar"),
    })
}

pub(super) fn without_key(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    without(json(args[0]), &[str(args[1])]).map(Value::json)
}

pub(super) fn without_keys(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let keys: Vec<&str> = texts(args[1]).into_iter().flatten().collect();
    without(json(args[0]), &keys).map(Value::json)
}

pub(super) fn without_element(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match json(args[0]) {
        Json::Array(elements) => {
            let mut kept = elements.clone();
            if let Some(at) = quintet_base::json::place_in(kept.len(), int(args[1])) {
                kept.remove(at);
            }
            Ok(Value::json(Json::Array(kept)))
        }
        Json::Object(_) => invalid("cannot delete from object using integer index"),
        _ => invalid("cannot delete from scalar"),
    }
}

/// What happens where a path ends.
enum Change<'j> {
    Delete,
    /// Replaces what is there; creates what is not, if asked.
    Set {
        new: &'j Json,
        create: bool,
    },
    Insert {
        new: &'j Json,
        after: bool,
    },
}

/// The step number `at` of a path.
fn step<'p>(path: &[Option<&'p str>], at: usize) -> SqlResult<&'p str> {
    path[at].ok_or_else(|| {
        SqlError::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            format!("path element at position {} is null", at + 1),
        )
    })
}

fn change(json: &Json, path: &[Option<&str>], at: usize, how: &Change) -> SqlResult<Json> {
    let last = at + 1 == path.len();
    match json {
        Json::Object(pairs) => {
            let key = step(path, at)?;
            let mut pairs = pairs.clone();
            let found = pairs.binary_search_by(|(own, _)| key_order(own, key));
            match (found, how) {
                (Ok(place), _) if !last => {
                    pairs[place].1 = change(&pairs[place].1, path, at + 1, how)?;
                }
                (Ok(place), Change::Delete) => {
                    pairs.remove(place);
                }
                (Ok(place), Change::Set { new, .. }) => pairs[place].1 = (*new).clone(),
                (Ok(_), Change::Insert { .. }) => {
                    return Err(SqlError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        "cannot replace existing key",
                    )
                    .hint("Try using the function jsonb_set to replace key value."));
                }
                (Err(place), Change::Set { new, create: true } | Change::Insert { new, .. })
                    if last =>
                {
                    pairs.insert(place, (Str::from(key), (*new).clone()));
                }
                (Err(_), _) => {}
            }
            Ok(Json::Object(pairs))
        }
        Json::Array(elements) => {
            let text = step(path, at)?;
            let Some(wanted) = place(text) else {
                return fail(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    format!(
                        "path element at position {} is not an integer: \"{text}\"",
                        at + 1
                    ),
                );
            };
            let mut elements = elements.clone();
            let found = quintet_base::json::place_in(elements.len(), wanted);
            match (found, how) {
                (Some(place), _) if !last => {
                    elements[place] = change(&elements[place], path, at + 1, how)?;
                }
                (Some(place), Change::Delete) => {
                    elements.remove(place);
                }
                (Some(place), Change::Set { new, .. }) => elements[place] = (*new).clone(),
                (Some(place), Change::Insert { new, after }) => {
                    elements.insert(place + usize::from(*after), (*new).clone());
                }
                // Outside of the array: at its end or its beginning.
                (None, Change::Set { new, create: true } | Change::Insert { new, .. }) if last => {
                    let place = if wanted < 0 { 0 } else { elements.len() };
                    elements.insert(place, (*new).clone());
                }
                (None, _) => {}
            }
            Ok(Json::Array(elements))
        }
        scalar => Ok(scalar.clone()),
    }
}

fn changed(args: &[&Value], how: &Change, scalar: &str) -> SqlResult<Value> {
    let (json, path) = (json(args[0]), texts(args[1]));
    if json.is_scalar() {
        return invalid(scalar);
    }
    let is_empty = matches!(json, Json::Array(elements) if elements.is_empty())
        || matches!(json, Json::Object(pairs) if pairs.is_empty());
    let creates = !matches!(how, Change::Delete | Change::Set { create: false, .. });
    if path.is_empty() || is_empty && !creates {
        return Ok(args[0].clone());
    }
    change(json, &path, 0, how).map(Value::json)
}

pub(super) fn without_path(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    changed(args, &Change::Delete, "cannot delete path in scalar")
}

pub(super) fn set(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let create = args
        .get(3)
        .is_none_or(|create| create.as_bool() == Some(true));
    let new = json(args[2]);
    changed(
        args,
        &Change::Set { new, create },
        "cannot set path in scalar",
    )
}

/// As [`set`], where the fifth argument says what an SQL NULL for the value does.
pub(super) fn set_lax(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let create = args.get(3).copied();
    if args[0].is_null() || args[1].is_null() || create.is_some_and(Value::is_null) {
        return Ok(Value::Null);
    }
    let treatment = match args.get(4) {
        Some(Value::Null) => {
            let message = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"";
            return invalid(message);
        }
        Some(said) => str(said),
        None => "use_json_null",
    };
    if !args[2].is_null() {
        return set(&args[..args.len().min(4)], host);
    }
    match treatment {
        "raise_exception" => Err(SqlError::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "JSON value must not be null",
        )
        .detail("Exception was raised because null_value_treatment is \"raise_exception\".")
        .hint("To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.")),
        "use_json_null" => {
            let null = Value::json(Json::Null);
            let given = [args[0], args[1], &null];
            set(&[&given, create.as_slice()].concat(), host)
        }
        "delete_key" => without_path(&args[..2], host),
        "return_target" => Ok(args[0].clone()),
        _ => invalid("null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\""),
    }
}

pub(super) fn insert(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let after = args.get(3).and_then(|after| after.as_bool()) == Some(true);
    let new = json(args[2]);
    changed(
        args,
        &Change::Insert { new, after },
        "cannot set path in scalar",
    )
}

fn stripped(json: &Json) -> Json {
    match json {
        Json::Object(pairs) => {
            let kept = pairs.iter().filter(|(_, value)| *value != Json::Null);
            Json::Object(
                kept.map(|(key, value)| (key.clone(), stripped(value)))
                    .collect(),
            )
        }
        Json::Array(elements) => Json::Array(elements.iter().map(stripped).collect()),
        scalar => scalar.clone(),
    }
}

pub(super) fn strip_nulls(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::json(stripped(json(args[0]))))
}

/// A json without blanks and without fields that are null.
fn write_stripped(node: &Node, out: &mut String) -> std::fmt::Result {
    match &node.kind {
        Kind::Object(pairs) => {
            out.push('{');
            let mut first = true;
            for (key, value) in pairs {
                if matches!(value.kind, Kind::Null) {
                    continue;
                }
                if !std::mem::take(&mut first) {
                    out.push(',');
                }
                write_string(key, out)?;
                out.push(':');
                write_stripped(value, out)?;
            }
            out.push('}');
        }
        Kind::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_stripped(element, out)?;
            }
            out.push(']');
        }
        Kind::Text(text) => write_string(text, out)?,
        _ => out.push_str(node.text),
    }
    Ok(())
}

pub(super) fn plain_strip_nulls(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut out = String::new();
    write_stripped(&parse(str(args[0]))?, &mut out).expect("a String takes everything");
    Ok(Value::text(out))
}
