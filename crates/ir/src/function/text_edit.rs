//! Text and bytea: cutting, trimming, padding, replacing.
//!
//! Relies on: `text` for characters.  Promises: PostgreSQL's answers for positions before the
//! beginning and counts below zero; a result longer than [`RESULT_BYTES_MAX`] is refused before it
//! is built.  Does not: search by pattern (`pattern`).

use super::text::{bytes, characters};
use super::{Function, builtin as new, fail, int, str};
use crate::eval::Host;
use quintet_base::SqlType::{Bytea, Int4, Text};
use quintet_base::{SqlResult, SqlState, Str, Value, limits};

/// Longest text that a function builds. Nothing longer can be stored in a row.
pub(super) const RESULT_BYTES_MAX: usize = 4 * limits::ROW_BYTES_MAX;

/// Refuses what would be longer than that.
pub(crate) fn bounded(bytes: usize) -> SqlResult<()> {
    match bytes > RESULT_BYTES_MAX {
        true => too_long(),
        false => Ok(()),
    }
}

fn too_long<T>() -> SqlResult<T> {
    fail(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        "requested length too large",
    )
}

fn text(text: &str) -> SqlResult<Value> {
    Ok(Value::text(text))
}

/// Byte offset of the character with this number from 0, or the end.
fn offset(text: &str, character: usize) -> usize {
    if text.is_ascii() {
        return character.min(text.len());
    }
    text.char_indices()
        .nth(character)
        .map_or(text.len(), |(at, _)| at)
}

/// The range from 0 that `substring(… from start for length)` means, cut to what can exist.
fn range(start: i64, length: Option<i64>) -> SqlResult<(usize, usize)> {
    let end = match length {
        Some(length) if length < 0 => {
            return fail(SqlState(*b"22011"), "negative substring length not allowed");
        }
        Some(length) => start + length,
        None => i64::MAX,
    };
    let from = start.max(1) - 1;
    let to = (end.max(1) - 1).max(from);
    Ok((from as usize, to as usize))
}

fn substring(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (from, to) = range(int(args[1]), args.get(2).copied().map(int))?;
    let whole = str(args[0]);
    let tail = &whole[offset(whole, from)..];
    text(&tail[..offset(tail, to - from)])
}

fn substring_bytes(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (from, to) = range(int(args[1]), args.get(2).copied().map(int))?;
    let whole = bytes(args[0]);
    let part = &whole[from.min(whole.len())..to.min(whole.len())];
    Ok(Value::Bytea(part.into()))
}

/// How many characters "n, or all but -n" are.
fn portion(whole: &str, n: i64) -> usize {
    match usize::try_from(n) {
        Ok(n) => n,
        Err(_) => characters(whole).saturating_sub(n.unsigned_abs() as usize),
    }
}

fn left(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let whole = str(args[0]);
    text(&whole[..offset(whole, portion(whole, int(args[1])))])
}

fn right(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let whole = str(args[0]);
    let skipped = characters(whole).saturating_sub(portion(whole, int(args[1])));
    text(&whole[offset(whole, skipped)..])
}

/// The characters to strip: those of the second argument, blanks without one.
fn in_set<'a>(args: &[&'a Value]) -> impl Fn(char) -> bool + 'a {
    let set = args.get(1).copied().map_or(" ", str);
    move |c| set.contains(c)
}

fn trim(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let strip = in_set(args);
    text(
        str(args[0])
            .trim_start_matches(&strip)
            .trim_end_matches(&strip),
    )
}

fn trim_left(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    text(str(args[0]).trim_start_matches(in_set(args)))
}

fn trim_right(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    text(str(args[0]).trim_end_matches(in_set(args)))
}

/// Padding that brings `whole` to `length` characters, and `whole` cut to it.
fn padding<'a>(args: &[&'a Value]) -> SqlResult<(Str, &'a str)> {
    let whole = str(args[0]);
    let length = int(args[1]).max(0) as usize;
    let fill = args.get(2).copied().map_or(" ", str);
    if length > RESULT_BYTES_MAX / 4 {
        return too_long();
    }
    let missing = match fill {
        "" => 0,
        _ => length.saturating_sub(characters(whole)),
    };
    let padding = fill.chars().cycle().take(missing).collect();
    Ok((padding, &whole[..offset(whole, length)]))
}

fn pad_left(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (mut padding, whole) = padding(args)?;
    padding.push_str(whole);
    Ok(Value::Text(padding))
}

fn pad_right(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (padding, whole) = padding(args)?;
    let mut result = Str::from(whole);
    result.push_str(&padding);
    Ok(Value::Text(result))
}

fn replace(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (whole, from, to) = (str(args[0]), str(args[1]), str(args[2]));
    if from.is_empty() {
        return text(whole);
    }
    let hits = whole.matches(from).count();
    if whole.len().saturating_add(hits.saturating_mul(to.len())) > RESULT_BYTES_MAX {
        return too_long();
    }
    text(&whole.replace(from, to))
}

fn repeat(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (whole, times) = (str(args[0]), int(args[1]).max(0) as usize);
    if whole.len().saturating_mul(times) > RESULT_BYTES_MAX {
        return too_long();
    }
    Ok(Value::Text(Str::from(whole.repeat(times))))
}

fn reverse(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Text(str(args[0]).chars().rev().collect()))
}

fn split_part(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (whole, separator, field) = (str(args[0]), str(args[1]), int(args[2]));
    if field == 0 {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            "field position must not be zero",
        );
    }
    if separator.is_empty() {
        // Nothing splits: the whole text is the first field and the last.
        return text(if field.abs() == 1 { whole } else { "" });
    }
    let number = field.unsigned_abs() as usize - 1;
    let part = match field > 0 {
        true => whole.split(separator).nth(number),
        // From the end, but split from the beginning: overlapping separators split differently.
        false => {
            let parts: Vec<&str> = whole.split(separator).collect();
            parts.len().checked_sub(number + 1).map(|at| parts[at])
        }
    };
    text(part.unwrap_or(""))
}

pub(super) fn translate(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (whole, from, to) = (str(args[0]), str(args[1]), str(args[2]));
    let map = |c: char| match from.chars().position(|f| f == c) {
        Some(at) => to.chars().nth(at),
        None => Some(c),
    };
    Ok(Value::Text(whole.chars().filter_map(map).collect()))
}

fn overlay(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (whole, new, start) = (str(args[0]), str(args[1]), int(args[2]));
    if start <= 0 {
        return fail(SqlState(*b"22011"), "negative substring length not allowed");
    }
    let replaced = args.get(3).copied().map_or(characters(new) as i64, int);
    let start = start as usize - 1;
    let resume = (start as i64 + replaced).max(0) as usize;
    let mut result = Str::from(&whole[..offset(whole, start)]);
    result.push_str(new);
    result.push_str(&whole[offset(whole, resume)..]);
    Ok(Value::Text(result))
}

fn character(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let code = int(args[0]);
    if code == 0 {
        return fail(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            "null character not permitted",
        );
    }
    if code < 0 {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            "character number must be positive",
        );
    }
    match char::from_u32(code as u32) {
        Some(c) => Ok(Value::Text(Str::from(c.encode_utf8(&mut [0; 4]) as &str))),
        None if code > 0x10_ffff => fail(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("requested character too large for encoding: {code}"),
        ),
        None => fail(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("requested character not valid for encoding: {code}"),
        ),
    }
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("substr", &[Text, Int4], Text, substring),
    new("substr", &[Text, Int4, Int4], Text, substring),
    new("substr", &[Bytea, Int4], Bytea, substring_bytes),
    new("substr", &[Bytea, Int4, Int4], Bytea, substring_bytes),
    new("substring", &[Text, Int4], Text, substring),
    new("substring", &[Text, Int4, Int4], Text, substring),
    new("substring", &[Bytea, Int4], Bytea, substring_bytes),
    new("substring", &[Bytea, Int4, Int4], Bytea, substring_bytes),
    new("left", &[Text, Int4], Text, left),
    new("right", &[Text, Int4], Text, right),
    new("btrim", &[Text], Text, trim),
    new("btrim", &[Text, Text], Text, trim),
    new("ltrim", &[Text], Text, trim_left),
    new("ltrim", &[Text, Text], Text, trim_left),
    new("rtrim", &[Text], Text, trim_right),
    new("rtrim", &[Text, Text], Text, trim_right),
    new("lpad", &[Text, Int4], Text, pad_left),
    new("lpad", &[Text, Int4, Text], Text, pad_left),
    new("rpad", &[Text, Int4], Text, pad_right),
    new("rpad", &[Text, Int4, Text], Text, pad_right),
    new("replace", &[Text, Text, Text], Text, replace),
    new("repeat", &[Text, Int4], Text, repeat),
    new("reverse", &[Text], Text, reverse),
    new("split_part", &[Text, Text, Int4], Text, split_part),
    new("translate", &[Text, Text, Text], Text, translate),
    new("overlay", &[Text, Text, Int4], Text, overlay),
    new("overlay", &[Text, Text, Int4, Int4], Text, overlay),
    new("chr", &[Int4], Text, character),
];
