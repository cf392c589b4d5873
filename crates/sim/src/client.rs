//! One client: an open transaction and what it must have seen so far.
//!
//! Relies on: being the only one that uses the transaction.  Promises: its picture of own writes,
//! reads and locks is kept apart from the component's.  Does not: decide what to do next.

use crate::model::{Key, Range, Writes};
use quintet_base::{Bytes, Durability, Level, SpaceId};
use quintet_dc::Direction;
use quintet_tc::{Mark, Scan, Strength, Txn, Wait};
use std::collections::{BTreeSet, VecDeque};

/// An open transaction.
pub(crate) struct Client {
    pub number: u64,
    pub level: Level,
    pub txn: Txn,
    /// What the present statement reads at.
    pub snapshot: u64,
    pub writes: Writes,
    /// The spaces as the schema of the present statement has them.
    pub spaces: Vec<SpaceId>,
    pub statements: u64,
    /// A point to roll back to, with the writes as they were.
    pub saved: Option<(Mark, Writes)>,
    pub reads: BTreeSet<Key>,
    /// Asked for together with others: remembered by the component also where an own write answers.
    pub asked: BTreeSet<Key>,
    pub ranges: Vec<Range>,
    /// Newest commit that a read has returned.
    pub newest_read: u64,
    /// Rows locked, and the snapshot at which they were seen unchanged.
    pub locks: Vec<(Key, u64)>,
    pub cursor: Option<Cursor>,
    pub waiting: Option<(Wait, Again)>,
}

/// A scan that goes on later.
pub(crate) struct Cursor {
    pub scan: Scan,
    pub direction: Direction,
    pub snapshot: u64,
    /// What it has to return.
    pub expected: VecDeque<(Bytes, Bytes)>,
    pub range: Range,
    /// Which of the client's ranges says how far it was read; serializable ones only.
    pub slot: Option<usize>,
}

/// What to do when a wait is over.
#[derive(Clone)]
pub(crate) enum Again {
    Lock(Key, Strength),
    Commit(Durability),
}

impl Client {
    /// Where it has read anything that its commit has to validate.
    pub fn spaces_read(&self) -> impl Iterator<Item = SpaceId> {
        let keys = self.reads.iter().chain(&self.asked).map(|key| key.0);
        keys.chain(self.ranges.iter().map(|range| range.space))
    }

    pub fn new(number: u64, level: Level, txn: Txn) -> Client {
        Client {
            number,
            level,
            snapshot: txn.snapshot().0,
            txn,
            writes: Writes::new(),
            spaces: Vec::new(),
            statements: 0,
            saved: None,
            reads: BTreeSet::new(),
            asked: BTreeSet::new(),
            ranges: Vec::new(),
            newest_read: 0,
            locks: Vec::new(),
            cursor: None,
            waiting: None,
        }
    }

    /// Remembers a read of a version that is not its own.
    pub fn note_read(&mut self, key: &Key, timestamp: u64) {
        self.newest_read = self.newest_read.max(timestamp);
        if self.level == Level::Serializable {
            self.reads.insert(key.clone());
        }
    }
}
