//! The steps of a routine, over its tree.
//!
//! Relies on: `statement` for SQL, `raise` for messages.  Promises: what each [`Action`] means, in the order
//! of its description.  Does not: flatten anything: a step inside a loop is run inside the loop.
//!
//! FOUND is set by statements, and by loops with a number of turns when they end: whether there was a
//! turn. Leaving such a loop early says TRUE.

use crate::cursor;
use crate::database::Database;
use crate::interpreter::Interpreter;
use crate::raise;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::Host;
use quintet_ir::dynamic::{CursorStep, Dynamic};
use quintet_ir::routine::{Action, Handler, Into, Output, Routine, Step, set_element};
use quintet_ir::{Expr, Program, Statement, eval, eval_predicate};
use std::sync::Arc;

/// Calls a routine. A row for each that it gives: one without columns where a strict function was given
/// a NULL.
pub(crate) fn call(
    interpreter: Interpreter<'_>,
    program: &Arc<Program>,
    number: usize,
    arguments: Vec<Value>,
) -> SqlResult<Vec<Vec<Value>>> {
    let routine = &program.routines[number];
    let no_row = |output| match output {
        Output::Row => vec![Vec::new()],
        Output::Nothing | Output::Rows => Vec::new(),
    };
    if routine.strict && arguments.iter().any(Value::is_null) {
        return Ok(no_row(routine.output));
    }
    let mut slots = arguments;
    slots.resize(routine.slots.len(), Value::Null);
    let mut activation = Activation {
        interpreter,
        program,
        routine,
        slots,
        count: 0,
        rows: Vec::new(),
        handled: Vec::new(),
        guards: 0,
        state: None,
    };
    let after = activation.steps(&routine.body)?;
    Ok(match (routine.output, after) {
        (Output::Rows, _) => activation.rows,
        (Output::Row, After::Return(row)) => vec![row],
        (output, _) => no_row(output),
    })
}

/// A routine that is running.
struct Activation<'a> {
    interpreter: Interpreter<'a>,
    program: &'a Arc<Program>,
    routine: &'a Routine,
    slots: Vec<Value>,
    /// GET DIAGNOSTICS … ROW_COUNT.
    count: u64,
    /// RETURN NEXT and RETURN QUERY.
    rows: Vec<Vec<Value>>,
    /// The errors that handlers are busy with, the innermost last.
    handled: Vec<SqlError>,
    /// How many blocks with handlers are running in it.
    guards: usize,
    /// What the parts of one statement see.
    state: Option<Database>,
}

/// What is to be done after a step.
enum After {
    /// The next one.
    On,
    /// Go on behind an enclosing loop or labelled block: so many around the present one.
    Exit(usize),
    /// Go on with the next turn of an enclosing loop.
    Continue(usize),
    /// The routine is over, with this row.
    Return(Vec<Value>),
}

impl After {
    /// The same, seen from outside of the loop or block; `None`: that was meant.
    fn outside(self) -> Option<After> {
        match self {
            After::Exit(0) | After::Continue(0) => None,
            After::Exit(depth) => Some(After::Exit(depth - 1)),
            After::Continue(depth) => Some(After::Continue(depth - 1)),
            other => Some(other),
        }
    }
}

impl Activation<'_> {
    fn steps(&mut self, steps: &[Step]) -> SqlResult<After> {
        for step in steps {
            if let Some(needs) = &step.needs {
                self.interpreter.allow(needs)?;
            }
            match self.step(&step.action)? {
                After::On => {}
                after => return Ok(after),
            }
        }
        Ok(After::On)
    }

    fn step(&mut self, action: &Action) -> SqlResult<After> {
        match action {
            Action::Assign { slot, value } => {
                let value = self.eval(value)?;
                self.store(*slot, value)?;
            }
            Action::AssignElement { slot, index, value } => {
                let index = self.eval(index)?;
                let Some(index) = index.as_i64() else {
                    return Err(null_not_allowed(
                        "array subscript in assignment must not be null",
                    ));
                };
                let value = self.eval(value)?;
                let element = self.routine.slots[*slot].ty.element();
                let element = element.unwrap_or(SqlType::Unknown);
                set_element(&mut self.slots[*slot], element, &[index], value)?;
            }
            Action::Run { statement, into } => self.run(statement, into)?,
            Action::Call {
                routine,
                arguments,
                into,
            } => self.call(*routine, arguments, into)?,
            Action::If {
                branches,
                otherwise,
            } => {
                for (condition, body) in branches {
                    if self.holds(condition)? {
                        return self.steps(body);
                    }
                }
                return self.steps(otherwise);
            }
            Action::Loop { body } => loop {
                if let Some(after) = self.turn(body)? {
                    return Ok(after);
                }
            },
            Action::ForInteger {
                slot,
                lower,
                upper,
                step,
                reverse,
                body,
            } => {
                let (lower, upper, step) = (self.eval(lower)?, self.eval(upper)?, self.eval(step)?);
                let turns = integers(&lower, &upper, &step, *reverse)?;
                return self.turns(turns, body, |activation, value| {
                    activation.store(*slot, value)
                });
            }
            Action::ForRow {
                statement,
                into,
                body,
            } => {
                let rows = self.statement(statement, u64::MAX)?.rows;
                if rows.is_empty() {
                    for (slot, _) in into {
                        self.store(*slot, Value::Null)?;
                    }
                }
                return self.turns(rows, body, |activation, row| {
                    activation.fill(into, Some(&row))
                });
            }
            Action::ForElement { slot, array, body } => {
                let Value::Array(array) = self.eval(array)? else {
                    return Err(null_not_allowed("FOREACH expression must not be null"));
                };
                return self.turns(array.values, body, |activation, value| {
                    activation.store(*slot, value)
                });
            }
            Action::Block { body } => {
                let after = self.steps(body)?;
                return Ok(after.outside().unwrap_or(After::On));
            }
            Action::OneState { body } => {
                let now = self.interpreter.database.borrow().clone();
                self.state = Some(now);
                let after = self.steps(body);
                self.state = None;
                return after;
            }
            Action::Exit { depth, when } => {
                if self.is_wanted(when.as_ref())? {
                    return Ok(After::Exit(*depth));
                }
            }
            Action::Continue { depth, when } => {
                if self.is_wanted(when.as_ref())? {
                    return Ok(After::Continue(*depth));
                }
            }
            Action::Guard {
                body,
                handlers,
                slots,
            } => return self.guard(body, handlers, *slots),
            Action::Raise(raise) => raise::raise(raise, &self.slots, &self.interpreter)?,
            Action::Reraise => {
                return Err(self.handled.last().cloned().unwrap_or_else(|| {
                    no_handler(
                        "RAISE without parameters cannot be used outside an exception handler",
                    )
                }));
            }
            Action::Landmark(_) => {}
            Action::Dynamic(dynamic) => match &dynamic.cursor {
                Some(step) => self.cursor(step, dynamic)?,
                None => return Err(SqlError::unsupported("dynamic SQL")),
            },
            Action::Commit | Action::Rollback => self.end_transaction(action)?,
            Action::Fail(error) => return Err(SqlError::clone(error)),
            Action::Return(row) => return Ok(After::Return(self.values(row)?)),
            Action::ReturnNext(row) => {
                let row = self.values(row)?;
                self.rows.push(row);
            }
            Action::ReturnQuery(statement) => {
                let answer = self.statement(statement, u64::MAX)?;
                self.count = answer.count;
                self.rows.extend(answer.rows);
                self.note_found(self.count > 0);
            }
            Action::RowCount { slot } => self.slots[*slot] = Value::Int8(self.count as i64),
            Action::Diagnose { slot, item } => {
                let error = self.handled.last().ok_or_else(|| {
                    no_handler(
                        "GET STACKED DIAGNOSTICS cannot be used outside an exception handler",
                    )
                })?;
                self.slots[*slot] = raise::diagnostic(error, *item);
            }
        }
        Ok(After::On)
    }

    /// Something about a cursor.
    fn cursor(&mut self, step: &CursorStep, dynamic: &Dynamic) -> SqlResult<()> {
        let given = (self.eval(&dynamic.text)?, self.values(&dynamic.arguments)?);
        let types = |slot: usize| self.routine.slots[slot].ty;
        let done = cursor::step(step, dynamic, given, &types, &self.interpreter)?;
        if let Some(count) = done.count {
            self.count = count;
            self.note_found(count > 0);
        }
        for (slot, value) in done.assigned {
            self.store(slot, value)?;
        }
        Ok(())
    }

    /// A statement, whose first row fills the targets. A query is read no further than they must know.
    fn run(&mut self, statement: &Statement, into: &Into) -> SqlResult<()> {
        let most = match (into.targets.is_empty(), into.strict) {
            (true, _) => u64::MAX,
            (false, true) => 2,
            (false, false) => 1,
        };
        let answer = self.statement(statement, most)?;
        let writes = !matches!(statement, Statement::Query(_));
        if writes && answer.count > 1 && !into.targets.is_empty() && !into.silent {
            return Err(several_rows());
        }
        self.end_of_statement(into, answer.count)?;
        self.fill(&into.targets, answer.rows.first().map(Vec::as_slice))
    }

    /// Another routine, as if it were a query: one that gives nothing has one row without columns, or none if it was skipped.
    fn call(&mut self, number: usize, arguments: &[Expr], into: &Into) -> SqlResult<()> {
        let arguments = self.values(arguments)?;
        let skipped = self.program.routines[number].strict && arguments.iter().any(Value::is_null);
        let mut rows = self.interpreter.call(self.program, number, arguments)?;
        if self.program.routines[number].output == Output::Nothing {
            rows.push(Vec::new());
        }
        self.end_of_statement(into, rows.len() as u64)?;
        let row = rows.first().filter(|row| {
            let nothing = self.program.routines[number].output == Output::Nothing;
            (nothing && !skipped) || !row.is_empty()
        });
        self.fill(&into.targets, row.map(Vec::as_slice))
    }

    /// STRICT, ROW_COUNT and FOUND.
    fn end_of_statement(&mut self, into: &Into, count: u64) -> SqlResult<()> {
        match count {
            0 if into.strict => {
                return Err(SqlError::new(
                    SqlState::STRICT_NO_ROW,
                    "query returned no rows",
                ));
            }
            2.. if into.strict => return Err(several_rows()),
            _ => {}
        }
        if !into.silent {
            self.count = count;
            self.note_found(count > 0);
        }
        Ok(())
    }

    /// One turn of a loop: `None` if another may follow, else what to do behind the loop.
    fn turn(&mut self, body: &[Step]) -> SqlResult<Option<After>> {
        Ok(match self.steps(body)? {
            After::On | After::Continue(0) => None,
            After::Exit(0) => Some(After::On),
            after => after.outside(),
        })
    }

    /// A loop with a turn for each of the items.
    fn turns<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        body: &[Step],
        mut begin: impl FnMut(&mut Self, T) -> SqlResult<()>,
    ) -> SqlResult<After> {
        let mut turned = false;
        for item in items {
            turned = true;
            begin(self, item)?;
            if let Some(after) = self.turn(body)? {
                self.note_found(true);
                return Ok(after);
            }
        }
        self.note_found(turned);
        Ok(After::On)
    }

    /// BEGIN … EXCEPTION: variables keep what they were given, tables do not.
    fn guard(
        &mut self,
        body: &[Step],
        handlers: &[Handler],
        slots: [usize; 2],
    ) -> SqlResult<After> {
        let before = self.interpreter.database.borrow().clone();
        let opened = self.interpreter.cursors();
        let opened = opened.map_or(0, |cursors| cursors.borrow().opened());
        let all = self.interpreter.ending.map(|ending| &ending.guards);
        let count = |more: isize| {
            if let Some(all) = all {
                all.set(all.get().saturating_add_signed(more));
            }
        };
        count(1);
        self.guards += 1;
        let done = self.steps(body);
        self.guards -= 1;
        count(-1);
        let error = match done {
            Ok(after) => return Ok(after),
            Err(error) => error,
        };
        let takes = |handler: &&Handler| {
            let mut conditions = handler.conditions.iter();
            conditions.any(|condition| condition.takes(error.state))
        };
        let Some(handler) = handlers.iter().find(takes) else {
            return Err(error);
        };
        self.interpreter.database.borrow_mut().back_to(before);
        if let Some(cursors) = self.interpreter.cursors() {
            cursors.borrow_mut().back_to(opened);
        }
        let [state, message] = slots;
        self.slots[state] = Value::text(error.state.as_str());
        self.slots[message] = Value::text(error.message.as_str());
        self.handled.push(error);
        let after = self.steps(&handler.body);
        self.handled.pop();
        after
    }

    /// COMMIT, ROLLBACK: the database as it is becomes the one to go back to, or the other way round.
    fn end_transaction(&self, action: &Action) -> SqlResult<()> {
        let refuse = |message: &str| {
            let state = SqlState::INVALID_TRANSACTION_TERMINATION;
            Err(SqlError::new(state, message))
        };
        let (commits, what) = match action {
            Action::Commit => (true, "commit"),
            _ => (false, "roll back"),
        };
        let ending = self.interpreter.ending;
        let Some(ending) = ending.filter(|_| self.interpreter.is_alone()) else {
            return refuse("invalid transaction termination");
        };
        match (self.guards, ending.guards.get()) {
            (0, 0) => {}
            (0, _) => return refuse("invalid transaction termination"),
            _ => return refuse(&format!("cannot {what} while a subtransaction is active")),
        }
        let (mut now, mut began) = (
            self.interpreter.database.borrow_mut(),
            ending.began.borrow_mut(),
        );
        match commits {
            true => *began = now.clone(),
            false => {
                now.back_to(began.clone());
                if let Some(cursors) = self.interpreter.cursors() {
                    cursors.borrow_mut().end_transaction(false);
                }
            }
        }
        Ok(())
    }

    fn statement(&self, statement: &Statement, most: u64) -> SqlResult<crate::Answer> {
        let state = self.state.as_ref();
        self.interpreter
            .statement(statement, &self.slots, (most, state))
    }

    /// The targets over a row; NULLs without one.
    fn fill(&mut self, targets: &[(usize, Expr)], row: Option<&[Value]>) -> SqlResult<()> {
        for (slot, value) in targets {
            let value = match row {
                Some(row) => eval(value, row, &self.slots, &self.interpreter)?,
                None => Value::Null,
            };
            self.store(*slot, value)?;
        }
        Ok(())
    }

    /// `slot := value`.
    fn store(&mut self, slot: usize, value: Value) -> SqlResult<()> {
        let declared = &self.routine.slots[slot];
        if declared.not_null && value.is_null() {
            return Err(null_not_allowed(format!(
                "null value cannot be assigned to variable \"{}\" declared NOT NULL",
                declared.name
            )));
        }
        self.slots[slot] = value;
        Ok(())
    }

    fn note_found(&mut self, found: bool) {
        if let Some(slot) = self.routine.found {
            self.slots[slot] = Value::Bool(found);
        }
    }

    fn eval(&self, expr: &Expr) -> SqlResult<Value> {
        eval(expr, &[], &self.slots, &self.interpreter)
    }

    fn values(&self, exprs: &[Expr]) -> SqlResult<Vec<Value>> {
        exprs.iter().map(|expr| self.eval(expr)).collect()
    }

    fn holds(&self, condition: &Expr) -> SqlResult<bool> {
        eval_predicate(condition, &[], &self.slots, &self.interpreter)
    }

    fn is_wanted(&self, when: Option<&Expr>) -> SqlResult<bool> {
        when.map_or(Ok(true), |when| self.holds(when))
    }
}

/// The values of `FOR i IN [REVERSE] lower .. upper BY step`.
fn integers(lower: &Value, upper: &Value, step: &Value, reverse: bool) -> SqlResult<Vec<Value>> {
    let bound = |value: &Value, what: &str| {
        let message = format!("{what} of FOR loop cannot be null");
        value.as_i64().ok_or_else(|| null_not_allowed(message))
    };
    let (lower, upper) = (bound(lower, "lower bound")?, bound(upper, "upper bound")?);
    let step = bound(step, "BY value")?;
    if step <= 0 {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "BY value of FOR loop must be greater than zero",
        ));
    }
    let mut values = Vec::new();
    let mut next = lower;
    while if reverse {
        next >= upper
    } else {
        next <= upper
    } {
        values.push(Value::Int4(next as i32));
        next += if reverse { -step } else { step };
    }
    Ok(values)
}

fn null_not_allowed(message: impl std::convert::Into<String>) -> SqlError {
    SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
}

fn no_handler(message: &str) -> SqlError {
    SqlError::new(SqlState::STACKED_DIAGNOSTICS_WITHOUT_HANDLER, message)
}

fn several_rows() -> SqlError {
    SqlError::new(
        SqlState::STRICT_SEVERAL_ROWS,
        "query returned more than one row",
    )
}
