//! One statement's planning: what it may look at, and what it learns on the way.
//!
//! Relies on: a parsed statement, a catalogue.  Promises: planning changes nothing; the same
//! statement, catalogue and settings give the same plan.  Does not: run anything.
//!
//! Parameters without a type take one from the first place that asks for one; see `coerce`.

use crate::catalog::Catalog;
use crate::command::{Command, Notice, Planned};
use crate::parse::{self, Parsed};
use crate::routine::{Calls, hold, plan_explain};
use crate::scope::Scope;
use crate::variables::Variables;
use quintet_base::text_format::FormatContext;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, limits};
use quintet_ir::statement::{Body, OutputColumn, Procedure, Statement};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What planning depends on besides the statement.
pub struct PlanContext<'a> {
    /// Names and definitions.
    pub catalog: &'a Catalog,
    /// The current schema, `public`.
    pub schema: &'a str,
    /// current_user, for the catalogue's relations.
    pub user: &'a str,
    /// current_database().
    pub database: &'a str,
    /// How literals of dates are read.
    pub format: &'a FormatContext,
}

/// The state of planning one statement.
pub(crate) struct Planner<'a> {
    pub context: &'a PlanContext<'a>,
    source: &'a str,
    /// The statement's own part of it.
    text: &'a str,
    /// Those of the routine that the statement stands in: parameters, all of them decided.
    pub variables: Option<&'a Variables>,
    /// Calls of routines in the expression at hand.
    pub calls: Calls,
    /// Types of the parameters met so far; `Unknown` until something asks for a type.
    params: RefCell<Vec<SqlType>>,
    pub notices: RefCell<Vec<Notice>>,
    /// WITH queries in sight, by name, innermost last.
    pub with: RefCell<Vec<crate::with::WithQuery>>,
    /// What is in sight around the subquery at hand, for telling a correlated name from a wrong one.
    outer: RefCell<Vec<Scope>>,
    /// How many subqueries deep planning is.
    depth: Cell<usize>,
    /// Where each place of the frame at hand was first named, for errors that come up later.
    named_at: RefCell<BTreeMap<usize, i32>>,
}

/// Subqueries within subqueries, inlined WITH queries included: these are the only nesting that
/// the parser's own limit does not bound.
const SUBQUERY_DEPTH_MAX: usize = 64;

impl<'a> Planner<'a> {
    /// For a statement or an expression inside a routine.
    pub fn inside(
        context: &'a PlanContext<'a>,
        source: &'a str,
        variables: &'a Variables,
    ) -> Planner<'a> {
        Planner {
            variables: Some(variables),
            ..Planner::new(context, source, &variables.types())
        }
    }

    pub fn new(context: &'a PlanContext<'a>, source: &'a str, params: &[SqlType]) -> Planner<'a> {
        Planner {
            context,
            source,
            text: source,
            variables: None,
            calls: Calls::default(),
            params: RefCell::new(params.to_vec()),
            notices: RefCell::new(Vec::new()),
            with: RefCell::new(Vec::new()),
            outer: RefCell::new(Vec::new()),
            depth: Cell::new(0),
            named_at: RefCell::new(BTreeMap::new()),
        }
    }

    /// The text that is planned: the statement's own, if it is planned from its parsed form.
    pub fn statement_text(&self) -> &'a str {
        self.text
    }

    pub fn catalog(&self) -> &'a Catalog {
        self.context.catalog
    }

    /// Adds the place to an error; a negative location is none. Nothing is counted until there is an
    /// error: the text of a bulk load is long.
    pub fn at(&self, location: i32) -> impl Fn(SqlError) -> SqlError + use<'a> {
        let source = self.source;
        move |error| match usize::try_from(location) {
            Ok(offset) if !source.is_empty() => error.at(parse::position(source, offset)),
            _ => error,
        }
    }

    /// An error with a place.
    pub fn error(&self, state: SqlState, message: impl Into<String>, location: i32) -> SqlError {
        self.at(location)(SqlError::new(state, message))
    }

    /// `0A000` with a place.
    pub fn unsupported(&self, what: impl fmt::Display, location: i32) -> SqlError {
        self.at(location)(SqlError::unsupported(what))
    }

    pub fn notice(&self, message: String) {
        self.notices.borrow_mut().push(Notice {
            severity: "NOTICE",
            message: SqlError::new(SqlState::SUCCESSFUL_COMPLETION, message),
        });
    }

    /// The type of parameter `$number` so far.
    pub fn param_type(&self, number: i32, location: i32) -> SqlResult<(usize, SqlType)> {
        let place = usize::try_from(number - 1)
            .ok()
            .filter(|&n| n < limits::PARAMETERS_MAX)
            .and_then(|n| match self.variables {
                Some(known) => known.numbered.get(n).copied(),
                None => Some(Some(n)),
            });
        if let Some(None) = place {
            return Err(self.unsupported(format!("${number}, a row"), location));
        }
        let Some(Some(place)) = place else {
            let message = format!("there is no parameter ${number}");
            return Err(self.error(SqlState::UNDEFINED_PARAMETER, message, location));
        };
        let mut params = self.params.borrow_mut();
        if params.len() <= place {
            params.resize(place + 1, SqlType::Unknown);
        }
        Ok((place, params[place]))
    }

    /// A slot of the routine that the statement stands in, with its type.
    pub fn slot(&self, slot: usize) -> (usize, SqlType) {
        (slot, self.params.borrow()[slot])
    }

    /// Decides a parameter's type, unless an earlier use has; the type it has now.
    pub fn decide_param(&self, place: usize, ty: SqlType) -> SqlType {
        let mut params = self.params.borrow_mut();
        if params[place] == SqlType::Unknown {
            params[place] = ty;
        }
        params[place]
    }

    /// Runs `plan` one subquery deeper.
    pub fn deeper<T>(&self, plan: impl FnOnce() -> SqlResult<T>) -> SqlResult<T> {
        if self.depth.get() >= SUBQUERY_DEPTH_MAX {
            return Err(SqlError::new(
                parse::TOO_COMPLEX,
                "subqueries are nested too deeply",
            ));
        }
        self.depth.set(self.depth.get() + 1);
        let named_at = self.named_at.take();
        let result = plan();
        self.named_at.replace(named_at);
        self.depth.set(self.depth.get() - 1);
        result
    }

    /// Runs `plan` for a subquery around which `outer` is in sight.
    pub fn with_outer<T>(
        &self,
        outer: &Scope,
        plan: impl FnOnce() -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.outer.borrow_mut().push(outer.clone());
        let result = plan();
        self.outer.borrow_mut().pop();
        result
    }

    /// True if the name means something around the subquery at hand.
    pub fn is_outer_name(&self, name: &[&str]) -> bool {
        self.outer
            .borrow()
            .iter()
            .any(|scope| scope.resolve(self, name, -1).is_ok())
    }

    /// Remembers where a place of the frame is named.
    pub fn name_column(&self, column: usize, location: i32) {
        self.named_at.borrow_mut().entry(column).or_insert(location);
    }

    /// Where a place of the frame was first named.
    pub fn where_named(&self, column: usize) -> i32 {
        self.named_at.borrow().get(&column).copied().unwrap_or(-1)
    }

    /// The statement's parameters, all decided.
    pub fn finish_params(&self) -> SqlResult<Vec<SqlType>> {
        let params = self.params.borrow().clone();
        match params.iter().position(|&ty| ty == SqlType::Unknown) {
            None => Ok(params),
            Some(place) => Err(SqlError::new(
                SqlState::INDETERMINATE_DATATYPE,
                format!("could not determine data type of parameter ${}", place + 1),
            )),
        }
    }

    /// A planned command that runs one statement.
    pub fn run(
        &self,
        statement: Statement,
        result: Vec<OutputColumn>,
        tag: &'static str,
    ) -> SqlResult<Planned> {
        let procedure = self.procedure(statement, result)?;
        Ok(Planned {
            params: procedure.params.clone(),
            columns: procedure.result.clone(),
            command: Command::Run(Arc::new(procedure)),
            tag,
            notices: self.notices.take(),
        })
    }

    /// A procedure of one statement.
    pub fn procedure(
        &self,
        statement: Statement,
        result: Vec<OutputColumn>,
    ) -> SqlResult<Procedure> {
        let statement = match self.calls.has_inline() {
            true => hold(statement),
            false => statement,
        };
        Ok(Procedure {
            params: self.finish_params()?,
            body: Body::Statement(statement),
            result,
        })
    }

    /// A planned command that is no IR.
    pub fn command(&self, command: Command, tag: &'static str) -> Planned {
        Planned {
            command,
            params: self.params.borrow().clone(),
            columns: Vec::new(),
            tag,
            notices: self.notices.take(),
        }
    }
}

/// Plans a statement. `param_types` may be shorter than what the statement uses; `Unknown` in it
/// means that the use decides.
///
/// # Errors
/// Whatever is wrong with the statement, as PostgreSQL says it; `0A000` for what Quintet lacks.
pub fn plan(parsed: &Parsed, context: &PlanContext, param_types: &[SqlType]) -> SqlResult<Planned> {
    let planner = Planner {
        text: parsed.text(),
        ..Planner::new(context, parsed.source(), param_types)
    };
    if let Some(explained) = parsed.explained() {
        return plan_explain(&planner, explained);
    }
    match parsed.node() {
        None => Ok(planner.command(Command::Empty, "")),
        Some(node) if parsed.explains_call() => {
            let planned = crate::statement::plan_statement(&planner, node)?;
            Ok(crate::utility::explained(&planner, planned, false))
        }
        Some(node) => crate::statement::plan_statement(&planner, node),
    }
}
