//! Dates and times in documents: what `datetime()` reads, and how they compare.
//!
//! Relies on: `to_char` for templates.  Promises: PostgreSQL's formats, in its order, and its refusal to
//! compare with a time zone where none may be used.

use crate::eval::Host;
use crate::function::fail;
use crate::function::to_char::{Parsed, read_strictly};
use quintet_base::datetime::{
    self, MICROS_PER_SECOND, TimeTz, date_to_timestamp, date_to_timestamptz,
    timestamp_to_timestamptz,
};
use quintet_base::{SqlError, SqlResult, SqlState};
use std::cmp::Ordering;
use std::fmt;

/// A date, a time or both.
#[derive(Clone, Copy, Debug)]
pub(super) enum Moment {
    Date(i32),
    Time(i64),
    TimeTz(TimeTz),
    Timestamp(i64),
    /// With the seconds east that it was written with.
    TimestampTz(i64, i64),
}

/// Formats that are tried where no template is given.
const TEMPLATES: &[&str] = &[
    "yyyy-mm-dd",
    "HH24:MI:SS.USTZH:TZM",
    "HH24:MI:SS.USTZH",
    "HH24:MI:SS.US",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd HH24:MI:SS.USTZH",
    "yyyy-mm-dd HH24:MI:SS.US",
    "yyyy-mm-dd HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd HH24:MI:SSTZH",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS.US",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];

impl Moment {
    /// Reads a text by a template, or by the first of PostgreSQL's that fits.
    pub(super) fn read(text: &str, template: Option<&str>) -> SqlResult<Moment> {
        if let Some(template) = template {
            return Moment::by(text, template);
        }
        let read = TEMPLATES
            .iter()
            .find_map(|template| Moment::by(text, template).ok());
        read.ok_or_else(|| {
            SqlError::new(
                SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION,
                format!("datetime format is not recognized: \"{text}\""),
            )
            .hint("Use a datetime template argument to specify the input data format.")
        })
    }

    fn by(text: &str, template: &str) -> SqlResult<Moment> {
        let invalid = |message: &str| fail(SqlState::INVALID_DATETIME_FORMAT, message);
        let Parsed {
            days,
            micros,
            offset,
            dated,
            timed,
            zoned,
        } = read_strictly(text, template)?;
        let no_zone = |ty: &str| {
            SqlError::new(
                SqlState::INVALID_DATETIME_FORMAT,
                format!("missing time zone in input string for type {ty}"),
            )
        };
        let overflow =
            || SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range");
        let local = || {
            days.checked_mul(datetime::MICROS_PER_DAY)
                .and_then(|midnight| midnight.checked_add(micros))
                .and_then(|local| datetime::check_timestamp(local).ok())
                .ok_or_else(overflow)
        };
        match (dated, timed, zoned) {
            (true, true, true) => {
                let offset = offset.ok_or_else(|| no_zone("timestamptz"))?;
                let moment = datetime::check_timestamp(local()? - offset * MICROS_PER_SECOND);
                Ok(Moment::TimestampTz(moment.map_err(|_| overflow())?, offset))
            }
            (true, true, false) => Ok(Moment::Timestamp(local()?)),
            (true, false, true) => invalid("datetime format is zoned but not timed"),
            (true, false, false) => Ok(Moment::Date(datetime::check_date(days)?)),
            (false, true, true) => {
                let offset = offset.ok_or_else(|| no_zone("timetz"))?;
                let offset = i32::try_from(offset).map_err(|_| overflow())?;
                Ok(Moment::TimeTz(TimeTz { micros, offset }))
            }
            (false, true, false) => Ok(Moment::Time(micros)),
            (false, false, _) => invalid("datetime format is not dated and not timed"),
        }
    }

    /// What `type()` says.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Moment::Date(_) => "date",
            Moment::Time(_) => "time without time zone",
            Moment::TimeTz(_) => "time with time zone",
            Moment::Timestamp(_) => "timestamp without time zone",
            Moment::TimestampTz(..) => "timestamp with time zone",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Moment::Date(_) => "date",
            Moment::Time(_) => "time",
            Moment::TimeTz(_) => "timetz",
            Moment::Timestamp(_) => "timestamp",
            Moment::TimestampTz(..) => "timestamptz",
        }
    }

    /// The order of two; `None` for a time of day and a date.
    ///
    /// # Errors
    /// `0A000` where the session's zone would decide and may not.
    pub(super) fn order(
        self,
        other: Moment,
        with_zone: bool,
        host: &dyn Host,
    ) -> SqlResult<Option<Ordering>> {
        use Moment::*;
        let zone = &host.format().zone;
        let needs_zone = |from: Moment, to: Moment| match with_zone {
            true => Ok(()),
            false => Err(SqlError::unsupported("")
                .message(format!(
                    "cannot convert value from {} to {} without time zone usage",
                    from.name(),
                    to.name()
                ))
                .hint("Use *_tz() function for time zone support.")),
        };
        Ok(Some(match (self, other) {
            (Date(a), Date(b)) => a.cmp(&b),
            (Time(a), Time(b)) => a.cmp(&b),
            (TimeTz(a), TimeTz(b)) => a.order(b),
            (Timestamp(a), Timestamp(b)) | (TimestampTz(a, _), TimestampTz(b, _)) => a.cmp(&b),
            (Date(a), Timestamp(b)) => whole_day(a, date_to_timestamp(a).ok()).cmp(&b),
            (Date(a), TimestampTz(b, _)) => {
                needs_zone(self, other)?;
                whole_day(a, date_to_timestamptz(a, zone).ok()).cmp(&b)
            }
            (Timestamp(a), TimestampTz(b, _)) => {
                needs_zone(self, other)?;
                timestamp_to_timestamptz(a, zone)?.cmp(&b)
            }
            (Time(micros), TimeTz(b)) => {
                needs_zone(self, other)?;
                let offset = zone.offset_at(host.transaction_time());
                let offset =
                    i32::try_from(offset).map_err(|_| SqlError::internal("an offset of years"))?;
                datetime::TimeTz { micros, offset }.order(b)
            }
            (TimeTz(_), Time(_))
            | (Timestamp(_) | TimestampTz(..), Date(_))
            | (TimestampTz(..), Timestamp(_)) => {
                return Ok(other.order(self, with_zone, host)?.map(Ordering::reverse));
            }
            (Time(_) | TimeTz(_), _) | (_, Time(_) | TimeTz(_)) => return Ok(None),
        }))
    }
}

/// A day's beginning; of days that no timestamp reaches, before or behind all of them.
fn whole_day(days: i32, midnight: Option<i64>) -> i64 {
    midnight.unwrap_or(if days < 0 { i64::MIN } else { i64::MAX })
}

/// `T` between day and time, zones with their minutes.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |micros| {
            let text = datetime::format_timestamp(micros);
            text.replacen(' ', "T", 1)
        };
        let zone = |seconds: i64| {
            let sign = if seconds < 0 { '-' } else { '+' };
            let minutes = seconds.abs() / 60;
            format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        };
        let of_day = |micros| {
            let mut out = Vec::new();
            datetime::write_time(micros, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        match *self {
            Moment::Date(days) => f.write_str(&datetime::format_date(days)),
            Moment::Time(micros) => f.write_str(&of_day(micros)),
            Moment::TimeTz(time) => {
                write!(f, "{}{}", of_day(time.micros), zone(i64::from(time.offset)))
            }
            Moment::Timestamp(micros) => f.write_str(&joined(micros)),
            Moment::TimestampTz(micros, offset) => {
                let text = joined(micros.saturating_add(offset * MICROS_PER_SECOND));
                match text.strip_suffix(" BC") {
                    Some(text) => write!(f, "{text}{} BC", zone(offset)),
                    None => write!(f, "{text}{}", zone(offset)),
                }
            }
        }
    }
}
