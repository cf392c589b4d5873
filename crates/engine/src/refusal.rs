//! The reasons that all engines share, and what a client is told of each.
//!
//! Relies on: SQLSTATEs that drivers act upon: they retry on 40001 and mostly only on that.
//! Promises: the same reason has the same state and words whichever engine met it; what a second
//! try may cure is 40001 wherever the level leaves the choice.
//! Does not: cover errors of the statement itself (constraints, arithmetic); those are made where
//! they are found.

use quintet_base::{Level, SqlError, SqlState};

/// What a transaction lost to one that committed first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Clash {
    /// Both wrote a row.
    WriteWrite,
    /// The other wrote a row that this one had read.
    ReadWrite,
    /// The other wrote into a range that this one had scanned.
    Phantom,
    /// The other changed the definition of a table.
    Schema,
}

/// Why an engine declined or undid a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Lost to a transaction that committed first.
    Conflict {
        /// At what.
        clash: Clash,
        /// On which table or index, if that is known.
        relation: Option<String>,
    },
    /// Waiting would have closed a ring.
    Deadlock,
    /// NOWAIT met a lock.
    Locked {
        /// On which table, if that is known.
        relation: Option<String>,
    },
    /// Too many wait for the same row.
    TooManyWaiters,
    /// Too many calls wait to be run.
    TooManyCalls {
        /// The bound.
        limit: usize,
    },
    /// The snapshot is older than what is kept.
    SnapshotTooOld,
    /// One transaction wrote more than one may.
    TooLarge {
        /// The bound in bytes.
        limit: usize,
    },
    /// A key that cannot be stored.
    Key {
        /// Its length in bytes.
        bytes: usize,
    },
    /// No disk space for the log or for versions.
    NoRoom {
        /// What the system said.
        reason: String,
    },
    /// The log or the store failed.
    Storage {
        /// What the system said.
        reason: String,
    },
    /// What is stored is not what was written.
    Damaged {
        /// What does not fit.
        reason: String,
    },
    /// The engine is going down.
    Closed,
}

const RETRY: &str = "The transaction might succeed if retried.";

impl Refusal {
    /// The error a client is told, in a transaction of this level.
    pub fn to_sql(&self, level: Level) -> SqlError {
        match self {
            Refusal::Conflict { clash, relation } => conflict(*clash, relation.as_deref()),
            // Drivers and benchmarks retry 40001 only. At READ COMMITTED they expect no 40001, and
            // PostgreSQL's word for this is 40P01.
            Refusal::Deadlock if level == Level::ReadCommitted => {
                SqlError::new(SqlState::DEADLOCK_DETECTED, "deadlock detected").hint(RETRY)
            }
            Refusal::Deadlock => SqlError::new(
                SqlState::SERIALIZATION_FAILURE,
                "could not serialize access due to concurrent update",
            )
            .detail("Waiting for the other transaction would have been a deadlock.")
            .hint(RETRY),
            Refusal::Locked { relation } => SqlError::new(
                SqlState::LOCK_NOT_AVAILABLE,
                match relation {
                    Some(relation) => {
                        format!("could not obtain lock on row in relation \"{relation}\"")
                    }
                    None => "could not obtain lock on row".to_string(),
                },
            ),
            Refusal::TooManyWaiters => SqlError::new(
                SqlState::TOO_MANY_CONNECTIONS,
                "too many transactions wait for the same row",
            )
            .hint("Retry later, or spread the updates over more rows."),
            Refusal::TooManyCalls { limit } => SqlError::new(
                SqlState::TOO_MANY_CONNECTIONS,
                "too many calls wait to be run",
            )
            .detail(format!(
                "No more than {limit} may wait. Nothing of this one was done."
            ))
            .hint("Retry later."),
            Refusal::SnapshotTooOld => SqlError::new(
                SqlState::SERIALIZATION_FAILURE,
                "could not serialize access: the transaction's snapshot is too old",
            )
            .detail("What was committed since is no longer kept for comparison.")
            .hint(RETRY),
            Refusal::TooLarge { limit } => SqlError::new(
                SqlState::OUT_OF_MEMORY,
                "transaction is too large to be held in memory",
            )
            .detail(format!("Its writes exceed {limit} bytes."))
            .hint("Split it into smaller transactions, configure more memory, or fill a table that is empty."),
            Refusal::Key { bytes } => SqlError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("a key of {bytes} bytes cannot be stored"),
            )
            .hint(format!(
                "Keys have 1 to {} bytes.",
                quintet_base::limits::KEY_BYTES_MAX
            )),
            Refusal::NoRoom { reason } => SqlError::new(
                SqlState::DISK_FULL,
                "no space left to store the transaction",
            )
            .detail(sentence(reason))
            .hint("Nothing was changed. Free disk space and retry."),
            Refusal::Storage { reason } => SqlError::new(SqlState::IO_ERROR, reason.clone()),
            Refusal::Damaged { reason } => SqlError::new(SqlState::DATA_CORRUPTED, reason.clone()),
            Refusal::Closed => SqlError::new(
                SqlState::ADMIN_SHUTDOWN,
                "terminating connection due to administrator command",
            ),
        }
    }
}

fn conflict(clash: Clash, relation: Option<&str>) -> SqlError {
    let of = relation.map_or(String::new(), |name| format!(" of relation \"{name}\""));
    let (message, detail) = match clash {
        Clash::WriteWrite => (
            "could not serialize access due to concurrent update".to_string(),
            format!("A row{of} was written by a transaction that committed first."),
        ),
        Clash::ReadWrite => (
            "could not serialize access due to read/write dependencies among transactions"
                .to_string(),
            format!(
                "A row{of} that was read has been written by a transaction that committed first."
            ),
        ),
        Clash::Phantom => (
            "could not serialize access due to read/write dependencies among transactions"
                .to_string(),
            format!(
                "A range{of} that was scanned has been written by a transaction that committed first."
            ),
        ),
        Clash::Schema => (
            "could not serialize access: table definition changed".to_string(),
            format!("The definition{of} was changed by a transaction that committed first."),
        ),
    };
    SqlError::new(SqlState::SERIALIZATION_FAILURE, message)
        .detail(detail)
        .hint(RETRY)
}

/// Details are whole sentences; reasons come as lower-case lines.
fn sentence(reason: &str) -> String {
    let mut chars = reason.chars();
    let first = chars.next().map(char::to_uppercase);
    first
        .into_iter()
        .flatten()
        .chain(chars)
        .chain(['.'])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_retry_may_cure_says_so_and_carries_a_state_that_drivers_retry() {
        let clashes = [
            Clash::WriteWrite,
            Clash::ReadWrite,
            Clash::Phantom,
            Clash::Schema,
        ];
        for clash in clashes {
            for level in Level::ALL {
                let error = Refusal::Conflict {
                    clash,
                    relation: None,
                }
                .to_sql(level);
                assert_eq!(error.state, SqlState::SERIALIZATION_FAILURE, "{clash:?}");
                assert_eq!(error.hint.as_deref(), Some(RETRY), "{clash:?}");
            }
        }
        assert!(
            Refusal::SnapshotTooOld
                .to_sql(Level::Snapshot)
                .state
                .is_retryable()
        );
        assert!(
            !Refusal::TooLarge { limit: 1 }
                .to_sql(Level::Snapshot)
                .state
                .is_retryable()
        );
    }

    #[test]
    fn a_deadlock_is_a_serialization_failure_above_read_committed() {
        let state = |level| Refusal::Deadlock.to_sql(level).state;
        assert_eq!(state(Level::ReadCommitted), SqlState::DEADLOCK_DETECTED);
        assert_eq!(state(Level::Snapshot), SqlState::SERIALIZATION_FAILURE);
        assert_eq!(state(Level::Serializable), SqlState::SERIALIZATION_FAILURE);
    }

    #[test]
    fn messages_name_the_relation_when_it_is_known() {
        let locked = Refusal::Locked {
            relation: Some("t".into()),
        }
        .to_sql(Level::ReadCommitted);
        assert_eq!(
            locked.message,
            "could not obtain lock on row in relation \"t\""
        );
        let refusal = Refusal::Conflict {
            clash: Clash::Phantom,
            relation: Some("t".into()),
        };
        let detail = refusal.to_sql(Level::Serializable).detail.clone().unwrap();
        assert!(
            detail.starts_with("A range of relation \"t\" that was scanned"),
            "{detail}"
        );
        let full = Refusal::NoRoom {
            reason: "the disk is full".into(),
        }
        .to_sql(Level::Snapshot);
        assert_eq!(full.detail.as_deref(), Some("The disk is full."));
    }
}
