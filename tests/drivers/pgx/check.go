package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// conditions are TPC-C's (clause 3.3.2), each a query whose only value counts what is wrong, for one warehouse, in the words of clients that check
// with joins: derived tables, subqueries that are correlated, LEFT JOIN, MAX and MIN of groups. quintet bench asks the same in other words.
var conditions = []struct{ name, sql string }{
	{"1: w_ytd = sum(d_ytd)", `
SELECT COUNT(*) FROM warehouse w WHERE w.w_id = $1 AND w.w_ytd <> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w.w_id)`},
	{"2: d_next_o_id - 1 = max(o_id) = max(no_o_id)", `
SELECT COUNT(*) FROM district d
LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last_new FROM new_order GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id
WHERE d_w_id = $1 AND (last_order IS NULL OR POWER(d_next_o_id - 1 - last_order, 2) + POWER(d_next_o_id - 1 - COALESCE(last_new, last_order), 2) <> 0)`},
	{"3: new orders have no gaps", `
SELECT COUNT(*) FROM (SELECT COUNT(*) AS number, MAX(no_o_id) - MIN(no_o_id) + 1 AS width FROM new_order WHERE no_w_id = $1 GROUP BY no_d_id) t
WHERE number <> width`},
	{"4: sum(o_ol_cnt) = lines of a district", `
SELECT COUNT(*) FROM (SELECT o_d_id, SUM(o_ol_cnt) AS expected FROM orders WHERE o_w_id = $1 GROUP BY o_d_id) o
WHERE expected <> (SELECT COUNT(*) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = o.o_d_id)`},
	{"5: no carrier exactly if new", `
SELECT COUNT(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_w_id = $1 AND ((o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL))`},
	{"5: every new order is an order", `
SELECT COUNT(*) FROM new_order LEFT JOIN orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id WHERE no_w_id = $1 AND o_id IS NULL`},
	{"6: o_ol_cnt = lines of an order", `
SELECT COUNT(*) FROM orders o
LEFT JOIN (SELECT ol_d_id, ol_o_id, COUNT(*) AS number FROM order_line WHERE ol_w_id = $1 GROUP BY ol_d_id, ol_o_id) l ON ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_w_id = $1 AND (number IS NULL OR number <> o_ol_cnt)`},
	{"7: lines delivered exactly if the order is", `
SELECT COUNT(*) FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_w_id = $1 AND (o_carrier_id IS NULL) <> (ol_delivery_d IS NULL)`},
	{"8: w_ytd = sum(h_amount)", `
SELECT COUNT(*) FROM warehouse w WHERE w_id = $1 AND w_ytd <> (SELECT SUM(h_amount) FROM history WHERE h_w_id = w.w_id)`},
	{"9: d_ytd = sum(h_amount)", `
SELECT COUNT(*) FROM district d
LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_w_id = $1 AND (paid IS NULL OR paid <> d_ytd)`},
	{"10: c_balance = delivered - paid", `
SELECT COUNT(*) FROM (
    SELECT c_balance,
        (SELECT COALESCE(SUM(ol_amount), 0) FROM orders, order_line WHERE o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
            AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND ol_delivery_d IS NOT NULL) AS delivered,
        (SELECT SUM(h_amount) FROM history WHERE h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id) AS paid
    FROM customer WHERE c_w_id = $1) t
WHERE c_balance <> delivered - paid`},
	{"11: orders - new orders = delivered orders", `
SELECT COUNT(*) FROM district d
WHERE d_w_id = $1 AND (SELECT COUNT(*) FROM orders WHERE o_w_id = $1 AND o_d_id = d.d_id) - (SELECT COUNT(*) FROM new_order WHERE no_w_id = $1 AND no_d_id = d.d_id)
    <> (SELECT COUNT(*) FROM orders WHERE o_w_id = $1 AND o_d_id = d.d_id AND o_carrier_id IS NOT NULL)`},
	{"12: c_balance + c_ytd_payment = delivered lines", `
SELECT COUNT(*) FROM customer c
LEFT JOIN (
    SELECT o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders, order_line
    WHERE o_w_id = $1 AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND ol_delivery_d IS NOT NULL GROUP BY o_d_id, o_c_id
) o ON o_d_id = c_d_id AND o_c_id = c_id
WHERE c_w_id = $1 AND c_balance + c_ytd_payment <> COALESCE(delivered, 0)`},
}

// consistent asks every condition of every warehouse.
func consistent(ctx context.Context, connection *pgx.Conn, s scale) error {
	for w := 1; w <= s.warehouses; w++ {
		for _, condition := range conditions {
			var wrong int64
			if err := connection.QueryRow(ctx, condition.sql, w).Scan(&wrong); err != nil {
				return fmt.Errorf("condition %s: %w", condition.name, err)
			}
			if wrong != 0 {
				return fmt.Errorf("condition %s fails in %d places of warehouse %d", condition.name, wrong, w)
			}
		}
	}
	return nil
}
