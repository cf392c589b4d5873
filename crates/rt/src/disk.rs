//! The seam to files: what a store may ask of a disk.
//!
//! Relies on: nothing.  Promises, of every implementation: what was written is read back by the
//! same process; what was written *and synced* is there after power loss; a name is there after power
//! loss once its directory has been synced; a sector of [`crate::SECTOR_BYTES`] is written whole or
//! not at all.  Does not promise: any order between writes that were not synced, or anything about
//! them after power loss. After a failed sync nothing is known of the writes before it.

use crate::error::Error;
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What direct writes ([`Disk::open_direct`]) are multiples of: a block of every common file system and device.
pub const DIRECT_BYTES: usize = 4096;

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// Must be there; only read.
    Read,
    /// Must be there; only read, a little here and a little there: the system is asked to keep what was
    /// read, as of every file, but to read nothing beside it.
    ReadScattered,
    /// Must be there; read and written.
    ReadWrite,
    /// Read and written; made when it is not there, kept as it is when it is.
    Create,
}

impl OpenMode {
    /// Whether the handle may write.
    pub fn writes(self) -> bool {
        matches!(self, OpenMode::ReadWrite | OpenMode::Create)
    }
}

/// A place for files, passed to constructors as `Arc<dyn Disk>`.
pub trait Disk: Send + Sync + Debug {
    /// Opens a file.
    ///
    /// # Errors
    /// What the system says; [`Error::is_not_found`] if it is not there.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, Error>;

    /// Opens a file that is there for writes past the system's cache: offset, length and address of
    /// each are multiples of [`DIRECT_BYTES`]. `None` if the file system has no such writes. They reach
    /// the device sooner, but like others they survive power loss once the file is synced, through any
    /// handle; and a read through another handle sees them.
    ///
    /// # Errors
    /// What the system says.
    fn open_direct(&self, path: &Path) -> Result<Option<Arc<dyn DiskFile>>, Error>;

    /// Names in a directory, sorted. Names that are no UTF-8 are left out: none of ours are.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self, directory: &Path) -> Result<Vec<String>, Error>;

    /// Removes a file; those who have it open keep it.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&self, path: &Path) -> Result<(), Error>;

    /// Renames a file in one step, over whatever had the new name.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error>;

    /// Makes a directory and those above it; no error if they are there.
    ///
    /// # Errors
    /// What the system says.
    fn create_dir_all(&self, directory: &Path) -> Result<(), Error>;

    /// Makes names that were added, changed or removed in a directory survive power loss.
    ///
    /// # Errors
    /// What the system says.
    fn sync_dir(&self, directory: &Path) -> Result<(), Error>;

    /// Whether there is a file or directory of this name.
    ///
    /// # Errors
    /// What the system says when it cannot tell.
    fn exists(&self, path: &Path) -> Result<bool, Error>;

    /// Bytes that this process may still take on the device of this directory.
    ///
    /// # Errors
    /// What the system says.
    fn free_bytes(&self, directory: &Path) -> Result<u64, Error>;
}

/// An open file. Reads and writes name their place, so one handle serves many threads.
pub trait DiskFile: Send + Sync + Debug {
    /// Reads at `offset` until `buffer` is full or the file ends; returns how many bytes.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error>;

    /// Says that these bytes will be read soon: the system may begin to fetch them while the caller does
    /// something else. Nothing else comes of it, and nothing of it not being done.
    fn will_need(&self, offset: u64, bytes: u64) {
        let _ = (offset, bytes);
    }

    /// Writes all of `bytes` at `offset`, making the file longer as needed.
    ///
    /// # Errors
    /// What the system says; some of the bytes may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), Error>;

    /// Writes the parts one after the other, starting at `offset`.
    ///
    /// # Errors
    /// What the system says; some of the bytes may have been written.
    fn write_all_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), Error>;

    /// Makes everything written so far survive power loss.
    ///
    /// # Errors
    /// What the system says. Asking again does not help: the system may have dropped the writes
    /// and answer the next sync with success.
    fn sync_data(&self) -> Result<(), Error>;

    /// Lets go of what the system keeps of this file in memory, but for writes still to be synced,
    /// so that the next read shows what is on the disk. Otherwise a read may show writes that a
    /// failed sync, of this process or one before it, has dropped. As far as the system offers it.
    ///
    /// # Errors
    /// What the system says.
    fn drop_cached(&self) -> Result<(), Error>;

    /// Length in bytes.
    ///
    /// # Errors
    /// What the system says.
    fn len(&self) -> Result<u64, Error>;

    /// Whether the file has no bytes.
    ///
    /// # Errors
    /// What the system says.
    fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file, or makes it longer with zeros that take no space yet.
    ///
    /// # Errors
    /// What the system says.
    fn set_len(&self, len: u64) -> Result<(), Error>;

    /// Makes the file at least `len` bytes long, the new part zeros that are really written: later
    /// writes inside need no more space and change no metadata. Not yet synced.
    ///
    /// # Errors
    /// [`Error::is_disk_full`] if the space is not there; the file may then have any length in
    /// between and is best removed.
    fn allocate(&self, len: u64) -> Result<(), Error>;

    /// Takes the advisory lock of the file, held until the handle is dropped; false if another
    /// handle, in this process or another, has it.
    ///
    /// # Errors
    /// What the system says when it cannot tell.
    fn try_lock(&self) -> Result<bool, Error>;
}

/// Reads a whole file that is known to be small, such as a manifest.
///
/// # Errors
/// What the disk says.
pub fn read_file(disk: &dyn Disk, path: &Path) -> Result<Vec<u8>, Error> {
    let file = disk.open(path, OpenMode::Read)?;
    let mut bytes = vec![0u8; file.len()? as usize];
    let got = file.read_at(&mut bytes, 0)?;
    bytes.truncate(got);
    Ok(bytes)
}

/// Replaces a whole file so that after power loss there is the old one or the new one: written
/// beside it under the name with `.new` added, synced, renamed, directory synced.
///
/// # Errors
/// What the disk says; the old file is then still there.
pub fn replace_file(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        let source = io::Error::from(io::ErrorKind::InvalidInput);
        return Err(Error::new("replace", path, source));
    };
    let mut beside = name.to_owned();
    beside.push(".new");
    let beside = directory.join(beside);
    let file = disk.open(&beside, OpenMode::Create)?;
    file.set_len(0)?;
    file.write_at(bytes, 0)?;
    file.sync_data()?;
    disk.rename(&beside, path)?;
    disk.sync_dir(directory)
}
