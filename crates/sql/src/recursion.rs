//! WITH RECURSIVE.
//!
//! Relies on: `with`, which has the query in sight of itself.  Promises: the form, and the places in which the query
//! may name itself, are PostgreSQL's; so are the columns' types, which the first term decides.
//! Does not: several queries that name one another (0A000).

use crate::comparable::equated;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::routine::any_node;
use crate::scope::UNSTARRED;
use crate::search::name_in;
use crate::select::{Query, Rows, plan_query};
use crate::set_operation::convert;
use crate::with::{State, WithQuery, enter_with, leave_with, mentions, rename};
use pg_query::protobuf::{JoinType, Node, SelectStmt, SetOperation};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType};
use quintet_ir::Expr;
use quintet_ir::aggregate::is_aggregate_name;
use quintet_ir::cast::common_type;
use quintet_ir::plan::{Plan, Turns};
use std::borrow::Cow;

/// Plans a query that names itself.
///
/// # Errors
/// `42P19` for a query of another form, or one that names itself where it may not.
pub(crate) fn plan_recursive(
    planner: &Planner,
    place: usize,
    with: &WithQuery,
) -> SqlResult<Query> {
    let select = &with.query;
    let refuse = |message: String| Err(SqlError::new(SqlState::INVALID_RECURSION, message));
    let (SetOperation::SetopUnion, Some(left), Some(right)) =
        (select.op(), select.larg.as_deref(), select.rarg.as_deref())
    else {
        return refuse(format!(
            "recursive query \"{}\" does not have the form non-recursive-term UNION [ALL] recursive-term",
            with.name
        ));
    };
    check_places(&with.name, left, right)?;
    check_ends(select)?;
    let all = || NodeEnum::SelectStmt(select.clone());
    let before = enter_with(planner, select.with_clause.as_ref(), &all)?;
    let (mut left_term, mut right_term) = (Cow::Borrowed(left), Cow::Borrowed(right));
    if let Some(marks) = &with.marks {
        marks.check_terms(left, right)?;
        let own = name_in(right, &with.name)?;
        let mut outputs = planner.deeper(|| plan_query(planner, left, None))?.outputs;
        rename(planner, with, &mut outputs)?;
        marks.check_names(planner, &outputs)?;
        let columns: Vec<String> = outputs.into_iter().map(|output| output.name).collect();
        left_term = Cow::Owned(marks.first(left, &columns)?);
        right_term = Cow::Owned(marks.next(right, &columns, &own)?);
    }
    let left = planner.deeper(|| plan_query(planner, &left_term, None))?;
    let mut outputs = left.outputs;
    rename(planner, with, &mut outputs)?;
    if let Some(marks) = &with.marks {
        let added = marks.unstarred();
        let from = outputs.len().saturating_sub(added.len());
        for (output, name) in outputs[from..].iter_mut().zip(added) {
            output.name = name;
        }
    }
    for output in &mut outputs {
        output.origin = None;
    }
    let number = planner.next_number();
    planner.with.borrow_mut()[place].state = State::Turning {
        number,
        outputs: outputs.clone(),
    };
    let right = planner.deeper(|| plan_query(planner, &right_term, None))?;
    if right.outputs.len() != outputs.len() {
        return Err(SqlError::new(
            SqlState::SYNTAX_ERROR,
            "each UNION query must have the same number of columns",
        ));
    }
    let types: Vec<SqlType> = outputs.iter().map(|output| output.ty).collect();
    for (column, (first, next)) in types.iter().zip(&right.outputs).enumerate() {
        let overall = common_type(&[*first, next.ty], "UNION")?;
        if overall != *first {
            return Err(SqlError::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "recursive query \"{}\" column {} has type {first} in non-recursive term but type {overall} overall",
                    with.name,
                    column + 1
                ),
            )
            .hint("Cast the output of the non-recursive term to the correct type."));
        }
        if !select.all {
            equated(planner, *first, -1)?;
        }
    }
    let plan = Plan::With {
        number,
        first: Box::new(left.plan),
        then: Box::new(convert(planner, right, &types)?),
        turns: match select.all {
            true => Turns::UntilNothing,
            false => Turns::UntilNothingNew,
        },
    };
    let mut plan = leave_with(planner, before, plan)?;
    if let Some(marks) = &with.marks {
        let added = marks.unstarred().len();
        for output in &mut outputs {
            output.name = output.name.trim_start_matches(UNSTARRED).to_string();
        }
        if marks.counts_turns() {
            let turn = outputs.len() - added;
            outputs.remove(turn);
            let shown = (0..types.len()).filter(|column| *column != turn);
            plan = Plan::Project {
                input: Box::new(plan),
                exprs: shown
                    .map(|column| Expr::Column(column, types[column]))
                    .collect(),
            };
        }
    }
    Ok(Query {
        plan,
        outputs,
        rows: Rows::Many,
        parts: None,
    })
}

fn named(select: &SelectStmt, name: &str) -> usize {
    mentions(&NodeEnum::SelectStmt(Box::new(select.clone())), name)
}

/// Where the query may name itself: once, in the second term, in a FROM that gives each row as it is.
fn check_places(name: &str, left: &SelectStmt, right: &SelectStmt) -> SqlResult<()> {
    let refuse = |place: &str| {
        Err(SqlError::new(
            SqlState::INVALID_RECURSION,
            format!("recursive reference to query \"{name}\" must not appear {place}"),
        ))
    };
    if named(left, name) > 0 {
        return refuse("within its non-recursive term");
    }
    if named(right, name) > 1 {
        return refuse("more than once");
    }
    let term = NodeEnum::SelectStmt(Box::new(right.clone()));
    let holds = |node: Option<&Node>| {
        let node = node.and_then(inner);
        node.is_some_and(|node| mentions(node, name) > 0)
    };
    let in_subquery = |node: &NodeRef| match node {
        NodeRef::SubLink(link) => holds(link.subselect.as_deref()),
        _ => false,
    };
    if any_node(&term, &in_subquery) {
        return refuse("within a subquery");
    }
    let in_outer_join = |node: &NodeRef| match node {
        NodeRef::JoinExpr(join) => match join.jointype() {
            JoinType::JoinLeft => holds(join.rarg.as_deref()),
            JoinType::JoinRight => holds(join.larg.as_deref()),
            JoinType::JoinFull => holds(join.larg.as_deref()) || holds(join.rarg.as_deref()),
            _ => false,
        },
        _ => false,
    };
    if any_node(&term, &in_outer_join) {
        return refuse("within an outer join");
    }
    let in_arm = |arm: &Option<Box<SelectStmt>>| {
        let arm = arm.as_deref();
        arm.is_some_and(|arm| named(arm, name) > 0)
    };
    match right.op() {
        SetOperation::SetopExcept if in_arm(&right.rarg) || (right.all && in_arm(&right.larg)) => {
            return refuse("within EXCEPT");
        }
        SetOperation::SetopIntersect
            if right.all && (in_arm(&right.larg) || in_arm(&right.rarg)) =>
        {
            return refuse("within INTERSECT");
        }
        _ => {}
    }
    let is_aggregate = |node: &NodeRef| match node {
        NodeRef::FuncCall(call) => {
            call.over.is_none() && names::built_in(&call.funcname).is_some_and(is_aggregate_name)
        }
        _ => false,
    };
    let aggregates = |nodes: &[Node]| {
        let mut nodes = nodes.iter().filter_map(inner);
        nodes.any(|node| any_node(node, &is_aggregate))
    };
    if aggregates(&right.target_list) || right.having_clause.is_some() {
        return Err(SqlError::new(
            SqlState::INVALID_RECURSION,
            "aggregate functions are not allowed in a recursive query's recursive term",
        ));
    }
    Ok(())
}

/// What may not stand behind the second term.
fn check_ends(select: &SelectStmt) -> SqlResult<()> {
    let parts = [
        (!select.sort_clause.is_empty(), "ORDER BY"),
        (select.limit_offset.is_some(), "OFFSET"),
        (select.limit_count.is_some(), "LIMIT"),
        (!select.locking_clause.is_empty(), "FOR UPDATE/SHARE"),
    ];
    match parts.iter().find(|(there, _)| *there) {
        None => Ok(()),
        Some((_, what)) => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("{what} in a recursive query is not implemented"),
        )),
    }
}
