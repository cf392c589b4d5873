//! Dates and times as PostgreSQL counts, reads and prints them.
//!
//! Relies on: `jiff` with its bundled zone database, so that a zone means the same on every
//! machine.  Promises: PostgreSQL's calendar (proleptic Gregorian, years before 1 written `BC`), its
//! range of dates and its choice of offset where the clock jumps.  Does not: read a clock (the caller
//! gives it to [`parse_by_clock`], for "now", "today" and their kin), or know intervals (`interval`
//! does).
//!
//! ```text
//! days      2000-01-01 is 0                 4714-11-24 BC ..= 5874897-12-31
//! micros    2000-01-01 00:00 is 0           4714-11-24 BC ..= 294276-12-31 23:59:59.999999
//! infinities are the smallest and largest integers of the width
//! ```

mod abbreviations;
mod decode;
mod fields;
mod parse;
mod split;
mod style;
mod time;
mod words;
mod zone;

pub use fields::{
    Field, date_trunc, date_trunc_tz, extract_date, extract_timestamp, extract_tz, iso_week,
};
pub use parse::{
    DateOrder, asks_for_clock, parse_by_clock, parse_date, parse_timestamp, parse_timestamptz,
};
pub use style::{
    DateStyle, write_date_in_style, write_timestamp_in_style, write_timestamptz_in_style,
};
pub use time::{
    TimeTz, check_time, extract_time, extract_timetz, parse_time, parse_timetz, round_time,
    write_time, write_timetz,
};
pub use zone::TimeZone;

use crate::error::{SqlError, SqlResult, SqlState};
use std::io::Write;

/// The date after every date.
pub const DATE_INFINITY: i32 = i32::MAX;
/// The date before every date.
pub const DATE_NEGATIVE_INFINITY: i32 = i32::MIN;
/// The timestamp after every timestamp, with or without zone.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// The timestamp before every timestamp, with or without zone.
pub const TIMESTAMP_NEGATIVE_INFINITY: i64 = i64::MIN;

/// Microseconds in a second, and so on up.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds in a minute.
pub const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
/// Microseconds in an hour.
pub const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
/// Microseconds in a day.
pub const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;

/// Days from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_DAYS: i32 = -10_957;
/// 1970-01-01 00:00 in microseconds since 2000-01-01.
pub const UNIX_EPOCH_MICROS: i64 = UNIX_EPOCH_DAYS as i64 * MICROS_PER_DAY;

/// Julian day number of 2000-01-01; Julian day 0 is the first date there is.
pub(crate) const JULIAN_EPOCH: i64 = 2_451_545;
/// 5874897-12-31.
const DATE_MAX: i64 = 2_147_483_493 - JULIAN_EPOCH;
/// 4714-11-24 BC.
const DATE_MIN: i64 = -JULIAN_EPOCH;
/// 4714-11-24 00:00 BC.
const TIMESTAMP_MIN: i64 = -JULIAN_EPOCH * MICROS_PER_DAY;
/// 294277-01-01 00:00, the first moment out of range.
const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;

pub(crate) fn out_of_range(what: &str) -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, what)
}

/// Refuses days outside the calendar; the infinities pass.
///
/// # Errors
/// `22008`.
pub fn check_date(days: i64) -> SqlResult<i32> {
    match i32::try_from(days) {
        Ok(days) if is_date_infinite(days) => Ok(days),
        Ok(days) if (DATE_MIN..=DATE_MAX).contains(&i64::from(days)) => Ok(days),
        _ => Err(out_of_range("date out of range")),
    }
}

/// Refuses moments outside the calendar; the infinities pass.
///
/// # Errors
/// `22008`.
pub fn check_timestamp(micros: i64) -> SqlResult<i64> {
    if is_infinite(micros) || (TIMESTAMP_MIN..TIMESTAMP_END).contains(&micros) {
        return Ok(micros);
    }
    Err(out_of_range("timestamp out of range"))
}

/// True for the two infinite dates.
pub fn is_date_infinite(days: i32) -> bool {
    days == DATE_INFINITY || days == DATE_NEGATIVE_INFINITY
}

/// True for the two infinite timestamps.
pub fn is_infinite(micros: i64) -> bool {
    micros == TIMESTAMP_INFINITY || micros == TIMESTAMP_NEGATIVE_INFINITY
}

/// A day of the calendar. Year 0 is 1 BC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Civil {
    /// Astronomical year: 0 is 1 BC, -1 is 2 BC.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

impl Civil {
    /// The day that lies `days` after 2000-01-01.
    pub fn from_days(days: i64) -> Civil {
        // Years are counted from 1 March, so that the leap day is the last of its year; 400 years
        // have 146,097 days. 2000-03-01 is day 60.
        let shifted = days - 60;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        // Months from March have 31 30 31 30 31 days, twice, and 31 28/29: 153 days in five.
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let (month, carry) = if month_from_march < 10 {
            (month_from_march + 3, 0)
        } else {
            (month_from_march - 9, 1)
        };
        Civil {
            year: 2000 + era * 400 + year_of_era + carry,
            month: month as u8,
            day: day as u8,
        }
    }

    /// Days since 2000-01-01. The inverse of [`Civil::from_days`] for a day that exists.
    pub fn to_days(self) -> i64 {
        let before_march = i64::from(self.month <= 2);
        let year = self.year - 2000 - before_march;
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month_from_march = (i64::from(self.month) + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era + 60
    }

    /// True if the month has such a day.
    pub fn exists(self) -> bool {
        (1..=12).contains(&self.month)
            && (1..=days_in_month(self.year, self.month)).contains(&self.day)
    }
}

/// How many days a month (1 to 12) has.
pub fn days_in_month(year: i64, month: u8) -> u8 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 2000-01-01 and microseconds of that day.
pub fn split(micros: i64) -> (i64, i64) {
    (
        micros.div_euclid(MICROS_PER_DAY),
        micros.rem_euclid(MICROS_PER_DAY),
    )
}

/// Midnight of a date.
///
/// # Errors
/// `22008` for a date beyond the range of timestamps.
pub fn date_to_timestamp(days: i32) -> SqlResult<i64> {
    match days {
        DATE_INFINITY => Ok(TIMESTAMP_INFINITY),
        DATE_NEGATIVE_INFINITY => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        _ => i64::from(days)
            .checked_mul(MICROS_PER_DAY)
            .filter(|micros| *micros < TIMESTAMP_END)
            .ok_or_else(|| out_of_range("date out of range for timestamp")),
    }
}

/// The day of a timestamp.
pub fn timestamp_to_date(micros: i64) -> i32 {
    match micros {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        TIMESTAMP_NEGATIVE_INFINITY => DATE_NEGATIVE_INFINITY,
        _ => split(micros).0 as i32,
    }
}

/// The moment at which clocks in `zone` show `micros`.
///
/// # Errors
/// `22008` if it is out of range.
pub fn timestamp_to_timestamptz(micros: i64, zone: &TimeZone) -> SqlResult<i64> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    check_timestamp(micros - zone.offset_of_local(micros) * MICROS_PER_SECOND)
}

/// What clocks in `zone` show at a moment.
///
/// # Errors
/// `22008` if it is out of range.
pub fn timestamptz_to_timestamp(micros: i64, zone: &TimeZone) -> SqlResult<i64> {
    if is_infinite(micros) {
        return Ok(micros);
    }
    check_timestamp(micros + zone.offset_at(micros) * MICROS_PER_SECOND)
}

/// Midnight of a date in `zone`.
///
/// # Errors
/// `22008` if it is out of range.
pub fn date_to_timestamptz(days: i32, zone: &TimeZone) -> SqlResult<i64> {
    timestamp_to_timestamptz(date_to_timestamp(days)?, zone)
}

/// The day that calendars in `zone` show at a moment.
///
/// # Errors
/// `22008` if it is out of range.
pub fn timestamptz_to_date(micros: i64, zone: &TimeZone) -> SqlResult<i32> {
    Ok(timestamp_to_date(timestamptz_to_timestamp(micros, zone)?))
}

/// Rounds a timestamp to this many digits (0 to 6) of a second, as `timestamp(p)` does.
///
/// # Errors
/// `22008` if rounding leaves the range.
pub fn round_timestamp(micros: i64, digits: u32) -> SqlResult<i64> {
    if is_infinite(micros) || digits >= 6 {
        return Ok(micros);
    }
    let unit = 10i64.pow(6 - digits);
    // A half goes away from 2000-01-01, as in PostgreSQL.
    let rounded = (micros.abs() + unit / 2) / unit * unit;
    check_timestamp(rounded * micros.signum())
}

/// Appends a date as PostgreSQL prints it.
pub fn write_date(days: i32, out: &mut Vec<u8>) {
    match days {
        DATE_INFINITY => out.extend_from_slice(b"infinity"),
        DATE_NEGATIVE_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => {
            let era = write_civil(i64::from(days), out);
            out.extend_from_slice(era);
        }
    }
}

/// Appends a timestamp as PostgreSQL prints it.
pub fn write_timestamp(micros: i64, out: &mut Vec<u8>) {
    write_moment(micros, None, out);
}

/// Appends a timestamp with its offset in `zone`, as PostgreSQL prints it.
pub fn write_timestamptz(micros: i64, zone: &TimeZone, out: &mut Vec<u8>) {
    let offset = if is_infinite(micros) {
        0
    } else {
        zone.offset_at(micros)
    };
    write_moment(micros, Some(offset), out);
}

fn write_moment(micros: i64, offset: Option<i64>, out: &mut Vec<u8>) {
    match micros {
        TIMESTAMP_INFINITY => return out.extend_from_slice(b"infinity"),
        TIMESTAMP_NEGATIVE_INFINITY => return out.extend_from_slice(b"-infinity"),
        _ => {}
    }
    let (days, time) = split(micros);
    let shown = time + offset.unwrap_or(0) * MICROS_PER_SECOND;
    let days = days + shown.div_euclid(MICROS_PER_DAY);
    let time = shown.rem_euclid(MICROS_PER_DAY);
    let era = write_civil(days, out);
    out.push(b' ');
    write_clock(time, out);
    if let Some(offset) = offset {
        write_offset(offset, out);
    }
    out.extend_from_slice(era);
}

/// `HH:MM:SS`, and as many digits of the second's fraction as are not 0 at its end.
fn write_clock(time: i64, out: &mut Vec<u8>) {
    write_two(time / MICROS_PER_HOUR, out);
    out.push(b':');
    write_two(time / MICROS_PER_MINUTE % 60, out);
    out.push(b':');
    write_two(time / MICROS_PER_SECOND % 60, out);
    let mut fraction = time % MICROS_PER_SECOND;
    if fraction != 0 {
        let mut digits = 6;
        while fraction % 10 == 0 {
            fraction /= 10;
            digits -= 1;
        }
        write!(out, ".{fraction:0digits$}").expect("a Vec takes everything");
    }
}

/// `+02`, `-05:30`, `+00:53:28`.
fn write_offset(offset: i64, out: &mut Vec<u8>) {
    out.push(if offset < 0 { b'-' } else { b'+' });
    let seconds = offset.abs();
    write_two(seconds / 3600, out);
    if seconds % 3600 != 0 {
        out.push(b':');
        write_two(seconds / 60 % 60, out);
        if seconds % 60 != 0 {
            out.push(b':');
            write_two(seconds % 60, out);
        }
    }
}

/// Appends `YYYY-MM-DD`; returns what must follow after time and zone: ` BC` or nothing.
fn write_civil(days: i64, out: &mut Vec<u8>) -> &'static [u8] {
    let civil = Civil::from_days(days);
    let era = write_year(civil.year, out);
    out.push(b'-');
    write_two(i64::from(civil.month), out);
    out.push(b'-');
    write_two(i64::from(civil.day), out);
    era
}

/// Appends a year; returns what must follow at the end: ` BC` or nothing.
fn write_year(astronomical: i64, out: &mut Vec<u8>) -> &'static [u8] {
    let (year, era): (i64, &[u8]) = if astronomical > 0 {
        (astronomical, b"")
    } else {
        (1 - astronomical, b" BC")
    };
    if year < 10_000 {
        write_two(year / 100, out);
        write_two(year % 100, out);
    } else {
        write!(out, "{year}").expect("a Vec takes everything");
    }
    era
}

fn write_two(value: i64, out: &mut Vec<u8>) {
    out.push(b'0' + (value / 10) as u8);
    out.push(b'0' + (value % 10) as u8);
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("dates print as ASCII")
}

/// A date as PostgreSQL prints it.
pub fn format_date(days: i32) -> String {
    text(|out| write_date(days, out))
}

/// A timestamp as PostgreSQL prints it.
pub fn format_timestamp(micros: i64) -> String {
    text(|out| write_timestamp(micros, out))
}

/// A timestamp with its offset in `zone`, as PostgreSQL prints it.
pub fn format_timestamptz(micros: i64, zone: &TimeZone) -> String {
    text(|out| write_timestamptz(micros, zone, out))
}
