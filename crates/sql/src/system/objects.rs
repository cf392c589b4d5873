//! Relations about what users made: tables, columns, indexes, constraints, sequences.
//!
//! Relies on: the catalogue.  Promises: one row per object, numbers that join up.
//! Does not: list the system's own relations in `pg_class` (their columns are not listed either).

use super::{Definition, OWNER, flag, numbers, oid, primary_key_oid, schema_oid, short, text};
use crate::planner::Planner;
use crate::records::ForeignKeyRecord;
use quintet_base::{SqlType, Value};
use quintet_ir::schema::{Identity, TableDef};

use SqlType::{
    Bool, Float4, Int2, Int2Array, Int4, Int8, InternalChar, Name, Oid, Text, TextArray,
};

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_class",
        oid: 1259,
        columns: &[
            ("oid", Oid),
            ("relname", Name),
            ("relnamespace", Oid),
            ("reltype", Oid),
            ("reloftype", Oid),
            ("relowner", Oid),
            ("relam", Oid),
            ("relfilenode", Oid),
            ("reltablespace", Oid),
            ("relpages", Int4),
            ("reltuples", Float4),
            ("relallvisible", Int4),
            ("reltoastrelid", Oid),
            ("relhasindex", Bool),
            ("relisshared", Bool),
            ("relpersistence", InternalChar),
            ("relkind", InternalChar),
            ("relnatts", Int2),
            ("relchecks", Int2),
            ("relhasrules", Bool),
            ("relhastriggers", Bool),
            ("relhassubclass", Bool),
            ("relrowsecurity", Bool),
            ("relforcerowsecurity", Bool),
            ("relispopulated", Bool),
            ("relreplident", InternalChar),
            ("relispartition", Bool),
            ("relrewrite", Oid),
            ("relacl", TextArray),
            ("reloptions", TextArray),
            ("relpartbound", Text),
        ],
        rows: classes,
    },
    Definition {
        name: "pg_attribute",
        oid: 1249,
        columns: &[
            ("attrelid", Oid),
            ("attname", Name),
            ("atttypid", Oid),
            ("attstattarget", Int4),
            ("attlen", Int2),
            ("attnum", Int2),
            ("attndims", Int4),
            ("atttypmod", Int4),
            ("attbyval", Bool),
            ("attnotnull", Bool),
            ("atthasdef", Bool),
            ("atthasmissing", Bool),
            ("attidentity", InternalChar),
            ("attgenerated", InternalChar),
            ("attisdropped", Bool),
            ("attislocal", Bool),
            ("attinhcount", Int4),
            ("attcollation", Oid),
            ("attoptions", TextArray),
        ],
        rows: attributes,
    },
    Definition {
        name: "pg_index",
        oid: 2610,
        columns: &[
            ("indexrelid", Oid),
            ("indrelid", Oid),
            ("indnatts", Int2),
            ("indnkeyatts", Int2),
            ("indisunique", Bool),
            ("indnullsnotdistinct", Bool),
            ("indisprimary", Bool),
            ("indisexclusion", Bool),
            ("indimmediate", Bool),
            ("indisclustered", Bool),
            ("indisvalid", Bool),
            ("indisready", Bool),
            ("indislive", Bool),
            ("indisreplident", Bool),
            ("indkey", Int2Array),
            ("indexprs", Text),
            ("indpred", Text),
        ],
        rows: indexes,
    },
    Definition {
        name: "pg_constraint",
        oid: 2606,
        columns: &[
            ("oid", Oid),
            ("conname", Name),
            ("connamespace", Oid),
            ("contype", InternalChar),
            ("condeferrable", Bool),
            ("condeferred", Bool),
            ("convalidated", Bool),
            ("conrelid", Oid),
            ("contypid", Oid),
            ("conindid", Oid),
            ("conparentid", Oid),
            ("confrelid", Oid),
            ("confupdtype", InternalChar),
            ("confdeltype", InternalChar),
            ("confmatchtype", InternalChar),
            ("conislocal", Bool),
            ("coninhcount", Int4),
            ("connoinherit", Bool),
            ("conkey", Int2Array),
            ("confkey", Int2Array),
            ("conbin", Text),
        ],
        rows: constraints,
    },
    Definition {
        name: "pg_attrdef",
        oid: 2604,
        columns: &[
            ("oid", Oid),
            ("adrelid", Oid),
            ("adnum", Int2),
            ("adbin", Text),
        ],
        rows: defaults,
    },
    Definition {
        name: "pg_sequence",
        oid: 2224,
        columns: &[
            ("seqrelid", Oid),
            ("seqtypid", Oid),
            ("seqstart", Int8),
            ("seqincrement", Int8),
            ("seqmax", Int8),
            ("seqmin", Int8),
            ("seqcache", Int8),
            ("seqcycle", Bool),
        ],
        rows: sequences,
    },
];

/// What differs between the kinds of relations.
struct Class<'a> {
    oid: u32,
    name: &'a str,
    schema: &'a str,
    kind: &'a str,
    access_method: u32,
    columns: usize,
    checks: usize,
    indexed: bool,
}

fn class(class: &Class) -> Vec<Value> {
    vec![
        oid(class.oid),
        text(class.name),
        oid(schema_oid(class.schema)),
        oid(0),
        oid(0),
        oid(OWNER),
        oid(class.access_method),
        oid(class.oid),
        oid(0),
        Value::Int4(0),
        // As in PostgreSQL before the first ANALYZE: not known.
        Value::Float4(-1.0),
        Value::Int4(0),
        oid(0),
        flag(class.indexed),
        flag(false),
        text("p"),
        text(class.kind),
        short(class.columns),
        short(class.checks),
        flag(false),
        flag(false),
        flag(false),
        flag(false),
        flag(false),
        flag(true),
        text(if class.kind == "r" { "d" } else { "n" }),
        flag(false),
        oid(0),
        Value::Null,
        Value::Null,
        Value::Null,
    ]
}

/// A table's indexes, its primary key's first: number, name, columns, unique, primary.
fn all_indexes(table: &TableDef) -> Vec<(u32, &str, &[usize], bool, bool)> {
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
        let columns: &[usize] = &index.columns;
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

fn classes(planner: &Planner) -> Vec<Vec<Value>> {
    const HEAP: u32 = 2;
    const BTREE: u32 = 403;
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        let indexes = all_indexes(table);
        rows.push(class(&Class {
            oid: table.id.0,
            name: &table.name,
            schema: &table.schema,
            kind: "r",
            access_method: HEAP,
            columns: table.columns.len(),
            checks: table.checks.len(),
            indexed: !indexes.is_empty(),
        }));
        for (number, name, columns, ..) in indexes {
            rows.push(class(&Class {
                oid: number,
                name,
                schema: &table.schema,
                kind: "i",
                access_method: BTREE,
                columns: columns.len(),
                checks: 0,
                indexed: false,
            }));
        }
    }
    for sequence in planner.catalog().sequences() {
        rows.push(class(&Class {
            oid: sequence.id.0,
            name: &sequence.name,
            schema: &sequence.schema,
            kind: "S",
            access_method: 0,
            columns: 3,
            checks: 0,
            indexed: false,
        }));
    }
    rows
}

fn attributes(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        for (number, column) in table.columns.iter().enumerate() {
            let name = match column.dropped {
                true => format!("........pg.dropped.{}........", number + 1),
                false => column.name.clone(),
            };
            let identity = match column.identity {
                Some(Identity::Always) => "a",
                Some(Identity::ByDefault) => "d",
                None => "",
            };
            let by_value = matches!(column.ty.type_len(), 1..=8);
            rows.push(vec![
                oid(table.id.0),
                text(&name),
                oid(if column.dropped { 0 } else { column.ty.oid() }),
                Value::Int4(-1),
                Value::Int2(column.ty.type_len()),
                short(number + 1),
                Value::Int4(i32::from(column.ty.element().is_some())),
                Value::Int4(column.modifier.0),
                flag(by_value),
                flag(column.not_null),
                flag(column.default.is_some() && column.identity.is_none()),
                flag(column.missing.is_some()),
                text(identity),
                text(""),
                flag(column.dropped),
                flag(true),
                Value::Int4(0),
                oid(0),
                Value::Null,
            ]);
        }
    }
    rows
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
                numbers(columns),
                Value::Null,
                Value::Null,
            ]);
        }
    }
    rows
}

fn constraints(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        let mut add =
            |number: u32, name: &str, kind: &str, index: u32, columns: Value, source: Value| {
                rows.push(vec![
                    oid(number),
                    text(name),
                    oid(schema_oid(&table.schema)),
                    text(kind),
                    flag(false),
                    flag(false),
                    flag(true),
                    oid(table.id.0),
                    oid(0),
                    oid(index),
                    oid(0),
                    oid(0),
                    text(" "),
                    text(" "),
                    text(" "),
                    flag(true),
                    Value::Int4(0),
                    flag(false),
                    columns,
                    Value::Null,
                    source,
                ]);
            };
        if let Some(key) = &table.primary_key {
            let index = primary_key_oid(table.id);
            add(
                index,
                &key.name,
                "p",
                index,
                numbers(&key.columns),
                Value::Null,
            );
        }
        for index in table.indexes.iter().filter(|index| index.constraint) {
            add(
                index.id.0,
                &index.name,
                "u",
                index.id.0,
                numbers(&index.columns),
                Value::Null,
            );
        }
        for (number, check) in table.checks.iter().enumerate() {
            let mut columns = Vec::new();
            check.condition.collect_columns(&mut columns);
            columns.sort_unstable();
            columns.dedup();
            // Checks have no record of their own; their numbers only must not meet others.
            let made_up = 0x8000_0000 | (table.id.0 << 8) | number as u32;
            add(
                made_up,
                &check.name,
                "c",
                0,
                numbers(&columns),
                text(&check.text),
            );
        }
    }
    rows.extend(
        planner
            .catalog()
            .foreign_keys()
            .map(|key| foreign_key(planner, key)),
    );
    rows
}

fn foreign_key(planner: &Planner, key: &ForeignKeyRecord) -> Vec<Value> {
    let child = planner.catalog().table_by_id(key.child);
    let index = match key.index {
        Some(index) => index.0,
        None => primary_key_oid(key.parent),
    };
    let letter = |letter: char| text(letter.encode_utf8(&mut [0; 4]));
    vec![
        oid(key.id.0),
        text(&key.name),
        oid(schema_oid(child.map_or("public", |child| &child.schema))),
        text("f"),
        flag(key.deferrable),
        flag(key.deferred),
        flag(key.validated),
        oid(key.child.0),
        oid(0),
        oid(index),
        oid(0),
        oid(key.parent.0),
        letter(key.on_update),
        letter(key.on_delete),
        text(if key.full { "f" } else { "s" }),
        flag(true),
        Value::Int4(0),
        flag(true),
        numbers(&key.columns),
        numbers(&key.parent_columns),
        Value::Null,
    ]
}

fn defaults(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        let Some(record) = planner.catalog().record(table.id) else {
            continue;
        };
        for (number, column) in record.columns.iter().enumerate() {
            if let (Some(default), None, false) = (&column.default, column.identity, column.dropped)
            {
                rows.push(vec![
                    oid(0x8000_0000 | (table.id.0 << 8) | number as u32),
                    oid(table.id.0),
                    short(number + 1),
                    text(default),
                ]);
            }
        }
    }
    rows
}

fn sequences(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |sequence: &std::sync::Arc<quintet_ir::SequenceDef>| {
        vec![
            oid(sequence.id.0),
            oid(sequence.ty.oid()),
            Value::Int8(sequence.start),
            Value::Int8(sequence.increment),
            Value::Int8(sequence.max),
            Value::Int8(sequence.min),
            Value::Int8(1),
            flag(sequence.cycle),
        ]
    };
    planner.catalog().sequences().map(row).collect()
}
