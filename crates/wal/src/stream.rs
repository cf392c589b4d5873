//! The segments as one stream of bytes.
//!
//! Relies on: segments that follow each other without a gap.  Promises: reads and writes run over
//! the ends of files.  Does not: know records; does not sync.

use crate::blocks::Blocks;
use crate::error::Error;
use crate::segment::Segment;
use bytes::{Bytes, BytesMut};
use quintet_base::Lsn;
use quintet_rt::DiskFile;
use std::collections::VecDeque;
use std::sync::Arc;

/// How much is read at once: large enough that calls cost nothing, small enough for any cache.
const WINDOW_BYTES: usize = 256 * 1024;

/// Windows that are remembered: more than may wait to be replayed.
const SHARED_MAX: usize = 64;

/// Segments in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    segments: VecDeque<Segment>,
}

impl Stream {
    /// Adds a segment at the end.
    pub fn push(&mut self, segment: Segment) {
        if let Some(last) = self.segments.back() {
            assert_eq!(last.end, segment.start, "segments follow each other");
        }
        self.segments.push_back(segment);
    }

    /// Start of the segment that [`Stream::pop_below`] would take away.
    pub fn first_below(&self, position: u64) -> Option<u64> {
        let first = self.segments.front()?;
        (self.segments.len() > 1 && first.end <= position).then_some(first.start)
    }

    /// Takes away the first segment if it ends at or before `position` and is not the only one.
    pub fn pop_below(&mut self, position: u64) -> Option<Segment> {
        let goes = self.segments.len() > 1 && self.segments.front()?.end <= position;
        goes.then(|| self.segments.pop_front()).flatten()
    }

    pub fn segments(&self) -> &VecDeque<Segment> {
        &self.segments
    }

    /// First position that is there.
    pub fn start(&self) -> u64 {
        self.segments.front().map_or(0, |segment| segment.start)
    }

    /// Position after the last byte that has space.
    pub fn end(&self) -> u64 {
        self.segments.back().map_or(0, |segment| segment.end)
    }

    /// The segment that holds the byte at `position`.
    pub fn segment_at(&self, position: u64) -> Option<&Segment> {
        let after = self.segments.partition_point(|s| s.end <= position);
        self.segments.get(after).filter(|s| s.start <= position)
    }

    /// Damage at a position, with the file that it is in.
    pub fn damaged(&self, position: u64, reason: &'static str) -> Error {
        let Some(segment) = self.segment_at(position).or(self.segments.back()) else {
            unreachable!("a stream has a segment before anything is read from it");
        };
        Error::Damaged {
            lsn: Lsn(position),
            path: segment.path.clone(),
            offset: segment.offset_of(position.clamp(segment.start, segment.end)),
            reason,
        }
    }

    /// Reads exactly `buffer` at `position`.
    pub fn read(&self, position: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let mut at = position;
        let mut rest = buffer;
        while !rest.is_empty() {
            let segment = self
                .segment_at(at)
                .expect("the caller stays inside the stream");
            let here = rest.len().min((segment.end - at) as usize);
            let (now, later) = rest.split_at_mut(here);
            let got = segment.file.read_at(now, segment.offset_of(at))?;
            if got < here {
                return Err(segment.damaged(at + got as u64, "the segment has been cut short"));
            }
            at += here as u64;
            rest = later;
        }
        Ok(())
    }

    /// Writes `bytes` at `position` and adds the files that were touched to `unsynced`; through `blocks` or,
    /// without them, through the system's cache.
    pub fn write(
        &self,
        position: u64,
        bytes: &[u8],
        unsynced: &mut Unsynced,
        mut blocks: Option<&mut Blocks>,
    ) -> Result<(), quintet_rt::Error> {
        let mut at = position;
        let mut rest = bytes;
        while !rest.is_empty() {
            let segment = self.segment_at(at).expect("space was taken before writing");
            let here = rest.len().min((segment.end - at) as usize);
            // Before the write: a write that fails may have changed the file as well.
            unsynced.add(segment);
            match &mut blocks {
                Some(blocks) => blocks.write(segment, at, &rest[..here])?,
                None => segment
                    .file
                    .write_at(&rest[..here], segment.offset_of(at))?,
            }
            at += here as u64;
            rest = &rest[here..];
        }
        Ok(())
    }
}

/// Files with writes that no sync has covered, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    files: Vec<(u64, Arc<dyn DiskFile>)>,
}

impl Unsynced {
    fn add(&mut self, segment: &Segment) {
        if self.files.iter().all(|(start, _)| *start != segment.start) {
            self.files.push((segment.start, Arc::clone(&segment.file)));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn len(&self) -> u64 {
        self.files.len() as u64
    }

    /// Syncs all of them; how many there were.
    pub fn sync(&mut self) -> Result<u64, quintet_rt::Error> {
        let count = self.len();
        for (_, file) in &self.files {
            file.sync_data()?;
        }
        self.files.clear();
        Ok(count)
    }
}

/// A stretch of the stream in memory, moved along by a reader. Whoever has been given a part of it
/// keeps that part when the window moves on.
#[derive(Debug)]
pub(crate) struct Window {
    stream: Stream,
    /// Nothing at or behind this position is read.
    limit: u64,
    start: u64,
    bytes: Bytes,
    /// What was shared, oldest first: to be used again when nobody keeps a part of it.
    shared: VecDeque<Bytes>,
}

impl Window {
    pub fn new(stream: Stream, limit: u64) -> Window {
        assert!(limit <= stream.end(), "limit {limit} past {}", stream.end());
        Window {
            stream,
            limit,
            start: 0,
            bytes: Bytes::new(),
            shared: VecDeque::new(),
        }
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Where the `len` bytes at `position` are in what is held, if they are.
    fn place(&self, position: u64, len: usize) -> Option<usize> {
        let at = usize::try_from(position.checked_sub(self.start)?).ok()?;
        (at + len <= self.bytes.len()).then_some(at)
    }

    /// The `len` bytes at `position` if nothing has to be read for them.
    pub fn held(&self, position: u64, len: usize) -> Option<&[u8]> {
        let at = self.place(position, len)?;
        Some(&self.bytes[at..at + len])
    }

    /// What is held, to be kept, and the position of its first byte.
    pub fn share(&self) -> (u64, Bytes) {
        (self.start, self.bytes.clone())
    }

    /// The `len` bytes at `position`, or `None` if they reach past the limit.
    pub fn get(&mut self, position: u64, len: usize) -> Result<Option<&[u8]>, Error> {
        if position > self.limit || len as u64 > self.limit - position {
            return Ok(None);
        }
        if len == 0 {
            return Ok(Some(&[]));
        }
        if self.place(position, len).is_none() {
            self.move_to(position, len)?;
        }
        Ok(self.held(position, len))
    }

    fn move_to(&mut self, position: u64, len: usize) -> Result<(), Error> {
        let ahead = WINDOW_BYTES.max(len).min((self.limit - position) as usize);
        // Taken out, so that a read that fails leaves an empty window and not a wrong one.
        let before = std::mem::take(&mut self.bytes);
        if !before.is_empty() {
            self.shared.push_back(before);
        }
        let mut bytes = self.free_memory();
        bytes.resize(ahead, 0);
        self.stream.read(position, &mut bytes)?;
        self.bytes = bytes.freeze();
        self.start = position;
        Ok(())
    }

    /// Memory of a window that nobody keeps, or none: fresh memory costs more than what is read into it.
    fn free_memory(&mut self) -> BytesMut {
        let free = self.shared.iter().position(Bytes::is_unique);
        let free = free.and_then(|at| self.shared.remove(at));
        if self.shared.len() == SHARED_MAX {
            self.shared.pop_front();
        }
        free.and_then(|bytes| bytes.try_into_mut().ok())
            .unwrap_or_default()
    }
}
