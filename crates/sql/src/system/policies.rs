//! pg_policy and pg_policies.
//!
//! Relies on: the catalogue.  Promises: conditions as `pg_get_expr` prints them.  Does not: say whom a policy concerns;
//! `row_security_active` does.

use super::constraints::printed_check;
use super::{Definition, flag, oid, text};
use crate::parse::parse;
use crate::planner::Planner;
use crate::records::{PolicyRecord, PolicyText};
use crate::routine::any_node;
use crate::view::{context_of, with_schemas};
use pg_query::{NodeEnum, NodeRef};
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
                    oid(table.relation().0),
                    text(&policy.command.to_string()),
                    flag(policy.permissive),
                    Value::Array(Box::new(Array {
                        shape: None,
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
                        shape: None,
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
    let mut found = Vec::new();
    for security in catalog.securities() {
        if let Some(table) = catalog.rows_of(security.table) {
            let policies = security.policies.iter();
            found.extend(policies.map(|policy| (TableRef::clone(&table), policy)));
        }
    }
    // Oldest first.
    found.sort_by_key(|(_, policy)| policy.id);
    let rows = found.into_iter();
    rows.map(|(table, policy)| row(&table, policy)).collect()
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
        text(&match with_query(planner, kept) {
            Some(shown) => shown,
            None => printed_check(planner, table, &kept.text, false),
        })
    })
}

/// A condition with a query in it, whose names mean to the reader what they meant to who made the policy.
fn with_query(planner: &Planner, kept: &PolicyText) -> Option<String> {
    const SELECT: &str = "SELECT ";
    let whole = format!("{SELECT}{}", kept.text);
    let parsed = parse(&whole).ok()?.pop()?.into_node()?;
    let NodeEnum::SelectStmt(select) = parsed else {
        return None;
    };
    let is_query = |node: &NodeRef| matches!(node, NodeRef::SubLink(_));
    if !any_node(&NodeEnum::SelectStmt(select.clone()), &is_query) {
        return None;
    }
    let context = context_of(planner.context, &kept.path);
    let within = Planner::new(&context, "", &[]);
    let shown = with_schemas(&within, planner, &whole, *select);
    let shown = shown.strip_prefix(SELECT)?.trim();
    Some(format!("({shown})"))
}
