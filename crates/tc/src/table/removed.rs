//! Removed records leave the order of their space, and then the table.
//!
//! Relies on: `entry` knows whether STORE may have a record; `seats` for a low water.  Promises: what leaves
//! the order is removed for every snapshot in use and for every one to come; what leaves the table is nowhere
//! else either; a record is back in the order before anybody can commit to it.  Does not: say when; `removals`
//! does.
//!
//! ```text
//!   in both indexes ──removed for all scans──► by hash only ──for all snapshots──► STORE has been told──► gone
//!        ▲    │                                       │  │
//!        │    └──and STORE never had it, and the ─────┼──┼───────────────────────────────▲
//!        │       removal is durable                   │  └──the removal is durable, and STORE never had it
//!        └──somebody is about to commit to it─────────┘
//! ```
//! * *Reads by key* find the entry by its hash as long as STORE has the record. A pass of the compactor reads at an old snapshot, and by
//!   key alone: what was removed since it began leaves the order, and keeps the version that STORE is to be told of.
//! * *Scans* of a space that is whole do not ask STORE: what is in no order is nowhere. Otherwise they look for
//!   each record that comes out of STORE in the table first, as a read by key does ([`Listing`] says when
//!   they need not).
//! * *Validation* looks for commits above a snapshot in use. There is none: the removal is at or below all,
//!   and who commits next has put the entry back before he has a timestamp.
//! * *Answers* wait for what was read to be durable, and so the removal stays to be found until it is.
//! * *Replay* of the log sees insert and removal, or neither, or STORE has the record: a checkpoint in between
//!   holds a snapshot in between, and so the entry.

use super::{RecordEntry, Space, Table};
use crate::entry::Locked;
use crate::seats::LowWater;
use crate::sim::{self, Planted};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::planted;
use quintet_base::{SpaceId, Timestamp};
use quintet_index::{Entry, Guard, Verdict};
use std::ptr::NonNull;
use std::sync::Arc;

/// A record whose newest commit was, some time ago, this removal; or, with a timestamp of zero, an entry
/// that was made for a commit which was refused.
pub(crate) struct Removed {
    pub timestamp: Timestamp,
    pub hash: u64,
    pub space: SpaceId,
    pub key: Box<[u8]>,
}

/// What is known of readers, the log and STORE; each a little behind the truth.
#[derive(Clone, Copy)]
pub(crate) struct Water {
    /// At or below every snapshot in use or to come.
    pub low: LowWater,
    /// At or below the generation of every such snapshot.
    pub covered: Timestamp,
    /// The log is durable up to here.
    pub durable: Timestamp,
}

/// What is to be done with a removed record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// It has left the table.
    Gone,
    /// It may leave when the removal is durable.
    WhenDurable,
    /// It leaves when nobody reads what was before: by its key, for no scan comes past any more.
    WhenUnread,
    /// It leaves when STORE has been told.
    WhenPosted,
    /// Somebody may yet read what was before, or holds the entry.
    Later,
    /// It is not removed any more, or has left before.
    Nothing,
}

/// Whether a space's order lacks records that are in the table.
///
/// A scan asks [`Listing::mark`] before it reads a chunk of the order, and [`Listing::was_full`] afterwards.
/// If so, every record in the table was in the order throughout, and what the chunk lacks was not in
/// memory.
#[derive(Default)]
pub(crate) struct Listing {
    /// So many are missing now. Raised before one leaves the order, lowered after it has come back or has
    /// left the table.
    missing: AtomicU64,
    /// So many have ever left. Raised before `missing`.
    left: AtomicU64,
}

/// See [`Listing`]; `None`: something is missing.
#[derive(Clone, Copy)]
pub(crate) struct ListingMark(Option<u64>);

impl Listing {
    pub fn mark(&self) -> ListingMark {
        // In this order: what leaves in between is seen by `was_full`. Acquire pairs with Release in
        // `one_less`: what has come back is seen in the order, what has gone in the generations.
        let left = self.left.load(Ordering::Acquire);
        ListingMark((self.missing.load(Ordering::Acquire) == 0).then_some(left))
    }

    pub fn was_full(&self, mark: ListingMark) -> bool {
        mark.0 == Some(self.left.load(Ordering::Acquire))
    }

    fn one_more(&self) {
        self.left.fetch_add(1, Ordering::AcqRel);
        self.missing.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn one_less(&self) {
        self.missing.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Table {
    /// Removed records that are in the table and not in the order.
    pub fn unlisted(&self) -> u64 {
        let guard = quintet_index::pin();
        let missing = |space: &Arc<Space>| space.listing.missing.load(Ordering::Relaxed);
        self.spaces_now(&guard)
            .iter()
            .map(|(_, space)| missing(space))
            .sum()
    }

    /// Takes a removed record as far away as the water allows.
    pub fn take_away(&self, removed: &Removed, water: &Water, guard: &Guard) -> Next {
        let found = self.find(removed.hash, removed.space, &removed.key, guard);
        let Some(entry) = found.filter(|entry| entry.newest() == removed.timestamp) else {
            return Next::Nothing;
        };
        match entry.lock_for_upkeep() {
            Locked::Yes => {}
            Locked::Busy => return Next::Later,
            Locked::Dead => return Next::Nothing,
        }
        let next = match entry.newest() == removed.timestamp {
            true => self.next_of(entry, water, guard),
            false => Next::Nothing,
        };
        if next != Next::Gone {
            entry.unlock();
            return next;
        }
        entry.unlock_dead();
        let address = self
            .points
            .remove(removed.hash, |other| std::ptr::eq(other, entry), guard);
        self.bury(&[address.expect("only its killer takes it out")], guard);
        Next::Gone
    }

    /// Takes all removed records as far away as the water allows, whoever has removed them and when.
    pub fn take_all_away(&self, water: &Water) {
        for shard in 0..self.points.shards() {
            let guard = quintet_index::pin();
            let mut gone: Vec<NonNull<RecordEntry>> = Vec::new();
            let judge = |entry: &RecordEntry| {
                // A hint; asked again with the lock held.
                if !entry.is_absent() || entry.lock_for_upkeep() != Locked::Yes {
                    return Verdict::Keep;
                }
                if self.next_of(entry, water, &guard) == Next::Gone {
                    entry.unlock_dead();
                    Verdict::Remove
                } else {
                    entry.unlock();
                    Verdict::Keep
                }
            };
            self.points.sweep(shard, judge, &mut gone, &guard);
            self.bury(&gone, &guard);
        }
    }

    /// Decides, and unlists what stays for the time being. The caller holds the lock.
    fn next_of(&self, entry: &RecordEntry, water: &Water, guard: &Guard) -> Next {
        let newest = entry.newest();
        if !entry.is_absent() {
            return Next::Nothing;
        }
        let early = sim::plants(Planted::TakeAwayEarly) || planted("removed: nobody reads");
        if newest > water.low.scans && !early {
            return Next::Later;
        }
        let is_read = newest > water.low.all && !early;
        let is_told = newest <= water.covered;
        let next = if is_read {
            Next::WhenUnread
        } else if entry.may_be_in_store() && !is_told && newest != Timestamp::ZERO {
            Next::WhenPosted
        } else if newest > water.durable && !sim::plants(Planted::TakeAwayVolatile) {
            Next::WhenDurable
        } else {
            if entry.may_be_in_store() {
                // Before it goes: what was read from a generation that has it may not be remembered any more.
                self.evicted.fetch_max(newest.0, Ordering::SeqCst);
            }
            return Next::Gone;
        };
        if !is_read || planted("removed: a pass reads nothing") {
            entry.keep_newest(guard);
        }
        if !entry.is_unlisted()
            && let Some(space) = self.space_under(entry.space(), guard)
        {
            space.listing.one_more();
            space.ordered.remove(entry.key(), guard);
            entry.set_unlisted(true);
        }
        next
    }

    /// Puts an entry back into the order, if it has left it, for who is about to commit to it and holds its
    /// lock.
    pub fn list_again(&self, entry: &RecordEntry, guard: &Guard) {
        let forgets = sim::plants(Planted::LeaveUnlisted)
            || planted("removed: what is committed to stays out of the order");
        if !entry.is_unlisted() || forgets {
            return;
        }
        let Some(space) = self.space_under(entry.space(), guard) else {
            // Dropped meanwhile: the commit will be refused.
            return;
        };
        // SAFETY: it is in the table, which frees it through the epoch after it has left the order.
        let other = unsafe { space.ordered.insert(entry, guard) };
        assert!(other.is_none(), "two entries of one record");
        entry.set_unlisted(false);
        space.listing.one_less();
    }
}
