//! Statements that a session keeps prepared, by their text.
//!
//! Relies on: the pipeline tells what became of each Parse and Close.  Promises: no more than
//! [`REPLICA_STATEMENTS_MAX`] are kept, the least recently used go; a name is never used twice, so a statement of which it is not
//! certain whether the server has it does no harm.  Does not: send anything.

use hashbrown::{Equivalent, HashMap};
use quintet_base::limits::REPLICA_STATEMENTS_MAX;

/// A statement's name at the server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StatementId(u64);

impl StatementId {
    /// As the messages have it.
    pub fn name(self) -> String {
        format!("q{}", self.0)
    }
}

#[derive(PartialEq, Eq, Hash, Debug)]
struct Key {
    text: Box<str>,
    types: Box<[u32]>,
}

#[derive(Hash)]
struct Asked<'a> {
    text: &'a str,
    types: &'a [u32],
}

impl Equivalent<Key> for Asked<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        *self.text == *key.text && *self.types == *key.types
    }
}

#[derive(Debug)]
struct Entry {
    id: StatementId,
    used: u64,
}

/// What a session has prepared.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    known: HashMap<Key, Entry, foldhash::fast::FixedState>,
    /// Those that went, and of which the server was not told.
    closing: Vec<StatementId>,
    clock: u64,
}

/// Where a statement is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// At the server.
    There(StatementId),
    /// Not yet: it has to be parsed under this name.
    New(StatementId),
}

impl Statements {
    /// The name of a statement. A new one counts as there; if it fails, [`Statements::forget`].
    pub fn find(&mut self, text: &str, types: &[u32]) -> Place {
        self.clock += 1;
        let clock = self.clock;
        if let Some(entry) = self.known.get_mut(&Asked { text, types }) {
            entry.used = clock;
            return Place::There(entry.id);
        }
        if self.known.len() >= REPLICA_STATEMENTS_MAX {
            self.evict();
        }
        let id = StatementId(clock);
        let key = Key {
            text: text.into(),
            types: types.into(),
        };
        self.known.insert(key, Entry { id, used: clock });
        Place::New(id)
    }

    /// A look at all of them: this happens only when a text comes that is not known.
    fn evict(&mut self) {
        let oldest = self.known.values().min_by_key(|entry| entry.used);
        if let Some(id) = oldest.map(|entry| entry.id) {
            self.forget(id);
            self.closing.push(id);
        }
    }

    /// The server does not have it.
    pub fn forget(&mut self, id: StatementId) {
        self.known.retain(|_, entry| entry.id != id);
    }

    /// The server has none.
    pub fn clear(&mut self) {
        self.known.clear();
        self.closing.clear();
    }

    /// Those that the server is to be told of now.
    pub fn take_closing(&mut self) -> Vec<StatementId> {
        std::mem::take(&mut self.closing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_prepared_once_for_the_same_types() {
        let mut statements = Statements::default();
        let Place::New(first) = statements.find("select $1", &[23]) else {
            panic!("it cannot be there");
        };
        assert_eq!(statements.find("select $1", &[23]), Place::There(first));
        assert!(matches!(statements.find("select $1", &[25]), Place::New(_)));
        statements.forget(first);
        assert!(matches!(statements.find("select $1", &[23]), Place::New(id) if id != first));
    }

    #[test]
    fn the_least_recently_used_goes_when_there_are_too_many() {
        let mut statements = Statements::default();
        for number in 0..REPLICA_STATEMENTS_MAX {
            statements.find(&number.to_string(), &[]);
        }
        let Place::There(first) = statements.find("0", &[]) else {
            panic!("there is room for it");
        };
        statements.find("one more", &[]);
        assert_eq!(statements.known.len(), REPLICA_STATEMENTS_MAX);
        assert_eq!(statements.find("0", &[]), Place::There(first));
        assert_eq!(statements.take_closing().len(), 1);
        assert!(statements.take_closing().is_empty());
        assert!(matches!(statements.find("1", &[]), Place::New(_)));
    }
}
