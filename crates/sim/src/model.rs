//! What the database should hold: every version of every key, by commit.
//!
//! Relies on: nothing of what it is compared with.  Promises: the state at any timestamp.
//! Does not: know how a commit came about.

use quintet_base::{Bytes, SpaceId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// A record's name.
pub(crate) type Key = (SpaceId, Bytes);
/// What a transaction writes (`None`: removes).
pub(crate) type Writes = BTreeMap<Key, Option<Bytes>>;
/// Rows in key order.
pub(crate) type Rows = Vec<(Bytes, Bytes)>;

/// A range of keys of one space.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub space: SpaceId,
    pub lower: Bound<Bytes>,
    pub upper: Bound<Bytes>,
}

impl Range {
    pub fn contains(&self, (space, key): &Key) -> bool {
        let range = quintet_dc::KeyRange {
            lower: self.lower.clone(),
            upper: self.upper.clone(),
        };
        *space == self.space && range.contains(key)
    }
}

/// All that was committed.
#[derive(Default)]
pub(crate) struct Model {
    versions: BTreeMap<Key, BTreeMap<u64, Option<Bytes>>>,
    commits: BTreeSet<u64>,
}

impl Model {
    /// Adds a commit.
    pub fn commit(&mut self, timestamp: u64, writes: &Writes) -> Result<(), String> {
        if !self.commits.insert(timestamp) {
            return Err(format!("two commits have the timestamp {timestamp}"));
        }
        for (key, value) in writes {
            let versions = self.versions.entry(key.clone()).or_default();
            versions.insert(timestamp, value.clone());
        }
        Ok(())
    }

    /// Takes back what a crash has lost, and forgets what no later snapshot can read.
    pub fn recover(&mut self, end: u64) -> usize {
        let lost = self.commits.split_off(&(end + 1)).len();
        self.versions.retain(|_, versions| {
            versions.split_off(&(end + 1));
            match versions.pop_last() {
                Some((timestamp, Some(value))) => {
                    *versions = BTreeMap::from([(timestamp, Some(value))]);
                    true
                }
                Some((_, None)) | None => false,
            }
        });
        lost
    }

    /// Commits in `(from, to]`.
    pub fn commits_between(&self, from: u64, to: u64) -> usize {
        if from >= to {
            return 0;
        }
        let range = (Bound::Excluded(from), Bound::Included(to));
        self.commits.range(range).count()
    }

    /// The newest commit.
    pub fn newest(&self) -> u64 {
        self.commits.last().copied().unwrap_or(0)
    }

    /// The version that a snapshot reads, with its commit.
    pub fn at(&self, key: &Key, snapshot: u64) -> (u64, Option<&Bytes>) {
        let versions = self.versions.get(key);
        let version = versions.and_then(|versions| versions.range(..=snapshot).next_back());
        version.map_or((0, None), |(timestamp, value)| (*timestamp, value.as_ref()))
    }

    pub fn has_version(&self, key: &Key, timestamp: u64) -> bool {
        let versions = self.versions.get(key);
        versions.is_some_and(|versions| versions.contains_key(&timestamp))
    }

    /// A commit to the key above one timestamp and below another.
    pub fn changed(&self, key: &Key, above: u64, below: u64) -> Option<u64> {
        if above + 1 >= below {
            return None;
        }
        let versions = self.versions.get(key)?;
        versions.range(above + 1..below).next().map(|(at, _)| *at)
    }

    /// A commit into the range above one timestamp and below another.
    pub fn changed_in(&self, range: &Range, above: u64, below: u64) -> Option<(Key, u64)> {
        let keys = self.versions.keys().filter(|key| range.contains(key));
        keys.filter_map(|key| Some((key.clone(), self.changed(key, above, below)?)))
            .next()
    }

    /// The rows of a range as a snapshot sees them under some writes.
    pub fn rows(&self, range: &Range, snapshot: u64, own: &Writes) -> Rows {
        let mut rows: BTreeMap<Bytes, Bytes> = BTreeMap::new();
        for key in self.versions.keys().filter(|key| range.contains(key)) {
            if let Some(value) = self.at(key, snapshot).1 {
                rows.insert(key.1.clone(), value.clone());
            }
        }
        for (key, value) in own.iter().filter(|(key, _)| range.contains(key)) {
            match value {
                Some(value) => rows.insert(key.1.clone(), value.clone()),
                None => rows.remove(&key.1),
            };
        }
        rows.into_iter().collect()
    }
}
