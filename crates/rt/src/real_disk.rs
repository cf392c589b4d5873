//! The machine's files.
//!
//! Relies on: a POSIX file system whose `fdatasync` is honest.  Promises: what [`crate::disk`] asks
//! of every disk.  Does not: cache anything itself.

// The real form of the seam: the one place that may name the operating system's files.
#![allow(clippy::disallowed_methods)]

use crate::disk::{Disk, DiskFile, OpenMode};
use crate::error::Error;
use rustix::fs::FallocateFlags;
#[cfg(target_os = "linux")]
use rustix::fs::OFlags;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Zeros are written in pieces of this size, one after the other and each to the disk before the next: large
/// enough to use the disk, small enough that a sync of somebody else's waits a fraction of a millisecond for
/// the piece before it.
const ZEROS_BYTES: usize = 256 * 1024;

/// Aligned as direct writes have to be.
#[repr(align(4096))]
struct Zeros([u8; ZEROS_BYTES]);

static ZEROS: Zeros = Zeros([0; ZEROS_BYTES]);

/// A direct write begins and ends at a multiple of this on every common disk.
const DIRECT_BYTES: u64 = 4096;

/// Parts given to one vectored write; every system takes at least this many (`IOV_MAX`).
const PARTS_MAX: usize = 1024;

/// The machine's disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, Error> {
        let mut options = File::options();
        options
            .read(true)
            .write(mode.writes())
            .create(mode == OpenMode::Create);
        let file = options
            .open(path)
            .map_err(|e| Error::new("open", path, e))?;
        #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
        if mode == OpenMode::ReadScattered {
            // A file system that takes no advice reads more than it need.
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).ok();
        }
        Ok(Arc::new(RealFile {
            file,
            path: path.to_path_buf(),
        }))
    }

    fn open_direct(&self, path: &Path) -> Result<Option<Arc<dyn DiskFile>>, Error> {
        let opened = open_past_cache(path).map_err(|e| Error::new("open", path, e))?;
        Ok(opened.map(|file| -> Arc<dyn DiskFile> {
            Arc::new(RealFile {
                file,
                path: path.to_path_buf(),
            })
        }))
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, Error> {
        let fault = |e| Error::new("list", directory, e);
        let mut names = Vec::new();
        for entry in fs::read_dir(directory).map_err(fault)? {
            if let Ok(name) = entry.map_err(fault)?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        fs::remove_file(path).map_err(|e| Error::new("remove", path, e))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        fs::rename(from, to).map_err(|e| Error::new("rename", from, e))
    }

    fn create_dir_all(&self, directory: &Path) -> Result<(), Error> {
        fs::create_dir_all(directory).map_err(|e| Error::new("create directory", directory, e))
    }

    fn sync_dir(&self, directory: &Path) -> Result<(), Error> {
        File::open(directory)
            .and_then(|opened| opened.sync_all())
            .map_err(|e| Error::new("sync directory", directory, e))
    }

    fn exists(&self, path: &Path) -> Result<bool, Error> {
        path.try_exists()
            .map_err(|e| Error::new("look up", path, e))
    }

    fn free_bytes(&self, directory: &Path) -> Result<u64, Error> {
        let stat = rustix::fs::statvfs(directory)
            .map_err(|e| Error::new("ask for free space", directory, e.into()))?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

/// Opens a file for reads and writes that go past the system's cache; `None` where there are none.
#[cfg(target_os = "linux")]
fn open_past_cache(path: &Path) -> io::Result<Option<File>> {
    let direct = OFlags::DIRECT.bits().cast_signed();
    let opened = File::options()
        .read(true)
        .write(true)
        .custom_flags(direct)
        .open(path);
    match opened {
        Ok(file) => Ok(Some(file)),
        // What open(2) says where there is no direct I/O.
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_past_cache(_path: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

#[derive(Debug)]
struct RealFile {
    file: File,
    /// As it was opened, for messages; a rename does not change it.
    path: PathBuf,
}

impl RealFile {
    fn fault(&self, operation: &'static str, source: io::Error) -> Error {
        Error::new(operation, &self.path, source)
    }

    /// Writes zeros from `from` to `to`, piece by piece to the disk. All at once they would have the disk for
    /// as long as it takes to write them, and whoever syncs another file would wait for that.
    fn write_zeros(&self, from: u64, to: u64) -> io::Result<()> {
        // A file that goes by another name now is written through the cache.
        let direct = match self.path_is_ours()? {
            true => open_past_cache(&self.path)?,
            false => None,
        };
        let mut at = from;
        while at < to {
            let piece = (to - at).min(ZEROS_BYTES as u64);
            let zeros = &ZEROS.0[..piece as usize];
            let aligned = at.is_multiple_of(DIRECT_BYTES) && piece.is_multiple_of(DIRECT_BYTES);
            match &direct {
                Some(direct) if aligned => direct.write_all_at(zeros, at)?,
                _ => {
                    self.file.write_all_at(zeros, at)?;
                    self.file.sync_data()?;
                }
            }
            at += piece;
        }
        Ok(())
    }

    /// Whether the file is still what its path names.
    fn path_is_ours(&self) -> io::Result<bool> {
        let ours = self.file.metadata()?;
        Ok(fs::metadata(&self.path)
            .is_ok_and(|named| (named.dev(), named.ino()) == (ours.dev(), ours.ino())))
    }
}

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.fault("read", e)),
            }
        }
        Ok(done)
    }

    fn will_need(&self, offset: u64, bytes: u64) {
        #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
        if let Some(bytes) = std::num::NonZeroU64::new(bytes) {
            // A file system that takes no advice reads when it is asked to.
            rustix::fs::fadvise(
                &self.file,
                offset,
                Some(bytes),
                rustix::fs::Advice::WillNeed,
            )
            .ok();
        }
        #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
        let _ = (offset, bytes);
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.file
            .write_all_at(bytes, offset)
            .map_err(|e| self.fault("write", e))
    }

    fn write_all_vectored_at(&self, parts: &[&[u8]], mut offset: u64) -> Result<(), Error> {
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut rest = &mut slices[..];
        // Drops empty parts at the front, so that a write of nothing cannot loop.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let now = rest.len().min(PARTS_MAX);
            match rustix::io::pwritev(&self.file, &rest[..now], offset) {
                Ok(0) => return Err(self.fault("write", io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    offset += n as u64;
                    IoSlice::advance_slices(&mut rest, n);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(self.fault("write", e.into())),
            }
        }
        Ok(())
    }

    fn sync_data(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(|e| self.fault("sync", e))
    }

    fn drop_cached(&self) -> Result<(), Error> {
        #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
        rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed)
            .map_err(|e| self.fault("drop cached pages", e.into()))?;
        Ok(())
    }

    fn len(&self) -> Result<u64, Error> {
        let metadata = self.file.metadata();
        metadata
            .map(|m| m.len())
            .map_err(|e| self.fault("ask for the length", e))
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        self.file
            .set_len(len)
            .map_err(|e| self.fault("set the length", e))
    }

    fn allocate(&self, len: u64) -> Result<(), Error> {
        let old = self.len()?;
        if len <= old {
            return Ok(());
        }
        // Reserving first finds a full disk before anything is written. The zeros are needed all
        // the same: a reserved block that was never written costs a metadata change at its first
        // write, and every sync of it would pay for that.
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), old, len - old) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(e) => return Err(self.fault("allocate", e.into())),
        }
        self.write_zeros(old, len)
            .map_err(|e| self.fault("allocate", e))
    }

    fn try_lock(&self) -> Result<bool, Error> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(e)) => Err(self.fault("lock", e)),
        }
    }
}
