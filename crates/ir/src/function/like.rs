//! LIKE and ILIKE.
//!
//! Relies on: nothing but text.  Promises: `%` any run, `_` one character, `\` takes the next
//! character literally; the work is at most pattern length × text length, never exponential.
//! Does not: know other escape characters; `like_escape` rewrites such patterns first.

use super::text::lower_case;
use super::{Function, builtin as new, fail, str};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Bpchar, Name, Text};
use quintet_base::{SqlResult, SqlState, Str, Value};

/// What one step of a pattern asks for.
enum Step {
    /// `%`
    Run,
    /// `_`
    One,
    /// This character.
    Literal(char),
}

/// The first step of a pattern and the rest behind it; `None` at its end.
fn step(pattern: &str) -> SqlResult<Option<(Step, &str)>> {
    let mut chars = pattern.chars();
    let Some(first) = chars.next() else {
        return Ok(None);
    };
    let step = match first {
        '%' => Step::Run,
        '_' => Step::One,
        '\\' => match chars.next() {
            Some(c) => Step::Literal(c),
            None => {
                return fail(
                    SqlState::INVALID_ESCAPE_SEQUENCE,
                    "LIKE pattern must not end with escape character",
                );
            }
        },
        c => Step::Literal(c),
    };
    Ok(Some((step, chars.as_str())))
}

/// True if the text matches the pattern.
///
/// Goes forward greedily. A mismatch gives the last `%` one more character and tries again from
/// there; earlier ones need no second look, because they have matched as little as possible.
pub(crate) fn like(text: &str, pattern: &str) -> SqlResult<bool> {
    let (mut text, mut pattern) = (text, pattern);
    let mut last_run: Option<(&str, &str)> = None;
    loop {
        if text.is_empty() {
            // Only runs match nothing; giving an earlier run more text would leave even less.
            return Ok(pattern.bytes().all(|b| b == b'%'));
        }
        let matched = match step(pattern)? {
            Some((Step::Run, rest)) => {
                last_run = Some((text, rest));
                pattern = rest;
                continue;
            }
            None => false,
            Some((wanted, rest)) => {
                let mut chars = text.chars();
                let fits = match (wanted, chars.next()) {
                    (Step::Literal(c), Some(next)) => c == next,
                    _ => true,
                };
                if fits {
                    (text, pattern) = (chars.as_str(), rest);
                }
                fits
            }
        };
        if matched {
            continue;
        }
        let Some((from, rest)) = last_run else {
            return Ok(false);
        };
        let mut chars = from.chars();
        chars.next();
        (text, pattern) = (chars.as_str(), rest);
        last_run = Some((text, rest));
    }
}

pub(super) fn is_like(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    like(str(args[0]), str(args[1])).map(Value::Bool)
}

pub(super) fn is_not_like(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    like(str(args[0]), str(args[1])).map(|matches| Value::Bool(!matches))
}

fn like_any_case(args: &[&Value]) -> SqlResult<bool> {
    like(&lower_case(str(args[0])), &lower_case(str(args[1])))
}

pub(super) fn is_ilike(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    like_any_case(args).map(Value::Bool)
}

pub(super) fn is_not_ilike(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    like_any_case(args).map(|matches| Value::Bool(!matches))
}

/// The pattern with its own escape character rewritten to `\`.
fn like_escape(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (pattern, escape) = (str(args[0]), str(args[1]));
    let mut chars = escape.chars();
    let escape = chars.next();
    if chars.next().is_some() {
        return Err(quintet_base::SqlError::new(
            SqlState::INVALID_ESCAPE_SEQUENCE,
            "invalid escape string",
        )
        .hint("Escape string must be empty or one character."));
    }
    let mut rewritten = Str::default();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            rewritten.push('\\');
            // An escape at the end stays one, so that matching refuses the pattern.
            rewritten.extend(chars.next());
        } else {
            if c == '\\' {
                rewritten.push('\\');
            }
            rewritten.push(c);
        }
    }
    Ok(Value::Text(rewritten))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("~~", &[Text, Text], Bool, is_like),
    new("~~", &[Bpchar, Text], Bool, is_like),
    new("~~", &[Name, Text], Bool, is_like),
    new("!~~", &[Text, Text], Bool, is_not_like),
    new("!~~", &[Bpchar, Text], Bool, is_not_like),
    new("!~~", &[Name, Text], Bool, is_not_like),
    new("~~*", &[Text, Text], Bool, is_ilike),
    new("~~*", &[Bpchar, Text], Bool, is_ilike),
    new("~~*", &[Name, Text], Bool, is_ilike),
    new("!~~*", &[Text, Text], Bool, is_not_ilike),
    new("!~~*", &[Bpchar, Text], Bool, is_not_ilike),
    new("!~~*", &[Name, Text], Bool, is_not_ilike),
    new("like", &[Text, Text], Bool, is_like),
    new("notlike", &[Text, Text], Bool, is_not_like),
    new("like_escape", &[Text, Text], Text, like_escape),
];
