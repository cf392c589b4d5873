//! Running the parser, and where its errors are.
//!
//! Relies on: `parse`, `declare`.  Promises: the parser sees a routine with the same names, modes
//! and lines as the one that was written; its message comes out with the state that PostgreSQL
//! gives it.  The place is the parser's, found again: the binding keeps the message only.  Does
//! not: change the message.
//!
//! A parser reads from left to right, so the shortest beginning of a text that gives the text's
//! own message ends at the word that it stopped at. A beginning is an error by itself, too, as it
//! ends too early; a few signs behind it make that another message than the one looked for.

use super::Failure;
use super::declare::{self, Sections};
use super::tokens::Tokens;
use super::tree::{DataType, Header, ParameterMode, Returns};
use crate::parse;
use quintet_base::{SqlError, SqlResult, SqlState};
use serde_json::Value;
use std::fmt::Write;

/// How far behind the name that it complains about the parser may stop: `name . name . name [`.
const NAME_TOKENS_BACK_MAX: usize = 8;

/// What the parser makes of a routine.
pub(crate) fn check(
    header: &Header,
    tokens: &Tokens,
    sections: &Sections,
) -> Result<Value, Failure> {
    let whole = declare::plain(tokens, sections, tokens.source.len());
    match parse::parse_plpgsql(&routine(header, tokens, &whole))? {
        Ok(answer) => Ok(answer),
        Err(message) => {
            let offset = place(header, tokens, sections, &message)?;
            let error = SqlError::new(state(&message), message);
            Err(Failure { error, offset })
        }
    }
}

/// The routine with types that the parser knows.
fn routine(header: &Header, tokens: &Tokens, body: &str) -> String {
    let kind = if header.procedure {
        "PROCEDURE"
    } else {
        "FUNCTION"
    };
    let name = header.name.last().map_or("", String::as_str);
    let mut text = format!("CREATE {kind} {}(", quoted(name));
    for (number, parameter) in header.parameters.iter().enumerate() {
        let comma = if number > 0 { ", " } else { "" };
        let mode = match parameter.mode {
            ParameterMode::In | ParameterMode::Variadic => "IN",
            ParameterMode::Out | ParameterMode::Table => "OUT",
            ParameterMode::InOut => "INOUT",
        };
        let name = parameter.name.as_deref().map(quoted).unwrap_or_default();
        let data_type = plain_type(tokens, &parameter.data_type);
        let _ = write!(text, "{comma}{mode} {name} {data_type}");
    }
    text.push(')');
    let mut results = header
        .parameters
        .iter()
        .filter(|parameter| parameter.mode.is_result());
    let result = match (results.next(), results.next()) {
        (Some(one), None) => plain_type(tokens, &one.data_type),
        _ => "record",
    };
    match &header.returns {
        Returns::Nothing if header.procedure => {}
        Returns::Nothing => text.push_str(" RETURNS void"),
        Returns::Parameters => {}
        Returns::Value(_) | Returns::Trigger => text.push_str(" RETURNS int"),
        Returns::SetOf(_) => text.push_str(" RETURNS SETOF int"),
        Returns::SetOfParameters => {
            let _ = write!(text, " RETURNS SETOF {result}");
        }
    }
    let _ = write!(text, " LANGUAGE plpgsql AS '{}'", body.replace('\'', "''"));
    text
}

fn plain_type(tokens: &Tokens, data_type: &DataType) -> &'static str {
    let fields = declare::has_fields(tokens, data_type);
    declare::plain_type(fields, declare::is_refcursor(data_type))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The state of a message, by its words.
fn state(message: &str) -> SqlState {
    let begins_and_says =
        |begin: &str, words: &str| message.starts_with(begin) && message.contains(words);
    if begins_and_says("variable \"", "is declared CONSTANT") {
        SqlState(*b"22005")
    } else if begins_and_says("variable \"", "must have a default value") {
        SqlState(*b"22004")
    } else if begins_and_says("unrecognized exception condition", "")
        || begins_and_says("variable \"", "does not exist")
    {
        SqlState::UNDEFINED_OBJECT
    } else if begins_and_says("parameter name \"", "used more than once") {
        SqlState(*b"42P13")
    } else if begins_and_says("RETURN cannot have a parameter in function", "")
        || begins_and_says("RETURN NEXT cannot have a parameter", "")
        || begins_and_says("cannot use RETURN", "")
        || begins_and_says("cursor variable must", "")
        || begins_and_says("variable \"", "must be of type cursor")
    {
        SqlState::DATATYPE_MISMATCH
    } else if begins_and_says("too many INTO variables", "") {
        SqlState::PROGRAM_LIMIT_EXCEEDED
    } else if begins_and_says("FETCH statement cannot return", "") {
        SqlState::FEATURE_NOT_SUPPORTED
    } else {
        SqlState::SYNTAX_ERROR
    }
}

/// The byte of the body that a message is about.
fn place(
    header: &Header,
    tokens: &Tokens,
    sections: &Sections,
    message: &str,
) -> SqlResult<Option<usize>> {
    // Behind these, what is cut off too early cannot give the message of the whole; a semicolon
    // ends a piece of SQL, so that an error in it is found before the piece ends by itself.
    let tails: &[&str] = if is_about_end(message) {
        &[" )"]
    } else if message.ends_with("at or near \";\"") {
        &[""]
    } else {
        &["", " ;"]
    };
    let mut found: Option<usize> = None;
    for tail in tails {
        let (mut low, mut high) = (0, found.unwrap_or(tokens.len()));
        let stops_in = |count: usize| -> SqlResult<bool> {
            let end = if count == 0 { 0 } else { tokens.end(count - 1) };
            let beginning = declare::plain(tokens, sections, end) + tail;
            let answer = parse::parse_plpgsql(&routine(header, tokens, &beginning))?;
            Ok(answer.is_err_and(|other| other == message))
        };
        if !stops_in(high)? {
            continue;
        }
        while low < high {
            let middle = low.midpoint(high);
            if stops_in(middle)? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        found = Some(high);
    }
    let Some(count) = found else {
        // Nothing but the end makes the difference.
        return Ok(is_about_end(message).then_some(tokens.source.len()));
    };
    // An error of no body at all is one of the parameters.
    let Some(last) = count.checked_sub(1) else {
        return Ok(None);
    };
    Ok(Some(tokens.start(named(tokens, last, message))))
}

fn is_about_end(message: &str) -> bool {
    message.ends_with("at end of input")
        || message.starts_with("missing \"")
        || message.starts_with("unexpected end of")
}

/// The token near this one that the message quotes, as the parser looks a little ahead.
fn named(tokens: &Tokens, last: usize, message: &str) -> usize {
    let quote = message.split('"').nth(1).unwrap_or_default();
    let first_name = quote.split('.').next().unwrap_or_default();
    let back = last.saturating_sub(NAME_TOKENS_BACK_MAX)..=last;
    let is_named = |at: &usize| {
        !quote.is_empty()
            && (tokens.text(*at) == quote || tokens.name(*at).as_deref() == Some(first_name))
    };
    back.rev().find(is_named).unwrap_or(last)
}
