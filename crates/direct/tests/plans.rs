//! Random plans against a naive evaluator over rows in memory.
//!
//! The reference knows nothing of keys, snapshots or cursors: it compares values, and holds every
//! intermediate result whole. The rows it is given are spread over STORE, memtable and the
//! transaction's own writes on the engine's side. On failure the seed is in the message.

#![allow(clippy::unwrap_used)] // helpers of tests

mod support;

use quintet_base::{Level, SqlType, Value};
use quintet_direct::Direct;
use quintet_ir::aggregate::{AggregateCall, AggregateFunction};
use quintet_ir::fold::DetachedHost;
use quintet_ir::plan::{JoinKind, KeyBound, SortKey};
use quintet_ir::schema::TableRef;
use quintet_ir::{Access, CompareOp, Expr, KeyRange, Path, Plan, Statement};
use quintet_rt::Rand;
use quintet_tc::Txn;
use std::cmp::Ordering;
use std::sync::Arc;
use support::*;

type Row = Vec<Value>;

// ---- the reference

struct Reference<'r> {
    tables: &'r [(TableRef, Vec<Row>)],
    params: &'r [Value],
}

impl Reference<'_> {
    fn eval(&self, expr: &Expr, frame: &[Value]) -> Value {
        quintet_ir::eval(expr, frame, self.params, &DetachedHost::default()).unwrap()
    }

    fn holds(&self, expr: &Expr, frame: &[Value]) -> bool {
        self.eval(expr, frame).as_bool() == Some(true)
    }

    fn rows(&self, plan: &Plan, outer: &[Value]) -> Vec<Row> {
        let joined = |row: &Row| [outer, row].concat();
        match plan {
            Plan::Values { rows, .. } => rows
                .iter()
                .map(|row| row.iter().map(|e| self.eval(e, outer)).collect())
                .collect(),
            Plan::Scan(access) => self.scan(access, outer),
            Plan::Series {
                start, stop, step, ..
            } => {
                let [start, stop, step] = [start, stop, step].map(|e| self.eval(e, outer).as_i64());
                let (Some(start), Some(stop), Some(step)) = (start, stop, step) else {
                    return vec![];
                };
                let mut rows = vec![];
                let mut value = start;
                while (step > 0 && value <= stop) || (step < 0 && value >= stop) {
                    rows.push(vec![Int4(value as i32)]);
                    value += step;
                }
                rows
            }
            Plan::Unnest { array } => match self.eval(array, outer) {
                Value::Array(array) => array.values.into_iter().map(|v| vec![v]).collect(),
                _ => vec![],
            },
            Plan::Call { .. }
            | Plan::Window { .. }
            | Plan::With { .. }
            | Plan::Given { .. }
            | Plan::Lateral { .. }
            | Plan::Lookup { .. } => unreachable!("no such plan is made here"),
            Plan::Hold { input } => self.rows(input, outer),
            Plan::Join {
                outer: left,
                inner,
                inner_width,
                kind,
                on,
                ..
            } => {
                let mut rows = vec![];
                for left in self.rows(left, outer) {
                    let prefix = joined(&left);
                    let mut matched = false;
                    for right in self.rows(inner, &prefix) {
                        let frame = [&prefix[..], &right].concat();
                        if on.as_ref().is_none_or(|on| self.holds(on, &frame)) {
                            matched = true;
                            rows.push(frame[outer.len()..].to_vec());
                        }
                    }
                    if !matched && *kind == JoinKind::Left {
                        rows.push([left, vec![Null; *inner_width]].concat());
                    }
                }
                rows
            }
            Plan::Filter { input, predicate } => {
                let mut rows = self.rows(input, outer);
                rows.retain(|row| self.holds(predicate, &joined(row)));
                rows
            }
            Plan::Project { input, exprs } => self
                .rows(input, outer)
                .iter()
                .map(|row| exprs.iter().map(|e| self.eval(e, &joined(row))).collect())
                .collect(),
            Plan::Aggregate {
                input, keys, calls, ..
            } => self.aggregate(&self.rows(input, outer), keys, calls, outer),
            Plan::Sort { input, keys, top } => {
                let mut rows = self.rows(input, outer);
                rows.sort_by(|a, b| self.sort_order(keys, &joined(a), &joined(b)));
                if let Some(top) = top.as_ref().and_then(|top| self.eval(top, &[]).as_i64()) {
                    rows.truncate(top as usize);
                }
                rows
            }
            Plan::Unique { input } => {
                let mut kept: Vec<Row> = vec![];
                for row in self.rows(input, outer) {
                    if !kept.iter().any(|other| same(other, &row)) {
                        kept.push(row);
                    }
                }
                kept
            }
            Plan::Limit {
                input,
                limit,
                offset,
                ties: _,
            } => {
                let count = |e: &Option<Expr>| e.as_ref().and_then(|e| self.eval(e, &[]).as_i64());
                let skip = count(offset).unwrap_or(0) as usize;
                let take = count(limit).map_or(usize::MAX, |n| n as usize);
                self.rows(input, outer)
                    .into_iter()
                    .skip(skip)
                    .take(take)
                    .collect()
            }
            Plan::Lock { input, .. } => self.rows(input, outer),
            Plan::Append { inputs } => inputs.iter().flat_map(|i| self.rows(i, outer)).collect(),
        }
    }

    fn scan(&self, access: &Access, outer: &[Value]) -> Vec<Row> {
        let (table, rows) = self
            .tables
            .iter()
            .find(|(t, _)| t.space == access.table.space)
            .unwrap();
        let mut rows = rows.clone();
        let key = table.key_columns();
        let (columns, ranges) = match &access.path {
            // More rows than are sought may come: the filter asks them again.
            Path::Full | Path::Elements(..) => (key.clone(), None),
            Path::Primary(ranges) => (key.clone(), Some(ranges)),
            Path::Index(number, ranges) => (table.indexes[*number].columns.clone(), Some(ranges)),
        };
        let by = |columns: &[usize], a: &Row, b: &Row| {
            columns
                .iter()
                .map(|c| a[*c].order(&b[*c]))
                .find(|o| o.is_ne())
                .unwrap_or(Ordering::Equal)
        };
        rows.sort_by(|a, b| by(&columns, a, b).then(by(&key, a, b)));
        if access.reverse {
            rows.reverse();
        }
        let mut found: Vec<Row> = match ranges {
            None => rows,
            Some(ranges) => {
                let mut found: Vec<Row> = vec![];
                for range in ranges {
                    for row in &rows {
                        let again = found.iter().any(|other| by(&key, other, row).is_eq());
                        if !again && self.in_range(range, &columns, row, outer) {
                            found.push(row.clone());
                        }
                    }
                }
                found
            }
        };
        if let Some(filter) = &access.filter {
            found.retain(|row| self.holds(filter, &[outer, row].concat()));
        }
        if let Some(needed) = &access.needed {
            for row in &mut found {
                for (value, _) in row.iter_mut().zip(needed).filter(|(_, needed)| !**needed) {
                    *value = Null;
                }
            }
        }
        found
    }

    fn in_range(&self, range: &KeyRange, columns: &[usize], row: &Row, outer: &[Value]) -> bool {
        let compare = |column: usize, bound: &Expr| {
            let bound = self.eval(bound, outer);
            (!bound.is_null() && !row[column].is_null()).then(|| row[column].order(&bound))
        };
        let equal = range
            .equal
            .iter()
            .zip(columns)
            .all(|(e, c)| compare(*c, e) == Some(Ordering::Equal));
        let end = |bound: &Option<KeyBound>, beyond: Ordering| {
            bound.as_ref().is_none_or(|bound| {
                match compare(columns[range.equal.len()], &bound.value) {
                    None => false,
                    Some(Ordering::Equal) => bound.inclusive,
                    Some(order) => order == beyond,
                }
            })
        };
        equal && end(&range.lower, Ordering::Greater) && end(&range.upper, Ordering::Less)
    }

    fn sort_order(&self, keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
        for key in keys {
            let (a, b) = (self.eval(&key.expr, a), self.eval(&key.expr, b));
            let order = match (a.is_null(), b.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) => {
                    if key.nulls_first {
                        Ordering::Less
                    } else {
                        Ordering::Greater
                    }
                }
                (false, true) => {
                    if key.nulls_first {
                        Ordering::Greater
                    } else {
                        Ordering::Less
                    }
                }
                _ => {
                    if key.descending {
                        b.order(&a)
                    } else {
                        a.order(&b)
                    }
                }
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    fn aggregate(
        &self,
        rows: &[Row],
        keys: &[Expr],
        calls: &[AggregateCall],
        outer: &[Value],
    ) -> Vec<Row> {
        let mut groups: Vec<(Row, Vec<Row>)> = vec![];
        if keys.is_empty() {
            groups.push((vec![], vec![]));
        }
        for row in rows {
            let frame = [outer, row].concat();
            let key: Row = keys.iter().map(|key| self.eval(key, &frame)).collect();
            match groups.iter_mut().find(|(other, _)| same(other, &key)) {
                Some((_, members)) => members.push(frame),
                None => groups.push((key, vec![frame])),
            }
        }
        let results = groups.into_iter().map(|(key, members)| {
            let results = calls.iter().map(|call| self.call(call, &members));
            key.into_iter().chain(results).collect()
        });
        results.collect()
    }

    fn call(&self, call: &AggregateCall, members: &[Row]) -> Value {
        let passes = |frame: &&Row| call.filter.as_ref().is_none_or(|f| self.holds(f, frame));
        let members: Vec<&Row> = members.iter().filter(passes).collect();
        if call.function == AggregateFunction::CountRows {
            return Value::Int8(members.len() as i64);
        }
        let mut values: Vec<i64> = members
            .iter()
            .filter_map(|frame| self.eval(&call.args[0], frame).as_i64())
            .collect();
        if call.distinct {
            values.sort();
            values.dedup();
        }
        match call.function {
            AggregateFunction::Count => Value::Int8(values.len() as i64),
            AggregateFunction::Sum if values.is_empty() => Null,
            AggregateFunction::Sum => Value::Int8(values.iter().sum()),
            AggregateFunction::Min => values.iter().min().map_or(Null, |v| Int4(*v as i32)),
            AggregateFunction::Max => values.iter().max().map_or(Null, |v| Int4(*v as i32)),
            other => panic!("{other:?}"),
        }
    }
}

fn same(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.order(b).is_eq())
}

// ---- random plans

/// `t (k1, k2, a, b)` with a two-column key and three indexes; `u (v)` with a hidden row id.
fn tables() -> (TableRef, TableRef) {
    let int4 = SqlType::Int4;
    let t = table(
        100,
        "t",
        &[("k1", int4), ("k2", int4), ("a", int4), ("b", int4)],
    )
    .key(&[0, 1])
    .index("t_a", &[2], false)
    .index("t_b_a", &[3, 2], false)
    .index("t_k2_k1", &[1, 0], true)
    .done();
    let u = table(200, "u", &[("v", int4)])
        .index("u_v", &[0], false)
        .done();
    (t, u)
}

struct Generator<'g> {
    rand: &'g mut Rand,
    tables: [TableRef; 2],
}

impl Generator<'_> {
    fn chance(&mut self, percent: u64) -> bool {
        self.rand.below(100) < percent
    }

    fn number(&mut self) -> i32 {
        self.rand.below(12) as i32 - 2
    }

    /// An integer expression that sees `width` columns, all of them integers.
    fn value(&mut self, width: usize) -> Expr {
        match self.rand.below(10) {
            0 => Expr::Const(Null, SqlType::Int4),
            1 => param(0),
            2 | 3 => int(self.number()),
            4 if width > 0 => {
                let (a, b) = (self.value(width), self.value(width));
                // Small numbers stay small: no overflow within a plan of this depth.
                add(a, b)
            }
            _ if width > 0 => col(self.rand.below(width as u64) as usize),
            _ => int(self.number()),
        }
    }

    fn predicate(&mut self, width: usize) -> Expr {
        let ops = [
            CompareOp::Eq,
            CompareOp::Ne,
            CompareOp::Lt,
            CompareOp::Le,
            CompareOp::Gt,
            CompareOp::Ge,
        ];
        match self.rand.below(8) {
            0 => Expr::And(vec![self.predicate(width), self.predicate(width)]),
            1 => Expr::Or(vec![self.predicate(width), self.predicate(width)]),
            2 => {
                let negated = self.chance(50);
                Expr::IsNull {
                    input: Box::new(self.value(width)),
                    negated,
                }
            }
            _ => {
                let op = ops[self.rand.below(6) as usize];
                let (a, b) = (self.value(width), self.value(width));
                compare(op, a, b)
            }
        }
    }

    fn range(&mut self, key_width: usize, outer: usize) -> KeyRange {
        let equal = self.rand.below(key_width as u64 + 1) as usize;
        let mut range = equal_range(self, equal, outer);
        if equal < key_width {
            for end in [&mut range.lower, &mut range.upper] {
                if self.chance(50) {
                    *end = Some(KeyBound {
                        value: self.value(outer),
                        inclusive: self.chance(50),
                    });
                }
            }
        }
        range
    }

    fn scan(&mut self, outer: usize) -> (Plan, usize) {
        let table = Arc::clone(&self.tables[usize::from(self.chance(30))]);
        let width = table.frame_width();
        let ranges = |generator: &mut Self, key_width| {
            let count = 1 + generator.rand.below(3);
            (0..count)
                .map(|_| generator.range(key_width, outer))
                .collect()
        };
        let path = match (table.primary_key.is_some(), self.rand.below(4)) {
            (_, 0) => Path::Full,
            (true, 1) => Path::Primary(ranges(self, 2)),
            (false, _) => Path::Index(0, ranges(self, 1)),
            (true, _) => {
                let number = self.rand.below(3) as usize;
                let width = table.indexes[number].columns.len();
                Path::Index(number, ranges(self, width))
            }
        };
        // The row id is a bigint; everything else expects integers.
        let visible = table.columns.len();
        let filter = self.chance(40).then(|| self.predicate(outer + visible));
        let reverse = self.chance(30);
        let access = Access {
            table,
            path,
            filter,
            reverse,
            offset: outer,
            needed: None,
            kept_after: None,
        };
        let scan = Plan::Scan(access);
        if visible == width {
            return (scan, width);
        }
        (project(scan, vec![col(outer), to_int4(outer + 1)]), width)
    }

    fn leaf(&mut self, outer: usize) -> (Plan, usize) {
        match self.rand.below(8) {
            0 => {
                let rows =
                    (0..self.rand.below(4)).map(|_| vec![self.value(outer), self.value(outer)]);
                let rows = rows.collect();
                (
                    Plan::Values {
                        rows,
                        types: vec![SqlType::Int4; 2],
                    },
                    2,
                )
            }
            1 => {
                let (start, stop) = (self.value(outer), self.value(outer));
                let step = int([1, 2, -1][self.rand.below(3) as usize]);
                (
                    Plan::Series {
                        start,
                        stop,
                        step,
                        ty: SqlType::Int4,
                    },
                    1,
                )
            }
            2 => {
                let elements = (0..self.rand.below(4)).map(|_| self.value(outer)).collect();
                (
                    Plan::Unnest {
                        array: Expr::Array {
                            elements,
                            element: SqlType::Int4,
                        },
                    },
                    1,
                )
            }
            _ => self.scan(outer),
        }
    }

    /// A plan and the width of its own frame, inside joins that give `outer` columns.
    fn plan(&mut self, depth: u32, outer: usize) -> (Plan, usize) {
        if depth == 0 {
            return self.leaf(outer);
        }
        if self.chance(35) {
            let (left, left_width) = self.plan(depth - 1, outer);
            let (right, right_width) = self.plan(depth - 1, outer + left_width);
            let width = left_width + right_width;
            let kind = if self.chance(40) {
                JoinKind::Left
            } else {
                JoinKind::Inner
            };
            let on = self
                .chance(60)
                .then(|| self.condition(outer, left_width, right_width));
            return (
                join(left, right, (outer + left_width, right_width), kind, on),
                width,
            );
        }
        let (input, width) = self.plan(depth - 1, outer);
        let seen = outer + width;
        let input = Box::new(input);
        match self.rand.below(7) {
            0 => {
                let predicate = self.predicate(seen);
                (Plan::Filter { input, predicate }, width)
            }
            1 => {
                let exprs: Vec<Expr> = (0..1 + self.rand.below(3))
                    .map(|_| self.value(seen))
                    .collect();
                let width = exprs.len();
                (Plan::Project { input, exprs }, width)
            }
            2 => {
                let keys: Vec<Expr> = (0..self.rand.below(3)).map(|_| self.value(seen)).collect();
                let calls: Vec<AggregateCall> = (0..1 + self.rand.below(2))
                    .map(|_| self.call(seen))
                    .collect();
                let width = keys.len() + calls.len();
                // Counts and sums are bigint; everything above expects integers.
                let exprs = (0..width).map(|place| match place.checked_sub(keys.len()) {
                    Some(call) if calls[call].ty == SqlType::Int8 => to_int4(outer + place),
                    _ => col(outer + place),
                });
                let exprs = exprs.collect();
                let input = Box::new(Plan::Aggregate {
                    input,
                    keys,
                    calls,
                    sets: vec![],
                });
                (Plan::Project { input, exprs }, width)
            }
            3 => {
                let keys = (0..1 + self.rand.below(2)).map(|_| SortKey {
                    expr: self.value(seen),
                    descending: self.chance(50),
                    nulls_first: self.chance(50),
                });
                let keys = keys.collect();
                let top = self
                    .chance(40)
                    .then(|| Box::new(constant(Value::Int8(self.rand.below(6) as i64))));
                (Plan::Sort { input, keys, top }, width)
            }
            4 => (Plan::Unique { input }, width),
            5 => {
                let mut count = || match self.rand.below(3) {
                    0 => None,
                    1 => Some(Expr::Const(Null, SqlType::Int8)),
                    _ => Some(constant(Value::Int8(self.rand.below(8) as i64))),
                };
                let (limit, offset) = (count(), count());
                (
                    Plan::Limit {
                        input,
                        limit,
                        offset,
                        ties: vec![],
                    },
                    width,
                )
            }
            _ => {
                let exprs: Vec<Expr> = (0..width).map(|_| self.value(outer)).collect();
                let single = Plan::Values {
                    rows: vec![exprs],
                    types: vec![SqlType::Int4; width],
                };
                (
                    Plan::Append {
                        inputs: vec![*input, single],
                    },
                    width,
                )
            }
        }
    }

    /// Mostly an equality between both sides, as joins have.
    fn condition(&mut self, outer: usize, left: usize, right: usize) -> Expr {
        if left == 0 || right == 0 || self.chance(30) {
            return self.predicate(outer + left + right);
        }
        let (l, r) = (
            self.rand.below(left as u64) as usize,
            self.rand.below(right as u64) as usize,
        );
        let equality = eq(col(outer + l), col(outer + left + r));
        if self.chance(30) {
            return Expr::And(vec![equality, self.predicate(outer + left + right)]);
        }
        equality
    }

    fn call(&mut self, seen: usize) -> AggregateCall {
        use AggregateFunction::*;
        let function = [CountRows, Count, Sum, Min, Max][self.rand.below(5) as usize];
        let ty = if matches!(function, Min | Max) {
            SqlType::Int4
        } else {
            SqlType::Int8
        };
        AggregateCall {
            function,
            args: if function == CountRows {
                vec![]
            } else {
                vec![self.value(seen)]
            },
            distinct: function != CountRows && self.chance(30),
            filter: self.chance(30).then(|| self.predicate(seen)),
            order: vec![],
            ty,
        }
    }
}

fn equal_range(generator: &mut Generator<'_>, equal: usize, outer: usize) -> KeyRange {
    let exprs = (0..equal).map(|_| match generator.rand.below(3) {
        0 => generator.value(outer),
        _ if outer > 0 => col(generator.rand.below(outer as u64) as usize),
        _ => int(generator.number()),
    });
    equal_exprs(exprs.collect())
}

fn equal_exprs(equal: Vec<Expr>) -> KeyRange {
    KeyRange {
        equal,
        lower: None,
        upper: None,
    }
}

fn to_int4(column: usize) -> Expr {
    Expr::Cast {
        input: Box::new(Expr::Column(column, SqlType::Int8)),
        to: SqlType::Int4,
        modifier: quintet_base::TypeMod::NONE,
        explicit: true,
    }
}

// ---- the comparison

/// Fills the tables in three layers: STORE, memtable, own writes; removes some rows again in each.
fn fill(
    direct: &Direct,
    txn: &mut Txn,
    t: &TableRef,
    u: &TableRef,
    rand: &mut Rand,
) -> [Vec<Row>; 2] {
    let small = |rand: &mut Rand| match rand.below(8) {
        0 => Null,
        n => Int4(n as i32 - 1),
    };
    for layer in 0..3 {
        let mut rows_t = vec![];
        for k1 in 0..5 {
            for k2 in 0..9 {
                if rand.below(3) == 0 {
                    rows_t.push(vec![Int4(k1), Int4(k2), small(rand), small(rand)]);
                }
            }
        }
        let rows_u = (0..rand.below(4)).map(|_| vec![small(rand)]).collect();
        let mut fresh = insert(t, rows_t);
        fresh.conflict = Some(quintet_ir::statement::OnConflict {
            arbiter: None,
            action: quintet_ir::statement::ConflictAction::Update {
                assignments: vec![(2, Expr::Column(6, SqlType::Int4))],
                filter: None,
            },
        });
        let gone = filter(full(t), eq(col(2), int(rand.below(8) as i32)));
        let statements = [
            Statement::Insert(fresh),
            Statement::Insert(insert(u, rows_u)),
            Statement::Delete(delete(t, gone)),
            Statement::Update(update(t, full(t), vec![(3, add(col(3), int(1)))])),
        ];
        for statement in statements {
            if layer < 2 {
                exec(direct, statement).count();
            } else {
                run(direct, txn, statement).count();
            }
        }
        if layer == 0 {
            direct.tc().compact().unwrap();
        }
        if layer == 1 {
            // Now the transaction begins to see what was committed.
            txn.begin_statement();
        }
    }
    [query(direct, txn, full(t)), query(direct, txn, full(u))]
}

fn compare_plans(seed: u64, plans: usize) {
    let mut rand = Rand::seeded(seed);
    let direct = engine();
    let (t, u) = tables();
    let mut txn = direct.begin(Level::ReadCommitted);
    txn.begin_statement();
    let [rows_t, rows_u] = fill(&direct, &mut txn, &t, &u, &mut rand);
    let contents = [(Arc::clone(&t), rows_t), (Arc::clone(&u), rows_u)];
    let params = [Int4(3)];
    let reference = Reference {
        tables: &contents,
        params: &params,
    };
    for number in 0..plans {
        let mut generator = Generator {
            rand: &mut rand,
            tables: [Arc::clone(&t), Arc::clone(&u)],
        };
        let depth = 1 + generator.rand.below(3) as u32;
        let (plan, _) = generator.plan(depth, 0);
        let mut call = Call::new(&direct, Statement::Query(plan.clone()));
        call.params = params.to_vec();
        // The same from a file.
        call.host.kept_memory = (number % 2 == 1).then_some(0);
        let found = call.go(&mut txn).rows();
        let expected = reference.rows(&plan, &[]);
        assert_eq!(found, expected, "seed {seed}, plan {number}: {plan:#?}");
    }
}

#[test]
fn random_plans_give_what_a_naive_evaluator_gives() {
    for seed in 1..=40 {
        compare_plans(seed, 100);
    }
}
