//! Ranges as text: `[1,5)`, `(,"2020-01-01 00:00:00"]`, `empty`.
//!
//! Relies on: the text form of the bounds.  Promises: what is written reads back; PostgreSQL's quoting and its messages.
//! Does not: take blanks away from bounds; their types do.

use super::{Bound, Range, RangeKind};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::text_format::record::push_quoted;
use crate::text_format::{self, FormatContext, is_blank};

const EMPTY: &str = "empty";

/// Appends a range.
pub(crate) fn write(range: &Range, context: &FormatContext, out: &mut Vec<u8>) {
    let Some((lower, upper)) = range.bounds() else {
        out.extend_from_slice(EMPTY.as_bytes());
        return;
    };
    let ty = range.kind().subtype();
    let mut text = Vec::new();
    let mut bound = |bound: &Bound, out: &mut Vec<u8>| {
        if let Some(value) = bound.value() {
            text.clear();
            text_format::write(value, ty, context, &mut text);
            push_quoted(&text, b"[]", out);
        }
    };
    let included = |bound: &Bound| matches!(bound, Bound::Included(_));
    out.push(if included(lower) { b'[' } else { b'(' });
    bound(lower, out);
    out.push(b',');
    bound(upper, out);
    out.push(if included(upper) { b']' } else { b')' });
}

/// Reads a range.
///
/// # Errors
/// `22P02`; what the bounds' type and [`Range::new`] refuse.
pub(crate) fn read(kind: RangeKind, text: &str, context: &FormatContext) -> SqlResult<Range> {
    let mut parser = Parser {
        text,
        rest: text.as_bytes(),
    };
    parser.skip_blanks();
    if let Some(rest) = without_empty(parser.rest) {
        parser.rest = rest;
        parser.end("Junk after \"empty\" key word.")?;
        return Ok(Range::empty(kind));
    }
    let lower_included = match parser.next() {
        Some(b'[') => true,
        Some(b'(') => false,
        _ => return Err(parser.malformed("Missing left parenthesis or bracket.")),
    };
    let lower = parser.bound()?;
    if parser.next() != Some(b',') {
        return Err(parser.malformed("Missing comma after lower bound."));
    }
    let upper = parser.bound()?;
    let upper_included = match parser.next() {
        Some(b']') => true,
        Some(b')') => false,
        _ => return Err(parser.malformed("Too many commas.")),
    };
    parser.end("Junk after right parenthesis or bracket.")?;
    let bound = |text: Option<String>, included| {
        let Some(text) = text else {
            return Ok(Bound::Infinite);
        };
        let value = text_format::read(kind.subtype(), &text, context)?;
        Ok(match included {
            true => Bound::Included(value),
            false => Bound::Excluded(value),
        })
    };
    let lower = bound(lower, lower_included)?;
    Range::new(kind, lower, bound(upper, upper_included)?)
}

/// What is behind the word for a range without values.
pub(crate) fn without_empty(text: &[u8]) -> Option<&[u8]> {
    let (word, rest) = text.split_at_checked(EMPTY.len())?;
    word.eq_ignore_ascii_case(EMPTY.as_bytes()).then_some(rest)
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a [u8],
}

impl Parser<'_> {
    fn malformed(&self, detail: &str) -> SqlError {
        SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("malformed range literal: \"{}\"", self.text),
        )
        .detail(detail)
    }

    fn next(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn skip_blanks(&mut self) {
        while self.rest.first().is_some_and(|byte| is_blank(*byte)) {
            self.rest = &self.rest[1..];
        }
    }

    fn end(&mut self, otherwise: &str) -> SqlResult<()> {
        self.skip_blanks();
        match self.rest {
            [] => Ok(()),
            _ => Err(self.malformed(otherwise)),
        }
    }

    /// The text of a bound, `None` if there is none; leaves the cursor on the sign behind it.
    fn bound(&mut self) -> SqlResult<Option<String>> {
        const ENDS: &[u8] = b",)]";
        if self.rest.first().is_some_and(|byte| ENDS.contains(byte)) {
            return Ok(None);
        }
        let (mut out, mut quoted) = (Vec::new(), false);
        while quoted || !self.rest.first().is_some_and(|byte| ENDS.contains(byte)) {
            match self.next() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some(b'\\') => match self.next() {
                    None => return Err(self.malformed("Unexpected end of input.")),
                    Some(byte) => out.push(byte),
                },
                Some(b'"') if quoted && self.rest.first() == Some(&b'"') => {
                    self.next();
                    out.push(b'"');
                }
                Some(b'"') => quoted = !quoted,
                Some(byte) => out.push(byte),
            }
        }
        // Only whole characters were taken out: every sign that ends one is ASCII.
        let text = String::from_utf8(out).expect("parts of a str cut at ASCII are UTF-8");
        Ok(Some(text))
    }
}
