//! Reading records back in order.
//!
//! Relies on: `recover` for what a whole record is.  Promises: records in log order, each exactly
//! once, up to what was written when the reader was made.  Does not: follow a growing log; must not
//! outlive a `truncate` past its position, after which it reports damage.

use crate::error::Error;
use crate::recover::{self, Step, WalReport};
use crate::segment::{FileKind, SegmentHeader};
use crate::stream::{Stream, Window};
use bytes::Bytes;
use quintet_base::Lsn;
use quintet_rt::{Disk, OpenMode};
use std::path::Path;

/// Records in order: each with its lsn (the position after it) and its payload.
#[derive(Debug)]
pub struct LogReader {
    window: Window,
    position: u64,
    log_id: u64,
    failed: bool,
}

impl LogReader {
    pub(crate) fn new(stream: Stream, from: u64, to: u64, log_id: u64) -> LogReader {
        LogReader {
            window: Window::new(stream, to),
            position: from,
            log_id,
            failed: false,
        }
    }

    /// Position of the next record.
    pub fn position(&self) -> Lsn {
        Lsn(self.position)
    }

    fn read(&mut self) -> Result<(Lsn, Bytes), Error> {
        let at = self.position;
        let reason = match recover::read_record(&mut self.window, at, self.log_id)? {
            Step::Record(header, payload) => {
                self.position = header.end();
                return Ok((Lsn(header.end()), Bytes::copy_from_slice(payload)));
            }
            Step::Bad(reason) => reason,
            Step::NoRoom => "no record begins here",
        };
        Err(self.window.stream().damaged(at, reason))
    }
}

impl Iterator for LogReader {
    type Item = Result<(Lsn, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.position >= self.window.limit() {
            return None;
        }
        let record = self.read();
        self.failed = record.is_err();
        Some(record)
    }
}

/// Reads a log without changing anything: what [`crate::Wal::open`] would find, and the records.
/// `None` if there is no log in the directory.
///
/// # Errors
/// [`Error::Damaged`] as `open` would refuse it; [`Error::Io`].
pub fn inspect(
    disk: &dyn Disk,
    directory: &Path,
    redo_start: Option<Lsn>,
) -> Result<Option<(WalReport, LogReader)>, Error> {
    let Some(found) = recover::find_segments(disk, directory, redo_start, OpenMode::Read)? else {
        return Ok(None);
    };
    let extent = recover::find_extent(&found.stream, redo_start, found.log_id)?;
    let report = extent.report(&found.stream);
    let reader = LogReader::new(found.stream, extent.begin, extent.end, found.log_id);
    Ok(Some((report, reader)))
}

/// Reads a file with these bytes as the only segment of a log: the entry for fuzzing, which needs no
/// disk and no threads. A header that parses is taken at its word for where the stream begins.
///
/// # Errors
/// [`Error::Damaged`], and nothing else, for bytes that are no log.
pub fn read_segment_image(image: &[u8]) -> Result<Vec<Bytes>, Error> {
    let disk = quintet_rt::SimDisk::new(0);
    let directory = Path::new("/log");
    disk.create_dir_all(directory)?;
    let start = SegmentHeader::parse(image).map_or(0, |header| header.start);
    let path = FileKind::Log.path(directory, start);
    disk.open(&path, OpenMode::Create)?.write_at(image, 0)?;
    match inspect(&disk, directory, None)? {
        Some((_, reader)) => reader
            .map(|record| record.map(|(_, bytes)| bytes))
            .collect(),
        None => unreachable!("the segment has just been written"),
    }
}
