//! What the callers, the writer and the segment keeper share: the tail of the log.
//!
//! Relies on: one writer takes groups ([`Shared::take_group`]) and reports them.  Promises: `append`
//! holds the tail for a few instructions, unless the space is used up and a segment has to be made;
//! what was appended has its space. Does not: write records.
//!
//! ```text
//!   0 ........ synced ........ written ........ end ........ allocated
//!     durable          handed to        in `records`,  space on disk,
//!                      the system       or being       nothing in it
//!                                       written
//! ```
//!
//! Hot path: `append` runs inside the committers' critical section. Nothing that allocates by the
//! record, no system call but the one wake-up of a writer that sleeps.

use crate::config::WalConfig;
use crate::durable::Marks;
use crate::error::Error;
use crate::record::{self, Payload, RECORD_BYTES_MAX};
use crate::recover::{self, WalReport};
use crate::segment::{SEGMENT_HEADER_BYTES, Segment};
use crate::space::Space;
use crate::stats::{Counters, WalStats};
use crate::stream::Stream;
use parking_lot::{Condvar, Mutex, RwLock};
use quintet_base::Lsn;
use quintet_rt::{Clock, Disk, OpenMode, Rand};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Everything that is shared. Lock order: `space`, then `tail` or `stream`.
#[derive(Debug)]
pub(crate) struct Shared {
    pub config: WalConfig,
    pub clock: Arc<dyn Clock>,
    pub log_id: u64,
    /// Marks the records of this opening.
    pub run: u32,
    pub marks: Arc<Marks>,
    pub counters: Counters,
    tail: Mutex<Tail>,
    /// The writer waits here, for records or a flush.
    work: Condvar,
    /// Callers of `flush` and `wait_for_room` wait here.
    progress: Condvar,
    /// The segment keeper waits here.
    wanted: Condvar,
    /// Copy of `Tail::end` for readers without the lock; written under it.
    end: AtomicU64,
    /// Written by the writer only; Release there pairs with Acquire in `written` and `synced`.
    written: AtomicU64,
    synced: AtomicU64,
    stream: RwLock<Stream>,
    /// Held while segment files are made or retired.
    space: Mutex<Space>,
}

#[derive(Debug)]
struct Tail {
    /// Appended and not yet taken by the writer; the first begins at `records_start`.
    records: Vec<Payload>,
    records_start: u64,
    end: u64,
    allocated: u64,
    appended_records: u64,
    opened_at: u64,
    /// Everything below is to be synced, whatever the durability.
    flush_to: u64,
    writer_sleeps: bool,
    /// Callers waiting for `progress`.
    sleepers: usize,
    ahead: Ahead,
    closing: bool,
}

/// The next segment, made before it is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ahead {
    /// Enough space for now.
    Enough,
    /// The keeper has been asked.
    Wanted,
    /// The keeper could not; the next append without space finds out why.
    Failed,
}

/// What the writer has to do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    /// Where the records that were taken begin.
    pub start: u64,
    /// How many bytes of the stream they take.
    pub bytes: u64,
    pub flush_to: u64,
    pub closing: bool,
}

impl Shared {
    /// Opens or creates the log, repaired and ready for appends.
    pub fn open(
        disk: Arc<dyn Disk>,
        config: WalConfig,
        redo_start: Option<Lsn>,
        clock: Arc<dyn Clock>,
    ) -> Result<(Shared, WalReport), Error> {
        disk.create_dir_all(&config.directory)?;
        let directory = &config.directory;
        let found = recover::find_segments(&*disk, directory, redo_start, OpenMode::ReadWrite)?;
        let (stream, log_id, space, extent) = match found {
            Some(found) => {
                recover::settle(&found.stream, &config)?;
                let extent = recover::find_extent(&found.stream, redo_start, found.log_id)?;
                let mut space = Space::open(disk, &config, found.log_id)?;
                recover::repair(&found.stream, &extent, &config)?;
                for start in found.obsolete {
                    space.remove(start)?;
                }
                (found.stream, found.log_id, space, extent)
            }
            None => {
                // The directory of a bare name is the current one, which somebody else has made.
                let parent = config.directory.parent();
                if let Some(parent) = parent.filter(|parent| !parent.as_os_str().is_empty()) {
                    disk.sync_dir(parent)?;
                }
                let log_id = Rand::from_os().next_u64();
                let mut space = Space::open(disk, &config, log_id)?;
                let mut stream = Stream::default();
                let made = space.make(0, 1)?;
                made.into_iter().for_each(|segment| stream.push(segment));
                let extent = recover::find_extent(&stream, None, log_id)?;
                (stream, log_id, space, extent)
            }
        };
        let report = extent.report(&stream);
        let end = extent.end;
        let tail = Tail {
            records: Vec::new(),
            records_start: end,
            end,
            allocated: stream.end(),
            appended_records: 0,
            opened_at: end,
            flush_to: 0,
            writer_sleeps: false,
            sleepers: 0,
            ahead: Ahead::Enough,
            closing: false,
        };
        let shared = Shared {
            config,
            clock,
            log_id,
            run: Rand::from_os().below(u64::from(u32::MAX)) as u32 + 1,
            marks: Arc::new(Marks::new(end)),
            counters: Counters::default(),
            tail: Mutex::new(tail),
            work: Condvar::new(),
            progress: Condvar::new(),
            wanted: Condvar::new(),
            end: AtomicU64::new(end),
            written: AtomicU64::new(end),
            synced: AtomicU64::new(end),
            stream: RwLock::new(stream),
            space: Mutex::new(space),
        };
        Ok((shared, report))
    }

    pub fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    pub fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// The segments as they are now.
    pub fn stream(&self) -> Stream {
        self.stream.read().clone()
    }

    /// Puts a record at the end.
    pub fn append(&self, payload: Payload) -> Result<Lsn, Error> {
        let len = payload.bytes().len();
        if len > RECORD_BYTES_MAX {
            return Err(Error::TooLong { bytes: len });
        }
        let bytes = record::record_bytes(len);
        let mut tail = self.tail.lock();
        loop {
            if let Some(error) = self.marks.poisoned() {
                return Err(error);
            }
            if tail.closing {
                return Err(Error::Closed);
            }
            if bytes <= tail.allocated - tail.end {
                break;
            }
            drop(tail);
            self.make_space(bytes)?;
            tail = self.tail.lock();
        }
        tail.records.push(payload);
        tail.appended_records += 1;
        tail.end += bytes;
        let end = tail.end;
        self.end.store(end, Ordering::Release);
        let keeper = self.wants_ahead(&mut tail);
        let writer = std::mem::take(&mut tail.writer_sleeps);
        drop(tail);
        if writer {
            self.work.notify_one();
        }
        if keeper {
            self.wanted.notify_one();
        }
        Ok(Lsn(end))
    }

    /// Whether the keeper is to be told now that the last segment is half full.
    fn wants_ahead(&self, tail: &mut Tail) -> bool {
        let segment = self.config.segment_file_bytes() - SEGMENT_HEADER_BYTES;
        let low = tail.allocated - tail.end < segment / 2;
        let ask = low && tail.ahead == Ahead::Enough;
        if ask {
            tail.ahead = Ahead::Wanted;
        }
        ask
    }

    /// Makes segments until a record of `bytes` fits, all of them or none.
    fn make_space(&self, bytes: u64) -> Result<(), Error> {
        let mut space = self.space.lock();
        let (end, allocated) = {
            let tail = self.tail.lock();
            (tail.end, tail.allocated)
        };
        // Another append, or the keeper, may have been faster.
        if bytes <= allocated - end {
            return Ok(());
        }
        self.counters.segment_waits.fetch_add(1, Ordering::Relaxed);
        self.extend(&mut space, allocated, end + bytes)
    }

    fn extend(&self, space: &mut Space, from: u64, to: u64) -> Result<(), Error> {
        let made = space.make(from, to)?;
        let mut stream = self.stream.write();
        made.into_iter().for_each(|segment| stream.push(segment));
        let allocated = stream.end();
        drop(stream);
        let mut tail = self.tail.lock();
        tail.allocated = allocated;
        tail.ahead = Ahead::Enough;
        Ok(())
    }

    /// The segment keeper: makes the next segment when it is asked to, until the log closes.
    pub fn keep_segments(&self) {
        loop {
            {
                let mut tail = self.tail.lock();
                while tail.ahead != Ahead::Wanted && !tail.closing {
                    self.wanted.wait(&mut tail);
                }
                if tail.closing {
                    return;
                }
            }
            let mut space = self.space.lock();
            let allocated = self.tail.lock().allocated;
            if self.extend(&mut space, allocated, allocated + 1).is_err() {
                // Nobody is hurt yet: an append that needs the space tries again and is told.
                self.tail.lock().ahead = Ahead::Failed;
            }
        }
    }

    /// Whether an append may go ahead without letting more than the bound wait for the writer.
    pub fn has_room(&self) -> bool {
        let unwritten = self.end().saturating_sub(self.written());
        unwritten < self.config.pending_bytes_max as u64
    }

    /// Waits on `progress` until `done` holds, a failure, or the end of the writer.
    fn wait_until(
        &self,
        tail: &mut parking_lot::MutexGuard<'_, Tail>,
        done: impl Fn() -> bool,
    ) -> Result<(), Error> {
        tail.sleepers += 1;
        let outcome = loop {
            if done() {
                break Ok(());
            }
            if let Some(error) = self.marks.poisoned() {
                break Err(error);
            }
            if self.marks.stopped() {
                break Err(Error::Closed);
            }
            self.progress.wait(tail);
        };
        tail.sleepers -= 1;
        outcome
    }

    pub fn wait_for_room(&self) -> Result<(), Error> {
        if self.has_room() {
            return Ok(());
        }
        let mut tail = self.tail.lock();
        self.wait_until(&mut tail, || self.has_room())
    }

    pub fn flush(&self) -> Result<(), Error> {
        let mut tail = self.tail.lock();
        let target = tail.end;
        if self.synced() >= target {
            return Ok(());
        }
        tail.flush_to = tail.flush_to.max(target);
        tail.writer_sleeps = false;
        self.work.notify_one();
        self.wait_until(&mut tail, || self.synced() >= target)
    }

    pub fn truncate(&self, redo_start: Lsn) -> Result<(), Error> {
        assert!(
            redo_start.0 <= self.end(),
            "redo start {redo_start} is past the end of the log {}",
            self.end()
        );
        if self.synced() < redo_start.0 {
            // The log would begin behind its own end if the machine stopped now.
            self.flush()?;
        }
        let mut space = self.space.lock();
        loop {
            let popped = self.stream.write().pop_below(redo_start.0);
            let Some(segment) = popped else { break };
            let (start, bytes) = (segment.start, segment.file_bytes());
            // Closed before its name goes, so that removing it gives its space back.
            drop(segment);
            space.retire(start, bytes)?;
        }
        let mut tail = self.tail.lock();
        if tail.ahead == Ahead::Failed {
            tail.ahead = Ahead::Enough;
        }
        Ok(())
    }

    /// Takes no more appends, and lets the writer and the keeper finish.
    pub fn close(&self) {
        let mut tail = self.tail.lock();
        tail.closing = true;
        tail.writer_sleeps = false;
        self.work.notify_all();
        self.wanted.notify_all();
    }

    /// Swaps what has gathered for the (empty) `group`.
    pub fn take_group(&self, group: &mut Vec<Payload>) -> Task {
        assert!(group.is_empty(), "the last group has been written");
        let mut tail = self.tail.lock();
        std::mem::swap(&mut tail.records, group);
        let (start, end) = (tail.records_start, tail.end);
        tail.records_start = end;
        Task {
            start,
            bytes: end - start,
            flush_to: tail.flush_to,
            closing: tail.closing,
        }
    }

    /// Puts the writer to sleep until there is something to do, or for `at_most`.
    pub fn sleep_writer(&self, at_most: Option<Duration>) {
        let mut tail = self.tail.lock();
        while tail.records.is_empty() && !tail.closing && tail.flush_to <= self.synced() {
            tail.writer_sleeps = true;
            match at_most {
                None => self.work.wait(&mut tail),
                Some(limit) => {
                    if self.work.wait_for(&mut tail, limit).timed_out() {
                        break;
                    }
                }
            }
        }
        tail.writer_sleeps = false;
    }

    /// Lets records gather, unless somebody waits for the writer already.
    pub fn gather(&self, at_most: Duration) {
        let mut tail = self.tail.lock();
        if tail.sleepers == 0 && !tail.closing && self.has_room() {
            self.work.wait_for(&mut tail, at_most);
        }
    }

    /// The writer has handed everything below to the system.
    pub fn set_written(&self, position: u64) {
        self.written.store(position, Ordering::Release);
        self.wake_sleepers();
    }

    /// The writer has synced everything below.
    pub fn set_synced(&self, position: u64) {
        self.synced.store(position, Ordering::Release);
        self.wake_sleepers();
    }

    fn wake_sleepers(&self) {
        // The lock is what makes a sleeper either see the new position or be asleep already.
        if self.tail.lock().sleepers > 0 {
            self.progress.notify_all();
        }
    }

    /// How many callers wait for the writer.
    #[cfg(test)]
    pub fn sleepers(&self) -> usize {
        self.tail.lock().sleepers
    }

    /// Nothing more is acknowledged, and whoever waits is told why.
    pub fn poison(&self, source: Arc<quintet_rt::Error>) {
        self.marks.poison(source);
        self.wake_sleepers();
    }

    /// The writer has ended.
    pub fn stopped(&self) {
        self.marks.stop();
        self.wake_sleepers();
    }

    pub fn stats(&self) -> WalStats {
        let spare_bytes = self.space.lock().spare_bytes();
        let (segments, segment_bytes) = {
            let stream = self.stream.read();
            let bytes: u64 = stream.segments().iter().map(Segment::file_bytes).sum();
            (stream.segments().len() as u64, bytes)
        };
        let tail = self.tail.lock();
        let counters = &self.counters;
        WalStats {
            records: tail.appended_records,
            bytes: tail.end - tail.opened_at,
            groups: counters.groups.load(Ordering::Relaxed),
            syncs: counters.syncs.load(Ordering::Relaxed),
            sync_nanos_total: counters.sync_nanos_total.load(Ordering::Relaxed),
            sync_nanos_max: counters.sync_nanos_max.load(Ordering::Relaxed),
            segment_waits: counters.segment_waits.load(Ordering::Relaxed),
            segments,
            disk_bytes: segment_bytes + spare_bytes,
        }
    }
}
