//! Mistakes that an executor could make, planted into the program that the fast one is given.
//!
//! Promises: each changes what some programs mean, and the comparison must notice.

use quintet_ir::plan::{Access, Path, Plan};
use quintet_ir::routine::{Action, Condition, Into, Routine, Step};
use quintet_ir::schema::TableRef;
use quintet_ir::statement::{ConflictAction, Statement};
use quintet_ir::{Expr, TableDef};
use std::sync::Arc;

/// A mistake: its name, and what it makes of a program.
pub type Mistake = (&'static str, fn(&mut Vec<Routine>));

pub const MISTAKES: &[Mistake] = &[
    ("UPDATE checks no NOT NULL", |routines| {
        tables(routines, |table| {
            for column in &mut table.columns {
                column.not_null = false;
            }
        });
    }),
    ("UPDATE checks no CHECK", |routines| {
        tables(routines, |table| table.checks.clear());
    }),
    ("an index that is unique is taken for another", |routines| {
        tables(routines, |table| {
            for index in &mut table.indexes {
                index.unique = false;
            }
        });
    }),
    ("the last assignment is forgotten", |routines| {
        statements(routines, |statement| {
            if let Statement::Update(update) = statement {
                update.assignments.pop();
            }
        });
    }),
    ("the last of INTO's variables is forgotten", |routines| {
        into(routines, |into| drop(into.targets.pop()));
    }),
    ("STRICT is not looked at", |routines| {
        into(routines, |into| into.strict = false);
    }),
    ("ROW_COUNT and FOUND hear of nothing", |routines| {
        into(routines, |into| into.silent = true);
    }),
    ("the filter of a row by its key is forgotten", |routines| {
        accesses(routines, |access| access.filter = None);
    }),
    ("the second column of a key is forgotten", |routines| {
        accesses(routines, |access| {
            if let Path::Primary(ranges) = &mut access.path {
                ranges.iter_mut().for_each(|range| range.equal.truncate(1));
            }
        });
    }),
    ("RETURNING is given in another order", |routines| {
        statements(routines, |statement| {
            if let Statement::Update(update) = statement
                && let Some(exprs) = &mut update.returning
            {
                exprs.reverse();
            }
        });
    }),
    ("DO UPDATE looks at no WHERE", |routines| {
        statements(routines, |statement| {
            if let Statement::Insert(insert) = statement
                && let Some(conflict) = &mut insert.conflict
                && let ConflictAction::Update { filter, .. } = &mut conflict.action
            {
                *filter = None;
            }
        });
    }),
    ("what is too long for a column is cut", |routines| {
        statements(routines, |statement| match statement {
            Statement::Update(update) => {
                let exprs = update.assignments.iter_mut().map(|(_, expr)| expr);
                exprs.for_each(cut);
            }
            Statement::Insert(insert) => insert.values.iter_mut().for_each(cut),
            _ => {}
        });
    }),
    ("handlers take every error", |routines| {
        steps(routines, |step| {
            if let Action::Guard { handlers, .. } = &mut step.action {
                for handler in handlers {
                    handler.conditions = vec![Condition::Others];
                }
            }
        });
    }),
    ("a strict routine is run with a NULL", |routines| {
        for routine in routines {
            routine.strict = false;
        }
    }),
];

fn cut(expr: &mut Expr) {
    if let Expr::Cast { explicit, .. } = expr {
        *explicit = true;
    }
    expr.for_each_part_mut(&mut cut);
}

fn steps(routines: &mut [Routine], mut change: impl FnMut(&mut Step)) {
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
            | Action::Block { body } => each(body, change),
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

fn statements(routines: &mut [Routine], mut change: impl FnMut(&mut Statement)) {
    steps(routines, |step| {
        if let Action::Run { statement, .. } = &mut step.action {
            change(statement);
        }
    });
}

fn into(routines: &mut [Routine], mut change: impl FnMut(&mut Into)) {
    steps(routines, |step| {
        if let Action::Run { into, .. } = &mut step.action {
            change(into);
        }
    });
}

/// Tables that UPDATE and INSERT write.
fn tables(routines: &mut [Routine], change: impl Fn(&mut TableDef)) {
    let changed = |table: &mut TableRef| change(Arc::make_mut(table));
    statements(routines, |statement| match statement {
        Statement::Update(update) => changed(&mut update.table),
        Statement::Insert(insert) => changed(&mut insert.table),
        _ => {}
    });
}

/// The access paths at the bottom of statements.
fn accesses(routines: &mut [Routine], mut change: impl FnMut(&mut Access)) {
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
