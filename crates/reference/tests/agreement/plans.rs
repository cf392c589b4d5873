//! Random queries, and the access paths that statements begin with.
//!
//! Promises: plans are as the planner makes them: frames, offsets and types fit.  A query's frames are of the
//! types asked for.

use crate::dice::Dice;
use crate::exprs::{Exprs, cast};
use crate::tables::one_row;
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::aggregate::{AggregateCall, resolve_aggregate};
use quintet_ir::plan::{JoinKind, KeyBound, LockStrength, LockTarget, LockWait, SortKey};
use quintet_ir::schema::TableRef;
use quintet_ir::{Access, Expr, KeyRange, Path, Plan};
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
        if locked.is_none() && self.dice.one_in(5) {
            plan = self.aggregate(plan, &frame);
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
            };
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
        match self.dice.below(10) {
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
            _ => {
                let table = self.table();
                Plan::Scan(self.any_access(&table))
            }
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
        let mut inner = access(&right, path, outer_width);
        let mut joined = outer_types;
        joined.extend(frame_types(&right));
        if self.dice.one_in(3) {
            inner.filter = Some(self.exprs(&joined).total().condition(1));
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
        Plan::Aggregate {
            input: Box::new(input),
            keys,
            calls,
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
