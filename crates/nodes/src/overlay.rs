//! Records of the batches under way: what is there now, and what each batch changed.
//!
//! Relies on: `node::Store`.  Promises: a lane that has gone on to the next batch does not mix its writes into the
//! one before; whoever runs operations on one key in their order reads what that order says.
//! Does not: decide that order.
//!
//! ```text
//!   current   key ─► record now, and the last batch that may use it
//!   changed   batch ─► key ─► before, after          finish(batch) ─► Writes, undo
//! ```

use crate::call::{Key, Record};
use crate::node::{Map, Store};
use std::collections::BTreeMap;

/// See the header.
#[derive(Debug, Default)]
pub struct Overlay {
    current: Map<Key, Current>,
    changed: BTreeMap<u64, Map<Key, Changed>>,
    /// Keys that a batch brought in.
    used: BTreeMap<u64, Vec<Key>>,
    fetched: u64,
}

#[derive(Debug)]
struct Current {
    record: Option<Record>,
    last: u64,
}

#[derive(Debug)]
struct Changed {
    before: Option<Record>,
    after: Option<Record>,
}

/// What a batch changed.
#[derive(Debug, Default)]
pub struct Finished {
    /// As it is now.
    pub records: Vec<(Key, Option<Record>)>,
    /// As it was.
    pub undo: Vec<(Key, Option<Record>)>,
}

impl Overlay {
    /// Brings in the records at keys that a batch will use.
    pub fn fetch(&mut self, batch: u64, keys: impl Iterator<Item = Key>, store: &mut dyn Store) {
        let used = self.used.entry(batch).or_default();
        let mut missing = Vec::new();
        for key in keys {
            match self.current.get_mut(&key) {
                Some(current) if current.last == batch => {}
                Some(current) => {
                    current.last = batch;
                    used.push(key);
                }
                None => {
                    missing.push(key);
                    used.push(key);
                    let current = Current {
                        record: None,
                        last: batch,
                    };
                    self.current.insert(key, current);
                }
            }
        }
        self.fetched += missing.len() as u64;
        let current = &mut self.current;
        store.read_many(&missing, &mut |place, record| {
            if let Some(current) = current.get_mut(&missing[place]) {
                current.record = record;
            }
        });
    }

    /// The record now.
    pub fn read(&mut self, batch: u64, key: Key, store: &mut dyn Store) -> Option<&Record> {
        self.present(batch, key, store).record.as_ref()
    }

    fn present(&mut self, batch: u64, key: Key, store: &mut dyn Store) -> &mut Current {
        let fetched = &mut self.fetched;
        let used = &mut self.used;
        let bring = |used: &mut BTreeMap<u64, Vec<Key>>| {
            used.entry(batch).or_default().push(key);
        };
        let current = self.current.entry(key).or_insert_with(|| {
            *fetched += 1;
            bring(used);
            Current {
                record: store.read(&key),
                last: batch,
            }
        });
        if current.last < batch {
            current.last = batch;
            bring(used);
        }
        current
    }

    /// A batch writes.
    pub fn write(&mut self, batch: u64, key: Key, record: Record, store: &mut dyn Store) {
        let current = self.present(batch, key, store);
        let before = current.record.replace(record.clone());
        let changed = self.changed.entry(batch).or_default();
        let entry = changed.entry(key).or_insert(Changed {
            before,
            after: None,
        });
        entry.after = Some(record);
    }

    /// All operations of the batch, and of those before, are done. The store gets its changes before anything else
    /// is read; then [`Overlay::forget`].
    pub fn finish(&mut self, batch: u64) -> Finished {
        let mut changed: Vec<(Key, Changed)> =
            self.changed.remove(&batch).into_iter().flatten().collect();
        changed.sort_unstable_by_key(|(key, _)| *key);
        let mut finished = Finished::default();
        for (key, change) in changed {
            finished.records.push((key, change.after));
            finished.undo.push((key, change.before));
        }
        finished
    }

    /// The store has the changes of the batch.
    pub fn forget(&mut self, batch: u64) {
        for key in self.used.remove(&batch).into_iter().flatten() {
            if self.current.get(&key).is_some_and(|c| c.last <= batch) {
                self.current.remove(&key);
            }
        }
    }

    /// Records brought in since this was asked last.
    pub fn take_fetched(&mut self) -> u64 {
        std::mem::take(&mut self.fetched)
    }
}
