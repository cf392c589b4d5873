//! The system's relations: `pg_catalog` and `information_schema` as rows made when a statement is
//! planned.
//!
//! Relies on: the catalogue.  Promises: columns that are there have PostgreSQL's names, types and
//! meanings; a relation that is not there is 42P01, so that a client is not told half-truths.
//! Does not: store anything. Plans over these relations hold their rows, so they last as long as
//! the catalogue they were planned with.
//!
//! | file | relations |
//! |---|---|
//! | `system/objects` | pg_class, pg_attribute, pg_index, pg_constraint, pg_attrdef, pg_sequence |
//! | `system/fixed` | pg_namespace, pg_type, pg_am, pg_database, pg_roles, the empty ones |
//! | `system/routines` | pg_proc, pg_language, information_schema.routines |
//! | `system/views` | pg_tables, pg_indexes, information_schema |

mod fixed;
mod objects;
mod routines;
mod views;

pub(crate) use routines::descriptions;

use crate::planner::Planner;
use quintet_base::{SqlType, TableId, Value};
use quintet_ir::Expr;

/// Number of the schema `pg_catalog`.
pub(crate) const PG_CATALOG: u32 = 11;
/// Number of the schema `public`.
pub(crate) const PUBLIC: u32 = 2200;
/// Number of the schema `information_schema`.
pub(crate) const INFORMATION_SCHEMA: u32 = 13_000;
/// Number of the one role that owns everything.
pub(crate) const OWNER: u32 = 10;
/// Number of the database.
pub(crate) const DATABASE: u32 = 5;

/// A relation's columns and rows.
pub(crate) struct SystemRelation {
    pub schema: &'static str,
    pub columns: Vec<(&'static str, SqlType)>,
    pub rows: Vec<Vec<Expr>>,
}

/// How a relation is made.
struct Definition {
    name: &'static str,
    oid: u32,
    columns: &'static [(&'static str, SqlType)],
    rows: fn(&Planner) -> Vec<Vec<Value>>,
}

/// The relation with this name; an empty schema means the search path, on which `pg_catalog`
/// comes first.
pub(crate) fn relation(planner: &Planner, schema: &str, name: &str) -> Option<SystemRelation> {
    let (schema, families): (_, &[&[Definition]]) = match schema {
        "" | "pg_catalog" => (
            "pg_catalog",
            &[
                objects::RELATIONS,
                fixed::RELATIONS,
                routines::RELATIONS,
                views::PG,
            ],
        ),
        "information_schema" => (
            "information_schema",
            &[views::INFORMATION, routines::INFORMATION],
        ),
        _ => return None,
    };
    let found = families
        .iter()
        .flat_map(|family| family.iter())
        .find(|d| d.name == name)?;
    let rows = (found.rows)(planner).into_iter().map(|row| {
        assert_eq!(
            row.len(),
            found.columns.len(),
            "a row of {name} has all columns"
        );
        row.into_iter()
            .zip(found.columns)
            .map(|(value, (_, ty))| Expr::Const(value, *ty))
            .collect()
    });
    Some(SystemRelation {
        schema,
        columns: found.columns.to_vec(),
        rows: rows.collect(),
    })
}

/// The number of a relation of `pg_catalog`.
pub(crate) fn relation_oid(name: &str) -> Option<u32> {
    let all = [
        objects::RELATIONS,
        fixed::RELATIONS,
        routines::RELATIONS,
        views::PG,
    ];
    all.iter()
        .flat_map(|family| family.iter())
        .find(|d| d.name == name)
        .map(|d| d.oid)
}

/// The number of the index of a table's primary key.
pub(crate) fn primary_key_oid(table: TableId) -> u32 {
    table.0 + 1
}

/// The number of a schema.
fn schema_oid(name: &str) -> u32 {
    match name {
        "pg_catalog" => PG_CATALOG,
        "information_schema" => INFORMATION_SCHEMA,
        _ => PUBLIC,
    }
}

fn text(text: &str) -> Value {
    Value::text(text)
}

fn oid(oid: u32) -> Value {
    Value::Oid(oid)
}

fn flag(flag: bool) -> Value {
    Value::Bool(flag)
}

fn short(number: usize) -> Value {
    Value::Int2(i16::try_from(number).unwrap_or(i16::MAX))
}

fn numbers(columns: &[usize]) -> Value {
    let values = columns.iter().map(|&column| short(column + 1)).collect();
    Value::Array(Box::new(quintet_base::value::Array {
        element: SqlType::Int2,
        values,
    }))
}

/// What a type is called in `pg_type`.
fn type_name(ty: SqlType) -> String {
    use SqlType::*;
    if let Some(element) = ty.element() {
        return format!("_{}", type_name(element));
    }
    match ty {
        Bool => "bool",
        Int2 => "int2",
        Int4 => "int4",
        Int8 => "int8",
        Float4 => "float4",
        Float8 => "float8",
        Varchar => "varchar",
        Bpchar => "bpchar",
        InternalChar => "char",
        Timestamp => "timestamp",
        TimestampTz => "timestamptz",
        Time => "time",
        TimeTz => "timetz",
        other => other.name(),
    }
    .to_string()
}
