//! Backups: everything that was committed up to one log position, as files that say whether they are whole.
//!
//! Relies on: `tc` (`Tc::settled`): a generation of STORE that never changes and holds exactly the commits up to
//! its position.  Promises: writers go on while one is taken, and hold back nothing for it; memory is bounded by
//! the longest record; what is not whole never looks whole, neither a backup nor what is restored from it.
//! Does not: copy the log, or files of STORE: records are what both formats outlive (decision 38).
//!
//! ```text
//!   Backup::begin ─► header ─► next_frame … next_frame ─► totals        from a database, or its rows over a wire
//!        Writer::begin ──────────► frame … frame ───────► finish        DIR.part/ ─► synced ─► DIR/
//!                                                       restore         DIR/ ─► STORE, and a log that begins there
//! ```
//!
//! The directory of a backup:
//!
//! | name | what it is |
//! |---|---|
//! | `records-0000` … | frames, one behind the other (`frame`), at most about 256 MiB in each |
//! | `MANIFEST` | text, see [`manifest`]; what is not listed there does not belong to it |
//!
//! | file | what it holds |
//! |---|---|
//! | `frame` | the bytes of a frame |
//! | `manifest` | [`Header`], [`Totals`], the manifest's text |
//! | `source` | [`Backup`]: frames out of a generation |
//! | `writer` | [`Writer`]: frames into a directory |
//! | `reader` | frames out of a directory, checked |
//! | `replay` | kept log onto what was restored |
//! | `restore` | [`restore`]: a directory that can be opened |

mod frame;
pub mod manifest;
mod reader;
mod replay;
mod restore;
mod source;
mod writer;

#[cfg(test)]
mod tests;

pub use manifest::{Header, Totals};
pub use replay::{Replay, Replayed, Until};
pub use restore::{RestoreConfig, Restored, restore};
pub use source::Backup;
pub use writer::Writer;

use std::path::PathBuf;

/// Why a backup could not be taken, written, read or restored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was committed could not be moved into STORE.
    #[error("what was committed cannot be moved into the store: {0}")]
    Unsettled(#[from] quintet_tc::PostFailure),
    /// STORE cannot be read, or written.
    #[error("the store cannot be used")]
    Store(#[from] quintet_dc::Error),
    /// The operating system.
    #[error("a file cannot be used")]
    Disk(#[from] quintet_rt::Error),
    /// The log.
    #[error("the log cannot be made")]
    Log(#[from] quintet_wal::Error),
    /// The directory that is to be made, or filled, has something in it.
    #[error("{} is there already, and not empty", .0.display())]
    NotEmpty(PathBuf),
    /// Another process works on it.
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// Not what was written, or not all of it.
    #[error("the backup is damaged ({}): {what}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// No backup, or one of another version.
    #[error("{} is no backup that this program reads: {what}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// What it says, or lacks.
        what: String,
    },
    /// The log that is to be replayed has something that is no commit.
    #[error("the kept log cannot be read")]
    Commit(#[from] quintet_tc::Error),
    /// The backup has commits that come after the moment that is wanted.
    #[error("the backup is of a later moment, position {position}")]
    Before {
        /// Of the backup.
        position: quintet_base::Lsn,
    },
    /// The kept log does not reach the moment that is wanted.
    #[error("the kept log ends at position {end}{}", gap(*.goes_on_at))]
    Short {
        /// Where its last commit ends.
        end: quintet_base::Lsn,
        /// Where it goes on, if some is missing in between.
        goes_on_at: Option<quintet_base::Lsn>,
    },
    /// Frames came in another order, or the stream ended early.
    #[error("the backup that came is not whole: {0}")]
    Stream(String),
}

fn gap(goes_on_at: Option<quintet_base::Lsn>) -> String {
    goes_on_at.map_or_else(String::new, |at| format!(", and goes on at {at}"))
}
