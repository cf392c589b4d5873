//! pg_index: which columns an index has, and in which order.
//!
//! Relies on: the catalogue.  Promises: a primary key counts as an index, whose number is its table's and one.
//! For each index of a divided table each partition has one here, which tools look for, with a name as PostgreSQL makes them.
//! Does not: keep such an index; it is the whole table's.

use super::attributes::index_names;
use super::operator_classes::class_of;
use super::type_layout::collation_of;
use super::{Definition, flag, oid, primary_key_oid, print, short};
use crate::catalog::Catalog;
use crate::draft::name_of;
use crate::partition::PartitionRecord;
use crate::planner::Planner;
use quintet_base::value::Array;
use quintet_base::{SqlType, Value};
use quintet_ir::schema::{TableDef, TableRef};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) const RELATIONS: &[Definition] = &[Definition {
    name: "pg_index",
    columns: &[
        "indexrelid",
        "indrelid",
        "indnatts",
        "indnkeyatts",
        "indisunique",
        "indnullsnotdistinct",
        "indisprimary",
        "indisexclusion",
        "indimmediate",
        "indisclustered",
        "indisvalid",
        "indisready",
        "indislive",
        "indisreplident",
        "indkey",
        "indcollation",
        "indclass",
        "indoption",
        "indexprs",
        "indpred",
    ],
    rows: indexes,
}];

/// A table's indexes, its primary key's first: number, name, columns, unique, primary.
pub(super) fn all_indexes(table: &TableDef) -> Vec<(u32, &str, &[usize], bool, bool)> {
    let primary = table.primary_key.iter().map(|key| {
        let columns: &[usize] = &key.columns;
        (
            primary_key_oid(table.id),
            key.name.as_str(),
            columns,
            true,
            true,
        )
    });
    let others = table.indexes.iter().map(|index| {
        let columns = index.asked();
        (
            index.id.0,
            index.name.as_str(),
            columns,
            index.unique,
            false,
        )
    });
    primary.chain(others).collect()
}

/// What PostgreSQL has of an index of a divided table in each partition.
pub(super) struct PartIndex<'c> {
    pub number: u32,
    /// Of the table's index.
    pub parent: u32,
    pub name: String,
    pub part: &'c Arc<PartitionRecord>,
    pub table: &'c TableRef,
    pub columns: &'c [usize],
    pub unique: bool,
    pub primary: bool,
    pub constraint: bool,
}

/// What sets their numbers apart.
const OF_A_PART: u32 = 0xC000_0000;

/// The one with this number.
pub(super) fn part_index(catalog: &Catalog, number: u32) -> Option<PartIndex<'_>> {
    // Others are asked for more often, and all names have to be made for one.
    let marked = number & OF_A_PART == OF_A_PART;
    let mut all = marked.then(|| part_indexes(catalog))?.into_iter();
    all.find(|own| own.number == number)
}

/// All of them.
pub(super) fn part_indexes(catalog: &Catalog) -> Vec<PartIndex<'_>> {
    let mut all = Vec::new();
    let mut taken = BTreeSet::new();
    for part in catalog.divisions().parts() {
        let Some(table) = catalog.table_by_id(part.parent) else {
            continue;
        };
        for (place, (parent, _, columns, unique, primary)) in
            all_indexes(table).into_iter().enumerate()
        {
            let own = table.indexes.iter().find(|index| index.id.0 == parent);
            let constraint = primary || own.is_some_and(|index| index.constraint);
            let names = index_names(catalog, table, parent).join("_");
            let (middle, suffix) = match (primary, constraint) {
                (true, _) => (String::new(), "pkey"),
                (_, true) => (names, "key"),
                _ => (names, "idx"),
            };
            let is_taken = |name: &String| {
                catalog.relation(&part.schema, name).is_some()
                    || taken.contains(&(part.schema.as_str(), name.clone()))
            };
            let name = name_of(&part.name, &middle, suffix, is_taken);
            taken.insert((part.schema.as_str(), name.clone()));
            all.push(PartIndex {
                number: OF_A_PART | (part.id.0 << 8) | place as u32,
                parent,
                name,
                part,
                table,
                columns,
                unique,
                primary,
                constraint,
            });
        }
    }
    all
}

/// A number for each column of an index.
fn of_columns(table: &TableDef, columns: &[usize], number: fn(SqlType) -> u32) -> Value {
    let numbers = columns
        .iter()
        .map(|&column| Value::Oid(number(table.columns[column].ty)));
    Value::Array(Box::new(Array {
        element: SqlType::Oid,
        values: numbers.collect(),
    }))
}

fn indexes(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        for (number, _, columns, unique, primary) in all_indexes(table) {
            let kind = (unique, primary);
            rows.push(index(planner, (table, number), columns, kind));
        }
    }
    for own in part_indexes(planner.catalog()) {
        let kind = (own.unique, own.primary);
        let mut row = index(planner, (own.table, own.parent), own.columns, kind);
        row[0] = oid(own.number);
        row[1] = oid(own.part.id.0);
        rows.push(row);
    }
    rows
}

fn index(
    planner: &Planner,
    (table, number): (&TableDef, u32),
    columns: &[usize],
    (unique, primary): (bool, bool),
) -> Vec<Value> {
    vec![
        oid(number),
        oid(table.id.0),
        short(columns.len()),
        short(columns.len()),
        flag(unique),
        flag(false),
        flag(primary),
        flag(false),
        flag(true),
        flag(false),
        flag(true),
        flag(true),
        flag(true),
        flag(false),
        key_numbers(table, columns),
        of_columns(table, columns, collation_of),
        of_columns(table, columns, class_of),
        options(planner, table, number, columns),
        print::index_expressions(planner, table, number),
        print::index_predicate(planner, table, number),
    ]
}

/// The numbers of an index's columns, 0 for expressions.
fn key_numbers(table: &TableDef, columns: &[usize]) -> Value {
    let number = |&column: &usize| match table.columns[column].hidden {
        true => Value::Int2(0),
        false => Value::Int2(column as i16 + 1),
    };
    Value::Array(Box::new(Array {
        element: SqlType::Int2,
        values: columns.iter().map(number).collect(),
    }))
}

/// `indoption`: 1 for a column that descends, 2 for NULLs that come first.
fn options(planner: &Planner, table: &TableDef, index: u32, columns: &[usize]) -> Value {
    let record = planner.catalog().record(table.id);
    let known = record.and_then(|record| {
        let mut all = record.more.directions.iter();
        all.find(|(id, _)| id.0 == index)
    });
    let Some((_, directions)) = known else {
        return same(SqlType::Int2, Value::Int2(0), columns);
    };
    let bits = |&(descending, nulls_first): &(bool, bool)| {
        Value::Int2(i16::from(descending) | (i16::from(nulls_first) << 1))
    };
    Value::Array(Box::new(Array {
        element: SqlType::Int2,
        values: directions.iter().map(bits).collect(),
    }))
}

/// The same value for each of the columns.
fn same(element: SqlType, value: Value, columns: &[usize]) -> Value {
    let values = vec![value; columns.len()];
    Value::Array(Box::new(Array { element, values }))
}
