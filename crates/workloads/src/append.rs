//! List-append: transactions that read whole lists and append unique values to them.
//!
//! Relies on: `rt::Rand`.  Promises: a value is appended at most once to a list in a whole run,
//! by any client, so that every list a reader sees tells the order of its writers; lists stay short
//! because the set of lists in use moves on.  Does not: judge a history; `engine::history` does.
//!
//! The idea is Kingsbury and Alvaro's (*Elle: Inferring Isolation Anomalies from Experimental
//! Observations*, VLDB 2020). The lists in use are a window that slides with each client's own
//! count of transactions:
//!
//! ```text
//!   lists   0 1 2 3 4 5 6 7 8 9 …
//!           ─────[ lists_in_use ]─────►   one further every `transactions_per_list` transactions
//! ```

use quintet_rt::Rand;

/// The shape of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendConfig {
    /// Lists that may be touched at one time; few means much conflict.
    pub lists_in_use: u64,
    /// Transactions of a client after which the window moves on by one list.
    pub transactions_per_list: u64,
    /// Most operations of a transaction; each has between one and this many.
    pub operations_max: u64,
}

impl Default for AppendConfig {
    fn default() -> AppendConfig {
        AppendConfig {
            lists_in_use: 6,
            transactions_per_list: 8,
            operations_max: 5,
        }
    }
}

/// One step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOperation {
    /// Read a whole list.
    Read {
        /// Which list.
        list: u64,
    },
    /// Append a value to a list.
    Append {
        /// Which list.
        list: u64,
        /// What to append: unique in the run.
        value: u64,
    },
}

/// The stream of one client.
#[derive(Clone, Debug)]
pub struct ListAppend {
    config: AppendConfig,
    process: u32,
    rand: Rand,
    transactions: u64,
    appended: u32,
}

impl ListAppend {
    /// A stream; `process` tells the clients of one run apart and enters the values.
    pub fn new(config: AppendConfig, process: u32, seed: u64) -> ListAppend {
        assert!(config.lists_in_use > 0, "no list to append to");
        assert!(
            config.transactions_per_list > 0,
            "the window would never rest"
        );
        assert!(config.operations_max > 0, "empty transactions show nothing");
        // Clients may share the run's seed: the process number keeps their streams apart.
        let rand = Rand::seeded(seed ^ u64::from(process).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        ListAppend {
            config,
            process,
            rand,
            transactions: 0,
            appended: 0,
        }
    }

    /// The next transaction.
    pub fn next_transaction(&mut self) -> Vec<AppendOperation> {
        let first = self.transactions / self.config.transactions_per_list;
        self.transactions += 1;
        let operations = 1 + self.rand.below(self.config.operations_max);
        (0..operations).map(|_| self.operation(first)).collect()
    }

    fn operation(&mut self, first: u64) -> AppendOperation {
        let list = first + self.rand.below(self.config.lists_in_use);
        if self.rand.below(2) == 0 {
            return AppendOperation::Read { list };
        }
        self.appended = self
            .appended
            .checked_add(1)
            .expect("a run ends before 2^32 appends of one client");
        let value = u64::from(self.process) << 32 | u64::from(self.appended);
        AppendOperation::Append { list, value }
    }
}

/// A stored list with a value added: 8 bytes each, big-endian, in order.
pub fn appended(stored: Option<&[u8]>, value: u64) -> Vec<u8> {
    let mut list = stored.unwrap_or_default().to_vec();
    list.extend_from_slice(&value.to_be_bytes());
    list
}

/// Reads a stored list; `None` if its length is not whole values.
pub fn values(stored: &[u8]) -> Option<Vec<u64>> {
    let (whole, rest) = stored.as_chunks::<8>();
    rest.is_empty().then(|| {
        whole
            .iter()
            .map(|bytes| u64::from_be_bytes(*bytes))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn values_are_unique_across_clients_and_lists_move_on() {
        let config = AppendConfig::default();
        let mut seen = HashSet::new();
        for process in 0..4 {
            let mut stream = ListAppend::new(config, process, 99);
            for transaction in 0..400 {
                let operations = stream.next_transaction();
                assert!((1..=config.operations_max as usize).contains(&operations.len()));
                let first = transaction / config.transactions_per_list;
                for operation in operations {
                    let list = match operation {
                        AppendOperation::Read { list } => list,
                        AppendOperation::Append { list, value } => {
                            assert!(seen.insert(value), "{value} appended twice");
                            list
                        }
                    };
                    assert!((first..first + config.lists_in_use).contains(&list));
                }
            }
        }
        assert!(seen.len() > 1000);
    }

    #[test]
    fn clients_of_one_seed_do_different_things() {
        let shape = |process| {
            let mut stream = ListAppend::new(AppendConfig::default(), process, 7);
            (0..20)
                .map(|_| stream.next_transaction().len())
                .collect::<Vec<_>>()
        };
        assert_eq!(shape(1), shape(1));
        assert_ne!(shape(1), shape(2));
    }

    #[test]
    fn stored_lists_round_trip() {
        let stored = appended(Some(&appended(None, 7)), 9);
        assert_eq!(values(&stored), Some(vec![7, 9]));
        assert_eq!(values(&stored[..15]), None);
        assert_eq!(values(&[]), Some(vec![]));
    }
}
