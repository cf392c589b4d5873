//! What to ask of the database: seeded streams of operations and the checks that go with them.
//!
//! Relies on: `rt::Rand` (the same seed gives the same stream), `engine` for taking histories down.  Promises: pure generators, one per
//! client, that never repeat an identifier between clients.  Does not: run anything, keep time, or
//! know how a store is reached; `bench` and the tests do.
//!
//! | file | what it holds |
//! |---|---|
//! | `keys` | which record next: uniform, or Zipf and spread over the key space |
//! | `ycsb` | transactions of reads, updates and read-modify-writes on one table |
//! | `append` | list-append transactions, whose histories can be checked for anomalies |
//! | `append_sql` | the same as a procedure |
//! | `bank` | transfers with identifiers, and the audit of what a crash left |
//! | `workload` | what a workload of SQL procedures consists of |
//! | `call`, `load` | one transaction to run, some rows to load |
//! | `tpcc` | TPC-C: schema, procedures, rows, inputs, consistency conditions |
//! | `tpce` | no code: the text of TPC-E's transactions, for the classifier |
//! | `smallbank` | SmallBank: six transactions on accounts |
//! | `hot_row` | one row that everybody writes |
//! | `ecommerce` | a shop: clicks, carts, favourites, purchases |
//! | `ycsb_sql` | YCSB as a procedure |

pub mod append;
pub mod append_sql;
pub mod bank;
pub mod call;
pub mod ecommerce;
pub mod hot_row;
pub mod keys;
pub mod load;
pub mod smallbank;
pub mod tpcc;
pub mod workload;
pub mod ycsb;
pub mod ycsb_sql;

pub use append::{AppendConfig, AppendOperation, ListAppend};
pub use append_sql::AppendSql;
pub use bank::{Audit, Bank, BankConfig, Transfer, Violation};
pub use call::{Answers, Argument, Call, CallEnd, Calls, Ending, ParameterType, Procedure};
pub use ecommerce::Ecommerce;
pub use hot_row::HotRow;
pub use keys::Keys;
pub use load::{Piece, Table};
pub use smallbank::SmallBank;
pub use tpcc::Tpcc;
pub use workload::{Check, Expected, TEXTS, Workload};
pub use ycsb::{Operation, Ycsb, YcsbConfig};
pub use ycsb_sql::YcsbSql;
