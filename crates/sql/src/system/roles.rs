//! Roles and their memberships, and who owns what.
//!
//! Relies on: `role`.  Promises: only superusers see what is kept of passwords.  Does not: list settings of roles; there are
//! none.

use super::{DATABASE, Definition, flag, oid, text};
use crate::planner::Planner;
use crate::records::{DefaultsRecord, RoleRecord, SettingsRecord};
use crate::role::{AclItem as Item, OF_COLUMNS, Roles, acl_parse, acl_text, default_acl};
use quintet_base::value::Array;
use quintet_base::{RoleId, SqlError, SqlResult, SqlState, SqlType, Value};
use quintet_ir::{Object, ObjectKind, Privileges};
use std::sync::Arc;

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_authid",
        columns: &[
            "oid",
            "rolname",
            "rolsuper",
            "rolinherit",
            "rolcreaterole",
            "rolcreatedb",
            "rolcanlogin",
            "rolreplication",
            "rolbypassrls",
            "rolconnlimit",
            "rolpassword",
            "rolvaliduntil",
        ],
        rows: |planner| {
            let row = |role: &Arc<RoleRecord>| {
                vec![
                    oid(role.id.0),
                    text(&role.name),
                    flag(role.superuser),
                    flag(role.inherit),
                    flag(role.create_role),
                    flag(role.create_db),
                    flag(role.login),
                    flag(is_first(role)),
                    flag(is_first(role) || role.bypass),
                    Value::Int4(role.connection_limit),
                    role.verifier.as_deref().map_or(Value::Null, text),
                    until(role),
                ]
            };
            planner.catalog().roles().all().map(row).collect()
        },
    },
    Definition {
        name: "pg_default_acl",
        columns: &[
            "oid",
            "defaclrole",
            "defaclnamespace",
            "defaclobjtype",
            "defaclacl",
        ],
        rows: |planner| {
            let roles = planner.catalog().roles();
            let row = |record: &DefaultsRecord| {
                vec![
                    oid(record.number),
                    oid(record.role.0),
                    oid(record.schema),
                    text(record.kind.encode_utf8(&mut [0; 4])),
                    list_of(roles, &record.list()),
                ]
            };
            roles.all_defaults().map(row).collect()
        },
    },
    Definition {
        name: "pg_db_role_setting",
        columns: &["setdatabase", "setrole", "setconfig"],
        rows: |planner| {
            let row = |record: &SettingsRecord| {
                vec![
                    oid(if record.in_database { DATABASE } else { 0 }),
                    oid(record.role.0),
                    super::config(&record.settings),
                ]
            };
            planner.catalog().roles().all_settings().map(row).collect()
        },
    },
    Definition {
        name: "pg_auth_members",
        columns: &["roleid", "member", "grantor", "admin_option"],
        rows: |planner| {
            let all = planner.catalog().roles().all();
            let of = |role: &Arc<RoleRecord>| {
                let member = role.id;
                let groups = role.groups.clone().into_iter();
                groups.map(move |group| {
                    vec![
                        oid(group.role.0),
                        oid(member.0),
                        oid(group.grantor.0),
                        flag(group.admin),
                    ]
                })
            };
            all.flat_map(of).collect()
        },
    },
    Definition {
        name: "pg_init_privs",
        columns: &["objoid", "classoid", "objsubid", "privtype", "initprivs"],
        rows: |planner| {
            let roles = planner.catalog().roles();
            let row = |number: u32| {
                let object = Object {
                    kind: ObjectKind::Schema,
                    number,
                };
                let access = roles.access_of(object);
                let list = access.acl.as_ref()?;
                Some(vec![
                    oid(number),
                    oid(super::PG_NAMESPACE),
                    Value::Int4(0),
                    text("i"),
                    list_of(roles, list),
                ])
            };
            let own = [super::PG_CATALOG, super::INFORMATION_SCHEMA];
            own.into_iter().filter_map(row).collect()
        },
    },
    Definition {
        name: "pg_user",
        columns: &[
            "usename",
            "usesysid",
            "usecreatedb",
            "usesuper",
            "userepl",
            "usebypassrls",
            "passwd",
            "valuntil",
            "useconfig",
        ],
        rows: |planner| {
            let all = planner.catalog().roles().all().filter(|role| role.login);
            let row = |role: &Arc<RoleRecord>| {
                vec![
                    text(&role.name),
                    oid(role.id.0),
                    flag(role.create_db),
                    flag(role.superuser),
                    flag(is_first(role)),
                    flag(is_first(role) || role.bypass),
                    text("********"),
                    until(role),
                    config_of(planner, role),
                ]
            };
            all.map(row).collect()
        },
    },
];

const GRANT_COLUMNS: &[&str] = &[
    "grantor",
    "grantee",
    "table_catalog",
    "table_schema",
    "table_name",
    "privilege_type",
    "is_grantable",
    "with_hierarchy",
];

pub(super) const INFORMATION: &[Definition] = &[
    Definition {
        name: "table_privileges",
        columns: GRANT_COLUMNS,
        rows: |planner| grants(planner, true),
    },
    Definition {
        name: "role_table_grants",
        columns: GRANT_COLUMNS,
        rows: |planner| grants(planner, false),
    },
    Definition {
        name: "column_privileges",
        columns: COLUMN_GRANT_COLUMNS,
        rows: |planner| column_grants(planner, true),
    },
    Definition {
        name: "role_column_grants",
        columns: COLUMN_GRANT_COLUMNS,
        rows: |planner| column_grants(planner, false),
    },
];

const COLUMN_GRANT_COLUMNS: &[&str] = &[
    "grantor",
    "grantee",
    "table_catalog",
    "table_schema",
    "table_name",
    "column_name",
    "privilege_type",
    "is_grantable",
];

/// The same of columns: what was granted on each, and on the whole relation.
fn column_grants(planner: &Planner, with_public: bool) -> Vec<Vec<Value>> {
    let catalog = planner.catalog();
    let roles = catalog.roles();
    let reader = planner.context.user.role;
    let has = |role| roles.has_privileges_of(reader, role);
    let tables = catalog.tables_and_parts();
    let tables = tables.iter().map(|t| (t.relation().0, &t.schema, &t.name));
    let views = catalog.views().map(|v| (v.id.0, &v.schema, &v.name));
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for (number, schema, name) in tables.chain(views) {
        let kind = ObjectKind::Table;
        let access = roles.access_of(Object { kind, number });
        let of_relation = access.list(kind);
        let lists = roles.columns_of(number);
        for column in catalog.named_columns(number) {
            let own = lists.and_then(|lists| lists.get(&column.number));
            let first = rows.len();
            for item in of_relation.iter().chain(own.into_iter().flatten()) {
                let public = item.grantee == RoleId::PUBLIC;
                if !(public && with_public || !public && has(item.grantee) || has(item.grantor)) {
                    continue;
                }
                for (privilege, word, _) in Privileges::ALL {
                    if !(item.privileges & OF_COLUMNS).contains(privilege) {
                        continue;
                    }
                    let grantable = item.options.contains(privilege)
                        || !public && roles.has_privileges_of(item.grantee, access.owner);
                    let row = vec![
                        text(&roles.name(item.grantor)),
                        match public {
                            true => text("PUBLIC"),
                            false => text(&roles.name(item.grantee)),
                        },
                        text(planner.context.database),
                        text(schema),
                        text(name),
                        text(&column.name),
                        text(word),
                        text(if grantable { "YES" } else { "NO" }),
                    ];
                    if !rows[first..].contains(&row) {
                        rows.push(row);
                    }
                }
            }
        }
    }
    rows
}

/// Privileges on tables and views of whoever's privileges the reader has, and `with_public` what everybody has.
fn grants(planner: &Planner, with_public: bool) -> Vec<Vec<Value>> {
    let catalog = planner.catalog();
    let roles = catalog.roles();
    let reader = planner.context.user.role;
    let has = |role| roles.has_privileges_of(reader, role);
    let tables = catalog.tables_and_parts();
    let tables = tables.iter().map(|t| (t.relation().0, &t.schema, &t.name));
    let views = catalog.views().map(|v| (v.id.0, &v.schema, &v.name));
    let mut rows = Vec::new();
    for (number, schema, name) in tables.chain(views) {
        let kind = ObjectKind::Table;
        let access = roles.access_of(Object { kind, number });
        for item in access.list(kind).iter() {
            let public = item.grantee == RoleId::PUBLIC;
            if !(public && with_public || !public && has(item.grantee) || has(item.grantor)) {
                continue;
            }
            for (privilege, word, _) in Privileges::ALL {
                if !item.privileges.contains(privilege) {
                    continue;
                }
                let grantable = item.grantee == access.owner || item.options.contains(privilege);
                let yes = |is: bool| text(if is { "YES" } else { "NO" });
                rows.push(vec![
                    text(&roles.name(item.grantor)),
                    match public {
                        true => text("PUBLIC"),
                        false => text(&roles.name(item.grantee)),
                    },
                    text(planner.context.database),
                    text(schema),
                    text(name),
                    text(word),
                    yes(grantable),
                    yes(privilege == Privileges::SELECT),
                ]);
            }
        }
    }
    rows
}

/// The role that a database begins with has every right there is, also those that nothing here asks for.
fn is_first(role: &RoleRecord) -> bool {
    role.id.0 == super::OWNER
}

fn until(role: &RoleRecord) -> Value {
    role.valid_until.map_or(Value::Null, Value::TimestampTz)
}

/// pg_roles.
pub(super) fn roles(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |role: &Arc<RoleRecord>| {
        vec![
            oid(role.id.0),
            text(&role.name),
            flag(role.superuser),
            flag(role.inherit),
            flag(role.create_role),
            flag(role.create_db),
            flag(role.login),
            flag(is_first(role)),
            Value::Int4(role.connection_limit),
            text("********"),
            until(role),
            flag(is_first(role)),
            config_of(planner, role),
        ]
    };
    planner.catalog().roles().all().map(row).collect()
}

/// What is said of a role for its sessions.
fn config_of(planner: &Planner, role: &RoleRecord) -> Value {
    let own = planner.catalog().roles().own_settings(role.id);
    own.map_or(Value::Null, |own| super::config(&own.settings))
}

/// The name of an object's owner.
pub(super) fn owner_of(planner: &Planner, kind: ObjectKind, number: u32) -> String {
    let roles = planner.catalog().roles();
    let object = Object { kind, number };
    roles.name(roles.access_of(object).owner)
}

/// What `acldefault` says of a kind of object, by its letter.
///
/// # Errors
/// `XX000` for a letter that is none.
pub(super) fn default_access(planner: &Planner, letter: &str, owner: u32) -> SqlResult<Value> {
    let list = match letter {
        "r" => default_acl(ObjectKind::Table, RoleId(owner)),
        "s" => default_acl(ObjectKind::Sequence, RoleId(owner)),
        "f" => default_acl(ObjectKind::Routine, RoleId(owner)),
        "T" => default_acl(ObjectKind::Type, RoleId(owner)),
        "n" => default_acl(ObjectKind::Schema, RoleId(owner)),
        "d" => default_acl(ObjectKind::Database, RoleId(owner)),
        // What Quintet has none of.
        "c" | "l" | "L" | "t" | "F" | "S" | "p" => Vec::new(),
        letter => {
            let message = format!("unrecognized object type abbreviation: {letter}");
            return Err(SqlError::internal(message));
        }
    };
    let roles = planner.catalog().roles();
    Ok(list_of(roles, &list))
}

/// The rows of `aclexplode`: grantor, grantee, privilege, whether it may be granted on.
///
/// # Errors
/// `22P02` for an item that is none.
pub(super) fn exploded(planner: &Planner, list: &Value) -> SqlResult<Value> {
    let roles = planner.catalog().roles();
    let mut rows = Vec::new();
    let Value::Array(list) = list else {
        return Ok(Value::Null);
    };
    for item in list.values.iter().filter_map(|item| item.as_str()) {
        let item = acl_parse(roles, item).ok_or_else(|| {
            let message = format!("invalid input syntax for type aclitem: \"{item}\"");
            SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
        })?;
        for (privilege, name, _) in Privileges::ALL {
            if item.privileges.contains(privilege) {
                let values = vec![
                    oid(item.grantor.0),
                    oid(item.grantee.0),
                    text(name),
                    flag(item.options.contains(privilege)),
                ];
                rows.push(array(SqlType::Record, values));
            }
        }
    }
    Ok(array(SqlType::Record, rows))
}

fn array(element: SqlType, values: Vec<Value>) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element,
        values,
    }))
}

fn list_of(roles: &Roles, list: &[Item]) -> Value {
    let values = list.iter().map(|item| text(&acl_text(roles, item)));
    array(SqlType::Text, values.collect())
}

/// Puts access lists into the rows of columns that have one.
fn stamp_columns(planner: &Planner, relation: &Definition, rows: &mut [Vec<Value>]) {
    let roles = planner.catalog().roles();
    if roles.all_columns().next().is_none() {
        return;
    }
    let place = |name: &str| relation.columns.iter().position(|column| *column == name);
    let places = place("attrelid").zip(place("attnum")).zip(place("attacl"));
    let Some(((number, column), acl)) = places else {
        return;
    };
    for row in rows {
        if let (Value::Oid(number), Value::Int2(column)) = (&row[number], &row[column])
            && let Some(lists) = roles.columns_of(*number)
            && let Some(list) = u16::try_from(*column).ok().and_then(|it| lists.get(&it))
        {
            row[acl] = list_of(roles, list);
        }
    }
}

/// Puts owners and access lists into the rows of relations that list objects.
pub(super) fn stamp(planner: &Planner, relation: &Definition, rows: &mut [Vec<Value>]) {
    if relation.name == "pg_attribute" {
        return stamp_columns(planner, relation, rows);
    }
    let (kind, owner, acl) = match relation.name {
        "pg_class" => (ObjectKind::Table, "relowner", "relacl"),
        "pg_proc" => (ObjectKind::Routine, "proowner", "proacl"),
        "pg_namespace" => (ObjectKind::Schema, "nspowner", "nspacl"),
        "pg_type" => (ObjectKind::Type, "typowner", "typacl"),
        "pg_database" => (ObjectKind::Database, "datdba", "datacl"),
        _ => return,
    };
    let place = |name: &str| relation.columns.iter().position(|column| *column == name);
    let (Some(number), Some(owner)) = (place("oid"), place(owner)) else {
        return;
    };
    let acl = place(acl);
    let relkind = place("relkind");
    let catalog = planner.catalog();
    let roles = catalog.roles();
    for row in rows {
        let Value::Oid(number) = row[number] else {
            continue;
        };
        let relkind = relkind
            .and_then(|place| row[place].as_str())
            .map(str::to_string);
        let relkind = relkind.as_deref();
        let object = match relkind {
            Some("S") => Object {
                kind: ObjectKind::Sequence,
                number,
            },
            Some("i" | "I") => {
                let is_its = |table: &&quintet_ir::schema::TableRef| {
                    super::primary_key_oid(table.id) == number
                        || table.indexes.iter().any(|index| index.id.0 == number)
                };
                let Some(table) = catalog.tables().find(is_its) else {
                    continue;
                };
                Object {
                    kind: ObjectKind::Table,
                    number: table.id.0,
                }
            }
            _ => Object { kind, number },
        };
        let access = roles.access_of(object);
        row[owner] = oid(access.owner.0);
        let has_list = !matches!(relkind, Some("i" | "I"));
        if let (Some(list), Some(acl), true) = (&access.acl, acl, has_list) {
            row[acl] = list_of(roles, list);
        }
    }
}
