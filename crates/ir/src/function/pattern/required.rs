//! What a text must have to match a regular expression.
//!
//! Relies on: `regex-syntax`, which reads patterns for `regex`.  Promises: a text that matches has what is said, in some writing of it in
//! large and small letters; nothing is said of a pattern that is not understood, or that only trying can find.  Does not:
//! find all that could be said: sets of alternatives that grow too large are looked at one by one.
//!
//! ```text
//!   fo[xX]+(a|b)?.*zz     Ends { first: "fox", last: "zz" } and "x" or "xa" or "xb" between, of which nothing follows
//! ```

use super::Options;
use super::compiled::{options_within, translate};
use quintet_base::lexemes::textsearch::letters::is_alnum;
use quintet_base::lexemes::textsearch::trigram::small;
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

/// Part of what a text must have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Required {
    /// These characters, one after the other. [`BREAK`] is anything that is part of no word, or an end of the text.
    Chars(Vec<char>),
    /// All of that.
    All(Vec<Required>),
    /// One of that.
    Any(Vec<Required>),
}

/// Something that is part of no word, or nothing at all at an end of the text.
pub(crate) const BREAK: char = '\0';

/// Strings that are looked at together.
const STRINGS_MAX: usize = 32;
/// Characters of a set that are looked at one by one: with more of them, what stands beside them tells more.
const CLASS_MAX: usize = 12;
/// Those that a set may have before large and small letters are taken for one, and what is part of no word.
const CLASS_LISTED_MAX: usize = 64;
/// Repetitions that are written out.
const REPEATED_MAX: u32 = 3;

type Strings = Vec<Vec<char>>;

/// What is known of the stretch that a part of a pattern matches.
enum Known {
    /// It is one of these.
    One(Strings),
    /// It begins with one of the first and ends with one of the last, and has the rest.
    Ends {
        first: Strings,
        last: Strings,
        within: Vec<Required>,
    },
}

/// What a text has that the pattern matches; `None`: nothing is known.
pub(crate) fn required(pattern: &str, any_case: bool) -> Option<Required> {
    let options = Options {
        any_case,
        ..Options::default()
    };
    let (pattern, options) = options_within(pattern, options);
    let (pattern, turns) = match options.literal {
        true => (regex::escape(pattern), false),
        false => translate(pattern),
    };
    if turns {
        return None;
    }
    let read = regex_syntax::ParserBuilder::new()
        .case_insensitive(options.any_case)
        .dot_matches_new_line(!options.lines && !options.dots_stop)
        .multi_line(options.lines || options.anchors_in_lines)
        .ignore_whitespace(options.expanded)
        .build()
        .parse(&pattern);
    // Whoever looks for it says what is wrong.
    read.ok().and_then(|hir| all(of(&hir).finish()))
}

fn nothing() -> Known {
    Known::Ends {
        first: vec![vec![]],
        last: vec![vec![]],
        within: vec![],
    }
}

/// Bounded by the nesting that the reader of patterns allows.
fn of(hir: &Hir) -> Known {
    match hir.kind() {
        HirKind::Empty => Known::One(vec![vec![]]),
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => Known::One(vec![text.chars().map(small).collect()]),
            Err(_) => nothing(),
        },
        HirKind::Class(class) => of_class(class),
        HirKind::Look(look) => Known::One(vec![match look {
            Look::Start
            | Look::End
            | Look::StartLF
            | Look::EndLF
            | Look::StartCRLF
            | Look::EndCRLF
            | Look::WordStartUnicode
            | Look::WordEndUnicode => vec![BREAK],
            _ => vec![],
        }]),
        HirKind::Repetition(repetition) => of_repetition(repetition),
        HirKind::Capture(capture) => of(&capture.sub),
        HirKind::Concat(parts) => {
            let parts = parts.iter().map(of);
            parts.reduce(Known::before).unwrap_or_else(nothing)
        }
        HirKind::Alternation(parts) => of_alternatives(parts.iter().map(of).collect()),
    }
}

fn of_class(class: &Class) -> Known {
    let Class::Unicode(class) = class else {
        return nothing();
    };
    let count = |range: &regex_syntax::hir::ClassUnicodeRange| range.len();
    if class.ranges().iter().map(count).sum::<usize>() > CLASS_LISTED_MAX {
        return nothing();
    }
    let ranges = class.ranges().iter();
    let chars = ranges.flat_map(|range| range.start()..=range.end());
    let mut chars: Vec<char> = chars
        .map(|c| if is_alnum(c) { small(c) } else { BREAK })
        .collect();
    chars.sort_unstable();
    chars.dedup();
    match chars.len() <= CLASS_MAX {
        true => Known::One(chars.into_iter().map(|c| vec![c]).collect()),
        false => nothing(),
    }
}

fn of_repetition(repetition: &Repetition) -> Known {
    let once = || of(&repetition.sub);
    match (repetition.min, repetition.max) {
        (_, Some(0)) => Known::One(vec![vec![]]),
        (0, Some(1)) => of_alternatives(vec![once(), Known::One(vec![vec![]])]),
        (0, _) => nothing(),
        (min, max) => {
            let times = min.min(REPEATED_MAX);
            let all = (1..times).fold(once(), |before, _| before.before(once()));
            match (all, once()) {
                (Known::One(first), Known::One(last)) if max != Some(times) => Known::Ends {
                    first,
                    last,
                    within: vec![],
                },
                (all, _) => all,
            }
        }
    }
}

fn of_alternatives(parts: Vec<Known>) -> Known {
    let strings = parts.iter().map(|part| match part {
        Known::One(strings) => Some(strings.len()),
        Known::Ends { .. } => None,
    });
    let count: Option<usize> = strings.sum();
    if count.is_some_and(|count| count <= STRINGS_MAX) {
        let mut all: Strings = Vec::new();
        for part in parts {
            if let Known::One(strings) = part {
                all.extend(strings);
            }
        }
        all.sort_unstable();
        all.dedup();
        return Known::One(all);
    }
    let each: Option<Vec<Required>> = parts.into_iter().map(|part| all(part.finish())).collect();
    match (each, nothing()) {
        (Some(each), Known::Ends { first, last, .. }) => Known::Ends {
            first,
            last,
            within: vec![Required::Any(each)],
        },
        (_, nothing) => nothing,
    }
}

/// Each of the one with each of the other behind it, if that is not too many.
fn product(left: &Strings, right: &Strings) -> Option<Strings> {
    if left.len() * right.len() > STRINGS_MAX {
        return None;
    }
    let joined = |a: &Vec<char>, b: &Vec<char>| [a.as_slice(), b.as_slice()].concat();
    let all = left
        .iter()
        .flat_map(|a| right.iter().map(move |b| joined(a, b)));
    Some(all.collect())
}

/// That one of the strings is there; nothing, if one of them may be anything.
fn one_of(strings: Strings) -> Option<Required> {
    if strings.iter().any(Vec::is_empty) {
        return None;
    }
    let mut all: Vec<Required> = strings.into_iter().map(Required::Chars).collect();
    match all.len() {
        1 => all.pop(),
        _ => Some(Required::Any(all)),
    }
}

fn all(mut parts: Vec<Required>) -> Option<Required> {
    match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(Required::All(parts)),
    }
}

impl Known {
    /// What both match, one behind the other.
    fn before(self, next: Known) -> Known {
        match (self, next) {
            (Known::One(left), Known::One(right)) => match product(&left, &right) {
                Some(strings) => Known::One(strings),
                None => Known::Ends {
                    first: left,
                    last: right,
                    within: vec![],
                },
            },
            (
                Known::One(left),
                Known::Ends {
                    first,
                    last,
                    mut within,
                },
            ) => {
                let first = match product(&left, &first) {
                    Some(first) => first,
                    None => {
                        within.extend(one_of(first));
                        left
                    }
                };
                Known::Ends {
                    first,
                    last,
                    within,
                }
            }
            (
                Known::Ends {
                    first,
                    last,
                    mut within,
                },
                Known::One(right),
            ) => {
                let last = match product(&last, &right) {
                    Some(last) => last,
                    None => {
                        within.extend(one_of(last));
                        right
                    }
                };
                Known::Ends {
                    first,
                    last,
                    within,
                }
            }
            (
                Known::Ends {
                    first,
                    last: left,
                    mut within,
                },
                Known::Ends {
                    first: right,
                    last,
                    within: more,
                },
            ) => {
                match product(&left, &right) {
                    Some(middle) => within.extend(one_of(middle)),
                    None => within.extend([left, right].into_iter().filter_map(one_of)),
                }
                within.extend(more);
                Known::Ends {
                    first,
                    last,
                    within,
                }
            }
        }
    }

    /// All that it says.
    fn finish(self) -> Vec<Required> {
        match self {
            Known::One(strings) => one_of(strings).into_iter().collect(),
            Known::Ends {
                first,
                last,
                mut within,
            } => {
                within.extend([first, last].into_iter().filter_map(one_of));
                within
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(required: &Required) -> String {
        let list = |parts: &[Required], word: &str| {
            let parts: Vec<String> = parts.iter().map(said).collect();
            format!("({})", parts.join(word))
        };
        match required {
            Required::Chars(chars) => chars.iter().collect::<String>().replace(BREAK, "|"),
            Required::All(parts) => list(parts, " and "),
            Required::Any(parts) => list(parts, " or "),
        }
    }

    fn of_pattern(pattern: &str) -> String {
        let found = required(pattern, false);
        found.as_ref().map_or_else(String::new, said)
    }

    #[test]
    fn what_a_pattern_asks_for() {
        for (pattern, expected) in [
            ("foo", "foo"),
            ("^Foo$", "|foo|"),
            ("foo|bar", "(bar or foo)"),
            ("foo(bar|baz)", "(foobar or foobaz)"),
            ("foo.*bar", "(foo and bar)"),
            ("(foo.*|bar)qux", "((foo or bar) and qux)"),
            ("(.*|bar)qux", "qux"),
            ("fo+bar", "(fo and obar)"),
            ("a[bB]?c", "(ac or abc)"),
            (r"foo\s+bar", "(foo| and |bar)"),
            (r"\mfoo\M", "|foo|"),
            ("(foo){2}", "foofoo"),
            ("a*", ""),
            (".", ""),
            ("(foo|.)", ""),
            (r"(a)foo\1", ""),
            ("(", ""),
            ("***=a.b", "a.b"),
            ("(?i)foo", "foo"),
            ("[a-z]{3}foo", "foo"),
        ] {
            assert_eq!(of_pattern(pattern), expected, "{pattern}");
        }
    }
}
