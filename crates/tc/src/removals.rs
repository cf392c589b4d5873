//! Removed records on their way out of memory: who waits for what.
//!
//! Relies on: `table::removed` decides how far each may go.  Promises: a removed record leaves the order of its
//! space soon after the last snapshot that reads what was there before; it leaves memory when STORE has been
//! told, if STORE has to be; what waits is bounded, and what is forgotten for that is found again.
//! Does not: wait, or keep a commit for longer than a few records take.
//!
//! ```text
//!   commit ──► scanned ──nobody scans below──► out of the order ──► unread ──nobody reads below──┐
//!                                                                                              │
//!   merge told STORE ──► posted ──nobody reads below──► gone      STORE never had it: volatile ◄┤
//!                                                                 ──durable──► gone            │
//!                                                                 STORE has it: next merge  ◄──┘
//! ```
//! Each commit takes away as many as it has brought, and a few; a pass takes away all that it can. Without
//! this a queue (rows come at one end of a range and leave at the other) would gather removed records just
//! where its readers begin.

#[cfg(all(test, not(shuttle)))]
mod tests;

use crate::commit::Taken;
use crate::record::CommitRecord;
use crate::seats::{LowWater, Seat};
use crate::shared::Shared;
use crate::table::{Next, Removed, Water, hash};
use parking_lot::Mutex;
use quintet_base::limits::REMOVALS_WAITING_MAX;
use quintet_base::{SpaceId, Timestamp};
use quintet_index::Entry;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Piles, so that threads rarely share one.
const PILES: usize = 16;

/// How many a pile has of each kind.
const PILE_MAX: usize = REMOVALS_WAITING_MAX / PILES;

/// What a commit takes away besides twice what it has removed: what others have left.
const FEW: usize = 2;

/// So many removals of what STORE has, in spaces of which memory lacks some, make a merge due: until STORE
/// has been told, a scan from there on meets each of them (a third of a microsecond). TPC-C with so
/// many Deliveries makes 20 to 60 MiB of log meanwhile.
const UNPOSTED_MAX: usize = if cfg!(feature = "sim") { 4 } else { 8192 };

/// Removed records that have not left memory.
#[derive(Default)]
pub(crate) struct Removals {
    /// By the seat of the commit.
    piles: [Pile; PILES],
    /// What STORE was told of, by pass.
    posted: Mutex<VecDeque<Posted>>,
    /// How many are in `posted`.
    posted_len: AtomicUsize,
    /// `at` of the first of them; a hint, so that nobody takes the lock while an old snapshot is open.
    posted_first: AtomicU64,
    /// Removals of what STORE has and scans meet there, since the last post.
    unposted: AtomicUsize,
    /// There was no room for removals at or below. Zero: for all.
    missed: AtomicU64,
}

#[derive(Default)]
#[repr(align(128))]
struct Pile {
    /// How many wait; a hint that saves a look.
    len: AtomicUsize,
    waiting: Mutex<Waiting>,
}

/// Each about in the order of commits.
#[derive(Default)]
struct Waiting {
    /// For the last scan that may meet what was before.
    scanned: VecDeque<Removed>,
    /// Out of the order, for the last snapshot that may read what was before: a pass's, as a rule.
    unread: VecDeque<Removed>,
    /// Out of the order, for the log to be durable.
    volatile: VecDeque<Removed>,
}

struct Posted {
    /// Every snapshot here or above reads a generation without them.
    at: Timestamp,
    removed: Vec<Removed>,
}

impl Removals {
    fn pile(&self, seat: &Seat) -> &Pile {
        &self.piles[seat.number() as usize % PILES]
    }

    /// STORE has been told, and has published that as of `at`.
    pub fn note_posted(&self, at: Timestamp, removed: Vec<Removed>) {
        self.unposted.store(0, Ordering::Relaxed);
        let len = removed.len();
        if len == 0 {
            return;
        }
        let mut posted = self.posted.lock();
        if self.posted_len.load(Ordering::Relaxed) + len > REMOVALS_WAITING_MAX {
            self.missed.fetch_max(at.0, Ordering::Relaxed);
            return;
        }
        self.posted_len.fetch_add(len, Ordering::Relaxed);
        posted.push_back(Posted { at, removed });
        let first = posted.front().map_or(at, |first| first.at);
        self.posted_first.store(first.0, Ordering::Relaxed);
    }

    /// All of memory is to be looked through for removals at or below.
    pub fn note_unknown(&self, upto: Timestamp) {
        self.missed.fetch_max(upto.0, Ordering::Relaxed);
    }

    /// At most `budget` that may go now.
    fn next_posted(&self, water: &Water, budget: usize) -> Vec<Removed> {
        let is_none = self.posted_len.load(Ordering::Relaxed) == 0;
        if is_none || budget == 0 || self.posted_first.load(Ordering::Relaxed) > water.covered.0 {
            return Vec::new();
        }
        let Some(mut posted) = self.posted.try_lock() else {
            return Vec::new();
        };
        let Some(first) = posted.front_mut().filter(|first| first.at <= water.covered) else {
            return Vec::new();
        };
        let left = first.removed.len().saturating_sub(budget);
        let next = first.removed.split_off(left);
        if left == 0 {
            posted.pop_front();
            if let Some(first) = posted.front() {
                self.posted_first.store(first.at.0, Ordering::Relaxed);
            }
        }
        self.posted_len.fetch_sub(next.len(), Ordering::Relaxed);
        next
    }
}

impl Pile {
    fn add(&self, more: impl Iterator<Item = Removed>, missed: &AtomicU64) -> usize {
        let mut more = more.peekable();
        if more.peek().is_none() {
            return 0;
        }
        let mut waiting = self.waiting.lock();
        let mut added = 0;
        for removed in more {
            if waiting.scanned.len() < PILE_MAX {
                waiting.scanned.push_back(removed);
                added += 1;
            } else {
                missed.fetch_max(removed.timestamp.0, Ordering::Relaxed);
            }
        }
        self.len.store(waiting.len(), Ordering::Relaxed);
        added
    }

    /// At most `budget` that can be taken further now.
    fn next(&self, water: &Water, budget: usize) -> Vec<Removed> {
        if self.len.load(Ordering::Relaxed) == 0 || budget == 0 {
            return Vec::new();
        }
        let Some(mut waiting) = self.waiting.try_lock() else {
            return Vec::new();
        };
        let mut next = Vec::new();
        while next.len() < budget {
            let Waiting {
                scanned,
                unread,
                volatile,
            } = &mut *waiting;
            let upto = |low: Timestamp| move |removed: &mut Removed| removed.timestamp <= low;
            // Those first that scans meet.
            let ready = scanned
                .pop_front_if(upto(water.low.scans))
                .or_else(|| unread.pop_front_if(upto(water.low.all)))
                .or_else(|| volatile.pop_front_if(upto(water.durable)));
            let Some(removed) = ready else { break };
            next.push(removed);
        }
        self.len.store(waiting.len(), Ordering::Relaxed);
        next
    }

    fn put_back(&self, more: Waiting, missed: &AtomicU64) {
        if more.len() == 0 {
            return;
        }
        let mut waiting = self.waiting.lock();
        waiting.scanned.extend(more.scanned);
        // The next pass comes past those that find no room, as past every removal.
        let room = PILE_MAX.saturating_sub(waiting.unread.len());
        waiting.unread.extend(more.unread.into_iter().take(room));
        for removed in more.volatile {
            if waiting.volatile.len() < PILE_MAX {
                waiting.volatile.push_back(removed);
            } else {
                missed.fetch_max(removed.timestamp.0, Ordering::Relaxed);
            }
        }
        self.len.store(waiting.len(), Ordering::Relaxed);
    }
}

impl Waiting {
    fn len(&self) -> usize {
        self.scanned.len() + self.unread.len() + self.volatile.len()
    }
}

impl Shared {
    /// A commit from this seat has removed records. Returns how many.
    pub fn note_removed(
        &self,
        seat: &Seat,
        written: &CommitRecord<'_>,
        timestamp: Timestamp,
    ) -> usize {
        let removed = written.changes().filter(|change| change.value.is_none());
        let removed = removed.map(|change| Removed {
            timestamp,
            hash: hash(change.space, change.key),
            space: change.space,
            key: change.key.into(),
        });
        self.removals.pile(seat).add(removed, &self.removals.missed)
    }

    /// A commit that was refused has let go of these entries.
    pub fn note_left_over(&self, seat: &Seat, entries: &[Taken<'_>]) {
        let absent = entries.iter().filter(|taken| taken.entry.is_absent());
        let removed = absent.map(|Taken { entry, hash, .. }| Removed {
            timestamp: entry.newest(),
            hash: *hash,
            space: entry.space(),
            key: entry.key().into(),
        });
        self.removals.pile(seat).add(removed, &self.removals.missed);
    }

    fn water(&self, low: LowWater) -> Water {
        Water {
            low,
            covered: self.generations.covered(low.all),
            durable: Timestamp(self.log.durable().0),
        }
    }

    /// Scans of the space meet the record in STORE, unless memory has all of it.
    fn note_unposted(&self, space: SpaceId) {
        if self.table.space(space).is_none_or(|space| space.is_whole()) {
            return;
        }
        let count = self.removals.unposted.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(UNPOSTED_MAX) {
            self.want_compaction();
        }
    }

    /// A bit of the work, by a commit that has brought some.
    pub fn take_some_removed_away(&self, seat: &Seat, low: LowWater, brought: usize) {
        let pile = self.removals.pile(seat);
        let waiting = pile.len.load(Ordering::Relaxed);
        if waiting + self.removals.posted_len.load(Ordering::Relaxed) == 0 {
            return;
        }
        let budget = FEW + 2 * brought;
        let water = self.water(low);
        let done = self.take_away_of(pile, &water, budget);
        let posted = self.removals.next_posted(&water, budget - done);
        self.take_away_and_put_back(posted, &water, pile);
    }

    /// All of it, as far as the water allows.
    pub fn take_all_removed_away(&self, low: LowWater) {
        let water = self.water(low);
        let missed = self.removals.missed.load(Ordering::Relaxed);
        if missed != 0 && missed <= low.all.0 {
            // Before the sweep: what is missed from now on is for another.
            let found = self.removals.missed.compare_exchange(
                missed,
                0,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if found.is_ok() {
                self.table.take_all_away(&water);
            }
        }
        for pile in &self.removals.piles {
            // What is busy comes back; no more than was there.
            let waiting = pile.len.load(Ordering::Relaxed);
            self.take_away_of(pile, &water, waiting);
        }
        loop {
            let posted = self.removals.next_posted(&water, usize::MAX);
            if posted.is_empty() {
                return;
            }
            self.take_away_and_put_back(posted, &water, &self.removals.piles[0]);
        }
    }

    fn take_away_of(&self, pile: &Pile, water: &Water, budget: usize) -> usize {
        let next = pile.next(water, budget);
        let done = next.len();
        self.take_away_and_put_back(next, water, pile);
        done
    }

    /// What somebody holds or reads, and what waits for the log, goes onto the pile.
    fn take_away_and_put_back(&self, removed: Vec<Removed>, water: &Water, pile: &Pile) {
        let mut waiting = Waiting::default();
        for removed in removed {
            let guard = quintet_index::pin();
            match self.table.take_away(&removed, water, &guard) {
                Next::Later => waiting.scanned.push_back(removed),
                Next::WhenUnread => waiting.unread.push_back(removed),
                Next::WhenDurable => waiting.volatile.push_back(removed),
                Next::WhenPosted => self.note_unposted(removed.space),
                Next::Gone | Next::Nothing => {}
            }
        }
        pile.put_back(waiting, &self.removals.missed);
    }
}
