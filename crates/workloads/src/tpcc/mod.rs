//! TPC-C: orders, payments and deliveries of a wholesale supplier (TPC Benchmark C, revision 5.11).
//!
//! Relies on: `call`, `load`, `workload`.  Promises: schema, rows, transactions, mix and consistency
//! conditions as the specification has them, but for what is listed below.  Does not: keep keying and think
//! times, check response-time limits, or claim to be a TPC-C result; figures from here are transactions per
//! second, not tpmC.
//!
//! | file | what it holds | clauses |
//! |---|---|---|
//! | `schema.sql` | nine tables, their keys, two more indexes | 1.3, 1.4 |
//! | `procedures.sql` | the five transactions as PL/pgSQL | 2.4 to 2.8 |
//! | `rows` | the initial rows | 4.3.3 |
//! | `terminal` | the inputs | 2.4.1 to 2.8.1 |
//! | `checks` | the consistency conditions | 3.3.2 |
//! | `random` | how numbers and strings are drawn | 2.1.6, 4.3.2 |
//!
//! Departures: no foreign keys; a call comes from any warehouse instead of its terminal's own; Delivery is
//! run at once, not queued; single lines and addresses are read but not sent to the client; the
//! lines of an order are sorted by item.

mod checks;
mod random;
mod rows;
mod terminal;

pub use random::last_name;

use crate::call::{Answers, Calls, ParameterType as Type, Procedure};
use crate::load::{Piece, Table};
use crate::workload::{Check, Workload, client_seed};
use quintet_rt::Rand;
use rows::Rows;
use terminal::Terminal;

/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;

/// How much there is of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: u64,
    /// Items in the catalogue; each warehouse has a stock of each.
    pub items: u64,
    /// Customers of a district, and orders of it at first.
    pub customers: u64,
}

impl Scale {
    /// The specification's: 100,000 items, 3,000 customers in each of ten districts.
    pub fn full(warehouses: u64) -> Scale {
        Scale {
            warehouses,
            items: 100_000,
            customers: 3000,
        }
    }

    /// For tests: the same shape with a hundredth of everything.
    pub fn small(warehouses: u64) -> Scale {
        Scale {
            warehouses,
            items: 1000,
            customers: 30,
        }
    }

    /// The first seven tenths of a district's orders are delivered at first; this is the next.
    fn first_new_order(&self) -> u64 {
        self.customers * 7 / 10 + 1
    }

    /// Last names in use: all of them, unless there are fewer customers.
    fn names(&self) -> u64 {
        random::NAMES.min(self.customers)
    }
}

/// Which transactions come how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// All five in the least shares that the specification allows: 45/43/4/4/4.
    Full,
    /// As the Solar paper says; the same shares.
    Seeds,
    /// NewOrder and Payment, half each: what most papers on concurrency control run.
    NewOrderPayment,
    /// The shares of the report on Quelea: mostly Payment and Delivery.
    Quelea,
}

impl Mix {
    /// All of them.
    pub const ALL: [Mix; 4] = [Mix::Full, Mix::Seeds, Mix::NewOrderPayment, Mix::Quelea];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mix::Full => "full",
            Mix::Seeds => "seeds",
            Mix::NewOrderPayment => "neworder-payment",
            Mix::Quelea => "quelea",
        }
    }

    /// The mix of a name.
    pub fn parse(name: &str) -> Option<Mix> {
        Mix::ALL.into_iter().find(|mix| mix.name() == name)
    }

    /// Per cent of each procedure.
    fn weights(self) -> [u32; 5] {
        match self {
            Mix::Full | Mix::Seeds => [45, 43, 4, 4, 4],
            Mix::NewOrderPayment => [50, 50, 0, 0, 0],
            Mix::Quelea => [5, 45, 5, 40, 5],
        }
    }
}

const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const ORDER_STATUS: usize = 2;
const DELIVERY: usize = 3;
const STOCK_LEVEL: usize = 4;

/// In the order of the constants above.
const PROCEDURES: [Procedure; 5] = [
    Procedure {
        name: "new-order",
        statement: "CALL new_order($1, $2, $3, $4, $5, $6, NULL, NULL, NULL, NULL, NULL, NULL)",
        parameters: &[
            Type::Int,
            Type::Int,
            Type::Int,
            Type::Ints,
            Type::Ints,
            Type::Ints,
        ],
        refusals: &["TPC01"],
        answers: Answers::Nothing,
    },
    Procedure {
        name: "payment",
        statement: "CALL payment($1, $2, $3, $4, $5, $6, $7, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        parameters: &[
            Type::Int,
            Type::Int,
            Type::Int,
            Type::Int,
            Type::Int,
            Type::Text,
            Type::Cents,
        ],
        refusals: &[],
        answers: Answers::Nothing,
    },
    Procedure {
        name: "order-status",
        statement: "SELECT * FROM order_status($1, $2, $3, $4)",
        parameters: &[Type::Int, Type::Int, Type::Int, Type::Text],
        refusals: &[],
        answers: Answers::Nothing,
    },
    Procedure {
        name: "delivery",
        statement: "CALL delivery($1, $2, NULL)",
        parameters: &[Type::Int, Type::Int],
        refusals: &[],
        answers: Answers::Nothing,
    },
    Procedure {
        name: "stock-level",
        statement: "SELECT stock_level($1, $2, $3)",
        parameters: &[Type::Int, Type::Int, Type::Int],
        refusals: &[],
        answers: Answers::Nothing,
    },
];

const TABLES: [Table; 9] = [
    Table {
        name: "item",
        columns: "i_id, i_im_id, i_name, i_price, i_data",
    },
    Table {
        name: "warehouse",
        columns: "w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd",
    },
    Table {
        name: "district",
        columns: "d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, \
                  d_next_o_id",
    },
    Table {
        name: "stock",
        columns: "s_w_id, s_i_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, \
                  s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, \
                  s_remote_cnt, s_data",
    },
    Table {
        name: "customer",
        columns: "c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
                  c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, \
                  c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data",
    },
    Table {
        name: "history",
        columns: "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data",
    },
    Table {
        name: "orders",
        columns: "o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local",
    },
    Table {
        name: "new_order",
        columns: "no_w_id, no_d_id, no_o_id",
    },
    Table {
        name: "order_line",
        columns: "ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
                  ol_quantity, ol_amount, ol_dist_info",
    },
];

/// TPC-C at one scale.
#[derive(Clone, Copy, Debug)]
pub struct Tpcc {
    scale: Scale,
    mix: Mix,
    rows: Rows,
}

impl Tpcc {
    /// `seed` decides the initial rows.
    ///
    /// # Panics
    /// If there is nothing of something, or more than an `int` can number.
    pub fn new(scale: Scale, mix: Mix, seed: u64) -> Tpcc {
        assert!(scale.warehouses > 0, "no warehouse");
        assert!(scale.items >= 10, "too few items to order from");
        assert!(scale.customers >= 10, "too few customers for old orders");
        assert!(
            scale.warehouses < 100_000 && scale.items < 1_000_000_000,
            "keys are int"
        );
        Tpcc {
            scale,
            mix,
            rows: Rows { scale, seed },
        }
    }
}

impl Workload for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn mix(&self) -> &'static str {
        self.mix.name()
    }

    fn size(&self) -> String {
        let Scale {
            warehouses,
            items,
            customers,
        } = self.scale;
        format!("{warehouses} warehouses, {items} items, {customers} customers a district")
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
        self.rows.pieces()
    }

    fn piece(&self, number: u32) -> Piece {
        self.rows.piece(number)
    }

    fn checks(&self) -> Vec<Check> {
        checks::checks(&self.scale)
    }

    fn calls(&self, client: u32, seed: u64) -> Box<dyn Calls> {
        Box::new(Terminal {
            scale: self.scale,
            mix: self.mix,
            home: 1 + u64::from(client) % self.scale.warehouses,
            rand: Rand::seeded(client_seed(client, seed)),
        })
    }
}
