//! SET ROLE and SET SESSION AUTHORIZATION.
//!
//! Relies on: the catalogue's roles; settings, which go back with the transaction.  Promises: nobody becomes a role that they are no
//! member of; only who has logged in as a superuser becomes somebody else altogether.  Does not: check passwords; the door has.

use super::Session;
use quintet_base::{RoleId, SqlError, SqlResult, SqlState};
use std::sync::Arc;

/// What a routine that runs as its owner may not set.
pub(crate) fn fixed_in_guise(parameter: &str) -> SqlError {
    SqlError::new(
        SqlState::INSUFFICIENT_PRIVILEGE,
        format!("cannot set parameter \"{parameter}\" within security-definer function"),
    )
}

impl Session {
    fn role_named(&mut self, name: &str) -> SqlResult<RoleId> {
        let schema = Arc::clone(self.schema());
        let found = schema.catalog.roles().named(name);
        found.ok_or_else(|| {
            SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("role \"{name}\" does not exist"),
            )
        })
    }

    /// A routine that runs as its owner says nothing of who the session is.
    fn refuse_in_guise(&self, parameter: &str) -> SqlResult<()> {
        match self.host.settings.identity.is_guised() {
            true => Err(fixed_in_guise(parameter)),
            false => Ok(()),
        }
    }

    /// SET ROLE; `None`, and `none`: the session's own.
    pub(super) fn set_role(&mut self, local: bool, name: Option<&str>) -> SqlResult<()> {
        self.refuse_in_guise("role")?;
        let name = name.unwrap_or("none");
        if name != "none" {
            let role = self.role_named(name)?;
            let session = self.host.settings.identity.session();
            if !self.host.schema.catalog.roles().is_member(session, role) {
                return Err(SqlError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied to set role \"{name}\""),
                ));
            }
            self.host.settings.vouch(name, role);
        }
        self.set_plain(local, "role", Some(name))?;
        self.note_identity();
        Ok(())
    }

    /// SET SESSION AUTHORIZATION; `None`: who has logged in.
    pub(super) fn set_session_user(&mut self, local: bool, name: Option<&str>) -> SqlResult<()> {
        self.refuse_in_guise("session_authorization")?;
        if let Some(name) = name {
            let login = self.host.settings.identity.login();
            let is_own = self.host.settings.is_initial("session_authorization", name);
            if !is_own {
                let role = self.role_named(name)?;
                if role != login && !self.host.schema.catalog.roles().is_superuser(login) {
                    return Err(SqlError::new(
                        SqlState::INSUFFICIENT_PRIVILEGE,
                        format!("permission denied to set session authorization \"{name}\""),
                    ));
                }
                self.host.settings.vouch(name, role);
            }
        }
        self.set_plain(local, "session_authorization", name)?;
        // Whatever role had been taken.
        self.set_plain(local, "role", Some("none"))?;
        self.note_identity();
        Ok(())
    }

    fn note_identity(&mut self) {
        let is = self
            .host
            .schema
            .catalog
            .roles()
            .is_superuser(self.host.role());
        self.host.settings.note_superuser(is);
        self.know_objects();
    }
}
