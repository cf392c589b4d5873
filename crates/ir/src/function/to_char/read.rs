//! Text to dates and times by a template.
//!
//! Promises: what PostgreSQL reads and refuses: blanks and signs in a template match any, or none, in the text, outside of FX; a number
//! has as many digits as its pattern where digits follow at once, and else as many as there are; what is said twice is said alike; dates
//! of the calendar and of ISO weeks are not mixed; what is behind the last pattern is not looked at.

use super::cursor::{Cursor, invalid};
use super::template::{
    DAYS, Field, MONTHS, Piece, ROMAN, Spelling, is_digits, is_separator, pieces,
};
use quintet_base::datetime::{
    self, Civil, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
    days_in_month,
};
use quintet_base::{SqlError, SqlResult, SqlState};

/// Julian day of 2000-01-01.
const JULIAN_EPOCH: i64 = 2_451_545;

/// Hours that a zone may be away from Greenwich.
const ZONE_HOURS_END: i64 = 16;

/// What a text says.
pub(super) struct Found {
    /// Since 2000-01-01.
    pub days: i64,
    pub micros: i64,
    /// Seconds east.
    pub offset: Option<i64>,
    /// How many digits of a second FF1 to FF6 asked for.
    pub digits: Option<u32>,
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

/// Which calendar a template's patterns are of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Calendar {
    Gregorian,
    IsoWeeks,
}

/// What was read; 0 is what was not.
#[derive(Default)]
struct Parts {
    calendar: Option<Calendar>,
    year: i64,
    /// How many digits of the year the pattern has.
    year_digits: u8,
    century: i64,
    before_christ: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    julian: i64,
    week: i64,
    week_of_month: i64,
    /// 1 is Sunday.
    weekday: i64,
    hour: i64,
    /// The hour is one of twelve.
    twelve: bool,
    afternoon: i64,
    minute: i64,
    second: i64,
    milli: i64,
    micro: i64,
    fraction_digits: Option<u32>,
    second_of_day: i64,
    zone_hour: i64,
    zone_minute: i64,
    /// 1 is east.
    zone_sign: i64,
}

/// How many characters a pattern has where digits follow at once.
fn width_of(field: Field, spelling: Spelling) -> usize {
    match field {
        Field::Hour12 | Field::Hour24 => 2,
        Field::Milli | Field::IsoDayOfYear => 3,
        Field::Micro => 6,
        Field::Fraction(count) => usize::from(count),
        Field::IsoWeekday => 1,
        Field::ZoneHour | Field::ZoneMinute => 2,
        _ => spelling.name.len(),
    }
}

/// Years of fewer digits than four lie near 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        ..70 => year + 2000,
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

fn read_pieces(text: &str, pieces: &[Piece], strict: bool) -> SqlResult<Found> {
    let mut cursor = Cursor { text, at: 0 };
    let mut parts = Parts::default();
    let mut exact = strict;
    // Characters of the text that were skipped although the template has none for them.
    let mut skipped = 0;
    for (at, piece) in pieces.iter().enumerate() {
        if cursor.rest().is_empty() {
            if strict {
                return Err(invalid("input string is too short for datetime format"));
            }
            break;
        }
        let is_pattern = matches!(piece, Piece::Field { .. });
        let is_first = at == 0 && !matches!(piece, Piece::Exact);
        if !exact && (is_first || is_pattern) {
            skipped += cursor.skip_blanks();
        }
        match piece {
            Piece::Exact => exact = true,
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
            Piece::Separator(_) | Piece::Literal(_) if exact => cursor.advance(),
            Piece::Separator(_) => {
                skipped -= 1;
                if cursor.first().is_some_and(is_separator) {
                    cursor.advance();
                    skipped += 1;
                }
            }
            Piece::Literal(_) if skipped > 0 => skipped -= 1,
            Piece::Literal(_) => cursor.advance(),
            Piece::Field {
                field,
                bare,
                ordinal,
                spelling,
            } => {
                let digits_follow = match pieces.get(at + 1) {
                    _ if ordinal.is_some() => false,
                    None => false,
                    Some(Piece::Field { field, .. }) => is_digits(*field),
                    Some(Piece::Literal(c) | Piece::Separator(c)) => c.is_ascii_digit(),
                    Some(Piece::Exact) => false,
                };
                let mut pattern = Pattern {
                    field: *field,
                    width: width_of(*field, *spelling),
                    fixed: digits_follow && !bare,
                    name: &spelling.to_string(),
                    skipped,
                };
                parts.read(&mut pattern, &mut cursor)?;
                if ordinal.is_some() && takes_ordinal(*field) {
                    cursor.advance();
                    cursor.advance();
                }
                if !exact {
                    skipped = cursor.skip_blanks();
                }
            }
        }
    }
    if strict {
        cursor.skip_blanks();
        if !cursor.rest().is_empty() {
            return Err(invalid(
                "trailing characters remain in input string after datetime format",
            ));
        }
    }
    parts.finish(text)
}

/// Numbers have TH behind them, words have not.
fn takes_ordinal(field: Field) -> bool {
    is_digits(field) && !matches!(field, Field::ZoneMinute)
}

/// The calendar that a pattern is of.
fn calendar_of(field: Field) -> Option<Calendar> {
    match field {
        Field::YearWithComma
        | Field::Year(_)
        | Field::MonthName(_)
        | Field::MonthShort(_)
        | Field::Month
        | Field::DayOfYear
        | Field::Day
        | Field::Weekday
        | Field::WeekOfMonth
        | Field::WeekOfYear
        | Field::Roman(_) => Some(Calendar::Gregorian),
        Field::IsoYear(_) | Field::IsoDayOfYear | Field::IsoWeekday | Field::IsoWeek => {
            Some(Calendar::IsoWeeks)
        }
        _ => None,
    }
}

/// A pattern where it stands.
struct Pattern<'p> {
    field: Field,
    width: usize,
    fixed: bool,
    name: &'p str,
    /// Characters skipped before it that the template has nothing for.
    skipped: i64,
}

impl Pattern<'_> {
    fn number(&self, cursor: &mut Cursor) -> SqlResult<i64> {
        self.counted(cursor).map(|(value, _)| value)
    }

    /// The number, and how many characters it took.
    fn counted(&self, cursor: &mut Cursor) -> SqlResult<(i64, usize)> {
        cursor.number(self.width, self.fixed, self.name)
    }

    /// Keeps what was read.
    ///
    /// # Errors
    /// `22007` if something else was read before.
    fn keep(&self, place: &mut i64, value: i64) -> SqlResult<()> {
        if *place != 0 && *place != value {
            return Err(invalid(format!(
                "conflicting values for \"{}\" field in formatting string",
                self.name
            ))
            .detail("This value contradicts a previous setting for the same field type."));
        }
        *place = value;
        Ok(())
    }
}

/// Digits behind the point: fewer stand for tenths, hundredths …
fn scaled(value: i64, digits: usize, of: usize) -> i64 {
    value * 10i64.pow(of.saturating_sub(digits) as u32)
}

impl Parts {
    fn read(&mut self, pattern: &mut Pattern, cursor: &mut Cursor) -> SqlResult<()> {
        let shorts: Vec<&str> = MONTHS.iter().map(|month| &month[..3]).collect();
        let short_days: Vec<&str> = DAYS.iter().map(|day| &day[..3]).collect();
        let name = pattern.name;
        if let Some(calendar) = calendar_of(pattern.field) {
            if self.calendar.is_some_and(|known| known != calendar) {
                return Err(invalid("invalid combination of date conventions").hint(
                    "Do not mix Gregorian and ISO week date conventions in a formatting template.",
                ));
            }
            self.calendar = Some(calendar);
        }
        match pattern.field {
            Field::Hour12 => {
                pattern.keep(&mut self.hour, pattern.number(cursor)?)?;
                self.twelve = true;
            }
            Field::Hour24 => pattern.keep(&mut self.hour, pattern.number(cursor)?)?,
            Field::Minute => pattern.keep(&mut self.minute, pattern.number(cursor)?)?,
            Field::Second => pattern.keep(&mut self.second, pattern.number(cursor)?)?,
            Field::Milli => {
                let (value, digits) = pattern.counted(cursor)?;
                pattern.keep(&mut self.milli, value)?;
                self.milli = scaled(value, digits, 3);
            }
            Field::Micro | Field::Fraction(_) => {
                if let Field::Fraction(count) = pattern.field {
                    self.fraction_digits = Some(u32::from(count));
                }
                let (value, digits) = pattern.counted(cursor)?;
                pattern.keep(&mut self.micro, value)?;
                self.micro = scaled(value, digits, 6);
            }
            Field::SecondOfDay => {
                pattern.keep(&mut self.second_of_day, pattern.number(cursor)?)?;
            }
            Field::Half(_, dots) => {
                let words: &[&str] = match dots {
                    true => &["A.M.", "P.M."],
                    false => &["AM", "PM"],
                };
                pattern.keep(&mut self.afternoon, cursor.word(words, name)?)?;
                self.twelve = true;
            }
            Field::YearWithComma => {
                pattern.keep(&mut self.year, thousands_and_years(cursor)?)?;
                self.year_digits = 4;
            }
            Field::Year(count) | Field::IsoYear(count) => {
                let (year, digits) = pattern.counted(cursor)?;
                pattern.keep(&mut self.year, year)?;
                if digits < 4 && count < 4 {
                    self.year = near_2020(year);
                }
                self.year_digits = count;
            }
            Field::Era(_, dots) => {
                let words: &[&str] = match dots {
                    true => &["A.D.", "B.C."],
                    false => &["AD", "BC"],
                };
                pattern.keep(&mut self.before_christ, cursor.word(words, name)?)?;
            }
            Field::MonthName(_) => {
                pattern.keep(&mut self.month, cursor.word(&MONTHS, name)? + 1)?;
            }
            Field::MonthShort(_) => {
                pattern.keep(&mut self.month, cursor.word(&shorts, name)? + 1)?;
            }
            Field::Month => pattern.keep(&mut self.month, pattern.number(cursor)?)?,
            Field::DayName(_) => {
                pattern.keep(&mut self.weekday, cursor.word(&DAYS, name)?)?;
                self.weekday += 1;
            }
            Field::DayShort(_) => {
                pattern.keep(&mut self.weekday, cursor.word(&short_days, name)?)?;
                self.weekday += 1;
            }
            Field::DayOfYear | Field::IsoDayOfYear => {
                pattern.keep(&mut self.day_of_year, pattern.number(cursor)?)?;
            }
            Field::Day => pattern.keep(&mut self.day, pattern.number(cursor)?)?,
            Field::Weekday => pattern.keep(&mut self.weekday, pattern.number(cursor)?)?,
            Field::IsoWeekday => {
                pattern.keep(&mut self.weekday, pattern.number(cursor)?)?;
                self.weekday = match self.weekday + 1 {
                    8.. => 1,
                    day => day,
                };
            }
            Field::WeekOfMonth => {
                pattern.keep(&mut self.week_of_month, pattern.number(cursor)?)?;
            }
            Field::WeekOfYear | Field::IsoWeek => {
                pattern.keep(&mut self.week, pattern.number(cursor)?)?;
            }
            // Which day of a quarter it would be nobody can say.
            Field::Quarter => {
                pattern.number(cursor)?;
            }
            Field::Century => pattern.keep(&mut self.century, pattern.number(cursor)?)?,
            Field::Julian => pattern.keep(&mut self.julian, pattern.number(cursor)?)?,
            Field::Roman(_) => pattern.keep(&mut self.month, cursor.word(&ROMAN, name)? + 1)?,
            Field::ZoneName(_) | Field::Offset => {
                return Err(SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("formatting field \"{name}\" is only supported in to_char"),
                ));
            }
            Field::ZoneHour => {
                // A minus may have been taken for a separator.
                let is_west = match cursor.first() {
                    Some(sign @ ('-' | '+' | ' ')) => {
                        cursor.advance();
                        sign == '-'
                    }
                    _ => pattern.skipped > 0 && cursor.text[..cursor.at].ends_with('-'),
                };
                self.zone_sign = if is_west { -1 } else { 1 };
                pattern.keep(&mut self.zone_hour, pattern.number(cursor)?)?;
            }
            Field::ZoneMinute => {
                if self.zone_sign == 0 {
                    self.zone_sign = 1;
                }
                pattern.keep(&mut self.zone_minute, pattern.number(cursor)?)?;
            }
        }
        Ok(())
    }

    fn finish(mut self, text: &str) -> SqlResult<Found> {
        let refuse = || {
            SqlError::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("date/time field value out of range: \"{text}\""),
            )
        };
        let of_day = self.second_of_day;
        let given = |value: i64, otherwise: i64| if value == 0 { otherwise } else { value };
        let mut hour = given(self.hour, of_day / 3600);
        let minute = given(self.minute, of_day % 3600 / 60);
        let second = given(self.second, of_day % 60);
        if self.twelve {
            if !(1..=12).contains(&hour) {
                return Err(
                    invalid(format!("hour \"{hour}\" is invalid for the 12-hour clock"))
                        .hint("Use the 24-hour clock, or give an hour between 1 and 12."),
                );
            }
            hour = hour % 12 + if self.afternoon == 1 { 12 } else { 0 };
        }
        let days = self.days()?.ok_or_else(refuse)?;
        let fraction = self.milli * 1000 + self.micro;
        if !(0..24).contains(&hour)
            || !(0..60).contains(&minute)
            || !(0..60).contains(&second)
            || !(0..MICROS_PER_SECOND).contains(&fraction)
        {
            return Err(refuse());
        }
        if self.zone_sign != 0
            && !((0..ZONE_HOURS_END).contains(&self.zone_hour)
                && (0..60).contains(&self.zone_minute))
        {
            return Err(SqlError::new(
                SqlState::INVALID_TIME_ZONE_DISPLACEMENT,
                format!("time zone displacement out of range: \"{text}\""),
            ));
        }
        let offset = self.zone_sign * (self.zone_hour * 3600 + self.zone_minute * 60);
        Ok(Found {
            days,
            micros: hour * MICROS_PER_HOUR
                + minute * MICROS_PER_MINUTE
                + second * MICROS_PER_SECOND
                + fraction,
            offset: (self.zone_sign != 0).then_some(offset),
            digits: self.fraction_digits,
        })
    }

    /// The year, if one was said: 0 is 1 BC.
    fn said_year(&self) -> Option<i64> {
        let signed = |value: i64| match self.before_christ {
            1 => -value,
            _ => value,
        };
        if self.year == 0 {
            // A century's first year.
            return match signed(self.century) {
                0 => None,
                century @ 1.. => Some((century - 1) * 100 + 1),
                century => Some(century * 100 + 1),
            };
        }
        if self.century != 0 && self.year_digits <= 2 {
            // Of the century's hundred years; the last one ends in 00.
            let century = signed(self.century);
            return Some(match (self.year % 100, century >= 0) {
                (0, true) => century * 100,
                (0, false) => century * 100 + 1,
                (year, true) => (century - 1) * 100 + year,
                (year, false) => (century + 1) * 100 - year + 1,
            });
        }
        let year = signed(self.year);
        Some(if year < 0 { year + 1 } else { year })
    }

    /// The day, since 2000-01-01; `None` for one that is not there.
    fn days(&mut self) -> SqlResult<Option<i64>> {
        let is_iso = self.calendar == Some(Calendar::IsoWeeks);
        let said = self.said_year();
        let mut year = said.unwrap_or(0);
        let (mut month, mut day) = (1, 1);
        let mut checked = [said.is_some(), false, false];
        let mut be = |date: i64| -> (i64, i64, i64) {
            let civil = Civil::from_days(date);
            checked = [true; 3];
            (civil.year, i64::from(civil.month), i64::from(civil.day))
        };
        if self.julian != 0 {
            (year, month, day) = be(self.julian - JULIAN_EPOCH);
        }
        if self.week != 0 {
            if is_iso {
                // Without a day of the week, its Monday.
                let behind = match self.weekday {
                    0 => 0,
                    1 => 6,
                    weekday => weekday - 2,
                };
                (year, month, day) = be(monday_of_first_week(year) + (self.week - 1) * 7 + behind);
            } else {
                self.day_of_year = (self.week - 1) * 7 + 1;
            }
        }
        if self.week_of_month != 0 {
            self.day = (self.week_of_month - 1) * 7 + 1;
        }
        if self.day != 0 {
            (day, checked[2]) = (self.day, true);
        }
        if self.month != 0 {
            (month, checked[1]) = (self.month, true);
        }
        if self.day_of_year != 0 && (month <= 1 || day <= 1) {
            if year == 0 && self.before_christ != 1 {
                return Err(invalid(
                    "cannot calculate day of year without year information",
                ));
            }
            if is_iso {
                let civil = Civil::from_days(monday_of_first_week(year) + self.day_of_year - 1);
                (year, month, day) = (civil.year, i64::from(civil.month), i64::from(civil.day));
                checked = [true; 3];
            } else {
                let (at, rest) = month_of(year, self.day_of_year);
                if month <= 1 {
                    month = at;
                }
                if day <= 1 {
                    day = rest;
                }
                (checked[1], checked[2]) = (true, true);
            }
        }
        let [has_year, has_month, has_day] = checked;
        if has_month && !(1..=12).contains(&month) || has_day && !(1..=31).contains(&day) {
            return Ok(None);
        }
        let (Ok(in_year), Ok(in_month)) = (u8::try_from(month), u8::try_from(day)) else {
            return Ok(None);
        };
        if has_year && has_month && has_day && in_month > days_in_month(year, in_year) {
            return Ok(None);
        }
        // Without a year 30 February is 1 March.
        let first = Civil {
            year,
            month: in_year,
            day: 1,
        };
        Ok(Some(first.to_days() + day - 1))
    }
}

/// `2,020`: the year, whose last three digits stand behind a comma.
fn thousands_and_years(cursor: &mut Cursor) -> SqlResult<i64> {
    cursor.skip_blanks();
    let refuse = || invalid("invalid input string for \"Y,YYY\"");
    let (length, thousands) = Cursor::whole(cursor.rest());
    let behind = &cursor.rest()[length..];
    let behind = behind.strip_prefix(',').filter(|_| length > 0);
    let behind = behind.ok_or_else(refuse)?;
    let digits = behind
        .bytes()
        .take(3)
        .take_while(u8::is_ascii_digit)
        .count();
    let years: i64 = behind[..digits].parse().map_err(|_| refuse())?;
    cursor.at += length + 1 + digits;
    let year = thousands.and_then(|thousands| thousands.checked_mul(1000)?.checked_add(years));
    year.filter(|year| i32::try_from(*year).is_ok())
        .ok_or_else(refuse)
}

/// The day that the first ISO week of a year begins with, since 2000-01-01.
fn monday_of_first_week(year: i64) -> i64 {
    let fourth = Civil {
        year,
        month: 1,
        day: 4,
    }
    .to_days();
    fourth - (fourth + 5).rem_euclid(7)
}

/// The month of a day of the year, and the day in it; days beyond December are its own and so are not there.
fn month_of(year: i64, day_of_year: i64) -> (i64, i64) {
    let mut rest = day_of_year;
    for month in 1..=12u8 {
        let days = i64::from(days_in_month(year, month));
        if rest <= days {
            return (i64::from(month), rest);
        }
        rest -= days;
    }
    (13, rest)
}
