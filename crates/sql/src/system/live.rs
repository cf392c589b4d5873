//! Relations whose rows are what the server does at the moment: made when a statement runs, not when it is planned.
//!
//! Relies on: the session's `Objects`, which is asked for the rows by the relation's name.  Promises: a plan over such a
//! relation is as good as any other and finds other rows each time it is run; within one statement each place that
//! names the relation asks once.  Does not: make rows (`embed` does).

use super::layout::Layout;
use quintet_base::{SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::function::sets::{LIVE_ROWS, RECORD_FIELD};
use quintet_ir::plan::Plan;

const LIVE: [&str; 6] = [
    "pg_stat_activity",
    "pg_stat_database",
    "pg_prepared_statements",
    "pg_locks",
    "quintet_waits",
    "quintet_contention",
];

/// The plan for a relation's rows; `None`: it is none of these.
pub(super) fn plan(layout: &Layout) -> Option<Plan> {
    if !LIVE.contains(&layout.name) {
        return None;
    }
    let name = Expr::Const(Value::text(layout.name), SqlType::Text);
    let rows = Expr::Call {
        function: &LIVE_ROWS,
        args: vec![name],
        ty: SqlType::RecordArray,
    };
    let columns = layout.columns.iter().zip(1..);
    let field = |(column, place): (&super::layout::Column, i32)| Expr::Call {
        function: &RECORD_FIELD,
        args: vec![
            Expr::Column(0, SqlType::Record),
            Expr::Const(Value::Int4(place), SqlType::Int4),
        ],
        ty: column.ty,
    };
    Some(Plan::Project {
        input: Box::new(Plan::Unnest { array: rows }),
        exprs: columns.map(field).collect(),
    })
}
