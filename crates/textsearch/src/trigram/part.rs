//! Which trigrams a text has of which a part is known.
//!
//! Relies on: that a text is read as words, as `trigrams` does.  Promises: whatever stands around the part, the text has these trigrams;
//! where more is to be had of a pattern, less may be found.  Does not: tell whether a text matches.

use super::{Trigram, small};
use crate::letters::is_alnum;

/// Text that is known to stand somewhere in another.
#[derive(Clone, Copy, Debug)]
pub struct Part<'t> {
    /// Its characters. One that is part of no word may stand for the end of the text.
    pub chars: &'t [char],
    /// Nothing is before it.
    pub begins: bool,
    /// Nothing is behind it.
    pub ends: bool,
}

/// The trigrams of a text that has this part, in no order.
pub fn of_part(part: Part, found: &mut Vec<Trigram>) {
    let chars = part.chars;
    let mut at = 0;
    while at < chars.len() {
        if !is_alnum(chars[at]) {
            at += 1;
            continue;
        }
        let rest = &chars[at..];
        let length = rest.iter().position(|&c| !is_alnum(c));
        let end = at + length.unwrap_or(rest.len());
        let mut word = Vec::with_capacity(end - at + 3);
        if at > 0 || part.begins {
            word.extend([' ', ' ']);
        }
        word.extend(chars[at..end].iter().map(|&c| small(c)));
        if end < chars.len() || part.ends {
            word.push(' ');
        }
        found.extend(word.windows(3).map(Trigram::of));
        at = end;
    }
}

/// The trigrams of every text that a pattern of LIKE matches, each once, in order.
pub fn of_like(pattern: &str) -> Vec<Trigram> {
    let mut found = Vec::new();
    let mut part: Vec<char> = Vec::new();
    let mut begins = true;
    let mut chars = pattern.chars();
    loop {
        match chars.next() {
            // An escape at the end is refused by whoever matches.
            Some('\\') => part.extend(chars.next()),
            Some('%' | '_') => {
                of_part(
                    Part {
                        chars: &part,
                        begins,
                        ends: false,
                    },
                    &mut found,
                );
                part.clear();
                begins = false;
            }
            Some(c) => part.push(c),
            None => break,
        }
    }
    of_part(
        Part {
            chars: &part,
            begins,
            ends: true,
        },
        &mut found,
    );
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pattern: &str) -> Vec<String> {
        of_like(pattern).into_iter().map(Trigram::shown).collect()
    }

    #[test]
    fn blanks_are_only_where_words_end() {
        assert_eq!(shown("%foo%"), ["foo"]);
        assert_eq!(shown("foo%"), ["  f", " fo", "foo"]);
        assert_eq!(shown("%foo"), ["foo", "oo "]);
        assert_eq!(shown("%a bc_d%"), ["  b", " bc"]);
        assert_eq!(shown("%a\\%bcd%"), ["  b", " bc", "bcd"]);
        assert!(shown("%fo%_%").is_empty());
    }
}
