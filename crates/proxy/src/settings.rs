//! What a client has set for its session.
//!
//! Relies on: replicas, to which what they must know is given when a session is opened there.  Promises: a setting
//! that changes what statements do or answer is in force at every replica that runs one of this client's, or is
//! refused.  Does not: keep values of settings that nobody has set; those are asked of a replica.
//!
//! | setting | what becomes of it |
//! |---|---|
//! | how values are written and names are found | sessions at replicas are opened with it |
//! | `quintet.client`, `quintet.call` | kept here: who calls, and the number of its next call |
//! | the level of transactions | at most what the front end was started for |
//! | `application_name`, and what has no effect | kept here |
//! | all others | refused |

use quintet_base::{Level, SqlError, SqlState};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sent to replicas.
const SENT: [&str; 16] = [
    "bytea_output",
    "datestyle",
    "extra_float_digits",
    "intervalstyle",
    "lc_messages",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "lock_timeout",
    "search_path",
    "statement_timeout",
    "timezone",
    "work_mem",
    "xmlbinary",
    "xmloption",
    "plpgsql.variable_conflict",
];

/// Without an effect on what is answered.
const IDLE: [&str; 8] = [
    "application_name",
    "client_min_messages",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "jit",
    "tcp_keepalives_idle",
    "tcp_keepalives_interval",
    "tcp_user_timeout",
];

/// Settings that a replica's sessions are opened with. Equal ones share sessions.
pub type Sent = Arc<BTreeMap<String, String>>;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    sent: Sent,
    kept: BTreeMap<String, String>,
    /// Who calls, if the client wants to be able to repeat a call.
    pub client: Option<Arc<str>>,
    /// The number of its next call.
    pub call: i64,
    /// Transactions only read unless they say otherwise.
    pub read_only: bool,
}

impl SessionSettings {
    /// What sessions at replicas are opened with.
    pub fn sent(&self) -> &Sent {
        &self.sent
    }

    /// What was set here and replicas do not know.
    pub fn shown(&self, name: &str) -> Option<String> {
        match name {
            "quintet.client" => Some(self.client.as_deref().unwrap_or_default().to_owned()),
            "quintet.call" => Some(self.call.to_string()),
            _ => self.kept.get(name).cloned(),
        }
    }

    /// SET, or RESET if there is no value. `strongest` is what transactions can have.
    ///
    /// # Errors
    /// `0A000` for what cannot be in force everywhere, `22023` for a value that is none.
    pub fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        strongest: Level,
    ) -> Result<(), SqlError> {
        let name = name.to_ascii_lowercase();
        let is = |wanted: &[&str]| {
            value.is_none_or(|value| wanted.iter().any(|w| value.eq_ignore_ascii_case(w)))
        };
        match name.as_str() {
            "quintet.client" => {
                self.client = value.filter(|value| !value.is_empty()).map(Arc::from);
            }
            "quintet.call" => {
                let number = value.map_or(Ok(0), str::parse);
                self.call = number.map_err(|_| wrong(&name, value))?;
            }
            "client_encoding" if is(&["utf8", "utf-8", "unicode"]) => {}
            "standard_conforming_strings" | "synchronize_seqscans" if is(&["on", "true", "1"]) => {}
            "default_transaction_isolation" | "transaction_isolation" => {
                if let Some(value) = value {
                    check_level(value, strongest)?;
                }
            }
            "default_transaction_read_only" | "transaction_read_only" => {
                self.read_only = match value {
                    None => false,
                    Some(_) if is(&["on", "true", "1", "yes"]) => true,
                    Some(_) if is(&["off", "false", "0", "no"]) => false,
                    Some(_) => return Err(wrong(&name, value)),
                };
            }
            sent if SENT.contains(&sent) => {
                let all = Arc::make_mut(&mut self.sent);
                match value {
                    Some(value) => all.insert(name, value.to_owned()),
                    None => all.remove(&name),
                };
            }
            idle if IDLE.contains(&idle) => {
                match value {
                    Some(value) => self.kept.insert(name, value.to_owned()),
                    None => self.kept.remove(&name),
                };
            }
            _ => {
                return Err(SqlError::unsupported(format!(
                    "setting \"{name}\" for a session of the front end"
                ))
                .hint("Set it at the replicas: ALTER SYSTEM, ALTER DATABASE or ALTER ROLE."));
            }
        }
        Ok(())
    }

    /// RESET ALL.
    pub fn reset(&mut self) {
        *self = SessionSettings::default();
    }
}

/// Refuses a level that the front end does not give.
pub fn check_level(value: &str, strongest: Level) -> Result<(), SqlError> {
    let level = match value.to_ascii_lowercase().as_str() {
        "read uncommitted" | "read committed" => Level::ReadCommitted,
        "repeatable read" => Level::Snapshot,
        "serializable" => Level::Serializable,
        _ => return Err(wrong("transaction_isolation", Some(value))),
    };
    allowed(level, strongest)
}

/// Refuses a level that the front end does not give.
pub fn allowed(level: Level, strongest: Level) -> Result<(), SqlError> {
    if level <= strongest {
        return Ok(());
    }
    Err(SqlError::unsupported("SERIALIZABLE over replicas").hint(
        "Transactions are repeatable read here. Conflicts between reads and writes of different replicas are not seen.",
    ))
}

fn wrong(name: &str, value: Option<&str>) -> SqlError {
    SqlError::new(
        SqlState(*b"22023"),
        format!(
            "invalid value for parameter \"{name}\": \"{}\"",
            value.unwrap_or_default()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &mut SessionSettings, name: &str, value: &str) -> Result<(), SqlError> {
        settings.set(name, Some(value), Level::Snapshot)
    }

    #[test]
    fn what_changes_answers_is_sent_and_what_cannot_be_is_refused() {
        let mut settings = SessionSettings::default();
        set(&mut settings, "TimeZone", "Europe/Berlin").unwrap();
        set(&mut settings, "application_name", "shop").unwrap();
        set(&mut settings, "quintet.client", "till 4").unwrap();
        set(&mut settings, "quintet.call", "17").unwrap();
        assert_eq!(settings.sent().len(), 1);
        assert_eq!(settings.sent()["timezone"], "Europe/Berlin");
        assert_eq!(settings.shown("application_name").as_deref(), Some("shop"));
        assert_eq!(
            (settings.client.as_deref(), settings.call),
            (Some("till 4"), 17)
        );
        for (name, value) in [
            ("session_replication_role", "replica"),
            ("client_encoding", "latin1"),
            ("default_transaction_isolation", "serializable"),
            ("quintet.call", "x"),
        ] {
            assert!(set(&mut settings, name, value).is_err(), "{name}");
        }
        settings.set("timezone", None, Level::Snapshot).unwrap();
        assert!(settings.sent().is_empty());
    }
}
