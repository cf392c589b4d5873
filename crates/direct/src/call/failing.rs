//! What becomes of a call's errors: handlers, and where in the routine they came from.
//!
//! Relies on: `guard`, which says what a handler takes.  Promises: a block whose handler takes an error has been undone; an
//! error that none takes says in which routines it was, the innermost first, in PostgreSQL's words.  Does not: end the transaction.

use super::{Activation, Call};
use crate::context::{Context, Stop};
use crate::guard::Handling;
use quintet_base::{SqlError, SqlResult, SqlState, Value};
use quintet_ir::code::{Code, Operation};
use quintet_ir::dynamic::{CursorAction, DynamicRows};
use quintet_ir::{Program, Routine};
use quintet_tc::Mark;

impl Call {
    /// Whether the operation at hand is one that fails because the routine says so.
    pub(super) fn raises(&self, program: &Program) -> bool {
        let at = self.activations.last().expect("a routine is running");
        let operation = program.code()[at.routine].operations.get(at.place);
        matches!(operation, Some(Operation::Raise(_) | Operation::Reraise))
    }

    /// Where the transaction began, if the call may end it here.
    ///
    /// # Errors
    /// `2D000`.
    pub(super) fn check_end(&self, context: &Context<'_>, what: &str) -> SqlResult<Mark> {
        let began = self.began.filter(|_| context.host.is_alone());
        let began = began.ok_or_else(no_end_here)?;
        let is_guarded = |at: &Activation| at.guards.iter().any(|guard| guard.handled().is_none());
        let (at, callers) = self.activations.split_last().expect("a routine is running");
        match (is_guarded(at), callers.iter().any(is_guarded)) {
            (true, _) => Err(SqlError::new(
                SqlState::INVALID_TRANSACTION_TERMINATION,
                format!("cannot {what} while a subtransaction is active"),
            )),
            (false, true) => Err(no_end_here()),
            (false, false) => Ok(began),
        }
    }

    /// Gives an error to the innermost handler that takes it, and says of which block that is; or says where the error came from.
    pub(super) fn handle(
        &mut self,
        program: &Program,
        mut error: SqlError,
        context: &mut Context<'_>,
    ) -> Result<u64, Stop> {
        // No handler stands among the parts of a statement.
        context.txn.end_state();
        while let Some(at) = self.activations.last_mut() {
            let routine = &program.routines[at.routine];
            let code = &program.code()[at.routine];
            // What a client's statement was made into has no name.
            if !routine.name.is_empty() {
                error = error.within(&where_in(routine, code, at.place));
            }
            while let Some(mut guard) = at.guards.pop() {
                let Some(handling) = guard.take(code, error.state) else {
                    continue;
                };
                let Handling { place, slots } = handling;
                let so_far = guard.so_far();
                context.txn.rollback_to(so_far.mark);
                context.host.notify_no_more(so_far.notified);
                context.host.put_off_no_more(so_far.put_off);
                if let Some(cursors) = context.host.cursors() {
                    cursors.borrow_mut().back_to(so_far.opened);
                }
                at.turns.truncate(guard.heights().loops);
                let [state, message] = slots;
                at.slots[state] = Value::text(error.state.as_str());
                at.slots[message] = Value::text(error.message.as_str());
                guard.handle(error);
                let number = guard.number();
                at.guards.push(guard);
                at.place = place;
                return Ok(number);
            }
            self.pop();
        }
        Err(Stop::Error(error))
    }
}

/// `2D000`: COMMIT or ROLLBACK in a function, or in a transaction that is not the call's.
pub(crate) fn no_end_here() -> SqlError {
    SqlError::new(
        SqlState::INVALID_TRANSACTION_TERMINATION,
        "invalid transaction termination",
    )
}

/// A line of an error's context.
fn where_in(routine: &Routine, code: &Code, place: usize) -> String {
    let at = match code.operations.get(place) {
        Some(Operation::Assign { .. } | Operation::AssignElement { .. }) => " at assignment",
        Some(Operation::Raise(_) | Operation::Reraise) => " at RAISE",
        Some(Operation::Run { .. }) => " at SQL statement",
        Some(Operation::Commit) => " at COMMIT",
        Some(Operation::Rollback) => " at ROLLBACK",
        Some(Operation::Call { .. }) => " at CALL",
        Some(Operation::Dynamic { loops: true, .. }) => " at FOR over EXECUTE statement",
        Some(Operation::Dynamic { statement, .. }) if let Some(step) = &statement.cursor => {
            match &step.what {
                CursorAction::Open { pinned: true, .. } => " at FOR over cursor",
                CursorAction::Open { .. } | CursorAction::Keep => " at OPEN",
                CursorAction::Fetch { moves: true, .. } => " at MOVE",
                CursorAction::Fetch { moves: false, .. } => " at FETCH",
                CursorAction::Close => " at CLOSE",
                CursorAction::Current { .. } => " at SQL statement",
            }
        }
        Some(Operation::Dynamic { statement, .. }) => match (statement.fixed, &statement.rows) {
            (true, _) => " at SQL statement",
            (false, DynamicRows::Returned(_)) => " at RETURN QUERY",
            (false, DynamicRows::Opened(_)) => " at OPEN",
            (false, _) => " at EXECUTE",
        },
        Some(Operation::Unless(..)) => " at condition",
        Some(
            Operation::BeginIntegers { .. }
            | Operation::BeginRows(_)
            | Operation::BeginElements(_)
            | Operation::NextRow { .. },
        ) => " at FOR",
        Some(Operation::Return(_) | Operation::ReturnNext(_) | Operation::ReturnQuery(_)) => {
            " at RETURN"
        }
        _ => "",
    };
    // As PostgreSQL writes a routine's types there, and nowhere else.
    let name = routine.name.replace(", ", ",");
    match code.lines.get(place) {
        Some(line) if *line > 0 => {
            format!("PL/pgSQL function {name} line {line}{at}")
        }
        _ => format!("PL/pgSQL function {name}{at}"),
    }
}
