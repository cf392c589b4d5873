//! pg_policy and pg_policies.
//!
//! Relies on: the catalogue.  Promises: conditions as `pg_get_expr` prints them.  Does not: say whom a policy concerns;
//! `row_security_active` does.

use super::constraints::printed_check;
use super::{Definition, flag, oid, text};
use crate::planner::Planner;
use crate::records::{PolicyRecord, PolicyText};
use quintet_base::value::Array;
use quintet_base::{RoleId, SqlType, Value};
use quintet_ir::schema::TableRef;

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_policy",
        columns: &[
            "oid",
            "polname",
            "polrelid",
            "polcmd",
            "polpermissive",
            "polroles",
            "polqual",
            "polwithcheck",
        ],
        rows: |planner| {
            rows(planner, |table, policy| {
                let roles = policy.roles.iter().map(|role| oid(role.0));
                vec![
                    oid(policy.id),
                    text(&policy.name),
                    oid(table.id.0),
                    text(&policy.command.to_string()),
                    flag(policy.permissive),
                    Value::Array(Box::new(Array {
                        element: SqlType::Oid,
                        values: roles.collect(),
                    })),
                    condition(planner, table, policy.using.as_ref()),
                    condition(planner, table, policy.check.as_ref()),
                ]
            })
        },
    },
    Definition {
        name: "pg_policies",
        columns: &[
            "schemaname",
            "tablename",
            "policyname",
            "permissive",
            "roles",
            "cmd",
            "qual",
            "with_check",
        ],
        rows: |planner| {
            rows(planner, |table, policy| {
                let roles = planner.catalog().roles();
                let names = policy.roles.iter().map(|role| match *role {
                    RoleId::PUBLIC => text("public"),
                    role => text(&roles.name(role)),
                });
                vec![
                    text(&table.schema),
                    text(&table.name),
                    text(&policy.name),
                    text(if policy.permissive {
                        "PERMISSIVE"
                    } else {
                        "RESTRICTIVE"
                    }),
                    Value::Array(Box::new(Array {
                        element: SqlType::Name,
                        values: names.collect(),
                    })),
                    text(command_word(policy)),
                    condition(planner, table, policy.using.as_ref()),
                    condition(planner, table, policy.check.as_ref()),
                ]
            })
        },
    },
];

fn rows(
    planner: &Planner,
    row: impl Fn(&TableRef, &PolicyRecord) -> Vec<Value>,
) -> Vec<Vec<Value>> {
    let catalog = planner.catalog();
    let mut rows = Vec::new();
    for security in catalog.securities() {
        if let Some(table) = catalog.table_by_id(security.table) {
            rows.extend(security.policies.iter().map(|policy| row(table, policy)));
        }
    }
    rows
}

/// What a policy is for, as CREATE POLICY says it.
pub(crate) fn command_word(policy: &PolicyRecord) -> &'static str {
    match policy.command {
        'r' => "SELECT",
        'a' => "INSERT",
        'w' => "UPDATE",
        'd' => "DELETE",
        _ => "ALL",
    }
}

fn condition(planner: &Planner, table: &TableRef, kept: Option<&PolicyText>) -> Value {
    kept.map_or(Value::Null, |kept| {
        text(&printed_check(planner, table, &kept.text, false))
    })
}
