//! Functions that the expressions and FROM items of a statement call, and queries in expressions.
//!
//! Relies on: the statement is run whole, so that it may come to nothing anywhere.  Promises: the
//! function's statements run in the same transaction, each of them seeing those before it; the statement
//! that calls goes on at its own snapshot; what is waited for inside comes out as [`Halt::Blocked`]; the
//! memory of both counts as one.  Does not: keep what a call has come to when it has to wait.
//!
//! ```text
//!   statement ── expression ── Calling (a host) ── Call ── its statements ── expression ── …
//!                                                 each such step is on the thread's stack; both the number
//!                                                 of steps and their bytes have a bound
//! ```

use crate::call::Call;
use crate::context::{Around, Context, Env, Halt, Stop, Workspace};
use crate::direct::Direct;
use quintet_base::limits::{CALL_NESTING_MAX, CALL_STACK_BYTES_MAX};
use quintet_base::{SqlError, SqlResult, SqlState, Value, stack};
use quintet_ir::routine::{Callee, Output};
use quintet_ir::{Expr, Host, Program, Subquery, ask_as_whoever_it_is, ask_the_session};
use quintet_tc::Txn;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a call needs of the statement that it stands in.
pub(crate) struct Inside<'i> {
    pub txn: &'i mut Txn,
    pub cancel: &'i AtomicBool,
    pub workspace: &'i mut Workspace,
}

/// The session as an expression sees it that may call functions.
pub(crate) struct Calling<'c> {
    around: Option<Around<'c>>,
    host: &'c dyn Host,
    params: &'c [Value],
    inside: RefCell<Inside<'c>>,
}

impl Inside<'_> {
    /// The same for a moment.
    fn lend(&mut self) -> Inside<'_> {
        Inside {
            txn: self.txn,
            cancel: self.cancel,
            workspace: self.workspace,
        }
    }

    /// An error for the expression that was stopped; what else than an error it was is kept for the statement.
    fn stopped(&mut self, halt: Halt) -> SqlError {
        match halt {
            Halt::Error(error) => error,
            halt => {
                self.workspace.halted = Some(halt);
                SqlError::internal("an expression was stopped")
            }
        }
    }

    /// Runs what a statement was made into, at a step of the call that it stands in. Nothing of it remains if it must wait.
    pub fn run_program(
        self,
        program: &Arc<Program>,
        arguments: &[Expr],
        (direct, host, params): (&Direct, &dyn Host, &[Value]),
    ) -> Result<Vec<Vec<Value>>, Stop> {
        let mut workspace = self.workspace.inside(self.stack()?);
        let mark = self.txn.mark();
        let mut context = Context {
            txn: self.txn,
            host,
            params,
            cancel: self.cancel,
        };
        let rows = Call::new(program, arguments, &mut context)
            .map_err(Stop::Error)
            .and_then(|mut call| {
                stack::for_running(|| call.run(program, direct, &mut context, &mut workspace))
            });
        if let Err(Stop::Blocked(_)) = rows {
            context.txn.rollback_to(mark);
        }
        rows
    }

    /// Calls a function. A row for each that it gives; one that gives nothing has one row, too.
    pub fn call(
        self,
        around: Around<'_>,
        host: &dyn Host,
        callee: &Callee,
        arguments: Vec<Value>,
    ) -> Result<Vec<Vec<Value>>, Halt> {
        let stack = self.stack()?;
        let inside = |program: &Arc<Program>| {
            let number = program.numbers.get(&callee.id);
            number.map(|number| (Arc::clone(program), *number))
        };
        let found = match &callee.program {
            Some(program) => Some((Arc::clone(program), 0)),
            None => around.program.and_then(inside),
        };
        let (program, routine) = match found {
            Some(found) => found,
            None => (host.program(callee.id)?, 0),
        };
        let program = &program;
        let mut workspace = self.workspace.inside(stack);
        let snapshot = self.txn.keep_snapshot();
        let state = self.txn.leave_state();
        let mut context = Context {
            txn: self.txn,
            host,
            params: &[],
            cancel: self.cancel,
        };
        let floor = workspace.floor();
        let called = &program.routines[routine];
        let skipped = called.strict && arguments.iter().any(Value::is_null);
        let rows = Call::begin(program, routine, arguments, floor)
            .map_err(Stop::Error)
            .and_then(|mut call| {
                let direct = around.direct;
                stack::for_running(|| call.run(program, direct, &mut context, &mut workspace))
            });
        self.txn.return_to_snapshot(snapshot);
        self.txn.return_to_state(state);
        let rows = rows.map_err(|stop| match stop {
            Stop::Blocked(wait) => Halt::Blocked(wait),
            Stop::Error(error) => Halt::Error(error),
            Stop::Commit | Stop::Ask => Halt::Error(crate::call::no_end_here()),
        })?;
        Ok(match program.routines[routine].output {
            Output::Nothing if skipped => vec![vec![Value::Null]],
            Output::Nothing => vec![vec![callee.nothing.clone()]],
            Output::Row | Output::Rows => rows,
        })
    }
}

impl Inside<'_> {
    /// Where the stack of the outermost call begins, unless it has come too far from there.
    fn stack(&self) -> SqlResult<usize> {
        // An address says how far the stack has grown; nothing is read or written through it.
        let place = 0_u8;
        let here = std::ptr::from_ref(&place).addr();
        let begin = match self.workspace.stack {
            0 => here,
            begin => begin,
        };
        // Where there have been deep plans each call takes its room.
        let has_room = stack::is_deep() || begin.abs_diff(here) < CALL_STACK_BYTES_MAX;
        if self.workspace.nesting < CALL_NESTING_MAX && has_room {
            return Ok(begin);
        }
        Err(SqlError::new(
            SqlState::STATEMENT_TOO_COMPLEX,
            "stack depth limit exceeded",
        )
        .detail(format!(
            "Functions whose queries call functions stand more than {} deep.",
            self.workspace.nesting
        )))
    }
}

impl<'c> Calling<'c> {
    pub fn new(
        around: Option<Around<'c>>,
        (host, params): (&'c dyn Host, &'c [Value]),
        inside: Inside<'c>,
    ) -> Calling<'c> {
        Calling {
            around,
            host,
            params,
            inside: RefCell::new(inside),
        }
    }
}

impl Host for Calling<'_> {
    fn call(&self, callee: &Callee, arguments: Vec<Value>) -> SqlResult<Value> {
        // Nobody else has it: a call inside has a host of its own.
        let mut inside = self.inside.borrow_mut();
        let Some(around) = self.around else {
            return Err(SqlError::internal(
                "a function was called outside a whole run",
            ));
        };
        match inside.lend().call(around, self.host, callee, arguments) {
            Ok(rows) => {
                let first = rows.into_iter().next();
                let value = first.and_then(|row| row.into_iter().next());
                Ok(value.unwrap_or(Value::Null))
            }
            Err(Halt::Stale) => Err(SqlError::internal("a function was called too late")),
            Err(halt) => Err(inside.stopped(halt)),
        }
    }

    fn outer(&self) -> &[Value] {
        self.host.outer()
    }

    fn subquery(
        &self,
        subquery: &Subquery,
        outer: Vec<Value>,
        tested: Vec<Value>,
    ) -> SqlResult<Value> {
        let mut inside = self.inside.borrow_mut();
        let within = Within {
            host: self.host,
            outer: &outer,
        };
        let lent = inside.lend();
        let mut env = Env::inside(lent, (&within, self.params), self.around);
        let value = crate::subquery::run(subquery, &tested, &mut env);
        value.map_err(|halt| inside.stopped(halt))
    }

    ask_as_whoever_it_is!();
    ask_the_session!();
}

/// The session as the expressions of a subquery, or a lateral plan, see it: with what is handed to it.
pub(crate) struct Within<'w> {
    pub host: &'w dyn Host,
    pub outer: &'w [Value],
}

impl Host for Within<'_> {
    fn outer(&self) -> &[Value] {
        self.outer
    }

    ask_as_whoever_it_is!();
    ask_the_session!();
}
