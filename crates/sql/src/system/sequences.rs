//! pg_sequence, and pg_depend: which column a sequence belongs to.
//!
//! Relies on: the catalogue.  Promises: pg_depend has what tools ask it for: sequences that go with a column.  Does not: list
//! what else depends on what.

use super::{Definition, PG_CLASS, flag, oid, text};
use crate::planner::Planner;
use quintet_base::{SqlType, Value};
use quintet_ir::SequenceDef;
use std::sync::Arc;

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
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
    },
    Definition {
        name: "pg_depend",
        columns: &[
            "classid",
            "objid",
            "objsubid",
            "refclassid",
            "refobjid",
            "refobjsubid",
            "deptype",
        ],
        rows: dependencies,
    },
];

/// What can be selected from a sequence.
pub(super) const SEQUENCE_COLUMNS: [(&str, SqlType); 3] = [
    ("last_value", SqlType::Int8),
    ("log_cnt", SqlType::Int8),
    ("is_called", SqlType::Bool),
];

fn sequences(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |sequence: &Arc<SequenceDef>| {
        vec![
            oid(sequence.id.0),
            oid(sequence.ty.oid()),
            Value::Int8(sequence.start),
            Value::Int8(sequence.increment),
            Value::Int8(sequence.max),
            Value::Int8(sequence.min),
            Value::Int8(1),
            flag(sequence.cycle),
        ]
    };
    planner.catalog().sequences().map(row).collect()
}

/// Sequences and the columns that own them.
fn dependencies(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |sequence: &Arc<SequenceDef>| {
        let (table, column) = sequence.owned_by?;
        let owner = planner.catalog().table_by_id(table)?;
        let identity = owner.columns.get(column)?.identity.is_some();
        Some(vec![
            oid(PG_CLASS),
            oid(sequence.id.0),
            Value::Int4(0),
            oid(PG_CLASS),
            oid(table.0),
            Value::Int4(column as i32 + 1),
            text(if identity { "i" } else { "a" }),
        ])
    };
    planner.catalog().sequences().filter_map(row).collect()
}
