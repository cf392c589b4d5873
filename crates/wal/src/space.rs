//! Making, reusing and removing segment files.
//!
//! Relies on: `rt::Disk`.  Promises: a segment that was made has all its space and its name on the
//! disk, so that a write into it needs neither; on an error nothing has changed but files that the
//! next opening ignores.  Does not: decide when; runs inside the `space` lock.

use crate::config::WalConfig;
use crate::error::Error;
use crate::segment::{self, FileKind, SEGMENT_HEADER_BYTES, Segment, SegmentHeader};
use quintet_rt::{Disk, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Spares kept for reuse. One is taken while the segment before it fills; a second covers the
/// case that two are retired by one truncation.
const SPARES_MAX: usize = 2;

/// The files of one log directory.
#[derive(Debug)]
pub(crate) struct Space {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    file_bytes: u64,
    log_id: u64,
    /// Numbers in the names of the spare files, each of `file_bytes`.
    spares: Vec<u64>,
    /// Segments of a failed attempt that could not be removed, oldest first.
    leftover: Vec<PathBuf>,
}

impl Space {
    /// Takes over the directory: removes what a crash left half made, counts the spares.
    pub fn open(disk: Arc<dyn Disk>, config: &WalConfig, log_id: u64) -> Result<Space, Error> {
        let mut space = Space {
            disk,
            directory: config.directory.clone(),
            file_bytes: config.segment_file_bytes(),
            log_id,
            spares: Vec::new(),
            leftover: Vec::new(),
        };
        for name in space.disk.list(&space.directory)? {
            match FileKind::of(&name) {
                Some((FileKind::New, _)) => space.disk.remove(&space.directory.join(name))?,
                Some((FileKind::Spare, number)) => space.adopt_spare(number)?,
                Some((FileKind::Log, _)) | None => {}
            }
        }
        Ok(space)
    }

    fn adopt_spare(&mut self, number: u64) -> Result<(), Error> {
        let path = FileKind::Spare.path(&self.directory, number);
        let bytes = self.disk.open(&path, OpenMode::Read)?.len()?;
        if bytes == self.file_bytes && self.spares.len() < SPARES_MAX {
            self.spares.push(number);
        } else {
            self.disk.remove(&path)?;
        }
        Ok(())
    }

    /// Bytes of the stream that one new segment holds.
    pub fn segment_capacity(&self) -> u64 {
        self.file_bytes - SEGMENT_HEADER_BYTES
    }

    /// Bytes that the spares take.
    pub fn spare_bytes(&self) -> u64 {
        self.spares.len() as u64 * self.file_bytes
    }

    /// Makes the segments for `start..end`, all of them or none.
    pub fn make(&mut self, start: u64, end: u64) -> Result<Vec<Segment>, Error> {
        self.remove_leftover()?;
        let mut made: Vec<Segment> = Vec::new();
        let mut at = start;
        while at < end {
            match self.make_one(at) {
                Ok(segment) => {
                    at = segment.end;
                    made.push(segment);
                }
                Err(error) => {
                    let failed = FileKind::Log.path(&self.directory, at);
                    self.leftover = made.into_iter().map(|segment| segment.path).collect();
                    self.leftover.push(failed);
                    // If that fails, too, it is tried again before anything is made.
                    let _ = self.remove_leftover();
                    return Err(error);
                }
            }
        }
        Ok(made)
    }

    /// Newest first, and the first one that stays ends it: at the next opening a gap would be taken for
    /// damage, empty segments that follow on would not.
    fn remove_leftover(&mut self) -> Result<(), Error> {
        while let Some(path) = self.leftover.last() {
            match self.disk.remove(path) {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => self.leftover.pop(),
            };
        }
        Ok(())
    }

    fn make_one(&mut self, start: u64) -> Result<Segment, Error> {
        let source = match self.spares.pop() {
            Some(number) => FileKind::Spare.path(&self.directory, number),
            None => FileKind::New.path(&self.directory, start),
        };
        self.fill(&source, start).inspect_err(|_| {
            // Gives the space back. If even that fails, the next opening removes the file.
            let _ = self.disk.remove(&source);
        })?;
        let path = FileKind::Log.path(&self.directory, start);
        self.disk.rename(&source, &path)?;
        self.disk.sync_dir(&self.directory)?;
        let (segment, _) = segment::open(&*self.disk, &self.directory, start, OpenMode::ReadWrite)?;
        Ok(segment)
    }

    fn fill(&self, path: &Path, start: u64) -> Result<(), Error> {
        let header = SegmentHeader {
            start,
            capacity: self.segment_capacity(),
            log_id: self.log_id,
        };
        let file = self.disk.open(path, OpenMode::Create)?;
        file.allocate(self.file_bytes)?;
        file.write_at(&header.encode(), 0)?;
        file.sync_data()?;
        Ok(())
    }

    /// Gives up a segment: keeps the file for reuse or removes it. Called oldest first; the name is
    /// gone from the disk when this returns, so that no later removal can overtake it and leave a gap.
    pub fn retire(&mut self, start: u64, file_bytes: u64) -> Result<(), Error> {
        let path = FileKind::Log.path(&self.directory, start);
        if self.spares.len() < SPARES_MAX && file_bytes == self.file_bytes {
            let spare = FileKind::Spare.path(&self.directory, start);
            self.disk.rename(&path, &spare)?;
            self.spares.push(start);
        } else {
            self.disk.remove(&path)?;
        }
        self.disk.sync_dir(&self.directory)?;
        Ok(())
    }

    /// Removes a segment that was left below the redo start.
    pub fn remove(&mut self, start: u64) -> Result<(), Error> {
        let path = FileKind::Log.path(&self.directory, start);
        self.disk.remove(&path)?;
        self.disk.sync_dir(&self.directory)?;
        Ok(())
    }
}
