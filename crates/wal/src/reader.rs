//! Reading records back in order, one by one or by the block.
//!
//! Relies on: `stream` for the bytes.  Promises: records in log order, each exactly once and whole, up
//! to what was written when the reader was made.  Does not: follow a growing log; must not outlive a
//! `truncate` past its position, after which it reports damage.
//!
//! ```text
//!   window:  ┌ record ┬ record ┬ … ┬ record ┬ front of a record ┐      a block is the whole records;
//!            └────────┴────────┴───┴────────┴───────────────────┘      the next window begins behind them
//! ```
//! A block keeps the window's memory, so nothing is copied for whoever replays it elsewhere.

use crate::error::Error;
use crate::record::{Header, RECORD_HEADER_BYTES};
use crate::recover::{self, Scan, WalReport};
use crate::segment::{FileKind, SegmentHeader};
use crate::stream::{Stream, Window};
use bytes::Bytes;
use quintet_base::Lsn;
use quintet_rt::{Disk, OpenMode};
use std::ops::Range;
use std::path::Path;

/// Records that follow each other, in one piece of memory.
#[derive(Clone, Debug)]
pub struct Block {
    bytes: Bytes,
    records: Vec<(Lsn, Range<usize>)>,
    synced: u64,
}

impl Block {
    /// The memory that the payloads are slices of.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The records in order: each with its lsn and where its payload is in [`Block::bytes`].
    pub fn records(&self) -> &[(Lsn, Range<usize>)] {
        &self.records
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// What the records know to have been synced when they were written.
    pub(crate) fn synced(&self) -> u64 {
        self.synced
    }
}

/// A place in the stream, and what stands there.
#[derive(Debug)]
pub(crate) struct Cursor {
    window: Window,
    position: u64,
    log_id: u64,
    /// The stream may end inside of a record: the rest of it is not kept.
    open_ended: bool,
}

/// What stands at a position.
enum Step {
    /// A whole record.
    Record(Header),
    /// No whole record, and why not.
    Bad(&'static str),
}

impl Cursor {
    pub fn new(window: Window, position: u64, log_id: u64) -> Cursor {
        Cursor {
            window,
            position,
            log_id,
            open_ended: false,
        }
    }

    /// A stream that ends inside of a record ends before it.
    pub fn open_ended(self) -> Cursor {
        Cursor {
            open_ended: true,
            ..self
        }
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn log_id(&self) -> u64 {
        self.log_id
    }

    pub fn stream(&self) -> &Stream {
        self.window.stream()
    }

    pub fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    /// The whole records from here on in one window, and why there is no further one behind them, if
    /// there is none. A block without records has such a reason.
    pub fn block(&mut self) -> Result<(Block, Option<&'static str>), Error> {
        let (mut found, mut synced) = (Vec::new(), 0);
        let mut ended = None;
        // The first record may move the window; those behind it must not.
        while found.is_empty() || self.is_held() {
            match self.step()? {
                Step::Record(header) => {
                    let payload = self.position + RECORD_HEADER_BYTES as u64;
                    found.push((Lsn(header.end()), payload, header.payload_bytes));
                    synced = synced.max(header.synced);
                    self.position = header.end();
                }
                Step::Bad(reason) => {
                    ended = Some(reason);
                    break;
                }
            }
        }
        let (start, bytes) = self.window.share();
        let place = |(lsn, at, len): (Lsn, u64, usize)| {
            let at = (at - start) as usize;
            (lsn, at..at + len)
        };
        let block = Block {
            bytes,
            records: found.into_iter().map(place).collect(),
            synced,
        };
        Ok((block, ended))
    }

    /// Whether looking at what stands here moves no window.
    fn is_held(&self) -> bool {
        let Some(head) = self.window.held(self.position, RECORD_HEADER_BYTES) else {
            return false;
        };
        match Header::parse(head, self.position, self.log_id) {
            Some(header) => {
                let bytes = RECORD_HEADER_BYTES + header.payload_bytes;
                self.window.held(self.position, bytes).is_some()
            }
            None => true,
        }
    }

    fn step(&mut self) -> Result<Step, Error> {
        let position = self.position;
        let Some(bytes) = self.window.get(position, RECORD_HEADER_BYTES)? else {
            return Ok(Step::Bad("the stream ends"));
        };
        let Some(header) = Header::parse(bytes, position, self.log_id) else {
            return Ok(Step::Bad("no record begins here"));
        };
        if header.end() > self.window.limit() {
            if self.open_ended {
                return Ok(Step::Bad("the rest of a record is not kept"));
            }
            // The space for a record is there before a byte of it is written.
            let end = self.window.stream().end();
            let reason = "the segment with the rest of a record is missing";
            return Err(self.window.stream().damaged(end, reason));
        }
        // Header and payload in one window, so that a block has both.
        let bytes = RECORD_HEADER_BYTES + header.payload_bytes;
        match self.window.get(position, bytes)? {
            Some(record) if header.fits(&record[RECORD_HEADER_BYTES..]) => Ok(Step::Record(header)),
            _ => Ok(Step::Bad("a record's payload fails its checksum")),
        }
    }
}

/// Records in order: each with its lsn (the position after it) and its payload.
#[derive(Debug)]
pub struct LogReader {
    cursor: Cursor,
    /// What is handed out one by one, and how much of it has been.
    block: Option<Block>,
    taken: usize,
    failed: bool,
}

impl LogReader {
    pub(crate) fn new(stream: Stream, from: u64, to: u64, log_id: u64) -> LogReader {
        LogReader {
            cursor: Cursor::new(Window::new(stream, to), from, log_id),
            block: None,
            taken: 0,
            failed: false,
        }
    }

    /// The next records in one piece. `None` at the end.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Io`]; there is nothing to be read after that.
    pub fn next_block(&mut self) -> Result<Option<Block>, Error> {
        if let Some(mut block) = self.block.take() {
            block.records.drain(..self.taken);
            if !block.is_empty() {
                return Ok(Some(block));
            }
        }
        self.read_block()
    }

    fn read_block(&mut self) -> Result<Option<Block>, Error> {
        if self.failed || self.cursor.position >= self.cursor.window.limit() {
            return Ok(None);
        }
        let read = self.cursor.block().and_then(|(block, ended)| match ended {
            // What is in front of it can be read.
            Some(reason) if block.is_empty() => {
                let at = self.cursor.position;
                Err(self.cursor.stream().damaged(at, reason))
            }
            _ => Ok(block),
        });
        self.failed = read.is_err();
        read.map(Some)
    }
}

impl Iterator for LogReader {
    type Item = Result<(Lsn, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(block) = &self.block
                && let Some((lsn, payload)) = block.records.get(self.taken)
            {
                self.taken += 1;
                return Some(Ok((*lsn, block.bytes.slice(payload.clone()))));
            }
            self.block = None;
            self.taken = 0;
            match self.read_block() {
                Ok(block) => self.block = Some(block?),
                Err(error) => return Some(Err(error)),
            }
        }
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
    let extent = Scan::begin(&found.stream, redo_start, found.log_id)?.verdict()?;
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
