//! Relations about what users made: tables, columns, indexes, constraints, sequences.
//!
//! Relies on: the catalogue.  Promises: one row per object, numbers that join up; the system's own
//! relations are listed with their columns.  Does not: list types of rows.

use super::operator_classes::class_of;
use super::row_types::row_type;
use super::{
    Definition, OWNER, PG_CLASS, flag, layout, numbers, oid, partitions, primary_key_oid,
    schema_oid, short, text,
};
use crate::planner::Planner;
use crate::records::ForeignKeyRecord;
use crate::scope::Scope;
use crate::temporary::is_temporary;
use quintet_base::types::TypeFamily;
use quintet_base::value::Array;
use quintet_base::{SqlType, TableId, TypeMod, Value};
use quintet_ir::schema::{Identity, TableDef};

pub(super) const RELATIONS: &[Definition] = &[
    Definition {
        name: "pg_class",
        columns: &[
            "oid",
            "relname",
            "relnamespace",
            "reltype",
            "reloftype",
            "relowner",
            "relam",
            "relfilenode",
            "reltablespace",
            "relpages",
            "reltuples",
            "relallvisible",
            "reltoastrelid",
            "relhasindex",
            "relisshared",
            "relpersistence",
            "relkind",
            "relnatts",
            "relchecks",
            "relhasrules",
            "relhastriggers",
            "relhassubclass",
            "relrowsecurity",
            "relforcerowsecurity",
            "relispopulated",
            "relreplident",
            "relispartition",
            "relrewrite",
            "relacl",
            "reloptions",
            "relpartbound",
        ],
        rows: classes,
    },
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
        ],
        rows: attributes,
    },
    Definition {
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
    },
    Definition {
        name: "pg_constraint",
        columns: &[
            "oid",
            "conname",
            "connamespace",
            "contype",
            "condeferrable",
            "condeferred",
            "convalidated",
            "conrelid",
            "contypid",
            "conindid",
            "conparentid",
            "confrelid",
            "confupdtype",
            "confdeltype",
            "confmatchtype",
            "conislocal",
            "coninhcount",
            "connoinherit",
            "conkey",
            "confkey",
            "conbin",
        ],
        rows: constraints,
    },
    Definition {
        name: "pg_attrdef",
        columns: &["oid", "adrelid", "adnum", "adbin"],
        rows: defaults,
    },
    Definition {
        name: "pg_sequence",
        columns: &[
            "seqrelid",
            "seqtypid",
            "seqstart",
            "seqincrement",
            "seqmax",
            "seqmin",
            "seqcache",
            "seqcycle",
        ],
        rows: sequences,
    },
    Definition {
        name: "pg_depend",
        columns: &[
            "classid",
            "objid",
            "objsubid",
            "refclassid",
            "refobjid",
            "refobjsubid",
            "deptype",
        ],
        rows: dependencies,
    },
    Definition {
        name: "pg_description",
        columns: &["objoid", "classoid", "objsubid", "description"],
        rows: |planner| {
            let (number, said) = super::fixed::PLPGSQL;
            let mut rows = vec![vec![
                oid(number),
                oid(super::fixed::PG_EXTENSION),
                Value::Int4(0),
                text(said),
            ]];
            for (number, record) in planner.catalog().all_comments() {
                rows.extend(record.entries.iter().map(|entry| {
                    vec![
                        oid(number),
                        oid(entry.class),
                        Value::Int4(entry.column),
                        text(&entry.text),
                    ]
                }));
            }
            rows
        },
    },
];

/// The collation that values of a type have: PostgreSQL's number of `default`, or of `C` for names.
pub(super) fn collation_of(ty: SqlType) -> u32 {
    match ty.element().unwrap_or(ty) {
        SqlType::Text | SqlType::Varchar | SqlType::Bpchar => 100,
        SqlType::Name => 950,
        _ => 0,
    }
}

/// How PostgreSQL would keep values of a type: `p`, `m` or `x`.
pub(super) fn storage_of(ty: SqlType) -> &'static str {
    match ty {
        SqlType::Numeric => "m",
        ty if ty.type_len() == -1 && !ty.is_vector() => "x",
        _ => "p",
    }
}

/// How PostgreSQL would align values of a type.
pub(super) fn alignment_of(ty: SqlType) -> &'static str {
    match ty.type_len() {
        1 => "c",
        2 => "s",
        8 | 16 if ty != SqlType::Uuid => "d",
        _ if matches!(ty, SqlType::Name | SqlType::Uuid) => "c",
        _ if ty.element().is_some_and(|element| element.type_len() == 8) => "d",
        _ => "i",
    }
}

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
    /// Has foreign keys, or is referred to.
    referring: bool,
    /// It has partitions, or is an index of what has.
    divided: bool,
    /// Of a partition.
    bound: Option<&'a str>,
}

fn class(planner: &Planner, class: &Class) -> Vec<Value> {
    vec![
        oid(class.oid),
        text(class.name),
        oid(schema_oid(planner, class.schema)),
        oid(match class.kind {
            "r" | "p" | "v" if class.oid >= crate::records::FIRST_ID => row_type(class.oid),
            _ => 0,
        }),
        oid(0),
        oid(OWNER),
        oid(class.access_method),
        oid(class.oid),
        oid(0),
        Value::Int4(i32::from(matches!(class.kind, "S" | "i"))),
        // As in PostgreSQL before the first ANALYZE: not known.
        Value::Float4(match class.kind {
            "i" => 0.0,
            "S" => 1.0,
            _ => -1.0,
        }),
        Value::Int4(0),
        oid(0),
        flag(class.indexed),
        flag(false),
        text(match is_temporary(class.schema) {
            true => "t",
            false => "p",
        }),
        text(class.kind),
        short(class.columns),
        short(class.checks),
        flag(class.kind == "v"),
        flag(class.referring),
        flag(class.divided),
        flag(false),
        flag(false),
        flag(true),
        text(if matches!(class.kind, "r" | "p") {
            "d"
        } else {
            "n"
        }),
        flag(class.bound.is_some()),
        oid(0),
        Value::Null,
        Value::Null,
        class.bound.map_or(Value::Null, text),
    ]
}

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

/// The place of `reltype` in a row of `pg_class`.
const CLASS_TYPE: usize = 3;

fn classes(planner: &Planner) -> Vec<Vec<Value>> {
    const HEAP: u32 = 2;
    const BTREE: u32 = 403;
    let plain = Class {
        oid: 0,
        name: "",
        schema: "",
        kind: "r",
        access_method: HEAP,
        columns: 0,
        checks: 0,
        indexed: false,
        referring: false,
        divided: false,
        bound: None,
    };
    let mut rows = Vec::new();
    for layout in layout::all() {
        rows.push(class(
            planner,
            &Class {
                oid: layout.oid,
                name: layout.name,
                schema: layout.schema,
                kind: layout.kind,
                access_method: if layout.kind == "r" { HEAP } else { 0 },
                columns: layout.columns.len(),
                ..plain
            },
        ));
    }
    for table in &planner.catalog().tables_and_parts() {
        let bound = partitions::bound_of(table);
        let divided = table.partitions.is_some() && bound.is_none();
        let parts = table
            .partitions
            .iter()
            .map(|all| all.all.parts.len())
            .sum::<usize>();
        // Those of a partition are the whole table's.
        let indexes = match bound {
            None => all_indexes(table),
            Some(_) => Vec::new(),
        };
        rows.push(class(
            planner,
            &Class {
                oid: table.relation().0,
                name: &table.name,
                schema: &table.schema,
                kind: if divided { "p" } else { "r" },
                access_method: if divided { 0 } else { HEAP },
                columns: table.columns.len(),
                checks: if bound.is_some() {
                    0
                } else {
                    table.own_checks().count()
                },
                indexed: !indexes.is_empty(),
                referring: bound.is_none() && table.references.is_some(),
                divided: divided && parts > 0,
                bound: bound.as_deref(),
            },
        ));
        for (number, name, columns, ..) in indexes {
            rows.push(class(
                planner,
                &Class {
                    oid: number,
                    name,
                    schema: &table.schema,
                    kind: if divided { "I" } else { "i" },
                    access_method: BTREE,
                    columns: columns.len(),
                    divided: divided && parts > 0,
                    ..plain
                },
            ));
        }
    }
    for view in planner.catalog().views() {
        rows.push(class(
            planner,
            &Class {
                oid: view.id.0,
                name: &view.name,
                schema: &view.schema,
                kind: "v",
                access_method: 0,
                columns: view.columns.len(),
                ..plain
            },
        ));
    }
    for made in planner.catalog().user_types() {
        let Some(fields) = made.fields() else {
            continue;
        };
        let mut row = class(
            planner,
            &Class {
                oid: made.class_number(),
                name: &made.name,
                schema: &made.schema,
                kind: "c",
                access_method: 0,
                columns: fields.len(),
                ..plain
            },
        );
        row[CLASS_TYPE] = oid(made.id);
        rows.push(row);
    }
    for sequence in planner.catalog().sequences() {
        rows.push(class(
            planner,
            &Class {
                oid: sequence.id.0,
                name: &sequence.name,
                schema: &sequence.schema,
                kind: "S",
                access_method: 0,
                columns: SEQUENCE_COLUMNS.len(),
                ..plain
            },
        ));
    }
    rows
}

/// What can be selected from a sequence.
const SEQUENCE_COLUMNS: [(&str, SqlType); 3] = [
    ("last_value", SqlType::Int8),
    ("log_cnt", SqlType::Int8),
    ("is_called", SqlType::Bool),
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
        flag(matches!(ty.type_len(), 1..=8)),
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
        for (number, column) in columns.filter(|(_, column)| !column.hidden) {
            let name = match column.dropped {
                true => format!("........pg.dropped.{}........", number + 1),
                false => column.name.clone(),
            };
            let stored = record.map(|record| &record.columns[number]);
            let default = stored.is_some_and(|stored| stored.default.is_some());
            let mut row = attribute(&Attribute {
                modifier: column.modifier,
                default: (default && column.identity.is_none()) || column.generated.is_some(),
                generated: column.generated.is_some(),
                missing: column.missing.is_some(),
                identity: match column.identity {
                    Some(Identity::Always) => "a",
                    Some(Identity::ByDefault) => "d",
                    None => "",
                },
                dropped: column.dropped,
                ..plain(
                    table.relation().0,
                    &name,
                    column.ty,
                    number + 1,
                    column.not_null,
                )
            });
            if let Some(domain) = super::types::domain_of(planner, table.id, number) {
                row[ATTRIBUTE_TYPE] = oid(domain.id);
                row[ATTRIBUTE_MODIFIER] = Value::Int4(-1);
            }
            rows.push(row);
        }
        if is_part {
            continue;
        }
        for (index, _, columns, ..) in all_indexes(table) {
            let names = index_names(planner, table, index);
            rows.extend(columns.iter().zip(1..).map(|(&column, number)| {
                let column = &table.columns[column];
                let name = names.get(number - 1).unwrap_or(&column.name);
                attribute(&Attribute {
                    modifier: column.modifier,
                    ..plain(index, name, column.ty, number, false)
                })
            }));
        }
    }
    for view in planner.catalog().views() {
        rows.extend(view.columns.iter().zip(1..).map(|(column, number)| {
            attribute(&Attribute {
                modifier: column.modifier,
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

/// What the columns of a secondary index are called; none of other indexes.
fn index_names(planner: &Planner, table: &TableDef, number: u32) -> Vec<String> {
    let record = planner.catalog().record(table.id);
    let names = record.and_then(|record| {
        let index = record.indexes.iter().find(|index| index.id.0 == number)?;
        Some(crate::ddl::index_column_names(record, index))
    });
    names.unwrap_or_default()
}

/// Sequences and the columns that own them.
fn dependencies(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |sequence: &std::sync::Arc<quintet_ir::SequenceDef>| {
        let (table, column) = sequence.owned_by?;
        let owner = planner.catalog().table_by_id(table)?;
        let identity = owner.columns.get(column)?.identity.is_some();
        Some(vec![
            oid(PG_CLASS),
            oid(sequence.id.0),
            Value::Int4(0),
            oid(PG_CLASS),
            oid(table.0),
            Value::Int4(column as i32 + 1),
            text(if identity { "i" } else { "a" }),
        ])
    };
    planner.catalog().sequences().filter_map(row).collect()
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
                super::print::index_expressions(planner, table, number),
                super::print::index_predicate(planner, table, number),
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

fn constraints(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        let mut add =
            |number: u32, name: &str, kind: &str, index: u32, columns: Value, source: Value| {
                rows.push(vec![
                    oid(number),
                    text(name),
                    oid(schema_oid(planner, &table.schema)),
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
        for (number, check) in table.own_checks().enumerate() {
            let mut columns = Vec::new();
            check.condition.collect_columns(&mut columns);
            columns.sort_unstable();
            columns.dedup();
            add(
                check_oid(table.id, number),
                &check.name,
                "c",
                0,
                numbers(&columns),
                text(&printed_check(planner, table, &check.text, false)),
            );
        }
    }
    for made in planner.catalog().user_types() {
        let Some(domain) = made.domain() else {
            continue;
        };
        for check in &domain.checks {
            rows.push(vec![
                oid(check.id),
                text(&check.name),
                oid(schema_oid(planner, &made.schema)),
                text("c"),
                flag(false),
                flag(false),
                flag(true),
                oid(0),
                oid(made.id),
                oid(0),
                oid(0),
                oid(0),
                text(" "),
                text(" "),
                text(" "),
                flag(true),
                Value::Int4(0),
                flag(false),
                Value::Null,
                Value::Null,
                text(&super::types::printed_check(
                    planner,
                    domain,
                    &check.text,
                    false,
                )),
            ]);
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

/// A check's number. Checks have no record of their own; their numbers only must not meet others.
pub(super) fn check_oid(table: TableId, number: usize) -> u32 {
    0x8000_0000 | (table.0 << 8) | number as u32
}

/// A check's condition as PostgreSQL prints it.
pub(super) fn printed_check(
    planner: &Planner,
    table: &TableDef,
    source: &str,
    pretty: bool,
) -> String {
    let scope = Scope::of_table(table);
    super::print::source(planner, &scope, source, pretty)
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
        oid(schema_oid(
            planner,
            child.map_or("public", |child| &child.schema),
        )),
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
    for table in &planner.catalog().tables_and_parts() {
        let relation = table.relation().0;
        let Some(record) = planner.catalog().record(table.id) else {
            continue;
        };
        for (number, column) in record.columns.iter().enumerate() {
            if let (Some(default), None, false) = (&column.default, column.identity, column.dropped)
            {
                rows.push(vec![
                    oid(0x8000_0000 | (relation << 8) | number as u32),
                    oid(relation),
                    short(number + 1),
                    text(&super::print::default(planner, column, default)),
                ]);
            }
        }
        for (number, source) in &record.more.generated {
            let column = &record.columns[*number];
            if column.dropped || record.is_hidden(*number) {
                continue;
            }
            rows.push(vec![
                oid(0x8000_0000 | (relation << 8) | *number as u32),
                oid(relation),
                short(number + 1),
                text(&printed_check(planner, table, source, false)),
            ]);
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
