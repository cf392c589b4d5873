//! What becomes of the rows of a statement inside a routine: slots, or rows that are kept.
//!
//! Relies on: the statement was planned over the routine's slots.  Promises: a query is read no further than
//! somebody looks; a slot that may not be NULL never is; kept rows have a bound.  Does not: know
//! operations.

use crate::context::{Around, Context, Env, STATEMENT_MEMORY_MAX, Stop, Workspace, row_bytes};
use crate::cursor::Cursor;
use crate::lock::runs_whole;
use crate::moment;
use crate::run::{Restarts, run_whole, stop_outside_a_run};
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_ir::routine::{Into, Slot};
use quintet_ir::{Expr, Plan, Routine, Statement};

/// Runs a statement and leaves its first row in `frame`; a query is not read further than INTO must know. Says how many rows there were, or were changed.
pub(crate) fn first_row(
    (around, statement): (Around<'_>, &Statement),
    context: &mut Context<'_>,
    workspace: &mut Workspace,
    (restarts, frame): (&mut Restarts, &mut Vec<Value>),
    into: &Into,
) -> Result<u64, Stop> {
    match statement {
        Statement::Query(plan) if !runs_whole(plan) => {
            context.txn.begin_statement();
            moment::settle(context);
            context.txn.show_state();
            let mut env = Env::new(context, workspace);
            env.release_all();
            let found = first_of(plan, &mut env, frame, into);
            context.txn.show_present();
            found
        }
        _ => {
            let wanted = match (into.targets.is_empty(), into.strict) {
                (true, _) => usize::MAX,
                (false, true) => 2,
                (false, false) => 1,
            };
            let restarts = (restarts, wanted);
            let written = run_whole(around, statement, context, workspace, restarts)?;
            frame.clear();
            frame.extend(written.rows.into_iter().next().into_iter().flatten());
            Ok(written.count)
        }
    }
}

/// Reads a query as far as INTO must know; its first row is in `frame`.
fn first_of(
    plan: &Plan,
    env: &mut Env<'_>,
    frame: &mut Vec<Value>,
    into: &Into,
) -> Result<u64, Stop> {
    let mut cursor = Cursor::new(plan);
    let mut next = |env: &mut Env<'_>, frame: &mut Vec<Value>| {
        cursor.next(plan, env, frame, 0).map_err(stop_outside_a_run)
    };
    if !next(env, frame)? {
        return Ok(0);
    }
    let mut found = 1;
    if into.strict || into.targets.is_empty() {
        let mut other = Vec::new();
        while (found == 1 || into.targets.is_empty()) && next(env, &mut other)? {
            found += 1;
        }
    }
    Ok(found)
}

/// Runs a statement and shows its rows, at most so many; a query is not read further.
/// Says how many there were, or were changed.
pub(crate) fn each_row(
    (around, statement): (Around<'_>, &Statement),
    context: &mut Context<'_>,
    workspace: &mut Workspace,
    (restarts, frame): (&mut Restarts, &mut Vec<Value>),
    wanted: usize,
    mut see: impl FnMut(&[Value]) -> SqlResult<()>,
) -> Result<u64, Stop> {
    match statement {
        Statement::Query(plan) if !runs_whole(plan) => {
            context.txn.begin_statement();
            context.txn.show_state();
            let mut cursor = Cursor::new(plan);
            let mut env = Env::new(context, workspace);
            env.release_all();
            let mut found = 0;
            while found < wanted as u64 {
                match cursor.next(plan, &mut env, frame, 0) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(halt) => return Err(stop_outside_a_run(halt)),
                }
                found += 1;
                see(frame)?;
            }
            context.txn.show_present();
            Ok(found)
        }
        _ => {
            let restarts = (restarts, wanted);
            let written = run_whole(around, statement, context, workspace, restarts)?;
            for row in &written.rows {
                see(row)?;
            }
            Ok(written.count)
        }
    }
}

pub(crate) fn over_row(
    expr: &Expr,
    row: &[Value],
    slots: &[Value],
    host: &dyn quintet_ir::Host,
) -> SqlResult<Value> {
    match expr {
        Expr::Column(place, _) => Ok(row.get(*place).cloned().unwrap_or(Value::Null)),
        expr => quintet_ir::eval(expr, row, slots, host),
    }
}

/// Gives the targets their values over a row, NULLs if there is none. `plain`: they are its columns in order,
/// and change places with what the targets had, so that its memory is used again.
pub(crate) fn fill(
    routine: &Routine,
    slots: &mut [Value],
    (into, plain): (&Into, bool),
    mut row: Option<&mut [Value]>,
    host: &dyn quintet_ir::Host,
) -> SqlResult<()> {
    if plain && let Some(row) = &mut row {
        for (place, (slot, _)) in into.targets.iter().enumerate() {
            match row.get_mut(place) {
                Some(Value::Null) | None => store(routine, slots, *slot, Value::Null)?,
                Some(value) => std::mem::swap(&mut slots[*slot], value),
            }
        }
        return Ok(());
    }
    for (slot, value) in &into.targets {
        let value = match (&mut row, value) {
            (None, _) => Value::Null,
            (Some(row), value) => over_row(value, row, slots, host)?,
        };
        store(routine, slots, *slot, value)?;
    }
    Ok(())
}

#[cold]
fn refused_null(slot: &Slot) -> SqlError {
    let text = "null value cannot be assigned to variable";
    SqlError::new(
        SqlState::NULL_VALUE_NOT_ALLOWED,
        format!("{text} \"{}\" declared NOT NULL", slot.name),
    )
}

/// `slot := value`.
#[inline(always)]
pub(crate) fn store(
    routine: &Routine,
    slots: &mut [Value],
    slot: usize,
    value: Value,
) -> SqlResult<()> {
    match (&mut slots[slot], value) {
        // Neither is NULL or has anything to drop.
        (Value::Int4(place), Value::Int4(value)) => {
            *place = value;
            Ok(())
        }
        (place, value) => store_any(&routine.slots[slot], place, value),
    }
}

fn store_any(defined: &Slot, place: &mut Value, value: Value) -> SqlResult<()> {
    if defined.not_null && value.is_null() {
        return Err(refused_null(defined));
    }
    *place = value;
    Ok(())
}

pub(crate) fn note_found(routine: &Routine, slots: &mut [Value], found: bool) {
    if let Some(slot) = routine.found {
        match &mut slots[slot] {
            Value::Bool(place) => *place = found,
            place => *place = Value::Bool(found),
        }
    }
}

pub(crate) fn check_strict(into: &Into, found: u64) -> SqlResult<()> {
    match found {
        _ if !into.strict => Ok(()),
        0 => Err(SqlError::new(
            SqlState::STRICT_NO_ROW,
            "query returned no rows",
        )),
        1 => Ok(()),
        _ => Err(several_rows()),
    }
}

/// STRICT; and a statement of PL/pgSQL that writes has one row for its targets at most. Of the last one of a routine in
/// SQL the first row counts.
pub(crate) fn check_rows(into: &Into, found: u64, statement: &Statement) -> SqlResult<()> {
    let writes = !matches!(statement, Statement::Query(_));
    match writes && found > 1 && !into.targets.is_empty() && !into.silent {
        true => Err(several_rows()),
        false => check_strict(into, found),
    }
}

fn several_rows() -> SqlError {
    SqlError::new(
        SqlState::STRICT_SEVERAL_ROWS,
        "query returned more than one row",
    )
    .hint("Make sure the query returns a single row, or use LIMIT 1.")
}

/// Keeps a row for a loop or a result.
pub(crate) fn keep(rows: &mut Vec<Vec<Value>>, row: Vec<Value>, kept: &mut usize) -> SqlResult<()> {
    *kept += row_bytes(&row);
    if *kept > STATEMENT_MEMORY_MAX {
        return Err(SqlError::new(
            SqlState::OUT_OF_MEMORY,
            "call needs more memory than one may have",
        )
        .detail(format!(
            "The rows that its loops and results keep exceed {STATEMENT_MEMORY_MAX} bytes."
        )));
    }
    rows.push(row);
    Ok(())
}
