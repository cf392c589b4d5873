//! The transactional key-value door: buckets of ordered keys, transactions at any level.
//!
//! Relies on: `tc`.  Promises: what SQL transactions promise, on bytes.  Does not: lock early:
//! writes are buffered and validated at commit, so a conflict comes out of `commit`.
//!
//! ```text
//!   begin ─► get, put, … ─► commit ────────────────────────────► answered: durable
//!                        └► commit_pending ─► Pending ─► wait ─► answered: durable
//!                                               └ meanwhile: begin the next one
//! ```
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
use quintet_base::{Bytes, Durability, Level, Lsn, SpaceId, Timestamp};
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

/// A commit that others see and that may not be durable yet; from [`Transaction::commit_pending`].
///
/// Commits that wrote become durable in the order of their timestamps, many with one sync. Dropping
/// this gives up the answer, not the commit.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # use quintet_embed::{Database, DatabaseConfig, Level};
/// # let (db, _) = Database::open(DatabaseConfig::new(dir.path()))?;
/// # let orders = db.bucket("orders")?;
/// let mut unanswered = std::collections::VecDeque::new();
/// for number in 0..100u32 {
///     let mut txn = db.begin(Level::Serializable);
///     txn.put(&orders, &number.to_be_bytes(), b"ordered")?;
///     unanswered.push_back(txn.commit_pending()?);
///     // At most 32 are under way; the oldest is waited for, those beside it came with its sync.
///     if unanswered.len() == 32 {
///         unanswered.pop_front().expect("32").wait()?;
///     }
///     while unanswered.front().is_some_and(|first| first.is_durable()) {
///         unanswered.pop_front();
///     }
/// }
/// if let Some(last) = unanswered.pop_back() {
///     last.wait()?;
/// }
/// assert!(unanswered.iter().all(|earlier| earlier.is_durable()));
/// # Ok(()) }
/// ```
#[must_use = "a commit is to be acknowledged only when it is durable"]
pub struct Pending<'db> {
    timestamp: Timestamp,
    durable_at: Option<Lsn>,
    db: &'db Inner,
}

impl std::fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending")
            .field("timestamp", &self.timestamp)
            .field("durable_at", &self.durable_at)
            .finish_non_exhaustive()
    }
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
    commit_visible(db, txn, durability)?.wait()
}

/// Commits, waiting for rows and for memory but not for the disk.
fn commit_visible<'db>(
    db: &'db Inner,
    txn: &mut Txn,
    durability: Durability,
) -> Result<Pending<'db>, TcError> {
    loop {
        match txn.commit(durability) {
            Ok(committed) => {
                return Ok(Pending {
                    timestamp: committed.timestamp,
                    durable_at: committed.durable_at,
                    db,
                });
            }
            Err(TcError::Blocked(wait)) => wait.wait(),
            Err(error) => return Err(error),
        }
    }
}

impl<'db> Transaction<'db> {
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

    /// Commits without waiting for the disk. What was written is visible to others at once; the
    /// program may begin its next transaction, and asks the [`Pending`] when this one is durable.
    ///
    /// # Errors
    /// As [`Transaction::commit`], but for a log that fails later: [`Pending::wait`] tells of that.
    pub fn commit_pending(mut self) -> Result<Pending<'db>, CommitError> {
        commit_visible(self.db, &mut self.txn, self.db.durability)
    }

    /// Ends without effects; dropping does the same.
    pub fn abort(self) {
        self.txn.abort();
    }
}

impl Pending<'_> {
    /// The commit's timestamp.
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// The log position up to which the log must be durable; `None` if the durability does not ask
    /// for it, or nothing was written and what was read is durable.
    pub fn durable_at(&self) -> Option<Lsn> {
        self.durable_at
    }

    /// Whether the commit survives a crash, as far as the durability asks. Costs one load. Stays
    /// false if the log has failed: [`Pending::wait`] says so instead of waiting for ever.
    pub fn is_durable(&self) -> bool {
        self.durable_at
            .is_none_or(|lsn| self.db.log.durable() >= lsn)
    }

    /// Blocks the thread until the commit is durable. All commits that shared its sync are durable
    /// then, so wait for the oldest and ask the others.
    ///
    /// # Errors
    /// [`TcError::Log`]: the log failed, the outcome is unknown until recovery.
    pub fn wait(self) -> Result<Timestamp, CommitError> {
        if let Some(lsn) = self.durable_at {
            self.db.log.when_durable(lsn).wait().map_err(TcError::Log)?;
        }
        Ok(self.timestamp)
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<(Bytes, Bytes), TcError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.scan.next(self.txn).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DatabaseConfig;
    use quintet_rt::{RealClock, SimDisk};
    use std::sync::Arc;

    fn put<'db>(db: &'db Database, bucket: &Bucket, number: u32) -> Transaction<'db> {
        let mut txn = db.begin(Level::Snapshot);
        txn.put(bucket, &number.to_be_bytes(), b"value").unwrap();
        txn
    }

    // Goal: what is told durable is, in order. Method: many commits under way; each that says so must
    // not be ahead of one before it, and all are there after reopening without closing.
    #[test]
    fn pending_commits_become_durable_in_order_and_survive() {
        let directory = tempfile::tempdir().unwrap();
        let config = || DatabaseConfig::new(directory.path());
        let (db, _) = Database::open(config()).unwrap();
        let bucket = db.bucket("numbers").unwrap();
        let pending: Vec<_> = (0..500)
            .map(|number| put(&db, &bucket, number).commit_pending().unwrap())
            .collect();
        assert!(pending.is_sorted_by(|a, b| a.timestamp() < b.timestamp()));
        // Asked from the last to the first: later answers are older than earlier ones.
        let durable: Vec<bool> = pending.iter().rev().map(Pending::is_durable).collect();
        assert!(durable.is_sorted(), "{durable:?}");
        let timestamps: Vec<_> = pending.iter().map(Pending::timestamp).collect();
        let mut pending = pending.into_iter().rev();
        let last = pending.next().unwrap();
        assert_eq!(last.wait().unwrap(), *timestamps.last().unwrap());
        assert!(pending.all(|earlier| earlier.is_durable()));
        drop(pending);
        drop(db);
        let (db, report) = Database::open(config()).unwrap();
        assert!(report.recovery.commits >= 500, "{report:?}");
        let bucket = db.bucket("numbers").unwrap();
        let txn = db.begin(Level::Snapshot);
        assert_eq!(txn.scan(&bucket, ..).unwrap().count(), 500);
    }

    // A log on a disk whose next sync fails: the commit is visible, never durable, and its outcome
    // unknown; what was durable before stays so.
    #[test]
    fn a_failed_sync_is_told_by_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let disk = SimDisk::new(1);
        let config = DatabaseConfig::new(directory.path());
        let opened = Database::open_on(Arc::new(disk.clone()), Arc::new(RealClock), config);
        let (db, _) = opened.unwrap();
        let bucket = db.bucket("numbers").unwrap();
        let before = put(&db, &bucket, 1).commit_pending().unwrap();
        let at = before.durable_at().unwrap();
        before.wait().unwrap();
        disk.fail_sync(1);
        let lost = put(&db, &bucket, 2).commit_pending().unwrap();
        assert!(lost.durable_at().unwrap() > at);
        let read = db.begin(Level::Snapshot);
        assert!(read.get(&bucket, &2u32.to_be_bytes()).unwrap().is_some());
        // A reader's answer waits for what it read; this one read what may be lost.
        let read = read.commit_pending().unwrap();
        assert!(!lost.is_durable() && !read.is_durable());
        assert!(matches!(lost.wait(), Err(TcError::Log(_))));
        assert!(matches!(read.wait(), Err(TcError::Log(_))));
    }

    #[test]
    fn under_async_nothing_is_pending() {
        let directory = tempfile::tempdir().unwrap();
        let config = DatabaseConfig {
            durability: Durability::Async,
            ..DatabaseConfig::new(directory.path())
        };
        let (db, _) = Database::open(config).unwrap();
        let bucket = db.bucket("numbers").unwrap();
        let pending = put(&db, &bucket, 1).commit_pending().unwrap();
        assert!(pending.is_durable() && pending.durable_at().is_none());
        let read = db.begin(Level::Snapshot);
        read.get(&bucket, b"none").unwrap();
        assert!(read.commit_pending().unwrap().is_durable());
    }
}
