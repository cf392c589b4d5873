//! CREATE, ALTER and DROP TRIGGER; ALTER TABLE … ENABLE and DISABLE TRIGGER.
//!
//! Relies on: `routine::fire` for what triggers do.  Promises: a trigger's function is there and returns trigger, its columns are the
//! table's; whoever has begun to write to the table with a plan that does not know of a change here is fenced off.
//! Does not: INSTEAD OF, TRUNCATE, transition tables, deferred constraint triggers (0A000); look at the function's body, which is made
//! for the table when a statement first fires it.

use super::{callers, table_object};
use crate::catalog::Catalog;
use crate::command::Planned;
use crate::draft::{Draft, spaces_of};
use crate::expr::Binder;
use crate::from::{find_named, row_target};
use crate::insert::column_number;
use crate::names::{self, inner, required};
use crate::parse::{expression_text, parse_expression};
use crate::planner::Planner;
use crate::records::{ForeignKeyRecord, TriggerRecord};
use crate::routine::{any_node, built_in_named};
use crate::scope::{Scope, ScopeTable};
use pg_query::NodeRef;
use pg_query::protobuf::{
    AlterTableCmd, AlterTableType, CreateTrigStmt, DropStmt, Node, RangeVar, RenameStmt,
};
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState};
use quintet_ir::Privileges;
use quintet_ir::ddl::Work;
use quintet_ir::schema::{TableDef, TableRef};
use std::sync::Arc;

/// What the parser says of when and why a trigger fires.
const BEFORE: i32 = 1 << 1;
const INSERT: i32 = 1 << 2;
const DELETE: i32 = 1 << 3;
const UPDATE: i32 = 1 << 4;
const TRUNCATE: i32 = 1 << 5;
const INSTEAD: i32 = 1 << 6;

pub(super) fn create(planner: &Planner, statement: &CreateTrigStmt) -> SqlResult<Planned> {
    let relation = required(statement.relation.as_ref())?;
    let name = statement.trigname.as_str();
    let instead = statement.timing & INSTEAD != 0;
    if let Some(crate::catalog::Relation::View(_)) = find_named(planner, relation)? {
        if instead {
            return Err(planner.unsupported("INSTEAD OF triggers", relation.location));
        }
        let message = format!("\"{}\" is a view", relation.relname);
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
            .detail("Views cannot have row-level BEFORE or AFTER triggers."));
    }
    let table = row_target(planner, relation)?;
    if instead {
        let message = format!("\"{}\" is a table", table.name);
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
            .detail("Tables cannot have INSTEAD OF triggers."));
    }
    if planner.catalog().matview(table.id).is_some() {
        let message = format!("relation \"{}\" cannot have triggers", table.name);
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
            .detail("This operation is not supported for materialized views."));
    }
    if table.is_temporary() {
        return Err(planner.unsupported("a trigger of a temporary table", relation.location));
    }
    planner.must_have(table_object(table.relation()), Privileges::TRIGGER)?;
    let refused = if statement.events & TRUNCATE != 0 {
        Some("a trigger ON TRUNCATE")
    } else if !statement.transition_rels.is_empty() {
        Some("REFERENCING of transition tables")
    } else if statement.initdeferred || statement.deferrable {
        Some("a deferrable trigger")
    } else {
        None
    };
    if let Some(refused) = refused {
        return Err(planner.unsupported(refused, relation.location));
    }
    let function = function(planner, statement)?;
    let mut columns = Vec::new();
    for column in names::strings(&statement.columns) {
        let number = column_number(planner, &table, column, -1)?;
        if columns.contains(&number) {
            let message = format!("column \"{column}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        columns.push(number);
    }
    let mut record = TriggerRecord {
        id: 0,
        table: table.relation(),
        name: name.to_string(),
        function,
        before: statement.timing & BEFORE != 0,
        row: statement.row,
        insert: statement.events & INSERT != 0,
        update: statement.events & UPDATE != 0,
        delete: statement.events & DELETE != 0,
        columns,
        condition: None,
        arguments: statement
            .args
            .iter()
            .filter_map(names::string)
            .map(str::to_string)
            .collect(),
        constraint: statement.isconstraint,
        enabled: 'O',
    };
    if let Some(node) = statement.when_clause.as_deref() {
        check_condition(planner, &table, &record, node)?;
        record.condition = Some(expression_text(node)?);
    }
    let mut draft = Draft::new(planner);
    let mut known = planner.catalog().triggers_of(table.relation()).iter();
    record.id = match known.find(|trigger| trigger.name == name) {
        Some(old) if statement.replace && !old.constraint && !record.constraint => old.id,
        Some(_) => return Err(there_already(name, &table)),
        None => draft.id(),
    };
    // Each partition has the row triggers of what it is one of.
    if let Some(other) = namesake(planner.catalog(), &table, &record)
        && other != record.id
    {
        let other = planner.catalog().trigger(other);
        let other = other.filter(|other| {
            record.row && planner.catalog().divisions().part(other.table).is_some()
        });
        let of = other.and_then(|other| planner.catalog().rows_of(other.table));
        let below = of.filter(|of| planner.catalog().is_below(of.relation(), table.relation()));
        return Err(there_already(name, below.as_deref().unwrap_or(&table)));
    }
    draft.put_trigger(&record)?;
    draft.work(Work::Fence(spaces_of(&table)));
    draft.finish("CREATE TRIGGER")
}

/// Another trigger of this name that rows of the table, or of a partition of it, fire.
fn namesake(catalog: &Catalog, table: &TableDef, record: &TriggerRecord) -> Option<u32> {
    let around = catalog.triggers_around(table);
    let mut around = around.iter().filter(|other| other.name == record.name);
    let meets = |other: &&Arc<TriggerRecord>| {
        let above = catalog.is_below(table.relation(), other.table);
        other.id != record.id && (above && other.row || record.row || other.table == record.table)
    };
    around.find(meets).map(|other| other.id)
}

/// Refuses triggers of a table that becomes a partition where what it is one of has some of the same name.
///
/// # Errors
/// `42710`.
pub(super) fn refuse_namesakes(
    catalog: &Catalog,
    own: &TableDef,
    parent: &TableDef,
) -> SqlResult<()> {
    let above = catalog.triggers_around(parent);
    let inherited = |trigger: &&Arc<TriggerRecord>| {
        trigger.row && (catalog.is_below(parent.relation(), trigger.table))
    };
    let above: Vec<_> = above.iter().filter(inherited).collect();
    for trigger in catalog.triggers_around(own) {
        if above.iter().any(|other| other.name == trigger.name) {
            let table = catalog.rows_of(trigger.table);
            return Err(there_already(
                &trigger.name,
                table.as_deref().unwrap_or(own),
            ));
        }
    }
    Ok(())
}

/// A table becomes a partition: what its triggers name are columns of the other. `places`: for each of these the table's own.
pub(super) fn become_part(
    draft: &mut Draft,
    table: &TableDef,
    places: &[Option<usize>],
) -> SqlResult<()> {
    for trigger in draft.planner.catalog().triggers_around(table) {
        let now = |own: &usize| places.iter().position(|place| place.as_ref() == Some(own));
        let columns = trigger.columns.iter().filter_map(now).collect();
        if columns != trigger.columns {
            draft.put_trigger(&TriggerRecord {
                columns,
                ..TriggerRecord::clone(&trigger)
            })?;
        }
    }
    Ok(())
}

fn there_already(name: &str, table: &TableDef) -> SqlError {
    let message = format!(
        "trigger \"{name}\" for relation \"{}\" already exists",
        table.name
    );
    SqlError::new(SqlState::DUPLICATE_OBJECT, message)
}

fn not_there(name: &str, table: &str) -> SqlError {
    let message = format!("trigger \"{name}\" for table \"{table}\" does not exist");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
}

/// The function of a trigger.
fn function(planner: &Planner, statement: &CreateTrigStmt) -> SqlResult<RoutineId> {
    let parts = names::strings(&statement.funcname);
    let (schema, name) = match parts.as_slice() {
        [name] => (None, *name),
        [schema, name] => (Some(*schema), *name),
        _ => return Err(SqlError::unsupported("a reference to another database")),
    };
    for stored in planner.find_routines(schema, name) {
        let signature = stored.signature(planner.catalog())?;
        if signature.trigger {
            return Ok(stored.record.id);
        }
        if signature.parameters.is_empty() && !signature.procedure {
            let message = format!("function {name} must return type trigger");
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
    }
    if let Some(id) = built_in_named(schema, name) {
        return Ok(id);
    }
    let message = format!("function {}() does not exist", parts.join("."));
    Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message))
}

/// The rows in sight of a condition.
pub(crate) fn scope_of_condition(table: &TableRef) -> Scope {
    let mut scope = Scope::empty();
    scope.add(ScopeTable::of_table(table, "old", None, 0));
    scope.add(ScopeTable::of_table(
        table,
        "new",
        None,
        table.frame_width(),
    ));
    scope
}

fn check_condition(
    planner: &Planner,
    table: &TableRef,
    record: &TriggerRecord,
    condition: &Node,
) -> SqlResult<()> {
    let names = |row: &'static str| {
        inner(condition).is_some_and(|node| {
            any_node(node, &|node| match node {
                NodeRef::ColumnRef(column) => names::strings(&column.fields).first() == Some(&row),
                _ => false,
            })
        })
    };
    let wrong = if !record.row && (names("old") || names("new")) {
        Some("statement trigger's WHEN condition cannot reference column values")
    } else if record.insert && names("old") {
        Some("INSERT trigger's WHEN condition cannot reference OLD values")
    } else if record.delete && names("new") {
        Some("DELETE trigger's WHEN condition cannot reference NEW values")
    } else {
        None
    };
    if let Some(message) = wrong {
        return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
    }
    let is_query = |node: &NodeRef| matches!(node, NodeRef::SubLink(_));
    if inner(condition).is_some_and(|node| any_node(node, &is_query)) {
        let message = "cannot use subquery in trigger WHEN condition";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let scope = scope_of_condition(table);
    let bound = Binder::new(planner, &scope, "WHEN").condition(condition)?;
    let generated = |place: &usize| {
        let table_column = place.checked_sub(table.frame_width());
        table_column.is_some_and(|n| table.columns.get(n).is_some_and(|c| c.generated.is_some()))
    };
    let mut used = Vec::new();
    bound.collect_columns(&mut used);
    if record.before && used.iter().any(generated) {
        let message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
        return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
    }
    Ok(())
}

pub(super) fn drop(planner: &Planner, statement: &DropStmt) -> SqlResult<Planned> {
    let mut draft = Draft::new(planner);
    for object in &statement.objects {
        let parts = names::strings(names::list(object).unwrap_or_default());
        let (schema, table, name) = match parts.as_slice() {
            [table, name] => (None, *table, *name),
            [schema, table, name] => (Some(*schema), *table, *name),
            _ => return Err(SqlError::unsupported("a reference to another database")),
        };
        let found = match planner.find_relation(schema, table) {
            Some(crate::catalog::Relation::Table(id) | crate::catalog::Relation::Partition(id)) => {
                planner.catalog().rows_of(id)
            }
            _ => None,
        };
        let Some(found) = &found else {
            let message = format!("relation \"{table}\" does not exist");
            if statement.missing_ok {
                planner.notice(format!("{message}, skipping"));
                continue;
            }
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
        };
        let mut triggers = planner.catalog().triggers_of(found.relation()).iter();
        let around = planner.catalog().triggers_around(found);
        let inherited = around.iter().find(|trigger| {
            let below = planner.catalog().is_below(found.relation(), trigger.table);
            trigger.name == name && trigger.table != found.relation() && below
        });
        match triggers.find(|trigger| trigger.name == name) {
            None if inherited.is_some() => {
                let above = planner.catalog().divisions().part(found.relation());
                let above = above.and_then(|part| planner.catalog().rows_of(part.parent));
                let above = above.map_or(String::new(), |above| above.name.clone());
                let message = format!(
                    "cannot drop trigger {name} on table {table} because trigger {name} on table \
                     {above} requires it"
                );
                let state = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
                return Err(SqlError::new(state, message).hint(format!(
                    "You can drop trigger {name} on table {above} instead."
                )));
            }
            Some(trigger) => {
                planner.must_own_table(found.relation())?;
                draft.drop_trigger(trigger.id);
                draft.work(Work::Fence(spaces_of(found)));
            }
            None if statement.missing_ok => planner.notice(format!(
                "trigger \"{name}\" for relation \"{table}\" does not exist, skipping"
            )),
            None => return Err(not_there(name, table)),
        }
    }
    draft.finish("DROP TRIGGER")
}

/// ALTER TRIGGER … RENAME TO.
pub(super) fn rename(planner: &Planner, statement: &RenameStmt) -> SqlResult<Planned> {
    let table = row_target(planner, required(statement.relation.as_ref())?)?;
    planner.must_own_table(table.relation())?;
    let triggers = planner.catalog().triggers_of(table.relation());
    let named = |name: &str| triggers.iter().find(|trigger| trigger.name == name);
    let Some(trigger) = named(&statement.subname) else {
        return Err(not_there(&statement.subname, &table.name));
    };
    if named(&statement.newname).is_some() {
        return Err(there_already(&statement.newname, &table));
    }
    let mut draft = Draft::new(planner);
    draft.put_trigger(&TriggerRecord {
        name: statement.newname.clone(),
        ..TriggerRecord::clone(trigger)
    })?;
    // The order in which they fire may be another one.
    draft.work(Work::Fence(spaces_of(&table)));
    draft.finish("ALTER TRIGGER")
}

/// ALTER TABLE … ENABLE or DISABLE TRIGGER; `false` if it is another command.
pub(super) fn switch(
    draft: &mut Draft,
    table: &TableDef,
    kind: AlterTableType,
    name: &str,
) -> SqlResult<bool> {
    use AlterTableType::*;
    let enabled = match kind {
        AtEnableTrig | AtEnableTrigAll | AtEnableTrigUser => 'O',
        AtEnableAlwaysTrig => 'A',
        AtEnableReplicaTrig => 'R',
        AtDisableTrig | AtDisableTrigAll | AtDisableTrigUser => 'D',
        _ => return Ok(false),
    };
    let catalog = draft.planner.catalog();
    if matches!(kind, AtEnableTrigAll | AtDisableTrigAll) {
        let is_side = |key: &Arc<ForeignKeyRecord>| key.child == table.id || key.parent == table.id;
        if catalog.foreign_keys().any(is_side) {
            return Err(SqlError::unsupported(
                "ENABLE or DISABLE TRIGGER ALL of a table with foreign keys",
            )
            .hint("TRIGGER USER means all but foreign keys, which are looked at always."));
        }
    }
    let all = matches!(
        kind,
        AtEnableTrigAll | AtEnableTrigUser | AtDisableTrigAll | AtDisableTrigUser
    );
    let mut any = all;
    for trigger in catalog.triggers_of(table.relation()) {
        if all || trigger.name == name {
            any = true;
            draft.put_trigger(&TriggerRecord {
                enabled,
                ..TriggerRecord::clone(trigger)
            })?;
        }
    }
    match any {
        true => {
            draft.work(Work::Fence(spaces_of(table)));
            Ok(true)
        }
        false => Err(not_there(name, &table.name)),
    }
}

/// The same of a partition, if the statement is about nothing else.
pub(super) fn switch_part(
    planner: &Planner,
    relation: &RangeVar,
    commands: &[&AlterTableCmd],
) -> SqlResult<Option<Planned>> {
    use AlterTableType::*;
    let is_switch = |command: &&AlterTableCmd| {
        matches!(
            command.subtype(),
            AtEnableTrig
                | AtEnableTrigUser
                | AtEnableAlwaysTrig
                | AtEnableReplicaTrig
                | AtDisableTrig
                | AtDisableTrigUser
        )
    };
    let Some(crate::catalog::Relation::Partition(id)) = find_named(planner, relation)? else {
        return Ok(None);
    };
    if !commands.iter().all(is_switch) {
        return Ok(None);
    }
    planner.must_own_table(id)?;
    let table = row_target(planner, relation)?;
    let mut draft = Draft::new(planner);
    for command in commands {
        switch(&mut draft, &table, command.subtype(), &command.name)?;
    }
    draft.finish("ALTER TABLE").map(Some)
}

/// Sees to it that no trigger needs a function any more.
///
/// # Errors
/// `2BP01` if one does, unless `cascade`.
pub(crate) fn release_function(
    draft: &mut Draft,
    function: RoutineId,
    what: &str,
    cascade: bool,
) -> SqlResult<()> {
    let catalog = draft.planner.catalog();
    let needing = catalog.triggers().filter(|t| t.function == function);
    callers::release(catalog, function, what, cascade)?;
    let objects: Vec<(u32, String)> = needing
        .map(|trigger| {
            let table = catalog.rows_of(trigger.table);
            let table = table.map_or(String::new(), |table| table.name.clone());
            (
                trigger.id,
                format!("trigger {} on table {table}", trigger.name),
            )
        })
        .collect();
    if objects.is_empty() {
        return Ok(());
    }
    if !cascade {
        let details: Vec<String> = objects
            .iter()
            .map(|(_, object)| format!("{object} depends on {what}"))
            .collect();
        return Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {what} because other objects depend on it"),
        )
        .detail(details.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    let told: Vec<String> = objects.iter().map(|(_, object)| object.clone()).collect();
    draft.planner.notice_cascade(&told);
    for (trigger, _) in objects {
        draft.drop_trigger(trigger);
    }
    Ok(())
}

/// Whether a trigger's condition names a column.
pub(super) fn condition_names(trigger: &TriggerRecord, column: &str) -> bool {
    let Some(text) = &trigger.condition else {
        return false;
    };
    let names_it = |node: &NodeRef| match node {
        NodeRef::ColumnRef(reference) => names::strings(&reference.fields).last() == Some(&column),
        _ => false,
    };
    let node = parse_expression(text).ok();
    let node = node.as_ref().and_then(inner);
    node.is_some_and(|node| any_node(node, &names_it))
}

/// Sees to it that no trigger names a column that goes.
///
/// # Errors
/// `2BP01` if one does, unless `cascade`.
pub(super) fn release_column(
    draft: &mut Draft,
    table: &TableDef,
    number: usize,
    cascade: bool,
) -> SqlResult<()> {
    let column = &table.columns[number].name;
    let triggers = draft.planner.catalog().triggers_around(table);
    for trigger in &triggers {
        if !trigger.columns.contains(&number) && !condition_names(trigger, column) {
            continue;
        }
        let object = format!("trigger {} on table {}", trigger.name, table.name);
        if !cascade {
            let what = format!("column {column} of table {}", table.name);
            return Err(SqlError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop {what} because other objects depend on it"),
            )
            .detail(format!("{object} depends on {what}"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        draft.planner.notice(format!("drop cascades to {object}"));
        draft.drop_trigger(trigger.id);
    }
    Ok(())
}
