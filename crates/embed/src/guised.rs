//! A session as it is in the guises of the routines that run: SECURITY DEFINER, and SET for a function.
//!
//! Relies on: `host` for the session, `settings::guise` for what a guise is.  Promises: privileges are those of the innermost
//! routine that has an owner's, settings those of all of them; what belongs to the session is its own.  Does not: end
//! transactions: such a routine may not.

use crate::host::{SessionHost, plan_here};
use crate::session::fixed_in_guise;
use crate::settings::{Settings, refuse_restricted};
use quintet_base::text_format::FormatContext;
use quintet_base::{RoleId, SequenceId, SqlError, SqlResult, SqlType, TableId};
use quintet_ir::dynamic::Planned;
use quintet_ir::{Guise, Host, Need, ask_the_session};
use quintet_sql::command::Notice;
use quintet_sql::{PlanContext, RowSecurity, Who};

/// See the module.
pub(crate) struct Guised<'h> {
    host: &'h SessionHost,
    guises: Vec<Guise>,
    role: RoleId,
    /// What the role is called, if it is not the session's.
    name: Option<String>,
    /// If they are not the session's.
    settings: Option<Box<Settings>>,
}

impl<'h> Guised<'h> {
    /// The innermost guise is the last.
    ///
    /// # Errors
    /// What a setting's value is refused with.
    pub fn new(host: &'h SessionHost, guises: &[&Guise]) -> SqlResult<Guised<'h>> {
        let role = guises.iter().rev().find_map(|guise| guise.role);
        let settings = match guises.iter().all(|guise| guise.settings.is_empty()) {
            true => None,
            false => {
                let mut own = Box::new(host.settings.clone());
                own.put_on(guises, |role| host.role_name(role))?;
                Some(own)
            }
        };
        Ok(Guised {
            host,
            guises: guises.iter().copied().cloned().collect(),
            role: role.unwrap_or_else(|| host.role()),
            name: role.map(|role| host.role_name(role)),
            settings,
        })
    }

    fn settings(&self) -> &Settings {
        self.settings.as_deref().unwrap_or(&self.host.settings)
    }
}

impl Host for Guised<'_> {
    fn format(&self) -> &FormatContext {
        &self.settings().format
    }

    fn setting(&self, name: &str) -> Option<String> {
        match self.host.of_transaction(name) {
            Some(value) => Some(value.to_string()),
            None => self.settings().get(name).map(str::to_string),
        }
    }

    fn set_setting(&self, name: &str, value: &str, local: bool) -> SqlResult<String> {
        let identity = ["role", "session_authorization"];
        let identity = identity
            .into_iter()
            .find(|one| name.eq_ignore_ascii_case(one));
        if let Some(name) = identity.filter(|_| self.name.is_some()) {
            return Err(fixed_in_guise(name));
        }
        if self.is_restricted() {
            refuse_restricted(name)?;
        }
        self.host.set_setting(name, value, local)
    }

    fn user(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.host.user())
    }

    fn role(&self) -> RoleId {
        self.role
    }

    fn is_restricted(&self) -> bool {
        !self.host.schema.catalog.roles().is_superuser(self.role)
    }

    fn is_replica(&self) -> bool {
        self.settings().is_replica
    }

    fn hides_rows(&self, table: TableId, role: Option<RoleId>) -> SqlResult<bool> {
        let role = role.unwrap_or(self.role);
        let shown = self.settings().shows_rows();
        self.host.schema.catalog.hides_rows(table, role, shown)
    }

    fn is_one_of(&self, roles: &[RoleId]) -> bool {
        self.host.schema.catalog.roles().is_one_of(self.role, roles)
    }

    fn allow(&self, needs: &[Need]) -> SqlResult<()> {
        match self.role {
            RoleId::BOOTSTRAP => Ok(()),
            role => self.host.schema.catalog.allow(role, needs),
        }
    }

    fn guised<'h>(&'h self, guises: &[&Guise]) -> SqlResult<Box<dyn Host + 'h>> {
        let all: Vec<&Guise> = self.guises.iter().chain(guises.iter().copied()).collect();
        Ok(Box::new(Guised::new(self.host, &all)?))
    }

    fn plan(&self, text: &str, types: &[SqlType]) -> SqlResult<Planned> {
        let settings = self.settings();
        let context = self.host.plan_context(&self.host.schema.catalog);
        let user = Who {
            role: self.role,
            rows: match settings.shows_rows() {
                true => RowSecurity::On,
                false => RowSecurity::Off,
            },
            ..context.user
        };
        let context = PlanContext {
            schema: settings.path(),
            user,
            format: &settings.format,
            ..context
        };
        plan_here(&context, text, types)
    }

    fn schema(&self) -> &str {
        self.host.schema()
    }

    fn nextval(&self, sequence: SequenceId) -> SqlResult<i64> {
        self.host.nextval_as(self.role, sequence)
    }

    fn currval(&self, sequence: SequenceId) -> SqlResult<i64> {
        self.host.currval_as(self.role, sequence)
    }

    fn lastval(&self) -> SqlResult<i64> {
        self.host.lastval_as(self.role)
    }

    fn setval(&self, sequence: SequenceId, value: i64, is_called: bool) -> SqlResult<i64> {
        self.host.setval_as(self.role, sequence, value, is_called)
    }

    fn notice(&self, severity: &'static str, message: SqlError) {
        if self.settings().wants(severity) {
            self.host
                .notices
                .borrow_mut()
                .push(Notice { severity, message });
        }
    }

    fn reads_ahead(&self) -> bool {
        self.host.reads_ahead()
    }

    fn statement_memory(&self) -> usize {
        self.settings().work_mem()
    }

    fn is_alone(&self) -> bool {
        false
    }

    fn trigger_depth(&self) -> usize {
        let own = self.guises.iter().filter(|guise| guise.trigger);
        self.host.trigger_depth() + own.count()
    }

    ask_the_session!();
}
