//! The SQL inside a routine: texts to expressions and statements over its slots.
//!
//! Relies on: the planner, told which variables there are.  Promises: an expression that needs rows becomes
//! a query before it, one that calls routines gets their results before it; neither says anything to FOUND.
//! Does not: know PL/pgSQL's statements.

use super::call::{Called, call_step, has_subquery, in_order, is_bare};
use super::changes::has_changes;
use super::domain::guards;
use super::link::Linker;
use crate::coerce;
use crate::command::Command;
use crate::expr::{Binder, json_assigned, json_index};
use crate::names::{inner, required};
use crate::output;
use crate::parse;
use crate::planner::{PlanContext, Planner};
use crate::row_security::{PartOf, RowChecks};
use crate::scope::Scope;
use crate::sets::sets_in_from;
use crate::statement::plan_statement;
use crate::variables::Variables;
use pg_query::NodeEnum;
use pg_query::protobuf::{ObjectType, SelectStmt};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod};
use quintet_ir::cast::CastContext;
use quintet_ir::plan::Plan;
use quintet_ir::routine::{Action, Into, Step};
use quintet_ir::statement::{Body, OutputColumn};
use quintet_ir::{Expr, Need, Needs, Statement, fold};

/// The routine that is being made, as far as its SQL needs it.
pub(crate) struct Embedding<'c, 'l> {
    pub context: &'c PlanContext<'c>,
    pub variables: Variables,
    pub linker: &'l mut Linker,
    /// Steps made so far in the sequence at hand.
    pub steps: Vec<Step>,
    /// Of the statement at hand.
    pub line: u32,
    /// What the SQL planned since the last step needs; asked for before the next one.
    pub needs: Vec<Need>,
    /// It is neither STABLE nor IMMUTABLE.
    pub may_write: bool,
    /// What is planned is a part of.
    pub part_of: PartOf,
}

/// A statement with its result's columns.
pub(crate) struct Planned {
    pub statement: Statement,
    pub columns: Vec<OutputColumn>,
    /// What policies ask of its rows, if it fires triggers; else the statement asks.
    pub checks: RowChecks,
}

impl<'c, 'l> Embedding<'c, 'l> {
    /// No step is made yet.
    pub fn new(
        context: &'c PlanContext<'c>,
        variables: Variables,
        linker: &'l mut Linker,
        may_write: bool,
    ) -> Embedding<'c, 'l> {
        Embedding {
            context,
            variables,
            linker,
            steps: Vec::new(),
            line: 0,
            needs: Vec::new(),
            may_write,
            part_of: PartOf::Nothing,
        }
    }
}

impl Embedding<'_, '_> {
    /// Adds a step; a value that it gives a variable of a domain is looked at.
    pub fn add(&mut self, action: Action) {
        match guards(&self.variables) {
            true => self.add_guarded(action),
            false => self.push(action),
        }
    }

    /// Adds a step as it is.
    pub fn push(&mut self, action: Action) {
        let line = self.line;
        let needs = self.take_needs();
        self.steps.push(Step {
            line,
            action,
            needs,
        });
    }

    /// A step of the line at hand, for a sequence that is not added to.
    pub fn step(&self, action: Action) -> Step {
        Step {
            line: self.line,
            action,
            needs: None,
        }
    }

    /// What the next step needs, if anything.
    fn take_needs(&mut self) -> Option<Needs> {
        let needs = std::mem::take(&mut self.needs);
        (!needs.is_empty()).then(|| needs.into())
    }

    /// Keeps what a planner has found to be needed.
    pub fn keep_needs(&mut self, needs: Vec<Need>) {
        self.needs.extend(needs);
    }

    /// Steps made by `make`, apart from those at hand.
    pub fn apart<T>(
        &mut self,
        make: impl FnOnce(&mut Self) -> SqlResult<T>,
    ) -> SqlResult<(T, Vec<Step>)> {
        let before = std::mem::take(&mut self.steps);
        let needs = std::mem::take(&mut self.needs);
        let line = self.line;
        let made = make(self);
        self.line = line;
        self.needs = needs;
        let steps = std::mem::replace(&mut self.steps, before);
        Ok((made?, steps))
    }

    /// An expression; what it needs is added as steps. A literal may have no type yet.
    ///
    /// # Errors
    /// As of a SELECT of it.
    pub fn expression(&mut self, text: &str) -> SqlResult<Expr> {
        let source = format!("SELECT {text}");
        let select = select(&source)?;
        if is_bare(&select) && select.from_clause.is_empty() && !has_subquery(&select) {
            let [target] = select.target_list.as_slice() else {
                return Err(one_column(select.target_list.len()));
            };
            let Some(NodeEnum::ResTarget(target)) = inner(target) else {
                return required(None);
            };
            let node = required(target.val.as_deref())?;
            let planner = Planner::inside(self.context, &source, &self.variables);
            planner.calls.open(self.variables.slots.len());
            let scope = Scope::empty();
            let bound = Binder::new(&planner, &scope, "expressions").bind(node)?;
            // What must not be evaluated twice may have become a subquery, which only a statement runs.
            if let Some(calls) = planner.calls.close()
                && !bound.has_subquery()
            {
                let needs = planner.take_needs();
                self.keep_needs(needs);
                self.call(calls);
                return Ok(fold(bound));
            }
        }
        let planned = self.statement(&source)?;
        let [column] = planned.columns.as_slice() else {
            return Err(one_column(planned.columns.len()));
        };
        let ty = column.ty;
        let slot = self.variables.hidden(ty);
        self.add(Action::Run {
            statement: planned.statement,
            into: Into {
                targets: vec![(slot, Expr::Column(0, ty))],
                strict: false,
                silent: true,
            },
        });
        Ok(Expr::Param(slot, ty))
    }

    /// The fields of an expression that is a row, ROW(…) or a variable or what a function gives; `None` if it
    /// is something else. A literal is text.
    ///
    /// # Errors
    /// As [`Embedding::expression`].
    pub fn row(&mut self, text: &str) -> SqlResult<Option<Vec<(OutputColumn, Expr)>>> {
        let source = format!("SELECT {text}");
        let select = select(&source)?;
        let [target] = select.target_list.as_slice() else {
            return Ok(None);
        };
        if !is_bare(&select) || !select.from_clause.is_empty() || has_subquery(&select) {
            return Ok(None);
        }
        let Some(NodeEnum::ResTarget(target)) = inner(target) else {
            return required(None);
        };
        let planner = Planner::inside(self.context, &source, &self.variables);
        planner.calls.open(self.variables.slots.len());
        let scope = Scope::empty();
        let binder = Binder::new(&planner, &scope, "expressions");
        let value = required(target.val.as_deref())?;
        let row = match binder.row(value)? {
            Some(row) => Some(row),
            // What is wrong with it is said where it is bound as one value.
            None => match binder.bind(value) {
                Ok(value) => binder.row_of_value(&value)?,
                Err(_) => None,
            },
        };
        let Some(row) = row else {
            return Ok(None);
        };
        let Some(calls) = planner.calls.close() else {
            return Ok(None);
        };
        if row.fields.iter().any(|field| field.expr.has_subquery()) {
            return Ok(None);
        }
        let fields = row.fields.into_iter().map(|field| {
            let expr = fold(coerce::settle(&planner, field.expr)?);
            let column = OutputColumn {
                name: field.name,
                ty: expr.ty(),
                modifier: field.modifier,
                origin: None,
            };
            Ok((column, expr))
        });
        let fields = fields.collect::<SqlResult<Vec<_>>>()?;
        let needs = planner.take_needs();
        self.keep_needs(needs);
        self.call(calls);
        Ok(Some(fields))
    }

    /// Adds the calls that an expression needs; their slots are the next ones.
    fn call(&mut self, calls: Vec<Called>) {
        let first = self.variables.slots.len();
        for ty in calls.iter().flat_map(|called| &called.types) {
            self.variables.hidden(*ty);
        }
        for (called, slot) in in_order(calls, first) {
            let mut step = call_step(called, slot, self.line, self.linker);
            step.needs = self.take_needs();
            self.steps.push(step);
        }
    }

    /// An expression as a variable's value.
    ///
    /// # Errors
    /// As [`Embedding::expression`]; `42804` if no conversion is there.
    pub fn typed(&mut self, text: &str, ty: SqlType, modifier: TypeMod) -> SqlResult<Expr> {
        let expr = self.expression(text)?;
        self.converted(expr, ty, modifier)
    }

    /// A variable's document with another value where steps lead.
    ///
    /// # Errors
    /// `42804` for steps or values of other types.
    pub fn json_part(
        &mut self,
        slot: usize,
        steps: &[&str],
        value: &str,
        name: &str,
    ) -> SqlResult<Expr> {
        let mut bound = Vec::with_capacity(steps.len());
        for step in steps {
            let step = self.expression(step)?;
            let planner = Planner::inside(self.context, "", &self.variables);
            bound.push(json_index(&planner, step)?);
        }
        let value = self.expression(value)?;
        let planner = Planner::inside(self.context, "", &self.variables);
        let document = Expr::Param(slot, SqlType::Jsonb);
        let arguments = json_assigned(&planner, document, bound, value, name)?;
        self.apply("[jsonb]:=", arguments)
    }

    /// A condition.
    ///
    /// # Errors
    /// As [`Embedding::typed`].
    pub fn condition(&mut self, text: &str) -> SqlResult<Expr> {
        self.typed(text, SqlType::Bool, TypeMod::NONE)
    }

    /// A value as a variable of a type takes it: by any conversion there is, its length checked.
    ///
    /// # Errors
    /// `42804`; `22P02` and the like for a literal.
    pub fn converted(&self, expr: Expr, ty: SqlType, modifier: TypeMod) -> SqlResult<Expr> {
        let planner = Planner::inside(self.context, "", &self.variables);
        converted(&planner, expr, ty, modifier)
    }

    /// A call of a built-in function, by a name that SQL may lack.
    ///
    /// # Errors
    /// `42883` if there is none for such arguments.
    pub fn apply(&self, name: &str, arguments: Vec<Expr>) -> SqlResult<Expr> {
        let planner = Planner::inside(self.context, "", &self.variables);
        let scope = Scope::empty();
        Binder::new(&planner, &scope, "expressions").apply(name, arguments)
    }

    /// A value as a column takes it.
    ///
    /// # Errors
    /// `42804`, `42846`.
    pub fn assigned(&self, expr: Expr, ty: SqlType, modifier: TypeMod) -> SqlResult<Expr> {
        let planner = Planner::inside(self.context, "", &self.variables);
        coerce::assign(&planner, expr, ty, modifier, "")
    }

    /// A statement that gives or changes rows.
    ///
    /// # Errors
    /// What planning says; `0A000` for statements of other kinds.
    pub fn statement(&mut self, source: &str) -> SqlResult<Planned> {
        let mut parsed = parse::parse(source)?;
        let node = match (
            parsed.pop().and_then(parse::Parsed::into_node),
            parsed.len(),
        ) {
            (Some(node), 0) => node,
            _ => {
                let message = "one statement is expected here";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
        };
        if let NodeEnum::MergeStmt(merge) = &node {
            return self.merged(source, merge);
        }
        if has_changes(&node) {
            return self.with_changes(source, node);
        }
        if let NodeEnum::SelectStmt(select) = &node
            && is_bare(select)
            && select.from_clause.is_empty()
            && !has_subquery(select)
            && let Some(planned) = self.targets(source, select)?
        {
            return Ok(planned);
        }
        self.plan(source, &node)
    }

    /// Plans a statement of a source, with the triggers that it fires.
    pub(super) fn plan(&mut self, source: &str, node: &NodeEnum) -> SqlResult<Planned> {
        let planned = self.plan_alone(source, node)?;
        self.fired(planned)
    }

    /// The same without triggers.
    pub(super) fn plan_alone(&mut self, source: &str, node: &NodeEnum) -> SqlResult<Planned> {
        let planner = Planner::inside(self.context, source, &self.variables);
        planner.part_of.set(self.part_of);
        refuse_schema_change(node)?;
        // Whoever is called would be made here, and may call this routine.
        if let NodeEnum::CallStmt(_) = node {
            return Err(SqlError::unsupported("a call in this place"));
        }
        let planned = plan_statement(&planner, node)?;
        planner.calls.link(self.linker);
        let (needs, types) = (planner.take_needs(), planner.decided());
        let checks = planner.take_row_checks();
        self.keep_needs(needs);
        // Of a client's parameters the first use decides the type.
        for (slot, ty) in self.variables.slots.iter_mut().zip(types) {
            slot.ty = ty;
        }
        match planned.command {
            Command::Run(procedure) => match &procedure.body {
                Body::Statement(statement) => {
                    if statement.is_write() {
                        self.refuse_write(planned.tag);
                    }
                    // What the table's expressions call is part of the program.
                    if let Some(table) = statement.target() {
                        table.callees(&mut |callee| {
                            self.linker.number(callee.id);
                        });
                    }
                    Ok(Planned {
                        statement: statement.clone(),
                        columns: planned.columns,
                        checks,
                    })
                }
                Body::Call { .. } => Err(SqlError::unsupported("a call in this place")),
            },
            _ => Err(SqlError::unsupported(format!(
                "{} inside a routine",
                planned.tag
            ))),
        }
    }

    /// What changes rows fails in a routine that has promised not to.
    pub fn refuse_write(&mut self, tag: &str) {
        if !self.may_write {
            let message = format!("{tag} is not allowed in a non-volatile function");
            let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            self.add(Action::Fail(Box::new(error)));
        }
    }

    /// A SELECT of values, which may call routines; `None` if one is called under a condition, or gives a set.
    fn targets(&mut self, source: &str, select: &SelectStmt) -> SqlResult<Option<Planned>> {
        let planner = Planner::inside(self.context, source, &self.variables);
        if sets_in_from(&planner, select)?.is_some() {
            return Ok(None);
        }
        planner.calls.open(self.variables.slots.len());
        let scope = Scope::empty();
        let binder = Binder::new(&planner, &scope, "SELECT");
        let mut targets = output::bind_targets(&binder, &select.target_list)?;
        output::settle(&planner, &mut targets, None)?;
        let Some(calls) = planner.calls.close() else {
            return Ok(None);
        };
        let outputs = targets
            .iter()
            .map(|target| output::describe(&scope, target));
        let columns = output::publish(outputs.collect());
        let row: Vec<Expr> = targets
            .into_iter()
            .map(|target| fold(target.expr))
            .collect();
        self.keep_needs(planner.take_needs());
        self.call(calls);
        Ok(Some(Planned {
            statement: Statement::Query(Plan::Values {
                types: row.iter().map(Expr::ty).collect(),
                rows: vec![row],
            }),
            columns,
            checks: RowChecks::default(),
        }))
    }

    /// Binds `count` expressions of a list, `a, b, c`.
    ///
    /// # Errors
    /// As [`Embedding::expression`].
    pub fn list(&mut self, text: &str) -> SqlResult<Vec<Expr>> {
        let source = format!("SELECT {text}");
        let select = select(&source)?;
        if is_bare(&select) && select.from_clause.is_empty() && !has_subquery(&select) {
            let planner = Planner::inside(self.context, &source, &self.variables);
            planner.calls.open(self.variables.slots.len());
            let scope = Scope::empty();
            let binder = Binder::new(&planner, &scope, "expressions");
            let mut values = Vec::with_capacity(select.target_list.len());
            for target in &select.target_list {
                let Some(NodeEnum::ResTarget(target)) = inner(target) else {
                    return required(None);
                };
                values.push(binder.bind(required(target.val.as_deref())?)?);
            }
            if let Some(calls) = planner.calls.close()
                && !values.iter().any(Expr::has_subquery)
            {
                let needs = planner.take_needs();
                self.keep_needs(needs);
                self.call(calls);
                return Ok(values);
            }
        }
        let planned = self.statement(&source)?;
        let mut targets = Vec::with_capacity(planned.columns.len());
        for (number, column) in planned.columns.iter().enumerate() {
            let slot = self.variables.hidden(column.ty);
            targets.push((slot, Expr::Column(number, column.ty)));
        }
        let values = targets
            .iter()
            .map(|(slot, value)| Expr::Param(*slot, value.ty()));
        let values = values.collect();
        self.add(Action::Run {
            statement: planned.statement,
            into: Into {
                targets,
                strict: false,
                silent: true,
            },
        });
        Ok(values)
    }
}

/// See [`Embedding::converted`].
pub(crate) fn converted(
    planner: &Planner,
    expr: Expr,
    ty: SqlType,
    modifier: TypeMod,
) -> SqlResult<Expr> {
    let from = expr.ty();
    let converted = match coerce::convert(planner, expr.clone(), ty, CastContext::Assignment) {
        Err(error) if error.state == SqlState::CANNOT_COERCE => {
            // As text, which every type is written to and read from.
            let text = coerce::convert(planner, expr, SqlType::Text, CastContext::Explicit)?;
            coerce::convert(planner, text, ty, CastContext::Explicit)
        }
        other => other,
    };
    let converted = converted.map_err(|error| match error.state {
        SqlState::CANNOT_COERCE => SqlError::new(
            SqlState::DATATYPE_MISMATCH,
            format!("a value of type {from} cannot be assigned to type {ty}"),
        ),
        _ => error,
    })?;
    Ok(coerce::with_length(converted, ty, modifier))
}

/// A statement that changes the schema is refused for what it is, whatever else is wrong with it.
fn refuse_schema_change(node: &NodeEnum) -> SqlResult<()> {
    let what = match node {
        NodeEnum::CreateStmt(_) => "CREATE TABLE",
        NodeEnum::AlterTableStmt(_) | NodeEnum::RenameStmt(_) => "ALTER TABLE",
        NodeEnum::IndexStmt(_) => "CREATE INDEX",
        NodeEnum::TruncateStmt(_) => "TRUNCATE",
        NodeEnum::DropStmt(statement) => match statement.remove_type() {
            ObjectType::ObjectTable => "DROP TABLE",
            ObjectType::ObjectIndex => "DROP INDEX",
            ObjectType::ObjectSequence => "DROP SEQUENCE",
            _ => "DROP",
        },
        _ => return Ok(()),
    };
    Err(SqlError::unsupported(format!("{what} inside a routine")))
}

/// The SELECT that a text is.
fn select(source: &str) -> SqlResult<Box<SelectStmt>> {
    let mut parsed = parse::parse(source)?;
    match (
        parsed.pop().and_then(parse::Parsed::into_node),
        parsed.len(),
    ) {
        (Some(NodeEnum::SelectStmt(select)), 0) => Ok(select),
        _ => Err(SqlError::new(
            SqlState::SYNTAX_ERROR,
            "an expression is expected here",
        )),
    }
}

fn one_column(found: usize) -> SqlError {
    SqlError::new(
        SqlState::SYNTAX_ERROR,
        format!("query returned {found} columns"),
    )
}
