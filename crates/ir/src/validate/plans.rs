//! Statements and plans: frames fit, columns are there.

use super::{Checked, Checker};
use crate::aggregate::AggregateCall;
use crate::elements::Sought;
use crate::expr::Expr;
use crate::expressions::each_of_node;
use crate::plan::{Access, JoinKind, KeyRange, Path, Plan, SortKey, Turns};
use crate::schema::TableDef;
use crate::statement::{Arbiter, ConflictAction, Insert, OnConflict, Statement};
use crate::window::{FrameMode, WindowCall, offset_type};
use quintet_base::SqlType;
use quintet_base::types::TypeFamily;

impl Statement {
    /// Types of the rows that it gives: of a statement that writes, what RETURNING gives.
    pub fn row_types(&self) -> Vec<SqlType> {
        let types =
            |exprs: &Option<Vec<Expr>>| exprs.iter().flatten().map(Expr::ty).collect::<Vec<_>>();
        match self {
            Statement::Query(plan) => plan.frame_types(),
            Statement::Insert(insert) => types(&insert.returning),
            Statement::Update(update) => types(&update.returning),
            Statement::Delete(delete) => types(&delete.returning),
        }
    }
}

fn frame(table: &TableDef) -> Vec<SqlType> {
    let columns = 0..table.frame_width();
    columns.map(|column| table.frame_type(column)).collect()
}

impl Checker<'_> {
    /// A statement; the types of its rows.
    pub(super) fn statement(&mut self, statement: &Statement) -> Checked<Vec<SqlType>> {
        self.within(statement.tag(), |checker| match statement {
            Statement::Query(plan) => checker.plan(plan, &[]).map(drop),
            Statement::Insert(insert) => checker.insert(insert),
            Statement::Update(update) => {
                let types = checker.source(&update.source, &update.table)?;
                checker.assignments(&update.table, &update.assignments, &types)?;
                checker.each(update.returning.as_deref().unwrap_or_default(), &types)
            }
            Statement::Delete(delete) => {
                let types = checker.source(&delete.source, &delete.table)?;
                checker.each(delete.returning.as_deref().unwrap_or_default(), &types)
            }
        })?;
        Ok(statement.row_types())
    }

    /// Rows to change: the table's frame comes first.
    fn source(&mut self, source: &Plan, table: &TableDef) -> Checked<Vec<SqlType>> {
        let types = self.plan(source, &[])?;
        self.wants(types.starts_with(&frame(table)), || {
            format!(
                "the rows to change do not begin with those of {}",
                table.name
            )
        })?;
        Ok(types)
    }

    fn assignments(
        &mut self,
        table: &TableDef,
        assignments: &[(usize, Expr)],
        frame: &[SqlType],
    ) -> Checked<()> {
        for (number, value) in assignments {
            let Some(column) = table.columns.get(*number) else {
                return self.fault(format!("{} has no column {number}", table.name));
            };
            let what = format!("the value of column \"{}\"", column.name);
            self.typed(value, frame, column.ty, &what)?;
            self.wants(!column.dropped, || {
                format!("column {number} of {} was dropped", table.name)
            })?;
        }
        Ok(())
    }

    fn insert(&mut self, insert: &Insert) -> Checked<()> {
        let table = &insert.table;
        let source = self.plan(&insert.source, &[])?;
        self.wants(insert.values.len() == table.columns.len(), || {
            let (values, columns) = (insert.values.len(), table.columns.len());
            format!("{values} values for {columns} columns of {}", table.name)
        })?;
        for (value, column) in insert.values.iter().zip(&table.columns) {
            let what = format!("the value of column \"{}\"", column.name);
            self.typed(value, &source, column.ty, &what)?;
        }
        if let Some(conflict) = &insert.conflict {
            self.conflict(conflict, table)?;
        }
        let returning = insert.returning.as_deref().unwrap_or_default();
        let mut types = frame(table);
        types.extend(insert.updates().then_some(SqlType::Bool));
        self.each(returning, &types)
    }

    fn conflict(&mut self, conflict: &OnConflict, table: &TableDef) -> Checked<()> {
        let is_key = match conflict.arbiter {
            None => matches!(conflict.action, ConflictAction::Nothing),
            Some(Arbiter::Primary) => table.primary_key.is_some(),
            Some(Arbiter::Index(number)) => {
                table.indexes.get(number).is_some_and(|index| index.unique)
            }
        };
        self.wants(is_key, || {
            format!("{:?} of {} is no unique key", conflict.arbiter, table.name)
        })?;
        let ConflictAction::Update {
            assignments,
            filter,
        } = &conflict.action
        else {
            return Ok(());
        };
        let mut types = frame(table);
        types.extend(table.columns.iter().map(|column| column.ty));
        self.assignments(table, assignments, &types)?;
        let mut filter = filter.iter();
        filter.try_for_each(|filter| self.typed(filter, &types, SqlType::Bool, "a condition"))
    }

    /// A plan behind an outer frame; the types of its own.
    pub(super) fn plan(&mut self, plan: &Plan, outer: &[SqlType]) -> Checked<Vec<SqlType>> {
        self.within(name(plan), |checker| checker.node(plan, outer))
    }

    fn node(&mut self, plan: &Plan, outer: &[SqlType]) -> Checked<Vec<SqlType>> {
        let bool = SqlType::Bool;
        match plan {
            Plan::Values { rows, types } => {
                for row in rows {
                    self.each(row, outer)?;
                    let given: Vec<SqlType> = row.iter().map(Expr::ty).collect();
                    self.wants(given == *types, || {
                        format!("a row of {given:?} among rows of {types:?}")
                    })?;
                }
            }
            Plan::Scan(access) => self.access(access, outer)?,
            Plan::Series {
                start,
                stop,
                step,
                ty,
            } => {
                for bound in [start, stop, step] {
                    self.typed(bound, outer, *ty, "a bound")?;
                }
            }
            Plan::Unnest { array } => {
                self.expr(array, outer)?;
                self.wants(array.ty().element().is_some(), || {
                    format!("{} has no elements", array.ty())
                })?;
            }
            Plan::Call {
                callee,
                arguments,
                types,
            } => {
                self.called(callee, (arguments, outer), types)?;
            }
            Plan::Lateral {
                input,
                outer: given,
            } => {
                self.each(given, outer)?;
                let types = given.iter().map(Expr::ty).collect();
                return self.handed(types, |checker| checker.plan(input, &[]));
            }
            Plan::Lookup {
                input,
                keys,
                values,
            } => {
                let types = self.handed(Vec::new(), |checker| checker.plan(input, &[]))?;
                self.each(keys, &types)?;
                self.each(values, outer)?;
                let fits = keys.iter().map(Expr::ty).eq(values.iter().map(Expr::ty));
                self.wants(fits, || "keys and values do not fit".to_string())?;
            }
            Plan::Hold { input } | Plan::Unique { input } => return self.plan(input, outer),
            Plan::Join {
                outer: left,
                inner,
                outer_width,
                inner_width,
                kind,
                on,
            } => {
                let left = self.plan(left, outer)?;
                let visible = [outer, &left].concat();
                let right = self.plan(inner, &visible)?;
                let alone = *kind != JoinKind::Full || !uses_below(inner, visible.len());
                self.wants(alone, || {
                    "the inner side of a full join looks at the outer one".to_string()
                })?;
                self.wants(*outer_width == left.len(), || {
                    format!("the outer frame is {} wide, not {outer_width}", left.len())
                })?;
                self.wants(*inner_width == right.len(), || {
                    format!("the inner frame is {} wide, not {inner_width}", right.len())
                })?;
                let joined = [visible, right].concat();
                let mut on = on.iter();
                on.try_for_each(|on| self.typed(on, &joined, bool, "a condition"))?;
            }
            Plan::Filter { input, predicate } => {
                let types = self.plan(input, outer)?;
                let visible = [outer, &types].concat();
                self.typed(predicate, &visible, bool, "a condition")?;
            }
            Plan::Project { input, exprs } => {
                let types = self.plan(input, outer)?;
                self.each(exprs, &[outer, &types].concat())?;
            }
            Plan::Aggregate {
                input,
                keys,
                calls,
                sets,
            } => {
                let types = self.plan(input, outer)?;
                let visible = [outer, &types].concat();
                self.each(keys, &visible)?;
                let mut places = sets.iter().flatten();
                self.wants(places.all(|place| *place < keys.len()), || {
                    format!("a set to group by has a key beyond the {}", keys.len())
                })?;
                calls
                    .iter()
                    .try_for_each(|call| self.aggregate(call, &visible))?;
            }
            Plan::Window {
                input,
                partition,
                order,
                calls,
            } => {
                let types = self.plan(input, outer)?;
                let visible = [outer, &types].concat();
                self.each(partition, &visible)?;
                self.sort_keys(order, &visible)?;
                calls
                    .iter()
                    .try_for_each(|call| self.window_call(call, order, &visible, outer))?;
            }
            Plan::With {
                number,
                first,
                then,
                turns,
            } => {
                let kept = self.plan(first, outer)?;
                self.wants(self.given.iter().all(|(other, _)| other != number), || {
                    format!("two queries have the number {number}")
                })?;
                self.given.push((*number, kept.clone()));
                let given = self.plan(then, outer);
                self.given.pop();
                let given = given?;
                self.wants(*turns == Turns::Once || given == kept, || {
                    format!("a turn gives {given:?} over {kept:?}")
                })?;
            }
            Plan::Given { number, types, .. } => {
                let known = self
                    .given
                    .iter()
                    .any(|(n, kept)| n == number && kept == types);
                self.wants(known, || {
                    format!("nothing of {types:?} is kept as {number}")
                })?;
            }
            Plan::Sort { input, keys, top } => {
                let types = self.plan(input, outer)?;
                self.sort_keys(keys, &[outer, &types].concat())?;
                self.row_count(top.as_deref())?;
            }
            Plan::Limit {
                input,
                limit,
                offset,
                ties,
            } => {
                let types = self.plan(input, outer)?;
                self.sort_keys(ties, &[outer, &types].concat())?;
                self.row_count(limit.as_ref())?;
                self.row_count(offset.as_ref())?;
            }
            Plan::Lock { input, targets } => {
                let types = self.plan(input, outer)?;
                let visible = [outer, &types].concat();
                for target in targets {
                    let from = visible.get(target.offset..).unwrap_or_default();
                    self.wants(from.starts_with(&frame(&target.table)), || {
                        format!("{} is not at #{}", target.table.name, target.offset)
                    })?;
                }
            }
            Plan::Append { inputs } => {
                let mut first = None;
                for input in inputs {
                    let types = self.plan(input, outer)?;
                    let first = first.get_or_insert_with(|| types.clone());
                    self.wants(*first == types, || {
                        format!("rows of {types:?} behind rows of {first:?}")
                    })?;
                }
            }
        }
        Ok(plan.frame_types())
    }

    fn access(&mut self, access: &Access, outer: &[SqlType]) -> Checked<()> {
        let table = &access.table;
        self.wants(access.offset == outer.len(), || {
            let (is, said) = (outer.len(), access.offset);
            format!("{} is at #{is} and said to be at #{said}", table.name)
        })?;
        let (columns, ranges) = match &access.path {
            Path::Full | Path::Elements(..) => (Vec::new(), &[][..]),
            Path::Primary(ranges) => (table.key_columns(), &ranges[..]),
            Path::Index(number, ranges) => match table.indexes.get(*number) {
                Some(index) if !index.is_inverted() => (index.columns.clone(), &ranges[..]),
                _ => return self.fault(format!("{} has no index {number}", table.name)),
            },
        };
        if let Path::Elements(number, sought) = &access.path {
            self.sought(*number, sought, access, outer)?;
        }
        for range in ranges {
            self.range(range, table, &columns, outer)?;
        }
        if let Some(filter) = &access.filter {
            let visible = [outer, &frame(table)].concat();
            self.typed(filter, &visible, SqlType::Bool, "a condition")?;
        }
        let width = table.frame_width();
        let needed = access.needed.as_ref().map_or(0, Vec::len);
        self.wants(needed <= width, || {
            format!(
                "{needed} columns of {} may be needed, of {width}",
                table.name
            )
        })
    }

    fn sought(
        &mut self,
        number: usize,
        sought: &[Sought],
        access: &Access,
        outer: &[SqlType],
    ) -> Checked<()> {
        let table = &access.table;
        let index = table.indexes.get(number);
        let Some(index) = index.filter(|index| index.is_inverted()) else {
            return self.fault(format!("{} has no inverted index {number}", table.name));
        };
        self.wants(!access.reverse, || {
            format!("{} gives its rows in key order", index.name)
        })?;
        for one in sought {
            let mut columns = index.inverted.iter().zip(index.asked());
            let Some((elements, &column)) = columns.nth(one.place) else {
                return self.fault(format!("{} has no column {}", index.name, one.place));
            };
            self.wants(elements.answer(one.test), || {
                format!("{} does not answer {}", index.name, one.test.symbol())
            })?;
            self.expr(&one.value, outer)?;
            let ty = elements.compared(one.test, table.frame_type(column));
            let is = one.value.ty();
            let alike = match (ty.element(), is.element()) {
                (Some(one), Some(other)) => has_same_keys(one, other),
                _ => has_same_keys(ty, is),
            };
            self.wants(alike, || {
                format!("what is sought is of type {is} instead of {ty}")
            })?;
        }
        Ok(())
    }

    fn range(
        &mut self,
        range: &KeyRange,
        table: &TableDef,
        columns: &[usize],
        outer: &[SqlType],
    ) -> Checked<()> {
        let bounds = [&range.lower, &range.upper];
        let bounds = bounds.into_iter().flatten().map(|bound| &bound.value);
        let bounded = usize::from(range.lower.is_some() || range.upper.is_some());
        self.wants(range.equal.len() + bounded <= columns.len(), || {
            format!("a range has more columns than the key of {}", table.name)
        })?;
        let next = range.equal.len();
        let equal = range.equal.iter().enumerate();
        let all = equal.chain(bounds.map(|bound| (next, bound)));
        for (place, value) in all {
            let ty = table.frame_type(columns[place]);
            self.expr(value, outer)?;
            self.wants(has_same_keys(ty, value.ty()), || {
                format!("a key's value is of type {} instead of {ty}", value.ty())
            })?;
        }
        Ok(())
    }

    fn aggregate(&mut self, call: &AggregateCall, frame: &[SqlType]) -> Checked<()> {
        self.each(&call.args, frame)?;
        self.sort_keys(&call.order, frame)?;
        if let Some(filter) = &call.filter {
            self.typed(filter, frame, SqlType::Bool, "a condition")?;
        }
        let arguments = call.function.arguments();
        self.wants(call.args.len() == arguments, || {
            let name = call.function.name();
            format!("{name} is given {} arguments", call.args.len())
        })
    }

    fn window_call(
        &mut self,
        call: &WindowCall,
        order: &[SortKey],
        frame: &[SqlType],
        outer: &[SqlType],
    ) -> Checked<()> {
        self.each(&call.args, frame)?;
        if let Some(filter) = &call.filter {
            self.typed(filter, frame, SqlType::Bool, "a condition")?;
        }
        let name = call.function.name();
        self.wants(call.function.arguments().contains(&call.args.len()), || {
            format!("{name} is given {} arguments", call.args.len())
        })?;
        for offset in call.frame.offsets() {
            let measured = match (call.frame.mode, order) {
                (FrameMode::Range, [key]) => offset_type(key.expr.ty()),
                (FrameMode::Range, _) => None,
                _ => Some(SqlType::Int8),
            };
            let Some(ty) = measured else {
                return self.fault(format!(
                    "the frame of {name} measures what has no distances"
                ));
            };
            self.typed(offset, outer, ty, "an offset")?;
        }
        Ok(())
    }

    fn sort_keys(&mut self, keys: &[SortKey], frame: &[SqlType]) -> Checked<()> {
        keys.iter().try_for_each(|key| self.expr(&key.expr, frame))
    }

    fn row_count(&mut self, count: Option<&Expr>) -> Checked<()> {
        let mut count = count.into_iter();
        count.try_for_each(|count| self.typed(count, &[], SqlType::Int8, "a number of rows"))
    }
}

/// True if some expression of the plan looks at a place below `width`.
fn uses_below(plan: &Plan, width: usize) -> bool {
    let mut columns = Vec::new();
    match plan {
        // What stands in it begins at 0 again.
        Plan::Lateral { outer: seen, .. } | Plan::Lookup { values: seen, .. } => {
            seen.iter()
                .for_each(|expr| expr.collect_columns(&mut columns));
            return columns.iter().any(|column| *column < width);
        }
        _ => each_of_node(plan, &mut |expr, _| expr.collect_columns(&mut columns)),
    }
    columns.iter().any(|column| *column < width)
        || plan
            .inputs()
            .into_iter()
            .any(|input| uses_below(input, width))
}

/// Whether a value of one type has the key that it would have as one of the other.
fn has_same_keys(a: SqlType, b: SqlType) -> bool {
    let is_plain_text = |ty| matches!(ty, SqlType::Text | SqlType::Varchar | SqlType::Name);
    let both = |family| [a, b].iter().all(|ty| ty.family() == family);
    let alike = both(TypeFamily::Network) || both(TypeFamily::Bits);
    a == b || alike || (is_plain_text(a) && is_plain_text(b))
}

fn name(plan: &Plan) -> String {
    match plan {
        Plan::Values { .. } => "values".into(),
        Plan::Scan(access) => format!("scan of {}", access.table.name),
        Plan::Series { .. } => "series".into(),
        Plan::Unnest { .. } => "unnest".into(),
        Plan::Call { callee, .. } => format!("function {}", callee.name),
        Plan::Lateral { .. } => "lateral".into(),
        Plan::Lookup { .. } => "lookup".into(),
        Plan::Hold { .. } => "hold".into(),
        Plan::Join { .. } => "join".into(),
        Plan::Filter { .. } => "filter".into(),
        Plan::Project { .. } => "projection".into(),
        Plan::Aggregate { .. } => "aggregate".into(),
        Plan::With { number, .. } => format!("with {number}"),
        Plan::Given { number, .. } => format!("given {number}"),
        Plan::Window { .. } => "window".into(),
        Plan::Sort { .. } => "sort".into(),
        Plan::Unique { .. } => "unique".into(),
        Plan::Limit { .. } => "limit".into(),
        Plan::Lock { .. } => "lock".into(),
        Plan::Append { .. } => "append".into(),
    }
}
