//! SmallBank: six short transactions on the accounts of a bank's customers.
//!
//! Relies on: `call`, `load`, `workload`, `keys`.  Promises: the mix of the Solar paper: 15 % each, and 25 %
//! SendPayment; 40 % touch two customers.  Does not: lock in an order: two that touch the same two
//! customers may deadlock on databases that lock, as in the original.
//!
//! The benchmark is that of Alomari, Cahill, Fekete and Röhm, *The Cost of Serializability on Platforms That
//! Use Snapshot Isolation* (ICDE 2008), where snapshot isolation lets WriteCheck and TransactSavings overdraw
//! a customer. Here every write adds to what is there, so the sum of all money holds at every level; that no
//! savings fall below zero does not at READ COMMITTED, where what was read may have changed before it is
//! written.

use crate::call::{Answers, Argument, Call, Calls, Ending, ParameterType as Type, Procedure};
use crate::keys::Keys;
use crate::load::{Lines, Piece, Table};
use crate::workload::{Check, Expected, Workload, client_seed, drawn};
use quintet_rt::Rand;

/// What each of a customer's two accounts holds at first, in hundredths.
const BALANCE: i64 = 1_000_000;

/// Largest amount of a transaction, in hundredths.
const AMOUNT_MAX: u64 = 10_000;

/// Rows of a piece.
const ROWS: u64 = 20_000;

const BALANCE_OF: usize = 0;
const DEPOSIT_CHECKING: usize = 1;
const TRANSACT_SAVINGS: usize = 2;
const AMALGAMATE: usize = 3;
const WRITE_CHECK: usize = 4;
const SEND_PAYMENT: usize = 5;

/// Per cent, in the order of the procedures.
const MIX: [u32; 6] = [15, 15, 15, 15, 15, 25];

const PROCEDURES: [Procedure; 6] = [
    Procedure {
        name: "balance",
        statement: "SELECT balance($1)",
        parameters: &[Type::Text],
        refusals: &[],
        answers: Answers::Nothing,
    },
    Procedure {
        name: "deposit-checking",
        statement: "CALL deposit_checking($1, $2, NULL)",
        parameters: &[Type::Text, Type::BigInt],
        refusals: &[],
        answers: Answers::Count,
    },
    Procedure {
        name: "transact-savings",
        statement: "CALL transact_savings($1, $2, NULL)",
        parameters: &[Type::Text, Type::BigInt],
        refusals: &["SB001"],
        answers: Answers::Count,
    },
    Procedure {
        name: "amalgamate",
        statement: "CALL amalgamate($1, $2, NULL)",
        parameters: &[Type::Text, Type::Text],
        refusals: &[],
        answers: Answers::Count,
    },
    Procedure {
        name: "write-check",
        statement: "CALL write_check($1, $2, NULL)",
        parameters: &[Type::Text, Type::BigInt],
        refusals: &[],
        answers: Answers::Count,
    },
    Procedure {
        name: "send-payment",
        statement: "CALL send_payment($1, $2, $3, NULL)",
        parameters: &[Type::Text, Type::Text, Type::BigInt],
        refusals: &["SB001"],
        answers: Answers::Count,
    },
];

const TABLES: [Table; 3] = [
    Table {
        name: "account",
        columns: "a_name, a_id",
    },
    Table {
        name: "savings",
        columns: "s_id, s_balance",
    },
    Table {
        name: "checking",
        columns: "c_id, c_balance",
    },
];

/// SmallBank with so many customers.
#[derive(Clone, Debug)]
pub struct SmallBank {
    customers: u64,
    theta: f64,
    keys: Keys,
}

impl SmallBank {
    /// `theta` is the Zipf exponent by which customers are chosen; 0: all alike.
    ///
    /// # Panics
    /// With fewer than two customers, or an exponent that is not in 0 to below 1.
    pub fn new(customers: u64, theta: f64) -> SmallBank {
        assert!(customers >= 2, "some transactions need two customers");
        assert!(customers < 1 << 31, "keys are int");
        SmallBank {
            customers,
            theta,
            keys: Keys::zipf(customers, theta),
        }
    }

    fn pieces_per_table(&self) -> u64 {
        self.customers.div_ceil(ROWS)
    }
}

/// As wide as the largest number, so that names are in the order of the numbers.
fn name(customer: u64) -> String {
    format!("customer-{customer:010}")
}

impl Workload for SmallBank {
    fn name(&self) -> &'static str {
        "smallbank"
    }

    fn mix(&self) -> &'static str {
        "solar"
    }

    fn size(&self) -> String {
        format!("{} customers, theta {}", self.customers, self.theta)
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
        (self.pieces_per_table() * TABLES.len() as u64) as u32
    }

    fn piece(&self, number: u32) -> Piece {
        let per_table = self.pieces_per_table();
        let (table, part) = (u64::from(number) / per_table, u64::from(number) % per_table);
        let first = part * ROWS;
        let mut lines = Lines::default();
        for customer in first..self.customers.min(first + ROWS) {
            if table == 0 {
                lines.text(&name(customer));
                lines.number(customer as i64);
            } else {
                lines.number(customer as i64);
                lines.number(BALANCE);
            }
            lines.end_row();
        }
        lines.into_piece(TABLES[table as usize])
    }

    fn checks(&self) -> Vec<Check> {
        let check = |name, expected, sql: &str| Check {
            name,
            sql: sql.to_string(),
            expected,
        };
        vec![
            check(
                "what the bank holds is what was paid in and out",
                Expected::GrowsByCounted,
                "SELECT sum(balance)::bigint
                 FROM (SELECT s_balance AS balance FROM savings
                       UNION ALL SELECT c_balance FROM checking) AS t",
            ),
            check(
                "no savings below zero",
                Expected::NoRows,
                "SELECT s_id, s_balance FROM savings WHERE s_balance < 0",
            ),
            check(
                "each customer has one account of each kind",
                Expected::NoRows,
                "SELECT id, sum(kinds)
                 FROM (SELECT a_id AS id, 1 AS kinds FROM account
                       UNION ALL SELECT s_id, 10 FROM savings
                       UNION ALL SELECT c_id, 100 FROM checking) AS t
                 GROUP BY id HAVING sum(kinds) <> 111",
            ),
        ]
    }

    fn calls(&self, client: u32, seed: u64) -> Box<dyn Calls> {
        Box::new(Teller {
            keys: self.keys.clone(),
            rand: Rand::seeded(client_seed(client, seed)),
        })
    }
}

/// The stream of one client.
struct Teller {
    keys: Keys,
    rand: Rand,
}

impl Calls for Teller {
    fn next_call(&mut self) -> Call {
        let procedure = drawn(&MIX, &mut self.rand);
        let first = self.keys.next(&mut self.rand);
        let amount = 1 + self.rand.below(AMOUNT_MAX) as i64;
        let text = |customer| Argument::Text(Some(name(customer)));
        let (arguments, ending) = match procedure {
            BALANCE_OF => (vec![text(first)], Ending::Commit),
            DEPOSIT_CHECKING | WRITE_CHECK => {
                (vec![text(first), Argument::BigInt(amount)], Ending::Commit)
            }
            TRANSACT_SAVINGS => {
                let signed = if self.rand.one_in(2) { amount } else { -amount };
                (vec![text(first), Argument::BigInt(signed)], Ending::Either)
            }
            AMALGAMATE => (vec![text(first), text(self.other(first))], Ending::Commit),
            SEND_PAYMENT => {
                let to = text(self.other(first));
                (
                    vec![text(first), to, Argument::BigInt(amount)],
                    Ending::Either,
                )
            }
            _ => unreachable!("six weights"),
        };
        Call {
            procedure,
            arguments,
            ending,
        }
    }
}

impl Teller {
    fn other(&mut self, than: u64) -> u64 {
        loop {
            let other = self.keys.next(&mut self.rand);
            if other != than {
                return other;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_in_the_mix_with_two_different_customers() {
        let bank = SmallBank::new(50, 0.9);
        let mut calls = bank.calls(0, 1);
        let mut seen = [0u32; 6];
        for _ in 0..100_000 {
            let call = calls.next_call();
            seen[call.procedure] += 1;
            let types = call.arguments.iter().map(Argument::parameter_type);
            let types: Vec<_> = types.collect();
            assert_eq!(types, PROCEDURES[call.procedure].parameters);
            if let [Argument::Text(a), Argument::Text(b), ..] = &call.arguments[..] {
                assert_ne!(a, b);
            }
        }
        for (seen, share) in seen.iter().zip(MIX) {
            assert!(seen.abs_diff(share * 1000) < 600, "{seen} for {share} %");
        }
    }

    #[test]
    fn every_customer_has_three_rows() {
        let bank = SmallBank::new(ROWS + 1, 0.0);
        let rows: Vec<(&str, u64)> = (0..bank.pieces())
            .map(|number| bank.piece(number))
            .map(|piece| (piece.table.name, piece.rows))
            .collect();
        let expected = ["account", "savings", "checking"];
        let expected = expected.map(|table| [(table, ROWS), (table, 1)]);
        assert_eq!(rows, expected.concat());
        let last = bank.piece(1).text;
        assert_eq!(last, "customer-0000020000\t20000\n");
    }
}
