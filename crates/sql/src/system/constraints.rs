//! pg_constraint: keys, checks and foreign keys, those of domains among them.
//!
//! Relies on: the catalogue.  Promises: each constraint has a number that no other object has.  Does not: list NOT NULL, which is
//! the column's.

use super::foreign_copies::{ShownKey, shown_keys};
use super::indexes::part_indexes;
use super::{
    Definition, flag, numbers, oid, primary_key_oid, print, schema_oid, short, text, types,
};
use crate::planner::Planner;
use crate::records::ForeignKeyRecord;
use crate::scope::Scope;
use quintet_base::value::Array;
use quintet_base::{SqlType, TableId, Value};
use quintet_ir::schema::{CheckDef, TableDef};

pub(super) const RELATIONS: &[Definition] = &[Definition {
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
}];

/// What differs between the kinds of constraints.
struct Constraint<'a> {
    oid: u32,
    name: &'a str,
    schema: &'a str,
    kind: &'a str,
    /// Of a table, or of a domain; the other is 0.
    table: u32,
    domain: u32,
    /// Which a key is kept by, or a foreign key looks into.
    index: u32,
    columns: Value,
    /// A check's condition.
    source: Value,
    foreign: Option<&'a ForeignKeyRecord>,
    /// DEFERRABLE, and then if INITIALLY DEFERRED; of a foreign key it says so itself.
    late: Option<bool>,
    validated: bool,
}

fn constraint(planner: &Planner, constraint: Constraint) -> Vec<Value> {
    let key = constraint.foreign;
    let late = match key {
        Some(key) => key.deferrable.then_some(key.deferred),
        None => constraint.late,
    };
    let letter = |letter: fn(&ForeignKeyRecord) -> char| {
        let letter = key.map_or(' ', letter);
        text(letter.encode_utf8(&mut [0; 4]))
    };
    vec![
        oid(constraint.oid),
        text(constraint.name),
        oid(schema_oid(planner, constraint.schema)),
        text(constraint.kind),
        flag(late.is_some()),
        flag(late == Some(true)),
        flag(constraint.validated),
        oid(constraint.table),
        oid(constraint.domain),
        oid(constraint.index),
        oid(0),
        oid(key.map_or(0, |key| key.parent.0)),
        letter(|key| key.on_update),
        letter(|key| key.on_delete),
        letter(|key| if key.full { 'f' } else { 's' }),
        flag(true),
        Value::Int4(0),
        // Only conditions are what children have, too.
        flag(constraint.kind != "c"),
        constraint.columns,
        key.map_or(Value::Null, |key| numbers(&key.parent_columns)),
        constraint.source,
    ]
}

/// The same of a partition, as it has it from its table.
fn inherited(mut row: Vec<Value>, parent: u32) -> Vec<Value> {
    row[PARENT] = oid(parent);
    row[IS_LOCAL] = flag(false);
    row[INHERITED] = Value::Int4(1);
    row[NO_INHERIT] = flag(false);
    row
}

/// Places of `conparentid`, `conislocal` and `coninhcount` in a row.
const PARENT: usize = 10;
/// And of `confrelid`.
const REFERRED: usize = 11;
const IS_LOCAL: usize = 15;
const INHERITED: usize = 16;
/// And of `connoinherit`.
const NO_INHERIT: usize = 17;

/// The columns that a check looks at.
fn columns_of(check: &CheckDef) -> Vec<usize> {
    let mut columns = Vec::new();
    check.condition.collect_columns(&mut columns);
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn constraints(planner: &Planner) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for trigger in planner.catalog().triggers().filter(|t| t.constraint) {
        let table = planner.catalog().rows_of(trigger.table);
        rows.extend(table.map(|table| {
            let of_trigger = Constraint {
                oid: trigger.id,
                name: &trigger.name,
                schema: &table.schema,
                kind: "t",
                table: trigger.table.0,
                domain: 0,
                index: 0,
                columns: Value::Null,
                source: Value::Null,
                foreign: None,
                late: trigger.more.late,
                validated: true,
            };
            constraint(planner, of_trigger)
        }));
    }
    for table in planner.catalog().tables() {
        let of_table = |oid, name, kind, index, columns| Constraint {
            oid,
            name,
            schema: &table.schema,
            kind,
            table: table.id.0,
            domain: 0,
            index,
            columns,
            source: Value::Null,
            foreign: None,
            late: planner.catalog().late(table.id, index),
            validated: true,
        };
        if let Some(key) = &table.primary_key {
            let index = primary_key_oid(table.id);
            let key = of_table(index, &key.name, "p", index, numbers(&key.columns));
            rows.push(constraint(planner, key));
        }
        for index in table.indexes.iter().filter(|index| index.constraint) {
            let number = index.id.0;
            let (kind, columns) = match &index.excludes {
                Some(excludes) => ("x", excluded_columns(table, &excludes.written)),
                None => ("u", numbers(&index.columns)),
            };
            let key = of_table(number, &index.name, kind, number, columns);
            rows.push(constraint(planner, key));
        }
        for (number, check) in table.own_checks().enumerate() {
            let columns = columns_of(check);
            let number = check_oid(table.id, number);
            let check = Constraint {
                source: text(&printed_check(planner, table, &check.text, false)),
                validated: check.validated,
                ..of_table(number, &check.name, "c", 0, numbers(&columns))
            };
            rows.push(constraint(planner, check));
        }
    }
    // Those of partitions are there with their tables'.
    for own in part_indexes(planner.catalog()) {
        if own.constraint {
            let key = Constraint {
                oid: own.number,
                name: &own.name,
                schema: &own.part.schema,
                kind: if own.primary { "p" } else { "u" },
                table: own.part.id.0,
                domain: 0,
                index: own.number,
                columns: numbers(own.columns),
                source: Value::Null,
                foreign: None,
                late: planner.catalog().late(own.table.id, own.of_table),
                validated: true,
            };
            rows.push(inherited(constraint(planner, key), own.parent));
        }
    }
    for table in planner.catalog().tables_and_parts() {
        let Some(part) = table.partitions.as_ref().and_then(|all| all.part()) else {
            continue;
        };
        for (number, check) in table.own_checks().enumerate() {
            let columns = columns_of(check);
            let check = Constraint {
                oid: check_oid(part.id, number),
                name: &check.name,
                schema: &part.schema,
                kind: "c",
                table: part.id.0,
                domain: 0,
                index: 0,
                columns: numbers(&columns),
                source: text(&printed_check(planner, &table, &check.text, false)),
                foreign: None,
                late: None,
                validated: check.validated,
            };
            // PostgreSQL knows the parents of keys alone.
            rows.push(inherited(constraint(planner, check), 0));
        }
    }
    for made in planner.catalog().user_types() {
        let Some(domain) = made.domain() else {
            continue;
        };
        rows.extend(domain.checks.iter().map(|check| {
            let source = types::printed_check(planner, &made.schema, domain, &check.text, false);
            let check = Constraint {
                oid: check.id,
                name: &check.name,
                schema: &made.schema,
                kind: "c",
                table: 0,
                domain: made.id,
                index: 0,
                columns: Value::Null,
                source: text(&source),
                foreign: None,
                late: None,
                validated: true,
            };
            constraint(planner, check)
        }));
    }
    let keys = shown_keys(planner.catalog());
    rows.extend(keys.iter().map(|key| foreign_key(planner, key)));
    rows
}

/// Columns by their numbers, 0 for expressions.
fn excluded_columns(table: &TableDef, columns: &[usize]) -> Value {
    let number = |column: &usize| match table.columns[*column].hidden {
        true => Value::Int2(0),
        false => short(column + 1),
    };
    Value::Array(Box::new(Array {
        shape: None,
        element: SqlType::Int2,
        values: columns.iter().map(number).collect(),
    }))
}

fn foreign_key(planner: &Planner, shown: &ShownKey) -> Vec<Value> {
    let key = shown.key;
    let mut row = constraint(
        planner,
        Constraint {
            oid: shown.number,
            name: &shown.name,
            schema: shown.schema,
            kind: "f",
            table: shown.child.0,
            domain: 0,
            index: shown.index,
            columns: numbers(&key.columns),
            source: Value::Null,
            foreign: Some(key),
            late: None,
            validated: key.validated,
        },
    );
    row[REFERRED] = oid(shown.parent.0);
    let divisions = planner.catalog().divisions();
    if divisions.partitioning(shown.child).is_some() {
        row[NO_INHERIT] = flag(false);
    }
    match shown.of {
        0 => row,
        of => inherited(row, of),
    }
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
    // A partition's are its table's.
    let record = planner.catalog().record(table.id);
    let home = record.map_or(&table.schema, |record| &record.schema);
    print::within(planner, home, |within| {
        print::source((within, planner), &scope, source, pretty)
    })
}
