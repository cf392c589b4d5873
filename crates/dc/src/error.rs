//! What can go wrong in a store.
//!
//! Relies on: nothing.  Promises: a full disk is told apart from a broken one, since the caller
//! waits after the first and stops after the second.  Does not: log.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// An error of a data component.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no space left. Nothing stored is lost; what was asked may have been done in part
    /// and can be asked again, whole, once there is space.
    #[error("the store's disk is full")]
    DiskFull {
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The system failed to read or write. What was asked may have been done in part.
    #[error("the store could not {doing} {}", path.display())]
    Io {
        /// A verb: `read`, `write`, `sync` …
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// What is stored is not what was written: a checksum or a format does not fit.
    #[error("the store at {} is damaged: {what}", path.display())]
    Damaged {
        /// Where.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// The directory was written by a version of Quintet that this one does not know.
    #[error("the store at {} has format {found}, this version reads {known}", path.display())]
    Format {
        /// Where.
        path: PathBuf,
        /// The version found.
        found: u32,
        /// The version this program reads and writes.
        known: u32,
    },
    /// Another process, or another handle of this one, has the store open.
    #[error("the store at {} is in use", path.display())]
    InUse {
        /// Where.
        path: PathBuf,
    },
    /// A key or a value longer than any store takes.
    #[error("{bytes} bytes exceed the {limit} that a key or value may have in the store")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// The error for a failed system call, with a full disk told apart.
    pub fn io(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Error {
        let source = Arc::new(source);
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull { source },
            _ => Error::Io {
                doing,
                path: path.into(),
                source,
            },
        }
    }

    /// True if the same request may succeed later without anybody repairing anything but the
    /// amount of free space.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Error::DiskFull { .. })
    }
}
