//! Ordered reads merged from memory and STORE.
//!
//! Relies on: each source yields its rows in key order; memory hides STORE.
//! Promises: every key visible at the snapshot once, in order, own writes included; what was read
//! is recorded for validation exactly as far as it was read.  Does not: hold anything between calls
//! but its snapshot and, while it needs STORE, a generation.
//!
//! ```text
//!   own writes  ─┐
//!   table       ─┤  smallest key; on a tie the uppermost source wins,  ──►  (key, row)
//!   generation  ─┘  the others skip it; removals are skipped
//! ```
//! **Removed records** may have left the order and be found by hash only (`table::removed`). While a space has
//! such, what comes out of STORE alone is read like a key: in the table first, and then in the snapshot's
//! generation as it is now.
//!
//! A chunk of the table comes first, then the question where the rest is: nowhere if the space is
//! whole, else in the snapshot's generation as it is *now*. In this order, what was evicted before the
//! chunk was read is in the generation.
//!
//! **Shown where they lie.** [`Scan::show`] gives the rows of a chunk without a copy as long as memory has all of the
//! space and nothing was written to the rest of the range by the transaction itself; else one by one, as
//! [`Scan::next`] would. Whoever is shown rows says how far they count as read.

use crate::component::Handle;
use crate::entry::Found;
use crate::error::Error;
use crate::range::Wants;
use crate::read::{Hiding, Progress, Row, as_slice, is_empty};
use crate::sim::{self, Planted, Point};
use crate::snapshot::Snapshot;
use crate::table::{Space, hash};
use crate::transaction::Txn;
use quintet_base::limits::SCAN_CHUNK_ROWS;
use quintet_base::{Bytes, SpaceId, Timestamp};
use quintet_dc::{Direction, KeyRange, RecordScan};
use quintet_index::Entry;
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// A first chunk is small: many scans want one row.
const FIRST_CHUNK_ROWS: usize = 8;

/// Rows that are shown under one pin: some microseconds, so that memory is given back meanwhile.
const SHOWN_ROWS_MAX: usize = 256;

/// Whoever is shown rows.
pub type SeeRow<'s> = dyn FnMut(&[u8], &[u8]) -> Wants + 's;

/// A scan in progress. It keeps the snapshot it began with, also when the transaction goes on to
/// another one (a cursor at READ COMMITTED).
pub struct Scan {
    shared: Arc<Handle>,
    space: SpaceId,
    records: Arc<Space>,
    range: KeyRange,
    direction: Direction,
    snapshot: Arc<Snapshot>,
    own: Source,
    table: Source,
    store: Option<StoreSource>,
    /// What has been passed: STORE is asked again from here when the generation changes.
    passed: Option<Bytes>,
    /// Every record in memory was in the order while the present chunk was read.
    order_is_full: bool,
    chunk_rows: usize,
    /// Rows of the next chunk that is shown where it lies.
    shown_rows: usize,
    /// Where the transaction records how far this scan has read; `None`: nothing is recorded.
    footprint: Option<usize>,
    /// Where it began is recorded.
    is_noted: bool,
}

/// A source read in chunks: what is buffered, and where the next chunk begins.
struct Source {
    buffer: VecDeque<Row>,
    lower: Bound<Bytes>,
    upper: Bound<Bytes>,
    done: bool,
}

struct StoreSource {
    /// Of the generation that is read.
    position: Timestamp,
    scan: Box<dyn RecordScan>,
    head: Option<(Bytes, Bytes)>,
    done: bool,
}

impl Source {
    fn new(lower: &Bound<Bytes>, upper: &Bound<Bytes>) -> Source {
        Source {
            buffer: VecDeque::new(),
            lower: lower.clone(),
            upper: upper.clone(),
            done: is_empty(lower, upper),
        }
    }

    /// Nothing is left.
    fn is_over(&self) -> bool {
        self.buffer.is_empty() && self.done
    }

    /// Whether there may be more behind an empty buffer.
    fn is_dry(&self) -> bool {
        self.buffer.is_empty() && !self.done
    }

    /// Fills the buffer unless the source is done; `chunk` reads one chunk from where we are.
    fn fill(
        &mut self,
        direction: Direction,
        mut chunk: impl FnMut(&Bound<Bytes>, &Bound<Bytes>, &mut Vec<Row>) -> Progress,
    ) {
        while self.is_dry() {
            let mut rows = Vec::new();
            match chunk(&self.lower, &self.upper, &mut rows) {
                Progress::End => self.done = true,
                Progress::At(last) => match direction {
                    Direction::Forward => self.lower = Bound::Excluded(last),
                    Direction::Backward => self.upper = Bound::Excluded(last),
                },
            }
            self.buffer.extend(rows);
        }
    }

    fn head(&self) -> Option<&Bytes> {
        self.buffer.front().map(|(key, _)| key)
    }

    /// The head's row, if the head is this key.
    fn take(&mut self, key: &Bytes) -> Option<Option<Bytes>> {
        let ours = self.head().is_some_and(|head| head == key);
        if ours {
            self.buffer.pop_front().map(|(_, value)| value)
        } else {
            None
        }
    }
}

impl Scan {
    pub(crate) fn new(
        shared: Arc<Handle>,
        snapshot: Arc<Snapshot>,
        space: SpaceId,
        range: &KeyRange,
        direction: Direction,
        footprint: Option<usize>,
    ) -> Result<Scan, Error> {
        let (lower, upper) = (&range.lower, &range.upper);
        Ok(Scan {
            records: shared.space(space),
            shared,
            space,
            range: range.clone(),
            direction,
            own: Source::new(lower, upper),
            table: Source::new(lower, upper),
            store: None,
            passed: None,
            order_is_full: false,
            chunk_rows: FIRST_CHUNK_ROWS,
            shown_rows: FIRST_CHUNK_ROWS,
            snapshot,
            footprint,
            is_noted: false,
        })
    }

    /// The next row, or `None` at the end of the range.
    ///
    /// # Errors
    /// [`Error::Store`] if STORE cannot be read.
    pub fn next(&mut self, txn: &Txn) -> Result<Option<(Bytes, Bytes)>, Error> {
        loop {
            match self.next_row(txn)? {
                None => {
                    self.note_end(txn);
                    return Ok(None);
                }
                Some((key, Some(value))) => {
                    self.note(txn, &key);
                    return Ok(Some((key, value)));
                }
                // Nobody is told of it; with the next row the range includes it.
                Some((_, None)) => {}
            }
        }
    }

    /// Shows some of the next rows with their keys, in order, until `see` wants no more of them; false: that was the
    /// end of the range. What is shown does not count as read yet: see [`Scan::note`] and [`Scan::note_end`].
    ///
    /// # Errors
    /// As [`Scan::next`].
    pub fn show(&mut self, txn: &Txn, see: &mut SeeRow<'_>) -> Result<bool, Error> {
        let direction = self.direction;
        self.own.fill(direction, |lower, upper, into| {
            txn.own_chunk(self.space, lower, upper, direction, SCAN_CHUNK_ROWS, into)
        });
        if self.own.is_over()
            && self.store.is_none()
            && self.table.is_dry()
            && let Some(more) = self.show_table(see)
        {
            return Ok(more);
        }
        for _ in 0..SCAN_CHUNK_ROWS {
            match self.next_row(txn)? {
                None => return Ok(false),
                Some((key, Some(row))) => {
                    if see(&key, &row) == Wants::NoMore {
                        break;
                    }
                }
                Some((_, None)) => {}
            }
        }
        Ok(true)
    }

    /// A chunk of the table where it lies; `None`: memory alone cannot say, and nothing was shown.
    fn show_table(&mut self, see: &mut SeeRow<'_>) -> Option<bool> {
        let limit = self.shown_rows;
        let backward = self.direction == Direction::Backward;
        // One pin for the look and for the question whether that was all; see `Wholeness`.
        let guard = quintet_index::pin();
        let mut entries = Vec::with_capacity(limit);
        let (lower, upper) = (as_slice(&self.table.lower), as_slice(&self.table.upper));
        let ended =
            (self.records.ordered).chunk(lower, upper, backward, limit, &guard, &mut entries);
        if !self.records.is_whole() {
            return None;
        }
        self.shown_rows = (limit * 4).min(SHOWN_ROWS_MAX);
        entries.iter().for_each(|entry| entry.prefetch_value());
        let (snapshot, seats) = (self.snapshot.timestamp, &self.shared.seats);
        let mut shown = entries.len();
        for (at, entry) in entries.iter().enumerate() {
            if let Found::Row(row, _) = entry.read_at(snapshot, seats, &guard)
                && see(entry.key(), row) == Wants::NoMore
            {
                shown = at + 1;
                break;
            }
        }
        if ended && shown == entries.len() {
            self.table.done = true;
            return Some(false);
        }
        // No chunk that reached its limit is empty.
        let last = Bytes::copy_from_slice(entries[..shown].last()?.key());
        match self.direction {
            Direction::Forward => self.table.lower = Bound::Excluded(last.clone()),
            Direction::Backward => self.table.upper = Bound::Excluded(last.clone()),
        }
        // Should STORE be asked after a later chunk, then from the end of this one on.
        self.passed = Some(last);
        drop(guard);
        sim::at(Point::Chunk);
        Some(true)
    }

    /// Whether the transaction remembers what was read, so that it has to be noted.
    pub fn is_remembered(&self) -> bool {
        self.footprint.is_some()
    }

    /// All that was shown up to this key counts as read.
    pub fn note(&mut self, txn: &Txn, key: &Bytes) {
        if let Some(slot) = self.footprint {
            let begins = !std::mem::replace(&mut self.is_noted, true);
            let range = begins.then_some(&self.range);
            txn.note_range_key(slot, range, self.direction, key);
        }
    }

    /// All of the range counts as read.
    pub fn note_end(&self, txn: &Txn) {
        if let Some(slot) = self.footprint {
            txn.note_range_end(slot, &self.range);
        }
    }

    /// The smallest key of all sources, with what the uppermost source says of it.
    fn next_row(&mut self, txn: &Txn) -> Result<Option<Row>, Error> {
        let (space, direction) = (self.space, self.direction);
        self.own.fill(direction, |lower, upper, into| {
            txn.own_chunk(space, lower, upper, direction, SCAN_CHUNK_ROWS, into)
        });
        if self.table.is_dry() {
            if self.read_table() {
                self.store = None;
            } else {
                self.look_where_the_rest_is()?;
            }
        }
        if self.store.is_none() && self.own.is_over() {
            // The table alone has what is left.
            return Ok(self.table.buffer.pop_front());
        }
        if let Some(store) = &mut self.store
            && store.head.is_none()
            && !store.done
        {
            match store.scan.next()? {
                Some((key, record)) => store.head = Some((key, record.value)),
                None => store.done = true,
            }
        }

        let heads = [
            self.own.head(),
            self.table.head(),
            self.store
                .as_ref()
                .and_then(|store| store.head.as_ref().map(|(key, _)| key)),
        ];
        let heads = heads.into_iter().flatten();
        let best = match direction {
            Direction::Forward => heads.min(),
            Direction::Backward => heads.max(),
        };
        let Some(key) = best.cloned() else {
            return Ok(None);
        };
        // All that have the key give it up; the uppermost one counts.
        let (own, table) = (self.own.take(&key), self.table.take(&key));
        let mut found = own.or(table);
        let from_store = |store: &StoreSource| store.head.as_ref().is_some_and(|(k, _)| *k == key);
        if self.store.as_ref().is_some_and(from_store) {
            if found.is_none() && !self.order_is_full && !sim::plants(Planted::TrustOrder) {
                found = self.unlisted(&key);
                if found.is_none() && !self.is_current() {
                    // It may have left memory since the generation was chosen.
                    self.look_where_the_rest_is()?;
                    return self.next_row(txn);
                }
            }
            let head = self.store.as_mut().and_then(|store| store.head.take());
            found = found.or(head.map(|(_, value)| Some(value)));
        }
        if self.store.is_some() {
            self.passed = Some(key.clone());
        }
        let value = found.expect("the key came from one of the sources");
        Ok(Some((key, value)))
    }

    /// Reads a chunk of the table; true if that is all there is.
    fn read_table(&mut self) -> bool {
        let (shared, records, direction) = (&self.shared, &self.records, self.direction);
        let before = (self.table.lower.clone(), self.table.upper.clone());
        // One pin for the look and for the question whether that was all; see `Wholeness`.
        let guard = quintet_index::pin();
        let mut is_whole = records.is_whole();
        loop {
            let hiding = match is_whole {
                true => Hiding::Needless,
                false => Hiding::Needed,
            };
            let mark = records.listing.mark();
            let limit = &mut self.chunk_rows;
            let at = (self.snapshot.timestamp, hiding);
            self.table.fill(direction, |lower, upper, into| {
                let rows = std::mem::replace(limit, SCAN_CHUNK_ROWS);
                shared.table_chunk(records, (lower, upper), direction, at, rows, into)
            });
            self.order_is_full = records.listing.was_full(mark);
            if !is_whole || records.is_whole() {
                break;
            }
            // Something has left the space meanwhile, and what was removed is wanted after all.
            is_whole = false;
            self.table = Source::new(&before.0, &before.1);
        }
        drop(guard);
        sim::at(Point::Chunk);
        if is_whole {
            // Should STORE be asked after a later chunk, then from the end of this one on.
            let end = match direction {
                Direction::Forward => &self.table.lower,
                Direction::Backward => &self.table.upper,
            };
            if let Bound::Excluded(key) = end {
                self.passed = Some(key.clone());
            }
        }
        is_whole
    }

    /// What the table has at a key for this snapshot, listed or not.
    fn unlisted(&self, key: &Bytes) -> Option<Option<Bytes>> {
        let guard = quintet_index::pin();
        let hash = hash(self.space, key);
        let entry = self.shared.table.find(hash, self.space, key, &guard)?;
        match entry.read_at(self.snapshot.timestamp, &self.shared.seats, &guard) {
            Found::Row(row, _) => Some(Some(Bytes::copy_from_slice(row))),
            Found::Removed(_) => Some(None),
            Found::Below => None,
        }
    }

    /// Whether STORE is read as the snapshot's generation is now.
    fn is_current(&self) -> bool {
        let position = self.shared.generations.of(self.snapshot.timestamp).position;
        self.store
            .as_ref()
            .is_some_and(|store| store.position == position)
    }

    /// After a chunk of the table: makes sure that what was not in it will come from the snapshot's
    /// generation as of now.
    fn look_where_the_rest_is(&mut self) -> Result<(), Error> {
        let kept = self.shared.generations.of(self.snapshot.timestamp);
        if let Some(store) = &self.store
            && store.position == kept.position
        {
            return Ok(());
        }
        let mut rest = self.range.clone();
        if let Some(passed) = self.passed.clone() {
            match self.direction {
                Direction::Forward => rest.lower = Bound::Excluded(passed),
                Direction::Backward => rest.upper = Bound::Excluded(passed),
            }
        }
        let scan = kept.generation.scan(self.space, &rest, self.direction)?;
        self.store = Some(StoreSource {
            position: kept.position,
            scan,
            head: None,
            done: is_empty(&rest.lower, &rest.upper),
        });
        Ok(())
    }
}
