//! `pg_range`: of which types ranges are.
//!
//! Relies on: PostgreSQL's fixed numbers.  Promises: a row for each kind of range.  Does not: run the functions that it names;
//! nobody can call them.

use super::{Definition, oid};
use quintet_base::{RangeKind, SqlType, Value};

pub(super) const RELATIONS: &[Definition] = &[Definition {
    name: "pg_range",
    columns: &[
        "rngtypid",
        "rngsubtype",
        "rngmultitypid",
        "rngcollation",
        "rngsubopc",
        "rngcanonical",
        "rngsubdiff",
    ],
    rows: |_| {
        let row = |kind: RangeKind| {
            let (class, canonical, difference) = functions(kind);
            vec![
                oid(SqlType::Range(kind).oid()),
                oid(kind.subtype().oid()),
                oid(SqlType::Multirange(kind).oid()),
                oid(0),
                oid(class),
                Value::Oid(canonical),
                Value::Oid(difference),
            ]
        };
        RangeKind::ALL.into_iter().map(row).collect()
    },
}];

/// The class by which bounds are ordered, and the functions that make a range's one form and tell how far bounds are apart.
fn functions(kind: RangeKind) -> (u32, u32, u32) {
    match kind {
        RangeKind::Int4 => (1978, 3914, 3922),
        RangeKind::Int8 => (3124, 3928, 3923),
        RangeKind::Num => (3125, 0, 3924),
        RangeKind::Ts => (3128, 0, 3929),
        RangeKind::TsTz => (3127, 0, 3930),
        RangeKind::Date => (3122, 3915, 3925),
    }
}
