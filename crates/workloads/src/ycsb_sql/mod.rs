//! YCSB as SQL procedures: several reads and writes of records by key in one transaction.
//!
//! Relies on: `call`, `load`, `workload`, `keys`.  Promises: the records of a transaction are distinct, and
//! those of each kind are sorted, so that transactions which write in the same way lock in one order.
//! Does not: hold its counting check at READ COMMITTED: what was read there may have changed before it
//! is written.
//!
//! | mix | a transaction | of |
//! |---|---|---|
//! | `deuteronomy` | 4 operations, each a read with 84 %, else a write that does not look | the Deuteronomy slides |
//! | `qstore` | 8 reads and 8 read-modify-writes | the Q-Store slides |
//!
//! A share of the transactions may do all of their work and then raise an error: what does taking work back cost?

use crate::call::{Answers, Argument, Call, Calls, Ending, ParameterType as Type, Procedure};
use crate::keys::Keys;
use crate::load::{Lines, Piece, Table};
use crate::workload::{Check, Expected, Workload, client_seed};
use quintet_rt::Rand;

/// Rows of a piece.
const ROWS: u64 = 20_000;

/// What a transaction consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Four operations, 84 % reads.
    Deuteronomy,
    /// Eight reads, eight read-modify-writes.
    QStore,
}

impl Mix {
    /// All of them.
    pub const ALL: [Mix; 2] = [Mix::Deuteronomy, Mix::QStore];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mix::Deuteronomy => "deuteronomy",
            Mix::QStore => "qstore",
        }
    }

    /// The mix of a name.
    pub fn parse(name: &str) -> Option<Mix> {
        Mix::ALL.into_iter().find(|mix| mix.name() == name)
    }

    fn operations(self) -> usize {
        match self {
            Mix::Deuteronomy => 4,
            Mix::QStore => 16,
        }
    }
}

const PARAMETERS: [Type; 4] = [Type::BigInts, Type::BigInts, Type::BigInts, Type::Text];

const PROCEDURES: [Procedure; 2] = [
    Procedure {
        name: "ycsb",
        statement: "CALL ycsb($1, $2, $3, $4, NULL, NULL)",
        parameters: &PARAMETERS,
        refusals: &[],
        answers: Answers::Count,
    },
    Procedure {
        name: "ycsb_raised",
        statement: "CALL ycsb_raised($1, $2, $3, $4)",
        parameters: &PARAMETERS,
        refusals: &["P0001"],
        answers: Answers::Nothing,
    },
];

/// Positions in [`PROCEDURES`].
const YCSB: usize = 0;
const YCSB_RAISED: usize = 1;

const TABLES: [Table; 1] = [Table {
    name: "usertable",
    columns: "y_id, y_counter, y_value",
}];

/// YCSB on a table.
#[derive(Clone, Debug)]
pub struct YcsbSql {
    mix: Mix,
    keys: Keys,
    theta: f64,
    value_bytes: usize,
    raised: f64,
}

impl YcsbSql {
    /// `theta` is the Zipf exponent; 0 is uniform.
    ///
    /// # Panics
    /// With fewer records than a transaction touches, or an exponent that is not in 0 to below 1.
    pub fn new(mix: Mix, records: u64, value_bytes: usize, theta: f64) -> YcsbSql {
        assert!(records >= mix.operations() as u64, "too few records");
        YcsbSql {
            mix,
            keys: Keys::zipf(records, theta),
            theta,
            value_bytes,
            raised: 0.0,
        }
    }

    /// So large a share of the transactions (0 to 1) raises an error when all is done.
    #[must_use]
    pub fn raising(self, share: f64) -> YcsbSql {
        YcsbSql {
            raised: share,
            ..self
        }
    }
}

/// A value: letters that depend on a number.
fn value(number: u64, bytes: usize, into: &mut String) {
    let mut rand = Rand::seeded(number);
    for _ in 0..bytes {
        into.push(char::from(b'a' + rand.below(26) as u8));
    }
}

impl Workload for YcsbSql {
    fn name(&self) -> &'static str {
        "ycsb-sql"
    }

    fn mix(&self) -> &'static str {
        self.mix.name()
    }

    fn size(&self) -> String {
        let (records, bytes, theta) = (self.keys.count(), self.value_bytes, self.theta);
        let raised = match self.raised {
            0.0 => String::new(),
            share => format!(", {} % raise an error", share * 100.0),
        };
        format!("{records} records of {bytes} bytes, theta {theta}{raised}")
    }

    fn schema(&self) -> &'static str {
        include_str!("schema.sql")
    }

    fn procedure_text(&self) -> &'static str {
        include_str!("procedures.sql")
    }

    fn procedures(&self) -> &'static [Procedure] {
        &PROCEDURES
    }

    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn pieces(&self) -> u32 {
        self.keys.count().div_ceil(ROWS) as u32
    }

    fn piece(&self, number: u32) -> Piece {
        let first = u64::from(number) * ROWS;
        let mut lines = Lines::default();
        for record in first..self.keys.count().min(first + ROWS) {
            lines.number(record as i64);
            lines.number(0);
            value(record, self.value_bytes, lines.field());
            lines.end_row();
        }
        lines.into_piece(TABLES[0])
    }

    fn checks(&self) -> Vec<Check> {
        let bytes = self.value_bytes;
        vec![
            Check {
                name: "all counters together are the read-modify-writes",
                sql: "SELECT sum(y_counter)::bigint FROM usertable".to_string(),
                expected: Expected::GrowsByCounted,
            },
            Check {
                name: "every value is as long as it was",
                sql: format!("SELECT y_id FROM usertable WHERE length(y_value) <> {bytes}"),
                expected: Expected::NoRows,
            },
        ]
    }

    fn calls(&self, client: u32, seed: u64) -> Box<dyn Calls> {
        Box::new(Operations {
            workload: self.clone(),
            rand: Rand::seeded(client_seed(client, seed)),
        })
    }
}

/// The stream of one client.
struct Operations {
    workload: YcsbSql,
    rand: Rand,
}

impl Calls for Operations {
    fn next_call(&mut self) -> Call {
        let mix = self.workload.mix;
        let mut records: Vec<i64> = Vec::with_capacity(mix.operations());
        while records.len() < mix.operations() {
            let record = self.workload.keys.next(&mut self.rand) as i64;
            if !records.contains(&record) {
                records.push(record);
            }
        }
        let (mut reads, mut updates, mut modifies) = (Vec::new(), Vec::new(), Vec::new());
        for (i, record) in records.into_iter().enumerate() {
            match mix {
                Mix::Deuteronomy if self.rand.below(100) < 84 => reads.push(record),
                Mix::Deuteronomy => updates.push(record),
                Mix::QStore if i < 8 => reads.push(record),
                Mix::QStore => modifies.push(record),
            }
        }
        let sorted = |mut records: Vec<i64>| {
            records.sort_unstable();
            Argument::BigInts(records)
        };
        let mut text = String::with_capacity(self.workload.value_bytes);
        if !updates.is_empty() || !modifies.is_empty() {
            value(self.rand.next_u64(), self.workload.value_bytes, &mut text);
        }
        let raised = self.workload.raised;
        let (procedure, ending) =
            match raised > 0.0 && (self.rand.below(1_000_000) as f64) < raised * 1e6 {
                true => (YCSB_RAISED, Ending::Refusal),
                false => (YCSB, Ending::Commit),
            };
        Call {
            procedure,
            arguments: vec![
                sorted(reads),
                sorted(updates),
                sorted(modifies),
                Argument::Text(Some(text)),
            ],
            ending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn lists(call: &Call) -> [&[i64]; 3] {
        match &call.arguments[..] {
            [
                Argument::BigInts(reads),
                Argument::BigInts(updates),
                Argument::BigInts(modifies),
                Argument::Text(Some(_)),
            ] => [reads, updates, modifies],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn transactions_have_the_stated_operations_on_distinct_records() {
        for mix in Mix::ALL {
            let workload = YcsbSql::new(mix, 100, 100, 0.9);
            let mut calls = workload.calls(0, 3);
            let mut reads_in_all = 0;
            for _ in 0..20_000 {
                let call = calls.next_call();
                let [reads, updates, modifies] = lists(&call);
                let all: BTreeSet<i64> = [reads, updates, modifies].concat().into_iter().collect();
                assert_eq!(all.len(), mix.operations());
                assert!(all.iter().all(|record| (0..100).contains(record)));
                assert!(reads.is_sorted() && updates.is_sorted() && modifies.is_sorted());
                match mix {
                    Mix::Deuteronomy => assert!(modifies.is_empty()),
                    Mix::QStore => assert_eq!((reads.len(), modifies.len()), (8, 8)),
                }
                reads_in_all += reads.len();
            }
            if mix == Mix::Deuteronomy {
                let share = reads_in_all as f64 / 80_000.0;
                assert!((0.83..0.85).contains(&share), "{share}");
            }
        }
    }

    #[test]
    fn the_share_that_raises_is_the_one_asked_for() {
        let workload = YcsbSql::new(Mix::QStore, 100, 100, 0.0).raising(0.1);
        let mut calls = workload.calls(0, 3);
        let raised = (0..20_000)
            .map(|_| calls.next_call())
            .filter(|call| match call.procedure {
                YCSB_RAISED => call.ending == Ending::Refusal,
                _ => false,
            })
            .count();
        assert!((1_800..2_200).contains(&raised), "{raised}");
    }

    #[test]
    fn records_have_values_of_their_length() {
        let workload = YcsbSql::new(Mix::QStore, 50, 33, 0.0);
        let piece = workload.piece(0);
        assert_eq!((workload.pieces(), piece.rows), (1, 50));
        let values: BTreeSet<&str> = piece
            .text
            .lines()
            .map(|line| line.rsplit('\t').next().unwrap())
            .collect();
        assert_eq!(values.len(), 50);
        assert!(values.iter().all(|value| value.len() == 33));
    }
}
