//! Text that compares without case: `citext`.
//!
//! Relies on: Unicode's simple mapping (UnicodeData.txt) to lower case, as `lower` has it.  Promises: two texts are equal if their folded forms are, and
//! have the order of these, byte by byte.  Does not: fold `ß` and what else becomes several characters.

use crate::value::Str;
use std::cmp::Ordering;

/// A character in lower case: one, also of the one character (İ) that Unicode maps to several.
fn lower(c: char) -> char {
    if c == 'İ' {
        return 'i';
    }
    let mut mapped = c.to_lowercase();
    match mapped.len() {
        1 => mapped.next().unwrap_or(c),
        _ => c,
    }
}

/// The text in lower case, character by character.
pub fn fold(text: &str) -> Str {
    if text.is_ascii() {
        let mut text = Str::from(text);
        text.make_ascii_lowercase();
        return text;
    }
    text.chars().map(lower).collect()
}

/// The order of two texts without case. That of UTF-8's bytes is that of the characters.
pub fn order(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() {
        let [a, b] = [a, b].map(|text| text.bytes().map(|byte| byte.to_ascii_lowercase()));
        return a.cmp(b);
    }
    a.chars().map(lower).cmp(b.chars().map(lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_that_of_folded_texts() {
        let texts = [
            "", "a", "A", "ab", "aB", "b", "É", "é", "e", "İ", "ß", "SS", "Ω", "ω", "_", "Z",
        ];
        for a in texts {
            for b in texts {
                let folded = fold(a).as_bytes().cmp(fold(b).as_bytes());
                assert_eq!(order(a, b), folded, "{a} {b}");
            }
        }
    }
}
