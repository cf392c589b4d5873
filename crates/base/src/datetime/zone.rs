//! Time zones by name, by abbreviation or as a fixed offset.
//!
//! Relies on: `jiff`'s bundled database; the machine's own is not read, so that two machines agree.
//! Promises: where clocks are set forward, the offset before the jump; where they are set back, the
//! one after it, as PostgreSQL does.  Does not: follow zone rules that changed after this was built.

use super::abbreviations::{self, Meaning};
use super::{MICROS_PER_SECOND, UNIX_EPOCH_MICROS};
use crate::error::{SqlError, SqlResult, SqlState};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZoneDatabase};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Offsets up to here are taken, as in PostgreSQL: just under 16 hours.
const OFFSET_SECONDS_END: i64 = 16 * 3600;

/// The calendar and with it every zone rule repeats after 400 years.
const MICROS_PER_CYCLE: i64 = 146_097 * 86_400 * MICROS_PER_SECOND;

/// `jiff` knows the years -9999 to 9999. Beyond 9900 (in microseconds since 2000-01-01) we ask it
/// about an equivalent year.
const CYCLED_FROM: i64 = 7_900 * 366 * 86_400 * MICROS_PER_SECOND;

/// A session's time zone. UTC by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeZone {
    name: Arc<str>,
    rules: Rules,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rules {
    /// Seconds east of Greenwich.
    Fixed(i64),
    Named(jiff::tz::TimeZone),
}

impl Default for TimeZone {
    fn default() -> TimeZone {
        TimeZone::utc()
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn database() -> &'static TimeZoneDatabase {
    static DATABASE: OnceLock<TimeZoneDatabase> = OnceLock::new();
    DATABASE.get_or_init(TimeZoneDatabase::bundled)
}

/// The zone of an abbreviation in lower case.
pub(super) fn abbreviated(name: &str) -> Option<TimeZone> {
    match abbreviations::meaning(name)? {
        Meaning::Offset(0) => Some(TimeZone::utc()),
        Meaning::Offset(seconds) => Some(TimeZone::fixed(seconds)),
        Meaning::Zone(zone) => TimeZone::named(zone),
    }
}

impl TimeZone {
    /// UTC.
    pub fn utc() -> TimeZone {
        TimeZone {
            name: Arc::from("UTC"),
            rules: Rules::Fixed(0),
        }
    }

    /// A fixed number of seconds east of Greenwich.
    pub fn fixed(seconds_east: i32) -> TimeZone {
        let mut offset = Vec::new();
        super::write_offset(i64::from(seconds_east), &mut offset);
        let mut west = Vec::new();
        super::write_offset(-i64::from(seconds_east), &mut west);
        // The shape that PostgreSQL shows: what is printed, then the POSIX rule, which counts west.
        let name = format!(
            "<{}>{}",
            String::from_utf8_lossy(&offset),
            String::from_utf8_lossy(&west)
        );
        TimeZone {
            name: Arc::from(name),
            rules: Rules::Fixed(i64::from(seconds_east)),
        }
    }

    /// The zone that a session setting or `AT TIME ZONE` names: a name of the zone database in any
    /// case, an abbreviation, hours east of Greenwich as a number, or a POSIX rule such as
    /// `GMT-2` (which counts west).
    ///
    /// # Errors
    /// `22023` for a name that is no zone.
    pub fn parse(name: &str) -> SqlResult<TimeZone> {
        let trimmed = name.trim();
        if trimmed.eq_ignore_ascii_case("utc") {
            return Ok(TimeZone::utc());
        }
        if let Some(zone) = TimeZone::named(trimmed) {
            return Ok(zone);
        }
        let hours = trimmed.parse::<f64>().ok().map(|h| (h * 3600.0).round());
        if let Some(seconds) = hours.filter(|s| s.abs() < OFFSET_SECONDS_END as f64) {
            return Ok(TimeZone::fixed(seconds as i32));
        }
        if let Some(zone) = abbreviated(&trimmed.to_ascii_lowercase()) {
            return Ok(TimeZone {
                name: Arc::from(trimmed.to_ascii_uppercase()),
                rules: zone.rules,
            });
        }
        // A bare `+05:30` is a POSIX rule too, with its name left out.
        let rule = if trimmed.starts_with(|c: char| matches!(c, '+' | '-' | '0'..='9')) {
            format!("XXX{trimmed}")
        } else {
            trimmed.to_string()
        };
        match jiff::tz::TimeZone::posix(&rule) {
            Ok(rules) => Ok(TimeZone {
                name: Arc::from(trimmed),
                rules: Rules::Named(rules),
            }),
            Err(_) => Err(not_recognized(name)),
        }
    }

    /// The zone that the setting `timezone` names, called as it shows it: a name of the zone database as it is written there, a POSIX
    /// rule in capitals, the rule of a number of hours. Clients read it: pgjdbc takes `gmt-3` for Greenwich, and `GMT-3` for what it is.
    ///
    /// # Errors
    /// As [`TimeZone::parse`]; an abbreviation names no zone here.
    pub fn of_setting(name: &str) -> SqlResult<TimeZone> {
        let mut zone = TimeZone::parse(name)?;
        if zone == TimeZone::utc() || TimeZone::named(&zone.name).is_some() {
            return Ok(zone);
        }
        if abbreviated(&name.trim().to_ascii_lowercase()).is_some() {
            return Err(not_recognized(name));
        }
        zone.name = Arc::from(zone.name.to_ascii_uppercase());
        Ok(zone)
    }

    /// The zone that `AT TIME ZONE` names. A bare number is a POSIX rule there, and counts west.
    ///
    /// # Errors
    /// As [`TimeZone::parse`].
    pub fn of_expression(name: &str) -> SqlResult<TimeZone> {
        let trimmed = name.trim();
        // What is an abbreviation as well as a name (EST) is the abbreviation.
        if let Some(zone) = abbreviated(&trimmed.to_ascii_lowercase()) {
            return Ok(zone);
        }
        if trimmed.parse::<f64>().is_err() {
            return TimeZone::parse(name);
        }
        let rule = match trimmed.starts_with(['+', '-']) {
            true => format!("XXX{trimmed}"),
            false => return Err(not_recognized(name)),
        };
        match jiff::tz::TimeZone::posix(&rule) {
            Ok(rules) => Ok(TimeZone {
                name: Arc::from(trimmed),
                rules: Rules::Named(rules),
            }),
            Err(_) => Err(not_recognized(name)),
        }
    }

    /// The zone that `make_timestamptz` is given: signed hours count east there, and all else is as in
    /// [`TimeZone::of_expression`].
    ///
    /// # Errors
    /// `22023`.
    pub fn of_argument(name: &str) -> SqlResult<TimeZone> {
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid input syntax for type numeric time zone: \"{name}\""),
            )
            .hint("Numeric time zones must have \"-\" or \"+\" as first character."));
        }
        if !name.starts_with(['+', '-']) {
            return TimeZone::of_expression(name);
        }
        match super::decode::signed_offset(name) {
            Ok(seconds) => Ok(TimeZone::fixed(seconds)),
            Err(super::parse::Refusal::Displacement) => Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("numeric time zone \"{name}\" out of range"),
            )),
            Err(_) => TimeZone::of_expression(name),
        }
    }

    /// A name of the zone database, in any case.
    fn named(name: &str) -> Option<TimeZone> {
        let rules = database().get(name).ok()?;
        let name = rules.iana_name().unwrap_or(name).into();
        Some(TimeZone {
            name,
            rules: Rules::Named(rules),
        })
    }

    /// The zone in a date's text: a name of the zone database or a POSIX rule. `None` if it is
    /// neither.
    pub(super) fn by_name_or_rule(name: &str) -> Option<TimeZone> {
        TimeZone::named(name).or_else(|| {
            let rules = jiff::tz::TimeZone::posix(&name.to_ascii_uppercase()).ok()?;
            Some(TimeZone {
                name: Arc::from(name),
                rules: Rules::Named(rules),
            })
        })
    }

    /// Whether its offset is the same on every day.
    pub(super) fn is_fixed(&self) -> bool {
        match &self.rules {
            Rules::Fixed(_) => true,
            Rules::Named(rules) => {
                let now = jiff::Timestamp::UNIX_EPOCH;
                rules.preceding(now).next().is_none() && rules.following(now).next().is_none()
            }
        }
    }

    /// A fixed offset with the clocks set an hour forward.
    pub(super) fn hour_ahead(&self) -> Option<TimeZone> {
        match &self.rules {
            Rules::Fixed(seconds) => i32::try_from(seconds + 3600).ok().map(TimeZone::fixed),
            Rules::Named(_) => None,
        }
    }

    /// The name, as `SHOW timezone` prints it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Seconds east of Greenwich at a moment (microseconds since 2000-01-01 UTC).
    pub fn offset_at(&self, micros: i64) -> i64 {
        let rules = match &self.rules {
            Rules::Fixed(seconds) => return *seconds,
            Rules::Named(rules) => rules,
        };
        let unix = cycled(micros) - UNIX_EPOCH_MICROS;
        // 4714 BC to 9900 AD is well inside what jiff takes.
        let moment = jiff::Timestamp::from_microsecond(unix)
            .expect("a checked timestamp, cycled, is in range");
        i64::from(rules.to_offset(moment).seconds())
    }

    /// What the zone is called at a moment (microseconds since 2000-01-01 UTC): `CET`, or its offset where it has no such name.
    pub fn name_at(&self, micros: i64) -> String {
        let rules = match &self.rules {
            // `<+02>-02`
            Rules::Fixed(_) => {
                let name = self
                    .name
                    .strip_prefix('<')
                    .and_then(|name| name.split_once('>'));
                return name.map_or(&*self.name, |(name, _)| name).to_string();
            }
            Rules::Named(rules) => rules,
        };
        let unix = cycled(micros) - UNIX_EPOCH_MICROS;
        let moment = jiff::Timestamp::from_microsecond(unix)
            .expect("a checked timestamp, cycled, is in range");
        rules.to_offset_info(moment).abbreviation().to_string()
    }

    /// Seconds east of Greenwich for what clocks of the zone show (microseconds since 2000-01-01
    /// 00:00 there).
    pub fn offset_of_local(&self, micros: i64) -> i64 {
        let rules = match &self.rules {
            Rules::Fixed(seconds) => return *seconds,
            Rules::Named(rules) => rules,
        };
        let offset = match rules.to_ambiguous_timestamp(civil(cycled(micros))).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { after, .. } => after,
        };
        i64::from(offset.seconds())
    }
}

pub(super) fn not_recognized(name: &str) -> SqlError {
    SqlError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("time zone \"{name}\" not recognized"),
    )
}

/// Microseconds in an equivalent year that `jiff` knows.
fn cycled(micros: i64) -> i64 {
    if micros < CYCLED_FROM {
        return micros;
    }
    let cycles = (micros - CYCLED_FROM) / MICROS_PER_CYCLE + 1;
    micros - cycles * MICROS_PER_CYCLE
}

fn civil(micros: i64) -> DateTime {
    let moment = jiff::Timestamp::from_microsecond(micros - UNIX_EPOCH_MICROS)
        .expect("a checked timestamp, cycled, is in range");
    Offset::UTC.to_datetime(moment)
}
