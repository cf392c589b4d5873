//! Whether a program is one: types fit, places are there, jumps land.
//!
//! Relies on: nothing that it looks at.  Promises: what it lets through can be run without a panic and
//! without an error that means a bug of whoever made the program; a fault says where it is.  Does not:
//! decide whether a program ends, or what it means.
//!
//! | what | where it is looked at |
//! |---|---|
//! | slots are there and of the type of what is put into them; EXIT and CONTINUE name something around | `steps` |
//! | what RETURN gives is the same everywhere in a routine, and what its callers take | `steps` |
//! | columns are there; frames of plans and statements fit | `plans` |
//! | parts of expressions have the types that their node wants; parameters are slots | `exprs` |
//! | jumps land inside the code; the two stacks have one height at each place | `flat` |
//!
//! It is run in debug builds after a routine was lowered and after it was flattened, and by tests.

mod exprs;
mod flat;
mod plans;
mod steps;

use crate::code::Code;
use crate::expr::Expr;
use crate::routine::{Program, Routine};
use crate::statement::{Body, Procedure};
use quintet_base::SqlType;
use std::fmt;

/// What is wrong with a program, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// From the outside in: a routine, a step with its line, a statement, a plan.
    pub place: Vec<String>,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place.join(", "), self.message)
    }
}

impl std::error::Error for Fault {}

/// Looks at all routines of a program.
///
/// # Errors
/// The first fault.
pub fn program(program: &Program) -> Result<(), Fault> {
    let rows: Vec<Option<Vec<SqlType>>> = program.routines.iter().map(steps::row_of).collect();
    let mut checker = Checker::new(Some(program), &rows);
    for (id, number) in &program.numbers {
        if *number >= program.routines.len() {
            return checker.fault(format!(
                "function {id} is routine {number}, which is not there"
            ));
        }
    }
    for (number, routine) in program.routines.iter().enumerate() {
        checker.within(
            format!("routine {number} \"{}\"", routine.name),
            |checker| checker.routine(routine, &rows[number]),
        )?;
    }
    Ok(())
}

/// Looks at a procedure: its statement, or the program that it calls.
///
/// # Errors
/// The first fault.
pub fn procedure(procedure: &Procedure) -> Result<(), Fault> {
    match &procedure.body {
        Body::Statement(statement) => {
            let mut checker = Checker::new(None, &[]);
            checker.params = procedure.params.clone();
            checker.statement(statement).map(drop)
        }
        Body::Call {
            program: called,
            arguments,
        } => {
            program(called)?;
            let rows = [];
            let mut checker = Checker::new(Some(called), &rows);
            checker.params = procedure.params.clone();
            checker.arguments(&called.routines[0], arguments, &[])
        }
    }
}

/// Looks at the code that a routine was flattened to.
///
/// # Errors
/// The first fault.
pub fn code(code: &Code, routine: &Routine) -> Result<(), Fault> {
    flat::code(code, routine)
}

type Checked<T> = Result<T, Fault>;

/// Where the walk has come to.
struct Checker<'p> {
    /// Around the routine; `None`: a lone statement.
    program: Option<&'p Program>,
    /// What each routine of the program gives; `None`: it does not say.
    rows: &'p [Option<Vec<SqlType>>],
    /// Types of the parameters: the slots.
    params: Vec<SqlType>,
    /// Types of what is handed to the subquery, or lateral plan, at hand.
    outer: Vec<SqlType>,
    place: Vec<String>,
    /// Types of what the nodes around keep, by number.
    given: Vec<(usize, Vec<SqlType>)>,
}

impl<'p> Checker<'p> {
    fn new(program: Option<&'p Program>, rows: &'p [Option<Vec<SqlType>>]) -> Checker<'p> {
        Checker {
            program,
            rows,
            params: Vec::new(),
            outer: Vec::new(),
            place: Vec::new(),
            given: Vec::new(),
        }
    }

    fn fault<T>(&self, message: impl Into<String>) -> Checked<T> {
        Err(Fault {
            place: self.place.clone(),
            message: message.into(),
        })
    }

    fn within<T>(
        &mut self,
        place: impl Into<String>,
        check: impl FnOnce(&mut Self) -> Checked<T>,
    ) -> Checked<T> {
        self.place.push(place.into());
        let checked = check(self);
        self.place.pop();
        checked
    }

    fn wants(&self, holds: bool, message: impl FnOnce() -> String) -> Checked<()> {
        match holds {
            true => Ok(()),
            false => self.fault(message()),
        }
    }

    /// The arguments of a call of a routine.
    fn arguments(
        &mut self,
        called: &Routine,
        arguments: &[Expr],
        frame: &[SqlType],
    ) -> Checked<()> {
        self.wants(arguments.len() == called.arguments, || {
            let (given, wanted) = (arguments.len(), called.arguments);
            format!(
                "\"{}\" is given {given} arguments and has {wanted}",
                called.name
            )
        })?;
        for (argument, slot) in arguments.iter().zip(&called.slots) {
            self.typed(argument, frame, slot.ty, "an argument")?;
        }
        Ok(())
    }
}
