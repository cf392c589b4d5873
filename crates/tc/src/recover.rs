//! Opening the component: what the log holds becomes visible.
//!
//! Relies on: a log and a STORE that belong together (STORE's redo start lies inside the log).
//! Promises: after opening, every commit that the log holds is visible; the log is read once, as long
//! as what it says fits into memory, and is not changed, nor STORE, before it has been found
//! undamaged; memory keeps its bound however long the log is.  Does not: undo anything.
//!
//! ```text
//!   redo start            memory full                    end
//!   ──┬───────────────────────┬───────────────────────────┬──
//!     │ read, checked, into   │ read and checked for the  │ repaired, open for appends
//!     │ the lanes             │ end; then, piece by       │
//!     │                       │ piece: lanes, merge       │
//! ```
//! With the bounds it was written under, a log has no second part: what a crash leaves to be replayed is
//! at most as long as the log's buffers (`compactor`), and those are empty while it is replayed.

mod figures;

use crate::compact;
use crate::compactor::Compactor;
use crate::component::Tc;
use crate::config::TcConfig;
use crate::error::Error;
use crate::lanes::{Bare, Ground, Lanes, Notes};
use crate::shared::Shared;
use crate::table::Table;
use quintet_base::{Lsn, Timestamp};
use quintet_dc::DataComponent;
use quintet_rt::{Clock, Rand, RealClock};
use quintet_wal::{Block, Driver, Opening, Wal, WalReport};
use std::sync::Arc;
use std::time::Duration;

pub use figures::{Recovery, RecoveryProgress};

/// More lanes would wait for whoever reads the log.
const LANES_MAX: usize = 16;

/// A second goes by between two words about how far it is.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// How to recover.
pub struct RecoveryOptions<'a> {
    /// Threads that install; one: the caller's.
    pub lanes: usize,
    /// For durations, and for when to call `progress`.
    pub clock: &'a dyn Clock,
    /// Called about once a second.
    pub progress: &'a mut dyn FnMut(&RecoveryProgress),
}

/// How many threads install if nobody says: one for each processor.
pub fn replay_lanes() -> usize {
    quintet_rt::threads::processors().min(LANES_MAX)
}

/// An open component and its log.
pub struct Recovered {
    /// The component.
    pub tc: Tc,
    /// Its log.
    pub log: Arc<Wal>,
    /// The log as it was found.
    pub log_report: WalReport,
    /// What was replayed.
    pub recovery: Recovery,
}

impl Tc {
    /// Opens the component and its log: replays from where STORE's checkpoint left off, while the
    /// log's end is looked for.
    ///
    /// # Errors
    /// [`Error::Log`], [`Error::Store`], [`Error::Record`].
    ///
    /// # Panics
    /// If the log does not keep its records in memory.
    pub fn recover(
        opening: Opening,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
        options: RecoveryOptions<'_>,
    ) -> Result<Recovered, Error> {
        let finish = |opening: Opening| {
            let (log, report) = opening.finish()?;
            Ok((log, report, ()))
        };
        let (shared, log_report, recovery, ()) = recover(opening, store, config, options, finish)?;
        let log = Arc::clone(&shared.log);
        let compactor = Compactor::start(&shared);
        Ok(Recovered {
            tc: Tc::with(shared, compactor),
            log,
            log_report,
            recovery,
        })
    }

    /// As [`Tc::recover`], with a log that is open already, and so has been read once.
    ///
    /// # Errors
    /// As [`Tc::recover`].
    ///
    /// # Panics
    /// As [`Tc::recover`].
    pub fn open(
        log: Arc<Wal>,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
    ) -> Result<(Tc, Recovery), Error> {
        let (shared, recovery) = replay_open(log, store, config, replay_lanes())?;
        let compactor = Compactor::start(&shared);
        Ok((Tc::with(shared, compactor), recovery))
    }

    /// As [`Tc::open`], for simulation: without a thread. A pass runs when [`Tc::compact`] or
    /// [`Tc::compact_if_wanted`] is called, on the thread that calls it. The same calls do the same.
    ///
    /// # Errors
    /// As [`Tc::recover`].
    pub fn open_driven(
        log: Arc<Wal>,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
    ) -> Result<(Tc, Recovery), Error> {
        do_the_same_each_time();
        let (shared, recovery) = replay_open(log, store, config, 1)?;
        let compactor = Compactor::driven(&shared);
        Ok((Tc::with(shared, compactor), recovery))
    }

    /// As [`Tc::recover`], for simulation: without a thread, also in the log.
    ///
    /// # Errors
    /// As [`Tc::recover`].
    pub fn recover_driven(
        opening: Opening,
        store: Arc<dyn DataComponent>,
        config: TcConfig,
        clock: &Arc<dyn Clock>,
        rand: Rand,
    ) -> Result<(Recovered, Arc<Driver>), Error> {
        do_the_same_each_time();
        let options = RecoveryOptions {
            lanes: 1,
            clock: &**clock,
            progress: &mut |_| {},
        };
        let finish = |opening: Opening| {
            let (log, driver, report) = opening.finish_driven(Arc::clone(clock), rand)?;
            Ok((log, report, driver))
        };
        let (shared, log_report, recovery, driver) =
            recover(opening, store, config, options, finish)?;
        let log = Arc::clone(&shared.log);
        let compactor = Compactor::driven(&shared);
        let recovered = Recovered {
            tc: Tc::with(shared, compactor),
            log,
            log_report,
            recovery,
        };
        Ok((recovered, driver))
    }
}

fn do_the_same_each_time() {
    crate::table::hash_predictably();
    crate::seats::begin_anew();
}

/// A replay under way.
struct Replay<'a> {
    options: RecoveryOptions<'a>,
    begun: Duration,
    told: Duration,
    recovery: Recovery,
    notes: Notes,
    /// Log that memory may hold beyond what STORE has, and what it may weigh.
    log_bytes_max: u64,
    weight_max: u64,
}

impl<'a> Replay<'a> {
    fn new(
        options: RecoveryOptions<'a>,
        redo_start: Lsn,
        config: &TcConfig,
        ring_bytes: u64,
    ) -> Replay<'a> {
        let begun = Duration::from_nanos(options.clock.monotonic_nanos());
        Replay {
            begun,
            told: begun,
            recovery: Recovery {
                redo_start,
                end: redo_start,
                lanes: options.lanes,
                ..Recovery::default()
            },
            options,
            notes: Notes::default(),
            log_bytes_max: ring_bytes,
            // The log's buffers are empty; half of their memory is left for whoever commits before
            // the first merge is over.
            weight_max: (config.cache_bytes_max + config.lent_bytes_max) as u64 + ring_bytes / 2,
        }
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.options.clock.monotonic_nanos())
    }

    /// Whether something has to go to STORE before more is installed.
    fn is_full<G: Ground>(&self, lanes: &Lanes<G>, posted: Timestamp) -> bool {
        let dirty = self.recovery.end.0 - posted.0;
        dirty >= self.log_bytes_max || dirty > 0 && lanes.weight() > self.weight_max
    }

    fn read<E>(
        &mut self,
        read: impl FnOnce() -> Result<Option<Block>, E>,
    ) -> Result<Option<Block>, E> {
        let before = self.now();
        let block = read();
        self.recovery.reading += self.now() - before;
        block
    }

    fn share<G: Ground>(&mut self, lanes: &mut Lanes<G>, block: &Block) -> Result<(), Error> {
        let before = self.now();
        lanes.share(block, &mut self.notes)?;
        if let Some((lsn, _)) = block.records().last() {
            self.recovery.end = *lsn;
        }
        self.recovery.replaying += self.now() - before;
        Ok(())
    }

    fn finish<G: Ground>(&mut self, lanes: Lanes<G>) {
        let before = self.now();
        self.notes.carried.extend(lanes.finish());
        self.recovery.replaying += self.now() - before;
    }

    fn tell(&mut self, end: impl FnOnce() -> Lsn) {
        let now = self.now();
        if now - self.told < TELL_EVERY {
            return;
        }
        self.told = now;
        (self.options.progress)(&RecoveryProgress {
            redo_start: self.recovery.redo_start,
            position: self.recovery.end,
            end: end(),
            changes: self.notes.changes,
            took: now - self.begun,
        });
    }

    /// What fits into a table without a component, while the log's end is looked for.
    fn before_the_end(
        &mut self,
        opening: &mut Opening,
        store: &Arc<dyn DataComponent>,
    ) -> Result<Table, Error> {
        let bare = Arc::new(Bare {
            table: Table::new(),
            store: Arc::clone(store),
        });
        let posted = Timestamp(self.recovery.redo_start.0);
        let mut lanes = Lanes::new(&bare, self.options.lanes, posted);
        let mut end = Lsn::ZERO;
        while !self.is_full(&lanes, posted) {
            let Some(block) = self.read(|| opening.next_block()).map_err(Error::Log)? else {
                break;
            };
            self.share(&mut lanes, &block)?;
            let position = self.recovery.end;
            self.tell(|| {
                if end <= position {
                    // Only a guess: whoever reads the log is told what is wrong with it.
                    end = opening.guess_end().unwrap_or(position);
                }
                end
            });
        }
        self.finish(lanes);
        let bare = Arc::into_inner(bare).expect("the lanes are finished");
        Ok(bare.table)
    }

    /// What has not been replayed yet, with merges where memory is full.
    fn behind(&mut self, shared: &Arc<Shared>) -> Result<(), Error> {
        self.notes.settle(shared);
        let end = shared.log.end();
        let from = self.recovery.end;
        let mut log = shared.log.read_from(from).map_err(Error::Log)?;
        while self.recovery.end < end {
            let posted = shared.generations.newest();
            let mut lanes = Lanes::new(shared, self.options.lanes, posted);
            while self.recovery.end < end && !self.is_full(&lanes, posted) {
                let Some(block) = self.read(|| log.next_block()).map_err(Error::Log)? else {
                    break;
                };
                self.share(&mut lanes, &block)?;
                self.tell(|| end);
            }
            self.finish(lanes);
            if self.recovery.end < end {
                self.merge(shared)?;
            }
        }
        self.notes.settle(shared);
        Ok(())
    }

    fn merge(&mut self, shared: &Shared) -> Result<(), Error> {
        let before = self.now();
        self.notes.settle(shared);
        compact::post(shared, Timestamp(self.recovery.end.0), true)?;
        compact::give_back(shared);
        self.recovery.merges += 1;
        self.recovery.merging += self.now() - before;
        Ok(())
    }

    /// The figures; a merge begins at once if so much is left for it.
    fn done(mut self, shared: &Shared) -> Recovery {
        self.recovery.commits = self.notes.commits;
        self.recovery.changes = self.notes.changes;
        self.recovery.took = self.now() - self.begun;
        // First, since who wants any pass is content with the one below.
        shared.compact_if_full(shared.end());
        if self.recovery.changes > 0 {
            // What was removed is in the order still.
            shared.removals.note_unknown(shared.end());
            shared.want_pass();
        }
        self.recovery
    }
}

fn recover<X>(
    mut opening: Opening,
    store: Arc<dyn DataComponent>,
    config: TcConfig,
    options: RecoveryOptions<'_>,
    finish: impl FnOnce(Opening) -> Result<(Arc<Wal>, WalReport, X), quintet_wal::Error>,
) -> Result<(Arc<Shared>, WalReport, Recovery, X), Error> {
    let redo_start = store.redo_start();
    let mut replay = Replay::new(options, redo_start, &config, opening.ring_bytes());
    let table = replay.before_the_end(&mut opening, &store)?;
    let before = replay.now();
    let (log, report, more) = finish(opening).map_err(Error::Log)?;
    replay.recovery.reading += replay.now() - before;
    let shared = component(log, store, config, table);
    replay.behind(&shared)?;
    let recovery = replay.done(&shared);
    Ok((shared, report, recovery, more))
}

fn replay_open(
    log: Arc<Wal>,
    store: Arc<dyn DataComponent>,
    config: TcConfig,
    lanes: usize,
) -> Result<(Arc<Shared>, Recovery), Error> {
    let options = RecoveryOptions {
        lanes,
        clock: &RealClock,
        progress: &mut |_| {},
    };
    let mut replay = Replay::new(options, store.redo_start(), &config, log.ring_bytes());
    let shared = component(log, store, config, Table::new());
    replay.behind(&shared)?;
    let recovery = replay.done(&shared);
    Ok((shared, recovery))
}

fn component(
    log: Arc<Wal>,
    store: Arc<dyn DataComponent>,
    config: TcConfig,
    table: Table,
) -> Arc<Shared> {
    assert!(
        log.keeps_in_memory(),
        "versions live in the log's buffers: WalConfig::keep_in_memory"
    );
    Arc::new(Shared::new(log, store, config, table))
}
