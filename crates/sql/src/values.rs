//! VALUES as a query, and what stands behind VALUES and UNION.
//!
//! Relies on: `limit`.  Promises: each column has the common type of its values.  Does not: the
//! VALUES of INSERT, whose types the table gives (`insert`).

use crate::coerce;
use crate::expr::Binder;
use crate::limit::{bind_limits, top_of};
use crate::names::{self, inner, required};
use crate::output::Target;
use crate::planner::Planner;
use crate::scope::{Output, Scope};
use crate::select::{Query, Rows, find_target, sort_key};
use pg_query::NodeEnum;
use pg_query::protobuf::SelectStmt;
use quintet_base::{SqlError, SqlResult, SqlState, SqlType, TypeMod};
use quintet_ir::Expr;
use quintet_ir::cast::common_type;
use quintet_ir::plan::Plan;

/// VALUES as a query.
pub(crate) fn plan_values(
    planner: &Planner,
    select: &SelectStmt,
    wanted: Option<&[SqlType]>,
) -> SqlResult<Query> {
    let nothing = Scope::empty();
    let binder = Binder::new(planner, &nothing, "VALUES");
    let mut rows: Vec<Vec<Expr>> = Vec::with_capacity(select.values_lists.len());
    for node in &select.values_lists {
        let items = required(names::list(node))?;
        let row: SqlResult<Vec<Expr>> = items.iter().map(|item| binder.bind(item)).collect();
        let row = row?;
        if rows.first().is_some_and(|first| first.len() != row.len()) {
            let place = items.first().map_or(-1, names::location);
            let message = "VALUES lists must all be the same length";
            return Err(planner.error(SqlState::SYNTAX_ERROR, message, place));
        }
        rows.push(row);
    }
    let width = rows.first().map_or(0, Vec::len);
    let mut types = Vec::with_capacity(width);
    for column in 0..width {
        let given: Vec<SqlType> = rows.iter().map(|row| row[column].ty()).collect();
        let all_unknown = given.iter().all(|ty| *ty == SqlType::Unknown);
        let ty = match wanted.and_then(|types| types.get(column)) {
            Some(&ty) if all_unknown && ty != SqlType::Unknown => ty,
            _ => common_type(&given, "VALUES")?,
        };
        for row in &mut rows {
            let expr = std::mem::replace(&mut row[column], Expr::null(ty));
            row[column] = coerce::implicit(planner, expr, ty)?;
        }
        types.push(ty);
    }
    let targets: Vec<Target> = types
        .iter()
        .enumerate()
        .map(|(number, &ty)| Target {
            name: format!("column{}", number + 1),
            expr: Expr::Column(number, ty),
            key: None,
            location: -1,
        })
        .collect();
    let outputs: Vec<Output> = targets
        .iter()
        .map(|target| Output {
            name: target.name.clone(),
            ty: target.expr.ty(),
            modifier: TypeMod::NONE,
            origin: None,
        })
        .collect();
    let count = if rows.len() == 1 {
        Rows::One
    } else {
        Rows::Many
    };
    let plan = Plan::Values { rows, types };
    finish_outputs(planner, select, plan, targets, outputs, count)
}

/// ORDER BY and LIMIT over a query's own columns: VALUES, UNION.
pub(crate) fn finish_outputs(
    planner: &Planner,
    select: &SelectStmt,
    mut plan: Plan,
    targets: Vec<Target>,
    outputs: Vec<Output>,
    rows: Rows,
) -> SqlResult<Query> {
    if !select.locking_clause.is_empty() {
        return Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "FOR UPDATE is not allowed with UNION/INTERSECT/EXCEPT or VALUES",
        ));
    }
    let limits = bind_limits(planner, select)?;
    let mut keys = Vec::with_capacity(select.sort_clause.len());
    for node in &select.sort_clause {
        let Some(NodeEnum::SortBy(sort)) = inner(node) else {
            return Err(SqlError::internal("ORDER BY without a key"));
        };
        let value = required(sort.node.as_deref())?;
        let Some(place) = find_target(planner, value, &targets, "ORDER BY")? else {
            if let Some(NodeEnum::ColumnRef(column)) = inner(value) {
                let name = names::strings(&column.fields).join(".");
                let message = format!("column \"{name}\" does not exist");
                return Err(planner.error(SqlState::UNDEFINED_COLUMN, message, column.location));
            }
            return Err(planner.unsupported(
                "ORDER BY an expression over UNION or VALUES",
                names::location(value),
            ));
        };
        keys.push(sort_key(planner, sort, targets[place].expr.clone())?);
    }
    let order = keys.clone();
    if !keys.is_empty() {
        let top = top_of(&limits, true);
        plan = Plan::Sort {
            input: Box::new(plan),
            keys,
            top,
        };
    }
    let rows = match rows {
        Rows::One if !limits.is_none() => Rows::AtMostOne,
        Rows::Many if limits.is_one() => Rows::AtMostOne,
        rows => rows,
    };
    Ok(Query {
        plan: limits.apply(plan, order),
        outputs,
        rows,
        parts: None,
    })
}
