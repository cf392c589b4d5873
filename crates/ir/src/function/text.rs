//! Text and bytea: joining, measuring, searching, changing case.
//!
//! Relies on: UTF-8 text; a character is a Unicode scalar value, as PostgreSQL counts under UTF8.
//! Promises: NULL arguments never get here but for `concat` and `concat_ws`, which skip them.
//! Does not: follow a locale: upper and lower map by Unicode, character by character (PostgreSQL
//! under collation "C" maps ASCII only).

use super::{Function, Resolved, builtin as new, does_not_exist, int, is_string, str, wrong_type};
use crate::cast::{Category, category};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Bpchar, Bytea, Int4, Text, Unknown};
use quintet_base::{SqlResult, SqlType, Str, Value, caseless, text_format};

pub(super) fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Bytea(bytes) => bytes,
        other => wrong_type(other),
    }
}

/// A length or position as PostgreSQL's integer; values are far smaller than 2 GiB.
pub(super) fn count(n: usize) -> Value {
    Value::Int4(i32::try_from(n).unwrap_or(i32::MAX))
}

/// Number of characters; ASCII text is counted without decoding.
pub(super) fn characters(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

fn concatenate(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    super::text_edit::bounded(str(args[0]).len() + str(args[1]).len())?;
    let mut text = Str::from(str(args[0]));
    text.push_str(str(args[1]));
    Ok(Value::Text(text))
}

fn concatenate_bytes(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    super::text_edit::bounded(bytes(args[0]).len() + bytes(args[1]).len())?;
    Ok(Value::Bytea(
        [bytes(args[0]), bytes(args[1])].concat().into(),
    ))
}

static CONCATENATE: Function = new("||", &[Text, Text], Text, concatenate);

/// `||` between text and anything but an array: the other side becomes text.
pub(super) fn resolve_concatenation(args: &[SqlType]) -> SqlResult<Resolved> {
    let joins = |ty: SqlType| ty == Unknown || category(ty) != Category::Array;
    match args {
        [left, right]
            if (is_string(*left) || is_string(*right) || args.contains(&Unknown))
                && joins(*left)
                && joins(*right) =>
        {
            Ok(Resolved {
                function: &CONCATENATE,
                args: vec![Text, Text],
                result: Text,
            })
        }
        _ => Err(does_not_exist("||", args)),
    }
}

/// Appends a value of any type as text, as its output function prints it.
fn push_any(text: &mut Str, value: &Value, host: &dyn Host) {
    match value {
        Value::Null => {}
        Value::Text(own) => text.push_str(own),
        other => text.push_str(&text_format::to_string(
            other,
            other.natural_type(),
            host.format(),
        )),
    }
}

pub(super) fn concat(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let mut text = Str::default();
    for value in args {
        push_any(&mut text, value, host);
        super::text_edit::bounded(text.len())?;
    }
    Ok(Value::Text(text))
}

pub(super) fn concat_with_separator(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let separator = str(args[0]);
    let mut text = Str::default();
    for (i, value) in args[1..].iter().filter(|v| !v.is_null()).enumerate() {
        if i > 0 {
            text.push_str(separator);
        }
        push_any(&mut text, value, host);
        super::text_edit::bounded(text.len())?;
    }
    Ok(Value::Text(text))
}

fn length(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(count(characters(str(args[0]))))
}

fn length_unpadded(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(count(characters(str(args[0]).trim_end_matches(' '))))
}

fn octet_length(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(count(match args[0] {
        Value::Bytea(bytes) => bytes.len(),
        other => str(other).len(),
    }))
}

fn bit_length(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(count(match args[0] {
        Value::Bytea(bytes) => bytes.len() * 8,
        other => str(other).len() * 8,
    }))
}

/// Maps each character to one character: what Unicode maps to several stays as it is.
fn map_case<I: ExactSizeIterator<Item = char>>(c: char, map: impl Fn(char) -> I) -> char {
    let mut mapped = map(c);
    match mapped.len() {
        1 => mapped.next().unwrap_or(c),
        _ => c,
    }
}

pub(super) fn lower_case(text: &str) -> Str {
    caseless::fold(text)
}

pub(super) fn upper_case(text: &str) -> Str {
    if text.is_ascii() {
        return Str::from(text.to_ascii_uppercase());
    }
    text.chars()
        .map(|c| map_case(c, char::to_uppercase))
        .collect()
}

fn lower(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Text(lower_case(str(args[0]))))
}

fn upper(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Text(upper_case(str(args[0]))))
}

fn capitalize(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut inside = false;
    let text: Str = str(args[0])
        .chars()
        .map(|c| {
            let mapped = match inside {
                true => map_case(c, char::to_lowercase),
                false => map_case(c, char::to_uppercase),
            };
            inside = c.is_alphanumeric();
            mapped
        })
        .collect();
    Ok(Value::Text(text))
}

/// Where `part` begins in `text`, in characters from 1; 0 if nowhere.
fn position_of(text: &str, part: &str) -> Value {
    match text.find(part) {
        Some(at) => count(characters(&text[..at]) + 1),
        None => Value::Int4(0),
    }
}

fn position(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(position_of(str(args[0]), str(args[1])))
}

fn position_bytes(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (text, part) = (bytes(args[0]), bytes(args[1]));
    if part.is_empty() {
        return Ok(Value::Int4(1));
    }
    let found = text.windows(part.len()).position(|window| window == part);
    Ok(count(found.map_or(0, |at| at + 1)))
}

pub(super) fn starts_with(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(str(args[0]).starts_with(str(args[1]))))
}

fn ascii(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let first = str(args[0]).chars().next();
    Ok(Value::Int4(first.map_or(0, |c| c as i32)))
}

fn get_byte(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (bytes, at) = (bytes(args[0]), int(args[1]));
    match usize::try_from(at).ok().and_then(|at| bytes.get(at)) {
        Some(&byte) => Ok(Value::Int4(i32::from(byte))),
        None => super::fail(
            quintet_base::SqlState::ARRAY_SUBSCRIPT_ERROR,
            format!(
                "index {at} out of valid range, 0..{}",
                bytes.len() as i64 - 1
            ),
        ),
    }
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("||", &[Text, Text], Text, concatenate),
    new("||", &[Bytea, Bytea], Bytea, concatenate_bytes),
    new("concat", &[Unknown], Text, concat)
        .variadic()
        .lenient()
        .stable(),
    new("concat_ws", &[Text, Unknown], Text, concat_with_separator)
        .variadic()
        .lenient()
        .stable(),
    new("length", &[Text], Int4, length),
    new("length", &[Bpchar], Int4, length_unpadded),
    new("length", &[Bytea], Int4, octet_length),
    new("char_length", &[Text], Int4, length),
    new("char_length", &[Bpchar], Int4, length_unpadded),
    new("character_length", &[Text], Int4, length),
    new("character_length", &[Bpchar], Int4, length_unpadded),
    new("octet_length", &[Text], Int4, octet_length),
    new("octet_length", &[Bpchar], Int4, octet_length),
    new("octet_length", &[Bytea], Int4, octet_length),
    new("bit_length", &[Text], Int4, bit_length),
    new("bit_length", &[Bytea], Int4, bit_length),
    new("lower", &[Text], Text, lower),
    new("upper", &[Text], Text, upper),
    new("initcap", &[Text], Text, capitalize),
    new("strpos", &[Text, Text], Int4, position),
    new("position", &[Text, Text], Int4, position),
    new("position", &[Bytea, Bytea], Int4, position_bytes),
    new("starts_with", &[Text, Text], Bool, starts_with),
    new("^@", &[Text, Text], Bool, starts_with),
    new("ascii", &[Text], Int4, ascii),
    new("get_byte", &[Bytea, Int4], Int4, get_byte),
];
