//! Calls of routines: by a client, and inside expressions.
//!
//! Relies on: `matching`, `link`.  Promises: a function is called as often as PostgreSQL calls it: for each
//! row, and only where a condition lets it.  Does not: call functions that return sets or rows in
//! expressions: 0A000.
//!
//! | written | what is planned |
//! |---|---|
//! | `CALL p(…)`, `SELECT f(…)` by a client | the routine's own program |
//! | `SELECT * FROM f(…)` by a client | the same; columns may be renamed |
//! | `SELECT f(…) + 1, …` by a client | a routine made for it: calls, then a return |
//! | an expression without FROM in a routine | calls as steps before it |
//! | anywhere else, or under a condition | [`Expr::Routine`], [`quintet_ir::Plan::Call`] |
//!
//! A call that is a step takes no stack and waits where it is; one in an expression is part of its
//! statement, which is run whole.

use super::hold::hold;
use super::link::{Linker, program_of_record};
use super::matching::{Matched, is_routine, matched, named};
use super::signature::Signature;
use crate::command::{Command, Planned};
use crate::expr::Binder;
use crate::large_object::may_name_routine;
use crate::names::{self, inner, required};
use crate::output;
use crate::planner::{PlanContext, Planner};
use crate::rewrite::is_volatile;
use crate::row_value::{CALLED, Field, Row};
use crate::scope::Scope;
use crate::sets::sets_in_from;
use crate::tree::{node, string};
use pg_query::protobuf::{
    Alias, CallStmt, ColumnRef, FuncCall, LimitOption, List, Node, RangeFunction, ResTarget,
    SelectStmt, SetOperation, SubLink, SubLinkType, TypeCast, TypeName,
};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::limits::PARAMETERS_MAX;
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::routine::{Action, Callee, Into, Output, Slot, Step};
use quintet_ir::statement::{Body, OutputColumn, Procedure};
use quintet_ir::{Expr, Plan, Program, Routine, Statement};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Calls met while a statement or an expression is bound, and what becomes of them.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    form: Cell<Form>,
    found: RefCell<Vec<Called>>,
    /// How many conditions stand around the place at hand.
    conditions: Cell<usize>,
    /// An expression or a FROM item calls by itself.
    inline: Cell<bool>,
    /// Nothing may be called in what is bound now.
    refused: Cell<bool>,
    /// What is called so in a routine; its program must have it.
    unlinked: RefCell<Vec<RoutineId>>,
}

/// What becomes of a call.
#[derive(Clone, Copy, Default, Debug)]
enum Form {
    /// It is refused.
    #[default]
    None,
    /// A step before the expression; results go to slots from this one on.
    Step(usize),
    /// A part of the expression.
    Inline,
}

/// A call in an expression.
#[derive(Debug)]
pub(crate) struct Called {
    pub signature: Arc<Signature>,
    pub arguments: Vec<Expr>,
    /// Of what it gives: one slot each.
    pub types: Vec<SqlType>,
}

impl Calls {
    /// From here on calls become steps; results go to slots from this one on.
    pub fn open(&self, base: usize) {
        self.form.set(Form::Step(base));
        // Whatever was tried before comes to nothing.
        self.found.take();
        self.unlinked.take();
        self.inline.set(false);
    }

    /// Up to here. The calls, in order; `None` if one stands under a condition: then the expression must
    /// be planned as a query, and calls are parts of it from here on.
    pub fn close(&self) -> Option<Vec<Called>> {
        self.form.set(Form::Inline);
        let found = self.found.take();
        (!self.inline.get()).then_some(found)
    }

    /// What `make` binds may call nothing.
    pub fn refusing<T>(&self, make: impl FnOnce() -> T) -> T {
        let before = self.refused.replace(true);
        let made = make();
        self.refused.set(before);
        made
    }

    /// Whether a clause is one of an expression that a table keeps, made when the table is: before the routines' bodies can be.
    fn is_of_table(&self, clause: &str) -> bool {
        let of_table = match clause {
            "check constraints"
            | "index expressions"
            | "index predicates"
            | "column generation expressions" => true,
            "DEFAULT expressions" => matches!(self.form.get(), Form::None),
            _ => false,
        };
        of_table && !self.refused.get()
    }

    /// From here on calls are parts of expressions.
    pub fn allow(&self) {
        if let Form::None = self.form.get() {
            self.form.set(Form::Inline);
        }
    }

    /// True if some expression or FROM item calls by itself.
    pub fn has_inline(&self) -> bool {
        self.inline.get()
    }

    /// Gives what is called so to the program.
    pub fn link(&self, linker: &mut Linker) {
        for id in self.unlinked.take() {
            linker.number(id);
        }
    }

    /// One more call; the first slot of its results, when those of all begin at `base`.
    fn add(
        &self,
        base: usize,
        signature: Arc<Signature>,
        arguments: Vec<Expr>,
        types: Vec<SqlType>,
    ) -> usize {
        let mut found = self.found.borrow_mut();
        let before: usize = found.iter().map(|called| called.types.len()).sum();
        found.push(Called {
            signature,
            arguments,
            types,
        });
        base + before
    }

    /// What a planner inside has called is called here.
    pub fn take_over(&self, inside: &Calls) {
        self.inline.set(self.inline.get() || inside.inline.get());
        self.unlinked.borrow_mut().extend(inside.unlinked.take());
    }

    /// True where what is bound is evaluated only under a condition.
    pub fn is_conditional(&self) -> bool {
        self.conditions.get() > 0
    }

    /// Binds something that is evaluated only under a condition.
    pub fn under_condition<T>(&self, bind: impl FnOnce() -> T) -> T {
        self.conditions.set(self.conditions.get() + 1);
        let bound = bind();
        self.conditions.set(self.conditions.get() - 1);
        bound
    }
}

impl Binder<'_, '_> {
    /// Binds a call of a routine of the catalogue, if it is one.
    pub(crate) fn routine_call(&self, call: &FuncCall) -> SqlResult<Option<Expr>> {
        if !is_routine(self.planner, call) {
            return Ok(None);
        }
        let name = names::strings(&call.funcname).join(".");
        let refuse = |what: &str| {
            let what = format!("a call of {name}() {what}");
            Err(self.planner.unsupported(what, call.location))
        };
        let calls = &self.planner.calls;
        let form = calls.form.get();
        let of_table = calls.is_of_table(self.clause);
        if matches!(form, Form::None) && !of_table {
            return refuse(&format!("in {}", self.clause));
        }
        let Matched {
            signature,
            arguments,
        } = matched(self, call, false)?;
        let ty = match signature.columns.as_slice() {
            _ if signature.record => return refuse("whose record is one value"),
            // void
            [] => SqlType::Void,
            [column] if !signature.is_row => column.ty,
            _ if signature.output == Output::Rows => {
                return refuse("that returns a set of rows, among others");
            }
            _ => return self.row_as_value(call, &signature).map(Some),
        };
        if signature.output == Output::Rows {
            return refuse("that returns a set, among others");
        }
        if of_table {
            must_be_immutable(self.clause, &signature).map_err(self.planner.at(call.location))?;
            return Ok(Some(Expr::Routine {
                callee: Box::new(Callee {
                    id: signature.id,
                    name: signature.name.clone(),
                    program: None,
                    nothing: signature.nothing(),
                }),
                args: arguments,
                ty,
            }));
        }
        if let (Form::Step(base), 0) = (form, calls.conditions.get()) {
            let slot = calls.add(base, signature, arguments, vec![ty]);
            return Ok(Some(Expr::Param(slot, ty)));
        }
        Ok(Some(Expr::Routine {
            callee: Box::new(callee(self.planner, &signature)?),
            args: arguments,
            ty,
        }))
    }
}

impl Binder<'_, '_> {
    /// The row that a call gives as one value: of a step's results, or `(SELECT row FROM call AS row)`.
    fn row_as_value(&self, call: &FuncCall, signature: &Signature) -> SqlResult<Expr> {
        if let Some(row) = self.row_of_call(call)? {
            return self.record(row);
        }
        let name = |name: &str| {
            node(NodeEnum::ColumnRef(ColumnRef {
                fields: vec![string(name)],
                location: -1,
            }))
        };
        let value = match &signature.row {
            None => name(CALLED),
            Some(table) => node(NodeEnum::TypeCast(Box::new(TypeCast {
                arg: Some(Box::new(name(CALLED))),
                type_name: Some(TypeName {
                    names: vec![string(&table.schema), string(&table.name)],
                    typemod: -1,
                    location: -1,
                    ..Default::default()
                }),
                location: call.location,
            }))),
        };
        let call_node = node(NodeEnum::FuncCall(Box::new(call.clone())));
        let pair = vec![call_node, Node { node: None }];
        let source = RangeFunction {
            functions: vec![node(NodeEnum::List(List { items: pair }))],
            alias: Some(Alias {
                aliasname: CALLED.to_string(),
                colnames: Vec::new(),
            }),
            ..Default::default()
        };
        let select = SelectStmt {
            target_list: vec![node(NodeEnum::ResTarget(Box::new(ResTarget {
                val: Some(Box::new(value)),
                location: -1,
                ..Default::default()
            })))],
            from_clause: vec![node(NodeEnum::RangeFunction(source))],
            limit_option: LimitOption::Default as i32,
            op: SetOperation::SetopNone as i32,
            ..Default::default()
        };
        let query = node(NodeEnum::SubLink(Box::new(SubLink {
            sub_link_type: SubLinkType::ExprSublink as i32,
            subselect: Some(Box::new(node(NodeEnum::SelectStmt(Box::new(select))))),
            location: call.location,
            ..Default::default()
        })));
        self.bind(&query).map_err(|error| {
            // An aggregate would have to be computed outside of it.
            match error.state == SqlState::GROUPING_ERROR {
                true => {
                    let what = "a call over an aggregate whose row is one value";
                    self.planner.unsupported(what, call.location)
                }
                false => error,
            }
        })
    }

    /// The row that a call gives, where calls are steps; `None` if it gives none, or as one value.
    pub(crate) fn row_of_call(&self, call: &FuncCall) -> SqlResult<Option<Row>> {
        let calls = &self.planner.calls;
        let (Form::Step(base), 0) = (calls.form.get(), calls.conditions.get()) else {
            return Ok(None);
        };
        if !is_routine(self.planner, call) || !gives_row(self.planner, call)? {
            return Ok(None);
        }
        let Matched {
            signature,
            arguments,
        } = matched(self, call, false)?;
        let row_of = signature.row.as_ref().map(|table| table.id);
        let columns = signature.columns.clone();
        let types = columns.iter().map(|column| column.ty).collect();
        let first = calls.add(base, signature, arguments, types);
        let fields = columns.into_iter().enumerate();
        let fields = fields.map(|(number, column)| Field {
            name: column.name,
            expr: Expr::Param(first + number, column.ty),
            modifier: column.modifier,
        });
        Ok(Some(Row {
            fields: fields.collect(),
            table: row_of,
            missing: None,
            whole: None,
            if_any: true,
            of_relation: false,
        }))
    }
}

/// Whether the functions of a call's name give one row of several columns; those of one name that differ in
/// that are told apart by nobody.
fn gives_row(planner: &Planner, call: &FuncCall) -> SqlResult<bool> {
    let mut gives = false;
    for stored in named(planner, call) {
        let signature = stored.signature(planner.catalog())?;
        let row = signature.output == Output::Row && signature.is_row;
        if !row {
            return Ok(false);
        }
        gives = true;
    }
    Ok(gives)
}

/// A function as an expression or a FROM item calls it.
/// What is kept with a row must be the same whenever it is computed.
fn must_be_immutable(clause: &str, signature: &Signature) -> SqlResult<()> {
    let message = match clause {
        _ if signature.immutable => return Ok(()),
        "index expressions" => "functions in index expression must be marked IMMUTABLE",
        "index predicates" => "functions in index predicate must be marked IMMUTABLE",
        "column generation expressions" => "generation expression is not immutable",
        _ => return Ok(()),
    };
    Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message))
}

pub(crate) fn callee(planner: &Planner, signature: &Signature) -> SqlResult<Callee> {
    planner.calls.inline.set(true);
    let program = match planner.variables {
        Some(_) => {
            planner.calls.unlinked.borrow_mut().push(signature.id);
            None
        }
        None => Some(program_of(planner, signature)?),
    };
    Ok(Callee {
        id: signature.id,
        name: signature.name.clone(),
        program,
        nothing: signature.nothing(),
    })
}

/// A function that returns record, whose columns its caller says.
pub(crate) fn callee_of_record(
    planner: &Planner,
    signature: &Signature,
    columns: Vec<OutputColumn>,
) -> SqlResult<Callee> {
    if planner.variables.is_some() {
        // Its program would have to be part of one that may call it with other columns.
        let what = "a column definition list inside a routine";
        return Err(SqlError::unsupported(what));
    }
    planner.calls.inline.set(true);
    let program = program_of_record(signature.id, columns, planner.context)?;
    Ok(Callee {
        id: signature.id,
        name: signature.name.clone(),
        program: Some(Arc::new(program)),
        nothing: Value::Null,
    })
}

fn program_of(planner: &Planner, signature: &Signature) -> SqlResult<Arc<Program>> {
    program_called(planner, signature.id)
}

/// The program of a function that something in the catalogue names by its number.
///
/// # Errors
/// What its body says.
fn program_called(planner: &Planner, id: RoutineId) -> SqlResult<Arc<Program>> {
    let gone = || SqlError::internal("a routine that was found is not in the catalogue");
    let stored = planner.catalog().routine(id);
    let path = planner.path();
    stored
        .ok_or_else(gone)?
        .program_within(planner.catalog(), path, planner.context.dynamic)
}

/// The program of a function that an expression of a table calls, for the session whose statement writes a row.
///
/// # Errors
/// What its body says.
pub fn program(context: &PlanContext, id: RoutineId) -> SqlResult<Arc<Program>> {
    program_called(&Planner::new(context, "", &[]), id)
}

/// Calls with the first slots of their results, in the order in which they are made: as they are written,
/// except that what is STABLE or IMMUTABLE, and needs no result of what may write, comes before what may. So it sees
/// the state in which its statement began.
pub(crate) fn in_order(calls: Vec<Called>, first: usize) -> Vec<(Called, usize)> {
    let (mut early, mut late) = (Vec::new(), Vec::new());
    let mut late_slots = Vec::new();
    let mut next = first;
    for called in calls {
        let slot = next;
        next += called.types.len();
        let mut depends = false;
        for argument in &called.arguments {
            depends |= names_any(argument, &late_slots);
        }
        if called.signature.may_write || depends {
            late_slots.extend(slot..next);
            late.push((called, slot));
        } else {
            early.push((called, slot));
        }
    }
    early.append(&mut late);
    early
}

/// Whether an expression names one of some slots.
pub(crate) fn names_any(expr: &Expr, slots: &[usize]) -> bool {
    let mut names = matches!(expr, Expr::Param(slot, _) if slots.contains(slot));
    expr.for_each_part(&mut |part| names = names || names_any(part, slots));
    names
}

/// The step that makes a call, its results going to slots from one on.
pub(crate) fn call_step(called: Called, slot: usize, line: u32, linker: &mut Linker) -> Step {
    let targets = match called.signature.columns.is_empty() {
        true => vec![(slot, Expr::Const(called.signature.nothing(), SqlType::Void))],
        false => {
            let types = called.types.iter().enumerate();
            types
                .map(|(number, ty)| (slot + number, Expr::Column(number, *ty)))
                .collect()
        }
    };
    Step {
        line,
        needs: None,
        action: Action::Call {
            routine: linker.number(called.signature.id),
            arguments: called.arguments,
            into: Into {
                targets,
                strict: false,
                silent: true,
            },
        },
    }
}

/// CALL.
pub(crate) fn plan_call(planner: &Planner, statement: &CallStmt) -> SqlResult<Planned> {
    let call = required(statement.funccall.as_deref())?;
    let scope = Scope::empty();
    planner.calls.allow();
    let found = matched(&Binder::new(planner, &scope, "CALL arguments"), call, true)?;
    let columns = found.signature.columns.clone();
    if planner.calls.has_inline() {
        return plan_call_of_calls(planner, found, columns);
    }
    planned(planner, found, columns, "CALL")
}

/// CALL with functions among its arguments: a query gives the arguments.
fn plan_call_of_calls(
    planner: &Planner,
    found: Matched,
    columns: Vec<OutputColumn>,
) -> SqlResult<Planned> {
    let params = planner.finish_params()?;
    let mut slots: Vec<Slot> = params.iter().map(|ty| Slot::hidden(*ty)).collect();
    let mut linker = Linker::behind(1);
    let (query, arguments) = arguments_first(found.arguments, &mut |ty| {
        slots.push(Slot::hidden(ty));
        slots.len() - 1
    });
    let mut targets = Vec::with_capacity(columns.len());
    for (number, column) in columns.iter().enumerate() {
        targets.push((slots.len(), Expr::Column(number, column.ty)));
        slots.push(Slot::hidden(column.ty));
    }
    let row = targets.iter().zip(&columns);
    let row: Vec<Expr> = row
        .map(|((slot, _), column)| Expr::Param(*slot, column.ty))
        .collect();
    let call = Action::Call {
        routine: linker.number(found.signature.id),
        arguments,
        into: Into {
            targets,
            ..Into::default()
        },
    };
    let output = match columns.is_empty() {
        true => Output::Nothing,
        false => Output::Row,
    };
    let actions = [query, call, Action::Return(row)];
    let own = Routine {
        name: "CALL".to_string(),
        slots,
        arguments: params.len(),
        strict: false,
        guise: None,
        found: None,
        body: actions
            .map(|action| Step {
                line: 0,
                action,
                needs: None,
            })
            .into(),
        output,
    };
    let body = wrapped(&params, linker.finish(vec![own], planner.context)?);
    finish(planner, params, body, columns, "CALL")
}

/// A step that evaluates arguments which call functions, and where it puts them.
pub(crate) fn arguments_first(
    arguments: Vec<Expr>,
    slot: &mut dyn FnMut(SqlType) -> usize,
) -> (Action, Vec<Expr>) {
    let types: Vec<SqlType> = arguments.iter().map(Expr::ty).collect();
    let places: Vec<(usize, SqlType)> = types.iter().map(|ty| (slot(*ty), *ty)).collect();
    let targets = places.iter().enumerate();
    let into = Into {
        targets: targets
            .map(|(number, (slot, ty))| (*slot, Expr::Column(number, *ty)))
            .collect(),
        strict: false,
        silent: true,
    };
    let rows = Plan::Values {
        rows: vec![arguments],
        types,
    };
    let statement = hold(Statement::Query(rows));
    let places = places.into_iter();
    let arguments = places.map(|(slot, ty)| Expr::Param(slot, ty)).collect();
    (Action::Run { statement, into }, arguments)
}

/// A SELECT that calls routines; `None` if it is an ordinary one.
pub(crate) fn plan_select_of_routine(
    planner: &Planner,
    select: &SelectStmt,
) -> SqlResult<Option<Planned>> {
    let may_call = planner.catalog().has_routines() || may_name_routine(planner.source());
    if !may_call || planner.variables.is_some() || !is_bare(select) {
        return Ok(None);
    }
    let scope = Scope::empty();
    match select.from_clause.as_slice() {
        [] => {}
        [item] => return plan_from_routine(planner, select, item),
        _ => return Ok(None),
    }
    if has_subquery(select) || !calls_routine(planner, select) {
        return Ok(None);
    }
    let alone = match select.target_list.as_slice() {
        [target] => match inner(target) {
            Some(NodeEnum::ResTarget(target)) => match target.val.as_deref().and_then(inner) {
                Some(NodeEnum::FuncCall(call)) if is_routine(planner, call) => Some((target, call)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    if alone.is_none() && sets_in_from(planner, select)?.is_some() {
        return Ok(None);
    }
    if let Some((target, call)) = alone {
        planner.calls.allow();
        let found = matched(&Binder::new(planner, &scope, "SELECT"), call, false)?;
        if found.signature.columns.len() == 1 && !planner.calls.has_inline() {
            let mut columns = found.signature.columns.clone();
            columns[0].name = found.signature.name.clone();
            if !target.name.is_empty() {
                columns[0].name = target.name.clone();
            }
            return planned(planner, found, columns, "SELECT").map(Some);
        }
        if found.signature.output == Output::Rows {
            return Ok(None);
        }
    }
    plan_wrapped(planner, select)
}

/// A SELECT of expressions in which routines are called; `None` if one is called under a condition.
fn plan_wrapped(planner: &Planner, select: &SelectStmt) -> SqlResult<Option<Planned>> {
    // Where the parameters end is known when all are.
    planner.calls.open(PARAMETERS_MAX);
    let scope = Scope::empty();
    let binder = Binder::new(planner, &scope, "SELECT");
    let mut targets = output::bind_targets(&binder, &select.target_list)?;
    output::settle(planner, &mut targets, None)?;
    let Some(calls) = planner.calls.close() else {
        return Ok(None);
    };
    let params = planner.finish_params()?;
    let count = params.len();
    let moved = |mut expr: Expr| {
        shift(&mut expr, count);
        expr
    };
    let outputs: Vec<_> = targets
        .iter()
        .map(|target| output::describe(&scope, target))
        .collect();
    let columns = output::publish(outputs);
    let mut slots: Vec<Slot> = params.iter().map(|ty| Slot::hidden(*ty)).collect();
    let mut linker = Linker::behind(1);
    let mut body = Vec::new();
    let types = calls.iter().flat_map(|called| &called.types);
    slots.extend(types.map(|ty| Slot::hidden(*ty)));
    let calls = calls.into_iter().map(|called| Called {
        arguments: called.arguments.into_iter().map(moved).collect(),
        ..called
    });
    for (called, slot) in in_order(calls.collect(), count) {
        body.push(call_step(called, slot, 0, &mut linker));
    }
    let mut row: Vec<Expr> = targets
        .into_iter()
        .map(|target| moved(target.expr))
        .collect();
    // What needs no call is computed first: where that fails nothing has been called yet, as in
    // PostgreSQL, which computes constants when it plans.
    let mut steps = Vec::new();
    for expr in row.iter_mut().filter(|expr| needs_no_call(expr, count)) {
        let (slot, ty) = (slots.len(), expr.ty());
        slots.push(Slot::hidden(ty));
        let value = std::mem::replace(expr, Expr::Param(slot, ty));
        let action = Action::Assign { slot, value };
        steps.push(Step {
            line: 0,
            action,
            needs: None,
        });
    }
    steps.extend(body);
    let action = Action::Return(row);
    steps.push(Step {
        line: 0,
        action,
        needs: None,
    });
    let own = Routine {
        name: String::new(),
        slots,
        arguments: count,
        strict: false,
        guise: None,
        found: None,
        body: steps,
        output: Output::Row,
    };
    let body = wrapped(&params, linker.finish(vec![own], planner.context)?);
    finish(planner, params, body, columns, "SELECT").map(Some)
}

/// A program whose first routine was made for a statement with these parameters.
fn wrapped(params: &[SqlType], program: Program) -> Body {
    let arguments = params.iter().enumerate();
    Body::Call {
        program: Arc::new(program),
        arguments: arguments.map(|(n, ty)| Expr::Param(n, *ty)).collect(),
    }
}

/// True for an expression of more than one part over constants and parameters, of which there are so
/// many.
fn needs_no_call(expr: &Expr, count: usize) -> bool {
    fn is_plain(expr: &Expr, count: usize) -> bool {
        let mut plain = !matches!(expr, Expr::Param(place, _) if *place >= count);
        expr.for_each_part(&mut |part| plain = plain && is_plain(part, count));
        plain
    }
    !matches!(expr, Expr::Const(..) | Expr::Param(..))
        && is_plain(expr, count)
        && !is_volatile(expr)
}

/// Results of calls come right behind the parameters.
fn shift(expr: &mut Expr, count: usize) {
    if let Expr::Param(place, _) = expr
        && *place >= PARAMETERS_MAX
    {
        *place = *place - PARAMETERS_MAX + count;
    }
    expr.for_each_part_mut(&mut |part| shift(part, count));
}

/// `SELECT * FROM f(…) [AS name (columns)]`; `None` if it is more than that.
fn plan_from_routine(
    planner: &Planner,
    select: &SelectStmt,
    item: &Node,
) -> SqlResult<Option<Planned>> {
    let Some(NodeEnum::RangeFunction(function)) = inner(item) else {
        return Ok(None);
    };
    let [single] = function.functions.as_slice() else {
        return Ok(None);
    };
    let node = names::list(single)
        .and_then(<[Node]>::first)
        .unwrap_or(single);
    let call = match inner(node) {
        Some(NodeEnum::FuncCall(call)) if is_routine(planner, call) => call,
        _ => return Ok(None),
    };
    let is_star = match select.target_list.as_slice() {
        [target] => match inner(target) {
            Some(NodeEnum::ResTarget(target)) => match target.val.as_deref().and_then(inner) {
                Some(NodeEnum::ColumnRef(column)) => {
                    matches!(
                        column.fields.last().and_then(inner),
                        Some(NodeEnum::AStar(_))
                    )
                }
                _ => false,
            },
            _ => false,
        },
        _ => false,
    };
    if !is_star || function.ordinality || !function.coldeflist.is_empty() {
        return Ok(None);
    }
    let scope = Scope::empty();
    planner.calls.allow();
    let found = matched(
        &Binder::new(planner, &scope, "functions in FROM"),
        call,
        false,
    )?;
    let mut columns = found.signature.columns.clone();
    if columns.is_empty() || found.signature.record || planner.calls.has_inline() {
        return Ok(None);
    }
    if let Some(alias) = &function.alias {
        if alias.colnames.len() > columns.len() {
            return Ok(None);
        }
        if let [column] = columns.as_mut_slice()
            && !found.signature.of_parameters
        {
            column.name = alias.aliasname.clone();
        }
        for (column, name) in columns.iter_mut().zip(names::strings(&alias.colnames)) {
            column.name = name.to_string();
        }
    }
    planned(planner, found, columns, "SELECT").map(Some)
}

/// A command that calls a routine.
fn planned(
    planner: &Planner,
    found: Matched,
    columns: Vec<OutputColumn>,
    tag: &'static str,
) -> SqlResult<Planned> {
    let body = Body::Call {
        program: program_of(planner, &found.signature)?,
        arguments: found.arguments,
    };
    finish(planner, planner.finish_params()?, body, columns, tag)
}

fn finish(
    planner: &Planner,
    params: Vec<SqlType>,
    body: Body,
    columns: Vec<OutputColumn>,
    tag: &'static str,
) -> SqlResult<Planned> {
    let procedure = Procedure {
        params: params.clone(),
        body,
        result: columns.clone(),
    };
    Ok(Planned {
        command: Command::Run(Arc::new(procedure)),
        params,
        columns,
        tag,
        notices: planner.notices.take(),
        needs: crate::planner::no_needs(),
    })
}

/// A SELECT of nothing but targets and FROM.
pub(crate) fn is_bare(select: &SelectStmt) -> bool {
    select.op() == SetOperation::SetopNone
        && select.larg.is_none()
        && select.values_lists.is_empty()
        && select.with_clause.is_none()
        && select.distinct_clause.is_empty()
        && select.where_clause.is_none()
        && select.group_clause.is_empty()
        && select.having_clause.is_none()
        && select.window_clause.is_empty()
        && select.sort_clause.is_empty()
        && select.limit_offset.is_none()
        && select.limit_count.is_none()
        && select.locking_clause.is_empty()
        && select.into_clause.is_none()
}

/// Whether a subquery stands somewhere in a SELECT.
pub(crate) fn has_subquery(select: &SelectStmt) -> bool {
    let node = NodeEnum::SelectStmt(Box::new(select.clone()));
    any_node(&node, &|node| matches!(node, NodeRef::SubLink(_)))
}

fn calls_routine(planner: &Planner, select: &SelectStmt) -> bool {
    let node = NodeEnum::SelectStmt(Box::new(select.clone()));
    any_node(&node, &|node| match node {
        NodeRef::FuncCall(call) => is_routine(planner, call),
        _ => false,
    })
}

/// Whether some node of a tree is such.
pub(crate) fn any_node(node: &NodeEnum, is_such: &dyn Fn(&NodeRef) -> bool) -> bool {
    node.nodes().iter().any(|(node, ..)| {
        is_such(node)
            || passed_over(node)
                .into_iter()
                .filter_map(inner)
                .any(|inside| any_node(inside, is_such))
    })
}

/// The parts of a node that the parser's own walk does not go into.
fn passed_over<'n>(node: &NodeRef<'n>) -> Vec<&'n Node> {
    let mut lists: Vec<&[Node]> = Vec::new();
    let mut single: Vec<&Option<Box<Node>>> = Vec::new();
    let mut returned = None;
    match *node {
        NodeRef::SelectStmt(select) => {
            lists.extend([&select.values_lists[..], &select.distinct_clause]);
            single.extend([&select.limit_count, &select.limit_offset]);
        }
        NodeRef::InsertStmt(change) => returned = change.returning_clause.as_ref(),
        NodeRef::UpdateStmt(change) => returned = change.returning_clause.as_ref(),
        NodeRef::DeleteStmt(change) => returned = change.returning_clause.as_ref(),
        NodeRef::MergeWhenClause(clause) => {
            lists.extend([&clause.target_list[..], &clause.values]);
            single.push(&clause.condition);
        }
        NodeRef::OnConflictClause(clause) => {
            lists.push(&clause.target_list);
            single.push(&clause.where_clause);
        }
        NodeRef::AIndirection(part) => {
            lists.push(&part.indirection);
            single.push(&part.arg);
        }
        NodeRef::AIndices(part) => single.extend([&part.lidx, &part.uidx]),
        NodeRef::AArrayExpr(array) => lists.push(&array.elements),
        NodeRef::CaseExpr(case) => single.push(&case.arg),
        NodeRef::CollateClause(collated) => single.push(&collated.arg),
        NodeRef::FuncCall(call) => {
            lists.push(&call.agg_order);
            single.push(&call.agg_filter);
            if let Some(over) = &call.over {
                lists.extend([&over.partition_clause[..], &over.order_clause]);
            }
        }
        NodeRef::MultiAssignRef(part) => single.push(&part.source),
        NodeRef::NamedArgExpr(named) => single.push(&named.arg),
        NodeRef::SubLink(link) => single.push(&link.testexpr),
        _ => {}
    }
    lists.extend(returned.map(|clause| &clause.exprs[..]));
    let single = single.into_iter().filter_map(|part| part.as_deref());
    lists.into_iter().flatten().chain(single).collect()
}
