//! Groups that wait for more commits before they are synced, and sessions that commit alone.
//!
//! Relies on: sessions that wait for their commits say so ([`Committer`]); the writer says how long syncs take.
//! Promises: a group waits only if many sessions commit these days and the group before it was one of several, and no longer than [`COMPANY`] after the sync before it began.
//! Does not: make the commits of a few sessions wait, or know what else the machine does.
//!
//! A sync costs a processor some 50 to 100 µs, whatever the disk does meanwhile. Of a few sessions most wait for the disk
//! when a sync ends, and to wait for the others wins nothing; many have other work to do, the time of a sync is short
//! beside it, and the longer a group waits the more of them share the next sync.
//!
//! ```text
//!   sync begins ─────────────── COMPANY ──────────────► next sync begins
//!      ├─ few sessions committed lately ─────────────── as soon as there is a record and the sync has ended
//!      └─ the sync was for one record ───────────────── the same
//! ```

use super::Shared;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// From the beginning of one sync to that of the next.
const COMPANY: Duration = Duration::from_micros(600);

/// Committers are counted for so long.
const WINDOW: Duration = Duration::from_millis(20);

/// So many committers in a window are many.
const MANY: u64 = 16;

/// A session of which the last commits all are that were waited for is alone from so many on.
const ALONE_FROM: u32 = 8;

/// Who writes for himself is held up by the disk, and with him whoever is served by the same thread: no longer than a short
/// statement takes.
const SHORT_SYNC_NS: u64 = 1_000_000;

/// A session that commits and waits until that is durable; for [`crate::Wal::when_durable_for`].
#[derive(Debug, Default)]
pub struct Committer {
    /// In which it was last counted.
    window: u64,
    /// Which it is; 0: it has not committed yet.
    number: u64,
    /// How often it has waited since somebody else did.
    in_a_row: u32,
}

/// Who has committed in this window, and who last. Nothing else hangs on the numbers, so all is Relaxed.
#[derive(Debug)]
pub(super) struct Company {
    window: AtomicU64,
    committers: AtomicU64,
    /// Committers that were numbered.
    numbers: AtomicU64,
    /// Who has waited last.
    last: AtomicU64,
    /// How long the last sync took.
    sync_ns: AtomicU64,
}

impl Default for Company {
    fn default() -> Company {
        Company {
            // New committers were in the one before.
            window: AtomicU64::new(1),
            committers: AtomicU64::new(0),
            numbers: AtomicU64::new(0),
            last: AtomicU64::new(0),
            sync_ns: AtomicU64::new(0),
        }
    }
}

/// What the writer knows of the last window.
#[derive(Debug, Default)]
pub(crate) struct Lately {
    /// When the window began that is counted now.
    began: u64,
    many: bool,
}

#[cfg(test)]
impl Lately {
    pub fn many(&self) -> bool {
        self.many
    }
}

impl Shared {
    /// It waits for a commit of its own.
    pub fn count_committer(&self, committer: &mut Committer) {
        let window = self.company.window.load(Ordering::Relaxed);
        if committer.window != window {
            committer.window = window;
            self.company.committers.fetch_add(1, Ordering::Relaxed);
        }
        if committer.number == 0 {
            committer.number = self.company.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        }
        if self.company.last.load(Ordering::Relaxed) == committer.number {
            committer.in_a_row = committer.in_a_row.saturating_add(1);
        } else {
            self.company.last.store(committer.number, Ordering::Relaxed);
            committer.in_a_row = 0;
        }
    }

    /// See [`crate::Wal::is_alone`].
    pub fn is_alone(&self, committer: &Committer) -> bool {
        committer.in_a_row >= ALONE_FROM
            && self.company.last.load(Ordering::Relaxed) == committer.number
            && self.company.sync_ns.load(Ordering::Relaxed) < SHORT_SYNC_NS
    }

    /// A sync has ended.
    pub fn note_sync(&self, took_ns: u64) {
        self.company.sync_ns.store(took_ns, Ordering::Relaxed);
    }

    /// Lets the group of a writer who has synced several records since `sync_began` wait for company, if there is any to expect.
    pub fn wait_for_company(&self, lately: &mut Lately, sync_began: u64) {
        let now = self.clock.monotonic_nanos();
        if now.saturating_sub(lately.began) >= WINDOW.as_nanos() as u64 {
            let committers = self.company.committers.swap(0, Ordering::Relaxed);
            self.company.window.fetch_add(1, Ordering::Relaxed);
            *lately = Lately {
                began: now,
                many: committers >= MANY,
            };
        }
        let waited = Duration::from_nanos(now.saturating_sub(sync_began));
        let left = COMPANY.saturating_sub(waited);
        if !lately.many || left.is_zero() {
            return;
        }
        let mut control = self.control.lock();
        let asked = control.flush_to > self.synced() || control.sleepers > 0 || control.closing;
        if !asked && self.has_room() {
            self.work.wait_for(&mut control, left);
        }
    }
}
