//! DISTINCT ON.
//!
//! Relies on: a sort that begins with what is made distinct by.  Promises: of rows that are equal in it, the
//! first in the order asked for.  Does not: DISTINCT of whole rows, which is a node of its own.
//!
//! ```text
//! [Sort(on, rest)] -> Window(row_number per on) -> Filter(it is 1)
//! ```

use crate::coerce;
use crate::comparable::equated;
use crate::expr::Binder;
use crate::names::{inner, location};
use crate::output::Target;
use crate::rewrite::same;
use crate::select::find_target;
use pg_query::protobuf::Node;
use quintet_base::{SqlResult, SqlState, SqlType, Value};
use quintet_ir::plan::{Plan, SortKey};
use quintet_ir::window::{WindowCall, WindowFrame, WindowFunction};
use quintet_ir::{CompareOp, Expr};

/// True for DISTINCT without ON.
pub(crate) fn is_plain(clause: &[Node]) -> bool {
    !clause.is_empty() && clause.iter().all(|node| inner(node).is_none())
}

/// Binds DISTINCT ON: names and numbers of the select list, or any expressions. ORDER BY goes on with those
/// that it does not name.
///
/// # Errors
/// `42P10` if ORDER BY does not begin with them.
pub(crate) fn bind_distinct_on(
    binder: &Binder,
    clause: &[Node],
    targets: &[Target],
    sort: &mut Vec<SortKey>,
) -> SqlResult<Vec<Expr>> {
    let mut on: Vec<Expr> = Vec::new();
    for node in clause.iter().filter(|node| inner(node).is_some()) {
        let expr = match find_target(binder.planner, node, targets, "DISTINCT ON")? {
            Some(place) => targets[place].named(),
            None => binder.bind(node)?,
        };
        let expr = coerce::settle(binder.planner, expr)?;
        equated(binder.planner, expr.ty(), location(node))?;
        if !on.iter().any(|other| same(other, &expr)) {
            on.push(expr);
        }
    }
    let is_on = |key: &SortKey| on.iter().any(|expr| same(expr, &key.expr));
    let first = sort.iter().take_while(|key| is_on(key)).count();
    let missing: Vec<&Expr> = on
        .iter()
        .filter(|expr| !sort[..first].iter().any(|key| same(expr, &key.expr)))
        .collect();
    let misplaced = sort[first..].iter().any(is_on);
    if !on.is_empty() && (misplaced || (first < sort.len() && !missing.is_empty())) {
        return Err(binder.planner.error(
            SqlState::INVALID_COLUMN_REFERENCE,
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
            clause.first().map_or(-1, location),
        ));
    }
    let missing = missing.into_iter().map(|expr| SortKey {
        expr: expr.clone(),
        descending: false,
        nulls_first: false,
    });
    let missing: Vec<SortKey> = missing.collect();
    sort.extend(missing);
    Ok(on)
}

/// Of sorted frames the first of each group that is equal in `on`; a column more stands behind each.
pub(crate) fn first_of_each(plan: Plan, on: Vec<Expr>) -> Plan {
    let place = plan.frame_types().len();
    Plan::Filter {
        input: Box::new(Plan::Window {
            input: Box::new(plan),
            partition: on,
            order: vec![],
            calls: vec![WindowCall {
                function: WindowFunction::RowNumber,
                args: vec![],
                filter: None,
                frame: WindowFrame::usual(),
                ty: SqlType::Int8,
            }],
        }),
        predicate: Expr::Compare {
            op: CompareOp::Eq,
            left: Box::new(Expr::Column(place, SqlType::Int8)),
            right: Box::new(Expr::Const(Value::Int8(1), SqlType::Int8)),
        },
    }
}
