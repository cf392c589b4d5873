//! The ledger: every write set that is decided and not yet safe at every replica.
//!
//! Relies on: positions are given in the order of decisions.  Promises: an entry stays until its write set is
//! durable at every replica and its origin's stream need not tell of it again.  Does not: do anything about it.
//!
//! ```text
//!   decide ──► entry ── durable everywhere ──► done ── nothing older of its origin's stream is open ──► gone
//!              bytes are kept                  bytes are forgotten      its marks are pruned
//! ```
//!
//! Marks at replicas say, after a restart, what was applied. They go last: a stream that tells again of a write set
//! without marks would have it applied twice. So the *horizon*, up to where a stream is dealt with, is recorded in
//! the transaction that removes the marks.

use crate::ids::{AttemptId, Lsn, WriteId};
use quintet_chain::CallId;
use std::collections::{BTreeMap, BTreeSet};

/// How safe a write set is at a replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum There {
    /// Not committed there, or nobody has said so.
    Missing,
    /// Committed; a crash of the server may undo it.
    Applied,
    /// Committed for good.
    Durable,
}

/// Where the bytes of a write set are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bytes {
    /// With the driver.
    Held,
    /// Only in the origin's log.
    Forgotten,
    /// The origin's stream will tell of them again.
    Awaited,
}

/// A write set that will be at every replica.
#[derive(Debug)]
pub(crate) struct Entry {
    pub write: WriteId,
    pub origin: usize,
    pub at: Lsn,
    /// The call that waits for it, as long as it was not answered.
    pub unanswered: Option<CallId>,
    /// The call that the scheduler knows it by.
    pub call: Option<CallId>,
    pub there: Vec<There>,
    pub bytes: Bytes,
    /// Others may apply it.
    pub released: bool,
    /// Its origin went before it had committed: applies make it durable.
    pub orphaned: bool,
}

impl Entry {
    /// True if some replica has it for good.
    pub fn is_durable(&self) -> bool {
        self.there.contains(&There::Durable)
    }
}

/// What the stream of a replica told of and is not dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Open {
    /// Of an attempt that is not decided.
    Undecided(AttemptId),
    /// The entry at this position.
    Entered(u64),
    /// Durable everywhere; the entry at this position still names its marks.
    Done(u64),
}

/// The stream of a replica.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// How far it has come.
    pub seen: Lsn,
    /// Nothing at or before it is needed.
    pub horizon: Lsn,
    pub open: BTreeMap<Lsn, Open>,
}

/// All entries.
#[derive(Debug)]
pub(crate) struct Ledger {
    entries: BTreeMap<u64, Entry>,
    by_write: BTreeMap<WriteId, u64>,
    /// The last position that was given.
    pub position: u64,
    pub unanswered: BTreeSet<u64>,
    /// Entries whose bytes the driver has.
    pub held: BTreeSet<u64>,
    pub streams: Vec<Stream>,
    /// Entries that are done and not gone.
    pub done: usize,
}

impl Ledger {
    pub fn new(replicas: usize) -> Ledger {
        Ledger {
            entries: BTreeMap::new(),
            by_write: BTreeMap::new(),
            position: 0,
            unanswered: BTreeSet::new(),
            held: BTreeSet::new(),
            streams: (0..replicas).map(|_| Stream::default()).collect(),
            done: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn find(&self, write: WriteId) -> Option<u64> {
        self.by_write.get(&write).copied()
    }

    pub fn get(&self, position: u64) -> Option<&Entry> {
        self.entries.get(&position)
    }

    pub fn get_mut(&mut self, position: u64) -> Option<&mut Entry> {
        self.entries.get_mut(&position)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &Entry)> {
        self.entries
            .iter()
            .map(|(position, entry)| (*position, entry))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Entry)> {
        let entries = self.entries.iter_mut();
        entries.map(|(position, entry)| (*position, entry))
    }

    /// Gives a write set the next position.
    pub fn enter(&mut self, entry: Entry) -> u64 {
        self.position += 1;
        let position = self.position;
        if entry.unanswered.is_some() {
            self.unanswered.insert(position);
        }
        if entry.bytes == Bytes::Held {
            self.held.insert(position);
        }
        let open = &mut self.streams[entry.origin].open;
        open.insert(entry.at, Open::Entered(position));
        self.by_write.insert(entry.write, position);
        self.entries.insert(position, entry);
        position
    }

    /// True if a write set is at a replica. One that is not here any more is everywhere.
    pub fn is_at(&self, position: u64, replica: usize) -> bool {
        let entry = self.entries.get(&position);
        entry.is_none_or(|entry| entry.there[replica] != There::Missing)
    }

    /// An attempt is over without effect: its write set, if it was told of, is needed by nobody.
    pub fn close(&mut self, replica: usize, at: Lsn) {
        self.streams[replica].open.remove(&at);
    }

    /// An entry is durable everywhere.
    pub fn finish(&mut self, position: u64) {
        let entry = &self.entries[&position];
        let open = &mut self.streams[entry.origin].open;
        let before = open.insert(entry.at, Open::Done(position));
        if before == Some(Open::Entered(position)) {
            self.done += 1;
        }
        self.held.remove(&position);
    }

    /// Moves the horizons as far as they go, and takes out the entries that they pass. True for a replica
    /// whose horizon has moved.
    pub fn advance(&mut self) -> (Vec<WriteId>, Vec<bool>) {
        let mut gone = Vec::new();
        let mut moved = Vec::new();
        for stream in &mut self.streams {
            let before = stream.horizon;
            while let Some((at, Open::Done(position))) = stream.open.first_key_value() {
                let (at, position) = (*at, *position);
                stream.open.remove(&at);
                stream.horizon = stream.horizon.max(at);
                let entry = self.entries.remove(&position).expect("it is done");
                self.by_write.remove(&entry.write);
                self.done -= 1;
                gone.push(entry.write);
            }
            let limit = match stream.open.first_key_value() {
                Some((at, _)) => Lsn(at.0.saturating_sub(1)),
                None => stream.seen,
            };
            stream.horizon = stream.horizon.max(limit);
            moved.push(stream.horizon != before);
        }
        (gone, moved)
    }
}
