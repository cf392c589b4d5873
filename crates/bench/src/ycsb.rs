//! YCSB on the embedded key-value transactions: optimistic, read and write, then commit.
//!
//! Relies on: `embed` buckets and transactions, `workloads::ycsb`.  Promises: a read that finds no
//! record or a wrong one ends the run, so a fast wrong answer is never a figure.
//! Does not: run a transaction again that lost; it counts as an abort and the next one follows.
//!
//! The records live in a bucket named for their number and size, with an end mark that is written
//! last: a directory that has them is not loaded again.
//!
//! Hot path: `YcsbClient::transaction`. Nothing here but the calls under measurement and one copy of
//! each value written.

use crate::Error;
use crate::driver::{RunConfig, run_telling};
use crate::report::{Report, Setting};
use crate::stage::Stage;
use crate::target::{Answer, Client, Compaction, Counters, Outcome, Target};
use quintet_base::{Durability, Level};
use quintet_embed::DatabaseStats;
use quintet_embed::{Bucket, CommitError, Database, Pending, Transaction};
use quintet_rt::Clock;
use quintet_workloads::ycsb::{self, VALUE_BYTES_MIN};
use quintet_workloads::{Operation, Ycsb, YcsbConfig};
use std::sync::Arc;

/// Records of one loading transaction: enough to pay for a sync, few enough to stay small.
const LOAD_BATCH: u64 = 1000;

/// No record has this number: it is the key of the end mark.
const END_MARK: u64 = u64::MAX;

/// Everything asked of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct YcsbRun {
    /// The operations.
    pub workload: YcsbConfig,
    /// Threads and times.
    pub run: RunConfig,
    /// Isolation level of every transaction.
    pub level: Level,
    /// What the database was opened with; goes into the report.
    pub durability: Durability,
    /// The reads of a transaction are asked for at once.
    pub together: bool,
    /// Seed of the first client; the others count up from it.
    pub seed: u64,
}

impl YcsbRun {
    /// Loads if need be, warms up, measures; and says what it is doing.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn execute(
        &self,
        database: &Database,
        clock: Arc<dyn Clock>,
        progress: &mut dyn FnMut(Stage),
    ) -> Result<Report, Error> {
        let of = self.workload.records;
        let target = YcsbTarget::load(database, self, &mut |done| {
            progress(Stage::Loading { done, of })
        })?;
        progress(Stage::Running);
        let mut tell = |second| progress(Stage::Second(second));
        let figures = run_telling(&target, self.run, clock, Some(&mut tell))?;
        let setting = Setting {
            system: "quintet",
            durability: self.durability,
            level: self.level,
            seed: self.seed,
        };
        Ok(Report::ycsb(&self.workload, &self.run, setting, &figures))
    }
}

/// A loaded table and the stream to run on it.
pub struct YcsbTarget {
    database: Database,
    bucket: Bucket,
    stream: Ycsb,
    value_bytes: usize,
    level: Level,
    together: bool,
    seed: u64,
}

impl YcsbTarget {
    /// Makes sure that the records are there.
    ///
    /// # Errors
    /// An impossible configuration, or the database failed.
    pub fn load(
        database: &Database,
        run: &YcsbRun,
        progress: &mut dyn FnMut(u64),
    ) -> Result<YcsbTarget, Error> {
        let YcsbConfig {
            records,
            value_bytes,
            ..
        } = run.workload;
        let stream = Ycsb::new(run.workload.clone(), run.seed)?;
        let bucket = database.bucket(&format!("ycsb-{records}-{value_bytes}"))?;
        let loaded = database
            .begin(Level::Snapshot)
            .get(&bucket, &ycsb::key(END_MARK))
            .map_err(quintet_embed::Error::from)?;
        if loaded.is_none() {
            let mut record = 0;
            while record < records {
                let end = records.min(record + LOAD_BATCH);
                load_records(database, &bucket, record..end, value_bytes)?;
                record = end;
                progress(record);
            }
            load_records(database, &bucket, [END_MARK], value_bytes)?;
        }
        Ok(YcsbTarget {
            database: database.clone(),
            bucket,
            stream,
            value_bytes,
            level: run.level,
            together: run.together,
            seed: run.seed,
        })
    }
}

fn load_records(
    database: &Database,
    bucket: &Bucket,
    records: impl IntoIterator<Item = u64>,
    value_bytes: usize,
) -> Result<(), Error> {
    let mut txn = database.begin(Level::Snapshot);
    let fill = || {
        for record in records {
            txn.put(
                bucket,
                &ycsb::key(record),
                &ycsb::value(record, 0, value_bytes),
            )?;
        }
        Ok(())
    };
    fill().map_err(quintet_embed::Error::Transaction)?;
    txn.commit().map_err(quintet_embed::Error::Transaction)?;
    Ok(())
}

impl Target for YcsbTarget {
    type Client<'t> = YcsbClient<'t>;

    fn client(&self, number: u32) -> YcsbClient<'_> {
        YcsbClient {
            database: &self.database,
            bucket: self.bucket,
            together: self.together,
            values: Vec::new(),
            stream: self
                .stream
                .with_seed(self.seed.wrapping_add(u64::from(number))),
            value_bytes: self.value_bytes,
            level: self.level,
            operations: Vec::new(),
            value: Vec::new(),
        }
    }

    fn counters(&self) -> Option<Counters> {
        Some(counters(&self.database.stats()))
    }

    fn compaction(&self) -> Compaction {
        let stats = self.database.stats();
        Compaction {
            running: stats.tc.compacting,
            rewriting: stats.store.compacting,
            finished: stats.tc.compactions,
        }
    }
}

/// One client of a [`YcsbTarget`].
pub struct YcsbClient<'t> {
    database: &'t Database,
    bucket: Bucket,
    stream: Ycsb,
    value_bytes: usize,
    level: Level,
    together: bool,
    /// What was read together, value after value.
    values: Vec<u8>,
    /// Kept between transactions for its memory.
    operations: Vec<Operation>,
    /// Kept between transactions for its memory.
    value: Vec<u8>,
}

/// What an operation came to when it did not succeed.
enum Failure {
    Database(CommitError),
    BadRecord(u64),
}

impl From<CommitError> for Failure {
    fn from(error: CommitError) -> Failure {
        Failure::Database(error)
    }
}

impl<'t> YcsbClient<'t> {
    fn attempt(&mut self) -> Result<Pending<'t>, Failure> {
        let mut txn = self.database.begin(self.level);
        if self.together {
            self.read_together(&txn)?;
        }
        let mut read = 0;
        for i in 0..self.operations.len() {
            self.operation(&mut txn, self.operations[i], &mut read)?;
        }
        Ok(txn.commit_pending()?)
    }

    /// All values that the transaction reads, asked for at once. Kept in `values` for the writes.
    fn read_together(&mut self, txn: &Transaction<'_>) -> Result<(), Failure> {
        self.values.clear();
        let reads = |operation: &&Operation| !matches!(operation, Operation::Update(_));
        let keys: Vec<_> = self
            .operations
            .iter()
            .filter(reads)
            .map(|operation| ycsb::key(operation.record()))
            .collect();
        let (values, bytes) = (&mut self.values, self.value_bytes);
        let mut bad = None;
        txn.read_many(&self.bucket, &keys, |at, value| match value {
            Some(value) if value.len() == bytes => values.extend_from_slice(value),
            _ => bad = bad.or(Some(at)),
        })?;
        match bad {
            None => Ok(()),
            Some(at) => {
                let read = self.operations.iter().filter(reads).nth(at);
                Err(Failure::BadRecord(read.expect("was asked for").record()))
            }
        }
    }

    fn operation(
        &mut self,
        txn: &mut Transaction<'_>,
        operation: Operation,
        read: &mut usize,
    ) -> Result<(), Failure> {
        let key = ycsb::key(operation.record());
        if let Operation::Update(_) = operation {
            // A blind write cannot know the counter: it says 0 and the filler is of no interest.
            self.value.clear();
            self.value.resize(self.value_bytes, 0);
            txn.put(&self.bucket, &key, &self.value)?;
            return Ok(());
        }
        let (bytes, value) = (self.value_bytes, &mut self.value);
        value.clear();
        if self.together {
            value.extend_from_slice(&self.values[*read * bytes..][..bytes]);
            *read += 1;
        } else {
            let found = txn.read(&self.bucket, &key, |row| match row {
                Some(row) if row.len() == bytes => {
                    value.extend_from_slice(row);
                    true
                }
                _ => false,
            })?;
            if !found {
                return Err(Failure::BadRecord(operation.record()));
            }
        }
        if let Operation::ReadModifyWrite(record) = operation {
            let counter = ycsb::counter(value).ok_or(Failure::BadRecord(record))?;
            value[..VALUE_BYTES_MIN].copy_from_slice(&counter.wrapping_add(1).to_be_bytes());
            txn.put(&self.bucket, &key, value)?;
        }
        Ok(())
    }
}

impl Answer for Pending<'_> {
    fn is_here(&self) -> bool {
        self.is_durable()
    }

    fn wait(self) -> Result<(), Error> {
        Pending::wait(self).map_err(quintet_embed::Error::Transaction)?;
        Ok(())
    }
}

impl<'t> Client for YcsbClient<'t> {
    type Answer = Pending<'t>;

    fn transaction(&mut self) -> Result<Outcome<Pending<'t>>, Error> {
        let mut operations = std::mem::take(&mut self.operations);
        self.stream.next_into(&mut operations);
        self.operations = operations;
        match self.attempt() {
            Ok(pending) => Ok(Outcome::Committed(pending)),
            Err(Failure::Database(
                CommitError::Conflict { .. } | CommitError::Deadlock | CommitError::SnapshotTooOld,
            )) => Ok(Outcome::Aborted),
            Err(Failure::Database(error)) => Err(quintet_embed::Error::Transaction(error).into()),
            Err(Failure::BadRecord(record)) => Err(Error::BadRecord { record }),
        }
    }
}

/// What a database in this process has done.
pub(crate) fn counters(stats: &DatabaseStats) -> Counters {
    Counters {
        logged: stats.tc.commits,
        log_bytes: stats.log.bytes,
        syncs: stats.log.syncs,
        sync_nanos: stats.log.sync_nanos_total,
        slow_syncs: stats.log.slow_syncs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_embed::DatabaseConfig;
    use quintet_rt::RealClock;

    fn small(level: Level, read_share: f64) -> YcsbRun {
        YcsbRun {
            workload: YcsbConfig {
                records: 50,
                value_bytes: 64,
                ops: 4,
                read_share,
                modify_share: 1.0,
                theta: 0.9,
            },
            run: RunConfig {
                threads: 3,
                warmup_seconds: 0.1,
                seconds: 0.5,
                ..RunConfig::default()
            },
            level,
            durability: Durability::Async,
            together: read_share > 0.0,
            seed: 1,
        }
    }

    fn open(directory: &std::path::Path, durability: Durability) -> Database {
        let config = DatabaseConfig {
            durability,
            ..DatabaseConfig::new(directory)
        };
        Database::open(config).unwrap().0
    }

    // Goal: no increment is lost or doubled. Method: every operation of every transaction adds one
    // to a counter, so the sum of all counters is four times the number of commits, counting those
    // of the warm-up too, which the log's statistics know.
    #[test]
    fn counters_add_up_to_the_commits() {
        for level in [Level::Snapshot, Level::Serializable] {
            let directory = tempfile::tempdir().unwrap();
            let database = open(directory.path(), Durability::Async);
            let run = small(level, 0.0);
            let target = YcsbTarget::load(&database, &run, &mut |_| {}).unwrap();
            let before = database.stats().tc.commits;
            let figures = crate::run(&target, run.run, Arc::new(RealClock)).unwrap();
            let commits = database.stats().tc.commits - before;
            assert!(figures.committed > 0 && figures.committed <= commits);
            let txn = database.begin(Level::Snapshot);
            let sum: u64 = (0..50)
                .map(|record| {
                    ycsb::counter(
                        &txn.get(&target.bucket, &ycsb::key(record))
                            .unwrap()
                            .unwrap(),
                    )
                    .unwrap()
                })
                .sum();
            assert_eq!(sum, 4 * commits, "{level}");
        }
    }

    #[test]
    fn a_loaded_directory_is_not_loaded_again_and_the_report_says_what_ran() {
        let directory = tempfile::tempdir().unwrap();
        let database = open(directory.path(), Durability::Async);
        let run = small(Level::Serializable, 0.5);
        let mut loaded = Vec::new();
        let report = run
            .execute(&database, Arc::new(RealClock), &mut |stage| {
                if let Stage::Loading { done, .. } = stage {
                    loaded.push(done)
                }
            })
            .unwrap();
        assert_eq!(loaded, [50]);
        assert!(report.committed_per_second > 0.0);
        assert_eq!(
            (report.threads, report.level, report.durability),
            (3, "serializable", "async")
        );
        YcsbTarget::load(&database, &run, &mut |_| panic!("loaded twice"))
            .map(drop)
            .unwrap();
    }

    // With 64 commits unanswered each, three clients share syncs that one at a time would not.
    #[test]
    fn unanswered_commits_share_syncs() {
        let directory = tempfile::tempdir().unwrap();
        let database = open(directory.path(), Durability::Sync);
        let mut run = small(Level::Snapshot, 0.5);
        run.durability = Durability::Sync;
        run.workload.theta = 0.0;
        run.workload.records = 10_000;
        let transactions_per_sync = |outstanding| {
            let mut run = run.clone();
            run.run.outstanding = outstanding;
            let report = run
                .execute(&database, Arc::new(RealClock), &mut |_| {})
                .unwrap();
            assert_eq!(report.outstanding, outstanding);
            assert!(report.syncs_per_second.unwrap() > 0.0 && report.committed_per_second > 0.0);
            report.transactions_per_sync.unwrap()
        };
        let (one, many) = (transactions_per_sync(1), transactions_per_sync(64));
        assert!(
            one <= 3.5,
            "three clients have at most three commits: {one}"
        );
        assert!(many > 2.0 * one, "{many} against {one}");
    }
}
