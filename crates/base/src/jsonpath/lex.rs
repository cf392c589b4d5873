//! The words of a path's text.
//!
//! Promises: PostgreSQL's words, and with each what its messages show of it: of a name only what stands
//! behind it, and nothing of it if that is a sign.  Does not: know what may follow what.

use crate::error::{SqlError, SqlResult, SqlState};

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// A name, or a word of the language.
    Name(String),
    /// `"…"`
    Text(String),
    /// `$name`, `$"name"`
    Variable(String),
    /// Digits alone.
    Integer(String),
    /// Any other number.
    Number(String),
    /// A sign, of one character or two.
    Sign(&'static str),
    /// The text is over.
    End,
}

/// Those of two characters first.
const SIGNS: &[&str] = &[
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "!", "<", ">", "?", "%", "$", ".", "[", "]",
    "{", "}", "(", ")", "|", "&", "=", "@", "#", ",", "*", ":", "-", "+", "/",
];

/// What a name may hold: anything but blanks, signs, quotes and backslashes.
fn is_other(byte: u8) -> bool {
    !is_blank(byte) && !is_sign(byte) && byte != b'"' && byte != b'\\'
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 12)
}

fn is_sign(byte: u8) -> bool {
    b"?%$.[]{}()|&!=<>@#,*:-+/".contains(&byte)
}

/// Reads a text word by word.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// What a message shows of the word read last.
    shown: String,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer {
            text,
            at: 0,
            shown: String::new(),
        }
    }

    /// `42601` where the word read last is.
    pub(super) fn error(&self, message: &str) -> SqlError {
        let place = match self.shown.as_str() {
            "" => "at end of jsonpath input".to_string(),
            shown => format!("at or near \"{shown}\" of jsonpath input"),
        };
        SqlError::new(SqlState::SYNTAX_ERROR, format!("{message} {place}"))
    }

    fn error_near(&mut self, message: &str, from: usize, to: usize) -> SqlError {
        self.shown = self.text[from..self.text.ceil_char_boundary(to)].to_string();
        self.error(message)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn run(&self, from: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text.as_bytes()[from.min(self.text.len())..];
        rest.iter().position(|b| !is(*b)).unwrap_or(rest.len())
    }

    /// The next word.
    pub(super) fn next(&mut self) -> SqlResult<Word> {
        loop {
            self.at += self.run(self.at, is_blank);
            if self.text[self.at..].starts_with("/*") {
                self.comment()?;
            } else if let Some(word) = self.word()? {
                return Ok(word);
            }
        }
    }

    /// The word that begins here; `None` for a name that a comment swallows.
    fn word(&mut self) -> SqlResult<Option<Word>> {
        let start = self.at;
        let Some(first) = self.byte(start) else {
            self.shown.clear();
            return Ok(Some(Word::End));
        };
        if first == b'"' {
            self.at += 1;
            return Ok(Some(Word::Text(self.quoted()?)));
        }
        if first == b'$' {
            let length = self.run(start + 1, is_other);
            if length > 0 {
                self.at = start + 1 + length;
                self.shown = self.text[start..self.at].to_string();
                let name = self.text[start + 1..self.at].to_string();
                return Ok(Some(Word::Variable(name)));
            }
            if self.byte(start + 1) == Some(b'"') {
                self.at += 2;
                return Ok(Some(Word::Variable(self.quoted()?)));
            }
        }
        if first.is_ascii_digit()
            || first == b'.' && self.byte(start + 1).is_some_and(|b| b.is_ascii_digit())
        {
            return self.number();
        }
        let rest = &self.text[start..];
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            self.at += sign.len();
            self.shown = sign.to_string();
            return Ok(Some(Word::Sign(sign)));
        }
        self.name()
    }

    /// From `/*` to `*/`.
    fn comment(&mut self) -> SqlResult<()> {
        match self.text[self.at + 2..].find("*/") {
            Some(length) => {
                self.at += length + 4;
                Ok(())
            }
            None => {
                self.shown.clear();
                Err(self.error("unexpected end of comment"))
            }
        }
    }

    /// A number, unless more of the text can be read as a name: `12ab` is one.
    fn number(&mut self) -> SqlResult<Option<Word>> {
        let start = self.at;
        let digits = |lexer: &Lexer, at| lexer.run(at, |b| b.is_ascii_digit());
        let mut at = start;
        // A zero is a whole number of its own.
        at += match self.byte(at) {
            Some(b'0') => 1,
            _ => digits(self, at),
        };
        let mut is_integer = true;
        if self.byte(at) == Some(b'.') {
            is_integer = false;
            at += 1;
            at += digits(self, at);
        }
        let mut wrong = None;
        if matches!(self.byte(at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte(at + 1), Some(b'+' | b'-')));
            let exponent = digits(self, at + 1 + sign);
            if exponent > 0 {
                is_integer = false;
                at += 1 + sign + exponent;
            } else if sign > 0 {
                at += 2;
                wrong = Some("invalid numeric literal");
            }
        }
        if wrong.is_none() && self.byte(at).is_some_and(is_other) {
            at += 1;
            wrong = Some("trailing junk after numeric literal");
        }
        if start + self.run(start, is_other) > at {
            return self.name();
        }
        if let Some(message) = wrong {
            return Err(self.error_near(message, start, at));
        }
        self.at = at;
        let text = self.text[start..at].to_string();
        self.shown.clone_from(&text);
        Ok(Some(match is_integer {
            true => Word::Integer(text),
            false => Word::Number(text),
        }))
    }

    /// A name; a comment that follows at once swallows it, as it does in PostgreSQL.
    fn name(&mut self) -> SqlResult<Option<Word>> {
        let mut out = String::new();
        loop {
            let length = self.run(self.at, is_other);
            out.push_str(&self.text[self.at..self.at + length]);
            self.at += length;
            match self.byte(self.at) {
                Some(b'\\') => self.escape(&mut out)?,
                Some(byte) if is_blank(byte) => {
                    let blanks = self.run(self.at, is_blank);
                    self.shown = self.text[self.at..self.at + blanks].to_string();
                    self.at += blanks;
                    return Ok(Some(Word::Name(out)));
                }
                Some(b'/') if self.byte(self.at + 1) == Some(b'*') => {
                    self.comment()?;
                    return Ok(None);
                }
                _ => {
                    self.shown.clear();
                    return Ok(Some(Word::Name(out)));
                }
            }
        }
    }

    /// What is behind a quote, and the quote that ends it.
    fn quoted(&mut self) -> SqlResult<String> {
        let mut out = String::new();
        loop {
            let length = self.run(self.at, |b| b != b'"' && b != b'\\');
            out.push_str(&self.text[self.at..self.at + length]);
            self.at += length;
            match self.byte(self.at) {
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => {
                    self.at += 1;
                    self.shown = "\"".to_string();
                    return Ok(out);
                }
                None => {
                    self.shown.clear();
                    return Err(self.error("unexpected end of quoted string"));
                }
            }
        }
    }

    /// A backslash and what belongs to it; of characters by number as many as follow each other.
    fn escape(&mut self, out: &mut String) -> SqlResult<()> {
        let start = self.at;
        let plain = match self.byte(start + 1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'v') => '\u{b}',
            Some(b'u') => return self.by_number(out),
            Some(b'x') => {
                let digits = self.run(start + 2, |b| b.is_ascii_hexdigit()).min(2);
                if digits < 2 {
                    let end = start + 2 + digits;
                    return Err(self.error_near("invalid hex character sequence", start, end));
                }
                let code = u32::from_str_radix(&self.text[start + 2..start + 4], 16);
                self.at = start + 4;
                return push_code(out, code.unwrap_or(0));
            }
            None | Some(b'\n') => {
                return Err(self.error_near("unexpected end after backslash", start, start + 1));
            }
            Some(_) => self.text[start + 1..].chars().next().unwrap_or('\\'),
        };
        self.at = start + 1 + plain_bytes(self.byte(start + 1), plain);
        out.push(plain);
        Ok(())
    }

    /// `\uXXXX` and `\u{X…}`: halves of a character stand beside each other.
    fn by_number(&mut self, out: &mut String) -> SqlResult<()> {
        let start = self.at;
        let mut codes = Vec::new();
        while self.text[self.at..].starts_with("\\u") {
            let braces = self.byte(self.at + 2) == Some(b'{');
            let from = self.at + 2 + usize::from(braces);
            let digits = self.run(from, |b| b.is_ascii_hexdigit());
            let (least, most) = if braces { (1, 6) } else { (4, 4) };
            let taken = digits.min(most);
            let closed = !braces || self.byte(from + taken) == Some(b'}');
            if taken < least || !closed {
                return Err(self.error_near("invalid unicode sequence", start, from + taken));
            }
            let code = u32::from_str_radix(&self.text[from..from + taken], 16);
            codes.push(code.unwrap_or(0));
            self.at = from + taken + usize::from(braces);
        }
        let mut high = None;
        for code in codes {
            match (code, high.take()) {
                (0xD800..=0xDBFF, None) => high = Some(code),
                (0xD800..=0xDBFF, Some(_)) => {
                    return Err(halves(
                        "Unicode high surrogate must not follow a high surrogate.",
                    ));
                }
                (0xDC00..=0xDFFF, Some(high)) => {
                    push_code(out, 0x1_0000 + ((high - 0xD800) << 10) + (code - 0xDC00))?;
                }
                (0xDC00..=0xDFFF, None) | (_, Some(_)) => return Err(no_low()),
                (code, None) => push_code(out, code)?,
            }
        }
        match high {
            Some(_) => Err(no_low()),
            None => Ok(()),
        }
    }
}

/// How many bytes of the text a plain escape has behind its backslash.
fn plain_bytes(written: Option<u8>, character: char) -> usize {
    match written {
        Some(byte) if byte.is_ascii() => 1,
        _ => character.len_utf8(),
    }
}

fn halves(detail: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        "invalid input syntax for type jsonpath",
    )
    .detail(detail.to_string())
}

fn no_low() -> SqlError {
    halves("Unicode low surrogate must follow a high surrogate.")
}

fn push_code(out: &mut String, code: u32) -> SqlResult<()> {
    if code == 0 {
        let error = SqlError::new(SqlState(*b"22P05"), "unsupported Unicode escape sequence");
        return Err(error.detail("\\u0000 cannot be converted to text."));
    }
    let character = char::from_u32(code)
        .ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, "invalid Unicode code point"))?;
    out.push(character);
    Ok(())
}
