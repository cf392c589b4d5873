//! Regular expressions: `~`, `~*` and the functions on them.
//!
//! Relies on: the `regex` crate, whose matching time is linear in the text.  Promises: the common
//! part of PostgreSQL's syntax: classes, bounds, groups, anchors, `\d \s \w`, `\m \M \y`.
//! Does not: have back references, lookaround or collating elements; such a pattern is refused with
//! 2201B.  Where several alternatives match, the first written wins, not the longest: this shows in
//! `substring` and `regexp_replace` only, never in `~`.

use super::{Function, builtin as new, fail, int, str};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Bpchar, Int4, Name, Text};
use quintet_base::{SqlResult, SqlState, Value};
use regex::{Regex, RegexBuilder};
use std::cell::RefCell;

/// Largest compiled pattern in bytes: the crate's own default, written down.
const COMPILED_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Compiled patterns a thread keeps. A statement has few of them and asks for them once per row.
const CACHED_PATTERNS_MAX: usize = 8;

/// What was asked for, in the order of last use.
type Cache = Vec<((String, bool), Regex)>;

thread_local! {
    static CACHE: RefCell<Cache> = const { RefCell::new(Vec::new()) };
}

/// PostgreSQL's escapes that the crate writes differently.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    // `***:` says that what follows is the usual syntax; it is the usual syntax anyway.
    let mut chars = pattern.strip_prefix("***:").unwrap_or(pattern).chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('m') => out.push_str(r"\b{start}"),
            Some('M') => out.push_str(r"\b{end}"),
            Some('y') => out.push_str(r"\b"),
            Some('Y') => out.push_str(r"\B"),
            Some('Z') => out.push_str(r"\z"),
            Some(next) => out.extend(['\\', next]),
            None => out.push('\\'),
        }
    }
    out
}

fn compile(pattern: &str, any_case: bool) -> SqlResult<Regex> {
    let compiled = RegexBuilder::new(&translate(pattern))
        .case_insensitive(any_case)
        // In PostgreSQL a dot matches a line break, and ^ and $ only the ends of the text.
        .dot_matches_new_line(true)
        .size_limit(COMPILED_BYTES_MAX)
        .build();
    match compiled {
        Ok(regex) => Ok(regex),
        Err(error) => {
            let reason = match &error {
                regex::Error::CompiledTooBig(_) => "regular expression is too complex".to_string(),
                // The crate draws the pattern first; its last line says what is wrong.
                other => other
                    .to_string()
                    .lines()
                    .last()
                    .map_or_else(String::new, |line| {
                        line.trim_start_matches("error: ").to_string()
                    }),
            };
            fail(
                SqlState(*b"2201B"),
                format!("invalid regular expression: {reason}"),
            )
        }
    }
}

/// Runs `body` with the compiled pattern.
fn with<T>(pattern: &str, any_case: bool, body: impl FnOnce(&Regex) -> T) -> SqlResult<T> {
    CACHE.with_borrow_mut(|cache| {
        let known = cache
            .iter()
            .position(|((text, case), _)| text == pattern && *case == any_case);
        match known {
            Some(0) => {}
            Some(at) => cache[..=at].rotate_right(1),
            None => {
                let regex = compile(pattern, any_case)?;
                cache.truncate(CACHED_PATTERNS_MAX - 1);
                cache.insert(0, ((pattern.to_string(), any_case), regex));
            }
        }
        Ok(body(&cache[0].1))
    })
}

fn matches(args: &[&Value], any_case: bool) -> SqlResult<bool> {
    let text = str(args[0]);
    with(str(args[1]), any_case, |regex| regex.is_match(text))
}

fn is_match(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    matches(args, false).map(Value::Bool)
}

fn is_no_match(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    matches(args, false).map(|found| Value::Bool(!found))
}

fn is_match_any_case(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    matches(args, true).map(Value::Bool)
}

fn is_no_match_any_case(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    matches(args, true).map(|found| Value::Bool(!found))
}

/// The part that matches: the first group if the pattern has one, else the whole match.
fn substring(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    with(str(args[1]), false, |regex| {
        let found = regex.captures(text);
        let group = usize::from(regex.captures_len() > 1);
        found
            .and_then(|captures| captures.get(group))
            .map_or(Value::Null, |part| Value::text(part.as_str()))
    })
}

/// A replacement in the crate's syntax: `\1` is a group, `\&` the match, `\\` a backslash.
fn replacement(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('$', _) => out.push_str("$$"),
            ('\\', Some(&digit @ '1'..='9')) => {
                out.push_str(&format!("${{{digit}}}"));
                chars.next();
            }
            ('\\', Some('&')) => {
                out.push_str("${0}");
                chars.next();
            }
            ('\\', Some('\\')) => {
                out.push('\\');
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

fn replace(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (text, by) = (str(args[0]), replacement(str(args[2])));
    let (mut global, mut any_case) = (false, false);
    for flag in args.get(3).copied().map_or("", str).chars() {
        match flag {
            'g' => global = true,
            'i' => any_case = true,
            'c' => any_case = false,
            other => {
                return fail(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("invalid regular expression option: \"{other}\""),
                );
            }
        }
    }
    let limit = usize::from(!global);
    with(str(args[1]), any_case, |regex| {
        Value::text(regex.replacen(text, limit, by.as_str()))
    })
}

fn count(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let start = args.get(2).copied().map_or(1, int);
    if start < 1 {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"start\": {start}"),
        );
    }
    let from = text.char_indices().nth(start as usize - 1);
    let tail = &text[from.map_or(text.len(), |(at, _)| at)..];
    with(str(args[1]), false, |regex| {
        super::text::count(regex.find_iter(tail).count())
    })
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("~", &[Text, Text], Bool, is_match),
    new("~", &[Bpchar, Text], Bool, is_match),
    new("~", &[Name, Text], Bool, is_match),
    new("!~", &[Text, Text], Bool, is_no_match),
    new("!~", &[Bpchar, Text], Bool, is_no_match),
    new("!~", &[Name, Text], Bool, is_no_match),
    new("~*", &[Text, Text], Bool, is_match_any_case),
    new("~*", &[Bpchar, Text], Bool, is_match_any_case),
    new("~*", &[Name, Text], Bool, is_match_any_case),
    new("!~*", &[Text, Text], Bool, is_no_match_any_case),
    new("!~*", &[Bpchar, Text], Bool, is_no_match_any_case),
    new("!~*", &[Name, Text], Bool, is_no_match_any_case),
    new("regexp_like", &[Text, Text], Bool, is_match),
    new("regexp_replace", &[Text, Text, Text], Text, replace),
    new("regexp_replace", &[Text, Text, Text, Text], Text, replace),
    new("regexp_count", &[Text, Text], Int4, count),
    new("regexp_count", &[Text, Text, Int4], Int4, count),
    new("substring", &[Text, Text], Text, substring),
];
