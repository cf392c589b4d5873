//! Intervals and times of day.
//!
//! Relies on: `base::interval` and `base::datetime` for the arithmetic, the [`Host`] for the zone.
//! Promises: PostgreSQL's operators between dates, timestamps, times and intervals.
//! Does not: know ages by any calendar but the Gregorian.

use super::{Function, builtin as new, fail, int, str, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{
    self, Bool, Date, Float8, Int4, Interval as Span, Numeric as Decimal, Text, Time, TimeTz,
    Timestamp, TimestampTz,
};
use quintet_base::datetime::{self, Civil, Field, MICROS_PER_DAY, MICROS_PER_SECOND};
use quintet_base::{
    Interval, Numeric, SqlError, SqlResult, SqlState, Value, interval, text_format,
};
use std::cmp::Ordering;

/// An interval argument.
fn span(value: &Value) -> Interval {
    match value {
        Value::Interval(interval) => *interval,
        other => wrong_type(other),
    }
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Float8(float) => *float,
        other => wrong_type(other),
    }
}

fn plus(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    span(args[0]).add(span(args[1])).map(Value::Interval)
}

fn minus(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    span(args[0]).sub(span(args[1])).map(Value::Interval)
}

fn negate(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    span(args[0]).neg().map(Value::Interval)
}

fn times(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    span(args[0]).mul(float(args[1])).map(Value::Interval)
}

fn times_span(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    times(&[args[1], args[0]], host)
}

fn divide(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    span(args[0]).div(float(args[1])).map(Value::Interval)
}

/// A point in time, so much later.
fn later(point: &Value, by: Interval, host: &dyn Host) -> SqlResult<Value> {
    let on_clock = |micros: i64| (micros + by.micros % MICROS_PER_DAY).rem_euclid(MICROS_PER_DAY);
    Ok(match point {
        Value::Date(days) => {
            let midnight = datetime::date_to_timestamp(*days)?;
            Value::Timestamp(interval::add_to_timestamp(midnight, by)?)
        }
        Value::Timestamp(micros) => Value::Timestamp(interval::add_to_timestamp(*micros, by)?),
        Value::TimestampTz(micros) => {
            let zone = &host.format().zone;
            Value::TimestampTz(interval::add_to_timestamptz(*micros, by, zone)?)
        }
        Value::Time(micros) => Value::Time(on_clock(*micros)),
        Value::TimeTz(time) => Value::TimeTz(datetime::TimeTz {
            micros: on_clock(time.micros),
            ..*time
        }),
        other => wrong_type(other),
    })
}

fn point_plus_span(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    later(args[0], span(args[1]), host)
}

fn span_plus_point(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    later(args[1], span(args[0]), host)
}

fn point_minus_span(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    later(args[0], span(args[1]).neg()?, host)
}

fn between(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    match (args[0], args[1]) {
        (Value::Timestamp(a), Value::Timestamp(b))
        | (Value::TimestampTz(a), Value::TimestampTz(b)) => {
            interval::between(*a, *b).map(Value::Interval)
        }
        (Value::Time(a), Value::Time(b)) => Ok(Value::Interval(Interval::from_micros(a - b))),
        (a, _) => wrong_type(a),
    }
}

/// A date at a time of day.
fn date_plus_time(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let (Value::Date(days), time) = (args[0], args[1]) else {
        wrong_type(args[0])
    };
    let midnight = datetime::date_to_timestamp(*days)?;
    if datetime::is_infinite(midnight) {
        return Ok(match time {
            Value::Time(_) => Value::Timestamp(midnight),
            _ => Value::TimestampTz(midnight),
        });
    }
    match time {
        Value::Time(micros) => datetime::check_timestamp(midnight + micros).map(Value::Timestamp),
        Value::TimeTz(time) => {
            datetime::check_timestamp(midnight + time.utc()).map(Value::TimestampTz)
        }
        other => wrong_type(other),
    }
}

fn time_plus_date(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    date_plus_time(&[args[1], args[0]], host)
}

/// The local clock at a moment.
fn shown(value: &Value, host: &dyn Host) -> SqlResult<i64> {
    match value {
        Value::Timestamp(micros) => Ok(*micros),
        Value::TimestampTz(micros) => {
            datetime::timestamptz_to_timestamp(*micros, &host.format().zone)
        }
        other => wrong_type(other),
    }
}

fn age(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    interval::age(shown(args[0], host)?, shown(args[1], host)?).map(Value::Interval)
}

/// Since the midnight that today began with.
fn age_today(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let today = datetime::timestamptz_to_date(host.transaction_time(), &host.format().zone)?;
    let midnight = datetime::date_to_timestamp(today)?;
    interval::age(midnight, shown(args[0], host)?).map(Value::Interval)
}

fn justify_hours(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    span(args[0]).justify_hours().map(Value::Interval)
}

fn justify_days(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    span(args[0]).justify_days().map(Value::Interval)
}

fn justify(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    span(args[0]).justify().map(Value::Interval)
}

fn part(args: &[&Value]) -> SqlResult<Numeric> {
    let field = |ty: SqlType| Field::parse(str(args[0]), ty);
    match args[1] {
        Value::Interval(interval) => interval.extract(field(Span)?),
        Value::Time(micros) => datetime::extract_time(field(Time)?, *micros),
        Value::TimeTz(time) => datetime::extract_timetz(field(TimeTz)?, *time),
        other => wrong_type(other),
    }
}

fn extract(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    part(args).map(Value::numeric)
}

fn date_part(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Float8(part(args)?.to_f64()))
}

fn truncate(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let field = Field::parse(str(args[0]), Span)?;
    span(args[1]).truncate(field).map(Value::Interval)
}

fn is_finite(_: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(Value::Bool(true))
}

/// Years, months, weeks, days, hours, minutes, seconds; those that are not given are 0.
fn make_interval(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let refuse = || SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range");
    let whole = |at: usize| args.get(at).copied().map_or(0, int);
    let seconds = args.get(6).copied().map_or(0.0, float);
    // In microseconds it has to fit 64 bits.
    if !seconds.is_finite() || seconds.abs() > 1e13 {
        return Err(refuse());
    }
    let micros = i128::from(whole(4)) * i128::from(datetime::MICROS_PER_HOUR)
        + i128::from(whole(5)) * i128::from(datetime::MICROS_PER_MINUTE)
        + (seconds * 1e6).round_ties_even() as i128;
    Ok(Value::Interval(Interval {
        months: i32::try_from(whole(0) * 12 + whole(1)).map_err(|_| refuse())?,
        days: i32::try_from(whole(2) * 7 + whole(3)).map_err(|_| refuse())?,
        micros: i64::try_from(micros).map_err(|_| refuse())?,
    }))
}

/// Microseconds of the day of three arguments.
fn clock(args: &[&Value]) -> SqlResult<i64> {
    let (hour, minute, seconds) = (int(args[0]), int(args[1]), float(args[2]));
    let micros = (seconds * 1e6).round_ties_even();
    let fits = (0..=24).contains(&hour)
        && (0..60).contains(&minute)
        && (0.0..=60.0 * 1e6).contains(&micros);
    let total = match fits {
        true => {
            hour * datetime::MICROS_PER_HOUR + minute * datetime::MICROS_PER_MINUTE + micros as i64
        }
        false => i64::MAX,
    };
    if total > MICROS_PER_DAY {
        let shown = text_format::to_string(args[2], Float8, &Default::default());
        let shown = match shown.split_once('.') {
            Some((whole, fraction)) => format!("{whole:0>2}.{fraction}"),
            None => format!("{shown:0>2}"),
        };
        return fail(
            SqlState::DATETIME_FIELD_OVERFLOW,
            format!("time field value out of range: {hour}:{minute:02}:{shown}"),
        );
    }
    Ok(total)
}

fn make_time(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    clock(args).map(Value::Time)
}

/// A local clock of six arguments.
fn moment(args: &[&Value]) -> SqlResult<i64> {
    let (year, month, day) = (int(args[0]), int(args[1]), int(args[2]));
    let civil = Civil {
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
    let time = clock(&args[3..6])?;
    civil
        .to_days()
        .checked_mul(MICROS_PER_DAY)
        .and_then(|midnight| midnight.checked_add(time))
        .and_then(|micros| datetime::check_timestamp(micros).ok())
        .ok_or_else(|| SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))
}

fn make_timestamp(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    moment(args).map(Value::Timestamp)
}

fn make_timestamptz(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let local = moment(args)?;
    match args.get(6) {
        None => datetime::timestamp_to_timestamptz(local, &host.format().zone),
        Some(zone) => {
            let zone = datetime::TimeZone::of_argument(str(zone))?;
            datetime::timestamp_to_timestamptz(local, &zone)
        }
    }
    .map(Value::TimestampTz)
}

/// `timetz AT TIME ZONE`.
fn at_zone(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let zone = datetime::TimeZone::of_expression(str(args[0]))?;
    let Value::TimeTz(time) = args[1] else {
        wrong_type(args[1])
    };
    let offset = i32::try_from(zone.offset_at(host.transaction_time())).unwrap_or(0);
    Ok(Value::TimeTz(time.at_offset(offset)))
}

/// `AT TIME ZONE interval`: a fixed offset.
fn at_offset(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let offset = span(args[0]);
    if offset.months != 0 || offset.days != 0 {
        let shown = interval::format_interval(offset);
        return fail(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("interval time zone \"{shown}\" must not include months or days"),
        );
    }
    let shift = offset.micros / MICROS_PER_SECOND * MICROS_PER_SECOND;
    match args[1] {
        Value::Timestamp(micros) if datetime::is_infinite(*micros) => {
            Ok(Value::TimestampTz(*micros))
        }
        Value::TimestampTz(micros) if datetime::is_infinite(*micros) => {
            Ok(Value::Timestamp(*micros))
        }
        Value::Timestamp(micros) => {
            datetime::check_timestamp(micros.saturating_sub(shift)).map(Value::TimestampTz)
        }
        Value::TimestampTz(micros) => {
            datetime::check_timestamp(micros.saturating_add(shift)).map(Value::Timestamp)
        }
        other => wrong_type(other),
    }
}

/// The start of the stride that a moment falls into, counted from an origin.
fn bin(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let stride = span(args[0]);
    if let Value::Timestamp(micros) | Value::TimestampTz(micros) = args[1]
        && datetime::is_infinite(*micros)
    {
        return Ok(args[1].clone());
    }
    let (Value::Timestamp(micros) | Value::TimestampTz(micros)) = args[1] else {
        wrong_type(args[1])
    };
    let (Value::Timestamp(origin) | Value::TimestampTz(origin)) = args[2] else {
        wrong_type(args[2])
    };
    if datetime::is_infinite(*origin) {
        return fail(SqlState::DATETIME_FIELD_OVERFLOW, "origin out of range");
    }
    if stride.months != 0 {
        return fail(
            SqlState::FEATURE_NOT_SUPPORTED,
            "timestamps cannot be binned into intervals containing months or years",
        );
    }
    let stride = stride.span();
    if stride <= 0 {
        return fail(
            SqlState::DATETIME_FIELD_OVERFLOW,
            "stride must be greater than zero",
        );
    }
    let since = i128::from(*micros) - i128::from(*origin);
    if i64::try_from(since).is_err() || i64::try_from(stride).is_err() {
        return fail(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range");
    }
    let start = since.div_euclid(stride) * stride + i128::from(*origin);
    let binned = datetime::check_timestamp(i64::try_from(start).unwrap_or(i64::MAX))?;
    Ok(match args[1] {
        Value::Timestamp(_) => Value::Timestamp(binned),
        _ => Value::TimestampTz(binned),
    })
}

fn local_time(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let zone = &host.format().zone;
    let local = datetime::timestamptz_to_timestamp(host.transaction_time(), zone)?;
    Ok(Value::Time(local.rem_euclid(MICROS_PER_DAY)))
}

fn current_time(_: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    moment_to_timetz(host.transaction_time(), host).map(Value::TimeTz)
}

/// What the clock of the session's zone shows at a moment.
pub(crate) fn moment_to_timetz(micros: i64, host: &dyn Host) -> SqlResult<datetime::TimeTz> {
    let zone = &host.format().zone;
    let local = datetime::timestamptz_to_timestamp(micros, zone)?;
    Ok(datetime::TimeTz {
        micros: local.rem_euclid(MICROS_PER_DAY),
        offset: i32::try_from(zone.offset_at(micros)).unwrap_or(0),
    })
}

/// A time from one point to another, or to so much later: the earlier end, and the later one if it is known. `None`: nothing is.
fn ends(from: &Value, to: &Value, host: &dyn Host) -> SqlResult<Option<(Value, Option<Value>)>> {
    let to = match to {
        Value::Interval(_) if from.is_null() => Value::Null,
        Value::Interval(by) => later(from, *by, host)?,
        to => to.clone(),
    };
    Ok(match (from.is_null(), to.is_null()) {
        (true, true) => None,
        (true, false) => Some((to, None)),
        (false, true) => Some((from.clone(), None)),
        (false, false) if from.order(&to) == Ordering::Greater => Some((to, Some(from.clone()))),
        (false, false) => Some((from.clone(), Some(to))),
    })
}

/// OVERLAPS: whether two times have more in common than an end.
fn overlaps(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let one = ends(args[0], args[1], host)?;
    let other = ends(args[2], args[3], host)?;
    let (Some((from, to)), Some((other_from, other_to))) = (one, other) else {
        return Ok(Value::Null);
    };
    // Of the one that begins first, the end decides; the other's matters only for whether it is known.
    let (begins, first_ends, other_ends) = match from.order(&other_from) {
        Ordering::Equal if to.is_none() || other_to.is_none() => return Ok(Value::Null),
        Ordering::Equal => return Ok(Value::Bool(true)),
        Ordering::Greater => (from, other_to, to),
        Ordering::Less => (other_from, to, other_to),
    };
    Ok(match (first_ends, other_ends) {
        (None, _) => Value::Null,
        (Some(end), _) if begins.order(&end) == Ordering::Less => Value::Bool(true),
        (Some(_), None) => Value::Null,
        (Some(_), Some(_)) => Value::Bool(false),
    })
}

const fn meets(args: &'static [SqlType]) -> Function {
    new("overlaps", args, Bool, overlaps).lenient()
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("+", &[Span, Span], Span, plus),
    new("-", &[Span, Span], Span, minus),
    new("-", &[Span], Span, negate),
    new("*", &[Span, Float8], Span, times),
    new("*", &[Float8, Span], Span, times_span),
    new("/", &[Span, Float8], Span, divide),
    new("+", &[Date, Span], Timestamp, point_plus_span),
    new("+", &[Timestamp, Span], Timestamp, point_plus_span),
    new("+", &[TimestampTz, Span], TimestampTz, point_plus_span).stable(),
    new("+", &[Time, Span], Time, point_plus_span),
    new("+", &[TimeTz, Span], TimeTz, point_plus_span),
    new("+", &[Span, Date], Timestamp, span_plus_point),
    new("+", &[Span, Timestamp], Timestamp, span_plus_point),
    new("+", &[Span, TimestampTz], TimestampTz, span_plus_point).stable(),
    new("+", &[Span, Time], Time, span_plus_point),
    new("+", &[Span, TimeTz], TimeTz, span_plus_point),
    new("-", &[Date, Span], Timestamp, point_minus_span),
    new("-", &[Timestamp, Span], Timestamp, point_minus_span),
    new("-", &[TimestampTz, Span], TimestampTz, point_minus_span).stable(),
    new("-", &[Time, Span], Time, point_minus_span),
    new("-", &[TimeTz, Span], TimeTz, point_minus_span),
    new("-", &[Timestamp, Timestamp], Span, between),
    new("-", &[TimestampTz, TimestampTz], Span, between),
    new("-", &[Time, Time], Span, between),
    new("+", &[Date, Time], Timestamp, date_plus_time),
    new("+", &[Date, TimeTz], TimestampTz, date_plus_time),
    new("+", &[Time, Date], Timestamp, time_plus_date),
    new("+", &[TimeTz, Date], TimestampTz, time_plus_date),
    new("age", &[Timestamp, Timestamp], Span, age),
    new("age", &[TimestampTz, TimestampTz], Span, age).stable(),
    new("age", &[Timestamp], Span, age_today).stable(),
    new("age", &[TimestampTz], Span, age_today).stable(),
    new("justify_hours", &[Span], Span, justify_hours),
    new("justify_days", &[Span], Span, justify_days),
    new("justify_interval", &[Span], Span, justify),
    new("extract", &[Text, Span], Decimal, extract),
    new("extract", &[Text, Time], Decimal, extract),
    new("extract", &[Text, TimeTz], Decimal, extract),
    new("date_part", &[Text, Span], Float8, date_part),
    new("date_part", &[Text, Time], Float8, date_part),
    new("date_part", &[Text, TimeTz], Float8, date_part),
    new("date_trunc", &[Text, Span], Span, truncate),
    new("isfinite", &[Span], Bool, is_finite),
    new("make_interval", &[], Span, make_interval),
    new("make_interval", &[Int4], Span, make_interval),
    new("make_interval", &[Int4, Int4], Span, make_interval),
    new("make_interval", &[Int4, Int4, Int4], Span, make_interval),
    new("make_interval", &[Int4; 4], Span, make_interval),
    new("make_interval", &[Int4; 5], Span, make_interval),
    new("make_interval", &[Int4; 6], Span, make_interval),
    new(
        "make_interval",
        &[Int4, Int4, Int4, Int4, Int4, Int4, Float8],
        Span,
        make_interval,
    ),
    new("make_time", &[Int4, Int4, Float8], Time, make_time),
    new(
        "make_timestamp",
        &[Int4, Int4, Int4, Int4, Int4, Float8],
        Timestamp,
        make_timestamp,
    ),
    new(
        "make_timestamptz",
        &[Int4, Int4, Int4, Int4, Int4, Float8],
        TimestampTz,
        make_timestamptz,
    )
    .stable(),
    new(
        "make_timestamptz",
        &[Int4, Int4, Int4, Int4, Int4, Float8, Text],
        TimestampTz,
        make_timestamptz,
    )
    .stable(),
    new("timezone", &[Text, TimeTz], TimeTz, at_zone).stable(),
    new("timezone", &[Span, Timestamp], TimestampTz, at_offset),
    new("timezone", &[Span, TimestampTz], Timestamp, at_offset),
    new("date_bin", &[Span, Timestamp, Timestamp], Timestamp, bin),
    new(
        "date_bin",
        &[Span, TimestampTz, TimestampTz],
        TimestampTz,
        bin,
    ),
    meets(&[Timestamp, Timestamp, Timestamp, Timestamp]),
    meets(&[Timestamp, Span, Timestamp, Span]),
    meets(&[Timestamp, Timestamp, Timestamp, Span]),
    meets(&[Timestamp, Span, Timestamp, Timestamp]),
    meets(&[TimestampTz, TimestampTz, TimestampTz, TimestampTz]),
    meets(&[TimestampTz, Span, TimestampTz, Span]).stable(),
    meets(&[TimestampTz, TimestampTz, TimestampTz, Span]).stable(),
    meets(&[TimestampTz, Span, TimestampTz, TimestampTz]).stable(),
    meets(&[Time, Time, Time, Time]),
    meets(&[Time, Span, Time, Span]),
    meets(&[Time, Time, Time, Span]),
    meets(&[Time, Span, Time, Time]),
    meets(&[TimeTz, TimeTz, TimeTz, TimeTz]),
    new("localtime", &[], Time, local_time).stable(),
    new("current_time", &[], TimeTz, current_time).stable(),
];
