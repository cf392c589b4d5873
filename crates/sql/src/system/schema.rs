//! `information_schema` about constraints, sequences and what else is no table, column or routine.
//!
//! Relies on: the catalogue.  Promises: PostgreSQL's columns and words.  Does not: list privileges; there are none
//! to speak of.

use super::constraints::printed_check;
use super::foreign_copies::{ShownKey, shown_keys};
use super::indexes::{PartIndex, part_index, part_indexes};
use super::{Definition, text};
use crate::planner::Planner;
use crate::records::ForeignKeyRecord;
use quintet_base::types::format_type;
use quintet_base::{SqlType, TypeMod, Value};
use quintet_ir::schema::{TableDef, TableRef};

pub(super) const INFORMATION: &[Definition] = &[
    Definition {
        name: "information_schema_catalog_name",
        columns: &["catalog_name"],
        rows: |planner| vec![vec![text(planner.context.database)]],
    },
    Definition {
        name: "enabled_roles",
        columns: &["role_name"],
        rows: |planner| vec![vec![text(planner.context.database)]],
    },
    Definition {
        name: "table_constraints",
        columns: &[
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
            "table_catalog",
            "table_schema",
            "table_name",
            "constraint_type",
            "is_deferrable",
            "initially_deferred",
            "enforced",
            "nulls_distinct",
        ],
        rows: table_constraints,
    },
    Definition {
        name: "key_column_usage",
        columns: &[
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
            "table_catalog",
            "table_schema",
            "table_name",
            "column_name",
            "ordinal_position",
            "position_in_unique_constraint",
        ],
        rows: key_columns,
    },
    Definition {
        name: "constraint_column_usage",
        columns: &[
            "table_catalog",
            "table_schema",
            "table_name",
            "column_name",
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
        ],
        rows: used_columns,
    },
    Definition {
        name: "constraint_table_usage",
        columns: &[
            "table_catalog",
            "table_schema",
            "table_name",
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
        ],
        rows: used_tables,
    },
    Definition {
        name: "referential_constraints",
        columns: &[
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
            "unique_constraint_catalog",
            "unique_constraint_schema",
            "unique_constraint_name",
            "match_option",
            "update_rule",
            "delete_rule",
        ],
        rows: |planner| {
            let keys = shown_keys(planner.catalog());
            let rows = keys.iter().filter_map(|key| referential(planner, key));
            rows.collect()
        },
    },
    Definition {
        name: "check_constraints",
        columns: &[
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
            "check_clause",
        ],
        rows: checks,
    },
    Definition {
        name: "sequences",
        columns: &[
            "sequence_catalog",
            "sequence_schema",
            "sequence_name",
            "data_type",
            "numeric_precision",
            "numeric_precision_radix",
            "numeric_scale",
            "start_value",
            "minimum_value",
            "maximum_value",
            "increment",
            "cycle_option",
        ],
        rows: sequences,
    },
    Definition {
        name: "element_types",
        columns: &[
            "object_catalog",
            "object_schema",
            "object_name",
            "object_type",
            "collection_type_identifier",
            "data_type",
            "udt_catalog",
            "udt_schema",
            "udt_name",
            "dtd_identifier",
        ],
        rows: elements,
    },
];

fn yes_or_no(yes: bool) -> Value {
    text(if yes { "YES" } else { "NO" })
}

/// A primary key or a unique constraint: its name, its kind, its columns, and its index.
type Key<'t> = (&'t str, &'static str, &'t [usize], u32);

/// Those of all tables, and of partitions, which have their tables' by names of their own.
struct Keys<'c> {
    parts: Vec<PartIndex<'c>>,
}

impl<'c> Keys<'c> {
    fn of_catalog(planner: &Planner<'c>) -> Keys<'c> {
        let mut parts = part_indexes(planner.catalog());
        parts.retain(|own| own.constraint);
        Keys { parts }
    }

    /// Those of a table or partition.
    fn of<'t>(&'t self, table: &'t TableDef) -> Vec<Key<'t>> {
        if table.relation() == table.id {
            return keys(table);
        }
        let own = self.parts.iter();
        let own = own.filter(|own| own.part.id == table.relation());
        let key = |own: &'t PartIndex| {
            let word = if own.primary { "PRIMARY KEY" } else { "UNIQUE" };
            (own.name.as_str(), word, own.columns, own.of_table)
        };
        own.map(key).collect()
    }
}

/// Those of a table.
fn keys(table: &TableDef) -> Vec<Key<'_>> {
    let primary = table.primary_key.iter();
    let number = super::primary_key_oid(table.id);
    let primary = primary.map(|key| {
        let columns = key.columns.as_slice();
        (key.name.as_str(), "PRIMARY KEY", columns, number)
    });
    let unique = table.indexes.iter();
    // The standard knows no exclusions.
    let unique = unique.filter(|index| index.constraint && index.excludes.is_none());
    let unique = unique.map(|index| {
        let columns = index.columns.as_slice();
        (index.name.as_str(), "UNIQUE", columns, index.id.0)
    });
    primary.chain(unique).collect()
}

/// `database, schema, name` three times over is most of these views.
fn place(planner: &Planner, schema: &str, name: &str) -> Vec<Value> {
    vec![text(planner.context.database), text(schema), text(name)]
}

/// What PostgreSQL calls the check behind a NOT NULL.
fn not_null_name(planner: &Planner, table: &TableDef, column: usize) -> String {
    format!(
        "{}_{}_{}_not_null",
        super::schema_oid(planner, &table.schema),
        table.relation().0,
        column + 1
    )
}

fn table_constraints(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let keys = Keys::of_catalog(planner);
    let foreign = shown_keys(planner.catalog());
    for table in planner.catalog().tables_and_parts() {
        let mut add = |name: &str, word: &str, late: bool, deferred: bool| {
            let mut row = place(planner, &table.schema, name);
            row.extend(place(planner, &table.schema, &table.name));
            let distinct = match word {
                "UNIQUE" => {
                    let mut equal = table.indexes.iter().filter(|index| index.nulls_equal);
                    yes_or_no(!equal.any(|index| index.name == name))
                }
                _ => Value::Null,
            };
            row.extend([
                text(word),
                yes_or_no(late),
                yes_or_no(deferred),
                text("YES"),
                distinct,
            ]);
            rows.push(row);
        };
        for (name, word, _, index) in keys.of(&table) {
            let late = planner.catalog().late(table.id, index);
            add(name, word, late.is_some(), late == Some(true));
        }
        for shown in foreign.iter().filter(|it| it.child == table.relation()) {
            let (late, deferred) = (shown.key.deferrable, shown.key.deferred);
            add(&shown.name, "FOREIGN KEY", late, deferred);
        }
        for check in table.own_checks() {
            add(&check.name, "CHECK", false, false);
        }
        for (number, column) in table.visible_columns() {
            if column.not_null {
                add(
                    &not_null_name(planner, &table, number),
                    "CHECK",
                    false,
                    false,
                );
            }
        }
    }
    rows
}

fn key_columns(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let keys = Keys::of_catalog(planner);
    let foreign = shown_keys(planner.catalog());
    for table in planner.catalog().tables_and_parts() {
        let mut add = |name: &str, columns: &[usize], parents: Option<Vec<usize>>| {
            for (position, &column) in columns.iter().enumerate() {
                let mut row = place(planner, &table.schema, name);
                row.extend(place(planner, &table.schema, &table.name));
                row.push(text(&table.columns[column].name));
                row.push(Value::Int4(position as i32 + 1));
                let parent = parents.as_ref().and_then(|parents| parents.get(position));
                row.push(parent.map_or(Value::Null, |&parent| Value::Int4(parent as i32 + 1)));
                rows.push(row);
            }
        };
        for (name, _, columns, _) in keys.of(&table) {
            add(name, columns, None);
        }
        for shown in foreign.iter().filter(|it| it.child == table.relation()) {
            let key = shown.key;
            let parent = planner.catalog().table_by_id(key.parent);
            let unique = parent.map(|parent| unique_columns(parent, key));
            let places = unique.map(|(_, unique)| {
                let place = |column: &usize| unique.iter().position(|other| other == column);
                key.parent_columns.iter().filter_map(place).collect()
            });
            add(&shown.name, &key.columns, places);
        }
    }
    rows
}

/// The key that a foreign key refers to: its name and columns.
fn unique_columns<'t>(parent: &'t TableDef, key: &ForeignKeyRecord) -> (&'t str, &'t [usize]) {
    let index = key
        .index
        .and_then(|id| parent.indexes.iter().find(|index| index.id == id));
    match (index, &parent.primary_key) {
        (Some(index), _) => (&index.name, &index.columns),
        (None, Some(primary)) => (&primary.name, &primary.columns),
        (None, None) => ("", &[]),
    }
}

/// Whether conditions are among the constraints that are asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checks {
    Too,
    NotThey,
}

/// A constraint's name with the table and columns that it speaks of.
fn usage(planner: &Planner, with_checks: Checks) -> Vec<(String, TableRef, Vec<usize>)> {
    let mut found = Vec::new();
    let keys = Keys::of_catalog(planner);
    let foreign = shown_keys(planner.catalog());
    for table in planner.catalog().tables_and_parts() {
        for (name, _, columns, _) in keys.of(&table) {
            found.push((name.to_string(), TableRef::clone(&table), columns.to_vec()));
        }
        for shown in foreign.iter().filter(|it| it.child == table.relation()) {
            if let Some(parent) = planner.catalog().rows_of(shown.parent) {
                let columns = shown.key.parent_columns.clone();
                found.push((shown.name.clone(), TableRef::clone(&parent), columns));
            }
        }
        for check in (table.own_checks()).filter(|_| with_checks == Checks::Too) {
            let mut columns = Vec::new();
            check.condition.collect_columns(&mut columns);
            columns.sort_unstable();
            columns.dedup();
            found.push((check.name.clone(), TableRef::clone(&table), columns));
        }
    }
    found
}

fn used_columns(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (name, table, columns) in usage(planner, Checks::Too) {
        for column in columns {
            let mut row = place(planner, &table.schema, &table.name);
            row.push(text(&table.columns[column].name));
            row.extend(place(planner, &table.schema, &name));
            rows.push(row);
        }
    }
    rows
}

fn used_tables(planner: &Planner) -> Vec<Vec<Value>> {
    let rows = usage(planner, Checks::NotThey)
        .into_iter()
        .map(|(name, table, _)| {
            let mut row = place(planner, &table.schema, &table.name);
            row.extend(place(planner, &table.schema, &name));
            row
        });
    rows.collect()
}

fn referential(planner: &Planner, shown: &ShownKey) -> Option<Vec<Value>> {
    let rule = |letter: char| {
        text(match letter {
            'r' => "RESTRICT",
            'c' => "CASCADE",
            'n' => "SET NULL",
            'd' => "SET DEFAULT",
            _ => "NO ACTION",
        })
    };
    let key = shown.key;
    let parent = planner.catalog().rows_of(shown.parent)?;
    let mut row = place(planner, shown.schema, &shown.name);
    let of_part = part_index(planner.catalog(), shown.index);
    let unique = match &of_part {
        Some(own) => own.name.as_str(),
        None => unique_columns(&parent, key).0,
    };
    row.extend(place(planner, &parent.schema, unique));
    row.push(text(if key.full { "FULL" } else { "NONE" }));
    row.push(rule(key.on_update));
    row.push(rule(key.on_delete));
    Some(row)
}

fn checks(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in planner.catalog().tables_and_parts() {
        // PostgreSQL lists what is alike once: those of partitions are.
        let is_whole = table.relation() == table.id;
        for check in table.own_checks().filter(|_| is_whole) {
            let mut row = place(planner, &table.schema, &check.name);
            let printed = printed_check(planner, &table, &check.text, false);
            row.push(text(&format!("({printed})")));
            rows.push(row);
        }
        for (number, column) in table.visible_columns() {
            if column.not_null {
                let mut row = place(
                    planner,
                    &table.schema,
                    &not_null_name(planner, &table, number),
                );
                row.push(text(&format!("{} IS NOT NULL", column.name)));
                rows.push(row);
            }
        }
    }
    for record in planner.catalog().user_types() {
        let Some(domain) = record.domain() else {
            continue;
        };
        for check in &domain.checks {
            let mut row = place(planner, &record.schema, &check.name);
            let printed =
                super::types::printed_check(planner, &record.schema, domain, &check.text, false);
            row.push(text(&format!("({printed})")));
            rows.push(row);
        }
    }
    rows
}

fn sequences(planner: &Planner) -> Vec<Vec<Value>> {
    // Those of identity columns are not listed.
    let plain = |sequence: &&std::sync::Arc<quintet_ir::SequenceDef>| {
        let owner = sequence.owned_by.and_then(|(table, column)| {
            let table = planner.catalog().table_by_id(table)?;
            table.columns.get(column)
        });
        owner.is_none_or(|column| column.identity.is_none())
    };
    let row = |sequence: &std::sync::Arc<quintet_ir::SequenceDef>| {
        let bits = i32::from(sequence.ty.type_len()) * 8;
        let number = |number: i64| text(&number.to_string());
        let mut row = place(planner, &sequence.schema, &sequence.name);
        row.extend([
            text(&format_type(sequence.ty, TypeMod::NONE)),
            Value::Int4(bits),
            Value::Int4(2),
            Value::Int4(0),
            number(sequence.start),
            number(sequence.min),
            number(sequence.max),
            number(sequence.increment),
            yes_or_no(sequence.cycle),
        ]);
        row
    };
    planner
        .catalog()
        .sequences()
        .filter(plain)
        .map(row)
        .collect()
}

fn elements(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in planner.catalog().tables() {
        for (position, (_, column)) in table.visible_columns().enumerate() {
            let Some(element) = column.ty.element() else {
                continue;
            };
            let number = (position + 1).to_string();
            let mut row = place(planner, &table.schema, &table.name);
            row.extend([
                text("TABLE"),
                text(&number),
                text(&data_type(element)),
                text(planner.context.database),
                text(&super::types::place_of(planner, element).0),
                text(&super::types::place_of(planner, element).1),
                text(&format!("a{number}")),
            ]);
            rows.push(row);
        }
    }
    rows
}

/// Whether a type has a place in `information_schema.parameters`.
pub(super) fn data_type(ty: SqlType) -> String {
    match ty.family() {
        quintet_base::types::TypeFamily::Array => "ARRAY".to_string(),
        quintet_base::types::TypeFamily::Enum => "USER-DEFINED".to_string(),
        _ if matches!(ty, SqlType::Composite(_)) || ty.is_of_extension() => {
            "USER-DEFINED".to_string()
        }
        _ => format_type(ty, TypeMod::NONE),
    }
}
