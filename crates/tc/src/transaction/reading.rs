//! What a transaction reads: rows, many rows at once, ranges.
//!
//! Relies on: `read` for what a snapshot shows, `writes` for what the transaction has buffered itself.  Promises: its own writes come
//! first; what SERIALIZABLE validates is noted before it is seen; a space that was replaced meanwhile is refused.  Does not: lock
//! (`claiming`), or validate (`commit`).

use super::Txn;
use crate::error::Error;
use crate::place::Place;
use crate::read::{Progress, Row, as_slice, is_empty};
use crate::reads::ReadRange;
use crate::scan::Scan;
use crate::table::hash;
use quintet_base::row::Glance;
use quintet_base::{Bytes, Level, SpaceId, Timestamp};
use quintet_dc::{Direction, KeyRange};
use std::ops::Bound;
use std::sync::Arc;

/// A record is marked as in use by one read of a transaction in so many.
const TOUCH_EVERY: u32 = 8;

impl Txn {
    /// The row at a key, own writes first.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Conflict`] if the space was replaced after this snapshot.
    pub fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.read(space, key, |row| row.map(Bytes::copy_from_slice))
    }

    /// Shows the row at a key to `see`, in place: no copy is made. Own writes first.
    ///
    /// # Errors
    /// As [`Txn::get`].
    pub fn read<R>(
        &self,
        space: SpaceId,
        key: &[u8],
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        self.read_for((space, key), None, see)
    }

    /// As [`Txn::read`], for who looks at some columns of the row and at whether it is there. At
    /// SERIALIZABLE, another's commit that leaves those columns as they are does no harm.
    ///
    /// # Errors
    /// As [`Txn::get`].
    pub fn read_columns<R>(
        &self,
        place: (SpaceId, &[u8]),
        glance: &Arc<Glance>,
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        self.read_for(place, Some(glance), see)
    }

    fn read_for<R>(
        &self,
        (space, key): (SpaceId, &[u8]),
        glance: Option<&Arc<Glance>>,
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        let hash = hash(space, key);
        if let Some(own) = self.writes.get(hash, space, key) {
            return Ok(see(own));
        }
        self.check_fence(space)?;
        if self.remembers() {
            self.reads.borrow_mut().note(hash, space, key, glance);
        }
        self.read_stored((hash, space, key), see)
    }

    /// Whether reads are validated by the commit.
    pub(crate) fn remembers(&self) -> bool {
        self.level == Level::Serializable && !self.aside
    }

    pub(crate) fn read_stored<R>(
        &self,
        key: (u64, SpaceId, &[u8]),
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        let touch = self.touches();
        let snapshot = self.snapshot_in(key.1).timestamp;
        self.shared.read(snapshot, key, touch, |row, timestamp| {
            self.note_version(timestamp);
            see(row)
        })
    }

    /// The row at a key has been read.
    pub fn note_read(&self, space: SpaceId, key: &[u8]) {
        if self.level == Level::Serializable {
            let hash = hash(space, key);
            self.reads.borrow_mut().note(hash, space, key, None);
        }
    }

    /// Shows the rows of many keys to `see`, with their places in `keys`, in that order. Faster
    /// than one by one: records that are not in the processor's cache are fetched side by side.
    ///
    /// # Errors
    /// As [`Txn::get`].
    pub fn read_many(
        &self,
        keys: &[(SpaceId, &[u8])],
        mut see: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        let mut checked = None;
        for (space, key) in keys {
            if checked != Some(*space) {
                self.check_fence(*space)?;
                checked = Some(*space);
            }
            if self.remembers() && self.own(*space, key).is_none() {
                let hash = hash(*space, key);
                self.reads.borrow_mut().note(hash, *space, key, None);
            }
        }
        let snapshot = self.snapshot.timestamp;
        let mut show = |at: usize, row: Option<&[u8]>, timestamp| {
            self.note_version(timestamp);
            let (space, key): (SpaceId, &[u8]) = keys[at];
            see(at, self.own(space, key).unwrap_or(row));
        };
        if self.beyond.is_some() {
            for (at, (space, key)) in keys.iter().enumerate() {
                let snapshot = self.snapshot_in(*space).timestamp;
                let place = (hash(*space, key), *space, *key);
                self.shared.read(snapshot, place, false, |row, timestamp| {
                    show(at, row, timestamp)
                })?;
            }
            return Ok(());
        }
        self.shared.read_many(snapshot, keys, show)
    }

    /// Says that these keys will be read soon, so that what is not in memory is fetched side by side. A
    /// hint: nothing is read by it, and nothing refused.
    pub fn announce(&self, keys: &[(SpaceId, &[u8])]) {
        self.shared.announce(keys);
    }

    /// This place will be looked at in a moment: a hint, as [`Txn::announce`] is for many.
    pub fn expect(&self, Place { hash, .. }: Place<'_>) {
        self.shared.table.prefetch(hash, &quintet_index::pin());
    }

    /// What this transaction has written at a key (`Some(None)`: removed it).
    fn own(&self, space: SpaceId, key: &[u8]) -> Option<Option<&[u8]>> {
        if self.writes.is_empty() {
            return None;
        }
        self.writes.get(hash(space, key), space, key)
    }

    pub(crate) fn note_version(&self, timestamp: Timestamp) {
        if timestamp > self.newest_read.get() {
            self.newest_read.set(timestamp);
        }
    }

    /// One read in a few leaves word that the record is in use, so that readers rarely write.
    fn touches(&self) -> bool {
        let count = self.read_count.get().wrapping_add(1);
        self.read_count.set(count);
        count % TOUCH_EVERY == 1
    }

    /// Rows of a range in key order, own writes included.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Conflict`] if the space was replaced after this snapshot.
    pub fn scan(
        &self,
        space: SpaceId,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Scan, Error> {
        self.check_fence(space)?;
        let snapshot = self.snapshot_in(space);
        self.note_version(snapshot.timestamp);
        let footprint = self.remembers().then(|| {
            // Nothing read yet: a range that holds no key.
            let nothing = || Bound::Excluded(Bytes::new());
            let ranges = &mut self.reads.borrow_mut().ranges;
            ranges.push(ReadRange {
                space,
                lower: nothing(),
                upper: nothing(),
            });
            ranges.len() - 1
        });
        Scan::new(
            Arc::clone(&self.shared),
            Arc::clone(snapshot),
            space,
            range,
            direction,
            footprint,
        )
    }

    pub(crate) fn check_fence(&self, space: SpaceId) -> Result<(), Error> {
        if self.is_past {
            return Ok(());
        }
        match self
            .shared
            .fence_above(space, self.snapshot.timestamp.min(self.schema))
        {
            None => Ok(()),
            Some(winner) => Err(Error::schema(space, winner)),
        }
    }

    /// A scan has come as far as `key`.
    pub(crate) fn note_range_key(
        &self,
        slot: usize,
        begins: Option<&KeyRange>,
        direction: Direction,
        key: &Bytes,
    ) {
        let range = &mut self.reads.borrow_mut().ranges[slot];
        let end = Bound::Included(key.clone());
        match direction {
            Direction::Forward => range.upper = end,
            Direction::Backward => range.lower = end,
        }
        match (begins, direction) {
            (Some(whole), Direction::Forward) => range.lower = whole.lower.clone(),
            (Some(whole), Direction::Backward) => range.upper = whole.upper.clone(),
            (None, _) => {}
        }
    }

    /// A scan has come to its end.
    pub(crate) fn note_range_end(&self, slot: usize, whole: &KeyRange) {
        let range = &mut self.reads.borrow_mut().ranges[slot];
        range.lower = whole.lower.clone();
        range.upper = whole.upper.clone();
    }

    /// Own writes of a range, at most `limit`.
    pub(crate) fn own_chunk(
        &self,
        space: SpaceId,
        lower: &Bound<Bytes>,
        upper: &Bound<Bytes>,
        direction: Direction,
        limit: usize,
        into: &mut Vec<Row>,
    ) -> Progress {
        if is_empty(lower, upper) {
            return Progress::End;
        }
        let backward = direction == Direction::Backward;
        let range = (as_slice(lower), as_slice(upper));
        self.writes.range(space, range, backward, |write| {
            if into.len() < limit {
                let value = write.value.map(Bytes::copy_from_slice);
                into.push((Bytes::copy_from_slice(write.key), value));
            }
            into.len() < limit
        });
        match into.last() {
            Some((last, _)) if into.len() == limit => Progress::At(last.clone()),
            _ => Progress::End,
        }
    }
}
