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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_full_disk_is_told_from_a_broken_one_and_from_damage() {
        let path = Path::new("p");
        let from_tree = |kind| tree("write", path, lsm_tree::Error::Io(io::Error::from(kind)));
        assert!(from_tree(ErrorKind::StorageFull).is_disk_full());
        assert!(from_tree(ErrorKind::QuotaExceeded).is_disk_full());
        assert!(matches!(from_tree(ErrorKind::Other), Error::Io { .. }));
        assert!(matches!(
            from_tree(ErrorKind::UnexpectedEof),
            Error::Damaged { .. }
        ));
        let lost = tree("open", path, lsm_tree::Error::Unrecoverable);
        assert!(matches!(lost, Error::Damaged { .. }));
        let full = io::Error::from(ErrorKind::StorageFull);
        assert!(disk(quintet_rt::Error::new("sync", path, full)).is_disk_full());
    }
}
