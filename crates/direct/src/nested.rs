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
use quintet_base::text_format::FormatContext;
use quintet_base::{RoleId, SequenceId, SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::dynamic::Planned;
use quintet_ir::routine::{Callee, Output};
use quintet_ir::{Expr, Need, Program};
use quintet_ir::{Host, SequenceState, Spill, Subquery};
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
            .and_then(|mut call| call.run(program, direct, &mut context, &mut workspace));
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
        let found = match (&callee.program, around.program) {
            (Some(program), _) => Some((program, 0)),
            (None, Some(program)) => program
                .numbers
                .get(&callee.id)
                .map(|number| (program, *number)),
            (None, None) => None,
        };
        let Some((program, routine)) = found else {
            let message = format!("function {} is not linked to its caller", callee.name);
            return Err(SqlError::internal(message).into());
        };
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
        let rows = Call::begin(program, routine, arguments, floor)
            .map_err(Stop::Error)
            .and_then(|mut call| call.run(program, around.direct, &mut context, &mut workspace));
        self.txn.return_to_snapshot(snapshot);
        self.txn.return_to_state(state);
        let rows = rows.map_err(|stop| match stop {
            Stop::Blocked(wait) => Halt::Blocked(wait),
            Stop::Error(error) => Halt::Error(error),
            Stop::Commit | Stop::Ask => Halt::Error(crate::call::no_end_here()),
        })?;
        Ok(match program.routines[routine].output {
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
        if self.workspace.nesting < CALL_NESTING_MAX && begin.abs_diff(here) < CALL_STACK_BYTES_MAX
        {
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

/// What is asked of the session alone.
macro_rules! ask_the_session {
    () => {
        fn transaction_time(&self) -> i64 {
            self.host.transaction_time()
        }

        fn statement_time(&self) -> i64 {
            self.host.statement_time()
        }

        fn clock_time(&self) -> i64 {
            self.host.clock_time()
        }

        fn format(&self) -> &FormatContext {
            self.host.format()
        }

        fn setting(&self, name: &str) -> Option<String> {
            self.host.setting(name)
        }

        fn notify(&self, channel: &str, payload: &str) -> SqlResult<()> {
            self.host.notify(channel, payload)
        }

        fn notified(&self) -> usize {
            self.host.notified()
        }

        fn notify_no_more(&self, notified: usize) {
            self.host.notify_no_more(notified);
        }

        fn set_setting(&self, name: &str, value: &str, local: bool) -> SqlResult<String> {
            self.host.set_setting(name, value, local)
        }

        fn user(&self) -> &str {
            self.host.user()
        }

        fn session_user(&self) -> &str {
            self.host.session_user()
        }

        fn role_name(&self, role: RoleId) -> String {
            self.host.role_name(role)
        }

        fn is_restricted(&self) -> bool {
            self.host.is_restricted()
        }

        fn is_overdue(&self) -> bool {
            self.host.is_overdue()
        }

        fn allow(&self, needs: &[Need]) -> SqlResult<()> {
            self.host.allow(needs)
        }

        fn plan(&self, text: &str, types: &[SqlType]) -> SqlResult<Planned> {
            self.host.plan(text, types)
        }

        fn database(&self) -> &str {
            self.host.database()
        }

        fn schema(&self) -> &str {
            self.host.schema()
        }

        fn random(&self) -> u64 {
            self.host.random()
        }

        fn secret(&self) -> [u8; 16] {
            self.host.secret()
        }

        fn nextval(&self, sequence: SequenceId) -> SqlResult<i64> {
            self.host.nextval(sequence)
        }

        fn currval(&self, sequence: SequenceId) -> SqlResult<i64> {
            self.host.currval(sequence)
        }

        fn lastval(&self) -> SqlResult<i64> {
            self.host.lastval()
        }

        fn sequence_state(&self, sequence: SequenceId) -> SqlResult<SequenceState> {
            self.host.sequence_state(sequence)
        }

        fn setval(&self, sequence: SequenceId, value: i64, is_called: bool) -> SqlResult<i64> {
            self.host.setval(sequence, value, is_called)
        }

        fn process_id(&self) -> i32 {
            self.host.process_id()
        }

        fn notice(&self, severity: &'static str, message: SqlError) {
            self.host.notice(severity, message);
        }

        fn notices(&self) -> usize {
            self.host.notices()
        }

        fn forget_notices(&self, from: usize) {
            self.host.forget_notices(from);
        }

        fn is_alone(&self) -> bool {
            self.host.is_alone()
        }

        fn is_read_only(&self) -> bool {
            self.host.is_read_only()
        }

        fn statement_memory(&self) -> usize {
            self.host.statement_memory()
        }

        fn kept_memory(&self) -> usize {
            self.host.kept_memory()
        }

        fn spill(&self) -> SqlResult<Box<dyn Spill>> {
            self.host.spill()
        }
    };
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

    ask_the_session!();
}
