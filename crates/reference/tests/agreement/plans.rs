//! Random queries, and the access paths that statements begin with.
//!
//! Promises: plans are as the planner makes them: frames, offsets and types fit.  A query's frames are of the
//! types asked for.

use crate::dice::Dice;
use crate::exprs::{Exprs, cast};
use crate::tables::one_row;
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::aggregate::{AggregateCall, AggregateFunction, resolve_aggregate};
use quintet_ir::function::resolve;
use quintet_ir::plan::{
    JoinKind, KeptAfter, KeyBound, LockStrength, LockTarget, LockWait, SortKey, Turns,
};
use quintet_ir::schema::TableRef;
use quintet_ir::window::{
    Exclusion, FrameBound, FrameMode, WindowCall, WindowFrame, WindowFunction, offset_type,
};
use quintet_ir::{
    Access, CompareOp, Expr, KeyRange, Path, Plan, Sought, Subquery, SubqueryForm, Test,
};
use std::sync::Arc;

pub struct Plans<'a> {
    pub dice: &'a mut Dice,
    pub tables: &'a [TableRef],
    /// Types of the parameters.
    pub params: &'a [SqlType],
}

impl Plans<'_> {
    fn exprs<'e>(&'e mut self, columns: &'e [SqlType]) -> Exprs<'e> {
        Exprs::new(self.dice, self.params, columns)
    }

    pub fn table(&mut self) -> TableRef {
        Arc::clone(self.dice.pick(self.tables))
    }

    /// A value to compare a key column with, mostly a variable or a constant.
    fn key_value(&mut self, ty: SqlType) -> Expr {
        match self.dice.below(12) {
            0 => self.exprs(&[]).expr(ty, 1),
            // A value of another type, as an implicit conversion makes it fit.
            1 if ty == SqlType::Int4 => {
                let wide = self.exprs(&[]).leaf(SqlType::Int8);
                cast(wide, ty, TypeMod::NONE, true)
            }
            1 if ty == SqlType::Int8 => {
                let narrow = self.exprs(&[]).leaf(SqlType::Int4);
                cast(narrow, ty, TypeMod::NONE, false)
            }
            2..=4 => Expr::Const(self.dice.value(ty), ty),
            _ => match self.exprs(&[]).param(ty) {
                Some(param) => param,
                None => Expr::Const(self.dice.value(ty), ty),
            },
        }
    }

    /// The row with this key; all rows of a table that has none.
    pub fn point(&mut self, table: &TableRef) -> Access {
        let path = match &table.primary_key {
            Some(key) => {
                let equal = key
                    .columns
                    .iter()
                    .map(|column| self.key_value(table.columns[*column].ty))
                    .collect();
                Path::Primary(vec![KeyRange {
                    equal,
                    ..KeyRange::default()
                }])
            }
            None => Path::Full,
        };
        access(table, path, 0)
    }

    /// Rows of a table by any path.
    pub fn any_access(&mut self, table: &TableRef) -> Access {
        let index = match table.indexes.len() {
            0 => None,
            count if self.dice.one_in(2) => Some(self.dice.below(count)),
            _ => None,
        };
        if let Some(number) = index
            && table.indexes[number].is_inverted()
        {
            return self.elements(table, number, &[]);
        }
        let columns = match index {
            Some(number) => table.indexes[number].columns.clone(),
            None => table.key_columns(),
        };
        let path = match (index, self.dice.below(4)) {
            (None, 0 | 1) => Path::Full,
            (index, _) => {
                let count = [1, 1, 1, 2][self.dice.below(4)];
                let ranges = (0..count).map(|_| self.range(table, &columns)).collect();
                match index {
                    Some(number) => Path::Index(number, ranges),
                    None => Path::Primary(ranges),
                }
            }
        };
        let mut access = access(table, path, 0);
        access.reverse = self.dice.one_in(3);
        if self.dice.one_in(3) {
            let types = frame_types(table);
            access.filter = Some(self.exprs(&types).total().condition(2));
        }
        access
    }

    /// Rows with elements, behind an outer frame of these types, one of which may be what is sought.
    fn elements(&mut self, table: &TableRef, number: usize, outer: &[SqlType]) -> Access {
        let column = table.indexes[number].columns[0];
        let ty = table.frame_type(column);
        let own = Expr::Column(outer.len() + column, ty);
        let given = |place: &usize| outer[*place] == ty;
        let given: Vec<usize> = (0..outer.len()).filter(given).collect();
        let (mut sought, mut conditions) = (Vec::new(), Vec::new());
        for _ in 0..self.dice.between(1, 2) {
            let tests = [
                Test::Contains,
                Test::IsContained,
                Test::Overlaps,
                Test::Equals,
            ];
            let test = *self.dice.pick(&tests);
            let value = match given.is_empty() || self.dice.one_in(3) {
                true => self.key_value(ty),
                false => Expr::Column(*self.dice.pick(&given), ty),
            };
            let (left, right) = (Box::new(own.clone()), Box::new(value.clone()));
            conditions.push(match test {
                Test::Equals => Expr::Compare {
                    op: CompareOp::Eq,
                    left,
                    right,
                },
                test => Expr::Call {
                    function: resolve(test.symbol(), &[ty, ty])
                        .expect("arrays have it")
                        .function,
                    args: vec![*left, *right],
                    ty: SqlType::Bool,
                },
            });
            sought.push(Sought {
                place: 0,
                test,
                value,
            });
        }
        let mut access = access(table, Path::Elements(number, sought), outer.len());
        access.filter = match conditions.len() {
            1 => conditions.pop(),
            _ => Some(Expr::And(conditions)),
        };
        access
    }

    fn range(&mut self, table: &TableRef, columns: &[usize]) -> KeyRange {
        let equal = self.dice.below(columns.len() + 1);
        let mut range = KeyRange::default();
        for column in &columns[..equal] {
            range.equal.push(self.key_value(table.frame_type(*column)));
        }
        if let Some(column) = columns.get(equal) {
            let ty = table.frame_type(*column);
            if self.dice.one_in(2) {
                range.lower = Some(self.key_bound(ty));
            }
            if self.dice.one_in(2) {
                range.upper = Some(self.key_bound(ty));
            }
        }
        range
    }

    fn key_bound(&mut self, ty: SqlType) -> KeyBound {
        KeyBound {
            value: self.key_value(ty),
            inclusive: self.dice.one_in(2),
        }
    }

    /// `SELECT exprs FROM table WHERE key = …`, sometimes locking.
    pub fn point_query(&mut self, types: &[SqlType]) -> Plan {
        let table = self.table();
        let mut access = self.point(&table);
        let frame = frame_types(&table);
        if self.dice.one_in(5) {
            access.filter = Some(self.exprs(&frame).condition(2));
        }
        let locks = self.dice.one_in(4);
        let exprs: Vec<Expr> = types
            .iter()
            .map(|ty| match locks && table.primary_key.is_none() {
                true => self.exprs(&frame).total().expr(*ty, 2),
                false => self.output(*ty, &frame),
            })
            .collect();
        if locks {
            let plan = lock(&table, Plan::Scan(access));
            return project(plan, exprs);
        }
        if self.dice.one_in(2) {
            access.needed = Some(needed(&exprs, access.filter.as_ref(), frame.len()));
        }
        project(Plan::Scan(access), exprs)
    }

    /// A column of the type if there is one, mostly.
    fn output(&mut self, ty: SqlType, frame: &[SqlType]) -> Expr {
        let fitting: Vec<usize> = (0..frame.len()).filter(|n| frame[*n] == ty).collect();
        match fitting.is_empty() || self.dice.one_in(4) {
            true => self.exprs(frame).expr(ty, 2),
            false => Expr::Column(*self.dice.pick(&fitting), ty),
        }
    }

    /// A query of any kind. `total`: one that cannot fail but by its keys.
    pub fn query(&mut self, types: &[SqlType], mut total: bool) -> Plan {
        let mut plan = self.source();
        let scanned = match &plan {
            Plan::Scan(access) => Some(Arc::clone(&access.table)),
            _ => None,
        };
        let locked = scanned.filter(|_| self.dice.one_in(6));
        let mut frame = plan.frame_types();
        if self.dice.one_in(4) {
            let predicate = self.exprs(&frame).total().condition(2);
            plan = Plan::Filter {
                input: Box::new(plan),
                predicate,
            };
        }
        if locked.is_none() && self.dice.one_in(4) {
            let predicate = self.asked(&frame);
            plan = Plan::Filter {
                input: Box::new(plan),
                predicate,
            };
        }
        if locked.is_none() && self.dice.one_in(5) {
            plan = self.aggregate(plan, &frame);
            frame = plan.frame_types();
        }
        if locked.is_none() && self.dice.one_in(5) {
            plan = self.window(plan, &frame);
            frame = plan.frame_types();
        }
        if self.dice.one_in(3) {
            let keys = (0..self.dice.between(1, 2))
                .map(|_| self.sort_key(&frame))
                .collect();
            plan = Plan::Sort {
                input: Box::new(plan),
                keys,
                top: None,
            };
        }
        if locked.is_none() && self.dice.one_in(8) && !frame.is_empty() {
            let ties = vec![self.total_key(&frame)];
            plan = Plan::Limit {
                input: Box::new(Plan::Sort {
                    input: Box::new(plan),
                    keys: ties.clone(),
                    top: None,
                }),
                limit: Some(Expr::Const(
                    Value::Int8(self.dice.below(4) as i64),
                    SqlType::Int8,
                )),
                offset: self.row_count(),
                ties,
            };
        }
        if let Some(table) = locked {
            plan = lock(&table, plan);
            // Such a query is run to its end, whatever is wanted of it.
            total = true;
        }
        let exprs = types
            .iter()
            .map(|ty| match total {
                true => self.exprs(&frame).total().expr(*ty, 1),
                false => self.output(*ty, &frame),
            })
            .collect();
        plan = project(plan, exprs);
        if self.dice.one_in(6) {
            plan = Plan::Unique {
                input: Box::new(plan),
            };
        }
        if self.dice.one_in(4) {
            plan = Plan::Limit {
                input: Box::new(plan),
                limit: self.row_count(),
                offset: self.row_count(),
                ties: vec![],
            };
        }
        if self.dice.one_in(10) {
            plan = self.with(plan);
        }
        if self.dice.one_in(10) {
            let rows = vec![types.iter().map(|ty| self.exprs(&[]).leaf(*ty)).collect()];
            let other = Plan::Values {
                rows,
                types: types.to_vec(),
            };
            plan = Plan::Append {
                inputs: vec![plan, other],
            };
        }
        plan
    }

    fn source(&mut self) -> Plan {
        match self.dice.below(12) {
            0 => one_row(),
            1 => {
                let int = |value| Expr::Const(Value::Int4(value), SqlType::Int4);
                Plan::Series {
                    start: self.exprs(&[]).leaf(SqlType::Int4),
                    stop: int(4),
                    step: int([1, 1, 2][self.dice.below(3)]),
                    ty: SqlType::Int4,
                }
            }
            2 => Plan::Unnest {
                array: self.exprs(&[]).total().expr(SqlType::Int4Array, 1),
            },
            3 | 4 => self.join(),
            5 => self.full_join(),
            6..=8 => self.lateral(),
            _ => {
                let table = self.table();
                Plan::Scan(self.any_access(&table))
            }
        }
    }

    /// Places of equal types in two frames, if there are some.
    fn pair(&mut self, outer: &[SqlType], own: &[SqlType]) -> Option<(usize, usize, SqlType)> {
        let places = (0..outer.len()).flat_map(|o| (0..own.len()).map(move |i| (o, i)));
        let fitting: Vec<(usize, usize)> = places.filter(|(o, i)| outer[*o] == own[*i]).collect();
        let (o, i) = *(!fitting.is_empty()).then(|| self.dice.pick(&fitting))?;
        Some((o, i, own[i]))
    }

    /// Rows of a table, mostly those of which a column equals something that is handed over; which column, and of
    /// which type it is.
    fn handed(&mut self, outer: &[SqlType]) -> (Plan, Vec<Expr>, usize) {
        let table = self.table();
        let own = frame_types(&table);
        let scan = Plan::Scan(self.any_access(&table));
        let key = table.key_columns()[0];
        let fitting: Vec<usize> = (0..outer.len())
            .filter(|place| outer[*place] == own[key])
            .collect();
        if !fitting.is_empty() && self.dice.one_in(3) {
            // Asked by key, and after some questions no more.
            let range = KeyRange {
                equal: vec![Expr::Outer(0, own[key])],
                ..KeyRange::default()
            };
            let mut asked = access(&table, Path::Primary(vec![range]), 0);
            asked.kept_after = Some(KeptAfter {
                asked: self.dice.below(3) as u64,
                rows: 0,
            });
            let handed = Expr::Column(*self.dice.pick(&fitting), own[key]);
            let column = self.dice.below(own.len());
            return (Plan::Scan(asked), vec![handed], column);
        }
        let Some((o, i, ty)) = self.pair(outer, &own).filter(|_| !self.dice.one_in(5)) else {
            return (scan, vec![], 0);
        };
        let column = Expr::Column(i, ty);
        let plan = match self.dice.one_in(2) {
            true => Plan::Lookup {
                input: Box::new(scan),
                keys: vec![column],
                values: vec![Expr::Outer(0, ty)],
            },
            false => Plan::Filter {
                input: Box::new(scan),
                predicate: Expr::Compare {
                    op: *self
                        .dice
                        .pick(&[CompareOp::Eq, CompareOp::Le, CompareOp::Ne]),
                    left: Box::new(column),
                    right: Box::new(Expr::Outer(0, ty)),
                },
            },
        };
        (plan, vec![Expr::Column(o, ty)], self.dice.below(own.len()))
    }

    /// Two tables, joined by an equality of which one side looks at what is handed over, or at frames of WITH that are made by
    /// it. The join may be kept by an executor from one run to the next, and what it keeps must not be.
    fn joined_by_handed(&mut self, outer: &[SqlType]) -> Option<(Plan, Vec<Expr>)> {
        let (left, right) = (self.table(), self.table());
        let (own, other) = (frame_types(&left), frame_types(&right));
        let (o, i, ty) = self.pair(&own, &other)?;
        let fitting: Vec<usize> = (0..outer.len()).filter(|n| outer[*n] == ty).collect();
        let handed = *(!fitting.is_empty()).then(|| self.dice.pick(&fitting))?;
        let width = own.len();
        let both = |column| Expr::Extreme {
            greatest: true,
            args: vec![Expr::Column(column, ty), Expr::Outer(0, ty)],
            ty,
        };
        let compare = |op, left, right| Expr::Compare {
            op,
            left: Box::new(left),
            right: Box::new(right),
        };
        let joined = |inner, on| Plan::Join {
            outer: Box::new(Plan::Scan(access(&left, Path::Full, 0))),
            inner: Box::new(inner),
            outer_width: width,
            inner_width: other.len(),
            kind: JoinKind::Inner,
            on: Some(on),
        };
        let column = Expr::Column(o, ty);
        let plan = match self.dice.below(3) {
            0 => {
                let on = compare(CompareOp::Eq, column, both(width + i));
                joined(Plan::Scan(access(&right, Path::Full, width)), on)
            }
            1 => {
                let on = compare(CompareOp::Eq, both(o), Expr::Column(width + i, ty));
                joined(Plan::Scan(access(&right, Path::Full, width)), on)
            }
            _ => {
                let number = 2;
                let given = Plan::Given {
                    number,
                    types: other.clone(),
                    turning: false,
                };
                let on = compare(CompareOp::Eq, column, Expr::Column(width + i, ty));
                Plan::With {
                    number,
                    first: Box::new(Plan::Filter {
                        input: Box::new(Plan::Scan(access(&right, Path::Full, 0))),
                        predicate: compare(CompareOp::Le, Expr::Column(i, ty), Expr::Outer(0, ty)),
                    }),
                    then: Box::new(joined(given, on)),
                    turns: Turns::Once,
                }
            }
        };
        Some((plan, vec![Expr::Column(handed, ty)]))
    }

    /// A condition with a query in it that cannot fail.
    fn asked(&mut self, frame: &[SqlType]) -> Expr {
        let (plan, outer, column) = self.handed(frame);
        let ty = plan.frame_types()[column];
        let part = |form, outer, tested, plan, ty| {
            Expr::Subquery(Box::new(Subquery {
                form,
                outer,
                tested,
                plan: Arc::new(plan),
                ty,
            }))
        };
        let only = |plan| project(plan, vec![Expr::Column(column, ty)]);
        let bool = SqlType::Bool;
        let condition = match self.dice.below(4) {
            0 => part(SubqueryForm::Exists, outer, vec![], plan, bool),
            1 => {
                let count = AggregateCall {
                    function: AggregateFunction::CountRows,
                    args: vec![],
                    distinct: false,
                    filter: None,
                    order: vec![],
                    ty: SqlType::Int8,
                };
                let plan = Plan::Aggregate {
                    input: Box::new(plan),
                    keys: vec![],
                    sets: vec![],
                    calls: vec![count],
                };
                Expr::Compare {
                    op: CompareOp::Lt,
                    left: Box::new(Expr::Const(Value::Int8(1), SqlType::Int8)),
                    right: Box::new(part(
                        SubqueryForm::Value(0),
                        outer,
                        vec![],
                        plan,
                        SqlType::Int8,
                    )),
                }
            }
            _ => {
                let tested = vec![self.exprs(frame).total().expr(ty, 1)];
                let ops = [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt];
                let form = SubqueryForm::Compare {
                    op: *self.dice.pick(&ops),
                    all: self.dice.one_in(2),
                };
                part(form, outer, tested, only(plan), bool)
            }
        };
        match self.dice.one_in(3) {
            true => Expr::Not(Box::new(condition)),
            false => condition,
        }
    }

    /// A table, and for each of its rows those of another one, or of two.
    fn lateral(&mut self) -> Plan {
        let left = self.table();
        let types = frame_types(&left);
        let joined = self.dice.one_in(2).then(|| self.joined_by_handed(&types));
        // What an executor keeps shows only when there are several rows.
        let outer = match joined {
            Some(Some(_)) => access(&left, Path::Full, 0),
            _ => self.any_access(&left),
        };
        let outer = Plan::Scan(outer);
        let (input, handed) = joined.flatten().unwrap_or_else(|| {
            let (input, handed, _) = self.handed(&types);
            (input, handed)
        });
        Plan::Join {
            outer: Box::new(outer),
            outer_width: types.len(),
            inner_width: input.frame_types().len(),
            inner: Box::new(Plan::Lateral {
                input: Box::new(input),
                outer: handed,
            }),
            kind: *self.dice.pick(&[JoinKind::Inner, JoinKind::Left]),
            on: None,
        }
    }

    /// Two tables, with the rows of both that have no match.
    fn full_join(&mut self) -> Plan {
        let (left, right) = (self.table(), self.table());
        let (mut one, mut two) = (frame_types(&left), frame_types(&right));
        let width = one.len();
        let on = self.pair(&one, &two).map(|(o, i, ty)| Expr::Compare {
            op: *self
                .dice
                .pick(&[CompareOp::Eq, CompareOp::Eq, CompareOp::Lt]),
            left: Box::new(Expr::Column(o, ty)),
            right: Box::new(Expr::Column(width + i, ty)),
        });
        let outer = self.any_access(&left);
        one.append(&mut two);
        let more = self
            .dice
            .one_in(3)
            .then(|| self.exprs(&one).total().condition(1));
        let on = match (on, more) {
            (Some(on), Some(more)) => Some(Expr::And(vec![on, more])),
            (on, more) => on.or(more),
        };
        Plan::Join {
            outer: Box::new(Plan::Scan(outer)),
            inner: Box::new(Plan::Scan(access(&right, Path::Full, width))),
            outer_width: width,
            inner_width: right.frame_width(),
            kind: JoinKind::Full,
            on,
        }
    }

    /// Two tables, the second by a key that the first one gives where types allow.
    fn join(&mut self) -> Plan {
        let left = self.table();
        let outer = self.any_access(&left);
        self.join_to(outer)
    }

    /// Rows of a table with those of another one behind them.
    pub fn join_to(&mut self, outer: Access) -> Plan {
        let left = Arc::clone(&outer.table);
        let right = self.table();
        let outer_types = frame_types(&left);
        let outer_width = outer_types.len();
        let columns = match &right.indexes[..] {
            [index, ..] if self.dice.one_in(2) => (Some(0), index.columns[0]),
            _ => (None, right.key_columns()[0]),
        };
        let is_inverted = columns.0.is_some() && right.indexes[0].is_inverted();
        let ty = right.frame_type(columns.1);
        let fitting: Vec<usize> = (0..outer_width)
            .filter(|place| outer_types[*place] == ty)
            .collect();
        let path = match fitting.is_empty() || self.dice.one_in(4) {
            true => Path::Full,
            false => {
                let range = KeyRange {
                    equal: vec![Expr::Column(*self.dice.pick(&fitting), ty)],
                    ..KeyRange::default()
                };
                match columns.0 {
                    Some(number) => Path::Index(number, vec![range]),
                    None => Path::Primary(vec![range]),
                }
            }
        };
        let mut inner = match is_inverted {
            true => self.elements(&right, 0, &outer_types),
            false => access(&right, path, outer_width),
        };
        let mut joined = outer_types;
        joined.extend(frame_types(&right));
        if inner.filter.is_none() && self.dice.one_in(3) {
            inner.filter = Some(self.exprs(&joined).total().condition(1));
        }
        if !self.dice.one_in(4) {
            let asked = self.dice.below(3) as u64;
            inner.kept_after = Some(KeptAfter { asked, rows: 0 });
        }
        let on = self.dice.one_in(3);
        Plan::Join {
            outer: Box::new(Plan::Scan(outer)),
            inner: Box::new(Plan::Scan(inner)),
            outer_width,
            inner_width: right.frame_width(),
            kind: *self.dice.pick(&[JoinKind::Inner, JoinKind::Left]),
            on: on.then(|| self.exprs(&joined).total().condition(1)),
        }
    }

    /// A query whose rows are kept, and read twice or turned over until nothing new comes.
    fn with(&mut self, first: Plan) -> Plan {
        let given = |turning| Plan::Given {
            number: 1,
            types: first.frame_types(),
            turning,
        };
        let turns = *self.dice.pick(&[Turns::Once, Turns::UntilNothingNew]);
        let then = match turns {
            Turns::Once => Plan::Append {
                inputs: vec![given(false), given(false)],
            },
            _ => given(true),
        };
        Plan::With {
            number: 1,
            first: Box::new(first),
            then: Box::new(then),
            turns,
        }
    }

    /// Functions over a window, sorted for it.
    fn window(&mut self, input: Plan, frame: &[SqlType]) -> Plan {
        let some = if frame.is_empty() { 0 } else { 2 };
        let keys: Vec<SortKey> = (0..self.dice.below(some + 1))
            .map(|_| self.total_key(frame))
            .collect();
        let order: Vec<SortKey> = (0..self.dice.below(some + 1))
            .map(|_| self.total_key(frame))
            .collect();
        let calls = (0..self.dice.between(1, 3))
            .map(|_| self.window_call(frame, &order))
            .collect();
        Plan::Window {
            partition: keys.iter().map(|key| key.expr.clone()).collect(),
            input: Box::new(Plan::Sort {
                input: Box::new(input),
                keys: keys.into_iter().chain(order.clone()).collect(),
                top: None,
            }),
            order,
            calls,
        }
    }

    fn total_key(&mut self, frame: &[SqlType]) -> SortKey {
        let ty = *self.dice.pick(frame);
        SortKey {
            expr: self.exprs(frame).total().leaf(ty),
            descending: self.dice.one_in(2),
            nulls_first: self.dice.one_in(2),
        }
    }

    fn window_call(&mut self, frame: &[SqlType], order: &[SortKey]) -> WindowCall {
        use WindowFunction::*;
        let function = *self.dice.pick(&[
            RowNumber,
            Rank,
            DenseRank,
            Ntile,
            Lag,
            Lead,
            FirstValue,
            LastValue,
            NthValue,
            Aggregate(AggregateFunction::Sum),
            Aggregate(AggregateFunction::CountRows),
            Aggregate(AggregateFunction::ArrayAgg),
        ]);
        let value = self.exprs(frame).total().leaf(SqlType::Int4);
        let number = Expr::Const(Value::Int4(self.dice.between(1, 3) as i32), SqlType::Int4);
        let (args, ty) = match function {
            RowNumber | Rank | DenseRank => (vec![], SqlType::Int8),
            Ntile => (vec![number], SqlType::Int4),
            Lag | Lead | NthValue => (vec![value, number], SqlType::Int4),
            FirstValue | LastValue => (vec![value], SqlType::Int4),
            Aggregate(AggregateFunction::CountRows) => (vec![], SqlType::Int8),
            Aggregate(AggregateFunction::ArrayAgg) => (vec![value], SqlType::Int4Array),
            _ => (vec![value], SqlType::Int8),
        };
        let measured = match order {
            [key] => offset_type(key.expr.ty()) == Some(SqlType::Int8),
            _ => false,
        };
        let modes: &[FrameMode] = match measured {
            true => &[FrameMode::Rows, FrameMode::Groups, FrameMode::Range],
            false => &[FrameMode::Rows, FrameMode::Groups],
        };
        let mut offset = || Expr::Const(Value::Int8(self.dice.below(4) as i64), SqlType::Int8);
        let (near, far) = (offset(), offset());
        let starts = [
            FrameBound::UnboundedPreceding,
            FrameBound::Preceding(near.clone()),
            FrameBound::CurrentRow,
            FrameBound::Following(near),
        ];
        let ends = [
            FrameBound::Preceding(far.clone()),
            FrameBound::CurrentRow,
            FrameBound::Following(far),
            FrameBound::UnboundedFollowing,
        ];
        use Exclusion::{CurrentRow, Group, Nothing, Ties};
        WindowCall {
            function,
            args,
            filter: None,
            frame: WindowFrame {
                mode: *self.dice.pick(modes),
                start: self.dice.pick(&starts).clone(),
                end: self.dice.pick(&ends).clone(),
                exclusion: *self.dice.pick(&[Nothing, Nothing, CurrentRow, Group, Ties]),
            },
            ty,
        }
    }

    fn aggregate(&mut self, input: Plan, frame: &[SqlType]) -> Plan {
        let keys = match frame.is_empty() {
            true => Vec::new(),
            false => (0..self.dice.below(3))
                .map(|_| {
                    let ty = *self.dice.pick(frame);
                    self.exprs(frame).total().leaf(ty)
                })
                .collect(),
        };
        let calls = (0..self.dice.between(1, 3))
            .filter_map(|_| self.aggregate_call(frame))
            .collect();
        let mut sets = Vec::new();
        if self.dice.one_in(3) {
            for _ in 0..self.dice.between(2, 3) {
                sets.push((0..keys.len()).filter(|_| self.dice.one_in(2)).collect());
            }
        }
        Plan::Aggregate {
            input: Box::new(input),
            keys,
            calls,
            sets,
        }
    }

    fn aggregate_call(&mut self, frame: &[SqlType]) -> Option<AggregateCall> {
        let name = *self
            .dice
            .pick(&["count", "sum", "avg", "min", "max", "array_agg", "bool_or"]);
        let args = match name {
            "count" if self.dice.one_in(2) => vec![],
            _ => {
                let ty = match frame.is_empty() {
                    true => SqlType::Int4,
                    false => *self.dice.pick(frame),
                };
                vec![self.exprs(frame).total().leaf(ty)]
            }
        };
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let (function, wanted, ty) = resolve_aggregate(name, &types)?.ok()?;
        if wanted != types {
            return None;
        }
        let filter = self.dice.one_in(4);
        let order = !args.is_empty() && self.dice.one_in(4);
        Some(AggregateCall {
            function,
            distinct: !args.is_empty() && !order && self.dice.one_in(4),
            filter: filter.then(|| self.exprs(frame).total().condition(1)),
            order: match order {
                true => vec![self.sort_key(frame)],
                false => vec![],
            },
            args,
            ty,
        })
    }

    fn sort_key(&mut self, frame: &[SqlType]) -> SortKey {
        let ty = match frame.is_empty() {
            true => SqlType::Int4,
            false => *self.dice.pick(frame),
        };
        SortKey {
            expr: self.exprs(frame).total().leaf(ty),
            descending: self.dice.one_in(2),
            nulls_first: self.dice.one_in(2),
        }
    }

    fn row_count(&mut self) -> Option<Expr> {
        let count = match self.dice.below(12) {
            0 => return None,
            1 => Value::Null,
            2 => Value::Int8(-1),
            _ => Value::Int8(self.dice.below(4) as i64),
        };
        Some(Expr::Const(count, SqlType::Int8))
    }
}

pub fn frame_types(table: &TableRef) -> Vec<SqlType> {
    let columns = 0..table.frame_width();
    columns.map(|column| table.frame_type(column)).collect()
}

pub fn access(table: &TableRef, path: Path, offset: usize) -> Access {
    Access {
        table: Arc::clone(table),
        path,
        filter: None,
        reverse: false,
        offset,
        needed: None,
        kept_after: None,
    }
}

pub fn project(input: Plan, exprs: Vec<Expr>) -> Plan {
    Plan::Project {
        input: Box::new(input),
        exprs,
    }
}

fn lock(table: &TableRef, input: Plan) -> Plan {
    Plan::Lock {
        input: Box::new(input),
        targets: vec![LockTarget {
            table: Arc::clone(table),
            offset: 0,
            strength: LockStrength::Update,
            wait: LockWait::Block,
        }],
    }
}

/// The columns that somebody looks at.
fn needed(exprs: &[Expr], filter: Option<&Expr>, width: usize) -> Vec<bool> {
    let mut used = Vec::new();
    for expr in exprs.iter().chain(filter) {
        expr.collect_columns(&mut used);
    }
    (0..width).map(|column| used.contains(&column)).collect()
}
