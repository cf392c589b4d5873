//! Errors of the tree and of the disk, in the contract's words.
//!
//! Relies on: nothing.  Promises: a full disk comes out as [`Error::DiskFull`], wherever it was met.
//! Does not: log.

use quintet_dc::Error;
use std::io::ErrorKind;
use std::path::Path;

/// An error of a tree that lives at `path`.
pub(crate) fn tree(doing: &'static str, path: &Path, error: lsm_tree::Error) -> Error {
    match error {
        // The tree reads whole blocks at places it has written down, so a file that ends early is
        // not the system's fault.
        lsm_tree::Error::Io(source) if source.kind() == ErrorKind::UnexpectedEof => {
            Error::Damaged {
                path: path.to_path_buf(),
                what: "a file is too short".to_owned(),
            }
        }
        lsm_tree::Error::Io(source) => Error::io(doing, path, source),
        other => Error::Damaged {
            path: path.to_path_buf(),
            what: other.to_string(),
        },
    }
}

/// An error of the disk seam.
pub(crate) fn disk(error: quintet_rt::Error) -> Error {
    Error::io(error.operation, error.path, error.source)
}
