//! What the extension `citext` brings: patterns and parts of text without case.
//!
//! Relies on: `like`, `pattern` and `text_edit`, which do it to text.  Promises: what PostgreSQL's functions of these names give for
//! citext.  Does not: compare; values do.

use super::sets::{ONE_ARRAY, ONE_TEXT, SetFunction, set};
use super::text::{lower_case, upper_case};
use super::{Function, builtin as new, int, like, pattern, str, text_edit};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Citext, Int4, RecordArray, Text, TextArray};
use quintet_base::{SqlResult, Value, caseless};

/// The letters that a function of patterns takes: without case, unless they say otherwise.
fn letters(given: Option<&&Value>) -> Value {
    let given = given.map_or("", |given| str(given));
    match given.contains('c') {
        true => Value::text(given),
        false => Value::text(format!("{given}i")),
    }
}

fn first_match(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    pattern::first_match(&[args[0], args[1], &letters(args.get(2))], host)
}

fn all_matches(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    pattern::all_matches(&[args[0], args[1], &letters(args.get(2))], host)
}

fn split(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    pattern::split(&[args[0], args[1], &letters(args.get(2))], host)
}

fn replace_match(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    pattern::replace(&[args[0], args[1], args[2], &letters(args.get(3))], host)
}

/// A pattern that matches this text.
fn quoted(text: &str) -> Value {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() && !(c.is_ascii_alphanumeric() || c == '_') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    Value::text(pattern)
}

/// What stands for the text is read as that of a pattern, backslashes included.
fn replace(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (old, letters) = (quoted(str(args[1])), Value::text("gi"));
    pattern::replace(&[args[0], &old, args[2], &letters], host)
}

/// A part that is not there is NULL, unlike that of text.
fn split_part(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let (separator, letters) = (quoted(str(args[1])), Value::text("i"));
    let parts = pattern::split(&[args[0], &separator, &letters], host)?;
    let (Value::Array(parts), Ok(number)) = (parts, usize::try_from(int(args[2]))) else {
        return Ok(Value::Null);
    };
    let part = number.checked_sub(1).and_then(|at| parts.values.get(at));
    Ok(part.cloned().unwrap_or_default())
}

fn position(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (text, part) = (caseless::fold(str(args[0])), caseless::fold(str(args[1])));
    let at = text.find(part.as_str());
    let at = at.map_or(0, |at| text[..at].chars().count() as i32 + 1);
    Ok(Value::Int4(at))
}

fn translate(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let [lower, upper] = [lower_case, upper_case].map(|map| Value::Text(map(str(args[1]))));
    let once = text_edit::translate(&[args[0], &lower, args[2]], host)?;
    text_edit::translate(&[&once, &upper, args[2]], host)
}

fn compare(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Int4(args[0].order(args[1]) as i32))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("~~", &[Citext, Citext], Bool, like::is_ilike),
    new("~~", &[Citext, Text], Bool, like::is_ilike),
    new("!~~", &[Citext, Citext], Bool, like::is_not_ilike),
    new("!~~", &[Citext, Text], Bool, like::is_not_ilike),
    new("~~*", &[Citext, Citext], Bool, like::is_ilike),
    new("~~*", &[Citext, Text], Bool, like::is_ilike),
    new("!~~*", &[Citext, Citext], Bool, like::is_not_ilike),
    new("!~~*", &[Citext, Text], Bool, like::is_not_ilike),
    new("~", &[Citext, Citext], Bool, pattern::is_match_any_case),
    new("~", &[Citext, Text], Bool, pattern::is_match_any_case),
    new("!~", &[Citext, Citext], Bool, pattern::is_no_match_any_case),
    new("!~", &[Citext, Text], Bool, pattern::is_no_match_any_case),
    new("~*", &[Citext, Citext], Bool, pattern::is_match_any_case),
    new("~*", &[Citext, Text], Bool, pattern::is_match_any_case),
    new(
        "!~*",
        &[Citext, Citext],
        Bool,
        pattern::is_no_match_any_case,
    ),
    new("!~*", &[Citext, Text], Bool, pattern::is_no_match_any_case),
    new("regexp_match", &[Citext, Citext], TextArray, first_match),
    new(
        "regexp_match",
        &[Citext, Citext, Text],
        TextArray,
        first_match,
    ),
    new(
        "regexp_replace",
        &[Citext, Citext, Text],
        Text,
        replace_match,
    ),
    new(
        "regexp_replace",
        &[Citext, Citext, Text, Text],
        Text,
        replace_match,
    ),
    new("regexp_split_to_array", &[Citext, Citext], TextArray, split),
    new(
        "regexp_split_to_array",
        &[Citext, Citext, Text],
        TextArray,
        split,
    ),
    new("replace", &[Citext, Citext, Citext], Text, replace),
    new("split_part", &[Citext, Citext, Int4], Text, split_part),
    new("strpos", &[Citext, Citext], Int4, position),
    new("translate", &[Citext, Citext, Text], Text, translate),
    new("citext_cmp", &[Citext, Citext], Int4, compare),
];

pub(super) static SETS: &[SetFunction] = &[
    set(
        new(
            "regexp_matches",
            &[Citext, Citext],
            RecordArray,
            all_matches,
        ),
        ONE_ARRAY,
    ),
    set(
        new(
            "regexp_matches",
            &[Citext, Citext, Text],
            RecordArray,
            all_matches,
        ),
        ONE_ARRAY,
    ),
    set(
        new("regexp_split_to_table", &[Citext, Citext], TextArray, split),
        ONE_TEXT,
    ),
    set(
        new(
            "regexp_split_to_table",
            &[Citext, Citext, Text],
            TextArray,
            split,
        ),
        ONE_TEXT,
    ),
];
