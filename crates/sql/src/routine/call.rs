//! Calls of routines: by a client, and inside expressions.
//!
//! Relies on: `matching`, `link`.  Promises: a function in an expression is called before the expression is
//! evaluated, from left to right, once.  Does not: call a function for each row of a query, or only under a
//! condition (CASE, COALESCE): 0A000.
//!
//! | a client writes | what is planned |
//! |---|---|
//! | `CALL p(…)`, `SELECT f(…)` | the routine's own program |
//! | `SELECT * FROM f(…)` | the same; columns may be renamed |
//! | `SELECT f(…) + 1, …` | a routine made for it: calls, then a return |

use super::link::Linker;
use super::matching::{Matched, is_routine, matched};
use super::signature::Signature;
use crate::command::{Command, Planned};
use crate::expr::Binder;
use crate::names::{self, inner, required};
use crate::output;
use crate::planner::Planner;
use crate::scope::Scope;
use pg_query::NodeEnum;
use pg_query::protobuf::{CallStmt, FuncCall, Node, SelectStmt, SetOperation};
use quintet_base::limits::PARAMETERS_MAX;
use quintet_base::{SqlError, SqlResult, SqlType, TypeMod};
use quintet_ir::routine::{Action, Into, Output, Slot, Step};
use quintet_ir::statement::{Body, OutputColumn, Procedure};
use quintet_ir::{Expr, Program, Routine};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Calls met while an expression is bound, where that may be. Their results are slots behind those that
/// there are.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    base: Cell<Option<usize>>,
    found: RefCell<Vec<Called>>,
    /// How many conditions stand around the place at hand.
    conditions: Cell<usize>,
}

/// A call in an expression.
#[derive(Debug)]
pub(crate) struct Called {
    pub signature: Arc<Signature>,
    pub arguments: Vec<Expr>,
    /// Of its result.
    pub ty: SqlType,
}

impl Calls {
    /// From here on routines may be called; results go to slots from this one on.
    pub fn open(&self, base: usize) {
        self.base.set(Some(base));
    }

    /// Up to here. The calls, in order.
    pub fn close(&self) -> Vec<Called> {
        self.base.set(None);
        self.found.take()
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
        let Some(base) = calls.base.get() else {
            return refuse("for each row, or in a statement with FROM");
        };
        if calls.conditions.get() > 0 {
            return refuse("under a condition (CASE, COALESCE)");
        }
        let Matched {
            signature,
            arguments,
        } = matched(self, call, false)?;
        let ty = match signature.columns.as_slice() {
            // void
            [] => SqlType::Void,
            [column] => column.ty,
            _ => return refuse("whose row is one value"),
        };
        if signature.output == Output::Rows {
            return refuse("that returns a set, among others");
        }
        let mut found = calls.found.borrow_mut();
        found.push(Called {
            signature,
            arguments,
            ty,
        });
        Ok(Some(Expr::Param(base + found.len() - 1, ty)))
    }
}

/// The step that makes a call, its result going to a slot.
pub(crate) fn call_step(called: Called, slot: usize, line: u32, linker: &mut Linker) -> Step {
    let value = match called.signature.columns.is_empty() {
        true => Expr::Const(called.signature.nothing(), SqlType::Void),
        false => Expr::Column(0, called.ty),
    };
    Step {
        line,
        action: Action::Call {
            routine: linker.number(called.signature.id),
            arguments: called.arguments,
            into: Into {
                targets: vec![(slot, value)],
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
    let found = matched(&Binder::new(planner, &scope, "CALL arguments"), call, true)?;
    let columns = found.signature.columns.clone();
    planned(planner, found, columns, "CALL")
}

/// A SELECT that calls routines; `None` if it is an ordinary one.
pub(crate) fn plan_select_of_routine(
    planner: &Planner,
    select: &SelectStmt,
) -> SqlResult<Option<Planned>> {
    if !planner.catalog().has_routines() || planner.variables.is_some() || !is_bare(select) {
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
    if let [target] = select.target_list.as_slice()
        && let Some(NodeEnum::ResTarget(target)) = inner(target)
        && let Some(NodeEnum::FuncCall(call)) = target.val.as_deref().and_then(inner)
        && is_routine(planner, call)
    {
        let found = matched(&Binder::new(planner, &scope, "SELECT"), call, false)?;
        if found.signature.columns.len() == 1 {
            let mut columns = found.signature.columns.clone();
            columns[0].name = found.signature.name.clone();
            if !target.name.is_empty() {
                columns[0].name = target.name.clone();
            }
            return planned(planner, found, columns, "SELECT").map(Some);
        }
    }
    plan_wrapped(planner, select).map(Some)
}

/// A SELECT of expressions in which routines are called.
fn plan_wrapped(planner: &Planner, select: &SelectStmt) -> SqlResult<Planned> {
    // Where the parameters end is known when all are.
    planner.calls.open(PARAMETERS_MAX);
    let scope = Scope::empty();
    let binder = Binder::new(planner, &scope, "SELECT");
    let mut targets = output::bind_targets(&binder, &select.target_list)?;
    output::settle(planner, &mut targets, None)?;
    let calls = planner.calls.close();
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
    for mut called in calls {
        called.arguments = called.arguments.into_iter().map(moved).collect();
        let slot = slots.len();
        slots.push(Slot::hidden(called.ty));
        body.push(call_step(called, slot, 0, &mut linker));
    }
    let row = targets.into_iter().map(|target| moved(target.expr));
    body.push(Step {
        line: 0,
        action: Action::Return(row.collect()),
    });
    let mut routines = vec![Routine {
        name: "SELECT".to_string(),
        slots,
        arguments: count,
        strict: false,
        found: None,
        body,
        output: Output::Row,
    }];
    routines.extend(linker.finish(planner.context)?);
    let arguments = params.iter().enumerate();
    let body = Body::Call {
        program: Arc::new(Program::new(routines)),
        arguments: arguments.map(|(n, ty)| Expr::Param(n, *ty)).collect(),
    };
    finish(planner, params, body, columns, "SELECT")
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

/// `SELECT * FROM f(…) [AS name (columns)]`.
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
        let what = "anything but SELECT * FROM a routine";
        return Err(planner.unsupported(what, call.location));
    }
    let scope = Scope::empty();
    let found = matched(
        &Binder::new(planner, &scope, "functions in FROM"),
        call,
        false,
    )?;
    let mut columns = found.signature.columns.clone();
    if let Some(alias) = &function.alias {
        if let [column] = columns.as_mut_slice()
            && !found.signature.of_parameters
        {
            column.name = alias.aliasname.clone();
        }
        for (column, name) in columns.iter_mut().zip(names::strings(&alias.colnames)) {
            column.name = name.to_string();
        }
    }
    if columns.is_empty() {
        columns.push(OutputColumn {
            name: found.signature.name.clone(),
            ty: SqlType::Text,
            modifier: TypeMod::NONE,
            origin: None,
        });
        return Err(planner.unsupported("SELECT FROM a function that returns void", call.location));
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
    let gone = || SqlError::internal("a routine that was found is not in the catalogue");
    let stored = planner.catalog().routine(found.signature.id);
    let program = stored.ok_or_else(gone)?.program(planner.catalog())?;
    let body = Body::Call {
        program: Arc::clone(program),
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
    let found = node.nodes();
    found
        .iter()
        .any(|(node, ..)| matches!(node, pg_query::NodeRef::SubLink(_)))
}

fn calls_routine(planner: &Planner, select: &SelectStmt) -> bool {
    let node = NodeEnum::SelectStmt(Box::new(select.clone()));
    let found = node.nodes();
    found.iter().any(|(node, ..)| match node {
        pg_query::NodeRef::FuncCall(call) => is_routine(planner, call),
        _ => false,
    })
}
