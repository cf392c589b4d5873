//! The values that a session's settings have, by name; and what those say that each statement asks for.
//!
//! Relies on: values that are written as SHOW has them.  Promises: a value changes here and nowhere else, so what the
//! often asked ones say is never older than their text.  Does not: check values, or know defaults.

use quintet_base::Level;
use std::collections::BTreeMap;
use std::ops::Deref;

/// Settings whose values each statement, or each commit, asks for.
const OFTEN: [&str; 4] = [
    "default_transaction_isolation",
    "default_transaction_read_only",
    "quintet.group_reads",
    "synchronous_commit",
];

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    by_name: BTreeMap<String, String>,
    often: Often,
}

/// What the often asked settings say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Often {
    /// `default_transaction_isolation`.
    pub level: Level,
    /// It is called READ UNCOMMITTED.
    pub uncommitted: bool,
    /// `default_transaction_read_only`.
    pub read_only: bool,
    /// `quintet.group_reads`; where nobody has said anything, reads are announced.
    pub reads_ahead: bool,
    /// `synchronous_commit` is off: commits are answered before they are durable.
    pub answers_early: bool,
}

impl Often {
    fn of(values: &BTreeMap<String, String>) -> Often {
        let [level, read_only, group_reads, synchronous] =
            OFTEN.map(|name| values.get(name).map(String::as_str));
        Often {
            level: level
                .and_then(|level| Level::parse(level).ok())
                .unwrap_or_default(),
            uncommitted: level.is_some_and(Level::is_uncommitted),
            read_only: read_only == Some("on"),
            reads_ahead: group_reads.is_none_or(|value| value == "on"),
            answers_early: synchronous == Some("off"),
        }
    }
}

impl Held {
    /// The values that a session begins with.
    pub fn new(values: impl Iterator<Item = (String, String)>) -> Held {
        let by_name = values.collect();
        Held {
            often: Often::of(&by_name),
            by_name,
        }
    }

    /// What the often asked settings say now.
    pub fn often(&self) -> &Often {
        &self.often
    }

    /// A setting has this value from now on.
    pub fn insert(&mut self, name: String, value: String) {
        let is_often = OFTEN.contains(&&*name);
        self.by_name.insert(name, value);
        if is_often {
            self.often = Often::of(&self.by_name);
        }
    }

    /// A setting has no value of its own any more.
    pub fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
        if OFTEN.contains(&name) {
            self.often = Often::of(&self.by_name);
        }
    }
}

/// To look at.
impl Deref for Held {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &BTreeMap<String, String> {
        &self.by_name
    }
}
