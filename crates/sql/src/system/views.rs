//! Views over the catalogue: those of `pg_catalog` for people, and `information_schema`.
//!
//! Relies on: the catalogue.  Promises: columns as PostgreSQL's, those that are cheap.
//! Does not: answer for other schemas' tables differently than for `public`.

use super::{Definition, flag, text, type_name};
use crate::planner::Planner;
use quintet_base::types::{TypeFamily, format_type};
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::schema::{Identity, TableDef};

use SqlType::{Bool, Int4, Name, Text};

pub(super) const PG: &[Definition] = &[
    Definition {
        name: "pg_tables",
        oid: 12_010,
        columns: &[
            ("schemaname", Name),
            ("tablename", Name),
            ("tableowner", Name),
            ("tablespace", Name),
            ("hasindexes", Bool),
            ("hasrules", Bool),
            ("hastriggers", Bool),
            ("rowsecurity", Bool),
        ],
        rows: |planner| {
            let row = |table: &std::sync::Arc<TableDef>| {
                vec![
                    text(&table.schema),
                    text(&table.name),
                    text(planner.context.user),
                    Value::Null,
                    flag(table.primary_key.is_some() || !table.indexes.is_empty()),
                    flag(false),
                    flag(false),
                    flag(false),
                ]
            };
            planner.catalog().tables().map(row).collect()
        },
    },
    Definition {
        name: "pg_indexes",
        oid: 12_011,
        columns: &[
            ("schemaname", Name),
            ("tablename", Name),
            ("indexname", Name),
            ("tablespace", Name),
            ("indexdef", Text),
        ],
        rows: indexes,
    },
];

pub(super) const INFORMATION: &[Definition] = &[
    Definition {
        name: "tables",
        oid: 13_010,
        columns: &[
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("table_type", Text),
            ("is_insertable_into", Text),
            ("is_typed", Text),
        ],
        rows: |planner| {
            let row = |table: &std::sync::Arc<TableDef>| {
                vec![
                    text(planner.context.database),
                    text(&table.schema),
                    text(&table.name),
                    text("BASE TABLE"),
                    text("YES"),
                    text("NO"),
                ]
            };
            planner.catalog().tables().map(row).collect()
        },
    },
    Definition {
        name: "columns",
        oid: 13_011,
        columns: &[
            ("table_catalog", Name),
            ("table_schema", Name),
            ("table_name", Name),
            ("column_name", Name),
            ("ordinal_position", Int4),
            ("column_default", Text),
            ("is_nullable", Text),
            ("data_type", Text),
            ("character_maximum_length", Int4),
            ("numeric_precision", Int4),
            ("numeric_scale", Int4),
            ("udt_schema", Name),
            ("udt_name", Name),
            ("is_identity", Text),
            ("identity_generation", Text),
            ("is_updatable", Text),
        ],
        rows: columns,
    },
    Definition {
        name: "schemata",
        oid: 13_012,
        columns: &[
            ("catalog_name", Name),
            ("schema_name", Name),
            ("schema_owner", Name),
        ],
        rows: |planner| {
            let schemas = ["pg_catalog", "public", "information_schema"];
            let row = |name| {
                vec![
                    text(planner.context.database),
                    text(name),
                    text(planner.context.user),
                ]
            };
            schemas.into_iter().map(row).collect()
        },
    },
];

fn indexes(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        let mut add = |name: &str, columns: &[usize], unique: bool| {
            let columns: Vec<&str> = columns
                .iter()
                .map(|&c| table.columns[c].name.as_str())
                .collect();
            let definition = format!(
                "CREATE {}INDEX {name} ON {}.{} USING btree ({})",
                if unique { "UNIQUE " } else { "" },
                table.schema,
                table.name,
                columns.join(", ")
            );
            rows.push(vec![
                text(&table.schema),
                text(&table.name),
                text(name),
                Value::Null,
                text(&definition),
            ]);
        };
        if let Some(key) = &table.primary_key {
            add(&key.name, &key.columns, true);
        }
        for index in &table.indexes {
            add(&index.name, &index.columns, index.unique);
        }
    }
    rows
}

fn columns(planner: &Planner) -> Vec<Vec<Value>> {
    let yes_or_no = |yes: bool| text(if yes { "YES" } else { "NO" });
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        let record = planner.catalog().record(table.id);
        for (position, (number, column)) in table.visible_columns().enumerate() {
            let default = record.and_then(|r| r.columns[number].default.as_deref());
            let length = match column.ty.family() {
                TypeFamily::Text => column.modifier.as_length(),
                _ => None,
            };
            let (precision, scale) = match column.ty {
                SqlType::Int2 => (Some(16), Some(0)),
                SqlType::Int4 => (Some(32), Some(0)),
                SqlType::Int8 => (Some(64), Some(0)),
                SqlType::Float4 => (Some(24), None),
                SqlType::Float8 => (Some(53), None),
                SqlType::Numeric => match column.modifier.as_precision_scale() {
                    Some((precision, scale)) => {
                        (Some(i32::from(precision)), Some(i32::from(scale)))
                    }
                    None => (None, None),
                },
                _ => (None, None),
            };
            let number_or_null = |number: Option<i32>| number.map_or(Value::Null, Value::Int4);
            let data_type = match column.ty.family() {
                TypeFamily::Array => "ARRAY".to_string(),
                _ => format_type(column.ty, TypeMod::NONE),
            };
            rows.push(vec![
                text(planner.context.database),
                text(&table.schema),
                text(&table.name),
                text(&column.name),
                Value::Int4(position as i32 + 1),
                match default {
                    Some(default) if column.identity.is_none() => text(default),
                    _ => Value::Null,
                },
                yes_or_no(!column.not_null),
                text(&data_type),
                number_or_null(length.and_then(|n| i32::try_from(n).ok())),
                number_or_null(precision),
                number_or_null(scale),
                text("pg_catalog"),
                text(&type_name(column.ty)),
                yes_or_no(column.identity.is_some()),
                match column.identity {
                    Some(Identity::Always) => text("ALWAYS"),
                    Some(Identity::ByDefault) => text("BY DEFAULT"),
                    None => Value::Null,
                },
                text("YES"),
            ]);
        }
    }
    rows
}
