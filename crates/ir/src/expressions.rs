//! Every expression of a statement, and what is in it.
//!
//! Relies on: the forms of statements and plans.  Promises: none is left out; expressions that rows are found by are told from the
//! others.  Does not: look into called routines.

use crate::code::Operation;
use crate::expr::Expr;
use crate::plan::{Access, KeyRange, Path, Plan, SortKey};
use crate::routine::{Callee, Into};
use crate::statement::{ConflictAction, Insert, Statement};
use std::collections::BTreeSet;

/// What an expression is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Rows are found by it.
    Key,
    /// It is computed over rows that were found.
    Rest,
}

/// Collects the slots in an expression.
pub fn slots(expr: &Expr, into: &mut BTreeSet<usize>) {
    if let Expr::Param(slot, _) = expr {
        into.insert(*slot);
    }
    expr.for_each_part(&mut |part| slots(part, into));
}

/// Collects the routines that an expression calls.
pub fn callees<'e>(expr: &'e Expr, into: &mut Vec<&'e Callee>) {
    if let Expr::Routine { callee, .. } = expr {
        into.push(callee);
    }
    expr.for_each_part(&mut |part| callees(part, into));
}

/// Collects the calls of routines in an expression, with their arguments.
pub fn calls<'e>(expr: &'e Expr, into: &mut Vec<(&'e Callee, &'e [Expr])>) {
    if let Expr::Routine { callee, args, .. } = expr {
        into.push((callee, args));
    }
    expr.for_each_part(&mut |part| calls(part, into));
}

/// Shows every expression of a statement.
pub fn each_of_statement<'s>(statement: &'s Statement, see: &mut dyn FnMut(&'s Expr, Use)) {
    let rest = &mut |exprs: &mut dyn Iterator<Item = &'s Expr>,
                     see: &mut dyn FnMut(&'s Expr, Use)| {
        exprs.for_each(|expr| see(expr, Use::Rest));
    };
    match statement {
        Statement::Query(plan) => each_of_plan(plan, see),
        Statement::Insert(insert) => {
            each_of_plan(&insert.source, see);
            rest(&mut insert.values.iter(), see);
            rest(&mut on_conflict(insert).into_iter(), see);
            rest(&mut insert.returning.iter().flatten(), see);
        }
        Statement::Update(update) => {
            each_of_plan(&update.source, see);
            rest(&mut update.assignments.iter().map(|(_, value)| value), see);
            rest(&mut update.returning.iter().flatten(), see);
        }
        Statement::Delete(delete) => {
            each_of_plan(&delete.source, see);
            rest(&mut delete.returning.iter().flatten(), see);
        }
    }
}

fn on_conflict(insert: &Insert) -> Vec<&Expr> {
    match insert.conflict.as_ref().map(|conflict| &conflict.action) {
        Some(ConflictAction::Update {
            assignments,
            filter,
        }) => {
            let values = assignments.iter().map(|(_, value)| value);
            values.chain(filter).collect()
        }
        Some(ConflictAction::Nothing) | None => Vec::new(),
    }
}

/// Shows every expression of a plan.
pub fn each_of_plan<'p>(plan: &'p Plan, see: &mut dyn FnMut(&'p Expr, Use)) {
    let sort = |keys: &'p [SortKey], see: &mut dyn FnMut(&'p Expr, Use)| {
        keys.iter().for_each(|key| see(&key.expr, Use::Rest));
    };
    match plan {
        Plan::Values { rows, .. } => {
            rows.iter().flatten().for_each(|expr| see(expr, Use::Rest));
        }
        Plan::Scan(access) => {
            each_of_path(access, see);
            access.filter.iter().for_each(|expr| see(expr, Use::Rest));
        }
        Plan::Series {
            start, stop, step, ..
        } => [start, stop, step]
            .into_iter()
            .for_each(|expr| see(expr, Use::Rest)),
        Plan::Unnest { array } => see(array, Use::Rest),
        Plan::Call { arguments, .. } => arguments.iter().for_each(|expr| see(expr, Use::Rest)),
        Plan::Hold { input } | Plan::Unique { input } | Plan::Lock { input, .. } => {
            each_of_plan(input, see);
        }
        Plan::Join {
            outer, inner, on, ..
        } => {
            each_of_plan(outer, see);
            each_of_plan(inner, see);
            on.iter().for_each(|expr| see(expr, Use::Rest));
        }
        Plan::Filter { input, predicate } => {
            each_of_plan(input, see);
            see(predicate, Use::Rest);
        }
        Plan::Project { input, exprs } => {
            each_of_plan(input, see);
            exprs.iter().for_each(|expr| see(expr, Use::Rest));
        }
        Plan::Aggregate { input, keys, calls } => {
            each_of_plan(input, see);
            keys.iter().for_each(|expr| see(expr, Use::Rest));
            for call in calls {
                let exprs = call.args.iter().chain(&call.filter);
                exprs.for_each(|expr| see(expr, Use::Rest));
                sort(&call.order, see);
            }
        }
        Plan::Sort { input, keys, top } => {
            each_of_plan(input, see);
            sort(keys, see);
            top.iter().for_each(|expr| see(expr, Use::Rest));
        }
        Plan::Limit {
            input,
            limit,
            offset,
        } => {
            each_of_plan(input, see);
            let exprs = limit.iter().chain(offset);
            exprs.for_each(|expr| see(expr, Use::Rest));
        }
        Plan::Append { inputs } => inputs.iter().for_each(|input| each_of_plan(input, see)),
    }
}

fn each_of_path<'p>(access: &'p Access, see: &mut dyn FnMut(&'p Expr, Use)) {
    for range in ranges(&access.path) {
        let bounds = range.lower.iter().chain(&range.upper);
        let exprs = range.equal.iter().chain(bounds.map(|bound| &bound.value));
        exprs.for_each(|expr| see(expr, Use::Key));
    }
}

/// The ranges of a path; none for the whole table.
pub fn ranges(path: &Path) -> &[KeyRange] {
    match path {
        Path::Full => &[],
        Path::Primary(ranges) | Path::Index(_, ranges) => ranges,
    }
}

/// Shows every function of the catalogue that a plan has as a source of rows.
pub fn sources<'p>(plan: &'p Plan, see: &mut dyn FnMut(&'p Callee)) {
    match plan {
        Plan::Call { callee, .. } => see(callee),
        Plan::Values { .. } | Plan::Scan(_) | Plan::Series { .. } | Plan::Unnest { .. } => {}
        Plan::Join { outer, inner, .. } => {
            sources(outer, see);
            sources(inner, see);
        }
        Plan::Hold { input }
        | Plan::Unique { input }
        | Plan::Lock { input, .. }
        | Plan::Filter { input, .. }
        | Plan::Project { input, .. }
        | Plan::Aggregate { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. } => sources(input, see),
        Plan::Append { inputs } => inputs.iter().for_each(|input| sources(input, see)),
    }
}

/// Where a statement's rows come from.
pub fn source(statement: &Statement) -> &Plan {
    match statement {
        Statement::Query(plan) => plan,
        Statement::Insert(insert) => &insert.source,
        Statement::Update(update) => &update.source,
        Statement::Delete(delete) => &delete.source,
    }
}

/// Shows every expression of an operation of a routine.
pub fn each_of_operation<'o>(operation: &'o Operation, see: &mut dyn FnMut(&'o Expr)) {
    let stated = |statement: &'o Statement, see: &mut dyn FnMut(&'o Expr)| {
        each_of_statement(statement, &mut |expr, _| see(expr));
    };
    let targets = |into: &'o Into, see: &mut dyn FnMut(&'o Expr)| {
        into.targets.iter().for_each(|(_, value)| see(value));
    };
    match operation {
        Operation::Assign { value, .. } => see(&value.expr),
        Operation::AssignElement { index, value, .. } => [index, value].into_iter().for_each(see),
        Operation::Run {
            statement, into, ..
        } => {
            stated(statement, see);
            targets(into, see);
        }
        Operation::Call {
            arguments, into, ..
        } => {
            arguments.iter().for_each(&mut *see);
            targets(into, see);
        }
        Operation::Unless(condition, _) => see(&condition.expr),
        Operation::BeginIntegers {
            lower, upper, step, ..
        } => [lower, upper, step].into_iter().for_each(see),
        Operation::BeginRows(statement) | Operation::ReturnQuery(statement) => {
            stated(statement, see);
        }
        Operation::NextRow { into, .. } => into.iter().for_each(|(_, value)| see(value)),
        Operation::BeginElements(array) => see(array),
        Operation::Raise(raise) => {
            let options = raise.options.iter().map(|(_, value)| value);
            raise.arguments.iter().chain(options).for_each(see);
        }
        Operation::Return(row) => row.iter().for_each(|value| see(&value.expr)),
        Operation::ReturnNext(row) => row.iter().for_each(see),
        Operation::Jump(_)
        | Operation::Leave { .. }
        | Operation::NextInteger { .. }
        | Operation::NextElement { .. }
        | Operation::BeginGuard { .. }
        | Operation::EndGuard
        | Operation::Reraise
        | Operation::Fail(_)
        | Operation::RowCount { .. }
        | Operation::Diagnose { .. } => {}
    }
}
