//! Programs that are none: each kind of fault that `ir::validate` promises to find.

use crate::walk::{accesses, exprs, into, statements, steps};
use quintet_base::SqlType;
use quintet_ir::code::{Code, Operation};
use quintet_ir::plan::Path;
use quintet_ir::routine::{Action, Routine};
use quintet_ir::statement::{Arbiter, Statement};
use quintet_ir::{Expr, Plan};

/// What is done to a program; it says whether there was something to do it to.
pub type Breakage = (&'static str, fn(&mut Vec<Routine>) -> bool);

pub const BREAKAGES: &[Breakage] = &[
    ("a parameter is no slot", |routines| {
        let mut done = false;
        exprs(routines, |expr| {
            if let Expr::Param(number, _) = expr {
                *number += 1000;
                done = true;
            }
        });
        done
    }),
    ("a parameter is of another type", |routines| {
        let mut done = false;
        exprs(routines, |expr| {
            if let Expr::Param(_, ty) = expr {
                *ty = SqlType::Uuid;
                done = true;
            }
        });
        done
    }),
    ("a column is outside of the frame", |routines| {
        let mut done = false;
        exprs(routines, |expr| {
            if let Expr::Column(place, _) = expr {
                *place += 1000;
                done = true;
            }
        });
        done
    }),
    ("a function is given one argument more", |routines| {
        let mut done = false;
        exprs(routines, |expr| {
            if let Expr::Call { args, .. } = expr {
                args.push(args[0].clone());
                done = true;
            }
        });
        done
    }),
    ("two sides of a comparison are of two types", |routines| {
        let mut done = false;
        exprs(routines, |expr| {
            if let Expr::Compare { left, .. } = expr {
                **left = Expr::null(SqlType::Uuid);
                done = true;
            }
        });
        done
    }),
    ("a value goes to a slot of another type", |routines| {
        let mut done = false;
        steps(routines, |step| {
            if let Action::Assign { value, .. } = &mut step.action {
                *value = Expr::null(SqlType::Uuid);
                done = true;
            }
        });
        done
    }),
    ("INTO names no slot", |routines| {
        let mut done = false;
        into(routines, |into| {
            for (slot, _) in &mut into.targets {
                *slot += 1000;
                done = true;
            }
        });
        done
    }),
    ("EXIT names nothing", |routines| {
        let mut done = false;
        steps(routines, |step| {
            if let Action::Exit { depth, .. } | Action::Continue { depth, .. } = &mut step.action {
                *depth += 10;
                done = true;
            }
        });
        done
    }),
    ("a call has one argument less", |routines| {
        let mut done = false;
        steps(routines, |step| {
            if let Action::Call { arguments, .. } = &mut step.action {
                arguments.pop();
                done = true;
            }
        });
        done
    }),
    ("a call goes to no routine", |routines| {
        let mut done = false;
        steps(routines, |step| {
            if let Action::Call { routine, .. } = &mut step.action {
                *routine += 10;
                done = true;
            }
        });
        done
    }),
    ("RETURN gives a column less", |routines| {
        let Some(Action::Return(row)) = routines[0].body.last_mut().map(|step| &mut step.action)
        else {
            return false;
        };
        row.pop();
        // Another RETURN says what the row is.
        let other = routines[0].body[0].clone();
        let whole = Action::Return(vec![Expr::null(SqlType::Uuid)]);
        routines[0].body.insert(
            0,
            quintet_ir::routine::Step {
                action: whole,
                ..other
            },
        );
        true
    }),
    ("a row may be missing at the end", |routines| {
        let ends = matches!(
            routines[0].body.last().map(|step| &step.action),
            Some(Action::Return(_))
        );
        if ends {
            routines[0].body.clear();
        }
        ends
    }),
    ("INSERT has a value less", |routines| {
        let mut done = false;
        statements(routines, |statement| {
            if let Statement::Insert(insert) = statement {
                insert.values.pop();
                done = true;
            }
        });
        done
    }),
    ("a column is assigned that is not there", |routines| {
        let mut done = false;
        statements(routines, |statement| {
            if let Statement::Update(update) = statement {
                for (column, _) in &mut update.assignments {
                    *column += 100;
                    done = true;
                }
            }
        });
        done
    }),
    ("UPDATE changes rows of something else", |routines| {
        let mut done = false;
        statements(routines, |statement| {
            if let Statement::Update(update) = statement {
                update.source = crate::tables::one_row();
                done = true;
            }
        });
        done
    }),
    ("ON CONFLICT names no unique key", |routines| {
        let mut done = false;
        statements(routines, |statement| {
            if let Statement::Insert(insert) = statement
                && let Some(conflict) = &mut insert.conflict
            {
                conflict.arbiter = Some(Arbiter::Index(50));
                done = true;
            }
        });
        done
    }),
    ("a range has more columns than the key", |routines| {
        let mut done = false;
        accesses(routines, |access| {
            if let Path::Primary(ranges) | Path::Index(_, ranges) = &mut access.path {
                for range in ranges {
                    range
                        .equal
                        .extend([Expr::null(SqlType::Int4), Expr::null(SqlType::Int4)]);
                    done = true;
                }
            }
        });
        done
    }),
    ("a key's value is of another type", |routines| {
        let mut done = false;
        accesses(routines, |access| {
            if let Path::Primary(ranges) = &mut access.path {
                for value in ranges.iter_mut().flat_map(|range| &mut range.equal) {
                    *value = Expr::null(SqlType::Uuid);
                    done = true;
                }
            }
        });
        done
    }),
    ("a path is by an index that is not there", |routines| {
        let mut done = false;
        accesses(routines, |access| {
            access.path = Path::Index(50, vec![]);
            done = true;
        });
        done
    }),
    ("a frame is said to begin elsewhere", |routines| {
        let mut done = false;
        accesses(routines, |access| {
            access.offset += 1;
            done = true;
        });
        done
    }),
    ("a condition is no boolean", |routines| {
        let mut done = false;
        accesses(routines, |access| {
            access.filter = Some(Expr::null(SqlType::Int4));
            done = true;
        });
        done
    }),
    ("LIMIT is no bigint", |routines| {
        let mut done = false;
        statements(routines, |statement| {
            if let Statement::Query(Plan::Limit { limit, .. }) = statement {
                *limit = Some(Expr::null(SqlType::Text));
                done = true;
            }
        });
        done
    }),
    ("RAISE has an argument less than places", |routines| {
        let mut done = false;
        steps(routines, |step| {
            if let Action::Raise(raise) = &mut step.action
                && !raise.arguments.is_empty()
            {
                raise.arguments.pop();
                done = true;
            }
        });
        done
    }),
    ("ROW_COUNT goes to a slot of text", |routines| {
        let mut done = false;
        for routine in routines {
            let slot = routine.slots.len() - 1;
            steps(std::slice::from_mut(routine), |step| {
                if let Action::RowCount { slot: to } = &mut step.action {
                    *to = slot;
                    done = true;
                }
            });
        }
        done
    }),
];

/// What is done to the code of a routine: to its first operation, for others may never be reached.
pub type BrokenCode = (&'static str, fn(&mut Code) -> bool);

pub const BROKEN_CODE: &[BrokenCode] = &[
    ("a jump goes outside", |code| {
        jump(code, code.operations.len() + 1)
    }),
    ("a jump was never given its place", |code| {
        jump(code, usize::MAX)
    }),
    ("a loop has no beginning", |code| {
        code.operations[0] = Operation::NextInteger {
            slot: 0,
            end: 0,
            elements: Vec::new(),
        };
        true
    }),
    ("a guard ends that has not begun", |code| {
        code.operations[0] = Operation::EndGuard;
        true
    }),
    ("an operation has no line", |code| {
        code.lines.pop().is_some()
    }),
];

fn jump(code: &mut Code, to: usize) -> bool {
    code.operations[0] = Operation::Jump(to);
    true
}
