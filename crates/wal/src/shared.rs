//! What the callers, the writer and the segment keeper share.
//!
//! Relies on: `ring` for the bytes of records; one writer takes groups ([`Shared::take_group`]) and
//! reports them.  Promises: `reserve` takes no lock, unless the space is used up and a segment has to
//! be made; what was reserved has its space. Does not: write records.
//!
//! ```text
//!   0 ........ synced ........ written ........ end ........ allocated
//!     durable          handed to        in the ring,   space on disk,
//!                      the system       or being       nothing in it
//!                                       written
//! ```
//!
//! Hot path: `reserve` and what `Reservation::finish` calls run inside every commit. Nothing that
//! allocates, no lock, no system call but the one wake-up of a writer that sleeps.

mod ahead;
pub(crate) mod company;
mod keeper;

use crate::archive::Archive;
use crate::config::WalConfig;
use crate::durable::Marks;
use crate::error::Error;
use crate::opening::Settled;
use crate::record::{self, HeaderSeed, Payload};
use crate::recover::WalReport;
use crate::reservation::Reservation;
use crate::ring::{Ring, Shortage};
use crate::segment::Segment;
use crate::space::Space;
use crate::stats::{Counters, WalStats};
use crate::stream::Stream;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, planted};
use crate::tail::Refused;
use company::Company;
use keeper::{Ahead, ask_at};
use parking_lot::RwLock;
use quintet_base::Lsn;
#[cfg(test)]
use quintet_rt::Disk;
use quintet_rt::{Clock, Rand};
use std::sync::Arc;
use std::time::Duration;

/// Everything that is shared. Lock order: `retiring`, `space`, then `control` or `stream`.
#[derive(Debug)]
pub(crate) struct Shared {
    pub config: WalConfig,
    pub clock: Arc<dyn Clock>,
    pub log_id: u64,
    pub header_seed: HeaderSeed,
    /// Marks the records of this opening.
    pub run: u32,
    pub marks: Arc<Marks>,
    pub counters: Counters,
    pub ring: Ring,
    payload_bytes_max: usize,
    pending_bytes: u64,
    /// An end behind this one asks for a segment. A hint, so Relaxed: `ask_for_segment` looks again
    /// under the lock. Written under the lock of `control`.
    ask_at: AtomicU64,
    /// Set by the writer before it sleeps, with `SeqCst`; whoever has finished a record looks here
    /// afterwards, see `wake_writer`.
    writer_sleeps: AtomicBool,
    company: Company,
    control: Mutex<Control>,
    /// The writer waits here, for records, company or a flush.
    work: Condvar,
    /// Callers of `flush`, `append` and `wait_for_room` wait here.
    progress: Condvar,
    /// The segment keeper waits here.
    wanted: Condvar,
    /// Whoever touches memory ahead waits here.
    untouched: Condvar,
    /// Written by the writer only; Release there pairs with Acquire in `synced`.
    synced: AtomicU64,
    opened_at: u64,
    stream: RwLock<Stream>,
    /// What is kept of the segments that are given up.
    pub archive: Option<Archive>,
    /// Held while segments are kept and given up: one at a time, oldest first.
    retiring: Mutex<()>,
    /// Held while segment files are made or retired.
    space: Mutex<Space>,
}

#[derive(Debug)]
struct Control {
    /// Everything below is to be synced, whatever the durability.
    flush_to: u64,
    /// Callers waiting for `progress`.
    sleepers: usize,
    ahead: Ahead,
    /// The memory of the ring is to be touched up to this position.
    touch_to: u64,
    closing: bool,
}

/// What the writer has to do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    /// Where the records to be written end.
    pub end: u64,
    pub flush_to: u64,
    pub closing: bool,
}

impl Shared {
    /// Opens or creates the log, repaired and ready for appends.
    #[cfg(test)]
    pub fn open(
        disk: Arc<dyn Disk>,
        config: WalConfig,
        redo_start: Option<Lsn>,
        clock: Arc<dyn Clock>,
    ) -> Result<(Shared, WalReport), Error> {
        let opening = crate::Opening::begin(disk, config, redo_start)?;
        opening.settle(clock, Rand::from_os())
    }

    /// The log of a directory that has been repaired; the mark of this opening comes from `rand`.
    pub fn new(
        config: WalConfig,
        settled: Settled,
        clock: Arc<dyn Clock>,
        rand: &mut Rand,
    ) -> (Shared, WalReport) {
        let Settled {
            stream,
            log_id,
            space,
            extent,
            archive,
        } = settled;
        let report = extent.report(&stream);
        let end = extent.end;
        let payload_bytes_max = config.payload_bytes_max();
        let place_bytes_max = record::record_bytes(payload_bytes_max);
        let ring = Ring::new(config.ring_size(), place_bytes_max, end, stream.end());
        let shared = Shared {
            clock,
            log_id,
            header_seed: record::header_seed(log_id),
            run: rand.below(u64::from(u32::MAX)) as u32 + 1,
            marks: Arc::new(Marks::new(end)),
            counters: Counters::default(),
            ring,
            payload_bytes_max,
            pending_bytes: config.pending_bytes(),
            ask_at: AtomicU64::new(ask_at(&config, stream.end())),
            writer_sleeps: AtomicBool::new(false),
            company: Company::default(),
            control: Mutex::new(Control {
                flush_to: 0,
                sleepers: 0,
                ahead: Ahead::Enough,
                touch_to: 0,
                closing: false,
            }),
            work: Condvar::new(),
            progress: Condvar::new(),
            wanted: Condvar::new(),
            untouched: Condvar::new(),
            synced: AtomicU64::new(end),
            opened_at: end,
            stream: RwLock::new(stream),
            archive,
            retiring: Mutex::new(()),
            space: Mutex::new(space),
            config,
        };
        (shared, report)
    }

    pub fn end(&self) -> u64 {
        self.ring.end()
    }

    pub fn written(&self) -> u64 {
        self.ring.written()
    }

    pub fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// The segments as they are now.
    pub fn stream(&self) -> Stream {
        self.stream.read().clone()
    }

    /// Takes the place of a record at the end.
    #[inline]
    pub fn reserve(&self, payload_bytes: usize) -> Result<Reservation<'_>, Error> {
        if payload_bytes > self.payload_bytes_max {
            return Err(Error::TooLong {
                bytes: payload_bytes,
                bytes_max: self.payload_bytes_max,
            });
        }
        let bytes = record::record_bytes(payload_bytes);
        loop {
            match self.ring.reserve(bytes) {
                Ok(place) => {
                    if place.end() > self.ask_at.load(Ordering::Relaxed) {
                        self.ask_for_segment();
                    }
                    return Ok(Reservation::new(self, place, payload_bytes));
                }
                // Sealed by `poison`, after the reason was set, or by `close`.
                Err(Refused::Sealed) => {
                    return Err(self.marks.poisoned().unwrap_or(Error::Closed));
                }
                Err(Refused::Limit) => match self.ring.shortage(bytes) {
                    Some(Shortage::Memory) => return Err(Error::NoRoom),
                    Some(Shortage::Disk) => self.make_space(bytes)?,
                    // Somebody has just raised the limit, or is about to, and may have been put off
                    // his processor: perhaps for this thread.
                    None => crate::sync::yield_now(),
                },
            }
        }
    }

    /// Puts a record at the end; waits for memory if it is the writer that gives it back.
    pub fn append(&self, payload: &Payload) -> Result<Lsn, Error> {
        loop {
            match self.try_append(payload) {
                Err(Error::NoRoom) if !self.config.keep_in_memory => {
                    let bytes = record::record_bytes(payload.bytes().len());
                    let fits = || self.ring.shortage(bytes) != Some(Shortage::Memory);
                    self.wait_until(&mut self.control.lock(), fits)?;
                }
                outcome => return outcome,
            }
        }
    }

    /// Puts a record at the end, if there is memory for it.
    pub fn try_append(&self, payload: &Payload) -> Result<Lsn, Error> {
        let reservation = self.reserve(payload.bytes().len())?;
        let lsn = reservation.lsn();
        reservation.finish_as(payload);
        Ok(lsn)
    }

    /// After a record was finished. The writer stores that it sleeps and then looks at the end; here
    /// the end was moved (and the record filled) before this looks whether it sleeps. All of it is
    /// `SeqCst`, so one of the two sees the other.
    pub fn wake_writer(&self) {
        if self.writer_sleeps.load(Ordering::SeqCst)
            && self.writer_sleeps.swap(false, Ordering::SeqCst)
        {
            // Whoever has stored it holds the lock until it waits.
            drop(self.control.lock());
            self.work.notify_one();
        }
    }

    /// Whether an append may go ahead without letting more than the bound wait for the writer.
    pub fn has_room(&self) -> bool {
        let unwritten = self.end().saturating_sub(self.written());
        unwritten < self.pending_bytes
    }

    /// Waits on `progress` until `done` holds, a failure, or the end of the writer.
    fn wait_until(
        &self,
        control: &mut MutexGuard<'_, Control>,
        done: impl Fn() -> bool,
    ) -> Result<(), Error> {
        control.sleepers += 1;
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
            self.progress.wait(control);
        };
        control.sleepers -= 1;
        outcome
    }

    pub fn wait_for_room(&self) -> Result<(), Error> {
        if self.has_room() {
            return Ok(());
        }
        self.wait_until(&mut self.control.lock(), || self.has_room())
    }

    pub fn flush(&self) -> Result<(), Error> {
        let target = self.end();
        if self.synced() >= target {
            return Ok(());
        }
        self.ask_for_flush(target);
        self.wait_until(&mut self.control.lock(), || self.synced() >= target)
    }

    /// Everything below `target` is to be synced, whatever the durability.
    pub fn ask_for_flush(&self, target: u64) {
        let mut control = self.control.lock();
        control.flush_to = control.flush_to.max(target);
        self.work.notify_one();
    }

    /// Takes no more records, and lets the writer and the keeper finish.
    pub fn close(&self) {
        // First: whoever sees that the log is closing sees its last end.
        self.ring.seal();
        let mut control = self.control.lock();
        control.closing = true;
        self.work.notify_all();
        self.wanted.notify_all();
        self.untouched.notify_all();
    }

    /// What the writer has to do now.
    pub fn take_group(&self) -> Task {
        let control = self.control.lock();
        Task {
            end: self.end(),
            flush_to: control.flush_to,
            closing: control.closing,
        }
    }

    /// Puts the writer to sleep until there is something to do, or for `at_most`.
    pub fn sleep_writer(&self, at_most: Option<Duration>) {
        let mut control = self.control.lock();
        while !control.closing && control.flush_to <= self.synced() {
            self.writer_sleeps.store(true, Ordering::SeqCst);
            // After the store; see `wake_writer`.
            let more = self.end() > self.written();
            if more && !planted("shared: the writer sleeps without another look") {
                break;
            }
            match at_most {
                None => self.work.wait(&mut control),
                Some(limit) => {
                    if self.work.wait_for(&mut control, limit).timed_out() {
                        break;
                    }
                }
            }
        }
        self.writer_sleeps.store(false, Ordering::SeqCst);
    }

    /// Lets records gather, unless somebody waits for the writer already.
    pub fn gather(&self, at_most: Duration) {
        let mut control = self.control.lock();
        if control.sleepers == 0 && !control.closing && self.has_room() {
            self.work.wait_for(&mut control, at_most);
        }
    }

    /// The writer has handed everything below to the system.
    pub fn set_written(&self, position: u64) {
        self.ring.set_written(position);
        if !self.config.keep_in_memory {
            #[allow(unsafe_code, reason = "nobody was told that records stay in memory")]
            // SAFETY: without `keep_in_memory` an address of `finish` is good for nothing and
            // `Wal::memory` refuses; the writer is done with what it has written.
            unsafe {
                self.ring.reclaim(position);
            }
        }
        self.wake_sleepers();
    }

    /// The writer has synced everything below.
    pub fn set_synced(&self, position: u64) {
        self.synced.store(position, Ordering::Release);
        self.wake_sleepers();
    }

    fn wake_sleepers(&self) {
        if planted("shared: sleepers are told without the lock") {
            self.progress.notify_all();
            return;
        }
        // The lock is what makes a sleeper either see the new position or be asleep already.
        if self.control.lock().sleepers > 0 {
            self.progress.notify_all();
        }
    }

    /// How many callers wait for the writer.
    #[cfg(test)]
    pub fn sleepers(&self) -> usize {
        self.control.lock().sleepers
    }

    /// Nothing more is acknowledged, and whoever waits is told why.
    pub fn poison(&self, source: Arc<quintet_rt::Error>) {
        // The reason, then the seal, then the answers: whoever is told is refused from then on.
        self.marks.set_poison(source);
        self.ring.seal();
        self.marks.wake_all();
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
        let counters = &self.counters;
        let (kept_segments, kept_bytes) = self.archive.as_ref().map_or((0, 0), Archive::size);
        WalStats {
            records: self.ring.records(),
            bytes: self.end() - self.opened_at,
            groups: counters.groups.load(Ordering::Relaxed),
            syncs: counters.syncs.load(Ordering::Relaxed),
            sync_nanos_total: counters.sync_nanos_total.load(Ordering::Relaxed),
            sync_nanos_max: counters.sync_nanos_max.load(Ordering::Relaxed),
            slow_syncs: counters.slow_syncs.load(Ordering::Relaxed),
            segment_waits: counters.segment_waits.load(Ordering::Relaxed),
            segments,
            disk_bytes: segment_bytes + spare_bytes,
            kept_segments,
            kept_bytes,
            keep_failures: counters.keep_failures.load(Ordering::Relaxed),
            touched_bytes: counters.touched_bytes.load(Ordering::Relaxed),
        }
    }
}
