//! Relations that say the same in every database, and those that are empty here.
//!
//! Relies on: `base::types` for what types there are.  Promises: numbers as PostgreSQL's, which
//! clients know by heart.  Does not: list types that Quintet lacks.

use super::{
    DATABASE, Definition, INFORMATION_SCHEMA, OWNER, PG_CATALOG, PUBLIC, flag, oid, text, type_name,
};
use crate::planner::Planner;
use quintet_base::types::TypeFamily;
use quintet_base::{SqlType, Value};

use SqlType::{Bool, Int2, Int2Array, Int4, InternalChar, Name, Oid, Text, TextArray, TimestampTz};

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_namespace",
        oid: 2615,
        columns: &[
            ("oid", Oid),
            ("nspname", Name),
            ("nspowner", Oid),
            ("nspacl", TextArray),
        ],
        rows: |_| {
            let schemas = [
                (PG_CATALOG, "pg_catalog"),
                (PUBLIC, "public"),
                (INFORMATION_SCHEMA, "information_schema"),
            ];
            let row = |(number, name)| vec![oid(number), text(name), oid(OWNER), Value::Null];
            schemas.into_iter().map(row).collect()
        },
    },
    Definition {
        name: "pg_type",
        oid: 1247,
        columns: &[
            ("oid", Oid),
            ("typname", Name),
            ("typnamespace", Oid),
            ("typowner", Oid),
            ("typlen", Int2),
            ("typbyval", Bool),
            ("typtype", InternalChar),
            ("typcategory", InternalChar),
            ("typispreferred", Bool),
            ("typisdefined", Bool),
            ("typdelim", InternalChar),
            ("typrelid", Oid),
            ("typelem", Oid),
            ("typarray", Oid),
            ("typnotnull", Bool),
            ("typbasetype", Oid),
            ("typtypmod", Int4),
            ("typndims", Int4),
            ("typcollation", Oid),
            ("typdefault", Text),
        ],
        rows: types,
    },
    Definition {
        name: "pg_am",
        oid: 2601,
        columns: &[("oid", Oid), ("amname", Name), ("amtype", InternalChar)],
        rows: |_| {
            vec![
                vec![oid(2), text("heap"), text("t")],
                vec![oid(403), text("btree"), text("i")],
            ]
        },
    },
    Definition {
        name: "pg_database",
        oid: 1262,
        columns: &[
            ("oid", Oid),
            ("datname", Name),
            ("datdba", Oid),
            ("encoding", Int4),
            ("datlocprovider", InternalChar),
            ("datistemplate", Bool),
            ("datallowconn", Bool),
            ("datconnlimit", Int4),
            ("dattablespace", Oid),
            ("datcollate", Text),
            ("datctype", Text),
            ("datacl", TextArray),
        ],
        rows: |planner| {
            vec![vec![
                oid(DATABASE),
                text(planner.context.database),
                oid(OWNER),
                // UTF8.
                Value::Int4(6),
                text("c"),
                flag(false),
                flag(true),
                Value::Int4(-1),
                oid(1663),
                text("C"),
                text("C"),
                Value::Null,
            ]]
        },
    },
    Definition {
        name: "pg_roles",
        oid: 12_000,
        columns: &[
            ("oid", Oid),
            ("rolname", Name),
            ("rolsuper", Bool),
            ("rolinherit", Bool),
            ("rolcreaterole", Bool),
            ("rolcreatedb", Bool),
            ("rolcanlogin", Bool),
            ("rolreplication", Bool),
            ("rolconnlimit", Int4),
            ("rolpassword", Text),
            ("rolvaliduntil", TimestampTz),
            ("rolbypassrls", Bool),
            ("rolconfig", TextArray),
        ],
        rows: |planner| {
            vec![vec![
                oid(OWNER),
                text(planner.context.user),
                flag(true),
                flag(true),
                flag(true),
                flag(true),
                flag(true),
                flag(false),
                Value::Int4(-1),
                text("********"),
                Value::Null,
                flag(true),
                Value::Null,
            ]]
        },
    },
    Definition {
        name: "pg_partitioned_table",
        oid: 3350,
        columns: &[
            ("partrelid", Oid),
            ("partstrat", InternalChar),
            ("partnatts", Int2),
            ("partdefid", Oid),
            ("partattrs", Int2Array),
        ],
        rows: |_| vec![],
    },
    Definition {
        name: "pg_inherits",
        oid: 2611,
        columns: &[
            ("inhrelid", Oid),
            ("inhparent", Oid),
            ("inhseqno", Int4),
            ("inhdetachpending", Bool),
        ],
        rows: |_| vec![],
    },
    Definition {
        name: "pg_description",
        oid: 2609,
        columns: &[
            ("objoid", Oid),
            ("classoid", Oid),
            ("objsubid", Int4),
            ("description", Text),
        ],
        rows: |_| vec![],
    },
];

/// Every type that has an OID below the users'.
fn all_types() -> impl Iterator<Item = SqlType> {
    const LAST: u32 = 4_000;
    (1..LAST).filter_map(SqlType::from_oid)
}

fn types(_: &Planner) -> Vec<Vec<Value>> {
    let row = |ty: SqlType| {
        let (category, preferred) = match ty.family() {
            TypeFamily::Array => ("A", false),
            TypeFamily::Boolean => ("B", true),
            TypeFamily::DateTime => ("D", ty == SqlType::TimestampTz),
            TypeFamily::Integer | TypeFamily::Float | TypeFamily::Exact => {
                ("N", matches!(ty, SqlType::Float8 | SqlType::Oid))
            }
            TypeFamily::Text if ty == SqlType::InternalChar => ("Z", false),
            TypeFamily::Text => ("S", ty == SqlType::Text),
            TypeFamily::Unknown => ("X", false),
            TypeFamily::Timespan => ("T", true),
            TypeFamily::Void | TypeFamily::Record => ("P", false),
            TypeFamily::Binary | TypeFamily::Uuid | TypeFamily::Json => ("U", false),
        };
        let pseudo = matches!(
            ty.family(),
            TypeFamily::Void | TypeFamily::Unknown | TypeFamily::Record
        );
        let related = |other: Option<SqlType>| oid(other.map_or(0, SqlType::oid));
        vec![
            oid(ty.oid()),
            text(&type_name(ty)),
            oid(PG_CATALOG),
            oid(OWNER),
            Value::Int2(ty.type_len()),
            flag(matches!(ty.type_len(), 1..=8)),
            text(if pseudo { "p" } else { "b" }),
            text(category),
            flag(preferred),
            flag(true),
            text(","),
            oid(0),
            related(ty.element()),
            related(ty.array_of()),
            flag(false),
            oid(0),
            Value::Int4(-1),
            Value::Int4(0),
            oid(0),
            Value::Null,
        ]
    };
    all_types().map(row).collect()
}
