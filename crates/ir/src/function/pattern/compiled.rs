//! A pattern that is ready to be looked for.
//!
//! Relies on: the `regex` crate, whose time is linear in the text, and for back references and
//! lookaround, which it cannot do, on `fancy-regex`, which tries ways one after the other, at most
//! so many.  Promises: PostgreSQL's syntax, as far as the crates have it, its options at the
//! beginning of a pattern, and its order of matches: each begins where the one before ended, a
//! character later if that one was empty.  Does not: have collating elements.  Where several
//! alternatives match, the first written wins, not the longest.

use super::Options;
use quintet_base::{SqlResult, SqlState};
use std::ops::Range;
use std::sync::OnceLock;

/// Largest compiled pattern in bytes: the crate's own default, written down.
const COMPILED_BYTES_MAX: usize = 10 * 1024 * 1024;

/// How often a pattern with back references may turn back for one match: some tens of milliseconds.
const TURNS_MAX: usize = 1_000_000;

/// A compiled pattern.
pub(super) enum Pattern {
    Linear(regex::Regex),
    Turning(Box<fancy_regex::Regex>),
}

/// Where the whole match and each group lies in the text, in bytes.
pub(super) struct Found {
    groups: Vec<Option<Range<usize>>>,
}

impl Found {
    pub(super) fn whole(&self) -> Range<usize> {
        self.groups.first().cloned().flatten().unwrap_or(0..0)
    }

    /// The part of a text that a group matches, from 1; 0 is the whole.
    pub(super) fn group<'t>(&self, text: &'t str, number: usize) -> Option<&'t str> {
        text.get(self.range(number)?)
    }

    pub(super) fn range(&self, number: usize) -> Option<Range<usize>> {
        self.groups.get(number).cloned().flatten()
    }

    /// How many groups the pattern has.
    pub(super) fn count(&self) -> usize {
        self.groups.len() - 1
    }
}

impl Pattern {
    /// Makes a pattern ready.
    ///
    /// # Errors
    /// `2201B`.
    pub(super) fn compile(pattern: &str, options: Options) -> SqlResult<Pattern> {
        let (pattern, options) = options_within(pattern, options);
        let (pattern, turns) = match options.literal {
            true => (regex::escape(pattern), false),
            false => translate(pattern),
        };
        if !turns {
            let compiled = regex::RegexBuilder::new(&pattern)
                .case_insensitive(options.any_case)
                // In PostgreSQL a dot matches a line break, and ^ and $ only the ends of the text.
                .dot_matches_new_line(!options.lines && !options.dots_stop)
                .multi_line(options.lines || options.anchors_in_lines)
                .ignore_whitespace(options.expanded)
                .size_limit(COMPILED_BYTES_MAX)
                .build();
            return compiled.map(Pattern::Linear).map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => too_complex(),
                error => invalid(&error.to_string()),
            });
        }
        let flags = [
            (options.any_case, 'i'),
            (!options.lines && !options.dots_stop, 's'),
            (options.lines || options.anchors_in_lines, 'm'),
            (options.expanded, 'x'),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set);
        let flags: String = flags.map(|(_, flag)| flag).collect();
        let pattern = match flags.is_empty() {
            true => pattern,
            false => format!("(?{flags}){pattern}"),
        };
        let compiled = fancy_regex::RegexBuilder::new(&pattern)
            .backtrack_limit(TURNS_MAX)
            .delegate_size_limit(COMPILED_BYTES_MAX)
            .build();
        compiled
            .map(|pattern| Pattern::Turning(Box::new(pattern)))
            .map_err(|error| invalid(&error.to_string()))
    }

    /// Whether it matches somewhere.
    ///
    /// # Errors
    /// `2201B` for one that turns back too often.
    pub(super) fn is_match(&self, text: &str) -> SqlResult<bool> {
        match self {
            Pattern::Linear(regex) => Ok(regex.is_match(text)),
            Pattern::Turning(regex) => regex.is_match(text).map_err(|_| too_complex()),
        }
    }

    /// The first match that begins at a byte of the text or behind it.
    ///
    /// # Errors
    /// As [`Pattern::is_match`].
    pub(super) fn find_at(&self, text: &str, from: usize) -> SqlResult<Option<Found>> {
        let groups = match self {
            Pattern::Linear(regex) => regex.captures_at(text, from).map(|found| {
                let ranges = found.iter().map(|group| group.map(|group| group.range()));
                ranges.collect()
            }),
            Pattern::Turning(regex) => {
                let found = regex.captures_from_pos(text, from);
                let found = found.map_err(|_| too_complex())?;
                found.map(|found| {
                    let ranges = found.iter().map(|group| group.map(|group| group.range()));
                    ranges.collect()
                })
            }
        };
        Ok(groups.map(|groups| Found { groups }))
    }

    /// All matches from a byte of the text on.
    pub(super) fn all<'p>(&'p self, text: &'p str, from: usize) -> Matches<'p> {
        Matches {
            pattern: self,
            text,
            next: Some(from),
        }
    }
}

/// Matches of a pattern, one after the other.
pub(super) struct Matches<'p> {
    pattern: &'p Pattern,
    text: &'p str,
    next: Option<usize>,
}

impl Iterator for Matches<'_> {
    type Item = SqlResult<Found>;

    fn next(&mut self) -> Option<SqlResult<Found>> {
        let from = self.next.take()?;
        let found = match self.pattern.find_at(self.text, from).transpose()? {
            Ok(found) => found,
            Err(error) => return Some(Err(error)),
        };
        let whole = found.whole();
        self.next = match whole.is_empty() {
            false => Some(whole.end),
            // Past the next character, or over.
            true => {
                let behind = self.text[whole.end..].chars().next();
                behind.map(|passed| whole.end + passed.len_utf8())
            }
        };
        Some(Ok(found))
    }
}

fn too_complex() -> quintet_base::SqlError {
    invalid("regular expression is too complex")
}

fn invalid(reason: &str) -> quintet_base::SqlError {
    // The crate draws the pattern first; its last line says what is wrong.
    let last = reason.lines().last().unwrap_or_default();
    let reason = last.trim_start_matches("error: ");
    quintet_base::SqlError::new(
        SqlState(*b"2201B"),
        format!("invalid regular expression: {reason}"),
    )
}

/// What a pattern says itself of how it is to be read: `***:` or `***=`, then `(?letters)`.
pub(super) fn options_within(pattern: &str, mut options: Options) -> (&str, Options) {
    if options.literal {
        return (pattern, options);
    }
    if let Some(plain) = pattern.strip_prefix("***=") {
        options.literal = true;
        return (plain, options);
    }
    let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    let Some((letters, rest)) = pattern
        .strip_prefix("(?")
        .and_then(|behind| behind.split_once(')'))
    else {
        return (pattern, options);
    };
    if letters.is_empty() || !letters.bytes().all(|letter| letter.is_ascii_lowercase()) {
        return (pattern, options);
    }
    match options.with(letters) {
        Ok(options) => (rest, options),
        Err(_) => (pattern, options),
    }
}

/// A class of letters within brackets, which has those of all alphabets; digits are those of ASCII only.
fn letters_of(class: &str) -> Option<&'static str> {
    static UPPER: OnceLock<String> = OnceLock::new();
    static LOWER: OnceLock<String> = OnceLock::new();
    Some(match class {
        ":alpha:]" => r"[\w&&[^0-9_]]",
        ":alnum:]" => r"[\w&&[^_]]",
        ":upper:]" => UPPER.get_or_init(|| ranges_of(char::is_uppercase)),
        ":lower:]" => LOWER.get_or_init(|| ranges_of(char::is_lowercase)),
        ":punct:]" => r"[^\w\s\x00-\x1F\x7F-\x9F]_",
        ":space:]" => r"\s",
        ":word:]" => r"\w",
        ":graph:]" => r"[^\s\x00-\x1F\x7F-\x9F]",
        ":print:]" => r"[^\x00-\x1F\x7F-\x9F]",
        _ => return None,
    })
}

/// The characters of a kind as ranges: the crates are built without tables of what letters are.
fn ranges_of(is_it: fn(char) -> bool) -> String {
    let mut out = String::new();
    let mut from = None;
    let mut last = '\0';
    for c in (char::MIN..=char::MAX).chain([char::MIN]) {
        // Behind the last one comes the first, which is of no kind.
        match (from, is_it(c)) {
            (None, true) => from = Some(c),
            (Some(first), false) => {
                out.push_str(&format!(
                    r"\x{{{:x}}}-\x{{{:x}}}",
                    u32::from(first),
                    u32::from(last)
                ));
                from = None;
            }
            _ => {}
        }
        last = c;
    }
    out
}

/// PostgreSQL's escapes that the crates write differently, and whether the pattern has what only
/// trying can find.
pub(super) fn translate(pattern: &str) -> (String, bool) {
    let mut out = String::with_capacity(pattern.len());
    let mut turns = false;
    let mut in_brackets = false;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if in_brackets {
            in_brackets = c != ']';
            out.push(c);
            // Within brackets a class ends with its own: [[:alpha:]].
            if c == '['
                && rest.starts_with([':', '.', '='])
                && let Some(end) = rest.find(']')
            {
                match letters_of(&rest[..=end]) {
                    // The bracket that opened the class.
                    Some(letters) => {
                        out.pop();
                        out.push_str(letters);
                    }
                    None => out.push_str(&rest[..=end]),
                }
                rest = &rest[end + 1..];
            } else if c == '\\'
                && let Some(next) = rest.chars().next()
            {
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
            continue;
        }
        match c {
            '[' if rest.starts_with("[:<:]]") || rest.starts_with("[:>:]]") => {
                out.push_str(match rest.starts_with("[:<:]]") {
                    true => r"\b{start}",
                    false => r"\b{end}",
                });
                rest = &rest["[:<:]]".len()..];
            }
            '[' => {
                in_brackets = true;
                out.push('[');
                // The first bracket of a set is a member of it.
                for member in ["^]", "]", "^"] {
                    if let Some(behind) = rest.strip_prefix(member) {
                        out.push_str(match member {
                            "^]" => r"^\]",
                            "]" => r"\]",
                            member => member,
                        });
                        rest = behind;
                        break;
                    }
                }
            }
            '(' => {
                let looks = ["?=", "?!", "?<=", "?<!"];
                turns |= looks.iter().any(|look| rest.starts_with(look));
                out.push('(');
            }
            '\\' => {
                let Some(next) = rest.chars().next() else {
                    out.push('\\');
                    break;
                };
                rest = &rest[next.len_utf8()..];
                match next {
                    'm' => out.push_str(r"\b{start}"),
                    'M' => out.push_str(r"\b{end}"),
                    'y' => out.push_str(r"\b"),
                    'Y' => out.push_str(r"\B"),
                    'Z' => out.push_str(r"\z"),
                    'e' => out.push_str(r"\x1B"),
                    'b' => out.push_str(r"\x08"),
                    'B' => out.push_str(r"\\"),
                    '0' => out.push_str(r"\x00"),
                    '1'..='9' => {
                        turns = true;
                        out.extend(['\\', next]);
                    }
                    next => out.extend(['\\', next]),
                }
            }
            c => out.push(c),
        }
    }
    if turns {
        // The crate that turns has no other words for the ends of words.
        out = out
            .replace(r"\b{start}", r"(?:(?<!\w)(?=\w))")
            .replace(r"\b{end}", r"(?:(?<=\w)(?!\w))");
    }
    (out, turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(pattern: &str, text: &str) -> Vec<Range<usize>> {
        let pattern = Pattern::compile(pattern, Options::default()).unwrap();
        let all = pattern.all(text, 0);
        all.map(|found| found.unwrap().whole()).collect()
    }

    #[test]
    fn what_needs_no_turning_back_takes_none() {
        for (pattern, turns) in [
            (r"a(b|c)\d", false),
            ("[(?=]", false),
            (r"(a)\1", true),
            ("(?=a)", true),
            ("(?<!a)b", true),
            ("(?:a)(?i:b)", false),
        ] {
            let compiled = Pattern::compile(pattern, Options::default()).unwrap();
            assert_eq!(matches!(compiled, Pattern::Turning(_)), turns, "{pattern}");
        }
    }

    #[test]
    fn an_empty_match_may_stand_behind_another() {
        assert_eq!(spans("a*", "baaac"), [0..0, 1..4, 4..4, 5..5]);
        assert_eq!(spans("(?=b)", "aXbbXb"), [2..2, 3..3, 5..5]);
        assert_eq!(spans("x*", "\u{e4}b"), [0..0, 2..2, 3..3]);
    }

    #[test]
    fn a_pattern_that_turns_back_too_often_is_given_up() {
        let pattern = Pattern::compile(r"(a*)*\1b", Options::default()).unwrap();
        let error = pattern.is_match(&"a".repeat(40)).unwrap_err();
        assert_eq!(error.state, SqlState(*b"2201B"));
    }
}
