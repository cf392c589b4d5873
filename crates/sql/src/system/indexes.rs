//! pg_index: which columns an index has, and in which order.
//!
//! Relies on: the catalogue.  Promises: a primary key counts as an index, whose number is its table's and one.
//! Does not: list indexes of one partition; they are the whole table's.

use super::operator_classes::class_of;
use super::type_layout::collation_of;
use super::{Definition, flag, oid, primary_key_oid, print, short};
use crate::planner::Planner;
use quintet_base::value::Array;
use quintet_base::{SqlType, Value};
use quintet_ir::schema::TableDef;

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
            rows.push(vec![
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
            ]);
        }
    }
    rows
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
