//! JSON text, read into a tree that remembers where each part was written.
//!
//! Promises: RFC 8259 as PostgreSQL reads it, with its SQLSTATEs; nothing is lost: keys stand in
//! their order and as often as they were written.  Does not: make numbers of digits.

use super::DEPTH_MAX;
use crate::error::{SqlError, SqlResult, SqlState};
use crate::value::Str;

/// A part of a text and what it is.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// The part as written, without blanks around it.
    pub text: &'a str,
    /// What it is.
    pub kind: Kind<'a>,
}

/// What a part is.
#[derive(Clone, Debug)]
pub enum Kind<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number; its digits are the node's text.
    Number,
    /// A string, without quotes and escapes.
    Text(String),
    /// `[…]`
    Array(Vec<Node<'a>>),
    /// `{…}`, as written.
    Object(Vec<(String, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// The value of the last pair with this key.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        let Kind::Object(pairs) = &self.kind else {
            return None;
        };
        let mut found = pairs.iter().rev().filter(|(own, _)| own == key);
        found.next().map(|(_, value)| value)
    }

    /// The element at a place, counted from the end if it is below 0.
    pub fn element(&self, place: i64) -> Option<&Node<'a>> {
        let Kind::Array(elements) = &self.kind else {
            return None;
        };
        elements.get(super::place_in(elements.len(), place)?)
    }

    /// The name of the kind, as `json_typeof` says it.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "boolean",
            Kind::Number => "number",
            Kind::Text(_) => "string",
            Kind::Array(_) => "array",
            Kind::Object(_) => "object",
        }
    }
}

fn invalid() -> SqlError {
    SqlError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        "invalid input syntax for type json",
    )
}

/// `jsonb` cannot hold the zero character, though `json` may spell it.
pub(super) fn without_zero(text: &str) -> SqlResult<Str> {
    match text.contains('\0') {
        false => Ok(Str::from(text)),
        true => Err(
            SqlError::new(SqlState(*b"22P05"), "unsupported Unicode escape sequence")
                .detail("\\u0000 cannot be converted to text."),
        ),
    }
}

/// Reads a text whose strings are to become texts: none of them may have the zero character.
///
/// # Errors
/// As [`parse`]; `22P05` for that character.
pub fn parse_texts(text: &str) -> SqlResult<Node<'_>> {
    let node = parse(text)?;
    if text.contains("\\u0000") {
        node.check_zero()?;
    }
    Ok(node)
}

impl Node<'_> {
    fn check_zero(&self) -> SqlResult<()> {
        match &self.kind {
            Kind::Text(text) => without_zero(text).map(drop),
            Kind::Array(elements) => elements.iter().try_for_each(Node::check_zero),
            Kind::Object(pairs) => pairs.iter().try_for_each(|(key, value)| {
                without_zero(key)?;
                value.check_zero()
            }),
            _ => Ok(()),
        }
    }
}

/// Reads a text.
///
/// # Errors
/// `22P02` if it is no JSON, `54001` if it nests too deep.
pub fn parse(text: &str) -> SqlResult<Node<'_>> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.skip_blanks();
    if cursor.at == text.len() {
        return Err(invalid().detail("The input string ended unexpectedly."));
    }
    let node = cursor.node(0)?;
    cursor.skip_blanks();
    match cursor.at == text.len() {
        true => Ok(node),
        false => Err(cursor.unexpected()),
    }
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// What PostgreSQL says of a token that does not belong where it is.
    fn unexpected(&self) -> SqlError {
        let rest = &self.text[self.at..];
        let word = |c: char| c.is_alphanumeric() || c == '_' || !c.is_ascii();
        let end = match rest.chars().next() {
            None => return invalid().detail("The input string ended unexpectedly."),
            Some(c) if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            Some(c) => c.len_utf8(),
        };
        invalid().detail(format!("Token \"{}\" is invalid.", &rest[..end]))
    }

    fn node(&mut self, depth: usize) -> SqlResult<Node<'a>> {
        if depth > DEPTH_MAX {
            return Err(SqlError::new(
                SqlState(*b"54001"),
                "stack depth limit exceeded",
            ));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z') => self.word()?,
            _ => return Err(self.unexpected()),
        };
        Ok(Node {
            text: &self.text[start..self.at],
            kind,
        })
    }

    fn word(&mut self) -> SqlResult<Kind<'a>> {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let kind = match &rest[..end] {
            "null" => Kind::Null,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            _ => return Err(self.unexpected()),
        };
        self.at += end;
        Ok(kind)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> SqlResult<Kind<'a>> {
        let start = self.at;
        self.take(b'-');
        let mut good = match self.take(b'0') {
            true => true,
            false => self.digits() > 0,
        };
        if self.take(b'.') {
            good &= self.digits() > 0;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            good &= self.digits() > 0;
        }
        // `01` and `1x` are one token each, and a bad one.
        let ends = !self
            .peek()
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80);
        if good && ends {
            return Ok(Kind::Number);
        }
        self.at = start;
        Err(self.unexpected())
    }

    fn string(&mut self) -> SqlResult<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let plain = rest
                .iter()
                .position(|b| matches!(b, b'"' | b'\\' | 0..=0x1F))
                .ok_or_else(|| invalid().detail("The input string ended unexpectedly."))?;
            // Cut at ASCII, so whole characters.
            out.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match rest[plain] {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                byte => {
                    return Err(invalid().detail(format!(
                        "Character with value 0x{byte:02x} must be escaped."
                    )));
                }
            }
        }
    }

    fn escape(&mut self) -> SqlResult<char> {
        let byte = self.peek().ok_or_else(invalid)?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.four()?;
                match first {
                    0xD800..=0xDBFF => {
                        let low = match self.take(b'\\') && self.take(b'u') {
                            true => self.four()?,
                            false => 0,
                        };
                        if !(0xDC00..=0xDFFF).contains(&low) {
                            return Err(invalid()
                                .detail("Unicode low surrogate must follow a high surrogate."));
                        }
                        let code = 0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00);
                        char::from_u32(code).ok_or_else(invalid)?
                    }
                    _ => char::from_u32(first).ok_or_else(|| {
                        invalid().detail("Unicode low surrogate must follow a high surrogate.")
                    })?,
                }
            }
            _ => {
                return Err(invalid().detail("Escape sequence is invalid."));
            }
        })
    }

    fn four(&mut self) -> SqlResult<u32> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .ok_or_else(|| {
                invalid().detail("\"\\u\" must be followed by four hexadecimal digits.")
            })?;
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| invalid())
    }

    fn array(&mut self, depth: usize) -> SqlResult<Kind<'a>> {
        self.at += 1;
        let mut elements = Vec::new();
        self.skip_blanks();
        if self.take(b']') {
            return Ok(Kind::Array(elements));
        }
        loop {
            self.skip_blanks();
            elements.push(self.node(depth + 1)?);
            self.skip_blanks();
            if self.take(b']') {
                return Ok(Kind::Array(elements));
            }
            if !self.take(b',') {
                return Err(self.unexpected());
            }
        }
    }

    fn object(&mut self, depth: usize) -> SqlResult<Kind<'a>> {
        self.at += 1;
        let mut pairs = Vec::new();
        self.skip_blanks();
        if self.take(b'}') {
            return Ok(Kind::Object(pairs));
        }
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let key = self.string()?;
            self.skip_blanks();
            if !self.take(b':') {
                return Err(self.unexpected());
            }
            self.skip_blanks();
            pairs.push((key, self.node(depth + 1)?));
            self.skip_blanks();
            if self.take(b'}') {
                return Ok(Kind::Object(pairs));
            }
            if !self.take(b',') {
                return Err(self.unexpected());
            }
        }
    }
}
