//! Ordered reads merged from all sources of a view.
//!
//! Relies on: each source yields its entries in key order; newer sources hide older ones.
//! Promises: every key visible at the snapshot once, in order, own writes included; what was read
//! is recorded for validation exactly as far as it was read.  Does not: hold a latch between calls.
//!
//! ```text
//!   own writes   ─┐
//!   active (m1)  ─┤  smallest key; on a tie the uppermost source wins,  ──►  (key, row)
//!   frozen …     ─┤  the others skip it; removals are skipped
//!   generation   ─┘
//! ```

use crate::error::Error;
use crate::memtable::{Entry, Progress, SpaceTable, is_empty};
use crate::snapshots::Snapshot;
use crate::transaction::Txn;
use quintet_base::limits::SCAN_CHUNK_ROWS;
use quintet_base::{Bytes, SpaceId};
use quintet_dc::{Direction, KeyRange, RecordScan};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// A scan in progress. It keeps the snapshot it began with, also when the transaction goes on to
/// another one (a cursor at READ COMMITTED).
pub struct Scan {
    space: SpaceId,
    range: KeyRange,
    direction: Direction,
    snapshot: Arc<Snapshot>,
    own: Source<()>,
    memtables: Vec<Source<Arc<SpaceTable>>>,
    store: Option<StoreSource>,
    /// Where the transaction records how far this scan has read; `None`: nothing is recorded.
    footprint: Option<usize>,
}

/// A source read in chunks: what is buffered, and where the next chunk begins.
struct Source<T> {
    from: T,
    buffer: VecDeque<Entry>,
    lower: Bound<Bytes>,
    upper: Bound<Bytes>,
    done: bool,
}

struct StoreSource {
    scan: Box<dyn RecordScan>,
    head: Option<(Bytes, Bytes)>,
    done: bool,
}

impl<T> Source<T> {
    fn new(from: T, lower: &Bound<Bytes>, upper: &Bound<Bytes>) -> Source<T> {
        Source {
            from,
            buffer: VecDeque::new(),
            lower: lower.clone(),
            upper: upper.clone(),
            done: is_empty(lower, upper),
        }
    }

    /// Fills the buffer unless the source is done; `chunk` reads one chunk from where we are.
    fn fill(
        &mut self,
        direction: Direction,
        mut chunk: impl FnMut(&T, &Bound<Bytes>, &Bound<Bytes>, &mut Vec<Entry>) -> Progress,
    ) {
        while self.buffer.is_empty() && !self.done {
            let mut entries = Vec::new();
            match chunk(&self.from, &self.lower, &self.upper, &mut entries) {
                Progress::End => self.done = true,
                Progress::At(last) => match direction {
                    Direction::Forward => self.lower = Bound::Excluded(last),
                    Direction::Backward => self.upper = Bound::Excluded(last),
                },
            }
            self.buffer.extend(entries);
        }
    }
}

impl Scan {
    pub(crate) fn new(
        snapshot: Arc<Snapshot>,
        space: SpaceId,
        range: &KeyRange,
        direction: Direction,
        footprint: Option<usize>,
    ) -> Result<Scan, Error> {
        let (lower, upper) = (&range.lower, &range.upper);
        let memtables = snapshot
            .view
            .memtables()
            .filter_map(|table| table.space(space))
            .map(|records| Source::new(records, lower, upper))
            .collect();
        let store = if is_empty(lower, upper) {
            None
        } else {
            let scan = snapshot.view.generation.scan(space, range, direction)?;
            Some(StoreSource {
                scan,
                head: None,
                done: false,
            })
        };
        Ok(Scan {
            space,
            range: range.clone(),
            direction,
            own: Source::new((), lower, upper),
            memtables,
            store,
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
            match self.next_entry(txn)? {
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
    fn next_entry(&mut self, txn: &Txn) -> Result<Option<Entry>, Error> {
        let (space, direction, timestamp) = (self.space, self.direction, self.snapshot.timestamp);
        self.own.fill(direction, |(), lower, upper, into| {
            txn.own_chunk(space, lower, upper, direction, SCAN_CHUNK_ROWS, into)
        });
        for source in &mut self.memtables {
            source.fill(direction, |records, lower, upper, into| {
                records.chunk(lower, upper, direction, timestamp, into)
            });
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

        let mut best: Option<&Bytes> = None;
        let heads = self
            .own
            .buffer
            .front()
            .map(|(key, _)| key)
            .into_iter()
            .chain(
                self.memtables
                    .iter()
                    .filter_map(|source| source.buffer.front().map(|(key, _)| key)),
            )
            .chain(
                self.store
                    .iter()
                    .filter_map(|store| store.head.as_ref().map(|(key, _)| key)),
            );
        for key in heads {
            let better = match (best, direction) {
                (None, _) => true,
                (Some(best), Direction::Forward) => key < best,
                (Some(best), Direction::Backward) => key > best,
            };
            if better {
                best = Some(key);
            }
        }
        let Some(key) = best.cloned() else {
            return Ok(None);
        };

        let mut found: Option<Option<Bytes>> = None;
        if self
            .own
            .buffer
            .front()
            .is_some_and(|(head, _)| *head == key)
        {
            found = self.own.buffer.pop_front().map(|(_, value)| value);
        }
        for source in &mut self.memtables {
            if source.buffer.front().is_some_and(|(head, _)| *head == key) {
                let value = source.buffer.pop_front().map(|(_, value)| value);
                found = found.or(value);
            }
        }
        if let Some(store) = &mut self.store
            && store.head.as_ref().is_some_and(|(head, _)| *head == key)
        {
            let value = store.head.take().map(|(_, value)| Some(value));
            found = found.or(value);
        }
        Ok(Some((
            key,
            found.expect("the key came from one of the sources"),
        )))
    }
}
