//! Statements whose expressions call functions.
//!
//! Relies on: nothing but the IR.  Promises: what is read below a call is read before the first call is
//! made, so that a statement does not meet what its functions change; such a statement has a
//! [`Plan::Hold`] or a [`Plan::Call`] somewhere, by which engines know it.  Does not: hold what a sort or
//! an aggregation holds anyway.

use crate::planner::writes_by_calls;
use quintet_ir::plan::{SortKey, Turns};
use quintet_ir::statement::{ConflictAction, Insert};
use quintet_ir::window::WindowCall;
use quintet_ir::{Expr, Plan, Statement};

/// A statement in which functions are called, ready to be run.
pub(crate) fn hold(statement: Statement) -> Statement {
    match statement {
        Statement::Query(plan) => Statement::Query(known(held_inside(plan))),
        Statement::Insert(mut insert) => {
            let calls = insert.values.iter().any(Expr::calls_routine)
                || calls_later(&insert)
                || insert.table.calls_routines();
            insert.source = source(insert.source, calls);
            Statement::Insert(insert)
        }
        Statement::Update(mut update) => {
            let assigned = update.assignments.iter().map(|(_, value)| value);
            let calls = any_calls(assigned.chain(update.returning.iter().flatten()))
                || update.table.calls_routines();
            update.source = source(update.source, calls);
            Statement::Update(update)
        }
        Statement::Delete(mut delete) => {
            let calls = any_calls(delete.returning.iter().flatten());
            delete.source = source(delete.source, calls);
            Statement::Delete(delete)
        }
    }
}

/// The same of a statement in which functions may be called.
pub(super) fn hold_if_calls(statement: Statement) -> Statement {
    match calls(&statement) {
        true => hold(statement),
        false => statement,
    }
}

/// Whether functions may be called where the statement finds its rows and makes new ones of them.
pub(super) fn calls(statement: &Statement) -> bool {
    writes_by_calls(statement)
        || match statement {
            Statement::Query(plan) => calls_in_plan(plan),
            Statement::Insert(insert) => {
                calls_in_plan(&insert.source) || any_calls(&insert.values) || calls_later(insert)
            }
            Statement::Update(update) => {
                let assigned = update.assignments.iter().map(|(_, value)| value);
                calls_in_plan(&update.source)
                    || any_calls(assigned.chain(update.returning.iter().flatten()))
            }
            Statement::Delete(delete) => {
                calls_in_plan(&delete.source) || any_calls(delete.returning.iter().flatten())
            }
        }
}

/// True if a function is called somewhere in the plan.
fn calls_in_plan(plan: &Plan) -> bool {
    match plan {
        Plan::Call { .. } => true,
        Plan::Values { rows, .. } => any_calls(rows.iter().flatten()),
        Plan::Series {
            start, stop, step, ..
        } => any_calls([start, stop, step]),
        Plan::Unnest { array } => array.calls_routine(),
        Plan::Scan(_) => false,
        Plan::Join {
            outer, inner, on, ..
        } => any_calls(on) || calls_in_plan(outer) || calls_in_plan(inner),
        Plan::Filter { input, predicate } => predicate.calls_routine() || calls_in_plan(input),
        Plan::Lateral { input, outer } => any_calls(outer) || calls_in_plan(input),
        Plan::Project { input, exprs } => any_calls(exprs) || calls_in_plan(input),
        Plan::Aggregate { input, .. } => aggregate_calls(plan) || calls_in_plan(input),
        Plan::Sort { input, keys, .. } => sort_calls(keys) || calls_in_plan(input),
        Plan::Window { input, .. } => window_calls(plan) || calls_in_plan(input),
        plan => plan.inputs().into_iter().any(calls_in_plan),
    }
}

fn any_calls<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> bool {
    exprs.into_iter().any(Expr::calls_routine)
}

fn sort_calls(keys: &[SortKey]) -> bool {
    keys.iter().any(|key| key.expr.calls_routine())
}

fn aggregate_calls(plan: &Plan) -> bool {
    let Plan::Aggregate { keys, calls, .. } = plan else {
        return false;
    };
    any_calls(keys)
        || calls
            .iter()
            .any(|call| any_calls(call.args.iter().chain(&call.filter)) || sort_calls(&call.order))
}

fn window_calls(plan: &Plan) -> bool {
    let Plan::Window {
        partition,
        order,
        calls,
        ..
    } = plan
    else {
        return false;
    };
    let exprs = |call: &WindowCall| any_calls(call.exprs().chain(call.frame.offsets()));
    any_calls(partition) || sort_calls(order) || calls.iter().any(exprs)
}

/// ON CONFLICT, RETURNING.
fn calls_later(insert: &Insert) -> bool {
    let conflict = match insert.conflict.as_ref().map(|conflict| &conflict.action) {
        Some(ConflictAction::Update {
            assignments,
            filter,
        }) => any_calls(assignments.iter().map(|(_, value)| value).chain(filter)),
        Some(ConflictAction::Nothing) | None => false,
    };
    conflict || any_calls(insert.returning.iter().flatten())
}

/// The rows that a statement changes.
fn source(plan: Plan, calls_above: bool) -> Plan {
    let plan = held_inside(plan);
    match calls_above {
        true => known(held(plan)),
        false => known(plan),
    }
}

/// Engines know the plan by this.
fn known(plan: Plan) -> Plan {
    fn is_known(plan: &Plan) -> bool {
        match plan {
            Plan::Hold { .. } | Plan::Call { .. } | Plan::Lock { .. } => true,
            plan => plan.inputs().into_iter().any(is_known),
        }
    }
    match is_known(&plan) {
        true => plan,
        false => Plan::Hold {
            input: Box::new(plan),
        },
    }
}

/// The plan, all of whose frames are there before the first is passed on.
fn held(plan: Plan) -> Plan {
    match plan {
        Plan::Hold { .. } | Plan::Sort { .. } | Plan::Aggregate { .. } => plan,
        Plan::Values { ref rows, .. } if rows.len() == 1 => plan,
        plan => Plan::Hold {
            input: Box::new(plan),
        },
    }
}

/// Holds what stands below calls.
fn held_inside(plan: Plan) -> Plan {
    let below = |input: Box<Plan>, calls: bool| {
        let input = held_inside(*input);
        Box::new(match calls {
            true => held(input),
            false => input,
        })
    };
    match plan {
        Plan::Values { .. }
        | Plan::Scan(_)
        | Plan::Series { .. }
        | Plan::Unnest { .. }
        | Plan::Call { .. } => plan,
        Plan::Hold { input } => held(held_inside(*input)),
        Plan::Lateral { input, outer } => Plan::Lateral {
            input: below(input, false),
            outer,
        },
        Plan::Lookup {
            input,
            keys,
            values,
        } => Plan::Lookup {
            input: below(input, any_calls(keys.iter().chain(&values))),
            keys,
            values,
        },
        Plan::Join {
            outer,
            inner,
            outer_width,
            inner_width,
            kind,
            on,
        } => {
            let on_calls = any_calls(&on);
            let inner_calls = calls_in_plan(&inner);
            Plan::Join {
                outer: below(outer, on_calls || inner_calls),
                inner: below(inner, on_calls),
                outer_width,
                inner_width,
                kind,
                on,
            }
        }
        Plan::Filter { input, predicate } => Plan::Filter {
            input: below(input, predicate.calls_routine()),
            predicate,
        },
        Plan::Project { input, exprs } => Plan::Project {
            input: below(input, any_calls(&exprs)),
            exprs,
        },
        Plan::Sort { input, keys, top } => Plan::Sort {
            input: below(input, sort_calls(&keys)),
            keys,
            top,
        },
        plan @ Plan::Aggregate { .. } => {
            let calling = aggregate_calls(&plan);
            match plan {
                Plan::Aggregate {
                    input,
                    keys,
                    calls,
                    sets,
                } => Plan::Aggregate {
                    input: below(input, calling),
                    keys,
                    calls,
                    sets,
                },
                other => other,
            }
        }
        plan @ Plan::Window { .. } => {
            let calling = window_calls(&plan);
            match plan {
                Plan::Window {
                    input,
                    partition,
                    order,
                    calls,
                } => Plan::Window {
                    input: below(input, calling),
                    partition,
                    order,
                    calls,
                },
                other => other,
            }
        }
        Plan::Unique { input } => Plan::Unique {
            input: below(input, false),
        },
        Plan::Limit {
            input,
            limit,
            offset,
            ties,
        } => Plan::Limit {
            input: below(input, false),
            limit,
            offset,
            ties,
        },
        Plan::Lock { input, targets } => Plan::Lock {
            input: below(input, false),
            targets,
        },
        Plan::With {
            number,
            first,
            then,
            turns,
        } => {
            // A recursion runs both side by side.
            let calls = turns != Turns::Once && (calls_in_plan(&first) || calls_in_plan(&then));
            Plan::With {
                number,
                first: below(first, calls),
                then: below(then, calls),
                turns,
            }
        }
        Plan::Given { .. } => plan,
        Plan::Append { inputs } => Plan::Append {
            inputs: inputs.into_iter().map(held_inside).collect(),
        },
    }
}
