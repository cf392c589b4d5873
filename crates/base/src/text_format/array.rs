//! Arrays as text: `{1,NULL,"a b"}`.
//!
//! Relies on: the text form of the elements.  Promises: what is written reads back; PostgreSQL's
//! quoting and its messages.  Does not: read several dimensions or explicit bounds, which are
//! refused by name.

use super::{FormatContext, is_blank};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::types::SqlType;
use crate::value::{Array, Value};

pub(super) fn write(array: &Array, context: &FormatContext, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut element = Vec::new();
    for (i, value) in array.values.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        if value.is_null() {
            out.extend_from_slice(b"NULL");
            continue;
        }
        element.clear();
        super::write(value, array.element, context, &mut element);
        if !needs_quotes(&element) {
            out.extend_from_slice(&element);
            continue;
        }
        out.push(b'"');
        for &byte in &element {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out.push(b'"');
    }
    out.push(b'}');
}

/// The elements with blanks between, as the catalogue's vectors are written.
pub(super) fn write_vector(array: &Array, context: &FormatContext, out: &mut Vec<u8>) {
    for (i, value) in array.values.iter().enumerate() {
        if i > 0 {
            out.push(b' ');
        }
        super::write(value, array.element, context, out);
    }
}

/// Reads elements with blanks between.
pub(super) fn read_vector(ty: SqlType, text: &str, context: &FormatContext) -> SqlResult<Array> {
    let element = ty.element().unwrap_or(SqlType::Oid);
    let words = text.split_ascii_whitespace();
    let values = words.map(|word| super::read(element, word, context));
    Ok(Array {
        element,
        values: values.collect::<SqlResult<_>>()?,
    })
}

fn needs_quotes(element: &[u8]) -> bool {
    element.is_empty()
        || element.eq_ignore_ascii_case(b"null")
        || element
            .iter()
            .any(|b| matches!(b, b'{' | b'}' | b',' | b'"' | b'\\') || is_blank(*b))
}

pub(super) fn read(element: SqlType, text: &str, context: &FormatContext) -> SqlResult<Array> {
    let mut parser = Parser {
        text,
        rest: text.as_bytes(),
    };
    parser.skip_blanks();
    match parser.rest.first() {
        Some(b'{') => parser.advance(),
        Some(b'[') => {
            return Err(SqlError::unsupported(
                "an array literal with explicit bounds",
            ));
        }
        _ => {
            return Err(
                parser.malformed("Array value must start with \"{\" or dimension information.")
            );
        }
    }
    let mut values = Vec::new();
    parser.skip_blanks();
    if parser.rest.first() == Some(&b'}') {
        parser.advance();
    } else {
        loop {
            values.push(match parser.element()? {
                Some(text) => super::read(element, &text, context)?,
                None => Value::Null,
            });
            // `element` stops only here.
            let closed = parser.rest.first() == Some(&b'}');
            parser.advance();
            if closed {
                break;
            }
        }
    }
    parser.skip_blanks();
    if !parser.rest.is_empty() {
        return Err(parser.malformed("Junk after closing right brace."));
    }
    Ok(Array { element, values })
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a [u8],
}

impl Parser<'_> {
    fn malformed(&self, detail: &str) -> SqlError {
        SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("malformed array literal: \"{}\"", self.text),
        )
        .detail(detail)
    }

    fn unexpected_end(&self) -> SqlError {
        self.malformed("Unexpected end of input.")
    }

    fn advance(&mut self) {
        self.rest = &self.rest[1..];
    }

    fn skip_blanks(&mut self) {
        while self.rest.first().is_some_and(|b| is_blank(*b)) {
            self.advance();
        }
    }

    /// The text of one element, `None` for NULL; leaves the cursor on the `,` or `}` after it.
    fn element(&mut self) -> SqlResult<Option<String>> {
        self.skip_blanks();
        let (text, literal) = match self.rest.first() {
            None => return Err(self.unexpected_end()),
            Some(b'{') => {
                return Err(SqlError::unsupported("an array of more than one dimension"));
            }
            Some(b @ (b',' | b'}')) => {
                let detail = format!("Unexpected \"{}\" character.", char::from(*b));
                return Err(self.malformed(&detail));
            }
            Some(b'"') => (self.quoted()?, true),
            Some(_) => self.bare()?,
        };
        // Only whole characters were taken out: every delimiter is ASCII.
        let text = String::from_utf8(text).expect("parts of a str cut at ASCII are UTF-8");
        if !literal && text.eq_ignore_ascii_case("null") {
            return Ok(None);
        }
        Ok(Some(text))
    }

    fn quoted(&mut self) -> SqlResult<Vec<u8>> {
        let mut out = Vec::new();
        self.advance();
        loop {
            match *self.rest {
                [] | [b'\\'] => return Err(self.unexpected_end()),
                [b'"', ..] => break,
                [b'\\', byte, ..] => {
                    out.push(byte);
                    self.advance();
                }
                [byte, ..] => out.push(byte),
            }
            self.advance();
        }
        self.advance();
        self.skip_blanks();
        match self.rest.first() {
            Some(b',' | b'}') => Ok(out),
            None => Err(self.unexpected_end()),
            Some(_) => Err(self.malformed("Unexpected array element.")),
        }
    }

    /// An element without quotes, and whether a backslash made it literal.
    fn bare(&mut self) -> SqlResult<(Vec<u8>, bool)> {
        let (mut out, mut keep, mut literal) = (Vec::new(), 0, false);
        loop {
            match *self.rest {
                [] | [b'\\'] => return Err(self.unexpected_end()),
                [b',' | b'}', ..] => break,
                [b'"' | b'{', ..] => return Err(self.malformed("Unexpected array element.")),
                [b'\\', byte, ..] => {
                    out.push(byte);
                    keep = out.len();
                    literal = true;
                    self.advance();
                }
                [byte, ..] => {
                    out.push(byte);
                    if !is_blank(byte) {
                        keep = out.len();
                    }
                }
            }
            self.advance();
        }
        // Blanks at the end are no part of it, unless escaped.
        out.truncate(keep);
        Ok((out, literal))
    }
}
