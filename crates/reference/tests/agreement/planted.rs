//! Mistakes that an executor could make, planted into the program that the fast one is given.
//!
//! Promises: each changes what some programs mean, and the comparison must notice; types still fit.

use crate::walk::{accesses, into, statements, steps, tables};
use quintet_ir::Expr;
use quintet_ir::plan::Path;
use quintet_ir::routine::{Action, Condition, Routine};
use quintet_ir::statement::{ConflictAction, Statement};

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
    ("the last column of RETURNING is NULL", |routines| {
        statements(routines, |statement| {
            if let Statement::Update(update) = statement
                && let Some(last) = update.returning.iter_mut().flatten().last()
            {
                *last = Expr::null(last.ty());
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
    ("the parts of a statement see one another", |routines| {
        steps(routines, |step| {
            if let Action::OneState { body } = &mut step.action {
                step.action = Action::If {
                    branches: Vec::new(),
                    otherwise: std::mem::take(body),
                };
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
