//! The keys that the classifier makes of procedures' text: TPC-C's are those of the thesis's table, made by hand here;
//! every row that a call writes is under a key; TPC-E's conditions are written out.

use quintet_analysis::hashed;
use quintet_base::conflict::{ConflictKey, Mode, Modes, Space};
use quintet_base::{SqlType, Value};
use quintet_sim_calls::{Classified, KeyRule, Plan, Source, TpccCalls, TpceCalls, TradeKeys};
use quintet_workloads::call::{Argument, Call};

/// The thesis's Table 5.2, by hand.
struct TableRule;

const DISTRICT: Space = Space(0);
const STOCK: Space = Space(1);
const WAREHOUSE: Space = Space(2);
const CUSTOMER: Space = Space(3);
const ORDERS: Space = Space(4);
const WRITE: Mode = Mode(0);
const SUM: Mode = Mode(1);

impl KeyRule for TableRule {
    fn modes(&self) -> Modes {
        let mut modes = Modes::new();
        for space in [DISTRICT, STOCK, WAREHOUSE, CUSTOMER, ORDERS] {
            modes.declare(space, WRITE, WRITE);
        }
        modes.declare(DISTRICT, SUM, SUM);
        modes
    }

    fn keys(&mut self, call: &Call, keys: &mut Vec<ConflictKey>) {
        let number = |at: usize| match &call.arguments[at] {
            Argument::Int(Some(number)) => *number as u64,
            other => panic!("a number is not {other:?}"),
        };
        let key = ConflictKey::new;
        match (call.procedure, &call.arguments[..]) {
            (0, [_, _, _, Argument::Ints(items), Argument::Ints(supplies), ..]) => {
                keys.push(key(DISTRICT, WRITE, &[number(0), number(1)]));
                let lines = items.iter().zip(supplies);
                let line = |(item, supply): (&i32, &i32)| [*supply as u64, *item as u64];
                keys.extend(lines.map(|pair| key(STOCK, WRITE, &line(pair))));
            }
            (1, arguments) => {
                keys.push(key(WAREHOUSE, WRITE, &[number(0)]));
                keys.push(key(DISTRICT, SUM, &[number(0), number(1)]));
                let district = [number(2), number(3)];
                keys.push(match &arguments[4] {
                    Argument::Int(Some(_)) => {
                        key(CUSTOMER, WRITE, &[district[0], district[1], number(4)])
                    }
                    // Known by name: any customer of the district.
                    _ => key(CUSTOMER, WRITE, &district),
                });
            }
            (3, _) => {
                keys.push(key(ORDERS, WRITE, &[number(0)]));
                keys.push(key(CUSTOMER, WRITE, &[number(0)]));
            }
            _ => {}
        }
    }
}

fn meet(a: &Plan, b: &Plan, modes: &Modes) -> bool {
    let met = |x: &ConflictKey| b.keys.iter().any(|y| x.meets(y, modes));
    a.keys.iter().any(met)
}

// Over pairs of the calls as they come, and of a small database, where they meet often.
#[test]
fn tpcc_calls_conflict_as_in_the_table_of_the_thesis() {
    for (warehouses, seed) in [(1, 1), (10, 2)] {
        let mut text = TpccCalls::new(warehouses, seed);
        let mut table = TpccCalls::with_rule(warehouses, Box::new(TableRule), seed);
        let (text_modes, table_modes) = (text.modes(), table.modes());
        let plans: Vec<(Plan, Plan)> = (0..500)
            .map(|_| (text.next_plan(), table.next_plan()))
            .collect();
        let mut met = 0;
        for (at, (one, one_by_hand)) in plans.iter().enumerate() {
            for (other, other_by_hand) in &plans[..at] {
                let expected = meet(one_by_hand, other_by_hand, &table_modes);
                assert_eq!(meet(one, other, &text_modes), expected, "{one:?} {other:?}");
                met += usize::from(expected);
            }
        }
        let pairs = plans.len() * (plans.len() - 1) / 2;
        assert!(met > pairs / 100 && met < pairs, "{met} of {pairs}");
    }
}

/// A row by its table and the numbers of its key, as the classifier would name it: a key in that table that begins
/// like it, and conflicts with another like itself, is over it.
fn is_covered(row: &[u64], table: &str, ty: SqlType, plan: &Plan, classified: &Classified) -> bool {
    let part = |number: &u64| match ty {
        SqlType::Int4 => hashed(&Value::Int4(*number as i32), ty),
        _ => hashed(&Value::Int8(*number as i64), ty),
    };
    let path: Vec<u64> = row.iter().map(part).collect();
    plan.keys.iter().any(|key| {
        classified.space_name(key.space) == Some(table)
            && path.starts_with(key.path())
            && classified.modes().conflict(key.space, key.mode, key.mode)
    })
}

// Besides tables there are the joint ones of calls that meet elsewhere anyway: those of an order's district, say. What
// is looked at here is written by calls that nothing else keeps apart.
#[test]
fn every_row_that_tpcc_writes_is_under_a_key() {
    let classified = Classified::tpcc();
    let mut calls = TpccCalls::new(3, 11);
    let mut looked_at = 0;
    for _ in 0..3000 {
        let plan = calls.next_plan();
        for row in &plan.writes {
            let table = ["district", "stock", "warehouse", "customer"];
            // Orders are found by district; of a district's sums those of its warehouse speak.
            let Some(table) = table.get(row.space.0 as usize) else {
                continue;
            };
            if *table == "district" && row.mode == SUM {
                continue;
            }
            looked_at += 1;
            let covered = is_covered(row.path(), table, SqlType::Int4, &plan, &classified);
            assert!(covered, "{table} {row:?} of {plan:?}");
        }
        let reads = matches!(plan.kind, 2 | 4);
        assert_eq!(plan.keys.is_empty(), reads);
    }
    assert!(looked_at > 10_000, "{looked_at}");
}

// In pairs: calls that write one row in one way have keys that meet, whatever the keys look like.
#[test]
fn calls_that_write_one_row_have_keys_that_meet() {
    let sources: [(&str, Box<dyn Source>); 3] = [
        ("tpcc", Box::new(TpccCalls::new(1, 5))),
        (
            "tpce",
            Box::new(TpceCalls::new(TradeKeys::Parameters, Some(0.3), 5)),
        ),
        (
            "tpce, run-time keys",
            Box::new(TpceCalls::new(TradeKeys::RunTime, Some(0.3), 5)),
        ),
    ];
    for (name, mut source) in sources {
        let (modes, row_modes) = (source.modes(), source.row_modes());
        let plans: Vec<Plan> = (0..800).map(|_| source.next_plan()).collect();
        let mut shared = 0;
        for (at, one) in plans.iter().enumerate() {
            for other in &plans[..at] {
                let same = |x: &ConflictKey| other.writes.iter().any(|y| x.meets(y, &row_modes));
                if one.writes.iter().any(same) {
                    shared += 1;
                    assert!(meet(one, other, &modes), "{name}: {one:?} {other:?}");
                }
            }
        }
        assert!(shared > 100, "{name}: {shared} pairs share a row");
    }
}

fn conditions(classified: &[&str]) -> Vec<String> {
    let (_, schema, procedures) = quintet_workloads::TEXTS
        .iter()
        .find(|(name, ..)| *name == "tpce")
        .expect("its text is there");
    let classified =
        Classified::new(&[schema, procedures], classified).expect("our own text is right");
    let classes = classified.classes();
    let names: Vec<&str> = classes.names().collect();
    let mut found = Vec::new();
    for one in 0..names.len() {
        for other in one..names.len() {
            let condition = classes.condition(one, other);
            if !condition.is_never() {
                found.push(format!(
                    "{} x {}: {}",
                    names[one],
                    names[other],
                    condition.text()
                ));
            }
        }
    }
    found
}

const OTHERS: [&str; 9] = [
    "broker_volume",
    "customer_position",
    "market_feed",
    "market_watch",
    "security_detail",
    "trade_lookup",
    "trade_order",
    "trade_status",
    "trade_update",
];

// As the thesis says in 5.1.2: Market Feed and Trade Update by their parameters, Trade Result always, Trade Order never,
// as no two orders have one number and no order is completed before it is there.
#[test]
fn tpce_conflicts_as_in_the_thesis() {
    let mut names = OTHERS.to_vec();
    names.push("trade_result");
    let mut expected = [
        "market_feed x market_feed: a shared in_symbols[i]",
        "trade_order x trade_order: same in_trade",
        "trade_update x trade_update: a shared in_trades[i], if in_frame = 1; or same in_account, if NOT \
         (in_frame = 1) and in_frame = 2; or same in_symbol, if NOT (in_frame = 1) and NOT (in_frame = 2)",
        "trade_result x trade_result: always",
    ];
    assert_eq!(conditions(&names), expected);
    expected[3] = "trade_result_found x trade_result_found: same in_trade; or same in_broker; or same in_account";
    *names.last_mut().expect("there are ten") = "trade_result_found";
    assert_eq!(conditions(&names), expected);
}
