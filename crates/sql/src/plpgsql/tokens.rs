//! The words of a body and their places.
//!
//! Relies on: the scanner of PostgreSQL's grammar, through `parse`.  Promises: comments are left
//! out; a word is compared as PL/pgSQL does it: without regard to case, and never equal to a name
//! in double quotes.  Does not: know which words are reserved where.

use crate::parse;
use quintet_base::SqlResult;

/// The longest name: PostgreSQL cuts longer ones.
const NAME_BYTES_MAX: usize = 63;

/// Whether the parts of a name are those of an enum or a domain.
pub(crate) type Single<'a> = &'a dyn Fn(&[&str]) -> bool;

/// The words of a body.
pub(crate) struct Tokens<'a> {
    /// The body.
    pub source: &'a str,
    /// Says of names that are no types of PostgreSQL's whether they are types with a single value.
    pub single: Single<'a>,
    places: Vec<(usize, usize)>,
}

impl<'a> Tokens<'a> {
    /// Takes a body apart.
    pub(crate) fn of(source: &'a str, single: Single<'a>) -> SqlResult<Tokens<'a>> {
        let mut places = parse::scan(source)?;
        places.retain(|&(start, end)| {
            let text = source.get(start..end).unwrap_or_default();
            !text.starts_with("--") && !text.starts_with("/*")
        });
        Ok(Tokens {
            source,
            single,
            places,
        })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The text of one; nothing behind the last.
    pub(crate) fn text(&self, at: usize) -> &'a str {
        match self.places.get(at) {
            Some(&(start, end)) => self.source.get(start..end).unwrap_or_default(),
            None => "",
        }
    }

    /// Where one begins; the end of the body behind the last.
    pub(crate) fn start(&self, at: usize) -> usize {
        self.places
            .get(at)
            .map_or(self.source.len(), |place| place.0)
    }

    /// Where one ends.
    pub(crate) fn end(&self, at: usize) -> usize {
        self.places
            .get(at)
            .map_or(self.source.len(), |place| place.1)
    }

    /// The line that one begins in.
    pub(crate) fn line(&self, at: usize) -> u32 {
        line(self.source, self.start(at))
    }

    /// True if it is this word; give it in small letters.
    pub(crate) fn is(&self, at: usize, word: &str) -> bool {
        self.text(at).eq_ignore_ascii_case(word)
    }

    /// True if it is one of these words.
    pub(crate) fn is_any(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }

    /// The name that it is: folded to small letters unless quoted, and cut.
    pub(crate) fn name(&self, at: usize) -> Option<String> {
        let text = self.text(at);
        let first = text.chars().next()?;
        let mut name = if first == '"' {
            text.strip_prefix('"')?
                .strip_suffix('"')?
                .replace("\"\"", "\"")
        } else if first.is_ascii_alphabetic() || first == '_' || !first.is_ascii() {
            // What has a quote in it is a literal with a letter before it.
            if text.contains(['\'', '"']) {
                return None;
            }
            text.to_ascii_lowercase()
        } else {
            return None;
        };
        name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
        Some(name)
    }

    /// The first at or behind `at` that is this word or sign outside of parentheses and brackets;
    /// the end if there is none.
    pub(crate) fn find_outside(&self, mut at: usize, words: &[&str]) -> usize {
        let mut depth = 0_usize;
        while at < self.len() {
            if depth == 0 && self.is_any(at, words) {
                return at;
            }
            match self.text(at) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// The token that begins at or behind a byte.
    pub(crate) fn first_behind(&self, offset: usize) -> usize {
        self.places.partition_point(|&(start, _)| start < offset)
    }
}

/// The line of a byte, from 1, as PostgreSQL counts: what stands behind the opening quote is in
/// line 1, even if nothing does.
pub(crate) fn line(source: &str, offset: usize) -> u32 {
    let before = source.as_bytes().get(..offset).unwrap_or(source.as_bytes());
    let ends = before.iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(ends + 1).unwrap_or(u32::MAX)
}
