//! The same YCSB as `quintet_bench::ycsb`, on RocksDB.
//!
//! Relies on: `store`.  Promises: the same operations from the same seed, the same checks on what is
//! read, and the same bytes written.  Does not: count syncs or log bytes (RocksDB's statistics would,
//! and cost throughput), or leave commits unanswered (RocksDB has no such commit).

use crate::store::{Error, Store, Transactions};
use quintet_base::Level;
use quintet_bench::{Client, Compaction, Counters, Outcome, Target};
use quintet_workloads::ycsb::{self, VALUE_BYTES_MIN};
use quintet_workloads::{Operation, Ycsb, YcsbConfig};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Records of one loading batch.
const LOAD_BATCH: u64 = 1000;

/// No record has this number: it is the key of the end mark.
const END_MARK: u64 = u64::MAX;

/// A loaded store and the stream to run on it.
pub struct YcsbTarget {
    store: Store,
    stream: Ycsb,
    value_bytes: usize,
    /// All reads are validated.
    serializable: bool,
    together: bool,
    seed: u64,
    /// Whether a flush ran when somebody looked, and how many were seen to end. Written by the one thread
    /// that looks.
    flushing: AtomicBool,
    flushes: AtomicU64,
}

fn failed(error: Error) -> quintet_bench::Error {
    quintet_bench::Error::System(Box::new(error))
}

impl YcsbTarget {
    /// Makes sure that the records are there. `together`: what a transaction reads is asked for as a batch, which only
    /// [`Level::Snapshot`] allows.
    ///
    /// # Errors
    /// An impossible configuration, or RocksDB's.
    pub fn load(
        store: Store,
        workload: YcsbConfig,
        level: Level,
        together: bool,
        seed: u64,
    ) -> Result<YcsbTarget, quintet_bench::Error> {
        let (records, value_bytes) = (workload.records, workload.value_bytes);
        let stream = Ycsb::new(workload, seed)?;
        let expected = records.to_be_bytes();
        let mut transactions = store.transactions();
        transactions.begin();
        let loaded = transactions.get(&ycsb::key(END_MARK), false, |mark| {
            mark.is_some_and(|mark| mark == expected)
        });
        drop(transactions);
        if !loaded.map_err(failed)? {
            for from in (0..records).step_by(LOAD_BATCH as usize) {
                let batch = from..records.min(from + LOAD_BATCH);
                let batch = batch.map(|n| (ycsb::key(n), ycsb::value(n, 0, value_bytes)));
                store.load(batch).map_err(failed)?;
            }
            store.settle().map_err(failed)?;
            let mark = (ycsb::key(END_MARK), expected.to_vec());
            store.load([mark].into_iter()).map_err(failed)?;
            store.settle().map_err(failed)?;
        }
        Ok(YcsbTarget {
            store,
            stream,
            value_bytes,
            serializable: level == Level::Serializable,
            together,
            seed,
            flushing: AtomicBool::new(false),
            flushes: AtomicU64::new(0),
        })
    }
}

impl Target for YcsbTarget {
    type Client<'t> = YcsbClient<'t>;

    fn client(&self, number: u32) -> YcsbClient<'_> {
        YcsbClient {
            transactions: self.store.transactions(),
            stream: self
                .stream
                .with_seed(self.seed.wrapping_add(u64::from(number))),
            value_bytes: self.value_bytes,
            serializable: self.serializable,
            together: self.together,
            operations: Vec::new(),
            value: Vec::new(),
            values: Vec::new(),
        }
    }

    fn counters(&self) -> Option<Counters> {
        None
    }

    fn compaction(&self) -> Compaction {
        let running = self.store.property(c"rocksdb.num-running-flushes") > 0;
        let rewriting = self.store.property(c"rocksdb.num-running-compactions") > 0;
        // RocksDB does not count them: those are counted that were seen to end.
        if self.flushing.swap(running, Ordering::Relaxed) && !running {
            self.flushes.fetch_add(1, Ordering::Relaxed);
        }
        Compaction {
            running,
            rewriting,
            finished: self.flushes.load(Ordering::Relaxed),
        }
    }
}

/// One client of a [`YcsbTarget`].
pub struct YcsbClient<'t> {
    transactions: Transactions<'t>,
    stream: Ycsb,
    value_bytes: usize,
    serializable: bool,
    together: bool,
    /// Kept between transactions for its memory.
    operations: Vec<Operation>,
    /// Kept between transactions for its memory.
    value: Vec<u8>,
    /// What was read together, value after value.
    values: Vec<u8>,
}

/// What an operation came to when it did not succeed.
enum Failure {
    Store(Error),
    BadRecord(u64),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Store(error)
    }
}

impl YcsbClient<'_> {
    fn attempt(&mut self) -> Result<(), Failure> {
        self.transactions.begin();
        if self.together {
            self.read_together()?;
        }
        let mut read = 0;
        for i in 0..self.operations.len() {
            self.operation(self.operations[i], &mut read)?;
        }
        Ok(self.transactions.commit()?)
    }

    /// All values that the transaction reads, asked for as a batch. Kept in `values` for the writes.
    fn read_together(&mut self) -> Result<(), Failure> {
        self.values.clear();
        let records: Vec<_> = self
            .operations
            .iter()
            .filter(|operation| !matches!(operation, Operation::Update(_)))
            .map(|operation| operation.record())
            .collect();
        let keys: Vec<_> = records.iter().map(|record| ycsb::key(*record)).collect();
        let (values, bytes) = (&mut self.values, self.value_bytes);
        let mut bad = None;
        self.transactions
            .get_together(&keys, |place, value| match value {
                Some(value) if value.len() == bytes => values.extend_from_slice(value),
                _ => bad = bad.or(Some(place)),
            })?;
        bad.map_or(Ok(()), |place| Err(Failure::BadRecord(records[place])))
    }

    fn operation(&mut self, operation: Operation, read: &mut usize) -> Result<(), Failure> {
        let key = ycsb::key(operation.record());
        let (bytes, value) = (self.value_bytes, &mut self.value);
        value.clear();
        if let Operation::Update(_) = operation {
            // A blind write cannot know the counter: it says 0 and the filler is of no interest.
            value.resize(bytes, 0);
            return Ok(self.transactions.put(&key, value)?);
        }
        if self.together {
            value.extend_from_slice(&self.values[*read * bytes..][..bytes]);
            *read += 1;
        } else {
            // A record that will be written is validated by its writing.
            let found = self
                .transactions
                .get(&key, self.serializable, |row| match row {
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
            self.transactions.put(&key, value)?;
        }
        Ok(())
    }
}

impl Client for YcsbClient<'_> {
    type Answer = ();

    fn transaction(&mut self) -> Result<Outcome<()>, quintet_bench::Error> {
        self.stream.next_into(&mut self.operations);
        match self.attempt() {
            Ok(()) => Ok(Outcome::Committed(())),
            Err(Failure::Store(Error::Conflict)) => Ok(Outcome::Aborted),
            Err(Failure::Store(error)) => Err(failed(error)),
            Err(Failure::BadRecord(record)) => Err(quintet_bench::Error::BadRecord { record }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Setup;
    use quintet_bench::RunConfig;
    use quintet_rt::RealClock;
    use std::sync::Arc;

    fn setup() -> Setup {
        Setup {
            cache_bytes: 1 << 20,
            write_buffer_bytes: 1 << 20,
            direct: false,
            lz4: true,
            sync: false,
            log: true,
            background_jobs: 2,
        }
    }

    // Goal: the peer is used rightly: nothing lost, nothing doubled. Method: as for ours, each operation
    // of each transaction adds one to a counter, so their sum is four times the number of commits. Those
    // of the warm-up count, too: there is none.
    #[test]
    fn counters_add_up_to_the_commits() {
        for (level, together) in [
            (Level::Snapshot, false),
            (Level::Snapshot, true),
            (Level::Serializable, false),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let workload = YcsbConfig {
                records: 50,
                value_bytes: 64,
                ops: 4,
                read_share: 0.0,
                modify_share: 1.0,
                theta: 0.9,
            };
            let store = Store::open(directory.path(), &setup()).unwrap();
            let target = YcsbTarget::load(store, workload, level, together, 1).unwrap();
            let mut clients: Vec<_> = (0..3).map(|number| target.client(number)).collect();
            let (commits, aborts) = std::thread::scope(|scope| {
                let threads: Vec<_> = clients
                    .iter_mut()
                    .map(|client| {
                        scope.spawn(move || {
                            let mut counts = (0u64, 0u64);
                            for _ in 0..2000 {
                                match client.transaction().unwrap() {
                                    Outcome::Committed(()) => counts.0 += 1,
                                    Outcome::Aborted => counts.1 += 1,
                                }
                            }
                            counts
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1))
            });
            assert!(commits > 0 && aborts > 0, "{commits} and {aborts}");
            drop(clients);
            let mut transactions = target.store.transactions();
            transactions.begin();
            let sum: u64 = (0..50)
                .map(|record| {
                    let see = |row: Option<&[u8]>| ycsb::counter(row.unwrap()).unwrap();
                    transactions.get(&ycsb::key(record), false, see).unwrap()
                })
                .sum();
            assert_eq!(sum, 4 * commits, "{level}");
        }
    }

    #[test]
    fn runs_in_the_driver_and_is_not_loaded_twice() {
        let directory = tempfile::tempdir().unwrap();
        let workload = YcsbConfig {
            records: 5000,
            ..YcsbConfig::default()
        };
        for _ in 0..2 {
            let store = Store::open(directory.path(), &setup()).unwrap();
            let target =
                YcsbTarget::load(store, workload.clone(), Level::Snapshot, false, 1).unwrap();
            let config = RunConfig {
                warmup_seconds: 0.1,
                seconds: 0.2,
                ..RunConfig::default()
            };
            let figures = quintet_bench::run(&target, config, Arc::new(RealClock)).unwrap();
            assert!(figures.committed > 0);
        }
    }
}
