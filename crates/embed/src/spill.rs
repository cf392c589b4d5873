//! Files for rows of statements that their memory has no room for.
//!
//! Relies on: the directory is held by this process. Promises: a file has no name from the moment it is made, so it
//! is gone with the statement, and with the process however that ends; what a crash leaves in between is
//! removed when the directory is opened; all files together stay below a bound and leave the disk room for the log. Does
//! not: sync anything: nobody reads a file after its statement.
//!
//! ```text
//! DIR/temp/N    rows of one sort of operator of one statement, back to back; only while it is being made
//! ```

use quintet_base::limits::SPILL_BYTES_MAX;
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::Spill;
use quintet_rt::{Disk, DiskFile, Error, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a file asks for at a time.
const STEP_BYTES: u64 = 16 * 1024 * 1024;

/// Bytes of the disk that are left to the log and to STORE.
const FREE_BYTES_MIN: u64 = 1024 * 1024 * 1024;

/// Where a database has such files, and how much is in them.
#[derive(Debug)]
pub(crate) struct SpillRoom {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    /// Bytes that files have asked for. Only ever compared with the bound: no order is needed.
    taken: AtomicU64,
    number: AtomicU64,
    bound: u64,
}

struct SpillFile {
    room: Arc<SpillRoom>,
    file: Arc<dyn DiskFile>,
    length: u64,
    granted: u64,
}

impl SpillRoom {
    /// In a data directory; removes what an earlier process has left there.
    ///
    /// # Errors
    /// What the disk says.
    pub fn open(disk: &Arc<dyn Disk>, data: &Path) -> Result<Arc<SpillRoom>, Error> {
        SpillRoom::bounded(disk, data, SPILL_BYTES_MAX)
    }

    fn bounded(disk: &Arc<dyn Disk>, data: &Path, bound: u64) -> Result<Arc<SpillRoom>, Error> {
        let directory = data.join("temp");
        if disk.exists(&directory)? {
            for name in disk.list(&directory)? {
                disk.remove(&directory.join(name))?;
            }
        }
        Ok(Arc::new(SpillRoom {
            disk: Arc::clone(disk),
            directory,
            taken: AtomicU64::new(0),
            number: AtomicU64::new(0),
            bound,
        }))
    }

    /// A new file.
    ///
    /// # Errors
    /// What the disk says.
    pub fn file(self: &Arc<Self>) -> SqlResult<Box<dyn Spill>> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(number.to_string());
        let made = || {
            self.disk.create_dir_all(&self.directory)?;
            let file = self.disk.open(&path, OpenMode::Create)?;
            self.disk.remove(&path)?;
            Ok(file)
        };
        Ok(Box::new(SpillFile {
            room: Arc::clone(self),
            file: made().map_err(|error| failed(&error))?,
            length: 0,
            granted: 0,
        }))
    }

    fn grant(&self, bytes: u64) -> SqlResult<()> {
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        let free = self.disk.free_bytes(&self.directory);
        let full =
            before + bytes > self.bound || free.is_ok_and(|free| free < FREE_BYTES_MIN + bytes);
        if !full {
            return Ok(());
        }
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
        Err(SqlError::new(
            SqlState::CONFIGURATION_LIMIT_EXCEEDED,
            "statements need more room in temporary files than they may have",
        )
        .detail(format!(
            "They have {before} bytes of at most {}, and {FREE_BYTES_MIN} bytes of the disk are left free.",
            self.bound
        ))
        .hint("Restrict the rows with WHERE, or raise work_mem."))
    }
}

impl Spill for SpillFile {
    fn append(&mut self, bytes: &[u8]) -> SqlResult<()> {
        let end = self.length + bytes.len() as u64;
        while end > self.granted {
            self.room.grant(STEP_BYTES)?;
            self.granted += STEP_BYTES;
        }
        let written = self.file.write_at(bytes, self.length);
        written.map_err(|error| failed(&error))?;
        self.length = end;
        Ok(())
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> SqlResult<()> {
        let got = self.file.read_at(into, offset);
        match got.map_err(|error| failed(&error))? == into.len() {
            true => Ok(()),
            false => Err(SqlError::new(
                SqlState::IO_ERROR,
                "a temporary file is shorter than what was written to it",
            )),
        }
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(self.granted, Ordering::Relaxed);
    }
}

fn failed(error: &Error) -> SqlError {
    let state = match error.is_disk_full() {
        true => SqlState::DISK_FULL,
        false => SqlState::IO_ERROR,
    };
    SqlError::new(state, "a temporary file failed").detail(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_rt::RealDisk;

    fn room(data: &Path, bound: u64) -> Arc<SpillRoom> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        SpillRoom::bounded(&disk, data, bound).unwrap()
    }

    #[test]
    fn rows_read_back_and_no_name_stays() {
        let data = tempfile::tempdir().unwrap();
        let room = room(data.path(), SPILL_BYTES_MAX);
        let mut file = room.file().unwrap();
        file.append(b"one").unwrap();
        file.append(b"three").unwrap();
        let mut found = [0; 5];
        file.read(3, &mut found).unwrap();
        assert_eq!(&found, b"three");
        assert!(file.read(4, &mut found).is_err());
        let names = room.disk.list(&data.path().join("temp")).unwrap();
        assert!(names.is_empty(), "{names:?}");
    }

    #[test]
    fn all_files_together_have_a_bound_and_give_back_what_they_took() {
        let data = tempfile::tempdir().unwrap();
        let room = room(data.path(), 2 * STEP_BYTES);
        let mut one = room.file().unwrap();
        let mut other = room.file().unwrap();
        one.append(b"x").unwrap();
        other.append(b"x").unwrap();
        let refused = room.file().unwrap().append(b"x").unwrap_err();
        assert_eq!(refused.state.as_str(), "53400");
        assert!(refused.hint.is_some());
        drop(one);
        room.file().unwrap().append(b"x").unwrap();
    }

    #[test]
    fn what_a_crash_has_left_is_removed() {
        let data = tempfile::tempdir().unwrap();
        let temp = data.path().join("temp");
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        disk.create_dir_all(&temp).unwrap();
        disk.open(&temp.join("7"), OpenMode::Create).unwrap();
        let room = SpillRoom::open(&disk, data.path()).unwrap();
        assert!(room.disk.list(&temp).unwrap().is_empty());
    }
}
