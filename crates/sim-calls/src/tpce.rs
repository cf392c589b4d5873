//! TPC-E's ten transactions as calls to schedule: the thesis's mix and times, keys from the classifier, and the
//! refinement that finds a trade's account and broker before it is scheduled.
//!
//! Relies on: `classified` and the text in `workloads/src/tpce`, which says what it has less than the specification.
//! Promises: shares of the specification's mix without the two transactions that the thesis leaves out, which gives
//! its 23.1 % of updates; times of Table 5.1; [`Plan::writes`] are rows that the call does write, whichever keys it
//! has.
//! Does not: hold TPC-E's data: identifiers are drawn, evenly.
//!
//! What the classifier finds at SNAPSHOT (a test has the conditions), as the thesis says in 5.1.2:
//!
//! | transaction | writes | known from its parameters |
//! |---|---|---|
//! | Market Feed | the last trade of twenty securities | yes |
//! | Trade Update | executor names of twenty trades, or how an account's trades were paid, or texts of a security's payments | yes |
//! | Trade Result | the trade; its *broker*'s commissions; balance and holdings of its *account* | only the trade is: broker and account are read at run time |
//! | Trade Order | only new rows, by a number that nobody else has | never conflicts |
//!
//! **By parameters** all Trade Results conflict with each other: the system can be no faster than their chain, which
//! is 16.94 % of all work: 5.9 times as fast as one worker.
//!
//! **With run-time keys** the front end first reads the trade's row, and the account's: two look-ups by primary
//! key, and calls `trade_result_found`, which has what it found for parameters. That is sound without a second look,
//! because no procedure of the workload ever writes the columns it reads (a trade's account and security, an
//! account's broker). Trade Results then conflict if they share the broker, or the account. Columns that somebody
//! does write would have to be compared again when the call begins.

use crate::classified::Classified;
use crate::draw::Spread;
use crate::plan::{Kind, Plan, Source};
use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};
use quintet_base::{Array, SqlType, Value};
use quintet_rt::Rand;
use serde::Serialize;

const MARKET_FEED: usize = 2;
const TRADE_ORDER: usize = 6;
const TRADE_RESULT: usize = 7;
const TRADE_UPDATE: usize = 9;

/// Table 5.1, with the variance of all of them.
const KINDS: [Kind; 10] = [
    kind("broker-volume", 30.0, false),
    kind("customer-position", 20.0, false),
    kind("market-feed", 20.0, true),
    kind("market-watch", 30.0, false),
    kind("security-detail", 10.0, false),
    kind("trade-lookup", 110.0, false),
    kind("trade-order", 50.0, true),
    kind("trade-result", 60.0, true),
    kind("trade-status", 10.0, false),
    kind("trade-update", 130.0, true),
];

const fn kind(name: &'static str, ms: f64, writes: bool) -> Kind {
    let duration = Spread {
        ms,
        variance: 0.025,
    };
    Kind {
        name,
        duration,
        writes,
        // The thesis has no Tashkent+ for TPC-E: all in one group.
        tables: &[],
    }
}

/// In thousandths.
const MIX: [u64; 10] = [49, 130, 10, 180, 140, 80, 101, 100, 190, 20];

const LAST_TRADE: Space = Space(0);
const TRADE: Space = Space(1);
const SETTLEMENT: Space = Space(2);
const CASH: Space = Space(3);
const BROKER: Space = Space(4);
const ACCOUNT: Space = Space(5);
const HOLDING: Space = Space(6);

/// What is written of a row; in [`TRADE`] there are columns that a Trade Update writes and others of Trade Results.
const WRITE: Mode = Mode(0);
const RESULT: Mode = Mode(1);

/// Customers of the database; the specification's smallest number.
const CUSTOMERS: u64 = 5000;
/// Accounts of a customer, on average.
const ACCOUNTS: u64 = 5 * CUSTOMERS;
/// One broker for a hundred customers.
const BROKERS: u64 = CUSTOMERS / 100;
/// 685 securities for a thousand customers.
const SECURITIES: u64 = CUSTOMERS / 1000 * 685;
/// Trades at the beginning: 300 days of 8 hours, one for a customer every 500 seconds.
const TRADES: u64 = CUSTOMERS * 17_280;
/// Rows that a Market Feed, and a Trade Update of trades, is about.
const BATCH: u64 = 20;

/// What is known of a Trade Result when it is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TradeKeys {
    /// Its parameters: the trade.
    Parameters,
    /// Its account and broker, too, which are looked up.
    RunTime,
}

/// TPC-E's calls.
#[derive(Clone, Debug)]
pub struct TpceCalls {
    /// Per kind, out of their sum.
    weights: [f64; 10],
    keys: TradeKeys,
    classified: Classified,
    /// Trade Orders so far.
    orders: u64,
    rand: Rand,
}

impl TpceCalls {
    /// Trade Results are this share of all calls, and the others keep their shares of the rest; without it
    /// the mix is the specification's.
    ///
    /// # Panics
    /// If the share is not between 0 and 1.
    pub fn new(keys: TradeKeys, trade_result_share: Option<f64>, seed: u64) -> TpceCalls {
        let mut weights = MIX.map(|share| share as f64);
        if let Some(share) = trade_result_share {
            assert!((0.0..1.0).contains(&share), "a share is below 1");
            let others = weights.iter().sum::<f64>() - weights[TRADE_RESULT];
            weights[TRADE_RESULT] = others * share / (1.0 - share);
        }
        TpceCalls {
            weights,
            classified: match keys {
                TradeKeys::Parameters => Classified::tpce(),
                TradeKeys::RunTime => Classified::tpce_found(),
            },
            keys,
            orders: 0,
            rand: Rand::seeded(seed ^ 0x7463_6365),
        }
    }

    /// Share of the time of all calls that Trade Results take: its inverse bounds the speed-up of whoever
    /// runs them one after another.
    pub fn trade_result_work(&self) -> f64 {
        let work = |kind: usize| self.weights[kind] * KINDS[kind].duration.ms;
        work(TRADE_RESULT) / (0..KINDS.len()).map(work).sum::<f64>()
    }

    fn kind(&mut self) -> usize {
        let mut left = crate::draw::unit(&mut self.rand) * self.weights.iter().sum::<f64>();
        for (kind, weight) in self.weights.iter().enumerate() {
            if left < *weight {
                return kind;
            }
            left -= weight;
        }
        // Rounding may leave a little over at the very end.
        TRADE_UPDATE
    }

    /// Twenty different numbers.
    fn several(&mut self, of: u64) -> Vec<u64> {
        let mut rows: Vec<u64> = Vec::with_capacity(BATCH as usize);
        while rows.len() < BATCH as usize {
            let row = self.rand.below(of);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows
    }

    /// Arguments of a call that writes, as its procedure takes them, and the rows that it will write.
    fn call(&mut self, kind: usize) -> (Vec<Value>, Vec<ConflictKey>) {
        match kind {
            MARKET_FEED => {
                let symbols = self.several(SECURITIES);
                let rows = rows(LAST_TRADE, WRITE, &symbols);
                (vec![list(&symbols)], rows)
            }
            // Its three frames, as likely each.
            TRADE_UPDATE => {
                let frame = self.rand.below(3);
                let trades = match frame {
                    0 => self.several(TRADES),
                    _ => Vec::new(),
                };
                let (account, symbol) = (self.rand.below(ACCOUNTS), self.rand.below(SECURITIES));
                let rows = match frame {
                    0 => rows(TRADE, WRITE, &trades),
                    1 => rows(SETTLEMENT, WRITE, &[account]),
                    _ => rows(CASH, WRITE, &[symbol]),
                };
                let frame = Value::Int4(1 + frame as i32);
                let (account, symbol) = match frame {
                    Value::Int4(1) => (Value::Null, Value::Null),
                    Value::Int4(2) => (int(account), Value::Null),
                    _ => (Value::Null, int(symbol)),
                };
                (vec![frame, list(&trades), account, symbol], rows)
            }
            TRADE_RESULT => {
                let trade = self.rand.below(TRADES);
                // Trades are dealt to accounts and securities by chance, accounts to brokers, and stay there.
                let account = mixed(trade) % ACCOUNTS;
                let symbol = mixed(!trade) % SECURITIES;
                let broker = mixed(account) % BROKERS;
                let mut written = rows(TRADE, RESULT, &[trade]);
                written.extend(rows(BROKER, WRITE, &[broker]));
                written.extend(rows(ACCOUNT, WRITE, &[account]));
                written.push(ConflictKey::new(HOLDING, WRITE, &[account, symbol]));
                let mut arguments = vec![int(trade), Value::Null];
                if self.keys == TradeKeys::RunTime {
                    arguments.extend([account, broker, symbol].map(int));
                }
                (arguments, written)
            }
            // New rows: nobody else can write them.
            TRADE_ORDER => {
                self.orders += 1;
                (vec![int(TRADES + self.orders)], Vec::new())
            }
            _ => (Vec::new(), Vec::new()),
        }
    }
}

fn rows(space: Space, mode: Mode, numbers: &[u64]) -> Vec<ConflictKey> {
    let row = |number: &u64| ConflictKey::new(space, mode, &[*number]);
    numbers.iter().map(row).collect()
}

fn int(number: u64) -> Value {
    Value::Int8(number as i64)
}

fn list(numbers: &[u64]) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Int8,
        values: numbers.iter().copied().map(int).collect(),
    }))
}

impl Source for TpceCalls {
    fn name(&self) -> &'static str {
        "tpce"
    }

    fn kinds(&self) -> &[Kind] {
        &KINDS
    }

    fn modes(&self) -> Modes {
        self.classified.modes()
    }

    fn row_modes(&self) -> Modes {
        let mut modes = Modes::new();
        for space in [
            LAST_TRADE, TRADE, SETTLEMENT, CASH, BROKER, ACCOUNT, HOLDING,
        ] {
            modes.declare(space, WRITE, WRITE);
        }
        modes.declare(TRADE, RESULT, RESULT);
        modes
    }

    fn next_plan(&mut self) -> Plan {
        let kind = self.kind();
        let (arguments, writes) = self.call(kind);
        let mut keys = Vec::new();
        if KINDS[kind].writes {
            self.classified.keys(kind, &arguments, &mut keys);
        }
        Plan {
            kind,
            keys,
            writes,
            looked_up: kind == TRADE_RESULT && self.keys == TradeKeys::RunTime,
        }
    }
}

/// Spreads numbers: the end of splitmix64.
fn mixed(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_and_trade_results_have_the_shares_of_the_thesis() {
        assert_eq!(MIX.iter().sum::<u64>(), 1000);
        let updates = KINDS.iter().zip(MIX).filter(|(kind, _)| kind.writes);
        assert_eq!(updates.map(|(_, share)| share).sum::<u64>(), 231);
        let calls = TpceCalls::new(TradeKeys::Parameters, None, 1);
        let work = calls.trade_result_work();
        assert!((work - 0.1694).abs() < 0.0001, "{work}");
        assert!((1.0 / work - 5.9).abs() < 0.01);
    }

    #[test]
    fn calls_come_in_the_mix_and_the_share_of_results_can_be_set() {
        for (share, expected) in [(None, 0.1), (Some(0.5), 0.5)] {
            let mut calls = TpceCalls::new(TradeKeys::Parameters, share, 1);
            let results = (0..100_000).filter(|_| calls.next_plan().kind == TRADE_RESULT);
            let seen = results.count() as f64 / 100_000.0;
            assert!((seen - expected).abs() < 0.008, "{seen}");
        }
    }

    #[test]
    fn only_a_look_up_tells_trade_results_apart() {
        let results = |keys| {
            let mut calls = TpceCalls::new(keys, Some(0.99), 4);
            let plans = std::iter::repeat_with(move || calls.next_plan());
            let plans = plans.filter(|plan| plan.kind == TRADE_RESULT);
            plans.take(200).collect::<Vec<Plan>>()
        };
        let share_of_pairs = |keys, plans: &[Plan]| {
            let modes = TpceCalls::new(keys, None, 1).modes();
            let pairs = plans.iter().enumerate();
            let pairs = pairs.flat_map(|(at, a)| plans[..at].iter().map(move |b| (a, b)));
            let (mut all, mut met) = (0, 0);
            for (a, b) in pairs {
                all += 1;
                let meet = |x: &ConflictKey| b.keys.iter().any(|y| x.meets(y, &modes));
                met += u32::from(a.keys.iter().any(meet));
            }
            f64::from(met) / f64::from(all)
        };
        assert_eq!(
            share_of_pairs(TradeKeys::Parameters, &results(TradeKeys::Parameters)),
            1.0
        );
        let found = results(TradeKeys::RunTime);
        assert!(found.iter().all(|plan| plan.looked_up));
        // One in fifty brokers.
        let share = share_of_pairs(TradeKeys::RunTime, &found);
        assert!((0.01..0.03).contains(&share), "{share}");
    }
}
