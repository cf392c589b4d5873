//! Statements of a call that are planned when they are reached.
//!
//! Relies on: who runs the call to plan and run what it asks for, in the transaction of the call.  Promises: a call that asks
//! stands at its statement until it is answered, and may be moved into its routine as that has been made anew meanwhile: its
//! variables, loops and blocks with handlers go along. Where nobody can be asked, within a statement and among the parts of one,
//! a query or a change of rows is run at once.  Does not: change more than rows there.

use crate::call::{Activation, Call};
use crate::context::{Around, Context, Stop, Workspace, row_bytes};
use crate::direct::Direct;
use crate::into::{check_strict, each_row, keep, store};
use crate::nested::Inside;
use crate::portals;
use crate::run::Restarts;
use crate::turns::Turns;
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::cast::{CastContext, cast, cast_context};
use quintet_ir::code::{Code, Operation, Place};
use quintet_ir::dynamic::{Dynamic, DynamicRows, Landmark, Live, no_cursor_over};
use quintet_ir::routine::Slot;
use quintet_ir::statement::Body;
use quintet_ir::{Expr, Guise, Program, Routine};
use std::mem::discriminant;

/// What a call wants of who runs it.
#[derive(Clone, Debug)]
pub enum Asked {
    /// That a statement is planned and run.
    Statement(AskedStatement),
    /// That everything but rows is as it was when this block with handlers began: an error has undone what was done in it. The
    /// call goes on with the handler, and wants no answer.
    Undone(u64),
}

/// A statement that a call wants to be planned and run.
#[derive(Clone, Debug)]
pub struct AskedStatement {
    /// Its landmark.
    pub number: usize,
    /// What it says.
    pub text: String,
    /// `$1`, `$2` …
    pub arguments: Vec<(Value, SqlType)>,
    /// It stands in the routine as it is.
    pub fixed: bool,
    /// It must not change anything.
    pub reads_only: bool,
    /// Its rows are wanted.
    pub wants_rows: bool,
    /// They are those of a cursor: what gives none is refused before it is run.
    pub opens: bool,
    /// Its columns are the fields of a record: the routine must be made anew if it was not made for them.
    pub wants_names: bool,
    /// The blocks with handlers that it stands in, from the outermost on.
    pub guards: Vec<u64>,
    /// The guises of the routines that it stands in, from the outermost on.
    pub guises: Vec<Guise>,
}

impl AskedStatement {
    /// A line of the context of an error in it.
    pub fn said(&self) -> String {
        format!("SQL statement \"{}\"", self.text)
    }
}

/// What has become of such a statement.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Its rows, if they were wanted.
    pub rows: Vec<Vec<Value>>,
    /// Their types.
    pub types: Vec<SqlType>,
    /// Their columns' names, for a cursor.
    pub names: Vec<String>,
    /// How many rows it has given or changed.
    pub count: u64,
}

/// The statement that a call stands at, as it is to be asked for.
pub(crate) fn asked(
    dynamic: &Dynamic,
    slots: &[Value],
    guards: Vec<u64>,
    context: &Context<'_>,
) -> SqlResult<AskedStatement> {
    let eval = |expr: &Expr| quintet_ir::eval(expr, &[], slots, context.host);
    let Value::Text(text) = eval(&dynamic.text)? else {
        let message = "query string argument of EXECUTE is null";
        return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    };
    let arguments = dynamic.arguments.iter();
    let arguments = arguments.map(|expr| Ok((eval(expr)?, expr.ty())));
    Ok(AskedStatement {
        number: dynamic.at.number,
        text: text.to_string(),
        arguments: arguments.collect::<SqlResult<_>>()?,
        fixed: dynamic.fixed,
        reads_only: dynamic.reads_only,
        wants_rows: dynamic.rows != DynamicRows::Forgotten,
        opens: matches!(dynamic.rows, DynamicRows::Opened(_)),
        wants_names: dynamic.is_record,
        guards,
        guises: Vec::new(),
    })
}

/// What a call asks for where a cursor is a client's, or its rows have other fields than the routine was made for.
pub(crate) fn asked_of_cursor(dynamic: &Dynamic, text: String, guards: Vec<u64>) -> AskedStatement {
    let moves = dynamic.rows == DynamicRows::Forgotten;
    AskedStatement {
        number: dynamic.at.number,
        text,
        arguments: Vec::new(),
        fixed: false,
        reads_only: false,
        wants_rows: !moves,
        opens: false,
        wants_names: dynamic.is_record && !moves,
        guards,
        guises: Vec::new(),
    }
}

/// Runs a statement at once, where nobody can be asked: what changes no more than rows.
///
/// # Errors
/// `0A000` for others, and where a record's fields would have the routine made anew.
pub(crate) fn run_here(
    asked: &AskedStatement,
    (direct, kept): (&Direct, &mut usize),
    context: &mut Context<'_>,
    workspace: &mut Workspace,
    (restarts, frame): (&mut Restarts, &mut Vec<Value>),
) -> Result<Answer, Stop> {
    if asked.wants_names {
        return Err(Stop::Error(SqlError::unsupported(
            "EXECUTE into a record in a routine that a statement or another routine calls",
        )));
    }
    let (params, types): (Vec<Value>, Vec<SqlType>) = asked.arguments.iter().cloned().unzip();
    let within = |error: SqlError| error.within(&asked.said());
    let planned = context.host.plan(&asked.text, &types).map_err(within)?;
    if asked.opens && planned.columns.is_empty() {
        let tag = planned.write_tag().unwrap_or("SELECT");
        return Err(Stop::Error(within(no_cursor_over(tag))));
    }
    if asked.reads_only {
        planned.refuse_write().map_err(within)?;
    }
    context.host.allow(&planned.needs).map_err(within)?;
    let columns = planned.columns.iter();
    let mut answer = Answer {
        types: columns.map(|column| column.ty).collect(),
        names: planned
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect(),
        ..Answer::default()
    };
    let rows = &mut answer.rows;
    let count = match &planned.procedure.body {
        Body::Statement(statement) => {
            let mut inner = Context {
                txn: &mut *context.txn,
                host: context.host,
                params: &params,
                cancel: context.cancel,
            };
            let around = Around {
                direct,
                program: None,
            };
            each_row(
                (around, statement),
                &mut inner,
                workspace,
                (restarts, frame),
                usize::MAX,
                |row| match asked.wants_rows {
                    true => keep(rows, row.to_vec(), kept),
                    false => Ok(()),
                },
            )
        }
        Body::Call { program, arguments } => {
            let inside = Inside {
                txn: &mut *context.txn,
                cancel: context.cancel,
                workspace,
            };
            let host = (direct, context.host, params.as_slice());
            inside.run_program(program, arguments, host).map(|given| {
                *rows = given;
                for row in rows.iter_mut().filter(|row| row.is_empty()) {
                    row.resize(answer.types.len(), Value::Null);
                }
                rows.len() as u64
            })
        }
    };
    answer.count = count.map_err(|stop| match stop {
        Stop::Error(error) => Stop::Error(within(error)),
        other => other,
    })?;
    Ok(answer)
}

/// Where the rows of an answer go in the activation that has asked.
pub(crate) struct Taken<'a> {
    pub routine: &'a Routine,
    pub slots: &'a mut [Value],
    pub result: &'a mut Vec<Vec<Value>>,
    pub kept: &'a mut usize,
}

impl Taken<'_> {
    /// Takes the rows; those of a loop come back.
    pub fn take(
        self,
        dynamic: &Dynamic,
        loops: bool,
        answer: Answer,
        context: &Context<'_>,
    ) -> SqlResult<Option<Turns>> {
        if let DynamicRows::Opened(slot) = &dynamic.rows {
            portals::fill(&self.slots[*slot], answer, context.host)?;
            return Ok(None);
        }
        let Answer {
            rows, types, count, ..
        } = answer;
        match &dynamic.rows {
            DynamicRows::Opened(_) => Ok(None),
            DynamicRows::Forgotten => Ok(None),
            DynamicRows::Record => Err(SqlError::internal("a record's fields are not known")),
            DynamicRows::Into { slots, .. } if loops => {
                let targets = targets(self.routine, slots);
                let mut all = Vec::with_capacity(rows.len());
                for row in rows {
                    keep(
                        &mut all,
                        converted(row, &types, &targets, context)?,
                        self.kept,
                    )?;
                }
                Ok(Some(Turns::rows(all)))
            }
            DynamicRows::Into { slots, strict } => {
                let into = quintet_ir::routine::Into {
                    strict: *strict,
                    ..Default::default()
                };
                check_strict(&into, count)?;
                let targets = targets(self.routine, slots);
                let row = rows.into_iter().next().unwrap_or_default();
                let row = converted(row, &types, &targets, context)?;
                for ((slot, _), value) in slots.iter().zip(row) {
                    store(self.routine, self.slots, *slot, value)?;
                }
                Ok(None)
            }
            DynamicRows::Returned(wanted) => {
                if types != *wanted {
                    return Err(other_result(&types, wanted));
                }
                for row in rows {
                    *self.kept += row_bytes(&row);
                    keep(self.result, row, self.kept)?;
                }
                Ok(None)
            }
        }
    }
}

/// What the slots take.
fn targets(routine: &Routine, slots: &[(usize, TypeMod)]) -> Vec<(SqlType, TypeMod)> {
    let of = |(slot, modifier): &(usize, TypeMod)| (routine.slots[*slot].ty, *modifier);
    slots.iter().map(of).collect()
}

/// As PL/pgSQL says it of RETURN QUERY.
fn other_result(types: &[SqlType], wanted: &[SqlType]) -> SqlError {
    let message = "structure of query does not match function result type";
    let error = SqlError::new(SqlState::DATATYPE_MISMATCH, message);
    if types.len() != wanted.len() {
        return error.detail(format!(
            "Number of returned columns ({}) does not match expected column count ({}).",
            types.len(),
            wanted.len()
        ));
    }
    let pairs = types.iter().zip(wanted).enumerate();
    match pairs.into_iter().find(|(_, (from, to))| from != to) {
        Some((number, (from, to))) => error.detail(format!(
            "Returned type {from} does not match expected type {to} in column {}.",
            number + 1
        )),
        None => error,
    }
}

/// A row as variables of these types take it.
fn converted(
    row: Vec<Value>,
    types: &[SqlType],
    targets: &[(SqlType, TypeMod)],
    context: &Context<'_>,
) -> SqlResult<Vec<Value>> {
    let mut row = row.into_iter();
    let mut given = Vec::with_capacity(targets.len());
    for (number, (to, modifier)) in targets.iter().enumerate() {
        given.push(match (row.next(), types.get(number)) {
            (Some(value), Some(from)) => assigned(value, *from, (*to, *modifier), context)?,
            _ => Value::Null,
        });
    }
    Ok(given)
}

/// A value as a variable takes it: by any conversion there is, else by its text.
fn assigned(
    value: Value,
    from: SqlType,
    (to, modifier): (SqlType, TypeMod),
    context: &Context<'_>,
) -> SqlResult<Value> {
    if value.is_null() || (from == to && modifier == TypeMod::NONE) {
        return Ok(value);
    }
    let by_itself = [CastContext::Implicit, CastContext::Assignment];
    if from == to || cast_context(from, to).is_some_and(|context| by_itself.contains(&context)) {
        return cast(value, from, to, modifier, false, context.host);
    }
    let text = cast(
        value,
        from,
        SqlType::Text,
        TypeMod::NONE,
        false,
        context.host,
    )?;
    cast(text, SqlType::Text, to, modifier, true, context.host)
}

impl Call {
    /// Goes on in the routines as they were made anew.
    ///
    /// # Errors
    /// `0A000` if the rest of one cannot go on with what there is.
    pub fn move_to(&mut self, from: &Program, to: &Program) -> SqlResult<()> {
        let activations = self.activations();
        let top = activations.len() - 1;
        for (number, at) in activations.iter_mut().enumerate() {
            let there = match at.routine {
                0 => 0,
                routine => id_of(from, routine)
                    .and_then(|id| to.numbers.get(&id).copied())
                    .ok_or_else(lost)?,
            };
            let (here, there) = (Made::of(from, at.routine), Made::of(to, there));
            match landmark(here.code, at.place).filter(|_| number == top) {
                Some(landmark) => at.move_to(landmark, &here, &there)?,
                None if here.is_like(&there) => {}
                None => return Err(lost()),
            }
            at.routine = there.number;
        }
        Ok(())
    }
}

/// A routine of a program.
struct Made<'p> {
    number: usize,
    routine: &'p Routine,
    code: &'p Code,
}

impl<'p> Made<'p> {
    fn of(program: &'p Program, number: usize) -> Made<'p> {
        Made {
            number,
            routine: &program.routines[number],
            code: &program.code()[number],
        }
    }

    /// Whether a place and the slots mean the same in both: what the statements do may differ.
    fn is_like(&self, other: &Made<'_>) -> bool {
        let slots = |made: &Made<'_>| -> Vec<(String, SqlType)> {
            let slots = made.routine.slots.iter();
            slots.map(|slot| (slot.name.clone(), slot.ty)).collect()
        };
        // What could not be made is made as soon as what it names is there, and the other way round.
        let plain =
            |operation: &Operation| matches!(operation, Operation::Run { .. } | Operation::Fail(_));
        let mut pairs = self.code.operations.iter().zip(&other.code.operations);
        self.code.operations.len() == other.code.operations.len()
            && pairs.all(|(one, other)| {
                (plain(one) && plain(other)) || discriminant(one) == discriminant(other)
            })
            && slots(self) == slots(other)
    }
}

impl Activation {
    /// Goes from a landmark to where that is in the routine as it was made anew.
    fn move_to(&mut self, here: &Landmark, from: &Made<'_>, to: &Made<'_>) -> SqlResult<()> {
        let place = find(to.code, here.number).ok_or_else(lost)?;
        let there = landmark(to.code, place).ok_or_else(lost)?;
        if here.loops != there.loops {
            return Err(SqlError::unsupported(
                "a change of the rows that a loop goes through, in the loop",
            ));
        }
        let mut slots = vec![Value::Null; to.routine.slots.len()];
        for live in &there.live {
            let same = |known: &&Live| known.variable == live.variable && known.field == live.field;
            let Some(known) = here.live.iter().find(same) else {
                continue;
            };
            let (old, new) = (
                &from.routine.slots[known.slot],
                &to.routine.slots[live.slot],
            );
            if old.ty != new.ty {
                return Err(other_type(new));
            }
            slots[live.slot] = std::mem::take(&mut self.slots[known.slot]);
        }
        let begins = guards_around(to.code, place);
        if begins.len() != self.guards.len() {
            return Err(lost());
        }
        for (guard, begin) in self.guards.iter_mut().zip(begins) {
            guard.move_to(begin);
        }
        self.slots = slots;
        self.place = place;
        Ok(())
    }
}

/// Which routine of the catalogue has a number in a program.
pub(crate) fn id_of(program: &Program, number: usize) -> Option<RoutineId> {
    let mut numbers = program.numbers.iter();
    numbers
        .find(|(_, known)| **known == number)
        .map(|(id, _)| *id)
}

/// Whether a place is amid the parts of one statement.
pub(crate) fn is_in_state(code: &Code, place: Place) -> bool {
    let before = code.operations.iter().take(place).rev();
    let mut bounds =
        before.filter(|operation| matches!(operation, Operation::BeginState | Operation::EndState));
    matches!(bounds.next(), Some(Operation::BeginState))
}

fn lost() -> SqlError {
    SqlError::unsupported("a change of the schema that a statement around it depends on")
}

fn other_type(slot: &Slot) -> SqlError {
    SqlError::unsupported(format!(
        "a change of the type of variable \"{}\" while it is in use",
        slot.name
    ))
}

/// The landmark at a place.
fn landmark(code: &Code, place: Place) -> Option<&Landmark> {
    match code.operations.get(place)? {
        Operation::Dynamic { statement, .. } => Some(&statement.at),
        Operation::Landmark(landmark) => Some(landmark),
        _ => None,
    }
}

/// The place of a landmark.
fn find(code: &Code, number: usize) -> Option<Place> {
    let is_it = |place: &Place| landmark(code, *place).is_some_and(|found| found.number == number);
    (0..code.operations.len()).find(is_it)
}

/// The beginnings of the blocks with handlers that a place stands in, in them or in their handlers.
fn guards_around(code: &Code, place: Place) -> Vec<Place> {
    let mut around = Vec::new();
    let mut handlers = Vec::new();
    for (here, operation) in code.operations.iter().enumerate().take(place + 1) {
        let begun = handlers.iter().find(|(handler, _)| *handler == here);
        around.extend(begun.map(|(_, begin)| *begin));
        match operation {
            Operation::BeginGuard { handlers: own, .. } => {
                around.push(here);
                handlers.extend(own.iter().map(|(_, handler)| (*handler, here)));
            }
            Operation::EndGuard => {
                around.pop();
            }
            _ => {}
        }
    }
    around
}
