//! `to_char`, `to_date`, `to_timestamp` and `to_number`: values by templates.
//!
//! | file | what it holds |
//! |---|---|
//! | `template` | a template for dates and times, taken apart |
//! | `print` | dates, times and intervals by it |
//! | `read` | text by it |
//! | `cursor` | that text, and how far it is read |
//! | `number` | numbers by a template |
//! | `number_read` | text to numbers |
//! | `number_template` | a template for numbers, taken apart |
//!
//! Promises: PostgreSQL's English patterns, with FM, TH and quoted text.  Does not: know TM's other
//! languages, or SP.

mod cursor;
mod number;
mod number_read;
mod number_template;
mod print;
mod read;
mod template;

use super::{Function, builtin as new, int, str, wrong_type};
use crate::eval::Host;
use quintet_base::SqlType::{
    Date, Float4, Float8, Int4, Int8, Interval as Span, Numeric as Decimal, Text, Timestamp,
    TimestampTz,
};
use quintet_base::{SqlResult, SqlState, Value, datetime};

fn moment(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let template = str(args[1]);
    if template.is_empty() {
        return Ok(Value::Null);
    }
    let shown = match args[0] {
        Value::Timestamp(micros) | Value::TimestampTz(micros) if datetime::is_infinite(*micros) => {
            return Ok(Value::Null);
        }
        Value::Timestamp(micros) => print::Shown::of_timestamp(*micros, None),
        Value::TimestampTz(micros) => {
            let zone = &host.format().zone;
            let local = datetime::timestamptz_to_timestamp(*micros, zone)?;
            let name = zone.name_at(*micros);
            let shown = print::Shown::of_timestamp(local, Some((zone.offset_at(*micros), &name)));
            return shown.print(template).map(Value::text);
        }
        Value::Interval(interval) => print::Shown::of_interval(*interval),
        other => wrong_type(other),
    };
    shown.print(template).map(Value::text)
}

fn read_date(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    let text = str(args[0]);
    let found = read::read(text, str(args[1]))?;
    let days = datetime::check_date(found.days).map_err(|error| {
        let message = format!("date out of range: \"{text}\"");
        quintet_base::SqlError::new(error.state, message)
    });
    days.map(Value::Date)
}

fn read_timestamp(args: &[&Value], host: &dyn Host) -> SqlResult<Value> {
    let found = read::read(str(args[0]), str(args[1]))?;
    let local = found.local()?;
    let moment = match found.offset {
        Some(offset) => datetime::check_timestamp(local - offset * datetime::MICROS_PER_SECOND),
        None => datetime::timestamp_to_timestamptz(local, &host.format().zone),
    }?;
    match found.digits {
        Some(digits) => datetime::round_timestamp(moment, digits),
        None => Ok(moment),
    }
    .map(Value::TimestampTz)
}

fn number(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    use number::Shown;
    let template = str(args[1]);
    let shown = match args[0] {
        Value::Numeric(number) => Shown::Numeric(number),
        Value::Float8(float) => Shown::Float(*float, 15),
        Value::Float4(float) => Shown::Float(f64::from(*float), 6),
        Value::Int4(whole) => Shown::Int4(*whole),
        whole => Shown::Int8(int(whole)),
    };
    number::print(&shown, template).map(Value::text)
}

fn read_number(args: &[&Value], _: &dyn Host) -> SqlResult<Value> {
    Ok(number_read::read(str(args[0]), str(args[1]))?.map_or(Value::Null, Value::numeric))
}

/// What a text says by a template, and of what the template speaks.
pub(super) struct Parsed {
    /// Since 2000-01-01.
    pub(super) days: i64,
    pub(super) micros: i64,
    /// Seconds east.
    pub(super) offset: Option<i64>,
    pub(super) dated: bool,
    pub(super) timed: bool,
    pub(super) zoned: bool,
}

/// Reads a text by a template as the standard wants it: `datetime()` of JSON paths.
///
/// # Errors
/// `22007`, `22008`.
pub(super) fn read_strictly(text: &str, template: &str) -> SqlResult<Parsed> {
    use template::{Field, Piece, pieces};
    if let Some(sign) = template::no_separator(template) {
        return super::fail(
            SqlState::INVALID_DATETIME_FORMAT,
            format!("invalid datetime format separator: \"{sign}\""),
        );
    }
    let pieces = pieces(template);
    let found = read::read_strictly(text, &pieces)?;
    let fields = || {
        pieces.iter().filter_map(|piece| match piece {
            Piece::Field { field, .. } => Some(*field),
            _ => None,
        })
    };
    let is_zone = |field| {
        matches!(
            field,
            Field::ZoneName(_) | Field::ZoneHour | Field::ZoneMinute | Field::Offset
        )
    };
    let is_time = |field| {
        matches!(
            field,
            Field::Hour12
                | Field::Hour24
                | Field::Minute
                | Field::Second
                | Field::Milli
                | Field::Micro
                | Field::Fraction(_)
                | Field::SecondOfDay
                | Field::Half(..)
        )
    };
    Ok(Parsed {
        days: found.days,
        micros: found.digits.map_or(found.micros, |digits| {
            datetime::round_time(found.micros, digits)
        }),
        offset: found.offset,
        dated: fields().any(|field| !is_time(field) && !is_zone(field)),
        timed: fields().any(is_time),
        zoned: fields().any(is_zone),
    })
}

pub(super) static FUNCTIONS: &[Function] = &[
    new("to_char", &[Timestamp, Text], Text, moment).stable(),
    new("to_char", &[TimestampTz, Text], Text, moment).stable(),
    new("to_char", &[Span, Text], Text, moment).stable(),
    new("to_char", &[Int4, Text], Text, number).stable(),
    new("to_char", &[Int8, Text], Text, number).stable(),
    new("to_char", &[Float4, Text], Text, number).stable(),
    new("to_char", &[Float8, Text], Text, number).stable(),
    new("to_char", &[Decimal, Text], Text, number).stable(),
    new("to_date", &[Text, Text], Date, read_date).stable(),
    new("to_timestamp", &[Text, Text], TimestampTz, read_timestamp).stable(),
    new("to_number", &[Text, Text], Decimal, read_number).stable(),
];
