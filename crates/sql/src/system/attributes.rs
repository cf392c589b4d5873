//! pg_attribute and pg_attrdef: columns of all that has columns, and their defaults.
//!
//! Relies on: the catalogue, and `layout` for the system's own relations.  Promises: columns are numbered from 1 on, dropped ones
//! included, hidden ones not.  Does not: describe types (`types`, `physical`).

use super::constraints::printed_check;
use super::indexes::{all_indexes, part_indexes, shape_of};
use super::operator_classes::kept;
use super::sequences::SEQUENCE_COLUMNS;
use super::type_layout::{alignment_of, collation_of, storage_of};
use super::types::domain_of;
use super::{Definition, flag, layout, oid, print, short, text};
use crate::catalog::Catalog;
use crate::planner::Planner;
use quintet_base::types::TypeFamily;
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::schema::{Identity, TableDef};

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_attribute",
        columns: &[
            "attrelid",
            "attname",
            "atttypid",
            "attstattarget",
            "attlen",
            "attnum",
            "attndims",
            "atttypmod",
            "attbyval",
            "attnotnull",
            "atthasdef",
            "atthasmissing",
            "attidentity",
            "attgenerated",
            "attisdropped",
            "attislocal",
            "attinhcount",
            "attcollation",
            "attstorage",
            "attalign",
            "attacl",
        ],
        rows: attributes,
    },
    Definition {
        name: "pg_attrdef",
        columns: &["oid", "adrelid", "adnum", "adbin"],
        rows: defaults,
    },
];

/// What differs between columns of relations of all kinds.
struct Attribute<'a> {
    relation: u32,
    name: &'a str,
    ty: SqlType,
    number: usize,
    modifier: TypeMod,
    not_null: bool,
    default: bool,
    missing: bool,
    identity: &'a str,
    generated: bool,
    dropped: bool,
}

fn attribute(attribute: &Attribute) -> Vec<Value> {
    let ty = attribute.ty;
    vec![
        oid(attribute.relation),
        text(attribute.name),
        oid(if attribute.dropped { 0 } else { ty.oid() }),
        Value::Int4(-1),
        Value::Int2(ty.type_len()),
        short(attribute.number),
        Value::Int4(i32::from(ty.family() == TypeFamily::Array)),
        Value::Int4(attribute.modifier.0),
        flag(ty.is_by_value()),
        flag(attribute.not_null),
        flag(attribute.default),
        flag(attribute.missing),
        text(attribute.identity),
        text(if attribute.generated { "s" } else { "" }),
        flag(attribute.dropped),
        flag(true),
        Value::Int4(0),
        oid(collation_of(ty)),
        text(storage_of(ty)),
        text(alignment_of(ty)),
        // `roles::stamp` knows it.
        Value::Null,
    ]
}

/// A column of which nothing more is to be said.
fn plain(relation: u32, name: &str, ty: SqlType, number: usize, not_null: bool) -> Attribute<'_> {
    Attribute {
        relation,
        name,
        ty,
        number,
        modifier: TypeMod::NONE,
        not_null,
        default: false,
        missing: false,
        identity: "",
        generated: false,
        dropped: false,
    }
}

/// Places in a row of `pg_attribute`.
const ATTRIBUTE_TYPE: usize = 2;
/// See [`ATTRIBUTE_TYPE`].
const ATTRIBUTE_MODIFIER: usize = 7;
/// See [`ATTRIBUTE_TYPE`].
const ATTRIBUTE_COLLATION: usize = 17;

/// How many columns of a table have a number: up to the last one that is not an index's own.
pub(super) fn numbered(table: &TableDef) -> usize {
    let last = table.columns.iter().rposition(|column| !column.hidden);
    last.map_or(0, |last| last + 1)
}

fn attributes(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for made in planner.catalog().user_types() {
        let fields = made.fields().unwrap_or_default();
        rows.extend(fields.iter().zip(1..).map(|(field, number)| {
            attribute(&Attribute {
                modifier: field.modifier,
                ..plain(made.class_number(), &field.name, field.ty, number, false)
            })
        }));
    }
    for layout in layout::all() {
        rows.extend(layout.columns.iter().zip(1..).map(|(column, number)| {
            let (name, ty) = (column.name, column.ty);
            attribute(&plain(layout.oid, name, ty, number, column.not_null))
        }));
    }
    for table in &planner.catalog().tables_and_parts() {
        let is_part = table.relation() != table.id;
        let record = planner.catalog().record(table.id);
        let columns = table.columns.iter().enumerate();
        // Those of indexes' expressions that others stand behind are dropped to whoever asks: numbers have no holes.
        for (number, column) in columns.take(numbered(table)) {
            let dropped = column.dropped || column.hidden;
            let name = match dropped {
                true => format!("........pg.dropped.{}........", number + 1),
                false => column.name.clone(),
            };
            let stored = record.map(|record| &record.columns[number]);
            let default = stored.is_some_and(|stored| stored.default.is_some());
            let mut row = attribute(&Attribute {
                modifier: column.modifier,
                default: (default && column.identity.is_none() || column.generated.is_some())
                    && !dropped,
                generated: column.generated.is_some() && !dropped,
                missing: column.missing.is_some(),
                identity: match column.identity {
                    Some(Identity::Always) => "a",
                    Some(Identity::ByDefault) => "d",
                    None => "",
                },
                dropped,
                ..plain(
                    table.relation().0,
                    &name,
                    column.ty,
                    number + 1,
                    column.not_null,
                )
            });
            row[ATTRIBUTE_COLLATION] = oid(record.map_or(0, |record| record.collation(number)));
            if let Some(domain) = domain_of(planner, table.id, number) {
                row[ATTRIBUTE_TYPE] = oid(domain.id);
                row[ATTRIBUTE_MODIFIER] = Value::Int4(-1);
            }
            rows.push(row);
        }
        if is_part {
            continue;
        }
        for (index, _, columns, ..) in all_indexes(table) {
            rows.extend(of_index(planner, table, (index, index), columns));
        }
    }
    for own in part_indexes(planner.catalog()) {
        let numbers = (own.number, own.of_table);
        rows.extend(of_index(planner, own.table, numbers, own.columns));
    }
    for view in planner.catalog().views() {
        rows.extend(view.columns.iter().zip(1..).map(|(column, number)| {
            attribute(&Attribute {
                modifier: column.modifier,
                default: view.default(number - 1).is_some(),
                ..plain(view.id.0, &column.name, column.ty, number, false)
            })
        }));
    }
    for sequence in planner.catalog().sequences() {
        let columns = SEQUENCE_COLUMNS.iter().zip(1..);
        rows.extend(
            columns.map(|(&(name, ty), number)| {
                attribute(&plain(sequence.id.0, name, ty, number, true))
            }),
        );
    }
    rows
}

/// Columns of an index, by its number and the one of what it belongs to.
fn of_index(
    planner: &Planner,
    table: &TableDef,
    (own, whole): (u32, u32),
    keys: &[usize],
) -> Vec<Vec<Value>> {
    let names = index_names(planner.catalog(), table, whole);
    let shape = shape_of(planner.catalog(), table, whole, keys);
    let all = shape.keys.iter().chain(&shape.included).zip(1..);
    let row = |(&column, number): (&usize, usize)| {
        let column = &table.columns[column];
        let name = names.get(number - 1).unwrap_or(&column.name);
        let class = shape.classes.get(number - 1).map(|(class, _)| *class);
        let ty = class.map_or(column.ty, |class| kept(shape.method, class, column.ty));
        let modifier = match ty == column.ty {
            true => column.modifier,
            false => TypeMod::NONE,
        };
        let mut row = attribute(&Attribute {
            modifier,
            ..plain(own, name, ty, number, false)
        });
        // What is stored along is not compared.
        let collation = shape.collations.get(number - 1).copied();
        row[ATTRIBUTE_COLLATION] = oid(collation.unwrap_or(0));
        row
    };
    all.map(row).collect()
}

/// What the columns of a secondary index are called; none of other indexes.
pub(super) fn index_names(catalog: &Catalog, table: &TableDef, number: u32) -> Vec<String> {
    let record = catalog.record(table.id);
    let names = record.and_then(|record| {
        let index = record.indexes.iter().find(|index| index.id.0 == number)?;
        Some(crate::ddl::index_column_names(record, index))
    });
    names.unwrap_or_default()
}

/// The number of a column's default.
pub(super) fn default_number(relation: u32, column: usize) -> u32 {
    0x8000_0000 | (relation << 8) | column as u32
}

fn defaults(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in &planner.catalog().tables_and_parts() {
        let relation = table.relation().0;
        let Some(record) = planner.catalog().record(table.id) else {
            continue;
        };
        for (number, column) in record.columns.iter().enumerate() {
            if let (Some(default), None, false) = (&column.default, column.identity, column.dropped)
            {
                rows.push(vec![
                    oid(default_number(relation, number)),
                    oid(relation),
                    short(number + 1),
                    text(&print::default(planner, &record.schema, column, default)),
                ]);
            }
        }
        for (number, source) in &record.more.generated {
            let column = &record.columns[*number];
            if column.dropped || record.is_hidden(*number) {
                continue;
            }
            rows.push(vec![
                oid(default_number(relation, *number)),
                oid(relation),
                short(number + 1),
                text(&printed_check(planner, table, source, false)),
            ]);
        }
    }
    for view in planner.catalog().views() {
        rows.extend(view.defaults.iter().map(|(place, source)| {
            let column = view.as_column(*place);
            vec![
                oid(default_number(view.id.0, *place)),
                oid(view.id.0),
                short(place + 1),
                text(&print::default(planner, &view.schema, &column, source)),
            ]
        }));
    }
    rows
}
