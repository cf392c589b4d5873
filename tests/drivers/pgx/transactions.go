package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// done is what one transaction did, for the count at the end.
type done struct {
	lines, delivered int64
	paidCents        int64
}

// errNoSuchItem: an order of an item that is not there is rolled back, on purpose.
var errNoSuchItem = errors.New("no such item")

// work runs with inputs that were drawn before, and stay when it is run again.
type work func(ctx context.Context, tx pgx.Tx) (done, error)

// list makes a list of `count` rows of parameters for IN: (($1,$2),($3,$4)).
func list(count, width int) string {
	var text strings.Builder
	for n := 0; n < count*width; n++ {
		switch {
		case n == 0 && width == 1:
			text.WriteString("(")
		case n == 0:
			text.WriteString("((")
		case n%width == 0 && width > 1:
			text.WriteString("),(")
		default:
			text.WriteString(",")
		}
		fmt.Fprintf(&text, "$%d", n+1)
	}
	if width > 1 {
		text.WriteString(")")
	}
	return text.String() + ")"
}

// change runs a statement that must change so many rows.
func change(ctx context.Context, tx pgx.Tx, rows int64, sql string, values ...any) error {
	tag, err := tx.Exec(ctx, sql, values...)
	if err == nil && tag.RowsAffected() != rows {
		err = fmt.Errorf("%s of %v: %s, expected %d rows", sql, values, tag, rows)
	}
	return wrap(err, sql)
}

// wrap says which statement failed.
func wrap(err error, sql string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", sql, err)
}

// one reads the one row that must be there.
func one(ctx context.Context, tx pgx.Tx, sql string, values []any, into ...any) error {
	return wrap(tx.QueryRow(ctx, sql, values...).Scan(into...), sql)
}

type line struct {
	item, supplier, quantity int
	price                    float64
	stock, remote            int
	info                     string
}

func newOrder(d draw, w int) work {
	n, c := d.number(1, districts), d.customer()
	var drawn []line
	known := map[int]bool{}
	for left := d.number(5, 15); len(drawn) < left; {
		one := line{item: d.item(), supplier: w, quantity: d.number(1, 10)}
		if known[one.item] {
			continue
		}
		known[one.item] = true
		if d.scale.warehouses > 1 && d.percent(1) {
			one.supplier, one.remote = d.otherWarehouse(w), 1
		}
		drawn = append(drawn, one)
	}
	if d.percent(1) {
		drawn[len(drawn)-1] = line{item: d.scale.items + 1, supplier: w, quantity: 1}
	}
	return func(ctx context.Context, tx pgx.Tx) (done, error) {
		lines := append([]line(nil), drawn...)
		var discount, warehouseTax, districtTax float64
		var last, credit string
		if err := one(ctx, tx, "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = $1 AND c_w_id = w_id AND c_d_id = $2 AND c_id = $3",
			[]any{w, n, c}, &discount, &last, &credit, &warehouseTax); err != nil {
			return done{}, err
		}
		var o int
		if err := one(ctx, tx, "SELECT d_next_o_id, d_tax FROM district WHERE d_id = $1 AND d_w_id = $2 FOR UPDATE", []any{n, w}, &o, &districtTax); err != nil {
			return done{}, err
		}
		if err := change(ctx, tx, 1, "UPDATE district SET d_next_o_id = $1 + 1 WHERE d_id = $2 AND d_w_id = $3", o, n, w); err != nil {
			return done{}, err
		}
		local := 1
		for _, l := range lines {
			local &= 1 - l.remote
		}
		if err := change(ctx, tx, 1, "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES ($1, $2, $3, $4, $5, $6, $7)",
			o, n, w, c, time.Now().UTC(), len(lines), local); err != nil {
			return done{}, err
		}
		if err := change(ctx, tx, 1, "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)", o, n, w); err != nil {
			return done{}, err
		}
		if err := items(ctx, tx, lines); err != nil {
			return done{}, err
		}
		if err := stock(ctx, tx, n, lines); err != nil {
			return done{}, err
		}
		for _, l := range lines {
			left := l.stock - l.quantity
			if left < 10 {
				left += 91
			}
			if err := change(ctx, tx, 1, "UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $3 "+
				"WHERE s_i_id = $4 AND s_w_id = $5", left, l.quantity, l.remote, l.item, l.supplier); err != nil {
				return done{}, err
			}
		}
		var values []any
		for number, l := range lines {
			amount := math.Round(l.price*float64(l.quantity)*100) / 100
			values = append(values, o, n, w, number+1, l.item, l.supplier, l.quantity, amount, l.info)
		}
		rows := list(len(lines), 9)
		sql := "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES " +
			rows[1:len(rows)-1]
		if err := change(ctx, tx, int64(len(lines)), sql, values...); err != nil {
			return done{}, err
		}
		return done{lines: int64(len(lines))}, nil
	}
}

// items fills in the prices.
func items(ctx context.Context, tx pgx.Tx, lines []line) error {
	var values []any
	byItem := map[int]*line{}
	for i := range lines {
		values = append(values, lines[i].item)
		byItem[lines[i].item] = &lines[i]
	}
	rows, err := tx.Query(ctx, "SELECT i_price, i_name, i_data, i_id FROM item WHERE i_id IN "+list(len(lines), 1), values...)
	if err != nil {
		return err
	}
	found := 0
	for ; rows.Next(); found++ {
		var price float64
		var name, data string
		var item int
		if err := rows.Scan(&price, &name, &data, &item); err != nil {
			return err
		}
		byItem[item].price = price
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if found < len(lines) {
		return errNoSuchItem
	}
	return nil
}

// stock locks the rows of stock and fills in what there is.
func stock(ctx context.Context, tx pgx.Tx, district int, lines []line) error {
	var values []any
	for _, l := range lines {
		values = append(values, l.supplier, l.item)
	}
	sql := fmt.Sprintf("SELECT s_i_id, s_quantity, s_data, s_dist_%02d FROM stock WHERE (s_w_id, s_i_id) IN %s FOR UPDATE", district, list(len(lines), 2))
	rows, err := tx.Query(ctx, sql, values...)
	if err != nil {
		return err
	}
	found := 0
	for ; rows.Next(); found++ {
		var item, quantity int
		var data, info string
		if err := rows.Scan(&item, &quantity, &data, &info); err != nil {
			return err
		}
		for i := range lines {
			if lines[i].item == item {
				lines[i].stock, lines[i].info = quantity, info
			}
		}
	}
	if err := rows.Err(); err != nil {
		return wrap(err, sql)
	}
	if found != len(lines) {
		return fmt.Errorf("%s of %v: %d rows, expected %d", sql, values, found, len(lines))
	}
	return nil
}

// who is a customer, by number, or by last name if that is not empty.
type who struct {
	w, n, c int
	last    string
}

func (d draw) who(w, n int) who {
	if d.percent(60) {
		return who{w: w, n: n, last: d.lastName()}
	}
	return who{w: w, n: n, c: d.customer()}
}

// number finds the customer's: of those of a name the middle one, rounded up.
func (p who) number(ctx context.Context, tx pgx.Tx) (int, error) {
	if p.last == "" {
		return p.c, nil
	}
	sql := "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first"
	rows, err := tx.Query(ctx, sql, p.w, p.n, p.last)
	if err != nil {
		return 0, wrap(err, sql)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return 0, wrap(err, sql)
	}
	if len(found) == 0 {
		return 0, fmt.Errorf("nobody of the name %s", p.last)
	}
	return found[(len(found)-1)/2], nil
}

func payment(d draw, w int) work {
	n := d.number(1, districts)
	p := d.who(w, n)
	if d.scale.warehouses > 1 && d.percent(15) {
		p = d.who(d.otherWarehouse(w), d.number(1, districts))
	}
	cents := d.number(100, 500000)
	amount := float64(cents) / 100
	return func(ctx context.Context, tx pgx.Tx) (done, error) {
		var texts [6]string
		all := []any{&texts[0], &texts[1], &texts[2], &texts[3], &texts[4], &texts[5]}
		if err := change(ctx, tx, 1, "UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3", amount, w, n); err != nil {
			return done{}, err
		}
		if err := one(ctx, tx, "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = $1 AND d_id = $2",
			[]any{w, n}, all...); err != nil {
			return done{}, err
		}
		district := texts[5]
		if err := change(ctx, tx, 1, "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2", amount, w); err != nil {
			return done{}, err
		}
		if err := one(ctx, tx, "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id = $1", []any{w}, all...); err != nil {
			return done{}, err
		}
		warehouse := texts[5]
		c, err := p.number(ctx, tx)
		if err != nil {
			return done{}, err
		}
		var first, middle, last, credit string
		var limit, discount, balance float64
		var since time.Time
		if err := one(ctx, tx, "SELECT c_first, c_middle, c_last, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer "+
			"WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE", []any{p.w, p.n, c}, &first, &middle, &last, &credit, &limit, &discount, &balance, &since); err != nil {
			return done{}, err
		}
		sql := "UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, c_payment_cnt = c_payment_cnt + 1"
		values := []any{amount, amount, p.w, p.n, c}
		where := " WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5"
		if credit == "BC" {
			var data string
			if err := one(ctx, tx, "SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3", []any{p.w, p.n, c}, &data); err != nil {
				return done{}, err
			}
			data = fmt.Sprintf("| %4d %2d %4d %2d %4d %7.2f %s", c, p.n, p.w, n, w, amount, data)
			if len(data) > 500 {
				data = data[:500]
			}
			sql, values = sql+", c_data = $6", append(values, data)
		}
		if err := change(ctx, tx, 1, sql+where, values...); err != nil {
			return done{}, err
		}
		if err := change(ctx, tx, 1, "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
			p.n, p.w, c, n, w, time.Now().UTC(), amount, warehouse+"    "+district); err != nil {
			return done{}, err
		}
		return done{paidCents: int64(cents)}, nil
	}
}

func orderStatus(d draw, w int) work {
	p := d.who(w, d.number(1, districts))
	return func(ctx context.Context, tx pgx.Tx) (done, error) {
		if p.last != "" {
			var count int
			if err := one(ctx, tx, "SELECT count(c_id) namecnt FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3", []any{p.w, p.n, p.last}, &count); err != nil {
				return done{}, err
			}
		}
		c, err := p.number(ctx, tx)
		if err != nil {
			return done{}, err
		}
		var o int
		var carrier *int
		var entered time.Time
		if err := one(ctx, tx, "SELECT /*+ INDEX(orders orders_customer) */ o_id, o_carrier_id, o_entry_d FROM orders "+
			"WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1", []any{p.w, p.n, c}, &o, &carrier, &entered); err != nil {
			return done{}, err
		}
		sql := "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3"
		rows, err := tx.Query(ctx, sql, p.w, p.n, o)
		if err != nil {
			return done{}, wrap(err, sql)
		}
		count := 0
		for ; rows.Next(); count++ {
			var item, supplier, quantity int
			var amount float64
			var delivered *time.Time
			if err := rows.Scan(&item, &supplier, &quantity, &amount, &delivered); err != nil {
				return done{}, err
			}
		}
		if rows.Err() == nil && (count < 5 || count > 15) {
			return done{}, fmt.Errorf("an order of %d lines", count)
		}
		return done{}, wrap(rows.Err(), sql)
	}
}

// delivery locks the oldest new order of each district and then changes all of them with lists of keys.
func delivery(d draw, w int) work {
	carrier := d.number(1, 10)
	return func(ctx context.Context, tx pgx.Tx) (done, error) {
		var keys []any
		for n := 1; n <= districts; n++ {
			var o int
			err := tx.QueryRow(ctx, "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE", w, n).Scan(&o)
			if errors.Is(err, pgx.ErrNoRows) {
				continue
			}
			if err != nil {
				return done{}, err
			}
			keys = append(keys, w, n, o)
		}
		count := len(keys) / 3
		if count == 0 {
			return done{}, nil
		}
		in := list(count, 3)
		if err := change(ctx, tx, int64(count), "DELETE FROM new_order WHERE (no_w_id, no_d_id, no_o_id) IN "+in, keys...); err != nil {
			return done{}, err
		}
		sql := fmt.Sprintf("UPDATE orders SET o_carrier_id = $%d WHERE (o_w_id, o_d_id, o_id) IN %s", len(keys)+1, in)
		if err := change(ctx, tx, int64(count), sql, append(keys[:len(keys):len(keys)], carrier)...); err != nil {
			return done{}, err
		}
		customers := map[int]int{}
		rows, err := tx.Query(ctx, "SELECT o_d_id, o_c_id FROM orders WHERE (o_w_id, o_d_id, o_id) IN "+in, keys...)
		if err != nil {
			return done{}, err
		}
		var n, c int
		if _, err := pgx.ForEachRow(rows, []any{&n, &c}, func() error { customers[n] = c; return nil }); err != nil {
			return done{}, err
		}
		sql = fmt.Sprintf("UPDATE order_line SET ol_delivery_d = $%d WHERE (ol_w_id, ol_d_id, ol_o_id) IN %s", len(keys)+1, in)
		if tag, err := tx.Exec(ctx, sql, append(keys[:len(keys):len(keys)], time.Now().UTC())...); err != nil || tag.RowsAffected() < int64(5*count) {
			return done{}, fmt.Errorf("%s: %s %w", sql, tag, err)
		}
		totals := map[int]float64{}
		var total float64
		rows, err = tx.Query(ctx, "SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE (ol_w_id, ol_d_id, ol_o_id) IN "+in+" GROUP BY ol_d_id", keys...)
		if err != nil {
			return done{}, err
		}
		if _, err := pgx.ForEachRow(rows, []any{&n, &total}, func() error { totals[n] = total; return nil }); err != nil {
			return done{}, err
		}
		if len(customers) != count || len(totals) != count {
			return done{}, fmt.Errorf("%d orders have %d customers and %d sums", count, len(customers), len(totals))
		}
		for n := 1; n <= districts; n++ {
			if c, there := customers[n]; there {
				if err := change(ctx, tx, 1, "UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 "+
					"WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4", totals[n], w, n, c); err != nil {
					return done{}, err
				}
			}
		}
		return done{delivered: int64(count)}, nil
	}
}

func stockLevel(d draw, w int) work {
	n, threshold := d.number(1, districts), d.number(10, 20)
	return func(ctx context.Context, tx pgx.Tx) (done, error) {
		var next, low int
		if err := one(ctx, tx, "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2", []any{w, n}, &next); err != nil {
			return done{}, err
		}
		return done{}, one(ctx, tx, "SELECT /*+ INL_JOIN(order_line, stock) */ COUNT(DISTINCT (s_i_id)) stock_count FROM order_line, stock "+
			"WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id < $3 AND ol_o_id >= $4 - 20 AND s_w_id = $5 AND s_i_id = ol_i_id AND s_quantity < $6",
			[]any{w, n, next, next, w, threshold}, &low)
	}
}
