//! Settings that a routine has of its own while it runs, and its owner's role.
//!
//! Relies on: `Settings::set`.  Promises: what was there before is there again when the guise is taken off, and the client is
//! told of neither; what else was set meanwhile stays.  Does not: look at who may put on what; who made the routine was
//! looked at.

use super::{STEER_PLANS, Settings};
use quintet_base::{RoleId, SqlResult};
use quintet_ir::Guise;

/// What is under a guise.
pub(crate) struct Under {
    values: Vec<(String, Option<String>)>,
    role: Option<(RoleId, String)>,
    triggers: usize,
    path_version: u64,
    changed: usize,
}

impl Settings {
    /// Puts on the guises of routines, the innermost last; `name` says what a role is called.
    ///
    /// # Errors
    /// As [`Settings::set`]; nothing is put on then.
    pub fn put_on(
        &mut self,
        guises: &[&Guise],
        name: impl Fn(RoleId) -> String,
    ) -> SqlResult<Under> {
        let mut under = Under {
            values: Vec::new(),
            role: self.identity.guise.clone(),
            triggers: self.triggers,
            path_version: self.path_version,
            changed: self.changed.len(),
        };
        self.triggers += guises.iter().filter(|guise| guise.trigger).count();
        for guise in guises {
            if let Some(role) = guise.role {
                self.identity.guise = Some((role, name(role)));
            }
            for (setting, value) in &guise.settings {
                let before = self.values.get(setting).cloned();
                if let Err(error) = self.set(setting, Some(value)) {
                    self.take_off(under);
                    return Err(error);
                }
                under.values.push((setting.clone(), before));
            }
        }
        Ok(under)
    }

    /// Takes them off again.
    pub fn take_off(&mut self, under: Under) {
        for (name, before) in under.values.into_iter().rev() {
            // It was its value before, or its default.
            let _ = self.set(&name, before.as_deref());
            if STEER_PLANS.contains(&&*name) {
                self.path_version = under.path_version;
            }
        }
        self.identity.guise = under.role;
        self.triggers = under.triggers;
        self.changed.truncate(under.changed);
    }
}
