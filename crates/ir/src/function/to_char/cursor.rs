//! A text that is read piece by piece.
//!
//! Promises: numbers of so many digits and words, with PostgreSQL's words for what is neither.

use quintet_base::{SqlError, SqlResult, SqlState};

pub(super) fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

fn bad_value(value: &str, field: &str, detail: impl Into<Box<str>>) -> SqlError {
    invalid(format!("invalid value \"{value}\" for \"{field}\"")).detail(detail)
}

const WIDTH_HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";

/// A text, and how far it is read.
pub(super) struct Cursor<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn first(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn advance(&mut self) {
        self.at += self.first().map_or(0, char::len_utf8);
    }

    pub(super) fn skip_blanks(&mut self) -> i64 {
        let mut skipped = 0;
        while self.first().is_some_and(is_blank) {
            self.advance();
            skipped += 1;
        }
        skipped
    }

    /// A sign and digits at the start of a text: how long they are, and their value, if it is one of 64 bits.
    pub(super) fn whole(text: &str) -> (usize, Option<i64>) {
        let sign = usize::from(text.starts_with(['-', '+']));
        let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
        match digits {
            0 => (0, Some(0)),
            _ => (sign + digits, text[..sign + digits].parse().ok()),
        }
    }

    /// A number, and how many characters it took, blanks before it included. `fixed`: it has exactly `width` characters.
    ///
    /// # Errors
    /// `22007` for no number and one that is too short, `22008` for one that is too large.
    pub(super) fn number(
        &mut self,
        width: usize,
        fixed: bool,
        name: &str,
    ) -> SqlResult<(i64, usize)> {
        let from = self.at;
        self.skip_blanks();
        let rest = self.rest();
        let shown: String = rest.chars().take(width).collect();
        let value = if fixed {
            let there = shown.len();
            if there < width {
                return Err(invalid(format!(
                    "source string too short for \"{name}\" formatting field"
                ))
                .detail(format!(
                    "Field requires {width} characters, but only {there} remain."
                ))
                .hint(WIDTH_HINT));
            }
            let (used, value) = Cursor::whole(&shown);
            if used > 0 && used < width {
                let detail =
                    format!("Field requires {width} characters, but only {used} could be parsed.");
                return Err(bad_value(&shown, name, detail).hint(WIDTH_HINT));
            }
            if used == 0 {
                return Err(bad_value(&shown, name, "Value must be an integer."));
            }
            self.at += used;
            value
        } else {
            let (used, value) = Cursor::whole(rest);
            if used == 0 {
                return Err(bad_value(&shown, name, "Value must be an integer."));
            }
            self.at += used;
            value
        };
        let value = value.filter(|value| i32::try_from(*value).is_ok());
        let value = value.ok_or_else(|| {
            SqlError::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("value for \"{name}\" in source string is out of range"),
            )
            .detail(format!(
                "Value must be in the range {} to {}.",
                i32::MIN,
                i32::MAX
            ))
        })?;
        Ok((value, self.at - from))
    }

    /// One of several words, in any case.
    pub(super) fn word(&mut self, words: &[&str], name: &str) -> SqlResult<i64> {
        let rest = self.rest();
        let is_here = |word: &str| {
            rest.get(..word.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(word))
        };
        let found = words.iter().enumerate().filter(|(_, word)| is_here(word));
        match found.max_by_key(|(_, word)| word.len()) {
            Some((at, word)) => {
                self.at += word.len();
                Ok(at as i64)
            }
            None => {
                let end = rest.find(is_blank).unwrap_or(rest.len());
                let detail =
                    "The given value did not match any of the allowed values for this field.";
                Err(bad_value(&rest[..end], name, detail))
            }
        }
    }
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}
