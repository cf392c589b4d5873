//! The fault of the outside world: which operation, on which path, and what the system said.
//!
//! Relies on: nothing.  Promises: a full disk can be told from every other fault.
//! Does not: decide what a fault means; whoever called does.

use std::io;
use std::path::{Path, PathBuf};

/// A call to the operating system that failed.
#[derive(Debug, thiserror::Error)]
#[error("{operation} failed on {}", path.display())]
pub struct Error {
    /// What was asked for: `open`, `write`, `sync`.
    pub operation: &'static str,
    /// The file or directory it was asked of.
    pub path: PathBuf,
    /// What the system answered.
    pub source: io::Error,
}

impl Error {
    /// An error of `operation` on `path`.
    pub fn new(operation: &'static str, path: &Path, source: io::Error) -> Error {
        Error {
            operation,
            path: path.to_path_buf(),
            source,
        }
    }

    /// The device or the quota has no space left; asking again later may succeed.
    pub fn is_disk_full(&self) -> bool {
        matches!(
            self.source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }

    /// The file or directory is not there.
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn a_full_disk_is_told_from_other_faults() {
        let fault = |kind| Error::new("write", Path::new("log"), io::Error::from(kind));
        assert!(fault(io::ErrorKind::StorageFull).is_disk_full());
        assert!(fault(io::ErrorKind::QuotaExceeded).is_disk_full());
        assert!(!fault(io::ErrorKind::Other).is_disk_full());
        assert_eq!(
            fault(io::ErrorKind::Other).to_string(),
            "write failed on log"
        );
        assert!(fault(io::ErrorKind::Other).source().is_some());
    }
}
