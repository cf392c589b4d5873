//! A node's partition: records and notes as key-value transactions of a database.
//!
//! Relies on: `embed`'s key-value depth.  Promises: one commit is one record of the log; reads see it at once.
//! Does not: run while the database refuses; a node without its log is of no use, so the process ends.

use quintet_embed::{Bucket, CommitError, Database, Level, Pending, Transaction};
use quintet_nodes::workload::Workload;
use quintet_nodes::{Key, NodeId, Record, Store, Ticket, Writes};
use std::collections::VecDeque;

/// Records of one loading transaction.
const LOAD_RECORDS: usize = 2_000;

/// See the header.
pub struct DatabaseStore {
    database: &'static Database,
    rows: Bucket,
    notes: Bucket,
    /// A snapshot as of the last commit.
    reader: Option<Transaction<'static>>,
    last: u64,
    /// Commits that nobody has waited for.
    pending: VecDeque<(Ticket, Pending<'static>)>,
}

/// What cannot be gone on from.
fn fatal<T>(result: Result<T, CommitError>) -> T {
    match result {
        Ok(value) => value,
        // Acknowledged batches are in the log; whoever restarts the process finds them there.
        Err(error) => panic!("the node's database failed: {error}"),
    }
}

impl DatabaseStore {
    /// On a database that stays open as long as the process lives.
    ///
    /// # Errors
    /// The database failed.
    pub fn new(database: Database) -> Result<DatabaseStore, quintet_embed::Error> {
        let rows = database.bucket("rows")?;
        let notes = database.bucket("notes")?;
        let database: &'static Database = Box::leak(Box::new(database));
        Ok(DatabaseStore {
            database,
            rows,
            notes,
            reader: None,
            last: 0,
            pending: VecDeque::new(),
        })
    }

    /// The database.
    pub fn database(&self) -> &'static Database {
        self.database
    }

    /// Puts a workload's records of a node there, unless that was done before.
    ///
    /// # Errors
    /// The database failed.
    pub fn load(&mut self, node: NodeId, workload: &dyn Workload) -> Result<(), CommitError> {
        const LOADED: &[u8] = b"loaded";
        let mut txn = self.database.begin(Level::Snapshot);
        if txn.get(&self.notes, LOADED)?.is_some() {
            return Ok(());
        }
        let mut failed = Ok(());
        let mut count = 0;
        workload.load(node, &mut |key, record| {
            if failed.is_err() {
                return;
            }
            failed = txn.put(&self.rows, &key.encode(), &record);
            count += 1;
            if count % LOAD_RECORDS == 0 && failed.is_ok() {
                let full = std::mem::replace(&mut txn, self.database.begin(Level::Snapshot));
                failed = full.commit_pending().map(drop);
            }
        });
        failed?;
        txn.put(&self.notes, LOADED, b"1")?;
        txn.commit()?;
        Ok(())
    }

    /// How often this was called on the directory, this time included.
    ///
    /// # Errors
    /// The database failed.
    pub fn incarnation(&mut self) -> Result<u32, CommitError> {
        const STARTS: &[u8] = b"starts";
        let mut txn = self.database.begin(Level::Snapshot);
        let starts = txn.get(&self.notes, STARTS)?;
        let starts = starts.as_deref().and_then(|bytes| bytes.try_into().ok());
        let starts = starts.map_or(0, u32::from_le_bytes) + 1;
        txn.put(&self.notes, STARTS, &starts.to_le_bytes())?;
        txn.commit()?;
        Ok(starts)
    }

    /// Commits since this was asked last.
    pub fn take_pending(&mut self) -> impl Iterator<Item = (Ticket, Pending<'static>)> + '_ {
        self.pending.drain(..)
    }

    fn reader(&mut self) -> &Transaction<'static> {
        let database = self.database;
        self.reader
            .get_or_insert_with(|| database.begin(Level::Snapshot))
    }
}

/// Engines' notes have this before their names, to tell them from ours.
const NOTE: u8 = b'n';

impl Store for DatabaseStore {
    fn read(&mut self, key: &Key) -> Option<Record> {
        let rows = self.rows;
        let reader = self.reader();
        fatal(reader.read(&rows, &key.encode(), |record| record.map(<[u8]>::to_vec)))
    }

    fn read_many(&mut self, keys: &[Key], see: &mut dyn FnMut(usize, Option<Record>)) {
        if keys.is_empty() {
            return;
        }
        let rows = self.rows;
        let reader = self.reader();
        let keys: Vec<_> = keys.iter().map(Key::encode).collect();
        let shown = reader.read_many(&rows, &keys, |place, record| {
            see(place, record.map(<[u8]>::to_vec));
        });
        fatal(shown);
    }

    fn commit(&mut self, writes: Writes) -> Ticket {
        self.reader = None;
        let mut txn = self.database.begin(Level::Snapshot);
        for (key, record) in &writes.records {
            let key = key.encode();
            fatal(match record {
                Some(record) => txn.put(&self.rows, &key, record),
                None => txn.delete(&self.rows, &key),
            });
        }
        for (name, note) in &writes.notes {
            let mut key = vec![NOTE];
            key.extend_from_slice(name);
            fatal(match note {
                Some(note) => txn.put(&self.notes, &key, note),
                None => txn.delete(&self.notes, &key),
            });
        }
        self.last += 1;
        let ticket = Ticket(self.last);
        let pending = fatal(txn.commit_pending());
        self.pending.push_back((ticket, pending));
        ticket
    }

    fn notes(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let notes = self.notes;
        let reader = self.reader();
        let mut found = Vec::new();
        for row in fatal(reader.scan(&notes, ..)) {
            let (key, value) = fatal(row);
            if let Some(name) = key.strip_prefix(&[NOTE]) {
                found.push((name.to_vec(), value.to_vec()));
            }
        }
        found
    }
}
