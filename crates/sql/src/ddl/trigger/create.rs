//! CREATE TRIGGER.
//!
//! Relies on: `routine::fire` for what triggers do.  Promises: a trigger's function is there and returns trigger, its columns are the
//! table's, and what it says goes together, in PostgreSQL's words where it does not.  Does not: look at the function's body, which is made
//! for the table when a statement first fires it.

use super::there_already;
use crate::catalog::{Catalog, Relation};
use crate::command::Planned;
use crate::ddl::moving::at_home;
use crate::ddl::table_object;
use crate::draft::{Draft, spaces_of};
use crate::expr::Binder;
use crate::from::{find_named, row_target};
use crate::insert::column_number;
use crate::names::{self, inner, required};
use crate::parse::expression_text;
use crate::planner::Planner;
use crate::records::{TriggerMore, TriggerRecord};
use crate::routine::{any_node, built_in_named};
use crate::scope::{Scope, ScopeTable};
use pg_query::protobuf::{CreateTrigStmt, Node};
use pg_query::{NodeEnum, NodeRef};
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState};
use quintet_ir::ddl::Work;
use quintet_ir::schema::{TableDef, TableRef};
use quintet_ir::{Expr, Privileges};
use std::sync::Arc;

/// What the parser says of when and why a trigger fires.
const BEFORE: i32 = 1 << 1;
const INSERT: i32 = 1 << 2;
const DELETE: i32 = 1 << 3;
const UPDATE: i32 = 1 << 4;
const TRUNCATE: i32 = 1 << 5;
const INSTEAD: i32 = 1 << 6;

/// What has a trigger.
enum Of {
    Table,
    View,
}

pub(in crate::ddl) fn create(planner: &Planner, statement: &CreateTrigStmt) -> SqlResult<Planned> {
    let relation = required(statement.relation.as_ref())?;
    let name = statement.trigname.as_str();
    let instead = statement.timing & INSTEAD != 0;
    let not_of_views = |why: &str| {
        let message = format!("\"{}\" is a view", relation.relname);
        Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message).detail(why))
    };
    let lacking = |message: &str| Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    let (of, table) = match find_named(planner, relation)? {
        Some(Relation::View(id)) => {
            if !instead && statement.row {
                return not_of_views("Views cannot have row-level BEFORE or AFTER triggers.");
            }
            if statement.events & TRUNCATE != 0 {
                return not_of_views("Views cannot have TRUNCATE triggers.");
            }
            let table = planner.catalog().triggered(id);
            let gone = || SqlError::internal("a view is gone");
            (Of::View, table.ok_or_else(gone)?)
        }
        _ => (Of::Table, row_target(planner, relation)?),
    };
    if instead && let Of::Table = of {
        let message = format!("\"{}\" is a table", table.name);
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
            .detail("Tables cannot have INSTEAD OF triggers."));
    }
    if planner.catalog().matview(table.id).is_some() {
        let message = format!("relation \"{}\" cannot have triggers", table.name);
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
            .detail("This operation is not supported for materialized views."));
    }
    planner.must_have(table_object(table.relation()), Privileges::TRIGGER)?;
    if statement.isconstraint && statement.replace {
        return lacking("CREATE OR REPLACE CONSTRAINT TRIGGER is not supported");
    }
    if statement.events & TRUNCATE != 0 && statement.row {
        return lacking("TRUNCATE FOR EACH ROW triggers are not supported");
    }
    if instead {
        if !statement.row {
            return lacking("INSTEAD OF triggers must be FOR EACH ROW");
        }
        if statement.when_clause.is_some() {
            return lacking("INSTEAD OF triggers cannot have WHEN conditions");
        }
        if !statement.columns.is_empty() {
            return lacking("INSTEAD OF triggers cannot have column lists");
        }
    }
    let rows = transition_rows(planner, statement, &of)?;
    let from = match &statement.constrrel {
        Some(other) => Some(row_target(planner, other)?.relation()),
        None => None,
    };
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
        more: TriggerMore {
            instead,
            truncate: statement.events & TRUNCATE != 0,
            old_rows: rows.old,
            new_rows: rows.new,
            late: statement.deferrable.then_some(statement.initdeferred),
            from,
        },
    };
    if let Some(node) = statement.when_clause.as_deref() {
        let bound = check_condition(planner, &table, &record, node)?;
        let text = expression_text(node)?;
        record.condition = Some(at_home(planner, &table.schema, text, &bound)?);
    }
    let mut draft = Draft::new(planner);
    draft.make_in(&table.schema);
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
    if let Of::Table = of {
        draft.work(Work::Fence(spaces_of(&table)));
    }
    draft.finish("CREATE TRIGGER")
}

/// Rows that REFERENCING names.
#[derive(Default)]
struct Named {
    old: Option<String>,
    new: Option<String>,
}

/// What REFERENCING says.
///
/// # Errors
/// `0A000` and `42P17`, as PostgreSQL.
fn transition_rows(planner: &Planner, statement: &CreateTrigStmt, of: &Of) -> SqlResult<Named> {
    let lacking = |message: &str| SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
    let wrong = |message: &str| SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, message);
    let has = |event: i32| statement.events & event != 0;
    let mut named = Named::default();
    for node in &statement.transition_rels {
        let Some(NodeEnum::TriggerTransition(rows)) = inner(node) else {
            return Err(SqlError::internal("REFERENCING of nothing"));
        };
        if !rows.is_table {
            let message = "ROW variable naming in the REFERENCING clause is not supported";
            return Err(
                lacking(message).hint("Use OLD TABLE or NEW TABLE for naming transition tables.")
            );
        }
        let table = required(statement.relation.as_ref())?;
        if let Of::View = of {
            let message = format!("\"{}\" is a view", table.relname);
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
                .detail("Triggers on views cannot have transition tables."));
        }
        if let Some(Relation::Partition(_)) = find_named(planner, table)?
            && statement.row
        {
            let message = "ROW triggers with transition tables are not supported on partitions";
            return Err(lacking(message));
        }
        if let Some(Relation::Table(id)) = find_named(planner, table)?
            && statement.row
            && planner.catalog().divisions().partitioning(id).is_some()
        {
            let message = format!("\"{}\" is a partitioned table", table.relname);
            let detail =
                "ROW triggers with transition tables are not supported on partitioned tables.";
            return Err(lacking(&message).detail(detail));
        }
        if statement.timing & BEFORE != 0 {
            let message = "transition table name can only be specified for an AFTER trigger";
            return Err(wrong(message));
        }
        if has(TRUNCATE) {
            let message = "TRUNCATE triggers with transition tables are not supported";
            return Err(lacking(message));
        }
        if (statement.events & (INSERT | UPDATE | DELETE)).count_ones() != 1 {
            let message =
                "transition tables cannot be specified for triggers with more than one event";
            return Err(lacking(message));
        }
        if !statement.columns.is_empty() {
            let message = "transition tables cannot be specified for triggers with column lists";
            return Err(lacking(message));
        }
        let place = match rows.is_new {
            true if !has(INSERT | UPDATE) => {
                let message = "NEW TABLE can only be specified for an INSERT or UPDATE trigger";
                return Err(wrong(message));
            }
            true if named.new.is_some() => {
                return Err(wrong("NEW TABLE cannot be specified multiple times"));
            }
            true => &mut named.new,
            false if !has(DELETE | UPDATE) => {
                let message = "OLD TABLE can only be specified for a DELETE or UPDATE trigger";
                return Err(wrong(message));
            }
            false if named.old.is_some() => {
                return Err(wrong("OLD TABLE cannot be specified multiple times"));
            }
            false => &mut named.old,
        };
        *place = Some(rows.name.clone());
    }
    if named.old.is_some() && named.old == named.new {
        let message = "OLD TABLE name and NEW TABLE name cannot be the same";
        return Err(wrong(message));
    }
    Ok(named)
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
) -> SqlResult<Expr> {
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
    Ok(bound)
}
