//! Relations that say the same in every database, and those that are empty here.
//!
//! Relies on: `base::types` for what types there are.  Promises: numbers as PostgreSQL's, which
//! clients know by heart.  Does not: list types that Quintet lacks.

use super::index_properties::{BRIN, BTREE, GIN, GIST, HASH, SPGIST};
use super::layout::Layout;
use super::type_functions::{self, functions};
use super::type_layout::{COLLATIONS, alignment_of, collation_of, storage_of};
use super::{Definition, OWNER, PG_CATALOG, flag, oid, text, type_name};
use crate::kept_settings::KEPT_SETTINGS;
use crate::planner::Planner;
use quintet_base::types::TypeFamily;
use quintet_base::{SqlType, Value};
use quintet_ir::Expr;
use quintet_ir::function;
use quintet_ir::function::extension::EXTENSIONS;

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_namespace",
        columns: &["oid", "nspname", "nspowner", "nspacl"],
        rows: |planner| {
            let row = |(number, name): (u32, String)| {
                vec![oid(number), text(&name), oid(OWNER), Value::Null]
            };
            super::schemas(planner.catalog())
                .into_iter()
                .map(row)
                .collect()
        },
    },
    Definition {
        name: "pg_type",
        columns: &[
            "oid",
            "typname",
            "typnamespace",
            "typowner",
            "typlen",
            "typbyval",
            "typtype",
            "typcategory",
            "typispreferred",
            "typisdefined",
            "typdelim",
            "typrelid",
            "typelem",
            "typarray",
            "typnotnull",
            "typbasetype",
            "typtypmod",
            "typndims",
            "typcollation",
            "typalign",
            "typstorage",
            "typdefault",
            "typdefaultbin",
            "typinput",
            "typoutput",
            "typreceive",
            "typsend",
            "typmodin",
            "typmodout",
            "typanalyze",
            "typsubscript",
            "typacl",
        ],
        rows: |planner| {
            let mut rows = types(planner);
            for row in &mut rows {
                // What is kept of an expression is its text.
                row.extend(row.last().cloned());
                row.extend(functions_of(row));
                // `roles::stamp` knows it.
                row.push(Value::Null);
            }
            rows
        },
    },
    Definition {
        name: "pg_am",
        columns: &["oid", "amname", "amtype"],
        rows: |_| {
            vec![
                vec![oid(2), text("heap"), text("t")],
                vec![oid(BTREE), text("btree"), text("i")],
                vec![oid(HASH), text("hash"), text("i")],
                vec![oid(GIST), text("gist"), text("i")],
                vec![oid(GIN), text("gin"), text("i")],
                vec![oid(SPGIST), text("spgist"), text("i")],
                vec![oid(BRIN), text("brin"), text("i")],
            ]
        },
    },
    Definition {
        name: "pg_database",
        columns: &[
            "oid",
            "datname",
            "datdba",
            "encoding",
            "datlocprovider",
            "datistemplate",
            "datallowconn",
            "datconnlimit",
            "dattablespace",
            "datcollate",
            "datctype",
            "datacl",
        ],
        rows: super::databases::rows,
    },
    Definition {
        name: "pg_roles",
        columns: &[
            "oid",
            "rolname",
            "rolsuper",
            "rolinherit",
            "rolcreaterole",
            "rolcreatedb",
            "rolcanlogin",
            "rolreplication",
            "rolconnlimit",
            "rolpassword",
            "rolvaliduntil",
            "rolbypassrls",
            "rolconfig",
        ],
        rows: super::roles::roles,
    },
    Definition {
        name: "pg_tablespace",
        columns: &["oid", "spcname", "spcowner"],
        rows: |_| {
            vec![
                vec![oid(1663), text("pg_default"), oid(OWNER)],
                vec![oid(1664), text("pg_global"), oid(OWNER)],
            ]
        },
    },
    Definition {
        name: "pg_collation",
        columns: &[
            "oid",
            "collname",
            "collnamespace",
            "collowner",
            "collprovider",
            "collisdeterministic",
            "collencoding",
            "collcollate",
            "collctype",
        ],
        rows: |_| {
            let row = |(number, name): (u32, &str)| {
                let (provider, own) = match name {
                    "default" => ("d", Value::Null),
                    name => ("c", text(name)),
                };
                vec![
                    oid(number),
                    text(name),
                    oid(PG_CATALOG),
                    oid(OWNER),
                    text(provider),
                    flag(true),
                    Value::Int4(-1),
                    own.clone(),
                    own,
                ]
            };
            COLLATIONS.map(row).into()
        },
    },
    Definition {
        name: "pg_extension",
        columns: &[
            "oid",
            "extname",
            "extowner",
            "extnamespace",
            "extrelocatable",
            "extversion",
        ],
        rows: |planner| {
            let row = |number, name: &str, schema, movable, version: &str| {
                vec![
                    oid(number),
                    text(name),
                    oid(OWNER),
                    oid(schema),
                    flag(movable),
                    text(version),
                ]
            };
            let catalog = planner.catalog();
            let schemas = super::schemas(catalog);
            let number = |schema: &str| {
                let found = schemas.iter().find(|(_, name)| name == schema);
                found.map_or(0, |(number, _)| *number)
            };
            let mut rows = vec![row(PLPGSQL.0, "plpgsql", PG_CATALOG, false, "1.0")];
            rows.extend(catalog.extensions().map(|(id, record)| {
                let known = EXTENSIONS.iter().find(|known| known.name == record.name);
                let version = known.map_or("", |known| known.version);
                row(id, &record.name, number(&record.schema), true, version)
            }));
            rows
        },
    },
    Definition {
        name: "pg_available_extensions",
        columns: &["name", "default_version", "installed_version", "comment"],
        rows: |planner| {
            let plpgsql = ("plpgsql", "1.0", PLPGSQL.1);
            let known = EXTENSIONS
                .iter()
                .map(|known| (known.name, known.version, known.comment));
            let row = |(name, version, comment): (&str, &str, &str)| {
                let mut made = planner.catalog().extensions();
                let there = name == plpgsql.0 || made.any(|(_, record)| record.name == name);
                let installed = if there { text(version) } else { Value::Null };
                vec![text(name), text(version), installed, text(comment)]
            };
            known.chain([plpgsql]).map(row).collect()
        },
    },
];

/// The one extension's number, and what is said of it.
pub(super) const PLPGSQL: (u32, &str) = (13_563, "PL/pgSQL procedural language");
/// Number of the relation `pg_extension`, which comments on it name.
pub(super) const PG_EXTENSION: u32 = 3079;

/// Every type that is built in, by their numbers, but for those that `pseudo_types` has.
fn all_types() -> impl Iterator<Item = SqlType> {
    let mut types: Vec<SqlType> = SqlType::built_in()
        .filter(|ty| *ty != SqlType::Cstring)
        .collect();
    types.sort_by_key(|ty| ty.oid());
    types.into_iter()
}

/// PostgreSQL's category of a type, and whether the category prefers it.
pub(super) fn category(ty: SqlType) -> (&'static str, bool) {
    match ty.family() {
        TypeFamily::Array if ty == SqlType::RecordArray => ("P", false),
        TypeFamily::Array => ("A", false),
        TypeFamily::Boolean => ("B", true),
        TypeFamily::DateTime => ("D", ty == SqlType::TimestampTz),
        TypeFamily::Integer | TypeFamily::Float | TypeFamily::Exact => {
            ("N", matches!(ty, SqlType::Float8 | SqlType::Oid))
        }
        TypeFamily::Money => ("N", false),
        TypeFamily::Geometry => ("G", false),
        TypeFamily::Text if ty == SqlType::InternalChar => ("Z", false),
        TypeFamily::Text => ("S", ty == SqlType::Text),
        TypeFamily::Caseless => ("S", false),
        TypeFamily::Unknown => ("X", false),
        TypeFamily::Timespan => ("T", true),
        _ if matches!(ty, SqlType::Composite(_)) => ("C", false),
        TypeFamily::Void | TypeFamily::Record => ("P", false),
        TypeFamily::Network => ("I", ty == SqlType::Inet),
        TypeFamily::Bits => ("V", ty == SqlType::VarBit),
        TypeFamily::Binary
        | TypeFamily::Uuid
        | TypeFamily::Card
        | TypeFamily::Search
        | TypeFamily::Pairs
        | TypeFamily::Place
        | TypeFamily::Transaction
        | TypeFamily::Json => ("U", false),
        TypeFamily::Enum => ("E", false),
        TypeFamily::Range | TypeFamily::Multirange => ("R", false),
    }
}

/// The functions that read and write the values of the type that a row of `pg_type` is about.
fn functions_of(row: &[Value]) -> [Value; 8] {
    let number = |value: &Value| match value {
        Value::Oid(number) => *number,
        _ => 0,
    };
    let [
        own,
        _,
        _,
        _,
        _,
        _,
        kind,
        _,
        _,
        _,
        _,
        _,
        element,
        _,
        _,
        base,
        ..,
    ] = row
    else {
        return [const { Value::Oid(0) }; 8];
    };
    functions(&type_functions::Described {
        number: number(own),
        kind: kind.as_str().unwrap_or_default(),
        element: number(element),
        base: number(base),
    })
}

fn types(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |ty: SqlType| {
        let (category, preferred) = category(ty);
        let kind = match ty.family() {
            _ if matches!(ty, SqlType::Composite(_)) => "c",
            TypeFamily::Void | TypeFamily::Unknown | TypeFamily::Record => "p",
            TypeFamily::Range => "r",
            TypeFamily::Multirange => "m",
            _ => "b",
        };
        let related = |other: Option<SqlType>| oid(other.map_or(0, SqlType::oid));
        vec![
            oid(ty.oid()),
            text(&type_name(ty)),
            oid(PG_CATALOG),
            oid(OWNER),
            Value::Int2(ty.type_len()),
            flag(ty.is_by_value()),
            text(kind),
            text(category),
            flag(preferred),
            flag(true),
            text(&char::from(ty.element().unwrap_or(ty).delimiter()).to_string()),
            oid(0),
            related(ty.element().or(ty.part())),
            related(ty.array_of()),
            flag(false),
            oid(0),
            Value::Int4(-1),
            Value::Int4(0),
            oid(collation_of(ty)),
            text(alignment_of(ty)),
            text(storage_of(ty)),
            Value::Null,
        ]
    };
    let made = super::types::types(planner);
    let rows = super::row_types::types(planner);
    let built_in = all_types().map(row).chain(super::pseudo_types::types());
    built_in.chain(made).chain(rows).collect()
}

/// Settings that clients look for, with what PostgreSQL says of their kind.
const SETTINGS: &[(&str, &str, &str)] = &[
    (
        "application_name",
        "Reporting and Logging / What to Log",
        "string",
    ),
    (
        "bytea_output",
        "Client Connection Defaults / Statement Behavior",
        "enum",
    ),
    (
        "client_encoding",
        "Client Connection Defaults / Locale and Formatting",
        "string",
    ),
    (
        "DateStyle",
        "Client Connection Defaults / Locale and Formatting",
        "string",
    ),
    (
        "default_transaction_isolation",
        "Client Connection Defaults / Statement Behavior",
        "enum",
    ),
    (
        "default_transaction_read_only",
        "Client Connection Defaults / Statement Behavior",
        "bool",
    ),
    (
        "extra_float_digits",
        "Client Connection Defaults / Locale and Formatting",
        "integer",
    ),
    (
        "IntervalStyle",
        "Client Connection Defaults / Locale and Formatting",
        "enum",
    ),
    (
        "lock_timeout",
        "Client Connection Defaults / Statement Behavior",
        "integer",
    ),
    (
        "password_encryption",
        "Connections and Authentication / Authentication",
        "enum",
    ),
    (
        "search_path",
        "Client Connection Defaults / Statement Behavior",
        "string",
    ),
    (
        "session_replication_role",
        "Client Connection Defaults / Statement Behavior",
        "enum",
    ),
    ("server_encoding", "Preset Options", "string"),
    ("server_version", "Preset Options", "string"),
    ("server_version_num", "Preset Options", "integer"),
    (
        "standard_conforming_strings",
        "Version and Platform Compatibility",
        "bool",
    ),
    (
        "statement_timeout",
        "Client Connection Defaults / Statement Behavior",
        "integer",
    ),
    (
        "TimeZone",
        "Client Connection Defaults / Locale and Formatting",
        "string",
    ),
    ("max_index_keys", "Preset Options", "integer"),
    ("max_identifier_length", "Preset Options", "integer"),
    (
        "max_prepared_transactions",
        "Resource Usage / Memory",
        "integer",
    ),
    (
        "check_function_bodies",
        "Client Connection Defaults / Statement Behavior",
        "bool",
    ),
    (
        "client_min_messages",
        "Client Connection Defaults / Statement Behavior",
        "enum",
    ),
    (
        "default_table_access_method",
        "Client Connection Defaults / Statement Behavior",
        "string",
    ),
    (
        "default_tablespace",
        "Client Connection Defaults / Statement Behavior",
        "string",
    ),
    (
        "default_text_search_config",
        "Client Connection Defaults / Locale and Formatting",
        "string",
    ),
    (
        "default_transaction_deferrable",
        "Client Connection Defaults / Statement Behavior",
        "bool",
    ),
    (
        "idle_in_transaction_session_timeout",
        "Client Connection Defaults / Statement Behavior",
        "integer",
    ),
    (
        "idle_session_timeout",
        "Client Connection Defaults / Statement Behavior",
        "integer",
    ),
    ("in_hot_standby", "Preset Options", "bool"),
    ("integer_datetimes", "Preset Options", "bool"),
    ("pg_trgm.similarity_threshold", "Customized Options", "real"),
    (
        "pg_trgm.strict_word_similarity_threshold",
        "Customized Options",
        "real",
    ),
    (
        "pg_trgm.word_similarity_threshold",
        "Customized Options",
        "real",
    ),
    ("quintet.as_of", "Customized Options", "string"),
    ("quintet.engine", "Customized Options", "enum"),
    ("quintet.group_reads", "Customized Options", "bool"),
    (
        "synchronize_seqscans",
        "Version and Platform Compatibility / Previous PostgreSQL Versions",
        "bool",
    ),
    (
        "row_security",
        "Client Connection Defaults / Statement Behavior",
        "bool",
    ),
    ("synchronous_commit", "Write-Ahead Log / Settings", "enum"),
    (
        "transaction_deferrable",
        "Client Connection Defaults / Statement Behavior",
        "bool",
    ),
    (
        "transaction_isolation",
        "Client Connection Defaults / Statement Behavior",
        "enum",
    ),
    (
        "transaction_read_only",
        "Client Connection Defaults / Statement Behavior",
        "bool",
    ),
    ("work_mem", "Resource Usage / Memory", "integer"),
    (
        "xmloption",
        "Client Connection Defaults / Statement Behavior",
        "enum",
    ),
];

/// What a setting counts, if it is shown with units.
fn unit(name: &str) -> Option<&'static str> {
    match name {
        "idle_in_transaction_session_timeout"
        | "idle_session_timeout"
        | "lock_timeout"
        | "statement_timeout" => Some("ms"),
        "work_mem" => Some("kB"),
        _ => None,
    }
}

/// The rows of `pg_settings`: values are asked of the session when the statement runs.
pub(super) fn settings(layout: &Layout) -> Vec<Vec<Expr>> {
    let row = |&(name, category, kind): &(&str, &str, &str)| {
        let value = || {
            let constant = |value, ty| Expr::Const(value, ty);
            let mut args = vec![
                constant(text(name), SqlType::Text),
                constant(flag(true), SqlType::Bool),
            ];
            let types = [SqlType::Text, SqlType::Bool];
            let found = match unit(name) {
                None => function::resolve("current_setting", &types),
                Some(_) => {
                    args.truncate(1);
                    function::resolve("[setting]", &types[..1])
                }
            };
            match found {
                Ok(found) => Expr::Call {
                    function: found.function,
                    args,
                    ty: found.result,
                },
                Err(_) => Expr::null(SqlType::Text),
            }
        };
        let column = |column: &super::layout::Column| match column.name {
            "name" => Expr::Const(text(name), column.ty),
            "setting" => match name {
                // PostgreSQL's own bounds, which drivers read from here.
                "max_index_keys" => Expr::Const(text("32"), column.ty),
                "max_identifier_length" => Expr::Const(text("63"), column.ty),
                "max_prepared_transactions" => Expr::Const(text("0"), column.ty),
                _ => value(),
            },
            "unit" => match unit(name) {
                Some(unit) => Expr::Const(text(unit), column.ty),
                None => Expr::Const(Value::Null, column.ty),
            },
            "category" => Expr::Const(text(category), column.ty),
            "vartype" => Expr::Const(text(kind), column.ty),
            "context" => Expr::Const(text("user"), column.ty),
            "source" => Expr::Const(text("default"), column.ty),
            "pending_restart" => Expr::Const(flag(false), column.ty),
            _ => Expr::Const(Value::Null, column.ty),
        };
        layout.columns.iter().map(column).collect()
    };
    let kept = KEPT_SETTINGS.iter();
    let kept = kept.map(|kept| (kept.name, kept.category, kept.kind));
    let all: Vec<_> = SETTINGS.iter().copied().chain(kept).collect();
    all.iter().map(row).collect()
}
