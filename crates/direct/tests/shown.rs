//! Rows that are looked at where they lie: filters, groups and joins say what the expressions say.
//!
//! The reference evaluates every expression over whole rows. The rows are many enough for several chunks; among them are some
//! of which no formula has an answer: numbers beyond 64 bits, dates without end, strings between others.

#![allow(clippy::unwrap_used)] // helpers of tests

mod support;

use quintet_base::{Level, Numeric, SqlType, TypeMod, Value};
use quintet_direct::Direct;
use quintet_ir::aggregate::{Accumulator, AggregateCall, AggregateFunction};
use quintet_ir::fold::DetachedHost;
use quintet_ir::plan::JoinKind;
use quintet_ir::schema::TableRef;
use quintet_ir::{CompareOp, Expr, Path, Plan, Statement};
use quintet_rt::Rand;
use quintet_tc::Txn;
use support::*;

const ROWS: i32 = 600;

const TYPES: [SqlType; 5] = [
    SqlType::Int4,
    SqlType::Date,
    SqlType::Numeric,
    SqlType::Bpchar,
    SqlType::Float8,
];

fn items() -> TableRef {
    let names = ["id", "day", "price", "mode", "weight"];
    let columns: Vec<_> = names.into_iter().zip(TYPES).collect();
    table(100, "items", &columns).key(&[0]).done()
}

fn item(rand: &mut Rand, id: i32) -> Vec<Value> {
    let day = match rand.below(40) {
        0 => Value::Null,
        1 => Value::Date(i32::MAX),
        _ => Value::Date(rand.below(60) as i32),
    };
    let price = match rand.below(60) {
        0 => Value::Null,
        1 => Value::numeric(Numeric::parse("123456789012345678901234567890.25").unwrap()),
        2 => Value::numeric(Numeric::NAN),
        n => Value::numeric(Numeric::from_short(
            rand.below(10_000) as i64,
            (n % 4) as u16,
        )),
    };
    let mode = match rand.below(6) {
        0 => Value::Null,
        1 => Value::text("AIR"),
        2 => Value::text("AIR  "),
        3 => Value::text("SHIP"),
        _ => Value::text("RAIL"),
    };
    let weight = Value::Float8(rand.below(100) as f64 / 7.0);
    vec![Int4(id), day, price, mode, weight]
}

fn column(number: usize) -> Expr {
    Expr::Column(number, TYPES[number])
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let found = quintet_ir::function::resolve(name, &types).unwrap();
    Expr::Call {
        function: found.function,
        args,
        ty: found.result,
    }
}

fn decimal(mantissa: i64, scale: u16) -> Expr {
    constant(Value::numeric(Numeric::from_short(mantissa, scale)))
}

fn filters() -> Vec<Option<Expr>> {
    let moment = Expr::Cast {
        input: Box::new(column(1)),
        to: SqlType::Timestamp,
        modifier: TypeMod::NONE,
        explicit: false,
    };
    // A constant only once the parameter is known.
    let until = call(
        "+",
        vec![
            Expr::Param(0, SqlType::Timestamp),
            constant(Value::Interval(Default::default())),
        ],
    );
    let before = |op| compare(op, moment.clone(), until.clone());
    let dear = compare(
        CompareOp::Ge,
        column(2),
        call("-", vec![decimal(3000, 1), decimal(5, 1)]),
    );
    let sent = |negated| Expr::InList {
        input: Box::new(column(3)),
        list: ["AIR", "SHIP "]
            .map(|mode| Expr::Const(Value::text(mode), SqlType::Bpchar))
            .into(),
        negated,
    };
    let heavy = compare(CompareOp::Gt, column(4), constant(Value::Float8(7.0)));
    vec![
        None,
        Some(before(CompareOp::Lt)),
        Some(Expr::And(vec![before(CompareOp::Ge), dear.clone()])),
        Some(Expr::And(vec![sent(false), heavy.clone()])),
        Some(Expr::Or(vec![
            Expr::And(vec![dear.clone(), sent(true)]),
            Expr::And(vec![sent(false), before(CompareOp::Eq)]),
            heavy.clone(),
        ])),
        Some(Expr::Not(Box::new(Expr::Or(vec![
            dear.clone(),
            sent(false),
        ])))),
        // What the branches have in common is asked first.
        Some(Expr::Or(vec![
            Expr::And(vec![dear.clone(), sent(false)]),
            Expr::And(vec![sent(false), before(CompareOp::Gt)]),
        ])),
        Some(Expr::Or(vec![
            Expr::And(vec![dear, sent(true)]),
            sent(true),
        ])),
    ]
}

fn aggregate(function: AggregateFunction, arg: Option<Expr>, ty: SqlType) -> AggregateCall {
    AggregateCall {
        function,
        args: arg.into_iter().collect(),
        distinct: false,
        filter: None,
        order: vec![],
        ty,
    }
}

fn calls() -> Vec<AggregateCall> {
    use AggregateFunction::*;
    let product = || {
        call(
            "*",
            vec![column(2), call("-", vec![decimal(1, 0), column(2)])],
        )
    };
    vec![
        aggregate(CountRows, None, SqlType::Int8),
        aggregate(Count, Some(column(3)), SqlType::Int8),
        aggregate(Sum, Some(column(0)), SqlType::Int8),
        aggregate(Sum, Some(product()), SqlType::Numeric),
        aggregate(Avg, Some(column(2)), SqlType::Numeric),
        aggregate(Min, Some(column(1)), SqlType::Date),
        aggregate(Max, Some(column(3)), SqlType::Bpchar),
        aggregate(Max, Some(product()), SqlType::Numeric),
        AggregateCall {
            filter: Some(compare(CompareOp::Gt, column(0), int(300))),
            ..aggregate(Sum, Some(column(2)), SqlType::Numeric)
        },
    ]
}

struct Known {
    direct: Direct,
    items: TableRef,
    rows: Vec<Vec<Value>>,
    params: Vec<Value>,
}

impl Known {
    fn new(seed: u64) -> Known {
        let (direct, items) = (engine(), items());
        let mut rand = Rand::seeded(seed);
        let rows: Vec<_> = (0..ROWS).map(|id| item(&mut rand, id)).collect();
        exec(&direct, Statement::Insert(insert(&items, rows.clone()))).count();
        let params = vec![Value::Timestamp(30 * 86_400_000_000)];
        Known {
            direct,
            items,
            rows,
            params,
        }
    }

    fn ask(&self, txn: &mut Txn, plan: Plan) -> Vec<Vec<Value>> {
        let mut call = Call::new(&self.direct, Statement::Query(plan));
        call.params.clone_from(&self.params);
        call.go(txn).rows()
    }

    fn eval(&self, expr: &Expr, row: &[Value]) -> Value {
        quintet_ir::eval(expr, row, &self.params, &DetachedHost::default()).unwrap()
    }

    fn kept(&self, filter: Option<&Expr>) -> Vec<&Vec<Value>> {
        let holds = |row: &&Vec<Value>| {
            filter.is_none_or(|filter| self.eval(filter, row).as_bool() == Some(true))
        };
        self.rows.iter().filter(holds).collect()
    }

    /// Every question, as this transaction sees the rows.
    fn check(&self, txn: &mut Txn) {
        for (number, filter) in filters().into_iter().enumerate() {
            let mut access = access(&self.items, Path::Full);
            access.filter = filter.clone();
            let kept = self.kept(filter.as_ref());
            assert!(kept.len() > 20, "filter {number} lets something through");
            let found = self.ask(txn, Plan::Scan(access.clone()));
            assert!(found.iter().eq(kept.iter().copied()), "filter {number}");
            for keys in [vec![], vec![column(3)], vec![column(1), column(3)]] {
                let plan = |input| Plan::Aggregate {
                    input: Box::new(input),
                    keys: keys.clone(),
                    calls: calls(),
                    sets: vec![],
                };
                let expected = self.groups(&keys, &kept);
                let found = self.ask(txn, plan(Plan::Scan(access.clone())));
                assert_eq!(found, expected, "filter {number}, {} keys", keys.len());
                // The same over frames.
                let input = Plan::Hold {
                    input: Box::new(Plan::Scan(access.clone())),
                };
                assert_eq!(
                    self.ask(txn, plan(input)),
                    expected,
                    "filter {number} over frames"
                );
            }
        }
    }

    fn groups(&self, keys: &[Expr], rows: &[&Vec<Value>]) -> Vec<Vec<Value>> {
        let mut groups: Vec<(Vec<Value>, Vec<Accumulator>)> = vec![];
        let new = || calls().iter().map(Accumulator::new).collect();
        if keys.is_empty() {
            groups.push((vec![], new()));
        }
        for row in rows {
            let key: Vec<Value> = keys.iter().map(|key| self.eval(key, row)).collect();
            let same = |(other, _): &(Vec<Value>, _)| {
                let mut pairs = other.iter().zip(&key).zip(keys);
                pairs.all(|((a, b), key)| quintet_ir::eval::order(a, b, key.ty()).is_eq())
            };
            let place = groups.iter().position(same).unwrap_or_else(|| {
                groups.push((key.clone(), new()));
                groups.len() - 1
            });
            for (accumulator, call) in groups[place].1.iter_mut().zip(calls()) {
                let holds = |filter: &Expr| self.eval(filter, row).as_bool() == Some(true);
                if call.filter.as_ref().is_none_or(holds) {
                    let args: Vec<Value> =
                        call.args.iter().map(|arg| self.eval(arg, row)).collect();
                    accumulator.add(&args).unwrap();
                }
            }
        }
        let finish = |(mut key, calls): (Vec<Value>, Vec<Accumulator>)| {
            key.extend(calls.into_iter().map(|call| call.finish().unwrap()));
            key
        };
        groups.into_iter().map(finish).collect()
    }
}

#[test]
fn rows_where_they_lie_are_filtered_and_grouped_as_rows_of_values() {
    for level in Level::ALL {
        let seed = 41 + level as u64;
        println!("seed {seed}");
        let mut known = Known::new(seed);
        let mut txn = known.direct.begin(level);
        known.check(&mut txn);
        // Among own writes: some are in the midst of a chunk.
        let mut rand = Rand::seeded(seed + 1);
        for id in [3, 300, ROWS - 1, ROWS + 5] {
            let row = item(&mut rand, id);
            let here = |other: &Vec<Value>| other[0] == row[0];
            match known.rows.iter().position(here) {
                Some(place) => {
                    let assignments = (1..5)
                        .map(|column| (column, Expr::Const(row[column].clone(), TYPES[column])));
                    let assignments = assignments.collect();
                    let changed = update(&known.items, point(&known.items, int(id)), assignments);
                    run(&known.direct, &mut txn, Statement::Update(changed)).count();
                    known.rows[place] = row;
                }
                None => {
                    let added = insert(&known.items, vec![row.clone()]);
                    run(&known.direct, &mut txn, Statement::Insert(added)).count();
                    known.rows.push(row);
                }
            }
        }
        known.check(&mut txn);
        commit(txn).unwrap();
        known.check(&mut known.direct.begin(level));
    }
}

/// Goal: an error that stands before what the branches of an OR have in common is reported.
#[test]
fn what_comes_first_fails_first() {
    let known = Known::new(8);
    let mode = compare(
        CompareOp::Eq,
        column(3),
        Expr::Const(Value::text("TRUCK"), SqlType::Bpchar),
    );
    // A row whose mode is known: for NULL, AND goes on.
    let row = known
        .rows
        .iter()
        .position(|row| row[3] == Value::text("RAIL"))
        .unwrap() as i32;
    let share = call("/", vec![int(1000), add(column(0), int(-row))]);
    let share = compare(CompareOp::Gt, share, int(2));
    for (parts, fails) in [
        (vec![share.clone(), mode.clone()], true),
        (vec![mode.clone(), share], false),
    ] {
        let mut access = access(&known.items, Path::Full);
        access.filter = Some(Expr::Or(vec![
            Expr::And(parts),
            Expr::And(vec![
                mode.clone(),
                compare(CompareOp::Lt, column(0), int(5)),
            ]),
        ]));
        let mut txn = known.direct.begin(Level::Snapshot);
        let answer = run(
            &known.direct,
            &mut txn,
            Statement::Query(Plan::Scan(access)),
        );
        match fails {
            true => assert_eq!(answer.message(), "22012 division by zero"),
            false => assert!(answer.rows().is_empty()),
        }
    }
}

#[test]
fn outer_rows_that_meet_no_kept_row_are_left_out_of_inner_joins_only() {
    let known = Known::new(7);
    for kind in [JoinKind::Inner, JoinKind::Left] {
        for filter in filters() {
            let mut outer = access(&known.items, Path::Full);
            outer.filter.clone_from(&filter);
            let modes = [("AIR", 1), ("SHIP  ", 2), ("AIR ", 3)];
            let modes = modes.map(|(mode, number)| vec![Value::text(mode), Int4(number)]);
            let inner = Plan::Values {
                rows: modes
                    .iter()
                    .map(|row| row.iter().cloned().map(constant).collect())
                    .collect(),
                types: vec![SqlType::Bpchar, SqlType::Int4],
            };
            let on = eq(column(3), Expr::Column(5, SqlType::Bpchar));
            let plan = join(Plan::Scan(outer), inner, (5, 2), kind, Some(on.clone()));
            let mut expected = vec![];
            for row in known.kept(filter.as_ref()) {
                let joined = modes.iter().map(|mode| [&row[..], &mode[..]].concat());
                let before = expected.len();
                expected.extend(joined.filter(|row| known.eval(&on, row).as_bool() == Some(true)));
                if expected.len() == before && kind == JoinKind::Left {
                    expected.push([&row[..], &[Value::Null, Value::Null]].concat());
                }
            }
            let mut txn = known.direct.begin(Level::Serializable);
            assert_eq!(known.ask(&mut txn, plan), expected, "{kind:?}");
        }
    }
}

/// Goal: what was copied out of a chunk and not given does not count as read.
#[test]
fn a_row_counts_as_read_when_it_has_been_given() {
    for (changed, fits) in [(3, false), (20, true)] {
        let known = Known::new(9);
        let mut reader = known.direct.begin(Level::Serializable);
        let found = known.ask(&mut reader, limit(full(&known.items), 12));
        assert_eq!(found.len(), 12);
        let weight = vec![(4, constant(Value::Float8(0.0)))];
        let other = update(
            &known.items,
            point(&known.items, int(changed)),
            weight.clone(),
        );
        assert_eq!(exec(&known.direct, Statement::Update(other)).count(), 1);
        let own = update(&known.items, point(&known.items, int(500)), weight);
        run(&known.direct, &mut reader, Statement::Update(own)).count();
        assert_eq!(commit(reader).is_ok(), fits, "row {changed} has changed");
    }
    // All of an aggregate's rows count.
    let known = Known::new(9);
    let mut reader = known.direct.begin(Level::Serializable);
    let plan = Plan::Aggregate {
        input: Box::new(full(&known.items)),
        keys: vec![],
        calls: calls(),
        sets: vec![],
    };
    known.ask(&mut reader, plan);
    let row = item(&mut Rand::seeded(1), ROWS + 1);
    exec(
        &known.direct,
        Statement::Insert(insert(&known.items, vec![row])),
    )
    .count();
    let weight = vec![(4, constant(Value::Float8(0.0)))];
    let own = update(&known.items, point(&known.items, int(1)), weight);
    run(&known.direct, &mut reader, Statement::Update(own)).count();
    assert!(
        commit(reader).is_err(),
        "a row has come in behind the last one"
    );
}
