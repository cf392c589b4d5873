//! Text to dates and timestamps.
//!
//! Relies on: `decode` for what the text says, `zone`.  Promises: what PostgreSQL reads is read as it
//! reads it, and the rest refused with its messages, in any case of letters; a word that asks for
//! the clock is refused where no clock is given.  Does not: print.

use super::decode::{self, Clock, TimeOfDay};
use super::zone::{self, TimeZone};
use super::{
    DATE_INFINITY, DATE_NEGATIVE_INFINITY, MICROS_PER_DAY, TIMESTAMP_INFINITY,
    TIMESTAMP_NEGATIVE_INFINITY, UNIX_EPOCH_DAYS, UNIX_EPOCH_MICROS, check_date, check_timestamp,
    out_of_range, timestamp_to_timestamptz, timestamptz_to_timestamp,
};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::types::SqlType;
use crate::value::Value;

/// What comes first in a date like 01/02/2024: the second part of `DateStyle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateOrder {
    /// The month.
    #[default]
    Mdy,
    /// The day.
    Dmy,
    /// The year.
    Ymd,
}

impl DateOrder {
    /// Whether what a text says may be another date in another order: it does not begin with so
    /// many digits that they are a year.
    pub fn matters(text: &str) -> bool {
        let digits = text.trim_start().bytes().take_while(u8::is_ascii_digit);
        digits.count() < 3
    }
}

/// Whether a text may name a moment relative to the clock: has one of the words for it.
pub fn asks_for_clock(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphabetic());
    let known = ["now", "today", "tomorrow", "yesterday"];
    words
        .filter(|word| (3..=9).contains(&word.len()))
        .any(|word| known.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// What a text says, before the type decides what to keep of it.
pub(super) enum Parsed {
    NegativeInfinity,
    Infinity,
    Epoch,
    /// The moment of the transaction.
    Now,
    Moment {
        days: i64,
        /// Microseconds of the day; a whole day where the text says 24:00.
        time: i64,
        zone: Option<TimeZone>,
    },
}

/// Why a text is refused; the messages quote the whole text.
pub(super) enum Refusal {
    Syntax,
    Field,
    /// A field that would fit in another order of day and month.
    FieldOrder,
    Displacement,
    Zone(String),
    /// A word that asks for a clock, and there is none.
    Clock(String),
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
            Refusal::Clock(word) => {
                SqlError::unsupported(format!("\"{word}\" as a {} literal", ty.name()))
                    .hint("Use now(), current_timestamp or current_date instead.")
            }
        }
    }
}

fn parse(text: &str, order: DateOrder, clock: Option<Clock>, ty: SqlType) -> SqlResult<Parsed> {
    decode::moment(&text.to_ascii_lowercase(), order, clock)
        .map_err(|refusal| refusal.into_error(text, ty))
}

/// The transaction's moment as clocks of a zone show it.
fn clock(now: i64, zone: &TimeZone) -> SqlResult<Clock> {
    let local = timestamptz_to_timestamp(now, zone)?;
    Ok(Clock {
        today: local.div_euclid(MICROS_PER_DAY),
        time: local.rem_euclid(MICROS_PER_DAY),
    })
}

/// Reads a date; a time or zone after it is checked and dropped, as PostgreSQL does.
///
/// # Errors
/// `22007` if it is no date, `22008` if there is no such day.
pub fn parse_date(text: &str, order: DateOrder) -> SqlResult<i32> {
    date_of(parse(text, order, None, SqlType::Date)?, None, text)
}

fn date_of(parsed: Parsed, clock: Option<Clock>, text: &str) -> SqlResult<i32> {
    let days = match parsed {
        Parsed::Infinity => return Ok(DATE_INFINITY),
        Parsed::NegativeInfinity => return Ok(DATE_NEGATIVE_INFINITY),
        Parsed::Epoch => return Ok(UNIX_EPOCH_DAYS),
        Parsed::Now => clock.map_or(0, |clock| clock.today),
        Parsed::Moment { days, .. } => days,
    };
    check_date(days)
        .ok()
        .filter(|days| !super::is_date_infinite(*days))
        .ok_or_else(|| out_of_range(&format!("date out of range: \"{text}\"")))
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
    timestamp_of(parse(text, order, None, SqlType::Timestamp)?, None, text)
}

fn timestamp_of(parsed: Parsed, clock: Option<Clock>, text: &str) -> SqlResult<i64> {
    match parsed {
        Parsed::Infinity => Ok(TIMESTAMP_INFINITY),
        Parsed::NegativeInfinity => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        Parsed::Epoch => Ok(UNIX_EPOCH_MICROS),
        Parsed::Now => Ok(clock.map_or(0, |clock| clock.today * MICROS_PER_DAY + clock.time)),
        Parsed::Moment { days, time, .. } => moment_in_range(days, time, text),
    }
}

/// Reads a timestamp with time zone; without a zone in the text, the session's counts.
///
/// # Errors
/// `22007` if it is no timestamp, `22008` if there is no such moment, `22009` or `22023` if its
/// zone is none.
pub fn parse_timestamptz(text: &str, order: DateOrder, session: &TimeZone) -> SqlResult<i64> {
    timestamptz_of(
        parse(text, order, None, SqlType::TimestampTz)?,
        session,
        0,
        text,
    )
}

fn timestamptz_of(parsed: Parsed, session: &TimeZone, now: i64, text: &str) -> SqlResult<i64> {
    match parsed {
        Parsed::Infinity => Ok(TIMESTAMP_INFINITY),
        Parsed::NegativeInfinity => Ok(TIMESTAMP_NEGATIVE_INFINITY),
        Parsed::Epoch => Ok(UNIX_EPOCH_MICROS),
        Parsed::Now => Ok(now),
        Parsed::Moment { days, time, zone } => {
            let local = moment_in_range(days, time, text)?;
            timestamp_to_timestamptz(local, zone.as_ref().unwrap_or(session))
                .map_err(|_| out_of_range(&format!("timestamp out of range: \"{text}\"")))
        }
    }
}

/// Reads a text that asks for the clock (`asks_for_clock`) as a value of one of the types of dates
/// and times. `now`: the moment of the transaction.
///
/// # Errors
/// As the functions for each type.
pub fn parse_by_clock(
    ty: SqlType,
    text: &str,
    order: DateOrder,
    session: &TimeZone,
    now: i64,
) -> SqlResult<Value> {
    let clock = clock(now, session)?;
    match ty {
        SqlType::Time | SqlType::TimeTz => {
            let time = read_clock(text, order, Some(clock), ty)?;
            match ty {
                SqlType::Time => Ok(Value::Time(time.micros)),
                _ => Ok(Value::TimeTz(time.with_offset(session, now, text)?)),
            }
        }
        _ => {
            let parsed = parse(text, order, Some(clock), ty)?;
            match ty {
                SqlType::Date => date_of(parsed, Some(clock), text).map(Value::Date),
                SqlType::Timestamp => timestamp_of(parsed, Some(clock), text).map(Value::Timestamp),
                _ => timestamptz_of(parsed, session, now, text).map(Value::TimestampTz),
            }
        }
    }
}

/// Reads a time of day.
pub(super) fn read_clock(
    text: &str,
    order: DateOrder,
    clock: Option<Clock>,
    ty: SqlType,
) -> SqlResult<TimeOfDay> {
    decode::time_of_day(&text.to_ascii_lowercase(), order, clock)
        .map_err(|refusal| refusal.into_error(text, ty))
}

/// What a text that is no time of day is refused with.
pub(super) fn time_error(text: &str, ty: SqlType) -> SqlError {
    Refusal::Field.into_error(text, ty)
}
