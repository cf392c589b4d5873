//! ALTER TYPE … ADD, DROP, ALTER and RENAME ATTRIBUTE.
//!
//! Relies on: `draft`; no column is of a composite type, so there are no values to change.  Promises: what a routine is
//! compiled to is made anew, and what does not fit any more is said when it is called, as in PostgreSQL.  Does not: keep
//! the number of an attribute that is gone, or rename or drop one that a view may name.

use super::user_type::{field, type_object};
use crate::catalog::Relation;
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{inner, required};
use crate::planner::Planner;
use crate::records::{TypeKind, TypeRecord, ViewColumnRecord};
use pg_query::NodeEnum;
use pg_query::protobuf::{AlterTableCmd, AlterTableType, ColumnDef, RangeVar, RenameStmt};
use quintet_base::{SqlError, SqlResult, SqlState};
use std::sync::Arc;

const TAG: &str = "ALTER TYPE";

/// ADD, DROP and ALTER ATTRIBUTE: first what goes, then what changes, then what comes.
pub(super) fn alter(
    planner: &Planner,
    relation: &RangeVar,
    commands: &[&AlterTableCmd],
) -> SqlResult<Planned> {
    use AlterTableType::{AtAddColumn, AtAlterColumnType, AtDropColumn};
    let found = composite(planner, relation)?;
    let mut fields = found.fields().unwrap_or_default().to_vec();
    let order = [AtDropColumn, AtAlterColumnType, AtAddColumn];
    if !(commands.iter()).all(|command| order.contains(&command.subtype())) {
        return Err(planner.unsupported("this form of ALTER TYPE", relation.location));
    }
    for turn in order {
        for command in commands.iter().filter(|c| c.subtype() == turn) {
            change(planner, found, command, &mut fields)?;
        }
    }
    finish(planner, found, fields)
}

fn change(
    planner: &Planner,
    record: &TypeRecord,
    command: &AlterTableCmd,
    fields: &mut Vec<ViewColumnRecord>,
) -> SqlResult<()> {
    let name = command.name.as_str();
    let place = fields.iter().position(|field| field.name == name);
    let missing = || {
        let message = format!(
            "column \"{name}\" of relation \"{}\" does not exist",
            record.name
        );
        SqlError::new(SqlState::UNDEFINED_COLUMN, message)
    };
    let definition = || match command.def.as_deref().and_then(inner) {
        Some(NodeEnum::ColumnDef(column)) => Ok::<&ColumnDef, SqlError>(column),
        _ => required(None),
    };
    match (command.subtype(), place) {
        (AlterTableType::AtDropColumn, None) if command.missing_ok => {
            planner.notice(format!("{}, skipping", missing().message));
        }
        (AlterTableType::AtDropColumn | AlterTableType::AtAlterColumnType, None) => {
            return Err(missing());
        }
        (AlterTableType::AtDropColumn, Some(place)) => {
            refuse_viewed(planner, record, name, "dropping")?;
            fields.remove(place);
        }
        (AlterTableType::AtAlterColumnType, Some(place)) => {
            refuse_viewed(planner, record, name, "changing")?;
            let mut column = definition()?.clone();
            column.colname = name.to_string();
            fields[place] = field(planner, &column)?;
        }
        _ => {
            let added = field(planner, definition()?)?;
            refuse_taken(record, fields, &added.name)?;
            fields.push(added);
        }
    }
    Ok(())
}

/// RENAME ATTRIBUTE.
pub(super) fn rename(planner: &Planner, statement: &RenameStmt) -> SqlResult<Planned> {
    let found = composite(planner, required(statement.relation.as_ref())?)?;
    let mut fields = found.fields().unwrap_or_default().to_vec();
    let (old, new) = (&statement.subname, &statement.newname);
    let Some(place) = fields.iter().position(|field| field.name == *old) else {
        let message = format!("column \"{old}\" does not exist");
        return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message));
    };
    refuse_taken(found, &fields, new)?;
    refuse_viewed(planner, found, old, "renaming")?;
    fields[place].name = new.clone();
    finish(planner, found, fields)
}

fn finish(
    planner: &Planner,
    found: &TypeRecord,
    fields: Vec<ViewColumnRecord>,
) -> SqlResult<Planned> {
    let mut draft = Draft::new(planner);
    draft.put_type(&TypeRecord {
        kind: TypeKind::Composite(fields),
        ..found.clone()
    })?;
    draft.finish(TAG)
}

/// The composite type that a name means, of the user's own.
fn composite<'a>(planner: &Planner<'a>, name: &RangeVar) -> SqlResult<&'a Arc<TypeRecord>> {
    planner.refuse_elsewhere(name)?;
    let schema = Some(name.schemaname.as_str()).filter(|schema| !schema.is_empty());
    let found = planner.find_type(schema, &name.relname);
    if let Some(found) = found.filter(|found| found.fields().is_some()) {
        planner.must_own(type_object(found.id))?;
        return Ok(found);
    }
    let (state, what) = match planner.find_relation(schema, &name.relname) {
        Some(Relation::Table(_) | Relation::Partition(_) | Relation::View(_)) => {
            (SqlState::WRONG_OBJECT_TYPE, "is not a composite type")
        }
        _ => (SqlState::UNDEFINED_TABLE, "does not exist"),
    };
    let kind = match state {
        SqlState::UNDEFINED_TABLE => "relation ",
        _ => "",
    };
    let message = format!("{kind}\"{}\" {what}", name.relname);
    Err(SqlError::new(state, message))
}

fn refuse_taken(record: &TypeRecord, fields: &[ViewColumnRecord], name: &str) -> SqlResult<()> {
    if fields.iter().all(|field| field.name != name) {
        return Ok(());
    }
    let message = format!(
        "column \"{name}\" of relation \"{}\" already exists",
        record.name
    );
    Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message))
}

/// A view is kept as text, which may name the attribute of what a routine gives.
fn refuse_viewed(planner: &Planner, record: &TypeRecord, name: &str, doing: &str) -> SqlResult<()> {
    let catalog = planner.catalog();
    for routine in catalog.all_routines() {
        let uses = |text: &str| text.contains(name) && text.contains(&routine.record.name);
        let Some(view) = catalog.all_views().find(|view| uses(&view.text)) else {
            continue;
        };
        // One that does not read any more gives nothing.
        let gives = routine.signature(catalog);
        if gives.is_ok_and(|signature| signature.types.contains(&record.id)) {
            return Err(SqlError::unsupported(format!(
                "{doing} attribute \"{name}\", which view \"{}\" may name",
                view.name
            )));
        }
    }
    Ok(())
}
