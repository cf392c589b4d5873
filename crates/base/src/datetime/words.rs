//! Words that may stand in the text of a date.
//!
//! Relies on: nothing.  Promises: the words that PostgreSQL knows, their first ten letters
//! compared.  Does not: know time zones.

/// As many letters of a word count.
const LETTERS_MAX: usize = 10;

/// What a word means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// The moment of the transaction.
    Now,
    /// A midnight: so many days after that of the transaction's day.
    Day(i64),
    /// Midnight in Greenwich.
    Midnight,
    /// 1970-01-01.
    Epoch,
    Infinity,
    /// A month, from 1.
    Month(i64),
    /// The name of a day, from 0 for Sunday.
    Weekday(u8),
    /// Behind noon or before it.
    Half {
        afternoon: bool,
    },
    /// Before Christ or after.
    Era {
        before: bool,
    },
    /// Says that the zone before it has its clocks set forward.
    Summer,
    /// Says what the next number is.
    Label(Label),
    /// The `t` between a date and a time.
    Time,
    /// `at` and `on`.
    Filler,
    Unknown,
}

/// What the number behind a word is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Label {
    Julian,
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    /// Hour, minute and second in one.
    Time,
    /// Something that no date is made of.
    Other,
}

/// The meaning of a word in lower case.
pub(super) fn find(word: &str) -> Word {
    let word = word.get(..LETTERS_MAX).unwrap_or(word);
    match word {
        "now" => Word::Now,
        "today" => Word::Day(0),
        "tomorrow" => Word::Day(1),
        "yesterday" => Word::Day(-1),
        "allballs" => Word::Midnight,
        "epoch" => Word::Epoch,
        "infinity" => Word::Infinity,
        "jan" | "january" => Word::Month(1),
        "feb" | "february" => Word::Month(2),
        "mar" | "march" => Word::Month(3),
        "apr" | "april" => Word::Month(4),
        "may" => Word::Month(5),
        "jun" | "june" => Word::Month(6),
        "jul" | "july" => Word::Month(7),
        "aug" | "august" => Word::Month(8),
        "sep" | "sept" | "september" => Word::Month(9),
        "oct" | "october" => Word::Month(10),
        "nov" | "november" => Word::Month(11),
        "dec" | "december" => Word::Month(12),
        "sun" | "sunday" => Word::Weekday(0),
        "mon" | "monday" => Word::Weekday(1),
        "tue" | "tues" | "tuesday" => Word::Weekday(2),
        "wed" | "weds" | "wednesday" => Word::Weekday(3),
        "thu" | "thur" | "thurs" | "thursday" => Word::Weekday(4),
        "fri" | "friday" => Word::Weekday(5),
        "sat" | "saturday" => Word::Weekday(6),
        "am" => Word::Half { afternoon: false },
        "pm" => Word::Half { afternoon: true },
        "ad" => Word::Era { before: false },
        "bc" => Word::Era { before: true },
        "dst" => Word::Summer,
        "j" | "jd" | "julian" => Word::Label(Label::Julian),
        "y" => Word::Label(Label::Year),
        "m" => Word::Label(Label::Month),
        "d" => Word::Label(Label::Day),
        "h" => Word::Label(Label::Hour),
        "mm" => Word::Label(Label::Minute),
        "s" => Word::Label(Label::Second),
        "dow" | "doy" | "isodow" | "isoyear" => Word::Label(Label::Other),
        "t" => Word::Time,
        "at" | "on" => Word::Filler,
        _ => Word::Unknown,
    }
}
