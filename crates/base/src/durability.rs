//! When a commit is answered, relative to the log reaching the disk.
//!
//! Relies on: nothing.  Promises: names as the configuration writes them.  Does not: sync anything.

use crate::error::{SqlError, SqlState};
use std::fmt;

/// What an acknowledged commit survives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Durability {
    /// The log is handed to the operating system in the background and never synced: survives
    /// a crash of the process at best. For tests, caches and loads that can be repeated.
    None,
    /// Answered at once, synced within [`crate::limits::ASYNC_FLUSH_INTERVAL_MS`]: a crash of the
    /// machine may lose that much, but never a part of a transaction.
    Async,
    /// Answered after the log holding the commit has been synced. Survives power loss.
    #[default]
    Sync,
}

impl Durability {
    /// As the configuration writes it.
    pub fn name(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Async => "async",
            Durability::Sync => "sync",
        }
    }

    /// Reads a configured name.
    ///
    /// # Errors
    /// `22023` for anything but `sync`, `async`, `none`.
    pub fn parse(text: &str) -> Result<Durability, SqlError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "none" => Ok(Durability::None),
            "async" => Ok(Durability::Async),
            "sync" => Ok(Durability::Sync),
            _ => Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid durability: \"{text}\""),
            )
            .hint("Available values: sync, async, none.")),
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
