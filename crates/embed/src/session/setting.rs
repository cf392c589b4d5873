//! SET, RESET and SHOW.
//!
//! Relies on: `settings` for names and values; `transaction` and `identity` for those that mean more than their value.
//! Promises: what a transaction set goes back when it is undone, and what it set LOCAL when it ends in any way.
//! Does not: check values (`settings`).

use super::{Mode, Session};
use crate::settings::refuse_restricted;
use quintet_base::{Level, SqlResult, SqlState, Value};
use quintet_ir::Host;
use quintet_sql::command::TransactionModes;
use std::collections::VecDeque;

impl Session {
    /// SHOW.
    pub(super) fn show(&self, name: &str) -> SqlResult<String> {
        Ok(match name {
            "transaction_isolation" | "transaction isolation level" if self.mode != Mode::Idle => {
                self.level.shown_name(self.uncommitted).to_string()
            }
            "transaction_isolation" | "transaction isolation level" => {
                let often = self.host.settings.often();
                often.level.shown_name(often.uncommitted).to_string()
            }
            "transaction_read_only" => (if self.host.read_only { "on" } else { "off" }).to_string(),
            "transaction_deferrable" => {
                let value = self.host.of_transaction(name);
                value.unwrap_or_default().to_string()
            }
            _ => self.host.settings.show(name)?.to_string(),
        })
    }

    /// SHOW ALL.
    pub(super) fn show_all(&self) -> VecDeque<Vec<Value>> {
        let rows = self.host.settings.all();
        rows.map(|(name, value, about)| [name, value, about].map(Value::text).to_vec())
            .collect()
    }

    /// Before the first change in a transaction, which may be undone.
    pub(super) fn remember_settings(&mut self) {
        if self.mode != Mode::Explicit {
            return;
        }
        let settings = &self.host.settings;
        if self.settings_before.is_none() {
            self.settings_before = Some(settings.save());
        }
        for savepoint in self.savepoints.iter_mut().rev() {
            if savepoint.settings.is_some() {
                break;
            }
            savepoint.settings = Some(Box::new((settings.save(), self.local_settings.clone())));
        }
    }

    /// SET.
    pub(super) fn set(&mut self, local: bool, name: &str, value: Option<&str>) -> SqlResult<()> {
        match (name, value) {
            ("transaction_isolation", Some(value)) => {
                return self.set_modes(TransactionModes {
                    level: Some(Level::parse(value)?),
                    uncommitted: Level::is_uncommitted(value),
                    ..TransactionModes::default()
                });
            }
            ("transaction_read_only", Some(value)) => {
                return self.set_modes(TransactionModes {
                    read_only: Some(value == "on" || value == "true"),
                    ..TransactionModes::default()
                });
            }
            ("transaction_deferrable", Some(value)) => {
                return self.set_modes(TransactionModes {
                    deferrable: Some(value == "on" || value == "true"),
                    ..TransactionModes::default()
                });
            }
            ("role", value) => return self.set_role(local, value),
            ("session_authorization", value) => return self.set_session_user(local, value),
            _ => {}
        }
        self.set_plain(local, name, value)
    }

    /// SET SESSION CHARACTERISTICS AS TRANSACTION.
    pub(super) fn set_default_modes(&mut self, modes: TransactionModes) -> SqlResult<()> {
        self.remember_settings();
        let settings = &mut self.host.settings;
        if let Some(level) = modes.level {
            let name = level.shown_name(modes.uncommitted);
            settings.set("default_transaction_isolation", Some(name))?;
        }
        let on_off = |on: bool| Some(if on { "on" } else { "off" });
        if let Some(read_only) = modes.read_only {
            settings.set("default_transaction_read_only", on_off(read_only))?;
        }
        if let Some(deferrable) = modes.deferrable {
            settings.set("default_transaction_deferrable", on_off(deferrable))?;
        }
        Ok(())
    }

    /// SET of what means something to the settings alone.
    pub(super) fn set_plain(
        &mut self,
        local: bool,
        name: &str,
        value: Option<&str>,
    ) -> SqlResult<()> {
        if self.host.is_restricted() {
            refuse_restricted(name)?;
        }
        self.remember_settings();
        if local {
            if self.mode != Mode::Explicit {
                self.warn(
                    SqlState::NO_ACTIVE_SQL_TRANSACTION,
                    "SET LOCAL can only be used in transaction blocks",
                );
                return Ok(());
            }
            let before = self.host.settings.get(name).map(str::to_string);
            self.host.settings.set(name, value)?;
            self.local_settings
                .push((name.to_string(), before.unwrap_or_default()));
            return Ok(());
        }
        self.host.settings.set(name, value)?;
        // It outlives the transaction, whatever was local before.
        self.local_settings.retain(|(local, _)| local != name);
        Ok(())
    }
}
