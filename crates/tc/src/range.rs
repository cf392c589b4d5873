//! Rows of a range where they lie, as long as memory has all of them.
//!
//! Relies on: the order of a space, and what its wholeness says under one pin.  Promises: what [`crate::Scan`] would
//! give, row by row, without a copy; or that memory alone cannot say.  Does not: ask STORE.
//!
//! Hot path: short ranges of one transaction, such as the lines of an order. One pin for all of it.

use crate::entry::Found;
use crate::error::Error;
use crate::read::is_empty_between;
use crate::reads::ReadRange;
use crate::transaction::Txn;
use quintet_base::{Bytes, SpaceId};
use quintet_index::Entry;
use std::cmp::Ordering;
use std::ops::Bound;

/// A first chunk is small: many want one row.
const FIRST_CHUNK_ROWS: usize = 16;
/// Beyond, a chunk more costs little.
const CHUNK_ROWS_MAX: usize = 256;

/// Whether who is shown rows wants more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wants {
    /// The next one, too.
    More,
    /// Nothing behind this one: it counts as read up to here.
    NoMore,
}

/// Between which keys, and from which end.
#[derive(Clone, Copy, Debug)]
pub struct Between<'k> {
    /// The lowest key.
    pub lower: Bound<&'k [u8]>,
    /// The highest.
    pub upper: Bound<&'k [u8]>,
    /// From the highest down.
    pub backward: bool,
    /// Its rows are keys of this space, which will be read as they come: an index.
    pub leads_to: Option<SpaceId>,
}

impl Txn {
    /// Shows the rows of a range with their keys, own writes included, in order. False: memory alone cannot say what
    /// is there; rows may have been shown, which are to be forgotten, and read with [`Txn::scan`].
    ///
    /// # Errors
    /// As [`Txn::scan`].
    pub fn show_range(
        &self,
        space: SpaceId,
        between: Between<'_>,
        see: &mut dyn FnMut(&[u8], &[u8]) -> Wants,
    ) -> Result<bool, Error> {
        self.check_fence(space)?;
        let mut last = None;
        let shown = self.show(space, between, &mut |key, row| {
            let wants = see(key, row);
            if wants == Wants::NoMore {
                last = Some(Bytes::copy_from_slice(key));
            }
            wants
        });
        if shown {
            self.note_version(self.snapshot_in(space).timestamp);
            self.note_between(space, between, last);
        }
        Ok(shown)
    }

    fn note_between(&self, space: SpaceId, between: Between<'_>, last: Option<Bytes>) {
        if !self.remembers() {
            return;
        }
        let owned = |bound: Bound<&[u8]>| bound.map(Bytes::copy_from_slice);
        let (lower, upper) = match (last, between.backward) {
            (None, _) => (owned(between.lower), owned(between.upper)),
            (Some(last), false) => (owned(between.lower), Bound::Included(last)),
            (Some(last), true) => (Bound::Included(last), owned(between.upper)),
        };
        self.reads.borrow_mut().ranges.push(ReadRange {
            space,
            lower,
            upper,
        });
    }

    fn show(
        &self,
        space: SpaceId,
        between: Between<'_>,
        see: &mut dyn FnMut(&[u8], &[u8]) -> Wants,
    ) -> bool {
        // Before the bounds, which move to keys that it keeps.
        let guard = quintet_index::pin();
        let Between {
            mut lower,
            mut upper,
            backward,
            leads_to,
        } = between;
        if is_empty_between(lower, upper) {
            return true;
        }
        let mut own = self.writes.in_range(space, (lower, upper));
        let mut next_own = || match backward {
            false => own.next(),
            true => own.next_back(),
        };
        let mut mine = next_own();
        let (snapshot, seats) = (self.snapshot_in(space).timestamp, &self.shared.seats);
        let records = self.shared.table.space_under(space, &guard);
        let Some(records) = records.filter(|records| records.is_whole()) else {
            return false;
        };
        let mut limit = FIRST_CHUNK_ROWS;
        let mut entries = Vec::with_capacity(limit);
        loop {
            entries.clear();
            let ended = is_empty_between(lower, upper)
                || records
                    .ordered
                    .chunk(lower, upper, backward, limit, &guard, &mut entries);
            // Something has left meanwhile.
            if !records.is_whole() {
                return false;
            }
            entries.iter().for_each(|entry| entry.prefetch_value());
            if let Some(rows) = leads_to {
                let keys = entries.iter().filter_map(|entry| {
                    match entry.read_at(snapshot, seats, &guard) {
                        Found::Row(key, _) => Some((rows, key)),
                        Found::Removed(_) | Found::Below => None,
                    }
                });
                self.shared.table.bring_all(keys, &guard);
            }
            for entry in &entries {
                let key = entry.key();
                let mut hidden = false;
                while let Some(write) = &mine {
                    let order = match backward {
                        false => write.key.cmp(key),
                        true => key.cmp(write.key),
                    };
                    if order == Ordering::Greater {
                        break;
                    }
                    hidden = order == Ordering::Equal;
                    if let Some(row) = write.value
                        && see(write.key, row) == Wants::NoMore
                    {
                        return true;
                    }
                    mine = next_own();
                }
                if hidden {
                    continue;
                }
                if let Found::Row(row, _) = entry.read_at(snapshot, seats, &guard)
                    && see(key, row) == Wants::NoMore
                {
                    return true;
                }
            }
            if ended {
                break;
            }
            let last = entries.last().map(|entry| Bound::Excluded(entry.key()));
            match (last, backward) {
                (Some(last), false) => lower = last,
                (Some(last), true) => upper = last,
                // No chunk that reached its limit is empty.
                (None, _) => return false,
            }
            limit = (limit * 4).min(CHUNK_ROWS_MAX);
        }
        while let Some(write) = &mine {
            if let Some(row) = write.value
                && see(write.key, row) == Wants::NoMore
            {
                return true;
            }
            mine = next_own();
        }
        true
    }
}
