//! TPC-C's consistency conditions (specification 5.11, clause 3.3.2) as queries that give no rows.
//!
//! Relies on: `schema.sql`.  Promises: a row per violation, which names the place.  Does not:
//! join: what is compared are sums over the union of both sides, one with the sign turned, so that
//! a place missing on either side shows, and one pass over each table is enough.
//!
//! Condition 11 is stated by the specification for a database just loaded; here as such, and in a form
//! that holds always: what is neither new nor without a carrier.

use super::{DISTRICTS, Scale};
use crate::workload::{Check, Expected};

pub(super) fn checks(scale: &Scale) -> Vec<Check> {
    let always = |name, sql: &str| Check {
        name,
        sql: sql.to_string(),
        expected: Expected::NoRows,
    };
    let loaded = |name, sql: String| Check {
        name,
        sql,
        expected: Expected::NoRowsWhenLoaded,
    };
    // Their groups are orders and customers: a warehouse at a time bounds what a database must hold.
    let of_each = |name, sql: &str| {
        let of = |warehouse: u64| {
            let columns = ["c_w_id", "h_c_w_id", "o_w_id", "ol_w_id"];
            let text = columns.iter().fold(sql.to_string(), |text, column| {
                text.replace(&format!("{{{column}}}"), &format!("{column} = {warehouse}"))
            });
            always(name, &text)
        };
        (1..=scale.warehouses).map(of).collect::<Vec<_>>()
    };
    let delivered = scale.first_new_order() - 1;
    let mut checks = vec![
        always("1: w_ytd = sum(d_ytd)", CONDITION_1),
        always("2: d_next_o_id - 1 = max(o_id)", CONDITION_2_ORDERS),
        always(
            "2: d_next_o_id - 1 = max(no_o_id), if any",
            CONDITION_2_NEW_ORDERS,
        ),
        always("3: new orders have no gaps", CONDITION_3),
        always("4: sum(o_ol_cnt) = order lines of a district", CONDITION_4),
        always("5: no carrier exactly if new", CONDITION_5),
        always("7: lines delivered exactly if the order is", CONDITION_7),
        always("8: w_ytd = sum(h_amount)", CONDITION_8),
        always("9: d_ytd = sum(h_amount)", CONDITION_9),
        always("11: orders - new orders = delivered orders", CONDITION_11),
        loaded(
            "11: orders - new orders, as loaded",
            CONDITION_11_LOADED.replace("{delivered}", &delivered.to_string()),
        ),
        loaded(
            "rows as loaded",
            ROWS_LOADED
                .replace("{items}", &scale.items.to_string())
                .replace("{warehouses}", &scale.warehouses.to_string())
                .replace("{districts}", &DISTRICTS.to_string())
                .replace("{customers}", &scale.customers.to_string()),
        ),
    ];
    checks.extend(of_each(
        "6: o_ol_cnt = order lines of an order",
        CONDITION_6,
    ));
    checks.extend(of_each("10: c_balance = delivered - paid", CONDITION_10));
    checks.extend(of_each(
        "12: c_balance + c_ytd_payment = delivered lines",
        CONDITION_12,
    ));
    checks
}

const CONDITION_1: &str = "
SELECT w_id, sum(ytd) AS apart
FROM (SELECT w_id, w_ytd AS ytd FROM warehouse
      UNION ALL SELECT d_w_id, -d_ytd FROM district) AS t
GROUP BY w_id
HAVING sum(ytd) <> 0";

const CONDITION_2_ORDERS: &str = "
SELECT w_id, d_id, max(next) AS next_o_id, max(o_id) AS last_o_id
FROM (SELECT d_w_id AS w_id, d_id, d_next_o_id AS next, NULL::int AS o_id FROM district
      UNION ALL SELECT o_w_id, o_d_id, NULL::int, o_id FROM orders) AS t
GROUP BY w_id, d_id
HAVING max(next) - 1 <> max(o_id) OR max(next) IS NULL OR max(o_id) IS NULL";

const CONDITION_2_NEW_ORDERS: &str = "
SELECT w_id, d_id, max(next) AS next_o_id, max(o_id) AS last_o_id
FROM (SELECT d_w_id AS w_id, d_id, d_next_o_id AS next, NULL::int AS o_id FROM district
      UNION ALL SELECT no_w_id, no_d_id, NULL::int, no_o_id FROM new_order) AS t
GROUP BY w_id, d_id
HAVING max(next) - 1 <> max(o_id) OR max(next) IS NULL";

const CONDITION_3: &str = "
SELECT no_w_id, no_d_id, min(no_o_id) AS first, max(no_o_id) AS last, count(*) AS rows
FROM new_order
GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)";

const CONDITION_4: &str = "
SELECT w_id, d_id, sum(lines) AS apart
FROM (SELECT o_w_id AS w_id, o_d_id AS d_id, o_ol_cnt AS lines FROM orders
      UNION ALL SELECT ol_w_id, ol_d_id, -1 FROM order_line) AS t
GROUP BY w_id, d_id
HAVING sum(lines) <> 0";

const CONDITION_5: &str = "
SELECT w_id, d_id, o_id, sum(new) AS apart
FROM (SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, 1 AS new FROM orders WHERE o_carrier_id IS NULL
      UNION ALL SELECT no_w_id, no_d_id, no_o_id, -1 FROM new_order) AS t
GROUP BY w_id, d_id, o_id
HAVING sum(new) <> 0";

const CONDITION_6: &str = "
SELECT w_id, d_id, o_id, sum(lines) AS apart
FROM (SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, o_ol_cnt AS lines FROM orders
      WHERE {o_w_id}
      UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, -1 FROM order_line WHERE {ol_w_id}) AS t
GROUP BY w_id, d_id, o_id
HAVING sum(lines) <> 0";

const CONDITION_7: &str = "
SELECT w_id, d_id, o_id, sum(lines) AS apart
FROM (SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, o_ol_cnt AS lines FROM orders
      WHERE o_carrier_id IS NULL
      UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, -1 FROM order_line WHERE ol_delivery_d IS NULL) AS t
GROUP BY w_id, d_id, o_id
HAVING sum(lines) <> 0";

const CONDITION_8: &str = "
SELECT w_id, sum(ytd) AS apart
FROM (SELECT w_id, w_ytd AS ytd FROM warehouse
      UNION ALL SELECT h_w_id, -h_amount FROM history) AS t
GROUP BY w_id
HAVING sum(ytd) <> 0";

const CONDITION_9: &str = "
SELECT w_id, d_id, sum(ytd) AS apart
FROM (SELECT d_w_id AS w_id, d_id, d_ytd AS ytd FROM district
      UNION ALL SELECT h_w_id, h_d_id, -h_amount FROM history) AS t
GROUP BY w_id, d_id
HAVING sum(ytd) <> 0";

// A delivered line belongs to its order's customer, which the line does not name: the lines of an
// order are summed up first and then meet the order.
const CONDITION_10: &str = "
SELECT w_id, d_id, c_id, sum(amount) AS apart
FROM (SELECT c_w_id AS w_id, c_d_id AS d_id, c_id, c_balance AS amount FROM customer
      WHERE {c_w_id}
      UNION ALL
      SELECT h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history
      WHERE {h_c_w_id}
      UNION ALL
      SELECT w_id, d_id, max(c_id), -sum(amount)
      FROM (SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, o_c_id AS c_id, 0.00 AS amount FROM orders
            WHERE {o_w_id}
            UNION ALL
            SELECT ol_w_id, ol_d_id, ol_o_id, NULL::int, ol_amount FROM order_line
            WHERE {ol_w_id} AND ol_delivery_d IS NOT NULL) AS lines
      GROUP BY w_id, d_id, o_id) AS t
GROUP BY w_id, d_id, c_id
HAVING sum(amount) <> 0";

const CONDITION_11: &str = "
SELECT w_id, d_id, sum(n) AS apart
FROM (SELECT o_w_id AS w_id, o_d_id AS d_id, 1 AS n FROM orders
      UNION ALL SELECT no_w_id, no_d_id, -1 FROM new_order
      UNION ALL SELECT o_w_id, o_d_id, -1 FROM orders WHERE o_carrier_id IS NOT NULL) AS t
GROUP BY w_id, d_id
HAVING sum(n) <> 0";

const CONDITION_11_LOADED: &str = "
SELECT w_id, d_id, sum(n) AS delivered
FROM (SELECT o_w_id AS w_id, o_d_id AS d_id, 1 AS n FROM orders
      UNION ALL SELECT no_w_id, no_d_id, -1 FROM new_order) AS t
GROUP BY w_id, d_id
HAVING sum(n) <> {delivered}";

const CONDITION_12: &str = "
SELECT w_id, d_id, c_id, sum(amount) AS apart
FROM (SELECT c_w_id AS w_id, c_d_id AS d_id, c_id, c_balance + c_ytd_payment AS amount FROM customer
      WHERE {c_w_id}
      UNION ALL
      SELECT w_id, d_id, max(c_id), -sum(amount)
      FROM (SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, o_c_id AS c_id, 0.00 AS amount FROM orders
            WHERE {o_w_id}
            UNION ALL
            SELECT ol_w_id, ol_d_id, ol_o_id, NULL::int, ol_amount FROM order_line
            WHERE {ol_w_id} AND ol_delivery_d IS NOT NULL) AS lines
      GROUP BY w_id, d_id, o_id) AS t
GROUP BY w_id, d_id, c_id
HAVING sum(amount) <> 0";

const ROWS_LOADED: &str = "
SELECT name, sum(n) AS apart
FROM (SELECT 'item' AS name, count(*) - {items} AS n FROM item
      UNION ALL SELECT 'warehouse', count(*) - {warehouses} FROM warehouse
      UNION ALL SELECT 'district', count(*) - {warehouses} * {districts} FROM district
      UNION ALL SELECT 'stock', count(*) - {warehouses} * {items} FROM stock
      UNION ALL SELECT 'customer', count(*) - {warehouses} * {districts} * {customers} FROM customer
      UNION ALL SELECT 'orders', count(*) - {warehouses} * {districts} * {customers} FROM orders
      UNION ALL SELECT 'history', count(*) - {warehouses} * {districts} * {customers} FROM history) AS t
GROUP BY name
HAVING sum(n) <> 0";
