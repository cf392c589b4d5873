//! A disk that says now and then that it has synced and has not, for the planted mistake of that name.
//!
//! Relies on: the simulated disk for everything else.  Promises: lies about one sync of a file in a few,
//! counted, and about nothing else.
//! Does not: exist in a run without a planted mistake.

use quintet_rt::{Disk, DiskFile, Error, OpenMode};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One sync in so many is a lie.
const LIE_EVERY: u64 = 8;

/// The disk; see the file's header.
#[derive(Debug)]
pub(crate) struct Liar {
    disk: Arc<dyn Disk>,
    syncs: Arc<AtomicU64>,
}

#[derive(Debug)]
struct LyingFile {
    file: Arc<dyn DiskFile>,
    syncs: Arc<AtomicU64>,
}

impl Liar {
    pub fn new(disk: Arc<dyn Disk>) -> Liar {
        let syncs = Arc::default();
        Liar { disk, syncs }
    }
}

impl Disk for Liar {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, Error> {
        let file = self.disk.open(path, mode)?;
        let syncs = Arc::clone(&self.syncs);
        Ok(Arc::new(LyingFile { file, syncs }))
    }

    fn open_direct(&self, path: &Path) -> Result<Option<Arc<dyn DiskFile>>, Error> {
        let file = self.disk.open_direct(path)?;
        let syncs = &self.syncs;
        let lying = |file| -> Arc<dyn DiskFile> {
            let syncs = Arc::clone(syncs);
            Arc::new(LyingFile { file, syncs })
        };
        Ok(file.map(lying))
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, Error> {
        self.disk.list(directory)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        self.disk.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.disk.rename(from, to)
    }

    fn create_dir_all(&self, directory: &Path) -> Result<(), Error> {
        self.disk.create_dir_all(directory)
    }

    fn sync_dir(&self, directory: &Path) -> Result<(), Error> {
        self.disk.sync_dir(directory)
    }

    fn exists(&self, path: &Path) -> Result<bool, Error> {
        self.disk.exists(path)
    }

    fn free_bytes(&self, directory: &Path) -> Result<u64, Error> {
        self.disk.free_bytes(directory)
    }
}

impl DiskFile for LyingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.file.write_at(bytes, offset)
    }

    fn write_all_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), Error> {
        self.file.write_all_vectored_at(parts, offset)
    }

    fn sync_data(&self) -> Result<(), Error> {
        let syncs = self.syncs.fetch_add(1, Ordering::Relaxed) + 1;
        if syncs.is_multiple_of(LIE_EVERY) {
            return Ok(());
        }
        self.file.sync_data()
    }

    fn drop_cached(&self) -> Result<(), Error> {
        self.file.drop_cached()
    }

    fn len(&self) -> Result<u64, Error> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        self.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> Result<(), Error> {
        self.file.allocate(len)
    }

    fn try_lock(&self) -> Result<bool, Error> {
        self.file.try_lock()
    }
}
