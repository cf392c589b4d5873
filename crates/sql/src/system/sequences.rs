//! pg_sequence, and the row that a sequence shows of itself.
//!
//! Relies on: the catalogue; the session, for where a sequence stands.  Promises: that row is of the moment in which it is read.
//! Does not: say which column a sequence belongs to (`dependencies`).

use super::{Definition, flag, live, oid};
use crate::planner::Planner;
use quintet_base::{SequenceId, SqlType, Value};
use quintet_ir::function::{self, sets::SEQUENCE_ROW};
use quintet_ir::plan::Plan;
use quintet_ir::{Expr, SequenceDef};
use std::sync::Arc;

pub(super) const RELATIONS: &[Definition] = &[Definition {
    name: "pg_sequence",
    columns: &[
        "seqrelid",
        "seqtypid",
        "seqstart",
        "seqincrement",
        "seqmax",
        "seqmin",
        "seqcache",
        "seqcycle",
    ],
    rows: sequences,
}];

/// What can be selected from a sequence.
pub(crate) const SEQUENCE_COLUMNS: [(&str, SqlType); 3] = [
    ("last_value", SqlType::Int8),
    ("log_cnt", SqlType::Int8),
    ("is_called", SqlType::Bool),
];

/// The one row of a sequence, as it is when the statement runs.
pub(crate) fn of_sequence(sequence: SequenceId) -> Plan {
    let number = Expr::Const(oid(sequence.0), SqlType::Oid);
    let types = SEQUENCE_COLUMNS.iter().map(|(_, ty)| *ty);
    live::rows_of(&SEQUENCE_ROW, number, types)
}

/// Where the sequence of this number stands when the statement runs, for those who may see it.
pub(super) fn last_value(number: Value) -> Expr {
    let number = |ty| Expr::Const(number.clone(), ty);
    let call = |name, args: Vec<Expr>| {
        let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
        let resolved = function::resolve(name, &types).expect("a function of the system is there");
        Expr::Call {
            function: resolved.function,
            args,
            ty: resolved.result,
        }
    };
    let any = Expr::Const(Value::text("SELECT, USAGE"), SqlType::Text);
    let may = call("has_sequence_privilege", vec![number(SqlType::Oid), any]);
    let stands = call("pg_sequence_last_value", vec![number(SqlType::RegClass)]);
    Expr::Case {
        branches: vec![(may, stands)],
        otherwise: None,
        ty: SqlType::Int8,
    }
}

fn sequences(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |sequence: &Arc<SequenceDef>| {
        vec![
            oid(sequence.id.0),
            oid(sequence.ty.oid()),
            Value::Int8(sequence.start),
            Value::Int8(sequence.increment),
            Value::Int8(sequence.max),
            Value::Int8(sequence.min),
            Value::Int8(sequence.cache),
            flag(sequence.cycle),
        ]
    };
    planner.catalog().sequences().map(row).collect()
}
