//! Changes all over a program.

use quintet_ir::plan::{Access, Plan};
use quintet_ir::routine::{Action, Into, Routine, Step};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::Statement;
use quintet_ir::{Expr, TableDef};
use std::sync::Arc;

pub fn steps(routines: &mut [Routine], mut change: impl FnMut(&mut Step)) {
    for routine in routines {
        each(&mut routine.body, &mut change);
    }
}

fn each(steps: &mut [Step], change: &mut dyn FnMut(&mut Step)) {
    for step in steps {
        change(step);
        match &mut step.action {
            Action::If {
                branches,
                otherwise,
            } => {
                for (_, body) in branches {
                    each(body, change);
                }
                each(otherwise, change);
            }
            Action::Loop { body }
            | Action::ForInteger { body, .. }
            | Action::ForRow { body, .. }
            | Action::ForElement { body, .. }
            | Action::Block { body }
            | Action::OneState { body } => each(body, change),
            Action::Guard { body, handlers, .. } => {
                each(body, change);
                for handler in handlers {
                    each(&mut handler.body, change);
                }
            }
            _ => {}
        }
    }
}

pub fn statements(routines: &mut [Routine], mut change: impl FnMut(&mut Statement)) {
    steps(routines, |step| {
        if let Action::Run { statement, .. } = &mut step.action {
            change(statement);
        }
    });
}

pub fn into(routines: &mut [Routine], mut change: impl FnMut(&mut Into)) {
    steps(routines, |step| {
        if let Action::Run { into, .. } = &mut step.action {
            change(into);
        }
    });
}

/// Tables that UPDATE and INSERT write.
pub fn tables(routines: &mut [Routine], change: impl Fn(&mut TableDef)) {
    let changed = |table: &mut TableRef| change(Arc::make_mut(table));
    statements(routines, |statement| match statement {
        Statement::Update(update) => changed(&mut update.table),
        Statement::Insert(insert) => changed(&mut insert.table),
        _ => {}
    });
}

/// The access paths at the bottom of statements.
pub fn accesses(routines: &mut [Routine], mut change: impl FnMut(&mut Access)) {
    statements(routines, |statement| {
        let mut plan = match statement {
            Statement::Query(plan) => plan,
            Statement::Insert(insert) => &mut insert.source,
            Statement::Update(update) => &mut update.source,
            Statement::Delete(delete) => &mut delete.source,
        };
        loop {
            plan = match plan {
                Plan::Scan(access) => return change(access),
                Plan::Project { input, .. } | Plan::Lock { input, .. } => input,
                _ => return,
            };
        }
    });
}

/// The expressions of assignments to variables, with their parts.
pub fn exprs(routines: &mut [Routine], mut change: impl FnMut(&mut Expr)) {
    steps(routines, |step| match &mut step.action {
        Action::Assign { value, .. } => each_part(value, &mut change),
        Action::Run { statement, .. } => match statement {
            Statement::Insert(insert) => {
                for value in &mut insert.values {
                    each_part(value, &mut change);
                }
            }
            Statement::Update(update) => {
                for (_, value) in &mut update.assignments {
                    each_part(value, &mut change);
                }
            }
            _ => {}
        },
        _ => {}
    });
}

fn each_part(expr: &mut Expr, change: &mut dyn FnMut(&mut Expr)) {
    change(expr);
    expr.for_each_part_mut(&mut |part| each_part(part, change));
}
