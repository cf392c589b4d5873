//! Isolation levels a transaction may ask for, weakest first.
//!
//! Relies on: nothing.  Promises: `Ord` is "at least as strong as".  Does not: say what a level
//! costs; see `docs/contracts/engine.md` for what each level forbids.

use crate::error::{SqlError, SqlState};
use std::fmt;

/// What a transaction is protected from (design §7). The order is from weak to strong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Level {
    /// Each statement sees what was committed when it began. SQL's READ COMMITTED (and
    /// READ UNCOMMITTED, as in PostgreSQL).
    #[default]
    ReadCommitted,
    /// One snapshot for the whole transaction, first committer wins. SQL's REPEATABLE READ.
    Snapshot,
    /// The outcome is that of some serial order: snapshot plus validation of all that was read.
    Serializable,
}

/// What READ COMMITTED is called where it was asked for so.
const UNCOMMITTED: &str = "read uncommitted";

impl Level {
    /// All levels on offer, weakest first.
    pub const ALL: [Level; 3] = [Level::ReadCommitted, Level::Snapshot, Level::Serializable];

    /// As `SHOW transaction_isolation` prints it.
    pub fn sql_name(self) -> &'static str {
        match self {
            Level::ReadCommitted => "read committed",
            Level::Snapshot => "repeatable read",
            Level::Serializable => "serializable",
        }
    }

    /// Whether a text that is a level is READ UNCOMMITTED, which runs as READ COMMITTED and keeps its name.
    pub fn is_uncommitted(text: &str) -> bool {
        let plain = |c: char| if matches!(c, '_' | '-') { ' ' } else { c };
        let name: String = text.trim().chars().map(plain).collect();
        name.eq_ignore_ascii_case(UNCOMMITTED)
    }

    /// As `SHOW transaction_isolation` prints it, where READ UNCOMMITTED was asked for or not.
    pub fn shown_name(self, uncommitted: bool) -> &'static str {
        match self {
            Level::ReadCommitted if uncommitted => UNCOMMITTED,
            level => level.sql_name(),
        }
    }

    /// Reads a level by its SQL or Quintet name, ignoring case.
    ///
    /// # Errors
    /// `22023` for a name that is no level, `0A000` for one that is planned but not offered.
    pub fn parse(text: &str) -> Result<Level, SqlError> {
        // As sessions keep it, which ask at the beginning of each transaction.
        match text {
            "read committed" => return Ok(Level::ReadCommitted),
            "serializable" => return Ok(Level::Serializable),
            _ => {}
        }
        let name: String = text
            .trim()
            .chars()
            .map(|c| {
                if c == '_' || c == '-' {
                    ' '
                } else {
                    c.to_ascii_lowercase()
                }
            })
            .collect();
        match name.as_str() {
            "read committed" | UNCOMMITTED => Ok(Level::ReadCommitted),
            "repeatable read" | "snapshot" => Ok(Level::Snapshot),
            "serializable" => Ok(Level::Serializable),
            "mav" | "monotonic atomic view" | "psi" => Err(SqlError::unsupported(format!(
                "isolation level \"{name}\" on a single site"
            ))
            .hint("Use read committed, snapshot (repeatable read) or serializable.")),
            _ => Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid isolation level: \"{text}\""),
            )
            .hint("Available levels: read committed, repeatable read (snapshot), serializable.")),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sql_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_order_is_strength() {
        for level in Level::ALL {
            assert_eq!(Level::parse(level.sql_name()).unwrap(), level);
        }
        assert!(Level::ReadCommitted < Level::Snapshot && Level::Snapshot < Level::Serializable);
        assert_eq!(Level::parse("REPEATABLE_READ").unwrap(), Level::Snapshot);
        assert_eq!(
            Level::parse("psi").unwrap_err().state,
            SqlState::FEATURE_NOT_SUPPORTED
        );
        assert_eq!(
            Level::parse("chaos").unwrap_err().state,
            SqlState::INVALID_PARAMETER_VALUE
        );
    }
}
