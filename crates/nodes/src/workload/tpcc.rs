//! TPC-C's NewOrder and Payment, half and half, as in the papers on queues; a share of them with another node.
//!
//! Relies on: nothing.  Promises: one NewOrder of a hundred is raised for an item that is not there; the district's
//! next order number makes the keys of what is inserted, the stock's text goes into the order's lines, both
//! between nodes where these are two.  Does not: look customers up by name, or keep the tables that the two only
//! read besides (carriers, delivery).
//!
//! Warehouse w is on node w modulo nodes; items are on every node. Of all tables the sizes are given, so that
//! a machine can hold many nodes; the standard has 100,000 items and 3,000 customers in a district.

use super::{Workload, filler};
use crate::call::{
    Action, Call, Change, Check, Field, How, Key, NodeId, Operand, Operation, Record, Slot,
};
use quintet_rt::Rand;

const WAREHOUSE: u8 = 1;
const DISTRICT: u8 = 2;
const CUSTOMER: u8 = 3;
const ITEM: u8 = 4;
const STOCK: u8 = 5;
const ORDER: u8 = 6;
const NEW_ORDER: u8 = 7;
const ORDER_LINE: u8 = 8;
const HISTORY: u8 = 9;

const DISTRICTS: u64 = 10;
/// Order lines are numbered within an order below this.
const LINES: u64 = 16;

/// Sizes and shares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TpccConfig {
    /// How many nodes.
    pub nodes: u16,
    /// Warehouses of all nodes.
    pub warehouses: u64,
    /// Items, and so records of stock in a warehouse.
    pub items: u64,
    /// Customers of a district.
    pub customers: u64,
    /// Share of calls that need another node, 0 to 1.
    pub remote: f64,
}

impl TpccConfig {
    /// A tenth of the standard's sizes, so many warehouses on each node.
    pub fn new(nodes: u16, warehouses_of_node: u64) -> TpccConfig {
        TpccConfig {
            nodes,
            warehouses: warehouses_of_node * u64::from(nodes),
            items: 10_000,
            customers: 300,
            remote: 0.1,
        }
    }
}

/// See the header.
#[derive(Debug)]
pub struct Tpcc {
    config: TpccConfig,
}

impl Tpcc {
    /// Ready to ask.
    ///
    /// # Panics
    /// If a node has no warehouse.
    pub fn new(config: TpccConfig) -> Tpcc {
        assert!(config.warehouses >= u64::from(config.nodes));
        Tpcc { config }
    }

    fn node(&self, warehouse: u64) -> NodeId {
        NodeId((warehouse % u64::from(self.config.nodes)) as u16)
    }

    fn warehouse_of(&self, node: NodeId, rand: &mut Rand) -> u64 {
        let nodes = u64::from(self.config.nodes);
        let own = (self.config.warehouses - u64::from(node.0)).div_ceil(nodes);
        rand.below(own) * nodes + u64::from(node.0)
    }

    /// A warehouse of this node, or of another.
    fn other(&self, node: NodeId, elsewhere: bool, rand: &mut Rand) -> u64 {
        if !elsewhere {
            return self.warehouse_of(node, rand);
        }
        let step = 1 + rand.below(u64::from(self.config.nodes) - 1);
        let other = (u64::from(node.0) + step) % u64::from(self.config.nodes);
        self.warehouse_of(NodeId(other as u16), rand)
    }

    fn new_order(&self, home: NodeId, remote: bool, rand: &mut Rand) -> Call {
        let w = self.warehouse_of(home, rand);
        let d = w * DISTRICTS + rand.below(DISTRICTS);
        let c = d * self.config.customers + rand.below(self.config.customers);
        let lines = 5 + rand.below(11);
        let far = remote.then(|| rand.below(lines));
        let rollback = rand.one_in(100);
        let mut operations = vec![
            (home, read(WAREHOUSE, w, Field::Int(8), 0)),
            (home, read(CUSTOMER, c, Field::Int(24), 1)),
        ];
        let (order, district_tax, verdict, mut next) = (2, 3, 4, 5);
        let mut ordered: Vec<(u64, u64, i64, Slot)> = Vec::new();
        for line in 0..lines {
            let item = loop {
                let item = rand.below(self.config.items);
                if ordered.iter().all(|other| other.0 != item) {
                    break item;
                }
            };
            let supply = match far {
                Some(far) if far == line => self.other(home, true, rand),
                _ => w,
            };
            let price = next;
            next += 1;
            let last = line + 1 == lines;
            let missing = last && rollback;
            let group = if missing { self.config.items } else { item };
            let check = last.then_some(Check {
                verdict,
                at_least: None,
            });
            let action = Action::Read {
                take: vec![(Field::Int(0), price)],
                check,
            };
            let key = Key::alone(ITEM, group);
            operations.push((home, Operation { key, action }));
            ordered.push((item, supply, 1 + rand.below(10) as i64, price));
        }
        let take = vec![(Field::Int(0), order), (Field::Int(16), district_tax)];
        let changes = vec![change(0, How::Add, 1)];
        operations.push((home, update(DISTRICT, d, take, changes)));
        let texts = next;
        for (line, (item, supply, quantity, _)) in ordered.iter().enumerate() {
            let text = Field::Text(32 + 24 * (d % DISTRICTS) as u16, 24);
            let is_far = i64::from(*supply != w);
            let changes = vec![
                change(0, How::Restock, *quantity),
                change(8, How::Add, *quantity),
                change(16, How::Add, 1),
                change(24, How::Add, is_far),
            ];
            let group = supply * self.config.items + item;
            let take = vec![(text, texts + line as Slot)];
            operations.push((self.node(*supply), update(STOCK, group, take, changes)));
        }
        for (line, (item, supply, quantity, price)) in ordered.iter().enumerate() {
            let record = vec![
                Operand::Int(*item as i64),
                Operand::Int(*supply as i64),
                Operand::Int(*quantity),
                Operand::Times(*price, *quantity),
                Operand::Slot(texts + line as Slot),
            ];
            let item = Some((order, LINES));
            operations.push((home, insert(ORDER_LINE, d, line as u64, item, record)));
        }
        let all_here = i64::from(far.is_none());
        let record = [c as i64, lines as i64, all_here]
            .map(Operand::Int)
            .to_vec();
        operations.push((home, insert(ORDER, d, 0, Some((order, 1)), record)));
        let record = vec![Operand::Int(0)];
        operations.push((home, insert(NEW_ORDER, d, 0, Some((order, 1)), record)));
        Call::new(operations, vec![order, 0, 1, district_tax]).expect("checks come first")
    }

    fn payment(&self, home: NodeId, remote: bool, rand: &mut Rand) -> Call {
        let w = self.warehouse_of(home, rand);
        let d = w * DISTRICTS + rand.below(DISTRICTS);
        let theirs = match remote {
            true => self.other(home, true, rand),
            false => w,
        };
        let of = theirs * DISTRICTS + rand.below(DISTRICTS);
        let c = of * self.config.customers + rand.below(self.config.customers);
        let amount = 100 + rand.below(500_000) as i64;
        let history = rand.next_u64();
        let balance = 0;
        let customer = vec![
            change(0, How::Add, -amount),
            change(8, How::Add, amount),
            change(16, How::Add, 1),
        ];
        let record = [c as i64, d as i64, amount].map(Operand::Int);
        let operations = vec![
            (
                home,
                update(WAREHOUSE, w, vec![], vec![change(0, How::Add, amount)]),
            ),
            (
                home,
                update(DISTRICT, d, vec![], vec![change(8, How::Add, amount)]),
            ),
            (
                self.node(theirs),
                update(CUSTOMER, c, vec![(Field::Int(0), balance)], customer),
            ),
            (home, insert(HISTORY, d, history, None, record.to_vec())),
        ];
        Call::new(operations, vec![balance]).expect("no checks")
    }
}

fn change(at: u16, how: How, by: i64) -> Change {
    let by = Operand::Int(by);
    Change { at, how, by }
}

fn read(table: u8, group: u64, field: Field, slot: Slot) -> Operation {
    let action = Action::Read {
        take: vec![(field, slot)],
        check: None,
    };
    let key = Key::alone(table, group);
    Operation { key, action }
}

fn update(table: u8, group: u64, take: Vec<(Field, Slot)>, changes: Vec<Change>) -> Operation {
    let key = Key::alone(table, group);
    let action = Action::Update { take, changes };
    Operation { key, action }
}

fn insert(
    table: u8,
    group: u64,
    number: u64,
    item: Option<(Slot, u64)>,
    record: Vec<Operand>,
) -> Operation {
    let key = Key {
        table,
        group,
        item: number,
    };
    let action = Action::Insert { item, record };
    Operation { key, action }
}

fn fields(numbers: &[i64], seed: u64, text: usize) -> Record {
    let mut record: Record = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    record.extend(filler(seed, text));
    record
}

impl Workload for Tpcc {
    fn load(&self, node: NodeId, see: &mut dyn FnMut(Key, Record)) {
        for item in 0..self.config.items {
            let price = 100 + (item * 7919 % 9900) as i64;
            see(Key::alone(ITEM, item), fields(&[price], item, 70));
        }
        let warehouses = 0..self.config.warehouses;
        for w in warehouses.filter(|w| self.node(*w) == node) {
            see(
                Key::alone(WAREHOUSE, w),
                fields(&[30_000_000, 1_000], w, 80),
            );
            for item in 0..self.config.items {
                let group = w * self.config.items + item;
                let quantity = 10 + (group * 31 % 91) as i64;
                let record = fields(&[quantity, 0, 0, 0], group, 240 + 40);
                see(Key::alone(STOCK, group), record);
            }
            for d in w * DISTRICTS..(w + 1) * DISTRICTS {
                let record = fields(&[1, 3_000_000, 1_500], d, 80);
                see(Key::alone(DISTRICT, d), record);
                for c in d * self.config.customers..(d + 1) * self.config.customers {
                    let record = fields(&[-1_000, 1_000, 1, 2_500], c, 500);
                    see(Key::alone(CUSTOMER, c), record);
                }
            }
        }
    }

    fn next(&mut self, home: NodeId, rand: &mut Rand) -> Call {
        let share = (self.config.remote * 1_000_000.0) as u64;
        let remote = self.config.nodes > 1 && rand.below(1_000_000) < share;
        match rand.one_in(2) {
            true => self.new_order(home, remote, rand),
            false => self.payment(home, remote, rand),
        }
    }
}
