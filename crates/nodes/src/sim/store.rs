//! A store in memory that forgets, in a crash, what was not durable.
//!
//! Relies on: nothing.  Promises: what [`Store`] does.  Does not: take time; whoever drives it says when a record is
//! durable.

use crate::call::{Key, Record};
use crate::node::{Store, Ticket, Writes};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Debug, Default)]
struct Contents {
    records: BTreeMap<Key, Record>,
    notes: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Contents {
    fn apply(&mut self, writes: &Writes) {
        for (key, record) in &writes.records {
            match record {
                Some(record) => self.records.insert(*key, record.clone()),
                None => self.records.remove(key),
            };
        }
        for (key, note) in &writes.notes {
            match note {
                Some(note) => self.notes.insert(key.clone(), note.clone()),
                None => self.notes.remove(key),
            };
        }
    }
}

/// See the header.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    now: Contents,
    /// `None`: nobody is going to crash it.
    disk: Option<Contents>,
    unsynced: VecDeque<Writes>,
    last: u64,
    bytes: u64,
}

impl MemoryStore {
    /// Holds these. A store that can crash keeps a second copy.
    pub fn new(records: BTreeMap<Key, Record>, can_crash: bool) -> MemoryStore {
        let now = Contents {
            records,
            notes: BTreeMap::new(),
        };
        MemoryStore {
            disk: can_crash.then(|| now.clone()),
            now,
            ..MemoryStore::default()
        }
    }

    /// What it holds.
    pub fn records(&self) -> &BTreeMap<Key, Record> {
        &self.now.records
    }

    /// The last record of its log.
    pub fn last(&self) -> Ticket {
        Ticket(self.last)
    }

    /// Records of the log that are not durable.
    pub fn unsynced(&self) -> usize {
        self.unsynced.len()
    }

    /// Bytes logged.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// So many of the oldest records become durable; the last of them.
    pub fn sync(&mut self, count: usize) -> Ticket {
        for _ in 0..count {
            if let (Some(writes), Some(disk)) = (self.unsynced.pop_front(), &mut self.disk) {
                disk.apply(&writes);
            }
        }
        Ticket(self.last - self.unsynced.len() as u64)
    }

    /// Forgets what is not durable.
    pub fn crash(&mut self) {
        self.last -= self.unsynced.len() as u64;
        self.unsynced.clear();
        if let Some(disk) = &self.disk {
            self.now = disk.clone();
        }
    }
}

impl Store for MemoryStore {
    fn read(&mut self, key: &Key) -> Option<Record> {
        self.now.records.get(key).cloned()
    }

    fn commit(&mut self, writes: Writes) -> Ticket {
        self.now.apply(&writes);
        let key = crate::call::KEY_BYTES as u64;
        let records = writes.records.iter();
        let length = |record: &Option<Record>| record.as_ref().map_or(0, Vec::len) as u64;
        self.bytes += records.map(|(_, r)| key + length(r)).sum::<u64>();
        let notes = writes.notes.iter();
        let length = |note: &Option<Vec<u8>>| note.as_ref().map_or(0, Vec::len);
        self.bytes += notes
            .map(|(k, n)| (k.len() + length(n)) as u64)
            .sum::<u64>();
        self.last += 1;
        if self.disk.is_some() {
            self.unsynced.push_back(writes);
        }
        Ticket(self.last)
    }

    fn notes(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let notes = self.now.notes.iter();
        notes.map(|(k, n)| (k.clone(), n.clone())).collect()
    }
}
