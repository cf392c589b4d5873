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
//! A chunk of the table comes first, then the question where the rest is: nowhere if the space is
//! whole, else in the snapshot's generation as it is *now*. In this order, what was evicted before the
//! chunk was read is in the generation.

use crate::component::Handle;
use crate::error::Error;
use crate::read::{Progress, Row, is_empty};
use crate::sim::{self, Point};
use crate::snapshot::Snapshot;
use crate::table::Space;
use crate::transaction::Txn;
use quintet_base::limits::SCAN_CHUNK_ROWS;
use quintet_base::{Bytes, SpaceId, Timestamp};
use quintet_dc::{Direction, KeyRange, RecordScan};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// A first chunk is small: many scans want one row.
const FIRST_CHUNK_ROWS: usize = 8;

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
    chunk_rows: usize,
    /// Where the transaction records how far this scan has read; `None`: nothing is recorded.
    footprint: Option<usize>,
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
            chunk_rows: FIRST_CHUNK_ROWS,
            snapshot,
            footprint,
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
                    if let Some(slot) = self.footprint {
                        txn.note_range_end(slot, &self.range);
                    }
                    return Ok(None);
                }
                Some((key, value)) => {
                    if let Some(slot) = self.footprint {
                        txn.note_range_key(slot, &self.range, self.direction, &key);
                    }
                    if let Some(value) = value {
                        return Ok(Some((key, value)));
                    }
                }
            }
        }
    }

    /// The smallest key of all sources, with what the uppermost source says of it.
    fn next_row(&mut self, txn: &Txn) -> Result<Option<Row>, Error> {
        let (space, direction) = (self.space, self.direction);
        self.own.fill(direction, |lower, upper, into| {
            txn.own_chunk(space, lower, upper, direction, SCAN_CHUNK_ROWS, into)
        });
        let (shared, records) = (&self.shared, &self.records);
        let (timestamp, limit) = (self.snapshot.timestamp, &mut self.chunk_rows);
        if self.table.is_dry() {
            let whole = {
                // One pin for the look and for the question whether that was all; see `Wholeness`.
                let _guard = quintet_index::pin();
                self.table.fill(direction, |lower, upper, into| {
                    let rows = std::mem::replace(limit, SCAN_CHUNK_ROWS);
                    shared.table_chunk(records, (lower, upper), direction, timestamp, rows, into)
                });
                records.is_whole()
            };
            sim::at(Point::Chunk);
            if whole {
                self.store = None;
            } else {
                self.look_where_the_rest_is()?;
            }
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
        if let Some(store) = &mut self.store {
            self.passed = Some(key.clone());
            if store.head.as_ref().is_some_and(|(head, _)| *head == key) {
                let value = store.head.take().map(|(_, value)| Some(value));
                found = found.or(value);
            }
        } else if self.table.buffer.is_empty() {
            // Needed only where STORE may have to be asked from here: after the next chunk.
            self.passed = Some(key.clone());
        }
        let value = found.expect("the key came from one of the sources");
        Ok(Some((key, value)))
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
