//! Routines and their steps.

use super::{Checked, Checker};
use crate::dynamic::{Dynamic, DynamicRows, Landmark};
use crate::expr::Expr;
use crate::routine::{Action, Into, Output, Routine, Severity, Step, each_step};
use quintet_base::SqlType;

/// What a routine gives in a row, as its first RETURN says.
pub(super) fn row_of(routine: &Routine) -> Option<Vec<SqlType>> {
    let mut found: Option<Vec<SqlType>> = None;
    each_step(&routine.body, &mut |step| {
        let types = |row: &[Expr]| row.iter().map(Expr::ty).collect::<Vec<_>>();
        let row = match (&step.action, routine.output) {
            (Action::Return(row), Output::Row) => types(row),
            (Action::ReturnNext(row), Output::Rows) => types(row),
            (Action::ReturnQuery(statement), Output::Rows) => statement.row_types(),
            (Action::Dynamic(dynamic), Output::Rows) => match &dynamic.rows {
                DynamicRows::Returned(types) => types.clone(),
                _ => return,
            },
            _ => return,
        };
        found.get_or_insert(row);
    });
    found
}

/// A routine that stands for one that could not be made: it takes anything, and fails.
pub(super) fn is_failing(routine: &Routine) -> bool {
    let fails = |step: &Step| matches!(step.action, Action::Fail(_));
    routine.slots.is_empty() && routine.body.iter().all(fails)
}

/// Whether the steps after these are never reached by going on.
fn ends(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Return(_) | Action::Fail(_) | Action::Reraise => true,
        Action::Raise(raise) => raise.severity == Severity::Exception,
        Action::If {
            branches,
            otherwise,
        } => branches.iter().all(|(_, body)| ends(body)) && ends(otherwise),
        Action::Guard { body, handlers, .. } => {
            ends(body) && handlers.iter().all(|handler| ends(&handler.body))
        }
        Action::Loop { .. } | Action::Exit { when: None, .. } => true,
        Action::Continue { when: None, .. } => true,
        Action::Block { body } | Action::OneState { body } => ends(body),
        _ => false,
    })
}

/// Whether a step may stand in [`Action::OneState`].
fn is_part(action: &Action) -> bool {
    matches!(
        action,
        Action::Assign { .. }
            | Action::AssignElement { .. }
            | Action::Run { .. }
            | Action::If { .. }
            | Action::ForRow { .. }
            | Action::RowCount { .. }
            | Action::ReturnQuery(_)
            | Action::Fail(_)
    )
}

/// What stands around a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Loop,
    Block,
}

struct Body<'r> {
    routine: &'r Routine,
    row: &'r Option<Vec<SqlType>>,
    around: Vec<Around>,
}

impl Checker<'_> {
    pub(super) fn routine(&mut self, routine: &Routine, row: &Option<Vec<SqlType>>) -> Checked<()> {
        self.params = routine.slots.iter().map(|slot| slot.ty).collect();
        self.wants(routine.arguments <= routine.slots.len(), || {
            let (arguments, slots) = (routine.arguments, routine.slots.len());
            format!("{arguments} of {slots} slots are arguments")
        })?;
        if let Some(found) = routine.found {
            self.slot(found, SqlType::Bool, "FOUND")?;
        }
        let mut body = Body {
            routine,
            row,
            around: Vec::new(),
        };
        self.steps(&routine.body, &mut body)?;
        self.wants(routine.output != Output::Row || ends(&routine.body), || {
            "it gives a row, and may end without RETURN".to_string()
        })
    }

    fn slot(&self, slot: usize, wanted: SqlType, what: &str) -> Checked<()> {
        match self.params.get(slot) {
            None => self.fault(format!(
                "{what} is put into ${}, which is not there",
                slot + 1
            )),
            Some(ty) => self.wants(*ty == wanted, || {
                format!(
                    "{what} of type {wanted} is put into ${} of type {ty}",
                    slot + 1
                )
            }),
        }
    }

    fn steps(&mut self, steps: &[Step], body: &mut Body<'_>) -> Checked<()> {
        for (number, step) in steps.iter().enumerate() {
            let line = match step.line {
                0 => String::new(),
                line => format!(" of line {line}"),
            };
            let place = format!("step {}{line}", number + 1);
            self.within(place, |checker| checker.action(&step.action, body))?;
        }
        Ok(())
    }

    fn turns(&mut self, steps: &[Step], around: Around, body: &mut Body<'_>) -> Checked<()> {
        body.around.push(around);
        self.steps(steps, body)?;
        body.around.pop();
        Ok(())
    }

    fn action(&mut self, action: &Action, body: &mut Body<'_>) -> Checked<()> {
        match action {
            Action::Assign { slot, value } => {
                self.expr(value, &[])?;
                self.slot(*slot, value.ty(), "a value")
            }
            Action::AssignElement { slot, index, value } => {
                self.typed(index, &[], SqlType::Int4, "the subscript")?;
                self.expr(value, &[])?;
                let array = value.ty().array_of().unwrap_or(SqlType::Unknown);
                self.slot(*slot, array, "an array with the element")
            }
            Action::Run { statement, into } => {
                let row = self.statement(statement)?;
                self.into(&into.targets, &row)
            }
            Action::Call {
                routine,
                arguments,
                into,
            } => self.call(*routine, arguments, into),
            Action::If {
                branches,
                otherwise,
            } => {
                for (condition, steps) in branches {
                    self.typed(condition, &[], SqlType::Bool, "a condition")?;
                    self.steps(steps, body)?;
                }
                self.steps(otherwise, body)
            }
            Action::Loop { body: turns } => self.turns(turns, Around::Loop, body),
            Action::ForInteger {
                slot,
                lower,
                upper,
                step,
                body: turns,
                ..
            } => {
                for bound in [lower, upper, step] {
                    self.typed(bound, &[], SqlType::Int4, "a bound")?;
                }
                self.slot(*slot, SqlType::Int4, "the number of a turn")?;
                self.turns(turns, Around::Loop, body)
            }
            Action::ForRow {
                statement,
                into,
                body: turns,
            } => {
                let row = self.statement(statement)?;
                self.into(into, &row)?;
                self.turns(turns, Around::Loop, body)
            }
            Action::ForElement {
                slot,
                array,
                body: turns,
            } => {
                self.expr(array, &[])?;
                // FOREACH … SLICE goes through arrays of the same type.
                let element = match array {
                    Expr::Call { function, ty, .. } if function.name == "[slices]" => *ty,
                    array => array.ty().element().unwrap_or(SqlType::Unknown),
                };
                self.slot(*slot, element, "an element")?;
                self.turns(turns, Around::Loop, body)
            }
            Action::Block { body: steps } => self.turns(steps, Around::Block, body),
            Action::OneState { body: steps } => {
                let mut stranger = None;
                crate::routine::each_step(steps, &mut |step| {
                    if !is_part(&step.action) {
                        stranger = Some(format!("{:?} is no part of a statement", step.action));
                    }
                });
                match stranger {
                    Some(fault) => self.fault(fault),
                    None => self.steps(steps, body),
                }
            }
            Action::Exit { depth, when } => {
                self.when(when.as_ref())?;
                self.wants(*depth < body.around.len(), || {
                    format!("EXIT {depth} of {} around", body.around.len())
                })
            }
            Action::Continue { depth, when } => {
                self.when(when.as_ref())?;
                let around = body.around.iter().rev().nth(*depth);
                self.wants(around == Some(&Around::Loop), || {
                    format!("CONTINUE {depth} names no loop")
                })
            }
            Action::Guard {
                body: steps,
                handlers,
                slots,
            } => {
                for slot in slots {
                    self.slot(*slot, SqlType::Text, "SQLSTATE or SQLERRM")?;
                }
                self.steps(steps, body)?;
                for (number, handler) in handlers.iter().enumerate() {
                    self.within(format!("handler {}", number + 1), |checker| {
                        checker.steps(&handler.body, body)
                    })?;
                }
                Ok(())
            }
            Action::Raise(raise) => {
                self.each(&raise.arguments, &[])?;
                let pieces = raise.format.len();
                let arguments = raise.arguments.len();
                self.wants(arguments == pieces.saturating_sub(1), || {
                    format!("{arguments} arguments between {pieces} pieces")
                })?;
                let mut values = raise.options.iter().map(|(_, value)| value);
                values.try_for_each(|value| self.expr(value, &[]))
            }
            Action::Dynamic(dynamic) => self.dynamic(dynamic, body),
            Action::Landmark(landmark) => self.landmark(landmark, body),
            Action::Reraise | Action::Fail(_) | Action::Commit | Action::Rollback => Ok(()),
            Action::Return(row) => {
                self.each(row, &[])?;
                match body.routine.output {
                    Output::Row => self.gives(row.iter().map(Expr::ty).collect(), body),
                    Output::Nothing | Output::Rows => {
                        self.wants(row.is_empty(), || "RETURN gives a row".to_string())
                    }
                }
            }
            Action::ReturnNext(row) => {
                self.each(row, &[])?;
                self.gives_rows(row.iter().map(Expr::ty).collect(), body)
            }
            Action::ReturnQuery(statement) => {
                let row = self.statement(statement)?;
                self.gives_rows(row, body)
            }
            Action::RowCount { slot } => self.slot(*slot, SqlType::Int8, "ROW_COUNT"),
            Action::Diagnose { slot, .. } => self.slot(*slot, SqlType::Text, "an error's item"),
        }
    }

    fn dynamic(&mut self, dynamic: &Dynamic, body: &mut Body<'_>) -> Checked<()> {
        self.typed(
            &dynamic.text,
            &[],
            SqlType::Text,
            "a statement, or a cursor's name",
        )?;
        self.each(&dynamic.arguments, &[])?;
        self.landmark(&dynamic.at, body)?;
        match &dynamic.rows {
            DynamicRows::Into { slots, .. } => {
                let count = body.routine.slots.len();
                let stranger = slots.iter().find(|(slot, _)| *slot >= count);
                self.wants(stranger.is_none(), || format!("a row goes to {stranger:?}"))?;
            }
            DynamicRows::Returned(types) => self.gives_rows(types.clone(), body)?,
            DynamicRows::Opened(slot) => {
                let known = *slot < body.routine.slots.len();
                self.wants(known, || format!("a cursor's name is in ${}", slot + 1))?;
            }
            DynamicRows::Forgotten | DynamicRows::Record => {}
        }
        match &dynamic.turns {
            Some(turns) => self.turns(turns, Around::Loop, body),
            None => Ok(()),
        }
    }

    fn landmark(&self, landmark: &Landmark, body: &Body<'_>) -> Checked<()> {
        let count = body.routine.slots.len();
        let stranger = landmark.live.iter().find(|live| live.slot >= count);
        self.wants(stranger.is_none(), || format!("{stranger:?} has no slot"))
    }

    fn gives_rows(&self, row: Vec<SqlType>, body: &Body<'_>) -> Checked<()> {
        self.wants(body.routine.output == Output::Rows, || {
            "a routine that gives no rows gives one more".to_string()
        })?;
        self.gives(row, body)
    }

    fn gives(&self, row: Vec<SqlType>, body: &Body<'_>) -> Checked<()> {
        self.wants(body.row.as_ref() == Some(&row), || {
            format!("it gives {row:?} here and {:?} elsewhere", body.row)
        })
    }

    fn when(&mut self, when: Option<&Expr>) -> Checked<()> {
        let mut when = when.into_iter();
        when.try_for_each(|when| self.typed(when, &[], SqlType::Bool, "a condition"))
    }

    /// Targets over a row.
    fn into(&mut self, targets: &[(usize, Expr)], row: &[SqlType]) -> Checked<()> {
        for (slot, value) in targets {
            self.within(format!("the value for ${}", slot + 1), |checker| {
                checker.expr(value, row)?;
                checker.slot(*slot, value.ty(), "a value")
            })?;
        }
        Ok(())
    }

    fn call(&mut self, number: usize, arguments: &[Expr], into: &Into) -> Checked<()> {
        let called = self
            .program
            .and_then(|program| program.routines.get(number));
        let Some(called) = called else {
            return self.fault(format!("there is no routine {number}"));
        };
        if is_failing(called) {
            return Ok(());
        }
        self.arguments(called, arguments, &[])?;
        let row = match called.output {
            Output::Nothing => Some(Vec::new()),
            Output::Row | Output::Rows => self.rows[number].clone(),
        };
        match row {
            Some(row) => self.into(&into.targets, &row),
            // It never gives anything.
            None => Ok(()),
        }
    }
}
