//! Names and escapes in texts: `parse_ident`, `unistr`, `normalize`.
//!
//! Relies on: `unicode-normalization` for the forms of letters with marks.  Promises: what
//! PostgreSQL takes is taken, and the rest refused with its words.  Does not: look a name up.

use super::{Function, builtin as new, fail, str};
use crate::eval::Host;
use quintet_base::SqlType::{Bool, Text, TextArray};
use quintet_base::value::Array;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use unicode_normalization::UnicodeNormalization;

/// The parts of a name with points in it.
fn parse_ident(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let is_strict = args
        .get(1)
        .is_none_or(|strict| strict.as_bool() == Some(true));
    let invalid = |detail: &str| {
        let message = format!("string is not a valid identifier: \"{text}\"");
        let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
        match detail {
            "" => error,
            detail => error.detail(detail),
        }
    };
    let blanks = |rest: &str| -> usize { rest.len() - rest.trim_start().len() };
    let mut rest = &text[blanks(text)..];
    let mut parts = Vec::new();
    let mut is_behind_point = false;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut left = quoted;
            loop {
                let Some(end) = left.find('"') else {
                    return Err(invalid("String has unclosed double quotes."));
                };
                name.push_str(&left[..end]);
                left = &left[end + 1..];
                // Two of them are one.
                match left.strip_prefix('"') {
                    Some(behind) => {
                        name.push('"');
                        left = behind;
                    }
                    None => break,
                }
            }
            if name.is_empty() {
                return Err(invalid("Quoted identifier must not be empty."));
            }
            parts.push(Value::text(name));
            rest = left;
        } else {
            let begins = |c: char| c == '_' || c.is_ascii_alphabetic() || !c.is_ascii();
            let goes_on = |c: char| begins(c) || c == '$' || c.is_ascii_digit();
            if !rest.starts_with(begins) {
                return Err(match (rest.starts_with('.'), is_behind_point) {
                    (true, _) => invalid("No valid identifier before \".\"."),
                    (false, true) => invalid("No valid identifier after \".\"."),
                    (false, false) => invalid(""),
                });
            }
            let end = rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
            parts.push(Value::text(rest[..end].to_ascii_lowercase()));
            rest = &rest[end..];
        }
        rest = &rest[blanks(rest)..];
        match rest.strip_prefix('.') {
            Some(behind) => {
                is_behind_point = true;
                rest = &behind[blanks(behind)..];
            }
            None if rest.is_empty() || !is_strict => break,
            None => return Err(invalid("")),
        }
    }
    Ok(Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Text,
        values: parts,
    })))
}

fn invalid_escape() -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, "invalid Unicode escape")
        .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
}

/// A text with its escapes replaced by the characters that they stand for.
fn unistr(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let mut rest = str(args[0]);
    let mut out = String::with_capacity(rest.len());
    // The first half of a character that is written as two.
    let mut first_half: Option<u32> = None;
    let pair = || SqlError::new(SqlState::SYNTAX_ERROR, "invalid Unicode surrogate pair");
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '\\' || rest.starts_with('\\') {
            if first_half.is_some() {
                return Err(pair());
            }
            out.push(c);
            if c == '\\' {
                rest = &rest[1..];
            }
            continue;
        }
        let (skipped, digits) = match rest.as_bytes().first() {
            Some(b'+') => (1, 6),
            Some(b'u') => (1, 4),
            Some(b'U') => (1, 8),
            _ => (0, 4),
        };
        let written = rest.get(skipped..skipped + digits);
        let written = written.filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = written.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(invalid_escape)?;
        rest = &rest[skipped + digits..];
        let code = match (first_half.take(), code) {
            (None, 0xD800..0xDC00) => {
                first_half = Some(code);
                continue;
            }
            (Some(first), 0xDC00..0xE000) => 0x10000 + ((first & 0x3FF) << 10) + (code & 0x3FF),
            (Some(_), _) | (None, 0xDC00..0xE000) => return Err(pair()),
            (None, code) => code,
        };
        match char::from_u32(code).filter(|c| *c != '\0') {
            Some(c) => out.push(c),
            None => {
                return fail(
                    SqlState::SYNTAX_ERROR,
                    format!("invalid Unicode code point: {code:04X}"),
                );
            }
        }
    }
    match first_half {
        Some(_) => Err(pair()),
        None => Ok(Value::text(out)),
    }
}

fn normalized(text: &str, form: Option<&&Value>) -> SqlResult<String> {
    let form = form.map_or("NFC", |form| str(form));
    Ok(match form.to_ascii_uppercase().as_str() {
        "NFC" => text.nfc().collect(),
        "NFD" => text.nfd().collect(),
        "NFKC" => text.nfkc().collect(),
        "NFKD" => text.nfkd().collect(),
        _ => {
            return fail(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid normalization form: {form}"),
            );
        }
    })
}

fn normalize(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    normalized(str(args[0]), args.get(1)).map(Value::text)
}

fn is_normalized(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    normalized(text, args.get(1)).map(|normal| Value::Bool(normal == text))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("parse_ident", &[Text], TextArray, parse_ident),
    new("parse_ident", &[Text, Bool], TextArray, parse_ident),
    new("unistr", &[Text], Text, unistr),
    new("normalize", &[Text], Text, normalize),
    new("normalize", &[Text, Text], Text, normalize),
    new("is_normalized", &[Text], Bool, is_normalized),
    new("is_normalized", &[Text, Text], Bool, is_normalized),
];
