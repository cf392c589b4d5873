//! pg_trigger, `information_schema` about triggers, and their definitions.
//!
//! Relies on: the catalogue.  Promises: PostgreSQL's words; a definition creates the trigger again.  Does not: list triggers that
//! PostgreSQL makes for foreign keys: there are none.

use super::indexes::OF_A_PART;
use super::print::{quoted, source_of_rows};
use super::{Definition, flag, numbers, oid, short, text};
use crate::catalog::Catalog;
use crate::ddl::scope_of_condition;
use crate::planner::Planner;
use crate::records::TriggerRecord;
use quintet_base::{TableId, Value};
use quintet_ir::schema::{TableDef, TableRef};
use std::sync::Arc;

pub(super) const RELATIONS: &[Definition] = &[Definition {
    name: "pg_trigger",
    columns: &[
        "oid",
        "tgrelid",
        "tgparentid",
        "tgname",
        "tgfoid",
        "tgtype",
        "tgenabled",
        "tgisinternal",
        "tgconstrrelid",
        "tgconstrindid",
        "tgconstraint",
        "tgdeferrable",
        "tginitdeferred",
        "tgnargs",
        "tgattr",
        "tgargs",
        "tgqual",
        "tgoldtable",
        "tgnewtable",
    ],
    rows: triggers,
}];

pub(super) const INFORMATION: &[Definition] = &[
    Definition {
        name: "triggers",
        columns: &[
            "trigger_catalog",
            "trigger_schema",
            "trigger_name",
            "event_manipulation",
            "event_object_catalog",
            "event_object_schema",
            "event_object_table",
            "action_order",
            "action_condition",
            "action_statement",
            "action_orientation",
            "action_timing",
            "action_reference_old_table",
            "action_reference_new_table",
        ],
        rows: by_event,
    },
    Definition {
        name: "triggered_update_columns",
        columns: &[
            "trigger_catalog",
            "trigger_schema",
            "trigger_name",
            "event_object_catalog",
            "event_object_schema",
            "event_object_table",
            "event_object_column",
        ],
        rows: update_columns,
    },
];

/// Bits of `tgtype`.
const ROW: i16 = 1;
const BEFORE: i16 = 2;
const INSERT: i16 = 4;
const DELETE: i16 = 8;
const UPDATE: i16 = 16;
const TRUNCATE: i16 = 32;
const INSTEAD: i16 = 64;

fn bits(trigger: &TriggerRecord) -> i16 {
    let bit = |set: bool, bit: i16| if set { bit } else { 0 };
    bit(trigger.row, ROW)
        | bit(trigger.before, BEFORE)
        | bit(trigger.insert, INSERT)
        | bit(trigger.delete, DELETE)
        | bit(trigger.update, UPDATE)
        | bit(trigger.more.truncate, TRUNCATE)
        | bit(trigger.more.instead, INSTEAD)
}

/// A trigger as PostgreSQL has it.
struct Shown {
    number: u32,
    /// The one that it was made after, in a table above; 0: none.
    parent: u32,
    trigger: Arc<TriggerRecord>,
}

/// All triggers; those that fire for rows again for each partition below.
fn shown(catalog: &Catalog) -> Vec<Shown> {
    let own = catalog.triggers().map(|trigger| Shown {
        number: trigger.id,
        parent: 0,
        trigger: Arc::clone(trigger),
    });
    let mut all: Vec<Shown> = own.collect();
    let divisions = catalog.divisions();
    for part in divisions.parts() {
        let root = divisions.root(part.id);
        let in_tree = |trigger: &&Arc<TriggerRecord>| {
            let table = trigger.table;
            trigger.row && catalog.is_below(table, root)
        };
        for (place, trigger) in catalog.triggers().filter(in_tree).enumerate() {
            if !catalog.is_below(part.parent, trigger.table) {
                continue;
            }
            let number = |part: TableId| OF_A_PART | (part.0 << 8) | place as u32;
            all.push(Shown {
                number: number(part.id),
                parent: match part.parent == trigger.table {
                    true => trigger.id,
                    false => number(part.parent),
                },
                trigger: Arc::new(TriggerRecord {
                    table: part.id,
                    ..TriggerRecord::clone(trigger)
                }),
            });
        }
    }
    all
}

/// The trigger with this number, as one of the table or the partition that it is shown for.
pub(super) fn with_number(catalog: &Catalog, number: u32) -> Option<Arc<TriggerRecord>> {
    if number & OF_A_PART != OF_A_PART {
        return catalog.trigger(number).cloned();
    }
    let mut all = shown(catalog).into_iter();
    all.find(|one| one.number == number).map(|one| one.trigger)
}

fn triggers(planner: &Planner) -> Vec<Vec<Value>> {
    let row = |one: &Shown| {
        let trigger = &one.trigger;
        let mut given = Vec::new();
        for argument in &trigger.arguments {
            given.extend_from_slice(argument.as_bytes());
            given.push(0);
        }
        let condition = trigger.condition.as_ref();
        vec![
            oid(one.number),
            oid(trigger.table.0),
            oid(one.parent),
            text(&trigger.name),
            oid(trigger.function.0),
            Value::Int2(bits(trigger)),
            text(&trigger.enabled.to_string()),
            flag(false),
            oid(trigger.more.from.map_or(0, |from| from.0)),
            oid(0),
            oid(if trigger.constraint { trigger.id } else { 0 }),
            flag(trigger.more.late.is_some()),
            flag(trigger.more.late == Some(true)),
            short(trigger.arguments.len()),
            numbers(&trigger.columns),
            Value::Bytea(given.into()),
            condition.map_or(Value::Null, |condition| text(condition)),
            name_or_null(&trigger.more.old_rows),
            name_or_null(&trigger.more.new_rows),
        ]
    };
    shown(planner.catalog()).iter().map(row).collect()
}

fn name_or_null(name: &Option<String>) -> Value {
    name.as_ref().map_or(Value::Null, |name| text(name))
}

fn orientation(trigger: &TriggerRecord) -> &'static str {
    if trigger.row { "ROW" } else { "STATEMENT" }
}

fn by_event(planner: &Planner) -> Vec<Vec<Value>> {
    let catalog = planner.catalog();
    let mut rows = Vec::new();
    let all = shown(catalog);
    for trigger in all.iter().map(|one| &one.trigger) {
        let Some(table) = &catalog.triggered(trigger.table) else {
            continue;
        };
        let events = [("INSERT", INSERT), ("DELETE", DELETE), ("UPDATE", UPDATE)];
        for (event, bit) in events {
            if bits(trigger) & bit == 0 {
                continue;
            }
            let alike = |other: &&Arc<TriggerRecord>| {
                let kind = |trigger| bits(trigger) & (ROW | BEFORE | INSTEAD);
                let kinds = kind(other) == kind(trigger);
                let is_here = other.table == trigger.table && kinds;
                is_here && bits(other) & bit != 0 && other.name <= trigger.name
            };
            let order = all.iter().map(|one| &one.trigger).filter(alike).count();
            let condition = trigger.condition.as_ref();
            rows.push(vec![
                text(planner.context.database),
                text(&table.schema),
                text(&trigger.name),
                text(event),
                text(planner.context.database),
                text(&table.schema),
                text(&table.name),
                Value::Int4(i32::try_from(order).unwrap_or(i32::MAX)),
                condition.map_or(Value::Null, |condition| {
                    text(&printed(planner, table, condition, false))
                }),
                text(&action(trigger, &function_name(planner, trigger))),
                text(orientation(trigger)),
                text(trigger.timing()),
                name_or_null(&trigger.more.old_rows),
                name_or_null(&trigger.more.new_rows),
            ]);
        }
    }
    rows
}

fn update_columns(planner: &Planner) -> Vec<Vec<Value>> {
    let catalog = planner.catalog();
    let mut rows = Vec::new();
    for one in shown(catalog) {
        let trigger = one.trigger;
        let Some(table) = &catalog.triggered(trigger.table) else {
            continue;
        };
        rows.extend(trigger.columns.iter().map(|number| {
            vec![
                text(planner.context.database),
                text(&table.schema),
                text(&trigger.name),
                text(planner.context.database),
                text(&table.schema),
                text(&table.name),
                text(&table.columns[*number].name),
            ]
        }));
    }
    rows
}

fn printed(planner: &Planner, table: &TableRef, condition: &str, pretty: bool) -> String {
    source_of_rows(planner, &scope_of_condition(table), condition, pretty)
}

/// A trigger's function, by its name alone if that is found.
fn function_name(planner: &Planner, trigger: &TriggerRecord) -> String {
    let function = planner.catalog().routine(trigger.function);
    function.map_or_else(String::new, |stored| {
        let name = quoted(&stored.record.name);
        let schema = &stored.record.schema;
        match schema == "pg_catalog" || planner.path().contains(schema) {
            true => name,
            false => format!("{}.{name}", quoted(&stored.record.schema)),
        }
    })
}

/// `EXECUTE FUNCTION name(arguments)`.
fn action(trigger: &TriggerRecord, function: &str) -> String {
    let arguments = trigger.arguments.iter();
    let arguments: Vec<String> = arguments
        .map(|text| format!("'{}'", text.replace('\'', "''")))
        .collect();
    format!("EXECUTE FUNCTION {function}({})", arguments.join(", "))
}

/// `CREATE TRIGGER …`; `pretty`: the table by its name alone, if that is found.
pub(super) fn definition(
    planner: &Planner,
    trigger: &TriggerRecord,
    pretty: bool,
) -> Option<String> {
    let table = &planner.catalog().triggered(trigger.table)?;
    let name_of = |table: &TableDef, alone: bool| {
        let name = quoted(&table.name);
        match alone && planner.path().contains(&table.schema) {
            true => name,
            false => format!("{}.{name}", quoted(&table.schema)),
        }
    };
    let name = name_of(table, pretty);
    let from = trigger
        .more
        .from
        .and_then(|from| planner.catalog().rows_of(from));
    let from = from.map(|from| name_of(&from, true));
    let condition = trigger.condition.as_ref();
    let condition = condition.map(|text| printed(planner, table, text, pretty));
    let function = function_name(planner, trigger);
    Some(definition_of(
        trigger,
        table,
        (&name, from.as_deref()),
        &function,
        condition,
    ))
}

/// The same of a table and a function that are called so.
pub(crate) fn definition_of(
    trigger: &TriggerRecord,
    table: &TableDef,
    (table_name, from): (&str, Option<&str>),
    function: &str,
    condition: Option<String>,
) -> String {
    let mut events = Vec::new();
    if trigger.insert {
        events.push("INSERT".to_string());
    }
    if trigger.delete {
        events.push("DELETE".to_string());
    }
    if trigger.update {
        let columns = trigger.columns.iter();
        let columns: Vec<String> = columns.map(|n| quoted(&table.columns[*n].name)).collect();
        events.push(match columns.is_empty() {
            true => "UPDATE".to_string(),
            false => format!("UPDATE OF {}", columns.join(", ")),
        });
    }
    if trigger.more.truncate {
        events.push("TRUNCATE".to_string());
    }
    let kind = if trigger.constraint {
        "CONSTRAINT "
    } else {
        ""
    };
    let deferrable = match (trigger.constraint, trigger.more.late) {
        (false, _) => "",
        (true, None) => "NOT DEFERRABLE INITIALLY IMMEDIATE ",
        (true, Some(false)) => "DEFERRABLE INITIALLY IMMEDIATE ",
        (true, Some(true)) => "DEFERRABLE INITIALLY DEFERRED ",
    };
    let from = from.map_or_else(String::new, |from| format!("FROM {from} "));
    let condition = condition.map_or_else(String::new, |text| format!("WHEN ({text}) "));
    let mut referencing = String::new();
    let named = [
        ("OLD", &trigger.more.old_rows),
        ("NEW", &trigger.more.new_rows),
    ];
    for (kind, name) in named {
        if let Some(name) = name {
            if referencing.is_empty() {
                referencing += "REFERENCING ";
            }
            referencing += &format!("{kind} TABLE AS {} ", quoted(name));
        }
    }
    format!(
        "CREATE {kind}TRIGGER {} {} {} ON {table_name} {from}{deferrable}{referencing}FOR EACH {} {condition}{}",
        quoted(&trigger.name),
        trigger.timing(),
        events.join(" OR "),
        orientation(trigger),
        action(trigger, function)
    )
}
