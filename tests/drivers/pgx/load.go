package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Tables as a Go benchmark makes them: CREATE TABLE IF NOT EXISTS with keys, no foreign keys, an index each for customers' names and orders.
const schema = `
CREATE TABLE IF NOT EXISTS warehouse (w_id INT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20),
    w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4, 4), w_ytd DECIMAL(12, 2), PRIMARY KEY (w_id));
CREATE TABLE IF NOT EXISTS district (d_id INT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20),
    d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4, 4), d_ytd DECIMAL(12, 2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE IF NOT EXISTS customer (c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2),
    c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16),
    c_since TIMESTAMP, c_credit CHAR(2), c_credit_lim DECIMAL(12, 2), c_discount DECIMAL(4, 4), c_balance DECIMAL(12, 2),
    c_ytd_payment DECIMAL(12, 2), c_payment_cnt INT, c_delivery_cnt INT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE INDEX IF NOT EXISTS customer_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE TABLE IF NOT EXISTS history (h_c_id INT NOT NULL, h_c_d_id INT NOT NULL, h_c_w_id INT NOT NULL, h_d_id INT NOT NULL, h_w_id INT NOT NULL,
    h_date TIMESTAMP, h_amount DECIMAL(6, 2), h_data VARCHAR(24));
CREATE TABLE IF NOT EXISTS new_order (no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE IF NOT EXISTS orders (o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT, o_entry_d TIMESTAMP, o_carrier_id INT,
    o_ol_cnt INT, o_all_local INT, PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE INDEX IF NOT EXISTS orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
CREATE TABLE IF NOT EXISTS order_line (ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, ol_number INT NOT NULL, ol_i_id INT NOT NULL,
    ol_supply_w_id INT, ol_delivery_d TIMESTAMP, ol_quantity INT, ol_amount DECIMAL(6, 2), ol_dist_info CHAR(24),
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE IF NOT EXISTS stock (s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT, s_dist_01 CHAR(24), s_dist_02 CHAR(24),
    s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24),
    s_dist_10 CHAR(24), s_ytd INT, s_order_cnt INT, s_remote_cnt INT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE IF NOT EXISTS item (i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5, 2), i_data VARCHAR(50), PRIMARY KEY (i_id))`

const tables = "warehouse, district, customer, history, new_order, orders, order_line, stock, item"

// bulk gathers rows of literals and sends them as one INSERT without parameters, so as a simple Query.
type bulk struct {
	connection *pgx.Conn
	begin      string
	rows       []string
}

const bulkRows = 500

// row takes the text between the parentheses.
func (b *bulk) row(ctx context.Context, format string, values ...any) error {
	b.rows = append(b.rows, "("+fmt.Sprintf(format, values...)+")")
	if len(b.rows) < bulkRows {
		return nil
	}
	return b.send(ctx)
}

func (b *bulk) send(ctx context.Context) error {
	if len(b.rows) == 0 {
		return nil
	}
	tag, err := b.connection.Exec(ctx, b.begin+strings.Join(b.rows, ", "))
	if err != nil {
		return fmt.Errorf("%s: %w", b.begin, err)
	}
	if tag.RowsAffected() != int64(len(b.rows)) {
		return fmt.Errorf("%s: %s for %d rows", b.begin, tag, len(b.rows))
	}
	b.rows = b.rows[:0]
	return nil
}

const loadedAt = "2026-01-01 00:00:00"

// load makes the tables, twice, and fills them (clause 4.3.3). The quantity in stock follows from the row's key, so that the check can tell a lost update:
// tpcc.py knows the formula, too.
func load(ctx context.Context, connection *pgx.Conn, s scale, seed int64) error {
	if _, err := connection.Exec(ctx, "DROP TABLE IF EXISTS "+tables); err != nil {
		return err
	}
	for range [2]int{} {
		for _, statement := range strings.Split(schema, ";") {
			if _, err := connection.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
	}
	d := newDraw(s, seed)
	var failed error
	// into inserts the rows that fill makes; the first error is kept, and nothing is done after it.
	into := func(table string, fill func(row func(format string, values ...any))) {
		b := bulk{connection: connection, begin: "INSERT INTO " + table + " VALUES "}
		row := func(format string, values ...any) {
			if failed == nil {
				failed = b.row(ctx, format, values...)
			}
		}
		fill(row)
		if failed == nil {
			failed = b.send(ctx)
		}
	}
	address := func() string {
		return fmt.Sprintf("'%s', '%s', '%s', '%s', '%s11111'", d.letters(10, 20), d.letters(10, 20), d.letters(10, 20), d.letters(2, 2), d.digits(4))
	}
	rate := func(most int) float64 { return float64(d.number(0, most)) / 10000 }
	into("item (i_id, i_im_id, i_name, i_price, i_data)", func(row func(string, ...any)) {
		for i := 1; i <= s.items; i++ {
			row("%d, %d, '%s', %.2f, '%s'", i, d.number(1, 10000), d.letters(14, 24), float64(d.number(100, 10000))/100, d.data())
		}
	})
	into("warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd)", func(row func(string, ...any)) {
		for w := 1; w <= s.warehouses; w++ {
			row("%d, '%s', %s, %.4f, %d", w, d.letters(6, 10), address(), rate(2000), 10*districts*s.customers)
		}
	})
	for w := 1; w <= s.warehouses; w++ {
		into("stock", func(row func(string, ...any)) {
			for i := 1; i <= s.items; i++ {
				var texts strings.Builder
				for n := 0; n < districts; n++ {
					fmt.Fprintf(&texts, "'%s', ", d.letters(24, 24))
				}
				row("%d, %d, %d, %s0, 0, 0, '%s'", i, w, 10+(i*7+w)%91, texts.String(), d.data())
			}
		})
		into("district (d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id)", func(row func(string, ...any)) {
			for n := 1; n <= districts; n++ {
				row("%d, %d, '%s', %s, %.4f, %d, %d", n, w, d.letters(6, 10), address(), rate(2000), 10*s.customers, s.customers+1)
			}
		})
		for n := 1; n <= districts; n++ {
			into("customer", func(row func(string, ...any)) {
				for c := 1; c <= s.customers; c++ {
					name, credit := d.lastName(), "GC"
					if c <= 1000 {
						name = lastName(c - 1)
					}
					if d.percent(10) {
						credit = "BC"
					}
					row("%d, %d, %d, '%s', 'OE', '%s', %s, '%s', '%s', '%s', 50000.00, %.4f, -10.00, 10.00, 1, 0, '%s'",
						c, n, w, d.letters(8, 16), name, address(), d.digits(16), loadedAt, credit, rate(5000), d.letters(300, 500))
				}
			})
			into("history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)", func(row func(string, ...any)) {
				for c := 1; c <= s.customers; c++ {
					row("%d, %d, %d, %d, %d, '%s', 10.00, '%s'", c, n, w, n, w, loadedAt, d.letters(12, 24))
				}
			})
			lines := make([]int, s.customers+1)
			customers := d.Perm(s.customers)
			into("orders", func(row func(string, ...any)) {
				for o := 1; o <= s.customers; o++ {
					lines[o] = d.number(5, 15)
					carrier := "NULL"
					if o < s.firstNewOrder() {
						carrier = fmt.Sprint(d.number(1, 10))
					}
					row("%d, %d, %d, %d, '%s', %s, %d, 1", o, n, w, customers[o-1]+1, loadedAt, carrier, lines[o])
				}
			})
			into("new_order (no_o_id, no_d_id, no_w_id)", func(row func(string, ...any)) {
				for o := s.firstNewOrder(); o <= s.customers; o++ {
					row("%d, %d, %d", o, n, w)
				}
			})
			into("order_line", func(row func(string, ...any)) {
				for o := 1; o <= s.customers; o++ {
					delivered, amount := "'"+loadedAt+"'", 0
					if o >= s.firstNewOrder() {
						delivered, amount = "NULL", 1
					}
					for line := 1; line <= lines[o]; line++ {
						row("%d, %d, %d, %d, %d, %d, %s, 5, %.2f, '%s'", o, n, w, line, d.number(1, s.items), w, delivered,
							float64(amount*d.number(1, 999999))/100, d.letters(24, 24))
					}
				}
			})
		}
	}
	return failed
}
