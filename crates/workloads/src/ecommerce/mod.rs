//! E-commerce: users of a shop look at items, put them into carts and among favourites, and buy.
//!
//! Relies on: `call`, `load`, `workload`, `keys`.  Promises: the four transactions that the Solar paper names
//! (§7), two of which touch tables that go by user *and* tables that go by item, so that no
//! partitioning keeps them local.  Does not: repeat the bank's application, of which the text at hand gives
//! the names and the small latencies: tables, columns and shares are ours, chosen read-mostly as it
//! describes.

use crate::call::{Answers, Argument, Call, Calls, Ending, ParameterType as Type, Procedure};
use crate::keys::Keys;
use crate::load::{Lines, Piece, Table};
use crate::workload::{Check, Expected, Workload, client_seed, drawn};
use quintet_rt::Rand;

/// Rows of a piece.
const ROWS: u64 = 20_000;

/// Items of one seller.
const ITEMS_PER_SELLER: u64 = 100;

/// What is there of each item at first.
const STOCK: u64 = 10_000;

const ON_CLICK: usize = 0;
const ADD_CART: usize = 1;
const ADD_FAVORITE: usize = 2;
const PURCHASE: usize = 3;

/// Per cent, in the order of the procedures.
const MIX: [u32; 4] = [88, 1, 5, 6];

/// Two who add the same at once may both find nothing there.
const DUPLICATE: &str = "23505";

const PROCEDURES: [Procedure; 4] = [
    Procedure {
        name: "on-click",
        statement: "SELECT * FROM on_click($1)",
        parameters: &[Type::Int],
        refusals: &[],
        answers: Answers::Nothing,
    },
    Procedure {
        name: "add-cart",
        statement: "CALL add_cart($1, $2, $3)",
        parameters: &[Type::Int, Type::Int, Type::Int],
        refusals: &[DUPLICATE],
        answers: Answers::Nothing,
    },
    Procedure {
        name: "add-favorite",
        statement: "CALL add_favorite($1, $2)",
        parameters: &[Type::Int, Type::Int],
        refusals: &[DUPLICATE],
        answers: Answers::Nothing,
    },
    Procedure {
        name: "purchase",
        statement: "CALL purchase_item($1, $2, $3, NULL)",
        parameters: &[Type::Int, Type::Int, Type::Int],
        refusals: &["EC001"],
        answers: Answers::Count,
    },
];

const TABLES: [Table; 7] = [
    Table {
        name: "shop_user",
        columns: "u_id, u_name, u_purchases",
    },
    Table {
        name: "shop_seller",
        columns: "s_id, s_name",
    },
    Table {
        name: "shop_item",
        columns: "i_id, i_seller_id, i_name, i_price, i_popularity",
    },
    Table {
        name: "shop_stock",
        columns: "st_item_id, st_quantity, st_sold",
    },
    Table {
        name: "shop_cart",
        columns: "c_user_id, c_item_id, c_quantity",
    },
    Table {
        name: "shop_favorite",
        columns: "f_user_id, f_item_id",
    },
    Table {
        name: "shop_purchase",
        columns: "p_user_id, p_number, p_item_id, p_quantity, p_price",
    },
];

/// A shop.
#[derive(Clone, Debug)]
pub struct Ecommerce {
    users: u64,
    items: Keys,
    theta: f64,
}

impl Ecommerce {
    /// `theta` is the Zipf exponent by which items are chosen; users come all alike.
    ///
    /// # Panics
    /// Without users or items, or with an exponent that is not in 0 to below 1.
    pub fn new(users: u64, items: u64, theta: f64) -> Ecommerce {
        assert!(users > 0 && items > 0, "a shop needs users and items");
        assert!(users < 1 << 31 && items < 1 << 31, "keys are int");
        Ecommerce {
            users,
            items: Keys::zipf(items, theta),
            theta,
        }
    }

    fn sellers(&self) -> u64 {
        self.items.count().div_ceil(ITEMS_PER_SELLER)
    }

    /// Rows of the tables that have any at first, in order.
    fn filled(&self) -> [u64; 4] {
        let items = self.items.count();
        [self.users, self.sellers(), items, items]
    }
}

impl Workload for Ecommerce {
    fn name(&self) -> &'static str {
        "ecommerce"
    }

    fn mix(&self) -> &'static str {
        "88/1/5/6"
    }

    fn size(&self) -> String {
        let (users, items, theta) = (self.users, self.items.count(), self.theta);
        format!("{users} users, {items} items, theta {theta}")
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
        let pieces = self.filled().map(|rows| rows.div_ceil(ROWS));
        pieces.iter().sum::<u64>() as u32
    }

    fn piece(&self, number: u32) -> Piece {
        let mut left = u64::from(number);
        for (table, rows) in self.filled().into_iter().enumerate() {
            let pieces = rows.div_ceil(ROWS);
            if left >= pieces {
                left -= pieces;
                continue;
            }
            let mut lines = Lines::default();
            let first = left * ROWS;
            for row in first..rows.min(first + ROWS) {
                write_row(table, row, &mut lines);
            }
            return lines.into_piece(TABLES[table]);
        }
        panic!("there are {} pieces, not {number}", self.pieces());
    }

    fn checks(&self) -> Vec<Check> {
        let no_rows = |name, sql: &str| Check {
            name,
            sql: sql.to_string(),
            expected: Expected::NoRows,
        };
        vec![
            Check {
                name: "what is sold is what was bought",
                sql: "SELECT sum(st_sold)::bigint FROM shop_stock".to_string(),
                expected: Expected::GrowsByCounted,
            },
            no_rows(
                "sold = purchases, item by item",
                "SELECT item, sum(n)
                 FROM (SELECT st_item_id AS item, st_sold AS n FROM shop_stock
                       UNION ALL SELECT p_item_id, -p_quantity FROM shop_purchase) AS t
                 GROUP BY item HAVING sum(n) <> 0",
            ),
            no_rows(
                "what is not sold is there",
                &format!(
                    "SELECT st_item_id FROM shop_stock
                     WHERE st_quantity + st_sold <> {STOCK} OR st_quantity < 0"
                ),
            ),
            no_rows(
                "purchases are numbered without gaps, user by user",
                "SELECT id, sum(n), max(number)
                 FROM (SELECT u_id AS id, u_purchases AS n, 0 AS number FROM shop_user
                       UNION ALL SELECT p_user_id, -1, p_number FROM shop_purchase) AS t
                 GROUP BY id HAVING sum(n) <> 0 OR count(*) - 1 <> max(number)",
            ),
            no_rows(
                "popularity = favourites, item by item",
                "SELECT item, sum(n)
                 FROM (SELECT i_id AS item, i_popularity AS n FROM shop_item
                       UNION ALL SELECT f_item_id, -1 FROM shop_favorite) AS t
                 GROUP BY item HAVING sum(n) <> 0",
            ),
        ]
    }

    fn calls(&self, client: u32, seed: u64) -> Box<dyn Calls> {
        Box::new(Visits {
            users: self.users,
            items: self.items.clone(),
            rand: Rand::seeded(client_seed(client, seed)),
        })
    }
}

fn write_row(table: usize, row: u64, lines: &mut Lines) {
    let number = row as i64;
    lines.number(number);
    match table {
        0 => {
            lines.text(&format!("user {row}"));
            lines.number(0);
        }
        1 => lines.text(&format!("seller {row}")),
        2 => {
            lines.number(number / ITEMS_PER_SELLER as i64);
            lines.text(&format!("item {row}"));
            lines.cents(100 + number * 37 % 50_000);
            lines.number(0);
        }
        _ => {
            lines.number(STOCK as i64);
            lines.number(0);
        }
    }
    lines.end_row();
}

/// The stream of one client.
struct Visits {
    users: u64,
    items: Keys,
    rand: Rand,
}

impl Calls for Visits {
    fn next_call(&mut self) -> Call {
        let procedure = drawn(&MIX, &mut self.rand);
        let int = |number: u64| Argument::Int(Some(number as i32));
        let user = int(self.rand.below(self.users));
        let item = int(self.items.next(&mut self.rand));
        let quantity = int(1 + self.rand.below(3));
        let (arguments, ending) = match procedure {
            ON_CLICK => (vec![item], Ending::Commit),
            ADD_CART => (vec![user, item, quantity], Ending::Either),
            ADD_FAVORITE => (vec![user, item], Ending::Either),
            PURCHASE => (vec![user, item, quantity], Ending::Either),
            _ => unreachable!("four weights"),
        };
        Call {
            procedure,
            arguments,
            ending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_in_the_mix_and_name_what_is_there() {
        let shop = Ecommerce::new(30, 70, 0.8);
        let mut calls = shop.calls(0, 1);
        let mut seen = [0u32; 4];
        for _ in 0..100_000 {
            let call = calls.next_call();
            seen[call.procedure] += 1;
            let types = call.arguments.iter().map(Argument::parameter_type);
            let types: Vec<_> = types.collect();
            assert_eq!(types, PROCEDURES[call.procedure].parameters);
            let bounds: &[i32] = match call.procedure {
                ON_CLICK => &[70],
                ADD_FAVORITE => &[30, 70],
                _ => &[30, 70, 4],
            };
            for (argument, bound) in call.arguments.iter().zip(bounds) {
                let Argument::Int(Some(number)) = argument else {
                    panic!("{argument:?}")
                };
                assert!((0..*bound).contains(number));
            }
        }
        for (seen, share) in seen.iter().zip(MIX) {
            assert!(seen.abs_diff(share * 1000) < 600, "{seen} for {share} %");
        }
    }

    #[test]
    fn the_shop_is_filled() {
        let shop = Ecommerce::new(ROWS + 5, 250, 0.0);
        let rows: Vec<(&str, u64)> = (0..shop.pieces())
            .map(|number| shop.piece(number))
            .map(|piece| (piece.table.name, piece.rows))
            .collect();
        let expected = [
            ("shop_user", ROWS),
            ("shop_user", 5),
            ("shop_seller", 3),
            ("shop_item", 250),
            ("shop_stock", 250),
        ];
        assert_eq!(rows, expected);
    }
}
