//! Fields of dates and timestamps: `extract`, `date_part` and `date_trunc`.
//!
//! Relies on: `Civil`, `TimeZone`.  Promises: PostgreSQL's values and its number of decimals
//! (`date_part` is the same as a double).  Does not: know intervals or times of day.

use super::{
    Civil, JULIAN_EPOCH, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
    TimeZone, UNIX_EPOCH_DAYS, UNIX_EPOCH_MICROS, check_timestamp, is_date_infinite, is_infinite,
    split, timestamp_to_timestamptz, timestamptz_to_timestamp,
};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::numeric::Numeric;
use crate::types::SqlType;

/// Weekday of 2000-01-01, with Sunday for 0.
const EPOCH_WEEKDAY: i64 = 6;

/// What can be asked of a date or timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // each variant is the field of that name in PostgreSQL
pub enum Field {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    Isoyear,
    Dow,
    Isodow,
    Doy,
    Julian,
    Epoch,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

/// (field, the name that messages use, other names)
const NAMES: &[(Field, &str, &[&str])] = &[
    (
        Field::Microseconds,
        "microseconds",
        &["microsecond", "us", "usec", "usecs", "usecond", "useconds"],
    ),
    (
        Field::Milliseconds,
        "milliseconds",
        &["millisecond", "ms", "msec", "msecs", "msecond", "mseconds"],
    ),
    (Field::Second, "second", &["s", "sec", "secs", "seconds"]),
    (Field::Minute, "minute", &["m", "min", "mins", "minutes"]),
    (Field::Hour, "hour", &["h", "hr", "hrs", "hours"]),
    (Field::Day, "day", &["d", "days"]),
    (Field::Week, "week", &["w", "weeks"]),
    (Field::Month, "month", &["mon", "mons", "months"]),
    (Field::Quarter, "quarter", &["qtr"]),
    (Field::Year, "year", &["y", "yr", "yrs", "years"]),
    (Field::Decade, "decade", &["dec", "decs", "decades"]),
    (Field::Century, "century", &["c", "cent", "centuries"]),
    (
        Field::Millennium,
        "millennium",
        &["mil", "mils", "millennia"],
    ),
    (Field::Isoyear, "isoyear", &[]),
    (Field::Dow, "dow", &[]),
    (Field::Isodow, "isodow", &[]),
    (Field::Doy, "doy", &[]),
    (Field::Julian, "julian", &["j", "jd"]),
    (Field::Epoch, "epoch", &[]),
    (Field::Timezone, "timezone", &[]),
    (Field::TimezoneHour, "timezone_hour", &["timezone_h"]),
    (Field::TimezoneMinute, "timezone_minute", &["timezone_m"]),
];

impl Field {
    /// The field that `name` (any case) asks of a value of type `ty`.
    ///
    /// # Errors
    /// `22023` if there is no such field.
    pub fn parse(name: &str, ty: SqlType) -> SqlResult<Field> {
        let wanted = name.to_ascii_lowercase();
        NAMES
            .iter()
            .find(|(_, own, others)| *own == wanted || others.contains(&wanted.as_str()))
            .map(|(field, _, _)| *field)
            .ok_or_else(|| {
                SqlError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("unit \"{wanted}\" not recognized for type {ty}"),
                )
            })
    }

    /// The name that messages use.
    pub fn name(self) -> &'static str {
        let entry = NAMES.iter().find(|(field, _, _)| *field == self);
        entry.expect("every variant has a row in NAMES").1
    }

    pub(crate) fn unsupported(self, ty: SqlType) -> SqlError {
        SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("unit \"{}\" not supported for type {ty}", self.name()),
        )
    }

    /// Of a field that is no unit, in `date_trunc`.
    pub(crate) fn not_cut(self, ty: SqlType) -> SqlError {
        use Field::*;
        match self {
            Isoyear | Dow | Isodow | Doy | Julian | Epoch => SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unit \"{}\" not recognized for type {ty}", self.name()),
            ),
            _ => self.unsupported(ty),
        }
    }

    /// Of an infinite moment: the fields that grow without end are infinite, those that repeat
    /// are NULL.
    fn of_infinity(self, positive: bool) -> Option<Numeric> {
        use Field::*;
        let grows = matches!(
            self,
            Year | Decade | Century | Millennium | Isoyear | Julian | Epoch
        );
        let infinity = if positive {
            Numeric::INFINITY
        } else {
            Numeric::NEGATIVE_INFINITY
        };
        grows.then_some(infinity)
    }
}

fn decimal(mantissa: i64, scale: u16) -> SqlResult<Numeric> {
    Numeric::from_parts(i128::from(mantissa), scale)
}

/// Which group of `size` years a year is in, counted from 1 and, before the first, from -1.
fn group(year: i64, size: i64) -> i64 {
    if year > 0 {
        (year + size - 1) / size
    } else {
        (year - size) / size
    }
}

/// Sunday is 0.
fn weekday(days: i64) -> i64 {
    (days + EPOCH_WEEKDAY).rem_euclid(7)
}

fn monday_of_week(days: i64) -> i64 {
    days - (weekday(days) + 6) % 7
}

/// ISO 8601 year and week: weeks begin on Monday and belong to the year that has their Thursday.
pub fn iso_week(days: i64) -> (i64, i64) {
    let thursday = monday_of_week(days) + 3;
    let year = Civil::from_days(thursday).year;
    let first = first_of_year(year);
    (year, (thursday - first) / 7 + 1)
}

fn first_of_year(year: i64) -> i64 {
    let civil = Civil {
        year,
        month: 1,
        day: 1,
    };
    civil.to_days()
}

/// Years as people write them: there is no year 0.
fn without_zero(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

/// The fields that only the day decides; `None` for the others.
fn of_day(field: Field, days: i64) -> Option<i64> {
    let civil = Civil::from_days(days);
    let month = i64::from(civil.month);
    Some(match field {
        Field::Day => i64::from(civil.day),
        Field::Month => month,
        Field::Quarter => (month - 1) / 3 + 1,
        Field::Year => without_zero(civil.year),
        Field::Decade => civil.year.div_euclid(10),
        Field::Century => group(civil.year, 100),
        Field::Millennium => group(civil.year, 1000),
        Field::Isoyear => without_zero(iso_week(days).0),
        Field::Week => iso_week(days).1,
        Field::Dow => weekday(days),
        Field::Isodow => (weekday(days) + 6) % 7 + 1,
        Field::Doy => days - first_of_year(civil.year) + 1,
        _ => return None,
    })
}

/// `extract(field from date)`; `None` is NULL.
///
/// # Errors
/// `0A000` for a field that dates do not have.
pub fn extract_date(field: Field, days: i32) -> SqlResult<Option<Numeric>> {
    use Field::*;
    if matches!(
        field,
        Microseconds
            | Milliseconds
            | Second
            | Minute
            | Hour
            | Timezone
            | TimezoneHour
            | TimezoneMinute
    ) {
        return Err(field.unsupported(SqlType::Date));
    }
    if is_date_infinite(days) {
        return Ok(field.of_infinity(days > 0));
    }
    let days = i64::from(days);
    let value = match field {
        Julian => days + JULIAN_EPOCH,
        Epoch => (days - i64::from(UNIX_EPOCH_DAYS)) * (MICROS_PER_DAY / MICROS_PER_SECOND),
        _ => of_day(field, days).expect("fields of the time were refused above"),
    };
    Ok(Some(Numeric::from_i64(value)))
}

/// `extract(field from timestamp)`; `None` is NULL.
///
/// # Errors
/// `0A000` for the fields of the zone.
pub fn extract_timestamp(field: Field, micros: i64) -> SqlResult<Option<Numeric>> {
    use Field::*;
    if matches!(field, Timezone | TimezoneHour | TimezoneMinute) {
        return Err(field.unsupported(SqlType::Timestamp));
    }
    if is_infinite(micros) {
        return Ok(field.of_infinity(micros > 0));
    }
    let (days, time) = split(micros);
    let in_minute = time % MICROS_PER_MINUTE;
    Ok(Some(match field {
        Microseconds => Numeric::from_i64(in_minute),
        Milliseconds => decimal(in_minute, 3)?,
        Second => decimal(in_minute, 6)?,
        Minute => Numeric::from_i64(time / MICROS_PER_MINUTE % 60),
        Hour => Numeric::from_i64(time / MICROS_PER_HOUR),
        Epoch => {
            // In 128 bits: the last timestamps do not fit 64 when counted from 1970.
            let micros = i128::from(micros) - i128::from(UNIX_EPOCH_MICROS);
            Numeric::from_parts(micros, 6)?
        }
        Julian => {
            let day = Numeric::from_i64(days + JULIAN_EPOCH);
            let part = Numeric::from_i64(time).div(&Numeric::from_i64(MICROS_PER_DAY))?;
            day.add(&part)?
        }
        _ => {
            Numeric::from_i64(of_day(field, days).expect("fields of the day are all that is left"))
        }
    }))
}

/// `extract(field from timestamptz)` in a session's zone; `None` is NULL.
///
/// # Errors
/// `22008` if the moment, shown in the zone, is out of range.
pub fn extract_tz(field: Field, micros: i64, zone: &TimeZone) -> SqlResult<Option<Numeric>> {
    use Field::*;
    if is_infinite(micros) {
        return Ok(field.of_infinity(micros > 0));
    }
    let offset = zone.offset_at(micros);
    match field {
        Timezone => Ok(Some(Numeric::from_i64(offset))),
        TimezoneHour => Ok(Some(Numeric::from_i64(offset / 3600))),
        TimezoneMinute => Ok(Some(Numeric::from_i64(offset / 60 % 60))),
        // Counted from a moment, not read from a clock on the wall.
        Epoch => extract_timestamp(field, micros),
        _ => extract_timestamp(field, timestamptz_to_timestamp(micros, zone)?),
    }
}

/// `date_trunc(field, timestamp)`.
///
/// # Errors
/// `0A000` for a field that is no unit of time, `22008` if the result is out of range.
pub fn date_trunc(field: Field, micros: i64) -> SqlResult<i64> {
    truncate(field, micros, SqlType::Timestamp)
}

fn truncate(field: Field, micros: i64, ty: SqlType) -> SqlResult<i64> {
    let (days, _) = split(micros);
    let civil = Civil::from_days(if is_infinite(micros) { 0 } else { days });
    let day_of = |year: i64, month: u8| {
        let first = Civil {
            year,
            month,
            day: 1,
        };
        first.to_days()
    };
    // The first year of the group that `group` counts: 1, 101, … and -99, -199, … before.
    let first_year = |size: i64| {
        let group = group(civil.year, size);
        group * size + 1 - if group > 0 { size } else { 0 }
    };
    let floor = |unit: i64| micros.div_euclid(unit).saturating_mul(unit);
    let days = match field {
        Field::Microseconds => return Ok(micros),
        _ if is_infinite(micros) => return Ok(micros),
        Field::Milliseconds => return check_timestamp(floor(1000)),
        Field::Second => return check_timestamp(floor(MICROS_PER_SECOND)),
        Field::Minute => return check_timestamp(floor(MICROS_PER_MINUTE)),
        Field::Hour => return check_timestamp(floor(MICROS_PER_HOUR)),
        Field::Day => days,
        Field::Week => monday_of_week(days),
        Field::Month => day_of(civil.year, civil.month),
        Field::Quarter => day_of(civil.year, (civil.month - 1) / 3 * 3 + 1),
        Field::Year => day_of(civil.year, 1),
        Field::Decade => day_of(civil.year.div_euclid(10) * 10, 1),
        Field::Century => day_of(first_year(100), 1),
        Field::Millennium => day_of(first_year(1000), 1),
        _ => return Err(field.not_cut(ty)),
    };
    check_timestamp(days.saturating_mul(MICROS_PER_DAY))
}

/// `date_trunc(field, timestamptz)` in a session's zone.
///
/// # Errors
/// As [`date_trunc`].
pub fn date_trunc_tz(field: Field, micros: i64, zone: &TimeZone) -> SqlResult<i64> {
    use Field::*;
    if is_infinite(micros) {
        return truncate(field, micros, SqlType::TimestampTz);
    }
    let local = timestamptz_to_timestamp(micros, zone)?;
    let cut = truncate(field, local, SqlType::TimestampTz)?;
    if matches!(field, Microseconds | Milliseconds | Second | Minute | Hour) {
        // Within the hour the offset stays what it was, also where clocks are being set back.
        return check_timestamp(cut - (local - micros));
    }
    timestamp_to_timestamptz(cut, zone)
}
