//! CREATE SCHEMA, DROP SCHEMA.
//!
//! Relies on: `draft`, the other files of `ddl` for what goes with a schema.  Promises: a schema that holds something
//! goes with CASCADE only.  Does not: rename (`set_schema`), or drop the system's schemas (0A000).

mod elements;

use super::callers::{Going, release_functions};
use super::{drop_table, drop_type, release_sequence, view};
use crate::catalog::{Catalog, Relation};
use crate::command::Planned;
use crate::draft::Draft;
use crate::names::{self, inner};
use crate::planner::Planner;
use crate::role::{Access, THE_DATABASE, role_named};
use crate::system::PUBLIC;
use crate::temporary::is_temporary;
use pg_query::NodeEnum;
use pg_query::protobuf::{CreateSchemaStmt, DropStmt};
use quintet_base::{RoutineId, SequenceId, SqlError, SqlResult, SqlState, TableId};
use quintet_ir::Privileges;

pub(super) fn create(planner: &Planner, statement: &CreateSchemaStmt) -> SqlResult<Planned> {
    const TAG: &str = "CREATE SCHEMA";
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
    refuse_reserved(name)?;
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
    let made = draft.finish(TAG)?;
    elements::add(planner, made, (name, owner), &statement.schema_elts)
}

/// Refuses a name that only the system gives.
///
/// # Errors
/// `42939`.
pub(super) fn refuse_reserved(name: &str) -> SqlResult<()> {
    if !name.starts_with("pg_") {
        return Ok(());
    }
    let message = format!("unacceptable schema name \"{name}\"");
    let error = SqlError::new(SqlState::RESERVED_NAME, message);
    Err(error.detail("The prefix \"pg_\" is reserved for system schemas."))
}

/// The number of a schema that can be changed.
pub(super) fn own(planner: &Planner, name: &str) -> SqlResult<u32> {
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

/// Objects that are dropped together.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub tables: Vec<TableId>,
    pub views: Vec<TableId>,
    /// Those that no column owns.
    pub sequences: Vec<SequenceId>,
    pub routines: Vec<RoutineId>,
    pub types: Vec<u32>,
    pub extensions: Vec<u32>,
}

/// What a schema holds, and what messages call it.
pub(super) fn contents(catalog: &Catalog, schema: &str) -> (Contents, Vec<String>) {
    let mut all = Contents::default();
    let mut names = Vec::new();
    for (name, relation) in catalog.relations_in(schema) {
        let kind = match relation {
            Relation::Table(id) | Relation::Partition(id) => {
                all.tables.push(id);
                "table"
            }
            Relation::View(id) => {
                all.views.push(id);
                "view"
            }
            Relation::Sequence(id) => {
                let owned = catalog.sequence_by_id(id).and_then(|s| s.owned_by);
                if owned.is_some() {
                    continue;
                }
                all.sequences.push(id);
                "sequence"
            }
            Relation::Index(..) | Relation::PrimaryKey(_) => continue,
        };
        names.push(format!("{kind} {schema}.{name}"));
    }
    let extensions = catalog.extensions();
    for (number, record) in extensions.filter(|(_, record)| record.schema == schema) {
        all.extensions.push(number);
        names.push(format!("extension {}", record.name));
    }
    let routines = catalog.all_routines();
    for routine in routines.filter(|routine| routine.record.schema == schema) {
        all.routines.push(routine.record.id);
        names.push(format!("function {schema}.{}", routine.record.name));
    }
    let types = catalog.user_types();
    for record in types.filter(|record| record.schema == schema) {
        all.types.push(record.id);
        names.push(format!("type {schema}.{}", record.name));
    }
    (all, names)
}

/// Drops what a schema holds.
pub(super) fn empty(draft: &mut Draft, schema: &str, cascade: bool) -> SqlResult<()> {
    let (all, names) = contents(draft.planner.catalog(), schema);
    if names.is_empty() {
        return Ok(());
    }
    if !cascade {
        let depend = |name: &String| format!("{name} depends on schema {schema}");
        let details: Vec<String> = names.iter().map(depend).collect();
        return Err(SqlError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop schema {schema} because other objects depend on it"),
        )
        .detail(details.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    draft.planner.notice_cascade(&names);
    drop_all(draft, &all, &format!("schema {schema}"), true)
}

/// Drops them. `what` they are, for messages.
pub(super) fn drop_all(
    draft: &mut Draft,
    all: &Contents,
    what: &str,
    cascade: bool,
) -> SqlResult<()> {
    let together: Vec<TableId> = all.tables.iter().chain(&all.views).copied().collect();
    let planner = draft.planner;
    let going = all.routines.iter().filter_map(|id| Going::of(planner, *id));
    let going: Vec<Going> = going.collect();
    release_functions(draft, &going, cascade, &together)?;
    for one in going {
        draft.drop_routine(one.id);
    }
    for id in &all.tables {
        drop_table(draft, *id, cascade, &together)?;
    }
    for id in &all.views {
        if !draft.has_dropped_view(*id) {
            view::release(draft, what, *id, None, cascade, &together)?;
            draft.drop_view(*id);
        }
    }
    for id in &all.sequences {
        release_sequence(draft, *id, what, cascade, &together)?;
        draft.drop_sequence(*id);
    }
    drop_type::release(draft, &all.types, cascade, &together, &all.routines)?;
    for number in &all.extensions {
        draft.drop_extension(*number);
    }
    Ok(())
}
