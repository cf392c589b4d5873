//! What to ask of the database: seeded streams of operations and the checks that go with them.
//!
//! Relies on: `rt::Rand` (the same seed gives the same stream).  Promises: pure generators, one per
//! client, that never repeat an identifier between clients.  Does not: run anything, keep time, or
//! know how a store is reached; `bench` and the tests do.
//!
//! | file | what it holds |
//! |---|---|
//! | `keys` | which record next: uniform, or Zipf and spread over the key space |
//! | `ycsb` | transactions of reads, updates and read-modify-writes on one table |
//! | `append` | list-append transactions, whose histories can be checked for anomalies |
//! | `bank` | transfers with identifiers, and the audit of what a crash left |

pub mod append;
pub mod bank;
pub mod keys;
pub mod ycsb;

pub use append::{AppendConfig, AppendOperation, ListAppend};
pub use bank::{Audit, Bank, BankConfig, Transfer, Violation};
pub use keys::Keys;
pub use ycsb::{Operation, Ycsb, YcsbConfig};
