//! Multiranges as text: `{[1,3),[5,7)}`.
//!
//! Relies on: the text form of ranges.  Promises: what is written reads back; PostgreSQL's messages.  Does not: read what
//! is between the signs that begin and end a range; ranges do.

use super::Multirange;
use crate::error::{SqlError, SqlResult, SqlState};
use crate::range::{self, Range, RangeKind, without_empty};
use crate::text_format::{FormatContext, is_blank};

/// Appends a multirange.
pub(crate) fn write(set: &Multirange, context: &FormatContext, out: &mut Vec<u8>) {
    out.push(b'{');
    for (number, range) in set.ranges.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        range::write(range, context, out);
    }
    out.push(b'}');
}

/// Reads a multirange.
///
/// # Errors
/// `22P02`; what ranges refuse.
pub(crate) fn read(kind: RangeKind, text: &str, context: &FormatContext) -> SqlResult<Multirange> {
    let malformed = |detail: &str| {
        let message = format!("malformed multirange literal: \"{text}\"");
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message).detail(detail)
    };
    let mut rest = text.as_bytes();
    // The sign that is next, without blanks before it.
    let next = |rest: &mut &[u8]| {
        while let [byte, after @ ..] = *rest
            && is_blank(*byte)
        {
            *rest = after;
        }
        let (&sign, after) = rest.split_first()?;
        *rest = after;
        Some(sign)
    };
    if next(&mut rest) != Some(b'{') {
        return Err(malformed("Missing left brace."));
    }
    let end = || malformed("Unexpected end of input.");
    let mut ranges: Vec<Range> = Vec::new();
    let mut is_first = true;
    loop {
        match next(&mut rest).ok_or_else(end)? {
            b'[' | b'(' => {
                let from = text.len() - rest.len() - 1;
                rest = behind_range(rest).ok_or_else(end)?;
                let part = &text[from..text.len() - rest.len()];
                ranges.push(range::read(kind, part, context)?);
            }
            b'}' if is_first => break,
            b'e' | b'E' => {
                let word = &text.as_bytes()[text.len() - rest.len() - 1..];
                rest = without_empty(word).ok_or_else(|| malformed("Expected range start."))?;
            }
            _ => return Err(malformed("Expected range start.")),
        }
        is_first = false;
        match next(&mut rest).ok_or_else(end)? {
            b',' => {}
            b'}' => break,
            _ => return Err(malformed("Expected comma or end of multirange.")),
        }
    }
    match next(&mut rest) {
        None => Ok(Multirange::new(kind, ranges)),
        Some(_) => Err(malformed("Junk after closing right brace.")),
    }
}

/// What is behind the sign that ends a range; `None` if there is none.
fn behind_range(mut rest: &[u8]) -> Option<&[u8]> {
    let mut quoted = false;
    loop {
        rest = match rest {
            [b'\\', _, after @ ..] => after,
            [b'"', b'"', after @ ..] if quoted => after,
            [b'"', after @ ..] => {
                quoted = !quoted;
                after
            }
            [b']' | b')', after @ ..] if !quoted => return Some(after),
            [_, after @ ..] => after,
            [] => return None,
        };
    }
}
