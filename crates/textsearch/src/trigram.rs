//! Texts as sets of trigrams, and how much of them two texts have in common.
//!
//! Relies on: `letters` for what is part of a word.  Promises: the trigrams of PostgreSQL's `pg_trgm` and its numbers, digit for digit: a
//! word in small letters with two blanks before it and one behind it; three characters that are not all ASCII are three bytes of a
//! checksum, as there, so that what two of them have in common by chance is the same, too.  Does not: know settings, or
//! indexes.
//!
//! | file | what it holds |
//! |---|---|
//! | `stretch` | the stretch of a text that is most like a word |
//! | `part` | which trigrams a text has of which a part is known |

mod part;
mod stretch;

pub use part::{Part, of_like, of_part};
pub use stretch::Stretch;

use crate::letters::is_alnum;
use std::cmp::Ordering;

/// Three characters, or three bytes that stand for them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Trigram(pub [u8; 3]);

/// As in PostgreSQL on machines whose characters have a sign.
impl Ord for Trigram {
    fn cmp(&self, other: &Trigram) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Trigram {
    fn partial_cmp(&self, other: &Trigram) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Trigram {
    /// A number by which they compare.
    fn rank(self) -> u32 {
        let [a, b, c] = self.0;
        u32::from_be_bytes([0, a, b, c]) ^ 0x80_8080
    }

    fn of(chars: &[char]) -> Trigram {
        if let [a, b, c] = *chars
            && a.is_ascii()
            && b.is_ascii()
            && c.is_ascii()
        {
            return Trigram([a as u8, b as u8, c as u8]);
        }
        let text: String = chars.iter().collect();
        let [a, b, c, _] = checksum(text.as_bytes()).to_le_bytes();
        Trigram([a, b, c])
    }

    /// As `show_trgm` writes it: as a number, unless all of it may stand in a trigram as it is.
    pub fn shown(self) -> String {
        let [a, b, c] = self.0;
        let printable = |byte: u8| byte == b' ' || byte.is_ascii_alphanumeric();
        match self.0.iter().all(|&byte| printable(byte)) {
            true => self.0.map(char::from).iter().collect(),
            false => format!("0x{a:02x}{b:02x}{c:02x}"),
        }
    }
}

/// The table of the usual checksum of 32 bits, whose lowest bit comes first.
const CHECKSUMS: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = match sum & 1 {
                1 => sum >> 1 ^ 0xedb8_8320,
                _ => sum >> 1,
            };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

/// Goes through that table from the other end: no checksum that anybody else has.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, &byte: &u8| {
        let place = (sum >> 24) as u8 ^ byte;
        CHECKSUMS[usize::from(place)] ^ sum << 8
    };
    !bytes.iter().fold(u32::MAX, step)
}

/// A character in small letters: the first, of those that are written as several.
pub fn small(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    c.to_lowercase().next().unwrap_or(c)
}

/// Calls with each word of a text in small letters, from its first character to behind its last.
fn words(text: &str, mut see: impl FnMut(&[char])) {
    let mut word = Vec::new();
    for c in text.chars() {
        if is_alnum(c) {
            word.push(small(c));
        } else if !word.is_empty() {
            see(&word);
            word.clear();
        }
    }
    if !word.is_empty() {
        see(&word);
    }
}

/// A word as its trigrams see it.
fn padded(word: &[char]) -> Vec<char> {
    let mut out = Vec::with_capacity(word.len() + 3);
    out.extend([' ', ' ']);
    out.extend_from_slice(word);
    out.push(' ');
    out
}

/// The trigrams of a text, each once, in order.
pub fn trigrams(text: &str) -> Vec<Trigram> {
    let mut found = Vec::with_capacity(text.len() + 2);
    words(text, |word| {
        found.extend(padded(word).windows(3).map(Trigram::of));
    });
    found.sort_unstable_by_key(|trigram: &Trigram| trigram.rank());
    found.dedup();
    found
}

/// What of both of them together is in both.
fn share(common: usize, one: usize, other: usize) -> f32 {
    common as f32 / (one + other - common) as f32
}

/// How alike two texts are, by their trigrams: 0 if one has none.
pub fn similarity(one: &[Trigram], other: &[Trigram]) -> f32 {
    if one.is_empty() || other.is_empty() {
        return 0.0;
    }
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    let mut common = 0;
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        match a.cmp(b) {
            Ordering::Less => _ = left.next(),
            Ordering::Greater => _ = right.next(),
            Ordering::Equal => {
                common += 1;
                left.next();
                right.next();
            }
        }
    }
    share(common, one.len(), other.len())
}

/// How many of so many trigrams a text must have to reach a share of them, at least one.
pub fn needed(of: usize, threshold: f64) -> usize {
    let reaches = |count: &usize| f64::from(*count as f32 / of as f32) >= threshold;
    (1..=of).find(reaches).unwrap_or(of.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        trigrams(text).into_iter().map(Trigram::shown).collect()
    }

    #[test]
    fn words_have_blanks_around() {
        let expected = ["  w", " wo", "ord", "rd ", "wor"];
        assert_eq!(shown("Word"), expected);
        assert_eq!(shown(" word, WORD"), expected);
        assert_eq!(shown("a"), ["  a", " a "]);
        assert!(shown(" ,_-").is_empty());
    }

    #[test]
    fn what_is_not_ascii_is_a_checksum() {
        assert_eq!(shown("é"), ["0xe69b54", "0xe82c48"]);
    }

    #[test]
    fn a_share_is_of_both() {
        let of = |a, b| similarity(&trigrams(a), &trigrams(b));
        assert_eq!(of("word", "two words"), 0.36363637);
        assert_eq!(of("word", "word"), 1.0);
        assert_eq!(of("", ""), 0.0);
    }
}
