//! The log as others call it.
//!
//! Relies on: the other files of this crate.  Promises: see the crate.  Does not: hold logic of its
//! own beyond starting and ending the threads.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use quintet_wal::{Error, Payload, Wal, WalConfig};
//! # fn main() -> Result<(), Error> {
//! let disk = Arc::new(quintet_rt::RealDisk);
//! let (log, report) = Wal::open(disk, WalConfig::new("data/log"), None)?;
//! for record in log.read_from(report.begin)? {
//!     let (lsn, payload) = record?;
//!     println!("{lsn}: {} bytes", payload.len());
//! }
//! let payload = Payload::new("a commit".into()); // outside of the critical section
//! log.wait_for_room()?; //                          outside of it
//! let lsn = log.append(payload)?; //                inside of it
//! log.when_durable(lsn).wait()?; //                 or `.await`
//!
//! let mut record = log.reserve(8)?; //              or put together where it will stay
//! let commit_timestamp = record.lsn();
//! record.payload().copy_from_slice(b"a commit");
//! let version = record.finish(); //                 its address, with `keep_in_memory`
//! # Ok(())
//! # }
//! ```

use crate::archive::Archive;
use crate::config::WalConfig;
use crate::driven::Driver;
use crate::durable::Durable;
use crate::error::Error;
use crate::opening::Opening;
use crate::reader::LogReader;
use crate::record::Payload;
use crate::recover::WalReport;
use crate::reservation::{MemoryRecords, Reservation};
use crate::segment;
use crate::shared::Shared;
use crate::shared::company::Committer;
use crate::stats::WalStats;
use crate::stream::Stream;
use crate::turns::Turns;
use parking_lot::Mutex;
use quintet_base::{Durability, Lsn};
use quintet_rt::threads::{self, JoinHandle};
use quintet_rt::{Clock, Disk, OpenMode, Rand};
use std::sync::Arc;

/// A redo log, open for appending. The last handle to go shuts it down.
#[derive(Debug)]
pub struct Wal {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The writer's; `None`: the driver takes them.
    turns: Option<Arc<Turns>>,
    /// Does what the threads would do, if there are none.
    driver: Option<Arc<Driver>>,
}

impl Wal {
    /// Opens the log of a directory, or makes one; finds its end, cuts a torn tail, and starts the
    /// writer. `redo_start` is where the caller will begin to read: everything below it is
    /// neither checked nor kept. `None` keeps and checks everything that is there.
    ///
    /// # Errors
    /// [`Error::Damaged`] if something that was acknowledged is not there as it was written, with
    /// its position and nothing changed; [`Error::DiskFull`], [`Error::Io`].
    pub fn open(
        disk: Arc<dyn Disk>,
        config: WalConfig,
        redo_start: Option<Lsn>,
    ) -> Result<(Arc<Wal>, WalReport), Error> {
        Opening::begin(disk, config, redo_start)?.finish()
    }

    /// As [`Wal::open`], for simulation: without threads, with a given clock, and with a name that comes
    /// from `rand`. Nothing happens in the background but what the [`Driver`] is told to do; who would
    /// wait for the writer takes its turn.
    ///
    /// # Errors
    /// As [`Wal::open`].
    pub fn open_driven(
        disk: Arc<dyn Disk>,
        config: WalConfig,
        redo_start: Option<Lsn>,
        clock: Arc<dyn Clock>,
        rand: Rand,
    ) -> Result<(Arc<Wal>, Arc<Driver>, WalReport), Error> {
        Opening::begin(disk, config, redo_start)?.finish_driven(clock, rand)
    }

    /// Starts the writer, the keeper and whoever touches memory ahead.
    pub(crate) fn started(shared: Shared) -> Arc<Wal> {
        let shared = Arc::new(shared);
        let turns = Arc::new(Turns::new(Arc::clone(&shared)));
        let writer = Arc::clone(&turns);
        let keeper = Arc::clone(&shared);
        let mut threads = vec![
            threads::spawn("wal-writer", move || writer.run()),
            threads::spawn("wal-segments", move || keeper.keep_segments()),
        ];
        if shared.wants_memory_ahead() {
            let shared = Arc::clone(&shared);
            threads.push(threads::spawn("wal-memory", move || {
                threads::only_when_idle();
                shared.touch_ahead();
            }));
        }
        Arc::new(Wal {
            shared,
            threads: Mutex::new(threads),
            turns: Some(turns),
            driver: None,
        })
    }

    /// Leaves the writer's and the keeper's work to the driver.
    pub(crate) fn driven(shared: Shared) -> (Arc<Wal>, Arc<Driver>) {
        let shared = Arc::new(shared);
        let driver = Arc::new(Driver::new(Arc::clone(&shared)));
        let wal = Wal {
            shared,
            threads: Mutex::new(Vec::new()),
            turns: None,
            driver: Some(Arc::clone(&driver)),
        };
        (Arc::new(wal), driver)
    }

    /// Reads the records from `from`, which must be the redo start or the lsn of a record, up to
    /// what has been written by now. Meant for recovery, before appends.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the log does not reach back (or forward) to `from`.
    pub fn read_from(&self, from: Lsn) -> Result<LogReader, Error> {
        let written = self.shared.written();
        let stream = self.shared.stream();
        if from.0 < stream.start() || from.0 > written {
            return Err(stream.damaged(from.0, "the log does not hold this position"));
        }
        Ok(LogReader::new(stream, from.0, written, self.shared.log_id))
    }

    /// Reads the records from `from`, which must be the lsn of a record, up to what is durable now: out of the
    /// archive, if there is one, where the log itself does not reach back. May be called at any time. A reader
    /// that is overtaken by truncation ends with [`Error::Damaged`]; make another one where it stood.
    ///
    /// # Errors
    /// [`Error::Damaged`] if neither reaches back (or forward) to `from`.
    pub fn read_kept_from(&self, from: Lsn) -> Result<LogReader, Error> {
        let durable = self.durable().0;
        let live = self.shared.stream();
        let mut stream = Stream::default();
        let kept = self.shared.archive.as_ref().map(Archive::kept);
        let kept = kept.unwrap_or_default();
        let first = kept.partition_point(|kept| kept.start <= from.0);
        let older = kept[first.saturating_sub(1)..].iter();
        if from.0 < live.start() {
            for kept in older.take_while(|kept| kept.start < live.start()) {
                let disk = self.shared.archive.as_ref().map(Archive::disk);
                let Some(disk) = disk else { break };
                let mode = OpenMode::Read;
                let (segment, _) = segment::open_at(&**disk, &kept.path, kept.start, mode)?;
                if !stream.segments().is_empty() && stream.end() != segment.start {
                    break;
                }
                stream.push(segment);
            }
            if stream.segments().is_empty()
                || stream.end() != live.start()
                || from.0 < stream.start()
            {
                return Err(live.damaged(from.0, "the log is not kept from this position on"));
            }
        }
        live.segments().iter().for_each(|s| stream.push(s.clone()));
        if from.0 > durable {
            return Err(live.damaged(from.0, "the log has not come to this position"));
        }
        Ok(LogReader::new(stream, from.0, durable, self.shared.log_id))
    }

    /// Where reading could begin now: at or below every position that [`Wal::read_kept_from`] takes.
    pub fn kept_from(&self) -> Lsn {
        let live = self.shared.stream().start();
        let kept = self.shared.archive.as_ref().map(Archive::kept);
        let kept = kept.unwrap_or_default();
        Lsn(kept.first().map_or(live, |kept| kept.start.min(live)))
    }

    /// Takes the place of a record with this much payload at the end of the log, to be filled and
    /// finished by the caller. The order of reservations is the order of the log. Cheap: one
    /// compare-exchange, no lock, no wait, but when the space is used up and the next segment is
    /// not ready.
    ///
    /// # Errors
    /// Refusals, after which nothing has changed: [`Error::NoRoom`] (memory must be reclaimed; without
    /// [`WalConfig::keep_in_memory`] the writer is about to do it), [`Error::DiskFull`],
    /// [`Error::Io`] (the next segment could not be made), [`Error::TooLong`], [`Error::Closed`],
    /// [`Error::Poisoned`].
    #[inline]
    pub fn reserve(&self, payload_bytes: usize) -> Result<Reservation<'_>, Error> {
        self.shared.reserve(payload_bytes)
    }

    /// Puts a record at the end; its lsn is the position after it. As [`Wal::reserve`], but that it
    /// waits for the writer where that one says that memory must be reclaimed, if the writer is who
    /// reclaims it.
    ///
    /// # Errors
    /// As [`Wal::reserve`]; [`Error::NoRoom`] only with [`WalConfig::keep_in_memory`].
    pub fn append(&self, payload: Payload) -> Result<Lsn, Error> {
        if let Some(driver) = &self.driver
            && !self.shared.config.keep_in_memory
        {
            match self.shared.try_append(&payload) {
                Err(Error::NoRoom) => driver.write(),
                outcome => return outcome,
            };
        }
        self.shared.append(&payload)
    }

    /// Capacity of the memory: `end - reclaimed` never exceeds it.
    pub fn ring_bytes(&self) -> u64 {
        self.shared.ring.bytes()
    }

    /// The memory of everything below may have been overwritten.
    pub fn reclaimed(&self) -> Lsn {
        Lsn(self.shared.ring.reclaimed())
    }

    /// Gives the memory of everything below back for reuse. It never goes back: below what is given
    /// back already, this does nothing.
    ///
    /// # Safety
    /// Nobody reads there any more, neither through an address that [`Reservation::finish`] returned
    /// nor through a payload of [`Wal::memory`] or [`Wal::lasting`]: other records are written there while he would.
    ///
    /// # Panics
    /// If `below` is past what has been written (which [`Wal::durable`] never is), or while
    /// [`MemoryRecords`] that begin below it exist.
    #[allow(unsafe_code, reason = "only the caller knows who holds addresses")]
    pub unsafe fn reclaim(&self, below: Lsn) {
        // SAFETY: the caller's promise.
        unsafe { self.shared.ring.reclaim(below.0) };
    }

    /// The records with an lsn in `(from, to]`, from memory. Both are lsns of records, or
    /// [`Wal::reclaimed`] as it was after opening. Waits until they are finished, see
    /// [`Wal::wait_filled`].
    ///
    /// # Panics
    /// Without [`WalConfig::keep_in_memory`]; if `from` is below [`Wal::reclaimed`], or `to` past
    /// [`Wal::end`]; later, if `from` or `to` is no record's end.
    pub fn memory(&self, from: Lsn, to: Lsn) -> MemoryRecords<'_> {
        assert!(
            self.shared.config.keep_in_memory,
            "the writer reclaims what is to be read from memory"
        );
        self.shared.ring.wait_filled(to.0);
        MemoryRecords::new(&self.shared.ring, from.0, to.0)
    }

    /// Bytes that somebody has found in a finished record, for as long as whoever reclaims memory knows of them; `None`: they are
    /// somewhere else.
    pub fn lasting(&self, bytes: &[u8]) -> Option<&[u8]> {
        self.shared.ring.lasting(bytes)
    }

    /// Waits until every reservation at or below `to` is finished: spins, then yields. Does not
    /// depend on the writer, and so on no disk. Must not be called by a thread that holds one of them.
    ///
    /// # Panics
    /// If `to` is past [`Wal::end`].
    pub fn wait_filled(&self, to: Lsn) {
        self.shared.ring.wait_filled(to.0);
    }

    /// Waits while more than the configured bytes (or half of the memory) are appended and not yet
    /// written. To be called
    /// before a critical section that appends: `append` itself does not wait.
    ///
    /// # Errors
    /// [`Error::Poisoned`], [`Error::Closed`].
    pub fn wait_for_room(&self) -> Result<(), Error> {
        if let Some(driver) = &self.driver
            && !self.shared.has_room()
        {
            driver.write();
        }
        self.shared.wait_for_room()
    }

    /// Whether [`Wal::wait_for_room`] would return at once.
    pub fn has_room(&self) -> bool {
        self.shared.has_room()
    }

    /// Position after the last record that was appended or reserved: one atomic load. Whoever reads an
    /// end happens after every reservation at or below it began, and before every later one.
    pub fn end(&self) -> Lsn {
        Lsn(self.shared.end())
    }

    /// Everything at or below is durable: synced, or under [`Durability::None`] written.
    pub fn durable(&self) -> Lsn {
        Lsn(self.shared.marks.durable())
    }

    /// As [`Wal::when_durable`], for a session, under [`Durability::Sync`]: if many of them wait for commits, groups may wait a little for
    /// more of them; for one alone ([`Wal::is_alone`]) this thread writes and syncs, and what it returns is ready.
    pub fn when_durable_for(self: &Arc<Self>, committer: &mut Committer, lsn: Lsn) -> Durable {
        self.shared.count_committer(committer);
        if let Some(turns) = &self.turns {
            turns.take_alone(committer, lsn);
        }
        // Who has finished quietly may not be alone any more.
        self.shared.wake_writer();
        self.when_durable(lsn)
    }

    /// Whether a session is the only one that waits for commits these days, and the disk quick enough that its own thread may write
    /// them. Whoever is may finish quietly ([`Reservation::finish_quietly`]).
    pub fn is_alone(&self, committer: &Committer) -> bool {
        self.turns.is_some()
            && self.durability() == Durability::Sync
            && self.shared.is_alone(committer)
    }

    /// Resolves when [`Wal::durable`] has reached `lsn`, or with why it will not. Under
    /// [`Durability::Async`] that may take the whole flush interval; whoever does not want to wait
    /// does not ask. Allocates nothing when it is durable already.
    pub fn when_durable(self: &Arc<Self>, lsn: Lsn) -> Durable {
        Durable::new(Arc::clone(&self.shared.marks), lsn)
    }

    /// Writes and syncs everything that has been appended, whatever the durability. Must have
    /// succeeded before a redo start at or below [`Wal::end`] is recorded elsewhere.
    ///
    /// # Errors
    /// [`Error::Poisoned`], [`Error::Closed`].
    pub fn flush(&self) -> Result<(), Error> {
        if let Some(driver) = &self.driver {
            driver.flush();
        }
        self.shared.flush()
    }

    /// Nothing before `redo_start` is needed any more: segments wholly below it go, but for as many as
    /// have lately been used from one truncation to the next, which are kept to be reused. The new redo start must be on disk elsewhere before.
    ///
    /// # Errors
    /// [`Error::Io`] if a file could not be removed, which the next opening makes up for;
    /// [`Error::Poisoned`], [`Error::Closed`].
    ///
    /// # Panics
    /// If `redo_start` is past the end of the log.
    pub fn truncate(&self, redo_start: Lsn) -> Result<(), Error> {
        if let Some(driver) = &self.driver
            && self.shared.synced() < redo_start.0
        {
            driver.flush();
        }
        self.shared.truncate(redo_start)
    }

    /// Gives the disk back what is kept to be reused, for whoever finds it full.
    ///
    /// # Errors
    /// [`Error::Io`] if a file could not be removed; others are.
    pub fn give_spares_back(&self) -> Result<(), Error> {
        self.shared.give_spares_back()
    }

    /// Counters.
    pub fn stats(&self) -> WalStats {
        self.shared.stats()
    }

    /// Whether records stay in memory until they are reclaimed ([`WalConfig::keep_in_memory`]).
    pub fn keeps_in_memory(&self) -> bool {
        self.shared.config.keep_in_memory
    }

    /// Random, and the same as long as the log lives: which log a position is a position of.
    pub fn id(&self) -> u64 {
        self.shared.log_id
    }

    /// The durability that the log was opened with.
    pub fn durability(&self) -> Durability {
        self.shared.config.durability
    }

    /// Whether a write or sync has failed: nothing more will be acknowledged.
    pub fn is_poisoned(&self) -> bool {
        self.shared.marks.poisoned().is_some()
    }

    /// Takes no more appends, makes everything durable that was appended (under every durability)
    /// and ends the threads. Waits for reservations that are not finished. May be called again.
    pub fn shutdown(&self) {
        self.shared.close();
        if let Some(driver) = &self.driver {
            driver.end();
        }
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A waker may drop the last handle on the writer's own thread; it ends by itself.
            if !thread.is_current() {
                // A panic has poisoned the log and was printed; there is nothing to add.
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.shutdown();
    }
}
