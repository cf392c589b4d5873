//! CREATE SCHEMA, DROP SCHEMA.
//!
//! Relies on: `draft`, the other files of `ddl` for what goes with a schema.  Promises: a schema that holds something
//! goes with CASCADE only.  Does not: elements in CREATE SCHEMA, or RENAME, or drop the system's schemas
//! (0A000).

use super::{drop_table, drop_type, release_function, release_sequence, view};
use crate::catalog::Relation;
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::records::TypeRecord;
use crate::role::{Access, THE_DATABASE, role_named};
use crate::system::PUBLIC;
use crate::temporary::is_temporary;
use pg_query::NodeEnum;
use pg_query::protobuf::{CreateSchemaStmt, DropStmt};
use quintet_base::{RoutineId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::Privileges;

pub(super) fn create(planner: &Planner, statement: &CreateSchemaStmt) -> SqlResult<Planned> {
    const TAG: &str = "CREATE SCHEMA";
    if !statement.schema_elts.is_empty() {
        return Err(SqlError::unsupported("elements in CREATE SCHEMA"));
    }
    let name = match (&*statement.schemaname, &statement.authrole) {
        ("", Some(role)) => planner.catalog().roles().name(role_named(planner, role)?),
        (name, _) => name.to_string(),
    };
    let name = name.as_str();
    planner.must_have(THE_DATABASE, Privileges::CREATE)?;
    let user = planner.context.user.role;
    let owner = match &statement.authrole {
        Some(role) => role_named(planner, role)?,
        None => user,
    };
    if !planner.catalog().roles().is_member(user, owner) {
        let owner = planner.catalog().roles().name(owner);
        let message = format!("must be member of role \"{owner}\"");
        return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    if name.starts_with("pg_") {
        return Err(SqlError::new(
            SqlState::RESERVED_NAME,
            format!("unacceptable schema name \"{name}\""),
        )
        .detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    if planner.catalog().has_schema(name) {
        let message = format!("schema \"{name}\" already exists");
        if !statement.if_not_exists {
            return Err(SqlError::new(SqlState::DUPLICATE_SCHEMA, message));
        }
        planner.notice(format!("{message}, skipping"));
        return Ok(planner.nothing(TAG));
    }
    let mut draft = Draft::new(planner);
    let number = match name {
        "public" => {
            draft.restore_public();
            PUBLIC
        }
        name => {
            let number = draft.id();
            draft.put_schema(number, name)?;
            number
        }
    };
    // What was made with the database is owned, and open, otherwise.
    if owner != user || number == PUBLIC {
        let access = Access { owner, acl: None };
        draft.put_access(&access.record(number))?;
    }
    draft.finish(TAG)
}

/// The number of a schema that can be dropped.
fn own(planner: &Planner, name: &str) -> SqlResult<u32> {
    if is_temporary(name) {
        return Err(
            SqlError::unsupported("a change of a schema of temporary tables")
                .hint("DISCARD TEMP drops what is in it."),
        );
    }
    if name == "public" && planner.catalog().has_public() {
        return Ok(PUBLIC);
    }
    let mut schemas = planner.catalog().own_schemas();
    if let Some((number, _)) = schemas.find(|(_, own)| *own == name) {
        return Ok(number);
    }
    Err(match planner.catalog().has_schema(name) {
        true => SqlError::unsupported(format!("a change of the schema {name}")),
        false => SqlError::new(
            SqlState::INVALID_SCHEMA_NAME,
            format!("schema \"{name}\" does not exist"),
        ),
    })
}

pub(super) fn drop(planner: &Planner, statement: &DropStmt, cascade: bool) -> SqlResult<Planned> {
    let mut draft = Draft::new(planner);
    for object in &statement.objects {
        let name = match inner(object) {
            Some(NodeEnum::String(string)) => string.sval.as_str(),
            Some(NodeEnum::List(list)) => names::strings(&list.items).pop().unwrap_or_default(),
            _ => "",
        };
        let number = match own(planner, name) {
            Err(error) if statement.missing_ok && error.state == SqlState::INVALID_SCHEMA_NAME => {
                planner.notice(format!("schema \"{name}\" does not exist, skipping"));
                continue;
            }
            other => other?,
        };
        planner.must_own(planner.schema_object(name))?;
        empty(&mut draft, name, cascade)?;
        match number {
            PUBLIC => draft.drop_public()?,
            number => draft.drop_schema(number),
        }
    }
    draft.finish("DROP SCHEMA")
}

/// Drops what a schema holds.
pub(super) fn empty(draft: &mut Draft, schema: &str, cascade: bool) -> SqlResult<()> {
    let catalog = draft.planner.catalog();
    let (mut tables, mut views, mut sequences) = (Vec::new(), Vec::new(), Vec::new());
    let mut details = Vec::new();
    for (name, relation) in catalog.relations_in(schema) {
        match relation {
            Relation::Table(id) | Relation::Partition(id) => {
                tables.push(id);
                details.push(format!("table {schema}.{name} depends on schema {schema}"));
            }
            Relation::View(id) => {
                views.push(id);
                details.push(format!("view {schema}.{name} depends on schema {schema}"));
            }
            Relation::Sequence(id) => {
                let owned = catalog.sequence_by_id(id).and_then(|s| s.owned_by);
                if owned.is_none() {
                    sequences.push(id);
                    details.push(format!(
                        "sequence {schema}.{name} depends on schema {schema}"
                    ));
                }
            }
            Relation::Index(..) | Relation::PrimaryKey(_) => {}
        }
    }
    let extensions = catalog.extensions();
    let extensions = extensions.filter(|(_, record)| record.schema == schema);
    let extensions: Vec<u32> = extensions
        .map(|(number, record)| {
            details.push(format!(
                "extension {} depends on schema {schema}",
                record.name
            ));
            number
        })
        .collect();
    let routines = catalog.all_routines();
    let routines = routines.filter(|routine| routine.record.schema == schema);
    let routines: Vec<(RoutineId, String)> = routines
        .map(|routine| (routine.record.id, routine.record.name.clone()))
        .collect();
    details.extend(
        routines
            .iter()
            .map(|(_, name)| format!("function {schema}.{name} depends on schema {schema}")),
    );
    let types = catalog.user_types();
    let types: Vec<&TypeRecord> = types
        .filter(|record| record.schema == schema)
        .map(|record| &**record)
        .collect();
    details.extend(types.iter().map(|record| {
        let name = &record.name;
        format!("type {schema}.{name} depends on schema {schema}")
    }));
    if details.is_empty() {
        return Ok(());
    }
    if !cascade {
        return Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop schema {schema} because other objects depend on it"),
        )
        .detail(details.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    let objects = details
        .iter()
        .filter_map(|line| line.split(" depends on ").next());
    let objects: Vec<String> = objects.map(str::to_string).collect();
    draft.planner.notice_cascade(&objects);
    let together: Vec<TableId> = tables.iter().chain(&views).copied().collect();
    let routines: Vec<RoutineId> = routines.into_iter().map(|(id, _)| id).collect();
    for id in &routines {
        release_function(draft, *id, &format!("schema {schema}"), true)?;
        draft.drop_routine(*id);
    }
    for id in tables {
        drop_table(draft, id, true, &together)?;
    }
    for id in views {
        if !draft.has_dropped_view(id) {
            let what = format!("schema {schema}");
            view::release(draft, &what, id, None, true, &together)?;
            draft.drop_view(id);
        }
    }
    for id in sequences {
        release_sequence(draft, id, &format!("schema {schema}"), true, &together)?;
        draft.drop_sequence(id);
    }
    let types: Vec<u32> = types.iter().map(|record| record.id).collect();
    drop_type::release(draft, &types, true, &together, &routines)?;
    for number in extensions {
        draft.drop_extension(number);
    }
    Ok(())
}
