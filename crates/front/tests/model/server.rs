//! A model of one PostgreSQL server: snapshots, row locks, prepared transactions, a log that is flushed late.
//!
//! Relies on: nothing.  Promises: snapshot isolation, the first to update a row wins; what was flushed survives a
//! crash and nothing else does.  Does not: know front ends; `job` says what its sessions do.

use quintet_front::{AttemptId, Lsn, Place, ReplicaId, WriteId};
use std::collections::BTreeMap;

/// What can be locked and written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// Of the users' table: which calls wrote it, in order.
    Row(u64),
    /// quintet.applied
    Mark(WriteId),
    /// quintet.calls
    Token(u64),
    /// How far streams are dealt with.
    Horizon(ReplicaId),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    List(Vec<u64>),
    Number(u64),
}

impl Value {
    pub fn list(&self) -> &[u64] {
        match self {
            Value::List(list) => list,
            Value::Number(_) => panic!("not a row"),
        }
    }
}

pub type Writes = BTreeMap<Key, Option<Value>>;

/// Who holds a lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Owner {
    Session(u64),
    Prepared(AttemptId),
}

/// What the stream tells.
#[derive(Clone, Debug)]
pub enum Record {
    Prepared {
        attempt: AttemptId,
        place: Place,
        writes: Writes,
    },
    Settled {
        attempt: AttemptId,
        committed: bool,
    },
    Foreign {
        writes: Writes,
    },
}

/// Why a lock was not got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denied {
    /// Another one holds it.
    Held(Owner),
    /// Somebody committed the row after the snapshot.
    Changed,
}

#[derive(Debug)]
pub struct Server {
    pub id: ReplicaId,
    versions: BTreeMap<Key, Vec<(u64, Option<Value>)>>,
    pub locks: BTreeMap<Key, Owner>,
    pub prepared: BTreeMap<AttemptId, Writes>,
    pub lsn: u64,
    pub flushed: u64,
    pub log: BTreeMap<u64, Record>,
    pub up: bool,
    /// How often it was started.
    pub starts: u64,
    pub stalled: bool,
    /// Of the front end's slot: in memory, and as of the last checkpoint.
    pub confirmed: u64,
    pub checkpointed: u64,
}

impl Server {
    pub fn new(id: ReplicaId) -> Server {
        Server {
            id,
            versions: BTreeMap::new(),
            locks: BTreeMap::new(),
            prepared: BTreeMap::new(),
            lsn: 0,
            flushed: 0,
            log: BTreeMap::new(),
            up: true,
            starts: 1,
            stalled: false,
            confirmed: 0,
            checkpointed: 0,
        }
    }

    pub fn get(&self, key: Key, snapshot: u64) -> Option<&Value> {
        let versions = self.versions.get(&key)?;
        let seen = versions.iter().rev().find(|(at, _)| *at <= snapshot)?;
        seen.1.as_ref()
    }

    pub fn now(&self, key: Key) -> Option<&Value> {
        self.get(key, u64::MAX)
    }

    /// Everything that is committed.
    pub fn all(&self) -> BTreeMap<Key, Value> {
        let keys = self.versions.keys();
        let now = keys.filter_map(|key| Some((*key, self.now(*key)?.clone())));
        now.collect()
    }

    /// Takes a lock; a snapshot must be the newest for the row.
    pub fn lock(&mut self, key: Key, owner: Owner, snapshot: Option<u64>) -> Result<(), Denied> {
        if let Some(holder) = self.locks.get(&key)
            && *holder != owner
        {
            return Err(Denied::Held(*holder));
        }
        let last = self.versions.get(&key).and_then(|of| of.last());
        if let (Some(snapshot), Some((at, _))) = (snapshot, last)
            && *at > snapshot
        {
            return Err(Denied::Changed);
        }
        self.locks.insert(key, owner);
        Ok(())
    }

    pub fn unlock(&mut self, owner: Owner) {
        self.locks.retain(|_, holder| *holder != owner);
    }

    pub fn commit(&mut self, writes: Writes, owner: Owner, durable: bool) -> u64 {
        self.lsn += 1;
        for (key, value) in writes {
            self.versions
                .entry(key)
                .or_default()
                .push((self.lsn, value));
        }
        self.unlock(owner);
        if durable {
            self.flushed = self.lsn;
        }
        self.lsn
    }

    pub fn prepare(&mut self, attempt: AttemptId, place: Place, writes: Writes, owner: Owner) {
        self.lsn += 1;
        self.flushed = self.lsn;
        for holder in self.locks.values_mut() {
            if *holder == owner {
                *holder = Owner::Prepared(attempt);
            }
        }
        self.prepared.insert(attempt, writes.clone());
        let record = Record::Prepared {
            attempt,
            place,
            writes,
        };
        self.log.insert(self.lsn, record);
    }

    /// COMMIT PREPARED or ROLLBACK PREPARED; false if there is no such transaction.
    pub fn settle(&mut self, attempt: AttemptId, committed: bool) -> bool {
        let Some(writes) = self.prepared.remove(&attempt) else {
            return false;
        };
        let owner = Owner::Prepared(attempt);
        match committed {
            true => drop(self.commit(writes, owner, true)),
            false => {
                self.lsn += 1;
                self.flushed = self.lsn;
                self.unlock(owner);
            }
        }
        self.log
            .insert(self.lsn, Record::Settled { attempt, committed });
        true
    }

    /// An ordinary transaction of somebody else.
    pub fn foreign(&mut self, writes: Writes, owner: Owner) {
        let at = self.commit(writes.clone(), owner, true);
        self.log.insert(at, Record::Foreign { writes });
    }

    /// The next thing that the stream tells after a position.
    pub fn next_record(&self, after: u64) -> Option<(Lsn, &Record)> {
        let mut next = self.log.range(after + 1..=self.flushed.max(after + 1));
        let (at, record) = next.next()?;
        (*at <= self.flushed).then_some((Lsn(*at), record))
    }

    /// Loses what was not flushed. The slot may fall back to what the last checkpoint knew.
    pub fn crash(&mut self, slot_falls_back: bool) {
        let flushed = self.flushed;
        for versions in self.versions.values_mut() {
            versions.retain(|(at, _)| *at <= flushed);
        }
        self.log.retain(|at, _| *at <= flushed);
        self.lsn = flushed;
        self.locks.clear();
        for (attempt, writes) in &self.prepared {
            let owner = Owner::Prepared(*attempt);
            self.locks.extend(writes.keys().map(|key| (*key, owner)));
        }
        if slot_falls_back {
            self.confirmed = self.checkpointed;
        }
        self.up = false;
        self.starts += 1;
        self.stalled = false;
    }
}
