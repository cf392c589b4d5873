//! Functions that return sets, in a select list.
//!
//! Relies on: `function_source`, which has them in FROM.  Promises: `SELECT a, f(b) FROM t` is planned as
//! `SELECT a, x FROM t, LATERAL f(b) AS x`, which has the same rows in the same order; several `unnest` stand
//! side by side, the shorter ones filled up with NULLs.  Does not: several sets of other kinds, sets inside
//! expressions, sets beside aggregates or groups: these are refused where they are bound.

use crate::names::{self, inner};
use crate::planner::Planner;
use crate::routine::{any_node, named};
use pg_query::protobuf::{Alias, ColumnRef, FuncCall, Node, RangeFunction, ResTarget, SelectStmt};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::SqlResult;
use quintet_ir::aggregate::is_aggregate_name;
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
    for (place, node) in select.target_list.iter().enumerate() {
        if let Some((_, call)) = set_of(node)
            && gives_set(planner, call)?
        {
            places.push(place);
        }
    }
    let calls: Vec<&FuncCall> = places
        .iter()
        .filter_map(|place| set_of(&select.target_list[*place]).map(|(_, call)| call))
        .collect();
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
        target.val = Some(Box::new(node(reference)));
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

/// A call that is an item by itself.
fn set_of(node: &Node) -> Option<(&ResTarget, &FuncCall)> {
    let Some(NodeEnum::ResTarget(target)) = inner(node) else {
        return None;
    };
    match target.val.as_deref().and_then(inner) {
        Some(NodeEnum::FuncCall(call)) => Some((target, call)),
        _ => None,
    }
}

fn is_plain_unnest(call: &FuncCall) -> bool {
    names::built_in(&call.funcname) == Some("unnest") && call.args.len() == 1
}

/// Whether a call gives rows of one column.
fn gives_set(planner: &Planner, call: &FuncCall) -> SqlResult<bool> {
    match names::built_in(&call.funcname) {
        Some("generate_series") => return Ok(true),
        Some("unnest") => return Ok(is_plain_unnest(call)),
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
