//! Reading at a snapshot: memory first, then the snapshot's generation of STORE.
//!
//! Relies on: `table` evicts only what the generation of every reader has.  Promises: the row as of
//! the snapshot.  Does not: know own writes or what has to be remembered for validation.
//!
//! ```text
//!   table ──has a version at or below──► it
//!     │ none                                   (memory first: what is evicted after the look has
//!     ▼                                         been put into a generation before)
//!   space whole? ──yes──► there is no row
//!     │ no
//!     ▼
//!   generation of the snapshot ──► the row; remembered in the table if the generation is the newest
//! ```

use crate::component::Shared;
use crate::entry::Found;
use crate::error::Error;
use crate::sim::{self, Planted, Point};
use crate::table::{Space, TOGETHER};
use quintet_base::{Bytes, SpaceId, Timestamp};
use quintet_dc::Direction;
use quintet_index::{Entry, Guard};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A key and what is visible there (`None`: removed).
pub(crate) type Row = (Bytes, Option<Bytes>);

/// Whether a chunk has removed rows: they hide what STORE has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hiding {
    Needed,
    /// STORE is not asked.
    Needless,
}

/// How far a chunk came.
pub(crate) enum Progress {
    /// There may be more after this key, which need not have been visible.
    At(Bytes),
    /// The range is done.
    End,
}

/// Announced at once ([`crate::Txn::announce`]): what a NewOrder of fifteen lines looks up. Whoever announces does nothing else, so each step for all of them waits
/// for one miss.
pub const ANNOUNCED_TOGETHER: usize = 48;

/// Reads of STORE that take longer than this are worth announcing, which takes 4 µs a key: as long as a read that finds its block in the
/// system's memory.
const WORTH_ANNOUNCING: u64 = 20_000;

/// A read is taken for no slower than this: a thread that lost its processor in one says nothing of STORE.
const NANOS_MOST: u64 = 5 * WORTH_ANNOUNCING;

/// About so many looks are remembered. Where a read in ten waits for the disk, a few in a row do not.
const LOOKS: u64 = 8;

/// Of so many batches one is not announced, whatever is known of the ones before, to see how long reads take.
const BATCHES_TO_A_LOOK: u64 = 16;

/// How long reads of STORE take that nobody has announced, and so which ones are announced.
pub(crate) struct ReadsOfStore {
    /// Of the last ones, the later the more.
    nanos: AtomicU64,
    batches: AtomicU64,
}

/// What is done before a batch of reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ahead {
    Announce,
    /// They are not announced, and say how long a read takes.
    Look,
    Nothing,
}

impl Default for ReadsOfStore {
    /// Slow, until they are seen to be quick.
    fn default() -> Self {
        ReadsOfStore {
            nanos: AtomicU64::new(2 * WORTH_ANNOUNCING),
            batches: AtomicU64::new(0),
        }
    }
}

impl ReadsOfStore {
    /// What is done about the keys of the next batch that memory lacks.
    fn ahead_of(&self, missed: usize) -> Ahead {
        // A lone read is as fast unannounced.
        if missed < 2 {
            return Ahead::Nothing;
        }
        let batches = self.batches.fetch_add(1, Ordering::Relaxed) + 1;
        if batches.is_multiple_of(BATCHES_TO_A_LOOK) {
            Ahead::Look
        } else if self.nanos.load(Ordering::Relaxed) > WORTH_ANNOUNCING {
            Ahead::Announce
        } else {
            Ahead::Nothing
        }
    }

    /// A read has taken so long. Of two threads that say so at once, one may be lost: it is a guess.
    fn learn(&self, nanos: u64) {
        let before = self.nanos.load(Ordering::Relaxed);
        let now = (before * (LOOKS - 1) + nanos.min(NANOS_MOST)) / LOOKS;
        self.nanos.store(now, Ordering::Relaxed);
    }
}

impl Shared {
    /// Shows the row at a key to `see`, with the commit that wrote it (zero for what came out of a
    /// generation: it is durable). `touch`: leave word that it is in use.
    pub fn read<R>(
        &self,
        snapshot: Timestamp,
        (hash, space, key): (u64, SpaceId, &[u8]),
        touch: bool,
        see: impl FnOnce(Option<&[u8]>, Timestamp) -> R,
    ) -> Result<R, Error> {
        {
            let guard = quintet_index::pin();
            if let Some(entry) = self.table.find(hash, space, key, &guard) {
                if touch {
                    entry.touch();
                }
                match entry.read_at(snapshot, &self.seats, &guard) {
                    Found::Row(row, timestamp) => return Ok(see(Some(row), timestamp)),
                    Found::Removed(timestamp) => return Ok(see(None, timestamp)),
                    Found::Below => {}
                }
            }
            // Under the same pin; see `Wholeness`.
            if self.is_whole(space, &guard) {
                return Ok(see(None, Timestamp::ZERO));
            }
        }
        sim::at(Point::Missed);
        let kept = self.generations.of(snapshot);
        let Some(record) = kept.generation.get(space, key)? else {
            return Ok(see(None, Timestamp::ZERO));
        };
        sim::at(Point::Fetched);
        if kept.position == self.generations.newest() || sim::plants(Planted::FillLate) {
            let position = Timestamp(record.position.0);
            let guard = quintet_index::pin();
            self.table
                .fill(space, key, position, &record.value, kept.position, &guard);
            // Making room takes its time, in which others may wait for who has a pin.
            drop(guard);
            self.filled();
        }
        Ok(see(Some(&record.value), Timestamp::ZERO))
    }

    /// Shows the rows of many keys to `see`, in the order of the keys. While one is waited for, the
    /// others are already on their way out of memory, or out of STORE if its reads are slow.
    pub fn read_many(
        &self,
        snapshot: Timestamp,
        keys: &[(SpaceId, &[u8])],
        mut see: impl FnMut(usize, Option<&[u8]>, Timestamp),
    ) -> Result<(), Error> {
        for (batch, keys) in keys.chunks(TOGETHER).enumerate() {
            let mut missed = Vec::new();
            let hashes = {
                let guard = quintet_index::pin();
                let hashes: [u64; TOGETHER] = self.table.bring(keys.iter().copied(), &guard);
                for (hash, (space, key)) in hashes.iter().zip(keys) {
                    match self.table.find(*hash, *space, key, &guard) {
                        Some(entry) => entry.prefetch_value(),
                        None if self.is_whole(*space, &guard) => {}
                        None => missed.push((*space, *key)),
                    }
                }
                hashes
            };
            let ahead = self.reads_of_store.ahead_of(missed.len());
            if ahead == Ahead::Announce {
                self.announce_to_store(snapshot, &missed);
            }
            let begun = (ahead == Ahead::Look).then(|| self.config.clock.monotonic_nanos());
            for (at, ((space, key), hash)) in keys.iter().zip(hashes).enumerate() {
                self.read(snapshot, (hash, *space, key), at == 0, |row, timestamp| {
                    see(batch * TOGETHER + at, row, timestamp)
                })?;
            }
            if let Some(begun) = begun {
                let nanos = self.config.clock.monotonic_nanos().saturating_sub(begun);
                self.reads_of_store.learn(nanos / missed.len() as u64);
            }
        }
        Ok(())
    }

    /// Says that these keys will be read soon: what memory has of them is on its way to the processor when
    /// this returns, and STORE, if its reads are slow, has been told of the others. Needs no snapshot, and leaves nothing
    /// behind.
    pub fn announce(&self, keys: &[(SpaceId, &[u8])]) {
        let mut missed = Vec::new();
        for keys in keys.chunks(ANNOUNCED_TOGETHER) {
            let guard = quintet_index::pin();
            let hashes: [u64; ANNOUNCED_TOGETHER] = self.table.bring(keys.iter().copied(), &guard);
            for (hash, (space, key)) in hashes.iter().zip(keys) {
                match self.table.find_likely(*hash, &guard) {
                    Some(entry) => entry.prefetch_value(),
                    None if self.is_whole(*space, &guard) => {}
                    None => missed.push((*space, *key)),
                }
            }
        }
        match self.reads_of_store.ahead_of(missed.len()) {
            Ahead::Announce => self.announce_to_store(self.end(), &missed),
            Ahead::Look => self.look_at_store(self.end(), missed[0]),
            Ahead::Nothing => {}
        }
    }

    /// Tells STORE of keys that memory lacks and that are about to be read, as of the snapshot.
    fn announce_to_store(&self, snapshot: Timestamp, missed: &[(SpaceId, &[u8])]) {
        let kept = self.generations.of(snapshot);
        for (space, key) in missed {
            kept.generation.announce(*space, key);
        }
    }

    /// Learns how long a read takes from a key that is about to be read anyway: its block is at hand then.
    fn look_at_store(&self, snapshot: Timestamp, (space, key): (SpaceId, &[u8])) {
        let kept = self.generations.of(snapshot);
        let begun = self.config.clock.monotonic_nanos();
        // Whoever reads it is told of an error.
        let _ = kept.generation.get(space, key);
        let nanos = self.config.clock.monotonic_nanos().saturating_sub(begun);
        self.reads_of_store.learn(nanos);
    }

    /// The next rows in memory of a range, as of the snapshot: removed ones, too, if they may hide what STORE
    /// has, but nothing for keys of which memory has no version for this snapshot.
    pub fn table_chunk(
        &self,
        space: &Space,
        (lower, upper): (&Bound<Bytes>, &Bound<Bytes>),
        direction: Direction,
        (snapshot, hiding): (Timestamp, Hiding),
        limit: usize,
        into: &mut Vec<Row>,
    ) -> Progress {
        if is_empty(lower, upper) {
            return Progress::End;
        }
        let guard = quintet_index::pin();
        let mut entries = Vec::with_capacity(limit);
        let ended = space.ordered.chunk(
            as_slice(lower),
            as_slice(upper),
            direction == Direction::Backward,
            limit,
            &guard,
            &mut entries,
        );
        entries.iter().for_each(|entry| entry.prefetch_value());
        // One piece of memory for all rows of the chunk.
        let mut bytes = Vec::new();
        let mut places = Vec::with_capacity(entries.len());
        for entry in &entries {
            let row = match entry.read_at(snapshot, &self.seats, &guard) {
                Found::Row(row, _) => Some(row),
                Found::Removed(_) if hiding == Hiding::Needed => None,
                Found::Removed(_) | Found::Below => continue,
            };
            let key_at = bytes.len();
            bytes.extend_from_slice(entry.key());
            let value_at = bytes.len();
            bytes.extend_from_slice(row.unwrap_or_default());
            places.push((key_at, value_at, row.map(|_| bytes.len())));
        }
        let bytes = Bytes::from(bytes);
        into.extend(places.into_iter().map(|(key_at, value_at, end)| {
            let value = end.map(|end| bytes.slice(value_at..end));
            (bytes.slice(key_at..value_at), value)
        }));
        match entries.last() {
            Some(last) if !ended => Progress::At(Bytes::copy_from_slice(last.key())),
            _ => Progress::End,
        }
    }

    /// Whether memory has everything of a space. See [`Space::is_whole`].
    fn is_whole(&self, id: SpaceId, guard: &Guard) -> bool {
        match self.table.space_under(id, guard) {
            Some(space) => space.is_whole(),
            None => self.space(id).is_whole(),
        }
    }

    /// A space; whole unless STORE has it already.
    pub fn space(&self, id: SpaceId) -> Arc<Space> {
        self.table.space_or_new(id, || self.in_store(id))
    }

    pub fn in_store(&self, id: SpaceId) -> bool {
        self.store.spaces().contains(&id)
    }
}

pub(crate) fn as_slice(bound: &Bound<Bytes>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(&key[..]),
        Bound::Excluded(key) => Bound::Excluded(&key[..]),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// True for ranges that hold no key.
pub(crate) fn is_empty(lower: &Bound<Bytes>, upper: &Bound<Bytes>) -> bool {
    is_empty_between(as_slice(lower), as_slice(upper))
}

/// The same for borrowed bounds.
pub(crate) fn is_empty_between(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low >= high,
        _ => false,
    }
}
