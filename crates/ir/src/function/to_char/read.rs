//! Text to dates and times by a template.
//!
//! Promises: blanks and signs in a template match any, or none, in the text, as PostgreSQL does
//! outside of FX; what is behind the last pattern is not looked at.  Does not: check that parts
//! which say the same twice agree, but for the hour's half.

use super::template::{DAYS, Field, MONTHS, Piece, ROMAN, is_separator, pieces};
use quintet_base::datetime::{
    self, Civil, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
};
use quintet_base::{SqlError, SqlResult, SqlState};

/// What a text says.
pub(super) struct Found {
    /// Since 2000-01-01.
    pub days: i64,
    pub micros: i64,
    /// Seconds east.
    pub offset: Option<i64>,
}

impl Found {
    /// As a local clock shows it.
    pub(super) fn local(&self) -> SqlResult<i64> {
        self.days
            .checked_mul(MICROS_PER_DAY)
            .and_then(|midnight| midnight.checked_add(self.micros))
            .and_then(|local| datetime::check_timestamp(local).ok())
            .ok_or_else(|| {
                SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
            })
    }
}

#[derive(Default)]
struct Parts {
    year: Option<i64>,
    century: Option<i64>,
    before_christ: bool,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    julian: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    week: Option<i64>,
    week_of_month: Option<i64>,
    hour: Option<i64>,
    /// The hour is one of twelve.
    twelve: bool,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    micros: i64,
    second_of_day: Option<i64>,
    zone_hour: Option<i64>,
    zone_minute: i64,
    zone_west: bool,
}

fn bad_value(value: &str, field: &str, detail: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_DATETIME_FORMAT,
        format!("invalid value \"{value}\" for \"{field}\""),
    )
    .detail(detail.to_string())
}

fn out_of_range(text: &str) -> SqlError {
    SqlError::new(
        SqlState::DATETIME_FIELD_OVERFLOW,
        format!("date/time field value out of range: \"{text}\""),
    )
}

struct Cursor<'a> {
    rest: &'a str,
    /// How many characters a message shows of what should be a number.
    shown: usize,
}

impl Cursor<'_> {
    fn first(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn advance(&mut self) {
        if let Some(c) = self.first() {
            self.rest = &self.rest[c.len_utf8()..];
        }
    }

    fn skip_blanks(&mut self) -> i64 {
        let mut skipped = 0;
        while self.first().is_some_and(|c| c.is_ascii_whitespace()) {
            self.advance();
            skipped += 1;
        }
        skipped
    }

    /// A number of at most `width` digits, or as many as there are.
    fn number(&mut self, width: Option<usize>, name: &str) -> SqlResult<(i64, usize)> {
        let sign = usize::from(self.rest.starts_with(['-', '+']));
        let limit = width.unwrap_or(usize::MAX);
        let digits = self.rest[sign..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let taken = digits.min(limit.saturating_sub(if width.is_some() { sign } else { 0 }));
        if taken == 0 {
            let shown: String = self.rest.chars().take(self.shown).collect();
            return Err(bad_value(&shown, name, "Value must be an integer."));
        }
        let text = &self.rest[..sign + taken];
        let value = text
            .parse::<i64>()
            .ok()
            .filter(|v| i32::try_from(*v).is_ok());
        let value = value.ok_or_else(|| {
            SqlError::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("value for \"{name}\" in source string is out of range"),
            )
        })?;
        self.rest = &self.rest[sign + taken..];
        Ok((value, taken))
    }

    /// One of several words, in any case.
    fn word(&mut self, words: &[&str], name: &str) -> SqlResult<usize> {
        let found = words.iter().enumerate().filter(|(_, word)| {
            self.rest
                .get(..word.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(word))
        });
        match found.max_by_key(|(_, word)| word.len()) {
            Some((at, word)) => {
                self.rest = &self.rest[word.len()..];
                Ok(at)
            }
            None => {
                let end = self
                    .rest
                    .find(|c: char| c.is_ascii_whitespace())
                    .unwrap_or(self.rest.len());
                let detail =
                    "The given value did not match any of the allowed values for this field.";
                Err(bad_value(&self.rest[..end], name, detail))
            }
        }
    }
}

/// How many characters a pattern has where digits follow at once, and its name in messages.
fn width_of(field: Field) -> (usize, &'static str) {
    match field {
        Field::Hour12 => (2, "HH12"),
        Field::Hour24 => (2, "HH24"),
        Field::Minute => (2, "MI"),
        Field::Second => (2, "SS"),
        Field::Milli => (3, "MS"),
        Field::Micro => (6, "US"),
        Field::Fraction(count) => (usize::from(count), "FF"),
        Field::SecondOfDay => (5, "SSSS"),
        Field::Year(4) => (4, "YYYY"),
        Field::Year(3) => (3, "YYY"),
        Field::Year(2) => (2, "YY"),
        Field::Year(_) => (1, "Y"),
        Field::IsoYear(4) => (4, "IYYY"),
        Field::IsoYear(count) => (usize::from(count), "IYY"),
        Field::Month => (2, "MM"),
        Field::Day => (2, "DD"),
        Field::DayOfYear => (3, "DDD"),
        Field::IsoDayOfYear => (3, "IDDD"),
        Field::Weekday => (1, "D"),
        Field::IsoWeekday => (1, "ID"),
        Field::WeekOfMonth => (1, "W"),
        Field::WeekOfYear => (2, "WW"),
        Field::IsoWeek => (2, "IW"),
        Field::Century => (2, "CC"),
        Field::Quarter => (1, "Q"),
        Field::ZoneHour => (2, "TZH"),
        Field::ZoneMinute => (2, "TZM"),
        Field::Julian => (10, "J"),
        _ => (10, ""),
    }
}

/// Years of fewer digits than four lie near 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        year => year,
    }
}

/// Reads a text.
///
/// # Errors
/// `22007` for what does not fit the template, `22008` for a date or time that is not there.
pub(super) fn read(text: &str, template: &str) -> SqlResult<Found> {
    read_pieces(text, &pieces(template), false)
}

/// The same as the standard wants it: signs and blanks must be those of the template, and all of the text
/// must be used up by all of the template.
///
/// # Errors
/// As [`read`].
pub(super) fn read_strictly(text: &str, pieces: &[Piece]) -> SqlResult<Found> {
    read_pieces(text, pieces, true)
}

fn invalid(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

fn read_pieces(text: &str, pieces: &[Piece], strict: bool) -> SqlResult<Found> {
    let mut cursor = Cursor {
        rest: text,
        shown: 1,
    };
    let mut parts = Parts::default();
    // Characters of the text that were skipped although the template has none for them.
    let mut skipped = 0;
    for (at, piece) in pieces.iter().enumerate() {
        if at == 0 || matches!(piece, Piece::Field { .. }) {
            skipped += cursor.skip_blanks();
        }
        if cursor.rest.is_empty() {
            if strict {
                return Err(invalid("input string is too short for datetime format"));
            }
            break;
        }
        match piece {
            Piece::Separator(sign) if strict => match cursor.first() == Some(*sign) {
                true => cursor.advance(),
                false => {
                    let message = format!("unmatched format separator \"{sign}\"");
                    return Err(invalid(message));
                }
            },
            Piece::Literal(letter) if strict => match cursor.first() == Some(*letter) {
                true => cursor.advance(),
                false => {
                    let message = format!("unmatched format character \"{letter}\"");
                    return Err(invalid(message));
                }
            },
            Piece::Separator(_) => {
                skipped -= 1;
                if cursor.first().is_some_and(is_separator) {
                    cursor.advance();
                    skipped += 1;
                }
            }
            Piece::Literal(_) if skipped > 0 => skipped -= 1,
            Piece::Literal(_) => cursor.advance(),
            Piece::Field { field, bare, .. } => {
                let (width, name) = width_of(*field);
                cursor.shown = width;
                let digits_follow = matches!(
                    pieces.get(at + 1),
                    Some(Piece::Field { field, .. }) if is_digits(*field)
                );
                let width = (digits_follow && !bare).then_some(width);
                skipped = 0;
                parts.read(*field, width, name, &mut cursor)?;
                if let Piece::Field {
                    ordinal: Some(_), ..
                } = piece
                {
                    cursor.advance();
                    cursor.advance();
                }
            }
        }
    }
    if strict {
        cursor.skip_blanks();
        if !cursor.rest.is_empty() {
            return Err(invalid(
                "trailing characters remain in input string after datetime format",
            ));
        }
    }
    parts.finish(text)
}

fn is_digits(field: Field) -> bool {
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

impl Parts {
    fn read(
        &mut self,
        field: Field,
        width: Option<usize>,
        name: &str,
        cursor: &mut Cursor,
    ) -> SqlResult<()> {
        let shorts: Vec<&str> = MONTHS.iter().map(|month| &month[..3]).collect();
        let short_days: Vec<&str> = DAYS.iter().map(|day| &day[..3]).collect();
        // Digits behind the point: fewer stand for tenths, hundredths …
        let fraction = |count: u32, cursor: &mut Cursor| -> SqlResult<i64> {
            let (value, digits) = cursor.number(Some(width.unwrap_or(count as usize)), name)?;
            Ok(value * 10i64.pow(6u32.saturating_sub(digits as u32)))
        };
        match field {
            Field::Hour12 | Field::Hour24 => {
                self.twelve = field == Field::Hour12;
                self.hour = Some(cursor.number(width, name)?.0);
            }
            Field::Minute => self.minute = cursor.number(width, name)?.0,
            Field::Second => self.second = cursor.number(width, name)?.0,
            Field::Milli => self.micros += fraction(3, cursor)?,
            Field::Micro => self.micros += fraction(6, cursor)?,
            Field::Fraction(count) => self.micros += fraction(u32::from(count), cursor)?,
            Field::SecondOfDay => self.second_of_day = Some(cursor.number(width, name)?.0),
            Field::Half(_, dots) => {
                let words: &[&str] = match dots {
                    true => &["A.M.", "P.M."],
                    false => &["AM", "PM"],
                };
                self.afternoon = Some(cursor.word(words, "AM")? == 1);
                self.twelve = true;
            }
            Field::YearWithComma => {
                let (thousands, _) = cursor.number(None, "Y,YYY")?;
                cursor.advance();
                self.year = Some(thousands * 1000 + cursor.number(Some(3), "Y,YYY")?.0);
            }
            Field::Year(_) => {
                let (year, digits) = cursor.number(width, name)?;
                let short = digits < 4 && !matches!(field, Field::Year(4));
                self.year = Some(if short { near_2020(year) } else { year });
            }
            Field::IsoYear(_) => {
                let (year, digits) = cursor.number(width, name)?;
                let short = digits < 4 && !matches!(field, Field::IsoYear(4));
                self.iso_year = Some(if short { near_2020(year) } else { year });
            }
            Field::Era(_, dots) => {
                let words: &[&str] = match dots {
                    true => &["A.D.", "B.C."],
                    false => &["AD", "BC"],
                };
                self.before_christ = cursor.word(words, "BC")? == 1;
            }
            Field::MonthName(_) => {
                let names: Vec<&str> = MONTHS.iter().copied().chain(shorts).collect();
                self.month = Some(cursor.word(&names, "Month")? as i64 % 12 + 1);
            }
            Field::MonthShort(_) => self.month = Some(cursor.word(&shorts, "Mon")? as i64 + 1),
            Field::Month => self.month = Some(cursor.number(width, name)?.0),
            Field::DayName(_) => {
                cursor.word(&DAYS, "Day")?;
            }
            Field::DayShort(_) => {
                cursor.word(&short_days, "Dy")?;
            }
            Field::DayOfYear => self.day_of_year = Some(cursor.number(width, name)?.0),
            Field::Day => self.day = Some(cursor.number(width, name)?.0),
            Field::IsoWeekday => self.iso_day = Some(cursor.number(width, name)?.0),
            Field::Weekday | Field::IsoDayOfYear | Field::Quarter => {
                cursor.number(width, name)?;
            }
            Field::WeekOfMonth => self.week_of_month = Some(cursor.number(width, name)?.0),
            Field::WeekOfYear => self.week = Some(cursor.number(width, name)?.0),
            Field::IsoWeek => self.iso_week = Some(cursor.number(width, name)?.0),
            Field::Century => self.century = Some(cursor.number(width, name)?.0),
            Field::Julian => self.julian = Some(cursor.number(width, name)?.0),
            Field::Roman(_) => self.month = Some(cursor.word(&ROMAN, "RM")? as i64 + 1),
            Field::ZoneName(_) | Field::Offset => {
                return Err(SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "formatting field \"TZ\" is only supported in to_char",
                ));
            }
            Field::ZoneHour => {
                self.zone_west = cursor.rest.starts_with('-');
                if cursor.rest.starts_with(['-', '+', ' ']) {
                    cursor.advance();
                }
                self.zone_hour = Some(cursor.number(Some(2), name)?.0);
            }
            Field::ZoneMinute => self.zone_minute = cursor.number(width, name)?.0,
        }
        Ok(())
    }

    fn finish(self, text: &str) -> SqlResult<Found> {
        let refuse = || out_of_range(text);
        let mut hour = self.hour.unwrap_or(0);
        if self.twelve {
            if self.hour.is_some() && !(1..=12).contains(&hour) {
                return Err(SqlError::new(
                    SqlState::INVALID_DATETIME_FORMAT,
                    format!("hour \"{hour}\" is invalid for the 12-hour clock"),
                )
                .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            match self.afternoon {
                Some(true) if hour < 12 => hour += 12,
                Some(false) | None if hour == 12 => hour = 0,
                _ => {}
            }
        }
        if !(0..=59).contains(&self.minute)
            || !(0..=60).contains(&self.second)
            || !(0..=24).contains(&hour)
        {
            return Err(refuse());
        }
        let mut micros = match self.second_of_day {
            Some(seconds) if !(0..=86_400).contains(&seconds) => return Err(refuse()),
            Some(seconds) => seconds * MICROS_PER_SECOND,
            None => {
                hour * MICROS_PER_HOUR
                    + self.minute * MICROS_PER_MINUTE
                    + self.second * MICROS_PER_SECOND
            }
        };
        micros += self.micros;
        if micros > MICROS_PER_DAY {
            return Err(refuse());
        }
        let offset = self.zone_hour.map(|hours| {
            let seconds = hours * 3600 + self.zone_minute * 60;
            if self.zone_west { -seconds } else { seconds }
        });
        Ok(Found {
            days: self.days(text)?,
            micros,
            offset,
        })
    }

    fn days(&self, text: &str) -> SqlResult<i64> {
        let refuse = || out_of_range(text);
        if let Some(julian) = self.julian {
            return Ok(julian - 2_451_545);
        }
        let mut year = match (self.year, self.century) {
            (Some(year), Some(century)) => (century - 1) * 100 + year % 100,
            (Some(year), None) => year,
            (None, Some(century)) => (century - 1) * 100 + 1,
            (None, None) => 0,
        };
        if self.before_christ && year > 0 {
            year = 1 - year;
        } else if year < 0 {
            // There is no year 0.
            year += 1;
        }
        if let Some(week) = self.iso_week {
            let year = self.iso_year.unwrap_or(year);
            if !(1..=53).contains(&week) {
                return Err(refuse());
            }
            let fourth = Civil {
                year,
                month: 1,
                day: 4,
            }
            .to_days();
            let monday = fourth - (fourth + 5).rem_euclid(7);
            return Ok(monday + (week - 1) * 7 + self.iso_day.unwrap_or(1) - 1);
        }
        let year = self.iso_year.unwrap_or(year);
        let first = Civil {
            year,
            month: 1,
            day: 1,
        }
        .to_days();
        if let Some(day) = self.day_of_year.filter(|_| self.month.is_none()) {
            if !(1..=366).contains(&day) {
                return Err(refuse());
            }
            return Ok(first + day - 1);
        }
        if let Some(week) = self
            .week
            .filter(|_| self.day.is_none() && self.month.is_none())
        {
            return Ok(first + (week - 1) * 7);
        }
        let day = match (self.day, self.week_of_month) {
            (Some(day), _) => day,
            (None, Some(week)) => (week - 1) * 7 + 1,
            (None, None) => 1,
        };
        let civil = Civil {
            year,
            month: u8::try_from(self.month.unwrap_or(1)).map_err(|_| refuse())?,
            day: u8::try_from(day).map_err(|_| refuse())?,
        };
        match civil.exists() {
            true => Ok(civil.to_days()),
            false => Err(refuse()),
        }
    }
}
