//! Columns that a statement looks at.
//!
//! Relies on: frames, as `ir::plan` lays them out.  Promises: a column is left out only if nothing that the
//! statement gives, keeps or decides depends on it; the columns by which rows are found or ordered count.
//! Does not: rely on the hints of the planner (`Access::needed`).
//!
//! ```text
//!   Project a.x ─► used {a.x} ─► Join ─► outer: {a.x} and what the inner side looks at of it
//!                                    └─► inner: its key and filter
//! ```

use crate::expressions::{each_beside_source, each_of_node, ranges, sought, subqueries};
use quintet_ir::plan::{Path, Plan, SortKey, Turns};
use quintet_ir::statement::ConflictAction;
use quintet_ir::{Access, Expr, Statement, TableDef};
use std::collections::BTreeSet;

/// Numbers of a table's columns.
pub type Columns = BTreeSet<usize>;

/// Shows each table that the source of a statement reads, with the columns looked at.
pub(crate) fn looked_at<'p>(
    statement: &'p Statement,
    see: &mut dyn FnMut(&'p Access, &'p [quintet_ir::plan::LockTarget], Columns),
) {
    let source = crate::expressions::source(statement);
    let used = match statement {
        Statement::Query(plan) => (0..plan.frame_types().len()).collect(),
        Statement::Insert(insert) => columns_of(&insert.values),
        Statement::Update(update) => {
            let mut used = columns_of(update.assignments.iter().map(|(_, value)| value));
            let assigned = |column: &usize| update.assignments.iter().any(|(a, _)| a == column);
            let returned = columns_of(update.returning.iter().flatten());
            used.extend(returned.into_iter().filter(|column| !assigned(column)));
            used
        }
        Statement::Delete(delete) => columns_of(delete.returning.iter().flatten()),
    };
    walk(source, 0, used, &[], see);
    each_beside_source(statement, &mut |expr| in_subqueries(expr, see));
}

/// Shows what the queries in an expression read. All of their columns are wanted.
fn in_subqueries<'p>(
    expr: &'p Expr,
    see: &mut dyn FnMut(&'p Access, &'p [quintet_ir::plan::LockTarget], Columns),
) {
    subqueries(expr, &mut |subquery| {
        let used = (0..subquery.plan.frame_types().len()).collect();
        walk(&subquery.plan, 0, used, &[], see);
    });
}

/// Columns of the row in the way that ON CONFLICT DO UPDATE looks at.
pub(crate) fn of_conflict(action: &ConflictAction, table: &TableDef) -> Columns {
    match action {
        ConflictAction::Nothing => Columns::new(),
        ConflictAction::Update {
            assignments,
            filter,
        } => {
            let exprs = assignments.iter().map(|(_, value)| value).chain(filter);
            let mut used = columns_of(exprs);
            used.retain(|column| *column < table.frame_width());
            used
        }
    }
}

/// The places that expressions look at.
pub(crate) fn columns_of<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Columns {
    let mut used = Vec::new();
    exprs
        .into_iter()
        .for_each(|expr| expr.collect_columns(&mut used));
    used.into_iter().collect()
}

/// Those of the used places that are a plan's own, which begins at `base` here and at 0 inside.
fn own_places(input: &Plan, base: usize, used: &Columns) -> Columns {
    let own = base..base + input.frame_types().len();
    let used = used.iter().filter(|place| own.contains(place));
    used.map(|place| place - base).collect()
}

/// Walks a plan whose own frame begins at `base`, and of which `used` is wanted. Gives what it looks at of
/// the frames before `base`.
fn walk<'p>(
    plan: &'p Plan,
    base: usize,
    mut used: Columns,
    locks: &'p [quintet_ir::plan::LockTarget],
    see: &mut dyn FnMut(&'p Access, &'p [quintet_ir::plan::LockTarget], Columns),
) -> Columns {
    each_of_node(plan, &mut |expr, _| in_subqueries(expr, see));
    let outer = |used: Columns| used.into_iter().filter(|place| *place < base).collect();
    let sorted = |used: &mut Columns, keys: &[SortKey]| {
        used.extend(columns_of(keys.iter().map(|key| &key.expr)));
    };
    match plan {
        Plan::Values { rows, .. } => {
            used.extend(columns_of(rows.iter().flatten()));
            outer(used)
        }
        Plan::Series {
            start, stop, step, ..
        } => {
            used.extend(columns_of([start, stop, step]));
            outer(used)
        }
        Plan::Unnest { array } => {
            used.extend(columns_of([array]));
            outer(used)
        }
        Plan::Call { arguments, .. } => {
            used.extend(columns_of(arguments));
            outer(used)
        }
        Plan::Lateral {
            input,
            outer: handed,
        } => {
            let own = own_places(input, base, &used);
            walk(input, 0, own, locks, see);
            used.extend(columns_of(handed));
            outer(used)
        }
        Plan::Lookup {
            input,
            keys,
            values,
        } => {
            let mut own = own_places(input, base, &used);
            own.extend(columns_of(keys));
            walk(input, 0, own, locks, see);
            used.extend(columns_of(values));
            outer(used)
        }
        Plan::Scan(access) => {
            used.extend(columns_of(&access.filter));
            let own = base..base + access.table.frame_width();
            let mut columns: Columns = (used.iter())
                .filter(|place| own.contains(place))
                .map(|place| place - base)
                .collect();
            // Which rows come, and which of them first.
            if let Path::Index(number, _) | Path::Elements(number, _) = &access.path {
                columns.extend(&access.table.indexes[*number].columns);
            }
            columns.extend(access.table.key_columns());
            for range in ranges(&access.path) {
                let bounds = range.lower.iter().chain(&range.upper);
                let exprs = range.equal.iter().chain(bounds.map(|bound| &bound.value));
                used.extend(columns_of(exprs));
            }
            used.extend(columns_of(
                sought(&access.path).iter().map(|one| &one.value),
            ));
            see(access, locks, columns);
            outer(used)
        }
        Plan::Join {
            outer: left,
            inner,
            on,
            ..
        } => {
            used.extend(columns_of(on));
            let middle = base + left.frame_types().len();
            let of_left = walk(inner, middle, used.clone(), locks, see);
            used.retain(|place| *place < middle);
            used.extend(of_left);
            walk(left, base, used, locks, see)
        }
        Plan::Filter { input, predicate } => {
            used.extend(columns_of([predicate]));
            walk(input, base, used, locks, see)
        }
        Plan::Project { input, exprs } => {
            used.retain(|place| *place < base);
            used.extend(columns_of(exprs));
            walk(input, base, used, locks, see)
        }
        Plan::Aggregate {
            input, keys, calls, ..
        } => {
            used.retain(|place| *place < base);
            used.extend(columns_of(keys));
            for call in calls {
                used.extend(columns_of(call.args.iter().chain(&call.filter)));
                sorted(&mut used, &call.order);
            }
            walk(input, base, used, locks, see)
        }
        Plan::Window {
            input,
            partition,
            order,
            calls,
        } => {
            let own = base + input.frame_types().len();
            used.retain(|place| *place < own);
            used.extend(columns_of(partition));
            sorted(&mut used, order);
            for call in calls {
                used.extend(columns_of(call.exprs().chain(call.frame.offsets())));
            }
            walk(input, base, used, locks, see)
        }
        Plan::Sort { input, keys, top } => {
            sorted(&mut used, keys);
            used.extend(columns_of(top.iter().map(|top| &**top)));
            walk(input, base, used, locks, see)
        }
        Plan::Unique { input } => {
            used.extend(base..base + input.frame_types().len());
            walk(input, base, used, locks, see)
        }
        Plan::Hold { input } => walk(input, base, used, locks, see),
        Plan::Limit { input, ties, .. } => {
            sorted(&mut used, ties);
            walk(input, base, used, locks, see)
        }
        Plan::Lock { input, targets } => walk(input, base, used, targets, see),
        Plan::With {
            first, then, turns, ..
        } => {
            // All that is kept may be looked at.
            let all: Columns = (base..base + first.frame_types().len()).collect();
            let of_then = match turns {
                Turns::Once => used.clone(),
                _ => used.union(&all).copied().collect(),
            };
            let mut outside: Columns = outer(used);
            outside.extend(walk(first, base, all, locks, see));
            outside.extend(walk(then, base, of_then, locks, see));
            outside
        }
        Plan::Given { .. } => outer(used),
        Plan::Append { inputs } => {
            let looked = inputs
                .iter()
                .flat_map(|input| walk(input, base, used.clone(), locks, see));
            looked.collect()
        }
    }
}
