//! Functions that return sets, in a select list.
//!
//! Relies on: `function_source`, which has them in FROM.  Promises: `SELECT a, f(b) FROM t` is planned as
//! `SELECT a, x FROM t, LATERAL f(b) AS x`, which has the same rows in the same order; several `unnest` stand
//! side by side, the shorter ones filled up with NULLs.  A set inside an expression is one that
//! the expression is computed for each row of.  Does not: several sets of other kinds, sets under conditions, sets
//! beside aggregates or groups: these are refused where they are bound.

use crate::names::{self, inner};
use crate::planner::Planner;
use crate::routine::{any_node, named};
use pg_query::protobuf::{Alias, ColumnRef, FuncCall, Node, RangeFunction, ResTarget, SelectStmt};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlError, SqlResult};
use quintet_ir::aggregate::is_aggregate_name;
use quintet_ir::function::sets::set_width;
use quintet_ir::routine::Output;

/// What the sets are called among the sources; no name that somebody would write.
const ALIAS: &str = "?set?";

/// The SELECT with its sets in FROM; `None` if there are none that can be there.
///
/// # Errors
/// What a routine's signature says.
pub(crate) fn sets_in_from(
    planner: &Planner,
    select: &SelectStmt,
) -> SqlResult<Option<SelectStmt>> {
    let mut places = Vec::new();
    let mut calls: Vec<&FuncCall> = Vec::new();
    for (place, node) in select.target_list.iter().enumerate() {
        let Some(NodeEnum::ResTarget(target)) = inner(node) else {
            continue;
        };
        if let Some(value) = target.val.as_deref()
            && let Some(call) = set_within(planner, value)?
        {
            places.push(place);
            calls.push(call);
        }
    }
    let combined = match calls.as_slice() {
        [] => return Ok(None),
        [only] => (*only).clone(),
        [first, ..] if calls.iter().all(|call| is_plain_unnest(call)) => FuncCall {
            args: calls.iter().flat_map(|call| call.args.clone()).collect(),
            ..(*first).clone()
        },
        _ => return Ok(None),
    };
    let aggregates = |node: &NodeRef| match node {
        NodeRef::FuncCall(call) => names::built_in(&call.funcname).is_some_and(is_aggregate_name),
        _ => false,
    };
    let mut others = select.target_list.iter().filter_map(inner);
    if !select.group_clause.is_empty()
        || select.having_clause.is_some()
        || others.any(|target| any_node(target, &aggregates))
    {
        return Ok(None);
    }
    let mut select = select.clone();
    for (number, place) in places.iter().enumerate() {
        let Some(target) = res_target(&mut select.target_list[*place]) else {
            continue;
        };
        target.name = crate::select::output_name(target);
        let location = target.location;
        let fields = [ALIAS.to_string(), column(number)].map(string).into();
        let reference = NodeEnum::ColumnRef(ColumnRef { fields, location });
        if let Some(value) = target.val.as_deref_mut() {
            *slot(planner, value)? = node(reference);
        }
    }
    let columns = (0..places.len()).map(|number| string(column(number)));
    let source = RangeFunction {
        lateral: true,
        functions: vec![node(NodeEnum::FuncCall(Box::new(combined)))],
        alias: Some(Alias {
            aliasname: ALIAS.to_string(),
            colnames: columns.collect(),
        }),
        ..RangeFunction::default()
    };
    select
        .from_clause
        .push(node(NodeEnum::RangeFunction(source)));
    Ok(Some(select))
}

fn column(number: usize) -> String {
    format!("set{number}")
}

fn node(node: NodeEnum) -> Node {
    Node { node: Some(node) }
}

fn string(sval: String) -> Node {
    node(NodeEnum::String(pg_query::protobuf::String { sval }))
}

fn res_target(node: &mut Node) -> Option<&mut ResTarget> {
    match node.node.as_mut() {
        Some(NodeEnum::ResTarget(target)) => Some(target),
        _ => None,
    }
}

/// The parts of an expression that are evaluated whenever it is.
fn parts(node: &Node) -> Vec<&Node> {
    match inner(node) {
        Some(NodeEnum::AExpr(expr)) => {
            let sides = [expr.lexpr.as_deref(), expr.rexpr.as_deref()];
            sides.into_iter().flatten().collect()
        }
        Some(NodeEnum::TypeCast(cast)) => cast.arg.as_deref().into_iter().collect(),
        Some(NodeEnum::FuncCall(call)) => call.args.iter().collect(),
        Some(NodeEnum::AIndirection(of)) => of.arg.as_deref().into_iter().collect(),
        _ => vec![],
    }
}

/// The one call in an expression that gives a set.
fn set_within<'n>(planner: &Planner, node: &'n Node) -> SqlResult<Option<&'n FuncCall>> {
    if let Some(NodeEnum::FuncCall(call)) = inner(node)
        && gives_set(planner, call)?
    {
        return Ok(Some(call));
    }
    let mut found = None;
    for part in parts(node) {
        match (set_within(planner, part)?, found) {
            (Some(_), Some(_)) => return Ok(None),
            (Some(call), None) => found = Some(call),
            (None, _) => {}
        }
    }
    Ok(found)
}

/// Where that call stands.
fn slot<'n>(planner: &Planner, node: &'n mut Node) -> SqlResult<&'n mut Node> {
    if let Some(NodeEnum::FuncCall(call)) = inner(node)
        && gives_set(planner, call)?
    {
        return Ok(node);
    }
    let holds = |part: Option<&Node>| match part {
        Some(part) => Ok(set_within(planner, part)?.is_some()),
        None => Ok(false),
    };
    let missing = || SqlError::internal("a set that is not where it was found");
    let below = match node.node.as_mut() {
        Some(NodeEnum::AExpr(expr)) => match holds(expr.lexpr.as_deref())? {
            true => expr.lexpr.as_deref_mut(),
            false => expr.rexpr.as_deref_mut(),
        },
        Some(NodeEnum::TypeCast(cast)) => cast.arg.as_deref_mut(),
        Some(NodeEnum::AIndirection(of)) => of.arg.as_deref_mut(),
        Some(NodeEnum::FuncCall(call)) => {
            let mut place = None;
            for (number, arg) in call.args.iter().enumerate() {
                if holds(Some(arg))? {
                    place = Some(number);
                }
            }
            place.and_then(|place| call.args.get_mut(place))
        }
        _ => None,
    };
    slot(planner, below.ok_or_else(missing)?)
}

fn is_plain_unnest(call: &FuncCall) -> bool {
    names::built_in(&call.funcname) == Some("unnest") && call.args.len() == 1
}

/// Whether a call gives rows of one column.
fn gives_set(planner: &Planner, call: &FuncCall) -> SqlResult<bool> {
    match names::built_in(&call.funcname) {
        Some("unnest") => return Ok(is_plain_unnest(call)),
        Some(name) if set_width(name) == Some(1) => return Ok(true),
        _ => {}
    }
    let mut gives = false;
    for stored in named(planner, call) {
        let signature = stored.signature(planner.catalog())?;
        if signature.output != Output::Rows || signature.columns.len() != 1 {
            return Ok(false);
        }
        gives = true;
    }
    Ok(gives)
}
