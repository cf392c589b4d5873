//! Relations whose rows are what the server does at the moment: made when a statement runs, not when it is planned.
//!
//! Relies on: the session's `Objects`, which is asked for the rows by the relation's name.  Promises: a plan over such a
//! relation is as good as any other and finds other rows each time it is run; within one statement each place that
//! names the relation asks once.  Does not: make rows (`embed` does).

use super::layout::Layout;
use quintet_base::{SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::function::Function;
use quintet_ir::function::sets::{LIVE_ROWS, RECORD_FIELD};
use quintet_ir::plan::Plan;

const LIVE: [&str; 7] = [
    "pg_stat_activity",
    "pg_stat_database",
    "pg_prepared_statements",
    "pg_cursors",
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
    let types = layout.columns.iter().map(|column| column.ty);
    Some(rows_of(&LIVE_ROWS, name, types))
}

/// Rows with fields of these types, from a function that gives them as records.
pub(super) fn rows_of(
    function: &'static Function,
    argument: Expr,
    types: impl Iterator<Item = SqlType>,
) -> Plan {
    let rows = Expr::Call {
        function,
        args: vec![argument],
        ty: SqlType::RecordArray,
    };
    let field = |(ty, place): (SqlType, i32)| Expr::Call {
        function: &RECORD_FIELD,
        args: vec![
            Expr::Column(0, SqlType::Record),
            Expr::Const(Value::Int4(place), SqlType::Int4),
        ],
        ty,
    };
    Plan::Project {
        input: Box::new(Plan::Unnest { array: rows }),
        exprs: types.zip(1..).map(field).collect(),
    }
}
