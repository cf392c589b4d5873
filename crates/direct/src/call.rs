//! A call of a routine, from its arguments to its rows.
//!
//! Relies on: `ir::code`, whose routines were resolved when they were created.  Promises: what a step must
//! wait for comes out as [`Stop::Blocked`], and the next `run` goes on at that step; an error that a
//! handler takes has undone what its block did; how deep routines call one another takes memory and no
//! stack; COMMIT comes out as [`Stop::Commit`], what must be planned first as [`Stop::Ask`].  Does not: begin or end the transaction; ROLLBACK undoes what the call
//! has done, and keeps its locks and its snapshot.
//!
//! ```text
//!   activations   0 ── 1 ── 2          the last one runs; below it stand its callers, at their calls
//!                 │ slots              arguments and variables: `$n` of its expressions and statements
//!                 │ place              the operation to run, or to run again after a wait
//!                 │ turns              of the loops around that place
//!                 │ guards             of the blocks around it that have handlers
//! ```
//! Hot path: an operation makes nothing but what its statement makes.
//!
//! | file | what it holds |
//! |---|---|
//! | this one | the call, its activations, its operations one by one |
//! | `call::asking` | operations that others plan or answer for it |
//! | `call::failing` | what becomes of its errors |

mod asking;
mod failing;

pub(crate) use failing::no_end_here;

use crate::ahead;
use crate::context::{Around, Context, Env, Stop, Workspace, row_bytes};
use crate::direct::Direct;
use crate::dynamic::{Answer, Asked};
use crate::guard::{Guard, SoFar};
use crate::into::{
    check_rows, check_strict, each_row, fill, first_row, keep, note_found, over_row, store,
};
use crate::point;
use crate::raise;
use crate::run::Restarts;
use crate::sweep;
use crate::turns::Turns;
use quintet_base::limits::CALL_DEPTH_MAX;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::code::{Code, Heights, Operation};
use quintet_ir::formula::{Computed, Scope};
use quintet_ir::routine::{self, Output};
use quintet_ir::{Expr, Guise, Program, Routine};
use quintet_tc::Mark;
use std::sync::Arc;

/// See the module.
pub(crate) struct Call {
    activations: Vec<Activation>,
    restarts: Restarts,
    /// Operations since the last look at the cancel flag.
    operations: u32,
    /// Bytes of rows that loops and results keep.
    kept: usize,
    /// For rows on their way into slots.
    frame: Vec<Value>,
    /// The error that it ended with was a lost conflict, and none that the routine raised itself.
    lost: bool,
    /// There is something that the user may not do, so each step's needs are looked at.
    restricted: bool,
    /// It is a client's, not one in an expression: it may end its transaction.
    outermost: bool,
    /// Where ROLLBACK goes back to, once it runs.
    began: Option<Mark>,
    /// How many blocks with handlers have begun.
    guards: u64,
    /// What it wants of who runs it, and what that has said.
    asked: Option<Asked>,
    answer: Option<SqlResult<Answer>>,
    /// The slots of the routine that it begins with, as they were left.
    left: Vec<Value>,
    /// Some of the routines run in guises of their own.
    guised: bool,
}

/// A routine that is running.
pub(crate) struct Activation {
    pub(crate) routine: usize,
    pub(crate) place: usize,
    pub(crate) slots: Vec<Value>,
    turns: Vec<Turns>,
    pub(crate) guards: Vec<Guard>,
    /// GET DIAGNOSTICS … ROW_COUNT.
    count: u64,
    /// RETURN NEXT and RETURN QUERY.
    rows: Vec<Vec<Value>>,
    /// It is strict and was given a NULL: a function that returns void gives NULL then.
    skipped: bool,
}

/// Operations between two looks at the cancel flag.
const OPERATIONS_PER_CHECK: u32 = 1024;

/// What a step came to. One that would go on waiting for a lock, and has waited long enough, fails: a handler may take that.
fn patient(done: Result<Next, Stop>, context: &Context<'_>) -> Result<Next, Stop> {
    match done {
        Err(Stop::Blocked(_)) if context.host.has_given_up() => {
            context.txn.give_up_waiting();
            Err(Stop::Error(SqlError::lock_timeout()))
        }
        done => done,
    }
}

/// Why a routine does not go on.
enum Next {
    /// Another routine begins, or the caller goes on.
    Switched,
    /// The outermost routine is over.
    Over(Vec<Vec<Value>>),
}

impl Call {
    /// A call that has not begun; the arguments are evaluated over the context's parameters.
    pub fn new(
        program: &Arc<Program>,
        arguments: &[Expr],
        context: &mut Context<'_>,
    ) -> SqlResult<Call> {
        let values = values(arguments, context.params, context)?;
        Call::with_values(program, values, context)
    }

    /// A call that has not begun, with these arguments.
    pub fn with_values(
        program: &Arc<Program>,
        mut values: Vec<Value>,
        context: &mut Context<'_>,
    ) -> SqlResult<Call> {
        Call::make_room(program, &mut values);
        let mut call = Call::begin(program, 0, values, 0)?;
        ahead::announce(program, &mut call.top().slots, context);
        Ok(call)
    }

    /// Gives arguments the room for what becomes of them: the slots of the routine, and what is announced.
    pub fn make_room(program: &Program, arguments: &mut Vec<Value>) {
        let places = ahead::places(program).max(program.code()[0].places);
        arguments.reserve_exact(places.saturating_sub(arguments.len()));
    }

    /// A call of one of a program's routines. `kept`: bytes that count as kept already.
    pub fn begin(
        program: &Program,
        routine: usize,
        arguments: Vec<Value>,
        kept: usize,
    ) -> SqlResult<Call> {
        let mut call = Call {
            activations: Vec::new(),
            restarts: Restarts::default(),
            operations: 0,
            kept,
            frame: Vec::new(),
            lost: false,
            restricted: false,
            outermost: false,
            began: None,
            guards: 0,
            asked: None,
            answer: None,
            left: Vec::new(),
            guised: program.has_guises(),
        };
        call.enter(program, routine, arguments)?;
        Ok(call)
    }

    /// It is what a client has asked for.
    pub fn outermost(mut self) -> Call {
        self.outermost = true;
        self
    }

    /// Goes on to the end. Gives the rows of the result. `program`: the one it was begun with; lent, so
    /// that threads that run one program do not count its users in one place.
    pub fn run(
        &mut self,
        program: &Arc<Program>,
        direct: &Direct,
        context: &mut Context<'_>,
        workspace: &mut Workspace,
    ) -> Result<Vec<Vec<Value>>, Stop> {
        self.restricted = context.host.is_restricted();
        // Who may go back to the beginning lets each write remember what was there.
        if self.outermost
            && self.began.is_none()
            && program.code().iter().any(|code| code.ends_transactions)
        {
            self.began = Some(context.txn.mark());
        }
        workspace.point.borrow(&mut self.frame);
        let code = program.code();
        loop {
            let at = self.activations.last().expect("a routine is running");
            let body = (&program.routines[at.routine], &code[at.routine]);
            let done = match self.guised {
                true => self.steps_in_guise(program, body, direct, context, workspace),
                false => self.steps(program, body, direct, context, workspace),
            };
            match patient(done, context) {
                Ok(Next::Switched) => {}
                Ok(Next::Over(rows)) => {
                    workspace.point.give_back(&mut self.frame);
                    return Ok(rows);
                }
                Err(Stop::Error(error)) => {
                    self.lost = error.state.is_retryable() && !self.raises(program);
                    let handled = self.handle(program, error, context)?;
                    if self.can_ask(program) && program.has_dynamic() {
                        self.asked = Some(Asked::Undone(handled));
                        return Err(Stop::Ask);
                    }
                }
                Err(blocked) => return Err(blocked),
            }
        }
    }

    /// Whether it has failed by a conflict with others, so that running it again may do.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// The slots of the routine that it has begun with, when it is over or given up.
    pub fn into_slots(mut self) -> Vec<Value> {
        match self.activations.first_mut() {
            Some(first) => std::mem::take(&mut first.slots),
            None => self.left,
        }
    }

    /// A routine is over, or has failed.
    fn pop(&mut self) {
        if let Some(ended) = self.activations.pop()
            && self.activations.is_empty()
        {
            self.left = ended.slots;
        }
    }

    fn top(&mut self) -> &mut Activation {
        self.activations.last_mut().expect("a routine is running")
    }

    /// A routine begins.
    fn enter(&mut self, program: &Program, routine: usize, arguments: Vec<Value>) -> SqlResult<()> {
        if self.activations.len() >= CALL_DEPTH_MAX {
            return Err(SqlError::new(
                SqlState::STATEMENT_TOO_COMPLEX,
                "stack depth limit exceeded",
            )
            .detail(format!(
                "Routines call one another more than {CALL_DEPTH_MAX} deep."
            )));
        }
        let called = &program.routines[routine];
        // A strict one that is given a NULL is over before it begins.
        let skipped = called.strict && arguments.iter().any(Value::is_null);
        let place = match skipped {
            true => program.code()[routine].operations.len(),
            false => 0,
        };
        let mut slots = arguments;
        slots.resize_with(program.code()[routine].places, Value::default);
        self.activations.push(Activation {
            routine,
            place,
            slots,
            turns: Vec::new(),
            guards: Vec::new(),
            count: 0,
            rows: Vec::new(),
            skipped,
        });
        Ok(())
    }

    /// The guises of the routines that it is in, the innermost last.
    fn guises<'p>(&self, program: &'p Program) -> Vec<&'p Guise> {
        let routines = self.activations.iter().map(|at| at.routine);
        let guises = routines.map(|routine| program.routines[routine].guise.as_deref());
        guises.flatten().collect()
    }

    /// As [`Call::steps`], for the session as it is in the guises of the routines.
    fn steps_in_guise(
        &mut self,
        program: &Arc<Program>,
        body: (&Routine, &Code),
        direct: &Direct,
        context: &mut Context<'_>,
        workspace: &mut Workspace,
    ) -> Result<Next, Stop> {
        let guises = self.guises(program);
        if guises.is_empty() {
            self.restricted = context.host.is_restricted();
            return self.steps(program, body, direct, context, workspace);
        }
        let host = context.host.guised(&guises)?;
        self.restricted = host.is_restricted();
        let mut inner = Context {
            txn: &mut *context.txn,
            host: &*host,
            params: context.params,
            cancel: context.cancel,
        };
        self.steps(program, body, direct, &mut inner, workspace)
    }

    /// Operations of the routine that runs, until another one does.
    fn steps(
        &mut self,
        program: &Arc<Program>,
        (routine, code): (&Routine, &Code),
        direct: &Direct,
        context: &mut Context<'_>,
        workspace: &mut Workspace,
    ) -> Result<Next, Stop> {
        let around = Around {
            direct,
            program: Some(program),
        };
        loop {
            workspace.kept = self.kept;
            self.operations = self.operations.wrapping_add(1);
            if self.operations.is_multiple_of(OPERATIONS_PER_CHECK) {
                Env::new(context, workspace).check_cancel()?;
            }
            let at = self.activations.last_mut().expect("a routine is running");
            let Some(operation) = code.operations.get(at.place) else {
                // Strict and given a NULL, void, or a procedure: nothing more to say.
                return self.leave(program, None, context);
            };
            if self.restricted
                && let Some(needs) = code.requires.get(&at.place)
            {
                context.host.allow(needs)?;
            }
            match operation {
                Operation::Assign { slot, value } => {
                    let value = compute(value, &at.slots, context)?;
                    store(routine, &mut at.slots, *slot, value)?;
                }
                Operation::AssignElement { slot, index, value } => {
                    let index = eval(index, &at.slots, context)?;
                    if index.is_null() {
                        return Err(Stop::Error(SqlError::new(
                            SqlState::NULL_VALUE_NOT_ALLOWED,
                            "array subscript in assignment must not be null",
                        )));
                    }
                    let index = index.as_i64();
                    let value = eval(value, &at.slots, context)?;
                    let element = routine.slots[*slot].ty.element();
                    let element = element.unwrap_or(SqlType::Unknown);
                    let index = [index.unwrap_or_default()];
                    routine::set_element(&mut at.slots[*slot], element, &index, value)?;
                }
                Operation::Run {
                    statement,
                    into,
                    plain,
                    flat,
                    sweep,
                } => {
                    let Activation { slots, count, .. } = at;
                    let mut inner = Context {
                        txn: &mut *context.txn,
                        host: context.host,
                        params: slots,
                        cancel: context.cancel,
                    };
                    let frame = &mut self.frame;
                    let done = match (flat, sweep) {
                        (Some(flat), _) => {
                            let done = point::run(flat, direct, &mut inner, workspace, frame)?;
                            done.map(|done| (done, (&flat.into, flat.plain)))
                        }
                        (None, Some(swept)) => {
                            let done = sweep::run(swept, &mut inner, workspace, frame)?;
                            done.map(|done| (done, (into, *plain)))
                        }
                        (None, None) => None,
                    };
                    let (done, (into, plain)) = match done {
                        Some(done) => done,
                        None => {
                            let found = first_row(
                                (around, statement),
                                &mut inner,
                                workspace,
                                (&mut self.restarts, &mut self.frame),
                                into,
                            )?;
                            let width = self.frame.len();
                            let done = point::Done {
                                found,
                                from: 0,
                                width,
                            };
                            (done, (into, *plain))
                        }
                    };
                    let point::Done { found, from, width } = done;
                    check_rows(into, found, statement)?;
                    if !into.silent {
                        *count = found;
                        note_found(routine, slots, found > 0);
                    }
                    if !into.targets.is_empty() {
                        let row = (found > 0).then_some(&mut self.frame[from..from + width]);
                        fill(routine, slots, (into, plain), row, context.host)?;
                    }
                }
                Operation::Call {
                    routine: called,
                    arguments,
                    ..
                } => {
                    let arguments = values(arguments, &at.slots, context)?;
                    self.enter(program, *called, arguments)?;
                    return Ok(Next::Switched);
                }
                Operation::Jump(place) => {
                    at.place = *place;
                    continue;
                }
                Operation::Unless(condition, place) => {
                    if !holds(condition, &at.slots, context)? {
                        at.place = *place;
                        continue;
                    }
                }
                Operation::Leave { to, place } => {
                    at.leave(routine, *to);
                    at.place = *place;
                    continue;
                }
                Operation::BeginIntegers {
                    lower,
                    upper,
                    step,
                    reverse,
                } => {
                    let bound = |expr| eval(expr, &at.slots, context);
                    let (lower, upper, step) = (bound(lower)?, bound(upper)?, bound(step)?);
                    let turns = Turns::integers(&lower, &upper, &step, *reverse)?;
                    at.turns.push(turns);
                }
                Operation::BeginRows(statement) => {
                    let mut rows = Vec::new();
                    let kept = &mut self.kept;
                    let mut inner = Context {
                        txn: &mut *context.txn,
                        host: context.host,
                        params: &at.slots,
                        cancel: context.cancel,
                    };
                    each_row(
                        (around, statement),
                        &mut inner,
                        workspace,
                        (&mut self.restarts, &mut self.frame),
                        usize::MAX,
                        |row| keep(&mut rows, row.to_vec(), kept),
                    )?;
                    at.turns.push(Turns::rows(rows));
                }
                Operation::BeginElements(array) => {
                    let array = eval(array, &at.slots, context)?;
                    at.turns.push(Turns::elements(array)?);
                }
                Operation::NextInteger {
                    slot,
                    end,
                    elements,
                } => {
                    let turns = at.turns.last_mut().expect("the loop has begun");
                    match turns.next_value() {
                        Some(value) => {
                            let index = value.as_i64();
                            store(routine, &mut at.slots, *slot, value)?;
                            for element in elements {
                                element.keep(index, &mut at.slots);
                            }
                        }
                        None => {
                            at.end_turns(routine, *end);
                            continue;
                        }
                    }
                }
                Operation::NextElement { slot, end } => {
                    let turns = at.turns.last_mut().expect("the loop has begun");
                    match turns.next_value() {
                        Some(value) => store(routine, &mut at.slots, *slot, value)?,
                        None => {
                            at.end_turns(routine, *end);
                            continue;
                        }
                    }
                }
                Operation::NextRow { into, end } => {
                    let turns = at.turns.last_mut().expect("the loop has begun");
                    match turns.next_row() {
                        Some(row) => {
                            self.kept = self.kept.saturating_sub(row_bytes(&row));
                            for (slot, value) in into {
                                let value = over_row(value, &row, &at.slots, context.host)?;
                                store(routine, &mut at.slots, *slot, value)?;
                            }
                        }
                        None => {
                            if !turns.has_turned() {
                                for (slot, _) in into {
                                    store(routine, &mut at.slots, *slot, Value::Null)?;
                                }
                            }
                            at.end_turns(routine, *end);
                            continue;
                        }
                    }
                }
                Operation::BeginGuard { .. } => {
                    let heights = Heights {
                        loops: at.turns.len(),
                        guards: at.guards.len(),
                    };
                    let cursors = context.host.cursors();
                    let so_far = SoFar {
                        mark: context.txn.mark(),
                        notified: context.host.notified(),
                        put_off: context.host.put_off_so_far(),
                        opened: cursors.map_or(0, |cursors| cursors.borrow().opened()),
                    };
                    self.guards += 1;
                    let guard = Guard::new(at.place, self.guards, so_far, heights);
                    at.guards.push(guard);
                }
                Operation::EndGuard => {
                    at.guards.pop();
                }
                Operation::BeginState => context.txn.begin_state(),
                Operation::EndState => context.txn.end_state(),
                Operation::Raise(raise) => raise::raise(raise, &at.slots, context)?,
                Operation::Reraise => {
                    let handled = at.guards.iter().rev().find_map(|guard| guard.handled());
                    return Err(Stop::Error(handled.cloned().unwrap_or_else(|| {
                        SqlError::new(
                            SqlState::STACKED_DIAGNOSTICS_WITHOUT_HANDLER,
                            "RAISE without parameters cannot be used outside an exception handler",
                        )
                    })));
                }
                Operation::Commit => {
                    self.check_end(context, "commit")?;
                    self.top().place += 1;
                    // The next transaction has another beginning.
                    self.began = None;
                    return Err(Stop::Commit);
                }
                Operation::Rollback => {
                    let began = self.check_end(context, "roll back")?;
                    context.txn.rollback_to(began);
                    if let Some(cursors) = context.host.cursors() {
                        cursors.borrow_mut().end_transaction(false);
                    }
                    self.top().place += 1;
                    continue;
                }
                Operation::Fail(error) => return Err(Stop::Error(SqlError::clone(error))),
                Operation::Return(row) => {
                    let mut values = Vec::with_capacity(row.len());
                    for value in row {
                        values.push(compute(value, &at.slots, context)?);
                    }
                    return self.leave(program, Some(values), context);
                }
                Operation::ReturnNext(row) => {
                    let row = values(row, &at.slots, context)?;
                    keep(&mut at.rows, row, &mut self.kept)?;
                }
                Operation::ReturnQuery(statement) => {
                    let Activation { slots, rows, .. } = at;
                    let kept = &mut self.kept;
                    let mut inner = Context {
                        txn: &mut *context.txn,
                        host: context.host,
                        params: slots,
                        cancel: context.cancel,
                    };
                    let before = rows.len();
                    let result = each_row(
                        (around, statement),
                        &mut inner,
                        workspace,
                        (&mut self.restarts, &mut self.frame),
                        usize::MAX,
                        |row| keep(rows, row.to_vec(), kept),
                    );
                    if result.is_err() {
                        rows.truncate(before);
                    }
                    let found = result?;
                    at.count = found;
                    note_found(routine, &mut at.slots, found > 0);
                }
                Operation::Landmark(_) => {}
                Operation::Dynamic { statement, loops } => {
                    let place = (direct, routine, program);
                    self.dynamic(statement, *loops, place, context, workspace)?;
                    self.top().place += 1;
                    continue;
                }
                Operation::RowCount { slot } => {
                    at.slots[*slot] = Value::Int8(at.count as i64);
                }
                Operation::Diagnose { slot, item } => {
                    let handled = at.guards.iter().rev().find_map(|guard| guard.handled());
                    let Some(error) = handled else {
                        return Err(Stop::Error(SqlError::new(
                            SqlState::STACKED_DIAGNOSTICS_WITHOUT_HANDLER,
                            "GET STACKED DIAGNOSTICS cannot be used outside an exception handler",
                        )));
                    };
                    at.slots[*slot] = raise::diagnostic(error, *item);
                }
            }
            at.place += 1;
        }
    }

    /// The routine is over: its row, or the rows that it has given, go to the caller.
    fn leave(
        &mut self,
        program: &Program,
        row: Option<Vec<Value>>,
        context: &mut Context<'_>,
    ) -> Result<Next, Stop> {
        let ended = self.activations.last_mut().expect("a routine is running");
        let routine = &program.routines[ended.routine];
        let rows = match (routine.output, row) {
            (Output::Row, Some(row)) => vec![row],
            (Output::Rows, _) => std::mem::take(&mut ended.rows),
            // Strict, and called with a NULL.
            (Output::Row, None) => vec![Vec::new()],
            (Output::Nothing, _) => Vec::new(),
        };
        let skipped = ended.skipped;
        self.pop();
        let Some(caller) = self.activations.last_mut() else {
            return Ok(Next::Over(rows));
        };
        let calling = &program.routines[caller.routine];
        let operation = &program.code()[caller.routine].operations[caller.place];
        let Operation::Call { into, .. } = operation else {
            unreachable!("a caller stands at its call");
        };
        self.kept -= self.kept.min(rows.iter().map(|row| row_bytes(row)).sum());
        let found = match routine.output {
            // As a SELECT of it would have.
            Output::Nothing => 1,
            Output::Row | Output::Rows => rows.len() as u64,
        };
        check_strict(into, found)?;
        if !into.silent {
            caller.count = found;
            note_found(calling, &mut caller.slots, found > 0);
        }
        let mut rows = rows;
        let row = match routine.output {
            Output::Nothing if skipped => None,
            Output::Nothing => Some(&mut [][..]),
            Output::Row | Output::Rows => rows.first_mut().map(Vec::as_mut_slice),
        };
        let row = row.filter(|row| !row.is_empty() || routine.output == Output::Nothing);
        fill(calling, &mut caller.slots, (into, false), row, context.host)?;
        caller.place += 1;
        Ok(Next::Switched)
    }

    /// The routines that it is in, from the one that it begins with on.
    pub(crate) fn activations(&mut self) -> &mut [Activation] {
        &mut self.activations
    }
}

impl Activation {
    /// Loops that are left have had a turn, or nothing in them could leave them.
    fn leave(&mut self, routine: &Routine, to: Heights) {
        if self.turns.len() > to.loops {
            note_found(routine, &mut self.slots, true);
        }
        self.turns.truncate(to.loops);
        self.guards.truncate(to.guards);
    }

    /// The loop has come to its end by itself.
    fn end_turns(&mut self, routine: &Routine, end: usize) {
        let ended = self.turns.pop().expect("the loop has begun");
        note_found(routine, &mut self.slots, ended.has_turned());
        self.place = end;
    }
}

fn eval(expr: &Expr, slots: &[Value], context: &Context<'_>) -> SqlResult<Value> {
    quintet_ir::eval(expr, &[], slots, context.host)
}

/// As [`eval`], by the formula if that has an answer.
#[inline]
fn compute(value: &Computed, slots: &[Value], context: &Context<'_>) -> SqlResult<Value> {
    let scope = Scope {
        row: None,
        slots,
        host: context.host,
    };
    let computed = value.formula.as_ref().and_then(|it| it.eval(&scope));
    match computed {
        Some(value) => Ok(value.to_value()),
        None => eval(&value.expr, slots, context),
    }
}

fn holds(condition: &Computed, slots: &[Value], context: &Context<'_>) -> SqlResult<bool> {
    let scope = Scope {
        row: None,
        slots,
        host: context.host,
    };
    let computed = condition.formula.as_ref().and_then(|it| it.holds(&scope));
    match computed {
        Some(holds) => Ok(holds),
        None => quintet_ir::eval_predicate(&condition.expr, &[], slots, context.host),
    }
}

fn values(exprs: &[Expr], slots: &[Value], context: &Context<'_>) -> SqlResult<Vec<Value>> {
    let mut values = Vec::with_capacity(exprs.len());
    for expr in exprs {
        values.push(eval(expr, slots, context)?);
    }
    Ok(values)
}
