//! How a transaction ends, and how a statement stops.
//!
//! Relies on: `SqlError`.  Promises: unknown is an answer of its own, never a kind of failure.
//! Does not: say why in more than the error's words.

use quintet_base::{SqlError, SqlState, Timestamp};

/// How a transaction ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// It took place, here in the order of commits.
    Committed(Timestamp),
    /// It was declined before it began; nothing happened.
    Refused(SqlError),
    /// It began and was undone; nothing of it remains.
    Aborted(SqlError),
    /// Whether it took place can not be told from here.
    Unknown(SqlError),
}

impl Outcome {
    /// The outcome of a transaction that had begun and met this error.
    pub fn of_error(error: SqlError) -> Outcome {
        if error.state == SqlState::STATEMENT_COMPLETION_UNKNOWN {
            Outcome::Unknown(error)
        } else {
            Outcome::Aborted(error)
        }
    }

    /// The error, unless it committed.
    pub fn error(&self) -> Option<&SqlError> {
        match self {
            Outcome::Committed(_) => None,
            Outcome::Refused(error) | Outcome::Aborted(error) | Outcome::Unknown(error) => {
                Some(error)
            }
        }
    }
}

/// Why a statement gave no answer (yet). `W` is what the engine waits with.
#[derive(Debug)]
pub enum Stop<W> {
    /// Another transaction is in the way. Nothing of the statement remains; when the wait is over,
    /// ask again.
    Blocked(W),
    /// A call wants what it has done so far to be committed, and to go on in another transaction: lend it that,
    /// and ask again.
    Commit,
    /// A call has come to a statement that whoever runs it has to plan.
    Ask,
    /// The statement failed. Nothing of it remains; the transaction may go on only from a savepoint.
    Error(SqlError),
}

impl<W> From<SqlError> for Stop<W> {
    fn from(error: SqlError) -> Stop<W> {
        Stop::Error(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_commit_is_never_called_aborted() {
        let unknown = SqlError::new(SqlState::STATEMENT_COMPLETION_UNKNOWN, "lost");
        assert!(matches!(Outcome::of_error(unknown), Outcome::Unknown(_)));
        let failed = SqlError::new(SqlState::SERIALIZATION_FAILURE, "conflict");
        let outcome = Outcome::of_error(failed.clone());
        assert_eq!(outcome.error(), Some(&failed));
        assert!(matches!(outcome, Outcome::Aborted(_)));
        assert_eq!(Outcome::Committed(Timestamp(1)).error(), None);
    }
}
