//! How a headline is to look, and how that is written.
//!
//! Relies on: nothing.  Promises: the names, bounds and errors that PostgreSQL has.  Does not: make headlines (`headline`).

use crate::error::{Error, Result};

/// What is put around words is no longer.
const MARK_BYTES_MAX: usize = 32767;

/// How a headline is to look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The whole text is shown.
    pub whole: bool,
    /// At most so many words.
    pub words_max: i32,
    /// At least so many.
    pub words_min: i32,
    /// It does not begin or end with words that have no more characters.
    pub short: i32,
    /// So many fragments at most; 0: one part.
    pub fragments: i32,
    /// Before a word that was found.
    pub start: String,
    /// Behind it.
    pub stop: String,
    /// Between fragments.
    pub between: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            whole: false,
            words_max: 35,
            words_min: 15,
            short: 3,
            fragments: 0,
            start: "<b>".to_string(),
            stop: "</b>".to_string(),
            between: " ... ".to_string(),
        }
    }
}

impl Options {
    /// Reads `MaxWords=10, StartSel="<i>"`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Options> {
        let mut options = Options::default();
        for (name, value) in pairs(text)? {
            let marks = ["startsel", "stopsel", "fragmentdelimiter"];
            if let Some(which) = marks
                .iter()
                .position(|mark| name.eq_ignore_ascii_case(mark))
                && value.len() > MARK_BYTES_MAX
            {
                let shown = ["StartSel", "StopSel", "FragmentDelimiter"][which];
                return Err(Error::Invalid(format!("value for \"{shown}\" is too long")));
            }
            let number = || {
                value.trim().parse::<i32>().map_err(|_| {
                    Error::Number(format!(
                        "invalid input syntax for type integer: \"{value}\""
                    ))
                })
            };
            match name.to_ascii_lowercase().as_str() {
                "maxwords" => options.words_max = number()?,
                "minwords" => options.words_min = number()?,
                "shortword" => options.short = number()?,
                "maxfragments" => options.fragments = number()?,
                "startsel" => options.start = value,
                "stopsel" => options.stop = value,
                "fragmentdelimiter" => options.between = value,
                "highlightall" => {
                    let truth = value.to_ascii_lowercase();
                    options.whole =
                        matches!(truth.as_str(), "1" | "on" | "true" | "t" | "y" | "yes");
                }
                _ => {
                    return Err(Error::Invalid(format!(
                        "unrecognized headline parameter: \"{name}\""
                    )));
                }
            }
        }
        let wrong = if options.whole {
            None
        } else if options.words_min >= options.words_max {
            Some("MinWords should be less than MaxWords")
        } else if options.words_min <= 0 {
            Some("MinWords should be positive")
        } else if options.short < 0 {
            Some("ShortWord should be >= 0")
        } else if options.fragments < 0 {
            Some("MaxFragments should be >= 0")
        } else {
            None
        };
        match wrong {
            Some(message) => Err(Error::Invalid(message.to_string())),
            None => Ok(options),
        }
    }

    /// How far a cover may reach.
    pub(crate) fn reach(&self) -> usize {
        let words = i64::from(self.words_max).saturating_mul(10).max(100);
        let reach = match self.fragments {
            fragments @ 1.. => words.saturating_mul(i64::from(fragments)),
            _ => words,
        };
        usize::try_from(reach).unwrap_or(usize::MAX)
    }
}

/// Names and values of a list of options.
fn pairs(text: &str) -> Result<Vec<(String, String)>> {
    let wrong = || Error::Syntax(format!("invalid parameter list format: \"{text}\""));
    let mut found = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars
            .next_if(|c| c.is_ascii_whitespace() || *c == ',')
            .is_some()
        {}
        if chars.peek().is_none() {
            return Ok(found);
        }
        let mut name = String::new();
        if chars.next_if_eq(&'"').is_some() {
            name = quoted(&mut chars, '"').ok_or_else(wrong)?;
        } else {
            while let Some(c) = chars.next_if(|c| *c != '=' && !c.is_ascii_whitespace()) {
                name.push(c);
            }
        }
        let blanks = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            while chars.next_if(char::is_ascii_whitespace).is_some() {}
        };
        blanks(&mut chars);
        if chars.next() != Some('=') {
            return Err(wrong());
        }
        blanks(&mut chars);
        let mut value = String::new();
        match chars.peek() {
            None => return Err(wrong()),
            Some(&quote @ ('"' | '\'')) => {
                chars.next();
                value = quoted(&mut chars, quote).ok_or_else(wrong)?;
            }
            Some(_) => {
                while let Some(c) = chars.next_if(|c| *c != ',' && !c.is_ascii_whitespace()) {
                    value.push(c);
                }
            }
        }
        found.push((name, value));
    }
}

/// Up to a quote that is not doubled.
fn quoted(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, quote: char) -> Option<String> {
    let mut text = String::new();
    loop {
        match chars.next()? {
            c if c == quote && chars.next_if_eq(&quote).is_none() => return Some(text),
            c => text.push(c),
        }
    }
}
