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

/// Spares kept for reuse at least. One is taken while the segment before it fills; a second covers the
/// case that two are retired by one truncation.
const SPARES_MIN: usize = 2;

/// How many segments are used from one truncation to the next. So many are kept to be used again: a segment that
/// is made new is written twice, first with zeros, and has its space found and given back by the file system.
#[derive(Debug, Default)]
struct Demand {
    /// Since the last truncation.
    now: usize,
    /// The most that has lately been used in between.
    usual: usize,
}

impl Demand {
    /// How many are worth keeping; one truncation after the other forgets an eighth of what is not used any more.
    fn at_truncation(&mut self) -> usize {
        let fallen = self.usual - self.usual.div_ceil(8);
        self.usual = fallen.max(std::mem::take(&mut self.now)).max(SPARES_MIN);
        self.usual
    }
}

/// The files of one log directory.
#[derive(Debug)]
pub(crate) struct Space {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    file_bytes: u64,
    log_id: u64,
    /// Numbers in the names of the spare files, each of `file_bytes`.
    spares: Vec<u64>,
    demand: Demand,
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
            demand: Demand::default(),
            leftover: Vec::new(),
        };
        for name in space.disk.list(&space.directory)? {
            match FileKind::of(&name) {
                Some((FileKind::New, _)) => space.disk.remove(&space.directory.join(name))?,
                Some((FileKind::Spare, number)) => space.adopt_spare(number)?,
                Some((FileKind::Log, _)) | None => {}
            }
        }
        // Who kept them had a use for them.
        space.demand.usual = space.spares.len();
        Ok(space)
    }

    fn adopt_spare(&mut self, number: u64) -> Result<(), Error> {
        let path = FileKind::Spare.path(&self.directory, number);
        let bytes = self.disk.open(&path, OpenMode::Read)?.len()?;
        if bytes == self.file_bytes {
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
        self.demand.now += 1;
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

    /// Segments are about to be given up: removes spares that are more than are needed.
    pub fn begin_truncation(&mut self) -> Result<(), Error> {
        let keep = self.demand.at_truncation();
        self.keep_spares(keep)
    }

    /// Removes all spares, for whoever needs their space more. As many as were needed before are kept again later.
    pub fn give_spares_back(&mut self) -> Result<(), Error> {
        self.keep_spares(0)
    }

    fn keep_spares(&mut self, keep: usize) -> Result<(), Error> {
        while self.spares.len() > keep
            && let Some(number) = self.spares.last()
        {
            let path = FileKind::Spare.path(&self.directory, *number);
            self.disk.remove(&path)?;
            self.spares.pop();
        }
        Ok(())
    }

    /// Gives up a segment: keeps the file for reuse or removes it. Called oldest first; the name is
    /// gone from the disk when this returns, so that no later removal can overtake it and leave a gap.
    pub fn retire(&mut self, start: u64, file_bytes: u64) -> Result<(), Error> {
        let path = FileKind::Log.path(&self.directory, start);
        if self.spares.len() < self.demand.usual && file_bytes == self.file_bytes {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_kept_as_are_used_and_after_a_while_no_more() {
        let mut demand = Demand::default();
        assert_eq!(demand.at_truncation(), SPARES_MIN);
        for used in [16, 10, 16, 14] {
            demand.now = used;
            assert!((14..=16).contains(&demand.at_truncation()), "{demand:?}");
        }
        let after: Vec<usize> = (0..20).map(|_| demand.at_truncation()).collect();
        assert!(after.is_sorted_by(|a, b| a >= b));
        assert_eq!(after.last(), Some(&SPARES_MIN));
        demand.now = 1;
        assert_eq!(demand.at_truncation(), SPARES_MIN);
    }
}
