//! `json` and `jsonb`: operators and functions.
//!
//! Relies on: `base::json`.  Promises: PostgreSQL's answers; a `json` keeps its text, so that a part of
//! it is a part of the text.  Does not: know jsonpath, which `function::jsonpath` has.
//!
//! | file | what it holds |
//! |---|---|
//! | here | looking into documents |
//! | `make` | documents out of values |
//! | `edit` | documents out of documents |
//! | `assign` | assignment by subscripts |
//!
//! A `json` argument of a function that takes values of any type comes marked (see [`make`]), since a
//! value does not say whether it is text or JSON.

mod assign;
mod edit;
pub mod make;

use super::{Function, builtin as new, fail, int, str, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Int4, Json as Plain, Jsonb, Text, TextArray};
use quintet_base::json::{Kind, Node, parse, parse_texts};
use quintet_base::{Json, SqlResult, SqlState, Str, Value};

/// A jsonb argument.
pub(super) fn json(value: &Value) -> &Json {
    match value {
        Value::Jsonb(json) => json,
        other => wrong_type(other),
    }
}

/// The texts of a text array; NULLs as `None`.
pub(super) fn texts(value: &Value) -> Vec<Option<&str>> {
    match value {
        Value::Array(array) => array.values.iter().map(Value::as_str).collect(),
        other => wrong_type(other),
    }
}

/// A part as jsonb.
fn part(found: Option<&Json>) -> Value {
    found.map_or(Value::Null, |json| Value::json(json.clone()))
}

/// A part as text: strings without quotes, `null` as NULL.
fn part_text(found: Option<&Json>) -> Value {
    match found {
        None | Some(Json::Null) => Value::Null,
        Some(Json::Text(text)) => Value::Text(text.clone()),
        Some(other) => Value::text(other.to_string()),
    }
}

/// A part of a json.
fn node(found: Option<&Node>) -> Value {
    found.map_or(Value::Null, |node| Value::text(node.text))
}

/// A part of a json as text.
pub(super) fn node_text(found: Option<&Node>) -> Value {
    match found.map(|node| (&node.kind, node.text)) {
        None | Some((Kind::Null, _)) => Value::Null,
        Some((Kind::Text(text), _)) => Value::text(text),
        Some((_, text)) => Value::text(text),
    }
}

fn field(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(part(json(args[0]).get(str(args[1]))))
}

fn field_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(part_text(json(args[0]).get(str(args[1]))))
}

/// The element at a place. A scalar is like an array of itself here, as it is in PostgreSQL.
fn element_of(json: &Json, place: i64) -> Option<&Json> {
    match json.is_scalar() {
        true => matches!(place, 0 | -1).then_some(json),
        false => json.element(place),
    }
}

fn element(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(part(element_of(json(args[0]), int(args[1]))))
}

fn element_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(part_text(element_of(json(args[0]), int(args[1]))))
}

fn plain_field(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(node(parse_texts(str(args[0]))?.get(str(args[1]))))
}

fn plain_field_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(node_text(parse_texts(str(args[0]))?.get(str(args[1]))))
}

fn plain_element(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(node(parse_texts(str(args[0]))?.element(int(args[1]))))
}

fn plain_element_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(node_text(parse_texts(str(args[0]))?.element(int(args[1]))))
}

/// A step of a path as the place in an array.
pub(super) fn place(step: &str) -> Option<i64> {
    step.trim().parse::<i32>().ok().map(i64::from)
}

/// What a path leads to.
fn walk<'j>(json: &'j Json, path: &[Option<&str>]) -> Option<&'j Json> {
    path.iter().try_fold(json, |json, step| match json {
        Json::Array(_) => json.element(place((*step)?)?),
        _ => json.get((*step)?),
    })
}

fn walk_node<'n, 'a>(node: &'n Node<'a>, path: &[Option<&str>]) -> Option<&'n Node<'a>> {
    path.iter().try_fold(node, |node, step| match node.kind {
        Kind::Array(_) => node.element(place((*step)?)?),
        _ => node.get((*step)?),
    })
}

pub(super) fn at_path(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(part(walk(json(args[0]), &texts(args[1]))))
}

pub(super) fn at_path_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(part_text(walk(json(args[0]), &texts(args[1]))))
}

pub(super) fn plain_at_path(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let parsed = parse_texts(str(args[0]))?;
    Ok(node(walk_node(&parsed, &texts(args[1]))))
}

pub(super) fn plain_at_path_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let parsed = parse_texts(str(args[0]))?;
    Ok(node_text(walk_node(&parsed, &texts(args[1]))))
}

/// The steps of a path that is written out as arguments.
fn steps<'v>(args: &[&'v Value]) -> Vec<Option<&'v str>> {
    args[1..].iter().map(|step| step.as_str()).collect()
}

fn extract_path(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(part(walk(json(args[0]), &steps(args))))
}

fn extract_path_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(part_text(walk(json(args[0]), &steps(args))))
}

fn plain_extract_path(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(node(walk_node(&parse_texts(str(args[0]))?, &steps(args))))
}

fn plain_extract_path_text(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(node_text(walk_node(
        &parse_texts(str(args[0]))?,
        &steps(args),
    )))
}

fn contains(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(json(args[0]).contains_document(json(args[1]))))
}

fn is_contained(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    contains(&[args[1], args[0]], host)
}

/// True if a text is a key, an element or the string itself.
fn has(json: &Json, key: &str) -> bool {
    match json {
        Json::Object(_) => json.get(key).is_some(),
        Json::Array(elements) => elements
            .iter()
            .any(|element| matches!(element, Json::Text(text) if text == key)),
        Json::Text(text) => text == key,
        _ => false,
    }
}

fn has_key(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(has(json(args[0]), str(args[1]))))
}

fn has_any(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut keys = texts(args[1]).into_iter().flatten();
    Ok(Value::Bool(keys.any(|key| has(json(args[0]), key))))
}

fn has_all(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut keys = texts(args[1]).into_iter().flatten();
    Ok(Value::Bool(keys.all(|key| has(json(args[0]), key))))
}

fn kind(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(json(args[0]).kind()))
}

fn plain_kind(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(parse(str(args[0]))?.kind()))
}

/// What is no array has no length.
fn no_length(is_object: bool) -> SqlResult<Value> {
    let what = if is_object { "a non-array" } else { "a scalar" };
    fail(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("cannot get array length of {what}"),
    )
}

fn length(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match json(args[0]) {
        Json::Array(elements) => Ok(Value::Int4(elements.len() as i32)),
        other => no_length(!other.is_scalar()),
    }
}

fn plain_length(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match parse(str(args[0]))?.kind {
        Kind::Array(elements) => Ok(Value::Int4(elements.len() as i32)),
        kind => no_length(matches!(kind, Kind::Object(_))),
    }
}

fn pretty(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(json(args[0]).pretty()))
}

/// A string as a key or a value of a document.
pub(super) fn string(text: &str) -> Json {
    Json::Text(Str::from(text))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("->", &[Jsonb, Text], Jsonb, field),
    new("->", &[Jsonb, Int4], Jsonb, element),
    new("->", &[Plain, Text], Plain, plain_field),
    new("->", &[Plain, Int4], Plain, plain_element),
    new("->>", &[Jsonb, Text], Text, field_text),
    new("->>", &[Jsonb, Int4], Text, element_text),
    new("->>", &[Plain, Text], Text, plain_field_text),
    new("->>", &[Plain, Int4], Text, plain_element_text),
    new("#>", &[Jsonb, TextArray], Jsonb, at_path),
    new("#>", &[Plain, TextArray], Plain, plain_at_path),
    new("#>>", &[Jsonb, TextArray], Text, at_path_text),
    new("#>>", &[Plain, TextArray], Text, plain_at_path_text),
    new("jsonb_extract_path", &[Jsonb, Text], Jsonb, extract_path).variadic(),
    new(
        "jsonb_extract_path_text",
        &[Jsonb, Text],
        Text,
        extract_path_text,
    )
    .variadic(),
    new(
        "json_extract_path",
        &[Plain, Text],
        Plain,
        plain_extract_path,
    )
    .variadic(),
    new(
        "json_extract_path_text",
        &[Plain, Text],
        Text,
        plain_extract_path_text,
    )
    .variadic(),
    new("@>", &[Jsonb, Jsonb], Bool, contains),
    new("<@", &[Jsonb, Jsonb], Bool, is_contained),
    new("?", &[Jsonb, Text], Bool, has_key),
    new("?|", &[Jsonb, TextArray], Bool, has_any),
    new("?&", &[Jsonb, TextArray], Bool, has_all),
    new("jsonb_exists", &[Jsonb, Text], Bool, has_key),
    new("jsonb_exists_any", &[Jsonb, TextArray], Bool, has_any),
    new("jsonb_exists_all", &[Jsonb, TextArray], Bool, has_all),
    new("jsonb_typeof", &[Jsonb], Text, kind),
    new("json_typeof", &[Plain], Text, plain_kind),
    new("jsonb_array_length", &[Jsonb], Int4, length),
    new("json_array_length", &[Plain], Int4, plain_length),
    new("jsonb_pretty", &[Jsonb], Text, pretty),
    new("||", &[Jsonb, Jsonb], Jsonb, edit::concatenate),
    new("-", &[Jsonb, Text], Jsonb, edit::without_key),
    new("-", &[Jsonb, Int4], Jsonb, edit::without_element),
    new("-", &[Jsonb, TextArray], Jsonb, edit::without_keys),
    new("#-", &[Jsonb, TextArray], Jsonb, edit::without_path),
    new(
        "jsonb_delete_path",
        &[Jsonb, TextArray],
        Jsonb,
        edit::without_path,
    ),
    new("jsonb_set", &[Jsonb, TextArray, Jsonb], Jsonb, edit::set),
    new(
        "jsonb_set",
        &[Jsonb, TextArray, Jsonb, Bool],
        Jsonb,
        edit::set,
    ),
    new(
        "jsonb_set_lax",
        &[Jsonb, TextArray, Jsonb],
        Jsonb,
        edit::set_lax,
    )
    .lenient(),
    new(
        "jsonb_set_lax",
        &[Jsonb, TextArray, Jsonb, Bool],
        Jsonb,
        edit::set_lax,
    )
    .lenient(),
    new(
        "jsonb_set_lax",
        &[Jsonb, TextArray, Jsonb, Bool, Text],
        Jsonb,
        edit::set_lax,
    )
    .lenient(),
    new(
        "jsonb_insert",
        &[Jsonb, TextArray, Jsonb],
        Jsonb,
        edit::insert,
    ),
    new(
        "jsonb_insert",
        &[Jsonb, TextArray, Jsonb, Bool],
        Jsonb,
        edit::insert,
    ),
    new(
        "[jsonb]:=",
        &[Jsonb, TextArray, Jsonb, Bool],
        Jsonb,
        assign::assign,
    )
    .lenient(),
    new("jsonb_strip_nulls", &[Jsonb], Jsonb, edit::strip_nulls),
    new("json_strip_nulls", &[Plain], Plain, edit::plain_strip_nulls),
];
