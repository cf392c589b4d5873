//! What a setting's value may be, how it is written, and what follows from it.
//!
//! Relies on: `known` for the kind of value.  Promises: an accepted value is kept as SHOW has it; one that is refused changes nothing.
//! Does not: keep it, or report it (`settings`).

use super::Settings;
use super::known::{Kind, Known};
use crate::history::AsOf;
use quintet_base::datetime::{DateOrder, DateStyle, TimeZone};
use quintet_base::interval::IntervalStyle;
use quintet_base::lexemes::config_named;
use quintet_base::text_format::ByteaOutput;
use quintet_base::{Level, SqlError, SqlResult, SqlState};
use quintet_engine::Engine;

/// Bounds of `work_mem`, as in PostgreSQL.
const WORK_MEM_KB_MIN: u64 = 64;
const WORK_MEM_KB_MAX: u64 = 2_147_483_647;

/// Severities of messages to a client, the least first.
pub(super) const MESSAGES: &[&str] = &[
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "info", "notice", "warning", "error",
];

impl Settings {
    /// A value as it is kept. Its effect on the session is there when this returns.
    pub(super) fn check(&mut self, known: &Known, value: &str) -> SqlResult<String> {
        let name = known.name;
        let invalid = || invalid(name, value);
        match known.kind {
            Kind::Text => Ok(value.to_string()),
            Kind::MinMessages => {
                let value = value.to_ascii_lowercase();
                Ok(match value.as_str() {
                    "debug" => "debug2".to_string(),
                    // An error is always sent.
                    "fatal" | "panic" => "error".to_string(),
                    known if MESSAGES.contains(&known) => value,
                    _ => return Err(invalid()),
                })
            }
            Kind::Bool => Ok(if parse_bool(value).ok_or_else(invalid)? {
                "on"
            } else {
                "off"
            }
            .to_string()),
            Kind::Milliseconds => {
                let milliseconds = milliseconds(name, value)?;
                let range = 0..=i64::from(i32::MAX);
                if !range.contains(&milliseconds) {
                    return Err(SqlError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!(
                            "{milliseconds} ms is outside the valid range for parameter \"{name}\" (0 .. {})",
                            i32::MAX
                        ),
                    ));
                }
                Ok(show_milliseconds(milliseconds))
            }
            Kind::Memory => {
                let kilobytes = parse_kilobytes(value).ok_or_else(invalid)?;
                if !(WORK_MEM_KB_MIN..=WORK_MEM_KB_MAX).contains(&kilobytes) {
                    return Err(SqlError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!(
                            "{kilobytes} kB is outside the valid range for parameter \"{name}\" ({WORK_MEM_KB_MIN} .. {WORK_MEM_KB_MAX})"
                        ),
                    ));
                }
                Ok(show_kilobytes(kilobytes))
            }
            Kind::Integer => {
                let number: i32 = value.trim().parse().map_err(|_| invalid())?;
                if !(-15..=3).contains(&number) {
                    return Err(SqlError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!(
                            "{number} is outside the valid range for parameter \"{name}\" (-15 .. 3)"
                        ),
                    ));
                }
                self.format.extra_float_digits = number;
                Ok(number.to_string())
            }
            Kind::Share => {
                let number: f64 = value.trim().parse().map_err(|_| invalid())?;
                if number.is_nan() {
                    return Err(invalid());
                }
                if !(0.0..=1.0).contains(&number) {
                    return Err(SqlError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!(
                            "{number} is outside the valid range for parameter \"{name}\" (0 .. 1)"
                        ),
                    ));
                }
                Ok(number.to_string())
            }
            Kind::Only => {
                let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
                let synonym = name == "client_encoding" && plain(value) == "unicode";
                if plain(value) == plain(known.default) || synonym {
                    return Ok(known.default.to_string());
                }
                Err(SqlError::unsupported(format!("{name} = \"{value}\""))
                    .hint(format!("Only \"{}\" is available.", known.default)))
            }
            Kind::Fixed => Err(SqlError::new(
                SqlState::CANT_CHANGE_RUNTIME_PARAM,
                format!("parameter \"{name}\" cannot be changed"),
            )),
            Kind::Role if value == "none" => {
                self.identity.taken = None;
                Ok(value.to_string())
            }
            Kind::Role | Kind::SessionUser => {
                let found = self.identity.found.get(value).copied();
                let found = found.ok_or_else(|| {
                    SqlError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("role \"{value}\" does not exist"),
                    )
                })?;
                match known.kind {
                    Kind::Role => self.identity.taken = Some(found),
                    _ => {
                        self.identity.session = found;
                        self.identity.taken = None;
                        self.values.insert("role".into(), "none".into());
                    }
                }
                Ok(value.to_string())
            }
            Kind::Level => {
                let uncommitted = Level::is_uncommitted(value);
                Ok(Level::parse(value)?.shown_name(uncommitted).to_string())
            }
            Kind::Zone => {
                self.format.zone =
                    TimeZone::of_setting(value).map_err(|_| self::invalid("TimeZone", value))?;
                Ok(self.format.zone.name().to_string())
            }
            Kind::DateStyle => {
                let (style, order) = date_style(value).map_err(|why| invalid().detail(why))?;
                self.format.date_style = style.unwrap_or(self.format.date_style);
                self.format.date_order = order.unwrap_or(self.format.date_order);
                let order = match self.format.date_order {
                    DateOrder::Mdy => "MDY",
                    DateOrder::Dmy => "DMY",
                    DateOrder::Ymd => "YMD",
                };
                Ok(format!("{}, {order}", self.format.date_style.name()))
            }
            Kind::ByteaOutput => {
                let value = value.to_ascii_lowercase();
                self.format.bytea_output = match value.as_str() {
                    "hex" => ByteaOutput::Hex,
                    "escape" => ByteaOutput::Escape,
                    _ => return Err(invalid().hint("Available values: escape, hex.")),
                };
                Ok(value)
            }
            Kind::SearchConfig => {
                let config = config_named(value).map_err(|_| invalid())?;
                Ok(format!("pg_catalog.{}", config.name))
            }
            Kind::IntervalStyle => {
                let style = |style: &IntervalStyle| style.name().eq_ignore_ascii_case(value);
                let found = IntervalStyle::ALL.into_iter().find(style);
                self.format.interval_style = found.ok_or_else(|| {
                    invalid().hint(
                        "Available values: postgres, postgres_verbose, sql_standard, iso_8601.",
                    )
                })?;
                Ok(self.format.interval_style.name().into())
            }
            Kind::SynchronousCommit => match value.to_ascii_lowercase().as_str() {
                "on" | "true" | "yes" | "1" | "local" | "remote_write" | "remote_apply" => {
                    Ok("on".into())
                }
                "off" | "false" | "no" | "0" => Ok("off".into()),
                _ => Err(invalid()),
            },
            Kind::ReplicationRole => {
                let value = value.to_ascii_lowercase();
                if !matches!(value.as_str(), "origin" | "replica" | "local") {
                    return Err(invalid().hint("Available values: origin, replica, local."));
                }
                self.is_replica = value == "replica";
                Ok(value)
            }
            Kind::AsOf => {
                self.as_of = AsOf::parse(value, &self.format).map_err(|error| {
                    invalid()
                        .detail(error.message.clone())
                        .hint("Give a timestamp, or a time before now as in -10s.")
                })?;
                Ok(value.to_string())
            }
            Kind::Engine => {
                self.engine = Engine::parse(value).map_err(|_| {
                    invalid().hint("Available values: direct, chain, queue, auto, locking.")
                })?;
                Ok(self.engine.name().into())
            }
        }
    }
}

/// PostgreSQL's words for booleans, unique prefixes included.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "t" | "yes" | "y" | "1" => Some(true),
        "off" | "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// The number that a text begins with, and the unit behind it.
fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..digits].parse().ok()?, text[digits..].trim()))
}

/// Units of time in which milliseconds are written, the largest first.
const TIMES: [(i64, &str); 4] = [
    (86_400_000, "d"),
    (3_600_000, "h"),
    (60_000, "min"),
    (1000, "s"),
];

/// A number of milliseconds with a unit, or without one; fractions are rounded, in the next smaller unit first.
fn milliseconds(name: &str, text: &str) -> SqlResult<i64> {
    let trimmed = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let end = trimmed.find(|c| !is_number(c)).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..end], trimmed[end..].trim());
    let number: f64 = number.parse().map_err(|_| invalid(name, text))?;
    let known = TIMES.iter().find(|(_, known)| *known == unit);
    let milliseconds = match (known, unit) {
        (Some((factor, _)), _) => {
            let smaller = TIMES.iter().find(|(other, _)| other < factor);
            let smaller = smaller.map_or(1, |(smaller, _)| *smaller) as f64;
            (number * *factor as f64 / smaller).round_ties_even() * smaller
        }
        (None, "" | "ms") => number.round_ties_even(),
        (None, "us") => (number / 1000.0).round_ties_even(),
        _ => {
            let hint = "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".";
            return Err(invalid(name, text).hint(hint));
        }
    };
    if milliseconds.abs() > f64::from(i32::MAX) + 1.0 {
        return Err(invalid(name, text).hint("Value exceeds integer range."));
    }
    Ok(milliseconds as i64)
}

/// In the largest unit that is exact, as SHOW has it.
fn show_milliseconds(milliseconds: i64) -> String {
    let exact = TIMES.iter().find(|(factor, _)| milliseconds % factor == 0);
    match (milliseconds, exact) {
        (0, _) => "0".to_string(),
        (_, Some((factor, unit))) => format!("{}{unit}", milliseconds / factor),
        (_, None) => format!("{milliseconds}ms"),
    }
}

/// What such a value says.
pub(super) fn read_milliseconds(shown: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(shown)?;
    let factor = TIMES.iter().find(|(_, known)| *known == unit);
    number.checked_mul(factor.map_or(1, |(factor, _)| *factor as u64))
}

/// `64MB`, or a number of kilobytes.
pub(super) fn parse_kilobytes(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let factor = match unit {
        "B" => return Some(number / 1024),
        "" | "kB" => 1,
        "MB" => 1 << 10,
        "GB" => 1 << 20,
        "TB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// In the largest unit that is exact, as SHOW has it.
fn show_kilobytes(kilobytes: u64) -> String {
    let units = [(1 << 30, "TB"), (1 << 20, "GB"), (1 << 10, "MB")];
    let exact = units
        .iter()
        .find(|(factor, _)| kilobytes.is_multiple_of(*factor));
    match exact {
        Some((factor, unit)) => format!("{}{unit}", kilobytes / factor),
        None => format!("{kilobytes}kB"),
    }
}

/// Who is no superuser may not set this by its name. What goes back to an earlier value when a transaction ends, or with
/// all others, was allowed when it was set.
///
/// # Errors
/// `42501`.
pub(crate) fn refuse_restricted(name: &str) -> SqlResult<()> {
    const FOR_SUPERUSERS: [&str; 1] = ["session_replication_role"];
    let found = FOR_SUPERUSERS
        .iter()
        .find(|known| known.eq_ignore_ascii_case(name));
    let Some(name) = found else {
        return Ok(());
    };
    let message = format!("permission denied to set parameter \"{name}\"");
    Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
}

/// A value that its kind does not have.
pub(super) fn invalid(name: &str, value: &str) -> SqlError {
    let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// The style and the order that a `DateStyle` says; each, if it says one.
///
/// # Errors
/// A word that means neither, and two that do not go together.
fn date_style(value: &str) -> Result<(Option<DateStyle>, Option<DateOrder>), String> {
    let (mut style, mut order) = (None, None);
    // What has been said is not said otherwise.
    fn set<T: PartialEq>(slot: &mut Option<T>, new: T) -> Result<(), String> {
        match slot.replace(new) {
            old if old.is_none() || old == *slot => Ok(()),
            _ => Err("Conflicting \"datestyle\" specifications.".to_string()),
        }
    }
    let mut is_default = false;
    let parts = value.split(',').map(str::trim);
    for part in parts.filter(|_| !value.trim().is_empty()) {
        match part.to_ascii_lowercase().as_str() {
            "iso" => set(&mut style, DateStyle::Iso)?,
            "sql" => set(&mut style, DateStyle::Sql)?,
            "german" => set(&mut style, DateStyle::German)?,
            word if word.starts_with("postgres") => set(&mut style, DateStyle::Postgres)?,
            "mdy" | "us" => set(&mut order, DateOrder::Mdy)?,
            word if word.starts_with("noneuro") => set(&mut order, DateOrder::Mdy)?,
            "dmy" => set(&mut order, DateOrder::Dmy)?,
            word if word.starts_with("euro") => set(&mut order, DateOrder::Dmy)?,
            "ymd" => set(&mut order, DateOrder::Ymd)?,
            "default" => is_default = true,
            _ => return Err(format!("Unrecognized key word: \"{part}\".")),
        }
    }
    if is_default {
        style = style.or(Some(DateStyle::Iso));
        order = order.or(Some(DateOrder::Mdy));
    }
    if style == Some(DateStyle::German) {
        order = order.or(Some(DateOrder::Dmy));
    }
    Ok((style, order))
}
