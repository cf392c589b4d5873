//! The portals of a session by name.
//!
//! Relies on: nothing.  Promises: the unnamed one, which almost every statement of a client is run by, is found without a
//! look into a map.  Does not: know what a name may mean (`extended`, `cursors`).

use super::portal::Portal;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// See the module.
#[derive(Default)]
pub(super) struct Portals {
    /// That of the name "".
    unnamed: Option<Portal>,
    named: HashMap<String, Portal, RandomState>,
}

impl Portals {
    /// The portal of a name.
    pub fn get(&self, name: &str) -> Option<&Portal> {
        match name {
            "" => self.unnamed.as_ref(),
            name => self.named.get(name),
        }
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Portal> {
        match name {
            "" => self.unnamed.as_mut(),
            name => self.named.get_mut(name),
        }
    }

    /// Whether a name has a portal.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Puts a portal in the place of the one that the name has, if it has one.
    pub fn put(&mut self, name: &str, portal: Portal) {
        match self.get_mut(name) {
            Some(old) => *old = portal,
            None => self.put_back(name.to_string(), portal),
        }
    }

    /// Takes a portal out, with its name.
    pub fn take(&mut self, name: &str) -> Option<(String, Portal)> {
        match name {
            "" => self.unnamed.take().map(|portal| (String::new(), portal)),
            name => self.named.remove_entry(name),
        }
    }

    /// Puts back what was taken out.
    pub fn put_back(&mut self, name: String, portal: Portal) {
        if name.is_empty() {
            self.unnamed = Some(portal);
        } else {
            self.named.insert(name, portal);
        }
    }

    /// Whether there is one like this.
    pub fn any(&self, mut is_one: impl FnMut(&Portal) -> bool) -> bool {
        self.unnamed
            .iter()
            .chain(self.named.values())
            .any(&mut is_one)
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
    }

    /// Forgets those that are not to be kept.
    pub fn retain(&mut self, kept: impl Fn(&Portal) -> bool) {
        self.unnamed.take_if(|portal| !kept(portal));
        if !self.named.is_empty() {
            self.named.retain(|_, portal| kept(portal));
        }
    }
}
