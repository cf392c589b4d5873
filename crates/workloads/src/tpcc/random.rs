//! TPC-C's own ways to draw: non-uniform numbers, last names, random strings.
//!
//! Relies on: `rt::Rand`.  Promises: clause 2.1.6 (NURand and its constants), 4.3.2.2 (strings),
//! 4.3.2.3 (last names) of the specification 5.11; ranges are inclusive on both sides, as there.
//! Does not: know which column a number is for.

use quintet_rt::Rand;

/// C of NURand for last names while loading.
pub(crate) const C_LAST_LOAD: u64 = 157;

/// C of NURand for last names in calls. Clause 2.1.6.1: it is 65 to 119 away from the one of the load,
/// but neither 96 nor 112.
pub(crate) const C_LAST_RUN: u64 = 223;

const _: () = {
    let apart = C_LAST_RUN.abs_diff(C_LAST_LOAD);
    assert!(apart >= 65 && apart <= 119 && apart != 96 && apart != 112);
    assert!(C_LAST_LOAD <= 255 && C_LAST_RUN <= 255);
};

/// C of NURand for customers' numbers, at most 1023.
const C_CUSTOMER: u64 = 259;

/// C of NURand for items, at most 8191.
const C_ITEM: u64 = 7911;

/// Names that the syllables make.
pub(crate) const NAMES: u64 = 1000;

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A number from `low` to `high`, each equally likely.
pub(crate) fn uniform(rand: &mut Rand, low: u64, high: u64) -> u64 {
    low + rand.below(high - low + 1)
}

/// A number from `low` to `high`, some far more likely than others.
fn non_uniform(rand: &mut Rand, a: u64, c: u64, low: u64, high: u64) -> u64 {
    let mixed = uniform(rand, 0, a) | uniform(rand, low, high);
    (mixed + c) % (high - low + 1) + low
}

/// Number of a last name out of `names`, with the constant of load or run.
pub(crate) fn name_number(rand: &mut Rand, c: u64, names: u64) -> u64 {
    non_uniform(rand, 255, c, 0, names - 1)
}

/// A customer's number in 1 to `customers`.
pub(crate) fn customer(rand: &mut Rand, customers: u64) -> u64 {
    non_uniform(rand, 1023, C_CUSTOMER, 1, customers)
}

/// An item's number in 1 to `items`.
pub(crate) fn item(rand: &mut Rand, items: u64) -> u64 {
    non_uniform(rand, 8191, C_ITEM, 1, items)
}

/// The last name with a number below 1000: a syllable per digit.
pub fn last_name(number: u64) -> String {
    assert!(number < NAMES, "no last name {number}");
    let syllable = |place: u64| SYLLABLES[(number / place % 10) as usize];
    format!("{}{}{}", syllable(100), syllable(10), syllable(1))
}

/// Appends so many random letters and digits, at least `low` and at most `high`.
pub(crate) fn letters(rand: &mut Rand, low: u64, high: u64, into: &mut String) {
    for _ in 0..uniform(rand, low, high) {
        into.push(char::from(ALPHANUMERIC[rand.below(62) as usize]));
    }
}

/// Appends so many random digits.
pub(crate) fn digits(rand: &mut Rand, count: u64, into: &mut String) {
    for _ in 0..count {
        into.push(char::from(b'0' + rand.below(10) as u8));
    }
}

/// Appends 26 to 50 letters and digits; in one of ten, somewhere among them, "ORIGINAL".
pub(crate) fn data(rand: &mut Rand, into: &mut String) {
    const MARK: &str = "ORIGINAL";
    let from = into.len();
    letters(rand, 26, 50, into);
    if rand.one_in(10) {
        let room = into.len() - from - MARK.len();
        let at = from + uniform(rand, 0, room as u64) as usize;
        into.replace_range(at..at + MARK.len(), MARK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_made_of_syllables() {
        // The specification's own example, and both ends.
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(999), "EINGEINGEING");
    }

    // The formula written out: every result is reached as often as pairs of draws lead to it, counted
    // over all pairs for a small case.
    #[test]
    fn non_uniform_numbers_follow_their_formula() {
        let (a, c, low, high) = (7, 3, 1, 20);
        let mut expected = [0u32; 21];
        for first in 0..=a {
            for second in low..=high {
                expected[(((first | second) + c) % (high - low + 1) + low) as usize] += 1;
            }
        }
        let mut seen = [0u32; 21];
        let mut rand = Rand::seeded(5);
        for _ in 0..160_000 {
            seen[non_uniform(&mut rand, a, c, low, high) as usize] += 1;
        }
        for number in low as usize..=high as usize {
            let expected = f64::from(expected[number]) * 1000.0;
            let off = (f64::from(seen[number]) - expected).abs();
            assert!(off < 5.0 * expected.sqrt() + 1.0, "{number}: {seen:?}");
        }
        assert_eq!(seen[0], 0);
    }

    #[test]
    fn numbers_stay_in_their_bounds_and_reach_them() {
        let mut rand = Rand::seeded(1);
        let mut bounds = (u64::MAX, 0);
        for _ in 0..200_000 {
            let customer = customer(&mut rand, 3000);
            bounds = (bounds.0.min(customer), bounds.1.max(customer));
            assert!((1..=100_000).contains(&item(&mut rand, 100_000)));
            assert!(name_number(&mut rand, C_LAST_RUN, NAMES) < NAMES);
            assert!(name_number(&mut rand, C_LAST_RUN, 10) < 10);
        }
        assert_eq!(bounds, (1, 3000));
    }

    #[test]
    fn one_in_ten_data_is_original() {
        let mut rand = Rand::seeded(2);
        let original = (0..10_000).filter(|_| {
            let mut text = String::from("x");
            data(&mut rand, &mut text);
            assert!((27..=51).contains(&text.len()) && text.starts_with('x'));
            text.contains("ORIGINAL")
        });
        let original = original.count();
        assert!((850..1150).contains(&original), "{original}");
    }
}
