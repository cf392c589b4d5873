//! A workload as SQL text: schema, procedures, rows, calls and checks.
//!
//! Relies on: `call`, `load`.  Promises: nothing by itself; it is the contract between the workloads
//! and whoever runs them.  Does not: run anything, or know one database from another: the text
//! is the same for all.
//!
//! ```text
//!   schema ─► rows, piece by piece ─► checks ─► procedures ─► calls … ─► checks
//! ```

use crate::call::{Calls, Procedure};
use crate::load::{Piece, Table};
use quintet_engine::history::Recorder;

macro_rules! texts {
    ($name: literal, $folder: literal) => {
        (
            $name,
            include_str!(concat!($folder, "/schema.sql")),
            include_str!(concat!($folder, "/procedures.sql")),
        )
    };
}

/// Everything about one workload.
pub trait Workload: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Name of the mix of its transactions.
    fn mix(&self) -> &'static str;

    /// Its size in words, for reports.
    fn size(&self) -> String;

    /// Makes the tables and their indexes; there must be none of them yet.
    fn schema(&self) -> &'static str;

    /// Makes the procedures, or makes them anew.
    fn procedure_text(&self) -> &'static str;

    /// The procedures that calls name by position.
    fn procedures(&self) -> &'static [Procedure];

    /// The tables, in the order in which they are filled.
    fn tables(&self) -> &'static [Table];

    /// How many pieces the tables' rows come in.
    fn pieces(&self) -> u32;

    /// One of them, counted from 0.
    fn piece(&self, number: u32) -> Piece;

    /// What must hold.
    fn checks(&self) -> Vec<Check>;

    /// What a client does; clients and seeds tell streams apart.
    fn calls(&self, client: u32, seed: u64) -> Box<dyn Calls>;

    /// Where its calls take down what they did and saw, if they do: the history of one run, which begins on new
    /// tables and is judged at its end.
    fn recorder(&self) -> Option<&Recorder> {
        None
    }

    /// With a recorder: a query for all lists, each with its number and its values with commas between them.
    fn last_read(&self) -> &'static str {
        ""
    }

    /// Drops the tables, if they are there.
    fn drop_text(&self) -> String {
        let names: Vec<&str> = self.tables().iter().map(|table| table.name).collect();
        format!("DROP TABLE IF EXISTS {}", names.join(", "))
    }
}

/// Names of the workloads that are procedures, as `quintet bench` has them, with their schemas and procedures. TPC-E
/// is text only: it is classified and simulated, not run.
pub const TEXTS: [(&str, &str, &str); 7] = [
    texts!("tpcc", "tpcc"),
    texts!("tpce", "tpce"),
    texts!("smallbank", "smallbank"),
    texts!("hotrow", "hot_row"),
    texts!("ecommerce", "ecommerce"),
    texts!("ycsb-sql", "ycsb_sql"),
    texts!("list-append", "append_sql"),
];

/// Something that a right database never breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it says, in a few words.
    pub name: &'static str,
    /// The query.
    pub sql: String,
    /// What it must give.
    pub expected: Expected,
}

/// What a check's query must give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No rows, always.
    NoRows,
    /// No rows while no call has been made since loading.
    NoRowsWhenLoaded,
    /// One number, which grows by just what the committed calls counted (see
    /// [`Answers::Count`](crate::Answers::Count)).
    GrowsByCounted,
}

/// The seed of a client's stream from the seed of the run.
pub(crate) fn client_seed(client: u32, seed: u64) -> u64 {
    seed ^ (u64::from(client) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Draws by weight: the position of the weight in which a number below their sum falls.
pub(crate) fn drawn(weights: &[u32], rand: &mut quintet_rt::Rand) -> usize {
    let sum: u32 = weights.iter().sum();
    let mut left = rand.below(u64::from(sum)) as u32;
    for (i, weight) in weights.iter().enumerate() {
        if left < *weight {
            return i;
        }
        left -= weight;
    }
    unreachable!("a number below the sum falls into one of the weights")
}
