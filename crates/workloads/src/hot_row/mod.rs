//! Hot row: a counter that every transaction adds to, beside cold ones.
//!
//! Relies on: `call`, `load`, `workload`.  Promises: the cold counters of a call are distinct and sorted, so
//! that only the hot one makes transactions wait; all counters together say how many additions there
//! were.  Does not: think: a transaction is nothing but its updates.

use crate::call::{Answers, Argument, Call, Calls, Ending, ParameterType as Type, Procedure};
use crate::load::{Lines, Piece, Table};
use crate::workload::{Check, Expected, Workload, client_seed};
use quintet_rt::Rand;

/// Rows of a piece.
const ROWS: u64 = 20_000;

/// When a transaction touches the hot row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// First: whoever waits for it waits for the whole transaction.
    First,
    /// Last.
    Last,
    /// Not at all, to compare with.
    None,
}

impl Mix {
    /// All of them.
    pub const ALL: [Mix; 3] = [Mix::First, Mix::Last, Mix::None];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mix::First => "first",
            Mix::Last => "last",
            Mix::None => "none",
        }
    }

    /// The mix of a name.
    pub fn parse(name: &str) -> Option<Mix> {
        Mix::ALL.into_iter().find(|mix| mix.name() == name)
    }
}

const PROCEDURES: [Procedure; 3] = [
    Procedure {
        name: "hot-first",
        statement: "CALL hot_first($1, $2, NULL)",
        parameters: &[Type::Int, Type::Ints],
        refusals: &[],
        answers: Answers::Count,
    },
    Procedure {
        name: "hot-last",
        statement: "CALL hot_last($1, $2, NULL)",
        parameters: &[Type::Int, Type::Ints],
        refusals: &[],
        answers: Answers::Count,
    },
    Procedure {
        name: "hot-none",
        statement: "CALL hot_none($1, NULL)",
        parameters: &[Type::Ints],
        refusals: &[],
        answers: Answers::Count,
    },
];

const TABLES: [Table; 2] = [
    Table {
        name: "hot",
        columns: "h_id, h_total",
    },
    Table {
        name: "cold",
        columns: "c_id, c_total",
    },
];

/// The shape of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotRow {
    /// When the hot row is touched.
    pub mix: Mix,
    /// Hot rows; a transaction touches one of them.
    pub hot_rows: u64,
    /// Cold rows.
    pub cold_rows: u64,
    /// Cold rows of a transaction.
    pub cold_touched: u64,
}

impl HotRow {
    /// One hot row, 100,000 cold ones, four of which a transaction touches.
    pub fn new(mix: Mix) -> HotRow {
        HotRow {
            mix,
            hot_rows: 1,
            cold_rows: 100_000,
            cold_touched: 4,
        }
    }
}

impl Workload for HotRow {
    fn name(&self) -> &'static str {
        "hotrow"
    }

    fn mix(&self) -> &'static str {
        self.mix.name()
    }

    fn size(&self) -> String {
        let HotRow {
            hot_rows,
            cold_rows,
            cold_touched,
            ..
        } = self;
        format!("{hot_rows} hot rows, {cold_touched} of {cold_rows} cold ones")
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
        1 + self.cold_rows.div_ceil(ROWS) as u32
    }

    fn piece(&self, number: u32) -> Piece {
        let (table, rows) = match number {
            0 => (0, 0..self.hot_rows),
            _ => {
                let first = u64::from(number - 1) * ROWS;
                (1, first..self.cold_rows.min(first + ROWS))
            }
        };
        let mut lines = Lines::default();
        for row in rows {
            lines.number(row as i64);
            lines.number(0);
            lines.end_row();
        }
        lines.into_piece(TABLES[table])
    }

    fn checks(&self) -> Vec<Check> {
        vec![Check {
            name: "all counters together are the additions",
            sql: "SELECT sum(total)::bigint
                  FROM (SELECT h_total AS total FROM hot UNION ALL SELECT c_total FROM cold) AS t"
                .to_string(),
            expected: Expected::GrowsByCounted,
        }]
    }

    fn calls(&self, client: u32, seed: u64) -> Box<dyn Calls> {
        assert!(self.hot_rows > 0, "no hot row");
        assert!(self.cold_rows < 1 << 31, "keys are int");
        assert!(
            self.cold_touched <= self.cold_rows,
            "a transaction touches each row once"
        );
        Box::new(Counting {
            workload: *self,
            rand: Rand::seeded(client_seed(client, seed)),
        })
    }
}

/// The stream of one client.
struct Counting {
    workload: HotRow,
    rand: Rand,
}

impl Calls for Counting {
    fn next_call(&mut self) -> Call {
        let hot = self.rand.below(self.workload.hot_rows) as i32;
        let mut cold: Vec<i32> = Vec::with_capacity(self.workload.cold_touched as usize);
        while cold.len() < self.workload.cold_touched as usize {
            let row = self.rand.below(self.workload.cold_rows) as i32;
            if let Err(at) = cold.binary_search(&row) {
                cold.insert(at, row);
            }
        }
        let hot = Argument::Int(Some(hot));
        let (procedure, arguments) = match self.workload.mix {
            Mix::First => (0, vec![hot, Argument::Ints(cold)]),
            Mix::Last => (1, vec![hot, Argument::Ints(cold)]),
            Mix::None => (2, vec![Argument::Ints(cold)]),
        };
        Call {
            procedure,
            arguments,
            ending: Ending::Commit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cold_rows_are_distinct_and_sorted() {
        for mix in Mix::ALL {
            let workload = HotRow {
                cold_rows: 6,
                ..HotRow::new(mix)
            };
            let mut calls = workload.calls(3, 1);
            for _ in 0..1000 {
                let call = calls.next_call();
                let types = call.arguments.iter().map(Argument::parameter_type);
                let types: Vec<_> = types.collect();
                assert_eq!(types, PROCEDURES[call.procedure].parameters);
                let Some(Argument::Ints(cold)) = call.arguments.last() else {
                    panic!("{call:?}")
                };
                assert_eq!(cold.len(), 4);
                assert!(cold.is_sorted_by(|a, b| a < b) && cold[0] >= 0 && cold[3] < 6);
            }
        }
    }

    #[test]
    fn all_rows_are_loaded_once() {
        let workload = HotRow::new(Mix::First);
        let cold = (1..workload.pieces()).map(|number| workload.piece(number));
        let text: String = cold.map(|piece| piece.text).collect();
        let ids = text.lines().map(|line| line.split_once('\t').unwrap().0);
        let ids: Vec<u64> = ids.map(|id| id.parse().unwrap()).collect();
        assert_eq!(ids, (0..100_000).collect::<Vec<_>>());
    }
}
