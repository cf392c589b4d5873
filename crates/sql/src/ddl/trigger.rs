//! CREATE, ALTER and DROP TRIGGER; ALTER TABLE … ENABLE and DISABLE TRIGGER.
//!
//! Relies on: `routine::fire` for what triggers do.  Promises: a trigger's function is there and returns trigger, its columns are the
//! table's; whoever has begun to write to the table with a plan that does not know of a change here is fenced off.

mod create;

pub(in crate::ddl) use create::create;
pub(crate) use create::scope_of_condition;

use crate::catalog::{Catalog, Relation};
use crate::command::Planned;
use crate::draft::{Draft, spaces_of};
use crate::from::{find_named, row_target};
use crate::names::{self, inner, required};
use crate::parse::parse_expression;
use crate::planner::Planner;
use crate::records::{ForeignKeyRecord, TriggerRecord};
use crate::routine::any_node;
use pg_query::NodeRef;
use pg_query::protobuf::{AlterTableCmd, AlterTableType, DropStmt, RangeVar, RenameStmt};
use quintet_base::{SqlError, SqlResult, SqlState};
use quintet_ir::ddl::Work;
use quintet_ir::schema::TableDef;
use std::sync::Arc;

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

/// Keeps plans from writing to a table that do not know of a change here; to a view nobody writes.
fn fence(draft: &mut Draft, table: &TableDef) {
    if draft.planner.catalog().view(table.relation()).is_none() {
        draft.work(Work::Fence(spaces_of(table)));
    }
}

fn not_there(name: &str, table: &str) -> SqlError {
    let message = format!("trigger \"{name}\" for table \"{table}\" does not exist");
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
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
            Some(Relation::Table(id) | Relation::Partition(id) | Relation::View(id)) => {
                planner.catalog().triggered(id)
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
                fence(&mut draft, found);
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
    let relation = required(statement.relation.as_ref())?;
    let table = match find_named(planner, relation)? {
        Some(Relation::View(id)) => planner.catalog().triggered(id),
        _ => Some(row_target(planner, relation)?),
    };
    let table = table.ok_or_else(|| SqlError::internal("a view is gone"))?;
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
    fence(&mut draft, &table);
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
        let is_side =
            |key: &&Arc<ForeignKeyRecord>| key.child == table.id || key.parent == table.id;
        for key in catalog.foreign_keys().filter(is_side) {
            let message = "permission denied: the trigger of a foreign key is a system trigger";
            draft.planner.must_be_superuser(message)?;
            let mut off = key.off;
            let is_off = matches!(kind, AtDisableTrigAll);
            if key.child == table.id {
                off.child = is_off;
            }
            if key.parent == table.id {
                off.parent = is_off;
            }
            draft.put_foreign_key(&ForeignKeyRecord {
                off,
                ..ForeignKeyRecord::clone(key)
            })?;
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

/// Refuses to change the type of a column that a trigger names, or its condition.
///
/// # Errors
/// `0A000`.
pub(super) fn refuse_change_of_type(
    draft: &Draft,
    table: &TableDef,
    number: usize,
) -> SqlResult<()> {
    let column = &table.columns[number].name;
    let triggers = draft.planner.catalog().triggers_around(table);
    let names_it = |trigger: &&Arc<TriggerRecord>| {
        trigger.columns.contains(&number) || condition_names(trigger, column)
    };
    match triggers.iter().find(names_it) {
        None => Ok(()),
        Some(trigger) => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot alter type of a column used in a trigger definition",
        )
        .detail(format!(
            "trigger {} on table {} depends on column \"{column}\"",
            trigger.name, table.name
        ))),
    }
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
