//! `SELECT pg_advisory_lock(…)` and its kin, and `pg_sleep`: calls that may wait.
//!
//! Relies on: the binder for the arguments.  Promises: a SELECT of these, of casts of them, of constants and
//! parameters is a command for the session, which may wait, and so is one FROM such a call. Beside FROM, WHERE or WITH a query
//! gives the arguments, and the rest of the list: all its rows are there before the first call. Elsewhere they are functions
//! that are not there.  Does not: lock anything; group or sort by what a call gives.

use crate::coerce;
use crate::command::{Advisory, AdvisoryCall, Command, Planned};
use crate::expr::Binder;
use crate::names::{self, inner};
use crate::output::{output_name, publish};
use crate::parse;
use crate::planner::Planner;
use crate::routine::any_node;
use crate::scope::Scope;
use crate::select::plan_query;
use crate::tree::node;
use crate::types;
use pg_query::protobuf::{FuncCall, Node, ResTarget, SelectStmt, SetOperation, TypeName};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlResult, SqlState, SqlType, TypeMod};
use quintet_ir::cast::CastContext;
use quintet_ir::statement::OutputColumn;
use quintet_ir::{Expr, Statement};
use std::cell::RefCell;
use std::sync::Arc;

/// What a name means: what is done, shared, for the transaction.
fn meaning(name: &str) -> Option<(Advisory, bool, bool)> {
    use Advisory::{Lock, Sleep, Try, Unlock, UnlockAll};
    let (name, shared) = match name.strip_suffix("_shared") {
        Some(name) => (name, true),
        None => (name, false),
    };
    Some(match name {
        "pg_advisory_lock" => (Lock, shared, false),
        "pg_advisory_xact_lock" => (Lock, shared, true),
        "pg_try_advisory_lock" => (Try, shared, false),
        "pg_try_advisory_xact_lock" => (Try, shared, true),
        "pg_advisory_unlock" => (Unlock, shared, false),
        "pg_sleep" if !shared => (Sleep, false, false),
        "pg_advisory_unlock_all" if !shared => (UnlockAll, false, false),
        _ => return None,
    })
}

/// A call as it is written, and its place among the calls.
struct Calls<'p, 'a> {
    planner: &'p Planner<'a>,
    found: RefCell<Vec<(AdvisoryCall, SqlType)>>,
}

impl Calls<'_, '_> {
    /// The result of a call, which is one more.
    fn call(&self, call: &FuncCall) -> SqlResult<Option<Expr>> {
        let Some((what, ..)) = name_of(call).and_then(meaning) else {
            return Ok(None);
        };
        let ty = match (what, call.args.len()) {
            (Advisory::Sleep, 1) => SqlType::Float8,
            (Advisory::UnlockAll, 0) | (_, 1) => SqlType::Int8,
            (_, 2) => SqlType::Int4,
            // Whoever looks for such a function says what there is.
            _ => return Ok(None),
        };
        let scope = Scope::empty();
        let binder = Binder::new(self.planner, &scope, "SELECT");
        let arguments = call.args.iter().map(|argument| {
            let bound = binder.bind(argument)?;
            coerce::convert(self.planner, bound, ty, CastContext::Implicit)
        });
        let Some(arguments) = taken(arguments.collect())? else {
            return Ok(None);
        };
        let Some((call, result)) = called_with(call, arguments) else {
            return Ok(None);
        };
        let mut found = self.found.borrow_mut();
        found.push((call, result));
        Ok(Some(Expr::Column(found.len() - 1, result)))
    }

    /// What a select list's item says: a call, a cast of one, or something that calls none.
    fn item(&self, node: &Node) -> SqlResult<Option<Expr>> {
        match inner(node) {
            Some(NodeEnum::FuncCall(call)) if name_of(call).and_then(meaning).is_some() => {
                self.call(call)
            }
            Some(NodeEnum::TypeCast(cast)) => {
                let (Some(arg), Some(name)) = (cast.arg.as_deref(), &cast.type_name) else {
                    return Ok(None);
                };
                let Some(value) = self.item(arg)? else {
                    return Ok(None);
                };
                cast_call(self.planner, value, name).map(Some)
            }
            Some(NodeEnum::AConst(_) | NodeEnum::ParamRef(_)) => {
                let scope = Scope::empty();
                let bound = Binder::new(self.planner, &scope, "SELECT").bind(node)?;
                coerce::settle(self.planner, bound).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// What a call is given; `None` if it takes no such thing: whoever looks for the function says so.
fn taken<T>(converted: SqlResult<T>) -> SqlResult<Option<T>> {
    match converted {
        Err(error) if error.state == SqlState::CANNOT_COERCE => Ok(None),
        other => other.map(Some),
    }
}

/// Plans it; `None` if the statement is another.
pub(crate) fn plan_advisory(planner: &Planner, select: &SelectStmt) -> SqlResult<Option<Planned>> {
    let bare = SelectStmt {
        target_list: select.target_list.clone(),
        from_clause: select.from_clause.clone(),
        limit_option: select.limit_option,
        op: select.op,
        ..SelectStmt::default()
    };
    if *select != bare {
        return plan_over_rows(planner, select);
    }
    if !select
        .target_list
        .iter()
        .chain(&select.from_clause)
        .any(says_call)
    {
        return Ok(None);
    }
    if select.from_clause.iter().all(|node| source(node).is_none())
        && !select.from_clause.is_empty()
    {
        return plan_over_rows(planner, select);
    }
    let calls = Calls {
        planner,
        found: RefCell::default(),
    };
    let from = match select.from_clause.as_slice() {
        [] => None,
        [node] => match source(node) {
            Some((call, name)) => match calls.call(call)? {
                Some(result) => Some((result, name)),
                None => return plan_over_rows(planner, select),
            },
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let (mut row, mut columns) = (Vec::new(), Vec::new());
    for target in &select.target_list {
        let Some(NodeEnum::ResTarget(target)) = inner(target) else {
            return Ok(None);
        };
        let Some(value) = target.val.as_deref() else {
            return Ok(None);
        };
        let (expr, name) = match (&from, inner(value)) {
            (Some((result, name)), Some(NodeEnum::ColumnRef(column))) => {
                let parts = names::strings(&column.fields);
                let is_star = parts.is_empty() && column.fields.len() == 1;
                if !is_star && parts != [name.as_str()] {
                    return Ok(None);
                }
                (Some(result.clone()), name.clone())
            }
            _ => (calls.item(value)?, output_name(target)),
        };
        let Some(expr) = expr else {
            return plan_over_rows(planner, select);
        };
        columns.push(OutputColumn {
            name,
            ty: expr.ty(),
            modifier: TypeMod::NONE,
            origin: None,
        });
        row.push(expr);
    }
    let params = planner.finish_params()?;
    let calls = calls.found.into_inner().into_iter().map(|(call, _)| call);
    let command = Command::Advisory {
        source: None,
        calls: calls.collect(),
        row,
    };
    Ok(Some(Planned {
        columns,
        params,
        ..planner.command(command, "SELECT")
    }))
}

/// Whether a statement is a SELECT of nothing but calls, or casts of them, so that it has one row; none has a query in its arguments.
pub(crate) fn is_of_calls(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    if !lower.contains("pg_sleep") && !lower.contains("advisory") {
        return false;
    }
    let Ok(mut parsed) = parse::parse(text) else {
        return false;
    };
    let Some(statement @ NodeEnum::SelectStmt(select)) =
        &parsed.pop().and_then(parse::Parsed::into_node)
    else {
        return false;
    };
    let bare = SelectStmt {
        target_list: select.target_list.clone(),
        limit_option: select.limit_option,
        op: select.op,
        ..SelectStmt::default()
    };
    let is_call = |target: &Node| match inner(target) {
        Some(NodeEnum::ResTarget(target)) => target.val.as_deref().is_some_and(|value| {
            item(value).is_some_and(|item| !item.call.args.iter().any(says_call))
        }),
        _ => false,
    };
    let has_query = |node: &NodeRef| matches!(node, NodeRef::SubLink(_));
    parsed.is_empty()
        && **select == bare
        && !select.target_list.is_empty()
        && select.target_list.iter().all(is_call)
        && !any_node(statement, &has_query)
}

/// An item of a select list that is a call, or a cast of one.
struct Item<'n> {
    call: &'n FuncCall,
    /// From the outside in.
    casts: Vec<&'n TypeName>,
}

fn item(node: &Node) -> Option<Item<'_>> {
    match inner(node)? {
        NodeEnum::FuncCall(call) => name_of(call).and_then(meaning).map(|_| Item {
            call,
            casts: Vec::new(),
        }),
        NodeEnum::TypeCast(cast) => {
            let mut item = item(cast.arg.as_deref()?)?;
            item.casts.insert(0, cast.type_name.as_ref()?);
            Some(item)
        }
        _ => None,
    }
}

/// Plans calls for each row of a query; `None` if the statement is another.
fn plan_over_rows(planner: &Planner, select: &SelectStmt) -> SqlResult<Option<Planned>> {
    let mut targets = Vec::with_capacity(select.target_list.len());
    for node in &select.target_list {
        let Some(NodeEnum::ResTarget(target)) = inner(node) else {
            return Ok(None);
        };
        let Some(value) = target.val.as_deref() else {
            return Ok(None);
        };
        targets.push((node, &**target, item(value)));
    }
    let of_calls: Vec<&Item> = targets
        .iter()
        .filter_map(|(.., item)| item.as_ref())
        .collect();
    if of_calls.is_empty() || !is_by_rows(select, &targets) {
        return Ok(None);
    }
    // The query: arguments first, then the rest of the list.
    let mut inside = select.clone();
    let arguments = of_calls.iter().flat_map(|item| &item.call.args);
    inside.target_list = arguments
        .map(|argument| unnamed(argument.clone()))
        .collect();
    let mut wanted: Vec<SqlType> = Vec::new();
    for item in &of_calls {
        let sleeps = name_of(item.call) == Some("pg_sleep");
        let ty = match item.call.args.len() {
            1 if sleeps => SqlType::Float8,
            2 => SqlType::Int4,
            0 | 1 => SqlType::Int8,
            _ => return Ok(None),
        };
        wanted.extend(item.call.args.iter().map(|_| ty));
    }
    let rest = targets.iter().filter(|(.., item)| item.is_none());
    for (node, ..) in rest {
        inside.target_list.push((*node).clone());
        wanted.push(SqlType::Text);
    }
    let query = plan_query(planner, &inside, Some(&wanted))?;
    let width = query.outputs.len();
    let column = |place: usize| Expr::Column(place, query.outputs[place].ty);
    let mut calls = Vec::with_capacity(of_calls.len());
    let mut place = 0;
    let (mut row, mut columns) = (Vec::new(), Vec::new());
    let mut rest = wanted.len() - targets.iter().filter(|(.., item)| item.is_none()).count();
    for (_, target, item) in &targets {
        let (expr, modifier, origin) = match item {
            None => {
                let output = &query.outputs[rest];
                rest += 1;
                (column(rest - 1), output.modifier, output.origin)
            }
            Some(item) => {
                let mut arguments = Vec::new();
                for _ in &item.call.args {
                    let ty = wanted[place];
                    let context = CastContext::Implicit;
                    let argument = coerce::convert(planner, column(place), ty, context);
                    let Some(argument) = taken(argument)? else {
                        return Ok(None);
                    };
                    arguments.push(argument);
                    place += 1;
                }
                let Some((call, result)) = called_with(item.call, arguments) else {
                    return Ok(None);
                };
                calls.push(call);
                let given = Expr::Column(width + calls.len() - 1, result);
                let mut casts = item.casts.iter().rev();
                let value = casts.try_fold(given, |value, name| cast_call(planner, value, name));
                (value?, TypeMod::NONE, None)
            }
        };
        columns.push(OutputColumn {
            name: output_name(target),
            ty: expr.ty(),
            modifier,
            origin,
        });
        row.push(expr);
    }
    let source = planner.procedure(Statement::Query(query.plan), publish(query.outputs))?;
    let params = source.params.clone();
    let command = Command::Advisory {
        source: Some(Arc::new(source)),
        calls,
        row,
    };
    Ok(Some(Planned {
        columns,
        params,
        ..planner.command(command, "SELECT")
    }))
}

/// Whether each row of the result is one of the query's, and no call stands but in the list.
fn is_by_rows(select: &SelectStmt, targets: &[(&Node, &ResTarget, Option<Item>)]) -> bool {
    let plain = select.group_clause.is_empty()
        && select.having_clause.is_none()
        && select.distinct_clause.is_empty()
        && select.window_clause.is_empty()
        && select.values_lists.is_empty()
        && select.into_clause.is_none()
        && matches!(
            select.op(),
            SetOperation::SetopNone | SetOperation::Undefined
        );
    let of_calls: Vec<String> = targets
        .iter()
        .filter(|(.., item)| item.is_some())
        .map(|(_, target, _)| output_name(target))
        .collect();
    let rest = targets.iter().filter(|(.., item)| item.is_none());
    let rest = rest.map(|(node, ..)| *node);
    let is_star = |node: &NodeRef| matches!(node, NodeRef::AStar(_));
    let has_star = |node: &Node| inner(node).is_some_and(|node| any_node(node, &is_star));
    let sorts_by_call = |node: &Node| match inner(node) {
        Some(NodeEnum::SortBy(sort)) => match sort.node.as_deref().and_then(inner) {
            Some(NodeEnum::AConst(_)) => true,
            Some(NodeEnum::ColumnRef(column)) => match names::strings(&column.fields).as_slice() {
                [name] => of_calls.iter().any(|call| call == name),
                _ => false,
            },
            _ => false,
        },
        _ => true,
    };
    let elsewhere = select.from_clause.iter().chain(&select.sort_clause);
    let elsewhere = elsewhere.chain(select.where_clause.as_deref());
    plain
        && !rest.clone().any(|node| says_call(node) || has_star(node))
        && !elsewhere.into_iter().any(says_call)
        && !select.sort_clause.iter().any(sorts_by_call)
}

fn unnamed(value: Node) -> Node {
    node(NodeEnum::ResTarget(Box::new(ResTarget {
        val: Some(Box::new(value)),
        location: -1,
        ..ResTarget::default()
    })))
}

/// A call with what it is given, and the type of what it gives.
fn called_with(call: &FuncCall, arguments: Vec<Expr>) -> Option<(AdvisoryCall, SqlType)> {
    let (what, shared, transaction) = name_of(call).and_then(meaning)?;
    let result = match what {
        Advisory::Lock | Advisory::UnlockAll | Advisory::Sleep => SqlType::Void,
        Advisory::Try | Advisory::Unlock => SqlType::Bool,
    };
    let fits = match what {
        Advisory::UnlockAll => arguments.is_empty(),
        Advisory::Sleep => arguments.len() == 1,
        _ => matches!(arguments.len(), 1 | 2),
    };
    let call = AdvisoryCall {
        what,
        shared,
        transaction,
        arguments,
    };
    fits.then_some((call, result))
}

fn cast_call(planner: &Planner, value: Expr, name: &TypeName) -> SqlResult<Expr> {
    let (ty, modifier) = types::resolve(planner, name)?;
    // As text nothing is said.
    if value.ty() == SqlType::Void && matches!(ty, SqlType::Text | SqlType::Varchar) {
        return Ok(Expr::Cast {
            input: Box::new(value),
            to: ty,
            modifier: TypeMod::NONE,
            explicit: true,
        });
    }
    coerce::explicit(planner, value, ty, modifier)
}

/// Whether a node calls one of these.
fn says_call(node: &Node) -> bool {
    let is_call = |node: &NodeRef| match node {
        NodeRef::FuncCall(call) => name_of(call).and_then(meaning).is_some(),
        _ => false,
    };
    inner(node).is_some_and(|node| any_node(node, &is_call))
}

/// The call that is all of FROM, and what its column is called.
fn source(node: &Node) -> Option<(&FuncCall, String)> {
    let Some(NodeEnum::RangeFunction(function)) = inner(node) else {
        return None;
    };
    let plain = !function.lateral && !function.ordinality && !function.is_rowsfrom;
    let ([item], true, true) = (
        function.functions.as_slice(),
        plain,
        function.coldeflist.is_empty(),
    ) else {
        return None;
    };
    let first = names::list(item)?.first()?;
    let Some(NodeEnum::FuncCall(call)) = inner(first) else {
        return None;
    };
    let name = match &function.alias {
        Some(alias) if !alias.colnames.is_empty() => return None,
        Some(alias) => alias.aliasname.clone(),
        None => name_of(call)?.to_string(),
    };
    Some((call, name))
}

fn name_of(call: &FuncCall) -> Option<&str> {
    match names::strings(&call.funcname).as_slice() {
        [name] | ["pg_catalog", name] => Some(*name),
        _ => None,
    }
}
