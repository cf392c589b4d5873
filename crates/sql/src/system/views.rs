//! Views over the catalogue: those of `pg_catalog` for people, and `information_schema`.
//!
//! Relies on: the catalogue.  Promises: columns as PostgreSQL's, those that are cheap.
//! Does not: answer for other schemas' tables differently than for `public`.

use super::constraints::printed_check;
use super::indexes::{all_indexes, part_indexes};
use super::type_layout::{COLLATIONS, collation_of};
use super::{Definition, Known, flag, layout, text};
use crate::planner::Planner;
use crate::records::CheckOption;
use crate::records::MatviewRecord;
use crate::records::TypeRecord;
use crate::records::ViewRecord;
use crate::temporary::is_temporary;
use crate::updatable::{ADDS, CHANGES, fired, possible, updatable_columns};
use crate::view::definition;
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::ObjectKind;
use quintet_ir::schema::{Identity, SequenceDef, TableDef};

pub(super) const PG: &[Definition] = &[
    Definition {
        name: "pg_tables",
        columns: &[
            "schemaname",
            "tablename",
            "tableowner",
            "tablespace",
            "hasindexes",
            "hasrules",
            "hastriggers",
            "rowsecurity",
        ],
        rows: |planner| {
            let row = |table: &std::sync::Arc<TableDef>| {
                vec![
                    text(&table.schema),
                    text(&table.name),
                    text(&super::roles::owner_of(
                        planner,
                        ObjectKind::Table,
                        table.relation().0,
                    )),
                    Value::Null,
                    flag(table.primary_key.is_some() || !table.indexes.is_empty()),
                    flag(false),
                    flag(false),
                    flag(false),
                ]
            };
            let catalog = planner.catalog();
            let all = catalog.tables_and_parts();
            let all = all
                .iter()
                .filter(|table| catalog.matview(table.id).is_none());
            all.map(row).collect()
        },
    },
    Definition {
        name: "pg_matviews",
        columns: &[
            "schemaname",
            "matviewname",
            "matviewowner",
            "hasindexes",
            "ispopulated",
            "definition",
        ],
        rows: |planner| {
            let row = |own: &std::sync::Arc<MatviewRecord>| {
                let view = &own.view;
                let table = planner.catalog().table_by_id(view.id);
                vec![
                    text(&view.schema),
                    text(&view.name),
                    text(&super::roles::owner_of(
                        planner,
                        ObjectKind::Table,
                        view.id.0,
                    )),
                    flag(table.is_some_and(|table| !table.indexes.is_empty())),
                    flag(own.populated),
                    text(&definition(planner.context, view, false)),
                ]
            };
            planner.catalog().matviews().map(row).collect()
        },
    },
    Definition {
        name: "pg_views",
        columns: &["schemaname", "viewname", "viewowner", "definition"],
        rows: |planner| {
            let row = |view: &std::sync::Arc<ViewRecord>| {
                vec![
                    text(&view.schema),
                    text(&view.name),
                    text(&super::roles::owner_of(
                        planner,
                        ObjectKind::Table,
                        view.id.0,
                    )),
                    text(&definition(planner.context, view, false)),
                ]
            };
            planner.catalog().views().map(row).collect()
        },
    },
    Definition {
        name: "pg_sequences",
        columns: &[
            "schemaname",
            "sequencename",
            "sequenceowner",
            "data_type",
            "start_value",
            "min_value",
            "max_value",
            "increment_by",
            "cycle",
            "cache_size",
            "last_value",
        ],
        rows: |planner| {
            let row = |sequence: &std::sync::Arc<SequenceDef>| {
                vec![
                    text(&sequence.schema),
                    text(&sequence.name),
                    text(&super::roles::owner_of(
                        planner,
                        ObjectKind::Sequence,
                        sequence.id.0,
                    )),
                    Value::Oid(sequence.ty.oid()),
                    Value::Int8(sequence.start),
                    Value::Int8(sequence.min),
                    Value::Int8(sequence.max),
                    Value::Int8(sequence.increment),
                    flag(sequence.cycle),
                    Value::Int8(sequence.cache),
                    // Of which it is: asked for when the statement runs.
                    Value::Oid(sequence.id.0),
                ]
            };
            planner.catalog().sequences().map(row).collect()
        },
    },
    Definition {
        name: "pg_indexes",
        columns: &[
            "schemaname",
            "tablename",
            "indexname",
            "tablespace",
            "indexdef",
        ],
        rows: indexes,
    },
];

pub(super) const INFORMATION: &[Definition] = &[
    Definition {
        name: "tables",
        columns: &[
            "table_catalog",
            "table_schema",
            "table_name",
            "table_type",
            "is_insertable_into",
            "is_typed",
        ],
        rows: |planner| {
            let row = |table: &std::sync::Arc<TableDef>| {
                vec![
                    text(planner.context.database),
                    text(&table.schema),
                    text(&table.name),
                    text(match is_temporary(&table.schema) {
                        true => "LOCAL TEMPORARY",
                        false => "BASE TABLE",
                    }),
                    text("YES"),
                    text("NO"),
                ]
            };
            let view = |view: &std::sync::Arc<ViewRecord>| {
                vec![
                    text(planner.context.database),
                    text(&view.schema),
                    text(&view.name),
                    text("VIEW"),
                    yes_or_no(possible(planner, view.id) & ADDS == ADDS),
                    text("NO"),
                ]
            };
            let tables = planner.catalog().tables_and_parts();
            let tables = tables.iter();
            let tables = tables
                .filter(|table| is_shown(planner, &table.schema))
                .filter(|table| planner.catalog().matview(table.id).is_none())
                .map(row);
            let views = planner.catalog().views();
            let views = views
                .filter(|view| is_shown(planner, &view.schema))
                .map(view);
            let system = layout::all().map(|layout| {
                let (word, changes) = match layout.kind {
                    "r" => ("BASE TABLE", "YES"),
                    _ => ("VIEW", "NO"),
                };
                vec![
                    text(planner.context.database),
                    text(layout.schema),
                    text(layout.name),
                    text(word),
                    text(changes),
                    text("NO"),
                ]
            });
            tables.chain(views).chain(system).collect()
        },
    },
    Definition {
        name: "views",
        columns: &[
            "table_catalog",
            "table_schema",
            "table_name",
            "view_definition",
            "check_option",
            "is_updatable",
            "is_insertable_into",
            "is_trigger_updatable",
            "is_trigger_deletable",
            "is_trigger_insertable_into",
        ],
        rows: |planner| {
            let row = |view: &std::sync::Arc<ViewRecord>| {
                let mut row = vec![
                    text(planner.context.database),
                    text(&view.schema),
                    text(&view.name),
                    text(&definition(planner.context, view, false)),
                    text(match view.check {
                        CheckOption::None => "NONE",
                        CheckOption::Local => "LOCAL",
                        CheckOption::Cascaded => "CASCADED",
                    }),
                ];
                let possible = possible(planner, view.id);
                row.extend([CHANGES, ADDS].map(|all| yes_or_no(possible & all == all)));
                row.extend(fired(planner.catalog(), view.id).map(yes_or_no));
                row
            };
            // How they are made is no query.
            let system = layout::all()
                .filter(|layout| layout.kind == "v")
                .map(|layout| {
                    let mut row = vec![
                        text(planner.context.database),
                        text(layout.schema),
                        text(layout.name),
                        Value::Null,
                        text("NONE"),
                    ];
                    row.resize(10, text("NO"));
                    row
                });
            planner.catalog().views().map(row).chain(system).collect()
        },
    },
    Definition {
        name: "columns",
        columns: &[
            "table_catalog",
            "table_schema",
            "table_name",
            "column_name",
            "ordinal_position",
            "column_default",
            "is_nullable",
            "data_type",
            "character_maximum_length",
            "character_octet_length",
            "numeric_precision",
            "numeric_precision_radix",
            "numeric_scale",
            "datetime_precision",
            "collation_catalog",
            "collation_schema",
            "collation_name",
            "domain_catalog",
            "domain_schema",
            "domain_name",
            "udt_catalog",
            "udt_schema",
            "udt_name",
            "dtd_identifier",
            "is_self_referencing",
            "is_identity",
            "identity_generation",
            "identity_start",
            "identity_increment",
            "identity_maximum",
            "identity_minimum",
            "identity_cycle",
            "is_generated",
            "generation_expression",
            "is_updatable",
        ],
        rows: columns,
    },
    Definition {
        name: "schemata",
        columns: &["catalog_name", "schema_name", "schema_owner"],
        rows: |planner| {
            let schemas = super::schemas(planner.catalog());
            let row = |(number, name): (u32, String)| {
                vec![
                    text(planner.context.database),
                    text(&name),
                    text(&super::roles::owner_of(planner, ObjectKind::Schema, number)),
                ]
            };
            schemas.into_iter().map(row).collect()
        },
    },
];

fn indexes(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        for (number, name, ..) in all_indexes(table) {
            let definition = Known::new(planner.context).index(number, 0, false);
            rows.push(vec![
                text(&table.schema),
                text(&table.name),
                text(name),
                Value::Null,
                definition.map_or(Value::Null, Value::text),
            ]);
        }
    }
    for own in part_indexes(planner.catalog()) {
        let definition = Known::new(planner.context).index(own.number, 0, false);
        rows.push(vec![
            text(&own.part.schema),
            text(&own.part.name),
            text(&own.name),
            Value::Null,
            definition.map_or(Value::Null, Value::text),
        ]);
    }
    rows
}

/// What a column of a view has where nothing is given, as it is printed.
fn default_of_view(planner: &Planner, view: &ViewRecord, place: usize) -> Value {
    view.default(place).map_or(Value::Null, |source| {
        let column = view.as_column(place);
        text(&super::print::default(
            planner,
            &view.schema,
            &column,
            source,
        ))
    })
}

/// A column of a table or view.
struct Listed<'a> {
    schema: &'a str,
    relation: &'a str,
    name: &'a str,
    /// From 1.
    position: usize,
    ty: SqlType,
    modifier: TypeMod,
    default: Value,
    /// What it is generated from.
    generated: Value,
    not_null: bool,
    identity: Option<Identity>,
    /// What counts for an identity column.
    sequence: Option<&'a SequenceDef>,
    domain: Option<&'a TypeRecord>,
    collation: u32,
    updatable: bool,
}

/// False for what is temporary and of another session.
fn is_shown(planner: &Planner, schema: &str) -> bool {
    !is_temporary(schema) || planner.temporary() == Some(schema)
}

fn columns(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let tables = planner.catalog().tables_and_parts();
    for table in tables
        .iter()
        .filter(|table| is_shown(planner, &table.schema))
        .filter(|table| planner.catalog().matview(table.id).is_none())
    {
        let record = planner.catalog().record(table.id);
        for (number, column) in table.visible_columns() {
            let stored = record.map(|record| &record.columns[number]);
            let default = stored.and_then(|stored| Some((stored, stored.default.as_deref()?)));
            let listed = Listed {
                schema: &table.schema,
                relation: &table.name,
                name: &column.name,
                position: number + 1,
                ty: column.ty,
                modifier: column.modifier,
                default: match default {
                    Some((stored, default)) if column.identity.is_none() => text(
                        &super::print::default(planner, &table.schema, stored, default),
                    ),
                    _ => Value::Null,
                },
                generated: match record.and_then(|record| {
                    let mut all = record.more.generated.iter();
                    all.find(|(other, _)| *other == number)
                }) {
                    Some((_, source)) => text(&printed_check(planner, table, source, false)),
                    None => Value::Null,
                },
                not_null: column.not_null
                    || super::types::domain_of(planner, table.id, number).is_some_and(|record| {
                        let all = planner.catalog().domains_of(record);
                        all.iter().any(|(_, domain)| domain.not_null)
                    }),
                identity: column.identity,
                sequence: column.identity.and_then(|_| {
                    let mut all = planner.catalog().sequences();
                    let own = all.find(|sequence| sequence.owned_by == Some((table.id, number)));
                    own.map(|sequence| &**sequence)
                }),
                domain: super::types::domain_of(planner, table.id, number),
                collation: record.map_or(0, |record| record.collation(number)),
                updatable: true,
            };
            rows.push(column_row(planner, &listed));
        }
    }
    for view in planner.catalog().views() {
        let updatable = updatable_columns(planner, view.id, view.columns.len());
        let columns = view.columns.iter().zip(updatable);
        for ((column, updatable), position) in columns.zip(1..) {
            let listed = Listed {
                schema: &view.schema,
                relation: &view.name,
                name: &column.name,
                position,
                ty: column.ty,
                modifier: column.modifier,
                default: default_of_view(planner, view, position - 1),
                generated: Value::Null,
                not_null: false,
                identity: None,
                sequence: None,
                domain: None,
                collation: collation_of(column.ty),
                updatable,
            };
            rows.push(column_row(planner, &listed));
        }
    }
    for layout in layout::all() {
        for (column, position) in layout.columns.iter().zip(1..) {
            let listed = Listed {
                schema: layout.schema,
                relation: layout.name,
                name: column.name,
                position,
                ty: column.ty,
                modifier: column.modifier,
                default: Value::Null,
                generated: Value::Null,
                not_null: column.not_null,
                identity: None,
                sequence: None,
                domain: None,
                collation: collation_of(column.ty),
                updatable: layout.kind == "r",
            };
            rows.push(column_row(planner, &listed));
        }
    }
    rows
}

/// What `information_schema` says of a type's sizes.
pub(super) fn measures(ty: SqlType, modifier: TypeMod) -> Vec<Value> {
    /// Bytes that a character may take, times the longest text.
    const OCTETS_MAX: i32 = 1 << 30;
    let number = |number: Option<i32>| number.map_or(Value::Null, Value::Int4);
    let length = match ty {
        SqlType::Varchar | SqlType::Bpchar => modifier.as_length(),
        SqlType::Bit | SqlType::VarBit => modifier.as_bits(),
        _ => None,
    };
    let length = length.and_then(|length| i32::try_from(length).ok());
    let octets = match (ty, length) {
        (SqlType::Varchar | SqlType::Bpchar, Some(length)) => length.checked_mul(4),
        (SqlType::Text | SqlType::Varchar, None) => Some(OCTETS_MAX),
        _ => None,
    };
    let (precision, radix, scale) = match ty {
        SqlType::Int2 => (Some(16), Some(2), Some(0)),
        SqlType::Int4 => (Some(32), Some(2), Some(0)),
        SqlType::Int8 => (Some(64), Some(2), Some(0)),
        SqlType::Float4 => (Some(24), Some(2), None),
        SqlType::Float8 => (Some(53), Some(2), None),
        SqlType::Numeric => match modifier.as_precision_scale() {
            Some((precision, scale)) => {
                // PostgreSQL 15 does not tell of a sign here.
                let scale = i32::from(scale) & 0x7ff;
                (Some(i32::from(precision)), Some(10), Some(scale))
            }
            None => (None, Some(10), None),
        },
        _ => (None, None, None),
    };
    let digits = match ty {
        SqlType::Date => Some(0),
        SqlType::Timestamp | SqlType::TimestampTz | SqlType::Time | SqlType::TimeTz => {
            Some(if modifier == TypeMod::NONE {
                6
            } else {
                modifier.0
            })
        }
        SqlType::Interval => Some(6),
        _ => None,
    };
    let all = [length, octets, precision, radix, scale, digits];
    all.map(number).to_vec()
}

fn yes_or_no(yes: bool) -> Value {
    text(if yes { "YES" } else { "NO" })
}

fn column_row(planner: &Planner, column: &Listed) -> Vec<Value> {
    let (schema, name) = super::types::place_of(planner, column.ty);
    let counts = |number: fn(&SequenceDef) -> i64| match column.sequence {
        Some(sequence) => text(&number(sequence).to_string()),
        None => Value::Null,
    };
    let of_domain = |word: &str| column.domain.map_or(Value::Null, |_| text(word));
    let mut row = vec![
        text(planner.context.database),
        text(column.schema),
        text(column.relation),
        text(column.name),
        Value::Int4(column.position as i32),
        column.default.clone(),
        yes_or_no(!column.not_null),
        text(&super::schema::data_type(column.ty)),
    ];
    row.extend(measures(column.ty, column.modifier));
    // The usual one is not told.
    let mut collations = COLLATIONS.iter().filter(|(_, name)| *name != "default");
    let of_collation =
        |(_, name): &(u32, &str)| [planner.context.database, "pg_catalog", name].map(text);
    let collation = collations.find(|(number, _)| *number == column.collation);
    row.extend(collation.map_or([const { Value::Null }; 3], of_collation));
    row.extend([
        of_domain(planner.context.database),
        of_domain(column.domain.map_or("", |domain| &domain.schema)),
        of_domain(column.domain.map_or("", |domain| &domain.name)),
        text(planner.context.database),
        text(&schema),
        text(&name),
        text(&column.position.to_string()),
        yes_or_no(false),
        yes_or_no(column.identity.is_some()),
        match column.identity {
            Some(Identity::Always) => text("ALWAYS"),
            Some(Identity::ByDefault) => text("BY DEFAULT"),
            None => Value::Null,
        },
        counts(|sequence| sequence.start),
        counts(|sequence| sequence.increment),
        counts(|sequence| sequence.max),
        counts(|sequence| sequence.min),
        yes_or_no(column.sequence.is_some_and(|sequence| sequence.cycle)),
        text(match column.generated {
            Value::Null => "NEVER",
            _ => "ALWAYS",
        }),
        column.generated.clone(),
        yes_or_no(column.updatable),
    ]);
    row
}
