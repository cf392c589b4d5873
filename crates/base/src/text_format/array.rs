//! Arrays as text: `{1,NULL,"a b"}`, `{{1,2},{3,4}}`, `[0:1]={1,2}`.
//!
//! Relies on: the text form of the elements.  Promises: what is written reads back; PostgreSQL's
//! quoting and its messages.  Does not: name what else is wrong with an element before the braces are known to be right.

use super::{FormatContext, is_blank};
use crate::array::{DIMENSIONS_MAX, SIZE_MAX, too_large, too_many_dimensions};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::types::SqlType;
use crate::value::{Array, Dimension, Dimensions, Value};

pub(super) fn write(array: &Array, context: &FormatContext, out: &mut Vec<u8>) {
    let mut writer = Writer {
        context,
        element: Vec::new(),
        of: array,
    };
    let Some(shape) = array.shape.as_deref() else {
        writer.level(&array.values, out);
        return;
    };
    if shape.iter().any(|one| one.lower != 1) {
        for one in shape {
            let bounds = format!("[{}:{}]", one.lower, one.upper());
            out.extend_from_slice(bounds.as_bytes());
        }
        out.push(b'=');
    }
    writer.levels(shape, &array.values, out);
}

struct Writer<'a> {
    context: &'a FormatContext,
    /// Room for the text of an element.
    element: Vec<u8>,
    of: &'a Array,
}

impl Writer<'_> {
    fn levels(&mut self, shape: &[Dimension], values: &[Value], out: &mut Vec<u8>) {
        let [outer, inner @ ..] = shape else { return };
        if inner.is_empty() {
            self.level(values, out);
            return;
        }
        out.push(b'{');
        let each = values.len() / (outer.length.max(1) as usize);
        for (i, part) in values.chunks(each.max(1)).enumerate() {
            if i > 0 {
                out.push(self.of.element.delimiter());
            }
            self.levels(inner, part, out);
        }
        out.push(b'}');
    }

    fn level(&mut self, values: &[Value], out: &mut Vec<u8>) {
        out.push(b'{');
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                out.push(self.of.element.delimiter());
            }
            if value.is_null() {
                out.extend_from_slice(b"NULL");
                continue;
            }
            let element = &mut self.element;
            element.clear();
            super::write(value, self.of.element, self.context, element);
            if !needs_quotes(element, self.of.element.delimiter()) {
                out.extend_from_slice(element);
                continue;
            }
            out.push(b'"');
            for &byte in element.iter() {
                if matches!(byte, b'"' | b'\\') {
                    out.push(b'\\');
                }
                out.push(byte);
            }
            out.push(b'"');
        }
        out.push(b'}');
    }
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
    Ok(Array::new(element, values.collect::<SqlResult<_>>()?))
}

fn needs_quotes(element: &[u8], delimiter: u8) -> bool {
    element.is_empty()
        || element.eq_ignore_ascii_case(b"null")
        || element
            .iter()
            .any(|b| matches!(b, b'{' | b'}' | b'"' | b'\\') || *b == delimiter || is_blank(*b))
}

pub(super) fn read(element: SqlType, text: &str, context: &FormatContext) -> SqlResult<Array> {
    let mut parser = Parser {
        text,
        rest: text.as_bytes(),
        values: Vec::new(),
        wrong: None,
        lengths: [None; DIMENSIONS_MAX],
        depth: None,
        is_uneven: false,
        of: element,
        context,
    };
    parser.skip_blanks();
    let bounds = parser.bounds()?;
    match (parser.rest.first(), bounds.is_empty()) {
        (Some(b'{'), _) => {
            // What is malformed is named without its bounds.
            parser.text = &text[text.len() - parser.rest.len()..];
            parser.level(0)?;
        }
        (_, true) => {
            return Err(
                parser.malformed("Array value must start with \"{\" or dimension information.")
            );
        }
        (_, false) => return Err(parser.malformed("Array contents must start with \"{\".")),
    }
    parser.skip_blanks();
    if !parser.rest.is_empty() {
        return Err(parser.malformed("Junk after closing right brace."));
    }
    parser.text = text;
    if parser.is_uneven {
        return Err(parser.uneven());
    }
    let mut found = Dimensions::default();
    for length in parser.lengths.iter().map_while(|length| *length) {
        found.push(Dimension { lower: 1, length })?;
    }
    let is_plain = bounds.is_empty() && found.len() <= 1;
    if !bounds.is_empty() {
        let given = bounds.iter().map(|one| one.length);
        if !given.eq(found.iter().map(|one| one.length)) {
            return Err(parser.malformed("Specified array dimensions do not match array contents."));
        }
        bounds.elements()?;
        found = bounds;
    }
    match parser.wrong {
        Some(wrong) => Err(wrong),
        None if is_plain => Ok(Array::new(element, parser.values)),
        None => Ok(Array::shaped(element, parser.values, &found)),
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a [u8],
    values: Vec<Value>,
    /// What is wrong with the first element that is none: other things come before it.
    wrong: Option<SqlError>,
    /// How many parts there are at each depth, where one has ended.
    lengths: [Option<i32>; DIMENSIONS_MAX],
    /// At which depth the elements are, and whether some are at another.
    depth: Option<usize>,
    is_uneven: bool,
    of: SqlType,
    context: &'a FormatContext,
}

impl Parser<'_> {
    fn malformed(&self, detail: &str) -> SqlError {
        SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("malformed array literal: \"{}\"", self.text),
        )
        .detail(detail)
    }

    /// What stands between elements.
    fn delimiter(&self) -> u8 {
        self.of.delimiter()
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

    /// `[0:1][3]=`, or nothing.
    fn bounds(&mut self) -> SqlResult<Dimensions> {
        let mut bounds = Dimensions::default();
        loop {
            self.skip_blanks();
            if self.rest.first() != Some(&b'[') {
                break;
            }
            self.advance();
            if bounds.len() == DIMENSIONS_MAX {
                return Err(too_many_dimensions(DIMENSIONS_MAX + 1));
            }
            let introduce = "\"[\" must introduce explicitly-specified array dimensions.";
            let first = self.number().ok_or_else(|| self.malformed(introduce))?;
            let (lower, upper) = match self.rest.first() {
                Some(b':') => {
                    self.advance();
                    let missing = "Missing array dimension value.";
                    let upper = self.number().ok_or_else(|| self.malformed(missing))?;
                    (first, upper)
                }
                _ => (1, first),
            };
            if self.rest.first() != Some(&b']') {
                return Err(self.malformed("Missing \"]\" after array dimensions."));
            }
            self.advance();
            if upper < lower {
                return Err(SqlError::new(
                    SqlState::ARRAY_SUBSCRIPT_ERROR,
                    "upper bound cannot be less than lower bound",
                ));
            }
            let length = i32::try_from(i64::from(upper) - i64::from(lower) + 1);
            let length = length.map_err(|_| too_large(SIZE_MAX))?;
            bounds.push(Dimension { lower, length })?;
        }
        if !bounds.is_empty() {
            if self.rest.first() != Some(&b'=') {
                return Err(self.malformed("Missing \"=\" after array dimensions."));
            }
            self.advance();
            self.skip_blanks();
        }
        Ok(bounds)
    }

    /// Digits and signs, of which those that make no number are not minded.
    fn number(&mut self) -> Option<i32> {
        let is_part = |b: &&u8| b.is_ascii_digit() || matches!(b, b'-' | b'+');
        let length = self.rest.iter().take_while(is_part).count();
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        let number = std::str::from_utf8(number)
            .ok()
            .filter(|it| !it.is_empty())?;
        let behind = number.strip_prefix(['-', '+']).unwrap_or(number);
        let digits = behind.find(['-', '+']).unwrap_or(behind.len());
        let number = &number[..number.len() - behind.len() + digits];
        let number = number.parse::<i64>().unwrap_or(0);
        Some(number.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
    }

    fn unexpected(&self, byte: u8) -> SqlError {
        self.malformed(&format!("Unexpected \"{}\" character.", char::from(byte)))
    }

    fn uneven(&self) -> SqlError {
        self.malformed("Multidimensional arrays must have sub-arrays with matching dimensions.")
    }

    /// From `{` to the `}` that belongs to it.
    fn level(&mut self, depth: usize) -> SqlResult<()> {
        self.advance();
        if depth == DIMENSIONS_MAX {
            return Err(too_many_dimensions(DIMENSIONS_MAX + 1));
        }
        self.skip_blanks();
        let mut length = 0;
        match self.rest.first() {
            Some(b'}') if depth == 0 => {
                self.advance();
                return Ok(());
            }
            Some(b'}') => return Err(self.unexpected(b'}')),
            Some(b'{') => loop {
                self.level(depth + 1)?;
                length += 1;
                self.skip_blanks();
                match self.rest.first() {
                    None => return Err(self.unexpected_end()),
                    Some(b'}') => break,
                    Some(b) if *b == self.delimiter() => self.advance(),
                    Some(b @ (b'{' | b'\\')) => return Err(self.unexpected(*b)),
                    Some(_) => return Err(self.malformed("Unexpected array element.")),
                }
                self.skip_blanks();
                match self.rest.first() {
                    None => return Err(self.unexpected_end()),
                    Some(b'{') => {}
                    Some(b @ (b'}' | b'\\')) => return Err(self.unexpected(*b)),
                    Some(b) if *b == self.delimiter() => return Err(self.unexpected(*b)),
                    Some(_) => return Err(self.malformed("Unexpected array element.")),
                }
            },
            _ => {
                self.is_uneven |= *self.depth.get_or_insert(depth) != depth;
                loop {
                    match self.element()? {
                        None => self.values.push(Value::Null),
                        Some(text) if self.wrong.is_none() => {
                            match super::read(self.of, &text, self.context) {
                                Ok(value) => self.values.push(value),
                                Err(wrong) => self.wrong = Some(wrong),
                            }
                        }
                        Some(_) => {}
                    }
                    length += 1;
                    // `element` stops only here.
                    if self.rest.first() == Some(&b'}') {
                        break;
                    }
                    self.advance();
                }
            }
        }
        self.advance();
        match self.lengths[depth] {
            Some(known) if known != length => return Err(self.uneven()),
            _ => self.lengths[depth] = Some(length),
        }
        Ok(())
    }

    /// The text of one element, `None` for NULL; leaves the cursor on the delimiter or `}` after it.
    fn element(&mut self) -> SqlResult<Option<String>> {
        self.skip_blanks();
        let (text, literal) = match self.rest.first() {
            None => return Err(self.unexpected_end()),
            Some(b @ (b'{' | b'}')) => return Err(self.unexpected(*b)),
            Some(b) if *b == self.delimiter() => return Err(self.unexpected(*b)),
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
            Some(b'}') => Ok(out),
            Some(b) if *b == self.delimiter() => Ok(out),
            None => Err(self.unexpected_end()),
            Some(b @ (b'{' | b'\\')) => Err(self.unexpected(*b)),
            Some(_) => Err(self.malformed("Unexpected array element.")),
        }
    }

    /// An element without quotes, and whether a backslash made it literal.
    fn bare(&mut self) -> SqlResult<(Vec<u8>, bool)> {
        let (mut out, mut keep, mut literal) = (Vec::new(), 0, false);
        loop {
            match *self.rest {
                [] | [b'\\'] => return Err(self.unexpected_end()),
                [b'}', ..] => break,
                [byte, ..] if byte == self.delimiter() => break,
                [b'"', ..] => return Err(self.malformed("Unexpected array element.")),
                [b'{', ..] => return Err(self.unexpected(b'{')),
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
