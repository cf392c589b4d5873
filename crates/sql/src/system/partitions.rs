//! What the catalogue says of partitions.
//!
//! Relies on: `partition` for what there is and how it prints.  Promises: PostgreSQL's relations and functions, as far as
//! there are such objects.  Does not: list foreign keys of one partition; those are the whole table's.

use super::index_properties::{BTREE, HASH};
use super::indexes::part_indexes;
use super::operator_classes::class_of;
use super::type_layout::collation_of;
use super::{Definition, describe::Known, flag, oid, short, text};
use crate::partition::{bound_text, constraint_text, key_text};
use quintet_base::value::Array;
use quintet_base::{SqlType, TableId, Value};
use quintet_ir::TableDef;
use quintet_ir::partition::Method;

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_inherits",
        columns: &["inhrelid", "inhparent", "inhseqno", "inhdetachpending"],
        rows: |planner| {
            let parts = planner.catalog().divisions().parts();
            let row = |child: u32, parent: u32| {
                vec![oid(child), oid(parent), Value::Int4(1), flag(false)]
            };
            let indexes = part_indexes(planner.catalog());
            let indexes = indexes.iter().map(|own| row(own.number, own.parent));
            let parts = parts.map(|part| row(part.id.0, part.parent.0));
            parts.chain(indexes).collect()
        },
    },
    Definition {
        name: "pg_partitioned_table",
        columns: &[
            "partrelid",
            "partstrat",
            "partnatts",
            "partdefid",
            "partattrs",
            "partclass",
            "partcollation",
            "partexprs",
        ],
        rows: |planner| {
            let catalog = planner.catalog();
            let mut rows = Vec::new();
            for table in catalog.tables_and_parts() {
                let (Some(record), Some(all)) = (
                    catalog.divisions().partitioning(table.relation()),
                    table.partitions.as_ref().and_then(|all| all.division()),
                ) else {
                    continue;
                };
                let oids = |numbers: Vec<u32>| {
                    Value::Array(Box::new(Array {
                        shape: None,
                        element: SqlType::Oid,
                        values: numbers.into_iter().map(Value::Oid).collect(),
                    }))
                };
                let types = all.columns.iter().map(|(_, ty)| *ty);
                let collations = types.clone().map(collation_of).collect();
                let method = match all.method {
                    Method::Hash => HASH,
                    Method::Range | Method::List => BTREE,
                };
                let classes = types.map(|ty| class_of(method, ty)).collect();
                let default = all.default().map(|number| &all.parts[number]);
                // An expression has no number.
                let is_hidden = |column: usize| table.columns[column].hidden;
                let numbers = record
                    .columns
                    .iter()
                    .map(|column| match is_hidden(*column) {
                        true => Value::Int2(0),
                        false => Value::Int2(*column as i16 + 1),
                    });
                let hidden = record.columns.iter().filter(|column| is_hidden(**column));
                let expressions: Vec<&str> = hidden
                    .map(|column| table.columns[*column].name.as_str())
                    .collect();
                rows.push(vec![
                    oid(table.relation().0),
                    text(record.method.encode_utf8(&mut [0; 4])),
                    short(record.columns.len()),
                    oid(default.map_or(0, |part| part.id.0)),
                    Value::Array(Box::new(Array {
                        shape: None,
                        element: SqlType::Int2,
                        values: numbers.collect(),
                    })),
                    oids(classes),
                    oids(collations),
                    match &expressions[..] {
                        [] => Value::Null,
                        several => text(&several.join(", ")),
                    },
                ]);
            }
            rows
        },
    },
];

/// The bound of the partition that a definition stands for, as `pg_class` has it.
pub(super) fn bound_of(table: &TableDef) -> Option<String> {
    let partitions = table.partitions.as_ref()?;
    let part = partitions.part()?;
    let (_, above) = partitions.path.split_last()?;
    Some(bound_text(&part.bound, &partitions.all.at(above)?.columns))
}

impl Known<'_> {
    /// What functions say of a relation and its partitions; `None` for other functions.
    pub(super) fn of_partitions(&self, function: &str, number: u32) -> Option<Value> {
        let catalog = self.context().catalog;
        let id = TableId(number);
        let divisions = catalog.divisions();
        let part = divisions.part(id);
        let divided = divisions.partitioning(id);
        let class = |id: TableId| Value::Oid(id.0);
        let list = |element, values| {
            Value::Array(Box::new(Array {
                shape: None,
                element,
                values,
            }))
        };
        Some(match function {
            "pg_get_partkeydef" => match (divided, catalog.record(divisions.root(id))) {
                (Some(divided), Some(record)) => text(&key_text(divided, record)),
                _ => Value::Null,
            },
            "pg_get_partition_constraintdef" => match catalog.rows_of(id) {
                Some(table) if part.is_some() => {
                    constraint_text(&table).map_or(Value::Null, |found| text(&found))
                }
                _ => Value::Null,
            },
            "pg_partition_root" => match part.is_some() || divided.is_some() {
                true => class(divisions.root(id)),
                false => Value::Null,
            },
            "pg_partition_ancestors" => {
                let mut all = Vec::new();
                if part.is_some() || divided.is_some() {
                    all.push(class(id));
                }
                let mut above = part;
                while let Some(part) = above {
                    all.push(class(part.parent));
                    above = divisions.part(part.parent);
                }
                list(SqlType::RegClass, all)
            }
            "pg_partition_tree" => {
                let mut rows = Vec::new();
                if part.is_some() || divided.is_some() {
                    let mut level = vec![(id, part.map(|part| part.parent))];
                    let mut depth = 0;
                    // Level by level, as PostgreSQL lists them.
                    while !level.is_empty() {
                        let mut below = Vec::new();
                        for (id, parent) in level {
                            let parent = parent.map_or(Value::Null, class);
                            let leaf = divisions.partitioning(id).is_none();
                            let fields = vec![class(id), parent, flag(leaf), Value::Int4(depth)];
                            rows.push(list(SqlType::Record, fields));
                            below.extend(divisions.parts_of(id).map(|part| (part.id, Some(id))));
                        }
                        level = below;
                        depth += 1;
                    }
                }
                list(SqlType::Record, rows)
            }
            _ => return None,
        })
    }
}
