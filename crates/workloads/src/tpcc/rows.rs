//! TPC-C's initial rows (specification 5.11, clause 4.3.3), in pieces.
//!
//! Relies on: `random`.  Promises: the cardinalities and values of the clause at full scale, and the
//! same proportions at a smaller one, so that the consistency conditions hold from the start; each
//! piece has a generator of its own, so an order's lines are the same wherever they are made.
//! Does not: use today's date: everything was entered at one fixed moment.

use super::random::{self, C_LAST_LOAD, data, digits, letters, uniform};
use super::{DISTRICTS, Scale, TABLES};
use crate::load::{Lines, Piece};
use quintet_rt::Rand;

/// When everything was entered.
const LOADED_AT: &str = "2026-01-01 00:00:00";

/// Rows of `item` and `stock` in one piece.
const ITEMS_PER_PIECE: u64 = 10_000;

/// What each customer has paid before, in hundredths.
const PAID: i64 = 1000;

/// One piece, by table. Warehouses and districts count from 1, parts from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Item { part: u64 },
    Warehouses,
    Districts,
    Stock { warehouse: u64, part: u64 },
    Customers(District),
    History(District),
    Orders(District),
    NewOrders(District),
    OrderLines(District),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct District {
    warehouse: u64,
    district: u64,
}

/// All rows of one scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub scale: Scale,
    pub seed: u64,
}

impl Rows {
    fn item_parts(&self) -> u64 {
        self.scale.items.div_ceil(ITEMS_PER_PIECE)
    }

    fn districts(&self) -> u64 {
        self.scale.warehouses * DISTRICTS
    }

    pub fn pieces(&self) -> u32 {
        let items = self.item_parts();
        (items + 2 + items * self.scale.warehouses + 5 * self.districts()) as u32
    }

    fn part(&self, number: u32) -> Part {
        let (items, mut left) = (self.item_parts(), u64::from(number));
        if left < items {
            return Part::Item { part: left };
        }
        left -= items;
        match left {
            0 => return Part::Warehouses,
            1 => return Part::Districts,
            _ => left -= 2,
        }
        if left < items * self.scale.warehouses {
            return Part::Stock {
                warehouse: left / items + 1,
                part: left % items,
            };
        }
        left -= items * self.scale.warehouses;
        let (table, place) = (left / self.districts(), left % self.districts());
        let district = District {
            warehouse: place / DISTRICTS + 1,
            district: place % DISTRICTS + 1,
        };
        match table {
            0 => Part::Customers(district),
            1 => Part::History(district),
            2 => Part::Orders(district),
            3 => Part::NewOrders(district),
            4 => Part::OrderLines(district),
            _ => panic!("there are {} pieces, not {number}", self.pieces()),
        }
    }

    pub fn piece(&self, number: u32) -> Piece {
        let part = self.part(number);
        let mut lines = Lines::default();
        // The piece's own number tells its generator from all others.
        let mut rand = Rand::seeded(self.seed ^ (u64::from(number) << 20));
        let table = match part {
            Part::Item { part } => {
                self.items(part, &mut rand, &mut lines);
                0
            }
            Part::Warehouses => {
                self.warehouses(&mut rand, &mut lines);
                1
            }
            Part::Districts => {
                self.district_rows(&mut rand, &mut lines);
                2
            }
            Part::Stock { warehouse, part } => {
                self.stock(warehouse, part, &mut rand, &mut lines);
                3
            }
            Part::Customers(place) => {
                self.customers(place, &mut rand, &mut lines);
                4
            }
            Part::History(place) => {
                self.history(place, &mut rand, &mut lines);
                5
            }
            Part::Orders(place) => {
                self.orders(place, &mut rand, &mut lines);
                6
            }
            Part::NewOrders(place) => {
                self.new_orders(place, &mut lines);
                7
            }
            Part::OrderLines(place) => {
                self.order_lines(place, &mut rand, &mut lines);
                8
            }
        };
        lines.into_piece(TABLES[table])
    }

    fn item_range(&self, part: u64) -> std::ops::RangeInclusive<u64> {
        let first = part * ITEMS_PER_PIECE + 1;
        first..=self.scale.items.min(first + ITEMS_PER_PIECE - 1)
    }

    fn items(&self, part: u64, rand: &mut Rand, lines: &mut Lines) {
        for item in self.item_range(part) {
            lines.number(item as i64);
            lines.number(uniform(rand, 1, 10_000) as i64);
            letters(rand, 14, 24, lines.field());
            lines.cents(uniform(rand, 100, 10_000) as i64);
            data(rand, lines.field());
            lines.end_row();
        }
    }

    fn warehouses(&self, rand: &mut Rand, lines: &mut Lines) {
        let paid = PAID * (self.scale.customers * DISTRICTS) as i64;
        for warehouse in 1..=self.scale.warehouses {
            lines.number(warehouse as i64);
            place_of_business(rand, lines);
            lines.cents(paid);
            lines.end_row();
        }
    }

    fn district_rows(&self, rand: &mut Rand, lines: &mut Lines) {
        for warehouse in 1..=self.scale.warehouses {
            for district in 1..=DISTRICTS {
                lines.number(warehouse as i64);
                lines.number(district as i64);
                place_of_business(rand, lines);
                lines.cents(PAID * self.scale.customers as i64);
                lines.number(self.scale.customers as i64 + 1);
                lines.end_row();
            }
        }
    }

    fn stock(&self, warehouse: u64, part: u64, rand: &mut Rand, lines: &mut Lines) {
        for item in self.item_range(part) {
            lines.number(warehouse as i64);
            lines.number(item as i64);
            lines.number(uniform(rand, 10, 100) as i64);
            for _ in 0..DISTRICTS {
                letters(rand, 24, 24, lines.field());
            }
            for _ in ["ytd", "order_cnt", "remote_cnt"] {
                lines.number(0);
            }
            data(rand, lines.field());
            lines.end_row();
        }
    }

    fn customers(&self, place: District, rand: &mut Rand, lines: &mut Lines) {
        let names = self.scale.names();
        for customer in 1..=self.scale.customers {
            lines.number(place.warehouse as i64);
            lines.number(place.district as i64);
            lines.number(customer as i64);
            letters(rand, 8, 16, lines.field());
            lines.text("OE");
            // Every name is there at least once.
            let name = match customer <= names {
                true => customer - 1,
                false => random::name_number(rand, C_LAST_LOAD, names),
            };
            lines.text(&random::last_name(name));
            address(rand, lines);
            digits(rand, 16, lines.field());
            lines.text(LOADED_AT);
            lines.text(if rand.one_in(10) { "BC" } else { "GC" });
            lines.cents(5_000_000);
            ten_thousandths(uniform(rand, 0, 5000), lines);
            lines.cents(-PAID);
            lines.cents(PAID);
            lines.number(1);
            lines.number(0);
            letters(rand, 300, 500, lines.field());
            lines.end_row();
        }
    }

    fn history(&self, place: District, rand: &mut Rand, lines: &mut Lines) {
        for customer in 1..=self.scale.customers {
            lines.number(customer as i64);
            for _ in ["the customer's", "where it was paid"] {
                lines.number(place.district as i64);
                lines.number(place.warehouse as i64);
            }
            lines.text(LOADED_AT);
            lines.cents(PAID);
            letters(rand, 12, 24, lines.field());
            lines.end_row();
        }
    }

    fn orders(&self, place: District, rand: &mut Rand, lines: &mut Lines) {
        let counts = self.line_counts(place);
        let mut customers: Vec<u64> = (1..=self.scale.customers).collect();
        for i in (1..customers.len()).rev() {
            customers.swap(i, rand.below(i as u64 + 1) as usize);
        }
        for (order, (customer, count)) in (1..).zip(customers.iter().zip(counts)) {
            lines.number(place.warehouse as i64);
            lines.number(place.district as i64);
            lines.number(order as i64);
            lines.number(*customer as i64);
            lines.text(LOADED_AT);
            match order < self.scale.first_new_order() {
                true => lines.number(uniform(rand, 1, 10) as i64),
                false => lines.null(),
            }
            lines.number(count as i64);
            lines.number(1);
            lines.end_row();
        }
    }

    fn new_orders(&self, place: District, lines: &mut Lines) {
        for order in self.scale.first_new_order()..=self.scale.customers {
            lines.number(place.warehouse as i64);
            lines.number(place.district as i64);
            lines.number(order as i64);
            lines.end_row();
        }
    }

    fn order_lines(&self, place: District, rand: &mut Rand, lines: &mut Lines) {
        for (order, count) in (1..).zip(self.line_counts(place)) {
            let delivered = order < self.scale.first_new_order();
            for number in 1..=count {
                lines.number(place.warehouse as i64);
                lines.number(place.district as i64);
                lines.number(order as i64);
                lines.number(number as i64);
                lines.number(uniform(rand, 1, self.scale.items) as i64);
                lines.number(place.warehouse as i64);
                match delivered {
                    true => lines.text(LOADED_AT),
                    false => lines.null(),
                }
                lines.number(5);
                match delivered {
                    true => lines.cents(0),
                    false => lines.cents(uniform(rand, 1, 999_999) as i64),
                }
                letters(rand, 24, 24, lines.field());
                lines.end_row();
            }
        }
    }

    /// How many lines each order of a district has.
    fn line_counts(&self, place: District) -> impl Iterator<Item = u64> + use<> {
        // Below the lowest bit of any piece's own number.
        let own = place.warehouse * DISTRICTS + place.district;
        let mut rand = Rand::seeded(self.seed ^ (own << 1 | 1));
        (0..self.scale.customers).map(move |_| uniform(&mut rand, 5, 15))
    }
}

/// Name, address and tax of a warehouse or district.
fn place_of_business(rand: &mut Rand, lines: &mut Lines) {
    letters(rand, 6, 10, lines.field());
    address(rand, lines);
    ten_thousandths(uniform(rand, 0, 2000), lines);
}

fn address(rand: &mut Rand, lines: &mut Lines) {
    for _ in ["street_1", "street_2", "city"] {
        letters(rand, 10, 20, lines.field());
    }
    let state = lines.field();
    for _ in 0..2 {
        state.push(char::from(b'A' + rand.below(26) as u8));
    }
    let zip = lines.field();
    digits(rand, 4, zip);
    zip.push_str("11111");
}

fn ten_thousandths(number: u64, lines: &mut Lines) {
    lines.text(&format!("0.{number:04}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn rows(scale: Scale) -> Rows {
        Rows { scale, seed: 42 }
    }

    fn counts(rows: Rows, tables: &[&str]) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for number in 0..rows.pieces() {
            let name = match rows.part(number) {
                Part::OrderLines(place) => {
                    let lines: u64 = rows.line_counts(place).sum();
                    *counts.entry("order_line").or_default() += lines;
                    continue;
                }
                _ => rows.piece(number).table.name,
            };
            if tables.is_empty() || tables.contains(&name) {
                *counts.entry(name).or_default() += rows.piece(number).rows;
            }
        }
        counts
    }

    // Clause 4.3.3.1 at one warehouse. Text that nobody looks at makes this the slow one here.
    #[test]
    fn slow_the_cardinalities_are_the_specifications() {
        let counts = counts(rows(Scale::full(1)), &[]);
        assert_eq!(counts["item"], 100_000);
        assert_eq!(counts["warehouse"], 1);
        assert_eq!(counts["district"], 10);
        assert_eq!(counts["stock"], 100_000);
        assert_eq!(counts["customer"], 30_000);
        assert_eq!(counts["history"], 30_000);
        assert_eq!(counts["orders"], 30_000);
        assert_eq!(counts["new_order"], 9_000);
        // Five to fifteen lines an order: 300,000 within a fraction of a per cent.
        let lines = counts["order_line"];
        assert!((297_000..=303_000).contains(&lines), "{lines}");
    }

    fn fields(piece: &Piece) -> Vec<Vec<&str>> {
        let lines = piece.text.lines();
        lines.map(|line| line.split('\t').collect()).collect()
    }

    // Each row has as many fields as its table has columns, keys are unique and ascend, and so is
    // a table over all of its pieces; history has no key.
    #[test]
    fn rows_come_in_key_order_and_fit_their_tables() {
        let key_columns = [1, 1, 2, 2, 3, 0, 3, 3, 4];
        let rows = rows(Scale::small(2));
        let mut last: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        let mut filled = Vec::new();
        for number in 0..rows.pieces() {
            let piece = rows.piece(number);
            let table = TABLES.iter().position(|t| *t == piece.table).unwrap();
            if filled.last() != Some(&table) {
                filled.push(table);
            }
            assert_eq!(piece.rows as usize, piece.text.lines().count());
            let columns = piece.table.columns.split(',').count();
            for row in fields(&piece) {
                assert_eq!(row.len(), columns, "{row:?}");
                let key = row[..key_columns[table]].iter();
                let key: Vec<u64> = key.map(|field| field.parse().unwrap()).collect();
                if !key.is_empty() {
                    let before = last.insert(piece.table.name, key.clone());
                    assert!(before.is_none_or(|b| b < key), "{key:?}");
                }
            }
        }
        assert_eq!(filled, (0..TABLES.len()).collect::<Vec<_>>());
    }

    #[test]
    fn a_piece_is_the_same_every_time_and_another_seed_gives_another() {
        let rows = rows(Scale::small(1));
        for number in 0..rows.pieces() {
            assert_eq!(rows.piece(number), rows.piece(number));
        }
        let other = Rows { seed: 43, ..rows };
        assert_ne!(rows.piece(0), other.piece(0));
        // Two districts' customers differ, too.
        let customers: BTreeSet<String> = (0..rows.pieces())
            .filter(|number| matches!(rows.part(*number), Part::Customers(_)))
            .map(|number| rows.piece(number).text.split_off(6))
            .collect();
        assert_eq!(customers.len(), 10);
    }

    // Clause 4.3.3.1 in one district: orders of all customers once each, the last three tenths
    // undelivered, one in ten customers with bad credit, every last name there.
    #[test]
    fn a_district_is_as_the_specification_says() {
        let rows = rows(Scale {
            customers: 3000,
            ..Scale::small(1)
        });
        let find = |wanted: fn(&Part) -> bool| {
            let number = (0..rows.pieces()).find(|number| wanted(&rows.part(*number)));
            rows.piece(number.unwrap())
        };
        let orders = find(|part| matches!(part, Part::Orders(_)));
        let orders = fields(&orders);
        let customers: BTreeSet<&str> = orders.iter().map(|order| order[3]).collect();
        assert_eq!(customers.len(), 3000);
        let undelivered = orders.iter().filter(|order| order[5] == "\\N").count();
        assert_eq!(undelivered, 900);
        let carrier: u64 = orders[2099][5].parse().unwrap();
        assert!((1..=10).contains(&carrier));
        assert_eq!(orders[2100][5], "\\N");
        let customers = find(|part| matches!(part, Part::Customers(_)));
        let customers = fields(&customers);
        let bad = customers.iter().filter(|row| row[13] == "BC").count();
        assert!((220..=380).contains(&bad), "{bad}");
        let names: BTreeSet<&str> = customers.iter().map(|row| row[5]).collect();
        assert_eq!(names.len(), 1000);
        let lines = find(|part| matches!(part, Part::OrderLines(_)));
        let lines = fields(&lines);
        let per_order = orders[0][6].parse::<usize>().unwrap();
        assert_eq!(lines.iter().filter(|l| l[2] == "1").count(), per_order);
        assert!(lines.iter().all(|l| (l[6] == "\\N") == (l[8] != "0.00")));
    }
}
