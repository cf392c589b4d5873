//! [`Run`]: one execution of a procedure: of a lone statement, or of a call.
//!
//! Relies on: the caller lends the same transaction at each call.  Promises: a statement that writes
//! or locks takes place whole before its first row comes out, or leaves nothing but its locks.
//! Does not: commit.
//!
//! ```text
//!   Fresh ──reads only──► Streaming ──end──► Done
//!     │ writes, locks        │ error ─────────▲
//!     ├─ blocked ─► Fresh    │                │
//!     ├─ stale ──► (new snapshot, at once)    │
//!     ├─ error ───────────────────────────────┤
//!     ├─ done ──► Ready ──rows given──────────┤
//!     └─ call ──► Calling (blocked, commit: stays) ─┘
//! ```

use crate::ahead;
use crate::call::Call;
use crate::context::{Around, Context, Env, Halt, Stop, Workspace};
use crate::cursor::{Cursor, collect_some};
use crate::direct::Direct;
use crate::dynamic::{Answer, Asked};
use crate::insert::Written;
use crate::lock::{Target, known_target, runs_whole};
use crate::moment;
use crate::references::settle_after;
use crate::{insert, update};
use quintet_base::limits::STATEMENT_RESTARTS_MAX;
use quintet_base::{Level, SqlError, SqlResult, SqlState, Value, stack};
use quintet_engine::{Clash, Refusal};
use quintet_ir::cursors::Cursors;
use quintet_ir::statement::Body;
use quintet_ir::{Expr, Host, Procedure, Statement};
use quintet_tc::{Error, WaitPolicy};
use std::sync::Arc;

/// One execution of a statement. See the module.
pub struct Run {
    direct: Direct,
    procedure: Arc<Procedure>,
    stage: Stage,
    /// Of a call: its arguments, if they are known already.
    arguments: Option<Vec<Value>>,
    /// Of a call: what it will read has been announced.
    announced: bool,
    /// Of a call: how many parameters were given away to it, to be its first arguments.
    lent: Option<usize>,
    frame: Vec<Value>,
    workspace: Workspace,
    restarts: Restarts,
    affected: u64,
    lost: bool,
}

enum Stage {
    Fresh,
    Streaming(Cursor),
    Calling(Box<Call>),
    Ready(std::vec::IntoIter<Vec<Value>>),
    Done,
}

/// How often a statement was run again because a row changed under it.
#[derive(Default)]
pub(crate) struct Restarts(usize);

impl Restarts {
    /// Once more.
    pub fn count(&mut self, limit: usize) -> Result<(), SqlError> {
        self.0 += 1;
        if self.0 <= limit {
            return Ok(());
        }
        Err(Refusal::Conflict {
            clash: Clash::WriteWrite,
            relation: None,
        }
        .to_sql(Level::ReadCommitted))
    }
}

impl Run {
    /// Nothing has been done yet.
    pub fn new(direct: &Direct, procedure: Arc<Procedure>) -> Run {
        Run {
            direct: direct.clone(),
            procedure,
            stage: Stage::Fresh,
            arguments: None,
            announced: false,
            lent: None,
            frame: Vec::new(),
            workspace: Workspace::default(),
            restarts: Restarts::default(),
            affected: 0,
            lost: false,
        }
    }

    /// As [`Run::new`], of a call whose arguments have been evaluated: they are not evaluated again.
    pub fn with_arguments(
        direct: &Direct,
        procedure: Arc<Procedure>,
        arguments: Vec<Value>,
    ) -> Run {
        Run {
            arguments: Some(arguments),
            ..Run::new(direct, procedure)
        }
    }

    /// Gives a call its parameters, if they are its first arguments and it leaves them as they are: they need not be
    /// copied, and there are none in its context from then on.
    pub fn lend(&mut self, params: &mut Vec<Value>) {
        let Body::Call { program, arguments } = &self.procedure.body else {
            return;
        };
        let is_param = |(number, argument): (usize, &Expr)| matches!(argument, Expr::Param(param, _) if *param == number);
        let count = params.len();
        let Some((given, behind)) = arguments.split_at_checked(count) else {
            return;
        };
        // What is behind them is mostly NULL, for what comes out.
        let is_constant = |argument: &Expr| matches!(argument, Expr::Const(..));
        if program.code()[0].slots_kept < count
            || !given.iter().enumerate().all(is_param)
            || !behind.iter().all(is_constant)
        {
            return;
        }
        let mut values = std::mem::take(params);
        Call::make_room(program, &mut values);
        for argument in behind {
            if let Expr::Const(value, _) = argument {
                values.push(value.clone());
            }
        }
        self.arguments = Some(values);
        self.lent = Some(count);
    }

    /// A call that has failed, or whose transaction has, begins again: nothing of it remains.
    pub fn begin_again(&mut self) {
        self.leave_call();
        let again = Run::new(&self.direct, Arc::clone(&self.procedure));
        let before = std::mem::replace(self, again);
        if let (Some(count), Some(mut params)) = (before.lent, before.arguments) {
            params.truncate(count);
            self.lend(&mut params);
        }
    }

    /// Gives back what was lent to a call that has failed, or whose transaction has: another one begins in its place.
    pub fn give_back(&mut self, params: &mut Vec<Value>) {
        self.leave_call();
        if let (Some(count), Some(mut lent)) = (self.lent.take(), self.arguments.take()) {
            lent.truncate(count);
            *params = lent;
        }
    }

    /// Announces what a call with known arguments will read ([`quintet_tc::Txn::announce`]), before it begins:
    /// while others run, it is on its way.
    pub fn announce(&mut self, context: &Context<'_>) {
        if let (Body::Call { program, .. }, Some(values)) =
            (&self.procedure.body, &mut self.arguments)
        {
            ahead::announce(program, values, context);
            self.announced = true;
        }
    }

    /// The next row of the result, `None` at its end and ever after. The first call begins the
    /// statement ([`quintet_tc::Txn::begin_statement`]).
    ///
    /// # Errors
    /// [`Stop::Blocked`]: nothing of the statement remains but its locks; wait and call again.
    /// [`Stop::Commit`]: a call wants to go on in another transaction.
    /// [`Stop::Ask`]: a call wants something ([`Run::asked`]).
    /// [`Stop::Error`]: nothing of it remains, and there is nothing more to call for.
    pub fn next(&mut self, context: &mut Context<'_>) -> Result<Option<&[Value]>, Stop> {
        if let Stage::Fresh = self.stage {
            self.begin(context)?;
        }
        if let Stage::Calling(_) = self.stage {
            let rows = self.end_call(context)?;
            self.stage = Stage::Ready(rows.into_iter());
        }
        match &mut self.stage {
            Stage::Streaming(cursor) => {
                let Body::Statement(Statement::Query(plan)) = &self.procedure.body else {
                    unreachable!("only a lone query streams");
                };
                let mut env = Env::new(context, &mut self.workspace);
                match cursor.next(plan, &mut env, &mut self.frame, 0) {
                    Ok(true) => {
                        self.affected += 1;
                        Ok(Some(&self.frame))
                    }
                    Ok(false) => {
                        self.stage = Stage::Done;
                        Ok(None)
                    }
                    Err(halt) => {
                        let halt = env.halted(halt);
                        self.stage = Stage::Done;
                        Err(stop_outside_a_run(halt))
                    }
                }
            }
            Stage::Ready(rows) => match rows.next() {
                Some(row) => {
                    self.frame = row;
                    Ok(Some(&self.frame))
                }
                None => {
                    self.stage = Stage::Done;
                    Ok(None)
                }
            },
            Stage::Fresh | Stage::Calling(_) | Stage::Done => Ok(None),
        }
    }

    /// The whole result of a call, which is over then. Of anything else, nothing.
    ///
    /// # Errors
    /// As [`Run::next`].
    pub fn call(&mut self, context: &mut Context<'_>) -> Result<Vec<Vec<Value>>, Stop> {
        if let (Stage::Fresh, Body::Call { .. }) = (&self.stage, &self.procedure.body) {
            self.begin(context)?;
        }
        match self.stage {
            Stage::Calling(_) => self.end_call(context),
            _ => Ok(Vec::new()),
        }
    }

    /// What a call wants that has stopped with [`Stop::Ask`].
    pub fn asked(&mut self) -> Option<Asked> {
        match &mut self.stage {
            Stage::Calling(call) => call.take_asked(),
            _ => None,
        }
    }

    /// What has become of a statement that a call has asked for: it goes on with that.
    pub fn answer(&mut self, answer: SqlResult<Answer>) {
        if let Stage::Calling(call) = &mut self.stage {
            call.answer(answer);
        }
    }

    /// The same call, made anew: one that has asked for something goes on where it is, in the routine as it is now.
    ///
    /// # Errors
    /// `0A000` if it cannot go on there.
    pub fn make_anew(&mut self, procedure: Arc<Procedure>) -> SqlResult<()> {
        if let (
            Stage::Calling(call),
            Body::Call { program: from, .. },
            Body::Call { program: to, .. },
        ) = (&mut self.stage, &self.procedure.body, &procedure.body)
        {
            call.move_to(from, to)?;
        }
        self.procedure = procedure;
        Ok(())
    }

    /// Leaves `Calling`, unless it must wait or is to commit.
    fn end_call(&mut self, context: &mut Context<'_>) -> Result<Vec<Vec<Value>>, Stop> {
        let Body::Call { program, .. } = &self.procedure.body else {
            unreachable!("only a call is called");
        };
        let Stage::Calling(call) = &mut self.stage else {
            unreachable!("it has begun");
        };
        // It may have been made while it ran.
        let ended =
            stack::for_running(|| call.run(program, &self.direct, context, &mut self.workspace));
        match ended {
            Ok(mut rows) => {
                // Strict, and called with a NULL: a row of NULLs.
                let width = self.procedure.result.len();
                for row in rows.iter_mut().filter(|row| row.is_empty()) {
                    row.resize(width, Value::Null);
                }
                self.affected = rows.len() as u64;
                self.leave_call();
                Ok(rows)
            }
            Err(stop) => {
                if let Stop::Error(_) = stop {
                    self.lost = call.is_lost();
                    self.leave_call();
                }
                Err(stop)
            }
        }
    }

    /// The call is over. What was lent to it may be wanted once more.
    fn leave_call(&mut self) {
        let stage = std::mem::replace(&mut self.stage, Stage::Done);
        if self.lent.is_some()
            && let Stage::Calling(call) = stage
        {
            self.arguments = Some(call.into_slots());
        }
    }

    /// Whether it was a call that has failed by a conflict with others: the same call in a transaction
    /// that begins again may well succeed.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Rows inserted, updated, deleted or selected so far.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// Leaves `Fresh`, or fails, or is blocked and stays there.
    fn begin(&mut self, context: &mut Context<'_>) -> Result<(), Stop> {
        // A call that was given up while it waited may have left one.
        context.txn.end_state();
        let procedure = Arc::clone(&self.procedure);
        let statement = match &procedure.body {
            Body::Statement(Statement::Query(plan)) if !runs_whole(plan) => {
                context.txn.begin_statement();
                self.stage = Stage::Streaming(Cursor::new(plan));
                return Ok(());
            }
            Body::Statement(statement) => statement,
            Body::Call { program, arguments } => {
                self.stage = Stage::Done;
                let call = match self.arguments.take() {
                    Some(values) if self.announced => Call::begin(program, 0, values, 0)?,
                    Some(values) => Call::with_values(program, values, context)?,
                    None => Call::new(program, arguments, context)?,
                };
                self.stage = Stage::Calling(Box::new(call.outermost()));
                return Ok(());
            }
        };
        self.stage = Stage::Done;
        let around = Around {
            direct: &self.direct,
            program: None,
        };
        let whole = run_whole(
            around,
            statement,
            context,
            &mut self.workspace,
            (&mut self.restarts, usize::MAX),
        );
        if !matches!(whole, Err(Stop::Blocked(_))) {
            context.txn.stay();
        }
        match whole {
            Ok(written) => {
                let caught_up = context.txn.catch_up();
                caught_up.map_err(|error| {
                    // It is about no table.
                    Stop::Error(crate::translate(error, context.txn.level(), &|_| None))
                })?;
                self.affected = written.count;
                self.stage = Stage::Ready(written.rows.into_iter());
                Ok(())
            }
            Err(stop) => {
                if let Stop::Blocked(_) = stop {
                    self.stage = Stage::Fresh;
                }
                Err(stop)
            }
        }
    }
}

/// Runs a statement whole, again and again where rows change under it; a query as far as so many rows are
/// wanted. Begins it.
pub(crate) fn run_whole(
    around: Around<'_>,
    statement: &Statement,
    context: &mut Context<'_>,
    workspace: &mut Workspace,
    (restarts, wanted): (&mut Restarts, usize),
) -> Result<Written, Stop> {
    if context.host.is_read_only() {
        refuse_write(statement)?;
    }
    loop {
        let mark = context.txn.begin_statement();
        let notices = context.host.notices();
        let cursors = context
            .host
            .cursors()
            .map(|cursors| cursors.borrow().clone());
        moment::settle(context);
        let mut env = Env::new(context, workspace);
        env.around = Some(around);
        env.release_all();
        let result = env
            .check_cancel()
            .map_err(Halt::from)
            .and_then(|()| lock_known_target(statement, &mut env))
            .and_then(|target| {
                let written = run_once(around.direct, statement, &mut env, wanted)?;
                // What it names is not there, or does not meet its conditions.
                if let Some(target) = target.filter(|_| written.count == 0) {
                    env.txn.leave_alone(target.table.space, &target.key);
                }
                Ok(written)
            })
            .and_then(|written| settle_after(statement, &mut env).map(|()| written));
        let result = result.map_err(|halt| env.halted(halt));
        match result {
            Ok(written) => return Ok(written),
            Err(halt) if context.txn.has_gone_ahead_since(mark) => {
                context.txn.rollback_to(mark);
                context.txn.spoil();
                return Err(match stop_outside_a_run(halt) {
                    Stop::Error(error) => Stop::Error(error),
                    // It cannot be run again in this transaction.
                    Stop::Blocked(_) | Stop::Commit | Stop::Ask => stop_outside_a_run(Halt::Stale),
                });
            }
            Err(Halt::Stale) => {
                context.txn.rollback_to(mark);
                context.host.forget_notices(notices);
                put_back(context.host, cursors);
                restarts.count(STATEMENT_RESTARTS_MAX)?;
            }
            Err(halt) => {
                context.txn.rollback_to(mark);
                if let Halt::Blocked(_) = halt {
                    context.host.forget_notices(notices);
                    put_back(context.host, cursors);
                }
                return Err(stop_outside_a_run(halt));
            }
        }
    }
}

/// The cursors are as they were before a statement that is run again.
fn put_back(host: &dyn Host, before: Option<Cursors>) {
    if let (Some(cursors), Some(before)) = (host.cursors(), before) {
        *cursors.borrow_mut() = before;
    }
}

/// What a transaction that only reads says to a statement.
fn refuse_write(statement: &Statement) -> SqlResult<()> {
    let tag = match statement {
        Statement::Insert(_) => "INSERT",
        Statement::Update(_) => "UPDATE",
        Statement::Delete(_) => "DELETE",
        Statement::Query(_) => return Ok(()),
    };
    Err(SqlError::new(
        SqlState::READ_ONLY_SQL_TRANSACTION,
        format!("cannot execute {tag} in a read-only transaction"),
    ))
}

fn run_once(
    direct: &Direct,
    statement: &Statement,
    env: &mut Env<'_>,
    wanted: usize,
) -> Result<Written, Halt> {
    match statement {
        Statement::Query(plan) => {
            env.whole_rows = true;
            env.txn.show_state();
            let rows = collect_some(plan, env, wanted)?;
            env.txn.show_present();
            Ok(Written {
                count: rows.len() as u64,
                rows,
            })
        }
        Statement::Insert(insert) => insert::run(direct, insert, env),
        Statement::Update(update) => update::update(update, env),
        Statement::Delete(delete) => update::delete(delete, env),
    }
}

/// READ COMMITTED: the row that the statement names is locked before anything is read. The statement
/// has read nothing, so if the row is newer than the snapshot, a newer snapshot will do. (The
/// stronger levels keep their snapshot; locking first would only refuse them earlier.)
fn lock_known_target(statement: &Statement, env: &mut Env<'_>) -> Result<Option<Target>, Halt> {
    if env.txn.level() != Level::ReadCommitted {
        return Ok(None);
    }
    let Some(target) = known_target(statement, env)? else {
        return Ok(None);
    };
    let space = target.table.space;
    loop {
        match env
            .txn
            .lock(space, &target.key, target.strength, WaitPolicy::Queue)
        {
            Ok(()) => return Ok(Some(target)),
            // The mark of the statement stays good: nothing has been written since.
            Err(Error::Stale) => env.txn.begin_statement(),
            Err(error) => return Err(env.halt(error, &target.table.name)),
        };
    }
}

/// Where a stale row can not be answered by running again.
pub(crate) fn stop_outside_a_run(halt: Halt) -> Stop {
    match halt {
        Halt::Blocked(wait) => Stop::Blocked(wait),
        Halt::Error(error) => Stop::Error(error),
        Halt::Stale => {
            let refusal = Refusal::Conflict {
                clash: Clash::WriteWrite,
                relation: None,
            };
            Stop::Error(refusal.to_sql(Level::ReadCommitted))
        }
    }
}
