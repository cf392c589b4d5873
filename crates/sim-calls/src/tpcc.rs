//! TPC-C as calls to schedule: arguments as `workloads` makes them, times of the thesis's Table 5.1.
//!
//! Relies on: `workloads::tpcc` for the arguments, a [`KeyRule`] for the conflict keys, which is the classifier
//! ([`Classified`]) for everybody but a test.  Promises: each call
//! comes from any warehouse's terminal, as likely from each; [`Plan::writes`] are rows, by column, that the
//! call does write, whichever rule makes the keys.  Does not: run SQL: of what only the data tell it draws
//! (Delivery's customers) or approximates (the customer of a name).
//!
//! Rows, for who certifies:
//!
//! | space | path | in which calls | mode |
//! |---|---|---|---|
//! | district | w, d | NewOrder (next order), Payment (sum) | one each: other columns |
//! | stock | supplying w, item | NewOrder | writes |
//! | warehouse | w | Payment (sum) | writes |
//! | customer | w, d, c | Payment, Delivery (balance) | writes |
//! | orders | w: the oldest | Delivery | writes |

use crate::classified::{Classified, value};
use crate::draw::Spread;
use crate::plan::{Kind, Plan, Source};
use hashbrown::HashMap;
use quintet_base::Value;
use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};
use quintet_rt::Rand;
use quintet_workloads::call::{Argument, Call, Calls, Ending};
use quintet_workloads::tpcc::{DISTRICTS, Mix, Scale, last_name};
use quintet_workloads::{Tpcc, Workload};

/// In the order of the workload's procedures; a test compares the names.
const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const DELIVERY: usize = 3;

/// Times are Table 5.1's; tables those that the procedures name.
const KINDS: [Kind; 5] = [
    Kind {
        name: "new-order",
        duration: spread(700.0, 0.025),
        writes: true,
        tables: &[
            tables::ITEM,
            tables::STOCK,
            tables::CUSTOMER,
            tables::ORDERS,
            tables::ORDER_LINE,
        ],
    },
    Kind {
        name: "payment",
        duration: spread(660.0, 0.028),
        writes: true,
        tables: &[tables::CUSTOMER, tables::HISTORY],
    },
    Kind {
        name: "order-status",
        duration: spread(680.0, 0.028),
        writes: false,
        tables: &[tables::CUSTOMER, tables::ORDERS, tables::ORDER_LINE],
    },
    Kind {
        name: "delivery",
        duration: spread(660.0, 0.035),
        writes: true,
        tables: &[tables::CUSTOMER, tables::ORDERS, tables::ORDER_LINE],
    },
    Kind {
        name: "stock-level",
        duration: spread(1010.0, 0.022),
        writes: false,
        tables: &[tables::STOCK, tables::ORDER_LINE],
    },
];

const fn spread(ms: f64, variance: f64) -> Spread {
    Spread { ms, variance }
}

/// Sizes at ten warehouses, from the specification's rows and their bytes (clauses 4.2.2 and 4.3.3); the
/// small tables are left out.
mod tables {
    use crate::plan::Table;

    pub(super) const ITEM: Table = table("item", 8.0);
    pub(super) const STOCK: Table = table("stock", 306.0);
    pub(super) const CUSTOMER: Table = table("customer", 197.0);
    pub(super) const ORDERS: Table = table("orders", 7.0);
    pub(super) const ORDER_LINE: Table = table("order_line", 162.0);
    pub(super) const HISTORY: Table = table("history", 14.0);

    const fn table(name: &'static str, megabytes: f64) -> Table {
        Table { name, megabytes }
    }
}

const DISTRICT: Space = Space(0);
const STOCK: Space = Space(1);
const WAREHOUSE: Space = Space(2);
const CUSTOMER: Space = Space(3);
const ORDERS: Space = Space(4);

/// What is written of a row; in [`DISTRICT`] there are two columns that different calls write.
const WRITE: Mode = Mode(0);
const SUM: Mode = Mode(1);

/// Where the conflict keys of a call come from.
pub trait KeyRule {
    /// Which modes conflict.
    fn modes(&self) -> Modes;

    /// Appends the keys of a call that writes.
    fn keys(&mut self, call: &Call, keys: &mut Vec<ConflictKey>);
}

impl KeyRule for Classified {
    fn modes(&self) -> Modes {
        Classified::modes(self)
    }

    fn keys(&mut self, call: &Call, keys: &mut Vec<ConflictKey>) {
        let arguments: Vec<Value> = call.arguments.iter().map(value).collect();
        Classified::keys(self, call.procedure, &arguments, keys);
    }
}

fn modes() -> Modes {
    let mut modes = Modes::new();
    for space in [DISTRICT, STOCK, WAREHOUSE, CUSTOMER, ORDERS] {
        modes.declare(space, WRITE, WRITE);
    }
    modes.declare(DISTRICT, SUM, SUM);
    modes
}

fn new_order(call: &Call, keys: &mut Vec<ConflictKey>) {
    let number = |at: usize| int(&call.arguments[at]).unwrap_or(0);
    keys.push(key(DISTRICT, WRITE, &[number(0), number(1)]));
    let (items, supplies) = (ints(&call.arguments[3]), ints(&call.arguments[4]));
    let first = keys.len();
    for (item, supply) in items.iter().zip(supplies) {
        let line = key(STOCK, WRITE, &[*supply as u64, *item as u64]);
        // An item may be ordered in several lines of one order.
        if !keys[first..].contains(&line) {
            keys.push(line);
        }
    }
}

fn payment_sums(w: u64, d: u64, keys: &mut Vec<ConflictKey>) {
    keys.push(key(WAREHOUSE, WRITE, &[w]));
    keys.push(key(DISTRICT, SUM, &[w, d]));
}

fn key(space: Space, mode: Mode, path: &[u64]) -> ConflictKey {
    ConflictKey::new(space, mode, path)
}

fn int(argument: &Argument) -> Option<u64> {
    match argument {
        Argument::Int(number) => number.map(|number| number as u64),
        other => unreachable!("an int argument is not {other:?}"),
    }
}

fn ints(argument: &Argument) -> &[i32] {
    match argument {
        Argument::Ints(numbers) => numbers,
        other => unreachable!("an int[] argument is not {other:?}"),
    }
}

/// TPC-C's calls.
pub struct TpccCalls {
    /// One per warehouse.
    terminals: Vec<Box<dyn Calls>>,
    customers: u64,
    /// Number of a last name.
    names: HashMap<String, u64, foldhash::fast::FixedState>,
    rule: Box<dyn KeyRule>,
    rand: Rand,
}

impl TpccCalls {
    /// The specification's mix and scale, with so many warehouses, and keys of the classifier.
    ///
    /// # Panics
    /// If there is none, or more than an `int` can number.
    pub fn new(warehouses: u32, seed: u64) -> TpccCalls {
        TpccCalls::with_rule(warehouses, Box::new(Classified::tpcc()), seed)
    }

    /// The same with keys of another rule.
    ///
    /// # Panics
    /// If there is none, or more than an `int` can number.
    pub fn with_rule(warehouses: u32, rule: Box<dyn KeyRule>, seed: u64) -> TpccCalls {
        let scale = Scale::full(u64::from(warehouses));
        let workload = Tpcc::new(scale, Mix::Full, seed);
        let names = (0..scale.customers.min(1000)).map(|number| (last_name(number), number));
        TpccCalls {
            terminals: (0..warehouses)
                .map(|home| workload.calls(home, seed))
                .collect(),
            customers: scale.customers,
            names: names.collect(),
            rule,
            rand: Rand::seeded(seed ^ 0x7463_6363),
        }
    }

    /// The rows that a call does write.
    fn writes(&mut self, call: &Call) -> Vec<ConflictKey> {
        let mut rows = Vec::new();
        let number = |at: usize| int(&call.arguments[at]).unwrap_or(0);
        match call.procedure {
            // An order of an unused item is rolled back.
            NEW_ORDER if call.ending == Ending::Refusal => {}
            NEW_ORDER => new_order(call, &mut rows),
            PAYMENT => {
                payment_sums(number(0), number(1), &mut rows);
                let customer = match (&call.arguments[4], &call.arguments[5]) {
                    (Argument::Int(Some(customer)), _) => *customer as u64,
                    // Of the three or so of a name the one that the load gave it first: the first thousand
                    // customers have the names in turn (clause 4.3.3.1).
                    (_, Argument::Text(Some(name))) => self.names[name.as_str()] + 1,
                    other => unreachable!("a customer has a number or a name, not {other:?}"),
                };
                rows.push(key(CUSTOMER, WRITE, &[number(2), number(3), customer]));
            }
            DELIVERY => {
                rows.push(key(ORDERS, WRITE, &[number(0)]));
                for district in 1..=DISTRICTS {
                    // Whose order is the oldest only the data tell.
                    let customer = 1 + self.rand.below(self.customers);
                    rows.push(key(CUSTOMER, WRITE, &[number(0), district, customer]));
                }
            }
            _ => {}
        }
        rows
    }
}

impl Source for TpccCalls {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn kinds(&self) -> &[Kind] {
        &KINDS
    }

    fn modes(&self) -> Modes {
        self.rule.modes()
    }

    fn row_modes(&self) -> Modes {
        modes()
    }

    fn next_plan(&mut self) -> Plan {
        let home = self.rand.below(self.terminals.len() as u64) as usize;
        let call = self.terminals[home].next_call();
        let mut keys = Vec::new();
        if KINDS[call.procedure].writes {
            self.rule.keys(&call, &mut keys);
        }
        Plan {
            kind: call.procedure,
            keys,
            writes: self.writes(&call),
            looked_up: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_the_procedures_in_their_order() {
        let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let workload = Tpcc::new(Scale::small(1), Mix::Full, 1);
        let procedures = workload.procedures().iter();
        let names: Vec<&str> = procedures.map(|procedure| procedure.name).collect();
        assert_eq!(kinds, names);
    }
}
