//! Whose session it is.
//!
//! Relies on: `Settings::check`, which changes it with `role` and `session_authorization`.  Promises: only roles that the
//! session has looked up.  Does not: look them up.

use quintet_base::RoleId;
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Who has logged in.
    pub(super) login: RoleId,
    /// session_user.
    pub(super) session: RoleId,
    /// SET ROLE.
    pub(super) taken: Option<RoleId>,
    /// The owner of the SECURITY DEFINER routine that is running, and what he is called.
    pub(super) guise: Option<(RoleId, String)>,
    /// Roles that the session has looked up for SET ROLE and SET SESSION AUTHORIZATION.
    pub(super) found: BTreeMap<String, RoleId>,
}

impl Identity {
    /// Of whom has logged in.
    pub(super) fn new(name: &str, login: RoleId) -> Identity {
        Identity {
            login,
            session: login,
            taken: None,
            guise: None,
            found: BTreeMap::from([(name.to_string(), login)]),
        }
    }

    pub fn login(&self) -> RoleId {
        self.login
    }

    pub fn session(&self) -> RoleId {
        self.session
    }

    /// Whether a routine runs as its owner.
    pub fn is_guised(&self) -> bool {
        self.guise.is_some()
    }

    /// Who runs statements.
    pub fn current(&self) -> RoleId {
        match &self.guise {
            Some((role, _)) => *role,
            None => self.taken.unwrap_or(self.session),
        }
    }
}
