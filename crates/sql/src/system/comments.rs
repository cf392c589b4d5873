//! pg_description: comments on objects.
//!
//! Relies on: the catalogue.  Promises: the comment on the one extension that tools look for, too.  Does not: list comments on what
//! the whole server shares.

use super::fixed::{PG_EXTENSION, PLPGSQL};
use super::{Definition, oid, text};
use quintet_base::Value;

pub(super) const RELATIONS: &[Definition] = &[Definition {
    name: "pg_description",
    columns: &["objoid", "classoid", "objsubid", "description"],
    rows: |planner| {
        let (number, said) = PLPGSQL;
        let mut rows = vec![vec![
            oid(number),
            oid(PG_EXTENSION),
            Value::Int4(0),
            text(said),
        ]];
        for (number, record) in planner.catalog().all_comments() {
            rows.extend(record.entries.iter().map(|entry| {
                vec![
                    oid(number),
                    oid(entry.class),
                    Value::Int4(entry.column),
                    text(&entry.text),
                ]
            }));
        }
        rows
    },
}];
