//! What a TPC-C terminal enters: the inputs of the five transactions (specification 5.11, clauses 2.4.1,
//! 2.5.1, 2.6.1, 2.7.1, 2.8.1).
//!
//! Relies on: `random`.  Promises: the shares of the clauses: 1 % unused items, 1 % remote items,
//! 15 % remote payments, 60 % by last name; the lines of an order come sorted by item, so that two
//! orders that share stock lock it in one order on databases that lock; the unused item is the last; a
//! terminal stays at its home warehouse (2.4.1.1).
//! Does not: stay at one district: a connection stands for the ten terminals of a warehouse.

use super::random::{self, C_LAST_RUN, uniform};
use super::{DELIVERY, DISTRICTS, Mix, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL, Scale};
use crate::call::{Argument, Call, Calls, Ending};
use crate::workload::drawn;
use quintet_rt::Rand;

/// The stream of one client.
#[derive(Clone, Debug)]
pub(super) struct Terminal {
    pub scale: Scale,
    pub mix: Mix,
    /// The home warehouse.
    pub home: u64,
    pub rand: Rand,
}

fn int(number: u64) -> Argument {
    Argument::Int(Some(i32::try_from(number).expect("keys fit into int")))
}

impl Calls for Terminal {
    fn next_call(&mut self) -> Call {
        let warehouse = self.home;
        let procedure = drawn(&self.mix.weights(), &mut self.rand);
        match procedure {
            NEW_ORDER => self.new_order(warehouse),
            PAYMENT => self.payment(warehouse),
            ORDER_STATUS => self.order_status(warehouse),
            DELIVERY => self.delivery(warehouse),
            STOCK_LEVEL => self.stock_level(warehouse),
            _ => unreachable!("five weights"),
        }
    }
}

impl Terminal {
    fn new_order(&mut self, warehouse: u64) -> Call {
        let district = self.district();
        let rand = &mut self.rand;
        let customer = random::customer(rand, self.scale.customers);
        let unused = rand.one_in(100);
        let lines = uniform(rand, 5, 15);
        let mut order = Vec::with_capacity(lines as usize);
        for number in 1..=lines {
            let item = match unused && number == lines {
                true => self.scale.items + 1,
                false => random::item(rand, self.scale.items),
            };
            let remote = rand.one_in(100);
            let supply = match remote {
                true => other(rand, warehouse, self.scale.warehouses),
                false => warehouse,
            };
            order.push((item, supply, uniform(rand, 1, 10)));
        }
        order.sort_unstable();
        let column = |pick: fn(&(u64, u64, u64)) -> u64| {
            let numbers = order.iter().map(|line| pick(line) as i32);
            Argument::Ints(numbers.collect())
        };
        Call {
            procedure: NEW_ORDER,
            arguments: vec![
                int(warehouse),
                int(district),
                int(customer),
                column(|line| line.0),
                column(|line| line.1),
                column(|line| line.2),
            ],
            ending: match unused {
                true => Ending::Refusal,
                false => Ending::Commit,
            },
        }
    }

    fn payment(&mut self, warehouse: u64) -> Call {
        let district = self.district();
        let remote = self.scale.warehouses > 1 && self.rand.below(100) < 15;
        let (of_warehouse, of_district) = match remote {
            true => {
                let other = other(&mut self.rand, warehouse, self.scale.warehouses);
                (other, self.district())
            }
            false => (warehouse, district),
        };
        let [customer, name] = self.customer();
        Call {
            procedure: PAYMENT,
            arguments: vec![
                int(warehouse),
                int(district),
                int(of_warehouse),
                int(of_district),
                customer,
                name,
                Argument::Cents(uniform(&mut self.rand, 100, 500_000) as i64),
            ],
            ending: Ending::Commit,
        }
    }

    fn order_status(&mut self, warehouse: u64) -> Call {
        let district = self.district();
        let [customer, name] = self.customer();
        Call {
            procedure: ORDER_STATUS,
            arguments: vec![int(warehouse), int(district), customer, name],
            ending: Ending::Commit,
        }
    }

    fn delivery(&mut self, warehouse: u64) -> Call {
        let carrier = uniform(&mut self.rand, 1, 10);
        Call {
            procedure: DELIVERY,
            arguments: vec![int(warehouse), int(carrier)],
            ending: Ending::Commit,
        }
    }

    fn stock_level(&mut self, warehouse: u64) -> Call {
        let district = self.district();
        let threshold = uniform(&mut self.rand, 10, 20);
        Call {
            procedure: STOCK_LEVEL,
            arguments: vec![int(warehouse), int(district), int(threshold)],
            ending: Ending::Commit,
        }
    }

    fn district(&mut self) -> u64 {
        uniform(&mut self.rand, 1, DISTRICTS)
    }

    /// By number, or six times in ten by last name.
    fn customer(&mut self) -> [Argument; 2] {
        if self.rand.below(100) < 60 {
            let names = self.scale.names();
            let number = random::name_number(&mut self.rand, C_LAST_RUN, names);
            let name = random::last_name(number);
            return [Argument::Int(None), Argument::Text(Some(name))];
        }
        let number = random::customer(&mut self.rand, self.scale.customers);
        [int(number), Argument::Text(None)]
    }
}

/// Any warehouse but this one, if there is one.
fn other(rand: &mut Rand, warehouse: u64, warehouses: u64) -> u64 {
    if warehouses == 1 {
        return warehouse;
    }
    let other = uniform(rand, 1, warehouses - 1);
    if other >= warehouse { other + 1 } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(scale: Scale, mix: Mix, seed: u64) -> Terminal {
        Terminal {
            scale,
            mix,
            home: 1 + seed % scale.warehouses,
            rand: Rand::seeded(seed),
        }
    }

    const CALLS: usize = 100_000;

    fn number(argument: &Argument) -> u64 {
        match argument {
            Argument::Int(Some(number)) => *number as u64,
            other => panic!("{other:?}"),
        }
    }

    fn numbers(argument: &Argument) -> &[i32] {
        match argument {
            Argument::Ints(numbers) => numbers,
            other => panic!("{other:?}"),
        }
    }

    /// Within five standard deviations of a share of so many draws.
    fn close(seen: usize, of: usize, share: f64, what: &str) {
        let expected = of as f64 * share;
        let deviation = (expected * (1.0 - share)).sqrt();
        let off = (seen as f64 - expected).abs();
        assert!(off < 5.0 * deviation + 1.0, "{what}: {seen} of {of}");
    }

    #[test]
    fn transactions_come_in_the_stated_mix() {
        for (mix, shares) in [
            (Mix::Full, [0.45, 0.43, 0.04, 0.04, 0.04]),
            (Mix::Seeds, [0.45, 0.43, 0.04, 0.04, 0.04]),
            (Mix::NewOrderPayment, [0.5, 0.5, 0.0, 0.0, 0.0]),
            (Mix::Quelea, [0.05, 0.45, 0.05, 0.40, 0.05]),
        ] {
            let mut terminal = terminal(Scale::full(10), mix, 1);
            let mut seen = [0; 5];
            for _ in 0..CALLS {
                seen[terminal.next_call().procedure] += 1;
            }
            for (seen, share) in seen.iter().zip(shares) {
                close(*seen, CALLS, share, mix.name());
            }
        }
    }

    #[test]
    fn orders_have_the_stated_shares_and_bounds() {
        let mut terminal = terminal(Scale::full(10), Mix::Full, 2);
        let (mut unused, mut lines, mut remote) = (0, 0, 0);
        for _ in 0..CALLS {
            let call = terminal.new_order(3);
            let [w, d, c, items, supplies, quantities] = &call.arguments[..] else {
                panic!("{call:?}")
            };
            assert_eq!(number(w), 3);
            assert!((1..=10).contains(&number(d)) && (1..=3000).contains(&number(c)));
            let (items, supplies, quantities) =
                (numbers(items), numbers(supplies), numbers(quantities));
            assert!((5..=15).contains(&items.len()));
            assert_eq!(
                (supplies.len(), quantities.len()),
                (items.len(), items.len())
            );
            assert!(items.is_sorted() && items[0] >= 1);
            assert!(supplies.iter().all(|w| (1..=10).contains(w)));
            assert!(quantities.iter().all(|q| (1..=10).contains(q)));
            let last = *items.last().unwrap();
            assert!(items[..items.len() - 1].iter().all(|i| *i <= 100_000));
            match call.ending {
                Ending::Refusal => {
                    assert_eq!(last, 100_001);
                    unused += 1;
                }
                _ => assert!(last <= 100_000),
            }
            lines += items.len();
            remote += supplies.iter().filter(|w| **w != 3).count();
        }
        close(unused, CALLS, 0.01, "unused");
        close(remote, lines, 0.01, "remote");
        let mean = lines as f64 / CALLS as f64;
        assert!((9.9..10.1).contains(&mean), "{mean}");
    }

    #[test]
    fn payments_have_the_stated_shares_and_bounds() {
        let mut terminal = terminal(Scale::full(10), Mix::Full, 3);
        let (mut by_name, mut remote) = (0, 0);
        for _ in 0..CALLS {
            let call = terminal.payment(4);
            let [w, d, cw, cd, c, name, amount] = &call.arguments[..] else {
                panic!("{call:?}")
            };
            assert_eq!(number(w), 4);
            if number(cw) == 4 {
                assert_eq!(number(d), number(cd));
            } else {
                assert!((1..=10).contains(&number(cw)) && (1..=10).contains(&number(cd)));
                remote += 1;
            }
            match (c, name) {
                (Argument::Int(None), Argument::Text(Some(_))) => by_name += 1,
                (c, Argument::Text(None)) => assert!((1..=3000).contains(&number(c))),
                other => panic!("{other:?}"),
            }
            let Argument::Cents(cents) = amount else {
                panic!("{amount:?}")
            };
            assert!((100..=500_000).contains(cents));
        }
        close(by_name, CALLS, 0.6, "by name");
        close(remote, CALLS, 0.15, "remote");
    }

    #[test]
    fn with_one_warehouse_nothing_is_remote() {
        let mut terminal = terminal(Scale::small(1), Mix::Full, 4);
        for _ in 0..10_000 {
            let call = terminal.next_call();
            assert_eq!(number(&call.arguments[0]), 1);
            if call.procedure == NEW_ORDER {
                assert!(numbers(&call.arguments[4]).iter().all(|w| *w == 1));
            }
        }
    }

    // A small scale must not ask for names or numbers that were not loaded.
    #[test]
    fn a_small_scale_asks_for_what_is_there() {
        let scale = Scale::small(2);
        let names: Vec<String> = (0..scale.names()).map(random::last_name).collect();
        let mut terminal = terminal(scale, Mix::Full, 5);
        for _ in 0..20_000 {
            let call = terminal.next_call();
            for argument in &call.arguments {
                if let Argument::Text(Some(name)) = argument {
                    assert!(names.contains(name), "{name}");
                }
            }
            if call.procedure == NEW_ORDER {
                assert!(number(&call.arguments[2]) <= scale.customers);
                let items = numbers(&call.arguments[3]);
                assert!(items.iter().all(|i| *i as u64 <= scale.items + 1));
            }
        }
    }

    #[test]
    fn one_seed_gives_one_stream() {
        let take = |seed| {
            let mut terminal = terminal(Scale::full(5), Mix::Full, seed);
            (0..200).map(|_| terminal.next_call()).collect::<Vec<_>>()
        };
        assert_eq!(take(9), take(9));
        assert_ne!(take(9), take(10));
    }

    #[test]
    fn calls_fit_their_procedures() {
        let mut terminal = terminal(Scale::full(2), Mix::Full, 6);
        for _ in 0..1000 {
            let call = terminal.next_call();
            let types = call.arguments.iter().map(Argument::parameter_type);
            let procedure = &super::super::PROCEDURES[call.procedure];
            assert_eq!(types.collect::<Vec<_>>(), procedure.parameters);
        }
    }
}
