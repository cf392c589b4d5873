//! What SET, SHOW and the startup packet can change, and what each name means here.
//!
//! Relies on: `base::text_format` for the zone.  Promises: a name is either known and checked,
//! a custom one (it has a dot), or refused with 42704; a value that Quintet cannot honour is refused,
//! not ignored.  Does not: change a running transaction; the session does.
//!
//! | file | what it holds |
//! |---|---|
//! | `known` | the settings that there are |
//! | `value` | what their values may be |
//! | `held` | the values they have |
//! | `identity` | who the session is |
//! | `guise` | what routines have of their own |

mod guise;
mod held;
mod identity;
mod known;
mod value;

use crate::history::AsOf;
pub(crate) use guise::Under;
use held::{Held, Often};
use identity::Identity;
use known::{IDENTITY, KNOWN};
use quintet_base::limits::STATEMENT_MEMORY_DEFAULT;
use quintet_base::objects::ObjectNames;
use quintet_base::text_format::FormatContext;
use quintet_base::{Durability, RoleId, SqlError, SqlResult, SqlState};
use quintet_engine::Engine;
use quintet_sql::{KEPT_SETTINGS, KeptSetting, kept_setting};
pub(crate) use value::refuse_restricted;
use value::{MESSAGES, invalid, parse_bool, parse_kilobytes, read_milliseconds};

/// What plans depend on, beside the role: where names are looked for, and whether row security may hide rows.
pub(crate) const STEER_PLANS: [&str; 2] = ["search_path", "row_security"];

/// Said of settings that are kept for clients (`sql::KEPT_SETTINGS`).
const STEERS_NOTHING: &str = "Kept for clients that set it; it steers nothing here.";

/// The settings of one session.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    values: Held,
    /// What RESET goes back to: the startup packet's values.
    initial: Held,
    pub format: FormatContext,
    pub engine: Engine,
    /// What transactions read, if not the present.
    pub as_of: Option<AsOf>,
    pub identity: Identity,
    /// `session_replication_role` is `replica`.
    pub is_replica: bool,
    /// So many triggers the statement stands in.
    pub triggers: usize,
    /// Names that changed since they were last reported.
    changed: Vec<&'static str>,
    /// Another number after each change, so that who has a copy knows whether it is good still.
    pub changes: u64,
    /// Another number after each change of what plans depend on; the same again where a routine's own is left.
    pub path_version: u64,
    /// The greatest of those numbers.
    path_versions: u64,
}

impl Settings {
    /// Defaults, then what ALTER ROLE and DATABASE have said (what is not taken any more is left out), then what the client sent when
    /// it connected.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn new<'a>(
        (user, role): (&str, RoleId),
        kept: impl Iterator<Item = &'a (String, String)>,
        startup: &[(String, String)],
        durability: Durability,
        engine: Engine,
    ) -> SqlResult<Settings> {
        let mut settings = Settings {
            values: Held::new(
                KNOWN
                    .iter()
                    .map(|k| (k.name.to_string(), k.default.to_string())),
            ),
            initial: Held::new(std::iter::empty()),
            format: FormatContext::default(),
            engine,
            as_of: None,
            identity: Identity::new(user, role),
            is_replica: false,
            triggers: 0,
            changed: Vec::new(),
            changes: 0,
            path_version: 0,
            path_versions: 0,
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
        for (name, value) in kept {
            let _ = settings.set(name, Some(value));
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
            if STEER_PLANS.contains(&&*name) {
                self.path_versions += 1;
                self.path_version = self.path_versions;
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
        .ok_or_else(|| invalid(kept.name, &value))?;
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

    /// Bytes that a statement may hold in memory.
    pub fn work_mem(&self) -> usize {
        let kilobytes = self.get("work_mem").and_then(parse_kilobytes);
        kilobytes.map_or(STATEMENT_MEMORY_DEFAULT, |kilobytes| {
            kilobytes as usize * 1024
        })
    }

    /// current_user.
    pub fn user(&self) -> &str {
        if let Some((_, name)) = &self.identity.guise {
            return name;
        }
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

    /// What each statement asks for.
    pub fn often(&self) -> &Often {
        self.values.often()
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
        let is_same = |name: &&str| self.get(name) == saved.get(name);
        let same_path = STEER_PLANS.iter().all(is_same);
        let path_versions = self.path_versions + u64::from(!same_path);
        let path_version = match same_path {
            true => self.path_version,
            false => path_versions,
        };
        let objects = std::mem::take(&mut self.format.objects);
        *self = saved;
        self.format.objects = objects;
        self.changes = changes;
        self.path_version = path_version;
        self.path_versions = path_versions;
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

    /// Whether rows are left out that row security hides, where the statement would else be refused.
    pub fn shows_rows(&self) -> bool {
        self.get("row_security") != Some("off")
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

    /// A time limit in milliseconds; `None` if there is none.
    pub fn milliseconds(&self, name: &str) -> Option<u64> {
        self.get(name)
            .and_then(read_milliseconds)
            .filter(|ms| *ms > 0)
    }
}

fn unrecognized(name: &str) -> SqlError {
    SqlError::new(
        SqlState::UNDEFINED_OBJECT,
        format!("unrecognized configuration parameter \"{name}\""),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::new(
            ("ann", RoleId::BOOTSTRAP),
            std::iter::empty(),
            &[("Application_Name".into(), "test".into())],
            Durability::Sync,
            Engine::Direct,
        )
        .unwrap()
    }

    #[test]
    fn the_table_is_sorted_by_name() {
        assert!(KNOWN.is_sorted_by_key(|known| known.name));
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

    /// Goal: what is asked often is never older than what SHOW says. Method: it is looked up by name after each change.
    #[test]
    fn what_is_asked_often_follows_every_change() {
        let mut s = settings();
        let agree = |s: &Settings| {
            let text = |name: &str| s.get(name).unwrap().to_string();
            let often = s.often();
            assert_eq!(
                [
                    often.level.sql_name().to_string(),
                    (if often.read_only { "on" } else { "off" }).to_string(),
                    (if often.reads_ahead { "on" } else { "off" }).to_string(),
                    (if often.answers_early { "off" } else { "on" }).to_string(),
                ],
                [
                    text("default_transaction_isolation"),
                    text("default_transaction_read_only"),
                    text("quintet.group_reads"),
                    text("synchronous_commit"),
                ]
            );
            *often
        };
        let usual = agree(&s);
        let changes = [
            ("DEFAULT_transaction_isolation", "serializable"),
            ("default_transaction_read_only", "true"),
            ("quintet.group_reads", "0"),
            ("synchronous_commit", "false"),
        ];
        for (name, value) in changes {
            let before = agree(&s);
            s.set(name, Some(value)).unwrap();
            assert_ne!(agree(&s), before, "{name}");
            s.set(name, Some("nonsense")).unwrap_err();
            s.set(name, None).unwrap();
            assert_eq!(agree(&s), before, "{name}");
        }
        let saved = s.save();
        for (name, value) in changes {
            s.set(name, Some(value)).unwrap();
        }
        let all = agree(&s);
        s.restore(saved);
        assert_eq!(agree(&s), usual);
        for (name, value) in changes {
            s.set(name, Some(value)).unwrap();
        }
        assert_eq!(agree(&s), all);
        s.reset_all();
        assert_eq!(agree(&s), usual);
        let durability = Durability::Async;
        let early = Settings::new(
            ("ann", RoleId::BOOTSTRAP),
            std::iter::empty(),
            &[],
            durability,
            Engine::Direct,
        );
        assert!(agree(&early.unwrap()).answers_early);
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
