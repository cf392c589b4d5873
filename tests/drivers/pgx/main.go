// TPC-C as plain statements through pgx, in the manner of Go benchmarks: lists of row values in IN, literals in bulk, statements prepared under names
// and described before their first use, parameters and results in binary.
//
//	tpcc load HOST PORT DATABASE WAREHOUSES ITEMS CUSTOMERS SEED
//	tpcc run LEVEL TERMINALS AMOUNT HOST PORT DATABASE WAREHOUSES ITEMS CUSTOMERS SEED
//
// Arguments and the last line of a run are those of the program in Java beside this one; after `run` with a number of transactions the twelve conditions are
// asked, too. The first error that is not to be run again ends the program with 1.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func main() {
	if err := start(context.Background(), os.Args[1:]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, words []string) error {
	wanted := map[string]int{"load": 8, "run": 11}
	if len(words) == 0 || len(words) != wanted[words[0]] {
		return errors.New("arguments are load or run with what main.go says")
	}
	var numbers [4]int
	tail := words[len(words)-7:]
	for i, word := range tail[3:] {
		var err error
		if numbers[i], err = strconv.Atoi(word); err != nil {
			return err
		}
	}
	address := fmt.Sprintf("host=%s port=%s dbname=%s user=quintet sslmode=disable", tail[0], tail[1], tail[2])
	s := scale{numbers[0], numbers[1], numbers[2]}
	seed := int64(numbers[3])
	connection, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	if words[0] == "load" {
		return load(ctx, connection, s, seed)
	}
	terminals, err := strconv.Atoi(words[2])
	if err != nil {
		return err
	}
	report, err := run(ctx, address, s, seed, words[1], terminals, words[3])
	if err != nil {
		return err
	}
	if !strings.HasSuffix(words[3], "s") {
		if err := consistent(ctx, connection, s); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// kinds in the order of their shares.
var kinds = []struct {
	name  string
	share int
	draw  func(draw, int) work
}{
	{"new_order", 45, newOrder}, {"payment", 43, payment}, {"order_status", 4, orderStatus}, {"delivery", 4, delivery}, {"stock_level", 4, stockLevel},
}

// attemptsMost: a transaction that loses so often will never get through: a livelock is an error.
const attemptsMost = 10_000

// terminal is a connection that runs transactions of the standard mix, each until it has committed.
type terminal struct {
	connection *pgx.Conn
	begin      string
	draw       draw
	home       int
	counts     map[string]int64
}

func run(ctx context.Context, address string, s scale, seed int64, level string, count int, amount string) (map[string]any, error) {
	terminals := make([]*terminal, count)
	for i := range terminals {
		connection, err := pgx.Connect(ctx, address)
		if err != nil {
			return nil, err
		}
		defer connection.Close(ctx)
		begin := "BEGIN ISOLATION LEVEL " + strings.ToUpper(strings.ReplaceAll(level, "_", " ")) + " READ WRITE"
		terminals[i] = &terminal{connection, begin, newDraw(s, seed*1000+int64(i)), i%s.warehouses + 1, map[string]int64{}}
	}
	began := time.Now()
	var goesOn func() bool
	if seconds := strings.TrimSuffix(amount, "s"); seconds != amount {
		length, err := strconv.Atoi(seconds)
		if err != nil {
			return nil, err
		}
		goesOn = func() bool { return time.Since(began) < time.Duration(length)*time.Second }
	} else {
		transactions, err := strconv.ParseInt(amount, 10, 64)
		if err != nil {
			return nil, err
		}
		goesOn = func() bool { return atomic.AddInt64(&transactions, -1) >= 0 }
	}
	ends := make(chan error)
	for _, t := range terminals {
		go func(t *terminal) { ends <- t.work(ctx, goesOn) }(t)
	}
	for range terminals {
		if err := <-ends; err != nil {
			return nil, err
		}
	}
	report := map[string]any{"seconds": time.Since(began).Seconds(), "overtaken": 0}
	for _, name := range []string{"lines", "paid_cents", "delivered", "rolled_back", "deadlocks"} {
		report[name] = sum(terminals, name)
	}
	for _, kind := range kinds {
		report[kind.name] = sum(terminals, kind.name)
		report[kind.name+"_refused"] = sum(terminals, kind.name+"_refused")
	}
	most := int64(0)
	for _, t := range terminals {
		if t.counts["attempts_most"] > most {
			most = t.counts["attempts_most"]
		}
	}
	report["attempts_most"] = most
	return report, nil
}

func sum(terminals []*terminal, name string) (total int64) {
	for _, t := range terminals {
		total += t.counts[name]
	}
	return total
}

func (t *terminal) work(ctx context.Context, goesOn func() bool) error {
	for goesOn() {
		share, kind := t.draw.number(1, 100), 0
		for share > kinds[kind].share {
			share -= kinds[kind].share
			kind++
		}
		if err := t.until(ctx, kinds[kind].name, kinds[kind].draw(t.draw, t.home)); err != nil {
			return fmt.Errorf("%s: %w", kinds[kind].name, err)
		}
	}
	return nil
}

// until runs a transaction until it commits: 40001 is counted, and so is a deadlock (40P01), by itself.
func (t *terminal) until(ctx context.Context, kind string, w work) error {
	for attempt := int64(1); attempt <= attemptsMost; attempt++ {
		tx, err := t.connection.BeginTx(ctx, pgx.TxOptions{BeginQuery: t.begin})
		if err != nil {
			return err
		}
		result, err := w(ctx, tx)
		if err == nil {
			err = tx.Commit(ctx)
		}
		if err == nil {
			t.counts[kind]++
			t.counts["lines"] += result.lines
			t.counts["paid_cents"] += result.paidCents
			t.counts["delivered"] += result.delivered
			if attempt > t.counts["attempts_most"] {
				t.counts["attempts_most"] = attempt
			}
			return nil
		}
		if undone := tx.Rollback(ctx); undone != nil && !errors.Is(undone, pgx.ErrTxClosed) {
			return undone
		}
		var refusal *pgconn.PgError
		switch {
		case errors.Is(err, errNoSuchItem):
			t.counts["rolled_back"]++
			return nil
		case errors.As(err, &refusal) && refusal.Code == "40001":
			t.counts[kind+"_refused"]++
		case errors.As(err, &refusal) && refusal.Code == "40P01":
			t.counts["deadlocks"]++
		default:
			return err
		}
	}
	return fmt.Errorf("lost %d times", attemptsMost)
}
