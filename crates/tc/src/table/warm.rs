//! Taking in what STORE has, and telling when nothing is missing.
//!
//! Relies on: evictions happen under the table's `hand`, and tell a space before anything leaves it.
//! Promises: what is taken in is older than everything that was ever committed after it; a space that
//! is whole again has lost nothing since the mark.  Does not: read STORE.

use super::{Space, Table, hash};
use crate::entry::{Locked, RecordEntry, pause};
use crate::seats::Readers;
use crate::sim::{self, Planted};
use crate::sync::atomic::{AtomicU64, Ordering};
use quintet_base::{Bytes, SpaceId, Timestamp};
use quintet_dc::Record;
use quintet_index::{Guard, Near};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How often something that STORE has was left out of memory, and whether it has been brought back.
///
/// ```text
///   0 whole ──lose──► 1 ──lose──► 2 ─► …     n ──regain(n)──► 0, unless it is not n any more
/// ```
/// Whoever trusts in a whole space has looked for the record under the pin under which it asks: then
/// what was brought in before the space became whole again was there (`warm` waits for the pins).
pub(crate) struct Wholeness(AtomicU64);

impl Wholeness {
    pub fn new(whole: bool) -> Wholeness {
        Wholeness(AtomicU64::new(u64::from(!whole)))
    }

    pub fn is_whole(&self) -> bool {
        // Acquire pairs with Release in `regain`: what was brought in is seen.
        self.0.load(Ordering::Acquire) == 0
    }

    /// Something is about to leave.
    pub fn lose(&self) {
        // Release: whoever misses what has left sees that the space is not whole.
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// To be given to `regain`.
    pub fn mark(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Everything that was missing at the mark has been brought in. False if more has left since.
    pub fn regain(&self, mark: u64) -> bool {
        if sim::plants(Planted::RegainBlindly) {
            self.0.store(0, Ordering::Release);
            return true;
        }
        let swapped = self
            .0
            .compare_exchange(mark, 0, Ordering::AcqRel, Ordering::Relaxed);
        swapped.is_ok()
    }
}

/// What became of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TakenIn {
    /// All of it is in memory; so many records were not before.
    All { records: u64, bytes: u64 },
    /// The table has moved on: something newer may have been evicted. A newer generation is wanted.
    Moved,
    /// The space has been dropped.
    Gone,
}

/// What became of one record.
enum Taken {
    In,
    /// Memory has it, or something newer.
    There,
    Moved,
    /// Somebody holds its entry, which has no version yet.
    Busy,
}

impl Table {
    /// The space's mark, with no eviction under way: what leaves from now on changes it.
    pub fn mark(&self, space: &Space) -> u64 {
        let _no_eviction = self.hand.lock();
        space.wholeness.mark()
    }

    /// Spaces of which memory has everything.
    pub fn spaces_whole(&self) -> usize {
        let guard = quintet_index::pin();
        let whole = self
            .spaces_now(&guard)
            .iter()
            .filter(|(_, space)| space.is_whole());
        whole.count()
    }

    /// Whether records that nobody has asked for should not be added.
    pub fn is_nearly(&self, bound: usize) -> bool {
        let bound = bound as i64;
        self.bytes() >= bound - bound / 16
    }

    /// Takes in what the generation at `generation`, the newest, has in a range of a space.
    pub fn take_in(
        &self,
        id: SpaceId,
        space: &Arc<Space>,
        rows: &[(Bytes, Record)],
        generation: Timestamp,
    ) -> TakenIn {
        let (mut records, mut bytes, mut spins) = (0, 0, 0);
        let mut rest = rows;
        while !rest.is_empty() {
            // A space is dropped either before this, or after what is taken in here.
            let changing = self.changing.lock();
            if !self.space(id).is_some_and(|now| Arc::ptr_eq(&now, space)) {
                return TakenIn::Gone;
            }
            let mut done = 0;
            let stopped = rest.iter().try_for_each(|(key, record)| {
                let guard = quintet_index::pin();
                match self.take_in_one(id, space, key, record, generation, &guard) {
                    Taken::In => {
                        records += 1;
                        bytes += (key.len() + record.value.len()) as u64;
                    }
                    Taken::There => {}
                    other => return ControlFlow::Break(other),
                }
                done += 1;
                ControlFlow::Continue(())
            });
            drop(changing);
            rest = &rest[done..];
            match stopped {
                ControlFlow::Break(Taken::Moved) => return TakenIn::Moved,
                // A commit, or upkeep: a moment. Not under the lock, which the commit may want.
                ControlFlow::Break(_) => pause(&mut spins),
                ControlFlow::Continue(()) => {}
            }
        }
        TakenIn::All { records, bytes }
    }

    fn take_in_one(
        &self,
        id: SpaceId,
        space: &Space,
        key: &[u8],
        record: &Record,
        generation: Timestamp,
        guard: &Guard,
    ) -> Taken {
        let hash = hash(id, key);
        let position = Timestamp(record.position.0);
        let entry = match self.find(hash, id, key, guard) {
            Some(entry) => entry,
            None => {
                let mut made = false;
                let make = || {
                    // As in `fill`.
                    let is_late = self.evicted() > generation;
                    let planted = [Planted::FillLate, Planted::TakeInStale];
                    if is_late && !planted.into_iter().any(sim::plants) {
                        return None;
                    }
                    made = true;
                    Some(RecordEntry::with_copy(id, key, position, &record.value))
                };
                let near = &mut Near::under(guard);
                let Some(entry) = self.put(hash, id, key, space, make, near) else {
                    return Taken::Moved;
                };
                if made {
                    return Taken::In;
                }
                entry
            }
        };
        if entry.newest() > Timestamp::ZERO {
            return Taken::There;
        }
        // Made by a writer that was refused, or that is about to commit.
        match entry.lock_for_upkeep() {
            Locked::Yes => {}
            Locked::Busy => return Taken::Busy,
            // Gone in a moment; then it is missing.
            Locked::Dead => return Taken::Busy,
        }
        let taken = if entry.newest() > Timestamp::ZERO {
            Taken::There
        } else if self.evicted() > generation && !sim::plants(Planted::TakeInStale) {
            // Asked with the entry held, from which everything newer would have been evicted before.
            Taken::Moved
        } else {
            entry.note_in_store();
            let value = Some(&record.value[..]);
            let more = entry.install_copy(position, value, &Readers::nobody(), guard);
            self.weigh(more);
            Taken::In
        };
        entry.unlock();
        taken
    }
}
