//! Files of tablets, read past the system's cache.
//!
//! Relies on: the files never change.  Promises: what is read is what was asked for, or an error; no more
//! files are open than the bound says, and those in use.  Does not: cache, write, or know what is in
//! them.
//!
//! The system would read whole pages, and often many more ahead, and keep them beside the caches above;
//! here are read the sectors that were asked for. A device or file system that wants larger units gets
//! them, and one that has no direct reads at all is read through its cache.

use crate::fault;
use parking_lot::Mutex;
use quintet_dc::Error;
use quintet_rt::{DIRECT_BYTES, Disk, DiskFile, OpenMode, RealDisk, SECTOR_BYTES};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// What all files share: how many are open, and what a direct read is a multiple of.
pub(crate) struct OpenFiles {
    max: usize,
    unit: AtomicUsize,
    /// Those opened, the first one first.
    order: Mutex<VecDeque<Weak<TabletFile>>>,
}

impl OpenFiles {
    pub fn new(max: usize) -> OpenFiles {
        OpenFiles {
            max,
            unit: AtomicUsize::new(SECTOR_BYTES),
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
        MEMORY.with_borrow_mut(|memory| {
            let file = self.open(files)?;
            let unit = files.unit.load(Ordering::Relaxed);
            let mut read = memory.read(&*file, unit, offset, bytes);
            if is_refused(&read) && unit < DIRECT_BYTES {
                files.unit.store(DIRECT_BYTES, Ordering::Relaxed);
                read = memory.read(&*file, DIRECT_BYTES, offset, bytes);
            }
            if is_refused(&read) {
                let file = self.open_through_cache()?;
                *self.open.lock() = Some(Arc::clone(&file));
                read = memory.read(&*file, DIRECT_BYTES, offset, bytes);
            }
            match read.map_err(fault::disk)? {
                Some(head) => Ok(see(&memory.aligned()[head..][..bytes])),
                None => Err(Error::Damaged {
                    path: self.path.clone(),
                    what: "a file is too short".to_owned(),
                }),
            }
        })
    }

    fn open(self: &Arc<TabletFile>, files: &OpenFiles) -> Result<Arc<dyn DiskFile>, Error> {
        let mut open = self.open.lock();
        if let Some(file) = &*open {
            return Ok(Arc::clone(file));
        }
        let direct = RealDisk.open_direct(&self.path).map_err(fault::disk)?;
        let file = direct.map_or_else(|| self.open_through_cache(), Ok)?;
        *open = Some(Arc::clone(&file));
        drop(open); // `add` may lock another's
        files.add(self);
        Ok(file)
    }

    fn open_through_cache(&self) -> Result<Arc<dyn DiskFile>, Error> {
        RealDisk
            .open(&self.path, OpenMode::Read)
            .map_err(fault::disk)
    }
}

/// Whether a direct read was one that the device does not do.
fn is_refused(read: &Result<Option<usize>, quintet_rt::Error>) -> bool {
    matches!(read, Err(error) if error.source.kind() == ErrorKind::InvalidInput)
}

thread_local! {
    static MEMORY: RefCell<Memory> = const { RefCell::new(Memory(Vec::new())) };
}

/// Memory of a thread that direct reads can go to. As long as the longest block that it has read; the
/// next short one gives back what a very long one has taken.
struct Memory(Vec<u8>);

/// Longer memory is given back.
const KEPT_BYTES: usize = 256 * 1024;

impl Memory {
    /// Reads whole units around a part of a file. Returns where in `aligned` the part begins, `None` if
    /// the file ends before the part does.
    fn read(
        &mut self,
        file: &dyn DiskFile,
        unit: usize,
        offset: u64,
        bytes: usize,
    ) -> Result<Option<usize>, quintet_rt::Error> {
        let head = (offset % unit as u64) as usize;
        let whole = (head + bytes).next_multiple_of(unit);
        let needed = whole + DIRECT_BYTES;
        if self.0.len() < needed || (self.0.len() > KEPT_BYTES && needed <= KEPT_BYTES) {
            self.0 = vec![0; needed];
        }
        let got = file.read_at(&mut self.aligned()[..whole], offset - head as u64)?;
        Ok((got >= head + bytes).then_some(head))
    }

    fn aligned(&mut self) -> &mut [u8] {
        let begin = self.0.as_ptr().align_offset(DIRECT_BYTES);
        &mut self.0[begin..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_rt::disk::replace_file;

    #[test]
    fn every_part_of_a_file_is_read_and_nothing_behind_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..10_000u32).map(|n| (n * 7 / 3) as u8).collect();
        replace_file(&RealDisk, &path, &bytes).unwrap();
        // As a device of larger sectors leaves it, too.
        for unit in [SECTOR_BYTES, DIRECT_BYTES] {
            let files = OpenFiles::new(4);
            files.unit.store(unit, Ordering::Relaxed);
            let file = TabletFile::new(path.clone());
            for (offset, length) in [(0, 1), (0, 10_000), (511, 2), (4095, 4098), (9_999, 1)] {
                let read = file.read(&files, offset as u64, length, <[u8]>::to_vec);
                assert_eq!(
                    read.unwrap(),
                    bytes[offset..][..length],
                    "{offset} {length}"
                );
            }
            for (offset, length) in [(9_999, 2), (10_000, 1), (20_000, 1), (0, 10_001)] {
                let read = file.read(&files, offset, length, <[u8]>::to_vec);
                assert!(
                    matches!(read, Err(Error::Damaged { .. })),
                    "{offset} {length}"
                );
            }
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
