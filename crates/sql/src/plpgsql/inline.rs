//! Bodies that are SQL themselves, not a text: `RETURN expression` and `BEGIN ATOMIC … END`.
//!
//! Relies on: `tokens`.  Promises: the text of a body in LANGUAGE sql that does the same; a RETURN is a
//! SELECT in it.  Does not: parse; the parser has taken the statement.

use super::tokens::Tokens;
use quintet_base::{SqlError, SqlResult};

/// The body of a statement whose text ends with it.
pub(crate) fn body(text: &str) -> SqlResult<String> {
    let tokens = Tokens::of(text, &|_| false)?;
    let mut at = 0;
    loop {
        at = tokens.find_outside(at, &["return", "begin"]);
        if at >= tokens.len() {
            return Err(SqlError::internal("a body of SQL has no beginning"));
        }
        if tokens.is(at, "return") {
            return Ok(statements(&tokens, at, tokens.len()));
        }
        if tokens.is(at + 1, "atomic") {
            break;
        }
        at += 1;
    }
    let end = (at..tokens.len()).rev().find(|at| tokens.is(*at, "end"));
    let end = end.ok_or_else(|| SqlError::internal("a body of SQL has no end"))?;
    Ok(statements(&tokens, at + 2, end))
}

/// The text of some tokens, with SELECT for each RETURN that begins a statement.
fn statements(tokens: &Tokens, first: usize, behind: usize) -> String {
    let mut text = String::new();
    let mut done = tokens.start(first);
    for at in first..behind {
        let begins = at == first || tokens.is(at - 1, ";");
        if begins && tokens.is(at, "return") {
            text.push_str(&tokens.source[done..tokens.start(at)]);
            text.push_str("SELECT");
            done = tokens.end(at);
        }
    }
    let end = match behind > first {
        true => tokens.end(behind - 1),
        false => done,
    };
    text.push_str(&tokens.source[done..end]);
    text
}
