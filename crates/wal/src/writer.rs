//! The writer: takes a group, writes it, syncs it, says so.
//!
//! Relies on: being the only one that writes records into the stream, one turn at a time (`turns`); `ring` for the bytes, which go to
//! the disk by way of `blocks`.  Promises: `durable` is
//! published after the sync that covers it, never before; after a failure nothing is.  Does not:
//! wait for a group to fill unless there is company to expect: what gathers during one sync is the next group.
//!
//! ```text
//!            ┌──────────────────────────────────────────────────────────┐
//!            ▼                                                          │
//!   asleep ──► close group ──► write ──► sync, if due ──► publish ──────┘
//!     ▲              nothing to do        │ fails                │ closing
//!     └──────────────────┘                ▼                      ▼
//!                                      Poisoned                Stopped
//! ```
//!
//! Under `sync` a group may wait for company before it is closed (`shared::company`).
//!
//! A group is written when every reservation in it is finished; a slow one is waited for.
//!
//! When a sync is due:
//!
//! | durability | when |
//! |---|---|
//! | sync | after every group |
//! | async | the oldest unsynced write is `async_flush_interval_ms` old |
//! | none | never by itself |
//! | any | `flush` asks for it, or the log closes |

use crate::blocks::Blocks;
use crate::config::Planted;
use crate::record::{HEADER_CRC_AT, Header, RECORD_HEADER_BYTES, SYNCED_AT};
use crate::shared::{Shared, Task};
use crate::stream::Unsynced;
use quintet_base::Durability;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Where no answer waits for the disk, records gather for so long before they are written: a
/// thousand turns a second at most, instead of one (and a wake-up) per commit. A crash of the process
/// may lose that much more, which `async` allows two hundred times over.
pub(crate) const GATHER: Duration = Duration::from_millis(1);

/// The writer's own state; nobody else sees it.
#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    written: u64,
    synced: u64,
    unsynced: Unsynced,
    /// Under `none` nobody waits for a write, and the system's cache makes it short.
    blocks: Option<Blocks>,
    /// When the oldest of the unsynced writes was made.
    unsynced_since: u64,
    last_sync: LastSync,
    /// Records that were durable before it began.
    records_before: u64,
    /// When the log has come so far, memory ahead of it is asked for.
    ask_for_memory_at: u64,
}

/// A sync that has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastSync {
    /// When it began.
    pub began: u64,
    /// Those that it has made durable.
    pub records: u64,
}

/// What became of one turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Go on.
    Done,
    /// The log is closing and everything in it is synced.
    Closed,
    /// A write or sync has failed, now or before; nothing was done.
    Poisoned,
}

impl Writer {
    pub fn new(shared: Arc<Shared>) -> Writer {
        let position = shared.end();
        let waited_for = shared.config.durability != Durability::None;
        let ask_for_memory_at = match shared.wants_memory_ahead() {
            true => position,
            false => u64::MAX,
        };
        Writer {
            shared,
            blocks: waited_for.then(Blocks::new),
            written: position,
            synced: position,
            unsynced: Unsynced::default(),
            unsynced_since: 0,
            last_sync: LastSync::default(),
            records_before: 0,
            ask_for_memory_at,
        }
    }

    /// Takes what has gathered and does everything that is due.
    pub fn turn(&mut self) -> Turn {
        if self.shared.marks.poisoned().is_some() {
            return Turn::Poisoned;
        }
        let task = self.shared.take_group();
        match self.attempt(&task) {
            Ok(turn) => turn,
            Err(error) => {
                self.shared.poison(Arc::new(error));
                Turn::Poisoned
            }
        }
    }

    fn attempt(&mut self, task: &Task) -> Result<Turn, quintet_rt::Error> {
        if task.end > self.written {
            if task.end > self.ask_for_memory_at {
                self.ask_for_memory_at = self.shared.ask_for_memory(task.end);
            }
            self.write(task)?;
            self.shared.set_written(self.written);
            self.shared.counters.groups.fetch_add(1, Ordering::Relaxed);
        }
        if self.sync_is_due(task) {
            self.sync()?;
        }
        let durable = match self.shared.config.durability {
            Durability::Sync | Durability::Async => self.synced,
            Durability::None => self.written,
        };
        if durable > self.shared.marks.durable() {
            self.shared.marks.publish(durable);
        }
        // Whoever has waited for a flush expects to find it durable, so this comes second.
        if self.synced > self.shared.synced() {
            self.shared.set_synced(self.synced);
        }
        Ok(match task.closing {
            true => Turn::Closed,
            false => Turn::Done,
        })
    }

    fn write(&mut self, task: &Task) -> Result<(), quintet_rt::Error> {
        let ring = &self.shared.ring;
        assert_eq!(ring.written(), self.written, "groups follow each other");
        ring.wait_filled(task.end);
        if self.unsynced.is_empty() {
            self.unsynced_since = self.shared.clock.monotonic_nanos();
        }
        self.bear_witness();
        let stream = self.shared.stream();
        let mut position = self.written;
        for piece in ring.unwritten(task.end) {
            stream.write(position, piece, &mut self.unsynced, self.blocks.as_mut())?;
            position += piece.len() as u64;
        }
        assert_eq!(position, task.end, "the ring holds what is to be written");
        self.written = position;
        Ok(())
    }

    /// A record knows what was synced when it was finished, which may be a group ago. One record
    /// that knows it now is witness enough for recovery: the first of the group, whose place is known.
    fn bear_witness(&self) {
        let (ring, log_id) = (&self.shared.ring, self.shared.log_id);
        let bytes: [u8; RECORD_HEADER_BYTES] = ring.copy(self.written, 0);
        let header = Header::parse(&bytes, self.written, log_id);
        let mut header = header.expect("a group begins with a record of this log");
        if header.synced < self.synced {
            header.synced = self.synced;
            let mut stamped = bytes;
            header.write(&mut stamped, self.shared.header_seed);
            let synced: [u8; 8] = *stamped[SYNCED_AT..].first_chunk().expect("inside");
            let crc: [u8; 4] = *stamped[HEADER_CRC_AT..].first_chunk().expect("inside");
            ring.patch(self.written, SYNCED_AT, synced);
            ring.patch(self.written, HEADER_CRC_AT, crc);
        }
    }

    pub fn last_sync(&self) -> LastSync {
        self.last_sync
    }

    fn sync_is_due(&self, task: &Task) -> bool {
        if self.unsynced.is_empty() {
            return false;
        }
        let asked = task.closing || task.flush_to > self.synced;
        asked
            || match self.shared.config.durability {
                Durability::Sync => true,
                Durability::Async => self.until_sync_due() == Some(Duration::ZERO),
                Durability::None => false,
            }
    }

    /// Under [`Durability::Async`], how long the oldest unsynced write may still wait.
    pub fn until_sync_due(&self) -> Option<Duration> {
        if self.unsynced.is_empty() || self.shared.config.durability != Durability::Async {
            return None;
        }
        let interval = Duration::from_millis(self.shared.config.async_flush_interval_ms);
        let now = self.shared.clock.monotonic_nanos();
        let waited = Duration::from_nanos(now.saturating_sub(self.unsynced_since));
        Some(interval.saturating_sub(waited))
    }

    /// A sync that ends after more records were finished.
    #[cfg(test)]
    pub fn sync_now(&mut self) -> Result<(), quintet_rt::Error> {
        self.sync()
    }

    fn sync(&mut self) -> Result<(), quintet_rt::Error> {
        let before = self.shared.clock.monotonic_nanos();
        let files = match self.shared.config.plants(Planted::SkipSync) {
            true => std::mem::take(&mut self.unsynced).len(),
            false => self.unsynced.sync()?,
        };
        let after = self.shared.clock.monotonic_nanos();
        self.shared
            .counters
            .synced(files, after.saturating_sub(before));
        self.synced = self.written;
        self.shared.note_sync(after.saturating_sub(before));
        let records = self.shared.ring.records();
        self.last_sync = LastSync {
            began: before,
            records: records - self.records_before,
        };
        self.records_before = records;
        Ok(())
    }
}
