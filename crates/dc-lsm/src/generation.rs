//! Reads: a fixed view of all spaces.
//!
//! Relies on: `space` keeps what a pin needs.  Promises: never changes; holds the space's folder
//! (and the store's lock file) until it and its scans are dropped.  Does not: cache records.
//!
//! Hot path: `get`. The tablets were listed when the pin was made; what comes from the cache takes its
//! shard's lock, what comes from the disk also that of the tablet's file, for as long as to take the handle.

use crate::manifest::Listed;
use crate::space::Space;
use crate::{fault, record};
use bytes::Bytes;
use lsm_tree::{AbstractTree, Guard, IterGuardImpl, SeqNo, Slice};
use quintet_base::SpaceId;
use quintet_dc::{Direction, Error, Generation, KeyRange, Record, RecordScan};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// One space at one sequence number of its tree. Made by [`Space::pin`], which counts it.
pub(crate) struct Pinned {
    pub(crate) space: Arc<Space>,
    pub(crate) at: SeqNo,
    pub(crate) tablets: crate::tablets::Tablets,
}

impl Pinned {
    /// For the manifest.
    pub(crate) fn listed(&self) -> Listed {
        Listed {
            folder: self.space.number,
            next_merge: self.at,
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.space.unpin(self.at);
    }
}

/// All spaces at one moment, see `quintet_dc::Generation`. Unchanged spaces share their pin with the
/// generation before.
#[derive(Clone, Default)]
pub struct LsmGeneration {
    pub(crate) spaces: BTreeMap<SpaceId, Arc<Pinned>>,
}

impl Generation for LsmGeneration {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Record>, Error> {
        match self.spaces.get(&space) {
            Some(pinned) => pinned.read(key),
            None => Ok(None),
        }
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.spaces.keys().copied().collect()
    }

    fn announce(&self, space: SpaceId, key: &[u8]) {
        if let Some(pinned) = self.spaces.get(&space) {
            pinned.tablets.announce(key, pinned.at);
        }
    }

    fn scan(
        &self,
        space: SpaceId,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Box<dyn RecordScan>, Error> {
        let Some(pinned) = self.spaces.get(&space).filter(|_| !range.is_empty()) else {
            return Ok(Box::new(EmptyScan));
        };
        // The tree knows no empty keys, in bounds neither.
        let lower = match &range.lower {
            Bound::Included(key) | Bound::Excluded(key) if key.is_empty() => Bound::Unbounded,
            other => other.clone(),
        };
        if matches!(&range.upper, Bound::Included(key) | Bound::Excluded(key) if key.is_empty()) {
            return Ok(Box::new(EmptyScan));
        }
        let bounds: (Bound<Bytes>, Bound<Bytes>) = (lower, range.upper.clone());
        let entries = pinned.space.tree().range(bounds, pinned.at, None);
        Ok(Box::new(LsmScan {
            entries,
            direction,
            space: Arc::clone(&pinned.space),
            done: false,
            records: 0,
            runs: pinned.tablets.runs() as u64,
        }))
    }
}

struct EmptyScan;

impl RecordScan for EmptyScan {
    fn next(&mut self) -> Result<Option<(Bytes, Record)>, Error> {
        Ok(None)
    }
}

/// A scan holds the tablets it reads by itself; it needs no pin, only that the folder stays.
struct LsmScan {
    // Before `space`, so that it is dropped first.
    entries: Box<dyn DoubleEndedIterator<Item = IterGuardImpl> + Send>,
    direction: Direction,
    space: Arc<Space>,
    done: bool,
    /// Passed over.
    records: u64,
    /// That are merged.
    runs: u64,
}

impl Drop for LsmScan {
    fn drop(&mut self) {
        self.space.pages().note_scanned(self.records);
        self.space.questions().note_scan(self.records, self.runs);
    }
}

impl RecordScan for LsmScan {
    fn next(&mut self) -> Result<Option<(Bytes, Record)>, Error> {
        if self.done {
            return Ok(None);
        }
        let entry = match self.direction {
            Direction::Forward => self.entries.next(),
            Direction::Backward => self.entries.next_back(),
        };
        let Some(entry) = entry else {
            self.done = true;
            return Ok(None);
        };
        let (key, stored) = entry
            .into_inner()
            .map_err(|e| fault::tree("scan", self.space.folder(), e))?;
        self.records += 1;
        let record = self.space.decode(stored)?;
        Ok(Some((key.into(), record)))
    }
}

impl Pinned {
    pub(crate) fn read(&self, key: &[u8]) -> Result<Option<Record>, Error> {
        if key.is_empty() {
            return Ok(None); // the tree would take it for a bug
        }
        let stored = self.tablets.get(key, self.at)?;
        stored.map(|stored| self.space.decode(stored)).transpose()
    }
}

impl Space {
    pub(crate) fn decode(&self, stored: Slice) -> Result<Record, Error> {
        record::decode(stored).ok_or_else(|| Error::Damaged {
            path: self.folder().to_path_buf(),
            what: "a record without a position".to_owned(),
        })
    }
}
