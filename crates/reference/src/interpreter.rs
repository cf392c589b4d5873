//! Who runs a procedure, and how expressions call functions.
//!
//! Relies on: `routine`, `statement`.  Promises: a procedure that fails leaves the database as it was.
//! Does not: know what a step does.

use crate::database::Database;
use crate::routine;
use crate::trace::Trace;
use quintet_base::text_format::FormatContext;
use quintet_base::{RoleId, SequenceId, SqlError, SqlResult, TableId, Value};
use quintet_ir::Need;
use quintet_ir::cursors::Cursors;
use quintet_ir::routine::{Callee, Output};
use quintet_ir::statement::Body;
use quintet_ir::{Host, Procedure, Program, PutOffSoFar};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// What a procedure, or a statement, came to.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The result; of a statement that writes, what RETURNING gives.
    pub rows: Vec<Vec<Value>>,
    /// How many rows there were, or were written.
    pub count: u64,
}

/// Runs a procedure with values for its parameters.
///
/// # Errors
/// What its steps and statements say; the database is as it was then.
pub fn run(
    database: &mut Database,
    procedure: &Procedure,
    params: &[Value],
    session: &dyn Host,
) -> SqlResult<Answer> {
    run_traced(database, procedure, params, session, None)
}

/// The same; what it touches is noted.
///
/// # Errors
/// As [`run`].
pub fn run_traced(
    database: &mut Database,
    procedure: &Procedure,
    params: &[Value],
    session: &dyn Host,
    trace: Option<&Trace>,
) -> SqlResult<Answer> {
    let shared = RefCell::new(database.clone());
    let ending = Ending {
        began: RefCell::new(database.clone()),
        guards: Cell::new(0),
    };
    let interpreter = Interpreter {
        database: &shared,
        ending: Some(&ending),
        session,
        program: None,
        trace,
    };
    let answer = interpreter.procedure(procedure, params);
    match answer {
        Ok(_) => *database = shared.into_inner(),
        Err(_) => {
            let before = std::mem::replace(database, shared.into_inner());
            database.back_to(before);
        }
    }
    answer
}

/// The database and the session, as the statements of one routine see them.
#[derive(Clone, Copy)]
pub(crate) struct Interpreter<'a> {
    /// Borrowed for moments only: a function that an expression calls changes it, too.
    pub database: &'a RefCell<Database>,
    pub session: &'a dyn Host,
    /// The program whose routine is running, where functions are found by their numbers.
    pub program: Option<&'a Arc<Program>>,
    /// Where what is touched is noted.
    pub trace: Option<&'a Trace>,
    /// The transaction that the client's call may end; none in a function that an expression calls.
    pub ending: Option<&'a Ending>,
}

/// A transaction that COMMIT and ROLLBACK may end.
pub(crate) struct Ending {
    /// The database when it began.
    pub began: RefCell<Database>,
    /// How many blocks with handlers are running.
    pub guards: Cell<usize>,
}

impl Interpreter<'_> {
    /// Runs a procedure, whatever becomes of it.
    fn procedure(&self, procedure: &Procedure, params: &[Value]) -> SqlResult<Answer> {
        Ok(match &procedure.body {
            Body::Statement(statement) => self.statement(statement, params, (u64::MAX, None))?,
            Body::Call { program, arguments } => {
                let values = self.values(arguments, &[], params)?;
                let mut rows = self.call(program, 0, values)?;
                // Strict, and called with a NULL: a row of NULLs.
                for row in rows.iter_mut().filter(|row| row.is_empty()) {
                    row.resize(procedure.result.len(), Value::Null);
                }
                Answer {
                    count: rows.len() as u64,
                    rows,
                }
            }
        })
    }

    /// Calls a routine of a program: a row for each that it gives.
    pub fn call(
        &self,
        program: &Arc<Program>,
        number: usize,
        arguments: Vec<Value>,
    ) -> SqlResult<Vec<Vec<Value>>> {
        let inside = Interpreter {
            program: Some(program),
            ..*self
        };
        routine::call(inside, program, number, arguments)
    }

    /// Calls a function of the catalogue. One that gives nothing has one row, too.
    pub fn call_named(&self, callee: &Callee, arguments: Vec<Value>) -> SqlResult<Vec<Vec<Value>>> {
        let found = match (&callee.program, self.program) {
            (Some(program), _) => Some((program, 0)),
            (None, Some(program)) => program.numbers.get(&callee.id).map(|n| (program, *n)),
            (None, None) => None,
        };
        let Some((program, number)) = found else {
            let message = format!("function {} is not linked to its caller", callee.name);
            return Err(SqlError::internal(message));
        };
        let inside = Interpreter {
            ending: None,
            ..*self
        };
        let skipped = program.routines[number].strict && arguments.iter().any(Value::is_null);
        let rows = inside.call(program, number, arguments)?;
        Ok(match program.routines[number].output {
            Output::Nothing if skipped => vec![vec![Value::Null]],
            Output::Nothing => vec![vec![callee.nothing.clone()]],
            Output::Row | Output::Rows => rows,
        })
    }
}

impl Host for Interpreter<'_> {
    /// The first column of the first row; NULL if there is none.
    fn call(&self, callee: &Callee, arguments: Vec<Value>) -> SqlResult<Value> {
        let rows = self.call_named(callee, arguments)?;
        let value = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next());
        Ok(value.unwrap_or_default())
    }

    fn transaction_time(&self) -> i64 {
        self.session.transaction_time()
    }

    fn statement_time(&self) -> i64 {
        self.session.statement_time()
    }

    fn clock_time(&self) -> i64 {
        self.session.clock_time()
    }

    fn format(&self) -> &FormatContext {
        self.session.format()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.session.setting(name)
    }

    fn user(&self) -> &str {
        self.session.user()
    }

    fn session_user(&self) -> &str {
        self.session.session_user()
    }

    fn role_name(&self, role: RoleId) -> String {
        self.session.role_name(role)
    }

    fn is_restricted(&self) -> bool {
        self.session.is_restricted()
    }

    fn allow(&self, needs: &[Need]) -> SqlResult<()> {
        self.session.allow(needs)
    }

    fn database(&self) -> &str {
        self.session.database()
    }

    fn schema(&self) -> &str {
        self.session.schema()
    }

    fn random(&self) -> u64 {
        self.session.random()
    }

    fn set_seed(&self, bits: u64) -> SqlResult<()> {
        self.session.set_seed(bits)
    }

    fn current_of(&self, cursor: &str, table: TableId, called: &str) -> SqlResult<Vec<Value>> {
        self.session.current_of(cursor, table, called)
    }

    fn secret(&self) -> [u8; 16] {
        self.session.secret()
    }

    fn nextval(&self, sequence: SequenceId) -> SqlResult<i64> {
        self.session.nextval(sequence)
    }

    fn currval(&self, sequence: SequenceId) -> SqlResult<i64> {
        self.session.currval(sequence)
    }

    fn lastval(&self) -> SqlResult<i64> {
        self.session.lastval()
    }

    fn setval(&self, sequence: SequenceId, value: i64, is_called: bool) -> SqlResult<i64> {
        self.session.setval(sequence, value, is_called)
    }

    fn put_off(&self, trigger: u32, deferred: bool, arguments: &[&Value]) -> SqlResult<bool> {
        self.session.put_off(trigger, deferred, arguments)
    }

    fn put_off_so_far(&self) -> PutOffSoFar {
        self.session.put_off_so_far()
    }

    fn put_off_no_more(&self, so_far: PutOffSoFar) {
        self.session.put_off_no_more(so_far);
    }

    fn notify(&self, channel: &str, payload: &str) -> SqlResult<()> {
        self.session.notify(channel, payload)
    }

    fn cursors(&self) -> Option<&RefCell<Cursors>> {
        self.session.cursors()
    }

    fn process_id(&self) -> i32 {
        self.session.process_id()
    }

    fn is_alone(&self) -> bool {
        self.session.is_alone()
    }

    fn is_read_only(&self) -> bool {
        self.session.is_read_only()
    }

    fn notice(&self, severity: &'static str, message: SqlError) {
        self.session.notice(severity, message);
    }

    fn notices(&self) -> usize {
        self.session.notices()
    }

    fn forget_notices(&self, from: usize) {
        self.session.forget_notices(from);
    }
}
