//! The transactional key-value door: buckets of ordered keys, transactions at any level.
//!
//! Relies on: `tc`.  Promises: what SQL transactions promise, on bytes.  Does not: lock early:
//! writes are buffered and validated at commit, so a conflict comes out of `commit`.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! use quintet_embed::{Database, DatabaseConfig, Level};
//!
//! let (db, _report) = Database::open(DatabaseConfig::new(dir.path()))?;
//! let accounts = db.bucket("accounts")?;
//!
//! let mut txn = db.begin(Level::Serializable);
//! txn.put(&accounts, b"ann", b"100")?;
//! txn.put(&accounts, b"bob", b"50")?;
//! txn.commit()?;
//!
//! let txn = db.begin(Level::Snapshot);
//! assert_eq!(txn.get(&accounts, b"ann")?.as_deref(), Some(&b"100"[..]));
//! let names: Vec<_> = txn.scan(&accounts, ..)?.map(|row| row.map(|(key, _)| key)).collect::<Result<_, _>>()?;
//! assert_eq!(names, ["ann", "bob"]);
//! # Ok(()) }
//! ```

use crate::database::{BUCKET_SPACE, Database, Error, FIRST_BUCKET, Inner};
use quintet_base::{Bytes, Durability, Level, SpaceId, Timestamp};
use quintet_dc::{Direction, KeyRange};
use quintet_tc::{Error as TcError, Scan, Txn};
use std::ops::{Bound, RangeBounds};

/// How often the making of a bucket is tried again when somebody else makes one at the same time.
const BUCKET_ATTEMPTS: usize = 100;

/// A named, ordered set of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket(SpaceId);

/// A key-value transaction.
pub struct Transaction<'db> {
    txn: Txn,
    db: &'db Inner,
}

/// Rows of a range, in key order.
pub struct Rows<'a> {
    txn: &'a Txn,
    scan: Scan,
}

/// Why a commit did not take place; see [`TcError`].
pub type CommitError = TcError;

pub(crate) fn bucket_space(record: &[u8]) -> Option<SpaceId> {
    Some(SpaceId(u32::from_le_bytes(record.try_into().ok()?)))
}

impl Database {
    /// The bucket of this name, made if it is not there.
    ///
    /// # Errors
    /// The log or STORE failed.
    pub fn bucket(&self, name: &str) -> Result<Bucket, Error> {
        let mut attempts = 0;
        loop {
            match self.find_or_make_bucket(name) {
                Err(TcError::Conflict { .. } | TcError::Deadlock) if attempts < BUCKET_ATTEMPTS => {
                    attempts += 1
                }
                result => return Ok(result?),
            }
        }
    }

    fn find_or_make_bucket(&self, name: &str) -> Result<Bucket, TcError> {
        let mut txn = self.inner.tc.begin(Level::Serializable);
        let key = Bytes::copy_from_slice(name.as_bytes());
        if let Some(space) = txn
            .get(BUCKET_SPACE, &key)?
            .as_deref()
            .and_then(bucket_space)
        {
            return Ok(Bucket(space));
        }
        // The scan is validated: two that make buckets at once do not take the same number.
        let mut next = FIRST_BUCKET;
        let mut scan = txn.scan(BUCKET_SPACE, &KeyRange::all(), Direction::Forward)?;
        while let Some((_, value)) = scan.next(&txn)? {
            next = next.max(bucket_space(&value).map_or(0, |space| space.0 + 1));
        }
        drop(scan);
        txn.put(
            BUCKET_SPACE,
            key,
            Bytes::copy_from_slice(&next.to_le_bytes()),
        )?;
        commit_blocking(&self.inner, &mut txn, self.inner.durability)?;
        Ok(Bucket(SpaceId(next)))
    }

    /// Begins a transaction with a snapshot of now.
    pub fn begin(&self, level: Level) -> Transaction<'_> {
        Transaction {
            txn: self.inner.tc.begin(level),
            db: &self.inner,
        }
    }
}

/// Commits and waits as the durability demands.
fn commit_blocking(
    db: &Inner,
    txn: &mut Txn,
    durability: Durability,
) -> Result<Timestamp, TcError> {
    loop {
        match txn.commit(durability) {
            Ok(committed) => {
                if let Some(lsn) = committed.durable_at {
                    db.log.when_durable(lsn).wait().map_err(TcError::Log)?;
                }
                return Ok(committed.timestamp);
            }
            Err(TcError::Blocked(wait)) => wait.wait(),
            Err(error) => return Err(error),
        }
    }
}

impl Transaction<'_> {
    /// The value at a key.
    ///
    /// # Errors
    /// STORE failed.
    pub fn get(&self, bucket: &Bucket, key: &[u8]) -> Result<Option<Bytes>, TcError> {
        self.txn.get(bucket.0, key)
    }

    /// Shows the value at a key to `see`, in place: no copy is made.
    ///
    /// # Errors
    /// STORE failed.
    pub fn read<R>(
        &self,
        bucket: &Bucket,
        key: &[u8],
        see: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, TcError> {
        self.txn.read(bucket.0, key, see)
    }

    /// Shows the values at many keys to `see`, with their places in `keys`, in that order. Faster
    /// than one by one: what is not in the processor's cache is fetched side by side.
    ///
    /// # Errors
    /// STORE failed.
    pub fn read_many(
        &self,
        bucket: &Bucket,
        keys: &[impl AsRef<[u8]>],
        see: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), TcError> {
        let keys: Vec<(SpaceId, &[u8])> = keys.iter().map(|k| (bucket.0, k.as_ref())).collect();
        self.txn.read_many(&keys, see)
    }

    /// Sets the value at a key.
    ///
    /// # Errors
    /// The transaction would be too large, or the key is empty or too long.
    pub fn put(&mut self, bucket: &Bucket, key: &[u8], value: &[u8]) -> Result<(), TcError> {
        self.txn.put(
            bucket.0,
            Bytes::copy_from_slice(key),
            Bytes::copy_from_slice(value),
        )
    }

    /// Removes a key.
    ///
    /// # Errors
    /// The transaction would be too large, or the key is empty or too long.
    pub fn delete(&mut self, bucket: &Bucket, key: &[u8]) -> Result<(), TcError> {
        self.txn.delete(bucket.0, Bytes::copy_from_slice(key))
    }

    /// Rows of a range in key order; with [`Rows`] an iterator.
    ///
    /// # Errors
    /// STORE failed.
    pub fn scan<'a>(
        &'a self,
        bucket: &Bucket,
        range: impl RangeBounds<[u8]>,
    ) -> Result<Rows<'a>, TcError> {
        let own = |bound: Bound<&[u8]>| bound.map(Bytes::copy_from_slice);
        let range = KeyRange {
            lower: own(range.start_bound()),
            upper: own(range.end_bound()),
        };
        let scan = self.txn.scan(bucket.0, &range, Direction::Forward)?;
        Ok(Rows {
            txn: &self.txn,
            scan,
        })
    }

    /// Commits with the database's durability and waits for it.
    ///
    /// # Errors
    /// [`TcError::Conflict`]: lost to another transaction, run it again. [`TcError::Log`]: refused
    /// (disk full), or unknown if the log failed while it was being made durable.
    pub fn commit(mut self) -> Result<Timestamp, CommitError> {
        let durability = self.db.durability;
        commit_blocking(self.db, &mut self.txn, durability)
    }

    /// Commits without waiting; returns how far the log must be durable for the commit to survive, if
    /// the durability asks for it. See [`Database::wait_durable`].
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit_pipelined(mut self) -> Result<Option<quintet_base::Lsn>, CommitError> {
        let durability = self.db.durability;
        loop {
            match self.txn.commit(durability) {
                Ok(committed) => return Ok(committed.durable_at),
                Err(TcError::Blocked(wait)) => wait.wait(),
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends without effects; dropping does the same.
    pub fn abort(self) {
        self.txn.abort();
    }
}

impl Database {
    /// Waits until the log is durable up to `lsn`.
    ///
    /// # Errors
    /// The log failed: the outcome of commits up to there is unknown.
    pub fn wait_durable(&self, lsn: quintet_base::Lsn) -> Result<(), TcError> {
        self.inner
            .log
            .when_durable(lsn)
            .wait()
            .map_err(TcError::Log)
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<(Bytes, Bytes), TcError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.scan.next(self.txn).transpose()
    }
}
