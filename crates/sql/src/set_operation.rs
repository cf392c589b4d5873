//! UNION, INTERSECT and EXCEPT, each with ALL.
//!
//! Relies on: `select` for the arms.  Promises: columns get their common type as PostgreSQL finds
//! it, arm by arm from the left; of rows that are equal the left arm's stand for all.  Does not: have
//! operators of its own for INTERSECT and EXCEPT: they are counted.
//!
//! ```text
//! Append(left + 0, right + 1) -> Aggregate by all columns: how often left, how often right
//!   INTERSECT      Filter(left > 0 AND right > 0)      INTERSECT ALL  least(left, right) times each
//!   EXCEPT         Filter(left > 0 AND right = 0)      EXCEPT ALL     left - right times each
//! ```

use crate::coerce;
use crate::comparable::equated;
use crate::names::required;
use crate::output::Target;
use crate::planner::Planner;
use crate::scope::Output;
use crate::select::{Query, Rows, plan_query};
use crate::values::finish_outputs;
use pg_query::protobuf::{SelectStmt, SetOperation};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value, limits};
use quintet_ir::aggregate::{AggregateCall, AggregateFunction};
use quintet_ir::cast::common_type;
use quintet_ir::plan::{JoinKind, Plan, Turns};
use quintet_ir::{CompareOp, Expr};

/// What an arm's untyped columns are to be: still untyped, until the other arm's type is known.
const UNDECIDED: &[SqlType] = &[SqlType::Unknown; limits::TABLE_COLUMNS_MAX];

/// Plans `left UNION [ALL] right` and its like with its ORDER BY and LIMIT. A chain of them leans to the left, and may be
/// long: it is gone along, not down.
pub(crate) fn plan_set_operation(planner: &Planner, select: &SelectStmt) -> SqlResult<Query> {
    let mut chain = vec![select];
    let first = loop {
        let last = chain[chain.len() - 1];
        let left = required(last.larg.as_deref())?;
        if !is_link(left) {
            break left;
        }
        chain.push(left);
    };
    let mut query = None;
    while let Some(select) = chain.pop() {
        let left = match query {
            Some(query) => query,
            None => arm(planner, first)?,
        };
        query = Some(plan_link(planner, left, select)?);
    }
    query.ok_or_else(|| SqlError::internal("a chain without a link"))
}

/// A set operation whose result nothing is done with but by the next.
fn is_link(select: &SelectStmt) -> bool {
    select.op() != SetOperation::SetopNone
        && select.larg.is_some()
        && select.with_clause.is_none()
        && select.sort_clause.is_empty()
        && select.limit_count.is_none()
        && select.limit_offset.is_none()
        && select.locking_clause.is_empty()
}

/// Arms do not inherit the types that INSERT wants: they find a common one first.
fn arm(planner: &Planner, select: &SelectStmt) -> SqlResult<Query> {
    if !select.locking_clause.is_empty() {
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "FOR UPDATE is not allowed with UNION/INTERSECT/EXCEPT",
        ));
    }
    planner.deeper(|| plan_query(planner, select, Some(UNDECIDED)))
}

/// One of a chain, behind those to its left.
fn plan_link(planner: &Planner, left: Query, select: &SelectStmt) -> SqlResult<Query> {
    let what = match select.op() {
        SetOperation::SetopUnion => "UNION",
        SetOperation::SetopIntersect => "INTERSECT",
        SetOperation::SetopExcept => "EXCEPT",
        SetOperation::SetopNone | SetOperation::Undefined => {
            return Err(SqlError::internal("a set operation of no kind"));
        }
    };
    let right = arm(planner, required(select.rarg.as_deref())?)?;
    if left.outputs.len() != right.outputs.len() {
        return Err(SqlError::new(
            SqlState::SYNTAX_ERROR,
            format!("each {what} query must have the same number of columns"),
        ));
    }
    let mut types = Vec::with_capacity(left.outputs.len());
    for (a, b) in left.outputs.iter().zip(&right.outputs) {
        let ty = common_type(&[a.ty, b.ty], what)?;
        if !(select.all && select.op() == SetOperation::SetopUnion) {
            equated(planner, ty, -1)?;
        }
        types.push(ty);
    }
    let outputs: Vec<Output> = left
        .outputs
        .iter()
        .zip(&right.outputs)
        .zip(&types)
        .map(|((a, b), &ty)| Output {
            name: a.name.clone(),
            ty,
            modifier: if a.modifier == b.modifier && a.ty == b.ty {
                a.modifier
            } else {
                TypeMod::NONE
            },
            origin: None,
        })
        .collect();
    let (left, right) = (
        convert(planner, left, &types)?,
        convert(planner, right, &types)?,
    );
    let plan = match (select.op(), select.all) {
        (SetOperation::SetopUnion, true) => append(left, right),
        (SetOperation::SetopUnion, false) => Plan::Unique {
            input: Box::new(append(without_unique(left), right)),
        },
        (_, _) if types.is_empty() => {
            return Err(SqlError::unsupported(format!("{what} of no columns")));
        }
        (SetOperation::SetopIntersect, all) => {
            common_rows(counted(left, right, &types), &types, all)
        }
        (_, all) => remaining_rows(counted(left, right, &types), &types, all),
    };
    let targets: Vec<Target> = outputs
        .iter()
        .enumerate()
        .map(|(place, output)| Target {
            name: output.name.clone(),
            expr: Expr::Column(place, output.ty),
            key: None,
            location: -1,
        })
        .collect();
    finish_outputs(planner, select, plan, targets, outputs, Rows::Many)
}

/// What is asked for its different rows again need not be asked before.
fn without_unique(plan: Plan) -> Plan {
    match plan {
        Plan::Unique { input } if matches!(*input, Plan::Append { .. }) => *input,
        plan => plan,
    }
}

/// `a UNION ALL b UNION ALL c` in one node.
fn append(left: Plan, right: Plan) -> Plan {
    let mut inputs = match left {
        Plan::Append { inputs } => inputs,
        left => vec![left],
    };
    inputs.push(right);
    Plan::Append { inputs }
}

/// The different rows of both sides, with how often each comes from the left and from the right.
fn counted(left: Plan, right: Plan, types: &[SqlType]) -> Plan {
    let side = |plan: Plan, number: i32| {
        let mut exprs = columns(types);
        exprs.push(Expr::Const(Value::Int4(number), SqlType::Int4));
        Plan::Project {
            input: Box::new(plan),
            exprs,
        }
    };
    let count = |number: i32| AggregateCall {
        function: AggregateFunction::CountRows,
        args: vec![],
        distinct: false,
        filter: Some(Expr::Compare {
            op: CompareOp::Eq,
            left: Box::new(Expr::Column(types.len(), SqlType::Int4)),
            right: Box::new(Expr::Const(Value::Int4(number), SqlType::Int4)),
        }),
        order: vec![],
        ty: SqlType::Int8,
    };
    Plan::Aggregate {
        input: Box::new(append(side(left, 0), side(right, 1))),
        keys: columns(types),
        calls: vec![count(0), count(1)],
        sets: vec![],
    }
}

/// INTERSECT of counted rows.
fn common_rows(counted: Plan, types: &[SqlType], all: bool) -> Plan {
    let (left, right) = counts(types);
    if all {
        let least = Expr::Extreme {
            greatest: false,
            args: vec![left, right],
            ty: SqlType::Int8,
        };
        return repeated(counted, types, big(1), least);
    }
    let both = Expr::And(vec![
        compare(CompareOp::Gt, left),
        compare(CompareOp::Gt, right),
    ]);
    filtered(counted, both, types)
}

/// EXCEPT of counted rows.
fn remaining_rows(counted: Plan, types: &[SqlType], all: bool) -> Plan {
    let (left, right) = counts(types);
    if all {
        // From the right's count up to the left's; one turn too many, which is the first.
        return repeated(counted, types, right, left);
    }
    let only = Expr::And(vec![
        compare(CompareOp::Gt, left),
        compare(CompareOp::Eq, right),
    ]);
    filtered(counted, only, types)
}

/// Each row as often as there are numbers from `first` to `last`; a `first` that is a column does not count.
fn repeated(counted: Plan, types: &[SqlType], first: Expr, last: Expr) -> Plan {
    let width = types.len() + 2;
    let on = matches!(first, Expr::Column(..)).then(|| Expr::Compare {
        op: CompareOp::Gt,
        left: Box::new(Expr::Column(width, SqlType::Int8)),
        right: Box::new(first.clone()),
    });
    let turns = Plan::Series {
        start: first,
        stop: last,
        step: big(1),
        ty: SqlType::Int8,
    };
    Plan::Project {
        input: Box::new(Plan::Join {
            outer: Box::new(counted),
            inner: Box::new(turns),
            outer_width: width,
            inner_width: 1,
            kind: JoinKind::Inner,
            on,
        }),
        exprs: columns(types),
    }
}

fn filtered(counted: Plan, predicate: Expr, types: &[SqlType]) -> Plan {
    Plan::Project {
        input: Box::new(Plan::Filter {
            input: Box::new(counted),
            predicate,
        }),
        exprs: columns(types),
    }
}

fn columns(types: &[SqlType]) -> Vec<Expr> {
    let places = types.iter().enumerate();
    places.map(|(place, &ty)| Expr::Column(place, ty)).collect()
}

fn counts(types: &[SqlType]) -> (Expr, Expr) {
    let count = |number: usize| Expr::Column(types.len() + number, SqlType::Int8);
    (count(0), count(1))
}

fn big(value: i64) -> Expr {
    Expr::Const(Value::Int8(value), SqlType::Int8)
}

/// How a count stands to nothing.
fn compare(op: CompareOp, count: Expr) -> Expr {
    Expr::Compare {
        op,
        left: Box::new(count),
        right: Box::new(big(0)),
    }
}

/// The arm with its columns converted.
pub(crate) fn convert(planner: &Planner, query: Query, types: &[SqlType]) -> SqlResult<Plan> {
    if query
        .outputs
        .iter()
        .map(|output| output.ty)
        .eq(types.iter().copied())
    {
        return Ok(query.plan);
    }
    converted(planner, query.plan, types)
}

/// A plan's columns converted where they are made, if that is on the way: an untyped literal is read there.
fn converted(planner: &Planner, plan: Plan, types: &[SqlType]) -> SqlResult<Plan> {
    let implicit = |(expr, &ty): (Expr, &SqlType)| coerce::implicit(planner, expr, ty);
    match plan {
        Plan::Project { input, exprs } => {
            let exprs = exprs.into_iter().zip(types).map(implicit);
            Ok(Plan::Project {
                input,
                exprs: exprs.collect::<SqlResult<_>>()?,
            })
        }
        Plan::Limit {
            input,
            limit,
            offset,
            ties,
        } => Ok(Plan::Limit {
            input: Box::new(converted(planner, *input, types)?),
            limit,
            offset,
            ties,
        }),
        Plan::With {
            number,
            first,
            then,
            turns: Turns::Once,
        } => Ok(Plan::With {
            number,
            first,
            then: Box::new(converted(planner, *then, types)?),
            turns: Turns::Once,
        }),
        plan => {
            let exprs = columns(&plan.frame_types()).into_iter().zip(types);
            Ok(Plan::Project {
                exprs: exprs.map(implicit).collect::<SqlResult<_>>()?,
                input: Box::new(plan),
            })
        }
    }
}
