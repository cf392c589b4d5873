package main

import (
	"math/rand"
	"strings"
)

// scale says how much there is; customers are those of a district, of which a warehouse has ten.
type scale struct{ warehouses, items, customers int }

const districts = 10

// firstNewOrder: orders before it are delivered when the tables are loaded.
func (s scale) firstNewOrder() int { return s.customers*7/10 + 1 }

// draw has TPC-C's ways to draw numbers and words (clauses 2.1.6 and 4.3.2). One for each goroutine.
type draw struct {
	*rand.Rand
	scale scale
}

func newDraw(s scale, seed int64) draw { return draw{rand.New(rand.NewSource(seed)), s} }

// number is one of low to high.
func (d draw) number(low, high int) int { return low + d.Intn(high-low+1) }

func (d draw) percent(share int) bool { return d.Intn(100) < share }

// uneven draws some numbers far more often than others.
func (d draw) uneven(mask, constant, low, high int) int {
	return ((d.number(0, mask)|d.number(low, high))+constant)%(high-low+1) + low
}

func (d draw) customer() int { return d.uneven(1023, 521, 1, d.scale.customers) }

func (d draw) item() int { return d.uneven(8191, 2887, 1, d.scale.items) }

var syllables = [10]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

func lastName(number int) string {
	return syllables[number/100%10] + syllables[number/10%10] + syllables[number%10]
}

// lastName is that of a customer who is there: with fewer than a thousand, each has a name of its own.
func (d draw) lastName() string {
	names := 1000
	if d.scale.customers < names {
		names = d.scale.customers
	}
	return lastName(d.uneven(255, 101, 0, names-1))
}

func (d draw) otherWarehouse(w int) int {
	other := d.number(1, d.scale.warehouses-1)
	if other >= w {
		other++
	}
	return other
}

const characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func (d draw) letters(low, high int) string {
	var text strings.Builder
	for left := d.number(low, high); left > 0; left-- {
		text.WriteByte(characters[d.Intn(len(characters))])
	}
	return text.String()
}

func (d draw) digits(count int) string {
	var text strings.Builder
	for ; count > 0; count-- {
		text.WriteByte(characters[d.Intn(10)])
	}
	return text.String()
}

// data: one in ten is an original.
func (d draw) data() string {
	text := d.letters(26, 42)
	if d.percent(10) {
		text += "ORIGINAL"
	}
	return text
}
