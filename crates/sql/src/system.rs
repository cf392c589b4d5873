//! The system's relations: `pg_catalog` and `information_schema` as rows made when a statement is
//! planned, but for those that tell what the server does now.
//!
//! Relies on: the catalogue.  Promises: columns that are there have PostgreSQL's names, types and
//! meanings; what there are no objects of is empty.  Does not: store anything. Plans over these
//! relations hold their rows, so they last as long as the catalogue they were planned with.
//!
//! | file | relations |
//! |---|---|
//! | `system/layout`, `columns.txt` | all of them, with their columns |
//! | `system/classes` | pg_class |
//! | `system/attributes` | pg_attribute, pg_attrdef |
//! | `system/indexes` | pg_index |
//! | `system/index_properties` | what indexes can do, as functions say it |
//! | `system/constraints` | pg_constraint |
//! | `system/sequences` | pg_sequence; what is selected from a sequence |
//! | `system/dependencies` | pg_depend, pg_rewrite |
//! | `system/triggers` | pg_trigger, and definitions of triggers |
//! | `system/policies` | pg_policy, pg_policies |
//! | `system/comments` | pg_description |
//! | `system/databases` | pg_database |
//! | `system/fixed` | pg_namespace, pg_type, pg_am, pg_roles, pg_collation, pg_settings |
//! | `system/roles` | pg_roles, pg_user, pg_authid, pg_auth_members; owners and access lists, information_schema.table_privileges |
//! | `system/functions`, `functions.txt`, `casts.txt` | what is built in of pg_proc; pg_cast |
//! | `system/by_number` | calls of functions by their numbers |
//! | `system/routines` | pg_proc, pg_language, information_schema.routines and parameters |
//! | `system/types` | pg_type, pg_enum, domains; attributes of composite types |
//! | `system/statistics` | pg_stat_…, without figures |
//! | `system/live` | pg_stat_activity, pg_locks, quintet_…: rows made when a statement runs |
//! | `system/views` | pg_tables, pg_indexes, information_schema's tables and columns |
//! | `system/schema` | the constraints of information_schema |
//! | `system/describe` | what functions say of an object: `pg_get_indexdef` and the like |
//! | `system/inquiry` | who may do what: `has_table_privilege` and its kin |
//! | `system/partitions` | pg_inherits, pg_partitioned_table, and what functions say of partitions |
//! | `system/ranges` | pg_range |
//! | `system/operator_classes` | pg_opclass and what goes with it |
//! | `system/row_types` | types of rows, for those that list types |
//! | `system/pseudo_types` | types that only declarations of functions have |
//! | `system/type_functions` | which functions read and write a type's values |
//! | `system/type_layout` | what several of them say of a type's values |
//! | `system/print` | expressions as PostgreSQL prints them |

pub(crate) mod array_names;
mod attributes;
mod by_number;
mod classes;
mod comments;
mod constraints;
mod databases;
mod dependencies;
mod describe;
mod fixed;
mod foreign_copies;
mod functions;
mod index_properties;
mod indexes;
mod inquiry;
mod layout;
mod live;
mod operator_classes;
mod partitions;
pub(crate) mod policies;
pub(crate) mod print;
mod pseudo_types;
mod ranges;
mod roles;
mod routines;
mod row_types;
pub(crate) use row_types::relation_of;
mod schema;
mod search;
mod sequences;
mod statistics;
pub(crate) mod triggers;
mod type_functions;
mod type_layout;
mod types;
mod views;

pub use describe::Known;
pub(crate) use describe::direction_words;
pub(crate) use functions::reading_and_printing;
pub(crate) use indexes::is_index_of_division;
pub(crate) use operator_classes::{
    ClassFor, class_for, extension_of_class, has_class, is_ordered, ordered_class, shown_class,
};
pub(crate) use routines::descriptions;
pub(crate) use sequences::{SEQUENCE_COLUMNS, of_sequence};
pub(crate) use type_layout::{COLLATIONS, collation_of};

use crate::catalog::Catalog;
use crate::large_object;
use crate::planner::Planner;
use crate::utility::shown_settings;
use layout::Layout;
use quintet_base::objects::is_marked;
use quintet_base::value::Array;
use quintet_base::{RoutineId, SequenceId, SqlType, TableId, TypeMod, Value};
use quintet_ir::Expr;
use quintet_ir::plan::Plan;

/// Number of the schema `pg_catalog`.
pub(crate) const PG_CATALOG: u32 = 11;
/// Number of the schema `public`.
pub(crate) const PUBLIC: u32 = 2200;
/// Number of the schema `information_schema`.
pub(crate) const INFORMATION_SCHEMA: u32 = 13_000;
/// Number of the role that owns what nobody else does.
pub(crate) const OWNER: u32 = 10;
/// Numbers of the relations that list objects.
pub(crate) const PG_CLASS: u32 = 1259;
/// See [`PG_CLASS`].
pub(crate) const PG_PROC: u32 = 1255;
pub(crate) const PG_TRIGGER: u32 = 2620;
/// See [`PG_CLASS`].
pub(crate) const PG_POLICY: u32 = 3256;
/// See [`PG_CLASS`].
pub(crate) const PG_CONSTRAINT: u32 = 2606;
/// See [`PG_CLASS`].
pub(crate) const PG_NAMESPACE: u32 = 2615;
/// See [`PG_CLASS`].
pub(crate) const PG_TYPE: u32 = 1247;
/// Number of the database.
pub(crate) const DATABASE: u32 = 5;

/// A relation's columns and rows.
pub(crate) struct SystemRelation {
    pub schema: &'static str,
    pub columns: Vec<(&'static str, SqlType, TypeMod)>,
    pub plan: Plan,
    /// Of a table: a view has rows of others.
    pub number: Option<u32>,
}

/// How a relation's rows are made. One without a definition has none.
struct Definition {
    name: &'static str,
    /// What a row holds, in this order; other columns are NULL, or empty if they may not be.
    columns: &'static [&'static str],
    rows: fn(&Planner) -> Vec<Vec<Value>>,
}

/// The relation with this name; an empty schema means the search path, on which `pg_catalog`
/// comes first.
pub(crate) fn relation(planner: &Planner, schema: &str, name: &str) -> Option<SystemRelation> {
    let layout = layout::find(
        if schema.is_empty() {
            "pg_catalog"
        } else {
            schema
        },
        name,
    )?;
    let families: &[&[Definition]] = match layout.schema {
        "pg_catalog" => &[
            classes::RELATIONS,
            attributes::RELATIONS,
            indexes::RELATIONS,
            constraints::RELATIONS,
            sequences::RELATIONS,
            dependencies::RELATIONS,
            comments::RELATIONS,
            fixed::RELATIONS,
            roles::RELATIONS,
            routines::RELATIONS,
            functions::RELATIONS,
            search::RELATIONS,
            statistics::RELATIONS,
            operator_classes::RELATIONS,
            ranges::RELATIONS,
            types::RELATIONS,
            views::PG,
            partitions::RELATIONS,
            triggers::RELATIONS,
            policies::RELATIONS,
        ],
        _ => &[
            views::INFORMATION,
            schema::INFORMATION,
            routines::INFORMATION,
            types::INFORMATION,
            roles::INFORMATION,
            triggers::INFORMATION,
        ],
    };
    let found = families
        .iter()
        .flat_map(|family| family.iter())
        .find(|definition| definition.name == name);
    let plan = live::plan(layout).or_else(|| large_object::rows_of(planner, layout.name));
    let plan = plan.unwrap_or_else(|| Plan::Values {
        types: layout.columns.iter().map(|column| column.ty).collect(),
        rows: match found {
            Some(definition) => rows_of(planner, layout, definition),
            None if layout.name == "pg_settings" => fixed::settings(layout),
            None => Vec::new(),
        },
    });
    Some(SystemRelation {
        schema: layout.schema,
        columns: layout
            .columns
            .iter()
            .map(|column| (column.name, column.ty, column.modifier))
            .collect(),
        plan,
        number: (layout.kind == "r").then_some(layout.oid),
    })
}

/// The rows of a relation, in its own order of columns.
fn rows_of(planner: &Planner, layout: &Layout, definition: &Definition) -> Vec<Vec<Expr>> {
    let places: Vec<Option<usize>> = layout
        .columns
        .iter()
        .map(|column| {
            definition
                .columns
                .iter()
                .position(|name| *name == column.name)
        })
        .collect();
    assert_eq!(
        places.iter().flatten().count(),
        definition.columns.len(),
        "{} has the columns that its rows are made of",
        definition.name
    );
    let named = |value: Value| match value {
        Value::Text(text) if is_marked(&text) => {
            Value::text(planner.with_type_names(text.to_string()))
        }
        value => value,
    };
    let row = |mut given: Vec<Value>| {
        assert_eq!(
            given.len(),
            definition.columns.len(),
            "a row of {} has all columns",
            definition.name
        );
        let value = |(place, column): (&Option<usize>, &layout::Column)| {
            let value = match place {
                Some(place) => named(std::mem::take(&mut given[*place])),
                None => column.absent(),
            };
            if (layout.name, column.name) == ("pg_sequences", "last_value") {
                return sequences::last_value(value);
            }
            Expr::Const(value, column.ty)
        };
        places.iter().zip(&layout.columns).map(value).collect()
    };
    let mut rows = (definition.rows)(planner);
    roles::stamp(planner, definition, &mut rows);
    rows.into_iter().map(row).collect()
}

/// The number of a relation of the system.
pub(crate) fn relation_oid(schema: &str, name: &str) -> Option<u32> {
    layout::find(schema, name).map(|layout| layout.oid)
}

/// True for the number of one that is no view.
pub(crate) fn is_system_table(number: u32) -> bool {
    layout::all().any(|layout| layout.oid == number && layout.kind == "r")
}

/// The number of the index of a table's primary key.
pub(crate) fn primary_key_oid(table: TableId) -> u32 {
    table.0 + 1
}

/// All schemas with their numbers.
pub(crate) fn schemas(catalog: &Catalog) -> Vec<(u32, String)> {
    let mut schemas = vec![
        (PG_CATALOG, "pg_catalog".to_string()),
        (INFORMATION_SCHEMA, "information_schema".to_string()),
    ];
    if catalog.has_public() {
        schemas.insert(1, (PUBLIC, "public".to_string()));
    }
    let own = catalog.own_schemas();
    schemas.extend(own.map(|(number, name)| (number, name.to_string())));
    schemas
}

/// The number of a constraint of a table.
pub(crate) fn constraint_number(planner: &Planner, table: TableId, name: &str) -> Option<u32> {
    let foreign = planner.catalog().foreign_keys_of(table);
    if let Some(key) = foreign.into_iter().find(|key| key.name == name) {
        return Some(key.id.0);
    }
    let table = planner.catalog().table_by_id(table)?;
    if let Some(place) = table.own_checks().position(|check| check.name == name) {
        return Some(constraints::check_oid(table.id, place));
    }
    let index = table
        .indexes
        .iter()
        .find(|index| index.constraint && index.name == name);
    let primary = table.primary_key.as_ref().filter(|key| key.name == name);
    match (index, primary) {
        (Some(index), _) => Some(index.id.0),
        (None, Some(_)) => Some(primary_key_oid(table.id)),
        (None, None) => None,
    }
}

/// The number of a table's check by its place.
pub(crate) fn check_number(table: TableId, place: usize) -> u32 {
    constraints::check_oid(table, place)
}

/// True if there is such an object: what a comment is about.
pub(crate) fn is_there(catalog: &Catalog, class: u32, number: u32, column: i32) -> bool {
    let place = usize::try_from(column - 1).ok();
    let table = catalog.rows_of(TableId(number));
    if let (Some(table), Some(place)) = (&table, place) {
        return table
            .columns
            .get(place)
            .is_some_and(|column| !column.dropped && !column.hidden);
    }
    let indexed = || {
        let mut tables = catalog.tables();
        tables.any(|table| {
            indexes::all_indexes(table)
                .iter()
                .any(|index| index.0 == number)
        })
    };
    match class {
        PG_CLASS => {
            table.is_some()
                || catalog.view(TableId(number)).is_some()
                || catalog.divisions().part(TableId(number)).is_some()
                || catalog.sequence_by_id(SequenceId(number)).is_some()
                || indexed()
        }
        PG_CONSTRAINT => {
            let checks = catalog.tables().any(|table| {
                let mut numbers =
                    (0..table.own_checks().count()).map(|n| constraints::check_oid(table.id, n));
                numbers.any(|check| check == number)
            });
            checks || indexed() || catalog.foreign_keys().any(|key| key.id.0 == number)
        }
        PG_TYPE => catalog.user_type(number).is_some(),
        PG_PROC => catalog.routine(RoutineId(number)).is_some(),
        PG_TRIGGER => catalog.trigger(number).is_some(),
        PG_POLICY => {
            let policies = catalog.securities().flat_map(|security| &security.policies);
            policies.into_iter().any(|policy| policy.id == number)
        }
        _ => schemas(catalog).iter().any(|(schema, _)| *schema == number),
    }
}

/// The number of a schema.
fn schema_oid(planner: &Planner, name: &str) -> u32 {
    match name {
        "pg_catalog" => PG_CATALOG,
        "information_schema" => INFORMATION_SCHEMA,
        "public" => PUBLIC,
        name => {
            let mut own = planner.catalog().own_schemas();
            own.find(|(_, own)| *own == name)
                .map_or(0, |(number, _)| number)
        }
    }
}

/// Settings that count later; NULL if there are none.
fn config(settings: &[(String, String)]) -> Value {
    texts_or_null(shown_settings(settings).map(|it| text(&it)).collect())
}

/// An array of texts; NULL if there are none.
fn texts_or_null(values: Vec<Value>) -> Value {
    match values.is_empty() {
        true => Value::Null,
        false => Value::Array(Box::new(Array {
            shape: None,
            element: SqlType::Text,
            values,
        })),
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
        shape: None,
        element: SqlType::Int2,
        values,
    }))
}

/// What the relation of the catalogue with this number is called, for messages and `format_type`.
pub(crate) fn system_relation(number: u32) -> Option<String> {
    let layout = layout::all().find(|layout| layout.oid == number)?;
    Some(match layout.schema {
        "pg_catalog" => layout.name.to_string(),
        schema => format!("{schema}.{}", layout.name),
    })
}

/// What a type is called in `pg_type`.
pub(crate) fn type_name(ty: SqlType) -> String {
    use SqlType::*;
    if let Some(element) = ty.element().filter(|_| !ty.is_vector()) {
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
        VarBit => "varbit",
        other => other.name(),
    }
    .to_string()
}
