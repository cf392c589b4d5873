//! Cuts the text of a date, a time or a moment into fields.
//!
//! Relies on: nothing.  Promises: fields are told apart by what they are made of and by the signs
//! that hold them together, as PostgreSQL does; what else stands between them is a gap.  Does not:
//! know what a field means.
//!
//! ```text
//! 2024-01-31 12:34:56.7 +02          Date  Time  Offset
//! Fri Jan 31 12:34:56 2024 PST       Word  Word  Number  Time  Number  Word
//! J2451187                           Word  Number
//! 2024-01-31T123456                  Date  Word  Number
//! ```

use super::words::{self, Word};

/// More fields than any date has.
const FIELDS_MAX: usize = 25;

/// What a field is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Digits and letters held together by `-`, `/` or `.`; also names of zones.
    Date,
    /// Digits with `:`.
    Time,
    /// Digits, perhaps with a point.
    Number,
    /// Letters.
    Word,
    /// A sign and digits: behind the sign, which may be followed by blanks.
    Offset {
        /// Whether the sign is a minus.
        minus: bool,
    },
    /// A sign and letters: the letters.
    Signed {
        /// Whether the sign is a minus.
        minus: bool,
    },
}

/// A field of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
}

/// The fields of a text in lower case; `None` if it is no date whatever they mean.
pub(super) fn split(text: &str) -> Option<Vec<Field<'_>>> {
    let mut fields = Vec::with_capacity(4);
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        let Some(first) = rest.bytes().next() else {
            return Some(fields);
        };
        if fields.len() == FIELDS_MAX {
            return None;
        }
        let (kind, skipped, length) = match first {
            b'0'..=b'9' => {
                let (kind, length) = of_digits(rest);
                (kind, 0, length)
            }
            b'.' => (Kind::Number, 0, 1 + digits(&rest[1..])),
            b'a'..=b'z' => {
                let (kind, length) = of_letters(rest);
                (kind, 0, length)
            }
            b'+' | b'-' => {
                let behind = rest[1..].trim_start_matches(|c: char| c.is_ascii_whitespace());
                let skipped = rest.len() - behind.len();
                let minus = first == b'-';
                match behind.bytes().next() {
                    Some(b'0'..=b'9') => {
                        let belongs = |c: u8| c.is_ascii_digit() || matches!(c, b':' | b'.' | b'-');
                        (Kind::Offset { minus }, skipped, run(behind, belongs))
                    }
                    Some(b'a'..=b'z') => (Kind::Signed { minus }, skipped, run(behind, is_letter)),
                    _ => return None,
                }
            }
            c if c.is_ascii_punctuation() => {
                rest = &rest[1..];
                continue;
            }
            _ => return None,
        };
        let (text, behind) = rest[skipped..].split_at(length);
        fields.push(Field { kind, text });
        rest = behind;
    }
}

/// How many bytes at the beginning belong together. All that belongs is ASCII.
fn run(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes()
        .position(|byte| !belongs(byte))
        .unwrap_or(text.len())
}

fn digits(text: &str) -> usize {
    run(text, |byte| byte.is_ascii_digit())
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_lowercase()
}

/// The kind and the length of a field that begins with a digit.
fn of_digits(text: &str) -> (Kind, usize) {
    let first = digits(text);
    let at = |place: usize| text.as_bytes().get(place).copied();
    let separator = match at(first) {
        Some(b':') => {
            let belongs = |c: u8| c.is_ascii_digit() || matches!(c, b':' | b'.');
            return (Kind::Time, run(text, belongs));
        }
        Some(separator @ (b'-' | b'/' | b'.')) => separator,
        _ => return (Kind::Number, first),
    };
    let behind = first + 1;
    if !at(behind).is_some_and(|byte| byte.is_ascii_digit()) {
        let belongs = |c: u8| c.is_ascii_alphanumeric() || c == separator;
        return (Kind::Date, behind + run(&text[behind..], belongs));
    }
    let second = behind + digits(&text[behind..]);
    if at(second) == Some(separator) {
        let belongs = |c: u8| c.is_ascii_digit() || c == separator;
        return (Kind::Date, second + run(&text[second..], belongs));
    }
    // Two numbers with a point between them may be one.
    let kind = match separator {
        b'.' => Kind::Number,
        _ => Kind::Date,
    };
    (kind, second)
}

/// The kind and the length of a field that begins with a letter.
fn of_letters(text: &str) -> (Kind, usize) {
    let letters = run(text, is_letter);
    let goes_on = match text.as_bytes().get(letters) {
        Some(b'-' | b'/' | b'.') => true,
        // `jan08` and `j2451187` are two fields, `utc+3` is one.
        Some(b'+' | b'0'..=b'9') => words::find(&text[..letters]) == Word::Unknown,
        _ => false,
    };
    if !goes_on {
        return (Kind::Word, letters);
    }
    let belongs =
        |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'/' | b'_' | b'.' | b':');
    (Kind::Date, run(text, belongs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> String {
        let Some(fields) = split(text) else {
            return "none".to_string();
        };
        let words = fields.iter().map(|field| {
            let kind = match field.kind {
                Kind::Date => "date",
                Kind::Time => "time",
                Kind::Number => "number",
                Kind::Word => "word",
                Kind::Offset { minus: false } => "+",
                Kind::Offset { minus: true } => "-",
                Kind::Signed { .. } => "signed",
            };
            format!("{kind} {}", field.text)
        });
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn fields_are_told_apart() {
        for (text, expected) in [
            (
                "2024-01-31 12:34:56.7 +02",
                "date 2024-01-31, time 12:34:56.7, + 02",
            ),
            (
                "fri jan 31 12:34 2024 pst",
                "word fri, word jan, number 31, time 12:34, number 2024, word pst",
            ),
            ("j2451187", "word j, number 2451187"),
            ("jan08", "word jan, number 08"),
            ("utc+3", "date utc+3"),
            (
                "2024-01-31t123456",
                "date 2024-01-31, word t, number 123456",
            ),
            ("1999.008", "number 1999.008"),
            ("01.02.1999", "date 01.02.1999"),
            ("08-jan-99", "date 08-jan-99"),
            ("12:00 - 05:30", "time 12:00, - 05:30"),
            (
                "12:00 america/new_york",
                "time 12:00, date america/new_york",
            ),
            ("january 8, 1999", "word january, number 8, number 1999"),
            ("-infinity", "signed infinity"),
            (".5", "number .5"),
            ("12:00 +", "none"),
            ("1999-01-08 \u{e4}", "none"),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }
}
