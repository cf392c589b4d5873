//! What PostgreSQL's extension `fuzzystrmatch` brings: how far apart words are, and how they sound.
//!
//! Relies on: nothing.  Promises: the extension's answers; sounds are those of ASCII letters.  Does not: measure texts of more than 255
//! characters, as there.
//!
//! | file | what it holds |
//! |---|---|
//! | `metaphone` | metaphone: sounds of English words |
//! | `double_metaphone` | dmetaphone: the same with more languages in mind, and a second guess |

mod double_metaphone;
mod metaphone;

use super::{Function, builtin as new, fail, int, str};
use crate::eval::Host;
use quintet_base::SqlType::{Int4, Text};
use quintet_base::{SqlResult, SqlState, Value};

/// Characters that are compared.
const CHARACTERS_MAX: usize = 255;

/// What it costs to put a character in, take one out, or put one in the place of another.
#[derive(Clone, Copy)]
struct Costs {
    insertion: i32,
    deletion: i32,
    substitution: i32,
}

const ONE_EACH: Costs = Costs {
    insertion: 1,
    deletion: 1,
    substitution: 1,
};

impl Costs {
    fn of(args: &[&Value]) -> Costs {
        let [insertion, deletion, substitution] = [0, 1, 2].map(|n| int(args[n]) as i32);
        Costs {
            insertion,
            deletion,
            substitution,
        }
    }
}

/// The least cost of making one text of the other.
fn distance(from: &str, to: &str, costs: Costs) -> SqlResult<i32> {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    if from.len().max(to.len()) > CHARACTERS_MAX {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("levenshtein argument exceeds maximum length of {CHARACTERS_MAX} characters"),
        );
    }
    // Of the first characters of `from`, more and more, to none of `to`; then to one more at a time.
    let times = |count: usize, cost: i32| (count as i32).wrapping_mul(cost);
    let mut row: Vec<i32> = (0..=from.len())
        .map(|count| times(count, costs.deletion))
        .collect();
    for (count, wanted) in to.iter().enumerate() {
        let mut before = row[0];
        row[0] = times(count + 1, costs.insertion);
        for (at, own) in from.iter().enumerate() {
            let changed = match own == wanted {
                true => before,
                false => before.wrapping_add(costs.substitution),
            };
            before = row[at + 1];
            let inserted = before.wrapping_add(costs.insertion);
            let deleted = row[at].wrapping_add(costs.deletion);
            row[at + 1] = inserted.min(deleted).min(changed);
        }
    }
    Ok(row[from.len()])
}

fn levenshtein(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    distance(str(args[0]), str(args[1]), ONE_EACH).map(Value::Int4)
}

fn levenshtein_with_costs(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    distance(str(args[0]), str(args[1]), Costs::of(&args[2..])).map(Value::Int4)
}

/// The distance if it is not greater than the last argument, or the next number. From nothing and to nothing it is told as it is.
fn at_most(args: &[&Value], costs: Costs) -> SqlResult<Value> {
    let (from, to) = (str(args[0]), str(args[1]));
    let distance = distance(from, to, costs)?;
    let most = args.last().map_or(-1, |most| int(most) as i32);
    let is_more = most >= 0 && distance > most && !from.is_empty() && !to.is_empty();
    Ok(Value::Int4(if is_more { most + 1 } else { distance }))
}

fn levenshtein_at_most(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    at_most(args, ONE_EACH)
}

fn levenshtein_with_costs_at_most(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    at_most(args, Costs::of(&args[2..]))
}

/// A letter's sound by soundex; what is no letter is a sound of its own.
fn sound(letter: u8) -> u8 {
    match letter.to_ascii_uppercase() {
        b'B' | b'F' | b'P' | b'V' => b'1',
        b'C' | b'G' | b'J' | b'K' | b'Q' | b'S' | b'X' | b'Z' => b'2',
        b'D' | b'T' => b'3',
        b'L' => b'4',
        b'M' | b'N' => b'5',
        b'R' => b'6',
        other if other.is_ascii_uppercase() => b'0',
        _ => letter,
    }
}

/// The first letter and three sounds behind it; `None` if there is no letter.
fn sounds(text: &str) -> Option<[u8; 4]> {
    let bytes = text.as_bytes();
    let first = bytes.iter().position(u8::is_ascii_alphabetic)?;
    let mut found = [b'0'; 4];
    found[0] = bytes[first].to_ascii_uppercase();
    let mut count = 1;
    for pair in bytes[first..].windows(2) {
        let own = sound(pair[1]);
        let is_new = pair[1].is_ascii_alphabetic() && own != sound(pair[0]);
        if is_new && own != b'0' && count < found.len() {
            found[count] = own;
            count += 1;
        }
    }
    Some(found)
}

fn soundex(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let found = sounds(str(args[0]));
    let text: String = found.into_iter().flatten().map(char::from).collect();
    Ok(Value::text(text))
}

/// How many of the four are the same.
fn difference(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let [one, other] = [0, 1].map(|n| sounds(str(args[n])).unwrap_or_default());
    let same = one.iter().zip(&other).filter(|(a, b)| a == b).count();
    Ok(Value::Int4(same as i32))
}

fn of_metaphone(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (text, most) = (str(args[0]), int(args[1]));
    if text.is_empty() {
        return Ok(Value::text(""));
    }
    if text.len() > CHARACTERS_MAX {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("argument exceeds the maximum length of {CHARACTERS_MAX} bytes"),
        );
    }
    if most > CHARACTERS_MAX as i64 {
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("output exceeds the maximum length of {CHARACTERS_MAX} bytes"),
        );
    }
    if most <= 0 {
        return fail(SqlState(*b"2200F"), "output cannot be empty string");
    }
    Ok(Value::text(metaphone::metaphone(text, most as usize)))
}

fn dmetaphone(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(
        double_metaphone::double_metaphone(str(args[0])).0,
    ))
}

fn dmetaphone_alt(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::text(
        double_metaphone::double_metaphone(str(args[0])).1,
    ))
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("levenshtein", &[Text, Text], Int4, levenshtein),
    new(
        "levenshtein",
        &[Text, Text, Int4, Int4, Int4],
        Int4,
        levenshtein_with_costs,
    ),
    new(
        "levenshtein_less_equal",
        &[Text, Text, Int4],
        Int4,
        levenshtein_at_most,
    ),
    new(
        "levenshtein_less_equal",
        &[Text, Text, Int4, Int4, Int4, Int4],
        Int4,
        levenshtein_with_costs_at_most,
    ),
    new("soundex", &[Text], Text, soundex),
    new("text_soundex", &[Text], Text, soundex),
    new("difference", &[Text, Text], Int4, difference),
    new("metaphone", &[Text, Int4], Text, of_metaphone),
    new("dmetaphone", &[Text], Text, dmetaphone),
    new("dmetaphone_alt", &[Text], Text, dmetaphone_alt),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sounds_and_distances() {
        assert_eq!(distance("kitten", "sitting", ONE_EACH).unwrap(), 3);
        assert_eq!(sounds("Ashcraft"), Some(*b"A226"));
        assert_eq!(sounds("12"), None);
        for (word, expected) in [
            ("Thompson", "0MPSN"),
            ("Knight", "NFT"),
            ("Schwarz", "XWRS"),
        ] {
            assert_eq!(metaphone::metaphone(word, 10), expected, "{word}");
        }
        for (word, first, second) in [("Schmidt", "XMT", "SMT"), ("Wasserman", "ASRM", "FSRM")] {
            let found = double_metaphone::double_metaphone(word);
            assert_eq!(found, (first.to_string(), second.to_string()), "{word}");
        }
    }
}
