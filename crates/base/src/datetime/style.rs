//! Dates and timestamps as text in the styles of `DateStyle`.
//!
//! Relies on: the parent's calendar, `zone` for offsets and names of zones.  Promises: what PostgreSQL prints in each style, and that
//! it is read back as the same by the order of dates that goes with it.  Does not: read anything (`parse`), or print times of day,
//! which look alike in all styles.
//!
//! ```text
//!            date                        timestamp                       with its zone
//! ISO        2024-02-29                  2024-02-29 12:30:00             2024-02-29 12:30:00+01
//! SQL        02/29/2024 or 29/02/2024    02/29/2024 12:30:00             02/29/2024 12:30:00 CET
//! Postgres   02-29-2024 or 29-02-2024    Thu Feb 29 12:30:00 2024        Thu Feb 29 12:30:00 2024 CET
//! German     29.02.2024                  29.02.2024 12:30:00             29.02.2024 12:30:00 CET
//! ```
//! Source: PostgreSQL 15, "Date/Time Output".

use super::parse::DateOrder;
use super::zone::TimeZone;
use super::{
    Civil, DATE_INFINITY, DATE_NEGATIVE_INFINITY, MICROS_PER_DAY, MICROS_PER_SECOND, is_infinite,
    split, write_clock, write_date, write_timestamp, write_timestamptz, write_two, write_year,
};

/// How dates and timestamps print: the first part of `DateStyle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateStyle {
    /// As ISO 8601 has it, but for a blank in place of the T.
    #[default]
    Iso,
    /// With slashes.
    Sql,
    /// With the name of the day, as Unix prints it.
    Postgres,
    /// With dots, the day first.
    German,
}

impl DateStyle {
    /// All of them.
    pub const ALL: [DateStyle; 4] = [
        DateStyle::Iso,
        DateStyle::Sql,
        DateStyle::Postgres,
        DateStyle::German,
    ];

    /// As `SHOW datestyle` has it.
    pub fn name(self) -> &'static str {
        match self {
            DateStyle::Iso => "ISO",
            DateStyle::Sql => "SQL",
            DateStyle::Postgres => "Postgres",
            DateStyle::German => "German",
        }
    }
}

/// Appends a date.
pub fn write_date_in_style(days: i32, style: DateStyle, order: DateOrder, out: &mut Vec<u8>) {
    if style == DateStyle::Iso || matches!(days, DATE_INFINITY | DATE_NEGATIVE_INFINITY) {
        return write_date(days, out);
    }
    let era = write_day(i64::from(days), style, order, out);
    out.extend_from_slice(era);
}

/// Appends a timestamp.
pub fn write_timestamp_in_style(
    micros: i64,
    style: DateStyle,
    order: DateOrder,
    out: &mut Vec<u8>,
) {
    if style == DateStyle::Iso || is_infinite(micros) {
        return write_timestamp(micros, out);
    }
    write_moment(micros, style, order, None, out);
}

/// Appends a timestamp as clocks of the zone show it, with what the zone is called then.
pub fn write_timestamptz_in_style(
    micros: i64,
    zone: &TimeZone,
    style: DateStyle,
    order: DateOrder,
    out: &mut Vec<u8>,
) {
    if style == DateStyle::Iso || is_infinite(micros) {
        return write_timestamptz(micros, zone, out);
    }
    let local = micros + zone.offset_at(micros) * MICROS_PER_SECOND;
    write_moment(local, style, order, Some(&zone.name_at(micros)), out);
}

/// What a clock shows, and what its zone is called.
fn write_moment(
    local: i64,
    style: DateStyle,
    order: DateOrder,
    zone: Option<&str>,
    out: &mut Vec<u8>,
) {
    let (days, time) = split(local);
    let time = time.rem_euclid(MICROS_PER_DAY);
    let era = match style {
        DateStyle::Postgres => {
            let civil = Civil::from_days(days);
            out.extend_from_slice(weekday(days));
            out.push(b' ');
            let month = month(civil.month);
            if order == DateOrder::Dmy {
                write_two(i64::from(civil.day), out);
                out.push(b' ');
                out.extend_from_slice(month);
            } else {
                out.extend_from_slice(month);
                out.push(b' ');
                write_two(i64::from(civil.day), out);
            }
            out.push(b' ');
            write_clock(time, out);
            out.push(b' ');
            write_year(civil.year, out)
        }
        _ => {
            let era = write_day(days, style, order, out);
            out.push(b' ');
            write_clock(time, out);
            era
        }
    };
    if let Some(zone) = zone {
        out.push(b' ');
        out.extend_from_slice(zone.as_bytes());
    }
    out.extend_from_slice(era);
}

/// Appends a day; returns what must follow: ` BC` or nothing.
fn write_day(days: i64, style: DateStyle, order: DateOrder, out: &mut Vec<u8>) -> &'static [u8] {
    let civil = Civil::from_days(days);
    let (day, month) = (i64::from(civil.day), i64::from(civil.month));
    let (first, second) = match (style, order) {
        (DateStyle::German, _) | (_, DateOrder::Dmy) => (day, month),
        _ => (month, day),
    };
    let between = match style {
        DateStyle::German => b'.',
        DateStyle::Sql => b'/',
        DateStyle::Postgres | DateStyle::Iso => b'-',
    };
    write_two(first, out);
    out.push(between);
    write_two(second, out);
    out.push(between);
    write_year(civil.year, out)
}

fn month(number: u8) -> &'static [u8] {
    const NAMES: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let at = usize::from(number.clamp(1, 12) - 1) * 3;
    &NAMES[at..at + 3]
}

fn weekday(days: i64) -> &'static [u8] {
    const NAMES: &[u8; 21] = b"SunMonTueWedThuFriSat";
    // 2000-01-01 was a Saturday.
    let at = (days + 6).rem_euclid(7) as usize * 3;
    &NAMES[at..at + 3]
}
