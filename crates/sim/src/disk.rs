//! A disk that says that it has synced and has not, for the planted mistake of that name.
//!
//! Relies on: the simulated disk for everything else.  Promises: lies about syncs of files only.
//! Does not: exist in a run without a planted mistake.

use quintet_rt::{Disk, DiskFile, Error, OpenMode};
use std::path::Path;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Liar(pub Arc<dyn Disk>);

#[derive(Debug)]
struct LyingFile(Arc<dyn DiskFile>);

impl Disk for Liar {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, Error> {
        Ok(Arc::new(LyingFile(self.0.open(path, mode)?)))
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, Error> {
        self.0.list(directory)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        self.0.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.0.rename(from, to)
    }

    fn create_dir_all(&self, directory: &Path) -> Result<(), Error> {
        self.0.create_dir_all(directory)
    }

    fn sync_dir(&self, directory: &Path) -> Result<(), Error> {
        self.0.sync_dir(directory)
    }

    fn exists(&self, path: &Path) -> Result<bool, Error> {
        self.0.exists(path)
    }

    fn free_bytes(&self, directory: &Path) -> Result<u64, Error> {
        self.0.free_bytes(directory)
    }
}

impl DiskFile for LyingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.0.write_at(bytes, offset)
    }

    fn write_all_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), Error> {
        self.0.write_all_vectored_at(parts, offset)
    }

    fn sync_data(&self) -> Result<(), Error> {
        Ok(())
    }

    fn drop_cached(&self) -> Result<(), Error> {
        self.0.drop_cached()
    }

    fn len(&self) -> Result<u64, Error> {
        self.0.len()
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        self.0.set_len(len)
    }

    fn allocate(&self, len: u64) -> Result<(), Error> {
        self.0.allocate(len)
    }

    fn try_lock(&self) -> Result<bool, Error> {
        self.0.try_lock()
    }
}
