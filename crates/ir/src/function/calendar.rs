//! Dates and timestamps.
//!
//! Relies on: `base::datetime` for the calendar, the [`Host`] for the clock and the zone.
//! Promises: days are exact, infinities stay infinite.  Does not: know intervals or times of day;
//! `timespan` does.

use super::{Function, builtin as new, fail, int, str, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{
    Bool, Date, Float8, Int4, Numeric as Decimal, Text, Timestamp, TimestampTz,
};
use quintet_base::datetime::{self, Field};
use quintet_base::text_format::{self, FormatContext};
use quintet_base::{Numeric, SqlError, SqlResult, SqlState, SqlType, Value};

/// Between 1970-01-01 and 2000-01-01.
const EPOCH_SECONDS: f64 = 946_684_800.0;

/// A date argument.
fn days(value: &Value) -> i32 {
    match value {
        Value::Date(days) => *days,
        other => wrong_type(other),
    }
}

/// A timestamp argument of either kind.
fn micros(value: &Value) -> i64 {
    match value {
        Value::Timestamp(micros) | Value::TimestampTz(micros) => *micros,
        other => wrong_type(other),
    }
}

fn shift(date: i32, by: i64) -> SqlResult<Value> {
    if datetime::is_date_infinite(date) {
        return Ok(Value::Date(date));
    }
    let refuse = |_| SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range");
    datetime::check_date(i64::from(date) + by)
        .map(Value::Date)
        .map_err(refuse)
}

fn add_days(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    shift(days(args[0]), int(args[1]))
}

fn days_added(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    shift(days(args[1]), int(args[0]))
}

fn subtract_days(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    shift(days(args[0]), -int(args[1]))
}

fn days_between(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (later, earlier) = (days(args[0]), days(args[1]));
    if datetime::is_date_infinite(later) || datetime::is_date_infinite(earlier) {
        return fail(
            SqlState::DATETIME_FIELD_OVERFLOW,
            "cannot subtract infinite dates",
        );
    }
    Ok(Value::Int4(later - earlier))
}

fn transaction_time(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::TimestampTz(host.transaction_time()))
}

fn statement_time(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::TimestampTz(host.statement_time()))
}

fn clock_time(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(Value::TimestampTz(host.clock_time()))
}

fn local_time(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    datetime::timestamptz_to_timestamp(host.transaction_time(), &host.format().zone)
        .map(Value::Timestamp)
}

fn current_date(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    datetime::timestamptz_to_date(host.transaction_time(), &host.format().zone).map(Value::Date)
}

fn part(args: &[&Value], host: &dyn Host) -> SqlResult<Option<Numeric>> {
    let field = |ty: SqlType| Field::parse(str(args[0]), ty);
    match args[1] {
        Value::Date(days) => datetime::extract_date(field(Date)?, *days),
        Value::Timestamp(micros) => datetime::extract_timestamp(field(Timestamp)?, *micros),
        other => datetime::extract_tz(field(TimestampTz)?, micros(other), &host.format().zone),
    }
}

fn extract(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    Ok(part(args, host)?.map_or(Value::Null, Value::numeric))
}

/// Takes a date as the timestamp of its midnight, unlike `extract`.
fn date_part(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    if let Value::Date(days) = *args[1] {
        let midnight = Value::Timestamp(datetime::date_to_timestamp(days)?);
        return date_part(&[args[0], &midnight], host);
    }
    Ok(part(args, host)?.map_or(Value::Null, |n| Value::Float8(n.to_f64())))
}

fn truncate(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let name = str(args[0]);
    match args[1] {
        Value::Timestamp(micros) => {
            datetime::date_trunc(Field::parse(name, Timestamp)?, *micros).map(Value::Timestamp)
        }
        other => {
            let zone = &host.format().zone;
            datetime::date_trunc_tz(Field::parse(name, TimestampTz)?, micros(other), zone)
                .map(Value::TimestampTz)
        }
    }
}

fn truncate_in_zone(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let zone = datetime::TimeZone::parse(str(args[2]))?;
    let field = Field::parse(str(args[0]), TimestampTz)?;
    datetime::date_trunc_tz(field, micros(args[1]), &zone).map(Value::TimestampTz)
}

/// `AT TIME ZONE`: what the clock there shows, or the moment when it shows this.
fn at_zone(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let zone = datetime::TimeZone::of_expression(str(args[0]))?;
    match args[1] {
        Value::Timestamp(micros) => {
            datetime::timestamp_to_timestamptz(*micros, &zone).map(Value::TimestampTz)
        }
        other => datetime::timestamptz_to_timestamp(micros(other), &zone).map(Value::Timestamp),
    }
}

fn is_finite(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(match args[0] {
        Value::Date(days) => !datetime::is_date_infinite(*days),
        other => !datetime::is_infinite(micros(other)),
    }))
}

fn make_date(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (year, month, day) = (int(args[0]), int(args[1]), int(args[2]));
    // PostgreSQL counts years before Christ from -1; there is no year 0.
    let civil = datetime::Civil {
        year: if year < 0 { year + 1 } else { year },
        month: u8::try_from(month).unwrap_or(0),
        day: u8::try_from(day).unwrap_or(0),
    };
    if year == 0 || !civil.exists() {
        return fail(
            SqlState::DATETIME_FIELD_OVERFLOW,
            format!("date field value out of range: {year}-{month:02}-{day:02}"),
        );
    }
    datetime::check_date(civil.to_days()).map(Value::Date)
}

fn to_timestamp(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let Value::Float8(seconds) = *args[0] else {
        wrong_type(args[0]);
    };
    if seconds.is_nan() {
        return fail(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp cannot be NaN");
    }
    if seconds.is_infinite() {
        let end = if seconds > 0.0 { i64::MAX } else { i64::MIN };
        return Ok(Value::TimestampTz(end));
    }
    let micros = ((seconds - EPOCH_SECONDS) * 1e6).round_ties_even();
    // Beyond 64 bits the cast saturates to what stands for the infinities.
    datetime::check_timestamp(micros as i64)
        .ok()
        .filter(|&micros| !datetime::is_infinite(micros))
        .map(Value::TimestampTz)
        .ok_or_else(|| {
            let printed = text_format::to_string(args[0], Float8, &FormatContext::default());
            SqlError::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("timestamp out of range: \"{printed}\""),
            )
        })
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("+", &[Date, Int4], Date, add_days),
    new("+", &[Int4, Date], Date, days_added),
    new("-", &[Date, Int4], Date, subtract_days),
    new("-", &[Date, Date], Int4, days_between),
    new("now", &[], TimestampTz, transaction_time).stable(),
    new("transaction_timestamp", &[], TimestampTz, transaction_time).stable(),
    new("current_timestamp", &[], TimestampTz, transaction_time).stable(),
    new("statement_timestamp", &[], TimestampTz, statement_time).stable(),
    new("clock_timestamp", &[], TimestampTz, clock_time).volatile(),
    new("localtimestamp", &[], Timestamp, local_time).stable(),
    new("current_date", &[], Date, current_date).stable(),
    new("extract", &[Text, Date], Decimal, extract),
    new("extract", &[Text, Timestamp], Decimal, extract),
    new("extract", &[Text, TimestampTz], Decimal, extract).stable(),
    new("date_part", &[Text, Date], Float8, date_part),
    new("date_part", &[Text, Timestamp], Float8, date_part),
    new("date_part", &[Text, TimestampTz], Float8, date_part).stable(),
    new("date_trunc", &[Text, Timestamp], Timestamp, truncate),
    new("date_trunc", &[Text, TimestampTz], TimestampTz, truncate).stable(),
    new(
        "date_trunc",
        &[Text, TimestampTz, Text],
        TimestampTz,
        truncate_in_zone,
    )
    .stable(),
    new("timezone", &[Text, Timestamp], TimestampTz, at_zone),
    new("timezone", &[Text, TimestampTz], Timestamp, at_zone),
    new("isfinite", &[Date], Bool, is_finite),
    new("isfinite", &[Timestamp], Bool, is_finite),
    new("isfinite", &[TimestampTz], Bool, is_finite),
    new("make_date", &[Int4, Int4, Int4], Date, make_date),
    new("to_timestamp", &[Float8], TimestampTz, to_timestamp),
];
