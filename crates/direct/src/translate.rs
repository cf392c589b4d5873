//! The transaction component's errors in SQL's words.
//!
//! Relies on: `quintet_engine::Refusal` for states and texts.  Promises: an error after which a
//! second try may succeed says so; a poisoned log is told apart from a full disk.
//! Does not: turn an unknown outcome into anything (a commit's outcome is known to the caller of
//! `commit`, who waits for the log).

use crate::context::Halt;
use quintet_base::error::with_causes;
use quintet_base::{Level, SpaceId, SqlError};
use quintet_engine::{Clash, Refusal};
use quintet_tc::{ConflictKind, Error};

/// The error a client is told when an operation or a commit was refused. `names` says which table
/// or index a space belongs to, if that is known.
pub fn translate(
    error: Error,
    level: Level,
    names: &dyn Fn(SpaceId) -> Option<String>,
) -> SqlError {
    match refusal(error, names) {
        Some(refusal) => refusal.to_sql(level),
        None => SqlError::internal("a wait came where none can be met"),
    }
}

/// What an error met at a relation means for the statement.
pub(crate) fn halt(error: Error, level: Level, relation: &str) -> Halt {
    match error {
        Error::Blocked(wait) => Halt::Blocked(wait),
        Error::Stale => Halt::Stale,
        error => Halt::Error(translate(error, level, &|_| Some(relation.to_string()))),
    }
}

/// `None` for what is no refusal: the caller waits or starts over.
fn refusal(error: Error, names: &dyn Fn(SpaceId) -> Option<String>) -> Option<Refusal> {
    Some(match error {
        Error::Blocked(_) | Error::Stale => return None,
        Error::Conflict { kind, space, .. } => Refusal::Conflict {
            clash: clash(kind),
            relation: names(space),
        },
        Error::Deadlock => Refusal::Deadlock,
        // `tc` does not say which row; whoever asked for the lock knows the relation.
        Error::Locked => Refusal::Locked {
            relation: names(SpaceId::default()),
        },
        Error::TooManyWaiters => Refusal::TooManyWaiters,
        Error::SnapshotTooOld => Refusal::SnapshotTooOld,
        Error::TooLarge { limit } => Refusal::TooLarge { limit },
        Error::Key { bytes } => Refusal::Key { bytes },
        Error::NoRoom { reason } => Refusal::NoRoom { reason },
        Error::PostFailed { .. } => Refusal::Storage {
            reason: with_causes(&error),
        },
        Error::Log(error) => log_refusal(&error),
        Error::Store(error) => store_refusal(&error),
        Error::Closed => Refusal::Closed,
        Error::Record { .. } => Refusal::Damaged {
            reason: with_causes(&error),
        },
    })
}

/// A conflict in the engines' common words.
fn clash(kind: ConflictKind) -> Clash {
    match kind {
        ConflictKind::WriteWrite => Clash::WriteWrite,
        ConflictKind::ReadWrite => Clash::ReadWrite,
        ConflictKind::Phantom => Clash::Phantom,
        ConflictKind::Schema => Clash::Schema,
    }
}

fn log_refusal(error: &quintet_wal::Error) -> Refusal {
    use quintet_wal::Error as Log;
    match error {
        Log::DiskFull { .. } => Refusal::NoRoom {
            reason: with_causes(error),
        },
        Log::Damaged { .. } => Refusal::Damaged {
            reason: with_causes(error),
        },
        Log::Closed => Refusal::Closed,
        _ => Refusal::Storage {
            reason: with_causes(error),
        },
    }
}

fn store_refusal(error: &quintet_dc::Error) -> Refusal {
    use quintet_dc::Error as Store;
    match error {
        Store::DiskFull { .. } => Refusal::NoRoom {
            reason: with_causes(error),
        },
        Store::Damaged { .. } | Store::Format { .. } => Refusal::Damaged {
            reason: with_causes(error),
        },
        Store::Closed => Refusal::Closed,
        _ => Refusal::Storage {
            reason: with_causes(error),
        },
    }
}
