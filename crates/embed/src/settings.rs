//! What SET, SHOW and the startup packet can change, and what each name means here.
//!
//! Relies on: `base::text_format` for the zone.  Promises: a name is either known and checked,
//! a custom one (it has a dot), or refused with 42704; a value that Quintet cannot honour is refused,
//! not ignored.  Does not: change a running transaction; the session does.

use crate::history::AsOf;
use quintet_base::datetime::TimeZone;
use quintet_base::limits::STATEMENT_MEMORY_DEFAULT;
use quintet_base::objects::ObjectNames;
use quintet_base::text_format::FormatContext;
use quintet_base::{Durability, Level, RoleId, SqlError, SqlResult, SqlState};
use quintet_engine::Engine;
use quintet_sql::{KEPT_SETTINGS, KeptSetting, kept_setting};
use std::collections::BTreeMap;

/// What kind of value a setting takes, and what the session does with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Any text; kept for SHOW.
    Text,
    /// A boolean; kept for SHOW and for those who ask.
    Bool,
    /// Milliseconds, with PostgreSQL's units.
    Milliseconds,
    /// Kilobytes, with PostgreSQL's units; kept for SHOW with a unit.
    Memory,
    /// A whole number.
    Integer,
    /// From which severity on messages are sent.
    MinMessages,
    /// Only this value (compared without case); anything else is refused by name.
    Only,
    /// Cannot be set.
    Fixed,
    /// An isolation level.
    Level,
    /// A time zone.
    Zone,
    /// `ISO` with any field order.
    DateStyle,
    /// on/off/local/remote_*.
    SynchronousCommit,
    /// direct, chain, queue, auto or locking.
    Engine,
    /// A moment of the past.
    AsOf,
    /// A role that the session has looked up, or `none`.
    Role,
    /// Likewise, never `none`.
    SessionUser,
}

/// Bounds of `work_mem`, as in PostgreSQL.
const WORK_MEM_KB_MIN: u64 = 64;
const WORK_MEM_KB_MAX: u64 = 2_147_483_647;

struct Known {
    name: &'static str,
    default: &'static str,
    kind: Kind,
    /// Reported to the client when it changes (ParameterStatus), under this spelling.
    reported: Option<&'static str>,
    description: &'static str,
}

const fn known(
    name: &'static str,
    default: &'static str,
    kind: Kind,
    reported: Option<&'static str>,
    description: &'static str,
) -> Known {
    Known {
        name,
        default,
        kind,
        reported,
        description,
    }
}

/// Settings that say who the session is: SHOW ALL and pg_settings leave them out, RESET ALL leaves them alone.
const IDENTITY: [&str; 3] = ["is_superuser", "role", "session_authorization"];

const STEERS_NOTHING: &str = "Kept for clients that set it; it steers nothing here.";

/// Sorted by name.
const KNOWN: &[Known] = &[
    known(
        "application_name",
        "",
        Kind::Text,
        Some("application_name"),
        "Name of the application, for statistics and logs.",
    ),
    known(
        "bytea_output",
        "hex",
        Kind::Only,
        None,
        "Format of bytea text output.",
    ),
    known(
        "check_function_bodies",
        "on",
        Kind::Bool,
        None,
        "Kept for clients that set it; what a body names is looked up when it is reached.",
    ),
    known(
        "client_encoding",
        "UTF8",
        Kind::Only,
        Some("client_encoding"),
        "Encoding the client uses.",
    ),
    known(
        "client_min_messages",
        "notice",
        Kind::MinMessages,
        None,
        "Messages below this severity are not sent.",
    ),
    known(
        "datestyle",
        "ISO, MDY",
        Kind::DateStyle,
        Some("DateStyle"),
        "Format of dates; always ISO.",
    ),
    known(
        "default_table_access_method",
        "heap",
        Kind::Only,
        None,
        "Kept for clients that set it; there is one way to store a table.",
    ),
    known(
        "default_tablespace",
        "",
        Kind::Only,
        None,
        "Always the only one.",
    ),
    known(
        "default_transaction_deferrable",
        "off",
        Kind::Bool,
        None,
        "DEFERRABLE of new transactions.",
    ),
    known(
        "default_transaction_isolation",
        "read committed",
        Kind::Level,
        None,
        "Isolation level of new transactions.",
    ),
    known(
        "default_transaction_read_only",
        "off",
        Kind::Bool,
        Some("default_transaction_read_only"),
        "READ ONLY of new transactions.",
    ),
    known(
        "extra_float_digits",
        "1",
        Kind::Integer,
        None,
        "Digits of floating-point output; 1 or more is the shortest exact form.",
    ),
    known(
        "idle_in_transaction_session_timeout",
        "0",
        Kind::Milliseconds,
        None,
        "Ends a session that idles inside a transaction.",
    ),
    known(
        "in_hot_standby",
        "off",
        Kind::Fixed,
        Some("in_hot_standby"),
        "Always off.",
    ),
    known(
        "integer_datetimes",
        "on",
        Kind::Fixed,
        Some("integer_datetimes"),
        "Always on.",
    ),
    known(
        "intervalstyle",
        "postgres",
        Kind::Only,
        Some("IntervalStyle"),
        "Format of intervals.",
    ),
    known(
        "is_superuser",
        "on",
        Kind::Fixed,
        Some("is_superuser"),
        "Whether the current user is a superuser.",
    ),
    known(
        "lock_timeout",
        "0",
        Kind::Milliseconds,
        None,
        "Longest wait for a row lock.",
    ),
    known(
        "max_identifier_length",
        "63",
        Kind::Fixed,
        None,
        "Bytes of an identifier.",
    ),
    known(
        "max_index_keys",
        "32",
        Kind::Fixed,
        None,
        "Columns of an index.",
    ),
    known(
        "quintet.engine",
        "direct",
        Kind::Engine,
        None,
        "How calls of routines are run: direct, or behind those that they conflict with (chain).",
    ),
    known(
        "quintet.group_reads",
        "on",
        Kind::Bool,
        None,
        "Whether the reads of a call are announced to storage before it begins.",
    ),
    known(
        "quintet.as_of",
        "",
        Kind::AsOf,
        None,
        "The moment of the past that transactions read (-10s, or a timestamp); nothing: the present.",
    ),
    known(
        "row_security",
        "on",
        Kind::Bool,
        None,
        "Kept for clients that set it; there are no policies.",
    ),
    known(
        "search_path",
        "\"$user\", public",
        Kind::Text,
        None,
        "Schemas searched for names.",
    ),
    known(
        "server_encoding",
        "UTF8",
        Kind::Fixed,
        Some("server_encoding"),
        "Encoding of the database.",
    ),
    known(
        "server_version",
        SERVER_VERSION,
        Kind::Fixed,
        Some("server_version"),
        "PostgreSQL version whose behaviour is offered.",
    ),
    known(
        "server_version_num",
        "150000",
        Kind::Fixed,
        None,
        "The same as a number.",
    ),
    known(
        "role",
        "none",
        Kind::Role,
        None,
        "The role that the session has taken, or none.",
    ),
    known(
        "session_authorization",
        "",
        Kind::SessionUser,
        Some("session_authorization"),
        "The session's user.",
    ),
    known(
        "standard_conforming_strings",
        "on",
        Kind::Only,
        Some("standard_conforming_strings"),
        "Backslashes in '...' are ordinary.",
    ),
    known(
        "statement_timeout",
        "0",
        Kind::Milliseconds,
        None,
        "Longest time a statement may run.",
    ),
    known(
        "synchronous_commit",
        "on",
        Kind::SynchronousCommit,
        None,
        "Whether COMMIT waits for the disk.",
    ),
    known(
        "timezone",
        "UTC",
        Kind::Zone,
        Some("TimeZone"),
        "Zone of timestamps with time zone.",
    ),
    known(
        "transaction_deferrable",
        "off",
        Kind::Bool,
        None,
        "DEFERRABLE of this transaction.",
    ),
    known(
        "transaction_isolation",
        "read committed",
        Kind::Level,
        None,
        "Isolation level of this transaction.",
    ),
    known(
        "transaction_read_only",
        "off",
        Kind::Bool,
        None,
        "READ ONLY of this transaction.",
    ),
    known(
        "work_mem",
        "256MB",
        Kind::Memory,
        None,
        "Memory of one statement; rows that a join keeps go to a file beyond it.",
    ),
    known(
        "xmloption",
        "content",
        Kind::Only,
        None,
        "Kept for clients that set it; there is no xml.",
    ),
];

/// Severities of messages to a client, the least first.
const MESSAGES: &[&str] = &[
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "info", "notice", "warning", "error",
];

/// Starts with the PostgreSQL version whose behaviour is offered, because drivers parse it.
pub(crate) const SERVER_VERSION: &str = concat!("15.0 (Quintet ", env!("CARGO_PKG_VERSION"), ")");

/// Whose session it is.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Who has logged in.
    login: RoleId,
    /// session_user.
    session: RoleId,
    /// SET ROLE.
    taken: Option<RoleId>,
    /// Roles that the session has looked up for SET ROLE and SET SESSION AUTHORIZATION.
    found: BTreeMap<String, RoleId>,
}

impl Identity {
    /// Of whom has logged in.
    fn new(name: &str, login: RoleId) -> Identity {
        Identity {
            login,
            session: login,
            taken: None,
            found: BTreeMap::from([(name.to_string(), login)]),
        }
    }

    pub fn login(&self) -> RoleId {
        self.login
    }

    pub fn session(&self) -> RoleId {
        self.session
    }

    /// Who runs statements.
    pub fn current(&self) -> RoleId {
        self.taken.unwrap_or(self.session)
    }
}

/// The settings of one session.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    values: BTreeMap<String, String>,
    /// What RESET goes back to: the startup packet's values.
    initial: BTreeMap<String, String>,
    pub format: FormatContext,
    pub engine: Engine,
    /// What transactions read, if not the present.
    pub as_of: Option<AsOf>,
    pub identity: Identity,
    /// Names that changed since they were last reported.
    changed: Vec<&'static str>,
    /// Another number after each change, so that who has a copy knows whether it is good still.
    pub changes: u64,
    /// Another number after each change of the search path.
    pub path_version: u64,
}

impl Settings {
    /// Defaults, then what the client sent when it connected.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn new(
        (user, role): (&str, RoleId),
        startup: &[(String, String)],
        durability: Durability,
        engine: Engine,
    ) -> SqlResult<Settings> {
        let mut settings = Settings {
            values: KNOWN
                .iter()
                .map(|k| (k.name.to_string(), k.default.to_string()))
                .collect(),
            initial: BTreeMap::new(),
            format: FormatContext::default(),
            engine,
            as_of: None,
            identity: Identity::new(user, role),
            changed: Vec::new(),
            changes: 0,
            path_version: 0,
        };
        settings
            .values
            .insert("session_authorization".into(), user.into());
        settings
            .values
            .insert("quintet.engine".into(), engine.name().into());
        if durability != Durability::Sync {
            settings
                .values
                .insert("synchronous_commit".into(), "off".into());
        }
        for (name, value) in startup {
            settings.set(name, Some(value))?;
        }
        settings.initial = settings.values.clone();
        settings.changed.clear();
        Ok(settings)
    }

    /// Sets a value; `None` goes back to the session's initial one.
    ///
    /// # Errors
    /// `42704` for an unknown name, `22023` for an impossible value, `55P02` for a fixed setting,
    /// `0A000` for a value that exists in PostgreSQL but not here.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> SqlResult<()> {
        self.changes += 1;
        let name = name.to_ascii_lowercase();
        let Some(known) = KNOWN.iter().find(|k| k.name == name) else {
            return match kept_setting(&name) {
                Some(kept) => self.set_kept(kept, value),
                None => self.set_custom(name, value),
            };
        };
        let initial = self
            .initial
            .get(&name)
            .map_or(known.default, String::as_str)
            .to_string();
        let value = value.map_or(initial, |v| v.trim_matches('\'').to_string());
        let value = self.check(known, &value)?;
        if self.values.get(&name) != Some(&value) {
            if let Some(reported) = known.reported {
                self.changed.push(reported);
            }
            if name == "search_path" {
                self.path_version += 1;
            }
            self.values.insert(name, value);
        }
        Ok(())
    }

    /// One that steers nothing: a value that PostgreSQL would take is kept, the default is not.
    fn set_kept(&mut self, kept: &KeptSetting, value: Option<&str>) -> SqlResult<()> {
        let initial = self.initial.get(kept.name);
        let initial = initial.map_or(kept.default, String::as_str).to_string();
        let value = value.map_or(initial, |value| value.trim_matches('\'').to_string());
        let begins_as_number = |text: &str| {
            let digits = text.trim_start_matches('-').as_bytes();
            digits
                .first()
                .is_some_and(|first| first.is_ascii_digit() || *first == b'.')
        };
        let value = match kept.kind {
            "bool" => parse_bool(&value).map(|on| if on { "on" } else { "off" }.to_string()),
            "integer" | "real" => begins_as_number(&value).then_some(value.clone()),
            _ => Some(value.to_ascii_lowercase()),
        }
        .ok_or_else(|| {
            let message = format!("invalid value for parameter \"{}\": \"{value}\"", kept.name);
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })?;
        match value == kept.default {
            true => self.values.remove(kept.name),
            false => self.values.insert(kept.name.to_string(), value),
        };
        Ok(())
    }

    fn set_custom(&mut self, name: String, value: Option<&str>) -> SqlResult<()> {
        if !name.contains('.') {
            return Err(unrecognized(&name));
        }
        match value {
            Some(value) => self.values.insert(name, value.to_string()),
            None => self.values.remove(&name),
        };
        Ok(())
    }

    fn check(&mut self, known: &Known, value: &str) -> SqlResult<String> {
        let name = known.name;
        let invalid = || {
            SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid value for parameter \"{name}\": \"{value}\""),
            )
        };
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
            Kind::Milliseconds => Ok(parse_milliseconds(value).ok_or_else(invalid)?.to_string()),
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
            Kind::Level => Ok(Level::parse(value)?.sql_name().to_string()),
            Kind::Zone => {
                self.format.zone = TimeZone::parse(value)?;
                Ok(value.to_string())
            }
            Kind::DateStyle => {
                let lower = value.to_ascii_lowercase();
                let order = match lower.split(',').map(str::trim).find(|part| *part != "iso") {
                    None | Some("mdy" | "us" | "noneuro") => "MDY",
                    Some("dmy" | "european" | "euro") => "DMY",
                    Some("ymd") => "YMD",
                    Some(_) => {
                        return Err(SqlError::unsupported(format!("DateStyle \"{value}\""))
                            .hint("Only ISO output is available."));
                    }
                };
                Ok(format!("ISO, {order}"))
            }
            Kind::SynchronousCommit => match value.to_ascii_lowercase().as_str() {
                "on" | "true" | "yes" | "1" | "local" | "remote_write" | "remote_apply" => {
                    Ok("on".into())
                }
                "off" | "false" | "no" | "0" => Ok("off".into()),
                _ => Err(invalid()),
            },
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

    /// Bytes that a statement may hold in memory.
    pub fn work_mem(&self) -> usize {
        let kilobytes = self.get("work_mem").and_then(parse_kilobytes);
        kilobytes.map_or(STATEMENT_MEMORY_DEFAULT, |kilobytes| {
            kilobytes as usize * 1024
        })
    }

    /// current_user.
    pub fn user(&self) -> &str {
        let name = match self.identity.taken {
            Some(_) => "role",
            None => "session_authorization",
        };
        self.get(name).unwrap_or_default()
    }

    /// A name may be set as role and session user from now on.
    pub fn vouch(&mut self, name: &str, role: RoleId) {
        self.identity.found.insert(name.to_string(), role);
    }

    /// Whether RESET would give a setting this value.
    pub fn is_initial(&self, name: &str, value: &str) -> bool {
        self.initial
            .get(name)
            .is_some_and(|initial| initial == value)
    }

    /// What `is_superuser` says.
    pub fn note_superuser(&mut self, is: bool) {
        let value = if is { "on" } else { "off" };
        if self.get("is_superuser") != Some(value) {
            self.values.insert("is_superuser".into(), value.into());
            self.changed.push("is_superuser");
        }
    }

    /// The value of a setting, under any case of its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => self.values.get(&name.to_ascii_lowercase()),
            false => self.values.get(name),
        };
        value
            .map(String::as_str)
            .or_else(|| kept_setting(name).map(|kept| kept.default))
    }

    /// As [`Settings::get`], for SHOW.
    ///
    /// # Errors
    /// `42704`.
    pub fn show(&self, name: &str) -> SqlResult<&str> {
        let name = match name {
            "transaction isolation level" | "transaction_isolation_level" => {
                "transaction_isolation"
            }
            "time zone" => "timezone",
            "session authorization" => "session_authorization",
            other => other,
        };
        self.get(name).ok_or_else(|| unrecognized(name))
    }

    /// Name, value and description of everything but who the session is, for SHOW ALL.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str, &'static str)> {
        let shown = self
            .values
            .iter()
            .filter(|(name, _)| !IDENTITY.contains(&name.as_str()));
        let known = shown.map(|(name, value)| {
            let description = KNOWN.iter().find(|k| k.name == name);
            let description = match (description, kept_setting(name)) {
                (Some(known), _) => known.description,
                (None, Some(_)) => STEERS_NOTHING,
                (None, None) => "",
            };
            (name.as_str(), value.as_str(), description)
        });
        let unset = KEPT_SETTINGS.iter();
        let unset = unset.filter(|kept| !self.values.contains_key(kept.name));
        let unset = unset.map(|kept| (kept.name, kept.default, STEERS_NOTHING));
        let mut all: Vec<_> = known.chain(unset).collect();
        all.sort_unstable_by_key(|(name, ..)| *name);
        all.into_iter()
    }

    /// What the client is told at the start.
    pub fn reported(&self) -> Vec<(String, String)> {
        KNOWN
            .iter()
            .filter_map(|k| Some((k.reported?.to_string(), self.values.get(k.name)?.clone())))
            .collect()
    }

    /// What the client is to be told now.
    pub fn take_changed(&mut self) -> Vec<(String, String)> {
        if self.changed.is_empty() {
            return Vec::new();
        }
        let mut names = std::mem::take(&mut self.changed);
        names.dedup();
        names
            .into_iter()
            .filter_map(|name| Some((name.to_string(), self.get(name)?.to_string())))
            .collect()
    }

    /// Goes back to how the session began (RESET ALL, DISCARD ALL).
    pub fn reset_all(&mut self) {
        let names: Vec<String> = self.values.keys().cloned().collect();
        for name in names {
            // Who somebody is is no matter of taste.
            if IDENTITY.contains(&&*name) {
                continue;
            }
            // Fixed settings refuse, and are as they were anyway.
            let _ = self.set(&name, None);
        }
    }

    /// All values, to be put back when a transaction ends that changed them.
    pub fn save(&self) -> Settings {
        self.clone()
    }

    /// Puts saved values back and reports those that differ.
    pub fn restore(&mut self, saved: Settings) {
        let changed: Vec<&'static str> = KNOWN
            .iter()
            .filter(|k| self.values.get(k.name) != saved.values.get(k.name))
            .filter_map(|k| k.reported)
            .collect();
        let changes = self.changes + 1;
        let same_path = self.get("search_path") == saved.get("search_path");
        let path_version = self.path_version + u64::from(!same_path);
        let objects = std::mem::take(&mut self.format.objects);
        *self = saved;
        self.format.objects = objects;
        self.changes = changes;
        self.path_version = path_version;
        self.changed.extend(changed);
    }

    /// Names of objects come from here from now on.
    pub fn know(&mut self, objects: ObjectNames) {
        self.changes += 1;
        self.format.objects = objects;
    }

    /// Schemas that names are looked for in.
    pub fn path(&self) -> &str {
        self.get("search_path").unwrap_or("public")
    }

    /// Whether the client wants a message of a severity. INFO is what it has asked for.
    pub fn wants(&self, severity: &str) -> bool {
        let severity = match severity {
            "DEBUG" => "debug1".to_string(),
            "INFO" => return true,
            other => other.to_ascii_lowercase(),
        };
        let place = |name: &str| MESSAGES.iter().position(|known| *known == name);
        place(&severity) >= self.get("client_min_messages").and_then(place)
    }

    /// A boolean setting.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some("on")
    }

    /// A time limit in milliseconds; `None` if there is none.
    pub fn milliseconds(&self, name: &str) -> Option<u64> {
        self.get(name)
            .and_then(|value| value.parse().ok())
            .filter(|ms| *ms > 0)
    }

    /// A level setting.
    pub fn level(&self, name: &str) -> Level {
        self.get(name)
            .and_then(|value| Level::parse(value).ok())
            .unwrap_or_default()
    }
}

fn unrecognized(name: &str) -> SqlError {
    SqlError::new(
        SqlState::UNDEFINED_OBJECT,
        format!("unrecognized configuration parameter \"{name}\""),
    )
}

/// PostgreSQL's words for booleans, unique prefixes included.
fn parse_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "t" | "yes" | "y" | "1" => Some(true),
        "off" | "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

fn parse_milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// `64MB`, or a number of kilobytes.
fn parse_kilobytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::new(
            ("ann", RoleId::BOOTSTRAP),
            &[("Application_Name".into(), "test".into())],
            Durability::Sync,
            Engine::Direct,
        )
        .unwrap()
    }

    #[test]
    fn known_names_are_checked_and_reported_once() {
        let mut s = settings();
        assert_eq!(s.get("application_name"), Some("test"));
        s.set("TimeZone", Some("Europe/Berlin")).unwrap();
        s.set("application_name", Some("other")).unwrap();
        let changed = s.take_changed();
        assert!(changed.contains(&("TimeZone".into(), "Europe/Berlin".into())));
        assert!(s.take_changed().is_empty());
        s.set("application_name", None).unwrap();
        assert_eq!(
            s.get("application_name"),
            Some("test"),
            "RESET goes back to the startup value"
        );
    }

    #[test]
    fn memory_is_read_with_units_and_shown_in_the_largest_that_is_exact() {
        let mut s = settings();
        assert_eq!(s.work_mem(), STATEMENT_MEMORY_DEFAULT);
        for (written, shown, bytes) in [
            ("64", "64kB", 64 << 10),
            ("2048", "2MB", 2 << 20),
            (" 1536 kB ", "1536kB", 1536 << 10),
            ("3GB", "3GB", 3 << 30),
        ] {
            s.set("work_mem", Some(written)).unwrap();
            assert_eq!((s.get("work_mem"), s.work_mem()), (Some(shown), bytes));
        }
        for refused in ["63kB", "-1", "12 apples", "4096TB"] {
            let error = s.set("work_mem", Some(refused)).unwrap_err();
            assert_eq!(error.state.as_str(), "22023", "{refused}");
        }
    }

    #[test]
    fn messages_below_the_setting_are_not_wanted() {
        let mut s = settings();
        let wanted = |s: &Settings| -> Vec<&str> {
            let all = ["DEBUG", "LOG", "INFO", "NOTICE", "WARNING", "ERROR"];
            all.into_iter().filter(|name| s.wants(name)).collect()
        };
        assert_eq!(wanted(&s), ["INFO", "NOTICE", "WARNING", "ERROR"]);
        s.set("client_min_messages", Some("DEBUG")).unwrap();
        assert_eq!(s.get("client_min_messages"), Some("debug2"));
        assert_eq!(wanted(&s).len(), 6);
        s.set("client_min_messages", Some("error")).unwrap();
        assert_eq!(wanted(&s), ["INFO", "ERROR"]);
        let refused = s.set("client_min_messages", Some("loud")).unwrap_err();
        assert_eq!(refused.state, SqlState::INVALID_PARAMETER_VALUE);
    }

    #[test]
    fn impossible_values_are_refused_by_name() {
        let mut s = settings();
        let state = |result: SqlResult<()>| result.unwrap_err().state;
        assert_eq!(
            state(s.set("nonsense", Some("1"))),
            SqlState::UNDEFINED_OBJECT
        );
        assert_eq!(
            state(s.set("client_encoding", Some("LATIN1"))),
            SqlState::FEATURE_NOT_SUPPORTED
        );
        assert_eq!(
            state(s.set("server_version", Some("9"))),
            SqlState::CANT_CHANGE_RUNTIME_PARAM
        );
        assert_eq!(
            state(s.set("statement_timeout", Some("soon"))),
            SqlState::INVALID_PARAMETER_VALUE
        );
        assert_eq!(
            state(s.set("standard_conforming_strings", Some("off"))),
            SqlState::FEATURE_NOT_SUPPORTED
        );
        s.set("statement_timeout", Some("2s")).unwrap();
        assert_eq!(s.milliseconds("statement_timeout"), Some(2000));
        s.set("my.custom", Some("x")).unwrap();
        assert_eq!(s.get("my.custom"), Some("x"));
        s.set("client_encoding", Some("'utf-8'")).unwrap();
    }

    #[test]
    fn a_saved_copy_restores_and_reports_the_difference() {
        let mut s = settings();
        let saved = s.save();
        s.set("datestyle", Some("ISO, DMY")).unwrap();
        s.take_changed();
        s.restore(saved);
        assert_eq!(
            s.take_changed(),
            vec![("DateStyle".to_string(), "ISO, MDY".to_string())]
        );
    }
}
