//! UNION and UNION ALL.
//!
//! Relies on: `select` for the arms.  Promises: columns get their common type as PostgreSQL finds
//! it, arm by arm from the left.  Does not: INTERSECT and EXCEPT (0A000).

use crate::coerce;
use crate::names::required;
use crate::output::Target;
use crate::planner::Planner;
use crate::scope::Output;
use crate::select::{Query, Rows, plan_query};
use crate::values::finish_outputs;
use pg_query::protobuf::{SelectStmt, SetOperation};
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::cast::common_type;
use quintet_ir::plan::Plan;

/// Plans `left UNION [ALL] right` with its ORDER BY and LIMIT.
pub(crate) fn plan_set_operation(
    planner: &Planner,
    select: &SelectStmt,
    wanted: Option<&[SqlType]>,
) -> SqlResult<Query> {
    let what = match select.op() {
        SetOperation::SetopUnion => "UNION",
        SetOperation::SetopIntersect => return Err(SqlError::unsupported("INTERSECT")),
        SetOperation::SetopExcept => return Err(SqlError::unsupported("EXCEPT")),
        SetOperation::SetopNone | SetOperation::Undefined => {
            return Err(SqlError::internal("a set operation of no kind"));
        }
    };
    let (left, right) = (
        required(select.larg.as_deref())?,
        required(select.rarg.as_deref())?,
    );
    // Arms do not inherit the types that INSERT wants: they find a common one first.
    let left = planner.deeper(|| plan_query(planner, left, wanted))?;
    let right = planner.deeper(|| plan_query(planner, right, wanted))?;
    if left.outputs.len() != right.outputs.len() {
        return Err(SqlError::new(
            SqlState::SYNTAX_ERROR,
            format!("each {what} query must have the same number of columns"),
        ));
    }
    let mut types = Vec::with_capacity(left.outputs.len());
    for (place, (a, b)) in left.outputs.iter().zip(&right.outputs).enumerate() {
        // A column of untyped literals takes the other side's type.
        let a = if is_untyped(&left.plan, place) {
            SqlType::Unknown
        } else {
            a.ty
        };
        let b = if is_untyped(&right.plan, place) {
            SqlType::Unknown
        } else {
            b.ty
        };
        types.push(common_type(&[a, b], what)?);
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
    let mut plan = append(left, right);
    if !select.all {
        plan = Plan::Unique {
            input: Box::new(plan),
        };
    }
    let targets: Vec<Target> = outputs
        .iter()
        .enumerate()
        .map(|(place, output)| Target {
            name: output.name.clone(),
            expr: Expr::Column(place, output.ty),
            location: -1,
        })
        .collect();
    finish_outputs(planner, select, plan, targets, outputs, Rows::Many)
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

/// True if the column is an untyped literal that was taken for text.
fn is_untyped(plan: &Plan, place: usize) -> bool {
    let expr = match plan {
        Plan::Project { exprs, .. } => &exprs[place],
        _ => return false,
    };
    matches!(
        expr,
        Expr::Const(Value::Text(_) | Value::Null, SqlType::Text)
    )
}

/// The arm with its columns converted.
fn convert(planner: &Planner, query: Query, types: &[SqlType]) -> SqlResult<Plan> {
    if query
        .outputs
        .iter()
        .map(|output| output.ty)
        .eq(types.iter().copied())
    {
        return Ok(query.plan);
    }
    if let Plan::Project { input, exprs } = query.plan {
        let exprs: SqlResult<Vec<Expr>> = exprs
            .into_iter()
            .zip(types)
            .map(|(expr, &ty)| retype(planner, expr, ty))
            .collect();
        return Ok(Plan::Project {
            input,
            exprs: exprs?,
        });
    }
    let exprs: SqlResult<Vec<Expr>> = query
        .outputs
        .iter()
        .enumerate()
        .zip(types)
        .map(|((place, output), &ty)| coerce::implicit(planner, Expr::Column(place, output.ty), ty))
        .collect();
    Ok(Plan::Project {
        input: Box::new(query.plan),
        exprs: exprs?,
    })
}

fn retype(planner: &Planner, expr: Expr, ty: SqlType) -> SqlResult<Expr> {
    match expr {
        Expr::Const(value, SqlType::Text) if ty != SqlType::Text => {
            coerce::implicit(planner, Expr::Const(value, SqlType::Unknown), ty)
        }
        expr => coerce::implicit(planner, expr, ty),
    }
}
