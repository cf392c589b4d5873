//! Every expression of a statement, and what is in it.
//!
//! Relies on: the forms of statements and plans.  Promises: none is left out; expressions that rows are found by are told from the
//! others.  Does not: look into called routines.

use crate::code::Operation;
use crate::elements::Sought;
use crate::expr::Expr;
use crate::function::{HIDES_ROWS, Volatility, large_object};
use crate::plan::{Access, KeyRange, Path, Plan, SortKey};
use crate::routine::{Callee, Into};
use crate::statement::{ConflictAction, Insert, Statement};
use crate::subquery::Subquery;
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
    inside(expr, &mut |part| slots(part, into));
    expr.for_each_part(&mut |part| slots(part, into));
}

/// Collects the routines that an expression calls.
pub fn callees<'e>(expr: &'e Expr, into: &mut Vec<&'e Callee>) {
    if let Expr::Routine { callee, .. } = expr {
        into.push(callee);
    }
    if let Expr::Subquery(subquery) = expr {
        each_of_plan(&subquery.plan, &mut |part, _| callees(part, into));
        sources(&subquery.plan, &mut |callee| into.push(callee));
    }
    expr.for_each_part(&mut |part| callees(part, into));
}

/// Collects the calls of routines in an expression, with their arguments.
pub fn calls<'e>(expr: &'e Expr, into: &mut Vec<(&'e Callee, &'e [Expr])>) {
    if let Expr::Routine { callee, args, .. } = expr {
        into.push((callee, args));
    }
    inside(expr, &mut |part| calls(part, into));
    expr.for_each_part(&mut |part| calls(part, into));
}

/// Shows the expressions of a query that is an expression.
fn inside<'e>(expr: &'e Expr, see: &mut dyn FnMut(&'e Expr)) {
    if let Expr::Subquery(subquery) = expr {
        each_of_plan(&subquery.plan, &mut |part, _| see(part));
    }
}

/// Shows the queries that stand in an expression, not those that stand in them.
pub fn subqueries<'e>(expr: &'e Expr, see: &mut dyn FnMut(&'e Subquery)) {
    if let Expr::Subquery(subquery) = expr {
        see(subquery);
    }
    expr.for_each_part(&mut |part| subqueries(part, see));
}

/// True if a query stands in some expression of a statement.
pub fn has_subquery(statement: &Statement) -> bool {
    let mut found = false;
    each_of_statement(statement, &mut |expr, _| {
        found = found || expr.has_subquery()
    });
    found
}

/// True if a statement that was given up in the midst of it may be run anew, and nobody can tell: it draws no numbers, calls
/// nothing that may say or change something, and what it has written is taken back with it.
pub fn may_begin_anew(statement: &Statement) -> bool {
    let mut may = true;
    each_node_of_statement(statement, &mut |plan| {
        may = may && !matches!(plan, Plan::Call { .. });
    });
    each_of_statement(statement, &mut |expr, _| may = may && leaves_no_trace(expr));
    may
}

/// True if nobody can tell whether an expression was evaluated, but by an error in it.
pub fn leaves_no_trace(expr: &Expr) -> bool {
    let mut traceless = match expr {
        Expr::NextVal(_) | Expr::SetVal { .. } | Expr::Routine { .. } => false,
        Expr::Call { function, .. } => function.volatility != Volatility::Volatile,
        Expr::Subquery(subquery) => {
            let mut calls = false;
            sources(&subquery.plan, &mut |_| calls = true);
            !calls
        }
        _ => true,
    };
    let mut look = |part: &Expr| traceless = traceless && leaves_no_trace(part);
    inside(expr, &mut look);
    expr.for_each_part(&mut look);
    traceless
}

/// True if an expression asks whose rows are shown ([`crate::Host::hides_rows`]), or for the session's large objects: what it gives is
/// one session's.
pub fn asks_whose_rows(expr: &Expr) -> bool {
    let is_own = |name: &str| name == HIDES_ROWS || name.starts_with(large_object::PREFIX);
    let mut asks = matches!(expr, Expr::Call { function, .. } if is_own(function.name));
    let mut look = |part: &Expr| asks = asks || asks_whose_rows(part);
    inside(expr, &mut look);
    expr.for_each_part(&mut look);
    asks
}

/// Shows every expression of a statement; of queries that are expressions what is handed to them, and no more.
pub fn each_of_statement<'s>(statement: &'s Statement, see: &mut dyn FnMut(&'s Expr, Use)) {
    each_of_plan(source(statement), see);
    each_beside_source(statement, &mut |expr| see(expr, Use::Rest));
}

/// The same without those of the plan that its rows come from.
pub fn each_beside_source<'s>(statement: &'s Statement, see: &mut dyn FnMut(&'s Expr)) {
    match statement {
        Statement::Query(_) => {}
        Statement::Insert(insert) => {
            insert.values.iter().for_each(&mut *see);
            on_conflict(insert).into_iter().for_each(&mut *see);
            insert.returning.iter().flatten().for_each(see);
        }
        Statement::Update(update) => {
            let values = update.assignments.iter().map(|(_, value)| value);
            values.for_each(&mut *see);
            update.returning.iter().flatten().for_each(see);
        }
        Statement::Delete(delete) => delete.returning.iter().flatten().for_each(see),
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

/// Shows every expression of a plan, as [`each_of_statement`] does.
pub fn each_of_plan<'p>(plan: &'p Plan, see: &mut dyn FnMut(&'p Expr, Use)) {
    for input in plan.inputs() {
        each_of_plan(input, see);
    }
    each_of_node(plan, see);
}

/// Shows the expressions of a plan's topmost node.
pub fn each_of_node<'p>(plan: &'p Plan, see: &mut dyn FnMut(&'p Expr, Use)) {
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
        Plan::Hold { .. } | Plan::Unique { .. } | Plan::Lock { .. } | Plan::Append { .. } => {}
        Plan::Lateral { outer, .. } => outer.iter().for_each(|expr| see(expr, Use::Rest)),
        Plan::Lookup { keys, values, .. } => {
            let exprs = keys.iter().chain(values);
            exprs.for_each(|expr| see(expr, Use::Rest));
        }
        Plan::Join { on, .. } => on.iter().for_each(|expr| see(expr, Use::Rest)),
        Plan::Filter { predicate, .. } => see(predicate, Use::Rest),
        Plan::Project { exprs, .. } => exprs.iter().for_each(|expr| see(expr, Use::Rest)),
        Plan::Aggregate { keys, calls, .. } => {
            keys.iter().for_each(|expr| see(expr, Use::Rest));
            for call in calls {
                let exprs = call.args.iter().chain(&call.filter);
                exprs.for_each(|expr| see(expr, Use::Rest));
                sort(&call.order, see);
            }
        }
        Plan::Window {
            partition,
            order,
            calls,
            ..
        } => {
            partition.iter().for_each(|expr| see(expr, Use::Rest));
            sort(order, see);
            for call in calls {
                let exprs = call.exprs().chain(call.frame.offsets());
                exprs.for_each(|expr| see(expr, Use::Rest));
            }
        }
        Plan::Sort { keys, top, .. } => {
            sort(keys, see);
            top.iter().for_each(|expr| see(expr, Use::Rest));
        }
        Plan::Limit {
            limit,
            offset,
            ties,
            ..
        } => {
            let exprs = limit.iter().chain(offset);
            exprs.for_each(|expr| see(expr, Use::Rest));
            sort(ties, see);
        }
        Plan::With { .. } | Plan::Given { .. } => {}
    }
}

fn each_of_path<'p>(access: &'p Access, see: &mut dyn FnMut(&'p Expr, Use)) {
    for range in ranges(&access.path) {
        let bounds = range.lower.iter().chain(&range.upper);
        let exprs = range.equal.iter().chain(bounds.map(|bound| &bound.value));
        exprs.for_each(|expr| see(expr, Use::Key));
    }
    for sought in sought(&access.path) {
        see(&sought.value, Use::Key);
    }
}

/// What is asked of an inverted index.
pub fn sought(path: &Path) -> &[Sought] {
    match path {
        Path::Elements(_, sought) => sought,
        Path::Full | Path::Primary(_) | Path::Index(..) => &[],
    }
}

/// The ranges of a path; none for the whole table, and for an inverted index.
pub fn ranges(path: &Path) -> &[KeyRange] {
    match path {
        Path::Full | Path::Elements(..) => &[],
        Path::Primary(ranges) | Path::Index(_, ranges) => ranges,
    }
}

/// Shows every function of the catalogue that a plan has as a source of rows. [`callees`] shows those of queries that
/// are expressions.
pub fn sources<'p>(plan: &'p Plan, see: &mut dyn FnMut(&'p Callee)) {
    if let Plan::Call { callee, .. } = plan {
        see(callee);
    }
    plan.inputs()
        .into_iter()
        .for_each(|input| sources(input, see));
}

/// Shows a plan's nodes, also of queries that are expressions in it, at any depth.
pub fn each_node<'p>(plan: &'p Plan, see: &mut dyn FnMut(&'p Plan)) {
    see(plan);
    for input in plan.inputs() {
        each_node(input, see);
    }
    each_of_node(plan, &mut |expr, _| {
        subqueries(expr, &mut |subquery| each_node(&subquery.plan, see));
    });
}

/// As [`each_node`], of a whole statement.
pub fn each_node_of_statement<'s>(statement: &'s Statement, see: &mut dyn FnMut(&'s Plan)) {
    fn nodes<'p>(plan: &'p Plan, see: &mut dyn FnMut(&'p Plan)) {
        see(plan);
        plan.inputs()
            .into_iter()
            .for_each(|input| nodes(input, see));
    }
    nodes(source(statement), see);
    each_of_statement(statement, &mut |expr, _| {
        subqueries(expr, &mut |subquery| each_node(&subquery.plan, see));
    });
}

/// True if some expression of the plan looks at what is handed to the plan ([`Expr::Outer`]).
pub fn uses_outer(plan: &Plan) -> bool {
    let mut found = false;
    each_outer(plan, &mut |_| found = true);
    found
}

/// Shows which of the values that are handed to the plan its expressions look at, each time that one does.
pub fn each_outer(plan: &Plan, see: &mut dyn FnMut(usize)) {
    each_of_node(plan, &mut |expr, _| expr.for_each_outer(see));
    // To what stands in a LATERAL something else is handed.
    if !matches!(plan, Plan::Lateral { .. }) {
        let inputs = plan.inputs().into_iter();
        inputs.for_each(|input| each_outer(input, see));
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
        Operation::Dynamic { statement, .. } => {
            [&statement.text]
                .into_iter()
                .chain(&statement.arguments)
                .for_each(see);
        }
        Operation::Landmark(_)
        | Operation::Jump(_)
        | Operation::Leave { .. }
        | Operation::NextInteger { .. }
        | Operation::NextElement { .. }
        | Operation::BeginGuard { .. }
        | Operation::EndGuard
        | Operation::BeginState
        | Operation::EndState
        | Operation::Reraise
        | Operation::Commit
        | Operation::Rollback
        | Operation::Fail(_)
        | Operation::RowCount { .. }
        | Operation::Diagnose { .. } => {}
    }
}
