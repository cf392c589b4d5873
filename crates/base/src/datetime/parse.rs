//! Text to dates and timestamps.
//!
//! Relies on: `zone`.  Promises: the forms that clients and dumps write are read as PostgreSQL
//! reads them, and refused with its messages.  Does not: take the free-form dates that PostgreSQL
//! also guesses at (two-digit years, Julian days, names of days), or `now` and its kin.
//!
//! ```text
//! date     2024-01-31   2024/1/31   20240131   2024-Jan-31   31-Jan-2024   01/31/2024 (by DateOrder)
//!          January 31, 2024   Jan 31 2024   31 January 2024
//! time     12:34   12:34:56.789   123456   with AM or PM
//! between  blanks or T
//! zone     Z   +02   +0230   +05:30   -05:30:15   CEST   Europe/Berlin
//! era      BC or AD, anywhere after the date
//! or       infinity   -infinity   epoch
//! ```

use super::zone::{self, TimeZone};
use super::{
    Civil, DATE_INFINITY, DATE_NEGATIVE_INFINITY, MICROS_PER_DAY, MICROS_PER_HOUR,
    MICROS_PER_MINUTE, MICROS_PER_SECOND, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY,
    UNIX_EPOCH_DAYS, UNIX_EPOCH_MICROS, check_date, check_timestamp, out_of_range,
    timestamp_to_timestamptz,
};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::types::SqlType;

/// More digits than any year, time or day in range has.
const DIGITS_MAX: usize = 9;

/// What comes first in a date like 01/02/2024: the second part of `DateStyle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateOrder {
    /// The month.
    #[default]
    Mdy,
    /// The day.
    Dmy,
    /// The year, so that there is no such date.
    Ymd,
}

impl DateOrder {
    /// Whether what a text says may be another date in another order.
    pub fn matters(text: &str) -> bool {
        let digits = text.trim_start().bytes().take_while(u8::is_ascii_digit);
        let digits = digits.count();
        let next = text.trim_start().as_bytes().get(digits);
        (1..=2).contains(&digits) && next.is_some_and(|byte| matches!(byte, b'-' | b'/' | b'.'))
    }
}

/// A word that stands for a moment relative to the clock; the caller has the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockWord {
    /// The start of the transaction.
    Now,
    /// Its midnight.
    Today,
    /// The midnight after.
    Tomorrow,
    /// The midnight before.
    Yesterday,
}

impl ClockWord {
    /// The word, if `text` is nothing but one.
    pub fn parse(text: &str) -> Option<ClockWord> {
        match text.trim().to_ascii_lowercase().as_str() {
            "now" => Some(ClockWord::Now),
            "today" => Some(ClockWord::Today),
            "tomorrow" => Some(ClockWord::Tomorrow),
            "yesterday" => Some(ClockWord::Yesterday),
            _ => None,
        }
    }
}

/// What a text says, before the type decides what to keep of it.
enum Parsed {
    NegativeInfinity,
    Infinity,
    Epoch,
    Moment {
        days: i64,
        /// Microseconds of the day; a whole day where the text says 24:00.
        time: i64,
        zone: Option<TimeZone>,
    },
}

/// Why a text is refused; the messages quote the whole text.
enum Refusal {
    Syntax,
    Field,
    /// A field that would fit in another order of day and month.
    FieldOrder,
    Displacement,
    Zone(String),
}

impl Refusal {
    fn into_error(self, text: &str, ty: SqlType) -> SqlError {
        let field = || {
            SqlError::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("date/time field value out of range: \"{text}\""),
            )
        };
        match self {
            Refusal::Syntax => {
                let name = match ty {
                    SqlType::Timestamp => "timestamp",
                    SqlType::Time => "time",
                    other => other.name(),
                };
                SqlError::new(
                    SqlState::INVALID_DATETIME_FORMAT,
                    format!("invalid input syntax for type {name}: \"{text}\""),
                )
            }
            Refusal::Field => field(),
            Refusal::FieldOrder => {
                field().hint("Perhaps you need a different \"datestyle\" setting.")
            }
            Refusal::Displacement => SqlError::new(
                SqlState::INVALID_TIME_ZONE_DISPLACEMENT,
                format!("time zone displacement out of range: \"{text}\""),
            ),
            Refusal::Zone(name) => zone::not_recognized(&name),
        }
    }
}

fn parse(text: &str, order: DateOrder, ty: SqlType) -> SqlResult<Parsed> {
    if ClockWord::parse(text).is_some() {
        let what = format!("\"{}\" as a {} literal", text.trim(), ty.name());
        return Err(SqlError::unsupported(what)
            .hint("Use now(), current_timestamp or current_date instead."));
    }
    match text.trim().to_ascii_lowercase().as_str() {
        "infinity" | "+infinity" => Ok(Parsed::Infinity),
        "-infinity" => Ok(Parsed::NegativeInfinity),
        "epoch" => Ok(Parsed::Epoch),
        body => Cursor {
            rest: body.as_bytes(),
            order,
        }
        .moment()
        .map_err(|refusal| refusal.into_error(text, ty)),
    }
}

/// Reads a date; a time or zone after it is checked and dropped, as PostgreSQL does.
///
/// # Errors
/// `22007` if it is no date, `22008` if there is no such day.
pub fn parse_date(text: &str, order: DateOrder) -> SqlResult<i32> {
    match parse(text, order, SqlType::Date)? {
        Parsed::Infinity => Ok(DATE_INFINITY),
        Parsed::NegativeInfinity => Ok(DATE_NEGATIVE_INFINITY),
        Parsed::Epoch => Ok(UNIX_EPOCH_DAYS),
        Parsed::Moment { days, .. } => check_date(days)
            .ok()
            .filter(|days| !super::is_date_infinite(*days))
            .ok_or_else(|| out_of_range(&format!("date out of range: \"{text}\""))),
    }
}

fn moment_in_range(days: i64, time: i64, text: &str) -> SqlResult<i64> {
    days.checked_mul(MICROS_PER_DAY)
        .and_then(|micros| micros.checked_add(time))
        .filter(|micros| !super::is_infinite(*micros))
        .and_then(|micros| check_timestamp(micros).ok())
        .ok_or_else(|| out_of_range(&format!("timestamp out of range: \"{text}\"")))
}

/// Reads a timestamp without time zone; a zone in the text is checked and dropped, as PostgreSQL
/// does.
///
/// # Errors
/// `22007` if it is no timestamp, `22008` if there is no such moment.
pub fn parse_timestamp(text: &str, order: DateOrder) -> SqlResult<i64> {
    match parse(text, order, SqlType::Timestamp)? {
        Parsed::Infinity => Ok(TIMESTAMP_INFINITY),
        Parsed::NegativeInfinity => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        Parsed::Epoch => Ok(UNIX_EPOCH_MICROS),
        Parsed::Moment { days, time, .. } => moment_in_range(days, time, text),
    }
}

/// Reads a timestamp with time zone; without a zone in the text, the session's counts.
///
/// # Errors
/// `22007` if it is no timestamp, `22008` if there is no such moment, `22009` or `22023` if its
/// zone is none.
pub fn parse_timestamptz(text: &str, order: DateOrder, session: &TimeZone) -> SqlResult<i64> {
    match parse(text, order, SqlType::TimestampTz)? {
        Parsed::Infinity => Ok(TIMESTAMP_INFINITY),
        Parsed::NegativeInfinity => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        Parsed::Epoch => Ok(UNIX_EPOCH_MICROS),
        Parsed::Moment { days, time, zone } => {
            let local = moment_in_range(days, time, text)?;
            timestamp_to_timestamptz(local, zone.as_ref().unwrap_or(session))
                .map_err(|_| out_of_range(&format!("timestamp out of range: \"{text}\"")))
        }
    }
}

/// Reads a time of day: microseconds, its zone, and the day if the text says one.
pub(super) fn parse_clock(
    text: &str,
    order: DateOrder,
    ty: SqlType,
) -> SqlResult<(i64, Option<TimeZone>, Option<i64>)> {
    let lower = text.trim().to_ascii_lowercase();
    let cursor = || Cursor {
        rest: lower.as_bytes(),
        order,
    };
    match cursor().clock() {
        Ok((time, zone)) => Ok((time, zone, None)),
        Err(refusal) => match cursor().moment() {
            Ok(Parsed::Moment { days, time, zone }) => Ok((time, zone, Some(days))),
            _ => Err(refusal.into_error(text, ty)),
        },
    }
}

/// What a text that is no time of day is refused with.
pub(super) fn time_error(text: &str, ty: SqlType) -> SqlError {
    Refusal::Field.into_error(text, ty)
}

/// The lower-cased text that is still to be read.
struct Cursor<'a> {
    rest: &'a [u8],
    order: DateOrder,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|b| !belongs(*b));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn digits(&mut self) -> Result<&'a [u8], Refusal> {
        let digits = self.take_while(|b| b.is_ascii_digit());
        match digits.len() {
            0 => Err(Refusal::Syntax),
            1..=DIGITS_MAX => Ok(digits),
            _ => Err(Refusal::Field),
        }
    }

    fn moment(mut self) -> Result<Parsed, Refusal> {
        let (year, month, day) = self.date()?;
        let (mut time, mut afternoon, mut zone, mut era) = (None, None, None, None);
        // A `t` binds a time to the date; anywhere else it would begin a zone.
        let t_before_digit =
            self.peek() == Some(b't') && self.rest.get(1).is_some_and(u8::is_ascii_digit);
        if t_before_digit {
            self.take(b't');
        } else if self.peek() == Some(b'-') {
            // A fourth part of the date, not an offset to the west.
            return Err(Refusal::Syntax);
        }
        loop {
            self.take_while(|b| b.is_ascii_whitespace());
            match self.peek() {
                None => break,
                Some(b'0'..=b'9') if time.is_none() => time = Some(self.time()?),
                Some(b'+' | b'-') if zone.is_none() => zone = Some(self.offset()?),
                Some(b'a'..=b'z') => {
                    let word = self.word();
                    match word {
                        "bc" | "ad" if era.is_none() => era = Some(word == "bc"),
                        "am" | "pm" if afternoon.is_none() && time.is_some() => {
                            afternoon = Some(word == "pm");
                        }
                        _ if zone.is_none() => zone = Some(named_zone(word)?),
                        _ => return Err(Refusal::Syntax),
                    }
                }
                _ => return Err(Refusal::Syntax),
            }
        }
        if year == 0 {
            return Err(Refusal::Field);
        }
        let year = if era == Some(true) { 1 - year } else { year };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(Refusal::FieldOrder);
        }
        let civil = Civil {
            year,
            month: month as u8,
            day: day as u8,
        };
        if !civil.exists() {
            return Err(Refusal::Field);
        }
        Ok(Parsed::Moment {
            days: civil.to_days(),
            time: twelve_hours(time.unwrap_or(0), afternoon)?,
            zone,
        })
    }

    /// A time of day and its zone, and nothing else.
    fn clock(mut self) -> Result<(i64, Option<TimeZone>), Refusal> {
        if self.peek() == Some(b't') {
            self.take(b't');
        }
        let time = self.time()?;
        let (mut afternoon, mut zone) = (None, None);
        loop {
            self.take_while(|b| b.is_ascii_whitespace());
            match self.peek() {
                None => break,
                Some(b'+' | b'-') if zone.is_none() => zone = Some(self.offset()?),
                Some(b'a'..=b'z') => match self.word() {
                    word @ ("am" | "pm") if afternoon.is_none() => afternoon = Some(word == "pm"),
                    word if zone.is_none() => zone = Some(named_zone(word)?),
                    _ => return Err(Refusal::Syntax),
                },
                _ => return Err(Refusal::Syntax),
            }
        }
        Ok((twelve_hours(time, afternoon)?, zone))
    }

    /// Year, month, day; none of them checked.
    fn date(&mut self) -> Result<(i64, i64, i64), Refusal> {
        if self.peek().is_some_and(|byte| byte.is_ascii_lowercase()) {
            return self.date_by_month();
        }
        let first = self.digits()?;
        if let Some(month) = self.month_behind_blanks() {
            let year = self.year_behind_blanks()?;
            return Ok((year, month, number(first)));
        }
        let Some(separator @ (b'-' | b'/' | b'.')) = self.peek() else {
            // YYYYMMDD, with more digits for later years.
            let Some(at) = first.len().checked_sub(4).filter(|at| *at >= 4) else {
                return Err(Refusal::Syntax);
            };
            let (year, rest) = first.split_at(at);
            return Ok((number(year), number(&rest[..2]), number(&rest[2..])));
        };
        self.take(separator);
        let month_name = month(self.take_while(|b| b.is_ascii_lowercase()));
        let second = match month_name {
            Some(_) => &b""[..],
            None => self.digits()?,
        };
        if !self.take(separator) {
            return Err(Refusal::Syntax);
        }
        let third = self.digits()?;
        let (a, b, c) = (number(first), number(second), number(third));
        match (month_name, first.len() >= 3, third.len() >= 3) {
            (Some(month), true, _) => Ok((a, month, c)),
            (Some(month), false, true) => Ok((c, month, a)),
            (None, true, _) => Ok((a, b, c)),
            (None, false, true) => match self.order {
                DateOrder::Mdy => Ok((c, a, b)),
                DateOrder::Dmy => Ok((c, b, a)),
                DateOrder::Ymd => Err(Refusal::FieldOrder),
            },
            (_, false, false) => Err(Refusal::FieldOrder),
        }
    }

    /// `january 31, 2024`, `jan 31 2024`, `jan-31-2024`.
    fn date_by_month(&mut self) -> Result<(i64, i64, i64), Refusal> {
        let name = self.take_while(|b| b.is_ascii_lowercase());
        let month = month(name).ok_or(Refusal::Syntax)?;
        let separator = self.peek().filter(|byte| matches!(byte, b'-' | b'/'));
        let Some(separator) = separator else {
            self.take_while(|b| b.is_ascii_whitespace());
            let day = number(self.digits()?);
            self.take(b',');
            return Ok((self.year_behind_blanks()?, month, day));
        };
        self.take(separator);
        let day = number(self.digits()?);
        if !self.take(separator) {
            return Err(Refusal::Syntax);
        }
        Ok((self.whole_year()?, month, day))
    }

    /// The month of `31 january 2024`; takes nothing if there is none.
    fn month_behind_blanks(&mut self) -> Option<i64> {
        let before = self.rest;
        let blanks = self.take_while(|b| b.is_ascii_whitespace());
        let found = month(self.take_while(|b| b.is_ascii_lowercase()));
        if blanks.is_empty() || found.is_none() {
            self.rest = before;
            return None;
        }
        found
    }

    fn year_behind_blanks(&mut self) -> Result<i64, Refusal> {
        self.take_while(|b| b.is_ascii_whitespace());
        self.whole_year()
    }

    /// A year with its century.
    fn whole_year(&mut self) -> Result<i64, Refusal> {
        let digits = self.digits()?;
        match digits.len() >= 3 && self.peek() != Some(b':') {
            true => Ok(number(digits)),
            false => Err(Refusal::Syntax),
        }
    }

    /// Microseconds of the day.
    fn time(&mut self) -> Result<i64, Refusal> {
        let first = self.digits()?;
        let (hour, minute, second) = if self.take(b':') {
            let minute = self.digits()?;
            let second: &[u8] = if self.take(b':') { self.digits()? } else { b"" };
            (first, minute, second)
        } else {
            match first.len() {
                4 => (&first[..2], &first[2..], &b""[..]),
                6 => (&first[..2], &first[2..4], &first[4..]),
                _ => return Err(Refusal::Syntax),
            }
        };
        let mut fraction = 0;
        if !second.is_empty() && self.take(b'.') {
            let digits = self.take_while(|b| b.is_ascii_digit());
            let digits = std::str::from_utf8(digits).expect("digits are ASCII");
            // The rounding of halves is the machine's, as it is PostgreSQL's.
            let part: f64 = format!("0.{digits}").parse().map_err(|_| Refusal::Syntax)?;
            fraction = (part * 1e6).round_ties_even() as i64;
        }
        let (hour, minute, second) = (number(hour), number(minute), number(second));
        let time = hour * MICROS_PER_HOUR
            + minute * MICROS_PER_MINUTE
            + second * MICROS_PER_SECOND
            + fraction;
        // Second 60 and hour 24 carry over; nothing else does.
        if minute > 59 || second > 60 || time > MICROS_PER_DAY {
            return Err(Refusal::Field);
        }
        Ok(time)
    }

    /// `+2`, `+02`, `+0230`, `+02:30`, `+02:30:15`.
    fn offset(&mut self) -> Result<TimeZone, Refusal> {
        let west = self.peek() == Some(b'-');
        self.rest = &self.rest[1..];
        let first = self.digits()?;
        let (hour, mut minute, mut second) = match first.len() {
            1 | 2 => (first, &b""[..], &b""[..]),
            3 | 4 => (
                &first[..first.len() - 2],
                &first[first.len() - 2..],
                &b""[..],
            ),
            6 => (&first[..2], &first[2..4], &first[4..]),
            _ => return Err(Refusal::Displacement),
        };
        if minute.is_empty() && self.take(b':') {
            minute = self.digits()?;
            if self.take(b':') {
                second = self.digits()?;
            }
        }
        let (hour, minute, second) = (number(hour), number(minute), number(second));
        if hour > 15 || minute > 59 || second > 59 {
            return Err(Refusal::Displacement);
        }
        let seconds = (hour * 3600 + minute * 60 + second) as i32;
        Ok(TimeZone::fixed(if west { -seconds } else { seconds }))
    }

    /// Letters, and what zone names have beside them once there is a slash.
    fn word(&mut self) -> &'a str {
        let start = self.rest;
        self.take_while(|b| b.is_ascii_lowercase());
        if self.peek() == Some(b'/') || self.peek() == Some(b'_') {
            self.take_while(|b| {
                b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+')
            });
        }
        let word = &start[..start.len() - self.rest.len()];
        std::str::from_utf8(word).expect("the bytes taken are ASCII")
    }
}

fn named_zone(word: &str) -> Result<TimeZone, Refusal> {
    TimeZone::in_literal(word).ok_or_else(|| {
        if word.contains('/') {
            Refusal::Zone(word.to_string())
        } else {
            Refusal::Syntax
        }
    })
}

/// Applies AM (`Some(false)`) or PM (`Some(true)`) to a time of day.
fn twelve_hours(time: i64, afternoon: Option<bool>) -> Result<i64, Refusal> {
    let Some(afternoon) = afternoon else {
        return Ok(time);
    };
    let hour = time / MICROS_PER_HOUR;
    if hour > 12 {
        return Err(Refusal::Field);
    }
    let half = 12 * MICROS_PER_HOUR;
    let before_one = if hour == 12 { time - half } else { time };
    Ok(if afternoon {
        before_one + half
    } else {
        before_one
    })
}

/// The value of at most [`DIGITS_MAX`] digits; 0 for none.
fn number(digits: &[u8]) -> i64 {
    digits
        .iter()
        .fold(0, |value, d| value * 10 + i64::from(d - b'0'))
}

/// A month's number from its name or the first three letters of it.
fn month(name: &[u8]) -> Option<i64> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = NAMES
        .iter()
        .position(|known| name == known.as_bytes() || name == &known.as_bytes()[..3])?;
    Some(at as i64 + 1)
}
