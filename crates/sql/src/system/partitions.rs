//! What the catalogue says of partitions.
//!
//! Relies on: `partition` for what there is and how it prints.  Promises: PostgreSQL's relations and functions, as far as
//! there are such objects.  Does not: list foreign keys of one partition; those are the whole table's.

use super::indexes::part_indexes;
use super::type_layout::collation_of;
use super::{Definition, describe::Known, flag, numbers, oid, short, text};
use crate::partition::{bound_text, constraint_text, key_text};
use quintet_base::value::Array;
use quintet_base::{SqlType, TableId, Value};
use quintet_ir::TableDef;

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
        ],
        rows: |planner| {
            let catalog = planner.catalog();
            let mut rows = Vec::new();
            for table in catalog.tables() {
                let (Some(record), Some(all)) = (
                    catalog.divisions().partitioning(table.id),
                    &table.partitions,
                ) else {
                    continue;
                };
                let collations = all.all.columns.iter();
                let collations = collations.map(|(_, ty)| oid(collation_of(*ty)));
                let default = all.all.default().map(|number| &all.all.parts[number]);
                rows.push(vec![
                    oid(table.id.0),
                    text(record.method.encode_utf8(&mut [0; 4])),
                    short(record.columns.len()),
                    oid(default.map_or(0, |part| part.id.0)),
                    numbers(&record.columns),
                    Value::Array(Box::new(Array {
                        element: SqlType::Oid,
                        values: vec![Value::Oid(0); record.columns.len()],
                    })),
                    Value::Array(Box::new(Array {
                        element: SqlType::Oid,
                        values: collations.collect(),
                    })),
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
    Some(bound_text(&part.bound, &partitions.all.columns))
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
        let list = |element, values| Value::Array(Box::new(Array { element, values }));
        Some(match function {
            "pg_get_partkeydef" => match (divided, catalog.record(id)) {
                (Some(divided), Some(record)) => text(&key_text(divided, record)),
                _ => Value::Null,
            },
            "pg_get_partition_constraintdef" => match catalog.rows_of(id) {
                Some(table) if part.is_some() => {
                    constraint_text(&table).map_or(Value::Null, |found| text(&found))
                }
                _ => Value::Null,
            },
            "pg_partition_root" => match (part, divided) {
                (Some(part), _) => class(part.parent),
                (None, Some(_)) => class(id),
                _ => Value::Null,
            },
            "pg_partition_ancestors" => {
                let own = part.is_some() || divided.is_some();
                let own = own.then(|| class(id));
                let parent = part.map(|part| class(part.parent));
                list(SqlType::RegClass, own.into_iter().chain(parent).collect())
            }
            "pg_partition_tree" => {
                let row = |id: TableId, parent: Option<TableId>, leaf: bool, level: i32| {
                    let parent = parent.map_or(Value::Null, class);
                    let fields = vec![class(id), parent, flag(leaf), Value::Int4(level)];
                    list(SqlType::Record, fields)
                };
                let mut rows = Vec::new();
                if let Some(part) = part {
                    rows.push(row(id, Some(part.parent), true, 0));
                } else if divided.is_some() {
                    rows.push(row(id, None, false, 0));
                    let parts = divisions.parts_of(id);
                    rows.extend(parts.map(|part| row(part.id, Some(id), true, 1)));
                }
                list(SqlType::Record, rows)
            }
            _ => return None,
        })
    }
}
