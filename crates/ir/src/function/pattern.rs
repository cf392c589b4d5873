//! Regular expressions: `~`, `~*` and the functions on them.
//!
//! Relies on: the `regex` crate, whose matching time is linear in the text.  Promises: the common
//! part of PostgreSQL's syntax: classes, bounds, groups, anchors, `\d \s \w`, `\m \M \y`.
//! Does not: have back references, lookaround or collating elements; such a pattern is refused with
//! 2201B.  Where several alternatives match, the first written wins, not the longest: this shows in
//! `substring` and `regexp_replace` only, never in `~`.

use super::sets::row_of;
use super::{Function, builtin as new, fail, int, str};
use crate::eval::Host;
use quintet_base::SqlType::{self, Bool, Bpchar, Int4, Name, Text, TextArray};
use quintet_base::value::Array;
use quintet_base::{SqlResult, SqlState, Value};
use regex::{Regex, RegexBuilder};
use std::cell::RefCell;

/// Largest compiled pattern in bytes: the crate's own default, written down.
const COMPILED_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Compiled patterns a thread keeps. A statement has few of them and asks for them once per row.
const CACHED_PATTERNS_MAX: usize = 8;

/// How a pattern is read, and how often it is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Options {
    any_case: bool,
    /// ^ and $ match at line breaks, which a dot does not.
    lines: bool,
    /// Blanks and comments in the pattern mean nothing.
    expanded: bool,
    /// The pattern is a plain text.
    literal: bool,
    /// Everywhere, not once.
    global: bool,
}

impl Options {
    /// The letters that functions take.
    fn parse(letters: &str) -> SqlResult<Options> {
        let mut options = Options::default();
        for letter in letters.chars() {
            match letter {
                'g' => options.global = true,
                'i' => options.any_case = true,
                'c' => options.any_case = false,
                'n' | 'm' => options.lines = true,
                's' => options.lines = false,
                'x' => options.expanded = true,
                't' => options.expanded = false,
                'q' => options.literal = true,
                'e' => {}
                other => {
                    return fail(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("invalid regular expression option: \"{other}\""),
                    );
                }
            }
        }
        Ok(options)
    }
}

/// What was asked for, in the order of last use.
type Cache = Vec<((String, Options), Regex)>;

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

fn compile(pattern: &str, options: Options) -> SqlResult<Regex> {
    let translated = match options.literal {
        true => regex::escape(pattern),
        false => translate(pattern),
    };
    let compiled = RegexBuilder::new(&translated)
        .case_insensitive(options.any_case)
        // In PostgreSQL a dot matches a line break, and ^ and $ only the ends of the text.
        .dot_matches_new_line(!options.lines)
        .multi_line(options.lines)
        .ignore_whitespace(options.expanded)
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
    let options = Options {
        any_case,
        ..Options::default()
    };
    with_options(pattern, options, body)
}

fn with_options<T>(
    pattern: &str,
    options: Options,
    body: impl FnOnce(&Regex) -> T,
) -> SqlResult<T> {
    let options = Options {
        global: false,
        ..options
    };
    CACHE.with_borrow_mut(|cache| {
        let known = cache
            .iter()
            .position(|((text, read), _)| text == pattern && *read == options);
        match known {
            Some(0) => {}
            Some(at) => cache[..=at].rotate_right(1),
            None => {
                let regex = compile(pattern, options)?;
                cache.truncate(CACHED_PATTERNS_MAX - 1);
                cache.insert(0, ((pattern.to_string(), options), regex));
            }
        }
        Ok(body(&cache[0].1))
    })
}

fn matches(args: &[&Value], any_case: bool) -> SqlResult<bool> {
    let text = str(args[0]);
    with(str(args[1]), any_case, |regex| regex.is_match(text))
}

pub(super) fn is_match(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    matches(args, false).map(Value::Bool)
}

pub(super) fn is_no_match(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    matches(args, false).map(|found| Value::Bool(!found))
}

pub(super) fn is_match_any_case(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    matches(args, true).map(Value::Bool)
}

pub(super) fn is_no_match_any_case(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
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

/// A place in characters, counted from 1, as a place in bytes; the end for one behind it.
fn byte_at(text: &str, start: i64) -> SqlResult<usize> {
    if start < 1 {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"start\": {start}"),
        );
    }
    let from = text.char_indices().nth(start as usize - 1);
    Ok(from.map_or(text.len(), |(at, _)| at))
}

fn replace(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (text, by) = (str(args[0]), replacement(str(args[2])));
    let options = Options::parse(args.get(3).copied().map_or("", str))?;
    let limit = usize::from(!options.global);
    with_options(str(args[1]), options, |regex| {
        Value::text(regex.replacen(text, limit, by.as_str()))
    })
}

/// From a place on, and only the match of a number; 0 is all.
fn replace_from(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (text, by) = (str(args[0]), replacement(str(args[2])));
    let from = byte_at(text, int(args[3]))?;
    let wanted = args.get(4).copied().map(int);
    if let Some(wanted) = wanted.filter(|n| *n < 0) {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"n\": {wanted}"),
        );
    }
    let options = Options::parse(args.get(5).copied().map_or("", str))?;
    let wanted = wanted.unwrap_or(i64::from(!options.global));
    with_options(str(args[1]), options, |regex| {
        let mut out = String::from(&text[..from]);
        let mut copied = from;
        for (at, found) in regex.captures_iter(&text[from..]).enumerate() {
            let Some(whole) = found.get(0) else { continue };
            if wanted != 0 && at as i64 + 1 != wanted {
                continue;
            }
            out.push_str(&text[copied..from + whole.start()]);
            found.expand(&by, &mut out);
            copied = from + whole.end();
        }
        out.push_str(&text[copied..]);
        Value::text(out)
    })
}

fn count(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let from = byte_at(text, args.get(2).copied().map_or(1, int))?;
    let options = Options::parse(args.get(3).copied().map_or("", str))?;
    with_options(str(args[1]), options, |regex| {
        super::text::count(regex.find_iter(&text[from..]).count())
    })
}

fn is_like_with(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let options = Options::parse(str(args[2]))?;
    with_options(str(args[1]), options, |regex| {
        Value::Bool(regex.is_match(str(args[0])))
    })
}

/// The match of a number, from a place on.
fn substring_number(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let from = byte_at(text, args.get(2).copied().map_or(1, int))?;
    let wanted = args.get(3).copied().map_or(1, int);
    let options = Options::parse(args.get(4).copied().map_or("", str))?;
    let Some(skipped) = usize::try_from(wanted - 1).ok() else {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"n\": {wanted}"),
        );
    };
    with_options(str(args[1]), options, |regex| {
        let found = regex.find_iter(&text[from..]).nth(skipped);
        found.map_or(Value::Null, |found| Value::text(found.as_str()))
    })
}

/// The groups of a match, or the whole of it.
fn groups(found: &regex::Captures) -> Vec<Value> {
    let first = usize::from(found.len() > 1);
    let group = |at| {
        found
            .get(at)
            .map_or(Value::Null, |part| Value::text(part.as_str()))
    };
    (first..found.len()).map(group).collect()
}

fn texts(values: Vec<Value>) -> Value {
    Value::Array(Box::new(Array {
        element: SqlType::Text,
        values,
    }))
}

fn first_match(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let options = Options::parse(args.get(2).copied().map_or("", str))?;
    if options.global {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            "regexp_match() does not support the \"global\" option",
        );
    }
    with_options(str(args[1]), options, |regex| {
        let found = regex.captures(str(args[0]));
        found.map_or(Value::Null, |found| texts(groups(&found)))
    })
}

/// `regexp_matches`: a row for each match.
pub(super) fn all_matches(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let options = Options::parse(args.get(2).copied().map_or("", str))?;
    let limit = if options.global { usize::MAX } else { 1 };
    with_options(str(args[1]), options, |regex| {
        let found = regex.captures_iter(str(args[0])).take(limit);
        Value::Array(Box::new(Array {
            element: SqlType::Record,
            values: found.map(|found| row_of(groups(&found))).collect(),
        }))
    })
}

/// The parts between matches. An empty match at an end, or behind another match, is none.
pub(super) fn split(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let options = Options::parse(args.get(2).copied().map_or("", str))?;
    if options.global {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            "regexp_split_to_array() does not support the \"global\" option",
        );
    }
    let text = str(args[0]);
    with_options(str(args[1]), options, |regex| {
        let mut parts = Vec::new();
        let mut begun = 0;
        for found in regex.find_iter(text) {
            if found.start() >= text.len() || found.end() <= begun {
                continue;
            }
            parts.push(Value::text(&text[begun..found.start()]));
            begun = found.end();
        }
        parts.push(Value::text(&text[begun..]));
        texts(parts)
    })
}

/// The regular expression of a SIMILAR TO pattern.
fn similar(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let escape = match args.get(1) {
        None => Some('\\'),
        Some(escape) => {
            let mut chars = str(escape).chars();
            match (chars.next(), chars.next()) {
                (first, None) => first,
                _ => {
                    return fail(SqlState(*b"22019"), "invalid escape string");
                }
            }
        }
    };
    let mut out = String::from("^(?:");
    let mut in_brackets = false;
    let mut chars = str(args[0]).chars();
    while let Some(c) = chars.next() {
        match c {
            c if Some(c) == escape => {
                if let Some(next) = chars.next() {
                    out.push_str(&regex::escape(next.encode_utf8(&mut [0; 4])));
                }
            }
            _ if in_brackets => {
                in_brackets = c != ']';
                match c {
                    '\\' | '[' => out.extend(['\\', c]),
                    c => out.push(c),
                }
            }
            '[' => {
                in_brackets = true;
                out.push('[');
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '\\' | '.' | '^' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push_str(")$");
    Ok(Value::text(out))
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
    new("regexp_like", &[Text, Text, Text], Bool, is_like_with),
    new("regexp_match", &[Text, Text], TextArray, first_match),
    new("regexp_match", &[Text, Text, Text], TextArray, first_match),
    new("regexp_split_to_array", &[Text, Text], TextArray, split),
    new(
        "regexp_split_to_array",
        &[Text, Text, Text],
        TextArray,
        split,
    ),
    new("regexp_substr", &[Text, Text], Text, substring_number),
    new("regexp_substr", &[Text, Text, Int4], Text, substring_number),
    new(
        "regexp_substr",
        &[Text, Text, Int4, Int4],
        Text,
        substring_number,
    ),
    new(
        "regexp_substr",
        &[Text, Text, Int4, Int4, Text],
        Text,
        substring_number,
    ),
    new("similar_to_escape", &[Text], Text, similar),
    new("similar_to_escape", &[Text, Text], Text, similar),
    new(
        "regexp_replace",
        &[Text, Text, Text, Int4],
        Text,
        replace_from,
    ),
    new(
        "regexp_replace",
        &[Text, Text, Text, Int4, Int4],
        Text,
        replace_from,
    ),
    new(
        "regexp_replace",
        &[Text, Text, Text, Int4, Int4, Text],
        Text,
        replace_from,
    ),
    new("regexp_count", &[Text, Text, Int4, Text], Int4, count),
    new("regexp_replace", &[Text, Text, Text], Text, replace),
    new("regexp_replace", &[Text, Text, Text, Text], Text, replace),
    new("regexp_count", &[Text, Text], Int4, count),
    new("regexp_count", &[Text, Text, Int4], Int4, count),
    new("substring", &[Text, Text], Text, substring),
];
