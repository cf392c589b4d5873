//! Times of day, alone and with an offset.
//!
//! Relies on: `parse` for the forms.  Promises: PostgreSQL's text of `time` and `timetz`, its
//! order and its wrapping at midnight.  Does not: know a zone's rules: a `timetz` has an offset, and
//! one that is read without takes the offset of the session's zone on 2000-01-01.

use super::decode::TimeOfDay;
use super::parse::{DateOrder, read_clock, time_error};
use super::{Field, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, TimeZone, out_of_range};
use crate::error::SqlResult;
use crate::interval::write_clock;
use crate::numeric::Numeric;
use crate::types::SqlType;
use std::cmp::Ordering;

/// A time of day with an offset from UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeTz {
    /// Microseconds since midnight there.
    pub micros: i64,
    /// Seconds east of Greenwich.
    pub offset: i32,
}

impl TimeTz {
    /// Microseconds since midnight in Greenwich; below 0 or beyond a day for other days there.
    pub fn utc(self) -> i64 {
        self.micros - i64::from(self.offset) * super::MICROS_PER_SECOND
    }

    /// The order of SQL: by the moment, then the more eastern first.
    pub fn order(self, other: TimeTz) -> Ordering {
        let moment = self.utc().cmp(&other.utc());
        moment.then(other.offset.cmp(&self.offset))
    }

    /// The same moment with another offset.
    pub fn at_offset(self, offset: i32) -> TimeTz {
        let micros = self.utc() + i64::from(offset) * super::MICROS_PER_SECOND;
        TimeTz {
            micros: micros.rem_euclid(MICROS_PER_DAY),
            offset,
        }
    }
}

/// Reads a time of day; a date before it and a zone behind it are checked and dropped.
///
/// # Errors
/// `22007` if it is none, `22008` if there is no such time.
pub fn parse_time(text: &str, order: DateOrder) -> SqlResult<i64> {
    Ok(read_clock(text, order, None, SqlType::Time)?.micros)
}

/// Reads a time of day with an offset, or takes the session's.
///
/// # Errors
/// As [`parse_time`].
pub fn parse_timetz(text: &str, order: DateOrder, session: &TimeZone) -> SqlResult<TimeTz> {
    read_clock(text, order, None, SqlType::TimeTz)?.with_offset(session, 0, text)
}

impl TimeOfDay {
    /// With the offset of its zone, or of the session's: on the day that the text has, or at a
    /// moment.
    pub(super) fn with_offset(
        &self,
        session: &TimeZone,
        moment: i64,
        text: &str,
    ) -> SqlResult<TimeTz> {
        let zone = self.zone.as_ref().unwrap_or(session);
        let offset = match self.day {
            Some(day) => zone.offset_of_local(day.saturating_mul(MICROS_PER_DAY) + self.micros),
            None => zone.offset_at(moment),
        };
        let offset = i32::try_from(offset).map_err(|_| time_error(text, SqlType::TimeTz))?;
        Ok(TimeTz {
            micros: self.micros,
            offset,
        })
    }
}

/// Refuses what is no time of day. 24:00 is one.
///
/// # Errors
/// `22008`.
pub fn check_time(micros: i64) -> SqlResult<i64> {
    match (0..=MICROS_PER_DAY).contains(&micros) {
        true => Ok(micros),
        false => Err(out_of_range("time out of range")),
    }
}

/// Rounds to this many digits of a second.
pub fn round_time(micros: i64, digits: u32) -> i64 {
    if digits >= 6 {
        return micros;
    }
    let unit = 10i64.pow(6 - digits);
    (micros + unit / 2) / unit * unit
}

/// Appends a time of day as PostgreSQL prints it.
pub fn write_time(micros: i64, out: &mut Vec<u8>) {
    write_clock(micros.unsigned_abs(), out);
}

/// Appends a time of day with its offset.
pub fn write_timetz(time: TimeTz, out: &mut Vec<u8>) {
    write_time(time.micros, out);
    super::write_offset(i64::from(time.offset), out);
}

/// `extract(field from time)`.
///
/// # Errors
/// `0A000` for a field that times of day do not have.
pub fn extract_time(field: Field, micros: i64) -> SqlResult<Numeric> {
    clock_field(field, micros)?.ok_or_else(|| field.unsupported(SqlType::Time))
}

/// `extract(field from timetz)`.
///
/// # Errors
/// As [`extract_time`].
pub fn extract_timetz(field: Field, time: TimeTz) -> SqlResult<Numeric> {
    let offset = i64::from(time.offset);
    Ok(match field {
        Field::Timezone => Numeric::from_i64(offset),
        Field::TimezoneHour => Numeric::from_i64(offset / 3600),
        Field::TimezoneMinute => Numeric::from_i64(offset / 60 % 60),
        Field::Epoch => Numeric::from_parts(i128::from(time.utc()), 6)?,
        _ => {
            return clock_field(field, time.micros)?
                .ok_or_else(|| field.unsupported(SqlType::TimeTz));
        }
    })
}

fn clock_field(field: Field, micros: i64) -> SqlResult<Option<Numeric>> {
    let in_minute = i128::from(micros % MICROS_PER_MINUTE);
    Ok(Some(match field {
        Field::Microseconds => Numeric::from_i128(in_minute),
        Field::Milliseconds => Numeric::from_parts(in_minute, 3)?,
        Field::Second => Numeric::from_parts(in_minute, 6)?,
        Field::Minute => Numeric::from_i64(micros / MICROS_PER_MINUTE % 60),
        Field::Hour => Numeric::from_i64(micros / MICROS_PER_HOUR),
        Field::Epoch => Numeric::from_parts(i128::from(micros), 6)?,
        _ => return Ok(None),
    }))
}
