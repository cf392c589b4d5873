//! pg_index: which columns an index has, and in which order.
//!
//! Relies on: the catalogue.  Promises: a primary key counts as an index, whose number is its table's and one.
//! For each index of a divided table each partition has one here, which tools look for, with a name as PostgreSQL makes them.
//! Does not: keep such an index; it is the whole table's.

use super::attributes::index_names;
use super::index_properties::method;
use super::operator_classes::{class_named, class_of};
use super::{Definition, flag, oid, primary_key_oid, print, short};
use crate::catalog::Catalog;
use crate::draft::name_of;
use crate::partition::PartitionRecord;
use crate::planner::Planner;
use quintet_base::value::Array;
use quintet_base::{IndexId, SqlType, Value};
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
            index.is_unique(),
            false,
        )
    });
    primary.chain(others).collect()
}

/// What PostgreSQL has of an index of a divided table in each partition.
pub(super) struct PartIndex<'c> {
    pub number: u32,
    /// Of the table's index.
    pub of_table: u32,
    /// Of the index that it is a partition of: the table's, or a partition's.
    pub parent: u32,
    pub name: String,
    pub part: &'c Arc<PartitionRecord>,
    /// Of a partition that is divided itself: into how many.
    pub inner: Option<usize>,
    pub table: &'c TableRef,
    pub columns: &'c [usize],
    pub unique: bool,
    pub primary: bool,
    pub constraint: bool,
}

/// What sets their numbers apart.
pub(super) const OF_A_PART: u32 = 0xC000_0000;

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
        let root = catalog.divisions().root(part.id);
        let Some(table) = catalog.table_by_id(root) else {
            continue;
        };
        let divisions = catalog.divisions();
        let inner = divisions.partitioning(part.id);
        let inner = inner.map(|_| divisions.parts_of(part.id).count());
        for (place, (of_table, _, columns, unique, primary)) in
            all_indexes(table).into_iter().enumerate()
        {
            let own = table.indexes.iter().find(|index| index.id.0 == of_table);
            let constraint = primary || own.is_some_and(|index| index.constraint);
            let names = index_names(catalog, table, of_table).join("_");
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
                of_table,
                parent: match part.parent == root {
                    true => of_table,
                    false => OF_A_PART | (part.parent.0 << 8) | place as u32,
                },
                name,
                part,
                inner,
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

/// True if a partition that is divided itself is shown to have an index of this name.
pub(crate) fn is_index_of_division(catalog: &Catalog, name: &str) -> bool {
    let all = part_indexes(catalog);
    all.iter()
        .any(|own| own.inner.is_some() && own.name == name)
}

/// An index as PostgreSQL shows it.
pub(super) struct IndexShape {
    pub method: u32,
    /// The columns of the key.
    pub keys: Vec<usize>,
    pub included: Vec<usize>,
    /// For each of the key's columns, whether it descends and whether NULLs come first.
    pub directions: Vec<(bool, bool)>,
    /// For each of the key's columns, its operator class, and its name if it is not the type's own.
    pub classes: Vec<(u32, Option<String>)>,
    /// For each of the key's columns, its collation.
    pub collations: Vec<u32>,
    /// NULLS NOT DISTINCT.
    pub nulls_equal: bool,
}

impl IndexShape {
    /// How many columns it has.
    pub fn width(&self) -> usize {
        self.keys.len() + self.included.len()
    }
}

/// The index with this number, if it is one of a table or a partition.
pub(super) fn shape(catalog: &Catalog, number: u32) -> Option<IndexShape> {
    let number = part_index(catalog, number).map_or(number, |own| own.of_table);
    catalog.tables().find_map(|table| {
        let mut all = all_indexes(table).into_iter();
        let (.., keys, _, _) = all.find(|index| index.0 == number)?;
        Some(shape_of(catalog, table, number, keys))
    })
}

/// The index of a table with this number and these columns in its key.
pub(super) fn shape_of(
    catalog: &Catalog,
    table: &TableDef,
    number: u32,
    keys: &[usize],
) -> IndexShape {
    let id = IndexId(number);
    let record = catalog.record(table.id);
    let shown = record.and_then(|record| record.shown(id));
    let method = method(shown.and_then(|shown| shown.method.as_deref()));
    let directions = record.map_or(&[][..], |record| record.directions(id));
    let class = |place: usize, ty: SqlType| {
        let named = shown.and_then(|shown| {
            let mut all = shown.classes.iter();
            all.find(|(at, _)| *at == place)
        });
        match named {
            Some((_, name)) => (class_named(method, name), Some(name.clone())),
            None => (class_of(method, ty), None),
        }
    };
    let collation = |column: usize| record.map_or(0, |record| record.collation(column));
    let types = keys.iter().map(|&column| table.columns[column].ty);
    IndexShape {
        method,
        keys: keys.to_vec(),
        included: shown.map_or(Vec::new(), |shown| shown.included.clone()),
        directions: match directions {
            [] => vec![(false, false); keys.len()],
            given => given.to_vec(),
        },
        nulls_equal: record.is_some_and(|record| record.nulls_are_equal(id)),
        collations: keys.iter().map(|&column| collation(column)).collect(),
        classes: types
            .enumerate()
            .map(|(place, ty)| class(place, ty))
            .collect(),
    }
}

fn oids(numbers: impl Iterator<Item = u32>) -> Value {
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Oid,
        values: numbers.map(Value::Oid).collect(),
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
        let mut row = index(planner, (own.table, own.of_table), own.columns, kind);
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
    let shape = shape_of(planner.catalog(), table, number, columns);
    let own = table.indexes.iter().find(|index| index.id.0 == number);
    vec![
        oid(number),
        oid(table.id.0),
        short(shape.width()),
        short(columns.len()),
        flag(unique),
        flag(shape.nulls_equal),
        flag(primary),
        flag(own.is_some_and(|index| index.excludes.is_some())),
        flag(planner.catalog().late(table.id, number).is_none()),
        flag(false),
        flag(true),
        flag(true),
        flag(true),
        flag(false),
        key_numbers(table, &shape),
        oids(shape.collations.iter().copied()),
        oids(shape.classes.iter().map(|(class, _)| *class)),
        options(&shape),
        print::index_expressions(planner, table, number),
        print::index_predicate(planner, table, number),
    ]
}

/// The numbers of an index's columns, 0 for expressions.
fn key_numbers(table: &TableDef, shape: &IndexShape) -> Value {
    let number = |&column: &usize| match table.columns[column].hidden {
        true => Value::Int2(0),
        false => Value::Int2(column as i16 + 1),
    };
    let all = shape.keys.iter().chain(&shape.included);
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Int2,
        values: all.map(number).collect(),
    }))
}

/// `indoption`: 1 for a column that descends, 2 for NULLs that come first.
fn options(shape: &IndexShape) -> Value {
    let bits = |&(descending, nulls_first): &(bool, bool)| {
        Value::Int2(i16::from(descending) | (i16::from(nulls_first) << 1))
    };
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Int2,
        values: shape.directions.iter().map(bits).collect(),
    }))
}
