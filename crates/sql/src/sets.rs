//! Functions that return sets, in a select list.
//!
//! Relies on: `function_source`, which has them in FROM.  Promises: `SELECT a, f(b) FROM t` is planned as
//! `SELECT a, x FROM t, LATERAL f(b) AS x`, which has the same rows in the same order; several sets stand
//! side by side, the shorter ones filled up with NULLs: those that are no `unnest` are gathered into arrays first.
//! A set inside an expression is one that the expression is computed for each row of.  Does not: sets under conditions,
//! sets beside aggregates or groups: these are refused where they are bound.

use crate::names::{self, inner};
use crate::planner::Planner;
use crate::routine::{any_node, named};
use crate::tree::{node, string};
use pg_query::protobuf::{
    Alias, ColumnRef, FuncCall, LimitOption, Node, RangeFunction, ResTarget, SelectStmt,
    SetOperation, SubLink, SubLinkType,
};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlError, SqlResult};
use quintet_ir::aggregate::is_aggregate_name;
use quintet_ir::function::sets::set_width;
use quintet_ir::routine::Output;

/// What the sets are called among the sources; no name that somebody would write.
const ALIAS: &str = "?set?";

/// What a set's one column is called where it is gathered into an array.
const ROWS: &str = "?rows?";

/// Whether a source stands for sets of a select list: a row of theirs is one value.
pub(crate) fn is_of_sets(table: &str) -> bool {
    matches!(table, ALIAS | ROWS)
}

/// Sets of one column each, side by side: `unnest` of arrays of their rows.
pub(crate) fn side_by_side(calls: &[&FuncCall]) -> FuncCall {
    let arrays = calls.iter().map(|call| match call.args.as_slice() {
        [array] if is_plain_unnest(call) => array.clone(),
        _ => array_of_rows(call),
    });
    FuncCall {
        funcname: vec![string("unnest".to_string())],
        args: arrays.collect(),
        location: calls.first().map_or(-1, |call| call.location),
        ..FuncCall::default()
    }
}

/// `ARRAY(SELECT x FROM call AS x)`.
fn array_of_rows(call: &FuncCall) -> Node {
    let named = |name: &str| Alias {
        aliasname: name.to_string(),
        colnames: vec![string(name.to_string())],
    };
    let source = RangeFunction {
        lateral: true,
        functions: vec![node(NodeEnum::FuncCall(Box::new(call.clone())))],
        alias: Some(named(ROWS)),
        ..RangeFunction::default()
    };
    let fields = [ROWS, ROWS].map(|name| string(name.to_string())).into();
    let location = call.location;
    let target = ResTarget {
        val: Some(Box::new(node(NodeEnum::ColumnRef(ColumnRef {
            fields,
            location,
        })))),
        location,
        ..ResTarget::default()
    };
    let select = SelectStmt {
        target_list: vec![node(NodeEnum::ResTarget(Box::new(target)))],
        from_clause: vec![node(NodeEnum::RangeFunction(source))],
        limit_option: LimitOption::Default as i32,
        op: SetOperation::SetopNone as i32,
        ..SelectStmt::default()
    };
    node(NodeEnum::SubLink(Box::new(SubLink {
        sub_link_type: SubLinkType::ArraySublink as i32,
        subselect: Some(Box::new(node(NodeEnum::SelectStmt(Box::new(select))))),
        location,
        ..SubLink::default()
    })))
}

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
        several => side_by_side(several),
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
    // No set is a window function, which the call says.
    if call.over.is_some() {
        return Ok(false);
    }
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
