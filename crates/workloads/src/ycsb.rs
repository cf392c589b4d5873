//! YCSB as transactions: a few reads and writes of whole records by key.
//!
//! Relies on: `keys`.  Promises: a transaction's operations come in the stated mix, on distinct
//! records.  Does not: scan or insert; the mixes D and E of the original, which do, are refused by
//! name.
//!
//! The original (Cooper et al., *Benchmarking Cloud Serving Systems with YCSB*, SoCC 2010) has one
//! operation per request; the transactional form with several per transaction is the one the
//! literature on concurrency control reports.
//!
//! ```text
//!   key     8 bytes: the record's number, big-endian, so that loading in order is loading sorted
//!   value   value_bytes: 8 bytes of counter, then filler drawn from the record's number
//! ```

use crate::keys::Keys;
use quintet_rt::Rand;

/// The shape of the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct YcsbConfig {
    /// Records in the table.
    pub records: u64,
    /// Bytes of a value, at least [`VALUE_BYTES_MIN`].
    pub value_bytes: usize,
    /// Operations of a transaction.
    pub ops: usize,
    /// Share of operations that only read, 0 to 1.
    pub read_share: f64,
    /// Share of the *other* operations that read the record before writing it, 0 to 1.
    pub modify_share: f64,
    /// Zipf exponent, 0 (uniform) to below 1.
    pub theta: f64,
}

/// Shortest value: room for the counter.
pub const VALUE_BYTES_MIN: usize = 8;

impl Default for YcsbConfig {
    /// Four operations, half of them writes that read first, strong skew, 100 bytes.
    fn default() -> YcsbConfig {
        YcsbConfig {
            records: 1_000_000,
            value_bytes: 100,
            ops: 4,
            read_share: 0.5,
            modify_share: 1.0,
            theta: 0.9,
        }
    }
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number is out of its range.
    #[error("{name} must be {range}, not {value}")]
    OutOfRange {
        /// Which number.
        name: &'static str,
        /// What it may be.
        range: &'static str,
        /// What it was.
        value: String,
    },
    /// No mix of that name.
    #[error("there is no YCSB mix \"{name}\"; available: a, b, c, f")]
    UnknownMix {
        /// What was asked for.
        name: String,
    },
}

impl YcsbConfig {
    /// Takes the operation mix of one of the original workloads: `a` (half reads, half blind
    /// updates), `b` (95 % reads), `c` (reads only), `f` (half reads, half read-modify-writes).
    ///
    /// # Errors
    /// [`ConfigError::UnknownMix`].
    pub fn with_mix(mut self, name: &str) -> Result<YcsbConfig, ConfigError> {
        (self.read_share, self.modify_share) = match name.to_ascii_lowercase().as_str() {
            "a" => (0.5, 0.0),
            "b" => (0.95, 0.0),
            "c" => (1.0, 0.0),
            "f" => (0.5, 1.0),
            _ => return Err(ConfigError::UnknownMix { name: name.into() }),
        };
        Ok(self)
    }

    /// Refuses what cannot be generated.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first number that does not fit.
    pub fn check(&self) -> Result<(), ConfigError> {
        let range = |fits: bool, name, range, value: String| {
            if fits {
                Ok(())
            } else {
                Err(ConfigError::OutOfRange { name, range, value })
            }
        };
        range(
            self.records > 0,
            "records",
            "at least 1",
            self.records.to_string(),
        )?;
        range(
            self.value_bytes >= VALUE_BYTES_MIN,
            "value-bytes",
            "at least 8",
            self.value_bytes.to_string(),
        )?;
        range(
            self.ops > 0 && self.ops as u64 <= self.records,
            "ops",
            "at least 1 and at most the number of records",
            self.ops.to_string(),
        )?;
        range(
            (0.0..=1.0).contains(&self.read_share),
            "read-share",
            "from 0 to 1",
            self.read_share.to_string(),
        )?;
        range(
            (0.0..=1.0).contains(&self.modify_share),
            "modify-share",
            "from 0 to 1",
            self.modify_share.to_string(),
        )?;
        range(
            (0.0..1.0).contains(&self.theta),
            "theta",
            "from 0 to below 1",
            self.theta.to_string(),
        )
    }
}

/// One step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read the record.
    Read(u64),
    /// Replace the record without looking at it.
    Update(u64),
    /// Read the record, then replace it with its counter one higher.
    ReadModifyWrite(u64),
}

impl Operation {
    /// The record it touches.
    pub fn record(self) -> u64 {
        match self {
            Operation::Read(record)
            | Operation::Update(record)
            | Operation::ReadModifyWrite(record) => record,
        }
    }
}

/// The stream of one client.
#[derive(Clone, Debug)]
pub struct Ycsb {
    config: YcsbConfig,
    keys: Keys,
    rand: Rand,
}

impl Ycsb {
    /// A stream from a seed; clients of one run take different seeds.
    ///
    /// # Errors
    /// As [`YcsbConfig::check`].
    pub fn new(config: YcsbConfig, seed: u64) -> Result<Ycsb, ConfigError> {
        config.check()?;
        let keys = Keys::zipf(config.records, config.theta);
        Ok(Ycsb {
            config,
            keys,
            rand: Rand::seeded(seed),
        })
    }

    /// The same workload for another client; spares it the sum behind the distribution.
    pub fn with_seed(&self, seed: u64) -> Ycsb {
        Ycsb {
            rand: Rand::seeded(seed),
            ..self.clone()
        }
    }

    /// Fills `into` with the next transaction.
    pub fn next_into(&mut self, into: &mut Vec<Operation>) {
        into.clear();
        while into.len() < self.config.ops {
            let record = self.keys.next(&mut self.rand);
            // A transaction is short: looking through it is cheaper than a set. With more
            // operations than popular records this draws again a few times, never for ever,
            // because there are at least as many records as operations.
            if into.iter().any(|operation| operation.record() == record) {
                continue;
            }
            let operation = if chance(&mut self.rand, self.config.read_share) {
                Operation::Read(record)
            } else if chance(&mut self.rand, self.config.modify_share) {
                Operation::ReadModifyWrite(record)
            } else {
                Operation::Update(record)
            };
            into.push(operation);
        }
    }
}

fn chance(rand: &mut Rand, share: f64) -> bool {
    const PRECISION: u64 = 1 << 32;
    rand.below(PRECISION) < (share * PRECISION as f64) as u64
}

/// The key of a record.
pub fn key(record: u64) -> [u8; 8] {
    record.to_be_bytes()
}

/// The value of a record with its counter at `counter`.
pub fn value(record: u64, counter: u64, bytes: usize) -> Vec<u8> {
    let mut value = vec![0; bytes.max(VALUE_BYTES_MIN)];
    let (head, filler) = value.split_at_mut(VALUE_BYTES_MIN);
    head.copy_from_slice(&counter.to_be_bytes());
    Rand::seeded(record).fill(filler);
    value
}

/// The counter inside a value; `None` if it is too short to be one of ours.
pub fn counter(value: &[u8]) -> Option<u64> {
    value
        .first_chunk::<VALUE_BYTES_MIN>()
        .map(|bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_comes_out_as_configured() {
        let config = YcsbConfig {
            records: 1000,
            ops: 4,
            read_share: 0.84,
            modify_share: 0.25,
            theta: 0.86,
            ..YcsbConfig::default()
        };
        let mut ycsb = Ycsb::new(config, 11).unwrap();
        let mut transaction = Vec::new();
        let (mut reads, mut modifies, mut updates) = (0, 0, 0);
        for _ in 0..50_000 {
            ycsb.next_into(&mut transaction);
            assert_eq!(transaction.len(), 4);
            for operation in &transaction {
                match operation {
                    Operation::Read(_) => reads += 1,
                    Operation::ReadModifyWrite(_) => modifies += 1,
                    Operation::Update(_) => updates += 1,
                }
            }
        }
        let share = |n: i32| f64::from(n) / 200_000.0;
        assert!(
            (share(reads) - 0.84).abs() < 0.005,
            "reads {}",
            share(reads)
        );
        assert!(
            (share(modifies) - 0.04).abs() < 0.005,
            "modifies {}",
            share(modifies)
        );
        assert!(
            (share(updates) - 0.12).abs() < 0.005,
            "updates {}",
            share(updates)
        );
    }

    #[test]
    fn a_transaction_touches_distinct_records() {
        let config = YcsbConfig {
            records: 20,
            ops: 16,
            theta: 0.99,
            ..YcsbConfig::default()
        };
        let mut ycsb = Ycsb::new(config, 5).unwrap();
        let mut transaction = Vec::new();
        for _ in 0..200 {
            ycsb.next_into(&mut transaction);
            let mut records: Vec<u64> = transaction
                .iter()
                .map(|operation| operation.record())
                .collect();
            records.sort_unstable();
            records.dedup();
            assert_eq!(records.len(), 16);
        }
    }

    #[test]
    fn impossible_configurations_are_refused_by_name() {
        let name = |change: fn(&mut YcsbConfig)| {
            let mut config = YcsbConfig::default();
            change(&mut config);
            match config.check() {
                Err(ConfigError::OutOfRange { name, .. }) => name,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(name(|c| c.records = 0), "records");
        assert_eq!(name(|c| c.value_bytes = 7), "value-bytes");
        assert_eq!(name(|c| c.ops = 0), "ops");
        assert_eq!(
            name(|c| {
                c.records = 3;
                c.ops = 4
            }),
            "ops"
        );
        assert_eq!(name(|c| c.read_share = 1.5), "read-share");
        assert_eq!(name(|c| c.theta = 1.0), "theta");
        assert_eq!(name(|c| c.theta = f64::NAN), "theta");
        assert!(YcsbConfig::default().with_mix("E").is_err());
        assert_eq!(
            YcsbConfig::default().with_mix("B").unwrap().read_share,
            0.95
        );
    }

    #[test]
    fn values_carry_their_counter_and_length() {
        let first = value(3, 41, 100);
        assert_eq!((first.len(), counter(&first)), (100, Some(41)));
        let next = value(3, 42, 100);
        assert_eq!(first[8..], next[8..], "the filler belongs to the record");
        assert_ne!(first[8..], value(4, 41, 100)[8..]);
        assert_eq!(counter(b"short"), None);
    }

    #[test]
    fn clients_with_different_seeds_differ() {
        let first = Ycsb::new(YcsbConfig::default(), 1).unwrap();
        let (mut a, mut b, mut again) = (first.clone(), first.with_seed(2), first.with_seed(1));
        let take = |ycsb: &mut Ycsb| {
            let mut transaction = Vec::new();
            ycsb.next_into(&mut transaction);
            transaction
        };
        let expected = take(&mut a);
        assert_eq!(take(&mut again), expected);
        assert_ne!(take(&mut b), expected);
    }
}
