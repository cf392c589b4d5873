//! A template for dates and times, taken apart.
//!
//! Promises: of several patterns the longest; what is no pattern stands for itself.

use std::fmt;

/// How letters are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Case {
    Upper,
    Capital,
    Lower,
}

/// A pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    Hour12,
    Hour24,
    Minute,
    Second,
    Milli,
    Micro,
    /// So many digits of the second's fraction.
    Fraction(u8),
    SecondOfDay,
    /// AM and PM; with dots.
    Half(Case, bool),
    YearWithComma,
    /// The last so many digits.
    Year(u8),
    IsoYear(u8),
    /// BC and AD; with dots.
    Era(Case, bool),
    MonthName(Case),
    MonthShort(Case),
    Month,
    DayName(Case),
    DayShort(Case),
    DayOfYear,
    IsoDayOfYear,
    Day,
    /// 1 is Sunday.
    Weekday,
    /// 1 is Monday.
    IsoWeekday,
    WeekOfMonth,
    WeekOfYear,
    IsoWeek,
    Century,
    Julian,
    Quarter,
    Roman(Case),
    ZoneName(Case),
    ZoneHour,
    ZoneMinute,
    Offset,
}

/// A part of a template.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece {
    /// A blank or a sign.
    Separator(char),
    /// Any other character, also a quoted one.
    Literal(char),
    Field {
        field: Field,
        /// FM: without padding.
        bare: bool,
        /// TH or th behind it.
        ordinal: Option<Case>,
        spelling: Spelling,
    },
    /// FX: what is read has exactly the template's blanks and signs.
    Exact,
}

/// How a pattern is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling {
    pub name: &'static str,
    /// In small letters, where the name is in capitals.
    pub small: bool,
}

impl fmt::Display for Spelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.small {
            true => f.write_str(&self.name.to_ascii_lowercase()),
            false => f.write_str(self.name),
        }
    }
}

/// Patterns that are written in capitals or in small letters and mean the same.
const ANY: &[(&str, Field)] = &[
    ("SSSSS", Field::SecondOfDay),
    ("SSSS", Field::SecondOfDay),
    ("HH24", Field::Hour24),
    ("HH12", Field::Hour12),
    ("HH", Field::Hour12),
    ("MI", Field::Minute),
    ("SS", Field::Second),
    ("MS", Field::Milli),
    ("US", Field::Micro),
    ("FF1", Field::Fraction(1)),
    ("FF2", Field::Fraction(2)),
    ("FF3", Field::Fraction(3)),
    ("FF4", Field::Fraction(4)),
    ("FF5", Field::Fraction(5)),
    ("FF6", Field::Fraction(6)),
    ("Y,YYY", Field::YearWithComma),
    ("YYYY", Field::Year(4)),
    ("YYY", Field::Year(3)),
    ("YY", Field::Year(2)),
    ("Y", Field::Year(1)),
    ("IYYY", Field::IsoYear(4)),
    ("IYY", Field::IsoYear(3)),
    ("IY", Field::IsoYear(2)),
    ("IDDD", Field::IsoDayOfYear),
    ("ID", Field::IsoWeekday),
    ("IW", Field::IsoWeek),
    ("I", Field::IsoYear(1)),
    ("MM", Field::Month),
    ("DDD", Field::DayOfYear),
    ("DD", Field::Day),
    ("D", Field::Weekday),
    ("WW", Field::WeekOfYear),
    ("W", Field::WeekOfMonth),
    ("CC", Field::Century),
    ("J", Field::Julian),
    ("Q", Field::Quarter),
    ("TZH", Field::ZoneHour),
    ("TZM", Field::ZoneMinute),
    ("OF", Field::Offset),
];

/// Patterns whose letters say how the result is written.
const CASED: &[(&str, Field)] = &[
    ("AM", Field::Half(Case::Upper, false)),
    ("PM", Field::Half(Case::Upper, false)),
    ("am", Field::Half(Case::Lower, false)),
    ("pm", Field::Half(Case::Lower, false)),
    ("A.M.", Field::Half(Case::Upper, true)),
    ("P.M.", Field::Half(Case::Upper, true)),
    ("a.m.", Field::Half(Case::Lower, true)),
    ("p.m.", Field::Half(Case::Lower, true)),
    ("AD", Field::Era(Case::Upper, false)),
    ("BC", Field::Era(Case::Upper, false)),
    ("ad", Field::Era(Case::Lower, false)),
    ("bc", Field::Era(Case::Lower, false)),
    ("A.D.", Field::Era(Case::Upper, true)),
    ("B.C.", Field::Era(Case::Upper, true)),
    ("a.d.", Field::Era(Case::Lower, true)),
    ("b.c.", Field::Era(Case::Lower, true)),
    ("MONTH", Field::MonthName(Case::Upper)),
    ("Month", Field::MonthName(Case::Capital)),
    ("month", Field::MonthName(Case::Lower)),
    ("MON", Field::MonthShort(Case::Upper)),
    ("Mon", Field::MonthShort(Case::Capital)),
    ("mon", Field::MonthShort(Case::Lower)),
    ("DAY", Field::DayName(Case::Upper)),
    ("Day", Field::DayName(Case::Capital)),
    ("day", Field::DayName(Case::Lower)),
    ("DY", Field::DayShort(Case::Upper)),
    ("Dy", Field::DayShort(Case::Capital)),
    ("dy", Field::DayShort(Case::Lower)),
    ("RM", Field::Roman(Case::Upper)),
    ("rm", Field::Roman(Case::Lower)),
    ("TZ", Field::ZoneName(Case::Upper)),
    ("tz", Field::ZoneName(Case::Lower)),
];

/// The longest pattern at the start, and how it is written.
fn field_at(text: &str) -> Option<(Field, Spelling)> {
    let as_it_is = |&(name, field): &(&'static str, Field)| {
        let spelling = Spelling { name, small: false };
        text.starts_with(name).then_some((field, spelling))
    };
    let small = |&(name, field): &(&'static str, Field)| {
        let spelling = Spelling { name, small: true };
        let head = text.get(..name.len())?;
        (head == name.to_ascii_lowercase()).then_some((field, spelling))
    };
    let found = CASED.iter().chain(ANY).filter_map(as_it_is);
    found
        .chain(ANY.iter().filter_map(small))
        .max_by_key(|(_, spelling)| spelling.name.len())
}

/// Whether a pattern is a number.
pub(super) fn is_digits(field: Field) -> bool {
    !matches!(
        field,
        Field::Half(..)
            | Field::Era(..)
            | Field::MonthName(_)
            | Field::MonthShort(_)
            | Field::DayName(_)
            | Field::DayShort(_)
            | Field::Roman(_)
            | Field::ZoneName(_)
            | Field::Offset
            | Field::ZoneHour
    )
}

/// The parts.
pub(super) fn pieces(template: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = template;
    let mut bare = false;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("FM") || rest.starts_with("fm") {
            (bare, rest) = (true, &rest[2..]);
            continue;
        }
        if rest.starts_with("TM") || rest.starts_with("tm") {
            rest = &rest[2..];
            continue;
        }
        if rest.starts_with("FX") || rest.starts_with("fx") {
            found.push(Piece::Exact);
            rest = &rest[2..];
            continue;
        }
        if let Some((field, spelling)) = field_at(rest) {
            rest = &rest[spelling.name.len()..];
            let ordinal = match rest.get(..2) {
                Some("TH") => Some(Case::Upper),
                Some("th") => Some(Case::Lower),
                _ => None,
            };
            if ordinal.is_some() {
                rest = &rest[2..];
            }
            found.push(Piece::Field {
                field,
                bare,
                ordinal,
                spelling,
            });
            bare = false;
            continue;
        }
        rest = &rest[first.len_utf8()..];
        // FM is of what stands directly behind it.
        bare = false;
        match first {
            '"' => {
                while let Some(c) = rest.chars().next() {
                    rest = &rest[c.len_utf8()..];
                    match c {
                        '"' => break,
                        '\\' => {
                            if let Some(escaped) = rest.chars().next() {
                                rest = &rest[escaped.len_utf8()..];
                                found.push(Piece::Literal(escaped));
                            }
                        }
                        c => found.push(Piece::Literal(c)),
                    }
                }
            }
            '\\' if rest.starts_with('"') => {
                rest = &rest[1..];
                found.push(Piece::Literal('"'));
            }
            c if is_separator(c) => found.push(Piece::Separator(c)),
            c => found.push(Piece::Literal(c)),
        }
    }
    found
}

/// The first character that the standard has for no template: it knows its patterns, quoted text and a few
/// signs.
pub(super) fn no_separator(template: &str) -> Option<char> {
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        let prefix = rest.get(..2).map(str::to_ascii_uppercase);
        if prefix.is_some_and(|prefix| matches!(prefix.as_str(), "FM" | "TM" | "FX" | "TH")) {
            rest = &rest[2..];
        } else if let Some((_, spelling)) = field_at(rest) {
            rest = &rest[spelling.name.len()..];
        } else if first == '"' {
            let inner = &rest[1..];
            let end = inner.find('"').map_or(inner.len(), |end| end + 1);
            rest = &inner[end..];
        } else if "-./,':; ".contains(first) {
            rest = &rest[1..];
        } else {
            return Some(first);
        }
    }
    None
}

/// A blank, or a sign that is neither letter nor digit.
pub(super) fn is_separator(c: char) -> bool {
    c.is_ascii_whitespace() || (c.is_ascii_graphic() && !c.is_ascii_alphanumeric())
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

pub(super) const ROMAN: [&str; 12] = [
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
];

/// A word in this case.
pub(super) fn in_case(word: &str, case: Case) -> String {
    match case {
        Case::Upper => word.to_ascii_uppercase(),
        Case::Capital => word.to_string(),
        Case::Lower => word.to_ascii_lowercase(),
    }
}
