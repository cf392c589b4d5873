//! `pg_database`.
//!
//! Relies on: the catalogue for the names of databases.  Promises: the database of the session is the one with the fixed number, whatever
//! it is called, so that what others say of it finds it; each other name has a row of its own.  Does not: count connections.

use super::{DATABASE, OWNER, flag, oid, text};
use crate::databases::{DatabaseStand, FIRST_NAME};
use crate::planner::Planner;
use quintet_base::Value;

/// Of the first database, if no other name of it is known.
const FIRST: u32 = 1;

/// The rows of `pg_database`; owner and privileges of the session's own come later.
pub(super) fn rows(planner: &Planner) -> Vec<Vec<Value>> {
    let current = planner.context.database;
    let mut rows = vec![row(DATABASE, current, OWNER)];
    let records = planner.catalog().database_records();
    let is_own = |name: &str| {
        let found = planner.catalog().database_named(name);
        found.is_some_and(|record| matches!(record.stand, DatabaseStand::Own(_)))
    };
    let first_is_named = records
        .values()
        .any(|record| record.stand == DatabaseStand::First);
    if is_own(current) && !first_is_named {
        rows.push(row(FIRST, FIRST_NAME, OWNER));
    }
    for record in records.values() {
        if record.name != current && record.stand != DatabaseStand::Gone {
            rows.push(row(record.number, &record.name, record.owner.0));
        }
    }
    rows
}

fn row(number: u32, name: &str, owner: u32) -> Vec<Value> {
    const UTF8: i32 = 6;
    vec![
        oid(number),
        text(name),
        oid(owner),
        Value::Int4(UTF8),
        text("c"),
        flag(false),
        flag(true),
        Value::Int4(-1),
        oid(1663),
        text("C"),
        text("C"),
        Value::Null,
    ]
}
