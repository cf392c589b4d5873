//! [`KeptLog`]: a log read out of what is kept of it, and of what is left of the log itself.
//!
//! Relies on: segments say which log and which position they are of.  Promises: records in log order, each once
//! and whole, from the position asked for to where the segments end, or a gap; what differs from what was
//! written is damage where records behind it witness it, as when a log is opened.  Does not: change anything.
//!
//! ```text
//!   archive/<id>/  [ a ][ b ][ c ]
//!   log/                    [ c ][ d ][ e ·· torn or empty]
//!                    ▲ from                 ▲ end
//! ```

use crate::archive;
use crate::error::Error;
use crate::reader::Block;
use crate::recover::Scan;
use crate::segment::{self, FileKind};
use crate::stream::Stream;
use quintet_base::Lsn;
use quintet_rt::{Disk, OpenMode};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// See the header.
#[derive(Debug)]
pub struct KeptLog {
    /// `None` when all of it has been read.
    scan: Option<Scan>,
    end: Lsn,
    /// Where segments go on behind a gap.
    behind: Option<Lsn>,
}

impl KeptLog {
    /// The log with this id from a position on, out of these directories: archives, or the directory of a log.
    ///
    /// # Errors
    /// [`Error::Damaged`] if no segment has the position; [`Error::Io`].
    pub fn open(
        disk: &dyn Disk,
        directories: &[PathBuf],
        log_id: u64,
        from: Lsn,
    ) -> Result<KeptLog, Error> {
        let mut paths: BTreeMap<u64, PathBuf> = BTreeMap::new();
        for directory in directories {
            for folder in [archive::folder_of(directory, log_id), directory.clone()] {
                if !disk.exists(&folder)? {
                    continue;
                }
                for name in disk.list(&folder)? {
                    let start = match (FileKind::of(&name), archive::parse(&name)) {
                        (Some((FileKind::Log, start)), _) | (_, Some((start, _))) => start,
                        _ => continue,
                    };
                    paths.entry(start).or_insert_with(|| folder.join(&name));
                }
            }
        }
        let mut stream = Stream::default();
        let mut behind = None;
        let starts: Vec<u64> = paths.keys().copied().collect();
        for (number, (start, path)) in paths.iter().enumerate() {
            // Below the position, if the next one begins at or below it.
            if starts.get(number + 1).is_some_and(|next| *next <= from.0) {
                continue;
            }
            let (segment, header) = segment::open_at(disk, path, *start, OpenMode::Read)?;
            if header.log_id != log_id {
                continue;
            }
            if !stream.segments().is_empty() && stream.end() != *start {
                behind = Some(Lsn(*start));
                break;
            }
            stream.push(segment);
        }
        let has =
            !stream.segments().is_empty() && (stream.start()..=stream.end()).contains(&from.0);
        if !has {
            return Err(Error::Damaged {
                lsn: from,
                path: directories.first().cloned().unwrap_or_default(),
                offset: 0,
                reason: "no segment that is kept holds this position",
            });
        }
        Ok(KeptLog {
            scan: Some(Scan::of_kept(&stream, from, log_id)?),
            end: from,
            behind,
        })
    }

    /// The next records; `None` where they end.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Io`].
    pub fn next_block(&mut self) -> Result<Option<Block>, Error> {
        let Some(scan) = &mut self.scan else {
            return Ok(None);
        };
        if let Some(block) = scan.next_block()? {
            self.end = Lsn(scan.position());
            return Ok(Some(block));
        }
        if let Some(scan) = self.scan.take() {
            // Torn, or damaged?
            scan.verdict()?;
        }
        Ok(None)
    }

    /// Position after the last record that was read.
    pub fn end(&self) -> Lsn {
        self.end
    }

    /// Where segments go on, if some are missing in between.
    pub fn goes_on_at(&self) -> Option<Lsn> {
        self.behind
    }
}
