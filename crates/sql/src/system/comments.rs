//! pg_description: comments on objects.
//!
//! Relies on: the catalogue.  Promises: the comments that every database begins with, on the one extension that tools look for and
//! on the schema that is always there, too.  Does not: list comments on what the whole server shares.

use super::fixed::{PG_EXTENSION, PLPGSQL};
use super::{Definition, PG_NAMESPACE, PUBLIC, oid, text};
use crate::planner::PlanContext;
use quintet_base::Value;

pub(super) const RELATIONS: &[Definition] = &[Definition {
    name: "pg_description",
    columns: &["objoid", "classoid", "objsubid", "description"],
    rows: |planner| {
        let first = of_the_first(planner.context);
        let row = |(number, class, said): (u32, u32, &str)| {
            vec![oid(number), oid(class), Value::Int4(0), text(said)]
        };
        let mut rows: Vec<Vec<Value>> = first.map(row).collect();
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

/// Comments that are there from the beginning: the object, the relation that lists it, and the comment.
pub(super) fn of_the_first(
    context: &PlanContext<'_>,
) -> impl Iterator<Item = (u32, u32, &'static str)> {
    let (extension, said) = PLPGSQL;
    let first = [
        (extension, PG_EXTENSION, said),
        (PUBLIC, PG_NAMESPACE, "standard public schema"),
    ];
    let others = context.catalog.comments(PUBLIC).is_some() || !context.catalog.has_public();
    first
        .into_iter()
        .filter(move |(number, ..)| *number != PUBLIC || !others)
}
