//! Bodies in PL/pgSQL to steps.
//!
//! Relies on: `plpgsql` for the tree, `embed` for the SQL in it.  Promises: one step per statement, of its
//! line; a variable has a slot, a record one per field.  Does not: change what a routine does for speed.
//!
//! **Records.** A record's fields are those of what was last assigned to it in the order of the text. Where
//! that would not be so at run time, because a branch or a loop gives it other fields than it had before,
//! the routine is refused.

mod assign;
mod control;
mod current;
mod cursor;
mod declare;
mod dynamic;
mod portal;
mod raise;

use super::changes::{array_of, rows_of};
use super::embed::{Embedding, Planned};
use super::link::Linker;
use super::signature::{RowsNamed, Signature};
use crate::catalog::Catalog;
use crate::composite::{self, type_of_rows};
use crate::planner::{PlanContext, Planner};
use crate::plpgsql::{self, Block, Statement, StatementKind, VariableNumber};
use crate::variables::{Shape, Variables};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::plan::Plan;
use quintet_ir::routine::{Action, Handler, Output, Raise, RaiseState, Severity, Slot, Step};
use quintet_ir::statement::{OutputColumn, Statement as IrStatement};
use quintet_ir::{Expr, Routine};
use std::collections::{BTreeMap, BTreeSet};

/// A routine being made.
struct Lowering<'c, 'l, 't> {
    at: Embedding<'c, 'l>,
    signature: &'t Signature,
    tree: &'t plpgsql::Routine,
    /// Loops and labelled blocks around the statement at hand.
    around: Vec<Leavable>,
    /// The branches, loops and guarded blocks around the statement at hand, each with a number of its own, which grows in the order of
    /// the text.
    regions: Vec<usize>,
    /// As many have been numbered.
    numbered_regions: usize,
    /// In which of them a record has got its fields, by its number.
    shaped_in: Vec<Option<usize>>,
    /// Behind which of them it is not known what fields a record has, with its number.
    doubtful_behind: BTreeSet<Doubt>,
    /// Which of them are bodies of loops.
    loops: BTreeSet<usize>,
    /// Bodies of loops that give a record other fields than it had before them: when they begin it may have either.
    doubts: &'t BTreeSet<Doubt>,
    /// One more of these was found, and the routine is to be made anew.
    new_doubt: Option<Doubt>,
    /// Cursors that have been declared so far.
    cursors: BTreeMap<VariableNumber, cursor::Cursor>,
    /// What the portals that variables name have been opened with, in the order of the text.
    opened: BTreeMap<VariableNumber, Vec<OutputColumn>>,
    /// The portals that loops around it go through.
    through: Vec<VariableNumber>,
    /// The cursors of the routine's own that loops around it go through.
    looped: Vec<VariableNumber>,
    /// The types of the rows that the loops around it go through.
    rows_around: Vec<Vec<SqlType>>,
    /// The slot of FOUND.
    found: usize,
    /// Whether a row variable has got a value, in the order of the text, by its number.
    assigned: Vec<bool>,
    /// The types of the rows that are given, where no caller has said yet which he wants.
    given: Option<Vec<SqlType>>,
}

/// A branch, loop or guarded block, and the number of a record.
type Doubt = (usize, usize);

/// Something that EXIT or CONTINUE may name.
struct Leavable {
    label: Option<String>,
    is_loop: bool,
}

/// A routine from its tree.
///
/// # Errors
/// What its SQL says, with the line in the error's context; `0A000` for what Quintet lacks.
pub(crate) fn routine(
    signature: &Signature,
    tree: &plpgsql::Routine,
    context: &PlanContext,
    linker: &mut Linker,
) -> SqlResult<Routine> {
    let mut doubts = BTreeSet::new();
    loop {
        match routine_with(signature, tree, context, linker, &doubts) {
            Ok(routine) => return Ok(routine),
            Err((_, Some(doubt))) if doubts.insert(doubt) => {}
            Err((error, _)) => return Err(error),
        }
    }
}

/// The same, if it is known which records loops give other fields; one more that does comes out with the error.
fn routine_with(
    signature: &Signature,
    tree: &plpgsql::Routine,
    context: &PlanContext,
    linker: &mut Linker,
    doubts: &BTreeSet<Doubt>,
) -> Result<Routine, (SqlError, Option<Doubt>)> {
    let mut variables = parameters(signature);
    let last_parameter = variables.slots.len().saturating_sub(1);
    for rows in &signature.tables {
        add_rows(context, &mut variables, rows).map_err(|error| (error, None))?;
    }
    variables.conflict = tree.body.conflict;
    let found = variables.add_slot(
        Slot {
            name: "found".to_string(),
            ty: SqlType::Bool,
            not_null: false,
        },
        TypeMod::NONE,
    );
    if signature.trigger {
        variables.from_zero = Some(last_parameter);
    }
    let found_number = signature.parameters.len();
    variables.reshape(found_number, Shape::Scalar(found));
    variables.declare("found", found_number);
    let mut lowering = Lowering {
        at: Embedding::new(context, variables, linker, signature.may_write),
        signature,
        tree,
        around: Vec::new(),
        regions: vec![0],
        numbered_regions: 0,
        shaped_in: vec![None; tree.body.variables.len()],
        doubtful_behind: BTreeSet::new(),
        loops: BTreeSet::new(),
        doubts,
        new_doubt: None,
        cursors: BTreeMap::new(),
        opened: BTreeMap::new(),
        through: Vec::new(),
        looped: Vec::new(),
        rows_around: Vec::new(),
        found,
        assigned: vec![false; tree.body.variables.len()],
        given: None,
    };
    lowering.at.add(Action::Assign {
        slot: found,
        value: Expr::Const(Value::Bool(false), SqlType::Bool),
    });
    lowering.at.check_arguments(signature);
    let result = lowering
        .block(&tree.body.block)
        .and_then(|()| lowering.end());
    let line = lowering.at.line;
    result.map_err(|error| {
        let context = format!(
            "compilation of PL/pgSQL function \"{}\" near line {line}",
            signature.name
        );
        // A position counts in the text of one expression, which nobody sees.
        (error.nowhere().within(&context), lowering.new_doubt)
    })?;
    Ok(Routine {
        name: Planner::new(context, "", &[]).with_type_names(signature.describe()),
        slots: lowering.at.variables.slots,
        arguments: signature.slots(),
        strict: signature.strict,
        guise: None,
        found: Some(found),
        body: lowering.at.steps,
        output: signature.output,
    })
}

/// The variables that a routine begins with: its parameters, by number and by name.
pub(crate) fn parameters(signature: &Signature) -> Variables {
    let mut variables = Variables::default();
    variables.result_domain = signature.result_domain;
    variables.enter(Some(&signature.name));
    for (number, parameter) in signature.parameters.iter().enumerate() {
        if let Some(table) = &parameter.row {
            let named = parameter.name.as_deref().unwrap_or_default();
            let fields = table.visible_columns().map(|(_, column)| {
                let slot = Slot {
                    name: format!("{named}.{}", column.name),
                    ty: column.ty,
                    not_null: false,
                };
                let slot = variables.add_slot(slot, column.modifier);
                (column.name.clone(), slot)
            });
            let fields = fields.collect();
            variables.reshape(number, Shape::Row(fields));
            variables.numbered.push(None);
            if let Some(name) = &parameter.name {
                variables.declare(name, number);
            }
            continue;
        }
        let slot = variables.add_slot(
            Slot {
                name: parameter.name.clone().unwrap_or_default(),
                ty: parameter.ty,
                not_null: false,
            },
            parameter.modifier,
        );
        if let Some(domain) = parameter.domain {
            variables.domains.insert(slot, domain);
        }
        variables.reshape(number, Shape::Scalar(slot));
        variables.numbered.push(Some(slot));
        if let Some(name) = &parameter.name {
            variables.declare(name, number);
        }
    }
    for _ in 0..signature.markers() {
        variables.hidden(SqlType::Bool);
    }
    variables
}

/// Rows that the routine's statements find under a name.
fn add_rows(
    context: &PlanContext<'_>,
    variables: &mut Variables,
    rows: &RowsNamed,
) -> SqlResult<()> {
    let mut numbers = Vec::with_capacity(rows.columns.len());
    for column in &rows.columns {
        let slot = variables.hidden(array_of(column.ty)?);
        variables.numbered.push(Some(slot));
        numbers.push(variables.numbered.len() as i32);
    }
    let query = rows_of(context, &numbers, &rows.columns)?;
    variables.tables.push((rows.name.clone(), query));
    Ok(())
}

/// The row that a routine's parameters are as its result.
fn row_of_parameters(signature: &Signature, catalog: &Catalog) -> SqlResult<Vec<Expr>> {
    let mut slot = 0;
    let mut row = Vec::new();
    for parameter in &signature.parameters {
        let types: Vec<SqlType> = match &parameter.row {
            Some(table) => table.visible_columns().map(|(_, it)| it.ty).collect(),
            None => vec![parameter.ty],
        };
        let values = (slot..)
            .zip(&types)
            .map(|(slot, ty)| Expr::Param(slot, *ty));
        match &parameter.row {
            _ if !parameter.mode.is_result() => {}
            Some(table) => {
                let ty = type_of_rows(catalog, table.id);
                let shape = match ty {
                    Some(SqlType::Composite(number)) => catalog.shape(number),
                    _ => None,
                };
                let shape =
                    shape.ok_or_else(|| SqlError::internal("a parameter's type has gone"))?;
                row.push(composite::make(&shape, values.collect(), true)?);
            }
            None => row.extend(values),
        }
        slot += types.len();
    }
    Ok(row)
}

/// A query whose columns are converted to those that were promised.
pub(crate) fn fitted(
    at: &Embedding,
    planned: Planned,
    columns: &[OutputColumn],
) -> SqlResult<IrStatement> {
    let mismatch = |detail: String| {
        SqlError::new(
            SqlState::DATATYPE_MISMATCH,
            "structure of query does not match function result type",
        )
        .detail(detail)
    };
    if planned.columns.len() != columns.len() {
        return Err(mismatch(format!(
            "Number of returned columns ({}) does not match expected column count ({}).",
            planned.columns.len(),
            columns.len()
        )));
    }
    let mut exprs = Vec::with_capacity(columns.len());
    for (number, (from, to)) in planned.columns.iter().zip(columns).enumerate() {
        if from.ty != to.ty {
            return Err(mismatch(format!(
                "Returned type {} does not match expected type {} in column {}.",
                from.ty,
                to.ty,
                number + 1
            )));
        }
        let value = Expr::Column(number, from.ty);
        exprs.push(at.converted(value, to.ty, to.modifier)?);
    }
    projected(planned, exprs)
}

/// A statement with these values over its rows instead of them.
pub(crate) fn projected(planned: Planned, exprs: Vec<Expr>) -> SqlResult<IrStatement> {
    let same = exprs
        .iter()
        .enumerate()
        .all(|(number, expr)| matches!(expr, Expr::Column(place, _) if *place == number));
    match planned.statement {
        statement if same => Ok(statement),
        IrStatement::Query(plan) => Ok(IrStatement::Query(Plan::Project {
            input: Box::new(plan),
            exprs,
        })),
        _ => Err(SqlError::unsupported(
            "RETURNING of other types than the function's result",
        )),
    }
}

/// An error that is for who reaches the statement; the others are for who creates the routine.
pub(crate) fn for_later(error: SqlError) -> SqlResult<SqlError> {
    let now = [
        SqlState::FEATURE_NOT_SUPPORTED,
        SqlState::SYNTAX_ERROR,
        SqlState::INVALID_FUNCTION_DEFINITION,
        SqlState::INTERNAL_ERROR,
    ];
    match now.contains(&error.state) {
        true => Err(error),
        // A position counts in the text of one expression, which nobody sees.
        false => Ok(error.nowhere()),
    }
}

impl Lowering<'_, '_, '_> {
    /// Steps of statements, apart from those at hand.
    fn apart(&mut self, statements: &[Statement]) -> SqlResult<Vec<Step>> {
        let before = std::mem::take(&mut self.at.steps);
        let needs = std::mem::take(&mut self.at.needs);
        let line = self.at.line;
        self.numbered_regions += 1;
        let region = self.numbered_regions;
        self.regions.push(region);
        self.doubt_in(region);
        let made = self.statements(statements);
        self.regions.pop();
        let behind = self.doubtful_behind.split_off(&(region, 0));
        let around = self.regions.last().copied().unwrap_or_default();
        for (_, number) in behind {
            self.at.variables.reshape(number, Shape::Doubtful);
            self.shaped_in[number] = Some(around);
        }
        self.at.needs = needs;
        let steps = std::mem::replace(&mut self.at.steps, before);
        made?;
        self.at.line = line;
        Ok(steps)
    }

    /// Records that have other fields when a loop begins again are no more known than that from here on.
    fn doubt_in(&mut self, region: usize) {
        for &(_, number) in self.doubts.range((region, 0)..(region + 1, 0)) {
            self.at.variables.reshape(number, Shape::Doubtful);
            self.shaped_in[number] = Some(region);
            self.doubtful_behind.insert((region, number));
        }
    }

    fn statements(&mut self, statements: &[Statement]) -> SqlResult<()> {
        for statement in statements {
            self.at.line = statement.line;
            self.when_reached(|this| this.statement(&statement.kind))?;
        }
        Ok(())
    }

    /// Makes steps; what is wrong with them as the schema is, or with a literal in them, is said by the
    /// step that stands there instead. Another schema makes the routine again.
    fn when_reached(&mut self, make: impl FnOnce(&mut Self) -> SqlResult<()>) -> SqlResult<()> {
        let begun = self.at.steps.len();
        make(self).or_else(|error| self.instead(begun, error))
    }

    /// A step that fails instead of those from `begun` on.
    fn instead(&mut self, begun: usize, error: SqlError) -> SqlResult<()> {
        let planner = Planner::new(self.at.context, "", &[]);
        // What is wrong may come right before it is reached.
        let error = match self.tree.body.is_dynamic {
            true => error.nowhere(),
            false => for_later(error)?,
        };
        let error = planner.name_types(error);
        self.at.steps.truncate(begun);
        self.at.needs.clear();
        self.at.add(Action::Fail(Box::new(error)));
        Ok(())
    }

    fn block(&mut self, block: &Block) -> SqlResult<()> {
        self.at.variables.enter(block.label.as_deref());
        let result = self.labelled(block.label.as_deref(), false, |this| {
            this.declare(block)?;
            match &block.exception {
                None => this.statements(&block.statements),
                Some(exception) => this.guarded(block, exception),
            }
        });
        self.at.variables.leave();
        result
    }

    /// Makes steps that EXIT may leave under a label.
    fn labelled(
        &mut self,
        label: Option<&str>,
        is_loop: bool,
        make: impl FnOnce(&mut Self) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let Some(label) = label else {
            return make(self);
        };
        self.around.push(Leavable {
            label: Some(label.to_string()),
            is_loop,
        });
        let before = std::mem::take(&mut self.at.steps);
        let made = make(self);
        let body = std::mem::replace(&mut self.at.steps, before);
        self.around.pop();
        made?;
        self.at.add(Action::Block { body });
        Ok(())
    }

    fn guarded(&mut self, block: &Block, exception: &plpgsql::Exception) -> SqlResult<()> {
        let line = self.at.line;
        let body = self.apart(&block.statements)?;
        self.at.variables.enter(None);
        let mut slots = [0; 2];
        let named = [
            (exception.sqlstate, "sqlstate"),
            (exception.sqlerrm, "sqlerrm"),
        ];
        for ((number, name), slot) in named.into_iter().zip(&mut slots) {
            *slot = self.at.variables.hidden(SqlType::Text);
            self.at.variables.reshape(number.0, Shape::Scalar(*slot));
            self.at.variables.declare(name, number.0);
        }
        let mut handlers = Vec::new();
        for handler in &exception.handlers {
            self.at.line = handler.line;
            handlers.push(Handler {
                conditions: handler.conditions.clone(),
                body: self.handler(handler)?,
            });
        }
        self.at.variables.leave();
        self.at.line = line;
        self.at.add(Action::Guard {
            body,
            handlers,
            slots,
        });
        Ok(())
    }

    /// What a handler does.
    fn handler(&mut self, handler: &plpgsql::Handler) -> SqlResult<Vec<Step>> {
        let before = std::mem::take(&mut self.at.steps);
        self.handler_begins(handler.offset);
        let mut begin = std::mem::replace(&mut self.at.steps, before);
        begin.extend(self.apart(&handler.statements)?);
        Ok(begin)
    }

    fn statement(&mut self, kind: &StatementKind) -> SqlResult<()> {
        match kind {
            StatementKind::Null => Ok(()),
            StatementKind::Open {
                cursor,
                how,
                offset,
            } => self.opens(*cursor, how, *offset),
            StatementKind::Fetch { .. } => self.fetches(kind),
            StatementKind::Close { cursor, offset } => self.closes(*cursor, *offset),
            StatementKind::ForCursor {
                label,
                variable,
                cursor,
                arguments,
                offset,
                body,
            } => {
                let cursor = (*cursor, arguments.as_ref());
                self.for_cursor(label.as_deref(), *variable, cursor, body, *offset)
            }
            StatementKind::Commit => self.ends_transaction(Action::Commit),
            StatementKind::Rollback if self.tree.body.plans_late => Err(SqlError::unsupported(
                "ROLLBACK in a routine some of whose statements are planned when it comes to them",
            )),
            StatementKind::Rollback => self.ends_transaction(Action::Rollback),
            StatementKind::Block(block) => self.block(block),
            StatementKind::Assign { target, value } => self.assign(target, value),
            StatementKind::If {
                branches,
                otherwise,
            } => self.branches(branches, otherwise),
            StatementKind::Case {
                subject,
                arms,
                otherwise,
            } => self.case(subject.as_ref(), arms, otherwise.as_deref()),
            StatementKind::Loop { label, body } => self.repeat(label.as_deref(), None, body),
            StatementKind::While {
                label,
                condition,
                body,
            } => self.repeat(label.as_deref(), Some(condition), body),
            StatementKind::ForInteger { .. } => self.for_integer(kind),
            StatementKind::ForQuery {
                label,
                target,
                query,
                body,
            } => self.for_query(label.as_deref(), target, query, body),
            StatementKind::ForEach {
                label,
                target,
                slice,
                array,
                body,
            } => self.for_each(label.as_deref(), (target, *slice), array, body),
            StatementKind::Exit { label, condition } => {
                self.leave(label.as_deref(), condition.as_ref(), true)
            }
            StatementKind::Continue { label, condition } => {
                self.leave(label.as_deref(), condition.as_ref(), false)
            }
            StatementKind::Return(value) => self.returns(value.as_ref()),
            StatementKind::ReturnNext(value) => {
                let row = self.result_row(value.as_ref(), "RETURN NEXT")?;
                let types = row.iter().map(Expr::ty).collect();
                self.give(types, Action::ReturnNext(row));
                Ok(())
            }
            StatementKind::ReturnQuery(query) => {
                let planned = self.at.statement(&query.text)?;
                let types = planned.columns.iter().map(|column| column.ty).collect();
                let statement = match self.signature.is_open() {
                    true => planned.statement,
                    false => fitted(&self.at, planned, &self.signature.columns)?,
                };
                self.give(types, Action::ReturnQuery(statement));
                Ok(())
            }
            StatementKind::Raise(raise) => self.raise(raise),
            StatementKind::Assert { condition, message } => {
                self.assert(condition, message.as_ref())
            }
            StatementKind::Sql { statement, into } => self.sql(statement, into.as_ref()),
            StatementKind::Dynamic { sql, into } => self.dynamic(sql, into.as_ref()),
            StatementKind::ForDynamic {
                label,
                target,
                sql,
                body,
            } => self.for_dynamic(label.as_deref(), target, sql, body),
            StatementKind::ReturnDynamic(sql) => self.return_dynamic(sql),
            StatementKind::Perform(query) => self.perform(query),
            StatementKind::Call(text) => self.call(text),
            StatementKind::GetDiagnostics { stacked, items } => self.diagnostics(*stacked, items),
        }
    }

    /// Gives rows of these types. Until a caller says which columns he wants, a place that gives others than the first one is
    /// not reached: nobody calls the routine as it is then.
    fn give(&mut self, types: Vec<SqlType>, action: Action) {
        let open = self.signature.is_open();
        self.at.add(
            match open && *self.given.get_or_insert_with(|| types.clone()) != types {
                true => Action::Fail(Box::new(SqlError::unsupported(
                    "rows of other columns here",
                ))),
                false => action,
            },
        );
    }

    /// The end of the body.
    fn end(&mut self) -> SqlResult<()> {
        self.at.line = 0;
        let signature = self.signature;
        match signature.output {
            Output::Row if signature.of_parameters => {
                let row = row_of_parameters(signature, self.at.context.catalog)?;
                self.at.add(Action::Return(row));
            }
            Output::Row => {
                let message = match signature.trigger {
                    true => "control reached end of trigger procedure without RETURN",
                    false => "control reached end of function without RETURN",
                };
                self.fail(SqlState::NO_RETURN_STATEMENT, message);
            }
            Output::Rows | Output::Nothing => {}
        }
        Ok(())
    }

    /// COMMIT and ROLLBACK are for procedures.
    fn ends_transaction(&mut self, action: Action) -> SqlResult<()> {
        match self.signature.procedure {
            true => self.at.add(action),
            false => {
                let state = SqlState::INVALID_TRANSACTION_TERMINATION;
                self.fail(state, "invalid transaction termination");
            }
        }
        Ok(())
    }

    /// Adds a step that fails.
    fn fail(&mut self, state: SqlState, message: &str) {
        self.at.add(Action::Raise(Box::new(Raise {
            severity: Severity::Exception,
            state: RaiseState::Given(state),
            format: vec![message.to_string()],
            arguments: Vec::new(),
            options: Vec::new(),
        })));
    }
}
