//! Regular expressions: `~`, `~*` and the functions on them.
//!
//! Relies on: `compiled` for patterns and the order of matches.  Promises: a thread compiles a
//! pattern once for all rows of a statement.  Does not: have collating elements; such a pattern is
//! refused with 2201B.  Where several alternatives match, the first written wins, not the longest:
//! this shows in `substring` and `regexp_replace` only, never in `~`.

mod compiled;
mod required;

pub(crate) use required::{Required, required};

use self::compiled::{Found, Pattern};
use super::sets::row_of;
use super::{Function, builtin as new, fail, int, str};
use crate::eval::Host;
use quintet_base::SqlType::{self, Bool, Bpchar, Int4, Name, Text, TextArray};
use quintet_base::jsonpath::{JsonPath, Like};
use quintet_base::value::Array;
use quintet_base::{SqlResult, SqlState, Value};
use std::cell::RefCell;

/// Compiled patterns a thread keeps. A statement has few of them and asks for them once per row.
const CACHED_PATTERNS_MAX: usize = 8;

/// How a pattern is read, and how often it is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Options {
    any_case: bool,
    /// ^ and $ match at line breaks, which a dot does not.
    lines: bool,
    /// A dot does not match a line break.
    dots_stop: bool,
    /// ^ and $ match at line breaks.
    anchors_in_lines: bool,
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
        Options::default().with(letters)
    }

    fn with(self, letters: &str) -> SqlResult<Options> {
        let mut options = self;
        for letter in letters.chars() {
            match letter {
                'g' => options.global = true,
                'i' => options.any_case = true,
                'c' => options.any_case = false,
                'n' | 'm' => options.lines = true,
                'p' => (options.dots_stop, options.anchors_in_lines) = (true, false),
                'w' => (options.dots_stop, options.anchors_in_lines) = (false, true),
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
type Cache = Vec<((String, Options), Pattern)>;

thread_local! {
    static CACHE: RefCell<Cache> = const { RefCell::new(Vec::new()) };
}

/// Runs `body` with the compiled pattern.
fn with<T>(
    pattern: &str,
    any_case: bool,
    body: impl FnOnce(&Pattern) -> SqlResult<T>,
) -> SqlResult<T> {
    let options = Options {
        any_case,
        ..Options::default()
    };
    with_options(pattern, options, body)
}

fn with_options<T>(
    pattern: &str,
    options: Options,
    body: impl FnOnce(&Pattern) -> SqlResult<T>,
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
                let compiled = Pattern::compile(pattern, options)?;
                cache.truncate(CACHED_PATTERNS_MAX - 1);
                cache.insert(0, ((pattern.to_string(), options), compiled));
            }
        }
        body(&cache[0].1)
    })
}

fn matches(args: &[&Value], any_case: bool) -> SqlResult<bool> {
    let text = str(args[0]);
    with(str(args[1]), any_case, |pattern| pattern.is_match(text))
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
    with(str(args[1]), false, |pattern| {
        let found = pattern.find_at(text, 0)?;
        let part = found.and_then(|found| found.group(text, found.count().min(1)));
        Ok(part.map_or(Value::Null, Value::text))
    })
}

/// Appends a replacement: `\1` is a group, `\&` the match, `\\` a backslash.
fn expand(by: &str, text: &str, found: &Found, out: &mut String) {
    let mut chars = by.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().filter(|_| c == '\\');
        let group = match next {
            Some('&') => Some(0),
            Some(digit @ '1'..='9') => digit.to_digit(10),
            _ => None,
        };
        if let Some(group) = group {
            out.push_str(found.group(text, group as usize).unwrap_or_default());
            chars.next();
            continue;
        }
        out.push(c);
        if next == Some('\\') {
            chars.next();
        }
    }
}

/// A parameter that counts from a least value.
fn counted(name: &str, value: Option<&&Value>, least: i64, missing: i64) -> SqlResult<i64> {
    let value = value.map_or(missing, |value| int(value));
    match value >= least {
        true => Ok(value),
        false => fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"{name}\": {value}"),
        ),
    }
}

/// The options of a function that looks for one match only.
fn options_for_one(function: &str, letters: Option<&&Value>) -> SqlResult<Options> {
    let options = Options::parse(letters.map_or("", |letters| str(letters)))?;
    match options.global {
        false => Ok(options),
        true => fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("{function}() does not support the \"global\" option"),
        ),
    }
}

/// The place in bytes of a parameter that says where to begin, in characters from 1; `None` behind
/// the end.
fn start(text: &str, parameter: Option<&&Value>) -> SqlResult<Option<usize>> {
    let start = counted("start", parameter, 1, 1)?;
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    Ok(usize::try_from(start - 1)
        .ok()
        .and_then(|at| places.nth(at)))
}

pub(super) fn replace(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let options = Options::parse(args.get(3).map_or("", |letters| str(letters)))?;
    let wanted = i64::from(!options.global);
    replaced(
        (str(args[0]), Some(0)),
        str(args[1]),
        str(args[2]),
        wanted,
        options,
    )
}

/// From a place on, and only the match of a number; 0 is all.
fn replace_from(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let from = start(text, args.get(3))?;
    let options = Options::parse(args.get(5).map_or("", |letters| str(letters)))?;
    let wanted = counted("n", args.get(4), 0, i64::from(!options.global))?;
    replaced((text, from), str(args[1]), str(args[2]), wanted, options)
}

fn replaced(
    (text, from): (&str, Option<usize>),
    pattern: &str,
    by: &str,
    wanted: i64,
    options: Options,
) -> SqlResult<Value> {
    with_options(pattern, options, |pattern| {
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        let mut number = 0;
        for found in from.into_iter().flat_map(|from| pattern.all(text, from)) {
            let found = found?;
            number += 1;
            if wanted != 0 && number != wanted {
                continue;
            }
            let whole = found.whole();
            out.push_str(&text[copied..whole.start]);
            expand(by, text, &found, &mut out);
            copied = whole.end;
            if wanted != 0 {
                break;
            }
        }
        out.push_str(&text[copied..]);
        Ok(Value::text(out))
    })
}

fn count(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let from = start(text, args.get(2))?;
    let options = options_for_one("regexp_count", args.get(3))?;
    with_options(str(args[1]), options, |pattern| {
        let mut count = 0;
        for found in from.into_iter().flat_map(|from| pattern.all(text, from)) {
            found?;
            count += 1;
        }
        Ok(super::text::count(count))
    })
}

fn is_like_with(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let options = options_for_one("regexp_like", args.get(2))?;
    with_options(str(args[1]), options, |pattern| {
        pattern.is_match(str(args[0])).map(Value::Bool)
    })
}

/// The match of a number, from a place on.
fn numbered(
    pattern: &Pattern,
    text: &str,
    from: Option<usize>,
    number: i64,
) -> SqlResult<Option<Found>> {
    let mut all = from.into_iter().flat_map(|from| pattern.all(text, from));
    usize::try_from(number - 1)
        .ok()
        .and_then(|skipped| all.nth(skipped))
        .transpose()
}

/// The match of a number, or one of its groups.
fn substring_number(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let from = start(text, args.get(2))?;
    let wanted = counted("n", args.get(3), 1, 1)?;
    let options = options_for_one("regexp_substr", args.get(4))?;
    let group = counted("subexpr", args.get(5), 0, 0)? as usize;
    with_options(str(args[1]), options, |pattern| {
        let found = numbered(pattern, text, from, wanted)?;
        let part = found.and_then(|found| found.group(text, group));
        Ok(part.map_or(Value::Null, Value::text))
    })
}

/// Where the match of a number begins, or what is behind it, in characters from 1; 0 if there is
/// none.
fn place(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let from = start(text, args.get(2))?;
    let wanted = counted("n", args.get(3), 1, 1)?;
    let behind = counted("endoption", args.get(4), 0, 0)?;
    if behind > 1 {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"endoption\": {behind}"),
        );
    }
    let options = options_for_one("regexp_instr", args.get(5))?;
    let group = counted("subexpr", args.get(6), 0, 0)? as usize;
    with_options(str(args[1]), options, |pattern| {
        let found = numbered(pattern, text, from, wanted)?;
        let range = found.and_then(|found| found.range(group));
        let at = range.map(|range| if behind == 1 { range.end } else { range.start });
        let place = at.map_or(0, |at| text[..at].chars().count() + 1);
        Ok(super::text::count(place))
    })
}

/// The groups of a match, or the whole of it.
fn groups(text: &str, found: &Found) -> Vec<Value> {
    let group = |number| found.group(text, number).map_or(Value::Null, Value::text);
    (found.count().min(1)..=found.count()).map(group).collect()
}

fn texts(values: Vec<Value>) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Text,
        values,
    }))
}

pub(super) fn first_match(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let options = options_for_one("regexp_match", args.get(2))?;
    with_options(str(args[1]), options, |pattern| {
        let found = pattern.find_at(text, 0)?;
        Ok(found.map_or(Value::Null, |found| texts(groups(text, &found))))
    })
}

/// `regexp_matches`: a row for each match.
pub(super) fn all_matches(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let options = Options::parse(args.get(2).map_or("", |letters| str(letters)))?;
    let limit = if options.global { usize::MAX } else { 1 };
    with_options(str(args[1]), options, |pattern| {
        let rows = pattern
            .all(text, 0)
            .take(limit)
            .map(|found| Ok(row_of(groups(text, &found?))));
        Ok(Value::Array(Box::new(Array {
            shape: None,
            element: SqlType::Record,
            values: rows.collect::<SqlResult<_>>()?,
        })))
    })
}

/// The parts between matches. An empty match at an end, or behind another match, is none.
pub(super) fn split(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let options = options_for_one("regexp_split_to_array", args.get(2))?;
    let text = str(args[0]);
    with_options(str(args[1]), options, |pattern| {
        let mut parts = Vec::new();
        let mut begun = 0;
        for found in pattern.all(text, 0) {
            let whole = found?.whole();
            if whole.start >= text.len() || whole.end <= begun {
                continue;
            }
            parts.push(Value::text(&text[begun..whole.start]));
            begun = whole.end;
        }
        parts.push(Value::text(&text[begun..]));
        Ok(texts(parts))
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
                    return fail(SqlState(*b"22025"), "invalid escape string");
                }
            }
        }
    };
    let mut out = String::from("^(?:");
    let mut in_brackets = false;
    // Of a pattern in three parts the second is what is wanted, and the first takes as little as it
    // can.
    let mut parts = 1;
    let mut chars = str(args[0]).chars();
    while let Some(c) = chars.next() {
        match c {
            c if Some(c) == escape => match chars.next() {
                Some('"') => {
                    parts += 1;
                    match parts {
                        2 => {
                            out.replace_range(.."^(?:".len(), "^(?U:");
                            out.push_str(")(");
                        }
                        3 => out.push_str(")(?:"),
                        _ => {
                            return fail(
                                SqlState(*b"2200C"),
                                "SQL regular expression may not contain more than two \
                                 escape-double-quote separators",
                            );
                        }
                    }
                }
                Some(next) => out.push_str(&regex::escape(next.encode_utf8(&mut [0; 4]))),
                None => {}
            },
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

/// `SUBSTRING(text SIMILAR pattern ESCAPE escape)`.
fn similar_part(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let pattern = similar(&args[1..], host)?;
    substring(&[args[0], &pattern], host)
}

fn options_of(like: &Like) -> Options {
    match like.literal {
        true => Options {
            any_case: like.any_case,
            literal: true,
            ..Options::default()
        },
        false => Options {
            any_case: like.any_case,
            dots_stop: !like.dots_all,
            anchors_in_lines: like.lines,
            ..Options::default()
        },
    }
}

/// `like_regex` of a path: whether a part of the text matches.
///
/// # Errors
/// `2201B` for a pattern that is none.
pub(super) fn like_regex(text: &str, like: &Like) -> SqlResult<bool> {
    with_options(&like.pattern, options_of(like), |pattern| {
        pattern.is_match(text)
    })
}

/// Whether the patterns of a path are patterns.
///
/// # Errors
/// What `like_regex` says of them.
pub fn check_patterns(path: &JsonPath) -> SqlResult<()> {
    path.patterns(&mut |like| with_options(&like.pattern, options_of(like), |_| Ok(())))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("substring", &[Text, Text, Text], Text, similar_part),
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
    new(
        "regexp_substr",
        &[Text, Text, Int4, Int4, Text, Int4],
        Text,
        substring_number,
    ),
    new("regexp_instr", &[Text, Text], Int4, place),
    new("regexp_instr", &[Text, Text, Int4], Int4, place),
    new("regexp_instr", &[Text, Text, Int4, Int4], Int4, place),
    new("regexp_instr", &[Text, Text, Int4, Int4, Int4], Int4, place),
    new(
        "regexp_instr",
        &[Text, Text, Int4, Int4, Int4, Text],
        Int4,
        place,
    ),
    new(
        "regexp_instr",
        &[Text, Text, Int4, Int4, Int4, Text, Int4],
        Int4,
        place,
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
