//! A routine with those it calls, as one program.
//!
//! Relies on: `lower`, `query`.  Promises: each routine is in a program once, however often and in whatever
//! circle they call one another; how deep a chain of calls is takes no stack.  Does not: share routines
//! between programs.

use super::built_in::text_for;
use super::polymorphic::is_polymorphic;
use super::signature::{Parameter, Signature};
use super::{Own, fire, lower, query, single_types, statement};
use crate::large_object;
use crate::parse;
use crate::planner::{PlanContext, note_depth};
use crate::plpgsql;
use crate::records::RoutineRecord;
use crate::references;
use quintet_base::{ConstraintId, RoutineId, SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::routine::{Action, Output, Step};
use quintet_ir::statement::OutputColumn;
use quintet_ir::{Expr, Program, Routine};
use std::collections::BTreeMap;

/// A routine that another one calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Linked {
    Routine(RoutineId),
    /// The function of the trigger with this number, as its table wants it.
    Trigger(u32),
    /// What a foreign key brings about where triggers wait for it.
    Action(ConstraintId, references::Event),
}

/// Numbers of the routines that a program has so far.
#[derive(Debug, Default)]
pub(crate) struct Linker {
    numbers: BTreeMap<Linked, usize>,
    order: Vec<Linked>,
    /// Routines made by whoever makes the program, before those of the catalogue.
    own: usize,
    /// The columns that a caller wants of the first routine, which returns record.
    wanted: Option<(RoutineId, Vec<OutputColumn>)>,
}

impl Linker {
    /// For a program whose first routines are not in the catalogue.
    pub fn behind(own: usize) -> Linker {
        Linker {
            own,
            ..Linker::default()
        }
    }

    /// The number of a routine in the program.
    pub fn number(&mut self, id: RoutineId) -> usize {
        self.number_of(Linked::Routine(id))
    }

    /// The number of a trigger's function in the program.
    pub fn number_of_trigger(&mut self, trigger: u32) -> usize {
        self.number_of(Linked::Trigger(trigger))
    }

    /// The number in the program of what a foreign key brings about.
    pub fn number_of_action(&mut self, key: ConstraintId, event: references::Event) -> usize {
        self.number_of(Linked::Action(key, event))
    }

    fn number_of(&mut self, what: Linked) -> usize {
        if let Some(number) = self.numbers.get(&what) {
            return *number;
        }
        let number = self.own + self.order.len();
        self.numbers.insert(what, number);
        self.order.push(what);
        number
    }

    /// The program: the routines made by whoever makes it, then all that have a number, with those that
    /// they call in turn.
    ///
    /// # Errors
    /// What the first body says; what others say is an error of who calls them.
    pub fn finish(self, own: Vec<Routine>, context: &PlanContext) -> SqlResult<Program> {
        parse::with_room(|| self.finish_with_room(own, context))
    }

    fn finish_with_room(mut self, own: Vec<Routine>, context: &PlanContext) -> SqlResult<Program> {
        assert_eq!(own.len(), self.own, "numbers begin behind those");
        let mut routines = own;
        while let Some(&what) = self.order.get(routines.len() - self.own) {
            let first = routines.is_empty();
            let made = match what {
                Linked::Routine(id) => compile(id, context, &mut self),
                Linked::Trigger(id) => compile_trigger(id, context, &mut self),
                Linked::Action(id, event) => fire::action(id, event, context, &mut self),
            };
            routines.push(match made {
                // Who calls it hears of it when the call is reached.
                Err(error) if !first => failing(error)?,
                made => made?,
            });
        }
        let numbers = self.numbers.into_iter();
        let numbers = numbers.filter_map(|(what, number)| match what {
            Linked::Routine(id) => Some((id, number)),
            Linked::Trigger(_) | Linked::Action(..) => None,
        });
        let program = Program::of_catalog(routines, numbers.collect());
        if cfg!(debug_assertions)
            && let Err(fault) = quintet_ir::validate::program(&program)
        {
            return Err(SqlError::internal(format!("no program was made: {fault}")));
        }
        note_depth(quintet_ir::depth::of_program(&program))?;
        Ok(program)
    }
}

/// The program that begins at a routine of the catalogue.
///
/// # Errors
/// What a body says.
pub(crate) fn program(id: RoutineId, context: &PlanContext) -> SqlResult<Program> {
    let mut linker = Linker::default();
    linker.number(id);
    linker.finish(Vec::new(), context)
}

/// The same of a function that returns record, whose columns its caller says.
///
/// # Errors
/// As [`program`].
pub(crate) fn program_of_record(
    id: RoutineId,
    columns: Vec<OutputColumn>,
    context: &PlanContext,
) -> SqlResult<Program> {
    let mut linker = Linker {
        wanted: Some((id, columns)),
        ..Linker::default()
    };
    linker.number(id);
    linker.finish(Vec::new(), context)
}

/// A routine that cannot be made as the schema is.
fn failing(error: SqlError) -> SqlResult<Routine> {
    let fail = Action::Fail(Box::new(lower::for_later(error)?));
    Ok(Routine {
        name: String::new(),
        slots: Vec::new(),
        arguments: 0,
        strict: false,
        guise: None,
        found: None,
        body: vec![Step {
            line: 0,
            needs: None,
            action: fail,
        }],
        output: Output::Nothing,
    })
}

fn compile(id: RoutineId, context: &PlanContext, linker: &mut Linker) -> SqlResult<Routine> {
    let gone = || SqlError::internal("a routine that is called is not in the catalogue");
    let stored = context.catalog.routine(id).ok_or_else(gone)?;
    let mut signature = Signature::clone(stored.signature(context.catalog)?);
    if let Some((wanting, columns)) = &linker.wanted
        && *wanting == id
    {
        signature.columns = columns.clone();
    }
    let signature = &signature;
    if is_polymorphic(signature) {
        let what = "a function of any types without the types of a call";
        return Err(SqlError::unsupported(what));
    }
    if signature.trigger {
        let message = "trigger functions can only be called as triggers";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let statement = statement(&stored.record)?;
    let own = Own::of(&statement)?;
    let is_built_in = large_object::is_routine(&stored.record);
    let mut context = within(context, &own);
    if is_built_in {
        context.schema = large_object::PATH;
    }
    let context = &context;
    let made = match plpgsql::language(&statement).as_deref() {
        Some("sql") => query::routine(signature, &statement, &stored.record.text, context, linker),
        _ => {
            let tree = plpgsql::read(&statement, &stored.record.text, &single_types(context))?;
            lower::routine(signature, &tree, context, linker)
        }
    };
    let mut made = Routine {
        guise: own.guise(&stored.record, context.catalog),
        ..made?
    };
    strict_by_inputs(signature, &mut made);
    if is_built_in {
        // Its errors do not tell where in it they come from.
        made.name.clear();
    }
    Ok(made)
}

/// A strict function looks at what it is given: parameters that only give something are NULL when it begins, and so are fields of a row.
fn strict_by_inputs(signature: &Signature, made: &mut Routine) {
    let is_all_given = signature.parameters.iter().all(Parameter::is_input);
    if !made.strict || is_all_given && signature.markers() == 0 {
        return;
    }
    made.strict = false;
    let null = match signature.output {
        Output::Row => {
            let columns = signature.columns.iter();
            columns.map(|column| Expr::null(column.ty)).collect()
        }
        Output::Rows | Output::Nothing => Vec::new(),
    };
    let step = |action| Step {
        line: 0,
        needs: None,
        action,
    };
    let mut slot = 0;
    let mut marker = signature.slots() - signature.markers();
    let mut asked = Vec::new();
    for parameter in &signature.parameters {
        match &parameter.row {
            Some(table) => {
                asked.push(Expr::Param(marker, SqlType::Bool));
                marker += 1;
                slot += table.visible_columns().count();
            }
            None => {
                let own = Expr::Param(slot, parameter.ty);
                asked.extend(parameter.is_input().then_some(own));
                slot += 1;
            }
        }
    }
    let branches = asked.into_iter().map(|given| {
        let is_null = Expr::IsNull {
            input: Box::new(given),
            negated: false,
        };
        (is_null, vec![step(Action::Return(null.clone()))])
    });
    let look = Action::If {
        branches: branches.collect(),
        otherwise: Vec::new(),
    };
    made.body.insert(0, step(look));
}

/// Where the names in a body are looked for.
fn within<'c>(context: &'c PlanContext<'c>, own: &'c Own) -> PlanContext<'c> {
    PlanContext {
        schema: own.path().unwrap_or(context.schema),
        ..*context
    }
}

/// The function of a trigger, for its table.
fn compile_trigger(id: u32, context: &PlanContext, linker: &mut Linker) -> SqlResult<Routine> {
    let gone = || SqlError::internal("a trigger that is fired is not in the catalogue");
    let trigger = context.catalog.trigger(id).ok_or_else(gone)?;
    let table = context.catalog.triggered(trigger.table);
    let stored = context.catalog.routine(trigger.function);
    let (table, stored) = table.zip(stored).ok_or_else(gone)?;
    let signature = stored
        .signature(context.catalog)?
        .for_trigger(&table, trigger);
    let mut record = RoutineRecord::clone(&stored.record);
    if let Some(text) = text_for(trigger, &table)? {
        record.text = text;
    }
    let statement = statement(&record)?;
    let own = Own::of(&statement)?;
    let context = &within(context, &own);
    let tree = plpgsql::read(&statement, &record.text, &single_types(context))?;
    Ok(Routine {
        guise: own.guise_of_trigger(&record, context.catalog),
        ..lower::routine(&signature, &tree, context, linker)?
    })
}
