//! Words as the texts of vectors and queries write them: `word`, `'a word'`, `:1A,2`.
//!
//! Relies on: nothing.  Promises: reads what PostgreSQL reads.  Does not: know operators of queries, but that a bare word ends at one.

use crate::error::{Error, Result};
use crate::letters::is_space;
use crate::vector::{POSITION_MAX, Position};

/// No word has more bytes.
pub const WORD_BYTES_MAX: usize = 2046;

/// A text that is being read.
pub struct Reader<'t> {
    /// All of it.
    pub text: &'t str,
    /// How far it is read.
    pub at: usize,
    /// What it is, for messages.
    pub what: &'static str,
}

impl<'t> Reader<'t> {
    /// At the beginning of a text.
    pub fn new(text: &'t str, what: &'static str) -> Reader<'t> {
        Reader { text, at: 0, what }
    }

    /// The next character.
    pub fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// The next character, which is passed.
    pub fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Passes blanks.
    pub fn blanks(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.take();
        }
    }

    /// That the text is wrong.
    pub fn wrong(&self) -> Error {
        Error::Syntax(format!("syntax error in {}: \"{}\"", self.what, self.text))
    }

    fn escaped(&mut self) -> Result<char> {
        self.take().ok_or_else(|| {
            Error::Syntax(format!("there is no escaped character: \"{}\"", self.text))
        })
    }

    /// A word, which begins here. `operators`: it ends at one.
    pub fn word(&mut self, operators: bool) -> Result<String> {
        let mut word = String::new();
        if self.peek() == Some('\'') {
            self.take();
            loop {
                match self.take() {
                    Some('\'') if self.peek() == Some('\'') => {
                        self.take();
                        word.push('\'');
                    }
                    Some('\'') => break,
                    Some('\\') => word.push(self.escaped()?),
                    Some(c) => word.push(c),
                    None => return Err(self.wrong()),
                }
            }
        } else {
            while let Some(c) = self.peek() {
                let ends = is_space(c)
                    || c == ':' && (operators || !word.is_empty())
                    || operators && is_operator(c);
                if ends {
                    break;
                }
                self.take();
                match c {
                    '\\' => word.push(self.escaped()?),
                    c => word.push(c),
                }
            }
        }
        match word.is_empty() {
            true => Err(self.wrong()),
            false => Ok(word),
        }
    }

    /// Positions behind a word, if there are any.
    pub fn positions(&mut self) -> Result<Vec<Position>> {
        let mut found = Vec::new();
        if self.peek() != Some(':') {
            return Ok(found);
        }
        loop {
            // The colon or a comma.
            self.take();
            let start = self.at;
            while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                self.take();
            }
            if self.at == start {
                return Err(self.wrong());
            }
            let digits = &self.text[start..self.at];
            let place = digits
                .parse()
                .unwrap_or(u64::MAX)
                .min(u64::from(POSITION_MAX)) as u16;
            if place == 0 {
                let message = format!("wrong position info in {}: \"{}\"", self.what, self.text);
                return Err(Error::Syntax(message));
            }
            let mut weight = None;
            loop {
                let given = match self.peek() {
                    Some(',') => break,
                    None => break,
                    Some(c) if is_space(c) => break,
                    Some('a' | 'A' | '*') => 3,
                    Some('b' | 'B') => 2,
                    Some('c' | 'C') => 1,
                    Some('d' | 'D') => 0,
                    // Digits behind the weight are passed, as PostgreSQL does.
                    Some(c) if c.is_ascii_digit() => {
                        self.take();
                        continue;
                    }
                    _ => return Err(self.wrong()),
                };
                if weight.is_some_and(|weight| weight > 0) {
                    return Err(self.wrong());
                }
                weight = Some(given);
                self.take();
            }
            found.push(Position::new(place, weight.unwrap_or(0)));
            if self.peek() != Some(',') {
                return Ok(found);
            }
        }
    }
}

pub(crate) fn is_operator(c: char) -> bool {
    matches!(c, '!' | '&' | '|' | '(' | ')' | '<')
}

/// Refuses a word that is too long.
pub fn check_length(word: &str) -> Result<()> {
    match word.len() > WORD_BYTES_MAX {
        true => Err(Error::TooLong(format!(
            "word is too long ({} bytes, max {WORD_BYTES_MAX} bytes)",
            word.len()
        ))),
        false => Ok(()),
    }
}

/// Appends a word in quotes.
pub fn write_quoted(word: &str, out: &mut String) {
    out.push('\'');
    for c in word.chars() {
        if matches!(c, '\'' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('\'');
}
