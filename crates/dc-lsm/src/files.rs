//! Files of tablets.
//!
//! Relies on: the files never change.  Promises: what is read is what was asked for, or an error; no more
//! files are open than the bound says, and those in use.  Does not: cache, write, or know what is in
//! them.
//!
//! Reads go through the system's cache, which is the machine's free memory; the system is told that one
//! read says nothing of the next, or it would read far more than was asked for (decision 12).

use crate::fault;
use parking_lot::Mutex;
use quintet_dc::Error;
use quintet_rt::{Disk, DiskFile, OpenMode, RealDisk};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// What all files share: how many are open.
pub(crate) struct OpenFiles {
    max: usize,
    /// Those opened, the first one first.
    order: Mutex<VecDeque<Weak<TabletFile>>>,
}

impl OpenFiles {
    pub fn new(max: usize) -> OpenFiles {
        OpenFiles {
            max,
            order: Mutex::default(),
        }
    }

    /// Closes the file that was opened longest ago if there are too many.
    fn add(&self, file: &Arc<TabletFile>) {
        let closed = {
            let mut order = self.order.lock();
            order.push_back(Arc::downgrade(file));
            match order.len() > self.max {
                true => order.pop_front(),
                false => None,
            }
        };
        if let Some(file) = closed.and_then(|file| file.upgrade()) {
            file.open.lock().take();
        }
    }
}

/// One file, open or not.
pub(crate) struct TabletFile {
    path: PathBuf,
    open: Mutex<Option<Arc<dyn DiskFile>>>,
}

impl TabletFile {
    pub fn new(path: PathBuf) -> Arc<TabletFile> {
        Arc::new(TabletFile {
            path,
            open: Mutex::default(),
        })
    }

    /// Shows a part of the file to `see`.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file ends before; what the system says.
    pub fn read<R>(
        self: &Arc<TabletFile>,
        files: &OpenFiles,
        offset: u64,
        bytes: usize,
        see: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Error> {
        let file = self.open(files)?;
        MEMORY.with_borrow_mut(|memory| {
            if memory.len() < bytes || (memory.len() > KEPT_BYTES && bytes <= KEPT_BYTES) {
                *memory = vec![0; bytes];
            }
            let part = &mut memory[..bytes];
            if file.read_at(part, offset).map_err(fault::disk)? < bytes {
                return Err(Error::Damaged {
                    path: self.path.clone(),
                    what: "a file is too short".to_owned(),
                });
            }
            Ok(see(part))
        })
    }

    /// Has the system fetch a part that will be read soon.
    pub fn will_need(self: &Arc<TabletFile>, files: &OpenFiles, offset: u64, bytes: u64) {
        // What cannot be opened is reported by who reads.
        if let Ok(file) = self.open(files) {
            file.will_need(offset, bytes);
        }
    }

    fn open(self: &Arc<TabletFile>, files: &OpenFiles) -> Result<Arc<dyn DiskFile>, Error> {
        let mut open = self.open.lock();
        if let Some(file) = &*open {
            return Ok(Arc::clone(file));
        }
        let file = RealDisk.open(&self.path, OpenMode::ReadScattered);
        let file = file.map_err(fault::disk)?;
        *open = Some(Arc::clone(&file));
        drop(open); // `add` may lock another's
        files.add(self);
        Ok(file)
    }
}

thread_local! {
    /// As long as the longest block that the thread has read; the next short one gives back what a very
    /// long one has taken.
    static MEMORY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Longer memory is given back.
const KEPT_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_rt::disk::replace_file;

    #[test]
    fn every_part_of_a_file_is_read_and_nothing_behind_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..600_000u32).map(|n| (n * 7 / 3) as u8).collect();
        replace_file(&RealDisk, &path, &bytes).unwrap();
        let files = OpenFiles::new(4);
        let file = TabletFile::new(path);
        for (offset, length) in [(0, 1), (0, 600_000), (511, 2), (4095, 4098), (599_999, 1)] {
            let read = file.read(&files, offset as u64, length, <[u8]>::to_vec);
            let expected = &bytes[offset..][..length];
            assert_eq!(read.unwrap(), expected, "{offset} {length}");
        }
        for (offset, length) in [(599_999, 2), (600_000, 1), (900_000, 1), (0, 600_001)] {
            let read = file.read(&files, offset, length, <[u8]>::to_vec);
            let is_damaged = matches!(read, Err(Error::Damaged { .. }));
            assert!(is_damaged, "{offset} {length}");
        }
    }

    #[test]
    fn no_more_files_are_open_than_the_bound_says() {
        let folder = tempfile::tempdir().unwrap();
        let files = OpenFiles::new(2);
        let tablets: Vec<_> = (0..4u8)
            .map(|number| {
                let path = folder.path().join(number.to_string());
                replace_file(&RealDisk, &path, &[number; 600]).unwrap();
                TabletFile::new(path)
            })
            .collect();
        for round in 0..3 {
            for (number, tablet) in tablets.iter().enumerate() {
                let read = tablet.read(&files, 500, 1, |bytes| bytes[0]);
                assert_eq!(read.unwrap() as usize, number, "round {round}");
                let open = tablets.iter().filter(|tablet| tablet.open.lock().is_some());
                assert!(open.count() <= 2);
            }
        }
    }

    #[test]
    fn a_file_that_is_gone_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = TabletFile::new(folder.path().join("none"));
        let read = file.read(&OpenFiles::new(1), 0, 1, |_| ());
        assert!(matches!(read, Err(Error::Io { .. })), "{read:?}");
    }
}
