//! Version chains by key.
//!
//! Relies on: installs come one at a time (under the sequencer), in timestamp order.
//! Promises: a reader at a snapshot finds the newest version at or below it, while installs go on.
//! Does not: know locks or transactions in flight; only committed versions are ever in here.
//!
//! A memtable holds a map per space. The value bytes of a version are a slice of the log record
//! that made it, so they exist once. Each chain is kept short: an install drops versions that no
//! snapshot can reach any more.
//!
//! Hot path: `get` and `install`. Do not allocate per look-up here.

use parking_lot::{Mutex, RwLock};
use quintet_base::limits::SCAN_CHUNK_ROWS;
use quintet_base::{Bytes, SpaceId, Timestamp};
use quintet_dc::Direction;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes that a version costs beside its own: chain slot, reference counts, its share of the record.
const VERSION_OVERHEAD: usize = 64;
/// Bytes that a new key costs beside its own: map slot and chain.
const KEY_OVERHEAD: usize = 96;

/// One committed version of a record.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// When it was committed.
    pub timestamp: Timestamp,
    /// The row, or `None` where it was removed.
    pub value: Option<Bytes>,
}

/// Oldest first; the newest is at the end, where it is found and pushed at once.
type Chain = Vec<Version>;

/// The versions of one space.
#[derive(Default)]
pub(crate) struct SpaceTable {
    records: RwLock<BTreeMap<Bytes, Mutex<Chain>>>,
    /// Timestamp of the newest install. Written under the sequencer, read by validation.
    newest: AtomicU64,
}

/// The versions of all spaces since the last freeze.
#[derive(Default)]
pub(crate) struct MemTable {
    spaces: RwLock<HashMap<SpaceId, Arc<SpaceTable>>>,
    /// Estimate of the memory held. Written by installs, read by anybody.
    bytes: AtomicUsize,
}

/// A key and what is visible there (`None`: removed).
pub(crate) type Entry = (Bytes, Option<Bytes>);

fn newest_visible(chain: &Chain, snapshot: Timestamp) -> Option<&Version> {
    chain
        .iter()
        .rev()
        .find(|version| version.timestamp <= snapshot)
}

impl MemTable {
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn space(&self, space: SpaceId) -> Option<Arc<SpaceTable>> {
        self.spaces.read().get(&space).cloned()
    }

    fn space_or_new(&self, space: SpaceId) -> Arc<SpaceTable> {
        if let Some(table) = self.space(space) {
            return table;
        }
        Arc::clone(self.spaces.write().entry(space).or_default())
    }

    /// Spaces that have versions, in ascending order.
    pub fn spaces(&self) -> Vec<(SpaceId, Arc<SpaceTable>)> {
        let mut spaces: Vec<_> = self
            .spaces
            .read()
            .iter()
            .map(|(id, table)| (*id, Arc::clone(table)))
            .collect();
        spaces.sort_by_key(|(id, _)| *id);
        spaces
    }

    /// Puts a version on top of its chain. Called under the sequencer, in timestamp order.
    /// Versions that no snapshot at or above `oldest` can reach are dropped from the chain.
    pub fn install(&self, space: SpaceId, key: Bytes, version: Version, oldest: Timestamp) {
        let table = self.space_or_new(space);
        table.newest.store(version.timestamp.0, Ordering::Release);
        let added = version.value.as_ref().map_or(0, Bytes::len) + VERSION_OVERHEAD;
        {
            let records = table.records.read();
            if let Some(chain) = records.get(&key) {
                let mut chain = chain.lock();
                let freed = prune(&mut chain, oldest);
                chain.push(version);
                drop(chain);
                self.bytes.fetch_add(added, Ordering::Relaxed);
                self.bytes.fetch_sub(freed, Ordering::Relaxed);
                return;
            }
        }
        self.bytes
            .fetch_add(added + key.len() + KEY_OVERHEAD, Ordering::Relaxed);
        table.records.write().insert(key, Mutex::new(vec![version]));
    }
}

/// Drops versions below the newest one at or below `oldest`; returns the bytes freed.
fn prune(chain: &mut Chain, oldest: Timestamp) -> usize {
    let Some(keep_from) = chain
        .iter()
        .rposition(|version| version.timestamp <= oldest)
    else {
        return 0;
    };
    chain
        .drain(..keep_from)
        .map(|v| v.value.map_or(0, |bytes| bytes.len()) + VERSION_OVERHEAD)
        .sum()
}

impl SpaceTable {
    /// Timestamp of the newest install into this space.
    pub fn newest(&self) -> Timestamp {
        Timestamp(self.newest.load(Ordering::Acquire))
    }

    /// The version visible at `snapshot`, if this memtable has one.
    pub fn get(&self, key: &[u8], snapshot: Timestamp) -> Option<Version> {
        let records = self.records.read();
        let chain = records.get(key)?.lock();
        newest_visible(&chain, snapshot).cloned()
    }

    /// Timestamp of the newest version of a key, whatever the snapshot.
    pub fn newest_of(&self, key: &[u8]) -> Option<Timestamp> {
        let records = self.records.read();
        let chain = records.get(key)?.lock();
        chain.last().map(|version| version.timestamp)
    }

    /// The next visible entries of a range, at most a chunk. The caller goes on after the last key
    /// it was given; an empty answer with `true` means the end.
    pub fn chunk(
        &self,
        lower: &Bound<Bytes>,
        upper: &Bound<Bytes>,
        direction: Direction,
        snapshot: Timestamp,
        into: &mut Vec<Entry>,
    ) -> Progress {
        if is_empty(lower, upper) {
            return Progress::End;
        }
        let records = self.records.read();
        let range = records.range::<[u8], _>((as_slice(lower), as_slice(upper)));
        match direction {
            Direction::Forward => fill(range, snapshot, into),
            Direction::Backward => fill(range.rev(), snapshot, into),
        }
    }

    /// The newest version of each key after `lower`, at most a chunk. For merges of frozen tables.
    pub fn newest_chunk(&self, lower: &Bound<Bytes>, into: &mut Vec<(Bytes, Version)>) -> Progress {
        let records = self.records.read();
        let range = records.range::<[u8], _>((as_slice(lower), Bound::Unbounded));
        for (key, chain) in range.take(SCAN_CHUNK_ROWS) {
            let newest = chain
                .lock()
                .last()
                .cloned()
                .expect("a chain is never empty");
            into.push((key.clone(), newest));
        }
        match into.last() {
            Some((last, _)) if into.len() == SCAN_CHUNK_ROWS => Progress::At(last.clone()),
            _ => Progress::End,
        }
    }

    /// The newest commit above `snapshot` into a range, if there is one.
    pub fn newest_in_range(
        &self,
        lower: &Bound<Bytes>,
        upper: &Bound<Bytes>,
        snapshot: Timestamp,
    ) -> Option<(Bytes, Timestamp)> {
        if self.newest() <= snapshot || is_empty(lower, upper) {
            return None;
        }
        let records = self.records.read();
        records
            .range::<[u8], _>((as_slice(lower), as_slice(upper)))
            .filter_map(|(key, chain)| chain.lock().last().map(|v| (key, v.timestamp)))
            .find(|(_, timestamp)| *timestamp > snapshot)
            .map(|(key, timestamp)| (key.clone(), timestamp))
    }
}

/// How far a chunk came.
pub(crate) enum Progress {
    /// There may be more after this key, which need not have been visible.
    At(Bytes),
    /// The range is done.
    End,
}

fn fill<'a>(
    range: impl Iterator<Item = (&'a Bytes, &'a Mutex<Chain>)>,
    snapshot: Timestamp,
    into: &mut Vec<Entry>,
) -> Progress {
    // Invisible entries count too: a long run of them must not keep the latch.
    for (looked_at, (key, chain)) in range.enumerate() {
        if let Some(version) = newest_visible(&chain.lock(), snapshot) {
            into.push((key.clone(), version.value.clone()));
        }
        if looked_at + 1 >= SCAN_CHUNK_ROWS {
            return Progress::At(key.clone());
        }
    }
    Progress::End
}

pub(crate) fn as_slice(bound: &Bound<Bytes>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// True if no key can lie in the range; `BTreeMap::range` would panic on some of these.
pub(crate) fn is_empty(lower: &Bound<Bytes>, upper: &Bound<Bytes>) -> bool {
    match (lower, upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low >= high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    fn put(table: &MemTable, name: &str, timestamp: u64, value: Option<&str>, oldest: u64) {
        let version = Version {
            timestamp: Timestamp(timestamp),
            value: value.map(key),
        };
        table.install(SpaceId(1), key(name), version, Timestamp(oldest));
    }

    #[test]
    fn readers_find_the_newest_version_at_or_below_their_snapshot() {
        let table = MemTable::default();
        put(&table, "a", 10, Some("x"), 0);
        put(&table, "a", 20, Some("y"), 0);
        put(&table, "a", 30, None, 0);
        let space = table.space(SpaceId(1)).unwrap();
        assert!(space.get(b"a", Timestamp(9)).is_none());
        assert_eq!(
            space.get(b"a", Timestamp(10)).unwrap().value,
            Some(key("x"))
        );
        assert_eq!(
            space.get(b"a", Timestamp(29)).unwrap().value,
            Some(key("y"))
        );
        assert_eq!(space.get(b"a", Timestamp(30)).unwrap().value, None);
        assert_eq!(space.newest_of(b"a"), Some(Timestamp(30)));
    }

    #[test]
    fn chains_are_pruned_to_what_the_oldest_snapshot_needs_and_bytes_follow() {
        let table = MemTable::default();
        for timestamp in 1..=100 {
            put(
                &table,
                "hot",
                timestamp,
                Some("0123456789"),
                timestamp.saturating_sub(3),
            );
        }
        let space = table.space(SpaceId(1)).unwrap();
        assert!(space.get(b"hot", Timestamp(97)).is_some());
        assert!(space.get(b"hot", Timestamp(95)).is_none());
        assert!(table.bytes() < 10 * (10 + VERSION_OVERHEAD));
    }

    #[test]
    fn chunks_walk_both_ways_and_skip_what_is_invisible() {
        let table = MemTable::default();
        for i in 0..1000u32 {
            let name = format!("{i:04}");
            put(&table, &name, u64::from(i) + 1, Some("v"), 0);
        }
        let space = table.space(SpaceId(1)).unwrap();
        for direction in [Direction::Forward, Direction::Backward] {
            let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
            let mut seen = vec![];
            loop {
                match space.chunk(&lower, &upper, direction, Timestamp(500), &mut seen) {
                    Progress::End => break,
                    Progress::At(last) => match direction {
                        Direction::Forward => lower = Bound::Excluded(last),
                        Direction::Backward => upper = Bound::Excluded(last),
                    },
                }
            }
            if direction == Direction::Backward {
                seen.reverse();
            }
            let names: Vec<_> = seen.iter().map(|(k, _)| k.clone()).collect();
            let expected: Vec<_> = (0..500).map(|i| key(&format!("{i:04}"))).collect();
            assert_eq!(names, expected);
        }
    }
}
